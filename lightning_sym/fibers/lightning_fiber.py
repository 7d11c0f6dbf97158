r"""All weights with the same function as those of a lightning network with heads, skip connections, masks, embeddings.

One layer with one head: the added input is the part of degree one, a mask and more tokens show nothing new, and what is
left is Theorem 3.2 for $\tilde A = E^\top K^\top Q E$ and $\tilde V = U O V E$. More layers under a mask: Theorem 3.7
under its hypotheses. Both are proved in docs/fibers-near-weights.md, Propositions 3 and 4. Of all others the symmetries
are known, and the dimension of the fiber near the weights, from both sides.
"""

from __future__ import annotations

from dataclasses import replace

from lightning_sym.fibers.answer import Fiber
from lightning_sym.fibers.asked_fiber import AskedFiber
from lightning_sym.fibers.cost import entry_bits, product_cost
from lightning_sym.fibers.plain_fiber import described, virtual_fiber
from lightning_sym.fibers.virtual_moves import is_zero_function
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.pieces import FORM, LIGHTNING
from lightning_sym.network.weights import Weights
from lightning_sym.system.circuits import NetworkCircuits

_PAGE = "docs/fibers-near-weights.md"


def one_layer_fiber(asked: AskedFiber) -> Fiber:
    """Return the fiber by Proposition 3: that of the plain layer with the same virtual weights.

    If the layer is skipped, `U E` is determined too.
    """
    weights, shape, budget = asked.weights, asked.shape, asked.budget
    if shape.options <= FORM & LIGHTNING:
        found = virtual_fiber(weights.with_form(NetworkForm()), shape.tokens, budget)
        return described(asked, _with_reason(found, shape))
    weights.require_numbers("the fiber")
    bits, size = max(entry_bits(weights).values()), max(*shape.widths, shape.input_width, shape.output_width)
    budget.spend(6 * product_cost(size, size, size, 3 * bits, bits), "virtual weights")
    net = NetworkCircuits.of(weights)
    ((head,),) = net.layers
    seen = {"Q1": head.query @ net.embed, "K1": head.key @ net.embed, "V1": net.unembed @ head.carried(net.embed)}
    plain = Weights.of({name: matrix.fractions() for name, matrix in seen.items()})
    found = _with_reason(virtual_fiber(plain, shape.tokens, budget), shape)
    return replace(found, architecture=shape, near=asked.near())


def _with_reason(found: Fiber, shape: Architecture) -> Fiber:
    """Return the fiber with what says that the layer is like a plain one.

    Nothing is said where it is one, or one token sees no mask.
    """
    ends = shape.embed is not None or shape.unembed is not None
    if shape.options <= ({"causal"} if shape.tokens == 1 else set()):
        return found
    more = f"; {_PAGE}, Proposition 3" + "; U E is determined too" * (shape.skip and ends)
    return replace(found, reason=found.reason + more)


def masked_fiber(asked: AskedFiber) -> Fiber | None:
    """Return the fiber by Proposition 4: where Theorem 3.7 holds without the mask, it is the same with it.

    For one token the mask does not matter; `None` where neither applies.
    """
    plain, tokens = asked.weights.with_form(NetworkForm()), asked.shape.tokens
    found = virtual_fiber(plain, tokens, asked.budget, search=tokens == 1)
    if tokens == 1:
        return described(asked, found)
    if found.complete_over != "R" or found.virtual is None or is_zero_function(found.virtual, tokens):
        asked.tried += found.tried
        return None
    return described(asked, replace(found, reason=f"{found.reason}; {_PAGE}, Proposition 4"))
