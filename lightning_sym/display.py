r"""How results look: one line that can be typed, the text that commands print, LaTeX in a notebook.

What is large is cut politely: in LaTeX the middle of a matrix is dots; in the one line the first three and the last
three rows, columns or items stand, as NumPy does it, and `...` between them, which no function takes for a number.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from numbers import Rational
from typing import Any

import numpy as np

MOST_ROWS = 10
"""Rows and columns of a matrix that are shown; of a larger one the first ones and the last one."""

MOST_ENTRIES, MOST_ITEMS, EDGE = 64, 24, 3
"""In one line: entries of an array, and items of a list, that are all shown; of more so many at each end."""

LONGEST_NUMBER = 40
"""Digits of a number that LaTeX and the one line show; of a longer one the first and the last."""

LONGEST_TEXT = 2000
"""Where texts cut a matrix; JSON never does."""

WIDTH = 120
"""Columns of the text where nobody says how wide the paper is."""

Lines = list[tuple[str, str]]
"""A text: what is talked about, and what is said of it."""


def spelled(number: Any) -> str:
    """A rational number in decimal digits, however many; Python's own `str` refuses beyond 4,300.

    Example:
        >>> from fractions import Fraction
        >>> spelled(Fraction(-3, 4)), len(spelled(10**5000))
        ('-3/4', 5001)
    """
    bits = max((int(getattr(number, part, 0)).bit_length() for part in ("numerator", "denominator")), default=0)
    if bits < 13_000:
        return str(number)  # also an expression, which spells itself
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return str(number)
    finally:
        sys.set_int_max_str_digits(limit)


def spelled_rows(matrix: Any) -> list[list[str]]:
    """A matrix as rows of exact rational numbers, spelled out."""
    return [[spelled(entry) for entry in row] for row in matrix]


def rows_in_line(matrix: Any) -> str:
    """A matrix in one line, rows with semicolons between them.

    Example:
        >>> from fractions import Fraction
        >>> rows_in_line([[1, 2], [Fraction(1, 2), 0]])
        '1 2; 1/2 0'
    """
    return "; ".join(" ".join(row) for row in spelled_rows(matrix))


def matrix_in_line(matrix: Any) -> str:
    """The same for texts: a zero matrix is `0` and its size; of a large one the first and last rows and columns stand.

    Example:
        >>> print(matrix_in_line([[0, 0]]))
        0 (1 x 2)
        >>> print(matrix_in_line(np.arange(81).reshape(1, 81)))
        0 1 2 ... 78 79 80 (1 x 81)
    """
    rows = np.asarray(matrix, dtype=object)
    size = f" ({rows.shape[0]} x {rows.shape[1]})"
    if not rows.any():
        return f"0{size}"
    whole = max(rows.shape) if rows.size <= MOST_ENTRIES else 2 * EDGE
    lines = ["..." if row is ... else _row_in_line(row, whole) for row in _edges(list(rows), whole)]
    return "; ".join(lines) + ("" if rows.size <= MOST_ENTRIES else size)


def _row_in_line(row: Any, whole: int) -> str:
    return " ".join("..." if x is ... else _spelled_short(x) for x in _edges(row, whole))


def _spelled_short(number: Any) -> str:
    """A number as `spelled`; of long ones the first and the last digits."""
    return "/".join(_shortened(part) for part in spelled(number).split("/"))


def cut_text(text: str, longest: int = LONGEST_TEXT) -> str:
    """A text that fits a screen; of a longer one its beginning and its length."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text):,} characters)"


def text_table(lines: Lines, width: int = WIDTH) -> str:
    """The text of an answer: labels in a column, and beside them what is said, wrapped where it is longer than `width`.

    Example:
        >>> print(text_table([("network", "widths 2,1"), ("dimension", "5")]))
        network     widths 2,1
        dimension   5
    """
    first = max([10, *(len(label) for label, _ in lines)])
    wrapper = textwrap.TextWrapper(
        max(width - first - 2, 24), break_on_hyphens=False, expand_tabs=False, replace_whitespace=False
    )
    text = []
    for label, said in lines:
        wrapped = wrapper.wrap(said) or [""]
        text += [f"{label if i == 0 else '':<{first}}  {line}".rstrip() for i, line in enumerate(wrapped)]
    return "\n".join(text)


