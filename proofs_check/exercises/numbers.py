"""Exercises whose answer is a number or a shape: degrees, ranks, dimensions, and where a formula ends."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from random import Random
from typing import NamedTuple

from lightning_sym import Architecture, Weights, certified_dimension, forward, polynomial_map
from lightning_sym.errors import proved_to_be
from lightning_sym.network.layer import Layer
from lightning_sym.rings.polynomials import PolynomialRing
from proofs_check.blackboard.step import tokens_of
from proofs_check.exercises.exercise import NUMBER, SHAPE, DrawnExercise, Exercise, Given, Judged, Sizes

_COUNTED = ("", "One", "Two", "Three", "Four", "Five", "Six")


def _numeric(title: str, question: str, unit: str, expected: Callable[[], int], given: Given) -> Exercise:
    """Return an exercise whose answer is computed when it is asked for."""

    def judge(answer: int) -> Judged:
        right = expected()
        return answer == right, f"{answer} is {unit}" if answer == right else f"{answer} is not {unit}"

    return NUMBER.exercise(title, question, judge, expected, given)


# --- degrees


class Degrees(NamedTuple):
    """Of how many layers, and in which one's matrices, or in the input, where it is none."""

    layers: int
    of_layer: int = 0


def _degree(asked: Degrees) -> int:
    """Return a degree of the output, from the polynomial itself, in one variable."""
    ring = PolynomialRing(["x"])
    one, letter = ring.constants(Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]})["V1"]), tokens_of(ring, 1)
    layers = [Layer(*(letter if asked.of_layer == i else one,) * 3) for i in range(1, asked.layers + 1)]
    (output,) = forward(one if asked.of_layer else letter, layers).ravel()
    return int(output.total_degree())


def _degrees(asked: Degrees) -> Exercise:
    subject = f"the three matrices of layer {asked.of_layer} together" if asked.of_layer else "the input"
    question = (
        f"{_COUNTED[asked.layers]} layers of lightning attention, one behind the other. Which degree does the output "
        f"have in {subject}?"
    )
    return _numeric("Degrees multiply", question, "the degree", lambda: _degree(asked), {})


DEGREES = DrawnExercise(
    _degrees,
    Degrees(3),
    lambda chance: chance.choice([Degrees(layers, of) for layers in range(2, 7) for of in range(layers + 1)]),
)


# --- the rank of a Jacobian


def _jacobian(given: Given) -> Exercise:
    def rank() -> int:
        point = Weights.of(given)
        return polynomial_map(point.architecture(2)).jacobian_rank(point).rank

    question = (
        "One layer, two tokens, at the weights {}: which rank does the Jacobian of the function's coefficients, by the "
        "entries of Q, K and V, have there?"
    )
    return _numeric("The rank of a Jacobian", question, "the rank", rank, given)


def _some_point(chance: Random) -> Given:
    """Return weights of rank one, some of which have vectors that are parallel, or zero."""
    width, outputs = chance.choice([(2, 1), (2, 2), (3, 1)])
    key, query, *values = ([chance.randint(-1, 2) for _ in range(width)] for _ in range(2 + outputs))
    return {"Q1": [query], "K1": [key], "V1": values}


JACOBIAN: DrawnExercise[Given] = DrawnExercise(
    _jacobian, {"Q1": [[1, 1]], "K1": [[1, -1]], "V1": [[2, 1]]}, _some_point
)


# --- dimensions


def _value(network: Architecture) -> int:
    return proved_to_be(
        certified_dimension(network).value, f"the dimension of {network} must be certified: it is asked"
    )


def _dimension(network: Architecture) -> Exercise:
    question = f"Which dimension has the set of functions of the network {network}?"
    return _numeric("A dimension", question, "the dimension", lambda: _value(network), {})


def _some_network(chance: Random) -> Architecture:
    layers = chance.choice([1, 1, 2])
    widths = (*(chance.randint(2, 4) for _ in range(layers)), chance.randint(1, 3))
    return Architecture(widths, tuple(chance.randint(1, 2) for _ in range(layers)), chance.randint(1, 3))


DIMENSION = DrawnExercise(_dimension, Architecture((2, 1), (1,), 2), _some_network)


# --- where a formula ends


class WantedShape(NamedTuple):
    """What a shape must have: its layers, its first width and its last."""

    layers: int
    first: int
    last: int

    def missed(self, sizes: Sizes) -> str | None:
        """Return what a shape has not, in words."""
        widths, ranks = sizes
        has = {"number of layers": len(ranks), "width of the input": widths[0], "width of the output": widths[-1]}
        wrong = ((name, got, need) for (name, got), need in zip(has.items(), self, strict=True) if need != got)
        return next((f"the {name} must be {need}, not {got}" for name, got, need in wrong), None)

    def shapes(self) -> list[Sizes]:
        """Return small shapes that have it, of growing ranks."""
        inner = product(range(2, 4), repeat=self.layers - 1)
        widths = [(self.first, *between, self.last) for between in inner]
        return [(sizes, ranks) for ranks in product((1, 2), repeat=self.layers) for sizes in widths]


def _formula(wanted: WantedShape) -> Exercise:
    def judge(answer: Sizes) -> Judged:
        if missed := wanted.missed(answer):
            return False, missed
        found = certified_dimension(Architecture(*answer, 2))
        if found.formula.value is None:
            return False, "the formula says nothing of this shape"
        if found.value is None:
            return False, f"the dimension is only known to be between {found.lower} and {found.upper}"
        if found.value == found.formula.value:
            return False, f"here the formula is right: {found.value}"
        return True, f"the dimension is {found.value}, the formula gives {found.formula.value}"

    def solution() -> str:
        widths, ranks = next(shape for shape in wanted.shapes() if judge(shape)[0])
        return f"{','.join(map(str, widths))} / {','.join(map(str, ranks))}"

    question = (
        f"Find a shape of {_COUNTED[wanted.layers].lower()} layers, with two tokens, inputs of width {wanted.first} "
        f"and outputs of width {wanted.last}, at which the paper's formula (Corollary 3.8) is not the dimension."
    )
    return SHAPE.exercise("Where a formula ends", question, judge, solution)


FORMULA = DrawnExercise(
    _formula,
    WantedShape(3, 3, 2),
    lambda chance: WantedShape(chance.choice([2, 3]), chance.randint(2, 4), chance.randint(2, 4)),
)
