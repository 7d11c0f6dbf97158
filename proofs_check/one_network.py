"""What a claim says of one network, somebody else's for example."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Any

from lightning_sym.errors import TooLarge
from lightning_sym.network.ambient import ambient_dimension
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from proofs_check.claim import At

MOST_COORDINATES = 4_000_000
"""Coefficients of a function that is written out: some seconds."""

ENOUGH, MOST_SEEDS = 2, 16
"""Random weights within the hypotheses that stand for a network where none are given, and how many are tried."""


def itself_if(
    hypotheses: Callable[[Architecture], bool], options: Collection[str] = (), *, written_out: bool = False
) -> At:
    """The network is the instance where it has no other options than these and satisfies the hypotheses.

    Args:
        hypotheses: asked of networks with no other options.
        options: fields of `Architecture`.
        written_out: the check writes functions out, so that networks with too many coefficients are refused.

    Example:
        >>> at = itself_if(lambda network: network.tokens > 1, {"skip"})
        >>> [len(list(at(Architecture((2, 2), (1,), t, causal=t > 2), None))) for t in (1, 2, 3)]
        [0, 1, 0]
    """

    def at(network: Architecture, weights: Weights | None) -> Iterator[Architecture]:
        if network.options <= set(options) and hypotheses(network):
            if written_out:
                _require_few_coefficients(network)
            yield network

    return at


def _require_few_coefficients(network: Architecture) -> None:
    size = ambient_dimension(Architecture(network.widths, network.attention_ranks, network.tokens))
    if size > MOST_COORDINATES:
        raise TooLarge(
            f"functions that are written out must have at most {MOST_COORDINATES:,} coefficients, got {size:,}"
        )


def weights_if(
    shape: Callable[[Architecture], bool],
    hypotheses: Callable[[Weights, int], bool],
    instance: Callable[[Weights, int], Any],
) -> At:
    """The weights make the instance where they satisfy the hypotheses; random ones where none are given.

    Args:
        shape: which networks, among those with nothing added.
        hypotheses: on weights and number of tokens.
        instance: of both.
    """

    def at(network: Architecture, weights: Weights | None) -> Iterator[Any]:
        if not (network.is_plain and shape(network)):
            return
        _require_few_coefficients(network)
        drawn = (Weights.random(network, seed=seed, bound=3) for seed in range(MOST_SEEDS))
        within = (w for w in (drawn if weights is None else (weights,)) if hypotheses(w, network.tokens))
        for each in islice(within, ENOUGH):
            yield instance(each, network.tokens)

    return at
