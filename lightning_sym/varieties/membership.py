r"""Is a polynomial map the function of some network of a shape, and of which weights?

The networks are real: what is decided is membership in the set of functions itself, not in its closure. The proofs are
in `docs/recover.md`. Every answer `weights` is checked by expansion before it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import Need, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.exact.number_field import RATIONALS, NumberField, rank_over
from lightning_sym.fibers.recovery import NoFirstLayer, price_of_reconstruction, reconstruct
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_memory
from lightning_sym.network.ambient import count_terms_at_most
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.prices import price_of_coefficients, price_of_comparison
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial
from lightning_sym.rings.rationals import map_entries
from lightning_sym.varieties.candidates import (
    Candidate,
    LayerForms,
    candidates,
    misfit,
    not_of_one_layer,
    one_token_rows,
    price_of_products,
)
from lightning_sym.varieties.map_input import map_from_python
from lightning_sym.varieties.map_recovery import (
    Difference,
    Membership,
    Recovery,
    first_difference,
    network_layers,
    not_equivariant,
    virtual_layers,
)
from lightning_sym.varieties.realization import actual_weights, attention_of_form, is_rational
from lightning_sym.varieties.skew_parts import layers_known

_COEFFICIENT_BITS = 16
"""Bits of the weights that are expanded, before they are known."""


def recover(
    phi: Any,
    architecture: Architecture | None = None,
    *,
    inputs: Sequence[Any] | None = None,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> Recovery:
    """Return whether a polynomial map is the function of some network of a shape, over the reals, with weights.

    Args:
        phi: a `PolynomialMap` with numbers for weights, also one of one's own, whose inputs are then the `x_k_j` row by
            row in the order in which they were listed; or the outputs, `d_l x t`, as a SymPy matrix or as rows of
            SymPy expressions or text, in the letters `x_k_j` (coordinate `k` of token `j`); or its coefficients, as
            `PolynomialMap.coefficient_vector()` or `coefficients()` gives them.
        architecture: the shape; that of `phi` if it is a `PolynomialMap`.
        inputs: SymPy symbols or names in the order of `x_1_1, x_1_2, ..., x_2_1, ...`, where the outputs have other
            letters than these.
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
    architecture.require_plain("the weights of a polynomial map")
    asked = _AskedMap(map_from_python(phi, architecture, inputs), memory, Work(work, progress))
    found, tried = ask(asked, RECOVERY, asked.work)
    return replace(asked.undecided() if found is None else found, tried=tried)


