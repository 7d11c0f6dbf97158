"""What a release says of itself: one version everywhere, numbers of schemas, workflows that name what is there."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from command import run

from lightning_cli.schemas import all_answers
from lightning_sym.version import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OF_0_1 = {"check", "classify", "config", "dimension", "explain", "fiber", "figure", "phi", "same"}
"""Answers that release 0.1.0 had, each with the number 1."""


def names(requirements: list[str]) -> set[str]:
    """The packages of requirements."""
    return {re.split(r"[<>=]", each)[0] for each in requirements}


def test_the_version_is_the_same_in_the_citation_and_the_changelog() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_a_report_names_python_packages_extras_and_the_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--version", "--json"), ("--json", "--version")):
        code, out, err = run(capsys, *words)
        assert (code, err) == (0, "")
        document = json.loads(out)
        assert document["version"] == __version__
        assert {package["name"] for package in document["packages"]} == names(PROJECT["dependencies"])
        assert all(package["version"] for package in document["packages"])
        known = {name: names(needs) for name, needs in PROJECT["optional-dependencies"].items()}
        extras = {extra["name"]: {package["name"] for package in extra["packages"]} for extra in document["extras"]}
        assert all(known[name] == needs for name, needs in extras.items())
        assert {"plot", "report"} <= extras.keys()
    code, out, err = run(capsys, "--json", "check", "--list")
    assert (code, out) == (2, "")
    assert "beside --version" in err


def test_numbers_of_schemas_stand_on_the_page_of_changes() -> None:
    page = (ROOT / "docs" / "from-0.1-to-0.2.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([\w-]+)` \| \w+ \| (\d+) \|", page, flags=re.MULTILINE))
    for answer in all_answers():
        assert str(answer.version) == told.get(answer.name, "1"), answer.name
    assert {answer.name for answer in all_answers()} >= OF_0_1


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "ci").iterdir()), ids=lambda path: path.name)
def test_files_for_other_places_name_what_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert isinstance(yaml.safe_load(text), dict)
    assert not re.search(r"https?://|index-url|password|(?<!id-)token:", text)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"run: make (\w+)", text):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_the_kernel_of_the_extra_is_the_one_that_is_asked_for() -> None:
    kernel = tomllib.loads((ROOT / "kernel" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert PROJECT["optional-dependencies"]["kernel"] == [f"{kernel['name']}=={kernel['version']}"]
