"""Every command without a single optional package: it answers, or names in one line the extra that it needs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from refresh_pages import PAGES, ROOT, examples, shown, steady

from lightning_cli.main import COMMANDS

EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
PACKAGES = {re.split(r"[<>=]", need)[0].replace("-", "_") for needs in EXTRAS.values() for need in needs} | {"dask"}

# Python starts every process with this, those that a command starts too
BLOCKED = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(PACKAGES)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""

# all of these in one process, as fast as a page's tests
RUN = """
import contextlib, io, json, shlex, shutil, subprocess, sys
from lightning_cli.main import main
from lightning_sym.errors import MissingExtra

def ran(words):
    if words[0] == "python":
        done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr
    if words[0] == "cp":
        shutil.copy(*words[1:])
        return 0, "", ""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv, code = words, None
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        out.flush()
    return code, out.buffer.getvalue().decode(), err.getvalue()

def executed(source, names):
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(source, names)
    except MissingExtra as error:
        return 2, "", f"error: {error}\\n"
    return 0, out.getvalue(), ""

names = {"__name__": "__main__"}
given = json.load(sys.stdin)
print(json.dumps([ran(shlex.split(x)) if kind == "console" else executed(x, names) for kind, x in given]))
"""

NEEDED = re.compile(r"error: [^\n]+ needs the extra `(\w+)`: pip install (\w+)\n")


def results(sources: list[tuple[str, str]], folder: Path) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of what is typed in a folder that holds the examples."""
    (folder / "without").mkdir()
    (folder / "without" / "sitecustomize.py").write_text(BLOCKED)
    here = folder / "here"
    here.mkdir()
    for name in ("examples", "proofs_check"):
        (here / name).symlink_to(ROOT / name)
    environment = os.environ | {"PYTHONPATH": str(folder / "without")}
    environment.pop("COLUMNS", None)
    given = json.dumps(sources)
    words = [sys.executable, "-c", RUN]
    done = subprocess.run(words, input=given, env=environment, cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[tuple[int, str, str]] = json.loads(done.stdout)
    return found


def extra_asked_for(code: int, out: str, err: str) -> str | None:
    """The extra that an answer asks for, if it is one that holds the package; a traceback fails."""
    assert code != 4, err
    assert "ModuleNotFoundError" not in err
    assert "No module named" not in err
    if "extra" not in err:
        return None
    found = NEEDED.fullmatch(err)
    assert found, err
    assert (code, out) == (2, "")
    assert any(need.startswith(found[2]) for need in EXTRAS[found[1]]), err
    return found[1]


READ = [page for page in PAGES if page.name == "README.md" or page.parent.name == "how-to"]
WITH_EXAMPLES = [page for page in READ if any(examples(page.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
def test_examples_print_what_the_page_says_or_name_an_extra(page: Path, tmp_path: Path) -> None:
    own = re.compile(rf"^(?:from|import) (?:{'|'.join(PACKAGES)})\b", re.MULTILINE)  # tests that readers write
    every = examples(page.read_text(encoding="utf-8"))
    given = [one for one in every if not own.search(one.source) and not one.source.startswith("cat ")]
    found = results([(one.kind, one.source) for one in given], tmp_path)
    never_written: set[str] = set()
    for one, result in zip(given, found, strict=True):
        words = one.source.split()
        if never_written & {*words} or extra_asked_for(*result) is not None:
            never_written |= {file for option, file in pairwise(words) if option in ("-o", "--output")}
        else:
            assert steady(shown(one.printed, result[1])) == steady(one.printed), (one.source, result[2])


SHAPE = "--widths 2,1 --ranks 1 --tokens 2"
MODEL = "examples/checkpoints/model"
WORDS: dict[str, str | None] = {  # the extra that a command needs
    "sweep --widths 2,1 --ranks 1 --tokens 1,2 --depth 1 --workers 1 -o atlas.sqlite": None,
    "sweep --widths 2,1 --ranks 1 --tokens 1,2 --depth 1 -o b.sqlite --scheduler tcp://localhost:1": "cluster",
    "atlas atlas.sqlite": None,
    "atlas atlas.sqlite --page atlas.html": "plot",
    "canonical examples/generic.json": None,
    "canonical examples/generic.json --output canonical.json": None,
    "check equation-9 --quick": None,
    "check equation-9 --quick --report report": "report",
    "check equation-9 --quick --json": None,
    f"circuits {MODEL}": None,
    f"circuits {MODEL} --fingerprint": None,
    f"circuits {MODEL} --against {MODEL}": None,
    f"circuits {MODEL} --output heads.png": "plot",
    "classify examples/rank_one.json": None,
    "coefficient examples/rank_one.json": None,
    f"conserved {SHAPE}": None,
    f"degree {SHAPE}": None,
    f"dimension {SHAPE} --certificate certificate.json": None,
    "dimension --config examples/config.json --attention-only": None,
    f"equations {SHAPE}": None,
    "exercise": None,
    "exercise --sheet sheet.tex --seed 1 --solutions": None,
    "exercise --sheet sheet.html --seed 1": "report",
    "exercise --grade examples/answers.json": None,
    "explain lemma-3.1": None,
    "explain lemma-3.1 --latex": None,
    "explain lemma-3.1 --html": "report",
    f"explain-rewriting {MODEL} {MODEL}": None,
    f"explain-rewriting {MODEL} {MODEL} --html": None,
    "fiber examples/generic.json": None,
    "figure dimensions": None,
    **{
        f"figure {name} --output {name}.svg": "plot"
        for name in ("1", "3", "coefficients", "dimensions", "poles", "roots", "singular")
    },
    "figure fiber examples/rank_one.json --output fiber.pdf": "plot",
    "figure 1 --output turns.html": "report",
    "page --list": None,
    "page figure-1": "report",
    f"page playground --weights {MODEL}": "report",
    f"phi {SHAPE}": None,
    "recover examples/map.json --widths 2,1 --ranks 1": None,
    "same examples/generic.json examples/generic_rescaled.json": None,
    f"same {MODEL} {MODEL} --output identity.json": None,
    f"apply identity.json {MODEL} -o copy": None,
    f"align {MODEL} --to {MODEL} -o near --orders": None,
    f"symmetries {MODEL}": None,
    f"convert {MODEL} --layout megatron -o megatron": None,
    f"convert {MODEL} --layout gguf -o model.gguf": "gguf",
    f"same {MODEL} examples/checkpoints/rewritten": None,
    f"same {MODEL} examples/checkpoints/forgotten_bias": None,
    "verify certificate.json": None,
}


def test_every_command_answers_or_names_its_extra(tmp_path: Path) -> None:
    assert {words.split()[0] for words in WORDS} == COMMANDS.keys()
    found = results([("console", f"lightning-sym {words}") for words in WORDS], tmp_path)
    for (words, extra), (code, out, err) in zip(WORDS.items(), found, strict=True):
        assert extra_asked_for(code, out, err) == extra, (words, err)
        assert code in (0, 1, 3) or extra, (words, err)
        assert "\n" in out or extra, words
    made = {path.name for path in (tmp_path / "here").iterdir() if "sqlite" not in path.name}
    assert made == {
        "examples",
        "proofs_check",
        "canonical.json",
        "certificate.json",
        "identity.json",
        "copy",
        "megatron",
        "near",
        "sheet.tex",
    }


def test_every_command_helps(tmp_path: Path) -> None:
    found = results([("console", f"lightning-sym {name} --help") for name in COMMANDS], tmp_path)
    assert all((code, err) == (0, "") and out.startswith("Usage: ") for code, out, err in found)


def test_no_page_or_message_installs_what_is_on_no_index() -> None:
    sources = [*PAGES, *(path for room in ("lightning_sym", "lightning_cli") for path in (ROOT / room).rglob("*.py"))]
    assert not [path for path in sources if re.search(r"pip install [\"']?lightning-sym", path.read_text("utf-8"))]
