r"""Beyond the paper: what the function of a softmax transformer determines.

Theorems 7, 11 and 12 of docs/transformer-fibers.md. Layers with any number of heads, an embedding $E$ and an
unembedding $U$ of any width, $A_{ih} = K^\top Q$ and $V_{ih} = O V$; with skip connections, or for $t \ge 3$ without
them, if there is a mask or the stream has nowhere one dimension. For almost all weights the function determines,
and is determined by, up to the order of heads: for $t \ge 3$ the *words* $U W_w E$ and the *blocks*
$E^\top W_a^\top A_{ih} W_b E$; for $t = 2$ the words and the formal scores $\delta^\top A_{ih} X_2$ of two tokens,
polynomials in the tokens and the weights of the heads. So the dimension is the generic rank of a polynomial map without
any exponentials.

Here this rank is computed modulo a prime, which bounds it from below, and compared with the certified dimension, whose
two bounds know nothing of words. The function is a function of words and blocks, so a certified dimension above the
rank would only be bad luck modulo the prime (the part would be undecided), and one below refutes the theorem. Two
tokens do not see all blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

from lightning_sym import SOFTMAX, Architecture, Normalization, certified_dimension
from proofs_check.blackboard.step import Step, must, number, rational, table
from proofs_check.certificates import itself
from proofs_check.claim import Claim, Formula, Part, Refutation, Scope, Undecided, WalkThrough, expect
from proofs_check.claims.transformers.polynomial_maps import words_and_blocks, words_and_two_token_scores
from proofs_check.samples import Dice, Range, distinct


class FormulaSizes(NamedTuple):
    """What the formulas read; without an embedding `n = d_0`, without an unembedding `m = d_l`."""

    n: int
    m: int
    widths: tuple[int, ...]
    a: tuple[int, ...]
    b: tuple[int, ...]
    h: int


def sizes(network: Architecture) -> FormulaSizes:
    """Return the sizes of a network; without output projections `b_i` is the width in front."""
    widths = network.widths
    return FormulaSizes(
        network.embed or widths[0], network.unembed or widths[-1], widths, network.attention_ranks,
        network.value_ranks or widths[:-1], network.heads,
    )  # fmt: skip


def spans(network: Architecture) -> list[int]:
    """Return `f_0, ..., f_l`: how much of the stream is met in front of each layer, and behind the last."""
    n, _, widths, _, b, h = sizes(network)
    found = [min(n, widths[0])]
    for width, rank in zip(widths[1:], b, strict=True):
        found.append(min(width, h * min(rank, found[-1]) + (found[-1] if network.skip else 0)))
    return found


def transformer(
    sizes: tuple[int, int, int, int, int, int], tokens: int, causal: bool, ends: tuple[bool, bool] = (True, True),
    normalization: Normalization | None = SOFTMAX,
) -> Architecture:  # fmt: skip
    """Return the transformer of `n, d, l, h, a, b`.

    It is without embedding, or unembedding, where `ends` says so.
    """
    n, d, depth, h, a, b = sizes
    return Architecture(
        (d,) * (depth + 1), (a,) * depth, tokens, normalization=normalization, heads=h, value_ranks=(b,) * depth,
        skip=True, causal=causal, embed=n if ends[0] else None, unembed=n if ends[1] else None,
    )  # fmt: skip


def shapes(tokens: Range, seed: int, most: tuple[int, int] = (60, 250), *, quick: bool) -> Iterator[Architecture]:
    """Return random ones: embeddings narrower and wider than the stream, or none, all ranks, up to three layers."""

    def draw(dice: Dice) -> Architecture | None:
        d = dice.number((1, 7))
        sizes = (
            dice.number((1, d + 1)), d, dice.number((1, 3)), dice.number((1, 3)), dice.number((1, d)),
            dice.number((1, d)),
        )  # fmt: skip
        ends = (dice.chance(0.8), dice.chance(0.8))
        network = transformer(sizes, dice.number(tokens), dice.chance(0.5), ends)
        return network if network.parameter_count <= (140 if quick else 260) else None

    return distinct(draw, most[0] if quick else most[1], seed)


def three_tokens(*, quick: bool) -> Iterator[Architecture]:
    """Yield the shapes of the list of exceptions first."""
    for causal in (False, True):
        yield transformer((1, 5, 4, 1, 1, 4), 3, causal)
        yield transformer((2, 4, 2, 1, 4, 4), 3, causal)
    yield from shapes((3, 4), 20261122, quick=quick)


def without_skips(*, quick: bool) -> Iterator[Architecture]:
    """Return layers of different widths, all ranks, with a mask or no stream of one dimension between layers."""

    def draw(dice: Dice) -> Architecture | None:
        depth = dice.number((1, 3))
        widths = dice.numbers((1, 6), depth + 1)
        network = Architecture(
            widths, tuple(dice.number((1, d)) for d in widths[:-1]), dice.number((3, 4)), normalization=SOFTMAX,
            heads=dice.number((1, 3)), causal=dice.chance(0.5), value_ranks=dice.numbers((1, 6), depth),
            embed=dice.number((1, 7)) if dice.chance(0.8) else None,
            unembed=dice.number((1, 7)) if dice.chance(0.8) else None,
        )  # fmt: skip
        proved = network.causal or min(spans(network)[:-1]) >= 2
        return network if proved and network.parameter_count <= (120 if quick else 220) else None

    return distinct(draw, 20 if quick else 120, 20261126)


def two_tokens(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks of two tokens, narrow embeddings of full layers first: there two tokens see less."""
    narrow = ((2, 4, 2, 1, 4, 4), (1, 3, 2, 2, 3, 3)) + (() if quick else ((3, 6, 2, 1, 6, 6), (2, 6, 2, 2, 6, 6)))
    for sizes, causal in product(narrow, (False, True)):
        yield transformer(sizes, 2, causal)
    yield from shapes((2, 2), 20261123, quick=quick)


