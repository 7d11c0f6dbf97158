"""The Hilbert polynomial of the closure, where Proposition 6 or 7 of `docs/equations.md` proves it.

Nothing is fitted to values of the Hilbert function: finitely many of them prove no polynomial.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING, Any

from lightning_sym.lazy import lazy_imports
from lightning_sym.network.architecture import Architecture
from lightning_sym.varieties.normal_weights import PROVED

with lazy_imports(__name__):
    import sympy

if TYPE_CHECKING:
    from sympy import Poly


def is_rank_one_layer(network: Architecture) -> bool:
    """Whether this smallest network is the one of Proposition 7: one head of rank one, one output, several tokens.

    Raises:
        BadInput: the network has an option for which coordinates are not proved.
    """
    network.require("the Hilbert polynomial of the closure", PROVED)
    if network.tokens < 2 or network.widths[1:] != (1,) or network.attention_ranks != (1,):
        return False
    return replace(network, tokens=2, causal=False) == Architecture((network.input_width, 1), (1,), 2)


def rank_one_value(width: int, degree: int) -> int:
    """The Hilbert function of Proposition 7.

    Example:
        >>> [rank_one_value(3, k) for k in range(4)]
        [1, 18, 126, 550]
    """
    h = comb(width + degree - 1, degree)
    return h * h * (h + 1) // 2


def formula(found: Any) -> str | None:
    """The polynomial by binomial coefficients, as SymPy reads it; `found` is an `Equations`."""
    n = found.linear_span - 1
    if found.is_complete and not found.counts:
        return f"binomial(k + {n}, {n})"
    if found.is_complete:
        shift = n - found.degree
        behind = f"k + {shift}" if shift > 0 else f"k - {-shift}" if shift else "k"
        return f"binomial(k + {n}, {n}) - binomial({behind}, {n})"
    if is_rank_one_layer(found.system.network):
        n = found.architecture.input_width - 1
        return f"binomial(k + {n}, {n})**2*(binomial(k + {n}, {n}) + 1)/2"
    return None


def first_degree(found: Any) -> int:
    """From which degree on the Hilbert function is the polynomial, where there is one."""
    return max(0, found.degree - found.linear_span + 1) if found.is_complete and found.counts else 0


def polynomial(found: Any) -> Poly | None:
    """The polynomial, in SymPy, with rational coefficients in `k`; `found` is an `Equations`."""
    k = sympy.Symbol("k")

    def binomial(shift: int, n: int) -> Poly:
        result = sympy.Poly(1, k, domain=sympy.QQ)
        for i in range(n):
            result *= sympy.Poly((k + shift - i) / sympy.Integer(i + 1), k, domain=sympy.QQ)
        return result

    n = found.linear_span - 1
    if found.is_complete:
        return binomial(n, n) - (binomial(n - found.degree, n) if found.counts else 0)
    if is_rank_one_layer(found.system.network):
        h = binomial(found.architecture.input_width - 1, found.architecture.input_width - 1)
        return h * h * (h + 1) * sympy.Rational(1, 2)
    return None
