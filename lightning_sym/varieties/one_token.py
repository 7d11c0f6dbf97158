r"""The value matrix and the quadratic forms of a network, from its polynomial at one token.

At one token $\phi(x) = \tilde V x \prod_i q_i(x)^{3^{l-i}}$, $q_i(x) = x^\top \tilde A_i x$. A quadratic form contains
an irreducible factor at most twice, so the base-3 digits of the multiplicities of the factors of
$\prod_i q_i^{3^{l-i}}$ say which $q_i$ contains which. Which linear forms $\tilde V x$ can be made of is a short list,
over the complex numbers too: `docs/recover.md`, Proposition 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from lightning_sym.errors import ProgramError
from lightning_sym.exact.number_field import RATIONALS, Element, NumberField
from lightning_sym.limits import Work
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.rationals import as_fraction
from lightning_sym.varieties.forms_over_fields import FormRing, linear_factor

_FACTOR = 3e-6
"""Seconds for a term and a degree of a form whose factors or common divisor are wanted; measured, and rough, as it
depends on the coefficients how they are found."""


class Splitting(NamedTuple):
    r"""A value matrix and quadratic forms whose product is the polynomial at one token.

    Attributes:
        field: they are over it.
        value: $\tilde V$, `d_l x d_0`.
        forms: the symmetric matrix of each $q_i$, `d_0 x d_0`.
        pairs: for each layer two linear forms with the product $q_i$, where they are known, else `None`.
        what: which linear form $\tilde V x$ is made of, in words; empty if it has rank two or more.
    """

    field: NumberField
    value: ObjectArray
    forms: tuple[ObjectArray, ...]
    pairs: tuple[tuple[ObjectArray, ObjectArray] | None, ...]
    what: str


def distinct_roots_on_a_line(form: Polynomial, size: int) -> tuple[list[int], list[int], int] | None:
    """Return a line on which a form has many distinct roots: `start`, `direction`, how many; the best of a few.

    `None` where the form vanishes on all of them.

    Example:
        >>> y1, y2 = PolynomialRing(["y1", "y2"]).generators
        >>> distinct_roots_on_a_line(y1**3 * y2**5 * (y1 + y2), 2)[2]
        3
    """
    line = PolynomialRing(["s"])
    (s,) = line.generators
    best = None
    source = np.random.default_rng(0)
    for _ in range(3):
        start, direction = source.integers(-9, 10, size=(2, size)).tolist()
        points = [line.constant(Fraction(a)) + b * s for a, b in zip(start, direction, strict=True)]
        value = form.compose(*points)
        if value.is_zero():
            continue
        count = sum(int(f.total_degree()) for f, _ in value.factor_squarefree()[1])
        if best is None or count > best[2]:
            best = start, direction, count
    return best


@dataclass
class _Rows:
    """The rows of the polynomial at one token, and what does not work."""

    rows: Sequence[Polynomial]
    names: Sequence[str]
    ranks: Sequence[int]
    failures: list[str]

    def __post_init__(self) -> None:
        self.forms = FormRing(self.names)
        self.depth = len(self.ranks)

    def assembled(
        self, field: NumberField, blocks: Sequence[tuple[Polynomial, int]], value: ObjectArray, what: str = ""
    ) -> Iterator[Splitting]:
        """Yield the forms `q_i` by base-3 digits, and the scalar; `value` is a multiple of the value matrix."""
        forms = self.forms
        quadratic, pairs = [], []
        for i in range(self.depth):
            digits = [e // 3 ** (self.depth - i - 1) % 3 for _, e in blocks]
            parts = [block for (block, _), digit in zip(blocks, digits, strict=True) for _ in range(digit)]
            degree = sum(map(forms.degree, parts))
            if degree != 2:
                tail = f" with {what}" if what else ""
                self.failures.append(
                    f"{tail.strip() + ', ' if tail else ''}the base-3 digits of the multiplicities of the factors give "
                    f"q_{i + 1} the degree {degree}, it must be 2"
                )
                return
            form = forms.ring.constant(Fraction(1))
            for part in parts:
                form = field.reduced(form * part, forms.ring)
            quadratic.append(form)
            pairs.append((forms.vector(field, parts[0]), forms.vector(field, parts[1])) if len(parts) == 2 else None)
        scaled = value * self.scale(field, quadratic, value)
        matrices = tuple(forms.symmetric_matrix(field, form) for form in quadratic)
        yield Splitting(field, scaled, matrices, tuple(pairs), what)

    def scale(self, field: NumberField, quadratic: Sequence[Polynomial], value: ObjectArray) -> Element:
        """Return what the value matrix must be multiplied by, from the values at a point."""
        source = np.random.default_rng(1)
        row = next(i for i in range(len(value)) if any(value[i]))
        for _ in range(100):
            point = source.integers(-9, 10, size=self.forms.d).tolist()
            below: Element = value[row] @ field.matrix(point)
            for i, form in enumerate(quadratic):
                q = self.forms.value_at(field, form, point)
                for _ in range(3 ** (self.depth - 1 - i)):
                    below = below * q
            if below:
                above = self.forms.value_at(field, self.forms.lift(self.rows[row]), point)
                return above / below
        raise ProgramError("a product of forms that are not zero vanishes at 100 points")


def splittings(
    rows: Sequence[Polynomial], names: Sequence[str], ranks: Sequence[int], failures: list[str], work: Work
) -> Iterator[Splitting]:
    """Yield all ways, over the complex numbers, to write the rows as above, up to rescaling and conjugation.

    Args:
        rows: forms of degree $3^l$ in the variables `names`, of a ring of their own, not all zero.
        names: the coordinates of the token.
        ranks: the query/key widths, one a layer; where one is 1 the field has the real factors of all forms.
        failures: what does not work is added here, a line for each.
        work: what greatest common divisors and factors may take: each is told by its terms before it is begun.

    Yields:
        The splittings, rational ones first.

    Raises:
        TooLarge: they do not fit into the work.

    Example:
        >>> y1, y2 = PolynomialRing(["y1", "y2"]).generators
        >>> [str(s.value[0, 0]) for s in splittings([y1 * (y1**2 - 2 * y2**2)], ["y1", "y2"], [2], [], Work())]
        ['1', '1']
    """
    problem = _Rows(rows, names, ranks, failures)
    forms, depth, stage = problem.forms, problem.depth, "factors at one token"
    first = next(row for row in rows if not row.is_zero())
    monomial, lead = next(iter(first.to_dict().items()))
    ratios = [as_fraction(row.to_dict().get(monomial, 0) / lead) for row in rows]
    ring = PolynomialRing(names)
    proportional = all(row == ring.constant(ratio) * first for row, ratio in zip(rows, ratios, strict=True))
    common = first
    for row in () if proportional else rows:
        work.spend(_FACTOR * (len(common) + len(row)) * 3**depth, stage)
        common = common.gcd(row)
    if not proportional and common.total_degree() != 3**depth - 1:
        failures.append(
            "the rows of phi at one token are not multiples of one form, so rk V~ >= 2 and their greatest common "
            f"divisor must have degree {3**depth - 1}; it has degree {common.total_degree()}"
        )
        return
    work.spend(_FACTOR * len(common) * 3**depth, stage)
    line = distinct_roots_on_a_line(common, forms.d)
    most = 2 * depth + proportional
    if line is not None and line[2] > most:
        failures.append(
            f"on the line {_vector(line[0])} + s {_vector(line[1])} the {'form' if proportional else 'common factor'} "
            f"of phi at one token has {line[2]} distinct roots, that of a network at most {most}"
        )
        return
    factors = [(forms.lift(f), int(e)) for f, e in common.factor()[1]]
    if not proportional:
        value = np.stack([forms.vector(RATIONALS, forms.lift(row / common)) for row in rows])
        yield from problem.assembled(RATIONALS, factors, value)
        return
    for number, (factor, multiplicity) in enumerate(factors):
        if forms.degree(factor) == 1:
            rest = [*factors[:number], (factor, multiplicity - 1), *factors[number + 1 :]]
            value = RATIONALS.matrix([[r] for r in ratios]) @ forms.vector(RATIONALS, factor)[None, :]
            yield from problem.assembled(RATIONALS, rest, value, f"V~ x a multiple of {_shown(factor)}")
    for number, (factor, multiplicity) in enumerate(factors):
        degree = forms.degree(factor)
        if degree == 1:
            continue
        found = linear_factor(forms, factor, all_of_them=1 in ranks) if degree <= 3 else None
        if found is None:
            why = "has no linear factor over the complex numbers" if degree <= 3 else "cannot be a multiple of V~ x"
            failures.append(f"{_shown(factor)}, irreducible over the rationals, {why}")
            continue
        field, (own, *others) = found
        rest = [*factors[:number], *factors[number + 1 :]]
        blocks = [*rest, (own, multiplicity - 1), *((other, multiplicity) for other in others)]
        value = field.matrix([[r] for r in ratios]) @ forms.vector(field, own)[None, :]
        yield from problem.assembled(field, blocks, value, f"V~ x a linear factor of {_shown(factor)}")


def _shown(polynomial: Polynomial) -> str:
    text = str(polynomial)
    return text if len(text) <= 80 else text[:80] + "..."


def _vector(entries: Sequence[int]) -> str:
    return f"({', '.join(map(str, entries))})"
