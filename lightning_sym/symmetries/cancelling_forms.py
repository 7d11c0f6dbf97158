r"""Bilinear forms on the residual stream that cancel, whatever the patterns of the layers before are.

Let $w$ run over the *words*, the products of value matrices that lead from the input to a layer, at most one head of
each layer (exactly one without skip connections), and let $W_w$ be the product, embedding included. A motion $M$ of an
attention matrix has the blocks $B_{ab} = W_a^\top M W_b$. Two kinds of networks have forms that cancel:

*Two tokens, normalized.* Every attention pattern is a 2 x 2 matrix with column sums one, and so is every product of
them. So the stream is $\sum_w W_w (z_1', z_2')$ with $z_2' = z_2 + u_w \delta$, $z_1' - z_2' = c_w \delta$, $\delta =
z_1 - z_2$, with numbers $c_w = \prod c_j$ and $u_w = u_{j_1} + c_{j_1} u_{j_2} + \dots$ over the heads of the word, and
$u_j = 1 - c_j$ under a causal mask. Softmax sees scores by their differences over the keys only, so $M$ is not seen if,
as polynomials in all $c_j, u_j$,

$$ \sum_{a,b} c_a B_{ab} = 0, \qquad \sum_{a,b} c_a c_b (B_{ab} + B_{ab}^\top) = 0, \qquad
   \sum_{a,b} c_a u_b (B_{ab} + B_{ab}^\top) = 0 $$

(the last one follows from the others under a causal mask). Other normalizations see the scores themselves: there $M$
must be skew besides.

*One direction, lightning.* For one token, or one row of input without mask, the stream is $\sum_w c_w W_w y$ with a
vector $y$, and the second equation is all there is.

Proof and largest rank of the system in `docs/transformers.md`.

What lightning layers with skip connections cannot see: forms that vanish because $S^\top S$ is symmetric.

One head, skip connections, no mask, scores not normalized. Layer $j$ adds $V_j X S$ to its input $X$, with $S =
X^\top A_j X$. So $X^\top A_j^\top (X S) = S^\top S$ is symmetric, and no later layer sees the bilinear form $\Omega$
on the stream with $\Omega(x, V_j x') = A_j(x', x)$, $\Omega(V_j x', x) = - A_j(x', x)$, zero on other pairs. If $A_j
= p q^\top$ has rank one, $X S = y z$ with a column $y = X X^\top p$ and the row $z = q^\top X$: then $q \lambda^\top$
for any vector $\lambda$ may stand for $A_j^\top$, and skew forms on the $V_j x$ are not seen either. A form that is
not seen before layer $j$ is not seen behind it on the pairs $(x, x')$, $(x, V_j x')$, $(V_j x, x')$ and $(V_j x, V_j
x')$.

Forms are matrices on the *words* $W_w$, all products of value matrices; those through a layer stand behind all others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from lightning_sym.exact.modular import null_space_mod_p, pivots_mod_p, rank_mod_p
from lightning_sym.exact.rational import rank
from lightning_sym.rings.prime_field import PRIMES, Residues


def unseen_forms(attention: list[Residues], frames: list[Residues], ranks: list[int], p: int) -> Residues:
    r"""Return forms on the words behind some layers that no later attention matrix sees, `count x kn x kn`.

    Args:
        attention: the matrices $A_j$ of the layers, `d x d`.
        frames: by layer, the words before it side by side, `d x kn`.
        ranks: by layer, the largest rank that its attention matrix can have on the stream.
        p: the prime.

    Example:
        >>> form = np.array([[1, 2], [3, 4]])
        >>> unseen_forms([form], [np.eye(2, dtype=np.int64)], [2], 7).tolist()
        [[[0, 0, 1, 3], [0, 0, 2, 4], [6, 5, 0, 0], [4, 3, 0, 0]]]
    """
    forms: Residues = np.zeros((0, frames[0].shape[1], frames[0].shape[1]), dtype=np.int64)
    for a, frame, most in zip(attention, frames, ranks, strict=True):
        k = frame.shape[1]
        on_words = frame.T @ (a @ frame % p) % p
        blocks = []
        for row, column in np.ndindex(2, 2):
            block = np.zeros((len(forms), 2, k, 2, k), dtype=np.int64)
            block[:, row, :, column] = forms
            blocks.append(block)
        mixed = on_words.T[None]
        if most == 1:
            units = np.eye(k, dtype=np.int64)
            rows = on_words[on_words.any(axis=1)]
            row = rows[:1] if len(rows) else on_words[:1]  # q, up to a factor
            mixed = row.reshape(1, -1, 1) * units[:, None, :]
            upper, lower = np.triu_indices(k, 1)
            skew = np.zeros((len(upper), 2, k, 2, k), dtype=np.int64)
            skew[range(len(upper)), 1, upper, 1, lower] = 1
            skew[range(len(upper)), 1, lower, 1, upper] = -1
            blocks.append(skew)
        new = np.zeros((len(mixed), 2, k, 2, k), dtype=np.int64)
        new[:, 0, :, 1], new[:, 1, :, 0] = mixed, -mixed.mT
        forms = np.mod(np.concatenate([*blocks, new]).reshape(-1, 2 * k, 2 * k), p)
    return forms


HeadWord = tuple[tuple[int, int], ...]


def words_to(
    values: Sequence[Sequence[Residues]], start: Residues, p: int | None, *, skip: bool
) -> dict[HeadWord, Residues]:
    """Return the words that lead to a layer: their (layer, head) pairs, the first one acting first, and their products.

    Args:
        values: by layer before this one and by head, the value matrices (output projections included).
        start: the embedding, or the identity.
        p: the prime; `None` for integers as they are.
        skip: whether a layer may be left out.

    Example:
        >>> one = np.array([[1]])
        >>> list(words_to([[2 * one], [3 * one]], one, 4194301, skip=True))
        [(), ((0, 0),), ((1, 0),), ((0, 0), (1, 0))]
    """
    found: dict[HeadWord, Residues] = {(): start}
    for j, heads in enumerate(values):
        longer = {
            (*word, (j, h)): _reduced(value @ matrix, p)
            for word, matrix in found.items()
            for h, value in enumerate(heads)
        }
        found = found | longer if skip else longer
    return found


class CountedParts(NamedTuple):
    """What of a form counts, besides its symmetric part at equal products `c_a c_b`.

    Attributes:
        differences: two tokens, normalized: the first equation.
        both_tokens: two tokens, normalized, no mask: the third.
        scores: two tokens, normalized otherwise than by softmax: that the form is skew.
    """

    differences: bool = False
    both_tokens: bool = False
    scores: bool = False


def cancelling_forms(words: dict[HeadWord, Residues], motions: Residues, seen: CountedParts, p: int | None) -> Residues:
    """Return the equations on motions of an attention matrix: one column a motion, zero where it is not seen.

    Args:
        words: the words and their products, `d x n` each.
        motions: matrices `d x d`, one behind the other.
        seen: which equations there are.
        p: the prime; `None` for integers as they are.
    """
    equations: dict[tuple[object, ...], Residues] = defaultdict(lambda: np.zeros((), dtype=np.int64))
    for (a, left), (b, right) in product(words.items(), repeat=2):
        block = _reduced(left.T @ _reduced(motions @ right, p), p)
        both = (block + block.mT)[:, *np.triu_indices(block.shape[-1])]
        flat = len(motions), block.shape[-1] ** 2  # of no motions, too: all queries and keys may be zero
        parts: list[tuple[tuple[object, ...], Residues]] = [(("cc", *sorted(a + b)), both)]
        if seen.differences:
            parts.append((("c", *a), block.reshape(flat)))
        if seen.both_tokens:
            parts += [(("cu", *sorted(a + b[:n]), last), both) for n, last in enumerate(b)]
        if seen.scores:
            mirrored = _reduced(right.T @ _reduced(motions @ left, p), p)
            parts.append((("M", a, b), (block + mirrored.mT).reshape(flat)))
        for key, part in parts:
            equations[key] = _reduced(equations[key] + part, p)
    return np.concatenate(list(equations.values()), axis=1).T


def _reduced(matrix: Residues, p: int | None) -> Residues:
    return matrix if p is None else np.mod(matrix, p)


def is_in_open_orbit(words: dict[HeadWord, Residues], dimension: int, p: int) -> bool:
    """Return whether basis changes of the input and of the layer move these words in all `dimension` directions.

    Then almost all weights lead to words that a basis change carries to these, and every rank that does not depend on
    bases is the one found here.

    Args:
        words: the words and their products, `d x n` each.
        dimension: an upper bound of the dimension of the set of all such words.
        p: the prime.
    """
    d, n = next(iter(words.values())).shape
    beside = np.concatenate(list(words.values()), axis=1)
    # A [W ...] are all matrices whose rows are in the row space of [W ...]; modulo these the W B are sums of W B N
    unseen = null_space_mod_p(beside, p).T.reshape(len(words), n, -1)
    moved = np.zeros((d, n, n, unseen.shape[-1]), dtype=np.int64)
    for matrix, space in zip(words.values(), unseen, strict=True):
        moved = (moved + matrix[:, :, None, None] * space) % p
    by_inner = moved.transpose(1, 2, 0, 3).reshape(n * n, -1)
    moves: int = d * (len(words) * n - unseen.shape[-1]) + rank_mod_p(by_inner, p)
    return moves == dimension


def generic_rank(words: dict[HeadWord, Residues], seen: CountedParts) -> int:
    """Return the rank over the rationals of the equations on all bilinear forms on the space that the words span.

    Where the words lie in the open orbit this is their rank at almost all weights, so the largest there is. A rank
    modulo a prime might be smaller, and solutions modulo the prime might then not be reductions of rational ones.

    Args:
        words: the words and their products, `d x n` each, integers.
        seen: which equations there are.
    """
    side = np.concatenate(list(words.values()), axis=1).astype(np.int64)
    rows, _ = pivots_mod_p(side, PRIMES[0])  # on these coordinates the span is everything
    forms = np.zeros((len(rows) ** 2, len(side), len(side)), dtype=object)
    for n, (i, j) in enumerate(product(rows, repeat=2)):
        forms[n, i, j] = 1
    return rank(cancelling_forms(words, forms, seen, None))
