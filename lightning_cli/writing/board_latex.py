"""A walk-through in LaTeX: a section of a paper, or slides for a talk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

from lightning_cli.writing.math_text import latex_text, number_latex, terms_latex
from lightning_cli.writing.mathml import formula_lines
from proofs_check.blackboard.step import Polynomial, Shown, ShownMatrix, Step
from proofs_check.instances import reach

if TYPE_CHECKING:
    from proofs_check.claim import Claim


def value_latex(value: ShownMatrix | Polynomial | Fraction | str, matrix: str = "bmatrix") -> str:
    """Return what stands on the board; `matrix` is the environment of matrices, in brackets of its own."""
    if isinstance(value, str):
        return value
    if isinstance(value, Fraction):
        return number_latex(value)
    if isinstance(value, Polynomial):
        return " ".join(terms_latex(value))
    assert isinstance(value, ShownMatrix)  # noqa: S101 - narrows the union for the type checker
    rows = [[value_latex(entry, matrix) for entry in row] for row in value.rows]
    left, right = (r"\left[", r"\right]") if matrix == "smallmatrix" else ("", "")
    if value.row_labels or value.column_labels:  # labels stand outside, so there are no brackets
        left, right, matrix = "", "", matrix.removeprefix("b")
    if value.row_labels:
        rows = [[label, *row] for label, row in zip(value.row_labels, rows, strict=True)]
    if value.column_labels:
        rows.insert(0, [*([""] if value.row_labels else []), *value.column_labels])
    body = r" \\ ".join(" & ".join(row) for row in rows)
    return rf"{left}\begin{{{matrix}}} {body} \end{{{matrix}}}{right}"


def shown_latex(shown: Shown, matrix: str = "bmatrix") -> str:
    """Return `label = value`."""
    return (f"{shown.label} = " if shown.label else "") + value_latex(shown.value, matrix)


def answer_latex(lines: Sequence[tuple[str, str]]) -> str:
    """Return an answer of the program as a table of two columns."""
    rows = [" & ".join(map(latex_text, line)) for line in lines]
    body = " \\\\\n".join(rows)
    return f"\\begin{{tabular}}{{@{{}}l p{{0.75\\linewidth}}@{{}}}}\n{body}\n\\end{{tabular}}"


def latex_lines(claim: Claim, intro: str, steps: Sequence[Step]) -> Iterator[str]:
    """Yield the walk-through as a section of LaTeX; needs amsmath and amssymb."""
    yield rf"\section*{{{claim.source}}}"
    yield rf"\[ \begin{{gathered}} {claim.statement} \end{{gathered}} \]"
    yield from (claim.hypotheses, "", intro)
    for step in steps:
        yield rf"\subsection*{{{step.heading}}}"
        yield step.prose
        if step.shown:
            yield r"\begin{gather*}"
            yield " \\\\\n".join(shown_latex(shown, "smallmatrix") for shown in step.shown)
            yield r"\end{gather*}"
        if step.answer:
            yield answer_latex(step.answer)
    yield from part_lines(claim)
    yield rf"Check it: \texttt{{lightning-sym check {claim.id}}}"


def part_lines(claim: Claim) -> Iterator[str]:
    """Yield what is checked of a claim, at which scope, and how far the instances reach."""
    yield from ("What is checked, and how far it reaches:", r"\begin{itemize}")
    yield from (rf"\item {latex_text(f'{part.name} ({part.scope.name}; {reach(part)})')}" for part in claim.parts)
    yield r"\end{itemize}"


MOST_ROWS = 7
"""Rows of a matrix below four lines of words on a frame."""

_BEAMER = r"""\documentclass[aspectratio=169,14pt]{beamer}
\usepackage{amsmath,amssymb}
\setbeamertemplate{navigation symbols}{}
\setbeamertemplate{footline}[frame number]
\setcounter{MaxMatrixCols}{40}
\newsavebox{\board}
\setbeamertemplate{frametitle continuation}[from second]
% a formula as large as it is, smaller only where it is wider, or with the heading higher, than the frame
\newlength{\most}
\newcommand{\wide}[1]{\sbox{\board}{$\displaystyle #1$}\setlength{\most}{\dimexpr 0.68\textheight\relax}%
  \ifdim\wd\board>\linewidth\sbox{\board}{\resizebox{\linewidth}{!}{\usebox{\board}}}\fi
  \ifdim\dimexpr\ht\board+\dp\board\relax>\most\resizebox*{!}{\most}{\usebox{\board}}\else\usebox{\board}\fi}
% a polynomial may be cut at its signs
\newcommand{\running}[1]{\par\medskip{\raggedright$\displaystyle #1$\par}}
"""


def slides_lines(
    claim: Claim,
    intro: str,
    steps: Sequence[Step],
    *,
    author: str = "",
    date: str = "",
    picture: str = "",
) -> Iterator[str]:
    """Yield the walk-through as a file of beamer frames: the statement, then one frame a step, with large matrices.

    Who gives the talk, and when, stands on the first frame, a picture on the second; with an author and no date it is
    that of typesetting.
    """
    yield _BEAMER
    yield rf"\title{{{latex_text(claim.source)}}}"
    yield rf"\subtitle{{{latex_text(claim.title)}}}"
    if author:
        yield rf"\author{{{latex_text(author)}}}"
    yield rf"\date{{{latex_text(date)}}}" if date or not author else r"\date{\today}"
    yield r"\begin{document}"
    yield r"\begin{frame}"
    yield r"\titlepage"
    yield r"\end{frame}"
    if picture:
        size = r"width=\linewidth,height=0.85\textheight,keepaspectratio"
        yield rf"\begin{{frame}}\centering\includegraphics[{size}]{{\detokenize{{{picture}}}}}\end{{frame}}"
    yield rf"\begin{{frame}}{{{latex_text(claim.source)}}}"
    for line in formula_lines(claim.statement):
        yield rf"\par{{\centering\wide{{{line}}}\par}}\medskip"
    yield intro
    yield r"\end{frame}"
    yield rf"\begin{{frame}}{{{latex_text(claim.source)}: where it holds}}"
    yield rf"\footnotesize {claim.hypotheses}"
    yield r"\end{frame}"
    for number, step in enumerate(steps, start=1):
        yield rf"\begin{{frame}}[allowframebreaks]{{{number}. {step.heading}}}"
        yield step.prose
        for together, group in groupby(step.shown, lambda shown: isinstance(shown.value, (ShownMatrix, Fraction, str))):
            if together:  # as many side by side as fit; a high table on a frame of its own
                shown_here = list(group)
                if any(isinstance(s.value, ShownMatrix) and len(s.value.rows) > MOST_ROWS for s in shown_here):
                    yield r"\framebreak"
                boxes = "\\hspace{2em}\n".join(rf"\wide{{{shown_latex(shown)}}}" for shown in shown_here)
                yield rf"\par\medskip{{\centering\lineskip=1ex\clubpenalty=0\widowpenalty=0 {boxes}\par}}"
            else:
                yield from (rf"\running{{{shown_latex(shown)}}}" for shown in group)
        if step.answer:
            yield rf"\par\medskip{{\footnotesize {answer_latex(step.answer)}\par}}"
        yield r"\end{frame}"
    yield r"\begin{frame}[allowframebreaks]{Check it}"
    yield from (r"\footnotesize", *part_lines(claim))
    yield rf"\texttt{{lightning-sym check {claim.id}}}"
    yield r"\end{frame}"
    yield r"\end{document}"
