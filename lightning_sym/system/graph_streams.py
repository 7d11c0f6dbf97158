r"""When the streams of two large networks move together because one is a matrix times the other.

The case of Theorem 1 of docs/transformer-fibers.md that most equal networks are of: skip connections, an embedding $E$
of full row rank, and $E' = T E$. If the graph of $T$ is kept by all classes, it is the space $L_i = D_i$ of each layer:

$$ T \sum_\kappa V_h = \sum_\kappa V'_h T , \qquad U = U' T , $$

where heads are in one class if their forms $A_h$, $T^\top A'_h T$ are equal. All of these are equations between integer
matrices, times a common denominator. They hold if they hold modulo primes whose product is larger than the difference
of both sides can be; and products modulo primes are products of machine numbers. The equations at one random vector
modulo one prime come first: what differs there differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial, reduce
from operator import add

import numpy as np

from lightning_sym.exact.reconstruction import LinearMap, guessed_map
from lightning_sym.exact.subspaces import Subspace
from lightning_sym.limits import Progress, unheard
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import Plain, is_plain
from lightning_sym.rings.limbs import Limbs
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.prime_field import MORE_PRIMES, PrimeFieldMatrix, random_residues, reduce_mod
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadOver, added, layer_heads
from lightning_sym.system.common_streams import FIXED, CommonLayer, CommonStreams

BLOCK = 2048
"""Columns of an embedding, and rows of an unembedding, that are compared at one time."""

Classes = list[list[int]]
"""The heads of a layer with equal forms, those of the first network before those of the second, by their places."""


@dataclass(frozen=True)
class DyadicBound:
    """The size of a matrix of rational numbers, and of products of such: integers below `bound` times `2**power`.

    Example:
        >>> half = DyadicBound.of(Limbs.of(np.array([[0.5, -3.0]])))
        >>> half @ half.mT
        DyadicBound(power=-2, bound=98, shape=(1, 1))
    """

    power: int
    bound: int
    shape: tuple[int, ...]

    @classmethod
    def of(cls, limbs: Limbs) -> DyadicBound:
        """Return the size of a matrix of machine numbers."""
        return cls(limbs.power, limbs.bound, limbs.pieces[0][0].shape)

    def __matmul__(self, other: DyadicBound) -> DyadicBound:
        inner, shape = other.shape[0], (self.shape[0], other.shape[1])
        return DyadicBound(self.power + other.power, inner * self.bound * other.bound, shape)

    @property
    def mT(self) -> DyadicBound:  # noqa: N802
        """The transpose."""
        return replace(self, shape=self.shape[::-1])

    def scaled(self, factor: int) -> DyadicBound:
        """Return the bound times an integer, or times a matrix whose rows, or columns, add up to it."""
        return replace(self, bound=self.bound * factor)


class GraphStreams:
    """Two networks, and the matrix that should take the stream of the first to that of the second.

    Args:
        first: weights held as machine numbers, with skip connections and a normalization.
        second: of the same form and depth.
        tokens: two or more.

    Raises:
        BadInput: there are letters.

    Example:
        >>> from lightning_sym.network.form import NetworkForm
        >>> from lightning_sym.rings import arrays
        >>> import unittest.mock
        >>> form = NetworkForm(SOFTMAX, skip=True)
        >>> one = {"E": [[1, 2]], "Q1": [[1]], "K1": [[3]], "V1": [[5]]}
        >>> two = {"E": [[2, 4]], "Q1": [[0.5]], "K1": [[1.5]], "V1": [[5]], "U": [[0.5]]}
        >>> with unittest.mock.patch.object(arrays, "MOST_ENTRIES", 1):
        ...     nets = [Weights.of({name: np.array(m) for name, m in w.items()}, form) for w in (one, two)]
        >>> found = GraphStreams(*nets, tokens=3)
        >>> found.classes, found.proved().same
        ([[[0, 1]]], True)
    """

    def __init__(self, first: Weights, second: Weights, tokens: int) -> None:
        for weights in (first, second):
            weights.require_numbers("streams in a graph")
        self._both = first, second
        self._tokens = tokens
        self._shapes = first.architecture(tokens), second.architecture(tokens)
        self._changes: dict[int, PrimeFieldMatrix] = {}
        self._longest = 0

    @staticmethod
    def possible(first: Weights, second: Weights, tokens: int) -> bool:
        """Return whether this is about such networks at all.

        Raises:
            BadInput: there are letters.
        """
        for weights in (first, second):
            weights.require_numbers("streams in a graph")
        shapes = first.architecture(tokens), second.architecture(tokens)
        return (
            all(is_plain(matrix) for w in (first, second) for matrix in w.all_held.values())
            and all(shape.skip and shape.normalization is not None for shape in shapes)
            and shapes[0].depth == shapes[1].depth
            and tokens > 1
        )

    def _residues(self, limbs: Limbs, p: int) -> PrimeFieldMatrix:
        self._longest = max(self._longest, limbs.bound.bit_length())
        return PrimeFieldMatrix(limbs.residues(p), p)

    def _heads(self, layer: int) -> list[list[HeadOver[Limbs]]]:
        """Return the heads of a layer, from 1, of both networks."""
        both = zip(self._shapes, self._both, strict=True)
        return [list(layer_heads(shape, layer, lambda name: Limbs.of(w.held(name)))) for shape, w in both]  # noqa: B023

    @property
    def longest(self) -> int:
        """Bits of the longest integer that a weight is times a power of two, of those that `classes` has seen."""
        return self._longest

    def _outer(self, name: str, start: int) -> tuple[Plain, Plain]:
        """Return columns of the embeddings, or rows of the unembeddings, of both."""
        stop = start + BLOCK
        one, other = (w.all_held.get(name, np.eye(s.widths[0])) for w, s in zip(self._both, self._shapes, strict=True))
        return (one[:, start:stop], other[:, start:stop]) if name == "E" else (one[start:stop], other[start:stop])

    @property
    def _outer_sizes(self) -> Iterator[tuple[str, int]]:
        for name, size in (("E", self._shapes[0].input_width), ("U", self._shapes[0].output_width)):
            for start in range(0, size, BLOCK):
                yield name, start

    @cached_property
    def change(self) -> LinearMap | None:
        """The matrix `T`, a guess that the embeddings will be compared with."""
        width, other = (shape.widths[0] for shape in self._shapes)
        if not any("E" in w.all_held for w in self._both):
            return LinearMap(np.eye(width, dtype=np.int64).astype(object), 1) if width == other else None
        one, more = (w.all_held.get("E", np.eye(s.widths[0])) for w, s in zip(self._both, self._shapes, strict=True))
        return guessed_map(one, more)

    def _modulo(self, p: int) -> PrimeFieldMatrix:
        """Return `T` modulo a prime."""
        if p not in self._changes:
            numerators, denominator = self._known
            residues = (numerators % p).astype(np.int64) * pow(denominator, -1, p) % p
            self._changes[p] = PrimeFieldMatrix(reduce_mod(residues.astype(np.float64), p), p)
        return self._changes[p]

    @property
    def _known(self) -> LinearMap:
        if self.change is None:
            raise ValueError("there is no matrix between the streams")
        return self.change

    @cached_property
    def _primes(self) -> list[int]:
        return [p for p in MORE_PRIMES if self._known.denominator % p]

    # at a random vector

    @cached_property
    def classes(self) -> list[Classes] | None:
        """Layer by layer the heads whose forms agree at a random vector modulo a prime.

        `None` where an equation fails; or for two tokens and softmax, where a form may be zero, skew without mask, or
        the opposite of another one, so that patterns may be related in more ways.
        """
        if self.change is None:
            return None
        p = self._primes[0]
        t = self._modulo(p)
        source = np.random.default_rng(0)
        stream = random_residues(source, (self._shapes[0].widths[0], 1), p)
        for name, start in self._outer_sizes:
            one, other = (self._residues(Limbs.of(block), p) for block in self._outer(name, start))
            if name == "E":
                x = random_residues(source, (one.shape[1], 1), p)
                sides = t @ (one @ x), other @ x
            else:
                sides = one @ stream, other @ (t @ stream)
            if not _agree(*sides):
                return None
        found = []
        for layer in range(1, self._shapes[0].depth + 1):
            if (classes := self._sampled(layer, stream, p)) is None:
                return None
            found.append(classes)
        return found

    def _sampled(self, layer: int, stream: PrimeFieldMatrix, p: int) -> Classes | None:
        t, classes = self._modulo(p), dict[bytes, list[int]]()
        written: list[PrimeFieldMatrix] = []
        two_tokens = self._tokens == 2 and self._shapes[0].normalization == SOFTMAX
        for side, (heads, at) in enumerate(zip(self._heads(layer), (stream, t @ stream), strict=True)):
            for head in (limbs.each(partial(self._residues, p=p)) for limbs in heads):
                scores, carried = head.attended(at), head.carried(at)
                turned = head.query.mT @ head.offered(at) if two_tokens else scores
                if side:
                    scores, turned, carried = t.mT @ scores, t.mT @ turned, PrimeFieldMatrix(-carried.entries, p)
                else:
                    carried = t @ carried
                opposite = PrimeFieldMatrix(-scores.entries, p)
                classes.setdefault(scores.residues().tobytes(), []).append(len(written))
                skew = not self._shapes[0].causal and _agree(turned, opposite)
                if two_tokens and (skew or opposite.residues().tobytes() in classes):
                    return None
                written.append(carried)
        for members in classes.values():
            if added([written[h] for h in members]).entries.any():
                return None
        return list(classes.values())

    # all of it

    def _enough(self, *terms: DyadicBound) -> list[int] | None:
        """Return primes whose product exceeds a sum of such matrices times the common denominator, or `None`.

        `None` means that there are not enough.
        """
        least = min(term.power for term in terms)
        bound, product, primes = sum(term.bound << (term.power - least) for term in terms), 1, []
        for p in self._primes:
            if product > bound:
                break
            product *= p
            primes.append(p)
        return primes if product > bound else None

    def proved(self, progress: Progress | None = None) -> CommonStreams | None:
        """Return the streams, if all equations hold; `None` where one does not, or where there are too few primes."""
        if self.classes is None:
            return None
        depth = len(self.classes)
        for layer, classes in enumerate(self.classes, start=1):
            (progress or unheard)("common streams, layers", layer - 1, depth)
            if not self._same_layer(layer, classes):
                return None
        (progress or unheard)("common streams, embeddings", 0, 1)
        return self._streams() if all(self._same_block(*block) for block in self._outer_sizes) else None

    def _columns(self) -> int:
        """Return at most what the absolute values of the numerators of a column of `T` add up to."""
        return int(np.abs(self._known.numerators).sum(axis=0).max())

    def _rows(self) -> int:
        return int(np.abs(self._known.numerators).sum(axis=1).max())

    def _same_block(self, name: str, start: int) -> bool:
        """Return whether `T E = E'` in some columns, or `U = U' T` in some rows."""
        one, other = map(Limbs.of, self._outer(name, start))
        sizes = DyadicBound.of(one), DyadicBound.of(other)
        q = self._known.denominator
        left, right = (self._rows(), q) if name == "E" else (q, self._columns())
        primes = self._enough(sizes[0].scaled(left), sizes[1].scaled(right))
        for p in primes or []:
            x, y, t = self._residues(one, p), self._residues(other, p), self._modulo(p)
            if not (_agree(t @ x, y) if name == "E" else _agree(x, y @ t)):
                return False
        return primes is not None

    def _same_layer(self, layer: int, classes: Classes) -> bool:
        """Return whether heads of one class have equal forms, and `T` takes what each class writes to its partner's."""
        heads = self._heads(layer)
        every, cut = [*heads[0], *heads[1]], len(heads[0])
        rows, columns, q = self._rows(), self._columns(), self._known.denominator
        sizes = [head.each(DyadicBound.of) for head in every]
        forms = [size.attention.scaled((q**2, columns**2)[h >= cut]) for h, size in enumerate(sizes)]
        values = [size.value.scaled((rows, columns)[h >= cut]) for h, size in enumerate(sizes)]
        pairs = {(members[0], h): self._enough(forms[members[0]], forms[h]) for members in classes for h in members[1:]}
        sums = [self._enough(*(values[h] for h in members)) for members in classes]
        needed = [*pairs.values(), *sums]
        if None in needed:
            return False
        for p in max((primes for primes in needed if primes), key=len, default=[]):
            t, modulo = self._modulo(p), partial(self._residues, p=p)
            reads = [head.each(modulo).score_forms for head in every]
            reads[cut:] = [(t.mT @ keys, t.mT @ queries) for keys, queries in reads[cut:]]
            for (one, h), primes in pairs.items():
                if p in (primes or []) and not _agree(*(keys @ queries.mT for keys, queries in (reads[one], reads[h]))):
                    return False
            for members, primes in zip(classes, sums, strict=True):
                moved = (_moved(every[h].each(modulo), t, first=h < cut) for h in members)
                if p in (primes or []) and reduce(add, moved).entries.any():
                    return False
        return True

    def _streams(self) -> CommonStreams:
        """Return the streams as `common_streams` finds them, but without looking for blind letters.

        The graph is kept with them.
        """
        shape, numerators = self._shapes[0], self._known.numerators
        width = shape.widths[0]
        change = RationalMatrix.of(numerators).scaled(Fraction(1, self._known.denominator))
        basis = RationalMatrix.identity(width).above(change)
        space = Subspace(basis, tuple(range(width)))
        blind = frozenset[int]() if shape.causal else frozenset({FIXED})
        layers = []
        for classes in self.classes or []:
            letters = {h: members[0] for members in classes for h in members}
            spelled = [{letters[h]: Fraction(1)} for h in range(len(letters))]
            layers.append(
                CommonLayer(space, space, (tuple(spelled[: shape.heads]), tuple(spelled[shape.heads :])), blind)
            )
        return CommonStreams(True, tuple(layers), space)


def _moved(head: HeadOver[PrimeFieldMatrix], change: PrimeFieldMatrix, *, first: bool) -> PrimeFieldMatrix:
    """Return what a head of the first network writes, taken to the second; or minus what the second writes there."""
    if first:
        return (change if head.output is None else change @ head.output) @ head.inner_value
    return PrimeFieldMatrix(-head.carried(change).entries, change.prime)


def _agree(one: PrimeFieldMatrix, other: PrimeFieldMatrix) -> bool:
    return not reduce_mod(one.entries - other.entries, one.prime).any()
