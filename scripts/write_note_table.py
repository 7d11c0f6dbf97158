"""The table of docs/notes/linear-attention.tex. `python scripts/write_note_table.py` writes it; a test compares."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from lightning_sym import linear_attention_coefficient

FILE = Path(__file__).parents[1] / "docs" / "notes" / "linear-attention-table.tex"
WORDS, WIDTHS = range(2, 8), range(1, 13)


def _number(value: Fraction) -> str:
    """Return a fraction as TeX sets it in a line."""
    return str(value) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def _cell(v: int, e: int) -> str:
    """Return the pair of a size."""
    found = linear_attention_coefficient(v, e)
    if found.value is None:
        raise ValueError(f"the coefficient of {v} words and width {e} is not exact")
    return f"${_number(found.value)}, {found.multiplicity}$"


def text() -> str:
    """Return the table: a row for each vocabulary, a column for each width."""
    head = " & ".join(["$v \\backslash e$", *map(str, WIDTHS)])
    rows = [" & ".join([str(v), *(_cell(v, e) for e in WIDTHS)]) for v in WORDS]
    body = " \\\\\n".join([f"{head} \\\\ \\hline\n{rows[0]}", *rows[1:]])
    return f"\\begin{{tabular}}{{r|{'c' * len(WIDTHS)}}}\n{body}\n\\end{{tabular}}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8", newline="\n")
