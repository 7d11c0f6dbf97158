"""Random changes to good certificates: does the checker accept one whose claim is false?

    python tests/corpus/mutate_certificates.py [--count 2000] [--seed 0] [--json FILE]

What the checker accepts in spite of the change is decided by another road: bounds of the dimension by the program
itself, the same function or not by its own answer, and for networks with a form by balls around their outputs. Exits
with 1 if a false claim was accepted.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from change_certificates import Document, changed_text
from judge_fibers import fiber_is_true, tensors_are_true
from judge_functions import are_the_same
from rich.console import Console
from rich.progress import track
from rich.table import Table

from lightning_sym import (
    SOFTMAX,
    Architecture,
    Normalization,
    Weights,
    certified_dimension,
    same_function,
    swap,
    transform,
)
from lightning_sym.certificates.dimension import dimension_certificate
from lightning_sym.certificates.files import certificate_text
from lightning_sym.certificates.same_function import same_certificate
from lightning_sym.dimension.blocks import Layers, Transformer
from lightning_sym.errors import BadInput
from lightning_sym.fibers.same_function import Answer
from proofs_check.checker import verify

GOOD = Path(__file__).parent / "good"
LARGEST_JACOBIAN = 300
"""Parameters of a transformer whose dimension is taken from a Jacobian."""
FRESH = (
    (Architecture((2, 2, 2), (2, 2), 2), True),
    (Architecture((2, 2, 2), (1, 2), 2, causal=True), True),
    (Architecture((2, 3, 2), (2, 2), 2), False),
    (Architecture((2, 2), (2,), 2, heads=2, skip=True), True),
    (Architecture((3, 3), (2,), 2, normalization=SOFTMAX), True),
    (Architecture((2, 1, 2), (2, 2), 3, normalization=SOFTMAX), True),
    (Architecture((1, 2, 2), (1, 2), 2, normalization=SOFTMAX, heads=2), True),
    (Architecture((2, 2, 2), (1, 2), 2, normalization=SOFTMAX, causal=True, embed=1), True),
)


def certificates() -> dict[str, Document]:
    """Those of the corpus, and some written now, by name."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(GOOD.glob("*.json"))}
    for k, (network, all_bounds) in enumerate(FRESH):
        found[f"fresh_{k}"] = dimension_certificate(certified_dimension(network, all_bounds=all_bounds))
    first = Weights.random(Architecture((2, 3, 2), (2, 1), 2), seed=5, denominator=3)
    second = transform(first, query_key={1: [[1, 2], [0, 1]]}, scales={2: Fraction(-1, 2)})
    one = Weights.random(Architecture((2, 2), (1,), 2), seed=6)
    one = Weights.of(one.named() | {"V1": [[1, 2], [2, 4]]})
    for k, (a, b) in enumerate(((first, second), (one, swap(one)), (first, one))):
        found[f"pair_{k}"] = same_certificate(same_function(a, b, 2), a, b, 2)
    return found


def _polynomial(name: str, coefficients: list[Fraction]) -> Normalization:
    return Normalization(name, lambda k: coefficients[k] if k < len(coefficients) else Fraction(0))


def _architecture(data: Document) -> Architecture:
    g, normalization = data["normalization"], None
    if g is not None:
        coefficients = [Fraction(c) for c in g.get("taylor", ())]
        normalization = SOFTMAX if g["name"] == "softmax" else _polynomial(g["name"], coefficients)
    return Architecture(
        tuple(data["widths"]),
        tuple(data["attention_ranks"]),
        data["tokens"],
        normalization=normalization,
        heads=data["heads"],
        value_ranks=None if data["value_ranks"] is None else tuple(data["value_ranks"]),
        skip=data["skip"],
        causal=data["causal"],
        embed=data["embed"],
        unembed=data["unembed"],
    )


def named_alike(network: Document) -> str:
    """The network, as text that is the same for equal normalizations: a name and a factor make no difference.

    Example:
        >>> halves, ones = ({"normalization": {"name": n, "taylor": [n, n, 0]}} for n in ("1/2", "1"))
        >>> named_alike(halves) == named_alike(ones)
        True
    """
    g = network["normalization"]
    if g and "taylor" in g:
        coefficients = [Fraction(c) for c in g["taylor"]]
        while not coefficients[-1]:
            coefficients.pop()
        first = next(c for c in coefficients if c)
        network = network | {"normalization": {"name": "g", "taylor": [str(c / first) for c in coefficients]}}
    return json.dumps(network, sort_keys=True)


@cache
def _bounds(network: str) -> tuple[int, int]:
    result = certified_dimension(_architecture(json.loads(network)), all_bounds=True)
    return result.lower, result.upper


def _exact_weights(matrices: Document) -> Weights:
    exact: dict[str, Any] = {name: [[Fraction(x) for x in row] for row in m] for name, m in matrices.items()}
    return Weights.of(exact)


