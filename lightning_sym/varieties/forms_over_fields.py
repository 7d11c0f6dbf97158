r"""Forms over number fields, polynomials in the coordinates of one token and the root `r`, and their linear factors.

A form $h$ of degree $s$, irreducible over $\mathbb{Q}$, has a linear factor over $\mathbb{C}$ exactly if it is a
rational number times the product of $s$ conjugate linear forms (`docs/recover.md`, Lemma 3). Such a factor is
found on a line: $p(\theta) = h(\theta e - y)$ is then irreducible, and at a root $\theta$ the gradient of $h$ is a
multiple of the linear form that vanishes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from lightning_sym.errors import ProgramError
from lightning_sym.exact.number_field import RATIONALS, ROOT, Element, NumberField, quadratic_field
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, RationalCoefficient
from lightning_sym.rings.rationals import as_fraction

_LINES = 100
"""Lines that are tried; all but few show whether a form is a product of conjugates."""


class FormRing:
    """Polynomials in the coordinates of one token, and in the root of a number field.

    Example:
        >>> forms = FormRing(["y1", "y2"])
        >>> y1, y2, r = forms.ring.generators
        >>> field = NumberField([-2, 0, 1])
        >>> forms.divided(field, y1**2 - 2 * y2**2, [field.of(1), field.root])
        -y2*r + y1
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.d = tuple(names), len(names)
        self.ring = PolynomialRing([*names, ROOT])

    def lift(self, polynomial: Polynomial) -> Polynomial:
        """Return a polynomial in the coordinates alone, as an element of this ring."""
        return self.ring.from_terms({(*map(int, m), 0): c for m, c in polynomial.to_dict().items()})

    def degree(self, polynomial: Polynomial) -> int:
        """Return the degree in the coordinates, of a form that is not zero."""
        return sum(map(int, polynomial.monoms()[0][:-1]))

    def linear(self, field: NumberField, coefficients: Sequence[Element]) -> Polynomial:
        """Return a linear form."""
        total = self.ring.constant(Fraction(0))
        for x, c in zip(self.ring.generators, coefficients, strict=False):
            total += field.lifted(c, self.ring) * x
        return total

    def coefficients(self, field: NumberField, polynomial: Polynomial) -> dict[tuple[int, ...], Element]:
        """Return the coefficients by monomial in the coordinates."""
        grouped: dict[tuple[int, ...], list[RationalCoefficient | int]] = {}
        for exponents, c in field.reduced(polynomial, self.ring).to_dict().items():
            *monomial, power = map(int, exponents)
            grouped.setdefault(tuple(monomial), [0] * field.degree)[power] = c
        return {monomial: field.element(c) for monomial, c in grouped.items()}

    def vector(self, field: NumberField, polynomial: Polynomial) -> ObjectArray:
        """Return the coefficients of a linear form."""
        known = self.coefficients(field, polynomial)
        result = np.empty(self.d, dtype=object)
        for k in range(self.d):
            result[k] = known.get(tuple(int(i == k) for i in range(self.d)), field.of(0))
        return result

    def symmetric_matrix(self, field: NumberField, polynomial: Polynomial) -> ObjectArray:
        """Return the symmetric matrix of a quadratic form."""
        known = self.coefficients(field, polynomial)
        result = np.empty((self.d, self.d), dtype=object)
        for i, j in np.ndindex(self.d, self.d):
            monomial = tuple(int(k == i) + int(k == j) for k in range(self.d))
            result[i, j] = known.get(monomial, field.of(0)) * Fraction(1, 1 if i == j else 2)
        return result

    def value_at(self, field: NumberField, polynomial: Polynomial, point: Sequence[int]) -> Element:
        """Return the value at a point with integer coordinates."""
        total = field.of(0)
        for monomial, c in self.coefficients(field, polynomial).items():
            factor = 1
            for x, e in zip(point, monomial, strict=True):
                factor *= int(x) ** e
            total = total + c * factor
        return total

    def divided(self, field: NumberField, polynomial: Polynomial, form: Sequence[Element]) -> Polynomial | None:
        """Return the quotient by a linear form one of whose coefficients is 1; `None` if there is a remainder."""
        k = next(i for i, c in enumerate(form) if c == 1)
        rest = self.linear(field, [field.of(0) if i == k else -c for i, c in enumerate(form)])
        by_power: dict[int, dict[tuple[int, ...], RationalCoefficient]] = {}
        for exponents, c in polynomial.to_dict().items():
            m = list(map(int, exponents))
            power, m[k] = m[k], 0
            by_power.setdefault(power, {})[tuple(m)] = c
        zero = self.ring.constant(Fraction(0))
        quotient, carry, x = zero, zero, self.ring.generators[k]
        for power in range(max(by_power), -1, -1):
            carry = field.reduced(self.ring.from_terms(by_power.get(power, {})) + carry * rest, self.ring)
            if power:
                quotient += carry * x ** (power - 1)
        return quotient if carry.is_zero() else None


