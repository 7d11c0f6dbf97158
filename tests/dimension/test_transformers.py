"""Transformers of every kind: bounds that never cross, and independent roads to the forward pass and the counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import factorial

import numpy as np
import pytest
import sympy
from flint import nmod_poly

from lightning_sym import Architecture, certified_dimension
from lightning_sym.dimension.certify import Evidence
from lightning_sym.network.attention import network_output
from lightning_sym.network.jacobian import RandomJacobian, random_weights
from lightning_sym.rings.normalization import SOFTMAX, Normalization
from lightning_sym.rings.power_series import PowerSeries, entry_product, matrix_product, recurrence
from lightning_sym.rings.prime_field import EXACT_PRODUCTS, PRIMES, PrimeFieldMatrix
from lightning_sym.rings.rationals import map_entries
from lightning_sym.symmetries.families import fiber_dimension_at


def random_transformers(count: int = 60, seed: int = 4, most: int = 60) -> list[Architecture]:
    """Different networks with all options mixed."""
    rng = np.random.default_rng(seed)
    found: dict[Architecture, None] = {}
    while len(found) < count:
        depth, skip = int(rng.integers(1, 4)), bool(rng.integers(2))
        widths = [int(rng.integers(1, 4))] * (depth + 1) if skip else rng.integers(1, 4, size=depth + 1).tolist()
        network = Architecture(
            tuple(widths),
            tuple(rng.integers(1, 4, size=depth).tolist()),
            int(rng.integers(1, 4)),
            normalization=SOFTMAX if rng.integers(3) else None,
            heads=int(rng.integers(1, 3)),
            value_ranks=tuple(rng.integers(1, 4, size=depth).tolist()) if rng.integers(2) else None,
            skip=skip,
            causal=bool(rng.integers(2)),
            embed=int(rng.integers(1, 5)) if rng.integers(2) else None,
            unembed=int(rng.integers(1, 5)) if rng.integers(2) else None,
        )
        if network.parameter_count <= most:
            found[network] = None
    return list(found)


@pytest.mark.parametrize("network", random_transformers(), ids=str)
def test_bounds_never_cross_and_softmax_is_certified(network: Architecture) -> None:
    result = certified_dimension(network)
    assert 0 < result.lower <= result.upper <= network.parameter_count
    if network.normalization is SOFTMAX:
        assert result.value is not None, (result.lower, result.upper)


def test_the_random_transformers_mix_all_options() -> None:
    networks = random_transformers()
    for option in ("skip", "causal", "embed", "unembed", "value_ranks", "normalization"):
        assert len({bool(getattr(n, option)) for n in networks}) == 2
    assert {n.heads for n in networks} == {1, 2}
    assert {n.depth for n in networks} == {1, 2, 3}


def test_plain_networks_lose_nothing_by_directions() -> None:
    rng = np.random.default_rng(11)
    for _ in range(60):
        depth = int(rng.integers(1, 4))
        network = Architecture(
            tuple(rng.integers(1, 4, size=depth + 1).tolist()),
            tuple(rng.integers(1, 4, size=depth).tolist()),
            int(rng.integers(1, 4)),
        )
        bounds = certified_dimension(network, all_bounds=True).upper_bounds
        weights = random_weights(network, rng, PRIMES[0])
        directions = network.parameter_count - fiber_dimension_at(network, weights, rng, PRIMES[0])
        assert min(bounds[Evidence.ORBIT], bounds[Evidence.FACTORIZATION]) == directions, network


def tiny_forward(
    x: list[list[Fraction]], network: Architecture, weights: dict[str, list[list[Fraction]]]
) -> list[list[Fraction]]:
    """Sums over plain numbers, token by token: nothing shared with the library but the names of the weights."""

    def apply(m: list[list[Fraction]], v: list[Fraction]) -> list[Fraction]:
        return [sum((a * b for a, b in zip(row, v, strict=True)), Fraction(0)) for row in m]

    tokens = [[row[j] for row in x] for j in range(network.tokens)]
    if network.embed is not None:
        tokens = [apply(weights["E"], v) for v in tokens]
    for i in range(1, network.depth + 1):
        new = []
        for here, xi in enumerate(tokens):
            total = list(xi) if network.skip else [Fraction(0)] * network.widths[i]
            for h in range(1, network.heads + 1):
                name = f"{i}" if network.heads == 1 else f"{i}.{h}"
                query = apply(weights["Q" + name], xi)
                for j, xj in enumerate(tokens):
                    if network.causal and j > here:
                        continue
                    key = apply(weights["K" + name], xj)
                    score = sum((a * b for a, b in zip(key, query, strict=True)), Fraction(0))
                    value = apply(weights["V" + name], xj)
                    if network.value_ranks is not None:
                        value = apply(weights["O" + name], value)
                    total = [a + score * b for a, b in zip(total, value, strict=True)]
            new.append(total)
        tokens = new
    if network.unembed is not None:
        tokens = [apply(weights["U"], v) for v in tokens]
    return [[v[k] for v in tokens] for k in range(network.output_width)]


LIGHTNING = [n for n in random_transformers(60, seed=8) if n.normalization is None and n.depth < 3]


@pytest.mark.parametrize("network", LIGHTNING, ids=str)
def test_forward_agrees_with_sums_over_plain_numbers(network: Architecture) -> None:
    rng = np.random.default_rng(5)

    def numbers(shape: tuple[int, ...]) -> np.ndarray:
        return map_entries(lambda n: Fraction(int(n), 2), rng.integers(-4, 5, size=shape))

    weights = {name: numbers(shape) for name, shape in network.weight_shapes()}
    x = numbers((network.input_width, network.tokens))
    expected = tiny_forward(x.tolist(), network, {name: w.tolist() for name, w in weights.items()})
    assert network_output(x, network, list(weights.values())).tolist() == expected


def series_of(network: Architecture, z: list[list[int]], weights: list[np.ndarray], order: int) -> PowerSeries:
    p = PRIMES[0]
    x = PowerSeries.of({1: PrimeFieldMatrix.of(np.array(z), p)}, order)
    constants = [PowerSeries.of({0: PrimeFieldMatrix.of(w, p)}, order) for w in weights]
    output: PowerSeries = network_output(x, network, constants)
    return output


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("skip", [False, True])
def test_power_series_agree_with_the_series_of_the_formula(causal: bool, skip: bool) -> None:
    """One softmax layer with d = 1 and two tokens, expanded by SymPy from the formula with `exp` itself."""
    order, q, k, v, z = 9, 2, 3, 5, (1, -4)
    e = sympy.Symbol("e")
    network = Architecture((1, 1), (1,), 2, normalization=SOFTMAX, causal=causal, skip=skip)
    found = series_of(network, [list(z)], [np.array([[w]]) for w in (q, k, v)], order)
    for i in range(2):
        seen = [j for j in range(2) if not causal or j <= i]
        weight = [sympy.exp(q * k * z[j] * z[i] * e**2) for j in seen]
        output = sum(w * v * z[j] * e for w, j in zip(weight, seen, strict=True)) / sum(weight) + int(skip) * z[i] * e
        expected = sympy.Poly(sympy.series(output, e, 0, order + 1).removeO(), e)
        for degree in range(order + 1):
            c = sympy.Rational(expected.coeff_monomial(e**degree))
            stated = int(c.p) * pow(int(c.q), -1, PRIMES[0]) % PRIMES[0]
            assert int(found.coefficient(degree).residues()[0, i]) == stated


NORMALIZATIONS = {
    "softmax": SOFTMAX,
    "softmax by powers": replace(SOFTMAX, growth=None),
    "exp(3 y) / 2": Normalization("exp(3 y) / 2", lambda k: Fraction(3**k, 2 * factorial(k)), growth=Fraction(3)),
    "2 + y^2": Normalization("2 + y^2", lambda k: Fraction({0: 2, 2: 1}.get(k, 0))),
}
SWEPT = [
    Architecture((2, 3), (2,), 3, heads=2),
    Architecture((2, 2, 2), (1, 2), 2, heads=2, value_ranks=(1, 2), skip=True, causal=True, embed=3, unembed=1),
]


@pytest.mark.parametrize("name", NORMALIZATIONS)
@pytest.mark.parametrize("plain", SWEPT, ids=str)
def test_gradients_are_derivatives_of_the_series(plain: Architecture, name: str) -> None:
    """Along a line the Taylor coefficients are polynomials: their derivatives by interpolation, without gradients."""
    network, p, order, nodes = replace(plain, normalization=NORMALIZATIONS[name]), PRIMES[0], 5, 40
    rng = np.random.default_rng(6)
    jacobian = RandomJacobian(network, rng, p, order=order)
    sample = jacobian.sample(3)
    direction = rng.integers(0, p, size=network.parameter_count)
    steps, place = [], 0
    for weight in jacobian.weights:
        size = weight.entries.size
        steps.append(direction[place : place + size].reshape(weight.entries.shape))
        place += size
    found = (PrimeFieldMatrix.of(sample.rows, p) @ PrimeFieldMatrix.of(direction[:, None], p)).residues()[:, 0]
    values = []
    for s in range(nodes):
        moved = [w.residues() + s * d for w, d in zip(jacobian.weights, steps, strict=True)]
        series = [series_of(network, x, moved, order) for x in sample.inputs.tolist()]
        outputs = [[y.coefficient(2 * k + 1).residues() for k in range(3)] for y in series]
        values.append((np.array(outputs, dtype=object) * sample.functionals).sum(axis=(1, 2, 3)))
    basis = [nmod_poly([0, 1], p) ** 0 for _ in range(nodes)]
    for i in range(nodes):
        for j in range(nodes):
            if i != j:
                basis[i] *= nmod_poly([-j, 1], p) * pow(i - j, -1, p)
    expected = sum((np.array(values[i]) * int(basis[i][1]) for i in range(nodes)), np.array(0)) % p
    assert found.tolist() == expected.tolist()


LONG = 5000
"""More coefficients than products of residues that float64 adds exactly."""


@pytest.mark.parametrize("largest", [True, False])
def test_long_products_agree_with_polynomials_of_flint(largest: bool) -> None:
    p, rng = PRIMES[0], np.random.default_rng(9)
    assert LONG > 2 * EXACT_PRODUCTS
    a, b = (np.full(LONG, p // 2) if largest else rng.integers(-(p // 2), p // 2 + 1, size=LONG) for _ in range(2))
    product = nmod_poly(a.tolist(), p) * nmod_poly(b.tolist(), p)
    x, y = a.astype(float).reshape(1, 1, 1, -1), b.astype(float).reshape(1, 1, 1, -1)
    for multiply in (matrix_product, entry_product):
        for start, stop in ((0, LONG), (LONG - 7, 2 * LONG - 1), (LONG, LONG + 1)):
            stated = PrimeFieldMatrix(multiply(x, y, start, stop, p), p).residues().ravel()
            assert stated.tolist() == [int(product[k]) for k in range(start, stop)]
    # r = r_0 + a r, with a_0 left out
    slopes, one = nmod_poly([0, *a.tolist()[1:]], p), nmod_poly([1], p)
    solved = recurrence(np.ones(1), a.astype(float)[:, None], np.ones((LONG - 1, 1)), p)[:, 0]
    check = nmod_poly(PrimeFieldMatrix(solved, p).residues().tolist(), p) * (one - slopes)
    assert [int(check[k]) for k in range(LONG)] == [1] + [0] * (LONG - 1)


def test_long_recurrences_stay_exact() -> None:
    """Factors chosen so that every coefficient is the largest residue, and the sums grow as fast as they can."""
    p, half = PRIMES[0], PRIMES[0] // 2
    factors = np.array([pow(half * n, -1, p) for n in range(1, LONG)])
    found = recurrence(
        np.full(1, float(half)), np.full((LONG, 1), float(half)), PrimeFieldMatrix.of(factors, p).entries[:, None], p
    )
    assert (PrimeFieldMatrix(found, p).residues() == half).all()


def test_products_of_matrices_of_series_agree_with_sums_of_products() -> None:
    """Against the definition, over Python's integers: constants, batches on one side, and parts of the product."""
    p, rng = PRIMES[0], np.random.default_rng(10)
    for batch_a, batch_b, terms_a, terms_b in (
        ((), (), 3, 5), ((4,), (), 5, 3), ((), (4,), 1, 6), ((4,), (4,), 6, 1), ((4,), (), 6, 1), ((4,), (4,), 70, 40),
    ):  # fmt: skip
        a = rng.integers(-(p // 2), p // 2 + 1, size=(*batch_a, 2, 3, terms_a))
        b = rng.integers(-(p // 2), p // 2 + 1, size=(*batch_b, 3, 4, terms_b))
        terms = terms_a + terms_b - 1
        expected = [
            sum(a[..., i].astype(object) @ b[..., n - i].astype(object) for i in range(terms_a) if 0 <= n - i < terms_b)
            for n in range(terms)
        ]
        for start, stop in ((0, terms), (terms // 2, terms // 2 + 1), (terms // 3, terms - 1)):
            found = PrimeFieldMatrix(matrix_product(a.astype(float), b.astype(float), start, stop, p), p).residues()
            assert found.tolist() == (np.stack(expected[start:stop], axis=-1) % p).tolist()


def test_even_and_odd_series_are_not_mixed() -> None:
    one = PrimeFieldMatrix.of(np.array([[1]]), PRIMES[0])
    even, odd = PowerSeries.of({0: one}, 5), PowerSeries.of({1: one}, 5)
    wrongs: list[Callable[[], object]] = [lambda: even + odd, lambda: PowerSeries.of({0: one, 3: one}, 5)]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="even"):
            wrong()
    for series in (even, odd):
        with pytest.raises(ValueError, match="without constant term"):
            series.apply(SOFTMAX.taylor)


def test_what_lies_beyond_the_order_is_zero() -> None:
    one = PrimeFieldMatrix.of(np.array([[1]]), PRIMES[0])
    beyond, within = PowerSeries.of({6: one}, 5), PowerSeries.of({0: one, 2: one, 4: one}, 5)
    nothing = PowerSeries(np.zeros((1, 1, 0)), PRIMES[0], 0, 5)
    for series in (beyond, beyond @ within, within @ beyond, beyond * within, beyond.mT + beyond, nothing @ within):
        assert not any(series.coefficient(k).residues().any() for k in range(6))
    network = Architecture((2, 2), (2,), 3, normalization=SOFTMAX, skip=True)
    weights = [np.full(shape, 3) for _, shape in network.weight_shapes()]
    short, long = (series_of(network, [[1, 2, 3], [4, 5, 7]], weights, order) for order in (1, 5))
    assert short.coefficient(1).residues().tolist() == long.coefficient(1).residues().tolist()
    assert RandomJacobian(network, np.random.default_rng(0), PRIMES[0], order=1).sample(2).functionals.shape[1] == 1


def test_taylor_coefficients_of_softmax() -> None:
    assert [SOFTMAX.taylor(k) * factorial(k) for k in range(12)] == [1] * 12


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_a_causal_mask_hides_the_second_token_from_the_first(causal: bool, normalized: bool, skip: bool) -> None:
    network = Architecture(
        (2, 2, 2), (2, 1), 2, normalization=SOFTMAX if normalized else None, heads=2, skip=skip, causal=causal
    )
    rng = np.random.default_rng(3)
    weights = [rng.integers(-5, 6, size=shape) for _, shape in network.weight_shapes()]
    first = []
    for second_token in ((1, 2), (-3, 4)):
        z = [[2, second_token[0]], [7, second_token[1]]]
        if normalized:
            output = series_of(network, z, weights, 5)
            first.append([output.coefficient(k).residues()[:, 0].tolist() for k in range(6)])
        else:
            matrices = [w.astype(object) for w in weights]
            first.append(network_output(np.array(z, dtype=object), network, matrices)[:, 0].tolist())
    assert (first[0] == first[1]) == causal
