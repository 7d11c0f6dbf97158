"""How what a black box answers becomes weights: exact ones with bounded denominators, or balls."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from math import ceil, floor
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from lightning_sym.display import spelled
from lightning_sym.errors import ProgramError
from lightning_sym.exact.rational import unique_solution
from lightning_sym.fibers.virtual_moves import is_zero
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.ball_matrices import BallMatrix
from lightning_sym.rings.balls import Ball, ball, distance, middle_and_radius, precision
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import map_entries
from lightning_sym.varieties.decimals import least_power_of_ten
from lightning_sym.varieties.query_plan import QueryPlan, longest_direction
from lightning_sym.varieties.two_tokens import basis_of, basis_of_directions, quadratic, small_vectors

Directions = list[tuple[int, ...]]
MOST_DIRECTIONS = 500
"""Short vectors that are tried as directions where weights are balls."""


class Interval(NamedTuple):
    """All numbers within a radius of a middle."""

    middle: Fraction
    radius: Fraction


Rows = tuple[tuple[Fraction, ...], ...]


class AnsweredQuery(NamedTuple):
    """A question and its answer, exact decimals."""

    input: Rows
    output: ObjectArray


Measured = TypeVar("Measured")
"""What is measured: an interval, or a ball."""

Found = TypeVar("Found")
"""A number that is found in what is measured: a fraction, or a ball."""


class BlackBoxArithmetic(Protocol[Measured, Found]):
    """What is done with numbers of one kind, exact or balls."""

    bits: int

    def entry(self, measured: Interval) -> Found | None:
        """Return an entry of `V~`; `None` if there is none."""

    def is_zero(self, value: ObjectArray) -> bool | None:
        """Return whether a matrix is zero; `None` where that is not known."""

    def directions(self, attention: Sequence[ObjectArray], value: ObjectArray) -> Directions:
        """Return independent directions that show the next layer."""

    def best_row(self, value: ObjectArray, y: ObjectArray) -> int:
        """Return the row `v` of `V~` with the largest `v y`."""

    def sigma(self, mean: Interval, row: ObjectArray, m: ObjectArray, y: ObjectArray, left_out: Fraction) -> Measured:
        """Return the sum of the terms that are interpolated, at a node: `(mean - v m) / (v y)`, less what is left."""

    def combined(self, values: list[Measured], multipliers: list[Fraction]) -> Measured:
        """Return a combination."""

    def product(self, measured: Measured, already: Found, leading: Found, factor: Fraction) -> Found | None:
        r"""Return $u^\top A m$, `u` the direction: what is measured less what known layers make, divided."""

    def matrix(self, directions: Directions, rows: list[list[Found]], name: str) -> ObjectArray | str:
        r"""Return `A` from the $u^\top A$, or why there is none."""

    def is_known(self, attention: ObjectArray) -> bool:
        """Return whether more is known of the matrix than its bound."""

    def shown(
        self, attention: Sequence[ObjectArray], value: ObjectArray
    ) -> tuple[list[ObjectArray], ObjectArray, Fraction | None]:
        """Return rational matrices, and how far at most they are from the true ones."""

    def disagrees(
        self, attention: Sequence[ObjectArray], value: ObjectArray, asked: Sequence[AnsweredQuery]
    ) -> int | None:
        """Return the number of an answer that these weights certainly do not give."""


def _bits(plan: QueryPlan) -> int:
    places = max(2 * 3**i * nodes.places for i, nodes in enumerate(plan.nodes))
    return int(3.4 * (plan.digits + places)) + 256


class ExactArithmetic:
    """Fractions: each entry is the only one with a common denominator that is close enough."""

    def __init__(self, plan: QueryPlan) -> None:
        self.plan, self.bits = plan, _bits(plan)
        assert plan.common is not None  # noqa: S101 - for the type checker
        self.common = plan.common

    def _only(self, measured: Interval) -> Fraction | None:
        """Return the multiple of one over the common denominator inside; `None` if there is none."""
        low, high = (self.common * (measured.middle + s * measured.radius) for s in (-1, 1))
        if floor(high) > ceil(low):
            raise ProgramError("the digits that were planned do not tell two fractions apart")
        return Fraction(floor(high), self.common) if floor(high) == ceil(low) else None

    def _bounded(self, number: Fraction | None) -> bool:
        return number is not None and number.denominator <= (self.plan.denominators or 0)

    def entry(self, measured: Interval) -> Fraction | None:
        """Return an entry of `V~`; `None` if there is none."""
        found = self._only(measured)
        return found if self._bounded(found) else None

    def is_zero(self, value: ObjectArray) -> bool | None:
        """Return whether a matrix is zero."""
        return is_zero(value)

    def directions(self, attention: Sequence[ObjectArray], value: ObjectArray) -> Directions:
        """Return independent directions that show the next layer.

        There are enough among short vectors, as the forms are not zero (Lemma 9 of `docs/softmax-fibers.md`).
        """
        row = next(r for r in value if any(r))

        def fits(y: tuple[int, ...]) -> bool:
            return row @ np.array(y, dtype=object) != 0 and all(quadratic(a, y) != 0 for a in attention)

        found = basis_of_directions(value.shape[1], longest_direction(self.plan.architecture), fits)
        if len(found) < value.shape[1]:
            raise ProgramError("forms that are not zero vanish at too many short vectors")
        return found

    def best_row(self, value: ObjectArray, y: ObjectArray) -> int:
        """Return the row `v` of `V~` with the largest `v y`."""
        return int(np.argmax([abs(x) for x in value @ y]))

    def sigma(self, mean: Interval, row: ObjectArray, m: ObjectArray, y: ObjectArray, left_out: Fraction) -> Interval:
        """Return the sum of the terms that are interpolated, at a node."""
        across = row @ y
        return Interval((mean.middle - row @ m) / across, mean.radius / abs(across) + left_out)

    def combined(self, values: list[Interval], multipliers: list[Fraction]) -> Interval:
        """Return a combination."""
        pairs = list(zip(values, multipliers, strict=True))
        middle = sum((c * v.middle for v, c in pairs), Fraction(0))
        return Interval(middle, sum((abs(c) * v.radius for v, c in pairs), Fraction(0)))

    def product(self, measured: Interval, already: Fraction, leading: Fraction, factor: Fraction) -> Fraction | None:
        r"""Return $u^\top A m$, which has the common denominator."""
        scale = factor * leading**2
        return self._only(Interval((measured.middle - already) / scale, measured.radius / abs(scale)))

    def matrix(self, directions: Directions, rows: list[list[Fraction]], name: str) -> ObjectArray | str:
        r"""Return `A` from the $u^\top A$, within all bounds, or why there is none."""
        found = unique_solution(directions, rows)
        assert found is not None  # noqa: S101 - directions are independent
        attention: ObjectArray = map_entries(Fraction, found)
        if not all(map(self._bounded, attention.ravel())):
            return f"{name} has no entries with such denominators"
        if max(abs(x) for x in attention.ravel()) > self.plan.bound:
            return f"{name} must have entries of at most {spelled(self.plan.bound)}"
        return attention

    def is_known(self, attention: ObjectArray) -> bool:
        """Return that it is known: it is exact."""
        return True

    def shown(
        self, attention: Sequence[ObjectArray], value: ObjectArray
    ) -> tuple[list[ObjectArray], ObjectArray, Fraction | None]:
        """Return the matrices as they are, with no bound of an error."""
        return list(attention), value, None

    def disagrees(
        self, attention: Sequence[ObjectArray], value: ObjectArray, asked: Sequence[AnsweredQuery]
    ) -> int | None:
        """Return the number of an answer that these weights certainly do not give; outputs are known well enough."""
        error = Fraction(1, 10**self.plan.digits)
        for number, question in enumerate(asked):
            for doubling in range(6):
                with precision(self.bits << doubling):
                    output = _output(attention, value, question.input, self.plan)
                    apart = [distance(o, a) for o, a in zip(output.ravel(), question.output.ravel(), strict=True)]
                    if any(least > error for least, _ in apart):
                        return number
                    if all(most is not None and most - least < error / 100 for least, most in apart):
                        break
            else:
                raise ProgramError("the outputs of the weights that were found cannot be evaluated")
        return None


class BallArithmetic:
    """Balls that contain the true numbers."""

    def __init__(self, plan: QueryPlan) -> None:
        self.plan, self.bits = plan, _bits(plan)

    def entry(self, measured: Interval) -> Ball:
        """Return an entry of `V~`."""
        return ball(*measured)

    def is_zero(self, value: ObjectArray) -> bool | None:
        """Return `False` where it is known not to be zero, else `None`."""
        return False if any(x.abs_lower() > 0 for x in value.ravel()) else None

    def directions(self, attention: Sequence[ObjectArray], value: ObjectArray) -> Directions:
        """Return those at which what is divided by is largest, if it is certainly not zero."""
        d = value.shape[1]

        def size(u: tuple[int, ...]) -> Ball:
            y = map_entries(ball, np.array([Fraction(x) for x in u], dtype=object))
            least: Ball = max(x.abs_lower() for x in value @ y)
            for a in attention:
                least = least * quadratic(a, y).abs_lower()
            return (least / ball(Fraction(sum(abs(x) for x in u)))).abs_lower()

        short = islice(small_vectors(d, longest_direction(self.plan.architecture)), MOST_DIRECTIONS)
        sized = sorted(((size(u), u) for u in short), key=lambda pair: pair[0], reverse=True)
        return basis_of((u for least, u in sized if least > 0), d)

    def best_row(self, value: ObjectArray, y: ObjectArray) -> int:
        """Return the row `v` of `V~` with the largest `v y`."""
        sizes = [x.abs_lower() for x in value @ map_entries(ball, y)]
        return sizes.index(max(sizes))

    def sigma(self, mean: Interval, row: ObjectArray, m: ObjectArray, y: ObjectArray, left_out: Fraction) -> Ball:
        """Return the sum of the terms that are interpolated, at a node."""
        value: Ball = (ball(*mean) - row @ map_entries(ball, m)) / (row @ map_entries(ball, y))
        return value + ball(Fraction(0), left_out)

    def combined(self, values: list[Ball], multipliers: list[Fraction]) -> Ball:
        """Return a combination."""
        return sum((v * ball(c) for v, c in zip(values, multipliers, strict=True)), Ball(0))

    def product(self, measured: Ball, already: Ball, leading: Ball, factor: Fraction) -> Ball:
        r"""Return $u^\top A m$, in a ball."""
        return (measured - already) / (ball(factor) * leading**2)

    def matrix(self, directions: Directions, rows: list[list[Ball]], name: str) -> ObjectArray | str:
        r"""Return `A` from the $u^\top A$ if it may keep its bound, or why there is none."""
        inverse = unique_solution(directions, np.eye(len(directions), dtype=int))
        assert inverse is not None  # noqa: S101 - directions are independent
        attention: ObjectArray = map_entries(ball, inverse) @ np.array(rows, dtype=object)
        if any(x.abs_lower() > ball(self.plan.bound) for x in attention.ravel()):
            return f"{name} must have entries of at most {spelled(self.plan.bound)}"
        return attention

    def is_known(self, attention: ObjectArray) -> bool:
        """Return whether all balls are finite, and smaller than the bound."""
        pairs = [middle_and_radius(x) for x in attention.ravel()]
        return all(pair is not None and pair[1] < self.plan.bound for pair in pairs)

    def shown(
        self, attention: Sequence[ObjectArray], value: ObjectArray
    ) -> tuple[list[ObjectArray], ObjectArray, Fraction | None]:
        """Return the matrices in decimals, and one power of ten that bounds all their errors."""
        pairs = [middle_and_radius(x) for m in (*attention, value) for x in m.ravel()]
        known = [pair for pair in pairs if pair is not None]
        if len(known) < len(pairs):
            raise ProgramError("a weight is enclosed in no finite ball")
        largest = max(radius for _, radius in known)
        places = -least_power_of_ten(largest * Fraction(10, 9)) if largest else self.plan.digits
        unit = Fraction(10) ** (places + 1)

        def rounded(x: Ball) -> Fraction:
            pair = middle_and_radius(x)
            return Fraction(0) if pair is None else round(pair[0] * unit) / unit

        decimals = [map_entries(rounded, m) for m in attention]
        return decimals, map_entries(rounded, value), Fraction(10) ** -places

    def disagrees(
        self, attention: Sequence[ObjectArray], value: ObjectArray, asked: Sequence[AnsweredQuery]
    ) -> int | None:
        """Return the number of an answer that no weights in these balls give."""
        error = Fraction(1, 10**self.plan.digits)
        for number, question in enumerate(asked):
            output = _output(attention, value, question.input, self.plan)
            apart = (distance(o, a)[0] for o, a in zip(output.ravel(), question.output.ravel(), strict=True))
            if any(least > error for least in apart):
                return number
        return None


def _output(attention: Sequence[ObjectArray], value: ObjectArray, x: Rows, plan: QueryPlan) -> ObjectArray:
    """Return what a network with these virtual weights answers, all tokens, in balls; zeros behind known layers."""
    shape, d = plan.architecture, plan.architecture.input_width
    one, zero = (np.array(m, dtype=object) for m in (np.eye(d, dtype=int), np.zeros((d, d), dtype=int)))
    plain = Architecture((*[d] * shape.depth, shape.output_width), (d,) * shape.depth, shape.tokens, SOFTMAX)
    matrices: list[ObjectArray] = []
    for i in range(shape.depth):
        last = i == shape.depth - 1
        matrices += [attention[i] if i < len(attention) else zero, one, value if last else one]
    output = network_output(BallMatrix.of(x), plain, list(map(BallMatrix.around, matrices)))
    return np.array(output.flint.tolist(), dtype=object)
