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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Lines, Result, latex_lines
from lightning_sym.errors import BadInput, ProgramError, TooLarge, no_truth_value
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.components import one_token, orbit, orbits, zero_function
from lightning_sym.fibers.cost import Bits, entry_bits, fraction_bits, virtual_weights_cost
from lightning_sym.fibers.factorizations import Reader, Space, chain_fiber_dimension
from lightning_sym.fibers.points import Component, virtual_lines
from lightning_sym.fibers.recovery import Solution, network_of, reconstruct
from lightning_sym.fibers.virtual_moves import (
    is_zero,
    is_zero_function,
    same_orbit,
    symmetric_part,
)
from lightning_sym.limits import DEFAULT_WORK, Progress, Work, require_integer
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.jacobian import weight_gradients
from lightning_sym.network.polynomial_map import polynomial_map
from lightning_sym.network.virtual_weights import VirtualWeights, exact_virtual_weights
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues
from lightning_sym.rings.rationals import clear_denominators
from lightning_sym.symmetries.families import symmetry_count, tangent_directions_mod_p
from lightning_sym.symmetries.group import verify_identity

PARAMETER_LIMIT = 2000
"""Most parameters, symmetry directions and tokens for which ranks bound the dimension of the fiber in (Q, K, V);
beyond them a theorem must give it."""

RECONSTRUCTION_WIDTH = 4
RECONSTRUCTION_MEMORY = 2**24
"""Two layers up to this width are reconstructed from their polynomials, if these fit: within a few seconds."""

_BY_RANKS = "orbit and differential agree"

_MOST_SHOWN = 8
"""Components that a notebook shows."""

RECONSTRUCTION, GRADIENT_ENTRY = 0.05, 5e-7
"""Seconds, measured and rough: for a reconstruction, by the cube of the width and the words of a number; for an entry
of the Jacobian modulo a prime."""


@dataclass(frozen=True, eq=False, repr=False)
class Fiber(Result):
    r"""What is known of the weights with the same function as the given ones.

    Attributes:
        architecture: the shape.
        virtual: the virtual weights of the given network, exact.
        components: families in virtual weights; all matrices of shape $d_0 \times d_0$ and $d_l \times d_0$ count,
            whether or not the widths and the $a_i$ allow them.
        complete_over: `"R"` if these are all of the fiber over the reals; `"Q"` if they contain all rational virtual
            weights in it, and there may be more over the reals; `None` if there may be more in any case.
        source: what gives the components.
        reason: the hypotheses that hold, or the one that fails.
        bounds: lower and upper bound for the dimension, near the given weights, of the fiber in (Q, K, V): the
            symmetry orbit through them, and the kernel of the differential at them; or what a theorem gives. `None` if
            not computed.
        shown_by: what makes the bounds meet, if they do.
    """

    architecture: Architecture
    virtual: VirtualWeights
    components: tuple[Component, ...]
    complete_over: str | None
    source: str
    reason: str
    bounds: tuple[int, int] | None
    shown_by: str = _BY_RANKS

    def lines(self) -> Lines:
        """As the command `fiber` prints it."""
        amount = {
            "R": "all of the fiber, matrices of any rank counted",
            "Q": "everything rational in the fiber; over the reals there may be more",
            None: "in the fiber; there may be more",
        }[self.complete_over]
        lines = [("network", network_line(self.architecture)), ("known from", f"{self.source} ({self.reason})")]
        for i, component in enumerate(self.components, start=1):
            lines.append((f"component {i}", f"{component.description}; dimension {component.dimension}"))
            lines.append(("", "; ".join(component.generators)))
            if component.parameters:
                lines.append(("", f"parameters {', '.join(each.name for each in component.parameters)}"))
            if component.virtual is not None and i > 1:
                lines += virtual_lines(component.virtual)
        exactly = "" if self.complete else "at least "
        lines += [("complete", amount), ("dimension", f"{exactly}{self.known_dimension} in virtual weights")]
        if self.bounds is None:
            lines.append(("", "not computed in (Q, K, V): too many parameters, and a rank that is not full"))
        elif self.dimension is not None:
            lines.append(("", f"{self.dimension} in (Q, K, V) near these weights: {self.shown_by}"))
        else:
            lower, upper = self.bounds
            lines.append(("", f"at least {lower} and at most {upper} in (Q, K, V) near these weights"))
        return lines

    def _latex(self) -> str:
        shown = [rf"{i}. \quad {c.formula()}" for i, c in enumerate(self.components[:_MOST_SHOWN], start=1)]
        return latex_lines([*shown, r"\ldots"] if len(self.components) > _MOST_SHOWN else shown)

    def __bool__(self) -> NoReturn:
        no_truth_value(self, "found.complete")

    @property
    def complete(self) -> bool:
        """Whether the components are all of the fiber over the reals."""
        return self.complete_over == "R"

    @property
    def known_dimension(self) -> int:
        """Largest dimension of a component: the dimension in virtual weights if `complete`, else a lower bound."""
        return max(component.dimension for component in self.components)

    @property
    def dimension(self) -> int | None:
        """Dimension of the fiber in (Q, K, V) near the given weights, where the two bounds meet."""
        return self.bounds[0] if self.bounds is not None and self.bounds[0] == self.bounds[1] else None


