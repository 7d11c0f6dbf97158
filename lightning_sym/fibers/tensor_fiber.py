r"""All weights with the same function as those of a lightning network with skip connections, at every depth.

Theorem 1 of docs/deep-lightning.md: under its conditions the function determines `E`, `U` and all layer tensors, up to
one change of basis of the stream; `head_tensors` says what each tensor leaves to its heads.
"""

from __future__ import annotations

from collections.abc import Sequence

from lightning_sym.ask import TheoremPrice, TheoremRow, paid_by_steps
from lightning_sym.fibers.answer import Fiber, symmetry_generators
from lightning_sym.fibers.asked_fiber import AskedFiber
from lightning_sym.fibers.head_tensors import KnownHeads, heads_of_tensor
from lightning_sym.fibers.layer_tensors import lines_price
from lightning_sym.fibers.tensor_hypotheses import NEAR, PAGE, THEOREM_1, WIDEST, WIDTH_ONE


def _said(layers: Sequence[KnownHeads], heads: int, alone: bool) -> str:
    """What is left of heads, layers with the same words together."""
    words: dict[str, list[int]] = {}
    for each in layers:
        words.setdefault(each.known, []).append(each.layer)
    said, what = [], "forms" if alone else "tensors"
    for known, numbers in words.items():
        of = f"layer{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
        head = "head" if heads == 1 else "heads"
        said.append(f"the {head} of {of} up to {known}" if known else f"the {what} of {of}, their heads are not known")
    return "; ".join(said)


def by_layer_tensors(asked: AskedFiber) -> Fiber:
    """What Theorem 1 says, and what is known of the heads."""
    said, total = _determined(asked)
    return Fiber(
        asked.shape,
        f"Theorem 1 of {PAGE}",
        "R",
        said,
        symmetry_generators(asked.shape),
        "(D), (K) and (F) hold",
        conditions=tuple(asked.tensors.conditions),
        near=asked.near(),
        total=total,
    )


def near_layer_tensors(asked: AskedFiber) -> Fiber:
    """What Theorem 2 (i) says of weights near these."""
    return Fiber(
        asked.shape,
        f"Theorem 2 of {PAGE}, near these weights",
        None,
        f"near these weights {_determined(asked)[0]}",
        symmetry_generators(asked.shape),
        "(D), (K) and (G) hold",
        conditions=(*asked.tensors.conditions, *asked.tensors.near),
        near=asked.near(),
    )


def of_width_one(asked: AskedFiber) -> Fiber:
    """Layers are numbers, of which the function has the sequence of those that are not zero."""
    shape = asked.shape
    both = shape.embed is not None and shape.unembed is not None
    own = [size for name, (r, c) in shape.weight_shapes() if name[0] not in "EU" for size in (r * c,)]
    return Fiber(
        shape,
        f"width one, section 2 of {PAGE}",
        "R",
        "U E is determined, and the sequence of the sums over heads of V K^T Q of all layers in which it is not zero"
        + ", up to a factor of the stream" * both,
        symmetry_generators(shape),
        total=sum(own) - shape.depth + both,
    )


def _determined(asked: AskedFiber) -> tuple[str, int | None]:
    """What the function determines in words, and the dimension of all weights that have it where that is known."""
    weights, shape = asked.weights, asked.shape
    alone = shape.tokens == 1
    layers = [KnownHeads(i, "", None) for i in range(1, shape.depth + 1)] if alone else heads_of_tensor(weights, shape)
    sizes = [each.dimension for each in layers]
    both = shape.embed is not None and shape.unembed is not None
    total = None
    if all(size is not None for size in sizes):
        total = sum(size for size in sizes if size is not None) + (shape.widths[0] ** 2 if both else 0)
    ends = [name for name, held in (("E", shape.embed), ("U", shape.unembed)) if held is not None]
    basis = ", up to one change of basis of the stream" if both else ""
    names = " and ".join([*ends, "the cubic forms of all layers" if alone else "all layer tensors"])
    sums = f"V y times the score of y for {'itself' if alone else 'z'}"
    said = f"{names}, sums over the heads of {sums}, are determined{basis}; {_said(layers, shape.heads, alone)}"
    return said, total


def _price(asked: AskedFiber) -> TheoremPrice:
    known = asked.shape.skip and asked.shape.widths[0] <= WIDEST
    return TheoremPrice((lines_price(asked.shape),) if known else (), "layer tensors")


TENSOR_FIBERS: tuple[TheoremRow[AskedFiber, Fiber], ...] = (
    TheoremRow(
        f"width one, section 2 of {PAGE}", lambda asked: asked.shape.skip and asked.shape.widths[0] == 1, paid_by_steps,
        of_width_one, needs=WIDTH_ONE,
    ),
    TheoremRow(
        f"Theorem 1 of {PAGE}", lambda asked: asked.shape.skip and (asked.shape.depth, asked.shape.heads) != (1, 1),
        _price, by_layer_tensors, needs=THEOREM_1,
    ),
    TheoremRow(
        f"Theorem 2 of {PAGE}", lambda asked: asked.shape.skip and asked.shape.depth > 1, _price, near_layer_tensors,
        needs=NEAR,
    ),
)  # fmt: skip
"""Of `fiber.FIBERS` what is about lightning with skip connections."""
