r"""Circuits in coordinates that the function alone determines.

*The stream* (Proposition 14 of docs/transformer-fibers.md). Let the function determine all words and blocks. The
columns of all words up to layer $i$ span $F_i$. A basis of $F_0$ are the pivot columns of $E$; one of $F_i$ are, with a
skip connection, the basis of $F_{i-1}$ and then the pivot columns of all $V_{ih}$ on it, head after head, which stand
in the order of their forms $A_{ih}$ on $F_{i-1}$. What the last layer writes is seen through $U$ only: with skip
connections the stream gets one coordinate more for each direction of outputs that $U F_{l-1}$ has not; without, it
writes some of the outputs, and `U` is the reduced echelon basis of the space that outputs lie in. All of the stream
must be seen.

*One layer* (Theorem 8), softmax, $t \ge 2$: words are left free, $F_0$ is $\mathbb{R}^n$, and heads with one form are
one. For $t = 2$, where $M_m - M_{-m}$ and $\sum M$ are determined, one of $m$, $-m$ stands for both: the larger one,
but if there is one such pair alone and one of its signs leaves nothing for the form 0, this sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.exact.rational import columns_of, independent_columns, row_echelon
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits
from lightning_sym.system.common_streams import streams
from lightning_sym.system.fields import Q

Key = tuple[Any, ...]

MOST_SIGNS = 10
"""Heads of a layer up to which all choices of signs are tried."""


def _beside(matrices: Sequence[RationalMatrix]) -> RationalMatrix:
    return Q.stacked([matrix.mT for matrix in matrices]).mT


def _grown(matrix: RationalMatrix, rows: int, columns: int) -> RationalMatrix:
    """Return a matrix in the upper left corner of a larger one."""
    if matrix.shape == (rows, columns):
        return matrix
    wide = _beside([matrix, RationalMatrix.zero(matrix.shape[0], columns - matrix.shape[1])])
    return wide.above(RationalMatrix.zero(rows - matrix.shape[0], columns))


def _apart(matrix: RationalMatrix, sizes: Sequence[int]) -> list[RationalMatrix]:
    """Return the blocks of columns that have these sizes."""
    return [block.mT for block in matrix.mT.apart(sizes)]


def without_uniform_heads(circuits: NetworkCircuits) -> NetworkCircuits:
    """Return the circuits without the head of form 0 of a layer, where heads with opposite signs allow it.

    This is for softmax and two tokens.

    The head $(A, V)$ is $(-A, -V)$ and $(0, 2V)$ (Theorem 1 (ii) of docs/transformer-fibers.md). Of many heads it is
    not tried which ones.
    """
    layers = []
    common = streams((circuits,), 2)
    for i, known in enumerate(circuits.layers):
        heads = list(known)
        zero = next((h for h in heads if not h.attention), None)
        others = [h for h in heads if h is not zero]
        if zero is not None and 0 < len(others) <= MOST_SIGNS:
            reached = common.layers[i].reached.basis
            written = [(h.value @ reached).scaled(2) for h in others]
            for chosen in product((0, 1), repeat=len(others)):
                total = zero.value @ reached
                for sign, value in zip(chosen, written, strict=True):
                    total = total + value if sign else total
                if not total:
                    signed = zip(others, chosen, strict=True)
                    heads = [HeadCircuits(-h.attention, -h.value) if sign else h for h, sign in signed]
                    break
        layers.append(heads)
    return replace(circuits, layers=layers)


def normal_stream(circuits: NetworkCircuits) -> NetworkCircuits:
    """Return a network whose words and blocks the function determines, in the coordinates of the head of this module.

    Args:
        circuits: one layer at least.

    Raises:
        BadInput: not all of the stream is seen.
        ProgramError: the coordinates are not those of the stream.
    """
    skip = circuits.form.skip
    echelon = row_echelon(circuits.embed)
    embed, basis = echelon.rows, columns_of(circuits.embed, echelon.pivots)
    _require_made_of(circuits.embed, basis, embed)
    layers: list[list[HeadCircuits]] = []
    widths = [basis.shape[1]]
    for i, heads in enumerate(circuits.layers, start=1):
        inside = [HeadCircuits(basis.mT @ head.attention @ basis, head.value @ basis) for head in heads]
        inside.sort(key=lambda head: head.attention.sort_key())
        if i == len(circuits.layers):
            return _last(circuits, embed, layers, widths, basis, inside)
        if not skip:
            _require_seen([head.value for head in inside], inside, i)
        columns = _beside([*([basis] if skip else []), *(head.value for head in inside)])
        found = row_echelon(columns)
        blocks = _apart(found.rows, [basis.shape[1]] * (len(inside) + skip))
        before, basis = basis, columns_of(columns, found.pivots)
        if skip and columns_of(basis, tuple(range(before.shape[1]))) != before:
            raise ProgramError("a basis of a residual stream does not begin with the basis before")
        values = blocks[1:] if skip else blocks
        for head, value in zip(inside, values, strict=True):
            _require_made_of(head.value, basis, value)
        layers.append([HeadCircuits(h.attention, v) for h, v in zip(inside, values, strict=True)])
        widths.append(basis.shape[1])
    raise BadInput("a network in normal form must have a layer")


def _require_seen(read: Sequence[RationalMatrix], heads: Sequence[HeadCircuits], layer: int) -> None:
    """Demand that no vector of the stream in front of a layer is zero for all that reads it there."""
    forms = Q.stacked([*read, *(form for head in heads for form in head.score_forms)])
    space = forms.shape[1]
    seen = len(independent_columns(forms))
    if seen < space and (seen := forms.rank()) < space:
        raise BadInput(
            "the canonical form needs all of the stream to be seen (Proposition 14 of docs/transformer-fibers.md), "
            f"layer {layer} sees {seen} of {space} dimensions"
        )


def _require_made_of(known: RationalMatrix, basis: RationalMatrix, coordinates: RationalMatrix) -> None:
    """Demand that the coordinates belong to the stream: both networks have one stream, so outputs agree."""
    if basis @ coordinates != known:
        raise ProgramError("coordinates of a normal form do not belong to the stream")


def _last(
    circuits: NetworkCircuits,
    embed: RationalMatrix,
    layers: list[list[HeadCircuits]],
    widths: list[int],
    basis: RationalMatrix,
    heads: list[HeadCircuits],
) -> NetworkCircuits:
    """Return the last layer, and all of the network put together."""
    outputs = [circuits.unembed @ head.value for head in heads]
    skip = circuits.form.skip
    read = circuits.unembed @ basis if skip else outputs[0]
    _require_seen([read, *outputs], heads, len(circuits.layers))
    if not skip:
        reader = row_echelon(_beside(outputs).mT)  # of the space that outputs lie in
        last = [HeadCircuits(h.attention, y.rows(reader.pivots)) for h, y in zip(heads, outputs, strict=True)]
        for head, y in zip(last, outputs, strict=True):
            _require_made_of(y, reader.rows.mT, head.value)
        return NetworkCircuits(embed, [*layers, last], (*widths, len(reader.pivots)), reader.rows.mT, circuits.form)
    return residual(circuits, embed, layers, read, [h.attention for h in heads], outputs)


def residual(
    circuits: NetworkCircuits,
    embed: RationalMatrix,
    layers: list[list[HeadCircuits]],
    read: RationalMatrix,
    attention: list[RationalMatrix],
    outputs: list[RationalMatrix],
) -> NetworkCircuits:
    """Return a network with skip connections from what its last layer sees.

    Args:
        circuits: has its form.
        embed: `E`, at most as many rows as `read` has columns.
        layers: those before the last, in coordinates that `read` has too.
        read: `U` before the last layer.
        attention: of the heads of the last layer.
        outputs: `U V` of these.
    """
    old = read.shape[1]
    columns = _beside([read, *outputs])
    found = row_echelon(columns)
    new = tuple(c for c in found.pivots if c >= old)
    width = old + len(new)
    place = {row: (c if c < old else old + new.index(c)) for row, c in enumerate(found.pivots)}
    blocks = _apart(found.rows, [old] * (1 + len(outputs)))[1:]
    spread = (
        RationalMatrix.of([[int(place[j] == i) for j in range(len(place))] for i in range(width)]) if place else None
    )
    last = []
    for form, block in zip(attention, blocks, strict=True):
        value = RationalMatrix.zero(width, old) if spread is None else spread @ block
        last.append(HeadCircuits(_grown(form, width, width), _grown(value, width, width)))
    before = [
        [HeadCircuits(*(_grown(m, width, width) for m in (head.attention, head.value))) for head in heads]
        for heads in layers
    ]
    unembed = _beside([read, columns_of(columns, new)])
    for y, head in zip(outputs, last, strict=True):
        _require_made_of(y, unembed, columns_of(head.value, tuple(range(old))))
    depth = len(layers) + 1
    grown = _grown(embed, width, embed.shape[1])
    return NetworkCircuits(grown, [*before, last], (width,) * (depth + 1), unembed, circuits.form)


def normal_layer(circuits: NetworkCircuits, tokens: int) -> NetworkCircuits:
    """Return a normal form of a softmax network of at most one layer, for two tokens or more (Theorem 8)."""
    e, u = circuits.embed, circuits.unembed
    n, m = e.shape[1], u.shape[0]
    classes: dict[Key, tuple[RationalMatrix, RationalMatrix]] = {}
    for head in circuits.layers[0] if circuits.layers else ():
        form, value = e.mT @ head.attention @ e, u @ head.value @ e
        old = classes.get(form.sort_key())
        classes[form.sort_key()] = form, value if old is None else old[1] + value
    if tokens == 2:
        classes = _signed(classes, RationalMatrix.zero(n, n), RationalMatrix.zero(m, n))
    heads = [classes[key] for key in sorted(classes) if classes[key][1]]
    if circuits.form.skip:
        return residual(
            circuits, RationalMatrix.identity(n), [], u @ e, [form for form, _ in heads], [value for _, value in heads]
        )
    last = [HeadCircuits(form, value) for form, value in heads]
    return replace(
        circuits,
        embed=RationalMatrix.identity(n), layers=[last], widths=(n, m), unembed=RationalMatrix.identity(m),
    )  # fmt: skip


def _signed(
    classes: dict[Key, tuple[RationalMatrix, RationalMatrix]], nothing: RationalMatrix, silent: RationalMatrix
) -> dict[Key, tuple[RationalMatrix, RationalMatrix]]:
    """Return of opposite forms one alone, and the rest with the form 0."""
    total = silent
    found: dict[Key, tuple[RationalMatrix, RationalMatrix]] = {}
    for form, value in classes.values():
        total = total + value
        if form:
            positive = form.sort_key() >= (-form).sort_key()
            name = form.sort_key() if positive else (-form).sort_key()
            old = found.get(name, (form if positive else -form, silent))
            found[name] = old[0], old[1] + value if positive else old[1] - value
    found = {name: pair for name, pair in found.items() if pair[1]}
    for name, (form, value) in list(found.items()) if len(found) == 1 else ():
        if total == -value:
            found = {(-form).sort_key(): (-form, -value)}
            del name
    for _, value in found.values():
        total = total - value
    return found | {nothing.sort_key(): (nothing, total)}
