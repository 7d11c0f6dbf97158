"""The same function by common streams (docs/transformer-fibers.md, Theorem 1).

Both streams are stacked, z = (x, x'). A pattern is a combination of letters, each of which stands for the same t x t
matrix in all heads of both networks. Spaces do not change if vectors are scaled, so all numbers are integers.
"""

from collections.abc import Callable
from operator import neg
from typing import Any, NamedTuple

from proofs_check.checker.functions.matrices import Span, bits, combined, common, foresee, integral, through, unit, zero
from proofs_check.checker.functions.network import Form, Head, Weights, integers
from proofs_check.checker.functions.rings import symmetric
from proofs_check.checker.verify import Matrix, keep, need, scratch, spend, transposed

Letters = dict[Any, int]
"""How often a letter is in a pattern, all of a layer up to a common factor."""
Halves = tuple[Matrix, Matrix]
"""Vectors z by their halves x and x'."""


class Streams(NamedTuple):
    """Spaces in front of a layer: R, in which all columns of z lie; D, in which all differences of two columns lie.

    M is one for the mean of all columns, or with a mask for the first one.
    """

    R: Span
    D: Span
    M: Span

    @classmethod
    def start(cls, form: Form, t: int, columns: Matrix) -> "Streams":
        """Return those in front of the first layer."""
        R = Span(columns)
        return cls(R, Span() if form.softmax and t == 1 else R, R)


def _letters(forms: list[Matrix], form: Form, t: int) -> list[Letters]:
    """Return the patterns of all heads. None stands for J, P + P' = J for opposite scores, and for t = 1 for 1."""
    spend(30 * len(forms) * sum(map(len, forms[0] if forms else [])))
    flat = [tuple(x for row in m for x in row) for m in forms]
    if not form.softmax:  # patterns are linear in the form: coordinates in a basis, times what its pivots are
        space = Span(map(list, flat))
        under = common([b[p] for p, b in space.basis.items()])
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


class LayerOfBoth:
    """The heads of a layer of both networks, and how they write for the vectors of a basis.

    Attributes:
        heads: of integers, with the half of z that each reads.
        under: what all that they write is multiplied by.
        behind: the widths behind the layer.
    """

    def __init__(self, both: tuple[list[Head], list[Head]], form: Form, behind: tuple[int, int]) -> None:
        heads, self.under = integers([*both[0], *both[1]])
        self.heads = [(int(k >= len(both[0])), head) for k, head in enumerate(heads)]
        self.form, self.behind = form, behind

    def forms(self, columns: Halves, apart: Halves) -> tuple[list[Matrix], list[Matrix]]:
        """Return forms on keys, with softmax differences, and queries; and, with softmax, on differences."""
        keys = apart if self.form.softmax else columns
        among = [head.scores(apart[side], apart[side]) for side, head in self.heads if self.form.softmax]
        return [head.scores(keys[side], columns[side]) for side, head in self.heads], among

    def writer(self, basis: Halves) -> Any:
        """Return what gives, for how often each head writes and the stream itself stays, all vectors behind."""
        done = [head.writes(basis[side]) for side, head in self.heads]

        def written(factors: list[int], *, skip: bool) -> Matrix:
            halves = []
            for half, width in enumerate(self.behind):
                of_heads = zip(self.heads, factors, done, strict=True)
                parts = [(factor, rows) for (side, _), factor, rows in of_heads if factor and side == half]
                parts += [(self.under, basis[half])] * skip
                halves.append(combined(*parts) if parts else [[0] * width for _ in basis[half]])
            return [one + other for one, other in zip(*halves, strict=True)]

        return written