def linear_factor(
    forms: FormRing, factor: Polynomial, *, all_of_them: bool
) -> tuple[NumberField, list[Polynomial]] | None:
    """Return a linear factor of a form irreducible over the rationals, of degree two or three, and what is left.

    Args:
        forms: the ring.
        factor: the form, an element of the ring without `r`.
        all_of_them: if all factors of a cubic form are real, take the field that has them all.

    Returns:
        The field and polynomials whose product is the form, the first one of them linear; `None` if it has no linear
        factor over the complex numbers.

    Example:
        >>> forms = FormRing(["y1", "y2"])
        >>> y1, y2, _ = forms.ring.generators
        >>> field, (one, other) = linear_factor(forms, y1**2 - 2 * y2**2, all_of_them=False)
        >>> field.reduced(one * other, forms.ring), field.real_roots
        (y1^2 - 2*y2^2, 2)
    """
    source = np.random.default_rng(0)
    bound = 1
    for _ in range(_LINES):
        direction, start = source.integers(-bound, bound + 1, size=(2, forms.d)).tolist()
        bound = min(bound + 1, 9)
        on_line = _on_line(factor, direction, start)
        degree = int(on_line.total_degree()) if not on_line.is_zero() else 0
        if degree < forms.degree(factor) or len(on_line.factor_squarefree()[1]) != 1:
            continue
        if (squarefree := on_line.factor_squarefree()[1][0])[1] != 1 or squarefree[0].total_degree() != degree:
            continue
        parts = on_line.factor()[1]
        if len(parts) > 1:
            return None  # a product of conjugate forms would be irreducible here
        known = on_line.to_dict()
        lead = known[degree,]
        *lower, _ = [as_fraction(known[i,] / lead) if (i,) in known else Fraction(0) for i in range(degree + 1)]
        if degree == 2:
            field, theta = quadratic_field(lower[1], lower[0])
        else:
            field = NumberField([*lower, Fraction(1)])
            theta = field.root
        gradient = [_at(theta, _on_line(factor.derivative(k), direction, start)) for k in range(forms.d)]
        scale = next(c for c in gradient if c).inverse()
        linear = [scale * c for c in gradient]
        quotient = forms.divided(field, factor, linear)
        if quotient is None:
            return None
        if degree == 3 and all_of_them and field.real_roots == 3:
            return _all_three(forms, field, linear, factor)
        return field, [forms.linear(field, linear), quotient]
    raise ProgramError(f"no line is in general position for {factor}")


def _on_line(polynomial: Polynomial, direction: Sequence[int], start: Sequence[int]) -> Polynomial:
    """Return the values at `s direction - start`, as a polynomial in `s`."""
    line = PolynomialRing(["s"])
    (s,) = line.generators
    points = [b * s - line.constant(Fraction(a)) for a, b in zip(start, direction, strict=True)]
    return polynomial.compose(*points, line.constant(Fraction(0)))


def _at(theta: Element, polynomial: Polynomial) -> Element:
    result = theta * 0
    for (power,), c in polynomial.to_dict().items():
        term = theta * 0 + as_fraction(c)
        for _ in range(int(power)):
            term = term * theta
        result = result + term
    return result


def _all_three(
    forms: FormRing, field: NumberField, linear: Sequence[Element], factor: Polynomial
) -> tuple[NumberField, list[Polynomial]]:
    """Return the three conjugate factors of a cubic form over the field of a root and the discriminant's root."""
    c0, c1, c2, _ = field.minimal_polynomial
    discriminant = c2**2 * c1**2 - 4 * c1**3 - 4 * c2**3 * c0 + 18 * c2 * c1 * c0 - 27 * c0**2
    larger, into, root = field.with_square_root(discriminant)
    theta = into(field.root)
    slope = theta * theta * 3 + theta * (2 * c2) + c1
    middle, half = (theta + c2) * Fraction(-1, 2), root / slope * Fraction(1, 2)
    conjugates = [theta, middle + half, middle - half]
    result = []
    for each in conjugates:
        image = []
        for c in linear:
            value = larger.of(0)
            for coefficient in reversed(c.coefficients):
                value = value * each + coefficient
            image.append(value)
        result.append(image)
    polynomials = [forms.linear(larger, image) for image in result]
    product = larger.reduced(polynomials[0] * polynomials[1], forms.ring)
    product = larger.reduced(product * polynomials[2], forms.ring)
    monomial, c = next(iter(forms.coefficients(RATIONALS, factor).items()))
    scale = c.coefficients[0] / forms.coefficients(larger, product)[monomial].coefficients[0]
    polynomials[0] = polynomials[0] * forms.ring.constant(scale)
    return larger, polynomials
