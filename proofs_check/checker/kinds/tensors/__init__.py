"""What the function of a lightning network with skip connections determines: E, U and all layer tensors.

By docs/deep-lightning.md, Theorem 1, all weights of this shape with this function have these, up to one change of basis
of the stream, if (D), (K) and (F) hold and E, U have the rank of the stream. Ranks modulo a prime show (D), (K) and the
ranks of the ends. On lines the polynomials of (F) have irreducible factors whose degrees exclude small factors over the
complex numbers (section 5 there). The dimension is counted for one head a layer, by exact ranks.
"""

from itertools import combinations
from typing import Any

from proofs_check.checker.functions.fibers.sizes import factors
from proofs_check.checker.functions.matrices import Span, unit
from proofs_check.checker.functions.network import NAMED, Form, Weights
from proofs_check.checker.kinds.tensors.lines import degrees, excluded
from proofs_check.checker.kinds.tensors.residues import TensorResidues
from proofs_check.checker.verify import COUNT, SIZE, SOME, Matrix, need, odd_prime, scratch, spend, transposed

LARGEST = 1000
"""Of degrees on lines."""


def _ranks(t: int, w: Weights, s: int) -> list[int]:
    """Return the largest ranks that layers of this shape can have, with s background tokens."""
    d, found = w.widths[0], list[int]()
    for heads in w.layers:
        inner = [(len(h.q), len(h.v) if h.o else d) for h in heads]
        found.append(min(d, sum(b if t == 1 else min(a, b, s) for a, b in inner)))
    return found


def _dimension(w: Weights) -> int | None:
    """Return that of all weights with these E, U and tensors up to a change of basis, of one head a layer."""
    d, total = w.widths[0], (w.widths[0] ** 2 if w.E and w.U else 0)
    if any(len(heads) > 1 for heads in w.layers):
        return None
    for (head,) in w.layers:
        total += 1 + factors(d, d, len(head.q), len(Span(head.scores(unit(d), unit(d))).basis))
        if head.o:
            total += factors(d, d, len(head.v), len(Span(head.writes(unit(d))).basis))
    return total


def _factors_excluded(net: TensorResidues, i: int, j: int, most: int, degree: int, lines: list[Any]) -> None:
    need(most < degree <= LARGEST < net.p, f"degrees must be from {most + 1} to {LARGEST}, this is {degree}")
    known = []
    for at, along in lines:
        with scratch():
            known.append(degrees(net.on_line(i, j, degree, at, along), degree, net.p))
    spend(20 * most * degree * len(known))
    good = all(excluded(known, e, r) for e in range(1, most + 1) for r in range(1, degree // e + 1))
    need(good, f"lines must exclude factors of degrees up to {most} in layers {i + 1}, {j + 1}")


def prove(
    form: Form, t: int, weights: Any, p: int, s: int, top: list[Any], carried: list[Any], lines: list[Any],
    dimension: int | None,
) -> str:  # fmt: skip
    """Say what is determined."""
    w = Weights(weights, form)
    need(form.skip and not form.softmax, "layer tensors are those of lightning networks with skip connections")
    need(s == 1 or s < t, "there must be fewer background tokens than tokens, or one")
    net, depth, d, ranks = TensorResidues(form, t, w, p), len(w.layers), w.widths[0], _ranks(t, w, s)
    need(all(net.rank(m) == d for m in net.ends), "E and U must have the rank of the stream")

    def background(x: Matrix) -> Matrix:
        need(len(x) == s and all(len(token) == d for token in x), f"a background must be {s} tokens of {d} residues")
        return x

    need(len(top) == depth, "there must be a background of (D) for each layer")
    for j, x in enumerate(map(background, top)):
        for k in range(j):
            x = net.written(k, x, skip=False)
        m = net.read(j, x)
        need(net.rank(net.times(m, transposed(m))) == ranks[j], f"(D) of layer {j + 1} must have rank {ranks[j]}")
    places = [i for i in range(depth - 1) if ranks[i] < d]
    need(len(carried) == len(places), "there must be a background of (K) for each layer of smaller rank but the last")
    for i, x in zip(places, map(background, carried), strict=True):
        m = net.read(i, x)
        for k in range(i + 1, depth):
            x = net.written(k - 1, x, skip=False)
            m = net.times(net.read(k, x), transposed(m))
        need(net.rank(m) == ranks[i], f"(K) of layer {i + 1} must have rank {ranks[i]}")
    pairs = list(combinations(range(depth), 2))
    need(len(lines) == len(pairs), "there must be lines of (F) for each two layers")
    for (i, j), some in zip(pairs, lines, strict=True):
        drawn = [[background(x) for x in line] for line in some]
        _factors_excluded(net, i, j, 2 * ranks[i], 2 * ranks[j] * 3 ** (j - i), drawn)
    want = _dimension(w) if t > 1 else None
    need(dimension == want, f"the dimension must be {want}, it is {dimension}")
    what = "layer tensors" if t > 1 else "cubic forms of layers"
    size = "" if want is None else f"; dimension {want}"
    return (
        f"all real weights of this shape with the function of these, of {t} tokens, for {form}, of {w}: those with the "
        f"same E, U and {what}, up to one change of basis of the stream if both E and U are there{size}; (D), (K), (F) "
        f"with {s} background tokens, modulo {p} (docs/deep-lightning.md, Theorem 1)"
    )


FORM = {"form": Form.read, "tokens": SIZE, "weights": NAMED, "prime": odd_prime, "background": SIZE}
TOKENS = [[range(2**22), SOME], SOME]
FORM |= {"top": [TOKENS, SOME], "carried": [TOKENS], "lines": [[[TOKENS, 2], SOME]], "dimension": (COUNT,)}
ROWS = ((FORM, prove),)
