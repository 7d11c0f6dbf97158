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
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.architecture import Architecture
from lightning_sym.errors import BadInput, ProgramError, TooLarge
from lightning_sym.jacobian import random_residues, weight_gradients
from lightning_sym.linalg import rank, rank_mod_p
from lightning_sym.moves import rank_one_factors
from lightning_sym.polynomial_map import polynomial_map
from lightning_sym.reconstruction import Solution, network_of, reconstruct
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.rings.rationals import clear_denominators
from lightning_sym.symmetries import symmetry_count, tangent_directions_mod_p, verify_identity
from lightning_sym.virtual_weights import VirtualWeights, virtual_weights
from lightning_sym.weights import Layer, ObjectArray, Weights

PARAMETER_LIMIT = 2000
"""Most parameters, symmetry directions and tokens for which the dimension of the fiber in (Q, K, V) is computed."""

MOST_PARTNERS = 32
"""Where the search for other orbits by known moves stops; there may be `2^l` of them."""

RECONSTRUCTION_WIDTH = 4
RECONSTRUCTION_MEMORY = 2**24
"""Two layers up to this width are reconstructed from their polynomials, if these fit: within a few seconds."""


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


def rescaling_factors(old: VirtualWeights, new: VirtualWeights) -> tuple[tuple[Fraction, ...], Fraction] | None:
    r"""$(\lambda_1, \dots, \lambda_l)$ and $\mu$ by which Eq. 13 leads from `old` to `new`, or `None`.

    Example:
        >>> old = virtual_weights(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]}).layers)
        >>> new = virtual_weights(Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[1.5, 2]]}).layers)
        >>> rescaling_factors(old, new)
        ((Fraction(2, 1),), Fraction(1, 2))
    """
    factors = [_ratio(a, b) for a, b in zip((*old.attention, old.value), (*new.attention, new.value), strict=True)]
    if any(factor is None for factor in factors):
        return None
    *lambdas, mu = [Fraction(factor) for factor in factors if factor is not None]
    # mu prod lambda_i^(3^(l-i)) = 1, in Horner's way. Once a power is more than twice as long as every factor, cubing
    # outgrows any of them, and the product cannot be 1 any more: no need to compute numbers with 3^l digits
    longest = 2 * max(map(_bits, (*lambdas, mu))) + 4
    power = Fraction(1)
    for factor in lambdas:
        power = power**3 * factor
        if _bits(power) > longest:
            return None
    return (tuple(lambdas), mu) if power * mu == 1 else None


def _bits(number: Fraction) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())


def _ratio(old: ObjectArray, new: ObjectArray) -> Fraction | None:
    """The number `c`, not 0, with `new = c old`, where `old` is not 0."""
    where = next((index for index, entry in np.ndenumerate(old) if entry != 0), None)
    if where is None:
        return None
    factor: Fraction = new[where] / old[where]
    return factor if factor != 0 and np.array_equal(new, factor * old) else None


class Move(NamedTuple):
    r"""A step between virtual weights with one function that is not a rescaling; each name stands for an identity.

    - `exchange`: $\tilde A_i = p q^\top$, $\tilde A_j = c_j\, r r^\top$ + skew for $j > i$, $\tilde V = v r^\top$;
      then `p` and `r` may be exchanged. Behind layer `i` all depends on $y = X X^\top p$ through powers of
      $r^\top X X^\top p$, which is symmetric in `p` and `r`. For $i = l$ that is Theorem 3.2; where
      $\operatorname{rk} A_i = \operatorname{rk} V_i = 1$ it is Theorem 3.2 in layer `i`.
    - `skew layer`: $(\tilde A_i, \tilde A_{i+1}) = (M, J) \mapsto (J, \det(M) M)$ or back, for $d_0 = 2$ and
      $J = \left(\begin{smallmatrix} 0 & 1 \\ -1 & 0 \end{smallmatrix}\right)$.
    - `linear factor`: the last layer is seen by its quadratic form only, the form is $m^\top x\, n^\top x$, and
      $\tilde V = v w^\top$; then `w` and one of the factors may be exchanged.

    Attributes:
        name: one of these.
        layer: `i`, from 1.
    """

    name: str
    layer: int

    def described(self, depth: int) -> str:
        """The move in one line."""
        i = self.layer
        if self.name == "skew layer":
            return f"(M, J) and (J, det(M) M) exchanged as A~{i}, A~{i + 1}, J = [[0, 1], [-1, 0]]"
        if self.name == "linear factor":
            return f"w in V~ = v w^T exchanged with a linear factor of x^T A~{i} x"
        if depth == 1:
            return "p and w exchanged in A = p q^T, V = v w^T"
        if i == depth:
            return "p and w exchanged in A = p q^T, V = v w^T (last layer)"
        return f"p and r exchanged in A~{i} = p q^T, A~j = c_j r r^T + skew for j > {i}, V~ = v r^T"


