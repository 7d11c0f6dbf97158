"""Every ring keeps the contract of `rings.protocol`, and a ring that does not is found out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from conformance import NETWORKS, RINGS, Ring, ask_values, conforms
from series_conformance import ONE_PLUS_Y, SERIES_RINGS, SeriesRing, ask_series

from lightning_sym import SOFTMAX, Architecture, Layer
from lightning_sym.errors import RingError, ShapeError
from lightning_sym.network.attention import Form, attention_layer, form_of, network_output
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues
from lightning_sym.rings.rationals import map_entries


@pytest.mark.parametrize("ring", RINGS, ids=lambda ring: ring.name)
def test_every_ring_conforms(ring: Ring) -> None:
    conforms(ring)


@pytest.mark.parametrize("normalization", [None, SOFTMAX, ONE_PLUS_Y], ids=["lightning", "softmax", "1 + y"])
@pytest.mark.parametrize("ring", SERIES_RINGS, ids=lambda ring: ring.name)
def test_every_ring_of_series_conforms(ring: SeriesRing, normalization: Any) -> None:
    for shape in NETWORKS.values():
        for causal in (False, True):
            ask_series(ring, replace(shape, causal=causal), normalization)


# ---- mutants: rings that break the contract are refused by the questions above


class _NoTranspose:
    """Rational matrices that forget to transpose."""

    def __init__(self, entries: Any) -> None:
        self.entries = entries

    def __matmul__(self, other: _NoTranspose) -> _NoTranspose:
        return _NoTranspose(self.entries @ other.entries)

    def __add__(self, other: _NoTranspose) -> _NoTranspose:
        return _NoTranspose(self.entries + other.entries)

    def __mul__(self, other: _NoTranspose) -> _NoTranspose:
        return _NoTranspose(self.entries * other.entries)

    def like(self, numbers: Any) -> _NoTranspose:
        return _NoTranspose(numbers)

    @property
    def mT(self) -> _NoTranspose:  # noqa: N802
        return self


MUTANTS = [
    Ring("no transpose", lambda _, m: _NoTranspose(m), lambda v, _: v.entries),
    Ring("off by one", lambda name, m: m + (name == "V1"), lambda v, _: v),
    Ring("rounded", lambda _, m: map_entries(lambda v: Fraction(round(v)), m), lambda v, _: v),
    Ring("residues read as numbers", lambda _, m: random_residues(np.random.default_rng(0), m.shape, PRIMES[0]),
         lambda v, _: v.residues(), PRIMES[0]),
]  # fmt: skip


@pytest.mark.parametrize("ring", MUTANTS, ids=lambda ring: ring.name)
def test_mutants_are_found(ring: Ring) -> None:
    with pytest.raises(AssertionError):
        ask_values(ring, Architecture((2, 2), (2,), 2))


# ---- shapes are compared before entries are added: rings of arrays would repeat rows and columns


@pytest.mark.parametrize("ring", [ring for ring in RINGS if ring.masks], ids=lambda ring: ring.name)
def test_shapes_are_compared_first(ring: Ring) -> None:
    def matrix(rows: int, columns: int) -> Any:
        return ring.make("", map_entries(Fraction, np.ones((rows, columns), dtype=object)))

    wide, narrow = (Layer(matrix(1, 2), matrix(1, 2), matrix(d_out, 2)) for d_out in (2, 1))
    with pytest.raises(ShapeError, match="added to the stream must be of shape 2 x 3, got 1 x 3"):
        attention_layer(matrix(2, 3), [wide, narrow])
    with pytest.raises(ShapeError, match="added to the stream must be of shape 2 x 3, got 1 x 3"):
        attention_layer(matrix(2, 3), narrow, Form(skip=True))
    one_token = Architecture((2, 2), (1,), 1, causal=True)
    with pytest.raises(ShapeError, match="the input must be of shape 2 x 1, got 2 x 3"):
        network_output(matrix(2, 3), one_token, [matrix(1, 2), matrix(1, 2), matrix(2, 2)])
    with pytest.raises(ShapeError, match="behind a mask must be of shape 1 x 1, got 3 x 3"):
        attention_layer(matrix(2, 3), wide, form_of(one_token))


# ---- what a ring does not have is refused in one line of ours


@pytest.mark.parametrize(
    ("network", "matrix", "message"),
    [
        (Architecture((1, 1), (1,), 2, SOFTMAX), np.array([[1, 2]], dtype=object),
         "softmax needs a ring with the operation apply, arrays of int have none"),
        (Architecture((1, 1), (1,), 2, SOFTMAX), PrimeFieldMatrix.of(np.array([[1, 2]]), PRIMES[0]),
         "softmax needs a ring with the operation apply, PrimeFieldMatrix has none"),
    ],
    ids=["arrays", "residues"],
)  # fmt: skip
def test_the_refusal_names_the_ring(network: Architecture, matrix: Any, message: str) -> None:
    one = matrix[:, :1] if isinstance(matrix, np.ndarray) else PrimeFieldMatrix.of(np.array([[1]]), PRIMES[0])
    with pytest.raises(RingError, match=message):
        network_output(matrix, network, [one] * 3)