def rank_is_dimension(network: Architecture, rank: Formula) -> None:
    """Check that the rank modulo a prime is the dimension: a lower bound, it refutes where it exceeds that."""
    found, least = certified_dimension(network), rank(network)
    if least > found.upper:
        raise Refutation(f"{network}: dimension {found.upper} at most, rank of the polynomial map {least} at least")
    if not found.lower == found.upper == least:
        raise Undecided(f"{network}: dimension between {found.lower} and {found.upper}, rank {least} at least")


def as_with_three_tokens(network: Architecture) -> str:
    """Check that the rank of words and blocks exceeds the dimension."""
    found, least = certified_dimension(network), words_and_blocks(network)
    expect(
        least > found.upper,
        f"{network}: dimension {found.upper} at most, rank of words and blocks {least} at least",
        Undecided,
    )
    mask = "causal" if network.causal else "no mask"
    return (
        f"t >= 3 is needed for blocks: n = {network.embed}, d = {network.widths[0]}, h = {network.heads}, {mask}: "
        f"dimension {found.upper} for two tokens, rank of words and blocks {least}"
    )


def three_of_them(network: Architecture) -> str:
    """Return a fault: the same for three tokens."""
    more = replace(network, tokens=3)
    expect(words_and_blocks(more) != certified_dimension(more).upper, f"{more}: three tokens see all blocks")
    return as_with_three_tokens(more)


def walk() -> Iterator[Step]:
    network = transformer((2, 4, 2, 1, 4, 4), 3, True)
    three, rank = certified_dimension(network).value, words_and_blocks(network)
    must(three == rank == 36, "36 on both roads")
    yield Step(
        "Words and blocks",
        r"Multiply a residual network out: $f = \sum_w U W_w E\, x P_w$, over words $W_w$ that pick at most one $V$ "
        r"in each layer. Scores are sums of blocks $E^\top W_a^\top A_{ih} W_b E$. For three tokens or more almost "
        r"every function gives all of these back. So its dimension is the rank of a polynomial map: two layers of "
        r"width four, two words of input.",
        (number("rank of the polynomial map", rank), number("certified dimension", 36)),
    )
    two = replace(network, tokens=2)
    seen, scores = certified_dimension(two).value, words_and_two_token_scores(two)
    must(seen == scores == 34, "34 on both roads")
    yield Step(
        "Two tokens",
        r"Two tokens do not see all blocks: their scores are $\delta^\top A X_2$ with $\delta = X_1 - X_2$, and some "
        r"forms cancel. With these polynomials in the place of blocks the rank is the dimension again.",
        (table(r"\text{rank}", rational([[rank], [scores]]), [r"\text{blocks}", r"\text{scores of two tokens}"]),
         number("certified dimension", 34)),
    )  # fmt: skip
    masked = transformer((1, 3, 2, 2, 3, 3), 2, True)
    free = replace(masked, causal=False)
    counts = [certified_dimension(n).value for n in (masked, free)]
    must(counts == [words_and_two_token_scores(n) for n in (masked, free)] == [27, 29], "27 and 29")
    yield Step(
        "A mask hides more",
        r"One word of input, width three, two layers of two heads. With a mask the first token sees itself only, so "
        r"its stream has no weights of heads in it, and more forms cancel in the scores of the second.",
        (table(r"\dim", rational([[27], [29]]), [r"\text{causal}", r"\text{no mask}"]),),
    )


