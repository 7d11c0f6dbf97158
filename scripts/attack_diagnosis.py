"""Make wrong conversions of random checkpoints of all families, and count what `same` says of them.

    .venv/bin/python scripts/attack_diagnosis.py --pairs 1000 --seed 1

Pairs are drawn each by its own number, so that `--from 17 --pairs 1` makes the eighteenth again.

Each pair has no mistake, one, or two of those that the tests make, in the second checkpoint, which may have been
rewritten by a symmetry before, and rounded afterwards. Whether the functions differ is asked of the plain forward pass
of the tests, which knows nothing of the library. Counted are *same* or *rounding* of pairs whose logits are apart,
pairs without a mistake that are called neither, tensors that are blamed though no mistake changed them, and how often
the mistakes are named.

Which tensor a mistake changed is not always in the files: behind a symmetry that scales queries and keys, queries that
were halved are keys that were halved. So other tensors than the changed ones are blamed rightly if they are no more,
and if the plain forward pass, with these tensors alone from a symmetry of the first, gives its logits again. That is
counted by itself, and all other blame of unchanged tensors as wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "checkpoints"), str(ROOT / "tests" / "tools")]

from changed_checkpoints import rounded  # noqa: E402
from made_mistakes import MADE, applies  # noqa: E402
from plain_checkpoints import logits  # noqa: E402

from lightning_sym import apply, same_checkpoints  # noqa: E402
from lightning_sym.checkpoints.comparison import CheckpointAnswer  # noqa: E402
from lightning_sym.checkpoints.families import FAMILIES  # noqa: E402
from lightning_sym.checkpoints.model import MadeCheckpoint  # noqa: E402
from lightning_sym.checkpoints.pieces import table  # noqa: E402
from lightning_sym.checkpoints.random_symmetries import KINDS, random_symmetry  # noqa: E402
from lightning_sym.checkpoints.searched import Searched  # noqa: E402
from lightning_sym.limits import unheard  # noqa: E402
from lightning_sym.testing import small_checkpoint  # noqa: E402

IDS = np.array([7, 17, 27, 37, 3, 11])
RIGHT = (CheckpointAnswer.SAME, CheckpointAnswer.ROUNDING)
MISTAKES = [name for name in MADE if name != "f16-overflow"]
NAMED_OTHERWISE = ("named by others, as few", "named by more")
"""What is told is checked by making it, so that one of as few mistakes is as good."""
LARGER = 20
"""How many times larger than roundings a difference of logits must be to be one."""


def pieces(one: MadeCheckpoint) -> dict[str, Any]:
    """Return every array by its name."""
    found = dict(one.ends().present())
    for layer in range(one.form.layers):
        found |= {f"{layer}.{name}": array for name, array in one.block(layer).present()}
    return found


def changed(one: MadeCheckpoint, two: MadeCheckpoint) -> set[str]:
    """Return the pieces that differ."""
    old, new = pieces(one), pieces(two)
    return {name for name in new if name not in old or not np.array_equal(old[name], new[name])}


def mends(one: MadeCheckpoint, two: MadeCheckpoint, right: MadeCheckpoint, blamed: set[str]) -> bool:
    """Return whether the second has the first's logits, with some pieces, and its configuration, put right alone."""
    first = replace(one, form=replace(one.form, theta=two.form.theta))
    second = replace(two, form=replace(two.form, epsilon=right.form.epsilon))
    search = Searched(first, second, 4.0, unheard)
    search.compare()
    symmetry = None if search.stream is None else search.numbers(exact=False)
    if symmetry is None:
        return False
    made = pieces(rounded(apply(symmetry, search.first, exact=False), "F64"))
    mended = replaced(two, {name: made[name] for name in blamed & made.keys()})
    mended = replace(mended, form=right.form)
    plain, same, other = (logits(each, IDS) for each in (one, right, mended))
    return bool(np.abs(other - plain).max() <= LARGER * np.abs(same - plain).max() + 1e-6)


