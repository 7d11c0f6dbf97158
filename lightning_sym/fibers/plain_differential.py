r"""The rank of the differential of $W \mapsto \phi_W$ at given weights of a plain network, from a few ranks.

The ranks of `chain_ranks`, modulo a prime where that is enough; and what follows for fibers
(docs/fibers-near-weights.md, Propositions 5 and 6).
"""

from __future__ import annotations

from lightning_sym.errors import TooLarge
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.chain_ranks import Chain, chain_mod_p, exact_chain
from lightning_sym.fibers.cost import entry_bits, fraction_bits, virtual_weights_cost
from lightning_sym.fibers.local_dimension import LocalDimension
from lightning_sym.limits import Work
from lightning_sym.network.weights import Weights

GENERIC = "the differential has the generic rank"
STRATUM = "weights with these ranks and the differential agree"

USES = 1
"""What the ranks cost, by the cost of the virtual weights and the number of layers; measured, and rough."""


def differential_rank(weights: Weights, tokens: int, generic: int, budget: Work | None = None) -> int | None:
    r"""The rank of the differential of $\phi$ in all $(Q_i, K_i, V_i)$ at `weights`, exact.

    Modulo a prime all ranks together are a lower bound. Where it is `generic` it is the rank; else the ranks are found
    over the rationals.

    Args:
        weights: exact weights of a lightning network with one head and nothing added.
        tokens: $t$.
        generic: the dimension of the neuromanifold, or an upper bound.
        budget: of exact work, the default if left out.

    Returns:
        `None` where Proposition 5 does not apply.

    Raises:
        BadInput: another network, or letters.
        TooLarge: the estimate exceeds the budget.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> differential_rank(w, 2, generic=4), differential_rank(w, 1, generic=4)
        (4, None)
    """
    weights.require_plain("the rank of the differential")
    weights.architecture(tokens)
    if tokens < 2:
        return None
    budget = Work() if budget is None else budget
    cost = virtual_weights_cost(weights, entry_bits(weights), {})
    budget.spend(0.01 * cost, "ranks of products modulo a prime")
    if (chain := chain_mod_p(weights)) is not None and chain.rank_at_least() == generic:
        return generic
    return _exact_chain(weights, budget).rank()


def dimension_by_differential(weights: Weights, tokens: int, generic: int, budget: Work) -> LocalDimension | None:
    r"""Bounds for the dimension of the fiber near the weights, by Propositions 1, 5 and 6 of that page.

    From above by the rank of the differential. Where that is generic it is constant near the weights, and the fiber a
    manifold of the dimension that is left. Else from below by the weights with the same products and the same ranks.

    Args:
        weights: exact weights of a lightning network with one head and nothing added.
        tokens: $t$.
        generic: the dimension of the neuromanifold.
        budget: of exact work.

    Returns:
        `None` where Proposition 5 does not apply, or the function is zero, or the budget does not allow it.

    Raises:
        BadInput: another network, or letters.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> dimension_by_differential(w, 2, 4, Work())
        LocalDimension(lower=2, upper=2, orbit=2, shown_by='the differential has the generic rank')
    """
    parameters = weights.architecture(tokens).parameter_count
    try:
        if (found := differential_rank(weights, tokens, generic, budget)) is None:
            return None
        orbit = orbit_at_least(weights)
        if found == generic:
            return LocalDimension(parameters - generic, parameters - generic, orbit, GENERIC)
        chain = _exact_chain(weights, budget)
    except TooLarge:
        return None
    if not chain.ranks[-1] or not all(chain.attention_ranks):
        return None
    return LocalDimension(chain.stratum_dimension() + len(chain.layers), parameters - found, orbit, STRATUM)


def orbit_at_least(weights: Weights) -> int:
    """A lower bound for the dimension of the orbit of the symmetry group, where no virtual weight is zero.

    Bases of queries and keys move these alone, those of the stream the values one by one, rescalings virtual weights.

    Example:
        >>> orbit_at_least(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]}))
        2
    """
    total = 0
    for i, (query, key, value) in enumerate(weights.layers, start=1):
        inner, (d_out, _) = len(query), value.shape
        total += inner**2 - (inner - rank(query)) * (inner - rank(key)) + 1
        total += d_out * rank(value) if i < len(weights.layers) else 0
    return total


def _exact_chain(weights: Weights, budget: Work) -> Chain:
    exact = virtual_weights_cost(weights, entry_bits(weights), fraction_bits(weights))
    budget.spend(USES * len(weights.layers) * exact, "exact ranks of products of the weights")
    return exact_chain(weights)
