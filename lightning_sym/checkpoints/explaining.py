"""The search for the fewest known mistakes that lead from one layer, or from the ends, to the other's.

What is left unexplained after a change is asked of somebody else: number by number, or under a symmetry that is fitted
anew. States are taken in the order of how many mistakes they need, so that the first that leaves nothing has fewest.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from lightning_sym.checkpoints.mistaken_scenes import Arrays, Change, Scene, gains_of
from lightning_sym.checkpoints.mistakes import changes
from lightning_sym.checkpoints.pieces import HALVES

MOST = 3
"""Mistakes in a composition."""

Left = Callable[[Scene, frozenset[str]], frozenset[str]]
"""What a scene leaves unexplained, of which only these pieces were changed."""


@dataclass(frozen=True)
class Composition:
    """Changes that were made one after another, those that were undone on the second side from the outside in.

    Attributes:
        scene: both sides behind them.
        changes: those.
    """

    scene: Scene
    changes: tuple[Change, ...] = ()

    @property
    def mistakes(self) -> frozenset[str]:
        """What they count as."""
        return frozenset[str]().union(*(change.counted for change in self.changes))


@dataclass(order=True)
class _State:
    """A composition in the order in which it is followed."""

    mistakes: int
    changes: int
    off: int
    number: int
    made: Composition = field(compare=False)
    before: int = field(compare=False)
    """How many pieces were off before the change that is hidden, if the last one is."""
    hidden: bool = field(compare=False, default=False)


def explain(
    scene: Scene,
    left: Left,
    known: frozenset[str] = frozenset(),
    *,
    more: tuple[Change, ...] = (),
    most: int = MOST,
) -> Composition | None:
    """Return the composition of fewest mistakes that leaves nothing unexplained; `None` where there is none of a few.

    Each step explains the first piece that is off, or moves its entries, so that another one may explain it.

    Args:
        scene: the layer, or the ends, of both, with what is to be explained.
        left: says what a scene leaves unexplained.
        known: mistakes that were found elsewhere, which count as none.
        more: changes that are tried before those of the table.
        most: how many mistakes that are not known a composition may have.
    """
    number = count()
    heap = [_State(0, 0, len(scene.off), next(number), Composition(scene), len(scene.off))]
    while heap:
        state = heapq.heappop(heap)
        here = state.made
        if not here.scene.off:
            return here
        piece = min(here.scene.off)
        asked = replace(here.scene, off=frozenset([piece]))
        for change in (*(each for each in more if piece in each.pieces), *changes(asked, known)):
            mistakes = here.mistakes | change.counted
            if at_odds((*here.changes, change)):
                continue
            if len(mistakes - known) > most or (then := changed(here.scene, change, "first")) is None:
                continue
            hidden = bool(left(replace(then, off=frozenset([piece])), frozenset([piece])))
            if hidden and (state.hidden or not change.hidden):
                continue
            off = left(then, frozenset(change.pieces))
            if not hidden and len(off) >= state.before:
                continue
            made = Composition(replace(then, off=off), (*here.changes, change))
            new = len(mistakes - known)
            if not off and new <= max(state.mistakes, 1):
                return made
            before = state.before if hidden else len(off)
            heapq.heappush(heap, _State(new, state.changes + 1, len(off), next(number), made, before, hidden))
    return None


def at_odds(changes: tuple[Change, ...]) -> bool:
    """Return whether a piece that was not moved is one that was changed, or an update takes up what that leaves.

    What was not moved is put in whatever stood there before, so that a change of it would say nothing. A symmetry that
    was fitted to an update of low rank leaves one of any form, where all that it moves is said not to have been moved.
    """
    still = {piece for change in changes if "not_moved_by" in change.detail for piece in change.pieces}
    others = [change for change in changes if "not_moved_by" not in change.detail]
    return bool(still) and any(each.mistake == "lora-unmerged" or still & {*each.pieces} for each in others)


def explain_by_fits(
    scene: Scene,
    left: Left,
    trials: int,
    known: frozenset[str] = frozenset(),
    only: frozenset[str] | None = None,
    hopeful: Callable[[Scene, Scene], bool] = lambda before, after: True,
) -> Iterator[Composition]:
    """Yield compositions of one or two mistakes, asked by fits: one that leaves nothing, or those that leave least.

    A change is undone on the second side, or made on the first where that explains nothing. One that leaves nothing is
    the last; others are those that leave least, for who asks further.

    Args:
        scene, left, known: as of `explain`.
        trials: how many changes are asked for; the search ends with the last of them.
        only: the mistakes that are tried; `None` for all.
        hopeful: whether a scene is worth a fit after a change, from what it was before.
    """
    states = [(0, Composition(scene))]
    for number in range(1, MOST):
        nearer: list[tuple[int, int, Composition]] = []
        for depth, here in states:
            asked = replace(here.scene, off=here.scene.off | _gains_before(here.scene))
            for side in ("second", "first")[: 2 - depth]:
                for change in changes(asked, known):
                    if not (change.hidden or change.fits) or (only is not None and not change.counted <= only):
                        continue
                    then = changed(here.scene, change, side)
                    if then is None or not hopeful(here.scene, then):
                        continue
                    if not trials:
                        yield from (made for *_, made in sorted(nearer, key=lambda each: each[:2])[:FOLLOWED])
                        return
                    trials -= 1
                    off = left(then, frozenset(change.pieces))
                    made = Composition(replace(then, off=off), (*here.changes, change))
                    if not off:
                        yield made
                        return
                    if len(off) < len(here.scene.off):
                        nearer.append((len(off), len(nearer), made))
        states = [(number, made) for *_, made in sorted(nearer, key=lambda each: each[:2])[:FOLLOWED]]
        yield from (made for _, made in states)


def _gains_before(scene: Scene) -> frozenset[str]:
    """Return the gains of the norms that something reads that is off: a fit may have put what is wrong of them there.

    Outside of layers nothing that is told reads a norm, so all gains are meant.
    """
    halves = [half for half in HALVES.values() if {*half.norms, *half.maps} & scene.off]
    near = {name for half in halves for name in half.norms} if halves else scene.first.keys()
    return frozenset(name for name in gains_of(scene) if name in near)


FOLLOWED = 2
"""Of the states that explain more, those that are followed where each question is a fit."""


def changed(scene: Scene, change: Change, side: str) -> Scene | None:
    """Return the scene with a change made on the first side, or undone on the second; `None` where that is nothing."""
    map_of_pieces = change.made if side == "first" else change.undone
    before: Arrays = scene.first if side == "first" else scene.second
    if map_of_pieces is None or not {*change.pieces} <= before.keys():
        return None
    after = {**before, **map_of_pieces(before)}
    squares = {**scene.squares, **change.squares}
    return replace(scene, first=after, squares=squares) if side == "first" else replace(scene, second=after)


def off_by_number(scene: Scene, pieces: frozenset[str]) -> frozenset[str]:
    """Return which pieces are still off, number by number, of which only these may have changed.

    A piece that one side lacks is one of zeros, if it is a bias.
    """
    found = set(scene.off - pieces)
    for name in pieces:
        array = scene.first[name]
        if name not in scene.second:
            if np.any(array):
                found.add(name)
        elif not scene.explains(name, array):
            found.add(name)
    return frozenset(found)
