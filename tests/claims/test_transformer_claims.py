"""Claims about heads, skip connections and embeddings: witnesses that are generic, formulas beyond their block."""

from __future__ import annotations

import re
from ast import literal_eval
from dataclasses import replace
from functools import partial

import pytest

from lightning_sym import Architecture, CertifiedDimension, certified_dimension
from lightning_sym.errors import ProgramError
from lightning_sym.exact.rational import rank
from lightning_sym.rings.arrays import exact_matrix
from proofs_check.claim import Part, Undecided, Verdict
from proofs_check.claims.transformers import section_4_heads
from proofs_check.claims.transformers.section_4_heads import (
    NARROW_ROWS,
    all_heads_free,
    certified,
    formula,
    network_of,
    one_output,
)
from proofs_check.registry import claim_by_id
from proofs_check.run import run_part
from proofs_check.samples import Dice, distinct, random_networks

RANDOM = [
    pytest.param(part, id=f"{claim}: {part.name}")
    for claim in ("section-4-heads", "section-4-skip", "attention-only-transformers")
    for part in claim_by_id(claim).parts
    if "random shapes" in part.name
]


def test_each_formula_of_these_claims_has_random_shapes() -> None:
    assert len(RANDOM) == 3 + 2 + 2


@pytest.mark.parametrize("part", RANDOM)
def test_random_shapes_lie_beyond_the_block_where_the_formula_was_found(part: Part) -> None:
    full, quick = list(part.instances(quick=False)), list(part.instances(quick=True))
    assert full == list(part.instances(quick=False))
    assert len(set(full)) == len(full) >= 40
    assert max(network.widths[0] for network in full) == 8
    assert sum(network.widths[0] > 4 for network in full) >= len(full) // 3
    assert len({network.tokens for network in full}) > 1
    assert 0 < len(quick) < len(full)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_witness_against_one_to_one_has_full_ranks(depth: int) -> None:
    part = claim_by_id("section-4-skip").parts[0]
    network = Architecture((2,) * (depth + 1), (2,) * depth, 2, skip=True)
    result = run_part(replace(part, instances=lambda quick: [network]), quick=True)
    assert result.verdict is Verdict.REFUTED
    a, v, a_moved, v_moved = re.findall(r"[AV] = (\[\[.*?\]\])", result.witness or "")
    assert [rank(exact_matrix(literal_eval(m))) for m in (a, v, a_moved)] == [2, 2, 2]
    assert v_moved != v
    assert "(rk A = 2, rk V = 2)" in (result.witness or "")


def test_the_formula_without_what_row_spaces_share_is_refuted() -> None:
    part = Part(
        "", claim_by_id("section-4-heads").parts[0].scope, lambda quick: map(network_of, NARROW_ROWS), certified
    )
    old = partial(certified, stated=partial(one_output, pairs=False))
    assert run_part(replace(part, check=partial(certified, stated=one_output)), quick=True).verdict is Verdict.HOLDS
    result = run_part(replace(part, check=old), quick=True)
    assert (result.verdict, result.instances) == (Verdict.REFUTED, 1)
    assert (result.witness or "").endswith("found 49, stated 50")


def test_more_heads_count_until_all_forms_are_filled() -> None:
    """At 233 heads the Jacobian has rank 10,252 modulo 4194301, which rescalings alone allow; 37 seconds, not here."""
    found = [formula((12, 11, 1, h, 1)) for h in range(1, 300)]
    assert found == [min(all_heads_free((12, 11, 1, h, 1)) - h, 11 * 12 * 78) for h in range(1, 300)]
    assert found[232] == 10252


def test_draws_come_from_the_seed_and_none_twice() -> None:
    def draw(dice: Dice) -> int | None:
        number = dice.number((1, 40))
        return number if number % 2 else None

    numbers = list(distinct(draw, 20, seed=5))
    assert sorted(numbers) == list(range(1, 40, 2))
    assert numbers == list(distinct(draw, 20, seed=5)) != list(distinct(draw, 20, seed=6))
    with pytest.raises(ProgramError, match="21 random shapes must be found, there are 20"):
        list(distinct(draw, 21, seed=5))


def test_random_networks_keep_their_limits() -> None:
    networks = list(
        random_networks(
            60, 3, depth=(2, 3), width=(2, 6), rank=(1, 5), tokens=(1, 3), heads=(2, 3), value_rank=(1, 2),
            wider=(0, 0), parameters=(50, 250), fits=lambda n: n.widths[0] != 4, skip=True, causal=True, embed=3,
        )
    )  # fmt: skip
    assert {n.depth for n in networks} == {2, 3}
    assert {n.widths[0] for n in networks} <= {2, 3, 5, 6}
    assert {n.heads for n in networks} == {2, 3}
    assert {r for n in networks for r in n.value_ranks or ()} == {1, 2}
    assert {n.tokens for n in networks} == {1, 2, 3}
    assert all(50 <= n.parameter_count <= 250 and n.skip and n.causal and n.embed == 3 for n in networks)
    assert all(len(set(n.widths)) == 1 for n in networks)


def test_a_block_with_an_undecided_shape_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    def loose(network: Architecture) -> CertifiedDimension:
        found = certified_dimension(network)
        return replace(found, upper=found.upper + (section_4_heads.shape_of(network)[2:] == (1, 2, 1)))

    assert section_4_heads.territory((2, 2, 2)).endswith("8 shapes certified, all as stated; none undecided")
    monkeypatch.setattr(section_4_heads, "certified_dimension", loose)
    with pytest.raises(Undecided, match=r"1 undecided \(a, h, b = \(1, 2, 1\): "):
        section_4_heads.territory((2, 2, 2))
