"""`figure roots`: two layers, one token, width 2: a binary form of degree nine, its roots moving with the weights."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from lightning_cli.pictures.drawing import BLUE, GREEN, GREY, ORANGE, Picture, grey_legend, plain_axes
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.polynomial_map import polynomial_map
from lightning_sym.network.weights import Weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "Exact: the form $\\varphi(x, y) = q_1^3\\, q_2\\, v$ at each rational $s$, and how often each root counts.\n"
    "$q_1 = x^2 + s\\,y^2$ (layer 1), $q_2 = (x - 2y)^2 + (1/2 - s)\\,y^2$ (layer 2), "
    "$v = x + (3 - s)\\,y$ ($\\tilde V$)"
)
SAID = "Exact: the polynomial at each rational s, the multiplicities of its roots, and how many are real (Sturm)."

PLACES = tuple(Fraction(k, 8) for k in range(-8, 9))

Factors = list[tuple[list[Fraction], int]]
"""Factors without multiple roots, leading coefficient first, each with its multiplicity."""


def weights_at(s: Fraction) -> Weights:
    """Return weights of two layers of width 2, one output."""
    first: list[list[object]] = [[1, 0], [0, s]]
    second: list[list[object]] = [[1, -2], [-2, Fraction(9, 2) - s]]
    last: list[list[object]] = [[1, 3 - s]]
    one: list[list[object]] = [[1, 0], [0, 1]]
    return Weights.of(
        {
            "Q1": first, "K1": one, "V1": one,
            "Q2": second, "K2": one, "V2": last,
        }
    )  # fmt: skip


def factors_at(s: Fraction) -> tuple[Factors, int]:
    """Return the factors of the network's polynomial at `y = 1`, by multiplicity, and how many real roots differ."""
    phi = polynomial_map(Architecture((2, 2, 1), (2, 2), 1), weights_at(s)).matrix()[0]
    x, y = sorted(phi.free_symbols, key=str)
    form = sympy.Poly(phi.subs(y, 1), x, domain="QQ")
    parts = form.sqf_list()[1]
    real = sum(factor.count_roots() for factor, _ in parts)
    return [([Fraction(str(c)) for c in factor.all_coeffs()], multiplicity) for factor, multiplicity in parts], real


def _type(factors: Factors) -> str:
    """Return the multiplicities of the roots, largest first."""
    found = sorted((m for factor, m in factors for _ in factor[1:]), reverse=True)
    return ",".join(map(str, found))


def picture() -> Picture:
    """Return the picture of roots of type (3, 3, 1, 1, 1), and what happens where two of them meet."""
    found = {s: factors_at(s) for s in PLACES}
    rows = tuple((str(s), _type(factors), str(real)) for s, (factors, real) in found.items())
    return Picture(
        "roots",
        "Two layers, one token, widths 2,2,1: roots",
        SAID,
        ("s", "multiplicities", "real roots"),
        rows,
        partial(_draw, found={s: factors for s, (factors, _) in found.items()}),
        size=(7.2, 3.5),
    )


def _draw(figure: Figure, found: dict[Fraction, Factors]) -> None:
    axes = plain_axes(figure, CAPTION)
    axes.axhline(0, color=GREY, linewidth=0.8)
    names = {3: (BLUE, "counts three times"), 1: (GREEN, "counts once"), 6: (ORANGE, ""), 2: (ORANGE, "where two meet")}
    first, last = PLACES[0], PLACES[-1]
    for s, factors in found.items():
        for z, m in [(complex(z), m) for factor, m in factors for z in np.roots([float(c) for c in factor])]:
            colour, _ = names[m]
            met = m in (2, 6)
            alpha = 1.0 if met or s in (first, last) else float(0.2 + 0.6 * (s - first) / (last - first))
            fill = "none" if s == first else colour
            axes.plot(
                z.real,
                z.imag,
                marker="D" if met else "o",
                color=colour,
                markerfacecolor=fill,
                alpha=alpha,
                markersize={1: 5, 3: 8, 2: 9, 6: 13}[m],
            )
            if s in (first, last) or met:
                above: dict[str, Any] = {"xytext": (0, 11), "ha": "center"} if z.imag == 0 else {"xytext": (11, -4)}
                if met:
                    above = {"xytext": (9, 8)}
                axes.annotate(f"{m}", (z.real, z.imag), textcoords="offset points", color=GREY, **above)
    for m in (3, 1, 2):
        colour, label = names[m]
        axes.plot([], [], marker="D" if m == 2 else "o", linestyle="", color=colour, label=label)
    axes.plot([], [], marker="o", linestyle="", color=GREY, markerfacecolor="none", label=f"$s = {first}$")
    axes.plot([], [], marker="o", linestyle="", color=GREY, label=f"$s = {last}$")
    axes.set(aspect="equal", xlabel="real part of $x / y$", ylabel="imaginary part")
    grey_legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, columnspacing=1.0, handletextpad=0.2)
