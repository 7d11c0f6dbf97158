r"""A slice of Figure 1's hypersurface that one can draw: three numbers $u, w, z$ for a pair of quadratic forms.

For $d = 2$, $d' = 1$, $a, t \ge 2$ a function is a pair $f = a_1 v$, $g = a_2 v$ of binary quadratic forms (Proposition
A.5), and the closure of $\mathcal M$ is where their resultant vanishes. In the slice
$$f = (1 + z) r^2 + (1 - z) s^2, \qquad g = w (r^2 - s^2) + 2 u r s$$
the resultant is $4 (u^2 + w^2 - z^2 u^2)$, a quartic. It is singular exactly along the line $u = w = 0$, where $g = 0$.
A common zero $(p : q)$ of $f$ and $g$ is a straight line of the surface, at height $z = (q^2 + p^2) / (q^2 - p^2)$; a
real one has $|z| \ge 1$, and the points $u = w = 0$, $|z| < 1$ lie in the closure only: there $v$ pairs up with its
complex conjugate. At $z = \pm 1$ the two factors of $f$ are the same, the boundary of $\mathcal M$.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from lightning_sym.errors import ShapeError
from lightning_sym.network.weights import Weights

Form = tuple[Fraction, Fraction, Fraction]
"""Coefficients of `r^2`, `r s`, `s^2`."""


def forms(u: Fraction, w: Fraction, z: Fraction) -> tuple[Form, Form]:
    """Return the pair of quadratic forms at a point of the slice."""
    return (1 + z, Fraction(0), 1 - z), (w, 2 * u, -w)


def resultant(f: Form, g: Form) -> Fraction:
    """Return Sylvester's resultant of two binary quadratic forms.

    Example:
        >>> u, w, z = Fraction(3), Fraction(2), Fraction(5)
        >>> resultant(*forms(u, w, z)) == 4 * (u**2 + w**2 - z**2 * u**2)
        True
    """
    p01, p02, p12 = (f[i] * g[j] - f[j] * g[i] for i, j in ((0, 1), (0, 2), (1, 2)))
    return p02**2 - p01 * p12


@dataclass(frozen=True)
class SlicePoint:
    r"""A point of $\mathcal M$ in the slice, by the common zero of its two forms and its distance from the line.

    Attributes:
        zero: the common zero $(p : q)$, $p^2 \ne q^2$.
        radius: $\rho$, with $u^2 + w^2 = \rho^2$; of either sign, 0 on the singular line.

    Raises:
        ShapeError: $p^2 = q^2$, which is at infinity.

    Example:
        >>> point = SlicePoint((Fraction(1), Fraction(2)), Fraction(5))
        >>> [str(number) for number in point.coordinates]
        ['3', '4', '5/3']
        >>> resultant(*forms(*point.coordinates))
        Fraction(0, 1)
    """

    zero: tuple[Fraction, Fraction]
    radius: Fraction

    def __post_init__(self) -> None:
        s, t = self.zero
        if s**2 == t**2:
            raise ShapeError(f"the common zero (p : q) must have p^2 != q^2, got ({s} : {t})")

    @property
    def coordinates(self) -> tuple[Fraction, Fraction, Fraction]:
        """`u`, `w`, `z`."""
        s, t = self.zero
        length, height = t**2 + s**2, t**2 - s**2
        return self.radius * height / length, self.radius * 2 * s * t / length, length / height

    @property
    def weights(self) -> Weights:
        r"""Weights with this function: $Q = A$, $K = 1$, and $V = (q, -p)$, the common factor $q r - p s$."""
        s, t = self.zero
        first, second = Fraction(2) / (t**2 - s**2), 2 * self.radius / (t**2 + s**2)
        attention = [[first * t, second * s], [first * s, second * t]]
        return Weights.of({"Q1": attention, "K1": [[1, 0], [0, 1]], "V1": [[t, -s]]})
