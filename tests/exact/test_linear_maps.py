"""The map that takes columns to columns, guessed."""

from fractions import Fraction

import numpy as np
import pytest

from lightning_sym.exact import reconstruction
from lightning_sym.exact.reconstruction import guessed_map


@pytest.mark.parametrize("seed", range(6))
def test_the_map_is_found(seed: int) -> None:
    source = np.random.default_rng(seed)
    d, more = int(source.integers(1, 6)), int(source.integers(1, 6))
    columns = source.integers(-9, 10, (d, 30)).astype(np.float64)
    change = source.integers(-50, 50, (more, d)) / 2.0 ** source.integers(0, 5, (more, d))
    found = guessed_map(columns, change @ columns)
    assert found is not None
    numerators, denominator = found
    assert [[Fraction(x, denominator) for x in row] for row in numerators.tolist()] == [
        [Fraction(x) for x in row] for row in change.tolist()
    ]


def test_thirds_are_found() -> None:
    columns = np.array([[3, 0, 6], [0, 3, 3]])
    found = guessed_map(columns, np.array([[1, 1, 3]]))
    assert found is not None
    assert (found.numerators.tolist(), found.denominator) == ([[1, 1]], 3)


def test_what_is_no_map_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    source = np.random.default_rng(0)
    columns = source.integers(-9, 10, (3, 30))
    assert guessed_map(columns, source.integers(-9, 10, (2, 30))) is None  # written besides
    assert guessed_map(columns[:, :2], columns[:, :2]) is None  # too few columns
    assert guessed_map(np.vstack([columns, columns[:1]]), columns) is None  # dependent rows
    first = np.repeat(columns[:, :1], 30, axis=1)  # columns that say little come first
    assert guessed_map(np.hstack([first, columns]), np.hstack([first, columns])) is not None
    monkeypatch.setattr(reconstruction, "MOST_COLUMNS", 25)
    assert guessed_map(np.hstack([first, columns]), np.hstack([first, columns])) is None
