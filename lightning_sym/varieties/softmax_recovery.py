r"""Weights of one-head softmax networks from what their function shows, and what of them is determined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from lightning_sym.ask import FellShort
from lightning_sym.display import Result, cut_text, latex_matrix, rows_in_line, spelled_rows
from lightning_sym.errors import no_truth_value
from lightning_sym.exact.number_field import RATIONALS
from lightning_sym.fibers.softmax import is_blind
from lightning_sym.fibers.virtual_moves import is_zero
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.varieties.candidates import Candidate, misfit
from lightning_sym.varieties.decimals import decimal, least_power_of_ten
from lightning_sym.varieties.jets import PROVED
from lightning_sym.varieties.map_recovery import Membership
from lightning_sym.varieties.realization import actual_weights

MOST_PLACES = 30
"""Digits behind the point that the text shows."""


@no_truth_value("recovery.answer is Membership.WEIGHTS")
@dataclass(frozen=True, eq=False, repr=False)
class SoftmaxRecovery(Result):
    r"""The answer, what of the weights is determined, and what it rests on.

    Attributes:
        architecture: the shape that was asked about.
        answer: weights of it; none, if no weights of it have this function; or undecided.
        attention: the matrices $\tilde A_1, \tilde A_2, \dots$ that are determined, the first ones; further ones, if
            there are any, the function does not see.
        value: $\tilde V$; `None` where it is not determined.
        radius: where weights are not exact: each entry of `attention` and of `value` is within this of the true one.
        matrices: for `WEIGHTS`, weights of the shape as text.
        reasons: what fails, a line each.
        assumptions: what the answer rests on, beside the answers of a black box, a line each.
        queries: how many were asked.
        digits: behind the point, in each number of an answer; `None` without queries.
        checked: what was compared in the end.
        tried: the theorem that was asked in vain, with the hypothesis that is not known to hold.
    """

    architecture: Architecture
    answer: Membership
    attention: tuple[Any, ...] = ()
    value: Any = None
    radius: Fraction | None = None
    matrices: dict[str, list[list[str]]] | None = None
    reasons: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    queries: int = 0
    digits: int | None = None
    checked: str = ""
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def weights(self) -> Weights | None:
        """Exact weights of the network, `None` where there are none."""
        if self.matrices is None or self.radius is not None:
            return None
        exact = {name: [[Fraction(x) for x in row] for row in rows] for name, rows in self.matrices.items()}
        return Weights.of(exact, NetworkForm.of(self.architecture))

    _sentences = (
        ("network", lambda self: network_line(self.architecture)),
        ("answer", "{0.answer.value}"),
        ("V~", lambda self: None if self.value is None else cut_text(_rows(self.value, self.radius))),
        ("", lambda self: [(f"A~{i}", cut_text(_rows(a, self.radius))) for i, a in enumerate(self.attention, start=1)]),
        ("radius", lambda self: None if self.radius is None else _WITHIN.format(_power_of_ten(self.radius))),
        ("determined", lambda self: self.determined if self.answer is Membership.WEIGHTS else None),
        ("", lambda self: [("because", reason) for reason in self.reasons]),
        ("queries", lambda self: None if self.digits is None else _QUERIES.format(self)),
        ("", lambda self: [("if", assumption) for assumption in self.assumptions]),
        ("checked", lambda self: self.checked or None),
        ("tried", lambda self: map(str, self.tried)),
    )

    @property
    def determined(self) -> str:
        """What of the weights the function determines, in words."""
        depth, known = self.architecture.depth, len(self.attention)
        if known == depth:
            return "all virtual weights"
        if known == 0:
            return "V~ = 0, and nothing else: all weights with V~ = 0 have the function zero"
        some = "A~1" if known == 1 else f"A~1 to A~{known}"
        return f"V~ and {some}; layer {known} is blind: whatever stands behind it, the function is the same"

    def _latex(self) -> str:
        if self.value is None:
            return rf"\text{{{self.answer.value}}}"
        named = [(rf"\tilde A_{{{i}}}", a) for i, a in enumerate(self.attention, start=1)]
        formulas = [f"{name} = {latex_matrix(np.asarray(m, dtype=object))}" for name, m in named]
        formulas.append(rf"\tilde V = {latex_matrix(np.asarray(self.value, dtype=object))}")
        if self.radius:
            formulas.append(rf"\pm 10^{{{least_power_of_ten(self.radius)}}}")
        return r",\quad ".join(formulas)


_WITHIN = "every entry is within {} of the true one"
_QUERIES = "{0.queries}, numbers with {0.digits} digits behind the point"


def _rows(matrix: ObjectArray, radius: Fraction | None) -> str:
    """Return exact numbers, or decimals with one digit more than the radius has; of many the first ones."""
    if radius is None:
        return rows_in_line(matrix)
    places = max(0, -least_power_of_ten(radius)) + 1
    more = "..." if places > MOST_PLACES else ""
    return "; ".join(" ".join(decimal(x, min(places, MOST_PLACES)) + more for x in row) for row in matrix)


def _power_of_ten(number: Fraction) -> str:
    return f"10^{least_power_of_ten(number)}" if number else "0"


def stands_behind(attention: ObjectArray, architecture: Architecture) -> str | None:
    """Return why two tokens show nothing of the layers behind one with this matrix: `blind`, `skew`; or `None`.

    Behind a *blind* layer no tokens do (`docs/softmax-fibers.md`, Theorem 1). Skew for three tokens or more, the layers
    behind are determined, but two distinct tokens become equal; for another normalization than softmax, skew says only
    that the terms that Theorem 7 of that page reads are zero.
    """
    architecture.require("what layers show", PROVED)
    normalization, tokens = architecture.normalization, architecture.tokens
    exponential = normalization is not None and normalization.is_exponential
    if is_zero(attention) or (exponential and is_blind(attention, tokens)):
        return "blind"
    return "skew" if is_zero(attention + attention.T) else None


class Found:
    """What has been found of a network so far, and the answers that can be given of it."""

    def __init__(self, architecture: Architecture) -> None:
        architecture.require("recovery from a jet", PROVED)
        self.architecture = architecture
        self.attention: list[ObjectArray] = []
        self.value: ObjectArray | None = None
        self.radius: Fraction | None = None
        self.about: dict[str, Any] = {}

    def _answer(self, answer: Membership, **more: Any) -> SoftmaxRecovery:
        known: dict[str, Any] = {"attention": tuple(self.attention), "value": self.value, "radius": self.radius}
        return SoftmaxRecovery(self.architecture, answer, **known, **more, **self.about)

    def undecided(self, reason: str, needed: str) -> SoftmaxRecovery:
        """Return what is known so far, and what the theorem needs that is not known to be so."""
        fell_short = FellShort("Theorem 7 of docs/softmax-fibers.md", f"it needs {needed}")
        return self._answer(Membership.UNDECIDED, reasons=(reason,), tried=(fell_short,))

    def skew(self, i: int, why: str) -> SoftmaxRecovery:
        """Return what is known where matrix `i` is skew-symmetric and hides what stands behind it."""
        return self.undecided(
            f"A~{i} is skew: {why}", f"matrices that are not skew-symmetric before the last, got A~{i}"
        )

    def none(self, *reasons: str) -> SoftmaxRecovery:
        """Return that no network of the shape has this function; what was found on the way is of no network."""
        self.attention, self.value, self.radius = [], None, None
        return self._answer(Membership.NONE, reasons=reasons)

    def weights(self, checked: str) -> SoftmaxRecovery:
        """Return weights of the shape with these virtual weights, zeros behind a blind layer; or that none fit."""
        shape = self.architecture
        assert self.value is not None  # noqa: S101 - for the type checker
        d = shape.input_width
        attention = [*self.attention, *[np.zeros((d, d), dtype=int)] * (shape.depth - len(self.attention))]
        if min(*shape.widths[:-1], *shape.attention_ranks) >= d:
            return self._answer(Membership.WEIGHTS, matrices=_plainly(attention, self.value, shape), checked=checked)
        field_attention, value = tuple(map(RATIONALS.matrix, attention)), RATIONALS.matrix(self.value)
        plain = Architecture(shape.widths, shape.attention_ranks, shape.tokens)
        pairs = (None,) * shape.depth
        why = misfit(Candidate(RATIONALS, field_attention, value, shape.depth, pairs, ""), plain)
        if why is not None:
            return self.none(why.reason)
        matrices = actual_weights(field_attention, value, plain)
        text = {name: [[str(x) for x in row] for row in m] for name, m in matrices.items()}
        return self._answer(Membership.WEIGHTS, matrices=text, checked=checked)


def _plainly(attention: Sequence[ObjectArray], value: ObjectArray, shape: Architecture) -> dict[str, list[list[str]]]:
    """Return weights: `Q_i` the virtual attention matrix, `K_i` and all `V_i` but the last the identity; padded."""
    d = shape.input_width
    one = np.eye(d, dtype=int).astype(object)
    found = {}
    for name, (rows, columns) in shape.weight_shapes():
        layer = int(name[1:])
        inner = attention[layer - 1] if name[0] == "Q" else value if name == f"V{shape.depth}" else one
        matrix = np.zeros((rows, columns), dtype=int).astype(object)
        matrix[: inner.shape[0], : inner.shape[1]] = inner
        found[name] = spelled_rows(matrix)
    return found
