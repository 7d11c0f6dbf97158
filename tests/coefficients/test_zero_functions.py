"""Networks whose function is zero in two factors or more, and layers of many heads: what is known of them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, learning_coefficient
from lightning_sym.coefficients import two_bounds, zero_functions
from lightning_sym.coefficients.seen_circuits import AtWeights
from lightning_sym.coefficients.two_bounds import rank_of_heads
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.limits import Work

Rows = list[list[int]]
SOFT, SKIP, SOFT_SKIP = NetworkForm(SOFTMAX), NetworkForm(skip=True), NetworkForm(SOFTMAX, skip=True)


def numbers(**matrices: int) -> dict[str, Rows]:
    """Matrices of one entry."""
    return {name: [[x]] for name, x in matrices.items()}


CUBED = numbers(Q1=0, K1=0, V1=2, Q2=1, K2=1, V2=3)
KNOWN = [
    (CUBED, None, 2, "1/6", 2, "Proposition 16"),
    (CUBED | numbers(Q3=1, K3=1, V3=1), None, 1, "1/18", 2, "Proposition 16"),
    (CUBED | numbers(Q2=0, K2=0, V2=0), None, 2, "1/6", 2, "Proposition 16"),
    (numbers(E=0, Q1=1, K1=1, V1=1), None, 2, "1/6", 1, "Proposition 16"),
    (numbers(Q1=1, K1=1, V1=0, U=0), None, 2, "1/2", None, "Proposition 16"),
    (numbers(Q1=0, K1=0, V1=0, E=3), None, 2, "1/2", 3, "Proposition 15"),
    (numbers(Q1=1, K1=1, V1=0, O1=0, Q2=1, K2=0, V2=0, O2=1), SOFT, 3, "1/2", 3, "Proposition 17"),
    (numbers(Q1=1, K1=1, V1=2, O1=1, Q2=1, K2=0, V2=0, O2=0), SOFT, 1, "1/2", 2, "Theorem 5"),
    (numbers(E=0, Q1=0, K1=1, V1=0, U=0), SKIP, 2, "1/2", 2, "Proposition 17"),
    (numbers(E=0, Q1=0, K1=0, V1=-1, U=0), SOFT_SKIP, 1, "1/2", 3, "Proposition 17"),
    (numbers(E=0, Q1=0, K1=0, V1=-1, U=0), SOFT_SKIP, 2, "1/2", None, "Proposition 17"),
    (numbers(E=0, Q1=0, K1=0, V1=2, U=0), SOFT_SKIP, 1, "1/2", 2, "Proposition 17"),
]  # fmt: skip
"""By hand: monomials in the weights that are zero, with the powers that the layers behind give them."""


@pytest.mark.parametrize(("matrices", "form", "tokens", "value", "order", "proof"), KNOWN)
def test_monomials(
    matrices: dict[str, Rows], form: NetworkForm | None, tokens: int, value: str, order: int | None, proof: str
) -> None:
    found = learning_coefficient(Weights.of(matrices, *([] if form is None else [form])), tokens)
    assert (str(found.value), found.multiplicity) == (value, order)
    assert proof in found.proof


BOUNDED = [
    (Architecture((3, 3, 2), (1, 1), 2), {"V1": [[0] * 3] * 3, "K2": [[0] * 3], "Q2": [[0] * 3], "V2": [[0] * 3] * 2}),
    (Architecture((1, 3, 2), (1, 1), 1), {"K2": [[0] * 3], "Q2": [[0] * 3]}),
    (Architecture((2, 2, 2), (1, 1), 2, skip=True), {f"{x}{i}": [[0, 0]] for x in "QK" for i in (1, 2)}),
    (Architecture((2, 2), (1,), 3, SOFTMAX, 2, (1,), embed=1), {"V1.1": [[0, 0]], "V1.2": [[0, 0]], "E": [[0], [0]]}),
    (Architecture((2, 2, 2), (1, 1), 2, heads=2), {"V2.1": [[0, 0]] * 2, "V2.2": [[0, 0]] * 2, "V1.1": [[0, 0]] * 2,
                                                   "V1.2": [[0, 0]] * 2}),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "zeros"), BOUNDED)
def test_a_lower_bound_is_positive(shape: Architecture, zeros: dict[str, Rows]) -> None:
    drawn = Weights.random(shape, seed=2, bound=9)
    found = learning_coefficient(Weights.of({**drawn.matrices, **zeros}, drawn.form), shape.tokens)
    assert 0 < found.lower <= found.upper


CANCEL = {f"{x}1.{h}": [[1]] for x in "QKV" for h in (1, 2)} | {f"{x}2.{h}": [[h]] for x in "QKV" for h in (1, 2)}
MINUS = {f"{x}{i}": [[-(x == "V")]] for x in "QKV" for i in (1, 2)}
"""1 - 1 in every layer, of strings of one token."""


@pytest.mark.parametrize(
    ("matrices", "form", "least"), [(CANCEL | {"V1.2": [[-1]]}, NetworkForm(), "1/6"), (MINUS, SOFT_SKIP, "1/2")]
)
def test_where_no_stream_is_seen_to_be_zero(matrices: dict[str, Rows], form: NetworkForm, least: str) -> None:
    """Heads cancel each other, or what a skip connection adds: all derivatives vanish, and a bound is left."""
    found = learning_coefficient(Weights.of(matrices, form), 2)
    assert found.ranks["rank of the Jacobian"] == 0
    assert (str(found.lower), found.certified) == (least, False)


def test_a_layer_in_front_that_may_be_zero_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of the second layer are skew and all streams before it parallel: the function is zero there already."""
    matrices = {
        "Q1": [[1, 0]], "K1": [[0, 1]], "V1": [[1, 0], [0, 1]], "Q2": [[1, 0], [0, 1]], "K2": [[0, 1], [-1, 0]],
        "V2": [[1, 0], [0, 1]], "Q3": [[0, 0]], "K3": [[0, 0]], "V3": [[0, 0], [0, 0]],
    }  # fmt: skip
    weights = Weights.of(matrices)
    question = AtWeights(weights, weights.architecture(2), Work(), 0)
    assert not zero_functions._is_seen(question, 2)
    assert learning_coefficient(weights, 2).lower < 1
    monkeypatch.setattr(zero_functions, "_is_seen", lambda question, layers: True)
    assert learning_coefficient(weights, 2).lower == Fraction(1, 2), "without the hypothesis more is claimed"


