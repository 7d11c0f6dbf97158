"""A vocabulary in another order is the same with a tokenizer that has it in that order, and only then."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import changed
from command import run
from mistaken_conversions import at_the_ends

from lightning_sym import BadInput, save_checkpoint
from lightning_sym.checkpoints.tokenizers import id_order
from lightning_sym.testing import small_checkpoint

ONE = small_checkpoint("llama", 5)
ORDER = np.append(np.random.default_rng(2).permutation(38), [38, 39])
"""By id of the second, that of the first; the last two have no token."""
TWO = at_the_ends(ONE, **{name: getattr(ONE.outer, name)[ORDER] for name in ("embedding", "unembedding")})


def tokenizer(ids: list[int], last: int = 38) -> dict[str, Any]:
    """A tokenizer whose token `t0`, `t1`, ... have these ids; the first two were added, two ids have no token."""
    tokens = {f"t{number}": ids[number] for number in range(last)}
    added = [{"id": tokens[name], "content": name, "special": True} for name in ("t0", "t1")]
    special = {"t0": {"id": "t0", "ids": [tokens["t0"]], "tokens": ["t0"]}}
    return {
        "version": "1.0", "added_tokens": added, "normalizer": {"type": "NFC"},
        "post_processor": {"type": "TemplateProcessing", "special_tokens": special},
        "model": {"type": "BPE", "vocab": {name: tokens[name] for name in sorted(tokens)}, "merges": ["t 2", "t 3"]},
    }  # fmt: skip


FIRST = tokenizer(list(range(40)))
SECOND = tokenizer(np.argsort(ORDER).tolist())


@pytest.fixture
def places(tmp_path: Path) -> Path:
    for name, one in (("one", ONE), ("two", TWO), ("wrong", changed(TWO, 0, up=TWO.blocks[0].up[::-1].copy()))):
        save_checkpoint(replace(one, type_stored="F32"), tmp_path / name, "F32")
    for name, document in (("one.json", FIRST), ("two.json", SECOND)):
        (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], at: Path, second: str, *tokenizers: str) -> tuple[int, dict[str, Any]]:
    options = [
        word for side, name in zip("ab", tokenizers, strict=False) for word in (f"--tokenizer-{side}", str(at / name))
    ]
    code, out, err = run(capsys, "same", str(at / "one"), str(at / second), "--json", *options)
    assert err == ""
    return code, json.loads(out)


def test_a_permuted_vocabulary_is_the_same_with_its_tokenizer(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = asked(capsys, places, "two")
    assert (code, found["ids_moved"], [each["mistake"] for each in found["explained"]]) == (
        1,
        None,
        ["vocabulary-permuted"],
    )
    code, found = asked(capsys, places, "two", "one.json", "two.json")
    assert (code, found["answer"], found["explained"]) == (0, "same", [])
    assert found["ids_moved"] > 30
    for pair in (("one.json", "one.json"), ("two.json", "one.json")):
        code, found = asked(capsys, places, "two", *pair)
        assert (code, [each["mistake"] for each in found["explained"]]) == (1, ["vocabulary-permuted"])
    code, _ = asked(capsys, places, "wrong", "one.json", "two.json")
    assert code == 1


def test_the_text_says_how_many(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--tokenizer-a", str(places / "one.json"), "--tokenizer-b", str(places / "two.json"))
    _, out, _ = run(capsys, "same", str(places / "one"), str(places / "two"), *words)
    assert "of the second are read in the order of the first" in out
    code, _, err = run(capsys, "same", str(places / "one"), str(places / "two"), *words[:2])
    assert (code, err) == (2, "error: --tokenizer-a and --tokenizer-b must be given together, got one of them\n")


def bent(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(SECOND))
    change(document)
    return document


BENT: dict[str, tuple[dict[str, Any], str]] = {
    "merges": (bent(lambda d: d["model"]["merges"].reverse()), "they differ in model.merges"),
    "normalizer": (bent(lambda d: d.update(normalizer=None)), "they differ in normalizer"),
    "added": (bent(lambda d: d["added_tokens"][0].update(special=False)), "they differ in added_tokens"),
    "processor": (bent(lambda d: d["post_processor"]["special_tokens"]["t0"].update(ids=[d["model"]["vocab"]["t5"]])),
                  "they differ in post_processor"),
    "token": (bent(lambda d: d["model"]["vocab"].update(new=d["model"]["vocab"].pop("t7"))), "one of them lacks 'new'"),
    "two of one id": (bent(lambda d: d["model"]["vocab"].update(t5=d["model"]["vocab"]["t6"])), "two have the same"),
    "too large": (bent(lambda d: d["model"]["vocab"].update(t5=40)), "below 40, got 40"),
    "no number": (bent(lambda d: d["model"]["vocab"].update(t5=True)), "tokens must stand with their ids"),
    "no vocabulary": ({"model": {}}, "a tokenizer must have a model with a vocab"),
}  # fmt: skip


@pytest.mark.parametrize("name", BENT)
def test_what_is_more_than_another_order_is_refused(name: str, tmp_path: Path) -> None:
    document, said = BENT[name]
    for path, each in (("one", FIRST), ("two", document)):
        (tmp_path / path).write_text(json.dumps(each), encoding="utf-8")
    with pytest.raises(BadInput, match=said):
        id_order(tmp_path / "one", tmp_path / "two", 40)


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("{", encoding="utf-8")
    for path in (tmp_path / "one", tmp_path / "none"):
        with pytest.raises(BadInput, match="that can be read"):
            id_order(path, path, 4)


def test_a_list_of_tokens_has_them_in_the_order_of_their_ids(tmp_path: Path) -> None:
    lists = [["a", -1.0], ["b", -2.0], ["c", -3.0]], [["c", -3.0], ["a", -1.0], ["b", -2.0]]
    for name, tokens, unknown in (("one", lists[0], 0), ("two", lists[1], 1)):
        document = {"model": {"type": "Unigram", "unk_id": unknown, "vocab": tokens}, "added_tokens": None}
        (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    assert id_order(tmp_path / "one", tmp_path / "two", 3).order.tolist() == [1, 2, 0]
