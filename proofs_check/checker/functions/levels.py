"""Heads that stand in other layers, or are left out (docs/transformer-fibers.md, Theorem 1 (v)).

With skip connections the input of a head is E x plus what the heads in front of it write. A head that does not read
what another one writes does not see whether this stands in front of it.
"""

from copy import copy
from typing import Any, NamedTuple

from proofs_check.checker.functions.network import Form, Head, Network, integral
from proofs_check.checker.functions.spans import Space, dots
from proofs_check.checker.functions.streams import behind, start, streams
from proofs_check.checker.verify import LAYERS, Matrix, keep, need, room, spend, take


class Placed(NamedTuple):
    """A head, where it stood and where it is to stand, None if nowhere; bases of what it writes and of differences."""

    layer: int
    level: Any
    head: Head
    written: Matrix
    apart: Matrix


def _written(head: Head, basis: Matrix) -> Matrix:
    """A basis of what a head makes of the span of vectors; factors do not matter."""
    rows, o = dots(basis, integral(head.V).rows), integral(head.O).rows
    return [*Space(dots(rows, o) if o else rows).basis.values()]


def _nothing(*factors: Matrix) -> bool:
    """Whether a product of rows with rows is zero."""
    one, other = factors
    return not any(map(any, dots(one, other))) if one and other else True


def moved(form: Form, t: int, w: Network, levels: Any) -> Network:
    """The network whose layers are the levels, if it has the same function."""
    fits = len(levels) == len(w.layers) and all(map(lambda a, b: len(a) == len(b), levels, w.layers))
    need(fits, "there must be a level, or null, for each head of each layer")
    heads, (R, D, M) = list[Placed](), start(form, t, w)
    T, between = Space(R.basis.values()), Space(R.basis.values())
    for i, layer in enumerate(w.layers):
        one, other = ([*space.basis.values()] for space in (R, D))
        for head, level in zip(layer, levels[i], strict=True):
            heads.append(Placed(i, level, head, _written(head, one), _written(head, other)))
            T.grow(heads[-1].written)
            between.grow(heads[-1].apart)
        R, D, M = behind(layer, form, t, (R, D, M), w.widths[i], w.widths[i + 1])
    keys, queries = ([*space.basis.values()] for space in (between, T))
    seen = integral(w.U).rows
    for h in heads:
        q, k, v, o = (integral(m).rows for m in h.head)
        as_keys, as_queries = dots(keys, k), dots(queries, q)
        for g in heads if h.level else ():
            spend(20)
            before = g.layer < h.layer
            if (before if g.level is None else before is not (g.level < h.level)) and g.written:
                free = room[0]
                values = dots(g.written, v)
                blind = _nothing(values, o) if o else not any(map(any, values))
                blind = blind and _nothing(as_keys, dots(g.written, q)) and _nothing(dots(g.apart, k), as_queries)
                room[0] = free
                places = f"the head of layer {h.layer + 1} must not read that of layer {g.layer + 1}"
                need(blind, f"{places}, which stands in front of it in one network alone")
        unread = h.level or (_nothing(h.written, seen) if seen else not h.written)
        need(unread, f"what a head of layer {h.layer + 1} writes that is left out must not be read by U")
    found, deepest = copy(w), max((h.level for h in heads if h.level), default=0)
    found.layers = [[h.head for h in heads if h.level == i] for i in range(1, deepest + 1)]
    found.widths = [w.widths[0]] * (deepest + 1)
    return found


def levels(form: Form, t: int, first: Network, second: Network, data: Any) -> str:
    """Common streams of both networks with their heads in other layers."""
    need(form.skip, "heads can stand in other layers with skip connections only")
    places = take(data, "the proof", {side: [[(range(1, LAYERS + 1),)]] for side in ("first", "second")})
    keep(16 * (first.heads + second.heads) + 64 * LAYERS)
    one, other = (moved(form, t, w, each) for w, each in zip((first, second), places, strict=True))
    return f"heads in other layers, and {streams(form, t, one, other)}"
