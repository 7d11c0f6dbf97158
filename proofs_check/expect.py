"""How checks conclude: from what is exact by `expect_equal`, from bounds by the others.

A rank modulo a prime is a lower bound and nothing else; parameters minus such a rank is an upper bound. A bound alone
refutes only in one direction: a statement is refuted by a lower bound that exceeds it, or by an upper bound that falls
short of it. So nothing here takes a lower bound without an upper one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lightning_sym.dimension.certify import CertifiedDimension, Evidence, certified_dimension
from lightning_sym.errors import ProgramError
from lightning_sym.network.architecture import Architecture
from proofs_check.claim import Refutation, Undecided

Formula = Callable[[Architecture], int]
"""A number that is stated of every network."""


def spell(matrix: Any) -> str:
    """A matrix of exact numbers in one line, for witnesses.

    Example:
        >>> from fractions import Fraction
        >>> spell([[1, Fraction(-2, 3)], [0, Fraction(4)]])
        '[[1, -2/3], [0, 4]]'
    """
    return "[" + ", ".join("[" + ", ".join(map(str, row)) + "]" for row in matrix) + "]"


def expect_equal(found: object, stated: object, at: object) -> None:
    """Refute unless what was computed, exactly, equals what the statement says.

    Example:
        >>> expect_equal(3, 4, at="one layer, d = 2")
        Traceback (most recent call last):
        proofs_check.claim.Refutation: one layer, d = 2: found 3, stated 4
    """
    if found != stated:
        raise Refutation(f"{at}: found {found}, stated {stated}")


class ProvedBounds(NamedTuple):
    """Proved bounds of a number.

    Example:
        >>> print(ProvedBounds(3, 5), ProvedBounds(4, 4), sep=", ")
        between 3 and 5, found 4
    """

    lower: int
    upper: int

    @staticmethod
    def of(found: CertifiedDimension) -> ProvedBounds:
        """Those of a dimension."""
        return ProvedBounds(found.lower, found.upper)

    def __str__(self) -> str:
        return f"found {self.lower}" if self.lower == self.upper else f"between {self.lower} and {self.upper}"


def _require_order(lower: int, upper: int, at: object) -> None:
    if lower > upper:
        raise ProgramError(f"{at}: the lower bound {lower} exceeds the upper bound {upper}")


def _conclude(bounds: ProvedBounds, said: str, at: object, *, holds: bool, fails: bool) -> None:
    _require_order(*bounds, at)
    if fails:
        raise Refutation(f"{at}: {bounds}, {said}")
    if not holds:
        raise Undecided(f"{at}: {bounds}, {said}")


def expect_value(bounds: ProvedBounds, stated: int, at: object) -> None:
    """Refute, or leave undecided, unless the number is the stated one.

    Example:
        >>> expect_value(ProvedBounds(3, 5), 4, at="here")
        Traceback (most recent call last):
        proofs_check.claim.Undecided: here: between 3 and 5, stated 4
    """
    inside = bounds.lower <= stated <= bounds.upper
    _conclude(bounds, f"stated {stated}", at, holds=inside and bounds.lower == bounds.upper, fails=not inside)


def expect_less(bounds: ProvedBounds, stated: int, at: object) -> None:
    """Refute, or leave undecided, unless the number is less than the stated one.

    Example:
        >>> expect_less(ProvedBounds(3, 3), 3, at="here")
        Traceback (most recent call last):
        proofs_check.claim.Refutation: here: found 3, stated less than 3
    """
    _conclude(bounds, f"stated less than {stated}", at, holds=bounds.upper < stated, fails=bounds.lower >= stated)


def expect_more(bounds: ProvedBounds, stated: int, at: object) -> None:
    """Refute, or leave undecided, unless the number is more than the stated one.

    Example:
        >>> expect_more(ProvedBounds(3, 5), 4, at="here")
        Traceback (most recent call last):
        proofs_check.claim.Undecided: here: between 3 and 5, stated more than 4
    """
    _conclude(bounds, f"stated more than {stated}", at, holds=bounds.lower > stated, fails=bounds.upper <= stated)


def expect_apart(apart: bool, stated: bool, at: object) -> None:
    """Refute where functions that are said to be equal are shown apart; undecided where others were not shown apart.

    Balls and residues prove that two functions differ. That they are equal they never prove.

    Example:
        >>> expect_apart(True, False, at="A and B")
        Traceback (most recent call last):
        proofs_check.claim.Refutation: A and B have different functions
    """
    if apart and not stated:
        raise Refutation(f"{at} have different functions")
    if stated and not apart:
        raise Undecided(f"{at}: no input was found that shows them apart")


def expect_dimension(found: CertifiedDimension, stated: int) -> None:
    """Refute, or leave undecided, unless the certified dimension is the stated number."""
    expect_value(ProvedBounds.of(found), stated, found.architecture)


def meeting_bounds(lower: int, upper: int, at: object) -> int:
    """The number between two proved bounds that meet.

    Raises:
        Undecided: they do not meet.
        ProgramError: the lower one exceeds the upper one.

    Example:
        >>> meeting_bounds(3, 3, at="one layer")
        3
    """
    _require_order(lower, upper, at)
    if lower < upper:
        raise Undecided(f"{at}: between {lower} and {upper}")
    return lower


def expect_orbit(found: CertifiedDimension) -> None:
    """Leave undecided unless an orbit of symmetries, with what else is not seen, gives the upper bound.

    The other bound is a count of virtual weights, which contains the formulas that the paper prints: a formula that
    meets it alone would be compared with itself.
    """
    if not {Evidence.ORBIT, Evidence.DIRECTIONS} & set(found.upper_evidence):
        orbit = found.upper_bounds.get(Evidence.ORBIT, found.upper_bounds.get(Evidence.DIRECTIONS))
        raise Undecided(
            f"{found.architecture}: the bound {orbit} by an orbit does not meet {found.upper}, the count of virtual "
            "weights, which contains the formula"
        )


def dimension_by_orbit(network: Architecture) -> CertifiedDimension:
    """A dimension that may be compared with a formula which is a count of virtual weights itself.

    Raises:
        Undecided: as `expect_orbit`, where the bounds meet.

    Example:
        >>> dimension_by_orbit(Architecture((3, 2), (2,), 2)).value
        13
    """
    found = certified_dimension(network, all_bounds=True)
    if found.value is not None:
        expect_orbit(found)
    return found
