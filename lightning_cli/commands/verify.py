"""`lightning-sym verify`: certificates, checked by `proofs_check/checker/verify.py`, and whether a set is complete."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import click

from lightning_cli import exit_codes
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from proofs_check.checker import verify

LIST = "manifest.json"
"""The list of what belongs to a set of certificates: `check --certificates` writes it last."""


@click.command(
    "verify",
    epilog="""\b
Examples:
  lightning-sym verify examples/dimension.json
  lightning-sym verify DIR

The checker needs nothing but Python: proofs_check/checker/verify.py of this program, or a copy
of that folder, does the same as `python verify.py FILE...`; the one file alone checks dimensions by orbits.

Exit codes: 0 every file proves what it claims, and every list of files agrees with what is there;
1 one does not; 2 nothing was given to check. A directory without a list is no reason for 1.""",
)
@click.argument("files", nargs=-1, type=click.Path(), metavar="FILE...")
def command(*, files: tuple[str, ...]) -> int:
    """Check certificates: one line a file, that it proves its claim, or the reason why not.

    A directory stands for all .json files below it. Where it has a list of what belongs to it, manifest.json, each
    file that is missing, changed or not listed is named; where it has none, a line says that nothing tells whether the
    set is complete. Most files take milliseconds, those of ten thousand parameters ten seconds, the largest that are
    allowed some four minutes; in a terminal a line on stderr then says how far it is.
    """
    if not files:
        raise click.UsageError("there must be a FILE to check, got none")
    certificates, found = list[str](), list[tuple[bool, str]]()
    for file in files:
        if os.path.isdir(file):
            below = _below(Path(file))
            certificates += [str(path) for path in below if path.name != LIST]
            found += _sets(Path(file), below)
        else:
            certificates.append(os.path.join(".", file) if file.startswith("-") else file)  # no option of the checker
    code = verify.main(certificates) if certificates else exit_codes.BAD_INPUT
    for _, line in found:
        click.echo(line if line.isprintable() and line.isascii() else ascii(line)[1:-1])
    return code if all(good for good, _ in found) else exit_codes.NOT_AS_EXPECTED


def _below(directory: Path) -> list[Path]:
    """Return all .json files below a directory, in order; links to directories are named like files, not followed."""

    def refuse(error: OSError) -> None:
        raise BadInput(f"{error.filename} must be a directory that can be read: {error.strerror}")

    found = list[Path]()
    for folder, folders, names in os.walk(directory, onerror=refuse):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        found += [Path(folder, name) for name in [*names, *links] if name.lower().endswith(".json") or name in links]
    if not found:
        raise click.UsageError(f"there must be .json files below {directory}, there is none")
    return sorted(found)


def _sets(directory: Path, below: list[Path]) -> Iterator[tuple[bool, str]]:
    """Yield, of each list below a directory and of what no list tells of, whether it is as it should be, and a line."""
    lists = [path for path in below if path.name == LIST]
    for path in lists:
        wrong = list(_differences(path, [other for other in below if path.parent in other.parents]))
        yield from ((False, line) for line in wrong)
        if not wrong:
            yield True, f"{path.parent}: complete: all files of {LIST} are there and unchanged, and no others"
    alone = [path for path in below if not any(other.parent in path.parents for other in lists)]
    if alone:
        yield (
            True,
            (
                f"{directory}: no {LIST} says whether this set is complete; one of an interrupted check has none "
                f"(certificates without it: {len(alone):,})"
            ),
        )


def _differences(path: Path, below: list[Path]) -> Iterator[str]:
    """Yield what a list of files and a directory do not agree about, a line each."""
    form = {"format": str, "version": range(1, 2), "files": dict}
    try:
        name, _, files = verify.take(verify.read(str(path)), "a list of files", form)
        if name != "lightning-sym/certificates" or not all(type(value) is str for value in files.values()):
            raise verify.Rejected("the format must be lightning-sym/certificates, of names and their sha256")
    except (ValueError, OSError, RecursionError) as error:
        yield f"{path}: rejected: a list of what belongs to a set must be one of format 1, {ascii(error)[:200]}"
        return
    there = {other.relative_to(path.parent).as_posix(): other for other in below if other.name != LIST}
    for name in sorted(files.keys() | there.keys()):
        if name not in files:
            yield f"{there[name]}: not listed: {path} does not know of it"
        elif name not in there or not there[name].is_file():
            yield f"{path.parent / name}: missing: {path} lists it"
        else:
            with there[name].open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != files[name]:
                    yield f"{there[name]}: changed: its sha256 is not the one in {path}"
