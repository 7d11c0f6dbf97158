"""Options that several commands have, and what is made of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypedDict

import click
from click.core import ParameterSource

from lightning_cli.numbers import Amount, Gibibytes, Integer, Size, SizeList
from lightning_cli.output_file import OutputFile
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym.network import architecture as architectures
    from lightning_sym.network import form as forms
    from lightning_sym.network import weight_files, weights
    from lightning_sym.rings import normalization as normalizations

Command = Callable[..., object]
Option = Callable[[Command], Command]

FORMATS = ("sympy", "latex", "macaulay2", "singular", "oscar", "sage", "json")
"""What `--format` knows: `lightning_sym.network.formats.FORMATS`, which takes longer to import."""


class FormOptions(TypedDict):
    """What `FORM` says of a network."""

    normalization: str | None
    mask: str | None
    skip: bool


def together(*options: Option, make: Callable[..., dict[str, object]] | None = None) -> Option:
    """Return several options as one decorator, in the order of `--help`.

    Args:
        options: the options.
        make: is called with their values by name; what it returns, by name, the command gets in place of them.
    """

    def decorated(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    if make is None:
        return decorated
    made, names = make, [option.name for option in decorated(lambda: None).__click_params__]  # type: ignore[attr-defined]

    def decorated_and_made(command: Command) -> Command:
        @wraps(command)
        def called(**given: Any) -> object:
            return command(**made(**{name: given.pop(name) for name in names}), **given)

        return decorated(called)

    return decorated_and_made


def output(
    what: str,
    *names: str,
    help: str,  # noqa: A002
    endings: tuple[str, ...] = (),
    metavar: str = "FILE",
    required: bool = False,
) -> Option:
    """Return an option for a file that is written: what it is, its names, and the endings that it may have."""
    short = ["-o"] if "--output" in names else []
    return click.option(*short, *names, type=OutputFile(what, endings), help=help, metavar=metavar, required=required)


def certificate(what: str) -> Option:
    """Return the option `--certificate`, of a command that can write `what`."""
    return output("a certificate", "--certificate", help=f"{what} into FILE, for `lightning-sym verify`.")


def widths(*, required: bool = True) -> Option:
    """Return the option `--widths`."""
    return click.option(
        "--widths", type=SizeList(), required=required, help="Widths d_0,...,d_l; at least two of them."
    )


def ranks(*, required: bool = True) -> Option:
    """Return the option `--ranks`."""
    said = "Query/key widths a_1,...,a_l; one value stands for all layers."
    return click.option("--ranks", type=SizeList(), required=required, help=said)


def tokens(said: str = "Number of tokens t.", **more: Any) -> Option:
    """Return the option `--tokens`, which is required unless more is said of it."""
    return click.option("--tokens", type=Size(), help=said, **more or {"required": True})


def seed(said: str) -> Option:
    """Return the option `--seed`."""
    return click.option("--seed", type=Integer(), default=0, show_default=True, help=said)


def work(said: str) -> Option:
    """Return the option `--work`."""
    amount = Amount("seconds", endless=True)
    return click.option("--work", type=amount, default=60.0, show_default=True, metavar="SECONDS", help=said)


def shape_if_given() -> Option:
    """Return the options `--widths`, `--ranks` and `--tokens` where something else may stand in their place."""
    return together(widths(required=False), ranks(required=False), tokens(required=False))


AT_MOST_WORK = work("Refuse exact arithmetic that is estimated, roughly, to take more than this in all.")

WORK_OF_SAME = work(
    "Refuse exact arithmetic that is estimated, roughly, to take more than this in all. Checkpoints: end the search "
    "for known mistakes there."
)

SEED = seed("Picks the inputs.")

SEED_OF_POINTS = seed("Picks the points; never changes a certified number.")

TOKENS_OR_TWO = tokens(default=2, show_default=True)

AS_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, nothing else.")

MEMORY = click.option(
    "--memory",
    type=Gibibytes(),
    default=4.0,
    show_default=True,
    metavar="GIB",
    help="Refuse what is estimated to need more memory than this.",
)

_VALUE_RANKS = click.option(
    "--value-ranks",
    type=SizeList(),
    help="Value widths b_1,...,b_l inside a head, with an output projection d_i x b_i behind them; one value "
    "stands for all layers. Without it each head has one matrix d_i x d_{i-1}.",
)

_ENDS = together(
    click.option("--embed", type=Size(), help="n, for a matrix d_0 x n before the layers."),
    click.option("--unembed", type=Size(), help="m, for a matrix m x d_l behind the layers."),
)

_NORMALIZATIONS, _MASKS = click.Choice(["none", "softmax"]), click.Choice(["none", "causal"])

TRANSFORMER: Option = together(
    click.option(
        "--normalization", type=_NORMALIZATIONS, default="none", show_default=True, help="none is lightning attention."
    ),
    click.option("--heads", type=Size(), default=1, show_default=True, help="Heads of each layer."),
    _VALUE_RANKS,
    click.option("--skip", is_flag=True, help="Each layer adds its input; needs equal widths."),
    click.option(
        "--mask",
        type=_MASKS,
        default="none",
        show_default=True,
        help="causal: token i attends to the tokens up to i only.",
    ),
    _ENDS,
)
"""The options that turn a lightning network into a transformer without MLPs."""

MORE_WEIGHTS: Option = together(
    click.option("--heads", type=Size(), help="Heads of each layer; 1 unless said."), _VALUE_RANKS, _ENDS
)
"""The options of a transformer that weights of a file show by themselves."""

FORM_APART: Option = together(
    click.option(
        "--normalization",
        type=_NORMALIZATIONS,
        help="For a file that does not say; none, the default, is lightning attention.",
    ),
    click.option("--mask", type=_MASKS, help="For a file that does not say; none is the default."),
    click.option("--skip", is_flag=True, help="For a file that does not say: each layer adds its input."),
)
"""The options that say which network the weights of a file are of."""

FORM: Option = together(FORM_APART, make=lambda **form: {"form": form})
"""The same, which the command gets as one dictionary, `form`."""

LAYOUTS = ("hf", "fused", "fused-by-group", "mlx", "megatron", "megatron-legacy", "meta", "gguf")
"""What layouts are called: `lightning_sym.checkpoints.layouts.LAYOUTS`, which takes longer to import."""


def layout(*names: str, said: str, required: bool = False) -> Option:
    """Return an option for a layout, of what is said."""
    return click.option(*names, type=click.Choice(LAYOUTS), metavar="LAYOUT", help=said, required=required)


LAYOUT = layout("--layout", said="The layout of the checkpoint, where its names do not show it.")

WRITTEN_CHECKPOINT: Option = together(
    click.option(
        "-o",
        "--output",
        type=click.Path(),
        required=True,
        metavar="OUT",
        help="Where it is written.",
    ),
    click.option(
        "--stored",
        type=click.Choice(["F16", "BF16", "F32", "F64"]),
        help="Round all numbers to this type, to nearest even; without it each tensor keeps its type.",
    ),
    click.option(
        "--shard-size",
        type=Gibibytes(),
        metavar="GIB",
        help="Write several files, with an index, if there is more than this.",
    ),
    MEMORY,
)
"""The options of a checkpoint that is written."""


def typed(names: Iterable[str]) -> dict[str, str]:
    """Return those options of the command that runs which stand on the command line, as they are typed, by name."""
    context, wanted = click.get_current_context(), {*names}
    return {
        option.name: option.opts[0]
        for option in context.command.params
        if option.name in wanted and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    }


def refuse(*checks: tuple[object, str]) -> None:
    """Refuse what does not go together, by the first of these that is so.

    Raises:
        click.UsageError: with what is said of it.
    """
    for is_so, said in checks:
        if is_so:
            raise click.UsageError(said)


def require_no_shape(option: str, names: Iterable[str]) -> None:
    """Refuse options with these names, as another one says what the network is.

    Raises:
        click.UsageError: one of them was typed.
    """
    if told := typed(names):
        raise click.UsageError(f"{option} names the shape itself: leave out {', '.join(told.values())}")


def load_weights(
    file: str, *, normalization: str | None = None, mask: str | None = None, skip: bool = False
) -> weights.Weights:
    """Return the weights of a file, of the network that the file or the options name; a contradiction is refused.

    Raises:
        BadInput: the file cannot be read, or names another network than the options.
    """
    read, form = weight_files.load_weights_and_form(file)
    if form is None:
        try:
            return read.with_form(forms.NetworkForm.named(normalization or "none", mask or "none", skip))
        except BadInput as error:
            raise type(error)(f"{file}: {error}") from error
    own = form.to_json()
    for key, value in zip(forms.FORM_WORDS, (normalization, mask, skip or None), strict=True):
        if value is not None and value != own[key]:
            shown = "" if value is True else f" {value}"
            raise BadInput(f"--{key}{shown} must agree with {file}, whose form says {key} {str(own[key]).lower()}")
    return read


def network_of(
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
) -> architectures.Architecture:
    """Return the architecture that options name; a single rank, or value rank, is repeated.

    Raises:
        click.UsageError: there are no widths or no ranks, where a file of weights could stand in their place.
    """
    if widths is None or ranks is None:
        raise click.UsageError("give --widths and --ranks, or --weights FILE")

    def one_a_layer(sizes: tuple[int, ...]) -> tuple[int, ...]:
        return sizes * (len(widths) - 1) if len(sizes) == 1 and len(widths) > 2 else sizes

    return architectures.Architecture(
        widths,
        one_a_layer(ranks),
        tokens,
        normalization=normalizations.SOFTMAX if normalization == "softmax" else None,
        heads=heads or 1,
        value_ranks=None if value_ranks is None else one_a_layer(value_ranks),
        skip=skip,
        causal=mask == "causal",
        embed=embed,
        unembed=unembed,
    )


NETWORK: Option = together(
    widths(), ranks(), tokens(), TRANSFORMER, make=lambda **given: {"network": network_of(**given)}
)
"""The options that name a network, which the command gets as `network`."""


def _weights_or_shape(weight_file: str | None, tokens: int, **shape: Any) -> dict[str, object]:
    """Return the weights of a file, or None without one, and the network: theirs, or the one that the options name.

    Raises:
        click.UsageError: both name a shape, or neither does.
        BadInput: as for `load_weights`.
    """
    if weight_file is None:
        return {"weights": None, "network": network_of(tokens=tokens, **shape)}
    require_no_shape("--weights", shape.keys() - forms.FORM_WORDS)
    weights = load_weights(weight_file, **{name: shape[name] for name in typed(forms.FORM_WORDS)})
    return {"weights": weights, "network": weights.architecture(tokens)}


def weights_or_network(*more: Option) -> Option:
    """Return the options of a shape, and more, with `--weights`: the command gets them as `weights` and `network`."""
    return together(widths(required=False), ranks(required=False), tokens(), *more, make=_weights_or_shape)


def weight_file(said: str, *, metavar: str | None = None) -> Option:
    """Return the option `--weights`, which stands in place of what is said."""
    told = f"Exact weights from a .json, .npz or .safetensors file, in place of {said}"
    return click.option("--weights", "weight_file", type=click.Path(), help=told, metavar=metavar)
