"""Variants of attention: what layers of real models have besides, declared once and carried out by the forward pass.

No theorem is about them yet, so every question refuses them by name (`Architecture.require`). A further one is a field
of `Variant` with its row in `READ`, its weights in `network/pieces.py`, and what it does in `network/variant_layer.py`:
`Architecture`, `NetworkForm`, files of weights and the names in messages follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, cast

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput
from lightning_sym.lazy import lazy_imports
from lightning_sym.network.option_values import Number, as_typed, number

with lazy_imports(__name__):
    from lightning_sym.network import rotary as rotary_positions

if TYPE_CHECKING:
    from lightning_sym.network.rotary import Rotary

FUNCTIONS = ("silu", "gelu", "gelu_new")
"""Functions of a gate that are no polynomials; `rings.balls` says what they are."""

_POLYNOMIALS = {"identity": (Fraction(0), Fraction(1)), "square": (Fraction(0), Fraction(0), Fraction(1))}

BIASED = {"Q": "queries", "K": "keys", "V": "values", "O": "outputs"}
"""What may have a bias, by the letter of its weight."""

_HIGHEST = 8
"""Largest degree of a gate."""


def _biases(value: object) -> tuple[str, ...]:
    letters = list(value) if isinstance(value, (str, list, tuple)) else None
    if letters is None or any(c not in (*BIASED,) for c in letters) or len({*letters}) != len(letters):
        raise BadInput(f"biases must be some of {', '.join(BIASED)}, each once, got {shown(value)}")
    return tuple(c for c in BIASED if c in letters)


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


def _spelled(value: object) -> object:
    """Return a value of an option as JSON has it."""
    if isinstance(value, rotary_positions.Rotary):
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
        """Return the variant as it would be typed, with only what was said."""
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


READ: dict[str, Callable[[object], object]] = {
    "rotary": lambda value: rotary_positions.Rotary.of(value),
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
    """Return an option of a network in words."""
    if name == "gated":
        known = next((word for word, c in _POLYNOMIALS.items() if c == value), None)
        value = known or (value if isinstance(value, str) else "(" + ", ".join(map(str, value)) + ")")
    label = name.replace("_", " ")
    return label if value is True else f"{label} {','.join(value) if name == 'biases' else value}"
