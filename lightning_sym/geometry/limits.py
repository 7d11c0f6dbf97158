r"""The limit of the functions of a family of weights, whose entries are rational functions of one letter.

Each matrix is a numerator, polynomials in the letter, over a common denominator. Layer `i` of `l` has the degree
$3^{l-i}$ in each of its matrices, so the function of the family is the polynomial map of the numerators over a product
of powers of the denominators: its order in the letter, and what stands there, are read off exactly. What is proved of
them is in `docs/limits.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Lines, Result, cut_text, labelled, latex_lines
from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.fibers.connection import realized
from lightning_sym.fibers.points import virtual_lines
from lightning_sym.fibers.virtual_moves import is_zero_function
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, require_integer
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.layer import Layer
from lightning_sym.network.polynomial_map import PolynomialMap, polynomial_map
from lightning_sym.network.virtual_weights import VirtualWeights, virtual_weights
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.expressions import entry as read_entry
from lightning_sym.rings.expressions import to_polynomial
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.rationals import as_fraction, map_entries

with lazy_imports(__name__):
    import sympy

    from lightning_sym.varieties import map_recovery, membership


@dataclass(frozen=True, eq=False, repr=False)
class FunctionLimit(Result):
    r"""What the functions of a family of weights tend to, as its letter tends to 0.

    Attributes:
        architecture: the network.
        letter: the name of the letter, $\varepsilon$.
        rates: by name of a matrix the largest power of the letter that divides it: it grows like
            $\varepsilon^{rate}$, so it blows up where this is negative; `None` for a zero matrix.
        virtual_rates: the same of $\tilde A_1, \dots, \tilde A_l, \tilde V$.
        order: the same of the function: it is bounded if this is not negative; `None` if it is zero all along.
        leading_weights: the leading coefficients of the virtual weights; `None` if one of these is zero.
        attained: weights of this shape with the function `leading`, where Proposition 1 gives them.
        recovery: where the leading virtual weights have the function zero: whether any weights have `leading`.
        leading: the coefficient of $\varepsilon^{order}$ in the function, a map with numbers; `None` where it is zero.
    """

    architecture: Architecture
    letter: str
    rates: Mapping[str, int | None]
    virtual_rates: tuple[int | None, ...]
    order: int | None
    leading_weights: VirtualWeights | None
    attained: Weights | None = None
    recovery: map_recovery.Recovery | None = None
    leading: PolynomialMap | None = field(default=None, repr=False, compare=False)

    @property
    def limit(self) -> PolynomialMap | None:
        """The function to which those of the family tend; `None` if they leave every bounded set, or are all zero."""
        if self.order is None or self.leading is None or self.order < 0:
            return None
        zero = map_entries(lambda entry: entry - entry, self.leading.entries)
        kept = self.leading.entries if self.order == 0 else zero
        phi = self.leading
        return PolynomialMap(phi.shape, kept, phi.ring, (), phi.input_names)

    @property
    def blows_up(self) -> dict[str, int]:
        """The matrices that leave every bounded set, with their rates."""
        return {name: rate for name, rate in self.rates.items() if rate is not None and rate < 0}

    @property
    def proof(self) -> str:
        """Where it is proved."""
        return "docs/limits.md, Proposition 1" if self.recovery is None else "docs/limits.md, Proposition 3"

    def lines(self) -> Lines:
        """Return what tends to what."""
        return list(self._said())

    def _latex(self) -> str:
        if self.order is None:
            return r"\varphi_\varepsilon = 0"
        grown = [] if self.leading_weights is None else self.leading_weights.formulas()
        return latex_lines([rf"\varphi_\varepsilon = \varepsilon^{{{self.order}}} (\varphi + \dots)", *grown])

    def _said(self) -> Iterator[tuple[str, str]]:
        yield "network", network_line(self.architecture)
        growing = ", ".join(f"{name} like {self.letter}^{rate}" for name, rate in self.blows_up.items())
        yield "weights", f"blow up: {growing}" if growing else "stay bounded"
        names = [f"A~{i}" for i in range(1, len(self.virtual_rates))]
        told = zip([*names, "V~"], self.virtual_rates, strict=True)
        yield "", ", ".join(f"{name} 0" if rate is None else f"{name} ~ {self.letter}^{rate}" for name, rate in told)
        if self.order is None:
            yield "function", "zero all along"
            return
        yield "function", f"like {self.letter}^{self.order}: {_TENDS[(self.order > 0) - (self.order < 0)]}"
        yield from labelled("leading", [cut_text(line, 400) for line in str(self.leading).splitlines()[1:]])
        if self.attained is not None and self.leading_weights is not None:
            yield "", "the function of the leading virtual weights, which the shape allows:"
            yield from virtual_lines(self.leading_weights)
        elif self.recovery is not None:
            yield "", "the leading virtual weights have the function zero; what is told is of higher order"
            words = {"weights": "some weights have this function", "none": "no real weights have this function"}
            yield "attained", words.get(self.recovery.answer.value, "undecided whether weights have this function")
        yield "proof", self.proof


MOST_POWER = 1000
"""Of the letter in front of a matrix of a family."""


def family_of(weights: Weights, along: Weights | None = None, powers: Mapping[str, int] | None = None) -> Weights:
    r"""Return the family with the matrices $\varepsilon^{n_M} (M + \varepsilon D_M)$, in the letter `eps`.

    Args:
        weights: the matrices $M$.
        along: the matrices $D_M$, of the same shapes; zero if not given.
        powers: by name of a matrix the integer $n_M$, zero where not given.

    Raises:
        BadInput: shapes or forms differ, a name is none of the matrices, or a power is too large.

    Example:
        >>> w = Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[3]]})
        >>> function_limit(family_of(w, powers={"Q1": 1, "V1": -1})).rates
        {'Q1': 1, 'K1': 0, 'V1': -1}
    """
    require_arguments(family_of, locals())
    for given in (weights, along):
        if given is not None:
            given.require_numbers()
    letter, powers = sympy.Symbol("eps"), dict(powers or {})
    if unknown := powers.keys() - weights.matrices.keys():
        raise BadInput(f"powers must be of {', '.join(weights.matrices)}, got {min(unknown)}")
    if any(abs(power) > MOST_POWER for power in powers.values()):
        raise BadInput(f"powers must be from {-MOST_POWER:,} to {MOST_POWER:,}")
    if along is not None and (along.form, along.architecture(1)) != (weights.form, weights.architecture(1)):
        raise BadInput(f"both must be of one shape, got {weights.architecture(1)} and {along.architecture(1)}")
    moved = {}
    for name, matrix in weights.matrices.items():
        added = map_entries(sympy.sympify, matrix)
        if along is not None:
            added = added + letter * map_entries(sympy.sympify, along[name])
        moved[name] = added * letter ** powers.get(name, 0)
    return Weights.of_family(moved, weights.form)


_TENDS = {-1: "it leaves every bounded set", 0: "it tends to its leading coefficient", 1: "it tends to zero"}


def function_limit(
    weights: Weights,
    tokens: int = 2,
    *,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> FunctionLimit:
    r"""Return the limit of the functions of a family of weights, as its letter tends to 0.

    Args:
        weights: of lightning attention with one head and nothing added, two tokens or more; entries are rational
            functions of one letter, as moves make them (`rescale(w, layer=1, by=eps)`), or polynomials in it.
        tokens: $t$.
        memory: bytes that the polynomials may take, by an estimate made before.
        work: seconds for the question whether weights have the limit, where that is not clear.
        progress: called with stage, steps done and steps in all.

    Raises:
        BadInput: another network, one token, or not exactly one letter.
        TooLarge: the polynomials do not fit.

    Source: `docs/limits.md`, Propositions 1 and 3.

    Example:
        >>> import sympy
        >>> from lightning_sym import rescale
        >>> eps = sympy.Symbol("eps")
        >>> w = Weights.of({"Q1": [[1, eps]], "K1": [[1, 0]], "V1": [[3, eps]]})
        >>> found = function_limit(rescale(w, layer=1, by=eps))
        >>> found.blows_up, found.order, found.attained
        ({'V1': -1}, 0, Weights.of({'Q1': [[1, 0]], 'K1': [[1, 0]], 'V1': [[3, 0]]}))
    """
    require_arguments(function_limit, locals())
    require_integer(tokens, "the number of tokens", 2)
    shape = weights.architecture(tokens)
    shape.require_plain("the limit of a family of functions")
    if len(weights.letters) != 1:
        raise BadInput(f"a family must have one letter, got {', '.join(map(str, weights.letters)) or 'none'}")
    (letter,) = weights.letters
    cleared = {name: _cleared(matrix, letter) for name, matrix in weights.matrices.items()}
    order, leading = _leading_function(shape, cleared, letter, memory)
    rates = {name: _rate(each) for name, each in cleared.items()}
    found = _virtual(cleared, shape.depth)
    virtual_rates = tuple(_rate(each) for each in found)
    told = partial(FunctionLimit, shape, letter.name, rates, virtual_rates, order, leading=leading)
    if order is None or leading is None or None in virtual_rates:
        return told(None)
    *attention, value = (_first(each) for each in found)
    first = VirtualWeights(tuple(attention), value)
    if is_zero_function(first, tokens):
        answer = membership.recover(leading, memory=memory, work=work, progress=progress)
        return told(first, recovery=answer)
    powers = [*(3 ** (shape.depth - i) for i in range(1, shape.depth + 1)), 1]
    expected = sum(p * r for p, r in zip(powers, virtual_rates, strict=True) if r is not None)
    if order != expected:
        raise ProgramError(f"the function has order {order}, and {expected} by Proposition 1")
    attained = realized(Weights.random(shape, seed=1), first)
    if not np.array_equal(polynomial_map(shape, attained).entries, leading.entries):
        raise ProgramError(f"the leading weights of {shape} must have the leading function")
    return told(first, attained)


class _Over(NamedTuple):
    """A matrix of rational functions: polynomials in the letter, over a polynomial."""

    numerators: ObjectArray
    denominator: Polynomial


def _cleared(matrix: ObjectArray, letter: sympy.Symbol) -> _Over:
    """Return a matrix of weights with one denominator for all of its entries."""
    ring = PolynomialRing([letter.name])
    parts = {index: sympy.fraction(sympy.together(sympy.sympify(entry))) for index, entry in np.ndenumerate(matrix)}
    common = sympy.lcm_list([low for _, low in parts.values()])
    numerators = np.empty(matrix.shape, dtype=object)
    for index, (top, low) in parts.items():
        numerators[index] = _as_polynomial(sympy.cancel(top * common / low), ring)
    return _Over(numerators, _as_polynomial(common, ring))


def _as_polynomial(expression: sympy.Expr, ring: PolynomialRing) -> Any:
    """Return a polynomial in the letter, or a number, as one of flint's."""
    return to_polynomial(read_entry(expression, "an entry of a family"), ring)


