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
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from lightning_sym.architecture import Architecture
from lightning_sym.jacobian import random_residues, weight_gradients
from lightning_sym.linalg import rank, rank_mod_p
from lightning_sym.moves import rank_one_factors
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.rings.rationals import clear_denominators
from lightning_sym.symmetries import tangent_directions_mod_p, verify_identity
from lightning_sym.virtual_weights import VirtualWeights, virtual_weights
from lightning_sym.weights import Layer, ObjectArray, Weights

PARAMETER_LIMIT = 2000
"""Largest number of parameters for which the dimension of the fiber in (Q, K, V) is computed."""


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
        complete: whether these are all of the fiber, over the reals; otherwise there may be more.
        source: what gives the components.
        reason: the hypotheses that hold, or the one that fails.
        bounds: lower and upper bound for the dimension, near the given weights, of the fiber in (Q, K, V): the
            symmetry orbit through them, and the kernel of the differential at them. `None` if not computed.
    """

    architecture: Architecture
    virtual: VirtualWeights
    components: tuple[Component, ...]
    complete: bool
    source: str
    reason: str
    bounds: tuple[int, int] | None

    @property
    def known_dimension(self) -> int:
        """Largest dimension of a component: the dimension in virtual weights if `complete`, else at most that."""
        return max(component.dimension for component in self.components)

    @property
    def dimension(self) -> int | None:
        """Dimension of the fiber in (Q, K, V) near the given weights, where the two bounds meet."""
        return self.bounds[0] if self.bounds is not None and self.bounds[0] == self.bounds[1] else None


def _is_zero(matrix: ObjectArray) -> bool:
    return not any(matrix.ravel())


def _symmetric_part(matrix: ObjectArray) -> ObjectArray:
    result: ObjectArray = (matrix + matrix.T) / Fraction(2)
    return result


def layers_seen_symmetrically(virtual: VirtualWeights, tokens: int) -> list[bool]:
    """By layer, whether only the symmetric part matters: one token, or behind a layer of rank at most one."""
    seen, result = tokens == 1, []
    for attention in virtual.attention:
        result.append(seen)
        seen = seen or rank(attention) <= 1
    return result


def visible_weights(virtual: VirtualWeights, tokens: int) -> VirtualWeights:
    """The virtual weights, reduced to symmetric parts where only these matter: same function."""
    seen = layers_seen_symmetrically(virtual, tokens)
    parts = [_symmetric_part(a) if s else a for a, s in zip(virtual.attention, seen, strict=True)]
    return VirtualWeights(tuple(parts), virtual.value)


def is_zero_function(virtual: VirtualWeights, tokens: int) -> bool:
    """Whether the network is the zero function, both ways (see the head of this module).

    Example:
        >>> w = Weights.of({"Q1": [[0, 1], [-1, 0]], "K1": [[1, 0], [0, 1]], "V1": [[3, 4]]})
        >>> [is_zero_function(virtual_weights(w.layers), tokens) for tokens in (1, 2)]
        [True, False]
    """
    visible = visible_weights(virtual, tokens)
    return _is_zero(visible.value) or any(map(_is_zero, visible.attention))


def swapped_weights(virtual: VirtualWeights) -> VirtualWeights | None:
    """The exchange of Theorem 3.2 in the last layer; `None` if a rank is not one or if it is only a rescaling."""
    *first, last = virtual.attention
    if rank(last) != 1 or rank(virtual.value) != 1:
        return None
    (p, q), (v, w) = rank_one_factors(last), rank_one_factors(virtual.value)
    if rank(np.stack([p, w])) == 1:
        return None
    return VirtualWeights((*first, np.outer(w, q)), np.outer(v, p))


def fiber(weights: Weights, tokens: int = 2, *, seed: int = 0) -> Fiber:
    r"""The weights with the same function as `weights`.

    Args:
        weights: exact weights; entries are rational.
        tokens: $t$.
        seed: picks the inputs for the dimension in (Q, K, V), which is bounded both ways whatever they are.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> found = fiber(w)
        >>> found.source, len(found.components), found.dimension
        ('Theorem 3.2, case 1', 2, 2)
    """
    shape = weights.architecture(tokens)
    virtual = virtual_weights(weights.layers)
    if is_zero_function(virtual, tokens):
        components, complete, source, reason = _zero_function(shape, virtual)
    elif tokens == 1 and shape.depth == 1:
        components, complete = tuple(_one_token(virtual)), True
        source = "unique factorization"
        reason = "t = 1: only the quadratic form of A and its product with V x are visible"
    else:
        components = tuple(_rescalings_and_exchange(shape, virtual))
        complete, source, reason = _theorem(shape, virtual)
    return Fiber(shape, virtual, components, complete, source, reason, _dimension_bounds(weights, shape, seed))


def _theorem(shape: Architecture, virtual: VirtualWeights) -> tuple[bool, str, str]:
    """Whether the rescalings (and the exchange) are known to be all, for a function that is not zero."""
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
    skew = [i for i, a in enumerate(virtual.attention, start=1) if _is_zero(_symmetric_part(a))]
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


def _rescalings_and_exchange(shape: Architecture, virtual: VirtualWeights) -> Iterator[Component]:
    depth, d = shape.depth, shape.widths[0]
    generators: tuple[str, ...]
    if depth == 1:
        description, generators = "(lambda A, V / lambda)", ("A -> lambda A, V -> V / lambda",)
    else:
        description = "(lambda_i A~_i, mu V~) with mu prod lambda_i^(3^(l-i)) = 1"
        generators = tuple(f"A~{i} -> lambda A~{i}, V~ -> lambda^-{3 ** (depth - i)} V~" for i in range(1, depth + 1))
    hidden = [i for i, seen in enumerate(layers_seen_symmetrically(virtual, shape.tokens), start=1) if seen]
    if hidden and d > 1:
        names = ", ".join(f"A~{i}" for i in hidden)
        description += f", any skew-symmetric matrix added to {names}"
        generators += tuple(f"A~{i} -> A~{i} + skew" for i in hidden)
    dimension = depth + len(hidden) * d * (d - 1) // 2
    yield Component(description, generators, dimension, virtual)
    if (other := swapped_weights(virtual)) is not None:
        exchange = "p and w exchanged in A = p q^T, V = v w^T" + (" (last layer)" if depth > 1 else "")
        yield Component(f"the same for the weights with {exchange}", (exchange, *generators), dimension, other)


def _zero_function(shape: Architecture, virtual: VirtualWeights) -> tuple[tuple[Component, ...], bool, str, str]:
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
        return tuple(components), True, "Theorem 3.2, case 2", "A = 0 or V = 0"
    return tuple(components), True, "the zero function", "V~ = 0, or a score that vanishes for every input"


def _one_token(virtual: VirtualWeights) -> Iterator[Component]:
    r"""One layer, one token: all ways to write $(x^\top A x)\, V x$, which is not zero, as such a product.

    The quadratic form `q` is determined up to scale if the rows of `V` have no common factor, that is if
    $\operatorname{rk} V \ge 2$. Otherwise $V = v w^\top$, and the new form is any product of two of the three linear
    factors of $q(x)\, w^\top x$; `q` has linear factors over the reals iff it has rank one, or rank two and is
    indefinite.
    """
    form, value = _symmetric_part(virtual.attention[0]), virtual.value
    d = form.shape[0]
    dimension = 1 + d * (d - 1) // 2
    moves = ("A -> A + skew", "A -> lambda A, V -> V / lambda") if d > 1 else ("A -> lambda A, V -> V / lambda",)
    yield Component("(lambda A + skew, V / lambda)", moves, dimension, virtual)
    if rank(value) > 1:
        return
    v, w = rank_one_factors(value)
    split = _linear_factors(form)
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
            point = VirtualWeights((_symmetric_part(np.outer(kept, w)),), np.outer(v, given))
            linear = " + ".join(f"{c} x_{i}" for i, c in enumerate(given, start=1) if c)
            description = f"as above, V's linear form exchanged with the factor {linear} of x^T A x"
            yield Component(description, moves, dimension, point)


def _linear_factors(form: ObjectArray) -> tuple[ObjectArray, ObjectArray] | Fraction | None:
    r"""$(m, n)$ with $x^\top S x = (m^\top x)(n^\top x)$, for a symmetric matrix that is not zero.

    Returns:
        The factors if they are rational; a rational number whose square root they need if they are real only; `None`
        if there are none over the reals.
    """
    size = form.shape[0]
    unit = np.array([[Fraction(int(i == j)) for j in range(size)] for i in range(size)], dtype=object)

    def square(matrix: ObjectArray) -> tuple[Fraction, ObjectArray]:
        """$(\\alpha, u)$ such that $S - \\alpha u u^\\top$ has rank one less."""
        candidates = [*unit, *(unit[i] + unit[j] for i in range(size) for j in range(i))]
        c = next(c for c in candidates if c @ matrix @ c != 0)
        return 1 / (c @ matrix @ c), matrix @ c

    if rank(form) > 2:
        return None
    alpha, u = square(form)
    if rank(form) == 1:
        return alpha * u, u
    beta, t = square(form - alpha * np.outer(u, u))
    ratio = -beta / alpha  # alpha u^2 + beta t^2 = alpha (u^2 - ratio t^2)
    if ratio < 0:
        return None
    root = Fraction(isqrt(ratio.numerator), isqrt(ratio.denominator))
    return (alpha * (u + root * t), u - root * t) if root**2 == ratio else ratio


def _dimension_bounds(weights: Weights, shape: Architecture, seed: int) -> tuple[int, int] | None:
    r"""Bounds for the dimension of the fiber in (Q, K, V) near the weights, by ranks at these very weights.

    The orbit of the symmetry group lies in the fiber, and the tangent space of the fiber lies in the kernel of the
    differential. A rank modulo `p` can only be too small, which widens the bounds on both sides. Clearing the
    denominators of a matrix is a linear change of the weights that maps fibers to fibers.
    """
    if shape.parameter_count > PARAMETER_LIMIT:
        return None
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
