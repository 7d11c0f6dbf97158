"""One state, asked: `python asked.py CHECKOUT ITEMS BYTES SECONDS [AFTER]`, started by `sides.py` for each state.

It runs with the code of CHECKOUT, and writes a line when a question begins, its name in JSON, and a line when it is
answered, the name, a tab, and the answer in JSON. What is refused is an answer; what ends the process is known to who
started it.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import io
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from math import factorial
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # behind the code of the checkout

from states.values import Answer, attempt, result_of, shortened

# ---- networks, in Python

NORMALIZATIONS: dict[str, dict[str, Any]] = {
    "1 + y": {"taylor": lambda k: Fraction(k < 2)},
    "1 + y/101": {"taylor": lambda k: Fraction(k < 2, 100 * k + 1)},
    "1/(1 - y)": {"taylor": lambda k: Fraction(1)},
    "exp(2y)": {"taylor": lambda k: Fraction(2**k, factorial(k)), "growth": Fraction(2)},
}


class Network:
    """A network of the corpus, by the public names of this state."""

    def __init__(self, library: ModuleType, item: Answer) -> None:
        self.library, shape = library, item["shape"]
        named = shape["normalization"]
        options = {key: tuple(x) if isinstance(x, list) else x for key, x in shape.items()}
        normal = library.SOFTMAX if named == "softmax" else None
        if named in NORMALIZATIONS:
            normal = library.Normalization(named, **NORMALIZATIONS[named])
        self.shape = library.Architecture(**options | {"normalization": normal})
        self.tokens = shape["tokens"]
        self.form = library.NetworkForm(normal, shape["causal"], shape["skip"])
        self.documents = [item.get(name, {}) for name in ("first", "second")]

    def weights(self, which: int) -> Any:
        """Return the weights, or those they are compared with."""
        matrices = self.documents[which]["weights"]
        exact = {name: [[Fraction(x) for x in row] for row in rows] for name, rows in matrices.items()}
        return self.library.Weights.of(exact, self.form)

    def ask(self, question: str) -> Any:
        """Return the answer to a question that the corpus names."""
        name, _, options = question.partition(" ")
        return result_of(ASKED[name](self, **json.loads(options or "{}")))


def _input(n: Network) -> Any:
    rows, columns = n.shape.input_width, n.tokens
    return [[Fraction((3 * i + 5 * j) % 7 - 3) for j in range(columns)] for i in range(rows)]


def _same_certificate(n: Network) -> Any:
    first, second = n.weights(0), n.weights(1)
    answer = n.library.same_function(first, second, n.tokens)
    return n.library.same_certificate(answer, first, second, n.tokens)


ASKED: dict[str, Callable[..., Any]] = {
    "shape": lambda n: n.shape,
    "ambient": lambda n: n.library.ambient_dimension(n.shape),
    "dimension": lambda n, **o: n.library.certified_dimension(n.shape, all_bounds=True, **o),
    "conserved": lambda n, **o: n.library.conserved_quantities(n.shape, **o),
    "degree": lambda n, **o: n.library.variety_degree(n.shape, **o),
    "equations": lambda n, **o: n.library.equations(n.shape, **o),
    "orbits": lambda n: n.library.layer_orbits(n.shape),
    "map": lambda n, **o: n.library.polynomial_map(n.shape, **o),
    "generic-rank": lambda n, **o: n.library.polynomial_map(n.shape, **o).generic_rank(),
    "weights": lambda n: n.weights(0),
    "output": lambda n: n.library.network_output(_input(n), n.shape, list(n.weights(0).named().values())),
    "function": lambda n, **o: n.library.polynomial_map(n.shape, n.weights(0), **o),
    "rank": lambda n, **o: n.library.polynomial_map(n.shape, **o).jacobian_rank(n.weights(0)),
    "rescaled": lambda n: n.library.rescale(n.weights(0), layer=1, by=2),
    "swapped": lambda n: n.library.swap(n.weights(0)),
    "plan": lambda n: n.library.query_plan(n.shape, bound=3, denominators=2),
    "virtual": lambda n: n.library.virtual_weights(n.weights(0)),
    "conditions": lambda n: n.library.transformer_conditions(n.weights(0), n.tokens),
    "fiber": lambda n, **o: n.library.fiber(n.weights(0), n.tokens, **o),
    "canonical": lambda n, **o: n.library.canonical(n.weights(0), n.tokens, **o),
    "classify": lambda n, **o: n.library.classify(n.weights(0), n.tokens, **o),
    "same-itself": lambda n, **o: n.library.same_function(n.weights(0), n.weights(0), n.tokens, **o),
    "same": lambda n, **o: n.library.same_function(n.weights(0), n.weights(1), n.tokens, **o),
    "same-back": lambda n, **o: n.library.same_function(n.weights(1), n.weights(0), n.tokens, **o),
    "recover": lambda n, **o: n.library.recover(n.library.polynomial_map(n.shape, n.weights(0)), **o),
    "jet": lambda n: n.library.softmax_jet(n.weights(0), n.tokens),
    "recover-jet": lambda n: n.library.recover_from_jet(n.library.softmax_jet(n.weights(0), n.tokens)),
    "singular": lambda n, **o: n.library.singular_locus(n.shape, **o),
    "dimension-certificate": lambda n: n.library.dimension_certificate(n.library.certified_dimension(n.shape)),
    "fiber-certificate": lambda n: n.library.fiber_certificate(n.library.fiber(n.weights(0), n.tokens), n.weights(0)),
    "same-certificate": _same_certificate,
}


# ---- sessions: somebody types commands, or Python, in a folder of their own


class Session:
    """A reader in a folder; `corpus` has files for all, `checkout` the checker of this state."""

    def __init__(self, folder: Path, item: Answer, corpus: Path, checkout: Path) -> None:
        self.folder, self.hidden = folder, {str(folder): "FOLDER", str(checkout): "CHECKOUT"}
        for name, text in item.get("files", {}).items():
            (folder / name).write_text(text, encoding="utf-8")
        for target in (*corpus.iterdir(), checkout / "proofs_check"):
            (folder / target.name).symlink_to(target)
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.seen = self._files()

    def run(self, kind: str, source: str) -> Answer:
        """Return what an example prints, its exit code, and what it leaves in files."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
        found: Answer = {}
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            found |= self._python(source) if kind == "python" else self._words(shlex.split(source))
        for name, stream in (("stdout", out), ("stderr", err)):
            stream.flush()
            found[name] = self._steady(stream.buffer.getvalue().decode() or found.get(name, ""))
        files = self._files()
        new = {name: self._content(self.folder / name) for name in files if files[name] != self.seen.get(name)}
        self.seen = files
        return found | ({"files": new} if new else {})

    def _python(self, source: str) -> Answer:
        found = attempt(lambda: exec(source, self.names))  # noqa: S102 - a page of the project
        return found if isinstance(found, dict) else {}

    def _words(self, words: list[str]) -> Answer:
        if words[0] == "cp":
            shutil.copy(words[1], words[2])
        elif words[0] == "cat":
            return {"stdout": "".join(Path(word).read_text(encoding="utf-8") for word in words[1:])}
        elif words[0] == "python":
            done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=False)  # noqa: S603
            return {"exit": done.returncode, "stdout": done.stdout, "stderr": done.stderr}
        else:
            return {"exit": self._command(words)}
        return {}

    @staticmethod
    def _command(words: list[str]) -> Any:
        main, _ = program()
        old, sys.argv = sys.argv, words
        try:
            main()
        except SystemExit as stop:
            return stop.code
        finally:
            sys.argv = old

    def _steady(self, text: str) -> str:
        for path, name in self.hidden.items():
            text = text.replace(path, name)
        return text

    def _files(self) -> dict[str, tuple[int, int]]:
        paths = (path for path in sorted(self.folder.rglob("[!.]*")) if path.is_file() and not path.is_symlink())
        shown = {path: str(path.relative_to(self.folder)) for path in paths}
        return {
            name: (s.st_mtime_ns, s.st_size) for path, name in shown.items() if name[0] != "." for s in [path.stat()]
        }

    def _content(self, path: Path) -> str:
        data = path.read_bytes()
        if path.suffix in (".json", ".txt", ".md", ".tex", ".m2") and len(data) < 2**20:
            return self._steady(data.decode())
        return path.suffix if path.suffix == ".sqlite" else hashlib.sha256(data).hexdigest()  # which has times in it


