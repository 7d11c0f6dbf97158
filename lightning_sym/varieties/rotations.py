r"""What every lightning network without a mask has: $\phi(X R) = \phi(X) R$ for all orthogonal `R` of the tokens."""

from __future__ import annotations

from typing import Any, NamedTuple

from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.varieties.expansion import Difference, monomial_text


class Unequal(NamedTuple):
    """Where it fails: which rotation, and a coefficient of the derivative along it that is not zero."""

    what: str
    difference: Difference


def not_equivariant(phi: PolynomialMap) -> Unequal | None:
    r"""A coefficient that shows that the map is not that of a network, if the orthogonal group of the tokens does.

    Rotations of tokens 1 and `j`: $D \phi = \phi E$ with $D = \sum_k x_{k1} \partial_{kj} - x_{kj} \partial_{k1}$ and
    `E` the matrix with $E_{1j} = 1$, $E_{j1} = -1$; these generate the connected group. Reflections: the output of
    token `j` is odd in token `j` and even in the others.

    Example:
        >>> from lightning_sym.network.architecture import Architecture
        >>> from lightning_sym.network.polynomial_map import polynomial_map
        >>> from lightning_sym.network.weights import Weights
        >>> w = Weights.of({"Q1": [[1]], "K1": [[2]], "V1": [[3]]})
        >>> not_equivariant(polynomial_map(w.architecture(tokens=3), w)) is None
        True
    """
    d, t = phi.architecture.widths[0], phi.architecture.tokens
    names = phi.ring.names
    for (k, j), entry in _entries(phi):
        for exponents in entry.monoms():
            m = tuple(map(int, exponents))
            odd = [token for token in range(t) if sum(m[token::t]) % 2]
            if odd != [j]:
                c = str(entry.to_dict()[exponents])
                what = f"so the output of token {j + 1} must be odd in token {j + 1} and even in the others"
                return Unequal(what, Difference(k + 1, j + 1, monomial_text(names, m), c, "0"))
    for j in range(1, t):
        for (k, i), entry in _entries(phi):
            total: Any = -phi.entries[k, 0] if i == j else phi.entries[k, j] if i == 0 else entry * 0
            for n in range(1, d + 1):
                one, other = f"x_{n}_1", f"x_{n}_{j + 1}"
                total += phi.ring[one] * entry.derivative(other) - phi.ring[other] * entry.derivative(one)
            if not total.is_zero():
                exponents, value = next(iter(total.to_dict().items()))
                text = monomial_text(names, tuple(map(int, exponents)))
                return Unequal(
                    f"so D phi - phi E must vanish, the derivative along the rotation of tokens 1 and {j + 1}",
                    Difference(k + 1, i + 1, text, str(value), "0"),
                )
    return None


def _entries(phi: PolynomialMap) -> list[tuple[tuple[int, int], Any]]:
    rows, columns = phi.entries.shape
    return [((k, j), phi.entries[k, j]) for k in range(rows) for j in range(columns)]
