"""The question of a fiber, which the theorems about it share."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from lightning_sym.ask import FellShort
from lightning_sym.fibers.local_dimension import LocalDimension, local_dimension
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import Progress, Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights

with lazy_imports(__name__):  # only lightning with skip connections has them
    from lightning_sym.fibers import tensor_hypotheses


@dataclass
class AskedFiber:
    """Weights, and what their fiber may cost.

    Attributes:
        weights, tokens: the network.
        budget: of exact work.
        seed: picks points and inputs.
        memory: bytes that residues may take.
        progress: called with stage, steps done and steps in all.
        tried: theorems that were asked beside those of the list.
    """

    weights: Weights
    tokens: int
    budget: Work
    seed: int
    memory: int
    progress: Progress | None
    tried: list[FellShort] = field(default_factory=list)

    @cached_property
    def shape(self) -> Architecture:
        """The network without its weights."""
        return self.weights.architecture(self.tokens)

    @cached_property
    def tensors(self) -> tensor_hypotheses.TensorQuestion:
        """The hypotheses on its layer tensors, of lightning with skip connections."""
        return tensor_hypotheses.TensorQuestion(self.weights, self.tokens, self.seed)

    def near(self) -> LocalDimension | None:
        """Return bounds for the dimension near the weights."""
        return local_dimension(self.weights, self.tokens, seed=self.seed, budget=self.budget)
