"""Conditions of theorems on fibers: what each is about, and how it is shown that it holds, or that it does not.

They are about five batches of vectors at each place of a network, by their letters (docs/transformer-fibers.md):
`F` columns of words, `N` of words with a letter in the layer before, `S` of S_i E; rows `U` of words above, `Y` of Y_i.
`Points` has them at points modulo a prime, `Spaces` over the rationals. A condition is that no relation of heads, of
those that it is about, makes everything zero: residues that are not zero show it, and one relation that it fails.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from proofs_check.checker.functions.fibers.exact import Spaces
from proofs_check.checker.functions.fibers.points import Points
from proofs_check.checker.functions.matrices import Span, combined, integral, zero
from proofs_check.checker.functions.network import Form
from proofs_check.checker.functions.rings import symmetric
from proofs_check.checker.verify import COUNT, Matrix, keep, need, rational, scratch, spend, take

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


def asked(net: Points | Spaces, name: str, i: int) -> Asked:
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


def flips(net: Points | Spaces, name: str, i: int) -> bool:
    """Return whether the next layer must read what a set of heads writes together with what is left."""
    return name == "c" and net.form.causal and net.form.skip and i < net.depth


# ---- that hold, by residues


def holds(net: Points, name: str, i: int) -> bool:
    """Return whether residues show a condition of layer i (docs/transformer-fibers.md, Propositions 13 and 15)."""
    with scratch():
        if name in RANKS:
            return net.rank(net.at[name][i]) == net.w.widths[i]
        if flips(net, name, i):
            return _no_set(net, *net.flips(i))
        scores, one, other, relations = asked(net, name, i)
        rows = net.rows(i, one, other, scores=scores)
        if relations in (("all",), ("sets",)):
            return net.independent(rows) if relations == ("all",) else _no_set(net, rows)
        if name == "a'":
            return _alone(net, i, rows)
        if name == "s":  # no form is opposite to a transposed one, be it of another head
            return _none_opposite(net, rows, net.transposed_forms(i))
        unlike = "equal" not in relations or len({*map(tuple, rows)}) == len(rows)
        unlike = unlike and ("opposite" not in relations or _none_opposite(net, rows, rows))
        return all(map(any, rows)) and unlike


def _none_opposite(net: Points, rows: Matrix, others: Matrix) -> bool:
    """Return whether no row of a head is opposite to another one of this head, or of one behind it."""
    pairs = ((row, other) for h, row in enumerate(rows) for other in others[h:])
    return all(any((x + y) % net.p for x, y in zip(*both, strict=True)) for both in pairs)


def _alone(net: Points, i: int, rows: Matrix) -> bool:
    """Return whether of each head one of two forms is not zero (Proposition 15)."""
    below = all(net.independent(net.rows(j, "N", queries, scores=True)) for j in range(1, i) for queries in ("S", "N"))
    first = net.at["N"][0]
    own = [net.scores(h, first, first) for h in net.layers[i - 1]] if net.form.skip or i == 1 else [[0]] * len(rows)
    return all(any(one) or (below and any(other)) for one, other in zip(own, rows, strict=True))


def _no_set(net: Points, alone: Matrix, pairs: dict[tuple[int, int], list[int]] | None = None) -> bool:
    """Return whether rows, and what belongs to pairs of them, have the sum zero for no set but the empty one."""
    both = pairs or {}
    if net.independent([*alone, *both.values()]):
        return True
    if len(alone) > SUBSETS:
        return False
    width = len(alone[0]) * (1 + len(alone) // 2 * bool(both))
    spend(2 ** len(alone) * (20 + 2 * width))
    keep(len(alone) * (100 + 40 * len(alone[0])))

    def without(start: int, chosen: list[int], total: list[int]) -> bool:
        for h in range(start, len(alone)):
            parts = [total, alone[h], *(both[g, h] for g in chosen if both)]
            new = [sum(column) % net.p for column in zip(*parts, strict=True)]
            if not any(new) or not without(h + 1, [*chosen, h], new):
                return False
        return True

    return without(0, [], [0] * len(alone[0]))


# ---- that do not hold, over the rationals


RANK, RELATION = {"rank": COUNT}, {"relation": [rational]}


def fails(spaces: Spaces, name: str, i: int, evidence: Any) -> str:
    """Say why a condition of layer i fails; rejected if that is not so."""
    if name in RANKS:
        (most,) = take(evidence, "the evidence", RANK)
        found, width = len(Span(spaces.at[name][i]).basis), spaces.w.widths[i]
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
    one, other = spaces.at[about.one][i - 1 if about.scores else i], spaces.at[about.other][i - 1]
    if name == "a'" and spaces.t > 2 and spaces.form.skip:  # no other form may help this head
        one = other = Span(one, spaces.at["N"][0]).vectors()
    m = combined(*zip(c, spaces.rows(i, one, other, scores=about.scores), strict=True))
    good = zero(symmetric(m) if about.one == about.other else m)  # on one batch alone symmetric parts are what counts
    return good and (not flips(spaces, name, i) or spaces.flips_are_unread(i, c))
