"""`lightning-sym check`: the statements, checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import click

from lightning_cli import exit_codes, options
from lightning_cli.output_file import require_directory, require_output_file
from lightning_cli.writing.check_answer import CHECK, KEPT_RUN, check_document, kept_run
from lightning_cli.writing.output import console, write_json
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from rich import console as consoles
    from rich import live, text

    from lightning_cli.writing import check_text
    from lightning_cli.writing import report as reports
    from proofs_check import baseline as baselines
    from proofs_check import certificates as written_certificates
    from proofs_check import claim as claimed
    from proofs_check import registry, run

ANSWERS = (CHECK, KEPT_RUN)

SILENCE = 10.0
"""Seconds without a word where stderr is no terminal."""


Results = dict[str, "run.ClaimResult"]
"""By the id of its claim."""


class _Display(NamedTuple):
    """What is told while the claims run."""

    progress: run.Progress
    finished: Callable[[claimed.Claim, run.ClaimResult], None]


@contextmanager
def _display(claims: Sequence[claimed.Claim], results: Results, *, quiet: bool) -> Iterator[_Display]:
    """Show on stderr all claims on a terminal; elsewhere, unless it is to be quiet, how many are done, now and then."""
    if not sys.stderr.isatty():
        told = monotonic()

        def count_claims(claim: claimed.Claim, result: run.ClaimResult) -> None:
            nonlocal told
            if not quiet and monotonic() >= told + SILENCE:
                told = monotonic()
                click.echo(f"{len(results):,} of {len(claims):,} claims", err=True)

        yield _Display(lambda claim_id, count: None, count_claims)
        return
    counts: dict[str, int] = {}

    class AllClaims:
        """Drawn anew on every refresh."""

        def __rich__(self) -> consoles.Group:
            lines = []
            for claim in claims:
                if (result := results.get(claim.id)) is not None:
                    verdict = result.verdict.value if result.verdict else "program error"
                    style = "green" if result.as_expected else "red"
                    lines.append(text.Text(f"  {claim.id:27} {verdict} ({result.seconds:.1f} s)", style=style))
                elif claim.id in counts:
                    lines.append(text.Text(f"> {claim.id:27} {counts[claim.id]:,} instances"))
                else:
                    lines.append(text.Text(f"  {claim.id:27} waiting", style="dim"))
            return consoles.Group(*lines)

    with live.Live(AllClaims(), console=consoles.Console(stderr=True), transient=True, refresh_per_second=8):
        yield _Display(counts.__setitem__, lambda claim, result: None)


def exit_code(results: Sequence[run.ClaimResult]) -> int:
    """Return the worst of the claims."""

    def code(result: run.ClaimResult) -> int:
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
    """Return the directory: what can stand in the way of certificates is said before anything runs.

    Raises:
        BadInput: it cannot be one, cannot be written to, or holds something already.
    """
    target = require_directory("certificates", directory)
    if target.is_dir() and next(target.iterdir(), None) is not None:
        raise BadInput(f"certificates must go into a new or an empty directory, {str(target)!r} is not empty")
    return target


def _finish_certificates(directory: Path, claims: Sequence[claimed.Claim], results: Results) -> None:
    """Write the list of certificates, if every claim ran to its end, and say what there is."""
    parts = [(claim.id, part) for claim in claims for part in results[claim.id].parts]
    files = {name: digest for _, part in parts for name, digest in (part.certificates or {}).items()}
    if any(results[claim.id].error is not None for claim in claims):
        click.echo(f"certificates: {len(files):,} in {directory}, not all of them: there is no list of them", err=True)
        return
    written_certificates.write_manifest(directory, files)
    click.echo(f"certificates: {len(files):,} in {directory}, checked by: lightning-sym verify {directory}", err=True)
    for claim_id, part in parts:
        if part.certificates is not None and not part.certificates:  # of a generic part; the others say None
            click.echo(f"no certificates: {claim_id}, {part.name}", err=True)


def _write_baseline(path: str, results: Results, *, quick: bool) -> None:
    """Write a baseline, unless there is nothing whole to be kept."""
    if any(result.error is not None for result in results.values()):
        click.echo(f"baseline: {path} is not written, a claim did not run to its end", err=True)
        return
    baselines.write_baseline(path, kept_run(results, quick=quick))
    words = "check --quick" if quick else "check"
    click.echo(f"baseline: {path}, compared with by: lightning-sym {words} --baseline {path}", err=True)


@click.command(
    "check",
    epilog="""\b
