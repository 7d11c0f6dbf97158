"""Large layers are compared some heads and some neurons at a time: answers are those of whole layers."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lightning_sym import (
    LayerSymmetry,
    Symmetry,
    apply,
    fingerprint,
    open_checkpoint,
    same_checkpoints,
    save_checkpoint,
)
from lightning_sym.checkpoints import coded, layer_parts, matching
from lightning_sym.checkpoints.coded import Coded
from lightning_sym.checkpoints.edited import Edited
from lightning_sym.checkpoints.explained_places import Places
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.identity import under_identity
from lightning_sym.checkpoints.model import Block, Checkpoint, Ends, MadeCheckpoint
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.searched import Searched, stream_as_it_is
from lightning_sym.checkpoints.stream_fit import fit_stream
from lightning_sym.limits import Work, unheard
from lightning_sym.testing import small_checkpoint


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ask for comparisons in parts of one group, or of two neurons, and few rows of ends."""

    def ask() -> None:
        monkeypatch.setattr(layer_parts, "PART", 100)
        monkeypatch.setattr(coded, "NUMBERS", 150)
        monkeypatch.setattr(matching, "PAIRS", 0)

    return ask


def spoiled(one: Checkpoint, piece: str, place: tuple[int, ...]) -> MadeCheckpoint:
    """A checkpoint with another number in a piece of its last layer."""
    last = one.form.layers - 1
    blocks = [one.block(layer) for layer in range(last + 1)]
    array = np.array(getattr(blocks[last], piece))
    array[place] += Fraction(1, 2)
    blocks[last] = replace(blocks[last], **{piece: array})
    return MadeCheckpoint(one.form, one.ends(), tuple(blocks), "spoiled", "F64")


def searched(one: Checkpoint, two: Checkpoint) -> tuple[Any, ...]:
    """What the search says of two checkpoints."""
    found = Searched(one, two, 4.0, unheard)
    found.compare()
    told = [(each.piece, each.entry, each.differing, round(each.units, 6)) for each in found.residuals_in_order()]
    return found.exact, found.equal, found.fitted, found.words, told, found.why_not


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_say_what_whole_layers_say(in_parts: Any, family: str) -> None:
    one = small_checkpoint(family, seed=2, layers=1, stored="F64")
    other = apply(
        random_symmetry(one, ("heads", "values", "queries", "biases", "neurons", "ups", "stream"), seed=5), one
    )
    pairs: list[Checkpoint] = [other, spoiled(other, "down", (3, -2)), spoiled(other, "output", (-1, 2, 1))]
    whole = [searched(one, two) for two in pairs]
    in_parts()
    assert [searched(one, two) for two in pairs] == whole
    places = ("0.down", (3, one.form.inner - 2)), ("0.output", (2, 3 * one.form.values + 1))
    assert [each[4][0][:2] for each in whole[1:]] == [*places]
    assert whole[0][:2] == (True, True)
    assert len(layer_parts.cuts_of(one.block(0), one.form)) > 4


KINDS = ("heads", "values", "queries", "biases", "neurons", "ups", "gains", "stream", "ones", "scale")


IN_FRACTIONS = ("gpt2", "mixtral")
"""Families whose numbers are too long for products in floats; numbers of eight bits are not."""


def require_parts_of_whole(parts: list[tuple[layer_parts.Cut, Block]], whole: Block) -> None:
    """Hold that parts of a rewritten layer, put together, are that layer."""
    found: dict[str, list[Any]] = {}
    for cut, block in parts:
        for name, array in block.present():
            if cut.has(name):
                found.setdefault(name, []).append(array)
    made = {name: layer_parts.joined(name, some) for name, some in found.items()}
    assert made.keys() == dict(whole.present()).keys()
    for name, array in whole.present():
        assert np.array_equal(made[name], array), name


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rewriting_is_made_in_parts_as_it_is_whole(in_parts: Any, family: str) -> None:
    one = small_checkpoint(family, seed=2, layers=1, stored="F64" if family in IN_FRACTIONS else "BF16")
    two = apply(random_symmetry(one, KINDS, seed=5), one)
    whole, ends = two.block(0), two.ends()
    in_parts()
    parts = list(two.parts(0))
    assert sum(cut.neurons != slice(0, one.form.inner) for cut, _ in parts) > 4
    require_parts_of_whole(parts, whole)
    assert len(list(coded.slices(ends.embedding))) > 4
    again = dict(two.ends().present())
    assert all(np.array_equal(array, again[name]) for name, array in ends.present())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fingerprint_of_parts_is_that_of_whole_layers(in_parts: Any, family: str) -> None:
    one = small_checkpoint(family, seed=2, layers=1, stored="BF16")
    whole = fingerprint(one)
    in_parts()
    parts = fingerprint(one)
    assert (parts.digest, parts.key) == (whole.digest, whole.key)
    for (name, balls), (other, others) in zip(whole.named(), parts.named(), strict=True):
        assert name == other
        assert not balls.apart(others).any()
        assert (others.radius <= 2 * balls.radius + 1e-12).all()


