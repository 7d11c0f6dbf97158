"""The table of rings of power series, and the function that asks them for Taylor coefficients along `eps X`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from conformance import INPUT, P, numbers_for, over_prime, residues_of, rows_of, run
from plain import Series, plain_network
from rational_series import lifted, lowered

from lightning_sym import Architecture, Normalization
from lightning_sym.rings.derivatives import Dual, Recorded
from lightning_sym.rings.power_series import PowerSeries

ONE_PLUS_Y = Normalization("1 + y", lambda k: Fraction(int(k < 2)), lambda y: 1 + y)
ORDER = 7


@dataclass(frozen=True)
class SeriesRing:
    """A ring of power series: inputs are `eps X`, weights constant."""

    name: str
    make: Callable[[PowerSeries], Any]
    read: Callable[[Any], PowerSeries]


SERIES_RINGS = [
    SeriesRing("power series", lambda s: s, lambda v: v),
    SeriesRing("series over the rationals", lifted, lambda v: lowered(v, P)),
    SeriesRing("recorded power series", Recorded, lambda v: v.value),
    SeriesRing(
        "dual numbers over power series",
        lambda s: Dual(s, PowerSeries(0 * s.entries, s.prime, s.valuation, s.order)),
        lambda v: v.value,
    ),
]


def ask_series(ring: SeriesRing, shape: Architecture, normalization: Normalization | None) -> None:
    """Taylor coefficients along `eps X` are those of series with rational coefficients, multiplied out."""
    shape = replace(shape, normalization=normalization)
    numbers = numbers_for(shape, 5)

    def coefficients(name: str, value: Fraction) -> Series:
        head = (Fraction(0), value) if name == INPUT else (value, Fraction(0))
        return Series((*head, *[Fraction(0)] * (ORDER - 1)))

    plain = {name: [[coefficients(name, v) for v in row] for row in rows] for name, rows in rows_of(numbers).items()}

    def pattern(scores: Any) -> Any:
        if normalization is None:
            return scores
        weights = [s.put_into(normalization.taylor) for s in scores]
        total = weights[0]
        for w in weights[1:]:
            total = total + w
        return [w * total.inverse() for w in weights]

    expected = plain_network(plain[INPUT], shape, plain, pattern)
    found = ring.read(
        run(lambda name: ring.make(PowerSeries.of({int(name == INPUT): residues_of(numbers[name], P)}, ORDER)), shape)
    )
    for degree in range(ORDER + 1):
        wanted = [[entry.coefficients[degree] for entry in row] for row in expected]
        assert found.coefficient(degree).residues().tolist() == over_prime(P).expected(wanted)
