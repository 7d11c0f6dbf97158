"""The family `mixing`: motions of all heads of a layer together (section 3.1)."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from proofs_check.checker.directions.spaces import D, Matrix, S, Unseen, holding, line, unit
from proofs_check.checker.verify import T, spend


def mixing(at: Unseen) -> Iterator[int]:
    """Motions of the heads of a layer that fill the forms it depends on, or mix its heads."""
    net, product, p, heads, one = at.net, at.product, at.p, range(at.net.h), line(at.net)
    for i in range(1, net.l + 1):
        F, R, f, r = T(at.F[i - 1]), at.R[i], len(at.F[i - 1]), len(at.R[i])

        def part(a: Matrix, f: int = f) -> Matrix:
            """What counts of a form: on a line its symmetric part."""
            return [[(a[x][y] + a[y][x]) % p for y in range(f)] for x in range(f)] if one else a

        A = [part(product(T(product(at.w["K", i, k], F)), product(at.w["Q", i, k], F))) for k in heads]
        v = [product(product(R, at.v[i, k]), F) for k in heads]
        b, a = min(r, f, net.b[i]), min(net.a[i] * (1 + one), f)
        places = [(x, y) for x in range(f) for y in range(x if one else 0, f)]
        monomials = list(itertools.combinations_with_replacement(range(f), 3 if one else 2))
        if one:
            forms = D(r, len(monomials), net.h * b)
        else:
            forms = min(D(r, f * len(monomials), net.h * b), D(f * r, len(monomials), net.h * a * b))

        def filled(a: Matrix, rows: Matrix, monomials: Any = monomials) -> list[int]:
            """The forms of the columns of A, or of A, times those of V."""
            if one:
                found = [[a[x][y] * c[z] + a[y][z] * c[x] + a[z][x] * c[y] for x, y, z in monomials] for c in rows]
            else:
                found = [[b[x] * c[y] + b[y] * c[x] for x, y in monomials] for b in T(a) for c in rows]
            return [x % p for form in found for x in form]

        each = len(places) + r * f
        size, count = net.h * each, r * len(monomials) * (1 if one else f)

        def image(
            *parts: tuple[int, int, int, Matrix], size: int = size, each: int = each, places: Any = places
        ) -> list[int]:
            """Blocks dA_k (0) or dv_k (1) of all heads in a row."""
            found = [0] * size
            for sign, k, kind, block in parts:
                entries = list(itertools.chain(*block)) if kind else [block[x][y] for x, y in places]
                start = k * each + kind * len(places)
                for j, x in enumerate(entries):
                    found[start + j] = sign * x % p
            return found

        with ExitStack() as held:
            motions = [held.enter_context(at.motions(net.letters, i, k, F, R)) for k in heads]
            held.enter_context(holding(sum(map(len, motions)) * (200 + 60 * f * f) * one))
            moves = [(k, u, s, part(m) if s in "QK" else m) for k in heads for u, s, m in motions[k]]
            units = [move[1] for move in moves]
            if len(units) >= forms:
                spend(len(units) * count * 64)
                with holding(len(units) * (100 + 48 * count)):
                    images = [filled(m, v[k]) if s in "QK" else filled(A[k], m) for k, _, s, m in moves]
                    yield from at.solve(units, images, forms)
            pairs = list(itertools.permutations(heads, 2))
            twos = [pair for pair in pairs if r == 1 and pair[0] < pair[1]]
            held.enter_context(holding((len(units) + net.h**2 * (1 + f * (r == 1))) * (100 + 10 * size)))
            images = [image((1, k, int(s in "VO"), m)) for k, _, s, m in moves]
            images += [image((-1, j, 0, A[k]), (1, k, 1, v[j])) for j, k in pairs]
            for j, k in twos:
                for e in unit(f):
                    two = [part(product(T(v[m]), [e])) for m in (j, k)]
                    images.append(image((-1, j, 0, two[1]), (1, k, 0, two[0])))
            alone = (S(f, a) if one else D(f, f, a)) + D(r, f, b)  # of one head
            most = net.h * alone
            yield from at.solve(units, images, most + min(size - most, len(images) - len(units)))
            for n, both in enumerate(twos):  # the syzygies of one pair of heads
                own = [m for m, move in enumerate(moves) if move[0] in both]
                vectors = range(len(units) + len(pairs) + n * f, len(units) + len(pairs) + (n + 1) * f)
                largest = 2 * alone + f - max(0, 2 * a - f)
                yield from at.solve([units[m] for m in own], [images[m] for m in (*own, *vectors)], largest)
