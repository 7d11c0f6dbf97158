"""What is said of two networks: the answer, and what shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from lightning_sym.ask import FellShort
from lightning_sym.display import Lines, Result
from lightning_sym.errors import no_truth_value
from lightning_sym.fibers.comparison_text import comparison_latex, comparison_lines
from lightning_sym.fibers.connection import Connection
from lightning_sym.network.architecture import Architecture
from lightning_sym.rings.arrays import ObjectArray

if TYPE_CHECKING:
    from lightning_sym.fibers.stream_symmetry import StreamSymmetry


@no_truth_value("answer is Answer.SAME")
class Answer(Enum):
    """Whether two networks compute the same function."""

    SAME = "same"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


class Reason(StrEnum):
    """What shows the answer, by the word that stands for it in JSON; `message` says it in a line."""

    message: str

    def __new__(cls, word: str, message: str) -> Reason:
        """A word with its line."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.message = message
        return member

    IDENTICAL = "identical", "all weights are equal"
    SYMMETRY = "symmetry", "moves and a rescaling lead from one to the other"
    STREAMS = "streams", "the streams of both move together in all layers (docs/transformer-fibers.md, Theorem 1)"
    COEFFICIENTS = "coefficients", "all coefficients agree"
    ZERO = "zero", "both are the zero function, or only one of them is"
    DEGREE = "degree", "neither is zero, and they are homogeneous of different degrees"
    INPUT = "input", "the outputs for an input differ"
    BALLS = "balls", "balls that contain the outputs for an input do not meet"
    VISIBLE = "visible", "equal functions have the same visible weights, and only they"
    ONE_LAYER = (
        "one layer",
        "sums of values differ that the function of one layer determines, its heads merged and moved",
    )
    WORDS = "words", "words differ, or what the function determines of the scores of two tokens"
    DETERMINED = "determined", "streams of equal functions move together, as one of them is determined by its function"
    EVALUATIONS = "evaluations", "the outputs for random integer inputs agree, which proves nothing"
    AGREEMENT = "agreement", "the streams were not seen to move together, and no input was found where outputs differ"


@no_truth_value("comparison.answer is Answer.SAME")
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    r"""The answer, and what shows it.

    Attributes:
        answer: same, different, or undecided.
        reason: what shows it.
        connection: for `SYMMETRY`, how one is mapped to the other.
        symmetry: for `STREAMS`, which heads go together, and the group element where there is one.
        input: for `INPUT` and `BALLS`, an input: integers, or rationals where balls decide, $n \times t$.
        outputs: the two outputs for it: exact, or for `BALLS` decimal balls that contain them.
        entry: for `BALLS`, row and token, from 1, of two balls that do not meet.
        precision: for `BALLS`, bits of the midpoints that were computed with; for `AGREEMENT` the most.
        evaluations: evaluations at random inputs, all in agreement: exact ones for `EVALUATIONS`, by balls for
            `AGREEMENT`.
        error_bound: the probability that different functions agree that often is at most this (Schwartz-Zippel:
            degree over number of values, each time).
        distance: for `AGREEMENT`, outputs at these inputs are no farther apart; `None` if that is not known.
        differing: for `VISIBLE` and different functions, the first virtual weight that they show and do not share,
            such as `A~2`.
        theorem: for `VISIBLE`, `ONE_LAYER`, `WORDS` and `DETERMINED`, which one says so, with its page.
        prefix: with a mask, and too many tokens: inputs and outputs are those of the first so many tokens alone.
        networks: the two networks, where the answer is one of `same_function`.
        tried: theorems that were asked before in vain, each with the reason.
    """

    answer: Answer
    reason: Reason
    connection: Connection | None = None
    symmetry: StreamSymmetry | None = None
    input: ObjectArray | None = None
    outputs: tuple[ObjectArray, ObjectArray] | None = None
    entry: tuple[int, int] | None = None
    precision: int | None = None
    evaluations: int = 0
    error_bound: Fraction = Fraction(1)
    distance: Fraction | None = None
    differing: str | None = None
    theorem: str = ""
    prefix: int | None = None
    networks: tuple[Architecture, ...] = ()
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)

    @property
    def because(self) -> str:
        """What shows the answer, in a line: no theorem that is not used."""
        return f"{self.reason.message} ({self.theorem})" if self.theorem else self.reason.message

    def lines(self) -> Lines:
        """As the command `same` prints it."""
        return comparison_lines(self)

    def _latex(self) -> str:
        return comparison_latex(self)
