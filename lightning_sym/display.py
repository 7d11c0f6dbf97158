r"""How results look in a notebook: matrices as matrices, cut politely where they are large."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST_ROWS = 10
"""Rows and columns of a matrix that are shown; of a larger one the first ones and the last one."""


def latex_number(value: Any) -> str:
    r"""A rational number, or anything that SymPy prints, in LaTeX.

    Example:
        >>> from fractions import Fraction
        >>> print(latex_number(Fraction(-3, 2)), latex_number(5))
        - \frac{3}{2} 5
    """
    import sympy

    return str(sympy.latex(sympy.sympify(value)))


def latex_matrix(matrix: Any, most: int = MOST_ROWS) -> str:
    r"""A matrix of numbers in LaTeX; of more than `most` rows or columns the middle ones are dots.

    Args:
        matrix: two axes, anything that NumPy indexes.
        most: rows and columns that are shown at most, at least 3.

    Example:
        >>> import numpy as np
        >>> print(latex_matrix(np.array([[1, 2], [3, 4]], dtype=object)))
        \begin{bmatrix}1 & 2\\3 & 4\end{bmatrix}
        >>> print(latex_matrix(np.eye(4, dtype=int), most=3))
        \begin{bmatrix}1 & \cdots & 0\\\vdots & \ddots & \vdots\\0 & \cdots & 1\end{bmatrix}
    """
    rows, columns = matrix.shape
    down, across = _shown(rows, most), _shown(columns, most)
    lines = [
        " & ".join(
            (r"\cdots" if i is not None else r"\ddots")
            if j is None
            else r"\vdots"
            if i is None
            else latex_number(matrix[i, j])
            for j in across
        )
        for i in down
    ]
    return r"\begin{bmatrix}" + r"\\".join(lines) + r"\end{bmatrix}"


def _shown(size: int, most: int) -> Sequence[int | None]:
    """The indices that are shown, None where some are left out."""
    return range(size) if size <= most else [*range(most - 2), None, size - 1]
