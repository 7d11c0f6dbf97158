"""Whole dimensions and symbolic maps against other systems, in one run on one machine.

    python benchmarks/peers.py [--limit 60] [--all] [--json FILE]

Times of others are taken inside them, without their start. `x` is their time by ours: for a floating-point rank the
time of one trial, for the others that of the whole answer. `WRONG` is an answer that is not the certified dimension. A
system that ran into the limit is not asked about larger networks. `--all` adds the benchmarks that stand beside this
one, each in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
from floating import INPUTS, estimate, trial
from measuring import dgemm_rate, median_seconds, parser, write_json
from rich.console import Console
from rich.table import Table
from systems import DIMENSION_SYSTEMS, TERMS_SYSTEMS, TORCH, Answer, System

from lightning_sym import SOFTMAX, Architecture, certified_dimension, polynomial_map
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.jacobian import random_layers, weight_gradients
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues


def equal_widths(depth: int, d: int, a: int, tokens: int, *, softmax: bool = False) -> Architecture:
    """Return all widths `d`, all attention ranks `a`."""
    return Architecture((d,) * (depth + 1), (a,) * depth, tokens, normalization=SOFTMAX if softmax else None)


# with what Eq. 14 and, for softmax, Eq. 16 give, worked out by hand; smaller tasks for the others first
DIMENSIONS = [
    (equal_widths(1, 3, 2, 3), 16),
    (equal_widths(1, 4, 4, 2), 31),
    (equal_widths(2, 2, 2, 2), 10),
    (equal_widths(2, 3, 2, 3), 23),
    (equal_widths(3, 4, 1, 3), 34),
    (equal_widths(3, 4, 2, 3), 49),
    (equal_widths(4, 6, 3, 3), 140),
    (equal_widths(5, 8, 4, 3), 299),
    (equal_widths(3, 16, 4, 3), 589),
    # the default run of the script published with the paper
    (equal_widths(3, 4, 1, 3, softmax=True), 37),
    (equal_widths(3, 4, 2, 3, softmax=True), 52),
    (equal_widths(3, 4, 3, 3, softmax=True), 61),
    (equal_widths(3, 4, 4, 3, softmax=True), 64),
]

Row = tuple[list[str], int, float, dict[str, Answer]]
"""First cells, the right answer, our seconds, the answers of the others."""

MAPS = [equal_widths(1, 3, 3, 3), equal_widths(1, 4, 4, 2), equal_widths(2, 2, 2, 2)]

BESIDE = ["growth.py", "many.py", "ranks.py"]


def rank_of_all_outputs(network: Architecture, inputs: int = INPUTS, seed: int = 0, p: int = PRIMES[0]) -> int:
    """Return the rank modulo `p`, without rounding, of what the float method looks at: all outputs of ten inputs.

    At random points it is what these rows can give at most, except with the small chance of an unlucky point.

    Example:
        >>> rank_of_all_outputs(Architecture((4, 2), (1,), 3), inputs=5)        # 30 rows; the dimension is 14
        13
    """
    generator = np.random.default_rng(seed)
    layers = random_layers(network, generator, p)
    d, t = network.widths[-1], network.tokens
    x = random_residues(generator, (inputs, 1, network.widths[0], t), p).entries
    every = PrimeFieldMatrix(np.repeat(x, d * t, axis=1), p)
    units = np.broadcast_to(np.eye(d * t).reshape(d * t, d, t), (inputs, d * t, d, t))
    parts = weight_gradients(layers, every, PrimeFieldMatrix(units, p))
    rows = np.concatenate([part.residues().reshape(inputs * d * t, -1) for part in parts], axis=1)
    return rank_mod_p(rows, p)


def short_name(network: Architecture) -> str:
    """Return a network of equal widths and ranks on three short lines."""
    end = "softmax" if network.normalization else "lightning"
    return f"l={network.depth} d={network.widths[0]}\na={network.attention_ranks[0]} t={network.tokens}\n{end}"


def runs_for(seconds: float) -> int:
    """Return how many runs make a median, for an action of this length."""
    return 15 if seconds < 0.1 else 5 if seconds < 1 else 1


class Asker:
    """Asks systems, and no longer those that ran into the time limit."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._tired: set[System] = set()

    def ask(self, system: System, network: Architecture) -> Answer:
        """Return the answer of a system, or why there is none."""
        if network.normalization is not None and system != TORCH:
            return Answer(note="polynomials only")
        if system in self._tired:
            return Answer(note="not asked")
        answer = system.ask(network, self.limit)
        if answer.note.startswith("over"):
            self._tired.add(system)
        return answer


def cell(answer: Answer, right: int, ours: float) -> str:
    """Return an answer as it stands in a table."""
    if answer.seconds is None:
        return answer.note
    ratio = answer.seconds / ours
    value = answer.note if answer.value is None else f"{answer.value:,}"
    wrong = "" if answer.value in (None, right) else " [bold]WRONG[/bold]"
    times = f"{ratio:,.0f} x" if ratio >= 10 else f"{ratio:.2g} x"
    return f"{value}{wrong}\n{seconds_shown(answer.seconds)}\n{times}"


def figures(answer: Answer, right: int, ours: float) -> dict[str, object]:
    """Return an answer as it stands in the JSON."""
    if answer.seconds is None:
        return {"note": answer.note}
    return asdict(answer) | {"right": answer.value == right, "ratio": answer.seconds / ours}


