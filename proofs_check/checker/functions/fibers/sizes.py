"""Dimensions of fibers that are known as sets, from sizes and exact ranks (docs/certificate.md, Lemmas 1 and 2)."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations, groupby, islice, product
from math import comb, prod
from operator import itemgetter
from typing import Any

from proofs_check.checker.functions.fibers.places import Field
from proofs_check.checker.functions.matrices import Span, dots, integral, zero
from proofs_check.checker.functions.network import Form, Weights
from proofs_check.checker.functions.rings import symmetric
from proofs_check.checker.functions.theorems import visible_weights
from proofs_check.checker.verify import Matrix, spend, transposed

Link = tuple[int, int, int, int | None]
"""A space in a chain: its width, the dimension that the row space must contain, a reader's inner width and rank."""

MOST_ORDERS = 256
"""Ways to place zero layers between skew ones up to which the dimension is asked for."""


def factors(rows: int, columns: int, inner: int, rank: int) -> int:
    """Return the dimension of the pairs (K, Q) with a given K^T Q (Lemma 1)."""
    spend(20 * inner)
    return max((k - rank) * (rows - k) + inner * k + (inner - k) * columns for k in range(rank, min(inner, rows) + 1))


def _rank(left: Matrix, right: Matrix, field: Field) -> int:
    """Return the rank of left^T right, exactly: residues show that it is full, or elimination over Q tells."""
    most = len(left)
    if field.rank(field.matrix(left)) == most == field.rank(field.matrix(right)):
        return most
    return len(Span(dots(transposed(integral(left).rows), transposed(integral(right).rows))).basis)


def orbit_dimension(form: Form, w: Weights, field: Field) -> int:
    """Return the dimension of the fiber of Corollary 5: bases of the stream act freely, factors vary for themselves."""
    ends = [d * d for d, m in ((w.widths[0], w.E), (w.widths[-1], w.U)) if m]
    total = (ends[0] if len(ends) == 2 else 0) if form.skip else sum(ends) + sum(d * d for d in w.widths[1:-1])
    for i, heads in enumerate(w.layers):
        before, behind = w.widths[i : i + 2]
        for head in heads:
            total += factors(before, before, len(head.k), _rank(head.k, head.q, field))
            if head.o:
                total += factors(behind, before, len(head.v), _rank(transposed(head.o), head.v, field))
    return total


class OneHead:
    """A softmax network with one head a layer and without skip connections: what its function shows.

    Attributes:
        blind: the first blind layer, None if none is.
        orders: in how many orders zero layers can stand.
        dimension: of the fiber; None where there are too many orders.
    """

    def __init__(self, form: Form, t: int, w: Weights) -> None:
        self.w = w
        (A, V), depth = visible_weights(w), len(w.layers)
        forms, self.value = [integral(m).rows for m in A], integral(V).rows
        nothing, skew = [zero(m) for m in forms], [zero(symmetric(m)) for m in forms]
        blind = [i for i in range(depth) if nothing[i] or (t == 2 and skew[i])]
        self.blind = blind[0] + 1 if blind and not (form.causal or zero(self.value)) else None
        self.orders, places = 1, list[list[list[Any]]]([[forms]])
        if zero(self.value):
            places = [[[None] * depth]]
        elif not form.causal:
            places = [[[*forms[: self.blind or depth], *[None] * (depth - (self.blind or depth))]]]
        elif t == 2:
            parts = list(_stretches(forms, [a or b for a, b in zip(nothing, skew, strict=True)]))
            places = [_placements(part) for part in parts]
            self.orders = prod(comb(len(part), sum(map(zero, part))) for part in parts)
        self.dimension = None
        if self.orders <= MOST_ORDERS:
            self.dimension = max(self._dimension([m for part in order for m in part]) for order in product(*places))

    def _dimension(self, forms: list[Matrix | None]) -> int:
        """Return the dimension of the weights with these A~, of which those that are None are free (Lemma 2)."""
        space, contained = Span(self.value), list[int]()
        end = len(space.basis)
        for m in reversed(forms):
            space.grow([*m, *transposed(m)] if m else [])
            contained.insert(0, len(space.basis))
        w, chain = self.w, list[Link]()
        chain += [(w.n, w.n, 0, None)] * bool(w.E)
        for i, (head,) in enumerate(w.layers):
            form = forms[i]
            rank = None if form is None else len(Span(form).basis)
            chain.append((w.widths[i], contained[i] if chain else w.n, len(head.q), rank))
            behind = [*contained[1:], end][i]
            chain += [(len(head.v), behind, 0, None)] * bool(head.o)
        chain.append((w.widths[-1], end, 0, None))
        chain += [(w.m, end, 0, None)] * bool(w.U)
        spend(200 * sum(min(link[0], w.n) ** 2 for link in chain))

        @cache
        def best(j: int, p: int) -> int:
            """Return the dimension from space j on, if the row space there has dimension p; or a negative number."""
            width, least, inner, rank = chain[j]
            own = 2 * inner * (width - p)
            if inner:
                own += 2 * inner * p if rank is None else factors(p, p, inner, rank)
            if j == len(chain) - 1:
                return own if p == least else -(10**18)
            (after, bound, _, _), last = chain[j + 1], j + 2 == len(chain)
            found = -(10**18)
            for q in range(bound, min(after, p) + 1):
                free = (width - p) * after + (0 if last else (q - bound) * (p - q) + q * after)
                found = max(found, free + best(j + 1, q))
            return own + found

        return best(0, w.n)


def _stretches(forms: list[Matrix], moving: list[bool]) -> Iterator[list[Matrix]]:
    """Yield layers in a row that are zero or skew, and each other one alone: zero ones move past skew ones."""
    for moves, group in groupby(zip(moving, forms, strict=True), itemgetter(0)):
        part = [m for _, m in group]
        yield from [part] if moves else ([m] for m in part)


def _placements(part: list[Matrix]) -> list[list[Matrix]]:
    """Return orders of zero layers among skew ones, all of them or more than are needed."""
    full, empty = [m for m in part if not zero(m)], [m for m in part if zero(m)]
    orders = list[list[Matrix]]()
    for places in islice(combinations(range(len(part)), len(full)), MOST_ORDERS + 1):
        skew, nothing = iter(full), iter(empty)
        orders.append([next(skew) if k in places else next(nothing) for k in range(len(part))])
    return orders
