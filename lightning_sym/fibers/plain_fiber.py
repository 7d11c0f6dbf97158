r"""All weights with the same function: the fiber through given weights, in virtual weights and in (Q, K, V).

One layer, $t \ge 2$: Theorem 3.2. More layers, $t \ge 2$: Theorem 3.7, in the form that the following argument gives
and that names the last layer's exchange too. Suppose $\operatorname{rk} \tilde A_i \ge 2$ for $i < l$, no $\tilde A_i$
is skew-symmetric and $\tilde V \ne 0$; let `W'` have the same function. Other tokens set to zero, two remain, $(x, y)$.

1. The part of the output at `y` that is linear in `y` is $\tilde V x \prod_i (x^\top \tilde A_i x)^{e_i} \cdot
   x^\top \tilde A_1 y$. It is not zero, the last factor is irreducible since its rank is at least two, and it is the
   only one that involves `y`: so $\tilde A_1' = \lambda_1 \tilde A_1$ by unique factorization.
2. $X \mapsto Y = X X^\top \tilde A_1 X$ is dominant: it keeps the plane of the two columns, and in coordinates of the
   plane its derivative is $h \mapsto (h + h^\top) b + b h$ with `b` congruent to $\tilde A_1$ on that plane, invertible
   for almost every plane (else $x^\top \tilde A_1 y \cdot y^\top \tilde A_1 x = q(x) q(y)$, impossible for an
   irreducible form). A kernel element $h = s + k$ (symmetric and skew) has trace 0 and, comparing determinants,
   $\det k = 3 \det s$; over the reals $\det k \ge 0 \ge \det s$, so $h = 0$.
3. So the layers behind the first are the same function of `Y`. Repeat; Theorem 3.2 decides the last layer.

Step 2 needs no word about skew matrices, and behind the first layer of rank one all tokens are multiples of one
vector, any vector: so for $t \ge 2$ the function is zero exactly if $\tilde V = 0$, or some $\tilde A_i = 0$, or some
$\tilde A_j$ is skew behind some $\tilde A_i$ of rank one.

Where the hypotheses fail, `known_partners` are other orbits with the same function, for two small layers
`reconstruct` finds everything over $\mathbb{Q}$, and nothing more is claimed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from math import gcd

import numpy as np

from lightning_sym.ask import TheoremPrice, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.errors import ProgramError, proved_to_be
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.answer import AskedFiber, Fiber
from lightning_sym.fibers.components import one_token, orbit, orbits, zero_function
from lightning_sym.fibers.cost import number_bits, virtual_weights_cost
from lightning_sym.fibers.factorizations import Reader, Space, chain_fiber_dimension
from lightning_sym.fibers.local_dimension import LocalDimension
from lightning_sym.fibers.plain_differential import dimension_at_one_token, dimension_by_differential
from lightning_sym.fibers.points import Component
from lightning_sym.fibers.recovery import Solution, network_of, price_of_reconstruction, reconstruct
from lightning_sym.fibers.virtual_moves import (
    THEOREM_3_7,
    VisibleFunction,
    is_zero_function,
    primitive,
    same_orbit,
)
from lightning_sym.fibers.zero_strata import zero_dimension
from lightning_sym.limits import Work
from lightning_sym.network.ambient import count_terms_at_most, weights_in_a_term
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.pieces import FORM, LIGHTNING
from lightning_sym.network.polynomial_map import polynomial_map
from lightning_sym.network.prices import price_of_coefficients
from lightning_sym.network.virtual_weights import VirtualWeights, exact_virtual_weights, recursive_form
from lightning_sym.network.weights import Weights
from lightning_sym.rings.rationals import RationalMatrix

RECONSTRUCTION_WIDTH = 4
RECONSTRUCTION_MEMORY = 2**24
"""Two layers up to this width are reconstructed from their polynomials, if these fit: within a few seconds."""

BYTES_A_TERM = 32
"""Besides its coefficient: exponents of up to 16 inputs, and a pointer."""

VALUES = 4
"""Inputs that show how long coefficients are."""

COMPONENT = 2e-6
"""Seconds for an entry of a matrix of a component, text included."""


class AskedVirtual(VisibleFunction):
    """A plain lightning network whose fiber in virtual weights is asked for.

    Attributes:
        weights, shape: the network.
        budget: of exact work.
        search: whether more is looked for where no theorem applies.
    """

    def __init__(self, weights: Weights, tokens: int, budget: Work, *, search: bool) -> None:
        weights.require_plain("the fiber, all weights with the same function,")
        super().__init__(weights.architecture(tokens), lambda: exact_virtual_weights(weights))  # which are paid
        self.weights, self.budget, self.search = weights, budget, search

    @cached_property
    def ranks(self) -> list[int]:
        """Of the attention matrices."""
        return list(map(rank, self.visible.attention))

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The rescalings, and what moves lead to."""
        return tuple(orbits(self.shape, self.virtual))

    def answer(self, source: str, reason: str, over: str | None = "R", *more: Component) -> Fiber:
        """Return the rescalings and what moves lead to, and what says that they are all."""
        known = (*self.components, *more)
        return Fiber(self.shape, source, over, reason=reason, virtual=self.virtual, components=known)


