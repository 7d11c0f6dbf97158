r"""What lightning layers with skip connections cannot see: forms that vanish because $S^\top S$ is symmetric.

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

import numpy as np
import numpy.typing as npt

Residues = npt.NDArray[np.int64]


def unseen_forms(attention: list[Residues], frames: list[Residues], ranks: list[int], p: int) -> Residues:
    r"""Forms on the words behind some layers that no later attention matrix sees, `count x kn x kn`.

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
    for a, frame, rank in zip(attention, frames, ranks, strict=True):
        k = frame.shape[1]
        on_words = frame.T @ (a @ frame % p) % p
        blocks = []
        for row, column in np.ndindex(2, 2):
            block = np.zeros((len(forms), 2, k, 2, k), dtype=np.int64)
            block[:, row, :, column] = forms
            blocks.append(block)
        mixed = on_words.T[None]
        if rank == 1:
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
