"""What gradient flow keeps: counts by other roads, brackets, quantities that are no such thing."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy

from lightning_sym import SOFTMAX, Architecture, ConservedQuantities, Normalization, Weights, conserved_quantities
from lightning_sym.dimension.certify import Status
from lightning_sym.errors import BadInput, ProgramError, ShapeError, TooLarge
from lightning_sym.network.attention import network_output
from lightning_sym.network.jacobian import random_weights
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.symmetries.moments import MatrixKind, Quantity, Term, moments_of
from lightning_sym.varieties import conserved
from lightning_sym.varieties.gradient_brackets import Bracket, Gradients

P = PRIMES[0]

TRANSFORMER = Architecture(
    (3, 3, 3), (2, 1), 2, SOFTMAX, heads=2, value_ranks=(1, 2), skip=True, causal=True, embed=4, unembed=5
)

# by hand: a symmetric matrix for each basis change, of rank at most the number of columns that it is made of
COUNTS = [
    (Architecture((2, 2), (2,), 2), 3 + 1),
    (Architecture((2, 1), (1,), 2), 1 + 1),
    (Architecture((2, 2), (5,), 2), 14 + 1),  # Q Q^T - K K^T has rank at most 4
    (Architecture((1, 1), (1,), 1), 1 + 1),
    (Architecture((2, 2), (2,), 2, SOFTMAX), 3),
    (Architecture((2, 2), (2,), 1, SOFTMAX), 8),  # Q and K
    (Architecture((3, 3), (2,), 1), 3 + 1 + 1),  # and Q K^T - K Q^T
    (Architecture((2, 2, 2), (2, 2), 2), 2 * (3 + 1) + 3),
    (Architecture((2, 2, 2), (2, 2), 2, skip=True), 2 * (3 + 1)),
    (Architecture((1, 3, 2), (2, 2), 2, SOFTMAX), 2 * (3 + 1) - 1 + 6),  # rank at most 2 in the first layer
    (Architecture((2, 2), (2,), 2, heads=2, value_ranks=(3,)), 2 * (3 + 6 + 1)),
    (Architecture((3, 2), (1,), 1, SOFTMAX, heads=2), 12 + 6),  # Q, K, and V_1 - V_2
    (TRANSFORMER, 2 * (3 + 1) + 2 * (1 + 3) + 6),
    (Architecture((1, 2, 1), (1, 1), 2), 9),  # all functions are multiples of one
    (Architecture((1, 2, 1), (2, 1), 3, heads=2, causal=True), 23),  # also under a mask
    (Architecture((1, 1), (2,), 2, heads=2, skip=True), 9),  # one layer only adds its input
    (Architecture((1, 2, 2), (1, 2), 2, causal=True), 2 + (3 + 1 + 1) + 3),  # scores z_j z_k f^T A f: Q K^T - K Q^T
]


@pytest.mark.parametrize(("network", "count"), COUNTS, ids=lambda value: str(value))
def test_counts(network: Architecture, count: int) -> None:
    for seed in (0, 5):
        found = conserved_quantities(network, seed=seed)
        assert (found.count, found.lower, found.upper) == (count, count, count)
        assert found.status is Status.CERTIFIED


def test_a_skip_connection_with_an_embedding_or_behind_it_another_layer_has_more_functions() -> None:
    for network in (
        Architecture((1, 1), (1,), 2, skip=True, embed=1),
        Architecture((1, 1), (1,), 2, skip=True, unembed=1),
        Architecture((1, 1, 1), (1, 1), 2, skip=True, causal=True),
    ):
        found = conserved_quantities(network)
        assert found.upper < network.parameter_count - 1


def test_what_is_not_decided_says_so() -> None:
    found = conserved_quantities(Architecture((2, 2), (1,), 1, SOFTMAX, skip=True, unembed=2))
    assert found.count is None
    assert found.status is Status.UNDECIDED
    assert (found.lower, found.upper) == (4, 7)
    assert "undecided, between 4 and 7" in str(found)


@pytest.mark.parametrize("shape", [((2, 1), (1,), 2), ((1, 2), (2,), 2), ((2, 1), (1,), 1), ((1, 1, 1), (1, 2), 1)])
def test_counts_by_brackets_of_polynomials_in_sympy(shape: Any) -> None:
    """All coefficients, symbolic brackets, ranks over the rationals: no line of it is the program's but the map."""
    network = Architecture(*shape)
    letters = {
        name: sympy.Matrix(r, c, lambda i, j, name=name: sympy.Symbol(f"{name}_{i}_{j}"))
        for name, (r, c) in network.weight_shapes()
    }
    weights = [w for m in letters.values() for w in m]
    x = y = sympy.Matrix(network.widths[0], network.tokens, lambda i, j: sympy.Symbol(f"x_{i}_{j}"))
    for i in range(1, network.depth + 1):
        q, k, v = (letters[f"{letter}{i}"] for letter in "QKV")
        y = (v * y) * ((k * y).T * (q * y))
    fields = []
    for entry in y:
        for coefficient in sympy.Poly(sympy.expand(entry), *x).coeffs():
            gradient = [sympy.diff(coefficient, w) for w in weights]
            fields += [gradient]
    point = dict(zip(weights, [3, -2, 5, 7, -4, 2, 9, -5, 6, 8, 11, -7, 13], strict=False))
    known, new = list(fields), list(fields)

    def rank() -> int:
        return int(sympy.Matrix([[e.subs(point) for e in field] for field in known]).rank())

    ranks = [rank()]
    for _ in range(3):
        found = []
        for f, g in product(fields[:6], new[:12]):
            bracket = [
                sympy.expand(sum(sympy.diff(b, w) * a for w, a in zip(weights, f, strict=True)) - other)
                for b, other in zip(
                    g,
                    (sum(sympy.diff(a, w) * b for w, b in zip(weights, g, strict=True)) for a in f),
                    strict=True,
                )
            ]
            if any(bracket):
                found.append(bracket)
        known, new = known + found, found
        ranks.append(rank())
        if not found or ranks[-1] == ranks[-2]:
            break
    assert len(weights) - ranks[-1] == conserved_quantities(network).count


