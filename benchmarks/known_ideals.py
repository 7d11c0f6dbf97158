r"""Ideals whose learning coefficient is known by the rules alone, against both bounds of `polynomial_coefficient`.

    python benchmarks/known_ideals.py 1000 --seed 1 --work 0.5

Atoms are $x^a$, with $2 \lambda = 1/a$, and sums of signed powers, $\sum \pm x_i^{a_i}$, with $2 \lambda = \sum 1/a_i$
where all signs are one and all powers even, else the smaller one of that and 1: volumes of a sum of independent
quantities. They are added, multiplied and raised to powers in separate variables, and then a triangular change of
coordinates hides it. No Newton polyhedron is used. The last line says how many were exact and how many only between
bounds; a value outside of its bounds, or another multiplicity, ends the run.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import prod

import sympy

from lightning_sym import TooLarge, polynomial_coefficient


@dataclass(frozen=True)
class Known:
    """Generators, with twice the coefficient and the multiplicity."""

    generators: tuple[sympy.Expr, ...]
    twice: Fraction
    order: int

    def __add__(self, other: Known) -> Known:
        return Known(self.generators + other.generators, self.twice + other.twice, self.order + other.order - 1)

    def __mul__(self, other: Known) -> Known:
        generators = tuple(f * g for f, g in product(self.generators, other.generators))
        twice = min(self.twice, other.twice)
        order = sum(each.order for each in (self, other) if each.twice == twice)
        return Known(generators, twice, order)

    def power(self, k: int) -> Known:
        generators = tuple(prod(chosen) for chosen in combinations_with_replacement(self.generators, k))
        return Known(generators, self.twice / k, self.order)


def signed_powers(draw: random.Random, letters: list[sympy.Symbol]) -> Known:
    """Return a sum of powers of each letter; of one letter its power."""
    powers = [draw.choice([1, 2, 2, 3, 4]) for _ in letters]
    signs = [draw.choice([1, -1]) for _ in letters]
    total = sum((Fraction(1, a) for a in powers), Fraction(0))
    f = sum(sign * x**a for sign, x, a in zip(signs, letters, powers, strict=True))
    if len(letters) == 1 or (len(set(signs)) == 1 and not any(a % 2 for a in powers)):
        return Known((f,), total, 1)
    return Known((f,), min(total, Fraction(1)), 2 if total == 1 else 1)


def random_ideal(draw: random.Random) -> Known:
    """Return one of up to five letters, in coordinates that show nothing."""
    letters = list(sympy.symbols(f"x1:{draw.randint(2, 5) + 1}"))
    parts, place = list[Known](), 0
    while place < len(letters):
        size = draw.randint(1, min(3, len(letters) - place))
        parts.append(signed_powers(draw, letters[place : place + size]))
        place += size
    found = parts[0]
    for part in parts[1:]:
        found = found + part if draw.random() < 0.6 else found * part
    if draw.random() < 0.3 and len(found.generators) < 4:
        found = found.power(2)
    if draw.random() < 0.6:
        change = {}
        for i, x in enumerate(letters[1:], 1):
            change[x] = x + draw.choice([0, 1, -2]) * draw.choice(letters[:i]) ** draw.choice([1, 1, 2])
        found = Known(tuple(g.subs(change, simultaneous=True) for g in found.generators), found.twice, found.order)
    return found


def main() -> None:
    """Compare as many as are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=float, default=0.5)
    asked = parser.parse_args()
    seen = Counter[str]()
    for number in range(asked.seed, asked.seed + asked.count):
        known = random_ideal(random.Random(number))
        try:
            found = polynomial_coefficient([sympy.expand(g) for g in known.generators], work=asked.work)
        except TooLarge:
            seen["refused"] += 1
            continue
        twice, m = known.twice, found.multiplicity
        if not 2 * found.lower <= twice <= 2 * found.upper or (found.certified and m not in (None, known.order)):
            raise SystemExit(f"seed {number}: {known}, found {found.lower}, {found.upper}, {m} by {found.proof}")
        seen[f"exact, {found.proof.split(', ')[-1]}" if found.certified else "between bounds"] += 1
        seen["multiplicity proved"] += found.certified and m is not None
    print(f"{asked.count} ideals: {', '.join(f'{count} {what}' for what, count in sorted(seen.items()))}")


if __name__ == "__main__":
    main()
