"""`explain` as slides, as a page, step by step, and on the reader's own weights."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command import run
from walks import walked_once

from lightning_sym import Weights, save_weights
from proofs_check import registry
from proofs_check.blackboard.own_weights import LARGEST
from proofs_check.blackboard.step import ShownMatrix
from proofs_check.claim import Claim
from proofs_check.registry import all_claims

EXAMPLES = Path(__file__).parents[2] / "examples"
EACH = pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
LIGHTNING, DEEP = "generic.json", "two_layers.json"
FILES = {
    "theorem-3.2": "rank_one.json", "theorem-3.4-singular": "singular.json", "equation-9": DEEP, "theorem-3.7": DEEP,
    "corollary-3.8": DEEP, "transformer-fibers": "transformer.json",
}  # fmt: skip
SOFTMAX = {
    "form": {"normalization": "softmax", "mask": "none", "skip": False},
    "weights": {"Q1": [[0, 1], [-1, 0]], "K1": [[1, 0], [0, 1]], "V1": [[1, 1], [0, 1]],
                "Q2": [[1, 0], [0, 1]], "K2": [[1, 0], [1, 1]], "V2": [[1, -1]]},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "walk_through", walked_once)


@pytest.fixture
def softmax(tmp_path: Path) -> Path:
    file = tmp_path / "softmax.json"
    file.write_text(json.dumps(SOFTMAX), encoding="utf-8")
    return file


class Page(HTMLParser):
    """Whether tags close in the order in which they open, and what is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not {name for name, _ in attrs} & {"src", "href"}, "the page fetches something"
        self.seen.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@EACH
def test_every_claim_has_a_page(claim: Claim, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", claim.id, "--html")
    assert (code, err) == (0, "")
    page = Page()
    page.feed(out)
    assert not page.open
    assert page.seen.count("section") == len(walked_once(claim.id)[1])
    assert "math" in page.seen
    assert len(out) < 500_000


@EACH
def test_every_claim_has_slides(claim: Claim, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", claim.id, "--slides")
    assert (code, err) == (0, "")
    assert out.startswith(r"\documentclass")
    assert out.isascii()
    assert out.count(r"\begin{frame}") == out.count(r"\end{frame}") == len(walked_once(claim.id)[1]) + 4
    for environment in set(re.findall(r"\\begin\{(\w+)\}", out)):
        assert out.count(rf"\begin{{{environment}}}") == out.count(rf"\end{{{environment}}}"), environment
    assert out.count("{") == out.count("}")
    assert r"\begin{smallmatrix}" not in out.split(r"\begin{document}")[1].split("Check it")[0].split("bmatrix")[-1]


ON = [claim.id for claim in all_claims() if claim.walk is not None and claim.walk.on is not None]


@pytest.mark.parametrize("claim_id", [claim for claim in ON if claim not in ("conjecture-3.10", "softmax-fibers")])
@pytest.mark.parametrize("form", [(), ("--json",), ("--latex",), ("--slides",), ("--html",)], ids=str)
def test_on_the_readers_weights(claim_id: str, form: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    file = EXAMPLES / FILES.get(claim_id, LIGHTNING)
    code, out, err = run(capsys, "explain", claim_id, "--weights", str(file), *form)
    assert (code, err) == (0, "")
    assert claim_id in out
    if form == ("--json",):
        steps = json.loads(out)["steps"]
        assert steps[0]["heading"] == "Your matrices"
        assert len(steps) >= 3


@pytest.mark.parametrize("claim_id", ["conjecture-3.10", "softmax-fibers"])
def test_a_blind_layer_of_the_reader(claim_id: str, softmax: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", claim_id, "--weights", str(softmax))
    assert (code, err) == (0, "")
    assert "skew: blind" in out
    assert "Layer 2" not in out, "nothing is seen behind it"


def test_the_matrices_are_the_readers(tmp_path: Path) -> None:
    """Another number brought along is another number on the board."""
    for entry in (5, 7):
        weights = Weights.of({"Q1": [[1, 2]], "K1": [[3, entry]], "V1": [[1, -1]]})
        _, steps = walked_once("theorem-3.2", weights)
        (attention,) = (s.value for s in steps[1].shown if s.label == "A")
        assert isinstance(attention, ShownMatrix)
        assert list(attention.rows[1]) == [entry, 2 * entry]


def test_the_exchange_is_shown_exactly_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    points = [s.heading for s in walked_once("theorem-3.2", _loaded("rank_one.json"))[1] if "A point" in s.heading]
    assert points == ["A point of component 1", "A point of component 2"]
    points = [s.heading for s in walked_once("theorem-3.2", _loaded("generic.json"))[1] if "A point" in s.heading]
    assert points == ["A point of component 1"]


def _loaded(name: str) -> Weights:
    from lightning_sym import load_weights

    return load_weights(EXAMPLES / name)


@pytest.mark.parametrize(
    ("claim_id", "file", "says"),
    [
        ("theorem-3.9", LIGHTNING, "--weights must be given with one of"),
        ("theorem-3.2", DEEP, "must be given one layer of lightning attention"),
        ("equation-9", LIGHTNING, "two layers or more"),
        ("conjecture-3.10", LIGHTNING, "a softmax network with one head a layer"),
        ("transformer-fibers", "missing.json", "it must be a readable file"),
    ],
)
def test_where_it_does_not_apply_one_line_says_so(
    claim_id: str, file: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "explain", claim_id, "--weights", str(EXAMPLES / file))
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_matrices_that_nobody_could_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = [list(range(LARGEST + 1))]
    save_weights(Weights.of({"Q1": row, "K1": row, "V1": row}), tmp_path / "w.json")
    code, out, err = run(capsys, "explain", "theorem-3.2", "--weights", str(tmp_path / "w.json"))
    assert (code, out) == (2, "")
    assert f"at most {LARGEST} rows and columns, Q1 is 1 x {LARGEST + 1}" in err


def test_waiting_needs_somebody_at_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run(capsys, "explain", "theorem-3.2", "--pause")
    assert (code, out) == (2, "")
    assert "--pause must be given at a terminal" in err
    waits = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.pause", lambda words: waits.append(words))
    code, out, err = run(capsys, "explain", "theorem-3.2", "--pause")
    assert (code, err) == (0, "")
    assert len(waits) == len(walked_once("theorem-3.2")[1])
    code, out, err = run(capsys, "explain", "theorem-3.2", "--pause", "--html")
    assert code == 2


def test_slides_have_an_author_a_date_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "figure_1.pdf"
    picture.write_bytes(b"%PDF-1.4")
    words = ("explain", "equation-9", "--slides")
    code, out, _ = run(capsys, *words, "--author", "A & B", "--picture", str(picture))
    assert code == 0
    assert r"\author{A \& B}" in out
    assert r"\date{\today}" in out
    assert rf"\detokenize{{{picture}}}" in out
    assert r"\date{1 May}" in run(capsys, *words, "--date", "1 May")[1]
    assert r"\author" not in run(capsys, *words)[1]
    for wrong in (("explain", "equation-9", "--author", "A"), (*words, "--picture", "nowhere.pdf")):
        code, out, err = run(capsys, *wrong)
        assert (code, out, err.count("\n")) == (2, "", 1)
