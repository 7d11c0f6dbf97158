"""Variants of attention: what layers of real models have besides, declared once and carried out by the forward pass.

No theorem is about them yet, so every question refuses them by name (`Architecture.require`). A further one is a field
of `Variant` with its row in `READ`, its weights in `network/pieces.py`, and what it does in `network/variant_layer.py`:
`Architecture`, `NetworkForm`, files of weights and the names in messages follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from operator import attrgetter, is_
from typing import Any, cast

from lightning_sym.arguments import shown
from lightning_sym.display import latex_words, notebook
from lightning_sym.errors import BadInput, ShapeError

Number = Fraction | float | str
"""A rational number as people give it; it becomes a `Fraction`."""

FUNCTIONS = ("silu", "gelu", "gelu_new")
"""Functions of a gate that are no polynomials; `rings.elementary` says what they are."""

_POLYNOMIALS = {"identity": (Fraction(0), Fraction(1)), "square": (Fraction(0), Fraction(0), Fraction(1))}

_PAIRS = ("halves", "neighbours")

_MOST_TURNS = 2**16

_HIGHEST = 8
"""Largest degree of a gate."""


def number(value: object, what: str) -> Fraction:
    """A rational number, as people and files give it.

    Raises:
        BadInput: it is none.

    Example:
        >>> number("3/5", "a cosine"), number(1e-5, "epsilon") == Fraction(1e-5)
        (Fraction(3, 5), True)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Fraction)) or len(str(value)) > 1000:
        raise BadInput(f"{what} must be a rational number, got {shown(value)}")
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise BadInput(f"{what} must be a rational number, got {shown(value)}") from None


def as_typed(value: Any) -> str:
    """A dataclass as it would be typed: only what was said, what has no place in the order of arguments last."""
    listed = sorted(fields(value), key=lambda f: f.kw_only is True)
    said = [f"{f.name}={_typed(getattr(value, f.name))}" for f in listed if getattr(value, f.name) != f.default]
    return f"{type(value).__name__}({', '.join(said)})"


def _typed(value: object) -> str:
    """A value as it would be typed; fractions are text, which is read as such."""
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else f"'{value}'"
    if isinstance(value, tuple):
        return f"({', '.join(map(_typed, value))}{',' * (len(value) == 1)})"
    return repr(value)


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
        given: Any = self.turns
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
        """Rotary positions as they are, or from what `to_json` writes."""
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
        """How many of the first rows of queries with `rank` rows are turned.

        Raises:
            ShapeError: there are not as many, or their number is odd.
        """
        wanted = 2 * len(self.turns) if self.base is None else rank if self.width is None else self.width
        if wanted > rank or wanted % 2:
            raise ShapeError(f"rotary positions must turn pairs of the rows of queries, {wanted} rows of {rank}")
        return wanted

    def to_json(self) -> dict[str, Any]:
        """As `of` reads it."""
        said: dict[str, Any] = {"turns": [[str(c), str(s)] for c, s in self.turns]} if self.base is None else {}
        said |= {} if self.base is None else {"base": str(self.base)}
        said |= {} if self.width is None else {"width": self.width}
        return {**said, "pairs": self.pairs}

    def __str__(self) -> str:
        turned = f"base {self.base}" if self.base is not None else " ".join(f"({c}, {s})" for c, s in self.turns)
        return f"{turned}{'' if self.width is None else f' on {self.width} rows'}, {self.pairs}"

    def __repr__(self) -> str:
        return as_typed(self)

    def _repr_latex_(self) -> str:
        return notebook(latex_words(str(self)))


def _biases(value: object) -> tuple[str, ...]:
    letters = list(value) if isinstance(value, (str, list, tuple)) else None
    if letters is None or any(c not in ("Q", "K", "V", "O") for c in letters) or len({*letters}) != len(letters):
        raise BadInput(f"biases must be some of Q, K, V and O, each once, got {shown(value)}")
    return tuple(c for c in "QKVO" if c in letters)


def _gains(value: object) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"gains must be true or false, got {shown(value)}")
    return value


