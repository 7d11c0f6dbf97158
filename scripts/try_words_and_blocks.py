"""Small softmax networks sorted by their outputs, in floating point: does `same` ever contradict what the sorting says?

Networks of three tokens or more are drawn from small integers, so that many have equal, opposite, skew or idle heads,
and many pairs have one function. Outputs are a forward pass of its own. Of two networks with the same outputs `same`
must not say *different*, of two with other outputs not *same*; and the theorems that say what is determined must not
hold two of the first kind apart, in either order. Printed: pairs of each kind, answers, and what is wrong.

    .venv/bin/python scripts/try_words_and_blocks.py --pairs 2000 --seed 1
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import product
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym import SOFTMAX, Answer, NetworkForm, Weights, same_function
from lightning_sym.fibers.determined import APART, apart_by_theorem
from lightning_sym.limits import Work
from lightning_sym.system.circuits import NetworkCircuits

Networks = dict[str, npt.NDArray[Any]]
SIZES = [
    # input, width, heads of each layer
    (1, 1, (2, 2)), (1, 1, (2, 2, 2)), (1, 1, (1, 1, 1)), (1, 2, (2, 2)), (1, 3, (2, 1)), (2, 2, (1, 1, 1)),
    (2, 2, (2, 2)), (1, 2, (1, 1, 1)), (2, 3, (1, 1, 1)),
]  # fmt: skip


def drawn(source: np.random.Generator, count: int, n: int, d: int, heads: tuple[int, ...]) -> Networks:
    """Return so many random networks, named as weights are; layers of fewer heads have idle ones."""
    most, found = max(heads), dict[str, npt.NDArray[Any]]()
    if n < d:
        found["E"] = np.repeat(np.eye(d, dtype=int)[None, :, :n], count, axis=0)
    for i, many in enumerate(heads, 1):
        skew = source.integers(-1, 2, (count, d, d))
        for h in range(1, most + 1):
            a, v = source.integers(-1, 2, (2, count, d, d))
            kind = source.integers(0, 6, count)[:, None, None]
            first = found.get(f"Q{i}.1", a)
            a = np.select(
                [kind == 0, kind == 1, kind == 2],
                [-first, -first.transpose(0, 2, 1), skew - skew.transpose(0, 2, 1)],
                a,
            )
            place = f"{i}.{h}" if most > 1 else f"{i}"
            found |= {f"Q{place}": a, f"K{place}": np.repeat(np.eye(d, dtype=int)[None], count, axis=0)}
            found[f"V{place}"] = v if h <= many else 0 * v
    return found


def outputs(
    nets: Networks, x: npt.NDArray[Any], heads: tuple[int, ...], *, causal: bool, skip: bool
) -> npt.NDArray[Any]:
    """Return the outputs of all networks at an input `x`."""
    count, t, most = len(next(iter(nets.values()))), x.shape[1], max(heads)
    seen = np.triu(np.ones((t, t), bool)) if causal else np.ones((t, t), bool)
    stream = nets["E"] @ x if "E" in nets else np.repeat(x[None], count, axis=0)
    for i in range(1, len(heads) + 1):
        behind = stream if skip else 0 * stream
        for h in range(1, most + 1):
            place = f"{i}.{h}" if most > 1 else f"{i}"
            scores = stream.transpose(0, 2, 1) @ nets[f"Q{place}"] @ stream
            pattern = np.exp(np.where(seen, scores - scores.max(axis=1, keepdims=True), -np.inf))
            behind = behind + nets[f"V{place}"] @ stream @ (pattern / pattern.sum(axis=1, keepdims=True))
        stream = behind
    return stream.reshape(count, -1)


def main() -> None:
    """Draw, sort, ask."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--drawn", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    source, answers, wrong = np.random.default_rng(given.seed), Counter[str](), []
    asked, rounds = 0, 0
    while asked < given.pairs:
        rounds += 1
        n, d, heads = SIZES[rounds % len(SIZES)]
        tokens, causal, skip = int(source.integers(3, 5)), bool(source.random() < 0.5), bool(source.random() < 0.8)
        nets = drawn(source, given.drawn, n, d, heads)
        found = np.hstack(
            [outputs(nets, source.uniform(-3, 3, (n, tokens)), heads, causal=causal, skip=skip) for _ in "ab"]
        )
        order = np.argsort(found @ source.uniform(1, 2, found.shape[1]))
        near = np.abs(np.diff(found[order], axis=0)).max(axis=1) < 1e-10
        # random pairs of neighbours with one function that is not zero, and as many with others
        alive = np.abs(found[order][1:]).max(axis=1) > 1e-6
        equal = source.permutation(np.flatnonzero(near & alive))[:20]
        other = source.permutation(np.flatnonzero(np.abs(np.diff(found[order], axis=0)).max(axis=1) > 1e-6))[:10]
        for place in (*equal, *other):
            form, chosen = NetworkForm(SOFTMAX, causal=causal, skip=skip), order[[place, place + 1]]
            pair = [Weights.of({name: m[k] for name, m in nets.items()}, form) for k in chosen]
            answer = same_function(pair[0], pair[1], tokens)
            truth = "equal" if near[place] else "other"
            answers[f"{truth}: {answer.answer.value}{', ' + answer.theorem if answer.theorem else ''}"] += 1
            nets_of = [NetworkCircuits.of(each) for each in pair]
            for k, row in product((0, 1), range(len(APART))):
                chosen_row = slice(row, row + 1)
                by = apart_by_theorem(pair[k], nets_of[k], nets_of[1 - k], tokens, Random(asked), Work(), chosen_row)[0]
                said = "does not hold" if by is None else "holds"
                answers[f"{truth}: {APART[row].citation}, asked alone, {said} them apart"] += 1
                if near[place] and by is not None:
                    wrong.append((n, d, heads, tokens, causal, skip, by, pair))
            if answer.answer is (Answer.DIFFERENT if near[place] else Answer.SAME):
                wrong.append((n, d, heads, tokens, causal, skip, answer.because, pair))
            asked += 1
    for line, count in sorted(answers.items()):
        print(f"{count:8,}  {line}")
    print(f"{asked:,} pairs, {len(wrong)} wrong")
    for each in wrong[:5]:
        print(each)


if __name__ == "__main__":
    main()
