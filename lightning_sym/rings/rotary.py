"""Rotary positions in balls: cosines and sines of frequencies `theta^(-2k/width)`, plain or scaled once and for all.

Scalings that depend on the length of a text are no one function of the positions, and are refused where configurations
are read. Where a multiple is rational it is exact; the others are balls of the precision at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from flint import arb, fmpq

from lightning_sym.errors import TooLarge
from lightning_sym.rings.balls import middle_and_radius, precision

BITS = 300
"""Of the balls in which multiples are compared."""

Multiple = Fraction | arb


@dataclass(frozen=True)
class RotaryScaling:
    """How the frequencies of rotary positions are scaled, as a configuration says it.

    Attributes:
        kind: `linear`: all by `1 / factor`. `llama3`: those that turn less than `low` times within `context` tokens by
            `1 / factor`, those that turn more than `high` times not at all, and between them linearly in the number of
            turns. `yarn`: the same between two frequencies, linearly in their number, and cosines and sines grow by
            `growth`. `factors`: each divided by a number of its own.
        factor: see there.
        low, high: numbers of turns; of `yarn` those of `beta_slow` and `beta_fast`.
        context: tokens of the model before it was scaled.
        growth: of `yarn`; `None`: `ln(factor) / 10 + 1`, and 1 for the others.
        factors: of `factors`.
    """

    kind: Literal["linear", "llama3", "yarn", "factors"]
    factor: Fraction = Fraction(1)
    low: Fraction = Fraction(1)
    high: Fraction = Fraction(4)
    context: int = 1
    growth: Fraction | None = None
    factors: tuple[Fraction, ...] = ()

    def __str__(self) -> str:
        if self.kind == "factors":
            return f"{len(self.factors)} factors"
        more = "" if self.kind == "linear" else f" ({self.low} to {self.high} turns in {self.context:,} tokens)"
        return f"{self.kind} by {self.factor}{more}"

    def multiples(self, theta: Fraction, width: int) -> Sequence[Multiple]:
        """Return what each frequency is multiplied with, rational where that is certain.

        Raises:
            TooLarge: balls of the precision at hand do not decide between which frequencies `yarn` goes.

        Example:
            >>> from fractions import Fraction
            >>> scaling = RotaryScaling("llama3", Fraction(8), Fraction(1), Fraction(4), 8192)
            >>> found = scaling.multiples(Fraction(500000), 128)
            >>> found[0], found[-1], sum(isinstance(each, Fraction) for each in found)
            (Fraction(1, 1), Fraction(1, 8), 58)
        """
        count = width // 2
        if self.kind == "factors":
            return [1 / each for each in self.factors]
        if self.kind == "linear":
            return [1 / self.factor] * count
        if self.kind == "yarn":
            return self._between_two(theta, width)
        return [self._by_turns(rotary_frequency(theta, width, k)) for k in range(count)]

    def amplitude(self) -> Multiple:
        """Return what cosines and sines are multiplied by."""
        if self.kind != "yarn":
            return Fraction(1)
        if self.growth is not None:
            return self.growth
        return Fraction(1) if self.factor <= 1 else as_ball(self.factor).log() / 10 + 1

    def _by_turns(self, frequency: arb) -> Multiple:
        """Return the multiple that `llama3` takes of a frequency."""
        turns = frequency * self.context / (2 * arb.pi())
        if turns > as_ball(self.high):
            return Fraction(1)
        if turns < as_ball(self.low):
            return 1 / self.factor
        share = ((turns - as_ball(self.low)) / as_ball(self.high - self.low)).max(arb(0)).min(arb(1))
        return (1 - share) / as_ball(self.factor) + share

    def _between_two(self, theta: Fraction, width: int) -> Sequence[Multiple]:
        """Return the multiples that `yarn` takes of all frequencies."""

        def place(turns: Fraction) -> arb:
            return width * (self.context / (2 * arb.pi() * as_ball(turns))).log() / (2 * as_ball(theta).log())

        first, last = (
            None if found is None else int(found)
            for found in (place(self.high).floor().unique_fmpz(), place(self.low).ceil().unique_fmpz())
        )
        if first is None or last is None:
            raise TooLarge("the frequencies between which those of yarn are scaled must be decided by balls")
        first, last = max(first, 0), min(last, width - 1)
        end = Fraction(last) if last != first else last + Fraction(1, 1000)
        shares = (min(max((k - first) / (end - first), Fraction(0)), Fraction(1)) for k in range(width // 2))
        return [share / self.factor + (1 - share) for share in shares]


def as_ball(number: Multiple) -> arb:
    """Return the number as a ball of the precision at hand."""
    return arb(fmpq(number.numerator, number.denominator)) if isinstance(number, Fraction) else number


def rotary_frequency(theta: Fraction, width: int, k: int) -> arb:
    r"""Return `theta^(-2k/width)`, a frequency, as a ball."""
    return (as_ball(theta).log() * fmpq(-2 * k, width)).exp()


def rotary_tables(
    theta: Fraction, width: int, positions: Sequence[int], scaling: RotaryScaling | None = None
) -> tuple[list[list[arb]], list[list[arb]]]:
    r"""Return cosines and sines of `position * theta^(-2k/width)`, scaled; for `k` below `width / 2` one row each."""
    multiples = None if scaling is None else scaling.multiples(theta, width)
    size = None if scaling is None else as_ball(scaling.amplitude())
    angles = []
    for k in range(width // 2):
        frequency = rotary_frequency(theta, width, k)
        if multiples is not None:
            frequency *= as_ball(multiples[k])
        angles.append([frequency * position for position in positions])
    cosines, sines = (
        [[f(x) if size is None else size * f(x) for x in row] for row in angles] for f in (arb.cos, arb.sin)
    )
    return cosines, sines


def largest_change(
    first: RotaryScaling | None, second: RotaryScaling | None, theta: Fraction, width: int
) -> tuple[Fraction, Fraction] | None:
    """Return of all multiples of two scalings, and their growths, the two that differ most, or `None`.

    `None` means that all are equal.

    Those that are not rational are taken to `2^-300`, and never equal unless the scalings are.

    Example:
        >>> plain, other = RotaryScaling("linear", Fraction(4)), RotaryScaling("factors", factors=(Fraction(4),) * 3)
        >>> largest_change(plain, other, Fraction(10000), 6)
        >>> largest_change(plain, None, Fraction(10000), 6)
        (Fraction(1, 4), Fraction(1, 1))
    """
    if first == second:
        return None
    with precision(BITS):
        sides = [
            [Fraction(1)] * (width // 2 + 1)
            if scaling is None
            else [*scaling.multiples(theta, width), scaling.amplitude()]
            for scaling in (first, second)
        ]
        apart = [pair for pair in zip(*sides, strict=True) if not _equal(*pair)]
        numbers = [(_rational(old), _rational(new)) for old, new in apart]
    return max(numbers, key=lambda pair: abs(pair[1] / pair[0] - 1), default=None)


def _equal(old: Multiple, new: Multiple) -> bool:
    return isinstance(old, Fraction) and isinstance(new, Fraction) and old == new


def _rational(number: Multiple) -> Fraction:
    """Return the number, or the middle of its ball."""
    if isinstance(number, Fraction):
        return number
    found = middle_and_radius(number)
    if found is None:
        raise TooLarge("a multiple of a frequency must be a finite ball")
    return found[0]
