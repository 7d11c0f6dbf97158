"""Count the connected components of small real fibers anew, by points and paths, and compare: `--count 200 --seed 0`.

Nothing here knows a theorem. Points of the fiber are found by Newton's method from random starts, in floats. Short
steps in the fiber, each brought back to it, make their weights as small as can be; then two points are joined if such
steps lead from one to the other, directly or over another point; where they do not, points wander about. What is
counted is no proof: it may be too large where a path was not found, and too small where a component was not met. What
differs from `real_components` is printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))

from lightning_sym import Architecture, Weights, fiber

Vectors = npt.NDArray[np.float64]
"""One set of weights a row."""

STEP, CLOSE = 0.25, 1e-9

MOST_STEPS, PAIRS, ROUNDS, WANDERING = 50, 80, 24, 3


@dataclass
class Equations:
    """The function of a network less that of given weights, at random inputs, as equations for its weights."""

    shape: Architecture
    inputs: npt.NDArray[np.float64]
    wanted: npt.NDArray[np.float64]

    def outputs(self, vectors: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
        """Return the outputs of weights that are given one after the other, one network a row."""
        many = len(vectors)
        x, at = np.broadcast_to(self.inputs.astype(complex), (many, *self.inputs.shape)), 0
        for i, a in enumerate(self.shape.attention_ranks):
            d, behind = self.shape.widths[i : i + 2]
            query, key, value = (
                vectors[:, s : s + r * d].reshape(many, 1, r, d)
                for s, r in zip((at, at + a * d, at + 2 * a * d), (a, a, behind), strict=True)
            )
            x = value @ x @ (x.mT @ key.mT @ (query @ x))
            at += (2 * a + behind) * d
        return x.reshape(many, -1)

    def linear(self, vectors: Vectors) -> tuple[Vectors, Vectors, Vectors]:
        """Return the differentials, their inverses, and how much is left; complex steps lose nothing here."""
        many, size = vectors.shape
        moved = np.repeat(vectors.astype(complex)[:, None, :], size, axis=1)
        moved[:, range(size), range(size)] += 1e-30j
        found = self.outputs(moved.reshape(-1, size)).reshape(many, size, -1)
        unit = np.abs(self.wanted).max() or 1.0  # of degree 9 in the inputs for two layers, so outputs may be large
        differential = found.imag.mT * (1e30 / unit)
        inverse = np.linalg.pinv(differential, rcond=1e-7).astype(np.float64)
        return differential, inverse, (found[:, 0].real - self.wanted) / unit

    def steps(self, vectors: Vectors) -> tuple[Vectors, npt.NDArray[np.float64]]:
        """Return Newton's steps, and how much is left."""
        _, inverse, left = self.linear(vectors)
        return (inverse @ left[..., None])[..., 0], np.abs(left).max(axis=1)

    def lowered(self, vectors: Vectors) -> Vectors:
        """Return points that short steps in the fiber lead to, each to smaller weights, the smallest if it goes well.

        So all weights with the zero function meet at 0, where the fiber is singular and Newton's method fails, and
        elsewhere points with a spare row, or far away, come to a compact set.
        """
        here, going = vectors.copy(), np.arange(len(vectors))
        for _ in range(MOST_STEPS):
            differential, inverse, _ = self.linear(here[going])
            way = (inverse @ (differential @ here[going][..., None]))[..., 0] - here[going]
            length = np.linalg.norm(way, axis=1, keepdims=True)
            after, good = self.brought_back(here[going] + way * np.minimum(0.5, STEP / np.maximum(length, 1e-9)), 5)
            good &= np.linalg.norm(after - here[going], axis=1) < 2 * STEP
            good &= np.linalg.norm(after, axis=1) < np.linalg.norm(here[going], axis=1) - 1e-4
            going = going[good]
            if not len(going):
                break
            here[going] = after[good]
        return here

    def brought_back(self, vectors: Vectors, most: int) -> tuple[Vectors, npt.NDArray[np.bool_]]:
        """Return points near these, and whether they are in the fiber."""
        here = vectors.copy()
        for _ in range(most):
            step, left = self.steps(here)
            if (left < CLOSE).all():
                break
            length = np.linalg.norm(step, axis=1, keepdims=True)
            here = here - np.where(left[:, None] < CLOSE, 0, step * np.minimum(1, 2 / np.maximum(length, 1e-300)))
        return here, self.steps(here)[1] < CLOSE

    def wandered(self, vectors: Vectors, generator: np.random.Generator) -> Vectors:
        """Return points that a short step in the fiber leads to, each in a direction of its own."""
        way = generator.normal(size=vectors.shape)
        way *= STEP / np.linalg.norm(way, axis=1, keepdims=True)
        after, good = self.brought_back(vectors + way, 5)
        good &= np.linalg.norm(after - vectors, axis=1) < 2 * STEP
        return np.where(good[:, None], after, vectors)

    def joined(self, starts: Vectors, ends: Vectors) -> npt.NDArray[np.bool_]:
        """Return whether a path of short steps was found, pair by pair."""
        here, done = starts.copy(), np.zeros(len(starts), dtype=bool)
        going, best = np.arange(len(starts)), np.full(len(starts), np.inf)
        for _ in range(MOST_STEPS):
            way = ends[going] - here[going]
            distance = np.linalg.norm(way, axis=1)
            done[going[distance < STEP]] = True
            keep = (distance >= STEP) & (distance < best[going] - 1e-3)
            best[going], going, way, distance = distance, going[keep], way[keep], distance[keep]
            if not len(going):
                break
            after, good = self.brought_back(here[going] + way * (STEP / distance)[:, None], 5)
            good &= np.linalg.norm(after - here[going], axis=1) < 2 * STEP
            here[going[good]] = after[good]
            going = going[good]
        return done


