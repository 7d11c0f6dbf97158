"""Polynomials at quotients of polynomials, and what that takes: counted by terms before any is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

from lightning_sym.limits import Work, require_memory
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, RationalCoefficient

PRODUCT, WORD = 3e-8, 3e-9
"""Seconds that a product of two terms takes, about, and more for each 64 bits of a coefficient."""

TERM, TERM_WORD, TERM_VARIABLE, POLYNOMIAL = 2e-6, 2e-7, 1e-7, 5e-5
"""Seconds to make or to read a term, about, more for each 64 bits of its coefficient and each variable; and a
polynomial besides its terms."""

FREE = 0.05
"""Seconds of a step that is a moment."""

MOST_COUNTED = 10**15
"""Products of terms beyond which no count goes on: nothing allows for so many."""


@dataclass(frozen=True)
class StepPrice:
    """What a step takes, by a rough estimate.

    Attributes:
        seconds: of work.
        held: bytes that are held at once.
    """

    seconds: float
    held: int = 0


class _Share(Work):
    """Half of the work that is left of a whole."""

    def __init__(self, whole: Work) -> None:
        super().__init__(max(whole.left / 2, 1e-9))
        self._whole = whole

    def allows(self, seconds: float) -> bool:
        return super().allows(seconds) and self._whole.allows(seconds)

    def spend(self, seconds: float, what: str, done: int = 0, total: int = 1) -> None:
        super().spend(seconds, what, done, total)
        self._whole.spend(seconds, what, done, total)


@dataclass(frozen=True)
class StepBudget:
    """Work and bytes that steps may take.

    Attributes:
        work: the budget that steps are paid from.
        memory: bytes of each step.

    Example:
        >>> some = StepBudget(Work(2), 100)
        >>> some.begins(StepPrice(1.0, 10), "a step"), some.begins(StepPrice(1.0, 1000), "a step")
        (True, False)
    """

    work: Work
    memory: int

    @property
    def half(self) -> StepBudget:
        """Half of the work that is left; what is spent of it is spent of the whole."""
        return StepBudget(_Share(self.work), self.memory)

    def allows(self, price: StepPrice) -> bool:
        """Return whether a step can be begun."""
        return price.held <= self.memory and self.work.allows(price.seconds)

    def begins(self, price: StepPrice, what: str) -> bool:
        """Begin a step that an answer can do without, if it is allowed; return whether it is."""
        if not self.allows(price):
            return False
        self.require(price, what)
        return True

    def require(self, price: StepPrice, what: str) -> None:
        """Begin a step that an answer cannot do without; one of a moment is never refused.

        Raises:
            TooLarge: work or memory do not allow for it.
        """
        require_memory(price.held, self.memory, what)
        self.work.spend(price.seconds if price.seconds > FREE else min(price.seconds, self.work.left), what)


def total_degree(polynomial: Polynomial) -> int:
    """Return the largest degree of a term; 0 of zero."""
    return max((sum(map(int, exponents)) for exponents in polynomial.to_dict()), default=0)


def coefficient_bits(polynomials: Iterable[Polynomial]) -> int:
    """Return the length of the longest numerator or denominator among the coefficients.

    Example:
        >>> x, = PolynomialRing(["x"]).generators
        >>> coefficient_bits([5 * x, x / 16])
        5
    """
    return max(
        (max(int(c.p).bit_length(), int(c.q).bit_length()) for p in polynomials for c in p.to_dict().values()),
        default=0,
    )


def products_of(polynomial: Polynomial, lengths: Sequence[int], low: int, degree: int) -> int:
    """Return how many terms `low^degree f(tops / low)` has before like ones are added.

    Args:
        polynomial: `f`.
        lengths: the terms of each polynomial that is put for a variable; -1 for a variable times the denominator.
        low: the terms of the denominator.
        degree: at least that of `f`.

    Example:
        >>> x, y = PolynomialRing(["x", "y"]).generators
        >>> products_of(x**2 * y, [2, 3], 1, 3), products_of(x**2 * y, [-1, 3], 2, 3)
        (9, 9)
    """
    total = 0
    for exponents in polynomial.to_dict():
        count, others = 1, 0
        for power, length in zip(map(int, exponents), lengths, strict=True):
            if length >= 0:
                others += power
                count *= comb(power + length - 1, length - 1) if length else not power
            if count > MOST_COUNTED:
                return MOST_COUNTED
        total += count * comb(degree - others + low - 1, low - 1)
    return min(total, MOST_COUNTED)


def _length(top: Polynomial, low: Polynomial) -> int:
    """Return how many terms a polynomial has; -1 where its terms are those of the denominator times a variable."""
    if not 1 < len(low) == len(top):
        return len(top)
    firsts, seconds = (sorted(tuple(map(int, e)) for e in p.to_dict()) for p in (top, low))
    shifts = {tuple(a - b for a, b in zip(e, f, strict=True)) for e, f in zip(firsts, seconds, strict=True)}
    return -1 if len(shifts) == 1 else len(top)


def composition_price(polynomials: Iterable[Polynomial], tops: Sequence[Polynomial], low: Polynomial) -> StepPrice:
    """Return seconds and bytes for all `low^degree f(tops / low)`, each of its own degree.

    Example:
        >>> ring = PolynomialRing(["x", "y"])
        >>> x, y = ring.generators
        >>> composition_price([x * y], [x + 1, y + 1], ring.constant(1)).seconds < 0.001
        True
    """
    listed = list(polynomials)
    lengths, size = [_length(top, low) for top in tops], len(tops)
    inside, outside = coefficient_bits([*tops, low]), coefficient_bits(listed)
    largest = max(map(total_degree, [*tops, low]), default=0)
    seconds, held = 0.0, 0
    for f in listed:
        degree = total_degree(f)
        count = products_of(f, lengths, len(low), degree)
        words = 1 + (degree * inside + outside) // 64
        kept = min(count, comb(size + degree * largest, size))
        seconds += POLYNOMIAL + count * (PRODUCT + WORD * words) + kept * _term(words, size)
        held += kept * (8 * size + 32 + 16 * words)
    return StepPrice(seconds, held)


def reading_price(polynomials: Iterable[Polynomial], variables: int) -> float:
    """Return seconds to read all terms once.

    Example:
        >>> x, = PolynomialRing(["x"]).generators
        >>> 0 < reading_price([x + 1], 1) < 1e-4
        True
    """
    listed = list(polynomials)
    return sum(map(len, listed)) * _term(1 + coefficient_bits(listed) // 64, variables)


def _term(words: int, variables: int) -> float:
    """Return the seconds of a term whose coefficient has so many words."""
    return TERM + TERM_WORD * words + TERM_VARIABLE * variables


def homogeneously(
    ring: PolynomialRing, polynomial: Polynomial, tops: Sequence[Polynomial], low: Polynomial, degree: int
) -> Polynomial:
    """Return `low^degree` times the polynomial at `tops / low`."""
    if low == ring.constant(1):
        return ring.substituted(polynomial, tops)
    parts: dict[int, dict[tuple[int, ...], RationalCoefficient]] = {}
    for exponents, c in polynomial.to_dict().items():
        parts.setdefault(sum(map(int, exponents)), {})[exponents] = c
    total = ring.constant(0)
    for part, terms in parts.items():
        total += ring.substituted(ring.from_terms(terms), tops) * low ** (degree - part)
    return total
