r"""Beyond the paper: the dimension of the set of functions of decoders, for every size.

Corollary 1 of docs/whole-models.md: near weights with (C1), (C2), (C4) and full ranks, the fiber is an orbit, so that

$$\dim \mathcal M = \text{parameters} - \dim O(V) - \sum_{\text{layers}} [g (a^2 + a) + m]$$

for weights whose gains are folded, $g$ groups and $m$ gated neurons; without rotary positions $2 g a^2$ stands in place
of $g (a^2 + a)$. Norms that are not folded, biases, and tied ends change it by Corollary 2 and Proposition 6, gains on
queries and keys by Theorem 2, norms behind the halves by Theorem 3, at given weights if the tests of Proposition 11
find its conditions, and tied ends beside LayerNorm by Proposition 7. Not larger: these moves are symmetries. Not
smaller: the rank of a Jacobian modulo a prime, computed from another forward pass, with frequencies of which the
residues are specializations. Both meet at every shape; the count passes through neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.lazy import lazy_imports
from proofs_check.blackboard.step import Step, must, number, rational, show
from proofs_check.claim import Claim, Part, Scope, Undecided, WalkThrough, expect
from proofs_check.claims.models.decoders import Decoder, DecoderWeights, jacobian_rank
from proofs_check.samples import Dice, distinct, listed
from proofs_check.series_ranks import P

with lazy_imports(__name__):
    from lightning_sym.checkpoints import config as configs
    from lightning_sym.checkpoints import families, model
    from lightning_sym.whole_models import model_symmetries

GPT_2 = frozenset({"norm", "query", "key", "value", "output", "up", "down", "positions"})
Count = Callable[[Decoder], int]


def of_heads(one: Decoder) -> int:
    """Return what is free inside of the heads of a layer."""
    free, a = one.groups, one.a
    found = a // 2 + free * a * a if one.head_norms else free * (a * a + (a if one.rotary else a * a))
    if "key" in one.biases and not one.rotary:
        found += free * a
    return found + free * a * ("value" in one.biases)


def of_norms(one: Decoder) -> int:
    """Return what is free in gains, biases, and along the vector of ones."""
    rows = [(one.heads + 2 * one.groups) * one.a, (1 + one.gated) * one.m]
    both = 2 if "norm" in one.biases else 1
    found = sum(one.gains * both * one.d + one.layer_norm * count for count in rows) * one.layers
    if not one.tied:
        found += one.gains * both * one.d + one.layer_norm * one.n * ("norm" not in one.biases)
    if one.layer_norm:
        writes = one.heads * one.a + one.m + ("output" in one.biases) + ("down" in one.biases)
        found += one.layers * writes + one.n * (not one.tied) + one.tokens * ("positions" in one.biases)
    return found


def group(one: Decoder) -> int:
    """Return the dimension of the group."""
    seen = one.d - one.layer_norm
    turns = 0 if one.tied or one.behind else seen * (seen - 1) // 2
    return turns + one.layers * (of_heads(one) + one.gated * one.m) + of_norms(one)


def stated(one: Decoder) -> int:
    return one.parameters - group(one)


def check(one: Decoder, count: Count = stated, weights: DecoderWeights | None = None) -> None:
    """Check the rank of a Jacobian, at random weights or at these; it is a lower bound."""
    rank = jacobian_rank(one, weights=weights)
    expect(rank <= count(one), f"{one}: stated {count(one)}, and the Jacobian has rank {rank} at least")
    expect(
        rank == count(one), f"{one}: stated {count(one)}, and the Jacobian has rank {rank} modulo a prime", Undecided
    )


def drawn(*, quick: bool, family: Callable[[Dice], Decoder], seed: int, most: int = 110) -> Iterator[Decoder]:
    """Return random shapes of a family, small ones."""

    def draw(dice: Dice) -> Decoder | None:
        one = family(dice)
        return one if one.parameters <= (most if quick else 260) else None

    return distinct(draw, 5 if quick else 25, seed)


def sizes(dice: Dice, widths: tuple[int, int] = (4, 6)) -> Decoder:
    """Return sizes of everything, and no options."""
    groups, d = dice.number((1, 2)), dice.number(widths)
    n, layers, heads = d + dice.number((0, 1)), dice.number((1, 2)), groups * dice.number((1, 2))
    return Decoder(d, n, layers, heads, groups, 2 * dice.one_of((0.8, 0.2)), dice.number((1, 4)))


def llama(dice: Dice) -> Decoder:
    tied = dice.chance(0.3)
    biases = frozenset({"query", "key"} if dice.chance(0.5) else ())
    return replace(sizes(dice), gains=tied or dice.chance(0.5), tied=tied, biases=biases)


def without_rotary(dice: Dice) -> Decoder:
    one = sizes(dice)
    width = one.a if one.heads == one.groups else 2  # below the width of the stream, as groups must differ
    biases = frozenset({"key"} if dice.chance(0.4) else ())
    return replace(one, a=width, rotary=False, gated=dice.chance(0.5), activation="gelu_new", biases=biases)


def layer_norms(dice: Dice) -> Decoder:
    all_biases = dice.chance(0.6)
    biases = GPT_2 if all_biases else frozenset()
    gated = not all_biases and dice.chance(0.5)
    made = replace(sizes(dice, (5, 6)), layer_norm=True, rotary=False, activation="gelu_new")
    return replace(made, gains=all_biases or dice.chance(0.5), biases=biases, gated=gated)


def head_norms(dice: Dice) -> Decoder:
    tied = dice.chance(0.4)
    return replace(sizes(dice, (5, 6)), head_norms=True, tied=tied, gains=tied)


def norms_behind(dice: Dice) -> Decoder:
    one = sizes(dice, (4, 4))
    filled = one.d + dice.number((0, 2))
    return replace(one, heads=2, a=2, m=filled, behind=True, gains=dice.chance(0.4))


def more(count: Callable[[Decoder], int]) -> partial[None]:
    """Return the check of a group that is larger by so much."""
    return partial(check, count=lambda one: stated(one) - count(one))


class AtGiven(NamedTuple):
    """Small integers as weights of a family with norms behind halves: the number of neurons, and the seed."""

    family: str
    inner: int
    seed: int


def as_checkpoint(one: Decoder, family: str, weights: DecoderWeights) -> model.MadeCheckpoint:
    """Return one layer of a decoder with norms behind halves as a checkpoint."""
    config = {
        "hidden_size": one.d, "num_attention_heads": one.heads, "num_key_value_heads": one.groups, "head_dim": one.a,
        "num_hidden_layers": 1, "intermediate_size": one.m, "vocab_size": one.n, "max_position_embeddings": 8,
        "rms_norm_eps": Fraction(1), "rope_theta": Fraction(10000), "tie_word_embeddings": False,
    }  # fmt: skip
    named = {name.replace(" ", "_"): array.astype(float) for name, array in weights.items()}
    named |= {f"0.behind{k}_gain": named[f"0.behind{k}"] for k in (1, 2)}
    named |= {f"0.{name}_norm_gain": named[f"0.{name}_gain"] for name in ("query", "key") if one.head_norms}
    named |= {name: array.ravel() for name, array in named.items() if name.endswith("gain")}
    pieces: dict[str, Any] = {piece.name: named.get(f"0.{piece.name}") for piece in fields(model.Block)}
    form, _ = families.FAMILIES[family].read(configs.Config(config))
    ends = model.Ends(named["E"].T, None, named["gain"], None, named["U"])
    return model.MadeCheckpoint(form, ends, (model.Block(**pieces),))


def at_given_weights(given: AtGiven, less: Count = lambda one: 0) -> None:
    """Check that the fiber near weights at which Proposition 11 finds (P1), (P2), (P4), (P5) is an orbit."""
    caps = given.family == "gemma2"
    one = Decoder(
        heads=2, groups=2, m=given.inner, gains=True, behind=True, activation="gelu_new", head_norms=not caps,
        cap=50 if caps else None,
    )  # fmt: skip
    random = np.random.default_rng(given.seed)
    weights = {
        name: random.integers(1, 98, shape) * random.choice([-1, 1], shape) for name, shape in one.shapes().items()
    }
    found = model_symmetries.symmetries_of(as_checkpoint(one, given.family, weights))
    expect(found.complete, f"{given}: {found.first_unknown}", Undecided)
    check(one, lambda one: stated(one) - less(one), {name: array % P for name, array in weights.items()})


def walk() -> Iterator[Step]:
    one = Decoder(heads=2, gains=True, n=5)
    parts = {"E": 20, "U": 20, "gains": 12, "queries": 16, "keys": 8, "values": 8, "outputs": 16, "MLP": 24}
    must(sum(parts.values()) == one.parameters == 124, "124 numbers")
    yield Step(
        "A decoder",
        r"Width four, five tokens, one layer, one group of two heads of width two, two neurons, gains that are not "
        r"folded. Here are the numbers of all its parts, ends first.",
        (
            show(r"\text{entries}", rational([list(parts.values())[:4], list(parts.values())[4:]])),
            number("parameters", one.parameters),
        ),
    )
    must(group(one) == 6 + 12 + 6 + 2, "26")
    yield Step(
        "Its group",
        r"$O(4)$ turns the stream; three norms have gains that readers take up; queries and keys share a number $x + "
        r"\mathrm i y$, values a matrix; each neuron has a number between its factors.",
        (show(r"\dim", rational([[6, 12, 2, 4, 2]])), number("together", group(one))),
    )
    rank = jacobian_rank(one)
    must(rank == stated(one) == 98, "98")
    yield Step(
        "Its functions",
        r"The Jacobian of all Taylor coefficients of the logits has this rank modulo a prime, so the dimension is not "
        r"smaller; the group says that it is not larger.",
        (number("rank", rank), number("parameters less the group", stated(one))),
    )


CLAIM = Claim(
    id="whole-models-dimension",
    source="beyond the paper: docs/whole-models.md, Corollary 1",
    title="decoders: the dimension of the set of functions is the parameters less the known symmetries",
    statement=(
        r"\dim \mathcal M = \text{parameters} - \tfrac12 D (D - 1) - \textstyle\sum_{\text{layers}} "
        r"[g (a^2 + a) + m]"
    ),
    hypotheses=(
        r"Folded gains, untied ends, $n, n' \ge D \ge 4$, $t \ge 3$, $2 \le a \le D$, gates, rotary positions of "
        r"different frequencies, $g$ groups; on prompts of real combinations of token embeddings. Proved at every size "
        "(docs/whole-models.md, Corollary 1 and Corollary 5). Tied ends are Corollary 2 there, norms that are not "
        r"folded and biases Proposition 6, gains on queries and keys ($a < D$) Theorem 2. Norms behind halves are "
        "Theorem 3, where writers fill the stream, and Proposition 11 at given weights. Tied ends beside LayerNorm are "
        "Proposition 7, where sums of powers of final gains fulfil (T): so at almost all gains."
    ),
    place=530,
    rests_on=("whole-models",),
    walk=WalkThrough("Count a small decoder, and compare with the rank of its Jacobian.", walk),
    parts=(
        Part(
            "rotary positions, tied or not, folded or not",
            Scope.GENERIC,
            partial(drawn, family=llama, seed=20261124),
            check,
            {
                "eps = 0, a scale of the stream": more(lambda one: 1),
                "ReLU, a scale of each gate": more(lambda one: one.layers * one.m),
                "biases of keys are free as without rotary positions": more(
                    lambda one: one.layers * one.groups * one.a * ("key" in one.biases)
                ),
                "tied ends turn": more(lambda one: one.tied),
            },
        ),
        Part(
            "learned positions or none, with gates or without",
            Scope.GENERIC,
            partial(drawn, family=without_rotary, seed=20261125),
            check,
            {"a number in neurons without gates": more(lambda one: (not one.gated) * one.m * one.layers)},
        ),
        Part(
            "LayerNorm, as GPT-2 or without biases",
            Scope.GENERIC,
            partial(drawn, family=layer_norms, seed=20261126, most=150),
            check,
            {"the stream turns in all coordinates": more(lambda one: one.d - 1)},
        ),
        Part(
            "gains on queries and keys",
            Scope.GENERIC,
            partial(drawn, family=head_norms, seed=20261130, most=150),
            check,
            {"a number for each group": more(lambda one: one.layers * (one.groups - 1) * one.a // 2)},
        ),
        Part(
            "norms in front of and behind halves",
            Scope.GENERIC,
            partial(drawn, family=norms_behind, seed=20261128, most=180),
            check,
            {"the stream turns": more(lambda one: one.d * (one.d - 1) // 2)},
        ),
        Part(
            "tied embeddings beside LayerNorm",
            Scope.GENERIC,
            partial(
                drawn, family=lambda dice: replace(layer_norms(dice), tied=True, gains=True), seed=20261201, most=150
            ),
            check,
            {
                "the stream turns": more(lambda one: (one.d - 1) * (one.d - 2) // 2),
                "embeddings along the ones are not seen": more(lambda one: one.n),
            },
        ),
        Part(
            "norms in front of and behind halves, at given weights",
            Scope.INSTANCES,
            listed(
                [AtGiven("gemma2", 5, 1), AtGiven("gemma3_text", 5, 1)],
                [AtGiven(family, inner, 3) for family in ("gemma2", "gemma3_text") for inner in (5, 6, 9)],
            ),
            at_given_weights,
            {
                "the stream turns": partial(at_given_weights, less=lambda one: one.d * (one.d - 1) // 2),
                "gains behind are not seen": partial(at_given_weights, less=lambda one: 2 * one.d),
            },
        ),
    ),
)
