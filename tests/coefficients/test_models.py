"""Linear attention and one head: the printed values, the programs by another road, and the ideals themselves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import sympy

from lightning_sym import BadInput, linear_attention_coefficient, one_head_coefficient, polynomial_coefficient
from lightning_sym.coefficients.linear_attention import least_singular_values
from lightning_sym.coefficients.newton import maximize

ZERO = {
    (2, 1): ("1/3", 1), (2, 2): ("2/3", 1), (6, 2): ("2", 2), (2, 8): ("2", 3), (4, 8): ("16/3", 1),
    (3, 8): ("23/6", 1), (2, 7): ("2", 4), (3, 7): ("7/2", 2), (2, 6): ("11/6", 1), (2, 5): ("5/3", 2),
    (7, 2): ("2", 1), (3, 10): ("13/3", 1), (3, 9): ("25/6", 2), (3, 11): ("9/2", 5), (3, 12): ("9/2", 4),
    (27, 9): ("81/2", 2), (26, 9): ("39", 1),
}  # fmt: skip
TEACHERS = {
    (2, 3, 1): ("5/2", 2), (2, 5, 1): ("3", 2), (3, 2, 1): ("7/2", 1), (3, 4, 2): ("13/2", 1), (2, 2, 1): ("2", 1),
    (2, 4, 1): ("11/4", 1), (2, 9, 1): ("3", 1), (2, 3, 2): ("3", 1), (3, 3, 1): ("9/2", 2), (3, 5, 2): ("7", 2),
}  # fmt: skip
HEADS = {
    (2, 2, 1): ("2", 2), (2, 3, 1): ("2", 1), (3, 2, 1): ("7/2", 1), (3, 3, 1): ("9/2", 3), (3, 4, 1): ("5", 1),
    (3, 5, 1): ("11/2", 2), (3, 3, 2): ("11/2", 1), (3, 4, 2): ("6", 2), (4, 3, 1): ("13/2", 2), (4, 5, 1): ("9", 5),
    (7, 11, 1): (None, 11), (8, 13, 1): (None, 13), (9, 14, 2): (None, 11), (2, 5, 3): ("2", 1),
}  # fmt: skip


@pytest.mark.parametrize("sizes", ZERO)
def test_the_zero_function(sizes: tuple[int, int]) -> None:
    found, (value, order) = linear_attention_coefficient(*sizes), ZERO[sizes]
    assert (str(found.value), found.multiplicity) == (value, order)


@pytest.mark.parametrize("sizes", TEACHERS)
def test_teachers(sizes: tuple[int, int, int]) -> None:
    found, (value, order) = linear_attention_coefficient(*sizes), TEACHERS[sizes]
    assert (str(found.value), found.multiplicity) == (value, order)


@pytest.mark.parametrize("sizes", HEADS)
def test_one_head_and_any_number_of_tokens(sizes: tuple[int, int, int]) -> None:
    (v, e, teacher), (value, order) = sizes, HEADS[sizes]
    found = [one_head_coefficient(v, tokens, e, teacher) for tokens in (2, 3, 10**9)]
    assert len({(each.value, each.multiplicity) for each in found}) == 1
    assert found[0].multiplicity == order
    assert value is None or str(found[0].value) == value


def smallest_program(v: int, e: int) -> Fraction:
    """The program of pivots for v <= e, solved by the simplex method: no formula."""
    names = (
        [f"x{j}" for j in range(v)] + [f"u{j}" for j in range(v)] + [f"q{i},{j}" for i in range(v) for j in range(v)]
    )
    place = {name: k for k, name in enumerate(names)}
    limits = [v + e - 2 * j - 1 for j in range(v)] + [v] * v + [1] * v * v

    def column(entries: dict[str, int]) -> list[int]:
        found = [0] * len(names)
        for name, x in entries.items():
            found[place[name]] += x
        return found

    columns, worth = [], []
    for i in range(v):
        for j in range(v):
            entries = {f"q{i},{j}": 1, f"u{j}": 1, f"x{j}": 2}
            entries[f"x{i}"] = entries.get(f"x{i}", 0) + 1
            columns.append(column(entries))
            worth.append(1)
    for j in range(v - 1):  # x_j+1 >= x_j
        columns.append(column({f"x{j + 1}": 1, f"x{j}": -1}))
        worth.append(0)
    return maximize(columns, limits, worth).value


@pytest.mark.parametrize("v", [2, 3, 4])
def test_the_program_of_pivots_has_this_value(v: int) -> None:
    for e in range(v, 4 * v + 3):
        assert smallest_program(v, e) == 2 * linear_attention_coefficient(v, e).lower


def test_singular_values_at_a_finer_grid() -> None:
    """The smallest exponent over chains of quarters is that of halves."""

    def over(*terms: Fraction) -> Fraction:
        return max(Fraction(0), 1 - sum(terms, Fraction(0)))

    def exponent(p: int, h: int, v: int, chain: tuple[Fraction, ...]) -> Fraction:
        terms = [(p + h - 2 * i - 1) * t + v * over(t) for i, t in enumerate(chain)]
        return sum([*terms, *(over(s, t) for s in chain for t in chain)], Fraction(0))

    grid = [Fraction(k, 4) for k in range(6)]
    for p, h, v in [(1, 1, 2), (1, 4, 2), (2, 2, 3), (2, 5, 4), (3, 2, 4), (2, 9, 3)]:
        size = min(p, h)
        chains = [(s,) if size == 1 else (s, t) for s in grid for t in (grid if size > 1 else [s]) if t >= s]
        assert least_singular_values(p, h, v) == min(exponent(p, h, v, chain) for chain in chains)


# ---- the ideals, by the program for polynomials, which knows no model


def matrix(letter: str, rows: int, columns: int) -> Any:
    return sympy.Matrix(rows, columns, lambda i, j: sympy.Symbol(f"{letter}{i}_{j}"))


def linear_ideal(v: int, e: int) -> list[Any]:
    E, Q, U = matrix("E", v, e), matrix("Q", e, e), matrix("U", e, v)
    g, h = E * Q * E.T, E * U
    return [sympy.expand(g[b, a] * h[a, k]) for a in range(v) for b in range(v) for k in range(v)]


def rest_of_one_head(v: int, e: int, teacher: int) -> list[Any]:
    p, h = v - teacher, e - teacher
    whole, V, B, S = matrix("F", p, h), matrix("V", h, v - 1), matrix("B", h, teacher), matrix("S", h, h)
    F = whole[1:, :]
    products = [whole * V, *([F * B, whole * S * F.T] if p > 1 else [])]
    return [sympy.expand(x) for each in products for x in each]


@pytest.mark.parametrize("sizes", [(2, 1), (3, 1), (4, 1), (2, 2)])
def test_linear_attention_by_its_ideal(sizes: tuple[int, int]) -> None:
    general, own = polynomial_coefficient(linear_ideal(*sizes)), linear_attention_coefficient(*sizes)
    assert general.value == own.value
    assert general.multiplicity in (None, own.multiplicity)


@pytest.mark.parametrize("sizes", [(2, 2, 1), (2, 3, 1), (3, 2, 1), (3, 3, 2), (3, 3, 1)])
def test_one_head_by_what_is_left_of_its_ideal(sizes: tuple[int, int, int]) -> None:
    v, _, teacher = sizes
    general, own = polynomial_coefficient(rest_of_one_head(*sizes)), one_head_coefficient(v, 2, *sizes[1:])
    assert general.value is not None
    assert general.value + Fraction(teacher * (2 * v - 1), 2) == own.value
    assert general.multiplicity in (None, own.multiplicity)


# ---- what is open, and what is asked


def test_open_teachers_have_bounds_alone() -> None:
    for v in range(2, 9):
        for e in range(2, 14):
            for teacher in range(1, e):
                found = linear_attention_coefficient(v, e, teacher)
                assert found.lower <= found.upper
                is_open = teacher <= v - 2 and e >= 2 * teacher + 2
                assert is_open or found.certified
                assert is_open == (found.multiplicity is None)
    assert not linear_attention_coefficient(4, 8, 1).certified


def test_more_words_or_width_are_not_less_singular() -> None:
    """Fewer words have fewer generators; with zeros in a column the ideal is restricted: neither is less singular."""
    for v in range(2, 8):
        for e in range(1, 20):
            two = linear_attention_coefficient(v, e).lower
            assert two <= linear_attention_coefficient(v, e + 1).lower
            assert two <= linear_attention_coefficient(v + 1, e).lower


WRONG: list[tuple[Any, ...]] = [(1, 2), (2, 0), (2, 3, 3), (2, 3, 0), (2.0, 3), ("2", 3), (True, 3), (2, 10**7)]


@pytest.mark.parametrize("sizes", WRONG)
def test_sizes_that_are_none(sizes: tuple[Any, ...]) -> None:
    with pytest.raises(BadInput, match="must be"):
        linear_attention_coefficient(*sizes)
    with pytest.raises(BadInput, match="must be"):
        one_head_coefficient(sizes[0], 2, *sizes[1:])


def test_one_token_is_not_covered() -> None:
    with pytest.raises(BadInput, match="tokens must be an integer of at least 2, got 1"):
        one_head_coefficient(3, 1, 4)


def test_the_largest_sizes_are_answered() -> None:
    """Chains are priced by closed forms: no sum over all places for each."""
    assert linear_attention_coefficient(10**6, 10**6, 5 * 10**5).certified
    assert one_head_coefficient(700, 2, 700, 100).certified
