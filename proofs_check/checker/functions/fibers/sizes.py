"""Dimensions of fibers that are known as sets, from sizes and exact ranks (docs/certificate.md, Lemmas 1 and 2)."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from math import comb, prod
from typing import Any

from proofs_check.checker.functions.fibers.points import Points
from proofs_check.checker.functions.network import Form, Head, Network, integral
from proofs_check.checker.functions.spans import Space, add, dots
from proofs_check.checker.verify import Matrix, T, spend

MOST_ORDERS = 256
"""Ways to place zero layers between skew ones up to which the dimension is asked for."""


def factors(rows: int, columns: int, inner: int, rank: int) -> int:
    """Of the pairs (K, Q) with a given K^T Q (Lemma 1)."""
    spend(20 * inner)
    return max((k - rank) * (rows - k) + inner * k + (inner - k) * columns for k in range(rank, min(inner, rows) + 1))


def _rank(left: Matrix, right: Matrix, points: Points) -> int:
    """Of left^T right, exactly: residues show that it is as large as it can be, or elimination over Q tells."""
    most = len(left)
    if points.rank(points.modulo(left)) == most == points.rank(points.modulo(right)):
        return most
    return len(Space(dots(T(integral(left).rows), T(integral(right).rows))).basis)


def orbit(form: Form, w: Network, points: Points) -> int:
    """Of the fiber of Corollary 5: bases of the stream act freely, and factors vary for themselves."""
    ends = [d * d for d, m in ((w.widths[0], w.E), (w.widths[-1], w.U)) if m]
    total = (ends[0] if len(ends) == 2 else 0) if form.skip else sum(ends) + sum(d * d for d in w.widths[1:-1])
    for i, heads in enumerate(w.layers):
        before, behind = w.widths[i : i + 2]
        for head in heads:
            total += factors(before, before, len(head.K), _rank(head.K, head.Q, points))
            if head.O:
                total += factors(behind, before, len(head.V), _rank(T(head.O), head.V, points))
    return total


class OneHead:
    """A softmax network with one head a layer and without skip connections: what its function shows.

    Attributes:
        blind: the first blind layer, None if none is.
        orders: in how many orders zero layers can stand.
        dimension: of the fiber; None where there are too many orders.
    """

    def __init__(self, form: Form, t: int, w: Network) -> None:
        self.w = w
        columns = T(integral(w.E).rows) or [[int(i == j) for j in range(w.n)] for i in range(w.n)]
        forms, depth = list[Any](), len(w.layers)
        for (head,) in w.layers:
            forms.append(dots(dots(columns, integral(head.K).rows), dots(columns, integral(head.Q).rows)))
            columns = _carried(head, columns)
        u = integral(w.U).rows
        self.value = T(dots(columns, u) if u else columns)
        self.zero = not any(map(any, self.value))
        zero = [not any(map(any, m)) for m in forms]
        skew = [not any(map(any, add(m, 1, T(m)))) for m in forms]
        blind = [i for i in range(depth) if zero[i] or (t == 2 and skew[i])]
        self.blind = blind[0] + 1 if blind and not (form.causal or self.zero) else None
        self.orders, places = 1, [(forms,)]
        if self.zero:
            places = [([None] * depth,)]
        elif not form.causal:
            places = [(forms[: self.blind or depth] + [None] * (depth - (self.blind or depth)),)]
        elif t == 2:
            places = list(map(_placements, _stretches(forms, zero, skew)))
            counted = (sum(not any(map(any, m)) for m in part) for part in _stretches(forms, zero, skew))
            self.orders = prod(map(comb, map(len, _stretches(forms, zero, skew)), counted))
        self.dimension = None
        if self.orders <= MOST_ORDERS:
            self.dimension = max(self._dimension([m for part in order for m in part]) for order in product(*places))

    def _dimension(self, forms: list[Any]) -> int:
        """Of the weights with these A~, of which those that are None are free (Lemma 2)."""
        space, contained = Space(self.value), list[int]()
        end = len(space.basis)
        for m in reversed(forms):
            space.grow([*m, *T(m)] if m else [])
            contained.insert(0, len(space.basis))
        w, chain = (
            self.w,
            list[tuple[int, int, int, Any]](),
        )  # width, dimension that the row space must contain, inner width, rank
        chain += [(w.n, w.n, 0, None)] * bool(w.E)
        for i, (head,) in enumerate(w.layers):
            rank = None if forms[i] is None else len(Space(forms[i]).basis)
            chain.append((w.widths[i], contained[i] if chain else w.n, len(head.Q), rank))
            behind = [*contained[1:], end][i]
            chain += [(len(head.V), behind, 0, None)] * bool(head.O)
        chain.append((w.widths[-1], end, 0, None))
        chain += [(w.m, end, 0, None)] * bool(w.U)
        spend(200 * sum(min(width, w.n) ** 2 for width, _, _, _ in chain))

        @cache
        def best(j: int, p: int) -> int:
            """From space j on, if the row space there has dimension p; negative if that cannot be."""
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


def _carried(head: Head, columns: Matrix) -> Matrix:
    rows, o = dots(columns, integral(head.V).rows), integral(head.O).rows
    return dots(rows, o) if o else rows


def _stretches(forms: list[Any], zero: list[bool], skew: list[bool]) -> Iterator[list[Any]]:
    """Layers in a row that are zero or skew, and each other one alone: zero ones move past skew ones."""
    part = list[Any]()
    for m, moves in zip(forms, (a or b for a, b in zip(zero, skew, strict=True)), strict=True):
        if moves:
            part.append(m)
            continue
        yield from (x for x in (part, [m]) if x)
        part = []
    yield from (x for x in (part,) if x)


def _placements(part: list[Any]) -> Any:
    """All orders of zero layers among skew ones, as they are needed."""
    full = [m for m in part if any(map(any, m))]
    if len(part) == 1 or not full or len(full) == len(part):
        return [part]
    empty = next(m for m in part if not any(map(any, m)))
    orders = list[Any]()
    for places in combinations(range(len(part)), len(full)):
        if len(orders) > MOST_ORDERS:
            break
        rest = iter(full)
        orders.append([next(rest) if k in places else empty for k in range(len(part))])
    return orders
