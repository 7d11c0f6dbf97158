"""What may be done to a decoder, and what may not: the second weights of a pair, modulo a prime.

Each move is a rational function of the weights and a few numbers; here all are residues. Two functions whose Taylor
coefficients differ modulo the prime are different.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proofs_check.claims.models.decoders import Decoder, DecoderWeights
from proofs_check.series_ranks import P, Residues, inverse_matrix

Move = Callable[[Decoder, DecoderWeights, np.random.Generator], DecoderWeights]


def _inverse_of(numbers: Residues) -> Residues:
    return np.array([pow(int(x), -1, P) for x in numbers.ravel()], dtype=np.int64).reshape(numbers.shape)


def _product(*factors: Residues) -> Residues:
    found = factors[0]
    for factor in factors[1:]:
        found = found @ factor % P
    return found


def _layers(
    one: Decoder, weights: DecoderWeights, change: Callable[[Callable[[str], str]], DecoderWeights]
) -> DecoderWeights:
    """Change the pieces of each layer."""
    found = dict(weights)
    for layer in range(one.layers):
        found |= change(lambda name, at=layer: f"{at}.{name}")  # type: ignore[misc]
    return found


def rotated(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Turn the stream by a reflection; with LayerNorm by one that keeps the vector of ones."""
    vector = random.integers(0, P, one.d)
    if one.layer_norm:
        vector = (vector * one.d - vector.sum()) % P
    scale = 2 * pow(int(vector @ vector % P), -1, P) % P
    return turned(weights, (np.eye(one.d, dtype=np.int64) - scale * vector[:, None] % P * vector[None] % P) % P)


def turned(weights: DecoderWeights, turn: Residues) -> DecoderWeights:
    """Turn what is written to the stream and what is read from it by an orthogonal matrix."""
    found = {"E": turn @ weights["E"] % P, "U": weights["U"] @ turn.T % P}
    for name, array in weights.items():
        last = name.partition(".")[2]
        if last in {"query", "key", "value", "gate", "up"}:
            found[name] = array @ turn.T % P
        elif last in {"output", "down"}:
            found[name] = turn @ array % P
    return weights | found


