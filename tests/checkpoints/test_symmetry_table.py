"""The rules of a fold: followed to the letter they leave the logits alone, and each line of them is needed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_checkpoints import logits

from lightning_sym import open_checkpoint, save_checkpoint
from lightning_sym.checkpoints import symmetry_table as module
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.model import CheckpointForm, MadeCheckpoint
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.symmetry_table import FoldRule, Touched, symmetry_table
from lightning_sym.errors import BadInput
from lightning_sym.testing import small_checkpoint

KNOWN = list(FAMILIES)
IDS = [1, 7, 2, 19, 4]
RANDOM = np.random.default_rng(5)


WITH = {"groups": "heads", "experts": "neurons"}
"""By space, what lies over its points, and moves with them."""


def folded(family: str) -> MadeCheckpoint:
    """Return a checkpoint all of whose gains are ones, so that the stream may be turned; norms keep their biases."""
    one = small_checkpoint(family, seed=2, layers=2, tied=False, stored="F64")
    ones = np.ones(one.form.width)
    gains = ("norm1_gain", "norm2_gain", "norm3_gain", "norm4_gain", "behind1_gain", "behind2_gain")
    found = {name: gain for name in gains if (gain := getattr(one.blocks[0], name)) is not None}
    there: dict[str, Any] = {name: np.ones(len(gain)) for name, gain in found.items()}
    blocks = tuple(replace(block, **there) for block in one.blocks)
    return replace(one, outer=replace(one.outer, final_gain=ones), blocks=blocks)


def permutation(size: int) -> Any:
    """Return the cycle of so many points as a matrix."""
    return np.eye(size)[np.roll(np.arange(size), 1)]


def element(rule: FoldRule, form: CheckpointForm) -> Any:
    """Return an element of the group as a matrix on all rows or columns that it moves, or as numbers."""

    def orthogonal(size: int) -> Any:
        return np.linalg.qr(RANDOM.normal(size=(size, size)))[0]

    a, share = form.head_width, form.heads // form.groups
    turned = form.at((*rule.layers, 0)[0]).turned
    match rule.space:
        case "stream" if form.norms_behind is not None:
            return permutation(form.width) * RANDOM.permutation(np.resize([1.0, -1.0], form.width))
        case "behind1" | "behind2":
            return RANDOM.permutation(np.resize([1.0, -1.0], form.width))
        case "stream" if form.norm == "layer":
            ones = np.linalg.qr(np.column_stack([np.ones(form.width), RANDOM.normal(size=(form.width,) * 2)[:, 1:]]))[0]
            turn = np.eye(form.width)
            turn[1:, 1:] = orthogonal(form.width - 1)
            return ones @ turn @ ones.T
        case "stream":
            return orthogonal(form.width)
        case "scale":
            return 2.0
        case "heads":
            return np.kron(np.eye(form.groups), permutation(share))
        case "groups":
            return permutation(form.groups)
        case "latent" | "query latent":
            return orthogonal((form.latent if rule.space == "latent" else form.query_latent) or 0)
        case "norm3" | "norm4":
            return RANDOM.uniform(0.5, 2, size=(form.latent if rule.space == "norm3" else form.query_latent) or 0)
        case "rotary":
            x, y = (np.diag(RANDOM.normal(size=form.rotating // 2)) for _ in range(2))
            return np.block([[x, -y], [y, x]])[None]
        case "experts":
            return permutation(form.experts or 1)
        case "neurons":
            experts = form.experts or 1  # an expert's neurons stay with it
            return np.kron(np.eye(experts), permutation(form.inner // experts))
        case "ups":
            return RANDOM.uniform(0.5, 2, size=form.inner)
        case "norm1" | "norm2" | "final":
            return RANDOM.uniform(0.5, 2, size=form.width)
        case "value-output":
            return RANDOM.normal(size=(form.groups, form.values, form.values))
        case "query-key" if form.head_norms is not None:
            groups, heads = (1, 1) if form.head_norms == "head" else (form.groups, form.heads)
            c = np.tile(RANDOM.uniform(0.5, 2, size=(groups, a // 2)), 2)
            s, t = (RANDOM.choice([-1.0, 1.0], size=(count, a)) for count in (heads, groups))
            s[:, 0], t[:, 1] = -1, -1  # each line is needed
            s, t, of_heads = s.ravel(), t.ravel(), np.repeat(c, heads // groups, axis=0).ravel()
            return {"s": s, "t": t, "s c": s * of_heads, "t / c": t / c.ravel()}
        case "query-key" if not turned:
            return RANDOM.normal(size=(form.groups, a, a))
        case "query-key":
            x, y = RANDOM.normal(size=(2, form.groups, turned // 2, 1))
            eye, found = np.eye(turned // 2), RANDOM.normal(size=(form.groups, a, a))
            found[:, :turned, turned:] = found[:, turned:, :turned] = 0
            found[:, :turned, :turned] = np.block([[x * eye, -y * eye], [y * eye, x * eye]])
            return found
    raise AssertionError(rule.space)


def blocks_of(g: Any, size: int) -> Any:
    """Return matrices for each group as one on so many rows: those of a group belong to all of its heads."""
    a = g.shape[-1]
    found = np.zeros((size, size))
    for head in range(size // a):
        found[head * a :, head * a :][:a, :a] = g[head * len(g) * a // size]
    return found


def done(touched: Touched, matrix: Any, g: Any) -> Any:
    """Follow a line, and nothing but the line."""
    where, _, what = touched.does.rpartition(": ")
    side = 0 if where == "rows" or matrix.ndim == 1 else -1
    if "times" in what or "divided" in what:
        factors = g if "times" in what else 1 / g
        return matrix * (factors[:, None] if np.ndim(g) and matrix.ndim == 2 and side == 0 else factors)
    if "|g|" in what:
        return matrix  # its entries are equal here
    if isinstance(g, dict):
        factors = np.resize(g[what.split(" -> ")[1][:-2]], matrix.shape[0])
        return matrix * (factors[:, None] if matrix.ndim == 2 else factors)
    if g.ndim == 2:  # of heads, or of groups, which have as many rows each
        g = np.kron(g, np.eye(matrix.shape[side] // len(g)))
    if g.ndim == 3:
        g = blocks_of(g, matrix.shape[side])
    match what:
        case "W -> g W" | "b -> g b":
            return g @ matrix
        case "W -> g^-T W" | "b -> g^-T b":
            return np.linalg.inv(g).T @ matrix
        case "W -> W g^-1":
            return matrix @ np.linalg.inv(g)
        case "W -> W g^T":
            return matrix @ g.T
    raise AssertionError(what)


Moves = list[tuple[FoldRule, Any]]
"""Rules that are followed together, each with its element."""


def moves(rule: FoldRule, rules: tuple[FoldRule, ...], form: CheckpointForm) -> Moves:
    """Return a rule with an element, and with what must move beside it: the heads of groups, the neurons of experts."""
    found = [(rule, element(rule, form))]
    if rule.space in WITH:
        points, size = {"groups": (form.groups, form.heads), "experts": (form.experts or 1, form.inner)}[rule.space]
        whole = np.kron(permutation(points), np.eye(size // points))
        found += [(other, whole) for other in rules if other.space == WITH[rule.space]]
    return found


def rewritten(one: MadeCheckpoint, made: Moves, without: Touched | None = None) -> MadeCheckpoint:
    """Return the checkpoint with rules followed in every layer, but for a line that is forgotten."""
    pieces, ends, blocks = table(one.form), dict(one.outer.present()), [dict(block.present()) for block in one.blocks]
    form = one.form
    for rule, g in made:
        some = [block for layer, block in enumerate(blocks) if layer in (rule.layers or range(one.form.layers))]
        for touched in rule.touched:
            for held in (ends, *some):
                if touched != without and touched.piece in held:
                    piece = pieces[touched.piece]
                    held[touched.piece] = piece.of_matrix(done(touched, piece.as_matrix(held[touched.piece]), g))
        form = replace(form, epsilon=form.epsilon * 4) if rule.space == "scale" else form
    blocks_made = tuple(replace(old, **new) for old, new in zip(one.blocks, blocks, strict=True))
    return replace(one, form=form, outer=replace(one.outer, **ends), blocks=blocks_made)


def values(one: MadeCheckpoint) -> Any:
    return logits(one, IDS)


@pytest.mark.parametrize("family", KNOWN)
def test_a_fold_by_the_letter_leaves_logits_alone_and_each_line_is_needed(family: str) -> None:
    one = folded(family)
    before = values(one)
    rules = symmetry_table(one).rules
    spaces = {"stream", "scale", "heads", "groups", "query-key", "value-output", "neurons"}
    spaces |= set() if one.form.bare else {"norm1", "norm2"}
    spaces |= set() if one.form.experts is None else {"experts"}
    assert spaces <= {rule.space for rule in rules}
    assert len(rules) == len({(rule.space, rule.layers) for rule in rules})
    for rule in rules:
        if rule.space == "heads" and one.form.heads == one.form.groups:
            continue  # heads move with their groups
        made = moves(rule, rules, one.form)
        assert np.allclose(values(rewritten(one, made)), before, rtol=0, atol=1e-9), rule.space
        for touched in (touched for each, _ in made for touched in each.touched):
            forgotten = values(rewritten(one, made, touched))
            stays = "|g|" in touched.does or (touched.piece == "key_bias" and not one.form.turned)
            assert np.allclose(forgotten, before, rtol=0, atol=1e-9) == stays, touched


@pytest.mark.parametrize("family", KNOWN)
def test_its_names_are_those_of_the_files(family: str, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    one = small_checkpoint(family, layers=1, tied=False)
    save_checkpoint(one, tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    names = {
        re.sub(r"experts\.\d+", "experts.*", name.replace("layers.0.", "layers.*.").replace("h.0.", "h.*."))
        for name in stored
    }
    assert {touched.tensor for rule in symmetry_table(one).rules for touched in rule.touched} == names
    for other in (tmp_path, tmp_path / "config.json", open_checkpoint(tmp_path)):
        assert symmetry_table(other) == symmetry_table(one)


def test_a_space_that_no_proposition_knows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(module.GROUPS, "ups")
    with pytest.raises(BadInput, match="the group of every space must be known, not known: ups of llama"):
        symmetry_table(small_checkpoint("llama"))


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(BadInput, match=r"a model must be a checkpoint, its form, a folder or its config\.json, got 3"):
        symmetry_table(3)  # type: ignore[arg-type]
