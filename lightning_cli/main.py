"""The commands, each imported when it is called, so that `--help` is immediate."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

import click

from lightning_cli import exit_codes

DOORS = {
    "I have weights, or a checkpoint": {
        "same": "Decide whether two networks compute the same function.",
        "canonical": "Give the one representative of all weights with a function.",
        "fiber": "Describe all weights with the same function.",
        "classify": "Say whether weights give a regular, singular or boundary point.",
        "coefficient": "Give a learning coefficient: how singular weights are.",
        "recover": "Find weights for a polynomial map, a jet or a black box.",
        "align": "Write the weights of one function that are nearest to another checkpoint.",
        "apply": "Write the checkpoint that a symmetry makes of another one.",
        "circuits": "Show the heads of a checkpoint, or find a copy in disguise.",
        "convert": "Write a checkpoint in another layout, exactly.",
        "symmetries": "Say what may be done to a model, and whether that is all.",
        "explain-rewriting": "Tell what was done between two checkpoints, step by step.",
    },
    "I have a theorem, or the shape of a network": {
        "check": "Check the statements of the paper, exactly.",
        "dimension": "Certify the dimension of a network's set of functions.",
        "degree": "Give the degree of the closure of a network's set of functions.",
        "equations": "Find the equations of the closure of a network's functions.",
        "conserved": "List what gradient flow keeps, for any loss and data.",
        "phi": "Print the polynomial map of a network.",
        "sweep": "Certify the dimensions of many networks, side by side, into a file.",
        "atlas": "Ask the certified dimensions of many networks, or make a page of them.",
        "verify": "Check certificates, by a program that shares no code with the others.",
    },
    "I have a class": {
        "explain": "Walk through a statement with small matrices, step by step.",
        "exercise": "Ask an exercise, check an answer, or print all ten for a class.",
        "page": "Write a page on which a theorem moves under the hand.",
        "figure": "Draw a picture, and print the exact numbers in it.",
    },
}
"""The commands, by what somebody comes with: by the name of each one line for the list."""

COMMANDS = dict(sorted(pair for door in DOORS.values() for pair in door.items()))
"""All of them; the module that has a command is called like it, `_` for `-`."""

_ROOM = "lightning_cli.commands"


def module_of(name: str) -> ModuleType:
    """Return the module of a command, which has it as `command`."""
    return import_module(f"{_ROOM}.{name.replace('-', '_')}")


class LazyGroup(click.Group):
    """Looks a command up by importing its module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = module_of(cmd_name).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called, or refuse its name with those that are spelled like it.

        Raises:
            click.UsageError: there is no such command.
        """
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            from difflib import get_close_matches

            if near := get_close_matches(args[0], COMMANDS):
                ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(near)}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for door, commands in DOORS.items():
            with formatter.section(door):
                formatter.write_dl([(f"{name:<{widest}}", said) for name, said in commands.items()])


def _as_json(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Keep that JSON is asked for: the version, which is told afterwards, looks there."""
    context.meta["json"] = asked


def _version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print the version, and which compiled kernel is used or why not, where there is one.

    Raises:
        click.UsageError: JSON is asked for, and no version.
    """
    if context.resilient_parsing:
        return
    if not asked:
        if context.meta["json"]:
            raise click.UsageError("--json must stand behind a command, or beside --version")
        return
    from lightning_cli.writing import version_answer
    from lightning_sym.version import __version__

    if context.meta["json"]:
        from lightning_cli.writing.output import write_json

        write_json(version_answer.ANSWER.document(version_answer.installed()))
        context.exit()
    click.echo(f"{context.info_name} {__version__}")
    if (state := version_answer.kernel_state()) is not None:
        click.echo(f"compiled kernel: {state}")
    context.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  lightning-sym check --quick
  lightning-sym dimension --widths 4,4,4 --ranks 2,2 --tokens 3
  lightning-sym same first.json second.json --tokens 3

Exit codes: 0 as expected, certified or the same; 1 some verdict not as expected, or different functions;
2 bad input; 3 undecided; 4 an error of the program.""",
)
@click.option(
    "--json",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_as_json,
    help="With --version: also Python, packages, extras and the kernel, as one JSON object.",
)
@click.option("--version", is_flag=True, expose_value=False, callback=_version, help="Show the version and exit.")
def cli() -> None:
    """The exact geometry of attention, lightning and softmax.

    Which weights give the same function, how large the set of functions is, where the theorems about them
    hold: every answer is exact, or says that it is undecided.
    """


