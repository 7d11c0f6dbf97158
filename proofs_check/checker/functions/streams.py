"""The same function by common streams (docs/transformer-fibers.md, Theorem 1).

Both streams are stacked, z = (x, x'). R is a space in which all columns of z lie in front of a layer, D one in which
all differences of two columns lie, M one for the mean of all columns, or with a mask for the first. Spaces do not
change if vectors are scaled, so all numbers are integers. A pattern is a combination of letters, each of which stands
for the same t x t matrix in all heads of both networks.
"""

from operator import neg
from typing import Any

from proofs_check.checker.functions.network import Form, Head, Network, integral
from proofs_check.checker.functions.spans import Space, add, bits, common, dots, foresee
from proofs_check.checker.verify import Matrix, T, keep, need, room, spend

Letters = dict[Any, int]
"""How often a letter is in a pattern, all of a layer up to a common factor."""
Written = tuple[int, list[tuple[int, Matrix]]]
"""What heads write for the vectors of a basis: one denominator of all, and for each a factor and rows."""


def _letters(forms: list[Matrix], form: Form, t: int) -> list[Letters]:
    """The patterns of all heads. None stands for the matrix J, P + P' = J for opposite scores, and for t = 1 for 1."""
    spend(30 * len(forms) * sum(map(len, forms[0] if forms else [])))
    flat = [tuple(x for row in m for x in row) for m in forms]
    if not form.softmax:  # patterns are linear in the form: coordinates in a basis, times what its pivots are
        space = Space(map(list, flat))
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


