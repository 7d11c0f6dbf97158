r"""Is a polynomial map the function of some network of a shape, and of which weights?

The networks are real: what is decided is membership in the set of functions itself, not in its closure. The proofs are
in `docs/recover.md`. Every answer `weights` is checked by expansion before it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Lines, Result, latex_matrix
from lightning_sym.errors import BadInput, ProgramError, no_truth_value
from lightning_sym.exact.number_field import RATIONALS, NumberField, rank_over
from lightning_sym.fibers.recovery import NoFirstLayer, reconstruct
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_memory
from lightning_sym.network.ambient import count_terms_at_most
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.prices import price_of_coefficients
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import map_entries
from lightning_sym.varieties.candidates import Candidate, candidates, misfit, one_token_rows
from lightning_sym.varieties.expansion import Difference, first_difference, network_layers, virtual_layers
from lightning_sym.varieties.layer_forms import LayerForms, not_of_one_layer
from lightning_sym.varieties.map_input import map_from_python
from lightning_sym.varieties.realization import actual_weights, attention_of_form, is_rational
from lightning_sym.varieties.rotations import not_equivariant
from lightning_sym.varieties.skew_parts import layers_known


@no_truth_value("answer is Membership.WEIGHTS")
class Membership(Enum):
    """Whether a map is the function of a network of the shape, with real weights."""

    WEIGHTS = "weights"
    NONE = "none"
    UNDECIDED = "undecided"


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
    """

    architecture: Architecture
    answer: Membership
    minimal_polynomial: str | None = None
    root_between: tuple[str, str] | None = None
    matrices: dict[str, list[list[str]]] | None = None
    reasons: tuple[str, ...] = ()
    difference: Difference | None = None
    complex_weights: bool | None = None

    @cached_property
    def weights(self) -> Weights | None:
        """For `WEIGHTS` over the rationals the weights, else `None`."""
        if self.matrices is None or self.minimal_polynomial is not None:
            return None
        exact = {name: [[Fraction(x) for x in row] for row in rows] for name, rows in self.matrices.items()}
        return Weights.of(exact)

    def lines(self) -> Lines:
        """As the command prints it."""
        return list(self._said())

    def _said(self) -> Iterator[tuple[str, str]]:
        yield "network", f"lightning attention, one head, {self.architecture}"
        yield "answer", self.answer.value
        if self.answer is Membership.WEIGHTS:
            field = "the rationals"
            if self.minimal_polynomial is not None and self.root_between is not None:
                low, high = self.root_between
                field = f"Q(r), r a root of {self.minimal_polynomial}; the one between {low} and {high} is real"
            yield "over", field
            for name, rows in (self.matrices or {}).items():
                yield name, "; ".join(" ".join(f"({x})" if " " in x else x for x in row) for row in rows)
            yield "checked", "the polynomial map of these weights, expanded, is the map"
        for reason in self.reasons:
            yield "because", reason
        if self.difference is not None:
            at = self.difference
            where = f"row {at.row}, token {at.token}, {at.monomial}"
            yield "at", f"{where}: the coefficient is {at.given}, it must be {at.found}"
        if self.answer is Membership.NONE:
            known = {True: "have this function", False: "do not have it either", None: "were not decided"}
            yield "complex", f"complex weights of this shape {known[self.complex_weights]}"

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


def _as_sympy(text: str, r: Any) -> Any:
    """An entry as this module wrote it."""
    from lightning_sym.rings.polynomials import PolynomialRing, to_sympy
    from lightning_sym.varieties.map_text import parse_polynomial

    return to_sympy(parse_polynomial(text, PolynomialRing(["r"]), 10**6), ["r"]).as_expr().subs("r", r)


_COEFFICIENT_BITS = 16
"""Bits of the weights that are expanded, before they are known."""

FACTOR = 3e-5
"""Seconds for a term of a form that is factored; measured, and rough."""

PRODUCT = 1e-4
"""Seconds for a coefficient of one layer; measured, and rough."""

EQUATION = 2e-4
"""Seconds for a term of a series in the equations of skew parts; measured, and rough."""

VALUE = 5e-7
"""Seconds for a term of the map at one point; measured, and rough."""


