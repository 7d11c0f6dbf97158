r"""Every fiber of softmax networks with one head a layer and no skip connection (docs/softmax-fibers.md).

The function depends on $\tilde A_i = P_{i-1}^\top K_i^\top Q_i P_{i-1}$ and $\tilde V = P_l$ alone, where `P_i` is the
product of all that is carried up to layer `i`, embedding and unembedding included; so the theorems hold for networks
with these too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lightning_sym.fibers.answer import Fiber
from lightning_sym.fibers.asked_fiber import AskedFiber
from lightning_sym.fibers.conditions import require_softmax
from lightning_sym.fibers.cost import entries_cost, entry_bits, product_cost
from lightning_sym.fibers.factorizations import Space, chain_fiber_dimension
from lightning_sym.fibers.hypotheses import ALONE, one_head_theorem
from lightning_sym.fibers.real_components import chain_of, of_determined, unknown
from lightning_sym.fibers.softmax import circuit_virtual_weights
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import NetworkCircuits

MOST_ORDERS = 256
"""Ways to place zero layers (two tokens, mask) up to which the dimension is computed."""


def linear_map_cost(weights: Weights) -> float:
    """Return seconds for the virtual weights and their ranks, roughly."""
    bits, shape = entry_bits(weights), weights.architecture(1)
    n, grown, total = shape.input_width, 0, 0.0
    for name, (rows, columns) in shape.weight_shapes():
        own = bits[name]
        total += product_cost(rows, columns, n, own, grown) + entries_cost(rows, n, own)
        if name[0] not in "QK":
            grown += own + columns.bit_length()
    final = 2 * grown
    return total + 3 * shape.depth * (product_cost(n, n, n, final, final) + entries_cost(n, n, final))


def with_one_head(asked: AskedFiber) -> Fiber:
    """Return the whole fiber of a softmax network with one head a layer and no skip connection, for any weights.

    The theorems are about two tokens or more; of one token it is clear, and there is none.
    """
    weights, shape = asked.weights, require_softmax(asked.weights, asked.tokens)
    asked.budget.spend(linear_map_cost(weights), "virtual weights")
    forms, value = circuit_virtual_weights(NetworkCircuits.of(weights))
    depth, tokens = shape.depth, shape.tokens
    if tokens == 1 or not value:
        why = "there is one token" if tokens == 1 else "V~ = 0, the zero function"
        described = f"V~ is determined ({why}); all A~_i are free"
        return _answer(asked, described, ("all Q, K",), [chain_of(shape, [None] * depth, value)])
    skew = [not (form + form.mT) for form in forms]
    zero = [not form for form in forms]
    if shape.causal:
        return _causal(asked, forms, value, zero, skew)
    first = next((i for i in range(depth) if zero[i] or (tokens == 2 and skew[i])), None)
    blind = depth - 1 if first is None else first
    seen: list[RationalMatrix | None] = [form if i <= blind else None for i, form in enumerate(forms)]
    description = f"V~ and {_named(1, blind + 1)} are determined"
    generators: tuple[str, ...] = _MOVES
    if blind < depth - 1:
        what = "zero" if zero[blind] else "skew, and t = 2"
        free = _named(blind + 2, depth)
        description += f"; layer {blind + 1} is blind (A~_{blind + 1} is {what}): free behind it: {free}"
        generators += (f"all Q, K behind layer {blind + 1}",)
    number = None if first is None else first + 1
    return _answer(asked, description, generators, [chain_of(shape, seen, value)], number)


def _answer(
    asked: AskedFiber,
    description: str,
    generators: tuple[str, ...],
    chains: Sequence[Sequence[Space]],
    blind: int | None = None,
) -> Fiber:
    """Return what the theorem says, by the chains of the virtual weights that it leaves; else only what is near."""
    theorem = one_head_theorem(asked.shape.causal, asked.tokens)
    dimension = max((chain_fiber_dimension(chain)[0] for chain in chains), default=None)
    near = None if chains else asked.near()
    real = of_determined(chains) if chains else unknown(f"more than {MOST_ORDERS} points in virtual weights")
    return Fiber(
        asked.shape, str(theorem or ALONE), "R", description, generators, theorem=theorem, near=near,
        total=dimension, blind=blind, real=real,
    )  # fmt: skip


_MOVES = ("GL(a) on Q, K", "bases of the streams, and all weights with these virtual weights")


def _named(first: int, last: int) -> str:
    middle = ", ..." if last > first + 1 else ""
    return f"A~_{first}" if first == last else f"A~_{first}{middle}, A~_{last}"


def _causal(
    asked: AskedFiber, forms: Sequence[RationalMatrix], value: RationalMatrix, zero: Sequence[bool],
    skew: Sequence[bool],
) -> Fiber:  # fmt: skip
    """Return the fiber under a mask: one point, but for two tokens, where zero layers may move past skew ones."""
    orders = list(_orders(zero, skew)) if asked.tokens == 2 else [tuple(range(len(forms)))]
    if len(orders) == 1:
        description = f"V~ and {_named(1, len(forms))} are determined"
    else:
        many = f"{len(orders)} points" if len(orders) <= MOST_ORDERS else f"more than {MOST_ORDERS} points"
        description = f"{many} in virtual weights: zero layers move past skew ones, B -> 2^(z' - z) B"
    known = orders if len(orders) <= MOST_ORDERS else []
    chains = [chain_of(asked.shape, [forms[i] for i in order], value) for order in known]
    return _answer(asked, description, _MOVES, chains)


def _orders(zero: Sequence[bool], skew: Sequence[bool]) -> Iterator[tuple[int, ...]]:
    """Yield all orders of the layers in which zero ones have moved past skew ones only; of very many the first ones."""
    seen = {tuple(range(len(zero)))}
    waiting = list(seen)
    # zero layers are all alike: an order is told by which of its places are zero
    told = {tuple(zero)}
    while waiting and len(told) <= MOST_ORDERS:
        order = waiting.pop()
        yield order
        for i in range(len(order) - 1):
            one, two = order[i], order[i + 1]
            if zero[one] != zero[two] and (skew[one] and skew[two]):
                moved = (*order[:i], two, one, *order[i + 2 :])
                if (places := tuple(zero[j] for j in moved)) not in told:
                    told.add(places)
                    waiting.append(moved)
    yield from waiting