LIGHTNING = [
    Architecture((2, 3), (2,), 2),
    Architecture((2, 2, 3), (1, 2), 3, causal=True),
    Architecture((2, 2), (3,), 1),
    Architecture((2, 3, 1), (1, 2), 2),
    Architecture((2, 3), (1,), 2, heads=2, value_ranks=(2,), embed=3),
    Architecture((2, 2, 2), (1, 2), 2, heads=2, skip=True, embed=1, unembed=3),
]


def change_along_a_gradient(network: Architecture, quantity: Quantity, seed: int) -> Any:
    """The derivative of the quantity along the gradient of a random loss at random weights, in fractions."""
    rng = np.random.default_rng(seed)

    def draw(shape: tuple[int, ...]) -> Any:
        numbers = [Fraction(int(n), int(d)) for n, d in rng.integers(1, 9, (int(np.prod(shape)), 2))]
        return np.array(numbers, dtype=object).reshape(shape)

    weights = Weights.random(network, seed=seed).named()
    inputs = [draw((network.input_width, network.tokens)) for _ in range(2)]
    total: dict[str, Any] = dict.fromkeys(weights, 0)
    for x in inputs:
        recorded = {name: Recorded(w) for name, w in weights.items()}
        output = network_output(Recorded(x, constant=True), network, recorded.values())
        residual = output.value - draw(output.value.shape)  # of the squared error
        for name, g in zip(weights, gradients([output], [residual], list(recorded.values())), strict=True):
            total[name] = total[name] + (0 if g is None else g)
    step = {name: w + Fraction(1, 10**9) * total[name] for name, w in weights.items()}
    half = {name: w - Fraction(1, 10**9) * total[name] for name, w in weights.items()}
    return quantity.value(step) - quantity.value(half)  # quadratic: the difference is the derivative, exactly


@pytest.mark.parametrize("network", LIGHTNING, ids=str)
def test_quantities_stay_along_gradients(network: Architecture) -> None:
    for quantity in moments_of(network):
        for seed in range(2):
            assert not change_along_a_gradient(network, quantity, seed).any(), quantity


@pytest.mark.parametrize("network", LIGHTNING[:4], ids=str)
def test_other_quantities_do_not_stay(network: Architecture) -> None:
    for quantity in moments_of(network):
        *first, last = quantity.terms
        wrong = replace(quantity, terms=(*first, last._replace(sign=-last.sign)))
        less = replace(quantity, terms=quantity.terms[:-1])
        assert change_along_a_gradient(network, wrong, 0).any(), wrong
        assert change_along_a_gradient(network, less, 0).any(), less
    if not any(q.kind is MatrixKind.SKEW for q in moments_of(network)):
        terms = (Term(1, "outer", "Q1", "K1"), Term(-1, "outer", "K1", "Q1"))
        skew = Quantity(MatrixKind.SKEW, (2, 2), terms, "a rotation, whose generator is not symmetric")
        assert len(network.attention_ranks) > 1 or change_along_a_gradient(network, skew, 0).any()


@pytest.mark.parametrize("network", [Architecture((2, 2), (2,), 2), TRANSFORMER], ids=str)
def test_a_wrong_quantity_is_an_error_of_the_program(network: Architecture, monkeypatch: pytest.MonkeyPatch) -> None:
    def bent(network: Architecture) -> Any:
        for quantity in moments_of(network):
            *first, last = quantity.terms
            yield replace(quantity, terms=(*first, last._replace(sign=-last.sign)))

    monkeypatch.setattr(conserved, "moments_of", bent)
    with pytest.raises(ProgramError, match="not kept"):
        conserved_quantities(network)


