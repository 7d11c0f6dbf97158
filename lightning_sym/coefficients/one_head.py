r"""One softmax head that reads the last token, with an embedding and an unembedding, trained with cross-entropy.

Logits are $U^\top$ of the embeddings' mean, weighted by softmax of $E_b Q E_a^\top$; the truth is the uniform
distribution, at zero weights, or a generic teacher whose embedding is narrower. Statements and proofs are in
docs/learning-coefficients-linear-attention.md, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from lightning_sym.arguments import require_arguments
from lightning_sym.certificates.coefficients import coefficient_certificate
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.linear_attention import LARGEST_WRITTEN, PAGE, require_sizes
from lightning_sym.coefficients.reduced_rank import least_and_multiplicity
from lightning_sym.errors import TooLarge
from lightning_sym.exact.rational import rank
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Work, require_integer, require_memory

LARGEST_HEAD = 1000
"""Of a vocabulary or a width, less that of the teacher: the minimum is over some two million chains."""

CHAIN = 2e-6
"""Seconds that the exponent of a chain takes, about."""

CERTIFICATE_BYTES = 10_000
"""Of a certificate that names sizes alone."""

ABOUT = "of the Kullback-Leibler divergence over all strings of one length, two tokens or more"

Chain = tuple[int, int, int]
"""How many entries of a chain are 0, how many 1/2, and how many 1, in this order."""


def one_head_coefficient(
    vocabulary: int,
    tokens: int,
    width: int,
    teacher: int | None = None,
    *,
    work: float = DEFAULT_WORK,
    memory: int = DEFAULT_MEMORY,
) -> LearningCoefficient:
    """Return the learning coefficient of one softmax head over strings of words, trained with cross-entropy.

    Args:
        vocabulary: the number of words `v`, at least 2.
        tokens: the length of strings, at least 2; the coefficient is the same for all of them.
        width: `e`, of the embedding; weights are E (v x e), Q (e x e), U (e x v).
        teacher: the width of the embedding of a generic teacher, less than `width`, padded with zeros; the uniform
            distribution at zero weights if not given.
        work: seconds that the minimum may take, by a rough estimate.
        memory: bytes that the certificate may take.

    Raises:
        BadInput: a size is none.
        TooLarge: the vocabulary or the width is too large, or estimates exceed `work` or `memory`.

    Example:
        >>> found = one_head_coefficient(2, tokens=2, width=2, teacher=1)
        >>> found.value, found.multiplicity
        (Fraction(2, 1), 2)
    """
    require_arguments(one_head_coefficient, locals())
    require_sizes(vocabulary, width, teacher)
    require_integer(tokens, "tokens", 2)
    v, e, budget = vocabulary, width, Work(work)
    require_memory(CERTIFICATE_BYTES, memory, "a certificate")
    of = {"model": "one head", "vocabulary": v, "width": e, "teacher": teacher, "tokens": tokens}
    ranks: dict[str, int] = {}
    if teacher is None:
        budget.spend(CHAIN * min(v, e), "counts of singular values")
        least, m = least_and_multiplicity(v, e, v - 1)
        two, theorem = Fraction(least), "Theorem 6"
    elif teacher >= v:
        two, m, theorem = Fraction(2 * v * (v - 1)), 1, "Theorem 7"
    else:
        p, h = v - teacher, e - teacher
        if min(p, h) > LARGEST_HEAD:
            raise TooLarge(f"a vocabulary or a width must be at most {LARGEST_HEAD:,} larger than the teacher's")
        budget.spend(CHAIN * (min(p, h) + min(p - 1, h) + 2) ** 2 / 2, "chains of singular values")
        best, chains = _least_chains(p, h, v - 1, teacher)
        two, m, theorem = teacher * (2 * v - 1) + best, _dimension(chains) + 1, "Theorem 7"
        ranks = {"tokens beside the teacher's": p, "width beside the teacher's": h}
    truth = "the uniform distribution at zero weights" if teacher is None else f"generic teachers of width {teacher}"
    written = min(v, e) - (teacher or 0) <= LARGEST_WRITTEN and max(v, e) < 10**4
    value, halves = two / 2, {"chain": "halves"}
    certificate = coefficient_certificate(of, value, value, halves, halves) if written else None
    return LearningCoefficient(value, value, m, f"{PAGE}, {theorem}", f"{ABOUT}, for {truth}", ranks, certificate)


def _least_chains(p: int, h: int, n: int, teacher: int) -> tuple[Fraction, list[Chain]]:
    """Return the least exponent of singular values of a p x h matrix and of it without a row, and where it is.

    They interlace, `s_1 <= t_1 <= s_2 <= ...`, and the least exponents are at chains of 0, 1/2 and 1.
    """
    s, t = min(p, h), min(p - 1, h)
    least: int | None = None
    found: list[Chain] = []
    for zeros, halves in _pairs(s + t):
        cost = _doubled(p, h, n, teacher, s, t, zeros, halves)
        if least is None or cost < least:
            least, found = cost, []
        if cost == least:
            found.append((zeros, halves, s + t - zeros - halves))
    assert least is not None  # noqa: S101 - there is a chain
    return Fraction(least, 2), found


def _pairs(length: int) -> Iterator[tuple[int, int]]:
    return ((zeros, halves) for zeros in range(length + 1) for halves in range(length + 1 - zeros))


def _doubled(p: int, h: int, n: int, teacher: int, s: int, t: int, zeros: int, halves: int) -> int:
    """Return twice the exponent of a chain, by how many of either kind are 0, 1/2 and 1."""
    s0, t0 = (zeros + 1) // 2, zeros // 2  # those of the first kind come first
    s1, t1 = (zeros + halves + 1) // 2, (zeros + halves) // 2

    def growing(first: int, count: int, zero: int, half: int) -> int:  # of first, first - 1, ..., from the place on
        def tail(place: int) -> int:
            return (count - place) * (2 * first - place - count + 1) // 2

        return tail(zero) + tail(half)

    both = 2 * s0 * t0 + s0 * (t1 - t0) + (s1 - s0) * t0
    return growing(h, s, s0, s1) + growing(p - 1, t, t0, t1) + n * (s0 + s1) + teacher * (t0 + t1) + both


def _dimension(chains: list[Chain]) -> int:
    """Return the dimension of the hull of chains."""

    def values(chain: Chain) -> list[int]:
        return [0] * chain[0] + [1] * chain[1] + [2] * chain[2]

    first, *others = map(values, chains)
    return rank([[x - y for x, y in zip(other, first, strict=True)] for other in others]) if others else 0
