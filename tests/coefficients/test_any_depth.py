"""Networks of any depth: circuits that conditions show to be seen, against Jacobians and dimensions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, certified_dimension, learning_coefficient
from lightning_sym.coefficients import any_depth
from lightning_sym.coefficients.any_depth import rank_by_conditions, seen_by_conditions, seen_by_ranks
from lightning_sym.coefficients.lightning_layer import Proved
from lightning_sym.coefficients.seen_circuits import AtWeights
from lightning_sym.coefficients.two_bounds import two_bounds
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.limits import Work


def soft(
    *widths: int, tokens: int = 3, heads: int = 1, skip: bool = True, ends: tuple[int, int] | None = None
) -> Architecture:
    """A causal softmax network of query/key width one."""
    embed, unembed = ends or (None, None)
    ranks = (1,) * (len(widths) - 1)
    return Architecture(widths, ranks, tokens, SOFTMAX, heads, None, skip, causal=True, embed=embed, unembed=unembed)


def asked(weights: Weights, tokens: int) -> AtWeights:
    return AtWeights(weights, weights.architecture(tokens), Work(), 0)


def changed(weights: Weights, **matrices: list[list[int]]) -> Weights:
    """The same with other matrices, `Q1_2` for `Q1.2`."""
    others = {name.replace("_", "."): matrix for name, matrix in matrices.items()}
    return Weights.of({**weights.matrices, **others}, weights.form)


LARGE = [
    (Architecture((16,) * 3, (4,) * 2, 3, SOFTMAX, 4, (4, 4), skip=True, causal=True, embed=20, unembed=20), "13"),
    (Architecture((6, 6, 6), (2, 2), 2, SOFTMAX, 3, (2, 2)), "13"),
    (Architecture((12,) * 4, (3,) * 3, 3, skip=True, embed=14, unembed=13), "14"),
]


@pytest.mark.parametrize(("shape", "theorem"), LARGE)
def test_at_generic_weights_it_is_half_of_the_dimension_of_a_large_network(shape: Architecture, theorem: str) -> None:
    found = learning_coefficient(Weights.random(shape, seed=1, bound=50), shape.tokens)
    assert (found.value, found.multiplicity) == (Fraction(certified_dimension(shape).value or 0, 2), 1)
    assert found.proof.endswith(f"Theorem {theorem}")
    assert str(found).count(" = ") <= 22, "a large network has more ranks than one reads"


ALIKE = {"Q1_2": [[1, 2]], "K1_2": [[3, -1]], "Q1_1": [[1, 2]], "K1_1": [[3, -1]]}
"""Two heads of the first layer that attend alike."""


@pytest.mark.parametrize(
    ("shape", "matrices"),
    [
        (soft(2, 2, 2, heads=2), {}),
        (soft(2, 2, 2, heads=2, tokens=2), {"V1_1": [[0, 0], [0, 0]]}),
        (soft(2, 2, 2, skip=False, ends=(3, 2)), {}),
        (soft(2, 2, 2, heads=2, ends=(2, 3)), {"Q2_1": [[0, 0]]}),
        (soft(2, 2, 2, heads=2), ALIKE),
    ],
)
def test_conditions_and_jacobians_agree(shape: Architecture, matrices: dict[str, list[list[int]]]) -> None:
    weights = changed(Weights.random(shape, seed=3, bound=5), **matrices)
    question = asked(weights, shape.tokens)
    first, second = seen_by_conditions(question), seen_by_ranks(question)
    if isinstance(first, Proved):
        assert isinstance(second, Proved)
        assert first.pair == second.pair
    else:
        assert "Q2_1" in matrices  # a head whose scores are zero
    near = local_dimension(weights, shape.tokens)
    assert near is not None
    assert rank_by_conditions(question) <= shape.parameter_count - near.upper


@pytest.mark.parametrize(
    ("shape", "matrices", "why"),
    [
        (soft(2, 2, 2, ends=(2, 1)), {}, "rank U = d"),
        (soft(2, 2, 2, ends=(1, 2)), {}, "rank E = d"),
        (soft(1, 1, heads=3, tokens=2, ends=(1, 1)), {f"Q1_{h}": [[q]] for h, q in ((1, 1), (2, -1), (3, 0))}, "(a)"),
        (soft(2, 2, 2, heads=2), ALIKE | {"V1_1": [[1, 0], [0, 0]], "V1_2": [[0, 1], [0, 0]]}, "seen to be apart"),
    ],
)
def test_each_hypothesis_is_needed(
    shape: Architecture, matrices: dict[str, list[list[int]]], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the formula counts what is not seen."""
    keys = {f"K1_{h}": [[1]] for h in (1, 2, 3)} if why == "(a)" else {}
    weights = changed(Weights.random(shape, seed=3, bound=5), **keys, **matrices)
    said = seen_by_conditions(asked(weights, shape.tokens))
    assert isinstance(said, str)
    assert why in said
    monkeypatch.setattr(any_depth, "failing", lambda question, needs: None)
    monkeypatch.setattr(any_depth, "is_injective", lambda values: True)
    blind = asked(weights, shape.tokens)
    claimed = seen_by_conditions(blind)
    assert isinstance(claimed, Proved)
    monkeypatch.undo()
    bounds = two_bounds(asked(weights, shape.tokens), counted=False)
    near = local_dimension(weights, shape.tokens)
    assert near is not None
    assert bounds.value != claimed.pair.value
    assert claimed.pair.value > bounds.lower
    assert 2 * bounds.lower == shape.parameter_count - near.upper


