"""How `same`, `fiber` and `classify` answer: for which networks, with how much work, and never by a truth value."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lightning_sym import (
    SOFTMAX,
    Answer,
    Architecture,
    Label,
    NetworkForm,
    Reason,
    Status,
    Weights,
    certified_dimension,
    classify,
    fiber,
    rescale,
    same_function,
)
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.fibers.cost import entry_bits, evaluation_cost, number_bits, solving_cost, virtual_weights_cost
from lightning_sym.fibers.virtual_moves import MoveName
from lightning_sym.limits import Work

PLAIN = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
FORMS = {
    "causal": NetworkForm(causal=True),
}
RESULTS: dict[str, Callable[[], Any]] = {
    "Answer": lambda: Answer.SAME,
    "Status": lambda: Status.CERTIFIED,
    "Label": lambda: Label.SINGULAR,
    "Comparison": lambda: same_function(PLAIN, PLAIN),
    "CertifiedDimension": lambda: certified_dimension(PLAIN.architecture(2)),
    "Fiber": lambda: fiber(PLAIN),
    "Classification": lambda: classify(PLAIN),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_no_truth_value(name: str) -> None:
    result = RESULTS[name]()
    for ask in (lambda: bool(result), lambda: not result, lambda: result and 1, lambda: [x for x in (1,) if result]):
        with pytest.raises(BadInput, match=f"the truth value of {name} is not the answer; write "):
            ask()


def test_the_spelling_in_the_message_is_right() -> None:
    comparison = same_function(PLAIN, PLAIN)
    status, result, label, point, found = (
        Status.CERTIFIED, certified_dimension(PLAIN.architecture(2)), Label.SINGULAR, classify(PLAIN), fiber(PLAIN),
    )  # fmt: skip
    names = {"answer": comparison.answer, "comparison": comparison, "status": status, "result": result, "label": label,
             "point": point, "found": found, "Answer": Answer, "Status": Status, "Label": Label}  # fmt: skip
    for asked in (comparison, comparison.answer, status, result, label, point, found):
        with pytest.raises(BadInput) as refusal:
            bool(asked)
        spelled = str(refusal.value).partition("write ")[2]
        assert isinstance(eval(spelled, {}, names), bool)  # noqa: S307 - our own message


@pytest.mark.parametrize("name", FORMS)
def test_other_networks_are_refused_by_name(name: str) -> None:
    first = PLAIN.with_form(FORMS[name])
    with pytest.raises(BadInput, match=f"is not yet decided for {name}, only for one-head lightning attention"):
        classify(first)
    for other in (PLAIN, PLAIN.with_form(NetworkForm(SOFTMAX))):
        for pair in ((first, other), (other, first)):
            with pytest.raises(BadInput, match="both networks must be of one form, got "):
                same_function(*pair)
    same = same_function(first, first)
    assert (same.answer, same.reason) == (Answer.SAME, Reason.IDENTICAL)


def test_a_class_of_heads_is_refused_by_name() -> None:
    heads = Weights.random(Architecture((2, 2), (1,), 2, heads=2, value_ranks=(1,), embed=3, unembed=3), seed=1)
    message = "2 heads, output projections O, an embedding E, an unembedding U"
    with pytest.raises(BadInput, match=f"is not yet decided for {message}"):
        classify(heads)
    assert same_function(heads, heads).reason is Reason.IDENTICAL


def test_reasons_and_moves_are_their_words() -> None:
    assert [reason.value for reason in Reason] == [
        "identical", "symmetry", "streams", "tensors", "coefficients", "zero", "degree", "input", "balls", "visible",
        "one layer", "words", "determined", "evaluations", "agreement",
    ]  # fmt: skip
    assert all(reason.message and reason == reason.value for reason in Reason)
    assert [name.value for name in MoveName] == ["exchange", "skew layer", "linear factor"]


def test_each_strategy_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one of them a question that it decides is decided otherwise, or not at all."""
    import sys

    file = sys.modules["lightning_sym.fibers.same_function"]
    one = np.eye(3, dtype=int)
    skew, flat = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], [[0, 1, 0], [-1, 0, 0], [0, 0, 0]]

    def two(first: Any, second: Any) -> Weights:
        return Weights.of({"Q1": first, "K1": one, "V1": one, "Q2": second, "K2": one, "V2": [[1, 2, 3]]})

    zero = Weights.of({"Q1": [[0, 0]], "K1": [[1, 0]], "V1": [[3, 4]]})
    deep = Weights.of({f"{c}{i}": [[2]] for c in "QKV" for i in range(1, 12)})
    deeper = Weights.of({f"{c}{i}": [[2]] for c in "QKV" for i in range(1, 13)})
    questions: dict[str, tuple[Weights, Weights, Reason]] = {
        "_both_zero": (zero, rescale(zero, layer=1, by=3), Reason.ZERO),
        "_by_symmetry": (PLAIN, rescale(PLAIN, layer=1, by=3), Reason.SYMMETRY),
        "_by_kind": (deep, deeper, Reason.DEGREE),
        "by_coefficients": (two(skew, flat), two(flat, skew), Reason.COEFFICIENTS),
    }
    every = file.SAME
    names = [getattr(row, "prove", row.about).__name__ for row in every]
    assert {*names} == {*questions, "<lambda>"}
    for name, (first, second, reason) in questions.items():
        assert same_function(first, second).reason is reason
        monkeypatch.setattr(file, "SAME", tuple(row for row, its in zip(every, names, strict=True) if its != name))
        assert same_function(first, second).reason is not reason
        monkeypatch.setattr(file, "SAME", every)


