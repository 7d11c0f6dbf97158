"""`figure poles`: where the neurons of two layers have their poles, on a complex curve in the sphere."""

from __future__ import annotations

from functools import partial
from math import asinh, atan2, hypot, pi
from typing import TYPE_CHECKING, NamedTuple

from lightning_cli.pictures.drawing import BLUE, GREY, ORANGE, Picture, grey_legend, plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "The stream at infinity is $r(z) = 2\\,(\\cos z, \\sin z, 0, 0)$, and all halves add up there.\n"
    "A neuron with SiLU has its poles where $g \\cdot r(z)$ is an odd multiple of $\\pi\\mathrm{i}$: above the two\n"
    "real $z$ at which its gate is 0. No two gates are parallel, so no two neurons share a pole."
)
SAID = "Exact: gates are integers, and the determinant of each two is not 0, so no two neurons share a pole."


class Neuron(NamedTuple):
    """A neuron: its layer, and the first two entries of its gate, which are all that the curve meets."""

    layer: int
    gate: tuple[int, int]


NEURONS = (Neuron(1, (2, 1)), Neuron(1, (-1, 2)), Neuron(2, (3, -1)), Neuron(2, (1, 4)))
BRANCHES = (1, 3, 5)


def determinant(one: Neuron, other: Neuron) -> int:
    """Return the determinant of the gates of two neurons; it is 0 exactly where they are parallel."""
    return one.gate[0] * other.gate[1] - one.gate[1] * other.gate[0]


def poles(neuron: Neuron) -> list[complex]:
    """Return the first poles of a neuron, as floats: `2 |g| cos(z - phi)` is an odd multiple of `pi i`.

    Example:
        >>> one = poles(NEURONS[0])
        >>> len(one), all(0 <= z.real < 6.2832 for z in one)
        (12, True)
    """
    size, angle = 2 * hypot(*neuron.gate), atan2(neuron.gate[1], neuron.gate[0])
    heights = [sign * asinh(k * pi / size) for k in BRANCHES for sign in (1, -1)]
    return [complex((angle + turn * pi / 2) % (2 * pi), height) for turn in (1, 3) for height in heights]


def picture() -> Picture:
    """Return the picture of the poles of four neurons in two layers."""
    rows = tuple(
        (
            str(number),
            str(neuron.layer),
            ", ".join(map(str, neuron.gate)),
            ", ".join(str(determinant(neuron, other)) for other in NEURONS if other is not neuron),
        )
        for number, neuron in enumerate(NEURONS, start=1)
    )
    return Picture(
        "poles",
        "Two layers, four neurons: poles at infinity",
        SAID,
        ("neuron", "layer", "gate", "determinants with the others"),
        rows,
        partial(_draw),
        size=(7.2, 4.0),
    )


def _draw(figure: Figure) -> None:
    axes = plain_axes(figure, CAPTION)
    axes.axhline(0, color=GREY, linewidth=0.8)
    colours, shapes = {1: BLUE, 2: ORANGE}, {1: "o", 2: "D"}
    for number, neuron in enumerate(NEURONS, start=1):
        found = poles(neuron)
        axes.plot(
            [z.real for z in found], [z.imag for z in found], linestyle="", color=colours[neuron.layer],
            marker=shapes[neuron.layer], markersize=5,
        )  # fmt: skip
        for real in sorted({z.real for z in found}):
            axes.axvline(real, color=GREY, linewidth=0.5, alpha=0.5)
            axes.annotate(f"{number}", (real, 0), textcoords="offset points", xytext=(4, 4), color=GREY)
    for layer, colour in colours.items():
        axes.plot([], [], linestyle="", marker=shapes[layer], color=colour, label=f"neurons of layer {layer}")
    axes.plot([], [], color=GREY, linewidth=0.8, label="real $z$: the sphere itself")
    axes.set(xlim=(0, 2 * pi), xlabel="real part of $z$", ylabel="imaginary part")
    grey_legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handletextpad=0.2)
