"""The independent checker: limits just met and just missed, and every clause by itself."""

import copy
import itertools
import json
import math
import random
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from small_certificates import (
    DIFFERENT,
    GOOD,
    GROUP,
    LAYER,
    LIGHTNING,
    PIECES,
    RATIONAL,
    SAME,
    SERIES,
    SOFTMAX,
    SWAPPED,
    TWO,
    answer,
    pieces_of,
    point,
    same,
    shape,
    with_bound,
)

from proofs_check.checker import verify

# ---- limits: what is just allowed is accepted, one less is refused


def test_the_limits_are_those_of_the_grammar():
    assert (verify.BYTES, verify.KEPT, verify.HEADS, verify.LAYERS) == (16 * 2**20, 2**24, 4096, 64)
    assert (verify.TERMS, verify.LONG, verify.SLOT) == (512, 10**20, 2**64 - 1)
    assert (verify.SIZE.start, verify.SIZE.stop) == (1, 1_000_001)
    assert (verify.COUNT.start, verify.COUNT.stop) == (0, 10**20)
    assert (verify.STEPS, verify.BITS) == (2_000_000_000, 262_144)
    assert (verify.ROOM, verify.BRACKETS) == (2**29, 2**21)


def empty(network):
    """Nothing from below, and all parameters from above."""
    zeros = [[[0] * len(row) for row in matrix] for matrix in point(network, random.Random(0))[0]]
    size = sum(len(row) for matrix in zeros for row in matrix)
    bound = {"kind": "orbit", "bound": size, "prime": 2**22 - 3, "weights": zeros, "families": []}
    lower = {"prime": 2**22 - 3, "terms": None, "weights": zeros, "rows": [], "columns": []}
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "dimension", "network": network}
    return {**head, "lower": 0, "upper": size, "lower_bound": lower, "upper_bounds": [bound]}


