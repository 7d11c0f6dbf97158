"""Limits of the checker on single numbers: primes, denominators, digits, and the memory of products."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import pytest
from bent_certificates import at_the_limit, empty
from small_certificates import RATIONAL, answer, shape
from small_pairs import DIFFERENT, LAYER, same

from proofs_check.checker import verify
from proofs_check.checker.functions import rings


def test_the_prime_is_larger_than_tokens_and_twice_the_terms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def with_prime(p: int, terms: int | None, t: int) -> bool:
        data = empty(shape([1, 1], [1], t, RATIONAL))
        data["lower_bound"].update(prime=p, terms=terms)
        return ": proved: " in answer(data, tmp_path, capsys)

    assert [with_prime(5, None, t) for t in (4, 5)] == [True, False]
    assert [with_prime(11, terms, 2) for terms in (5, 6)] == [True, False]
    assert [with_prime(p, None, 1) for p in (3, 5)] == [True, True]


FRACTIONS = [  # Taylor coefficients, terms, prime: it divides no denominator, and not the numerator of g_0 of a series
    (["1", "1/7"], None, 7, False),
    (["1", "1/7"], 2, 7, False),
    (["1", "1/7"], 2, 11, True),
    (["7", "1"], None, 7, True),
    (["7", "1"], 2, 7, False),
    (["14/3", "1"], 2, 7, False),
    (["0", "1"], None, 7, True),
    (["0", "1"], 2, 7, False),
]


@pytest.mark.parametrize(("g", "terms", "p", "good"), FRACTIONS)
def test_denominators_of_coefficients(
    g: list[str], terms: int | None, p: int, good: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = empty(shape([1, 1], [1], 2, {"name": "g", "taylor": g}))
    data["lower_bound"].update(prime=p, terms=terms)
    line = answer(data, tmp_path, capsys)
    assert (": proved: " if good else "divide no denominator of g, and not g_0") in line


def test_numbers_may_have_so_many_digits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One token, all matrices 1 x 1: the sizes of the factors of each product, in turn, as Python writes them."""
    weights = {"Q1": [["3/5"]], "K1": [[7]], "V1": [["1/9"]]}
    data = DIFFERENT | {"tokens": 1, "first": weights, "second": {**weights, "V1": [[1]]}, "input": [[2]]}

    def bits(x: Fraction) -> tuple[int, int]:
        return x.numerator.bit_length(), x.denominator.bit_length() * (x.denominator > 1)

    factors, most = [Fraction(2), Fraction(2), Fraction(7), Fraction(3, 5), Fraction(2), Fraction(1, 9)], 0
    for product, factor in zip(itertools.accumulate(factors, lambda a, b: a * b), factors[1:], strict=False):
        (n, d), (m, e) = bits(product), bits(factor)
        most = max(most, n + m + 1 + 2 * (d + e))
    at_the_limit("BITS", most, data, "the numbers must have fewer digits", monkeypatch, tmp_path, capsys)


def test_long_products_of_long_vectors_count_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten products of halves and thirds: numerators of 1 + 1 bits, denominators of 2 + 2, ten times, twice."""
    verify.BUDGET.set(verify.Budget())
    halves, thirds = [[Fraction(1, 2)] * 10], [[Fraction(1, 3)] * 10]
    assert rings.bits_of_sums(10, halves, thirds) == 1 + 1 + 4 + 2 * 10 * (2 + 2)
    monkeypatch.setattr(rings, "BITS", 86)
    assert rings.RATIONALS.times(halves, verify.transposed(thirds)) == [[Fraction(10, 6)]]
    monkeypatch.setattr(rings, "BITS", 85)
    with pytest.raises(verify.Rejected, match="fewer digits"):
        rings.RATIONALS.times(halves, verify.transposed(thirds))


def test_large_products_must_fit_into_memory() -> None:
    """A table of 512 x 2048 numbers: of 7 to a byte, with what Python adds, the lists of the factors and their turn."""
    budget = verify.Budget()
    verify.BUDGET.set(budget)
    column, row = [[1 << 4084], *[[1]] * 511], [[1] * 2**11]
    lists = 128 * (512 + 1 + 1 + 2**11) + 16 * (512 + 2**11)
    budget.room = lists + 2**20 * (120 + (4085 + 1 + 1) // 7)
    assert len(rings.RATIONALS.times(column, row)) == 512
    assert budget.room == 0
    budget.room = lists + 2**20 * (120 + (4085 + 1 + 1) // 7) - 1
    with pytest.raises(verify.Rejected, match="numbers must fit into 536,870,912 bytes of memory"):
        rings.RATIONALS.times(column, row)


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_may_be_so_long(sign: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def with_entry(x: object) -> str:
        return answer(DIFFERENT | {"first": {**LAYER, "Q1": [[x, 2]]}}, tmp_path, capsys)

    assert "over the rationals" in with_entry(sign * (10**20 - 1))
    assert "a rational number must be an integer from -9" in with_entry(sign * 10**20)
    assert "over the rationals" in with_entry(f"{sign * 10**20}/7")
    data = DIFFERENT | {"input": [[sign * (10**20 - 1), 2], [3, -1]]}
    assert "over the rationals" in answer(data, tmp_path, capsys)
    data = DIFFERENT | {"input": [[sign * 10**20, 2], [3, -1]]}
    assert "the input must be an integer" in answer(data, tmp_path, capsys)


def test_factors_may_have_so_many_digits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2^81 (1/8)^27 = 1: one and three digits more than 1 has, counted with their exponents."""
    first = {f"{letter}{i}": [[1]] for i in range(1, 6) for letter in "QKV"}
    step = {"step": "rescaling", "factors": [2, "1/8", 1, 1, 1], "value_factor": 1}
    data = same(first, {**first, "Q1": [[2]], "Q2": [["1/8"]]}, step)
    at_the_limit("BITS", 81 + 3 * 27, data, "multiply to 1, and be short", monkeypatch, tmp_path, capsys)
