"""A checker of fibers with one clause bent proves a lie that the straight one rejects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from checker import CORPUS, proved

from proofs_check.checker.functions.fibers import conditions, sizes
from proofs_check.checker.kinds import fiber

Document = dict[str, Any]


def careless(module: ModuleType, clause: str, other: str) -> ModuleType:
    """The module with one clause changed."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    assert source.count(clause) == 1
    bent = ModuleType(module.__name__)
    exec(source.replace(clause, other), vars(bent))  # noqa: S102 - the checker itself, bent
    return bent


def read(folder: str, name: str) -> Document:
    document: Document = json.loads((CORPUS / folder / f"fiber_{name}.json").read_text(encoding="utf-8"))
    return document


def bad(name: str) -> Callable[[], Document]:
    return lambda: read("bad", name)


def spoiled(name: str, **weights: Any) -> Callable[[], Document]:
    """A good one with other matrices; `Q1_2` stands for `Q1.2`, a name for that matrix."""

    def made() -> Document:
        document = read("good", name)
        old = document["weights"]
        new = {key.replace("_", "."): old[m] if isinstance(m, str) else m for key, m in weights.items()}
        return document | {"weights": old | new}

    return made


ZERO = [[0, 0], [0, 0]]
MUTANTS: dict[str, tuple[ModuleType, str, str, Callable[[], Document]]] = {
    "scores may be equal": (
        conditions, "all(map(any, rows)) and unlike", "all(map(any, rows))",
        spoiled("unmasked", Q1_2="Q1.1", K1_2="K1.1"),
    ),
    "opposite scores are different": (
        conditions, '("equal", "opposite")', '("equal",)',
        spoiled("residual", Q2_2=[[3, 2]], Q2_1=[[-3, -2]], K2_2="K2.1"),
    ),
    "scores of the first layer may be dependent": (
        conditions, '("all",) if inner', '("equal",) if inner',
        spoiled("residual", Q1_2=[[2, 4]], Q1_1=[[1, 2]], K1_2="K1.1"),
    ),
    "heads may be unseen": (
        conditions, "return all(map(any, rows)) and", "return", spoiled("unmasked", V2_2=ZERO),
    ),
    "ranks may fall short": (
        conditions, "return len(net.field.basis(net.at[name][i])) == net.w.widths[i]", "return True",
        bad("narrow_said_to_be_full"),
    ),
    "a set may be flipped": (
        conditions, "if not any(new) or not without", "if not without", bad("heads_that_can_be_flipped")
    ),
    "conditions need not be shown": (fiber, "need(not all(missing),", "need(True,", bad("condition_left_out")),
    "any theorem": (
        fiber, "THEOREMS[name].about(*case)", "True", bad("one_layer_of_two")
    ),
    "any dimension": (fiber, "need(dimension == size,", "need(True,", bad("one_too_high")),
    "any blind layer": (fiber, "need(blind == seen,", "need(True,", bad("blind_one_further")),
    "any symmetries": (fiber, "need(symmetries == want,", "need(True,", bad("symmetry_invented")),
    "a relation of any heads": (
        conditions, "need(good,", "need(True,", bad("relation_false")
    ),
    "a rank that is full": (
        conditions, "found <= most < width", "found <= most", bad("rank_that_does_not_fall_short")
    ),
    "a rank that is larger": (conditions, "found <= most < width", "most < width", bad("rank_too_small")),
    "three tokens do not see behind skew layers": (
        sizes, "nothing[i] or (t == 2 and skew[i])", "nothing[i] or skew[i]", bad("blind_at_three_tokens")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_bent_checker_proves_a_lie(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, clause, other, made = MUTANTS[name]
    document = made()
    assert not proved(document)
    bent = careless(module, clause, other)
    if module is fiber:
        monkeypatch.setattr(fiber, "ROWS", bent.ROWS)
    for part in ("holds", "fails", "OneHead", "orbit"):
        if module is not fiber and hasattr(bent, part):
            monkeypatch.setattr(fiber, part, getattr(bent, part))
    assert proved(document)
