r"""Degenerate lightning layers: the exact pair of a theorem against the ideal of their own function.

    python benchmarks/degenerate_layers.py 1000 --seed 1 --work 1

Layers of width at most 2 with zeros, factors of rank one, values parallel to scores. The function with letters added
to the given weights is expanded; `polynomial_coefficient` of its coefficients, at the origin, knows weights, initial
monomials and faces, and no theorem about layers. The last line says how often it was exact, and with the same
multiplicity; a value outside of its bounds, or another multiplicity, ends the run.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import sympy

from lightning_sym import TooLarge, Weights, learning_coefficient, polynomial_coefficient

Rows = list[list[int]]


def random_matrix(draw: random.Random, rows: int, columns: int) -> Rows:
    """Return a random integer matrix: full, zero, of rank one, or with small entries."""
    kind = draw.choice(["full", "zero", "one", "small", "small"])
    if kind == "one":
        left, right = ([draw.randint(-1, 1) for _ in range(size)] for size in (rows, columns))
        return [[a * b for b in right] for a in left]
    entries = {"full": range(-4, 5), "zero": [0], "small": [-1, 0, 0, 1]}[kind]
    return [[draw.choice(entries) for _ in range(columns)] for _ in range(rows)]


def layer(draw: random.Random) -> tuple[dict[str, Rows], int]:
    """Return one layer, and its tokens; values and keys are multiples of one form in a third of them."""
    d, out, a = (draw.choice([1, 2, 2]) for _ in range(3))
    own = {"Q1": random_matrix(draw, a, d), "K1": random_matrix(draw, a, d), "V1": random_matrix(draw, out, d)}
    if draw.random() < 0.33:
        form = [draw.choice([0, 1, 1, 2]) for _ in range(d)]
        own["K1"] = [[k * x for x in form] for k in [draw.randint(-1, 1) for _ in range(a)]]
        own["V1"] = [[u * x for x in form] for u in [draw.randint(-1, 1) for _ in range(out)]]
    return own, draw.choice([1, 2])


def ideal(own: dict[str, Rows], tokens: int) -> list[sympy.Expr]:
    """Return the coefficients of the function near the weights, less those at them, by plain sums."""
    letters: list[sympy.Symbol] = []

    def moved(name: str) -> list[list[sympy.Expr]]:
        found = []
        for row in own[name]:
            fresh = [sympy.Symbol(f"w{len(letters) + i}") for i in range(len(row))]
            letters.extend(fresh)
            found.append([x + s for x, s in zip(row, fresh, strict=True)])
        return found

    query, key, value = (moved(name) for name in ("Q1", "K1", "V1"))
    d = len(key[0])
    x = [[sympy.Symbol(f"x{i}{j}") for j in range(tokens)] for i in range(d)]
    found = []
    inputs = [entry for row in x for entry in row]

    def read(form: list[sympy.Expr], j: int) -> sympy.Expr:
        return sum(c * x[i][j] for i, c in enumerate(form))

    for v, k in product(value, range(tokens)):
        pairs = list(zip(key, query, strict=True))
        total = sum(read(v, j) * sum(read(r, j) * read(s, k) for r, s in pairs) for j in range(tokens))
        coefficients = sympy.Poly(sympy.expand(total), *inputs).coeffs()
        found += [sympy.expand(c - c.subs(dict.fromkeys(letters, 0))) for c in coefficients]
    distinct = {c for c in found if c != 0}
    return sorted(distinct, key=str)


def compared(own: dict[str, Rows], tokens: int, work: float) -> str:
    """Return how an answer compares with the bounds of its ideal."""
    exact = learning_coefficient(Weights.of(own), tokens)
    if not exact.certified:
        return "the layer itself is open"
    polynomials = ideal(own, tokens)
    if not polynomials:
        if exact.upper != Fraction(0):
            raise SystemExit(f"no polynomial, but {exact}: {own}, {tokens} tokens")
        return "exact"
    try:
        bounds = polynomial_coefficient(polynomials, work=work)
    except TooLarge:
        return "too large"
    good = bounds.lower <= exact.lower <= bounds.upper
    told = bounds.certified and bounds.multiplicity is not None
    if not good or (told and bounds.multiplicity != exact.multiplicity):
        raise SystemExit(f"{exact} is not {bounds}: {own}, {tokens} tokens")
    if told:
        return "exact, with the multiplicity"
    return "exact" if bounds.certified else "between bounds"


def main() -> None:
    """Compare so many layers, all different."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=float, default=1.0)
    asked = parser.parse_args()
    draw, seen, counts = random.Random(asked.seed), set[str](), Counter[str]()
    while counts.total() < asked.count:
        own, tokens = layer(draw)
        if str((own, tokens)) not in seen:
            seen.add(str((own, tokens)))
            counts[compared(own, tokens, asked.work)] += 1
            if counts.total() % 50 == 0:
                print(counts.total(), dict(counts), flush=True)
    print(f"{counts.total()} layers: " + ", ".join(f"{number} {said}" for said, number in counts.most_common()))


if __name__ == "__main__":
    main()
