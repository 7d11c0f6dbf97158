"""One layer of both: a gauge guessed and applied, and the account of what was done that leaves least unexplained.

An account is a symmetry that can be written down. Gains of a norm may be carried along or be those of the second, its
bias too, and a bias of values may have moved into that of the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from lightning_sym.checkpoints.exact_arrays import Exact
from lightning_sym.checkpoints.fits import ABOUT, ROUNDS, gauge_fits
from lightning_sym.checkpoints.found_symmetry import ORDERS
from lightning_sym.checkpoints.layer_fit import BOTH, ONE_SIDE, Guess, Sides, bare, fitted
from lightning_sym.checkpoints.layer_parts import Cut, cuts_of, joined, orders_of
from lightning_sym.checkpoints.left_over import LeftOver
from lightning_sym.checkpoints.likeness import alike_maps
from lightning_sym.checkpoints.measured import measured, measured_pieces
from lightning_sym.checkpoints.measuring import Measuring, Ring
from lightning_sym.checkpoints.model import Block, CheckpointForm
from lightning_sym.checkpoints.pieces import LAYER, NUMBERS, OF_HALF, STREAM_NORMS
from lightning_sym.checkpoints.stream import BRIEF, EXACT, Stream
from lightning_sym.checkpoints.symmetry import LayerSymmetry
from lightning_sym.checkpoints.units import Worst, exact_is_told
from lightning_sym.checkpoints.walk import (  # fmt: skip
    CHOICES,
    Differences,
    LayerWalk,
    Settled,
    gain_ways,
)
from lightning_sym.errors import BadInput, TooLarge

NORMS = {f"{part}{number}": f"norm{number}_{part}" for number in NUMBERS for part in ("gain", "bias")}
NORMS |= {"attention_bias": "output_bias"}
"""By part of a symmetry, the piece of the second that it is."""

EXACT_PARTS = 16
"""Parts of a layer up to which numbers may be fractions that no float holds."""


@dataclass(frozen=True, eq=False)
class LayerPair:
    """A layer of both, of one form, and its parts.

    Attributes:
        first, second: with equally many groups and neurons, and the same biases.
        form: of both.
        stream: what is done to the stream.
        stored: by piece, the coarser of the types that it is stored in.
        limit: units.
        rounds: in which gauges are fitted.
    """

    first: Block
    second: Block
    form: CheckpointForm
    stream: Stream
    stored: Mapping[str, str]
    limit: float
    rounds: int = ROUNDS

    @cached_property
    def cuts(self) -> list[Cut]:
        """Its parts; a small layer is one, and one whose experts stay together."""
        return cuts_of(self.second, self.form, alone=self.form.experts is not None)

    @cached_property
    def alike(self) -> frozenset[str]:
        """The maps that may be one another's, each by itself, by half of their parts or more."""
        return alike_maps(self.first, self.second, self.form, self.stream.map)

    @cached_property
    def _measured(self) -> tuple[Block, Block] | None:
        """Both with units, where they are one part."""
        return self._with_units((self.first, self.second)) if len(self.cuts) == 1 else None

    def _with_units(self, blocks: tuple[Block, Block]) -> tuple[Block, Block]:
        return measured_pieces(blocks[0], self.stored), measured_pieces(blocks[1], self.stored)

    def part(self, cut: Cut, symmetry: LayerSymmetry, *, measured: bool) -> tuple[Block, Block]:
        """Return a part of both, heads and neurons of the first in the order of the second."""
        kept = self._measured if measured else None
        first, second = kept or (self.first, self.second)
        pair = cut.of(first, self.form, orders_of(symmetry, self.form)), cut.of(second, self.form)
        return self._with_units(pair) if measured and kept is None else pair

    def entries(self, cut: Cut, settled: Settled) -> tuple[dict[str, tuple[int, int]], dict[str, Any]]:
        """Return where in the layer stands what is settled of a part, and the pieces of the second in that part."""
        return cut.where((*settled.left, *settled.parts), self.form), vars(cut.of(self.second, self.form))


