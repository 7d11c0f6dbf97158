r"""Beyond the paper: what the conditions of Theorem 1 exclude.

Without any one of them two decoders may have one function and not be equivalent: with two tokens; where $\hat w_a = 0$,
or two gates of a layer are equal (C2); where gates may be turned over together (C3); where two heads ask alike (C4);
where a rank is too small (C5); without rotary positions if keys have biases. Here such pairs are made at random weights
modulo a prime: no Taylor coefficient differs up to the eighth, and gates with what is multiplied by them, or heads, do.
The same move at weights that fulfil the condition changes the function: that is each mutant.

Proposition 7 (T) asks that the final gains of a tied model beside LayerNorm determine its stream up to orders, all
signs at once, and turns inside of coordinates of one gain: where one gain alone differs from equal ones it is free, as
the embedding along the ones takes it up. Proposition 11 tests (P1) to (P5) of Theorem 3, norms in front of and behind
halves, at given weights. Where (P2) fails, gains behind may change: at a coordinate that is not written, or at two that
are written alike, by numbers whose squares have one sum. Where (P4) fails the stream turns in two coordinates.

With no more token ids than coordinates of the stream the first layer sees its inputs on a basis only: on token ids
alone there is a symmetry more, which is checked by its linear equations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from lightning_sym.checkpoints.model import Index
from proofs_check.blackboard.step import Step, must, number, rational, show
from proofs_check.claim import Claim, Part, Refutation, Scope, WalkThrough, expect
from proofs_check.claims.models.decoders import Decoder, DecoderWeights
from proofs_check.claims.models.moves import Move, components, key_biases_moved, turned
from proofs_check.claims.models.whole_models import expect_same
from proofs_check.series_ranks import P, Residues, inverse_matrix


class Broken(NamedTuple):
    """A condition by name, and the seed of weights that break it."""

    condition: str
    seed: int


class Breaking(NamedTuple):
    """A decoder, what makes its weights special, and what may then be done."""

    at: Decoder
    special: Move
    move: Move


def put(weights: DecoderWeights, **rows: Iterable[tuple[Index, Residues | int]]) -> DecoderWeights:
    """Return the weights with other numbers at some places of pieces of the first layer."""
    found = dict(weights)
    for name, places in rows.items():
        array = found[f"0.{name}"] = weights[f"0.{name}"].copy()
        for place, numbers in places:
            array[place] = numbers % P
    return found


SECOND_COLUMN, THIRD_COLUMN, TWO_COLUMNS = (slice(None), 1), (slice(None), 2), (slice(None), slice(2))


def first_zero(name: str) -> Move:
    return lambda one, weights, random: put(weights, **{name: [(0, 0)]})


def first_drawn(name: str) -> Move:
    return lambda one, weights, random: put(
        weights, **{name: [(0, random.integers(0, P, weights[f"0.{name}"][0].shape))]}
    )


def neurons_mixed(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    basis, up, down = random.integers(0, P, (2, 2)), weights["0.up"][:2], weights["0.down"][:, :2]
    return put(weights, up=[(slice(2), basis @ up)], down=[(TWO_COLUMNS, down @ inverse_matrix(basis))])


def crossed_neurons(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    gate, up, down = (weights[f"0.{name}"] for name in ("gate", "up", "down"))
    return put(weights, gate=[(1, up[0])], up=[(1, -gate[0])], down=[(SECOND_COLUMN, down[:, 0])])


def gates_turned(count: int, name: str) -> Move:
    return lambda one, weights, random: put(weights, **{name: [(slice(count), -weights[f"0.{name}"][:count])]})


def gates_of_sum_zero(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    up, column = weights["0.up"], weights["0.down"][:, 0]
    return put(weights, up=[(2, -(up[0] + up[1]))], down=[(SECOND_COLUMN, column), (THIRD_COLUMN, column)])


def heads_mixed(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    basis = random.integers(0, P, (2 * one.a, 2 * one.a))
    value = basis @ weights["0.value"].reshape(-1, one.d)
    output = np.concatenate(list(weights["0.output"]), axis=1) @ inverse_matrix(basis)
    return put(weights, value=[(..., value.reshape(2, one.a, one.d))], output=enumerate(np.hsplit(output, 2)))


def one_gain_differs(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Make all final gains equal but the first one."""
    first, second = weights["gain"][:2, 0]
    return weights | {"gain": np.array([[first], *[[second]] * (one.d - 1)])}


