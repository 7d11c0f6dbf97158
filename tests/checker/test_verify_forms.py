"""Networks with a form: the checker against the program's common streams, balls, and itself with one clause bent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from checker import proved
from flint import arb, ctx
from form_pairs import drawn, drawn_form, moved, named, nearly, weights
from judge_functions import are_the_same
from networks_with_a_form import SKEW, ZERO, then

from lightning_sym import SOFTMAX
from lightning_sym.certificates.same_function import same_certificate
from lightning_sym.errors import BadInput
from lightning_sym.fibers.same_function import Answer, Comparison, Reason
from lightning_sym.network.form import NetworkForm
from lightning_sym.system.circuits import NetworkCircuits
from lightning_sym.system.common_streams import common_streams
from proofs_check.checker import verify
from proofs_check.checker.functions.network import Form, Weights
from proofs_check.checker.functions.rings import Interval, Intervals

Document = dict[str, Any]


def pairs(count: int, seed: int) -> Iterator[tuple[NetworkForm, int, Any, Any]]:
    """Networks that are equal by construction, nearly so, or drawn apart."""
    rng = Random(seed)
    for _ in range(count):
        form, tokens = drawn_form(rng), rng.randint(1, 3)
        first = drawn(rng, form)
        second = moved(rng, first, form, tokens)
        if rng.random() < 0.5:
            second = nearly(rng, second)
        yield form, tokens, first, second


def by_streams(form: NetworkForm, tokens: int, first: Any, second: Any) -> Document:
    """The claim that common streams show them to be the same."""
    one, other = ({name: [[str(x) for x in row] for row in m] for name, m in named(w).items()} for w in (first, second))
    return {
        "format": "lightning-sym/certificate", "version": 1, "kind": "same", "form": form.to_json(), "tokens": tokens,
        "first": one, "second": other, "proof": {"by": "streams"},
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_common_streams_are_those_of_the_program(seed: int) -> None:
    found = Counter[bool]()
    for form, tokens, first, second in pairs(150, seed):
        same = common_streams(
            NetworkCircuits.of(weights(first, form)), NetworkCircuits.of(weights(second, form)), tokens
        ).same
        assert proved(by_streams(form, tokens, first, second)) is same
        found[same] += 1
    assert min(found.values()) > 20


def test_what_is_proved_is_true_and_what_is_known_is_proved() -> None:
    found = Counter[tuple[str, str, bool]]()
    for form, tokens, first, second in pairs(150, 7):
        one, other = weights(first, form), weights(second, form)
        for answer in (Answer.SAME, Answer.DIFFERENT):
            try:
                document = same_certificate(Comparison(answer, Reason.ZERO), one, other, tokens)
            except BadInput:
                continue
            said, by = proved(document), document["proof"]["by"]
            if by in ("streams", "input"):  # the program has looked before
                assert said
            if said:
                assert are_the_same(document) is (answer is Answer.SAME)
            found[answer.value, by, said] += 1
    assert {(answer, said) for answer, _, said in found} == {
        (a, s) for a in ("same", "different") for s in (True, False)
    }
    assert {by for _, by, _ in found} == {"streams", "tensors", "input", "one layer", "visible weights"}


def test_a_layer_that_changes_nothing_may_be_left_out() -> None:
    rng, form = Random(3), NetworkForm(skip=True)
    first = drawn(rng, form)
    nothing = [{**head, "O": 0 * head["O"]} for head in first["layers"][0]]
    longer = first | {"layers": [*first["layers"], nothing]}
    assert proved(by_streams(form, 2, first, longer))
    assert not proved(by_streams(form, 2, first, longer | {"layers": [*first["layers"], first["layers"][0]]}))
    assert not proved(by_streams(NetworkForm(), 2, first, longer))


# ---- intervals


@pytest.mark.parametrize("bits", [16, 100, 700])
def test_exponentials_are_enclosed(bits: int) -> None:
    rng, ring = Random(bits), Intervals(bits)
    with ctx.workprec(bits + 200):
        for _ in range(300):
            x = rng.randrange(-(1 << bits) * rng.choice((1, 30, 2 * bits)), 8 << bits)
            found, true = ring.exponential(x), (arb(x) / arb(2) ** bits).exp() * arb(2) ** bits
            assert bool(true > found.low)
            assert bool(true < found.high)
            width = found.high - found.low
            assert x > 0 or width < 2**12 * bits


def test_operations_round_outwards() -> None:
    rng, ring = Random(1), Intervals(8)
    for _ in range(2000):
        x, y = ([Fraction(rng.randint(-999, 999), rng.randint(1, 99)) for _ in "ab"] for _ in "xy")
        one, other = (Interval(ring.of(min(z)).low, ring.of(max(z)).high, 8) for z in (x, y))
        positive = Interval(1 + abs(other.low), 1 + abs(other.low) + other.high - other.low, 8)
        for true, found in (
            ([a + b for a in x for b in y], one + other),
            ([a * b for a in x for b in y], one * other),
            ([max(a, Fraction(0)) / b for a in x for b in (Fraction(positive.low, 256), Fraction(positive.high, 256))],
             Interval(max(one.low, 0), max(one.high, 0), 8).over(positive)),
        ):  # fmt: skip
            assert Fraction(found.low, 256) <= min(true)
            assert max(true) <= Fraction(found.high, 256)


# ---- what it costs, and what a bent checker would accept


def test_work_and_memory_are_counted_before(monkeypatch: pytest.MonkeyPatch) -> None:
    form, tokens, first, _ = next(pairs(1, 5))
    document = by_streams(form, tokens, first, first)
    assert proved(document)
    for name in ("STEPS", "ROOM"):
        monkeypatch.setattr(verify, name, 2000)
        assert not proved(document)
        monkeypatch.undo()


def bent(clause: str, other: str) -> Any:
    """The common streams of the checker with one clause changed."""
    source = (Path(verify.__file__).parent / "functions" / "streams.py").read_text(encoding="utf-8")
    assert source.count(clause) == 1
    careless = ModuleType("careless")
    exec(source.replace(clause, other), vars(careless))  # noqa: S102 - the checker itself, bent
    return careless


ONE: Document = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [1, 1]]}
UNIT: Document = {"Q1": [[1, 0], [0, 1]], "K1": [[1, 0], [0, 1]], "V1": [[1, 0], [0, 1]]}
PLUS: Document = {**then(SKEW, ZERO), "V2": [[-1, 0], [0, -1]]}
TWO: Document = {f"{name[0]}1.{name[1]}": m for name, m in PLUS.items()}  # side by side, with opposite values
NOTHING: Document = TWO | {"V1.1": [[0, 0], [0, 0]], "V1.2": [[0, 0], [0, 0]]}
SWAPPED: Document = TWO | {"V1.1": TWO["V1.2"], "V1.2": TWO["V1.1"]}

MUTANTS: dict[str, tuple[str, str, NetworkForm, int, Document, Document]] = {
    "all letters are level": (
        "new.grow(() if name in level else moved[name])", "new.grow(())", NetworkForm(SOFTMAX, causal=True), 3, TWO,
        SWAPPED,
    ),
    "level letters move nothing": (
        "mean.grow(() if name in uniform else moved[name])", "mean.grow(())", NetworkForm(SOFTMAX), 2, TWO, NOTHING
    ),
    "the sum over all heads is left out": (
        "for head in heads)))  # columns", "for head in heads))[:0])  # columns", NetworkForm(SOFTMAX), 1, ONE, UNIT
    ),
    "what the second network reads is left out": (
        "*map(neg, other)", "*[0 for _ in other]", NetworkForm(SOFTMAX), 1, ONE | {"V1": [[0, 0], [0, 0]]}, UNIT
    ),
    "both networks read with the same sign": (
        "*map(neg, other)", "*other", NetworkForm(SOFTMAX), 1, UNIT | {"V1": [[-1, 0], [0, -1]]}, UNIT
    ),
    "opposite scores are equal": (
        "{None: 2, first: -2}", "{first: 2}", NetworkForm(SOFTMAX), 2, ONE, ONE | {"Q1": [[-1, -2]]}
    ),
    "skew scores are level for all tokens": (
        "symmetric(m) if t == 2 else m", "symmetric(m)", NetworkForm(SOFTMAX), 3,
        then(SKEW, UNIT), then(SKEW, UNIT, 2),
    ),
    "skew scores average": (
        "uniform = {name for name in names if name is None or not any(name)}", "uniform = level", NetworkForm(SOFTMAX),
        2, SKEW, ZERO,
    ),
    "a mask changes nothing": (
        "form.softmax and not form.causal else set()", "form.softmax else set()", NetworkForm(SOFTMAX, causal=True), 3,
        then(ZERO, UNIT), then(ZERO, UNIT, 2),
    ),
    "scores of all tokens alone": (
        "apart if form.softmax else columns, columns)", "apart if form.softmax else columns, [])",
        NetworkForm(SOFTMAX), 2, ONE, ONE | {"K1": [[1, 1]]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_each_clause_of_common_streams_matters(name: str) -> None:
    """With another one in its place a false claim is accepted."""
    clause, other, form, tokens, first, second = MUTANTS[name]
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "same"}
    document = head | {"form": form.to_json(), "tokens": tokens, "first": first, "second": second}
    assert not proved(document | {"proof": {"by": "streams"}})
    assert are_the_same(document) is False
    read = Form.read(document["form"])
    bent(clause, other).streams(read, tokens, Weights(first, read), Weights(second, read))
