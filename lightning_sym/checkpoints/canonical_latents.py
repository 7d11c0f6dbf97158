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
    ordered,
    quarter_turns,
)
from lightning_sym.checkpoints.matching import as_complex
from lightning_sym.checkpoints.model import Block
from lightning_sym.checkpoints.rewritings import LATENT_PARTS
from lightning_sym.checkpoints.symmetry import Part


class LatentWay(NamedTuple):
    """How the one form is found.

    Attributes:
        made: what is done.
        told: whether what was chosen is told by the numbers of the layer that was made.
        untold: what is said where it is not.
    """

    made: Callable[[Block], dict[str, Part]]
    told: Callable[[Block], bool]
    untold: str


def maps_into(block: Block) -> Iterator[tuple[str, Any]]:
    """Yield the maps into latents, by the part of a symmetry that turns these."""
    for part in LATENT_PARTS.values():
        if (rows := getattr(block, part.removesuffix("s"))) is not None:
            yield part, np.asarray(rows)


def _exact(block: Block) -> dict[str, Part]:
    """Return orders with signs of latents, and quarter turns and powers of two of the key that heads share."""
    found: dict[str, Part] = {}
    for part, rows in maps_into(block):
        signs = first_signs(rows)
        order = ordered(rows * signs[:, None])
        found[part] = np.eye(len(rows))[order] * signs[order][:, None]
    return found if block.key_turned is None else found | {"shared_turns": quarter_turns(block.key_turned[0])[None]}


def _balanced(block: Block) -> dict[str, Part]:
    """Return turns of latents, of full rank, and of the frequencies of the key that heads share."""
    found: dict[str, Part] = {}
    for part, rows in maps_into(block):
        left = np.linalg.svd(rows)[0].T if _is_filled(rows) else np.eye(len(rows))
        found[part] = left * cube_signs(left @ rows)[:, None]
    if block.key_turned is None or block.query_turned is None:
        return found
    return found | {"shared_turns": common_turns(block.query_turned, block.key_turned[0])[None]}


def _exact_are_told(block: Block) -> bool:
    """Return whether no row of a map into latents is zero, no two are equal, and no frequency of the key is zero."""
    key = block.key_turned
    turned = key is None or as_complex(np.asarray(key, dtype=np.float64)).any(axis=-1).all()
    return bool(turned) and all(are_told(rows) for _, rows in maps_into(block))


def _balanced_are_told(block: Block) -> bool:
    """Return whether maps into latents have full rank, and no sum of cubes vanishes by which a sign was chosen."""
    key = block.key_turned
    turned = key is None or cubes_are_told(as_complex(np.asarray(key, dtype=np.float64)))
    return turned and all(_is_filled(rows) and cubes_are_told(rows) for _, rows in maps_into(block))


def _is_filled(rows: Any) -> bool:
    """Return whether a map into latents has full rank, so that its singular values tell a turn."""
    values = np.linalg.svd(rows, compute_uv=False)
    return len(values) == len(rows) and bool(values[-1] > LEAST * values[0])


EXACT_LATENTS = LatentWay(
    _exact, _exact_are_told, "latents: signs, or orders, of rows that are zero or equal up to a sign"
)
BALANCED_LATENTS = LatentWay(
    _balanced, _balanced_are_told, "latents: turns, as they are more than the stream fills, or cubes add up to nothing"
)
