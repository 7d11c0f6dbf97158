"""`lightning-sym check`: the statements, checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lightning_cli import exit_codes, options

if TYPE_CHECKING:
    from proofs_check.claim import Claim
    from proofs_check.run import ClaimResult, Progress

SCHEMA = "lightning-sym/check/1"

FEW = 3
"""Up to so many claims, everything they found is printed under the table."""


def as_document(claims: Sequence[Claim], results: dict[str, ClaimResult]) -> dict[str, Any]:
    """All claims as JSON; a claim without a result has null for what running it would give."""
    document: list[dict[str, Any]] = []
    for claim in claims:
        result = results.get(claim.id)
        found = {} if result is None else {part.name: part for part in result.parts}
        parts: list[dict[str, Any]] = [
            {
                "name": part.name,
                "scope": part.scope.name,
                "expected": part.expected.value,
                "verdict": found[part.name].verdict.value if part.name in found else None,
                "instances": found[part.name].instances if part.name in found else None,
                "witness": found[part.name].witness if part.name in found else None,
                "findings": list(found[part.name].findings) if part.name in found else [],
                "tallies": list(found[part.name].tallies) if part.name in found else [],
                "examples": dict(found[part.name].examples) if part.name in found else {},
            }
            for part in claim.parts
        ]
        verdict = None if result is None or result.verdict is None else result.verdict.value
        document.append(
            {
                "id": claim.id,
                "source": claim.source,
                "statement": claim.title,
                "latex": claim.statement,
                "verdict": verdict,
                "expected": claim.expected.value,
                "instances": None if result is None else result.instances,
                "seconds": None if result is None else round(result.seconds, 3),
                "error": None if result is None else result.error,
                "parts": parts,
            }
        )
    return {"schema": SCHEMA, "claims": document}


_STYLE = {"HOLDS": "green", "REFUTED": "red", "UNDECIDED": "yellow"}


def _print_list(claims: Sequence[Claim]) -> None:
    from rich.table import Table

    from lightning_cli.writing.output import console

    table = Table("id", "source", "statement", title=None)
    for claim in claims:
        table.add_row(claim.id, claim.source, claim.title)
    console().print(table)


def _print_results(claims: Sequence[Claim], results: dict[str, ClaimResult]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from lightning_cli.writing.output import console

    out = console()
    table = Table()
    for name in ("id", "statement", "scope"):
        table.add_column(name)
    table.add_column("instances", justify="right")
    table.add_column("verdict")
    table.add_column("seconds", justify="right")
    for claim in claims:
        result = results[claim.id]
        scopes = "\n".join(dict.fromkeys(part.scope.name for part in claim.parts))
        if result.verdict is None:
            verdict = "[red]program error[/red]"
        else:
            style = _STYLE[result.verdict.value] if not result.as_expected else "green"
            expected = "" if result.as_expected else f" (expected {claim.expected.value})"
            if result.as_expected and result.verdict.value != "HOLDS":  # nobody should take it for a failure
                expected = "\nas expected"
            verdict = f"[{style}]{result.verdict.value}{expected}[/{style}]"
        table.add_row(claim.id, escape(claim.title), scopes, f"{result.instances:,}", verdict, f"{result.seconds:.1f}")
    out.print(table)

    findings = [(c.id, f) for c in claims for part in results[c.id].parts for f in part.findings]
    if len(claims) > FEW:  # a screenful at most: the rest is for one claim at a time, JSON or the report
        out.print(
            f"the checks found {len(findings)} things about the hypotheses: see `check ID`, `--json` or `--report DIR`"
        )
    elif findings:
        out.print("what the checks found about the hypotheses:")
        for claim_id, finding in findings:
            out.print(f"  [bold]{claim_id}[/bold]: {escape(finding)}")
    for claim in claims:
        for part in results[claim.id].parts:
            for tally in part.tallies if len(claims) <= FEW else ():
                out.print(f"  [bold]{claim.id}[/bold], {escape(part.name)}: {escape(tally)}")
            if part.witness is not None:
                out.print(
                    f"  [bold]{claim.id}[/bold], {escape(part.name)}: {part.verdict.value} {escape(part.witness)}"
                )
    for claim in claims:
        if error := results[claim.id].error:
            click.echo(f"program error in {claim.id}:\n{error}", err=True)
    fine = sum(result.as_expected for result in results.values())
    total = sum(result.instances for result in results.values())
    out.print(f"{fine} of {len(results)} claims as expected, {total:,} instances")


@contextmanager
def _live(claims: Sequence[Claim], results: dict[str, ClaimResult]) -> Iterator[Progress]:
    """One line a claim on stderr, while they run, and only on a terminal."""
    if not sys.stderr.isatty():
        yield lambda claim_id, count: None
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    counts: dict[str, int] = {}

    class Display:
        """Drawn anew on every refresh."""

        def __rich__(self) -> Group:
            lines = []
            for claim in claims:
                if (result := results.get(claim.id)) is not None:
                    verdict = result.verdict.value if result.verdict else "program error"
                    lines.append(
                        Text(
                            f"  {claim.id:24} {verdict} ({result.seconds:.1f} s)",
                            style="green" if result.as_expected else "red",
                        )
                    )
                elif claim.id in counts:
                    lines.append(Text(f"> {claim.id:24} {counts[claim.id]:,} instances"))
                else:
                    lines.append(Text(f"  {claim.id:24} waiting", style="dim"))
            return Group(*lines)

    with Live(Display(), console=Console(stderr=True), transient=True, refresh_per_second=8):
        yield counts.__setitem__


def exit_code(results: Sequence[ClaimResult]) -> int:
    """The worst of the claims."""

    def code(result: ClaimResult) -> int:
        if result.verdict is None:
            return exit_codes.PROGRAM_ERROR
        if result.as_expected:
            return exit_codes.AS_EXPECTED
        return exit_codes.worst(
            exit_codes.UNDECIDED if part.verdict.value == "UNDECIDED" else exit_codes.NOT_AS_EXPECTED
            for part in result.parts
            if part.verdict is not part.expected
        )

    return exit_codes.worst(map(code, results))


def _require_certificates(directory: str) -> Path:
    """The directory, made if it is not there: what can stand in the way of certificates is said before anything runs.

    Raises:
        BadInput: it cannot be one, cannot be written to, or holds something already.
    """
    from lightning_sym.errors import BadInput

    target = Path(directory)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if next(target.iterdir(), None) is not None:
            raise BadInput(f"certificates must go into a new or an empty directory, {str(target)!r} is not empty")
    except OSError as error:
        raise BadInput(f"certificates must go into a directory, not {directory!r}: {error.strerror}") from error
    if not os.access(target, os.W_OK | os.X_OK):
        raise BadInput(f"certificates must go into a directory that can be written to, {str(target)!r} cannot")
    return target


def _print_certificates(directory: Path, claims: Sequence[Claim], results: dict[str, ClaimResult]) -> None:
    written = {(claim.id, part.name): part.certificates for claim in claims for part in results[claim.id].parts}
    total = sum(count or 0 for count in written.values())
    click.echo(f"certificates: {total:,} in {directory}, checked by: lightning-sym verify {directory}", err=True)
    for (claim_id, part), count in written.items():
        if count == 0:  # of a generic part; the others say None
            click.echo(f"no certificates: {claim_id}, {part}", err=True)


@click.command(
    "check",
    epilog="""\b
