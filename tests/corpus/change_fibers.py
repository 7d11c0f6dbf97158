"""Random changes to certificates of fibers: what is claimed, of which weights, and with which evidence."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

Document = dict[str, Any]
MANY = "docs/transformer-fibers.md"
THEOREMS = ("docs/softmax-fibers.md, Theorem 1", "docs/softmax-fibers.md, Theorem 4", f"{MANY}, Corollary 5",
            f"{MANY}, Theorem 7", f"{MANY}, Theorem 8", f"{MANY}, Theorem 11", None)  # fmt: skip
NAMES = ("a", "a'", "b", "b unmasked", "c", "a words", "o", "s", "F", "U", "S")
SYMMETRIES = ("heads", "query-key", "value-output", "stream")


def _every_condition(document: Document, rng: random.Random) -> None:
    """All conditions there can be, said to hold: the checker has to look at each."""
    depth = max(int(name[1:].split(".")[0]) for name in document["weights"] if name not in ("E", "U"))
    masked, two = document["form"]["mask"] == "causal", document["tokens"] == 2
    there = [(name, i) for name in "ab" for i in range(1, depth + 1)]
    there += [("a'", i) for i in range(1, depth) if not masked] + [("c", i) for i in range(1, depth + 1) if two]
    there += [(name, i) for name in "FUS" for i in range(depth + (name != "S"))]
    if not two:
        there += [("b unmasked" if masked else "a words", i) for i in range(1, depth + 1)]
        if document["tokens"] == 3:
            there += [("o" if masked else "s", i) for i in range(1, depth - (not masked))]
    document["conditions"] = [
        {"name": name, "layer": i, "holds": True, "evidence": {"prime": 4194301, "seed": rng.randrange(9)}}
        for name, i in there
        if rng.random() < 0.95 or name not in "FUS"
    ]


def _spoiled(weights: Document, rng: random.Random) -> None:
    """Heads that are equal, opposite, zero, skew or of another scale; ends of small rank."""
    name = rng.choice(sorted(weights))
    kind, letter = rng.randrange(6), name[0]
    if letter in "EU" or kind == 0:
        rows = weights[name]
        weights[name] = [[x * rng.choice((0, 1, 1)) if type(x) is int else x for x in row] for row in rows]
        if rng.random() < 0.4:
            weights[name] = [deepcopy(rows[0]) for _ in rows]
        return
    others = [other for other in weights if other[0] == letter and other != name]
    other = rng.choice(others) if others else name
    for c in "QKVO":
        mine, source = c + name[1:], c + other[1:]
        if mine not in weights or source not in weights or rng.random() < 0.2:
            continue
        m = deepcopy(weights[source])
        sign = -1 if kind == 2 and c in "QV" else 0 if kind == 3 and c in "VQ" and rng.random() < 0.5 else 1
        weights[mine] = [[x * sign if type(x) is int else x for x in row] for row in m]
    if kind == 4 and len(weights["K" + name[1:]]) == len(weights["Q" + name[1:]][0]) == 2:
        weights["Q" + name[1:]], weights["K" + name[1:]] = [[0, 1], [-1, 0]], [[1, 0], [0, 1]]


def _head_left_out(weights: Document) -> None:
    """The last one of each layer."""
    heads = {name.split(".")[1] for name in weights if "." in name}
    last = max(heads, default="")
    for name in [name for name in weights if "." in name]:
        m = weights.pop(name)
        if not name.endswith(f".{last}"):
            weights[name if len(heads) > 2 else name.split(".")[0]] = m


def _evidence(document: Document, rng: random.Random) -> None:
    """Another prime or seed, a relation of small numbers, a rank; what holds is said to fail, and the other way."""
    chosen = rng.choice(document["conditions"])
    kind = rng.randrange(5)
    if kind == 0:
        chosen["evidence"] = {"prime": rng.choice((3, 5, 7, 11, 4194287, 4194303)), "seed": rng.randrange(2**64)}
        chosen["holds"] = True
    elif kind == 1:
        heads = sum(1 for name in document["weights"] if name[0] == "Q" and name[1:].split(".")[0] == "1")
        chosen["evidence"] = {"relation": [rng.choice((0, 1, -1, 1, 2)) for _ in range(heads)]}
        chosen["holds"] = False
    elif kind == 2:
        chosen["evidence"], chosen["holds"] = {"rank": rng.randrange(4)}, False
    elif kind == 3:
        chosen["name"], chosen["layer"] = rng.choice(NAMES), rng.randrange(4)
    else:
        document["conditions"].remove(chosen)


def change_fiber(document: Document, rng: random.Random) -> None:
    """One or several of them, in place; certificates of other kinds stay."""
    if document.get("kind") != "fiber":
        return
    for kind in rng.choices(range(9), k=rng.choice((1, 1, 2, 3))):
        if kind == 0:
            document["theorem"] = rng.choice(THEOREMS)
            document["minimal"] = document["theorem"] == THEOREMS[2]
            if rng.random() < 0.7:
                document["dimension"] = None if rng.random() < 0.5 else rng.randrange(30)
        elif kind == 1:
            _every_condition(document, rng)
        elif kind == 2:
            document["tokens"] = rng.choice((1, 2, 3, 4))
        elif kind == 3:
            key, values = rng.choice((("mask", ("none", "causal")), ("skip", (True, False))))
            document["form"][key] = rng.choice(values)
        elif kind == 4:
            _spoiled(document["weights"], rng)
        elif kind == 5 and document["conditions"]:
            _evidence(document, rng)
        elif kind == 6:
            if document["dimension"] is not None:
                document["dimension"] += rng.choice((-2, -1, 1, 2))
            document["blind"] = rng.choice((document["blind"], None, 1, 2))
        elif kind == 7:
            _head_left_out(document["weights"])
            many = any("." in name for name in document["weights"])
            document["symmetries"] = [name for name in document["symmetries"] if many or name != "heads"]
            if rng.random() < 0.2:
                document["symmetries"] = [name for name in SYMMETRIES if rng.random() < 0.6]
        elif document["another"]:
            _spoiled(document["another"]["weights"], rng)
            document["another"]["proof"] = {"by": rng.choice(("streams", "one layer", "visible weights"))}
