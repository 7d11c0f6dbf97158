"""Multiplicities by counting: linear attention of two words over the p-adic integers.

    python benchmarks/padic_volumes.py [--width 5] [--prime 2] [--largest 24]

The measure of the weights E, Q, U with p-adic entries for which all g_ba h_ak are divisible by p^k is, up to constants,
p^(-2 lambda k) k^(m-1), with the lambda and m of docs/learning-coefficients-linear-attention.md, Theorem 3, if the
singularity is resolved alike over the reals. It is a sum over three orders: of the larger row of E, of what the other
row has across it, and of its multiple along it. Printed are the measure times p^(2 lambda k) and its differences in
steps of six: the (m-1)th ones tend to a number, by the residue of k, and the m-th ones to zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from measuring import parser

from lightning_sym import linear_attention_coefficient

STEP = 6
"""A multiple of the periods that were seen."""

Integers = npt.NDArray[np.int64]


def _cost(first: Integers, second: Integers, scale: int, a: int, b: int, multiple: int) -> Integers:
    """Return the order of the measure of pairs (q_1, q_2) with two divisibilities, by the minors of their matrix.

    p^(scale + a) q_1 is divisible by p^first, p^scale (p^(a + multiple) q_1 + p^b q_2) by p^second.
    """
    one, two, three = first - scale - a, second - scale - a - multiple, second - scale - b
    every = np.broadcast_arrays(np.zeros_like(one), one, two, three, one + three)
    return np.asarray(np.maximum.reduce(every), dtype=np.int64)


def _given_orders(k: int, p: int, a: int, b: int, multiple: int) -> float:
    """Return the measure of Q and U that fit, where E has these orders."""
    levels = np.arange(k + 2)
    first, second = levels[:, None], levels[None, :]
    divisible = float(p) ** -(_cost(first, second, a, a, b, multiple) + _cost(first, second, b, a, b, multiple))
    exact = divisible[: k + 1, : k + 1].copy()  # of exactly these orders, and k or more at the end
    exact[:k] -= divisible[1 : k + 1, : k + 1]
    exact[:, :k] -= divisible[: k + 1, 1 : k + 1]
    exact[:k, :k] += divisible[1 : k + 1, 1 : k + 1]
    outputs = float(p) ** (-2 * _cost(k - first[: k + 1], k - second[:, : k + 1], 0, a, b, multiple))
    return float((exact * outputs).sum())


def measure(width: int, p: int, k: int) -> float:
    """Return the measure of the weights of two words for which all products are divisible by p^k.

    Example:
        >>> measure(2, 2, 1) * 2**12  # so many of all weights modulo 2
        1990.0
    """
    total = float(p) ** (-2 * width * (k + 1))
    for a in range(k + 1):
        larger = float(p) ** (-a * width) * (1 - float(p) ** -width)
        for b in range(a, k + 2):
            across = float(p) ** (-b * (width - 1)) * (1 - float(p) ** (1 - width) * (b <= k))
            for multiple in range(k + 2):
                along = float(p) ** (-a - multiple) * (1 - (multiple <= k) / p)
                either = 1 + (multiple >= 1 and b > a)  # either row may be the larger one
                total += larger * across * along * either * _given_orders(k, p, a, b, multiple)
    return total


def main() -> None:
    """Print the scaled measures and their differences."""
    asked = parser(__doc__, "largest", largest=24)
    asked.add_argument("--width", type=int, default=5)
    asked.add_argument("--prime", type=int, default=2)
    given = asked.parse_args()
    found = linear_attention_coefficient(2, given.width)
    rate = 2 * float(found.upper)
    print(f"two words, width {given.width}: lambda = {found.value}, m = {found.multiplicity}")
    values = np.array(
        [measure(given.width, given.prime, k) * float(given.prime) ** (rate * k) for k in range(int(given.largest) + 1)]
    )
    for order in range((found.multiplicity or 0) + 1):
        print(f"differences {order}: " + " ".join(f"{x:.5g}" for x in values[-STEP:]))
        values = values[STEP:] - values[:-STEP]


if __name__ == "__main__":
    main()
