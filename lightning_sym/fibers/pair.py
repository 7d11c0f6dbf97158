"""Two networks of one form that are compared, and what is found out about them on the way."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cached_property

from lightning_sym.ask import FellShort, TheoremPrice
from lightning_sym.errors import ProgramError, TooLarge
from lightning_sym.exact.rational import columns_of, row_echelon
from lightning_sym.fibers.comparison import Answer, Comparison, Reason
from lightning_sym.fibers.cost import entries_cost
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import Work
from lightning_sym.network.attention import network_output
from lightning_sym.network.prices import price_of_coefficients
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix, map_entries

with lazy_imports(__name__):  # most answers need no coefficients
    from lightning_sym.network import polynomial_map

LARGE_INPUT = 2**31
"""Entries of integer inputs of lightning networks, for a small error bound."""

PREFIX = 8
"""Tokens of inputs where `t x t` scores are too many: the first outputs of a causal network are of these alone."""

MOST_TRIES = 64
"""Inputs that are tried where the functions are known to differ."""


class Pair:
    """Two networks of one form.

    Attributes:
        weights, tokens: the networks.
        evaluations: how many inputs with large entries are tried.
        memory: bytes that polynomials may take.
        work: of all exact work.
        source: of random inputs.
        shapes: the networks without their weights; `evaluated`, with the tokens that inputs have.
        agreed: inputs at which the outputs were not seen to differ; `large` of these had large entries.
        tried: theorems that were asked beside those of the list.
        is_plain: whether they are lightning networks with one head and nothing added.
    """

    prefix: int | None = None
    is_plain = False

    def __init__(
        self, weights: tuple[Weights, Weights], tokens: int, evaluations: int, memory: int, work: Work, seed: int
    ) -> None:
        self.weights, self.tokens, self.evaluations = weights, tokens, evaluations
        self.memory, self.work, self.source = memory, work, random.Random(seed)
        self.shapes = weights[0].architecture(tokens), weights[1].architecture(tokens)
        self.evaluated, self.agreed, self.large = self.shapes, 0, 0
        self.tried = list[FellShort]()

    @property
    def of_one_depth(self) -> bool:
        """Whether both have as many layers."""
        return self.shapes[0].depth == self.shapes[1].depth

    @property
    def has_polynomials(self) -> bool:
        """Whether their coefficients can be compared."""
        raise NotImplementedError

    @cached_property
    def lengths(self) -> list[int]:
        """Bits of the longest entry of either."""
        raise NotImplementedError

    def exact_cost(self, bound: int) -> float:
        """Return seconds for exact outputs of both at integers up to `bound`."""
        raise NotImplementedError

    @cached_property
    def exact(self) -> list[list[RationalMatrix]]:
        """All matrices.

        Raises:
            TooLarge: there are too many entries.
        """
        entries = sum(shape.parameter_count for shape in self.shapes)
        self.work.spend(entries_cost(entries, 1, 64), "exact weights")  # how long they are is not known before
        return [[RationalMatrix.of(m) for m in w.matrices.values()] for w in self.weights]

    def by_inputs(self) -> Comparison | None:
        """Return an input where outputs differ, among a few that are tried."""
        raise NotImplementedError

    def draw(self, bound: int, denominator: Fraction | int = 1) -> RationalMatrix:
        """Return a random input."""
        rows, columns = self.shapes[0].input_width, self.evaluated[0].tokens
        entries = [
            [Fraction(self.source.randint(-bound, bound), denominator) for _ in range(columns)] for _ in range(rows)
        ]
        return RationalMatrix.of(entries)

    def exactly(self, bound: int) -> Comparison | None:
        """Return whether exact outputs of lightning networks differ at a random input of integers up to `bound`."""
        x = self.draw(bound)
        self.work.spend(self.exact_cost(bound), "exact evaluations")
        self.large += bound == LARGE_INPUT
        one, other = (network_output(x, s, m) for s, m in zip(self.evaluated, self.exact, strict=True))
        if one == other:
            self.agreed += 1
            return None
        outputs = one.fractions(), other.fractions()
        whole = map_entries(int, x.fractions())
        return Comparison(Answer.DIFFERENT, Reason.INPUT, input=whole, outputs=outputs, prefix=self.prefix)

    def witness(self) -> Comparison:
        """Return an input where the outputs differ, of lightning networks whose functions are known to differ."""
        for _ in range(MOST_TRIES):
            if (found := self.exactly(LARGE_INPUT)) is not None:
                return found
        raise ProgramError(f"the functions differ and {MOST_TRIES} evaluations agree")

    def undecided(self) -> Comparison:
        """Return what is said where nothing was proved: how often exact outputs agreed."""
        each = min(Fraction(1), Fraction(max(s.degree for s in self.shapes), 2 * LARGE_INPUT + 1))
        bound = each**self.large
        return Comparison(Answer.UNDECIDED, Reason.EVALUATIONS, evaluations=self.large, error_bound=bound)


def _on_what_is_read(first: Weights, second: Weights) -> tuple[Weights, Weights]:
    """Return both networks on the inputs that `(E, E')` tells apart: fewer variables if its rank is small.

    With `(E, E') = B R`, columns of full rank times rows, outputs at all inputs agree if those of `B` do.
    """
    if not ("E" in first.all_held and "E" in second.all_held):
        return first, second
    embeds = RationalMatrix.of(first["E"]), RationalMatrix.of(second["E"])
    pivots = row_echelon(embeds[0].above(embeds[1])).pivots
    if not 0 < len(pivots) < embeds[0].shape[1]:
        return first, second
    one, other = (
        Weights.of(w.numbers() | {"E": columns_of(e, pivots).fractions()}, w.form)
        for w, e in zip((first, second), embeds, strict=True)
    )
    return one, other


def coefficients_price(pair: Pair) -> TheoremPrice:
    """Return what all coefficients of both cost."""
    shapes = [network.architecture(pair.tokens) for network in _on_what_is_read(*pair.weights)]
    steps = tuple(price_of_coefficients(s, bits).seconds for s, bits in zip(shapes, pair.lengths, strict=True))
    return TheoremPrice(steps, "all coefficients")


def by_coefficients(pair: Pair) -> Comparison | None:
    """Return the comparison by all coefficients of both polynomials, for small lightning networks.

    `None` where that would take too long or too much memory.
    """
    if not pair.work.allows(2 * pair.exact_cost(LARGE_INPUT)):
        return None
    networks = _on_what_is_read(*pair.weights)
    try:
        first, second = (
            polynomial_map.polynomial_map(w.architecture(pair.tokens), w, memory=pair.memory).ring_coefficients()
            for w in networks
        )
    except TooLarge:
        return None
    return Comparison(Answer.SAME, Reason.COEFFICIENTS) if first == second else pair.witness()
