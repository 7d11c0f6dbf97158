"""How the virtual weights of one network become those of another: moves and a rescaling; and the weights themselves.

Weights of a shape with given virtual weights are found here too (see `points`), with what the shape demands.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from lightning_sym.display import Lines, Result, latex_number, latex_words, rows_in_line, spelled
from lightning_sym.errors import BadInput, proved_to_be
from lightning_sym.exact.rational import null_space, rank, solution
from lightning_sym.exact.subspaces import intertwiner, left_factor
from lightning_sym.fibers.transform import swap, transform
from lightning_sym.fibers.virtual_moves import (
    Move,
    MoveName,
    Path,
    known_partners,
    may_move,
    ratio,
    rescaling_factors,
    visible_weights,
)
from lightning_sym.network.virtual_weights import VirtualWeights, exact_virtual_weights, in_fractions
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.arrays import ObjectArray, exact_matrix
from lightning_sym.rings.rationals import RationalMatrix


def realized(origin: Weights, target: VirtualWeights) -> Weights:
    """Return weights of the shape with these virtual weights: the given rescaled, with the same `P_i`, or any."""
    before = exact_virtual_weights(origin)
    matrices = origin.numbers()
    for i, (old, new) in enumerate(zip(before.attention, target.attention, strict=True), start=1):
        matrices[f"Q{i}"] = (ratio(old, new) or Fraction(1)) * matrices[f"Q{i}"]
    last = f"V{len(before.attention)}"
    matrices[last] = (ratio(before.value, target.value) or Fraction(1)) * matrices[last]
    scaled = Weights.of(matrices)
    if exact_virtual_weights(scaled) == target:
        return scaled
    if (found := with_virtual_weights(scaled, target)) is not None:
        return found
    for name, most, ranked in _demands(origin, target):
        if ranked > most:
            raise BadInput(f"weights of this shape must have {name} of rank at most {most}, this point has {ranked}")
    found = with_virtual_weights(Weights.of(matrices | _inner_values(origin, target)), target)
    return proved_to_be(found, f"weights of {origin.architecture(1)} with these virtual weights must exist")


def _seen_behind(target: VirtualWeights, layer: int) -> ObjectArray:
    """Return the rows whose span is `R_i`."""
    later = [part for a in target.attention[layer:] for part in (a, a.T)]
    return np.concatenate([*later, target.value])


def _demands(origin: Weights, target: VirtualWeights) -> list[tuple[str, int, int]]:
    """Return what the shape demands: a name, the largest rank, and the rank that the virtual weights have."""
    shape = origin.architecture(1)
    demands = [
        (f"A~{i}" if shape.depth > 1 else "A", a, rank(matrix))
        for i, (a, matrix) in enumerate(zip(shape.attention_ranks, target.attention, strict=True), start=1)
    ]
    for i in range(1, shape.depth):
        name = f"what stands behind layer {i} (rows and columns of A~j, j > {i}, and rows of V~)"
        demands.append((name, shape.widths[i], rank(_seen_behind(target, i))))
    return demands


def _inner_values(origin: Weights, target: VirtualWeights) -> dict[str, ObjectArray]:
    """Return value matrices of all layers but the last such that the rows of `P_i` span `R_i`."""
    shape = origin.architecture(1)
    before = exact_matrix(np.eye(shape.widths[0], dtype=int))
    found = {}
    for i in range(1, shape.depth):
        rows = _seen_behind(target, i)
        after = np.full((shape.widths[i], shape.widths[0]), Fraction(0), dtype=object)
        basis = _row_basis(rows)
        after[: len(basis)] = basis
        value = proved_to_be(solution(before.T, after.T), f"behind layer {i - 1} must stand what is behind layer {i}")
        found[f"V{i}"], before = value.T, after
    return found


def _row_basis(rows: ObjectArray) -> ObjectArray:
    """Return rows that are independent and span the same space: the kernel of the kernel."""
    kernel = null_space(rows)
    columns = rows.shape[1]
    if not kernel:
        return exact_matrix(np.eye(columns, dtype=int))
    basis = null_space(np.array(kernel, dtype=object))
    return np.array(basis, dtype=object).reshape(len(basis), columns)


LARGEST_JOINT_SYSTEM = 12
"""Largest query/key width for which the matrix C is sought when neither Q nor K determines it alone."""


@dataclass(frozen=True, eq=False, repr=False)
class Connection(Result):
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
        sought: whether these were sought; not where that would take more work than allowed.
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
    sought: bool = True

    def lines(self) -> Lines:
        """Return the lines as the command `same` prints them."""
        factors = [f"A~{i}' = {spelled(x)} A~{i}" for i, x in enumerate(self.factors, start=1)]
        value = f"V~' = {spelled(self.value_factor)} V~"
        lines = [("because", ", ".join([*factors, value]) + "; the factors cancel (Eq. 13)")]
        depth = len(self.factors)
        last_exchange = "p and w exchanged in the last layer's A~ = p q^T, V~ = v w^T (Theorem 3.2)"
        lines += [
            ("after", last_exchange if m == Move(MoveName.EXCHANGE, depth) else m.described(depth)) for m in self.moves
        ]
        if not self.sought:
            lines.append(("basis", "not sought: it takes more exact work than allowed; a larger --work lifts this"))
        if self.symmetric_parts:
            lines.append(
                ("up to", "skew-symmetric parts that this number of tokens, or a layer of rank one, cannot see")
            )
        if self.moved is not None and (self.moves or self.symmetric_parts):
            lines += [(f"moved {name}", rows_in_line(matrix)) for name, matrix in self.moved.numbers().items()]
        for name, letter, group in (("basis", "C", self.query_key), ("change", "G", self.between)):
            lines += [(f"{name} {letter}{i}", rows_in_line(m)) for i, m in (group or {}).items()]
        if self.scales is not None:
            lines.append(("scales", ", ".join(f"s{i} = {spelled(s)}" for i, s in self.scales.items())))
            lines.append(
                ("act by", "Q' = s C^-T Q G^-1, K' = C K G^-1, V' = H V G^-1 / s; G, H before and after the layer")
            )
        return lines

    def _latex(self) -> str:
        return self.formula()

    def formula(self) -> str:
        """Return how virtual weights become others, as a formula."""
        parts = [
            *((rf"\tilde A_{{{i}}}", x) for i, x in enumerate(self.factors, start=1)),
            (r"\tilde V", self.value_factor),
        ]
        said = r", \quad ".join(rf"{name}' = {latex_number(x)} \, {name}" for name, x in parts)
        words = [f"{move.name.value} in layer {move.layer}" for move in self.moves]
        words += ["up to skew parts that are not seen"] * self.symmetric_parts
        return rf"{latex_words('after ' + ', '.join(words) + ':')} \quad {said}" if words else said


def connect(old: VirtualWeights, new: VirtualWeights, tokens: int) -> tuple[Connection, Path] | None:
    """Return moves and a rescaling, with symmetric parts only where needed, in flint's matrices; or `None`."""
    if (found := rescaling_factors(visible_weights(old, tokens), visible_weights(new, tokens))) is not None:
        symmetric = rescaling_factors(old, new) is None
        return Connection((), *found, symmetric_parts=symmetric, virtual=in_fractions(old)), ()
    if not may_move(old):
        return None
    old, new = in_fractions(old), in_fractions(new)
    target = visible_weights(new, tokens)
    for path in known_partners(old, tokens):
        start = path[-1][1] if path else old
        found = rescaling_factors(visible_weights(start, tokens), target)
        if found is not None:
            moves = tuple(move for move, _ in path)
            symmetric = rescaling_factors(start, new) is None
            return Connection(moves, *found, symmetric_parts=symmetric, virtual=start), path
    return None


