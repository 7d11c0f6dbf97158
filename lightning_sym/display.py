r"""How results look: one line that can be typed, the text that commands print, LaTeX in a notebook.

What is large is cut politely: in LaTeX the middle of a matrix is dots; in the one line the first three and the last
three rows, columns or items stand, as NumPy does it, and `...` between them, which no function takes for a number.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from numbers import Rational
from typing import Any, ClassVar

import numpy as np

from lightning_sym.citations import with_proof
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    import sympy

MOST_ROWS, MOST_LINES = 10, 12
"""Rows and columns of a matrix that LaTeX shows, of a larger one the first and the last; and lines of a text."""
MOST_ENTRIES, MOST_ITEMS, EDGE = 64, 24, 3
"""In one line: entries of an array, and items of a list, that are all shown; of more so many at each end."""

LONGEST_NUMBER, LONGEST_TEXT = 40, 2000
"""Digits of a number that LaTeX and the one line show; and letters at which texts cut a matrix, as JSON never does."""

WIDTH = 120
"""Columns of the text where nobody says how wide the paper is."""

Lines = list[tuple[str, str]]
"""A text: what is talked about, and what is said of it."""


def spelled(number: object) -> str:
    """Return a rational number in decimal digits, however many; Python's own `str` refuses beyond 4,300.

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


def spelled_rows(matrix: Iterable[Iterable[object]]) -> list[list[str]]:
    """Return a matrix as rows of exact rational numbers, spelled out."""
    return [[spelled(entry) for entry in row] for row in matrix]


def rows_in_line(matrix: Iterable[Iterable[object]]) -> str:
    """Return a matrix in one line, rows with semicolons between them.

    Example:
        >>> from fractions import Fraction
        >>> rows_in_line([[1, 2], [Fraction(1, 2), 0]])
        '1 2; 1/2 0'
    """
    return "; ".join(" ".join(row) for row in spelled_rows(matrix))


def matrix_in_line(matrix: Iterable[Iterable[object]]) -> str:
    """Return the same for texts: a zero matrix is `0` and its size; of a large one first and last rows stand.

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
    lines = _edges(rows, whole, lambda row: " ".join(_edges(row, whole, _spelled_short)))
    return "; ".join(lines) + ("" if rows.size <= MOST_ENTRIES else size)


def _spelled_short(number: object) -> str:
    """Return a number as `spelled`; of long ones the first and the last digits."""
    return "/".join(_shortened(part) for part in spelled(number).split("/"))


def cut_text(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text that fits a screen; of a longer one its beginning and its length."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text):,} characters)"


def text_table(lines: Lines, width: int = WIDTH) -> str:
    """Return the text of an answer: labels in a column, and beside them what is said, wrapped at `width`.

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


def labelled(label: str, sentences: Iterable[str]) -> Lines:
    """Return sentences below each other, the label at the first one.

    Example:
        >>> labelled("because", ["it is small", "it is even"])
        [('because', 'it is small'), ('', 'it is even')]
    """
    return [("" if number else label, said) for number, said in enumerate(sentences)]


def bounds_in_words(lower: int, upper: int, met: str) -> str:
    """Return a number that two bounds prove, with what is said where they meet; both bounds while it is open.

    Example:
        >>> bounds_in_words(5, 5, "certified"), bounds_in_words(5, 1007, "certified")
        ('5  certified', 'undecided, between 5 and 1,007')
    """
    return f"{lower:,}  {met}" if lower == upper else f"undecided, between {lower:,} and {upper:,}"


def _shortened(digits: str, dots: str = "...") -> str:
    """Return a number as it is; of one that is too long the first and the last digits."""
    return digits if len(digits) <= LONGEST_NUMBER else dots.join((digits[:12], digits[-12:]))


def _number_in_line(number: Rational) -> str:
    """Return a rational number as it would be typed."""
    parts = _spelled_short(number).split("/")
    return parts[0] if len(parts) == 1 else f"Fraction({', '.join(parts)})"


def _edges(items: Any, whole: int, text: Callable[[Any], str]) -> list[str]:
    """Return all items as text, or the first and the last ones and dots between them."""
    shown = list(items) if len(items) <= whole else [*items[:EDGE], ..., *items[-EDGE:]]
    return ["..." if item is ... else text(item) for item in shown]


def _array_in_line(value: object, whole: int) -> str:
    """Return an array as lists in lists, and what is none as `one_line` has it."""
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return one_line(value.item() if isinstance(value, np.ndarray) else value)
    return f"[{', '.join(_edges(value, whole, lambda part: _array_in_line(part, whole)))}]"


