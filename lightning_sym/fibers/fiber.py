"""All weights with the same function: the fiber through given weights, of every kind of network."""

from __future__ import annotations

from lightning_sym.arguments import require_arguments
from lightning_sym.fibers.answer import Fiber
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer
from lightning_sym.network.weights import Weights

# each kind of network has files of its own, which the others need not load
with lazy_imports(__name__):
    from lightning_sym.fibers import lightning_fiber, plain_fiber, softmax_fiber


def fiber(
    weights: Weights,
    tokens: int = 2,
    *,
    seed: int = 0,
    work: float = DEFAULT_WORK,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Fiber:
    r"""The weights with the same function as `weights`.

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
    budget = Work(work, progress)
    if weights.form.normalization is not None:
        return softmax_fiber.softmax_fiber(weights, tokens, budget, seed=seed, memory=memory, progress=progress)
    kind = plain_fiber.plain_fiber if weights.architecture(tokens).is_plain else lightning_fiber.lightning_fiber
    return kind(weights, tokens, budget, seed=seed)
