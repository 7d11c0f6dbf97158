"""Certificates of dimensions made by hand, with the checker's own arithmetic, of small networks."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proofs_check.checker import verify
from proofs_check.checker.bounds import directions as unseen

Document = dict[str, Any]

verify.BUDGET.set(verify.Budget())  # parts of the checker may be asked by themselves

P = 4194301
SOFTMAX = {"name": "softmax"}
RATIONAL = {"name": "mine", "taylor": ["1", "1/2", "3"]}
SQUARE = {"name": "square", "taylor": ["0", "0", "2/3"]}
VIRTUAL = [{"kind": "factorization", "bound": 8, "variety": "virtual weights", "pieces": [3, 3, 4, 0, -2]}]
RANK_ONE = [{"kind": "factorization", "bound": 8, "variety": "virtual weights", "pieces": [4, 1, 2, 1]}]


def shape(
    widths: list[int],
    ranks: list[int],
    tokens: int,
    g: Document | None = None,
    h: int = 1,
    b: list[int] | None = None,
    skip: bool = False,
    causal: bool = False,
    n: int | None = None,
    m: int | None = None,
) -> Document:
    flags = {"heads": h, "value_ranks": b, "skip": skip, "causal": causal, "embed": n, "unembed": m}
    return {"widths": widths, "attention_ranks": ranks, "tokens": tokens, "normalization": g, **flags}


def point(network: Document, rng: random.Random) -> tuple[list[verify.Matrix], verify.Point]:
    """Random weights, and the point of the checker there."""

    def entries(rows: int, columns: int) -> list[list[int]]:
        return [[rng.randrange(P) for _ in range(columns)] for _ in range(rows)]

    net = verify.Network(network)
    weights = [entries(net.d[0], net.n)] if net.embed else []
    for i, _ in itertools.product(range(1, net.l + 1), range(net.h)):
        weights += [entries(net.a[i], net.d[i - 1]), entries(net.a[i], net.d[i - 1])]
        inner = [entries(net.b[i], net.d[i - 1]), entries(net.d[i], net.b[i])]
        weights += inner if network["value_ranks"] else [entries(net.d[i], net.d[i - 1])]
    weights += [entries(net.m, net.d[-1])] if net.unembed else []
    return weights, verify.Point(net, weights, P)


def taylor(net: verify.Network, terms: int | None) -> list[int]:
    """g_0, g_1, ... modulo P, as many as the checker takes."""
    return [c.numerator * pow(c.denominator, -1, P) % P for c in net.g[:terms]]


def tables(net: verify.Network, rng: random.Random) -> list[list[list[int]]] | None:
    """Exponentials of all scores, if softmax makes them: random ones, where tokens are multiples of one, symmetric."""
    found, rank = [], net.n if net.embed is None else min(net.n, net.d[0])
    for i in range(1, net.l + 1):
        for _ in range(net.h):
            table = [[rng.randrange(P) for _ in range(net.t)] for _ in range(net.t)]
            for j, k in itertools.combinations(range(net.t), 2):
                table[j][k] = table[k][j] if rank == 1 and not net.causal else table[j][k]
            found.append(table)
        rank = min(net.d[i], net.skip * rank + net.h * min(net.b[i], rank))
    return found if net.normalized and not net.g else None


def gradients(
    at: verify.Point, terms: int | None, rng: random.Random, inputs: int, each: int
) -> Iterator[tuple[Document, list[int]]]:
    """Rows of a lower bound, with their gradients."""
    net, n = at.net, terms or 1
    for _ in range(inputs):
        x = [[rng.randrange(P) for _ in range(net.t)] for _ in range(net.n)]
        given, tape = tables(net, rng), verify.Tape(P, n, 64 if terms else 0)
        out = at.output(verify.transposed(x), taylor(net, terms), tape, given or ())
        for _ in range(each):
            functional = [[[rng.randrange(P) for _ in range(net.t)] for _ in range(net.m)] for _ in range(n)]
            row = {"input": x, "functional": functional} | ({"exponentials": given} if given else {})
            packed = next(iter(at.gradients(out, tape, [functional], list(range(at.size)))), 0)
            bits = [int(bit) for bit in f"{packed:0{at.size}b}"] if P == 2 else verify.unpack(packed)
            yield row, [*bits, *[0] * at.size][: at.size]


def families(network: Document) -> list[str]:
    """All families that the network has."""
    net = verify.Network(network)
    one = len([c for c in net.g if c]) == 1
    has = {
        "query-key": True,
        "stream": True,
        "value-output": network["value_ranks"],
        "scale": not net.normalized,
        "homogeneous": one,
    }
    more = {name: has_them(net) for name, (_, has_them) in unseen.UNSEEN.items()}
    return [name for name, there in (has | more).items() if there]


def certificate(
    network: Document, r: int, bounds: list[Document] | None = None, terms: int | None = None, seed: int = 0
) -> Document:
    """A certificate for the dimension r, by all directions unless other bounds are given."""
    rng = random.Random(seed)
    weights, at = point(network, rng)
    echelon, rows = verify.Echelon(P, at.size), list[Document]()
    for row, flat in gradients(at, terms, rng, r + 2, max(1, at.net.m * at.net.t * (terms or 1) // 2)):
        verify.BUDGET.set(verify.Budget())
        if len(rows) == r:
            break
        if echelon.add(verify.pack(flat)) is None:
            rows.append(row)
    lower = {"prime": P, "terms": terms, "weights": weights, "rows": rows, "columns": sorted(echelon.rows)}
    other = {"kind": "directions", "bound": r, "prime": P, "weights": weights, "families": families(network)}
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "dimension", "network": network}
    return {**head, "lower": r, "upper": r, "lower_bound": lower, "upper_bounds": bounds or [other]}


def answer(data: Document | bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the checker prints for a certificate; the exit code must fit."""
    path = tmp_path / "certificate.json"
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    code = verify.main([str(path)])
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert (code, ": proved: " in line) in ((0, True), (1, False))
    return line


