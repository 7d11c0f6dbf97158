"""Weights in JSON: exact numbers, counted before they are parsed, and one line for what is wrong."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path

import pytest
from weight_bytes import ONE, refused

from lightning_sym import Weights, load_weights
from lightning_sym.errors import FileFormatError
from lightning_sym.network.readers import exact_json
from lightning_sym.network.readers.json_file import read_json


def value_of(number: str) -> object:
    return read_json(f'{{"Q1": [[{number}]]}}'.encode()).matrices["Q1"][0][0]


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("1.25", Fraction(5, 4)),
        ("0.1", Fraction(1, 10)),
        ("-2.50", Fraction(-5, 2)),
        ("1e-3", Fraction(1, 1000)),
        ("12E2", 1200),
        ("1.5e+1", 15),
        ("0e0", 0),
        ('"1.25"', Fraction(5, 4)),
        ('"1e-3"', Fraction(1, 1000)),
        ('"-2/3"', Fraction(-2, 3)),
        ("1e3999", 10**3999),
        ("1e-3999", Fraction(1, 10**3999)),
        ("9" * 4000, 10**4000 - 1),
    ],
)
def test_numbers_are_exact(number: str, value: Fraction) -> None:
    assert value_of(number) == value


@pytest.mark.parametrize(
    "number",
    ["1e999999999", "1e-999999999", "1e4000", "1e-4000", "9" * 4001, "1e" + "9" * 5000, "0." + "1" * 4000, "NaN",
     "Infinity", "-Infinity", '"nan"', '"1.5/2"', '"1/2.0"', '"+1"', '" 1"', '"1_0"', '"0x1"', '"1."', '".5"', '""',
     '"\\u0661"', '"1/-2"', '"1/2/3"', '"1e1.5"', '"-"'],
)  # fmt: skip
def test_what_is_no_number_is_refused_at_once(number: str) -> None:
    start = time.process_time()
    assert "must be integers, decimals, or strings" in refused(value_of_bytes, number.encode())
    assert time.process_time() - start < 10  # what a hang takes, not a measurement


def value_of_bytes(number: bytes) -> object:
    return value_of(number.decode())


def test_digits_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """`1e-3999` is short in the file and long in memory."""
    monkeypatch.setattr(exact_json, "MOST_DIGITS", 10_000)
    two, three = (f'{{"Q1": [[{", ".join(["1e-3999"] * n)}]]}}'.encode() for n in (2, 3))
    assert read_json(two).matrices["Q1"][0][1] == Fraction(1, 10**3999)
    assert "at most 10,000 digits" in refused(read_json, three)
    strings = f'{{"Q1": [[{", ".join([f"{9:*>2}".replace("*", "9") * 1500] * 4)}]]}}'.encode()
    assert "at most 10,000 digits" in refused(read_json, strings)


def test_a_byte_order_mark_is_fine(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_bytes(b"\xef\xbb\xbf{" + ONE.encode() + b"}")
    assert load_weights(tmp_path / "w.json") == Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f'{{{ONE}, "foo": [[1]]}}', "'foo'"),
        (f'{{{ONE}, "foo": 3}}', "'foo'"),
        (f'{{"weights": {{{ONE}, "Q1x": [[1]]}}}}', "'Q1x'"),
        (f'{{"weights": {{{ONE}}}, "mask": "causal"}}', "'mask'"),
        (f'{{{ONE}, "{"x" * 9999}": [[1]]}}', "'xxx"),
        (f'{{{ONE}, "a\\nb": [[1]]}}', r"'a\\nb'"),
        (f'{{{ONE}, "\\ud800": [[1]]}}', r"'\\ud800'"),
        (f'{{{ONE}, "Q1": [[1]]}}', "'Q1' twice"),
        ('{"Q1": [[1, null]]}', r"Q1\[0, 1\] must be an integer.*null"),
        ('{"Q1": [[1], [true]]}', r"Q1\[1, 0\] must be an integer.*true"),
        ('{"Q1": [[1, [2]]]}', r"Q1\[0, 1\] must be an integer.*a list"),
        ('{"Q1": [[1], 2]}', "Q1 must be a list of rows"),
    ],
)
def test_what_is_wrong_is_named_alone_with_its_file(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(FileFormatError, match=named) as refusal:
        load_weights(tmp_path / "w.json")
    message = str(refusal.value)
    assert message.startswith(f"{tmp_path / 'w.json'}: ")
    assert "\n" not in message
    assert "Q2" not in message.replace("Q1, K1, V1, Q2, ...", "")


def test_a_key_that_repeats_is_found_at_once() -> None:
    keys = [*range(60_000), 59_999]
    text = "{" + ", ".join(f'"k{key}": 1' for key in keys) + "}"
    start = time.process_time()
    assert "'k59999' twice" in refused(read_json, text.encode())
    assert time.process_time() - start < 10  # minutes, when each key is looked for among all


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[" * 100_000, "nested"),
        ('{"Q1": ' * 5_000, "nested"),
        ("[[" + "[]," * 1_000_001, "lists"),
        ("[" + "0," * 4_200_000, "commas"),
        ("{" + '"":1,' * 100_001, "names"),
    ],
)
def test_what_a_text_may_hold_is_counted_before_it_is_parsed(text: str, what: str) -> None:
    assert what in refused(read_json, text.encode())
