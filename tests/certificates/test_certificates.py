"""Certificates: the independent checker accepts what the program writes, and nothing that was tampered with."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checker import SCHEMA, checked_alone, copied_checker, matches, verdict, written
from make_corpus import changed

from lightning_sym import (
    SOFTMAX,
    Architecture,
    Normalization,
    Weights,
    certified_dimension,
    same_function,
    swap,
    transform,
)
from lightning_sym.certificates import limits as certificate_limits
from lightning_sym.certificates.dimension import dimension_certificate
from lightning_sym.certificates.document import normalization_document
from lightning_sym.certificates.files import certificate_text, write_certificate
from lightning_sym.certificates.same_function import same_certificate
from lightning_sym.errors import BadInput, TooLarge
from proofs_check.certificates import CertificateWriter
from proofs_check.checker import verify
from proofs_check.claims.normalized.rational_normalizer import ONE_PLUS_Y, of_values, one_rank

Document = dict[str, Any]

# name: network, dimension, what bounds it from above
NETWORKS: dict[str, tuple[Architecture, int, str]] = {
    "plain": (Architecture((4, 4, 4), (2, 2), 3), 38, "orbit"),
    "rank one": (Architecture((4, 2), (1,), 3), 14, "orbit"),
    "rank one, then two": (Architecture((3, 3, 3), (1, 2), 2), 18, "factorization"),
    "one token": (Architecture((3, 2), (2,), 1), 11, "factorization"),
    "narrow": (Architecture((2, 3, 2), (2, 2), 2), 10, "factorization"),
    "softmax": (Architecture((3, 3, 3), (2, 2), 3, normalization=SOFTMAX), 25, "orbit"),
    "softmax, one token": (Architecture((3, 2, 2), (1, 1), 1, normalization=SOFTMAX), 6, "factorization"),
    "softmax, deep": (Architecture((2,) * 13, (1,) * 12, 2, normalization=SOFTMAX), 40, "orbit"),
    "softmax, rank one": (Architecture((2, 1, 2), (2, 2), 3, normalization=SOFTMAX), 8, "orbit"),
    "softmax, causal": (Architecture((2, 2, 2), (2, 1), 3, normalization=SOFTMAX, causal=True), 11, "orbit"),
    "1 + y": (Architecture((2, 2, 2), (1, 2), 2, normalization=ONE_PLUS_Y), 11, "orbit"),
    "skip": (Architecture((2, 2, 2), (2, 2), 2, skip=True), 14, "orbit"),
    "skip, span": (Architecture((2, 2), (2,), 1, skip=True, heads=3), 8, "span"),
    "skip, one row": (Architecture((2, 2, 2, 2), (1, 1, 1), 3, skip=True, embed=1), 16, "directions"),
    "symmetric products": (Architecture((3, 3, 3), (2, 2), 2, skip=True, embed=2), 31, "directions"),
    "causal": (Architecture((3, 2, 2), (1, 2), 2, causal=True), 13, "orbit"),
    "heads": (Architecture((3, 3), (1,), 2, heads=2), 26, "orbit"),
    "heads that fill all forms": (Architecture((2, 2), (2,), 2, heads=2), 12, "factorization"),
    "heads that mix": (Architecture((5, 1), (3,), 2, heads=2, value_ranks=(1,)), 49, "directions"),
    "heads, all forms": (Architecture((3, 2), (1,), 2, heads=5, value_ranks=(1,)), 35, "factorization"),
    "heads, cubic forms": (Architecture((3, 3), (2,), 1, heads=2), 26, "directions"),
    "first layers": (Architecture((2, 2, 2), (1, 1), 2, heads=2, skip=True, causal=True, embed=1), 14, "directions"),
    "first layers, one head": (
        Architecture((2, 2, 2), (2, 1), 2, skip=True, embed=1, value_ranks=(2, 1)),
        8,
        "directions",
    ),
    "span": (Architecture((2, 2), (1,), 1, heads=2), 8, "span"),
    "value ranks": (Architecture((3, 3), (2,), 2, normalization=SOFTMAX, heads=2, value_ranks=(1,)), 26, "orbit"),
    "inside": (
        Architecture((3, 3), (1,), 2, normalization=SOFTMAX, value_ranks=(2,), unembed=1),
        8,
        "directions",
    ),
    "skew": (Architecture((3, 3), (2,), 1, value_ranks=(2,)), 13, "directions"),
    "skew differences": (
        Architecture((2, 2, 2), (2, 2), 2, normalization=SOFTMAX, skip=True, causal=True, embed=1),
        13,
        "directions",
    ),
    "embedded": (
        Architecture((2, 2, 2), (1, 1), 2, normalization=SOFTMAX, heads=2, skip=True, causal=True, embed=3, unembed=3),
        36,
        "orbit",
    ),
    "narrow embedding": (Architecture((3, 3), (2,), 2, normalization=SOFTMAX, embed=2), 10, "directions"),
    "two tokens": (Architecture((4, 4, 4), (4, 4), 2, normalization=SOFTMAX, skip=True, embed=2), 50, "directions"),
}


@pytest.fixture(scope="module")
def certificates() -> dict[str, Document]:
    """One for each network."""
    return {
        name: dimension_certificate(certified_dimension(network, all_bounds=True))
        for name, (network, _, _) in NETWORKS.items()
    }


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checker by itself, away from the program."""
    return copied_checker(tmp_path_factory.mktemp("elsewhere"))


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_written_is_proved(
    certificates: dict[str, Document], capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    _, dimension, kind = NETWORKS[name]
    document = certificates[name]
    assert (document["lower"], document["upper"]) == (dimension, dimension)
    assert [bound["kind"] for bound in document["upper_bounds"]] == [kind]
    assert matches(SCHEMA, document)
    line = verdict(capsys, written(tmp_path, document))
    assert line.startswith("proved: ")
    assert str(dimension) in line


def test_the_checker_stands_alone(certificates: dict[str, Document], alone: Path, tmp_path: Path) -> None:
    files = []
    for name, document in certificates.items():
        files.append(tmp_path / f"{name}.json")
        write_certificate(files[-1], document)
    code, lines = checked_alone(alone, files)
    assert code == 0
    assert all(line.startswith("proved: ") for line in lines.values()), lines


LEVEL = ("lower", "upper", "upper_bounds.0.bound")


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_tampered_with_is_rejected(
    certificates: dict[str, Document], capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    document = certificates[name]
    rows, columns = document["lower_bound"]["rows"], document["lower_bound"]["columns"]
    high = changed(document, *((path, lambda n: n + 1) for path in LEVEL))
    unused = next(c for c in range(len(columns) + 1) if c not in columns) if columns[-1] >= len(columns) else None
    if unused is not None:  # as many rows and columns as are claimed
        extra = ("lower_bound.rows", [*rows, rows[0]]), ("lower_bound.columns", sorted([*columns, unused]))
        high = changed(high, *extra)
    low = changed(
        document,
        *((path, lambda n: n - 1) for path in LEVEL),
        ("lower_bound.rows", rows[:-1]),
        ("lower_bound.columns", columns[:-1]),
    )
    if "pieces" in document["upper_bounds"][0]:
        high["upper_bounds"][0]["pieces"][0] += 1
        low["upper_bounds"][0]["pieces"][0] -= 1
    repeated = changed(document, ("lower_bound.rows", [*rows[:-1], rows[0]]))
    for forged in (high, low, repeated):
        assert verdict(capsys, written(tmp_path, forged)).startswith("rejected: ")


def test_entries_swapped_or_changed_prove_nothing_new(
    certificates: dict[str, Document], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Other entries may prove the same bound, but nothing makes a minor of rows that depend on each other."""
    document = certificates["rank one"]
    rows = document["lower_bound"]["rows"]
    scaled = [[[2 * x % document["lower_bound"]["prime"] for x in row] for row in rows[1]["functional"][0]]]
    forged = changed(
        document, ("lower_bound.rows.0.input", rows[1]["input"]), ("lower_bound.rows.0.functional", scaled)
    )
    assert "rejected: " in verdict(capsys, written(tmp_path, forged))
    critical = changed(document, ("lower_bound.weights", lambda w: [w[0], w[1], [*w[1], *w[1]]]))  # Lemma A.3
    assert "rejected: " in verdict(capsys, written(tmp_path, critical))


def test_an_undecided_dimension_has_a_certificate_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    network = Architecture((3, 3, 3), (1, 2), 2)
    result = certified_dimension(network, all_bounds=True)
    orbit = result.upper_bounds["orbit"]
    assert orbit > result.lower
    undecided = replace(result, upper=orbit, upper_bounds={"orbit": orbit})
    line = verdict(capsys, written(tmp_path, dimension_certificate(undecided)))
    assert line.startswith("proved: ")
    assert str(result.lower) in line
    assert str(orbit) in line


def test_values_of_rational_normalizers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    writer = CertificateWriter(tmp_path, "values", "y")
    writer.write(of_values(one_rank((2, 2, 2)), 0))
    writer.write(of_values(Architecture((2, 2, 2), (1, 2), 2, normalization=ONE_PLUS_Y), 1))
    assert len(writer.written) == 2
    for path in (tmp_path / "values").iterdir():
        assert verdict(capsys, path).startswith("proved: ")


def test_a_polynomial_is_written_by_its_coefficients() -> None:
    square = Normalization(
        "1 + y^2/3", lambda k: [Fraction(1), Fraction(0), Fraction(1, 3)][k] if k < 3 else Fraction(0)
    )
    assert normalization_document(square) == {"name": "1 + y^2/3", "taylor": ["1", "0", "1/3"]}
    with pytest.raises(BadInput, match="softmax or a polynomial"):
        normalization_document(Normalization("1/(1 - y)", lambda k: Fraction(1)))


def test_no_certificate_is_larger_than_checkers_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    document = dimension_certificate(certified_dimension(Architecture((2, 2), (1,), 2)))
    monkeypatch.setattr(certificate_limits, "LARGEST_FILE", 100)
    with pytest.raises(TooLarge, match="at most"):
        write_certificate(tmp_path / "c.json", document)
    assert list(tmp_path.iterdir()) == []


# ---- the same function, or not


def weights_of(**matrices: Any) -> Weights:
    return Weights.of(matrices)


RANDOM = Weights.random(Architecture((3, 2, 3), (2, 2), 2), seed=1, denominator=3)
ONE = weights_of(Q1=[[1, 2]], K1=[[1, 0]], V1=[[3, 6]])
DEEP = Weights.random(Architecture((2, 2, 2), (1, 1), 2), seed=2)
BEHIND = Weights.of(DEEP.named() | {"V2": np.outer([1, 2], [3, 1])})  # ranks one in the last layer only
HIDDEN = weights_of(Q1=[[1, 2, 3]], K1=[[1, 0, 1]], V1=[[1, 0, 0], [0, 1, 0], [0, 0, 0]],
                    Q2=[[1, 2, 0], [0, 0, 1]], K2=[[1, 0, 0], [0, 0, 1]], V2=[[0, 1, 0], [0, 0, 1]])  # fmt: skip
SKEW = weights_of(Q1=[[1, 2], [0, 1]], K1=[[1, 0], [0, 1]], V1=[[3, 4]])
HUGE = weights_of(Q1=[[10**30, Fraction(1, 7**40)]], K1=[[1, 1]], V1=[[2, 3]])

SAME = {
    "a group element": (
        RANDOM,
        transform(
            RANDOM, query_key={1: [[1, 2], [3, 4]]}, between={1: [[1, 1], [0, 2]]}, scales={2: Fraction(1, 2)}
        ),
        2, ["group"],
    ),
    "the exchange": (ONE, swap(ONE), 2, ["layer"]),
    "an exchange, then a group element": (ONE, transform(swap(ONE), scales={1: 5}), 2, ["layer", "group"]),
    "an exchange behind a layer": (BEHIND, swap(BEHIND), 2, ["layer"]),
    "an exchange of virtual weights": (HIDDEN, swap(HIDDEN), 2, ["rescaling", "layer"]),
    "skew parts at one token": (
        SKEW, weights_of(Q1=[[1, 0], [2, 1]], K1=[[1, 0], [0, 1]], V1=[[3, 4]]), 1, ["rescaling"],
    ),
    "other inner widths": (
        weights_of(Q1=[[1]], K1=[[1]], V1=[[1]], Q2=[[1]], K2=[[1]], V2=[[1]]),
        weights_of(Q1=[[1]], K1=[[1]], V1=[[1], [0]], Q2=[[1, 5]], K2=[[1, 0]], V2=[[1, 3]]),
        2, ["rescaling"],
    ),
    "zero": (weights_of(Q1=[[0]], K1=[[1]], V1=[[1]]), weights_of(Q1=[[1]], K1=[[1]], V1=[[0]]), 2, ["zero"]),
    "zero at one token": (
        weights_of(Q1=[[0, 1], [-1, 0]], K1=[[1, 0], [0, 1]], V1=[[3, 4]]),
        weights_of(Q1=[[1, 1]], K1=[[1, 0]], V1=[[0, 0]]), 1, ["zero"],
    ),
    "long numbers": (HUGE, transform(HUGE, scales={1: Fraction(3, 10**25)}), 2, ["group"]),
}  # fmt: skip


def halves(depth: int) -> Weights:
    return Weights.of({f"{letter}{i}": [[Fraction(1, 2)]] for i in range(1, depth + 1) for letter in "QKV"})


DIFFERENT = {
    "another value": (ONE, weights_of(Q1=[[1, 2]], K1=[[1, 0]], V1=[[3, 7]]), 2),
    "skew parts at two tokens": (SKEW, weights_of(Q1=[[1, 0], [2, 1]], K1=[[1, 0], [0, 1]], V1=[[3, 4]]), 2),
    "other depths": (
        weights_of(Q1=[[1]], K1=[[1]], V1=[[1]]),
        weights_of(Q1=[[1]], K1=[[1]], V1=[[1]], Q2=[[1]], K2=[[1]], V2=[[1]]),
        1,
    ),
    "too deep for rational numbers": (halves(10), halves(11), 2),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_function(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    first, second, tokens, steps = SAME[name]
    document = same_certificate(same_function(first, second, tokens), first, second, tokens)
    assert [step["step"] for step in document["steps"]] == steps
    assert matches(SCHEMA, document)
    assert verdict(capsys, written(tmp_path, document)).startswith("proved: ")
    other = Weights.of(second.named() | {"V1": second["V1"] + 1})
    forged = document | {"second": same_certificate(same_function(other, other), other, other, 2)["first"]}
    assert verdict(capsys, written(tmp_path, forged)).startswith("rejected: ")


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_functions(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    first, second, tokens = DIFFERENT[name]
    document = same_certificate(same_function(first, second, tokens), first, second, tokens)
    assert matches(SCHEMA, document)
    assert verdict(capsys, written(tmp_path, document)).startswith("proved: ")
    forged = changed(document, ("input", lambda rows: [[0] * len(row) for row in rows]))
    assert verdict(capsys, written(tmp_path, forged)).startswith("rejected: ")


def test_without_an_answer_there_is_no_certificate() -> None:
    comparison = same_function(RANDOM, RANDOM)
    undecided = replace(comparison, answer=type(comparison.answer).UNDECIDED)
    with pytest.raises(BadInput, match="a certificate needs an answer"):
        same_certificate(undecided, RANDOM, RANDOM, 2)


def test_the_text_is_one_field_a_line(certificates: dict[str, Document]) -> None:
    text = certificate_text(certificates["plain"])
    assert json.loads(text) == certificates["plain"]
    assert len(text.splitlines()) == len(certificates["plain"])


@pytest.mark.parametrize(
    "network",
    [
        Architecture((3, 2, 3), (2, 2), 2),
        Architecture((2,) * 9, (1,) * 8, 3, SOFTMAX),
        Architecture((3, 3), (2,), 2, SOFTMAX, 2, (1,), skip=True, causal=True, embed=2, unembed=4),
        Architecture((3, 3, 2), (2, 1), 2, Normalization("1 + y", lambda k: Fraction(int(k < 2)))),
    ],
    ids=str,
)
def test_the_steps_of_a_check_are_known_before(network: Architecture) -> None:
    document = dimension_certificate(certified_dimension(network))
    stated = certificate_limits.steps(network, document["lower"], document["lower_bound"])
    verify.left[0] = verify.STEPS
    verify._lower_bound(verify.Network(document["network"]), document["lower"], document["lower_bound"])
    spent = verify.STEPS - verify.left[0]
    assert stated <= 1.5 * spent
    assert spent <= 1.5 * stated
