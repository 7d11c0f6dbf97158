"""Moves: other weights with the same function, by an element of the symmetry group or by the exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.display import equal
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.exact.rational import rank, rank_one_factors, solution
from lightning_sym.limits import require_integer
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED, WeightSpace, pieces, spaces, stream
from lightning_sym.network.virtual_weights import exact_virtual_weights
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray, exact_matrix, require_entries
from lightning_sym.rings.expressions import Entry, ExpressionMatrix, entry, is_expression, is_sympy_matrix, letters_of
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.symmetries.group import Pair, act

Heads = Mapping[int, npt.ArrayLike] | Mapping[str, npt.ArrayLike]
"""Matrices by head: by layer, from 1, where there is one head a layer, else by names such as `1.2`."""


AnyMatrix = RationalMatrix | ExpressionMatrix
"""Of rational numbers; of expressions where there are letters."""

G = TypeVar("G", RationalMatrix, ExpressionMatrix)
V = TypeVar("V")


def _with_inverse(matrix: npt.ArrayLike, size: int, name: str) -> tuple[AnyMatrix, AnyMatrix]:
    exact = exact_matrix(matrix.tolist() if is_sympy_matrix(matrix) else matrix, name, entry)
    if exact.shape != (size, size):
        raise ShapeError(f"{name} must be {size} x {size}, got {exact.shape[0]} x {exact.shape[1]}")
    if letters_of(exact.ravel()):
        in_letters = ExpressionMatrix.of(exact)
        if (turned := in_letters.inverse()) is None:
            raise BadInput(f"{name} must be invertible for some letters")
        return in_letters, turned
    of = RationalMatrix.of(exact)
    if (inverse := of.inverse()) is None:
        raise BadInput(f"{name} must be invertible, got a {size} x {size} matrix of rank {of.rank()}")
    return of, inverse


def _by_head(
    given: Mapping[int, V] | Mapping[str, V] | None, shape: Architecture, what: str
) -> dict[tuple[int, int], V]:
    """Return what is given by head, by layer and head from 1."""
    places: dict[Any, tuple[int, int]] = (
        {i: (i, 1) for i in range(1, shape.depth + 1)}
        if shape.heads == 1
        else {f"{i}.{h}": (i, h) for i in range(1, shape.depth + 1) for h in range(1, shape.heads + 1)}
    )
    last = str(shape.depth) if shape.heads == 1 else f"{shape.depth}.{shape.heads}"
    for key in given or {}:
        if type(key) is not (int if shape.heads == 1 else str) or key not in places:
            kind, first = ("layers", "1") if shape.heads == 1 else ("heads", "1.1")
            raise BadInput(f"{what} must name {kind} between {first} and {last}, got {shown(key)}")
    return {places[key]: value for key, value in (given or {}).items()}


def _streams(given: Mapping[int, npt.ArrayLike] | None, shape: Architecture) -> dict[WeightSpace, Pair]:
    """Return the changes of basis of the stream, $G_0, ..., G_l$, by space; with skip connections all are the same."""
    places = [stream(shape, i) for i in range(shape.depth + 1)]
    allowed = [i for i, space in enumerate(places) if space.free]
    found: dict[WeightSpace, Pair] = {}
    for i, matrix in (given or {}).items():
        if type(i) is not int or i not in allowed:
            if not allowed:
                rule = "be empty" if shape.skip else "be empty: one layer has nothing between"
                why = " where a network with skip connections has no embedding or no unembedding" if shape.skip else ""
                raise BadInput(f"between must {rule}{why}, got {shown(i)}")
            raise BadInput(f"between must name layers between {allowed[0]} and {allowed[-1]}, got {shown(i)}")
        pair = _with_inverse(matrix, shape.widths[i], f"G{i}")
        if not _equal(found.setdefault(places[i], pair)[0], pair[0]):
            raise BadInput("between must name one matrix for all layers of a network with skip connections")
    return found


def _head_orders(given: Mapping[int, Sequence[int]] | None, shape: Architecture) -> dict[int, list[int]]:
    """Return by layer which head comes first, second, ...; layers that are not named keep their order."""
    every = list(range(1, shape.heads + 1))
    for i, order in (given or {}).items():
        if type(i) is not int or i not in range(1, shape.depth + 1):
            raise BadInput(f"heads must name layers between 1 and {shape.depth}, got {shown(i)}")
        listed = isinstance(order, (list, tuple))
        if not listed or any(type(h) is not int for h in order) or sorted(order) != every:
            raise BadInput(
                f"heads of layer {i} must be the numbers 1 to {shape.heads} in some order, got {shown(order)}"
            )
    return {i: list((given or {}).get(i, every)) for i in range(1, shape.depth + 1)}


def transform(
    weights: Weights,
    *,
    query_key: Heads | None = None,
    value_output: Heads | None = None,
    between: Mapping[int, npt.ArrayLike] | None = None,
    scales: Mapping[int, object] | Mapping[str, object] | None = None,
    heads: Mapping[int, Sequence[int]] | None = None,
) -> Weights:
    r"""Act with one element of the group; what is left out is the identity. The function stays the same.

    Weights, matrices and numbers may have letters; those of the result are rational functions of them, where the
    determinants of the matrices and the numbers are not zero.

    The group of `lightning_sym.symmetries.group`, for all networks that weights can name. Names of heads are those of
    the given weights; that heads change places comes last.

    Args:
        weights: exact weights.
        query_key: by layer, or by head such as `1.2`, the matrix $C$, `a x a`: $K \mapsto C K$,
            $Q \mapsto C^{-\top} Q$.
        value_output: likewise $B$, `b x b`, in front of an output projection: $V \mapsto B V$, $O \mapsto O B^{-1}$.
        between: by layer `i`, the matrix $G_i$ behind it, `d_i x d_i`: basis changes of the stream. $G_0$ needs an
            embedding, $G_l$ an unembedding; with skip connections all are one, and naming one is enough.
        scales: by layer or head, the number $\lambda$, for lightning attention: $Q \mapsto \lambda Q$,
            $V \mapsto V / \lambda$.
        heads: by layer, which of the old heads comes first, second, ...

    Raises:
        BadInput: a matrix is singular, a number is zero, there is no such layer or head, or the network has not what
            the matrix acts on.
        ShapeError: a matrix has the wrong size.

    Example:
        >>> w = Weights.of({"Q1.1": [[1]], "K1.1": [[1]], "V1.1": [[5]], "Q1.2": [[0]], "K1.2": [[2]], "V1.2": [[3]]})
        >>> changed = transform(w, query_key={"1.2": [[4]]}, heads={1: [2, 1]})
        >>> [int(changed[name][0, 0]) for name in ("Q1.1", "K1.1", "V1.1", "V1.2")]
        [0, 8, 3, 5]
    """
    require_arguments(transform, locals())
    shape = weights.architecture(tokens=1)
    shape.require("moving weights", SHAPED)
    if scales and shape.normalization is not None:
        raise BadInput(f"scales must be empty for {shape.normalization.name}: scores and values cannot be rescaled")
    if value_output and shape.value_ranks is None:
        raise BadInput("value_output must be empty for a network without output projections O")
    element = _streams(between, shape)
    for kind, letter, given in (("query-key", "C", query_key), ("value-output", "B", value_output)):
        sizes = {space.place: space for space in spaces(shape, kind)}
        for place, matrix in _by_head(given, shape, kind.replace("-", "_")).items():
            element[sizes[place]] = _with_inverse(matrix, sizes[place].size, letter + shape.head_name(*place))
    for place, value in _by_head(scales, shape, "scales").items():
        factor = entry(value, f"the scale of {_called(shape, *place)}")
        if factor == 0:
            raise BadInput(f"the scale of {_called(shape, *place)} must not be 0")
        element[WeightSpace("scale", place, 1)] = _Multiple(factor), _Multiple(1 / factor)
    orders = _head_orders(heads, shape)
    touched = [piece for piece in pieces(shape) if not element.keys().isdisjoint(piece.spaces)]
    letters = bool(weights.letters) or any(_has_letters(g) for g, _ in element.values())
    into: Any = ExpressionMatrix.of if letters else RationalMatrix.of
    if letters:
        element = {space: (_in_letters(g), _in_letters(inverse)) for space, (g, inverse) in element.items()}
    held = {piece.name: into(weights.held(piece.name)) for piece in touched}
    moved = {name: _entries(matrix) for name, matrix in act(held, element, iter(touched)).items()}
    came_from = {
        shape.head_name(i, place): shape.head_name(i, h) for i in orders for place, h in enumerate(orders[i], start=1)
    }
    names = {piece.name: piece.name[0] + came_from.get(piece.name[1:], "") for piece in pieces(shape)}
    found = {new: moved[old] if old in moved else weights[old] for new, old in names.items()}
    if letters:
        return Weights.of_family(found, weights.form)
    require_entries(found)
    for matrix in moved.values():
        matrix.flags.writeable = False
    return replace(weights, matrices=MappingProxyType(found))  # names and shapes are what they were


def _called(shape: Architecture, layer: int, head: int) -> str:
    return f"layer {layer}" if shape.heads == 1 else f"head {layer}.{head}"


class _Multiple:
    """A multiple of the identity, of the size that fits."""

    def __init__(self, factor: Entry) -> None:
        self.factor = factor

    def __matmul__(self, matrix: G) -> G:
        if isinstance(matrix, RationalMatrix):
            return matrix.scaled(self.factor)
        return ExpressionMatrix.of(np.diag([self.factor] * matrix.shape[0])) @ matrix


def _has_letters(matrix: object) -> bool:
    """Return whether a matrix of the group, or a multiple of the identity, has letters."""
    return isinstance(matrix, ExpressionMatrix) or (isinstance(matrix, _Multiple) and is_expression(matrix.factor))


def _entries(matrix: AnyMatrix) -> ObjectArray:
    """Return the entries: numbers, or expressions."""
    return matrix.entries() if isinstance(matrix, ExpressionMatrix) else matrix.fractions()


def _in_letters(matrix: Any) -> Any:
    """Return the same among matrices with letters."""
    return ExpressionMatrix.of(matrix.fractions()) if isinstance(matrix, RationalMatrix) else matrix


def _equal(one: Any, other: Any) -> bool:
    """Return whether two matrices of the group are equal."""
    if isinstance(one, RationalMatrix) and isinstance(other, RationalMatrix):
        return one == other
    return equal(_in_letters(one).entries(), _in_letters(other).entries())


def rescale(weights: Weights, *, layer: int, by: object) -> Weights:
    r"""Return the same function from $(\lambda Q_i, K_i, V_i / \lambda)$ in one layer, Eq. 13.

    Raises:
        BadInput: the number is zero or not finite, there is no such layer, or the network has more than one head.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> rescale(w, layer=1, by=2)["Q1"].tolist()
        [[Fraction(2, 1), Fraction(4, 1)]]
    """
    require_arguments(rescale, locals())
    require_integer(layer, "the layer", 1)
    return transform(weights, scales={layer: by})


def change_basis(
    weights: Weights,
    *,
    query_key: Mapping[int, npt.ArrayLike] | None = None,
    between: Mapping[int, npt.ArrayLike] | None = None,
) -> Weights:
    r"""Return the same function in other bases: $C_i \in GL_{a_i}$ (Lemma 3.1), $G_i \in GL_{d_i}$ in between (Eq. 9).

    Args:
        weights: exact weights.
        query_key: by layer `i` (from 1): $K_i \mapsto C_i K_i$, $Q_i \mapsto C_i^{-\top} Q_i$.
        between: by layer `i < l`: $V_i \mapsto G_i V_i$, and the next layer is changed back.

    Raises:
        BadInput: a matrix is singular, or there is no such layer.
        ShapeError: a matrix has the wrong size.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> change_basis(w, query_key={1: [[2]]})["Q1"].tolist()
        [[Fraction(1, 2), Fraction(1, 1)]]
    """
    require_arguments(change_basis, locals())
    return transform(weights, query_key=query_key, between=between)


def swap(weights: Weights, *, layer: int | None = None) -> Weights:
    r"""Return the exchange of Theorem 3.2: $(p q^\top, v w^\top) \mapsto (w q^\top, v p^\top)$ in one layer.

    A layer is the same function of its input after the exchange, so it may be any layer with
    $\operatorname{rk} A_i = \operatorname{rk} V_i = 1$. In the last layer it is enough that the virtual weights
    $\tilde A_l$, $\tilde V$ have rank one: with $N = X B_{l-1} B_{l-1}^\top X^\top$, a symmetric matrix,
    $\varphi(X) = v\, (w^\top N p)\, q^\top X B_{l-1}$. Then `p`, `q`, `w` are pulled back through $P_{l-1}$.

    Args:
        weights: exact weights.
        layer: which layer, from 1; the last one if left out.

    With letters the ranks are those over their rational functions, of the layer itself; entries of the result are
    rational functions, where the first entries that are not zero of $A_i$ and $V_i$, by which they divide, are not.

    Raises:
        BadInput: the ranks are not one, or there is no such layer.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6]]})
        >>> changed = swap(w)
        >>> (changed["K1"].T @ changed["Q1"]).tolist() == [[1, 2], [2, 4]], changed["V1"].tolist() == [[3, 0]]
        (True, True)
    """
    require_arguments(swap, locals())
    layers = weights.layers_with_letters() if weights.letters else weights.layers
    depth = len(layers)
    i = depth if layer is None else layer
    require_integer(i, "the layer", 1, depth)
    old = layers[i - 1]
    into: Any = ExpressionMatrix.of if weights.letters else RationalMatrix.of
    attention, value = _entries(into(old.key).mT @ into(old.query)), old.value
    if weights.letters:
        found = [_factors_with_letters(matrix) for matrix in (attention, value)]
        if found[0] is None or found[1] is None:
            raise BadInput(f"the attention and the value matrix of layer {i} must have rank 1 for most letters")
        (p, q), (v, w) = found[0], found[1]
    elif rank(attention) == rank(value) == 1:
        (p, q), (v, w) = rank_one_factors(attention), rank_one_factors(value)
    else:
        virtual = exact_virtual_weights(weights)
        if i < depth or rank(virtual.attention[-1]) != 1 or rank(virtual.value) != 1:
            raise BadInput(
                f"the attention and the value matrix of layer {i} must have rank 1, "
                f"got ranks {rank(attention)} and {rank(value)}"
            )
        before = exact_virtual_weights(weights.layers[:-1]).value
        (p, q), (v, w) = rank_one_factors(virtual.attention[-1]), rank_one_factors(virtual.value)
        # each of them is in the image
        p, q, w = solution(before.T, np.stack([p, q, w], axis=1)).T  # type: ignore[union-attr]
    query, key = np.full((2, *old.query.shape), Fraction(0), dtype=object)
    query[0], key[0] = q, w
    changed = {f"Q{i}": query, f"K{i}": key, f"V{i}": _entries(into(v[:, None]) @ into(p[None, :]))}
    return (Weights.of_family if weights.letters else Weights.of)({**weights.matrices, **changed}, weights.form)


def _factors_with_letters(matrix: ObjectArray) -> tuple[ObjectArray, ObjectArray] | None:
    """Return a column and a row whose product a matrix of rank one with letters is; numbers are divided by first."""
    places = [index for index, value in np.ndenumerate(matrix) if value != 0]
    if not places:
        return None
    i, j = min(places, key=lambda place: is_expression(matrix[place]))
    inverse = ExpressionMatrix.of(matrix[i : i + 1, j : j + 1]).inverse()
    if inverse is None:
        return None
    row = inverse @ ExpressionMatrix.of(matrix[i : i + 1])
    if not equal((ExpressionMatrix.of(matrix[:, j : j + 1]) @ row).entries(), ExpressionMatrix.of(matrix).entries()):
        return None
    return matrix[:, j], row.entries()[0]
