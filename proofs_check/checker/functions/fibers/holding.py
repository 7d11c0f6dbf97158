"""Conditions that hold, by residues at points (docs/transformer-fibers.md, Propositions 13 and 15)."""

from operator import mul
from typing import Any

from proofs_check.checker.functions.fibers.points import MORE, Points, Residues
from proofs_check.checker.verify import Matrix, keep, room, spend

SUBSETS = 16
"""Heads up to which all sets of them are gone through."""


def holds(net: Points, name: str, i: int) -> bool:
    """Whether the residues show that a condition of layer i, by its name, holds."""
    free = room[0]
    if name in "FUS":
        batch = {"F": net.streams, "U": net.above, "S": net.first}[name][i]
        shown = net.rank(batch) == net.w.widths[i]
    else:
        tests = {"a": _a, "a'": _a_prime, "b": _b, "b unmasked": _b_unmasked, "c": _c,
                 "e": _e, "f": _f}  # fmt: skip
        shown = tests[name](net, i)
    room[0] = free
    return shown


def _keys(net: Points, i: int, batch: Matrix, queries: Matrix) -> Matrix:
    return [net.scores(h, batch, queries) for h in net.layers[i - 1]]


def _values(net: Points, i: int, above: Matrix, batch: Matrix) -> Matrix:
    return [net.pair(above, net.carried(h, batch)) for h in net.layers[i - 1]]


def _independent(net: Points, rows: Matrix) -> bool:
    return net.rank(rows) == len(rows)


def _a(net: Points, i: int) -> bool:
    rows = _keys(net, i, net.words[i - 1], net.first[i - 1])
    if net.t == 2 and i < len(net.layers):
        return _independent(net, rows)
    others = [[-x % net.p for x in row] for row in rows] if net.t == 2 else []
    alike = len({*map(tuple, rows)}) < len(rows) or any(row in rows for row in others)
    return all(map(any, rows)) and not alike


def _a_prime(net: Points, i: int) -> bool:
    rows = _keys(net, i, net.words[i - 1], net.words[i - 1])
    if net.t == 2:
        return _independent(net, rows)
    # Proposition 15: of each head one of two forms
    below = all(
        _independent(net, _keys(net, j, net.words[j - 1], queries[j - 1]))
        for j in range(1, i)
        for queries in (net.first, net.words)
    )
    alone = _keys(net, i, net.words[0], net.words[0]) if net.form.skip or i == 1 else [[0]] * len(rows)
    return all(any(one) or (below and any(other)) for one, other in zip(alone, rows, strict=True))


def _b(net: Points, i: int) -> bool:
    above = net.above[i] if net.form.causal else net.means[i]
    return all(map(any, _values(net, i, above, net.streams[i - 1])))


def _b_unmasked(net: Points, i: int) -> bool:
    return all(map(any, _values(net, i, net.means[i], net.streams[i - 1])))


def _c(net: Points, i: int) -> bool:
    if not net.form.causal:
        return _no_set(net, _values(net, i, net.means[i], net.words[i - 1]))
    if not net.form.skip:
        return _no_set(net, _values(net, i, net.above[i], net.streams[i - 1]))
    if i == len(net.layers):
        return _no_set(net, _values(net, i, net.means[i], net.first[i - 1]))
    # forms (c - v_N)^T A v_N of all heads of the next layer, v_N the sum of the v_h
    v = [net.carried(h, net.first[i - 1]) for h in net.layers[i - 1]]

    def form(one: Matrix, other: Matrix) -> list[int]:
        return [x for g in net.layers[i] for x in net.scores(g, one, other)]

    def less(one: list[int], *others: list[int]) -> list[int]:
        return [(x - sum(more)) % net.p for x, *more in zip(one, *others, strict=True)]

    heads = range(len(v))
    square = [[form(v[g], v[h]) for h in heads] for g in heads]
    alone = [less(form(net.first[i], v[h]), square[h][h]) for h in heads]
    nothing = [0] * len(alone[0])
    pairs = {(g, h): less(nothing, square[g][h], square[h][g]) for h in heads for g in range(h)}
    return _no_set(net, alone, pairs)


