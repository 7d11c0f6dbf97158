"""Claims about fibers of transformers: their tools against other ways to the same, and what they must not do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from lightning_sym import SOFTMAX, Architecture
from lightning_sym.errors import TooLarge
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.rings.balls import distance, precision
from lightning_sym.rings.derivatives import Dual
from lightning_sym.rings.prime_field import random_residues
from proofs_check.claim import Refutation, Undecided
from proofs_check.claims.transformers import words_and_blocks as claim_of_words
from proofs_check.claims.transformers.common_streams import made_equal
from proofs_check.claims.transformers.common_streams.criterion import common_streams, inputs_of
from proofs_check.claims.transformers.conditions import WordSpaces, failing
from proofs_check.claims.transformers.formal_exponentials import ExactLayer, ResiduePoint
from proofs_check.claims.transformers.made_equal import Maker, equal_pairs
from proofs_check.claims.transformers.one_transformer_layer import OneLayerBox, all_sums, differences
from proofs_check.claims.transformers.polynomial_maps import (
    P,
    PolynomialNetwork,
    words_and_blocks,
    words_and_two_token_scores,
)
from proofs_check.claims.transformers.small_networks import (
    HeadAV,
    SmallNetwork,
    apart,
    matrices_of,
    points,
    rank_of_differential,
    same_for_any_exponential,
    side_by_side,
    with_matrices,
)
from proofs_check.claims.transformers.small_networks import P as PRIME
from proofs_check.claims.transformers.transformer_dimension import formula, is_narrow, is_wide
from proofs_check.claims.transformers.transformer_fibers import clusters
from proofs_check.claims.transformers.words_and_blocks import spans
from proofs_check.registry import claim_by_id


def listed(network: Architecture, weights: dict[str, Any]) -> list[int]:
    """All words and all blocks, one by one."""
    one = np.eye(network.widths[0], dtype=object)
    words = [weights["E"]]
    found: list[int] = []
    for i in range(1, network.depth + 1):
        longer = []
        for h in range(1, network.heads + 1):
            at = f"{i}.{h}" if network.heads > 1 else f"{i}"
            form = weights[f"K{at}"].T @ weights[f"Q{at}"]
            found += [entry for a, b in product(words, repeat=2) for entry in (a.T @ form @ b).ravel()]
            longer += [weights[f"O{at}"] @ weights[f"V{at}"] @ one @ w for w in words]
        words += longer
    return found + [entry for w in words for entry in (weights["U"] @ w).ravel()]


@pytest.mark.parametrize("sizes", [(2, 3, 2, 1, 2, 1), (1, 2, 2, 2, 1, 2), (3, 2, 1, 2, 2, 1), (2, 4, 2, 1, 4, 4)])
def test_functionals_of_words_and_blocks_have_the_rank_of_the_list(sizes: tuple[int, int, int, int, int, int]) -> None:
    """Derivatives of polynomials of degree two in each entry, or less but for Q and K, by differences."""
    network = claim_of_words.transformer(sizes, 3, True)
    source = np.random.default_rng(3)
    weights = {name: source.integers(-9, 10, size=shape).astype(object) for name, shape in network.weight_shapes()}
    rows = []
    for name, matrix in weights.items():
        for index in np.ndindex(*matrix.shape):
            ends = []
            for step in (1, -1):
                moved = matrix.copy()
                moved[index] += step
                ends.append(listed(network, {**weights, name: moved}))
            rows.append([(a - b) // 2 % P for a, b in zip(*ends, strict=True)])
    assert rank_mod_p(np.array(rows, dtype=np.int64), P) == words_and_blocks(network)


def test_scores_of_two_tokens_never_see_more_than_blocks() -> None:
    for network in claim_of_words.shapes((2, 3), 5, (25, 25), quick=True):
        assert words_and_two_token_scores(network) <= words_and_blocks(network)


class Along(PolynomialNetwork):
    """The same numbers, and one direction of all weights carried along: dual numbers."""

    def __init__(self, network: Architecture, seed: int, direction: np.random.Generator) -> None:
        super().__init__(network, seed)
        self.directions = [random_residues(direction, shape, P) for _, shape in network.weight_shapes()]
        moving: Any = zip(self.matrices.items(), self.directions, strict=True)
        self.matrices = {name: Dual(matrix.value, way) for (name, matrix), way in moving}  # type: ignore[misc]

    def random(self, size: int) -> Any:
        return Dual(super().random(size).value)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("skip", [False, True])
def test_gradients_of_functionals_are_those_of_dual_numbers(causal: bool, skip: bool) -> None:
    for sizes in ((2, 3, 2, 1, 2, 1), (1, 2, 3, 2, 1, 2)):
        network = replace(claim_of_words.transformer(sizes, 2, causal), skip=skip)
        for name in ("words", "blocks", "two_token_scores"):
            at, along = PolynomialNetwork(network, 2), Along(network, 2, np.random.default_rng(3))
            rows = at.jacobian(getattr(at, name)())
            way = np.concatenate([m.residues().ravel() for m in along.directions])
            slopes = getattr(along, name)().tangent.residues().ravel()
            assert any(slopes)
            assert (rows.astype(object) @ way % P == slopes).all()


def test_a_rank_that_falls_short_refutes_nothing() -> None:
    network = claim_of_words.transformer((3, 2, 1, 1, 1, 1), 3, True)
    with pytest.raises(Undecided, match="rank 3 at least"):
        claim_of_words.rank_is_dimension(network, rank=lambda n: 3)
    with pytest.raises(Refutation, match="rank of the polynomial map 99 at least"):
        claim_of_words.rank_is_dimension(network, rank=lambda n: 99)


def test_derivatives_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TooLarge, match="derivatives by 73,728 weights must fit into 2 GiB"):
        words_and_blocks(claim_of_words.transformer((64, 64, 4, 8, 8, 8), 3, True))


def test_formulas_are_asked_about_what_they_are_about() -> None:
    wide, narrow, _, _ = claim_by_id("transformer-dimension").parts
    network = claim_of_words.transformer((4, 3, 2, 2, 1, 1), 2, True)
    assert (is_wide(network), is_narrow(network), formula(network), spans(network)) == (True, False, 55, [3, 3, 3])
    assert wide.at is not None
    assert narrow.at is not None
    one_word = replace(network, embed=1, tokens=3)
    assert [list(part(n, None)) for n in (network, one_word) for part in (wide.at, narrow.at)] == [
        [network], [], [], [one_word],
    ]  # fmt: skip
    for outside in (replace(one_word, tokens=2), replace(network, normalization=None), replace(network, tokens=1)):
        assert not is_narrow(outside)
        assert not list(narrow.at(outside, None))
    assert not is_wide(replace(network, tokens=1))
    assert not is_wide(replace(network, skip=False, widths=(3, 4, 4)))


def random_networks(count: int) -> Iterator[SmallNetwork]:
    for seed in range(count):
        maker = Maker(seed)
        yield maker.network(2, 2, (1 + seed % 2, 1), skip=seed % 3 > 0)


def first(pattern: Any, _scores: Any) -> Any:
    """A pattern that does not look at scores."""
    return pattern


def test_balls_and_residues_run_the_same_network() -> None:
    """Where scores are zero the pattern is rational, and both must be its output."""
    for network in random_networks(6):
        matrices = matrices_of(network)
        assert with_matrices(network, matrices) == network
        scores = range(1, len(matrices) - 1, 2)
        flat = with_matrices(network, [((0, 0), (0, 0)) if k in scores else m for k, m in enumerate(matrices)])
        (x,) = inputs_of(flat, 1)
        seen = flat.attended.astype(int)
        pattern = np.array(
            [[Fraction(int(n), int(m)) for n, m in zip(row, seen.sum(axis=0), strict=True)] for row in seen]
        )
        exact = flat.run(x, lambda matrix: matrix, partial(first, pattern)).ravel()
        residues = [int(n.numerator) * pow(int(n.denominator), -1, PRIME) % PRIME for n in exact]
        assert all(flat.with_any_exponential(x, seed).ravel().tolist() == residues for seed in (1, 2))
        with precision(250):
            distances = [distance(ball, Fraction(n)) for ball, n in zip(flat.balls(x).ravel(), exact, strict=True)]
        assert all(near == 0 and far is not None and far < Fraction(1, 2**200) for near, far in distances)


def test_networks_side_by_side_are_run_like_each_alone() -> None:
    for tokens, causal, skip in product((2, 3), (False, True), (False, True)):
        drawn = [Maker(seed).network(2, 2, (2, 1)) for seed in range(4)]
        networks = [n._replace(tokens=tokens, causal=causal, skip=skip) for n in drawn]
        inputs = np.array(inputs_of(networks[0], 3))
        together = side_by_side(networks).balls(inputs[:, None])
        assert together.shape == (3, 4, 2, tokens)
        for (i, j), x in zip(np.ndindex(3, 4), np.repeat(inputs, 4, axis=0), strict=True):
            assert [b.str(60) for b in together[i, j].ravel()] == [b.str(60) for b in networks[j].balls(x).ravel()]
            assert networks[j].with_any_exponential(inputs, 5)[i].tolist() == (
                networks[j].with_any_exponential(x, 5).tolist()
            )


def test_common_streams_is_symmetric_and_says_yes_to_the_same_network() -> None:
    networks = list(random_networks(8))
    assert all(common_streams(n, n) for n in networks)
    for pair in equal_pairs(quick=True):
        for other in (pair.other, pair.spoiled):
            assert common_streams(pair.one, other) is common_streams(other, pair.one)


def test_pairs_that_were_made_equal_carry_what_they_say() -> None:
    pairs = list(equal_pairs(quick=True))
    assert len({pair.kind for pair in pairs}) == 8
    for pair in pairs:
        inputs = inputs_of(pair.one, 4)
        assert not apart(pair.one, pair.other, inputs)
        assert same_for_any_exponential(pair.one, pair.other, inputs)
        assert apart(pair.one, pair.spoiled, inputs)
    with pytest.raises(Refutation, match="said to be equal"):
        made_equal(pairs[0], criterion=lambda one, other: True)
    with pytest.raises(Undecided, match="said to be equal False"):
        made_equal(pairs[0], criterion=lambda one, other: False)


def test_coefficients_of_forms_are_those_of_the_polynomial() -> None:
    """`q_A(N(gamma) E xi)` at many `gamma`: the span of its values is that of its coefficients."""
    maker = Maker(4)
    network = maker.network(2, 2, (2, 2, 1))
    of = WordSpaces(network)
    a = np.array(network.layers[2][0].attention, dtype=object)
    source, values = np.random.default_rng(1), []
    for _ in range(30):
        streams = of.embed
        for i in (1, 2):
            gammas = source.integers(-9, 9, size=2)
            written = sum(int(g) * v @ streams for g, v in zip(gammas, of.values[i - 1], strict=True))
            streams = written if i == 2 else streams + written
        values.append([int(entry) % P for entry in (streams.T @ (a + a.T) @ streams).ravel()])
    coefficients = [[int(entry) % P for entry in m.ravel()] for m in of.forms(2, a)]
    ranks = [rank_mod_p(np.array(rows, dtype=np.int64), P) for rows in (values, coefficients, values + coefficients)]
    assert ranks[0] == ranks[1] == ranks[2]


def test_conditions_by_hand() -> None:
    def of(*heads: tuple[int, int], tokens: int = 3, causal: bool = True, skip: bool = True) -> str:
        one = ((1,),)
        layers = tuple((HeadAV(((a,),), ((v,),)),) for a, v in heads)
        return failing(SmallNetwork(one, layers, one, tokens, causal, skip))

    assert of((1, 1), (1, 1)) == ""
    assert of((0, 1), (1, 1)) == "a"
    assert of((1, 0), (1, 1)) == "a, b"
    assert of((1, -1), (1, 1)) == "a, ranks"
    assert of((1, 1), (1, -1), causal=False) == "b"
    assert of((0, 1), (1, 1), causal=False) == "a, a'"
    assert of((1, 1), (1, 0), skip=False) == "b, ranks"


def test_clusters_are_apart_and_nobody_is_lost() -> None:
    networks = list(random_networks(5))
    inputs = points(2, 2, 2)
    shown = [n._replace(tokens=2, causal=True) for n in [*networks, *networks[:2]]]
    with precision(250):
        outputs = [(n, [ball for x in inputs for ball in n.balls(x).ravel()]) for n in shown]
        found = list(clusters(outputs))
    assert sorted(len(cluster) for cluster in found) == [1, 1, 1, 2, 2]
    for one, other in combinations(found, 2):
        assert apart(one[0][0], other[0][0], inputs)


def test_a_differential_of_one_head_by_hand() -> None:
    """One causal head of width one, `E = U = 1` fixed: A and V are both seen, but for V = 0, where A is not."""
    one = ((1,),)
    for v, rank in ((1, 2), (0, 1)):
        network = SmallNetwork(one, ((HeadAV(one, ((v,),)),),), one, 2, True)
        weights, group, bounds = rank_of_differential(network, ends=False)
        assert (weights, group, bounds.lower) == (2, 0, rank)
    weights, group, bounds = rank_of_differential(network._replace(layers=((HeadAV(one, one),),)), ends=True)
    assert (weights, group, bounds) == (4, 1, (3, 3))


def test_tables_and_exact_layers_agree_on_padding() -> None:
    """A head that writes nothing, or reads nothing that is there, is no entry of the table."""
    form = partial(SmallNetwork, ((1,), (0,)), unembed=((1, 1),), causal=False, skip=True)
    head, nothing = HeadAV(((1, 0), (0, 1)), ((1, 0), (0, 0))), HeadAV(((1, 1), (0, 0)), ((0, 3), (0, 1)))
    for tokens in (2, 3):
        one, other = form(((head,),), tokens=tokens), form(((head, nothing),), tokens=tokens)
        assert ExactLayer(one).same_as(ExactLayer(other))
        assert all_sums(one) == all_sums(other)
        assert differences(one) == differences(other)
        point = ResiduePoint(1, one, seed=2)
        (alone,), (padded,) = point.outputs([one]), point.outputs([other])
        assert alone == padded
        every = [one, one._replace(unembed=((1, 2),)), one._replace(embed=((0,), (1,)))]
        assert point.outputs(every) == [output for each in every for output in point.outputs([each])]
    assert len(list(OneLayerBox(1, 2, 2, False, True).networks())) == 3**6


def test_transformers_of_the_claims_are_softmax() -> None:
    assert claim_of_words.transformer((2, 3, 2, 1, 2, 1), 3, True).normalization is SOFTMAX
