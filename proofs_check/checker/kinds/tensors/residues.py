"""A lightning network modulo a prime: what layers read and write at a few background tokens.

Without skip connections the first layer reads what E reads, and the last one writes what U writes.
"""

from proofs_check.checker.functions.fibers.places import Field
from proofs_check.checker.functions.matrices import determinant, unit
from proofs_check.checker.functions.network import Form, Head, Weights
from proofs_check.checker.functions.outputs import layer
from proofs_check.checker.functions.rings import Residues
from proofs_check.checker.verify import Matrix, scratch, spend, transposed


class TensorResidues:
    """A network modulo p, of each head A in place of Q and V: K and O are 1; backgrounds are tokens as columns."""

    def __init__(self, form: Form, t: int, w: Weights, field: Field) -> None:
        self.form, self.t, self.p, self.times = form, t, field.p, Residues(field.p).times
        each, times = [[map(field.matrix, head) for head in heads] for heads in w.layers], self.times
        self.layers = [[Head(times(transposed(k), q), [], times(o, v), []) for q, k, v, o in heads] for heads in each]
        e, u = map(field.matrix, (w.E, w.U))
        self.ends = [m for m in (e, u) if m]
        if not form.skip:
            self.layers[0] = [Head(times(transposed(e), a, e), [], times(v, e), []) for a, _, v, _ in self.layers[0]]
            self.layers[-1] = [head._replace(v=times(u, head.v)) for head in self.layers[-1]]

    def add(self, a: Matrix, u: int, b: Matrix) -> Matrix:
        """Return a + u b."""
        return [[(y + u * z) % self.p for y, z in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]

    def read(self, i: int, x: Matrix) -> Matrix:
        """Return B_i at these tokens, for one token the derivative of the cubic form."""
        total, times = [[0] * len(row) for row in self.layers[i][0].v], self.times
        for a, _, v, _ in self.layers[i]:
            values = times(v, x, transposed(x))
            total = self.add(total, 1, times(values, a))
            if self.t == 1:
                total = self.add(total, 1, times(values, transposed(a)))
                total = self.add(total, times(transposed(x), a, x)[0][0], v)
        return total

    def written(self, i: int, x: Matrix, *, skip: bool) -> Matrix:
        """Return the tokens behind layer i, or what it writes to them."""
        return layer(self.layers[i], self.form._replace(skip=skip), x, Residues(self.p))

    def slopes(self, i: int, x: Matrix) -> Matrix:
        """Return the derivatives of what layer i writes to these tokens, twelve times each, by its values."""
        found, size = list[list[int]](), len(x[0])
        for row in unit(len(x) * size):
            h = [row[k : k + size] for k in range(0, len(row), size)]
            with scratch():
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
        sides = self.powers(rank, len(m)), transposed(self.powers(rank, len(m[0])))
        return determinant(self.times(sides[0], m, sides[1]), self.p)

    def on_line(self, i: int, j: int, rank: int, degree: int, at: Matrix, along: Matrix) -> list[int]:
        """Return P_ij on a line, by its values, lowest coefficient first."""
        values = list[int]()
        for u in range(degree + 1):
            with scratch():
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
