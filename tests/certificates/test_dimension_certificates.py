"""Certificates of dimensions: the independent checker accepts what the program writes, nothing tampered with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from bad_certificates import changed
from checker import SCHEMA, Document, checked_alone, copied_checker, matches, verdict, written

from lightning_sym import (
    SOFTMAX,
    Architecture,
    certified_dimension,
)
from lightning_sym.certificates.dimension import dimension_certificate
from lightning_sym.certificates.files import certificate_text, write_certificate
from lightning_sym.dimension.certify import Evidence
from proofs_check.claims.normalized.rational_normalizer import ONE_PLUS_Y

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
    orbit = result.upper_bounds[Evidence.ORBIT]
    assert orbit > result.lower
    undecided = replace(result, upper=orbit, upper_bounds={Evidence.ORBIT: orbit})
    line = verdict(capsys, written(tmp_path, dimension_certificate(undecided)))
    assert line.startswith("proved: ")
    assert str(result.lower) in line
    assert str(orbit) in line


def test_the_text_is_one_field_a_line(certificates: dict[str, Document]) -> None:
    text = certificate_text(certificates["plain"])
    assert json.loads(text) == certificates["plain"]
    assert len(text.splitlines()) == len(certificates["plain"])
