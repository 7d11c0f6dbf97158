"""Exercises in print: a question as a line of text, and the sheet of two pages that a student gets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from lightning_cli.writing.math_text import NO_BREAK, latex_text, prose
from lightning_sym.display import latex_matrix
from lightning_sym.lazy import lazy_imports
from lightning_sym.network.weight_names import split
from proofs_check.exercises.exercise import Exercise, Solution

with lazy_imports(__name__):
    from lightning_cli.writing import board_page, mathml

TITLE = "The geometry of attention: exercises"

INTRO = (
    r"One layer of lightning attention maps a $d \times t$ matrix $X$, whose columns are the tokens, to "
    r"$V X X^\top K^\top Q X$; the weights of layer $i$ are called $Q_i$, $K_i$, $V_i$, or $Q_{i.h}$, $K_{i.h}$, "
    r"$V_{i.h}$ in its head $h$, and $A = K^\top Q$. A softmax layer is $V X$ times the softmax of each "
    r"column of $X^\top A X$. Any answer that does what is asked is right, and numbers may be fractions."
)

FIRST_PAGE = 5
"""Exercises on it; the others are on the second."""

FILE = '{"Q1": [[1, "-2/3"]], "K1": [[0, 1]], "V1": [[2, 1]]}'
"""Weights, as the sheet shows some."""


_CHECK = "Check a number, a shape (widths / ranks, such as 2,2,2 / 2,2), or weights, pasted or in a file, such as"


def question_text(exercise: Exercise) -> str:
    """Return the question in plain text, matrices as JSON has them."""
    return prose(exercise.question, unicode=False).replace(NO_BREAK, " ").replace("{}", json.dumps(exercise.given))


def _check(seed: int | None) -> tuple[str, str]:
    """Return how an answer is checked: a number, and a file."""
    drawn = "" if seed is None else f" --seed {seed}"
    return f"lightning-sym exercise 1{drawn} --answer 9", f"lightning-sym exercise 2{drawn} --answer mine.json"


def _matrices(matrices: Mapping[str, object]) -> list[str]:
    """Return matrices by name as formulas in LaTeX."""
    return ["{}_{{{}}} = {}".format(*split(name), latex_matrix(rows)) for name, rows in matrices.items()]


def _solved(solution: Solution) -> list[str] | str:
    """Return a solution: matrices as formulas, anything else as text."""
    return str(solution) if isinstance(solution, (int, str)) else _matrices(solution.numbers())


# --- HTML

_STYLE = """
header .lines { display: flex; gap: 2rem; margin: 1rem 0; }
.lines span { flex: 1; border-bottom: 1px solid var(--ink); } .lines span:last-child { flex: none; border: 0; }
h2 { margin: 0 0 .3rem; font-size: 1.15rem; }
.given { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1.6rem; overflow-x: auto; padding: .3rem 0; }
.exercise { padding: 1rem 0 4rem; border-top: 1px solid var(--line); } .exercise p { margin: .2rem 0; }
.solution { color: var(--good); } .intro { font-size: .95rem; } pre { margin: .4rem 0; white-space: pre-wrap;
  font: .8rem/1.4 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
math { font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math", math; }
@page { margin: 14mm 16mm; }
@media print { :root { color-scheme: light; --paper: #fff; --ink: #000; --line: #aaa; --good: #22663a; }
  body { padding: 0; font-size: 10.5pt; line-height: 1.35; } h1 { font-size: 15pt; }
  h2 { font-size: 11.5pt; } .intro { font-size: 9.5pt; } header .lines { margin: .7rem 0; }
  .half { display: flex; flex-direction: column; height: 248mm; } .half + .half { break-before: page; }
  .exercise { flex: 1; padding: .5rem 0 0; break-inside: avoid; } }
"""


def _html_formulas(formulas: Sequence[str], kind: str) -> str:
    return f'<div class="{kind}">' + "".join(mathml.mathml(formula, "inline") for formula in formulas) + "</div>"


def _html_exercise(number: int, exercise: Exercise, *, solutions: bool) -> Iterator[str]:
    before, _, after = exercise.question.partition("{}")
    yield f'<section class="exercise"><h2>{number}. {escape(exercise.title)}</h2><p>{board_page.sentences(before)}</p>'
    yield _html_formulas(_matrices(exercise.given), "given") if exercise.given else ""
    yield f"<p>{board_page.sentences(after.removeprefix(': '))}</p>" if after else ""
    if solutions:
        found = _solved(exercise.solution())
        yield (
            f'<p class="solution">{escape(found)}</p>'
            if isinstance(found, str)
            else _html_formulas(found, "given solution")
        )
    yield "</section>"


def html_lines(exercises: Sequence[Exercise], seed: int | None, *, solutions: bool) -> Iterator[str]:
    """Yield the sheet as a page, which prints on two sides of paper."""
    return board_page.page(TITLE, _html_body(exercises, seed, solutions=solutions), _STYLE)


def _html_body(exercises: Sequence[Exercise], seed: int | None, *, solutions: bool) -> Iterator[str]:
    numbered = list(enumerate(exercises, start=1))
    halves = (numbered[:FIRST_PAGE], numbered[FIRST_PAGE:])
    yield f'<main><div class="half"><header><h1>{TITLE}</h1>'
    yield f'<p class="lines"><span>{"Solutions" if solutions else "Name"}</span><span>{_sheet(seed)}</span></p>'
    yield f'<p class="intro">{board_page.sentences(INTRO)}</p></header>'
    for i, half in enumerate(halves):
        yield '<div class="half">' if i else ""
        for number, exercise in half:
            yield from _html_exercise(number, exercise, solutions=solutions)
        yield "</div>" if i + 1 < len(halves) else ""
    of_number, of_file = map(escape, _check(seed))
    yield f"<footer class='intro'><p>{_CHECK} <code>{escape(FILE)}</code>:</p>"
    yield f"<pre>{of_number}\n{of_file}</pre></footer></div></main>"


def _sheet(seed: int | None) -> str:
    return "" if seed is None else f"Sheet {seed}"


# --- LaTeX

_PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[margin=18mm]{geometry}
\usepackage{amsmath,amssymb}
\pagestyle{empty}
\setlength{\parindent}{0pt}
\begin{document}"""


def _latex_words(text: str) -> str:
    """Return sentences with formulas between dollars in LaTeX."""
    return "".join(f"${p}$" if i % 2 else latex_text(p) for i, p in enumerate(text.split("$")))


def _latex_formulas(formulas: Sequence[str]) -> str:
    return r"\[ " + (r" \qquad " if len(formulas) <= 3 else r"\;\; ").join(formulas) + r" \]"


def _latex_exercise(number: int, exercise: Exercise, *, solutions: bool) -> Iterator[str]:
    before, _, after = exercise.question.partition("{}")
    yield rf"\hrule\medskip \textbf{{{number}. {latex_text(exercise.title)}}}\par {_latex_words(before)}"
    yield _latex_formulas(_matrices(exercise.given)) if exercise.given else r"\par"
    yield _latex_words(after.removeprefix(": ")) if after else ""
    if solutions:
        found = _solved(exercise.solution())
        said = found if isinstance(found, str) else _latex_formulas(found)
        yield rf"\par\textit{{Solution:}} {said}"
    yield r"\par\vfill"


def latex_lines(exercises: Sequence[Exercise], seed: int | None, *, solutions: bool) -> Iterator[str]:
    """Yield the sheet as a file of LaTeX, two pages."""
    yield _PREAMBLE
    yield rf"{{\Large\bfseries {TITLE}}}\par\bigskip"
    yield rf"{'Solutions' if solutions else 'Name'}\enspace\hrulefill\quad {_sheet(seed)}\par\medskip"
    yield rf"{{\small {_latex_words(INTRO)}\par}}\bigskip"
    for number, exercise in enumerate(exercises, start=1):
        if number == FIRST_PAGE + 1:
            yield r"\newpage"
        yield from _latex_exercise(number, exercise, solutions=solutions)
    yield rf"\hrule\medskip {{\small {_CHECK} \texttt{{{latex_text(FILE)}}}:\par"
    yield from (rf"\texttt{{{latex_text(line)}}}\par" for line in _check(seed))
    yield r"}\end{document}"


LINES = {".html": html_lines, ".tex": latex_lines}
"""By the ending of a file, the sheet in that form."""