def with_weights(first: Weights, second: Weights, connection: Connection, path: Path) -> Connection:
    """Make the moves on the weights themselves, then look for the group element; what is not found is left out."""
    for weights in (first, second):
        weights.require_numbers("the group element")
    if not path and not connection.symmetric_parts:
        return _with_matrices(first, second, replace(connection, moved=first))
    moved = first
    for move, point in path:
        if (after := _moved(moved, move, point)) is None:
            return connection
        moved = after
    target = exact_virtual_weights(second)
    if connection.symmetric_parts:
        parts = zip(target.attention, connection.factors, strict=True)
        goal = VirtualWeights(tuple(a / factor for a, factor in parts), target.value / connection.value_factor)
        if (after := with_virtual_weights(moved, goal)) is None:
            return connection
        moved = after
    start = exact_virtual_weights(moved)
    factors = proved_to_be(rescaling_factors(start, target), "moves on weights must lead where virtual ones do")
    connection = replace(connection, factors=factors[0], value_factor=factors[1], virtual=start, moved=moved)
    return _with_matrices(moved, second, connection)


def _moved(weights: Weights, move: Move, point: VirtualWeights) -> Weights | None:
    """Return weights of the same shape after a move, up to rescaling."""
    if move.name is MoveName.EXCHANGE:
        try:
            return swap(weights, layer=move.layer)
        except BadInput:  # the weights do not have the ranks that the virtual weights have
            pass
    return with_virtual_weights(weights, point)