def _order(polynomial: Polynomial) -> int:
    """Return the least power of the letter, the first variable, that occurs."""
    return min(int(exponents[0]) for exponents in polynomial.monoms())


def _lowest(polynomial: Polynomial) -> Fraction:
    """Return the coefficient of this power."""
    return as_fraction(polynomial.to_dict()[(_order(polynomial),)])


def _rate(each: _Over) -> int | None:
    """Return the largest power of the letter that divides a matrix."""
    orders = [_order(entry) for entry in each.numerators.ravel() if entry]
    return min(orders) - _order(each.denominator) if orders else None


def _first(each: _Over) -> ObjectArray:
    """Return the coefficient of that power, a matrix of numbers that is not zero."""
    order = min(_order(entry) for entry in each.numerators.ravel() if entry)
    scale = _lowest(each.denominator)
    return map_entries(lambda entry: as_fraction(entry.to_dict().get((order,), 0)) / scale, each.numerators)


def _virtual(cleared: Mapping[str, _Over], depth: int) -> list[_Over]:
    """Return the virtual weights of the family, the value matrix last."""
    layers = [[cleared[f"{letter}{i}"] for letter in "QKV"] for i in range(1, depth + 1)]
    tops = virtual_weights([Layer(*(part.numerators for part in layer)) for layer in layers])
    found = []
    before = layers[0][0].denominator ** 0
    for (query, key, value), attention in zip(layers, tops.attention, strict=True):
        found.append(_Over(attention, before**2 * query.denominator * key.denominator))
        before = before * value.denominator
    return [*found, _Over(tops.value, before)]


