"""Work that takes too long is refused before it is begun, with what was counted; what is proved is proved as before."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from small_certificates import Document, answer

from proofs_check.checker import verify

FORM = {"normalization": "softmax", "mask": "none", "skip": True}


def drawn(rng: Random, rows: int, columns: int, most: int = 3) -> list[list[Any]]:
    return [[rng.randint(-most, most) for _ in range(columns)] for _ in range(rows)]


def network(width: int, depth: int, heads: int, rank: int = 1, seed: int = 0) -> dict[str, Any]:
    rng, found = Random(seed), dict[str, Any]()
    for i in range(1, depth + 1):
        for h in range(1, heads + 1):
            found |= {f"Q{i}.{h}": drawn(rng, rank, width), f"K{i}.{h}": drawn(rng, rank, width),
                      f"V{i}.{h}": drawn(rng, width, width)}  # fmt: skip
    return found


def pair(first: dict[str, Any], second: dict[str, Any], kind: str, tokens: int, proof: Document) -> Document:
    return {
        "format": "lightning-sym/certificate", "version": 1, "kind": kind, "form": FORM, "tokens": tokens,
        "first": first, "second": second, "proof": proof,
    }  # fmt: skip


def at_an_input(tokens: int, depth: int, heads: int, bits: int) -> Document:
    """Two equal networks, said to differ: that they do not is seen only at the end."""
    net = network(2, depth, heads)
    proof = {"by": "input", "input": [["1/64"] * tokens] * 2, "prime": None, "bits": bits}
    return pair(net, net, "different", tokens, proof)


def used(line: str) -> tuple[int, int]:
    """Steps that were taken before the refusal, and those that it says."""
    said = re.search(r"at most ([0-9,]+) steps, this takes ([0-9,]+) or more", line)
    assert said is not None, line
    return verify.STEPS - verify.BUDGET.get().steps, int(said[2].replace(",", ""))


@pytest.mark.parametrize(
    ("tokens", "depth", "heads", "bits"),
    [(40, 8, 1, 4096), (64, 8, 1, 1024), (8, 64, 1, 4096), (8, 8, 8, 4096), (1200, 1, 10, 16)],
)
def test_outputs(
    tokens: int, depth: int, heads: int, bits: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken, said = used(answer(at_an_input(tokens, depth, heads, bits), tmp_path, capsys))
    assert said > verify.STEPS
    assert taken < verify.STEPS / 100


def test_a_mask_hides_half_of_the_exponentials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = at_an_input(40, 8, 1, 4096)
    every = used(answer(data, tmp_path, capsys))[1]
    masked = used(answer(data | {"form": FORM | {"mask": "causal"}}, tmp_path, capsys))[1]
    assert 0.5 < masked / every < 0.52


def test_products_of_many_tokens_without_softmax(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = at_an_input(4000, 1, 3, 16)
    data["proof"]["bits"] = None
    masked = FORM | {"normalization": "none", "mask": "causal"}
    taken, said = used(answer(data | {"form": masked}, tmp_path, capsys))
    assert taken < verify.STEPS / 100 < said
    data["proof"]["input"] = [[*range(4000)]] * 2
    line = answer(data | {"form": masked | {"mask": "none"}}, tmp_path, capsys)
    assert "they are equal" in line  # without a mask no scores are needed


STREAMS = {"all layers": network(12, 8, 2, 2), "one layer": network(12, 1, 6, 10)}


@pytest.mark.parametrize("net", STREAMS.values(), ids=STREAMS)
def test_streams(
    net: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of what is proved in so many steps, a file that may take a third as many is refused in front of a layer."""
    data = pair(net, net, "same", 3, {"by": "streams"})
    assert ": proved: the same function of 3 tokens" in answer(data, tmp_path, capsys)
    every = verify.STEPS - verify.BUDGET.get().steps
    monkeypatch.setattr(verify, "STEPS", every // 3)
    line = answer(data, tmp_path, capsys)
    assert "or more" in line
    assert verify.STEPS - verify.BUDGET.get().steps < every / 6
    monkeypatch.setattr(verify, "STEPS", every)
    assert ": proved: " in answer(data, tmp_path, capsys)


def test_streams_that_fill_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = network(24, 1, 4, 4)
    data = pair(net, net, "same", 3, {"by": "streams"})
    assert ": proved: " in answer(data, tmp_path, capsys)
    monkeypatch.setattr(verify, "ROOM", 900_000)
    assert re.search(r"bytes of memory, these take [0-9,]+ or more", answer(data, tmp_path, capsys))


def test_embeddings_that_are_read_otherwise_are_seen_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With skip connections; the layers are not followed."""
    net, rng = network(12, 6, 2, 2), Random(1)
    ends = {"E": drawn(rng, 12, 5), "U": drawn(rng, 3, 12)}
    same, other = net | ends, net | ends | {"E": drawn(rng, 12, 5)}
    assert ": proved: " in answer(pair(same, same, "same", 3, {"by": "streams"}), tmp_path, capsys)
    every = verify.STEPS - verify.BUDGET.get().steps
    line = answer(pair(same, other, "same", 3, {"by": "streams"}), tmp_path, capsys)
    assert "must agree on all that their streams have in common" in line
    assert verify.STEPS - verify.BUDGET.get().steps < every / 3
