r"""Where two factors or more are zero: the coefficient of a network from that of a smaller one.

Without skip connections an end that is injective, or onto, is a change of bases of the layer beside it (Proposition 15
of docs/learning-coefficients.md). What is zero behind some layer, a lightning layer cubes (Proposition 16). A string of
one repeated token sees softmax as a product of matrices (Proposition 17).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain

import numpy as np

from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.deep_linear import MOST_GIVEN, factorization_within
from lightning_sym.coefficients.lightning_layer import PAGE, Proved
from lightning_sym.coefficients.reduced_rank import LocalPair
from lightning_sym.coefficients.seen_circuits import AtWeights
from lightning_sym.errors import TooLarge
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.attention import network_output
from lightning_sym.network.pieces import layer_names
from lightning_sym.network.stream_pieces import pieces_at_streams
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import modulo_a_prime, random_residues
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, added
from lightning_sym.system.fields import Q

Part = Callable[[AtWeights, Weights], LearningCoefficient]
"""What is known of another network, as part of the same question."""


def without_ends(question: AtWeights, part: Part) -> Proved | str:
    """Return the bounds of a network without skips by one whose layers have taken up an end of full rank."""
    weights, net, matrices = question.weights, question.net, dict(question.weights.matrices)
    first, *_, last = pieces_at_streams(question.shape)
    if net.embed.rank() == question.shape.embed:
        end = matrices.pop(first.writers[0].name)
        matrices |= {piece.name: matrices[piece.name] @ end for piece in first.readers}
    if net.unembed.rank() == question.shape.unembed:
        end = matrices.pop(last.readers[0].name)
        matrices |= {piece.name: end @ matrices[piece.name] for piece in last.writers}
    if len(matrices) == len(weights.matrices):
        return "no end is injective, or onto"
    return _of_part(question, part(question, Weights.of(matrices, weights.form)), "Proposition 15")


def _of_part(question: AtWeights, found: LearningCoefficient, number: str) -> Proved | str:
    """Return the pair of a part where it is exact; else its bounds are kept, and said."""
    if found.value is not None and found.multiplicity is not None:
        return Proved(LocalPair(found.value, found.multiplicity), f"{found.proof}; {number}", dict(found.ranks))
    question.bounded(found.lower, found.upper, number)
    if found.value is not None:
        return f"its multiplicity is not known, and lambda is {found.value}"
    return f"it is between {found.lower} and {found.upper}"


def from_layer_to_layer(question: AtWeights, part: Part) -> Proved | str:
    """Return the bounds of a network without skips, its streams zero behind a layer, by the layers to there."""
    shape, net = question.shape, question.net
    cubes, last = shape.normalization is None, shape.depth
    if shape.skip:  # all layers together are one in the lowest degree
        heads = [head for layer in net.layers for head in layer]
        if all(not (head.attention and head.value) for head in heads):
            question.bounded(Fraction(min(shape.widths[0], len(heads)), 2), None, "Proposition 16")
        return "with skip connections nothing is zero behind a layer"
    zero = _first_zero(question)
    if zero is None or (zero == last and shape.unembed is None):  # what the last layer reads may be anything but zero
        if cubes:
            is_last = zero is not None and _is_seen(question, last - 1)
            least = _at_least(shape, last) if is_last else Fraction(1, 2 * 3 ** (last - 1))  # there is no zero E
            question.bounded(least, None, "Proposition 16")
        return "no stream is seen to be zero in front of the outputs"
    found = part(question, _up_to(question, zero)) if zero else None
    if found is None:
        half = Fraction(net.embed.shape[0] * net.embed.shape[1], 2)
        found = LearningCoefficient(half, half, 1, f"{PAGE}, Proposition 1", "")
    low, high, order = found.lower, found.upper, found.multiplicity
    steps = [(3, _at_least(shape, i)) if cubes else (1, Fraction(0)) for i in range(zero + 1, last + 1)]
    for power, least in [*steps, *([] if shape.unembed is None else [(1, Fraction(shape.unembed, 2))])]:
        order = order if high / power < least else None
        low, high = min(low / power, least), high / power
    ranks = {"layers up to the first zero": zero, **found.ranks}
    return _of_part(question, LearningCoefficient(low, high, order, found.proof, "", ranks), "Proposition 16")


def _at_least(shape: Architecture, layer: int) -> Fraction:
    """Return what a lightning layer has where its outputs are zero and what it reads is not."""
    return Fraction(min(shape.widths[layer], shape.heads), 2)


def _up_to(question: AtWeights, layers: int) -> Weights:
    """Return the first layers, with `E` and without `U`."""
    matrices = question.weights.matrices
    left_out = {name for i in range(layers, question.shape.depth) for name in layer_names(question.shape, i + 1)}
    left_out |= {piece.name for piece in pieces_at_streams(question.shape)[-1].readers}
    return Weights.of({name: matrices[name] for name in matrices if name not in left_out}, question.weights.form)


def _is_seen(question: AtWeights, layers: int) -> bool:
    """Return whether the first layers are seen not to be zero, at an input modulo a prime."""
    if not layers:
        return bool(question.net.embed)
    weights = _up_to(question, layers)
    shape, found = weights.architecture(question.shape.tokens), modulo_a_prime(weights.all_held)
    if found is None:
        return False
    p, matrices = found
    inputs = random_residues(np.random.default_rng(question.seed), (shape.input_width, shape.tokens), p)
    return bool(network_output(inputs, shape, list(matrices.values())))


def _first_zero(question: AtWeights) -> int | None:
    """Return the first place where all streams are seen to be zero, from spaces that they lie in."""
    net, reached = question.net, question.net.embed
    for i, heads in enumerate(net.layers, start=1):
        if not reached:
            return i - 1
        writing = [head.carried(reached) for head in heads if _attends(head, reached, question)]
        reached = Q.no_columns(net.widths[i]).extended(*writing).basis
    return None if reached.shape[1] else len(net.layers)


def _attends(head: HeadCircuits, reached: RationalMatrix, question: AtWeights) -> bool:
    """Return whether a head reads anything of a space: softmax does, lightning where some scores there are not 0.

    One token has scores with itself alone.
    """
    if question.shape.normalization is not None:
        return True
    scores = head.scores(reached, reached)
    return bool(scores + scores.mT if question.shape.tokens == 1 else scores)


def of_constant_strings(question: AtWeights) -> Proved | str:
    """Return the bounds of softmax, or skips between `E` and `U`, by the product that one repeated token sees."""
    net, shape = question.net, question.shape
    layers, has_ends = [_sums(heads) for heads in net.layers], shape.embed is not None
    one, is_product = RationalMatrix.identity(shape.widths[0]), shape.normalization is not None
    if shape.skip and not (is_product and shape.value_ranks is None):
        whole, outputs, values, is_product = net.unembed, list[RationalMatrix](), list[RationalMatrix](), False
        for inner, output in reversed(layers if shape.normalization else []):
            values, outputs = [*values, inner], [*outputs, (whole @ output).mT]
            if (turned := one + output @ inner).rank() < shape.widths[0]:
                return "a layer with its skip connection is not invertible on strings of one token"
            whole = whole @ turned
        given = [net.embed, whole] if has_ends else [values[0].above(*values[1:]), outputs[0].above(*outputs[1:]).mT]
    else:
        given = [net.embed] if has_ends else []
        for factor in chain(*layers):
            if shape.skip and given and (one + factor).rank() == shape.widths[0]:  # a change of bases
                given[-1] = (one + factor) @ given[-1]
            else:
                given.append(one + factor if shape.skip else factor)
        given += [] if shape.unembed is None else [net.unembed]
    if len(given) > MOST_GIVEN:
        return f"its product has {len(given)} factors, more than {MOST_GIVEN}"
    try:
        found = factorization_within(given, question.budget)
    except TooLarge as error:
        return str(error)
    is_zero = not shape.skip and shape.heads == 1 and not found.ranks["rank"]
    if is_zero or (is_product and shape.tokens == 1):
        return _of_part(question, found, "Proposition 17")
    if has_ends and shape.skip and not any((net.embed, net.unembed)):
        sizes = [rows * columns for rows, columns in (net.embed.shape, net.unembed.shape)]
        both = LocalPair.coordinates(sizes[0]) * LocalPair.coordinates(sizes[1])
        order = found.multiplicity if both == LocalPair(found.lower, found.multiplicity or 0) else None
        bounds = LearningCoefficient(found.lower, both.value, order, found.proof, "", found.ranks)
        return _of_part(question, bounds, "Proposition 17")
    question.bounded(found.lower, None, "Proposition 17")
    return f"it is at least {found.lower}"


def _sums(heads: Sequence[HeadCircuits]) -> list[RationalMatrix]:
    """Return what a string of one token sees of a layer, as factors, the first one first: the sum of all values."""
    if heads[0].output is None:
        return [added([head.value for head in heads])]
    values, outputs = [head.inner_value for head in heads], [head.output.mT for head in heads]
    return [values[0].above(*values[1:]), outputs[0].above(*outputs[1:]).mT]
