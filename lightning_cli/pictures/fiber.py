"""`figure fiber FILE`: the weights of one function, along the rescalings of the first layer, component by component."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from lightning_cli.pictures.drawing import BLUE, GREEN, GREY, ORANGE, PINK, SKY, Picture, grey_legend, plain_axes
from lightning_sym.display import rows_in_line
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.fibers.fiber import fiber
from lightning_sym.fibers.points import Component
from lightning_sym.fibers.same_function import same_function
from lightning_sym.network.virtual_weights import VirtualWeights
from lightning_sym.network.weights import Weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY)
_SHAPES = ("o", "s", "^", "D", "v")
_STEPS = 40
"""A rescaling is `(n + k) / (n - k)`, `k` up to half of `n` for one layer: from a third to three."""

_CORNER = 6

Place = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Branch:
    """One component that has rational members: its points along the first rescaling, of either sign.

    Attributes:
        over: how many connected components of weights lie over each of its curves; `None` where not known.
    """

    name: str
    here: Place
    curves: tuple[tuple[Place, ...], ...]
    over: int | None = None


def _member_parameters(component: Component, scale: Fraction, sign: int = 1) -> dict[str, object]:
    """Return the parameters of a member; behind the first rescaling all stay where the component's own member has them,
    but for the sign of the second one."""
    assert component.virtual is not None  # noqa: S101 - others are left out
    size = len(component.virtual.attention[0])
    still = {"scale": 1, "skew": [[0] * size for _ in range(size)]}
    values = {each.name: still[each.kind] if place else scale for place, each in enumerate(component.parameters)}
    return values | {each.name: sign for each in component.parameters if each.kind == "scale" and each.layer == 2}


def _entries(members: list[VirtualWeights]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the entries of the first attention matrix and the value matrix that tell most components apart."""

    def apart(pair: tuple[tuple[int, int], tuple[int, int]]) -> tuple[bool, int, int]:
        first, last = pair
        products = [member.attention[0][first] * member.value[last] for member in members]
        return bool(products[0]), len(set(products)), sum(map(bool, products))

    rows, columns = members[0].attention[0].shape
    outputs, _ = members[0].value.shape
    # of a large matrix a corner is enough
    attention = product(range(min(rows, _CORNER)), range(min(columns, _CORNER)))
    value = product(range(min(outputs, _CORNER)), range(min(columns, _CORNER)))
    return max(product(attention, value), key=apart)


