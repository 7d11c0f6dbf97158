"""What equations are said to take: their own steps over sizes, against what is counted while they are found."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from lightning_sym import Architecture
from lightning_sym.exact.rational import null_space
from lightning_sym.limits import Work
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.varieties import by_degree, coefficient_relations, graded, map_coordinates, weight_space
from lightning_sym.varieties.by_degree import Ideal
from lightning_sym.varieties.coordinates import coordinate_system

FACTOR = 3
STEPS = {"echelons": "equations of degree", "rationals": "linear relations", "indices": "monomials of degree"}
"""By ring the step, as budgets are told of it."""


def random_shape(source: random.Random) -> Architecture:
    """One or two layers, few coordinates, all options but two."""
    depth, skip = source.choice((1, 1, 2)), source.random() < 0.3
    widths = (2,) * (depth + 1) if skip else (2, *(source.randint(1, 2) for _ in range(depth)))
    tokens, causal = source.randint(1, 3 if depth == 1 else 1), source.random() < 0.4
    ranks = tuple(source.randint(1, 2) for _ in range(depth))
    return Architecture(widths, ranks, tokens, heads=source.choice((1, 1, 2)), skip=skip, causal=causal)


@contextmanager
def counted() -> Iterator[dict[str, Price]]:
    """Count products, eliminations and monomials by their real sizes."""
    found = {ring: Price(ring) for ring in STEPS}
    echelons, over_q, indices = found.values()

    def eliminated(inner: Callable[[Any, int], Any]) -> Callable[[Any, int], Any]:
        def told(matrix: Any, p: int) -> Any:
            Sizes(matrix.shape, echelons).rank()
            return inner(matrix, p)

        return told

    def evaluated(values: Any, rows: Any, points: int, p: int) -> Any:
        map_coordinates.multiplied([Sizes((points, len(rows)), echelons)] * rows.shape[1])
        return weight_space.evaluated(values, rows, points, p)

    def kernel(matrix: Any) -> Any:
        real = RationalMatrix.of(matrix)
        sized = Sizes(matrix.shape, over_q, bits=real.bits)
        sized.read()
        sized.rank()
        vectors = null_space(matrix)
        Sizes((len(vectors), matrix.shape[1]), over_q).read()
        return vectors

    def extended(self: Any, rows: Any, codes: Any) -> Any:
        longer, added = graded_extended(self, rows, codes)
        indices.enter("entry", longer.size)
        return longer, added

    def is_dominant(self: Any, codes: Any) -> Any:
        indices.enter("function", self.length * len(codes))
        indices.enter("read", len(codes))
        return graded_is_dominant(self, codes)

    def multiples(self: Ideal, code: int, rows: Any) -> Any:
        for block in ideal_multiples(self, code, rows):
            echelons.enter("entry", 4 * block.size)
            yield block

    ideal_multiples = Ideal._multiples
    graded_extended, graded_is_dominant = graded.Grading._extended, graded.Grading._is_dominant
    with ExitStack() as patches:
        for name in ("independent_columns", "reduced_echelon_mod_p"):
            patches.enter_context(patch.object(by_degree, name, eliminated(getattr(by_degree, name))))
        patches.enter_context(patch.object(by_degree, "evaluated", evaluated))
        patches.enter_context(patch.object(Ideal, "_multiples", multiples))
        patches.enter_context(patch.object(coefficient_relations, "null_space", kernel))
        patches.enter_context(patch.object(coefficient_relations, "price_of_comparison", lambda *_: Price("terms")))
        patches.enter_context(patch.object(graded.Grading, "_extended", extended))
        patches.enter_context(patch.object(graded.Grading, "_is_dominant", is_dominant))
        yield found


def ratios(shape: Architecture, degree: int) -> dict[str, float]:
    """What is estimated by what is counted, by ring; what takes next to nothing is left out."""
    told, spend = defaultdict[str, float](float), Work.spend

    def spent(self: Work, seconds: float, what: str) -> None:
        for ring, step in STEPS.items():
            told[ring] += seconds * (step in what)
        spend(self, seconds, what)

    with counted() as done, patch.object(Work, "spend", spent):
        work = Work(10**6)
        ideal = Ideal(coordinate_system(shape, work=work), 0, 2**30, lambda *_: None, work)
        for _ in range(2, degree + 1):
            ideal.advance(ideal.plan())
    return {ring: told[ring] / price.seconds for ring, price in done.items() if price.seconds > 1e-4}


@pytest.mark.parametrize("seed", [0, 2, 4, 7, 12, 20, 26, 42])
def test_equations_price_themselves(seed: int) -> None:
    found = ratios(random_shape(random.Random(seed)), 3)
    assert found
    assert all(1 / FACTOR <= ratio <= FACTOR for ratio in found.values()), found


def test_weights_that_are_forgotten_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = random_shape(random.Random(20))
    monkeypatch.setattr(by_degree, "price_of_weight", lambda *_, **__: Price(weight_space.ECHELONS))
    assert ratios(shape, 3)["echelons"] < 1 / FACTOR
