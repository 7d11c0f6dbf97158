r"""How many weights have given products: dimensions of fibers that are known as sets.

**One product.** Let $A$ be $m \times n$ of rank $r$. The pairs $(K, Q)$, $a \times m$ and $a \times n$, with $K^\top Q
= A$ and $\operatorname{rk} K = k$: the image of $K^\top$ is one of the spaces of dimension $k$ that contain that of
$A$, which are a manifold of dimension $(k - r)(m - k)$; given it, $K^\top$ is a surjection onto it, $a k$ parameters;
given $K$, the columns of $Q$ are determined up to the kernel of $K^\top$, of dimension $a - k$. So these pairs are a
manifold of dimension

$$ (k - r)(m - k) + a k + (a - k) n, \qquad r \le k \le \min(a, m), $$

and the fiber has the largest of these dimensions. For $r = a$ it is $a^2$.

**A chain.** Let $P_j = M_j \cdots M_1$ for matrices $M_j$ from $\mathbb R^{w_{j-1}}$ to $\mathbb R^{w_j}$, $j = 1,
\dots, N$; some of the spaces $j < N$ are *read*, by factors $K$, $Q$ of inner width $a$. Which $(M, K, Q)$ have a given
product $P_N$ and given $P_j^\top K^\top Q P_j = A_j$ for some of the readers? The other readers are free. Let $L_j$ be
the row space of $P_j$, of dimension $p_j$: then $L_0 = \mathbb R^{w_0} \supseteq L_1 \supseteq \dots \supseteq L_N$,
and $L_j$ contains the space $R_j$ that is spanned by the rows of $P_N$ and by the rows and columns of all given $A_k$,
$k \ge j$; $r_j = \dim R_j$, $L_N = R_N$. Take the weights with given numbers $p_j$.

- The spaces: $L_j$ lies between $R_j$ and $L_{j-1}$ (which contains $R_{j-1} \supseteq R_j$): $(p_j - r_j)(p_{j-1} -
  p_j)$ parameters, $j < N$.
- Given them, $P_j$ is an injection of the $p_j$-dimensional quotient that it factors through: $p_j w_j$ parameters, $j
  < N$; $P_N$ is given.
- Given all $P_j$, $M_j$ is known on the image of $P_{j-1}$ and free elsewhere: $(w_{j-1} - p_{j-1}) w_j$.
- $K$ and $Q$ are free outside the image of $P_j$, $2 a (w_j - p_j)$; on it their product is a given form on
  $p_j$-dimensional spaces, of rank $\operatorname{rk} A_j$ (one product, above), or, for readers that are free, they
  are, $2 a p_j$.

Every choice occurs, and each step is a bundle over the one before; so the fiber has the largest of the sums, over all
$p_j$ with $r_j \le p_j \le \min(w_j, p_{j-1})$, $p_0 = w_0$, $p_N = r_N$. If only one $(p_j)$ is possible and all
$\operatorname{rk} A_j = a$, it is a manifold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


def product_fiber_dimension(rows: int, columns: int, inner: int, rank: int) -> int:
    """Return the dimension of the pairs of factors of a matrix.

    Args:
        rows, columns: of the matrix.
        inner: the width between the factors, at least `rank`.
        rank: of the matrix.

    Example:
        >>> [product_fiber_dimension(4, 4, inner=2, rank=r) for r in (2, 1, 0)]
        [4, 6, 9]
    """
    return max((k - rank) * (rows - k) + inner * k + (inner - k) * columns for k in range(rank, min(inner, rows) + 1))


class Reader(NamedTuple):
    """Queries and keys that read a space: the rank of their form on the input, `None` if it is free."""

    inner: int
    rank: int | None


class Space(NamedTuple):
    """A space of a chain: its width, the dimension that its row space must contain, who reads it, and its name."""

    width: int
    contained: int
    reader: Reader | None
    name: str = ""


def chain_fiber_dimension(spaces: Sequence[Space]) -> tuple[int, bool]:
    """Return the dimension of the weights of a chain with given products, and whether they are a manifold.

    Args:
        spaces: the input first, the output last; the input contains all of itself.

    Example:
        >>> one_layer = [Space(3, 3, Reader(2, 2)), Space(3, 3, None)]
        >>> chain_fiber_dimension(one_layer)     # GL(2) on queries and keys
        (4, True)
    """
    last = len(spaces) - 1
    best = {spaces[0].width: 0}  # by p_j, up to here, the reader of space j not counted yet
    smooth = True
    for j, space in enumerate(spaces):
        if j:
            before, width = spaces[j - 1].width, space.width
            reached: dict[int, int] = {}
            for p, total in best.items():
                free = total + (before - p) * width
                for q in [space.contained] if j == last else range(space.contained, min(width, p) + 1):
                    more = 0 if j == last else (q - space.contained) * (p - q) + q * width
                    reached[q] = max(reached.get(q, 0), free + more)
            best = reached
            smooth = smooth and len(best) == 1
        if space.reader is not None:
            inner, rank = space.reader
            smooth = smooth and rank in (None, inner)
            for p in best:
                seen = 2 * inner * p if rank is None else product_fiber_dimension(p, p, inner, rank)
                best[p] += seen + 2 * inner * (space.width - p)
    return max(best.values()), smooth