def _zero(asked: AskedVirtual) -> Fiber | None:
    shape, virtual = asked.shape, asked.virtual
    if not is_zero_function(virtual, shape.tokens):
        return None
    depth, square = shape.depth, shape.widths[0] ** 2
    families_at_most = 1 + depth + (depth * (depth - 1) // 2 if shape.tokens > 1 else 0)
    asked.budget.spend(COMPONENT * families_at_most * depth * square, "the components of the zero function")
    families, source, reason = zero_function(shape, virtual)
    return Fiber(shape, source, "R", reason=reason, virtual=virtual, components=families)


def _by_factors(asked: AskedVirtual) -> Fiber:
    reason = "t = 1: only the quadratic form of A and its product with V x are visible"
    components = tuple(one_token(asked.virtual))
    return Fiber(asked.shape, "unique factorization", "R", reason=reason, virtual=asked.virtual, components=components)


def _of_one_layer(asked: AskedVirtual) -> Fiber:
    (attention,), value = asked.ranks, rank(asked.visible.value)
    case = "1" if attention == value == 1 else "3"
    return asked.answer(f"Theorem 3.2, case {case}", f"t >= 2, rk A = {attention}, rk V = {value}")


def _of_more_layers(asked: AskedVirtual) -> Fiber:
    if asked.ranks[-1] >= 2:
        return asked.answer("Theorem 3.7", "t >= 2, every rk A~_i >= 2, none skew-symmetric, V~ not 0")
    last = f"last ranks {asked.ranks[-1]} (A~) and {rank(asked.visible.value)} (V~)"
    return asked.answer(
        "Theorem 3.7, and Theorem 3.2 in the last layer",
        f"t >= 2, rk A~_i >= 2 for i < {asked.shape.depth}, none skew-symmetric, {last}",
    )


def _by_reconstruction(asked: AskedVirtual) -> Fiber | None:
    if (solutions := _rational_solutions(asked.shape, asked.visible, asked.budget)) is None:
        return None
    more = _unexplained(asked.shape, asked.components, solutions)
    return asked.answer("reconstruction from the polynomial, complete over Q", "two layers, t >= 2", "Q", *more)


def _virtual_price(asked: AskedVirtual) -> TheoremPrice:
    """Return the price of exact virtual weights.

    Known partners are virtual weights that are compared with these, and all become fractions of Python's.
    """
    seconds = 6 * virtual_weights_cost(asked.weights, *number_bits(asked.weights))
    return TheoremPrice((seconds,), "virtual weights", is_needed=True)


VIRTUAL: tuple[TheoremRow[AskedVirtual, Fiber], ...] = (
    TheoremRow("", any_question, _virtual_price, _zero),
    TheoremRow("", lambda asked: asked.shape.depth == asked.shape.tokens == 1, paid_by_steps, _by_factors),
    TheoremRow("Theorem 3.2", lambda asked: asked.shape.depth == 1, paid_by_steps, _of_one_layer),
    TheoremRow(
        "", lambda asked: asked.shape.widths[0] == 1, paid_by_steps,
        lambda asked: asked.answer("width one", "phi is a fixed polynomial times V~ prod A~_i^(3^(l-i))"),
    ),
    TheoremRow("Theorem 3.7", any_question, paid_by_steps, _of_more_layers, needs=THEOREM_3_7),
    TheoremRow("", lambda asked: asked.search, paid_by_steps, _by_reconstruction),
    TheoremRow(
        "", any_question, paid_by_steps,
        lambda asked: asked.answer("known symmetries only", "no theorem applies", None),
    ),
)  # fmt: skip
"""In the order of asking; the first row pays the virtual weights, which all of them need."""


def virtual_fiber(weights: Weights, tokens: int, budget: Work, *, search: bool = True) -> Fiber:
    """Return the weights with the function of a one-head lightning network with nothing added, in virtual weights.

    Args:
        weights: exact weights; entries are rational.
        tokens: $t$.
        budget: of exact work.
        search: whether more is looked for where no theorem applies.

    Raises:
        BadInput: another network.
        TooLarge: the estimate exceeds the budget.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> virtual_fiber(w, 2, Work()).complete_over
        'R'
    """
    found, tried = ask(AskedVirtual(weights, tokens, budget, search=search), VIRTUAL, budget)
    return replace(proved_to_be(found, "something must be known of the fiber in virtual weights"), tried=tried)


def _rational_solutions(shape: Architecture, visible: VirtualWeights, budget: Work) -> list[Solution] | None:
    r"""Return all rational points of the fiber, one for each orbit, for two small layers; else `None`.

    A network is $F(X X^\top) X$: with as many tokens as $d_0$ its function determines `F`, so more show nothing new.
    Whether it is done depends on the function alone, not on the length of the numbers in which its weights are given.
    """
    d = shape.widths[0]
    if shape.depth != 2 or shape.tokens == 1 or d > RECONSTRUCTION_WIDTH:
        return None
    whole, factor = primitive(visible)
    bits = _length_of_values(whole)
    network = network_of(whole)
    small = network.architecture(min(shape.tokens, max(d, 2)))
    terms = count_terms_at_most(small, symbolic=False)
    if terms * (BYTES_A_TERM + bits // 8) > RECONSTRUCTION_MEMORY:
        return None
    expansion = price_of_coefficients(small, -(-bits // weights_in_a_term(small))).seconds
    budget.spend(2 * expansion + price_of_reconstruction(small, terms, bits), "reconstruction from the polynomial")
    found = reconstruct(polynomial_map(small, network))
    return [s._replace(weights=s.weights._replace(value=factor * s.weights.value)) for s in found]


def _length_of_values(whole: VirtualWeights) -> int:
    """Return bits of the values at some inputs, in lowest terms: how long the coefficients of the function are."""
    source = random.Random(0)
    d = whole.value.shape[1]
    exact = VirtualWeights(tuple(map(RationalMatrix.of, whole.attention)), RationalMatrix.of(whole.value))
    inputs = (RationalMatrix.of([[source.randint(-2, 2) for _ in range(2)] for _ in range(d)]) for _ in range(VALUES))
    values = np.concatenate([recursive_form(x, exact).fractions().ravel() for x in inputs])
    common = gcd(*(value.numerator for value in values)) or 1
    return max(int(value.numerator // common).bit_length() for value in values)


def _unexplained(shape: Architecture, known: Sequence[Component], solutions: Sequence[Solution]) -> Iterator[Component]:
    """Yield what reconstruction finds and no move leads to; it must find all that moves lead to."""
    points = [component.virtual for component in known if component.virtual is not None]

    def among(point: VirtualWeights, others: Sequence[VirtualWeights]) -> bool:
        return any(same_orbit(point, other, shape.tokens) for other in others)

    found = [solution.weights for solution in solutions]
    if not all(among(point, found) for point in points):
        raise ProgramError(f"{shape}: reconstruction misses weights with the same function")
    for point in found:
        if not among(point, points):
            yield orbit(shape, point, "the same for weights that none of the known moves leads to")


def described(asked: AskedFiber, found: Fiber) -> Fiber:
    """Return the fiber with its components as families of weights like the given ones, and its dimension near these.

    Raises:
        BadInput: a network that has other weights than these three matrices a layer, or is normalized; or letters.
    """
    weights, shape = asked.weights, asked.shape
    weights.require_numbers("the fiber")
    shape.require("a fiber of families of weights", FORM & LIGHTNING)
    components = tuple(replace(component, origin=weights) for component in found.components)
    near = asked.near()
    finds = _more_bounds(weights, shape, found, components, asked.budget)
    while (near is None or near.value is None) and (find := next(finds, None)) is not None:
        if (more := find()) is not None:
            near = more if near is None else near.with_bounds(more)
    return replace(found, architecture=shape, components=components, near=near)


def _more_bounds(
    weights: Weights, shape: Architecture, found: Fiber, components: Sequence[Component], budget: Work
) -> Iterator[Callable[[], LocalDimension | None]]:
    """Yield ways to bounds by ranks of products, until they meet."""
    # where the fiber in virtual weights is known whole, it is that without a mask and a skip connection
    plain = weights.with_form(NetworkForm())
    if found.virtual is None:
        return
    virtual = found.virtual
    if is_zero_function(virtual, shape.tokens):
        yield lambda: zero_dimension(plain, shape.tokens, budget)
        return
    complete = found.complete_over == "R"
    if complete:
        yield lambda: _dimension_by_theorem(shape, virtual, components)
    if complete and shape.depth == 1 and shape.tokens == 1:
        yield lambda: dimension_at_one_token(plain, budget)
    elif complete or shape.is_plain:
        generic = virtual_weight_variety(plain.architecture(shape.tokens)).dimension
        yield lambda: dimension_by_differential(plain, shape.tokens, generic, budget, whole=complete)


def _dimension_by_theorem(
    shape: Architecture, virtual: VirtualWeights, components: Sequence[Component]
) -> LocalDimension | None:
    r"""Return the dimension in (Q, K, V), if all fibers over the points of components are manifolds of one dimension.

    So it is if $\tilde V$ is injective, as then all products are, and all $\operatorname{rk} \tilde A_i = a_i$: see
    `factorizations`. Rescalings, the only parameters then allowed, change no rank.
    """
    if any(parameter.kind != "scale" for component in components for parameter in component.parameters):
        return None
    d = shape.widths[0]
    if rank(virtual.value) < d or any(
        rank(x) < a for x, a in zip(virtual.attention, shape.attention_ranks, strict=True)
    ):
        return None
    readers = [*(Reader(a, a) for a in shape.attention_ranks), None]
    dimension, _ = chain_fiber_dimension([Space(w, d, reader) for w, reader in zip(shape.widths, readers, strict=True)])
    known = dimension + max(component.dimension for component in components)
    return LocalDimension(known, known, known, "all ranks are full")
