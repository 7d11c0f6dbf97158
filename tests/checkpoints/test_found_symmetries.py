"""The symmetry that is found makes the second checkpoint of the first: exactly, or as far off as the answer says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import changed, rounded, wild_symmetry

from lightning_sym import load_symmetry, same_checkpoints, save_symmetry
from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison
from lightning_sym.checkpoints.model import Checkpoint, MadeCheckpoint
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.random_symmetries import KINDS, random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.errors import BadInput, FileFormatError, TooLarge
from lightning_sym.testing import small_checkpoint

SAME, ROUNDING, UNDECIDED = CheckpointAnswer.SAME, CheckpointAnswer.ROUNDING, CheckpointAnswer.UNDECIDED
NETWORKS = [(family, tied) for family in ("gpt2", "llama", "qwen2") for tied in (True, False)]


def small(family: str, tied: bool, seed: int = 0) -> MadeCheckpoint:
    return small_checkpoint(family, seed, tied=tied, stored="BF16")


def pieces(checkpoint: Checkpoint) -> dict[str, Any]:
    found: dict[str, Any] = dict(checkpoint.ends().present())
    for layer in range(checkpoint.form.layers):
        found |= {f"{layer}.{name}": array for name, array in checkpoint.block(layer).present()}
    return found


def require_equal(one: Checkpoint, two: Checkpoint) -> None:
    assert one.form == two.form
    first, second = pieces(one), pieces(two)
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert np.shape(array) == np.shape(second[name]), name
        assert (np.asarray(array) == np.asarray(second[name])).all(), name


def require_made(first: Checkpoint, second: Checkpoint) -> CheckpointComparison:
    found = same_checkpoints(first, second)
    assert found.answer is SAME, str(found)
    assert found.symmetry is not None, str(found)
    require_equal(apply(found.symmetry, first), second)
    return found


@pytest.mark.parametrize("kinds", [*((kind,) for kind in KINDS), KINDS], ids=lambda kinds: "+".join(kinds[:2]))
@pytest.mark.parametrize(("family", "tied"), NETWORKS)
def test_what_is_found_makes_the_second(family: str, tied: bool, kinds: tuple[str, ...]) -> None:
    first = small(family, tied)
    second = apply(random_symmetry(first, kinds, seed=6), first)
    require_made(first, second)
    require_made(second, first)


@pytest.mark.parametrize("seed", range(3))
def test_a_bias_that_moved_and_was_shifted(seed: int) -> None:
    """Its numbers are longer than floats."""
    first = small_checkpoint("gpt2", seed, tied=False, layers=1)
    require_made(first, apply(random_symmetry(first, ("values", "biases", "gains", "ones"), seed), first))


@pytest.mark.parametrize(("family", "tied"), NETWORKS)
def test_files_hold_it_exactly(family: str, tied: bool, tmp_path: Path) -> None:
    first = small(family, tied, 2)
    found = require_made(first, apply(random_symmetry(first, KINDS, seed=3), first)).symmetry
    assert found is not None
    save_symmetry(found, tmp_path / "found.json")
    again = load_symmetry(tmp_path / "found.json")
    assert again == found
    assert again.parts() == found.parts()


def test_nothing_is_done_to_itself() -> None:
    for family, tied in NETWORKS:
        found = require_made(small(family, tied), small(family, tied)).symmetry
        assert found is not None
        assert set(found.parts()) <= {"0.key_bias", "1.key_bias"}
        assert eval(repr(found), {"Symmetry": Symmetry, "LayerSymmetry": LayerSymmetry}) == found  # noqa: S307


def untied(one: MadeCheckpoint) -> MadeCheckpoint:
    return replace(one, form=replace(one.form, tied=False), outer=replace(one.outer, unembedding=one.outer.embedding))


def written_out(one: MadeCheckpoint) -> MadeCheckpoint:
    share = one.form.heads // one.form.groups

    def spread(array: Any) -> Any:
        return None if array is None else array.repeat(share, 0)

    names = ("key", "key_bias", "value", "value_bias")
    blocks = tuple(replace(b, **{name: spread(getattr(b, name)) for name in names}) for b in one.blocks)
    return replace(one, form=replace(one.form, groups=one.form.heads), blocks=blocks)


def padded(one: MadeCheckpoint, gate: float, up: float) -> MadeCheckpoint:
    """Two neurons more, in the middle, that write nothing."""

    def rows(array: Any, value: float) -> Any:
        return None if array is None else np.insert(array, [3, 5], value, axis=0)

    blocks = tuple(
        replace(
            b, gate=rows(b.gate, gate), gate_bias=rows(b.gate_bias, gate), up=rows(b.up, up),
            up_bias=rows(b.up_bias, up), down=np.insert(b.down, [3, 5], 0, axis=1),
        )
        for b in one.blocks
    )  # fmt: skip
    return replace(one, form=replace(one.form, inner=one.form.inner + 2), blocks=blocks)


@pytest.mark.parametrize("kinds", [(), ("heads", "values", "neurons", "ups", "stream", "gains", "ones")])
@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen2"])
def test_other_configurations(family: str, kinds: tuple[str, ...]) -> None:
    first = small(family, True, 1)
    if family == "gpt2":  # where a neuron that writes a multiple of ones counts as one that does something
        kinds = tuple(kind for kind in kinds if kind != "ones")
    others: list[MadeCheckpoint] = [
        untied(first),
        padded(first, 0, 0),
        padded(first, 2, -1),
        padded(untied(first), 0, 1),
    ]
    if family != "gpt2":
        others += [written_out(first), padded(written_out(untied(first)), 1, 0)]
    for other in others:
        for one, two in ((first, other), (other, first)):
            third = apply(random_symmetry(two, [k for k in kinds if k != "stream"] if two is first else kinds, 4), two)
            require_made(one, third)
            require_made(third, one)


def said(found: CheckpointComparison) -> list[Any]:
    """Matrices of which the answer says how far they are off."""
    others = ("final_bias", "final_gain", "epsilon")
    return [r for r in found.residuals if r.piece not in others and not r.piece.endswith(("_bias", "_gain"))]


@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("stored", ["F32", "BF16"])
@pytest.mark.parametrize(("family", "tied"), NETWORKS)
def test_rounded_ones_are_as_far_off_as_is_said(family: str, tied: bool, stored: str, ones: bool) -> None:
    first = small_checkpoint(family, 1, tied=tied)
    kinds = [kind for kind in KINDS if ones or kind != "ones"]
    symmetry = random_symmetry(first, kinds, 2) if tied or ones else wild_symmetry(first, 3)
    second = rounded(apply(symmetry, first, exact=False), stored)
    for one, two in ((first, second), (second, first)):
        found = same_checkpoints(one, two)
        assert found.answer is ROUNDING or ones, str(found)
        if found.symmetry is None and ones:
            assert found.answer is not ROUNDING or any("the symmetry as numbers" in line for line in found.tried)
            continue
        assert found.symmetry is not None, found.tried
        made, wanted = pieces(apply(found.symmetry, one, exact=False)), pieces(two)
        for each in said(found):
            piece = table(two.form)[each.piece]
            off = piece.as_matrix(np.asarray(wanted[each.piece], np.float64)) - piece.as_matrix(made[each.piece])
            assert off[each.entry] == pytest.approx(each.difference, rel=1e-6, abs=1e-12), each.piece


def test_what_has_no_numbers_is_said() -> None:
    first = small("llama", False)
    gain = np.array(first.blocks[0].norm1_gain)
    gain[3] = 0
    dead = changed(first, 0, norm1_gain=gain)
    block = dead.blocks[0]
    ones = {name: np.array(getattr(block, name)) for name in ("query", "key", "value")}
    for array in ones.values():
        array[..., 3] = 0
    bare = changed(dead, 0, norm1_gain=np.array(first.blocks[0].norm1_gain), **ones)
    found = same_checkpoints(bare, dead)
    assert found.answer is UNDECIDED  # no function differs; but there is nothing to be applied
    assert found.symmetry is None
    assert any("gains of norm 1 are 0" in line for line in found.tried)
    require_made(dead, bare)


def test_what_nothing_depends_on_is_said() -> None:
    first = small("llama", False)
    gain = np.array(first.blocks[1].norm2_gain)
    gain[3] = 0
    one = changed(first, 1, norm2_gain=gain)
    up = np.array(one.blocks[1].up)
    up[2, 3] += 1
    found = same_checkpoints(one, changed(one, 1, up=up))
    assert found.answer is UNDECIDED  # no function differs; but there is nothing to be applied
    assert found.symmetry is None
    assert any("1.up of the second checkpoint has numbers that nothing depends on" in line for line in found.tried)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("size", [1e-300, 5e-324, 1e300])
def test_a_file_is_itself_whatever_its_numbers(family: str, size: float) -> None:
    for tied in (True, False):
        one = small_checkpoint(family, tied=tied, stored="F64")
        for piece in ("query", "output", "up", "norm2_gain"):
            array = np.array(getattr(one.blocks[0], piece), dtype=np.float64)
            array[(0,) * array.ndim] = size
            two = changed(one, 0, **{piece: array})
            require_made(two, two)
            if size == 1e-300:
                require_made(two, apply(random_symmetry(two, ("heads", "neurons", "stream"), 2), two))
        array = np.array(one.outer.embedding, dtype=np.float64)
        array[3, 1] = size
        two = changed(one, None, embedding=array)
        require_made(two, two)


NONE = LayerSymmetry()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"groups": 3}, "groups must be a multiple or a divisor of 2 that divides 4, got 3"),
        ({"groups": 1}, "2 copies of key must be equal to be one"),
        ({"tied": True}, "the unembedding must be the embedding"),
        ({"layers": (LayerSymmetry(neurons=np.arange(23)), NONE)}, "neurons must be as many in each layer, got 23, 24"),
        ({"layers": (LayerSymmetry(neurons=np.arange(23)),) * 2}, "neurons that are left out must do nothing"),
        ({"layers": (LayerSymmetry(neurons=np.array([-2] * 24)), NONE)}, "must be different ones of 0..23, or -1"),
        ({"layers": (LayerSymmetry(idle_up=np.ones((1, 16))), NONE)}, "idle_up must go with neurons that are -1"),
        (
            {"layers": (LayerSymmetry(neurons=np.r_[:24, -1], idle_down=np.ones((16, 1)), idle_up=np.ones((1, 16)),
                                      idle_gate=np.ones((1, 16))),) * 2},
            "neurons that are -1 must do nothing",
        ),
    ],
)  # fmt: skip
def test_configurations_that_are_another_function(parts: dict[str, Any], said: str) -> None:
    one = small("llama", False)
    with pytest.raises(BadInput, match=said):
        pieces(apply(Symmetry(**({"layers": (NONE, NONE)} | parts)), one))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "it must be JSON"),
        ("[]", "an object with the schema"),
        ('{"schema": "lightning-sym/symmetry/1"}', "layers must be a list of objects"),
        ('{"schema": "lightning-sym/symmetry/1", "layers": [{"wings": 1}]}', "there is no part called 'wings'"),
        ('{"schema": "lightning-sym/symmetry/1", "layers": [], "scale": 0.5}', "integers or strings"),
        ('{"schema": "lightning-sym/symmetry/1", "layers": [], "scale": "1/0"}', "a number must be"),
        ('{"schema": "lightning-sym/symmetry/1", "layers": [{"heads": [0.5]}]}', "integers or strings"),
        ('{"schema": "lightning-sym/symmetry/1", "layers": [{"heads": ["1"]}]}', "must be a list of integers"),
        ('{"schema": "lightning-sym/symmetry/1", "layers": [{"values": [[1], [1, 2]]}]}', "rows of one length"),
        ('{"schema": "lightning-sym/symmetry/1", "layers": [], "layers": []}', "keys must not repeat"),
        ('{"schema": "lightning-sym/symmetry/1", "layers": [], "tied": 1}', "true or false"),
    ],
)
def test_bad_files(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=said):
        load_symmetry(path)


def test_files_that_are_not_there_or_too_large(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="must be a readable file"):
        load_symmetry(tmp_path / "none.json")
    with pytest.raises(BadInput, match="there is no such folder"):
        save_symmetry(Symmetry(()), tmp_path / "no" / "a.json")
    save_symmetry(Symmetry((NONE,)), tmp_path / "a.json")
    with pytest.raises(TooLarge, match="must fit into"):
        load_symmetry(tmp_path / "a.json", memory=10)
    assert load_symmetry(tmp_path / "a.json").parts() == ()
