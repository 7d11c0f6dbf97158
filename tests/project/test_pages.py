"""The pages: every example runs and prints what its page says, what is cited is there, what is made is whole."""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import click
import draw_house
import made_pages
import pytest
from grouped import grouped
from refresh_pages import PAGES, PICTURES, ROOT, Example, Session, blocks, drawn, examples, refreshed, shown, steady
from unchecked import run_claims_unchecked

from lightning_cli.main import COMMANDS, module_of
from lightning_sym import load_weights
from proofs_check.checker import verify
from proofs_check.instances import reach
from proofs_check.registry import all_claims

DOCS = ROOT / "docs"
NAMES = {str(page.relative_to(ROOT)): page for page in PAGES}
WITH_EXAMPLES = [name for name, page in NAMES.items() if any(examples(page.read_text(encoding="utf-8")))]

# what a block may be, and who looks after it
LANGUAGES = {
    "console": "run, and compared with what it prints",
    "python": "run, and compared with the block behind `prints`",
    "json": "read as JSON",
    "sh": "`make` and `lightning-sym` are looked up; it changes a machine, or takes long",
    "text": "no program: a drawing, or figures with the date and machine they were taken on",
    "bibtex": "no program",
    "yaml": "no program: a file of another repository",
    "{code-block}": "run by a test of its own, with what stands in for a library that is not there",
    "{toctree}": "the site's table of contents, checked by `make docs`",
    "{eval-rst}": "the reference of Python names, checked by `make docs`",
}


@pytest.fixture(autouse=True)
def _no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


def text(name: str) -> str:
    return NAMES[name].read_text(encoding="utf-8")


# ---- examples


def complaint(example: Example, found: str) -> str:
    """How what an example prints differs from what its page says; empty if it does not."""
    expected, printed = steady(example.printed), steady(shown(example.printed, found))
    if expected == printed:
        return ""
    lines = difflib.unified_diff(expected, printed, "the page", "the program", lineterm="")
    return "\n".join([f"line {example.line}: {example.source.strip()}", *lines])


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_print_what_the_page_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proofs_check.run.run_claims", run_claims_unchecked)  # all claims are run by their own test
    session = Session(tmp_path)
    wrong = [told for example in examples(text(name)) if (told := complaint(example, session.run(example)))]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_what_their_command_draws(name: str, tmp_path: Path) -> None:
    picture = ROOT / name
    assert drawn(PICTURES[name], Session(tmp_path), picture.suffix) == picture.read_bytes()
    assert set(PICTURES) >= {str(p.relative_to(ROOT)) for p in (DOCS / "pictures").iterdir()}


def test_most_kinds_of_pages_have_examples() -> None:
    for folder in ("tutorials", "how-to", "reference", "explanation"):
        assert any(name.startswith(f"docs/{folder}/") for name in WITH_EXAMPLES), folder
    assert "README.md" in WITH_EXAMPLES


def test_an_example_that_prints_something_else_is_seen(tmp_path: Path) -> None:
    page = "```console\n$ lightning-sym --version\nlightning-sym 0\n```\n\n```python\nprint(1 + 1)\n```\n"
    session = Session(tmp_path)
    told = [complaint(example, session.run(example)) for example in examples(page)]
    assert "-lightning-sym 0" in told[0]
    assert "+2" in told[1]


def test_refreshing_keeps_what_is_right_and_writes_what_is_not(tmp_path: Path) -> None:
    page = "A.\n\n```console\n$ cat examples/config.json\nx\n...\nx\n```\n"
    page += "\n```python\nprint(7)\n```\n\nprints\n\n```text\n8\n```\n"
    new = refreshed(page, Session(tmp_path))
    assert new == page.replace("\nx\n...\nx\n", "\n{\n...\n}\n").replace("8\n", "7\n")


def test_pages_run_no_other_programs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not 'rm'"):
        Session(tmp_path).run(Example("console", "rm -r examples", "", 0, 1))


