"""The exponentials of a row: any numbers, but equal for equal scores."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from small_certificates import RANK_ONE, SOFTMAX, Document, P, answer, certificate, gradients, point, shape, with_bound

EQUAL = certificate(shape([2, 1, 2], [2, 2], 3, SOFTMAX), 8, RANK_ONE)
FREE = [  # of a row: what is done to its exponentials, and why it is refused
    (lambda row: row.pop("exponentials"), "a row must be an object with input, functional, exponentials; missing"),
    (lambda row: row["exponentials"].pop(), "exponentials must be a list of 2"),
    (lambda row: row["exponentials"].append(row["exponentials"][0]), "exponentials must be a list of 2"),
    (lambda row: row["exponentials"][1].pop(), "exponentials must be a list of 3"),
    (lambda row: row["exponentials"][1][2].pop(), "exponentials must be a list of 3"),
    (lambda row: row["exponentials"][0][0].__setitem__(2, P), "exponentials must be an integer from 0 to 4194300"),
    (lambda row: row["exponentials"][0][0].__setitem__(2, -1), "exponentials must be an integer from 0 to 4194300"),
    (lambda row: row["exponentials"][1][0].__setitem__(2, row["exponentials"][1][2][0] ^ 1), "of equal scores must be"),
    (lambda row: row["exponentials"].__setitem__(0, [[1, 2, P - 3], [1, 1, 1], [1, 1, 1]]), "no column sum of the"),
    (lambda row: row.update(exponentials=None), "exponentials must be a list"),
]


@pytest.mark.parametrize("place", [0, 3, 7])
@pytest.mark.parametrize(("bend", "reason"), FREE, ids=range(len(FREE)))
def test_bent_exponentials_are_rejected(
    bend: Callable[[Document], object], reason: str, place: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All rows are read, also where an earlier one has the same input."""
    bent = copy.deepcopy(EQUAL)
    bend(bent["lower_bound"]["rows"][place])
    assert reason in answer(bent, tmp_path, capsys)


SYMMETRIC = [  # network, for which layers exponentials must be symmetric: where the tokens are multiples of one
    (shape([2, 1, 2], [2, 2], 2, SOFTMAX), (2,)),
    (shape([2, 1, 2, 2], [1, 1, 1], 2, SOFTMAX, h=2), (2,)),  # two heads, so layer 2 writes rank two
    (shape([2, 1, 2, 2], [1, 1, 1], 2, SOFTMAX), (2, 3)),
    (shape([1, 2, 2], [1, 1], 2, SOFTMAX), (1, 2)),
    (shape([2, 2, 2], [1, 1], 2, SOFTMAX, n=1), (1, 2)),
    (shape([2, 2, 2], [1, 1], 2, SOFTMAX, n=1, skip=True), (1,)),
    (shape([3, 3, 2, 2], [1, 1, 1], 2, SOFTMAX, b=[1, 2, 1]), (2, 3)),
    (shape([3, 3, 2], [1, 1], 2, SOFTMAX, b=[1, 1], h=2), ()),  # two heads write two directions
    (shape([3, 3, 3], [1, 1], 2, SOFTMAX, b=[1, 1], skip=True), ()),
    (shape([2, 2, 1], [1, 1], 2, SOFTMAX), ()),
    (shape([1, 2, 2], [1, 1], 2, SOFTMAX, causal=True), ()),
    (shape([1, 2, 2], [1, 1], 1, SOFTMAX), ()),
]


@pytest.mark.parametrize(("network", "layers"), SYMMETRIC)
def test_equal_scores_have_equal_exponentials(
    network: Document, layers: tuple[int, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(11)
    weights, at = point(network, rng)
    (row, a), *_ = gradients(at, None, rng, 1, 1)
    columns = [next(c for c, x in enumerate(a) if x)]
    good = with_bound(network, {"kind": "orbit", "bound": at.size, "prime": P, "weights": weights, "families": []})
    good |= {"lower": 1, "lower_bound": {"prime": P, "terms": None, "weights": weights, "rows": [row]}}
    good["lower_bound"]["columns"] = columns
    assert "proved: 1 <= dim M" in answer(good, tmp_path, capsys)
    for k, (i, _) in enumerate(at.net.heads):
        bent = copy.deepcopy(good)
        bent["lower_bound"]["rows"][0]["exponentials"][k][0][-1] ^= 1
        assert ("exponentials of equal scores must be equal" in answer(bent, tmp_path, capsys)) == (i in layers)
        if network["causal"]:  # what is masked is not used
            masked = copy.deepcopy(good)
            masked["lower_bound"]["rows"][0]["exponentials"][k][0][1] ^= 1
            assert "proved: 1 <= dim M" in answer(masked, tmp_path, capsys)


def test_rows_with_the_same_input_may_have_other_exponentials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two rows that differ in exponentials alone are two rows: the gradients computed here say so."""
    network, rng = shape([2, 2], [2], 3, SOFTMAX), random.Random(12)
    weights, at = point(network, rng)
    (one, _), (two, _) = gradients(at, None, rng, 2, 1)
    rows = [one, one | {"exponentials": two["exponentials"]}]
    good = with_bound(network, {"kind": "orbit", "bound": at.size, "prime": P, "weights": weights, "families": []})
    lower = {"prime": P, "terms": None, "weights": weights, "rows": rows, "columns": [0, 1]}
    assert "proved: 2 <= dim M" in answer(good | {"lower": 2, "lower_bound": lower}, tmp_path, capsys)
    assert "minor must not be 0" in answer(
        good | {"lower": 2, "lower_bound": lower | {"rows": [one, one]}}, tmp_path, capsys
    )
