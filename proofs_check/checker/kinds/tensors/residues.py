"""A lightning network with skip connections modulo a prime: what layers read and write at a few background tokens."""

from proofs_check.checker.functions.fibers.points import ModuloP
from proofs_check.checker.functions.matrices import dots
from proofs_check.checker.functions.network import Form, Weights
from proofs_check.checker.verify import Matrix, spend, transposed


class TensorResidues(ModuloP):
    """A network modulo p: of each head A and V; backgrounds are lists of tokens."""

    def __init__(self, form: Form, t: int, w: Weights, p: int) -> None:
        super().__init__(p)
        self.form, self.t, self.d = form, t, w.widths[0]
        self.layers = [[self._pair(*map(self.modulo, head)) for head in heads] for heads in w.layers]
        self.ends = [self.modulo(m) for m in (w.E, w.U) if m]

    def _pair(self, q: Matrix, k: Matrix, v: Matrix, o: Matrix) -> tuple[Matrix, Matrix]:
        return self.times(transposed(k), transposed(q)), self.times(o, transposed(v)) if o else v

    def add(self, a: Matrix, u: int, b: Matrix) -> Matrix:
        return [[(y + u * z) % self.p for y, z in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)]

    def read(self, i: int, x: Matrix) -> Matrix:
        """Return B_i at these tokens, for one token the derivative of the cubic form."""
        total = [[0] * self.d for _ in range(self.d)]
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
        total = x if skip else [[0] * self.d for _ in x]
        for a, v in self.layers[i]:
            scores = dots(x, dots(x, transposed(a)))  # of queries for keys
            if self.form.causal:
                scores = [[y * (j <= k) % self.p for j, y in enumerate(row)] for k, row in enumerate(scores)]
            more = dots(scores, transposed(dots(x, v)))
            total = self.add(total, 1, more)
        return total

    def determinant(self, m: Matrix) -> int:
        """Return the determinant of 1 + m."""
        p, m, found = self.p, [[y + (i == j) for j, y in enumerate(row)] for i, row in enumerate(m)], 1
        spend(len(m) ** 3)
        while m:
            at = next((k for k, row in enumerate(m) if row[0] % p), None)
            if at is None:
                return 0
            top = m.pop(at)
            found = found * top[0] * (-1) ** at % p
            inverse = pow(top[0], -1, p)
            m = [[(y - row[0] * inverse * z) % p for y, z in zip(row[1:], top[1:], strict=True)] for row in m]
        return found

    def on_line(self, i: int, j: int, degree: int, at: Matrix, along: Matrix) -> list[int]:
        """Return P_ij on a line, by its values, lowest coefficient first."""
        values = list[int]()
        for u in range(degree + 1):
            x = self.add(at, u, along)
            for k in range(i, j):
                x = self.written(k, x, skip=True)
            values.append(self.determinant(self.read(j, x)))
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
