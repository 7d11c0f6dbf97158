"""What a function is compared with: exact outputs of lightning attention, balls around those of softmax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import isqrt

import numpy as np

from lightning_sym.display import rows_in_line
from lightning_sym.errors import BadInput
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import KNOWN, form_of, network_output
from lightning_sym.network.layer import Form
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.ball_matrices import BallMatrix
from lightning_sym.rings.balls import distance, precision
from lightning_sym.rings.rationals import map_entries, rational_matrix, to_fractions
from lightning_sym.testing.exact_floats import Exactness, Floats, any_signs, sizes_of_gate
from lightning_sym.testing.failures import NotDecided, failure

LARGEST_SCORE = 16
"""Inputs to softmax are scaled such that scores of the first layer are no larger: exponentials stay within range."""

SMALLEST_STEP = Fraction(1, 2**20)
"""Of inputs: scores that biases make large are no smaller with smaller inputs."""

GRID = 16
"""Entries of inputs to softmax are integers up to this, times a power of two."""

BITS = (128, 256, 512, 1024)
"""Precisions of balls, one after the other until they are small."""

LARGEST_SHOWN = 10**300

SHARP = Fraction(1, 2**20)
"""Units in the last place that a ball may be wide: nobody can tell numbers from the limit that are nearer to it."""


def what_is_rounded(architecture: Architecture) -> list[str]:
    """Return what floats cannot do exactly in this network, by name; none where outputs are compared exactly.

    Example:
        >>> what_is_rounded(Architecture((2, 2), (2,), 2, query_key_norm=0))
        ['query_key_norm']
    """
    architecture.require("what floats round", KNOWN)
    found = [] if architecture.normalization is None else [architecture.normalization.name]
    found += architecture.not_rational
    if architecture.rotary is not None and not architecture.rotary.is_signed and "rotary" not in found:
        found.append("rotary")
    if isinstance(architecture.gate, tuple) and any(c.denominator & (c.denominator - 1) for c in architecture.gate):
        found.append("gated")
    return found


def exactly(architecture: Architecture, weights: Weights, bound: int) -> Callable[[ObjectArray], ObjectArray]:
    """Return the outputs of a lightning network at integer inputs up to a bound: machine integers if they suffice.

    They do if no intermediate result has more bits: the forward pass is one of the programs of `docs/exact-floats.md`.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> exactly(w.architecture(2), w, 9)(np.array([[9, 0], [-9, 1]], dtype=object)).tolist()
        [[729, -162]]
    """
    known = Exactness(architecture, weights)
    if known.unit == 0 and known(bound) < 2**63:
        integers = [matrix.astype(np.int64) for matrix in weights.numbers().values()]
        return lambda x: network_output(x.astype(np.int64), architecture, integers).astype(object)
    matrices = [rational_matrix(matrix) for matrix in weights.numbers().values()]
    return lambda x: to_fractions(network_output(rational_matrix(x), architecture, matrices))


class ExactOutputs:
    """A lightning network: outputs are equal or they are not.

    Attributes:
        bound: size of the integer inputs at which floats are exact.
        step: 1.
        degree: of the network.
    """

    def __init__(self, architecture: Architecture, weights: Weights, floats: Floats) -> None:
        self.bound = Exactness(architecture, weights).largest_input(floats)
        self.step = Fraction(1)
        self.degree: int | None = architecture.degree
        self.values = exactly(architecture, weights, self.bound)

    def output(self, x: ObjectArray) -> ObjectArray:
        """Return the outputs, as they are shown."""
        return self.values(x)

    def shown(self, found: ObjectArray) -> ObjectArray:
        """Return what a function returned, as it is shown."""
        return map_entries(lambda y: "not finite" if y is None else y, found)

    def wrong(self, x: ObjectArray, found: ObjectArray) -> tuple[int, int] | None:
        """Return the first place where an output differs."""
        places = np.argwhere(found != self.values(x))
        return None if not len(places) else (int(places[0][0]), int(places[0][1]))

    def by_how_much(self, x: ObjectArray, found: ObjectArray, place: tuple[int, int]) -> str:
        """Return both numbers."""
        return f": {self.shown(found)[place]} instead of {self.values(x)[place]}"


class EnclosedOutputs:
    """A network with softmax, or with a variant that floats round: outputs lie in balls, and floats near to them.

    Attributes:
        bound: size of the integers that inputs are made of.
        step: a power of two that these are multiplied by.
    """

    degree: int | None = None

    def __init__(self, architecture: Architecture, weights: Weights, floats: Floats, ulps: int) -> None:
        architecture.require("outputs in balls", KNOWN)
        for name, matrix in weights.numbers().items():
            for entry in matrix.ravel():
                _require_float(entry, floats, name)
        self._architecture, self._weights, self._floats, self._ulps = architecture, weights, floats, ulps
        self.bound = GRID
        self.step = _step(architecture, weights)

    def _balls(self, x: ObjectArray) -> ObjectArray:
        matrices = [BallMatrix.of(matrix) for matrix in self._weights.numbers().values()]
        outputs: BallMatrix = network_output(BallMatrix.of(self.step * x), self._architecture, matrices)
        return np.array(outputs.flint.tolist(), dtype=object)

    def _sizes(self, x: ObjectArray) -> ObjectArray:
        """Return what the outputs would be without any cancellation: of a lightning network it may be all of them."""
        network = replace(self._architecture, gated=sizes_of_gate(self._architecture.gate))
        form: Form[BallMatrix] = form_of(network)
        matrices = [BallMatrix.of(abs(matrix)) for matrix in self._weights.numbers().values()]
        outputs: BallMatrix = network_output(
            BallMatrix.of(self.step * abs(x)), network, matrices, form._replace(rotation=any_signs)
        )
        return np.array(outputs.flint.tolist(), dtype=object)

    def output(self, x: ObjectArray) -> ObjectArray:
        """Return the outputs, as they are shown: rounded."""
        with precision(BITS[0]):
            return map_entries(lambda ball: f"{float(ball.mid()):.17g}", self._balls(x))

    def shown(self, found: ObjectArray) -> ObjectArray:
        """Return what a function returned, as it is shown."""
        return map_entries(lambda y: "not finite" if y is None else f"{float(y):.17g}", found)

    def wrong(self, x: ObjectArray, found: ObjectArray) -> tuple[int, int] | None:
        """Return the first place where an output is certainly too far off.

        Raises:
            NotDecided: no precision in `BITS` makes the balls small enough to tell.
        """
        for (k, j), number in np.ndenumerate(found):
            if number is None:
                return int(k), int(j)
        for bits in BITS:
            with precision(bits):
                distances, unit = self._distances(x, found)
            certainly = [place for place, (least, _) in distances.items() if least > self._ulps * unit]
            if certainly:
                return certainly[0]
            if all(most is not None and most - least <= SHARP * unit for least, most in distances.values()):
                return None
        raise NotDecided(
            failure(
                f"it is undecided whether outputs are within {self._ulps} ulps, with balls of {BITS[-1]} bits",
                [("network", str(self._architecture)), ("input", f"X = {rows_in_line(self.step * x)}")],
            )
        )

    def _distances(
        self, x: ObjectArray, found: ObjectArray
    ) -> tuple[dict[tuple[int, int], tuple[Fraction, Fraction | None]], Fraction]:
        """Return bounds of how far off each output is, and the unit: the distance of floats at the largest one.

        Softmax has weights that add up to one; without it terms may cancel, and the largest sum of their sizes counts.
        """
        balls = self._balls(x)
        counted = balls if self._architecture.normalization is not None else self._sizes(x)
        sizes = [distance(ball, Fraction(0))[1] for ball in counted.ravel()]
        largest = max((size for size in sizes if size is not None), default=Fraction(0))
        unit = unit_in_last_place(largest, self._floats)
        numbers: list[Fraction] = found.ravel().tolist()
        pairs = zip(np.ndenumerate(balls), numbers, strict=True)
        return {(int(k), int(j)): distance(ball, number) for ((k, j), ball), number in pairs}, unit

    def by_how_much(self, x: ObjectArray, found: ObjectArray, place: tuple[int, int]) -> str:
        """Return how many units it is off there."""
        if found[place] is None:
            return ": not finite"
        with precision(BITS[0]):
            distances, unit = self._distances(x, found)
        ratio = distances[place][0] / unit
        off = f"{float(ratio):.3g}" if ratio < LARGEST_SHOWN else "more than 10^300"  # floats end at 10^308
        return f": {off} ulps, allowed are {self._ulps}"


def unit_in_last_place(size: Fraction, floats: Floats) -> Fraction:
    """Return the distance of neighbouring floats at this size.

    Example:
        >>> from lightning_sym.testing.exact_floats import FLOATS
        >>> unit_in_last_place(Fraction(3, 2), FLOATS["float32"]) == Fraction(1, 2**23)
        True
    """
    exponent = floats.least_exponent
    if size:
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        if Fraction(2) ** exponent > size:
            exponent -= 1
    return Fraction(2) ** (max(exponent, floats.least_exponent) - floats.bits + 1)


def _require_float(entry: Fraction, floats: Floats, name: str) -> None:
    denominator = entry.denominator
    odd = abs(entry.numerator)
    odd >>= (odd & -odd).bit_length() - 1 if odd else 0
    if denominator & (denominator - 1) or odd.bit_length() > floats.bits:
        raise BadInput(f"weights must be numbers of {floats.name}, got {str(entry)[:60]} in {name}")


def _step(architecture: Architecture, weights: Weights) -> Fraction:
    """Return a power of two, at most 1, such that scores of the first layer are no larger than `LARGEST_SCORE`."""
    x = np.full((architecture.input_width, 1), Fraction(GRID), dtype=object)
    if architecture.embed is not None:
        x = abs(weights["E"]) @ x
    step = Fraction(1)
    while step > SMALLEST_STEP and _largest_score(architecture, weights, step * x) > LARGEST_SCORE:
        step /= 2
    return step


def _largest_score(architecture: Architecture, weights: Weights, x: ObjectArray) -> Fraction:
    """Return a bound for the scores of the first layer, where no entry is larger than in the column `x`."""

    def seen(letter: str, place: str) -> ObjectArray:
        found: ObjectArray = abs(weights[letter + place]) @ x
        if letter in architecture.biases:
            found = found + abs(weights[f"b{letter}{place}"])
        if architecture.query_key_norm is not None:
            found = np.full(found.shape, Fraction(isqrt(len(found)) + 1), dtype=object)
        if architecture.gains:
            found = found * abs(weights[f"g{letter}1"])
        return found if architecture.rotary is None else found * 0 + max(found.ravel()) * 2

    places = ["1" if architecture.heads == 1 else f"1.{h}" for h in range(1, architecture.heads + 1)]
    keys = {place: seen("K", place) for place in places[: architecture.key_heads]}
    members = architecture.heads // (architecture.key_heads or architecture.heads)
    scores = ((keys[places[h // members]].T @ seen("Q", place))[0, 0] for h, place in enumerate(places))
    return Fraction(max(scores))
