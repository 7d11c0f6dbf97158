"""How weights look."""

from __future__ import annotations

from lightning_sym.display import Lines, Result, cut_text, latex_lines, latex_matrix, one_line, rows_in_line
from lightning_sym.network.form import LIGHTNING_FORM
from lightning_sym.network.plain_matrices import HeldMatrices

_MOST_LAYERS = 6
"""Layers that a notebook shows."""

_LONGEST_MATRIX = 300
"""Characters of a matrix in the text of weights."""


class ShownWeights(HeldMatrices, Result):
    """The part of `Weights` that people look at."""

    def __repr__(self) -> str:
        form = "" if self.form == LIGHTNING_FORM else f", {self.form!r}"
        return f"Weights.of({one_line(self.all_held if self.too_many else self.matrices)}{form})"

    def lines(self) -> Lines:
        """Every matrix in a line, and the form where it is not lightning attention."""
        form = [("form", ", ".join(self.form.words))] if self.form.words else []
        if self.too_many:
            held = self.all_held.items()
            return [(name, f"{m.shape[0]:,} x {m.shape[1]:,} numbers, {m.dtype.name}") for name, m in held] + form
        return [
            (name, cut_text(rows_in_line(matrix), _LONGEST_MATRIX)) for name, matrix in self.matrices.items()
        ] + form

    def _latex(self) -> str:
        layers: dict[str, list[str]] = {}
        for name, held in self.all_held.items():
            index = f"_{{{name[1:].replace('.', ',')}}}" if name[1:] else ""
            set_of_all = rf"\in \mathbb{{Q}}^{{{held.shape[0]} \times {held.shape[1]}}}"
            shown = set_of_all if self.too_many else f"= {latex_matrix(self.matrices[name])}"
            layers.setdefault(name[1:], []).append(f"{name[0]}{index} {shown}")
        rows = [r", \quad ".join(row) for row in layers.values()]
        return latex_lines(rows if len(rows) <= _MOST_LAYERS else [*rows[: _MOST_LAYERS - 2], r"\ldots", rows[-1]])