def test_zero_or_not_is_decided_without_room_for_anything() -> None:
    zero = Weights.of({"Q1": [[0, 0]], "K1": [[1, 0]], "V1": [[3, 4]]})
    found = same_function(PLAIN, zero, memory=0, evaluations=0)
    assert (found.answer, found.reason) == (Answer.DIFFERENT, Reason.INPUT)


BIG = Weights.random(Architecture((40, 40), (40,), 2), seed=1)


@pytest.mark.parametrize("ask", [lambda **k: same_function(BIG, BIG, **k), lambda **k: fiber(BIG, **k),
                                 lambda **k: classify(PLAIN, **k)])  # fmt: skip
def test_work_is_refused_with_an_estimate_and_the_option_that_lifts_it(ask: Callable[..., Any]) -> None:
    with pytest.raises(TooLarge, match=r"at most 1e-07 s in all, estimated .* s by .* a larger work \(--work\)"):
        ask(work=1e-7)
    for bad in (0, -1, float("nan")):
        with pytest.raises(BadInput, match="work must be a positive number of seconds"):
            ask(work=bad)


def test_the_limit_bounds_the_sum_of_the_steps() -> None:
    work = Work(1)
    assert work.allows(0.6)
    work.spend(0.6, "one")
    assert not work.allows(0.6)
    with pytest.raises(TooLarge, match=r"two: .*estimated 1.2 s"):
        work.spend(0.6, "two")
    # every evaluation is small, all together are not
    other = Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[3, 4]]})
    one = sum(evaluation_cost(w, *number_bits(w), 2, 3) for w in (PLAIN, other))
    before = sum(virtual_weights_cost(w, *number_bits(w)) for w in (PLAIN, other))
    assert same_function(PLAIN, other, work=before + 1.5 * one).answer is Answer.DIFFERENT
    with pytest.raises(TooLarge, match="exact evaluations"):
        same_function(PLAIN, other, work=before + 0.5 * one)


def test_virtual_weights_of_unequal_denominators_are_long() -> None:
    def network(denominator: int) -> Weights:
        return Weights.random(Architecture((8, 8, 8, 8), (8, 8, 8), 2), seed=1, denominator=denominator)

    costs = [virtual_weights_cost(w, *number_bits(w)) for w in map(network, (1, 2**60))]
    assert costs[1] > 20 * costs[0]
    with pytest.raises(TooLarge, match="virtual weights: exact work must take at most"):
        same_function(network(2**60), network(2**59), work=costs[1])


def test_an_answer_stands_without_the_group_element_that_takes_too_long() -> None:
    other = rescale(BIG, layer=1, by=2)
    enough = sum(virtual_weights_cost(w, *number_bits(w)) for w in (BIG, other))
    found = same_function(BIG, other, work=enough * 1.001)
    assert found.answer is Answer.SAME
    assert found.connection is not None
    assert (found.connection.sought, found.connection.query_key) == (False, None)
    enough += sum(solving_cost(w, entry_bits(w)) for w in (BIG, other))
    found = same_function(BIG, other, work=enough * 1.001)
    assert found.connection is not None
    assert (found.connection.sought, found.connection.query_key is None) == (True, False)


