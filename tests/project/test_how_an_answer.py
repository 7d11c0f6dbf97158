"""`docs/development/how-an-answer-is-made.md`: its files and functions are there, and its questions enter them."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from types import ModuleType

import measure_house
import pytest
from command import run

from lightning_sym import Weights, open_checkpoint, same_checkpoints, same_function
from lightning_sym.fibers.comparison import Answer
from lightning_sym.network.gradient_programs import _program
from lightning_sym.symmetries.group import verify_identity

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "development" / "how-an-answer-is-made.md").read_text(encoding="utf-8")
FILE = re.compile(r"`((?:lightning_sym|lightning_cli|proofs_check)/[\w/]+(?:\.py)?)`")
ROW = re.compile(rf"^\| {FILE.pattern} \|(.*)\|$", flags=re.MULTILINE)
NAME = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)?)`")
PRICES = re.compile(r".*/(\w*cost|prices|rates|sizes)\.py")
"""What a step costs, which most steps ask."""


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def module(file: str) -> ModuleType:
    return import_module(file.removesuffix(".py").replace("/", "."))


def is_in(name: str, file: str) -> bool:
    """Whether it is defined there: a function, a class, a constant, a method or an attribute."""
    owner, _, attribute = name.partition(".")
    found = vars(module(file)).get(owner)
    is_imported = (isfunction(found) or isclass(found)) and found.__module__ != module(file).__name__
    return found is not None and not is_imported and (not attribute or hasattr(found, attribute))


FILES = [file for file in dict.fromkeys(FILE.findall(PAGE)) if file.endswith(".py")]
ROWS = ROW.findall(PAGE)


def test_every_file_and_function_that_is_named_is_there() -> None:
    """What a file does is in it; all else in one of the files that are named."""
    assert len(ROWS) > 40
    for file in FILE.findall(PAGE):
        assert (ROOT / file).exists(), file
    for file, words in ROWS:
        for name in NAME.findall(words.split("|")[0]):
            assert is_in(name, file), f"{name} in {file}"
    for name in NAME.findall(PAGE):
        assert any(is_in(name, file) for file in FILES), name


def entered(*calls: Callable[[], object]) -> set[str]:
    return {file for call in calls for file in measure_house.followed(call, str(ROOT))[0]}


def differences(title: str, walk: set[str]) -> tuple[set[str], set[str]]:
    """What the tables of a section lack, and what they have too much."""
    listed = {file for file, _ in ROW.findall(section(title))}
    grounds = set(FILE.findall(section("Grounds")))
    lacking = {file for file in walk - listed - grounds if not PRICES.fullmatch(file)}
    return lacking, listed - walk


def test_a_certified_dimension_enters_the_files_of_its_tables(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = re.findall(r"^\$ lightning-sym (.*)$", section("A certified dimension"), flags=re.MULTILINE)
    (question,) = (each.split() for each in words)
    certificate = str(tmp_path / "dimension.json")

    def ask(*more: str) -> Callable[[], object]:
        return lambda: run(capsys, *question, *more)

    for more in (("--certificate", str(tmp_path / "first.json")), ("--json",)):  # what is imported late is there then
        ask(*more)()
    _program.cache_clear()
    verify_identity.cache_clear()
    walk = entered(ask("--certificate", certificate), ask("--json"))
    assert differences("A certified dimension", walk) == (set(), set())
    assert Path(certificate).exists()


FIRST = Weights.of({"Q1": [[1, 2]], "K1": [[3, 1]], "V1": [[1, -1]]})
SAME = Weights.of({"Q1": [[2, 4]], "K1": [[3, 1]], "V1": [[0.5, -0.5]]})
DIFFERENT = Weights.of({"Q1": [[2, 4]], "K1": [[3, 1]], "V1": [[1, -1]]})


def test_comparisons_enter_the_files_of_their_table() -> None:
    """One is the same, and one differs."""

    def ask(second: Weights, answer: Answer) -> Callable[[], object]:
        def call() -> None:
            found = same_function(FIRST, second, 2)
            assert found.answer is answer
            assert answer.value in str(found)

        return call

    calls = ask(SAME, Answer.SAME), ask(DIFFERENT, Answer.DIFFERENT)
    for call in calls:
        call()
    assert differences("Whether two networks are the same", entered(*calls)) == (set(), set())


def test_checkpoints_enter_the_files_of_their_road() -> None:
    page = (ROOT / "docs" / "development" / "checkpoints.md").read_text(encoding="utf-8")
    road = page.split("\n## The road of `same`\n")[1].split("\n## ")[0].split("|---|---|")[1]
    named = re.findall(r"`([\w/]+\.py)`", road)
    listed = [name if "/" in name else f"lightning_sym/checkpoints/{name}" for name in named]
    folder = ROOT / "examples" / "checkpoints"

    def call() -> None:
        assert same_checkpoints(*(open_checkpoint(folder / name) for name in ("model", "rewritten"))).symmetry

    call()
    walk, grounds = entered(call), set(FILE.findall(section("Grounds")))
    assert len(listed) == len(set(listed))
    assert walk - grounds == set(listed)


def test_what_a_table_lacks_or_has_too_much_is_found() -> None:
    listed = {file for file, _ in ROW.findall(section("Whether two networks are the same"))}
    other = "lightning_sym/fibers/fiber.py"
    less = min(listed)
    assert differences("Whether two networks are the same", listed - {less} | {other}) == ({other}, {less})
    assert is_in("Comparison.tried", "lightning_sym/fibers/comparison.py")
    assert not is_in("same_functions", "lightning_sym/fibers/same_function.py")
    assert not is_in("Weights", "lightning_sym/fibers/same_function.py")  # it is imported there
