"""The dimension of the functions of a whole model, from its configuration alone: at almost all weights."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import Need, failing
from lightning_sym.checkpoints.fingerprint import form_line
from lightning_sym.checkpoints.folders import read_configuration
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.symmetry_table import symmetry_table
from lightning_sym.display import Lines, Result, latex_words
from lightning_sym.whole_models.covered import not_covered, seen_width, theorem_of
from lightning_sym.whole_models.groups import groups_of_form, parameters

PAGE = "docs/whole-models.md"


@dataclass(frozen=True, eq=False, repr=False)
class WholeModel(Result):
    """The set of functions of all models of a configuration.

    Attributes:
        form: of the network.
        parameters: how many numbers it has.
        group: the dimension of the known symmetries at almost all weights.
        upper: no set of such functions has more dimensions.
        reason: why that is not shown to be the dimension; `None` where it is.
        attention: parameters and dimension of the attention alone, if they were asked for.
    """

    form: CheckpointForm
    parameters: int
    group: int
    upper: int
    reason: str | None
    attention: tuple[int, int] | None = None

    @property
    def dimension(self) -> int | None:
        """Of the set of functions; `None` where it is not proved."""
        return self.upper if self.reason is None else None

    @property
    def proof(self) -> str:
        """What proves it, or the bound."""
        if self.reason is None:
            where = "Proposition 9" if self.form.activation == "gelu" else "Corollary 5"
            if self.form.norms_behind or self.form.head_norms:
                where = theorem_of(self.form)
            return f"{PAGE}, {where}, on real combinations of token embeddings"
        return f"known symmetries; that there are no others is not proved: {self.reason}"

    def lines(self) -> Lines:
        """Return the lines as `dimension --config` prints them."""
        said = f"{self.upper:,}" if self.reason is None else f"at most {self.upper:,}"
        whole = f"{self.parameters:,} parameters, a group of dimension {self.group:,}, functions of dimension {said}"
        lines = [("whole model", form_line(self.form)), ("", whole), ("", self.proof)]
        if self.attention is not None:
            count, dimension = self.attention
            lines.append(("attention", f"alone {count:,} parameters, functions of dimension {dimension:,}"))
        return lines

    def _latex(self) -> str:
        return latex_words("; ".join(said for _, said in self.lines()))


T = TypeVar("T")


def whole_model(config: str | os.PathLike[str]) -> WholeModel:
    """Return what is known of the dimension of the functions of a model, all its parts together.

    Args:
        config: a `config.json`, or a folder with one.

    Raises:
        FileFormatError: it is not read, or something in it is not understood.

    Example:
        >>> import tempfile
        >>> from lightning_sym import save_checkpoint
        >>> from lightning_sym.testing import small_checkpoint
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_checkpoint(small_checkpoint("llama", tied=False), folder + "/one")
        ...     found = whole_model(folder + "/one")
        >>> found.parameters, found.group, found.dimension
        (5200, 328, 4872)
    """
    require_arguments(whole_model, locals())
    family, form, biases = read_configuration(config)
    parts = family.parts(form, biases)
    count = parameters(form, parts)
    group = sum(row.dimension for row in groups_of_form(form, parts, symmetry_table(config)))
    short = failing((form, parts), NEEDS)  # else no one-parameter group of moves does nothing
    return WholeModel(form, count, group, count - group * (short is None), at_almost_all(form, parts))


def at_almost_all(form: CheckpointForm, parts: Collection[str]) -> str | None:
    """Return what keeps the known symmetries from being all at almost all weights of a form; `None` where they are.

    Args:
        form: of the network.
        parts: the pieces of its layers.
    """
    return not_covered(form, parts) or failing((form, parts), NEEDS)


def _biases_are_known(form: CheckpointForm, parts: Collection[str]) -> bool:
    """Return whether Proposition 6 counts biases: with LayerNorm all maps have them."""
    maps = {"query", "key", "value", "output", "up", "down"} | ({"gate"} if form.has_gate else set())
    return form.norm == "rms" or all(f"{name}_bias" in parts for name in maps)


def _latents_are_filled(form: CheckpointForm) -> bool:
    """Return whether no move of latents, or of heads that read them, does nothing at almost all weights."""
    latents = [each for each in (form.latent, form.query_latent) if each is not None]
    return max([*latents, form.values]) <= form.width and form.head_width <= latents[0]


def _first(holds: Callable[[CheckpointForm], T]) -> Callable[[tuple[CheckpointForm, object]], T]:
    return lambda question: holds(question[0])


NEEDS = (
    Need(
        "as many token ids as the stream has dimensions",  # tied all, for Proposition 7, else what norms show, for (C1)
        _first(lambda f: f.vocabulary >= (f.width if f.tied else seen_width(f))),
        _first(lambda f: f"{f.vocabulary:,}"),
    ),
    Need(
        "heads no wider than the stream",
        _first(lambda f: f.head_width <= seen_width(f)),
        _first(lambda f: str(f.head_width)),
    ),
    Need(
        "latents no wider than the stream, heads no wider than what they read",
        _first(lambda f: f.latent is None or _latents_are_filled(f)),
        _first(lambda f: f"latents of {f.latent}, heads of {f.head_width} and {f.values}"),
    ),
    Need("biases of all maps beside LayerNorm", lambda both: _biases_are_known(*both), lambda both: "others"),
)
"""What dimensions need of a form and of the pieces of its layers, besides the theorem."""
