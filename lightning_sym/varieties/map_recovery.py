r"""The answer to whether a polynomial map is the function of a network: weights, or why there are none.

The polynomial map of weights over a number field, compared with a given one: the check behind every answer.

What every lightning network without a mask has: $\phi(X R) = \phi(X) R$ for all orthogonal `R` of the tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lightning_sym.ask import FellShort
from lightning_sym.display import Result, latex_matrix
from lightning_sym.errors import no_truth_value
from lightning_sym.exact.number_field import ROOT, NumberField
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import attention_layer
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.prices import price_of_comparison
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.rates import RATES
from lightning_sym.rings.rationals import map_entries

if TYPE_CHECKING:
    import sympy


class Difference(NamedTuple):
    """A coefficient in which two maps differ.

    Attributes:
        row, token: the output, from 1.
        monomial: in the inputs.
        given: the coefficient of the map that was given.
        found: that of the network.
    """

    row: int
    token: int
    monomial: str
    given: str
    found: str

    @property
    def words(self) -> str:
        """Where, and what differs."""
        where = f"row {self.row}, token {self.token}, {self.monomial}"
        return f"{where}: the coefficient is {self.given}, it must be {self.found}"


def network_layers(matrices: Mapping[str, ObjectArray]) -> list[Layer[ObjectArray]]:
    """Return the layers of matrices `Q1, K1, V1, Q2, ...` in this order."""
    listed = list(matrices.values())
    return [Layer(*listed[i : i + 3]) for i in range(0, len(listed), 3)]


def virtual_layers(attention: Sequence[ObjectArray], value: ObjectArray) -> list[Layer[ObjectArray]]:
    """Return a network with these virtual weights, over their field."""
    field: NumberField = value[0, 0].field
    one = field.matrix(np.eye(value.shape[1], dtype=int))
    last = len(attention)
    return [Layer(a, one, value if i == last else one) for i, a in enumerate(attention, start=1)]


def first_difference(phi: PolynomialMap, layers: Sequence[Layer[ObjectArray]], field: NumberField) -> Difference | None:
    """Return the first coefficient in which the function of the layers is not `phi`; `None` if it is `phi`.

    Everything is expanded, modulo the minimal polynomial of the field, so it holds for each of its roots.
    """
    rational = field.degree == 1
    names = phi.ring.names
    ring = PolynomialRing(names if rational else [*names, ROOT])
    x = network_over_field(ring.matrix("x", phi.architecture.widths[0], phi.architecture.tokens), layers, field, ring)
    for (k, j), given in np.ndenumerate(phi.entries):
        terms = {tuple(map(int, m)): c for m, c in given.to_dict().items()}
        wanted = ring.from_terms(terms if rational else {(*m, 0): c for m, c in terms.items()})
        if x[k, j] == wanted:
            continue
        wrong = next(iter((wanted - x[k, j]).to_dict()))
        monomial = tuple(map(int, wrong))[: len(names)]
        return Difference(
            k + 1,
            j + 1,
            monomial_text(names, monomial),
            str(terms.get(monomial, 0)),
            _coefficient(x.item(k, j), monomial, field),
        )
    return None


def network_over_field(
    x: ObjectArray, layers: Iterable[Layer[ObjectArray]], field: NumberField, ring: PolynomialRing
) -> ObjectArray:
    """Return the output of layers over a field, at an input whose entries are polynomials, of a ring with the root
    unless the field is the rationals.
    """
    rational = ROOT not in ring.names

    def lift(matrix: ObjectArray) -> ObjectArray:
        if rational:
            return map_entries(lambda c: ring.constant(c.coefficients[0]), matrix)
        return map_entries(lambda c: field.lifted(c, ring), matrix)

    for layer in layers:
        x = attention_layer(x, Layer(*map(lift, layer)))
        if not rational:
            x = map_entries(lambda entry: field.reduced(entry, ring), x)
    return x


def monomial_text(names: Sequence[str], exponents: Sequence[int]) -> str:
    """Return a monomial as it is printed.

    Example:
        >>> monomial_text(["x", "y"], [2, 1])
        'x^2*y'
    """
    return "*".join(name if e == 1 else f"{name}^{e}" for name, e in zip(names, exponents, strict=True) if e)


def _coefficient(polynomial: Polynomial, monomial: tuple[int, ...], field: NumberField) -> str:
    found = {tuple(map(int, m)): c for m, c in polynomial.to_dict().items()}
    if field.degree == 1:
        return str(found.get(monomial, 0))
    return str(field.element([found.get((*monomial, i), 0) for i in range(field.degree)]))


class Unequal(NamedTuple):
    """Where it fails: which rotation, and a coefficient of the derivative along it that is not zero."""

    what: str
    difference: Difference


def not_equivariant(phi: PolynomialMap, work: Work) -> Unequal | None:
    r"""Return a coefficient that shows that the map is no network's, if the orthogonal group of the tokens does.

    Rotations of tokens 1 and `j`: $D \phi = \phi E$ with $D = \sum_k x_{k1} \partial_{kj} - x_{kj} \partial_{k1}$ and
    `E` the matrix with $E_{1j} = 1$, $E_{j1} = -1$; these generate the connected group. Reflections: the output of
    token `j` is odd in token `j` and even in the others.

    Raises:
        TooLarge: the terms that there are do not fit into the work.

    Example:
        >>> from lightning_sym.network.architecture import Architecture
        >>> from lightning_sym.network.polynomial_map import polynomial_map
        >>> from lightning_sym.network.weights import Weights
        >>> w = Weights.of({"Q1": [[1]], "K1": [[2]], "V1": [[3]]})
        >>> not_equivariant(polynomial_map(w.architecture(tokens=3), w), Work()) is None
        True
    """
    d, t = phi.architecture.widths[0], phi.architecture.tokens
    names, stage = phi.ring.names, "the rotations of the tokens"
    work.spend(price_of_comparison(phi.term_count, len(names)).seconds, stage)
    for (k, j), entry in _entries(phi):
        for exponents in entry.monoms():
            m = tuple(map(int, exponents))
            odd = [token for token in range(t) if sum(m[token::t]) % 2]
            if odd != [j]:
                c = str(entry.to_dict()[exponents])
                what = f"so the output of token {j + 1} must be odd in token {j + 1} and even in the others"
                return Unequal(what, Difference(k + 1, j + 1, monomial_text(names, m), c, "0"))
    for j in range(1, t):
        for (k, i), entry in _entries(phi):
            terms = len(entry) * d  # each is derived twice and multiplied twice by a letter
            work.spend(RATES["forms"].seconds(call=4 * d, product=2 * terms, entry=4 * terms), stage)
            total: Polynomial = -phi.entries[k, 0] if i == j else phi.entries[k, j] if i == 0 else entry * 0
            for n in range(1, d + 1):
                one, other = f"x_{n}_1", f"x_{n}_{j + 1}"
                total += phi.ring[one] * entry.derivative(other) - phi.ring[other] * entry.derivative(one)
            if not total.is_zero():
                exponents, value = next(iter(total.to_dict().items()))
                text = monomial_text(names, tuple(map(int, exponents)))
                return Unequal(
                    f"so D phi - phi E must vanish, the derivative along the rotation of tokens 1 and {j + 1}",
                    Difference(k + 1, i + 1, text, str(value), "0"),
                )
    return None


def _entries(phi: PolynomialMap) -> list[tuple[tuple[int, int], Polynomial]]:
    rows, columns = phi.entries.shape
    return [((k, j), phi.entries[k, j]) for k in range(rows) for j in range(columns)]


@no_truth_value("answer is Membership.WEIGHTS")
class Membership(Enum):
    """Whether a map is the function of a network of the shape, with real weights."""

    WEIGHTS = "weights"
    NONE = "none"
    UNDECIDED = "undecided"


_CHECKED = "the polynomial map of these weights, expanded, is the map"
_COMPLEX = {
    True: "complex weights of this shape have this function",
    False: "complex weights of this shape do not have it either",
    None: "complex weights of this shape were not decided",
}


@no_truth_value("recovery.answer is Membership.WEIGHTS")
@dataclass(frozen=True, eq=False, repr=False)
class Recovery(Result):
    r"""The answer, and what shows it.

    Attributes:
        architecture: the shape that was asked about.
        answer: weights, none, or undecided; over the real numbers.
        minimal_polynomial: for `WEIGHTS` over a number field, the polynomial that its generator `r` is a root of.
        root_between: rational numbers with one real root between them; each real root will do.
        matrices: for `WEIGHTS`, the matrices as text, entries rational numbers or polynomials in `r`.
        reasons: for `NONE` and `UNDECIDED`, what fails, a line each.
        difference: for `NONE`, a coefficient that is not what it must be, where one shows it.
        complex_weights: for `NONE`, whether complex weights have this function; `None` if that was not decided.
        tried: theorems that were asked before in vain, each with the hypothesis that fails.
    """

    architecture: Architecture
    answer: Membership
    minimal_polynomial: str | None = None
    root_between: tuple[str, str] | None = None
    matrices: dict[str, list[list[str]]] | None = None
    reasons: tuple[str, ...] = ()
    difference: Difference | None = None
    complex_weights: bool | None = None
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def weights(self) -> Weights | None:
        """For `WEIGHTS` over the rationals the weights, else `None`."""
        if self.matrices is None or self.minimal_polynomial is not None:
            return None
        exact = {name: [[Fraction(x) for x in row] for row in rows] for name, rows in self.matrices.items()}
        return Weights.of(exact)

    @property
    def over(self) -> str:
        """The field of the weights, in words."""
        if self.minimal_polynomial is None or self.root_between is None:
            return "the rationals"
        low, high = self.root_between
        return f"Q(r), r a root of {self.minimal_polynomial}; the one between {low} and {high} is real"

    _sentences = (
        ("network", "lightning attention, one head, {0.architecture}"),
        ("answer", "{0.answer.value}"),
        ("over", lambda self: self.over if self.answer is Membership.WEIGHTS else None),
        (
            "",
            lambda self: [
                (name, "; ".join(" ".join(f"({x})" if " " in x else x for x in row) for row in rows))
                for name, rows in (self.matrices or {}).items()
            ],
        ),
        ("checked", lambda self: _CHECKED if self.answer is Membership.WEIGHTS else None),
        ("", lambda self: [("because", reason) for reason in self.reasons]),
        ("at", lambda self: self.difference and self.difference.words),
        ("complex", lambda self: _COMPLEX[self.complex_weights] if self.answer is Membership.NONE else None),
        ("tried", lambda self: map(str, self.tried) if self.answer is Membership.UNDECIDED else None),
    )

    def _latex(self) -> str:
        import sympy

        if self.matrices is None:
            return rf"\text{{{self.answer.value}}}"
        r = sympy.Symbol("r")
        names = [
            rf"{name[0]}_{{{name[1:]}}} = "
            + latex_matrix(np.array([[_as_sympy(x, r) for x in row] for row in rows], dtype=object))
            for name, rows in self.matrices.items()
        ]
        return r",\quad ".join(names)


def _as_sympy(text: str, r: sympy.Symbol) -> sympy.Expr:
    """Return an entry, as this module wrote it, as an expression of SymPy's."""
    from lightning_sym.rings.polynomials import PolynomialRing, to_sympy
    from lightning_sym.varieties.map_text import parse_polynomial

    return to_sympy(parse_polynomial(text, PolynomialRing(["r"]), 10**6), ["r"]).as_expr().subs("r", r)
