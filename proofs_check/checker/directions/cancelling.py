"""The family `cancelling`: motions of scores whose parts between words, products of values, cancel (section 3.2)."""

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from operator import mul
from typing import Any

from proofs_check.checker.directions.spaces import D, Matrix, Unseen, unit
from proofs_check.checker.verify import T, keep, need, spend


def cancelling(at: Unseen) -> Iterator[int]:
    """Motions whose blocks between words, that is products of values, cancel in the scores."""
    net, p, product, base = at.net, at.p, at.product, at.net.h + at.net.skip
    dims, layers = [len(F) for F in at.F], range(2, net.l + 1)
    for i, s in [(j, k) for j in layers for k in range(max(1, j - 6), j) if 2 <= base ** (j - k) <= 64]:
        words: list[Any] = [((), T(at.F[s - 1]))]  # the heads of each word, and the word
        for j in range(s, i):
            longer = [((*w, (j, k)), product(at.v[j, k], W)) for k in range(net.h) for w, W in words]
            words = words + longer if net.skip else longer
        names, columns = [w for w, _ in words], [T(W) for _, W in words]
        d, f = net.d[i - 1], dims[i - 1]
        parts = [net.h * D(net.d[j], dims[j - 1], net.b[j]) for j in range(s, i)]
        if not net.skip:  # the bases in between do not count
            parts[:-1] = [net.h * D(dims[j], dims[j - 1], net.b[j]) - dims[j] ** 2 for j in range(s, i - 1)]
        size = sum(parts) + d * dims[s - 1] * net.skip
        if not generic(at, columns, size, f):
            continue
        sums = defaultdict[Any, list[Any]](list)  # the pairs of words in each equation
        for (a, x), (b, y) in itertools.product(enumerate(names), repeat=2):
            sums[1, tuple(sorted(x + y))].append((a, b))
            if net.normalized:
                sums[2, x].append((a, b))
                for j in range(0 if net.causal else len(y)):
                    sums[3, tuple(sorted(x + y[:j])), y[j]].append((a, b))
                if net.g:
                    sums[4, a, b].append((a, b))
        kept = at.basis(([x % p for x in form] for form in equations(columns, sums)), d * d)
        most = D(f, f, net.a[i])
        if len(kept) < most:  # over the rationals their rank might be larger
            most = rational_rank(at, i, s, size, sums)
        for k in range(net.h):
            with at.motions("QK", i, k, unit(d), at.R[i]) as moves:
                units, _, blocks = T(moves)
                spend(len(blocks) * len(kept) * d * d)
                images = [[sum(map(mul, form, itertools.chain(*block))) % p for form in kept] for block in blocks]
                yield from at.solve(units, images, min(D(f, f, net.a[i]), most))


def generic(at: Unseen, columns: list[Matrix], size: int, f: int) -> bool:
    """Whether words, by their columns, span f dimensions and are moved by basis changes in as many as there are."""
    d, n = len(columns[0][0]), len(columns[0])
    spend((d * d + n * n) * len(columns) * d * n * 64)
    moved = ([w[c] * (x == r) for W in columns for w in W for x in range(d)] for r in range(d) for c in range(d))
    mixed = ([x * (y == c) for W in columns for y in range(n) for x in W[r]] for r in range(n) for c in range(n))
    orbit = at.basis(itertools.chain(moved, mixed), len(columns) * d * n)
    return len(orbit) == size and len(at.basis(itertools.chain(*columns), d)) == f


def equations(columns: list[Matrix], sums: dict[Any, list[Any]]) -> Iterator[list[int]]:
    """Each equation on forms as the d x d matrix of its coefficients, in a row."""
    d, n = len(columns[0][0]), len(columns[0])
    for (kind, *_), pairs in sums.items():
        for x, y in itertools.product(range(n), repeat=2):
            terms = [(columns[a][x], columns[b][y]) for a, b in pairs]
            terms += [(columns[a][y], columns[b][x]) for a, b in pairs if kind in (1, 3)]
            terms += [(columns[b][y], columns[a][x]) for a, b in pairs if kind == 4]
            spend(2 * len(terms) * d * d)
            yield [sum(v[q] * w[r] for v, w in terms) for q in range(d) for r in range(d)]


def rational_rank(at: Unseen, i: int, s: int, size: int, sums: dict[Any, list[Any]]) -> int:
    """The rank over the rationals of the equations on all forms, at words of small integers in the open orbit."""
    net, source = at.net, random.Random(0)

    def small(rows: int, columns: int) -> Matrix:
        return [[source.randint(-4, 4) for _ in range(columns)] for _ in range(rows)]

    def times(a: Matrix, b: Matrix) -> Matrix:
        return [[sum(map(mul, row, column)) for column in T(b)] for row in a]

    for _ in range(8):
        words = [small(net.d[s - 1], len(at.F[s - 1]))]
        for j in range(s, i):
            ranks = [min(net.b[j], net.d[j - 1])] * net.h
            values = [times(small(net.d[j], b), small(b, net.d[j - 1])) for b in ranks]
            longer = [times(v, W) for v in values for W in words]
            words = words + longer if net.skip else longer
        columns = [T(W) for W in words]
        if generic(at, [[[x % at.p for x in w] for w in W] for W in columns], size, len(at.F[i - 1])):
            rows = dict[int, list[Fraction]]()
            for form in equations(columns, sums):
                spend(len(form) * len(rows) * 16)
                rest = [Fraction(x) for x in form]
                for pivot, row in rows.items():
                    if factor := rest[pivot]:
                        rest = [x - factor * y for x, y in zip(rest, row, strict=True)]
                bits = max(x.numerator.bit_length() + x.denominator.bit_length() for x in rest)
                spend(len(form) * (1 + len(rows) * (bits // 256) ** 2))
                if any(rest):
                    keep(len(form) * (120 + bits // 3))
                    first = next(j for j, x in enumerate(rest) if x)
                    rows[first] = [x / rest[first] for x in rest]
            return len(rows)
    need(False, "words of small integers must be found in the open orbit, there are none")
    return 0
