r"""Beyond the paper: what the conditions of Theorem 1 exclude.

Without any one of them two decoders may have one function and not be equivalent: with two tokens; where $\hat w_a = 0$,
or two gates of a layer are equal (C2); where gates may be turned over together (C3); where two heads ask alike (C4);
where a rank is too small (C5); without rotary positions if keys have biases. Here such pairs are made at random weights
modulo a prime: no Taylor coefficient differs up to the eighth, and gates with what is multiplied by them, or heads, do.
The same move at weights that fulfil the condition changes the function: that is each mutant.

With no more token ids than coordinates of the stream the first layer sees its inputs on a basis only: on token ids
alone there is a symmetry more, which is checked by its linear equations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from proofs_check.blackboard.step import Step, must, number, rational, show
from proofs_check.claim import Claim, Part, Refutation, Scope, WalkThrough
from proofs_check.claims.models.decoders import Decoder, DecoderWeights
from proofs_check.claims.models.moves import Move, components, key_biases_moved
from proofs_check.claims.models.series_ranks import P, Residues, inverse_matrix
from proofs_check.claims.models.whole_models import differs_at


class Broken(NamedTuple):
    """A condition by name, and the seed of weights that break it."""

    condition: str
    seed: int


class Breaking(NamedTuple):
    """A decoder, what makes its weights special, and what may then be done."""

    at: Decoder
    special: Move
    move: Move


Places = list[tuple[Any, Any]]
"""Rows, heads or columns, and what stands there."""
ALL, PAIR = slice(None), slice(2)


def put(weights: DecoderWeights, **pieces: Places) -> DecoderWeights:
    """The weights with other entries in the first layer."""
    found = dict(weights)
    for name, places in pieces.items():
        found[f"0.{name}"] = array = weights[f"0.{name}"].copy()
        for place, value in places:
            array[place] = value % P
    return found


def neurons_mixed(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Mix two neurons by a matrix of GL(2)."""
    basis = random.integers(0, P, (2, 2))
    written = weights["0.down"][:, :2] @ inverse_matrix(basis)
    return put(weights, up=[(PAIR, basis @ weights["0.up"][:2])], down=[((ALL, PAIR), written)])


