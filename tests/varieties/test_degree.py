"""The degree of the closure: known numbers, two roads to the same integral, and what is refused."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from math import comb

import pytest

import lightning_sym.varieties.degree as module
from lightning_sym import SOFTMAX, Architecture, DegreeSource, certified_dimension, variety_degree
from lightning_sym.errors import BadInput, ProgramError, TooLarge
from lightning_sym.exact.determinantal import determinantal_degree, symmetric_determinantal_degree
from lightning_sym.varieties import cone_bundles
from lightning_sym.varieties.cone_bundles import Cone, flags, intersection_number

# widths, ranks, tokens and the degree, found by other means: resultants, classical loci, and Macaulay2 (the benchmark)
KNOWN = {
    ((2, 1), (1,), 2): 3,
    ((2, 1), (2,), 2): 4,
    ((2, 2), (1,), 2): 20,
    ((2, 2), (2,), 2): 20,
    ((3, 1), (1,), 2): 45,
    ((3, 1), (2,), 2): 108,
    ((3, 1), (9,), 2): 45,
    ((2, 1), (1,), 1): 1,
    ((2, 2), (1,), 1): 10,
    ((3, 1), (1,), 1): 15,
    ((3, 1), (2,), 1): 21,
    ((2, 2, 1), (1, 1), 1): 90,
    ((3, 1, 1), (1, 1), 1): 15 * 3**6,  # cubes of the functions of the first layer
    ((2, 2, 1), (2, 1), 2): 1620,
    ((2, 2, 1), (2, 2), 2): 2338,
    ((1, 5), (3,), 2): 1,
    ((1, 4, 3), (1, 1), 3): 1,
}


@pytest.mark.parametrize(("shape", "degree"), KNOWN.items(), ids=str)
def test_known_degrees(shape: tuple[tuple[int, ...], tuple[int, ...], int], degree: int) -> None:
    result = variety_degree(Architecture(*shape))
    assert result.degree == degree
    assert result.source is not DegreeSource.OPEN


def test_embeddings() -> None:
    """Cubes of linear forms, and cubic forms in three variables that are three lines through a point."""
    assert variety_degree(Architecture((1, 1), (1,), 1, embed=3)).degree == 9
    assert variety_degree(Architecture((2, 1), (1,), 1, embed=3)).degree == 15
    assert variety_degree(Architecture((3, 1), (1,), 2, embed=2)).degree == 3
    assert (
        variety_degree(Architecture((2, 1), (2,), 2, unembed=4)).degree
        == variety_degree(Architecture((2, 4), (2,), 2, value_ranks=(1,))).degree
    )


@pytest.mark.parametrize("d_out", [1, 2, 3])
@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_the_formula_for_one_layer(d: int, d_out: int) -> None:
    """As it is printed in Corollary 2."""
    for a in range(1, d + 2):
        rank = min(a, d)
        n = rank * (2 * d - rank) - 1
        expected = comb(n + d * d_out - 1, n) * determinantal_degree(d, d, rank) // (2 if rank == d_out == 1 else 1)
        assert variety_degree(Architecture((d, d_out), (a,), 3)).degree == expected
        rank = min(2 * a, d)
        n = rank * d - rank * (rank - 1) // 2 - 1
        points = 3 if d_out == 1 and rank == 2 else 1
        expected = comb(n + d * d_out - 1, n) * symmetric_determinantal_degree(d, rank) // points
        assert variety_degree(Architecture((d, d_out), (a,), 1)).degree == expected


def test_masks_and_skip_connections_of_one_layer_change_nothing() -> None:
    plain = Architecture((3, 3), (2,), 2)
    for other in (replace(plain, causal=True), replace(plain, skip=True), replace(plain, causal=True, skip=True)):
        result = variety_degree(other)
        assert result.degree == variety_degree(plain).degree
        assert result.dimension == variety_degree(plain).dimension


def test_dimensions_are_certified_ones() -> None:
    """And the integral is divisible by the number of points, for random networks with embeddings and value ranks."""
    draw = random.Random(5)
    seen: set[Architecture] = set()
    while len(seen) < 60:
        depth, tokens = draw.randint(1, 3), draw.randint(1, 3)
        widths = tuple(draw.randint(1, 4) for _ in range(depth + 1))
        ranks = tuple(draw.randint(1, 3) for _ in range(depth))
        network = Architecture(widths, ranks, tokens if depth < 3 else 1)
        if draw.random() < 0.3:
            network = replace(network, embed=draw.randint(1, 4))
        if draw.random() < 0.3:
            network = replace(network, unembed=draw.randint(1, 4))
        if draw.random() < 0.3:
            network = replace(network, value_ranks=tuple(draw.randint(1, 3) for _ in range(depth)))
        result = variety_degree(network)
        if network in seen or result.degree is None or result.points is None:
            continue
        seen.add(network)
        assert result.dimension == certified_dimension(network).lower, network
        if result.source is not DegreeSource.TWO_LAYERS:
            shape = module._shape(network)
            assert intersection_number(shape.sizes, shape.cones) == result.degree * result.points


@pytest.mark.parametrize(
    ("network", "word"),
    [
        (Architecture((2, 2, 2, 1), (2, 2, 2), 2), "base points"),
        (Architecture((3, 3, 1), (3, 3), 2), "base points"),
        (Architecture((3, 3, 1), (2, 3), 3), "base points"),
        (Architecture((2, 2, 1), (1, 1), 2, causal=True), "causal"),
        (Architecture((2, 2, 2), (1, 1), 1, skip=True), "skip"),
        (Architecture((2, 2), (1,), 2, skip=True, embed=3), "skip"),
        (Architecture((3, 3), (1,), 2, heads=2), "heads"),
    ],
)
def test_what_is_open_says_why(network: Architecture, word: str) -> None:
    result = variety_degree(network)
    assert (result.degree, result.source) == (None, DegreeSource.OPEN)
    assert word in result.reason
    assert word in str(result)


def test_two_full_layers_need_three_tokens_from_width_three_on() -> None:
    assert variety_degree(Architecture((3, 3, 1), (3, 3), 3)).source is DegreeSource.TWO_LAYERS
    assert variety_degree(Architecture((2, 2, 1), (2, 2), 3)).degree == 2338


def test_heads_that_fill_the_span() -> None:
    result = variety_degree(Architecture((2, 2), (1,), 2, heads=2))
    assert (result.degree, result.dimension, result.source) == (1, 12, DegreeSource.SPAN)


def test_a_flag_that_is_forced_changes_nothing() -> None:
    """The sum over fixed points, and the formulas of Giambelli and of Harris and Tu."""
    for rows in (1, 2):
        matrix, value = Cone(1, 3, 1, 3), Cone(1, 3, rows, 1, rows=rows)
        whole = [replace(cone, step=0, size=5) for cone in (matrix, value)]
        if 2 * matrix.rank + rows <= 3:
            assert intersection_number([5, 3], [matrix, value]) == intersection_number([5], whole)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_fixed_points_give_the_degrees_of_determinantal_varieties(size: int) -> None:
    everything = tuple(range(size))
    for rank in range(1, size + 1):
        cones = [Cone(0, size, rank, 1, symmetric=True), Cone(0, size, rank, 1)]
        cones += [Cone(0, size, rank, 1, rows=rows) for rows in range(rank, 6)]
        for cone in cones:
            assert cone.segre(everything, 0) == [cone.degree]


def test_flags() -> None:
    assert len(list(flags([4, 3, 1]))) == 12
    assert [spaces for _, spaces in flags([2, 2])] == [[(0, 1), (0, 1)]]


def test_results_print_pickle_and_are_no_answers() -> None:
    result = variety_degree(Architecture((2, 1), (2,), 2))
    assert repr(result) == "variety_degree(Architecture(widths=(2, 1), attention_ranks=(2,), tokens=2))"
    assert "\n" not in repr(result)
    assert result._repr_latex_() == r"$\displaystyle \deg \overline{\mathcal{M}} = 4$"
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301 - our own
    with pytest.raises(BadInput, match="truth value"):
        bool(result)


def test_refusals() -> None:
    with pytest.raises(BadInput, match="normalization"):
        variety_degree(Architecture((2, 2), (1,), 2, SOFTMAX))
    for network in (
        Architecture((10**6, 2), (2,), 2),
        Architecture((2, 10**9), (2,), 2),
        Architecture((2,) * 500, (2,) * 499, 1),
        Architecture((1,) * 100_001, (1,) * 100_000, 1),
        Architecture((12, 11, 10, 9, 8), (4, 4, 4, 4), 1),
    ):
        with pytest.raises(TooLarge):
            variety_degree(network)
    with pytest.raises(BadInput, match="work must be"):
        variety_degree(Architecture((2, 1), (2,), 2), work=0)


def test_width_64() -> None:
    degree = variety_degree(Architecture((64, 64), (64,), 2)).degree
    assert degree == comb(8190, 4095)


@pytest.mark.parametrize("fault", ["points", "exponents"])
def test_mutants_fail(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The known numbers notice a division that is forgotten, and exponents that are lost."""
    honest = module._shape

    def wrong(network: Architecture) -> module._DegreeShape:
        shape = honest(network)
        if fault == "points":
            return replace(shape, points=1)
        return replace(shape, cones=tuple(replace(cone, exponent=1) for cone in shape.cones))

    monkeypatch.setattr(module, "_shape", wrong)
    assert any(variety_degree(Architecture(*shape)).degree != degree for shape, degree in KNOWN.items())


def test_a_number_that_is_no_integer_is_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    right = module._shape
    monkeypatch.setattr(module, "_shape", lambda network: replace(right(network), points=7))
    with pytest.raises(ProgramError, match="7 points of each fiber must divide 3240"):
        variety_degree(Architecture((2, 2, 1), (2, 1), 2))
    monkeypatch.setattr(cone_bundles, "_tangent", lambda chosen, inside: 7)
    with pytest.raises(ProgramError, match="an integer"):
        intersection_number([3, 1], [Cone(1, 1, 1, 1, symmetric=True)])
