"""Random pairs of small networks of every form, equal by construction or not: no answer of `same` may be false.

    python tests/attack/same_pairs.py --count 10000 --seed 1

Networks are degenerate often: zeros, equal heads, opposite scores, skew scores, narrow embeddings, blind layers. One
network is moved by changes that keep the function, one after the other; then, for some pairs, an entry is changed. A
pair that was not damaged must not be answered "different". Whatever is answered is compared with a forward pass of
this file's own, in decimal numbers of 60 digits. Exits with 1 if an answer was false; prints what stayed undecided.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field

import mpmath
from small_networks import MOVES, Random, blocks, copied, damage, decimals, farthest, in_decimals, outputs, random_net

from lightning_sym import Answer, same_function
from lightning_sym.errors import TooLarge
from lightning_sym.fibers.transform import transform
from lightning_sym.rings.ball_matrices import DecimalBall

DIGITS = 60
CLOSE = mpmath.mpf(10) ** -30


@dataclass
class Tally:
    """What came of many pairs."""

    answers: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    seeds: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def one_pair(seed: str, tally: Tally) -> None:
    rng = Random(seed)
    first = blocks(rng) if rng.random() < 0.3 else random_net(rng)
    second = copied(first)
    for move in rng.sample(MOVES, rng.randint(1, 4)):
        move(second, rng)
        second.done.append(move.__name__)
    damaged = rng.random() < 0.45
    if damaged:
        damage(second, rng)
    weights = first.weights(rng), second.weights(rng)
    try:
        found = same_function(*weights, first.tokens)
    except TooLarge:
        tally.answers["too large"] += 1
        return
    kind = f"{first.form}, t = {first.tokens}" + ", damaged" * damaged
    tally.answers[f"{found.answer.value}: {found.reason.value}"] += 1
    if found.answer is Answer.DIFFERENT and not damaged:
        tally.faults.append(f"{seed}: {kind}: different, but equal by {second.done}")
    distance = farthest(first, second, rng)
    if found.answer is Answer.SAME:
        if distance > CLOSE:
            tally.faults.append(f"{seed}: {kind}: same, but outputs are {mpmath.nstr(distance, 3)} apart")
        if found.symmetry is not None and found.symmetry.between is not None:
            s = found.symmetry
            bases = {"query_key": s.query_key, "value_output": s.value_output}
            if transform(weights[0], between=s.between, **bases, scales=s.scales, heads=s.heads) != weights[1]:
                tally.faults.append(f"{seed}: {kind}: the group element does not lead to the second network")
    elif found.answer is Answer.DIFFERENT:
        if found.input is not None and found.outputs is not None:
            x = decimals(found.input)
            for net, y in zip(map(in_decimals, (first, second)), found.outputs, strict=True):
                for mine, theirs in zip(outputs(net, x).ravel(), y.ravel(), strict=True):
                    ball = isinstance(theirs, DecimalBall)
                    middle, radius = (theirs.midpoint, theirs.radius) if ball else (theirs, 0)
                    if abs(mine - mpmath.mpf(middle.numerator) / middle.denominator) > radius + CLOSE * (1 + abs(mine)):
                        tally.faults.append(f"{seed}: {kind}: another output than the one that is shown")
        elif distance < mpmath.mpf(10) ** -50:
            tally.faults.append(f"{seed}: {kind}: different, but outputs agree: {found.reason}")
    else:
        truth = "equal" if not damaged else "apart" if distance > CLOSE else "agree"
        tally.undecided[f"{truth}: {kind}"] += 1
        tally.seeds.append(seed)


def run(count: int, seed: int) -> Tally:
    """That many pairs; the same numbers give the same pairs."""
    mpmath.mp.dps = DIGITS
    tally = Tally()
    for number in range(count):
        one_pair(f"{seed}/{number}", tally)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tally = run(given.count, given.seed)
    for name, counter in (("answers", tally.answers), ("undecided", tally.undecided)):
        print(name)
        for key, number in counter.most_common():
            print(f"{number:8d}  {key}")
    print("undecided pairs", *tally.seeds)
    print(*tally.faults, sep="\n")
    print(f"{given.count} pairs, {len(tally.faults)} faults")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
