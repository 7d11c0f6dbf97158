"""The forward pass: written once, run over every ring.

A matrix here is anything that keeps the contract of `rings.protocol`: arrays of polynomials or rationals, residues
modulo a prime, values that record derivatives, power series, balls, formal words. What the network *means* over each of
them is decided in `rings/`; what it *is* stands below.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.layer import LIGHTNING as LIGHTNING
from lightning_sym.network.layer import Form as Form
from lightning_sym.network.layer import lightning as lightning
from lightning_sym.network.layer import require_layer
from lightning_sym.network.pieces import DECLARED, layer_names
from lightning_sym.network.variant_layer import layer_of_variant
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.expressions import ExpressionMatrix, is_sympy_matrix
from lightning_sym.rings.protocol import Factor, M, masked, normalized, products, require_matrix, require_shape

if TYPE_CHECKING:
    import sympy

KNOWN = DECLARED
"""The options of a network that the forward pass below carries out."""


def attended(architecture: Architecture) -> npt.NDArray[np.float64]:
    """Return a matrix whose entry `(j, i)` is 1 where token `i` attends to token `j`, and 0 where it does not.

    Raises:
        BadInput: the network has an option that is not carried out here.
    """
    architecture.require("the forward pass", KNOWN)
    every = np.ones((architecture.tokens, architecture.tokens))
    return np.triu(every) if architecture.causal else every


def form_of(architecture: Architecture) -> Form[M]:
    """Return the form of a network's layers: normalization, mask and skip.

    Raises:
        BadInput: the network has an option that is not carried out here.
    """
    architecture.require("the forward pass", KNOWN)
    if architecture.normalization is None and not architecture.causal:
        return Form(lightning, architecture.skip)
    mask = attended(architecture).astype(int).astype(object)
    if architecture.normalization is not None:
        pattern = partial(normalized, normalization=architecture.normalization, mask=mask)
    else:
        pattern = partial(masked, mask=mask)
    return Form(pattern, architecture.skip)


def attention_layer(x: M, layer: Layer[M | Factor[M]] | Sequence[Layer[M | Factor[M]]], form: Form[M] = LIGHTNING) -> M:
    r"""Return one layer, Eq. 2: $X \mapsto V X X^\top K^\top Q X$, for `x` of shape `d x t`; the result is `d' x t`.

    Associated as $(V X)\,\big((K X)^\top (Q X)\big)$, the cheap order when tokens are few. The matrix in the middle
    holds the scores $x_j^\top A x_i$; `form.pattern` makes the attention pattern of them. The outputs of several
    heads are added.

    Example:
        >>> one = np.array([[1]])
        >>> attention_layer(np.array([[2, 3]]), Layer(one, one, one)).tolist()
        [[26, 39]]
    """
    seen = products([m for head in ([layer] if isinstance(layer, Layer) else layer) for m in head], x)
    return _attended(x, zip(*[iter(seen)] * 3, strict=True), form)


def _attended(x: M, seen: Iterable[tuple[M, M, M]], form: Form[M]) -> M:
    """Return what attention writes, given queries, keys and values of each head at each token, one head or more."""
    output = x if form.skip else None
    for query, key, value in seen:
        part = value @ form.pattern(key.mT @ query)
        if output is not None:
            require_shape(part, getattr(output, "shape", None), "what is added to the stream")
        output = part if output is None else output + part
    assert output is not None  # noqa: S101 - a layer has a head
    return output


def forward(x: M, layers: Weights | Iterable[Layer[M] | Sequence[Layer[M]]], form: Form[M] = LIGHTNING) -> M:
    """Return the network, Definition 2: the layers one after the other, the first one first.

    Args:
        x: the input, over any ring. Where it, or a weight, is a SymPy matrix, or weights have letters, all matrices
            must be SymPy's or of numbers, and the result is a SymPy matrix, multiplied out.
        layers: weights, over the ring of `x`.
        form: pattern and skip connections.

    Raises:
        ShapeError: a matrix of a layer does not fit what stands before it.
        BadInput: `x` is no matrix, or `layers` no layers; or they are weights of another network than a lightning
            network with one head and nothing added; `network_output` takes these.

    Example:
        >>> one = np.array([[1]])
        >>> forward(np.array([[2]]), [Layer(one, one, one)] * 2).tolist()   # 2 ** (3 ** 2)
        [[512]]
    """
    if getattr(layers, "ndim", 1) == 0 or not isinstance(layers, (Iterable, Weights)):
        raise BadInput(f"layers must be Weights or a list of Layer(query, key, value), got {shown(layers)}")
    if not isinstance(form, Form):
        raise BadInput(f"form must be a Form, got {shown(form)}")
    letters = isinstance(layers, Weights) and bool(layers.letters)
    own = layers.layers_with_letters() if isinstance(layers, Weights) else layers
    each = list(cast(Iterable[Layer[M] | Sequence[Layer[M]]], own))  # over the ring of `x`
    if letters or _is_for_sympy([x], chain.from_iterable(map(_matrices, each))):
        return cast(M, _in_expressions(x, each, form))
    require_matrix(x, "x")
    for layer in each:
        require_layer(layer, x)
        x = attention_layer(x, layer, form)
    return x


def _matrices(layer: object) -> Iterator[object]:
    """Yield all matrices of a layer; none of what is no layer."""
    for head in [layer] if isinstance(layer, Layer) else layer if isinstance(layer, (list, tuple)) else ():
        if isinstance(head, Layer):
            yield from head


def _in_expressions(x: object, layers: Iterable[Layer[M] | Sequence[Layer[M]]], form: Form[Any]) -> sympy.Matrix:
    """Return the layers one after the other, in SymPy."""
    of = ExpressionMatrix.of
    result = of(x)
    for layer in layers:
        if not any(True for _ in _matrices(layer)):
            require_layer(layer, result)
        heads = [Layer(*map(of, head)) for head in ([layer] if isinstance(layer, Layer) else layer)]
        require_layer(heads, result)
        result = attention_layer(result, heads, form)
    return result.to_sympy()


def _is_for_sympy(*matrices: Iterable[object]) -> bool:
    """Return whether one of the matrices is SymPy's: then all is done in SymPy's expressions."""
    return "sympy" in sys.modules and any(map(is_sympy_matrix, chain(*matrices)))


def network_output(x: M, architecture: Architecture, weights: Weights | Iterable[M], form: Form[M] | None = None) -> M:
    """Return the whole network from all its weights in canonical order: embedding, layers, unembedding.

    With rotary positions, norms of queries and keys, gates with exponentials and softmax only rings that have what
    they take; others refuse by name.

    Args:
        x: the input, `architecture.input_width` rows; SymPy's too, as for `forward`.
        architecture: the shape.
        weights: matrices over the ring of `x`, in the order of `architecture.weight_shapes()`; or exact weights of
            this very architecture.
        form: in place of the architecture's own.

    Raises:
        BadInput: the network has an option that is not carried out here.
        ShapeError: the input has another shape than the network's, or the weights are of another network: too many,
            too few, or of other shapes.

    Example:
        >>> one = np.array([[2]])
        >>> shape = Architecture((1, 1), (1,), 1, skip=True, unembed=1)
        >>> network_output(np.array([[1]]), shape, [one] * 4).tolist()      # 2 (1 + 2 * 2 * 2)
        [[18]]
    """
    require_arguments(network_output, locals())
    architecture.require("the forward pass", KNOWN)
    require_shape(x, (architecture.input_width, architecture.tokens), "the input")
    letters = False
    if isinstance(weights, Weights):
        if (other := weights.architecture(architecture.tokens)) != architecture:
            raise ShapeError(f"the weights must be of the network {architecture}, got those of {other}")
        letters, weights = bool(weights.letters), cast(Iterable[M], weights.matrices.values())  # of numbers, as `x` is
    given = list(weights)
    if letters or _is_for_sympy([x], given):
        _in_their_order(given, architecture)
        known: Form[Any] | None = form
        inside = network_output(ExpressionMatrix.of(x), architecture, [ExpressionMatrix.of(m) for m in given], known)
        return cast(M, inside.to_sympy())
    require_matrix(x, "x")
    return run(x, architecture, _in_their_order(given, architecture), form_of(architecture) if form is None else form)


def run(x: M, architecture: Architecture, weights: Iterable[M], form: Form[M]) -> M:
    """Return `network_output` of an input and weights that are known to be the network's, over one ring."""
    architecture.require("the forward pass", KNOWN)
    source = iter(weights)
    if architecture.embed is not None:
        x = next(source) @ x
    for i in range(1, architecture.depth + 1):
        if architecture.varies:
            given = {name: next(source) for name in layer_names(architecture, i)}
            # a ring without products entry by entry is refused there, by name
            x = layer_of_variant(x, architecture, i, given, form, _attended)  # type: ignore[type-var]
            continue
        heads = []
        for _ in range(architecture.heads):
            query, key, value = next(source), next(source), next(source)
            # value and output projection act one after the other: a head sees their product
            heads.append(Layer(query, key, value if architecture.value_ranks is None else next(source) @ value))
        x = attention_layer(x, heads, form)
    return x if architecture.unembed is None else next(source) @ x


def _in_their_order(weights: Iterable[M], architecture: Architecture) -> Iterator[M]:
    """Return the matrices of a network: products of others may fit too, and would be those of another network."""
    given = list(weights)
    shapes = list(islice(architecture.weight_shapes(), len(given) + 1))  # there may be very many
    if len(shapes) != len(given):
        few = "fewer" if len(shapes) < len(given) else "more"
        raise ShapeError(f"the weights must be those that weight_shapes() lists, {few} than the {len(given)} given")
    for (name, shape), matrix in zip(shapes, given, strict=True):
        if not hasattr(type(matrix), "__matmul__"):  # a number, which has no shape either
            require_matrix(matrix, name)
        require_shape(matrix, shape, name)
    return iter(given)
