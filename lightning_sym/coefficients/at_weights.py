r"""The learning coefficient of a network at its weights: exact where a theorem applies, else between two bounds.

Theorems are asked in their order (docs/learning-coefficients.md): one lightning layer (6 and 8), one softmax layer of
heads (9), any network whose circuits are seen up to symmetries (5). Where none applies, $\lambda$ lies between half the
rank of the Jacobian and half of the number of weights less the dimension of their fiber (Proposition 3); where these
meet it is exact too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.ask import FellShort, TheoremRow, ask, paid_by_steps
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.head_groups import HeadGroup
from lightning_sym.coefficients.lightning_layer import PAGE, Proved, one_token, two_tokens
from lightning_sym.coefficients.local_pairs import NOTHING, LocalPair
from lightning_sym.coefficients.polynomials import polynomial_coefficient
from lightning_sym.coefficients.seen_circuits import KNOWN, seen_up_to_symmetries
from lightning_sym.coefficients.softmax_layer import seen_heads
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.exact.inertia import inertia_cost
from lightning_sym.fibers.asked_fiber import AskedFiber
from lightning_sym.fibers.cost import entry_bits, number_bits
from lightning_sym.fibers.fiber import fiber_within
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.fibers.plain_differential import differential_rank
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer, require_memory
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.prices import weights_over_sizes
from lightning_sym.network.weights import Weights
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.sizes import Price
from lightning_sym.system.circuits import NetworkCircuits

with lazy_imports(__name__):
    import sympy

BYTES_AN_ENTRY = 300
"""Of a matrix of rationals, beside its digits."""

Finder = Callable[["AtWeights"], Proved | str]


@dataclass(eq=False)
class AtWeights:
    """A network at its weights, whose learning coefficient is asked.

    Attributes:
        weights: exact.
        shape: their architecture, with its tokens.
        budget: of exact work.
        seed: picks inputs.
        found: what theorems said, each asked once.
    """

    weights: Weights
    shape: Architecture
    budget: Work
    seed: int
    found: dict[Finder, Proved | str] = field(default_factory=dict)

    @cached_property
    def net(self) -> NetworkCircuits:
        """The circuits, over the rationals."""
        return NetworkCircuits.of(self.weights).in_memory()

    def names(self, layer: int) -> list[str]:
        """What stands behind the letters of the heads of a layer."""
        return [self.shape.head_name(layer, h) for h in range(1, self.shape.heads + 1)]

    def proved_by(self, finder: Finder) -> Proved | str:
        """What a theorem proves, or why it does not apply."""
        if finder not in self.found:
            self.found[finder] = finder(self)
        return self.found[finder]


@dataclass(frozen=True)
class Applies:
    """The hypotheses of a theorem, which whoever applies it tests."""

    finder: Finder

    def failing(self, question: AtWeights) -> str | None:
        """Why the theorem does not apply, where it does not."""
        found = question.proved_by(self.finder)
        return found if isinstance(found, str) else None


def _lightning_layer(question: AtWeights) -> Proved | str:
    ((head,),) = question.net.layers
    return one_token(head) if question.shape.tokens == 1 else two_tokens(head)


def _softmax_layer(question: AtWeights) -> Proved | str:
    (heads,) = question.net.layers
    return seen_heads(question.names(1), heads, question.shape.tokens)


def _seen(question: AtWeights) -> Proved | str:
    return seen_up_to_symmetries(question.weights, question.shape, question.net, question.budget, question.seed)


def _without_ends(shape: Architecture) -> bool:
    """Whether it is one layer between the inputs and the outputs."""
    return shape.depth == 1 and shape.embed is None and shape.unembed is None


def _is_softmax_layer(question: AtWeights) -> bool:
    return _without_ends(question.shape) and question.shape.normalization is not None


def _is_lightning_layer(question: AtWeights) -> bool:
    shape = question.shape
    return _without_ends(shape) and shape.normalization is None and shape.heads == 1


def _row(number: str, about: Callable[[AtWeights], bool], finder: Finder) -> TheoremRow[AtWeights, Proved]:
    def prove(question: AtWeights) -> Proved | None:
        found = question.proved_by(finder)
        return found if isinstance(found, Proved) else None

    return TheoremRow(f"{PAGE}, {number}", about, paid_by_steps, prove, needs=(Applies(finder),))


THEOREMS = (
    _row("Theorem 6", lambda question: _is_lightning_layer(question) and question.shape.tokens > 1, _lightning_layer),
    _row("Theorem 8", lambda question: _is_lightning_layer(question) and question.shape.tokens == 1, _lightning_layer),
    _row("Theorem 9", _is_softmax_layer, _softmax_layer),
    _row("Theorem 5", lambda question: True, _seen),
)
"""In the order in which they are asked."""


def ranks_cost(weights: Weights, shape: Architecture) -> float:
    """Seconds for the circuits of all heads, and for the ranks of their factors and products.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> ranks_cost(w, w.architecture(2)) < 0.001
        True
    """
    price, names = Price("rationals"), [name for name, _ in shape.weight_shapes()]
    sizes = dict(zip(names, weights_over_sizes(shape, price, *number_bits(weights)), strict=True))
    for matrix in sizes.values():
        matrix.read()
        matrix.rank()
    for name in (name[1:] for name in names if name[0] == "Q"):
        (sizes["K" + name].mT @ sizes["Q" + name]).rank()
        if "O" + name in sizes:
            (sizes["O" + name] @ sizes["V" + name]).rank()
    forms = inertia_cost(shape.widths[0], max(entry_bits(weights).values())) if shape.tokens == 1 else 0.0
    return price.seconds + forms


def two_bounds(question: AtWeights) -> LearningCoefficient:
    """Bounds at any weights, by Proposition 3 of the page.

    Args:
        question: the network.
    """
    parameters, rank, fiber = question.shape.parameter_count, 0, 0
    for more_rank, more_fiber in _dimensions(question):
        rank, fiber = max(rank, more_rank), max(fiber, more_fiber)
        if rank + fiber == parameters:
            break
    lower, upper = Fraction(rank, 2), min(Fraction(parameters - fiber, 2), _factors(question).value)
    ranks = {"weights": parameters, "rank of the Jacobian": rank, "dimension of the fiber": fiber}
    return LearningCoefficient(lower, upper, 1 if lower == upper else None, f"{PAGE}, Proposition 3", "", ranks)


def _dimensions(question: AtWeights) -> Iterator[tuple[int, int]]:
    """Lower bounds of the rank of the Jacobian, and of the dimension of the fiber."""
    weights, shape, budget = question.weights, question.shape, question.budget
    parameters = shape.parameter_count
    near = local_dimension(weights, shape.tokens, seed=question.seed, budget=budget)
    if near is not None:
        yield parameters - near.upper, near.lower
    if shape.normalization is not None or shape.heads > 1:
        return
    try:
        if shape.is_plain:
            generic = virtual_weight_variety(shape).dimension
            yield differential_rank(weights, shape.tokens, generic, budget) or 0, 0
        found = fiber_within(AskedFiber(weights, shape.tokens, budget, question.seed, DEFAULT_MEMORY, None)).near
    except TooLarge:
        return
    if found is not None:
        yield 0, found.lower


def _factors(question: AtWeights) -> LocalPair:
    """The pair of all circuits: the function is in the ideal of these, so its coefficient is no larger."""
    pair = NOTHING
    for i, heads in enumerate(question.net.layers, start=1):
        for name, head in zip(question.names(i), heads, strict=True):
            pair += HeadGroup((name,), (head,)).seen()[0]
    ends = (question.weights.matrices[name] for name in "EU" if name in question.weights.matrices)
    return pair + LocalPair.coordinates(sum(end.size for end in ends))


def about(shape: Architecture) -> str:
    """What the coefficient is of, in words.

    Example:
        >>> about(Architecture((2, 1), (1,), 2)).split(", for ")[1]
        'inputs with a density and finite moments of order 2 * 3^1'
    """
    shape.require("what a learning coefficient is of", KNOWN)
    inputs = f"a density and finite moments of order 2 * 3^{shape.depth}"
    if shape.normalization is not None:
        inputs = "a density on a bounded set"
    return f"of the mean squared error of {network_line(shape)}, for inputs with {inputs}"


LOSSES = ("squared", "kl")
"""What a coefficient is of: the mean squared error, or the divergence of Kullback and Leibler behind a softmax."""


def output_differences(weights: Weights, shape: Architecture) -> Weights:
    """The network whose outputs are those of another one less its last output: all that softmax of them shows.

    Args:
        weights: exact weights.
        shape: their architecture.

    Raises:
        BadInput: there is one output, or the outputs are added to a stream that weights make.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[1, 0], [2, 0]]})
        >>> output_differences(w, w.architecture(2))["V1"].tolist()
        [[Fraction(-1, 1), Fraction(0, 1)]]
    """
    weights.require_numbers("differences of outputs")
    shape.require("differences of outputs", KNOWN)
    if (shape.unembed or shape.widths[-1]) < 2:
        raise BadInput("behind a softmax there must be two outputs or more, got 1")
    last, form = shape.depth, weights.form
    names = ["U"]
    if shape.unembed is None:
        if shape.skip and (last > 1 or shape.embed is not None):
            raise BadInput("the divergence of outputs with skip connections is known of one layer, or with unembedding")
        letter = "V" if shape.value_ranks is None else "O"
        names = [letter + shape.head_name(last, h) for h in range(1, shape.heads + 1)]
        form = replace(form, skip=False)  # it adds what no weight changes
    matrices = dict(weights.matrices)
    return Weights.of(matrices | {name: matrices[name][:-1] - matrices[name][-1:] for name in names}, form)


def learning_coefficient(
    weights: Weights | PolynomialMap | str | Sequence[sympy.Expr],
    tokens: int = 2,
    *,
    at: Mapping[str, Any] | None = None,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
    loss: str = "squared",
) -> LearningCoefficient:
    r"""The learning coefficient $\lambda$ and the multiplicity $m$ of a network at its weights.

    They are those of the squared distance to the function of these weights, by all weights that the network has.
    Lightning layers with one head have an exact answer at almost every weights, other networks wherever their circuits
    are seen up to symmetries; elsewhere the answer is two bounds.

    Args:
        weights: exact weights; lightning or softmax, any heads, mask, skip connections, embeddings. Or polynomials, as
            `polynomial_coefficient` takes them: then the squares of these are summed.
        tokens: $t$.
        at: of polynomials, the point.
        seed: picks points and inputs; no answer is wrong for any.
        memory: bytes that the circuits may take.
        work: seconds that exact work may take, by a rough estimate made before each step.
        progress: called with stage, steps done and steps in all.
        loss: `squared`, or `kl`: the divergence of Kullback and Leibler of softmax of the outputs, for bounded inputs.

    Raises:
        BadInput: another normalization, letters, or no tokens; or for `kl` one output, or a skip connection at the end.
        TooLarge: estimates exceed `work` or `memory`.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[1, 0], [2, 0]]})
        >>> found = learning_coefficient(w)
        >>> print(found.value, found.multiplicity, found.proof)
        11/4 1 docs/learning-coefficients.md, Theorem 6, case 2
    """
    require_arguments(learning_coefficient, locals())
    if not isinstance(weights, Weights):
        if loss != LOSSES[0]:
            raise BadInput(f"of polynomials the loss must be squared, got {shown(loss)}")
        return polynomial_coefficient(weights, at, work=work, memory=memory, progress=progress)
    if at is not None:
        raise BadInput("a point is given for polynomials; weights are one themselves")
    require_integer(seed, "the seed")
    require_integer(tokens, "the number of tokens", 1)
    if loss not in LOSSES:
        raise BadInput(f"the loss must be one of {', '.join(LOSSES)}, got {shown(loss)}")
    budget = Work(work, progress)
    if loss == LOSSES[0]:
        return coefficient_within(weights, tokens, budget, seed=seed, memory=memory)
    weights.require_numbers("the learning coefficient")
    shape = weights.architecture(tokens)
    found = coefficient_within(output_differences(weights, shape), tokens, budget, seed=seed, memory=memory)
    said = f"of the Kullback-Leibler divergence of softmax of the outputs of {network_line(shape)}"
    proof = f"{found.proof}, of differences of outputs (Proposition 12)"
    return replace(found, about=f"{said}, for inputs with a density on a bounded set", proof=proof)


def coefficient_within(
    weights: Weights, tokens: int, budget: Work, *, seed: int = 0, memory: int = DEFAULT_MEMORY
) -> LearningCoefficient:
    """The same within a budget that others spend too.

    Raises:
        BadInput: another normalization, or letters.
        TooLarge: estimates exceed the budget or `memory`.
    """
    weights.require_numbers("the learning coefficient")
    shape = weights.architecture(tokens)
    shape.require("the learning coefficient", KNOWN)
    if shape.normalization not in (None, SOFTMAX):
        raise BadInput(f"the network must be lightning attention or normalized by softmax, got {shape}")
    entries = sum(shape.heads * (before**2 + before * max(shape.widths)) for before in shape.widths)
    require_memory(entries * (BYTES_AN_ENTRY + sum(number_bits(weights)[0].values())), memory, "the circuits")
    budget.spend(ranks_cost(weights, shape), "exact ranks of the weights")
    question = AtWeights(weights, shape, budget, seed)
    found, tried = ask(question, THEOREMS, budget)
    if found is None:
        return _with_reasons(two_bounds(question), shape, tried)
    pair = found.pair
    value, ranks = pair.value, found.ranks
    return LearningCoefficient(value, value, pair.multiplicity, found.proof, about(shape), ranks, tried=tried)


def _with_reasons(
    bounds: LearningCoefficient, shape: Architecture, tried: tuple[FellShort, ...]
) -> LearningCoefficient:
    """Bounds with what they are of, and why no theorem says more."""
    return replace(bounds, about=about(shape), tried=tried)
