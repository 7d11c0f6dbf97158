r"""The canonical form of lightning weights with heads or options: layer tensors, written by heads in one way.

By Theorem 1 of docs/deep-lightning.md the function determines `E`, `U` and all layer tensors up to one change of basis
of the stream, which is such that `E` is a reduced echelon form; ends that are absent are unit matrices. A single head
is $(A, V)$ up to a factor, which makes the first entry of $A$ one, and where both have rank one keys and values may be
exchanged: the smaller pair stands.
Several heads are written out: the coefficients of $y_j y_n z_k$, $n \ge j$, in row $m$ of $T(y; z)$ are row $n$ of the
matrix $A$ of a head whose values take $y_j$ to row $m$. So networks with any number of heads, two at least, agree.

Without skip connections it is Theorem 3: `E` is read by the first layer, `U` written by the last, and the basis of each
stream between layers is such that these coefficients, row by row, are a reduced echelon form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from lightning_sym.ask import failing
from lightning_sym.errors import BadInput, proved_to_be
from lightning_sym.exact.rational import columns_of, row_echelon
from lightning_sym.fibers.answer import AskedFiber
from lightning_sym.fibers.layer_tensors import lines_price
from lightning_sym.fibers.tensor_hypotheses import NOT_TOO_WIDE, PAGE, THEOREM_1, THEOREM_3, TWO_TOKENS
from lightning_sym.network.pieces import LIGHTNING
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits

COEFFICIENT = 4e-6
"""Seconds for a product of two entries of a head."""


def tensors_in_normal_form(asked: AskedFiber) -> tuple[NetworkCircuits, str]:
    """Return a network with the layer tensors that every network with this function has in common, and its theorem.

    Raises:
        BadInput: a hypothesis of Theorem 1 or 3 is not known to hold, of Theorem 1 with one background token.
        TooLarge: the estimates exceed the budget.
    """
    shape, d = asked.shape, max(*asked.shape.widths, asked.shape.input_width)
    shape.require("the canonical form", LIGHTNING)
    theorem, needs = (f"Theorem 1 of {PAGE}", THEOREM_1) if shape.skip else (f"Theorem 3 of {PAGE}", THEOREM_3)
    if why := failing(asked, (TWO_TOKENS, NOT_TOO_WIDE)):
        raise BadInput(f"the canonical form of lightning weights with options needs {theorem}: {why}")
    asked.budget.spend(lines_price(shape) + COEFFICIENT * shape.depth * shape.heads * d**4, "layer tensors")
    why = failing(asked, needs)
    if (
        why is None and shape.skip and asked.tensors.tested[0].background > 1
    ):  # what is known of other ranks may then be incomparable
        why = "(D), (K) and (F) are shown with two background tokens alone"
    if why is not None:
        raise BadInput(f"the canonical form of lightning weights with options needs {theorem}: {why}")
    net = NetworkCircuits.of(asked.weights)
    if not shape.skip:
        return _between_streams(net), theorem
    net = _in_basis(net, columns_of(net.embed, row_echelon(net.embed).pivots))

    def write(heads: Sequence[HeadCircuits]) -> Iterator[HeadCircuits]:
        return _one_head(heads) if shape.heads == 1 else _written(_coefficients(heads))

    return replace(net, layers=[list(write(list(heads))) for heads in net.layers]), theorem


def _between_streams(net: NetworkCircuits) -> NetworkCircuits:
    """Return layer tensors between `E` and `U`, in bases of the streams that they determine."""
    before, layers = net.embed, list[list[HeadCircuits]]()
    for i, heads in enumerate(net.layers, start=1):
        behind = net.unembed if i == len(net.layers) else None
        read = [HeadCircuits(before.mT @ h.attention @ before, h.value @ before) for h in heads]
        forms = _coefficients([h if behind is None else replace(h, inner_value=behind @ h.value) for h in read])
        if behind is None:
            rows = RationalMatrix.of(forms.reshape(len(forms), -1))
            echelon = row_echelon(rows)
            before, forms = columns_of(rows, echelon.pivots), echelon.rows.fractions().reshape(forms.shape)
        layers.append(list(_written(forms)))
    ends = (RationalMatrix.identity(size) for size in (net.embed.shape[1], net.unembed.shape[0]))
    embed, unembed = ends
    widths = (embed.shape[0], *net.widths[1:-1], unembed.shape[0])
    return replace(net, embed=embed, layers=layers, widths=widths, unembed=unembed)


def _in_basis(net: NetworkCircuits, basis: RationalMatrix) -> NetworkCircuits:
    """Return the same function, in coordinates of the stream in this basis of it."""
    inverse = proved_to_be(basis.inverse(), "pivot columns of an embedding of full rank must be a basis")
    layers = [[HeadCircuits(basis.mT @ h.attention @ basis, inverse @ h.value @ basis) for h in x] for x in net.layers]
    return replace(net, embed=inverse @ net.embed, layers=layers, unembed=net.unembed @ basis)


def _first(matrix: RationalMatrix) -> tuple[int, int, Fraction]:
    """Return the place of the first entry that is not 0, and the entry."""
    entries = matrix.fractions()
    row, column = next(place for place in product(*map(range, entries.shape)) if entries[place])
    return row, column, entries[row, column]


def _one_head(heads: Sequence[HeadCircuits]) -> Iterator[HeadCircuits]:
    """Yield the pair that stands for `(A, V)`, neither of them zero."""
    (head,) = heads
    pairs = [(head.attention, head.value)]
    if head.attention.rank() == head.value.rank() == 1:  # A = p q^T, V = w v^T: also v q^T, w p^T
        (i, j, at), (k, m, _) = map(_first, pairs[0])
        key, query = columns_of(head.attention, (j,)), head.attention.rows([i]).scaled(1 / at)
        out, row = columns_of(head.value, (m,)), head.value.rows([k])
        pairs.append((row.mT @ query, out.scaled(1 / _first(head.value)[2]) @ key.mT))
    scaled = [(a.scaled(1 / _first(a)[2]), v.scaled(_first(a)[2])) for a, v in pairs]
    yield HeadCircuits(*min(scaled, key=lambda pair: [m.sort_key() for m in pair]))


def _coefficients(heads: Sequence[HeadCircuits]) -> ObjectArray:
    """Return those of a tensor, by the row that is written and the coordinate that it begins with: matrices `A`."""
    pairs = [(head.attention.fractions(), head.value.fractions()) for head in heads]
    rows, size = pairs[0][1].shape
    forms = np.full((rows, size, size, size), Fraction(0), dtype=object)
    for (m, j), (a, v) in product(product(range(rows), range(size)), pairs):
        forms[m, j, j:] += v[m, j] * a[j:]
        forms[m, j, j + 1 :] += np.multiply.outer(v[m, j + 1 :], a[j])
    return forms


def _written(forms: ObjectArray) -> Iterator[HeadCircuits]:
    """Yield one head for each of these matrices that is not zero."""
    for m, j in np.ndindex(forms.shape[:2]):
        if forms[m, j].any():
            value = np.full(forms.shape[:2], 0, dtype=object)
            value[m, j] = 1
            yield HeadCircuits(RationalMatrix.of(forms[m, j]), RationalMatrix.of(value))
