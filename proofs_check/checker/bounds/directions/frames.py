"""The families `symmetric products` and `skew differences`: scores moved by given forms (sections 3.3 and 3.4).

The family `first layers`: one row of input, skip connections, and what the first two layers write as a whole.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from proofs_check.checker.bounds import of_rank, symmetric_of_rank
from proofs_check.checker.bounds.directions.spaces import StreamSpaces, Vector, holding, is_line
from proofs_check.checker.functions.matrices import unit
from proofs_check.checker.verify import Matrix, Tape, keep, spend, transposed, unpack


def combinations(at: StreamSpaces, i: int, k: int, W: Matrix, forms: Sequence[Matrix]) -> Iterator[int]:
    """Yield motions of the scores of a head that are combinations of these forms on the columns of W."""
    f, size = len(at.F[i - 1]), len(W[0]) ** 2
    motions = ((n, block) for n, _, block in at.motions(i, k, W, at.R[i], values=False))
    every = itertools.chain(motions, ((None, form) for form in forms))
    images = ((n, [x % at.p for row in block for x in row]) for n, block in every)
    yield from at.solve(images, min(size, of_rank(f, f, at.net.a[i]) + len(forms)))


def skew_form(a: Vector, b: Vector) -> Matrix:
    """Return a b^T - b a^T."""
    return [[x * z - y * w for w, z in zip(a, b, strict=True)] for x, y in zip(a, b, strict=True)]


def side_by_side(a: Matrix, b: Matrix) -> Matrix:
    """Return [a | b]."""
    return [[*x, *y] for x, y in zip(a, b, strict=True)]


def skew_differences(at: StreamSpaces) -> Iterator[int]:
    """Yield combinations of k k'^T - k' k^T, where k and k' vanish on the sum s of the words."""
    net, product = at.net, at.product
    s = transposed(at.F[0])
    for i in range(2, net.l + 1):
        s = at.sum([s] * net.skip + [product(at.v[i - 1, k], s) for k in range(net.h)])
        F, f, rank = transposed(at.F[i - 1]), len(at.F[i - 1]), len(at.basis(transposed(s)))
        if rank != min(f, len(at.F[0])):
            continue
        null = [(*unpack(x), *[0] * len(s))[: len(s)] for x in at.solve(enumerate(s), rank)]
        vanishing = at.basis(product(null, F)) if null else []
        spend(len(vanishing) ** 2 * f * f)
        with holding(len(vanishing) ** 2 * (100 * f + 24 * f * f)):
            forms = [skew_form(a, b) for a, b in itertools.combinations(vanishing, 2)]
            for k in range(net.h):
                yield from combinations(at, i, k, F, forms)


def symmetric_products(at: StreamSpaces) -> Iterator[int]:
    """Yield motions by forms that see nothing of X and V X (X^T A X), layer after layer, on the words side by side."""
    W, forms = transposed(at.F[0]), list[Matrix]()
    for i in range(2, at.net.l + 1):
        n, zero = len(W[0]), [[0] * len(W[0])] * len(W[0])
        if n > 32:
            return
        A = at.form(i - 1, 0, W)
        tops = [transposed(A)]
        new = [[form if q == place else zero for q in range(4)] for form in forms for place in range(4)]
        if min(at.net.a[i - 1], len(at.F[i - 2])) == 1:  # A = p q^T
            q = next((row for row in A if any(row)), [0] * n)
            tops = [at.product(transposed([q]), [e]) for e in unit(n)]
            new += [[zero, zero, zero, skew_form(e, g)] for e, g in itertools.combinations(unit(n), 2)]
        new += [[zero, top, [[-x for x in row] for row in transposed(top)], zero] for top in tops]
        spend(len(new) * 16 * n * n)
        keep(len(new) * (300 + 400 * n + 48 * n * n))
        forms = [side_by_side(a, b) + side_by_side(c, d) for a, b, c, d in new]
        W = side_by_side(W, at.product(at.v[i - 1, 0], W))
        yield from combinations(at, i, 0, W, forms)


def first_layers(at: StreamSpaces) -> Iterator[int]:
    """Yield motions of E and of two layers that leave the coefficients of what they write in place."""
    net, r, one, tape = at.net, len(at.R[2]), is_line(at.net), Tape(at.p, 1, 0)
    a, b = min(net.a[2], 2), min(r, 2, net.b[2])
    moving = [piece for piece in at.point.pieces if piece.key[1] <= 2]
    units = [
        at.entry(key, j, k) for key, rows, columns, _ in moving for j in range(rows.size) for k in range(columns.size)
    ]
    spend(len(units) * net.h * r * 4096)
    with holding(len(units) * (200 + 400 * r)):
        moved = list[list[int]]()
        for column in coefficients(at, tape):
            for functional in unit(r):
                found = tape.back(column, transposed([functional]), 1)
                blocks = (
                    found.get(id(at.w[key]), [[0] * columns.size] * rows.size) for key, rows, columns, _ in moving
                )
                moved.append([x for block in blocks for row in block for x in row])
        forms, most = of_rank(2, 2, a), of_rank(r, 5, net.h * b)
        if one:
            forms, most = symmetric_of_rank(2, 2 * a), of_rank(r, 3, net.h * b)
        images = zip(units, transposed(moved), strict=True)
        yield from at.solve(images, 2 * r + min(most, net.h * (forms + of_rank(r, 2, b) - 1)))


def coefficients(at: StreamSpaces, tape: Tape) -> list[Matrix]:
    """Return R e, R (g + c_1), R c_2, ... as columns."""
    net, R, dots = at.net, at.R[2], tape.dots

    def head(i: int, k: int, x: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Return a key and a query, and the value: by matrices of which it is the product."""
        q, key, v, o = at.heads[i, k]
        return dots(x, key), dots(x, q), *((dots(x, v), o) if o else (x, v))

    e = dots([[1]], at.w[at.point.pieces[0].key]) if net.embed else [[1]]
    first = (head(1, k, e) for k in range(net.h))
    g = tape.add(*(dots(dots(key, query), dots(m, x)) for key, query, x, m in first))
    found = defaultdict[Any, list[Matrix]](list)
    found[0, 0, 0] = [dots(R, g)]
    for h in range(net.h):
        both = [head(2, h, x) for x in (e, g)]
        values = [dots(R, dots(x, m)) for _, _, x, m in both]
        for m, k, n in itertools.product((0, 1), repeat=3):
            name = tuple(sorted((m, k, n))) if is_line(net) else (k, *sorted((m, n)))
            found[name].append(dots(values[n], dots(both[m][0], both[k][1])))
    return [dots(R, e), *(tape.add(*found[name]) for name in sorted(found))]
