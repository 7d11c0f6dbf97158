r"""Jets of one-head networks with normalized scores: Taylor coefficients of the mean output along lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Result, latex_words, typed
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.fibers.virtual_moves import is_zero
from lightning_sym.limits import DEFAULT_WORK, Progress, Work, require_integer
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.attention import forward
from lightning_sym.network.form import LIGHTNING_FORM
from lightning_sym.network.prices import output_over_sizes
from lightning_sym.network.virtual_weights import exact_virtual_weights
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.arrays import exact_number
from lightning_sym.rings.normalization import Normalization
from lightning_sym.rings.sizes import Price
from lightning_sym.varieties.two_tokens import (
    Line,
    Vector,
    basis_of_directions,
    last_degree,
    quadratic,
    slope,
    two_token_form,
)

PROVED = frozenset({"normalization"})
"""The options that Theorem 7 of `docs/softmax-fibers.md` is about."""

DEEPEST = 5
"""Layers of a jet: the degree grows by three with each."""

MOST_LINES = 10_000
"""Lines of a jet."""


class JetLine(NamedTuple):
    r"""The series along one line.

    Attributes:
        mean: $m$, the weighted mean of the input divided by $\varepsilon$.
        difference: $y$, the first token less any other, divided by $\varepsilon$.
        coefficients: of $\varepsilon, \varepsilon^3, \varepsilon^5, \dots$ in the mean of all outputs; vectors.
    """

    mean: Vector
    difference: Vector
    coefficients: tuple[Vector, ...]

    def __repr__(self) -> str:
        return typed("JetLine", self._asdict())


@dataclass(frozen=True, eq=False, repr=False)
class Jet(Result):
    r"""Taylor coefficients of the mean output at $\varepsilon (m, y)$: token 1 is $\varepsilon (m + (1 - 1/t) y)$, all
    others are $\varepsilon (m - y/t)$.

    Attributes:
        architecture: one head, normalized scores, nothing added; at least two tokens.
        series: the lines, and the coefficients along each, at least up to degree $2 \cdot 3^{l-1} + 1$.

    Raises:
        BadInput: the network is another one, or the lines are not of it.

    Example:
        >>> from lightning_sym import SOFTMAX, NetworkForm
        >>> jet = softmax_jet(Weights.of({"Q1": [[2]], "K1": [[3]], "V1": [[5]]}, NetworkForm(SOFTMAX)), tokens=2)
        >>> jet.series[0].coefficients       # 5 (eps + eps^3 6 / 4)
        ((Fraction(5, 1),), (Fraction(15, 2),))
    """

    architecture: Architecture
    series: tuple[JetLine, ...]

    def __post_init__(self) -> None:
        require_jets(self.architecture)
        d, d_out = self.architecture.input_width, self.architecture.output_width
        if not self.series or len(self.series) > MOST_LINES:
            raise BadInput(f"a jet must have at least one line and at most {MOST_LINES:,}, got {len(self.series)}")
        least = last_degree(self.architecture.depth) // 2 + 1
        for line in self.series:
            sizes = {len(line.mean), len(line.difference)}
            if sizes != {d} or {len(c) for c in line.coefficients} != {d_out}:
                raise ShapeError(f"lines must be of {d} coordinates, and coefficients of {d_out}")
            if not least <= len(line.coefficients) <= 4 * least:
                degree = last_degree(self.architecture.depth)
                raise BadInput(
                    f"a line must have coefficients of degrees 1, 3, ..., at least up to {degree}, {least} of them, "
                    f"and at most {4 * least}; got {len(line.coefficients)}"
                )

    @property
    def order(self) -> int:
        """The highest degree of a coefficient."""
        return 2 * max(len(line.coefficients) for line in self.series) - 1

    _sentences = (
        ("network", lambda jet: network_line(jet.architecture)),
        ("jet", lambda jet: f"{len(jet.series)} lines, up to degree {jet.order}"),
    )

    def _latex(self) -> str:
        return latex_words(f"{len(self.series)} lines, up to degree {self.order}")


def require_jets(architecture: Architecture) -> None:
    """Refuse networks whose jets Theorem 7 is not about.

    Raises:
        BadInput: by name.
    """
    architecture.require("recovery from a jet", PROVED)
    if architecture.normalization is None:
        raise BadInput(f"jets must be of networks with normalized scores (softmax), got {architecture}")
    slope(architecture.normalization)
    if architecture.tokens < 2:
        raise BadInput("jets must be of at least 2 tokens: at one token the function is V~ x, and shows nothing else")
    if architecture.depth > DEEPEST:
        raise BadInput(f"jets must be of at most {DEEPEST} layers, got {architecture.depth}")


def price_of_lines(architecture: Architecture, lines: int, order: int) -> Price:
    """Return what the series along some lines take, through all layers: the forward pass at two tokens, over sizes."""
    architecture.require("recovery from a jet", PROVED)
    price = Price("series", series=order + 1)
    output_over_sizes(replace(architecture, tokens=2), price)
    return price.repeated(lines)


def softmax_jet(
    weights: Weights,
    tokens: int = 2,
    *,
    directions: Sequence[Sequence[object]] | None = None,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> Jet:
    r"""Return the jet of a network: what `recover_from_jet` asks for, exact.

    Args:
        weights: exact ones, of a network with one head and normalized scores.
        tokens: $t$, at least 2.
        directions: the differences $y$, one line for each of them and each unit vector as mean. By default a basis of
            short integer vectors at which no $q_i$, `i < l`, and not $\tilde V y$ is zero, as far as there is one.
        work: seconds that it may take, by a rough estimate.
        progress: called with stage, steps done and steps in all.

    Raises:
        BadInput: the network is another one, or $S'(0) = 0$, or a direction is none.
        TooLarge: an estimate exceeds `work`.

    Example:
        >>> from lightning_sym import SOFTMAX, NetworkForm
        >>> w = Weights.of({"Q1": [[1, 0]], "K1": [[0, 1]], "V1": [[1, 1]]}, NetworkForm(SOFTMAX))
        >>> print(softmax_jet(w, tokens=3))
        network     softmax attention, one head, widths 2,1, ranks 1, tokens 3
        jet         4 lines, up to degree 3
    """
    require_arguments(softmax_jet, locals())
    weights.require_numbers("the jet of a network")
    require_integer(tokens, "tokens", 1)
    shape = weights.architecture(tokens)
    require_jets(shape)
    normalization = shape.normalization
    assert isinstance(normalization, Normalization)  # noqa: S101 - for the type checker
    d, order = shape.input_width, last_degree(shape.depth)
    Work(work, progress).spend(price_of_lines(shape, d * d, order).seconds, "the series along the lines")
    chosen = _given(directions, d) if directions is not None else _fitting(weights, d)
    form, plain = two_token_form(normalization, tokens), weights.with_form(LIGHTNING_FORM).layers
    lines = []
    for y in chosen:
        for mean in unit_vectors(d):
            line = Line(mean, y, tokens, order)
            layers = [Layer(*map(line.stream.like, layer)) for layer in plain]
            line.stream = forward(line.stream, layers, form)
            coefficients = tuple(tuple(line.mean_coefficient(k)) for k in range(1, order + 1, 2))
            lines.append(JetLine(mean, y, coefficients))
    return Jet(shape, tuple(lines))


def unit_vectors(width: int) -> list[Vector]:
    """Return the unit vectors.

    Example:
        >>> unit_vectors(2)[1]
        (Fraction(0, 1), Fraction(1, 1))
    """
    return [tuple(Fraction(int(i == k)) for k in range(width)) for i in range(width)]


def _given(directions: Sequence[Sequence[object]], width: int) -> list[Vector]:
    found = []
    for each in directions:
        if not isinstance(each, (list, tuple, np.ndarray)) or len(each) != width:
            raise BadInput(f"directions must be vectors of {width} numbers")
        found.append(tuple(exact_number(x, "an entry of a direction") for x in each))
    if not found or len(found) * width > MOST_LINES:
        raise BadInput(f"directions must be at least one and at most {MOST_LINES // width}, got {len(found)}")
    return found


def _fitting(weights: Weights, width: int) -> list[Vector]:
    virtual = exact_virtual_weights(weights.with_form(LIGHTNING_FORM))
    forms = [a for a in virtual.attention[:-1] if not is_zero(a + a.T)]
    row = next((r for r in virtual.value if any(r)), None)

    def fits(y: tuple[int, ...]) -> bool:
        return all(quadratic(a, y) != 0 for a in forms) and (row is None or row @ np.array(y, dtype=object) != 0)

    return [tuple(map(Fraction, y)) for y in basis_of_directions(width, len(virtual.attention), fits)]
