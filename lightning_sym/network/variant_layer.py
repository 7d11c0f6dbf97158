"""What variants of attention do to queries, keys, values and the stream, over every ring that can.

Matrices have one column a token. What a ring cannot do it refuses by name: products entry by entry, which gains,
positions and gates need, and roots, angles and exponentials, which only balls of real numbers have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.layer import Form
from lightning_sym.network.pieces import DECLARED, HEAD_FACTORS
from lightning_sym.rings import protocol
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.protocol import E, operation, products
from lightning_sym.rings.rationals import map_entries

if TYPE_CHECKING:
    from lightning_sym.network.rotary import Rotary


def constants(x: E, numbers: ObjectArray, purpose: str) -> E:
    """Return integers, or else fractions, as a matrix over the ring of `x`."""
    kind = int if all(n.denominator == 1 for n in numbers.ravel().tolist()) else Fraction
    return protocol.constants(x, map_entries(kind, numbers), purpose)


def _ones(x: E, rows: int, columns: int, purpose: str) -> E:
    """Return a matrix of ones over the ring of `x`."""
    return constants(x, np.ones((rows, columns), dtype=object), purpose)


def biased(x: E, bias: E, tokens: int) -> E:
    """Return the sum of `x` and a column, the same for each token.

    Example:
        >>> biased(np.array([[1, 2]]), np.array([[5]]), 2).tolist()
        [[6, 7]]
    """
    return x + bias @ _ones(x, 1, tokens, "a bias")


def gained(x: E, gain: E, tokens: int) -> E:
    """Return the rows of `x` times the entries of a column.

    Example:
        >>> gained(np.array([[1, 2], [3, 4]]), np.array([[1], [10]]), 2).tolist()
        [[1, 2], [30, 40]]
    """
    operation(x, "__mul__", "a gain")
    return x * (gain @ _ones(x, 1, tokens, "a gain"))


def normed(x: E, epsilon: Fraction, rows: int, tokens: int) -> E:
    """Return the columns of `x` divided by their root mean square, over balls of real numbers.

    Raises:
        RingError: the ring has no square roots.
    """
    purpose = "the norm of queries and keys"
    operation(x, "elementary", purpose)
    mean = constants(x, np.full((1, rows), Fraction(1, rows), dtype=object), purpose) @ (x * x)
    inside = mean + constants(x, np.full((1, tokens), epsilon, dtype=object), purpose)
    root: E = operation(inside, "elementary", purpose)("rsqrt")
    return x * (_ones(x, rows, 1, purpose) @ root)


def rotation(rotary: Rotary, x: E, rows: int, tokens: int) -> tuple[E, E, E]:
    """Return cosines and sines for each of the rows of queries and each position, and the matrix that exchanges rows.

    Example:
        >>> from lightning_sym import Rotary
        >>> c, s, exchanged = rotation(Rotary(turns=[("3/5", "4/5")]), np.array([[1, 0], [0, 1]]), 2, 2)
        >>> c[:, 1].tolist(), exchanged.tolist()
        ([Fraction(3, 5), Fraction(3, 5)], [[0, -1], [1, 0]])
    """
    purpose = "a rotation"
    operation(x, "__mul__", purpose)
    half = rotary.rows(rows) // 2
    first, step = (range(half), half) if rotary.pairs == "halves" else (range(0, 2 * half, 2), 1)
    spread, exchange = np.zeros((rows, half), dtype=object), np.zeros((rows, rows), dtype=object)
    kept = np.ones((rows, tokens), dtype=object)
    for k, row in enumerate(first):
        spread[[row, row + step], k] = 1
        exchange[row, row + step], exchange[row + step, row] = -1, 1
        kept[[row, row + step]] = 0
    if rotary.base is None:
        cosines, sines = (constants(x, table, purpose) for table in _powers(rotary.points, tokens))
    else:
        angles = operation(x, "rotary", "a rotation by angles")
        cosines, sines = angles(rotary.base, 2 * half, range(tokens))
    both = constants(x, spread, purpose)
    return both @ cosines + constants(x, kept, purpose), both @ sines, constants(x, exchange, purpose)


def _powers(turns: Sequence[tuple[Fraction, Fraction]], tokens: int) -> tuple[ObjectArray, ObjectArray]:
    """Return cosines and sines of the powers of rotations: a row for each of them, a column for each position."""
    tables = np.empty((2, len(turns), tokens), dtype=object)
    for k, (c, s) in enumerate(turns):
        at = Fraction(1), Fraction(0)
        for j in range(tokens):
            tables[:, k, j] = at
            at = at[0] * c - at[1] * s, at[0] * s + at[1] * c
    return tables[0], tables[1]


def turned(x: E, by: tuple[E, E, E]) -> E:
    """Return the columns of `x`, each turned by the rotation of its position.

    Example:
        >>> x = np.array([[1, 1], [0, 0]])
        >>> from lightning_sym import Rotary
        >>> turned(x, rotation(Rotary(turns=[(0, 1)]), x, 2, 2)).tolist()
        [[1, 0], [0, 1]]
    """
    cosines, sines, exchange = by
    return cosines * x + sines * (exchange @ x)


def activated(x: E, function: str | tuple[Fraction, ...], rows: int, tokens: int) -> E:
    """Return a function of every entry: by its name, or a polynomial by its coefficients, the constant one first.

    Example:
        >>> activated(np.array([[3]]), (Fraction(0), Fraction(1), Fraction(2)), 1, 1).tolist()
        [[21]]
    """
    if isinstance(function, str):
        return cast(E, operation(x, "elementary", f"a gate with {function}")(function))
    operation(x, "__mul__", "a gate")
    total: E | None = None
    power: E | None = None
    for k, c in enumerate(function):
        power = None if k == 0 else x if power is None else power * x
        if not c:
            continue
        if power is not None and c == 1:
            term = power
        else:
            number = constants(x, np.full((rows, tokens), c, dtype=object), "a gate")
            term = number if power is None else number * power
        total = term if total is None else total + term
    return constants(x, np.full((rows, tokens), Fraction(0), dtype=object), "a gate") if total is None else total


Attended = Callable[[E, Iterable[tuple[E, E, E]], Form[E]], E]


def layer_of_variant(
    x: E, network: Architecture, i: int, given: Mapping[str, E], form: Form[E], attended: Attended[E]
) -> E:
    """Return layer `i` with all that `lightning_sym.network.variant` declares.

    Args:
        x: the stream before it, over any ring.
        network: the network.
        i: the layer, from 1.
        given: its weights by name.
        form: pattern and skip connections.
        attended: what attention writes, given the stream, and queries, keys and values of each head.

    Raises:
        BadInput: an option that is not declared there.
        RingError: the ring has not what it takes.
    """
    network.require("the forward pass", DECLARED)
    t, a = network.tokens, network.attention_ranks[i - 1]
    named = [name for name in given if name[0] in "QKV"]
    seen = dict(zip(named, products([given[name] for name in named], x), strict=True))
    for name in named:
        if (bias := given.get("b" + name)) is not None:
            seen[name] = biased(seen[name], bias, t)
        if name[0] == "V":
            continue
        if network.epsilon is not None:
            seen[name] = normed(seen[name], network.epsilon, a, t)
        if network.gains:
            seen[name] = gained(seen[name], given[f"g{name[0]}{i}"], t)
    if network.rotary is not None:
        by = (form.rotation or rotation)(network.rotary, seen[named[0]], a, t)
        seen |= {name: turned(seen[name], by) for name in named if name[0] != "V"}
    heads = []
    for h in range(1, network.heads + 1):
        group = h if network.key_heads is None else (h - 1) // (network.heads // network.key_heads) + 1
        own, shared = network.head_name(i, h), network.head_name(i, group)
        places = zip(HEAD_FACTORS, (own, shared, shared, own), strict=True)
        query, value, key, output = (letter + place for letter, place in places)
        carried = given[output] @ seen[value] if output in given else seen[value]
        heads.append((seen[query], seen[key], carried))
    x = attended(x, heads, form)
    if (bias := given.get(f"bO{i}")) is not None:
        x = biased(x, bias, t)
    if network.gate is None or network.neurons is None:
        return x
    gates = activated(given[f"gate{i}"] @ x, network.gate, network.neurons[i - 1], t)
    operation(gates, "__mul__", "a gate")
    written = given[f"down{i}"] @ (gates * (given[f"up{i}"] @ x))
    return x + written if form.skip else written
