"""The family `mixing`: motions of all heads of a layer together (section 3.1)."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from proofs_check.checker.bounds import of_rank, symmetric_of_rank
from proofs_check.checker.bounds.directions.spaces import StreamSpaces, is_line
from proofs_check.checker.functions.matrices import unit
from proofs_check.checker.verify import Matrix, spend, transposed


class MixedLayer:
    """The forms A_k = F^T K_k^T Q_k F and the values v_k = R V_k F of the heads of a layer, and how images are written.

    Where the stream is a line the symmetric parts of forms are all that counts.
    """

    def __init__(self, at: StreamSpaces, i: int) -> None:
        self.at, self.i, self.p, self.one = at, i, at.p, is_line(at.net)
        self.F, self.R = transposed(at.F[i - 1]), at.R[i]
        self.f, self.r, self.h = len(at.F[i - 1]), len(at.R[i]), at.net.h
        self.A = [self.part(at.form(i, k, self.F)) for k in range(self.h)]
        self.v = [at.product(at.product(self.R, at.v[i, k]), self.F) for k in range(self.h)]
        self.places = [(x, y) for x in range(self.f) for y in range(x if self.one else 0, self.f)]
        self.monomials = list(itertools.combinations_with_replacement(range(self.f), 3 if self.one else 2))
        self.each = len(self.places) + self.r * self.f

    def part(self, a: Matrix) -> Matrix:
        """Return what counts of a form."""
        f = range(self.f)
        return [[(a[x][y] + a[y][x]) % self.p for y in f] for x in f] if self.one else a

    def filled(self, a: Matrix, rows: Matrix) -> list[int]:
        """Return the forms of the columns of A, or of A, times those of V."""
        if self.one:
            found = [[a[x][y] * c[z] + a[y][z] * c[x] + a[z][x] * c[y] for x, y, z in self.monomials] for c in rows]
        else:
            found = [[b[x] * c[y] + b[y] * c[x] for x, y in self.monomials] for b in transposed(a) for c in rows]
        return [x % self.p for form in found for x in form]

    def image(self, *parts: tuple[int, int, bool, Matrix]) -> list[int]:
        """Return blocks dA_k, or else dv_k, of all heads in a row, each with its sign."""
        found = [0] * (self.h * self.each)
        for sign, k, is_of_form, block in parts:
            entries = [block[x][y] for x, y in self.places] if is_of_form else [x for row in block for x in row]
            for j, x in enumerate(entries, k * self.each + (not is_of_form) * len(self.places)):
                found[j] = sign * x % self.p
        return found

    def motions(self, heads: Iterable[int]) -> Iterator[tuple[int, int, bool, Matrix]]:
        """Yield numbers of entries of these heads, each with its head, and how it moves what counts of which part."""
        for k in heads:
            for entry, is_of_form, block in self.at.motions(self.i, k, self.F, self.R, values=True):
                yield entry, k, is_of_form, self.part(block) if is_of_form else block

    def images(self, heads: Iterable[int], pairs: Any, twos: Any) -> Iterator[tuple[int | None, list[int]]]:
        """Yield those of motions of heads, of the mixing of pairs, and of the syzygies of two: vectors s = e."""
        for entry, k, is_of_form, block in self.motions(heads):
            yield entry, self.image((1, k, is_of_form, block))
        for j, k in pairs:
            yield None, self.image((-1, j, True, self.A[k]), (1, k, False, self.v[j]))
        for j, k in twos:
            for e in unit(self.f):
                first, second = (self.part(self.at.product(transposed(self.v[m]), [e])) for m in (j, k))
                yield None, self.image((-1, j, True, second), (1, k, True, first))


def mixing(at: StreamSpaces) -> Iterator[int]:
    """Yield motions of the heads of a layer that fill the forms it depends on, or mix its heads."""
    net, heads = at.net, range(at.net.h)
    for i in range(1, net.l + 1):
        layer = MixedLayer(at, i)
        f, r, one, many = layer.f, layer.r, layer.one, len(layer.monomials)
        b, a = min(r, f, net.b[i]), min(net.a[i] * (1 + one), f)
        forms = min(of_rank(r, f * many, net.h * b), of_rank(f * r, many, net.h * a * b))
        forms = of_rank(r, many, net.h * b) if one else forms
        size, count = net.h * layer.each, r * many * (1 if one else f)
        entries = sum(rows.size * columns.size for key, rows, columns, _ in at.point.pieces if key[1] == i)
        if entries >= forms:
            spend(entries * count * 64)
            sides = ((n, (m, layer.v[k]) if form else (layer.A[k], m)) for n, k, form, m in layer.motions(heads))
            yield from at.solve(((n, layer.filled(*side)) for n, side in sides), forms)
        pairs = list(itertools.permutations(heads, 2))
        twos = [pair for pair in pairs if r == 1 and pair[0] < pair[1]]
        alone = (symmetric_of_rank(f, a) if one else of_rank(f, f, a)) + of_rank(r, f, b)  # of one head
        most = net.h * alone
        yield from at.solve(layer.images(heads, pairs, twos), most + min(size - most, len(pairs) + f * len(twos)))
        for pair in twos:
            yield from at.solve(layer.images(pair, [], [pair]), 2 * alone + f - max(0, 2 * a - f))
