"""Which weights of a softmax network have the same function as given ones, by a theorem whose hypotheses they fulfil.

In the folder `functions/fibers` (docs/certificate.md, section 4.2) `conditions` has what the theorems ask of weights,
`places` what the answers are read off, `sizes` counts dimensions.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from proofs_check.checker.functions.fibers.conditions import (
    BLOCKS,
    RANK,
    RANKS,
    RELATION,
    WORDS,
    Place,
    blocks,
    fails,
    holds,
    places,
)
from proofs_check.checker.functions.fibers.places import Field, Spaces
from proofs_check.checker.functions.fibers.sizes import OneHead, orbit_dimension
from proofs_check.checker.functions.network import NAMED, Form, Weights
from proofs_check.checker.functions.proofs import SAME, say_what_proves
from proofs_check.checker.verify import COUNT, LAYERS, SIZE, Later, need, odd_prime, scratch, take

PLACE, MANY = range(LAYERS + 1), "docs/transformer-fibers.md"
ONE, EXACT = "docs/softmax-fibers.md", f"{MANY}, Corollary 5"
ACTING = ("heads", "query-key", "value-output", "stream")
Case = tuple[Form, int, Weights]
Shown = tuple[Place, str, Field | None]
"""A condition that is listed: where, why it fails, and the field over which it is shown that it holds."""


class Theorem(NamedTuple):
    """What it is about, the lists of conditions of which it needs one, and what it says of the fiber."""

    about: Callable[[Form, int, Weights], bool]
    needs: Callable[[Form, int], tuple[tuple[str, ...], ...]]
    says: str


def _plain(form: Form, w: Weights) -> bool:
    return not form.skip and all(len(heads) == 1 for heads in w.layers)


THEOREMS = {
    f"{ONE}, Theorem 1": Theorem(
        lambda form, t, w: _plain(form, w) and not form.causal,
        lambda form, t: ((),),
        "those with the same V~ and the same A~_i up to the first blind layer",
    ),
    f"{ONE}, Theorem 4": Theorem(
        lambda form, t, w: _plain(form, w) and form.causal,
        lambda form, t: ((),),
        "those with the same V~ and the same A~_i, but for t = 2 zero ones may move past skew ones, B -> 2^(z' - z) B",
    ),
    EXACT: Theorem(
        lambda form, t, w: True,
        lambda form, t: ((*WORDS, *RANKS), *((*names, "F", "U") for names in blocks(form, t))),
        "those that differ by permutations of heads, bases of the stream, and factors of the same K^T Q and O V, also "
        "among weights of smaller widths and with fewer heads",
    ),
    f"{MANY}, Theorem 7": Theorem(
        lambda form, t, w: t == 2,
        lambda form, t: (WORDS,),
        "those with the same words U W E and formal scores, heads permuted",
    ),
    f"{MANY}, Theorem 8": Theorem(
        lambda form, t, w: len(w.layers) == 1,
        lambda form, t: ((),),
        "those with the same e U E and, with the sums M_m of U V E over the heads with E^T A E = m, the same M_m for "
        "every m, or for t = 2 the same sum of all M_m and the same M_m - M_-m",
    ),
    f"{MANY}, Theorem 11": Theorem(
        lambda form, t, w: t > 2, blocks, "those with the same words U W E and blocks E^T W^T A W E, heads permuted"
    ),
}


def _symmetries(form: Form, w: Weights) -> list[str]:
    """Return the names of what acts on the weights of every network of this shape."""
    many = any(len(heads) > 1 for heads in w.layers)
    stream = bool(w.E and w.U) if form.skip else bool(w.E or w.U or len(w.layers) > 1)
    projected = any(head.o for heads in w.layers for head in heads)
    return [name for name, there in zip(ACTING, (many, True, projected, stream), strict=True) if there]


def _conditions(case: Case, listed: list[object]) -> Iterator[Shown]:
    """Yield each one, shown."""
    form, t, w = case
    known = set(places((*WORDS, *RANKS, *BLOCKS), form, t, len(w.layers)))
    exact, residues = list[Spaces](), dict[tuple[int, int], Spaces]()
    for name, i, true, evidence in (take(x, "a condition", CONDITION) for x in listed):
        need((name, i) in known, f"there must be conditions of this network, each once, {name!a}, {i} is none")
        known.remove((name, i))
        if true:
            p, seed = take(evidence, "the evidence", RESIDUES)
            residues[p, seed] = residues.get((p, seed)) or Spaces(Field(p), *case, seed)
            need(holds(residues[p, seed], name, i), f"residues modulo {p} must show that {name} of layer {i} holds")
            yield (name, i), "", Field(p)
        else:
            exact = exact or [Spaces(Field(), *case)]
            with scratch():
                said = fails(exact[0], name, i, evidence)
            yield (name, i), said, None


def _from_theorem(case: Case, name: str | None, found: list[Shown]) -> tuple[str, int | None, int | None]:
    """Return what is known of the fiber, its dimension, and the first blind layer."""
    form, t, w = case
    claim = f"{t} tokens, for {form}, of {w}"
    if name is None:
        need(any(said for _, said, _ in found), "without a theorem there must be a condition that fails")
        return f"conditions of {MANY} that do not hold for {claim}; nothing is said of other weights", None, None
    need(THEOREMS[name].about(*case), f"{name!a} must be a theorem about this network")
    shown = {place: field for place, _, field in found if field}
    ways = [list(places(names, form, t, len(w.layers))) for names in THEOREMS[name].needs(form, t)]
    missing = [[place for place in way if place not in shown] for way in ways]
    need(not all(missing), f"{name} needs conditions that are not shown: {str(missing[0])[:100]}")
    told = f"all real weights of this shape with the function of these, of {claim}: {THEOREMS[name].says}"
    if name == EXACT:
        return told, orbit_dimension(form, w, next(iter(shown.values()))), None
    if not name.startswith(ONE):
        return told, None, None
    one = OneHead(*case)
    return told, one.dimension, one.blind


def prove(
    form: Form,
    t: int,
    weights: object,
    name: str | None,
    listed: list[object],
    symmetries: list[str],
    blind: int | None,
    minimal: bool,
    dimension: int | None,
    another: list[Any] | None,
) -> str:
    """Say which weights have the same function as these."""
    w = Weights(weights, form)
    need(form.softmax, "fibers are those of softmax networks")
    shapes = ({tuple((len(m), len(m[0]) if m else 0) for m in head) for head in heads} for heads in w.layers)
    need(all(len(each) == 1 for each in shapes), "the heads of a layer must have matrices of the same shapes")
    want = _symmetries(form, w)
    need(symmetries == want, f"the symmetries of this network must be {', '.join(want)}")
    found = list(_conditions((form, t, w), listed))
    told, size, seen = _from_theorem((form, t, w), name, found)
    need(blind == seen, f"the first blind layer must be {seen}, it is {blind}")
    need(minimal is (name == EXACT), "minimal must be true with Corollary 5, and only then")
    need(dimension == size, f"the dimension must be {size}, it is {dimension}")
    parts = [told, f"layer {seen} is blind" if seen else "", "" if size is None else f"dimension {size}"]
    parts.append("minimal in heads, widths and ranks" if minimal else "")
    held = [(place, field) for place, _, field in found if field]
    if held:
        primes = ", ".join(dict.fromkeys(str(field.p) for _, field in held))
        layers = {each: sorted(i for (name, i), _ in held if name == each) for (each, _), _ in held}
        names = "; ".join(f"{each} {','.join(map(str, at))}" for each, at in layers.items())
        page = f"{MANY}, Proposition{'s 13 and 15' if t > 2 else ' 13'}"
        parts.append(f"conditions, with their layers, that hold by residues modulo {primes}: {names} ({page})")
    failing = ", ".join(said for _, said, _ in found if said)
    parts.append(f"that do not hold over the rationals: {failing}" if failing else "")
    if another is not None:
        other, proof = Weights(another[0], form), another[1]
        said = say_what_proves(SAME, form, t, w, other, proof)
        parts.append(f"the same function is that of another one of {other}, by {said}")
    return "; ".join(part for part in [*parts, name or ""] if part)


RESIDUES = {"prime": odd_prime, "seed": range(2**64)}
CONDITION = {
    "name": frozenset((*WORDS, *RANKS, *BLOCKS)),
    "layer": PLACE,
    "holds": bool,
    "evidence": Later(RESIDUES, RELATION, RANK),
}
FORM = {"form": Form.read, "tokens": SIZE[1:], "weights": NAMED, "theorem": (frozenset(THEOREMS),)}
FORM |= {"conditions": [Later(CONDITION)], "symmetries": [frozenset(ACTING)], "blind": (PLACE,), "minimal": bool}
FORM |= {"dimension": (COUNT,), "another": ({"weights": NAMED, "proof": SAME},)}
ROWS = ((FORM, prove),)
