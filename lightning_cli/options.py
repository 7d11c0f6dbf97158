"""Options shared by the commands that take an architecture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from lightning_cli.numbers import Amount, Integer, Size, Sizes, TokenIds
from lightning_cli.output_file import OutputFile

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("sympy", "latex", "macaulay2", "singular", "oscar", "sage", "json")
"""What `--format` knows: `lightning_sym.network.formats.FORMATS`, which takes longer to import."""


def widths(required: bool = True) -> Callable[[F], F]:
    """The option `--widths`."""
    return click.option("--widths", type=Sizes(), required=required, help="Widths d_0,...,d_l; at least two of them.")


def ranks(required: bool = True) -> Callable[[F], F]:
    """The option `--ranks`."""
    return click.option(
        "--ranks",
        type=Sizes(),
        required=required,
        help="Query/key widths a_1,...,a_l; one value stands for all layers.",
    )


def tokens_option(required: bool = True) -> Callable[[F], F]:
    """The option `--tokens`."""
    return click.option("--tokens", type=Size(), required=required, help="Number of tokens t.")


tokens = tokens_option()

tokens_or_two = click.option("--tokens", type=Size(), default=2, show_default=True, help="Number of tokens t.")

seed = click.option("--seed", type=Integer(), default=0, show_default=True, help="Picks the inputs.")


_ENDS = (
    click.option("--unembed", type=Size(), help="m, for a matrix m x d_l behind the layers."),
    click.option("--embed", type=Size(), help="n, for a matrix d_0 x n before the layers."),
)

_VALUE_RANKS = click.option(
    "--value-ranks",
    type=Sizes(),
    help="Value widths b_1,...,b_l inside a head, with an output projection d_i x b_i behind them; one value "
    "stands for all layers. Without it each head has one matrix d_i x d_{i-1}.",
)


def transformer(command: F) -> F:
    """The options that turn a lightning network into a transformer without MLPs."""
    for option in (
        *_ENDS,
        click.option(
            "--mask",
            type=click.Choice(["none", "causal"]),
            default="none",
            show_default=True,
            help="causal: token i attends to the tokens up to i only.",
        ),
        click.option("--skip", is_flag=True, help="Each layer adds its input; needs equal widths."),
        _VALUE_RANKS,
        click.option("--heads", type=Size(), default=1, show_default=True, help="Heads of each layer."),
        click.option(
            "--normalization",
            type=click.Choice(["none", "softmax"]),
            default="none",
            show_default=True,
            help="none is lightning attention.",
        ),
    ):
        command = option(command)
    return command


def more_weights(command: F) -> F:
    """The options of a transformer that weights of a file show by themselves."""
    for option in (
        *_ENDS,
        _VALUE_RANKS,
        click.option("--heads", type=Size(), help="Heads of each layer; 1 unless said."),
    ):
        command = option(command)
    return command


as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")

memory = click.option(
    "--memory",
    type=Amount("GiB", 2**40),
    default=4.0,
    show_default=True,
    metavar="GIB",
    help="Refuse what is estimated to need more memory than this.",
)


work = click.option(
    "--work",
    type=Amount("seconds", endless=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Refuse exact arithmetic that is estimated, roughly, to take more than this in all.",
)


def weight_form(command: F) -> F:
    """The options that say which network the weights of a file are of."""
    for option in (
        click.option("--skip", is_flag=True, help="For a file that does not say: each layer adds its input."),
        click.option(
            "--mask", type=click.Choice(["none", "causal"]), help="For a file that does not say; none is the default."
        ),
        click.option(
            "--normalization",
            type=click.Choice(["none", "softmax"]),
            help="For a file that does not say; none, the default, is lightning attention.",
        ),
    ):
        command = option(command)
    return command


OF_CHECKPOINTS = ("exact", "ids", "output", "units")
"""Options for two checkpoints."""

OF_WEIGHTS = ("tokens", "normalization", "mask", "skip", "seed", "work", "certificate")
"""Options for two files of weights."""


def checkpoint_pair(command: F) -> F:
    """The options for two checkpoints."""
    for option in (
        click.option(
            "--units",
            type=Amount("units", zero=True),
            default=4.0,
            show_default=True,
            help="Checkpoints: units in the last place up to which a difference counts as rounding.",
        ),
        click.option("--ids", type=TokenIds(), default=(), help="Checkpoints: token ids whose logits are compared."),
        click.option(
            "--output", type=OutputFile("a symmetry"), metavar="FILE", help="Checkpoints: write the symmetry into FILE."
        ),
        click.option("--exact", is_flag=True, help="Checkpoints: exit with 1 where they are the same up to rounding."),
    ):
        command = option(command)
    return command


def require_kind(checkpoints: bool) -> None:
    """Refuse options that are not for what is compared.

    Raises:
        BadInput: one of the other kind was given.
    """
    from lightning_sym.errors import BadInput

    context = click.get_current_context()
    for name in OF_WEIGHTS if checkpoints else OF_CHECKPOINTS:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            kinds = ("files of weights", "checkpoints (folders, .gguf)")
            told = kinds if checkpoints else kinds[::-1]
            raise BadInput(f"--{name} must go with two {told[0]}, got {told[1]}")


def load_weights(file: str, *, normalization: str | None, mask: str | None, skip: bool) -> Any:
    """The weights of a file, of the network that the file or the options name; a contradiction is refused.

    Raises:
        BadInput: the file cannot be read, or names another network than the options.
    """
    from lightning_sym.errors import BadInput
    from lightning_sym.network.form import NetworkForm
    from lightning_sym.network.weight_files import load_weights_and_form

    weights, form = load_weights_and_form(file)
    if form is None:
        said = {"normalization": normalization or "none", "mask": mask or "none", "skip": skip}
        try:
            return weights.with_form(NetworkForm.from_json(said))
        except BadInput as error:
            raise type(error)(f"{file}: {error}") from error
    own = form.to_json()
    for key, value in (("normalization", normalization), ("mask", mask), ("skip", skip or None)):
        if value is not None and value != own[key]:
            shown = "" if value is True else f" {value}"
            raise BadInput(f"--{key}{shown} must agree with {file}, whose form says {key} {str(own[key]).lower()}")
    return weights


def network_line(*networks: Any) -> str:
    """What an answer is about, in one line: the library's, which takes longer to import."""
    from lightning_sym.network.architecture import network_line as line

    return line(*networks)