def _key_heads(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadInput(f"key heads must be a positive integer, got {shown(value)}")
    return value


def _epsilon(value: object) -> Fraction:
    if (epsilon := number(value, "the epsilon of query_key_norm")) < 0:
        raise BadInput(f"the epsilon of query_key_norm must not be negative, got {shown(value)}")
    return epsilon


def _gate(value: object) -> str | tuple[Fraction, ...]:
    if isinstance(value, str):
        if value not in _POLYNOMIALS and value not in FUNCTIONS:
            known = ", ".join((*_POLYNOMIALS, *FUNCTIONS))
            raise BadInput(f"gated must be one of {known}, or the coefficients of a polynomial, got {shown(value)}")
        return _POLYNOMIALS.get(value, value)
    if not isinstance(value, (list, tuple)) or not 1 < len(value) <= _HIGHEST + 1:
        raise BadInput(
            f"gated must be a name or from 2 to {_HIGHEST + 1} coefficients, constant first, got {shown(value)}"
        )
    found = tuple(number(c, "a coefficient of gated") for c in value)
    if not found[-1]:
        raise BadInput("the last coefficient of gated must not be zero, got 0")
    return found


def _spelled(value: Any) -> Any:
    """A value of an option as JSON has it."""
    if isinstance(value, Rotary):
        return value.to_json()
    if isinstance(value, tuple):
        return [*map(_spelled, value)]
    return str(value) if isinstance(value, Fraction) else value


@dataclass(frozen=True, kw_only=True, repr=False)
class Variant:
    r"""The options that no theorem is about yet; each is left at nothing unless it is said.

    Attributes:
        rotary: rotary positions of queries and keys.
        key_heads: grouped keys and values: how many heads of them there are; as many query heads share each of them.
        biases: which of queries, keys, values and outputs have a bias: letters of `QKVO`.
        gains: a gain for each row of queries and of keys, the same in all heads of a layer.
        query_key_norm: epsilon, where each query and key is divided by its root mean square
            $\sqrt{|q|^2 / a + \varepsilon}$, before gains and positions; balls of real numbers alone can do that.
        gated: a half with gated neurons behind attention, $x \mapsto D\,(s(G x) \odot U x)$, added to its input with
            skip connections; which function `s` is: `identity` (bilinear), `square`, coefficients of a polynomial,
            constant first; or `silu`, `gelu`, `gelu_new`, of balls of real numbers.
    """

    rotary: Rotary | None = None
    key_heads: int | None = None
    biases: str | tuple[str, ...] = ()
    gains: bool = False
    query_key_norm: Number | None = None
    gated: str | Sequence[Number] | None = None

    def __repr__(self) -> str:
        """As it would be typed: only what was said."""
        return as_typed(self)

    def __post_init__(self) -> None:
        self.settle()

    def settle(self) -> None:
        """Make each option what it must be.

        Raises:
            BadInput: it is nothing of the kind.
        """
        for name, value in self.added.items():
            object.__setattr__(self, name, READ[name](value))

    @property
    def added(self) -> dict[str, Any]:
        """The options that are not left at nothing, by name."""
        values = _VALUES(self)
        if all(map(is_, values, _NOTHING)):  # nearly always, and networks are made often
            return {}
        return {name: v for name, v, nothing in zip(READ, values, _NOTHING, strict=True) if v is not nothing}

    @property
    def added_json(self) -> dict[str, Any]:
        """The same as a file of weights has them, which `settle` reads."""
        return {name: _spelled(value) for name, value in self.added.items()}

    @property
    def added_words(self) -> list[str]:
        """The same in words, as networks are named."""
        return [_in_words(name, value) for name, value in self.added.items()]

    @property
    def epsilon(self) -> Fraction | None:
        """`query_key_norm`, once it is made what it must be."""
        return cast("Fraction | None", self.query_key_norm)

    @property
    def gate(self) -> str | tuple[Fraction, ...] | None:
        """The function of the gate: a name, or coefficients, constant first; none where there are no gated neurons."""
        return cast("str | tuple[Fraction, ...] | None", self.gated)

    @property
    def not_rational(self) -> list[str]:
        """The options that take square roots, angles or exponentials, by name: only balls can do them.

        Example:
            >>> Variant(query_key_norm=Fraction(0), gated="identity").not_rational
            ['query_key_norm']
        """
        angles = self.rotary is not None and self.rotary.base is not None
        said = (("rotary", angles), ("query_key_norm", self.query_key_norm is not None))
        return [name for name, here in (*said, ("gated", isinstance(self.gated, str))) if here]


READ: dict[str, Callable[[Any], Any]] = {
    "rotary": Rotary.of,
    "key_heads": _key_heads,
    "biases": _biases,
    "gains": _gains,
    "query_key_norm": _epsilon,
    "gated": _gate,
}
"""How a value of each option is read, from what a person or a file gives; in the order of the fields."""

_VALUES = attrgetter(*READ)

_NOTHING = tuple(getattr(Variant, name) for name in READ)

ADDED = frozenset({*READ, "neurons"})
"""The options of an `Architecture` that are declared here; `neurons` are the sizes that go with `gated`."""


def _in_words(name: str, value: Any) -> str:
    """An option of a network, in words."""
    if name == "gated":
        known = next((word for word, c in _POLYNOMIALS.items() if c == value), None)
        value = known or (value if isinstance(value, str) else "(" + ", ".join(map(str, value)) + ")")
    label = name.replace("_", " ")
    return label if value is True else f"{label} {','.join(value) if name == 'biases' else value}"