Examples:
  lightning-sym check --quick
  lightning-sym check corollary-3.3 equation-12 --json
  lightning-sym check --certificates DIR
  lightning-sym check --quick --write-baseline FILE
  lightning-sym check --quick --baseline FILE

Exit codes: 0 every verdict is the expected one, 1 some verdict is not, or something differs from the
baseline, 2 bad input, 3 something is undecided, or there was no baseline to compare with, 4 an error of
the program.""",
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
@click.option(
    "--baseline",
    type=click.Path(),
    metavar="FILE",
    help="Compare verdicts, counts and witnesses with those in FILE; where there is no FILE yet, record them and exit "
    "with 3.",
)
@options.output("a baseline", "--write-baseline", help="Write them into FILE, over what is there.")
@options.AS_JSON
def command(
    *,
    ids: tuple[str, ...],
    only_list: bool,
    quick: bool,
    report: str | None,
    certificates: str | None,
    baseline: str | None,
    write_baseline: str | None,
    as_json: bool,
) -> int:
    """Check the statements of the paper: all of them, or those with the given ids."""
    given = {"--report": report, "--certificates": certificates, "--baseline": baseline}
    options.refuse(
        *(
            (only_list and value is not None, f"--list runs nothing that could be written down: leave out {option}")
            for option, value in (given | {"--write-baseline": write_baseline}).items()
        )
    )
    claims = [registry.claim_by_id(name) for name in dict.fromkeys(ids)] or list(registry.all_claims())
    results: Results = {}
    if only_list:
        if as_json:
            write_json(check_document(claims, results))
        else:
            check_text.print_list(claims, console())
        return exit_codes.AS_EXPECTED

    report_directory = None if report is None else reports.require_report(report)
    certificate_directory = None if certificates is None else _require_certificates(certificates)

    known = None
    # a file that is not there is recorded; the exit code is not 0, so that a misspelled path cannot pass
    first = baseline is not None and not os.path.exists(baseline)
    if baseline is not None and not first:
        known = baselines.read_baseline(baseline, [claim.id for claim in claims])
    written = [path for path in dict.fromkeys((write_baseline, baseline if first else None)) if path is not None]
    if first:
        require_output_file("a baseline", str(baseline))
        click.echo(f"baseline: there is no {baseline}: this run is recorded in it, compared with nothing", err=True)

    by_id = {claim.id: claim for claim in claims}
    with (
        _display(claims, results, quiet=as_json or len(claims) == 1) as display,
        # closed on the way out, whatever the reason: that ends the processes
        closing(run.run_claims(claims, quick, display.progress, certificate_directory)) as found,
    ):
        for result in found:
            results[result.id] = result
            display.finished(by_id[result.id], result)
    compared = None if known is None else baselines.compare(known, kept_run(results, quick=quick), everything=not ids)
    if first:
        compared = baselines.nothing_compared(str(baseline))
    if report_directory is not None:
        page = reports.write_report(report_directory, claims, results, quick=quick)
        click.echo(f"report: {page}", err=True)
    if certificate_directory is not None:
        _finish_certificates(certificate_directory, claims, results)
    for path in written:
        _write_baseline(path, results, quick=quick)
    if as_json:
        write_json(check_document(claims, results, compared))
    else:
        out = console()
        (check_text.print_lines if quick else check_text.print_table)(claims, results, out)
        check_text.print_findings(claims, results, out)
        for claim in claims:
            if error := results[claim.id].error:
                click.echo(f"program error in {claim.id}:\n{error}", err=True)
        check_text.print_total(results, out)
        if compared is not None:
            check_text.print_compared(compared, str(baseline), out)
    differs = compared is not None and compared.differences
    beside = exit_codes.UNDECIDED if first else exit_codes.NOT_AS_EXPECTED if differs else exit_codes.AS_EXPECTED
    return exit_codes.worst([exit_code(list(results.values())), beside])
