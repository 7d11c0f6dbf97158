r"""The layers of a plain network as a chain of matrices: what their ranks say of the differential and of fibers.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, cast

from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.prime_field import PrimeFieldMatrix, modulo_a_prime
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.fields import Field, M, Q, prime_field


def exact_chain(weights: Weights) -> Chain[RationalMatrix]:
    """Return the chain of layers over the rationals.

    Raises:
        BadInput: weights of another network than a lightning network with one head and nothing added; or letters.
    """
    return Chain(weights.rational_layers, Q)


def chain_mod_p(weights: Weights) -> Chain[PrimeFieldMatrix] | None:
    """Return the chain modulo the first prime that divides no denominator; `None` if there is none.

    Raises:
        BadInput: as for `exact_chain`.
    """
    weights.require_plain("a chain of layers")
    if (found := modulo_a_prime(weights.all_held)) is None:
        return None
    matrices = list(found[1].values())
    return Chain([Layer(*matrices[i : i + 3]) for i in range(0, len(matrices), 3)], prime_field(found[0]))


@dataclass
class Chain(Generic[M]):
    """Layers over a field."""

    layers: Sequence[Layer[M]]
    field: Field[M, Any]

    def __post_init__(self) -> None:
        """Compute the products and their ranks.

        A product has no larger rank than its factors, which have shorter numbers.
        """
        self.ranks: list[int] = [self.layers[0].query.shape[1]]
        self.products: list[M] = []  # P_1, ..., P_l
        self.read: list[tuple[M, M]] = []  # Q_i P_{i-1} and K_i P_{i-1}
        self.read_ranks: list[list[int]] = []
        for query, key, value in self.layers:
            before = self.products[-1] if self.products else None
            pair = (query, key) if before is None else (query @ before, key @ before)
            own = [self._rank(own) for own in (query, key)]
            self.read.append(pair)
            self.read_ranks.append([self.field.rank(m, min(r, self.ranks[-1])) for m, r in zip(pair, own, strict=True)])
            self.products.append(value if before is None else value @ before)
            self.ranks.append(self.field.rank(self.products[-1], min(self._rank(value), self.ranks[-1])))
        self.attention = [key.mT @ query for query, key in self.read]

    @cached_property
    def attention_ranks(self) -> list[int]:
        """Of the forms."""
        return [self.field.rank(a, min(ranks)) for a, ranks in zip(self.attention, self.read_ranks, strict=True)]

    def _rank(self, matrix: M) -> int:
        return self.field.rank(matrix, min(matrix.shape))

    def rank(self) -> int | None:
        """Return the rank of the differential, over the rationals; `None` where what is known does not decide it."""
        forms, value = self.attention_ranks, self.ranks[-1]
        if 0 in forms[:-1] or not (forms[-1] or value):
            return 0  # the function has order two or more there
        if not value:
            return None if self._is_skew() else self._virtual_rank(value=True, layers=())
        if 1 in forms[:-1]:
            return None
        depth = len(self.layers)
        if not forms[-1]:
            return self._virtual_rank(value=False, layers=(depth,))
        if self._is_skew():
            return None
        kernel = self._square_kernel() if self._is_square() else 1
        return self._virtual_rank(value=True, layers=range(1, depth + 1)) - (depth - 1) - kernel

    def rank_at_least(self) -> int | None:
        """Return the same where all hypotheses hold; over GF(p) a lower bound, as they hold over the rationals too."""
        forms, depth = self.attention_ranks, len(self.layers)
        fails = not self.ranks[-1] or not forms[-1] or any(form < 2 for form in forms[:-1])
        if fails or self._is_skew() or self._is_square():
            return None
        return self._virtual_rank(value=True, layers=range(1, depth + 1)) - depth

    def _is_skew(self) -> bool:
        """Return whether a form is skew-symmetric, of several."""
        return len(self.layers) > 1 and any(not self._rank(a + a.mT) for a in self.attention)

    def _is_square(self) -> bool:
        r"""Return whether $\tilde A_l = h g^\top$ and $\tilde V = v h^\top$, neither of them zero."""
        if self.attention_ranks[-1] > 1 or self.ranks[-1] > 1:
            return False
        return self.field.rank(self.field.stacked((self.attention[-1].mT, self.products[-1])), 2) == 1

    def _virtual_rank(self, *, value: bool, layers: Sequence[int]) -> int:
        """Return the rank of the differential of some virtual weights, the forms of these layers and the value."""
        p, depth = self.ranks, len(self.layers)
        total = 0
        for i in layers:
            query, key = self.read_ranks[i - 1]
            total += p[i - 1] * (query + key) - query * key
        for j in range(1, depth):
            if p[j - 1] > p[j] and (rows := list(self._rows_behind(j, value=value, layers=layers))):
                total += (p[j - 1] - p[j]) * self.field.rank(self.field.stacked(rows), self.layers[j].query.shape[1])
        return total + (p[depth - 1] * int(self.layers[-1].value.shape[0]) if value else 0)

    def _rows_behind(self, j: int, *, value: bool, layers: Sequence[int]) -> Iterator[M]:
        """Yield what is read of space `j` by the layers behind, and at the end."""
        through = None
        for i, layer in enumerate(self.layers[j:], start=j + 1):
            if i in layers:
                query, key = (m if through is None else m @ through for m in (layer.query, layer.key))
                seen_by_query, seen_by_key = self.read[i - 1]
                yield seen_by_key.mT @ query
                yield seen_by_query.mT @ key
            through = layer.value if through is None else layer.value @ through
        if value:
            yield cast(M, through)  # a layer stands behind

    def stratum_dimension(self) -> int:
        """Return the dimension of the weights with the same virtual weights and ranks of products.

        Ranks of keys may be larger.
        """
        p, depth, total = self.ranks, len(self.layers), 0
        for i, (query, _, value) in enumerate(self.layers, start=1):
            (a, d), d_out, before = query.shape, value.shape[0], p[i - 1]
            of_query, of_key = self.read_ranks[i - 1]
            form = self.attention_ranks[i - 1]
            keys = range(of_key, min(a + form - of_query, before) + 1)
            total += 2 * a * (d - before) + (d - before) * d_out
            total += max((k - form) * (before - k) + a * k + (a - k) * before for k in keys)
            if i < depth:
                total += p[i] * d_out
            if i < depth and before > p[i]:
                total += (p[i] - self._determined(i)) * (before - p[i])
        return total

    def ranks_are_fixed(self) -> bool:
        """Return whether weights near these with the same virtual weights up to scale have the same ranks of products.

        They are not smaller, they fall, and Sylvester's inequality bounds them by what the layers behind lead on.
        """
        widths, depth = [layer.query.shape[1] for layer in self.layers], len(self.layers)
        high = [min(widths[: m + 1]) for m in range(depth)]
        if high == self.ranks[:-1]:
            return True
        for m in range(1, depth):
            through = None
            for n, layer in enumerate(self.layers[m:], start=m + 1):
                pair = [x if through is None else x @ through for x in (layer.query, layer.key)]
                inner, form = layer.query.shape[0], self.attention_ranks[n - 1]
                # the ranks of Q and of K on what is written are together at most a and that of their form
                high[m] = min(high[m], widths[m] + (inner + form - sum(map(self._rank, pair))) // 2)
                through = layer.value if through is None else layer.value @ through
            high[m] = min(high[m], widths[m] - self._rank(cast(M, through)) + self.ranks[-1])
        return all(most <= known for most, known in zip(high, self.ranks, strict=False))

    def _determined(self, j: int) -> int:
        """Return the dimension of the rows of the value and of the rows and columns of all forms behind space `j`."""
        rows = [self.products[-1], *(m for a in self.attention[j:] for m in (a, a.mT))]
        return self.field.rank(self.field.stacked(rows), self.ranks[j])

    def _square_kernel(self) -> int:
        r"""Return the dimension of all $(w g^\top, -v w^\top)$ in the image, which a square last layer does not see."""
        attention, value = self.attention[-1], self.products[-1]
        depth, p, total = len(self.layers), self.ranks, self.ranks[-2]
        column = next(j for j, row in enumerate(value.mT.fractions()) if any(row))
        for j in range(1, depth):
            if p[j - 1] > p[j]:
                seen = self.field.stacked(list(self._rows_behind(j, value=True, layers=range(1, depth + 1)))).mT
                # w = 1 on a vector that ends in space j
                g, v = attention.rows([column]), value.mT.rows([column])
                zeros = RationalMatrix.zero(1, seen.shape[1] - g.shape[1] - v.shape[1])
                wanted = zeros.mT.above(g.mT, -v.mT).mT
                most = self.layers[j].query.shape[1]
                free = seen.above(wanted).rank() == seen.rank(most)
                total += p[j - 1] - p[j] if free else 0
        return total
