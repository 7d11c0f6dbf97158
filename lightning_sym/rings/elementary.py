r"""Functions of real numbers that networks are made of, of balls: flint's `arb` proves what it encloses.

Each is one operation of a ring, `a.elementary(name)`, so that a ring of free variables can have one for every value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Literal

from flint import arb, fmpq

Elementary = Literal["rsqrt", "gelu", "gelu_new", "silu"]


def _gelu(x: arb) -> arb:
    return x * (1 + (x * (arb(1) / 2).sqrt()).erf()) / 2


def _gelu_new(x: arb) -> arb:
    inside = (2 / arb.pi()).sqrt() * (x + arb(fmpq(44715, 10**6)) * x * x * x)
    return x * (1 + inside.tanh()) / 2


def _silu(x: arb) -> arb:
    return x / (1 + (-x).exp())


ELEMENTARY: dict[str, Callable[[arb], arb]] = {
    "rsqrt": lambda x: x.rsqrt(),
    "gelu": _gelu,
    "gelu_new": _gelu_new,
    "silu": _silu,
}
r"""$1/\sqrt x$; $x\,\Phi(x)$ with the normal distribution $\Phi$;
$\tfrac x2 (1 + \tanh(\sqrt{2/\pi}\,(x + 0.044715\,x^3)))$; $x / (1 + e^{-x})$."""


def rotary_angles(theta: Fraction, width: int, positions: Sequence[int]) -> Iterable[Iterable[arb]]:
    r"""Angles `position * theta^(-2k/width)`, for `k` below `width / 2` one row each."""
    base = arb(fmpq(theta.numerator, theta.denominator)).log()
    for k in range(width // 2):
        frequency = (base * fmpq(-2 * k, width)).exp()
        yield [frequency * position for position in positions]
