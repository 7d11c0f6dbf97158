"""What must be zero where one checkpoint is a rewriting of another: written once, for floats, sizes and residues.

All is said in the coordinates and the order of the second checkpoint. With folded maps (`folded.py`), the stream
`x -> c R x`, and the gauges `g` of the layer, the differences are

    readers  W' - g W R^T,    their biases  w' - g w,    writers  W' - c R W g^-1,   and what a layer adds  b' - c R b,

and with these zero the two have one function (docs/checkpoints.md, Propositions 1 to 12).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import GAUGES, Basis, Operators, Order, Places, StreamMap, Turn, moved
from lightning_sym.checkpoints.exact_rings import Ratio, Residues, Size
from lightning_sym.checkpoints.folded import Folded, attention_bias
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.pieces import table

Numbers = Any
"""Floats, or a `Ratio` where a guess is a nice number."""


@dataclass(frozen=True, eq=False)
class LayerGauge:
    """What the symmetry does inside one layer; orders say which old one stands at each new place.

    Attributes:
        heads, groups, neurons: orders.
        values, values_inverse: `(G, a, a)`.
        queries, queries_inverse: `(G, a, a)`, without rotary positions.
        turns, turns_inverse: `(G, a/2, 2)`, with them: `x, y`, and the same over `x^2 + y^2`.
        ups, ups_inverse: `(m,)`, in a gated MLP.
    """

    heads: Places
    groups: Places
    neurons: Places
    values: Numbers
    values_inverse: Numbers
    queries: Numbers = None
    queries_inverse: Numbers = None
    turns: Numbers = None
    turns_inverse: Numbers = None
    ups: Numbers = None
    ups_inverse: Numbers = None

    def does(self, name: str) -> bool:
        """Whether this part of the gauge does anything: it is no identity matrix, turn `1, 0` or scale 1."""
        numbers = getattr(self, name)
        if numbers is None:
            return False
        if not isinstance(numbers, Ratio) or np.any(numbers.denominator != 1):
            return True
        entries = numbers.numerators
        one = {"turns": np.array([1.0, 0.0]), "ups": np.array(1.0)}.get(name, np.eye(entries.shape[-1]))
        return not bool((entries == one).all())

    def bases(self, of: Turn) -> dict[str, Basis]:
        """The same by the kinds of the spaces, where it does anything."""
        found: dict[str, Basis] = {"heads": Order(self.heads), "groups": Order(self.groups)}
        found["neurons"] = Order(self.neurons)
        for space, name, kind in GAUGES:
            if self.does(name):
                found[space] = kind(of(getattr(self, name)), of(getattr(self, f"{name}_inverse")))
        return found

    def nice(self) -> bool:
        """All numbers are exact ones."""
        found = (self.values, self.queries, self.turns, self.ups)
        return all(part is None or isinstance(part, Ratio) for part in found)


def layer_differences(
    of: Turn, first: Folded, second: Folded, gauge: LayerGauge, stream: StreamMap, form: CheckpointForm
) -> dict[str, Any]:
    """What must be zero, by tensor, for the halves of the layer that are there.

    `output_bias` and `value_bias` are each without the other; `moved_bias` is both together, where a value bias moves
    into the output bias. The bias of keys is missing without rotary positions: it does nothing.
    """
    ring, pieces = Operators(of), table(form)
    bases = {**gauge.bases(of), **stream.bases(ring)}
    unseen = {"key_bias"} if form.theta is None else set()
    found = {
        name: array - moved(pieces[name], getattr(first, name), bases, ring)
        for name, array in vars(second).items()
        if array is not None and name not in unseen
    }
    if second.query is not None:
        groups = len(gauge.groups)
        whole = attention_bias(second, form, groups)
        found["moved_bias"] = whole - moved(pieces["output_bias"], attention_bias(first, form, groups), bases, ring)
    return found


def inverses_fail(of: Turn, gauge: LayerGauge) -> list[Any]:
    """What must be zero for the gauges to be invertible, and the second of each pair to be the inverse."""
    one = of(Ratio(np.eye(gauge.values.numerators.shape[-1]), 1))
    found = [of(gauge.values) @ of(gauge.values_inverse) - one] if gauge.does("values") else []
    if gauge.does("queries"):
        found.append(of(gauge.queries) @ of(gauge.queries_inverse) - one)
    single = of(Ratio(np.ones(1), 1))
    if gauge.does("turns"):
        z, w = of(gauge.turns), of(gauge.turns_inverse)
        x, y, u, v = z[..., 0], z[..., 1], w[..., 0], w[..., 1]
        found += [x * u + y * v - single, y * u - x * v]
    if gauge.does("ups"):
        found.append(of(gauge.ups) * of(gauge.ups_inverse) - single)
    return found


def stream_fails(of: Turn, stream: StreamMap, centred: bool) -> list[Any]:
    """What must be zero for a matrix to be a symmetry of the norms: `R^T R = 1`, and with LayerNorm `R 1 = t 1`.

    With LayerNorm the first is asked only on vectors with mean zero, and the sums of all rows, and of all columns, are
    to be equal: `R` and the centring commute.
    """
    if stream.matrix is None:
        return []
    matrix = of(stream.matrix)
    width = stream.matrix.numerators.shape[0]
    square = matrix.mT @ matrix - of(Ratio(np.eye(width), 1))
    if not centred:
        return [square]
    sums = [m @ of(Ratio(np.ones((width, 1)), 1)) for m in (matrix, matrix.mT)]
    return [square - square[:, :1] - square[:1] + square[:1, :1], *(s - s[:1] for s in sums), sums[0][:1] - sums[1][:1]]


def rational(number: Fraction) -> Ratio:
    """A number as an array of one entry."""
    return Ratio(np.array([float(number.numerator)]), number.denominator)


ALIKE = 8
"""Roundings are at most so many times as large as the middle one; what is further off is something else."""


def common(array: Any, axis: int) -> Any:
    """What the floats along an axis have in common, but for roundings: their mean, without those that are far off.

    Example:
        >>> common(np.array([1.0, 1.25, 0.75, 9.0]), 0).tolist()
        [1.0]
    """
    middle = np.median(array, axis=axis, keepdims=True)
    off = np.abs(array - middle)
    near = off <= ALIKE * np.median(off, axis=axis, keepdims=True)
    count = near.sum(axis=axis, keepdims=True)
    mean = np.where(near, array, 0.0).sum(axis=axis, keepdims=True) / np.maximum(count, 1)
    return np.where(count > 0, mean, middle)


def two_of_three(entries: Any) -> Any:
    """Of three exact numbers the one that two of them are; fewer are repeated.

    Example:
        >>> two_of_three(np.array([[1, 1], [2, 1], [2, 0]])).tolist()
        [2, 1]
    """
    a, b, c = (entries[i % len(entries)] for i in range(3))
    return np.where((a == b) | (a == c), a, np.where(b == c, b, a))


def modulo_ones(difference: Any, axis: int) -> Any:
    """A difference without its multiple of the vector of ones on an axis: of residues what most of the first are."""
    if isinstance(difference, Size):
        return difference + difference
    if isinstance(difference, Residues):
        entries = np.moveaxis(difference.entries, axis, 0)
        most = two_of_three(np.mod(entries[:3], difference.prime))
        return difference - Residues(np.expand_dims(most, axis), difference.prime)
    return difference - common(difference, axis)