def _leading_function(
    shape: Architecture, cleared: Mapping[str, _Over], letter: sympy.Symbol, memory: int
) -> tuple[int | None, PolynomialMap | None]:
    """Return the order of the function in the letter and its coefficient there, from the expanded polynomials."""
    tops = {name: map_entries(partial(_expression, letter=letter), each.numerators) for name, each in cleared.items()}
    phi = polynomial_map(shape, Weights.of(tops), memory=memory)
    orders = [int(m[0]) if phi.weight_names else 0 for _, _, entry in phi.outputs() for m in entry.monoms()]
    if not orders:
        return None, None
    lost, scale = 0, as_fraction(1)
    for name, each in cleared.items():
        power = 3 ** (shape.depth - int(name[1:]))
        lost += power * _order(each.denominator)
        scale *= _lowest(each.denominator) ** power
    ring, order, ahead = PolynomialRing(phi.input_names), min(orders), len(phi.weight_names)
    entries = np.empty(phi.entries.shape, dtype=object)
    for k, j, entry in phi.outputs():
        terms = {tuple(map(int, m)): c for m, c in entry.to_dict().items()}
        kept = {m[ahead:]: c for m, c in terms.items() if (m[0] if ahead else 0) == order}
        entries[k - 1, j - 1] = ring.from_terms(kept) * ring.constant(1 / scale)
    return order - lost, PolynomialMap(shape, entries, ring, (), phi.input_names)


def _expression(polynomial: Polynomial, letter: sympy.Symbol) -> sympy.Expr:
    """Return a polynomial in the letter as people write it."""
    return sum(
        (sympy.Rational(int(c.p), int(c.q)) * letter ** int(m[0]) for m, c in polynomial.to_dict().items()),
        sympy.Integer(0),
    )
