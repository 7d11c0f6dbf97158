"""Conditions that do not hold, exactly, by a relation of heads or a rank that falls short.

Spaces are those of docs/transformer-fibers.md, section 1. Vectors are integers; a batch may be scaled as a whole, and
those of a basis each, since all that is asked is what is zero.
"""

from fractions import Fraction
from math import gcd
from typing import Any

from proofs_check.checker.functions.network import Form, Head, Network, integral
from proofs_check.checker.functions.spans import Space, add, common, dots
from proofs_check.checker.verify import COUNT, Matrix, T, _rational, keep, need, take


def _image(head: Head, batch: Matrix) -> Matrix:
    """O V v for each v, without the denominators."""
    rows, o = dots(batch, integral(head.V).rows), integral(head.O).rows
    return dots(rows, o) if o else rows


def _reading(head: Head, batch: Matrix) -> Matrix:
    """v^T O V."""
    o = integral(head.O).rows
    return dots(dots(batch, T(o)) if o else batch, T(integral(head.V).rows))


def _summed(parts: list[tuple[Any, int, Matrix]]) -> Matrix:
    """The sum of matrices, each with a factor and a denominator, times a number."""
    under = common([low for _, low, _ in parts])
    total = [[0] * len(row) for row in parts[0][2]]
    for factor, low, m in parts:
        total = add(total, factor * (under // low), m) if factor else total
    shared = gcd(*(x for row in total for x in row))
    return [[x // shared for x in row] for row in total] if shared > 1 else total


def _low(head: Head) -> int:
    return integral(head.V).under * integral(head.O).under


def _zero(m: Matrix) -> bool:
    return not any(map(any, m))


class Spaces:
    """Bases of F_i and of what words with a letter in layer i span, of the rows of the stack U_i; S_i E, Y_i."""

    def __init__(self, form: Form, t: int, w: Network) -> None:
        self.form, self.t, self.w, self.l = form, t, w, len(w.layers)
        most = max(w.n, w.m)
        keep(4 * most * (100 + 8 * most))
        start, end = ([[int(i == j) for j in range(k)] for i in range(k)] for k in (w.n, w.m))
        columns = T(integral(w.E).rows) or start
        rows = integral(w.U).rows or end
        self.F, self.N, self.S, self.half = [_basis(columns)], [_basis(columns)], [columns], [columns]
        for heads in w.layers:
            self.N.append(_basis(*(_image(head, self.F[-1]) for head in heads)))
            self.F.append(_basis(*[self.F[-1]] * form.skip, self.N[-1]))
            self.S.append(self._all(heads, self.S[-1], 1, _image))
            self.half.append(self._all(heads, self.half[-1], 2, _image))  # the stream counts twice
        self.R, self.Y = [_basis(rows)], [rows]
        for heads in reversed(w.layers):
            self.R.insert(0, _basis(*[self.R[0]] * form.skip, *(_reading(head, self.R[0]) for head in heads)))
            self.Y.insert(0, self._all(heads, self.Y[0], 1, _reading))

    def _all(self, heads: list[Head], batch: Matrix, plain: int, through: Any) -> Matrix:
        return _summed([(plain, 1, batch)] * self.form.skip + [(1, _low(h), through(h, batch)) for h in heads])

    # ---- combinations of the heads of a layer

    def _form(self, i: int, c: list[Fraction], keys: Matrix, queries: Matrix) -> Matrix:
        parts = []
        for factor, head in zip(c, self.w.layers[i - 1], strict=True):
            q, k = integral(head.Q), integral(head.K)
            parts.append((factor.numerator, factor.denominator * q.under * k.under,
                          dots(dots(keys, k.rows), dots(queries, q.rows))))  # fmt: skip
        return _summed(parts)

    def _written(self, i: int, c: list[Fraction], batch: Matrix) -> Matrix:
        heads = zip(c, self.w.layers[i - 1], strict=True)
        return _summed([(x.numerator, x.denominator * _low(h), _image(h, batch)) for x, h in heads])

    def _unseen(self, i: int, c: list[Fraction], rows: Matrix, batch: Matrix) -> bool:
        return not rows or not batch or _zero(dots(self._written(i, c, batch), rows))

    def fails(self, name: str, i: int, evidence: Any) -> str:
        """In words why it fails; rejected if that is not so."""
        if name in "FUS":
            (most,) = take(evidence, "the evidence", {"rank": COUNT})
            found, width = len(_basis({"F": self.F, "U": self.R, "S": self.S}[name][i])), self.w.widths[i]
            need(
                found <= most < width,
                f"the rank of {name} of layer {i} must be at most {most} < {width}, it is {found}",
            )
            return f"{name} of layer {i} (rank {found} of {width})"
        heads = len(self.w.layers[i - 1])
        (c,) = take(evidence, "the evidence", {"relation": [_rational, heads]})
        need(any(c), "a relation must not be zero")
        tests = {"a": self._a, "a'": self._a_prime, "b": self._b, "b unmasked": self._b_unmasked, "c": self._c,
                 "f": self._f}  # fmt: skip
        need(name in tests and tests[name](i, c), f"the relation must show that {name} of layer {i} fails")
        terms = ", ".join(f"{x} of head {h}" for h, x in enumerate(c, 1) if x)
        return f"{name} of layer {i} ({terms[:200]})"

    def _a(self, i: int, c: list[Fraction]) -> bool:
        if self.t > 2 or i == self.l:  # a head, two equal ones, or opposite ones
            numbers = sorted(x for x in c if x)
            alike = len(numbers) == 2 and (sum(numbers) == 0 or (self.t == 2 and numbers[0] == numbers[1]))
            if len(numbers) > 1 and not alike:
                return False
        return not self.N[i - 1] or _zero(self._form(i, c, self.N[i - 1], self.S[i - 1]))

    def _a_prime(self, i: int, c: list[Fraction]) -> bool:
        batch = self.N[i - 1]
        if self.t > 2:  # no other form may help this head
            if not _single(c):
                return False
            batch = _basis(batch, self.N[0]) if self.form.skip else batch
        if not batch:
            return True
        m = self._form(i, c, batch, batch)
        return _zero(add(m, 1, T(m)))

    def _b(self, i: int, c: list[Fraction]) -> bool:
        return _single(c) and self._unseen(i, c, self.R[i] if self.form.causal else self.Y[i], self.F[i - 1])

    def _b_unmasked(self, i: int, c: list[Fraction]) -> bool:
        return _single(c) and self._unseen(i, c, self.Y[i], self.F[i - 1])

    def _f(self, i: int, c: list[Fraction]) -> bool:
        return _single(c) and self._unseen(i, c, self.Y[i], self.half[i - 1])

    def _c(self, i: int, c: list[Fraction]) -> bool:
        if not {*c} <= {0, 1}:
            return False
        if not self.form.causal:
            return self._unseen(i, c, self.Y[i], self.N[i - 1])
        if not self.form.skip:
            return self._unseen(i, c, self.R[i], self.F[i - 1])
        if not self._unseen(i, c, self.Y[i], self.S[i - 1]):
            return False
        if i == self.l:
            return True
        # flips in this layer alone: what they write, and what is left, are not read together by the next layer
        batch, heads = self.S[i - 1], self.w.layers[i - 1]
        under = common([_low(h) for h in heads])
        written = [[0] * len(row) for row in batch]
        left = [[under * x for x in row] for row in batch]
        for x, head in zip(c, heads, strict=True):
            image, factor = _image(head, batch), under // _low(head)
            written, left = (add(written, factor, image), left) if x else (written, add(left, factor, image))
        for head in self.w.layers[i]:
            m = dots(dots(left, integral(head.K).rows), dots(written, integral(head.Q).rows))
            if not _zero(add(m, 1, T(m))):
                return False
        return True


def _single(c: list[Fraction]) -> bool:
    return sum(map(bool, c)) == 1


def _basis(*batches: Matrix) -> Matrix:
    space = Space()
    for batch in batches:
        space.grow(batch)
    return [*space.basis.values()]
