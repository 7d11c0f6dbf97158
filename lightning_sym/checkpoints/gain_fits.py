"""What gains of queries and keys were multiplied with, as those of both layers say it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lightning_sym.checkpoints import fits
from lightning_sym.checkpoints.folding import Folded
from lightning_sym.checkpoints.nice_numbers import Floats, Ratio


def gain_factors(old: Folded, new: Folded) -> dict[str, Ratio]:
    """Return what gains of queries and keys were multiplied with, as those of queries say it, with signs of both."""
    found = _factors([(old.query_norm_gain, new.query_norm_gain), (old.key_norm_gain, new.key_norm_gain)])
    return {} if found is None else {"gain_factors": found}


def row_factors(old: Folded, new: Folded, ratio: int) -> dict[str, Ratio]:
    """Return the same of gains for each row, group by group."""
    made = []
    for group in range(len(new.key_row_gain)):
        mine = range(group * ratio, (group + 1) * ratio)
        queries = [(old.query_row_gain[head], new.query_row_gain[head]) for head in mine]
        made.append(_factors([*queries, (old.key_row_gain[group], new.key_row_gain[group])]))
    if any(each is None for each in made):
        return {}
    there = [each for each in made if each is not None]
    return {"row_factors": Ratio(np.stack([x.numerators for x in there]), np.stack([x.denominator for x in there]))}


def _factors(pairs: list[tuple[Floats, Floats]]) -> Ratio | None:
    """Return factors of gains, a row each, the last those of keys, or `None` if a gain is 0.

    Their sizes are those that the first pair says, or powers of two where all say one up to roundings; signs are those
    of all.
    """
    if any((each == 0).any() for pair in pairs for each in pair):
        return None
    half = len(pairs[0][0]) // 2
    *queries, (key, new_key) = pairs
    said = [np.abs(x).reshape(2, half) for x in (*(to / by for by, to in queries), key / new_key)]
    firsts = [abs(Fraction(to) / Fraction(by)) for by, to in zip(*(x[:half].tolist() for x in pairs[0]), strict=True)]
    sizes = [_size(*each) for each in zip(firsts, np.concatenate(said).T, strict=True)]
    signs = [(np.sign(by) * np.sign(to)).astype(int).tolist() for by, to in pairs]
    rows = fits.gain_factors(sizes, signs)
    parts = ([[getattr(x, part) for x in row] for row in rows] for part in ("numerator", "denominator"))
    return Ratio(*(np.array(each, dtype=object) for each in parts))


ROUNDINGS = 2.0**-6
"""Ratios of gains that were rounded are as near to each other."""


def _size(first: Fraction, said: Floats) -> Fraction:
    """Return the power of two near all that is said of a size, no farther than these are apart, else the first.

    Gains near 1 that are stored less one are known better than others, so that no ratio of others is good enough.
    """
    near = float(2.0 ** np.round(np.log2(float(first))))
    off = np.abs(said / near - 1).max()
    return Fraction(near) if off < ROUNDINGS and off <= 4 * (said.max() / said.min() - 1) else first
