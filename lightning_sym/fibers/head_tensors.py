r"""Which heads write one layer tensor $T(y; z) = \sum_h V_h y\,(y^\top A_h z)$: section 4 of docs/deep-lightning.md.

One head: $(A, V)$ up to a factor, $(c A, V / c)$, and where both have rank one, $A = p q^\top$, $V = v w^\top$, the
exchange of $p$ and $w$ (Theorem 3.2 of the paper). Several heads: where the columns of all $V_h$ are independent, each
$V_h$ has the largest rank $b \ge 2$ of its shape, their row spaces are different, and $A_h^\top x$ are independent for
general $x$, heads are permuted and rescaled, nothing else; and likewise with $A_h^\top$ in place of $V_h$ (the
corollary of Theorem 4 there). Where minors of the $V_h x$ have no common factor, or those of the $A_h^\top x$, heads
are mixed by $GL(H)$ (Theorem 4). Else the tensor is determined, and its heads are not known to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lightning_sym.exact.line_factors import determinants_mod_p, polynomial_through
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.fibers.factorizations import product_fiber_dimension
from lightning_sym.fibers.layer_tensors import LayerTensors
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import Residues
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits
from lightning_sym.system.fields import Q

MINORS = 4
"""Random minors whose common factor is looked for."""

MIXED = "R in GL(H), V_h' = sum R_kh V_k and A_h' = sum (R^-1)_hk A_k, of the ranks that the shape allows"
"""What Theorem 4 leaves."""


@dataclass(frozen=True)
class KnownHeads:
    """What a layer tensor leaves to its heads.

    Attributes:
        layer: which one, from 1.
        known: what heads are determined up to, in words; empty where only the tensor is known to be determined.
        dimension: of all weights of the layer with this tensor; `None` where that is not known.
    """

    layer: int
    known: str
    dimension: int | None


def _side_by_side(matrices: Sequence[RationalMatrix]) -> RationalMatrix:
    return Q.stacked([m.mT for m in matrices]).mT


def separates_heads(carriers: Sequence[RationalMatrix], others: Sequence[RationalMatrix], inner: int) -> bool:
    """Return whether the corollary of Theorem 4 holds of `V_h` and `A_h^T`, or of these the other way round.

    Args:
        carriers: `V_h`, or `A_h^T`.
        others: `A_h^T`, or `V_h`: columns that they make of one vector are independent for a general one.
        inner: the largest rank that the shape allows `carriers`.

    Example:
        >>> upper = RationalMatrix.of([[1, 0], [0, 1], [0, 0], [0, 0]])
        >>> lower = RationalMatrix.of([[0, 0], [0, 0], [1, 0], [0, 2]])
        >>> separates_heads([upper, lower], [upper, lower], 2)        # one row space
        False
    """
    if inner < 2 or any(m.rank() != inner for m in carriers):
        return False
    if _side_by_side(carriers).rank() != inner * len(carriers):
        # columns of each V_h span a space of dimension b: their sum must be direct
        return False
    pairs = ((m, n) for k, m in enumerate(carriers) for n in carriers[:k])
    if any(m.above(n).rank() == inner for m, n in pairs):
        return False
    width = others[0].shape[1]
    for base in (3, 5, 7):  # some vector is enough
        x = RationalMatrix.of([[pow(base, k, 1009)] for k in range(width)])
        if _side_by_side([m @ x for m in others]).rank() == len(others):
            return True
    return False


def mixes_heads(carriers: Residues, others: Residues, p: int, seed: int = 0) -> bool:
    """Return whether Theorem 4 holds of `V_h` and `A_h^T` modulo `p`, or of these the other way round.

    Minors with a common factor have one on a line where one of them keeps its degree, over the rationals and modulo
    `p` (lemma of Gauss).

    Args:
        carriers: `V_h`, a stack.
        others: `A_h^T`, a stack.
        p: a prime.
        seed: picks lines.

    Example:
        >>> stack = np.array([np.diag([1, 2, 3]), np.diag([1, 1, 5])])
        >>> wide = np.array([[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]])
        >>> mixes_heads(wide, stack, 101), mixes_heads(stack, stack, 101)
        (True, True)
    """
    heads, rows, width = carriers.shape
    if heads >= rows:
        return False
    generator = np.random.default_rng(seed)
    point, along = generator.integers(0, p, (2, width))
    if rank_mod_p((others @ point % p).T, p) < heads:
        return False
    x = (point + np.arange(heads + 1)[:, None] * along) % p
    columns = np.transpose(carriers @ x.T % p, (2, 1, 0))  # by point of the line: rows x heads
    common, whole = polynomial_through([0], p), False
    for _ in range(MINORS):
        minor = determinants_mod_p(generator.integers(0, p, (heads, rows)) @ columns % p, p)
        found = polynomial_through(minor.tolist(), p)
        common, whole = common.gcd(found), whole or found.degree() == heads
    return bool(whole and common.degree() == 0)


def _factors(shape: Architecture, i: int, head: HeadCircuits) -> int:
    """Return the dimension of all factors of the products of one head."""
    before, behind = shape.widths[i - 1 : i + 1]
    total = product_fiber_dimension(before, before, shape.attention_ranks[i - 1], head.attention.rank())
    if shape.value_ranks is not None:
        total += product_fiber_dimension(behind, before, shape.value_ranks[i - 1], head.value.rank())
    return total


def heads_of_tensor(weights: Weights, shape: Architecture) -> list[KnownHeads]:
    """Return what the tensors of a lightning network, none of them zero, leave to their heads, layer by layer.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[3, 0]], "V1": [[5, 1], [10, 2]]})
        >>> heads_of_tensor(w, w.architecture(2))
        [KnownHeads(layer=1, known='a factor, and the exchange of K and V', dimension=2)]
    """
    weights.require_numbers("the heads of layer tensors")
    shape.require("the heads of layer tensors", LIGHTNING)
    found, residues = [], LayerTensors.of(weights, shape.tokens)
    for i, layer in enumerate(NetworkCircuits.of(weights).layers, start=1):
        heads = list(layer)
        known = _determined_in_words(heads, shape, i)
        dimension = sum(_factors(shape, i, head) + 1 for head in heads) if known else None
        if not known:
            (attention, values), p = residues.heads[i - 1], residues.prime
            scores = attention.mT
            if mixes_heads(values, scores, p) or mixes_heads(scores, values, p):
                known = MIXED
        found.append(KnownHeads(i, known, dimension))
    return found


def _determined_in_words(heads: Sequence[HeadCircuits], shape: Architecture, i: int) -> str:
    """Return in words what the heads of a layer are determined up to; empty where it is not known."""
    if len(heads) == 1:
        thin = heads[0].attention.rank() == heads[0].value.rank() == 1
        return "a factor, and the exchange of K and V" if thin else "a factor"
    before, behind = shape.widths[i - 1 : i + 1]
    scores = [head.attention.mT for head in heads]
    values = [head.value for head in heads]
    a = min(shape.attention_ranks[i - 1], before)
    b = min(before, behind, *(() if shape.value_ranks is None else (shape.value_ranks[i - 1],)))
    if separates_heads(values, scores, b) or separates_heads(scores, values, a):
        return "order and factors"
    return ""
