r"""The space that polynomial maps of a shape lie in, and how large a map can be: counted before any is computed."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb
from typing import NamedTuple

from lightning_sym.arguments import require_arguments
from lightning_sym.errors import BadInput
from lightning_sym.limits import require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import DECLARED, pieces
from lightning_sym.network.weight_names import split
from lightning_sym.rings.arrays import ObjectArray

KNOWN = DECLARED - {"normalization"}
"""The options of networks that are polynomial maps, unless `Variant.not_rational` names them."""

DEEPEST = 10
"""Deeper networks are refused: at degree 3^11 the estimate alone would be a number of 10^5 digits."""


def require_polynomial(architecture: Architecture, what: str) -> None:
    """Refuse by name a network that is no polynomial map, or that has an unknown option.

    Raises:
        BadInput: it is such a network.

    Example:
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> require_polynomial(Architecture((2, 2), (1,), 2, SOFTMAX), "the polynomial map")
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: the polynomial map must be of a network without normalization, got widths 2,2...
    """
    if architecture.normalization is not None and architecture.options <= KNOWN | {"normalization"}:
        raise BadInput(f"{what} must be of a network without normalization, got {architecture}")
    architecture.require(what, KNOWN)
    if architecture.varies and (more := architecture.not_rational):
        raise BadInput(f"{what} must be of a network without {' and '.join(more)}, no polynomials, got {architecture}")


def degrees(architecture: Architecture) -> range:
    r"""Return the degrees of the terms, largest first: $3^l$, and with skip connections all odd ones up to it.

    A layer with a skip connection is $x + {}$ a cubic; sums of three odd degrees up to $3^{l-1}$ are the odd degrees
    from 3 to $3^l$. Gated neurons with skip connections, or with a gate of several terms, may bring every degree from 1
    on, and biases a constant too.

    Example:
        >>> list(degrees(Architecture((2, 2, 2), (1, 1), 2))), list(degrees(Architecture((2, 2), (1,), 2, skip=True)))
        ([9], [3, 1])
    """
    require_polynomial(architecture, "the degrees of the map")
    if architecture.biases:
        return range(architecture.degree, -1, -1)
    if architecture.gate is not None and (architecture.skip or sum(map(bool, architecture.gate)) > 1):
        return range(architecture.degree, 0, -1)
    return range(architecture.degree, 0 if architecture.skip else architecture.degree - 1, -2)


def degree_words(architecture: Architecture) -> str:
    """Return the degrees of the map, in words.

    Example:
        >>> degree_words(Architecture((2, 2), (1,), 2, skip=True))
        'not homogeneous, of odd degrees from 1 to 3'
    """
    require_polynomial(architecture, "the degrees of the map")
    found = degrees(architecture)
    if len(found) == 1:
        return f"homogeneous of degree {architecture.degree}"
    return f"not homogeneous, of{' odd' * (found.step == -2)} degrees from {found[-1]} to {found[0]}"


def ambient_dimension(architecture: Architecture) -> int:
    r"""Return the dimension of the polynomial maps, `n x t` to `m x t` matrices, with terms of these degrees (Eq. 5).

    That is degree $3^l$; with skip connections all odd degrees up to $3^l$.

    Raises:
        BadInput: the network is normalized, so no polynomial map.

    Example:
        >>> ambient_dimension(Architecture((2, 1), (2,), 2))    # 1 * 2 * C(6, 3)
        40
        >>> ambient_dimension(Architecture((1, 1), (1,), 1, skip=True))     # x^3 and x
        2
    """
    require_arguments(ambient_dimension, locals())
    require_polynomial(architecture, "the ambient space")
    inputs = architecture.input_width * architecture.tokens
    outputs = architecture.output_width * architecture.tokens
    return outputs * sum(comb(inputs + degree - 1, degree) for degree in degrees(architecture))


def count_terms_at_most(architecture: Architecture, *, symbolic: bool = True) -> int:
    """Return an upper bound for the number of terms of all outputs together.

    No more terms than monomials of the right degrees in the inputs and, if these are symbolic, in each kind of weight
    of each layer. And every term has a positive coefficient: with symbolic weights the value at all-ones weights and
    inputs, which is the sum of the coefficients, is a bound too (of a masked network, the value without its mask).

    Raises:
        BadInput: the network is normalized, so no polynomial map.

    Example:
        >>> count_terms_at_most(Architecture((1, 1, 1), (1, 1), 1))
        1
    """
    require_polynomial(architecture, "the number of terms")
    t, h = architecture.tokens, architecture.heads
    outputs = architecture.output_width * t
    # with skip any degree up to the largest: as many monomials as with one more variable
    more = int(architecture.skip or architecture.varies)

    def monomials_of(variables: int, degree: int) -> int:
        return comb(variables + more + degree - 1, degree)

    monomials = outputs * monomials_of(architecture.input_width * t, architecture.degree)
    if not symbolic:
        return monomials
    size = 1 if architecture.embed is None else architecture.embed  # every entry of the stream, at all ones
    if architecture.embed is not None:
        monomials *= monomials_of(architecture.embed * architecture.widths[0], architecture.degree)
    words = {split(piece.name)[0] for piece in pieces(architecture, heads=1)}
    turned = 1 + (architecture.rotary is not None)
    for i, a in enumerate(architecture.attention_ranks):
        d, d_out = architecture.widths[i : i + 2]
        degree = 3 ** (architecture.depth - 1 - i)
        monomials *= monomials_of(h * a * d, degree) ** 2
        value = d * size + ("bV" in words)
        if architecture.value_ranks is None:
            monomials *= monomials_of(h * d * d_out, degree)
        else:
            b = architecture.value_ranks[i]
            value *= b
            monomials *= monomials_of(h * b * d, degree) * monomials_of(h * b * d_out, degree)
        scores = a * turned**2 * (d * size + ("bQ" in words)) * (d * size + ("bK" in words))
        size = architecture.skip * size + h * t * value * scores + ("bO" in words)
        if architecture.neurons is not None:
            gate = sum((d_out * size) ** k for k, c in enumerate(architecture.gate or ()) if c)
            size = architecture.skip * size + architecture.neurons[i] * gate * d_out * size
    if architecture.unembed is not None:
        size *= architecture.widths[-1]
        monomials *= architecture.unembed * architecture.widths[-1]
    # the weights of variants are in none of these monomials
    return outputs * size if architecture.varies else min(outputs * size, monomials)


def weights_in_a_term(architecture: Architecture) -> int:
    """Return how many weights are multiplied in a term of the largest degree.

    Example:
        >>> weights_in_a_term(Architecture((2, 2, 2), (1, 1), 2))      # three layers' worth of Q1 K1 V1, and Q2 K2 V2
        12
    """
    require_polynomial(architecture, "the degree in the weights")
    in_a_layer = 3 + (architecture.value_ranks is not None) + 2 * architecture.gains
    count = int(architecture.embed is not None)
    for _ in range(architecture.depth):
        count = 3 * count + in_a_layer
        if architecture.gate is not None:
            count = len(architecture.gate) * (count + 1) + 1
    return count + (architecture.unembed is not None)


class EntrySizes(NamedTuple):
    """How large the entries of given weights are: polynomials in letters, most often numbers.

    Attributes:
        letters: how many letters there are.
        terms, degree: of an entry, at most.
        bits: of the longest numerator and denominator together.
    """

    letters: int
    terms: int
    degree: int
    bits: int

    @classmethod
    def of(cls, matrices: Iterable[ObjectArray], letters: int) -> EntrySizes:
        """Return the sizes of matrices of polynomials, in a ring with so many letters."""
        entries = [entry for matrix in matrices for entry in matrix.ravel() if entry]
        numbers = [c for entry in entries for c in entry.coeffs()]
        longest = max((abs(int(c.p)).bit_length() for c in numbers), default=1)
        if (denominator := max((int(c.q) for c in numbers), default=1)) > 1:
            longest += denominator.bit_length()
        terms = max((len(entry) for entry in entries), default=1)
        degree = max((int(entry.total_degree()) for entry in entries), default=0)
        return cls(letters, terms, degree, longest)


def _terms_with(architecture: Architecture, sizes: EntrySizes) -> int:
    """Return how many terms there are at most, with letters.

    These are monomials in the inputs times those in the letters, of the largest degree; and products of terms of the
    entries.
    """
    monomials: int = count_terms_at_most(architecture, symbolic=False)
    if not sizes.letters:
        return monomials
    factors = weights_in_a_term(architecture)
    in_letters = comb(sizes.letters + sizes.degree * factors, sizes.letters)
    products: int = count_terms_at_most(architecture) * sizes.terms**factors
    return min(monomials * in_letters, products)


def require_room(architecture: Architecture, variables: int, sizes: EntrySizes | None, memory: int) -> None:
    """Refuse a map whose polynomials would not fit, before anything is computed.

    Args:
        architecture: the network.
        variables: of the polynomial ring, the inputs among them.
        sizes: of given weights; `None` with symbolic weights.
        memory: bytes that the polynomials may take.

    Raises:
        TooLarge: the estimate exceeds `memory`.
        BadInput: the network is normalized.
    """
    require_polynomial(architecture, "the polynomial map")
    # bound the depth first: the count itself has 3^l digits
    deep = architecture.depth > DEEPEST or architecture.degree > 3**DEEPEST
    terms = 10**1000
    if not deep:
        terms = count_terms_at_most(architecture) if sizes is None else _terms_with(architecture, sizes)
    if architecture.unembed is not None:  # the stream in front of it is held too
        terms += -(-terms * architecture.widths[-1] // architecture.unembed)
    exponent_bits = 8 if architecture.degree * max(1, sizes.degree if sizes else 1) < 128 else 32
    bytes_a_term = 8 - 8 * (-(variables + 1) * exponent_bits // 64)
    if sizes is not None and not deep:
        bytes_a_term += sizes.bits * weights_in_a_term(architecture) // 8
    count = f"{terms:,}" if terms < 10**15 else f"10^{len(str(terms)) - 1}"
    require_memory(terms * bytes_a_term, memory, f"the polynomials, up to {count} terms,")