Examples:
  lightning-sym check --quick
  lightning-sym check corollary-3.3 equation-12 --json
  lightning-sym check --certificates DIR

Exit codes: 0 every verdict is the expected one, 1 some verdict is not, 2 bad input, 3 something is
undecided, 4 an error of the program.""",
)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--list", "only_list", is_flag=True, help="Name the claims without running them.")
@click.option("--quick", is_flag=True, help="Fewer instances of each claim.")
@click.option("--report", "report", type=click.Path(), metavar="DIR", help="Write report.html and report.tex into DIR.")
@click.option(
    "--certificates",
    type=click.Path(),
    metavar="DIR",
    help="Write a certificate for every instance that is certified for almost all weights into DIR.",
)
@options.as_json
def command(
    ids: tuple[str, ...], only_list: bool, quick: bool, report: str | None, certificates: str | None, as_json: bool
) -> int:
    """Check the statements of the paper: all of them, or those with the given ids."""
    from lightning_cli.writing.output import write_json
    from proofs_check.registry import all_claims, claim_by_id

    for option, value in (("--report", report), ("--certificates", certificates)):
        if only_list and value is not None:
            raise click.UsageError(f"--list runs nothing that could be written down: leave out {option}")
    claims = [claim_by_id(name) for name in dict.fromkeys(ids)] or list(all_claims())
    results: dict[str, ClaimResult] = {}
    if only_list:
        if as_json:
            write_json(as_document(claims, results))
        else:
            _print_list(claims)
        return exit_codes.AS_EXPECTED

    report_directory = None
    if report is not None:
        from lightning_cli.writing.report import require_report

        report_directory = require_report(report)
    certificate_directory = None if certificates is None else _require_certificates(certificates)

    from proofs_check.run import run_claims

    with _live(claims, results) as progress:
        for result in run_claims(claims, quick, progress, certificate_directory):
            results[result.id] = result
    if as_json:
        write_json(as_document(claims, results))
    else:
        _print_results(claims, results)
    if report_directory is not None:
        from lightning_cli.writing.report import write_report

        page, _ = write_report(report_directory, claims, results, quick)
        click.echo(f"report: {page}", err=True)
    if certificate_directory is not None:
        _print_certificates(certificate_directory, claims, results)
    return exit_code(list(results.values()))
