r"""Heads of a layer that attend alike: what the function sees of them.

Softmax heads with equal $A_h = K_h^\top Q_h$ show their $A_h$ and the sum of their $O_h V_h$; a head that attends like
no other one, and whose values are zero, does not show $A_h$ (docs/learning-coefficients.md, Theorem 5). With one token
no head shows $A_h$.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Generic

from lightning_sym.coefficients.reduced_rank import NOTHING, FactorRanks, LocalPair
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, HeadOver, added
from lightning_sym.system.fields import M


@dataclass(frozen=True, eq=False)
class HeadGroup(Generic[M]):
    """Heads of one layer, and what of them is seen.

    Attributes:
        names: as they stand behind letters, such as `1.2`.
        heads: their circuits.
        scores_seen: whether $A_h$ of all of them is.
        values_seen: whether the sum of their values is.
        rank: of a matrix.
    """

    names: tuple[str, ...]
    heads: tuple[HeadOver[M], ...]
    scores_seen: bool = True
    values_seen: bool = True
    rank: Callable[[Any], int] = RationalMatrix.rank

    @property
    def numbers_seen(self) -> int:
        """How many entries of circuits are seen."""
        rows, width = self.heads[0].value.shape
        seen: int = len(self.heads) * width**2 * self.scores_seen + rows * width * self.values_seen
        return seen

    def seen(self) -> tuple[LocalPair, dict[str, int]]:
        """Return the pair of the ideal of what is seen, less what it is, and the ranks that it was found by."""
        pair, ranks = NOTHING, dict[str, int]()
        for name, factors in zip(self.names, self.score_factors, strict=True) if self.scores_seen else ():
            pair += factors.pair
            ranks |= {f"rk Q{name}": factors.right, f"rk K{name}": factors.left, f"rk K^T Q{name}": factors.product}
        if self.values_seen:
            more, named = self._values()
            pair, ranks = pair + more, ranks | named
        return pair, ranks

    @cached_property
    def value(self) -> M:
        """The sum of the values."""
        return added([head.value for head in self.heads])

    @cached_property
    def factors(self) -> tuple[M, M] | None:
        """The sum of the values as one product, with all factors beside each other; without projections it is none."""
        first, *others = self.heads
        if first.output is None or not others:
            return None if first.output is None else (first.output, first.inner_value)
        output = first.output.mT.above(*(head.output.mT for head in others)).mT
        return output, first.inner_value.above(*(head.inner_value for head in others))

    @cached_property
    def _value_factors(self) -> FactorRanks | None:
        """The ranks of that product."""
        return None if self.factors is None else FactorRanks.of(*self.factors, self.rank)

    @property
    def is_generic(self) -> bool:
        """Whether something is written, and factors and products of the head have the largest ranks that they can."""
        values = self._value_factors
        known = [*self.score_factors, *([] if values is None else [values])]
        return bool(self.value) and all(each.product == min(each.rows, each.inner, each.columns) for each in known)

    @cached_property
    def score_factors(self) -> list[FactorRanks]:
        """The ranks of keys, queries and their product, by head."""
        return [FactorRanks.of(head.key.mT, head.query, self.rank) for head in self.heads]

    def _values(self) -> tuple[LocalPair, dict[str, int]]:
        """Return the pair of the sum of the values."""
        factors, name = self._value_factors, "+".join(self.names)
        if factors is None:
            return LocalPair.coordinates(prod(self.heads[0].value.shape)), {}
        named = {f"rk O{name}": factors.left, f"rk V{name}": factors.right, f"rk O V{name}": factors.product}
        return factors.pair, named

    @property
    def differential(self) -> int:
        """The rank of the differential of the scores of all heads and of the sum of their values by the weights."""
        factors = self._value_factors
        values: int = prod(self.value.shape) if factors is None else factors.differential
        return values + sum(scores.differential for scores in self.score_factors)

    @property
    def rank_at_least(self) -> int:
        """The same, without the scores of heads that attend alike; and 0 where nothing is written."""
        alike = len(self.heads) > 1
        return (self.differential - alike * sum(s.differential for s in self.score_factors)) * bool(self.value)


def softmax_groups(
    names: Sequence[str], heads: Sequence[HeadCircuits], *, one_token: bool = False
) -> list[HeadGroup[RationalMatrix]]:
    """Return heads with equal attention matrices together, over the rationals.

    Args:
        names: of the heads of a layer.
        heads: their circuits.
        one_token: all heads attend alike then, and show no scores.
    """
    if one_token:
        return [HeadGroup(tuple(names), tuple(heads), scores_seen=False)]
    column = RationalMatrix.of([[j + 1] for j in range(heads[0].query.shape[1])])
    alike: dict[object, list[list[int]]] = {}
    for place, head in enumerate(heads):
        near = alike.setdefault(head.attended(column).sort_key(), [])  # forms that agree there are compared
        same = next((own for own in near if heads[own[0]].attention == head.attention), None)
        if same is None:
            near.append([place])
        else:
            same.append(place)
    groups = []
    for places in sorted(own for near in alike.values() for own in near):
        chosen = tuple(heads[place] for place in places)
        seen = len(chosen) > 1 or bool(chosen[0].value)
        groups.append(HeadGroup(tuple(names[place] for place in places), chosen, scores_seen=seen))
    return groups


def lightning_groups(names: Sequence[str], heads: Sequence[HeadCircuits]) -> list[HeadGroup[RationalMatrix]] | None:
    """Return each head by itself, as lightning attention shows it; `None` where both values and scores are zero."""
    groups = []
    for name, head in zip(names, heads, strict=True):
        scores, values = bool(head.attention), bool(head.value)
        if not (scores or values):
            return None
        groups.append(HeadGroup((name,), (head,), scores_seen=values, values_seen=scores))
    return groups
