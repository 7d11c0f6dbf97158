r"""Linear attention without normalization, with squared error: $g = E Q E^\top$ times $h = E U$.

The truth is the zero function, at zero weights, or a generic teacher whose embedding is narrower. Statements and proofs
are in docs/learning-coefficients-linear-attention.md, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from lightning_sym.arguments import require_arguments
from lightning_sym.certificates.coefficients import coefficient_certificate
from lightning_sym.certificates.document import Document
from lightning_sym.certificates.files import number_document
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.errors import BadInput
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Work, require_integer, require_memory
from lightning_sym.rings.rationals import RationalNumber

PAGE = "docs/learning-coefficients-linear-attention.md"

LARGEST_SIZE, LARGEST_WRITTEN = 10**6, 200
"""Of a vocabulary or a width; and of those of which a certificate is written."""

COUNT, WEIGHT_BYTES = 2e-5, 1000
"""Seconds that a weight and a multiplier take, about, and bytes."""

ABOUT = "of the mean squared error over all strings of one length, two tokens or more"


def linear_attention_coefficient(
    vocabulary: int,
    width: int,
    teacher: int | None = None,
    *,
    work: float = DEFAULT_WORK,
    memory: int = DEFAULT_MEMORY,
) -> LearningCoefficient:
    """Return the learning coefficient of linear attention over strings of words, trained with squared error.

    Args:
        vocabulary: the number of words `v`, at least 2.
        width: `e`, of the embedding; weights are E (v x e), Q (e x e), U (e x v).
        teacher: the width of the embedding of a generic teacher, less than `width`, padded with zeros; the zero
            function at zero weights if not given.
        work: seconds that it may take, by a rough estimate.
        memory: bytes that the certificate may take.

    Returns:
        The coefficient where it is proved, else bounds: for teachers with `teacher <= v - 2` and
        `width >= 2 * teacher + 2`.

    Raises:
        BadInput: a size is none.
        TooLarge: estimates exceed `work` or `memory`.

    Example:
        >>> found = linear_attention_coefficient(2, 6)
        >>> found.value, found.multiplicity
        (Fraction(11, 6), 1)
    """
    require_arguments(linear_attention_coefficient, locals())
    require_sizes(vocabulary, width, teacher)
    of = {"model": "linear attention", "vocabulary": vocabulary, "width": width, "teacher": teacher, "tokens": None}
    pivots = min(vocabulary, width)
    written = pivots**2 if teacher is None and _small(vocabulary, width) else 0
    require_memory(WEIGHT_BYTES * (1 + written), memory, "a certificate")
    Work(work).spend(COUNT * (written + (pivots if teacher is not None else 0)), "weights and multipliers")
    if teacher is None:
        return _of_zero(vocabulary, width, of)
    return _of_teacher(vocabulary, width, teacher, of)


def require_sizes(vocabulary: int, width: int, teacher: int | None) -> None:
    """Refuse sizes of a model that are none.

    Raises:
        BadInput: there are fewer than two words, or the teacher is not narrower than the network.
    """
    require_integer(vocabulary, "the vocabulary", 2, LARGEST_SIZE)
    require_integer(width, "the width", 1, LARGEST_SIZE)
    if teacher is not None:
        require_integer(teacher, "the width of the teacher", 1, LARGEST_SIZE)
        if teacher >= width:
            raise BadInput(f"the width of the teacher must be less than the width, {width}; got {teacher}")


def _of_zero(v: int, e: int, of: Document) -> LearningCoefficient:
    """Return the coefficient of the zero function, at zero weights."""
    if v <= e:
        r = min(max((e - 2 * v) // 2, 0), v)  # pivots that are not small: the best number, or one of two
        two, theorem, m = Fraction(v * e - r * (e - 2 * v) + r * r, 3), "Theorem 3", _poles(v, e)
    else:
        r, two, theorem, m = 0, min(Fraction(v * e, 3), Fraction(e * e)), "Theorem 4", 1 + (v == 3 * e)
    certificate = (
        coefficient_certificate(of, two / 2, two / 2, _weights(v, e, r), _multipliers(v, e, r))
        if _small(v, e)
        else None
    )
    about = f"{ABOUT}, for the zero function at zero weights"
    return LearningCoefficient(two / 2, two / 2, m, f"{PAGE}, {theorem}", about, {"pivots that stay": r}, certificate)


def _poles(v: int, e: int) -> int:
    """Return the multiplicity for v <= e."""
    if e <= 2 * v:
        return 1
    if e >= 4 * v - 1:
        return v + 2 if e == 4 * v - 1 else v + 1
    return 1 + e % 2


def _small(v: int, e: int) -> bool:
    return min(v, e) <= LARGEST_WRITTEN and max(v, e) < 10**4


def _weights(v: int, e: int, r: int) -> Document:
    """Return weights of pivots, of products and of outputs whose cost is twice the coefficient."""
    k, third = min(v, e), Fraction(1, 3)
    if v > 3 * e:
        return {"x": [0] * k, "q": [[1] * k for _ in range(k)], "u": [0] * k}
    x = [third * (j >= r) for j in range(k)]
    q = [[third * ((i < r) + (j < r)) for j in range(k)] for i in range(k)]
    u = [third * (j < r) for j in range(k)]
    return {"x": _written(x), "q": [_written(row) for row in q], "u": _written(u)}


def _written(numbers: Sequence[RationalNumber]) -> list[int | str]:
    return [number_document(x) for x in numbers]


def _multipliers(v: int, e: int, r: int) -> Document:
    """Return multipliers that prove twice the coefficient from below."""
    if v <= e:
        return {"rows": [_written(row) for row in row_multipliers(v, e, r)]}
    a = [Fraction(e - j, 2 * e) for j in range(1, e + 1)]
    b = [Fraction(e - j, 6 * e) for j in range(1, e + 1)]
    c = [x + Fraction(1, 3 * e) for x in a]
    first = {"rows": [_written(row) for row in row_multipliers(e, e, 0)]}
    return {"first": first, "last": {"a": _written(a), "b": _written(b), "c": _written(c)}}


def row_multipliers(v: int, e: int, r: int) -> list[list[Fraction]]:
    """Return multipliers of `x_i + q_ij + 2 x_j + u_j >= 1` for `v <= e`, where `r` pivots stay.

    1 where a pivot stays; among the others the symmetric matrix between those of two neighbouring widths.

    Example:
        >>> [[str(y) for y in row] for row in row_multipliers(2, 2, 0)]
        [['3/4', '1/4'], ['1/4', '1/12']]
    """
    m = v - r
    w = Fraction(e - v + 1 - 3 * r, m + 2)
    two_thirds = Fraction(2, 3)

    def theta(b: int, c: int) -> Fraction:
        return (1 - w) * two_thirds * (b + c <= m) + w * (1 - two_thirds * (b + c > m + 1))

    return [[theta(i - r + 1, j - r + 1) if min(i, j) >= r else Fraction(1) for j in range(v)] for i in range(v)]


def _of_teacher(v: int, e: int, teacher: int, of: Document) -> LearningCoefficient:
    """Return the coefficient of generic teachers, or its bounds."""
    about = f"{ABOUT}, for generic teachers of width {teacher}, padded with zeros"
    proof, empty = f"{PAGE}, Theorem 5", {"chain": "halves"}
    if teacher >= v:
        two = Fraction(2 * v * v - v)
        return LearningCoefficient(
            two / 2, two / 2, 1, proof, about, {}, coefficient_certificate(of, two / 2, two / 2, {"rank": 0}, empty)
        )
    p, h = v - teacher, e - teacher
    ranks = {"tokens beside the teacher's": p, "width beside the teacher's": h}
    low = 2 * teacher * v - 1 + least_singular_values(p, h, v)
    if p == 1:
        rank, high = 0, low
    else:
        rank, rest = min(((k, _fiber_at_rank(v, teacher, p, h, k)) for k in range(min(p, h) + 1)), key=lambda x: x[1])
        high = Fraction(2 * teacher * v - v + rest)
    m = None
    if low == high:
        at_the_edge = e == 2 * teacher + 1
        m = 1 + (h in (v, v + 2)) if p == 1 else 1 + (at_the_edge and teacher == 1)
        m = None if p > 1 and e > 2 * teacher + 1 else m
    certificate = coefficient_certificate(of, low / 2, high / 2, {"rank": rank}, empty) if _small(v, e) else None
    return LearningCoefficient(low / 2, high / 2, m, proof, about, ranks, certificate)


def least_singular_values(p: int, h: int, v: int) -> Fraction:
    """Return the smallest exponent over orders of the singular values of the p x h matrix that is left, in closed form.

    With `k` of them not small and `l` of size at most the square root, at 0, 1/2 and 1.

    Example:
        >>> [str(least_singular_values(1, h, 2)) for h in (1, 2, 3, 4, 5)]
        ['1', '2', '5/2', '3', '3']
    """
    size, top = min(p, h), p + h - 1

    def slopes(first: int, last: int) -> int:  # p + h - 2 i - 1 from the first place to before the last one
        return (last - first) * (top - first - last + 1)

    def doubled(zeros: int) -> int:  # where a number is 1/2 and not 1 while that costs no more: slopes fall
        ones = max(zeros, min(size, (top - v - 2 * zeros) // 2 + 1))
        return slopes(zeros, ones) + 2 * slopes(ones, size) + v * (zeros + ones) + 2 * zeros * ones

    return Fraction(min(map(doubled, range(size + 1))), 2)


def _fiber_at_rank(v: int, teacher: int, p: int, h: int, k: int) -> int:
    """Return how many coordinates a fiber has beside it where the rest of the embedding has rank k."""
    most = v - 1 + (p - k) * (h - k) + k * (v + teacher + k)
    return min(most, k * (v + teacher + k)) if k == p else most
