r"""Weights of a one-head softmax network from its answers alone: Theorem 7 and Lemma 8 of `docs/softmax-fibers.md`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, log2
from typing import Any, Generic

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.errors import BadInput
from lightning_sym.limits import DEFAULT_WORK, Progress, Work
from lightning_sym.network.prices import output_over_sizes
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.balls import precision
from lightning_sym.rings.sizes import Price
from lightning_sym.varieties.black_box_arithmetic import (
    AnsweredQuery,
    BallArithmetic,
    BlackBoxArithmetic,
    ExactArithmetic,
    Interval,
    Measured,
    Rows,
)
from lightning_sym.varieties.black_box_arithmetic import Found as FoundNumber
from lightning_sym.varieties.decimals import answered
from lightning_sym.varieties.jets import unit_vectors
from lightning_sym.varieties.query_plan import FURTHER, QueryPlan, left_out, multipliers
from lightning_sym.varieties.softmax_recovery import Found, SoftmaxRecovery, stands_behind
from lightning_sym.varieties.two_tokens import Line, Vector, last_degree, two_token_form


def recover_from_answers(
    ask: Callable[[Any, int], Any],
    plan: QueryPlan,
    *,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> SoftmaxRecovery:
    r"""Return the weights of a one-head softmax network from what it answers, exact or in rigorous balls.

    Args:
        ask: called as `ask(x, digits)`, `x` the rows of a `d_0 x t` matrix of `Fraction`, all finite decimals; it
            returns the rows of the output, `d_l x t`, as decimals (text) with `digits` digits behind the point, each
            within one in the last of the true number.
        plan: from `query_plan`: how much will be asked, and what is assumed.
        work: seconds that computing may take, by a rough estimate; the time for the answers is not counted.
        progress: called with stage, questions asked and questions planned.

    Returns:
        Weights, if there are some that agree with all answers, and what of them is determined: under the assumptions
        all networks with these answers have these virtual weights. None, if no network meets the assumptions and has
        these answers. Undecided, with what is determined, where a matrix before the last is skew and does not make its
        layer blind, or where balls are too large to go on.

    Raises:
        BadInput: an answer is no matrix of decimals of this size, or has too few digits.
        TooLarge: an estimate exceeds `work`.

    Example:
        >>> from decimal import Decimal
        >>> from lightning_sym import SOFTMAX, Architecture, query_plan
        >>> plan = query_plan(Architecture((1, 1), (1,), 2, SOFTMAX), bound=2, denominators=1)
        >>> def mean(x, digits):        # softmax of zero scores
        ...     half = sum(x[0]) / 2
        ...     return [[f"{Decimal(half.numerator) / half.denominator:.{digits}f}"] * 2]
        >>> print(recover_from_answers(mean, plan))
        network     softmax attention, one head, widths 1,1, ranks 1, tokens 2
        answer      weights
        V~          1
        A~1         0
        determined  all virtual weights
        queries     6, numbers with 8 digits behind the point
        if          it is a network of this kind
        if          the entries of its virtual weights A~i are at most 2 in size; all denominators are at most 1
        if          every number of an answer is within 10^-8 of the true one
        checked     these weights give all 6 answers, 3 of them at tokens not used before; no proof
    """
    require_arguments(recover_from_answers, locals())
    shape = plan.architecture
    price, bits = Price("objects"), ceil(plan.digits * log2(10))
    output_over_sizes(shape, price, bits, bits)
    Work(work).spend(price.repeated(plan.queries).seconds, "comparing the answers")
    if plan.denominators is None:
        return _Conversation(ask, plan, progress, BallArithmetic(plan)).answer()
    return _Conversation(ask, plan, progress, ExactArithmetic(plan)).answer()


class _Conversation(Generic[Measured, FoundNumber]):
    """What was asked, and what is known so far."""

    def __init__(
        self,
        ask: Callable[[Rows, int], Any],
        plan: QueryPlan,
        progress: Progress | None,
        arithmetic: BlackBoxArithmetic[Measured, FoundNumber],
    ) -> None:
        self.ask, self.plan, self.progress, self.arithmetic = ask, plan, progress, arithmetic
        self.shape = plan.architecture
        self.asked: list[AnsweredQuery] = []
        self.error = Fraction(1, 10**plan.digits)
        self.found = Found(self.shape)

    def _ask(self, x: Rows, what: str) -> ObjectArray:
        """Return one question, its answer looked at before anything is computed."""
        rows, columns = self.shape.output_width, self.shape.tokens
        if self.progress is not None:
            self.progress(what, len(self.asked), self.plan.queries)
        reply = self.ask(x, self.plan.digits)
        shape_is_right = (
            isinstance(reply, Sequence)
            and not isinstance(reply, (str, bytes))
            and len(reply) == rows
            and all(isinstance(r, Sequence) and not isinstance(r, (str, bytes)) and len(r) == columns for r in reply)
        )
        if not shape_is_right:
            raise BadInput(f"an answer must be {rows} rows of {columns} decimals, got {shown(reply)}")
        output = np.empty((rows, columns), dtype=object)
        for k, j in np.ndindex(rows, columns):
            output[k, j] = answered(reply[k][j], self.plan.digits)
        self.asked.append(AnsweredQuery(x, output))
        return output

    def _finished(self, recovery: Callable[..., SoftmaxRecovery], *said: str | int) -> SoftmaxRecovery:
        self.found.about = {
            "queries": len(self.asked), "digits": self.plan.digits, "assumptions": self.plan.assumptions,
        }  # fmt: skip
        return recovery(*said)

    def answer(self) -> SoftmaxRecovery:
        """Return the answer, with balls of the precision that the digits need."""
        # where all tokens are equal the output is `V~ x`: the columns of `V~`
        units = unit_vectors(self.shape.input_width)
        outputs = [self._ask(tuple((x,) * self.shape.tokens for x in unit), "asking for V~") for unit in units]
        columns = [list(output[:, 0]) for output in outputs]
        largest = max(abs(y) for column in columns for y in column)
        self.arithmetic.bits += ceil(largest).bit_length()  # no bound of V~ is given: digits behind the point count
        with precision(self.arithmetic.bits):
            return self._answer(columns)

    def _answer(self, columns: list[list[Fraction]]) -> SoftmaxRecovery:
        """Return the answer, found layer by layer, the first one first; `columns` are those of `V~`."""
        found, arithmetic, shape = self.found, self.arithmetic, self.shape
        value = self._value(columns)
        if value is None:
            return self._finished(found.none, "V~ has no entries with such denominators")
        zero = arithmetic.is_zero(value)
        attention: list[ObjectArray] = []
        self._know(attention, value)
        if zero is None:
            why = "V~ is not known well enough to tell it from 0; ask for more digits"
            return self._finished(found.undecided, why, "a V~ that is known to be 0, or not to be")
        for i in range(1, shape.depth + 1) if not zero else ():
            directions = arithmetic.directions(attention, value)
            if len(directions) < shape.input_width:
                seen = f"directions y at which q_j(y), j < {i}, and V~ y are certainly not 0"
                return self._finished(
                    found.undecided,
                    f"A~{i} does not show: there are too few {seen}; ask for more digits",
                    f"{shape.input_width} independent {seen}, got {len(directions)}",
                )
            layer = self._layer(i, directions, attention, value)
            if isinstance(layer, str):
                return self._finished(found.none, layer)
            if not arithmetic.is_known(layer):
                why = f"A~{i} is not known better than by its bound; ask for more digits"
                return self._finished(found.undecided, why, f"terms of degree {last_degree(i)} that show A~{i}")
            attention.append(layer)
            self._know(attention, value)
            if self.plan.denominators is None or i == shape.depth:
                continue  # in balls nothing is known to be zero
            hidden = stands_behind(layer, shape)
            if hidden == "blind":
                break
            if hidden is not None:
                why = "two distinct tokens do not show the layers behind it, though the function may determine them"
                return self._finished(found.skew, i, why)
        for x in self._further():
            self._ask(x, "comparing")
        if (number := self.arithmetic.disagrees(attention, value, self.asked)) is not None:
            return self._finished(
                found.none, f"the only virtual weights that are possible have another output at question {number + 1}"
            )
        exact = self.plan.denominators is not None
        what = "these weights give" if exact else "the outputs of weights in these balls, enclosed, contain"
        said = f"{what} all {len(self.asked)} answers, {FURTHER} of them at tokens not used before; no proof"
        return self._finished(found.weights, said)

    def _know(self, attention: Sequence[ObjectArray], value: ObjectArray) -> None:
        self.found.attention, self.found.value, self.found.radius = self.arithmetic.shown(attention, value)

    def _value(self, columns: list[list[Fraction]]) -> ObjectArray | None:
        """Return `V~`, or `None` where no entries have denominators that are allowed."""
        entries = [[self.arithmetic.entry(Interval(y, self.error)) for y in column] for column in columns]
        if any(entry is None for column in entries for entry in column):
            return None
        return np.array(entries, dtype=object).T

    def _layer(
        self, i: int, directions: list[tuple[int, ...]], attention: list[ObjectArray], value: ObjectArray
    ) -> ObjectArray | str:
        """Return the matrix of a layer, or why there is none."""
        t, d = self.shape.tokens, self.shape.input_width
        arithmetic, wanted = self.arithmetic, 3 ** (i - 1)
        form = two_token_form(self.plan.architecture.normalization, t)  # type: ignore[arg-type]
        rows = []
        for direction in directions:
            y: Vector = tuple(Fraction(t * x) for x in direction)
            values = []
            for mean in unit_vectors(d):
                line = Line(mean, y, t, last_degree(i), balls=self.plan.denominators is None)
                for known in attention:
                    line.attend(known, form)
                measured = self._coefficient(i, line, value)
                factor = Fraction(t - 1, t)  # y is t times the direction
                entry = arithmetic.product(measured, line.sigma(2 * wanted), line.leading(i - 1), factor)
                if entry is None:
                    return f"the terms of degree {last_degree(i)} are those of no matrix A~{i} with such denominators"
                values.append(entry)
            rows.append(values)
        return arithmetic.matrix(directions, rows, f"A~{i}")

    def _coefficient(self, i: int, line: Line, value: ObjectArray) -> Measured:
        r"""Return the coefficient of $\varepsilon^{2 \cdot 3^{i-1}}$ in $\sigma_l$ along a line, enclosed."""
        nodes, t, arithmetic = self.plan.nodes[i - 1], self.shape.tokens, self.arithmetic
        y, m = (np.array(v, dtype=object) for v in (line.difference, line.mean))
        row = arithmetic.best_row(value, y)
        enclosed = []
        for j in range(1, nodes.size + 1):
            step = Fraction(j, 10**nodes.places)
            first, second = step * (m + y * Fraction(t - 1, t)), step * (m - y * Fraction(1, t))
            output = self._ask(
                tuple((a, *[b] * (t - 1)) for a, b in zip(first, second, strict=True)), f"asking for A~{i}"
            )
            mean = Interval(Fraction(sum(output[row])) / (t * step), self.error / step)
            enclosed.append(arithmetic.sigma(mean, value[row], m, y, left_out(nodes, j, self.plan.radius_squared)))
        return arithmetic.combined(enclosed, multipliers(nodes, 3 ** (i - 1)))

    def _further(self) -> Iterator[Rows]:
        """Yield questions at tokens that are all different."""
        source = random.Random("further questions")
        d, t = self.shape.input_width, self.shape.tokens
        for _ in range(FURTHER):
            yield tuple(tuple(Fraction(source.randint(-999, 999), 1000) for _ in range(t)) for _ in range(d))
