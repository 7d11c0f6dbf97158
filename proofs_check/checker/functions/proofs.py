"""Proofs that two networks have the same function, or different ones (docs/certificate.md, section 4).

Heads that stand in other layers, or are left out (docs/transformer-fibers.md, Theorem 1 (v)).
With skip connections the input of a head is E x plus what the heads in front of it write. A head that does not read
what another one writes does not see whether this stands in front of it.
"""

import re
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

from proofs_check.checker.functions.matrices import Span, dots, integral, rational_matrix, through, unit, zero
from proofs_check.checker.functions.network import NAMED, Form, Head, Weights, integers
from proofs_check.checker.functions.outputs import INPUT, outputs
from proofs_check.checker.functions.streams import behind, start, streams, tensors
from proofs_check.checker.functions.theorems import THEOREMS
from proofs_check.checker.verify import (
    LAYERS,
    SIZE,
    Later,
    Matrix,
    Rows,
    Table,
    keep,
    need,
    proved,
    scratch,
    spend,
    take,
)


class Placed(NamedTuple):
    """A head, where it stood and where it is to stand, None if nowhere; bases of what it writes and of differences."""

    layer: int
    level: int | None
    head: Head
    integral: Head
    written: Matrix
    apart: Matrix


def rearranged(form: Form, t: int, w: Weights, levels: list[list[int | None]]) -> Weights:
    """Return the network whose layers are the levels, if it has the same function."""
    fits = len(levels) == len(w.layers) and all(map(lambda a, b: len(a) == len(b), levels, w.layers))
    need(fits, "there must be a level, or null, for each head of each layer")
    heads, found = list[Placed](), start(form, t, w.E or unit(w.n))
    reached, between = Span(found.R.vectors()), Span(found.R.vectors())
    for i, layer in enumerate(w.layers):
        one, other = found.R.vectors(), found.D.vectors()
        for plain, head, level in zip(layer, integers(layer)[0], levels[i], strict=True):
            written, apart = (Span(head.writes(basis)).vectors() for basis in (one, other))
            heads.append(Placed(i, level, plain, head, written, apart))
            reached.grow(written)
            between.grow(apart)
        found = behind(layer, form, t, found)
    keys, queries, seen = between.vectors(), reached.vectors(), integral(w.U).rows
    for h in heads:
        q, k, _, _ = h.integral
        as_keys, as_queries = dots(keys, k), dots(queries, q)
        for g in heads if h.level else ():
            spend(20)
            before, then = g.layer < h.layer, g.level is not None and h.level is not None and g.level < h.level
            if before is not then and g.written:
                with scratch():
                    values, scores = h.integral.writes(g.written), dots(as_keys, dots(g.written, q))
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
    one, other = (rearranged(form, t, w, each) for w, each in zip((first, second), places, strict=True))
    return f"heads in other layers, and {streams(form, t, one, other)}"


PLAIN = Later({re.compile("[QKV][1-9][0-9]*"): rational_matrix})
PLAIN_PAIR = {"tokens": SIZE, "first": PLAIN, "second": PLAIN}
PAIR = {"form": Form.read, "tokens": SIZE, "first": NAMED, "second": NAMED}


def plain_weights(data: object) -> Weights:
    """Return weights that are named Q1, K1, V1, Q2, ..."""
    depth = max(1, len(data) // 3 if type(data) is dict else 1)
    take(data, "weights", {f"{s}{i}": object for i in range(1, depth + 1) for s in "QKV"})
    need(depth <= LAYERS, f"the shapes of weights must fit, in at most {LAYERS} layers")
    return Weights(data, Form())


def about(t: int, *weights: object) -> tuple[str, Weights, Weights]:
    """Return what a certificate about plain networks is about, in words, and the networks."""
    first, second = map(plain_weights, weights)
    _require_ends(first, second)
    widths = " and ".join(",".join(map(str, w.widths)) for w in (first, second))
    return f"{t} tokens, for one-head lightning attention without mask or skip, of widths {widths}", first, second


def _require_ends(one: Weights, other: Weights) -> None:
    need((one.n, one.m) == (other.n, other.m), "both networks must have the same input and output width")


def say_what_proves(proofs: Table, form: Form, t: int, one: Weights, other: Weights, proof: object) -> str:
    """Say what proves that two networks have the same function, or have not."""
    _require_ends(one, other)
    return proved(proofs, proof, form, t, one, other)


def _step_by_step(form: Form, t: int, here: Weights, last: Weights, between: list[list[object]], end: object) -> str:
    """Say what leads from network to network, each with the function of the one before."""
    said = []
    for weights, proof in between:
        there = Weights(weights, form)
        said.append(say_what_proves(SAME, form, t, here, there, proof))
        here = there
    return "; then ".join([*said, say_what_proves(SAME, form, t, here, last, end)])


def _of_theorem(name: str, kind: str) -> Callable[..., str]:
    """Return what proves that functions are the same, or different, by a theorem that decides it."""

    def prove(*pair: Any) -> str:
        same, said = THEOREMS[name](*pair)
        need(same is (kind == "same"), f"the functions must be {kind}, the theorem says that they are not")
        return said

    return prove


def _decided(kind: str) -> dict[str, Rows]:
    return {name: (({}, _of_theorem(name, kind)),) for name in THEOREMS}


DIFFERENT = Table(
    "a proof of different functions", "by", lambda: _decided("different") | {"input": ((INPUT, outputs),)}
)
SAME: Table = Table(
    "a proof of the same function",
    "by",
    lambda: {
        **_decided("same"),
        "streams": (({}, streams),),
        "tensors": (({}, tensors),),
        "levels": ((PLACES, levels),),
        "through": (({"networks": [{"weights": NAMED, "proof": SAME}], "proof": SAME}, _step_by_step),),
    },
)


def with_a_form(claim: str, proofs: Table, form: Form, t: int, first: object, second: object, proof: object) -> str:
    """Say what shows a claim about two networks with a form."""
    one, other = Weights(first, form), Weights(second, form)
    said = say_what_proves(proofs, form, t, one, other, proof)
    return f"{claim} of {t} tokens, for {form}, of {one} and of {other}; by: {said}"
