"""The differential of weights -> function at given weights: its rank by residues from below, by an orbit above."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightning_sym import SOFTMAX, Architecture
from lightning_sym.dimension.search import series_orders
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import rank
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from proofs_check.claim import ProvedBounds
from proofs_check.claims.transformers.small_networks import HeadAV, P, SmallNetwork, as_array, identity, zero


def transformer(network: SmallNetwork, *, ends: bool) -> tuple[Architecture, dict[str, Any], list[str]]:
    """Return the network with `Q = A`, `K = 1`, zero heads where a layer has fewer; its weights, and which move."""
    d, depth, heads = len(network.embed), len(network.layers), max(map(len, network.layers))
    shape = Architecture(
        (d,) * (depth + 1), (d,) * depth, network.tokens, SOFTMAX, heads, None, network.skip, network.causal,
        len(network.embed[0]), len(network.unembed),
    )  # fmt: skip
    named, moving = {"E": network.embed, "U": network.unembed}, ["E", "U"] * ends
    for i, layer in enumerate(network.layers, start=1):
        for h in range(heads):
            of = layer[h] if h < len(layer) else HeadAV(zero(d), zero(d))
            query, key, value = (f"{letter}{shape.head_name(i, h + 1)}" for letter in "QKV")
            named |= {query: of.attention, key: identity(d), value: of.value}
            moving += [query, value] * (h < len(layer))
    return shape, named, moving


def orbit(network: SmallNetwork, ends: bool) -> tuple[int, list[list[object]]]:
    """Return the number of directions in which bases of the stream change, and the tangent vectors.

    With skips there is one basis for all layers; `E` and `U`, where they do not move, fix the first and the last one.
    """
    d, depth = len(network.embed), len(network.layers)
    places = range(depth + 1) if ends else range(1, depth)
    together_all = [list(range(depth + 1))] if ends else []
    free = together_all if network.skip else [[i] for i in places]
    vectors = []
    for together in free:
        for index in np.ndindex(d, d):
            g = np.zeros((d, d), dtype=object)
            g[index] = 1
            of = [g if i in together else 0 * g for i in range(depth + 1)]
            parts = [of[0] @ as_array(network.embed)] if ends else []
            for i, heads in enumerate(network.layers):
                for head in heads:
                    a, v = as_array(head.attention), as_array(head.value)
                    parts += [-of[i].T @ a - a @ of[i], of[i + 1] @ v - v @ of[i]]
            parts += [-as_array(network.unembed) @ of[depth]] if ends else []
            vectors.append([entry for part in parts for entry in part.ravel()])
    return len(vectors), vectors


def rank_of_differential(network: SmallNetwork, *, ends: bool) -> tuple[int, int, ProvedBounds]:
    """Return the number of weights, of directions of basis changes, and bounds of the rank at these very weights.

    From below by Taylor series of the outputs modulo a prime, longer ones while that may help. The kernel contains the
    tangent space of the orbit, so the number of weights minus its rank is an upper bound.
    """
    shape, named, moving = transformer(network, ends=ends)
    kept = np.concatenate([np.full(r * c, name in moving) for name, (r, c) in shape.weight_shapes()])
    group, vectors = orbit(network, ends)
    weights, lower = int(kept.sum()), 0
    upper = weights - (rank(vectors) if vectors else 0)
    field = PrimeFieldMatrix.of(np.zeros((1, 1), dtype=int), P)
    at = [field.like(named[name]) for name, _ in shape.weight_shapes()]
    for order in series_orders(shape.depth):
        if lower < upper:
            jacobian = RandomJacobian(shape, np.random.default_rng(order), P, weights=at, order=order)
            lower = max(lower, rank_mod_p(jacobian.rows(weights + 8)[:, kept], P))
    return weights, group, ProvedBounds(lower, upper)
