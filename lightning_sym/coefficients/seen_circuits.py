r"""Any network whose circuits are seen, up to symmetries, near its weights (docs/learning-coefficients.md, Theorem 5).

Let $y$ be the circuits that are seen: $A_h$ of the heads with values, sums of $O_h V_h$ of heads that attend alike, $E$
and $U$. If the rank of the Jacobian of the function by them and the dimension of their orbit under the symmetries add
up to their number, the function is as far from the given one as they are from that orbit, and $\lambda$ is that of the
products that they are, less half the dimension of the orbit. Both numbers are ranks modulo a prime, which are at most
the ranks; their sum is at most the number of circuits, so where it is reached both are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import prod
from typing import Generic

import numpy as np

from lightning_sym.coefficients.head_groups import HeadGroup, lightning_groups, softmax_groups
from lightning_sym.coefficients.lightning_layer import Proved
from lightning_sym.coefficients.reduced_rank import NOTHING, LocalPair
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import inertia_cost
from lightning_sym.fibers.cost import entry_bits, number_bits
from lightning_sym.limits import DEFAULT_MEMORY, Work, require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.prices import weights_over_sizes
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import PrimeFieldMatrix, Residues, modulo_a_prime
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import Price
from lightning_sym.symmetries.group import tangent_directions
from lightning_sym.symmetries.point import Point
from lightning_sym.system.circuits import NetworkCircuits, added, factor_names, layer_heads
from lightning_sym.system.fields import M
from lightning_sym.system.weights_of_circuits import circuits_as_weights

BYTES_AN_ENTRY = 300
"""Of a matrix of rationals, beside its digits."""

KNOWN = SHAPED
"""The options for which the page is proved."""


@dataclass(frozen=True, eq=False)
class SeenCircuits(Generic[M]):
    """The circuits that the function sees near the weights.

    Attributes:
        groups: the heads of each layer.
        ends: `E` and `U` where they are seen.
    """

    groups: tuple[tuple[HeadGroup[M], ...], ...]
    ends: Mapping[str, M]

    @property
    def count(self) -> int:
        """How many entries they have."""
        heads = sum(group.numbers_seen for group in self.all_groups)
        return heads + sum(int(prod(end.shape)) for end in self.ends.values())

    @property
    def all_groups(self) -> list[HeadGroup[M]]:
        """Those of all layers, from the first on."""
        return [group for layer in self.groups for group in layer]

    def pair(self) -> tuple[LocalPair, dict[str, int]]:
        """Return the pair of the ideal of all of them, less what they are, and the ranks that it was found by."""
        pair, ranks = NOTHING, dict[str, int]()
        for group in self.all_groups:
            more, named = group.seen()
            pair, ranks = pair + more, ranks | named
        for end in self.ends.values():
            pair += LocalPair.coordinates(end.shape[0] * end.shape[1])
        return pair, ranks


def circuits_seen(weights: Weights, shape: Architecture, net: NetworkCircuits) -> SeenCircuits[RationalMatrix] | None:
    """Return the circuits that can be seen near the weights, by zeros alone; `None` if two factors of a product are 0.

    Args:
        weights: exact weights.
        shape: their architecture, with its tokens.
        net: their circuits.
    """
    weights.require_numbers("the circuits that are seen")
    shape.require("the circuits that are seen", KNOWN)
    layers = list[tuple[HeadGroup[RationalMatrix], ...]]()
    for i, heads in enumerate(net.layers, start=1):
        names, own = shape.head_names(i), list(heads)
        if shape.normalization is None:
            groups = lightning_groups(names, own)
            if groups is None:
                return None
        else:
            groups = softmax_groups(names, own, one_token=shape.tokens == 1)
        layers.append(tuple(groups))
    ends = {name: end for name, end in net.ends.items() if name in weights.matrices}
    return _at_a_zero(SeenCircuits(tuple(layers), ends), shape)


def _at_a_zero(seen: SeenCircuits[M], shape: Architecture) -> SeenCircuits[M] | None:
    """Return what is left where one factor of the whole function is zero: that one. `None` where two of them are."""
    dead_ends = [name for name, end in seen.ends.items() if not end]
    dead_layers = [] if shape.skip else [i for i, layer in enumerate(seen.groups) if all(map(_is_idle, layer))]
    if len(dead_ends) + len(dead_layers) > 1:
        return None
    if dead_ends:
        return SeenCircuits((), {name: seen.ends[name] for name in dead_ends})
    if dead_layers:
        return SeenCircuits((seen.groups[dead_layers[0]],), {})
    return seen


def _is_idle(group: HeadGroup[M]) -> bool:
    """Return whether the heads write nothing: their scores are zero, or their values cancel each other."""
    return not group.values_seen or not added([head.value for head in group.heads])


def whole_circuits(weights: Weights, shape: Architecture, net: NetworkCircuits) -> Weights:
    """Return the network with circuits as weights: `A_h` in place of queries, keys 1, `O_h V_h` as values.

    Args:
        weights: exact weights.
        shape: their architecture.
        net: their circuits.
    """
    weights.require_numbers("circuits as weights")
    shape.require("circuits as weights", KNOWN)
    left_out = net.ends.keys() - weights.matrices.keys()
    named = {name: m.fractions() for name, m in circuits_as_weights(net).items() if name not in left_out}
    return Weights.of(named, weights.form)


def orbit_of_circuits(whole: Weights, tokens: int, seen: SeenCircuits[RationalMatrix]) -> int:
    """Return a lower bound of the dimension of the orbit of what is seen, under bases of streams and rescalings.

    Args:
        whole: the network of `whole_circuits`.
        tokens: of its inputs.
        seen: what is seen.

    Raises:
        BadInput: the network has an option for which the symmetries are not known; or there are letters.
    """
    whole.require_numbers("the orbit of circuits")
    if (found := modulo_a_prime(whole.all_held)) is None:
        return 0
    p, matrices = found
    point = Point(whole.architecture(tokens), list(matrices.values()), p)
    rows = [block.residues() for kind in ("stream", "scale") for block in tangent_directions(point, kind)]
    if not rows:
        return 0
    moved, names = np.concatenate(rows), factor_names(point.architecture)

    def motion(name: str) -> Residues:
        rows, columns = point.shapes[name]
        start = point.starts[name]
        return moved[:, start : start + rows * columns].reshape(-1, rows, columns)

    parts = [motion(name) for name in seen.ends]
    for group in seen.all_groups:
        heads = [names[name] for name in group.names]
        for head in heads if group.scores_seen else ():  # keys are 1: A moves by dK^T A + dQ
            key = PrimeFieldMatrix.of(np.moveaxis(motion(head.key), 1, 2), p)
            moving = key @ point.matrix(head.query) + PrimeFieldMatrix.of(motion(head.query), p)
            parts.append(moving.residues())
        if group.values_seen:
            parts.append(np.add.reduce([motion(head.inner_value) for head in heads]) % p)
    return rank_mod_p(np.concatenate([part.reshape(len(moved), -1) for part in parts], axis=1), p)


def ranks_cost(weights: Weights, shape: Architecture) -> float:
    """Return seconds for the circuits of all heads, and for the ranks of their factors and products.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> ranks_cost(w, w.architecture(2)) < 0.001
        True
    """
    price = Price("rationals")
    given = weights_over_sizes(shape, price, *number_bits(weights))
    sizes = {name: size for (name, _), size in zip(shape.weight_shapes(), given, strict=True)}
    for matrix in sizes.values():
        matrix.read()
        matrix.rank()
    for head in chain.from_iterable(layer_heads(shape, i, sizes.__getitem__) for i in range(1, shape.depth + 1)):
        head.attention.rank()
        if head.output is not None:
            head.value.rank()
    forms = inertia_cost(shape.widths[0], max(entry_bits(weights).values())) if shape.tokens == 1 else 0.0
    return price.seconds + forms


Finder = Callable[["AtWeights"], Proved | str]


@dataclass(eq=False)
class AtWeights:
    """A network at its weights, whose learning coefficient is asked.

    Attributes:
        weights: exact.
        shape: their architecture, with its tokens.
        budget: of exact work.
        seed: picks inputs.
        memory: bytes that residues may take.
        found: what theorems said, each asked once.
        least: a lower bound that a theorem has shown on the way.
        most: upper bounds likewise.
        statements: what has shown them.
    """

    weights: Weights
    shape: Architecture
    budget: Work
    seed: int
    memory: int = DEFAULT_MEMORY
    found: dict[Finder, Proved | str] = field(default_factory=dict)
    least: Fraction = Fraction(0)
    most: list[Fraction] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)

    def bounded(self, lower: Fraction, upper: Fraction | None, statement: str) -> None:
        """Keep bounds that a statement of the page shows."""
        self.least = max(self.least, lower)
        self.most += [] if upper is None else [upper]
        self.statements.append(statement)

    @cached_property
    def net(self) -> NetworkCircuits:
        """The circuits, over the rationals, whose ranks are paid for.

        Raises:
            TooLarge: estimates exceed the budget or `memory`.
        """
        weights, shape = self.weights, self.shape
        entries = sum(shape.heads * (before**2 + before * max(shape.widths)) for before in shape.widths)
        bytes_an_entry = BYTES_AN_ENTRY + sum(entry_bits(weights).values())
        require_memory(entries * bytes_an_entry, self.memory, "the circuits")
        self.budget.spend(ranks_cost(weights, shape), "exact ranks of the weights")
        return NetworkCircuits.of(self.weights).in_memory()

    @cached_property
    def seen(self) -> SeenCircuits[RationalMatrix] | None:
        """The circuits that can be seen near the weights."""
        return circuits_seen(self.weights, self.shape, self.net)

    def proved_by(self, finder: Finder) -> Proved | str:
        """Return what a theorem proves, or why it does not apply."""
        if finder not in self.found:
            self.found[finder] = finder(self)
        return self.found[finder]
