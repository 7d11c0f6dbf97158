"""Connected components of real fibers, against counts by signs alone and against degenerate cases."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from lightning_cli.pictures.fiber import picture
from lightning_sym import Architecture, NetworkForm, Weights, fiber, polynomial_map
from lightning_sym.exact.rational import rank
from lightning_sym.fibers import real_components
from lightning_sym.fibers.factorizations import Reader, Space
from lightning_sym.fibers.points import Component
from lightning_sym.fibers.real_components import tight_widths
from lightning_sym.rings.normalization import SOFTMAX


def of(**matrices: Any) -> Weights:
    return Weights.of(matrices)


def orthants(weights: Weights, ranks: Sequence[int]) -> int:
    """The signs of one weight a layer and matrix with this function, a monomial in them.

    Where all sizes are one these orthants are the components. The pairs of vectors with `k . q = c`, `c` not 0, are
    connected if they are longer: a hyperboloid with the signature `(a, a)`. Then `q` stands for `k . q`, and `k` for 1.
    """
    phi = polynomial_map(weights.architecture(1))
    ((exponents, _),) = [(tuple(map(int, e)), c) for e, c in phi.entries[0, 0].to_dict().items()]
    powers = exponents[: len(phi.weight_names)]
    value = np.prod([np.sign(float(m[0, 0])) ** p for m, p in zip(weights.named().values(), powers, strict=True)])
    of_layers = [((1, -1), (1,) if a > 1 else (1, -1), (1, -1)) for a in ranks]
    signs = product(*(choices for layer in of_layers for choices in layer))
    return sum(np.prod([s**p for s, p in zip(one, powers, strict=True)]) == value for one in signs)


@pytest.mark.parametrize("ranks", [(1,), (2,), (1, 1), (2, 1), (1, 2), (3, 2), (1, 1, 1), (2, 1, 2)])
@pytest.mark.parametrize("tokens", [1, 2])
def test_where_all_widths_are_one_signs_count(ranks: tuple[int, ...], tokens: int) -> None:
    alone: dict[str, list[list[int]]] = {}
    wide: dict[str, list[list[int]]] = {}
    for i, a in enumerate(ranks, start=1):
        wide |= {f"Q{i}": [[2]] * a, f"K{i}": [[-3]] * a, f"V{i}": [[2]]}
        alone |= {f"Q{i}": [[2 if a == 1 else -6 * a]], f"K{i}": [[-3 if a == 1 else 1]], f"V{i}": [[2]]}
    found = fiber(Weights.of(wide), tokens)
    assert found.real_components == orthants(Weights.of(alone), ranks) == 2 ** (2 * len(ranks) + ranks.count(1) - 1)
    assert found.real is not None
    assert found.real.virtual == 2 ** len(ranks)


E2 = [[1, 0], [0, 1]]
CASES: list[tuple[str, Weights, int, tuple[int | None, int | None]]] = [
    # k . q is a nonzero number: for one row a hyperbola, for more rows connected; v has the other sign or not
    ("one row", of(Q1=[[1]], K1=[[1]], V1=[[1]]), 2, (4, 2)),
    ("two rows", of(Q1=[[1], [0]], K1=[[1], [1]], V1=[[1]]), 2, (2, 2)),
    ("rank two of two", of(Q1=E2, K1=E2, V1=[[1, 0]]), 2, (4, 2)),
    ("rank one of two", of(Q1=[[1, 0], [0, 0]], K1=E2, V1=E2), 2, (2, 2)),
    ("skew", of(Q1=[[0, 1], [-1, 0]], K1=E2, V1=E2), 2, (4, 2)),
    ("rank one twice", of(Q1=[[1, 2]], K1=[[1, -1]], V1=[[3, 1]]), 2, (8, 4)),
    ("rank one twice, alike", of(Q1=[[1, 2]], K1=[[3, 1]], V1=[[3, 1]]), 2, (4, 2)),
    ("rank one twice, spare row", of(Q1=[[1, 2], [0, 0]], K1=[[1, -1], [5, 5]], V1=[[3, 1]]), 2, (4, 4)),
    ("zero", of(Q1=[[1, 2]], K1=[[1, 0]], V1=[[0, 0]]), 2, (1, 1)),
    ("zero scores", of(Q1=[[0, 0]], K1=[[1, 0]], V1=[[1, 0]]), 2, (1, 1)),
    ("zero, two layers", of(Q1=[[0], [0]], K1=[[1], [-1]], V1=[[2]], Q2=[[0]], K2=[[0]], V2=[[2]]), 2, (1, 1)),
    ("zero behind a wide stream", of(Q1=[[0]], K1=[[0]], V1=[[-1], [-1]], Q2=[[2, 2]], K2=[[0, 0]], V2=[[0, 0]]), 2,
     (1, 1)),
    # one token: signature (2, 0), (1, 1) and (1, 0) of x^T A x
    ("definite", of(Q1=E2, K1=E2, V1=E2), 1, (4, 2)),
    ("definite, spare row", of(Q1=[*E2, [0, 0]], K1=[*E2, [0, 0]], V1=E2), 1, (2, 2)),
    ("indefinite, one row", of(Q1=[[1, 0]], K1=[[0, 1]], V1=E2), 1, (8, 2)),
    ("indefinite, two rows", of(Q1=[[1, 0], [0, 0]], K1=[[0, 1], [0, 0]], V1=E2), 1, (2, 2)),
    ("signature (2, 1), two rows", of(Q1=[[1, 0, -1], [0, 1, 0]], K1=[[1, 0, 1], [0, 1, 0]], V1=[[1, 0, 0], [0, 1, 0]]),
     1, (4, 2)),
    ("a square", of(Q1=[[1, 0]], K1=[[1, 0]], V1=E2), 1, (4, 2)),
    ("skew, one token", of(Q1=[[0, 1], [-1, 0]], K1=E2, V1=E2), 1, (1, 1)),
    ("three linear factors", of(Q1=[[1, 0]], K1=[[0, 1]], V1=[[1, 1]]), 1, (24, 6)),
    ("irrational factors", of(Q1=E2, K1=[[1, 0], [0, -2]], V1=[[1, 0]]), 1, (6, 6)),
    # two layers: a wide stream between them turns through a reflection, a narrow one does not
    ("wide stream", of(Q1=E2, K1=E2, V1=[[1, 0], [0, 1], [0, 0]], Q2=[[1, 0, 0], [0, 1, 0]],
                       K2=[[1, 0, 0], [0, 2, 0]], V2=[[1, 0, 0]]), 2, (16, 4)),
    # v1 in the plane is not 0, which is connected; k1, q1 and the signs of k2 . v1, q2 . v1, v2 . v1 are left
    ("a line through a plane", of(Q1=[[1]], K1=[[1]], V1=[[2], [1]], Q2=[[1, 0]], K2=[[-2, 1]], V2=[[-1, 1]]), 2,
     (16, 4)),
    ("narrow stream", of(Q1=E2, K1=E2, V1=E2, Q2=E2, K2=[[1, 0], [0, 2]], V2=[[1, 0]]), 2, (32, 4)),
    ("not described whole", of(Q1=[[1, 0]], K1=[[1, 1]], V1=E2, Q2=E2, K2=E2, V2=E2), 2, (None, None)),
]  # fmt: skip


def case(name: str) -> tuple[Weights, int, tuple[int | None, int | None]]:
    """The weights, tokens and counts of the case with this name."""
    return next((weights, tokens, known) for known_as, weights, tokens, known in CASES if known_as == name)


@pytest.mark.parametrize(("weights", "tokens", "known"), [each[1:] for each in CASES], ids=[each[0] for each in CASES])
def test_components_by_hand(weights: Weights, tokens: int, known: tuple[int | None, int | None]) -> None:
    found = fiber(weights, tokens)
    assert found.real is not None
    assert (found.real.count, found.real.virtual) == known
    assert found.real.reason
    assert ("joined by" in str(found)) == (len(found.real.moves) > 0)


@pytest.mark.parametrize(
    ("name", "exchanged"),
    [
        ("definite", True), ("definite, spare row", False), ("indefinite, one row", True),
        ("indefinite, two rows", False), ("signature (2, 1), two rows", True), ("a square", True),
    ],
)  # fmt: skip
def test_rows_are_exchanged_where_squares_of_a_sign_are_as_many(name: str, exchanged: bool) -> None:
    """As many as the rows of Q: then an exchange in one row changes the sign of a determinant, else it is connected."""
    weights, tokens, _ = case(name)
    found = fiber(weights, tokens).real
    assert found is not None
    assert ("k and q exchanged in one row of K and Q, or k and -q" in found.moves) is exchanged


@pytest.mark.parametrize(
    "form", [NetworkForm(skip=True), NetworkForm(causal=True), NetworkForm(skip=True, causal=True)]
)
def test_a_skip_connection_and_a_mask_change_no_count(form: NetworkForm) -> None:
    for name in ("rank two of two", "rank one of two", "skew", "definite"):
        weights, tokens, _ = case(name)
        square = Weights.of({**weights.named(), "V1": E2})
        assert fiber(square.with_form(form), tokens).real_components == fiber(square, tokens).real_components


def test_embeddings_are_spaces_of_the_chain() -> None:
    one = {"E": E2, "Q1": E2, "K1": E2, "V1": E2, "U": [[1, 0]]}
    assert fiber(Weights.of(one)).real_components == 2 * 2 * 2 * 1  # sign, K, stream behind E; that before U is wide
    assert fiber(Weights.of(one, NetworkForm(skip=True))).real_components is None
    assert fiber(Weights.of(one), 1).real_components is None


def test_softmax_counts_bases_alone() -> None:
    softmax = NetworkForm(SOFTMAX)
    for name, count in (("narrow stream", 8), ("wide stream", 4), ("rank one of two", 1)):
        assert fiber(case(name)[0].with_form(softmax), 3).real_components == count
    several = Weights.random(Architecture((2, 2), (1,), 2, heads=2), seed=1)
    assert fiber(several).real_components is None


def test_what_is_tight_has_no_room_for_a_reflection() -> None:
    assert tight_widths([Space(1, 1, Reader(1, 1)), Space(1, 1, None)]) == ["queries and keys of layer 1"]
    assert tight_widths([Space(1, 1, Reader(2, 1)), Space(1, 1, None)]) == []
    assert tight_widths([Space(2, 2, Reader(1, 2)), Space(1, 1, None)]) is None
    assert tight_widths([Space(2, 2, None), Space(1, 2, None), Space(1, 1, None)]) is None
    assert tight_widths([Space(2, 2, None), Space(2, 2, Reader(1, None), "between"), Space(1, 1, None)]) == ["between"]


@pytest.mark.parametrize("name", ["rank two of two", "narrow stream", "three linear factors"])
def test_the_count_is_wrong_without_what_is_tight(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weights, tokens, (count, _) = case(name)
    monkeypatch.setattr(real_components, "tight_widths", lambda _: [])
    monkeypatch.setattr(real_components, "_squares", lambda _: (0, 0))
    assert fiber(weights, tokens).real_components != count


def test_moves_lead_to_other_components_with_the_same_function() -> None:
    """The signs that the proof names, by hand on one network: all patterns occur, and each has the function."""
    weights, _, _ = case("rank one twice")
    given = polynomial_map(weights.architecture(2), weights)
    patterns = set()
    for component, scale, basis in product(fiber(weights).components, (1, -1), (1, -1)):
        point = component.point(lam=scale, C=[[basis]])
        assert polynomial_map(point.architecture(2), point).coefficients() == given.coefficients()
        attention = point["K1"].T @ point["Q1"]
        assert rank(attention) == 1
        patterns.add((*(Fraction(x) for x in attention.ravel()), np.sign(float(point["K1"].ravel()[0]))))
    assert len(patterns) == fiber(weights).real_components == 8


@pytest.mark.parametrize("name", ["skew", "rank one twice", "narrow stream"])
def test_the_picture_has_as_many_branches_as_the_text_says(name: str) -> None:
    weights, tokens, _ = case(name)
    found = fiber(weights, tokens)
    assert found.real is not None
    drawn = picture(weights, tokens)
    assert f"{found.real.virtual} in virtual weights" in drawn.caption
    assert f"{found.real.virtual} branches" in drawn.caption
    figure = Figure()
    drawn.draw(figure)
    numbers = [int(text.get_text()) for axes in figure.axes for text in axes.texts if text.get_text().isdigit()]
    assert (len(numbers), sum(numbers)) == (found.real.virtual, found.real.count)
    assert all(isinstance(component, Component) for component in found.components)