def keys_in_another_basis(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Change the basis of queries and keys: by a number `x + iy` for each frequency, without rotary by any matrix."""
    share = one.heads // one.groups

    def change(at: Callable[[str], str]) -> DecoderWeights:
        query, key = weights[at("query")].copy(), weights[at("key")].copy()
        for group in range(one.groups):
            if one.rotary:
                x, y = (np.diag(random.integers(1, P, one.a // 2)) for _ in range(2))
                basis = np.block([[x, -y], [y, x]])
            else:
                basis = random.integers(0, P, (one.a, one.a))
            key[group] = _product(inverse_matrix(basis).T, key[group])
            for head in range(group * share, (group + 1) * share):
                query[head] = _product(basis % P, query[head])
        return {at("query"): query, at("key"): key}

    return _layers(one, weights, change)


def values_in_another_basis(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Change the basis of values of each group."""
    share = one.heads // one.groups

    def change(at: Callable[[str], str]) -> DecoderWeights:
        value, output = weights[at("value")].copy(), weights[at("output")].copy()
        for group in range(one.groups):
            basis = random.integers(0, P, (one.a, one.a))
            value[group] = _product(basis, value[group])
            for head in range(group * share, (group + 1) * share):
                output[head] = _product(output[head], inverse_matrix(basis))
        return {at("value"): value, at("output"): output}

    return _layers(one, weights, change)


def ups_scaled(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Scale what each gate is multiplied with, and permute neurons."""

    def change(at: Callable[[str], str]) -> DecoderWeights:
        order, factors = random.permutation(one.m), random.integers(1, P, one.m)
        up, down = weights[at("up")], weights[at("down")]
        return {
            at("gate"): weights[at("gate")][order],
            at("up"): (up * factors[:, None] % P)[order],
            at("down"): (down * _inverse_of(factors) % P)[:, order],
        }

    return _layers(one, weights, change)


def heads_permuted(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Permute groups, and the heads inside of them."""

    def change(at: Callable[[str], str]) -> DecoderWeights:
        groups = random.permutation(one.groups)
        share = one.heads // one.groups
        heads = np.concatenate([group * share + random.permutation(share) for group in groups])
        moved = {at(name): weights[at(name)][heads] for name in ("query", "output")}
        return moved | {at(name): weights[at(name)][groups] for name in ("key", "value")}

    return _layers(one, weights, change)


LISTED: dict[str, Move] = {
    "the stream turned": rotated,
    "queries and keys in another basis": keys_in_another_basis,
    "values in another basis": values_in_another_basis,
    "neurons permuted, ups scaled": ups_scaled,
    "groups and heads permuted": heads_permuted,
}
"""Symmetries of gated decoders without gains and biases."""


def a_gate_turned(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Turn the first gate over, and its column."""
    gate, down = weights["0.gate"].copy(), weights["0.down"].copy()
    gate[0], down[:, 0] = -gate[0] % P, -down[:, 0] % P
    return weights | {"0.gate": gate, "0.down": down}


def neurons_of_two_layers(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Exchange the first neurons of two layers."""
    found = dict(weights)
    for name in ("gate", "up", "down"):
        first, second = weights[f"0.{name}"].copy(), weights[f"1.{name}"].copy()
        place = (slice(None), 0) if name == "down" else (0,)
        first[place], second[place] = weights[f"1.{name}"][place], weights[f"0.{name}"][place]
        found |= {f"0.{name}": first, f"1.{name}": second}
    return found


def gates_scaled(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Scale gates, which ReLU would allow."""
    factors = random.integers(2, P, one.m)
    down = weights["0.down"] * _inverse_of(factors) % P
    return weights | {"0.gate": weights["0.gate"] * factors[:, None] % P, "0.down": down}


def stream_scaled(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Scale everything that writes, which an epsilon of 0 would allow."""
    return {
        name: 2 * array % P if name == "E" or name.endswith((".output", ".down")) else array
        for name, array in weights.items()
    }


def key_biases_moved(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Move biases of keys, which attention without rotary positions does not feel."""
    name = "0.key bias"
    return weights | {name: random.integers(0, P, weights[name].shape)}


def queries_scaled(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Scale queries and keys of one group, which norms on them feel."""
    query, key = weights["0.query"].copy(), weights["0.key"].copy()
    query[0], key[0] = 3 * query[0] % P, key[0] * pow(3, -1, P) % P
    return weights | {"0.query": query, "0.key": key}


def head_gains_scaled(one: Decoder, weights: DecoderWeights, random: np.random.Generator) -> DecoderWeights:
    """Scale gains on queries and keys by one number a frequency, which a layer with norms on them does not feel."""
    factors = np.tile(random.integers(1, P, one.a // 2), 2)[:, None]
    found = {"0.query gain": weights["0.query gain"] * factors % P}
    return weights | found | {"0.key gain": weights["0.key gain"] * _inverse_of(factors) % P}


def components(one: Decoder, weights: DecoderWeights) -> list[frozenset[bytes]]:
    """Return of each layer what neurons and heads are, whatever their order and inner bases.

    These are gates with what is multiplied by them, and products of outputs and values with the forms of two distances
    (without rotary positions, one form).

    Where E and U are the same and of full rank, weights that are equivalent have the same.
    """
    found, share = [], one.heads // one.groups
    for layer in range(one.layers):
        at = {name: weights[f"{layer}.{name}"] for name in ("query", "key", "value", "output", "gate", "up", "down")}
        pairs = at["down"].T[:, :, None] * at["up"][:, None] % P
        own = {(gate % P).tobytes() + pair.tobytes() for gate, pair in zip(at["gate"], pairs, strict=True)}
        for head in range(one.heads):
            query, key, value = at["query"][head], at["key"][head // share], at["value"][head // share]
            half = one.a // 2
            turned = np.concatenate([-key[half:], key[:half]])
            forms = [_product(query.T, k) for k in ((key, turned % P) if one.rotary else (key,))]
            own.add(b"".join(form.tobytes() for form in (*forms, _product(at["output"][head], value))))
        found.append(frozenset(own))
    return found
