"""Arithmetic modulo p on float64, ranks and null spaces, against plain Python integers."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.rings.arrays import clear_denominators
from lightning_sym.rings.matrix_words import Words
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, matmul_mod
from lightning_sym.rings.rationals import RationalMatrix, map_entries, rational_matrix, to_fractions


def plain_rank(rows: list[list[int]], p: int | None) -> int:
    """Gaussian elimination on plain numbers: over GF(p), or over the rationals for `p = None`."""
    table: list[list[Any]] = [[Fraction(x) if p is None else x % p for x in row] for row in rows]
    found = 0
    for column in range(len(table[0]) if table else 0):
        pivot = next((i for i in range(found, len(table)) if table[i][column]), None)
        if pivot is None:
            continue
        table[found], table[pivot] = table[pivot], table[found]
        head = table[found][column]
        inverse = 1 / head if p is None else pow(head, -1, p)
        for i in range(found + 1, len(table)):
            factor = table[i][column] * inverse
            table[i] = [x - factor * y for x, y in zip(table[i], table[found], strict=True)]
            if p is not None:
                table[i] = [x % p for x in table[i]]
        found += 1
    return found


matrices = st.integers(1, 5).flatmap(
    lambda columns: st.lists(st.lists(st.integers(-3, 3), min_size=columns, max_size=columns), min_size=1, max_size=6)
)


@given(matrices)
def test_ranks_agree_with_plain_elimination(rows: list[list[int]]) -> None:
    assert rank(rows) == plain_rank(rows, None)
    for p in (3, 5, PRIMES[0]):
        assert rank_mod_p(np.array(rows), p) == plain_rank(rows, p)


@given(matrices)
def test_null_space_is_all_of_it(rows: list[list[int]]) -> None:
    basis = null_space(rows)
    assert len(basis) == len(rows[0]) - plain_rank(rows, None)
    for vector in basis:
        assert all(sum(a * x for a, x in zip(row, vector, strict=True)) == 0 for row in rows)
    if basis:
        assert rank(np.array(basis, dtype=object)) == len(basis)


def test_a_rank_modulo_p_can_be_too_small() -> None:
    """The reason why it is never an upper bound."""
    p = PRIMES[0]
    assert rank_mod_p(np.array([[p, 0], [0, 1]]), p) == 1
    assert rank([[p, 0], [0, 1]]) == 2


def test_the_primes_are_primes() -> None:
    assert all(sympy.isprime(p) and p < 2**22 for p in PRIMES)
    assert sympy.prevprime(2**22) == PRIMES[0]


@pytest.mark.parametrize("inner", [1, 2045, 2046, 2047, 5000])
def test_products_are_exact_at_the_worst_residues(inner: int) -> None:
    for p in PRIMES:
        worst = PrimeFieldMatrix.of(np.full((2, inner), p // 2), p)
        found = (worst @ worst.mT).residues()
        assert found.tolist() == [[inner * (p // 2) ** 2 % p] * 2] * 2
        extreme = np.full((1, inner), (p + 1) / 2)  # what rounding may leave behind
        assert int(matmul_mod(extreme, extreme.mT, p)[0, 0]) % p == inner * ((p + 1) // 2) ** 2 % p


@given(st.integers(0, 2**32 - 1))
def test_products_agree_with_python_integers(seed: int) -> None:
    p = PRIMES[seed % len(PRIMES)]
    a, b = np.random.default_rng(seed).integers(0, p, size=(2, 3, 3)).astype(object)
    left, right = (PrimeFieldMatrix.of(m.astype(np.int64), p) for m in (a, b))
    assert (left @ right).residues().tolist() == (a @ b % p).tolist()
    assert (left + right).residues().tolist() == ((a + b) % p).tolist()


def test_only_known_primes_are_taken() -> None:
    with pytest.raises(BadInput, match="must be one of"):
        PrimeFieldMatrix.of(np.eye(2, dtype=np.int64), 4194303)


def test_matrices_have_two_axes() -> None:
    with pytest.raises(ShapeError, match="two axes"):
        rank_mod_p(np.zeros(3, dtype=np.int64), 5)
    with pytest.raises(ShapeError, match="two axes"):
        rank([1, 2])


def test_sympy_uses_flint() -> None:
    """The two are pinned so that they know each other: then dense SymPy matrices over QQ are flint matrices."""
    from sympy.external.gmpy import GROUND_TYPES
    from sympy.polys.matrices import DomainMatrix

    assert GROUND_TYPES == "flint"
    assert type(DomainMatrix([[1, 2]], (1, 2), sympy.QQ).to_dense().rep).__name__ == "DFM"


def test_words_cancel_only_what_cancels() -> None:
    a, c = Words.letter("A"), Words.letter("C")
    assert c @ c.inverse == Words.identity() == c.inverse @ c
    assert c.mT @ c.inverse.mT == Words.identity()
    assert c @ c.inverse.mT != Words.identity()
    assert (a @ c).mT == c.mT @ a.mT
    assert a + c == c + a
    assert a @ c != c @ a
    s = Words.scalar("s")
    assert s @ a == a @ s
    assert s @ s.inverse @ a == a
    assert str(Words.scalar("s", 2) @ a @ c.inverse.mT) == "s^2 A C^-T"
    with pytest.raises(ValueError, match="formal inverse"):
        _ = (a @ c).inverse


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.booleans(), st.booleans()), max_size=8), st.integers(0, 99))
def test_words_mean_what_matrices_do(spelling: list[tuple[str, bool, bool]], seed: int) -> None:
    """Put invertible rational matrices for the letters: the value of a product is the product of the values."""
    generator = np.random.default_rng(seed)
    value = {}
    for name in "ABC":
        lower = np.tril(generator.integers(-2, 3, size=(2, 2)), -1) + np.eye(2, dtype=int)
        value[name] = sympy.Matrix(lower.tolist()) * sympy.Matrix([[1, int(generator.integers(-2, 3))], [0, 1]])
    word, expected = Words.identity(), sympy.eye(2)
    for name, transposed, inverted in spelling:
        letter, matrix = Words.letter(name), value[name]
        if inverted:
            letter, matrix = letter.inverse, matrix.inv()
        if transposed:
            letter, matrix = letter.mT, matrix.T
        word, expected = word @ letter, expected * matrix
    (((_, letters), coefficient),) = word.terms
    found = sympy.eye(2)
    for x in letters:
        matrix = value[x.name].inv() if x.inverted else value[x.name]
        found = found * (matrix.T if x.transposed else matrix)
    assert coefficient == 1
    assert found == expected


def test_lowest_terms_are_not_sought_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's gcd of numbers with a million digits takes minutes, and flint has removed it."""
    wanted = [
        [Fraction(-3, 2), Fraction(0)],
        [Fraction(7), Fraction(2**70, 3**1300)],
    ]  # a denominator that is not short
    ours, plain = RationalMatrix.of(wanted), rational_matrix(wanted)
    monkeypatch.setattr("math.gcd", lambda *numbers: pytest.fail("a common factor was sought"))
    found = [ours.fractions(), to_fractions(plain)]
    monkeypatch.undo()
    for matrix in found:
        assert matrix.tolist() == wanted
        assert [(type(x), hash(x)) for x in matrix.ravel()] == [(Fraction, hash(x)) for row in wanted for x in row]


@given(st.lists(st.lists(st.fractions(max_denominator=12), min_size=3, max_size=3), min_size=1, max_size=4))
def test_entries_one_by_one(rows: list[list[Fraction]]) -> None:
    matrix = np.array(rows, dtype=object)
    doubled = map_entries(lambda x: (x, 2 * x), matrix)  # tuples stay entries
    assert doubled.shape == matrix.shape
    assert doubled[0, 1] == (rows[0][1], 2 * rows[0][1])
    common = lcm(*(x.denominator for row in rows for x in row))
    cleared = clear_denominators(matrix)
    assert cleared.tolist() == [[int(x * common) for x in row] for row in rows]
    assert {type(x) for x in cleared.ravel()} == {int}
    assert RationalMatrix.of(cleared).fractions().tolist() == [[x * common for x in row] for row in rows]
    assert clear_denominators(rational_matrix(rows)).tolist() == cleared.tolist()
