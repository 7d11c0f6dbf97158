r"""All weights with the same function as those of a lightning network with skip connections, at every depth.

Theorem 1 of docs/deep-lightning.md: under its conditions the function determines `E`, `U` and all layer tensors, up to
one change of basis of the stream; `head_tensors` says what each tensor leaves to its heads.
"""

from __future__ import annotations

from collections.abc import Sequence

from lightning_sym.ask import TheoremPrice, TheoremRow
from lightning_sym.fibers.answer import Fiber, symmetry_generators
from lightning_sym.fibers.asked_fiber import AskedFiber
from lightning_sym.fibers.head_tensors import KnownHeads, heads_of_tensor
from lightning_sym.fibers.layer_tensors import lines_price
from lightning_sym.fibers.tensor_hypotheses import PAGE, THEOREM_1, WIDEST


def _said(layers: Sequence[KnownHeads], heads: int) -> str:
    """What is left of heads, layers with the same words together."""
    words: dict[str, list[int]] = {}
    for each in layers:
        words.setdefault(each.known, []).append(each.layer)
    said = []
    for known, numbers in words.items():
        of = f"layer{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
        head = "head" if heads == 1 else "heads"
        said.append(f"the {head} of {of} up to {known}" if known else f"the tensors of {of}, their heads are not known")
    return "; ".join(said)


def by_layer_tensors(asked: AskedFiber) -> Fiber:
    """What Theorem 1 says, and what is known of the heads."""
    weights, shape = asked.weights, asked.shape
    layers = heads_of_tensor(weights, shape)
    sizes = [each.dimension for each in layers]
    both = shape.embed is not None and shape.unembed is not None
    total = None
    if all(size is not None for size in sizes):
        total = sum(size for size in sizes if size is not None) + (shape.widths[0] ** 2 if both else 0)
    ends = [name for name, held in (("E", shape.embed), ("U", shape.unembed)) if held is not None]
    basis = ", up to one change of basis of the stream" if both else ""
    names = " and ".join([*ends, "all layer tensors"])
    return Fiber(
        shape,
        f"Theorem 1 of {PAGE}",
        "R",
        f"{names}, sums over the heads of V y times the score of y for z, are determined{basis}; "
        f"{_said(layers, shape.heads)}",
        symmetry_generators(shape),
        "(D), (K) and (F) hold",
        conditions=tuple(asked.tensors.conditions),
        near=asked.near(),
        total=total,
    )


def _price(asked: AskedFiber) -> TheoremPrice:
    known = asked.shape.skip and asked.shape.tokens > 1 and asked.shape.widths[0] <= WIDEST
    return TheoremPrice((lines_price(asked.shape),) if known else (), "layer tensors")


TENSOR_FIBERS: tuple[TheoremRow[AskedFiber, Fiber], ...] = (
    TheoremRow(
        f"Theorem 1 of {PAGE}", lambda asked: asked.shape.skip and (asked.shape.depth, asked.shape.heads) != (1, 1),
        _price, by_layer_tensors, needs=THEOREM_1,
    ),
)  # fmt: skip
"""Of `fiber.FIBERS` what is about lightning with skip connections."""
