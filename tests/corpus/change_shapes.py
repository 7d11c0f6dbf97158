"""Random changes of shapes in certificates: sizes of networks, and networks between the two that are compared.

Every change is consistent in itself, as one of a careful forger: all matrices that have a size change with it.
"""

from __future__ import annotations

import random
from copy import deepcopy
from fractions import Fraction
from typing import Any

Document = dict[str, Any]
LARGEST = 10_000
Size = tuple[str, int]
"""A size of a network: ("d", i), ("a", i), ("b", i), ("n", 0), ("m", 0) or ("t", 0)."""


def _resize(matrix: list[list[Any]], sides: tuple[Size, Size], size: Size, places: list[int]) -> list[list[Any]]:
    """A matrix with other rows and columns where they have this size: those at these places."""
    rows = [matrix[j] for j in places] if sides[0] == size else matrix
    return [[row[j] for j in places] if sides[1] == size else list(row) for row in rows]


def _places(count: int, rng: random.Random) -> list[int]:
    """One less or one more of so many."""
    if count > LARGEST:  # after another change
        raise ValueError(f"sizes that are changed must be at most {LARGEST:,}")
    kept = list(range(count))
    if count > 1 and rng.random() < 0.5:
        del kept[rng.randrange(count)]
    else:
        kept.insert(rng.randrange(count + 1), rng.randrange(count))
    return kept


# ---- dimensions


def _sides(network: Document) -> list[tuple[Size, Size]]:
    """The sizes of all weights, in the order of the grammar."""
    last, found = len(network["widths"]) - 1, list[tuple[Size, Size]]()
    if network["embed"]:
        found.append((("d", 0), ("n", 0)))
    for i in range(1, last + 1):
        for _ in range(network["heads"]):
            found += [(("a", i), ("d", i - 1))] * 2
            inner = ("b", i) if network["value_ranks"] else ("d", i)
            found += [(inner, ("d", i - 1)), (("d", i), inner)][: 2 if network["value_ranks"] else 1]
    return found + [(("m", 0), ("d", last))] * bool(network["unembed"])


def _a_dimension(document: Document, rng: random.Random) -> None:
    """Another size, in the network, in all weights, inputs, functionals and tables; often also with another claim."""
    network, below = document["network"], document["lower_bound"]
    lists = {"d": "widths", "a": "attention_ranks", "b": "value_ranks"}
    names = {"t": "tokens", "n": "embed", "m": "unembed"}
    counts = {letter: len(network[key] or ()) for letter, key in lists.items()}
    sizes: list[Size] = [(letter, i + (letter != "d")) for letter, count in counts.items() for i in range(count)]
    size = rng.choice(sizes + [(letter, 0) for letter, key in names.items() if network[key]])
    letter, i = size
    values: Any = network[lists[letter]] if letter in lists else network
    key: Any = i - (letter != "d") if letter in lists else names[letter]
    places = _places(values[key], rng)
    values[key] = len(places)
    for part in (below, *(bound for bound in document["upper_bounds"] if "weights" in bound)):
        pairs = zip(part["weights"], _sides(network), strict=True)
        part["weights"] = [_resize(matrix, sides, size, places) for matrix, sides in pairs]
    first: Size = ("n", 0) if network["embed"] else ("d", 0)
    last: Size = ("m", 0) if network["unembed"] else ("d", len(network["widths"]) - 1)
    for row in below["rows"]:
        row["input"] = _resize(row["input"], (first, ("t", 0)), size, places)
        row["functional"] = [_resize(C, (last, ("t", 0)), size, places) for C in row["functional"]]
        if "exponentials" in row:
            row["exponentials"] = [_resize(E, (("t", 0), ("t", 0)), size, places) for E in row["exponentials"]]
    step = rng.choice((0, 0, -1, -2, 1))
    document["upper"] += step
    for bound in document["upper_bounds"]:
        bound["bound"] += step
    if document["lower"] > document["upper"]:
        document["lower"] = document["upper"]
        del below["rows"][document["lower"] :], below["columns"][document["lower"] :]


# ---- pairs of networks


def _depth(weights: Document) -> int:
    return len(weights) // 3


def resized(weights: Document, rng: random.Random) -> Document:
    """Weights with another width, at the ends or between layers, or another attention rank."""
    depth = _depth(weights)
    size: Size = rng.choice([("d", i) for i in range(depth + 1)] + [("a", i) for i in range(1, depth + 1)])
    letter, i = size
    count = len(weights[f"Q{i}"] if letter == "a" else weights["V" + str(i)] if i else weights["V1"][0])
    places, found = _places(count, rng), {}
    for j in range(1, depth + 1):
        for name, rows in ((f"Q{j}", ("a", j)), (f"K{j}", ("a", j)), (f"V{j}", ("d", j))):
            found[name] = _resize(weights[name], (rows, ("d", j - 1)), size, places)
    return found


