"""Random pairs of checkpoints with known mistakes, alone, in pairs, behind rewritings: how many are named.

    python benchmarks/known_mistakes.py [COUNT] [SEED]

Mistakes are made by plain sums (`tests/checkpoints/made_mistakes.py`). A pair whose answer is `same` or `rounding`
though its functions differ would be a defect; a cause that is not named, or named otherwise, is counted and printed.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "checkpoints"), str(TESTS / "tools")]
from changed_checkpoints import rounded  # noqa: E402 - where tests have what they share
from made_mistakes import MADE, applies, overflowing  # noqa: E402

from lightning_sym import same_checkpoints  # noqa: E402
from lightning_sym.checkpoints.random_symmetries import random_symmetry  # noqa: E402
from lightning_sym.checkpoints.rewritings import apply  # noqa: E402
from lightning_sym.testing import small_checkpoint  # noqa: E402

WAYS = ((), (), ("heads", "neurons"), ("values", "queries", "ups"), ("stream", "heads"))


def main(count: int, seed: int) -> None:
    """Make so many pairs, ask for each, and print what was not named as it was made."""
    random = np.random.default_rng(seed)
    told: Counter[tuple[str, str]] = Counter()
    slowest = 0.0
    while told.total() < count:
        family = ("gpt2", "llama", "mistral", "qwen2")[random.integers(4)]
        tied = bool(random.integers(2))
        one = small_checkpoint(family, int(random.integers(10**6)), tied=tied, biases=family == "llama")
        picked = [str(name) for name in random.choice([*MADE], 1 + random.integers(2), replace=False)]
        one = overflowing(one) if "f16-overflow" in picked else one
        way = WAYS[random.integers(len(WAYS))]
        if not all(applies(mistake, one) for mistake in picked):
            continue
        two = rounded(apply(random_symmetry(one, way, int(random.integers(99))), one), "F32") if way else one
        for mistake in picked:
            two = MADE[mistake](two, random)
        two = rounded(two, "BF16") if random.integers(4) == 0 and "f16-overflow" not in picked else two
        start = time.process_time()
        found = same_checkpoints(one, two)
        slowest = max(slowest, time.process_time() - start)
        named = {each.mistake for each in found.explained}
        kind = "named" if named == {*picked} else "none" if not named else "otherwise"
        kind = kind if found.answer.value in ("different", "undecided") else f"answer {found.answer.value}"
        told[f"{len(picked)} mistakes" + (", rewritten" if way else ""), kind] += 1
        if kind != "named":
            print(f"{family}, {', '.join(picked)}, {' '.join(way) or 'as it is'}: {kind}, {sorted(named)}")
    for (what, kind), number in sorted(told.items()):
        print(f"{what:24} {kind:20} {number:5}")
    print(f"slowest {slowest:.2f} s")


if __name__ == "__main__":
    main(*(int(given) for given in [*sys.argv[1:], *["100", "0"][len(sys.argv) - 1 :]]))
