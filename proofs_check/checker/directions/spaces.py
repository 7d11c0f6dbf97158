# ruff: noqa: N802 - T, D and S are the names of the grammar
"""The spaces F_i and R_i of section 3 of docs/certificate.md at a point, and linear systems of motions of weights."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import mul
from typing import Any

from proofs_check.checker.verify import Echelon, Network, Point, T, keep, need, pack, spend, unpack

Matrix = list[Any]
Vector = Sequence[int]
zipped = partial(zip, strict=True)


@contextmanager
def holding(size: int) -> Iterator[None]:
    """Bytes that are needed for a while."""
    keep(size)
    yield
    keep(-size)


def unit(size: int) -> Matrix:
    """The unit matrix."""
    keep(size * (100 + 9 * size))
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
        need(len(a[0]) == len(b), "the shapes of matrices that are multiplied must fit")
        spend(len(a) * len(b[0]) * (len(b) + 160))
        keep(len(a) * (100 + 40 * len(b[0])) + len(b[0]) * (60 + 9 * len(b)))
        columns = T(b)
        return [[sum(map(mul, row, column)) % self.p for column in columns] for row in a]

    def entry(self, key: Any, row: int, column: int) -> int:
        """The number of an entry of a weight."""
        return int(self.place[key] + row * len(self.w[key][0]) + column)

    def basis(self, vectors: Iterable[Vector], width: int, size: int | None = None) -> list[Vector]:
        """Those vectors that do not depend on the ones before; how many entries they have, how many there must be."""
        echelon, found = Echelon(self.p, width), list[Vector]()
        for vector in vectors:
            if len(found) == width:
                break
            if echelon.add(pack(vector)) is None:
                keep(48 * width)
                found.append(vector)
        keep(-echelon.kept)
        good = size in (None, len(found))
        need(good, "what is written and read must have its largest dimension, it has a smaller one")
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
        width = net.d[0]
        self.F = [self.basis(T(self.w["E", 0, 0]), width, min(width, net.n)) if net.embed else unit(width)]
        for i in range(1, net.l + 1):
            f, x = len(self.F[-1]), T(self.F[-1])
            images = [T(product(self.v[i, k], x)) for k in range(net.h)]
            new: list[Vector] = [v for image in images for v in image] + list(self.F[-1]) * net.skip
            size = min(net.d[i], f * net.skip + net.h * min(f, net.b[i]))
            if f == 1 and not net.skip and not net.normalized:
                forms = [product(T(product(self.w["K", i, k], x)), product(self.w["Q", i, k], x)) for k in range(net.h)]
                new, size = list(product([[form[0][0] for form in forms]], [image[0] for image in images])), 1
            self.F.append(self.basis(new, net.d[i], size))
        width = net.d[-1]
        self.R = [self.basis(self.w["U", net.l + 1, 0], width, min(width, net.m)) if net.unembed else unit(width)]
        for i in range(net.l, 0, -1):
            r = len(self.R[0])
            new = [v for k in range(net.h) for v in product(self.R[0], self.v[i, k])] + list(self.R[0]) * net.skip
            new += [row for s in "QK" for k in range(net.h) for row in self.w[s, i, k] if not unread]
            size = r * net.skip + net.h * (min(r, net.b[i]) + 2 * net.a[i] * (not unread))
            self.R.insert(0, self.basis(new, net.d[i - 1], min(net.d[i - 1], size)))

    def solve(self, units: Sequence[int], images: Sequence[Vector], rank: int) -> Iterator[int]:
        """The null space of the map with these images of motions of the entries (further images are of unknowns that
        are no motions), if it has this rank, which it can nowhere exceed."""
        width = len(images[0])
        echelon, size = Echelon(self.p, width), len(images) * (100 + 9 * len(images))
        with holding(size):  # the sums that each image is
            tags = [echelon.add(pack(image) | 1 << 64 * (width + j)) for j, image in enumerate(images)]
            if len(echelon.rows) == rank:
                for tag in (unpack(tag) for tag in tags if tag is not None):
                    yield sum(x % self.p << 64 * place for x, place in zip(tag, units, strict=False))
        keep(-echelon.kept)

    def one_sided(self, key: Any, space: Sequence[Vector], rank: int, columns: bool = False) -> Iterator[int]:
        """What may be added to the rows (or columns) of a weight, because it vanishes on a space."""
        rows, width = self.w[key], len(space[0])
        need(width == len(rows if columns else rows[0]), "spaces must be of vectors that a weight is applied to")
        with holding(width * (100 + 9 * len(space))):
            images = T(list(space))
            for j in range(len(rows[0]) if columns else len(rows)):
                units = [self.entry(key, x, j) if columns else self.entry(key, j, x) for x in range(width)]
                yield from self.solve(units, images, rank)

    @contextmanager
    def motions(self, letters: str, i: int, k: int, F: Matrix, R: Matrix) -> Iterator[list[tuple[int, str, Matrix]]]:
        """Motions of the entries of weights of a head, and how they move F^T K^T Q F or R V F; held for a while."""
        product, o, size, sides = self.product, "O" in self.net.letters, 0, list[tuple[str, Matrix, Matrix]]()
        for s in letters:
            x = product(self.w["K" if s == "Q" else "Q", i, k], F) if s in "QK" else T(R)
            x = T(product(R, self.w["O", i, k])) if s == "V" and o else x
            y = product(self.w["V", i, k], F) if s == "O" else F
            spend(len(x) * len(y) * 64 * (1 + len(x[0]) * len(y[0])))
            size += len(x) * len(y) * (300 + 100 * (len(x[0]) + len(y[0]) * (s == "K")) + 48 * len(x[0]) * len(y[0]))
            sides.append((s, x, y))
        with holding(size):
            found = list[tuple[int, str, Matrix]]()
            for s, x, y in sides:
                for r, c in itertools.product(range(len(x)), range(len(y))):
                    block = [[a * b % self.p for b in y[c]] for a in x[r]]
                    found.append((self.entry((s, i, k), r, c), s, T(block) if s == "K" else block))
            yield found
