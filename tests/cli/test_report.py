"""`check --report DIR`: a page and a table that are whole, complete, and stand alone."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command import run
from walks import walked_once

from lightning_cli.writing import report
from lightning_cli.writing.math_text import latex_text
from lightning_cli.writing.mathml import formula_lines, mathml, typeset
from lightning_cli.writing.report import as_html
from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.version import __version__
from proofs_check import registry
from proofs_check.claim import Claim, Part, Scope, Verdict
from proofs_check.registry import all_claims, claim_by_id
from proofs_check.run import ClaimResult, PartResult

NASTY = r"""a < b & c > "d" _ % # \ {x} ^ ~ | ' </style>"""


@pytest.fixture(autouse=True)
def _walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "walk_through", walked_once)


def result_of(claim: Claim, verdict: Verdict | None = None, error: str | None = None) -> ClaimResult:
    """A made-up result, every part with the same verdict."""
    parts = tuple(
        PartResult(
            part.name,
            part.scope,
            part.expected,
            verdict or part.expected,
            1234,
            f"witness of {part.name}" if (verdict or part.expected) is not Verdict.HOLDS else None,
            (f"finding of {claim.id}",),
            (f"tally of {claim.id} & more",),
            {"first": f"an instance <1> of {claim.id}", "last": "another"},
        )
        for part in claim.parts
    )
    found = None if error else (verdict or claim.expected)
    return ClaimResult(claim.id, claim.expected, found, parts, instances=77, seconds=1.5, error=error)


RESULTS = {claim.id: result_of(claim) for claim in all_claims()}
PART = Part(NASTY, Scope.INSTANCES, lambda quick: [1], lambda instance: None)
STRANGE = Claim("strange", NASTY, NASTY, r"\alpha < \beta", (PART,))


def parsed(text: str) -> ElementTree.Element:
    """Our own page, read as XML; fails unless it is well-formed."""
    return ElementTree.fromstring(text)  # noqa: S314


class Links(HTMLParser):
    """Collects what a page points to and what can be pointed at."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in {"src", "href", "data", "action", "poster", "srcset"}:
                self.links.append(value or "")
            if name == "id":
                self.anchors.add(value or "")


def test_the_page_is_well_formed_and_stands_alone() -> None:
    page = as_html(all_claims(), RESULTS)
    parsed(page)
    links = Links()
    links.feed(page)
    assert links.links
    assert all(link.startswith("#") for link in links.links), "nothing is loaded from anywhere"
    assert {link[1:] for link in links.links} <= links.anchors
    assert not links.tags & {"script", "link", "img", "iframe"}
    assert "url(" not in page
    assert "@import" not in page


def on_the_page(text: str) -> str:
    """A line of the program as the page's text has it."""
    return " ".join("".join(parsed(f"<p>{typeset(text)}</p>").itertext()).split())


def test_the_page_says_everything_about_every_claim() -> None:
    page = as_html(all_claims(), RESULTS, quick=True)
    root = parsed(page)
    text = " ".join("".join(root.itertext()).split())
    assert __version__ in text
    assert f"{len(RESULTS)} of {len(RESULTS)} claims as expected" in text
    for claim in all_claims():
        (section,) = (node for node in root.iter() if node.get("id") == f"claim-{claim.id}")
        words = " ".join("".join(section.itertext()).split())
        assert f"lightning-sym check {claim.id} --quick" in words
        assert f"finding of {claim.id}" in words
        assert "1.5 s" in words
        assert f"tally of {claim.id} & more" in words
        assert f"first: an instance <1> of {claim.id}, last: another" in words
        for part in claim.parts:
            assert on_the_page(part.name) in words
            assert part.scope.value in words
            if part.expected is Verdict.REFUTED:
                assert on_the_page(f"witness of {part.name}") in words
        assert any(node.tag.endswith("}math") for node in section.iter())
    found = text.split("What the checks found")[1]
    assert "tally of" not in found.split("The claims")[0]
    assert all(f"finding of {claim.id}" in found for claim in all_claims())


@pytest.mark.parametrize("verdict", [Verdict.REFUTED, Verdict.UNDECIDED, None])
def test_what_went_wrong_is_shown(verdict: Verdict | None) -> None:
    error = None if verdict else 'Traceback:\n  File "/home/somebody/x.py"\nZeroDivisionError: division by zero\n'
    claim = all_claims()[0]
    page = as_html([claim], {claim.id: result_of(claim, verdict, error)})
    assert "0 of 1 claims as expected" in page
    if verdict is None:
        assert "ZeroDivisionError" in page
        assert "somebody" not in page
    else:
        assert verdict.value in page
        assert "expected HOLDS" in page
        assert "witness of" in page


def test_an_empty_result_has_no_findings() -> None:
    page = as_html([STRANGE], {"strange": ClaimResult("strange", Verdict.HOLDS, None, (), 0, 0.0, "x\nBad: y")})
    assert "Nothing beyond the verdicts" in page


