"""The same function by common streams (docs/transformer-fibers.md, Theorem 1).

Both streams are stacked, z = (x, x'). A pattern is a combination of letters, each of which stands for the same t x t
matrix in all heads of both networks. Spaces do not change if vectors are scaled, so all numbers are integers.

The same function by layers that do the same on both streams, whatever their heads do, without normalization.
A layer writes to the query x_k the sum over the keys x_j of T(x_j; x_k), where T(y; z) is the sum of V y (y^T A z).
So all columns of the stacked streams lie in spaces R: behind a layer in the span of all T(y, y'; z), for y, y', z in R
before it, where T(y, y'; z) is the polar form, with skip connections together with R. For one token z is y, and the
polar form has three arguments (docs/deep-lightning.md, Lemma 2).
"""

from collections.abc import Callable
from itertools import permutations, product
from operator import neg
from typing import Any, NamedTuple

from proofs_check.checker.functions.matrices import Span, bits, combined, foresee, integral, lcm_of, through, unit, zero
from proofs_check.checker.functions.network import Form, Head, Weights, integers
from proofs_check.checker.functions.rings import symmetric
from proofs_check.checker.verify import Matrix, keep, need, scratch, spend, transposed

Letters = dict[Any, int]
"""How often a letter is in a pattern, all of a layer up to a common factor."""


class Streams(NamedTuple):
    """Spaces in front of a layer: R, in which all columns of z lie; D, in which all differences of two columns lie.

    M is one for the mean of all columns, or with a mask for the first one.
    """

    R: Span
    D: Span
    M: Span


