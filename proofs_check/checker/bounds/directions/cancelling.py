"""The family `cancelling`: motions of scores whose parts between words, products of values, cancel (section 3.2)."""

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import mul
from typing import Any

from proofs_check.checker.bounds import of_rank
from proofs_check.checker.bounds.directions.spaces import StreamSpaces
from proofs_check.checker.functions.matrices import Span, dots, unit
from proofs_check.checker.verify import Matrix, need, spend, transposed

Equations = dict[Any, list[tuple[int, int]]]
"""Pairs of words by their equation, whose name begins with its kind."""


def cancelling(at: StreamSpaces) -> Iterator[int]:
    """Yield motions whose blocks between words, that is products of values, cancel in the scores."""
    net, base, layers = at.net, at.net.h + at.net.skip, range(2, at.net.l + 1)
    for i, s in [(j, k) for j in layers for k in range(max(1, j - 6), j) if 2 <= base ** (j - k) <= 64]:
        names, words = [()], [transposed(at.F[s - 1])]  # the heads of each word, and the word
        for j in range(s, i):
            names = longer(names, [(j, k) for k in range(net.h)], lambda head, name: (*name, head), skip=net.skip)
            words = longer(words, [at.v[j, k] for k in range(net.h)], at.product, skip=net.skip)
        columns, d, f, size = [transposed(W) for W in words], net.d[i - 1], len(at.F[i - 1]), orbit_size(at, s, i)
        if not generic(at, columns, size, f):
            continue
        sums = equations(at, names)
        kept = at.basis([x % at.p for x in form] for form in coefficients(columns, sums))
        most = of_rank(f, f, net.a[i])
        if len(kept) < most:  # over the rationals their rank might be larger
            most = min(most, rational_rank(at, i, s, size, sums))
        for k in range(net.h):
            spend(2 * net.a[i] * d * len(kept) * d * d)
            motions = at.motions(i, k, unit(d), at.R[i], values=False)
            flat = ((n, [x for row in block for x in row]) for n, _, block in motions)
            moves = ((n, [sum(map(mul, form, block)) % at.p for form in kept]) for n, block in flat)
            yield from at.solve(moves, most)


def longer(words: list[Any], factors: Sequence[Any], times: Callable[[Any, Any], Any], *, skip: bool) -> list[Any]:
    """Return words with another factor in front of each, and with skip connections the words themselves."""
    found = [times(factor, word) for factor in factors for word in words]
    return [*words, *found] if skip else found


def orbit_size(at: StreamSpaces, s: int, i: int) -> int:
    """Return the dimension of an open orbit of words in the layers from s on, in front of layer i."""
    net, dims = at.net, [len(F) for F in at.F]
    parts = [net.h * of_rank(net.d[j], dims[j - 1], net.b[j]) for j in range(s, i)]
    if not net.skip:  # the bases in between do not count
        parts[:-1] = [net.h * of_rank(dims[j], dims[j - 1], net.b[j]) - dims[j] ** 2 for j in range(s, i - 1)]
    return int(sum(parts) + net.d[i - 1] * dims[s - 1] * net.skip)


def generic(at: StreamSpaces, columns: list[Matrix], size: int, f: int) -> bool:
    """Return whether words, by their columns, span f dimensions and basis changes move them in as many as there are."""
    d, n = len(columns[0][0]), len(columns[0])
    spend((d * d + n * n) * len(columns) * d * n * 64)
    moved = ([w[c] * (x == r) for W in columns for w in W for x in range(d)] for r in range(d) for c in range(d))
    mixed = ([x * (y == c) for W in columns for y in range(n) for x in W[r]] for r in range(n) for c in range(n))
    orbit = at.basis(itertools.chain(moved, mixed))
    return len(orbit) == size and len(at.basis(itertools.chain(*columns))) == f


def equations(at: StreamSpaces, names: list[Any]) -> Equations:
    """Return the pairs of words in each equation."""
    net, sums = at.net, defaultdict[Any, list[tuple[int, int]]](list)
    for (a, x), (b, y) in itertools.product(enumerate(names), repeat=2):
        sums[1, tuple(sorted(x + y))].append((a, b))
        if net.normalized:
            sums[2, x].append((a, b))
            for j in range(0 if net.causal else len(y)):
                sums[3, tuple(sorted(x + y[:j])), y[j]].append((a, b))
            if net.g:
                sums[4, a, b].append((a, b))
    return sums


def coefficients(columns: list[Matrix], sums: Equations) -> Iterator[list[int]]:
    """Yield each equation on forms as the d x d matrix of its coefficients, in a row."""
    d, n = len(columns[0][0]), len(columns[0])
    for (kind, *_), pairs in sums.items():
        for x, y in itertools.product(range(n), repeat=2):
            terms = [(columns[a][x], columns[b][y]) for a, b in pairs]
            terms += [(columns[a][y], columns[b][x]) for a, b in pairs if kind in (1, 3)]
            terms += [(columns[b][y], columns[a][x]) for a, b in pairs if kind == 4]
            spend(2 * len(terms) * d * d)
            yield [sum(v[q] * w[r] for v, w in terms) for q in range(d) for r in range(d)]


def rational_rank(at: StreamSpaces, i: int, s: int, size: int, sums: Equations) -> int:
    """Return the rank over the rationals of the equations on all forms, at small integer words in the open orbit."""
    net, source = at.net, random.Random(0)

    def small(rows: int, columns: int) -> Matrix:
        return [[source.randint(-4, 4) for _ in range(columns)] for _ in range(rows)]

    for _ in range(8):
        words = [small(net.d[s - 1], len(at.F[s - 1]))]
        for j in range(s, i):
            ranks = [min(net.b[j], net.d[j - 1])] * net.h
            values = [dots(small(net.d[j], b), small(net.d[j - 1], b)) for b in ranks]
            words = longer(words, values, lambda value, word: dots(value, transposed(word)), skip=net.skip)
        columns = [transposed(W) for W in words]
        if generic(at, [[[x % at.p for x in w] for w in W] for W in columns], size, len(at.F[i - 1])):
            return len(Span(coefficients(columns, sums)).basis)
    need(False, "words of small integers must be found in the open orbit, there are none")
    return 0
