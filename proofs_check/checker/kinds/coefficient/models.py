"""Learning coefficients of models by their sizes.

The theorems of docs/learning-coefficients-linear-attention.md say that a coefficient is the value of a linear program,
or the smallest of a few numbers: solutions of the program are looked at, numbers are computed anew."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import mul

from proofs_check.checker.kinds.coefficient.terms import total
from proofs_check.checker.verify import COUNT, SIZE, need, rational, spend, take

TwiceBounds = tuple[Fraction, Fraction, str]
"""Twice both bounds, and by which theorem."""


def least(length: int, *parts: tuple[slice, Sequence[int], int]) -> Fraction:
    """Return the smallest exponent over chains of 0, 1/2 and 1 that do not fall.

    Parts of the chain, the first and the last one, have costs, and each number a cost of what it lacks to 1; what sums
    of a number of each lack costs as much. All is counted in halves.
    """
    spend((length + 1) ** 2 * (length + 50))
    found = []
    for k in range(length + 1):
        for m in range(length + 1 - k):
            chain = [0] * k + [1] * m + [2] * (length - k - m)
            moved = sum(
                sum(map(mul, costs, s := chain[part])) + lack * (2 * len(s) - sum(s)) for part, costs, lack in parts
            )
            s, t = chain[parts[0][0]], chain[parts[-1][0]]
            pairs = 2 * s.count(0) * t.count(0) + s.count(0) * t.count(1) + s.count(1) * t.count(0)
            found.append(moved + pairs)
    return Fraction(min(found), 2)


def products(p: int, h: int, n: int) -> int:
    """Return twice the coefficient of the entries of a p x h times an h x n matrix at zero."""
    return min(h * n + t * (p - h - n) + t * t for t in range(min(h, n, p) + 1))


def zero_above(v: int, e: int, data: object) -> Fraction:
    """Return the cost of weights of pivots x, of their products q and of outputs u."""
    k = min(v, e)
    x, q, u = take(data, "above", {"x": [rational, k], "q": [[rational, k], k], "u": [rational, k]})
    good = all(a <= b for a, b in itertools.pairwise([Fraction(0), *x])) and min(*u, *itertools.chain(*q)) >= 0
    need(good, "weights must not be negative, and those of pivots must not fall")
    last = min(total(each) for each in zip(x, u, strict=True))
    good = all(total((x[i], q[i][j], x[j], last)) >= 1 for i in range(k) for j in range(k))
    need(good, "every term must have weight 1")
    return total(((v + e - 2 * j - 1) * a for j, a in enumerate(x))) + v * total(u) + total(itertools.chain(*q))


def rows_below(v: int, e: int, rows: object) -> Fraction:
    """Return the sum of multipliers of x_i + q_ij + 2 x_j + u_j >= 1, for v <= e."""
    (y,) = take(rows, "multipliers", {"rows": [[rational, v], v]})
    spend(10 * v * v)
    need(all(0 <= a <= 1 for row in y for a in row), "multipliers must be from 0 to 1")
    for j in range(v):
        most = v + e - 2 * j - 1
        column = [row[j] for row in y]
        need(total((*y[j], *column, *column)) <= most, "multipliers must fit the costs")
    return total(itertools.chain(*y))


def triple_below(e: int, data: object) -> Fraction:
    """Return the bound at three times as many tokens as the width, of two families of pivots."""
    a, b, c = take(data, "averages", {"a": [rational, e], "b": [rational, e], "c": [rational, e]})
    falls = all(x >= y for each in (a, b) for x, y in itertools.pairwise(each))
    good = falls and all(0 <= x <= 1 for x in a) and all(y >= 0 <= z and y + z <= 1 for y, z in zip(b, c, strict=True))
    need(good, "a and b must fall, all must be from 0 to 1, and b + c too")
    of_a, of_b, of_c = map(total, (a, b, c))
    for j in range(e):
        x = total((2 * e - 2 * j - 1 + j, -of_a, of_a - e, -e * a[j], -3 * e * b[j]))
        z = total((3 * e - 2 * j - 1 - (e - 1 - j), -e, e * a[j], -3 * e * c[j]))
        need(x == z == 0 and e * a[j] == 3 * e * b[j], "all coefficients must cancel")
    need(e * (e - of_a) == 3 * e * of_c, "all coefficients must cancel")
    return 3 * e * (of_b + of_c)


def linear_attention(v: int, e: int, teacher: int | None, above: object, below: object) -> TwiceBounds:
    """Return twice both bounds, and by which theorem."""
    if teacher is None and v <= e:
        return rows_below(v, e, below), zero_above(v, e, above), "Theorem 3"
    if teacher is None:  # between the ends the coefficient is concave, beyond them it does not fall
        ends = take(below, "below", {"first": object, "last": object})
        first, last = rows_below(e, e, ends[0]), triple_below(e, ends[1])
        share = min(Fraction(v - e, 2 * e), Fraction(1))
        return first + share * (last - first), zero_above(v, e, above), "Theorem 4"
    take(below, "below", {"chain": str})
    (k,) = take(above, "above", {"rank": COUNT})
    if teacher >= v:
        need(k == 0, "the rank must be 0")
        return Fraction(2 * v * v - v), Fraction(2 * v * v - v), "Theorem 5"
    p, h = v - teacher, e - teacher
    low = least(min(p, h), (slice(None), range(p + h - 1, 0, -2), v))
    need(k <= min(p, h), "the rank must be one of p x h matrices")
    most = v - 1 + (p - k) * (h - k) + k * (v + teacher + k)
    most = min(most, k * (v + teacher + k)) if k == p else most
    most = v - 1 + low if p == 1 else most
    return 2 * teacher * v - 1 + low, Fraction(2 * teacher * v - v + most), "Theorem 5"


def one_head(v: int, e: int, teacher: int | None, above: object, below: object) -> TwiceBounds:
    """Return twice both bounds, which are the same number, and by which theorem."""
    take(above, "above", {"chain": str})
    take(below, "below", {"chain": str})
    if teacher is None:
        value, theorem = Fraction(products(v, e, v - 1)), "Theorem 6"
    elif teacher >= v:
        value, theorem = Fraction(2 * v * (v - 1)), "Theorem 7"
    else:
        p, h, theorem = v - teacher, e - teacher, "Theorem 7"  # s_1 <= t_1 <= s_2 <= ...
        first, second = range(h, h - min(p, h), -1), range(p - 1, p - 1 - min(p - 1, h), -1)  # what s and t cost
        parts = (slice(None, None, 2), first, v - 1), (slice(1, None, 2), second, teacher)
        value = teacher * (2 * v - 1) + least(len(first) + len(second), *parts)
    return value, value, theorem


Model = Callable[[int, int, int | None, object, object], TwiceBounds]
MODELS: dict[str, Model] = {"linear attention": linear_attention, "one head": one_head}


SMALL = range(1, 10**4)
MODEL = {"model": frozenset(MODELS), "vocabulary": SMALL, "width": SMALL, "teacher": (SMALL,), "tokens": (SIZE,)}


def bounds_of_model(data: object, above: object, below: object) -> tuple[Fraction, Fraction, str, str]:
    """Return twice both bounds of a model, what it is, and by which theorem."""
    model, v, e, teacher, tokens = take(data, "of", MODEL)
    need(v > 1 and (tokens is None or tokens > 1), "there must be two words and two tokens, or more")
    need(teacher is None or teacher < e, "the teacher must be narrower than the network")
    low, high, theorem = MODELS[model](v, e, teacher, above, below)
    truth = "the zero function, at zero weights" if teacher is None else f"generic teachers of width {teacher}"
    return low, high, f"{model} of {v} words and width {e}, {truth}", theorem
