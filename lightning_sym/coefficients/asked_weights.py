"""A network at its weights, whose learning coefficient is asked: what theorems share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from lightning_sym.coefficients.lightning_layer import Proved
from lightning_sym.coefficients.seen_circuits import SeenCircuits, circuits_seen
from lightning_sym.limits import DEFAULT_MEMORY, Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.system.circuits import NetworkCircuits

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
    """

    weights: Weights
    shape: Architecture
    budget: Work
    seed: int
    memory: int = DEFAULT_MEMORY
    found: dict[Finder, Proved | str] = field(default_factory=dict)
    least: Fraction = Fraction(0)

    @cached_property
    def net(self) -> NetworkCircuits:
        """The circuits, over the rationals."""
        return NetworkCircuits.of(self.weights).in_memory()

    @cached_property
    def seen(self) -> SeenCircuits | None:
        """The circuits that can be seen near the weights."""
        return circuits_seen(self.weights, self.shape, self.net)

    def names(self, layer: int) -> list[str]:
        """What stands behind the letters of the heads of a layer."""
        return [self.shape.head_name(layer, h) for h in range(1, self.shape.heads + 1)]

    def proved_by(self, finder: Finder) -> Proved | str:
        """What a theorem proves, or why it does not apply."""
        if finder not in self.found:
            self.found[finder] = finder(self)
        return self.found[finder]
