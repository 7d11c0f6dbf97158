"""Two rings beside floats in which weights are compared: residues modulo a prime, and sizes.

An equation between weights is written once, with `@ * + -`, indices and transposes (`equations.py`). Over floats it
says how far off it is; over `Size` how long its numbers can get; over `Residues` modulo enough primes for that length
whether it holds exactly. Every number here is an integer over a power of two, and maybe over a small odd denominator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import TooLarge
from lightning_sym.rings.dyadic import residues_of
from lightning_sym.rings.prime_field import MORE_PRIMES, matmul_mod, reduce_mod

Floats = npt.NDArray[np.float64]
PRIME_BITS = 21.99
"""Each of the primes is above 2^21.99."""


@dataclass(frozen=True, eq=False)
class Ratio:
    """A matrix of rational numbers: integers below 2^53 as float64, over one denominator.

    Where nothing is added, as where each neuron has a scale, each entry may have a denominator of its own, and integers
    may be of any length, as objects.
    """

    numerators: Any
    denominator: Any

    @property
    def floats(self) -> Floats:
        """The nearest floats."""
        return np.asarray(self.numerators / self.denominator, dtype=np.float64)

    @property
    def mT(self) -> Ratio:  # noqa: N802
        return Ratio(self.numerators.mT, self.denominator.mT if np.ndim(self.denominator) else self.denominator)

    def reshape(self, *shape: int) -> Ratio:
        """The same numbers in another shape, each over its own denominator."""
        return Ratio(self.numerators.reshape(*shape), self.denominator.reshape(*shape))

    @property
    def is_dyadic(self) -> bool:
        """All denominators are powers of two."""
        return bool(np.all(self.denominator & (self.denominator - 1) == 0))


@dataclass(frozen=True, eq=False)
class Residues:
    """An array modulo a prime below 2^22: centred residues as float64."""

    entries: Floats
    prime: int

    @classmethod
    def of(cls, array: Any, prime: int) -> Residues:
        """The residues of floats, each an integer over a power of two, or of a `Ratio`.

        Example:
            >>> (Residues.of(np.array([0.5]), 4194301) * Residues.of(np.array([2.0]), 4194301)).entries.tolist()
            [1.0]
        """
        if isinstance(array, Ratio):
            short = array.numerators.dtype != object
            entries = reduce_mod(array.numerators if short else (array.numerators % prime).astype(np.float64), prime)
            if np.all(array.denominator == 1):
                return cls(entries, prime)
            low, places = np.unique(array.denominator, return_inverse=True)
            inverses = np.array([pow(int(x), -1, prime) for x in low], dtype=np.float64)
            inverses -= prime * (inverses > prime // 2)
            return cls(reduce_mod(entries * inverses[places].reshape(np.shape(array.denominator)), prime), prime)
        if array.dtype == object:
            found = [int(x.numerator) * pow(int(x.denominator), -1, prime) % prime for x in array.ravel()]
            return cls(reduce_mod(np.array(found, dtype=np.float64).reshape(array.shape), prime), prime)
        if array.dtype == np.float64 and _integers(array):
            return cls(reduce_mod(array, prime), prime)
        if array.dtype.itemsize <= 4:
            return cls(_short(array, prime), prime)
        return cls(reduce_mod(residues_of(array, prime).astype(np.float64), prime), prime)

    def __matmul__(self, other: Residues) -> Residues:
        return Residues(matmul_mod(self.entries, other.entries, self.prime), self.prime)

    def __mul__(self, other: Residues) -> Residues:
        return Residues(reduce_mod(self.entries * other.entries, self.prime), self.prime)

    def __add__(self, other: Residues) -> Residues:
        return Residues(reduce_mod(self.entries + other.entries, self.prime), self.prime)

    def __sub__(self, other: Residues) -> Residues:
        return Residues(reduce_mod(self.entries - other.entries, self.prime), self.prime)

    def __getitem__(self, index: Any) -> Residues:
        return Residues(self.entries[index], self.prime)

    @property
    def mT(self) -> Residues:  # noqa: N802
        return Residues(self.entries.mT, self.prime)

    def reshape(self, *shape: int) -> Residues:
        """The same entries in another shape."""
        return Residues(self.entries.reshape(*shape), self.prime)

    def transpose(self, *axes: int) -> Residues:
        """The axes in another order."""
        return Residues(self.entries.transpose(*axes), self.prime)

    def swapaxes(self, first: int, second: int) -> Residues:
        """Two axes exchanged."""
        return Residues(self.entries.swapaxes(first, second), self.prime)

    def repeat(self, repeats: int, axis: int) -> Residues:
        """Each part along an axis so many times."""
        return Residues(self.entries.repeat(repeats, axis), self.prime)

    def __neg__(self) -> Residues:
        return Residues(-self.entries, self.prime)

    def nonzero(self) -> npt.NDArray[np.bool_]:
        """Where an entry is not zero modulo the prime."""
        return np.asarray(np.mod(self.entries, self.prime) != 0)


def _integers(array: Floats) -> bool:
    return bool(np.abs(array).max(initial=0) < 2**52 and (array == np.rint(array)).all())


def _short(array: npt.NDArray[Any], prime: int) -> Floats:
    """Residues of numbers of at most 24 bits, by products that are exact in float64."""
    mantissa, exponent = np.frexp(array)
    least = int(exponent.min(initial=0)) - 24
    powers = [pow(2, power, prime) for power in range(least, int(exponent.max(initial=0)) - 23)]
    table = np.array(powers, dtype=np.float64)
    table -= prime * (table > prime // 2)
    found: Floats = mantissa.astype(np.float64)
    found *= 2.0**24
    found *= table[exponent - 24 - least]  # below 2^24 2^21
    return reduce_mod(found, prime)


@dataclass(frozen=True)
class Size:
    """How long the numbers of an array can be: at most `2^top`, integers over `2^low` and an odd number of `odd` bits.

    Every sum of products has at most `2^inner` terms.

    Example:
        >>> a = Size.of(np.array([[0.5, 3.0]]), 1)
        >>> (a @ a.mT).bits
        9
    """

    top: float
    low: float
    odd: float
    inner: float

    @classmethod
    def of(cls, array: Any, inner: float) -> Size:
        """The size of an array of floats, or of a `Ratio`."""
        if not isinstance(array, Ratio) and array.dtype == object:
            common = math.lcm(*{int(x.denominator) for x in array.ravel()})
            largest = max((abs(x) for x in array.ravel()), default=Fraction(0))
            top = int(largest.numerator).bit_length() - int(largest.denominator).bit_length() + 1
            return cls(top, 0, common.bit_length(), inner)
        if isinstance(array, Ratio):
            twos = [(int(x) & -int(x)).bit_length() - 1 for x in np.unique(array.denominator)]
            most = max(int(x) >> two for x, two in zip(np.unique(array.denominator), twos, strict=True))
            whole = array.numerators
            bits = max(abs(x).bit_length() for x in whole.ravel()) if whole.dtype == object else _top(whole)
            return cls(bits, max(twos), math.log2(most) + (1e-6 if most > 1 else 0), inner)
        return cls(_top(array), _lowest(array), 0, inner)

    def __matmul__(self, other: Size) -> Size:
        return Size(self.top + other.top + self.inner, self.low + other.low, self.odd + other.odd, self.inner)

    def __mul__(self, other: Size) -> Size:
        return Size(self.top + other.top, self.low + other.low, self.odd + other.odd, self.inner)

    def __add__(self, other: Size) -> Size:
        odd = self.odd + other.odd
        return Size(max(self.top, other.top) + 1, max(self.low, other.low), odd, self.inner)

    __sub__ = __add__

    def __getitem__(self, index: Any) -> Size:
        return self

    @property
    def mT(self) -> Size:  # noqa: N802
        return self

    def reshape(self, *shape: int) -> Size:
        """The same numbers in another shape."""
        return self

    def transpose(self, *axes: int) -> Size:
        """The axes in another order."""
        return self

    def swapaxes(self, first: int, second: int) -> Size:
        """Two axes exchanged."""
        return self

    def repeat(self, repeats: int, axis: int) -> Size:
        """Each part along an axis so many times."""
        return self

    def __neg__(self) -> Size:
        return self

    @property
    def bits(self) -> int:
        """A number of this size that is zero modulo primes whose product has more bits is zero.

        Two more cover the difference of two entries, as where the vector of ones is free.
        """
        return math.ceil(self.top + self.low + self.odd + 2)


def joined(first: Any, second: Any, axis: int) -> Any:
    """Two arrays of one ring behind each other."""
    if isinstance(first, Size):
        return first + second
    if isinstance(first, Residues):
        return Residues(np.concatenate([first.entries, second.entries], axis=axis), first.prime)
    return np.concatenate([first, second], axis=axis)


def _top(array: npt.NDArray[Any]) -> float:
    largest = float(np.abs(array).max(initial=0))
    return math.frexp(largest)[1] if largest else 0


def _lowest(array: npt.NDArray[Any]) -> float:
    """The power of two over which all entries are integers."""
    short = array.dtype.itemsize <= 4
    most = 0
    for start in range(0, array.size, 1 << 20):  # no other array of this size
        part = array.reshape(-1)[start : start + (1 << 20)]
        mantissa, exponent = np.frexp(part.astype(np.float32 if short else np.float64))
        digits = np.ldexp(mantissa, 24).astype(np.int32) if short else np.ldexp(mantissa, 53).astype(np.int64)
        lowest = np.frexp((digits & -digits).astype(np.float64))[1] - 1 + exponent - (24 if short else 53)
        most = max(most, -int(lowest[digits != 0].min(initial=0)))
    return most


def primes_for(bits: int) -> tuple[int, ...]:
    """Primes whose product has more than these bits.

    Raises:
        TooLarge: there are not so many.
    """
    count = max(1, math.ceil(bits / PRIME_BITS + 1e-9))
    if count > len(MORE_PRIMES):
        raise TooLarge(
            f"numbers compared exactly must have at most {int(len(MORE_PRIMES) * PRIME_BITS)} bits, got {bits}"
        )
    return MORE_PRIMES[:count]
