"""Matrices by name: how they are held, the letters in them, and how they look.

Machine numbers that are too many to be exact numbers of their own are held as they were read. Letters make special
families of weights; all that computes with numbers refuses them by name.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.display import Lines, Result, cut_text, latex_lines, latex_matrix, one_line, rows_in_line
from lightning_sym.errors import BadInput, ShapeError, TooLarge
from lightning_sym.network.form import LIGHTNING_FORM, NetworkForm
from lightning_sym.network.weight_names import split
from lightning_sym.rings import arrays
from lightning_sym.rings.arrays import (
    ObjectArray,
    Plain,
    Rows,
    count_entries,
    exact_matrix,
    is_plain,
    require_entries,
    require_finite,
)
from lightning_sym.rings.expressions import entry, letters_of

_MOST_LAYERS = 6
"""Layers that a notebook shows."""

_LONGEST_MATRIX = 300
"""Characters of a matrix in the text of weights."""

MOST_EXACT = 2**14
"""Entries of all matrices together that become exact numbers at once; more wait until they are asked for."""

MOST_BYTES = 2**30
"""Bytes of all matrices together that are held as they were read."""


def require_bytes(matrices: Mapping[str, Plain]) -> None:
    """Refuse what takes too much memory as it is.

    Raises:
        TooLarge: more than `MOST_BYTES`.

    Example:
        >>> require_bytes({"E": np.broadcast_to(np.zeros(1), (20000, 20000))})
        Traceback (most recent call last):
        lightning_sym.errors.TooLarge: all matrices together must have at most 1,073,741,824 bytes, got 3,200,000,000
    """
    total = sum(matrix.nbytes for matrix in matrices.values())
    if total > MOST_BYTES:
        raise TooLarge(f"all matrices together must have at most {MOST_BYTES:,} bytes, got {total:,}")


class PlainMatrices(Mapping[str, ObjectArray]):
    """By name, matrices that become exact when they are asked for, one at a time; they stay so if there is room.

    Attributes:
        plain: the arrays of integers or floats, not writeable.

    Example:
        >>> held = PlainMatrices({"Q1": np.array([[0.5, 2]], dtype=np.float32)})
        >>> held["Q1"].tolist(), held.plain["Q1"].dtype.name
        ([[Fraction(1, 2), Fraction(2, 1)]], 'float32')
    """

    __slots__ = ("_exact", "plain")

    def __init__(self, plain: Mapping[str, Plain]) -> None:
        require_bytes(plain)
        self.plain = {name: _fixed(matrix, name) for name, matrix in plain.items()}
        self._exact: dict[str, ObjectArray] = {}

    def __getitem__(self, name: str) -> ObjectArray:
        if (known := self._exact.get(name)) is None:
            known = exact_matrix(self.plain[name], name)
            if count_entries(self.plain) <= arrays.MOST_ENTRIES:
                self._exact[name] = known
        return known

    def __contains__(self, name: object) -> bool:
        return name in self.plain

    def __iter__(self) -> Iterator[str]:
        return iter(self.plain)

    def __len__(self) -> int:
        return len(self.plain)

    def values(self) -> ValuesView[ObjectArray]:
        """Return all of them, exact.

        Raises:
            TooLarge: whoever keeps them would need more memory than there is.
        """
        require_entries(self.plain)
        return super().values()

    def items(self) -> ItemsView[str, ObjectArray]:
        """Return all of them, exact, with their names.

        Raises:
            TooLarge: as for `values`.
        """
        require_entries(self.plain)
        return super().items()


def _fixed(matrix: Plain, name: str) -> Plain:
    """Return an array that nobody can write to, of finite numbers."""
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ShapeError(f"{name} must be a matrix with at least one entry, got shape {matrix.shape}")
    if matrix.dtype.kind == "f":
        require_finite(matrix, name)
    under: object = matrix
    while isinstance(under, np.ndarray):
        if under.flags.writeable:
            matrix = matrix.copy()
            matrix.flags.writeable = False
            return matrix
        under = under.base
    return matrix


def exact_or_plain(matrices: Mapping[str, Rows]) -> Mapping[str, ObjectArray]:
    """Return what becomes of the matrices given: exact numbers, or arrays as they are where they are too many.

    Raises:
        TooLarge: there are too many, and not all are arrays of integers or floats; or they take too much memory.
        ShapeError: one is no matrix.
        BadInput: an entry is neither a finite number nor a polynomial in letters.

    Example:
        >>> exact_or_plain({"Q1": np.ones((1, 1))})["Q1"].tolist()
        [[Fraction(1, 1)]]
    """
    most = min(MOST_EXACT, arrays.MOST_ENTRIES)
    if count_entries(matrices) > most and all(map(is_plain, matrices.values())):
        return PlainMatrices({name: np.asarray(matrix) for name, matrix in matrices.items()})
    require_entries(matrices)
    return MappingProxyType({name: exact_matrix(matrix, name, entry) for name, matrix in matrices.items()})


class NamedMatrices(Result):
    """The part of `Weights` that knows how matrices are held, which letters are in them, and how they look."""

    matrices: Mapping[str, ObjectArray]
    form: NetworkForm

    @property
    def all_held(self) -> Mapping[str, npt.NDArray[Any]]:
        """All matrices as they are held."""
        return self.matrices.plain if isinstance(self.matrices, PlainMatrices) else self.matrices

    @property
    def as_given(self) -> bool:
        """Whether the matrices are arrays of machine numbers, as they were given.

        Example:
            >>> from lightning_sym.network.weights import Weights
            >>> Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]}).as_given
            False
        """
        return isinstance(self.matrices, PlainMatrices)

    @property
    def too_many(self) -> bool:
        """Whether there are more entries than may be exact numbers at once.

        Example:
            >>> from lightning_sym.network.weights import Weights
            >>> Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]}).too_many
            False
        """
        return count_entries(self.all_held) > arrays.MOST_ENTRIES

    def held(self, name: str) -> npt.NDArray[Any]:
        """Return a matrix as it is held: an object array of `Fraction`, or an array of integers or floats."""
        return self.all_held[name]

    def size(self, name: str) -> tuple[int, int]:
        """Return rows and columns of a matrix."""
        rows, columns = self.all_held[name].shape
        return rows, columns

    def __getitem__(self, name: str) -> ObjectArray:
        return self.matrices[name]

    def __reduce__(self) -> tuple[object, ...]:  # a view of a dictionary cannot be copied or sent to a process
        how = type(self).of_family if self.letters else type(self).of  # type: ignore[attr-defined]
        return how, (dict(self.all_held), self.form)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamedMatrices):
            return NotImplemented
        mine, theirs = self.all_held, other.all_held
        same_names = self.form == other.form and mine.keys() == theirs.keys()
        return same_names and all(_equal(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:  # equal numbers have one hash, whatever their type; a row of each matrix will do
        rows = chain.from_iterable((name, m.shape, *m[0].tolist()) for name, m in self.all_held.items())
        return hash((self.form, *rows))

    def named(self) -> dict[str, ObjectArray]:
        """Return the matrices by name, in canonical order; letters stay in them.

        Raises:
            TooLarge: there are too many numbers.
        """
        return dict(self.matrices.items())

    def numbers(self) -> dict[str, ObjectArray]:
        """Return the same where all entries are numbers.

        Raises:
            BadInput: there are letters.
            TooLarge: there are too many numbers.
        """
        self.require_numbers()
        return self.named()

    # ---- letters

    @cached_property
    def letters(self) -> tuple[Any, ...]:
        """The SymPy symbols in the entries, by name; none where all are numbers.

        Raises:
            BadInput: two of them differ by their assumptions only.
        """
        if self.as_given:
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

    # ---- how they look

    def __repr__(self) -> str:
        form = "" if self.form == LIGHTNING_FORM else f", {self.form!r}"
        return f"Weights.of({one_line(self.all_held if self.too_many else self.matrices)}{form})"

    def lines(self) -> Lines:
        """Return every matrix in a line, and the form where it is not lightning attention."""
        form = [("form", ", ".join(self.form.words))] if self.form.words else []
        if self.too_many:
            held = self.all_held.items()
            return [(name, f"{m.shape[0]:,} x {m.shape[1]:,} numbers, {m.dtype.name}") for name, m in held] + form
        return [
            (name, cut_text(rows_in_line(matrix), _LONGEST_MATRIX)) for name, matrix in self.matrices.items()
        ] + form

    def _latex(self) -> str:
        layers: dict[str, list[str]] = {}
        for name, held in self.all_held.items():
            word, place = split(name)
            letter = word if len(word) == 1 else rf"\mathrm{{{word}}}"
            index = f"_{{{place.replace('.', ',')}}}" if place else ""
            set_of_all = rf"\in \mathbb{{Q}}^{{{held.shape[0]} \times {held.shape[1]}}}"
            shown = set_of_all if self.too_many else f"= {latex_matrix(self.matrices[name])}"
            layers.setdefault(place, []).append(f"{letter}{index} {shown}")
        rows = [r", \quad ".join(row) for row in layers.values()]
        return latex_lines(rows if len(rows) <= _MOST_LAYERS else [*rows[: _MOST_LAYERS - 2], r"\ldots", rows[-1]])


def _equal(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic]) -> bool:
    """Return whether two matrices have the same numbers; NumPy would round 64-bit integers beside floats."""
    if one.shape != other.shape:
        return False
    if one.dtype.kind == other.dtype.kind:
        return bool(np.array_equal(one, other))
    return all(_ratios(row) == _ratios(more) for row, more in zip(one, other, strict=True))


def _ratios(row: npt.NDArray[np.generic]) -> list[object]:
    """Return numerators and denominators; letters stay as they are, which are equal to no number."""
    return [x.as_integer_ratio() if hasattr(x, "as_integer_ratio") else x for x in row.tolist()]
