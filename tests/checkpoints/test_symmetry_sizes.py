"""Parts of a symmetry have the sizes of the network: refused by name when it is read or applied, not when used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lightning_sym import LayerSymmetry, Symmetry, load_symmetry, save_symmetry
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.symmetry import KINDS
from lightning_sym.checkpoints.symmetry_sizes import require_sizes
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.testing import small_checkpoint

NONE = LayerSymmetry()


def resized(part: Any) -> Iterator[Any]:
    """The same, one longer or shorter on each axis, and with another number of axes."""
    array = np.asarray(part)
    for axis, size in enumerate(array.shape):
        yield np.take(array, range(size - 1), axis)
        yield np.concatenate([array, np.take(array, [0], axis)], axis)
    yield array[None]
    yield array[0] if array.ndim else np.array([part], dtype=object)


def changes(symmetry: Symmetry) -> Iterator[tuple[str, Symmetry]]:
    """Each part in turn of another size, and how it is called."""
    for name, part in symmetry.named():
        for other in resized(part) if np.asarray(part).ndim else ():
            yield name, replace(symmetry, **{name: other})
    for number, layer in enumerate(symmetry.layers):
        for name, part in layer.named():
            for other in resized(part):
                changed = replace(layer, **{name: other})
                layers = (*symmetry.layers[:number], changed, *symmetry.layers[number + 1 :])
                yield f"layer {number}: {name}", replace(symmetry, layers=layers)


def test_every_part_has_sizes() -> None:
    names = {field.name for kind in (Symmetry, LayerSymmetry) for field in fields(kind)}
    assert KINDS.keys() == names - {"layers", "groups", "tied"}


@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen2"])
@pytest.mark.parametrize("tied", [False, True])
def test_apply_refuses_every_other_size_at_once(family: str, tied: bool) -> None:
    one = small_checkpoint(family, tied=tied)
    symmetry = random_symmetry(one, seed=3)
    apply(symmetry, one)
    seen = set()
    for name, changed in changes(symmetry):
        with pytest.raises(BadInput) as caught:
            apply(changed, one)
        assert name in str(caught.value) or name.endswith("neurons"), (name, caught.value)
        assert "\n" not in str(caught.value)
        seen.add(name.split()[-1])
    assert len(seen) >= 6
    assert tied or "final_gain" in seen


def test_the_final_gain_is_refused_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    save_symmetry(Symmetry((NONE,), order=np.arange(4), final_gain=np.ones(3)), path)
    with pytest.raises(FileFormatError, match=r"final_gain must have shape \(4,\), as order says, got \(3,\)"):
        load_symmetry(path)
    save_symmetry(Symmetry((NONE,), final_gain=np.ones((3, 1))), path)
    with pytest.raises(FileFormatError, match=r"final_gain must have shape \(d,\), got \(3, 1\)"):
        load_symmetry(path)
    save_symmetry(Symmetry((NONE, NONE), final_gain=np.ones(3)), path)  # nothing in the file is against it
    with pytest.raises(BadInput, match=r"final_gain must have shape \(16,\), got \(3,\)"):
        apply(load_symmetry(path), small_checkpoint("llama", tied=False))


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_parts_are_compared_with_each_other(family: str) -> None:
    symmetry = random_symmetry(small_checkpoint(family, tied=False), seed=4)
    require_sizes(symmetry)
    passed = set()
    for name, changed in changes(symmetry):
        try:
            require_sizes(changed)
        except BadInput:
            continue
        passed.add(name.split()[-1])
    assert passed <= {"positions_shift", "embedding_shift"}  # no other part is as long


def test_neurons_that_do_nothing_and_turns() -> None:
    layer = LayerSymmetry(neurons=np.array([0, -1, -1]), idle_up=np.ones((2, 4)), idle_down=np.ones((4, 2)))
    other = LayerSymmetry(neurons=np.array([0, 1, -1]), idle_up=np.ones((1, 4)))
    require_sizes(Symmetry((layer, other)))
    with pytest.raises(
        BadInput, match=r"layer 0: idle_down must have shape \(4, 2\), as layer 0: idle_up and layer 0: n"
    ):
        require_sizes(Symmetry((replace(layer, idle_down=np.ones((4, 3))),)))
    turns = LayerSymmetry(turns=np.ones((2, 3, 2)))
    require_sizes(Symmetry((turns, LayerSymmetry(values=np.ones((2, 6, 6))))))
    with pytest.raises(BadInput, match=r"layer 1: values must have shape \(2, 6, 6\), as layer 0: turns says, got"):
        require_sizes(Symmetry((turns, LayerSymmetry(values=np.ones((2, 5, 5))))))
    with pytest.raises(BadInput, match=r"scale must be a number, got an array of shape \(2,\)"):
        require_sizes(Symmetry((), scale=np.array([Fraction(2)] * 2, dtype=object)))  # type: ignore[arg-type]


def test_a_file_with_a_part_of_the_wrong_length_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    document = {"schema": "lightning-sym/symmetry/1", "signs": [1, -1], "final_gain": [1, 2, 3], "layers": []}
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError) as caught:
        load_symmetry(path)
    assert str(caught.value).endswith("final_gain must have shape (2,), as signs says, got (3,)")


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_parts_that_are_no_numbers(family: str) -> None:
    one = small_checkpoint(family, tied=False)
    symmetry = random_symmetry(one, seed=2)
    for owner in (symmetry, symmetry.layers[0]):
        for field in fields(owner):
            if field.name in ("layers", "groups", "tied"):
                continue
            part = getattr(owner, field.name)
            wrong: list[Any] = ["x", float("nan"), [1, [2]], {}]
            if np.ndim(part):
                wrong += [np.full(np.shape(part), entry, dtype=object) for entry in ("x", None, float("inf"), 1j)]
                wrong += [np.asarray(part).astype(float) * np.nan, np.asarray(part).astype(str)]
            for value in wrong:
                changed: Any = replace(owner, **{field.name: value})
                with pytest.raises(BadInput) as caught:
                    apply(changed if owner is symmetry else replace(symmetry, layers=(changed, NONE)), one)
                assert "\n" not in str(caught.value)
                assert field.name.removeprefix("idle_") in str(caught.value) or field.name == "neurons"