@dataclass(frozen=True, eq=False)
class LayerAccount:
    """A gauge, the norms that have gains of the second, what else was chosen, and what is left.

    Attributes:
        pair: the layer.
        guess: the gauge.
        gains: those norms.
        choices: biases that are those of the second.
        off: pieces that it does not explain.
        told: how far pieces are off, where the layer has several parts.
        kept: what is left, where it is one part.
    """

    pair: LayerPair
    guess: Guess
    gains: frozenset[int]
    choices: frozenset[str]
    off: frozenset[str]
    told: LeftOver
    kept: Settled | None

    def settled(self, cut: Cut) -> Settled:
        """Return what is left of a part, in units."""
        return self.kept or _walk(self.pair, cut, self.guess, self.gains).settle(self.choices)

    @property
    def left(self) -> Differences:
        """What is left of the whole layer, in units."""
        return _left_of_parts((cut, self.settled(cut)) for cut in self.pair.cuts)


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
        """Return the pieces that it does not explain."""
        return frozenset(name for name, worst in self.tensors.items() if not worst.units <= self.pair.limit)

    def unsettled(self) -> Differences:
        """Return what is left of each piece, in units, before additive symmetries take up anything."""
        return _left_of_parts(
            (cut, _walk(self.pair, cut, self.account.guess, self.account.gains).found) for cut in self.pair.cuts
        )

    def left_out(self, parts: Collection[str], stream: Stream) -> Differences:
        """Return what is left of each piece, in units, where parts were not done: `heads`, `gain1` or `stream`.

        Args:
            parts: those.
            stream: the one that does nothing, which takes the place of `stream`.

        Raises:
            BadInput: the others do not go without it.
        """
        pair, account = self.pair, self.account
        guess, gains, choices = account.guess, account.gains, account.choices
        inner: dict[str, None] = {}
        for part in parts:
            if part == "stream":
                pair = replace(pair, stream=stream)
            elif part.startswith("gain") and part[4:].isdigit():
                gains -= {int(part[-1])}
            else:
                inner[part] = None
        guess = replace(guess, symmetry=replace(guess.symmetry, **inner), fitted=guess.fitted - inner.keys())
        choices -= inner.keys()
        return _left_of_parts((cut, _walk(pair, cut, guess, gains).settle(choices)) for cut in pair.cuts)


def best_account(pair: LayerPair) -> tuple[LayerAccount, str]:
    """Return the account that explains most, in units alone, and why the symmetry cannot be written down.

    First under the gauge that does nothing, and where that is off by more than the limit, under those that are guessed.
    """
    options: dict[int, tuple[bool, ...]] = {}
    why_not = ""
    for number in NUMBERS:
        name = f"norm{number}_gain"
        if (gain := getattr(pair.second, name)) is None or number not in STREAM_NORMS:
            options[number] = (gain is not None and bool((gain != 0).all()),)
            continue
        mine, theirs = (measured(getattr(block, name), pair.stored[name]) for block in (pair.first, pair.second))
        options[number], said = gain_ways(pair.stream.measured, mine, theirs, pair.limit, f"norm {number}")
        why_not = why_not or said
    account = _best(pair, (Guess(), Guess()), options)
    if account.off:
        account = _best(pair, _guesses(pair), options)
    if account.off and pair.rounds and account.guess.words.keys() - account.guess.fitted - {*ORDERS}:
        other = _best(pair, _guesses(pair, about=0), options)  # short numbers may be too far off for the biases
        account = min(account, other, key=_unexplained)
    for by in ONE_SIDE:
        if account.off & by.names and account.off & by.names & pair.alike:
            account = min(account, _best(pair, _guesses(pair, by=by), options), key=_unexplained)
    return account, why_not


def _unexplained(account: LayerAccount) -> tuple[int, int]:
    """Return how much an account leaves, maps with biases as one, and in how many bases a factor may hide that."""
    return sum(LAYER[name].added_to not in account.off for name in account.off), account.guess.factors


def _guesses(pair: LayerPair, about: int = ABOUT, by: Sides = BOTH) -> Iterator[Guess]:
    """Yield the gauge that fits best with norms folded, and that with norms that do nothing."""
    rounds = pair.rounds if by == BOTH else 0
    for first, second in ((pair.first, pair.second), (bare(pair.first), bare(pair.second))):
        yield fitted(first, second, pair.form, pair.stream.map, pair.stored, rounds, about, by)