CLAIM = Claim(
    id="words-and-blocks",
    source="beyond the paper: docs/transformer-fibers.md, Theorems 7 and 11",
    title=(
        "softmax transformers with skip connections: words and blocks, at two tokens words and formal scores, "
        "are what the function determines, for almost all weights"
    ),
    statement=(
        r"t \ge 3,\ (\text{skip, or a mask, or all } f_i \ge 2,\ i < l) \;\Rightarrow\; \left(f_{W'} = f_W"
        r" \Leftrightarrow U' W'_w E' = U W_w E,\ E'^\top W_a'^\top A'_{ih}"
        r" W'_b E' = E^\top W_a^\top A_{ih} W_b E \text{ up to the order of heads}\right)\ \text{for almost all } W,"
        r"\ \dim \mathcal M = \operatorname{rank}(W \mapsto \text{words, blocks});"
        r"\quad t = 2,\ \text{skip}: \text{the same with } \delta^\top A_{ih} X_2 \text{ in the place of blocks}"
    ),
    hypotheses=(
        "$W'$ of the shape of $W$; any $n$, $m$, widths and heads, with embedding and unembedding or without, "
        r"without mask or causal; $f_0 = \min(n, d_0)$, $f_i = \min(d_i, h \min(b_i, f_{i-1}))$. Proved for skip "
        r"connections at every size, and without them at $t \ge 3$ where there is a mask or all $f_i \ge 2$, $i < "
        "l$ (docs/transformer-fibers.md, Theorems 7, 11 and 12). No skip connection, no mask and some $f_i = 1$, "
        "$i < l$, is open, but for the shapes of Corollary 6: there the rank of words and blocks is an upper "
        "bound. Without skip connections nothing is stated at $t = 2$."
    ),
    place=390,
    rests_on=("free-exponentials",),
    walk=WalkThrough("What the function of a transformer determines, without any exponentials.", walk),
    parts=(
        Part(
            "three tokens or more: the rank of words and blocks is the dimension",
            Scope.GENERIC,
            three_tokens,
            partial(rank_is_dimension, rank=words_and_blocks),
            {"the stream has one basis": partial(rank_is_dimension, rank=partial(words_and_blocks, stream_seen=True))},
            certifies=itself,
        ),
        Part(
            "three tokens or more, no skip connections: the rank of words and blocks is the dimension",
            Scope.GENERIC,
            without_skips,
            partial(rank_is_dimension, rank=words_and_blocks),
            {"the stream has one basis": partial(rank_is_dimension, rank=partial(words_and_blocks, stream_seen=True))},
            certifies=itself,
        ),
        Part(
            "two tokens: the rank of words and formal scores is the dimension",
            Scope.GENERIC,
            two_tokens,
            partial(rank_is_dimension, rank=words_and_two_token_scores),
            {
                "two tokens see all blocks": partial(rank_is_dimension, rank=words_and_blocks),
                "a mask hides nothing": partial(
                    rank_is_dimension, rank=lambda n: words_and_two_token_scores(replace(n, causal=False))
                ),
            },
            certifies=itself,
        ),
        Part(
            "two tokens do not see all blocks",
            Scope.GENERIC,
            lambda quick: [
                transformer(sizes, 2, causal)
                for sizes in ((2, 4, 2, 1, 4, 4), (1, 3, 2, 2, 3, 3))
                for causal in (False, True)
                if causal or sizes[0] > 1
            ],
            as_with_three_tokens,
            {"three do not either": three_of_them},
            certifies=itself,
        ),
    ),
)