def test_special_characters_are_escaped() -> None:
    results = {"strange": result_of(STRANGE)}
    page = as_html([STRANGE], results)
    assert NASTY in "".join(parsed(page).itertext())
    table = report.as_latex([STRANGE], results)
    assert r"a \textless{} b \& c \textgreater{}" in table
    assert r"\_ \% \# \textbackslash{} \{x\} \textasciicircum{} \textasciitilde{} \textbar{}" in table


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_every_statement_converts(claim: Claim) -> None:
    lines = formula_lines(claim.statement)
    assert lines
    for line in lines:
        assert line.count("{") == line.count("}")
        assert mathml(line).startswith("<math")


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{for all } \operatorname{rk} \tilde A_i^\top \ge 2 \quad \exists!\, C \in GL_a",
        r"\begin{aligned} a &= b \\ c &= d \end{aligned}",
        r"\Big\{ \mathcal M : \dim \mathcal M = \min(a, d) \Big\}",
        r"\left(\begin{smallmatrix} 0 & 1 \\ -1 & 0 \end{smallmatrix}\right)",
        r"\begin{cases} a & \text{if } b \\ c & \text{else} \end{cases}",
        r"\overline{\mathcal M} \setminus \mathcal M, \ \mathbb{P}(A) \iff \lvert x \rvert \le \tfrac{1}{2}",
        r"\underbrace{x}_{y}, \ \prod_{n=1}^{l} \lambda_i^{3^{l-i}}, \ \{a\} \mid b",
    ],
)
def test_what_statements_may_use(latex: str) -> None:
    parsed(mathml(latex))


def test_an_unknown_macro_is_an_error_of_the_program() -> None:
    with pytest.raises(ProgramError, match="must convert to MathML"):
        mathml(r"\nosuchmacro x")


def test_the_table_has_a_row_for_every_claim_and_part() -> None:
    table = report.as_latex(all_claims(), RESULTS)
    refuted = [p for claim in all_claims() for p in claim.parts if p.expected is Verdict.REFUTED]
    assert refuted
    assert table.count("REFUTED, as expected") == table.count("REFUTED") >= len(refuted)
    assert table.count(r"\begin{longtable}") == table.count(r"\end{longtable}") == 1
    for claim in all_claims():
        assert rf"\texttt{{{latex_text(claim.id)}}}" in table
        for part in claim.parts:
            assert latex_text(part.name) in table
    assert table.count("1234 &") == sum(len(claim.parts) for claim in all_claims() if len(claim.parts) > 0)
    for line in table.splitlines():
        if line.endswith((r"\\*", r"\\[4pt]")):
            assert len(re.findall(r"(?<!\\)&", re.sub(r"\$[^$]*\$", "", line))) == 3


def test_a_whole_run_writes_both_files_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "deep" / "er"
    code, out, err = run(capsys, "check", "definition-1", "--quick", "--json", "--report", str(target))
    assert code == 0
    (claim,) = json.loads(out)["claims"]
    assert claim["latex"] == claim_by_id("definition-1").statement
    assert all(part["examples"]["first"] and part["tallies"] == [] for part in claim["parts"])
    assert err == f"report: {target / 'report.html'}\n"
    assert sorted(path.name for path in target.iterdir()) == ["report.html", "report.tex"]
    page = (target / "report.html").read_text(encoding="utf-8")
    parsed(page)
    assert "lightning-sym check definition-1 --quick" in page
    assert str(tmp_path) not in page
    assert (target / "report.html").stat().st_mode & 0o444


@pytest.fixture
def nothing_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad input is refused before the first check."""

    def refuse(*_: object) -> None:
        pytest.fail("the checks were started")

    monkeypatch.setattr("proofs_check.run.run_claims", refuse)


@pytest.mark.usefixtures("nothing_may_run")
@pytest.mark.parametrize("place", ["file", "file/below", "taken", "x" * 300, "/proc/x", "/proc/x/y"])
def test_a_directory_that_cannot_be_one(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "taken" / "report.html").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    code, out, err = run(capsys, "check", "--quick", "--report", str(tmp_path / place))
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.usefixtures("nothing_may_run")
def test_the_extra_is_asked_for_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "latex2mathml", None)
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    code, out, err = run(capsys, "check", "--report", str(tmp_path / "new"))
    assert (code, out) == (2, "")
    assert err == "error: a page with formulas needs the extra `report`: pip install latex2mathml\n"
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("nothing_may_run")
def test_a_list_is_not_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "check", "--list", "--report", str(tmp_path))
    assert code == 2
    assert "--report" in err


@pytest.mark.parametrize("step", ["pathlib.Path.write_text", "os.replace"])
def test_a_disk_that_fails_leaves_nothing_behind(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "report.html").write_text("the old one")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(step, full)
    with pytest.raises(BadInput, match="No space left"):
        report.write_report(tmp_path, [STRANGE], {"strange": result_of(STRANGE)}, quick=False)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "the old one"
