"""What stands at the places of a network, and the spaces of docs/transformer-fibers.md, section 1, over the rationals.

Vectors are integers; a batch may be scaled as a whole, and those of a basis each: all that is asked is what is zero.
"""

from collections.abc import Callable
from typing import Any

from proofs_check.checker.functions.matrices import Span, combined, dots, integral, unit, zero
from proofs_check.checker.functions.network import Form, Head, Weights, integers
from proofs_check.checker.functions.rings import symmetric
from proofs_check.checker.verify import Matrix, keep, transposed

Way = Callable[[Head, Matrix], Matrix]
"""What a head writes for vectors, or how it reads them."""


def places(net: Any, words: Matrix, first: Matrix, above: Matrix, means: Matrix) -> dict[str, list[Matrix]]:
    """Return batches at each place, by letter, from those at the ends.

    Columns are words `F`, those `N` with a letter in the layer before, and `S` S_i E; rows are words `U`, and `Y` Y_i.
    """
    F, N, S, U, Y = [words], [words], [first], [above], [means]
    for i in range(net.depth):
        N.append(net.words(i, Head.writes, F[-1]))
        F.append(net.both(F[-1], N[-1]) if net.form.skip else N[-1])
        S.append(net.sums(i, Head.writes, S[-1]))
    for i in reversed(range(net.depth)):
        longer = net.words(i, Head.reads, U[0])
        U.insert(0, net.both(U[0], longer) if net.form.skip else longer)
        Y.insert(0, net.sums(i, Head.reads, Y[0]))
    return {"F": F, "N": N, "S": S, "U": U, "Y": Y}


class Spaces:
    """A network over the rationals: bases of `F`, `N`, `U`, and the columns and rows of `S`, `Y`."""

    def __init__(self, form: Form, t: int, w: Weights) -> None:
        self.form, self.t, self.w, self.depth = form, t, w, len(w.layers)
        most, pairs = max(w.n, w.m), [integers(heads) for heads in w.layers]
        keep(4 * most * (100 + 8 * most))
        self.layers, self.under = [heads for heads, _ in pairs], [under for _, under in pairs]
        columns, rows = transposed(integral(w.E).rows) or unit(w.n), integral(w.U).rows or unit(w.m)
        self.at = places(self, Span(columns).vectors(), columns, Span(rows).vectors(), rows)

    def words(self, i: int, way: Way, batch: Matrix) -> Matrix:
        """Return a basis of what the heads of a layer make of vectors."""
        return Span(*(way(head, batch) for head in self.layers[i])).vectors()

    def both(self, one: Matrix, other: Matrix) -> Matrix:
        """Return a basis of the sum of two spaces."""
        return Span(one, other).vectors()

    def sums(self, i: int, way: Way, batch: Matrix) -> Matrix:
        """Return what all heads of a layer together, with skip connections, make of vectors, times a number."""
        skipped = [(self.under[i], batch)] * self.form.skip
        return combined(*skipped, *((1, way(head, batch)) for head in self.layers[i]))

    def rows(self, i: int, one: Matrix, other: Matrix, *, scores: bool) -> list[Matrix]:
        """Return scores, or values, of all heads of layer i on batches."""
        heads = self.layers[i - 1]
        return [head.scores(one, other) if scores else dots(head.writes(other), one) for head in heads]

    def flips_are_unread(self, i: int, c: list[int]) -> bool:
        """Return whether what these heads write, and what is left, are not read together by the next layer."""
        batch, heads = self.at["S"][i - 1], self.layers[i - 1]
        written = [(x, head.writes(batch)) for x, head in zip(c, heads, strict=True)]
        left = combined((self.under[i - 1], batch), *((1 - x, m) for x, m in written))
        return all(zero(symmetric(head.scores(left, combined(*written)))) for head in self.layers[i])
