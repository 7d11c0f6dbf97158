"""What is asked of a state: pages, examples, random networks, pairs of checkpoints, certificates, names.

A corpus is made once, of the pages, examples and certificates of one checkout and of drawn networks, and handed to both
states as files. An item is asked in one go: a network, a session of commands in a folder, or the names.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import comb
from pathlib import Path
from typing import Any

from refresh_pages import examples

from states import models, networks

Item = dict[str, Any]

GROUP = 400
"""Items that one process is asked: a new one for more, so that what it keeps is no reason to refuse."""
PARTS = ("names", "pages", "examples", "networks", "limits", "checkpoints", "certificates")
ASKS = (
    "shape", "ambient", "dimension", "conserved", "degree", "orbits", "weights", "output", "virtual",
    "conditions", "fiber", "canonical", "classify", "same-itself", "same", "same-back",
    "jet", "recover-jet", "rescaled", "swapped", "plan",
)  # fmt: skip
OF_SHORT = ("function", "recover")
OF_TINY = ("rank", "generic-rank")
OF_SMALL = ("map", "singular", 'equations {"work": 1}')
CERTIFICATES = ("dimension-certificate", "fiber-certificate", "same-certificate")
LIMITED = (
    'dimension {"memory": 1000000}', 'map {"memory": 1000000}', 'conserved {"memory": 1000000}',
    'degree {"work": 0.001}', 'equations {"work": 0.001}', "orbits",
)  # fmt: skip
GIANT = ("dimension", "map", "conserved", "degree", "equations", "singular", "orbits")
LIMITED_WEIGHTS = (
    'fiber {"work": 0.0001}', 'same {"work": 0.0001}', 'canonical {"work": 0.0001}', 'canonical {"memory": 10}',
    'classify {"memory": 10}', 'classify {"work": 0.00001}', 'function {"memory": 10}', 'recover {"work": 0.00001}',
    'recover {"memory": 10}', 'equations {"work": 0.00001}', 'conserved {"memory": 10}', 'dimension {"memory": 10}',
)  # fmt: skip


@dataclass(frozen=True)
class Corpus:
    """What is asked, and the files that questions are about, by their paths in the folder of a session."""

    items: tuple[Item, ...]
    files: dict[str, bytes]

    @property
    def digest(self) -> str:
        """Two corpora with the same digest ask the same."""
        hashed = hashlib.sha256(json.dumps(self.items).encode())
        for name, data in sorted(self.files.items()):
            hashed.update(name.encode() + b"\0" + data)
        return hashed.hexdigest()

    def written(self, folder: Path) -> None:
        """Write the files, and the items by group: what one process is asked."""
        for name, data in self.files.items():
            path = folder / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for name, items in self.groups.items():
            (folder / name).write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")

    @property
    def groups(self) -> dict[str, tuple[Item, ...]]:
        """The items by the names of their files, each for one process: of one part, and not too many."""
        found: dict[str, tuple[Item, ...]] = {}
        for part in dict.fromkeys(item["name"].partition("/")[0] for item in self.items):
            own = tuple(item for item in self.items if item["name"].startswith(f"{part}/"))
            found |= {f"{part}-{i}.jsonl": own[i : i + GROUP] for i in range(0, len(own), GROUP)}
        return found


def corpus(checkout: Path, count: int, parts: tuple[str, ...] = PARTS, *, quick: bool = False) -> Corpus:
    """Make the corpus: so many networks of each kind; a quick one leaves out long pages and most checkpoints."""
    files = {
        str(path.relative_to(checkout)): path.read_bytes()
        for path in sorted((checkout / "examples").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    items: list[Item] = []
    if "names" in parts:
        items.append({"name": "names/public", "kind": "names"})
    if "pages" in parts:
        items += _pages(checkout, quick=quick)
    if "examples" in parts:
        items += _examples(files)
    if "networks" in parts:
        items += [item for kind in networks.KINDS for i in range(count) for item in _network(kind, i)]
    if "limits" in parts:
        items += _limits(max(count // 5, 1))
    if "checkpoints" in parts:
        items += _checkpoints(files, max(count // 1000, 1), 6 if quick else 1)
    if "certificates" in parts:
        items += _certificates(checkout, files)
    return Corpus(tuple(items), files)


def _session(name: str, commands: list[str], **more: object) -> Item:
    return {"name": name, "kind": "session", "examples": [["console", each] for each in commands], **more}


def _pages(checkout: Path, *, quick: bool) -> Iterator[Item]:
    """Yield the commands and the Python of each page, one reader a page."""
    for page in sorted([checkout / "README.md", *(checkout / "docs").rglob("*.md")]):
        found = [[each.kind, each.source] for each in examples(page.read_text(encoding="utf-8"))]
        if quick:  # all claims are checked by their own tests
            found = [
                each for each in found if not each[1].startswith(("lightning-sym check --quick", "lightning-sym sweep"))
            ]
        if found:
            yield {"name": f"pages/{page.relative_to(checkout)}", "kind": "session", "examples": found}


def _shape_of(document: Item, tokens: int) -> networks.Shape:
    """Return the shape of a file of weights."""
    form = document.get("form", {"normalization": "none", "mask": "none", "skip": False})
    sizes = {name: (len(m), len(m[0])) for name, m in document.get("weights", document).items() if name != "form"}
    heads = max(int(name.partition(".")[2] or 1) for name in sizes)
    depth = max(int(name[1:].partition(".")[0] or 0) for name in sizes)
    first = [str(i) if heads == 1 else f"{i}.1" for i in range(1, depth + 1)]
    projected = f"O{first[0]}" in sizes
    return {
        "widths": [sizes[f"Q{first[0]}"][1], *(sizes[("O" if projected else "V") + at][0] for at in first)],
        "attention_ranks": [sizes[f"Q{at}"][0] for at in first],
        "tokens": tokens,
        "normalization": None if form["normalization"] == "none" else form["normalization"],
        "heads": heads,
        "value_ranks": [sizes[f"V{at}"][0] for at in first] if projected else None,
        "skip": form["skip"],
        "causal": form["mask"] == "causal",
        "embed": sizes["E"][1] if "E" in sizes else None,
        "unembed": sizes["U"][0] if "U" in sizes else None,
    }


def _examples(files: dict[str, bytes]) -> Iterator[Item]:
    """Yield each file of the examples under each question, and with each other one."""
    documents = {name: json.loads(files[name]) for name in files if name.count("/") == 1 and name.endswith(".json")}
    weights = [name for name, found in documents.items() if "Q1" in (w := found.get("weights", found)) or "Q1.1" in w]
    for name in documents:
        asked = [
            f"lightning-sym {command} {name}" for command in ("recover", "verify", "figure fiber", "dimension --config")
        ]
        for tokens in (1, 2, 3):
            asked += [f"lightning-sym {c} {name} --tokens {tokens}" for c in ("fiber", "canonical", "classify")]
            asked += [f"lightning-sym {c} --weights {name} --tokens {tokens}" for c in ("phi", "conserved")]
            if name in weights:
                shape = " ".join(networks.words(_shape_of(documents[name], tokens)))
                equations = ["equations --work 1"] * (tokens == 1 or " --heads " not in shape)
                asked += [f"lightning-sym {command} {shape}" for command in ("dimension", "degree", *equations)]
        asked += [f"lightning-sym same {name} {other}" for other in weights]
        yield _session(f"examples/{Path(name).stem}", asked)
    folders = sorted(
        {str(Path(name).parent) for name in files if name.endswith("config.json") and name.count("/") == 3}
    )
    for folder in folders:
        yield _session(f"examples/{Path(folder).name}", _of_checkpoint(folder))
    for first, second in permutations(folders, 2):
        yield _session(f"examples/{Path(first).name}-{Path(second).name}", _of_pair(first, second))


def _network(kind: str, index: int) -> Iterator[Item]:
    """Yield a network under the questions of the library; each third one under commands too."""
    found = networks.network(kind, index)
    shape = found["shape"]
    parameters = sum(rows * columns for rows, columns in networks.sizes(shape).values())
    inputs, degree = shape["widths"][0] * shape["tokens"], 3 ** len(shape["attention_ranks"])
    asks = [*ASKS, *OF_SHORT * (comb(inputs + degree - 1, degree) <= 5000)]
    asks += [*OF_SMALL * (parameters <= 12), *OF_TINY * (parameters <= 8), *CERTIFICATES * (index % 5 == 0)]
    yield {"name": f"networks/{kind}/{index}", "kind": "network", "asks": asks, **found}
    if index % 3 == 0 and kind != "normalizations":
        at, of = f"--tokens {shape['tokens']} --json", " ".join(networks.words(shape)) + " --json"
        asked = [f"lightning-sym {command} first.json {at}" for command in ("fiber", "canonical", "classify")]
        asked += [f"lightning-sym same first.json second.json {at}", f"lightning-sym phi --weights first.json {at}"]
        asked += [f"lightning-sym {command} {of}" for command in ("dimension", "degree", "conserved")]
        given = {f"{name}.json": json.dumps(found[name]) for name in ("first", "second")}
        yield _session(f"networks/{kind}/{index}-commands", asked, files=given)


def _limits(count: int) -> Iterator[Item]:
    """Yield questions that are too large for a small limit, or for any: who refuses is part of the answer."""
    for i in range(count):
        yield {"name": f"limits/large/{i}", "kind": "network", "asks": LIMITED, "shape": networks.large_shape(i, 1, 3)}
        yield {"name": f"limits/giant/{i}", "kind": "network", "asks": GIANT, "shape": networks.large_shape(i, 5, 9)}
        found = networks.network(networks.KINDS[i % len(networks.KINDS)], i)
        yield {"name": f"limits/small/{i}", "kind": "network", "asks": LIMITED_WEIGHTS, **found}


def _of_checkpoint(folder: str) -> list[str]:
    return [f"lightning-sym circuits {folder}", f"lightning-sym circuits {folder} --fingerprint"]


def _of_pair(first: str, second: str) -> list[str]:
    return [
        f"lightning-sym same {first} {second} --output symmetry.json",
        f"lightning-sym same {first} {second} --exact --ids 1,2,0",
        f"lightning-sym circuits {first} --against {second}",
    ]


def _checkpoints(files: dict[str, bytes], seeds: int, step: int) -> Iterator[Item]:
    """Yield pairs of each family, some of them drawn where there are too many."""
    for family in models.FAMILIES:
        for seed in range(seeds):
            drawn = list(enumerate(models.pairs(family, seed)))
            for i, (change, first, second) in random.Random(0).sample(drawn, len(drawn) // step):
                folder = f"checkpoints/{family}/{seed}.{i}-{re.sub(r'[ ,]+', '-', change)}"
                for side, given in (("first", first), ("second", second)):
                    files |= {f"{folder}/{side}/{name}": data for name, data in given.items()}
                asked = _of_pair(f"{folder}/first", f"{folder}/second") + _of_checkpoint(f"{folder}/second")
                yield _session(folder, asked)


def _certificates(checkout: Path, files: dict[str, bytes]) -> Iterator[Item]:
    """Yield the good and the bad certificates of the tests, for the checker."""
    for kind in ("good", "bad"):
        found = sorted((checkout / "tests" / "corpus" / kind).glob("*.json"))
        files |= {f"certificates/{kind}/{path.name}": path.read_bytes() for path in found}
        names = [f"certificates/{kind}/{path.name}" for path in found]
        asked = [
            f"python -I -S proofs_check/checker/verify.py {' '.join(names)}",
            f"lightning-sym verify {' '.join(names)}",
        ]
        yield _session(f"certificates/{kind}", asked)