def recover(
    phi: Any,
    architecture: Architecture | None = None,
    *,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> Recovery:
    """Whether a polynomial map is the function of some network of a shape, with real weights, and of which weights.

    Args:
        phi: a `PolynomialMap` with numbers for weights, also one of one's own, whose inputs are then the `x_k_j` row by
            row in the order in which they were listed; or the outputs, `d_l x t`, as a SymPy matrix or as rows of
            SymPy expressions or text, in the letters `x_k_j` (coordinate `k` of token `j`); or its coefficients, as
            `PolynomialMap.coefficient_vector()` or `coefficients()` gives them.
        architecture: the shape; that of `phi` if it is a `PolynomialMap`.
        memory: bytes that expanded polynomials may take, by an estimate made before.
        work: seconds that exact work may take, by a rough estimate made before each step.
        progress: called with stage, steps done and steps in all.

    Returns:
        Weights, rational or over a number field with a real root; or why there are none; or what is undecided: that can
        be the case for two layers or more whose quadratic forms are not all different from zero.

    Raises:
        BadInput: the map is none (not homogeneous, of the wrong degree or shape, with floats or unknown letters), or
            the network has an option: heads, skip connections, a mask, a normalization, embeddings.
        TooLarge: an estimate exceeds `memory` or `work`.

    Example:
        >>> shape = Architecture((2, 1), (1,), tokens=1)
        >>> print(recover([["x_1_1^3 - 2*x_1_1*x_2_1^2"]], shape))
        network     lightning attention, one head, widths 2,1, ranks 1, tokens 1
        answer      weights
        over        Q(r), r a root of r^2 - 2; the one between -2 and -1 is real
        Q1          1 r
        K1          1 -r
        V1          1 0
        checked     the polynomial map of these weights, expanded, is the map
    """
    require_arguments(recover, locals())
    if architecture is None:
        if not isinstance(phi, PolynomialMap):
            raise BadInput("the architecture must be given, unless the map is a PolynomialMap")
        architecture = phi.architecture
    if not isinstance(architecture, Architecture):
        raise BadInput(f"the shape must be an Architecture, got {type(architecture).__name__}")
    architecture.require_plain("the weights of a polynomial map")
    question = _Question(map_from_python(phi, architecture), memory, Work(work, progress))
    return question.answer()


class _Question:
    """A map, its shape, and what has failed."""

    def __init__(self, phi: PolynomialMap, memory: int, work: Work) -> None:
        self.phi, self.shape, self.work = phi, phi.architecture, work
        self.failures: list[str] = []
        self.complex = False
        terms = count_terms_at_most(self.shape, symbolic=False)
        size = 64 + 8 * self.shape.widths[0] * self.shape.tokens
        require_memory(terms * size, memory, f"the polynomials, up to {terms:,} terms,")
        self.expansion = price_of_coefficients(self.shape, _COEFFICIENT_BITS).seconds

    def answer(self) -> Recovery:
        """The strategies in turn; each but the last is complete where it applies."""
        shape, phi = self.shape, self.phi
        if phi.term_count == 0:
            zeros = {name: RATIONALS.matrix(np.zeros(size, dtype=int)) for name, size in shape.weight_shapes()}
            return self._weights(zeros, RATIONALS)
        if shape.depth == 1 and shape.tokens > 1:
            d, d_out = shape.widths
            self.work.spend(PRODUCT * d_out * shape.tokens**2 * d**2 * (d + 1), "the coefficients of one layer")
            if (wrong := not_of_one_layer(phi)) is not None:
                why = "the function of one layer is linear in the coefficients b_km of x_k_1 in the outputs of token 1"
                return self._none([f"{why}, all others are sums of these"], False, wrong)
            return self._first(LayerForms(phi).candidates(self.failures))
        self.work.spend(self.expansion * shape.tokens, "the rotations of the tokens")
        if (unequal := not_equivariant(phi)) is not None:
            why = "phi(X R) = phi(X) R for every orthogonal t x t matrix R and every network"
            return self._none([f"{why}: {unequal.what}"], False, unequal.difference)
        rows = one_token_rows(phi)
        if any(not row.is_zero() for row in rows):
            self.work.spend(FACTOR * sum(map(len, rows)) * shape.degree, "factors at one token")
            if shape.tokens > 1:
                d = shape.widths[0]
                self.work.spend(EQUATION * d * (d - 1) * 9**shape.depth, "skew-symmetric parts")
            return self._first(candidates(phi, shape.attention_ranks, self.failures))
        if shape.tokens == 1:
            raise ProgramError("a map of one token that is not zero vanishes there")
        return self._with_skew_layers()

    def _first(self, found: Iterator[Candidate]) -> Recovery:
        """The first candidate that has the function and belongs to the shape; the list is complete."""
        for candidate in found:
            if (recovery := self._tried(candidate)) is not None:
                return recovery
        return self._none(self.failures, self.complex)

    def _tried(self, candidate: Candidate) -> Recovery | None:
        tail = f" ({candidate.what})" if candidate.what else ""
        self.work.spend(self.expansion * candidate.field.degree**2, "the expansion of a candidate")
        layers = virtual_layers(candidate.attention, candidate.value)
        if (wrong := first_difference(self.phi, layers, candidate.field)) is not None:
            place = f"row {wrong.row}, token {wrong.token}, {wrong.monomial}"
            self.failures.append(
                f"the only virtual weights that are possible{tail} have another function: at {place} the map has "
                f"{wrong.given}, they have {wrong.found}"
            )
            return None
        if (why := misfit(candidate, self.shape)) is not None:
            self.failures.append(f"{why.reason}{tail if candidate.what not in why.reason else ''}")
            self.complex |= not why.complex
            return None
        return self._weights(*self._realized(candidate))

    def _realized(self, candidate: Candidate) -> tuple[dict[str, ObjectArray], NumberField]:
        """Matrices of the shape, over a field that has what the forms need."""
        field, attention, value = candidate.field, list(candidate.attention), candidate.value
        pairs = list(candidate.pairs)
        for i in range(candidate.known, len(attention)):
            width = self.shape.attention_ranks[i]
            if rank_over(attention[i]) <= width:
                continue
            pair = pairs[i]
            if pair is not None:
                attention[i] = np.outer(*pair)
                continue
            if not is_rational(attention[i]):
                raise ProgramError("a form that is neither rational nor a product has no matrix of this rank")
            field, into, attention[i] = attention_of_form(attention[i], width)
            attention = [map_entries(into, a) if j != i else a for j, a in enumerate(attention)]
            value = map_entries(into, value)
            pairs = [None if p is None else (map_entries(into, p[0]), map_entries(into, p[1])) for p in pairs]
        return actual_weights(attention, value, self.shape), field

    def _weights(self, matrices: dict[str, ObjectArray], field: NumberField) -> Recovery:
        self.work.spend(self.expansion * field.degree**2, "the expansion of the weights")
        if (wrong := first_difference(self.phi, network_layers(matrices), field)) is not None:
            raise ProgramError(f"weights that were found have another function: {wrong}")
        text = {name: [[str(x) for x in row] for row in m] for name, m in matrices.items()}
        if all(is_rational(m) for m in matrices.values()):
            found = Recovery(self.shape, Membership.WEIGHTS, matrices=text)
            if found.weights is None or found.weights.architecture(self.shape.tokens) != self.shape:
                raise ProgramError(f"weights of another shape than {self.shape}")
            return found
        low, high = field.real_intervals[0]
        between = (str(low), str(high))
        return Recovery(
            self.shape, Membership.WEIGHTS, minimal_polynomial=field.polynomial, root_between=between, matrices=text
        )

    def _none(self, reasons: Sequence[str], complex_weights: bool, wrong: Difference | None = None) -> Recovery:
        return Recovery(
            self.shape,
            Membership.NONE,
            reasons=tuple(dict.fromkeys(reasons)),
            difference=wrong,
            complex_weights=complex_weights,
        )

    def _with_skew_layers(self) -> Recovery:
        """The map vanishes at one token, so an attention matrix is skew-symmetric: two layers, over the rationals."""
        why = "phi vanishes at one token, so some x^T A~i x is zero"
        if self.shape.depth != 2:
            return self._undecided(f"{why}; such networks of three layers or more are not decided")
        d = self.shape.widths[0]
        self.work.spend(VALUE * self.phi.term_count * d**2 * (d + 1) / 2, "the layer behind a skew-symmetric one")
        try:
            solutions = reconstruct(self.phi)
        except NoFirstLayer:
            return self._none(
                [f"{why}; then the parts of degree 1 and 5 in the second token do not both vanish"], False, None
            )
        for solution in solutions:
            attention = tuple(map(RATIONALS.matrix, solution.weights.attention))
            value = RATIONALS.matrix(solution.weights.value)
            known = layers_known(attention, self.shape.tokens)
            candidate = Candidate(RATIONALS, attention, value, known, (None, None), "")
            if (recovery := self._tried(candidate)) is not None:
                return recovery
        found = "; ".join(self.failures) or "no virtual weights over the rationals"
        return self._undecided(f"{why}; {found}; others, over larger fields, are not decided")

    def _undecided(self, reason: str) -> Recovery:
        return Recovery(self.shape, Membership.UNDECIDED, reasons=(reason,))
