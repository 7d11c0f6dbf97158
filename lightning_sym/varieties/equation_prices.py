"""What equations of one weight take: the steps of `by_degree` over sizes, at the rates of echelon forms."""

from __future__ import annotations

from functools import cache

from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.varieties.weight_space import SPARE_POINTS, multiplied

ECHELONS = "echelons"
"""The ring of matrices modulo a prime that are reduced to echelon form."""


def values_over_sizes(count: int, degree: int, price: Price) -> Sizes:
    """The size of the values of so many monomials of a degree at as many points and some more, entered in the price."""
    return multiplied([Sizes((count + SPARE_POINTS, count), price)] * degree)


@cache
def price_of_weight(count: int, degree: int, *, has_multiples: bool) -> Price:
    """Return the price of a weight with so many monomials: their values, and what is independent among them.

    Args:
        count: the monomials.
        degree: theirs.
        has_multiples: whether multiples of equations of lower degree are brought to echelon form too.

    Example:
        >>> price_of_weight(10, 2, has_multiples=False).done["eliminated"]
        2200
    """
    price = Price(ECHELONS)
    values = values_over_sizes(count, degree, price)
    for _ in range(1 + has_multiples):
        values.rank()
    return price


def price_modulo_a_prime(count: int, known: int, degree: int) -> Price:
    """Return the price of new equations modulo a prime, in a weight with so many monomials and known equations.

    Example:
        >>> price_modulo_a_prime(10, 2, 2).done["eliminated"]
        1320
    """
    price = Price(ECHELONS)
    Sizes((known, count), price).rank()
    values_over_sizes(count - known, degree, price).rank()
    return price
