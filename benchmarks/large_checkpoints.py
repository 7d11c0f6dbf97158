"""How long large checkpoints take, and how much memory above the files themselves: random weights of Llama's shapes.

    python benchmarks/large_checkpoints.py --folder /tmp/large --only 0.1B
    python benchmarks/large_checkpoints.py --folder /tmp/large --only 1B --ask same-orders,fingerprint

Checkpoints are written in BF16, with a copy whose heads and neurons are permuted (`orders`), one in which every listed
symmetry was used and every number rounded (`all`), one whose stream was turned by a random orthogonal matrix, behind
folded norms and beside an unembedding of its own (`turned`), and one that is permuted and has a mistake, the rows of
the keys of the last layer in the order of another layout (`mistaken`). Each question is a process of its own, whose row
is printed when it ends; memory is the most that it holds besides pages of mapped files, looked at twenty times a
second. Times are beside what the matrix product of this machine takes for 2 operations a weight and coordinate of the
stream, so that other machines can be told.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from measuring import HERE, Figures, dgemm_rate, environment, parser

from lightning_sym import LayerSymmetry, Symmetry, apply, save_checkpoint
from lightning_sym.checkpoints.model import Block, CheckpointForm, Ends
from lightning_sym.checkpoints.pieces import table
from lightning_sym.testing import small_checkpoint

SHAPES = {  # layers, heads, groups, head width, neurons, token ids
    "0.01B": (4, 4, 2, 64, 768, 8000),
    "0.1B": (12, 12, 4, 64, 2048, 32000),
    "0.4B": (24, 16, 8, 64, 2816, 49152),
    "1B": (16, 32, 8, 64, 8192, 32000),
    "3B": (28, 24, 8, 128, 8192, 32000),
    "3B-3": (3, 24, 8, 128, 8192, 32000),
    "8B-2": (2, 32, 8, 128, 14336, 128256),
    "8B": (32, 32, 8, 128, 14336, 128256),
    "70B": (80, 64, 8, 128, 28672, 128256),
}
"""`8B` takes 30 GB of disk, `70B` is told from the others; `8B-2` has two of the layers of 8B, and its embedding."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A random checkpoint, a layer of which is drawn when it is asked for."""

    form: CheckpointForm
    name: str = "drawn"

    def ends(self) -> Ends:
        return Ends(**self._drawn(table(self.form).ends, 0, Ends))

    def block(self, layer: int) -> Block:
        return Block(**self._drawn(table(self.form).layer, layer + 1, Block))

    def coded(self, layer: int | None) -> Ends | Block:
        return self.ends() if layer is None else self.block(layer)

    def _drawn(self, pieces: Any, seed: int, kind: Any) -> dict[str, Any]:
        random = np.random.default_rng(seed)
        found = dict.fromkeys(kind.__dataclass_fields__)
        for name, piece in pieces.items():
            if name.endswith("_bias"):
                continue
            size = piece.shape[-1] ** -0.5 if piece.columns else 0.25
            array = random.standard_normal(piece.shape, dtype=np.float32) * np.float32(size)
            found[name] = array + np.float32(not piece.columns)
        return found

    def stored(self, piece: str) -> str:
        return "BF16"

    def called(self, piece: str) -> str:
        return piece