def that_gain_moved(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Add a number to the first final gain; the embedding along the ones takes it up."""
    gain, more = weights["gain"].copy(), int(random.integers(1, P))
    share = more * pow(int(gain[0, 0] - gain[1, 0]) + more, -1, P) % P
    gain[0] = (gain[0] + more) % P
    return weights | {"gain": gain, "E": (weights["E"] - share * weights["E"][0]) % P}


def equal_rows(name: str) -> Move:
    """Return what makes the first two rows equal, of all heads."""
    second = (..., 1, slice(None))
    return lambda one, weights, random: put(weights, **{name: [(second, weights[f"0.{name}"][..., 0, :])]})


def rows_parted(name: str, gain: str) -> Move:
    """Return what multiplies two rows by 7/5 and 1/5, whose squares add up to 2, and gains behind by the inverses."""
    fifth, inverses = pow(5, -1, P), np.array([[5 * pow(7, -1, P)], [5]])

    def move(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
        rows, gains = weights[f"0.{name}"][..., :2, :], weights[f"0.{gain}"][:2]
        scaled = rows * (np.array([[7], [1]]) * fifth % P)
        parted = put(weights, **{name: [((..., slice(2), slice(None)), scaled)]})
        return put(parted, **{gain: [(slice(2), gains * inverses)]})

    return move


def two_coordinates_turned(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    turn = np.eye(one.d, dtype=np.int64)
    turn[:2, :2] = np.array([[3, -4], [4, 3]]) * pow(5, -1, P) % P
    return turned(weights, turn)


TWO_HEADS, BEHIND = Decoder(heads=2, groups=2), Decoder(heads=2, groups=2, m=5, behind=True)
BREAKING: dict[str, Breaking] = {
    "T >= 3": Breaking(
        replace(TWO_HEADS, tokens=2),
        lambda one, weights, random: put(
            weights, value=[(1, weights["0.value"][0])], output=[(1, -weights["0.output"][0])]
        ),
        lambda one, weights, random: put(
            weights, **{name: [(..., -weights[f"0.{name}"])] for name in ("query", "output")}
        ),
    ),
    "(C2), not 0": Breaking(Decoder(), first_zero("up"), first_drawn("gate")),
    "(C2), gates": Breaking(
        Decoder(m=3), lambda one, weights, random: put(weights, gate=[(1, weights["0.gate"][0])]), neurons_mixed
    ),
    "(C3)": Breaking(Decoder(m=3), crossed_neurons, gates_turned(2, "gate")),
    "(C3) without gates": Breaking(Decoder(m=4, gated=False), gates_of_sum_zero, gates_turned(3, "up")),
    "(C4)": Breaking(
        TWO_HEADS,
        lambda one, weights, random: put(weights, query=[(1, weights["0.query"][0])], key=[(1, weights["0.key"][0])]),
        heads_mixed,
    ),
    "(C5), ranks": Breaking(TWO_HEADS, first_zero("output"), first_drawn("query")),
    "(T)": Breaking(Decoder(d=5, n=5, layer_norm=True, rotary=False, tied=True), one_gain_differs, that_gain_moved),
    "(P2), a row of zeros": Breaking(BEHIND, first_zero("down"), first_drawn("behind2")),
    "(P2), rows of the MLP": Breaking(BEHIND, equal_rows("down"), rows_parted("down", "behind2")),
    "(P2), rows of attention": Breaking(BEHIND, equal_rows("output"), rows_parted("output", "behind1")),
    "(P4), gains": Breaking(
        BEHIND,
        lambda one, weights, random: put(
            weights, **{name: [(1, weights[f"0.{name}"][0])] for name in ("behind1", "behind2")}
        ),
        two_coordinates_turned,
    ),
}
FIRST = tuple(name for name in BREAKING if not name.startswith(("(T)", "(P")))


def cases(names: Sequence[str], *, quick: bool) -> Iterator[Broken]:
    return (Broken(name, seed) for seed in range(2 if quick else 6) for name in names)


def differing(one: Decoder, weights: DecoderWeights) -> list[frozenset[bytes]]:
    """Return what tells weights apart; without gates the rows of `up` stand in their place.

    Where the stream has nothing but orders and signs, these are squares of gains, and of what coordinates are written.
    """
    if one.behind or one.tied:
        own = [weights[name] for name in (("gain",) if one.tied else ("E", "0.behind1", "0.behind2"))]
        return [frozenset((row**2 % P).tobytes() for row in np.hstack(own))]
    if one.gated:
        return components(one, weights)
    pairs = zip(weights["0.up"], weights["0.down"].T, strict=True)
    return [frozenset((row % P).tobytes() + column.tobytes() for row, column in pairs)]


def check(case: Broken, *, broken: bool = True, tokens: int | None = None) -> None:
    """Check that two decoders with one function are not equivalent."""
    one, special, move = BREAKING[case.condition]
    random = np.random.default_rng(case.seed)
    weights = one.draw(random)
    first = special(one, weights, random) if broken else weights
    second = move(one, first, random)
    within = one if tokens is None else replace(one, tokens=tokens)
    expect_same(within, first, second, random, at=f"{case.condition}, {within}")
    expect(
        differing(one, first) != differing(one, second),
        f"{case.condition}, {within}: both have the same neurons and heads",
    )


def check_keys(one: Decoder) -> None:
    """Check that biases of keys are not seen without rotary positions."""
    random = np.random.default_rng(1)
    weights = one.draw(random)
    expect_same(one, weights, key_biases_moved(one, weights, random), random, at=one)


def root(number: int) -> int:
    """Return a square root modulo the prime, 0 where there is none."""
    found = pow(number, (P + 3) // 8, P)
    found = found if found * found % P == number else found * pow(2, (P - 1) // 4, P) % P
    return found if found * found % P == number else 0


def below(column: Residues) -> int:
    """Return what a norm divides a vector by."""
    return root((int(column @ column % P) * pow(len(column), -1, P) + 1) % P)


def token(d: int, added: Residues, random: np.random.Generator) -> tuple[Residues, Residues]:
    """Return what a norm makes of a random vector, and of it less what is added: both have rational roots."""
    while True:
        x = random.integers(0, P, d)
        columns = x, (x - added) % P
        if all(roots := [below(column) for column in columns]):
            before, after = (c * pow(r, -1, P) % P for c, r in zip(columns, roots, strict=True))
            return before, after


def check_few_tokens(one: Decoder) -> None:
    """Check that values of the first layer may change off the vectors that tokens show, and embeddings take it up."""
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
        expect(
            not (solved @ after % P != wanted).any(),
            f"{one}: {one.n} vectors that tokens show are dependent, and no map fits them",
        )
        expect(not (solved == matrix).all(), f"{one}: a map is as it was")


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
    source="beyond the paper: docs/whole-models.md, Theorems 1 and 3, Propositions 7 and 11",
    title="decoders: where a condition of the theorem fails, others may have the same function",
    statement=(
        r"\text{not (C2), (C3), (C4), (C5), (T), (P2), (P4), or } t = 2 \;\Rightarrow\; "
        r"\exists\, W, W' :\ f_{W'} = f_W,\ W' \not\sim W"
    ),
    hypotheses=(
        r"One layer, width four; for each condition weights that break it alone, by their smallest example "
        "(docs/whole-models.md, Theorem 1). Whether three dependent gates, or equal heads in different layers, do harm "
        "is open. (T) is about tied ends beside LayerNorm (Proposition 7), (P2) and (P4) about norms in front of and "
        "behind halves (Theorem 3; how they are tested at given weights is Proposition 11). Whether (P1) and (P3) are "
        r"needed is open. $N \le d$ is about token ids alone."
    ),
    place=540,
    rests_on=("whole-models",),
    walk=WalkThrough("Two neurons whose gates may be turned over together.", walk),
    parts=(
        Part(
            "one function, not equivalent",
            Scope.INSTANCES,
            partial(cases, FIRST),
            check,
            {
                "at weights that fulfil the condition": partial(check, broken=False),
                "the two heads with three tokens": partial(check, tokens=3),
            },
        ),
        *(
            Part(
                f"one function, not equivalent: {words}",
                Scope.INSTANCES,
                partial(cases, [name]),
                check,
                {"at weights that fulfil the condition": partial(check, broken=False)},
            )
            for name, words in (
                ("(T)", "tied embeddings beside LayerNorm, where one final gain alone differs"),
                ("(P2), a row of zeros", "a gain behind a coordinate that is not written"),
                ("(P2), rows of the MLP", "gains behind equal rows of the MLP"),
                ("(P2), rows of attention", "gains behind equal rows of attention"),
                ("(P4), gains", "two coordinates with equal gains behind all halves"),
            )
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
