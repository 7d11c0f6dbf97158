"""Numbers that no symmetry of a checkpoint changes, with bounds: a copy in disguise has the same ones.

Section 4 of docs/checkpoints.md proves that they are invariant. Equal ones prove nothing; numbers that are apart prove
that no listed symmetry takes one checkpoint to the other.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.checkpoints.bounded import Balls, Near, eigenvalues, gram, joined, near, singular_values, stacked
from lightning_sym.checkpoints.coded import NUMBERS, slices
from lightning_sym.checkpoints.fingerprint_key import key_of
from lightning_sym.checkpoints.layer_parts import Cut, cuts_of
from lightning_sym.checkpoints.model import Array, Block, Checkpoint, CheckpointForm, Ends, Pieces, require_checkpoint
from lightning_sym.checkpoints.seen_maps import SeenHeads, SeenNeurons, seen_heads, seen_neurons, written
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, require_form
from lightning_sym.display import Lines, Result
from lightning_sym.errors import BadInput
from lightning_sym.limits import DEFAULT_MEMORY, Progress, require_memory, unheard


@dataclass(frozen=True, eq=False, repr=False)
class Fingerprint(Result):
    """The invariants of a checkpoint.

    Attributes:
        name: of the checkpoint.
        form: its network; what a symmetry may change in it does not count.
        heads: by layer, one row a query head, in the order of the checkpoint: singular values of its OV, then of its
            QK (with rotary positions at distance 0; rows of queries and keys times their gains, if they have any),
            then, in layers with rotary positions, the sizes of the frequencies.
        marks: by layer, lists that have one order: `gate`, `up x down` or `up`, `up bias`, `down`, `router`, each from
            the largest down; `attention bias` and `MLP bias`; `attention gain` and `MLP gain`, of the norms behind
            both; `latent` and `query latent`, eigenvalues of `A A^T` of the maps `A` into latents.
        ends: `embedding` and `unembedding`, eigenvalues of `X^T X` from the largest down; `mean`, `positions`,
            `logit bias`.
        digest: SHA-256 of the form and of all tensors, byte by byte; the name of the family has no part in it.
    """

    name: str
    form: CheckpointForm
    heads: tuple[Balls, ...]
    marks: tuple[dict[str, Balls], ...]
    ends: dict[str, Balls]
    digest: str

    def named(self) -> Iterator[tuple[str, Balls]]:
        """Yield every list of numbers, by its place."""
        yield from self.ends.items()
        for layer, (heads, marks) in enumerate(zip(self.heads, self.marks, strict=True)):
            yield f"layer {layer}, heads", heads
            for name, balls in marks.items():
                yield f"layer {layer}, {name}", balls

    @property
    def key(self) -> str:
        """A line that can be looked up: the same for each rewriting, nearly the same for a rounded one.

        Example:
            >>> from lightning_sym import apply, fingerprint
            >>> from lightning_sym.checkpoints.random_symmetries import random_symmetry
            >>> from lightning_sym.testing import small_checkpoint
            >>> one = small_checkpoint("llama", stored="F64")
            >>> fingerprint(one).key == fingerprint(apply(random_symmetry(one, seed=4), one)).key
            True
        """
        form = self.form
        return key_of((form.layers, form.width, form.heads, form.head_width), self._parts())

    def _parts(self) -> Iterator[list[np.ndarray]]:
        """Yield the numbers of each part, in lists: of both ends, then of attention and MLP of each layer."""
        for name in ("embedding", "unembedding"):
            yield [np.sqrt(np.abs(self.ends[name].middle))]
        for heads, marks in zip(self.heads, self.marks, strict=True):
            yield np.split(heads.middle, range(self.form.widest, heads.middle.shape[1], self.form.widest), axis=1)
            yield [np.abs(balls.middle) for balls in marks.values() if balls.middle.size > 1]

    def lines(self) -> Lines:
        """Return the largest numbers of each kind, in as many digits as are known, 8 at most."""
        lines = [("checkpoint", self.name), ("network", form_line(self.form)), ("key", self.key)]
        lines += [(name, _some(balls)) for name, balls in self.ends.items()]
        for layer, (heads, marks) in enumerate(zip(self.heads, self.marks, strict=True)):
            values, rest = self.form.widest, heads
            lines.append((f"layer {layer}", f"OV {_some(_largest(rest[:, :values]))}"))
            lines.append(("", f"QK {_some(_largest(rest[:, values : 2 * values]))}"))
            lines += [("", f"{name} {_some(balls)}") for name, balls in marks.items()]
        return lines


def fingerprint(
    checkpoint: Checkpoint, *, memory: int = DEFAULT_MEMORY, progress: Progress | None = None
) -> Fingerprint:
    """Return invariants of a checkpoint under every symmetry of docs/checkpoints.md, with error bounds.

    Args:
        checkpoint: of any family.
        memory: bytes that may be used.
        progress: told of each layer.

    Raises:
        BadInput: epsilon is 0, so that the scale of the stream is not seen; numbers too large; or a piece, or a part of
            the form, that a fingerprint does not know.
        TooLarge: a layer, or the embedding, would not fit.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> found = fingerprint(small_checkpoint("llama"))
        >>> found.heads[0].middle.shape, list(found.marks[0]), list(found.ends)
        ((4, 10), ['gate', 'up x down'], ['embedding', 'unembedding', 'mean'])
    """
    require_arguments(fingerprint, locals())
    require_checkpoint(checkpoint)
    form = checkpoint.form
    require_form(form, Walker.FINGERPRINT)
    if form.epsilon <= 0:
        raise BadInput("the epsilon of the norms must be positive, so that the scale of the stream is known, got 0")
    ends = ends_of(checkpoint, Walker.FINGERPRINT, coded=True)
    heads, marks = [], []
    root = math.sqrt(float(form.epsilon))  # off by at most 4 units of rounding
    every = hashlib.sha256(repr(replace(form, family="")).encode())
    for layer in range(form.layers):
        (progress or unheard)("layers", layer, form.layers)
        block = block_of(checkpoint, layer, Walker.FINGERPRINT, coded=True)
        cuts = cuts_of(block, form)
        part = max(sum(array.size for _, array in cut.of(block, form).present()) for cut in cuts)
        rows = min(NUMBERS, form.vocabulary * form.width)
        require_memory(8 * (6 * (part + rows) + 10 * form.width**2), memory, "a fingerprint, beside the files,")
        _take(every, block)
        found_heads, found_marks = _layer(block, cuts, form.at(layer), root)
        heads.append(found_heads)
        marks.append(found_marks | _marks_behind(block, root))
    (progress or unheard)("embedding", form.layers, form.layers)
    _take(every, ends)
    found = tuple(heads), tuple(marks), _end_marks(ends, form, root)
    return Fingerprint(checkpoint.name, form, *found, every.hexdigest())


def _take(every: hashlib._Hash, pieces: Pieces) -> None:
    """Add all tensors of a layer, or of the ends, to a digest."""
    for name, array in pieces.present():
        every.update(f"{name} {array.dtype} {array.shape}".encode())
        if array.dtype == object:
            every.update(repr(array.tolist()).encode())
        else:
            for some in slices(array):
                every.update(np.ascontiguousarray(array[some]).data)


def _layer(block: Block, cuts: list[Cut], form: CheckpointForm, root: float) -> tuple[Balls, dict[str, Balls]]:
    """Return the marks of the heads of a layer, and of its neurons and biases, part by part."""
    heads, neurons, biases = list[Balls](), dict[str, list[Balls]](), dict[str, Near | None]()
    latents: dict[str, Balls] = {}
    for cut in cuts:
        part, its_form = cut.of(block, form), cut.form(form)
        if cut.groups is not None:
            seen = seen_heads(part, its_form, root)
            heads.append(_head_marks(seen, its_form, root))
            biases.setdefault("attention bias", seen.bias)
            latents = {name.replace("_", " "): eigenvalues(gram([part.mT])) for name, part in seen.latents.items()}
        if cut.neurons is not None:
            of_mlp = seen_neurons(part, its_form, root)
            biases.setdefault("MLP bias", of_mlp.bias)
            for name, balls in _neuron_marks(of_mlp, root):
                neurons.setdefault(name, []).append(balls)
    found = {name: joined(*parts).ordered() for name, parts in neurons.items()}
    return joined(*heads, axis=0), found | latents | _bias_marks(biases, root, parallel=bool(form.parallel))


def _head_marks(seen: SeenHeads, form: CheckpointForm, root: float) -> Balls:
    a = form.widest
    ov = _padded(singular_values(seen.output, seen.value).over(root), a)
    qk = _padded(singular_values(seen.query.mT, seen.key), a)
    qk = qk if form.head_norms is None else qk.over(root).over(root)  # queries and keys grow with the stream
    turned, rows = (form.turned, (seen.query, seen.key)) if seen.turned is None else (form.rotating, seen.turned)
    if not turned:
        return joined(ov, qk)
    half = np.arange(turned // 2)
    planes = np.stack([half, half + turned // 2], axis=1)
    of_queries, of_keys = (seen_planes(part, planes).norms() for part in rows)
    sizes = of_queries.times(of_keys)
    return joined(ov, qk, sizes if form.head_norms is None else sizes.over(root).over(root))


def seen_planes(maps: Near, planes: np.ndarray) -> Near:
    """Return the two rows of each frequency, `(H, a / 2, 2, d)`."""
    value = maps.value[:, planes]
    return Near(value, np.broadcast_to(maps.error[:, None], value.shape[:2]))


def _padded(balls: Balls, size: int) -> Balls:
    """Return the rows of heads, with zeros where they are wider than the stream."""
    missing = ((0, 0), (0, size - balls.middle.shape[-1]))
    return Balls(np.pad(balls.middle, missing), np.pad(balls.radius, missing))


def _neuron_marks(neurons: SeenNeurons, root: float) -> Iterator[tuple[str, Balls]]:
    down = neurons.down.norms().over(root)
    if neurons.gate is not None:
        yield "gate", neurons.gate.norms()
    if neurons.scaled:
        yield "up x down", neurons.up.norms().times(down)
    else:
        yield "up", neurons.up.norms()
        if (bias := neurons.up_bias) is not None:
            yield "up bias", Balls(bias.value[:, 0, 0], bias.error)
        yield "down", down
    if neurons.router is not None:
        yield "router", neurons.router.norms()


def _bias_marks(biases: dict[str, Near | None], root: float, *, parallel: bool) -> dict[str, Balls]:
    found: dict[str, Balls] = {}
    if parallel:  # only the sum of both is seen
        there = [bias for bias in biases.values() if bias is not None]
        biases = {"attention and MLP bias": there[0] if len(there) == 1 else there[0] + there[1]} if there else {}
    for name, written_bias in biases.items():
        if written_bias is not None:
            found[name] = written_bias.norms().over(root)[None]
    return found


def _marks_behind(block: Block, root: float) -> dict[str, Balls]:
    """Return sizes of the gains of the norms behind both halves, if there are any."""
    gains = {"attention gain": block.behind1_gain, "MLP gain": block.behind2_gain}
    return {
        name: near(np.asarray(gain)[:, None, None]).norms().over(root).ordered()
        for name, gain in gains.items()
        if gain is not None
    }


def _end_marks(ends: Ends, form: CheckpointForm, root: float) -> dict[str, Balls]:
    unembedding = ends.embedding if ends.unembedding is None else ends.unembedding
    mean = _mean(ends.embedding, form)
    found = {
        "embedding": eigenvalues(_gram(ends.embedding, form, mean, None)).over(root).over(root),
        "unembedding": eigenvalues(_gram(unembedding, form, None, near(np.asarray(ends.final_gain)[None]))),
    }
    if ends.positions is not None:
        middle = _mean(ends.positions, form)
        rows = written(ends.positions, form)
        less = _less(rows, middle)
        each = Near(less.value[:, None, :], np.full(len(less.value), less.error))
        found["positions"] = each.norms().over(root)
        mean = mean + middle
    found["mean"] = mean.norms().over(root)[None]
    if ends.final_bias is not None:
        bias = near(np.asarray(ends.final_bias)[:, None])
        found["logit bias"] = stacked([near(unembedding[some]) @ bias for some in slices(unembedding)]).norms()[None]
    return found


def _mean(rows: Array, form: CheckpointForm) -> Near:
    """Return the mean row of an embedding, `(1, d)`."""

    def total(some: slice) -> Near:
        seen = written(rows[some], form)
        exactly = Near(seen.value[:, None, :], np.zeros(len(seen.value))).total()
        # rows are off by `error` together, so their sum by sqrt(n) times that
        return Near(exactly.value, exactly.error + math.sqrt(len(seen.value)) * seen.error * (1 + 1e-12))

    share = near(np.array([[Fraction(1, len(rows))]], dtype=object))
    return share @ reduce(add, map(total, slices(rows)))


def _less(rows: Near, row: Near) -> Near:
    """Return rows minus one row."""
    count = math.sqrt(len(rows.value)) * (1 + 1e-12)
    return rows + Near(np.broadcast_to(-row.value, rows.value.shape), np.asarray(count * row.error))


def _gram(rows: Array, form: CheckpointForm, mean: Near | None, gain: Near | None) -> Near:
    """Return `X^T X` for the rows as they are seen, computed from some at a time."""

    def seen(some: slice) -> Near:
        part = near(rows[some])
        if gain is not None:
            part = part.times(gain)
        if form.norm == "layer":
            part = part.centred()
        return part if mean is None else _less(part, mean)

    return gram(map(seen, slices(rows)))


def form_line(form: CheckpointForm) -> str:
    """Return a network in one line.

    Example:
        >>> from lightning_sym.testing import small_checkpoint
        >>> form_line(small_checkpoint("gpt2").form)
        'gpt2, 2 layers, width 16, 4 heads of 4, 24 neurons, 40 tokens, LayerNorm, learned positions, tied'
    """
    heads = f"{form.heads} heads of {form.head_width}" + (
        f" in {form.groups} group{'s' * (form.groups > 1)}" if form.groups != form.heads else ""
    )
    return ", ".join([
        form.family, f"{form.layers} layers", f"width {form.width}", heads, f"{form.inner} neurons",
        f"{form.vocabulary} tokens", "LayerNorm" if form.norm == "layer" else "RMSNorm",
        "learned positions" if form.theta is None else "rotary positions", "tied" if form.tied else "not tied",
    ])  # fmt: skip


def _largest(balls: Balls) -> Balls:
    """Return all numbers of all rows, the largest first."""
    return Balls(balls.middle.reshape(-1), balls.radius.reshape(-1)).ordered()


def _some(balls: Balls, count: int = 4) -> str:
    shown = [shown_ball(float(m), float(r)) for m, r in zip(balls.middle[:count], balls.radius[:count], strict=True)]
    more = ", ..." if balls.middle.shape[-1] > count else ""
    return ", ".join(shown) + more


def shown_ball(middle: float, radius: float) -> str:
    """Return a number with its radius, in the digits that are known, 8 at most.

    Example:
        >>> shown_ball(3.14159265358979, 1e-12), shown_ball(1.0, 0.02)
        ('3.1415927 +- 1e-12', '1 +- 0.02')
    """
    return f"{middle:.8g} +- {radius:.1g}"
