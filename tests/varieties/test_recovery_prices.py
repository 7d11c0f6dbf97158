"""What recovery and coordinates of maps are said to take, against what is counted while they run: no clock."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import sympy

from lightning_sym import Architecture, Weights, polynomial_map
from lightning_sym.exact import rational
from lightning_sym.fibers import recovery
from lightning_sym.limits import Work
from lightning_sym.network import one_layer
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.rings.rates import RATES
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.varieties import candidates, map_coordinates, map_recovery, membership

FACTOR = 3
STAGES = {"coefficients of one layer": 0, "rotations": 1}
"""What is told to a budget, by its words."""


class Counted:
    """A polynomial that enters what is done with it in a price, by its real terms."""

    def __init__(self, of: Any, done: list[Price]) -> None:
        self.of, self.done = of, done

    def _read(self) -> None:
        self.done[0].enter("read", len(self.of))
        self.done[0].enter("entry", len(self.of) * self.of.context().nvars())

    def to_dict(self) -> Any:
        self._read()
        return self.of.to_dict()

    def monoms(self) -> Any:
        self._read()
        return self.of.monoms()

    def derivative(self, name: str) -> Counted:
        return self._made(self.of.derivative(name))

    def __rmul__(self, other: Any) -> Counted:
        self.done[1].enter("product", len(other) * len(self.of))
        return self._made(other * self.of)

    def __mul__(self, number: int) -> Counted:
        return Counted(self.of * number, self.done)

    def __add__(self, other: Counted) -> Counted:
        return self._made(self.of + other.of)

    def __sub__(self, other: Counted) -> Counted:
        return self._made(self.of - other.of)

    def __neg__(self) -> Counted:
        return Counted(-self.of, self.done)

    def __call__(self, *at: Any) -> Any:
        self.done[-1].enter("product", len(self.of))
        return self.of(*at)

    def _made(self, result: Any) -> Counted:
        self.done[1].enter("call", 1)
        self.done[1].enter("entry", len(result))
        return Counted(result, self.done)

    def __len__(self) -> int:
        return len(self.of)

    def __eq__(self, other: object) -> bool:
        return bool(self.of == other)

    __hash__ = None  # type: ignore[assignment]

    def is_zero(self) -> bool:
        return bool(self.of.is_zero())


@contextmanager
def told() -> Iterator[dict[int, float]]:
    """The seconds that budgets are told of, by stage."""
    found, spend = defaultdict[int, float](float), Work.spend

    def spent(self: Work, seconds: float, what: str, *place: int) -> None:
        for words, stage in STAGES.items():
            found[stage] += seconds * (words in what)
        spend(self, seconds, what, *place)

    with patch.object(Work, "spend", spent):
        yield found


def network_map(shape: Any, done: list[Price]) -> PolynomialMap:
    """The map of a random network, its entries counted."""
    network = Architecture(*shape)
    phi = polynomial_map(network, Weights.random(network, seed=2, bound=5))
    entries: ObjectArray = np.empty(phi.entries.shape, dtype=object)
    for place, entry in np.ndenumerate(phi.entries):
        entries[place] = Counted(entry, done)
    return replace(phi, entries=entries)


def fits(estimated: float, done: list[Price]) -> bool:
    return 1 / FACTOR <= estimated / sum(price.seconds for price in done) <= FACTOR


@pytest.mark.parametrize("shape", [((2, 2), (2,), 2), ((3, 2), (1,), 2), ((2, 3), (1,), 3), ((4, 3), (2,), 2)])
def test_one_layer(shape: Any) -> None:
    done = [Price("terms"), Price("forms")]
    phi = network_map(shape, done)
    sums = one_layer.coefficients_from_products

    def counted(d: int, d_out: int, tokens: int) -> Any:
        found = sums(d, d_out, tokens)
        places = sum(map(len, found.values()))
        done[0].enter("read", places)
        done[0].enter("entry", places * d * tokens)
        return found

    asked = membership._AskedMap(phi, 2**30, Work())
    with told() as found, patch.object(candidates, "coefficients_from_products", counted):
        asked.work.spend(candidates.price_of_products(phi).seconds, "the coefficients of one layer")
        assert candidates.not_of_one_layer(phi) is None
        candidates.LayerForms(phi)
    assert fits(found[0], done)


@pytest.mark.parametrize(
    "shape", [((2, 2), (2,), 2), ((2, 2, 1), (1, 1), 2), ((3, 1), (2,), 3), ((2, 2, 2), (1, 1), 3)]
)
def test_rotations(shape: Any) -> None:
    done = [Price("terms"), Price("forms")]
    phi = network_map(shape, done)
    with told() as found:
        assert map_recovery.not_equivariant(phi, Work()) is None
    assert fits(found[1], done)


def counted_reconstruction(shape: Any) -> tuple[float, list[Price]]:
    """What is said of a reconstruction, and what it does: the map is read, has values at points, and there is a kernel.

    Factors have no price.
    """
    done = [Price("terms"), Price("rationals"), Price("forms")]
    phi = network_map(shape, done)
    plain = polynomial_map(phi.architecture, Weights.random(phi.architecture, seed=2, bound=5))
    first = next(recovery._first_attention_matrices(plain))
    with kernels(recovery, done[1]):
        for row in range(phi.architecture.widths[-1]):
            recovery.part_in_two_tokens(phi, row, 1)
        recovery._products_of_forms(phi, (first,), rational.rank(first) == 1)
    return recovery.price_of_reconstruction(phi.architecture, phi.term_count, 8), done


@pytest.mark.parametrize(
    "shape", [((2, 2, 1), (2, 2), 2), ((2, 2, 2), (2, 2), 2), ((3, 3, 1), (2, 2), 2), ((2, 1, 3), (1, 1), 3)]
)
def test_reconstructions(shape: Any) -> None:
    assert fits(*counted_reconstruction(shape))


def test_long_coefficients_of_a_reconstruction_are_paid() -> None:
    """Products of numbers of many words take that many times as long, and so does a kernel."""
    shape = Architecture((3, 3, 1), (2, 2), 2)
    short, long = (recovery.price_of_reconstruction(shape, 200, bits) for bits in (8, 4000))
    assert long > 10 * short


def test_a_reconstruction_without_its_reading_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "price_of_comparison", lambda *_: Price("terms"))
    assert not fits(*counted_reconstruction(((2, 2, 2), (2, 2), 2)))


@contextmanager
def kernels(module: Any, price: Price) -> Iterator[None]:
    """Count kernels and ranks by their real sizes."""
    sized = {name: getattr(rational, name) for name in ("null_space", "rank")}

    def counted(name: str) -> Any:
        def of(matrix: Any) -> Any:
            one = Sizes(np.shape(matrix), price, bits=RationalMatrix.of(matrix).bits)
            one.read()
            one.rank()
            return sized[name](matrix)

        return of

    with patch.object(module, "null_space", counted("null_space")):
        if not hasattr(module, "rank"):
            yield
            return
        with patch.object(module, "rank", counted("rank")):
            yield


def own_map(seed: int) -> PolynomialMap:
    """A map of one's own: sums of products of powers of letters."""
    source = random.Random(seed)
    weights, inputs = sympy.symbols("a:5"), sympy.symbols("x y z")
    entry = sum(
        sympy.prod(source.choice(weights) for _ in range(3)) * source.choice(inputs) * source.choice(inputs)
        for _ in range(source.randint(8, 30))
    )
    return PolynomialMap.of([[sympy.expand(entry)]], weights=weights, inputs=inputs)