def behind(layer: LayerOfBoth, t: int, streams: Streams, cut: int, later: int = 0) -> Streams:
    """Return the spaces behind a layer; what comes later takes so many steps or more."""
    form, heads = layer.form, layer.heads
    columns, apart, middle = ((space.vectors(slice(cut)), space.vectors(slice(cut, None))) for space in streams)
    forms, among = layer.forms(columns, apart)
    letters = _letters(forms, form, t)
    level = {None} if form.softmax and not form.causal else set()  # letters for matrices with equal columns
    for spelling, m in zip(letters, among, strict=True) if level else ():
        if zero(symmetric(m) if t == 2 else m):
            level |= set(spelling)
    names, written = dict.fromkeys(name for each in letters for name in each), layer.writer(apart)
    moved = {name: written([each.get(name, 0) for each in letters], skip=False) for name in names}
    new = Span(streams.D.vectors() if form.skip else ())
    vectors = (v for name in names if name not in level for v in moved[name])
    meets = ((len(v), sum(map(bool, map(v.__getitem__, new.basis)))) for v in vectors)
    foresee(later + sum(3 * n * (met + 2) if met else n for n, met in meets))
    for name in names:
        new.grow(() if name in level else moved[name])
    if not form.softmax:
        return Streams(new, new, new)
    mean = Span(layer.writer(middle)([1] * len(heads), skip=form.skip))  # columns of patterns have sum 1
    uniform = {name for name in names if name is None or not any(name)}
    for name in names if not form.causal else ():
        mean.grow(() if name in uniform else moved[name])
    return Streams(Span(new.vectors(), mean.vectors()), new, mean)


def alone(form: Form, t: int, w: Weights) -> Streams:
    """Return the spaces of one network in front of its first layer."""
    keep(w.n * (400 + 8 * w.n * (not w.E) + 100 * w.widths[0]))
    return Streams.start(form, t, transposed(integral(w.E).rows) or unit(w.n))


def _read_alike(first: Weights, second: Weights, space: Span) -> None:
    """Demand that both networks read the same of a space behind the last layer."""
    outputs = []
    for w, half in zip((first, second), (slice(first.widths[-1]), slice(first.widths[-1], None)), strict=True):
        u = integral(w.U)
        outputs.append((u.under, through(space.vectors(half), u.rows)))
    (a, one), (b, other) = outputs
    good = all(b * x == a * y for pair in zip(one, other, strict=True) for x, y in zip(*pair, strict=True))
    need(good, "what both networks read behind the last layer must agree on all that their streams have in common")


def follow(form: Form, t: int, first: Weights, second: Weights, by: Callable[..., Streams]) -> None:
    """Follow both streams to the end, through each layer by a function, and compare what is read there."""
    depth = max(len(first.layers), len(second.layers))
    need(form.skip or len(first.layers) == len(second.layers), "without skip connections the depths must be equal")
    networks = first, second
    layers = [[*w.layers, *([] for _ in range(depth - len(w.layers)))] for w in networks]  # layers that change nothing
    widths = [[*w.widths, *(w.widths[-1] for _ in range(depth - len(w.layers)))] for w in networks]
    keep(first.n * (400 + 8 * first.n * (not first.E or not second.E) + 100 * (first.widths[0] + second.widths[0])))
    start = [] if first.E and second.E else unit(first.n)
    (one, under), (other, low) = (integral(w.E) for w in networks)
    columns = zip(transposed(one) or start, transposed(other) or start, strict=True)
    found = Streams.start(form, t, [[low * x for x in a] + [under * x for x in b] for a, b in columns])
    if form.skip:  # what differs in front of the first layer does behind the last one
        _read_alike(first, second, found.D)
    for i, pair in enumerate(zip(*layers, strict=True)):
        # with skip connections differences fill more and more dimensions, without they may fill less
        rest = [head for w in networks for layer in w.layers[i + 1 :] for head in layer] if form.skip else []
        (later, _), (steps, size) = (_least(heads, form, len(found.D.basis)) for heads in (rest, pair[0] + pair[1]))
        foresee(later + steps, size)
        with scratch():  # what the layer makes is gone, but for the spaces
            layer = LayerOfBoth((pair[0], pair[1]), form, (widths[0][i + 1], widths[1][i + 1]))
            found = by(layer, t, found, widths[0][i], later)
        keep(sum(100 + 40 * len(v) + bits([v]) * len(v) // 7 for space in found for v in space.basis.values()))
    _read_alike(first, second, found.R)


def streams(form: Form, t: int, first: Weights, second: Weights) -> str:
    """Say that heads do the same on both streams."""
    follow(form, t, first, second, behind)
    return "common streams (docs/transformer-fibers.md, Theorem 1)"