@grouped("name", NAMES, by=lambda name: str(Path(name).parent))
def test_every_block_says_what_it_is(name: str, tmp_path: Path) -> None:
    page = text(name)
    for block in blocks(page):
        language = block.language.split()[0] if block.language else ""
        assert language in LANGUAGES, f"{name}, line {block.line}: {language!r}"
        if language == "json":
            assert json.loads(block.text)
            if '"Q1"' in block.text:
                (tmp_path / "weights.json").write_text(block.text, encoding="utf-8")
                load_weights(tmp_path / "weights.json")
    assert page.count("\n```") % 2 == 0, "a fence is not closed"


def _command(name: str) -> click.Command:
    command: click.Command = module_of(name).command
    return command


@grouped("name", NAMES, by=lambda name: str(Path(name).parent))
def test_commands_that_are_named_exist_with_their_options(name: str) -> None:
    page = text(name)
    typed = re.findall(r"`lightning-sym ([^`]+)`", page) + re.findall(r"^lightning-sym (.+)$", page, flags=re.MULTILINE)
    for words in map(shlex.split, typed):
        if words[0].startswith("-"):
            continue
        assert words[0] in COMMANDS, f"{name}: lightning-sym {words[0]}"
        known = {spelling for parameter in _command(words[0]).params for spelling in parameter.opts} | {"--help"}
        assert {word for word in words if word.startswith("--")} <= known, f"{name}: {words}"
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = re.findall(r"`make ([a-z-]+)`", page)
    named += [
        target
        for block in blocks(page)
        if block.language == "sh"
        for target in re.findall(r"^make ([\w-]+)", block.text)
    ]
    assert set(named) <= targets, name


# ---- the README


def test_the_readme_is_one_page() -> None:
    readme = text("README.md")
    assert len(readme.splitlines()) <= 180
    assert len(readme.encode()) <= 10_000
    assert "](docs/pictures/" in readme
    assert f"\n{len(all_claims())} of {len(all_claims())} claims as expected, " in readme  # lines above it are left out


