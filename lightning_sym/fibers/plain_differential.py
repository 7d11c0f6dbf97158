r"""The rank of the differential of $W \mapsto \phi_W$ at given weights of a plain network, from a few ranks of matrices.

docs/fibers-near-weights.md, Proposition 5. Let $P_i = V_i \cdots V_1$, $R_{ij} = V_i \cdots V_{j+1}$, $p_i =
\operatorname{rk} P_i$, and $q_i$, $k_i$ the ranks of $Q_i P_{i-1}$, $K_i P_{i-1}$. The differential of the virtual
weights has the rank

$$ \sum_{i=1}^l \bigl(p_{i-1} (q_i + k_i) - q_i k_i\bigr) + \sum_{j=1}^{l-1} (p_{j-1} - p_j)\, r_j + p_{l-1} d_l, $$

$r_j$ the rank of what the layers behind read of the space $j$: of all $P_{i-1}^\top A_i R_{i-1,j}$, $P_{i-1}^\top
A_i^\top R_{i-1,j}$, $i > j$, and $R_{lj}$, on top of each other. For two tokens or more, $\tilde V \ne 0$ and
$\operatorname{rk} \tilde A_i \ge 2$ for $i < l$, no $\tilde A_i$ skew, the function of the virtual weights has a kernel
that is known: rescalings, and one of dimension $d_0$ if $\tilde A_l = h g^\top$, $\tilde V = v h^\top$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.fibers.cost import entry_bits, fraction_bits, virtual_weights_cost
from lightning_sym.limits import Work
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.rings.rationals import RationalMatrix

USES = 4
"""What the ranks cost, by the cost of the virtual weights and the number of layers; measured, and rough."""


def differential_rank(weights: Weights, tokens: int, generic: int, budget: Work | None = None) -> int | None:
    r"""The rank of the differential of $\phi$ in all $(Q_i, K_i, V_i)$ at `weights`, exact.

    Modulo a prime all ranks together are a lower bound. Where it is `generic` it is the rank; else the ranks are found
    over the rationals.

    Args:
        weights: exact weights of a lightning network with one head and nothing added.
        tokens: $t$.
        generic: the dimension of the neuromanifold, or an upper bound.
        budget: of exact work, the default if left out.

    Returns:
        `None` where Proposition 5 does not apply.

    Raises:
        BadInput: another network, or letters.
        TooLarge: the estimate exceeds the budget.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> differential_rank(w, 2, generic=4), differential_rank(w, 1, generic=4)
        (4, None)
    """
    weights.require_plain("the rank of the differential")
    if tokens < 2:
        return None
    shape, budget = weights.architecture(tokens), Work() if budget is None else budget
    cost = virtual_weights_cost(weights, entry_bits(weights), {})
    budget.spend(0.01 * cost, "the differential modulo a prime")
    if (residues := _residues(weights)) is not None and _Chain(residues, *_MODULAR).rank() == generic:
        return generic
    exact = virtual_weights_cost(weights, entry_bits(weights), fraction_bits(weights))
    budget.spend(USES * shape.depth * exact, "the exact rank of the differential")
    return _Chain([Layer(*map(RationalMatrix.of, layer)) for layer in weights.layers], *_EXACT).rank()


def _residues(weights: Weights) -> list[Layer] | None:
    """The layers modulo the first prime that divides no denominator."""
    held = list(weights.all_held.values())
    for p in PRIMES:
        field = PrimeFieldMatrix.of(np.array([[1]]), p)
        try:
            matrices = [field.like(matrix) for matrix in held]
        except ValueError:
            continue
        return [Layer(*matrices[i : i + 3]) for i in range(0, len(matrices), 3)]
    return None


def _modular_rank(matrix: PrimeFieldMatrix, most: int) -> int:
    return min(rank_mod_p(matrix.entries, matrix.prime), most)


def _modular_stack(matrices: Sequence[PrimeFieldMatrix]) -> PrimeFieldMatrix:
    return PrimeFieldMatrix(np.concatenate([matrix.entries for matrix in matrices]), matrices[0].prime)


def _stack(matrices: Sequence[RationalMatrix]) -> RationalMatrix:
    first, *others = matrices
    return first.above(*others)


_MODULAR = (_modular_rank, _modular_stack)
_EXACT = (RationalMatrix.rank, _stack)


@dataclass
class _Chain:
    """Layers over a field, and how matrices over it are ranked and stacked."""

    layers: Sequence[Layer]
    rank_of: Callable[[Any, int], int]
    stacked: Callable[[Sequence[Any]], Any]

    def __post_init__(self) -> None:
        """Products and their ranks; a product has no larger rank than its factors, which have shorter numbers."""
        width = self.layers[0].query.shape[1]
        self.products: list[Any] = []  # P_1, ..., P_l
        self.ranks, self.read, self.read_ranks = [width], [], []
        for query, key, value in self.layers:
            before = self.products[-1] if self.products else None
            pair = (query, key) if before is None else (query @ before, key @ before)
            own = [self._rank(own) for own in (query, key)]
            self.read.append(pair)
            self.read_ranks.append([self.rank_of(m, min(r, self.ranks[-1])) for m, r in zip(pair, own, strict=True)])
            self.products.append(value if before is None else value @ before)
            self.ranks.append(self.rank_of(self.products[-1], min(self._rank(value), self.ranks[-1])))
        self.attention = [key.mT @ query for query, key in self.read]

    def _rank(self, matrix: Any) -> int:
        return self.rank_of(matrix, min(matrix.shape))

    def rank(self) -> int | None:
        """The rank of the differential; `None` where what is known does not decide it."""
        depth = len(self.layers)
        at_most_two = [self.rank_of(a, 2) for a in self.attention]
        if 0 in at_most_two[:-1] or (not at_most_two[-1] and not self.ranks[-1]):
            return 0  # the function has order two or more there
        skew = any(not self._rank(a + a.mT) for a in self.attention[: depth if depth > 1 else 0])
        if not self.ranks[-1]:
            return None if skew else self._virtual_rank(value=True, layers=())
        if depth > 1 and (skew and at_most_two[-1] or 1 in at_most_two[:-1]):
            return None
        if not at_most_two[-1]:
            return self._virtual_rank(value=False, layers=(depth,))
        if (kernel := self._last_kernel()) is None:
            return None
        return self._virtual_rank(value=True, layers=range(1, depth + 1)) - (depth - 1) - kernel

    def _virtual_rank(self, *, value: bool, layers: Sequence[int]) -> int:
        """The rank of the differential of some of the virtual weights, the forms of these layers and the value."""
        p, depth = self.ranks, len(self.layers)
        total = sum(p[i - 1] * sum(self.read_ranks[i - 1]) - self._product_of_ranks(i) for i in layers)
        for j in range(1, depth):
            if p[j - 1] > p[j] and (rows := list(self._rows_behind(j, value=value, layers=layers))):
                total += (p[j - 1] - p[j]) * self.rank_of(self.stacked(rows), self.layers[j].query.shape[1])
        return total + value * p[depth - 1] * self.layers[-1].value.shape[0]

    def _product_of_ranks(self, i: int) -> int:
        query, key = self.read_ranks[i - 1]
        return query * key

    def _rows_behind(self, j: int, *, value: bool, layers: Sequence[int]) -> Iterator[Any]:
        """What is read of space `j` by the layers behind, and at the end."""
        through = None
        for i, layer in enumerate(self.layers[j:], start=j + 1):
            if i in layers:
                query, key = (m if through is None else m @ through for m in (layer.query, layer.key))
                seen_by_query, seen_by_key = self.read[i - 1]
                yield seen_by_key.mT @ query
                yield seen_by_query.mT @ key
            through = layer.value if through is None else layer.value @ through
        if value:
            yield through

    def _last_kernel(self) -> int | None:
        r"""How much of the image the last layer does not see: a rescaling, most often.

        If $\tilde A_l = h g^\top$ and $\tilde V = v h^\top$: all $(w g^\top, -v w^\top)$ in the image.
        """
        attention, value = self.attention[-1], self.products[-1]
        both = (attention.mT, value)  # rows are the columns of the one and the rows of the other
        if any(self.rank_of(m, 2) > 1 for m in both) or self.rank_of(self.stacked(both), 2) > 1:
            return 1
        if not isinstance(value, RationalMatrix):
            return None  # over the rationals it may be 1
        depth, p = len(self.layers), self.ranks
        column = next(j for j, row in enumerate(value.mT.fractions()) if any(row))
        total = p[depth - 1]
        for j in range(1, depth):
            if p[j - 1] > p[j]:
                seen = self.stacked(list(self._rows_behind(j, value=True, layers=range(1, depth + 1)))).mT
                # w = 1 on a vector that ends in space j
                g, v = attention.rows([column]), value.mT.rows([column])
                zeros = RationalMatrix.zero(1, seen.shape[1] - g.shape[1] - v.shape[1])
                wanted = zeros.mT.above(g.mT, -v.mT).mT
                most = self.layers[j].query.shape[1]
                total += (p[j - 1] - p[j]) * (seen.above(wanted).rank() == seen.rank(most))
        return total
