r"""Other virtual weights with the same function: what of them is visible, rescalings, and known moves between orbits.

Why a function is zero only where `is_zero_function` says so stands at the head of `fibers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.ask import Need
from lightning_sym.display import typed
from lightning_sym.exact.rational import rank, rank_one_factors
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.virtual_weights import VirtualWeights
from lightning_sym.rings.arrays import ObjectArray, rational_root
from lightning_sym.rings.rationals import RationalMatrix

MOST_PARTNERS = 32
"""Where the search for other orbits by known moves stops; there may be `2^l` of them."""


def is_zero(matrix: ObjectArray | RationalMatrix) -> bool:
    """Return whether every entry is zero."""
    return not matrix if isinstance(matrix, RationalMatrix) else not any(matrix.ravel())


def symmetric_part(matrix: Any) -> Any:
    """Return half the sum of the matrix and its transpose; its entries are `Fraction`, or flint's."""
    if isinstance(matrix, RationalMatrix):
        return (matrix + matrix.mT).scaled(Fraction(1, 2))
    return (matrix + matrix.T) / Fraction(2)


def layers_seen_symmetrically(virtual: VirtualWeights, tokens: int) -> list[bool]:
    """Return by layer whether only the symmetric part matters: for one token, or behind a rank at most one."""
    seen, result = tokens == 1, []
    for attention in virtual.attention:
        result.append(seen)
        seen = seen or rank(attention, 2) <= 1
    return result


def visible_weights(virtual: VirtualWeights, tokens: int) -> VirtualWeights:
    """Return the virtual weights, reduced to symmetric parts where only these matter: same function."""
    seen = layers_seen_symmetrically(virtual, tokens)
    parts = [symmetric_part(a) if s else a for a, s in zip(virtual.attention, seen, strict=True)]
    return VirtualWeights(tuple(parts), virtual.value)


class VisibleFunction:
    """A function of a plain lightning network by its virtual weights, as theorems ask for it.

    Args:
        shape: the network.
        virtual: what gives its virtual weights, once they are needed.
    """

    def __init__(self, shape: Architecture, virtual: Callable[[], VirtualWeights]) -> None:
        shape.require_plain("what a function shows of virtual weights")
        self.shape, self._virtual = shape, virtual

    @cached_property
    def virtual(self) -> VirtualWeights:
        """The virtual weights."""
        return self._virtual()

    @cached_property
    def visible(self) -> VirtualWeights:
        """Without what is not seen, which is no property of the function."""
        return visible_weights(self.virtual, self.shape.tokens)

    @cached_property
    def short_ranks(self) -> str:
        """Those before the last layer that are less than two."""
        ranks = (rank(a, 2) for a in self.visible.attention[:-1])
        return ", ".join(f"rk A~{i} = {r}" for i, r in enumerate(ranks, start=1) if r < 2)

    @cached_property
    def skew(self) -> str:
        """Which attention matrices are skew-symmetric, where there are several."""
        skew = (i for i, a in enumerate(self.visible.attention, start=1) if is_zero(symmetric_part(a)))
        return ", ".join(f"A~{i} is skew-symmetric" for i in skew if self.shape.depth > 1)


THEOREM_3_7 = (
    Need("two tokens or more", lambda asked: asked.shape.tokens > 1, lambda asked: str(asked.shape.tokens)),
    Need(
        "rk A~_i of at least two before the last layer",
        lambda asked: not asked.short_ranks,
        lambda asked: asked.short_ranks,
    ),
    Need("matrices A~_i that are not skew-symmetric", lambda asked: not asked.skew, lambda asked: asked.skew),
)
"""What Theorem 3.7 asks of a function that is not zero, and Proposition 2 of docs/limits.md."""


def primitive(virtual: VirtualWeights) -> tuple[VirtualWeights, Fraction]:
    """Return each matrix as coprime integers, which are the same all along an orbit but for signs, and what the
    function of these is multiplied with.

    Example:
        >>> half = np.array([[Fraction(1, 2)]])
        >>> primitive(VirtualWeights((4 * half, half), 6 * half))        # 2^3 times 1/2 times 3
        (VirtualWeights(attention=([[1]], [[1]]), value=[[1]]), Fraction(12, 1))
    """
    contents = [_content(m) for m in (*virtual.attention, virtual.value)]
    power = Fraction(1)
    for content in contents[:-1]:
        power = power**3 * content
    *attention, value = (m / c for m, c in zip((*virtual.attention, virtual.value), contents, strict=True))
    return VirtualWeights(tuple(attention), value), power * contents[-1]


def _content(matrix: ObjectArray) -> Fraction:
    """Return the greatest common divisor of the entries of a matrix, 1 for zero."""
    entries = matrix.ravel().tolist()
    return Fraction(gcd(*(x.numerator for x in entries)) or 1, lcm(*(x.denominator for x in entries)))


