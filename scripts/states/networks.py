"""Random networks with fixed seeds, exact, as files of weights hold them. It knows nothing of the program's code."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

KINDS = ("lightning", "heads", "value-ranks", "skip", "masks", "embeddings", "softmax", "normalizations", "special")
NORMALIZATIONS = ("1 + y", "1 + y/101", "1/(1 - y)", "exp(2y)")
SPECIAL = ("zero", "rank-one", "unit", "skew", "boundary", "equal-heads", "width-one", "one-token")
RELATIONS = ("moved", "near", "moved and near", "other", "zeroed")
MOST_PARAMETERS = 40

Shape = dict[str, Any]
Matrix = list[list[Fraction]]
Named = dict[str, Matrix]


def drawn_shape(rng: Random, kind: str, special: str = "") -> Shape:
    """Draw a small shape of a kind: its own option is there, others may be."""
    while True:
        depth, others = rng.choice((1, 1, 2, 2, 3)), 0.0 if kind == "lightning" else 0.3

        def has(name: str, others: float = others) -> bool:
            return kind == name or rng.random() < others

        most = 1 if special == "width-one" else 3
        skip, normalization = has("skip"), "softmax" if has("softmax") else None
        widths = [rng.randint(1, most)] * (depth + 1) if skip else [rng.randint(1, most) for _ in range(depth + 1)]
        if kind == "normalizations":
            normalization = rng.choice(NORMALIZATIONS)
        heads = rng.randint(2, 3) if has("heads") or special == "equal-heads" else 1
        embeds = rng.choice(("E", "U", "EU")) if has("embeddings") else ""
        shape = {
            "widths": widths,
            "attention_ranks": [rng.randint(1, 3) for _ in range(depth)],
            "tokens": 1 if special == "one-token" else rng.choice((1, 2, 2, 3)),
            "normalization": normalization,
            "heads": heads,
            "value_ranks": [rng.randint(1, 2) for _ in range(depth)] if has("value-ranks") else None,
            "skip": skip,
            "causal": has("masks"),
            "embed": rng.randint(1, 3) if "E" in embeds else None,
            "unembed": rng.randint(1, 3) if "U" in embeds else None,
        }
        if sum(rows * columns for rows, columns in sizes(shape).values()) <= MOST_PARAMETERS:
            return shape


def head_name(shape: Shape, layer: int, head: int) -> str:
    """Return `1` for the first layer of a network with one head, `1.2` for its second head."""
    return str(layer) if shape["heads"] == 1 else f"{layer}.{head}"


def sizes(shape: Shape) -> dict[str, tuple[int, int]]:
    """Return rows and columns of each matrix by its name."""
    found = {} if shape["embed"] is None else {"E": (shape["widths"][0], shape["embed"])}
    for i, (before, behind) in enumerate(pairwise(shape["widths"]), start=1):
        a, inner = shape["attention_ranks"][i - 1], shape["value_ranks"]
        for h in range(1, shape["heads"] + 1):
            at = head_name(shape, i, h)
            found |= {f"Q{at}": (a, before), f"K{at}": (a, before)}
            found[f"V{at}"] = (inner[i - 1] if inner else behind, before)
            if inner:
                found[f"O{at}"] = (behind, inner[i - 1])
    return found if shape["unembed"] is None else found | {"U": (shape["unembed"], shape["widths"][-1])}


def matrix(rng: Random, rows: int, columns: int) -> Matrix:
    return [[Fraction(rng.randint(-3, 3), rng.choice((1, 1, 2))) for _ in range(columns)] for _ in range(rows)]


def product(first: Matrix, second: Matrix) -> Matrix:
    columns = list(zip(*second, strict=True))
    return [[sum((x * y for x, y in zip(row, c, strict=True)), Fraction()) for c in columns] for row in first]


def transposed(given: Matrix) -> Matrix:
    return [list(column) for column in zip(*given, strict=True)]


def bent(rng: Random, named: Named, shape: Shape, special: str) -> None:
    """Make the weights of one layer special, in place."""
    layer = rng.randint(1, len(shape["attention_ranks"]))
    for h in range(1, shape["heads"] + 1):
        at = head_name(shape, layer, h)
        query, key, value = (named[f"{letter}{at}"] for letter in "QKV")
        rows, columns = len(query), len(query[0])
        if special == "zero":
            letter = rng.choice("QKV") + at
            named[letter] = [[Fraction()] * len(row) for row in named[letter]]
        elif special == "rank-one":
            for letter in "QKV":
                given = named[letter + at]
                named[letter + at] = product(matrix(rng, len(given), 1), matrix(rng, 1, len(given[0])))
        elif special == "unit":
            named[f"V{at}"] = [[Fraction(i == j == 0) for j in range(columns)] for i in range(len(value))]
        elif special == "skew":
            query[2:] = [[Fraction()] * columns for _ in query[2:]]
            turned = [list(query[1]), [-x for x in query[0]]] if rows > 1 else []
            named[f"K{at}"] = (turned + [[Fraction()] * columns] * rows)[:rows]
        elif special == "boundary":
            line = matrix(rng, 1, columns)
            named[f"K{at}"] = line + [[Fraction()] * columns for _ in key[1:]]
            named[f"Q{at}"] = matrix(rng, 1, columns) + [[Fraction()] * columns for _ in query[1:]]
            named[f"V{at}"] = product(matrix(rng, len(value), 1), line)
        elif special == "equal-heads" and h > 1:
            for letter in "QKVO" if shape["value_ranks"] else "QKV":
                named[letter + at] = [list(row) for row in named[letter + head_name(shape, layer, 1)]]


def basis(rng: Random, size: int) -> tuple[Matrix, Matrix]:
    """Return an invertible matrix and its inverse, made of a few row operations."""
    g, inverse = ([[Fraction(i == j) for j in range(size)] for i in range(size)] for _ in range(2))
    for _ in range(size):
        i, j, x = rng.randrange(size), rng.randrange(size), Fraction(rng.choice((-1, 1, 2)), rng.choice((1, 2)))
        if i == j:
            g[i], scaled = [x * y for y in g[i]], i
            inverse = [[y / x if c == scaled else y for c, y in enumerate(row)] for row in inverse]
        else:
            g[i] = [y + x * z for y, z in zip(g[i], g[j], strict=True)]
            inverse = [[y - x * row[i] if c == j else y for c, y in enumerate(row)] for row in inverse]
    return g, inverse


def moved(rng: Random, named: Named, shape: Shape) -> Named:
    """Return other weights with the same function: other bases in heads and between layers, heads reordered."""
    widths, depth = shape["widths"], len(shape["attention_ranks"])
    free = [shape["embed"] is not None, *[True] * (depth - 1), shape["unembed"] is not None]
    bases = [basis(rng, d) if is_free else basis(Random(0), 0) for d, is_free in zip(widths, free, strict=True)]
    if shape["skip"]:
        bases = [bases[0] if all(free) else ([], [])] * (depth + 1)

    def apply(at: int, given: Matrix, *, reads: bool) -> Matrix:
        g, inverse = bases[at]
        return given if not g else product(given, inverse) if reads else product(g, given)

    found: Named = {}
    if "E" in named:
        found["E"] = apply(0, named["E"], reads=False)
    for i in range(1, depth + 1):
        for h, old in enumerate(rng.sample(range(1, shape["heads"] + 1), shape["heads"]), start=1):
            new, was = head_name(shape, i, h), head_name(shape, i, old)
            c, c_inverse = basis(rng, shape["attention_ranks"][i - 1])
            found[f"Q{new}"] = apply(i - 1, product(c, named[f"Q{was}"]), reads=True)
            found[f"K{new}"] = apply(i - 1, product(transposed(c_inverse), named[f"K{was}"]), reads=True)
            value = apply(i - 1, named[f"V{was}"], reads=True)
            if shape["value_ranks"]:
                o, o_inverse = basis(rng, shape["value_ranks"][i - 1])
                found[f"V{new}"] = product(o, value)
                found[f"O{new}"] = apply(i, product(named[f"O{was}"], o_inverse), reads=False)
            else:
                found[f"V{new}"] = apply(i, value, reads=False)
    return found | ({"U": apply(depth, named["U"], reads=True)} if "U" in named else {})


def near(rng: Random, named: Named, change: Callable[[Fraction], Fraction]) -> Named:
    """Return the weights with one entry changed."""
    found = {name: [list(row) for row in given] for name, given in named.items()}
    row = rng.choice(found[rng.choice(list(found))])
    column = rng.randrange(len(row))
    row[column] = change(row[column])
    return found


def document(named: Named, shape: Shape) -> dict[str, object]:
    """Return what a file of weights holds; a normalization that no file can name is left out."""
    known = shape["normalization"] if shape["normalization"] == "softmax" else "none"
    form = {"normalization": known, "mask": "causal" if shape["causal"] else "none", "skip": shape["skip"]}
    weights = {name: [[str(x) for x in row] for row in given] for name, given in named.items()}
    return {"schema": "lightning-sym/weights/1", "form": form, "weights": weights}


def network(kind: str, index: int) -> dict[str, Any]:
    """Return a network of a kind, and another one to compare it with."""
    rng = Random(f"{kind} {index}")
    special = SPECIAL[index % len(SPECIAL)] if kind == "special" else ""
    shape = drawn_shape(rng, kind, special)
    named = {name: matrix(rng, *size) for name, size in sizes(shape).items()}
    bent(rng, named, shape, special)
    relation = RELATIONS[index // len(SPECIAL) % len(RELATIONS)]
    other = moved(rng, named, shape) if "moved" in relation else named
    if "near" in relation:
        other = near(rng, other, lambda x: x + rng.choice((-1, 1)))
    elif relation == "zeroed":
        other = near(rng, other, lambda x: Fraction())
    elif relation == "other":
        other = {name: matrix(rng, *size) for name, size in sizes(shape).items()}
    return {"shape": shape, "first": document(named, shape), "second": document(other, shape), "relation": relation}


def large_shape(index: int, low: int, high: int) -> Shape:
    """Return a shape with sizes of so many digits: it is refused under small limits, or under any."""
    rng = Random(f"large {index}")
    shape = drawn_shape(rng, rng.choice(KINDS[:7]))
    least, most = 10 ** (low - 1), 10 ** rng.randint(low, high)
    widths = [rng.randint(least, most) for _ in shape["widths"]]
    widths = widths[:1] * len(widths) if shape["skip"] else widths
    return shape | {"widths": widths, "tokens": rng.randint(least, most), "embed": None, "unembed": None}


def words(shape: Shape) -> list[str]:
    """Return the options by which commands name a shape."""
    found = ["--tokens", str(shape["tokens"])]
    for option, key in (("--widths", "widths"), ("--ranks", "attention_ranks"), ("--value-ranks", "value_ranks")):
        found += [option, ",".join(map(str, shape[key]))] if shape[key] else []
    for option in ("heads", "embed", "unembed"):
        found += [f"--{option}", str(shape[option])] if shape[option] not in (None, 1) else []
    found += ["--normalization", "softmax"] * (shape["normalization"] == "softmax")
    return found + ["--mask", "causal"] * shape["causal"] + ["--skip"] * shape["skip"]