def _letters(forms: list[Matrix], form: Form, t: int) -> list[Letters]:
    """Return the patterns of all heads. None stands for J, P + P' = J for opposite scores, and for t = 1 for 1."""
    spend(30 * len(forms) * sum(map(len, forms[0] if forms else [])))
    flat = [tuple(x for row in m for x in row) for m in forms]
    if not form.softmax:  # patterns are linear in the form: coordinates in a basis, times what its pivots are
        space = Span(map(list, flat))
        under = lcm_of([b[p] for p, b in space.basis.items()])
        return [{p: m[p] * (under // b[p]) for p, b in space.basis.items() if m[p]} for m in flat]
    if t == 1:
        return [{None: 1} for _ in flat]
    if t > 2:
        return [{m: 1} for m in flat]
    found: list[Letters] = []
    for m in flat:
        opposite = tuple(map(neg, m))
        first = max(m, opposite)
        found.append({None: 1} if not any(m) else {m: 2} if m == first else {None: 2, first: -2})
    return found


def _least(heads: list[Head], form: Form, s: int) -> tuple[int, int]:
    """Return steps and bytes that heads take at least where differences fill a space of s dimensions."""
    steps = size = 0
    for q, _, v, o in heads:
        products = [(len(q), len(q[0]))] * 2 + [(s, len(q)), (len(v), len(v[0]))] + [(len(o), len(v))] * bool(o)
        products += [(len(q), len(q[0])), (s, len(q))] * form.softmax  # rows of the second factor, and their length
        steps += s * sum(rows * (20 + long) for rows, long in products)
        size += 48 * s * sum(rows for rows, _ in products)
    return steps, size


def direct_sum(first: Weights, second: Weights) -> tuple[Matrix, list[list[Head]], Matrix]:
    """Return two networks as one, by its E, heads and U: its stream is (x, x'), and it reads U x - U' x'."""
    depth = max(len(first.layers), len(second.layers))
    layers = [list[Head]() for _ in range(depth)]
    for w, other in ((first, second), (second, first)):
        widths = [*other.widths, *[other.widths[-1]] * depth]  # layers that are not there change nothing

        def padded(m: Matrix, rows: int, columns: int, *, above: bool = w is first) -> Matrix:
            keep((len(m) + rows) * (100 + 8 * columns))
            wide = [[*row, *[0] * columns] if above else [*[0] * columns, *row] for row in m]
            blank = [[0] * len(row) for row in wide[:1] * rows]
            return wide + blank if above else blank + wide

        for i, heads in enumerate(w.layers):
            d, b = widths[i : i + 2]
            for q, k, v, o in heads:
                value = (padded(v, 0, d), padded(o, b, 0)) if o else (padded(v, b, d), [])
                layers[i].append(Head(padded(q, 0, d), padded(k, 0, d), *value))
    E = [row for w in (first, second) for row in w.E or unit(w.n)]
    pairs = zip(first.U or unit(first.m), second.U or unit(second.m), strict=True)
    return E, layers, [[*row, *map(neg, other)] for row, other in pairs]


def behind(heads: list[Head], form: Form, t: int, streams: Streams, later: int = 0) -> Streams:
    """Return the spaces behind a layer; what comes later takes so many steps or more."""
    heads, under = integers(heads)
    columns, apart, middle = (space.vectors() for space in streams)
    forms = [head.scores(apart if form.softmax else columns, columns) for head in heads]
    letters = _letters(forms, form, t)
    level = {None} if form.softmax and not form.causal else set()  # letters for matrices with equal columns
    for spelling, head in zip(letters, heads, strict=True) if level else ():
        m = head.scores(apart, apart)
        if zero(symmetric(m) if t == 2 else m):
            level |= set(spelling)
    names, written = dict.fromkeys(name for each in letters for name in each), [head.writes(apart) for head in heads]
    moved = {
        name: combined(*((each[name], m) for each, m in zip(letters, written, strict=True) if name in each))
        for name in names
    }
    new = Span(streams.D.vectors() if form.skip else ())
    vectors = (v for name in names if name not in level for v in moved[name])
    meets = ((len(v), sum(map(bool, map(v.__getitem__, new.basis)))) for v in vectors)
    foresee(later + sum(3 * n * (met + 2) if met else n for n, met in meets))
    for name in names:
        new.grow(() if name in level else moved[name])
    if not form.softmax:
        return Streams(new, new, new)
    skipped = [(under, middle)] * form.skip
    mean = Span(combined(*skipped, *((1, head.writes(middle)) for head in heads)))  # columns of patterns have sum 1
    uniform = {name for name in names if name is None or not any(name)}
    for name in names if not form.causal else ():
        mean.grow(() if name in uniform else moved[name])
    return Streams(Span(new.vectors(), mean.vectors()), new, mean)


def start(form: Form, t: int, E: Matrix) -> Streams:
    """Return the spaces in front of the first layer."""
    keep(len(E[0]) * (400 + 100 * len(E)))
    R = Span(transposed(integral(E).rows))
    return Streams(R, Span() if form.softmax and t == 1 else R, R)


def follow(form: Form, t: int, first: Weights, second: Weights, by: Callable[..., Streams]) -> None:
    """Follow both streams to the end, through each layer by a function, and compare what is read there."""
    need(form.skip or len(first.layers) == len(second.layers), "without skip connections the depths must be equal")
    E, layers, U = direct_sum(first, second)
    found, seen = start(form, t, E), integral(U).rows
    alike = "what both networks read behind the last layer must agree on all that their streams have in common"
    # with skip connections what differs in front of the first layer does behind the last one
    need(not form.skip or zero(through(found.D.vectors(), seen)), alike)
    for i, heads in enumerate(layers):
        # with skip connections differences fill more and more dimensions, without they may fill less
        rest = [head for layer in layers[i + 1 :] for head in layer] if form.skip else []
        (later, _), (steps, size) = (_least(each, form, len(found.D.basis)) for each in (rest, heads))
        foresee(later + steps, size)
        with scratch():  # what the layer makes is gone, but for the spaces
            found = by(heads, form, t, found, later)
        keep(sum(100 + 40 * len(v) + bits([v]) * len(v) // 7 for space in found for v in space.basis.values()))
    need(zero(through(found.R.vectors(), seen)), alike)


def streams(form: Form, t: int, first: Weights, second: Weights) -> str:
    """Say that heads do the same on both streams."""
    follow(form, t, first, second, behind)
    return "common streams (docs/transformer-fibers.md, Theorem 1)"


def _behind_cubes(heads: list[Head], form: Form, t: int, streams: Streams, later: int = 0) -> Streams:
    """Return the space behind a layer."""
    columns = streams.R.vectors()
    (heads, _), every = integers(heads), range(len(columns))
    forms, written = [head.scores(columns, columns) for head in heads], [head.writes(columns) for head in heads]
    keep(len(every) ** 3 * (100 + 40 * len(columns[0]) if columns else 0))
    # at a key, a query and what is carried: the sum over the heads of (y^T A z) V y'
    parts = {
        (a, c): combined(*((m[a][c], v) for m, v in zip(forms, written, strict=True))) for a in every for c in every
    }
    space = Span(columns if form.skip else ())
    for a, b, c in product(every, repeat=3):
        if a <= b and (t > 1 or b <= c):
            orders = permutations((a, b, c)) if t == 1 else ((a, c, b), (b, c, a))
            rows = [parts[key, query][carried] for key, query, carried in orders]
            spend(sum(map(len, rows)))
            space.grow([[sum(column) for column in zip(*rows, strict=True)]])
    return Streams(space, space, space)


def tensors(form: Form, t: int, first: Weights, second: Weights) -> str:
    """Say that layers do the same on both streams."""
    need(not form.softmax, "layer tensors are those of networks without normalization")
    follow(form, t, first, second, _behind_cubes)
    return "layers that do the same (docs/deep-lightning.md, Lemma 2)"
