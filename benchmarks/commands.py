"""What whole commands take: reading, answer and text, in a process of their own, against another checkout.

    python benchmarks/commands.py [--widths 16,32,64] [--layers 1,2,4] [--only same] [--kind integers]
        [--against CHECKOUT]
    python benchmarks/commands.py --starts [--rounds 20] [--only dimension] [--against CHECKOUT]

Processor seconds and most memory of `lightning-sym COMMAND FILE`, NumPy and all else loaded included: 0.3 s are the
start, and memory is at least that of this program. Weights are integers of one digit in .json files, or float32 or
float64 in .npz files; a second network is the first one in other coordinates, and a third has one entry changed.

`--starts` asks for small answers, which is what it takes to start: the least of the rounds, in which the checkouts take
turns; everything is compiled by a first round that does not count. Run with `-S`: what the `.pth` files of an
environment load is no part of it. An exit code stands in place of the seconds where a release has no such command.
"""

from __future__ import annotations

import json
import os
import random
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measuring import HERE, Ended, checkouts, environment, parser, run

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, transform

Matrices = dict[str, Any]


class Case(NamedTuple):
    """A command, and the files it is given."""

    command: str
    files: tuple[str, ...]


class Kind(NamedTuple):
    """Weights: how they are drawn."""

    name: str
    entries: str = "integers"
    shape: Mapping[str, Any] = {}
    special: str = ""


KINDS = (
    Kind("integers"),
    Kind("float32", "float32"),
    Kind("float64", "float64"),
    Kind("low ranks", special="low ranks"),
    Kind("low ranks, floats", "float32", special="low ranks"),
    Kind("a zero layer", special="zero"),
    Kind("one output", shape={"last": 1}),
    Kind("narrow", shape={"inner": 0.25}),
    Kind("ranks a = d / 4", shape={"a": 0.25}),
    Kind("softmax", shape={"normalization": SOFTMAX}),
    Kind("transformer", "float32", {"normalization": SOFTMAX, "skip": True, "heads": 4, "a": 0.25}),
    Kind("lightning heads", shape={"heads": 4, "a": 0.25}),
)


def architecture(d: int, layers: int, shape: Mapping[str, Any]) -> Architecture:
    """Return the network of a kind."""
    widths = [d] + [max(1, int(d * shape.get("inner", 1)))] * (layers - 1) + [shape.get("last", d)]
    inner = [max(1, int(w * shape.get("a", 1))) for w in widths[:-1]]
    heads = shape.get("heads", 1)
    return Architecture(
        tuple(widths), tuple(inner), 2, heads=heads, normalization=shape.get("normalization"),
        skip=shape.get("skip", False), value_ranks=tuple(inner) if heads > 1 else None,
    )  # fmt: skip


