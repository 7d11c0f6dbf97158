"""Lower bounds of the checker: its gradients against dual numbers, and the minor that it takes of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from small_certificates import (
    RATIONAL,
    SOFTMAX,
    SQUARE,
    Document,
    P,
    answer,
    certificate,
    gradients,
    point,
    shape,
    taylor,
    with_bound,
)

from proofs_check.checker import verify


class Jet:
    """Power series in u, over dual numbers, modulo P: the slow road to a derivative."""

    def __init__(self, value: list[int], slope: list[int]) -> None:
        self.parts = value, slope

    def __add__(self, other: Jet) -> Jet:
        return Jet(
            *([(a + b) % P for a, b in zip(x, y, strict=True)] for x, y in zip(self.parts, other.parts, strict=True))
        )

    def __mul__(self, other: Jet) -> Jet:
        n = len(self.parts[0])

        def times(x: list[int], y: list[int]) -> list[int]:
            return [sum(x[i] * y[k - i] for i in range(k + 1)) for k in range(n)]

        (a, b), (c, d) = self.parts, other.parts
        mixed = zip(times(a, d), times(b, c), strict=True)
        return Jet([x % P for x in times(a, c)], [(x + y) % P for x, y in mixed])

    def inverse(self) -> Jet:
        n = len(self.parts[0])
        one = Jet([1] + [0] * (n - 1), [0] * n)
        first = Jet([pow(self.parts[0][0], -1, P)] + [0] * (n - 1), [0] * n)
        for _ in range(n + 1):  # x (2 - c x): one more coefficient each time is enough
            minus = Jet(*([-v % P for v in part] for part in (self * first).parts))
            first = first * (one + one + minus)
        return first


Jets = Sequence[Sequence[Jet]]


def slow(
    net: verify.Network, w: dict[Any, Jets], terms: int | None, x: Jets, given: list[list[list[int]]] | None
) -> Jets:
    """The output by the definition, entry by entry."""
    n = terms or 1
    zero, u = Jet([0] * n, [0] * n), Jet([0, 1, *[0] * n][:n], [0] * n)
    one = Jet([1] + [0] * (n - 1), [0] * n)

    def dot(pairs: Iterable[tuple[Jet, Jet]]) -> Jet:
        total = zero
        for a, b in pairs:
            total = total + a * b
        return total

    def product(a: Jets, b: Jets) -> Jets:
        return [[dot(zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]

    def g(s: Jet, e: int) -> Jet:
        if given:  # the derivative of an exponential is itself, times that of the score
            return Jet([e], [e * s.parts[1][0]])
        total, power = zero, one
        for c in taylor(net, terms):
            total, power = total + power * Jet([c] + [0] * (n - 1), [0] * n), power * s
        return total

    x, left = product(w["E", 0, 0], x) if net.embed else x, iter(given or [[[0] * net.t] * net.t] * len(net.heads))
    for i in range(1, net.l + 1):
        new = x if net.skip else [[zero] * net.t for _ in range(net.d[i])]
        for k in range(net.h):
            key, query = product(w["K", i, k], x), product(w["Q", i, k], x)
            S = product(list(zip(*key, strict=True)), query)
            seen = [[not net.causal or j <= c for c in range(net.t)] for j in range(net.t)]
            S = [[(s if terms is None else u * s) for s in row] for row in S]
            if net.normalized:
                E = [list(e) for e in zip(*next(left), strict=True)]  # by keys, as S
                cells = ([*zip(*rows, strict=True)] for rows in zip(S, E, seen, strict=True))
                S = [[g(s, e) if ok else zero for s, e, ok in row] for row in cells]
                sums = [dot((s, one) for s in column).inverse() for column in zip(*S, strict=True)]
                S = [[s * c for s, c in zip(row, sums, strict=True)] for row in S]
            S = [[s if ok else zero for s, ok in zip(*rows, strict=True)] for rows in zip(S, seen, strict=True)]
            z = product(product(w["V", i, k], x), S)
            z = product(w["O", i, k], z) if ("O", i, k) in w else z
            new = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(new, z, strict=True)]
        x = new
    return product(w["U", net.l + 1, 0], x) if net.unembed else x


DERIVATIVES = [
    (shape([2, 3, 2], [2, 1], 2, h=2, b=[1, 2], causal=True, n=3, m=1), None),
    (shape([2, 2, 2], [1, 2], 3, skip=True), None),
    (shape([2, 3], [2], 2, RATIONAL), None),
    (shape([2, 2], [2], 2, SQUARE, h=2, causal=True), None),
    (shape([2, 2, 2], [2, 1], 2, SOFTMAX, h=2, skip=True, causal=True, n=1), None),
    (shape([2, 3, 1], [1, 2], 3, SOFTMAX, b=[1, 2], m=2), None),
    (shape([2, 1, 2], [2, 2], 3, SOFTMAX, h=2), None),
    (shape([2, 2, 2], [1, 2], 3, SOFTMAX, h=2, b=[2, 1], causal=True, n=3, m=1), None),
    (shape([2, 2, 2], [2, 1], 2, RATIONAL, h=2, skip=True, causal=True, n=1), 4),
    (shape([2, 3, 1], [1, 2], 3, RATIONAL, b=[1, 2], m=2), 3),
    (shape([2, 2], [1], 2, RATIONAL), 3),
]


@pytest.mark.parametrize(("network", "terms"), DERIVATIVES)
def test_gradients_agree_with_dual_numbers(network: Document, terms: int | None) -> None:
    rng, n = random.Random(3), terms or 1
    _, at = point(network, rng)
    (row, gradient), *_ = gradients(at, terms, rng, 1, 1)
    move = [rng.randrange(P) for _ in gradient]
    steps = iter(move)
    w: dict[Any, Jets] = {}
    for key, rows in at.w.items():
        w[key] = [[Jet([v] + [0] * (n - 1), [next(steps)] + [0] * (n - 1)) for v in line] for line in rows]
    x = [[Jet([v] + [0] * (n - 1), [0] * n) for v in line] for line in row["input"]]
    output = slow(at.net, w, terms, x, row.get("exponentials"))
    slope = sum(
        c * y.parts[1][k]
        for k, C in enumerate(row["functional"])
        for line, ys in zip(C, output, strict=True)
        for c, y in zip(line, ys, strict=True)
    )
    assert slope % P == sum(a * b for a, b in zip(gradient, move, strict=True)) % P
    assert slope % P


@pytest.mark.parametrize(
    ("network", "terms"),
    [
        (shape([2, 3, 2], [2, 1], 2, SOFTMAX), None),
        (shape([2, 3, 2], [2, 1], 2, SOFTMAX, causal=True), None),
        (shape([2, 3, 2], [2, 1], 2, RATIONAL), 5),
        (shape([2, 2], [2], 2, RATIONAL), None),
        (shape([2, 2], [2], 2, SQUARE, causal=True), None),
        (shape([2, 2], [2], 2), None),
        (shape([2, 2], [2], 2, RATIONAL), 3),
        (shape([2, 2], [2], 2, RATIONAL), 5),
        (shape([2, 2], [1], 2, RATIONAL), 40),
    ],
)
def test_the_minor_is_of_derivatives(
    network: Document, terms: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A functional of which one derivative vanishes, but no other one, by gradients computed here."""
    rng = random.Random(9)
    weights, at = point(network, rng)
    (one, a), (two, b) = gradients(at, terms, rng, 1, 2)
    c = next(c for c, x in enumerate(a) if x)
    pairs = zip(one["functional"], two["functional"], strict=True)
    mixed = [
        [[(b[c] * x - a[c] * y) % P for x, y in zip(*rows, strict=True)] for rows in zip(*both, strict=True)]
        for both in pairs
    ]
    lower = {"prime": P, "terms": terms, "weights": weights, "rows": [one | {"functional": mixed}]}
    good = with_bound(network, {"kind": "orbit", "bound": at.size, "prime": P, "weights": weights, "families": []})
    for column in (c, at.size - 1):
        line = answer(good | {"lower": 1, "lower_bound": {**lower, "columns": [column]}}, tmp_path, capsys)
        assert ("the minor must not be 0" if column == c else "1 <= dim M") in line


def test_the_minor_is_one_at_the_point_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With Q = 0 nothing moves with K, whatever the other weights are."""
    good = certificate(shape([2, 2], [1], 2), 1, [{"kind": "span", "bound": 12}]) | {"upper": 12}
    good["lower_bound"]["columns"] = [2]
    assert "1 <= dim M <= 12" in answer(good, tmp_path, capsys)
    good["lower_bound"]["weights"][0] = [[0, 0]]
    assert "the minor must not be 0" in answer(good, tmp_path, capsys)
