"""What a fitted rotation makes of many rows is told by some entries: by the same ones as where all are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lightning_sym import apply, same_checkpoints
from lightning_sym.checkpoints import measuring
from lightning_sym.checkpoints.measured import Fitted, Measured, fitted, measured
from lightning_sym.checkpoints.measuring import Measuring, TurnedRows
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.units import Worst, unit_at
from lightning_sym.checkpoints.walk import look_at
from lightning_sym.testing import small_checkpoint

WIDTH = 384


def rounded(array: Any, stored: str) -> Any:
    """Return the nearest numbers of a type."""
    unit = unit_at(array, stored)
    return np.rint(array / unit) * unit


def rotation(stored: str, width: int = WIDTH) -> Fitted:
    """Return one that was fitted to rows of an embedding."""
    random = np.random.default_rng(width)
    matrix, _ = np.linalg.qr(random.standard_normal((width, width)))
    rows = measured(rounded(random.standard_normal((2 * width, width)), stored), stored)
    return fitted(matrix, rows.swapaxes(0, 1), rows=64 * width)


FITS = {stored: rotation(stored) for stored in ("BF16", "F16")}


def made(stored: str, writer: bool, wrong: bool, exactly: bool) -> tuple[Any, Any]:
    """Return what a rotation makes of rows of two heads, rounded before or not, less what is there, and that."""
    random, by = np.random.default_rng(7), FITS[stored]
    array = random.standard_normal((2, 50, WIDTH)) / 64
    old, new = (rounded(random.uniform(0.5, 2, WIDTH), stored) for _ in range(2))
    before = rounded(array, stored)
    array = before if exactly else array
    ring, old, new = Measuring(), measured(old, stored), measured(new, stored)
    if writer:
        second = rounded(by.value @ array.swapaxes(-1, -2), stored)
        found = ring.product(by, measured(before, stored).swapaxes(-1, -2))
    else:
        second = rounded((array * old.value) @ by.value.T / new.value, stored)
        found = ring.over(ring.product(ring.times(measured(before, stored), old), by.mT), new)
    if wrong:
        second[1, 17, 3] += 0.25
    return ring.less(measured(second, stored), found), second


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("writer", [False, True])
@pytest.mark.parametrize("stored", FITS)
def test_those_that_are_off_most_are_told_as_where_all_are_computed(
    stored: str, writer: bool, wrong: bool, exactly: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    for many in (2**60, 1):
        monkeypatch.setattr(measuring, "MANY", many)
        left, second = made(stored, writer, wrong, exactly)
        look_at(worst := Worst(), left, None, second)
        told.append(worst)
        assert isinstance(left, TurnedRows) is (many == 1)
    whole, few = told
    assert (few.entry, few.value) == (whole.entry, whole.value)
    assert few.units == pytest.approx(whole.units, rel=1e-9)
    assert (few.entry == (1, 17, 3)) is wrong
    assert "_made" not in vars(left)  # and that was seen without all of them
    look_at(more := Worst(units=few.units * 1.01), left, None, second)
    assert more.entry is None
    assert np.array_equal(left.value, made(stored, writer, wrong, exactly)[0].value)


def unlike() -> TurnedRows:
    """Return rows of which two are known with far more digits than the others, one of them small, and one is 0."""
    random, fit = np.random.default_rng(3), FITS["BF16"]
    by = Fitted(fit.value.T, fit.doubt, fit.other)
    rows = random.standard_normal((40, WIDTH))
    rows[1] *= 1e-33
    rows[2] = 0
    share = np.full((40, 1), 2.0**-8)
    share[:2] = 2.0**-26
    square = np.square(share * rows)
    second = rows @ by.value * (1 + share * random.standard_normal((40, WIDTH)) / 4)
    found = TurnedRows(Measured(rows, square), by, rows.shape, last=True)
    return Measuring().less(Measured(second, np.zeros_like(second)), found)  # type: ignore[return-value]


def bounds_hold(left: TurnedRows) -> bool:
    """Return whether no entry is off by more units than its bound says."""
    value = left.second.value - left.rows.value @ left.by.value
    unit = np.sqrt(left.rows.square @ np.square(left.by.value))
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.where(value == 0, 0, np.abs(value) / unit)
    return bool((off <= left._most).all())


def test_bounds_hold_for_numbers_of_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    left = unlike()
    assert bounds_hold(left)
    assert (left._most[3:] < 5).all()  # and are no empty ones
    wrong = unlike()
    monkeypatch.setitem(vars(wrong.by), "short", (*wrong.by.short[:2], 0.0))  # as if float32 lost nothing
    assert not bounds_hold(wrong)


def test_units_that_are_no_numbers_are_told() -> None:
    left = unlike()
    left.rows.square[5, 6] = np.inf
    with np.errstate(invalid="ignore"):
        look_at(worst := Worst(), left, None, left.second.value)
    assert worst.units == np.inf


def test_a_turned_pair_is_told_as_where_all_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = small_checkpoint("llama", stored="BF16", tied=False)
    width = one.form.width
    matrix, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((width, width)))
    ones = LayerSymmetry(gain1=np.ones(width), gain2=np.ones(width))
    two = apply(Symmetry((ones, ones), rotation=matrix, final_gain=np.ones(width)), one, exact=False)
    told = []
    for many in (2**60, 1):
        monkeypatch.setattr(measuring, "MANY", many)
        told.append(str(same_checkpoints(one, two)))
    assert told[0] == told[1]
