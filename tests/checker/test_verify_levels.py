"""Heads in other layers: what the checker proves is true, and what the program writes is proved."""

from __future__ import annotations

import json
from collections import Counter
from copy import deepcopy
from random import Random
from typing import Any

from checker import CORPUS, proved
from form_pairs import matrix, named, weights
from judge_functions import are_the_same

from lightning_sym import SOFTMAX, Answer, Comparison, NetworkForm, Reason
from lightning_sym.certificates.same_function import same_certificate
from lightning_sym.errors import BadInput

Document = dict[str, Any]


def network(rng: Random) -> dict[str, Any]:
    """Heads that read and write few coordinates of three, in two layers."""
    layers: list[list[dict[str, Any]]] = []
    for _ in "ab":
        heads = []
        for _ in range(rng.randint(1, 2)):
            head = {"Q": matrix(rng, 1, 3), "K": matrix(rng, 1, 3), "V": matrix(rng, 1, 3), "O": matrix(rng, 3, 1)}
            for letter in "QKVO":
                for j in rng.sample(range(3), 2):
                    (head[letter].T if letter == "O" else head[letter])[0, j] *= 0
            heads.append(head)
        layers.append(heads)
    return {"E": matrix(rng, 3, 2), "layers": layers, "U": matrix(rng, 2, 3)}


def rearranged(rng: Random, first: dict[str, Any]) -> tuple[dict[str, Any], list[list[int | None]]]:
    """The heads in layers drawn at random, and where each stands."""
    levels: list[list[int | None]] = [[rng.choice((1, 2, 2, None)) for _ in heads] for heads in first["layers"]]
    flat = [(level, head) for row, heads in zip(levels, first["layers"], strict=True)
            for level, head in zip(row, heads, strict=True)]  # fmt: skip
    layers = [[head for level, head in flat if level == i] for i in (1, 2)]
    idle = {letter: 0 * m for letter, m in first["layers"][0][0].items()}
    return first | {"layers": [heads or [idle] for heads in layers]}, levels


def document(form: NetworkForm, tokens: int, first: Any, second: Any, proof: Document) -> Document:
    one, other = ({name: [[str(x) for x in row] for row in m] for name, m in named(w).items()} for w in (first, second))
    return {"format": "lightning-sym/certificate", "version": 1, "kind": "same", "form": form.to_json(),
            "tokens": tokens, "first": one, "second": other, "proof": proof}  # fmt: skip


def test_levels_that_are_accepted_keep_the_function() -> None:
    rng, found = Random(5), Counter[tuple[bool, bool | None]]()
    for _ in range(250):
        form = NetworkForm(rng.choice((None, SOFTMAX, SOFTMAX)), causal=rng.random() < 0.5, skip=True)
        first, tokens = network(rng), rng.randint(1, 3)
        second, levels = rearranged(rng, first)
        as_it_is = [[i] * len(heads) for i, heads in enumerate(second["layers"], start=1)]
        claim = document(form, tokens, first, second, {"by": "levels", "first": levels, "second": as_it_is})
        truth = are_the_same(claim)
        said = proved(claim)
        assert not said or truth
        found[said, truth] += 1
    assert found[True, True] > 20
    assert found[False, False] > 20


def test_what_the_program_writes_is_proved() -> None:
    rng, found = Random(6), Counter[str]()
    for _ in range(120):
        form = NetworkForm(rng.choice((None, SOFTMAX)), causal=rng.random() < 0.5, skip=True)
        first = network(rng)
        second, _ = rearranged(rng, first)
        try:
            answer = Comparison(Answer.SAME, Reason.IDENTICAL)
            written = same_certificate(answer, weights(first, form), weights(second, form), 3)
        except BadInput:
            continue
        if written["proof"]["by"] in ("streams", "levels"):
            assert proved(written)
            assert are_the_same(written)
        found[written["proof"]["by"]] += 1
    assert found["levels"] > 3


def test_heads_are_merged_before_others_move() -> None:
    """Neither common streams nor levels show it at once: two heads read what their sum does not."""
    document = json.loads((CORPUS / "good" / "through.json").read_text(encoding="utf-8"))
    assert document["proof"]["by"] == "through"
    assert are_the_same(document)
    assert proved(document)
    assert not proved(document | {"proof": {"by": "streams"}})
    for name in ("V1.1", "V2.1", "Q2.1"):  # the network between must have the function of both
        changed = deepcopy(document)
        between = changed["proof"]["networks"][0]["weights"]
        between[name][1][0] += 1
        assert not proved(changed)
        assert not proved(changed | {"first": between})
        assert not proved(changed | {"second": between})