def one_line(value: object) -> str:
    """Return a value as it would be typed, in one line, with the public names and `Fraction`; large ones are cut.

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
        pairs = _edges(list(value.items()), MOST_ITEMS, lambda pair: ": ".join(map(one_line, pair)))
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        inside = ", ".join(_edges(value, MOST_ITEMS, one_line))
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return " ".join(repr(value).split())


def typed(name: str, arguments: Mapping[str, object]) -> str:
    """Return a call as it would be typed.

    Example:
        >>> from fractions import Fraction
        >>> typed("Point", {"x": Fraction(1, 2)})
        'Point(x=Fraction(1, 2))'
    """
    return f"{name}({', '.join(f'{key}={one_line(value)}' for key, value in arguments.items())})"


def equal(first: Any, second: Any) -> bool:
    """Return whether two values are equal, arrays in all entries.

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


Sentence = tuple[str, str | Callable[[Any], str | Iterable[str] | Lines | None]]
"""A label, and text with fields, `{0.lower:,}`, or a function of the answer: texts, without a label lines."""


class Result:
    """What answers have in common, for dataclasses with `repr=False, eq=False`.

    `repr` is one line that could be typed, with the fields that are not at their default; `str` is what the command
    prints, its `_sentences`; a notebook shows `_in_words`, or `_latex`; two answers are equal if all their fields are.
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

    _sentences: ClassVar[tuple[Sentence, ...]] = ()
    _in_words: ClassVar[str] = ""
    """What a notebook shows where that is words alone: text with its fields in it, as in sentences."""

    def lines(self) -> Lines:
        """Return the answer line by line, as its command prints it: label and text."""
        found: Lines = []
        for label, said in self._sentences:
            text: Any = said(self) if callable(said) else said.format(self)
            found += labelled(label, [text] if isinstance(text, str) else text or ()) if label else text or ()
        return found

    def __str__(self) -> str:
        return text_table(with_proof(self.lines()))

    def _latex(self) -> str:
        """Return the answer as a formula, or in words; where a class has none, its first lines."""
        if self._in_words:
            return latex_words(self._in_words.format(self))
        return latex_lines(latex_words(f"{label} {said}".strip()) for label, said in self.lines()[:MOST_LINES])

    def _repr_latex_(self) -> str:
        return notebook(self._latex())


def notebook(latex: str) -> str:
    """Return a formula as notebooks take it."""
    return rf"$\displaystyle {latex}$"


def latex_words(text: str) -> str:
    r"""Return words inside a formula; what LaTeX would take for itself is left out or escaped.

    Example:
        >>> print(latex_words("widths 2,1 (50 % of it)"))
        \text{widths 2,1 (50 \% of it)}
    """
    plain = text.replace("\\", "").replace("~", "").replace("^", "").replace("{", "(").replace("}", ")")
    return rf"\text{{{''.join(rf'{chr(92)}{c}' if c in '%&#_$' else c for c in plain)}}}"


def latex_lines(lines: Iterable[str]) -> str:
    r"""Return formulas one below the other, from the left.

    Example:
        >>> print(latex_lines(["a", "b"]))
        \begin{aligned}&a\\&b\end{aligned}
    """
    return r"\begin{aligned}&" + r"\\&".join(lines) + r"\end{aligned}"


def latex_bounds(name: str, lower: int, upper: int) -> str:
    """Return a number, or the bounds that it lies between, as a formula."""
    return f"{name} = {lower}" if lower == upper else rf"{lower} \le {name} \le {upper}"


def latex_number(value: Any) -> str:
    r"""Return a rational number, or anything that SymPy prints, in LaTeX.

    Example:
        >>> from fractions import Fraction
        >>> print(latex_number(Fraction(-3, 2)), latex_number(5))
        - \frac{3}{2} 5
    """
    if isinstance(value, (Rational, np.integer)) or type(value).__name__ == "fmpq":
        top, bottom = (spelled(abs(int(part))) for part in (value.numerator, value.denominator))
        shown = [_shortened(digits, r" \ldots ") for digits in (top, bottom)]
        size = shown[0] if bottom == "1" else rf"\frac{{{shown[0]}}}{{{shown[1]}}}"
        return f"- {size}" if value < 0 and bottom != "1" else f"-{size}" if value < 0 else size
    return str(sympy.latex(sympy.sympify(value)))


def latex_matrix(matrix: Any, most: int = MOST_ROWS, entry: Callable[[Any], str] = latex_number) -> str:
    r"""Return a matrix of numbers in LaTeX; of more than `most` rows or columns the middle ones are dots.

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
    matrix = matrix if hasattr(matrix, "shape") else np.array(matrix, dtype=object)
    rows, columns = matrix.shape
    down, across = (range(n) if n <= most else [*range(most - 2), None, n - 1] for n in (rows, columns))

    def cell(i: int | None, j: int | None) -> str:
        if i is None or j is None:
            return r"\vdots" if j is not None else r"\cdots" if i is not None else r"\ddots"
        return entry(matrix[i, j])

    lines = [" & ".join(cell(i, j) for j in across) for i in down]
    return r"\begin{bmatrix}" + r"\\".join(lines) + r"\end{bmatrix}"
