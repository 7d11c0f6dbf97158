"""The answer to whether a polynomial map is the function of a network: weights, or why there are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from lightning_sym.ask import FellShort
from lightning_sym.display import Lines, Result, labelled, latex_matrix
from lightning_sym.errors import no_truth_value
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.varieties.expansion import Difference


@no_truth_value("answer is Membership.WEIGHTS")
class Membership(Enum):
    """Whether a map is the function of a network of the shape, with real weights."""

    WEIGHTS = "weights"
    NONE = "none"
    UNDECIDED = "undecided"


@no_truth_value("recovery.answer is Membership.WEIGHTS")
@dataclass(frozen=True, eq=False, repr=False)
class Recovery(Result):
    r"""The answer, and what shows it.

    Attributes:
        architecture: the shape that was asked about.
        answer: weights, none, or undecided; over the real numbers.
        minimal_polynomial: for `WEIGHTS` over a number field, the polynomial that its generator `r` is a root of.
        root_between: rational numbers with one real root between them; each real root will do.
        matrices: for `WEIGHTS`, the matrices as text, entries rational numbers or polynomials in `r`.
        reasons: for `NONE` and `UNDECIDED`, what fails, a line each.
        difference: for `NONE`, a coefficient that is not what it must be, where one shows it.
        complex_weights: for `NONE`, whether complex weights have this function; `None` if that was not decided.
        tried: theorems that were asked before in vain, each with the hypothesis that fails.
    """

    architecture: Architecture
    answer: Membership
    minimal_polynomial: str | None = None
    root_between: tuple[str, str] | None = None
    matrices: dict[str, list[list[str]]] | None = None
    reasons: tuple[str, ...] = ()
    difference: Difference | None = None
    complex_weights: bool | None = None
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def weights(self) -> Weights | None:
        """For `WEIGHTS` over the rationals the weights, else `None`."""
        if self.matrices is None or self.minimal_polynomial is not None:
            return None
        exact = {name: [[Fraction(x) for x in row] for row in rows] for name, rows in self.matrices.items()}
        return Weights.of(exact)

    def lines(self) -> Lines:
        """As the command prints it."""
        return list(self._said())

    def _said(self) -> Iterator[tuple[str, str]]:
        yield "network", f"lightning attention, one head, {self.architecture}"
        yield "answer", self.answer.value
        if self.answer is Membership.WEIGHTS:
            over = "the rationals"
            if self.minimal_polynomial is not None and self.root_between is not None:
                low, high = self.root_between
                over = f"Q(r), r a root of {self.minimal_polynomial}; the one between {low} and {high} is real"
            yield "over", over
            for name, rows in (self.matrices or {}).items():
                yield name, "; ".join(" ".join(f"({x})" if " " in x else x for x in row) for row in rows)
            yield "checked", "the polynomial map of these weights, expanded, is the map"
        for reason in self.reasons:
            yield "because", reason
        if self.difference is not None:
            at = self.difference
            where = f"row {at.row}, token {at.token}, {at.monomial}"
            yield "at", f"{where}: the coefficient is {at.given}, it must be {at.found}"
        if self.answer is Membership.NONE:
            known = {True: "have this function", False: "do not have it either", None: "were not decided"}
            yield "complex", f"complex weights of this shape {known[self.complex_weights]}"
        if self.answer is Membership.UNDECIDED:
            yield from labelled("tried", map(str, self.tried))

    def _latex(self) -> str:
        import sympy

        if self.matrices is None:
            return rf"\text{{{self.answer.value}}}"
        r = sympy.Symbol("r")
        names = [
            rf"{name[0]}_{{{name[1:]}}} = "
            + latex_matrix(np.array([[_as_sympy(x, r) for x in row] for row in rows], dtype=object))
            for name, rows in self.matrices.items()
        ]
        return r",\quad ".join(names)


def _as_sympy(text: str, r: Any) -> Any:
    """Return an entry, as this module wrote it, as an expression of SymPy's."""
    from lightning_sym.rings.polynomials import PolynomialRing, to_sympy
    from lightning_sym.varieties.map_text import parse_polynomial

    return to_sympy(parse_polynomial(text, PolynomialRing(["r"]), 10**6), ["r"]).as_expr().subs("r", r)
