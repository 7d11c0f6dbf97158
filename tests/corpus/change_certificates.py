"""Random changes to certificates: of numbers, of what stands where, of the claim with all that carries it."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from change_fibers import change_fiber
from change_forms import change_form
from change_shapes import change_shapes

Document = dict[str, Any]
FAMILIES = ("query-key", "value-output", "stream", "scale", "homogeneous", "unwritten", "unread", "inside", "pattern",
            "skew", "mixing", "cancelling", "skew differences", "symmetric products",
            "first layers")  # fmt: skip
LARGEST_TABLES = 10_000
Path_ = tuple[Any, ...]


def places(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Everything in a document, with where it stands."""
    yield path, value
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def at(document: Document, path: Path_) -> Any:
    """The value at a place."""
    value: Any = document
    for key in path:
        value = value[key]
    return value


def _put(document: Document, path: Path_, value: Any) -> None:
    at(document, path[:-1])[path[-1]] = value


def _pick(document: Document, rng: random.Random, kind: Callable[[Any], bool]) -> tuple[Path_, Any] | None:
    """A place with such a value, where fields that stand near the top are as likely as long lists of numbers."""
    found = [(path, value) for path, value in places(document) if path and kind(value)]
    if not found:
        return None
    depth = rng.choice(sorted({len(path) for path, _ in found}))
    return rng.choice([each for each in found if len(each[0]) == depth])


def _integer(document: Document, rng: random.Random) -> None:
    if chosen := _pick(document, rng, lambda x: type(x) is int):
        path, x = chosen
        _put(document, path, rng.choice((x + 1, x - 1, 0, 1, -x, 2 * x, rng.randrange(4194301), rng.randrange(10**20))))


def _swap(document: Document, rng: random.Random) -> None:
    if chosen := _pick(document, rng, lambda x: isinstance(x, list) and len(x) > 1):
        _, values = chosen
        i, j = rng.sample(range(len(values)), 2)
        values[i], values[j] = values[j], values[i]


def _columns(document: Document, rng: random.Random) -> None:
    def rectangular(x: Any) -> bool:
        return isinstance(x, list) and len(x) > 0 and all(isinstance(r, list) and len(r) == len(x[0]) > 1 for r in x)

    if chosen := _pick(document, rng, rectangular):
        rows = chosen[1]
        i, j = rng.sample(range(len(rows[0])), 2)
        for row in rows:
            row[i], row[j] = row[j], row[i]


def _length(document: Document, rng: random.Random) -> None:
    if chosen := _pick(document, rng, lambda x: isinstance(x, list) and bool(x)):
        values = chosen[1]
        i = rng.randrange(len(values))
        values[i : i + 1] = [] if rng.random() < 0.5 else [values[i], deepcopy(values[i])]


def _claim(document: Document, rng: random.Random) -> None:
    """The claim and what carries it, together, so that no sum gives it away."""
    step = rng.choice((-2, -1, 1, 2))
    if document.get("kind") in ("transformer", "layers", "tensors"):
        document["dimension"] += step
    if document.get("kind") != "dimension":
        return
    bounds = document["upper_bounds"]
    for bound in bounds:
        bound["bound"] += step
        if "pieces" in bound:
            bound["pieces"][rng.randrange(len(bound["pieces"]))] += step
    document["upper"] += step
    if rng.random() < 0.7:
        document["lower"] += step
        below = document["lower_bound"]
        if step < 0:
            del below["rows"][step:], below["columns"][step:]
        else:
            below["rows"] += deepcopy(below["rows"][:step])
            below["columns"] = sorted({*below["columns"], *rng.sample(range(100), step)})


def _weights(document: Document, rng: random.Random) -> None:
    """Another point: other matrices, equal ones, matrices that are zero or of lower rank."""
    if "lower_bound" in document:
        target = rng.choice([document["lower_bound"], *(b for b in document["upper_bounds"] if "weights" in b)])
        matrix = rng.choice(target["weights"])
    else:
        matrix = rng.choice(list(document[rng.choice(("first", "second"))].values()))
    kind = rng.randrange(3)
    for i, row in enumerate(matrix):
        row[:] = [0] * len(row) if kind == 0 else matrix[0][:] if kind == 1 and i else [rng.randrange(99) for _ in row]


def _tables(network: Document, p: int, rng: random.Random) -> Any:
    """Exponentials of all heads at random; half of the tables are symmetric, as equal scores need them."""
    tokens, heads = range(network["tokens"]), (len(network["widths"]) - 1) * network["heads"]
    if heads * network["tokens"] ** 2 > LARGEST_TABLES:  # sizes after another change
        raise ValueError(f"there must be at most {LARGEST_TABLES:,} exponentials")
    tables = [[[rng.randrange(p) for _ in tokens] for _ in tokens] for _ in range(heads)]
    for table in tables:
        if rng.random() < 0.5:
            for j in tokens:
                table[j][:j] = [table[k][j] for k in range(j)]
    return tables