def replaced(two: MadeCheckpoint, arrays: dict[str, Any]) -> MadeCheckpoint:
    """Return a checkpoint with other pieces."""
    by: dict[int | None, dict[str, Any]] = {}
    for name, array in arrays.items():
        layer, dot, rest = name.partition(".")
        by.setdefault(int(layer) if dot else None, {})[rest if dot else name] = array
    blocks = tuple(replace(block, **by.get(layer, {})) for layer, block in enumerate(two.blocks))
    return replace(two, outer=replace(two.outer, **by.get(None, {})), blocks=blocks)


def trial(random: np.random.Generator, count: Counter[str], number: str, *, listed: bool = False) -> str:
    """Make and ask one pair; return what is wrong with the answer, in one line, or nothing."""
    family = str(random.choice(list(FAMILIES)))
    seed = int(random.integers(10**6))
    sizes = {"inner": 8} if "router" in table(small_checkpoint(family).form).layer else {}
    one = small_checkpoint(family, seed, tied=bool(random.integers(2)), biases=bool(random.integers(2)), **sizes)
    kinds = tuple(str(kind) for kind in random.choice(KINDS, int(random.integers(4)), replace=False))
    stored = str(random.choice(["F32", "BF16", "F16"]))
    symmetry = random_symmetry(one, kinds, seed)
    right = rounded(apply(symmetry, one) if symmetry.parts() else one, "F32")
    possible = [name for name in MISTAKES if applies(name, one)]
    made = [str(name) for name in random.choice(possible, int(random.integers(3)), replace=False)]
    two = right
    for name in [*made]:
        before, two = two, MADE[name](two, random)
        if before.form == two.form and not changed(before, two):  # as gains that are ones have none to be exchanged
            made.remove(name)
    two, right = rounded(two, stored), rounded(right, stored)
    plain, same, other = (logits(each, IDS) for each in (one, right, two))
    apart = np.abs(other - plain).max() > LARGER * np.abs(same - plain).max() + 1e-6
    start = time.process_time()
    found = same_checkpoints(one, two)
    slow = time.process_time() - start
    where = f"{number}{family} seed {seed} tied {one.form.tied} kinds {kinds} stored {stored} mistakes {made}"
    wrongs = {each.piece for each in found.unexplained} & {*pieces(two)}
    count["pairs"] += 1
    count["slower than 0.7 s"] += slow > 0.7
    if made and apart and found.answer in RIGHT:
        count["false same or rounding"] += 1
        return f"false {found.answer.value}: {where}"
    if not made and found.answer not in RIGHT:
        count[f"right ones called {found.answer.value}"] += 1
        return f"{found.answer.value} without a mistake: {where}"
    if made and found.answer not in RIGHT:
        count["wrong ones"] += 1
        told = {each.mistake for each in found.explained}
        named = "all named" if told == {*made} else NAMED_OTHERWISE[len(told) > len(made)] if told else "not named"
        count[named] += 1
        count[f"{family}: {named}"] += 1
        for name in made:
            count[f"{name}{' with another' * (len(made) > 1)}: {named}"] += 1
        if told != {*made} and listed:
            print(f"told {sorted(told)}: {where}", flush=True)
        if not found.unexplained and not told:
            count["no blame"] += 1
            return f"no blame: {where}"
        count["blame of what is byte-identical"] += bool(wrongs - changed(one, two))
        truth = changed(right, two)
        if wrongs - truth:
            if len(wrongs) <= len(truth) and mends(one, two, right, wrongs):
                count["blame of others, as few, that mend it too"] += 1
                return ""
            said = "blame of others too" if wrongs & truth else "blame of others only"
            count[said] += 1
            return f"{said} {sorted(wrongs - truth)[:4]}: {where}"
    return ""


def main() -> None:
    """Make as many pairs as are asked for, and print the counts."""
    parser = argparse.ArgumentParser(description="Count what `same` says of wrong conversions.")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=0, help="the number of the first pair")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--list", action="store_true", help="print each pair whose mistakes are not named as they are")
    asked = parser.parse_args()
    count, start = Counter[str](), time.monotonic()
    for number in range(asked.first, asked.first + asked.pairs):
        random = np.random.default_rng([asked.seed, number])
        if said := trial(random, count, f"{number}: ", listed=asked.list):
            print(said, flush=True)
        if time.monotonic() - start > asked.seconds:
            break
    for name, number in sorted(count.items()):
        print(f"{number:6} {name}")


if __name__ == "__main__":
    main()
