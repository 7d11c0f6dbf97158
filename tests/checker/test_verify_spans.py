"""Upper bounds of the checker by a space of polynomials, counted and at the limits of counting."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from bent_certificates import empty
from small_certificates import SOFTMAX, Document, answer, certificate, shape, with_bound

SPANS = [  # the numbers of monomials, written out
    (shape([2, 1], [1], 1), 4),
    (shape([2, 2], [1], 1, skip=True), 2 * 4),
    (shape([2, 2], [1], 1, skip=True, n=3, m=1), 3 + 10),
    (shape([2, 2, 2], [1, 1], 1, n=2, m=3), 3 * 10),
    (shape([2, 2, 2], [1, 1], 3, skip=True, n=1), 2 * 5),
    (shape([2, 2, 2], [1, 1], 3, skip=True, n=1, m=1), 5),
    (shape([3, 2], [1], 2, h=2, causal=True), 2 * 3 * 6),
    (shape([3, 3], [1], 2, skip=True), 3 * 3 * 6),
]


@pytest.mark.parametrize(("network", "u"), SPANS)
def test_spans(network: Document, u: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "0 <= dim M" in answer(
        certificate(network, 0, [{"kind": "span", "bound": u}]) | {"upper": u}, tmp_path, capsys
    )
    for other in (u - 1, u + 1):
        wrong = certificate(network, 0, [{"kind": "span", "bound": other}]) | {"upper": other}
        assert f"the bound must be {u}, it is {other}" in answer(wrong, tmp_path, capsys)


SPAN_LIMITS = [  # network, its span or None
    (shape([1] * 12, [1] * 11, 1, causal=True), 1),  # one input row, however deep
    (shape([1] * 12, [1] * 11, 1, skip=True, causal=True), (3**11 + 1) // 2 - 1),
    (shape([1] * 12, [1] * 11, 2), 1),
    (shape([1, 1, 1], [1, 1], 2, causal=True), None),
    (shape([1, 1, 1], [1, 1], 2, skip=True, causal=True), None),
    (shape([1, 1], [1], 2, skip=True, causal=True), 1),
    (shape([4] * 10, [1] * 9, 1), 4 * math.comb(4 + 3**9 - 1, 3)),  # n 3^l = 78,732
    (shape([2] * 11, [1] * 10, 1), None),  # 118,098
    (shape([2, 2, 2], [1, 1], 2), None),
    (shape([2, 2], [1], 2, SOFTMAX), None),
    (shape([2, 2], [1], 1, SOFTMAX), None),
]


@pytest.mark.parametrize(("network", "u"), SPAN_LIMITS)
def test_spans_at_their_limits(
    network: Document, u: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for bound in {1, 2, 4, 5, 10, 12, 40, (3**11 + 1) // 2, 2 * (3**10 + 1), u or 3} - {u}:
        line = answer(with_bound(network, {"kind": "span", "bound": bound}), tmp_path, capsys)
        assert f"the bound must be {u or 'of another kind'}, it is {bound}" in line
    if u is not None:
        assert f"dim M <= {u}," in answer(with_bound(network, {"kind": "span", "bound": u}), tmp_path, capsys)


def test_no_span_of_too_many_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At one token not even for one layer: n 3^l is just more than 10^5."""
    n = 33334
    data = empty(shape([n, 1], [1], 1, b=[1]))
    for u in (n * n * (n + 1) // 2, math.comb(n + 2, 3)):
        data |= {"upper": u, "upper_bounds": [{"kind": "span", "bound": u}]}
        assert "the bound must be of another kind" in answer(data, tmp_path, capsys)