def with_virtual_weights(weights: Weights, target: VirtualWeights) -> Weights | None:
    """Return weights with other virtual weights, and the same value matrices in all layers but the last, if any."""
    matrices = weights.numbers()
    layers = weights.rational_layers
    before = RationalMatrix.identity(layers[0].query.shape[1])
    for i, (layer, attention) in enumerate(zip(layers, target.attention, strict=True), start=1):
        a, through = layer.query.shape[0], before.mT.fractions()
        if before.mT @ layer.key.mT @ layer.query @ before != RationalMatrix.of(attention):
            # P^T A P for one A: first A P, then A
            half = solution(through, attention)
            whole = None if half is None else solution(through, half.T)
            if whole is None or (rows := _factored(whole.T, a)) is None:
                return None
            matrices |= {f"Q{i}": rows[0], f"K{i}": rows[1]}
        if i == len(layers):
            value = solution(through, target.value.T)
            if value is None:
                return None
            matrices[f"V{i}"] = value.T
        before = layer.value @ before
    return Weights.of(matrices)


def _factored(matrix: ObjectArray, rows: int) -> tuple[ObjectArray, ObjectArray] | None:
    """Return `Q`, `K` with so many rows and `K^T Q = matrix`, or `None` if its rank is larger."""
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
    before, c = RationalMatrix.identity(first.architecture(1).widths[0]), Fraction(1)
    query_key, between, scales = {}, {}, {}
    depth = len(first.rational_layers)
    for i, (old, new) in enumerate(zip(first.rational_layers, second.rational_layers, strict=True), start=1):
        scales[i] = connection.factors[i - 1] / c**2
        c /= scales[i]
        if (found := _query_key_matrix(old, new, before, scales[i])) is None:
            return connection
        query_key[i] = found
        if i < depth:
            if (after := _invertible_solution(old.value.mT, (new.value @ before).scaled(scales[i]).mT)) is None:
                return connection
            between[i] = after.T
            before = RationalMatrix.of(after).mT
    if transform(first, query_key=query_key, between=between, scales=scales) != second:
        return connection
    return replace(connection, query_key=query_key, between=between, scales=scales)


def _query_key_matrix(
    old: Layer[RationalMatrix], new: Layer[RationalMatrix], before: RationalMatrix, scale: Fraction
) -> ObjectArray | None:
    """Return `C` with `C K = K' G` and `C^T Q' G = s Q`, or `None` if none is found."""
    a, turned = old.key.shape[0], old.query.scaled(scale)
    key, query = new.key @ before, new.query @ before
    if (found := intertwiner(old.key, key, query, turned)) is not None:
        return found.fractions()
    if a > LARGEST_JOINT_SYSTEM:
        return None
    # for the entries of C row by row
    one = RationalMatrix.identity(a).fractions()
    system = np.concatenate([np.kron(one, old.key.mT.fractions()), np.kron(query.mT.fractions(), one)])
    right = np.concatenate([key.fractions().ravel(), turned.mT.fractions().ravel()])
    return _invertible_solution(RationalMatrix.of(system), RationalMatrix.of(right[:, None]), shape=(a, a))


def _invertible_solution(
    matrix: RationalMatrix, right: RationalMatrix, shape: tuple[int, int] | None = None
) -> ObjectArray | None:
    """Return an invertible `X` with `matrix X = right` (its entries row by row if `shape` is given), or `None`.

    Solves for `X - 1`, so that the identity is what free entries fall back to.
    """
    if shape is None:
        only = left_factor(matrix.mT, right.mT)
        if only is not None:
            return only.mT.fractions() if only.shape[0] == only.shape[1] == only.rank() else None
    columns = matrix.shape[1]
    one = RationalMatrix.identity(columns if shape is None else shape[0]).fractions().reshape(columns, -1)
    if one.shape[1] != right.shape[1]:
        return None
    known = matrix.fractions()
    if (particular := solution(known, (right - matrix @ RationalMatrix.of(one)).fractions())) is None:
        return None
    free, count = [np.array(v, dtype=object) for v in null_space(known)], right.shape[1]
    source = random.Random(0)
    for attempt in range(4):
        found = one + particular
        for v in free if attempt else ():
            found = found + np.outer(v, [source.randint(-9, 9) for _ in range(count)])
        result: ObjectArray = found if shape is None else found.reshape(shape)
        if rank(result) == result.shape[0]:
            return result
    return None
