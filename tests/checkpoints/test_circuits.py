"""The table of heads: ranks against elimination, norms and cosines against plain products, invariance, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import run

from lightning_sym import circuits, compare_fingerprints, fingerprint, save_checkpoint
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.seen_maps import head_ranks
from lightning_sym.errors import TooLarge
from lightning_sym.testing import small_checkpoint


def with_bias(weight: Any, bias: Any, place: int, gain: Any, norm_bias: Any) -> Any:
    column = weight[place] @ norm_bias + (0 if bias is None else bias[place])
    return np.column_stack([weight[place] @ gain, column])


def seen_products(one: MadeCheckpoint) -> tuple[list[Any], list[Any]]:
    """QK and OV of all heads as matrices, written down plainly."""
    form, qk, ov = one.form, [], []
    centre = np.eye(form.width) - (1 / form.width if form.norm == "layer" else 0)
    for block in one.blocks:
        gain = np.diag(block.norm1_gain) @ centre
        norm_bias = np.zeros(form.width) if block.norm1_bias is None else block.norm1_bias
        for h in range(form.heads):
            g = h // (form.heads // form.groups)

            key = with_bias(block.key, block.key_bias, g, gain, norm_bias)
            qk.append(
                with_bias(block.query, block.query_bias, h, gain, norm_bias).T @ (key if form.theta else key[:, :-1])
            )
            ov.append(centre @ block.output[h] @ block.value[g] @ gain)
    return qk, ov


@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen2"])
def test_numbers_are_those_of_plain_products(family: str) -> None:
    one = small_checkpoint(family, stored="F64", heads=2)
    found = circuits(one)
    for kind, matrices in zip(("qk", "ov"), seen_products(one), strict=True):
        for i, (head, matrix) in enumerate(zip(found.heads, matrices, strict=True)):
            said = getattr(head, kind)
            values = np.linalg.svd(matrix, compute_uv=False)
            assert abs(values[0] - said.spectral[0]) < 1e-12
            assert abs(np.sqrt((values**2).sum()) - said.frobenius[0]) < 1e-12
            assert said.rank == (4, 4) == (np.linalg.matrix_rank(matrix),) * 2
            assert said.numerical == ((values > 0.01 * values[0]).sum(),) * 2
            likeness = [
                -2 if i == j else (matrix * other).sum() / np.linalg.norm(matrix) / np.linalg.norm(other)
                for j, other in enumerate(matrices)
            ]
            best = int(np.argmax(likeness))
            assert said.nearest == (best // 2, best % 2)
            assert abs(said.cosine[0] - likeness[best]) < 1e-12
            assert said.cosine[1] < 1e-10


def test_no_gauge_and_no_rotation_changes_the_table() -> None:
    one = small_checkpoint("llama", stored="F16", tied=False)
    kinds = ["values", "queries", "gains", "stream", "neurons"]
    two = apply(random_symmetry(one, kinds, seed=3), one)
    for first, second in zip(circuits(one).heads, circuits(two, conditions=False).heads, strict=True):
        for a, b in ((first.qk, second.qk), (first.ov, second.ov)):
            assert (a.rank, a.numerical, a.nearest) == (b.rank, b.numerical, b.nearest)
            assert abs(a.frobenius[0] - b.frobenius[0]) <= a.frobenius[1] + b.frobenius[1]
            assert a.cosine is not None
            assert b.cosine is not None
            assert abs(a.cosine[0] - b.cosine[0]) <= a.cosine[1] + b.cosine[1]


def test_ranks_that_fall_short_are_exact() -> None:
    one = small_checkpoint("llama", stored="F16", layers=1)
    block = one.block(0)
    value, output, query = (
        block.value.astype(np.float64),
        block.output.astype(np.float64),
        block.query.astype(np.float64),
    )
    value[0, 3] = value[0, 0] + 2 * value[0, 1]
    output[1] = 0
    query[3, 2:] = query[3, :2] / 4
    cut = replace(block, value=value, output=output, query=query)
    ranks = head_ranks(cut, one.form)
    assert [str(ov) for _, ov in ranks] == ["3", "0", "4", "4"]
    assert [str(qk) for qk, _ in ranks] == ["4", "4", "4", "2"]
    found = circuits(replace(one, blocks=(cut,)))
    assert found.heads[1].ov.frobenius[0] < 1e-12
    assert found.heads[1].ov.cosine == (0.0, 2.0), "of a head that is 0 no cosine is known"


def test_a_nearly_singular_head_has_full_rank() -> None:
    one = small_checkpoint("llama", stored="F64", layers=1)
    value = one.block(0).value.copy()
    value[0, 3] = value[0, 0] + 2.0**-45 * value[0, 3]
    found = circuits(replace(one, blocks=(replace(one.block(0), value=value),)), conditions=False)
    assert str(found.heads[0].ov.rank) == "4"
    assert str(found.heads[0].ov.numerical) == "3"


@pytest.mark.parametrize(("family", "rank"), [("gpt2", 3), ("llama", 4)])
def test_heads_wider_than_the_stream(family: str, rank: int) -> None:
    wide = small_checkpoint(family, heads=2, head_width=8, context=15, stored="F16")

    def cut(pieces: Any) -> Any:
        kept = {
            name: array[tuple(slice(4 if size == 16 else size) for size in array.shape)]
            for name, array in pieces.present()
        }
        return replace(pieces, **kept)

    one = MadeCheckpoint(replace(wide.form, width=4), cut(wide.outer), tuple(cut(block) for block in wide.blocks))
    for head, matrix in zip(circuits(one).heads, seen_products(one)[1], strict=True):
        assert str(head.ov.rank) == str(rank)
        assert abs(np.linalg.norm(matrix) - head.ov.frobenius[0]) < 0.01, "a plain product of float16"
    copy = fingerprint(apply(random_symmetry(one, seed=2), one))
    assert not compare_fingerprints(fingerprint(one), copy).different


def test_memory_is_asked_before() -> None:
    with pytest.raises(TooLarge, match="the heads of all layers"):
        circuits(small_checkpoint("llama"), memory=100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    one = small_checkpoint("llama", stored="F16", tied=False)
    save_checkpoint(one, tmp_path / "one")
    save_checkpoint(apply(random_symmetry(one, ["heads", "neurons", "stream"], seed=2), one), tmp_path / "copy", "F64")
    save_checkpoint(small_checkpoint("llama", seed=5), tmp_path / "other")
    return tmp_path


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, copy, other = (str(folder / name) for name in ("one", "copy", "other"))
    code, out, _ = run(capsys, "circuits", one)
    assert code == 0
    assert "Corollary 5" in out
    assert "norms, MLPs, rotary positions" in out
    code, out, _ = run(capsys, "circuits", one, "--against", one)
    assert (code, "identical" in out) == (0, True)
    code, out, _ = run(capsys, "circuits", one, "--against", copy)
    assert (code, "no difference seen" in out) == (3, True)
    code, out, _ = run(capsys, "circuits", one, "--against", other, "--json")
    assert (code, json.loads(out)["answer"]) == (1, "different")
    code, out, _ = run(capsys, "circuits", one, "--fingerprint")
    assert (code, "layer 1" in out) == (0, True)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_picture(folder: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    target = folder / f"heads.{kind}"
    for _ in range(2):
        assert run(capsys, "circuits", str(folder / "one"), "--output", str(target))[0] == 0
    assert target.stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("{}/nothing",), "nothing: it must be readable: No such file or directory"),
        (("{}/one", "--against", "{}/nothing"), "nothing: it must be readable: No such file or directory"),
        (("{}/one", "--output", "{}/a.txt"), "the picture must end in"),
        (("{}/one", "--output", "{}/a.png", "--fingerprint"), "--output goes without"),
        (("{}/one", "--memory", "0.00001"), "must fit into"),
    ],
)
def test_bad_input_is_said_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    before = sorted(folder.iterdir())
    code, out, err = run(capsys, "circuits", *(word.format(folder) for word in words))
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_experts_are_named_among_what_no_theorem_knows() -> None:
    assert "experts" in circuits(small_checkpoint("mixtral", layers=1)).absent
    assert "experts" not in circuits(small_checkpoint("llama", layers=1)).absent


def test_theorems_that_do_not_hold_are_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = small_checkpoint("llama", layers=1)
    query = np.array(one.block(0).query)
    query[1] = query[0]  # two heads of a group with the same scores
    save_checkpoint(replace(one, blocks=(replace(one.block(0), query=query),)), tmp_path / "equal")
    told = json.loads(run(capsys, "circuits", str(tmp_path / "equal"), "--json")[1])
    assert told["theorem"] == "Theorem 8 of docs/transformer-fibers.md"
    assert "(a), layer 1 does not hold" in told["tried"][0]
    assert told["tried"][0].startswith("Corollary 5 of docs/transformer-fibers.md: ")
    assert f"tried {told['tried'][0]}"[:60] in " ".join(run(capsys, "circuits", str(tmp_path / "equal"))[1].split())
    save_checkpoint(one, tmp_path / "one")
    assert json.loads(run(capsys, "circuits", str(tmp_path / "one"), "--json")[1])["tried"] == []
