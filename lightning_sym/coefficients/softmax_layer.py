r"""One softmax layer of heads: its learning coefficient wherever linear algebra shows that its circuits are seen.

Tokens $(x, \dots, x, y)$ make the weights of heads meromorphic functions with poles of their own for different $A_h$,
so heads are told apart by these; heads with equal $A_h$ are, if the map $(b_h) \mapsto (\operatorname{sym} \sum_h
w_{h,i} b_h^\top)_i$ is injective, $w_{h,i}$ row $i$ of $O_h V_h$ (docs/learning-coefficients.md, Theorem 9). No
exponential is computed, so any width will do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lightning_sym.coefficients.head_groups import HeadGroup, softmax_groups
from lightning_sym.coefficients.lightning_layer import PAGE, Proved
from lightning_sym.coefficients.reduced_rank import NOTHING
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits
from lightning_sym.system.fields import prime_field

THEOREM_9 = f"{PAGE}, Theorem 9"

MOST_EQUATIONS = 4_000_000
"""Entries of the matrix of an injective map up to which it is asked for."""


def seen_heads(names: Sequence[str], heads: Sequence[HeadCircuits], tokens: int) -> Proved | str:
    """Return the pair of a layer of softmax heads without embedding and unembedding, or why nothing is proved.

    Args:
        names: of the heads.
        heads: their circuits.
        tokens: $t$; with a causal mask the last one attends to all.

    Example:
        >>> from lightning_sym import SOFTMAX, NetworkForm, Weights
        >>> from lightning_sym.system.circuits import NetworkCircuits
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[1, 0]]}, NetworkForm(SOFTMAX))
        >>> seen_heads(["1"], NetworkCircuits.of(w).layers[0], 3).pair
        LocalPair(value=Fraction(5, 2), multiplicity=1)
    """
    groups = softmax_groups(names, heads, one_token=tokens == 1)
    unions = _opposite_together(groups) if tokens == 2 else [[group] for group in groups]
    if tokens == 2 and sum(len(union) == 2 or not union[0].heads[0].attention for union in unions) > 1:
        return "with two tokens two pairs of groups of heads with opposite scores, or one and scores that are zero"
    for union in unions:
        seen = [head for group in union if group.scores_seen for head in group.heads]
        if len(seen) > 1 and not is_injective([head.value for head in seen]):
            alike = ", ".join(name for group in union for name in group.names)
            return f"values of the heads {alike}, which attend alike, are not seen to be apart"
    pair, ranks = NOTHING, dict[str, int]()
    for group in groups:
        more, named = group.seen()
        pair, ranks = pair + more, ranks | named
    return Proved(pair, THEOREM_9, ranks)


def _opposite_together(groups: Sequence[HeadGroup[RationalMatrix]]) -> list[list[HeadGroup[RationalMatrix]]]:
    """Return groups, those with opposite scores together: for two tokens these attend alike, tokens exchanged."""
    unions = list[list[HeadGroup[RationalMatrix]]]()
    for group in groups:
        scores = group.heads[0].attention
        known = next((each for each in unions if scores and not each[0].heads[0].attention + scores), None)
        if known is None:
            unions.append([group])
        else:
            known.append(group)
    return unions


def is_injective(values: Sequence[RationalMatrix]) -> bool:
    """Return whether a rank modulo a prime shows that the map of the values of heads is injective.

    Example:
        >>> [is_injective([RationalMatrix.of([row]) for row in rows]) for rows in ([[1, 2]], [[1, 0], [0, 1]])]
        [True, False]
    """
    if not all(values):
        return False
    rows, width = values[0].shape
    unknowns, each = len(values) * width, width * (width + 1) // 2
    needed = min(rows, -(-unknowns // each) + 2)
    if needed * each * unknowns > MOST_EQUATIONS:
        return False
    for p in PRIMES:
        field = prime_field(p)
        try:
            residues = [field.of(value.fractions()) for value in values]
        except ValueError:  # the prime divides a denominator
            continue
        mixture = PrimeFieldMatrix.of(np.random.default_rng(0).integers(0, p, size=(needed, rows)), p)
        mixed = np.array([(mixture @ value).residues() for value in residues])
        return rank_mod_p(_equations(mixed) % p, p) == unknowns
    return False


def _equations(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the matrix of the map: for each row `w_h` of the values and `j <= k` the entry `w_hj b_hk + w_hk b_hj`.

    Args:
        values: `heads x rows x width`.
    """
    heads, rows, width = values.shape
    first, second = np.triu_indices(width)
    found = np.zeros((rows, len(first), heads, width), dtype=np.int64)
    place, w = np.arange(len(first)), np.moveaxis(values, 0, 1)
    found[:, place, :, second] += np.moveaxis(w[:, :, first], 2, 0)
    found[:, place, :, first] += np.moveaxis(w[:, :, second], 2, 0)
    return found.reshape(rows * len(first), heads * width)
