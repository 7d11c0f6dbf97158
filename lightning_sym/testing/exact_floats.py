"""How large integer inputs may be so that floats compute a lightning network without rounding.

The bound, what it covers and its proof: `docs/exact-floats.md`, Proposition 1.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import form_of, network_output
from lightning_sym.network.layer import Form
from lightning_sym.network.pieces import DECLARED
from lightning_sym.network.rotary import Rotary
from lightning_sym.network.variant_layer import constants, rotation
from lightning_sym.network.weight_names import split
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.protocol import E
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
    """Return the kind of floats that is called so.

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
    """Return the smallest `k` such that all entries are integers times `2^-k`.

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
        architecture.require("a bound for sums of floats", DECLARED - {"normalization"})
        # equal inputs stay equal, so that one column stands for all, and their number for the sum over them
        self._open = replace(architecture, causal=False, tokens=1, gated=sizes_of_gate(architecture.gate))
        self._form: Form[Any] = form_of(self._open)._replace(rotation=any_signs)
        units = {name: unit_exponent(matrix, name) for name, matrix in weights.numbers().items()}
        self._matrices = [
            RationalMatrix.of(
                _at_least(weights[name], Fraction(1, 2**k))
                * (architecture.tokens if split(name)[0] in ("V", "bV") else 1)
            )
            for name, k in units.items()
        ]
        unit: Exponent = network_output(Exponent(0), self._open, map(Exponent, units.values()), self._form)
        self.unit = unit.exponent

    def __call__(self, bound: int) -> int:
        """Return what no intermediate result exceeds for inputs of this size, in units of its own."""
        x = RationalMatrix.of(np.full((self._open.input_width, 1), bound, dtype=object))
        outputs = network_output(x, self._open, self._matrices, self._form)
        return int(max(outputs.fractions().ravel()) * 2**self.unit)

    def largest_input(self, floats: Floats) -> int:
        """Return the largest size of inputs, up to `LARGEST_INPUT`, at which these floats are exact.

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


class Exponent:
    """The ring of units: of a matrix whose entries are integers times `2^-k` only `k` is known.

    Example:
        >>> (Exponent(1) @ Exponent(2) + Exponent(0)).exponent
        3
    """

    def __init__(self, exponent: int) -> None:
        self.exponent = exponent

    def __matmul__(self, other: Exponent) -> Exponent:
        return Exponent(self.exponent + other.exponent)

    __mul__ = __matmul__

    def __add__(self, other: Exponent) -> Exponent:
        return Exponent(max(self.exponent, other.exponent))

    @property
    def mT(self) -> Exponent:  # noqa: N802 - the array standard's name for the matrix transpose
        return self

    def like(self, numbers: ObjectArray) -> Exponent:
        """Return the exponent of constants, which must be floats as well."""
        return Exponent(unit_exponent(map_entries(Fraction, numbers), "the network's constants"))


def sizes_of_gate(gate: str | tuple[Fraction, ...] | None) -> tuple[Fraction, ...] | None:
    """Return a polynomial whose value at `|x|` is at least the size of the gate's function at `x`.

    Example:
        >>> sizes_of_gate((Fraction(1), Fraction(-2))), sizes_of_gate("silu")      # |silu(x)| <= |x|
        ((Fraction(1, 1), Fraction(2, 1)), (Fraction(0, 1), Fraction(1, 1)))
    """
    if isinstance(gate, str):
        return Fraction(0), Fraction(1)
    return None if gate is None else tuple(map(abs, gate))


def any_signs(rotary: Rotary, x: E, rows: int, tokens: int) -> tuple[E, E, E]:
    """Return rotations of all positions at once: every cosine and sine is one, as zero counts as one unit."""
    ones = Rotary(turns=[(1, 0)] * (rotary.rows(rows) // 2), pairs=rotary.pairs)
    still: ObjectArray = np.ones((rows, tokens), dtype=object)
    cosines, _, exchange = rotation(ones, still, rows, tokens)
    exchanged: ObjectArray = np.abs(exchange)
    turned = exchanged @ cosines
    what = "a rotation"
    return constants(x, cosines, what), constants(x, turned, what), constants(x, exchanged, what)
