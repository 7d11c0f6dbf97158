"""What a checker of certificates puts up with (`docs/certificate.md`): none is written that would be refused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from lightning_sym.certificates.document import KNOWN, Document
from lightning_sym.errors import TooLarge
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import pieces

LARGEST_FILE = 16 * 2**20
"""Bytes of a certificate; a checker reads no more."""

MOST_HEADS = 4096
"""Heads of all layers together that a checker puts up with."""

MOST_LAYERS = 64
"""Layers of weights that a checker reads."""

MOST_STEPS = 2 * 10**9
"""Steps that a checker takes, some four minutes."""

MOST_BITS, GUARD_BITS = 4096, 64
"""Bits of intervals that a checker computes with, and those that it adds."""


def inputs(lower_bound: Document) -> int:
    """Return how often a checker evaluates the network: once for all rows in turn with the same input.

    Example:
        >>> inputs({"rows": [{"input": [[1]]}, {"input": [[1]]}, {"input": [[2]]}]})
        2
    """
    return 1 + sum(bool(old["input"] != new["input"]) for old, new in pairwise(lower_bound["rows"]))


def slot(p: int) -> int:
    """Return bits that a checker gives a residue while it evaluates a network."""
    return 16 if p == 2 else 64


def fits_a_slot(architecture: Architecture, terms: int, p: int) -> bool:
    """Return whether sums of products of residues do not overflow in a checker.

    Example:
        >>> [fits_a_slot(Architecture((1, m), (1,), 128), 1, 2) for m in (127, 128)]
        [True, False]
    """
    architecture.require("the checker's size of slots", KNOWN)
    t = architecture.tokens
    most = max(t, *(size for piece in pieces(architecture, 1) for size in piece.shape))
    return bool(terms * max(2 * most, architecture.output_width * t) * p * p < 1 << slot(p))


def elimination_steps(rank: int, p: int) -> int:
    """Return the steps that a checker counts, about, to see that a minor is not zero.

    Example:
        >>> elimination_steps(1260, 4194301), elimination_steps(1260, 2), elimination_steps(10000, 2)
        (89699400, 3175200, 250000000)
    """
    return rank**2 * (4 + rank // 8192) // 2 if p == 2 else 4 * rank**2 + rank**3 // 24


def steps(architecture: Architecture, rank: int, lower_bound: Document) -> int:
    """Return the steps that a checker counts, about, while it evaluates a network with its derivatives.

    Args:
        architecture: the network.
        rank: how many functionals go back to the weights.
        lower_bound: the lower bound of a certificate.

    Example:
        >>> lower_bound = {"prime": 5, "terms": None, "rows": [{"input": [[1]]}]}
        >>> steps(Architecture((1, 1), (1,), 1), 1, lower_bound)        # five products of numbers
        209
    """
    architecture.require("the checker's count of steps", KNOWN)
    t, terms, part = architecture.tokens, int(lower_bound["terms"] or 1), slot(lower_bound["prime"])
    size, side = 2 * terms - 1, -(-rank // inputs(lower_bound)) if lower_bound["rows"] else 0  # functionals of an input

    def forward(rows: int, columns: int, middle: int, k: int = 1) -> int:
        words = k * size * part // 64
        return rows * columns * (middle * (1 + words * terms // 16) + 2 * words + 8)

    def product(rows: int, columns: int, middle: int) -> int:  # and back to both factors
        back = forward(rows, middle, columns, side) + forward(columns, middle, rows, side)
        return forward(rows, columns, middle) + back

    series = terms if lower_bound["terms"] else 0
    normalized = architecture.normalization is not None
    pattern = t * forward(1, 1, 1) * (2 * terms.bit_length() * normalized + t * 2 * (1 + series * normalized))
    pattern += t * (forward(1, 1, t, side) + t * forward(1, 1, 1, side))
    total = architecture.heads * architecture.depth * pattern
    for piece in pieces(architecture, 1):
        rows, columns = piece.shape
        each = product(t, rows, columns) + (product(t, t, rows) if piece.name[0] == "Q" else 0)
        each += product(t, rows, t) if piece.name[0] == "V" else 0
        total += each * (architecture.heads if piece.by_head else 1)
    return total * inputs(lower_bound)


def require_checkable(architecture: Architecture, rank: int, p: int) -> None:
    """Refuse networks that are too large, before anything is computed.

    Raises:
        TooLarge: by the number of heads, or by the size of the minor.
    """
    architecture.require("the checker's count of heads", KNOWN)
    require_heads(architecture)
    _require_steps(elimination_steps(rank, p), f"the minor of {rank:,} rows modulo {p}")


def require_heads(architecture: Architecture) -> None:
    """Refuse networks of too many heads.

    Raises:
        TooLarge: by the number of heads.
    """
    architecture.require("the checker's count of heads", KNOWN)
    heads = architecture.heads * architecture.depth
    if heads > MOST_HEADS:
        raise TooLarge(f"a certificate must be of at most {MOST_HEADS:,} heads, this network has {heads:,}")


def output_steps(architecture: Architecture, bits: int | None) -> int:
    """Return the steps that a checker foresees for an output, of all pairs of tokens, or fewer if nothing is normed.

    Args:
        architecture: the network, with as many tokens as the input has.
        bits: those of intervals, which softmax needs.

    Example:
        >>> [output_steps(Architecture((2, 2), (1,), 10, heads=heads), None) for heads in (1, 2)]
        [600, 1200]
    """
    architecture.require("the checker's count of steps", KNOWN)
    t, powers, plain = architecture.tokens, 0, bits is None and not architecture.causal
    if bits is not None:
        pairs, bits = t * (t + 1) // 2 if architecture.causal else t * t, bits + GUARD_BITS
        powers = 2 * pairs * (bits // 2 + 3) * (20 + (bits // 256) ** 2)
    each = 10 if bits is None else 25
    sizes = zip(architecture.attention_ranks, architecture.widths, strict=False)
    return architecture.heads * sum(powers + t * (min(d, t) if plain else t) * each * (a + d) for a, d in sizes)


def require_lines(architecture: Architecture, degrees: Sequence[int]) -> None:
    """Refuse lines on which polynomials have factors that would take too long to find.

    Args:
        architecture: the network, whose width says what a value takes.
        degrees: of the polynomial on each line.

    Raises:
        TooLarge: by the number of steps.

    Example:
        >>> require_lines(Architecture((2, 2), (1,), 2), [486] * 4)
        >>> require_lines(Architecture((2, 2), (1,), 2), [486] * 6)
        Traceback (most recent call last):
        lightning_sym.errors.TooLarge: a certificate must be checked in at most 2,000,000,000 steps of the checker, ...
    """
    architecture.require("the checker's count of steps", KNOWN)
    d = max(architecture.widths)
    value = d**3 + 25 * architecture.heads * architecture.depth * d**2
    needed = sum(n**3 + 1000 * n**2 + n * value for n in degrees)
    _require_steps(needed, f"one with lines of degrees up to {max(degrees, default=0)}")


def require_outputs(networks: Sequence[Architecture], bits: int | None) -> None:
    """Refuse inputs at which outputs of these networks would take too long to check.

    Raises:
        TooLarge: by the number of steps.
    """
    _require_steps(sum(output_steps(network, bits) for network in networks), "an input of so many tokens")


def require_size(size: int) -> None:
    """Refuse files that are too large.

    Raises:
        TooLarge: by the number of bytes.
    """
    if size > LARGEST_FILE:
        raise TooLarge(
            f"a certificate must have at most {LARGEST_FILE // 2**20} MiB, this one would have {size / 2**20:,.0f} MiB"
        )


def require_steps(architecture: Architecture, rank: int, lower_bound: Document) -> None:
    """Refuse a lower bound that would take too long to check.

    Raises:
        TooLarge: by the number of steps.
    """
    needed = steps(architecture, rank, lower_bound) + elimination_steps(rank, lower_bound["prime"])
    _require_steps(needed, "this one")


def _require_steps(needed: int, what: str) -> None:
    if needed > MOST_STEPS:
        raise TooLarge(
            f"a certificate must be checked in at most {MOST_STEPS:,} steps of the checker, {what} takes {needed:,}"
        )
