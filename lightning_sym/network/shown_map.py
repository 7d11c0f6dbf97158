"""How a polynomial map looks."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from lightning_sym.display import Result, cut_text, latex_matrix, one_line, typed
from lightning_sym.network.ambient import ambient_dimension
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.formats import polynomial_text, variable_names
from lightning_sym.network.weight_values import weight_variables
from lightning_sym.rings.arrays import ObjectArray

_MOST_TERMS = 6
"""Terms of a polynomial that a notebook shows."""


class ShownMap(Result):
    """The part of `PolynomialMap` that people look at."""

    architecture: Architecture
    entries: ObjectArray
    weight_names: tuple[str, ...]
    input_names: tuple[str, ...]

    @property
    def term_count(self) -> int:
        """Terms of all outputs together."""
        return sum(len(entry) for entry in self.entries.ravel())

    def latex(self, k: int, j: int) -> str:
        """Output `(k, j)`, counted from 0, in LaTeX."""
        raise NotImplementedError

    def __repr__(self) -> str:
        if self.weight_names == weight_variables(self.architecture):
            return f"polynomial_map({self.architecture!r})"
        polynomials = [[str(entry).replace("^", "**") for entry in row] for row in self.entries]
        return typed("PolynomialMap", {"architecture": self.architecture, "entries": cut_text(one_line(polynomials))})

    @property
    def header(self) -> str:
        """What the map is, in a line."""
        degree = self.architecture.degree
        kind = f"not homogeneous, of odd degrees from 1 to {degree}" if self.architecture.skip else ""
        return (
            f"{self.architecture}: {kind or f'homogeneous of degree {degree}'}, {self.term_count:,} terms, "
            f"ambient dimension {ambient_dimension(self.architecture):,}"
        )

    def __str__(self) -> str:
        outputs = (f"phi_{k + 1}_{j + 1} = {entry}" for (k, j), entry in np.ndenumerate(self.entries))
        return "\n".join([f"# {self.header}", *outputs])

    def to_latex(self) -> str:
        """All outputs in LaTeX, one a line, none of them cut."""
        outputs = (rf"\varphi_{{{k + 1},{j + 1}}} = {self.latex(k, j)}" for k, j in np.ndindex(*self.entries.shape))
        return "\n".join([f"% {self.header}", *outputs])

    def _latex(self) -> str:
        names = variable_names("latex", self.weight_names + self.input_names)

        def entry(polynomial: Any) -> str:
            terms = dict(islice(polynomial.to_dict().items(), _MOST_TERMS))
            return polynomial_text("latex", names, terms) + (r" + \cdots" if len(polynomial) > _MOST_TERMS else "")

        return rf"\varphi_W(X) = {latex_matrix(self.entries, entry=entry)}"
