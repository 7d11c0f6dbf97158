"""The ends and the layers of two checkpoints, each explained by known mistakes, by number or under a symmetry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

import numpy as np

from lightning_sym.checkpoints.coded import are_equal
from lightning_sym.checkpoints.edited import Edited
from lightning_sym.checkpoints.ends_accounts import EndsFound
from lightning_sym.checkpoints.explaining import MOST, Composition, at_odds, explain, explain_by_fits, off_by_number
from lightning_sym.checkpoints.identity import stored_types
from lightning_sym.checkpoints.layer_accounts import LayerFound
from lightning_sym.checkpoints.layer_looked import layer_found, layer_off
from lightning_sym.checkpoints.likeness import MAPS, Likeness
from lightning_sym.checkpoints.mistaken_scenes import Change, Scene
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends
from lightning_sym.checkpoints.not_moved import ends_behind, ends_not_moved, layers_behind, not_moved
from lightning_sym.checkpoints.pieces import LAYER
from lightning_sym.checkpoints.searched import Searched, stream_as_it_is
from lightning_sym.checkpoints.stream import Stream
from lightning_sym.checkpoints.understood import Walker, block_of, ends_of, pieces_of
from lightning_sym.limits import DEFAULT_WORK, Work, unheard

ENTRY, PIECE, FIT = 4e-8, 1e-4, 8e-3
"""Seconds, roughly: of an entry and of a piece that are compared, and of a fit beside its entries."""

FLOP = 2e-10
"""Seconds of an entry of a layer times the width, in a fit."""

TRIALS = 40
"""Changes of a layer, or of the ends, that are asked by fits with the work that there is if nobody says otherwise."""

ENDS = tuple(each.name for each in fields(Ends))


class NoWork(Exception):
    """No work is left."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What explains some places.

    Attributes:
        changes: those that were made, each with its layer, `None` outside of them.
        exact: nothing but exact comparisons were needed.
    """

    changes: tuple[tuple[int | None, Change], ...] = ()
    exact: bool = True

    @property
    def mistakes(self) -> frozenset[str]:
        """What they count as."""
        return frozenset[str]().union(*(change.counted for _, change in self.changes))

    @property
    def size(self) -> tuple[int, int]:
        """How many mistakes, and how many pieces they changed: fewer are told."""
        return len(self.mistakes), sum(len(change.pieces) for _, change in self.changes)

    def __add__(self, other: Explanation) -> Explanation:
        return Explanation(self.changes + other.changes, self.exact and other.exact)

    @classmethod
    def of(cls, place: int | None, exact: bool, *compositions: Composition) -> Explanation:
        """Return the explanation by compositions in one place."""
        return cls(tuple((place, change) for made in compositions for change in made.changes), exact)


@dataclass(frozen=True, eq=False)
class Places:
    """Two checkpoints of one form, place by place.

    Attributes:
        first, second: those.
        units: up to which a difference counts as rounding.
        work: what is left of it.
        trials: how many changes of a place are asked by fits.
        from_layers: the layers that stand in the place of others, as far as it is known.
    """

    first: Checkpoint
    second: Checkpoint
    units: float
    work: Work
    trials: int
    from_layers: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, first: Checkpoint, second: Checkpoint, units: float, work: Work) -> Places:
        """Return both checkpoints, with as many trials as the work has for them."""
        return cls(first, second, units, work, max(1, int(TRIALS * min(work.left / DEFAULT_WORK, 1e6))))

    def spend(self, seconds: float) -> None:
        """Count work before it is done.

        Raises:
            NoWork: none is left.
        """
        if not self.work.allows(seconds):
            raise NoWork
        self.work.spent += seconds

    @property
    def _still(self) -> Stream:
        return stream_as_it_is(self.first, self.second)

    def _forms(self, layer: int) -> tuple[CheckpointForm, CheckpointForm]:
        """Return how both have a layer, or the one that stands in its place."""
        layer = self.from_layers.get(layer, layer)
        return self.first.form.at(layer), self.second.form.at(layer)

    # ---- number by number

    def _as_they_are(self, place: int | None) -> Scene:
        """Return a layer, or the ends, of both with no symmetry at all."""
        pair = (pieces_of(each, place, Walker.COMPARISON, coded=True) for each in (self.first, self.second))
        first, second = (dict(each.present()) for each in pair)
        return Scene(
            self.first.form, first, second, frozenset(first), self.units, stored_types(self.first, self.second, place)
        )

    def by_number(self, place: int | None, known: frozenset[str]) -> Explanation | None:
        """Return what explains a layer, or the ends, with no symmetry at all."""
        scene = self._as_they_are(place)
        first, second = scene.first, scene.second
        if any(name in first and np.shape(first[name]) != np.shape(array) for name, array in second.items()):
            return None
        new = {name for name, array in second.items() if name not in first and np.any(array)}
        scene = replace(scene, off=self._left(scene, frozenset(first)) | new)
        if (found := explain(scene, self._left, known)) is None:
            return None
        behind = found.scene.first
        equal = all(are_equal(array, second[name]) for name, array in behind.items() if name in second)
        return Explanation.of(place, equal, found)

    def _left(self, scene: Scene, pieces: frozenset[str]) -> frozenset[str]:
        self.spend(sum(PIECE + ENTRY * scene.first[name].size for name in pieces))
        return off_by_number(scene, pieces)

    # ---- the ends, under a symmetry

    def of_ends(self, searched: Searched, stream: Stream, found: EndsFound) -> Iterator[tuple[Stream, Explanation]]:
        """Yield what may have been done to the stream, with what explains the ends then."""
        wrong = frozenset(name for name, worst in found.tensors.items() if not worst.units <= self.units)
        if not wrong:
            yield stream, Explanation((), found.equal)
            return
        scene = ends_behind(
            self.first, self.second, stream, found, wrong, self.units, stored_types(self.first, self.second, None)
        )
        if scene is not None:
            more = ends_not_moved(searched, self._still, wrong, self.units)
            if (by := explain(scene, self._left, more=more)) is not None:
                yield stream, Explanation.of(None, False, by)
        yield from self._other_ends(wrong)

    def _other_ends(self, wrong: frozenset[str]) -> Iterator[tuple[Stream, Explanation]]:
        """Yield the stream searched anew behind each change of the ends."""
        last: list[tuple[Stream, EndsFound]] = []

        def left(scene: Scene, pieces: frozenset[str]) -> frozenset[str]:
            self.spend(2 * FIT + FLOP * self.second.form.vocabulary * self.second.form.width**2)
            one, other = (
                Edited.with_ends(checkpoint, Ends(**{**dict.fromkeys(ENDS), **side}))  # type: ignore[arg-type]
                for checkpoint, side in ((self.first, scene.first), (self.second, scene.second))
            )
            stream, _, found = Searched(one, other, self.units, unheard).best_stream()
            last[:] = [(stream, found)]
            return frozenset(name for name, worst in found.tensors.items() if not worst.units <= self.units)

        first, second = (
            dict(ends_of(each, Walker.COMPARISON, coded=True).present()) for each in (self.first, self.second)
        )
        scene = Scene(self.first.form, first, second, wrong, self.units, stored_types(self.first, self.second, None))
        for by in explain_by_fits(scene, left, self.trials):
            if not by.scene.off:
                yield last[0][0], Explanation.of(None, last[0][1].equal, by)

    # ---- a layer, under a symmetry

    def layer(self, layer: int, stream: Stream, known: frozenset[str]) -> Explanation | None:
        """Return what explains a layer, beside a symmetry; what needs no mistakes that are not known comes first."""
        first, second = (block_of(each, layer, Walker.COMPARISON, coded=True) for each in (self.first, self.second))
        blocks = first, second
        found, unequal = self._fit(blocks, stream, layer)
        if not found.off() and not unequal:
            return Explanation((), found.exact and found.equal)
        alike = Likeness(self._forms(layer), stream.map)
        if len({name for name, piece in LAYER.items() if piece.columns} & found.tensors.keys() - found.off()) < 2:
            other, theirs = self._likest(layer, blocks, alike)
            if other != layer:
                blocks, known = (theirs, blocks[1]), known | {"layers-exchanged"}
                self.from_layers[layer] = other
                found, unequal = self._fit(blocks, stream, layer)
                change = Change("layers-exchanged", tuple(found.tensors), None, None, {"from": {str(layer): other}})
                whole = Explanation(((layer, change),), found.exact and found.equal)
                if not found.off() and not unequal:
                    return whole
                own = self._searched(layer, blocks, stream, found, unequal, known, alike)
                return None if own is None else whole + own
        return self._searched(layer, blocks, stream, found, unequal, known, alike)

    def _likest(self, layer: int, blocks: tuple[Block, Block], alike: Likeness) -> tuple[int, Block]:
        """Return the layer of the first of which most maps are like those of the second's, its own before others."""
        best, most = (layer, blocks[0]), -1.0
        for other in sorted(range(self.second.form.layers), key=lambda other: abs(other - layer)):  # the nearest first
            theirs = block_of(self.first, other, Walker.COMPARISON, coded=True)
            self.spend(FIT / 4 + ENTRY * self.second.form.numbers_of_a_layer)
            shares = alike.of(dict(theirs.present()), dict(blocks[1].present()))
            if (found := max(sum(each.values()) for each in shares)) > most:
                best, most = (other, theirs), found
        return best

    def _searched(
        self, layer: int, blocks: tuple[Block, Block], stream: Stream, found: LayerFound, unequal: bool,
        known: frozenset[str], alike: Likeness,
    ) -> Explanation | None:  # fmt: skip
        """Return mistakes that explain a layer, known ones first, those behind the symmetry before others."""
        if not unequal and known and (by := self._behind(layer, found, known, 0)) is not None:
            return by
        if known and (by := self._refitted(layer, blocks, stream, found, known, alike, only=known)) is not None:
            return by
        if not unequal and (by := self._behind(layer, found, known, 1)) is not None:
            return by
        if not stream.map.is_identity and (by := self._not_turned(layer, blocks)) is not None:
            return by
        if (by := self._refitted(layer, blocks, stream, found, known, alike)) is not None:
            return by
        return None if unequal else self._behind(layer, found, known, MOST)

    def _not_turned(self, layer: int, blocks: tuple[Block, Block]) -> Explanation | None:
        """Return a layer that is right if the stream is as it is."""
        found, unequal = self._fit(blocks, self._still, layer)
        if found.off() or unequal:
            return None
        pieces = tuple(name for name in found.tensors if LAYER[name].place("stream") is not None)
        return Explanation(((layer, Change("layer-not-turned", pieces, None, None, {})),), found.exact and found.equal)

    def _behind(
        self, layer: int, found: LayerFound, known: frozenset[str], most: int, before: Composition | None = None
    ) -> Explanation | None:
        """Return mistakes that were made after the symmetry, and explain what it leaves; `None` if none do.

        It is exact where all of them is that pieces are the first's, and the symmetry makes all others exactly.
        """
        self.spend(FIT)
        done = () if before is None else before.changes
        still = self._as_they_are(layer)

        def original(name: str) -> bool:
            there = name in still.first and name in still.second
            return there and are_equal(still.first[name], still.second[name])

        more = tuple(each for each in not_moved(found, self._still, original) if not at_odds((*done, each)))
        known = known if before is None else known | before.mistakes
        best: tuple[int, Composition] | None = None
        for number, scene in enumerate(layers_behind(found, self._still)):
            made = explain(scene, self._left, known, more=() if number else more, most=most)
            # an update of a piece that is the first's would take back what a symmetry did to it that is none
            if made is not None and not any(
                each.mistake == "lora-unmerged" and still.explains(name, still.first[name])
                for each in made.changes
                for name in each.pieces
            ):
                best, most = (number, made), len(made.mistakes - known) - 1  # another must have fewer
            if best is not None and most < 1:
                break
        if best is None:
            return None
        number, by = best
        changed = {name for change in by.changes for name in change.pieces}
        rest = all(not worst.differing for name, worst in found.tensors.items() if name not in changed)
        exact = before is None and number == 0 and found.exact and rest and all(map(original, changed))
        return Explanation.of(layer, exact, *([by] if before is None else [before, by]))

    def _refitted(
        self, layer: int, blocks: tuple[Block, Block], stream: Stream, found: LayerFound, known: frozenset[str],
        alike: Likeness, only: frozenset[str] | None = None,
    ) -> Explanation | None:  # fmt: skip
        """Return mistakes that explain a layer, behind each of which a symmetry is fitted; `None` if none do."""
        off = found.off() | ({"down"} if len(found.pair.second.up) != len(blocks[1].up) else frozenset())
        first, second = (dict(block.present()) for block in blocks)
        scene = Scene(
            self._forms(layer)[0], first, second, off, self.units, stored_types(self.first, self.second, layer)
        )

        def behind(scene: Scene) -> tuple[Block, Block]:
            sides = zip(blocks, (scene.first, scene.second), strict=True)
            one, other = (replace(block, **side) for block, side in sides)
            return one, other

        def left(scene: Scene, pieces: frozenset[str]) -> frozenset[str]:
            self.spend(self._cost / 2)
            return layer_off(behind(scene), self._forms(layer), stream, scene.stored, self.units)

        def hopeful(before: Scene, after: Scene) -> bool:
            self.spend(PIECE + ENTRY * self.second.form.numbers_of_a_layer / len(MAPS))
            return alike.hopeful((before.first, before.second), (after.first, after.second))

        for by in explain_by_fits(scene, left, self.trials, known, only, hopeful):
            then, unequal = self._fit(behind(by.scene), stream, layer)
            if not then.off() and not unequal:
                return Explanation.of(layer, then.exact and then.equal, by)
            if not unequal and (made := self._behind(layer, then, known, MOST - 1, by)) is not None:
                return made
        return None

    @property
    def _cost(self) -> float:
        """Seconds of a fit, roughly."""
        form = self.second.form
        return FIT + FLOP * form.numbers_of_a_layer * (form.width + form.inner)

    def _fit(self, blocks: tuple[Block, Block], stream: Stream, layer: int) -> tuple[LayerFound, bool]:
        """Return a layer compared, and whether more neurons do something in one of both."""
        self.spend(self._cost)
        found, _, counts = layer_found(
            blocks, self._forms(layer), stream, stored_types(self.first, self.second, layer), self.units
        )
        return found, counts[0] != counts[1]