def _best(pair: LayerPair, guesses: Iterable[Guess], options: dict[int, tuple[bool, ...]]) -> LayerAccount:
    """Return the account that leaves fewest tensors unexplained, each half by itself.

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
    """Return each half as its account has it."""
    gains = frozenset(n for number, each in halves.items() for n in each.gains if (n == 2) is (number == 2))
    choices = frozenset(name for n, each in halves.items() for name in each.choices if name.endswith("2") is (n == 2))
    guess = halves[1].guess.with_neurons_of(halves[2].guess)
    return _chosen(pair, guess, gains, choices, lambda cut: _walk(pair, cut, guess, gains))


def _walk(pair: LayerPair, cut: Cut, guess: Guess, gains: frozenset[int], exact: Exact | None = None) -> LayerWalk:
    """Return a part of the layer of the first rewritten, less the second's: in units, or over the rationals."""
    blocks = pair.part(cut, guess.symmetry, measured=exact is None)
    inner, form = cut.inner(guess.symmetry, pair.form), cut.form(pair.form)
    ring: Ring = exact or Measuring(tuple(gauge_fits(blocks[0], form, inner, guess.fitted)))
    stream = pair.stream.exactly[exact] if exact else pair.stream.measured
    return LayerWalk(*blocks, form, stream, inner, gains, ring)


def _account(pair: LayerPair, guess: Guess, gains: frozenset[int]) -> LayerAccount:
    """Return what is left with these gains, biases that moved chosen so that fewest tensors are unexplained."""
    walk = _walk(pair, pair.cuts[0], guess, gains) if len(pair.cuts) == 1 else None
    best = _chosen(pair, guess, gains, frozenset(), lambda cut: walk or _walk(pair, cut, guess, gains))
    for choice, named in CHOICES.items():
        if not named & best.off or not named <= best.told.tensors.keys():
            continue
        choices = best.choices | {choice}
        other = _chosen(pair, guess, gains, choices, lambda cut: walk or _walk(pair, cut, guess, gains))
        best = other if len(other.off) < len(best.off) else best
    return best


def _chosen(
    pair: LayerPair, guess: Guess, gains: frozenset[int], choices: frozenset[str], walk: Callable[[Cut], LayerWalk]
) -> LayerAccount:
    """Return what is left with these gains and choices, part by part."""
    told, kept = LeftOver(pair.stored, pair.limit), None
    for cut in pair.cuts:
        settled = walk(cut).settle(choices)
        kept = settled if len(pair.cuts) == 1 else None
        told.add(settled, *pair.entries(cut, settled))
    return LayerAccount(pair, guess, gains, choices, told.off, told, kept)


def _left_of_parts(parts: Iterable[tuple[Cut, Settled]]) -> Differences:
    """Return what is left of each piece of all parts."""
    found: dict[str, list[Any]] = {}
    for cut, settled in parts:
        for name, left in settled.left.items():
            if cut.has(name):
                found.setdefault(name, []).append(left)
    return {name: joined(name, parts) for name, parts in found.items()}


def compare_layer(pair: LayerPair) -> LayerFound:
    """Return the best account of a layer, compared exactly where that is possible."""
    account, why_not = best_account(pair)
    told, exactly = account.told, None
    if not account.guess.fitted and pair.stream.map.exact and not told.is_mostly_off():
        try:
            brief = told.differs() or len(pair.cuts) > EXACT_PARTS
            exactly = _exactly(account, BRIEF if brief else EXACT)
        except (BadInput, TooLarge) as error:
            why_not = why_not or str(error)
    exact = exactly is not None and exact_is_told(exactly.tensors, told.tensors, pair.limit)
    found = exactly if exact and exactly is not None else told
    equal = exact and not any(worst.differing for worst in found.tensors.values())
    symmetry = replace(account.guess.symmetry, **dict(_parts(pair, found)))
    return LayerFound(symmetry, account.guess, found.tensors, exact, equal, found.unread, why_not, pair, account)


def _exactly(account: LayerAccount, ring: Exact) -> LeftOver:
    """Return what an account leaves over the rationals.

    Raises:
        BadInput, TooLarge: that is not known.
    """
    pair, found = account.pair, LeftOver(account.pair.stored, account.pair.limit)
    for cut in pair.cuts:
        left = _walk(pair, cut, account.guess, account.gains, ring).settle(account.choices)
        found.add(left, *pair.entries(cut, left), partial(account.settled, cut))
    return found


def _parts(pair: LayerPair, told: LeftOver) -> Iterator[tuple[str, Any]]:
    """Yield the parts of the symmetry that were read off, without those that do nothing."""
    for name, numbers in told.numbers():
        if name == "key_bias":
            yield name, np.asarray(pair.second.key_bias)[..., pair.form.turned :]
        elif not name.endswith("_shift"):
            had = getattr(pair.second, NORMS.get(name, name))
            yield name, None if had is None else np.asarray(had)
        elif numbers is not None and (numbers != 0).any():
            yield name, numbers if numbers.shape else numbers.item()
