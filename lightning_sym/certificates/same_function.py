"""Certificates that two networks compute the same function, by steps between the two, or different ones."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.certificates.document import Document, opening
from lightning_sym.certificates.files import number_document, rational_document, weights_document
from lightning_sym.certificates.functions import difference_modulo_a_prime, function_certificate
from lightning_sym.errors import BadInput
from lightning_sym.fibers.comparison import Answer, Comparison, Reason
from lightning_sym.fibers.connection import Connection
from lightning_sym.fibers.transform import swap
from lightning_sym.fibers.virtual_moves import MoveName, rescaling_factors, visible_weights
from lightning_sym.limits import require_integer
from lightning_sym.network.virtual_weights import exact_virtual_weights
from lightning_sym.network.weights import Weights

_MOST_PRODUCTS = 10**6
"""Numbers that are compared to see that a layer is the same function."""


def steps_between(comparison: Comparison, first: Weights, second: Weights, tokens: int) -> list[Document]:
    """Return steps from the first weights to the second, for networks known to be the same function.

    Raises:
        BadInput: nothing but all coefficients shows it, or there are too many layers, or weights have letters.
    """
    first.require_numbers("a certificate")
    second.require_numbers("a certificate")
    if comparison.reason is Reason.ZERO:
        return [{"step": "zero"}]
    found = comparison.connection
    path = None if found is None else _path(found, first, second, tokens)
    if path is not None:
        return path
    raise BadInput(
        "a certificate needs a group element, exchanges or rescaled virtual weights, only all coefficients agree"
    )


def _path(found: Connection, first: Weights, second: Weights, tokens: int) -> list[Document] | None:
    """Return exchanges in single layers, then a group element or a rescaling; `None` if other moves are there."""
    steps: list[Document] = []
    at = first
    for move in found.moves:
        if move.name is not MoveName.EXCHANGE:
            return None
        try:
            after = swap(at, layer=move.layer)
            straight = swap(after, layer=move.layer)
        except BadInput:  # the weights do not have the ranks that the virtual weights have
            return None
        if not _is_one_function_of_its_input(at, after, move.layer):
            # the exchange is one in the layer only after its weights are made to have rank one
            factors = rescaling_factors(exact_virtual_weights(at), exact_virtual_weights(straight))
            if factors is None or not _is_one_function_of_its_input(straight, after, move.layer):
                return None
            steps.append(_rescaling(*factors) | {"to": weights_document(straight)})
        steps.append({"step": "layer", "layer": move.layer, "to": weights_document(after)})
        at = after
    if steps and at == second:
        del steps[-1]["to"]
        return steps
    group = _group(found) if found.moved == at else None
    if group is not None:
        return [*steps, group]
    ends = (visible_weights(exact_virtual_weights(w), tokens) for w in (at, second))
    factors = rescaling_factors(*ends)
    return None if factors is None else [*steps, _rescaling(*factors)]


def _is_one_function_of_its_input(old: Weights, new: Weights, number: int) -> bool:
    """Return whether the numbers `V_kl A_ij + V_ki A_lj` of a layer agree; not asked where there are too many."""
    d_out, d = new.layers[number - 1].value.shape
    if d_out * d**3 > _MOST_PRODUCTS:
        return False
    forms = []
    for weights in (old, new):
        query, key, value = weights.layers[number - 1]
        products = np.multiply.outer(value, key.T @ query)  # k l i j
        forms.append(products + products.swapaxes(1, 2))
    return np.array_equal(*forms)


def _rescaling(factors: Sequence[Fraction], value_factor: Fraction) -> Document:
    return {
        "step": "rescaling",
        "factors": [number_document(x) for x in factors],
        "value_factor": number_document(value_factor),
    }


def _group(found: Connection) -> Document | None:
    if found.query_key is None or found.between is None or found.scales is None:
        return None
    return {
        "step": "group",
        "query_key": [rational_document(matrix) for _, matrix in sorted(found.query_key.items())],
        "between": [rational_document(matrix) for _, matrix in sorted(found.between.items())],
        "scales": [number_document(scale) for _, scale in sorted(found.scales.items())],
    }


def same_certificate(comparison: Comparison, first: Weights, second: Weights, tokens: int) -> Document:
    """Return a certificate for the answer that two networks compute the same function, or different ones.

    Args:
        comparison: what `same_function` found for these weights and this number of tokens.
        first: exact weights.
        second: exact weights.
        tokens: $t$.

    Raises:
        BadInput: there is no answer, or no certificate can express what shows it.

    Example:
        >>> from lightning_sym.fibers.same_function import same_function
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> half = Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[1.5, 2]]})
        >>> same_certificate(same_function(w, half), w, half, 2)["steps"][0]["scales"]
        [2]
    """
    require_arguments(same_certificate, locals())
    require_integer(tokens, "tokens", 1)
    if comparison.answer is Answer.UNDECIDED:
        raise BadInput("a certificate needs an answer, and whether the functions are the same is undecided")
    if not all(weights.architecture(tokens).is_plain for weights in (first, second)):
        return function_certificate(comparison, first, second, tokens)
    first.require_numbers("a certificate")
    second.require_numbers("a certificate")
    document = opening(comparison.answer.value) | {
        "tokens": tokens,
        "first": weights_document(first),
        "second": weights_document(second),
    }
    if comparison.answer is Answer.DIFFERENT:
        if comparison.input is None:
            return document | difference_modulo_a_prime(first, second, tokens)
        return document | {"input": [[int(x) for x in row] for row in comparison.input], "prime": None}
    return document | {"steps": steps_between(comparison, first, second, tokens)}
