"""Theorems and layers that do the same, with one clause bent: a lie is proved that the straight checker rejects."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from checker import proved
from judge_functions import are_the_same
from networks_with_a_form import HEAD

from lightning_sym import SOFTMAX
from lightning_sym.network.form import NetworkForm
from proofs_check.checker.functions import streams, theorems
from proofs_check.checker.functions.network import Form, Weights
from proofs_check.checker.verify import Rejected

Document = dict[str, Any]

NUMBER: Document = {"E": [[1]], "Q1": [[1]], "K1": [[1]], "V1": [[0]], "U": [[1]]}
MINUS: Document = HEAD | {"Q1": [[-1, -2]]}
FLIPPED: Document = {  # for two tokens HEAD
    "Q1.1": [[-1, -2]], "K1.1": [[1, 0]], "V1.1": [[-3, -4], [-1, -1]],
    "Q1.2": [[0, 0]], "K1.2": [[1, 0]], "V1.2": [[6, 8], [2, 2]],
}  # fmt: skip
FIRST, SECOND = [[1, 0]], [[0, 1]]
# x_1 (x_1 x_2) and x_2 (x_1 x_1): for one token the same
CUBIC: Document = {"Q1": SECOND, "K1": FIRST, "V1": FIRST}
OTHER_CUBIC: Document = {"Q1": FIRST, "K1": FIRST, "V1": SECOND}
# zero but where keys are the second unit vector, and queries the first
CROSSED: Document = {"Q1": FIRST, "K1": SECOND, "V1": SECOND}
NOTHING: Document = {"Q1": FIRST, "K1": SECOND, "V1": [[0, 0]]}

MUTANTS: dict[str, tuple[str, str, str, NetworkForm, int, Document, Document]] = {
    "what goes past a layer is left out": (
        "one layer", " and (not form.skip or zero(times(U, E)))", "", NetworkForm(SOFTMAX, skip=True), 2, NUMBER,
        NUMBER | {"U": [[2]]},
    ),
    "opposite scores flip at three tokens": (
        "one layer", "t > 2 or name > opposite", "name > opposite", NetworkForm(SOFTMAX), 3, HEAD, FLIPPED
    ),
    "opposite scores are equal": (
        "one layer", "add(opposite, -1, value)", "add(opposite, 1, value)", NetworkForm(SOFTMAX), 2, HEAD, MINUS
    ),
    "any tokens are one": (
        "tensors", "if t == 1 else ((a, c, b), (b, c, a))", "if t else ()", NetworkForm(), 2, CUBIC, OTHER_CUBIC
    ),
    "queries behind keys": ("tensors", "(t > 1 or b <= c)", "b <= c", NetworkForm(), 2, CROSSED, NOTHING),
}  # fmt: skip


def with_clause(module: ModuleType, clause: str, other: str) -> ModuleType:
    """The module with one clause changed."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    assert source.count(clause) == 1
    careless = ModuleType("careless")
    exec(source.replace(clause, other), vars(careless))  # noqa: S102 - the checker itself, bent
    return careless


def claim(by: str, form: NetworkForm, tokens: int, first: Document, second: Document) -> Document:
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "same", "form": form.to_json()}
    return head | {"tokens": tokens, "first": first, "second": second, "proof": {"by": by}}


def is_shown(module: ModuleType, by: str, form: Form, tokens: int, *networks: Document) -> bool:
    pair = [Weights(each, form) for each in networks]
    if by == "one layer":
        return bool(module.one_layer(form, tokens, *pair)[0])
    try:
        return bool(module.tensors(form, tokens, *pair))
    except Rejected:
        return False


@pytest.mark.parametrize("name", MUTANTS)
def test_each_clause_matters(name: str) -> None:
    by, clause, other, form, tokens, first, second = MUTANTS[name]
    document = claim(by, form, tokens, first, second)
    assert not proved(document)
    assert are_the_same(document) is False
    module, read = theorems if by == "one layer" else streams, Form.read(document["form"])
    assert not is_shown(module, by, read, tokens, first, second)
    assert is_shown(with_clause(module, clause, other), by, read, tokens, first, second)


def test_what_the_lies_are_near_to_is_proved() -> None:
    assert proved(claim("one layer", NetworkForm(SOFTMAX), 2, HEAD, FLIPPED))
    assert proved(claim("tensors", NetworkForm(), 1, CUBIC, OTHER_CUBIC))


@pytest.mark.parametrize("by", ["streams", "one layer"])
def test_streams_may_have_different_widths(by: str) -> None:
    """A direction that is written and never read changes nothing, and one that is read does."""
    narrow: Document = NUMBER | {"V1": [[3]]}
    wide: Document = {"E": [[1], [5]], "Q1": [[1, 0]], "K1": [[1, 0]], "V1": [[3, 0], [2, 4]], "U": [[1, 0]]}
    form = NetworkForm(SOFTMAX, causal=True, skip=True)
    for pair in ((narrow, wide), (wide, narrow)):
        assert proved(claim(by, form, 2, *pair))
    for changed in ({"U": [[1, 1]]}, {"Q1": [[1, 1]]}, {"V1": [[3, 1], [2, 4]]}):
        assert not proved(claim(by, form, 2, narrow, wide | changed))
