"""How weights look."""

from __future__ import annotations

from collections.abc import Mapping

from lightning_sym.display import Lines, Result, cut_text, latex_lines, latex_matrix, one_line, rows_in_line
from lightning_sym.network.form import LIGHTNING_FORM, NetworkForm
from lightning_sym.rings.arrays import ObjectArray

_MOST_LAYERS = 6
"""Layers that a notebook shows."""

_LONGEST_MATRIX = 300
"""Characters of a matrix in the text of weights."""


class ShownWeights(Result):
    """The part of `Weights` that people look at."""

    matrices: Mapping[str, ObjectArray]
    form: NetworkForm

    def __repr__(self) -> str:
        form = "" if self.form == LIGHTNING_FORM else f", {self.form!r}"
        return f"Weights.of({one_line(self.matrices)}{form})"

    def lines(self) -> Lines:
        """Every matrix in a line, and the form where it is not lightning attention."""
        form = [("form", ", ".join(self.form.words))] if self.form.words else []
        return [
            (name, cut_text(rows_in_line(matrix), _LONGEST_MATRIX)) for name, matrix in self.matrices.items()
        ] + form

    def _latex(self) -> str:
        layers: dict[str, list[str]] = {}
        for name, matrix in self.matrices.items():
            index = f"_{{{name[1:].replace('.', ',')}}}" if name[1:] else ""
            layers.setdefault(name[1:], []).append(f"{name[0]}{index} = {latex_matrix(matrix)}")
        rows = [r", \quad ".join(row) for row in layers.values()]
        return latex_lines(rows if len(rows) <= _MOST_LAYERS else [*rows[: _MOST_LAYERS - 2], r"\ldots", rows[-1]])
