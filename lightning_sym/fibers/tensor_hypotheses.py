r"""The hypotheses of Theorem 1 of docs/deep-lightning.md, each stated once, and tested where a theorem asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from lightning_sym.ask import Need, TheoremNeed
from lightning_sym.fibers.conditions import Condition
from lightning_sym.fibers.layer_tensors import LayerTensors, coprime_conditions, tensor_conditions
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights

PAGE = "docs/deep-lightning.md"

MOST_BACKGROUND = 2
"""Background tokens that are tried: with more, ranks seldom grow."""

WIDEST = 64
"""Widths up to which hypotheses on given weights are tested."""


@dataclass
class TensorQuestion:
    """A lightning network, and the hypotheses of Theorem 1 on it, each tested when it is asked for.

    Attributes:
        weights, tokens: the network.
        seed: picks backgrounds and lines.
    """

    weights: Weights
    tokens: int
    seed: int = 0

    def __post_init__(self) -> None:
        self.weights.require_numbers("the hypotheses on layer tensors")

    @cached_property
    def shape(self) -> Architecture:
        """The network without its weights."""
        return self.weights.architecture(self.tokens)

    def _with(self, background: int) -> tuple[LayerTensors, list[Condition]]:
        """The hypotheses with so many background tokens, up to the first that is not known to hold."""
        tensors, found = LayerTensors.of(self.weights, self.tokens, background, self.seed), list[Condition]()
        for condition in tensor_conditions(tensors):
            found.append(condition)
            if condition.failing is not None:
                break
        return tensors, found

    @cached_property
    def tested(self) -> tuple[LayerTensors, list[Condition]]:
        """With one background token, or with the first number for which all is shown."""
        tried = [self._with(1)]
        for background in range(2, min(MOST_BACKGROUND, self.tokens - 1) + 1):
            if tried[-1][1][-1].failing is None:
                break
            tried.append(self._with(background))
        return tried[-1] if tried[-1][1][-1].failing is None else tried[0]

    @property
    def conditions(self) -> list[Condition]:
        """What was tested."""
        return self.tested[1]

    @cached_property
    def near(self) -> list[Condition]:
        """(G) in place of (F), of the same background."""
        return list(coprime_conditions(self.tested[0]))


class HasTensors(Protocol):
    """What asks for the hypotheses of one network."""

    @property
    def tensors(self) -> TensorQuestion:
        """The network that fulfils them."""


@dataclass(frozen=True)
class TensorNeed:
    """(D), (K) or (F) of Theorem 1, or (G) of Theorem 2, in all layers."""

    name: str

    def failing(self, question: HasTensors) -> str | None:
        """What is wrong where it is not shown in some layer; `None` also where it was not reached."""
        asked = question.tensors
        mine = [c for c in (asked.near if self.name == "(G)" else asked.conditions) if c.name.startswith(self.name)]
        return next((c.failing for c in mine if c.failing is not None), None)


TWO_TOKENS = Need(
    "two tokens or more", lambda asked: asked.tensors.shape.tokens > 1, lambda asked: str(asked.tensors.shape.tokens)
)
SKIP = Need("skip connections", lambda asked: asked.tensors.shape.skip)
NOT_TOO_WIDE = Need(
    f"widths of at most {WIDEST}", lambda asked: asked.tensors.shape.widths[0] <= WIDEST,
    lambda asked: str(asked.tensors.shape.widths[0]),
)  # fmt: skip
FULL_ENDS = Need(
    "an embedding and an unembedding of the rank of the stream, or none",
    lambda asked: asked.tensors.tested[0].full_ends(),
)
THEOREM_1: tuple[TheoremNeed, ...] = (
    SKIP, NOT_TOO_WIDE, FULL_ENDS, TensorNeed("(D)"), TensorNeed("(K)"), TensorNeed("(F)"),
)  # fmt: skip
"""The hypotheses of Theorem 1; those behind one that fails are not tested."""
NEAR: tuple[TheoremNeed, ...] = (*THEOREM_1[:-1], TensorNeed("(G)"))
"""Those of Theorem 2 (i)."""
WIDTH_ONE = (
    SKIP,
    Need("width one", lambda asked: asked.shape.widths[0] == 1, lambda asked: str(asked.shape.widths[0])),
    Need("an embedding and an unembedding that are not zero", lambda asked: asked.tensors.tested[0].full_ends()),
)
"""Those of the paragraph on width one in section 2."""