def _no_set(net: Points, alone: Matrix, pairs: Any = None) -> bool:
    """The sum of rows, and of what belongs to pairs of them, is zero for no set but the empty one."""
    if _independent(net, [*alone, *(pairs or {}).values()]):
        return True
    if len(alone) > SUBSETS:
        return False
    width = len(alone[0]) * (1 + len(alone) // 2 * bool(pairs))
    spend(2 ** len(alone) * (20 + 2 * width))
    keep(len(alone) * (100 + 40 * len(alone[0])))

    def without(start: int, chosen: list[int], total: list[int]) -> bool:
        for h in range(start, len(alone)):
            parts = [total, alone[h], *(pairs[g, h] for g in chosen if pairs)]
            new = [sum(column) % net.p for column in zip(*parts, strict=True)]
            if not any(new) or not without(h + 1, [*chosen, h], new):
                return False
        return True

    return without(0, [], [0] * len(alone[0]))


def _f(net: Points, i: int) -> bool:
    columns, half = net.streams[0], [(net.p + 1) // 2] * net.count
    for heads in net.layers[: i - 1]:
        columns = net.behind(heads, columns, half)
    return all(map(any, _values(net, i, net.means[i], columns)))


def _e(net: Points, i: int) -> bool:
    queries = (2,) if i == len(net.layers) else (0, 1, 2)
    pairs = [(j, k) for k in queries for j in range(3) if (j < k if net.form.causal else j != k)]
    heads = net.layers[i - 1]
    count = len(heads) * len(pairs) + MORE
    stream = net.times(net.batch(net.w.n, 3 * count), net.modulo(net.w.E))
    for below in net.layers[: max(i - 2, 0)]:
        stream = _formal(net, below, stream)
    streams = [_formal(net, net.layers[i - 2], stream) for _ in range(2)] if i > 1 else [stream]
    tables = [[_differences(net, h, x, pairs) for h in heads] for x in streams]
    sides = [[[x for table in each for x in table[k]] for k in range(count)] for each in tables]
    rows = sides[0]
    if i > 1:
        rows = [[(x - y) % net.p for x, y in zip(*both, strict=True)] for both in zip(*sides, strict=True)]
    return net.rank(rows) == len(heads) * len(pairs)


def _formal(net: Points, heads: list[Residues], stream: Matrix) -> Matrix:
    """A layer on three tokens, side by side for all points, with patterns whose columns have sum 1."""
    parts = [stream] * net.form.skip
    for head in heads:
        images, new = net.carried(head, stream), Matrix()
        spend(len(images) * (50 + 4 * len(images[0])))
        keep(len(images) * (100 + 40 * len(images[0])))
        for k in range(len(images)):
            others = [j for j in range(k - k % 3, k - k % 3 + 3) if (j < k if net.form.causal else j != k)]
            factors = net.draw(len(others))
            columns = zip(images[k], *(images[j] for j in others), strict=True)
            factors = [1 - sum(factors), *factors]
            new.append([sum(map(mul, factors, column)) % net.p for column in columns])
        parts.append(new)
    return net.total([([1] * len(stream), part) for part in parts])


def _differences(net: Points, head: Residues, stream: Matrix, pairs: list[tuple[int, int]]) -> Matrix:
    """The scores s_jk - s_kk, of each point a row."""
    keys, queries = net.times(stream, head.K), net.times(stream, head.Q)
    spend(len(stream) * len(pairs) * (10 + len(keys[0])))
    rows = []
    for at in range(0, len(stream), 3):
        s = [[sum(map(mul, keys[at + j], queries[at + k])) for k in range(3)] for j in range(3)]
        rows.append([(s[j][k] - s[k][k]) % net.p for j, k in pairs])
    return rows
