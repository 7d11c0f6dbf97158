"""Do two networks compute the same function? By a symmetry, by all coefficients, or by an input where they differ."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym.errors import BadInput, ProgramError, ShapeError, TooLarge
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.fibers.transform import swap, transform
from lightning_sym.fibers.virtual_moves import (
    Move,
    Path,
    is_zero_function,
    known_partners,
    rescaling_factors,
    visible_weights,
)
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.attention import forward
from lightning_sym.network.polynomial_map import polynomial_map
from lightning_sym.network.virtual_weights import VirtualWeights, virtual_weights
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import rational_matrix, to_fractions

COEFFICIENT_MEMORY = 2**25
"""Bytes that the polynomials may take when all coefficients are compared; a few seconds of work."""

SMALL_INPUT, LARGE_INPUT = 3, 2**31
"""Largest absolute value of the entries of inputs: first for a readable witness, then for a small error bound."""

SMALL_TRIES = 8
DEEPEST = 9
"""Deeper networks are compared by their virtual weights only: values have some 3^l digits."""

LARGEST_JOINT_SYSTEM = 12
"""Largest query/key width for which the matrix C is sought when neither Q nor K determines it alone."""


class Answer(Enum):
    """Whether two networks compute the same function."""

    SAME = "same"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Connection:
    r"""How the virtual weights of one network become those of the other, and the weights themselves where found.

    First the moves are made, in their order; then Eq. 13 leads to the other network.

    Attributes:
        moves: steps that are not rescalings; most often none.
        factors: $\lambda_1, \dots, \lambda_l$ with $\tilde A_i' = \lambda_i \tilde A_i$, after the moves.
        value_factor: $\mu$ with $\tilde V' = \mu \tilde V$; $\mu \prod_i \lambda_i^{3^{l-i}} = 1$ (Eq. 13).
        symmetric_parts: whether equality holds for symmetric parts only, where nothing else matters.
        virtual: the virtual weights after the moves, those that the factors lead away from.
        moved: weights of the same shape as the first after the moves, and with the skew-symmetric parts of the
            second where these do not matter; the first weights if nothing is moved, `None` where not found.
        query_key, between, scales: arguments of `transform` that map `moved` to the second weights, or `None`.
    """

    moves: tuple[Move, ...]
    factors: tuple[Fraction, ...]
    value_factor: Fraction
    symmetric_parts: bool
    virtual: VirtualWeights
    moved: Weights | None = None
    query_key: dict[int, ObjectArray] | None = None
    between: dict[int, ObjectArray] | None = None
    scales: dict[int, Fraction] | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    r"""The answer, and what shows it.

    Attributes:
        answer: same, different, or undecided.
        reason: `symmetry`, `coefficients`, `zero` (both are the zero function, or just one is), `input`, `evaluations`,
            or `degree` (neither is zero, and they are homogeneous of different degrees).
        connection: for `symmetry`, how one is mapped to the other.
        input: for `different`, an integer input, $d_0 \times t$.
        outputs: for `different`, the two outputs for it.
        evaluations: exact evaluations at uniformly random inputs, all in agreement.
        error_bound: the probability that different functions agree that often is at most this (Schwartz-Zippel:
            degree over number of values, each time).
    """

    answer: Answer
    reason: str
    connection: Connection | None = None
    input: ObjectArray | None = None
    outputs: tuple[ObjectArray, ObjectArray] | None = None
    evaluations: int = 0
    error_bound: Fraction = Fraction(1)


def same_function(
    first: Weights,
    second: Weights,
    tokens: int = 2,
    *,
    seed: int = 0,
    evaluations: int = 8,
    memory: int = COEFFICIENT_MEMORY,
) -> Comparison:
    """Whether two networks compute the same function of inputs with `tokens` tokens.

    Depths and inner widths may differ. Equal virtual weights, up to Eq. 13, mean equal functions for every number of
    tokens. Nothing is rounded up: without a symmetry, an input or room for all coefficients the answer is undecided.

    Args:
        first: exact weights.
        second: exact weights.
        tokens: $t$.
        seed: picks the inputs.
        evaluations: how many inputs to try with entries between -2^31 and 2^31.
        memory: bytes that the polynomials may take, by an estimate made before.

    Raises:
        ShapeError: input or output widths differ.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> double = Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> half = Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[1.5, 2]]})
        >>> same_function(w, half).answer, same_function(w, double).answer
        (<Answer.SAME: 'same'>, <Answer.DIFFERENT: 'different'>)
    """
    shapes = first.architecture(tokens), second.architecture(tokens)
    for what, end in (("input", 0), ("output", -1)):
        widths = [shape.widths[end] for shape in shapes]
        if widths[0] != widths[1]:
            raise ShapeError(f"both networks must have the same {what} width, got {widths[0]} and {widths[1]}")
    if evaluations < 0:
        raise BadInput(f"the number of evaluations must not be negative, got {evaluations}")
    # an evaluation forms t x t scores, exact numbers each
    require_memory(200 * tokens * tokens, DEFAULT_MEMORY, f"an exact evaluation at {tokens:,} tokens")
    virtual = virtual_weights(first.layers), virtual_weights(second.layers)
    zero = [is_zero_function(v, tokens) for v in virtual]
    if all(zero):
        return Comparison(Answer.SAME, "zero")
    depths = shapes[0].depth, shapes[1].depth
    if depths[0] == depths[1] and not any(zero):
        found_path = _connection(*virtual, tokens)
        if found_path is not None:
            connection, path = found_path
            if shapes[0] == shapes[1] and depths[0] <= DEEPEST:
                connection = _with_weights(first, second, connection, path)
            return Comparison(Answer.SAME, "symmetry", connection)

    degree = max(shape.degree for shape in shapes)
    source = random.Random(seed)
    tried = evaluations if max(depths) <= DEEPEST else 0
    for bound in [SMALL_INPUT] * (SMALL_TRIES if tried else 0) + [LARGE_INPUT] * tried:
        if (found := _difference(first, second, tokens, bound, source)) is not None:
            return found
    # different degrees, and one is not zero: not the same, whatever the evaluations say
    equal = None if depths[0] == depths[1] else False
    if equal is None:
        try:
            maps = [polynomial_map(s, w, memory=memory) for s, w in zip(shapes, (first, second), strict=True)]
            equal = maps[0].coefficients() == maps[1].coefficients()
        except TooLarge:
            pass
    if (any(zero) or depths[0] != depths[1]) and max(depths) > DEEPEST:
        # too deep to evaluate, and no need to: one is zero and the other is not, or both are not and of degree 3^l each
        return Comparison(Answer.DIFFERENT, "zero" if any(zero) else "degree")
    if equal:
        return Comparison(Answer.SAME, "coefficients")
    if equal is False and max(depths) <= DEEPEST:
        for _ in range(64):
            if (found := _difference(first, second, tokens, LARGE_INPUT, source)) is not None:
                return found
        raise ProgramError("the coefficients differ and 64 evaluations agree")
    bound_each = min(Fraction(1), Fraction(degree, 2 * LARGE_INPUT + 1))
    return Comparison(Answer.UNDECIDED, "evaluations", evaluations=tried, error_bound=bound_each**tried)


def _difference(first: Weights, second: Weights, tokens: int, bound: int, source: random.Random) -> Comparison | None:
    """Evaluate both at one random integer input, exactly."""
    rows = first.layers[0].query.shape[1]
    x = np.array([[source.randint(-bound, bound) for _ in range(tokens)] for _ in range(rows)], dtype=object)
    exact = rational_matrix(x)
    one, other = (forward(exact, [Layer(*map(rational_matrix, layer)) for layer in w.layers]) for w in (first, second))
    if np.array_equal(one, other):
        return None
    return Comparison(Answer.DIFFERENT, "input", input=x, outputs=(to_fractions(one), to_fractions(other)))


def _connection(old: VirtualWeights, new: VirtualWeights, tokens: int) -> tuple[Connection, Path] | None:
    """Moves and a rescaling, with symmetric parts only where that is needed."""
    target = visible_weights(new, tokens)
    for path in known_partners(old, tokens):
        start = path[-1][1] if path else old
        found = rescaling_factors(visible_weights(start, tokens), target)
        if found is not None:
            moves = tuple(move for move, _ in path)
            symmetric = rescaling_factors(start, new) is None
            return Connection(moves, *found, symmetric_parts=symmetric, virtual=start), path
    return None


def _with_weights(first: Weights, second: Weights, connection: Connection, path: Path) -> Connection:
    """Make the moves on the weights themselves, then look for the group element; what is not found is left out."""
    moved = first
    for move, point in path:
        if (after := _moved(moved, move, point)) is None:
            return connection
        moved = after
    target = virtual_weights(second.layers)
    if connection.symmetric_parts:
        parts = zip(target.attention, connection.factors, strict=True)
        goal = VirtualWeights(tuple(a / factor for a, factor in parts), target.value / connection.value_factor)
        if (after := _with_virtual_weights(moved, goal)) is None:
            return connection
        moved = after
    start = virtual_weights(moved.layers)
    if (factors := rescaling_factors(start, target)) is None:
        raise ProgramError("the moves on the weights lead elsewhere than those on the virtual weights")
    connection = replace(connection, factors=factors[0], value_factor=factors[1], virtual=start, moved=moved)
    return _with_matrices(moved, second, connection)


def _moved(weights: Weights, move: Move, point: VirtualWeights) -> Weights | None:
    """Weights of the same shape after a move, up to rescaling."""
    if move.name == "exchange":
        try:
            return swap(weights, layer=move.layer)
        except BadInput:  # the weights do not have the ranks that the virtual weights have
            pass
    return _with_virtual_weights(weights, point)


def _with_virtual_weights(weights: Weights, target: VirtualWeights) -> Weights | None:
    """Weights with other virtual weights, and the same value matrices in all layers but the last, where there are."""
    matrices = weights.named()
    before = _eye(weights.layers[0].query.shape[1])
    for i, (layer, attention) in enumerate(zip(weights.layers, target.attention, strict=True), start=1):
        a = layer.query.shape[0]
        if not np.array_equal(before.T @ layer.key.T @ layer.query @ before, attention):
            # P^T A P for one A: first A P, then A
            half = _solution(before.T, attention)
            whole = None if half is None else _solution(before.T, half.T)
            if whole is None or (rows := _factored(whole.T, a)) is None:
                return None
            matrices |= {f"Q{i}": rows[0], f"K{i}": rows[1]}
        if i == len(weights.layers):
            value = _solution(before.T, target.value.T)
            if value is None:
                return None
            matrices[f"V{i}"] = value.T
        before = layer.value @ before
    return Weights.of(matrices)


def _factored(matrix: ObjectArray, rows: int) -> tuple[ObjectArray, ObjectArray] | None:
    """`Q`, `K` with so many rows and `K^T Q = matrix`, or `None` if its rank is larger."""
    query, key = np.full((2, rows, matrix.shape[0]), Fraction(0), dtype=object)
    for n in range(rows):
        where = next((index for index, entry in np.ndenumerate(matrix) if entry != 0), None)
        if where is None:
            break
        key[n], query[n] = matrix[:, where[1]], matrix[where[0]] / matrix[where]
        matrix = matrix - np.outer(key[n], query[n])
    return (query, key) if not any(matrix.ravel()) else None


def _with_matrices(first: Weights, second: Weights, connection: Connection) -> Connection:
    r"""Find the group element layer by layer, by linear algebra, and accept it only if it maps one to the other.

    With $c_i$ the scalar by which the products $P_i$ are off, $s_i = \lambda_i / c_{i-1}^2$ and
    $c_i = c_{i-1} / s_i$; then $G_i V_i = s_i V_i' G_{i-1}$, $C_i K_i = K_i' G_{i-1}$ and
    $C_i^\top Q_i' G_{i-1} = s_i Q_i$ are linear in the unknown. Where a solution is not unique the one next to the
    identity is tried, then random ones; so for widths that grow an element can be missed.
    """
    before, c = _eye(first.layers[0].query.shape[1]), Fraction(1)
    query_key, between, scales = {}, {}, {}
    depth = len(first.layers)
    for i, (old, new) in enumerate(zip(first.layers, second.layers, strict=True), start=1):
        scales[i] = connection.factors[i - 1] / c**2
        c /= scales[i]
        if (found := _query_key_matrix(old, new, before, scales[i])) is None:
            return connection
        query_key[i] = found
        if i < depth:
            if (after := _invertible_solution(old.value.T, (scales[i] * new.value @ before).T)) is None:
                return connection
            between[i] = before = after.T
    if transform(first, query_key=query_key, between=between, scales=scales) != second:
        return connection
    return replace(connection, query_key=query_key, between=between, scales=scales)


def _query_key_matrix(old: Layer, new: Layer, before: ObjectArray, scale: Fraction) -> ObjectArray | None:
    a = old.key.shape[0]
    key, query = new.key @ before, new.query @ before
    if rank(old.key) == a:
        found = _invertible_solution(old.key.T, key.T)
        return None if found is None else found.T
    if a > LARGEST_JOINT_SYSTEM:
        return None
    # C K = K' G and (Q' G)^T C = s Q^T, for the entries of C row by row
    system = np.concatenate([np.kron(_eye(a), old.key.T), np.kron(query.T, _eye(a))])
    right = np.concatenate([key.ravel(), (scale * old.query).T.ravel()])
    return _invertible_solution(system, right[:, None], shape=(a, a))


def _invertible_solution(
    matrix: ObjectArray, right: ObjectArray, shape: tuple[int, int] | None = None
) -> ObjectArray | None:
    """An invertible `X` with `matrix X = right` (its entries row by row if `shape` is given), or `None` if not found.

    Solves for `X - 1`, so that the identity is what free entries fall back to.
    """
    columns = matrix.shape[1]
    one = _eye(columns) if shape is None else _eye(shape[0]).reshape(-1, 1)
    if one.shape[1] != right.shape[1]:
        return None
    if (particular := _solution(matrix, right - matrix @ one)) is None:
        return None
    free, count = [np.array(v, dtype=object) for v in null_space(matrix)], right.shape[1]
    source = random.Random(0)
    for attempt in range(4):
        solution = one + particular
        for v in free if attempt else ():
            solution = solution + np.outer(v, [source.randint(-9, 9) for _ in range(count)])
        result: ObjectArray = solution if shape is None else solution.reshape(shape)
        if rank(result) == result.shape[0]:
            return result
    return None


def _solution(matrix: ObjectArray, right: ObjectArray) -> ObjectArray | None:
    """One `X` with `matrix X = right`, linear in `right`, so that its rank is no larger; or `None`."""
    columns, count = matrix.shape[1], right.shape[1]
    basis = null_space(np.concatenate([matrix, -right], axis=1))
    solved = [v[:columns] for v in basis if any(v[columns:])]
    return np.array(solved, dtype=object).T if len(solved) == count else None


def _eye(n: int) -> Any:
    return np.array([[Fraction(int(i == j)) for j in range(n)] for i in range(n)], dtype=object)
