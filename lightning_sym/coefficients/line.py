r"""Learning coefficients along a line of weights, and at which weights of it they fall, exactly.

For one lightning layer with two tokens or more the coefficient is a function of a few ranks, which on $(1 - s) A + s B$
are constant but for the common roots of minors. These are found and the coefficient is computed at each
(docs/learning-coefficients.md, Proposition 10). Of other networks the line is only asked at its steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import count, groupby

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.coefficients.at_weights import about, coefficient_within
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.lightning_layer import PAGE, Proved, two_tokens
from lightning_sym.coefficients.seen_circuits import KNOWN, ranks_cost
from lightning_sym.display import Lines, Result
from lightning_sym.errors import BadInput, ShapeError, no_truth_value
from lightning_sym.exact.polynomial_matrices import AtRoot, PolynomialMatrix, Root
from lightning_sym.fibers.cost import entry_bits
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadOver, layer_heads

MOST_STEPS = 10_000
"""Steps of a line, and weights along a path."""

RANKS = 2e-8
"""Seconds for all ranks at a root, by the cube of the size and the bits of a number; measured, and rough."""

WHOLE_LINE = f"{PAGE}, Proposition 10"


@dataclass(frozen=True, eq=False, repr=False)
class PathPoint(Result):
    """Weights on a path and their learning coefficient.

    Attributes:
        place: in words: the number `s`, an interval that it lies in, or the name of a file.
        coefficient: there.
    """

    place: str
    coefficient: LearningCoefficient

    def lines(self) -> Lines:
        """Return the place, and what is found there."""
        return [(self.place, _in_words(self.coefficient))]


@no_truth_value("line.drops")
@dataclass(frozen=True, eq=False, repr=False)
class CoefficientPath(Result):
    r"""Learning coefficients along a path of weights.

    Attributes:
        points: the weights that were asked for, in their order.
        generic: of a line, the coefficient at all of its weights but those of `drops`; `None` where that is not known.
        drops: of a line, all weights with another coefficient; `s` is 0 at the first and 1 at the last weights.
    """

    points: tuple[PathPoint, ...]
    generic: LearningCoefficient | None = None
    drops: tuple[PathPoint, ...] = ()

    def lines(self) -> Lines:
        """Return the lines as the command `coefficient` prints them."""
        lines = [("generic", _in_words(self.generic))] if self.generic is not None else []
        lines += [(f"at {point.place}", _in_words(point.coefficient)) for point in self.drops]
        if self.generic is not None:
            lines += [("", "at no other s from 0 to 1"), ("proof", WHOLE_LINE)]
        for network, points in groupby(self.points, lambda point: point.coefficient.about):
            lines += [("about", network), *_steps([*points])]
        return lines

    @property
    def certified(self) -> bool:
        """Whether all of it is exact."""
        found = [point.coefficient for point in (*self.points, *self.drops)]
        return all(each.certified for each in ([] if self.generic is None else [self.generic]) + found)


def _in_words(coefficient: LearningCoefficient) -> str:
    return coefficient.lines()[0][1]


def _steps(points: Sequence[PathPoint]) -> Lines:
    """Return the points as a plot of steps: equal ones next to each other are one line."""
    lines, start = Lines(), 0
    for end in range(1, len(points) + 1):
        if end < len(points) and _in_words(points[end].coefficient) == _in_words(points[start].coefficient):
            continue
        first, last = points[start].place, points[end - 1].place
        place = first if start == end - 1 else f"{first} to {last}"
        lines.append((place, _in_words(points[start].coefficient)))
        start = end
    return lines


def coefficients_between(
    first: Weights,
    second: Weights,
    tokens: int = 2,
    *,
    steps: int = 10,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> CoefficientPath:
    r"""Return the learning coefficients at $(1 - s) A + s B$, $0 \le s \le 1$.

    Args:
        first: $A$.
        second: $B$, of the same shape and form.
        tokens: $t$.
        steps: in how many parts the line is cut; it is asked at all ends of these.
        seed: picks points and inputs; no answer is wrong for any.
        memory: bytes that the circuits may take.
        work: seconds that exact work may take, by a rough estimate made before each step.
        progress: called with stage, steps done and steps in all.

    Raises:
        ShapeError: the two are different networks.
        TooLarge: estimates exceed `work`.

    Example:
        >>> w = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[1, 0], [0, 1]]}
        >>> line = coefficients_between(Weights.of(w), Weights.of(w | {"Q1": [[-2, -4]]}), steps=2)
        >>> line.generic.value, [(point.place, point.coefficient.value) for point in line.drops]
        (Fraction(3, 1), [('s = 1/3', Fraction(1, 1))])
    """
    require_arguments(coefficients_between, locals())
    require_integer(tokens, "the number of tokens", 1)
    require_integer(seed, "the seed")
    require_integer(steps, "the number of steps", 1, MOST_STEPS)
    for weights in (first, second):
        weights.require_numbers("a line of weights")
    shape = first.architecture(tokens)
    if (other := second.architecture(tokens)) != shape:
        raise ShapeError(f"both ends of a line must be weights of one network, got {shape} and {other}")
    shape.require("the learning coefficient", KNOWN)
    budget = Work(work, progress)
    places = [Fraction(step, steps) for step in range(steps + 1)]
    named = ((f"s = {s}", _between(first, second, s)) for s in places)
    points = _coefficients_of(named, len(places), tokens, seed, memory, budget)
    if shape.depth > 1 or shape.heads > 1 or shape.normalization is not None or tokens == 1:
        return CoefficientPath(points)
    if shape.embed is not None or shape.unembed is not None:
        return CoefficientPath(points)
    generic, drops = _exact_line(first, second, shape, budget)
    return CoefficientPath(points, generic, drops)


def coefficients_of(
    path: Mapping[str, Weights],
    tokens: int = 2,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> CoefficientPath:
    r"""Return the learning coefficient at each of some weights, such as those of a training run.

    Args:
        path: weights by what they are called, in their order.
        tokens: $t$.
        seed: picks points and inputs; no answer is wrong for any.
        memory: bytes that the circuits may take.
        work: seconds that exact work may take, by a rough estimate made before each step.
        progress: called with stage, steps done and steps in all.

    Raises:
        BadInput: as for `learning_coefficient`.
        TooLarge: estimates exceed `work` or `memory`.

    Example:
        >>> w = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]}
        >>> path = coefficients_of({"a": Weights.of(w), "b": Weights.of(w | {"Q1": [[0, 0]]})})
        >>> [(point.place, str(point.coefficient.value)) for point in path.points]
        [('a', '2'), ('b', '1')]
    """
    require_arguments(coefficients_of, locals())
    require_integer(tokens, "the number of tokens", 1)
    require_integer(seed, "the seed")
    given: Mapping[str, object] = path
    if wrong := [name for name, weights in given.items() if not isinstance(weights, Weights)]:
        raise BadInput(f"a path must have Weights at every place, got {shown(path[wrong[0]])} at {shown(wrong[0])}")
    return CoefficientPath(_coefficients_of(path.items(), len(path), tokens, seed, memory, Work(work, progress)))


def _coefficients_of(
    named: Iterable[tuple[str, Weights]], count: int, tokens: int, seed: int, memory: int, budget: Work
) -> tuple[PathPoint, ...]:
    """Return the coefficient at each of some weights; all of them share the budget."""
    points = []
    for done, (name, weights) in enumerate(named):
        budget.tell("the coefficient along the path", done, count)
        points.append(PathPoint(name, coefficient_within(weights, tokens, budget, seed=seed, memory=memory)))
    return tuple(points)


def _between(first: Weights, second: Weights, s: Fraction) -> Weights:
    matrices = {name: (1 - s) * first[name] + s * second[name] for name in first.matrices}
    return Weights.of(matrices, first.form)


def _exact_line(
    first: Weights, second: Weights, shape: Architecture, budget: Work
) -> tuple[LearningCoefficient | None, tuple[PathPoint, ...]]:
    """Return the coefficient in general, and all weights where it is another one; `None` where that takes too long."""
    bits = max(entry_bits(first).values()) + max(entry_bits(second).values())
    degrees = 2 * max(*shape.widths, *shape.attention_ranks) + 3
    if not budget.allows(seconds := 10 * degrees * ranks_cost(first, shape)):
        return None, ()
    budget.spend(seconds, "ranks along the whole line")
    held = {
        name: PolynomialMatrix.line(*(RationalMatrix.of(weights.held(name)) for weights in (first, second)))
        for name in first.matrices
    }
    (head,) = layer_heads(shape, 1, held.__getitem__)
    roots = {root.coefficients: root for root in _suspects(head)}
    usual = next(s for s in count() if (Fraction(-s), Fraction(1)) not in roots)
    generic = _answer(two_tokens(head.each(lambda matrix: matrix.at(usual))), shape)
    drops = []
    if not budget.allows(seconds := sum(_rank_cost(root, shape, bits) for root in roots.values())):
        return None, ()
    budget.spend(seconds, "ranks at the roots of minors")
    for root in sorted(roots.values(), key=lambda root: root.intervals):
        found = _answer(two_tokens(head.each(partial(AtRoot, root=root))), shape)
        if (found.lower, found.upper, found.multiplicity) != (generic.lower, generic.upper, generic.multiplicity):
            drops += [PathPoint(place, found) for place in _places(root)]
    return generic, tuple(drops)


def _rank_cost(root: Root, shape: Architecture, bits: int) -> float:
    """Return seconds for the ranks at a root: its companion matrix stands in place of each number."""
    size = (len(root.coefficients) - 1) * max(*shape.widths, *shape.attention_ranks)
    longest = max(max(abs(c.numerator), c.denominator).bit_length() for c in root.coefficients)
    return RANKS * float(size) ** 3 * (bits + longest)


def _suspects(head: HeadOver[PolynomialMatrix]) -> Iterator[Root]:
    """Yield all numbers from 0 to 1 where a rank that the coefficient depends on may be another one."""
    factors = [head.query, head.key, head.attention]
    factors += [] if head.output is None else [head.output, head.inner_value, head.value]
    for matrix in factors:
        if rank := matrix.generic_rank():
            yield from matrix.drops(rank)
    if head.output is None and head.value.generic_rank():
        yield from head.value.drops(1)  # of values alone only zero counts, and rank one where scores are parallel
    both = head.value.above(head.attention.mT)
    if both.generic_rank() > 1:
        yield from both.drops(2)


def _places(root: Root) -> Iterator[str]:
    if root.rational is not None:
        yield f"s = {root.rational}"
        return
    for low, high in root.intervals:
        yield f"{low} < s < {high}, {root.polynomial} = 0"


def _answer(found: Proved | str, shape: Architecture) -> LearningCoefficient:
    """Return what a theorem says of the layer; else all that is known without looking at it."""
    if isinstance(found, str):
        return LearningCoefficient(Fraction(0), Fraction(shape.parameter_count, 2), None, found, about(shape))
    pair = found.pair
    return LearningCoefficient(pair.value, pair.value, pair.multiplicity, found.proof, about(shape), found.ranks)