@pytest.mark.parametrize("seed", range(4))
def test_values_and_scalings_of_a_map(seed: int) -> None:
    phi, points = own_map(seed), 50
    system = map_coordinates.map_coordinates(phi)
    price, multiplied, spent = Price("echelons"), PrimeFieldMatrix.__mul__, [0.0]

    def counted(left: PrimeFieldMatrix, right: PrimeFieldMatrix) -> PrimeFieldMatrix:
        Sizes(left.shape, price) * Sizes(right.shape, price)
        return multiplied(left, right)

    def spend(_: Work, seconds: float, what: str, *place: int) -> None:
        spent[0] += seconds * ("values" in what or "scalings" in what)

    with patch.object(PrimeFieldMatrix, "__mul__", counted), patch.object(Work, "spend", spend):
        system.at_random_points(np.random.default_rng(seed), points, PRIMES[0], work=Work())
        assert fits(spent[0], [price])
    spent, over_q = [0.0], Price("rationals")
    forms = list(phi.ring_coefficients().values())
    with kernels(map_coordinates, over_q), patch.object(Work, "spend", spend):
        map_coordinates._weights(forms, 2**30, Work())
    assert fits(spent[0], [over_q])


def test_a_step_that_is_forgotten_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    done = [Price("terms"), Price("forms")]
    phi = network_map(((3, 1), (2,), 3), done)
    monkeypatch.setitem(RATES, "forms", RATES["indices"])
    with told() as found:
        map_recovery.not_equivariant(phi, Work())
    assert not fits(found[1], done[1:])
