r"""Functions of real numbers that networks are made of, of balls: flint's `arb` proves what it encloses.

Each is one operation of a ring, `a.elementary(name)`, so that a ring of free variables can have one for every value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from flint import arb, fmpq

Elementary = Literal["rsqrt", "gelu", "gelu_new", "silu", "relu", "tanh"]


def _gelu(x: arb) -> arb:
    return x * (1 + (x * (arb(1) / 2).sqrt()).erf()) / 2


def _gelu_new(x: arb) -> arb:
    inside = (2 / arb.pi()).sqrt() * (x + arb(fmpq(44715, 10**6)) * x * x * x)
    return x / (1 + (-2 * inside).exp())


def _silu(x: arb) -> arb:
    return x / (1 + (-x).exp())


ELEMENTARY: dict[str, Callable[[arb], arb]] = {
    "rsqrt": lambda x: x.rsqrt(),
    "gelu": _gelu,
    "gelu_new": _gelu_new,
    "silu": _silu,
    "relu": lambda x: x.max(arb(0)),
    "tanh": lambda x: x.tanh(),
}
r"""$1/\sqrt x$; $x\,\Phi(x)$ with the normal distribution $\Phi$;
$\tfrac x2 (1 + \tanh(\sqrt{2/\pi}\,(x + 0.044715\,x^3)))$; $x / (1 + e^{-x})$; $\max(x, 0)$; $\tanh x$."""