def is_zero_function(virtual: VirtualWeights, tokens: int) -> bool:
    """Return whether the network is the zero function, both ways (see the head of this module).

    Example:
        >>> from lightning_sym import Weights, virtual_weights
        >>> w = Weights.of({"Q1": [[0, 1], [-1, 0]], "K1": [[1, 0], [0, 1]], "V1": [[3, 4]]})
        >>> [is_zero_function(virtual_weights(w.layers), tokens) for tokens in (1, 2)]
        [True, False]
    """
    visible = visible_weights(virtual, tokens)
    return is_zero(visible.value) or any(map(is_zero, visible.attention))


def rescaling_factors(old: VirtualWeights, new: VirtualWeights) -> tuple[tuple[Fraction, ...], Fraction] | None:
    r"""Return $(\lambda_1, \dots, \lambda_l)$ and $\mu$ by which Eq. 13 leads from `old` to `new`, or `None`.

    Example:
        >>> from lightning_sym import Weights, virtual_weights
        >>> old = virtual_weights(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]}).layers)
        >>> new = virtual_weights(Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[1.5, 2]]}).layers)
        >>> rescaling_factors(old, new)
        ((Fraction(2, 1),), Fraction(1, 2))
    """
    factors = [ratio(a, b) for a, b in zip((*old.attention, old.value), (*new.attention, new.value), strict=True)]
    if any(factor is None for factor in factors):
        return None
    *lambdas, mu = [Fraction(factor) for factor in factors if factor is not None]
    # mu prod lambda_i^(3^(l-i)) = 1, in Horner's way. Once a power is more than twice as long as every factor, cubing
    # outgrows any of them, and the product cannot be 1 any more: no need to compute numbers with 3^l digits
    longest = 2 * max(map(bits_of, (*lambdas, mu))) + 4
    power = Fraction(1)
    for factor in lambdas:
        power = power**3 * factor
        if bits_of(power) > longest:
            return None
    return (tuple(lambdas), mu) if power * mu == 1 else None


def bits_of(number: Fraction) -> int:
    """Return how long a number is."""
    return max(number.numerator.bit_length(), number.denominator.bit_length())


def ratio(old: ObjectArray | RationalMatrix, new: ObjectArray | RationalMatrix) -> Fraction | None:
    """Return the number `c`, not 0, with `new = c old`, where `old` is not 0."""
    return RationalMatrix.of(old).ratio(RationalMatrix.of(new))


class MoveName(StrEnum):
    r"""The steps between virtual weights with one function that are not rescalings; each stands for an identity.

    - `EXCHANGE`: $\tilde A_i = p q^\top$, $\tilde A_j = c_j\, r r^\top$ + skew for $j > i$, $\tilde V = v r^\top$;
      then `p` and `r` may be exchanged. Behind layer `i` all depends on $y = X X^\top p$ through powers of
      $r^\top X X^\top p$, which is symmetric in `p` and `r`. For $i = l$ that is Theorem 3.2; where
      $\operatorname{rk} A_i = \operatorname{rk} V_i = 1$ it is Theorem 3.2 in layer `i`.
    - `SKEW_LAYER`: $(\tilde A_i, \tilde A_{i+1}) = (M, J) \mapsto (J, \det(M) M)$ or back, for $d_0 = 2$ and
      $J = \left(\begin{smallmatrix} 0 & 1 \\ -1 & 0 \end{smallmatrix}\right)$.
    - `LINEAR_FACTOR`: the same for a layer that is seen by its quadratic form $p^\top x\, q^\top x$ only, where
      $p q^\top$ and $q p^\top$ are as good as $\tilde A_i$.
    """

    EXCHANGE = "exchange"
    SKEW_LAYER = "skew layer"
    LINEAR_FACTOR = "linear factor"


_LINES = {
    MoveName.EXCHANGE: "p and r exchanged in A~{i} = p q^T, A~j = c_j r r^T + skew for j > {i}, V~ = v r^T",
    MoveName.SKEW_LAYER: "(M, J) and (J, det(M) M) exchanged as A~{i}, A~{next}, J = [[0, 1], [-1, 0]]",
    MoveName.LINEAR_FACTOR: "r in V~ = v r^T, A~j = c_j r r^T + skew for j > {i}, and a linear factor of x^T A~{i} x "
    "exchanged",
}


class Move(NamedTuple):
    """One of these steps.

    Attributes:
        name: which.
        layer: `i`, from 1.
    """

    name: MoveName
    layer: int

    def __repr__(self) -> str:
        return typed("Move", self._asdict())

    def described(self, depth: int) -> str:
        """Return the move in one line."""
        if self.name is MoveName.EXCHANGE and self.layer == depth:
            return "p and w exchanged in A = p q^T, V = v w^T" + ("" if depth == 1 else " (last layer)")
        return _LINES[self.name].format(i=self.layer, next=self.layer + 1)


