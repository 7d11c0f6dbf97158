"""LaTeX in one line of plain text: what the walk-throughs use of it, for terminals with and without Unicode."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING
from unicodedata import normalize

NO_BREAK = "\N{NO-BREAK SPACE}"

if TYPE_CHECKING:
    from proofs_check.blackboard.step import Polynomial

_SUPERSCRIPT = dict(zip("0123456789+-()nilk", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˡᵏ", strict=True)) | {"T": "ᵀ"}
_SUBSCRIPT = dict(zip("0123456789+-()ijklmn", "₀₁₂₃₄₅₆₇₈₉₊₋₍₎ᵢⱼₖₗₘₙ", strict=True))

# macro: (Unicode, ASCII)
_MACROS = {
    r"\varphi": ("φ", "phi"), r"\lambda": ("λ", "lambda"), r"\mu": ("μ", "mu"), r"\alpha": ("α", "alpha"),
    r"\delta": ("δ", "delta"), r"\varepsilon": ("ε", "epsilon"), r"\sum": ("Σ", "sum"), r"\in": ("∈", "in"),
    r"\nabla": ("∇", "grad "), r"\times": ("×", "x"), r"\cdot": ("·", "*"), r"\pm": ("±", "+-"), r"\le": ("≤", "<="),
    r"\ge": ("≥", ">="), r"\ne": ("≠", "!="), r"\mapsto": ("↦", "->"), r"\to": ("→", "->"), r"\top": ("T", "T"),
    r"\sqrt": ("√", "sqrt"), r"\dim": ("dim", "dim"), r"\ker": ("ker", "ker"), r"\gcd": ("gcd", "gcd"),
    r"\det": ("det", "det"), r"\exp": ("exp", "exp"), r"\quad": ("\2", "\2"), r"\beta": ("β", "beta"),
    r"\nu": ("ν", "nu"), r"\rho": ("ρ", "rho"), r"\ell": ("ℓ", "l"), r"\otimes": ("⊗", "(x)"),
    r"\parallel": ("∥", "||"),
}  # fmt: skip
_ACCENTS = {
    "tilde": ("\N{COMBINING TILDE}", "~"), "dot": ("\N{COMBINING DOT ABOVE}", "'"),
    "hat": ("\N{COMBINING CIRCUMFLEX ACCENT}", "^"),
}  # fmt: skip


def plain(latex: str, *, unicode: bool = True) -> str:
    r"""Return a formula as a line of text.

    Example:
        >>> plain(r"\tilde A_2 = V_1^\top A_2 V_1"), plain(r"x^{12} \le \tfrac{1}{2}", unicode=False)
        ('Ã₂ = V₁ᵀ A₂ V₁', 'x^12 <= 1/2')
    """
    column = 0 if unicode else 1
    text = re.sub(r"\\(?:text|operatorname|mathcal)\s*(?:\{([^{}]*)\}|(\w))", lambda m: m[1] or m[2], latex)
    text = re.sub(r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", text)

    def accent(match: re.Match[str]) -> str:
        return normalize("NFC", match[2] + _ACCENTS[match[1]][column])

    text = re.sub(r"\\(tilde|dot|hat)(?![a-z])\s*(\w)", accent, text)
    text = re.sub(r"\\(?:left|right)(?![a-z])", "", text)
    text = re.sub(r"\\[,;]|\\!", lambda m: "" if m[0] == r"\!" else " ", text)
    text = re.sub(r"\\([{}])", lambda m: {"{": "\0", "}": "\1"}[m[1]], text)
    text = re.sub(r"\\[a-zA-Z]+", lambda m: _MACROS.get(m[0], (m[0][1:],) * 2)[column], text)

    def script(match: re.Match[str]) -> str:
        mark, content = match[1], match[2] if match[2] is not None else match[3]
        letters = _SUPERSCRIPT if mark == "^" else _SUBSCRIPT
        compact = content.replace(" ", "")
        if unicode and all(c in letters for c in compact):
            return "".join(letters[c] for c in compact)
        bare = re.fullmatch(r"\(.*\)|-?\w+'*|[^\w\s]", content)
        return mark + (content if bare else f"({content})")

    text = re.sub(r"([_^])(?:\{([^{}]*)\}|(\S))", script, text)
    text = text.replace("{", "").replace("}", "").replace("\0", "{").replace("\1", "}")
    return re.sub(r" +", " ", text).strip().replace("\2", "  ")


def prose(text: str, *, unicode: bool = True) -> str:
    """Return sentences with `$formulas$` as plain text; short formulas are kept together by no-break spaces."""
    pieces = text.split("$")
    for i in range(1, len(pieces), 2):
        formula = plain(pieces[i], unicode=unicode)
        pieces[i] = formula.replace(" ", NO_BREAK) if len(formula) <= 24 else formula
    return "".join(pieces)


_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    r"""Return plain text with everything that means something to LaTeX escaped.

    Example:
        >>> print(latex_text("A_1 >= 50% of A~1"))
        A\_1 \textgreater{}= 50\% of A\textasciitilde{}1
    """
    return "".join(_LATEX_SPECIAL.get(c, c) for c in text).replace("--", "-{}-")


def number_latex(value: Fraction) -> str:
    """Return a rational number in LaTeX."""
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return rf"{sign}\tfrac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def variable_latex(name: str) -> str:
    """Return a variable such as `a_1_2` in LaTeX, as $a_{12}$."""
    letter, _, index = name.partition("_")
    return f"{letter}_{{{index.replace('_', '')}}}" if index else letter


def terms_latex(polynomial: Polynomial) -> list[str]:
    r"""Return the terms of a polynomial with their signs, in LaTeX; one `0` for the zero polynomial."""
    terms: list[str] = []
    for exponents, coefficient in polynomial.terms:
        factors = [
            variable_latex(name) + (f"^{{{e}}}" if e > 1 else "")
            for name, e in zip(polynomial.variables, exponents, strict=True)
            if e
        ]
        size = abs(coefficient)
        if size != 1 or not factors:
            factors.insert(0, number_latex(size))
        sign = ("-" if coefficient < 0 else "") if not terms else ("- " if coefficient < 0 else "+ ")
        terms.append(sign + " ".join(factors))
    return terms or ["0"]
