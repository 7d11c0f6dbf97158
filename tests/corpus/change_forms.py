"""Random changes to certificates of networks with a form: of the form, of heads, of the proof."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

Document = dict[str, Any]


def _heads(weights: Document) -> dict[str, list[str]]:
    """The names of the matrices of each head, by what stands behind the letter."""
    found: dict[str, list[str]] = {}
    for name in weights:
        if name not in ("E", "U"):
            found.setdefault(name[1:], []).append(name)
    return found


def _negative(m: list[list[Any]]) -> list[list[Any]]:
    return [[-x if type(x) is int else x.removeprefix("-") if x.startswith("-") else f"-{x}" for x in row] for row in m]


def change_form(document: Document, rng: random.Random) -> None:
    """One of them, in place; documents without a form stay."""
    if "form" not in document:
        return
    form, proof = document["form"], document["proof"]
    weights = document[rng.choice(("first", "second"))]
    heads = _heads(weights)
    one, other = rng.choice(sorted(heads)), rng.choice(sorted(heads))
    kind = rng.randrange(9)
    if kind == 0:
        form["skip"] = not form["skip"]
    elif kind == 1:
        form["mask"] = "none" if form["mask"] == "causal" else "causal"
    elif kind == 2:
        form["normalization"] = "none" if form["normalization"] == "softmax" else "softmax"
    elif kind == 3:
        document["tokens"] = rng.choice((1, 2, 3))
    elif kind == 4:  # the other claim, or another theorem
        document["kind"] = rng.choice(("same", "different"))
        if proof["by"] != "input" or rng.random() < 0.5:
            document["proof"] = {"by": rng.choice(("streams", "tensors", "visible weights", "one layer"))}
    elif kind == 5:  # opposite scores, or values
        name = rng.choice(("Q", "V")) + one
        weights[name] = _negative(weights[name])
    elif kind == 6:  # a head less, or another one in its place
        for name in heads[one]:
            if rng.random() < 0.5 or one == other:
                weights[name] = [[0] * len(row) for row in weights[name]]
            elif name[0] + other in weights:
                weights[name] = deepcopy(weights[name[0] + other])
    elif kind == 7:  # two heads change some of their matrices
        for letter in rng.sample("QKVO", rng.randint(1, 3)):
            if letter + one in weights and letter + other in weights:
                weights[letter + one], weights[letter + other] = weights[letter + other], weights[letter + one]
    else:  # the network is compared with itself, one thing changed
        document["second"] = deepcopy(document["first"])
        name = rng.choice(sorted(weights))
        rows = document["second"].get(name) or [[0]]
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice((0, 1, -1, 2))
