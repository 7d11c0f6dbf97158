"""Exact numbers that a fit guesses."""

from __future__ import annotations

import numpy as np

from lightning_sym.checkpoints.found_symmetry import gauge_words
from lightning_sym.checkpoints.nice_numbers import Ratio, nice
from lightning_sym.testing import small_checkpoint


def test_a_turn_by_a_quarter_is_no_identity() -> None:
    """Turns of two frequencies have the shape of a matrix of two rows."""
    one, quarter = Ratio(np.array([[[1.0, 0.0], [1.0, 0.0]]]), 1), Ratio(np.array([[[1.0, 0.0], [0.0, 1.0]]]), 1)
    form = small_checkpoint("llama").form
    assert set(gauge_words({"turns": one, "values": quarter}, form)) == set()
    assert set(gauge_words({"turns": quarter, "values": one}, form)) == {"turns", "values"}


def test_nice_numbers() -> None:
    assert nice(np.array([0.1])) is not None
    assert nice(np.array([np.pi])) is None
    assert nice(np.array([np.inf])) is None
