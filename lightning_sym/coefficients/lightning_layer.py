r"""One lightning layer with one head: its learning coefficient at every weights, from a few exact ranks.

Two tokens or more: $V x \cdot x^\top A y$, $A = K^\top Q$ (docs/learning-coefficients.md, Theorem 6). One token: $V x
\cdot x^\top S x$, $2S = A + A^\top$ (Theorem 8). With an output projection $V$ is the product $O V$.

That is a Gram matrix $M^\top J M$ with an indefinite form $J$. What one token sees of queries and keys: $2S = K^\top Q
+ Q^\top K = M^\top J M$, where $M$ has the rows of $Q$ above those of $K$ and $J$ has signature $(a, a)$
(docs/learning-coefficients.md, Proposition 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from lightning_sym.coefficients.reduced_rank import FactorRanks, LocalPair, R
from lightning_sym.exact.rational import Inertia, inertia, null_columns
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, HeadOver


@dataclass(frozen=True)
class GramRanks:
    r"""Queries and keys, each `inner x width`, as one token sees them.

    Attributes:
        inner: $a$.
        width: $d$.
        stacked: $\rho$, the rank of $Q$ above $K$.
        squares: positive and negative ones of $x^\top (A + A^\top) x$.

    Example:
        >>> GramRanks(1, 2, 0, Inertia(0, 0)).pair
        LocalPair(value=Fraction(1, 1), multiplicity=2)
    """

    inner: int
    width: int
    stacked: int
    squares: Inertia

    @classmethod
    def of(cls, query: RationalMatrix, key: RationalMatrix) -> GramRanks:
        """Return the ranks and squares of given queries and keys."""
        form = key.mT @ query
        return cls(*query.shape, query.above(key).rank(), inertia(form + form.mT))

    @property
    def pair(self) -> LocalPair:
        r"""$\rho d - \rho(\rho - 1)/2$ coordinates, and what is left: $N^\top J' N$ at $N = 0$."""
        seen = self.stacked * self.width - self.stacked * (self.stacked - 1) // 2
        positive, negative = (self.inner - self.stacked + other for other in reversed(self.squares))
        return LocalPair.coordinates(seen) + isotropic_pair(positive, negative, self.width - self.stacked)


def isotropic_pair(positive: int, negative: int, columns: int) -> LocalPair:
    r"""Return the pair of $N^\top J N$ at $N = 0$, $J$ of signature $(p, q)$, $N$ with $n$ columns.

    With $c = p + q$, $k = \min(p, q, n)$ it is $2\lambda = c(n - k)/2 + k(k + 1)/2$, and $m = 2$ if $1 \le p = q \le
    n$, else 1.

    Example:
        >>> isotropic_pair(1, 1, 1), isotropic_pair(2, 0, 1)
        (LocalPair(value=Fraction(1, 2), multiplicity=2), LocalPair(value=Fraction(1, 2), multiplicity=1))
    """
    k = min(positive, negative, columns)
    twice = Fraction((positive + negative) * (columns - k) + k * (k + 1), 2)
    return LocalPair(twice / 2, 2 if 1 <= positive == negative <= columns else 1)


PAGE = "docs/learning-coefficients.md"


@dataclass(frozen=True)
class Proved:
    """A pair with what proves it.

    Attributes:
        pair: of the ideal.
        proof: page and number.
        ranks: the numbers that the proof used, by name.
    """

    pair: LocalPair
    proof: str
    ranks: dict[str, int]


@dataclass(frozen=True)
class Values:
    """The value circuit of a head: its rank, its pair, and whether its entries are coordinates.

    Attributes:
        rank: of the product.
        pair: of the entries of the product, less what they are.
        are_coordinates: whether these are coordinates.
        ranks: of the factors, by name.
    """

    rank: int
    pair: LocalPair
    are_coordinates: bool
    ranks: dict[str, int]

    @classmethod
    def of(cls, head: HeadOver[R]) -> Values:
        """Return the value circuit of a head, with an output projection or without."""
        rows, columns = head.inner_value.shape
        if head.output is None:
            rank = head.inner_value.rank()
            return cls(rank, LocalPair.coordinates(rows * columns), True, {"rk V": rank})
        factors = FactorRanks.of(head.output, head.inner_value)
        named = {"rk O": factors.left, "rk V": factors.right, "rk O V": factors.product}
        return cls(factors.product, factors.pair, factors.is_submersion, named)


