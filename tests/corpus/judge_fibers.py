"""Is what a certificate of a fiber claims true? By the program's own tests and exact spaces, and balls for outputs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from judge_functions import are_the_same

from lightning_sym import Weights, fiber
from lightning_sym.fibers.conditions import Condition
from lightning_sym.fibers.hypotheses import HYPOTHESES, stream
from lightning_sym.fibers.observed_network import NetworkAtPoints, NetworkSpaces
from lightning_sym.network.form import NetworkForm

Document = dict[str, Any]
MANY = "docs/transformer-fibers.md"
EXACT = f"{MANY}, Corollary 5"


def _known(listed: tuple[Condition, ...]) -> dict[tuple[str, int], bool | None]:
    letters = {"rank E = d": "F", "rank U = d": "U", "F = R^d": "F", "rank Uh = d": "U", "rank S = d": "S"}
    names = {each.name: each.letter for each in HYPOTHESES if each.letter not in "FUS"}
    return {((names | letters)[c.name.replace("*", "")], c.layer): c.holds for c in listed}


def _decided(weights: Weights, t: int, name: str, i: int, known: dict[tuple[str, int], bool | None]) -> bool | None:
    """Whether a condition holds: exactly if that is decided, else by residues at other points."""
    spaces = NetworkSpaces(weights, t)
    if name in "FUS":
        return stream(spaces, name, i).rank == spaces.shape.widths[i]
    [hypothesis] = [each for each in HYPOTHESES if each.letter == name]
    if (holds := hypothesis.test(spaces, i).holds) is not None:
        return holds
    if known.get((name, i)) is not None:
        return known[name, i]
    return hypothesis.test(NetworkAtPoints.of(weights, t, seed=7), i).holds or None


def _is_there(shape: Any, name: str, i: int) -> bool:
    """Whether networks of this shape have this condition."""
    first, last = (0 if name in "FUS" else 1), shape.depth - (name in ("a'", "S"))
    last -= {"o": 1, "s": 2}.get(name, 0)
    about = {"a'": not shape.causal, "c": shape.tokens == 2, "a words": shape.tokens > 2 and not shape.causal}
    about |= {"b unmasked": shape.tokens > 2 and shape.causal, "o": shape.tokens == 3 and shape.causal}
    about |= {"s": shape.tokens == 3 and not shape.causal and shape.skip}
    return bool(first <= i <= last and about.get(name, True))


def fiber_is_true(document: Document) -> bool | None:
    """Whether the claim is true; `None` if that is not decided."""
    form, t = NetworkForm.from_json(document["form"]), document["tokens"]
    named = document["weights"]
    weights = Weights.of({name: [[Fraction(x) for x in row] for row in m] for name, m in named.items()}, form)
    shape = weights.architecture(t)
    if form.normalization is None or t < 2:
        return False
    found = fiber(weights, t)
    known = _known(found.conditions)
    values = {(c["name"], c["layer"]): c["holds"] for c in document["conditions"]}
    if any(not _is_there(shape, *at) for at in values):
        return False
    decided = {at: _decided(weights, t, *at, known) for at in values}
    if any(holds is not None and holds is not values[at] for at, holds in decided.items()):
        return False
    if not _theorem_holds(document, shape, found, decided):
        return False
    second = document["another"]
    same = second is None or are_the_same(
        {"form": document["form"], "tokens": t, "first": named, "second": second["weights"]}
    )
    if same is False:
        return False
    return None if same is None or None in decided.values() else True


def tensors_are_true(document: Document) -> bool | None:
    """Whether Theorem 1 of docs/deep-lightning.md holds, by the program's own residues, and its dimension by them."""
    form, t = NetworkForm.from_json(document["form"]), document["tokens"]
    weights = Weights.of(
        {name: [[Fraction(x) for x in row] for row in m] for name, m in document["weights"].items()}, form
    )
    found = fiber(weights, t)
    if not found.complete or (found.architecture.heads == 1 and t > 1 and found.total is None):
        return None
    return bool(document["dimension"] == (found.total if found.architecture.heads == 1 else None))


def _blocks(shape: Any, decided: dict[tuple[str, int], bool | None]) -> bool:
    """Whether one of the lists of Theorem 11 holds."""
    if shape.tokens < 3:
        return False
    lists = [("a", "b unmasked", "o")] if shape.causal else [("a words", "b", "s"), ("a", "a'", "b")]
    needed = [[(name, i) for name in names for i in range(1, shape.depth + 1) if _is_there(shape, name, i)]
              for names in lists]  # fmt: skip
    return any(all(decided.get(at) for at in each) for each in needed)


def _theorem_holds(document: Document, shape: Any, found: Any, decided: dict[tuple[str, int], bool | None]) -> bool:
    name, t, one = document["theorem"], document["tokens"], shape.heads == 1 and not shape.skip
    blind = found.blind if name and name.startswith("docs/softmax") else None
    dimension = found.dimension if name == EXACT or (name and name.startswith("docs/softmax")) else None
    if document["blind"] != blind or document["minimal"] is not (name == EXACT):
        return False
    if name == EXACT and not one:  # the strongest: the program says so too
        ranks = {("F", i) for i in range(shape.depth + 1)}
        first = {("S", i) for i in range(shape.depth)} <= {*decided} or _blocks(shape, decided)
        return (
            str(found.theorem).startswith("Corollary 5")
            and document["dimension"] == dimension
            and ranks <= {*decided}
            and first
        )
    if name == EXACT:  # one head: Theorem 1 or 4 gives the same number
        return bool(document["dimension"] == dimension)
    if document["dimension"] != dimension:
        return False
    words = all(decided.get((c, i)) for c in "ab" for i in range(1, shape.depth + 1))
    found_true: dict[str | None, Any] = {
        None: any(not holds for holds in decided.values()),
        "docs/softmax-fibers.md, Theorem 1": one and not shape.causal,
        "docs/softmax-fibers.md, Theorem 4": one and shape.causal,
        f"{MANY}, Theorem 7": t == 2 and words and all(decided.get(("c", i)) for i in range(1, shape.depth + 1)),
        f"{MANY}, Theorem 8": shape.depth == 1,
        f"{MANY}, Theorem 11": t > 2 and _blocks(shape, decided),
    }
    return bool(found_true[name])
