"""One form of latents, and of the one key that heads beside them have in common: exactly, or balanced in float64.

Exactly the rows of the map into latents are ordered, each with a sign; balanced that map is turned so that its rows are
orthogonal, the longest first, and the sum of the cubes of each is positive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.checkpoints.canonical_ways import (
    LEAST,
    are_told,
    common_turns,
    cube_signs,
    cubes_are_told,
    first_signs,
    one_a_row,
    quarter_turns,
)
from lightning_sym.checkpoints.changes import LATENT_PARTS
from lightning_sym.checkpoints.matching import as_complex
from lightning_sym.checkpoints.model import Block
from lightning_sym.checkpoints.nice_numbers import Floats
from lightning_sym.checkpoints.symmetry import Part


def maps_into(block: Block) -> Iterator[tuple[str, Any]]:
    """Yield the maps into latents, by the part of a symmetry that turns these."""
    for part in LATENT_PARTS.values():
        if (rows := getattr(block, part.removesuffix("s"))) is not None:
            yield part, np.asarray(rows)


class LatentWay(NamedTuple):
    """How the one form is found.

    Attributes:
        turn: the matrix of latents, of the map into these.
        turns: the numbers of the frequencies, of the turned rows of all queries and of the key.
        told: whether what was chosen is told by the map into latents that was made.
        told_by_key: whether it is by the key, a complex number for each frequency and coordinate.
        untold: what is said where it is not.
    """

    turn: Callable[[Any], Floats]
    turns: Callable[[Any, Any], Floats]
    told: Callable[[Any], bool]
    told_by_key: Callable[[Any], bool]
    untold: str

    def made(self, block: Block) -> dict[str, Part]:
        """Return the parts of a symmetry that bring a layer into the one form."""
        found: dict[str, Part] = {part: self.turn(rows) for part, rows in maps_into(block)}
        key = block.key_turned
        return found if key is None else found | {"shared_turns": self.turns(block.query_turned, key[0])[None]}

    def is_told(self, block: Block) -> bool:
        """Return whether the numbers of a layer that was made tell what was chosen."""
        key = block.key_turned
        by_key = key is None or self.told_by_key(as_complex(np.asarray(key, dtype=np.float64)))
        return by_key and all(self.told(rows) for _, rows in maps_into(block))


def _is_filled(rows: Any) -> bool:
    """Return whether a map into latents has full rank, so that its singular values tell a turn."""
    values = np.linalg.svd(rows, compute_uv=False)
    return len(values) == len(rows) and bool(values[-1] > LEAST * values[0])


def _balanced(rows: Any) -> Floats:
    left = np.linalg.svd(rows)[0].T if _is_filled(rows) else np.eye(len(rows))
    return np.asarray(left * cube_signs(left @ rows)[:, None])


EXACT_LATENTS = LatentWay(
    lambda rows: one_a_row(rows, first_signs(rows)),
    lambda queries, key: quarter_turns(key),
    are_told,
    lambda key: bool(key.any(axis=-1).all()),
    "latents: signs, or orders, of rows that are zero or equal up to a sign",
)
BALANCED_LATENTS = LatentWay(
    _balanced,
    common_turns,
    lambda rows: _is_filled(rows) and cubes_are_told(rows),
    cubes_are_told,
    "latents: turns, as they are more than the stream fills, or cubes add up to nothing",
)