def memory_bytes(gibibytes: float) -> int:
    """The limit in bytes."""
    return int(gibibytes * 2**30)


def architecture(
    widths: tuple[int, ...] | None,
    ranks: tuple[int, ...] | None,
    tokens: int,
    *,
    normalization: str | None = None,
    heads: int | None = None,
    value_ranks: tuple[int, ...] | None = None,
    skip: bool = False,
    mask: str | None = None,
    embed: int | None = None,
    unembed: int | None = None,
) -> Any:
    """The architecture the options name; a single rank, or value rank, is repeated.

    Raises:
        click.UsageError: there are no widths or no ranks, where a file of weights could stand in their place.
    """
    if widths is None or ranks is None:
        raise click.UsageError("give --widths and --ranks, or --weights FILE")
    from lightning_sym.network.architecture import Architecture
    from lightning_sym.rings.normalization import SOFTMAX

    def one_a_layer(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return sizes * (len(widths) - 1) if len(sizes) == 1 and len(widths) > 2 else sizes

    return Architecture(
        widths,
        one_a_layer(ranks),
        tokens,
        normalization=SOFTMAX if normalization == "softmax" else None,
        heads=heads or 1,
        value_ranks=None if value_ranks is None else one_a_layer(value_ranks),
        skip=skip,
        causal=mask == "causal",
        embed=embed,
        unembed=unembed,
    )


def weights_or_shape(file: str | None, tokens: int, **shape: Any) -> tuple[Any, Any]:
    """The weights of a file, or `None` without one, and the network: theirs, or the one that the options name.

    Raises:
        click.UsageError: both name a shape, or neither does.
        BadInput: as for `load_weights`.
    """
    if file is None:
        return None, architecture(tokens=tokens, **shape)
    context = click.get_current_context()
    typed = {n: v for n, v in shape.items() if context.get_parameter_source(n) is ParameterSource.COMMANDLINE}
    form = {name: typed.pop(name, None) for name in ("normalization", "mask")}
    skip = bool(typed.pop("skip", False))
    if typed:
        said = ", ".join(f"--{name.replace('_', '-')}" for name in shape if name in typed)
        raise click.UsageError(f"--weights names the shape itself: leave out {said}")
    weights = load_weights(file, **form, skip=skip)
    return weights, weights.architecture(tokens)
