"""What claims say of themselves: hypotheses in every form, theorems that are on the pages named, true titles."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from command import run
from walks import walked_once

from lightning_cli.writing.math_text import NO_BREAK, plain, prose
from lightning_cli.writing.mathml import mathml
from lightning_sym import Architecture
from proofs_check import registry
from proofs_check.claim import Claim, Part, Scope, Verdict
from proofs_check.instances import reach
from proofs_check.registry import all_claims, claim_by_id

ROOT = Path(__file__).parents[2]
EACH = pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)


@pytest.fixture(autouse=True)
def _walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "walk_through", walked_once)


def explained(capsys: pytest.CaptureFixture[str], claim: Claim, *form: str) -> str:
    code, out, err = run(capsys, "explain", claim.id, *form)
    assert (code, err) == (0, "")
    return out


def squeezed(text: str) -> str:
    return " ".join(text.replace(NO_BREAK, " ").split())


@EACH
def test_hypotheses_are_readable_in_every_way_of_writing(claim: Claim) -> None:
    text = claim.hypotheses
    assert text.endswith(".")
    assert text.isascii()
    assert text.count("$") % 2 == 0
    for formula in text.split("$")[1::2]:
        assert mathml(formula, "inline")
        for unicode in (True, False):
            line = plain(formula, unicode=unicode)
            assert "\\" not in line
            assert not re.search(r"\b(?:over|set|par|times|hat|dots)", line), line
    words = "".join(text.split("$")[::2])
    assert not set(words) & set("_^&%#{}\\"), "LaTeX takes them for its own"


@EACH
def test_explain_prints_the_hypotheses_and_how_far_each_check_reaches(
    claim: Claim, capsys: pytest.CaptureFixture[str]
) -> None:
    out = squeezed(explained(capsys, claim))
    assert squeezed(prose(claim.hypotheses)) in out
    assert all(squeezed(f"- {p.name} ({p.scope.name}; {reach(p)})") in out for p in claim.parts)
    document = json.loads(explained(capsys, claim, "--json"))
    assert document["hypotheses"] == claim.hypotheses
    assert [(p["name"], p["scope"], p["reach"]) for p in document["parts"]] == [
        (p.name, p.scope.name, reach(p)) for p in claim.parts
    ]
    for form in ("--latex", "--slides"):
        out = explained(capsys, claim, form)
        assert claim.hypotheses in out
        assert all(f"({p.scope.name}; " in out.replace(r"\_", "_") for p in claim.parts)
    page = html.unescape(explained(capsys, claim, "--html"))
    assert all(words in page for words in claim.hypotheses.split("$")[::2])


@EACH
def test_check_gives_the_hypotheses_as_data(claim: Claim, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "--list", "--json", claim.id)
    assert code == 0
    assert json.loads(out)["claims"][0]["hypotheses"] == claim.hypotheses


PARTS = [pytest.param(part, id=f"{claim.id}: {part.name}") for claim in all_claims() for part in claim.parts]


@pytest.mark.parametrize("part", PARTS)
def test_what_is_not_of_every_weight_says_its_range(part: Part) -> None:
    """Of networks the sizes, as the instances have them."""
    for quick in (False, True):
        said = reach(part, quick)
        networks = [found for found in part.instances(quick=quick) if isinstance(found, Architecture)]
        assert re.match(r"[\d,]+ instances?\b", said)
        if networks and part.scope is not Scope.IDENTITY:
            widths = {width for network in networks for width in network.widths}
            tokens = {network.tokens for network in networks}
            assert f"widths {min(widths)}" + (f" to {max(widths)}" if len(widths) > 1 else "") in said
            assert f"tokens {min(tokens)}" + (f" to {max(tokens)}" if len(tokens) > 1 else "") in said


CITED = re.compile(r"(Theorem|Corollary|Proposition|Lemma)s? ((?:\d+(?:, | and )?)+|[A-Z]\b)")


@cache
def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@EACH
def test_theorems_that_are_cited_are_on_the_page(claim: Claim) -> None:
    for text in (claim.source, claim.hypotheses):
        pages = re.split(r"(docs/[\w-]+\.md)", text)
        for name, after in zip(pages[1::2], pages[2::2], strict=True):
            # up to the closing bracket, or the end of the sentence that names the page
            for kind, numbers in CITED.findall(re.split(r"\)|\. ", after)[0]):
                for number in re.findall(r"\w+", numbers.replace("and", " ")):
                    assert f"**{kind} {number}" in page(name), f"{name}: {kind} {number}"


def test_titles_are_listed_as_titles(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "--list")
    assert code == 0
    assert "title" in out.splitlines()[1]
    assert "statement" not in out.splitlines()[1]


@EACH
def test_a_title_says_if_its_sentence_fails(claim: Claim) -> None:
    if claim.expected is not Verdict.HOLDS:
        assert re.search("as printed|as reported|as the paper expects|each with its hypotheses", claim.title)


NEEDED = {
    "softmax-normalizers": ("t >= 2", "V~ not 0", "no form x^T A~_i x, i < l, zero", "positive"),
    "softmax-jets": ("t >= 2", "V~ not 0", "no form x^T A~_i x zero"),
    "corollary-3.3": ("t >= 2",),
    "corollary-3.8": ("t >= 2", "all alpha_i >= 2"),
    "theorem-3.7": ("t >= 2", "V~ not 0", "not skew"),
    "theorem-3.9": ("t >= 2", "S(0) and S'(0) not 0"),
    "corollary-a.2": ("d, t >= 2", "a > 1 or d' > 1"),
    "corollary-a.6": ("d, t >= 2", "rk A = a or a >= d"),
    "words-and-blocks": ("with skip connections", "almost all weights"),
}


@pytest.mark.parametrize("claim_id", NEEDED)
def test_a_title_that_is_a_sentence_has_its_hypotheses(claim_id: str) -> None:
    assert all(words in claim_by_id(claim_id).title for words in NEEDED[claim_id])


BOUNDS: dict[str, Callable[[str], bool]] = {
    "section-4-heads": lambda latex: r"\mathcal M_{\text{lightning}} \le" in latex and r"\text{equal for }" in latex,
    "attention-only-transformers": lambda latex: r"\mathcal M_{\text{lightning}} \le" in latex,
    "rational-normalizer": lambda latex: latex.count(r"\dim \mathcal M \le") == 1,
    "words-and-blocks": lambda latex: r"\text{skip, or a mask, or all } f_i \ge 2" in latex,
    "attention-invariants": lambda latex: r"\text{ is injective for general } f" in latex,
    "conserved-quantities": lambda latex: "one lightning head" in latex,
}


@pytest.mark.parametrize("claim_id", BOUNDS)
def test_equality_is_stated_where_it_is_proved(claim_id: str) -> None:
    assert BOUNDS[claim_id](claim_by_id(claim_id).statement)