def propositions(page: str, numbers: Iterable[int]) -> str:
    """Where something is proved, as answers cite it.

    Example:
        >>> propositions("docs/equations.md", [4]), propositions("docs/equations.md", [5, 3, 4])
        ('docs/equations.md, Proposition 4', 'docs/equations.md, Propositions 3, 4 and 5')
    """
    *first, last = map(str, sorted(numbers))
    return f"{page}, Propositions {', '.join(first)} and {last}" if first else f"{page}, Proposition {last}"


def _cut_digits(digits: str) -> tuple[str, str] | None:
    """The first and the last digits of a number that is too long."""
    return (digits[:12], digits[-12:]) if len(digits) > LONGEST_NUMBER else None


def _shortened(digits: str) -> str:
    cut = _cut_digits(digits)
    return digits if cut is None else "...".join(cut)


def _number_in_line(number: Rational) -> str:
    parts = [_shortened(spelled(int(part))) for part in (number.numerator, number.denominator)]
    return parts[0] if parts[1] == "1" else f"Fraction({parts[0]}, {parts[1]})"


def _edges(items: Sequence[Any], whole: int) -> list[Any]:
    """All items, or the first and the last ones and an ellipsis between them."""
    return list(items) if len(items) <= whole else [*items[:EDGE], ..., *items[-EDGE:]]


def _array_in_line(array: Any, whole: int) -> str:
    if array.ndim == 0:
        return one_line(array.item())
    parts = _edges(array, whole)
    return f"[{', '.join('...' if p is ... else _entry_in_line(p, whole) for p in parts)}]"


def _entry_in_line(value: Any, whole: int) -> str:
    return _array_in_line(value, whole) if isinstance(value, np.ndarray) else one_line(value)


def one_line(value: Any) -> str:
    """A value as it would be typed, in one line, with the public names and `Fraction`; large ones are cut.

    Arrays are lists of rows, fractions that are integers are integers.

    Example:
        >>> from fractions import Fraction
        >>> one_line({"Q1": np.array([[Fraction(1), Fraction(1, 2)]], dtype=object), "rest": (2,)})
        "{'Q1': [[1, Fraction(1, 2)]], 'rest': (2,)}"
        >>> one_line(np.arange(90).reshape(1, 90))
        '[[0, 1, 2, ..., 87, 88, 89]]'
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return _array_in_line(value, 2 * EDGE if value.size > MOST_ENTRIES else value.size)
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, Rational) and not isinstance(value, bool):
        return _number_in_line(value)
    if isinstance(value, Mapping):
        items = _edges(list(value.items()), MOST_ITEMS)
        pairs = ["..." if i is ... else f"{one_line(i[0])}: {one_line(i[1])}" for i in items]
        return f"{{{', '.join(pairs)}}}"
    if type(value) in (tuple, list):
        inside = ["..." if i is ... else one_line(i) for i in _edges(value, MOST_ITEMS)]
        closing = "[]" if isinstance(value, list) else "()"
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return f"{closing[0]}{', '.join(inside)}{comma}{closing[1]}"
    return " ".join(repr(value).split())


def typed(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as it would be typed.

    Example:
        >>> from fractions import Fraction
        >>> typed("Point", {"x": Fraction(1, 2)})
        'Point(x=Fraction(1, 2))'
    """
    return f"{name}({', '.join(f'{key}={one_line(value)}' for key, value in arguments.items())})"


def equal(first: Any, second: Any) -> bool:
    """Whether two values are equal, arrays in all entries.

    Example:
        >>> equal((1, np.array([2, 3])), (1, np.array([2, 3])))
        True
    """
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return np.shape(first) == np.shape(second) and bool(np.array_equal(first, second))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(equal(first[key], second[key]) for key in first)
    if isinstance(first, (tuple, list)) and type(first) is type(second):
        return len(first) == len(second) and all(equal(a, b) for a, b in zip(first, second, strict=True))
    return bool(first == second)


