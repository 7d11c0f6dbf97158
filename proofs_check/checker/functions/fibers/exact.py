"""The spaces of docs/transformer-fibers.md, section 1, over the rationals.

Vectors are integers; a batch may be scaled as a whole, and those of a basis each: all that is asked is what is zero.
"""

from collections.abc import Callable
from fractions import Fraction
from math import gcd

from proofs_check.checker.functions.matrices import Span, add, common, dots, integral, unit, zero
from proofs_check.checker.functions.network import Form, Head, Weights
from proofs_check.checker.verify import Matrix, keep, transposed


def _summed(parts: list[tuple[int, int, Matrix]]) -> Matrix:
    """Return the sum of matrices, each with a factor and a denominator, times a number."""
    under = common([low for _, low, _ in parts])
    total = [[0] * len(row) for row in parts[0][2]]
    for factor, low, m in parts:
        total = add(total, factor * (under // low), m) if factor else total
    shared = gcd(*(x for row in total for x in row))
    return [[x // shared for x in row] for row in total] if shared > 1 else total


class Spaces:
    """Vectors at each place, by letter: bases of `F`, `N`, `U`, and `S` S_i E, `Y` Y_i."""

    def __init__(self, form: Form, t: int, w: Weights) -> None:
        self.form, self.t, self.w, self.depth = form, t, w, len(w.layers)
        most = max(w.n, w.m)
        keep(4 * most * (100 + 8 * most))
        columns = transposed(integral(w.E).rows) or unit(w.n)
        rows = integral(w.U).rows or unit(w.m)
        basis = Span(columns).vectors()
        F, N, S = [basis], [basis], [columns]
        for heads in w.layers:
            N.append(Span(*(head.writes(F[-1]) for head in heads)).vectors())
            F.append(Span(*[F[-1]] * form.skip, N[-1]).vectors())
            S.append(self._all(heads, S[-1], Head.writes))
        U, Y = [Span(rows).vectors()], [rows]
        for heads in reversed(w.layers):
            U.insert(0, Span(*[U[0]] * form.skip, *(head.reads(U[0]) for head in heads)).vectors())
            Y.insert(0, self._all(heads, Y[0], Head.reads))
        self.at = {"F": F, "N": N, "S": S, "U": U, "Y": Y}

    def _all(self, heads: list[Head], batch: Matrix, through: Callable[[Head, Matrix], Matrix]) -> Matrix:
        return _summed([(1, 1, batch)] * self.form.skip + [(1, h.under, through(h, batch)) for h in heads])

    def scores(self, i: int, c: list[Fraction], keys: Matrix, queries: Matrix) -> Matrix:
        """Return a combination of the forms of the heads of layer i on vectors."""
        parts = []
        for factor, head in zip(c, self.w.layers[i - 1], strict=True):
            under = factor.denominator * integral(head.q).under * integral(head.k).under
            parts.append((factor.numerator, under, head.scores(keys, queries)))
        return _summed(parts)

    def unseen(self, i: int, c: list[Fraction], rows: Matrix, batch: Matrix) -> bool:
        """Return whether rows do not see a combination of what the heads of layer i write for vectors."""
        heads = zip(c, self.w.layers[i - 1], strict=True)
        written = _summed([(x.numerator, x.denominator * h.under, h.writes(batch)) for x, h in heads])
        return zero(dots(written, rows))

    def flips_are_unread(self, i: int, c: list[Fraction]) -> bool:
        """Return whether what these heads write, and what is left, are not read together by the next layer."""
        batch, heads = self.at["S"][i - 1], self.w.layers[i - 1]
        images = [(1, head.under, head.writes(batch)) for head in heads]
        written = _summed([image for x, image in zip(c, images, strict=True) if x])
        left = _summed([(1, 1, batch), *(image for x, image in zip(c, images, strict=True) if not x)])
        forms = (head.scores(left, written) for head in self.w.layers[i])
        return all(zero(add(m, 1, transposed(m))) for m in forms)
