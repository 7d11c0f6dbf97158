r"""When two lightning networks are different functions because the layer tensors of one are determined by its function.

Let one fulfil the conditions of Theorem 1 of docs/deep-lightning.md, and let the other have the same depth and width,
and layers whose $B_i$ have no larger rank. If the functions were equal, all layer tensors would be, up to one change of
basis, and then layers would do the same on the streams of both (Lemma 2 there), which `tensor_streams` decides. So it
is without skip connections by Theorem 3, of whatever ranks the layers of the other one are.
"""

from __future__ import annotations

from dataclasses import dataclass

from lightning_sym.ask import FellShort, Need, TheoremRow, ask, paid_by_steps
from lightning_sym.fibers.layer_tensors import ranks_bounding
from lightning_sym.fibers.tensor_hypotheses import PAGE, THEOREM_1, THEOREM_3, TensorQuestion, seen_widths
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING


@dataclass(frozen=True)
class TensorPair:
    """A network whose hypotheses are asked for, and another one whose layers do not do the same on the streams of both.

    Attributes:
        tensors: the network.
        other: the shape of the other one.
    """

    tensors: TensorQuestion
    other: Architecture

    def __post_init__(self) -> None:
        self.other.require("layers that are determined", LIGHTNING)

    @property
    def shape(self) -> Architecture:
        """The network that fulfils the hypotheses."""
        return self.tensors.shape

    def has_no_larger_ranks(self) -> bool:
        """Return whether the layers of the other network have no larger ranks."""
        tensors = self.tensors.tested[0]
        return all(b <= a for a, b in zip(tensors.ranks, ranks_bounding(self.other, tensors.background), strict=True))


ALIKE = Need(
    "two networks of one width and depth, with E and U in both or in none",
    lambda pair: _size(pair.shape) == _size(pair.other),
)
OF_ONE_SIZE = Need(
    "two networks of one depth and one width between layers",
    lambda pair: seen_widths(pair.shape) == seen_widths(pair.other),
)
NO_LARGER_RANKS = Need("no larger ranks of layers in the other network", TensorPair.has_no_larger_ranks)


def _size(shape: Architecture) -> tuple[object, ...]:
    return shape.widths, shape.embed is None, shape.unembed is None


APART: tuple[TheoremRow[TensorPair, str], ...] = (
    TheoremRow(
        f"Theorem 1 of {PAGE}", lambda pair: pair.shape.skip, paid_by_steps, lambda pair: f"Theorem 1 of {PAGE}",
        needs=(ALIKE, *THEOREM_1, NO_LARGER_RANKS),
    ),
    TheoremRow(
        f"Theorem 3 of {PAGE}", lambda pair: not pair.shape.skip, paid_by_steps, lambda pair: f"Theorem 3 of {PAGE}",
        needs=(OF_ONE_SIZE, *THEOREM_3),
    ),
)  # fmt: skip
"""Different functions by the hypotheses that one network fulfils."""


def apart_by_tensors(pair: TensorPair) -> tuple[str | None, tuple[FellShort, ...]]:
    """Return the theorem that says that two networks are different functions, if one does, and what fell short."""
    return ask(pair, APART, Work())
