"""Recovering weights is the inverse of the polynomial map: what comes back has the function, and `same` says so."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from maps_of_weights import R, boxes, has_function, letters, outputs

from lightning_sym import (
    Architecture,
    Membership,
    Recovery,
    VirtualWeights,
    Weights,
    polynomial_map,
    recover,
    same_function,
)
from lightning_sym.errors import BadInput
from lightning_sym.fibers.recovery import network_of
from lightning_sym.fibers.same_function import Answer
from lightning_sym.limits import Work
from lightning_sym.varieties.candidates import LayerForms, candidates


def comes_back(weights: Weights, tokens: int) -> None:
    shape = weights.architecture(tokens)
    phi = polynomial_map(shape, weights)
    found = recover(phi)
    assert found.answer is Membership.WEIGHTS, (weights.named(), found)
    if found.weights is None:  # irrational, though others are rational
        assert has_function(found, phi.matrix())
        return
    assert found.weights.architecture(tokens) == shape
    assert np.array_equal(polynomial_map(shape, found.weights).entries, phi.entries)
    assert same_function(weights, found.weights, tokens).answer is Answer.SAME


def layer(attention: Any, value: Any) -> Weights:
    return Weights.of({"Q1": attention, "K1": np.eye(len(attention), dtype=int).tolist(), "V1": value})


@pytest.mark.parametrize("tokens", [1, 2])
@pytest.mark.parametrize("d_out", [1, 2])
def test_small_boxes_come_back(d_out: int, tokens: int) -> None:
    every = boxes(2, d_out)
    for attention, value in every if d_out == 1 and tokens == 2 else random.Random(d_out).sample(every, 250):
        comes_back(layer(attention, value), tokens)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_one_layer_comes_back(data: st.DataObject) -> None:
    d, d_out, a, t = (data.draw(st.integers(1, most)) for most in (3, 3, 4, 3))
    shape = Architecture((d, d_out), (a,), t)
    rank = data.draw(st.integers(0, min(a, d)))
    seed, denominator = data.draw(st.integers(0, 10**6)), data.draw(st.sampled_from([1, 3]))
    value_rank = data.draw(st.integers(0, min(d, d_out)))
    weights = Weights.random(
        shape, seed=seed, bound=4, denominator=denominator, attention_matrix_ranks=[rank], value_ranks=[value_rank]
    )
    comes_back(weights, t)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 3), st.integers(1, 2), st.integers(0, 10**6), st.sampled_from([1, 3]), st.booleans())
def test_two_and_three_layers_come_back(depth: int, t: int, seed: int, denominator: int, low: bool) -> None:
    source = random.Random(seed)
    widths = tuple(source.randint(1, 2 if depth == 3 or t == 2 else 3) for _ in range(depth + 1))
    if depth == 3 and t == 2:
        widths = (source.randint(1, 2), *widths[1:])
    ranks = tuple(source.randint(1, 3) for _ in range(depth))
    prescribed = [source.randint(1, min(a, d)) if low else min(a, d) for a, d in zip(ranks, widths, strict=False)]
    shape = Architecture(widths, ranks, t)
    bound = 2 if depth == 3 else 4
    weights = Weights.random(shape, seed=seed, bound=bound, denominator=denominator, attention_matrix_ranks=prescribed)
    phi = polynomial_map(shape, weights)
    found = recover(phi)
    if found.answer is Membership.UNDECIDED:  # a skew-symmetric matrix among three
        assert depth == 3
        assert "skew" in found.reasons[0] or "vanishes" in found.reasons[0]
        return
    comes_back(weights, t)


SPECIAL: dict[str, Weights] = {
    "zero": layer([[0, 0], [0, 0]], [[1, 2]]),
    "skew": layer([[0, 1], [-1, 0]], [[3, 4]]),
    "boundary": layer([[2, 4], [1, 2]], [[2, 1], [6, 3]]),
    "rank one": layer([[3, 6], [1, 2]], [[1, -1]]),
    "width one": layer([[5]], [[7]]),
    "skew, skew": network_of(VirtualWeights(([[0, 1], [-1, 0]], [[0, 2], [-2, 0]]), [[1, 2]])),
    "skew first": network_of(VirtualWeights(([[0, 1], [-1, 0]], [[1, 2], [3, 5]]), [[1, 2]])),
    "skew last": network_of(VirtualWeights(([[1, 2], [3, 5]], [[0, 1], [-1, 0]]), [[1, 2]])),
    "rank one first": network_of(VirtualWeights(([[1, 2], [2, 4]], [[1, 5], [3, 5]]), [[1, 2]])),
    "rank one, square behind": network_of(VirtualWeights(([[1, 2], [2, 4]], [[1, 2], [2, 4]]), [[1, 2]])),
    "shared factors": network_of(VirtualWeights(([[0, 1], [1, 0]], [[1, 1], [0, 0]]), [[1, 0]])),
}


@pytest.mark.parametrize("tokens", [1, 2])
@pytest.mark.parametrize("name", SPECIAL)
def test_degenerate_weights_come_back(name: str, tokens: int) -> None:
    comes_back(SPECIAL[name], tokens)


def test_narrow_networks_get_narrow_weights() -> None:
    shape = Architecture((3, 1, 2, 2), (2, 1, 3), 1)
    comes_back(Weights.random(shape, seed=5, bound=3), 1)
    comes_back(Weights.random(Architecture((3, 2, 3), (2, 2), 2), seed=1, bound=2), 2)


def test_two_roads_agree_on_one_layer() -> None:
    """The products of Proposition A.5, and one token with the skew part from the second one."""
    for seed in range(12):
        shape = Architecture((1 + seed % 3, 1 + seed % 2), (2,), 2)
        phi = polynomial_map(shape, Weights.random(shape, seed=seed, bound=3))
        if phi.term_count == 0:
            continue
        roads = [list(LayerForms(phi).candidates([])), list(candidates(phi, (2,), [], Work()))]
        for found in roads:
            assert found
        one, other = (
            {tuple(map(str, (x / next(y for y in c.attention[0].ravel() if y) for x in c.attention[0].ravel())))
             for c in found}
            for found in roads
        )  # fmt: skip
        assert one <= other


# ---- irrational weights of rational maps

CONJUGATE = [(2, True), (3, True), (-1, False), (-3, False)]


@pytest.mark.parametrize(("square", "real"), CONJUGATE)
@pytest.mark.parametrize("depth", [1, 2])
def test_conjugate_forms_in_the_last_layer(square: int, real: bool, depth: int) -> None:
    """`A~ = p q^T`, `V~ = v w^T` with `p`, `w` conjugate: the closure is reached, M only if they are real."""
    modulus = R**2 - square
    p, w, q = sympy.Matrix([1, R]), sympy.Matrix([1, -R]), sympy.Matrix([[2, -1]])
    before = [sympy.Matrix([[1, 2], [0, 1]])] if depth == 2 else []
    phi = outputs([*before, p * q], w.T, 2, modulus)
    assert not phi.free_symbols & {R}
    shape = Architecture((2, *[2] * (depth - 1), 1), (2,) * depth, 2)
    found = recover(phi, shape)
    if real:
        assert found.answer is Membership.WEIGHTS
        assert found.weights is None
        assert has_function(found, phi)
    else:
        assert found.answer is Membership.NONE
        assert found.complex_weights is True


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-4, 4), min_size=4, max_size=4), st.integers(1, 2))
def test_binary_cubics(coefficients: list[int], rank: int) -> None:
    """One layer, one token, `d = 2`: with `a = 2` every cubic; with `a = 1` those whose roots are all real."""
    x, y = letters(2, 1)
    cubic = sum(c * x ** (3 - i) * y**i for i, c in enumerate(coefficients))
    found = recover([[sympy.expand(cubic)]], Architecture((2, 1), (rank,), 1))
    a, b, c, d = coefficients
    discriminant = 18 * a * b * c * d - 4 * b**3 * d + b**2 * c**2 - 4 * a * c**3 - 27 * a**2 * d**2
    expected = rank == 2 or discriminant >= 0
    assert (found.answer is Membership.WEIGHTS) == expected
    if expected:
        assert has_function(found, sympy.Matrix([[cubic]]))
    else:
        assert found.complex_weights is True


@pytest.mark.parametrize("signs", [(1, 1, 1), (1, 1, -1), (2, -3, 5), (1, -7, -3)])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_signatures(signs: tuple[int, int, int], rank: int) -> None:
    """`q` is the form of a real matrix of rank `a` exactly if it has at most `a` squares of either sign."""
    x = letters(3, 1)
    form = sum(c * v**2 for c, v in zip(signs, x, strict=True))
    phi = sympy.Matrix([sympy.expand(x[0] * form), sympy.expand(x[1] * form)])
    found = recover(phi, Architecture((3, 2), (rank,), 1))
    positive = sum(c > 0 for c in signs)
    expected = rank >= max(positive, 3 - positive)
    assert (found.answer is Membership.WEIGHTS) == expected
    if expected:
        assert has_function(found, phi)
    else:
        assert found.complex_weights is (rank >= 2)


def test_several_square_roots() -> None:
    """Four squares, two of either sign, no rational zero: rank two needs two square roots."""
    x = letters(4, 1)
    form = x[0] ** 2 + x[1] ** 2 - 3 * x[2] ** 2 - 3 * x[3] ** 2
    phi = sympy.Matrix([sympy.expand(x[0] * form), sympy.expand(x[1] * form)])
    found = recover(phi, Architecture((4, 2), (2,), 1))
    assert found.answer is Membership.WEIGHTS
    assert found.minimal_polynomial is not None
    assert has_function(found, phi)


# ---- the result


def test_the_result_is_one_line_pickles_and_is_no_truth_value() -> None:
    x, y = letters(2, 1)
    found = recover([[x**3 - 2 * x * y**2]], Architecture((2, 1), (1,), 1))
    assert "\n" not in repr(found)
    typed = eval(repr(found), {"Recovery": Recovery, "Membership": Membership, "Architecture": Architecture})  # noqa: S307
    assert str(typed) == str(found)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own
    assert (again.answer, again.matrices) == (found.answer, found.matrices)
    assert str(found).splitlines()[1].split() == ["answer", "weights"]
    assert r"\begin{bmatrix}1 & r\end{bmatrix}" in found._repr_latex_()
    for one in (found, found.answer):
        with pytest.raises(BadInput, match="truth value"):
            bool(one)
