"""Laws of the table of pieces: what stands there is so, nothing is missing, and nothing can be declared by half."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from changed_checkpoints import changed
from plain_checkpoints import logits

from lightning_sym import apply, open_checkpoint, same_checkpoints, save_checkpoint
from lightning_sym.checkpoints import changes, folders, layer_parts
from lightning_sym.checkpoints.comparison import CheckpointAnswer
from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES, layouts
from lightning_sym.checkpoints.folder_files import read_safetensors_file
from lightning_sym.checkpoints.layer_norm_families import AFFINE, NORMS
from lightning_sym.checkpoints.layout import ModelFamily
from lightning_sym.checkpoints.model import Block, CheckpointForm, Ends
from lightning_sym.checkpoints.piece_table import MLP, CheckpointPiece, CheckpointTable, Half
from lightning_sym.checkpoints.pieces import HALVES, LAYER, SHAPELESS, table
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.rotary_config import read_rotary, write_rotary
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry, kinds, sizes_of
from lightning_sym.errors import BadInput, FileFormatError, ProgramError
from lightning_sym.network.pieces import WeightSpace
from lightning_sym.testing import small_checkpoint

NETWORKS = {
    "gpt2": small_checkpoint("gpt2", 1, tied=False, stored="F64"),
    "gpt2, tied": small_checkpoint("gpt2", 2, tied=True, stored="F64"),
    "llama": small_checkpoint("llama", 3, biases=True, tied=False, stored="F64"),
    "mistral, tied": small_checkpoint("mistral", 4, tied=True, stored="F64"),
    "qwen2": small_checkpoint("qwen2", 5, tied=False, stored="F64"),
    "qwen3": small_checkpoint("qwen3", 10, biases=True, tied=False, stored="F64"),
    "mixtral": small_checkpoint("mixtral", 15, inner=8, stored="F64"),
    "qwen3_moe, tied": small_checkpoint("qwen3_moe", 16, inner=6, tied=True, stored="F64", config={"num_experts": 4}),
    "olmo2": small_checkpoint("olmo2", 17, biases=True, tied=False, stored="F64"),
    "olmo2, tied": small_checkpoint("olmo2", 18, tied=True, stored="F64"),
    "deepseek_v2, no latent queries": small_checkpoint("deepseek_v2", 19, stored="F64", config={"q_lora_rank": None}),
    "youtu": small_checkpoint("youtu", 20, stored="F64"),
    "phi3": small_checkpoint("phi3", 6, stored="F64"),
    "granite, tied": small_checkpoint("granite", 8, tied=True, stored="F64"),
    "smollm3": small_checkpoint("smollm3", 9, biases=True, tied=False, stored="F64"),
    "gemma3_text": small_checkpoint("gemma3_text", 12, biases=True, tied=False, stored="F64"),
    "gpt_neox": small_checkpoint("gpt_neox", 13, head_width=6, stored="F64"),
    "opt, tied": small_checkpoint("opt", 14, stored="F64"),
    "gemma, tied": small_checkpoint("gemma", 11, tied=True, stored="F64"),
}
IDS = [3, 1, 4, 1, 5, 9]


def test_what_is_read_into_memory_is_what_the_table_lists() -> None:
    assert [field.name for field in fields(Block)] == list(LAYER)
    assert [field.name for field in fields(Ends)] == list(SHAPELESS.ends)


@pytest.mark.parametrize("network", NETWORKS)
def test_every_piece_has_the_shape_of_the_table_and_makes_its_matrix(network: str) -> None:
    one = NETWORKS[network]
    pieces = table(one.form)
    for name, array in (*one.block(0).present(), *one.ends().present()):
        piece = pieces[name]
        assert piece.shape == array.shape
        matrix = piece.as_matrix(array)
        assert matrix.shape == piece.matrix_shape
        assert np.array_equal(piece.of_matrix(matrix), array)
        index = tuple(size - 1 - size // 3 for size in array.shape)
        assert matrix[piece.matrix_entry(index)] == array[index]
    with pytest.raises(BadInput, match=r"must be one whose axes are known, got 0\.query_gain"):
        pieces["0.query_gain"]


def test_no_piece_is_declared_by_half() -> None:
    with pytest.raises(ProgramError, match="must have axes, query_gain has none"):
        CheckpointPiece("query_gain", ())
    with pytest.raises(ProgramError, match="down must have an axis for each space that one of its scales lies over"):
        replace(LAYER["down"], axes=LAYER["down"].axes[:1], columns=())
    half = HALVES[MLP]
    gate = half.maps["gate"]
    alone = replace(gate, axes=(gate.axes[0]._replace(space=WeightSpace("experts", (), 2)), gate.axes[1]))
    with pytest.raises(ProgramError, match="the space experts stands on one piece alone"):
        CheckpointTable(SHAPELESS.ends, {**HALVES, MLP: replace(half, maps=half.maps | {"gate": alone})})
    without = {name: piece for name, piece in half.maps.items() if name != "gate_bias"}
    with pytest.raises(ProgramError, match="gate reads a norm, whose bias needs a bias of gate"):
        CheckpointTable(SHAPELESS.ends, {**HALVES, MLP: replace(half, maps=without)})


def test_parts_of_a_symmetry_have_the_sizes_of_the_pieces() -> None:
    some: dict[str, Any] = {"head_width": 6, "inner": 20, "vocabulary": 11, "context": 9}
    form, old = (small_checkpoint(family, **some).form for family in ("llama", "gpt2"))
    sizes, pieces = sizes_of(form) | {"u": sizes_of(old)["u"]}, table(form)

    def shape(name: str) -> tuple[int, ...]:
        return tuple(sizes[letter] for letter in parts[name].shape)

    parts = kinds(LayerSymmetry) | kinds(Symmetry)
    sizes["k"] = form.inner
    for name, piece in (*pieces.layer.items(), *pieces.ends.items()):
        others = tuple(size for place, size in enumerate(piece.shape) if place != piece.place("stream"))
        had = f"{name[6:]}{name[4]}" if name.startswith("norm") else name
        for part, size in ((had, piece.shape), (f"idle_{name}", piece.shape), (f"{name}_shift", others)):
            if part in parts:
                assert shape(part) == size, part


# ---- a table that says of one axis, or of one scale, what is not so


def wrong_pieces(piece: CheckpointPiece) -> Iterator[tuple[str, CheckpointPiece]]:
    """The piece with one axis that does not move, or moves the other way, and with one scale that does not act."""
    for place, axis in enumerate(piece.axes):
        if axis.space.free:
            still = axis._replace(space=axis.space._replace(kind="nothing"))
            others = [("still", still)] + [("turned", axis._replace(up=not axis.up))] * (axis.space.kind in TURNED)
            for what, other in others:
                axes = (*piece.axes[:place], other, *piece.axes[place + 1 :])
                spaces = {each.space for each in axes}
                scales = tuple(scale for scale in piece.scales if spaces >= {*scale[0].over})
                yield f"{axis.space.kind} {what}", replace(piece, axes=axes, scales=scales)
    for place, (space, _) in enumerate(piece.scales):
        yield f"scale {space.kind}", replace(piece, scales=(*piece.scales[:place], *piece.scales[place + 1 :]))


TURNED = ("query-key", "value-output", "rotary")
"""Spaces that are moved by more than orders and rotations, which are their own inverses, transposed."""


def with_piece(found: CheckpointTable, piece: CheckpointPiece) -> CheckpointTable:
    """The table with another row in place of its own."""

    def changed(pieces: Any) -> dict[str, CheckpointPiece]:
        return {name: piece if name == piece.name else old for name, old in pieces.items()}

    made = object.__new__(CheckpointTable)
    halves = {name: Half(half.norm, changed(half.norms), changed(half.maps)) for name, half in found.halves.items()}
    vars(made).update(ends=changed(found.ends), halves=halves)
    return made


@pytest.mark.parametrize("network", NETWORKS)
def test_every_axis_and_scale_of_every_map_is_needed(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = NETWORKS[network]
    order = np.array([3, 2, 1, 0])
    symmetry = random_symmetry(one, seed=7)
    # a scale that no file of OPT states is one in memory
    layers = tuple(replace(layer, heads=order) for layer in symmetry.layers)
    symmetry = replace(symmetry, layers=layers, scale=Fraction(2))
    truth = logits(one, IDS)
    assert np.abs(logits(apply(symmetry, one, exact=False), IDS) - truth).max() < 1e-9
    there = {name for name, _ in (*one.block(0).present(), *one.ends().present())}
    pieces = table(one.form)
    maps = [p for half in pieces.halves.values() for p in half.maps.values()] + [
        p for p in pieces.ends.values() if p.columns
    ]
    silent, tried = set(), 0
    for piece in (piece for piece in maps if piece.name in there):
        for what, wrong in wrong_pieces(piece):

            def other(form: CheckpointForm, wrong: CheckpointPiece = wrong) -> CheckpointTable:
                return with_piece(table(form), wrong)

            monkeypatch.setattr(changes, "table", other)
            monkeypatch.setattr(layer_parts, "LAYER", {**LAYER, piece.name: wrong})
            along = layer_parts.cuts_along({**LAYER, piece.name: wrong})
            monkeypatch.setattr(layer_parts, "CUT_ALONG", along)  # orders act where parts are taken
            tried += 1
            try:
                found = logits(apply(symmetry, one, exact=False), IDS)
            except BadInput:
                continue
            if not np.abs(found - truth).max() > 1e-9:
                silent.add((piece.name, what))
    blind = {(name, what) for name, what in silent if name == "key_bias" and not one.form.turned}
    assert silent == blind
    assert tried > 30


# ---- files


@pytest.mark.parametrize("network", NETWORKS)
def test_a_tensor_more_or_less_is_refused(network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(NETWORKS[network], tmp_path)
    tensors = read_safetensors_file(tmp_path / "model.safetensors")
    assert open_checkpoint(tmp_path).form == NETWORKS[network].form
    for name in tensors:
        fewer = {other: tensor for other, tensor in tensors.items() if other != name}
        for found, said in (
            (fewer, f"missing are {name}"),
            (tensors | {f"2{name}": tensors[name]}, f"got '2{name[:30]}"),
        ):
            monkeypatch.setattr(folders, "folder_tensors", lambda _, found=found: [found])
            with pytest.raises(FileFormatError, match=said):
                open_checkpoint(tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_says_where_each_of_its_pieces_lies(family: str) -> None:
    form, row = small_checkpoint(family, tied=False).form, FAMILIES[family]
    for layout in filter(None, (row.layout, row.gguf_layout)):
        parts = row.parts(form, row.biases)
        assert len(layout.places(form, parts)) == form.layers * len(parts) + len(table(form).ends)
        for name in parts:
            fewer = replace(layout, block={other: at for other, at in layout.block.items() if other != name})
            with pytest.raises(BadInput, match=f"place in the files of {family}, none is known of {name}"):
                fewer.places(form, parts)


def test_a_family_is_a_table_and_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with names of its own, weights as (in, out), and biases where no other family has just these."""
    ends = {name: (f"cousin.{name}", "") for name in ("embedding", "final_gain", "unembedding")}
    layer = {name: (f"part_{name}", "") for name in (*NORMS, *AFFINE)}
    biases = frozenset(("value", "down"))

    def read(config: Config) -> tuple[CheckpointForm, frozenset[str]]:
        return read_rotary(config, "cousin"), biases

    def write(form: CheckpointForm, _: frozenset[str]) -> dict[str, Any]:
        return write_rotary(form, "CousinForCausalLM")

    row = ModelFamily("cousin", read, write, layouts(ends, layer, "cousin.{}", turned=True)[0])
    monkeypatch.setitem(FAMILIES, "cousin", row)
    llama = small_checkpoint("llama", biases=True, tied=False)
    parts = row.parts(llama.form, biases)
    lost: dict[str, Any] = {name: None for name, _ in llama.block(0).present() if name not in parts}
    blocks = tuple(replace(block, **lost) for block in llama.blocks)
    one = replace(llama, form=replace(llama.form, family="cousin"), blocks=blocks)
    two = apply(random_symmetry(one, ("heads", "values", "neurons", "ups", "stream", "scale"), 3), one)
    for name, made in (("one", one), ("two", two)):
        save_checkpoint(made, tmp_path / name, stored="F64")
    opened = [open_checkpoint(tmp_path / name) for name in ("one", "two")]
    assert opened[0].called("1.value_bias") == "cousin.1.part_value.bias"
    assert same_checkpoints(*opened).answer is CheckpointAnswer.SAME
    assert np.abs(logits(opened[0], IDS) - logits(opened[1], IDS)).max() < 1e-4
    wrong = changed(one, 1, value_bias=2 * np.asarray(one.blocks[1].value_bias))
    assert same_checkpoints(wrong, opened[1]).answer is CheckpointAnswer.DIFFERENT
