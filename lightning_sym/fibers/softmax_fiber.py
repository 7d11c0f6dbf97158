r"""All weights with the same function as those of a softmax network, as far as the theorems reach.

One head a layer and no skip connection: every fiber is known (docs/softmax-fibers.md, Theorems 1 and 4), and its
dimension (`factorizations`). Else the conditions of docs/transformer-fibers.md are tested, and the strongest theorem
that they allow says what the fiber is; if that is not Corollary 5, another network with this function is looked for.

With one head a layer and no skip connection the function depends on $\tilde A_i = P_{i-1}^\top K_i^\top Q_i P_{i-1}$
and $\tilde V = P_l$ alone, where `P_i` is the product of all that is carried up to layer `i`, embedding and unembedding
included; so the theorems hold for networks with these too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from lightning_sym.ask import TheoremRow, any_question, paid_by_steps
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.fibers.answer import AT_LEAST, AskedFiber, Fiber, symmetry_generators
from lightning_sym.fibers.conditions import SoftmaxConditions, require_softmax
from lightning_sym.fibers.cost import entries_cost, entry_bits, product_cost
from lightning_sym.fibers.factorizations import Space, chain_fiber_dimension, product_fiber_dimension
from lightning_sym.fibers.hypotheses import ALONE, ONE_HEAD_PAGE, one_head_theorem, strongest_theorem
from lightning_sym.fibers.observed_network import NetworkAtPoints
from lightning_sym.fibers.real_components import chain_of, of_determined, unknown
from lightning_sym.fibers.second_networks import second_network
from lightning_sym.fibers.softmax import circuit_virtual_weights
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.stream_pieces import free_streams
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


def of_one_token(asked: AskedFiber) -> Fiber:
    """Return the whole fiber of a softmax network at one token."""
    shape = require_softmax(asked.weights, 1)
    total = _factors_of_one_map(asked)
    return Fiber(
        shape, ALONE, "R",
        "U C_l ... C_1 E with C_i = e + sum V_ih is determined, nothing else",
        ("all Q, K", "all else with this product"),
        near=asked.near() if total is None else None,
        total=total,
    )  # fmt: skip


def _factors_of_one_map(asked: AskedFiber) -> int | None:
    """Return the dimension of all weights with one product `U C_l ... C_1 E`, unless `C_i - 1` has a bounded rank."""
    shape, heads, more = asked.shape, asked.shape.heads, 0
    if shape.skip and shape.value_ranks is not None:
        return None
    asked.budget.spend(linear_map_cost(asked.weights), "the product of all values")
    net = NetworkCircuits.of(asked.weights)
    value = net.unembed @ net.first(RationalMatrix.identity(shape.input_width))[-1]
    if shape.value_ranks is None:  # the sum of the V_ih counts, and all but one of them are free
        more = (heads - 1) * sum(a * b for a, b in pairwise(shape.widths))
    # the outputs and the values of all heads, side by side, are one product
    wider = None if shape.value_ranks is None else tuple(heads * b for b in shape.value_ranks)
    ranks = tuple(heads * a for a in shape.attention_ranks)
    alone = replace(shape, heads=1, skip=False, attention_ranks=ranks, value_ranks=wider)
    return chain_fiber_dimension(chain_of(alone, [None] * shape.depth, value))[0] + more


def by_conditions(asked: AskedFiber) -> Fiber:
    """Return what the strongest theorem says whose hypotheses hold, for two tokens or more."""
    weights, shape = asked.weights, require_softmax(asked.weights, asked.shape.tokens)
    tests = SoftmaxConditions(
        weights, shape.tokens, asked.budget, seed=asked.seed, memory=asked.memory, progress=asked.progress
    )
    conditions, (theorem, fell_short) = tests.all(), strongest_theorem(tests)
    number = "" if theorem is None else theorem.number
    generic = number == "Corollary 5"
    return Fiber(
        shape,
        "not certified by these theorems" if theorem is None else str(theorem),
        None if theorem is None else "R",
        _described(shape, number),
        symmetry_generators(shape),
        conditions=conditions,
        theorem=theorem,
        near=None if generic else asked.near(),
        total=_orbit_dimension(weights, tests.residues) if generic else None,
        minimal=_MINIMAL if generic else "",
        second=None if generic else second_network(weights, tests.residues, asked.budget),
        tried=fell_short,
    )


SOFTMAX_FIBERS: tuple[TheoremRow[AskedFiber, Fiber], ...] = (
    TheoremRow(
        f"Theorems 1 and 4 of {ONE_HEAD_PAGE}", lambda asked: asked.shape.heads == 1 and not asked.shape.skip,
        paid_by_steps, with_one_head,
    ),
    TheoremRow("", lambda asked: asked.shape.tokens == 1, paid_by_steps, of_one_token),
    TheoremRow("", any_question, paid_by_steps, by_conditions),
)  # fmt: skip
"""Of `fiber.FIBERS` what is about softmax."""

_MINIMAL = (
    "no network of this form and depth with at most as many heads in each layer has fewer heads in one, a smaller "
    "width, or a matrix A or V of a head of smaller rank"
)


def _described(shape: Architecture, number: str) -> str:
    """Return the fiber in words."""
    sums = "same sum M_m of U V_h E over the heads with E^T A_h E = m"
    known = {
        "Corollary 5": "permutations of heads, bases of the stream, and all factors of the same A = K^T Q and V or O V",
        "Theorem 7": "all weights with the same words U W_w E and the same formal scores of two tokens, heads permuted",
        "Theorem 8": f"all weights with the same e U E and, for each matrix m, the {sums}"
        if shape.tokens > 2
        else f"all weights with the same e U E, sum of all M_m, and differences M_m - M_-m, for the {sums[5:]}",
        "Theorem 11": "all weights with the same words U W_w E and blocks E^T W_a^T A W_b E, heads permuted",
    }
    return known.get(number, AT_LEAST)


def _orbit_dimension(weights: Weights, tests: NetworkAtPoints) -> int:
    """Return the dimension of the fiber of Corollary 5.

    Bases of the stream act without fixed points, and factors vary for themselves.
    """
    total, exact = free_streams(tests.shape), NetworkCircuits.of(weights)
    for heads, same in zip(tests.net.layers, exact.layers, strict=True):
        for h, head in enumerate(heads):
            for i, (left, right) in enumerate(head.products):
                inner, known = right.shape[0], right.shape[0]
                if any(rank_mod_p(matrix.entries, tests.prime) < inner for matrix in (left, right)):
                    known = _product_rank(*same[h].products[i])
                total += product_fiber_dimension(left.shape[0], right.shape[1], inner, known)
    return total


def _product_rank(left: RationalMatrix, right: RationalMatrix) -> int:
    """Return the rank of a product."""
    inner, width = right.shape
    if inner < min(left.shape[0], width):  # over the reals a matrix maps onto the same space as with its transpose
        left, right = left.mT @ left, right @ right.mT
    return (left @ right).rank()
