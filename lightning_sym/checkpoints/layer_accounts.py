"""One layer of both: a gauge guessed and applied, and the account of what was done that leaves least unexplained.

An account is a symmetry that can be written down. Gains of a norm may be carried along or be those of the second, its
bias too, and a bias of values may have moved into that of the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lightning_sym.checkpoints.exact_arrays import Exact
from lightning_sym.checkpoints.fits import ABOUT, ROUNDS
from lightning_sym.checkpoints.layer_fit import ORDERS, Guess, fitted
from lightning_sym.checkpoints.measured import TINY, Fitted, Measured, Measuring, measured_pieces, value_of
from lightning_sym.checkpoints.measured import fitted as fit_of
from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.checkpoints.pieces import HALVES, LAYER
from lightning_sym.checkpoints.symmetry import LayerSymmetry
from lightning_sym.checkpoints.units import Worst, exact_is_told
from lightning_sym.checkpoints.walk import (
    BRIEF,
    EXACT,
    READERS,
    Differences,
    LayerWalk,
    Ring,
    Settled,
    Stream,
    differing,
    gain_ways,
    look_at,
)
from lightning_sym.errors import BadInput, TooLarge

OF_HALF = {number: {*half.norms, *half.maps} for number, half in enumerate(HALVES.values(), 1)}
"""By the number of a norm, the pieces of the half of a layer that reads it."""

MATRICES = tuple(name for name, piece in LAYER.items() if piece.columns)

CHOICES = {"bias1": {"norm1_bias"}, "bias2": {"norm2_bias"}, "value_bias": {"value_bias", "output_bias"}}
"""Biases that may be those of the second, and the pieces that tell so."""

NORMS = {f"{part}{number}": f"norm{number}_{part}" for number in READERS for part in ("gain", "bias")}
NORMS |= {"attention_bias": "output_bias"}
"""By part of a symmetry, the piece of the second that it is."""


@dataclass(frozen=True, eq=False)
class LayerPair:
    """A layer of both, of one form, with units.

    Attributes:
        first, second: with equally many groups and neurons, and the same biases.
        measured: both, with units.
        form: of both.
        stream: what is done to the stream.
        stored: by piece, the coarser of the types that it is stored in.
        limit: units.
        rounds: in which gauges are fitted.
    """

    first: Block
    second: Block
    measured: tuple[Block, Block]
    form: CheckpointForm
    stream: Stream
    stored: Callable[[str], str]
    limit: float
    rounds: int = ROUNDS


@dataclass(frozen=True, eq=False)
class LayerAccount:
    """A gauge, the norms that have gains of the second, what else was chosen, and what is left."""

    guess: Guess
    gains: frozenset[int]
    choices: frozenset[str]
    settled: Settled
    off: frozenset[str]


@dataclass(frozen=True, eq=False)
class LayerFound:
    """What was found in one layer.

    Attributes:
        symmetry: what was done, in the order of those neurons that do something.
        guess: its gauge.
        tensors: how far each piece is off.
        exact: they were compared exactly.
        equal: nothing differs.
        unread: a piece with numbers that nothing depends on, and that are others, or none.
        why_not: why the symmetry cannot be written down, in one line.
        pair: the layer of both as it was compared.
        account: what was done, and what is left, in units.
    """

    symmetry: LayerSymmetry
    guess: Guess
    tensors: dict[str, Worst]
    exact: bool
    equal: bool
    unread: str
    why_not: str
    pair: LayerPair
    account: LayerAccount

    def off(self) -> frozenset[str]:
        """The pieces that it does not explain."""
        return frozenset(name for name, worst in self.tensors.items() if not worst.units <= self.pair.limit)

    def left_out(self, parts: Collection[str], stream: Stream) -> Differences:
        """What is left of each piece, in units, where parts of it had not been done: `heads`, `gain1` or `stream`.

        Args:
            parts: those.
            stream: the one that does nothing, which takes the place of `stream`.

        Raises:
            BadInput: the others do not go without it.
        """
        pair, account = self.pair, self.account
        guess, gains, choices = account.guess, account.gains, account.choices
        inner: dict[str, Any] = {}
        for part in parts:
            if part == "stream":
                pair = replace(pair, stream=stream)
            elif part in ("gain1", "gain2"):
                gains -= {int(part[-1])}
            else:
                inner[part] = None
        guess = replace(guess, symmetry=replace(guess.symmetry, **inner), fitted=guess.fitted - inner.keys())
        choices -= inner.keys()
        return _walk(pair, guess, gains).settle(choices).left


def compare_layer(
    first: Block, second: Block, form: CheckpointForm, stream: Stream, stored: Callable[[str], str], limit: float
) -> LayerFound:
    """Compare under the gauge that does nothing, and where that is off by more than the limit, guess and compare."""
    pair, account, why_not = _best_account(first, second, form, stream, stored, limit)
    return _found(pair, account, why_not)


def off_at_best(
    first: Block, second: Block, form: CheckpointForm, stream: Stream, stored: Callable[[str], str], limit: float
) -> frozenset[str]:
    """The pieces that the best account leaves unexplained, in units alone: for the many that are tried."""
    return _best_account(first, second, form, stream, stored, limit, rounds=0)[1].off


def _best_account(
    first: Block,
    second: Block,
    form: CheckpointForm,
    stream: Stream,
    stored: Callable[[str], str],
    limit: float,
    rounds: int = ROUNDS,
) -> tuple[LayerPair, LayerAccount, str]:
    """Both with units, the account that explains most, and why the symmetry cannot be written down."""
    both = measured_pieces(first, stored), measured_pieces(second, stored)
    pair = LayerPair(first, second, both, form, stream, stored, limit, rounds)
    options, why_not = {}, ""
    for number in READERS:
        mine, theirs = (getattr(block, f"norm{number}_gain") for block in both)
        options[number], said = gain_ways(stream.measured, mine, theirs, limit, f"norm {number}")
        why_not = why_not or said
    account = _best(pair, (Guess(), Guess()), options)
    if account.off:
        account = _best(pair, _guesses(pair), options)
    if account.off and rounds and account.guess.words.keys() - account.guess.fitted - {*ORDERS}:
        other = _best(pair, _guesses(pair, about=0), options)  # short numbers may be too far off for the biases
        account = other if len(other.off) < len(account.off) else account
    return pair, account, why_not


def _guesses(pair: LayerPair, about: int = ABOUT) -> Iterator[Guess]:
    """The gauge that fits best with norms folded, and that with norms that do nothing."""
    yield fitted(pair.first, pair.second, pair.form, pair.stream.map, pair.rounds, about)
    yield fitted(_bare(pair.first), _bare(pair.second), pair.form, pair.stream.map, pair.rounds, about)


def _bare(block: Block) -> Block:
    """A layer whose norms do nothing."""
    one = np.ones(len(block.norm1_gain), dtype=np.float32)
    return replace(block, norm1_gain=one, norm1_bias=None, norm2_gain=one, norm2_bias=None)


def _best(pair: LayerPair, guesses: Iterable[Guess], options: dict[int, tuple[bool, ...]]) -> LayerAccount:
    """The account that leaves fewest tensors unexplained, each half by itself.

    Args:
        pair: the layer.
        guesses: a gauge to be tried with the gains that are likelier, and one for the others.
        options: by norm, whether it may have the gains of the second.
    """
    tried: list[LayerAccount] = []
    for guess, way in zip(guesses, (0, -1), strict=True):
        gains = frozenset(n for n, ways in options.items() if ways[way])
        tried.append(_account(pair, guess, gains))
        if not tried[-1].off or all(len(ways) == 1 for ways in options.values()):
            return tried[-1]
    halves = {n: min(tried, key=lambda each: (len(each.off & names), n in each.gains)) for n, names in OF_HALF.items()}
    return halves[1] if halves[1] is halves[2] else _joined(pair, halves)


def _joined(pair: LayerPair, halves: dict[int, LayerAccount]) -> LayerAccount:
    """Each half as its account has it."""
    gains = frozenset(n for n, each in halves.items() if n in each.gains)
    choices = frozenset(name for n, each in halves.items() for name in each.choices if (name == "bias2") is (n == 2))
    guess = halves[1].guess.with_neurons_of(halves[2].guess)
    settled = _walk(pair, guess, gains).settle(choices)
    return LayerAccount(guess, gains, choices, settled, _off(settled.left, pair.limit))


def _walk(pair: LayerPair, guess: Guess, gains: frozenset[int], exact: Exact | None = None) -> LayerWalk:
    """The layer of the first rewritten, less the second's: in units, or over the rationals."""
    ring: Ring = exact or Measuring(tuple(_fits(pair, guess)))
    blocks = (pair.first, pair.second) if exact else pair.measured
    stream = pair.stream.exactly[exact] if exact else pair.stream.measured
    return LayerWalk(*blocks, pair.form, stream, guess.symmetry, gains, ring)