def partners(virtual: VirtualWeights, tokens: int) -> Iterator[tuple[Move, VirtualWeights]]:
    """What one move leads to, for a function that is not zero; rational points only."""
    attention, depth = virtual.attention, len(virtual.attention)

    def replaced(new: dict[int, ObjectArray], value: ObjectArray = virtual.value) -> VirtualWeights:
        return VirtualWeights(tuple(new.get(i, a) for i, a in enumerate(attention, start=1)), value)

    if (split := _rank_one(virtual.value)) is not None:
        v, r = split
        later: dict[int, Fraction] = {}  # c_j
        for i in range(depth, 0, -1):
            if (first := _rank_one(attention[i - 1])) is not None and rank(np.stack([first[0], r])) == 2:
                p, q = first
                changed = {j: c * np.outer(p, p) for j, c in later.items()}
                yield Move("exchange", i), replaced(changed | {i: np.outer(r, q)}, np.outer(v, p))
            if (c := _ratio(np.outer(r, r), _symmetric_part(attention[i - 1]))) is None:
                break
            later[i] = c
        if layers_seen_symmetrically(virtual, tokens)[-1]:
            factors = _linear_factors(_symmetric_part(attention[-1]))
            for kept, given in (factors, factors[::-1]) if isinstance(factors, tuple) else ():
                if rank(np.stack([given, r])) == 2:
                    form = _symmetric_part(np.outer(kept, r))
                    yield Move("linear factor", depth), replaced({depth: form}, np.outer(v, given))
    for i in range(1, depth) if virtual.value.shape[1] == 2 else ():
        before, after = attention[i - 1 : i + 1]
        j = np.array([[Fraction(0), Fraction(1)], [Fraction(-1), Fraction(0)]], dtype=object)
        if (c := _ratio(j, after)) is not None and (determinant := _determinant(before)) != 0:
            yield Move("skew layer", i), replaced({i: j, i + 1: c * determinant * before})
        elif (c := _ratio(j, before)) is not None and (root := _cube_root(_determinant(after))) is not None:
            # (c J, N) ~ (J, c^3 N), and det(k N) k N = c^3 N for k = c / det(N)^(1/3)
            yield Move("skew layer", i), replaced({i: c / root * after, i + 1: j})


def _rank_one(matrix: ObjectArray) -> tuple[ObjectArray, ObjectArray] | None:
    return rank_one_factors(matrix) if rank(matrix) == 1 else None


def _determinant(matrix: ObjectArray) -> Fraction:
    return Fraction(matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0])


def _cube_root(number: Fraction) -> Fraction | None:
    """The rational cube root of a number, unless it is zero or has none."""
    from sympy import integer_nthroot

    (top, exact), (bottom, exact_too) = (integer_nthroot(abs(n), 3) for n in number.as_integer_ratio())
    return Fraction(int(top) * (1 if number > 0 else -1), int(bottom)) if number and exact and exact_too else None


Path = tuple[tuple[Move, VirtualWeights], ...]
"""Moves, each with the point that it leads to."""


def same_orbit(old: VirtualWeights, new: VirtualWeights, tokens: int) -> bool:
    """Whether rescalings, and skew-symmetric parts that do not matter, lead from `old` to `new`."""
    return rescaling_factors(visible_weights(old, tokens), visible_weights(new, tokens)) is not None


def known_partners(virtual: VirtualWeights, tokens: int) -> Iterator[Path]:
    r"""Where sequences of moves lead: up to `MOST_PARTNERS` orbits, each once, by the fewest moves; first `()`.

    Args:
        virtual: virtual weights of a network that is not the zero function.
        tokens: $t$.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> [[move for move, _ in path] for path in known_partners(virtual_weights(w.layers), 2)]
        [[], [Move(name='exchange', layer=1)]]
    """
    paths: list[Path] = [()]
    seen = [virtual]
    for number, path in enumerate(paths):  # it grows
        yield path
        for move, point in partners(seen[number], tokens) if len(paths) < MOST_PARTNERS else ():
            if not any(same_orbit(old, point, tokens) for old in seen):
                paths.append((*path, (move, point)))
                seen.append(point)


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
    if seed < 0:
        raise BadInput(f"the seed must not be negative, got {seed}")
    shape = weights.architecture(tokens)
    virtual = virtual_weights(weights.layers)
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
        if not complete and (solutions := _rational_solutions(shape, virtual)) is not None:
            components += tuple(_unexplained(shape, components, solutions))
            field, source = "Q", "reconstruction from the polynomial, complete over Q"
    return Fiber(shape, virtual, components, field, source, reason, _dimension_bounds(weights, shape, seed))


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


def _rational_solutions(shape: Architecture, virtual: VirtualWeights) -> list[Solution] | None:
    r"""All rational points of the fiber, one for each orbit, for two small layers; else `None`.

    A network is $F(X X^\top) X$: with as many tokens as $d_0$ its function determines `F`, so more show nothing new.
    """
    d = shape.widths[0]
    if shape.depth != 2 or shape.tokens == 1 or d > RECONSTRUCTION_WIDTH:
        return None
    network = network_of(virtual)
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
    if max(shape.parameter_count, symmetry_count(shape), shape.tokens) > PARAMETER_LIMIT:
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