def drawn(kind: Kind, shape: Architecture, seed: int = 0) -> Matrices:
    """Return the matrices of a network."""
    source = np.random.default_rng(seed)
    if kind.entries == "integers":
        ranks: dict[str, Any] = {}
        if kind.special == "low ranks":
            ranks["attention_matrix_ranks"] = [a // 2 for a in shape.attention_ranks]
            ranks["value_ranks"] = [min(shape.widths[i : i + 2]) // 2 for i in range(shape.depth)]
        weights = Weights.random(shape, seed=seed, bound=3 if kind.special else 9, **ranks)
        found: Matrices = {name: np.array(matrix, dtype=object) for name, matrix in weights.matrices.items()}
        if kind.special == "zero":
            found[f"Q{shape.depth}"] = np.zeros_like(found[f"Q{shape.depth}"])
        return found
    if kind.special:  # sums of so few products of short floats, which are exact
        found = {}
        for name, (rows, columns) in shape.weight_shapes():
            half = min(rows, columns) // 2
            factors = (source.integers(-99, 99, size) for size in ((rows, half), (half, columns)))
            found[name] = (np.matmul(*factors) / 2.0**17).astype(kind.entries)
        return found
    return {n: (source.standard_normal(s) / s[1] ** 0.5).astype(kind.entries) for n, s in shape.weight_shapes()}


def moved(kind: Kind, shape: Architecture, matrices: Matrices) -> Matrices:
    """Return the same function: other coordinates of queries and keys, and of the stream where nothing is added."""
    source = random.Random(0)

    def change(n: int) -> Any:
        if kind.entries != "integers":  # exact in floats
            order = source.sample(range(n), n)
            return [[Fraction(2) ** source.randint(-2, 2) * (order[i] == j) for j in range(n)] for i in range(n)]
        result = np.eye(n, dtype=int)
        for _ in range(n if n > 1 else 0):
            i, j = source.sample(range(n), 2)
            result[i] += source.choice((-1, 1)) * result[j]
        return result

    weights = Weights.of(matrices, NetworkForm.of(shape))
    heads = [f".{h}" for h in range(1, shape.heads + 1)] if shape.heads > 1 else [""]
    layers = range(1, shape.depth + 1)
    group = {(f"{i}{h}" if h else i): change(shape.attention_ranks[i - 1]) for i in layers for h in heads}
    between = {} if shape.skip else {i: change(shape.widths[i]) for i in layers[:-1]}
    found = transform(weights, query_key=group, between=between)
    dtype = object if kind.entries == "integers" else kind.entries
    return {name: np.array(matrix, dtype=dtype) for name, matrix in found.matrices.items()}


def written(matrices: Matrices, path: Path, form: Mapping[str, object]) -> str:
    """Return the path of a file with these matrices."""
    if any(matrix.dtype == object for matrix in matrices.values()):
        entries = {
            n: [[int(x) if x.denominator == 1 else str(x) for x in row] for row in m.tolist()]
            for n, m in matrices.items()
        }
        path = path.with_suffix(".json")
        path.write_text(json.dumps(entries | ({"form": form} if form else {})))
    else:
        path = path.with_suffix(".npz")
        np.savez(path, **matrices)
    return str(path)


def cases(kind: Kind, d: int, layers: int, folder: Path) -> Iterator[Case]:
    """Yield commands with their files; the files are made as they are asked for."""
    shape = architecture(d, layers, kind.shape)
    form = {k: v for k, v in {"normalization": shape.normalization and "softmax", "skip": shape.skip}.items() if v}
    options = tuple(w for k in form for w in (("--skip",) if k == "skip" else ("--normalization", "softmax")))
    first = drawn(kind, shape)
    second = moved(kind, shape, first)
    changed = dict(second)
    name = f"V{layers}" if shape.heads == 1 else f"V{layers}.1"
    changed[name] = changed[name].copy()
    changed[name][0, 0] += 1
    paths = [written(m, folder / str(i), {}) for i, m in enumerate((first, second, changed))]
    yield Case("same", (paths[0], paths[1], *options))
    yield Case("same (other)", (paths[0], paths[2], *options))
    yield Case("fiber", (paths[0], *options))
    yield Case("coefficient", (paths[0], *options))
    if shape.normalization is None and not shape.skip and shape.heads == 1:
        yield Case("classify", (paths[0], *options))
    elif shape.normalization is not None:
        yield Case("canonical", (paths[0], *options))


def measured_cell(checkout: Path, case: Case, limit: float) -> str:
    """Return one cell: exit code, seconds, memory; or why not."""
    words = [sys.executable, "-m", "lightning_cli", case.command.split()[0], *case.files]
    found = run(words, checkout, environment(checkout, COLUMNS="200"), limit)
    if found.code < 0:
        return f"> {limit:g} s"
    seconds = f"{found.seconds:.2f} s, {found.peak / 2**20:,.0f} MiB"
    return f"{found.code}: {seconds}" + (f" {found.last[:150]}" if found.code == 2 else "")


ENTRY = "from lightning_cli.__main__ import main; main()"

SHAPE = ("--widths", "4,3,2", "--ranks", "2,2", "--tokens", "3")
FIRST = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6]]}
SECOND = {"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [["3/2", 3]]}
STARTS = {
    "--help": ("--help",),
    "same --help": ("same", "--help"),
    "dimension --help": ("dimension", "--help"),
    "dimension": ("dimension", *SHAPE),
    "dimension, softmax": ("dimension", *SHAPE, "--normalization", "softmax"),
    "check": ("check", "--quick", "equation-9"),
    "same": ("same", "first.json", "second.json"),
    "fiber": ("fiber", "first.json"),
    "coefficient": ("coefficient", "first.json"),
    "classify": ("classify", "first.json"),
    "phi": ("phi", "--weights", "first.json", "--tokens", "2"),
    "verify": ("verify", "dimension.json"),
}


def started(checkout: Path, words: tuple[str, ...], folder: Path) -> Ended:
    """Return a command started as by what pip installs."""
    paths = os.pathsep.join((str(checkout), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    given = environment(checkout, PYTHONPATH=paths)
    given.pop("PYTHONDONTWRITEBYTECODE", None)
    return run([sys.executable, "-S", "-c", ENTRY, *words], folder, given)


def starts(there: list[Path], rounds: int, only: str) -> None:
    """Print a line for each command; the certificate that one is given is written by this release."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "first.json").write_text(json.dumps(FIRST))
        (folder / "second.json").write_text(json.dumps(SECOND))
        if started(HERE, ("dimension", *SHAPE, "--certificate", "dimension.json"), folder).code:
            raise SystemExit("the certificate could not be written")
        for case, words in ((case, words) for case, words in STARTS.items() if only in case):
            codes = [started(checkout, words, folder).code for checkout in there]
            turns = [[started(checkout, words, folder).seconds for checkout in there] for _ in range(rounds)]
            least = [min(column) for column in zip(*turns, strict=True)]
            cells = [f"{t:.3f} s" if not c else f"exit {c}" for t, c in zip(least, codes, strict=True)]
            ratio = f"{least[-1] / least[0]:.2f} times" if not any(codes) and len(there) > 1 else ""
            print(f"{case:20}", " | ".join(cells), f"  {ratio}", flush=True)


def main() -> int:
    """Print a line for each command and its files."""
    options = parser(__doc__, "only", "limit", "against", "rounds", rounds=20)
    options.add_argument("--widths", default="16,32,64", help="of the networks")
    options.add_argument("--layers", default="1,2,4", help="depths")
    options.add_argument("--kind", default="", help="these weights only")
    options.add_argument("--starts", action="store_true", help="small answers: what it takes to start")
    given = options.parse_args()
    there = checkouts(given.against)
    if given.starts:
        starts(there, given.rounds, given.only)
        return 0
    shapes = [(d, n) for d in map(int, given.widths.split(",")) for n in map(int, given.layers.split(","))]
    for kind in (k for k in KINDS if given.kind in k.name):
        for d, layers in shapes:
            with tempfile.TemporaryDirectory() as folder:
                for case in (c for c in cases(kind, d, layers, Path(folder)) if given.only in c.command):
                    cells = [measured_cell(checkout, case, given.limit) for checkout in there]
                    print(f"{kind.name:16} d={d:<4} l={layers} {case.command:14}", " | ".join(cells), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
