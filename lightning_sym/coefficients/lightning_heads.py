r"""One lightning layer with many heads, however large: how much of its weights its Jacobian sees, from below.

Its function is $W(x) A(x)$, for matrices of linear forms, `outputs x heads` and `heads x width`. What a direction in
the kernel of the differential does to a few outputs and columns fixes what it does to all others, where these are
independent (docs/learning-coefficients.md, Proposition 18): ranks of the size of a few outputs suffice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lightning_sym.coefficients.head_groups import HeadGroup
from lightning_sym.coefficients.reduced_rank import FactorRanks
from lightning_sym.coefficients.seen_circuits import AtWeights
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.rings.prime_field import PrimeFieldMatrix, random_residues
from lightning_sym.system.circuits import HeadOver, residue_network
from lightning_sym.system.fields import prime_field

MOST_UNKNOWNS, MORE = 3000, 4
"""Entries of a few outputs and columns up to which the rank is asked for, and points beside those that are needed."""

RANK = 2e-10
"""Seconds of a rank modulo a prime, about, by the cube of its size."""

Forms = npt.NDArray[np.int64]
"""Linear forms of the heads at points, `outputs or columns x points x heads`."""


def rank_of_heads(question: AtWeights) -> int:
    """Return a lower bound of the rank of the Jacobian, 0 but for one lightning layer with two tokens or more."""
    shape = question.shape
    if shape.depth > 1 or shape.tokens < 2 or (shape.normalization, shape.embed, shape.unembed) != (None, None, None):
        return 0
    (heads,) = question.net.layers
    width, behind, count = shape.widths[0], shape.widths[1], shape.heads
    few = [min(size, count + 1) for size in (behind, width)]
    entries, unknowns = count * width, count * width * sum(few)
    if unknowns > MOST_UNKNOWNS or not question.budget.begins(RANK * unknowns**3, "the rank of heads"):
        return 0
    net, p = residue_network(question.weights)
    generator = np.random.default_rng(question.seed)
    enough = -(-width * sum(few) // max(sum(few) - count, 1)) + MORE  # at a point all but count^2 are seen
    points = random_residues(generator, (width, enough), p)
    outputs, columns = (random_residues(generator, (size, n), p) for size, n in zip((behind, width), few, strict=True))
    (own,) = net.layers
    values = np.stack([(head.carried(points).mT @ outputs).residues().T for head in own], axis=-1)
    scores = np.stack([(points.mT @ head.attended(columns)).residues().T for head in own], axis=-1)
    x = points.residues().T
    of_values, of_scores = (_multiples(forms, x, p) for forms in (scores, values))
    rows = [
        [_placed(of_values[j], k, few[0]), _placed(of_scores[k], j, few[1])]
        for k in range(few[0])
        for j in range(few[1])
    ]
    kernel = unknowns - rank_mod_p(np.concatenate([np.concatenate(row, axis=1) for row in rows]), p)
    for forms, others in ((of_values, behind - few[0]), (of_scores, width - few[1])):
        kernel += others * (entries - rank_mod_p(np.concatenate(list(forms)), p))
    groups = [HeadGroup((name,), (head,)) for name, head in zip(question.shape.head_names(1), heads, strict=True)]
    if kernel == count**2 and rank_mod_p(values.reshape(-1, count), p) == count:  # the mixtures of heads
        kernel = sum(count - _not_mixed(own, h, group.score_factors[0], p) for h, group in enumerate(groups))
    return max(sum(group.differential for group in groups) - kernel, 0)


def _not_mixed(heads: Sequence[HeadOver[PrimeFieldMatrix]], place: int, ranks: FactorRanks, p: int) -> int:
    """Return how many conditions its ranks put on what is added to the scores of a head, from scores of the others."""
    own, field = heads[place], prime_field(p)
    keys, queries = (field.no_columns(m.shape[1]).extended(m.mT).orthogonal() for m in (own.key, own.query))
    width = own.query.shape[1]
    if (width - keys.shape[1], width - queries.shape[1]) != (ranks.left, ranks.right):
        return 0  # residues are of a smaller rank
    return rank_mod_p(np.stack([head.scores(keys, queries).residues().ravel() for head in heads], axis=-1), p)


def _multiples(forms: Forms, x: npt.NDArray[np.int64], p: int) -> Forms:
    """Return products of forms with all variables, at points: by output or column a `points x (heads width)`."""
    products = forms[:, :, :, None] * x[None, :, None, :] % p
    return products.reshape(*products.shape[:2], -1)


def _placed(block: Forms, place: int, count: int) -> Forms:
    """Return a block among zeros."""
    found = np.zeros((len(block), count, block.shape[1]), dtype=np.int64)
    found[:, place] = block
    return found.reshape(len(block), -1)
