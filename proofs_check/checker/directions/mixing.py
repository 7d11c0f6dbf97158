"""The family `mixing`: motions of all heads of a layer together (section 3.1)."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack

from proofs_check.checker.directions.spaces import D, Matrix, Unseen, holding, unit
from proofs_check.checker.verify import T, spend


def mixing(at: Unseen) -> Iterator[int]:
    """Motions of the heads of a layer that fill the forms it depends on, or mix its heads."""
    net, product, p, heads = at.net, at.product, at.p, range(at.net.h)
    for i in range(1, net.l + 1):
        F, R, f, r = T(at.F[i - 1]), at.R[i], len(at.F[i - 1]), len(at.R[i])
        A = [product(T(product(at.w["K", i, k], F)), product(at.w["Q", i, k], F)) for k in heads]
        v = [product(product(R, at.v[i, k]), F) for k in heads]
        size, forms = net.h * (f * f + r * f), f * r * f * (f + 1) // 2

        def filled(a: Matrix, rows: Matrix, f: int = f) -> list[int]:
            pairs = list(itertools.combinations_with_replacement(range(f), 2))
            return [(b[x] * c[y] + (b[y] * c[x] if x != y else 0)) % p for b in T(a) for c in rows for x, y in pairs]

        def image(*parts: tuple[int, int, int, Matrix], size: int = size, f: int = f, r: int = r) -> list[int]:
            """Blocks dA_k (0) or dv_k (1) of all heads in a row."""
            found = [0] * size
            for sign, k, kind, block in parts:
                start = k * (f * f + r * f) + kind * f * f
                for j, x in enumerate(itertools.chain(*block)):
                    found[start + j] = sign * x % p
            return found

        with ExitStack() as held:
            motions = [held.enter_context(at.motions(net.letters, i, k, F, R)) for k in heads]
            moves = [(k, *move) for k in heads for move in motions[k]]
            units = [move[1] for move in moves]
            if len(units) >= forms:
                spend(len(units) * forms * 64)
                with holding(len(units) * (100 + 48 * forms)):
                    images = [filled(b, v[k]) if s in "QK" else filled(A[k], b) for k, _, s, b in moves]
                    yield from at.solve(units, images, forms)
            held.enter_context(holding((len(units) + net.h**2 * (1 + f * (r == 1))) * (100 + 10 * size)))
            images = [image((1, k, int(s in "VO"), block)) for k, _, s, block in moves]
            pairs = list(itertools.permutations(heads, 2))
            images += [image((-1, j, 0, A[k]), (1, k, 1, v[j])) for j, k in pairs]
            for j, k in (pair for pair in pairs if r == 1 and pair[0] < pair[1]):
                for e in unit(f):
                    images.append(image((-1, j, 0, product(T(v[k]), [e])), (1, k, 0, product(T(v[j]), [e]))))
            most = net.h * (D(f, f, net.a[i]) + D(r, f, min(r, f, net.b[i])))
            yield from at.solve(units, images, most + min(size - most, len(images) - len(units)))
