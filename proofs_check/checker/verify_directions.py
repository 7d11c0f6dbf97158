# ruff: noqa: N802 - T, D and S are the names of the grammar
"""Directions that the function of a network does not see: upper bounds of kind `directions`, for verify.py beside it.

verify.py loads this file, of its own folder, when it meets such a bound; nothing else needs it. The families are those
of section 3 of docs/certificate.md, the proofs in docs/transformers.md, 2 to 7.
"""

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from operator import mul
from typing import Any

from proofs_check.checker.verify import (  # whichever copy is running
    Echelon,
    Network,
    Point,
    T,
    need,
    pack,
    spend,
    unpack,
)

Matrix = list[Any]
Vector = Sequence[int]
zipped = partial(zip, strict=True)


def unit(size: int) -> Matrix:
    """The unit matrix."""
    return [[int(i == j) for j in range(size)] for i in range(size)]


def D(r: int, c: int, k: int) -> int:
    """The dimension of the r x c matrices of rank at most k."""
    return min(r, c, k) * (r + c - min(r, c, k))


def S(r: int, k: int) -> int:
    """The dimension of the symmetric r x r matrices of rank at most k."""
    return min(r, k) * r - min(r, k) * (min(r, k) - 1) // 2


def line(net: Network) -> bool:
    """Whether the stream is y z^T, with scores that are not normalized."""
    return net.t == 1 or (net.n == 1 and not net.causal)


def families(net: Network) -> dict[str, bool]:
    """The families of section 3, and whether a network has them."""
    normal, two, plain = net.normalized, net.t == 2, net.h == 1 and not net.causal and not net.normalized
    return {
        "unwritten": True,
        "unread": True,
        "inside": "O" in net.letters,
        "pattern": normal and net.t == 1,
        "skew": not normal,
        "mixing": not normal and net.h > 1,
        "cancelling": two if normal else line(net),
        "skew differences": normal and two and net.causal,
        "symmetric products": plain and net.skip and not line(net) and net.n > 1,
    }


def directions(point: Point, family: str) -> Iterator[int]:
    """The directions of a family at a point, packed."""
    at = Unseen(point)
    makers: dict[str, Callable[[], Iterator[int]]] = {"mixing": at.mixing, "cancelling": at.cancelling}
    makers |= {"skew differences": at.skew_differences, "symmetric products": at.symmetric_products}
    yield from makers[family]() if family in makers else at.unseen(family)


