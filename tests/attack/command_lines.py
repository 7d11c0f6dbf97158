"""Random command lines over all commands: one of the documented exit codes, one line for bad input, never a traceback.

    python tests/attack/command_lines.py --count 10000 --seed 1

Options come from the commands themselves; values and files are good, bad, damaged, missing, folders, pipes and
devices; networks are small. Exits with 1 if there was a fault. The same numbers give the same command lines.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import sys
import tempfile
import warnings
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from damage import KINDS
from good_files import good_baseline, good_config, good_json, good_map
from watched import report, run_watched

from lightning_cli.main import COMMANDS, main, module_of
from lightning_cli.numbers import Size, SizeList
from lightning_cli.pictures import dimensions, figure_3
from lightning_cli.writing.live_pages import PAGES

Random = random.Random

READ = ("weight_file", "config_file", "baseline")
"""Options whose value is a file that is read."""
FITTING = {"recover": ("map", "damaged_map"), "classify": ("good", "one"), "same": ("good", "one", "two")}
"""Beginnings of names of files that a command reads; of the others any."""
SELDOM = ("output", "report", "normalization", "mask", "skip", "heads", "value_ranks", "embed", "unembed", "orbits",
          "singular_ideal", "write_baseline")  # fmt: skip
OF_A_SHAPE = ("widths", "ranks", "heads", "value_ranks", "embed", "unembed", "orbits", "singular_ideal", "degree")
"""Drawing takes its time, and many options together are refused."""
QUICK_CLAIMS = ["equation-9", "equation-12", "proposition-a.5"]
CODES = {0, 1, 2, 3}
ENDINGS = ("", ".json", ".npz", ".safetensors", ".png", ".svg", ".pdf", ".html")


def fill(folder: Path) -> None:
    """Files of all kinds, good and damaged, for every command line to find."""
    rng = Random("files")
    for number in range(6):
        (folder / f"good{number}.json").write_text(json.dumps(good_json(rng)), encoding="utf-8")
        for kind, (_, make, _) in KINDS.items():
            ending = "json" if kind == "config" else kind
            (folder / f"damaged_{kind}{number}.{ending}").write_bytes(make(rng))
    one = {"Q1": [[2]], "K1": [[3]], "V1": [[5]]}
    (folder / "one.json").write_text(json.dumps(one))
    (folder / "two.json").write_text(json.dumps(one | {"Q1": [[3]], "K1": [[2]]}))
    (folder / "config.json").write_text(json.dumps(good_config(rng)))
    for number in range(6):
        (folder / f"map{number}.json").write_text(json.dumps(good_map(rng)), encoding="utf-8")
        (folder / f"baseline{number}.json").write_text(json.dumps(good_baseline(rng)), encoding="utf-8")
    corpus = Path(__file__).parents[1] / "corpus"
    for kind in ("good", "bad"):
        for file in sorted((corpus / kind).glob("*.json"))[:8]:
            (folder / f"certificate_{kind}_{file.name}").write_bytes(file.read_bytes())
    (folder / "folder").mkdir()
    (folder / "folder.json").mkdir()
    (folder / "link.json").symlink_to("one.json")
    (folder / "dangling.json").symlink_to("nothing.json")
    (folder / "loop.json").symlink_to("loop.json")


def _number(rng: Random) -> str:
    return rng.choice(["1", "2", "3", "2", "1", "3", "0", "-1", "1.5", "x", "", "²", "99999999999999999999", "1e3"])


def _value(rng: Random, command: str, parameter: click.Parameter, files: Sequence[str]) -> str:
    kind = parameter.type
    if rng.random() < 0.04:
        return rng.choice(["", " ", "--", "-", "\udcff", "a\nb", "nan", "[red]", "%s", "--json", "x" * 300])
    if isinstance(kind, click.Choice):
        return str(rng.choice(kind.choices)) if rng.random() < 0.9 else "other"
    if isinstance(kind, Size):
        return str(rng.choice([1, 2, 3])) if rng.random() < 0.85 else _number(rng)
    if isinstance(kind, SizeList):
        sizes = [str(rng.choice([1, 2, 2, 3])) for _ in range(rng.choice([1, 2, 2, 2, 2, 2, 2, 2, 2, 3]))]
        return ",".join(sizes) if rng.random() < 0.85 else ",".join([*sizes, _number(rng)])
    if isinstance(kind, click.types.IntRange) and parameter.name == "degree":
        return str(rng.choice([1, 1, 1, 2])) if rng.random() < 0.85 else _number(rng)
    if isinstance(kind, click.types.IntRange):
        return rng.choice(["0", "1", "7", "123456789", "-1", "x", "9" * 30])
    if isinstance(kind, click.types.FloatRange):
        return rng.choice(["1", "0.5", "1e-6", "4", "0", "-1", "nan", "inf", "1e400", "x"])
    if isinstance(kind, click.Path):
        if isinstance(parameter, click.Option) and parameter.name not in READ:
            return _output(rng)
        starts = FITTING.get(command, ("good", "one", "two", "config", "certificate"))
        good = [name for name in files if name.startswith("baseline" if parameter.name == "baseline" else starts)]
        return rng.choice(good if rng.random() < 0.6 else files)
    if parameter.name in ("ids", "claim_id"):
        return rng.choice(QUICK_CLAIMS) if rng.random() < 0.9 else rng.choice(["theorem-9", "", "lemma", "[b]", "é"])
    if command == "page":
        return rng.choice([*PAGES, "x"])
    return rng.choice(["", "x", "1"])


def _output(rng: Random) -> str:
    if rng.random() < 0.3:
        places = ["/dev/null", "/dev/full", "folder", "folder.json", "loop.json", "missing/out.json", "one.json/x"]
        return rng.choice([*places, "dangling.json", "/dev/fd/77", ".", "/", "y" * 300 + ".json"])
    return f"out{rng.choice(ENDINGS)}"


def command_line(rng: Random, files: Sequence[str]) -> list[str]:
    """A command with some of its options, mostly right."""
    name = rng.choice(list(COMMANDS))
    command: click.Command = module_of(name).command
    words: list[str] = []
    depth = rng.choice([1, 1, 1, 2, 2, 3])
    shaped = rng.random() < 0.95  # what is of a shape agrees, and is not beside weights
    weights_say = shaped and name in ("phi", "conserved", "classify", "recover") and rng.random() < 0.5
    for parameter in command.params:
        if weights_say and parameter.name in OF_A_SHAPE:
            continue
        if shaped and not weights_say and parameter.name in ("weight_file", "config_file", "attention_only"):
            continue
        if shaped and parameter.name in ("widths", "ranks", "value_ranks"):
            if rng.random() < (0.96 if parameter.name != "value_ranks" else 0.1):
                sizes = [str(rng.choice([1, 2, 2, 3])) for _ in range(depth + (parameter.name == "widths"))]
                words += [parameter.opts[0], ",".join(sizes)]
            continue
        if shaped and name == "classify" and not weights_say and parameter.name == "file":
            words += [rng.choice(["--orbits", "--singular-ideal"])]
            continue
        chance = 0.96 if parameter.required or parameter.name in ("widths", "ranks", "tokens") else 0.25
        chance = 0.05 if parameter.name in SELDOM else chance
        chance = 0.01 if parameter.name in ("memory", "work") and shaped else chance
        if isinstance(parameter, click.Argument):
            count = rng.choice([1] * 18 + [2, 3]) if parameter.nargs == -1 else int(rng.random() < 0.97)
            count = max(count, int(parameter.name == "ids"))  # all claims at once take their time
            words += [_value(rng, name, parameter, files) for _ in range(count)]
        elif isinstance(parameter, click.Option) and rng.random() < chance:
            option = rng.choice(parameter.opts)
            words += [option] if parameter.is_flag else [option, _value(rng, name, parameter, files)]
    if name == "equations" and rng.random() < 0.9:
        words += ["--work", "1"]
    if name in ("phi", "conserved") and (weights_say or rng.random() < 0.05):
        words += ["--weights", rng.choice([*(file for file in files if file.startswith(("good", "one"))), *files])]
    if name == "check" and "--quick" not in words:
        words += ["--quick"]
    if name in ("phi", "equations", "classify", "conserved") and "--memory" not in words:
        words += [
            "--memory",
            "0.05" if name == "phi" else "0.3",
        ]  # more than the limit of the process would end it, by flint
    match rng.randrange(40):
        case 0:
            words += [rng.choice(["--help", "-h", "--version", "--", "--unknown", "-x", "more"])]
        case 1:
            words = words[: rng.randrange(len(words) + 1)]
        case 2:
            rng.shuffle(words)
        case _:
            pass
    if name == "check" and not set(words) & {*QUICK_CLAIMS, "--list", "--help", "-h"}:
        words += ["--list"]
    return ([name] if rng.random() < 0.99 else [rng.choice(["", "chekc", "--help", "--version"])]) + words


def _complete(file: Path) -> bool:
    """Whether what was written is whole."""
    content = file.read_bytes()
    if content.startswith(b"{"):  # a certificate, whatever its name
        return isinstance(json.loads(content), dict)
    ends = {".png": b"IEND\xaeB`\x82", ".svg": b"</svg>\n", ".html": b"</html>\n", ".pdf": b"%%EOF\n"}
    if content.startswith((b"equations of ", b"network ", b"#", b"--", b"//", b"lightning")):  # text, whatever its name
        return content.endswith(b"\n")
    return bool(content) and content.endswith(ends.get(file.suffix, b"\n"))


def _snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.lstat().st_size if path.is_file() else 0)
        for path in folder.rglob("*")
    }


OUTPUTS = ("--certificates", "--certificate", "--report", "--output", "-o", "--baseline", "--write-baseline",
           "--weights")  # fmt: skip
"""Options whose value may look like an option."""


def fault_of(words: Sequence[str], code: object, out: str, err: str, new: Sequence[Path]) -> str:
    """What must not have happened, or nothing."""
    if code not in CODES:
        return f"exit code {code}: {err[-300:]!a}"
    if "Traceback" in out + err:
        return "a traceback"
    if code == 2:
        lines = err.splitlines()
        usage = err.startswith("Usage:") and not words[1:]
        if not usage and (len(lines) != 1 or not re.match(r"error: \S", err)):
            return f"not one line of an error: {err[:300]!a}"
        if new:
            return f"refused, but wrote {new[0].name}"
    elif code != 2 and words[0] == "equations" and "--output" in words:
        if out:
            return f"written to a file, and to stdout: {out[:200]!a}"
    elif _asks_for_json(words) and not {"--help", "-h", "--version"} & set(words) and words[0] in COMMANDS:
        try:
            json.loads(out)
        except ValueError:
            return f"not one JSON object: {out[:200]!a}"
    if bad := [file.name for file in new if file.is_file() and (file.suffix == ".partial" or not _complete(file))]:
        return f"half-written: {bad[0]}"
    return ""


def _asks_for_json(words: Sequence[str]) -> bool:
    """Whether `--json` stands there as an option, and not as the name of a folder or file behind one."""
    before = ("", *words)
    return any(word == "--json" and last not in OUTPUTS for last, word in zip(before, words, strict=False))


def task(lines: Callable[[int], list[str]], home: Path) -> Callable[[int], tuple[str, str]]:
    """Case `n`: run it in the folder of files, and look at all it left behind."""
    os.chdir(home)
    before = _snapshot(home)
    points, cells = figure_3.compute(), dimensions.compute()
    figure_3.picture().image("png")  # what draws takes address space, once
    maps = sorted(home.glob("*map*.json"))

    def stdin(number: int) -> bytes:
        return maps[number % len(maps)].read_bytes() if number % 10 else b""

    def case(number: int) -> tuple[str, str]:
        figure_3.compute, dimensions.compute = lambda: points, lambda: cells  # always the same, and slow
        browser = webbrowser.GenericBrowser("true")
        webbrowser.get, webbrowser.open = lambda *_: browser, lambda *_: True  # nobody is shown a page
        words = lines(number)
        out, err = io.StringIO(), io.StringIO()
        sys.argv = ["lightning-sym", *words]
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin(number)))
        code: object = None
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as stop:
                code = stop.code
        after = _snapshot(home)
        changed = [home / name for name in after if after[name] != before.get(name)]
        fault = fault_of(words, code, out.getvalue(), err.getvalue(), changed)
        if lost := before.keys() - after.keys():
            fault = f"removed {min(lost)}"
        there = [path for path in changed if str(path.relative_to(home)) in before]
        # a link that led nowhere stays a link when its target is made
        if replaced := [path.name for path in there if not (path.is_symlink() and path.name == "dangling.json")]:
            fault = fault or f"changed {replaced[0]}"
        for path in sorted(changed, reverse=True):
            if str(path.relative_to(home)) not in before:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        return f"exit {code} ({words[0]})" if code in CODES else "fault", fault

    return case


def run(words: Any) -> int:
    """Whether there was a fault."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        fill(home)
        files = [*sorted(os.listdir(home)), "missing.json", "/dev/null", "/dev/zero", "."]

        def line(number: int) -> list[str]:
            return command_line(Random(f"line {words.seed} {number}"), files)

        findings = run_watched(task(line, home), words.first, words.count)
        os.chdir("/")
    reproduce = f"python tests/attack/command_lines.py --seed {words.seed}"
    fine = report("command lines", findings, reproduce, lambda number: ascii(line(number)))
    return 0 if fine else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    sys.exit(run(parser.parse_args()))