def test_a_bound_where_only_ranks_fall_short() -> None:
    shape = Architecture((16,) * 3, (4,) * 2, 3, SOFTMAX, 4, (4, 4), skip=True, causal=True, embed=20, unembed=9)
    found = learning_coefficient(Weights.random(shape, seed=1, bound=50), 3)
    assert 0 < found.lower <= Fraction(certified_dimension(shape).value or 0, 2) <= found.upper


def test_a_block_of_zeros_counts_by_its_degree() -> None:
    zero = Weights.random(Architecture((3, 3, 3, 3), (2, 2, 2), 2), seed=1, bound=5)
    weights = Weights.of(dict(zero.matrices) | {"V1": [[0] * 3] * 3}, NetworkForm())
    assert learning_coefficient(weights).upper == Fraction(9, 2 * 9)


def test_heads_that_attend_alike_write_no_more_than_their_projections_let_them() -> None:
    """The sum of their values is a product of small rank, not any matrix."""
    shape = Architecture((6, 10), (1,), 2, SOFTMAX, 2, (1,), embed=6)
    weights = Weights.random(shape, seed=3, bound=5)
    alike = {letter + "1.2": weights[letter + "1.1"] for letter in "QKOV"}
    question = asked(Weights.of(dict(weights.matrices) | alike, weights.form), 2)
    near = local_dimension(question.weights, 2)
    assert near is not None
    assert 0 < rank_by_conditions(question) <= shape.parameter_count - near.upper
    found = learning_coefficient(question.weights)
    assert found.lower < found.upper


def test_scores_that_one_background_token_does_not_show_are_shown_by_two() -> None:
    """Where `A V` is skew a single token sees no score of what it writes; Theorem 14 then asks for three tokens."""
    shape = Architecture((2, 2, 2), (2, 2), 3, skip=True, causal=True, embed=2)
    skew = {"Q1": [[1, 0], [0, 1]], "K1": [[1, 2], [0, 3]], "V1": [[0, 3], [-1, -2]]}
    weights = changed(Weights.random(shape, seed=3, bound=5), **skew)
    proofs = [learning_coefficient(weights, tokens).proof for tokens in (2, 3)]
    assert [proof.endswith("Theorem 14") for proof in proofs] == [False, True]
    assert isinstance(five := seen_by_ranks(asked(weights, 3)), Proved)
    assert learning_coefficient(weights, 3).value == five.pair.value
