r"""The learning coefficient of a network at its weights: exact where a theorem applies, else between two bounds.

Theorems are asked in their order (docs/learning-coefficients.md): one lightning layer (6 and 8), one softmax layer of
heads (9), lightning with
skip connections whose layers are seen (14), softmax whose words are (13), any network whose circuits are seen up to
symmetries (5). Where none applies, $\lambda$ lies between half the
rank of the Jacobian and half of the number of weights less the dimension of their fiber (Proposition 3); where these
meet it is exact too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.ask import TestedNeed, TheoremRow, ask, failing, paid_by_steps
from lightning_sym.coefficients.any_depth import seen_by_conditions, seen_by_ranks
from lightning_sym.coefficients.coefficient import LearningCoefficient
from lightning_sym.coefficients.lightning_layer import PAGE, SQUARE, Proved, one_token, square, two_tokens
from lightning_sym.coefficients.reduced_rank import LocalPair
from lightning_sym.coefficients.seen_circuits import KNOWN, AtWeights, Finder
from lightning_sym.coefficients.softmax_layer import seen_heads
from lightning_sym.coefficients.two_bounds import two_bounds
from lightning_sym.coefficients.zero_functions import from_layer_to_layer, of_constant_strings, without_ends
from lightning_sym.errors import BadInput
from lightning_sym.fibers.answer import AskedFiber
from lightning_sym.fibers.layer_tensors import lines_price
from lightning_sym.fibers.tensor_hypotheses import THEOREM_1, WIDEST
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.pieces import layer_names
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.stream_pieces import pieces_at_streams
from lightning_sym.network.weights import Weights
from lightning_sym.rings.normalization import SOFTMAX

with lazy_imports(__name__):  # weights need none of what polynomials do
    from lightning_sym.coefficients import polynomials


def _lightning_layer(question: AtWeights) -> Proved | str:
    ((head,),) = question.net.layers
    found = one_token(head) if question.shape.tokens == 1 else two_tokens(head)
    if found == SQUARE:
        question.bounded(square(head).value, None, "Theorem 8")
    return found


def _softmax_layer(question: AtWeights) -> Proved | str:
    (heads,) = question.net.layers
    return seen_heads(question.shape.head_names(1), heads, question.shape.tokens)


def _by_layers(question: AtWeights) -> Proved | str:
    """Return the sum over the layers, each alone, of lightning with skip connections (Theorem 14)."""
    weights, shape, budget = question.weights, question.shape, question.budget
    asked = AskedFiber(weights, shape.tokens, budget, question.seed, question.memory, None)
    if shape.widths[0] <= WIDEST and not budget.begins(lines_price(shape), "layer tensors"):
        return "more work than allowed"
    if (why := failing(asked, THEOREM_1)) is not None:
        return why
    ends = sum(matrix.size for name, matrix in weights.matrices.items() if name in question.net.ends)
    pair = LocalPair.coordinates(ends).without(shape.widths[0] ** 2 if _ends(question) == 2 else 0)
    ranks, least, undecided = dict[str, int](), pair.value, ""
    for i in range(1, shape.depth + 1):
        names = zip(layer_names(shape, 1), layer_names(shape, i), strict=True)
        layer = {first: weights.matrices[name] for first, name in names}
        found = coefficient_within(Weights.of(layer), 2, budget, seed=question.seed, memory=question.memory)
        least += found.lower
        if found.value is None or found.multiplicity is None:
            undecided = undecided or f"of layer {i} alone it is between {found.lower} and {found.upper}"
            continue
        pair += LocalPair(found.value, found.multiplicity)
        ranks |= {f"layer {i}, {name}": rank for name, rank in found.ranks.items()}
    question.least = least
    return undecided or Proved(pair, f"{PAGE}, Theorem 14", ranks)


def _part(question: AtWeights, weights: Weights) -> LearningCoefficient:
    """Return what is known of another network with as many tokens, within the same budget."""
    tokens, seed = question.shape.tokens, question.seed
    return coefficient_within(weights, tokens, question.budget, seed=seed, memory=question.memory)


def _without_ends(shape: Architecture) -> bool:
    """Return whether it is one layer between the inputs and the outputs."""
    return shape.depth == 1 and shape.embed is None and shape.unembed is None


def _is_deep_softmax(question: AtWeights) -> bool:
    shape = question.shape
    return shape.normalization is not None and shape.tokens > 1 and not _without_ends(shape)


def _is_deep_lightning(question: AtWeights) -> bool:
    shape = question.shape
    return shape.normalization is None and shape.skip and shape.tokens > 1 and not _without_ends(shape)


def _is_lightning_layer(question: AtWeights) -> bool:
    shape = question.shape
    return _without_ends(shape) and shape.normalization is None and shape.heads == 1


def _ends(question: AtWeights) -> int:
    """Return how many ends the network has: an embedding, an unembedding, or both."""
    return sum(end is not None for end in (question.shape.embed, question.shape.unembed))


def _sees_a_product(question: AtWeights) -> bool:
    shape, ends = question.shape, _ends(question)
    if shape.normalization is not None and not (shape.skip and shape.value_ranks is not None):
        return True
    return shape.skip and ends != 1 and (shape.normalization is not None or bool(ends))


def _row(number: str, about: Callable[[AtWeights], bool], finder: Finder) -> TheoremRow[AtWeights, Proved]:
    """Return the row of a theorem whose hypotheses are tested by what applies it, which says what is wrong."""
    return TheoremRow(
        f"{PAGE}, {number}",
        about,
        paid_by_steps,
        lambda question: cast(Proved, question.proved_by(finder)),
        needs=(
            TestedNeed(
                "what the theorem asks for",
                lambda question: None if isinstance(found := question.proved_by(finder), Proved) else found,
            ),
        ),
    )


THEOREMS = (
    _row("Theorem 6", lambda question: _is_lightning_layer(question) and question.shape.tokens > 1, _lightning_layer),
    _row("Theorem 8", lambda question: _is_lightning_layer(question) and question.shape.tokens == 1, _lightning_layer),
    _row(
        "Theorem 9",
        lambda question: _without_ends(question.shape) and question.shape.normalization is not None,
        _softmax_layer,
    ),
    _row("Theorem 14", _is_deep_lightning, _by_layers),
    _row("Theorem 13", _is_deep_softmax, seen_by_conditions),
    _row("Theorem 5", lambda question: True, seen_by_ranks),
    _row(
        "Proposition 15",
        lambda question: not question.shape.skip and bool(_ends(question)),
        partial(without_ends, part=_part),
    ),
    _row(
        "Proposition 16",
        lambda question: not question.shape.skip or (question.shape.normalization is None and not _ends(question)),
        partial(from_layer_to_layer, part=_part),
    ),
    _row("Proposition 17", _sees_a_product, of_constant_strings),
)
"""In the order in which they are asked."""


def about(shape: Architecture) -> str:
    """Return what the coefficient is of, in words.

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
    """Return the network whose outputs are those of another one less its last output: all that softmax of them shows.

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
    form = weights.form
    *_, last = pieces_at_streams(shape)
    if shape.unembed is None:
        if shape.skip and (shape.depth > 1 or shape.embed is not None):
            raise BadInput("the divergence of outputs with skip connections is known of one layer, or with unembedding")
        form = replace(form, skip=False)  # it adds what no weight changes
    matrices, names = dict(weights.matrices), [piece.name for piece in last.readers or last.writers]
    return Weights.of(matrices | {name: matrices[name][:-1] - matrices[name][-1:] for name in names}, form)


def learning_coefficient(
    weights: Weights | PolynomialMap | str | Sequence[Any],
    tokens: int = 2,
    *,
    at: Mapping[str, Any] | None = None,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
    loss: str = "squared",
) -> LearningCoefficient:
    r"""Return the learning coefficient $\lambda$ and the multiplicity $m$ of a network at its weights.

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
        return polynomials.polynomial_coefficient(weights, at, work=work, memory=memory, progress=progress)
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
    """Return the same within a budget that others spend too.

    Raises:
        BadInput: another normalization, or letters.
        TooLarge: estimates exceed the budget or `memory`.
    """
    weights.require_numbers("the learning coefficient")
    shape = weights.architecture(tokens)
    shape.require("the learning coefficient", KNOWN)
    if shape.normalization not in (None, SOFTMAX):
        raise BadInput(f"the network must be lightning attention or normalized by softmax, got {shape}")
    question = AtWeights(weights, shape, budget, seed, memory)
    found, tried = ask(question, THEOREMS, budget)
    if found is None:
        return replace(two_bounds(question), about=about(shape), tried=tried)
    pair = found.pair
    value, ranks = pair.value, found.ranks
    return LearningCoefficient(value, value, pair.multiplicity, found.proof, about(shape), ranks, tried=tried)