@pytest.mark.parametrize("change", ["groups written out", "groups merged", "an idle neuron", "attention_bias"])
def test_rewritings_that_change_sizes_are_made_in_parts(in_parts: Any, change: str) -> None:
    one: Checkpoint = small_checkpoint("gpt_neox" if change == "attention_bias" else "llama", layers=1, stored="F64")
    form, more = one.form, dict[str, Any]()
    layer = LayerSymmetry(neurons=np.roll(np.arange(form.inner), 3))
    if change.startswith("groups"):
        more["groups"] = form.heads
    if change == "groups merged":
        one, more["groups"] = apply(Symmetry((LayerSymmetry(),), groups=form.heads), one), form.groups
    if change == "an idle neuron":
        layer = LayerSymmetry(neurons=np.arange(-1, form.inner))
    if change == "attention_bias":
        layer = replace(layer, attention_bias=np.arange(form.width) / 4)
    two = apply(Symmetry((layer,), **more), one)
    whole = two.block(0)
    in_parts()
    parts = list(two.parts(0))
    assert (len(parts) > 4) is (change not in ("groups merged", "an idle neuron"))
    require_parts_of_whole(parts, whole)


def test_bfloat16_is_looked_at_as_it_lies(tmp_path: Path, in_parts: Any) -> None:
    one = small_checkpoint("llama", layers=1, tied=False)
    save_checkpoint(one, tmp_path / "one", "BF16")
    swapped = apply(random_symmetry(one, kinds=["heads", "neurons"]), one)
    save_checkpoint(swapped, tmp_path / "two", "BF16")
    pair = [open_checkpoint(tmp_path / name) for name in ("one", "two")]
    block, ends = pair[0].coded(0), pair[0].coded(None)
    assert isinstance(block, Block)
    assert isinstance(block.up, Coded)
    assert isinstance(ends, Ends)
    assert isinstance(ends.embedding, Coded)
    assert isinstance(Edited.with_rows(pair[0], 3).coded(None).embedding, Coded)
    in_parts()
    found = same_checkpoints(*pair)
    assert (found.answer.value, found.symmetry is not None) == ("same", True)


def peak_of(work: Callable[[], Any]) -> int:
    """The most bytes of arrays that are there at once; what is imported on the way is no array, and is there before."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_grows_with_parts_and_not_with_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = small_checkpoint("llama", layers=1, tied=True)
    sizes = {"heads": 4, "groups": 2, "head_width": 32, "width": 128, "inner": 2048, "vocabulary": 8192}
    form = replace(small.form, **sizes)  # type: ignore[arg-type]
    random, made = np.random.default_rng(0), dict[str, Any]()
    for name, piece in {**table(form).layer, **table(form).ends}.items():
        if not name.endswith("_bias"):
            made[name] = random.standard_normal(piece.shape, dtype=np.float32)
    block = replace(small.block(0), **{name: made[name] for name in made.keys() & table(form).layer.keys()})
    one = MadeCheckpoint(form, Ends(made["embedding"], None, made["final_gain"], None, None), (block,))
    save_checkpoint(one, tmp_path / "one", "BF16")
    first = open_checkpoint(tmp_path / "one")
    save_checkpoint(apply(random_symmetry(first, kinds=["heads", "neurons"]), first), tmp_path / "two", "BF16")
    second = open_checkpoint(tmp_path / "two")
    numbers = {"layer": 3 * 2048 * 128 + 2 * 128 * (128 + 64), "embedding": 8192 * 128}
    monkeypatch.setattr(coded, "NUMBERS", 2**15)
    monkeypatch.setattr(matching, "AT_ONCE", 2**15)
    found = Searched(first, second, 4.0, unheard)

    def look() -> None:
        stream = stream_as_it_is(first, second)
        found.under(stream, found.compared_ends(stream))

    monkeypatch.setattr(layer_parts, "PART", 2**15)
    assert peak_of(look) < 8 * min(numbers.values())
    assert (found.exact, found.equal, found.residuals) == (True, True, [])
    again = apply(random_symmetry(first, kinds=["heads", "neurons"]), first)
    written = replace(again, like=first), tmp_path / "three"
    assert peak_of(lambda: save_checkpoint(*written)) < 4 * sum(numbers.values())
    assert peak_of(lambda: fingerprint(first)) < 8 * numbers["embedding"]
    assert peak_of(lambda: fit_stream(first, second)) < 4 * numbers["embedding"]
    assert peak_of(lambda: under_identity(first, second)) < 4 * min(numbers.values())
    places = Places.of(first, second, 4.0, Work(60.0))
    assert peak_of(lambda: places.by_number(None, frozenset())) < 4 * min(numbers.values())
    monkeypatch.setattr(layer_parts, "PART", 2**30)
    assert peak_of(look) > 60 * numbers["layer"]
    in_parts = (tmp_path / "three" / "model.safetensors").read_bytes()
    monkeypatch.setattr(coded, "NUMBERS", 2**30)
    assert peak_of(lambda: save_checkpoint(*written)) > 9 * sum(numbers.values())
    assert (tmp_path / "three" / "model.safetensors").read_bytes() == in_parts
    assert peak_of(lambda: fingerprint(first)) > 10 * numbers["embedding"]
    assert peak_of(lambda: places.by_number(None, frozenset())) > 20 * numbers["embedding"]