def heads_mixed(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Mix values of two heads, all their rows together."""
    basis = random.integers(0, P, (2 * one.a, 2 * one.a))
    value = basis @ weights["0.value"].reshape(-1, one.d)
    output = np.concatenate(list(weights["0.output"]), axis=1) @ inverse_matrix(basis)
    heads = np.stack([output[:, : one.a], output[:, one.a :]])
    return put(weights, value=[(ALL, value.reshape(2, one.a, one.d))], output=[(ALL, heads)])


TWO_HEADS = Decoder(heads=2, groups=2)
BREAKING: dict[str, Breaking] = {
    "T >= 3": Breaking(  # opposite heads, and scores turned over
        replace(TWO_HEADS, tokens=2),
        lambda one, w, random: put(w, value=[(1, w["0.value"][0])], output=[(1, -w["0.output"][0])]),
        lambda one, w, random: put(w, query=[(ALL, -w["0.query"])], output=[(ALL, -w["0.output"])]),
    ),
    "(C2), not 0": Breaking(
        Decoder(),
        lambda one, w, random: put(w, up=[(0, 0)]),
        lambda one, w, random: put(w, gate=[(0, random.integers(0, P, one.d))]),
    ),
    "(C2), gates": Breaking(Decoder(m=3), lambda one, w, random: put(w, gate=[(1, w["0.gate"][0])]), neurons_mixed),
    "(C3)": Breaking(  # two neurons crossed, and their gates turned over
        Decoder(m=3),
        lambda one, w, random: put(
            w, gate=[(1, w["0.up"][0])], up=[(1, -w["0.gate"][0])], down=[((ALL, 1), w["0.down"][:, 0])]
        ),
        lambda one, w, random: put(w, gate=[(PAIR, -w["0.gate"][:2])]),
    ),
    "(C3) without gates": Breaking(  # three maps of sum 0 with one column
        Decoder(m=4, gated=False),
        lambda one, w, random: put(
            w, up=[(2, -w["0.up"][0] - w["0.up"][1])], down=[((ALL, slice(1, 3)), w["0.down"][:, :1])]
        ),
        lambda one, w, random: put(w, up=[(slice(3), -w["0.up"][:3])]),
    ),
    "(C4)": Breaking(
        TWO_HEADS,
        lambda one, w, random: put(w, query=[(1, w["0.query"][0])], key=[(1, w["0.key"][0])]),
        heads_mixed,
    ),
    "(C5), ranks": Breaking(
        TWO_HEADS,
        lambda one, w, random: put(w, output=[(0, 0)]),
        lambda one, w, random: put(w, query=[(0, random.integers(0, P, (one.a, one.d)))]),
    ),
}


def cases(quick: bool) -> Iterator[Broken]:
    for seed in range(2 if quick else 6):
        for name in BREAKING:
            yield Broken(name, seed)


def differing(one: Decoder, weights: DecoderWeights) -> list[frozenset[bytes]]:
    """What tells weights apart; without gates the rows of `up` stand in their place."""
    if one.gated:
        return components(one, weights)
    pairs = zip(weights["0.up"], weights["0.down"].T, strict=True)
    return [frozenset((row % P).tobytes() + column.tobytes() for row, column in pairs)]


def check(case: Broken, *, broken: bool = True, tokens: int | None = None) -> None:
    """Two decoders with one function that are not equivalent."""
    one, special, move = BREAKING[case.condition]
    random = np.random.default_rng(case.seed)
    weights = one.draw(random)
    first = special(one, weights, random) if broken else weights
    second = move(one, first, random)
    within = one if tokens is None else replace(one, tokens=tokens)
    if (place := differs_at(within, first, second, random)) is not None:
        raise Refutation(f"{case.condition}, {within}: the coefficient of t^{place[0]} of a logit differs")
    if differing(one, first) == differing(one, second):
        raise Refutation(f"{case.condition}, {within}: both have the same neurons and heads")


def check_keys(one: Decoder) -> None:
    """Biases of keys are not seen without rotary positions."""
    random = np.random.default_rng(1)
    weights = one.draw(random)
    if (place := differs_at(one, weights, key_biases_moved(one, weights, random), random)) is not None:
        raise Refutation(f"{one}: the coefficient of t^{place[0]} of a logit differs")


def root(number: int) -> int:
    """A square root modulo the prime, 0 where there is none."""
    found = pow(number, (P + 3) // 8, P)
    found = found if found * found % P == number else found * pow(2, (P - 1) // 4, P) % P
    return found if found * found % P == number else 0


def below(column: Residues) -> int:
    """What a norm divides a vector by."""
    return root((int(column @ column % P) * pow(len(column), -1, P) + 1) % P)


def token(d: int, added: Residues, random: np.random.Generator) -> tuple[Residues, Residues]:
    """What a norm makes of a random vector, and of it less what is added: both have rational roots."""
    while True:
        x = random.integers(0, P, d)
        columns = x, (x - added) % P
        if all(roots := [below(column) for column in columns]):
            before, after = (c * pow(r, -1, P) % P for c, r in zip(columns, roots, strict=True))
            return before, after


def check_few_tokens(one: Decoder) -> None:
    """Values of the first layer may change off the vectors that tokens show, and embeddings take it up."""
    random = np.random.default_rng(one.d)
    weights = one.draw(random)
    free = random.integers(1, P, one.a)
    added = weights["0.output"].sum(axis=0) @ free % P
    pairs = [token(one.d, added, random) for _ in range(one.n)]
    before, after = (np.stack(found, axis=1) for found in zip(*pairs, strict=True))
    readers = weights["0.value"][0]
    for matrix, more in ((readers, free), (weights["0.query"][0], 0 * free), (weights["0.key"][0], 0 * free)):
        wanted = (matrix @ before + more[:, None]) % P
        solved = wanted[:, : one.d] @ inverse_matrix(after[:, : one.d]) % P
        if (solved @ after % P != wanted).any():
            raise Refutation(f"{one}: {one.n} vectors that tokens show are dependent, and no map fits them")
        if (solved == matrix).all():
            raise Refutation(f"{one}: a map is as it was")


def walk() -> Iterator[Step]:
    yield Step(
        "Two neurons, crossed",
        r"Gate and factor of the second neuron are factor and minus gate of the first, and both write one column. "
        r"These are the gates; the factors are $(-1, 2, 0, 1)$ turned round.",
        (show("G", rational([[1, 0, 2, 1], [2, 1, 0, -1]])), show("W", rational([[2, 1, 0, -1], [-1, 0, -2, -1]]))),
    )
    check(Broken("(C3)", 0))
    yield Step(
        "Both gates turned over",
        r"As $\sigma(-z) = \sigma(z) - z$, each neuron changes by $\mp u (g \cdot y)(w \cdot y)$: together nothing "
        r"changes. Condition (C3) excludes it.",
        (number("coefficients that differ", 0),),
    )
    apart = False
    try:
        check(Broken("(C3)", 0), broken=False)
    except Refutation:
        apart = True
    must(apart, "generic gates cannot be turned over")
    yield Step(
        "At other weights",
        r"The same move at weights that fulfil (C3) is seen: a quadratic form is left that is not constant on the "
        r"sphere.",
        (show(r"X_S", r"u_1 (g_1 \cdot y)(w_1 \cdot y) + u_2 (g_2 \cdot y)(w_2 \cdot y) \ne 0"),),
    )


CLAIM = Claim(
    id="whole-models-conditions",
    source="beyond the paper: docs/whole-models.md, Theorem 1",
    title="decoders: where a condition of the theorem fails, others may have the same function",
    statement=(
        r"\text{not (C2), (C3), (C4), (C5), or } t = 2 \;\Rightarrow\; "
        r"\exists\, W, W' :\ f_{W'} = f_W,\ W' \not\sim W"
    ),
    hypotheses=(
        r"One layer, width four; for each condition weights that break it alone, by their smallest example "
        "(docs/whole-models.md, Theorem 1). Whether three dependent gates, or equal heads in different layers, do harm "
        r"is open. $N \le d$ is about token ids alone."
    ),
    place=540,
    rests_on=("whole-models",),
    walk=WalkThrough("Two neurons whose gates may be turned over together.", walk),
    parts=(
        Part(
            "one function, not equivalent",
            Scope.INSTANCES,
            cases,
            check,
            {
                "at weights that fulfil the condition": partial(check, broken=False),
                "the two heads with three tokens": partial(check, tokens=3),
            },
        ),
        Part(
            "keys with biases, without rotary positions",
            Scope.INSTANCES,
            lambda quick: [Decoder(heads=2, rotary=False, biases=frozenset({"key"}))],
            check_keys,
            {"with them": lambda one: check_keys(replace(one, rotary=True, biases=frozenset({"query", "key"})))},
        ),
        Part(
            "token ids alone, N <= d",
            Scope.INSTANCES,
            lambda quick: [Decoder(d=d, n=d) for d in ((4,) if quick else (4, 5, 6))],
            check_few_tokens,
            {"N = d + 1": lambda one: check_few_tokens(replace(one, n=one.d + 1))},
        ),
    ),
)
