"""Mathematics on pages: LaTeX as MathML, cut into lines that fit, and what the program writes in plain text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import escape
from types import ModuleType
from xml.etree import ElementTree

from lightning_sym.errors import ProgramError
from lightning_sym.lazy import import_extra

_ENVIRONMENTS = {"aligned": "align*", "gathered": "gather*", "split": "align*"}
_TOKENS = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)
_IMPLICATIONS = (r"\Rightarrow", r"\Longrightarrow", r"\implies", r"\iff", r"\Leftrightarrow")
_LONG = 90


def formula_lines(latex: str) -> list[str]:
    r"""Return a statement cut at its outermost `\quad`, and at implications if long, so that it fits a narrow page.

    Example:
        >>> formula_lines(r"a = b, \quad c = d; \quad \text{e \quad f}")
        ['a = b,', 'c = d;', '\\text{e \\quad f}']
    """
    lines = []
    if len(latex) > _LONG:
        latex = re.sub(r",(?:\\[ ;,]|\s)*(\\text\{\s*(?:or|and)\b)", r",\\quad \1", latex)
    for line in _cut(latex, (r"\quad", r"\qquad"), keep=False):
        lines += [line] if len(line) <= _LONG else _cut(line, _IMPLICATIONS, keep=True)
    return lines


def _cut(latex: str, at: Sequence[str], *, keep: bool) -> list[str]:
    """Return a formula in pieces, cut at the outermost of some macros, which stay with what follows or go."""
    lines, depth = [""], 0
    for token in _TOKENS.findall(latex):
        depth += (token in ("{", r"\left", r"\begin")) - (token in ("}", r"\right", r"\end"))
        if depth == 0 and token in at:
            lines.append(token if keep else "")
        else:
            lines[-1] += token
    space = r"(?:\\[,;:! ]|\s)+"
    return [line for line in (re.sub(f"^{space}|{space}$", "", line) for line in lines) if line]


def _polished(text: str) -> str:
    """Return MathML with what browsers need beyond what latex2mathml writes."""
    text = re.sub(r"&(?![#\w]+;)", "&amp;", text)  # it leaves a bare ampersand bare

    def letter(match: re.Match[str]) -> str:  # browsers do not know these variants any more
        name = {"script": "SCRIPT", "double-struck": "DOUBLE-STRUCK"}[match[1]]
        for form in (f"{name} CAPITAL {match[2]}", f"MATHEMATICAL {name} CAPITAL {match[2]}"):
            try:
                return f"<mi>{unicodedata.lookup(form)}</mi>"
            except KeyError:
                continue
        return match[0]

    text = re.sub(r'<mi mathvariant="(script|double-struck)">([A-Z])</mi>', letter, text)
    # arrows are relations, bars and the sign of transposition are not, and names of functions stand off from letters
    text = re.sub(r"<mi>&#x0(21[9A-F]|27F)([0-9A-F]);</mi>", r"<mo>&#x0\1\2;</mo>", text)
    text = text.replace("<mo>&#x022A4;</mo>", "<mi>&#x022A4;</mi>")
    text = re.sub(r"<mo[^>]*>(?:&#x0007C;|\|)</mo>", "<mi>|</mi>", text)
    # a dot is the accent of its letter
    text = re.sub(r"<mover>(<mi>\w</mi>)(<mo)>(&#x002D9;)", r'<mover accent="true">\1\2 accent="true">\3', text)
    # dots and infinity are no relations; a minus behind a sign, a comma or an opening bracket is a sign itself
    text = re.sub(r"<mo>(&#x0(?:2026|22EF|221E);)</mo>", r"<mi>\1</mi>", text)
    before = r"(<mo[^>]*>&#x0(?:003D|002C|0028|005B|007B|2264|2265|21A6);</mo>)"
    text = re.sub(before + "<mo>&#x02212;</mo>", r'\1<mo form="prefix">&#x02212;</mo>', text)
    text = text.replace("<mi>&#x029F5;</mi>", "<mo>&#x02216;</mo>")  # a set minus that fonts have
    text = re.sub(r"<m([oi])>([A-Za-z]{2,})</m\1>(?=<mo[^>]*>&#x00028;)", r'<mo lspace="0" rspace="0">\2</mo>', text)
    return re.sub(r"<m([oi])>([A-Za-z]{2,})</m\1>", r'<mo lspace="0" rspace="0.167em">\2</mo>', text)


def _overlined(text: str) -> str:
    """Return bars as borders: no operator is as long as what is under it in every browser and font."""
    bar = '<mo accent="true">&#x02015;</mo></mover>'
    while (end := text.find(bar)) >= 0:
        depth, start = 1, end
        while depth:
            start = max(text.rfind("<mover", 0, start), text.rfind("</mover", 0, start))
            depth += 1 if text[start + 1] == "/" else -1
        inside = text[text.index(">", start) + 1 : end]
        style = "border-top:0.06em solid;padding-top:0.1em"
        text = f'{text[:start]}<mrow style="{style}">{inside}</mrow>{text[end + len(bar) :]}'
    return text


def converter() -> ModuleType:
    """Return the module that converts LaTeX to MathML.

    Raises:
        MissingExtra: it is not installed.
    """
    return import_extra("latex2mathml.converter", "report", "a page with formulas")


def mathml(latex: str, display: str = "block") -> str:
    r"""Return one formula as MathML, on lines of its own (`block`) or in a sentence (`inline`).

    Raises:
        MissingExtra: what converts it is not installed.
        ProgramError: it uses what the converter does not know; a page with raw LaTeX on it is never written.

    Example:
        >>> mathml(r"\alpha").startswith("<math")
        True
    """
    convert = converter().convert
    source = re.sub(r"\\[bB]igg?[lrm]?(?=\\[{}|])", "", latex)  # sizes it knows only for one-letter brackets
    for name, known in _ENVIRONMENTS.items():
        source = source.replace(rf"\begin{{{name}}}", rf"\begin{{{known}}}").replace(
            rf"\end{{{name}}}", rf"\end{{{known}}}"
        )
    try:
        # latex2mathml leaves a bare ampersand bare
        text = _overlined(_polished(str(convert(source, display=display))))
        root = ElementTree.fromstring(text)  # noqa: S314 - our own statements
    except Exception as error:
        raise ProgramError(f"the formula {latex!r} must convert to MathML: {error!r}") from error
    for node in root.iter():
        if node.tag.endswith("merror") or "\\" in (node.text or "").replace("\\ ", "") or node.text == "&":
            raise ProgramError(f"the formula {latex!r} must convert to MathML; {node.text!r} was left over")
    return text


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