@pytest.mark.parametrize("seed", range(6))
def test_ranks_of_many_heads_are_at_most_those_of_jacobians(seed: int) -> None:
    shape = Architecture((3, 2 + seed % 2), (1,), 2, heads=2 + seed % 2, value_ranks=(1,) if seed > 3 else None)
    weights = Weights.random(shape, seed=seed, bound=3)
    near = local_dimension(weights, 2)
    assert near is not None
    rank = shape.parameter_count - near.upper
    assert rank - 2 <= rank_of_heads(AtWeights(weights, shape, Work(), 0)) <= rank


def test_a_large_layer_of_heads_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = Architecture((32, 32), (8,), 4, heads=2)
    weights = Weights.random(shape, seed=1, bound=9)
    found = learning_coefficient(weights, 4)
    numbers_seen = 2 * 32 * 32 + 2 * (2 * 8 * 32 - 8 * 8) - 2
    assert (found.value, found.multiplicity) == (Fraction(numbers_seen, 2), 1)
    monkeypatch.setattr(two_bounds, "_not_mixed", lambda *_: 0)
    assert learning_coefficient(weights, 4).lower == Fraction(numbers_seen - 2, 2)


SQUARES = [(2, 2, 1, 1, "5/3"), (2, 2, 1, 2, "5/3"), (2, 3, 1, 2, "5/3"), (3, 2, 1, 1, "19/6"), (3, 3, 2, 3, "29/6")]
"""Width, rows of queries, outputs, and rank of queries and keys; each number by hand, exponent by exponent."""


@pytest.mark.parametrize(("width", "rows", "outputs", "rank", "value"), SQUARES)
def test_one_token_with_a_square_in_the_scores(width: int, rows: int, outputs: int, rank: int, value: str) -> None:
    """Rows beside the first one are isotropic: queries alone."""
    key = [[int(i == j == 0) for j in range(width)] for i in range(rows)]
    query = [[int(i == j < rank) for j in range(width)] for i in range(rows)]
    values = [[int(i == j == 0) for j in range(width)] for i in range(outputs)]
    found = learning_coefficient(Weights.of({"Q1": query, "K1": key, "V1": values}), 1)
    assert (str(found.value), found.multiplicity) == (value, 1)


def test_a_square_that_is_open_has_the_bound_of_rank_one() -> None:
    weights = Weights.of({"Q1": [[1, 0, 0], [0, 1, 0]], "K1": [[1, 0, 0], [0, 0, 0]], "V1": [[1, 0, 0]]})
    found = learning_coefficient(weights, 1)
    assert (str(found.lower), str(found.upper), found.certified) == ("19/6", "4", False)
    assert any("a < d and rk (Q; K) > 1" in str(why) for why in found.tried)
