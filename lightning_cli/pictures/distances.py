"""The picture of `lightning-sym same --picture`: how far each tensor is, one row a layer and one column a kind."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lightning_cli.pictures.drawing import Picture, grey_bar, plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lightning_sym.checkpoints.distances import Distances

SAID = (
    "Colour: the Frobenius norm of the difference over that of the tensor, behind the symmetry that leaves least. "
    "Number: the numerical rank of an update of low rank. Empty: rounding at most. Measured, not certified."
)


def picture(found: Distances) -> Picture:
    """Return the picture of the distances of two checkpoints."""
    rows = tuple(
        (each.called, f"{each.relative:.6g}", "" if each.rank is None else str(each.rank), str(each.full))
        for each in found.tensors
    )
    kinds, layers = _places(found)
    return Picture(
        name="distances",
        title=f"From {found.first} to {found.second}",
        caption=SAID,
        columns=("tensor", "distance", "rank", "of"),
        rows=rows,
        draw=partial(draw, found),
        size=(min(4 + 0.35 * len(kinds), 16), min(3.2 + 0.3 * len(layers), 18)),
    )


def _places(found: Distances) -> tuple[list[str], list[int | None]]:
    """Return the columns, names of pieces that changed, and the rows, layers with the ends first."""
    kinds = list(dict.fromkeys(each.piece for each in sorted(found.tensors, key=lambda each: each.layer is None)))
    changed = {each.piece for each in found.changed}
    return [kind for kind in kinds if kind in changed] or kinds[:1], list(
        dict.fromkeys(each.layer for each in found.tensors)
    )


def draw(found: Distances, figure: Figure) -> None:
    """Draw the distances on an empty figure."""
    kinds, layers = _places(found)
    numbers = np.full((len(layers), len(kinds)), np.nan)
    axes = plain_axes(figure, SAID, framed=True)
    for each in found.changed:
        place = layers.index(each.layer), kinds.index(each.piece)
        numbers[place] = np.log10(each.relative) if each.relative > 0 else np.nan
        if each.low:
            axes.text(
                place[1], place[0], str(each.rank), ha="center", va="center", fontsize=8, color="black",
                bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
            )  # fmt: skip
    image = axes.imshow(numbers, aspect="auto", cmap="viridis", vmax=0)
    grey_bar(figure, image, "distance, power of ten", ax=axes)
    axes.set_xticks(range(len(kinds)), kinds, rotation=60, ha="right", fontsize=9)
    axes.set_yticks(range(len(layers)), ["ends" if layer is None else str(layer) for layer in layers], fontsize=9)
    axes.set_ylabel("layer")
