"""The rules of a correct fold: for each space of a model the group that may act on it, and every tensor it must touch.

They follow from the table of pieces, so they are those by which checkpoints are rewritten and compared here; what each
group is, and that it leaves the function alone, is proved in `docs/checkpoints.md`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from lightning_sym.arguments import shown
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.folders import read_configuration
from lightning_sym.checkpoints.model import Checkpoint, CheckpointForm
from lightning_sym.checkpoints.piece_table import NORMED, CheckpointPiece
from lightning_sym.checkpoints.pieces import table
from lightning_sym.display import Lines, Result, latex_words
from lightning_sym.errors import BadInput
from lightning_sym.network.pieces import WeightSpace


class Group(NamedTuple):
    """A group: what it is, the dimension of it over one point, and the proposition that proves it a symmetry.

    Attributes:
        called, dimension, proposition: these.
        together: all points of what its space lies over have one element.
        letters: of an axis that moves up, of one that moves down, and of gains on both, what acts, where it is not `g`,
            `g^-T` and `|g|`.
    """

    called: str
    dimension: int
    proposition: str
    together: bool = False
    letters: tuple[str, ...] = ()


FOLDED = "the gains of all norms of one size, folded into what reads them"
"""What must be true before the stream is turned."""


def _stream(form: CheckpointForm, d: int) -> Group:
    """Return what turns the stream: with LayerNorm it keeps the vector of ones, up to its sign."""
    if form.norms_behind is not None:
        return Group("permutations with signs", 0, "Proposition 18")
    if form.norm == "layer":
        return Group(f"O({d - 1}), R 1 = 1 or R 1 = -1", (d - 1) * (d - 2) // 2, "Proposition 7")
    return Group(f"O({d})", d * (d - 1) // 2, "Proposition 7")


def _scores(form: CheckpointForm, a: int) -> Group:
    """Return what changes the basis of queries and keys: with rotary positions it commutes with every rotation."""
    if form.head_norms is not None:
        proof, together = ("Proposition 16", True) if form.head_norms == "head" else ("Proposition 19", False)
        said = "numbers c > 0, one for each frequency, signs s of rows of queries, t of rows of keys"
        said += "; -1 of a frequency in one group"
        return Group(said, a // 2, proof, together=together, letters=("s", "t", "s c", "t / c"))
    free = a - form.turned
    turns = f"a number x + iy, not 0, for each of {form.turned // 2} frequencies"
    if not form.turned:
        return Group(f"GL({a})", a * a, "Proposition 4")
    if not free:
        return Group(turns, a, "Proposition 5")
    return Group(f"{turns}, GL({free}) for the other rows", form.turned + free**2, "Proposition 17")


GROUPS: dict[str, Callable[[CheckpointForm, int], Group]] = {
    "stream": _stream,
    "scale": lambda form, size: Group("a number c > 0; epsilon becomes c^2 epsilon", 0, "Proposition 7"),
    "query-key": _scores,
    "value-output": lambda form, a: Group(f"GL({a})", a * a, "Proposition 3"),
    **dict.fromkeys(("latent", "query latent"), lambda form, r: Group(f"O({r})", r * (r - 1) // 2, "Proposition 21")),
    "rotary": lambda form, t: Group(f"a number x + iy, not 0, for each of {t // 2} frequencies", t, "Proposition 21"),
    "heads": lambda form, size: Group("permutations", 0, "Proposition 2"),
    "groups": lambda form, size: Group("permutations", 0, "Proposition 2"),
    "neurons": lambda form, size: Group("permutations", 0, "Proposition 11"),
    "experts": lambda form, size: Group("permutations, and of the neurons with them", 0, "Proposition 20"),
    "ups": lambda form, size: Group("a number, not 0", 1, "Proposition 11"),
    **dict.fromkeys(("norm1", "norm2", "final"), lambda form, size: Group("a number, not 0", 1, "Proposition 6")),
    **dict.fromkeys(("norm3", "norm4"), lambda form, size: Group("a number, not 0", 1, "Proposition 21")),
    **dict.fromkeys(("behind1", "behind2"), lambda form, size: Group("a sign", 0, "Proposition 18")),
}
"""By the kind of a space; `dimension` is of what leaves the configuration as it is."""


@dataclass(frozen=True)
class Touched:
    """What a group does to one tensor, with `g` its element.

    Attributes:
        piece: such as `query`.
        tensor: its name in a folder, `*` for the layer; tensors that hold several pieces are named for each of them.
        does: such as `W -> g W` on rows or columns of the matrix `(out, in)`.
    """

    piece: str
    tensor: str
    does: str


@dataclass(frozen=True)
class FoldRule:
    """What may be done to one space, in one layer or in the whole network.

    Attributes:
        space: its kind, such as `stream`.
        by_layer: whether each layer has one of its own.
        over: each point of what it lies over has an element of its own: `groups`, `neurons` or `stream`.
        group: which group acts.
        dimension: of the group in the whole network, of what leaves the configuration as it is.
        touched: every tensor that must follow; a fold that leaves out one of them is wrong.
        needs: what must be true before, such as gains of one size where the stream is turned.
        proof: where it is proved.
        layers: those that it is about, where others have another rule; empty where it is about all.
    """

    space: str
    by_layer: bool
    over: str
    group: str
    dimension: int
    touched: tuple[Touched, ...]
    needs: str
    proof: str
    layers: tuple[int, ...] = ()


@dataclass(frozen=True, repr=False)
class SymmetryTable(Result):
    """Every rule of a family of models.

    Attributes:
        family: what its configuration calls it.
        rules: one for each space.
    """

    family: str
    rules: tuple[FoldRule, ...]

    def lines(self) -> Lines:
        """Return each rule, and under it what it touches."""
        lines = [("family", self.family)]
        for rule in self.rules:
            each = f", for each of {rule.over}" if rule.over else ""
            where = ", in each layer" * rule.by_layer
            where = f", in layers {' '.join(map(str, rule.layers))}" if rule.layers else where
            said = f"{rule.group}{each}{where}; dimension {rule.dimension:,} in all"
            lines.append((rule.space, f"{said}; {rule.proof}"))
            lines += [("", f"{one.tensor} ({one.piece})  {one.does}") for one in rule.touched]
            lines += [("", f"before: {rule.needs}")] * bool(rule.needs)
        return lines

    def _latex(self) -> str:
        return latex_words(f"{len(self.rules)} rules of {self.family}")


def symmetry_table(model: Checkpoint | CheckpointForm | str | os.PathLike[str]) -> SymmetryTable:
    """Return what may be done to a model without changing its function, as data: for tools that turn, fold and permute.

    The linear rules: of each space, its group and everything that moves. Shifts, such as of key biases or along the
    vector of ones of LayerNorm, are parts of a `Symmetry` alone.

    Args:
        model: a checkpoint, its form, a folder, or its `config.json`.

    Raises:
        BadInput: the configuration is not read, or there is a space whose group is not known.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> rules = {rule.space: rule for rule in symmetry_table(small_checkpoint("qwen2")).rules}
        >>> for touched in rules["value-output"].touched:
        ...     print(touched.tensor, touched.does)
        model.layers.*.self_attn.v_proj.weight rows: W -> g W
        model.layers.*.self_attn.v_proj.bias b -> g b
        model.layers.*.self_attn.o_proj.weight columns: W -> W g^-1
    """
    form, parts = _form(model)
    pieces = table(form)
    there = {**pieces.ends, **{name: piece for name, piece in pieces.layer.items() if name in parts}}
    spaces = dict.fromkeys(space for piece in there.values() for space in piece.spaces if space.free)
    called = tensor_names(form)
    rules = (rule for space in spaces for rule in _rules(space, form, there, called, pieces.ends))
    return SymmetryTable(form.family, tuple(rules))


def tensor_names(form: CheckpointForm) -> dict[str, str]:
    """Return what folders call the pieces of a family, `*` for the layer."""
    layout = FAMILIES[form.family].layout
    called = {name: place.tensor for name, place in layout.ends.items()}
    return called | {name: place.of(form).tensor.replace("{}", "*") for name, place in layout.block.items()}


def _form(model: Checkpoint | CheckpointForm | str | os.PathLike[str]) -> tuple[CheckpointForm, frozenset[str]]:
    """Return the form, and the pieces of a layer that are there."""
    if isinstance(model, (str, os.PathLike)):
        family, form, biases = read_configuration(model)
        return form, family.parts(form, biases)
    if isinstance(model, CheckpointForm):
        family = FAMILIES[model.family]
        return model, family.parts(model, family.biases)
    if not isinstance(getattr(model, "form", None), CheckpointForm):
        raise BadInput(f"a model must be a checkpoint, its form, a folder or its config.json, got {shown(model)}")
    return model.form, frozenset(name for name, _ in model.block(0).present())


def _rules(
    space: WeightSpace,
    form: CheckpointForm,
    there: Mapping[str, CheckpointPiece],
    called: Mapping[str, str],
    ends: Mapping[str, CheckpointPiece],
) -> Iterator[FoldRule]:
    """Yield the rules of one space: one, or one for the layers of each kind where the group depends on the layer."""
    if space.kind not in GROUPS:
        raise BadInput(f"the group of every space must be known, not known: {space.kind} of {form.family}")
    by_layer = not any(space in piece.spaces for name, piece in there.items() if name in ends)
    groups: dict[Group, list[int]] = {}
    for layer in range(form.layers):
        groups.setdefault(GROUPS[space.kind](form.at(layer), space.size), []).append(layer)
    for group, layers in groups.items():
        lines = ((name, does) for name, piece in there.items() for does in _does(piece, space, group.letters))
        touched = tuple(Touched(name, called[name], does) for name, does in lines)
        over = () if group.together else space.over
        points = prod(under.size for under in over)
        yield FoldRule(
            space.kind,
            by_layer,
            " and ".join(under.kind for under in over),
            group.called,
            group.dimension * points * (len(layers) if by_layer else 1),
            touched,
            FOLDED if space.kind in NORMED and form.norms_behind is None else "",
            f"docs/checkpoints.md, {group.proposition}",
            tuple(layers) if len(groups) > 1 else (),
        )


def _does(piece: CheckpointPiece, space: WeightSpace, letters: tuple[str, ...] = ()) -> list[str]:
    """Return what an element of the group of a space does to a piece, for each of its axes and scales there."""
    letter = "W" if piece.columns else "b"
    found = []
    for place, axis in enumerate(piece.axes):
        if axis.space != space:
            continue
        if letters:
            number = letters[(0 if axis.up else 1) + 2 * axis.sized]
            found.append(f"rows: {letter} -> {number} {letter}" if piece.columns else f"{letter} -> {number} {letter}")
        elif axis.sized:
            found.append(
                f"{letter} -> |g| {letter} where g permutes, with signs or not; else its entries must be equal"
            )
        elif not piece.columns:
            found.append(f"{letter} -> {'g' if axis.up else 'g^-T'} {letter}")
        elif place in piece.columns:
            found.append(f"columns: W -> W {'g^T' if axis.up else 'g^-1'}")
        else:
            found.append(f"rows: W -> {'g' if axis.up else 'g^-T'} W")
    for scale, exponent in piece.scales:
        if scale == space:
            over = next((place for place, axis in enumerate(piece.axes) if axis.space in space.over), None)
            where = "" if over is None or not piece.columns else "columns: " if over in piece.columns else "rows: "
            found.append(f"{where}{letter} {'times' if exponent > 0 else 'divided by'} g")
    return found
