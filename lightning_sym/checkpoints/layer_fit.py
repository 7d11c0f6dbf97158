"""The gauge of one layer, guessed: heads and neurons matched, matrices and scales fitted, nice numbers near them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from lightning_sym.checkpoints import fits
from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.changes import LATENT_PARTS
from lightning_sym.checkpoints.configurations import whole
from lightning_sym.checkpoints.fits import RealOrComplex
from lightning_sym.checkpoints.found_symmetry import ORDERS, Gauge, gauge_words
from lightning_sym.checkpoints.gain_fits import gain_factors, row_factors
from lightning_sym.checkpoints.layer_parts import SHARED, Cut, Folded, FoldedParts, cuts_of, joined_numbers, orders_of
from lightning_sym.checkpoints.matching import as_complex, match_heads, match_neurons
from lightning_sym.checkpoints.measured import TINY, value_of
from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.checkpoints.nice_numbers import Floats, Ratio, as_part, stored_ratios
from lightning_sym.checkpoints.piece_table import ATTENTION, LATENTS, MLP
from lightning_sym.checkpoints.pieces import HALVES
from lightning_sym.checkpoints.stream_fit import as_map
from lightning_sym.checkpoints.symmetry import LayerSymmetry

FACTORS = ("values", "queries", "turns", "ups")
"""Gauges that may be one number throughout."""

GAIN_OF = {space: f"{norm}_gain" for norm, space in LATENTS.items()}
"""By the space of latents, the gain of the norm behind them."""

INNER = ("neurons", "ups", "behind2")
"""Those that belong to the MLP."""


def _is_one_number(name: str, numbers: Floats) -> bool:
    """Return whether a gauge multiplies by one number only."""
    first = numbers[(0,) * numbers.ndim]
    wanted = {"turns": np.array([1, 0]), "ups": np.ones(1)}.get(name)
    return bool((numbers == first * (np.eye(numbers.shape[-1]) if wanted is None else wanted)).all())


Four = tuple[Floats, Floats, Floats, Floats]
"""Old and new rows of a map, and of another one that shares their space."""


class Sides(NamedTuple):
    """Which of two maps that share a space tell its basis: values, queries and `up`; outputs, keys and `down`."""

    first: bool
    second: bool

    @property
    def names(self) -> frozenset[str]:
        """Those maps."""
        return frozenset(("value", "query", "up") * self.first + ("output", "key", "down") * self.second)

    def of(self, old: Floats, new: Floats, other: Floats, new_other: Floats) -> Four:
        """Return rows of both maps in the space, old and new ones, without columns where they are not asked."""
        one, two = (slice(None if asked else 0) for asked in self)
        return old[:, one], new[:, one], other[:, two], new_other[:, two]


BOTH = Sides(True, True)

ONE_SIDE = (Sides(True, False), Sides(False, True))
"""Each alone."""


@dataclass(frozen=True, eq=False)
class Guess:
    """What may have been done inside a layer.

    Attributes:
        symmetry: heads, neurons and gauges.
        fitted: the gauges whose numbers are no exact ones.
        words: what was done, by part.
    """

    symmetry: LayerSymmetry = field(default_factory=LayerSymmetry)
    fitted: frozenset[str] = frozenset()
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def factors(self) -> int:
        """How many gauges are one number throughout: where one map alone has it, it is a factor there."""
        given = {name: getattr(self.symmetry, name) for name in FACTORS}
        return sum(part is not None and _is_one_number(name, value_of(part)) for name, part in given.items())

    def with_neurons_of(self, other: Guess) -> Guess:
        """Return the guess for the heads, and that of another one for the neurons."""
        parts = {name: getattr(other.symmetry, name) for name in INNER}
        words = {
            name: said
            for guess, inner in ((self, False), (other, True))
            for name, said in guess.words.items()
            if (name in INNER) is inner
        }
        named = {name for name in self.fitted if name not in INNER} | {name for name in other.fitted if name in INNER}
        return Guess(replace(self.symmetry, **parts), frozenset(named), words)


def fitted(
    first: Block, second: Block, form: CheckpointForm, stream: StreamMap, stored: Mapping[str, str],
    rounds: int = fits.ROUNDS, about: int = fits.ABOUT, by: Sides = BOTH,
) -> Guess:  # fmt: skip
    """Return the guess that fits best, of a layer of both with equally many groups and neurons; see `fit_gauge`."""
    cuts = cuts_of(second, form, alone=form.experts is not None)
    pairs = (first, stream), (second, None)
    sides = [FoldedParts(whole(block, form, form.groups), form, cuts, there) for block, there in pairs]
    turned = {space: (part, _turned(sides, space, form)) for space, part in LATENT_PARTS.items()}
    inside = {space: StreamMap(Fraction(1), matrix=by) for space, (_, by) in turned.items() if by is not None}
    latents = {part: by for part, by in turned.values() if by is not None}
    found = latents | fit_gauge(replace(sides[0], inside=inside), sides[1], form, stored, rounds, about, by)
    singular = {  # as far as floats see
        name
        for name in ("values", "queries")
        if name in found and any(fits.inverse_of(matrix) is None for matrix in value_of(found[name]))
    }
    words = gauge_words({name: part for name, part in found.items() if name not in singular}, form)
    parts = {name: found[name] if name in ORDERS else as_part(found[name]) for name in words}
    inexact = frozenset(name for name in words if name not in ORDERS and not isinstance(found[name], Ratio))
    return Guess(LayerSymmetry().having(parts), inexact, words)


def _turned(sides: Sequence[FoldedParts], space: str, form: CheckpointForm) -> Floats | Ratio | None:
    """Return the orthogonal matrix that turned some latents; `None` where there are none, or they are equal.

    Where a gain behind them is 0, which no other one becomes, it is an order with signs.
    """
    old, new = (getattr(side.part(SHARED), space.replace(" ", "_")) for side in sides)
    if old is None or np.array_equal(old, new):
        return None
    left, _, right = np.linalg.svd(new @ old.T)
    found = as_map(left @ right, Fraction(1), exact=True, form=form)
    if found.order is None and (getattr(sides[1].block, GAIN_OF[space]) == 0).any():
        return None
    signs = 1.0 if found.signs is None else value_of(found.signs)[:, None]
    made: Floats | Ratio = found.matrix if found.order is None else Ratio(np.eye(len(old))[found.order] * signs, 1)
    return made


def bare(block: Block) -> Block:
    """Return a layer whose norms of the stream do nothing."""
    norms = [HALVES[half].norm for half in (ATTENTION, MLP)]
    gains = {name: gain for norm in norms if (gain := getattr(block, name := f"{norm}_gain")) is not None}
    none = {f"{norm}_bias": None for norm in norms}
    return block.having({**none, **{name: np.ones(len(gain), dtype=np.float32) for name, gain in gains.items()}})


def fit_gauge(
    first: FoldedParts, second: FoldedParts, form: CheckpointForm, stored: Mapping[str, str],
    rounds: int = fits.ROUNDS, about: int = fits.ABOUT, by: Sides = BOTH,
) -> dict[str, Gauge]:  # fmt: skip
    """Return the gauge that fits best, as parts of a symmetry, numbers of which are a `Ratio` where they are nice.

    Args:
        first, second: both layers, the first in the coordinates of the second.
        form: of the second.
        stored: by piece, the coarser of the types that it is stored in.
        rounds: in which matrices are fitted to what the others do not spoil.
        about: how many times as far off as fitted numbers short ones may be that are preferred to them.
        by: which of the two maps that share a space are asked for its basis: both, or one, as the other may be wrong.
    """
    heads = match_heads(first.heads, second.heads, form)
    neurons = match_neurons(first, second, scaled=form.scales_neurons, experts=form.experts or 1)
    places = orders_of(LayerSymmetry(heads=heads, neurons=neurons), form)
    found: dict[str, list[Floats | Ratio]] = {}
    for cut in second.cuts:
        parts = (first.part(cut, places), second.part(cut))
        for name, numbers in _fitted_part(*parts, cut, form, stored, rounds, about, by).items():
            found.setdefault(name, []).append(numbers)
    return {"heads": heads, "neurons": neurons, **{name: joined_numbers(parts) for name, parts in found.items()}}


def _fitted_part(
    old: Folded, new: Folded, cut: Cut, form: CheckpointForm, stored: Mapping[str, str], rounds: int, about: int,
    by: Sides,
) -> dict[str, Floats | Ratio]:  # fmt: skip
    """Return the numbers of the gauge of a part of a layer, heads and neurons of both in one order."""
    parts: dict[str, Floats | Ratio] = {}
    if cut.groups is not None:
        some, ratio = cut.form(form), form.heads // form.groups
        weights = tuple(_equation_weight(x) for x in (new.value, new.output))
        made = []
        for group in range(some.groups):
            mine = slice(group * ratio, (group + 1) * ratio)
            left, right = (np.concatenate(list(x.output[mine])) for x in (old, new))
            four = by.of(old.value[group], new.value[group], left.T, right.T)
            made.append(fits.gauge_matrix(*four[:2], four[2].T, four[3].T, (weights[0], weights[1]), rounds, about))
        parts["values"] = _stacked(made)
        if form.head_norms is None:
            parts |= _query_key(old, new, some, rounds, about, by)
        else:
            parts["turns"] = _signs_of_frequencies(old, new, some)
        if form.head_norms == "width":
            parts |= row_factors(old, new, ratio, stored)
        if form.latent is not None:
            before, after = (np.concatenate(list(x.query_turned), axis=-1) for x in (old, new))
            q, p, k, m = (as_complex(x[None])[0] for x in by.of(before, after, old.key_turned[0], new.key_turned[0]))
            both = (_equation_weight(new.query_turned), _equation_weight(new.key_turned))
            parts["shared_turns"] = _row_numbers([(q, p, k, m)], both, about)
    if cut.first:
        parts |= _signs_behind(old, new) | (gain_factors(old, new, stored) if form.head_norms == "head" else {})
    return parts | ({"ups": _ups(old, new, form, about, by)} if form.scales_neurons and cut.neurons is not None else {})


def _signs_behind(old: Folded, new: Folded) -> dict[str, Ratio]:
    """Return the signs that gains of norms behind both halves changed, as old gains stand at the new places."""
    found = {}
    for name in ("behind1", "behind2"):
        if (gain := getattr(new, f"{name}_gain")) is not None:
            changed = value_of(getattr(old, f"{name}_gain")) * value_of(gain) < 0
            found[name] = Ratio(np.where(changed, -1, 1).astype(object), 1)
    return found


def _signs_of_frequencies(old: Folded, new: Folded, form: CheckpointForm) -> Ratio:
    """Return -1 for each group and frequency of which queries and keys changed signs beside their gains, as turns."""
    told: Floats = np.zeros((form.groups, form.head_width // 2))
    for name in ("query", "key"):
        one, other = (getattr(x, name).reshape(form.groups, -1, 2, *told.shape[1:], form.width) for x in (old, new))
        products, *squares = ((x * y).sum(axis=(1, 2, 4)) for x, y in ((one, other), (one, one), (other, other)))
        told = told + products / np.maximum(np.sqrt(squares[0] * squares[1]), TINY)
    # of both: one of them alone says half of it
    return Ratio(np.where(told < -1, -1, 1)[..., None] * np.array([1, 0], dtype=object), 1)


def _equation_weight(array: Floats) -> float:
    """Return the weight of the equations of a tensor: one over its mean square."""
    mean = float(np.mean(array * array))
    return 1 / mean if mean > 0 else 1.0


def _query_key(
    old: Folded, new: Folded, form: CheckpointForm, rounds: int, about: int, by: Sides
) -> dict[str, Floats | Ratio]:
    """Return what was done to queries and keys, matrices or turns."""
    groups = form.groups
    ratio = form.heads // groups
    weight = (_equation_weight(new.query), _equation_weight(new.key))
    made, turned = [], []
    for group in range(groups):
        mine = slice(group * ratio, (group + 1) * ratio)
        queries = [np.concatenate(list(x.query[mine]), axis=-1) for x in (old, new)]
        four = by.of(queries[0], queries[1], old.key[group], new.key[group])
        if form.turned < form.head_width:
            before, after, read, written = (x[form.turned :] for x in four)
            made.append(fits.gauge_matrix(before, after, read.T, written.T, weight, rounds, about))
        if form.turned:
            q, p, k, m = (as_complex(x[None, : form.turned])[0] for x in four)
            turned.append((q, p, k, m))
    free = {"queries": _stacked(made)} if made else {}
    return free | ({"turns": _row_numbers(turned, weight, about)} if turned else {})


def _row_numbers(
    groups: Sequence[tuple[RealOrComplex, RealOrComplex, RealOrComplex, RealOrComplex]],
    weight: tuple[float, float],
    about: int,
) -> Floats | Ratio:
    """Return a number for each row of each group, `(G, n)`, of complex rows pairs `(G, n, 2)`: nice ones if possible.

    Args:
        groups: old and new rows, which the numbers multiply, then old and new ones, which their inverses do.
        weight: of the equations of either kind.
        about: see `fit_gauge`.
    """
    turned = np.iscomplexobj(groups[0][0])
    shape = (len(groups), -1, 2) if turned else (len(groups), -1)
    both = [(np.hstack([q, m.conj()]), np.hstack([p, k.conj()])) for q, p, k, m in groups]

    def made(z: RealOrComplex) -> Floats:
        pairs = np.stack([z.real, z.imag], axis=-1)  # without parts that are but noise
        return np.where(np.abs(pairs) < 1e-9 * np.abs(z)[..., None], 0, pairs) if turned else z.real

    def stored() -> tuple[Ratio, Ratio] | None:
        found = stored_ratios(*(np.concatenate(side) for side in zip(*both, strict=True)))
        return None if found is None else (found[0].reshape(*shape), found[1].reshape(*shape))

    @np.errstate(over="ignore", invalid="ignore")
    def off(z: Floats, inverse: Floats) -> Floats:
        numbers, again = (x[..., 0] + 1j * x[..., 1] if turned else x for x in (z, inverse))
        found = np.zeros(numbers.shape)
        for group, (q, p, k, m) in enumerate(groups):
            for by, old_rows, new_rows in ((numbers, q, p), (again, k, m)):
                rest = np.abs(new_rows - by[group][:, None] * old_rows).max(axis=1, initial=0)
                size = np.maximum(np.abs(new_rows).max(axis=1, initial=0), 1e-300)
                found[group] = np.maximum(found[group], rest / size)
        return np.repeat(found[..., None], 2, axis=-1) if turned else found

    def inverse_of(z: Floats) -> Floats:
        return np.asarray(z / (z * z).sum(axis=-1, keepdims=True)) if turned else np.reciprocal(z)

    guesses = [
        lambda: made(np.stack([fits.row_factors(*group, weight) for group in groups])),  # what fits best
        lambda: made(np.stack([fits.common_ratio(*each) for each in both])),
    ]
    return fits.nice_scales(guesses, inverse_of, off, stored, about)


def _ups(old: Folded, new: Folded, form: CheckpointForm, about: int, by: Sides) -> Floats | Ratio:
    """Return the scale of each neuron; without a gate it is positive."""
    weight = (_equation_weight(new.up), _equation_weight(new.down))
    found = _row_numbers([by.of(old.up, new.up, old.down.T, new.down.T)], weight, about).reshape(-1)
    return found if form.has_gate or (value_of(found) > 0).all() else np.ones(len(old.up))


def _stacked(made: list[tuple[Floats, Ratio | None, Ratio | None]]) -> Floats | Ratio:
    """Return matrices of all groups: as nice numbers if all are, and their inverses."""
    if all(g is not None and h is not None for _, g, h in made):
        return joined_numbers(g.reshape(1, *g.numerators.shape) for _, g, _ in made if g is not None)
    return np.stack([value_of(fit if g is None else g) for fit, g, _ in made])
