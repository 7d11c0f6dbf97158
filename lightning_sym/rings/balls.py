"""Real numbers enclosed in balls: flint's `arb`, rigorous like integers.

A ball `[m +/- r]` contains the true real number, whatever was rounded on the way; `exp` and division included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Literal

from flint import arb, ctx, fmpq

from lightning_sym.errors import BadInput
from lightning_sym.rings.rationals import RationalNumber, as_fmpq

Ball = arb
"""A real number of flint's, enclosed."""

Elementary = Literal["rsqrt", "gelu", "gelu_new", "silu", "relu", "tanh"]


def _gelu_new(x: arb) -> arb:
    inside = (2 / arb.pi()).sqrt() * (x + arb(fmpq(44715, 10**6)) * x * x * x)
    return x / (1 + (-2 * inside).exp())


ELEMENTARY: dict[str, Callable[[arb], arb]] = {
    "rsqrt": lambda x: x.rsqrt(),
    "gelu": lambda x: x * (1 + (x * (arb(1) / 2).sqrt()).erf()) / 2,
    "gelu_new": _gelu_new,
    "silu": lambda x: x / (1 + (-x).exp()),
    "relu": lambda x: x.max(arb(0)),
    "tanh": lambda x: x.tanh(),
}
r"""$1/\sqrt x$; $x\,\Phi(x)$ with the normal distribution $\Phi$;
$\tfrac x2 (1 + \tanh(\sqrt{2/\pi}\,(x + 0.044715\,x^3)))$; $x / (1 + e^{-x})$; $\max(x, 0)$; $\tanh x$."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Give balls made inside midpoints of this many bits: this decides how small they are, never whether right.

    Raises:
        BadInput: fewer than two bits.
    """
    if bits < 2:
        raise BadInput(f"the precision must be at least two bits, got {bits}")
    with ctx.workprec(bits):
        yield


def as_ball(number: RationalNumber | arb) -> arb:
    """Return a rational number, or a ball as it is."""
    return number if isinstance(number, arb) else arb(number) if type(number) is int else arb(as_fmpq(number))


def ball(middle: Fraction, radius: Fraction = Fraction(0)) -> arb:
    """Return a ball that contains all numbers within the radius of the middle.

    Example:
        >>> around = ball(Fraction(1, 3), Fraction(1, 8))
        >>> around.contains(0.25), around.contains(0)
        (True, False)
    """
    return as_ball(middle) + arb(0, 1) * as_ball(radius)


def middle_and_radius(around: arb) -> tuple[Fraction, Fraction] | None:
    """Return a rational middle and a radius within which all numbers of a ball are; `None` if it is not finite.

    Example:
        >>> middle_and_radius(ball(Fraction(1, 2), Fraction(1, 4)))[0]
        Fraction(1, 2)
    """
    return (exactly(around.mid()), exactly(around.rad())) if around.is_finite() else None


def distance(ball: arb, number: Fraction) -> tuple[Fraction, Fraction | None]:
    """Return between which bounds the distance of the true number from this one lies; `None` where none is known.

    Example:
        >>> distance(ball(Fraction(1, 2)), Fraction(3))
        (Fraction(5, 2), Fraction(5, 2))
        >>> distance(arb(0, float("inf")), Fraction(3))
        (Fraction(0, 1), None)
    """
    difference = ball - as_ball(number)
    if not difference.is_finite():
        return Fraction(0), None
    return exactly(difference.abs_lower()), exactly(difference.abs_upper())


def exactly(midpoint: arb) -> Fraction:
    """Return the number that a ball of radius zero is."""
    mantissa, exponent = midpoint.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
