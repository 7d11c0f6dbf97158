"""Rotary positions, said exactly: by rational points of the circle, or by the base of their angles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import cast

from lightning_sym.arguments import shown
from lightning_sym.display import latex_words, notebook
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.network.option_values import Number, as_typed, number

_PAIRS = ("halves", "neighbours")

_MOST_TURNS = 2**16

_MOST_SHOWN = 4
"""Turns that the words of a network list."""


@dataclass(frozen=True, repr=False)
class Rotary:
    r"""Rotary positions: queries and keys at position $j$ (from 0) are turned by the $j$-th power of a rotation.

    The rotation acts on pairs of rows, as Su et al. define it (RoFormer): by rational points of the circle, exact over
    every ring, or by the angles $\theta^{-2k/w}$ of a base $\theta$, which only balls of real numbers can do.

    Attributes:
        turns: $(\cos, \sin)$ of each pair, rational numbers with $\cos^2 + \sin^2 = 1$, such as (3/5, 4/5).
        base: $\theta$, in place of `turns`; 10000 in most models.
        width: $w$, with a base: how many rows are turned, an even number; all rows where nothing is said.
        pairs: `halves`, row $k$ with row $k + w/2$ as in Llama, or `neighbours`, rows $2k$ and $2k + 1$ as in
            RoFormer and GPT-J. Rows behind the first $w$ stay.

    Raises:
        BadInput: a point is not on the circle, or there are both of `turns` and `base`, or none, or pairs of another
            name.

    Example:
        >>> Rotary(turns=[("3/5", "4/5")]).to_json()
        {'turns': [['3/5', '4/5']], 'pairs': 'halves'}
        >>> Rotary(base=10000, pairs="neighbours")
        Rotary(base=10000, pairs='neighbours')
    """

    turns: Sequence[tuple[Number, Number]] = ()
    base: Number | None = None
    width: int | None = None
    pairs: str = "halves"

    def __post_init__(self) -> None:
        given: object = self.turns
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence) or len(given) > _MOST_TURNS:
            raise BadInput(f"turns of rotary positions must be a list of pairs (cos, sin), got {shown(given)}")
        points = []
        for point in given:
            if isinstance(point, (str, bytes)) or not isinstance(point, Sequence) or len(point) != 2:
                raise BadInput(f"turns of rotary positions must be pairs (cos, sin), got {shown(point)}")
            c, s = (number(value, "cos and sin of a turn") for value in point)
            if c * c + s * s != 1:
                raise BadInput(f"cos and sin of a turn must be on the circle, cos^2 + sin^2 = 1, got {shown(point)}")
            points.append((c, s))
        object.__setattr__(self, "turns", tuple(points))
        if (self.base is None) == (not points):
            raise BadInput(
                f"rotary positions must have turns or a base, one of them, got {'none' if not points else 'both'}"
            )
        if self.base is not None:
            if (base := number(self.base, "the base of rotary positions")) <= 0:
                raise BadInput(f"the base of rotary positions must be positive, got {shown(self.base)}")
            object.__setattr__(self, "base", base)
        whole = type(self.width) is int and self.width > 0 and self.width % 2 == 0
        if self.width is not None and (self.base is None or not whole):
            raise BadInput(
                f"the width of rotary positions must be an even number, beside a base, got {shown(self.width)}"
            )
        if self.pairs not in _PAIRS:
            raise BadInput(f"pairs of rotary positions must be {' or '.join(_PAIRS)}, got {shown(self.pairs)}")

    @classmethod
    def of(cls, value: object) -> Rotary:
        """Return rotary positions as they are, or from what `to_json` writes."""
        if isinstance(value, Rotary):
            return value
        if not isinstance(value, Mapping) or (unknown := {*map(str, value)} - {f.name for f in fields(cls)}):
            said = shown(value) if not isinstance(value, Mapping) else min(unknown)[:40]
            raise BadInput(f"rotary must be a Rotary, or an object with turns or base, width and pairs, got {said}")
        return cls(**value)

    @property
    def points(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The turns, once they are made what they must be."""
        return cast("tuple[tuple[Fraction, Fraction], ...]", self.turns)

    @property
    def is_signed(self) -> bool:
        """Whether the rotation only exchanges rows and changes signs: quarter turns, which floats do exactly."""
        return self.base is None and all(0 in point for point in self.turns)

    def rows(self, rank: int) -> int:
        """Return how many of the first rows of queries with `rank` rows are turned.

        Raises:
            ShapeError: there are not as many, or their number is odd.
        """
        wanted = 2 * len(self.turns) if self.base is None else rank if self.width is None else self.width
        if wanted > rank or wanted % 2:
            raise ShapeError(f"rotary positions must turn pairs of the rows of queries, {wanted} rows of {rank}")
        return wanted

    def to_json(self) -> dict[str, object]:
        """Return what `of` reads."""
        said: dict[str, object] = {"turns": [[str(c), str(s)] for c, s in self.turns]} if self.base is None else {}
        said |= {} if self.base is None else {"base": str(self.base)}
        said |= {} if self.width is None else {"width": self.width}
        return {**said, "pairs": self.pairs}

    def __str__(self) -> str:
        listed = " ".join(f"({c}, {s})" for c, s in self.turns)
        turns = listed if len(self.turns) <= _MOST_SHOWN else f"by {len(self.turns)} turns"
        turned = turns if self.base is None else f"base {self.base}"
        return f"{turned}{'' if self.width is None else f' on {self.width} rows'}, {self.pairs}"

    def __repr__(self) -> str:
        return as_typed(self)

    def _repr_latex_(self) -> str:
        return notebook(latex_words(str(self)))
