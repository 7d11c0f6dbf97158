"""Networks that are often meant for another one: usual mistakes in code, tried out where a function is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isqrt

import numpy as np

from lightning_sym.network.rotary import Rotary
from lightning_sym.network.variant import BIASED
from lightning_sym.network.weight_names import split
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.testing.callers import Caller
from lightning_sym.testing.truth import EnclosedOutputs, ExactOutputs, exactly

_EXCHANGED = {"Q": "K", "K": "Q", "bQ": "bK", "bK": "bQ", "gQ": "gK", "gK": "gQ"}


def recognized(
    truth: ExactOutputs | EnclosedOutputs, weights: Weights, caller: Caller, inputs: list[ObjectArray]
) -> str:
    """Return a usual mistake that explains all these outputs, in words; empty if none does. A guess, for the reader."""
    weights.require_numbers("the networks that are tried")
    if not isinstance(truth, ExactOutputs):
        return ""
    outputs = [(x, caller(x)) for x in inputs]
    tokens = inputs[0].shape[1]
    for words, other, turned in _mistakes(weights, tokens):
        values = exactly(other.architecture(tokens), other, truth.bound)
        order = slice(None, None, -1) if turned else slice(None)
        if all(np.array_equal(values(x[:, order])[:, order], y) for x, y in outputs):
            return words
    return ""


def _mistakes(weights: Weights, tokens: int) -> Iterator[tuple[str, Weights, bool]]:
    """Yield networks that are often meant for this one; in the last place, whether tokens stand in the other order."""
    named, form = weights.numbers(), weights.form
    sources = {name: _renamed(name, _EXCHANGED) for name in named}
    if named.keys() == {*sources.values()}:
        exchanged = {name: named[source] for name, source in sources.items()}
        yield "the network with queries and keys exchanged", Weights.of(exchanged, form), False
    if tokens > 1:
        words = "without its causal mask" if form.causal else "with a causal mask"
        yield f"the network {words}", weights.with_form(replace(form, causal=not form.causal)), False
        if form.causal:
            yield "the network with the mask turned around", weights, True
    if len(set(weights.architecture(1).widths)) == 1:
        words = "without its skip connections" if form.skip else "with skip connections"
        yield f"the network {words}", weights.with_form(replace(form, skip=not form.skip)), False
    for words, other in _variants_of_attention(weights):
        yield f"the network {words}", other, False
    roots = {name: isqrt(matrix.shape[0]) for name, matrix in named.items() if split(name)[0] in ("Q", "bQ")}
    if all(root > 1 and root * root == named[name].shape[0] for name, root in roots.items()):
        scaled = {name: matrix / roots[name] if name in roots else matrix for name, matrix in named.items()}
        yield "the network with scores divided by the root of the query width", Weights.of(scaled, form), False


def _renamed(name: str, words: dict[str, str]) -> str:
    """Return the name with another word in front, if it is among these."""
    word, place = split(name)
    return words.get(word, word) + place


def _variants_of_attention(weights: Weights) -> Iterator[tuple[str, Weights]]:
    """Yield networks that lack a variant of attention, or have it in another of its usual ways."""
    named, form = weights.numbers(), weights.form

    def kept(left_out: set[str]) -> dict[str, ObjectArray]:
        return {name: matrix for name, matrix in named.items() if split(name)[0] not in left_out}

    if form.rotary is not None:
        back = [(c, -s) for c, s in form.rotary.points]
        other = "neighbours" if form.rotary.pairs == "halves" else "halves"
        yield "without rotary positions", weights.with_form(replace(form, rotary=None))
        yield (
            "with rotary positions backwards",
            weights.with_form(replace(form, rotary=replace(form.rotary, turns=back))),
        )
        paired = Rotary(form.rotary.turns, pairs=other)
        yield f"with rotary positions in pairs of {other}", weights.with_form(replace(form, rotary=paired))
    for letter in form.biases:
        left = "".join(c for c in form.biases if c != letter)
        changed = replace(form, biases=left)
        yield f"without the bias of {BIASED[letter]}", Weights.of(kept({f"b{letter}"}), changed)
    if form.gains:
        yield "without gains", Weights.of(kept({"gQ", "gK"}), replace(form, gains=False))
    if form.gated is not None:
        yield "without gated neurons", Weights.of(kept({"gate", "up", "down"}), replace(form, gated=None))
        exchanged = {name: named[_renamed(name, {"gate": "up", "up": "gate"})] for name in named}
        yield "with gate and up exchanged", Weights.of(exchanged, form)
    if form.key_heads is not None:
        yield "with heads that share keys in turn, not in blocks", Weights.of(dict(_in_turn(weights)), form)


def _in_turn(weights: Weights) -> Iterator[tuple[str, ObjectArray]]:
    """Yield the weights such that head `h` has the keys that stand at `h` modulo the number of groups."""
    network = weights.architecture(1)
    groups = network.key_heads or 1
    each = network.heads // groups
    for name, matrix in weights.numbers().items():
        word, place = split(name)
        if word in ("Q", "bQ", "O") and network.heads > 1:
            layer, head = map(int, place.split("."))
            group, member = divmod(head - 1, each)
            yield name, weights[f"{word}{layer}.{member * groups + group + 1}"]
        else:
            yield name, matrix