def fiber(
    weights: Weights,
    tokens: int = 2,
    *,
    seed: int = 0,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> Fiber:
    r"""The weights with the same function as `weights`.

    Args:
        weights: exact weights; entries are rational.
        tokens: $t$.
        seed: picks the inputs for the dimension in (Q, K, V), which is bounded both ways whatever they are.
        work: seconds that all exact work may take, by a rough estimate made before each step.
        progress: called with stage, steps done and steps in all.

    Raises:
        BadInput: the network is not decided: masked, with skip connections, several heads or embeddings; or it is a
            softmax network, which `softmax_fiber` takes.
        TooLarge: the estimate exceeds `work`.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> found = fiber(w)
        >>> found.source, len(found.components), found.dimension
        ('Theorem 3.2, case 1', 2, 2)
    """
    require_arguments(fiber, locals())
    require_integer(seed, "the seed")
    if weights.form.normalization == SOFTMAX:
        raise BadInput(f"the network must be without softmax, for which there is softmax_fiber; got {weights.form}")
    weights.require_plain("the fiber, all weights with the same function,")
    shape, budget = weights.architecture(tokens), Work(work, progress)
    # twice: known partners are virtual weights that are compared with these
    bits = entry_bits(weights)
    budget.spend(2 * virtual_weights_cost(weights, bits, fraction_bits(weights)), "virtual weights")
    virtual = exact_virtual_weights(weights)
    field: str | None
    if is_zero_function(virtual, tokens):
        (components, source, reason), field = zero_function(shape, virtual), "R"
    elif tokens == 1 and shape.depth == 1:
        components, field = tuple(one_token(virtual)), "R"
        source = "unique factorization"
        reason = "t = 1: only the quadratic form of A and its product with V x are visible"
    else:
        components = tuple(orbits(shape, virtual))
        complete, source, reason = _theorem(shape, virtual)
        field = "R" if complete else None
        if not complete and (solutions := _rational_solutions(shape, virtual, bits, budget)) is not None:
            components += tuple(_unexplained(shape, components, solutions))
            field, source = "Q", "reconstruction from the polynomial, complete over Q"
    components = tuple(replace(component, origin=weights) for component in components)
    bounds, shown_by = _dimension_bounds(weights, shape, seed, budget), _BY_RANKS
    if (bounds is None or bounds[0] < bounds[1]) and field == "R":
        known = _dimension_by_theorem(shape, virtual, components)
        if known is not None:
            bounds, shown_by = (known, known), "all ranks are full"
    return Fiber(shape, virtual, components, field, source, reason, bounds, shown_by)


def _theorem(shape: Architecture, virtual: VirtualWeights) -> tuple[bool, str, str]:
    """Whether the rescalings and the exchange are known to be all over the reals, for a function that is not zero."""
    ranks, value_rank = [rank(a) for a in virtual.attention], rank(virtual.value)
    if shape.depth == 1:
        case = "1" if ranks == [1] and value_rank == 1 else "3"
        return True, f"Theorem 3.2, case {case}", f"t >= 2, rk A = {ranks[0]}, rk V = {value_rank}"
    if shape.widths[0] == 1:
        return True, "width one", "phi is a fixed polynomial times V~ prod A~_i^(3^(l-i))"
    failing = []
    if shape.tokens == 1:
        failing.append("t = 1")
    failing += [f"rk A~{i} = {r}" for i, r in enumerate(ranks[:-1], start=1) if r < 2]
    skew = [i for i, a in enumerate(virtual.attention, start=1) if is_zero(symmetric_part(a))]
    failing += [f"A~{i} is skew-symmetric" for i in skew]
    if failing:
        return False, "known symmetries only", "Theorem 3.7 does not apply: " + ", ".join(failing)
    if ranks[-1] >= 2:
        return True, "Theorem 3.7", "t >= 2, every rk A~_i >= 2, none skew-symmetric, V~ not 0"
    return (
        True,
        "Theorem 3.7, and Theorem 3.2 in the last layer",
        f"t >= 2, rk A~_i >= 2 for i < {shape.depth}, none skew-symmetric, last ranks 1 (A~) and {value_rank} (V~)",
    )


def _rational_solutions(
    shape: Architecture, virtual: VirtualWeights, bits: Bits, budget: Work
) -> list[Solution] | None:
    r"""All rational points of the fiber, one for each orbit, for two small layers; else `None`.

    A network is $F(X X^\top) X$: with as many tokens as $d_0$ its function determines `F`, so more show nothing new.
    """
    d = shape.widths[0]
    if shape.depth != 2 or shape.tokens == 1 or d > RECONSTRUCTION_WIDTH:
        return None
    network = network_of(virtual)
    budget.spend(RECONSTRUCTION * d**3 * (1 + sum(bits.values()) // 64), "reconstruction from the polynomial")
    try:
        tokens = min(shape.tokens, max(d, 2))
        return reconstruct(polynomial_map(network.architecture(tokens), network, memory=RECONSTRUCTION_MEMORY))
    except TooLarge:
        return None


def _unexplained(shape: Architecture, known: Sequence[Component], solutions: Sequence[Solution]) -> Iterator[Component]:
    """What reconstruction finds and no move leads to; it must find all that moves lead to."""
    points = [component.virtual for component in known if component.virtual is not None]

    def among(point: VirtualWeights, others: Sequence[VirtualWeights]) -> bool:
        return any(same_orbit(point, other, shape.tokens) for other in others)

    found = [solution.weights for solution in solutions]
    if not all(among(point, found) for point in points):
        raise ProgramError(f"{shape}: reconstruction misses weights with the same function")
    for point in found:
        if not among(point, points):
            yield orbit(shape, point, "the same for weights that none of the known moves leads to")


def _dimension_by_theorem(shape: Architecture, virtual: VirtualWeights, components: Sequence[Component]) -> int | None:
    r"""The dimension in (Q, K, V), if all fibers over the points of the components are manifolds of one dimension.

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
    return dimension + max(component.dimension for component in components)


def _dimension_bounds(weights: Weights, shape: Architecture, seed: int, budget: Work) -> tuple[int, int] | None:
    r"""Bounds for the dimension of the fiber in (Q, K, V) near the weights, by ranks at these very weights.

    The orbit of the symmetry group lies in the fiber, and the tangent space of the fiber lies in the kernel of the
    differential. A rank modulo `p` can only be too small, which widens the bounds on both sides. Clearing the
    denominators of a matrix is a linear change of the weights that maps fibers to fibers.
    """
    if max(shape.parameter_count, symmetry_count(shape), shape.tokens) > PARAMETER_LIMIT:
        return None
    budget.spend(GRADIENT_ENTRY * shape.parameter_count**2 * shape.depth, "the dimension in (Q, K, V)")
    verify_identity()
    p, generator = PRIMES[0], np.random.default_rng(seed)
    layers = [
        Layer(*(PrimeFieldMatrix.of(clear_denominators(matrix), p) for matrix in layer)) for layer in weights.layers
    ]
    blocks = tangent_directions_mod_p(shape, [w for layer in layers for w in layer], p)
    lower = rank_mod_p(np.concatenate([block.residues() for block in blocks]), p)
    rows = shape.parameter_count - lower + 16
    x = random_residues(generator, (rows, shape.widths[0], shape.tokens), p)
    functional = random_residues(generator, (rows, shape.widths[-1], shape.tokens), p)
    gradients: Sequence[Any] = weight_gradients(layers, x, functional)
    jacobian = np.concatenate([gradient.residues().reshape(rows, -1) for gradient in gradients], axis=1)
    return lower, shape.parameter_count - rank_mod_p(jacobian, p)
