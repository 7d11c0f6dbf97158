r"""The rank of the differential of $W \mapsto \phi_W$ at given weights of a plain network, from a few ranks.

The ranks of `chain_ranks`, modulo a prime where that is enough; and what follows for fibers
(docs/fibers-near-weights.md, Propositions 5 and 6).
"""

from __future__ import annotations

from lightning_sym.errors import TooLarge
from lightning_sym.exact.rational import inertia, inertia_cost
from lightning_sym.fibers.chain_ranks import Chain, chain_mod_p, exact_chain
from lightning_sym.fibers.cost import (
    entries_cost,
    entry_bits,
    number_bits,
    virtual_residues_cost,
    virtual_weights_cost,
)
from lightning_sym.fibers.local_dimension import GENERIC, LocalDimension
from lightning_sym.limits import Work
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix

STRATUM = "weights with these ranks and the differential agree"

RANKS = "the virtual weights are known up to scale, and the ranks of their factors"


def differential_rank(weights: Weights, tokens: int, generic: int, budget: Work | None = None) -> int | None:
    r"""Return the rank of the differential of $\phi$ in all $(Q_i, K_i, V_i)$ at `weights`, exact.

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
    return generic if _is_generic(weights, generic, budget) else _exact_chain(weights, budget).rank()


def _is_generic(weights: Weights, generic: int, budget: Work) -> bool:
    """Return whether ranks modulo a prime show that the differential has the generic rank."""
    entries = entries_cost(weights.architecture(1).parameter_count, 1, max(entry_bits(weights).values()))
    products = virtual_residues_cost(weights)
    budget.spend(entries + products, "ranks of products modulo a prime")
    return (chain := chain_mod_p(weights)) is not None and chain.rank_at_least() == generic


def dimension_by_differential(
    weights: Weights, tokens: int, generic: int, budget: Work, *, whole: bool = False
) -> LocalDimension | None:
    r"""Return bounds for the dimension of the fiber near the weights, by Propositions 1 and 5 to 7 of that page.

    From above by the rank of the differential. Where that is generic it is constant near the weights, and the fiber a
    manifold of the dimension that is left. Else from below by the weights with the same products and the same ranks.

    Args:
        weights: exact weights of a lightning network with one head and nothing added.
        tokens: $t$.
        generic: the dimension of the neuromanifold.
        budget: of exact work.
        whole: the fiber is known to be rescalings of the virtual weights near these: then the weights with the same
            ranks are all of it, if ranks of products do not change in it.

    Returns:
        `None` where nothing of this applies, or the function is zero, or the budget does not allow it.

    Raises:
        BadInput: another network, or letters.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> dimension_by_differential(w, 2, 4, Work())
        LocalDimension(lower=2, upper=2, orbit=2, shown_by='the differential has the generic rank')
    """
    shape = weights.architecture(tokens)
    shape.require_plain("the rank of the differential")
    parameters = shape.parameter_count
    try:
        if tokens > 1 and _is_generic(weights, generic, budget):
            return LocalDimension(parameters - generic, parameters - generic, orbit_at_least(weights), GENERIC)
        if tokens == 1 and not whole:
            return None
        chain = _exact_chain(weights, budget)
    except TooLarge:
        return None
    if not chain.ranks[-1] or not all(chain.attention_ranks):
        return None
    dimension = chain.stratum_dimension() + len(chain.layers)
    if whole and chain.ranks_are_fixed():
        return LocalDimension(dimension, dimension, orbit_at_least(weights), RANKS)
    if tokens == 1 or (found := chain.rank()) is None:
        return None
    if found == generic:
        dimension = parameters - generic
    shown_by = GENERIC if found == generic else STRATUM
    return LocalDimension(dimension, parameters - found, orbit_at_least(weights), shown_by)


def dimension_at_one_token(weights: Weights, budget: Work) -> LocalDimension | None:
    """Return the same for one layer and one token: Proposition 8 of that page.

    Args:
        weights: exact weights of a lightning layer with one head and nothing added, whose function is not zero.
        budget: of exact work.

    Returns:
        `None` where the budget does not allow it.

    Raises:
        BadInput: another network, or letters.

    Example:
        >>> dimension_at_one_token(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]}), Work()).value
        2
    """
    weights.require_plain("the dimension of a fiber")
    ((query, key, _),) = weights.rational_layers
    inner, width = query.shape
    bits = sum(entry_bits(weights)[name] for name in ("Q1", "K1")) + inner.bit_length()
    seconds = inertia_cost(width, bits)
    if not budget.begins(seconds, "the signature of the scores"):
        return None
    form = key.mT @ query
    squares = inertia(form + form.mT)
    rank = sum(squares)
    most = min(width, rank + inner - max(squares))
    dimension = 1 + (width - most) * (most - rank) + 2 * inner * most - most * (most + 1) // 2
    return LocalDimension(dimension, dimension, orbit_at_least(weights), RANKS)


def orbit_at_least(weights: Weights, *, rescaled: bool = True) -> int:
    """Return a lower bound for the dimension of the orbit of the symmetry group.

    Bases of queries and keys move these alone, those of the stream the values one by one, rescalings virtual weights,
    of which none may be zero where they are counted.

    Example:
        >>> orbit_at_least(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]}))
        2
    """
    total = len(weights.layers) if rescaled else 0
    for i, (query, key, value) in enumerate(weights.rational_layers, start=1):
        inner, d_out = query.shape[0], value.shape[0]
        total += inner**2 - (inner - query.rank()) * (inner - key.rank())
        total += d_out * value.rank() if i < len(weights.layers) else 0
    return total


def _exact_chain(weights: Weights, budget: Work) -> Chain[RationalMatrix]:
    exact = virtual_weights_cost(weights, *number_bits(weights))
    budget.spend(len(weights.layers) * exact, "exact ranks of products of the weights")
    return exact_chain(weights)