def seconds_shown(seconds: float) -> str:
    """Return three digits."""
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:,.0f} s"


def floating_answers(network: Architecture) -> dict[str, Answer]:
    """Return the estimates of the re-creation with the time of one trial, in both precisions."""
    answers = {}
    for precision in (np.float32, np.float64):
        one = partial(trial, network, 0, precision)
        value = estimate(network, precision)
        note = "non-finite" if value is None else ""
        answers[f"NumPy {precision.__name__}"] = Answer(value, median_seconds(one, 5), note)
    return answers


def compare(title: str, first: list[str], rows: list[Row], console: Console) -> None:
    """Print one row for each network and one column for each system."""
    table = Table(title=title, show_lines=True)
    for name in (*first, *rows[0][3]):
        table.add_column(name)
    for cells, right, ours, answers in rows:
        table.add_row(*cells, *(cell(answer, right, ours) for answer in answers.values()))
    console.print(table)


def dimensions(asker: Asker, console: Console) -> tuple[list[dict[str, object]], list[str]]:
    """Benchmark whole dimensions; rows for JSON, and what is wrong with our own answers."""
    rows: list[Row] = []
    document: list[dict[str, object]] = []
    faults: list[str] = []
    for network, known in DIMENSIONS:
        result = certified_dimension(network)
        if result.value != known:
            faults.append(f"{network}: {result.lower} to {result.upper}, known is {known}")
            continue
        ask_ourselves = partial(certified_dimension, network)
        ours = median_seconds(ask_ourselves, runs_for(median_seconds(ask_ourselves, 1)))
        capped = None if network.normalization else rank_of_all_outputs(network)
        answers = floating_answers(network)
        for system in (TORCH, *DIMENSION_SYSTEMS):
            answers[system.name] = asker.ask(system, network)
        shown = "" if capped is None else f"{capped:,}" + ("" if capped == known else " of " + f"{known:,}")
        cells = [short_name(network), f"{known:,}\n{seconds_shown(ours)}", shown]
        rows.append((cells, known, ours, answers))
        document.append({
            "network": str(network), "parameters": network.parameter_count, "dimension": known, "seconds": ours,
            "rank_of_all_outputs_of_ten_inputs": capped,
            "answers": {name: figures(answer, known, ours) for name, answer in answers.items()},
        })  # fmt: skip
    compare("dimension", ["network", "certified", "ten inputs, mod p"], rows, console)
    return document, faults


def maps(asker: Asker, console: Console) -> list[dict[str, object]]:
    """Benchmark symbolic maps, by the number of their terms; rows for JSON."""
    rows: list[Row] = []
    document: list[dict[str, object]] = []
    for network in MAPS:
        terms = polynomial_map(network).term_count
        ours = median_seconds(partial(polynomial_map, network), 9)
        answers = {system.name: asker.ask(system, network) for system in TERMS_SYSTEMS}
        cells = [short_name(network), f"{terms:,}\n{seconds_shown(ours)}"]
        rows.append((cells, terms, ours, answers))
        document.append({
            "network": str(network), "terms": terms, "seconds": ours,
            "answers": {name: figures(answer, terms, ours) for name, answer in answers.items()},
        })  # fmt: skip
    compare("terms of the symbolic map", ["network", "ours"], rows, console)
    return document


def run_beside(name: str, folder: Path) -> object:
    """Run a benchmark that stands beside this one, its tables on our stdout; its JSON."""
    script, result = Path(__file__).parent / name, folder / f"{name}.json"
    if not script.exists():
        print(f"{name}: not there")
        return None
    done = subprocess.run([sys.executable, str(script), "--json", str(result)], check=False)
    if not result.exists():
        print(f"{name}: ended with {done.returncode} and no figures")
        return None
    return json.loads(result.read_text(encoding="utf-8"))


def main() -> int:
    """Print the tables; write JSON if asked to; exit 1 if one of our own answers is not the known one."""
    options = parser(__doc__, "limit", "json")
    options.add_argument("--all", action="store_true", help="also growth.py, many.py and ranks.py")
    arguments = options.parse_args()

    console, rate = Console(width=150, highlight=False), dgemm_rate()
    systems = (TORCH, *DIMENSION_SYSTEMS, *TERMS_SYSTEMS)
    missing = sorted({system.needs for system in systems if not system.installed()})
    console.print(f"dgemm here: {rate / 1e9:.0f} GFLOP/s; not installed: {', '.join(missing) or 'none'}")
    dimension_rows, faults = dimensions(Asker(arguments.limit), console)
    document: dict[str, object] = {
        "dgemm_operations_per_second": rate,
        "not_installed": missing,
        "limit_seconds": arguments.limit,
        "dimensions": dimension_rows,
        "maps": maps(Asker(arguments.limit), console),
    }
    if arguments.all:
        with tempfile.TemporaryDirectory() as folder:
            for name in BESIDE:
                sys.stdout.flush()
                document[name.removesuffix(".py")] = run_beside(name, Path(folder))
    for fault in faults:
        console.print(f"NOT THE KNOWN DIMENSION: {fault}", soft_wrap=True)
    write_json(arguments.json, document)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
