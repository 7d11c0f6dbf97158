"""Exercises whose answer is weights: the same function, another one, a singular point, and what nobody sees."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from lightning_sym import SOFTMAX, Answer, Architecture, Label, NetworkForm, Weights, classify, fiber, same_function
from lightning_sym.errors import BadInput
from proofs_check.exercises.exercise import WEIGHTS, DrawnExercise, Exercise, Given, Judged

GENERIC: Given = {"Q1": [[1, 2], [0, 1]], "K1": [[1, 0], [1, 1]], "V1": [[1, -1], [2, 3]]}
UNIT = [[1, 0], [0, 1]]


def _of_shape(weights: Weights, wanted: Architecture) -> None:
    if (got := weights.architecture(wanted.tokens)) != wanted:
        raise BadInput(f"the answer must be weights of the network {wanted}, got {got}")


def _same(first: Weights, second: Weights, tokens: int) -> bool:
    """Return whether two networks have one function.

    Raises:
        BadInput: that is not decided.
    """
    answer = same_function(first, second, tokens).answer
    if answer is Answer.UNDECIDED:
        raise BadInput("the answer must be one that can be decided, and this one is not; take simpler numbers")
    return answer is Answer.SAME


def _changed(weights: Weights, given: Given) -> str | None:
    """Return what has become of a matrix that the question gives, in words."""
    names = (name for name, rows in given.items() if weights[name].tolist() != rows)
    return next((f"{name} is not the one that is given" for name in names), None)


def _parallel(one: list[int], other: list[int]) -> bool:
    return all(one[i] * other[j] == one[j] * other[i] for i in range(len(one)) for j in range(i))


def _row(chance: Random, width: int = 2) -> list[int]:
    """Return a row of small numbers that are not all zero."""
    while not any(row := [chance.randint(-3, 3) for _ in range(width)]):
        pass
    return row


def _two_rows(chance: Random, width: int = 2) -> list[list[int]]:
    """Return two rows that are not parallel."""
    while _parallel(*(rows := [_row(chance, width), _row(chance, width)])):
        pass
    return rows


# --- the same function


def _some_generic(chance: Random) -> Given:
    return {name: _two_rows(chance) for name in ("Q1", "K1", "V1")}


def _queries_and_keys(given: Given) -> Exercise:
    start = Weights.of(given)

    def judge(found: Weights) -> Judged:
        _of_shape(found, start.architecture(2))
        if found == start:
            return False, "these are the same weights"
        if not _same(start, found, 2):
            return False, "another function"
        return True, "other weights, and the same function, for every input"

    def solution() -> Weights:
        """Return the weights in another basis of queries and keys."""
        (q, r), (k, m) = start["Q1"].tolist(), start["K1"].tolist()
        queries = [[2 * x for x in q], [y - 2 * x for x, y in zip(q, r, strict=True)]]
        keys = [[Fraction(x, 2) + y for x, y in zip(k, m, strict=True)], m]
        return Weights.of({"Q1": queries, "K1": keys, "V1": start["V1"].tolist()})

    question = "Find other weights with the same function for two tokens, of the same shape: {}"
    return WEIGHTS.exercise("Queries and keys", question, judge, solution, given)


def _exchange(given: Given) -> Exercise:
    start = Weights.of(given)

    def judge(found: Weights) -> Judged:
        _of_shape(found, start.architecture(2))
        if not _same(start, found, 2):
            return False, "another function"
        old, new = ((w["K1"].T @ w["Q1"]).ravel().tolist() for w in (start, found))
        if _parallel(old, new):
            return False, "the same function, but A' is a multiple of A"
        return True, "the same function, and A' is no multiple of A"

    def solution() -> Weights:
        points = (component.point(lam=1) for component in fiber(start).components)
        return next(point for point in points if judge(point)[0])

    question = (
        "Find weights with the same function for two tokens, whose matrix $A = K^\\top Q$ is no multiple of the old "
        "one: {}"
    )
    return WEIGHTS.exercise("The exchange", question, judge, solution, given)


def _some_rank_one(chance: Random) -> Given:
    """Return weights of rank one whose keys and values can be exchanged for something new."""
    key, value = _two_rows(chance)
    return {"Q1": [_row(chance)], "K1": [key], "V1": [value]}


def _one_token(given: Given) -> Exercise:
    start = Weights.of(given)

    def judge(found: Weights) -> Judged:
        _of_shape(found, start.architecture(1))
        if not _same(start, found, 1):
            return False, "one token is enough to see the difference"
        if _same(start, found, 2):
            return False, "the same function for two tokens, too"
        return True, "the same for one token, different for two"

    def solution() -> Weights:
        """Return weights with a skew matrix more in A, which the quadratic form of one token does not see."""
        scores = (start["K1"].T @ start["Q1"]).tolist()
        scores[0][1] += 1
        scores[1][0] -= 1
        return Weights.of({"Q1": scores, "K1": UNIT, "V1": start["V1"].tolist()})

    question = "Find weights, of the same shape, that have the same function for one token, and another one for two: {}"
    return WEIGHTS.exercise("One token is not enough", question, judge, solution, given)


QUERIES_AND_KEYS: DrawnExercise[Given] = DrawnExercise(_queries_and_keys, GENERIC, _some_generic)
EXCHANGE: DrawnExercise[Given] = DrawnExercise(
    _exchange, {"Q1": [[2, 1]], "K1": [[1, 3]], "V1": [[1, -2]]}, _some_rank_one
)
ONE_TOKEN: DrawnExercise[Given] = DrawnExercise(_one_token, GENERIC, _some_generic)


# --- a singular point


def _singular(given: Given) -> Exercise:
    def judge(found: Weights) -> Judged:
        _of_shape(found, Architecture((3, 2), (2,), 2))
        if changed := _changed(found, given):
            return False, changed
        if not (found["K1"].T @ found["Q1"]).any():
            return False, "A = 0 gives the function zero: the printed theorem names that point"
        labels = classify(found).labels
        return Label.SINGULAR in labels, f"the point is {' and '.join(sorted(label.value for label in labels))}"

    def solution() -> Weights:
        """Return weights whose A has rank one."""
        units = [[1, 0, 0], [0, 0, 0]]
        return Weights.of({"Q1": units, "K1": units, **given})

    question = (
        r"Theorem 3.4, as printed, names as singular points those with $\operatorname{rk} A = \operatorname{rk} V = 1$"
        ", and zero. Find another one, of a layer of width 3 with two outputs and queries of width 2, with this V: {}"
    )
    return WEIGHTS.exercise("A singular point that was forgotten", question, judge, solution, given)


SINGULAR: DrawnExercise[Given] = DrawnExercise(
    _singular, {"V1": [[1, 0, 2], [0, 1, 1]]}, lambda chance: {"V1": _two_rows(chance, 3)}
)


# --- what nobody sees


def _cancel(given: Given) -> Exercise:
    def judge(found: Weights) -> Judged:
        _of_shape(found, Architecture((2, 1), (1,), 2, heads=2))
        if changed := _changed(found, given):
            return False, changed
        if any(not (found[f"K1.{h}"].T @ found[f"Q1.{h}"]).any() or not found[f"V1.{h}"].any() for h in (1, 2)):
            return False, "one of the heads does nothing already"
        zero = Weights.of({name: [[0] * m.shape[1]] * m.shape[0] for name, m in found.numbers().items()}, found.form)
        if not _same(found, zero, 2):
            return False, "together they do something"
        return True, "two heads that do something, and nothing together"

    def solution() -> Weights:
        """Return any first head, if none is given, and a second one with the keys of the first, turned round."""
        first: Given = given or {"Q1.1": [[1, 2]], "K1.1": [[1, 1]], "V1.1": [[0, 1]]}
        keys = [[-entry for entry in row] for row in first["K1.1"]]
        return Weights.of({**first, "Q1.2": first["Q1.1"], "K1.2": keys, "V1.2": first["V1.1"]})

    names = "The names are Q1.1, K1.1, V1.1, Q1.2, K1.2, V1.2."
    asked = (
        f"The first head is given. Find a second one, such that they do nothing together. {names} {{}}"
        if given
        else f"Find two heads that do something each, and nothing together. {names}"
    )
    question = f"A lightning layer of width 2 with one output and two heads, queries of width 1. {asked}"
    return WEIGHTS.exercise("Two heads that cancel", question, judge, solution, given)


CANCEL: DrawnExercise[Given] = DrawnExercise(
    _cancel, {}, lambda chance: {name: [_row(chance)] for name in ("Q1.1", "K1.1", "V1.1")}
)

_SOFTMAX = NetworkForm(normalization=SOFTMAX)


def _blind(given: Given) -> Exercise:
    shape = Architecture((2, 2, 2), (2, 2), 2, normalization=SOFTMAX)

    def judge(answer: Weights) -> Judged:
        found = answer.with_form(_SOFTMAX)
        _of_shape(found, shape)
        if changed := _changed(found, given):
            return False, changed
        named = found.numbers()
        if not named["V1"].any() or not (named["K1"].T @ named["Q1"]).any():
            return False, "the first layer must have A and V that are not zero"
        if not named["V2"].any():
            return False, "V of the second layer must not be zero"
        # V1 may hide some entries of A2 and show others: so zero and all unit matrices
        for key in ([[0, 0], [0, 0]], [[1, 0], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [1, 0]], [[0, 0], [0, 1]]):
            changed_keys = {"Q2": UNIT, "K2": key}
            rows = {name: changed_keys.get(name, matrix.tolist()) for name, matrix in named.items()}
            if not _same(found, Weights.of(rows, _SOFTMAX), 2):
                return False, "the second layer can be seen: other Q2 and K2 give another function"
        return True, "other Q2 and K2 give the same function"

    def solution() -> Weights:
        """Return weights whose A of the first layer is skew: two tokens look at each other in the same way."""
        (a, b), (c, d) = queries = given.get("Q1", UNIT)
        keys = [[-c, -d], [a, b]]  # K^T Q is their determinant times a skew matrix
        return Weights.of({"Q1": queries, "K1": keys, "V1": UNIT, "Q2": UNIT, "K2": UNIT, "V2": UNIT}, _SOFTMAX)

    with_queries = " Q1 is given: {}" if given else ""
    question = (
        "Two softmax layers of width 2, queries of width 2, two tokens. Find weights such that nobody sees Q2 and K2, "
        f"although A1, V1 and V2 are not zero.{with_queries}"
    )
    return WEIGHTS.exercise("A blind layer", question, judge, solution, given)


BLIND: DrawnExercise[Given] = DrawnExercise(_blind, {}, lambda chance: {"Q1": _two_rows(chance)})
