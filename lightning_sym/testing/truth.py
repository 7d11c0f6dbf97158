"""What a function is compared with: exact outputs of lightning attention, balls around those of softmax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import isqrt

import numpy as np

from lightning_sym.display import rows_in_line
from lightning_sym.errors import BadInput
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import KNOWN, network_output
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.balls import DualBalls, distance, precision
from lightning_sym.rings.rationals import map_entries, rational_matrix, to_fractions
from lightning_sym.testing.callers import Caller
from lightning_sym.testing.exact_floats import Exactness, Floats
from lightning_sym.testing.failures import NotDecided, told

LARGEST_SCORE = 16
"""Inputs to softmax are scaled such that scores of the first layer are no larger: exponentials stay within range."""

GRID = 16
"""Entries of inputs to softmax are integers up to this, times a power of two."""

BITS = (128, 256, 512, 1024)
"""Precisions of balls, one after the other until they are small."""

SHARP = Fraction(1, 2**20)
"""Units in the last place that a ball may be wide: nobody can tell numbers from the limit that are nearer to it."""


def exactly(architecture: Architecture, weights: Weights, bound: int) -> Callable[[ObjectArray], ObjectArray]:
    """The outputs of a lightning network at integer inputs up to a bound: in machine integers where these suffice.

    They do if no intermediate result has more bits: the forward pass is one of the programs of `docs/exact-floats.md`.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> exactly(w.architecture(2), w, 9)(np.array([[9, 0], [-9, 1]], dtype=object)).tolist()
        [[729, -162]]
    """
    known = Exactness(architecture, weights)
    if known.unit == 0 and known(bound) < 2**63:
        integers = [matrix.astype(np.int64) for matrix in weights.named().values()]
        return lambda x: network_output(x.astype(np.int64), architecture, integers).astype(object)
    matrices = [rational_matrix(matrix) for matrix in weights.named().values()]
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
        """The outputs, as they are shown."""
        return self.values(x)

    def shown(self, found: ObjectArray) -> ObjectArray:
        """What a function returned, as it is shown."""
        return map_entries(lambda y: "not finite" if y is None else y, found)

    def wrong(self, x: ObjectArray, found: ObjectArray) -> tuple[int, int] | None:
        """The first place where an output differs."""
        places = np.argwhere(found != self.values(x))
        return None if not len(places) else (int(places[0][0]), int(places[0][1]))

    def by_how_much(self, x: ObjectArray, found: ObjectArray, place: tuple[int, int]) -> str:
        """Both numbers."""
        return f": {self.shown(found)[place]} instead of {self.values(x)[place]}"


class EnclosedOutputs:
    """A network with softmax: outputs lie in balls, and floats near to them.

    Attributes:
        bound: size of the integers that inputs are made of.
        step: a power of two that these are multiplied by.
    """

    degree: int | None = None

    def __init__(self, architecture: Architecture, weights: Weights, floats: Floats, ulps: int) -> None:
        architecture.require("softmax in balls", KNOWN)
        for name, matrix in weights.named().items():
            for entry in matrix.ravel():
                _require_float(entry, floats, name)
        self._architecture, self._weights, self._floats, self._ulps = architecture, weights, floats, ulps
        self.bound = GRID
        self.step = _step(architecture, weights)

    def _balls(self, x: ObjectArray) -> ObjectArray:
        matrices = [DualBalls.of(matrix) for matrix in self._weights.named().values()]
        outputs: DualBalls = network_output(DualBalls.of(self.step * x), self._architecture, matrices)
        return outputs.values()

    def output(self, x: ObjectArray) -> ObjectArray:
        """The outputs, as they are shown: rounded."""
        with precision(BITS[0]):
            return map_entries(lambda ball: f"{float(ball.mid()):.17g}", self._balls(x))

    def shown(self, found: ObjectArray) -> ObjectArray:
        """What a function returned, as it is shown."""
        return map_entries(lambda y: "not finite" if y is None else f"{float(y):.17g}", found)

    def wrong(self, x: ObjectArray, found: ObjectArray) -> tuple[int, int] | None:
        """The first place where an output is certainly too far off.

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
            told(
                f"it is undecided whether outputs are within {self._ulps} ulps, with balls of {BITS[-1]} bits",
                [("network", str(self._architecture)), ("input", f"X = {rows_in_line(self.step * x)}")],
            )
        )

    def _distances(
        self, x: ObjectArray, found: ObjectArray
    ) -> tuple[dict[tuple[int, int], tuple[Fraction, Fraction | None]], Fraction]:
        """Bounds of how far off each output is, and the unit: the distance of floats at the largest one."""
        balls = self._balls(x)
        sizes = [distance(ball, Fraction(0))[1] for ball in balls.ravel()]
        largest = max((size for size in sizes if size is not None), default=Fraction(0))
        unit = unit_in_last_place(largest, self._floats)
        numbers: list[Fraction] = found.ravel().tolist()
        pairs = zip(np.ndenumerate(balls), numbers, strict=True)
        return {(int(k), int(j)): distance(ball, number) for ((k, j), ball), number in pairs}, unit

    def by_how_much(self, x: ObjectArray, found: ObjectArray, place: tuple[int, int]) -> str:
        """How many units it is off there."""
        if found[place] is None:
            return ": not finite"
        with precision(BITS[0]):
            distances, unit = self._distances(x, found)
        return f": {float(distances[place][0] / unit):.3g} ulps, allowed are {self._ulps}"