@grouped("name", NAMES, by=lambda name: str(Path(name).parent))
def test_links_to_files_lead_somewhere(name: str) -> None:
    no_links = r"^(`{3,}).*?^\1$|^    [^\n]*$|`[^`\n]+`"  # what only looks like one, in code
    page = re.sub(no_links, "", text(name), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", page):
        if "://" not in target and not target.startswith("#"):
            assert (NAMES[name].parent / target.partition("#")[0]).exists(), f"{name}: {target}"


@grouped("name", NAMES, by=lambda name: str(Path(name).parent))
def test_files_that_are_named_exist(name: str) -> None:
    for path in re.findall(r"`((?:\w+/)+[\w.-]*\.\w+)`", text(name)):
        if not re.search(r"your_|CHAPTER|^DIR/|^build/", path):
            assert (ROOT / path).exists() or (NAMES[name].parent / path).exists(), f"{name}: {path}"


# ---- what is cited by page and number

CITED = re.compile(
    r"docs/([\w-]+(?:/[\w-]+)*\.md)`?(?:,? \(?(Theorem|Proposition|Lemma|[Ss]ection) ([0-9]+(?:\.[0-9]+)*|[A-Z])\b)?"
)
SOURCES = [
    path
    for pattern in ("**/*.py", "**/*.md", "**/*.json", "*.toml", "*.cff")
    for path in sorted(ROOT.glob(pattern))
    if not {".venv", "build", "corpus"} & set(path.relative_to(ROOT).parts)
]


def citations(source: str) -> set[tuple[str, str, str]]:
    """Page, kind and number of everything cited; the latter two empty where a page is cited as a whole."""
    return set(CITED.findall(re.sub(r"\s*\n\s*(?:#\s*)?", " ", source)))


def missing(cited: tuple[str, str, str]) -> str:
    """Why a citation does not resolve; empty if it does."""
    page, kind, number = cited
    path = DOCS / page
    if not path.is_file():
        return f"no page docs/{page}"
    if not kind:
        return ""
    if kind.lower() == "section":
        there = rf"^#+ {re.escape(number)}\.? "
    else:
        there = rf"^\*\*{kind} {number}(?: \([^)]*\))?\.\*\*"
    found = len(re.findall(there, path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    return "" if found == 1 else f"docs/{page} has {kind} {number} {found} times"


def test_what_code_and_pages_cite_is_there() -> None:
    cited = {one: path for path in SOURCES for one in citations(path.read_text(encoding="utf-8"))}
    wrong = [f"{path.relative_to(ROOT)}: {told}" for one, path in cited.items() if (told := missing(one))]
    assert not wrong, "\n".join(wrong)
    assert {kind for _, kind, _ in cited} >= {"Theorem", "Proposition", "Lemma", ""}


def test_what_certificates_cite_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    good = sorted((ROOT / "tests" / "corpus" / "good").glob("*.json"))
    assert verify.main(list(map(str, good))) == 0
    cited = citations(capsys.readouterr().out)
    assert not [told for one in cited if (told := missing(one))]
    assert len(cited) >= 4


def test_a_citation_that_leads_nowhere_is_seen() -> None:
    assert citations("see `docs/every-width.md`,\n# Theorem 77.") == {("every-width.md", "Theorem", "77")}
    assert missing(("every-width.md", "Theorem", "77"))
    assert missing(("no-such-page.md", "", ""))
    assert not missing(("every-width.md", "Theorem", "2"))
    assert not missing(("transformers.md", "section", "7"))
    assert missing(("transformers.md", "section", "77"))


# ---- what is made from the program


def test_everything_made_is_asked_for_on_one_page() -> None:
    asked = re.findall(r"<!-- made: ([\w.-]+) -->", "\n".join(map(text, NAMES)))
    assert sorted(asked) == sorted(made_pages.PIECES)


def made_anew(name: str) -> str:
    """A page as the site has it: in a process of its own, for commands keep the help options of their first call."""
    script = "import sys, made_pages; sys.stdout.write(made_pages.made(sys.stdin.read()))"
    folders = os.pathsep.join(str(ROOT / name) for name in ("docs/_tools", "scripts", "."))
    environment = os.environ | {"PYTHONPATH": folders, "PYTHONIOENCODING": "utf-8"}
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, input=text(name), env=environment, capture_output=True, encoding="utf-8", check=True)
    return done.stdout


def test_every_command_and_option_is_in_the_reference() -> None:
    page = made_anew("docs/reference/commands.md")
    assert page.count("-h, --help") == len(COMMANDS) + 1
    for name in COMMANDS:
        assert f"\n## {name}\n" in page
        for option in (found for found in _command(name).params if isinstance(found, click.Option)):
            assert all(spelling in page for spelling in option.opts)


def test_every_claim_part_and_mutant_is_in_the_reference() -> None:
    page = made_pages.made(text("docs/reference/claims.md")).replace(r"\|", "|")
    for claim in all_claims():
        assert f"\n## {claim.id}\n" in page
        assert claim.hypotheses in page
        for part in claim.parts:
            assert f"| {part.name} | {part.scope.name} | {reach(part)} | {part.expected.value} |" in page
            assert all(mutant in page for mutant in part.mutants)


def test_links_of_pages_beside_the_code_are_turned() -> None:
    page = made_pages.made("<!-- made: README.md -->")
    assert "](tutorials/your-network.md)" in page
    assert "](docs/" not in page


def test_the_house_stands() -> None:
    drawn = draw_house.house()
    boxes = ElementTree.fromstring(drawn.svg).findall("{*}g")  # noqa: S314 - our own picture
    graph = draw_house.arrows()
    assert len(boxes) == len(graph) >= 20
    rows = draw_house.floors(graph)
    height = {room: floor for floor, row in enumerate(rows) for room in row}
    assert all(height[room] > height[other] for room, others in graph.items() for other in others)
    assert "lightning_sym.rings" in graph["lightning_sym.network"]
    assert not graph["proofs_check.checker"]
    assert "lightning_cli.commands" in graph["lightning_cli.main"], "commands are imported by name"
    assert "proofs_check.claims" in graph["proofs_check.registry"], "claims are imported by name"


def test_every_public_name_is_in_the_reference() -> None:
    import lightning_sym

    named = set(re.findall(r"^\.\. auto\w+:: (\w+)$", text("docs/reference/python.md"), flags=re.MULTILINE))
    assert named | {"__version__"} >= set(lightning_sym.__all__)
    assert named <= set(lightning_sym.__all__)
