"""Proposition 21 of docs/checkpoints.md against a forward pass written here: latent keys and values, exactly.

The root in a norm and the exponential in softmax stand for functions that the proof does not look into, so rational
ones are put in their places: what is a symmetry then is one for these functions, and all numbers are exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

WIDTH, HEADS, LATENT, ASKED, PLAIN, VALUE, TOKENS, EPSILON = 3, 2, 2, 2, 2, 2, 3, Fraction(1, 7)
TURNS = ((Fraction(3, 5), Fraction(4, 5)), (Fraction(5, 13), Fraction(12, 13)))
"""Cosine and sine of one step of each frequency; row `k` and row `k + 2` of queries and keys are one."""

SHAPES = {
    "front": (WIDTH,), "query1": (HEADS, PLAIN, ASKED), "query2": (HEADS, 4, ASKED), "shared": (4, WIDTH),
    "asked": (ASKED, WIDTH), "asked_gain": (ASKED,),
    "latent": (LATENT, WIDTH), "gain": (LATENT,), "key": (HEADS, PLAIN, LATENT), "value": (HEADS, VALUE, LATENT),
    "output": (HEADS, WIDTH, VALUE),
}  # fmt: skip
Weights = dict[str, Any]


def drawn(draw: random.Random, *shape: int) -> Any:
    """Small rational numbers, none of them 0."""
    numbers = [Fraction(draw.choice([-3, -2, -1, 1, 2, 3]), draw.randint(1, 3)) for _ in range(int(np.prod(shape)))]
    return np.array(numbers, dtype=object).reshape(shape)


def normed(x: Any) -> Any:
    """A norm of one vector, with a rational function of the mean of its squares in place of the root."""
    size = (x * x).sum() / len(x) + EPSILON
    return x * (3 / (1 + 2 * size))


def turned(rows: Any, place: int) -> Any:
    """Rotary positions: each frequency turned by its angle, as often as the place says."""
    for _ in range(place):
        (a, b), (c, d) = TURNS
        x, y, z, w = rows
        rows = np.array([a * x - b * z, c * y - d * w, b * x + a * z, d * y + c * w], dtype=object)
    return rows


def forward(weights: Weights, stream: Any) -> Any:
    """What the layer adds to the stream, token by token; a token sees itself and those before it."""
    read = [weights["front"] * normed(x) for x in stream]
    latents = [weights["gain"] * normed(weights["latent"] @ y) for y in read]
    asked = [weights["asked_gain"] * normed(weights["asked"] @ y) for y in read]
    added = []
    for i, c in enumerate(asked):
        total = np.full(WIDTH, Fraction(0), dtype=object)
        for head in range(HEADS):
            plain = weights["query1"][head] @ c
            rotary = turned(weights["query2"][head] @ c, i)
            scores = [
                plain @ (weights["key"][head] @ latents[j]) + rotary @ turned(weights["shared"] @ read[j], j)
                for j in range(i + 1)
            ]
            shares = [1 + score + score**2 for score in scores]  # in place of exponentials: positive, and not even
            seen = sum(share * (weights["value"][head] @ latents[j]) for j, share in enumerate(shares)) / sum(shares)
            total = total + weights["output"][head] @ seen
        added.append(total)
    return np.stack(added)


def inverse(matrix: Any) -> Any:
    """The inverse of a matrix of two rows."""
    (a, b), (c, d) = matrix
    return np.array([[d, -b], [-c, a]], dtype=object) / Fraction(a * d - b * c)


def times(z: tuple[Fraction, Fraction], rows: Any, k: int) -> Any:
    """Frequency `k` of some rows times a complex number."""
    (x, y), found = z, np.array(rows)
    found[..., k, :] = x * rows[..., k, :] - y * rows[..., k + 2, :]
    found[..., k + 2, :] = y * rows[..., k, :] + x * rows[..., k + 2, :]
    return found


def matrices_of_keys(weights: Weights, draw: random.Random) -> Weights:
    made = [np.array([[1, draw.randint(1, 3)], [0, draw.choice([2, -3])]], dtype=object) for _ in range(HEADS)]
    key = [inverse(m).T @ k for m, k in zip(made, weights["key"], strict=True)]
    return {"query1": np.stack([m @ q for m, q in zip(made, weights["query1"], strict=True)]), "key": np.stack(key)}


def matrices_of_values(weights: Weights, draw: random.Random) -> Weights:
    made = [np.array([[2, 1], [draw.randint(2, 4), 5]], dtype=object) * Fraction(1) for _ in range(HEADS)]
    output = [o @ inverse(m) for m, o in zip(made, weights["output"], strict=True)]
    return {"value": np.stack([m @ v for m, v in zip(made, weights["value"], strict=True)]), "output": np.stack(output)}


def frequencies(weights: Weights, draw: random.Random) -> Weights:
    x, y, k = Fraction(draw.randint(1, 3)), Fraction(draw.randint(1, 3)), draw.randrange(2)
    square = x**2 + y**2
    shared = times((x / square, y / square), weights["shared"], k)
    return {"query2": times((x, y), weights["query2"], k), "shared": shared}


OF_LATENTS = {"latent": ("gain", ("key", "value")), "asked": ("asked_gain", ("query1", "query2"))}
"""By map into latents, the gain of their norm and what reads it."""


def gains_of_latents(weights: Weights, draw: random.Random, which: str) -> Weights:
    gain, readers = OF_LATENTS[which]
    had = drawn(draw, len(weights[gain]))
    had = np.where(had == weights[gain], 2 * had, had)
    return {gain: had} | {name: weights[name] * (weights[gain] / had) for name in readers}


def turned_latents(weights: Weights, _: random.Random, which: str) -> Weights:
    """The gains are folded, then the latents are turned."""
    gain, readers = OF_LATENTS[which]
    turn = np.array([[3, -4], [4, 3]], dtype=object) / Fraction(5)
    one = np.full(len(turn), Fraction(1), dtype=object)
    folded = {name: (weights[name] * weights[gain]) @ turn.T for name in readers}
    return {gain: one, which: turn @ weights[which]} | folded


def signed_latents(weights: Weights, _: random.Random, which: str) -> Weights:
    gain, readers = OF_LATENTS[which]
    swap = np.array([[0, -1], [1, 0]], dtype=object)
    moved = {which: swap @ weights[which], gain: abs(swap) @ weights[gain]}
    return moved | {name: weights[name] @ swap.T for name in readers}


def heads(weights: Weights, _: random.Random) -> Weights:
    return {name: weights[name][::-1] for name in ("query1", "query2", "key", "value", "output")}


def gains_in_front(weights: Weights, draw: random.Random) -> Weights:
    had = 2 * abs(drawn(draw, WIDTH)) * np.sign(weights["front"])
    had = np.where(had == weights["front"], 3 * had, had)
    return {"front": had} | {name: weights[name] * (weights["front"] / had) for name in READERS}


READERS = ("asked", "shared", "latent")
"""The readers of the norm in front."""

SYMMETRIES: dict[str, Callable[[Weights, random.Random], Weights]] = {
    "1": matrices_of_keys, "2": matrices_of_values, "3": frequencies, "6, heads": heads, "6, gains": gains_in_front,
    **{f"4, {which}": partial(gains_of_latents, which=which) for which in OF_LATENTS},
    **{f"5, {which}": partial(turned_latents, which=which) for which in OF_LATENTS},
    **{f"5, signs, {which}": partial(signed_latents, which=which) for which in OF_LATENTS},
}  # fmt: skip


def network(seed: int) -> tuple[Weights, Any, random.Random]:
    """Weights and a stream of some tokens."""
    draw = random.Random(seed)
    return {name: drawn(draw, *shape) for name, shape in SHAPES.items()}, drawn(draw, TOKENS, WIDTH), draw


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("which", SYMMETRIES)
def test_each_part_leaves_the_function_and_each_piece_of_it_is_needed(which: str, seed: int) -> None:
    weights, stream, draw = network(seed)
    before, changed = forward(weights, stream), SYMMETRIES[which](weights, draw)
    assert (forward(weights | changed, stream) == before).all()
    for forgotten in changed:
        rest = {name: array for name, array in changed.items() if name != forgotten}
        assert (forward(weights | rest, stream) != before).any(), forgotten


def test_a_rotation_of_the_stream_turns_what_is_added() -> None:
    weights, stream, _ = network(2)
    weights |= {name: weights[name] * weights["front"] for name in READERS}
    weights["front"] = np.full(WIDTH, Fraction(1), dtype=object)
    turn = np.array([[1, -2, 2], [2, -1, -2], [2, 2, 1]], dtype=object) / Fraction(3)
    new = weights | {name: weights[name] @ turn.T for name in READERS} | {"output": turn @ weights["output"]}
    assert (forward(new, stream @ turn.T) == forward(weights, stream) @ turn.T).all()
    uneven = {"front": np.array([Fraction(2), Fraction(1), Fraction(1)], dtype=object)}
    assert (forward(new | uneven, stream @ turn.T) != forward(weights | uneven, stream) @ turn.T).any()


NO_SYMMETRIES: dict[str, Callable[[Weights], Weights]] = {
    "a number of one head's frequency alone": lambda w: {
        "query2": np.stack([times((Fraction(2), Fraction(0)), w["query2"][0], 0), w["query2"][1]]),
        "shared": times((Fraction(1, 2), Fraction(0)), w["shared"], 0),
    },
    "a number over itself in place of its conjugate": lambda w: {
        "query2": times((Fraction(1), Fraction(2)), w["query2"], 0),
        "shared": times((Fraction(1, 5), Fraction(-2, 5)), w["shared"], 0),
    },
    "latents turned in front of unequal gains": lambda w: (
        turned_latents(w, random.Random(), "latent") | {"gain": w["gain"]}
    ),
    "queries' latents turned, and keys with them": lambda w: (
        turned_latents(w, random.Random(), "asked") | {"latent": w["latent"][::-1]}
    ),
    "a factor of the latents": lambda w: {"latent": 2 * w["latent"]},
    "a factor of the queries' latents": lambda w: {"asked": 2 * w["asked"]},
    "values of one head with the outputs of another": lambda w: {"value": w["value"][::-1]},
}


@pytest.mark.parametrize("which", NO_SYMMETRIES)
def test_what_looks_like_one_and_is_none_is_seen(which: str) -> None:
    weights, stream, _ = network(3)
    weights["gain"] = np.array([Fraction(2), Fraction(1, 3)], dtype=object)
    assert (forward(weights | NO_SYMMETRIES[which](weights), stream) != forward(weights, stream)).any()