class _AskedMap:
    """A map, its shape, and what has failed."""

    def __init__(self, phi: PolynomialMap, memory: int, work: Work) -> None:
        self.phi, self.shape, self.work = phi, phi.architecture, work
        self.failures: list[str] = []
        self.complex = False
        terms = count_terms_at_most(self.shape, symbolic=False)
        size = 64 + 8 * self.shape.widths[0] * self.shape.tokens
        require_memory(terms * size, memory, f"the polynomials, up to {terms:,} terms,")
        self.reading = price_of_comparison(phi.term_count, len(phi.input_names)).seconds
        self.expansion = price_of_coefficients(self.shape, _COEFFICIENT_BITS).seconds + 2 * self.reading

    @cached_property
    def at_one_token(self) -> list[Polynomial]:
        """The outputs of the first token where all others are zero, as polynomials in its entries."""
        self.work.spend(self.reading, "the outputs at one token")
        return one_token_rows(self.phi)

    @property
    def vanishes_at_one_token(self) -> bool:
        """Whether the map is zero where all tokens but one are."""
        return all(row.is_zero() for row in self.at_one_token)

    def zero(self) -> Recovery:
        """Return weights that are all zero."""
        zeros = {name: RATIONALS.matrix(np.zeros(size, dtype=int)) for name, size in self.shape.weight_shapes()}
        return self._weights(zeros, RATIONALS)

    def one_layer(self) -> Recovery:
        """Return the answer for one layer and two tokens or more, from the coefficients linear in the query."""
        phi = self.phi
        self.work.spend(price_of_products(phi).seconds, "the coefficients of one layer")
        if (wrong := not_of_one_layer(phi)) is not None:
            why = "the function of one layer is linear in the coefficients b_km of x_k_1 in the outputs of token 1"
            return self._none([f"{why}, all others are sums of these"], wrong)
        return self._first(LayerForms(phi).candidates(self.failures))

    def turned(self) -> Recovery | None:
        """Return that no network has the function, if it does not commute with rotations of the tokens.

        `None` if it does.
        """
        if (unequal := not_equivariant(self.phi, self.work)) is None:
            return None
        why = "phi(X R) = phi(X) R for every orthogonal t x t matrix R and every network"
        return self._none([f"{why}: {unequal.what}"], unequal.difference)

    def by_one_token(self) -> Recovery:
        """Return the answer for a map that does not vanish at one token."""
        self.work.spend(self.reading, "the outputs at one token")
        return self._first(candidates(self.phi, self.shape.attention_ranks, self.failures, self.work))

    def _first(self, found: Iterator[Candidate]) -> Recovery:
        """Return the first candidate that has the function and belongs to the shape; the list is complete."""
        for candidate in found:
            if (recovery := self._tried(candidate)) is not None:
                return recovery
        return self._none(self.failures, complex_weights=self.complex)

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
        """Return matrices of the shape, over a field that has what the forms need."""
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

    def _none(
        self, reasons: Sequence[str], wrong: Difference | None = None, *, complex_weights: bool = False
    ) -> Recovery:
        """Return that there are none, by what fails, and whether complex ones are known to be there."""
        return Recovery(
            self.shape,
            Membership.NONE,
            reasons=tuple(dict.fromkeys(reasons)),
            difference=wrong,
            complex_weights=complex_weights,
        )

    def by_two_tokens(self) -> Recovery | None:
        """Return the answer for two layers of which one is skew-symmetric, where one is found over the rationals."""
        numbers = (c for _, _, entry in self.phi.outputs() for c in entry.coeffs())
        bits = max((int(c.p).bit_length() + int(c.q).bit_length() for c in numbers), default=0)
        price = price_of_reconstruction(self.shape, self.phi.term_count, bits)
        self.work.spend(price, "the layer behind a skew-symmetric one")
        try:
            solutions = reconstruct(self.phi)
        except NoFirstLayer:
            why = "then the parts of degree 1 and 5 in the second token do not both vanish"
            return self._none([f"{VANISHES}; {why}"])
        for solution in solutions:
            attention = tuple(map(RATIONALS.matrix, solution.weights.attention))
            value = RATIONALS.matrix(solution.weights.value)
            known = layers_known(attention, self.shape.tokens)
            candidate = Candidate(RATIONALS, attention, value, known, (None, None), "")
            if (recovery := self._tried(candidate)) is not None:
                return recovery
        return None

    def undecided(self) -> Recovery:
        """Return what is said of a map that vanishes at one token, and of which no theorem says more."""
        open_still = "such networks of three layers or more are not decided"
        if self.shape.depth == 2:
            found = "; ".join(self.failures) or "no virtual weights over the rationals"
            open_still = f"{found}; others, over larger fields, are not decided"
        return Recovery(self.shape, Membership.UNDECIDED, reasons=(f"{VANISHES}; {open_still}",))


VANISHES = "phi vanishes at one token, so some x^T A~i x is zero"
TWO_TOKENS = Need("two tokens or more", lambda asked: asked.shape.tokens > 1, lambda asked: str(asked.shape.tokens))


def _layers(count: int, words: str) -> Need:
    return Need(words, lambda asked: asked.shape.depth == count, lambda asked: str(asked.shape.depth))


RECOVERY: tuple[TheoremRow[_AskedMap, Recovery], ...] = (
    TheoremRow("", lambda asked: asked.phi.term_count == 0, paid_by_steps, _AskedMap.zero),
    TheoremRow(
        "Theorem 6 of docs/recover.md", any_question, paid_by_steps, _AskedMap.one_layer,
        needs=(_layers(1, "one layer"), TWO_TOKENS),
    ),
    TheoremRow("", any_question, paid_by_steps, _AskedMap.turned),
    TheoremRow(
        "Proposition 4 and Theorem 5 of docs/recover.md", any_question, paid_by_steps, _AskedMap.by_one_token,
        needs=(Need("a map that does not vanish at one token", lambda asked: not asked.vanishes_at_one_token),),
    ),
    TheoremRow(
        "Proposition 7 of docs/recover.md", any_question, paid_by_steps, _AskedMap.by_two_tokens,
        "no virtual weights that it finds over the rationals belong to the shape", (_layers(2, "two layers"),),
    ),
)  # fmt: skip
"""In the order of asking; each pays what it does step by step."""