def at_the_limit(name, limit, data, reason, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(verify, name, limit)
    assert ": proved: " in answer(data, tmp_path, capsys)
    monkeypatch.setattr(verify, name, limit - 1)
    assert reason in answer(data, tmp_path, capsys)


KEPT = [  # networks of which another size is the largest one, 7; t (2 s + t) numbers are kept for r = 0
    shape([7, 1], [1], 2),
    shape([1, 7], [1], 2),
    shape([2, 1], [7], 2),
    shape([2, 1], [1], 2, b=[7]),
    shape([2, 1], [1], 2, n=7),
    shape([2, 1], [1], 2, m=7),
    shape([2, 1], [1], 7),
]


@pytest.mark.parametrize("network", KEPT)
def test_so_many_numbers_are_kept(network, monkeypatch, tmp_path, capsys):
    t = network["tokens"]
    at_the_limit("KEPT", t * (14 + t), empty(network), "so that all fits into memory", monkeypatch, tmp_path, capsys)


def test_nothing_but_the_sizes_counts(monkeypatch, tmp_path, capsys):
    at_the_limit("KEPT", 3, empty(shape([1, 1], [1], 1)), "so that all fits", monkeypatch, tmp_path, capsys)


def test_so_many_numbers_are_kept_for_rows_and_terms(monkeypatch, tmp_path, capsys):
    kept = (2 * (2 * 3 + 2) + 11) * 12 * 4  # two tokens, widths of at most 3, 11 rows, 4 terms
    at_the_limit("KEPT", kept, SERIES, "so that all fits into memory", monkeypatch, tmp_path, capsys)


WIDE = [(1, 500_000, True), (1, 530_000, False), (1000, 1000, True), (1025, 1025, False), (1, 1100_000 // 2, False)]


@pytest.mark.parametrize(("m", "t", "fits"), WIDE)
def test_sums_of_products_fit_into_a_slot(m, t, fits, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(verify, "KEPT", 2**60)
    line = answer(empty(shape([1, 1], [1], t, m=m)), tmp_path, capsys)
    assert (": proved: " if fits else "so that all fits into memory") in line


@pytest.mark.parametrize(("terms", "fits"), [(4, True), (5, False)])
def test_sums_of_products_of_series_fit_into_a_slot(terms, fits, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(verify, "KEPT", 2**60)
    data = empty(shape([1, 1], [1], 500, RATIONAL, m=500))
    data["lower_bound"]["terms"] = terms
    line = answer(data, tmp_path, capsys)
    assert (": proved: " if fits else "so that all fits into memory") in line


def test_the_prime_is_larger_than_tokens_and_twice_the_terms(tmp_path, capsys):
    def with_prime(p, terms, t):
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
def test_denominators_of_coefficients(g, terms, p, good, tmp_path, capsys):
    data = empty(shape([1, 1], [1], 2, {"name": "g", "taylor": g}))
    data["lower_bound"].update(prime=p, terms=terms)
    line = answer(data, tmp_path, capsys)
    assert (": proved: " if good else "divide no denominator of g, and not g_0") in line


@pytest.mark.parametrize("network", [shape([1, 1, 1], [1, 1], 1, h=3), shape([1, 1, 1, 1], [1, 1, 1], 1, h=2)])
def test_so_many_heads(network, monkeypatch, tmp_path, capsys):
    at_the_limit("HEADS", 6, empty(network), "there must be from 1 to 5 heads", monkeypatch, tmp_path, capsys)


def test_a_network_has_a_layer(tmp_path, capsys):
    data = empty(shape([1, 1], [1], 1))
    data["network"].update(widths=[1], attention_ranks=[])
    assert "there must be from 1 to 4,096 heads" in answer(data, tmp_path, capsys)
    data["network"].update(widths=[])
    assert "there must be from 1 to 4,096 heads" in answer(data, tmp_path, capsys)


def test_so_many_tokens(tmp_path, capsys):
    data = empty(shape([1, 1], [1], 1))
    data["network"]["tokens"] = 10**6
    assert "so that all fits into memory" in answer(data, tmp_path, capsys)
    data["network"]["tokens"] += 1
    assert "tokens must be an integer from 1 to 1000000" in answer(data, tmp_path, capsys)


def test_so_many_coefficients(tmp_path, capsys):
    data = empty(shape([1, 1], [1], 1, {"name": "long", "taylor": ["1"] * 1000}))
    assert ": proved: " in answer(data, tmp_path, capsys)
    data["network"]["normalization"]["taylor"].append("1")
    assert "taylor must not be" in answer(data, tmp_path, capsys)


def test_so_many_bytes(monkeypatch, tmp_path, capsys):
    size = len(json.dumps(LIGHTNING).encode())
    at_the_limit("BYTES", size, LIGHTNING, "of at most 16 MiB", monkeypatch, tmp_path, capsys)


@pytest.mark.parametrize("data", [LIGHTNING, SAME[3], DIFFERENT], ids=["dimension", "same", "different"])
def test_so_many_steps(data, monkeypatch, tmp_path, capsys):
    answer(data, tmp_path, capsys)
    used = verify.STEPS - verify.left[0]
    assert used > 0
    at_the_limit("STEPS", used, data, "checking must take at most", monkeypatch, tmp_path, capsys)


def test_so_many_layers(monkeypatch, tmp_path, capsys):
    same_twice = same(TWO, SWAPPED, {"step": "rescaling", "factors": [1, 1], "value_factor": 1})
    at_the_limit("LAYERS", 2, same_twice, "must fit, in at most 1 layers", monkeypatch, tmp_path, capsys)


def test_numbers_may_have_so_many_digits(monkeypatch, tmp_path, capsys):
    """One token, all matrices 1 x 1: the sizes of the factors of each product, in turn, as Python writes them."""
    weights = {"Q1": [["3/5"]], "K1": [[7]], "V1": [["1/9"]]}
    data = DIFFERENT | {"tokens": 1, "first": weights, "second": {**weights, "V1": [[1]]}, "input": [[2]]}

    def bits(x):
        return x.numerator.bit_length(), x.denominator.bit_length() * (x.denominator > 1)

    factors, most = [Fraction(1, 9), 2, 2, 7, Fraction(3, 5), 2], 0
    for product, factor in zip(itertools.accumulate(factors, lambda a, b: a * b), factors[1:], strict=False):
        (n, d), (m, e) = bits(Fraction(product)), bits(Fraction(factor))
        most = max(most, n + m + 1 + 2 * (d + e))
    at_the_limit("BITS", most, data, "the numbers must have fewer digits", monkeypatch, tmp_path, capsys)


def test_long_products_of_long_vectors_count_more(monkeypatch):
    """Ten products of halves and thirds: numerators of 1 + 1 bits, denominators of 2 + 2, ten times, twice."""
    monkeypatch.setattr(verify, "left", [10**12])
    halves, thirds = [[Fraction(1, 2)] * 10], [[Fraction(1, 3)] * 10]
    assert verify._sums(10, verify._bits(halves), verify._bits(thirds)) == 1 + 1 + 4 + 2 * 10 * (2 + 2)
    monkeypatch.setattr(verify, "BITS", 86)
    assert verify._times(halves, verify.T(thirds)) == [[Fraction(10, 6)]]
    monkeypatch.setattr(verify, "BITS", 85)
    with pytest.raises(verify.Rejected, match="fewer digits"):
        verify._times(halves, verify.T(thirds))


def test_large_products_must_fit_into_memory(monkeypatch):
    """A table of 512 x 2048 numbers: of 7 to a byte, with what Python adds, the lists of the factors and their turn."""
    monkeypatch.setattr(verify, "left", [10**12])
    column, row = [[1 << 4084], *[[1]] * 511], [[1] * 2**11]
    lists = 128 * (512 + 1 + 1 + 2**11) + 16 * (512 + 2**11)
    monkeypatch.setattr(verify, "room", [lists + 2**20 * (120 + (4085 + 1 + 1) // 7)])
    assert len(verify._times(column, row)) == 512
    assert verify.room == [0]
    verify.room[0] = lists + 2**20 * (120 + (4085 + 1 + 1) // 7) - 1
    with pytest.raises(verify.Rejected, match="numbers must fit into 536,870,912 bytes of memory"):
        verify._times(column, row)


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_may_be_so_long(sign, tmp_path, capsys):
    def with_entry(x):
        return answer(DIFFERENT | {"first": {**LAYER, "Q1": [[x, 2]]}}, tmp_path, capsys)

    assert "over the rationals" in with_entry(sign * (10**20 - 1))
    assert "a rational number must be an integer from -9" in with_entry(sign * 10**20)
    assert "over the rationals" in with_entry(f"{sign * 10**20}/7")
    data = DIFFERENT | {"input": [[sign * (10**20 - 1), 2], [3, -1]]}
    assert "over the rationals" in answer(data, tmp_path, capsys)
    data = DIFFERENT | {"input": [[sign * 10**20, 2], [3, -1]]}
    assert "the input must be an integer" in answer(data, tmp_path, capsys)


# ---- clauses, one at a time


SPAN_LIMITS = [  # network, its span or None
    (shape([1] * 12, [1] * 11, 1, causal=True), 1),  # one input row, however deep
    (shape([1] * 12, [1] * 11, 1, skip=True, causal=True), (3**11 + 1) // 2 - 1),
    (shape([1] * 12, [1] * 11, 2), 1),
    (shape([1, 1, 1], [1, 1], 2, causal=True), None),
    (shape([1, 1, 1], [1, 1], 2, skip=True, causal=True), None),
    (shape([1, 1], [1], 2, skip=True, causal=True), 1),
    (shape([4] * 10, [1] * 9, 1), 4 * math.comb(4 + 3**9 - 1, 3)),  # n 3^l = 78,732
    (shape([2] * 11, [1] * 10, 1), None),  # 118,098
    (shape([2, 2, 2], [1, 1], 2), None),
    (shape([2, 2], [1], 2, SOFTMAX), None),
    (shape([2, 2], [1], 1, SOFTMAX), None),
]


@pytest.mark.parametrize(("network", "u"), SPAN_LIMITS)
def test_spans_at_their_limits(network, u, tmp_path, capsys):
    for bound in {1, 2, 4, 5, 10, 12, 40, (3**11 + 1) // 2, 2 * (3**10 + 1), u or 3} - {u}:
        line = answer(with_bound(network, {"kind": "span", "bound": bound}), tmp_path, capsys)
        assert f"the bound must be {u or 'of another kind'}, it is {bound}" in line
    if u is not None:
        assert f"dim M <= {u}," in answer(with_bound(network, {"kind": "span", "bound": u}), tmp_path, capsys)


def test_no_span_of_too_many_inputs(tmp_path, capsys):
    """At one token not even for one layer: n 3^l is just more than 10^5."""
    n = 33334
    data = empty(shape([n, 1], [1], 1, b=[1]))
    for u in (n * n * (n + 1) // 2, math.comb(n + 2, 3)):
        data |= {"upper": u, "upper_bounds": [{"kind": "span", "bound": u}]}
        assert "the bound must be of another kind" in answer(data, tmp_path, capsys)


NOT_VIRTUAL = [
    shape([3, 3], [1], 2, h=2),
    shape([3, 3], [1], 2, SOFTMAX, h=2),
    shape([3, 3], [1], 2, skip=True),
    shape([3, 3], [1], 2, SOFTMAX, skip=True),
    shape([3, 3], [1], 2, b=[3]),
    shape([3, 3], [1], 2, SOFTMAX, b=[3]),
    shape([3, 3], [1], 2, n=3),
    shape([3, 3], [1], 2, SOFTMAX, m=3),
    shape([3, 3], [1], 2, causal=True),
    shape([3, 3], [1], 1, causal=True),
]


@pytest.mark.parametrize("network", NOT_VIRTUAL)
def test_networks_without_virtual_weights(network, tmp_path, capsys):
    for pieces in ([5, 9], [5, 9, -1], [6, 9, -1], [6, 9]):
        line = answer(with_bound(network, pieces_of("virtual weights", *pieces)), tmp_path, capsys)
        assert "the pieces of 'virtual weights' must be []" in line
    bare = network | {"heads": 1, "skip": False, "value_ranks": None, "causal": False, "embed": None, "unembed": None}
    right = [5, 9] + [-1] * (network["normalization"] is None)
    assert ": proved: " in answer(with_bound(bare, pieces_of("virtual weights", *right)), tmp_path, capsys)


@pytest.mark.parametrize(("network", "variety", "u"), [each for each in PIECES if each[2]])
def test_a_variety_has_its_name(network, variety, u, tmp_path, capsys):
    for other in {"virtual weights", "linear maps", "head forms", "span", ""} - {variety}:
        line = answer(with_bound(network, pieces_of(other, u)), tmp_path, capsys)
        assert f"the pieces of '{other}' must be" in line


@pytest.mark.parametrize("variety", ["", "virtual weights", "linear maps", "head forms"])
def test_no_pieces_prove_nothing(variety, tmp_path, capsys):
    """Not even that the dimension is 0, where the network has no such variety."""
    line = answer(with_bound(shape([3, 3], [1], 2, skip=True), pieces_of(variety)), tmp_path, capsys)
    assert f"the pieces of '{variety}' must be []" in line


def test_a_piece_is_not_split(tmp_path, capsys):
    network = shape([3, 2, 3], [1, 1], 1, SOFTMAX)
    for pieces in ([8, 0], [4, 4], []):
        line = answer(with_bound(network, pieces_of("linear maps", *pieces)), tmp_path, capsys)
        assert "the pieces of 'linear maps' must be [8]" in line


Q, K, V = [[1, 2], [0, 1]], [[3, 1], [1, 1]], [[1, 0], [2, 1]]


FULL = {"Q1": Q, "K1": K, "V1": V}


UNFIT = [
    {**FULL, "Q1": [[1, 2]]},
    {**FULL, "K1": [[1, 2]]},
    {**FULL, "Q1": [[1], [2]]},
    {**FULL, "K1": [[1], [2]]},
    {**FULL, "V1": [[1], [2]]},
    {**FULL, "Q1": [[1], [1]], "K1": [[1], [1]]},
    {**FULL, "Q2": Q, "K2": K, "V2": [[1, 0, 0], [2, 1, 0]]},
    {**FULL, "Q2": [[1]], "K2": [[1]], "V2": [[1], [1]]},
    {**FULL, "Q2": [[1, 1, 1]], "K2": [[1, 1, 1]], "V2": [[1, 1, 1], [1, 1, 1]]},
]


@pytest.mark.parametrize("unfit", UNFIT)
def test_weights_must_fit(unfit, tmp_path, capsys):
    for data in (same(unfit, FULL, GROUP), same(FULL, unfit, GROUP), same(FULL, FULL, GROUP | {"to": unfit}, GROUP)):
        assert "the shapes of weights must fit" in answer(data, tmp_path, capsys)


def test_factors_of_the_second_layer(tmp_path, capsys):
    twice = {**TWO, "Q2": [[2, 2]], "V2": [["1/2", "1/2"]]}
    step = {"step": "rescaling", "factors": [1, 2], "value_factor": "1/2"}
    assert "same function" in answer(same(TWO, twice, step), tmp_path, capsys)
    for change, reason in (
        ({"factors": [1, 0]}, "factors must not be zero"),
        ({"value_factor": 0}, "factors must not be zero"),
        ({"factors": [1, 2, 1]}, "one for each layer of both networks"),
        ({"factors": [2]}, "one for each layer of both networks"),
        ({"value_factor": "1/512"}, "the factors must multiply to 1"),
    ):
        assert reason in answer(same(TWO, twice, step | change), tmp_path, capsys)
    deeper = {**TWO, "Q3": [[1]], "K3": [[1]], "V3": [[1]]}
    for pair in ((TWO, deeper), (deeper, TWO)):
        assert "one for each layer of both networks" in answer(same(*pair, step), tmp_path, capsys)


def test_factors_may_have_so_many_digits(monkeypatch, tmp_path, capsys):
    """2^81 (1/8)^27 = 1: one and three digits more than 1 has, counted with their exponents."""
    first = {f"{letter}{i}": [[1]] for i in range(1, 6) for letter in "QKV"}
    step = {"step": "rescaling", "factors": [2, "1/8", 1, 1, 1], "value_factor": 1}
    data = same(first, {**first, "Q1": [[2]], "Q2": [["1/8"]]}, step)
    at_the_limit("BITS", 81 + 3 * 27, data, "multiply to 1, and be short", monkeypatch, tmp_path, capsys)


def test_zero_by_skew_forms(tmp_path, capsys):
    """A form that is skew is zero at one token, and behind a layer of rank one."""
    skew, one, zero = [[0, 1], [-1, 0]], [[1, 0], [0, 1]], {"Q1": [[1, 0]], "K1": [[1, 0]], "V1": [[0, 0], [0, 0]]}
    alone = {"Q1": skew, "K1": one, "V1": one}
    step = {"step": "zero"}
    assert "same function of 1 tokens" in answer(same(alone, zero, step, tokens=1), tmp_path, capsys)
    assert "must be seen to be zero" in answer(same(alone, zero, step), tmp_path, capsys)
    behind = {"Q1": [[1, 0]], "K1": [[1, 3]], "V1": one, "Q2": skew, "K2": one, "V2": one}
    assert "same function of 2 tokens" in answer(same(behind, zero, step), tmp_path, capsys)
    full = behind | {"Q1": [[1, 0], [0, 1]], "K1": one}
    assert "must be seen to be zero" in answer(same(full, zero, step), tmp_path, capsys)
    before = {"Q1": skew, "K1": one, "V1": one, "Q2": [[1, 0]], "K2": [[1, 3]], "V2": one}
    assert "must be seen to be zero" in answer(same(before, zero, step), tmp_path, capsys)
    symmetric = {"Q1": one, "K1": one, "V1": one}
    assert "must be seen to be zero" in answer(same(symmetric, zero, step, tokens=1), tmp_path, capsys)
    assert "must be seen to be zero" in answer(same(zero, alone, step), tmp_path, capsys)


def test_files_that_are_none(tmp_path, capsys):
    assert verify.main([str(tmp_path), str(tmp_path / "none")]) == 1
    assert capsys.readouterr().out.count("rejected: there must be a file of this name") == 2


def test_exit_codes(tmp_path):
    """The checker runs alone, and proves only if every file does."""
    source = Path(verify.__file__).read_text(encoding="utf-8")
    assert source.count("return 0") == 1
    assert "lightning" not in " ".join(line for line in source.splitlines() if line.startswith(("import", "from")))
    shutil.copy(verify.__file__, tmp_path / "verify.py")
    alone = copy.deepcopy(GOOD)
    alone["upper_bounds"][0].update(kind="orbit", families=["query-key", "stream"], bound=15)
    (tmp_path / "good.json").write_text(json.dumps(alone | {"upper": 15}), encoding="utf-8")
    (tmp_path / "directions.json").write_text(json.dumps(GOOD), encoding="utf-8")
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")

    def run(*files):
        command = [sys.executable, "-I", str(tmp_path / "verify.py"), *files]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("good.json", "good.json").returncode == 0
    both = run("good.json", "bad.json")
    assert (both.returncode, both.stdout.count("\n"), both.stderr) == (1, 2, "")
    assert [run().returncode, run("--help").returncode] == [2, 2]
    assert "for example" in run("--help").stdout
    assert "directions need the folder directions beside verify.py" in run("directions.json").stdout
    shutil.copytree(Path(verify.__file__).with_name("directions"), tmp_path / "directions")
    assert run("directions.json").returncode == 0
