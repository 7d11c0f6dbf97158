"""Formulas that claims state, at shapes up to width eight and more that are not among the instances of their checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from math import comb, prod
from typing import Any

import pytest

from lightning_sym import SOFTMAX, Architecture, Normalization, variety_degree
from proofs_check.claim import Claim, Part
from proofs_check.claims.learning.depth import AtDepth
from proofs_check.claims.models.decoders import Decoder
from proofs_check.claims.normalized.rational_normalizer import ONE_PLUS_Y
from proofs_check.claims.transformers.below_thresholds import network
from proofs_check.instances import value_of
from proofs_check.registry import all_claims, claim_by_id
from proofs_check.samples import Dice, distinct, random_networks

COUNT = 6
"""Shapes of each formula."""


def drawn(**more: Any) -> Iterator[Architecture]:
    """Random networks, small enough, with a width of seven or more."""
    chosen: dict[str, Any] = {"parameters": (1, 260), "fits": lambda n: max(n.widths) >= 7} | more
    return random_networks(COUNT, 20261127, **chosen)


def bottlenecks(normalization: Normalization | None) -> Iterator[Architecture]:
    """Two layers, ranks of two or more, first and last width seven or eight or more."""
    return drawn(
        depth=(2, 2), width=(2, 7), wider=(0, 4), rank=(2, 3), tokens=(2, 2), normalization=normalization,
        fits=lambda n: max(n.widths) >= 7,
    )  # fmt: skip


def residual(
    tokens: tuple[int, int],
    words: tuple[int, int],
    rows: tuple[int, int],
    normalization: Normalization | None = SOFTMAX,
) -> Iterator[Architecture]:
    """Residual layers of width seven or eight, embedded from so many words and read by so many rows."""

    def draw(dice: Dice) -> Architecture | None:
        d, depth, heads = dice.number((7, 8)), dice.number((1, 2)), dice.number((1, 2))
        a, b = (dice.number((1, 3)),) * depth, (dice.number((1, 3)),) * depth
        n = dice.number(words)
        network = Architecture(
            (d,) * (depth + 1), a, dice.number(tokens), normalization=normalization, skip=True, heads=heads,
            causal=dice.chance(0.5), value_ranks=b, embed=n, unembed=n if rows == (0, 0) else dice.number(rows),
        )  # fmt: skip
        return network if network.parameter_count <= 330 else None

    return distinct(draw, COUNT, 20261128)


def attention(least: int, most: int, **more: Any) -> Iterator[Architecture]:
    """One layer from width seven or eight, values not wider than the output."""
    return drawn(
        value_rank=(1, 3), heads=(1, 4), rank=(1, 7),
        fits=lambda n: n.widths[0] >= 7 and max(least, *n.value_ranks) <= n.widths[1] <= most, **more,
    )  # fmt: skip


def layers_without_skips() -> Iterator[Architecture]:
    return drawn(
        depth=(1, 2), width=(4, 8), value_rank=(2, 4), rank=(1, 3), heads=(1, 2), tokens=(3, 3), causal=True,
        normalization=SOFTMAX,
    )  # fmt: skip


def decoders(sizes: Callable[[Dice], dict[str, Any]]) -> Iterator[Decoder]:
    """Decoders deeper, or wider, than those of the check."""
    return distinct(lambda dice: Decoder(**sizes(dice) | {"m": dice.number((1, 2))}), 4, 20261129)


def of_layers(normalization: Normalization | None, theorem: str) -> list[AtDepth]:
    """Learning coefficients of residual layers with ends."""
    return [AtDepth(network, theorem) for network in residual((2, 4), (8, 9), (8, 9), normalization)]


BEYOND: dict[tuple[str, str], Callable[[], Iterable[Any]]] = {
    ("lemma-3.1", "dimension of the matrices"): lambda: [(d, a) for d in (7, 8) for a in (1, 3, 7, 9)],
    ("corollary-3.3", "the formula, t >= 2 and"): lambda: drawn(fits=lambda n: n.attention_ranks[0] > 1),
    ("corollary-3.8", "the formula under its"): lambda: bottlenecks(None),
    ("conjecture-3.10", "Eq. 16 for bottleneck"): lambda: bottlenecks(SOFTMAX),
    ("rational-normalizer", "S(y) = 1 + y: the dimension"): lambda: bottlenecks(ONE_PLUS_Y),
    ("rational-normalizer", "S(y) = y: one less"): lambda: bottlenecks(SOFTMAX),
    ("section-4-skip", "lightning: the dimension falls"): lambda: drawn(depth=(1, 3), wider=(0, 0), skip=True),
    ("section-4-skip", "softmax: finitely many"): lambda: drawn(wider=(0, 0), skip=True, normalization=SOFTMAX),
    ("section-4-heads", "softmax: the heads"): lambda: attention(1, 8, normalization=SOFTMAX),
    ("section-4-heads", "lightning, d' = 1: random"): lambda: attention(1, 1),
    ("section-4-heads", "lightning, d' >= 2: random"): lambda: attention(2, 8),
    ("proposition-a.5", "rank of L"): lambda: [(4, 1, 2), (5, 2, 2), (6, 1, 2), (4, 4, 2)],
    ("dimension-all-widths", "seeded random"): lambda: drawn(depth=(1, 3), tokens=(1, 4)),
    ("dimension-every-width", "Lemma 1"): lambda: drawn(depth=(1, 3), tokens=(1, 2)),
    ("softmax-normalizers", "Eq. 16"): lambda: drawn(tokens=(2, 2), normalization=ONE_PLUS_Y),
    ("softmax-all-widths", "seeded random"): lambda: drawn(depth=(1, 3), tokens=(1, 4), normalization=SOFTMAX),
    ("attention-only-transformers", "softmax, causal"): lambda: residual((2, 4), (8, 9), (0, 0)),
    ("attention-only-transformers", "lightning, causal"): lambda: residual((2, 4), (8, 9), (0, 0), None),
    ("lightning-layer-sums", "random shapes"): lambda: residual((2, 4), (8, 9), (8, 9), None),
    ("below-thresholds", "sizes below"): lambda: [network(d, n, 1 + n % 2) for n in (5, 6) for d in (1, 2)],
    ("transformer-dimension", "n, m >= d"): lambda: residual((2, 4), (8, 9), (8, 9)),
    ("transformer-dimension", "n < d or m < d"): lambda: residual((3, 4), (2, 6), (6, 9)),
    ("words-and-blocks", "three tokens or more: the"): lambda: residual((3, 4), (2, 6), (2, 9)),
    ("words-and-blocks", "three tokens or more, no"): layers_without_skips,
    ("words-and-blocks", "two tokens: the"): lambda: residual((2, 2), (2, 6), (2, 9)),
    ("learning-coefficient-depth", "softmax"): lambda: of_layers(SOFTMAX, "Theorem 13"),
    ("learning-coefficient-depth", "lightning"): lambda: of_layers(None, "Theorem 14"),
    ("whole-models-dimension", "rotary positions"): lambda: decoders(
        lambda dice: {"layers": 3, "gains": dice.chance(0.5)}
    ),
    ("whole-models-dimension", "gains on queries"): lambda: decoders(
        lambda dice: {"d": 7, "n": 7, "heads": dice.number((1, 2)), "head_norms": True}
    ),
    ("conserved-quantities", "one layer of lightning"): lambda: drawn(rank=(1, 3), value_rank=(1, 3)),
    ("conserved-quantities", "one layer of softmax"): lambda: drawn(rank=(1, 2), normalization=SOFTMAX),
}
"""By claim and how the name of a part begins: other instances of it."""

NUMBERS_OF_ONE_SET = {"figure-1", "figure-3", "figure-1-singular-scheme", "tangent-spaces"}
"""Claims that count something at the shapes that they name, and at no others."""


def part_of(claim_id: str, begins: str) -> Part:
    (found,) = (part for part in claim_by_id(claim_id).parts if part.name.startswith(begins))
    return found


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_every_formula_is_tried_beyond_its_block(claim: Claim) -> None:
    """`degree` has a test of its own below."""
    if re.search(r"\\(?:dim|deg)\b|keeps", claim.statement) and claim.id not in NUMBERS_OF_ONE_SET:
        assert claim.id in {name for name, _ in BEYOND} | {"degree"}


@pytest.mark.parametrize(("claim_id", "begins"), [pytest.param(*key, id=": ".join(key)) for key in BEYOND])
def test_a_formula_holds_beyond_the_block_of_its_check(claim_id: str, begins: str) -> None:
    part = part_of(claim_id, begins)
    known = {value_of(instance) for instance in part.instances(quick=False)}
    within = part.at or (lambda network, weights: [network])
    new = [instance for shape in BEYOND[claim_id, begins]() for instance in within(shape, None)]
    new = [instance for instance in new if value_of(instance) not in known]
    assert len(new) >= 4
    for instance in new:
        part.check(instance)  # raises where it is refuted or undecided


@pytest.mark.parametrize("d", [1, 2, 4, 6, 8])
@pytest.mark.parametrize("d_out", [1, 3, 8])
def test_the_degree_that_is_printed_is_the_integral(d: int, d_out: int) -> None:
    """The first formula of the claim `degree`, typed from its statement."""
    for a in {1, 2, d - 1, d} & set(range(1, d + 1)):
        nu = a * (2 * d - a) - 1
        ranks = prod(comb(d + i, a) for i in range(d - a)), prod(comb(a + i, a) for i in range(d - a))
        stated = comb(nu + d * d_out - 1, d * d_out - 1) * ranks[0] // ranks[1]
        stated //= 2 if a == d_out == 1 and d > 1 else 1
        assert variety_degree(Architecture((d, d_out), (a,), 2)).degree == (stated if d > 1 else 1)
