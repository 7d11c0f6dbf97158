r"""All weights with the same function as those of a lightning network with heads, skip connections, masks, embeddings.

One layer with one head: the added input is the part of degree one, a mask and more tokens show nothing new, and what is
left is Theorem 3.2 for $\tilde A = E^\top K^\top Q E$ and $\tilde V = U O V E$. More layers under a mask: Theorem 3.7
under its hypotheses. Both are proved in docs/fibers-near-weights.md, Propositions 3 and 4. Of all others the symmetries
are known, and the dimension of the fiber near the weights, from both sides.

Several heads or layers, at every depth: Theorem 1 of docs/deep-lightning.md. With skip connections, under its
conditions, the function determines `E`, `U` and all layer tensors, up to one change of basis of the stream; by Theorem
3 without them it does, up to one of each stream between two layers, what is read behind `E` and in front of `U`.
`head_tensors` says what each tensor leaves to its heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lightning_sym.ask import TheoremPrice, TheoremRow, paid_by_steps
from lightning_sym.fibers.answer import AskedFiber, Fiber, symmetry_generators
from lightning_sym.fibers.cost import entry_bits, product_cost
from lightning_sym.fibers.head_tensors import KnownHeads, heads_of_tensor
from lightning_sym.fibers.layer_tensors import lines_price
from lightning_sym.fibers.plain_fiber import described, virtual_fiber
from lightning_sym.fibers.tensor_hypotheses import NEAR, NEAR_3, PAGE, THEOREM_1, THEOREM_3, WIDEST, WIDTH_ONE
from lightning_sym.fibers.virtual_moves import is_zero_function
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.pieces import ENDS, FORM, LIGHTNING
from lightning_sym.network.weights import Weights
from lightning_sym.system.circuits import NetworkCircuits


def _heads_in_words(layers: Sequence[KnownHeads], heads: int, alone: bool) -> str:
    """Return what is left of heads, layers with the same words together."""
    words: dict[str, list[int]] = {}
    for each in layers:
        words.setdefault(each.known, []).append(each.layer)
    said, what = [], "forms" if alone else "tensors"
    for known, numbers in words.items():
        of = f"layer{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
        head = "head" if heads == 1 else "heads"
        said.append(f"the {head} of {of} up to {known}" if known else f"the {what} of {of}, their heads are not known")
    return "; ".join(said)


def by_layer_tensors(asked: AskedFiber, *, near: bool = False) -> Fiber:
    """Return what Theorem 1 or 3 says, and what is known of the heads; near the weights Theorem 2 (i), or 3 with (G').

    Args:
        asked: the network.
        near: whether it is said of weights near these.
    """
    said, total = _determined(asked)
    skip, where, last = asked.shape.skip, ", near these weights" * near, "G" if near else "F"
    held = f"(D), (K) and ({last}) hold" if skip else f"(D'), (S) and ({last}') hold" * (asked.shape.depth > 1)
    return Fiber(
        asked.shape,
        f"{'Theorem 3' if not skip else 'Theorem 2' if near else 'Theorem 1'} of {PAGE}{where}",
        None if near else "R",
        "near these weights " * near + said,
        symmetry_generators(asked.shape),
        held,
        conditions=(*asked.tensors.conditions, *(asked.tensors.near if near else ())),
        near=asked.near(),
        total=None if near else total,
    )


def of_width_one(asked: AskedFiber) -> Fiber:
    """Return the fiber at width one: layers are numbers, and the function has the sequence of those not zero."""
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
    """Return what the function determines in words, and the dimension of all weights that have it, if known."""
    weights, shape = asked.weights, asked.shape
    alone, inside = shape.tokens == 1, shape.skip or (shape.embed is None and shape.unembed is None)
    known = not alone and inside
    layers = heads_of_tensor(weights, shape) if known else [KnownHeads(i, "", None) for i in range(1, shape.depth + 1)]
    sizes = [each.dimension for each in layers]
    ends = [name for name, held in zip(ENDS, (shape.embed, shape.unembed), strict=True) if held is not None]
    streams = [shape.widths[0]] * (len(ends) > 1) if shape.skip else shape.widths[1:-1]
    total = None
    if all(size is not None for size in sizes) and (shape.skip or not ends):
        total = sum(size for size in sizes if size is not None) + sum(d * d for d in streams)
    names = "the cubic forms of all layers" if alone else "all layer tensors"
    if shape.skip:
        basis, names = ", up to one change of basis of the stream", " and ".join([*ends, names])
    else:
        basis = ", up to a change of basis of each stream between layers"
        said = dict(zip(ENDS, (", the first read behind E", ", the last in front of U"), strict=True))
        names += "".join(said[end] for end in ends)
    sums = f"V y times the score of y for {'itself' if alone else 'z'}"
    what = f"{names}, sums over the heads of {sums}, are determined{basis * bool(streams)}"
    return f"{what}; {_heads_in_words(layers, shape.heads, alone)}", total


def _price(asked: AskedFiber) -> TheoremPrice:
    known = max(asked.shape.widths) <= WIDEST
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
        f"Theorem 2 of {PAGE}", lambda asked: asked.shape.skip and asked.shape.depth > 1, _price,
        partial(by_layer_tensors, near=True),
        needs=NEAR,
    ),
    TheoremRow(
        f"Theorem 3 of {PAGE}", lambda asked: not asked.shape.skip and (asked.shape.depth, asked.shape.heads) != (1, 1),
        _price, by_layer_tensors, needs=THEOREM_3,
    ),
    TheoremRow(
        f"Theorem 3 of {PAGE}, near these weights", lambda asked: not asked.shape.skip and asked.shape.depth > 1,
        _price, partial(by_layer_tensors, near=True), needs=NEAR_3,
    ),
)  # fmt: skip
"""Of `fiber.FIBERS` what is about layer tensors."""


_PAGE = "docs/fibers-near-weights.md"


def one_layer_fiber(asked: AskedFiber) -> Fiber:
    """Return the fiber by Proposition 3: that of the plain layer with the same virtual weights.

    If the layer is skipped, `U E` is determined too.
    """
    weights, shape, budget = asked.weights, asked.shape, asked.budget
    if shape.options <= FORM & LIGHTNING:
        found = virtual_fiber(weights.with_form(NetworkForm()), shape.tokens, budget)
        return described(asked, _with_reason(found, shape))
    weights.require_numbers("the fiber")
    bits, size = max(entry_bits(weights).values()), max(*shape.widths, shape.input_width, shape.output_width)
    budget.spend(6 * product_cost(size, size, size, 3 * bits, bits), "virtual weights")
    net = NetworkCircuits.of(weights)
    ((head,),) = net.layers
    seen = {"Q1": head.query @ net.embed, "K1": head.key @ net.embed, "V1": net.unembed @ head.carried(net.embed)}
    plain = Weights.of({name: matrix.fractions() for name, matrix in seen.items()})
    found = _with_reason(virtual_fiber(plain, shape.tokens, budget), shape)
    return replace(found, architecture=shape, near=asked.near())


def _with_reason(found: Fiber, shape: Architecture) -> Fiber:
    """Return the fiber with what says that the layer is like a plain one.

    Nothing is said where it is one, or one token sees no mask.
    """
    ends = shape.embed is not None or shape.unembed is not None
    if shape.options <= ({"causal"} if shape.tokens == 1 else set()):
        return found
    more = f"; {_PAGE}, Proposition 3" + "; U E is determined too" * (shape.skip and ends)
    return replace(found, reason=found.reason + more)


def masked_fiber(asked: AskedFiber) -> Fiber | None:
    """Return the fiber by Proposition 4: where Theorem 3.7 holds without the mask, it is the same with it.

    For one token the mask does not matter; `None` where neither applies.
    """
    plain, tokens = asked.weights.with_form(NetworkForm()), asked.shape.tokens
    found = virtual_fiber(plain, tokens, asked.budget, search=tokens == 1)
    if tokens == 1:
        return described(asked, found)
    if found.complete_over != "R" or found.virtual is None or is_zero_function(found.virtual, tokens):
        asked.tried += found.tried
        return None
    return described(asked, replace(found, reason=f"{found.reason}; {_PAGE}, Proposition 4"))