class Result:
    """What answers have in common, for dataclasses with `repr=False, eq=False`.

    `repr` is one line that could be typed, with the fields that are not at their default; `str` is what the command
    prints; a notebook shows `_latex`; two answers are equal if all their fields are.
    """

    def __repr__(self) -> str:
        assert is_dataclass(self)  # noqa: S101 - for the type checker
        said = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.repr and (field.default is MISSING or not equal(value, field.default)):
                said[field.name] = value
        return typed(type(self).__name__, said)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert is_dataclass(self)  # noqa: S101 - for the type checker
        return all(equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self) if f.compare)

    def __hash__(self) -> int:
        return hash(repr(self))

    def lines(self) -> Lines:
        """The answer line by line, as its command prints it: label and text."""
        raise NotImplementedError

    def __str__(self) -> str:
        return text_table(self.lines())

    def _latex(self) -> str:
        """The answer as a formula."""
        raise NotImplementedError

    def _repr_latex_(self) -> str:
        return notebook(self._latex())


def notebook(latex: str) -> str:
    """A formula as notebooks take it."""
    return rf"$\displaystyle {latex}$"


def latex_words(text: str) -> str:
    r"""Words inside a formula; what LaTeX would take for itself is left out or escaped.

    Example:
        >>> print(latex_words("widths 2,1 (50 % of it)"))
        \text{widths 2,1 (50 \% of it)}
    """
    plain = text.replace("\\", "").replace("~", "").replace("^", "").replace("{", "(").replace("}", ")")
    return rf"\text{{{''.join(rf'{chr(92)}{c}' if c in '%&#_$' else c for c in plain)}}}"


def latex_lines(lines: Iterable[str]) -> str:
    r"""Formulas one below the other, from the left.

    Example:
        >>> print(latex_lines(["a", "b"]))
        \begin{aligned}&a\\&b\end{aligned}
    """
    return r"\begin{aligned}&" + r"\\&".join(lines) + r"\end{aligned}"


def latex_number(value: Any) -> str:
    r"""A rational number, or anything that SymPy prints, in LaTeX.

    Example:
        >>> from fractions import Fraction
        >>> print(latex_number(Fraction(-3, 2)), latex_number(5))
        - \frac{3}{2} 5
    """
    if isinstance(value, (Rational, np.integer)) or type(value).__name__ == "fmpq":
        top, bottom = (spelled(abs(int(part))) for part in (value.numerator, value.denominator))
        shown = [d if (cut := _cut_digits(d)) is None else r" \ldots ".join(cut) for d in (top, bottom)]
        size = shown[0] if bottom == "1" else rf"\frac{{{shown[0]}}}{{{shown[1]}}}"
        return f"- {size}" if value < 0 and bottom != "1" else f"-{size}" if value < 0 else size
    import sympy

    return str(sympy.latex(sympy.sympify(value)))


def latex_matrix(matrix: Any, most: int = MOST_ROWS, entry: Callable[[Any], str] = latex_number) -> str:
    r"""A matrix of numbers in LaTeX; of more than `most` rows or columns the middle ones are dots.

    Args:
        matrix: two axes, anything that NumPy indexes, or rows.
        most: rows and columns that are shown at most, at least 3.
        entry: how an entry is written.

    Example:
        >>> import numpy as np
        >>> print(latex_matrix(np.array([[1, 2], [3, 4]], dtype=object)))
        \begin{bmatrix}1 & 2\\3 & 4\end{bmatrix}
        >>> print(latex_matrix(np.eye(4, dtype=int), most=3))
        \begin{bmatrix}1 & \cdots & 0\\\vdots & \ddots & \vdots\\0 & \cdots & 1\end{bmatrix}
    """
    if not hasattr(matrix, "shape"):
        matrix = np.array(matrix, dtype=object)
    rows, columns = matrix.shape
    down, across = _shown(rows, most), _shown(columns, most)
    lines = [
        " & ".join(
            (r"\cdots" if i is not None else r"\ddots")
            if j is None
            else r"\vdots"
            if i is None
            else entry(matrix[i, j])
            for j in across
        )
        for i in down
    ]
    return r"\begin{bmatrix}" + r"\\".join(lines) + r"\end{bmatrix}"


def _shown(size: int, most: int) -> Sequence[int | None]:
    """The indices that are shown, None where some are left out."""
    return range(size) if size <= most else [*range(most - 2), None, size - 1]
