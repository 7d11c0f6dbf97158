"""Thirty models with exact learning coefficients, as data. `python scripts/write_calibration_cases.py` writes them.

`examples/calibration/cases.json` has for each model its weights, its architecture, the law of its inputs, its loss, and
lambda and m as the program proves them, so that an estimator in any language can be tried on it. A test compares the
file with what this script finds now.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from lightning_sym import (
    SOFTMAX,
    NetworkForm,
    Weights,
    learning_coefficient,
    linear_attention_coefficient,
    one_head_coefficient,
)
from lightning_sym.coefficients.reduced_rank import FactorRanks
from lightning_sym.rings.rationals import RationalMatrix

FILE = Path(__file__).parents[1] / "examples" / "calibration" / "cases.json"

ABOUT = (
    "Models at weights whose learning coefficient is exact. Near them the volume of the weights with loss below eps "
    "is, up to constants, eps^lambda log(1/eps)^(m-1). radius: how far from the weights the walkers of "
    "benchmarks/singularities.py begin."
)
I2, E11, ZERO = [[1, 0], [0, 1]], [[1, 0], [0, 0]], [[0, 0], [0, 0]]
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)

Rows = list[list[Any]]


class Case(NamedTuple):
    """A model at its weights."""

    model: str
    weights: dict[str, Rows]
    tokens: int = 2
    radius: str = "1"
    softmax: bool = False
    teacher: int | None = None


def layer(tokens: int, radius: str, *, softmax: bool = False, **matrices: Rows) -> Case:
    """Return an attention network; an underscore in a name stands for a point."""
    named = {name.replace("_", "."): rows for name, rows in matrices.items()}
    return Case("attention", named, tokens, radius, softmax)


def strings(model: str, v: int, e: int, radius: str = "1") -> Case:
    """Return a model over strings of two words, at zero weights."""
    sizes = {"E": (v, e), "Q": (e, e), "U": (e, v)}
    return Case(
        model, {name: [[0] * columns for _ in range(rows)] for name, (rows, columns) in sizes.items()}, 2, radius
    )


TEACHER: dict[str, Rows] = {"E": [[1, 0], [2, 0]], "Q": [[1, 0], [0, 0]], "U": [[1, -1], [0, 0]]}
"""Of width one, padded with zeros; `require_generic` tests what the theorems ask of it."""

CASES = {
    "layer, full ranks": layer(2, "0.15", Q1=I2, K1=[[1, 2], [0, 1]], V1=[[1, 2], [-1, 1]]),
    "layer, scores of rank one": layer(2, "0.15", Q1=E11, K1=E11, V1=[[1, 2], [0, 1]]),
    "layer, parallel, a = 1": layer(2, "0.15", Q1=[[1, 2]], K1=[[1, 0]], V1=[[1, 0], [2, 0]]),
    "layer, parallel, a = 2": layer(2, "0.15", Q1=[[1, 2], [0, 0]], K1=E11, V1=[[1, 0]]),
    "layer, parallel, rk K = 2": layer(2, "0.15", Q1=[[1, 2], [0, 0]], K1=[[1, 0], [3, 1]], V1=[[1, 0]]),
    "layer, values zero": layer(2, "0.1", Q1=[[1, 0]], K1=[[0, 1]], V1=ZERO),
    "layer, scores zero, rk K = 1": layer(2, "0.3", Q1=ZERO, K1=E11, V1=[[1, 2]]),
    "layer, all zero": layer(2, "1", Q1=ZERO, K1=ZERO, V1=[[0, 0]]),
    "layer, all zero, a = 1": layer(2, "1", Q1=[[0, 0]], K1=[[0, 0]], V1=ZERO),
    "layer, projected values": layer(2, "0.2", Q1=[[1, 0]], K1=[[1, 1]], V1=[[0, 1]], O1=[[1], [2]]),
    "one token, full ranks": layer(1, "0.15", Q1=I2, K1=[[1, 2], [0, 1]], V1=[[1, 2], [-1, 1]]),
    "one token, scores zero, a = 1": layer(1, "0.3", Q1=[[0, 0]], K1=[[0, 0]], V1=[[1, 2]]),
    "one token, scores skew, a = 2": layer(1, "0.3", Q1=ZERO, K1=ZERO, V1=[[1, 2]]),
    "one token, common factor": layer(1, "0.15", Q1=[[0, 1]], K1=[[1, 0]], V1=[[1, 0]]),
    "one token, square, a = 1": layer(1, "0.15", Q1=[[1, 0]], K1=[[1, 0]], V1=[[1, 0]]),
    "one token, square, a = 2": layer(1, "0.15", Q1=E11, K1=I2, V1=[[1, 0]]),
    "softmax, zero head": layer(
        3, "0.3", softmax=True, Q1_1=[[1, HALF]], K1_1=[[Fraction(3, 10), 1]], V1_1=[[1, 2]], O1_1=[[1], [-1]],
        Q1_2=[[-1, 1]], K1_2=[[1, HALF]], V1_2=[[1, -HALF]], O1_2=[[0], [0]],
    ),
    "softmax, heads that attend alike": layer(
        3, "0.3", softmax=True, Q1_1=[[1, HALF]], K1_1=[[QUARTER, 1]], V1_1=[[1, 2]], O1_1=[[1], [-1]],
        Q1_2=[[1, HALF]], K1_2=[[QUARTER, 1]], V1_2=[[1, -HALF]], O1_2=[[HALF], [1]],
    ),
    "softmax, embedding and unembedding": layer(
        2, "0.2", softmax=True, E=[[1, 2]], Q1=[[1]], K1=[[HALF]], V1=[[1]], U=[[1], [-1]],
    ),
    "two softmax layers, first one zero": layer(
        2, "0.3", softmax=True, Q1=[[1]], K1=[[1]], V1=[[0]], Q2=[[1]], K2=[[1]], V2=[[2]],
    ),
    "product of numbers, zero": Case("product", {"B": [[0]], "A": [[0]]}, 1),
    "product of matrices, zero": Case("product", {"B": ZERO, "A": ZERO}, 1),
    "product of matrices, one invertible": Case("product", {"B": I2, "A": ZERO}, 1, "0.1"),
    "linear attention, v = 2, e = 1": strings("linear attention", 2, 1),
    "linear attention, v = 3, e = 1": strings("linear attention", 3, 1),
    "linear attention, v = 2, e = 2": strings("linear attention", 2, 2),
    "linear attention, v = 2, e = 6": strings("linear attention", 2, 6),
    "linear attention, teacher of width 1": Case("linear attention", TEACHER, 2, "0.1", teacher=1),
    "one head, v = 2, e = 2": strings("one head", 2, 2),
    "one head, teacher of width 1": Case("one head", TEACHER, 2, "0.1", softmax=True, teacher=1),
}  # fmt: skip


def require_generic(weights: dict[str, Rows]) -> None:
    """Test what Theorems 5 and 7 ask of a teacher of width one.

    Words have numbers that are not zero and no two alike, there is a score, and the outputs are no constant: then the
    `h_a`, the columns of `g` and all coordinates `N` are not zero, and no two words have the same centred logits.

    Raises:
        ValueError: it is not generic.
    """
    words, score, outputs = [row[0] for row in weights["E"]], weights["Q"][0][0], weights["U"][0]
    rest = [row[1:] for row in weights["E"]] + [weights["Q"][0][1:]] + weights["Q"][1:] + weights["U"][1:]
    padded = any(any(row) for row in rest)
    if not all(words) or len(set(words)) < len(words) or not score or len(set(outputs)) == 1 or padded:
        raise ValueError(f"the teacher is not generic of width one, padded with zeros: {weights}")


class Proved(NamedTuple):
    """The coefficient of a case, and where it is proved."""

    value: Fraction | None
    multiplicity: int | None
    proof: str


def _attention(case: Case) -> Proved:
    found = learning_coefficient(Weights.of(case.weights, form(case)), case.tokens)
    return Proved(found.value, found.multiplicity, found.proof)


def _product(case: Case) -> Proved:
    pair = FactorRanks.of(RationalMatrix.of(case.weights["B"]), RationalMatrix.of(case.weights["A"])).pair
    return Proved(pair.value, pair.multiplicity, "docs/learning-coefficients.md, Proposition 4")


def _strings(case: Case) -> Proved:
    if case.teacher is not None:
        require_generic(case.weights)
    v, e = len(case.weights["E"]), len(case.weights["Q"])
    if case.model == "one head":
        found = one_head_coefficient(v, case.tokens, e, teacher=case.teacher)
    else:
        found = linear_attention_coefficient(v, e, teacher=case.teacher)
    return Proved(found.value, found.multiplicity, found.proof)


FIND: dict[str, Callable[[Case], Proved]] = {
    "attention": _attention, "product": _product, "linear attention": _strings, "one head": _strings,
}  # fmt: skip


def form(case: Case) -> NetworkForm:
    """Return what the network does besides."""
    return NetworkForm(SOFTMAX) if case.softmax else NetworkForm()


def _inputs(case: Case) -> dict[str, object]:
    """Return the law of the inputs: columns of numbers, or all strings of words."""
    if case.model in ("linear attention", "one head"):
        return {"law": "all strings", "words": len(case.weights["E"]), "length": case.tokens}
    first = case.weights["A" if case.model == "product" else "E" if "E" in case.weights else next(iter(case.weights))]
    law = {"law": "uniform", "from": -2, "to": 2} if case.softmax else {"law": "normal"}
    return {**law, "shape": [len(first[0]), case.tokens]}


def documents() -> Iterator[dict[str, Any]]:
    """Yield each case as the file has it."""
    for name, case in CASES.items():
        proved = FIND[case.model](case)
        yield {
            "name": name, "model": case.model, "tokens": case.tokens,
            **({"form": form(case).to_json()} if case.model == "attention" else {}),
            "weights": {k: [[str(Fraction(x)) for x in row] for row in rows] for k, rows in case.weights.items()},
            "inputs": _inputs(case),
            "loss": "Kullback-Leibler divergence" if case.model == "one head" else "half the mean squared error",
            "lambda": str(proved.value), "m": proved.multiplicity, "proof": proved.proof, "radius": float(case.radius),
        }  # fmt: skip


def text() -> str:
    """Return the file."""
    lines = ",\n".join("  " + json.dumps(each) for each in documents())
    return f'{{\n "about": {json.dumps(ABOUT)},\n "cases": [\n{lines}\n ]\n}}\n'


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8", newline="\n")
