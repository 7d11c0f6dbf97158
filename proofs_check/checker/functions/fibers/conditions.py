"""Conditions of theorems on fibers: what each is about, and how it is shown that it holds, or that it does not.

They are about six batches of vectors at each place of a network, by their letters (docs/transformer-fibers.md, sections
1 and 7): `F` columns of words, `N` of words with a letter in the layer before, `S` of S_i E, `H` of the same with half
of what heads write; rows `U` of words above, `Y` of Y_i. `Points` has them at points modulo a prime, `Spaces` over the
rationals. A condition that holds is shown by residues that are not zero, one that does not by a relation of heads for
which everything is zero.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from operator import mul
from typing import Any

from proofs_check.checker.functions.fibers.exact import Spaces
from proofs_check.checker.functions.fibers.points import MORE, HeadModP, Points
from proofs_check.checker.functions.matrices import Span, add, zero
from proofs_check.checker.functions.network import Form
from proofs_check.checker.verify import COUNT, Matrix, keep, need, rational, scratch, spend, take, transposed

SUBSETS = 16
"""Heads up to which all sets of them are gone through."""

WORDS, RANKS, BLOCKS = ("a", "b", "c", "a'"), ("F", "U", "S"), ("e", "b unmasked", "f")
"""Conditions of words, that batches span everything, and of blocks of three tokens."""

Place = tuple[str, int]
"""A condition by its name, and its layer."""


def places(names: Iterable[str], form: Form, t: int, depth: int) -> Iterator[Place]:
    """Yield these conditions of every layer, as far as networks such as this one have them."""
    masked = t > 2 and form.causal
    has = {"c": t == 2, "a'": not form.causal, "e": t > 2, "b unmasked": masked, "f": masked}
    layers = {"a'": range(1, depth), "S": range(depth)} | dict.fromkeys("FU", range(depth + 1))
    for name in names:
        yield from ((name, i) for i in layers.get(name, range(1, depth + 1)) if has.get(name, True))


def about(form: Form, name: str) -> tuple[str, str]:
    """Return the batches of a condition: of scores keys and queries, of values what reads and what is read."""
    sets = ("U", "F") if not form.skip else ("Y", "S")
    batches = {"a": ("N", "S"), "a'": ("N", "N"), "b": ("U" if form.causal else "Y", "F"), "b unmasked": ("Y", "F")}
    batches |= {"c": sets if form.causal else ("Y", "N"), "f": ("Y", "H")}
    return batches[name]


# ---- that hold, by residues


def holds(net: Points, name: str, i: int) -> bool:
    """Whether residues show that a condition of layer i holds (docs/transformer-fibers.md, Propositions 13 and 15)."""
    with scratch():
        if name in RANKS:
            return net.rank(net.at[name][i]) == net.w.widths[i]
        if name == "e":
            return _blocks_apart(net, i)
        if name == "c" and net.form.causal and net.form.skip and i < len(net.layers):
            return _no_set(net, *net.flips(i))
        rows = net.rows(i, *about(net.form, name), scores=name in ("a", "a'"))
        if name == "c":
            return _no_set(net, rows)
        if name in ("b", "b unmasked", "f"):
            return all(map(any, rows))
        if name == "a'":
            return net.independent(rows) if net.t == 2 else _alone(net, i, rows)
        if net.t == 2 and i < len(net.layers):
            return net.independent(rows)
        others = [[-x % net.p for x in row] for row in rows] if net.t == 2 else []
        alike = len({*map(tuple, rows)}) < len(rows) or any(row in rows for row in others)
        return all(map(any, rows)) and not alike


def _alone(net: Points, i: int, rows: Matrix) -> bool:
    """Whether of each head one of two forms is not zero (Proposition 15)."""
    below = all(net.independent(net.rows(j, "N", queries, scores=True)) for j in range(1, i) for queries in ("S", "N"))
    first = net.at["N"][0]
    own = [net.scores(h, first, first) for h in net.layers[i - 1]] if net.form.skip or i == 1 else [[0]] * len(rows)
    return all(any(one) or (below and any(other)) for one, other in zip(own, rows, strict=True))


def _no_set(net: Points, alone: Matrix, pairs: dict[tuple[int, int], list[int]] | None = None) -> bool:
    """Whether rows, and what belongs to pairs of them, have the sum zero for no set but the empty one."""
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


def _blocks_apart(net: Points, i: int) -> bool:
    """Whether differences of scores of all heads of a layer are independent, given the layers below the last."""
    queries = (2,) if i == len(net.layers) else (0, 1, 2)
    pairs = [(j, k) for k in queries for j in range(3) if (j < k if net.form.causal else j != k)]
    heads = net.layers[i - 1]
    count = len(heads) * len(pairs) + MORE
    stream = net.times(net.batch(net.w.n, 3 * count), net.modulo(net.w.E))
    for below in net.layers[: max(i - 2, 0)]:
        stream = _formal(net, below, stream)
    streams = [_formal(net, net.layers[i - 2], stream) for _ in range(2)] if i > 1 else [stream]
    tables = [[_differences(net, h, x, pairs) for h in heads] for x in streams]
    sides = [[[x for table in each for x in table[k]] for k in range(count)] for each in tables]
    rows = sides[0]
    if i > 1:
        rows = [[(x - y) % net.p for x, y in zip(*both, strict=True)] for both in zip(*sides, strict=True)]
    return net.rank(rows) == len(heads) * len(pairs)


def _formal(net: Points, heads: list[HeadModP], stream: Matrix) -> Matrix:
    """Return a layer on three tokens, side by side for all points, with patterns whose columns have sum 1."""
    parts = [stream] * net.form.skip
    for head in heads:
        images, new = net.carried(head, stream), Matrix()
        spend(len(images) * (50 + 4 * len(images[0])))
        keep(len(images) * (100 + 40 * len(images[0])))
        for k in range(len(images)):
            others = [j for j in range(k - k % 3, k - k % 3 + 3) if (j < k if net.form.causal else j != k)]
            factors = net.draw(len(others))
            columns = zip(images[k], *(images[j] for j in others), strict=True)
            factors = [1 - sum(factors), *factors]
            new.append([sum(map(mul, factors, column)) % net.p for column in columns])
        parts.append(new)
    return net.total([([1] * len(stream), part) for part in parts])


def _differences(net: Points, head: HeadModP, stream: Matrix, pairs: list[tuple[int, int]]) -> Matrix:
    """Return the scores s_jk - s_kk, of each point a row."""
    keys, queries = net.times(stream, head.k), net.times(stream, head.q)
    spend(len(stream) * len(pairs) * (10 + len(keys[0])))
    rows = []
    for at in range(0, len(stream), 3):
        s = [[sum(map(mul, keys[at + j], queries[at + k])) for k in range(3)] for j in range(3)]
        rows.append([(s[j][k] - s[k][k]) % net.p for j, k in pairs])
    return rows


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
    good = name != "e" and _may_relate(spaces, name, i, c) and _vanishes(spaces, name, i, c)
    need(good, f"the relation must show that {name} of layer {i} fails")
    terms = ", ".join(f"{x} of head {h}" for h, x in enumerate(c, 1) if x)
    return f"{name} of layer {i} ({terms[:200]})"


def _may_relate(spaces: Spaces, name: str, i: int, c: list[Fraction]) -> bool:
    """Whether a condition is about relations such as this one."""
    numbers = sorted(x for x in c if x)
    if name == "c":
        return {*c} <= {0, 1}
    if name in ("a", "a'") and spaces.t == 2 and (name == "a'" or i < spaces.depth):
        return True
    if name == "a" and len(numbers) == 2:  # two equal heads, or opposite ones
        return sum(numbers) == 0 or (spaces.t == 2 and numbers[0] == numbers[1])
    return len(numbers) == 1


def _vanishes(spaces: Spaces, name: str, i: int, c: list[Fraction]) -> bool:
    """Whether everything that the condition is about is zero for the relation."""
    one, other = about(spaces.form, name)
    if name == "a":
        return zero(spaces.scores(i, c, spaces.at[one][i - 1], spaces.at[other][i - 1]))
    if name == "a'":
        batch = spaces.at[one][i - 1]
        if spaces.t > 2 and spaces.form.skip:  # no other form may help this head
            batch = Span(batch, spaces.at["N"][0]).vectors()
        m = spaces.scores(i, c, batch, batch)
        return zero(add(m, 1, transposed(m)))
    if not spaces.unseen(i, c, spaces.at[one][i], spaces.at[other][i - 1]):
        return False
    flips = name == "c" and spaces.form.causal and spaces.form.skip and i < spaces.depth
    return not flips or spaces.flips_are_unread(i, c)
