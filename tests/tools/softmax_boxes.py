"""Softmax networks that answer questions, with a forward pass of their own, in mpmath."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st

from lightning_sym import SOFTMAX, NetworkForm, Weights

Ask = Callable[[Any, int], list[list[str]]]


def network(attention: Sequence[Any], value: Any) -> Weights:
    """The network with these virtual weights: keys and all values but the last one are ones on the diagonal."""
    d = len(attention[0])
    one = np.eye(d, dtype=int).tolist()
    matrices: dict[str, Any] = {}
    for i, a in enumerate(attention, start=1):
        matrices |= {f"Q{i}": a, f"K{i}": one, f"V{i}": one}
    return Weights.of(matrices | {f"V{len(attention)}": value}, NetworkForm(SOFTMAX))


@st.composite
def networks(draw: st.DrawFn, denominators: int) -> Weights:
    """Small ones: numbers of at most 3 with small denominators."""
    d, d_out, depth = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    numbers = st.fractions(min_value=-3, max_value=3, max_denominator=denominators)

    def matrix(rows: int) -> Any:
        return draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=rows, max_size=rows))

    return network([matrix(d) for _ in range(depth)], matrix(d_out))


def rounded(number: Any, digits: int) -> str:
    """With so many digits behind the point."""
    scaled = int(mpmath.nint(number * mpmath.mpf(10) ** digits))
    text = str(abs(scaled)).rjust(digits + 1, "0")
    return ("-" if scaled < 0 else "") + text[:-digits] + "." + text[-digits:]


def box(weights: Weights, causal: bool = False) -> Ask:
    """Answers of a network, right to all digits that are asked for."""
    named = weights.named()
    layers = [[named[f"{c}{i}"].tolist() for c in "QKV"] for i in range(1, len(named) // 3 + 1)]

    def real(rows: Any) -> Any:
        return mpmath.matrix([[mpmath.mpf(x.numerator) / x.denominator for x in row] for row in rows])

    def ask(x: Any, digits: int) -> list[list[str]]:
        with mpmath.workdps(digits + 40):
            z, t = real(x), len(x[0])
            for query, key, value in (map(real, layer) for layer in layers):
                scores = (key * z).T * (query * z)
                pattern = mpmath.matrix(t, t)
                for k in range(t):
                    seen = range(k + 1) if causal else range(t)
                    total = sum(mpmath.exp(scores[j, k]) for j in seen)
                    for j in seen:
                        pattern[j, k] = mpmath.exp(scores[j, k]) / total
                z = value * z * pattern
            return [[rounded(number, digits) for number in row] for row in z.tolist()]

    return ask


def lying(ask: Ask, question: int, row: int = 0, token: int = 0, units: int = 7) -> Ask:
    """The same answers, but for one number of one of them, in its last digit."""
    count = 0

    def other(x: Any, digits: int) -> list[list[str]]:
        nonlocal count
        answer, count = ask(x, digits), count + 1
        if count == question + 1:
            wrong = Fraction(answer[row][token]) + Fraction(units, 10**digits)
            scaled = wrong * 10**digits
            text = str(abs(int(scaled))).rjust(digits + 1, "0")
            answer[row][token] = ("-" if scaled < 0 else "") + text[:-digits] + "." + text[-digits:]
        return answer

    return other
