"""Into the ring of series over the rationals and out of it, by way of residues."""

from __future__ import annotations

from fractions import Fraction

from lightning_sym.rings.power_series import PowerSeries
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from lightning_sym.rings.rationals import map_entries
from lightning_sym.rings.taylor import TaylorMatrix


def lifted(series: PowerSeries) -> TaylorMatrix:
    """The halves of small integers that a series of degree one at most has as coefficients, from their residues."""
    p = series.prime
    coefficients = {
        k: map_entries(lambda r: Fraction((2 * int(r) + p // 2) % p - p // 2, 2), series.coefficient(k).residues())
        for k in range(min(2, series.order + 1))
    }
    return TaylorMatrix.of(coefficients, series.order)


def lowered(series: TaylorMatrix, p: int) -> PowerSeries:
    """An odd series modulo a prime."""

    def residues(degree: int) -> PrimeFieldMatrix:
        exact = series.coefficient(degree)
        return PrimeFieldMatrix.of(map_entries(lambda v: v.numerator * pow(v.denominator, -1, p) % p, exact), p)

    return PowerSeries.of({k: residues(k) for k in range(1, series.order + 1, 2)}, series.order)
