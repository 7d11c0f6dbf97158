r"""Beyond the paper: what the function of a softmax transformer determines.

Theorems 7 and 11 of docs/transformer-fibers.md. Residual layers with any number of heads, an embedding $E$ and an
unembedding $U$ of any width, $A_{ih} = K^\top Q$ and $V_{ih} = O V$. For almost all weights the function determines,
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

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from proofs_check.certificates import itself
from proofs_check.claim import Claim, Part, Refutation, Scope, Undecided
from proofs_check.claims.transformers.polynomial_maps import words_and_blocks, words_and_two_token_scores
from proofs_check.samples import Dice, Range, distinct

Rank = Callable[[Architecture], int]


def transformer(
    sizes: tuple[int, int, int, int, int, int], tokens: int, causal: bool, ends: tuple[bool, bool] = (True, True)
) -> Architecture:
    """Of `n, d, l, h, a, b`; without embedding, or unembedding, where `ends` says so."""
    n, d, depth, h, a, b = sizes
    return Architecture(
        (d,) * (depth + 1), (a,) * depth, tokens, normalization=SOFTMAX, heads=h, value_ranks=(b,) * depth, skip=True,
        causal=causal, embed=n if ends[0] else None, unembed=n if ends[1] else None,
    )  # fmt: skip


def shapes(quick: bool, tokens: Range, seed: int, most: tuple[int, int] = (60, 250)) -> Iterator[Architecture]:
    """Random ones: embeddings narrower and wider than the stream, or none, all ranks, up to three layers and heads."""

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


def three_tokens(quick: bool) -> Iterator[Architecture]:
    """The shapes of the list of exceptions first."""
    for causal in (False, True):
        yield transformer((1, 5, 4, 1, 1, 4), 3, causal)
        yield transformer((2, 4, 2, 1, 4, 4), 3, causal)
    yield from shapes(quick, (3, 4), 20261122)


def two_tokens(quick: bool) -> Iterator[Architecture]:
    """Narrow embeddings of full layers first: there two tokens see less."""
    narrow = ((2, 4, 2, 1, 4, 4), (1, 3, 2, 2, 3, 3)) + (() if quick else ((3, 6, 2, 1, 6, 6), (2, 6, 2, 2, 6, 6)))
    for sizes, causal in product(narrow, (False, True)):
        yield transformer(sizes, 2, causal)
    yield from shapes(quick, (2, 2), 20261123)


def rank_is_dimension(network: Architecture, rank: Rank) -> None:
    """The rank modulo a prime is a lower bound: it refutes where it exceeds the dimension."""
    found, least = certified_dimension(network), rank(network)
    if least > found.upper:
        raise Refutation(f"{network}: dimension {found.upper} at most, rank of the polynomial map {least} at least")
    if not found.lower == found.upper == least:
        raise Undecided(f"{network}: dimension between {found.lower} and {found.upper}, rank {least} at least")


def as_with_three_tokens(network: Architecture) -> str:
    """The rank of words and blocks exceeds the dimension."""
    found, least = certified_dimension(network), words_and_blocks(network)
    if least <= found.upper:
        raise Undecided(f"{network}: dimension {found.upper} at most, rank of words and blocks {least} at least")
    mask = "causal" if network.causal else "no mask"
    return (
        f"t >= 3 is needed for blocks: n = {network.embed}, d = {network.widths[0]}, h = {network.heads}, {mask}: "
        f"dimension {found.upper} for two tokens, rank of words and blocks {least}"
    )


def three_of_them(network: Architecture) -> str:
    """A fault: the same for three tokens."""
    more = replace(network, tokens=3)
    if words_and_blocks(more) == certified_dimension(more).upper:
        raise Refutation(f"{more}: three tokens see all blocks")
    return as_with_three_tokens(more)


CLAIM = Claim(
    id="words-and-blocks",
    source="beyond the paper: docs/transformer-fibers.md, Theorems 7 and 11",
    title="softmax transformers: words and blocks are what the function determines, for almost all weights",
    statement=(
        r"t \ge 3 \;\Rightarrow\; \left(f_{W'} = f_W \Leftrightarrow U' W'_w E' = U W_w E,\ E'^\top W_a'^\top A'_{ih}"
        r" W'_b E' = E^\top W_a^\top A_{ih} W_b E \text{ up to the order of heads}\right)\ \text{for almost all } W;"
        r"\quad t = 2:\ \delta^\top A_{ih} X_2 \text{ in the place of blocks};\quad \dim \mathcal M ="
        r" \operatorname{rank}(W \mapsto \text{words, blocks})"
    ),
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
