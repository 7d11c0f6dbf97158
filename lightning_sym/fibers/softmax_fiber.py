r"""All weights with the same function as those of a softmax network, as far as the theorems reach.

One head a layer and no skip connection: every fiber is known (docs/softmax-fibers.md, Theorems 1 and 4), and its
dimension (`factorizations`). Else the conditions of docs/transformer-fibers.md are tested, and the strongest theorem
that they allow says what the fiber is; if that is not Corollary 5, another network with this function is looked for.

Every fiber of softmax networks with one head a layer and no skip connection (docs/softmax-fibers.md).

The function depends on $\tilde A_i = P_{i-1}^\top K_i^\top Q_i P_{i-1}$ and $\tilde V = P_l$ alone, where `P_i` is the
product of all that is carried up to layer `i`, embedding and unembedding included; so the theorems hold for networks
with these too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lightning_sym.ask import TheoremRow, any_question, paid_by_steps
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.fibers.answer import AT_LEAST, Fiber, symmetry_generators
from lightning_sym.fibers.asked_fiber import AskedFiber
from lightning_sym.fibers.conditions import SoftmaxConditions, require_softmax
from lightning_sym.fibers.cost import entries_cost, entry_bits, product_cost
from lightning_sym.fibers.factorizations import Space, chain_fiber_dimension, product_fiber_dimension
from lightning_sym.fibers.hypotheses import ALONE, ONE_HEAD_PAGE, one_head_theorem, strongest_theorem
from lightning_sym.fibers.observed_network import NetworkAtPoints
from lightning_sym.fibers.real_components import chain_of, of_determined, unknown
from lightning_sym.fibers.second_networks import second_network
from lightning_sym.fibers.softmax import circuit_virtual_weights
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import NetworkCircuits

MOST_ORDERS = 256
"""Ways to place zero layers (two tokens, mask) up to which the dimension is computed."""


def _cost(weights: Weights) -> float:
    """Seconds for the virtual weights and their ranks, roughly."""
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
    """The whole fiber of a softmax network with one head a layer and no skip connection, for any weights.

    The theorems are about two tokens or more; of one token it is clear, and there is none.
    """
    weights, shape = asked.weights, require_softmax(asked.weights, asked.tokens)
    asked.budget.spend(_cost(weights), "virtual weights")
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
    """What the theorem says, by the chains of the virtual weights that it leaves; without these only what is near."""
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
    """All virtual weights are determined; for two tokens zero layers may be moved past skew ones."""
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
    """All orders of the layers in which zero ones have moved past skew ones only; of very many the first ones."""
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
    """The whole fiber of a softmax network at one token."""
    shape = require_softmax(asked.weights, 1)
    return Fiber(
        shape, ALONE, "R",
        "U C_l ... C_1 E with C_i = e + sum V_ih is determined, nothing else",
        ("all Q, K", "all else with this product"),
        near=asked.near(),
    )  # fmt: skip


def by_conditions(asked: AskedFiber) -> Fiber:
    """What the strongest theorem says whose hypotheses hold, for two tokens or more."""
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


SOFTMAX_FIBERS: tuple[TheoremRow[Any, Fiber], ...] = (
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
    """The fiber in words."""
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
    """Of the fiber of Corollary 5: bases of the stream act without fixed points, and factors vary for themselves."""
    shape = tests.shape
    widths, ends = shape.widths, (shape.embed is not None, shape.unembed is not None)
    if shape.skip:
        total = widths[0] ** 2 if all(ends) else 0
    else:
        total = sum(d * d for d in widths[1:-1]) + ends[0] * widths[0] ** 2 + ends[1] * widths[-1] ** 2
    for i, a in enumerate(shape.attention_ranks, start=1):
        before, behind = widths[i - 1], widths[i]
        for h, head in enumerate(tests.net.layers[i - 1], start=1):
            name = shape.head_name(i, h)
            known = _product_rank(weights, tests.prime, {f"K{name}": head.key, f"Q{name}": head.query})
            total += product_fiber_dimension(before, before, a, known)
            if shape.value_ranks is not None and head.output is not None:
                known = _product_rank(weights, tests.prime, {f"O{name}": head.output, f"V{name}": head.inner_value})
                total += product_fiber_dimension(behind, before, shape.value_ranks[i - 1], known)
    return total


def _product_rank(weights: Weights, prime: int, residues: Mapping[str, PrimeFieldMatrix]) -> int:
    """The rank of `K^T Q`, or of `O V`: residues may show that it is the inner width, else it is computed over Q."""
    (left, _), (right, last) = residues.items()
    inner = last.shape[0]
    if all(rank_mod_p(matrix.entries, prime) == inner for matrix in residues.values()):
        return inner
    a, b = RationalMatrix.of(weights[left]), RationalMatrix.of(weights[right])
    if left[0] == "K":
        a = a.mT
    if inner < min(a.shape[0], b.shape[1]):  # over the reals a matrix maps onto the same space as with its transpose
        a, b = a.mT @ a, b @ b.mT
    return (a @ b).rank()
