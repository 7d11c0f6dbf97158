"""`check --report DIR`: the results as a web page that needs nothing else, and as a LaTeX table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lightning_cli.output_file import require_directory, write_files
from lightning_cli.writing.math_text import latex_text
from lightning_cli.writing.mathml import converter, formula_lines
from lightning_cli.writing.outcomes import outcome, parts, summary
from lightning_cli.writing.statement_page import as_html
from lightning_sym.errors import BadInput
from lightning_sym.version import __version__

if TYPE_CHECKING:
    from proofs_check.claim import Claim
    from proofs_check.run import ClaimResult

HTML_NAME, LATEX_NAME = "report.html", "report.tex"


# --- where it goes


def require_report(directory: str) -> Path:
    """Refuse everything that can be known to stand in the way of a report, before anything is run.

    Raises:
        MissingExtra: the package that renders formulas is not installed.
        BadInput: the directory cannot be one, or cannot be written to.
    """
    converter()
    target = require_directory("the report", directory)
    for name in (HTML_NAME, LATEX_NAME):
        if (target / name).is_dir():
            raise BadInput(f"the report must be able to replace {str(target / name)!r}, which is a directory")
    return target


def write_report(directory: Path, claims: Sequence[Claim], results: Mapping[str, ClaimResult], *, quick: bool) -> Path:
    """Write `report.html` and `report.tex`; both appear complete, or nothing changes. The path of the page is returned.

    Raises:
        BadInput: the directory cannot be written to.
    """
    texts = {HTML_NAME: as_html(claims, results, quick=quick), LATEX_NAME: as_latex(claims, results, quick=quick)}
    write_files("the report", directory, texts)
    return directory / HTML_NAME


# --- the table


def as_latex(claims: Sequence[Claim], results: Mapping[str, ClaimResult], *, quick: bool = False) -> str:
    """Return a `longtable`, one row a claim and one row each of its parts."""
    lines = [
        f"% {summary(results, claims, quick=quick)}; lightning-sym {__version__}",
        r"% needs \usepackage{amsmath,amssymb,array,longtable}",
        r"\begingroup\small\setlength{\tabcolsep}{4pt}",
        r"\begin{longtable}{@{}>{\raggedright\arraybackslash}p{0.5\linewidth}lr"
        r">{\raggedright\arraybackslash}p{0.17\linewidth}@{}}",
        r"\hline claim, statement, parts & scope & instances & verdict \\ \hline",
        r"\endhead",
        r"\hline \endfoot",
    ]
    for claim in claims:
        result = results[claim.id]
        statement = r"\quad ".join(f"${line}$" for line in formula_lines(claim.statement))
        lines.append(
            rf"\texttt{{{latex_text(claim.id)}}} \newline {statement} & & {result.instances} & "
            rf"{latex_text(str(outcome(claim, result)))} \\*"
        )
        for number, (part, found) in enumerate(parts(claim, result), start=1):
            instances = "" if found is None else str(found.instances)
            scope = part.scope.name.lower().replace("_", " ")
            end = r"\\[4pt]" if number == len(claim.parts) else r"\\*"
            cells = (latex_text(part.name), rf"\textsc{{{scope}}}", instances, latex_text(str(outcome(part, found))))
            lines.append(rf"\hangindent=2em\quad {' & '.join(cells)} {end}")
    return "\n".join([*lines, r"\end{longtable}\endgroup", ""])
