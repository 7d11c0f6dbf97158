"""How large integer inputs may be so that floats compute a lightning network without rounding.

The bound, what it covers and its proof: `docs/exact-floats.md`, Proposition 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix, map_entries


class Floats(NamedTuple):
    """A kind of floats: bits of the significand, the exponent of the smallest normal one."""

    name: str
    bits: int
    least_exponent: int


FLOATS = {
    "float64": Floats("float64", 53, -1022),
    "float32": Floats("float32", 24, -126),
    "float16": Floats("float16", 11, -14),
}

LARGEST_INPUT = 2**20
"""Beyond it the error bound is small enough, and witnesses are hard to read."""


def floats_named(dtype: Any) -> Floats:
    """The kind of floats that is called so.

    Raises:
        BadInput: there is none.

    Example:
        >>> floats_named(np.float32).bits
        24
    """
    try:
        name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    except TypeError:
        name = str(dtype).removeprefix("torch.")
    if name not in FLOATS:
        raise BadInput(f"dtype must be one of {', '.join(FLOATS)}, got {str(name)[:40]}")
    return FLOATS[name]


def unit_exponent(matrix: ObjectArray, name: str) -> int:
    """The smallest `k` such that all entries are integers times `2^-k`.

    Raises:
        BadInput: an entry is no integer divided by a power of two, so no float either.

    Example:
        >>> unit_exponent(np.array([[Fraction(3, 4), Fraction(2)]]), "Q1")
        2
    """
    largest: int = max(int(x.denominator) for x in matrix.ravel())
    for entry in matrix.ravel():
        if entry.denominator & (entry.denominator - 1):
            raise BadInput(f"weights must be floats, integers divided by powers of two, got {entry} in {name}")
    return largest.bit_length() - 1


def _at_least(matrix: ObjectArray, unit: Fraction) -> ObjectArray:
    return map_entries(lambda x: max(abs(x), unit), matrix)


class Exactness:
    """The bound for exact weights of a lightning network (`docs/exact-floats.md`, Proposition 1).

    Args:
        architecture: the network.
        weights: its weights.

    Raises:
        BadInput: scores are normalized, or a weight is no float.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> bound = Exactness(w.architecture(2), w)
        >>> bound(1), bound.largest_input(FLOATS["float32"])    # 2 (3 + 4) (1 + 1) (1 + 2), and 84 B^3 <= 2^24
        (84, 58)
    """

    def __init__(self, architecture: Architecture, weights: Weights) -> None:
        architecture.require("a bound for sums of floats", SHAPED - {"normalization"})
        # equal inputs stay equal, so that one column stands for all, and their number for the sum over them
        self._open = replace(architecture, causal=False, tokens=1)
        units = {name: unit_exponent(matrix, name) for name, matrix in weights.named().items()}
        self._matrices = [
            RationalMatrix.of(
                _at_least(weights[name], Fraction(1, 2**k)) * (architecture.tokens if name[0] == "V" else 1)
            )
            for name, k in units.items()
        ]
        self.unit = _unit_of_outputs(architecture, units.__getitem__)

    def __call__(self, bound: int) -> int:
        """No intermediate result is larger for inputs of this size, in units of its own."""
        x = RationalMatrix.of(np.full((self._open.input_width, 1), bound, dtype=object))
        outputs = network_output(x, self._open, self._matrices)
        return int(max(outputs.fractions().ravel()) * 2**self.unit)

    def largest_input(self, floats: Floats) -> int:
        """The largest size of inputs, up to `LARGEST_INPUT`, at which these floats are exact.

        Raises:
            TooLarge: there is none but zero.
        """
        most = 2**floats.bits
        smallest = self(1)
        if smallest > most or self.unit > -floats.least_exponent:
            raise TooLarge(
                f"intermediate results must have at most {floats.bits} bits to be exact in {floats.name}, the bound is "
                f"{smallest.bit_length()} bits at inputs -1, 0, 1: smaller weights, fewer layers or wider floats"
            )
        low, high = 1, LARGEST_INPUT + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self(middle) <= most else (low, middle)
        return low


def _unit_of_outputs(architecture: Architecture, exponent: Callable[[str], int]) -> int:
    """`u`, where `2^-u` is the smallest unit of a monomial of the outputs."""
    total = 0 if architecture.embed is None else exponent("E")
    for i in range(1, architecture.depth + 1):
        names = [architecture.head_name(i, h) for h in range(1, architecture.heads + 1)]
        letters = "QKV" if architecture.value_ranks is None else "QKVO"
        total = 3 * total + max(sum(exponent(letter + name) for letter in letters) for name in names)
    return total + (0 if architecture.unembed is None else exponent("U"))
