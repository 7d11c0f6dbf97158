"""Conditions of theorems on fibers: what each is about, and how it is shown that it holds, or that it does not.

They are about five batches of vectors at each place of a network, by their letters (docs/transformer-fibers.md):
`F` columns of words, `N` of words with a letter in the layer before, `S` of S_i E; rows `U` of words above, `Y` of Y_i.
`Spaces` has them modulo a prime and over the rationals. A condition is that no relation of heads, of those that it is
about, makes everything zero: residues that are not zero show it, and one relation that it fails.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from proofs_check.checker.functions.fibers.places import Spaces
from proofs_check.checker.functions.matrices import Vector, combined, integral, zero
from proofs_check.checker.functions.network import Form
from proofs_check.checker.functions.rings import symmetric
from proofs_check.checker.verify import COUNT, Matrix, need, rational, scratch, spend, take, transposed

SUBSETS = 16
"""Heads up to which all sets of them are gone through."""

WORDS, RANKS, BLOCKS = ("a", "b", "c", "a'"), ("F", "U", "S"), ("a words", "b unmasked", "o", "s")
"""Conditions of words, that batches span everything, and those of blocks that are not of words."""

Place = tuple[str, int]
"""A condition by its name, and its layer."""


def places(names: Iterable[str], form: Form, t: int, depth: int) -> Iterator[Place]:
    """Yield these conditions of every layer, as far as networks such as this one have them."""
    free, three = not form.causal, t == 3
    has = {"c": t == 2, "a'": free, "a words": t > 2 and free, "b unmasked": t > 2 and form.causal}
    has |= {"o": three and form.causal, "s": three and free and form.skip}
    layers = {"a'": range(1, depth), "o": range(1, depth), "s": range(1, depth - 1), "S": range(depth)}
    layers |= dict.fromkeys("FU", range(depth + 1))
    for name in names:
        yield from ((name, i) for i in layers.get(name, range(1, depth + 1)) if has.get(name, True))


def blocks(form: Form, t: int) -> tuple[tuple[str, ...], ...]:
    """Return the lists of conditions of which Theorem 11 needs one, of three tokens or more."""
    if t < 3:
        return ()
    return (("a", "b unmasked", "o"),) if form.causal else (("a words", "b", "s"), ("a", "b", "a'"))


class Asked(NamedTuple):
    """What a condition is about: batches of keys and queries for scores, else of what reads and what is read.

    Relations are `all`, `sets` of heads, or of one head and, if that is said, of two that are `equal` or `opposite`.
    """

    scores: bool
    one: str
    other: str
    relations: tuple[str, ...] = ()


def asked(net: Spaces, name: str, i: int) -> Asked:
    """Return what a condition of layer i is about."""
    causal, two, inner = net.form.causal, net.t == 2, i < net.depth
    sets = ("U", "F") if not net.form.skip else ("Y", "S")
    return {
        "a": Asked(True, "N", "S", (("all",) if inner else ("equal", "opposite")) if two else ("equal",)),
        "a'": Asked(True, "N", "N", ("all",) * two),
        "a words": Asked(True, "N", "F", ("equal",)),
        "b": Asked(False, "U" if causal else "Y", "F"),
        "b unmasked": Asked(False, "Y", "F"),
        "c": Asked(False, *(sets if causal else ("Y", "N")), ("sets",)),
        "o": Asked(True, "F", "S", ("opposite",)),
        "s": Asked(True, "F", "F"),
    }[name]


def flips(net: Spaces, name: str, i: int) -> bool:
    """Return whether the next layer must read what a set of heads writes together with what is left."""
    return name == "c" and net.form.causal and net.form.skip and i < net.depth


# ---- that hold, by residues


def holds(net: Spaces, name: str, i: int) -> bool:
    """Return whether residues show a condition of layer i (docs/transformer-fibers.md, Propositions 13 and 15)."""
    with scratch():
        if name in RANKS:
            return len(net.field.basis(net.at[name][i])) == net.w.widths[i]
        if flips(net, name, i):
            return _no_set(net, *net.flips(i, list(range(len(net.layers[i - 1])))))
        if name == "a'":
            return _independent(net, net.squares(i)) if net.t == 2 else _alone(net, i)
        forms, relations = _forms(net, name, i), asked(net, name, i).relations
        rows = list(map(net.flat, forms))
        if relations in (("all",), ("sets",)):
            return _independent(net, rows) if relations == ("all",) else _no_set(net, rows)
        if name == "s":  # no form is opposite to a transposed one, be it of another head
            return _none_opposite(net, rows, [net.flat(transposed(m)) for m in forms])
        unlike = "equal" not in relations or len({*map(tuple, rows)}) == len(rows)
        unlike = unlike and ("opposite" not in relations or _none_opposite(net, rows, rows))
        return all(map(any, rows)) and unlike


def _forms(net: Spaces, name: str, i: int) -> list[Matrix]:
    """Return what a condition of layer i is about, of each head: in front of the layer, but for rows, behind it."""
    scores, one, other, _ = asked(net, name, i)
    return net.forms(i, net.at[one][i - 1 if scores else i], net.at[other][i - 1], scores=scores)


def _independent(net: Spaces, rows: Matrix) -> bool:
    """Return whether rows are independent: as many of the columns are."""
    return len(net.field.basis(zip(*rows, strict=True))) == len(rows)


def _none_opposite(net: Spaces, rows: Matrix, others: Matrix) -> bool:
    """Return whether no row of a head is opposite to another one of this head, or of one behind it."""
    pairs = ((row, other) for h, row in enumerate(rows) for other in others[h:])
    return all(any((x + y) % net.field.p for x, y in zip(*both, strict=True)) for both in pairs)


def _alone(net: Spaces, i: int) -> bool:
    """Return whether of each head one of two forms is not zero (Proposition 15)."""
    first, rows = net.at["N"][0], net.squares(i)
    own = [symmetric(m) for m in net.forms(i, first, first, scores=True)] if net.form.skip or i == 1 else []
    seen = [any(net.flat(m)) for m in own] or [False] * len(rows)
    below = all(
        _independent(net, list(map(net.flat, _forms(net, "a", j)))) and _independent(net, net.squares(j))
        for j in range(1, i)
    )
    return all(one or (below and any(other)) for one, other in zip(seen, rows, strict=True))


def _no_set(net: Spaces, alone: Matrix, pairs: dict[tuple[int, int], Vector] | None = None) -> bool:
    """Return whether rows, and what belongs to pairs of them, have the sum zero for no set but the empty one."""
    both, heads = pairs or {}, len(alone)
    columns = net.field.basis(zip(*alone, *both.values(), strict=True))
    if len(columns) == heads + len(both):
        return True
    if heads > SUBSETS or not columns:
        return False
    rows = transposed(columns)
    of_pair = dict(zip(both, rows[heads:], strict=True))
    spend(2**heads * (20 + 2 * len(columns) * (1 + heads // 2 * bool(both))))

    def without(start: int, chosen: list[int], total: list[int]) -> bool:
        for h in range(start, heads):
            parts = [total, rows[h], *(of_pair[h, g] for g in chosen if both)]
            new = [sum(column) % net.field.p for column in zip(*parts, strict=True)]
            if not any(new) or not without(h + 1, [*chosen, h], new):
                return False
        return True

    return without(0, [], [0] * len(columns))


# ---- that do not hold, over the rationals


RANK, RELATION = {"rank": COUNT}, {"relation": [rational]}


def fails(spaces: Spaces, name: str, i: int, evidence: object) -> str:
    """Say why a condition of layer i fails; rejected if that is not so."""
    if name in RANKS:
        (most,) = take(evidence, "the evidence", RANK)
        found, width = len(spaces.field.basis(spaces.at[name][i])), spaces.w.widths[i]
        short = f"the rank of {name} of layer {i} must be at most {most} < {width}, it is {found}"
        need(found <= most < width, short)
        return f"{name} of layer {i} (rank {found} of {width})"
    (c,), heads = take(evidence, "the evidence", RELATION), len(spaces.w.layers[i - 1])
    need(len(c) == heads and any(c), f"relation must be a list of {heads} numbers, not all of them 0")
    about = asked(spaces, name, i)
    good = _may_relate(about.relations, c) and _vanishes(spaces, name, i, about, integral([c]).rows[0])
    need(good, f"the relation must show that {name} of layer {i} fails")
    terms = ", ".join(f"{x} of head {h}" for h, x in enumerate(c, 1) if x)
    return f"{name} of layer {i} ({terms[:200]})"


def _may_relate(relations: tuple[str, ...], c: list[Fraction]) -> bool:
    """Return whether a condition is about relations such as this one."""
    if relations == ("sets",):
        return {*c} <= {0, 1}
    numbers = [x for x in c if x]
    two = len(numbers) == 2 and {sum(numbers): "equal", numbers[0] - numbers[-1]: "opposite"}.get(Fraction(0))
    return relations == ("all",) or len(numbers) == 1 or two in relations


def _vanishes(spaces: Spaces, name: str, i: int, about: Asked, c: list[int]) -> bool:
    """Return whether everything that the condition is about is zero for the relation."""
    forms = _forms(spaces, name, i)
    if name == "a'" and spaces.t > 2 and spaces.form.skip:  # no other form may help this head
        batch = spaces.field.basis(spaces.at["N"][i - 1], spaces.at["N"][0])
        forms = spaces.forms(i, batch, batch, scores=True)
    if about.scores and about.one == about.other:
        forms = list(map(symmetric, forms))
    if not zero(combined(*zip(c, forms, strict=True))):
        return False
    if not flips(spaces, name, i):
        return True
    alone, pairs = spaces.flips(i, [h for h, x in enumerate(c) if x])
    return zero([list(map(sum, zip(*alone, *pairs.values(), strict=True)))])
