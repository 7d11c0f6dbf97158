"""The group of a model, row by row: what may be done to its weights, and how many dimensions each part has.

The linear rows are the rules by which checkpoints are rewritten (`symmetry_table`); shifts of biases and of ones stand
beside them. Dimensions are those of Corollary 1 of docs/whole-models.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm
from lightning_sym.checkpoints.piece_table import CheckpointPiece
from lightning_sym.checkpoints.pieces import HALVES, table
from lightning_sym.checkpoints.symmetry_table import SymmetryTable, symmetry_table, tensor_names
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.rings.prime_field import reduce_mod
from lightning_sym.whole_models.covered import seen_width
from lightning_sym.whole_models.images import Integers, P, of, seen

PAGE = "docs/checkpoints.md"


@dataclass(frozen=True)
class ModelGroup:
    """A part of the group of a model.

    Attributes:
        space: what it acts on, such as `stream` or `values' biases`.
        group: which group, in words.
        dimension: in the whole model, of what leaves the configuration as it is.
        proof: where it is proved to be a symmetry.
        only_here: how many of its dimensions almost all weights near these lack.
        tensors: the names of what it moves, `*` for the layer.
    """

    space: str
    group: str
    dimension: int
    proof: str
    only_here: int = 0
    tensors: tuple[str, ...] = field(default=(), repr=False, compare=False)


def model_groups(checkpoint: Checkpoint) -> tuple[ModelGroup, ...]:
    """Return the rows of a checkpoint: the linear ones, then shifts.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> for row in model_groups(small_checkpoint("llama", tied=False)):
        ...     print(row.space, row.dimension)
        stream 120
        scale 0
        ...
    """
    form = checkpoint.form
    parts = frozenset(name for name, _ in block_of(checkpoint, 0, Walker.GROUPS).present())
    seen_values = 0
    if "value_bias" in parts and "output_bias" not in parts:
        seen_values = sum(_seen_of_values(checkpoint, layer) for layer in range(form.layers))
    equal = equal_gains(checkpoint) if form.tied else ()
    rows = _rows(form, parts, symmetry_table(checkpoint), equal, seen_values)
    if form.head_norms != "head":
        return rows
    blocks = (block_of(checkpoint, layer, Walker.GROUPS) for layer in range(form.layers))
    free = form.groups * sum(len(equal_pairs(block)) for block in blocks)
    where, names = "docs/whole-models.md, Theorem 2", tensor_names(form)
    called = tuple(names[f"{name}{end}"] for end in ("", "_norm_gain") for name in ("query", "key"))
    said = "an angle for each group, where both rows of a frequency have equal gains"
    return (*rows, *(ModelGroup("query-key", said, free, where, free, called),) * (free > 0))


def equal_pairs(block: Block) -> Integers:
    """Return the frequencies of a layer whose two rows have gains of one size, on queries and on keys."""
    gains = np.stack([np.abs(np.asarray(gain)) for gain in (block.query_norm_gain, block.key_norm_gain)])
    return np.nonzero(np.equal(*np.split(gains, 2, axis=1)).all(axis=0))[0]


def groups_of_form(form: CheckpointForm, parts: Collection[str], rules: SymmetryTable) -> tuple[ModelGroup, ...]:
    """Return the rows that almost all weights of a form have.

    Args:
        form: of the network.
        parts: the pieces of its layers.
        rules: its linear ones.

    Example:
        >>> from lightning_sym import symmetry_table
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama", tied=False)
        >>> parts = [name for name, _ in one.block(0).present()]
        >>> groups_of_form(one.form, parts, symmetry_table(one)) == model_groups(one)
        True
    """
    return _rows(form, parts, rules, (), form.layers * _most_seen_of_values(form))


def _rows(
    form: CheckpointForm, parts: Collection[str], rules: SymmetryTable, equal: tuple[int, ...], seen_values: int
) -> tuple[ModelGroup, ...]:
    """Return the rows, where final gains are equal so often, and so much of values' biases is seen."""
    rows = []
    for rule in rules.rules:
        touched = _names(each.tensor for each in rule.touched)
        found = ModelGroup(rule.space, rule.group, rule.dimension, rule.proof, tensors=touched)
        if rule.space == "query-key" and form.head_norms == "head":
            found = replace(found, group=rule.group + QUARTERS, proof=f"{rule.proof}; docs/whole-models.md, Theorem 2")
        rows.append(
            _of_equal_gains(found, form, equal)
            if rule.space == "stream" and form.tied and not form.norms_behind
            else found
        )
    return (*rows, *_shifts(form, parts, seen_values))


QUARTERS = "; quarter turns of it in all groups, its two gains exchanged"
"""What Theorem 2 has besides numbers and signs."""


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def equal_gains(checkpoint: Checkpoint) -> tuple[int, ...]:
    """Return how often each gain of the final norm stands there, of those that stand there twice or more."""
    counts = Counter(np.asarray(ends_of(checkpoint, Walker.GROUPS).final_gain).tolist())
    return tuple(sorted((count for count in counts.values() if count > 1), reverse=True))


