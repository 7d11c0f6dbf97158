"""`docs/development/adding.md`: its counts are those of its lists, and the lists have all files that must change."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

import pytest
from command import run

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from proofs_check.checker.verify import KINDS
from proofs_check.registry import all_claims, claims_by_module

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "development" / "adding.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def paths(text: str) -> list[str]:
    return re.findall(r"`((?:[\w-]+/)+[\w.-]+)`", text)


ROWS = {row[0]: row[1] for row in re.findall(r"^\| (an? [^|]+?) \| ([^|]+) \|", PAGE, flags=re.MULTILINE)}
COUNTED = {
    "a claim, with its walk on the blackboard": "A claim",
    "a ring": "A ring",
    "a command": "A command",
    "a theorem that an answer stands on": "A theorem",
    "a picture": "A picture",
    "a live page": "A live page",
    "a kind of attention": "A kind of attention",
    "a kind of certificate": "A kind of certificate",
}
"""By the row of the table, the section with its list."""


@pytest.mark.parametrize("row", COUNTED)
def test_the_table_counts_what_is_listed(row: str) -> None:
    numbers = re.findall(r"^(\d+)\. ", section(COUNTED[row]), flags=re.MULTILINE)
    first = re.split(r" for a certified dimension", ROWS[row])[0]
    assert list(map(int, numbers)) == list(range(1, sum(map(int, re.findall(r"\d+", first))) + 1))


def test_every_file_that_is_named_is_there() -> None:
    made_up = re.compile(r"your_(claim|ring|command|picture|page|kind)\.(py|html|js)")
    for name in paths(PAGE):
        assert made_up.fullmatch(name.rpartition("/")[2]) or (ROOT / name).exists(), name


PAGES = {
    page: (ROOT / "docs" / "development" / page).read_text(encoding="utf-8") for page in ("adding.md", "checkpoints.md")
}


@pytest.mark.parametrize("page", PAGES)
def test_a_table_is_in_the_file_in_which_it_is_said_to_be(page: str) -> None:
    said = re.findall(r"`([A-Z][A-Z_]{3,})`\s+(?:of|in)\s+`([\w/]+/[\w.]+\.py)`", PAGES[page])
    assert len(said) > 2
    for name, file in said:
        assert re.search(rf"^{name}\b *[:=]", (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE), (
            name,
            file,
        )


def test_a_claim_is_named_in_no_other_file() -> None:
    """Where most claims were named, by their ids or their modules, a new one would have to be named as well."""
    ids = {claim.id for claim in all_claims()}
    naming = set()
    for path in [*(ROOT / "proofs_check").rglob("*.py"), *(ROOT / "lightning_cli").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        for names in (ids, claims_by_module()):
            if sum(f'"{name}"' in text for name in names) > len(names) // 2:
                naming.add(path.relative_to(ROOT).as_posix())
    assert naming == set()


def test_a_kind_of_certificate_is_named_in_no_other_file() -> None:
    """Where most kinds are named, a new one would have to be named as well."""
    naming = set()
    for room in ("lightning_sym", "proofs_check", "lightning_cli"):
        for path in [*(ROOT / room).rglob("*.py"), *(ROOT / room).rglob("*.json")]:
            text = path.read_text(encoding="utf-8")
            if sum(f'"{kind}"' in text for kind in KINDS.words()) >= len(KINDS.words()) - 1:
                naming.add(path.relative_to(ROOT).as_posix())
    assert naming == set()


NETWORKS = {
    "plain": Architecture((2, 2, 1), (1, 2), 2),
    "softmax": Architecture((2, 2), (2,), 2, SOFTMAX),
    "two tokens, masked": Architecture((2, 2), (1,), 2, SOFTMAX, causal=True, heads=2),
    "heads": Architecture((2, 2), (1,), 2, heads=2),
    "transformer": Architecture((2, 2, 2), (1, 1), 3, heads=2, value_ranks=(1, 1), skip=True, embed=1, unembed=2),
}


def test_every_place_that_asks_for_options_is_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the way to a certified dimension and its answer."""
    asking: dict[str, set[str]] = defaultdict(set)
    require = Architecture.require

    def watched(self: Architecture, what: str, proved: Collection[str]) -> None:
        frame = sys._getframe(1)
        asking[Path(frame.f_code.co_filename).relative_to(ROOT).as_posix()].add(what)
        require(self, what, proved)

    monkeypatch.setattr(Architecture, "require", watched)
    for network in NETWORKS.values():
        assert "certified" in str(certified_dimension(network, all_bounds=True))
    code, _, _ = run(capsys, "dimension", "--widths", "2,2", "--ranks", "1", "--tokens", "2", "--json")
    assert code == 0
    own = {name for name in asking if ", SHAPED)" in (ROOT / name).read_text(encoding="utf-8")}  # of all that is proved
    assert len(own) > 8
    assert own <= set(paths(section("A kind of attention"))), dict(asking)
