"""A formula for the dimension against an atlas: where it holds, and the smallest network where it does not."""

from __future__ import annotations

from dataclasses import dataclass

from lightning_sym.arguments import require_arguments
from lightning_sym.atlas.formulas import Formula
from lightning_sym.atlas.store import Atlas, Entry
from lightning_sym.display import Result
from lightning_sym.errors import no_truth_value


@no_truth_value("trial.refuted == 0")
@dataclass(frozen=True, eq=False, repr=False)
class Trial(Result):
    """What the certified networks of an atlas say about a formula.

    Attributes:
        formula: as it was typed.
        agree: certified networks where it gives the dimension.
        refuted: networks where it does not: certified ones, and others whose bounds exclude its value.
        undecided: networks whose bounds leave its value open.
        without: networks that the formula says nothing about, such as unequal widths for `d`, or that were refused.
        counterexample: the one of `refuted` with the fewest parameters.
        value: what the formula gives there.
    """

    formula: str
    agree: int
    refuted: int
    undecided: int
    without: int
    counterexample: Entry | None
    value: int | None

    @property
    def _counts(self) -> str:
        counts = f"agrees with {self.agree:,} certified dimensions, differs from {self.refuted:,}"
        open_ones = ((self.undecided, "undecided"), (self.without, "without a value"))
        return "; ".join([counts, *(f"{number:,} {what}" for number, what in open_ones if number)])

    def _smallest(self) -> str | None:
        if (found := self.counterexample) is None:
            return None
        known = found.dimension if found.dimension is not None else f"between {found.lower} and {found.upper}"
        return f"{found.architecture}: dimension {known}, the formula gives {self.value}"

    _sentences = (
        ("formula", lambda self: [self.formula, self._counts]),
        ("smallest", _smallest),
    )


def try_formula(atlas: Atlas, formula: str, where: str | None = None) -> Trial:
    """Compare a formula with every network of an atlas.

    Args:
        atlas: certified dimensions.
        formula: an expression, see `Formula`.
        where: only networks that meet this condition, SQL on the columns of the atlas.

    Raises:
        BadInput: the formula or the condition is none.

    Example:
        >>> import tempfile
        >>> from lightning_sym.atlas.families import Family
        >>> from lightning_sym.atlas.sweep import sweep
        >>> family = Family.of({"depth": 1, "widths": "1..3", "ranks": "1..2", "tokens": "1..2", "uniform": True})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = sweep(family, f"{folder}/a.sqlite", workers=1)
        ...     with Atlas(f"{folder}/a.sqlite") as atlas:
        ...         print(try_formula(atlas, "min(a, d)*(2*d - min(a, d)) + d*d - 1"))
        formula     min(a, d)*(2*d - min(a, d)) + d*d - 1
                    agrees with 10 certified dimensions, differs from 2
        smallest    widths 2,2, ranks 2, tokens 1: dimension 6, the formula gives 7
    """
    require_arguments(try_formula, locals())
    wanted = Formula(formula)
    agree = refuted = undecided = without = 0
    smallest: tuple[Entry, int] | None = None
    for entry in atlas.entries(where):
        value = None if entry.lower is None else wanted.at(entry.architecture)
        if value is None or entry.lower is None or entry.upper is None:
            without += 1
        elif not entry.lower <= value <= entry.upper:
            refuted += 1
            smallest = smallest or (entry, value)
        elif entry.dimension is None:
            undecided += 1
        else:
            agree += 1
    found, value = smallest or (None, None)
    return Trial(wanted.text, agree, refuted, undecided, without, found, value)