def program() -> tuple[Callable[[], object], Any]:
    """Return what `lightning-sym` calls in this state, and its group of commands."""
    from lightning_cli.__main__ import main
    from lightning_cli.main import cli

    return main, cli


def takes_json(source: str) -> bool:
    """Return whether a command is one of ours that could also print JSON."""
    words, (_, cli) = shlex.split(source), program()
    command = cli.get_command(None, words[1]) if words[0] == "lightning-sym" and len(words) > 1 else None
    return command is not None and "--json" not in words and any("--json" in each.opts for each in command.params)


# ---- names


def names(module: str) -> Answer:
    """Return the public names of a module, their signatures, and those of their members."""
    library = import_module(module)
    return {name: _described(getattr(library, name)) for name in sorted(library.__all__)}


def _described(value: Any) -> Any:
    if inspect.isclass(value):
        members = {key: each for key, each in inspect.getmembers(value) if not key.startswith("_") or key == "__init__"}
        return {"class": _signature(value), **{key: _member(each) for key, each in members.items()}}
    return _member(value)


def _member(value: Any) -> Any:
    return _signature(value) if callable(value) else type(value).__name__


def _signature(value: Any) -> str:
    try:
        return re.sub(r" at 0x\w+", "", str(inspect.signature(value)))
    except (TypeError, ValueError):
        return "no signature"


