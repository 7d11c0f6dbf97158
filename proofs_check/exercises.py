"""Ten exercises whose answers are checked by computing: no solution is stored, and any right answer is right."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lightning_sym import (
    SOFTMAX,
    Answer,
    Architecture,
    Label,
    NetworkForm,
    Weights,
    certified_dimension,
    classify,
    forward,
    load_weights,
    polynomial_map,
    same_function,
)
from lightning_sym.errors import BadInput
from lightning_sym.network.layer import Layer
from lightning_sym.rings.arrays import Rows
from lightning_sym.rings.polynomials import PolynomialRing
from proofs_check.blackboard.step import tokens_of

LARGEST = 4
"""Widths in an answer: what students write by hand."""

Judged = tuple[bool, str]


@dataclass(frozen=True)
class Exercise:
    """A question, and how an answer is judged.

    Attributes:
        title: in a few words.
        question: what is asked.
        takes: what an answer is.
        judge: whether an answer is right, and why; of a text that `takes` describes.
    """

    title: str
    question: str
    takes: str
    judge: Callable[[str], Judged]


GENERIC = {"Q1": [[1, 2], [0, 1]], "K1": [[1, 0], [1, 1]], "V1": [[1, -1], [2, 3]]}
RANK_ONE = {"Q1": [[1, 2]], "K1": [[3, 1]], "V1": [[1, -1]]}
POINT = {"Q1": [[1, 1]], "K1": [[1, -1]], "V1": [[2, 1]]}
SHAPE = Architecture(widths=(2, 1), attention_ranks=(1,), tokens=2)


def _number(text: str) -> int:
    if not re.fullmatch(r"-?\d{1,9}", text.strip()):
        raise BadInput(f"the answer must be an integer, got {text[:40]!r}")
    return int(text)


def _weights(text: str, form: NetworkForm | None = None) -> Weights:
    """A file of weights, of matrices that can be written by hand.

    Raises:
        BadInput: it cannot be read, or is too large, or of another form.
    """
    found = load_weights(Path(text))
    if form is not None:
        found = found.with_form(form)
    found.require_numbers("an answer")
    if max(max(matrix.shape) for matrix in found.all_held.values()) > LARGEST:
        raise BadInput(f"the answer must have matrices of at most {LARGEST} rows and columns")
    return found


def _of_shape(weights: Weights, wanted: Architecture) -> None:
    if (got := weights.architecture(wanted.tokens)) != wanted:
        raise BadInput(f"the answer must be weights of the network {wanted}, got {got}")


def _same(first: Weights, second: Weights, tokens: int) -> bool:
    """Whether two networks have one function.

    Raises:
        BadInput: that is not decided.
    """
    answer = same_function(first, second, tokens).answer
    if answer is Answer.UNDECIDED:
        raise BadInput("the answer must be one that can be decided, and this one is not; take simpler numbers")
    return answer is Answer.SAME


def _numeric(expected: Callable[[], int], unit: str) -> Callable[[str], Judged]:
    """A judge of a number that is computed when it is asked for."""

    def judge(text: str) -> Judged:
        given, right = _number(text), expected()
        return given == right, f"{given} is {unit}" if given == right else f"{given} is not {unit}"

    return judge


def _degree() -> int:
    """Of the output of three layers, from the polynomial itself, in one variable."""
    ring = PolynomialRing(["x"])
    one = ring.constants(Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]})["V1"])
    (output,) = forward(tokens_of(ring, 1), [Layer(one, one, one)] * 3).ravel()
    return int(output.total_degree())


def _another(given: Mapping[str, Rows], tokens: int = 2) -> Callable[[str], Judged]:
    def judge(text: str) -> Judged:
        start, found = Weights.of(given), _weights(text)
        _of_shape(found, start.architecture(tokens))
        if found == start:
            return False, "these are the same weights"
        if not _same(start, found, tokens):
            return False, "another function"
        return True, "other weights, and the same function, for every input"

    return judge


def _exchange(text: str) -> Judged:
    start, found = Weights.of(RANK_ONE), _weights(text)
    _of_shape(found, start.architecture(2))
    if not _same(start, found, 2):
        return False, "another function"
    old, new = ((w["K1"].T @ w["Q1"]).ravel() for w in (start, found))
    if all(old[i] * new[j] == old[j] * new[i] for i in range(len(old)) for j in range(i)):
        return False, "the same function, but A' is a multiple of A"
    return True, "the same function, and A' is no multiple of A"


def _one_token(text: str) -> Judged:
    start, found = Weights.of(GENERIC), _weights(text)
    _of_shape(found, start.architecture(1))
    if not _same(start, found, 1):
        return False, "one token is enough to see the difference"
    if _same(start, found, 2):
        return False, "the same function for two tokens, too"
    return True, "the same for one token, different for two"


def _formula(text: str) -> Judged:
    words = re.fullmatch(r"\s*(\d(?:,\d)*)\s*/\s*(\d(?:,\d)*)\s*", text)
    if words is None:
        raise BadInput(f"the answer must be widths / ranks, such as 2,2,2 / 2,2, got {text[:40]!r}")
    widths, ranks = (tuple(map(int, word.split(","))) for word in words.groups())
    if max(widths + ranks) > LARGEST or len(widths) > LARGEST:
        raise BadInput(f"the answer must have at most {LARGEST} widths, of at most {LARGEST} each")
    found = certified_dimension(Architecture(widths, ranks, 2))
    if found.formula.value is None:
        return False, "the formula says nothing of this shape"
    if found.value is None:
        return False, f"the dimension is only known to be between {found.lower} and {found.upper}"
    if found.value == found.formula.value:
        return False, f"here the formula is right: {found.value}"
    return True, f"the dimension is {found.value}, the formula gives {found.formula.value}"


def _singular(text: str) -> Judged:
    found = _weights(text)
    wanted = Architecture((3, 2), (2,), 2)
    _of_shape(found, wanted)
    labels = classify(found).labels
    if not any(found["V1"][0, i] * found["V1"][1, j] != found["V1"][0, j] * found["V1"][1, i]
               for i in range(3) for j in range(i)):  # fmt: skip
        return False, "V has rank one or less, and rank two was asked for"
    if not (found["K1"].T @ found["Q1"]).any():
        return False, "A = 0 gives the function zero: the printed theorem names that point"
    return Label.SINGULAR in labels, f"the point is {' and '.join(sorted(label.value for label in labels))}"


def _nothing(text: str) -> Judged:
    found = _weights(text)
    wanted = Architecture((2, 1), (1,), 2, heads=2)
    _of_shape(found, wanted)
    if any(not (found[f"K1.{h}"].T @ found[f"Q1.{h}"]).any() or not found[f"V1.{h}"].any() for h in (1, 2)):
        return False, "one of the heads does nothing already"
    zero = Weights.of({name: [[0] * m.shape[1]] * m.shape[0] for name, m in found.named().items()}, found.form)
    if not _same(found, zero, 2):
        return False, "together they do something"
    return True, "two heads that do something, and nothing together"


def _hidden(text: str) -> Judged:
    form = NetworkForm(normalization=SOFTMAX)
    found = _weights(text, form)
    _of_shape(found, Architecture((2, 2, 2), (2, 2), 2, normalization=SOFTMAX))
    named = found.named()
    if not named["V1"].any() or not (named["K1"].T @ named["Q1"]).any():
        return False, "the first layer must have A and V that are not zero"
    if named["V2"].tolist() == [[0, 0], [0, 0]]:
        return False, "V of the second layer must not be zero"
    # V1 may hide some entries of A2 and show others: so zero and all unit matrices
    for key in ([[0, 0], [0, 0]], [[1, 0], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [1, 0]], [[0, 0], [0, 1]]):
        changed = {"Q2": [[1, 0], [0, 1]], "K2": key}
        other = Weights.of({name: changed.get(name, matrix.tolist()) for name, matrix in named.items()}, form)
        if not _same(found, other, 2):
            return False, "the second layer can be seen: other Q2 and K2 give another function"
    return True, "other Q2 and K2 give the same function"


def _jacobian() -> int:
    return polynomial_map(SHAPE).jacobian_rank(Weights.of(POINT)).rank


def _dimension(network: Architecture) -> int:
    value = certified_dimension(network).value
    assert value is not None  # noqa: S101 - both shapes are certified, as the tests see
    return value


EXERCISES = (
    Exercise(
        "Degrees multiply",
        "Three layers of lightning attention, one behind the other. Which degree does the output have in the input?",
        "an integer",
        _numeric(_degree, "the degree"),
    ),
    Exercise(
        "Queries and keys",
        f"Find other weights with the same function for two tokens, of the same shape: {json.dumps(GENERIC)}",
        "a file of weights",
        _another(GENERIC),
    ),
    Exercise(
        "The exchange",
        "Find weights with the same function for two tokens, whose matrix A = K^T Q is no multiple of the old one: "
        f"{json.dumps(RANK_ONE)}",
        "a file of weights",
        _exchange,
    ),
    Exercise(
        "One token is not enough",
        "Find weights, of the same shape, that have the same function for one token, and another one for two: "
        f"{json.dumps(GENERIC)}",
        "a file of weights",
        _one_token,
    ),
    Exercise(
        "The rank of a Jacobian",
        f"One layer, two tokens, at the weights {json.dumps(POINT)}: which rank does the Jacobian of the coefficients "
        "have there?",
        "an integer",
        _numeric(_jacobian, "the rank"),
    ),
    Exercise(
        "A dimension",
        f"Which dimension has the set of functions of the network {SHAPE}?",
        "an integer",
        _numeric(lambda: _dimension(SHAPE), "the dimension"),
    ),
    Exercise(
        "Where a formula ends",
        "Find a shape with two tokens at which the paper's formula (Corollary 3.8) is not the dimension.",
        "widths / ranks, such as 2,2,2 / 2,2",
        _formula,
    ),
    Exercise(
        "A singular point that was forgotten",
        "Theorem 3.4, as printed, names as singular points those with rk A = rk V = 1, and zero. Find another one, of "
        "a layer of width 3 with two outputs and queries of width 2, whose V has rank two.",
        "a file of weights",
        _singular,
    ),
    Exercise(
        "Two heads that cancel",
        "A lightning layer of width 2 with one output and two heads, queries of width 1. Find two heads that do "
        "something each, and nothing together. The names are Q1.1, K1.1, V1.1, Q1.2, K1.2, V1.2.",
        "a file of weights",
        _nothing,
    ),
    Exercise(
        "A blind layer",
        "Two softmax layers of width 2, queries of width 2, two tokens. Find weights such that nobody sees Q2 and K2, "
        "although A1, V1 and V2 are not zero.",
        "a file of weights",
        _hidden,
    ),
)


def exercise(number: int) -> Exercise:
    """By number, from 1.

    Raises:
        BadInput: there is no such exercise.
    """
    if not 1 <= number <= len(EXERCISES):
        raise BadInput(f"the exercise must be one of 1 to {len(EXERCISES)}, got {number}")
    return EXERCISES[number - 1]