@dataclass(frozen=True, eq=False)
class Mistaken(Drawn):
    """The same, with the rows of the keys of the last layer in the order of another layout."""

    def block(self, layer: int) -> Block:
        found = super().block(layer)
        if layer < self.form.layers - 1:
            return found
        groups, a, width = found.key.shape
        return replace(found, key=found.key.reshape(groups, 2, a // 2, width).swapaxes(1, 2).reshape(found.key.shape))


def form_of(shape: str) -> CheckpointForm:
    """Return the form of a network of this size."""
    layers, heads, groups, head_width, inner, vocabulary = SHAPES[shape]
    small = small_checkpoint("llama", layers=1, heads=2, groups=1, head_width=4, tied=True).form
    sizes = {"heads": heads, "groups": groups, "head_width": head_width, "inner": inner, "vocabulary": vocabulary}
    return replace(small, layers=layers, width=heads * head_width, context=2048, **sizes)  # type: ignore[arg-type]


def orders(form: CheckpointForm) -> Symmetry:
    """Return heads and neurons permuted."""
    random, share = np.random.default_rng(1), form.heads // form.groups
    layers = []
    for _ in range(form.layers):
        heads = np.concatenate([group * share + random.permutation(share) for group in random.permutation(form.groups)])
        layers.append(LayerSymmetry(heads=heads, neurons=random.permutation(form.inner)))
    return Symmetry(tuple(layers))


def all_of_them(form: CheckpointForm) -> Symmetry:
    """Return a random symmetry with all that a tied network allows, also numbers that no type holds.

    The stream is permuted.
    """
    random, found = np.random.default_rng(2), list[LayerSymmetry]()
    for layer in orders(form).layers:
        values = random.standard_normal((form.groups, form.head_width, form.head_width)) / form.head_width**0.5
        turns = random.standard_normal((form.groups, form.head_width // 2, 2))
        ups = np.exp(random.standard_normal(form.inner) / 4)
        values += np.eye(form.head_width)
        found.append(replace(layer, values=values, turns=turns, ups=ups, gain1=np.ones(form.width)))
    signs = random.choice([-1, 1], form.width)
    return Symmetry(tuple(found), order=random.permutation(form.width), signs=signs)


def turn(form: CheckpointForm) -> Symmetry:
    """Return a dense rotation of the stream, with all norms folded the unembedding untied, as before quantisation."""
    one = np.ones(form.width)
    matrix, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((form.width, form.width)))
    layers = (LayerSymmetry(gain1=one, gain2=one),) * form.layers
    return Symmetry(layers, rotation=matrix, final_gain=one, tied=False)


def numbers(shape: str) -> int:
    """Return how many numbers such a checkpoint has."""
    layers, heads, groups, a, inner, vocabulary = SHAPES[shape]
    width = heads * a
    return layers * (2 * width * a * (heads + groups) + 3 * inner * width + 2 * width) + (vocabulary + 1) * width


ASKED: dict[str, tuple[str, ...]] = {
    "same-equal": ("same", "{model}", "{model}"),
    "same-orders": ("same", "{model}", "{orders}"),
    "same-all": ("same", "{model}", "{all}"),
    "same-turned": ("same", "{model}", "{turned}"),
    "same-mistaken": ("same", "{model}", "{mistaken}"),
    "fingerprint": ("circuits", "{model}", "--fingerprint"),
    "symmetries": ("symmetries", "{model}"),
    "apply": ("apply", "{symmetry}", "{model}", "-o", "{made}", "--rounded"),
    "canonical": ("canonical", "{model}", "-o", "{made}", "--stored", "BF16"),
    "align": ("align", "{orders}", "--to", "{model}", "-o", "{made}"),
}


def written(folder: Path, shape: str, asked: list[str]) -> dict[str, str]:
    """Return the checkpoints that are asked for, written where they are not there yet."""
    paths = {name: str(folder / f"{shape}-{name}") for name in ("model", "orders", "all", "turned", "mistaken", "made")}
    paths["symmetry"] = str(folder / f"{shape}-symmetry.json")
    form = form_of(shape)
    one = Drawn(form)
    wanted = {name for name in paths if any(f"{{{name}}}" in words for each in asked for words in ASKED[each])}
    if not Path(paths["model"]).exists():
        save_checkpoint(one, paths["model"], "BF16")
    two = Mistaken(form)
    made = (("orders", orders, one), ("all", all_of_them, one), ("turned", turn, one), ("mistaken", orders, two))
    for name, symmetry, of in made:
        if name in wanted and not Path(paths[name]).exists():
            save_checkpoint(apply(symmetry(form), of, exact=False), paths[name], "BF16")
    if "symmetry" in wanted and not Path(paths["symmetry"]).exists():
        from lightning_sym import save_symmetry

        save_symmetry(orders(form), paths["symmetry"])
    return paths


def asked_of(words: list[str], threads: int, limit: float) -> tuple[float, float, int, int]:
    """Return seconds by the clock and of the processor, bytes besides mapped files, and the code, negative if ended."""
    program = [sys.executable, "-m", "lightning_cli.main", *words]
    start, most, before = time.perf_counter(), 0, os.times()
    child = subprocess.Popen(program, env=environment(HERE, threads), stdout=subprocess.DEVNULL)
    while child.poll() is None:
        for line in _status(child.pid):
            if line.startswith("RssAnon"):
                most = max(most, int(line.split()[1]) * 1024)
        if time.perf_counter() - start > limit:
            child.kill()
        time.sleep(0.05)
    after = os.times()
    processor = after.children_user - before.children_user + after.children_system - before.children_system
    return time.perf_counter() - start, processor, most, child.returncode


def _status(process: int) -> Iterator[str]:
    """Yield what the kernel says of a process, as long as it lives."""
    try:
        yield from Path(f"/proc/{process}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return


def main() -> None:
    """Print the figures."""
    options = parser(__doc__, "json", "only", "limit", limit=3600.0)
    options.add_argument("--folder", type=Path, required=True, help="where checkpoints are written")
    options.add_argument("--ask", default=",".join(ASKED), help="what is asked, with commas between")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--keep", action="store_true", help="keep the checkpoints")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    rate = dgemm_rate()
    title = f"random Llama shapes, BF16; matrix product {rate / 1e9:.1f} Gflop/s, {given.threads} threads"
    figures = Figures(title, "shape", "asked", "seconds", "processor", "over a product", "GiB", "ns a number", "code")
    for shape in SHAPES if not given.only else [name for name in SHAPES if name == given.only]:
        asked = given.ask.split(",")
        paths = written(given.folder, shape, asked)
        layers, heads, _, a, *_ = SHAPES[shape]
        for name in asked:
            words = [word.format(**paths) for word in ASKED[name]]
            seconds, processor, most, code = asked_of(words, given.threads, given.limit)
            shutil.rmtree(paths["made"], ignore_errors=True)
            product = 2 * numbers(shape) * heads * a / rate
            cells = (f"{seconds:.1f}", f"{processor:.1f}", f"{processor / product:.1f}", f"{most / 2**30:.2f}")
            each = processor / numbers(shape) * 1e9
            row = {"shape": shape, "asked": name, "seconds": seconds, "processor": processor, "bytes": most}
            print(shape, name, *cells, code, flush=True)
            figures.add(shape, name, *cells, f"{each:.0f}", code, layers=layers, numbers=numbers(shape), **row)
        for path in paths.values() if not given.keep else ():
            shutil.rmtree(path, ignore_errors=True)
            Path(path).unlink(missing_ok=True)
    figures.show(given.json)


if __name__ == "__main__":
    main()
