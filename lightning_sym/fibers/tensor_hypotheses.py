r"""The hypotheses of Theorems 1 to 3 of docs/deep-lightning.md, each stated once, and tested when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from lightning_sym.ask import Need, TestedNeed, TheoremNeed
from lightning_sym.fibers.conditions import Condition
from lightning_sym.fibers.layer_tensors import LayerTensors, backgrounds, coprime_conditions, tensor_conditions
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING
from lightning_sym.network.weights import Weights

PAGE = "docs/deep-lightning.md"

WIDEST = 64
"""Widths up to which hypotheses on given weights are tested."""


@dataclass
class TensorQuestion:
    """A lightning network, and the hypotheses of Theorem 1 or 3 on it, each tested when it is asked for.

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

    def _with_background(self, background: int) -> tuple[LayerTensors, list[Condition]]:
        """Return the hypotheses with so many background tokens, up to the first that is not known to hold."""
        tensors, found = LayerTensors.of(self.weights, self.tokens, background, self.seed), list[Condition]()
        for condition in tensor_conditions(tensors):
            found.append(condition)
            if condition.failing is not None:
                break
        return tensors, found

    @cached_property
    def tested(self) -> tuple[LayerTensors, list[Condition]]:
        """With the least number of background tokens, or with the first one for which all is shown."""
        tried = []
        for background in backgrounds(self.shape):
            tried.append(self._with_background(background))
            if all(condition.failing is None for condition in tried[-1][1]):
                return tried[-1]
        return tried[0]

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


def tensor_need(name: str) -> TestedNeed:
    """Return a condition of Theorem 1 or 3, or of those near weights, in all layers: one not reached is not wrong."""

    def why(question: HasTensors) -> str | None:
        asked = question.tensors
        mine = (c for c in (asked.near if name[:2] == "(G" else asked.conditions) if c.name.startswith(name))
        return next((c.failing for c in mine if c.failing is not None), None)

    return TestedNeed(name, why)


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
    SKIP, NOT_TOO_WIDE, FULL_ENDS, tensor_need("(D)"), tensor_need("(K)"), tensor_need("(F)"),
)  # fmt: skip
"""The hypotheses of Theorem 1; those behind one that fails are not tested."""
NEAR: tuple[TheoremNeed, ...] = (*THEOREM_1[:-1], tensor_need("(G)"))
"""Those of Theorem 2 (i)."""


def seen_widths(shape: Architecture) -> tuple[int, ...]:
    """Return rows of the input, of the streams between layers, and of the output.

    Example:
        >>> seen_widths(Architecture((4, 3, 3, 2), (1, 1, 1), 2, unembed=5))
        (4, 3, 3, 5)
    """
    shape.require("the widths that layer tensors are seen between", LIGHTNING)
    return (shape.input_width, *shape.widths[1:-1], shape.output_width)


def _has_full_streams(asked: HasTensors) -> bool:
    first, *inner, last = seen_widths(asked.tensors.shape)
    return not inner or max(inner) <= min(first, last, *inner)


STREAMS: tuple[TheoremNeed, ...] = (
    Need("no skip connections", lambda asked: not asked.tensors.shape.skip),
    Need(
        "one width between layers, and as many rows of input and output at least",
        _has_full_streams,
        lambda asked: ", ".join(map(str, seen_widths(asked.tensors.shape))),
    ),
    Need(
        f"widths of at most {WIDEST}",
        lambda asked: max(*asked.tensors.shape.widths, *seen_widths(asked.tensors.shape)) <= WIDEST,
    ),
    tensor_need("(D')"), tensor_need("(S)"),
)  # fmt: skip
"""Those of Theorem 3 and of what it says near weights."""
THEOREM_3: tuple[TheoremNeed, ...] = (*STREAMS, tensor_need("(F')"))
NEAR_3: tuple[TheoremNeed, ...] = (*STREAMS, tensor_need("(G')"))
WIDTH_ONE = (
    SKIP,
    Need("width one", lambda asked: asked.shape.widths[0] == 1, lambda asked: str(asked.shape.widths[0])),
    Need("an embedding and an unembedding that are not zero", lambda asked: asked.tensors.tested[0].full_ends()),
)
"""Those of the paragraph on width one in section 2."""