def _exponentials(document: Document, rng: random.Random) -> None:
    """Others at the same inputs, in one place or all; often of one more row, which would prove a larger dimension."""
    if document.get("kind") != "dimension":
        return
    below, network = document["lower_bound"], document["network"]
    rows, p = below["rows"], below["prime"]
    softmax = network["normalization"] == {"name": "softmax"}
    if softmax != (rng.random() < 0.05):
        for row in [rng.choice(rows)] if rng.random() < 0.5 else rows:
            tables = row["exponentials"] = row.get("exponentials") or _tables(network, p, rng)
            where = rng.randrange(len(tables))
            kind = rng.randrange(5)
            if kind == 0:
                row["exponentials"] = _tables(network, p, rng)
            elif kind == 1:
                tables[where] = [list(line) for line in zip(*tables[where], strict=True)]
            elif kind == 2:
                tables[where] = deepcopy(rng.choice(tables))
            else:
                line = rng.choice(tables[where])
                line[rng.randrange(len(line))] = rng.randrange(p) if kind == 3 else 0
    if rng.random() < 0.5:
        row = deepcopy(rng.choice(rows))
        row["functional"] = [[[rng.randrange(p) for _ in line] for line in C] for C in row["functional"]]
        if rng.random() < 0.5:
            row["input"] = [[rng.randrange(p) for _ in line] for line in row["input"]]
        if softmax:
            row["exponentials"] = _tables(network, p, rng)
        size = sum(len(line) for matrix in below["weights"] for line in matrix)
        rows.append(row)
        below["columns"] = sorted([*below["columns"], rng.choice(sorted({*range(size)} - {*below["columns"]}))])
        for part, key in ((document, "lower"), (document, "upper"), *((b, "bound") for b in document["upper_bounds"])):
            part[key] += 1


def _network(document: Document, rng: random.Random) -> None:
    if document.get("kind") in ("transformer", "layers"):
        parts = document["layers"] if document["kind"] == "layers" else document["network"]["layers"]
        network = rng.choice([document["network"], *parts])
        key = rng.choice(sorted(network.keys() - {"proof"}))
        value = network[key]
        network[key] = not value if isinstance(value, bool) else rng.choice((None, 1, 2, 4, (value or 0) + 1))
        return
    if document.get("kind") != "dimension":
        document["tokens"] = rng.choice((1, 2, 3))
        return
    network = document["network"]
    key = rng.choice(sorted(network))
    value = network[key]
    if isinstance(value, bool):
        network[key] = not value
    elif key == "normalization":
        network[key] = rng.choice((None, {"name": "softmax"}, {"name": "g", "taylor": ["1", "1/2"]}))
        for row in document["lower_bound"]["rows"] if rng.random() < 0.7 else ():  # as the new one needs them
            row.pop("exponentials", None)
            if network[key] == {"name": "softmax"}:
                row["exponentials"] = _tables(network, document["lower_bound"]["prime"], rng)
    elif isinstance(value, list):
        value[rng.randrange(len(value))] += rng.choice((-1, 1))
    else:
        network[key] = rng.choice((None, 1, 2, 3))


def _families(document: Document, rng: random.Random) -> None:
    for bound in document.get("upper_bounds", ()):
        names = bound.get("families", [])
        if names:
            names[rng.randrange(len(names))] = rng.choice(FAMILIES)
        bound["kind"] = rng.choice((bound["kind"], "orbit", "directions", "span"))
        bound["bound"] -= rng.randrange(3)
        document["upper"] = bound["bound"]


def _prime(document: Document, rng: random.Random) -> None:
    p = rng.choice((3, 5, 7, 11, 101, 4194287, 4194277, 4194303, 4194302, 9, 15, 2))
    for path, _ in places(deepcopy(document)):
        if path and path[-1] == "prime" and rng.random() < 0.7:
            _put(document, path, p)
            if "weights" in at(document, path[:-1]):  # residues of that prime
                part = at(document, path[:-1])
                for name in ("weights", "rows"):
                    for where, x in places(deepcopy(part.get(name, []))):
                        if type(x) is int:
                            _put(part[name], where, x % p)


def _string(document: Document, rng: random.Random) -> None:
    if chosen := _pick(document, rng, lambda x: isinstance(x, str)):
        path, text = chosen
        i = rng.randrange(len(text) + 1)
        _put(document, path, text[:i] + rng.choice("0123456789/-x ") + text[i + rng.randrange(2) :])


def _keys(document: Document, rng: random.Random) -> None:
    if chosen := _pick(document, rng, lambda x: isinstance(x, dict) and bool(x)):
        values = chosen[1]
        key = rng.choice(sorted(values))
        value = values.pop(key)
        if rng.random() < 0.5:
            values[rng.choice((key + "s", key.upper(), "prime", "bound", "Q1", "V1", "to"))] = value


CHANGES: dict[str, Callable[[Document, random.Random], None]] = {
    "integer": _integer, "swap": _swap, "columns": _columns, "length": _length, "claim": _claim, "weights": _weights,
    "network": _network, "exponentials": _exponentials,
    "families": _families, "prime": _prime, "string": _string, "keys": _keys, "shapes": change_shapes,
    "form": change_form, "fiber": change_fiber,
}  # fmt: skip


def changed_text(document: Document, rng: random.Random) -> tuple[str, bytes]:
    """Which change, and the file: one or two changes of the document, or of its bytes."""
    name = rng.choice([*CHANGES, "bytes"])
    copy = deepcopy(document)
    for kind in [name] + [rng.choice(list(CHANGES))] * (rng.random() < 0.3):
        if kind in CHANGES:
            with contextlib.suppress(
                KeyError, IndexError, ValueError, TypeError, AttributeError
            ):  # after the first one
                CHANGES[kind](copy, rng)
    data = bytearray(json.dumps(copy).encode())
    if name == "bytes":
        for _ in range(rng.choice((1, 1, 2, 5))):
            i = rng.randrange(len(data))
            data[i : i + rng.randrange(2)] = rng.choice((b"", b"0", b"1", b"7", b"-", b",", b" ", b"]", b"\xff", b'"'))
    return name, bytes(data)
