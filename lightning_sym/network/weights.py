"""Named exact matrices: the weights of a network over the rationals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.network.architecture import SHAPED, Architecture
from lightning_sym.rings.arrays import ObjectArray, exact_matrix


class Layer(NamedTuple):
    """Weights of one layer over any ring: `query`, `key` of shape `a x d`, `value` of shape `d' x d`."""

    query: Any
    key: Any
    value: Any


@dataclass(frozen=True, eq=False)
class Weights:
    """Exact weights of a network, layer by layer; `layers[i]` holds object arrays of `Fraction`.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[0.5, 0]], "V1": [[3, Fraction(1, 3)]]})
        >>> w.architecture(tokens=2)
        Architecture(widths=(2, 1), attention_ranks=(1,), tokens=2)
        >>> w["K1"].tolist()
        [[Fraction(1, 2), Fraction(0, 1)]]
    """

    layers: tuple[Layer, ...]

    @classmethod
    def of(cls, matrices: Mapping[str, npt.ArrayLike]) -> Weights:
        """Weights from matrices named `Q1, K1, V1, Q2, ...`.

        Raises:
            ShapeError: a name is missing or unknown, or shapes do not fit together.
            BadInput: an entry is not a finite number.
        """
        depth = max(1, (len(matrices) + 2) // 3)
        expected = [f"{letter}{i}" for i in range(1, depth + 1) for letter in "QKV"]
        if wrong := set(matrices).symmetric_difference(expected):
            raise ShapeError(
                "weights must be named Q1, K1, V1, Q2, ... with none left out; missing or unknown: "
                + ", ".join(sorted(map(str, wrong))[:6])
            )
        exact = [exact_matrix(matrices[name], name) for name in expected]
        layers = tuple(Layer(*exact[i : i + 3]) for i in range(0, len(exact), 3))
        for i, layer in enumerate(layers, start=1):
            if layer.query.shape != layer.key.shape:
                raise ShapeError(
                    f"Q{i} and K{i} must have the same shape, got {layer.query.shape} and {layer.key.shape}"
                )
            width = layers[i - 2].value.shape[0] if i > 1 else layer.query.shape[1]
            for letter, matrix in (("Q", layer.query), ("V", layer.value)):
                if matrix.shape[1] != width:
                    raise ShapeError(
                        f"{letter}{i} must have {width} columns, the width before layer {i}, got shape {matrix.shape}"
                    )
        return cls(layers)

    def __getitem__(self, name: str) -> ObjectArray:
        return self.named()[name]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Weights):
            return NotImplemented
        mine, theirs = self.named(), other.named()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[k], theirs[k]) for k in mine)

    def __hash__(self) -> int:
        return hash(tuple((n, m.shape, *m.ravel()) for n, m in self.named().items()))

    def named(self) -> dict[str, ObjectArray]:
        """The matrices by name, in the canonical order `Q1, K1, V1, Q2, ...`."""
        return {
            f"{letter}{i}": matrix
            for i, layer in enumerate(self.layers, start=1)
            for letter, matrix in zip("QKV", layer, strict=True)
        }

    def architecture(self, tokens: int) -> Architecture:
        """The shape of the network for inputs of `tokens` tokens."""
        return Architecture(
            widths=(self.layers[0].query.shape[1], *(layer.value.shape[0] for layer in self.layers)),
            attention_ranks=tuple(layer.query.shape[0] for layer in self.layers),
            tokens=tokens,
        )

    @classmethod
    def random(
        cls,
        architecture: Architecture,
        *,
        seed: int = 0,
        bound: int = 9,
        denominator: int = 1,
        attention_matrix_ranks: Sequence[int] | None = None,
        value_ranks: Sequence[int] | None = None,
    ) -> Weights:
        r"""Seeded random weights: integers, or rationals with denominators up to `denominator`.

        Args:
            architecture: the shape.
            seed: the same seed gives the same weights.
            bound: numerators lie between `-bound` and `bound`.
            denominator: largest denominator; 1 gives integers.
            attention_matrix_ranks: prescribed rank of $A_i = K_i^\top Q_i$ in each layer.
            value_ranks: prescribed rank of $V_i$ in each layer.

        Raises:
            ShapeError: a prescribed rank is impossible for the shape.
            BadInput: the seed or the bound is negative, or the denominator is not positive.

        Matrices of prescribed rank are products of two factors that each contain an invertible triangular block, so
        their rank is what was asked for and not only likely to be.

        Example:
            >>> w = Weights.random(Architecture((3, 3), (2,), 2), seed=1, value_ranks=[1])
            >>> w["V1"].shape
            (3, 3)
        """
        architecture.require("random weights", SHAPED)
        for what, number, least in (("seed", seed, 0), ("bound", bound, 0), ("denominator", denominator, 1)):
            if number < least:
                raise BadInput(f"the {what} must be at least {least}, got {number}")
        generator = np.random.default_rng(seed)

        def entries(rows: int, columns: int) -> ObjectArray:
            top = generator.integers(-bound, bound + 1, size=(rows, columns))
            low = generator.integers(1, denominator + 1, size=(rows, columns))
            result = np.empty((rows, columns), dtype=object)
            for index in np.ndindex(rows, columns):
                result[index] = Fraction(int(top[index]), int(low[index]))
            return result

        def full_rank(rows: int, columns: int) -> ObjectArray:
            """A triangular block with a non-zero diagonal, its rows or columns shuffled among random ones."""
            tall = rows >= columns
            matrix = entries(rows, columns) if tall else entries(columns, rows)
            size = min(rows, columns)
            where = generator.permutation(max(rows, columns))[:size]
            for i, row in enumerate(where):
                matrix[row, i] = matrix[row, i] or Fraction(1)
                matrix[row, i + 1 :] = Fraction(0)
            return matrix if tall else matrix.T

        def checked(ranks: Sequence[int], limits: Sequence[int], name: str) -> list[int]:
            if len(ranks) != len(limits) or any(not 0 <= r <= most for r, most in zip(ranks, limits, strict=False)):
                raise ShapeError(f"{name} must be between 0 and {list(limits)}, got {list(ranks)}")
            return list(ranks)

        def of_rank(rows: int, columns: int, r: int) -> ObjectArray:
            if r == 0:
                return np.full((rows, columns), Fraction(0), dtype=object)
            product: ObjectArray = full_rank(rows, r) @ full_rank(r, columns)
            return product

        widths, a = architecture.widths, architecture.attention_ranks
        pairs = list(pairwise(widths))
        matrices: dict[str, ObjectArray] = {}
        if attention_matrix_ranks is not None:
            limits = [min(a_i, d) for a_i, d in zip(a, widths, strict=False)]
            attention_matrix_ranks = checked(attention_matrix_ranks, limits, "attention matrix ranks")
        if value_ranks is not None:
            value_ranks = checked(value_ranks, [min(pair) for pair in pairs], "value ranks")
        for i, (d, d_out) in enumerate(pairs):
            query, key = entries(a[i], d), entries(a[i], d)
            if attention_matrix_ranks is not None:
                r = attention_matrix_ranks[i]
                if r == 0:
                    query = of_rank(a[i], d, 0)
                else:  # K^T Q = (r x d)^T (C^T C) (r x d), and C^T C is invertible: C has full column rank
                    common = full_rank(a[i], r)
                    query, key = common @ full_rank(r, d), common @ full_rank(r, d)
            value = entries(d_out, d) if value_ranks is None else of_rank(d_out, d, value_ranks[i])
            matrices |= {f"Q{i + 1}": query, f"K{i + 1}": key, f"V{i + 1}": value}
        return cls.of(matrices)
