"""What is said of two networks: the answer, and what shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightning_sym.ask import FellShort
from lightning_sym.display import Lines, Result, cut_text, latex_lines, latex_matrix, latex_words, rows_in_line, spelled
from lightning_sym.errors import ProgramError, no_truth_value
from lightning_sym.fibers.connection import Connection
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.rings.arrays import ObjectArray

if TYPE_CHECKING:
    from lightning_sym.fibers.stream_symmetry import StreamSymmetry

NAMES = ("first", "second")
"""What the two networks are called."""


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
        """Return a word with its line."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.message = message
        return member

    IDENTICAL = "identical", "all weights are equal"
    SYMMETRY = "symmetry", "moves and a rescaling lead from one to the other"
    STREAMS = "streams", "the streams of both move together in all layers (docs/transformer-fibers.md, Theorem 1)"
    TENSORS = "tensors", "the layers of both do the same on their streams (docs/deep-lightning.md, Lemma 2)"
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


_SHOWS: dict[Answer, dict[Reason, tuple[str, ...]]] = {
    Answer.SAME: {
        Reason.IDENTICAL: (), Reason.SYMMETRY: ("connection",), Reason.STREAMS: ("symmetry",),
        Reason.TENSORS: ("stream",), Reason.COEFFICIENTS: (), Reason.ZERO: (), Reason.VISIBLE: ("theorem",),
    },
    Answer.DIFFERENT: {
        Reason.ZERO: (), Reason.DEGREE: (), Reason.INPUT: ("input", "outputs"),
        Reason.BALLS: ("input", "outputs", "entry", "precision"), Reason.VISIBLE: ("differing", "theorem"),
        Reason.ONE_LAYER: ("theorem",), Reason.WORDS: ("theorem",), Reason.DETERMINED: ("theorem",),
    },
    Answer.UNDECIDED: {Reason.EVALUATIONS: (), Reason.AGREEMENT: ()},
}  # fmt: skip
"""What may show an answer, with the evidence that it must have."""


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
        stream: for `TENSORS`, by space the matrix G with second stream = G first stream, where all of the first is
            reached.
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
    stream: Mapping[int, ObjectArray] | None = None

    def __post_init__(self) -> None:
        """Refuse an answer that what is said to show it does not show, or that lacks it."""
        evidence = _SHOWS[self.answer].get(self.reason)
        given = [getattr(self, name) for name in evidence or ()]
        if evidence is None or any(value is None or (isinstance(value, str) and not value) for value in given):
            raise ProgramError(f"two networks cannot be {self.answer.value} by {self.reason!r} without its evidence")
        if self.outputs is not None and not self._differ(*self.outputs):
            raise ProgramError("outputs for an input must differ where they show that two networks do")

    def _differ(self, one: ObjectArray, other: ObjectArray) -> bool:
        """Return whether exact outputs, arrays or lists, are not equal; or that two balls at the entry do not meet."""
        one, other = (np.array(rows, dtype=object) for rows in (one, other))
        if self.entry is None:
            return bool((one != other).any())
        row, token = self.entry
        return not one[row - 1, token - 1].meets(other[row - 1, token - 1])

    @property
    def because(self) -> str:
        """What shows the answer, in a line: no theorem that is not used."""
        return f"{self.reason.message} ({self.theorem})" if self.theorem else self.reason.message

    def lines(self) -> Lines:
        """Return the lines as the command `same` prints them."""
        network = [("network", network_line(*self.networks))] if self.networks else []
        lines = [*network, ("function", self.answer.value), *self._evidence()]
        if self.prefix is not None and (self.input is not None or self.evaluations):
            lines.append(("tokens", f"inputs are of the first {self.prefix} alone: later ones change no output there"))
        if self.answer is Answer.UNDECIDED:
            lines += [("" if number else "tried", str(each)) for number, each in enumerate(self.tried)]
        return [(label, cut_text(text)) for label, text in lines]

    def _evidence(self) -> Lines:
        if self.entry is not None and self.input is not None and self.outputs is not None:
            row, token = self.entry
            values = zip(NAMES, (y[row - 1, token - 1] for y in self.outputs), strict=True)
            return [
                ("input", f"X = {rows_in_line(self.input)}"),
                *((name, f"phi(X)[{row},{token}] = {ball}") for name, ball in values),
                ("because", f"{self.because} (row {row} of token {token}, computed with {self.precision} bits)"),
            ]
        if self.reason == "agreement":
            return self._agreement()
        if self.symmetry is not None:
            return [("because", self.because), *self.symmetry.lines()]
        if self.input is not None and self.outputs is not None:
            outputs = zip(NAMES, self.outputs, strict=True)
            return [
                ("input", f"X = {rows_in_line(self.input)}"),
                *((name, f"phi(X) = {rows_in_line(y)}") for name, y in outputs),
            ]
        if self.reason == "zero":
            which = "both are" if self.answer is Answer.SAME else "only one of them is"
            return [("because", f"{which} the zero function")]
        if self.differing is not None:
            return [("because", f"{self.differing} differs, and {self.because}")]
        if self.stream is not None:
            said = [(f"stream G{i}", rows_in_line(m)) for i, m in sorted(self.stream.items())]
            return [("because", self.because), *said]
        if self.reason in ("degree", "coefficients", "identical", "visible", "one layer", "words", "determined"):
            return [("because", self.because)]
        if self.connection is not None:
            return self.connection.lines()
        bound = spelled(self.error_bound)
        power = len(spelled(self.error_bound.denominator // self.error_bound.numerator)) - 1
        small = f" = {bound}" if len(bound) < 40 else f" < 10^-{power}"
        return [
            ("evaluations", f"{self.evaluations} at uniformly random integer inputs up to 2^31, exact, all agree"),
            (
                "error bound",
                f"if the functions differ, that happens with probability at most p{small} (Schwartz-Zippel)",
            ),
        ]

    def _agreement(self) -> Lines:
        lines = [("because", self.because)]
        if not self.evaluations:
            return [*lines, ("inputs", "none tried: it takes more exact work than allowed, or S itself is not known")]
        if self.precision is None:
            return [*lines, ("inputs", f"{self.evaluations} random ones, where exact outputs agree")]
        tried = f"{self.evaluations} random ones, where balls of up to {self.precision} bits around the outputs meet"
        far = self.distance
        if far is not None:
            tried += "; outputs are at most " + (f"10^-{_digits(far)} apart" if far < 1 else f"{float(far):.3g} apart")
        return [*lines, ("inputs", tried)]

    def _latex(self) -> str:
        if self.answer is Answer.UNDECIDED:
            return r"\varphi_{W'} \overset{?}{=} \varphi_W"
        if self.answer is Answer.SAME:
            said = r"\varphi_{W'} = \varphi_W"
            if self.symmetry is not None and self.symmetry.between is not None:
                return latex_lines([said, *self.symmetry.formulas()])
            return said if self.connection is None else latex_lines([said, self.connection.formula()])
        if self.input is None or self.outputs is None:
            return r"\varphi_{W'} \ne \varphi_W"
        if self.entry is not None:
            row, token = self.entry
            one, other = (latex_words(str(y[row - 1, token - 1])) for y in self.outputs)
            said = rf"\varphi_W(X)_{{{row},{token}}} = {one} \ne {other} = \varphi_{{W'}}(X)_{{{row},{token}}}"
            return latex_lines([rf"X = {latex_matrix(self.input)}", said])
        first, second = map(latex_matrix, self.outputs)
        x = latex_matrix(self.input)
        return latex_lines([rf"X = {x}", rf"\varphi_W(X) = {first} \ne {second} = \varphi_{{W'}}(X)"])


def _digits(distance: Fraction) -> int:
    """Return the largest `k` with `distance <= 10^-k`, up to 10,000."""
    digits = 0
    while digits < 10_000 and distance * 10 ** (digits + 1) <= 1:
        digits += 1
    return digits
