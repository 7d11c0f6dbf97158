"""All weights with the same function: the fiber through given weights, of every kind of network."""

from __future__ import annotations

from dataclasses import replace

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import LaterRows, Need, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.errors import proved_to_be
from lightning_sym.fibers.answer import AT_LEAST, AskedFiber, Fiber, symmetry_generators
from lightning_sym.fibers.real_components import RealComponents, counting_cost, of_lightning, unknown
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.weights import Weights

# each kind of network has files of its own, which the others need not load
with lazy_imports(__name__):
    from lightning_sym.fibers import lightning_fiber, plain_fiber, softmax_fiber

_ONE_HEAD = Need("one head", lambda asked: asked.shape.heads == 1, lambda asked: str(asked.shape.heads))
_ONE_LAYER = Need("one layer", lambda asked: asked.shape.depth == 1, lambda asked: str(asked.shape.depth))
_MASK_ALONE = Need("a mask and nothing else added", lambda asked: asked.shape.options == {"causal"})
_NEAR = "docs/fibers-near-weights.md"


def _symmetries(asked: AskedFiber) -> Fiber:
    """Return what is known of all lightning networks."""
    asked.weights.require_numbers("the fiber")
    generators = symmetry_generators(asked.shape)
    return Fiber(asked.shape, "the symmetries of the network", None, AT_LEAST, generators, near=asked.near())


FIBERS: tuple[TheoremRow[AskedFiber, Fiber] | LaterRows[AskedFiber, Fiber], ...] = (
    TheoremRow(
        "", lambda asked: asked.shape.is_plain, paid_by_steps,
        lambda asked: plain_fiber.described(
            asked, plain_fiber.virtual_fiber(asked.weights, asked.shape.tokens, asked.budget)
        ),
    ),
    LaterRows(lambda asked: asked.shape.normalization is not None, lambda: softmax_fiber.SOFTMAX_FIBERS),
    TheoremRow(
        f"Proposition 3 of {_NEAR}", any_question, paid_by_steps,
        lambda asked: lightning_fiber.one_layer_fiber(asked),
        needs=(_ONE_HEAD, _ONE_LAYER),
    ),
    TheoremRow(
        f"Proposition 4 of {_NEAR}", any_question, paid_by_steps, lambda asked: lightning_fiber.masked_fiber(asked),
        "without the mask no theorem describes all of the fiber, or the function is zero",
        needs=(_MASK_ALONE,),
    ),
    LaterRows(any_question, lambda: lightning_fiber.TENSOR_FIBERS),
    TheoremRow("", any_question, paid_by_steps, _symmetries),
)  # fmt: skip
"""In the order of asking. What each costs is paid where it is known how large its matrices are."""


def fiber(
    weights: Weights,
    tokens: int = 2,
    *,
    seed: int = 0,
    work: float = DEFAULT_WORK,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Fiber:
    r"""Return the weights with the same function as `weights`.

    Args:
        weights: exact weights; lightning or softmax, any heads, mask, skip connections, embeddings.
        tokens: $t$.
        seed: picks points and inputs; no answer is wrong for any.
        work: seconds that exact work may take, by a rough estimate made before each step.
        memory: bytes that the residues of a softmax network may take.
        progress: called with stage, steps done and steps in all.

    Raises:
        BadInput: another normalization, or letters.
        TooLarge: estimates exceed `work` or `memory`.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> found = fiber(w)
        >>> found.source, len(found.components), found.dimension
        ('Theorem 3.2, case 1', 2, 2)
    """
    require_arguments(fiber, locals())
    require_integer(seed, "the seed")
    require_integer(tokens, "the number of tokens", 1)
    return fiber_within(AskedFiber(weights, tokens, Work(work, progress), seed, memory, progress))


def fiber_within(asked: AskedFiber) -> Fiber:
    """Return the same within a budget that others spend too.

    Raises:
        BadInput: another normalization, or letters.
        TooLarge: estimates exceed the budget or the memory.
    """
    asked.shape.require("the fiber", SHAPED)
    answer, tried = ask(asked, FIBERS, asked.budget)
    found = proved_to_be(answer, f"something must be known of the fiber of {asked.shape}")
    return replace(found, tried=(*tried, *asked.tried, *found.tried), real=found.real or _real(asked, found))


def _real(asked: AskedFiber, found: Fiber) -> RealComponents:
    """Return the connected components over the reals, where the rows have not counted them."""
    if asked.shape.heads > 1 or not found.components:
        return unknown("no proposition counts them for such a network")
    if not asked.budget.begins(counting_cost(found.virtual, len(found.components)), "connected components"):
        return unknown("more work than allowed")
    return of_lightning(asked.shape, found.virtual, found.components, found.complete_over)