def main() -> NoReturn:
    """Run the program and turn whatever happens into one of the documented exit codes."""
    atexit.register(gc.freeze)  # when the process ends nothing need be searched for circles any more
    stdout = _ready_streams()
    code = _run(stdout)
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _undelivered(error, code)
    sys.exit(code)


class _Watched(io.FileIO):
    """A standard stream that remembers why it could not be written, or does not mind."""

    failure: OSError | None = None

    def __init__(self, descriptor: int, needed: bool) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.needed = needed

    def write(self, data: Any, /) -> int:
        """Write, as far as it goes."""
        try:
            return super().write(data)
        except OSError as error:
            self.failure = error
            if self.needed:
                raise
            return len(data)  # where nobody hears what was wrong, the exit code says it alone


def _ready_streams() -> _Watched | None:
    """Return the stream behind stdout, if any; what a terminal cannot show is escaped, a closed stream swallows."""
    watched = None
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open as long as the process
        elif stream is not getattr(sys, f"__{name}__") or not isinstance(stream, io.TextIOWrapper):
            continue  # somebody who runs us in his own process looks after it
        else:
            raw = _Watched(stream.fileno(), needed=name == "stdout")
            unbuffered, lines = stream.write_through, stream.line_buffering
            buffer = io.BufferedWriter(raw)
            escaped = "backslashreplace"
            text = io.TextIOWrapper(buffer, stream.encoding, escaped, line_buffering=lines, write_through=unbuffered)
            setattr(sys, name, text)
            watched = raw if raw.needed else watched
    return watched


def _run(stdout: _Watched | None) -> int:
    try:
        code = cli(prog_name="lightning-sym", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return exit_codes.BAD_INPUT
    except click.ClickException as error:
        click.echo(f"error: {_one_line(error.format_message())}{_where_weights_go(error)}", err=True)
        return exit_codes.BAD_INPUT
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("interrupted", err=True)
        return exit_codes.INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:  # click and rich exit by themselves, with 1
        return _undelivered(stdout.failure if stdout and stdout.failure else error)
    except MemoryError as error:
        click.echo(f"error: all must fit into memory: {_one_line(str(error)) or 'this does not'}", err=True)
        return exit_codes.BAD_INPUT
    except Exception as error:  # noqa: BLE001 - the last resort: an exit code, never a bare traceback
        return _undelivered(error) if stdout and stdout.failure is error else _report(error)
    return code if isinstance(code, int) else exit_codes.AS_EXPECTED


def _undelivered(error: BaseException, code: int = exit_codes.BROKEN_PIPE) -> int:
    """Return what to exit with when stdout could not be written: never an answer that nobody gave."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - or the interpreter tries again when it exits
    if isinstance(error, (BrokenPipeError, SystemExit)):  # the reader went away, as `| head` does
        return code
    reason = error.strerror if isinstance(error, OSError) else error
    click.echo(f"error: standard output must be writable: {reason}", err=True)
    return exit_codes.BAD_INPUT


def _report(error: Exception) -> int:
    from lightning_sym.errors import BadInput

    if isinstance(error, BadInput):
        click.echo(f"error: {_one_line(str(error))}", err=True)
        return exit_codes.BAD_INPUT
    if isinstance(error.__cause__, KeyboardInterrupt):  # hidden by a class that was being made
        click.echo("interrupted", err=True)
        return exit_codes.INTERRUPTED
    import traceback

    traceback.print_exception(error)
    click.echo("this is an error of the program, not of your input; please report the lines above", err=True)
    return exit_codes.PROGRAM_ERROR


def _where_weights_go(error: click.ClickException) -> str:
    """Return how the command takes a file of weights, by itself or by `--weights`, where the other way was tried."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    names = [name for parameter in context.command.params for name in parameter.opts] if context else []
    if isinstance(error, click.NoSuchOption):
        return " FILE is given by itself." if error.option_name == "--weights" and {"file", "first"} & {*names} else ""
    extra = isinstance(error, click.UsageError) and "unexpected extra argument" in error.message
    return "; a file of weights is given by --weights FILE" if extra and "--weights" in names else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    main()
