"""The commands, each imported when it is called, so that `--help` is immediate."""

from __future__ import annotations

import errno
import io
import os
import sys
from importlib import import_module
from typing import NoReturn

import click

from lightning_cli import exit_codes

# name: (module, one line for the list of commands)
COMMANDS = {
    "check": ("lightning_cli.commands.check", "Check the statements of the paper, exactly."),
    "classify": ("lightning_cli.commands.classify", "Say whether weights give a regular, singular or boundary point."),
    "dimension": ("lightning_cli.commands.dimension", "Certify the dimension of a network's set of functions."),
    "explain": ("lightning_cli.commands.explain", "Walk through a statement with small matrices, step by step."),
    "fiber": ("lightning_cli.commands.fiber", "Describe all weights with the same function."),
    "figure": ("lightning_cli.commands.figure", "Draw the paper's Figure 3, estimated against expected."),
    "phi": ("lightning_cli.commands.phi", "Print the polynomial map of a network."),
    "same": ("lightning_cli.commands.same", "Decide whether two networks compute the same function."),
    "verify": (
        "lightning_cli.commands.verify",
        "Check certificates, by a program that shares no code with the others.",
    ),
}


class LazyGroup(click.Group):
    """Looks a command up by importing its module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  lightning-sym check --quick
  lightning-sym dimension --widths 4,4,4 --ranks 2,2 --tokens 3
  lightning-sym phi --widths 2,1 --ranks 2 --tokens 2

Exit codes: 0 as expected, certified or the same; 1 some verdict not as expected, or different functions;
2 bad input; 3 undecided; 4 an error of the program.""",
)
@click.version_option(package_name="lightning-sym", message="%(prog)s %(version)s")
def cli() -> None:
    """The exact geometry of lightning self-attention.

    Which weights give the same function, how large the set of functions is, where the theorems about them
    hold: every answer is exact, or says that it is undecided.
    """


def main() -> NoReturn:
    """Run the program and turn whatever happens into one of the documented exit codes."""
    _ready_streams()
    try:
        code = cli(prog_name="lightning-sym", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(exit_codes.BAD_INPUT)
    except click.ClickException as error:
        click.echo(f"error: {_one_line(error.format_message())}", err=True)
        sys.exit(exit_codes.BAD_INPUT)
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("interrupted", err=True)
        sys.exit(exit_codes.INTERRUPTED)
    except (BrokenPipeError, SystemExit):
        # the reader of our output went away, as `| head` does: no error of ours (click and rich exit by themselves)
        _abandon_stdout()
        sys.exit(exit_codes.AS_EXPECTED)
    except MemoryError as error:
        click.echo(f"error: all must fit into memory: {_one_line(str(error)) or 'this does not'}", err=True)
        sys.exit(exit_codes.BAD_INPUT)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            sys.exit(_report(error))
        _abandon_stdout()
        click.echo(f"error: standard output must be writable: {error.strerror}", err=True)
        sys.exit(exit_codes.BAD_INPUT)
    except Exception as error:  # noqa: BLE001 - the last resort: an exit code, never a bare traceback
        sys.exit(_report(error))
    sys.exit(code if isinstance(code, int) else exit_codes.AS_EXPECTED)


def _ready_streams() -> None:
    """What a terminal cannot show is escaped; a stream that was closed swallows."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _abandon_stdout() -> None:
    """Nothing more can be written: keep the interpreter from trying again when it exits."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _report(error: Exception) -> int:
    from lightning_sym.errors import BadInput

    if isinstance(error, BadInput):
        click.echo(f"error: {_one_line(str(error))}", err=True)
        return exit_codes.BAD_INPUT
    import traceback

    traceback.print_exception(error)
    click.echo("this is an error of the program, not of your input; please report the lines above", err=True)
    return exit_codes.PROGRAM_ERROR


def _one_line(text: str) -> str:
    return " ".join(text.split())
