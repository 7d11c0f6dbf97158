"""The answer that every question for a learning coefficient gets: two bounds, and what proves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from lightning_sym.certificates.document import Document
from lightning_sym.display import Lines, Result, latex_number
from lightning_sym.errors import no_truth_value


@no_truth_value("result.certified")
@dataclass(frozen=True, eq=False, repr=False)
class LearningCoefficient(Result):
    r"""The pair $(\lambda, m)$ of a function that is not negative, at one of its zeros.

    Near the zero the volume of $\{K < \varepsilon\}$ is, up to constants,
    $\varepsilon^\lambda (\log 1/\varepsilon)^{m-1}$.

    Attributes:
        lower: a bound of $\lambda$ from below.
        upper: one from above.
        multiplicity: $m$, the order of the pole, where it is proved.
        proof: the page and number of what proves $\lambda$, or of the two bounds.
        about: what the coefficient is of.
        ranks: the numbers that the proof used, by name.
        certificate: what the checker reads, where there is one.

    Example:
        >>> found = LearningCoefficient(Fraction(3, 2), Fraction(3, 2), 1, "a proof", "of a function")
        >>> found.value, found.certified
        (Fraction(3, 2), True)
    """

    lower: Fraction
    upper: Fraction
    multiplicity: int | None
    proof: str
    about: str
    ranks: Mapping[str, int] = field(default_factory=dict)
    certificate: Document | None = field(default=None, repr=False, compare=False)

    @property
    def value(self) -> Fraction | None:
        r"""The coefficient $\lambda$, where both bounds meet."""
        return self.lower if self.certified else None

    @property
    def certified(self) -> bool:
        """Whether both bounds meet."""
        return self.lower == self.upper

    def lines(self) -> Lines:
        """The coefficient with its multiplicity, or its bounds, and what proves them."""
        pole = "multiplicity open" if self.multiplicity is None else f"multiplicity {self.multiplicity}"
        if self.certified:
            said = f"{self.lower}  certified, {pole}"
        else:
            said = f"undecided, between {self.lower} and {self.upper}"
        ranks = [("ranks", ", ".join(f"{name} {number}" for name, number in self.ranks.items()))] if self.ranks else []
        return [("coefficient", said), ("about", self.about), *ranks, ("proof", self.proof)]

    def _latex(self) -> str:
        low, high = latex_number(self.lower), latex_number(self.upper)
        if not self.certified:
            return rf"{low} \le \lambda \le {high}"
        return rf"\lambda = {low}" + ("" if self.multiplicity is None else rf",\; m = {self.multiplicity}")
