"""All weights with the same function as those of a softmax network, as far as the theorems reach.

One head a layer and no skip connection: every fiber is known (docs/softmax-fibers.md, Theorems 1 and 4), and its
dimension (`factorizations`). Else the conditions of docs/transformer-fibers.md are tested, and the strongest theorem
that they allow says what the fiber is; if that is not Corollary 5, another network with this function is looked for.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from lightning_sym.ask import TheoremRow, any_question, paid_by_steps
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.fibers.answer import AT_LEAST, Fiber, symmetry_generators
from lightning_sym.fibers.asked_fiber import AskedFiber
from lightning_sym.fibers.conditions import SoftmaxConditions, require_softmax
from lightning_sym.fibers.factorizations import chain_fiber_dimension, product_fiber_dimension
from lightning_sym.fibers.hypotheses import ALONE, ONE_HEAD_PAGE, strongest_theorem
from lightning_sym.fibers.observed_network import NetworkAtPoints
from lightning_sym.fibers.one_head import linear_map_cost, with_one_head
from lightning_sym.fibers.real_components import chain_of
from lightning_sym.fibers.second_networks import second_network
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.stream_pieces import free_streams
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import NetworkCircuits


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
