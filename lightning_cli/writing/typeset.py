"""Mathematics that the program writes in plain text, set properly on a page: matrices, indices, Greek letters."""

from __future__ import annotations

import re
from html import escape

_GREEK = {
    "alpha": "α", "beta": "β", "delta": "δ", "lambda": "λ", "mu": "μ", "phi": "φ", "pi": "π", "prod": "∏", "sum": "Σ",
}  # fmt: skip
_SIGNS = {">=": "≥", "<=": "≤", "!=": "≠", "->": "→", "+-": "±", "<->": "↔"}
_MATRIX = re.compile(r"\[\[[^\[\]]*\](?:, \[[^\[\]]*\])*\]")
_INDEX = r"(?:\(([^()]*)\)|([0-9a-zA-Z]+))"


def _matrix(text: str) -> str:
    """Return `[[1, 0], [0, 1/2]]` as a matrix in brackets, in MathML."""
    rows = [row.split(",") for row in re.findall(r"\[([^\[\]]*)\]", text)]
    body = "".join("<mtr>" + "".join(f"<mtd>{_entry(entry.strip())}</mtd>" for entry in row) + "</mtr>" for row in rows)
    return f'<math><mrow><mo>[</mo><mtable class="matrix">{body}</mtable><mo>]</mo></mrow></math>'


def _entry(text: str) -> str:
    """Return a number as MathML; anything else as it is."""
    sign = "<mo>−</mo>" if text.startswith("-") else ""
    bare = text.removeprefix("-")
    if found := re.fullmatch(r"(\d+)/(\d+)", bare):
        inside = f"<mfrac><mn>{found[1]}</mn><mn>{found[2]}</mn></mfrac>"
    elif bare.isdigit():
        inside = f"<mn>{bare}</mn>"
    else:
        return f"<mtext>{escape(text)}</mtext>"
    return f"<mrow>{sign}{inside}</mrow>" if sign else inside


def _words(text: str) -> str:
    """Return text without matrices: signs, letters, accents, indices and powers."""
    text = escape(text, quote=False)
    for sign, letter in _SIGNS.items():
        text = text.replace(escape(sign, quote=False), letter)
    text = re.sub(rf"\b({'|'.join(_GREEK)})(?=\b|_)", lambda m: _GREEK[m[1]], text)
    text = re.sub(r"\b([A-Z])~", "\\1\N{COMBINING TILDE}", text)
    text = re.sub(r"(?<![\w'])([A-Za-zα-ω])'(?!\w)", r"\1′", text)
    text = re.sub(r"\bM\b(?!_)", "ℳ", text)
    letter = "[A-Za-zα-ω](?:\N{COMBINING TILDE})?′?"
    text = re.sub(rf"\b({letter}|GL)_{_INDEX}", lambda m: f"<i>{m[1]}</i><sub>{m[2] or m[3]}</sub>", text)
    text = re.sub(r"(?<=[A-Z]\N{COMBINING TILDE})(\d+)", r"<sub>\1</sub>", text)
    text = re.sub(
        r"(?<=[\w)|>\N{COMBINING TILDE}])\^(?:(-?)T\b|\(([^()]*)\)|(-?[0-9a-zA-Z]+))",
        lambda m: f"<sup>{(m[2] or m[3] or m[1] + '⊤').replace('-', '−')}</sup>",
        text,
    )
    # a matrix by its letter; `A` before a word is an article more often than not
    return re.sub(r"(?<![\w<>&/.])(?!A [a-z]{2})([A-HJ-Z]\N{COMBINING TILDE}?)(?![\w>;.-])", r"<i>\1</i>", text)


def typeset(text: str) -> str:
    """Return a line of plain text as HTML.

    Example:
        >>> typeset("K^T V of rank a, d_(i-1) >= 2")
        '<i>K</i><sup>⊤</sup> <i>V</i> of rank a, <i>d</i><sub>i-1</sub> ≥ 2'
        >>> typeset("[[1, -1/2]]").count("<mtd>")
        2
    """
    out, at = [], 0
    for found in _MATRIX.finditer(text):
        out += [_words(text[at : found.start()]), _matrix(found[0])]
        at = found.end()
    return "".join([*out, _words(text[at:])])