def commands() -> Answer:
    """Return each command with its options and its help."""
    import click

    _, cli = program()
    found = {}
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        with click.Context(command, info_name=name) as context:
            info = json.loads(json.dumps(command.to_info_dict(context), default=str))
            for each in info["params"]:
                each["type"].pop("param_type", None)  # the name of a class
            options = {" ".join(each["opts"] or [each["name"]]): each for each in info["params"]}
            found[name] = {"options": options, "help": command.get_help(context)}
    return found


# ---- the process

LONGEST = {"network": 40_000, "session": 1_000_000, "names": 10_000_000}
"""Characters of a part of an answer that is kept whole: networks are many."""


def questions(item: Answer, corpus: Path, checkout: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield each question of an item, and what answers it."""
    import lightning_sym

    if item["kind"] == "names":
        yield from (("python", lambda: names("lightning_sym")), ("testing", lambda: names("lightning_sym.testing")))
        yield "commands", commands
    elif item["kind"] == "network":
        network = attempt(lambda: {"made": Network(lightning_sym, item)})
        for name in item["asks"]:
            yield name, lambda name=name: network["made"].ask(name) if "made" in network else network  # type: ignore[misc]
    else:
        with tempfile.TemporaryDirectory() as folder:
            session = Session(Path(folder), item, corpus, checkout)
            for i, (kind, source) in enumerate(item["examples"]):
                yield f"{i + 1}", lambda kind=kind, source=source: session.run(kind, source)  # type: ignore[misc]
                if kind == "console" and takes_json(source):
                    yield f"{i + 1} --json", lambda source=source: session.run("console", f"{source} --json")  # type: ignore[misc]


def main() -> None:
    """Answer all questions of the items, or those that come after a certain one."""
    checkout, items, memory, seconds, *after = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what a library in C prints is no line of ours
    import lightning_sym

    if not Path(lightning_sym.__file__).is_relative_to(checkout):
        raise SystemExit(f"the code of {checkout} must be on the path, got {lightning_sym.__file__}")
    corpus, waiting = Path(items).parent / "files", bool(after)
    for line in Path(items).read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        if waiting and not after[0].startswith(item["name"] + "/"):
            continue
        for name, ask in questions(item, corpus, Path(checkout)):
            question = f"{item['name']}/{name}"
            if waiting:
                waiting = question != after[0]
                if not waiting and item["kind"] == "session":
                    break  # its folder is lost
                continue
            lines.write(json.dumps(question) + "\n")
            signal.setitimer(signal.ITIMER_PROF, float(seconds))  # ends the process: nothing here could hold it
            answer = attempt(ask)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if isinstance(answer, dict) and not question.endswith("-certificate"):  # which is judged
                answer = {key: shortened(value, LONGEST[item["kind"]]) for key, value in answer.items()}
            lines.write(f"{json.dumps(question)}\t{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
