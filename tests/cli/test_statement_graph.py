"""What rests on what: every claim has its place, there are no circles, and each box leads to its statement."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from lightning_cli.writing.mathml import typeset
from lightning_cli.writing.report import graph_svg
from proofs_check.registry import all_claims, levels, supports

RESTS_ON = {claim.id: claim.rests_on for claim in all_claims()}
IDS = list(RESTS_ON)


def test_every_claim_says_what_it_rests_on() -> None:
    """Only two that everything else begins with use no other."""
    assert [claim for claim, below in RESTS_ON.items() if not below] == ["definition-1", "lemma-3.1"]
    for claim, below in RESTS_ON.items():
        assert set(below) <= set(IDS) - {claim}
        assert len(set(below)) == len(below)
        for each in below:
            assert claim in supports(each)


def test_nothing_rests_on_itself() -> None:
    found = levels(IDS)
    for claim, below in RESTS_ON.items():
        assert all(found[each] < found[claim] for each in below)


def test_only_the_nearest_are_named() -> None:
    """What stands below something that is named already is not named again."""

    def below(claim: str) -> set[str]:
        return {e for each in RESTS_ON[claim] for e in ({each} | below(each))}

    for claim, named in RESTS_ON.items():
        for each in named:
            others = {e for other in named if other != each for e in below(other)}
            assert each not in others, f"{claim} names {each}, which stands below another one"


@pytest.mark.parametrize("ids", [IDS, IDS[:5], IDS[3:4]], ids=len)
def test_each_box_leads_to_its_statement(ids: list[str]) -> None:
    drawn = ElementTree.fromstring(graph_svg(ids, dict.fromkeys(ids, "holds"), {i: f"claim-{i}" for i in ids}))  # noqa: S314
    name = "{http://www.w3.org/2000/svg}"
    assert {a.get("href") for a in drawn.iter(f"{name}a")} == {f"#claim-{i}" for i in ids}
    assert len(list(drawn.iter(f"{name}path"))) == sum(e in ids for i in ids for e in RESTS_ON[i])
    boxes = [(float(r.get("x") or 0), float(r.get("y") or 0)) for r in drawn.iter(f"{name}rect")]
    assert len(set(boxes)) == len(ids), "no box hides another one"
    assert all(0 <= x <= float(drawn.get("width") or 0) for x, _ in boxes)


@pytest.mark.parametrize(
    ("plain", "seen"),
    [
        ("rk A~_i >= 2", "rk Ãi ≥ 2"),
        ("alpha_i (2 d_(i-1) - alpha_i)", "αi (2 di-1 - αi)"),
        ("phi = 0 only if V = [[1, -1/2], [0, 3]]", "φ = 0 only if V = [1−1203]"),
        ("a < b & c", "a < b & c"),
        ("3^(l-1) -> x^T A x", "3l−1 → x⊤ A x"),
    ],
)
def test_plain_mathematics_on_a_page(plain: str, seen: str) -> None:
    root = ElementTree.fromstring(f"<p>{typeset(plain)}</p>")  # noqa: S314
    assert "".join(root.itertext()) == seen.replace("Ã", "A\N{COMBINING TILDE}")


def test_no_python_is_left_in_the_titles() -> None:
    for claim in all_claims():
        for text in (claim.title, *(part.name for part in claim.parts)):
            shown = re.sub(r"<[^>]*>", "", typeset(text))
            assert not re.search(r"[A-Za-z]_\w|\^|>=|<=|!=|\balpha\b|\bphi\b", shown), shown
