"""What a network looks like, before it has weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lightning_sym.errors import ShapeError


def _sizes(values: object, name: str) -> tuple[int, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise ShapeError(f"{name} must be a sequence of positive integers, got {values!r}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ShapeError(f"{name} must be positive integers, got {value!r}")
    return tuple(values)


@dataclass(frozen=True)
class Architecture:
    r"""Shape of a lightning self-attention network of any depth.

    Layer $i = 1, \dots, l$ has query and key weights $Q_i, K_i \in \mathbb{R}^{a_i \times d_{i-1}}$ and value
    weights $V_i \in \mathbb{R}^{d_i \times d_{i-1}}$; inputs are matrices in $\mathbb{R}^{d_0 \times t}$, one
    column a token (Definition 2 of the paper).

    Args:
        widths: $(d_0, \dots, d_l)$, at least two of them.
        attention_ranks: $(a_1, \dots, a_l)$, the query/key widths; they may exceed the widths.
        tokens: $t$, the sequence length.

    Raises:
        ShapeError: a size is not a positive integer, or the lengths do not fit.

    Example:
        >>> network = Architecture(widths=(4, 4, 4), attention_ranks=(2, 2), tokens=3)
        >>> network.depth, network.degree, network.parameter_count
        (2, 9, 64)
    """

    widths: tuple[int, ...]
    attention_ranks: tuple[int, ...]
    tokens: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", _sizes(self.widths, "widths"))
        object.__setattr__(self, "attention_ranks", _sizes(self.attention_ranks, "attention ranks"))
        _sizes((self.tokens,), "tokens")
        if len(self.widths) < 2:
            raise ShapeError(f"widths must name at least two sizes (input and output), got {len(self.widths)}")
        if len(self.attention_ranks) != self.depth:
            raise ShapeError(
                f"attention ranks must be {self.depth} in number, one a layer, got {len(self.attention_ranks)}"
            )

    @property
    def depth(self) -> int:
        """Number of layers `l`."""
        return len(self.widths) - 1

    @property
    def degree(self) -> int:
        """Degree of the polynomial map in its inputs: `3 ** l`."""
        return int(3**self.depth)

    @property
    def parameter_count(self) -> int:
        """Number of entries of all `Q_i`, `K_i`, `V_i`."""
        return sum(rows * columns for _, (rows, columns) in self.weight_shapes())

    def weight_shapes(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Names and shapes of the weights in their canonical order `Q1, K1, V1, Q2, ...`.

        Example:
            >>> dict(Architecture((2, 1), (3,), 2).weight_shapes())
            {'Q1': (3, 2), 'K1': (3, 2), 'V1': (1, 2)}
        """
        for i, a in enumerate(self.attention_ranks, start=1):
            yield f"Q{i}", (a, self.widths[i - 1])
            yield f"K{i}", (a, self.widths[i - 1])
            yield f"V{i}", (self.widths[i], self.widths[i - 1])

    def __str__(self) -> str:
        def join(sizes: tuple[int, ...]) -> str:
            return ",".join(map(str, sizes))

        return f"widths {join(self.widths)}, ranks {join(self.attention_ranks)}, tokens {self.tokens}"
