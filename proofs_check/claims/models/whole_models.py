r"""Beyond the paper: decoders with norms, MLPs and skip connections have no symmetries but the known ones.

$W' \sim W$: one rotation $R$ of the stream, changes of basis inside of heads, numbers $c_a$ between the two factors of
a neuron, permutations of neurons and of heads in each layer. Theorem 1 of docs/whole-models.md, for weights with (C1)
to (C5), on prompts of real combinations of token embeddings:

$$f_{W'} = f_W \iff W' \sim W.$$

The proof stands there, for weights over the reals. Checked here, at random weights modulo a prime: that each known
symmetry changes no Taylor coefficient of the logits, up to the eighth; and that what is nearly one changes some, so
that these functions differ over the rationals too. What a symmetry would be if one word of the statement were dropped
is a mutant: a scale of gates (ReLU), of the stream ($\varepsilon = 0$), a bias of keys that moves (no rotary
positions), the components of two layers exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from proofs_check.blackboard.step import Step, must, number, rational, show
from proofs_check.claim import Claim, Part, Refutation, Scope, WalkThrough, expect
from proofs_check.claims.models.decoders import Decoder, DecoderWeights, logits
from proofs_check.claims.models.moves import (
    LISTED,
    Move,
    a_gate_turned,
    gates_scaled,
    head_gains_scaled,
    key_biases_moved,
    neurons_of_two_layers,
    queries_scaled,
    rotated,
    stream_scaled,
    ups_scaled,
)
from proofs_check.series_ranks import P

ORDER = 9


class Moved(NamedTuple):
    """A decoder, a move by name, and the seed of its weights."""

    at: Decoder
    move: str
    seed: int


NOT_LISTED: dict[str, Move] = {
    "a gate turned over": a_gate_turned,
    "gates scaled": gates_scaled,
    "the stream scaled": stream_scaled,
    "neurons of two layers exchanged": neurons_of_two_layers,
    "biases of keys moved": key_biases_moved,
    "queries scaled below a norm": queries_scaled,
}
EVERY = LISTED | NOT_LISTED | {"gains on queries and keys scaled": head_gains_scaled}

SHAPES = (
    Decoder(layers=2, heads=4, groups=2, m=3),
    Decoder(d=5, n=5, heads=2, a=4, layer_norm=True),
    Decoder(heads=2, groups=1, rotary=False, activation="gelu_new"),
)
OF_A_MOVE = {
    "biases of keys moved": Decoder(biases=frozenset({"query", "key"})),
    "queries scaled below a norm": Decoder(head_norms=True),
    "gains on queries and keys scaled": Decoder(head_norms=True, heads=2, groups=2, a=4, d=5, n=5),
    "neurons of two layers exchanged": Decoder(layers=2),
}
"""Decoders that have what is moved."""


def pair(moved: Moved, move: Move) -> tuple[DecoderWeights, DecoderWeights, np.random.Generator]:
    """Return the weights before and after, and what draws the prompts."""
    random = np.random.default_rng(moved.seed)
    weights = moved.at.draw(random)
    return weights, move(moved.at, weights, random), random


def differs_at(
    one: Decoder, first: DecoderWeights, second: DecoderWeights, random: np.random.Generator
) -> tuple[int, ...] | None:
    """Return the place of a Taylor coefficient that differs modulo the prime, the power of t first; or `None`."""
    inputs = random.integers(0, P, (2, one.n, one.tokens))
    apart = np.argwhere(np.moveaxis(logits(one, first, inputs, ORDER) != logits(one, second, inputs, ORDER), 1, 0))
    return tuple(map(int, apart[0])) if len(apart) else None


def expect_same(
    one: Decoder, first: DecoderWeights, second: DecoderWeights, random: np.random.Generator, at: object
) -> None:
    """Refute unless all coefficients are equal."""
    if (place := differs_at(one, first, second, random)) is not None:
        raise Refutation(f"{at}: the coefficient of t^{place[0]} of a logit differs")


def check_equal(moved: Moved, move: Move | None = None) -> None:
    """Check that no coefficient is changed by what is a symmetry."""
    expect_same(moved.at, *pair(moved, move or EVERY[moved.move]), at=moved.at)


def check_other(moved: Moved, move: Move | None = None) -> None:
    """Check that some coefficient is changed by what is no symmetry."""
    expect(
        differs_at(moved.at, *pair(moved, move or EVERY[moved.move])) is not None,
        f"{moved.at}: no coefficient up to t^{ORDER - 1} differs",
    )


def symmetries(*, quick: bool) -> Iterator[Moved]:
    for seed in range(1 if quick else 4):
        for name in LISTED:
            for one in SHAPES:
                if one.gated or name != "neurons permuted, ups scaled":
                    yield Moved(one, name, seed)
        name = "gains on queries and keys scaled"
        yield Moved(OF_A_MOVE[name], name, seed)


def others(*, quick: bool) -> Iterator[Moved]:
    for seed in range(1 if quick else 4):
        for name in NOT_LISTED:
            yield Moved(OF_A_MOVE.get(name, SHAPES[0]), name, seed)


def as_if_listed(name: str) -> Callable[[Moved], None]:
    """Return the check of a statement that lists this too."""
    return lambda moved: check_equal(Moved(OF_A_MOVE.get(name, SHAPES[0]), name, moved.seed))


def walk() -> Iterator[Step]:
    one = Decoder(n=4)
    small = np.random.default_rng(5)
    weights = {name: small.integers(-2, 3, shape) for name, shape in one.shapes().items()}
    yield Step(
        "A decoder",
        r"Width four, one layer, one head of width two, two neurons. Gates are rows, columns are what a neuron writes.",
        (show("G", rational(weights["0.gate"])), show("D", rational(weights["0.down"]))),
    )
    residues = {name: array % P for name, array in weights.items()}
    random = np.random.default_rng(1)
    turned = rotated(one, residues, random)
    must(differs_at(one, residues, turned, random) is None, "a rotation is not seen")
    yield Step(
        "What is not seen",
        r"A rotation of the stream is taken up by all that reads and writes: modulo a prime no Taylor coefficient of a "
        r"logit changes. Up and down may share a number between them too.",
        (number("coefficients that differ", 0),),
    )
    scaled = ups_scaled(one, residues, random)
    must(differs_at(one, residues, scaled, random) is None, "ups may be scaled")
    place = differs_at(one, residues, a_gate_turned(one, residues, random), random)
    must(place is not None, "a gate cannot be turned")
    yield Step(
        "What is seen",
        r"A gate and its column turned over is another function, although $\sigma(z) - \sigma(-z) = z$: what is left "
        r"is a quadratic form in the normed stream, and it would have to be constant on the sphere. The first "
        r"coefficient that differs belongs to this power of $t$.",
        (number("power", place[0] if place else 0),),
    )


CLAIM = Claim(
    id="whole-models",
    source="beyond the paper: docs/whole-models.md, Theorem 1",
    title="decoders with norms, MLPs and skip connections: under (C1) to (C5) the known symmetries are all",
    statement=r"D \ge 4,\ t \ge 3,\ \text{(C1) to (C5)} \;\Rightarrow\; (f_{W'} = f_W \iff W' \sim W)",
    hypotheses=(
        r"SiLU or GELU with tanh, $\varepsilon > 0$, RMSNorm or LayerNorm, rotary positions of different frequencies, "
        r"learned ones or none; $W$ satisfies (C1) to (C5), $W'$ is any. The functions are taken on prompts of three "
        r"tokens or more, each any real combination of token embeddings. Proved (docs/whole-models.md, Theorem 1). "
        "For token ids alone it is open. Gains on queries and keys are Theorem 2 there."
    ),
    place=520,
    rests_on=("definition-1",),
    walk=WalkThrough("What a decoder does not show of its weights, and what it does.", walk),
    parts=(
        Part(
            "listed symmetries change no coefficient",
            Scope.INSTANCES,
            symmetries,
            check_equal,
            {f"{name}, as if it were listed": as_if_listed(name) for name in NOT_LISTED},
        ),
        Part(
            "what is nearly one changes some",
            Scope.INSTANCES,
            others,
            check_other,
            {
                "as if a rotation were seen": partial(check_other, move=rotated),
                "as if scales of ups were seen": partial(check_other, move=ups_scaled),
            },
        ),
    ),
)
