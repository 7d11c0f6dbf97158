"""Whole models, many of them: dimensions against exact Jacobians, pairs against their making, special weights.

    python scripts/whole_models_campaign.py [--shapes 1000] [--done FILE] [--pairs 10000] [--seed 1]

Shapes: of random decoders of all covered kinds the rank of a Jacobian modulo a prime, from a forward pass of its own,
must be what `symmetries` says of the functions near a checkpoint of this shape. Pairs: random symmetries of random
checkpoints must not be told apart; one number changed, layers exchanged, a gate turned over, a query scaled must be. It
prints what is not so, and the counts.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lightning_sym import apply, symmetries_of
from lightning_sym.checkpoints.model import Block, MadeCheckpoint
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.testing import small_checkpoint
from lightning_sym.whole_models.apart import apart_by_theorem
from proofs_check.claims.models.decoders import Decoder, jacobian_rank

GPT_2 = frozenset({"norm", "query", "key", "value", "output", "up", "down", "positions"})
KINDS = (
    "llama", "llama biases", "llama gelu", "mistral", "phi3", "qwen2", "gemma", "gpt2", "gpt2 gelu", "qwen3",
    "smollm3", "gemma2", "gemma3_text",
)  # fmt: skip


def drawn(source: np.random.Generator, kinds: Sequence[str], *, wide: bool = False) -> tuple[str, dict[str, Any]]:
    """Return a kind and sizes for `small_checkpoint`, small ones.

    Args:
        source: of random numbers.
        kinds: to choose from.
        wide: whether the stream may be wider or narrower than its heads together.
    """
    kind = str(source.choice(kinds))
    groups = int(source.integers(1, 4 if wide else 3))
    heads = groups * int(source.integers(1, 3)) if "gpt2" not in kind else int(source.integers(2, 4))
    width = 2 if heads > 2 or (source.random() < 0.5 and heads > 1) else 4
    if "gpt2" in kind:
        heads, width, groups = (3, 2, 3) if source.random() < 0.7 else (2, 4, 2)
    stream = heads * width
    if wide and "gpt2" not in kind:
        stream = int(source.integers(4, 9))
    elif stream < 4:
        width, stream = 4, heads * 4
    sizes: dict[str, Any] = {
        "layers": int(source.integers(1, 4 if wide else 3)), "heads": heads, "groups": groups, "head_width": width,
        "inner": int(source.integers(1, 9 if wide else 5)), "context": int(source.integers(3, 5)),
        "vocabulary": stream + int(source.integers(0, 3 if wide else 2)),
        "tied": True if kind == "gemma" else bool(source.random() < 0.4),
    }  # fmt: skip
    if kind.startswith("gemma") and kind != "gemma":  # more neurons than the stream is wide
        sizes |= {"layers": 1, "inner": stream + int(source.integers(1, 3))}
    if wide and "gpt2" not in kind:
        sizes["config"] = {"hidden_size": stream}
    return kind, sizes


def made(kind: str, sizes: dict[str, Any], seed: int) -> MadeCheckpoint:
    family, _, more = kind.partition(" ")
    said = {"activation_function" if family == "gpt2" else "hidden_act": more} if more == "gelu" else {}
    return small_checkpoint(
        family, seed=seed, **sizes | {"config": sizes.get("config", {}) | said}, biases=more == "biases"
    )


def decoder_of(one: MadeCheckpoint) -> Decoder:
    """Return the same shape, for the Jacobian."""
    form, there = one.form, {name.removesuffix("_bias") for name, _ in one.blocks[0].present() if "_bias" in name}
    old = form.norm == "layer"
    return Decoder(
        d=form.width, n=form.vocabulary, layers=form.layers, heads=form.heads, groups=form.groups, a=form.head_width,
        m=form.inner, tokens=form.context if old else 3, layer_norm=old, gated=form.has_gate,
        rotary=form.theta is not None, gains=True, tied=form.tied,
        biases=GPT_2 if old else frozenset(there), activation=form.activation,
        head_norms=bool(form.head_norms), behind=bool(form.norms_behind), unturned=frozenset(form.unturned or ()),
        cap=None if form.score_cap is None else int(form.score_cap),
    )  # fmt: skip


def dimensions(count: int, source: np.random.Generator, kinds: Sequence[str], most: int, done: Path) -> Counter[str]:
    """Count dimensions against ranks, until so many distinct shapes are certified; each is a line of the file.

    Shapes that stand in the file are not drawn again, so that runs in portions add up.
    """
    lines = done.read_text().splitlines() if done.exists() else []
    told = Counter(line.split("\t")[0] for line in lines)
    seen = {line.split("\t")[2] for line in lines}
    with done.open("a") as file:
        while sum(told.values()) - told["not certified"] < count:
            kind, sizes = drawn(source, kinds, wide=True)
            one = made(kind, sizes, int(source.integers(10**6)))
            decoder = decoder_of(one)
            if repr(decoder) in seen or decoder.parameters > most:
                continue
            seen.add(repr(decoder))
            outcome = against_jacobian(one, decoder)
            told[outcome] += 1
            file.write(f"{outcome}\t{kind}\t{decoder!r}\n")
            file.flush()
    return told


def against_jacobian(one: MadeCheckpoint, decoder: Decoder) -> str:
    """Return whether the rank of the Jacobian is what `symmetries` says, in a word."""
    found = symmetries_of(one)
    if found.functions is None:  # no theorem, or a chance of small weights, such as two neurons of one layer alone
        return "not certified"
    if found.parameters != decoder.parameters:
        return f"WRONG, {found.parameters} parameters"
    rank = jacobian_rank(decoder)
    rank = rank if rank == found.functions else jacobian_rank(decoder, order=11, seed=2)
    if rank == found.functions:
        return "equal"
    return f"{'smaller' if rank < found.functions else 'WRONG'}: {rank}, not {found.functions}"


def with_block(one: MadeCheckpoint, layer: int, **parts: Any) -> MadeCheckpoint:
    blocks: list[Block] = list(one.blocks)
    blocks[layer] = replace(blocks[layer], **parts)
    return replace(one, blocks=tuple(blocks))


def changed(one: MadeCheckpoint, source: np.random.Generator) -> tuple[str, MadeCheckpoint]:
    """Return what was done, and a checkpoint of another function, nearly the same."""
    layer = int(source.integers(one.form.layers))
    block = one.blocks[layer]
    names = [name for name, _ in block.present() if name != "key_bias" or one.form.theta is not None]
    kind = int(source.integers(6))
    if kind == 0 and one.form.layers > 1:
        return "layers exchanged", replace(one, blocks=one.blocks[::-1])
    if kind == 1:
        name = "gate" if block.gate is not None else "up"
        array = np.array(getattr(block, name))
        array[0] = -array[0]
        return "a gate turned", with_block(one, layer, **{name: array})
    if kind == 2 and one.form.heads > 1:
        query = np.array(block.query)
        query[0] *= 2
        return "a query scaled", with_block(one, layer, query=query)
    if kind == 3:
        ends = [name for name, _ in one.outer.present()]
        name = str(source.choice(ends))
        array = np.array(getattr(one.outer, name))
        array.reshape(-1)[int(source.integers(array.size))] += 0.25
        return f"one number of {name}", replace(one, outer=replace(one.outer, **{name: array}))
    name = str(source.choice(names))
    array = np.array(getattr(block, name))
    array.reshape(-1)[int(source.integers(array.size))] += 0.25
    return f"one number of {name}", with_block(one, layer, **{name: array})


def verdicts_on_pairs(count: int, source: np.random.Generator, kinds: Sequence[str]) -> Counter[str]:
    """Return what was told of rewritten pairs, and of changed ones."""
    told: Counter[str] = Counter()
    while sum(told.values()) < count:
        kind, sizes = drawn(source, kinds)
        one = made(kind, sizes | {"inner": sizes["inner"] + 1}, int(source.integers(10**6)))
        two = apply(random_symmetry(one, seed=int(source.integers(10**6))), one)
        conditions = symmetries_of(one)
        ordered = one.form.activation != "gelu"  # with it layers are compared together
        whole = (
            ordered
            and conditions.not_covered is None
            and all(c.holds for c in conditions.conditions if c.name not in ("(N)", "(T)"))
        )
        for first, second in ((one, two), (two, one)):
            told["rewritten: " + ("not apart" if apart_by_theorem(first, second) is None else "WRONG")] += 1
        for _ in range(6):
            what, other = changed(one, source)
            found = apart_by_theorem(two, other)
            said = "apart" if found is not None else "not known, no condition" if not whole else "NOT APART"
            told[f"changed: {said}"] += 1
            if said == "NOT APART":
                print(kind, sizes, what, flush=True)
        if conditions.not_covered is not None:
            continue
        what, other = special(one, source)
        listed = {each.what for each in symmetries_of(other).special}
        told["special: " + ("detected" if what in listed else "NOT DETECTED")] += 1
        again = apply(random_symmetry(other, seed=int(source.integers(10**6))), other)
        told["special, rewritten: " + ("not apart" if apart_by_theorem(other, again) is None else "WRONG")] += 1
    return told


def special(one: MadeCheckpoint, source: np.random.Generator) -> tuple[str, MadeCheckpoint]:
    """Return the same with a coincidence of weights in one layer, and what `symmetries` calls it."""
    layer = int(source.integers(one.form.layers))
    block = one.blocks[layer]
    parts = {name: np.array(array) for name, array in block.present()}
    gate = "gate" if block.gate is not None else "up"
    kind = int(source.integers(6 if one.form.head_norms else 5))
    if kind == 0:
        parts["down"][:, -1] = 0
        what = "dead neurons"
    elif kind == 1:
        for name in (gate, f"{gate}_bias"):
            if name in parts:
                parts[name][1] = parts[name][0]
        what = "neurons with one gate"
    elif kind == 2:
        parts["output"][0] = 0
        what = "output of a rank below the head's width"
    elif kind == 3:
        parts["norm1_gain"][0] = 0
        what = "norm1_gain of 0"
    elif kind == 4:
        parts["query"][0, 0] = 0
        if "query_bias" in parts:
            parts["query_bias"][0, 0] = 0
        what = "query of a rank below the head's width"
    else:
        for name in ("query_norm_gain", "key_norm_gain"):
            parts[name][: len(parts[name]) // 2] = parts[name][len(parts[name]) // 2 :]
        what = "equal gains on both rows of a frequency"
    return what, with_block(one, layer, **parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shapes", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=420, help="parameters of a shape")
    parser.add_argument("--done", type=Path, default=Path("whole_models_shapes.tsv"), help="where shapes are written")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of models, with commas between")
    asked = parser.parse_args()
    kinds = asked.kinds.split(",")
    for name, run in (
        ("shapes", lambda source: dimensions(asked.shapes, source, kinds, asked.most, asked.done)),
        ("pairs", lambda source: verdicts_on_pairs(asked.pairs, source, kinds)),
    ):
        start = time.process_time()
        told = run(np.random.default_rng(asked.seed))
        print(f"{name}: {sum(told.values())} in {time.process_time() - start:.0f} s of the processor")
        for what, number in sorted(told.items()):
            print(f"  {number:6} {what}", flush=True)


if __name__ == "__main__":
    main()
