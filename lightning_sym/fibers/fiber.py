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
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from lightning_sym.errors import BadInput, ProgramError, TooLarge, no_truth_value
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.cost import Bits, entry_bits, virtual_weights_cost
from lightning_sym.fibers.recovery import Solution, network_of, reconstruct
from lightning_sym.fibers.transform import rank_one_factors
from lightning_sym.fibers.virtual_moves import (
    is_zero,
    is_zero_function,
    known_partners,
    layers_seen_symmetrically,
    linear_factors,
    same_orbit,
    symmetric_part,
)
from lightning_sym.limits import DEFAULT_WORK, Progress, Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.jacobian import weight_gradients
from lightning_sym.network.polynomial_map import polynomial_map
from lightning_sym.network.virtual_weights import VirtualWeights, exact_virtual_weights
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues
from lightning_sym.rings.rationals import clear_denominators
from lightning_sym.symmetries.families import symmetry_count, tangent_directions_mod_p
from lightning_sym.symmetries.group import verify_identity

PARAMETER_LIMIT = 2000
"""Most parameters, symmetry directions and tokens for which the dimension of the fiber in (Q, K, V) is computed."""

RECONSTRUCTION_WIDTH = 4
RECONSTRUCTION_MEMORY = 2**24
"""Two layers up to this width are reconstructed from their polynomials, if these fit: within a few seconds."""

RECONSTRUCTION, GRADIENT_ENTRY = 0.05, 5e-7
"""Seconds, measured and rough: for a reconstruction, by the cube of the width and the words of a number; for an entry
of the Jacobian modulo a prime."""


@dataclass(frozen=True, eq=False)
class Component:
    r"""A family of virtual weights with one function.

    Attributes:
        description: the family in one line.
        generators: what moves along it, in words.
        dimension: its dimension in the space of all $(\tilde A_1, \dots, \tilde A_l, \tilde V)$.
        point: one exact member, `None` where the family has real members but no rational ones.
    """

    description: str
    generators: tuple[str, ...]
    dimension: int
    point: VirtualWeights | None


@dataclass(frozen=True, eq=False)
class Fiber:
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
            symmetry orbit through them, and the kernel of the differential at them. `None` if not computed.
    """

    architecture: Architecture
    virtual: VirtualWeights
    components: tuple[Component, ...]
    complete_over: str | None
    source: str
    reason: str
    bounds: tuple[int, int] | None

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
        BadInput: the network is not decided: softmax, masked, with skip connections, several heads or embeddings.
        TooLarge: the estimate exceeds `work`.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> found = fiber(w)
        >>> found.source, len(found.components), found.dimension
        ('Theorem 3.2, case 1', 2, 2)
    """
    if seed < 0:
        raise BadInput(f"the seed must not be negative, got {seed}")
    weights.require_plain("the fiber, all weights with the same function,")
    shape, budget = weights.architecture(tokens), Work(work, progress)
    # twice: known partners are virtual weights that are compared with these
    budget.spend(2 * virtual_weights_cost(weights, bits := entry_bits(weights)), "virtual weights")
    virtual = exact_virtual_weights(weights)
    field: str | None
    if is_zero_function(virtual, tokens):
        (components, source, reason), field = _zero_function(shape, virtual), "R"
    elif tokens == 1 and shape.depth == 1:
        components, field = tuple(_one_token(virtual)), "R"
        source = "unique factorization"
        reason = "t = 1: only the quadratic form of A and its product with V x are visible"
    else:
        components = tuple(_orbits(shape, virtual))
        complete, source, reason = _theorem(shape, virtual)
        field = "R" if complete else None
        if not complete and (solutions := _rational_solutions(shape, virtual, bits, budget)) is not None:
            components += tuple(_unexplained(shape, components, solutions))
            field, source = "Q", "reconstruction from the polynomial, complete over Q"
    return Fiber(shape, virtual, components, field, source, reason, _dimension_bounds(weights, shape, seed, budget))


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


def _orbits(shape: Architecture, virtual: VirtualWeights) -> Iterator[Component]:
    """The rescalings, and what moves lead to."""
    for path in known_partners(virtual, shape.tokens):
        steps = tuple(move.described(shape.depth) for move, _ in path)
        description = f"the same for the weights with {'; then '.join(steps)}" if steps else ""
        yield _orbit(shape, path[-1][1] if path else virtual, description, steps)


