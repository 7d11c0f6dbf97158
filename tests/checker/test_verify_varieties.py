"""Upper bounds of the checker by a variety: its pieces, and nothing but them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from small_certificates import (
    PIECES,
    RATIONAL,
    SOFTMAX,
    VIRTUAL,
    Document,
    answer,
    certificate,
    pieces_of,
    shape,
    with_bound,
)

import lightning_sym
from lightning_sym import Architecture
from lightning_sym.dimension import varieties
from lightning_sym.dimension.evidence import Evidence

FACTORS = [
    ([{**VIRTUAL[0], "pieces": [3, 3, 3, 1, -2]}], "the pieces of 'virtual weights' must be [3, 3, 4, 0, -2]"),
    ([{**VIRTUAL[0], "bound": 7}], "and the bound their sum, 8"),
    ([{**VIRTUAL[0], "variety": "linear maps"}], "the pieces of 'linear maps' must be []"),
    ([{**VIRTUAL[0], "variety": "head forms"}], "the pieces of 'head forms' must be []"),
    ([{**VIRTUAL[0], "variety": None}], "variety must be one of"),
    ([{"kind": "span", "bound": 8}], "the bound must be of another kind"),
]


@pytest.mark.parametrize(("bounds", "reason"), FACTORS)
def test_wrong_pieces_are_rejected(
    bounds: list[Document], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bent = certificate(shape([2, 2, 2], [1, 2], 2), 8, VIRTUAL)
    bent.update(upper_bounds=bounds, lower=0, upper=bounds[0]["bound"])
    bent["lower_bound"].update(rows=[], columns=[])
    assert reason in answer(bent, tmp_path, capsys)


VIRTUALS = [  # networks with normalized scores: matrices of rank at most a on r_0, the values, subspaces, counted here
    (shape([3, 3], [1], 2, SOFTMAX), [5, 9]),
    (shape([3, 3], [1], 1, SOFTMAX), [5, 9]),
    (shape([3, 3], [2], 3, RATIONAL, causal=True), [8, 9]),
    (shape([4, 2, 3], [1, 2], 2, SOFTMAX), [7, 4, 6, 2 * 2]),
    (shape([4, 3, 2, 2], [1, 1, 3], 2, SOFTMAX, causal=True), [7, 5, 4, 4, 2 * 1, 3 * 1]),
]


@pytest.mark.parametrize(("network", "pieces"), VIRTUALS)
def test_normalized_virtual_weights(
    network: Document, pieces: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = pieces_of("virtual weights", *pieces)
    assert f"0 <= dim M <= {sum(pieces)}," in answer(with_bound(network, good), tmp_path, capsys)
    for wrong in ([*pieces, 1 - len(network["widths"])], [*pieces[:-1], pieces[-1] - 1], [pieces[0] - 1, *pieces[1:]]):
        line = answer(with_bound(network, pieces_of("virtual weights", *wrong)), tmp_path, capsys)
        assert f"the pieces of 'virtual weights' must be {pieces}" in line


@pytest.mark.parametrize(("network", "variety", "u"), PIECES)
def test_pieces_of_one(
    network: Document, variety: str, u: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for bound in range(1, 81):
        line = answer(with_bound(network, pieces_of(variety, bound)), tmp_path, capsys)
        assert (f"0 <= dim M <= {bound}," in line) == (bound == u), line
    if variety == "virtual weights":
        assert "rejected: the pieces" in answer(with_bound(network, pieces_of(variety, 5, 9, -1)), tmp_path, capsys)


def test_counts_agree_with_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng, seen = random.Random(8), set[tuple[str, str]]()
    while len(seen) < 200:
        depth, t, h = rng.randint(1, 4), rng.randint(1, 3), rng.choice((1, 1, 2, 3))
        skip, widths = rng.random() < 0.3, rng.choices(range(1, 6), k=depth + 1)
        widths = widths[:1] * (depth + 1) if skip else widths
        ranks, causal = rng.choices(range(1, 4), k=depth), rng.random() < 0.3
        b = rng.choices(range(1, 4), k=depth) if rng.random() < 0.3 else None
        n, m = (rng.choice((None, None, None, 1, 2)) for _ in "nm")
        g = rng.choice((None, None, SOFTMAX))
        if rng.random() < 0.3:  # one of the paper, deep and narrowing
            depth, h, b, skip, causal, n, m, g = 4, 1, None, False, causal and bool(g), None, None, g
            widths, ranks = sorted(rng.choices(range(1, 12), k=5), reverse=True), rng.choices((1, 2), k=4)
        network = shape(widths, ranks, t, g, h, b, skip, causal, n, m)
        shaped = Architecture(
            tuple(widths), tuple(ranks), t, normalization=network["normalization"] and lightning_sym.SOFTMAX, heads=h,
            value_ranks=None if b is None else tuple(b), skip=skip, causal=causal, embed=n, unembed=m,
        )  # fmt: skip
        counts, _ = varieties.counted_bounds(shaped)
        names = {Evidence.LINEAR: "linear maps", Evidence.FORMS: "head forms"}
        bounds = [pieces_of(names[evidence], u) for evidence, u in counts.items() if evidence in names]
        if Evidence.FACTORIZATION in counts:
            bounds.append(
                pieces_of("virtual weights", *(x.dimension for x in varieties.virtual_weight_variety(shaped).pieces))
            )
        if (u := counts.get(Evidence.SPAN)) is not None:
            bounds.append({"kind": "span", "bound": u})
        for bound in bounds:
            assert f"0 <= dim M <= {bound['bound']}," in answer(with_bound(network, bound), tmp_path, capsys)
            seen.add((json.dumps(network), json.dumps(bound)))
            wrong = bound | {"bound": bound["bound"] + 1}
            wrong |= {"pieces": [bound["pieces"][0] + 1, *bound["pieces"][1:]]} if "pieces" in bound else {}
            assert "rejected: the " in answer(with_bound(network, wrong), tmp_path, capsys)
    assert len({json.loads(bound).get("variety") for _, bound in seen}) == 4


NOT_VIRTUAL = [
    shape([3, 3], [1], 2, h=2),
    shape([3, 3], [1], 2, SOFTMAX, h=2),
    shape([3, 3], [1], 2, skip=True),
    shape([3, 3], [1], 2, SOFTMAX, skip=True),
    shape([3, 3], [1], 2, b=[3]),
    shape([3, 3], [1], 2, SOFTMAX, b=[3]),
    shape([3, 3], [1], 2, n=3),
    shape([3, 3], [1], 2, SOFTMAX, m=3),
    shape([3, 3], [1], 2, causal=True),
    shape([3, 3], [1], 1, causal=True),
]


@pytest.mark.parametrize("network", NOT_VIRTUAL)
def test_networks_without_virtual_weights(
    network: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for pieces in ([5, 9], [5, 9, -1], [6, 9, -1], [6, 9]):
        line = answer(with_bound(network, pieces_of("virtual weights", *pieces)), tmp_path, capsys)
        assert "the pieces of 'virtual weights' must be []" in line
    bare = network | {"heads": 1, "skip": False, "value_ranks": None, "causal": False, "embed": None, "unembed": None}
    right = [5, 9] + [-1] * (network["normalization"] is None)
    assert ": proved: " in answer(with_bound(bare, pieces_of("virtual weights", *right)), tmp_path, capsys)


@pytest.mark.parametrize(("network", "variety", "u"), [each for each in PIECES if each[2]])
def test_a_variety_has_its_name(
    network: Document, variety: str, u: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for other in {"virtual weights", "linear maps", "head forms", "span", ""} - {variety}:
        line = answer(with_bound(network, pieces_of(other, u)), tmp_path, capsys)
        named = other in ("virtual weights", "linear maps", "head forms")
        assert (f"the pieces of '{other}' must be" if named else "variety must be one of") in line


@pytest.mark.parametrize("variety", ["", "virtual weights", "linear maps", "head forms"])
def test_no_pieces_prove_nothing(variety: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not even that the dimension is 0, where the network has no such variety."""
    line = answer(with_bound(shape([3, 3], [1], 2, skip=True), pieces_of(variety)), tmp_path, capsys)
    assert (f"the pieces of '{variety}' must be []" if variety else "variety must be one of") in line