def counted(equations: Equations, size: int, generator: np.random.Generator, points: int) -> int:
    """Return how many classes of points were found that paths do not join."""
    found = np.zeros((0, size))
    for _ in range(12):
        starts = generator.normal(size=(points, size)) * generator.choice([0.7, 1.1, 1.6], size=(points, 1))
        ends, good = equations.brought_back(starts, 25)
        found = np.concatenate([found, ends[good & (np.linalg.norm(ends, axis=1) < 8)]])[:points]
        if len(found) == points:
            break
    found = equations.lowered(found)
    names = np.arange(len(found))
    for number in range(ROUNDS):
        for _ in range(WANDERING if number else 0):  # what was not joined before, as from opposite points of a circle
            found = equations.wandered(found, generator)
        apart = np.linalg.norm(found[:, None] - found[None], axis=2)
        rows, columns = np.nonzero(np.triu(names[:, None] != names[None], 1))
        if not len(rows):
            break
        # near ones first, then any; small classes are looked at more often
        sizes = np.bincount(names, minlength=len(found))
        small = np.minimum(sizes[names[rows]], sizes[names[columns]])
        order = np.argsort(apart[rows, columns] * small ** (number % 2) * generator.uniform(0.5, 2, len(rows)))[:PAIRS]
        done = equations.joined(found[rows[order]], found[columns[order]])
        for i, j in zip(rows[order][done], columns[order][done], strict=True):
            names[names == names[j]] = names[i]
    return len(set(names.tolist()))


SHAPES = [
    ((1, 1), (1,), 2), ((1, 1), (2,), 2), ((1, 2), (1,), 1), ((2, 1), (1,), 2), ((2, 1), (2,), 2), ((2, 2), (1,), 2),
    ((2, 2), (2,), 2), ((2, 1), (1,), 1), ((2, 2), (1,), 1), ((2, 1), (2,), 1), ((2, 2), (2,), 1), ((2, 1), (3,), 1),
    ((1, 1, 1), (1, 1), 2), ((1, 2, 1), (1, 1), 2), ((1, 1, 1), (2, 1), 2),
]  # fmt: skip


def networks(generator: np.random.Generator) -> Iterator[tuple[Weights, int]]:
    """Yield small networks: general ones, of rank one, skew, degenerate."""
    while True:
        widths, ranks, tokens = SHAPES[generator.integers(len(SHAPES))]
        matrices: dict[str, list[list[int]]] = {}
        kind = generator.choice(["general", "rank one", "skew", "zero in it"])
        for i, a in enumerate(ranks, start=1):
            d, behind = widths[i - 1 : i + 1]
            query, key, value = (generator.integers(-2, 3, size=(n, d)) for n in (a, a, behind))
            if kind == "rank one":
                query[1:], value[1:] = 0, 0
            if kind == "skew" and a == d == 2:
                query, key = np.array([[0, 1], [-1, 0]]), np.eye(2, dtype=int)
            if kind == "zero in it":
                query[:, 0] = 0
            matrices |= {f"Q{i}": query.tolist(), f"K{i}": key.tolist(), f"V{i}": value.tolist()}
        yield Weights.of(matrices), tokens


def main() -> int:
    """Compare, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--points", type=int, default=40)
    given = parser.parse_args()
    generator = np.random.default_rng(given.seed)
    equal = unknown = 0
    for number, (weights, tokens) in enumerate(networks(generator)):
        if number and number % 20 == 0:
            print(f"{equal} of {number - unknown} so far", file=sys.stderr, flush=True)
        if number == given.count:
            break
        known = fiber(weights, tokens)
        if known.real_components is None:
            unknown += 1
            continue
        shape = weights.architecture(tokens)
        inputs = generator.normal(size=(8, shape.widths[0], tokens))
        equations = Equations(shape, inputs, np.zeros(0))
        flat = np.concatenate([np.array(m, dtype=float).ravel() for m in weights.named().values()])
        equations.wanted = equations.outputs(flat[None].astype(complex)).real
        points = max(given.points, 6 * known.real_components)
        own = counted(equations, len(flat), generator, points)
        equal += own == known.real_components
        if own != known.real_components:
            print(f"{number}: {own} counted, {known.real_components} said: {weights!r}, {tokens} tokens", flush=True)
    print(f"{equal} of {given.count - unknown} counts are equal, {unknown} are not said")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
