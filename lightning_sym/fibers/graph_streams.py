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

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from lightning_sym.exact.linear_maps import LinearMap, guessed_map
from lightning_sym.exact.subspaces import Subspace
from lightning_sym.fibers.common_streams import FIXED, CommonLayer, CommonStreams
from lightning_sym.fibers.limb_heads import DyadicBound, LimbHead, read_heads, size_of
from lightning_sym.limits import Progress
from lightning_sym.network.weights import Weights
from lightning_sym.rings.dyadic import Plain, is_plain
from lightning_sym.rings.limbs import Floats, Limbs
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.prime_field import MORE_PRIMES, matmul_mod, reduce_mod
from lightning_sym.rings.rationals import RationalMatrix

BLOCK = 2048
"""Columns of an embedding, and rows of an unembedding, that are compared at one time."""

Classes = list[list[int]]
"""The heads of a layer with equal forms, those of the first network before those of the second, by their places."""


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
        self._changes: dict[int, Floats] = {}
        self._longest = 0

    @staticmethod
    def possible(first: Weights, second: Weights, tokens: int) -> bool:
        """Whether this is about such networks at all.

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

    def _noted(self, limbs: Limbs) -> Limbs:
        self._longest = max(self._longest, limbs.bound.bit_length())
        return limbs

    @property
    def longest(self) -> int:
        """Bits of the longest integer that a weight is times a power of two, of those that `classes` has seen."""
        return self._longest

    def _outer(self, name: str, start: int) -> tuple[Plain, Plain]:
        """Columns of the embeddings, or rows of the unembeddings, of both."""
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

    def _modulo(self, p: int) -> Floats:
        """`T` modulo a prime."""
        if p not in self._changes:
            numerators, denominator = self._known
            inverse = pow(denominator, -1, p)
            residues = (numerators % p).astype(np.int64) * inverse % p
            self._changes[p] = reduce_mod(residues.astype(np.float64), p)
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

        def drawn(size: int) -> Floats:
            return source.integers(-(p // 2), p // 2 + 1, (size, 1)).astype(np.float64)

        stream = drawn(self._shapes[0].widths[0])
        there = matmul_mod(t, stream, p)
        for name, start in self._outer_sizes:
            one, other = (self._noted(Limbs.of(block)).residues(p) for block in self._outer(name, start))
            if name == "E":
                x = drawn(one.shape[1])
                sides = matmul_mod(t, matmul_mod(one, x, p), p), matmul_mod(other, x, p)
            else:
                sides = matmul_mod(one, stream, p), matmul_mod(other, there, p)
            if reduce_mod(sides[0] - sides[1], p).any():
                return None
        found = []
        for layer in range(1, self._shapes[0].depth + 1):
            if (classes := self._sampled(layer, stream, there, p)) is None:
                return None
            found.append(classes)
        return found

    def _sampled(self, layer: int, stream: Floats, there: Floats, p: int) -> Classes | None:
        t, classes = self._modulo(p), dict[bytes, list[int]]()
        written: list[Floats] = []
        two_tokens = self._tokens == 2 and self._shapes[0].normalization == SOFTMAX
        for side, weights in enumerate(self._both):
            at = there if side else stream
            for head in read_heads(weights, layer):
                query, key, value = (self._noted(m).residues(p) for m in (head.query, head.key, head.value))
                scores = matmul_mod(key.T, matmul_mod(query, at, p), p)
                turned = matmul_mod(query.T, matmul_mod(key, at, p), p) if two_tokens else scores
                carried = matmul_mod(value, at, p)
                if head.output is not None:
                    carried = matmul_mod(self._noted(head.output).residues(p), carried, p)
                if side:
                    scores, turned, carried = (matmul_mod(t.T, scores, p), matmul_mod(t.T, turned, p), -carried)
                else:
                    carried = matmul_mod(t, carried, p)
                skew = not self._shapes[0].causal and not reduce_mod(scores + turned, p).any()
                classes.setdefault(_residues(scores, p), []).append(len(written))
                if two_tokens and (skew or _residues(-scores, p) in classes):
                    return None
                written.append(carried)
        for members in classes.values():
            if reduce_mod(np.sum([written[h] for h in members], axis=0), p).any():
                return None
        return list(classes.values())

    # all of it

    def _enough(self, *terms: DyadicBound) -> list[int] | None:
        """Primes whose product exceeds a sum of such matrices, times the common denominator; `None`: there are not."""
        least = min(term.power for term in terms)
        bound, product, primes = sum(term.bound << (term.power - least) for term in terms), 1, []
        for p in self._primes:
            if product > bound:
                break
            product *= p
            primes.append(p)
        return primes if product > bound else None

    def proved(self, progress: Progress | None = None) -> CommonStreams | None:
        """The streams, if all equations hold; `None` where one does not, or where there are too few primes."""
        if self.classes is None:
            return None
        depth = len(self.classes)
        for layer, classes in enumerate(self.classes, start=1):
            if progress is not None:
                progress("common streams, layers", layer - 1, depth)
            heads = [read_heads(weights, layer) for weights in self._both]
            if not (self._same_forms(heads, classes) and self._same_values(heads, classes)):
                return None
        if progress is not None:
            progress("common streams, embeddings", 0, 1)
        return self._streams() if all(self._same_block(*block) for block in self._outer_sizes) else None

    def _columns(self) -> int:
        """At most what the absolute values of the numerators of a column of `T` add up to."""
        return int(np.abs(self._known.numerators).sum(axis=0).max())

    def _rows(self) -> int:
        return int(np.abs(self._known.numerators).sum(axis=1).max())

    def _same_block(self, name: str, start: int) -> bool:
        """`T E = E'` in some columns, or `U = U' T` in some rows."""
        one, other = map(Limbs.of, self._outer(name, start))
        sizes = size_of(one), size_of(other)
        q = self._known.denominator
        left, right = (self._rows(), q) if name == "E" else (q, self._columns())
        primes = self._enough(sizes[0].scaled(left), sizes[1].scaled(right))
        for p in primes or []:
            x, y, t = one.residues(p), other.residues(p), self._modulo(p)
            difference = matmul_mod(t, x, p) - y if name == "E" else x - matmul_mod(y, t, p)
            if reduce_mod(difference, p).any():
                return False
        return primes is not None

    def _same_forms(self, heads: Sequence[list[LimbHead]], classes: Classes) -> bool:
        """Heads of one class have equal forms."""
        cut, square = len(heads[0]), (self._known.denominator**2, self._columns() ** 2)
        every = [*heads[0], *heads[1]]
        sizes = [head.form.scaled(square[h >= cut]) for h, head in enumerate(every)]
        pairs = [(members[0], h) for members in classes for h in members[1:]]
        needed = [self._enough(sizes[one], sizes[h]) for one, h in pairs]
        for p in max((primes or [] for primes in needed), key=len, default=[]):
            t = self._modulo(p)
            queries, keys = (
                [m if h < cut else matmul_mod(m, t, p) for h, m in enumerate(m.residues(p) for m in matrices)]
                for matrices in ([head.query for head in every], [head.key for head in every])
            )
            for (one, h), primes in zip(pairs, needed, strict=True):
                left, right = np.vstack([keys[one], -keys[h]]), np.vstack([queries[one], queries[h]])
                if p in (primes or []) and matmul_mod(left.T, right, p).any():
                    return False
        return None not in needed

    def _same_values(self, heads: Sequence[list[LimbHead]], classes: Classes) -> bool:
        """What each class writes is taken by `T` to what it writes."""
        cut, sums = len(heads[0]), (self._rows(), self._columns())
        every = [*heads[0], *heads[1]]
        sizes = [head.carried.scaled(sums[h >= cut]) for h, head in enumerate(every)]
        needed = [self._enough(*(sizes[h] for h in members)) for members in classes]
        for p in max((primes or [] for primes in needed), key=len, default=[]):
            t = self._modulo(p)
            for members, primes in zip(classes, needed, strict=True):
                if p not in (primes or []):
                    continue
                left, right = [], []
                for h in members:
                    value, output = every[h].value.residues(p), every[h].output
                    projection = np.eye(len(value)) if output is None else output.residues(p)
                    left.append(matmul_mod(t, projection, p) if h < cut else -projection)
                    right.append(value if h < cut else matmul_mod(value, t, p))
                if matmul_mod(np.hstack(left), np.vstack(right), p).any():
                    return False
        return None not in needed

    def _streams(self) -> CommonStreams:
        """As `common_streams` finds them, but blind letters are not looked for: the graph is kept with them."""
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
        return CommonStreams(True, tuple(layers), space, shape.widths)


def _residues(column: Floats, p: int) -> bytes:
    return np.mod(column, p).astype(np.int64).tobytes()
