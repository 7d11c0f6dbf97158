r"""All weights with the same function as those of a lightning network with heads, skip connections, masks, embeddings.

One layer with one head: the added input is the part of degree one, a mask and more tokens show nothing new, and what is
left is Theorem 3.2 for $\tilde A = E^\top K^\top Q E$ and $\tilde V = U O V E$. More layers under a mask: Theorem 3.7
under its hypotheses. Both are proved in docs/fibers-near-weights.md, Propositions 3 and 4. Of all others the symmetries
are known, and the dimension of the fiber near the weights, from both sides.
"""

from __future__ import annotations

from dataclasses import replace

from lightning_sym.fibers.answer import AT_LEAST, Fiber, symmetry_generators
from lightning_sym.fibers.cost import entry_bits, product_cost
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.fibers.plain_fiber import described, virtual_fiber
from lightning_sym.fibers.virtual_moves import is_zero_function
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.weights import Weights
from lightning_sym.system.circuits import NetworkCircuits

_PAGE = "docs/fibers-near-weights.md"

KNOWN = frozenset({"heads", "value_ranks", "skip", "causal", "embed", "unembed"})
"""The options for which all of this is proved."""


def lightning_fiber(weights: Weights, tokens: int, budget: Work, *, seed: int = 0) -> Fiber:
    """The weights of a lightning network with the same function as `weights`.

    Args:
        weights: exact weights of a lightning network: any mask, heads, skip connections, embeddings.
        tokens: $t$.
        budget: of exact work.
        seed: picks inputs; no answer is wrong for any.

    Raises:
        BadInput: a normalized network, or letters.
        TooLarge: the estimate exceeds the budget.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [5, 6]]}, NetworkForm(skip=True))
        >>> found = lightning_fiber(w, 2, Work())
        >>> found.complete, found.source, found.dimension
        (True, 'Theorem 3.2, case 3', 2)
    """
    weights.require_numbers("the fiber")
    shape = weights.architecture(tokens)
    shape.require("the fiber of a lightning network", KNOWN)
    if shape.heads == 1 and shape.depth == 1:
        return _one_layer(weights, shape, budget, seed)
    if shape.options == {"causal"} and (found := _masked(weights, shape, budget)) is not None:
        return described(weights, shape, found, budget, seed)
    return Fiber(
        shape, "the symmetries of the network", None, AT_LEAST, symmetry_generators(shape),
        near=local_dimension(weights, tokens, seed=seed, budget=budget),
    )  # fmt: skip


def _one_layer(weights: Weights, shape: Architecture, budget: Work, seed: int) -> Fiber:
    """Proposition 3: the plain layer with the same virtual weights, and `U E` if it is skipped."""
    if shape.options <= {"skip", "causal"}:
        found = virtual_fiber(weights.with_form(NetworkForm()), shape.tokens, budget)
        return described(weights, shape, _with_reason(found, shape), budget, seed)
    bits, size = max(entry_bits(weights).values()), max(*shape.widths, shape.input_width, shape.output_width)
    budget.spend(6 * product_cost(size, size, size, 3 * bits, bits), "virtual weights")
    net = NetworkCircuits.of(weights)
    ((head,),) = net.layers
    seen = {"Q1": head.query @ net.embed, "K1": head.key @ net.embed, "V1": net.unembed @ head.carried(net.embed)}
    plain = Weights.of({name: matrix.fractions() for name, matrix in seen.items()})
    found = _with_reason(virtual_fiber(plain, shape.tokens, budget), shape)
    return replace(found, architecture=shape, near=local_dimension(weights, shape.tokens, seed=seed, budget=budget))


def _with_reason(found: Fiber, shape: Architecture) -> Fiber:
    """With what says that the layer is like a plain one; nothing does where it is one, or one token sees no mask."""
    ends = shape.embed is not None or shape.unembed is not None
    if shape.options <= ({"causal"} if shape.tokens == 1 else set()):
        return found
    more = f"; {_PAGE}, Proposition 3" + "; U E is determined too" * (shape.skip and ends)
    return replace(found, reason=found.reason + more)


def _masked(weights: Weights, shape: Architecture, budget: Work) -> Fiber | None:
    """Proposition 4: where Theorem 3.7 applies without the mask, the fiber is the same with it; or one token."""
    plain = weights.with_form(NetworkForm())
    if shape.tokens == 1:
        return virtual_fiber(plain, 1, budget)
    found = virtual_fiber(plain, shape.tokens, budget, search=False)
    if found.complete_over != "R" or found.virtual is None or is_zero_function(found.virtual, shape.tokens):
        return None
    return replace(found, reason=f"{found.reason}; {_PAGE}, Proposition 4")