def _images(heads: list[tuple[int, Head]], basis: tuple[Matrix, Matrix]) -> Written:
    done = []
    for side, head in heads:
        v, o = integral(head.V), integral(head.O)
        rows = dots(basis[side], v.rows)
        done.append((v.under * o.under, dots(rows, o.rows) if o.rows else rows))
    under = common([low for low, _ in done])
    return under, [(under // low, rows) for low, rows in done]


def _least(heads: list[Head], form: Form, s: int) -> tuple[int, int]:
    """Steps and bytes that heads take at least where differences fill a space of s dimensions."""
    steps = size = 0
    for q, _, v, o in heads:
        products = [(len(q), len(q[0]))] * 2 + [(s, len(q)), (len(v), len(v[0]))] + [(len(o), len(v))] * bool(o)
        products += [(len(q), len(q[0])), (s, len(q))] * form.softmax  # rows of the second factor, and their length
        steps += s * sum(rows * (20 + long) for rows, long in products)
        size += 48 * s * sum(rows for rows, _ in products)
    return steps, size


def _layer(
    both: tuple[list[Head], list[Head]],
    form: Form,
    t: int,
    R: Space,
    D: Space,
    M: Space,
    cut: int,
    behind: tuple[int, int],
    later: int = 0,
) -> tuple[Space, Space, Space]:
    """The spaces behind a layer; what comes later takes so many steps or more."""
    heads = [(side, head) for side in (0, 1) for head in both[side]]
    steps, size = _least([head for _, head in heads], form, len(D.basis))
    foresee(later + steps, size)
    halves = slice(cut), slice(cut, None)
    columns, apart, middle = ((space.half(halves[0]), space.half(halves[1])) for space in (R, D, M))
    scores = []  # forms on keys, which are differences with softmax, and queries, over one denominator
    for side, head in heads:
        q, k = integral(head.Q), integral(head.K)
        queries, keys = dots(columns[side], q.rows), dots(apart[side] if form.softmax else columns[side], k.rows)
        among = dots(keys, dots(apart[side], q.rows)) if form.softmax else []
        scores.append((q.under * k.under, dots(keys, queries), among))
    under = common([low for low, _, _ in scores])
    forms = [[[under // low * x for x in row] for row in m] for low, m, _ in scores]
    letters = _letters(forms, form, t)
    level = {None} if form.softmax and not form.causal else set()  # letters for matrices with equal columns
    for spelling, (_, _, m) in zip(letters, scores, strict=True) if level else ():
        if not any(map(any, add(m, 1, T(m)) if t == 2 else m)):
            level |= set(spelling)

    def images(basis: tuple[Matrix, Matrix], written: Written, factors: list[int], plus: int) -> Matrix:
        """What heads, each so often, and the stream itself write for the vectors of a basis, both halves of it."""
        under, parts = written
        total = [[[0] * width for _ in half] for width, half in zip(behind, basis, strict=True)]
        for (side, _), factor, (scale, rows) in zip(heads, factors, parts, strict=True):
            total[side] = add(total[side], factor * scale, rows) if factor else total[side]
        total = [add(sums, under, half) for sums, half in zip(total, basis, strict=True)] if plus else total
        return [one + other for one, other in zip(*total, strict=True)]

    names, differences = dict.fromkeys(name for each in letters for name in each), _images(heads, apart)
    moved = {name: images(apart, differences, [each.get(name, 0) for each in letters], 0) for name in names}
    new = Space(D.basis.values()) if form.skip else Space()
    vectors = (v for name in names if name not in level for v in moved[name])
    meets = ((len(v), sum(map(bool, map(v.__getitem__, new.basis)))) for v in vectors)
    foresee(later + sum(3 * n * (met + 2) if met else n for n, met in meets))
    for name in names:
        new.grow(() if name in level else moved[name])
    if not form.softmax:
        return new, new, new
    mean = Space(images(middle, _images(heads, middle), [1] * len(heads), form.skip))  # columns of patterns have sum 1
    uniform = {name for name in names if name is None or not any(name)}
    for name in names if not form.causal else ():
        mean.grow(() if name in uniform else moved[name])
    reached = Space(new.basis.values())
    reached.grow(mean.basis.values())
    return reached, new, mean


def start(form: Form, t: int, w: Network) -> tuple[Space, Space, Space]:
    """The spaces of a network alone in front of its first layer."""
    keep(w.n * (400 + 8 * w.n * (not w.E) + 100 * w.widths[0]))
    R = Space(T(integral(w.E).rows) or [[int(i == j) for j in range(w.n)] for i in range(w.n)])
    return R, Space() if form.softmax and t == 1 else R, R


def behind(
    heads: list[Head], form: Form, t: int, spaces: tuple[Space, Space, Space], width: int, after: int
) -> tuple[Space, Space, Space]:
    """Those behind a layer of it."""
    return _layer((heads, []), form, t, *spaces, width, (after, 0))


def _read_alike(first: Network, second: Network, space: Space) -> None:
    """Behind the last layer, on a space."""
    outputs = []
    for w, half in zip((first, second), (slice(first.widths[-1]), slice(first.widths[-1], None)), strict=True):
        u = integral(w.U)
        outputs.append((u.under, dots(space.half(half), u.rows) if u.rows else space.half(half)))
    (a, one), (b, other) = outputs
    good = all(b * x == a * y for pair in zip(one, other, strict=True) for x, y in zip(*pair, strict=True))
    need(good, "what both networks read behind the last layer must agree on all that their streams have in common")


def streams(form: Form, t: int, first: Network, second: Network) -> str:
    """Follow both streams to the end, and compare what is read there."""
    depth = max(len(first.layers), len(second.layers))
    need(form.skip or len(first.layers) == len(second.layers), "without skip connections the depths must be equal")
    networks = first, second
    layers = [[*w.layers, *([] for _ in range(depth - len(w.layers)))] for w in networks]  # layers that change nothing
    widths = [[*w.widths, *(w.widths[-1] for _ in range(depth - len(w.layers)))] for w in networks]
    keep(first.n * (400 + 8 * first.n * (not first.E or not second.E) + 100 * (first.widths[0] + second.widths[0])))
    unit = [] if first.E and second.E else [[int(i == j) for j in range(first.n)] for i in range(first.n)]
    (one, under), (other, low) = (integral(w.E) for w in networks)
    columns = zip(T(one) or unit, T(other) or unit, strict=True)
    R = Space([[low * x for x in a] + [under * x for x in b] for a, b in columns])
    D, M = Space() if form.softmax and t == 1 else R, R
    if form.skip:  # what differs in front of the first layer does behind the last one
        _read_alike(first, second, D)
    for i, pair in enumerate(zip(*layers, strict=True)):
        free = room[0]
        # with skip connections differences fill more and more dimensions, without they may fill less
        rest = [head for w in networks for layer in w.layers[i + 1 :] for head in layer] if form.skip else []
        (later, _), after = _least(rest, form, len(D.basis)), (widths[0][i + 1], widths[1][i + 1])
        R, D, M = _layer((pair[0], pair[1]), form, t, R, D, M, widths[0][i], after, later)
        room[0] = free  # what the layer has made is gone, but for the spaces
        keep(sum(100 + 40 * len(v) + bits([v]) * len(v) // 7 for space in (R, D, M) for v in space.basis.values()))
    _read_alike(first, second, R)
    return "common streams (docs/transformer-fibers.md, Theorem 1)"
