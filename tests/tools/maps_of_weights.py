"""Maps of weights that need not be rational, by SymPy alone, and answers checked by it."""

from __future__ import annotations

from itertools import product
from typing import Any

import sympy

from lightning_sym import Architecture, Recovery

R = sympy.Symbol("r")


def letters(d: int, t: int) -> sympy.Matrix:
    """The inputs `x_k_j`."""
    return sympy.Matrix(d, t, lambda k, j: sympy.Symbol(f"x_{k + 1}_{j + 1}"))


def outputs(attention: list[Any], value: Any, tokens: int, modulus: Any = None) -> sympy.Matrix:
    """`V~ X B_l` for virtual weights (Eq. 10), written out; entries in `r` are taken modulo its polynomial."""
    x = letters(sympy.Matrix(value).shape[1], tokens)
    b = sympy.eye(tokens)
    for a in attention:
        b = b * b.T * (x.T * sympy.Matrix(a) * x) * b
        b = b.applyfunc(lambda entry: _reduced(entry, modulus))
    return (sympy.Matrix(value) * x * b).applyfunc(lambda entry: _reduced(entry, modulus))


def _reduced(entry: Any, modulus: Any) -> Any:
    entry = sympy.expand(entry)
    return entry if modulus is None else sympy.expand(sympy.rem(entry, modulus, R))


def has_function(found: Recovery, phi: sympy.Matrix) -> bool:
    """Whether the matrices of an answer, read as text, have this function: layer by layer, by SymPy."""
    assert found.matrices is not None
    shape = found.architecture
    assert {n: (len(m), len(m[0])) for n, m in found.matrices.items()} == dict(shape.weight_shapes())
    modulus = None
    if found.minimal_polynomial is not None:
        modulus = sympy.parse_expr(found.minimal_polynomial.replace("^", "**"), {"r": R})
        assert sympy.Poly(modulus, R).is_irreducible
        assert found.root_between is not None
        low, high = map(sympy.Rational, found.root_between)
        assert sympy.Poly(modulus, R).count_roots(low, high) == 1
    x = letters(shape.widths[0], shape.tokens)
    for i in range(1, shape.depth + 1):
        query, key, value = (sympy.Matrix(_entries(found.matrices[f"{c}{i}"])) for c in "QKV")
        x = (value * x * x.T * key.T * query * x).applyfunc(lambda entry: _reduced(entry, modulus))
    return bool((x - phi).applyfunc(sympy.expand).is_zero_matrix)


def _entries(rows: list[list[str]]) -> list[list[Any]]:
    return [[sympy.parse_expr(x.replace("^", "**"), {"r": R}) for x in row] for row in rows]


def boxes(d: int, d_out: int) -> list[tuple[list[list[int]], list[list[int]]]]:
    """All `(A, V)` with entries -1, 0, 1."""
    n = d * d
    return [
        ([list(v[d * i : d * i + d]) for i in range(d)], [list(v[n + d * m : n + d * m + d]) for m in range(d_out)])
        for v in product((-1, 0, 1), repeat=n + d * d_out)
    ]


def shape(widths: tuple[int, ...], ranks: tuple[int, ...], tokens: int) -> Architecture:
    """An architecture in one line."""
    return Architecture(widths, ranks, tokens)