def is_true(document: Document, known: dict[str, tuple[int, int]]) -> bool | None:
    """Whether the claim of a certificate is true, by the program itself; `None` if that does not decide it.

    Args:
        document: the certificate.
        known: bounds of dimensions that were proved elsewhere, by network.
    """
    try:
        if document["kind"] == "dimension":
            network = named_alike(document["network"])
            least, most = known.get(network) or _bounds(network)
            if document["lower"] <= least and most <= document["upper"]:
                return True
            return False if document["lower"] > most or document["upper"] < least else None
        if document["kind"] == "transformer":
            return _transformer_is_true(document)
        if document["kind"] == "layers":
            return _sum_is_true(document)
        if document["kind"] == "fiber":
            return fiber_is_true(document)
        if document["kind"] == "tensors":
            return tensors_are_true(document)
        if "form" in document:
            same = are_the_same(document)
            return None if same is None else same is (document["kind"] == "same")
        first, second = (_exact_weights(document[side]) for side in ("first", "second"))
        answer = same_function(first, second, document["tokens"]).answer
    except (BadInput, ZeroDivisionError):
        return None
    return None if answer is Answer.UNDECIDED else answer.value == document["kind"]


def _transformer_is_true(document: Document) -> bool:
    """The dimension by a Jacobian where that is small, nothing tied or shared, else by the program's own count."""
    network = document["network"]
    layers = tuple(Layers(each["count"], each["rank"], each["value_rank"]) for each in network["layers"])
    shape = Transformer(
        network["width"], layers, *(network[key] for key in ("heads", "groups", "embed", "unembed", "tied"))
    )
    ranks, values = ([getattr(each, name) for each in layers for _ in range(each.count)] for name in "ab")
    mixed = None in values and any(values)
    if shape.parameters > LARGEST_JACOBIAN or shape.tied or shape.groups != shape.heads or mixed:
        return bool(shape.dimension == document["dimension"])
    plain = Architecture(
        (shape.width,) * (len(ranks) + 1), tuple(ranks), 2, SOFTMAX, heads=shape.heads,
        value_ranks=None if None in values else tuple(values), skip=True, embed=shape.embed, unembed=shape.unembed,
    )  # fmt: skip
    return bool(certified_dimension(plain).value == document["dimension"])


def _sum_is_true(document: Document) -> bool:
    """The dimension by a Jacobian of the whole where that is small, else by the program's own sum."""
    network, layers = document["network"], document["layers"]
    ranks, values = ([each[name] for each in layers for _ in range(each["count"])] for name in ("rank", "value_rank"))
    if None in values and any(values):
        values = [value or network["width"] for value in values]
    shape = Architecture(
        (network["width"],) * (len(ranks) + 1), tuple(ranks), 2, heads=network["heads"], skip=True,
        value_ranks=None if None in values else tuple(values), embed=network["embed"], unembed=network["unembed"],
    )  # fmt: skip
    return bool(certified_dimension(shape).value == document["dimension"])


@dataclass
class Tally:
    """How many mutants of each kind, and what the checker should not have accepted."""

    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    def total(self, verdict: str) -> int:
        """Mutants with this verdict."""
        return sum(counter[verdict] for counter in self.verdicts.values())


def accepted(path: Path) -> bool:
    """What the checker says of a file, as a command would."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = verify.main([str(path)])
    line = output.getvalue()
    if line.count("\n") != 1 or (code == 0) != (": proved: " in line):
        raise AssertionError(f"exit code {code} does not fit {line[:300]!r}")
    return code == 0


def mutate(count: int, seed: int, progress: bool = False) -> Tally:
    """Check this many changed certificates.

    Args:
        count: how many.
        seed: of the changes.
        progress: show it.
    """
    rng, found = random.Random(seed), Tally()
    originals = certificates()
    known = {}
    for document in originals.values():
        g = document.get("network", {}).get("normalization")
        if g and "taylor" in g:  # values of a rational normalizer, found in the claim itself
            network = named_alike(document["network"])
            known[network] = document["lower"], document["upper"]
    names = sorted(originals)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant.json"
        for _ in track(range(count), disable=not progress):
            name = rng.choice(names)
            change, data = changed_text(originals[name], rng)
            path.write_bytes(data)
            verdict = "rejected"
            if accepted(path):
                document = json.loads(data)
                truth = True if document == originals[name] else is_true(document, known)
                verdict = {True: "accepted, true", False: "accepted, FALSE", None: "undecided"}[truth]
                if truth is not True:
                    (found.wrong if truth is False else found.undecided).append(certificate_text(document))
            found.verdicts.setdefault(change, Counter())[verdict] += 1
    return found


def main() -> int:
    """Print the table; write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="how many changed certificates")
    parser.add_argument("--seed", type=int, default=0, help="of the changes")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    found = mutate(arguments.count, arguments.seed, progress=True)
    verdicts = ("rejected", "accepted, true", "accepted, FALSE", "undecided")
    table = Table(title=f"{arguments.count:,} changed certificates, seed {arguments.seed}")
    for name in ("change", *verdicts):
        table.add_column(name, justify="left" if name == "change" else "right")
    for change, counter in sorted(found.verdicts.items()):
        table.add_row(change, *(f"{counter[v]:,}" for v in verdicts))
    table.add_row("all", *(f"{found.total(v):,}" for v in verdicts))
    console = Console()
    console.print(table)
    for text in found.wrong[:5] + found.undecided[:5]:
        console.print(text[:1000], markup=False)
    if arguments.json:
        arguments.json.write_text(json.dumps(vars(found), indent=1), encoding="utf-8")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