def _of_equal_gains(row: ModelGroup, form: CheckpointForm, counts: tuple[int, ...]) -> ModelGroup:
    """Return what turns the stream of a tied model: coordinates of equal final gains, and signed permutations."""
    keeps_ones = form.norm == "layer"
    equal = [count - keeps_ones for count in counts]
    turned = " x ".join(f"O({count})" for count in equal[:3]) + " x ..." * (len(equal) > 3)
    said = "permutations, and all signs at once" if keeps_ones else "signed permutations"
    said += f", and {turned} where final gains are equal" if equal else ""
    dimension = sum(count * (count - 1) // 2 for count in equal)
    return ModelGroup(row.space, said, dimension, f"{PAGE}, Proposition 8", dimension, row.tensors)


def _shifts(form: CheckpointForm, parts: Collection[str], seen_values: int) -> Iterator[ModelGroup]:
    """Yield what is added to biases, and to rows and columns along the vector of ones."""
    tensors = tensor_names(form)

    def called(*pieces: str) -> tuple[str, ...]:
        return _names(tensors[name] for name in pieces)

    if "key_bias" in parts and form.theta is None:
        size = form.layers * form.groups * form.head_width
        yield ModelGroup(
            "key biases", "any vector is added", size, f"{PAGE}, Proposition 4", tensors=called("key_bias")
        )
    if "value_bias" in parts:
        size = form.layers * form.groups * form.head_width
        moved: tuple[str, ...] = ("value_bias", "output_bias")
        if "output_bias" not in parts:
            size -= seen_values
            moved = moved[:1]
        if size:
            said = "vectors move into what is added"
            yield ModelGroup("value biases", said, size, f"{PAGE}, Proposition 3", tensors=called(*moved))
    if "router" in parts:
        said, size = "any vector is added to all of its rows", form.layers * form.width
        yield ModelGroup("router", said, size, f"{PAGE}, Proposition 20", tensors=called("router"))
    if form.norm != "layer":
        return
    d, layers = form.width, form.layers
    norms = [name for half in HALVES.values() for name, piece in half.norms.items() if piece.added_to]
    yield ModelGroup(
        "norm biases",
        "any vector, taken up by the biases of readers",
        2 * layers * d,
        f"{PAGE}, Proposition 6",
        tensors=called(*norms),
    )
    known = table(form)
    present = [name for name in known.layer if name in parts]
    read = [name for name in present if known.layer[name].norm]
    yield ModelGroup(
        "ones of readers",
        "multiples of ones over the gain are added to rows",
        layers * sum(_lines(known.layer[name], d) for name in read),
        f"{PAGE}, Proposition 9",
        tensors=called(*read),
    )
    maps = [name for half in HALVES.values() for name in half.maps]
    written = [
        name
        for name in present
        if name in maps and any(x.space.kind == "stream" and x.up for x in known.layer[name].axes)
    ]
    first = [
        name for name in ("embedding", "positions") if name in known.ends and not (name == "embedding" and form.tied)
    ]
    yield ModelGroup(
        "ones of writers",
        "multiples of ones are added to columns",
        layers * sum(_lines(known.layer[name], d) for name in written)
        + sum(_lines(known.ends[name], d) for name in first),
        f"{PAGE}, Proposition 9",
        tensors=called(*written, *first),
    )
    if not form.tied:
        yield ModelGroup(
            "final bias",
            "any vector whose quotients by the gains do not add up to 0; the unembedding takes it up",
            d,
            "docs/whole-models.md, Proposition 6",
            tensors=called("final_bias", "unembedding"),
        )


def _lines(piece: CheckpointPiece, width: int) -> int:
    """Return how many vectors of the stream's width a piece is made of."""
    return prod(piece.shape) // width


def _seen_of_values(checkpoint: Checkpoint, layer: int) -> int:
    """Return how many dimensions of values' biases are seen, or all of them where that is not known."""
    found = fixed_biases(block_of(checkpoint, layer, Walker.GROUPS), checkpoint.form)
    return checkpoint.form.groups * checkpoint.form.head_width if found is None else found


def _most_seen_of_values(form: CheckpointForm) -> int:
    """Return how many dimensions of values' biases are seen at almost all weights of a layer."""
    return min(seen_width(form), form.groups * form.head_width)


def fixed_biases(block: Block, form: CheckpointForm) -> int | None:
    """Return how many dimensions of the biases of values are seen where outputs have none; `None` if unknown."""
    share = form.heads // form.groups
    outputs = of(block.output)
    summed = reduce_mod(outputs.reshape(form.groups, share, *outputs.shape[1:]).sum(axis=1), P)
    most = _most_seen_of_values(form)
    rank = rank_mod_p(seen(summed.swapaxes(-1, -2).reshape(-1, form.width), form), P)
    return most if rank == most else None


def parameters(form: CheckpointForm, parts: Iterable[str]) -> int:
    """Return how many numbers a model has, all pieces of all layers and of the ends.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> one = small_checkpoint("llama", layers=1, tied=False)
        >>> parts = [name for name, _ in one.block(0).present()]
        >>> parameters(one.form, parts) == 2 * 40 * 16 + 3 * 16 + 2 * 16 * 16 + 2 * 8 * 16 + 3 * 24 * 16
        True
    """
    known = table(form)
    ends = sum(prod(piece.shape) for piece in known.ends.values())
    return ends + form.layers * sum(prod(known.layer[name].shape) for name in parts)
