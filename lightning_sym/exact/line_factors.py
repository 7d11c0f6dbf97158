r"""Degrees of factors of a polynomial in many variables, over $\mathbb C$, by its values on lines modulo a prime.

Let a polynomial have constant term one, no denominator divisible by $p$, and the same degree $N$ modulo $p$ as over
$\mathbb Q$. If it has a factor of degree $1, \dots, k$ over $\mathbb C$, then by the lemma of Gauss it has one of the
same degree over the algebraic closure of $GF(p)$, and so an irreducible one of a degree $e \le k$. Let that have $r$
conjugates over $GF(p)$. Their product is a factor over $GF(p)$, of degree $r e$. On a line where the whole keeps its
degree and has no double root, it is a product of some of the irreducible factors there; and each of these has a degree
that is divisible by $r$, as Frobenius to that power maps a root to itself, so it maps the conjugate that vanishes there
to itself. So a line excludes $(e, r)$ where no factors of degrees divisible by $r$ have degrees that add up to $r e$.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from flint import nmod_mat, nmod_poly

Degrees = tuple[int, ...]


def determinants_mod_p(matrices: npt.NDArray[np.int64], p: int) -> npt.NDArray[np.int64]:
    """Return the determinants of a stack of square matrices of residues.

    Example:
        >>> determinants_mod_p(np.array([[[1, 2], [3, 4]], [[1, 0], [0, 5]]]), 7).tolist()
        [5, 5]
    """
    size = matrices.shape[-1]
    found = [int(nmod_mat(size, size, list(map(int, m.ravel())), p).det()) for m in matrices]
    return np.array(found, dtype=np.int64)


def polynomial_through(values: Sequence[int], p: int) -> nmod_poly:
    """Return the polynomial with these values at 0, 1, 2, ..., of smaller degree than there are values."""
    differences = np.array(values, dtype=np.int64) % p
    count = len(differences)
    for step in range(1, count):  # Newton's divided differences
        inverse = pow(step, -1, p)
        differences[step:] = (differences[step:] - differences[step - 1 : -1]) % p * inverse % p
    found = nmod_poly([0], p)
    for k in range(count - 1, -1, -1):
        found = found * nmod_poly([-k, 1], p) + int(differences[k])
    return found


def degrees_on_line(values: Sequence[int], p: int) -> Degrees | None:
    """Return the degrees of the irreducible factors modulo `p` of the polynomial with these values at 0, 1, 2, ...

    Args:
        values: one more than the degree that the polynomial should have.
        p: a prime that is larger.

    Returns:
        `None` where its degree is smaller, or a factor stands twice.

    Example:
        >>> degrees_on_line([1, 2, 5], 7), degrees_on_line([1, 2, 3], 7)      # u^2 + 1, irreducible modulo 7
        ((2,), None)
    """
    found = polynomial_through(values, p)
    if found.degree() != len(values) - 1:
        return None
    _, factors = found.factor()
    if any(power > 1 for _, power in factors):
        return None
    return tuple(sorted(factor.degree() for factor, _ in factors))


def excludes(degrees: Degrees, e: int, r: int) -> bool:
    """Return whether a line shows that there are no `r` conjugate factors of degree `e`.

    Example:
        >>> excludes((1, 5), 1, 1), excludes((1, 5), 2, 1), excludes((2, 4), 1, 2), excludes((1, 5), 2, 3)
        (False, True, False, True)
    """
    sums = 1  # bit s: some of the degrees add up to s
    for degree in degrees:
        if degree % r == 0:
            sums |= sums << degree
    return not sums >> r * e & 1


def has_no_small_factor(lines: Iterable[Degrees], degree: int, most: int) -> bool:
    """Return whether lines show that a polynomial has no factor over the complex numbers of degree 1, ..., `most`.

    Example:
        >>> has_no_small_factor([(6,)], 6, 2), has_no_small_factor([(6,), (1, 5)], 6, 2)
        (False, True)
    """
    known = set(lines)
    if degree <= most:
        return False
    return all(
        any(excludes(each, e, r) for each in known) for e in range(1, most + 1) for r in range(1, degree // e + 1)
    )