def test_a_piece_is_not_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = shape([3, 2, 3], [1, 1], 1, SOFTMAX)
    for pieces in ([8, 0], [4, 4], []):
        line = answer(with_bound(network, pieces_of("linear maps", *pieces)), tmp_path, capsys)
        assert "the pieces of 'linear maps' must be [8]" in line


@pytest.mark.parametrize(
    ("embed", "unembed", "dimension"), [(None, None, 10), (3, None, 16), (None, 4, 18), (3, 4, 20), (2, 2, 14)]
)
def test_layers_and_ends_are_counted_up_to_a_change_of_basis(
    embed: int | None, unembed: int | None, dimension: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two layers of 3 + 3 - 1, as 2 x 2 matrices of rank one have dimension 3; with both ends 2 x 2 bases go away."""
    network = {"width": 2, "heads": 1, "embed": embed, "unembed": unembed}
    layers = [{"count": 2, "rank": 1, "value_rank": 1, "proof": None}]
    data = {"format": "lightning-sym/certificate", "version": 1, "kind": "layers", "network": network, "layers": layers}
    assert f"dim M = {dimension}" in answer(data | {"dimension": dimension}, tmp_path, capsys)
    for wrong in (dimension - 1, dimension + 1):
        assert "the dimension must be" in answer(data | {"dimension": wrong}, tmp_path, capsys)
