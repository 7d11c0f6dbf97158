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
import numpy.typing as npt

from lightning_sym.checkpoints.exact_rings import Ratio, Residues, Size, joined
from lightning_sym.checkpoints.folded import Folded, Turn, attention_bias
from lightning_sym.checkpoints.model import CheckpointForm

Order = npt.NDArray[np.int64]
Numbers = Any
"""Floats, or a `Ratio` where a guess is a nice number."""


@dataclass(frozen=True, eq=False)
class StreamMap:
    """`x -> c R x`: `R` orthogonal, an order with signs, `R x = signs x[order]`, or a matrix.

    A norm of `c R x`, its epsilon times `c^2`, is `R` times the norm of `x`. With LayerNorm `R` matters on the vectors
    with mean zero only.
    """

    scale: Fraction
    order: Order | None = None
    signs: Any = None
    matrix: Numbers = None
    exact: bool = False

    @property
    def is_identity(self) -> bool:
        """No coordinate is moved."""
        return self.order is not None and self.signs is None and bool((self.order == np.arange(len(self.order))).all())

    def back(self, array: Any, of: Turn) -> Any:
        """Maps that read the stream: `W R^-1`, on the last axis."""
        if self.matrix is None:
            moved = array if self.is_identity else array[..., self.order]
            return moved if self.signs is None else moved * of(self.signs)
        shape: tuple[int, ...] = np.shape(getattr(array, "entries", array)) or (1,)
        return (array.reshape(-1, shape[-1]) @ of(self.matrix).mT).reshape(*shape)

    def forth(self, array: Any, of: Turn, axis: int = 0) -> Any:
        """Maps that write into it: `c R W` on the first axis, or, for arrays `(H, d, a)`, on axis 1."""
        if self.matrix is None:
            index: Any = self.order if axis == 0 else (slice(None), self.order)
            found = array if self.is_identity else array[index]
            if self.signs is not None:
                signs = of(self.signs)
                found = found * (signs if dimensions(array) == 1 else signs[:, None])
        elif dimensions(array) == 1:
            found = (of(self.matrix) @ array.reshape(-1, 1)).reshape(-1)
        else:
            found = of(self.matrix) @ array
        return found if self.scale == 1 else found * of(rational(self.scale))

    def along(self, array: Any, of: Turn) -> Any:
        """Vectors of the stream in rows: `c x R^T`."""
        found = self.back(array, of)
        return found if self.scale == 1 else found * of(rational(self.scale))


def dimensions(array: Any) -> int:
    """Axes of an array of any ring; a `Size` has none, and does not mind."""
    array = getattr(array, "entries", array)
    return int(getattr(array, "ndim", 2))


def rational(number: Fraction) -> Ratio:
    """A number as an array of one entry."""
    return Ratio(np.array([float(number.numerator)]), number.denominator)


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

    heads: Order
    groups: Order
    neurons: Order
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

    def nice(self) -> bool:
        """All numbers are exact ones."""
        found = (self.values, self.queries, self.turns, self.ups)
        return all(part is None or isinstance(part, Ratio) for part in found)


READ = ("query", "key", "value", "gate", "up")
"""Differences in which, with LayerNorm, a multiple of the vector of ones on the last axis is free."""

WRITTEN = {"output": 1, "down": 0, "output_bias": 0, "moved_bias": 0, "down_bias": 0}
"""The same for writers, on this axis."""


def layer_differences(
    of: Turn, first: Folded, second: Folded, gauge: LayerGauge, stream: StreamMap, form: CheckpointForm
) -> dict[str, Any]:
    """What must be zero, by tensor, for the halves of the layer that are there.

    `output_bias` and `value_bias` are each without the other; `moved_bias` is both together, where a value bias moves
    into the output bias. The bias of keys is missing without rotary positions: it does nothing.
    """
    found = {} if second.query is None else _attention(of, first, second, gauge, stream, form)
    return found if second.up is None else found | _mlp(of, first, second, gauge, stream)


def _attention(
    of: Turn, first: Folded, second: Folded, gauge: LayerGauge, stream: StreamMap, form: CheckpointForm
) -> dict[str, Any]:
    groups = len(gauge.groups)
    of_head = np.arange(form.heads) // (form.heads // groups)
    found: dict[str, Any] = {}
    query, query_bias = stream.back(first.query[gauge.heads], of), first.query_bias[gauge.heads][..., None]
    key, key_bias = stream.back(first.key[gauge.groups], of), first.key_bias[gauge.groups][..., None]
    if gauge.turns is None:
        g = of(gauge.queries) if gauge.does("queries") else None
        if g is not None:
            query, query_bias = g[of_head] @ query, g[of_head] @ query_bias
            key = of(gauge.queries_inverse).mT @ key
    elif gauge.does("turns"):
        turns, inverse = of(gauge.turns)[of_head], of(gauge.turns_inverse)
        query, query_bias = (_turned(x, turns, form.head_width) for x in (query, query_bias))
        key, key_bias = (_turned(x, inverse, form.head_width) for x in (key, key_bias))
    found["query"], found["key"] = second.query - query, second.key - key
    found["query_bias"] = second.query_bias - query_bias[..., 0]
    if gauge.turns is not None:
        found["key_bias"] = second.key_bias - key_bias[..., 0]
    value, value_bias = stream.back(first.value[gauge.groups], of), first.value_bias[gauge.groups][..., None]
    output = stream.forth(first.output[gauge.heads], of, 1)
    if gauge.does("values"):
        g = of(gauge.values)
        value, value_bias, output = g @ value, g @ value_bias, output @ of(gauge.values_inverse)[of_head]
    found["value"], found["value_bias"] = second.value - value, second.value_bias - value_bias[..., 0]
    found["output"] = second.output - output
    found["output_bias"] = second.output_bias - stream.forth(first.output_bias, of)
    whole = attention_bias(second, form, groups)
    found["moved_bias"] = whole - stream.forth(attention_bias(first, form, groups), of)
    return found


def _mlp(of: Turn, first: Folded, second: Folded, gauge: LayerGauge, stream: StreamMap) -> dict[str, Any]:
    order = gauge.neurons
    found: dict[str, Any] = {}
    up, up_bias, down = stream.back(first.up[order], of), first.up_bias[order], stream.forth(first.down[:, order], of)
    if second.gate is not None:
        found["gate"] = second.gate - stream.back(first.gate[order], of)
        found["gate_bias"] = second.gate_bias - first.gate_bias[order]
        if gauge.does("ups"):
            c = of(gauge.ups)
            up, up_bias, down = up * c[:, None], up_bias * c, down * of(gauge.ups_inverse)
    found["up"], found["up_bias"], found["down"] = second.up - up, second.up_bias - up_bias, second.down - down
    found["down_bias"] = second.down_bias - stream.forth(first.down_bias, of)
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


def _turned(rows: Any, turns: Any, a: int) -> Any:
    """Rows `(n, a, k)` with row `j + i row_{j + a/2}` times `x + i y` for each frequency."""
    upper, lower = rows[:, : a // 2], rows[:, a // 2 :]
    x, y = turns[..., :1], turns[..., 1:]
    return joined(x * upper - y * lower, y * upper + x * lower, 1)


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
