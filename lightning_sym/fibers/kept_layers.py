r"""Weights that may move at one point of weight space alone: linear spaces of changes that keep every layer's function.

Let $F_i$ be the space that is written and $R_i$ the forms that are read, at the given weights $W$ and exactly over the
rationals (`system.reach`, docs/transformers.md, section 3). A *frame* is for each $i$ a space $B_i$ with forms
$\Phi_i$ that cut out $Z_i = \{f \in B_i : \Phi_i f = 0\}$: either $B_i = F_i$ and $\Phi_i = R_i + F_i^\perp$, or $B_i =
F_i + R_i^\perp$ and $\Phi_i = R_i$. What layer `i` does to inputs with columns in $B_{i-1}$, modulo $Z_i$, is all that
the network needs of it (docs/fibers-near-weights.md, Proposition 2). A lightning layer does so by the forms $\sum_h
(\Phi V_h x)(x^\top A_h y)$, which are linear in the matrices of one letter; with normalized scores it is enough that no
score moves, or that the values of all heads with the same scores keep their sum. So for each letter there is a linear
space of changes, of any size; spaces of several layers add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, permutations, product
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.rational import independent_columns
from lightning_sym.fibers.cost import entry_bits
from lightning_sym.fibers.frames import WHAT, Frame, frames, kernel, numbers
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.stream_pieces import pieces_at_streams
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.system.circuits import HeadOver, layer_heads
from lightning_sym.system.fields import M
from lightning_sym.system.reach import pattern_is_constant

MOST_COEFFICIENTS = 4_000_000
"""Of the equations of a layer; beyond so many its changes are left out."""

_SCORES, _VALUES = ("query", "key"), ("inner_value", "output")
"""The factors of the two products of a head."""


class Unknown(NamedTuple):
    """A factor of a head that is to move.

    Attributes:
        head: the head, from 0.
        factor: which of its factors.
        shape: rows and columns.
    """

    head: int
    factor: str
    shape: tuple[int, int]

    @property
    def entries(self) -> int:
        """How many it has."""
        return prod(self.shape)


Directions = npt.NDArray[np.int64]
"""A change of all weights a row, modulo a prime that divides no denominator: their rank is at most that over Q."""


def kept_layers(weights: Weights, tokens: int, p: int, budget: Work) -> Iterator[Iterator[Iterator[Directions]]]:
    """Yield for each frame a list of places, layers and ends, and for each place its spaces of changes.

    One space may be taken of each place, and all that are taken added: the function is the same after the change.

    Args:
        weights: exact weights.
        tokens: $t$.
        p: a prime that divides no denominator.
        budget: of exact work; spaces that it does not allow are left out.

    Raises:
        BadInput: the network has an option for which this is not proved.

    Example:
        >>> from lightning_sym.network.form import NetworkForm
        >>> idle = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[0, 0], [0, 0]]}, NetworkForm(skip=True))
        >>> (frame,) = kept_layers(idle, 2, 4194301, Work())
        >>> [[len(directions) for directions in place] for place in frame]      # all Q and K, or V and nothing else
        [[4, 4, 4, 4, 4]]
    """
    shape = weights.architecture(tokens)
    shape.require("what layers keep", SHAPED)
    for frame in frames(weights, shape, budget):
        yield _places(weights, shape, frame, p, budget)


def _places(
    weights: Weights, shape: Architecture, frame: Frame, p: int, budget: Work
) -> Iterator[Iterator[Directions]]:
    lengths, shapes = entry_bits(weights), dict(shape.weight_shapes())
    for i in range(1, shape.depth + 1):
        price = Price("rationals")
        space, forms = (Sizes(m.shape, price, bits=m.bits) for m in (frame.spaces[i - 1], frame.forms[i]))
        heads = layer_heads(shape, i, lambda name: Sizes(shapes[name], price, bits=lengths[name]))  # noqa: B023
        for matrix in chain.from_iterable(_seen_of_heads(heads, space, forms)):
            matrix.read()
        if budget.begins(price.seconds, WHAT):
            yield _LayerOnFrame(weights, shape, frame, i, p).families(budget)
    for end in _changes_of_ends(shape, frame, p):
        yield iter([end])


def _seen_of_heads(heads: Iterable[HeadOver[M]], space: M, forms: M) -> list[list[M]]:
    """Return `Q B`, `V B`, `K B` and `Phi O` of each head of a layer, over the rationals or over sizes."""
    seen = [
        [*(m @ space for m in factors), forms if output is None else forms @ output]
        for *factors, output in (head.factors for head in heads)
    ]
    return list(map(list, zip(*seen, strict=True)))


def _eye(n: int) -> ObjectArray:
    return np.eye(n, dtype=int).astype(object)


def _placed(shape: Architecture, blocks: dict[str, ObjectArray], p: int) -> Directions:
    """Return changes of some matrices, `count x rows x columns` by name, as changes of all weights."""
    count, start = len(next(iter(blocks.values()))), 0
    found, field = np.zeros((count, shape.parameter_count), dtype=np.int64), PrimeFieldMatrix.of(_eye(1), p)
    for name, (rows, columns) in shape.weight_shapes():
        if name in blocks and count:
            flat = blocks[name].reshape(count, rows * columns)
            found[:, start : start + rows * columns] = field.like(flat).residues()
        start += rows * columns
    return found


def _units(n: int) -> ObjectArray:
    """Return all `n x n` matrices with a single entry 1."""
    return _products(_eye(n), _eye(n))


def _products(left: ObjectArray, right: ObjectArray) -> ObjectArray:
    """Return all products of a row of `left`, as a column, and a row of `right`."""
    found = np.multiply.outer(left, right).swapaxes(1, 2)
    return found.reshape(len(left) * len(right), left.shape[1], right.shape[1])


def _changes_of_ends(shape: Architecture, frame: Frame, p: int) -> Iterator[Directions]:
    """Yield the changes of embeddings into $Z_0$, and of unembeddings that vanish on $B_l$."""
    before, *_, behind = pieces_at_streams(shape)
    for piece in before.writers:
        if len(free := kernel(frame.forms[0])):
            yield _placed(shape, {piece.name: _products(free, _eye(piece.shape[1]))}, p)
    for piece in behind.readers:
        if len(free := kernel(frame.spaces[-1].mT)):
            yield _placed(shape, {piece.name: _products(_eye(piece.shape[0]), free)}, p)


def _together(matrices: list[RationalMatrix]) -> list[RationalMatrix]:
    """Return matrices of one shape times a common denominator of all of them."""
    first, *others = matrices
    return first.above(*others).over_the_integers().apart([matrix.shape[0] for matrix in matrices])


class _LayerOnFrame:
    """A layer on a frame: of each head `K B`, `Q B`, `V B` and `Phi O`.

    Integers; a common denominator of all heads is left out, which changes no equation.
    """

    def __init__(self, weights: Weights, shape: Architecture, frame: Frame, i: int, p: int) -> None:
        space, forms = frame.spaces[i - 1], frame.forms[i]
        self.shape, self.space, self.forms, self.prime = shape, numbers(space), numbers(forms), p
        self.sizes, self.named = dict(shape.weight_shapes()), weights.all_held
        self.names = list(layer_heads(shape, i, str))
        held = layer_heads(shape, i, lambda name: RationalMatrix.of(self.named[name]))
        seen = _seen_of_heads(held, space, forms)
        factors = [_together(matrices) for matrices in seen]
        self.bits = max(matrix.bits for matrices in (*factors[:3], seen[3], [space]) for matrix in matrices)
        self.heads = [HeadOver(*map(numbers, each)) for each in zip(*factors, strict=True)]
        self.constant = pattern_is_constant(shape)
        self.idle = [not head.value.any() for head in self.heads]
        self.blind = [shape.normalization is None and not head.attention.any() for head in self.heads]
        self.values = _VALUES[: 1 + (shape.value_ranks is not None)]

    def families(self, budget: Work) -> Iterator[Directions]:
        """Yield for each factor what moves where all heads move it, or all but some.

        Heads that are left out have a side that is zero, so that their other side does not count.
        """
        for moved in (*_SCORES, *self.values):
            yield from self._family(moved, dict[int, str](), budget)
            chosen: list[dict[int, str]] = []
            for score, value in product(_SCORES, self.values):
                idle = {h: value for h in range(len(self.heads)) if self.idle[h]}
                blind = {h: score for h in range(len(self.heads)) if self.blind[h]}
                apart = idle | blind if moved in _SCORES else blind | idle
                if apart and apart not in chosen:
                    chosen.append(apart)
            for apart in chosen:
                yield from self._family(moved, apart, budget)

    def _family(self, moved: str, apart: dict[int, str], budget: Work) -> Iterator[Directions]:
        """Yield changes: heads `apart` move one side as they like, and of the other their factor while it stays 0."""
        free, unknown = list[str](), list[Unknown]()
        for h, names in enumerate(self.names):
            own = apart.get(h, moved)
            scores, values = ([getattr(names, factor) for factor in side] for side in (_SCORES, self.values))
            if h in apart:
                free += values if own in _SCORES else scores
            elif self.constant and own in _VALUES:
                free += scores
            if own in _SCORES and (self.constant or (self.idle[h] and h not in apart)):
                free += scores
            elif own in _VALUES and self.blind[h] and h not in apart:
                free += values
            else:
                unknown.append(Unknown(h, own, self.sizes[getattr(names, own)]))
        sizes = [*(self.sizes[name] for name in free), *(each.shape for each in unknown)]
        price = Price("rationals")
        for rows, columns in sizes:
            Sizes((rows, 0), price).spanned(Sizes((rows, columns), price, bits=self.bits))
            Sizes((rows * columns, rows * columns), price).read()  # a change for each entry
        if not budget.begins(price.seconds, WHAT):
            return
        found = [_placed(self.shape, {name: _products(*map(_eye, self.sizes[name]))}, self.prime) for name in free]
        if unknown:
            if (kernel := self._kernel(unknown, set(apart), budget)) is None:
                return
            parts = np.split(kernel, np.cumsum([each.entries for each in unknown])[:-1], axis=1)
            blocks = {
                getattr(self.names[each.head], each.factor): part.reshape(len(kernel), *each.shape)
                for each, part in zip(unknown, parts, strict=True)
            }
            found += [_placed(self.shape, blocks, self.prime), *self._as_one(moved, apart, budget)]
        if sum(map(len, found)):
            yield np.concatenate(found)

    def _as_one(self, moved: str, apart: dict[int, str], budget: Work) -> Iterator[Directions]:
        """Yield changes of heads with equal scores as one with wider values; likewise of heads that write the same."""
        of_scores = moved in _SCORES
        if of_scores and (self.shape.normalization is not None or self.constant):
            return
        if not of_scores and self.shape.value_ranks is None:
            return
        groups = dict[tuple[int, ...], list[tuple[str, str]]]()
        for h, (head, names) in enumerate(zip(self.heads, self.names, strict=True)):
            if h not in apart:
                same = head.value if of_scores else head.attention
                key = () if self.constant and not of_scores else tuple(same.ravel())
                factors = (names.key, names.query) if of_scores else (names.output, names.inner_value)
                groups.setdefault(key, []).append(factors)
        pairs = [pair for names in groups.values() for pair in permutations(names, 2)]
        price = Price("rationals")
        for (left, right), (_, taking) in pairs:
            for name in (taking, left):
                Sizes((len(self.named[right]) ** 2, prod(self.sizes[name])), price).read()
        if not pairs or not budget.begins(price.seconds, WHAT):
            return
        for (left, right), (giving, taking) in pairs:
            # the right factor of one head gets a part of that of the other, whose left factor gives it back
            units, other = _units(len(self.named[right])), self.named[left]
            given = np.array([-u.T @ other if of_scores else -other @ u for u in units], dtype=object)
            taken = np.array([u @ self.named[taking] for u in units], dtype=object)
            yield _placed(self.shape, {right: taken, giving: given}, self.prime)

    def _kernel(self, unknown: list[Unknown], apart: set[int], budget: Work) -> ObjectArray | None:
        """Return the changes of these matrices, one behind the other, that keep what the layer does on the frame."""
        lightning = self.shape.normalization is None
        starts = np.cumsum([0, *(each.entries for each in unknown)]).tolist()
        size, groups = starts[-1], dict[tuple[int | str, ...], list[int]]()
        for place, (h, factor, _) in enumerate(unknown):
            alone = h in apart or (not lightning and factor in _SCORES)
            together = lightning or self.constant
            key = ("head", h) if alone else () if together else tuple(self.heads[h].attention.ravel())
            groups.setdefault(key, []).append(place)
        found = list[ObjectArray]()
        for places in groups.values():
            if len(places) == 1:  # of lightning heads a product is zero only if a factor is, and the other one is not
                kernels = self._kernel_of_one(unknown[places[0]])
            elif (several := self._kernel_of_sum([unknown[place] for place in places], budget)) is not None:
                kernels = several
            else:
                return None
            moved = np.zeros((len(kernels), size), dtype=object)
            start = 0
            for place in places:
                more = starts[place + 1] - starts[place]
                moved[:, starts[place] : starts[place + 1]] = kernels[:, start : start + more]
                start += more
            found.append(moved)
        return np.concatenate(found)

    def _kernel_of_one(self, unknown: Unknown) -> ObjectArray:
        """Return all `M` with `left M right = 0`: columns in the kernel of `left`, or rows that vanish on `right`."""
        left, right = self._beside(unknown)
        columns, rows = kernel(RationalMatrix.of(left)), kernel(RationalMatrix.of(right.T))
        width, length = unknown.shape
        # units that span a complement of the kernel of `left`
        others = _eye(width)[list(independent_columns(RationalMatrix.of(left)))]
        if len(columns) + len(others) < width:  # an unlucky prime
            others = _eye(width)
        whole = np.concatenate([_products(columns, _eye(length)), _products(others, rows)])
        return whole.reshape(len(whole), width * length)

    def _beside(self, unknown: Unknown) -> tuple[ObjectArray, ObjectArray]:
        """Return what stands to the left and to the right of a factor in its product; of keys the product is turned."""
        head = self.heads[unknown.head]
        if unknown.factor == "output":
            return self.forms, head.inner_value
        left = {"query": head.key.T, "key": head.query.T, "inner_value": head.output}[unknown.factor]
        return left, self.space

    def _kernel_of_sum(self, unknown: list[Unknown], budget: Work) -> ObjectArray | None:
        """Return the changes of several heads that keep a sum."""
        f, forms = self.space.shape[1], len(self.forms)
        size = sum(each.entries for each in unknown)
        equations = forms * f**3 if self.shape.normalization is None else f * max(f, forms)
        price = Price("rationals")
        Sizes((equations, size), price, bits=2 * self.bits).read()
        Sizes((equations, size), price).rank()  # most often of full rank, which residues show; what is left is short
        if size * equations > MOST_COEFFICIENTS or not budget.begins(price.seconds, WHAT):
            return None
        moved = np.concatenate(list(map(self._effects, unknown)))
        return kernel(RationalMatrix.of(moved.T))

    def _effects(self, unknown: Unknown) -> ObjectArray:
        """Return what each entry changes: what is written, for lightning heads in the products with the scores."""
        head, (left, right) = self.heads[unknown.head], self._beside(unknown)
        moved = _products(left.T, right)
        if unknown.factor == "key":
            moved = moved.swapaxes(1, 2)
        if self.shape.normalization is None:
            # (x_p of what is written) (x_q of the key) (y_s of the query), the same x
            written, form = (head.value[None], moved) if unknown.factor in _SCORES else (moved, head.attention[None])
            tensor = written[:, :, :, None, None] * form[:, None, None, :, :]
            first, second = np.triu_indices(self.space.shape[1])
            moved = (tensor + tensor.swapaxes(2, 3))[:, :, first, second]
        return moved.reshape(len(moved), int(np.prod(moved.shape[1:])))
