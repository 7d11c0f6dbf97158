"""Text that is made from the program when the pages are built, in place of a line `<!-- made: NAME -->`.

What a command says of itself, what a claim states, which field a schema has: written once, in the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from draw_house import house

from lightning_cli.main import COMMANDS, DOORS, cli, module_of
from lightning_cli.schemas import all_answers, schema, schema_names
from lightning_cli.writing.mathml import formula_lines
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.layouts import LAYOUTS
from lightning_sym.rings import protocol
from proofs_check.checker.verify import KINDS
from proofs_check.claim import Claim, Scope, Verdict
from proofs_check.instances import reach
from proofs_check.registry import all_claims, claims_by_module

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
SCHEMAS = DOCS / "reference" / "schemas"
"""Made when the pages are built: a page can only link to a file beside it."""

BESIDE_THE_CODE = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "security.md",
    "LICENSE": "license.md",
}
_MADE = re.compile(r"^<!-- made: ([\w.-]+) -->$", flags=re.MULTILINE)


def help_of(name: str | None) -> str:
    """What `lightning-sym NAME --help` prints; of the whole program if there is no name."""
    root = click.Context(cli, info_name="lightning-sym", terminal_width=100, **cli.context_settings)
    if name is None:
        return cli.get_help(root)
    command: click.Command = module_of(name).command
    return command.get_help(click.Context(command, info_name=name, parent=root, terminal_width=100))


def commands() -> Iterator[str]:
    """Every command by its own help."""
    yield from ("```text", help_of(None), "```", "")
    for name, line in COMMANDS.items():
        yield from (f"## {name}", "", line, "", "```text", help_of(name), "```", "")


def doors() -> Iterator[str]:
    """What somebody may come with: a picture, and the commands for it."""
    for (door, lines), (picture, alt, more) in zip(DOORS.items(), _BESIDE_DOORS, strict=True):
        yield from (f"## {door}", "", f"![{alt}]({picture})", "", more, "")
        yield from (
            f"- [`{name}`](reference/commands.md#{name}): {line[0].lower()}{line[1:]}" for name, line in lines.items()
        )
        yield ""


_BESIDE_DOORS = (
    (
        "pictures/mistake.svg",
        "What `same` prints of two checkpoints: different, and the bias that a conversion forgot",
        "Are two files one function, and by which symmetry? Which tensor did a conversion get wrong? Begin with "
        "[comparing weights](how-to/compare-weights.md) or [checkpoints](how-to/compare-checkpoints.md).",
    ),
    (
        "pictures/dimensions.svg",
        "Certified dimensions of networks beside the formulas of the paper",
        "Does it hold, and where does it end? Begin with [your own network](tutorials/your-network.md), and with "
        "[how an answer becomes exact](explanation/exactness.md).",
    ),
    (
        "pictures/figure-1.svg",
        "Figure 1 of the paper: a surface of degree four and its singular line",
        "Two hours, with a sheet of exercises for each student: [the lesson](tutorials/lesson.md), and [pictures that "
        "move](how-to/pictures.md).",
    ),
)
"""Of each door a picture, what it shows, and where to begin."""


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _claim(claim: Claim, module: str) -> Iterator[str]:
    verdict = claim.expected.value
    yield from (f"## {claim.id}", "", f"*{claim.source}.* {claim.title[0].upper()}{claim.title[1:]}.", "")
    for line in formula_lines(claim.statement):
        yield from ("$$", line, "$$", "")
    yield from (claim.hypotheses, "")
    known = "" if claim.expected is Verdict.HOLDS else ": the statement as printed fails, which is what the check shows"
    yield from (f"Verdict: **{verdict}**{known}. `lightning-sym check {claim.id}`", "")
    yield from ("| part | scope | instances | verdict | mutants |", "|---|---|---|---|---|")
    for part in claim.parts:
        mutants = "; ".join(part.mutants)
        scope, verdict = part.scope.name, part.expected.value
        yield f"| {_cell(part.name)} | {scope} | {reach(part)} | {verdict} | {_cell(mutants) or 'none'} |"
    code = import_module(f"proofs_check.claims.{module}")
    path = f"proofs_check/claims/{module.replace('.', '/')}" + ("/" if hasattr(code, "__path__") else ".py")
    note = getdoc(code) or ""
    yield from ("", note, "", f"Code: `{path}`", "")


def claims() -> Iterator[str]:
    """Every claim: statement, parts, mutants, and how it is checked, which is the docstring of its module."""
    for module, claim in claims_by_module().items():
        yield from _claim(claim, module)


def table_of_claims() -> Iterator[str]:
    """One line a claim."""
    yield from ("| claim | source | title | verdict |", "|---|---|---|---|")
    for claim in all_claims():
        row = (f"[`{claim.id}`](#{claim.id.replace('.', '')})", claim.source, claim.title, claim.expected.value)
        yield "| " + " | ".join(map(_cell, row)) + " |"


def scopes() -> Iterator[str]:
    """How far a verdict can reach."""
    yield from ("| scope | what was shown |", "|---|---|")
    for scope in Scope:
        yield f"| {scope.name} | {scope.value} |"


def _of_answers() -> list[str]:
    """The schemas but those of files, which have pages of their own."""
    return [name for name in schema_names() if name not in ("baseline", "certificate")]


def schemas() -> Iterator[str]:
    """The JSON answers, by their schemas."""
    for name in _of_answers():
        found = schema(name)
        if "properties" not in found:  # what the others refer to
            continue
        yield from (f"## {found['title']}", "", found["description"], "")
        yield from ("| field | meaning |", "|---|---|")
        for word, field in found["properties"].items():
            yield f"| `{word}` | {_cell(field['description'])} |"
        yield from ("", f"[The schema](schemas/{name}.schema.json)", "")


def schema_numbers() -> Iterator[str]:
    """Each kind of answer, and the number of its schema."""
    yield from ("| schema | number | what prints it |", "|---|---|---|")
    for answer in sorted(all_answers(), key=lambda each: each.name):
        yield f"| `{answer.name}` | {answer.version} | {_cell(answer.said.rstrip('.'))} |"


def kinds() -> Iterator[str]:
    """Every kind of certificate: what the file that reads it says of it, and which fields stand beside the kind."""
    yield from ("| kind | fields | read by |", "|---|---|---|")
    notes = []
    for word in KINDS.words():
        path = "verify.py" if word in KINDS.own() else f"{KINDS.folder}/{word}.py"
        module = import_module(f"proofs_check.checker.{path.removesuffix('.py').replace('/', '.')}")
        every = (", ".join(f"`{field}`" for field in form) for form, _ in KINDS.rows(word))
        yield f"| `{word}` | {'; or '.join(every)} | `proofs_check/checker/{path}` |"
        notes += ["", f"*{word}:* {getdoc(module)}"] if word not in KINDS.own() else []
    yield from (*notes, "", "[The schema](reference/schemas/certificate.schema.json)")


def ring() -> Iterator[str]:
    """The contract of a ring, which is the docstring of its module."""
    yield getdoc(protocol) or ""


def layouts() -> Iterator[str]:
    """The layouts of checkpoints: files, what is particular, and which families have names in them."""
    yield from ("| layout | files | pieces | families |", "|---|---|---|---|")
    for row in LAYOUTS.values():
        families = ", ".join(f"`{name}`" for name, family in FAMILIES.items() if row.spellings(family))
        yield f"| `{row.name}` | {row.files.value} | {_cell(row.said)} | {families} |"


def _floors() -> Iterator[str]:
    drawn = house()
    yield from ('<div class="house-frame">', drawn.svg, "</div>", "", drawn.caption)


def _from_the_root(name: str) -> Iterator[str]:
    """A page that stands beside the code, where people look for it; its links lead to pages of the site."""
    text = (DOCS.parent / name).read_text(encoding="utf-8")
    yield re.sub(r"\]\(([^):#]+)\)", lambda link: f"]({_in_the_site(link[1])})", text)


def _in_the_site(target: str) -> str:
    """Where a link of a page beside the code leads on the site.

    Raises:
        KeyError: it leads to a file that has no page.
    """
    return target.removeprefix("docs/") if target.startswith("docs/") else BESIDE_THE_CODE[target]


PIECES: dict[str, Callable[[], Iterator[str]]] = {
    "commands": commands,
    "doors": doors,
    "claims": claims,
    "table-of-claims": table_of_claims,
    "scopes": scopes,
    "schemas": schemas,
    "schema-numbers": schema_numbers,
    "kinds": kinds,
    "house": _floors,
    "ring": ring,
    "layouts": layouts,
    **{name: partial(_from_the_root, name) for name in BESIDE_THE_CODE},
}


def made(text: str) -> str:
    """A page with everything in it that is made.

    Raises:
        KeyError: it asks for something that is not known here.
    """
    return _MADE.sub(lambda match: "\n".join(PIECES[match[1]]()), text)


def _write_schemas(app: Sphinx) -> None:
    SCHEMAS.mkdir(exist_ok=True)
    for name in (*_of_answers(), "certificate"):
        text = json.dumps(schema(name), indent=1, ensure_ascii=False)
        (SCHEMAS / f"{name}.schema.json").write_text(text + "\n", encoding="utf-8")


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = made(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", _write_schemas)
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