def _branches(components: list[Component]) -> tuple[list[Branch], str, str]:
    """Return the curves, and the names of the two entries."""
    members = [component.virtual for component in components if component.virtual is not None]
    (i, j), (m, n) = _entries(members)
    depth = len(members[0].attention)
    # how far `k` goes; powers of a rescaling grow with the depth
    reach = {1: _STEPS // 2, 2: _STEPS // 5}.get(depth, 1)

    def place(component: Component, scale: Fraction, sign: int = 1) -> Place:
        found = component.at(**_member_parameters(component, scale, sign))
        return Fraction(found.attention[0][i, j]), Fraction(found.value[m, n])

    made = []
    for number, component in enumerate(components, start=1):
        scales = [Fraction(_STEPS + k, _STEPS - k) for k in range(-reach, reach + 1)]
        signs = product((1, -1), (1, -1) if depth > 1 else (1,))
        curves = tuple(tuple(place(component, one * scale, two) for scale in scales) for one, two in signs)
        made.append(Branch(f"component {number}", place(component, Fraction(1)), curves))
    letter = "A" if depth == 1 else r"\tilde A_1"
    value = "V" if depth == 1 else r"\tilde V"
    return made, f"${letter}$, row {i + 1}, column {j + 1}", f"${value}$, row {m + 1}, column {n + 1}"


def _compared(weights: Weights, component: Component, scale: Fraction, tokens: int) -> str:
    """Return whether weights with these virtual weights have the same function as the given ones, decided anew."""
    try:
        other = component.point(**_member_parameters(component, scale))
    except TooLarge:
        raise
    except BadInput:  # the ranks are too large for the widths
        return "no weights of this shape"
    return same_function(weights, other, tokens).answer.value


def _rows(weights: Weights, tokens: int, components: list[Component]) -> Iterator[tuple[str, ...]]:
    """Yield some members, each compared with the given weights."""
    for number, component in enumerate(components, start=1):
        for scale in (Fraction(1), Fraction(6, 5), Fraction(-1)):
            member = component.at(**_member_parameters(component, scale))
            same = _compared(weights, component, scale, tokens)
            shown = [rows_in_line(m) for m in (*member.attention, member.value)]
            yield (str(number), str(scale), *shown, same)


def picture(weights: Weights, tokens: int = 2) -> Picture:
    """Return the fiber of weights.

    Raises:
        BadInput: this is not lightning attention with one head and nothing added, or the function is zero:
            then the fiber is a union of linear spaces.
    """
    weights.require_plain("figure fiber")
    found = fiber(weights, tokens)
    known = [component for component in found.components if component.virtual is not None]
    if any(each.kind not in ("scale", "skew") for component in known for each in component.parameters):
        raise BadInput("figure fiber: the function must not be zero; the fiber of zero is a union of linear spaces")
    branches, across, up = _branches(known)
    over = () if found.real is None else found.real.over
    if depth_is_drawn := len(weights.layers) <= 2 and len(over) == len(found.components):
        told = (number for number, each in zip(over, found.components, strict=True) if each.virtual is not None)
        branches = [replace(branch, over=number) for branch, number in zip(branches, told, strict=True)]
    left_out = len(found.components) - len(known)
    all_of_it = {"R": "all of the fiber", "Q": "all that is rational", None: "there may be more"}[found.complete_over]
    drawn, depth = sum(len(branch.curves) for branch in branches), len(weights.layers)
    caption = f"Exact: each mark is a rational point with the same function. {len(found.components)} "
    caption += f"{'family' if len(found.components) == 1 else 'families'}, {all_of_it}; of dimension "
    caption += f"{known[0].dimension}, drawn: {drawn} branches, the rescalings of layer 1"
    caption += ". " if depth == 1 else " by the signs of layers 1 and 2. "
    if found.real is not None and found.real.virtual is not None:
        caption += f"Connected components: {found.real.virtual} in virtual weights"
        caption += ", of which those lie on each other that differ in layers behind the second" * (depth > 2)
        caption += f", {found.real.count} in (Q, K, V)"
        caption += ": on each branch the number that lies over it." if depth_is_drawn else "."
    caption += f" {left_out} with real points that are not rational: not drawn." if left_out else ""
    names = ("A", "V") if depth == 1 else (*(f"A~{i}" for i in range(1, depth + 1)), "V~")
    return Picture(
        "fiber",
        f"The weights with one function: {found.source}",
        caption,
        ("component", "lambda", *names, "same function"),
        tuple(_rows(weights, tokens, known)),
        partial(_draw, branches=branches, across=across, up=up, caption=caption),
    )


def _draw(figure: Figure, branches: list[Branch], across: str, up: str, caption: str) -> None:
    axes = plain_axes(figure, caption)
    axes.axhline(0, color=GREY, linewidth=0.6)
    axes.axvline(0, color=GREY, linewidth=0.6)
    for number, branch in enumerate(branches):
        colour, shape = _COLOURS[number % 5], _SHAPES[number % 5]
        for curve in branch.curves:
            x, y = ([float(place[k]) for place in curve] for k in (0, 1))
            every = max(len(curve) // 8, 1)
            axes.plot(x, y, color=colour, linewidth=2, marker=shape, markersize=5, markevery=every)
            if branch.over is not None:
                end = float(curve[-1][0]), float(curve[-1][1])
                away = (6, 6 if end[1] > 0 else -16)  # from the axis
                axes.annotate(str(branch.over), end, xytext=away, textcoords="offset points", color=GREY)
        axes.plot(
            *map(float, branch.here), color=colour, marker=shape, markersize=12, markeredgecolor=GREY, linestyle="-",
            label=branch.name + (", the given weights" if number == 0 else ""),
        )  # fmt: skip
    axes.set(xlabel=across, ylabel=up)
    grey_legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
