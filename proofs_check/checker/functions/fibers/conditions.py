"""Conditions of theorems on fibers: what each is about, and how it is shown that it holds, or that it does not.

They are about five batches of vectors at each place of a network, by their letters (docs/transformer-fibers.md):
`F` columns of words, `N` of words with a letter in the layer before, `S` of S_i E; rows `U` of words above, `Y` of Y_i.
`Points` has them at points modulo a prime, `Spaces` over the rationals. A condition that holds is shown by residues
that are not zero, one that does not by a relation of heads for which everything is zero.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from proofs_check.checker.functions.fibers.exact import Spaces
from proofs_check.checker.functions.fibers.points import Points
from proofs_check.checker.functions.matrices import Span, add, zero
from proofs_check.checker.functions.network import Form
from proofs_check.checker.verify import COUNT, Matrix, keep, need, rational, scratch, spend, take, transposed

SUBSETS = 16
"""Heads up to which all sets of them are gone through."""

WORDS, RANKS, BLOCKS = ("a", "b", "c", "a'"), ("F", "U", "S"), ("a words", "b unmasked", "o", "s")
"""Conditions of words, that batches span everything, and those of blocks that are not of words."""

SCORED = ("a", "a'", "a words", "o", "s")
"""Conditions of scores, not of values."""

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


def about(form: Form, name: str) -> tuple[str, str]:
    """Return the batches of a condition: of scores keys and queries, of values what reads and what is read."""
    sets = ("U", "F") if not form.skip else ("Y", "S")
    batches = {"a": ("N", "S"), "a'": ("N", "N"), "b": ("U" if form.causal else "Y", "F"), "b unmasked": ("Y", "F")}
    batches |= {"c": sets if form.causal else ("Y", "N"), "a words": ("N", "F"), "o": ("F", "S"), "s": ("F", "F")}
    return batches[name]


# ---- that hold, by residues


def holds(net: Points, name: str, i: int) -> bool:
    """Return whether residues show a condition of layer i (docs/transformer-fibers.md, Propositions 13 and 15)."""
    with scratch():
        if name in RANKS:
            return net.rank(net.at[name][i]) == net.w.widths[i]
        if name == "c" and net.form.causal and net.form.skip and i < len(net.layers):
            return _no_set(net, *net.flips(i))
        rows = net.rows(i, *about(net.form, name), scores=name in SCORED)
        if name == "c":
            return _no_set(net, rows)
        if name in ("b", "b unmasked"):
            return all(map(any, rows))
        if name in ("o", "s"):
            others = rows if name == "o" else net.transposed_forms(i)
            pairs = ((row, other) for h, row in enumerate(rows) for other in others[h:])
            return all(any((x + y) % net.p for x, y in zip(*both, strict=True)) for both in pairs)
        if name == "a'":
            return net.independent(rows) if net.t == 2 else _alone(net, i, rows)
        if net.t == 2 and i < len(net.layers):
            return net.independent(rows)
        others = [[-x % net.p for x in row] for row in rows] if net.t == 2 else []
        alike = len({*map(tuple, rows)}) < len(rows) or any(row in rows for row in others)
        return all(map(any, rows)) and not alike


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
    good = _may_relate(spaces, name, i, c) and _vanishes(spaces, name, i, c)
    need(good, f"the relation must show that {name} of layer {i} fails")
    terms = ", ".join(f"{x} of head {h}" for h, x in enumerate(c, 1) if x)
    return f"{name} of layer {i} ({terms[:200]})"


def _may_relate(spaces: Spaces, name: str, i: int, c: list[Fraction]) -> bool:
    """Return whether a condition is about relations such as this one."""
    numbers = sorted(x for x in c if x)
    if name == "c":
        return {*c} <= {0, 1}
    if name in ("a", "a'") and spaces.t == 2 and (name == "a'" or i < spaces.depth):
        return True
    if name in ("a", "a words", "o") and len(numbers) == 2:  # two equal heads, or opposite ones
        opposite = name == "o" or (name == "a" and spaces.t == 2)
        return (name != "o" and sum(numbers) == 0) or (opposite and numbers[0] == numbers[1])
    return len(numbers) == 1


def _vanishes(spaces: Spaces, name: str, i: int, c: list[Fraction]) -> bool:
    """Return whether everything that the condition is about is zero for the relation."""
    one, other = about(spaces.form, name)
    if name in ("a", "a words", "o"):
        return zero(spaces.scores(i, c, spaces.at[one][i - 1], spaces.at[other][i - 1]))
    if name in ("a'", "s"):
        batch = spaces.at[one][i - 1]
        if name == "a'" and spaces.t > 2 and spaces.form.skip:  # no other form may help this head
            batch = Span(batch, spaces.at["N"][0]).vectors()
        m = spaces.scores(i, c, batch, batch)
        return zero(add(m, 1, transposed(m)))
    if not spaces.unseen(i, c, spaces.at[one][i], spaces.at[other][i - 1]):
        return False
    flips = name == "c" and spaces.form.causal and spaces.form.skip and i < spaces.depth
    return not flips or spaces.flips_are_unread(i, c)
