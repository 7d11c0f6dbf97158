"""A number between two bounds, as results show it."""

from __future__ import annotations

from dataclasses import dataclass

from lightning_sym.errors import ProgramError, no_truth_value


@no_truth_value("bounds.value is not None")
@dataclass(frozen=True)
class Bounds:
    """A dimension that lies between two bounds, both proved.

    Attributes:
        lower: it is at least this.
        upper: it is at most this; `None` where no upper bound is known.
        source: where the bounds come from, in words.

    Raises:
        ProgramError: the lower bound exceeds the upper bound.

    Example:
        >>> str(Bounds(13, 13, "a theorem")), str(Bounds(2, None, "a rank")), Bounds(2, 5, "ranks").value
        ('13', 'at least 2', None)
    """

    lower: int
    upper: int | None
    source: str

    def __post_init__(self) -> None:
        if self.upper is not None and self.lower > self.upper:
            raise ProgramError(f"lower bound {self.lower} exceeds upper bound {self.upper}: {self.source}")

    @property
    def value(self) -> int | None:
        """The number, where the bounds meet."""
        return self.lower if self.lower == self.upper else None

    @property
    def latex(self) -> str:
        """What stands behind the name of the number in a formula."""
        if self.upper is None:
            return rf"\ge {self.lower}"
        return f"= {self.lower}" if self.lower == self.upper else rf"\in [{self.lower}, {self.upper}]"

    def _repr_latex_(self) -> str:
        return f"${self.latex}$"

    def __str__(self) -> str:
        if self.upper is None:
            return f"at least {self.lower:,}"
        return f"{self.lower:,}" if self.lower == self.upper else f"between {self.lower:,} and {self.upper:,}"
