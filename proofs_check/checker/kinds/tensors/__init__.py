"""What the function of a lightning network determines: all layer tensors, and with skip connections E and U.

By docs/deep-lightning.md, Theorem 1, all weights of this shape with this function have these, up to one change of basis
of the stream, if (D), (K) and (F) hold and E, U have the rank of the stream. Ranks modulo a prime show (D), (K) and the
ranks of the ends. On lines the polynomials of (F) have irreducible factors whose degrees exclude small factors over the
complex numbers (section 5 there). The dimension is counted for one head a layer, by exact ranks. Without skip
connections it is Theorem 3 there, with (D'), (S) and (F'), up to a change of basis of each stream between layers.
"""

from itertools import combinations

from proofs_check.checker.functions.fibers.places import Field
from proofs_check.checker.functions.fibers.sizes import orbit_dimension
from proofs_check.checker.functions.network import NAMED, Form, Weights
from proofs_check.checker.kinds.tensors.lines import degrees, excluded
from proofs_check.checker.kinds.tensors.residues import TensorResidues
from proofs_check.checker.verify import COUNT, SIZE, SOME, Matrix, need, odd_prime, scratch, spend, transposed

Line = list[Matrix]
LARGEST = 1000
"""Of degrees on lines."""


def _ranks(t: int, w: Weights, s: int, *, skip: bool) -> list[int]:
    """Return the largest ranks that layers of this shape can have, with s background tokens; or the inner width."""
    d, found = w.widths[0], list[int]()
    if not skip:
        return w.widths[1:2] * len(w.layers)
    for heads in w.layers:
        inner = [(len(h.q), len(h.v) if h.o else d) for h in heads]
        found.append(min(d, sum(b if t == 1 else min(a, b, s) for a, b in inner)))
    return found


def _factors_excluded(net: TensorResidues, i: int, j: int, ranks: list[int], lines: list[Line]) -> None:
    most, degree = 2 * ranks[i], 2 * ranks[j] * 3 ** (j - i)
    need(most < degree <= LARGEST < net.p, f"degrees must be from {most + 1} to {LARGEST}, this is {degree}")
    known = []
    for at, along in lines:
        with scratch():
            known.append(degrees(net.on_line(i, j, ranks[j], degree, at, along), degree, net.p))
    spend(20 * most * degree * len(known))
    good = all(excluded(known, e, r) for e in range(1, most + 1) for r in range(1, degree // e + 1))
    need(good, f"lines must exclude factors of degrees up to {most} in layers {i + 1}, {j + 1}")


def prove(
    form: Form,
    t: int,
    weights: object,
    p: int,
    s: int,
    top: list[Matrix],
    carried: list[Matrix],
    lines: list[list[Line]],
    dimension: int | None,
) -> str:
    """Say what is determined."""
    w = Weights(weights, form)
    need(not form.softmax, "layer tensors are those of lightning networks")
    need(s == 1 or s < t, "there must be fewer background tokens than tokens, or one")
    field, depth, d, skip = Field(p), len(w.layers), w.widths[0], form.skip
    net = TensorResidues(form, t, w, field)
    ranks, inner = _ranks(t, w, s, skip=skip), range(depth - 1)

    def background(x: Matrix, i: int = 0) -> Matrix:
        size = len(net.layers[i][0].q)
        good = len(x) == s and all(len(token) == size for token in x)
        need(good, f"a background must be {s} tokens of {size} residues")
        return transposed(x)

    def carries(i: int, x: Matrix, name: str) -> None:
        x = background(x, i)
        m = net.read(i, x)
        for k in range(i + 1, depth):
            x = net.written(k - 1, x, skip=False)
            m = net.times(net.read(k, x), m)
        need(field.rank(m) == ranks[i], f"{name} of layer {i + 1} must have rank {ranks[i]}")

    if skip:
        need(all(field.rank(m) == d for m in net.ends), "E and U must have the rank of the stream")
        need(len(top) == depth, "there must be a background of (D) for each layer")
        for j, x in enumerate(map(background, top)):
            for k in range(j):
                x = net.written(k, x, skip=False)
            m = net.read(j, x)
            need(field.rank(net.times(m, m)) == ranks[j], f"(D) of layer {j + 1} must have rank {ranks[j]}")
        places = [i for i in inner if ranks[i] < d]
        need(
            len(carried) == len(places), "there must be a background of (K) for each layer of smaller rank but the last"
        )
        for i, x in zip(places, carried, strict=True):
            carries(i, x, "(K)")
    else:
        good = {*w.widths[1:-1]} <= {*w.widths[1:2]} and (depth == 1 or min(w.n, w.m) >= w.widths[1])
        need(good, "streams between layers must have one width, not larger than input and output")
        need(len(top) == (depth > 1), "there must be a background of (D')")
        for x in top:
            carries(0, x, "(D')")
        need(len(carried) == len(inner), "there must be a background of (S) for each layer but the last")
        for i, x in zip(inner, carried, strict=True):
            good = field.rank(net.slopes(i, background(x, i))) == s * ranks[i]
            need(good, f"(S) of layer {i + 1} must have rank {s * ranks[i]}")
    pairs = list(combinations(range(depth), 2))
    need(len(lines) == len(pairs), "there must be lines of (F) for each two layers")
    for (i, j), some in zip(pairs, lines, strict=True):
        _factors_excluded(net, i, j, ranks, [[background(x, i) for x in line] for line in some])
    counted = skip and t > 1 and all(len(heads) == 1 for heads in w.layers)
    want = orbit_dimension(form, w, field) + depth if counted else None  # and a factor of each layer, between A and V
    need(dimension == want, f"the dimension must be {want}, it is {dimension}")
    what = "layer tensors" if t > 1 else "cubic forms of layers"
    size = "" if want is None else f"; dimension {want}"
    theorem, known = (
        "Theorem 1",
        f"E, U and {what}, up to one change of basis of the stream if both E and U are there{size}; (D), (K), (F)",
    )
    if not skip:
        known = f"{what} between E and U, up to a change of basis of each stream between layers; (D'), (S), (F')"
        theorem = "Theorem 3"
    return (
        f"all real weights of this shape with the function of these, of {t} tokens, for {form}, of {w}: those with the "
        f"same {known} with {s} background tokens, modulo {p} (docs/deep-lightning.md, {theorem})"
    )


FORM = {"form": Form.read, "tokens": SIZE, "weights": NAMED, "prime": odd_prime, "background": SIZE}
TOKENS = [[range(2**22), SOME], SOME]
FORM |= {"top": [TOKENS], "carried": [TOKENS], "lines": [[[TOKENS, 2], SOME]], "dimension": (COUNT,)}
ROWS = ((FORM, prove),)
