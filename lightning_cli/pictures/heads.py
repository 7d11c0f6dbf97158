"""The picture of `lightning-sym circuits`: the sizes of all heads, and how like another one each is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lightning_cli.pictures.drawing import Picture, grey_bar, plain_axes, write_caption

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lightning_sym.checkpoints.circuits import Circuit, Circuits

SAID = (
    "QK: the form of the scores; OV: what a head writes. Both as maps of the normed stream, so that no change of basis "
    "inside of a head, and no rotation of the stream, changes a colour. Numbers are enclosed by error bounds."
)

PANELS = (
    ("QK, norm", "qk", "norm"), ("OV, norm", "ov", "norm"),
    ("QK, cosine with the head most like it", "qk", "cosine"), ("OV, the same", "ov", "cosine"),
)  # fmt: skip


def picture(found: Circuits) -> Picture:
    """Return a picture of four panels, one row a layer and one column a head."""
    form = found.form
    rows = tuple((f"{h.layer}.{h.head}", *_row(h.qk), *_row(h.ov)) for h in found.heads)
    columns = tuple(f"{kind} {what}" for kind in ("QK", "OV") for what in ("norm", "most like", "cosine"))
    return Picture(
        name="circuits",
        title=f"Heads of {found.name}",
        caption=SAID,
        columns=("head", *columns),
        rows=rows,
        draw=partial(draw, found),
        size=(min(6 + 0.35 * form.heads, 16), min(4 + 0.3 * form.layers, 18)),
    )


def _row(matrix: Circuit) -> tuple[str, str, str]:
    near = "" if matrix.nearest is None else f"{matrix.nearest[0]}.{matrix.nearest[1]}"
    return f"{matrix.frobenius[0]:.6g}", near, "" if matrix.cosine is None else f"{matrix.cosine[0]:.6g}"


def draw(found: Circuits, figure: Figure) -> None:
    """Draw the four panels on an empty figure."""
    form = found.form
    for number, (title, kind, what) in enumerate(PANELS):
        numbers = np.full((form.layers, form.heads), np.nan)
        for head in found.heads:
            matrix: Circuit = getattr(head, kind)
            value = matrix.frobenius if what == "norm" else matrix.cosine
            if value is not None and (what == "cosine" or value[0] > 0):
                numbers[head.layer, head.head] = np.log10(value[0]) if what == "norm" else value[0]
        axes = plain_axes(figure, place=(2, 2, number + 1), framed=True)
        least, most, colours = (-1.0, 1.0, "RdBu_r") if what == "cosine" else (None, None, "viridis")
        image = axes.imshow(numbers, aspect="auto", cmap=colours, vmin=least, vmax=most)
        grey_bar(figure, image, "power of ten" if what == "norm" else "", ax=axes)
        axes.set_title(title, fontsize=10)
        axes.set(xlabel="head", ylabel="layer")
        axes.locator_params(integer=True)
    write_caption(figure, SAID)
