"""The Hilbert polynomial of the closure, where Proposition 6 or 7 of `docs/equations.md` proves it.

Nothing is fitted to values of the Hilbert function: finitely many of them prove no polynomial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

from lightning_sym.ask import FellShort, Need, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING

with lazy_imports(__name__):
    import sympy

if TYPE_CHECKING:
    from sympy import Poly


def is_rank_one_layer(network: Architecture) -> bool:
    """Return whether this smallest network is that of Proposition 7: one head of rank one, one output, t > 1.

    Raises:
        BadInput: the network has an option for which coordinates are not proved.
    """
    network.require("the Hilbert polynomial of the closure", LIGHTNING)
    if network.tokens < 2 or network.widths[1:] != (1,) or network.attention_ranks != (1,):
        return False
    return replace(network, tokens=2, causal=False) == Architecture((network.input_width, 1), (1,), 2)


def rank_one_value(width: int, degree: int) -> int:
    """Return the Hilbert function of Proposition 7.

    Example:
        >>> [rank_one_value(3, k) for k in range(4)]
        [1, 18, 126, 550]
    """
    h = comb(width + degree - 1, degree)
    return h * h * (h + 1) // 2


class HilbertPolynomial(NamedTuple):
    """The polynomial: the proposition that proves it, by binomial coefficients as SymPy reads it, and in SymPy."""

    proposition: int
    text: str
    polynomial: Callable[[], Poly]


def _binomial(shift: int, n: int) -> Poly:
    """Return the polynomial `binomial(k + shift, n)`, with rational coefficients."""
    k = sympy.Symbol("k")
    result = sympy.Poly(1, k, domain=sympy.QQ)
    for i in range(n):
        result *= sympy.Poly((k + shift - i) / sympy.Integer(i + 1), k, domain=sympy.QQ)
    return result


def _of_hypersurface(found: Any) -> HilbertPolynomial:
    """Return that of a linear space, or of one equation in it."""
    n = found.linear_span - 1
    space = f"binomial(k + {n}, {n})"
    if not found.counts:
        return HilbertPolynomial(6, space, lambda: _binomial(n, n))
    shift = n - found.degree
    behind = f"k + {shift}" if shift > 0 else f"k - {-shift}" if shift else "k"
    return HilbertPolynomial(6, f"{space} - binomial({behind}, {n})", lambda: _binomial(n, n) - _binomial(shift, n))


def _of_rank_one(found: Any) -> HilbertPolynomial:
    n = found.architecture.input_width - 1
    h = f"binomial(k + {n}, {n})"

    def polynomial() -> Poly:
        one = _binomial(n, n)
        return one * one * (one + 1) * sympy.Rational(1, 2)

    return HilbertPolynomial(7, f"{h}**2*({h} + 1)/2", polynomial)


HILBERT: tuple[TheoremRow[Any, HilbertPolynomial], ...] = (
    TheoremRow(
        "Proposition 6 of docs/equations.md", any_question, paid_by_steps, _of_hypersurface,
        needs=(Need("one equation or none that is proved to generate the ideal", lambda found: found.is_complete),),
    ),
    TheoremRow(
        "Proposition 7 of docs/equations.md", any_question, paid_by_steps, _of_rank_one,
        needs=(
            Need(
                "one layer of rank one with one output, and two tokens or more",
                lambda found: found.system.network is not None and is_rank_one_layer(found.system.network),
            ),
        ),
    ),
)  # fmt: skip
"""What proves the polynomial."""


def known_polynomial(found: Any) -> tuple[HilbertPolynomial | None, tuple[FellShort, ...]]:
    """Return the polynomial, where one is proved, and what does not prove it; `found` is an `Equations`."""
    return ask(found, HILBERT, Work())


def formula(found: Any) -> str | None:
    """Return the polynomial by binomial coefficients, as SymPy reads it; `found` is an `Equations`."""
    known, _ = known_polynomial(found)
    return None if known is None else known.text


def first_degree(found: Any) -> int:
    """Return from which degree on the Hilbert function is the polynomial, where there is one."""
    return max(0, found.degree - found.linear_span + 1) if found.is_complete and found.counts else 0