def _orbit(shape: Architecture, point: VirtualWeights, description: str, steps: tuple[str, ...] = ()) -> Component:
    depth, d = shape.depth, shape.widths[0]
    generators: tuple[str, ...]
    if depth == 1:
        family, generators = "(lambda A, V / lambda)", ("A -> lambda A, V -> V / lambda",)
    else:
        family = "(lambda_i A~_i, mu V~) with mu prod lambda_i^(3^(l-i)) = 1"
        generators = tuple(f"A~{i} -> lambda A~{i}, V~ -> lambda^-{3 ** (depth - i)} V~" for i in range(1, depth + 1))
    hidden = [i for i, seen in enumerate(layers_seen_symmetrically(point, shape.tokens), start=1) if seen]
    if hidden and d > 1:
        names = ", ".join(f"A~{i}" for i in hidden)
        family += f", any skew-symmetric matrix added to {names}"
        generators += tuple(f"A~{i} -> A~{i} + skew" for i in hidden)
    dimension = depth + len(hidden) * d * (d - 1) // 2
    return Component(description or family, (*steps, *generators), dimension, point)


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
    points = [component.point for component in known if component.point is not None]

    def among(point: VirtualWeights, others: Sequence[VirtualWeights]) -> bool:
        return any(same_orbit(point, other, shape.tokens) for other in others)

    found = [solution.weights for solution in solutions]
    if not all(among(point, found) for point in points):
        raise ProgramError(f"{shape}: reconstruction misses weights with the same function")
    for point in found:
        if not among(point, points):
            yield _orbit(shape, point, "the same for weights that none of the known moves leads to")


def _zero_function(shape: Architecture, virtual: VirtualWeights) -> tuple[tuple[Component, ...], str, str]:
    """Every way to be zero, from the criterion at the head of the module."""
    depth, d, d_out = shape.depth, shape.widths[0], shape.widths[-1]
    square, skew, values = d * d, d * (d - 1) // 2, d * d_out
    zero = np.full((d, d), Fraction(0), dtype=object)

    def replaced(i: int, matrix: ObjectArray) -> VirtualWeights:
        return VirtualWeights((*virtual.attention[: i - 1], matrix, *virtual.attention[i:]), virtual.value)

    no_value = VirtualWeights(virtual.attention, np.full_like(virtual.value, Fraction(0)))
    components = [Component("V~' = 0, the rest any", ("everything but V~",), depth * square, no_value)]
    for i in range(1, depth + 1):
        what, own = ("skew-symmetric", skew) if shape.tokens == 1 and d > 1 else ("= 0", 0)
        free = own + (depth - 1) * square + values
        components.append(
            Component(f"A~{i}' {what}, the rest any", (f"everything but A~{i}",), free, replaced(i, zero))
        )
    if shape.tokens > 1 and d > 1:
        for i in range(1, depth):
            one = zero.copy()
            one[0, 0] = Fraction(1)
            for j in range(i + 1, depth + 1):
                point = VirtualWeights(
                    tuple(one if k == i else zero if k == j else a for k, a in enumerate(virtual.attention, start=1)),
                    virtual.value,
                )
                description = f"rk A~{i}' <= 1 and A~{j}' skew-symmetric, the rest any"
                moving = (f"A~{i} of rank one", f"A~{j} skew-symmetric", "everything else")
                free = (2 * d - 1) + skew + (depth - 2) * square + values
                components.append(Component(description, moving, free, point))
    if depth == 1 and shape.tokens > 1:
        return tuple(components), "Theorem 3.2, case 2", "A = 0 or V = 0"
    return tuple(components), "the zero function", "V~ = 0, or a score that vanishes for every input"


def _one_token(virtual: VirtualWeights) -> Iterator[Component]:
    r"""One layer, one token: all ways to write $(x^\top A x)\, V x$, which is not zero, as such a product.

    The quadratic form `q` is determined up to scale if the rows of `V` have no common factor, that is if
    $\operatorname{rk} V \ge 2$. Otherwise $V = v w^\top$, and the new form is any product of two of the three linear
    factors of $q(x)\, w^\top x$; `q` has linear factors over the reals iff it has rank one, or rank two and is
    indefinite.
    """
    form, value = symmetric_part(virtual.attention[0]), virtual.value
    d = form.shape[0]
    dimension = 1 + d * (d - 1) // 2
    moves = ("A -> A + skew", "A -> lambda A, V -> V / lambda") if d > 1 else ("A -> lambda A, V -> V / lambda",)
    yield Component("(lambda A + skew, V / lambda)", moves, dimension, virtual)
    if rank(value) > 1:
        return
    v, w = rank_one_factors(value)
    split = linear_factors(form)
    if split is None:
        return
    if not isinstance(split, tuple):
        for sign in "+-":
            description = f"as above, V's linear form exchanged with the factor m {sign} sqrt({split}) n of x^T A x"
            yield Component(description, moves, dimension, None)
        return
    first, second = split
    pairs = [(first, second)] if rank(np.stack([first, second])) == 1 else [(first, second), (second, first)]
    for kept, given in pairs:
        if rank(np.stack([given, w])) == 2:
            point = VirtualWeights((symmetric_part(np.outer(kept, w)),), np.outer(v, given))
            linear = " + ".join(f"{c} x_{i}" for i, c in enumerate(given, start=1) if c)
            description = f"as above, V's linear form exchanged with the factor {linear} of x^T A x"
            yield Component(description, moves, dimension, point)


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
