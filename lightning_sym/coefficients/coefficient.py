r"""What the questions about learning coefficients answer.

$\lambda$ and $m$ say how much room there is near weights where a loss $K \ge 0$ is small: the volume of the weights
near them with $K < \varepsilon$ is, up to constants, $\varepsilon^\lambda \log(1/\varepsilon)^{m-1}$. $\lambda$ is the
real log canonical threshold, and is called the local learning coefficient (Watanabe 2009; Lau et al. 2024).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from lightning_sym.ask import FellShort
from lightning_sym.certificates.document import Document
from lightning_sym.display import Lines, Result, labelled, latex_number
from lightning_sym.errors import ProgramError, no_truth_value

MOST_SHOWN = 20
"""Ranks that the text has; all of them are in `ranks`."""


@no_truth_value("found.certified")
@dataclass(frozen=True, eq=False, repr=False)
class LearningCoefficient(Result):
    r"""A learning coefficient $\lambda$ with its multiplicity, or two bounds of it.

    Attributes:
        lower: $\lambda$ is at least this.
        upper: it is at most this.
        multiplicity: the order $m$ of the pole where it is proved, else `None`.
        proof: page and number of what proves the value, or the two bounds.
        about: what it is the coefficient of, in words.
        ranks: the numbers that the proof used, by name.
        certificate: what an independent checker needs, where there is one.
        tried: theorems that prove nothing here, each with the hypothesis that fails.

    Raises:
        ProgramError: the lower bound exceeds the upper bound.

    Example:
        >>> found = LearningCoefficient(Fraction(7, 2), Fraction(7, 2), 1, "Theorem 5", "of the mean squared error")
        >>> print(found)
        coefficient  lambda = 7/2, multiplicity 1  certified
        about        of the mean squared error
        proof        Theorem 5
        >>> LearningCoefficient(Fraction(1), Fraction(3, 2), None, "Proposition 3", "").value is None
        True
    """

    lower: Fraction
    upper: Fraction
    multiplicity: int | None
    proof: str
    about: str
    ranks: Mapping[str, int] = field(default_factory=dict)
    certificate: Document | None = field(default=None, repr=False, compare=False)
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ProgramError(f"lower bound {self.lower} exceeds upper bound {self.upper}: {self.proof}")

    @property
    def value(self) -> Fraction | None:
        r"""$\lambda$ where the bounds meet, otherwise `None`."""
        return self.lower if self.certified else None

    @property
    def certified(self) -> bool:
        """Whether the bounds meet."""
        return self.lower == self.upper

    def lines(self) -> Lines:
        """Return the lines as the command `coefficient` prints them."""
        order = "" if self.multiplicity is None else f", multiplicity {self.multiplicity}"
        said = f"lambda = {self.lower}{order}  certified"
        if not self.certified:
            said = f"lambda undecided, between {self.lower} and {self.upper}{order}"
        lines = [("coefficient", said), *([("about", self.about)] if self.about else [])]
        shown = [f"{name} = {number:,}" for name, number in self.ranks.items()]
        more = len(shown) - MOST_SHOWN
        ranks = ", ".join(shown if more <= 1 else [*shown[:MOST_SHOWN], f"and {more:,} more"])
        lines += [*([("ranks", ranks)] if ranks else []), ("proof", self.proof)]
        return lines if self.certified else [*lines, *labelled("tried", map(str, self.tried))]

    def _latex(self) -> str:
        if not self.certified:
            return rf"{latex_number(self.lower)} \le \lambda \le {latex_number(self.upper)}"
        order = "" if self.multiplicity is None else rf", \quad m = {self.multiplicity}"
        return rf"\lambda = {latex_number(self.lower)}{order}"
