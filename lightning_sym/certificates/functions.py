"""Certificates of the same or different functions for networks with a form: heads, masks, skip connections, softmax."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np

from lightning_sym.certificates.document import Document, opening
from lightning_sym.certificates.files import rational_document, weights_document
from lightning_sym.certificates.limits import GUARD_BITS, MOST_BITS, require_heads, require_outputs
from lightning_sym.errors import BadInput
from lightning_sym.fibers.pair import PREFIX
from lightning_sym.fibers.same_function import Answer, Comparison
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.attention import network_output
from lightning_sym.network.pieces import SCORES, SIZED
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.ball_matrices import BallMatrix
from lightning_sym.rings.balls import precision
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.arrangement import arranged, heads_in_levels, padded
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits
from lightning_sym.system.common_streams import common_streams
from lightning_sym.system.tensor_streams import tensor_streams
from lightning_sym.system.weights_of_circuits import circuits_as_weights

PRECISIONS = (64, 256, 1024)
"""Bits of balls that are tried."""

_TRIES = 8
"""Inputs that are tried with each precision, or modulo each prime."""


def _theorem(first: Weights, second: Weights, tokens: int) -> str | None:
    """Return the theorem that decides all pairs of networks such as these, by the word of the grammar."""
    shapes = [w.architecture(tokens) for w in (first, second)]
    if any(shape.normalization != SOFTMAX for shape in shapes):
        return None
    if all(shape.options <= SCORES | SIZED for shape in shapes):
        return "visible weights"
    return "one layer" if tokens > 1 and all(shape.depth == 1 for shape in shapes) else None


def same_proof(first: Weights, second: Weights, tokens: int) -> Document:
    """Return what a checker can follow to see that two networks of one form have the same function.

    Raises:
        BadInput: nothing of the kinds that it knows is there.
    """
    one, other = NetworkCircuits.of(first), NetworkCircuits.of(second)
    if len(one.layers) == len(other.layers) and common_streams(one, other, tokens).same:
        return {"by": "streams"}
    if (theorem := _theorem(first, second, tokens)) is not None:
        return {"by": theorem}
    if first.form.normalization is None and (both := padded(one, other)) and tensor_streams(*both, tokens).same:
        return {"by": "tensors"}
    proof = _by_levels(one, other, tokens) or _through(one, other, tokens)
    if proof is None:
        raise BadInput(
            "a certificate needs common streams, with heads in other layers too and through other networks, or a "
            "theorem on all networks of this form, there is neither"
        )
    return proof


def _by_levels(one: NetworkCircuits, other: NetworkCircuits, tokens: int) -> Document | None:
    if not one.form.skip:
        return None
    (here, places), (there, others) = (heads_in_levels(circuits, tokens) for circuits in (one, other))
    both = padded(here, there)
    if both is None or not common_streams(*both, tokens).same:
        return None
    return {"by": "levels", "first": places, "second": others}


def _link(one: NetworkCircuits, other: NetworkCircuits, tokens: int) -> Document | None:
    both = padded(one, other)
    if both is not None and common_streams(*both, tokens).same:
        return {"by": "streams"}
    return _by_levels(one, other, tokens)


def _through(one: NetworkCircuits, other: NetworkCircuits, tokens: int) -> Document | None:
    """Return a proof from network to network: heads of each merged, left out and moved, as far as they go."""
    here, there = (arranged(circuits, tokens).stages for circuits in (one, other))
    way = [_filled(circuits) for circuits in (one, *here, *reversed(there), other)]
    at, between = 0, list[Document]()
    while at < len(way) - 1:  # the farthest one that is seen to be the same
        links = ((j, _link(way[at], way[j], tokens)) for j in range(len(way) - 1, at, -1))
        at, proof = next(((j, proof) for j, proof in links if proof is not None), (len(way), None))
        if proof is None:
            return None
        if at < len(way) - 1:
            named = circuits_as_weights(way[at])
            written = {name: rational_document(matrix.fractions()) for name, matrix in named.items()}
            between.append({"weights": written, "proof": proof})
    return {"by": "through", "networks": between, "proof": proof}


def _filled(circuits: NetworkCircuits) -> NetworkCircuits:
    """Return a network with one layer at least, and one head in each: of zeros, where there is none."""
    layers, widths = list(map(list, circuits.layers)), circuits.widths
    if not layers and circuits.form.skip:
        layers, widths = [[]], (*widths, *widths)
    for heads, before, behind in zip(layers, widths, widths[1:], strict=False):
        if not heads:
            heads.append(HeadCircuits(RationalMatrix.zero(before, before), RationalMatrix.zero(behind, before)))
    return replace(circuits, layers=layers, widths=widths)


def _longest(weights: Weights) -> int:
    """Return the bits of the largest numerator or denominator."""
    numbers = (x for m in weights.matrices.values() for x in m.ravel())
    return max(max(int(x.numerator).bit_length(), int(x.denominator).bit_length()) for x in numbers)


def _apart(first: Weights, second: Weights, x: ObjectArray) -> bool:
    """Return whether balls show that the outputs differ."""
    one, other = (
        network_output(BallMatrix.of(x), w.architecture(x.shape[1]), list(map(BallMatrix.of, w.matrices.values())))
        for w in (first, second)
    )
    return one.apart(other) is not None


def _evaluated_tokens(first: Weights, tokens: int) -> int:
    """Return how many tokens inputs have: with a mask the first ones are enough."""
    if first.form.causal:
        return min(tokens, PREFIX)
    require_memory(200 * tokens * tokens, DEFAULT_MEMORY, f"outputs at {tokens:,} tokens, for a certificate,")
    return tokens


def _in_intervals(first: Weights, second: Weights, tokens: int, known: ObjectArray | None) -> Document:
    rows, source = first.architecture(tokens).input_width, Random(0)
    columns = _evaluated_tokens(first, tokens) if known is None else known.shape[1]
    # the checker has so many bits behind the point: for numbers of any size
    spare = GUARD_BITS + 2 * sum(map(_longest, (first, second))) * first.architecture(tokens).depth
    shapes = [w.architecture(columns) for w in (first, second)]
    for bits in PRECISIONS:
        said = min(2 * bits + spare, MOST_BITS)
        require_outputs(shapes, said)
        for number in range(_TRIES):
            scale = 2 ** (number % 3)
            drawn = [[Fraction(source.randint(-3, 3), scale) for _ in range(columns)] for _ in range(rows)]
            x = np.array(drawn, dtype=object) if known is None else known
            with precision(bits):
                if _apart(first, second, x):
                    return {"input": rational_document(x), "prime": None, "bits": said}
            if known is not None:
                break
    raise BadInput(f"a certificate needs an input where the outputs are apart with at most {PRECISIONS[-1]} bits")


def difference_modulo_a_prime(first: Weights, second: Weights, tokens: int) -> Document:
    """Return an input at which outputs differ modulo a prime, and the prime.

    It serves where outputs are too long over the rationals.

    Raises:
        BadInput: none was found, or there are letters.
    """
    for weights in (first, second):
        weights.require_numbers("a certificate")
    shapes = [w.architecture(_evaluated_tokens(first, tokens)) for w in (first, second)]
    for p in PRIMES:
        generator, one = np.random.default_rng(p), PrimeFieldMatrix.of(np.array([[1]]), p)
        try:
            networks = [[one.like(matrix) for matrix in w.matrices.values()] for w in (first, second)]
        except ValueError:  # the prime divides a denominator
            continue
        for _ in range(_TRIES):
            x = random_residues(generator, (shapes[0].input_width, shapes[0].tokens), p)
            one_output, other = (network_output(x, s, w).residues() for s, w in zip(shapes, networks, strict=True))
            if not np.array_equal(one_output, other):
                return {"input": x.residues().tolist(), "prime": p}
    raise BadInput(f"a certificate needs an input where the outputs differ modulo one of the primes {PRIMES}")


def _different(comparison: Comparison, first: Weights, second: Weights, tokens: int) -> Document:
    if (theorem := _theorem(first, second, tokens)) is not None:
        return {"by": theorem}
    found: Document
    if first.form.normalization == SOFTMAX:
        return {"by": "input", **_in_intervals(first, second, tokens, comparison.input)}
    if comparison.input is not None and max(_longest(w) for w in (first, second)) <= 64:
        found = {"input": rational_document(comparison.input), "prime": None, "bits": None}
    else:
        found = difference_modulo_a_prime(first, second, tokens) | {"bits": None}
    require_outputs([w.architecture(len(found["input"][0])) for w in (first, second)], None)
    return {"by": "input", **found}


def function_certificate(comparison: Comparison, first: Weights, second: Weights, tokens: int) -> Document:
    """Return a certificate with a form (docs/certificate.md, section 4.1); arguments as for `same_certificate`.

    Raises:
        BadInput: the forms differ, or nothing that shows the answer can be written down.
        TooLarge: a checker does not read so many heads, or would take too long.
    """
    if first.form != second.form:
        raise BadInput(f"a certificate needs two networks of one form, got {first.form} and {second.form}")
    for weights in (first, second):
        weights.require_numbers("a certificate")
        require_heads(weights.architecture(tokens))
    same = comparison.answer is Answer.SAME
    proof: Document = same_proof(first, second, tokens) if same else _different(comparison, first, second, tokens)
    return opening(comparison.answer.value) | {
        "form": first.form.to_json(),
        "tokens": tokens,
        "first": weights_document(first),
        "second": weights_document(second),
        "proof": proof,
    }
