"""Letters in weights: special families, refused by name by everything that computes with numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import chain
from typing import Any

from lightning_sym.errors import BadInput
from lightning_sym.network.plain_matrices import PlainMatrices
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.expressions import letters_of


class InLetters:
    """The part of `Weights` that knows of letters."""

    matrices: Mapping[str, ObjectArray]

    @cached_property
    def letters(self) -> tuple[Any, ...]:
        """The SymPy symbols in the entries, by name; none where all are numbers.

        Raises:
            BadInput: two of them differ by their assumptions only.
        """
        if isinstance(self.matrices, PlainMatrices):
            return ()
        return tuple(letters_of(chain.from_iterable(m.ravel() for m in self.matrices.values())))

    def require_numbers(self, what: str = "what is computed here") -> None:
        """Refuse letters by name.

        Raises:
            BadInput: there is one.

        Example:
            >>> import sympy
            >>> from lightning_sym.network.weights import Weights
            >>> Weights.of({"Q1": [[sympy.Symbol("a")]], "K1": [[1]], "V1": [[1]]}).require_numbers("the fiber")
            Traceback (most recent call last):
            lightning_sym.errors.BadInput: the fiber must be of weights that are numbers, got the letter a in Q1
        """
        for name, matrix in self.matrices.items() if self.letters else ():
            if found := letters_of(matrix.ravel()):
                raise BadInput(f"{what} must be of weights that are numbers, got the letter {found[0]} in {name}")