NETWORKS = [Architecture((2, 3, 2), (2, 2), 2), Architecture((2, 2), (2,), 3, SOFTMAX, causal=True), TRANSFORMER]


def _residues(matrices: Any) -> list[np.ndarray[Any, Any]]:
    return [m.residues() for m in matrices]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_brackets_see_rotations(network: Architecture) -> None:
    """For a skew generator k: <k W, [F, G]> = -2 <k F, G>, which needs first derivatives alone."""
    rng = np.random.default_rng(1)
    point = random_weights(network, rng, P)
    f, g = (Gradients.drawn(network, point, 3, rng) for _ in range(2))
    places = [i for i, (name, _) in enumerate(network.weight_shapes()) if name in ("Q1", "K1", "Q1.1", "K1.1")]
    assert len(places) == 2
    k = PrimeFieldMatrix.of(np.array([[0, 1], [-1, 0]]), P)
    of_f, of_g, bracket = f(point), g(point), Bracket(f, g)(point)

    def inner(left: Any, right: Any) -> Any:
        products = np.stack([(k @ left[i]).residues() * right[i].residues() % P for i in places])
        return products.sum(axis=(0, -2, -1)) % P

    assert ((inner(point, bracket) + 2 * inner(of_f, of_g)) % P == 0).all()
    assert inner(of_f, of_g).any()


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_brackets_keep_the_identity_of_jacobi(network: Architecture) -> None:
    rng = np.random.default_rng(2)
    point = random_weights(network, rng, P)
    f, g, h = (Gradients.drawn(network, point, 2, rng) for _ in range(3))
    cyclic = [Bracket(a, Bracket(b, c))(point) for a, b, c in ((f, g, h), (g, h, f), (h, f, g))]
    for parts in zip(*map(_residues, cyclic), strict=True):
        assert not (np.stack(parts).sum(axis=0) % P).any()
    assert any(m.any() for m in _residues(cyclic[0]))


def test_values_and_expressions_are_the_same() -> None:
    network = Architecture((2, 3, 2), (1, 2), 2)
    found, weights = conserved_quantities(network), Weights.random(network, seed=3, denominator=5)
    values, expressions = found.values(weights), found.expressions()
    assert list(values) == list(expressions) == [q.name for q in found.quantities]
    numbers = {
        f"{name}_{i + 1}_{j + 1}": sympy.Rational(entry.numerator, entry.denominator)
        for name, matrix in weights.named().items()
        for (i, j), entry in np.ndenumerate(matrix)
    }
    for name, matrix in expressions.items():
        assert matrix.subs(numbers) == sympy.Matrix(values[name].tolist()), name


def test_a_result_is_read_in_every_way() -> None:
    found = conserved_quantities(TRANSFORMER)
    assert isinstance(found, ConservedQuantities)
    small = conserved_quantities(Architecture((2, 2), (2,), 2), seed=7)
    assert eval(repr(small)) == small == pickle.loads(pickle.dumps(small))  # noqa: S301, S307 - our own
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own
    assert found.listed == sum(found.new) == found.count
    assert "conserved    22  certified" in str(found)
    assert r"Q_{1.1} Q_{1.1}^\top" in found._repr_latex_()
    with pytest.raises(BadInput, match="truth value"):
        bool(found)
    with pytest.raises(BadInput, match="truth value"):
        bool(MatrixKind.SKEW)


def test_what_is_not_proved_or_too_large_is_refused() -> None:
    plain = Architecture((2, 2), (2,), 2)
    other = Normalization("squares", lambda k: Fraction(int(k in (0, 2))))
    fast = Normalization("fast", lambda k: Fraction(2**k) * SOFTMAX.taylor(k), growth=Fraction(2))
    for normalization in (other, fast):
        with pytest.raises(BadInput, match=f"softmax, got {normalization.name}"):
            conserved_quantities(replace(plain, normalization=normalization))
    with pytest.raises(BadInput, match="the seed"):
        conserved_quantities(plain, seed=-1)
    for large in (replace(plain, widths=(9999, 9999)), replace(plain, tokens=10**7), replace(plain, heads=10**12)):
        with pytest.raises(TooLarge, match="GiB"):
            conserved_quantities(large)
    found = conserved_quantities(plain)
    with pytest.raises(ShapeError, match="got those of"):
        found.values(Weights.random(Architecture((2, 1), (2,), 2)))
    with pytest.raises(BadInput, match="must be a Weights"):
        found.values({"Q1": [[1]]})  # type: ignore[arg-type]