def unit_in_last_place(size: Fraction, floats: Floats) -> Fraction:
    """The distance of neighbouring floats at this size.

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
    """A power of two, at most 1, such that scores of the first layer are no larger than `LARGEST_SCORE`."""
    x = np.full((architecture.input_width, 1), Fraction(GRID), dtype=object)
    if architecture.embed is not None:
        x = abs(weights["E"]) @ x
    heads = [architecture.head_name(1, h) for h in range(1, architecture.heads + 1)]
    largest = max(((abs(weights[f"K{h}"]) @ x).T @ (abs(weights[f"Q{h}"]) @ x))[0, 0] for h in heads)
    step = Fraction(1)
    while largest * step * step > LARGEST_SCORE:
        step /= 2
    return step


def recognized(
    truth: ExactOutputs | EnclosedOutputs, weights: Weights, caller: Caller, inputs: list[ObjectArray]
) -> str:
    """A usual mistake that explains all these outputs, in words; empty if none does. A guess, for the reader."""
    weights.require_numbers("the networks that are tried")
    if not isinstance(truth, ExactOutputs):
        return ""
    outputs = [(x, caller(x)) for x in inputs]
    tokens = inputs[0].shape[1]
    for words, other, turned in _mistakes(weights, tokens):
        values = exactly(other.architecture(tokens), other, truth.bound)
        order = slice(None, None, -1) if turned else slice(None)
        if all(np.array_equal(values(x[:, order])[:, order], y) for x, y in outputs):
            return words
    return ""


def _mistakes(weights: Weights, tokens: int) -> Iterator[tuple[str, Weights, bool]]:
    """Networks that are often meant for this one; in the last place, whether tokens stand in the other order."""
    named, form = weights.named(), weights.form
    exchanged = {name: named[{"Q": "K", "K": "Q"}.get(name[0], name[0]) + name[1:]] for name in named}
    yield "the network with queries and keys exchanged", Weights.of(exchanged, form), False
    if tokens > 1:
        words = "without its causal mask" if form.causal else "with a causal mask"
        yield f"the network {words}", weights.with_form(replace(form, causal=not form.causal)), False
        if form.causal:
            yield "the network with the mask turned around", weights, True
    if len(set(weights.architecture(1).widths)) == 1:
        words = "without its skip connections" if form.skip else "with skip connections"
        yield f"the network {words}", weights.with_form(replace(form, skip=not form.skip)), False
    roots = {name: isqrt(matrix.shape[0]) for name, matrix in named.items() if name[0] == "Q"}
    if all(root > 1 and root * root == named[name].shape[0] for name, root in roots.items()):
        scaled = {name: matrix / roots[name] if name in roots else matrix for name, matrix in named.items()}
        yield "the network with scores divided by the root of the query width", Weights.of(scaled, form), False
