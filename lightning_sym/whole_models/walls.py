"""Directions at infinity in which chosen neurons are half open: they show that lengths behind halves are no squares.

A wall is a vector `x` that is orthogonal to the gates of `d - 1` neurons. Along `x + i y`, `y` as long as `x` and
orthogonal to it, these neurons have any shares between 0 and 1, as if they were free letters; of the others each is
open or shut, which balls decide, and what is left is algebra modulo a prime. docs/whole-models.md, Proposition 11.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.model import Block
from lightning_sym.exact.modular import null_space_mod_p, rank_mod_p, row_basis_mod_p
from lightning_sym.rings.midpoint_radius import MidpointRadius
from lightning_sym.rings.prime_field import random_residues, reduce_mod
from lightning_sym.whole_models.images import Integers, Neurons, P, Residues, integers, product, times
from lightning_sym.whole_models.signs import moved_onto_cone

TRIES = 6
"""Sets of neurons that are tried for the two walls of a layer."""


class Wall(NamedTuple):
    """A vector orthogonal to the gates of some neurons.

    Attributes:
        neurons: which.
        vectors: two isotropic vectors `(d, 2)` modulo the prime, `x + i y` for two `y`.
        shown: `x` and one `y`, `(d, 2)`, in balls.
    """

    neurons: Integers
    vectors: Residues
    shown: MidpointRadius


class OpenNeurons(NamedTuple):
    """Which neurons are open at walls, `(m, walls)`, and of which that is decided."""

    open: npt.NDArray[np.bool_]
    decided: npt.NDArray[np.bool_]


def in_balls(part: Any) -> MidpointRadius:
    """An array of exact numbers, enclosed."""
    return MidpointRadius.of(np.asarray(part))


def gates_in_balls(block: Block) -> MidpointRadius:
    """The gates of a layer with the gain of the norm in front."""
    return in_balls(block.gate) * in_balls(block.norm2_gain)


def open_neurons(gates: MidpointRadius, shown: MidpointRadius, activation: str) -> OpenNeurons:
    """Which neurons are open along walls, whose `x` come first in `shown`, then their `y`."""
    along = gates @ shown
    count = shown.shape[1] // 2
    x, y = (MidpointRadius(along.middle[:, part], along.radius[:, part]) for part in np.split(np.arange(2 * count), 2))
    if activation == "gelu_new":  # the sign of the real part of the cube
        x = x * (x * x + y * y * MidpointRadius.of([[-3]]))
    above = x.middle > x.radius
    return OpenNeurons(above, above | (x.middle < -x.radius))


def open_columns(neurons: Neurons, vectors: Residues, opened: npt.NDArray[np.bool_]) -> Residues:
    """What the open neurons write of isotropic vectors, one of each wall, and to first order: `m` of the page."""
    return product(neurons.columns, np.where(opened, neurons.without_gates(vectors), 0.0))


def walls_of(block: Block, activation: str, source: np.random.Generator) -> tuple[Wall, Wall] | None:
    """Two walls of a layer that show (P2) for its MLP, if they are found among a few sets of neurons."""
    neurons, gates, found = Neurons.of(block), gates_in_balls(block), list[Wall]()
    width, count = neurons.gates.shape[::-1]
    for _ in range(TRIES):
        chosen = source.permutation(count)[: width - 1]
        wall = _wall(times(neurons.gates[chosen], neurons.gain), _rows(gates, chosen), chosen, source)
        if wall is None or not _shows(neurons, gates, wall, activation):
            continue
        found.append(wall)
        both = np.concatenate([neurons.columns[:, each.neurons] for each in found[-2:]], axis=1)
        if len(found) > 1 and rank_mod_p(both, P) == width:
            return found[-2], found[-1]
    return None


def _rows(gates: MidpointRadius, chosen: Integers) -> MidpointRadius:
    return MidpointRadius(gates.middle[chosen], gates.radius[chosen])


def _wall(residues: Residues, gates: MidpointRadius, chosen: Integers, source: np.random.Generator) -> Wall | None:
    """Return a wall of these neurons; `None` where their gates are not shown to be independent."""
    normals = null_space_mod_p(integers(residues), P)
    normal = normals[0].astype(np.float64)
    square = int(integers(reduce_mod(normal * normal, P)).sum() % P)
    shown = _shown_normal(gates, source)
    if len(normals) > 1 or not square or shown is None:
        return None
    inverse, vectors = float(pow(square, -1, P)), list[Residues]()
    while len(vectors) < 2:
        drawn = random_residues(source, (len(normal), 2), P).entries
        along = reduce_mod(product(normal[None], drawn) * inverse, P)
        first, second = reduce_mod(drawn - times(normal[:, None], along), P).T
        if (moved := moved_onto_cone(reduce_mod(normal + first, P), second)) is not None:
            vectors.append(moved)
    return Wall(chosen, np.stack(vectors, axis=1), shown)


def _shown_normal(gates: MidpointRadius, source: np.random.Generator) -> MidpointRadius | None:
    """Return a vector orthogonal to rows, with a random sign, and one as long and orthogonal to it, in balls."""
    width = gates.shape[1]
    near = np.linalg.qr(gates.middle.T, mode="complete")[0][:, -1:] * source.choice([-1.0, 1.0])
    whole = MidpointRadius(np.concatenate([gates.middle, near.T]), np.pad(gates.radius, ((0, 1), (0, 0))))
    try:
        inverse = MidpointRadius.of(np.linalg.inv(whole.middle))
    except np.linalg.LinAlgError:
        return None
    off = inverse @ whole + MidpointRadius.of(-np.eye(width))
    last = MidpointRadius.of(-np.eye(width)[:, -1:])
    short = inverse @ (whole @ MidpointRadius.of(near) + last)  # of the exact solution, times 1 - |off| at least
    slack = 1 - float((np.abs(off.middle) + off.radius).sum(axis=1).max()) * (1 + 1e-9)
    if not slack > 0:
        return None
    x = MidpointRadius(near, np.full(near.shape, 2 * float((np.abs(short.middle) + short.radius).max()) / slack))
    drawn = MidpointRadius.of(source.standard_normal((width, 1)))
    square, along = x.mT @ x, x.mT @ drawn
    y = drawn * square + x * (along * MidpointRadius.of([[-1.0]]))
    y = y * (square * (y.mT @ y).reciprocal([[1]])).elementary("rsqrt").reciprocal([[1]])
    return MidpointRadius(*(np.concatenate([getattr(each, of) for each in (x, y)], axis=1) for of in x.__slots__))


def _shows(neurons: Neurons, gates: MidpointRadius, wall: Wall, activation: str) -> bool:
    """Return whether no form in what the MLP writes is a square but that of what is orthogonal to the wall's columns.

    In the basis of what open neurons write and the wall's columns, no functional that sees one column alone may see
    nothing of the others, nor nothing if that neuron is open.
    """
    opened, on = open_neurons(gates, wall.shown, activation), wall.neurons
    if not np.delete(opened.decided, on).all():
        return False
    mask = opened.open.copy()
    mask[on] = False
    written, own = open_columns(neurons, wall.vectors, mask), neurons.without_gates(wall.vectors)[on]
    basis = np.concatenate([written[:, :1], neurons.columns[:, on], written[:, 1:]], axis=1)
    solved = row_basis_mod_p(integers(basis), P)
    width = len(basis)
    if len(solved) < width or (np.argmax(solved != 0, axis=1) != np.arange(width)).any():
        return False
    along, others = int(solved[0, -1]), solved[1:, -1]
    first, second = integers(own).T
    return bool(first.all() and others.all() and ((others + second - along * first % P) % P).all())