def _fits(pair: LayerPair, guess: Guess) -> Iterator[tuple[Any, Fitted | Measured]]:
    """The gauges that were fitted, and how well the weights of the first tell them."""
    first: Any = pair.measured[0]
    form, symmetry = pair.form, guess.symmetry
    heads = np.arange(form.heads) if symmetry.heads is None else symmetry.heads
    groups = heads[:: form.heads // form.groups] // (form.heads // form.groups)
    a, width = form.head_width, form.width
    if "values" in guess.fitted:
        writers = first.output[heads].reshape(form.groups, -1, a)
        yield symmetry.values, fit_of(symmetry.values, first.value[groups], writers)
    readers = first.query[heads].reshape(form.groups, -1, a, width).swapaxes(1, 2).reshape(form.groups, a, -1)
    keys, turned = first.key[groups], form.turned
    if "turns" in guess.fitted:
        yield symmetry.turns, fitted_turns(symmetry.turns, readers[:, :turned], keys[:, :turned])
    if "queries" in guess.fitted:
        yield symmetry.queries, fit_of(symmetry.queries, readers[:, turned:], keys[:, turned:].swapaxes(-1, -2))


def fitted_turns(turns: Any, queries: Measured, keys: Measured) -> Measured:
    """Numbers `x + iy`, `(G, a / 2, 2)`, that were fitted to queries and keys, both `(G, a, n)`, with what that is off.

    Each side tells a number the better, the longer its rows are; the two count by the squares of their lengths.
    """
    value = np.asarray(turns, dtype=np.float64)
    length = np.square(value).sum(axis=-1)
    energy, noise = np.zeros_like(length), np.zeros_like(length)
    for side, scale in ((queries, length), (keys, 1 / length)):
        entries, squares = (x.reshape(len(value), 2, -1, x.shape[-1]) for x in (np.square(side.value), 2 * side.square))
        told = scale * entries.sum(axis=(1, 3))
        weight = 1 / max(float(told.mean()), TINY)
        energy += weight * told
        noise += weight**2 * scale**2 * (entries.sum(axis=1) * squares.mean(axis=1)).sum(axis=-1)
    off = length * noise / np.maximum(energy, TINY) ** 2
    return Measured(value, np.repeat(off[..., None], 2, axis=-1))


def _account(pair: LayerPair, guess: Guess, gains: frozenset[int]) -> LayerAccount:
    """What is left with these gains, biases that moved chosen so that fewest tensors are unexplained."""
    walk = _walk(pair, guess, gains)
    choices = frozenset[str]()
    settled = walk.settle(choices)
    off = _off(settled.left, pair.limit)
    for choice, told in CHOICES.items():
        if not told & off or not told <= settled.left.keys():
            continue
        other = walk.settle(choices | {choice})
        if len(fewer := _off(other.left, pair.limit)) < len(off):
            choices, settled, off = choices | {choice}, other, fewer
    return LayerAccount(guess, gains, choices, settled, off)


def _off(left: Differences, limit: float) -> frozenset[str]:
    """The pieces that are off by more than the limit, or by what is no number."""
    return frozenset(name for name, each in left.items() if each.beyond(limit).any())


def _found(pair: LayerPair, account: LayerAccount, why_not: str) -> LayerFound:
    """An account, compared exactly where that is possible."""
    exactly = None
    if not account.guess.fitted and pair.stream.exact and not _mostly_off(pair, account.settled.left):
        try:
            differs = any(differing(left, pair.stored(name)).any() for name, left in account.settled.left.items())
            ring = BRIEF if differs else EXACT
            exactly = _walk(pair, account.guess, account.gains, ring).settle(account.choices)
        except (BadInput, TooLarge) as error:
            why_not = why_not or str(error)
    tensors = _tensors(pair, account.settled, None)
    settled, exact = account.settled, False
    if exactly is not None and exact_is_told(told := _tensors(pair, settled, exactly), tensors, pair.limit):
        settled, exact, tensors = exactly, True, told
    equal = exact and not any(worst.differing for worst in tensors.values())
    symmetry = replace(account.guess.symmetry, **dict(_parts(pair, settled)))
    return LayerFound(symmetry, account.guess, tensors, exact, equal, settled.unread, why_not, pair, account)


def _tensors(pair: LayerPair, settled: Settled, exactly: Settled | None) -> dict[str, Worst]:
    """How far each piece is off, exactly if that is known."""
    tensors = {}
    for name, left in settled.left.items():
        tensors[name] = Worst()
        look_at(tensors[name], left, None if exactly is None else exactly.left[name], getattr(pair.second, name))
    return tensors


def _mostly_off(pair: LayerPair, left: Differences) -> bool:
    """Whether most maps differ nearly everywhere by far more than floats lose: nothing is equal exactly."""
    dense = [differing(left[name], pair.stored(name)).mean() > 0.5 for name in MATRICES if name in left]
    return 2 * sum(map(bool, dense)) > len(dense)


def _parts(pair: LayerPair, settled: Settled) -> Iterator[tuple[str, Any]]:
    """The parts of the symmetry that were read off, without those that do nothing."""
    for name, part in settled.parts.items():
        if name == "key_bias":
            yield name, np.asarray(pair.second.key_bias)[..., pair.form.turned :]
        elif not name.endswith("_shift"):
            yield name, getattr(pair.second, NORMS.get(name, name))
        elif (numbers := value_of(part) if isinstance(part, Measured) else part) is not None and (numbers != 0).any():
            yield name, numbers if numbers.shape else numbers.item()