class Unseen:
    """The spaces F_i and R_i of a point, V for O V, and the families."""

    def __init__(self, point: Point) -> None:
        self.net, self.p, self.w, self.place, self.heads = point.net, point.p, point.w, point.place, point.net.heads
        self.readers = {key: key[1] - 1 for key in self.w if key[0] in "QKVU"}  # from which place in the stream
        self.writers = {key: key[1] for key in self.w if key[0] in "E" + self.net.letters[-1]}
        self.v = dict[Any, Matrix]()
        self.spaces()

    def product(self, a: Matrix, b: Matrix) -> Matrix:
        """a b modulo p."""
        columns = T(b)
        spend(len(a) * len(columns) * (len(b) + 160))
        return [[sum(map(mul, row, column)) % self.p for column in columns] for row in a]

    def entry(self, key: Any, row: int, column: int) -> int:
        """The number of an entry of a weight."""
        return int(self.place[key] + row * len(self.w[key][0]) + column)

    def basis(self, vectors: Sequence[Vector], size: int | None = None) -> list[Vector]:
        """Those vectors that do not depend on the ones before; how many there must be."""
        echelon = Echelon(self.p, len(vectors[0]))
        found = [v for v in vectors if len(echelon.rows) < echelon.width and echelon.add(pack(v)) is None]
        need(
            size in (None, len(found)), "what is written and read must have its largest dimension, it has a smaller one"
        )
        return found

    def sum(self, terms: Sequence[Matrix]) -> Matrix:
        """The sum of matrices modulo p."""
        return [[sum(entries) % self.p for entries in zipped(*rows)] for rows in zipped(*terms)]

    def spaces(self) -> None:
        """F_i and R_i by bases, and V for O V."""
        net, product, unread = self.net, self.product, self.net.normalized and self.net.t == 1
        for i, k in self.heads:
            v = self.w["V", i, k]
            self.v[i, k] = product(self.w["O", i, k], v) if "O" in net.letters else v
        self.F = [self.basis(T(self.w["E", 0, 0]), min(net.d[0], net.n)) if net.embed else unit(net.d[0])]
        for i in range(1, net.l + 1):
            f, x = len(self.F[-1]), T(self.F[-1])
            images = [T(product(self.v[i, k], x)) for k in range(net.h)]
            new: list[Vector] = [v for image in images for v in image] + list(self.F[-1]) * net.skip
            size = min(net.d[i], f * net.skip + net.h * min(f, net.b[i]))
            if f == 1 and not net.skip and not net.normalized:
                forms = [product(T(product(self.w["K", i, k], x)), product(self.w["Q", i, k], x)) for k in range(net.h)]
                new, size = list(product([[form[0][0] for form in forms]], [image[0] for image in images])), 1
            self.F.append(self.basis(new, size))
        self.R = [self.basis(self.w["U", net.l + 1, 0], min(net.d[-1], net.m)) if net.unembed else unit(net.d[-1])]
        for i in range(net.l, 0, -1):
            r = len(self.R[0])
            new = [v for k in range(net.h) for v in product(self.R[0], self.v[i, k])] + list(self.R[0]) * net.skip
            new += [row for s in "QK" for k in range(net.h) for row in self.w[s, i, k] if not unread]
            size = r * net.skip + net.h * (min(r, net.b[i]) + 2 * net.a[i] * (not unread))
            self.R.insert(0, self.basis(new, min(net.d[i - 1], size)))

    def solve(self, units: Sequence[int], images: Sequence[Vector], rank: int) -> Iterator[int]:
        """The null space of the map with these images of motions of the entries (further images are of unknowns that
        are no motions), if it has this rank, which it can nowhere exceed."""
        width = len(images[0])
        echelon = Echelon(self.p, width)
        tags = [
            echelon.add(pack(image) | 1 << 64 * (width + j)) for j, image in enumerate(images)
        ]  # they keep the sums
        if len(echelon.rows) == rank:
            for tag in (unpack(tag) for tag in tags if tag is not None):
                yield sum(x % self.p << 64 * place for x, place in zip(tag, units, strict=False))

    def one_sided(self, key: Any, space: Sequence[Vector], rank: int, columns: bool = False) -> Iterator[int]:
        """What may be added to the rows (or columns) of a weight, because it vanishes on a space."""
        rows, images = self.w[key], T(list(space))
        for j in range(len(rows[0]) if columns else len(rows)):
            units = [self.entry(key, x, j) if columns else self.entry(key, j, x) for x in range(len(images))]
            yield from self.solve(units, images, rank)

    def motions(self, letters: str, i: int, k: int, F: Matrix, R: Matrix) -> Iterator[tuple[int, str, Matrix]]:
        """Motions of the entries of weights of a head, and how they move F^T K^T Q F or R V F."""
        product, o = self.product, "O" in self.net.letters
        for s in letters:
            x = product(self.w["K" if s == "Q" else "Q", i, k], F) if s in "QK" else T(R)
            x = T(product(R, self.w["O", i, k])) if s == "V" and o else x
            y = product(self.w["V", i, k], F) if s == "O" else F
            spend(len(x) * len(y) * 64 * (1 + len(x[0]) * len(y[0])))
            for r, c in itertools.product(range(len(x)), range(len(y))):
                block = [[a * b % self.p for b in y[c]] for a in x[r]]
                yield self.entry((s, i, k), r, c), s, T(block) if s == "K" else block

    def unseen(self, family: str) -> Iterator[int]:
        net, product, p, narrow, stream = self.net, self.product, self.p, False, min(self.net.d[0], self.net.n)
        if family == "unwritten":
            for key, j in self.readers.items():
                yield from self.one_sided(key, self.F[j], len(self.F[j]))
        if family == "unread":
            for key, j in self.writers.items():
                yield from self.one_sided(key, self.R[j], len(self.R[j]), columns=True)
        for i, k in self.heads:
            F, R, f = T(self.F[i - 1]), self.R[i], len(self.F[i - 1])
            if family == "pattern":
                yield from (1 << 64 * u for u, _, _ in self.motions("QK", i, k, F, R))
            if family == "inside":
                inner, outer = T(product(self.w["V", i, k], F)), product(R, self.w["O", i, k])
                yield from self.one_sided(("O", i, k), inner, min(net.b[i], f))
                yield from self.one_sided(("V", i, k), outer, min(net.b[i], len(R)), columns=True)
            lone = net.h == 1 and not net.skip and not net.causal
            if family == "skew" and (line(net) or (narrow and lone)):
                units, _, blocks = T(list(self.motions("QK", i, k, F, R)))
                images = [[(b[x][y] + b[y][x]) % p for x in range(f) for y in range(x + 1)] for b in blocks]
                yield from self.solve(units, images, S(f, 2 * min(net.a[i], f)))
            narrow, stream = narrow or min(net.a[i], stream) == 1, min(stream, net.b[i], net.d[i])

    def mixing(self) -> Iterator[int]:
        net, product, p, heads, one = self.net, self.product, self.p, range(self.net.h), line(self.net)
        for i in range(1, net.l + 1):
            F, R, f, r = T(self.F[i - 1]), self.R[i], len(self.F[i - 1]), len(self.R[i])

            def part(a: Matrix, f: int = f) -> Matrix:
                """What counts of a form: on a line its symmetric part."""
                return [[(a[x][y] + a[y][x]) % p for y in range(f)] for x in range(f)] if one else a

            A = [part(product(T(product(self.w["K", i, k], F)), product(self.w["Q", i, k], F))) for k in heads]
            v = [product(product(R, self.v[i, k]), F) for k in heads]
            moves = [
                (k, u, s, part(b) if s in "QK" else b)
                for k in heads
                for u, s, b in self.motions(net.letters, i, k, F, R)
            ]
            units, b, a = [move[1] for move in moves], min(r, f, net.b[i]), min(net.a[i] * (1 + one), f)
            places = [(x, y) for x in range(f) for y in range(x if one else 0, f)]
            monomials = list(itertools.combinations_with_replacement(range(f), 3 if one else 2))
            if one:
                forms = D(r, len(monomials), net.h * b)
            else:
                forms = min(D(r, f * len(monomials), net.h * b), D(f * r, len(monomials), net.h * a * b))

            def filled(a: Matrix, rows: Matrix, monomials: Any = monomials) -> list[int]:
                """The forms of the columns of A, or of A, times those of V."""
                if one:
                    cubic = [[a[x][y] * c[z] + a[y][z] * c[x] + a[z][x] * c[y] for x, y, z in monomials] for c in rows]
                else:
                    cubic = [[b[x] * c[y] + b[y] * c[x] for x, y in monomials] for b in T(a) for c in rows]
                return [x % p for form in cubic for x in form]

            if len(units) >= forms:
                spend(len(units) * f * r * len(monomials) * 64)
                images = [filled(b, v[k]) if s in "QK" else filled(A[k], b) for k, _, s, b in moves]
                yield from self.solve(units, images, forms)

            each = len(places) + r * f
            size = net.h * each

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

            images = [image((1, k, int(s in "VO"), block)) for k, _, s, block in moves]
            pairs = list(itertools.permutations(heads, 2))
            images += [image((-1, j, 0, A[k]), (1, k, 1, v[j])) for j, k in pairs]
            twos = [pair for pair in pairs if r == 1 and pair[0] < pair[1]]
            for j, k in twos:
                for e in unit(f):
                    two = [part(product(T(v[m]), [e])) for m in (j, k)]
                    images.append(image((-1, j, 0, two[1]), (1, k, 0, two[0])))
            alone = (S(f, a) if one else D(f, f, a)) + D(r, f, b)  # of one head
            most = net.h * alone
            yield from self.solve(units, images, most + min(size - most, len(images) - len(units)))
            for n, both in enumerate(twos):  # the syzygies of one pair of heads
                own = [m for m, move in enumerate(moves) if move[0] in both]
                vectors = range(len(units) + len(pairs) + n * f, len(units) + len(pairs) + (n + 1) * f)
                most = 2 * alone + f - max(0, 2 * a - f)
                yield from self.solve([units[m] for m in own], [images[m] for m in (*own, *vectors)], most)

    def cancelling(self) -> Iterator[int]:
        """Motions whose blocks between words, that is products of values, cancel in the scores."""
        net, p, product, base = self.net, self.p, self.product, self.net.h + self.net.skip
        dims, layers = [len(F) for F in self.F], range(2, net.l + 1)
        for i, s in [(j, k) for j in layers for k in range(max(1, j - 6), j) if 2 <= base ** (j - k) <= 64]:
            words: list[Any] = [((), T(self.F[s - 1]))]  # the heads of each word, and the word
            for j in range(s, i):
                longer = [((*w, (j, k)), product(self.v[j, k], W)) for k in range(net.h) for w, W in words]
                words = words + longer if net.skip else longer
            names, columns = [w for w, _ in words], [T(W) for _, W in words]
            d, f = net.d[i - 1], dims[i - 1]
            parts = [net.h * D(net.d[j], dims[j - 1], net.b[j]) for j in range(s, i)]
            if not net.skip:  # the bases in between do not count
                parts[:-1] = [net.h * D(dims[j], dims[j - 1], net.b[j]) - dims[j] ** 2 for j in range(s, i - 1)]
            size = sum(parts) + d * dims[s - 1] * net.skip
            if not self.generic(columns, size, f):
                continue
            sums = defaultdict[Any, list[Any]](list)  # the pairs of words in each equation
            for (a, x), (b, y) in itertools.product(enumerate(names), repeat=2):
                sums[1, tuple(sorted(x + y))].append((a, b))
                if net.normalized:
                    sums[2, x].append((a, b))
                    for j in range(0 if net.causal else len(y)):
                        sums[3, tuple(sorted(x + y[:j])), y[j]].append((a, b))
                    if net.g:
                        sums[4, a, b].append((a, b))
            kept = self.basis([[x % p for x in form] for form in self.equations(columns, sums)])
            most = D(f, f, net.a[i])
            if len(kept) < most:  # over the rationals their rank might be larger
                most = self.rational_rank(i, s, size, sums)
            for k in range(net.h):
                units, _, blocks = T(list(self.motions("QK", i, k, unit(d), self.R[i])))
                images = [[sum(map(mul, form, itertools.chain(*block))) % p for form in kept] for block in blocks]
                yield from self.solve(units, images, min(D(f, f, net.a[i]), most))

    def generic(self, columns: list[Matrix], size: int, f: int) -> bool:
        """Whether words, by their columns, span f dimensions and are moved by basis changes in as many as there are."""
        d, n = len(columns[0][0]), len(columns[0])
        spend((d * d + n * n) * len(columns) * d * n * 64)
        orbit = [[w[c] * (x == r) for W in columns for w in W for x in range(d)] for r in range(d) for c in range(d)]
        orbit += [[x * (y == c) for W in columns for y in range(n) for x in W[r]] for r in range(n) for c in range(n)]
        return len(self.basis(orbit)) == size and len(self.basis([*itertools.chain(*columns)])) == f

    @staticmethod
    def equations(columns: list[Matrix], sums: dict[Any, list[Any]]) -> Iterator[list[int]]:
        """Each equation on forms as the d x d matrix of its coefficients, in a row."""
        d, n = len(columns[0][0]), len(columns[0])
        for (kind, *_), pairs in sums.items():
            for x, y in itertools.product(range(n), repeat=2):
                terms = [(columns[a][x], columns[b][y]) for a, b in pairs]
                terms += [(columns[a][y], columns[b][x]) for a, b in pairs if kind in (1, 3)]
                terms += [(columns[b][y], columns[a][x]) for a, b in pairs if kind == 4]
                spend(2 * len(terms) * d * d)
                yield [sum(v[q] * w[r] for v, w in terms) for q in range(d) for r in range(d)]

    def rational_rank(self, i: int, s: int, size: int, sums: dict[Any, list[Any]]) -> int:
        """The rank over the rationals of the equations on all forms, at words of small integers in the open orbit."""
        net, source = self.net, random.Random(0)

        def small(rows: int, columns: int) -> Matrix:
            return [[source.randint(-4, 4) for _ in range(columns)] for _ in range(rows)]

        def times(a: Matrix, b: Matrix) -> Matrix:
            return [[sum(map(mul, row, column)) for column in T(b)] for row in a]

        for _ in range(8):
            words = [small(net.d[s - 1], len(self.F[s - 1]))]
            for j in range(s, i):
                ranks = [min(net.b[j], net.d[j - 1])] * net.h
                values = [times(small(net.d[j], b), small(b, net.d[j - 1])) for b in ranks]
                longer = [times(v, W) for v in values for W in words]
                words = words + longer if net.skip else longer
            columns = [T(W) for W in words]
            if self.generic([[[x % self.p for x in w] for w in W] for W in columns], size, len(self.F[i - 1])):
                rows = dict[int, list[Fraction]]()
                for form in self.equations(columns, sums):
                    spend(len(form) * len(rows) * 16)
                    rest = [Fraction(x) for x in form]
                    for pivot, row in rows.items():
                        if factor := rest[pivot]:
                            rest = [x - factor * y for x, y in zip(rest, row, strict=True)]
                    if any(rest):
                        first = next(j for j, x in enumerate(rest) if x)
                        rows[first] = [x / rest[first] for x in rest]
                return len(rows)
        need(False, "words of small integers must be found in the open orbit, there are none")
        return 0

    def combinations(self, i: int, k: int, W: Matrix, forms: Sequence[Matrix]) -> Iterator[int]:
        """Motions of the scores of a head that are combinations of these forms on the columns of W."""
        units, _, blocks = T(list(self.motions("QK", i, k, W, self.R[i])))
        images = [[x % self.p for row in form for x in row] for form in [*blocks, *forms]]
        f, size = len(self.F[i - 1]), len(W[0]) ** 2
        yield from self.solve(units, images, min(size, D(f, f, self.net.a[i]) + len(forms)))

    def skew_differences(self) -> Iterator[int]:
        """Combinations of k k'^T - k' k^T, where k and k' vanish on the sum s of the words."""
        net, product = self.net, self.product
        s = T(self.F[0])
        for i in range(2, net.l + 1):
            s = self.sum([s] * net.skip + [product(self.v[i - 1, k], s) for k in range(net.h)])
            F, f = T(self.F[i - 1]), len(self.F[i - 1])
            if len(self.basis(T(s))) != min(f, len(self.F[0])):
                continue
            null = [(*unpack(x), *[0] * len(s))[: len(s)] for x in self.solve(range(len(s)), s, len(self.basis(T(s))))]
            pairs = itertools.combinations(self.basis(product(null, F)) if null else [], 2)
            forms = [[[a * y - b * x for x, y in zipped(k, m)] for a, b in zipped(k, m)] for k, m in pairs]
            for k in range(net.h):
                yield from self.combinations(i, k, F, forms)

    def symmetric_products(self) -> Iterator[int]:
        """Forms that see nothing of X and V X (X^T A X), layer after layer, on the words side by side."""
        W, forms = T(self.F[0]), list[Matrix]()
        for i in range(2, self.net.l + 1):
            n, zero, product = len(W[0]), [[0] * len(W[0])] * len(W[0]), self.product
            if n > 32:
                return
            A = product(T(product(self.w["K", i - 1, 0], W)), product(self.w["Q", i - 1, 0], W))
            tops, new = [T(A)], [[form if q == at else zero for q in range(4)] for form in forms for at in range(4)]
            if min(self.net.a[i - 1], len(self.F[i - 2])) == 1:  # A = p q^T
                q = next((row for row in A if any(row)), [0] * n)
                tops = [product(T([q]), [e]) for e in unit(n)]
                pairs = itertools.combinations(unit(n), 2)
                new += [
                    [zero, zero, zero, [[a * y - b * x for x, y in zipped(e, g)] for a, b in zipped(e, g)]]
                    for e, g in pairs
                ]
            new += [[zero, top, [[-x for x in row] for row in T(top)], zero] for top in tops]
            spend(len(new) * 16 * n * n)
            forms = [[[*x, *y] for x, y in [*zipped(a, b), *zipped(c, d)]] for a, b, c, d in new]
            W = [[*x, *y] for x, y in zipped(W, product(self.v[i - 1, 0], W))]
            yield from self.combinations(i, 0, W, forms)
