"""SymPy symbols that are found by name: the program's own names, and those of the paper."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from lightning_sym.errors import BadInput

_WEIGHT = re.compile(r"([QKVOEU])([0-9]*)((?:_[0-9]+)+)")


class SymbolsByName(frozenset[Any]):
    """A set of SymPy symbols, with `[...]` for a symbol by name.

    A weight `Q1_1_2` is also `q1_1_2`; where the network has one layer, `q_1_2` and `Q_1_2` too.

    Example:
        >>> import sympy
        >>> found = SymbolsByName(sympy.symbols("Q1_1_1 K1_1_1 x_1_1"))
        >>> found["q_1_1"], found["Q1_1_1"], len(found)
        (Q1_1_1, Q1_1_1, 3)
        >>> found["q_1_3"]
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: a symbol must have one of the names that occur, near q_1_3 are q_1_1...
    """

    @cached_property
    def _places(self) -> dict[str, Any]:
        own = {symbol.name: symbol for symbol in self}
        parts = {name: match.groups() for name in own if (match := _WEIGHT.fullmatch(name))}
        more: dict[str, Any] = {}
        layers = {layer for _, layer, _ in parts.values()} - {""}
        for name, (letter, layer, rest) in parts.items():
            for short in [layer, ""] if len(layers) < 2 else [layer]:
                more |= {f"{letter}{short}{rest}": own[name], f"{letter.lower()}{short}{rest}": own[name]}
        return more | own  # a letter of somebody's own goes before

    def __getitem__(self, name: str) -> Any:
        """The symbol of this name.

        Raises:
            BadInput: there is none; the message has the nearest names.
        """
        if name not in self._places:
            near = get_close_matches(str(name), self._places, n=3, cutoff=0.4) or sorted(self._places)[:3]
            shown = f"near {str(name)[:40]} are {', '.join(near)}" if near else "and there is none"
            raise BadInput(f"a symbol must have one of the names that occur, {shown}")
        return self._places[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)