def test_estimates_grow_with_sizes_and_with_the_length_of_numbers() -> None:
    small, wide = (Weights.random(Architecture((d, d), (d,), 2), seed=1) for d in (10, 40))
    long = Weights.random(Architecture((10, 10), (10,), 2), seed=1, bound=2**62)
    long = Weights.of({name: matrix**200 for name, matrix in long.named().items()})
    costs: tuple[Callable[[Weights], float], ...] = (
        lambda w: virtual_weights_cost(w, *number_bits(w)),
        lambda w: solving_cost(w, entry_bits(w)),
        lambda w: evaluation_cost(w, *number_bits(w), 2, 3),
    )
    for cost in costs:
        assert 2 * cost(small) < cost(wide)
        assert 2 * cost(small) < cost(long)
    huge = Weights.of({"Q1": [[2.0**-1000, 1]], "K1": [[1, 0]], "V1": [[1, 0]]})
    assert entry_bits(huge)["Q1"] >= 1000


def test_denominators_that_differ_are_paid_for() -> None:
    """Entries of products have the denominators of a whole matrix: seven such layers took minutes, estimated 0.1 s."""
    source = random.Random(1)

    def network(layers: int, denominators: int) -> Weights:
        def entry() -> Fraction:
            return Fraction(source.randint(1, 10**20), source.randint(1, denominators))

        names = [f"{c}{i}" for i in range(1, layers + 1) for c in "QKV"]
        return Weights.of({name: [[entry() for _ in range(3)] for _ in range(3)] for name in names})

    first, second = network(9, 10**20), network(9, 10**20)
    with pytest.raises(TooLarge, match="exact evaluations: exact work must take at most 60 s in all, estimated"):
        same_function(first, second)
    assert same_function(network(9, 1), network(9, 1)).answer is Answer.DIFFERENT
    # floats: powers of two have a short common denominator
    dyadic = Weights.of({name: np.vectorize(float)(matrix) for name, matrix in first.matrices.items()})
    costs = [evaluation_cost(w, *number_bits(w), 2, 3) for w in (first, dyadic)]
    assert costs[0] > 10 * costs[1]
    assert number_bits(network(2, 1))[1] == {}


def test_classify_says_what_ranks_and_a_kernel_cost() -> None:
    told: list[str] = []
    one = Weights.random(Architecture((3, 3), (2,), 2), seed=1, attention_matrix_ranks=[1], value_ranks=[1])
    classify(one, progress=lambda stage, done, total: told.append(stage))
    assert told == ["ranks of the virtual weights", "families that tend to the function"]
    with pytest.raises(TooLarge, match="ranks of the virtual weights: exact work"):
        classify(one, work=1e-6)
    told.clear()
    deep = Weights.random(Architecture((2, 2, 2), (2, 2), 2), seed=1, attention_matrix_ranks=[1, 1], value_ranks=[1, 1])
    classify(deep, progress=lambda stage, done, total: told.append(stage))
    assert told[:4] == [
        "ranks of products modulo a prime", "exact ranks of products of the weights", "the differential modulo a prime",
        "the differential in Q, K, V",
    ]  # fmt: skip
    with pytest.raises(TooLarge, match="ranks of products modulo a prime: exact work"):
        classify(deep, work=1e-9)
    for work in (1.2e-4, 3e-4):
        with pytest.raises(TooLarge, match=r"exact ranks of products|the differential"):
            classify(deep, work=work)


def test_progress_tells_the_stages() -> None:
    told: list[str] = []
    same_function(BIG, rescale(BIG, layer=1, by=2), progress=lambda stage, done, total: told.append(stage))
    assert told == ["virtual weights", "virtual weights", "the group element"]
    told.clear()
    Work(100, lambda stage, done, total: told.append(stage)).spend(7, "a long step")
    assert told == ["a long step, about 7 s"]
    told.clear()
    fiber(PLAIN, progress=lambda stage, done, total: told.append(stage))
    classify(PLAIN, progress=lambda stage, done, total: told.append(stage))
    fibers = ["virtual weights", "the dimension near these weights"]
    limits = "families that tend to the function"
    assert told == [*fibers, "connected components", "ranks of the virtual weights", limits]
    told.clear()
    wide = Weights.random(Architecture((2, 2), (2,), 1), seed=1)
    fiber(wide, 1, progress=lambda stage, done, total: told.append(stage))
    assert told[:3] == [*fibers, "directions near these weights"], "the orbit does not fill this fiber"
