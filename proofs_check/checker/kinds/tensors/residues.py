"""A lightning network modulo a prime: what layers read and write at a few background tokens.

Without skip connections the first layer reads what E reads, and the last one writes what U writes.
"""

from proofs_check.checker.functions.fibers.places import Field
from proofs_check.checker.functions.matrices import determinant, dots, unit
from proofs_check.checker.functions.network import Form, Weights
from proofs_check.checker.verify import Matrix, spend, transposed


class TensorResidues(Field):
    """A network modulo p: of each head A and V; backgrounds are lists of tokens."""

    def __init__(self, form: Form, t: int, w: Weights, p: int) -> None:
        super().__init__(p)
        self.form, self.t = form, t
        self.layers = [[self._pair(*map(self.matrix, head)) for head in heads] for heads in w.layers]
        self.ends = [self.matrix(m) for m in (w.E, w.U) if m]
        if not form.skip and w.E:
            e = transposed(self.matrix(w.E))
            self.layers[0] = [
                (self.times(self.times(e, transposed(a)), e), self.times(v, e)) for a, v in self.layers[0]
            ]
        if not form.skip and w.U:
            u = self.matrix(w.U)
            self.layers[-1] = [(a, self.times(u, transposed(v))) for a, v in self.layers[-1]]

    def _pair(self, q: Matrix, k: Matrix, v: Matrix, o: Matrix) -> tuple[Matrix, Matrix]:
        return self.times(transposed(k), transposed(q)), self.times(o, transposed(v)) if o else v

    def add(self, a: Matrix, u: int, b: Matrix) -> Matrix:
        return [[(y + u * z) % self.p for y, z in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]

    def read(self, i: int, x: Matrix) -> Matrix:
        """Return B_i at these tokens, for one token the derivative of the cubic form."""
        total = [[0] * len(row) for row in self.layers[i][0][1]]
        for a, v in self.layers[i]:
            values, keys = transposed(dots(x, v)), dots(x, transposed(a))
            parts = [dots(values, transposed(keys))]
            if self.t == 1:
                parts.append(dots(values, transposed(dots(x, a))))
                parts.append([[y * dots(keys, x)[0][0] for y in row] for row in v])
            for part in parts:
                total = self.add(total, 1, part)
        return total

    def written(self, i: int, x: Matrix, *, skip: bool) -> Matrix:
        """Return the tokens behind layer i, or what it writes to them."""
        total = x if skip else [[0] * len(self.layers[i][0][1]) for _ in x]
        for a, v in self.layers[i]:
            scores = dots(x, dots(x, transposed(a)))  # of queries for keys
            if self.form.causal:
                scores = [[y * (j <= k) % self.p for j, y in enumerate(row)] for k, row in enumerate(scores)]
            more = dots(scores, transposed(dots(x, v)))
            total = self.add(total, 1, more)
        return total

    def slopes(self, i: int, x: Matrix) -> Matrix:
        """Return the derivatives of what layer i writes to these tokens, twelve times each, by its values."""
        found, size = list[list[int]](), len(x[0])
        for row in unit(len(x) * size):
            h = [row[k : k + size] for k in range(0, len(row), size)]
            a, b, c, d = (sum(self.written(i, self.add(x, u, h), skip=False), list[int]()) for u in (1, -1, 2, -2))
            found.append([(8 * (y - z) - v + w) % self.p for y, z, v, w in zip(a, b, c, d, strict=True)])
        return found

    def powers(self, rows: int, columns: int) -> Matrix:
        """Return the unit matrix, or powers of 1, 2, ... where that is not square."""
        some = [[pow(k + 1, i, self.p) for k in range(columns)] for i in range(rows)]
        return unit(rows) if rows == columns else some

    def value(self, m: Matrix, rank: int) -> int:
        """Return the determinant of 1 + m, or without skip connections of R m S, of this size."""
        if self.form.skip:
            return determinant(
                [[(y + (i == j)) % self.p for j, y in enumerate(row)] for i, row in enumerate(m)], self.p
            )
        m = self.times(self.times(self.powers(rank, len(m)), transposed(m)), self.powers(rank, len(m[0])))
        return determinant(m, self.p)

    def on_line(self, i: int, j: int, rank: int, degree: int, at: Matrix, along: Matrix) -> list[int]:
        """Return P_ij on a line, by its values, lowest coefficient first."""
        values = list[int]()
        for u in range(degree + 1):
            x = self.add(at, u, along)
            for k in range(i, j):
                x = self.written(k, x, skip=self.form.skip)
            values.append(self.value(self.read(j, x), rank))
        spend(2 * degree**2)
        for step in range(1, degree + 1):  # Newton's divided differences
            inverse = pow(step, -1, self.p)
            values[step:] = [
                (b - a) * inverse % self.p for a, b in zip(values[step - 1 :], values[step:], strict=False)
            ]
        found = list[int]()
        for u in range(degree, -1, -1):
            found = [(a - u * b) % self.p for a, b in zip([0, *found], [*found, 0], strict=True)]
            found[0] = (found[0] + values[u]) % self.p
        return found
