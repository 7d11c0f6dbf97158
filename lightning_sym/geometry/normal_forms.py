"""Pairs of an attention and a value matrix up to changes of bases: one for each orbit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.network.weights import Weights

Integers = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class NormalForm:
    """A pair of matrices of zeros and ones, and what of it no change of bases can alter.

    Attributes:
        attention_rank: rank of `attention`.
        value_rank: rank of `value`.
        common: dimension of the intersection of the column space of `attention` and the row space of `value`.
        attention: `d x d`, diagonal.
        value: `d' x d`.
    """

    attention_rank: int
    value_rank: int
    common: int
    attention: Integers
    value: Integers

    @property
    def is_square(self) -> bool:
        r"""Whether $A = h q^\top$, $V = v h^\top$, neither of them zero."""
        return (self.attention_rank, self.value_rank, self.common) == (1, 1, 1)

    def weights(self, a: int) -> Weights:
        """Weights with this attention matrix and `a` rows in `Q` and `K`."""
        rows = np.zeros((a, len(self.attention)), dtype=object)
        rows[: len(self.attention)] = self.attention[:a]
        return Weights.of({"Q1": rows, "K1": rows, "V1": self.value})


def triples(d: int, d_out: int, alpha: int) -> Iterator[tuple[int, int, int]]:
    r"""`rk A`, `rk V` and the dimension of the intersection, for every orbit with $\operatorname{rk} A \le \alpha$.

    Example:
        >>> list(triples(2, 1, 1))
        [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)]
    """
    for r in range(min(alpha, d) + 1):
        for s in range(min(d, d_out) + 1):
            for common in range(max(0, r + s - d), min(r, s) + 1):
                yield r, s, common


def normal_form(d: int, d_out: int, r: int, s: int, common: int) -> NormalForm:
    """The pair of matrices of zeros and ones with these ranks and this intersection.

    Example:
        >>> normal_form(3, 2, 1, 2, 1).value.tolist()
        [[1, 0, 0], [0, 1, 0]]
    """
    attention, value = np.zeros((d, d), dtype=object), np.zeros((d_out, d), dtype=object)
    attention[range(r), range(r)] = 1
    value[range(common), range(common)] = 1
    value[range(common, s), range(r, r + s - common)] = 1
    return NormalForm(r, s, common, attention, value)


def normal_forms(d: int, d_out: int, alpha: int) -> Iterator[NormalForm]:
    r"""One pair $(A, V)$ with $\operatorname{rk} A \le \alpha$ from each orbit of $(g A h, k V g^\top)$.

    For invertible $g, h, k$ this changes $(a_k v_m)$ by an invertible linear map, so ranks, fibers and singularities
    are the same along an orbit. $h$ and $k$ leave of $A$ and $V$ only the column space and the row space, and $g$
    leaves of two subspaces only their dimensions and that of their intersection (`docs/one-layer.md`, Proposition 1).

    Example:
        >>> [(form.attention_rank, form.value_rank, form.common) for form in normal_forms(2, 1, 1)]
        [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)]
    """
    for r, s, common in triples(d, d_out, alpha):
        yield normal_form(d, d_out, r, s, common)