def deepened(weights: Document, rng: random.Random) -> Document:
    """Weights with a layer twice, or one less; where widths do not fit any more the file says so."""
    depth, at = _depth(weights), rng.randrange(1, _depth(weights) + 1)
    order = [j for j in range(1, depth + 1) for _ in range(1 + (j == at))]
    if depth > 1 and rng.random() < 0.5:
        order = [j for j in range(1, depth + 1) if j != at]
    return {f"{s}{n}": deepcopy(weights[f"{s}{j}"]) for n, j in enumerate(order, 1) for s in "QKV"}


def forms(weights: Document) -> list[Fraction]:
    """The numbers V_kl A_ij + V_ki A_lj of the first layer in a row, as one lists them without a look at the shape."""
    q, k, v = ([[Fraction(x) for x in row] for row in weights[f"{s}1"]] for s in "QKV")
    width = range(len(q[0]))
    a = [[sum(x[i] * y[j] for x, y in zip(k, q, strict=True)) for j in width] for i in width]
    return [row[n] * a[i][j] + row[i] * a[n][j] for row in v for i in width for n in width for j in width]


def read_again(weights: Document) -> Document:
    """One layer of input width one with the same numbers in a row, and so of another output width."""
    return {"Q1": [[1]], "K1": [[1]], "V1": [[str(x / 2)] for x in forms(weights)]}


def _small(rng: random.Random) -> Document:
    """One layer of two or three inputs and few outputs; often with a form that is skew, or symmetric."""
    d, d_out, half = rng.choice((2, 2, 3)), rng.choice((1, 1, 2)), rng.random()
    a = [[rng.randrange(-1, 2) for _ in range(d)] for _ in range(d)]
    if half < 0.7:  # only symmetric parts count at one token
        sign = -1 if half < 0.5 else 1
        a = [[a[i][j] if i > j else sign * a[j][i] * (i != j) for j in range(d)] for i in range(d)]
    one = [[int(i == j) for j in range(d)] for i in range(d)]
    return {"Q1": a, "K1": one, "V1": [[rng.randrange(-1, 2) for _ in range(d)] for _ in range(d_out)]}


def _unit(m: list[Any]) -> list[list[int]]:
    """The identity, as large as the matrix has rows."""
    return [[int(i == j) for j in range(len(m))] for i in range(len(m))]


def trivial_step(weights: Document, rng: random.Random) -> Document:
    """A step that leads from weights to themselves."""
    depth = _depth(weights)
    kind = rng.choice(("group", "rescaling", "layer", "layer", "zero"))
    if kind == "group":
        return {"step": kind, "query_key": [_unit(weights[f"Q{i}"]) for i in range(1, depth + 1)],
                "between": [_unit(weights[f"V{i}"]) for i in range(1, depth)], "scales": [1] * depth}  # fmt: skip
    if kind == "rescaling":
        return {"step": kind, "factors": [1] * depth, "value_factor": 1}
    return {"step": kind} if kind == "zero" else {"step": kind, "layer": rng.randrange(1, depth + 1)}


def _a_pair(document: Document, rng: random.Random) -> None:
    """Other shapes of the networks that steps lead to, or of both ends; steps more, and less."""
    change = rng.choice((resized, resized, deepened))
    steps = document.get("steps")
    if steps is None or rng.random() < 0.2:  # the two that are compared, or one of them
        for side in rng.choice((["first"], ["second"], ["first", "second"])):
            seed = rng.randrange(10**6)
            document[side] = change(document[side], random.Random(seed if rng.random() < 0.5 else seed + 1))
        if steps is None and rng.random() < 0.5:
            places = _places(len(document["input"]), rng)
            document["input"] = _resize(document["input"], (("d", 0), ("t", 0)), ("d", 0), places)
        return
    if rng.random() < 0.5:  # on the way through another shape with the same numbers in a row
        document["tokens"] = rng.choice((1, 1, 2))
        way = [_small(rng), _small(rng)]
        while len(forms(way[0])) != len(forms(way[1])):
            way[1] = _small(rng)
        document["first"], document["second"] = map(read_again, way)
        if rng.random() < 0.5:
            document["first"]["V1"] = [[0] for _ in document["first"]["V1"]]
            steps[:] = [{"step": "zero", "to": way[1]}]
        else:
            steps[:] = [{"step": "layer", "layer": 1, "to": way[0]}, trivial_step(way[0], rng) | {"to": way[1]}]
        steps.append({"step": "layer", "layer": 1})
        return
    here, at = document["first"], rng.randrange(len(steps))
    for item in steps[:at]:
        here = item["to"]
    there = change(here, rng)
    there = change(there, rng) if rng.random() < 0.3 else there
    if "to" in steps[at] and rng.random() < 0.5:
        steps[at]["to"] = change(steps[at]["to"], rng)
    else:
        steps[at:at] = [trivial_step(here, rng) | {"to": there}, trivial_step(there, rng) | {"to": deepcopy(here)}]


def change_shapes(document: Document, rng: random.Random) -> None:
    """One change of shapes, in place."""
    (_a_dimension if document.get("kind") == "dimension" else _a_pair)(document, rng)
