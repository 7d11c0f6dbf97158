"""Figure 1: the quartic surface, from exact points; its singular line, and the part of it that no weights reach."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightning_cli.pictures.drawing import GREY, ORANGE, Picture, write_caption
from lightning_sym.display import rows_in_line
from lightning_sym.geometry.classify import classify
from lightning_sym.geometry.resultant_slice import SlicePoint, forms, resultant
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from matplotlib import collections

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

CAPTION = (
    "Exact: every corner is a rational point of $u^2 + w^2 = z^2 u^2$, the resultant of "
    "$f = (1+z)\\,r^2 + (1-z)\\,s^2$, $g = w\\,(r^2-s^2) + 2u\\,rs$."
)
SAID = (
    "Exact: every corner is a rational point of u^2 + w^2 = z^2 u^2, the resultant of f = (1 + z) r^2 + (1 - z) s^2 "
    "and g = w (r^2 - s^2) + 2 u r s; floats place it on the paper."
)

STEPS, BETWEEN, OUT, RADIUS = 27, 42, 9, Fraction(15, 8)
"""Rulings to each side of the middle one, the denominator of their common zero, pieces of a ruling, where it ends."""

TOP, DOTS, LINE = Fraction(17, 7), 12, 60
_EYE = np.array([0.50, 0.30, 0.81])  # the direction to the reader: u, z, w
_LIGHT = np.array([0.55, 0.85, 0.35])
_DISTANCE = 11.0


def _rows() -> Iterator[tuple[str, ...]]:
    """Yield exact points with their weights, and what `classify` says of them."""
    # the points of the table: what they show, and where they are
    zeros = [(1, 2, 5), (1, 2, 0), (0, 1, 0), (1, 0, 0)]
    names = ["on a sheet", "on the singular line", "its upper end", "its lower end"]
    for name, point in [
        (name, SlicePoint((Fraction(s), Fraction(t)), Fraction(r)))
        for name, (s, t, r) in zip(names, zeros, strict=True)
    ]:
        weights = point.weights
        kind = ", ".join(label.value for label in classify(weights).labels)
        place = tuple(map(str, point.coordinates))
        yield (name, *place, rows_in_line(weights["Q1"]), rows_in_line(weights["V1"]), kind)
    yield ("between the ends", "0", "0", "0", "none", "none", "in the closure only")


# --- floats from here on


def _world(u: Fraction, w: Fraction, z: Fraction) -> Floats:
    return np.array([float(u), float(z), float(w)])


def _projected(points: Floats) -> tuple[Floats, Floats]:
    """Return the places on the paper, and how far from the reader."""
    towards = _EYE / np.linalg.norm(_EYE)
    right = np.cross([0.0, 1.0, 0.0], towards)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(towards, right)], axis=1)
    depth = _DISTANCE - points @ towards
    return points @ axes * (_DISTANCE / depth)[..., None], depth


def _patches() -> Iterator[tuple[Floats, Floats, bool]]:
    """Yield corners and normal of every piece of the surface; pieces end at the singular line, where sheets cross.

    And whether its first and last corner are joined by a ruling that is drawn.
    """
    grid: dict[tuple[bool, int, int], Floats] = {}
    for upper in (True, False):
        for i in range(-STEPS, STEPS + 1):
            near = Fraction(i, BETWEEN)
            for j in range(-OUT, OUT + 1):
                radius = RADIUS * j * (abs(j) + 1) / (OUT * (OUT + 1))  # smaller pieces near the singular line
                point = SlicePoint((near, Fraction(1)) if upper else (Fraction(1), near), radius)
                u, w, z = point.coordinates
                assert resultant(*forms(u, w, z)) == 0  # noqa: S101 - what the caption says
                grid[upper, i, j] = _world(u, w, z)
    for (upper, i, j), corner in grid.items():
        if i < STEPS and j < OUT:
            corners = np.array([corner, *(grid[upper, i + a, j + b] for a, b in ((1, 0), (1, 1), (0, 1)))])
            yield corners, np.cross(corners[2] - corners[0], corners[3] - corners[1]), i % 9 == 0


def _shade(normal: Floats, middle: Floats) -> tuple[float, ...]:
    """Return the colour under one light; the side that looks away is darker."""
    towards = _EYE * _DISTANCE / np.linalg.norm(_EYE) - middle
    towards /= np.linalg.norm(towards)
    across = normal / (np.linalg.norm(normal) or 1.0)
    front = across @ towards > 0
    across = across if front else -across
    light = _LIGHT / np.linalg.norm(_LIGHT)
    half = (light + towards) / np.linalg.norm(light + towards)
    diffuse, shine = 0.36 + 0.64 * max(across @ light, 0.0), 0.16 * max(across @ half, 0.0) ** 16
    base = np.array([0.38, 0.66, 0.88]) if front else np.array([0.22, 0.50, 0.74])
    return tuple(np.round(np.clip(base * diffuse + shine, 0, 1), 2).tolist())


def _strip(a: Floats, b: Floats, width: float) -> Floats:
    """Return a line on the paper as a thin piece."""
    along = b - a
    side = np.array([-along[1], along[0]]) / (np.linalg.norm(along) or 1.0) * width / 2
    return np.array([a + side, b + side, b - side, a - side])


Piece = tuple[float, Floats, tuple[float, ...] | str]
"""How far it is, its corners on the paper, its colour."""


def _pieces() -> Iterator[Piece]:
    for corners, normal, ruled in _patches():
        places, depth = _projected(corners)
        colour = _shade(normal, corners.mean(axis=0))
        yield float(depth.mean()), places, colour
        if ruled:
            darker = tuple(round(0.8 * c, 2) for c in colour)
            yield float(depth.mean()) - 0.02, _strip(places[0], places[3], 0.014), darker
    for side in (1, -1):  # the singular line, a little in front of the sheets that cross in it
        heights = [side * (1 + (TOP - 1) * k / LINE) for k in range(LINE + 1)]
        places, depth = _projected(np.array([_world(Fraction(0), Fraction(0), Fraction(z)) for z in heights]))
        for k in range(LINE):
            yield float(depth[k]) - 0.12, _strip(places[k], places[k + 1], 0.075), ORANGE
    circle = np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(0, 2 * np.pi, 13)[:-1]]) * 0.045
    for k in range(1, DOTS):
        places, depth = _projected(_world(Fraction(0), Fraction(0), Fraction(2 * k, DOTS) - 1)[None])
        yield float(depth[0]) - 0.12, places[0] + circle, ORANGE


def _draw(figure: Figure) -> None:
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_aspect("equal")
    pieces = sorted(_pieces(), key=lambda piece: -piece[0])
    colours = [colour for _, _, colour in pieces]
    corners = [np.round(places, 3) for _, places, _ in pieces]
    # an edge of the same colour closes the seams between pieces
    axes.add_collection(
        collections.PolyCollection(corners, facecolors=colours, edgecolors=colours, linewidths=0.3, clip_on=False)
    )
    axes.autoscale_view()
    _label(axes)
    write_caption(figure, CAPTION)


def _label(axes: Axes) -> None:
    """Write what the parts are called."""
    for text, z, place in (
        ("singular line:\n$\\mathrm{rk}\\,A = 1$", Fraction(12, 5), (-2.9, 2.6)),
        ("only in the closure:\n$V$ would be complex", Fraction(0), (-2.9, 0.05)),
        ("boundary", Fraction(-1), (2.5, -0.5)),
    ):
        target, _ = _projected(_world(Fraction(0), Fraction(0), z)[None])
        axes.annotate(
            text, target[0], xytext=place, color=GREY, fontsize=10, ha="center", va="center",
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.8, "shrinkB": 4},
        )  # fmt: skip


def picture() -> Picture:
    """Return Figure 1 in a slice of three dimensions."""
    return Picture(
        "1",
        "Figure 1: points of the slice u^2 + w^2 = z^2 u^2",
        SAID,
        ("point", "u", "w", "z", "A", "V", "kind"),
        tuple(_rows()),
        partial(_draw),
        size=(7.6, 5.8),
    )