GOOD = certificate(shape([2, 3, 2], [2, 1], 2, SOFTMAX), 11)
SERIES = certificate(shape([2, 3, 2], [2, 1], 2, RATIONAL), 11, terms=4)
LIGHTNING = certificate(shape([4, 2], [1], 3), 14)
PIECES = [  # network, variety, its dimension or None where there is no such bound
    (shape([3, 2], [1], 1), "linear maps", None),
    (shape([3, 2], [1], 2, SOFTMAX), "linear maps", None),
    (shape([3, 2, 3], [1, 1], 1, SOFTMAX), "linear maps", 8),  # 3 x 3 of rank two
    (shape([3, 3], [1], 1, SOFTMAX, h=2, b=[1]), "linear maps", 8),
    (shape([3, 3, 3], [1, 1], 1, SOFTMAX, b=[1, 1], skip=True), "linear maps", 8),
    (shape([4, 4], [1], 1, SOFTMAX, b=[1], skip=True), "linear maps", 7),
    (shape([4, 4], [1], 1, SOFTMAX, skip=True, n=2), "linear maps", 8),
    (shape([4, 4], [1], 1, SOFTMAX, skip=True, m=3), "linear maps", 12),
    (shape([2, 2], [1], 2, h=2), "head forms", 12),  # all of them
    (shape([3, 3], [1], 2, h=2), "head forms", 54),
    (shape([3, 2], [1], 2, h=5, b=[1], causal=True), "head forms", 35),
    (shape([2, 5], [1], 2, h=2, b=[1]), "head forms", 18),  # rank two in 5 x 6
    (shape([3, 3], [1], 2, h=3, b=[1], skip=True), "head forms", 36),  # rank three in 9 x 6
    (shape([3, 3, 3], [1, 1], 2, h=2), "head forms", None),
    (shape([3, 3], [1], 2), "head forms", None),
    (shape([3, 3], [1], 2, h=2, n=2), "head forms", None),
    (shape([3, 3], [1], 2, SOFTMAX, h=2), "head forms", None),
    (shape([3, 3], [1], 2, causal=True), "virtual weights", None),
    (shape([3, 3], [1], 2, skip=True), "virtual weights", None),
    (shape([3, 3], [1], 2, b=[1]), "virtual weights", None),
    (shape([3, 3], [1], 2, m=2), "virtual weights", None),
    (shape([3, 3], [1], 2, SOFTMAX, h=2), "virtual weights", None),
    (shape([3, 3], [1], 2, RATIONAL, skip=True), "virtual weights", None),
    (shape([3, 3], [1], 2, SOFTMAX, b=[1]), "virtual weights", None),
    (shape([3, 3], [1], 2, SOFTMAX, n=2), "virtual weights", None),
]


def with_bound(network: Document, bound: Document) -> Document:
    """A certificate of one upper bound alone."""
    rows: Document = {"rows": [], "columns": [], "terms": None, "prime": P}
    weights, _ = point(network, random.Random(1))
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "dimension", "network": network, "lower": 0}
    return {**head, "upper": bound["bound"], "lower_bound": {**rows, "weights": weights}, "upper_bounds": [bound]}


def pieces_of(variety: str, *pieces: int) -> Document:
    return {"kind": "factorization", "bound": sum(pieces), "variety": variety, "pieces": list(pieces)}
