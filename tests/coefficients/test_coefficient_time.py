"""Checking certificates of learning coefficients: the largest are checked, and no file takes longer than it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest
from checker import copied_checker, small_memory

from lightning_sym import linear_attention_coefficient, one_head_coefficient, polynomial_coefficient

Document = dict[str, Any]
OPENING = {"format": "lightning-sym/certificate", "version": 1, "kind": "coefficient", "lower": 1, "upper": 1}
SECONDS = 60
"""More than any file below takes by far, and much less than it took where only products were counted."""


def said(folder: Path, document: Document) -> str:
    """What the checker says, by itself and with little memory."""
    checker, file = copied_checker(folder / "checker"), folder / "certificate.json"
    file.write_text(json.dumps(document))
    result = subprocess.run(
        [sys.executable, "-I", "-S", str(checker), str(file)],
        capture_output=True, text=True, check=False, timeout=SECONDS, preexec_fn=small_memory,
    )  # fmt: skip
    assert result.stderr == ""
    return result.stdout.removeprefix(f"{file}: ").strip()


def test_the_largest_certificates_are_checked(tmp_path: Path) -> None:
    for name, found in {
        "linear": linear_attention_coefficient(200, 201, 1),
        "head": one_head_coefficient(201, 2, 201, 1),
    }.items():
        (tmp_path / name).mkdir()
        assert found.certificate is not None
        assert said(tmp_path / name, found.certificate).startswith("proved: ")


def long_number(rng: Random, digits: int) -> str:
    top, low = (rng.randrange(10 ** (digits - 1), 10**digits) for _ in range(2))
    return f"{top}/{low | 1}"


def of_polynomials(degree: int, factor: str, weight: str, variables: int) -> Document:
    """Powers of variables, in coordinates that are multiples of these."""
    n = range(variables)
    units = [[int(i == j) for j in n] for i in n]
    one = [[1, [0] * variables]]
    coordinates = {"numerators": [[[factor, unit]] for unit in units], "denominator": one, "seen": []}
    powers = [[[1, [degree * x for x in unit]]] for unit in units]
    return OPENING | {
        "of": {"polynomials": powers, "point": [0] * variables},
        "above": {"zero": None, "coordinates": coordinates, "weights": [weight] * variables},
        "below": {"coordinates": coordinates, "order": [1] * variables, "elements": []},
    }


def of_a_sum(rng: Random, digits: int, k: int) -> Document:
    """Weights with long denominators, none like another."""
    return OPENING | {
        "of": {"model": "linear attention", "vocabulary": k, "width": k, "teacher": None, "tokens": None},
        "above": {"x": [1] * k, "q": [[long_number(rng, digits) for _ in range(k)] for _ in range(k)], "u": [1] * k},
        "below": {"rows": [[0] * k for _ in range(k)]},
    }


@pytest.mark.parametrize("case", ["powers", "sum of short numbers", "sum of long numbers"])
def test_numbers_that_grow_are_refused(case: str, tmp_path: Path) -> None:
    rng = Random(1)
    document = {
        "powers": lambda: of_polynomials(256, long_number(rng, 3900), "1", 20),
        "sum of short numbers": lambda: of_a_sum(rng, 350, 120),
        "sum of long numbers": lambda: of_a_sum(rng, 3900, 40),
    }[case]()
    assert said(tmp_path, document) == "rejected: coefficients must have at most 262,144 bits"


def test_short_powers_are_proved(tmp_path: Path) -> None:
    document = of_polynomials(4, "2/3", "1/4", 2)
    monomials = [{"monomial": [4, 0], "multiplier": "1/4"}, {"monomial": [0, 4], "multiplier": "1/4"}]
    combinations = [[[[1, [0, 0]]], []], [[], [[1, [0, 0]]]]]
    document["below"]["elements"] = [m | {"combination": c} for m, c in zip(monomials, combinations, strict=True)]
    document |= {"lower": "1/4", "upper": "1/4"}
    assert said(tmp_path, document).startswith("proved: lambda = 1/4")


def test_long_numbers_are_bounds_in_the_time_that_is_said() -> None:
    """Elimination with them is dear, and what it proves may be too long for a certificate: bounds are told anyway."""
    rng, began = Random(3), process_time()
    terms = [f"{rng.randrange(10**299, 10**300)}*" + "*".join(rng.choices("wxyz", k=3)) for _ in range(60)]
    found = polynomial_coefficient(", ".join("+".join(terms[k::4]) for k in range(4)), work=2)
    assert 0 < found.lower <= found.upper <= 2
    assert process_time() - began < 6