SQUARE = "the scores are a multiple of the square of a form that the values are multiples of, a < d and rk (Q; K) > 1"
PROJECTED = "the values, which have an output projection, and the scores are multiples of one linear form"


def two_tokens(head: HeadOver[R]) -> Proved | str:
    """Return what is proved of a lightning layer with two tokens or more, or why nothing is.

    Some of the tokens attend to others.

    Example:
        >>> from lightning_sym import Weights
        >>> from lightning_sym.system.circuits import NetworkCircuits
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[1, 0], [2, 0]]})
        >>> two_tokens(NetworkCircuits.of(w).layers[0][0]).pair
        LocalPair(value=Fraction(11, 4), multiplicity=1)
    """
    values, scores = Values.of(head), FactorRanks.of(head.key.mT, head.query)
    width = head.query.shape[1]
    ranks = {"rk Q": scores.right, "rk K": scores.left, "rk K^T Q": scores.product, **values.ranks}
    if not (values.rank and scores.product):
        return _zero_function(values, scores.pair, scores.product, f"{PAGE}, Theorem 6, case 3", ranks)
    if values.rank == scores.product == 1:
        ranks["rk (V; Q^T K)"] = head.value.above(head.attention.mT).rank()
        if ranks["rk (V; Q^T K)"] == 1 and width > 1:
            if not values.are_coordinates:
                return PROJECTED
            pair = _parallel(head, Fraction(width - 1, 4)) + scores.pair
            return Proved(pair, f"{PAGE}, Theorem 6, case 2", ranks)
    return Proved((values.pair + scores.pair).without(1), f"{PAGE}, Theorem 6, case 1", ranks)


def one_token(head: HeadCircuits) -> Proved | str:
    """Return what is proved of a lightning layer with one token, or why nothing is.

    Example:
        >>> from lightning_sym import Weights
        >>> from lightning_sym.system.circuits import NetworkCircuits
        >>> w = Weights.of({"Q1": [[1, 0]], "K1": [[1, 0]], "V1": [[1, 0]]})
        >>> one_token(NetworkCircuits.of(w).layers[0][0]).pair
        LocalPair(value=Fraction(3, 2), multiplicity=1)
    """
    values, gram = Values.of(head), GramRanks.of(head.query, head.key)
    width, squares = gram.width, sum(gram.squares)
    ranks = {
        "rk (Q; K)": gram.stacked,
        "positive squares": gram.squares.positive,
        "negative squares": gram.squares.negative,
        **values.ranks,
    }
    if not (values.rank and squares):
        return _zero_function(values, gram.pair, squares, f"{PAGE}, Theorem 8, case 2", ranks)
    if width == 1 or values.rank > 1 or not _divides(head):
        return Proved((values.pair + gram.pair).without(1), f"{PAGE}, Theorem 8, case 1", ranks)
    if not values.are_coordinates:
        return PROJECTED
    if squares == 2:
        pair = _parallel(head, Fraction(width - 1, 4)) + gram.pair
        return Proved(pair, f"{PAGE}, Theorem 8, case 3", ranks)
    if gram.stacked == 1 or gram.inner >= width:
        return Proved(square(head), f"{PAGE}, Theorem 8, case 4", ranks)
    return SQUARE


def square(head: HeadCircuits) -> LocalPair:
    """Return the pair where values and scores are powers of one form, queries and keys of rank one; none is less."""
    inner, width = head.query.shape
    k = min(inner, width)
    rest = Fraction(k * (k - 1), 4) + Fraction(k - 1, 6) + Fraction(k * (width - k), 2)
    return _parallel(head, rest) + LocalPair.coordinates(width)


def _zero_function(values: Values, scores: LocalPair, rank: int, proof: str, ranks: dict[str, int]) -> Proved:
    """Return the coefficient where values or scores are zero: the loss is as large as the product of both squared."""
    if values.rank:
        return Proved(scores, proof, ranks)
    return Proved(values.pair if rank else values.pair * scores, proof, ranks)


def _parallel(head: HeadOver[R], common: Fraction) -> LocalPair:
    """Return the pair where all rows of the values but one are coordinates, and that one leaves this coefficient."""
    rows, width = head.value.shape
    return LocalPair.coordinates((rows - 1) * width) + LocalPair(common)


def _divides(head: HeadCircuits) -> bool:
    """Return whether the row of values of rank one divides the form of the scores: it vanishes where the row does."""
    kernel: RationalMatrix = null_columns(head.value)
    form = head.attention + head.attention.mT
    return not kernel.mT @ (form @ kernel)
