"""`figure coefficients`: the strata of a small layer, each point with its learning coefficient."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from lightning_cli.pictures.drawing import BLUE, GREY, ORANGE, Picture, grey_legend, plain_axes
from lightning_sym.coefficients.at_weights import learning_coefficient
from lightning_sym.network.weights import Weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Place = tuple[Fraction, Fraction]

CAPTION = (
    "Exact: at each point $\\lambda$, by ranks over the rationals.\n"
    "Layer of width 2, one output, $Q = (x, 0)$, $K = (1, 0)$, $V = (1, y)$, two tokens."
)
SAID = "Exact: learning coefficients at rational points, by ranks; Q = (x, 0), K = (1, 0), V = (1, y), two tokens."

SIDE = tuple(Fraction(k, 2) for k in range(-4, 5))

STYLES = ((ORANGE, "s"), (BLUE, "o"), (GREY, "."))
"""Of the coefficients, the smallest first."""


def weights_at(place: Place) -> Weights:
    """Return a point of the plane: scores are zero on `x = 0`, values and scores have a common factor on `y = 0`."""
    x, y = place
    return Weights.of({"Q1": [[x, 0]], "K1": [[1, 0]], "V1": [[1, y]]})


def picture() -> Picture:
    """Return the plane, each point with its coefficient."""
    found = {(x, y): learning_coefficient(weights_at((x, y))) for y in SIDE for x in SIDE}
    kinds: dict[tuple[str, ...], list[Place]] = {}
    for place, coefficient in found.items():
        kinds.setdefault((str(coefficient.value), str(coefficient.multiplicity), coefficient.proof), []).append(place)
    rows = tuple((*kind, str(len(places)), *map(str, places[0])) for kind, places in sorted(kinds.items()))
    return Picture(
        "coefficients",
        "Learning coefficients on a plane of weights",
        SAID,
        ("lambda", "m", "proof", "points", "x of one", "y of it"),
        rows,
        partial(_draw, found={place: coefficient.upper for place, coefficient in found.items()}),
    )


def _draw(figure: Figure, found: dict[Place, Fraction]) -> None:
    axes = plain_axes(figure, CAPTION)
    for value, (colour, shape) in zip(sorted(set(found.values())), STYLES, strict=True):
        places = [(float(x), float(y)) for (x, y), coefficient in found.items() if coefficient == value]
        axes.plot(
            *zip(*places, strict=True),
            color=colour,
            marker=shape,
            linestyle="",
            markersize=8,
            label=f"$\\lambda$ = {value}",
        )
    axes.set(xlabel="$x$", ylabel="$y$", aspect="equal")
    grey_legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