def partners(virtual: VirtualWeights, tokens: int) -> Iterator[tuple[Move, VirtualWeights]]:
    """Yield what one move leads to, for a function that is not zero; rational points only."""
    attention, depth = virtual.attention, len(virtual.attention)

    def replaced(new: dict[int, ObjectArray], value: ObjectArray = virtual.value) -> VirtualWeights:
        return VirtualWeights(tuple(new.get(i, a) for i, a in enumerate(attention, start=1)), value)

    if (split := _rank_one(virtual.value)) is not None:
        v, r = split
        seen = layers_seen_symmetrically(virtual, tokens)
        later: dict[int, Fraction] = {}  # c_j
        for i in range(depth, 0, -1):
            for name, p, rest in _with_first_factor(attention[i - 1], seen[i - 1]):
                if rank(np.stack([p, r])) == 2:
                    changed = {j: c * np.outer(p, p) for j, c in later.items()}
                    new = np.outer(r, rest) if name is MoveName.EXCHANGE else symmetric_part(np.outer(r, rest))
                    yield Move(name, i), replaced(changed | {i: new}, np.outer(v, p))
            if (c := ratio(np.outer(r, r), symmetric_part(attention[i - 1]))) is None:
                break
            later[i] = c
    for i in range(1, depth) if virtual.value.shape[1] == 2 else ():
        before, after = attention[i - 1 : i + 1]
        j = np.array([[Fraction(0), Fraction(1)], [Fraction(-1), Fraction(0)]], dtype=object)
        if (c := ratio(j, after)) is not None and (determinant := _determinant(before)) != 0:
            yield Move(MoveName.SKEW_LAYER, i), replaced({i: j, i + 1: c * determinant * before})
        elif (c := ratio(j, before)) is not None and (root := _cube_root(_determinant(after))) is not None:
            # (c J, N) ~ (J, c^3 N), and det(k N) k N = c^3 N for k = c / det(N)^(1/3)
            yield Move(MoveName.SKEW_LAYER, i), replaced({i: c / root * after, i + 1: j})


def _with_first_factor(matrix: ObjectArray, symmetrically: bool) -> Iterator[tuple[MoveName, ObjectArray, ObjectArray]]:
    """Yield the ways to write what is seen of an attention matrix as a product of two vectors."""
    if (factors := _rank_one(matrix)) is not None:
        yield MoveName.EXCHANGE, *factors
    if symmetrically and isinstance(found := linear_factors(symmetric_part(matrix)), tuple):
        yield MoveName.LINEAR_FACTOR, *found
        yield MoveName.LINEAR_FACTOR, *found[::-1]


def _rank_one(matrix: ObjectArray) -> tuple[ObjectArray, ObjectArray] | None:
    return rank_one_factors(matrix) if rank(matrix) == 1 else None


def _determinant(matrix: ObjectArray) -> Fraction:
    return Fraction(matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0])


def _cube_root(number: Fraction) -> Fraction | None:
    """Return the rational cube root of a number, unless it is zero or has none."""
    from sympy import integer_nthroot

    (top, exact), (bottom, exact_too) = (integer_nthroot(abs(n), 3) for n in number.as_integer_ratio())
    return Fraction(int(top) * (1 if number > 0 else -1), int(bottom)) if number and exact and exact_too else None


def may_move(virtual: VirtualWeights) -> bool:
    """Return whether one of these moves may be possible: all but those for $d_0 = 2$ need values of rank one."""
    return virtual.value.shape[1] == 2 or rank(virtual.value, 2) == 1


Path = tuple[tuple[Move, VirtualWeights], ...]
"""Moves, each with the point that it leads to."""


def same_orbit(old: VirtualWeights, new: VirtualWeights, tokens: int) -> bool:
    """Return whether rescalings, and skew-symmetric parts that do not matter, lead from `old` to `new`."""
    return rescaling_factors(visible_weights(old, tokens), visible_weights(new, tokens)) is not None


def known_partners(virtual: VirtualWeights, tokens: int) -> Iterator[Path]:
    r"""Yield where moves lead: up to `MOST_PARTNERS` orbits, each once, by the fewest moves; first `()`.

    Args:
        virtual: virtual weights of a network that is not the zero function.
        tokens: $t$.

    Example:
        >>> from lightning_sym import Weights, virtual_weights
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> [[move for move, _ in path] for path in known_partners(virtual_weights(w.layers), 2)]
        [[], [Move(name=MoveName.EXCHANGE, layer=1)]]
    """
    paths: list[Path] = [()]
    seen = [virtual]
    for number, path in enumerate(paths):  # it grows
        yield path
        for move, point in partners(seen[number], tokens) if len(paths) < MOST_PARTNERS else ():
            if not any(same_orbit(old, point, tokens) for old in seen):
                paths.append((*path, (move, point)))
                seen.append(point)


def linear_factors(form: ObjectArray) -> tuple[ObjectArray, ObjectArray] | Fraction | None:
    r"""Return $(m, n)$ with $x^\top S x = (m^\top x)(n^\top x)$, for a symmetric matrix that is not zero.

    Returns:
        The factors if they are rational; a rational number whose square root they need if they are real only; `None`
        if there are none over the reals.
    """
    size = form.shape[0]
    unit = RationalMatrix.identity(size).fractions()

    def square(matrix: ObjectArray) -> tuple[Fraction, ObjectArray]:
        r"""Return $(\alpha, u)$ such that $S - \alpha u u^\top$ has rank one less."""
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
    root = rational_root(ratio)
    return ratio if root is None else (alpha * (u + root * t), u - root * t)
