r"""Theorem 7 of `docs/softmax-fibers.md`: all virtual weights from a jet, layer by layer, over the rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.errors import BadInput
from lightning_sym.exact.rational import rank, unique_solution
from lightning_sym.fibers.virtual_moves import is_zero
from lightning_sym.limits import DEFAULT_WORK, Progress, Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.normalization import Normalization
from lightning_sym.varieties.jets import Jet, JetLine, price_of_lines, require_jets
from lightning_sym.varieties.softmax_recovery import Found, SoftmaxRecovery, stands_behind
from lightning_sym.varieties.two_tokens import Line, last_degree, slope, two_token_form


def recover_from_jet(
    jet: Jet,
    architecture: Architecture | None = None,
    *,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> SoftmaxRecovery:
    r"""Return the weights of a one-head network with normalized scores from its jet, exact.

    Args:
        jet: rational coefficients along lines.
        architecture: the shape; that of the jet by default. Inner widths and ranks may be others than the jet's.
        work: seconds that it may take, by a rough estimate.
        progress: called with stage, steps done and steps in all.

    Returns:
        Weights, with what of them is determined: everything, if $\tilde V \ne 0$ and $q_i \ne 0$ for `i < l`, as then
        the jet is that of these weights alone; or everything up to the first blind layer. None, if no weights have this
        jet. Undecided, with the layers that are determined, if a matrix before the last is skew and does not
        make its layer blind, or if the lines are too few.

    Raises:
        BadInput: the network is another one, or the shape not that of the jet, or the means of its lines do not span.
        TooLarge: an estimate exceeds `work`.

    Example:
        >>> from lightning_sym import NetworkForm, SOFTMAX, Weights, softmax_jet
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[0.5, 1]], "V1": [[1, 1]]}, NetworkForm(SOFTMAX))
        >>> print(recover_from_jet(softmax_jet(w, tokens=2)))
        network     softmax attention, one head, widths 2,1, ranks 1, tokens 2
        answer      weights
        V~          1 1
        A~1         1/2 1; 1 2
        determined  all virtual weights
        checked     the jet of these weights is the jet
    """
    require_arguments(recover_from_jet, locals())
    shape = jet.architecture if architecture is None else architecture
    require_jets(shape)
    own = jet.architecture
    if _fixed(shape) != _fixed(own):
        raise BadInput(f"the shape must have tokens, depth, input and output of the jet, those of {own}; got {shape}")
    # the lines layer by layer, once more to compare, and a linear system of as many rows
    seconds = 4 * price_of_lines(shape, len(jet.series), jet.order).seconds
    Work(work, progress).spend(seconds, "the series along the lines")
    return _AskedJet(jet, shape).answer()


def _fixed(shape: Architecture) -> tuple[object, ...]:
    return shape.normalization, shape.tokens, shape.depth, shape.input_width, shape.output_width


class _AskedJet:
    """A jet, and the series along its lines behind the layers that are known so far."""

    def __init__(self, jet: Jet, shape: Architecture) -> None:
        normalization = shape.normalization
        assert isinstance(normalization, Normalization)  # noqa: S101 - for the type checker
        self.jet, self.shape, self.found = jet, shape, Found(shape)
        self.form = two_token_form(normalization, shape.tokens)
        t = shape.tokens
        self.factor = Fraction(t - 1, t * t) * slope(normalization)
        self.known = [Line(line.mean, line.difference, t, jet.order) for line in jet.series]

    def answer(self) -> SoftmaxRecovery:
        found, shape = self.found, self.shape
        means = np.array([line.mean for line in self.jet.series], dtype=object)
        first = np.array([line.coefficients[0] for line in self.jet.series], dtype=object)
        if rank(means) < shape.input_width:
            raise BadInput("the means of the lines must span the space of inputs, or V~ does not show")
        value = unique_solution(means, first)
        if value is None:
            return found.none("the terms of degree 1 are no linear function of the mean; of a network they are V~ m")
        found.value = value.T
        if is_zero(found.value):
            return self._compared()
        for i in range(1, shape.depth + 1):
            refused = self._layer(i)
            if refused is not None:
                return refused
            attention = found.attention[-1]
            for line in self.known:
                line.attend(attention, self.form)
            why = stands_behind(attention, shape) if i < shape.depth else None
            if why == "blind":
                break
            if why is not None:
                return found.skew(
                    i,
                    "two distinct tokens do not show the layers behind it to the orders that are read, "
                    "though the function may determine them",
                )
        return self._compared()

    def _layer(self, i: int) -> SoftmaxRecovery | None:
        """Find the matrix of a layer, the ones before it being known; or the answer, if there is none."""
        d, degree, value = self.shape.input_width, last_degree(i), self.found.value
        assert value is not None  # noqa: S101 - for the type checker
        rows, right = [], []
        for line, known in zip(self.jet.series, self.known, strict=True):
            y, r = np.array(line.difference, dtype=object), known.leading(i - 1)
            seen = value @ y
            k = next((k for k, x in enumerate(seen) if x), None)
            if r == 0 or k is None:
                continue
            more = line.coefficients[degree // 2][k] - (value @ known.mean_coefficient(degree))[k]
            rows.append(np.outer(y, np.array(line.mean, dtype=object)).ravel())
            right.append([more / (self.factor * r * r * seen[k])])
        least = rank(rows) if rows else 0
        if least < d * d:
            return self.found.undecided(
                f"the lines give {least} independent equations for the {d * d} entries of A~{i}: there must be more, "
                f"with differences y at which V~ y and q_j(y), j < {i}, are not 0",
                f"{d * d} independent equations for A~{i}, got {least}",
            )
        solution = unique_solution(rows, right)
        if solution is None:
            return self.found.none(f"the terms of degree {degree} are those of no matrix A~{i}")
        self.found.attention.append(np.asarray(solution, dtype=object).reshape(d, d))
        return None

    def _compared(self) -> SoftmaxRecovery:
        """Return the whole jet once more, as it must be."""
        for number, (line, known) in enumerate(zip(self.jet.series, self.known, strict=True), start=1):
            if (degree := self._wrong(line, known)) is not None:
                return self.found.none(
                    f"the only virtual weights that are possible have another coefficient of degree {degree} along "
                    f"line {number}"
                )
        return self.found.weights("the jet of these weights is the jet")

    def _wrong(self, line: JetLine, known: Line) -> int | None:
        value: ObjectArray | None = self.found.value
        for place, given in enumerate(line.coefficients):
            if tuple(value @ known.mean_coefficient(2 * place + 1)) != given:
                return 2 * place + 1
        return None
