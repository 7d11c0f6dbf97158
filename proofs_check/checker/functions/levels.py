"""Heads that stand in other layers, or are left out (docs/transformer-fibers.md, Theorem 1 (v)).

With skip connections the input of a head is E x plus what the heads in front of it write. A head that does not read
what another one writes does not see whether this stands in front of it.
"""

from copy import copy
from typing import NamedTuple

from proofs_check.checker.functions.matrices import Span, dots, integral, through, zero
from proofs_check.checker.functions.network import Form, Head, Weights
from proofs_check.checker.functions.streams import LayerOfBoth, alone, behind, streams
from proofs_check.checker.verify import LAYERS, Matrix, keep, need, scratch, spend


class Placed(NamedTuple):
    """A head, where it stood and where it is to stand, None if nowhere; bases of what it writes and of differences."""

    layer: int
    level: int | None
    head: Head
    written: Matrix
    apart: Matrix


def moved(form: Form, t: int, w: Weights, levels: list[list[int | None]]) -> Weights:
    """Return the network whose layers are the levels, if it has the same function."""
    fits = len(levels) == len(w.layers) and all(map(lambda a, b: len(a) == len(b), levels, w.layers))
    need(fits, "there must be a level, or null, for each head of each layer")
    heads, found = list[Placed](), alone(form, t, w)
    reached, between = Span(found.R.vectors()), Span(found.R.vectors())
    for i, layer in enumerate(w.layers):
        one, other = found.R.vectors(), found.D.vectors()
        for head, level in zip(layer, levels[i], strict=True):
            written, apart = (Span(head.writes(basis)).vectors() for basis in (one, other))
            heads.append(Placed(i, level, head, written, apart))
            reached.grow(written)
            between.grow(apart)
        found = behind(LayerOfBoth((layer, []), form, (w.widths[i + 1], 0)), t, found, w.widths[i])
    keys, queries, seen = between.vectors(), reached.vectors(), integral(w.U).rows
    for h in heads:
        q, k, v, o = (integral(m).rows for m in h.head)
        as_keys, as_queries = dots(keys, k), dots(queries, q)
        for g in heads if h.level else ():
            spend(20)
            before, then = g.layer < h.layer, g.level is not None and h.level is not None and g.level < h.level
            if before is not then and g.written:
                with scratch():
                    values, scores = through(g.written, v, o), dots(as_keys, dots(g.written, q))
                    blind = all(map(zero, (values, scores, dots(dots(g.apart, k), as_queries))))
                places = f"the head of layer {h.layer + 1} must not read that of layer {g.layer + 1}"
                need(blind, f"{places}, which stands in front of it in one network alone")
        unread = h.level or zero(through(h.written, seen))
        need(unread, f"what a head of layer {h.layer + 1} writes that is left out must not be read by U")
    levelled, deepest = copy(w), max((h.level for h in heads if h.level), default=0)
    levelled.layers = [[h.head for h in heads if h.level == i] for i in range(1, deepest + 1)]
    levelled.widths = [w.widths[0]] * (deepest + 1)
    return levelled


PLACES = {side: [[(range(1, LAYERS + 1),)]] for side in ("first", "second")}


def levels(form: Form, t: int, first: Weights, second: Weights, *places: list[list[int | None]]) -> str:
    """Say what shows common streams of both networks with their heads in other layers."""
    need(form.skip, "heads can stand in other layers with skip connections only")
    keep(16 * (first.heads + second.heads) + 64 * LAYERS)
    one, other = (moved(form, t, w, each) for w, each in zip((first, second), places, strict=True))
    return f"heads in other layers, and {streams(form, t, one, other)}"
