"""The dimension of the functions of a whole model, from its configuration alone: at almost all weights."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import FellShort, Need, failing
from lightning_sym.checkpoints.fingerprint import form_line
from lightning_sym.checkpoints.folders import read_configuration
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.symmetry_table import symmetry_table
from lightning_sym.display import Lines, Result, labelled, latex_words
from lightning_sym.whole_models.covered import PAGE, AskedModels, form_need, not_covered, seen_width, theorem_of
from lightning_sym.whole_models.groups import groups_of_form, parameters


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
            return f"{PAGE}, {self._theorem}, on real combinations of token embeddings"
        return "known symmetries; that there are no others is not proved"

    @property
    def _theorem(self) -> str:
        """What says that the known symmetries are all, at almost all weights."""
        has_own = self.form.norms_behind or self.form.head_norms
        return theorem_of(self.form) if has_own else near_almost_all(self.form)

    @property
    def tried(self) -> tuple[FellShort, ...]:
        """The theorem, where something that it needs of a model is not so."""
        return () if self.reason is None else (FellShort(f"{self._theorem} of {PAGE}", self.reason),)

    def lines(self) -> Lines:
        """Return the lines as `dimension --config` prints them."""
        said = f"{self.upper:,}" if self.reason is None else f"at most {self.upper:,}"
        whole = f"{self.parameters:,} parameters, a group of dimension {self.group:,}, functions of dimension {said}"
        lines = [("whole model", form_line(self.form)), ("", whole), ("", self.proof)]
        lines += labelled("tried", map(str, self.tried))
        if self.attention is not None:
            count, dimension = self.attention
            lines.append(("attention", f"alone {count:,} parameters, functions of dimension {dimension:,}"))
        return lines

    def _latex(self) -> str:
        return latex_words("; ".join(said for _, said in self.lines()))


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
    short = failing(AskedModels(form, parts), NEEDS)  # else no one-parameter group of moves does nothing
    return WholeModel(form, count, group, count - group * (short is None), at_almost_all(form, parts))


def near_almost_all(form: CheckpointForm) -> str:
    """Return what counts symmetries of models without norms behind: GELU leaves the order of layers open."""
    return "Proposition 9" if form.activation == "gelu" else "Corollary 5"


def at_almost_all(form: CheckpointForm, parts: Collection[str]) -> str | None:
    """Return what keeps the known symmetries from being all at almost all weights of a form; `None` where they are.

    Args:
        form: of the network.
        parts: the pieces of its layers.
    """
    return not_covered(form, parts) or failing(AskedModels(form, parts), NEEDS)


def _biases_are_known(form: CheckpointForm, parts: Collection[str]) -> bool:
    """Return whether Proposition 6 counts biases: with LayerNorm all maps have them."""
    biases = (bias for half in table(form).halves.values() for _, bias in half.affine)
    return form.norm == "rms" or all(bias is None or bias.name in parts for bias in biases)


def _latents_are_filled(form: CheckpointForm) -> bool:
    """Return whether no move of latents, or of heads that read them, does nothing at almost all weights."""
    latents = [each for each in (form.latent, form.query_latent) if each is not None]
    return max([*latents, form.values]) <= form.width and form.head_width <= latents[0]


NEEDS = (
    form_need(
        "as many token ids as the stream has dimensions",  # tied all, for Proposition 7, else what norms show, for (C1)
        lambda form: form.vocabulary >= (form.width if form.tied else seen_width(form)),
        lambda form: f"{form.vocabulary:,}",
    ),
    form_need(
        "heads no wider than the stream", lambda form: form.head_width <= seen_width(form), lambda form: form.head_width
    ),
    form_need(
        "latents no wider than the stream, heads no wider than what they read",
        lambda form: form.latent is None or _latents_are_filled(form),
        lambda form: f"latents of {form.latent}, heads of {form.head_width} and {form.values}",
    ),
    Need("biases of all maps beside LayerNorm", lambda asked: _biases_are_known(*asked), lambda asked: "others"),
)
"""What dimensions need of a form and of the pieces of its layers, besides the theorem."""
