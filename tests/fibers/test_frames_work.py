"""What frames and changes of layers take: their own code over sizes, against what is counted at real lengths."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from counted import Counted, counted

from lightning_sym import SOFTMAX, Architecture, Weights
from lightning_sym.exact import rational, subspaces
from lightning_sym.exact.rational import row_echelon
from lightning_sym.fibers import frames, kept_layers
from lightning_sym.limits import Work
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import Sizes

FACTOR = 3
P = 4194301


def random_weights(source: random.Random) -> Weights:
    """One to three layers, all options, short and long numbers."""
    depth, skip, width = source.randint(1, 3), source.random() < 0.5, source.randint(4, 12)
    widths = (width,) * (depth + 1) if skip else tuple(source.randint(4, 12) for _ in range(depth + 1))
    options: dict[str, Any] = {"skip": skip, "heads": source.choice((1, 2, 3))}
    if source.random() < 0.7:
        options["value_ranks"] = tuple(source.randint(1, 2) for _ in range(depth))
    for end in ("embed", "unembed"):
        if source.random() < 0.5:
            options[end] = source.randint(2, 5)
    ranks = tuple(source.randint(1, 2) for _ in range(depth))
    shape = Architecture(widths, ranks, 2, source.choice((None, SOFTMAX)), **options)
    bound, low = source.choice((9, 10**6)), source.choice((1, 10**3))
    return Weights.random(shape, seed=source.randint(0, 99), bound=bound, denominator=low)


@contextmanager
def spans_counted() -> Iterator[Counted]:
    """Count reduced bases too, by the length that they have, kernels by an elimination, and what is read off them."""
    with counted() as found:
        price = found.prices["rationals"]

        def spanned(matrix: RationalMatrix) -> rational.RowEchelon:
            result = row_echelon(matrix)
            (rows, columns), rank, long = matrix.shape, len(result.pivots), result.rows.bits
            Sizes((rank, rank), price, bits=long) @ Sizes((rank, rows + columns), price, bits=matrix.bits)
            Sizes(result.rows.shape, price, bits=long).read()
            return result

        def kernel(matrix: RationalMatrix) -> rational.RowEchelon:
            Sizes(matrix.shape, price).rank()
            result = row_echelon(matrix)
            Sizes(result.rows.shape, price, bits=result.rows.bits).read()
            return result

        def read(inner: Callable[[Any], RationalMatrix]) -> Callable[[Any], RationalMatrix]:
            def told(given: Any) -> RationalMatrix:
                found.rational(result := inner(given)).read()
                return result

            return told

        with (
            patch.object(subspaces, "row_echelon", spanned),
            patch.object(rational, "row_echelon", kernel),
            patch.object(subspaces.Subspace, "orthogonal", read(subspaces.Subspace.orthogonal)),
            patch.object(frames, "integer_columns", read(rational.integer_columns)),
        ):
            yield found


def frames_of(weights: Weights, work: Work) -> None:
    list(frames.frames(weights, weights.architecture(2), work))


def all_of(weights: Weights, work: Work) -> None:
    for frame in kept_layers.kept_layers(weights, 2, P, work):
        for place in frame:
            list(place)


def ratio(question: Callable[[Weights, Work], None], weights: Weights) -> float:
    """What is estimated by what is counted."""
    work = Work(10**6)
    with spans_counted() as done:
        question(weights, work)
    return work.spent / done.seconds


@pytest.mark.parametrize("seed", range(12))
def test_frames_price_themselves(seed: int) -> None:
    assert 1 / FACTOR <= ratio(frames_of, random_weights(random.Random(seed))) <= FACTOR


@pytest.mark.parametrize("seed", range(5))
def test_changes_of_layers_are_no_dearer_than_said(seed: int) -> None:
    """How many there are is not known before, so they may be far cheaper."""
    assert 1 / FACTOR <= ratio(all_of, random_weights(random.Random(seed))) <= 3 * FACTOR


def test_lengths_that_are_forgotten_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = Architecture((8, 4, 8), (1, 1), 2, SOFTMAX, heads=2, value_ranks=(1, 2), embed=3, unembed=4)
    long = Weights.random(shape, seed=1, bound=10**18, denominator=10**18)
    assert 1 / FACTOR <= ratio(frames_of, long) <= FACTOR
    monkeypatch.setattr(frames, "Sizes", lambda shape, price, bits: Sizes(shape, price))
    assert ratio(frames_of, long) < 1 / FACTOR
