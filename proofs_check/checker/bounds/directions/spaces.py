"""The spaces F_i and R_i of section 3 of docs/certificate.md at a point, and linear systems of motions of weights."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from proofs_check.checker.functions.matrices import dots, foresee, unit
from proofs_check.checker.functions.network import Head
from proofs_check.checker.functions.rings import independent
from proofs_check.checker.verify import (
    Echelon,
    Key,
    Matrix,
    Network,
    Point,
    keep,
    need,
    pack,
    spend,
    transposed,
    unpack,
)

Vector = Sequence[int]


@contextmanager
def holding(size: int) -> Iterator[None]:
    """Keep bytes that are needed for a while; what others make meanwhile stays counted."""
    keep(size)
    yield
    keep(-size)


def is_line(net: Network) -> bool:
    """Return whether the stream is y z^T, with scores that are not normalized."""
    return net.t == 1 or (net.n == 1 and not net.causal)


class Motion(NamedTuple):
    """How the entry with this number moves a form F^T K^T Q F, or else values R V F."""

    entry: int
    is_of_form: bool
    block: Matrix


class StreamSpaces:
    """Spaces F_i of what is written and R_i of what is read at a point, V for O V, and motions of its weights."""

    def __init__(self, point: Point) -> None:
        self.point, self.net, self.p, self.w = point, point.net, point.p, point.w
        self.heads = {at: Head(*(self.w.get((s, *at), []) for s in "QKVO")) for at in self.net.heads}
        self.v = {at: self.product(o, v) if o else v for at, (_, _, v, o) in self.heads.items()}
        self.spaces()

    def product(self, a: Matrix, b: Matrix) -> Matrix:
        """Return a b modulo p."""
        need(len(a[0]) == len(b), "the shapes of matrices that are multiplied must fit")
        return [[x % self.p for x in row] for row in dots(a, transposed(b))]

    def form(self, i: int, k: int, frame: Matrix) -> Matrix:
        """Return F^T K^T Q F for the columns F of a frame."""
        head = self.heads[i, k]
        return self.product(transposed(self.product(head.k, frame)), self.product(head.q, frame))

    def entry(self, key: Key, row: int, column: int) -> int:
        """Return the number of an entry of a weight."""
        return self.point.place[key] + row * len(self.w[key][0]) + column

    def basis(self, vectors: Iterable[Vector], size: int | None = None) -> list[Vector]:
        """Return those vectors that do not depend on the ones before; `size` of them must be."""
        found = independent(self.p, vectors)
        good = size in (None, len(found))
        need(good, "what is written and read must have its largest dimension, it has a smaller one")
        return found

    def sum(self, terms: Sequence[Matrix]) -> Matrix:
        """Return the sum of matrices modulo p."""
        pairs = (zip(*rows, strict=True) for rows in zip(*terms, strict=True))
        return [[sum(entries) % self.p for entries in row] for row in pairs]

    def spaces(self) -> None:
        """Find F_i and R_i by bases."""
        net, product, unread = self.net, self.product, self.net.normalized and self.net.t == 1
        width, ends = net.d[0], [self.w[self.point.pieces[end].key] for end in (0, -1)]
        start = transposed(ends[0]) if net.embed else None
        self.F = [unit(width) if start is None else self.basis(start, min(width, net.n))]
        for i in range(1, net.l + 1):
            f, x = len(self.F[-1]), transposed(self.F[-1])
            images = [transposed(product(self.v[i, k], x)) for k in range(net.h)]
            new: list[Vector] = [v for image in images for v in image] + list(self.F[-1]) * net.skip
            size = min(net.d[i], f * net.skip + net.h * min(f, net.b[i]))
            if f == 1 and not net.skip and not net.normalized:
                scores = [self.form(i, k, x)[0][0] for k in range(net.h)]
                new, size = list(product([scores], [image[0] for image in images])), 1
            self.F.append(self.basis(new, size))
        width = net.d[-1]
        self.R = [self.basis(ends[1], min(width, net.m)) if net.unembed else unit(width)]
        for i in range(net.l, 0, -1):
            r = len(self.R[0])
            new = [v for k in range(net.h) for v in product(self.R[0], self.v[i, k])] + list(self.R[0]) * net.skip
            new += [row for s in "QK" for k in range(net.h) for row in self.w[s, i, k] if not unread]
            size = r * net.skip + net.h * (min(r, net.b[i]) + 2 * net.a[i] * (not unread))
            self.R.insert(0, self.basis(new, min(net.d[i - 1], size)))

    def solve(self, moves: Iterable[tuple[int | None, Vector]], rank: int) -> Iterator[int]:
        """Yield a basis of the null space of the map that sends motions of entries, by their numbers, to these vectors.

        What has no number is an unknown that is no motion. There is none unless the map has this rank, which it can
        nowhere exceed.
        """
        echelon, places, tags, size = Echelon(self.p, 0), list[int | None](), list[int | None](), 0
        for place, image in moves:
            echelon = echelon if places else Echelon(self.p, len(image))
            size += 100 + 18 * len(places)
            keep(100 + 18 * len(places))  # the sum that the image is, and other ones
            tags.append(echelon.add(pack(image) | 1 << 64 * (len(image) + len(places))))
            places.append(place)
        for tag in (unpack(tag) for tag in tags if tag is not None and len(echelon.rows) == rank):
            factors = zip(tag, places, strict=False)
            yield sum(x % self.p << 64 * place for x, place in factors if place is not None)
        keep(-size - echelon.kept)

    def one_sided(self, key: Key, space: Sequence[Vector], rank: int, *, columns: bool = False) -> Iterator[int]:
        """Yield what may be added to the rows, or columns, of a weight, because it vanishes on a space."""
        rows, width = self.w[key], len(space[0])
        need(width == len(rows if columns else rows[0]), "spaces must be of vectors that a weight is applied to")
        with holding(width * (100 + 9 * len(space))):
            images = transposed(list(space))
            for j in range(len(rows[0]) if columns else len(rows)):
                places = (self.entry(key, x, j) if columns else self.entry(key, j, x) for x in range(width))
                yield from self.solve(zip(places, images, strict=True), rank)

    def motions(self, i: int, k: int, F: Matrix, R: Matrix, *, values: bool) -> Iterator[Motion]:
        """Yield motions of the entries of a head: of the weights of its form, and, if wanted, of its values."""
        product, head = self.product, self.heads[i, k]
        moving = [x for x in self.point.pieces if x.key[1:] == (i, k) and (values or x.rows.kind == "query-key")]
        foresee(0, 9 * sum(x.rows.size * x.columns.size for x in moving) ** 2)  # for sums of them
        for key, rows, columns, dual in moving:
            is_of_form = rows.kind == "query-key"
            x = product(head.k if dual else head.q, F) if is_of_form else transposed(R)
            x = transposed(product(R, head.o)) if rows.kind == "value-output" else x
            y = product(head.v, F) if columns.kind == "value-output" else F
            spend(len(x) * len(y) * 32 * (1 + len(x[0]) * len(y[0])))
            with holding(200 * (len(x[0]) + len(y[0])) + 96 * len(x[0]) * len(y[0])):
                for r, c in itertools.product(range(len(x)), range(len(y))):
                    block = [[a * b % self.p for b in y[c]] for a in x[r]]
                    block = transposed(block) if is_of_form and not dual else block
                    yield Motion(self.entry(key, r, c), is_of_form, block)
