"""That a function in NumPy, PyTorch, JAX or anything like it is the map of a network with these weights.

Where it is wrong, networks that are often meant for another one are tried out: usual mistakes in code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from random import Random
from typing import Any

import numpy as np

from lightning_sym.display import rows_in_line
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.fibers.same_function import DEEPEST
from lightning_sym.limits import DEFAULT_WORK, Progress, Work, require_integer, unheard
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.rotary import Rotary
from lightning_sym.network.variant import BIASED
from lightning_sym.network.weight_names import split
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.testing.callers import Caller, Function, first_inputs, random_input, shrunk
from lightning_sym.testing.exact_floats import floats_named
from lightning_sym.testing.failures import (
    MOST_SHOWN,
    Mismatch,
    NotDecided,
    failure,
    power_of_ten,
    shown_sparsely,
)
from lightning_sym.testing.truth import EnclosedOutputs, ExactOutputs, exactly, what_is_rounded

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


FIRST = 8
"""Random inputs with small entries, before the larger ones that are counted."""

PRODUCT = {ExactOutputs: 1e-8, EnclosedOutputs: 5e-6}
"""Seconds for a product of two exact numbers; rough, and more where numbers are long."""


@dataclass(frozen=True)
class Agreement:
    """What was found where a function agrees with a network.

    Attributes:
        architecture: the network.
        dtype: the floats that the function computed in.
        inputs: at how many inputs it was asked, all of which agree.
        trials: how many of them were drawn independently and uniformly, entries between `-bound` and `bound`, times
            `step`.
        bound: of their entries.
        step: what one of these is.
        degree: of the polynomials that the function is assumed to compute at most, and that of the network at least;
            `None` with softmax.
        error_bound: if the function is a polynomial map of that degree and another one than the network's, it agrees
            in all trials with probability at most this; `None` with softmax, where agreement proves nothing beyond the
            inputs that were tried.
        ulps: how far an output may be off; 0 for lightning attention, which is compared exactly.
    """

    architecture: Architecture
    dtype: str
    inputs: int
    trials: int
    bound: int
    step: Fraction
    degree: int | None
    error_bound: Fraction | None
    ulps: int

    def __str__(self) -> str:
        tried = f"agrees with {self.architecture} at {self.inputs} inputs in {self.dtype}"
        if self.error_bound is None:
            return f"{tried}, up to {self.ulps} ulps; between them nothing is shown"
        return (
            f"{tried}, exactly; another polynomial map of degree at most {self.degree} does so with probability at "
            f"most {power_of_ten(self.error_bound)} (Schwartz-Zippel)"
        )


def assert_implements(
    function: Function,
    weights: Weights,
    *,
    tokens: int = 2,
    dtype: Any = "float64",
    array: Function | None = None,
    ulps: int | None = None,
    degree: int | None = None,
    trials: int = 64,
    seed: int = 0,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> Agreement:
    r"""Fail unless a function agrees with the map of a network at every input that is tried.

    Lightning attention: inputs are integers so small that every covered way to compute the map is exact in these floats
    (`docs/exact-floats.md`, Proposition 1, says which), and outputs are compared exactly. If the function computes, at
    these inputs, a polynomial map of degree at most `degree` and this is another one than the network's, then each
    trial shows it with probability at least $1 - \text{degree} / (2 B + 1)$ (Schwartz-Zippel, $B$ the largest entry;
    Proposition 2). Of functions that are no such maps the inputs tried are all that is known.

    Softmax, and variants that floats cannot do exactly (angles, norms, gates with exponentials, turns that are no
    quarter turns): floats round, so an output is wrong only if it is certainly more than `ulps` units in the last place
    off.
    The true output is enclosed by ball arithmetic; the unit is the distance of neighbouring floats at the largest
    absolute value among the outputs for this input. Nothing is shown beyond the inputs tried.

    Args:
        function: takes an array of shape `input width x tokens`, one column a token, and returns one of shape
            `output width x tokens`.
        weights: the weights of the network, with its form (mask, skip connections, softmax, variants such as rotary
            positions or grouped keys): integers or floats, as small as can be.
        tokens: of the inputs.
        dtype: the floats that the function computes in: `float64`, `float32` or `float16`.
        array: makes the function's own kind of array of one of NumPy's, `torch.from_numpy` for one.
        ulps: with softmax, or variants that are rounded: how far off an output may be.
        degree: of the polynomials that the function is assumed to compute at most, by default that of the network.
        trials: random inputs.
        seed: picks them.
        work: seconds that exact work may take, by a rough estimate made before.
        progress: called with stage, steps done and steps in all.

    Returns:
        At how many inputs they agree, and what that shows; `str` of it is a sentence.

    Raises:
        Mismatch: an output is wrong; the message shows a smallest input where it is, and what the function may be
            instead.
        NotDecided: they agree, and inputs are too small for that to show anything; or with softmax, no precision makes
            the balls small enough.
        BadInput: a weight is no float; the output has another shape or type than it must have, or is another one when
            it is asked for again; or softmax without `ulps`, lightning attention with them.
        TooLarge: no inputs but zero are exact in these floats, or the estimate exceeds `work`.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> q, k, v = (w[name].astype(float) for name in ("Q1", "K1", "V1"))
        >>> found = assert_implements(lambda x: v @ x @ (k @ x).T @ (q @ x), w, trials=4)
        >>> found.inputs, found.bound, found.error_bound < Fraction(1, 10**17)
        (17, 47508, True)
        >>> assert_implements(lambda x: v @ x @ (q @ x).T @ (k @ x), w)
        Traceback (most recent call last):
        lightning_sym.testing.failures.Mismatch: the function is not the map of this network
          network   widths 2,1, ranks 1, tokens 2
          input     X = 0 1; 1 0
          function  f(X) = 0 11
          exact     phi(X) = 6 3
          differs   at coordinate 1 of token 1: 0 instead of 6
          is it     the network with queries and keys exchanged? they agree at all inputs tried
    """
    __tracebackhide__ = True
    if not isinstance(weights, Weights):
        raise BadInput(f"weights must be Weights, got {type(weights).__name__}")
    require_integer(tokens, "the number of tokens", 1)
    require_integer(trials, "the number of trials", 1, 10**6)
    require_integer(seed, "the seed")
    architecture, floats = weights.architecture(tokens), floats_named(dtype)
    if degree is not None:
        require_integer(degree, "the degree", 1)
    if architecture.depth > DEEPEST:
        raise TooLarge(f"networks that are evaluated must have at most {DEEPEST} layers, got {architecture.depth}")
    rounded = " and ".join(what_is_rounded(architecture))
    kind = EnclosedOutputs if rounded else ExactOutputs
    Work(work, progress).spend(PRODUCT[kind] * _products(architecture, trials), "exact evaluations")
    truth: ExactOutputs | EnclosedOutputs
    if not rounded:
        if ulps is not None:
            raise BadInput("lightning attention is compared exactly, so ulps must be left out")
        truth = ExactOutputs(architecture, weights, floats)
    else:
        if degree is not None:
            raise BadInput(f"the degree must be left out with {rounded}, which is no polynomial in floats")
        if ulps is None:
            raise BadInput(f"{rounded} is rounded in floats, so ulps must say how far off an output may be, 16 for one")
        require_integer(ulps, "ulps", 0, 2**40)
        truth = EnclosedOutputs(architecture, weights, floats, ulps)
    caller = Caller(function, (architecture.output_width, tokens), floats, array)
    shape = (architecture.input_width, tokens)
    source = Random(seed)
    tried = [*first_inputs(source, shape, truth.bound, FIRST)]
    tried += [random_input(source, shape, truth.bound) for _ in range(trials)]
    for done, x in enumerate(tried):
        (progress or unheard)("comparing outputs", done, len(tried))
        if truth.wrong(x, caller(truth.step * x)) is not None:
            raise Mismatch(_complaint(truth, caller, architecture, weights, x, tried))
    # a difference has the larger of both degrees
    known = None if truth.degree is None else max(truth.degree, degree or 0)
    chance = None if known is None else min(Fraction(1), Fraction(known, 2 * truth.bound + 1)) ** trials
    found = Agreement(architecture, floats.name, len(tried), trials, truth.bound, truth.step, known, chance, ulps or 0)
    if chance == 1:
        rows = [
            ("network", str(found.architecture)),
            ("inputs", f"integers up to {found.bound}: larger ones may be rounded in {found.dtype}"),
            ("needed", f"more than {found.degree} values an entry for polynomials of degree {found.degree}"),
            ("remedy", "smaller weights, fewer layers or tokens, or wider floats"),
        ]
        raise NotDecided(failure(f"agreement at {found.inputs} inputs shows nothing here", rows))
    return found


def _products(architecture: Architecture, trials: int) -> int:
    """Return a rough number for all evaluations together, one of them `d t a + t^2 d` products a layer and head."""
    t, wide = architecture.tokens, max(*architecture.widths, *architecture.attention_ranks)
    products = architecture.parameter_count * t + architecture.heads * architecture.depth * t * t * 2 * wide
    return int(products) * (trials + 100)


def _complaint(
    truth: ExactOutputs | EnclosedOutputs,
    caller: Caller,
    architecture: Architecture,
    weights: Weights,
    x: ObjectArray,
    tried: list[ObjectArray],
) -> str:
    small = shrunk(x, lambda other: truth.wrong(other, caller(truth.step * other)) is not None)
    found, at = caller(truth.step * small), truth.step * small
    place = truth.wrong(small, found)
    if place is None:
        raise BadInput("the function must give one output for one input, got another one when it was asked again")
    lines = [("network", str(architecture)), ("input", f"X = {shown_sparsely(at)}")]
    if found.size <= MOST_SHOWN:
        lines.append(("function", f"f(X) = {rows_in_line(truth.shown(found))}"))
        lines.append(("exact", f"phi(X) = {rows_in_line(truth.output(small))}"))
    where = f"at coordinate {place[0] + 1} of token {place[1] + 1}"
    lines.append(("differs", where + truth.by_how_much(small, found, place)))
    if other := recognized(truth, weights, caller, [small, *tried]):
        lines.append(("is it", f"{other}? they agree at all inputs tried"))
    return failure("the function is not the map of this network", lines)
