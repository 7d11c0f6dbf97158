"""Monomials of one degree in the coordinates, sorted by their weight under the torus, up to permutations.

A weight is one integer, its code, so that codes of products add up. Of all weights that permutations of the inputs and
of the outputs carry into each other only one, the dominant one, is looked at: the others have the same equations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from math import comb, factorial, prod

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import TooLarge, proved_to_be
from lightning_sym.limits import Work, require_memory
from lightning_sym.network.ambient import DEEPEST
from lightning_sym.network.architecture import Architecture
from lightning_sym.rings.sizes import Price
from lightning_sym.varieties.coordinates import CoordinateSystem
from lightning_sym.varieties.map_coordinates import MapCoordinates
from lightning_sym.varieties.normal_weights import is_tied

Indices = npt.NDArray[np.int64]

_CHUNK = 2**20
"""Monomials that are made at once before the dominant ones are kept."""

_TOO_LONG = "the equations must have a degree whose monomials fit into 64 bits, got degree {}"


def require_codes(network: Architecture) -> None:
    """Refuse networks with so many inputs and outputs that not even degree 1 has codes: before anything is computed.

    Args:
        network: the smallest one with the same functions.

    Raises:
        TooLarge: the codes of the coordinates would not fit into 64 bits.
    """
    length = network.input_width + (0 if is_tied(network) else network.output_width)
    # the coefficient of the highest power of one input is a coordinate of this weight
    if network.depth <= DEEPEST and int((2**62) ** (1 / length)) <= network.degree - is_tied(network):
        raise TooLarge(_TOO_LONG.format(1))


def price_of_monomials(count: int, degree: int, length: int) -> Price:
    """Return the price of all monomials of a degree, and of the digits of their weights.

    Args:
        count: coordinates.
        degree: of the monomials.
        length: digits of a weight.

    Example:
        >>> price_of_monomials(3, 2, 4).done
        {'entry': 15, 'read': 6, 'function': 24}
    """
    price = Price("indices")
    for k in range(1, degree + 1):  # longer by one factor each time
        price.enter("entry", k * comb(count + k - 1, k))
    price.enter("read", total := comb(count + degree - 1, degree))
    price.enter("function", length * total)
    return price


class Grading:
    """The weights of the coordinates of a network, and the permutations that keep the coordinates.

    Args:
        system: the coordinates.
    """

    def __init__(self, system: CoordinateSystem | MapCoordinates) -> None:
        weights = np.array([c.weight for c in system.coordinates], dtype=np.int64)
        self.system, self.count, self.length = system, len(system), weights.shape[1]
        # of a stream that is input and output at once a weight may be negative; all products of one degree shift alike
        self.weights = weights - min(0, int(weights.min()))
        self.blocks = tuple(block for block in system.blocks() if self._keeps(block))
        self.radix = int((2**62) ** (1 / self.length))
        self.codes: Indices = self.weights @ np.array([self.radix**i for i in range(self.length)], dtype=np.int64)
        self.images = cache(self._images)
        self.dominant = cache(self._dominant)
        self.orbit_size = cache(self._orbit_size)

    def _keeps(self, block: tuple[int, int]) -> bool:
        """Return whether all neighbours in the block can be exchanged: they generate its permutations."""
        for i in range(block[0], block[1] - 1):
            order = list(range(self.length))
            order[i], order[i + 1] = i + 1, i
            if self.system.permuted(tuple(order)) is None:
                return False
        return True

    @property
    def orders(self) -> int:
        """How many permutations there are."""
        return prod(factorial(stop - start) for start, stop in self.blocks)

    def require_degree(self, degree: int) -> None:
        """Refuse degrees in which codes of weights would not fit into 64 bits.

        Raises:
            TooLarge: they would not.
        """
        largest = int(self.weights.max()) * degree
        if largest >= self.radix or self.count ** min(degree, 64) >= 2**62:
            raise TooLarge(_TOO_LONG.format(degree))

    def weight(self, code: int) -> tuple[int, ...]:
        """Return the weight with this code."""
        digits = []
        for _ in range(self.length):
            code, digit = divmod(code, self.radix)
            digits.append(digit)
        return tuple(digits)

    def _orbit_size(self, code: int) -> int:
        """Return how many weights the permutations make of this one."""
        weight = self.weight(code)
        return prod(
            factorial(stop - start) // prod(factorial(n) for n in Counter(weight[start:stop]).values())
            for start, stop in self.blocks
        )

    def _dominant(self, code: int) -> tuple[int, tuple[int, ...]]:
        """Return the dominant weight of the orbit, and the order that carries it to this one."""
        weight, order = self.weight(code), list(range(self.length))
        for start, stop in self.blocks:
            order[start:stop] = sorted(range(start, stop), key=lambda i: -weight[i])
        return sum(weight[order[i]] * self.radix**i for i in range(self.length)), tuple(order)

    def orbit(self, code: int) -> list[tuple[int, ...]]:
        """Return for each weight in the orbit of a dominant one the first order that carries it there."""
        weight = self.weight(code)
        found: dict[tuple[int, ...], tuple[int, ...]] = {}
        for parts in product(*(rearrangements(weight[start:stop]) for start, stop in self.blocks)):
            image, order = list(weight), list(range(self.length))
            for (start, stop), part in zip(self.blocks, parts, strict=True):
                image[start:stop] = part
                places = {digit: [i for i in range(start, stop) if image[i] == digit] for digit in set(part)}
                order[start:stop] = [places[weight[i]].pop(0) for i in range(start, stop)]
            found[tuple(image)] = tuple(order)
        return [found[image] for image in sorted(found, reverse=True)]

    def _images(self, order: tuple[int, ...]) -> Indices:
        """Return where each coordinate goes under an order that `_keeps` allows."""
        return proved_to_be(self.system.permuted(order), "the permutations were tried before")

    def monomials(self, degree: int, memory: int, work: Work) -> dict[int, Indices]:
        """Return the monomials of each dominant weight: sorted places of coordinates, one monomial a row, sorted.

        Raises:
            TooLarge: there are too many for `memory` bytes, or for `work`.
        """
        self.require_degree(degree)
        total = comb(self.count + degree - 1, degree)
        # all of the degree below, and of this one those that are dominant
        below = comb(self.count + degree - 2, degree - 1)
        needed = 8 * (degree + 2) * (below + total // max(1, self.orders // 2)) + 64 * _CHUNK * degree
        what = f"{total:,} monomials of degree {degree} in {self.count} coordinates"
        require_memory(needed, memory, what)
        work.spend(price_of_monomials(self.count, degree, self.length).seconds, what)
        rows, codes = self._all(degree - 1)
        kept: list[Indices] = []
        kept_codes: list[Indices] = []
        step = max(1, _CHUNK // self.count)
        for start in range(0, len(rows), step):
            longer, added = self._extended(rows[start : start + step], codes[start : start + step])
            chosen = self._is_dominant(added)
            kept.append(longer[chosen])
            kept_codes.append(added[chosen])
        everything, weights = np.concatenate(kept), np.concatenate(kept_codes)
        order = np.argsort(weights, kind="stable")  # within one weight they stay sorted
        everything, weights = everything[order], weights[order]
        names, starts = np.unique(weights, return_index=True)
        stops = [*starts[1:].tolist(), len(weights)]
        return {int(name): everything[a:b] for name, a, b in zip(names.tolist(), starts.tolist(), stops, strict=True)}

    def _all(self, degree: int) -> tuple[Indices, Indices]:
        rows, codes = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
        for _ in range(degree):
            rows, codes = self._extended(rows, codes)
        return rows, codes

    def _extended(self, rows: Indices, codes: Indices) -> tuple[Indices, Indices]:
        """Return each monomial times each coordinate that is not before its last one, in order."""
        last = rows[:, -1] if rows.shape[1] else np.zeros(len(rows), dtype=np.int64)
        counts = self.count - last
        source = np.repeat(np.arange(len(rows)), counts)
        begins = np.repeat(np.cumsum(counts) - counts, counts)
        new = np.arange(len(source)) - begins + last[source]
        return np.concatenate([rows[source], new[:, None]], axis=1), codes[source] + self.codes[new]

    def _is_dominant(self, codes: Indices) -> npt.NDArray[np.bool_]:
        digits, rest = [], codes
        for _ in range(self.length):
            rest, digit = np.divmod(rest, self.radix)
            digits.append(digit)
        result = np.ones(len(codes), dtype=np.bool_)
        for start, stop in self.blocks:
            for i in range(start, stop - 1):
                result &= digits[i] >= digits[i + 1]
        return result

    def keys(self, monomials: Indices) -> Indices:
        """Return one integer for each monomial, in their order."""
        result = np.zeros(len(monomials), dtype=np.int64)
        for column in monomials.T:
            result = result * self.count + column
        return result


def rearrangements(digits: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield all different orders of some digits, each once.

    Example:
        >>> list(rearrangements((1, 0, 1)))
        [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    """
    if not digits:
        yield ()
    for first in sorted(set(digits)):
        rest = list(digits)
        rest.remove(first)
        for others in rearrangements(tuple(rest)):
            yield first, *others
