r"""What carries the dimension count to every depth: three identities in symbolic virtual weights.

The proof that uses them, for any number of layers, is `docs/every-width.md`, Section 5. A layer is written with
$K = 1$ and $Q = A$, so that its attention matrix is a matrix of variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lightning_sym import Layer, forward
from lightning_sym.exact.rational import rank
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.derivatives import Dual, Recorded, gradients
from lightning_sym.rings.polynomials import Polynomial
from lightning_sym.rings.protocol import M
from proofs_check.claim import expect_equal, meeting_bounds
from proofs_check.ring_matrices import determinant, letters_of
from proofs_check.samples import listed


class Symbols(NamedTuple):
    """Virtual weights and two tokens as variables."""

    attention: list[ObjectArray]
    value: ObjectArray
    x: ObjectArray
    y: ObjectArray
    f: ObjectArray
    one: ObjectArray
    zero: ObjectArray

    def layers(self, value: ObjectArray) -> list[Layer[ObjectArray]]:
        r"""Return the network $V = 1, \dots, 1, \tilde V$, whose function is that of the virtual weights."""
        values = [self.one] * (len(self.attention) - 1) + [value]
        return [Layer(a, self.one, v) for a, v in zip(self.attention, values, strict=True)]


def symbols(depth: int, d: int) -> Symbols:
    """Return variables `A1, ..., Al` (`d x d`), `v` (`1 x d`), and columns `x`, `y`, `f`."""
    shapes = {f"A{i}": (d, d) for i in range(1, depth + 1)} | {"v": (1, d), "x": (d, 1), "y": (d, 1), "f": (d, 1)}
    ring, (*attention, v, x, y, f) = letters_of(shapes)
    one, zero = ring.constants(np.eye(d, dtype=int)), ring.constants(np.zeros((d, d), dtype=int))
    return Symbols(attention, v, x, y, f, one, zero)


def derivative(x: Dual, layers: list[Layer[M]], moved: dict[int, Layer[M]] | None = None) -> Dual:
    """Return the network over dual numbers; weights do not move but for the layers in `moved`."""
    still = [Layer(*map(Dual, layer)) for layer in layers]
    for i, tangent in (moved or {}).items():
        still[i] = Layer(*(Dual(w, dw) for w, dw in zip(layers[i], tangent, strict=True)))
    return forward(x, still)


depths_and_widths = listed([(1, 2), (1, 3), (2, 2), (2, 3)], [(1, 4), (3, 2)])  # `(l, d_0)`, symbolically


def second_token(instance: tuple[int, int], *, transpose: bool = False) -> None:
    r"""Check Lemma 4 on the second output at $(x, \varepsilon y)$.

    It is $\varepsilon \phi(x)\, x^\top A_1 y / x^\top A_1 x$.
    """
    s = symbols(*instance)
    a = s.attention[0].T if transpose else s.attention[0]
    layers = s.layers(s.value)
    (alone,) = forward(s.x, layers).ravel()
    tokens = Dual(np.hstack([s.x, 0 * s.x]), np.hstack([0 * s.y, s.y]))
    first, second = derivative(tokens, layers).tangent.ravel()
    expect_equal(first == 0, True, at=f"(l, d_0) = {instance}: the first output does not move")
    ((quadratic,),), ((bilinear,),) = s.x.T @ a @ s.x, s.x.T @ a @ s.y
    expect_equal(second * quadratic == alone * bilinear, True, at=f"(l, d_0) = {instance}: the second output")


def dominance(factor: Callable[[Polynomial, Polynomial, Polynomial, Polynomial], Polynomial]) -> str:
    r"""Return the finding of Lemma 5: the Jacobian determinant of a layer on $2 \times 2$ inputs.

    The layer is $X \mapsto X X^\top A X$.
    """
    s = symbols(1, 2)
    tokens = np.hstack([s.x, s.y])
    x = Recorded(tokens)
    output = forward(x, [Layer(*map(Recorded, layer)) for layer in s.layers(s.one)])
    rows = []
    for i, j in np.ndindex(2, 2):
        functional = s.zero.copy()
        functional[i, j] = s.one[0, 0]
        rows.append(gradients([output], [functional], [x])[0].ravel())
    p, q, r, t = (tokens.T @ s.attention[0] @ tokens).ravel()
    expect_equal(
        determinant(np.stack(rows)) == 3 * (p * t - q * r) * factor(p, q, r, t), True, at="X -> X X^T A X, 2 x 2"
    )
    return (
        "the determinant of the derivative of X -> X X^T A X on 2 x 2 inputs is 3 det(S) times a form that is positive"
        " on real S != 0: the identity that the written proof for every depth uses (docs/every-width.md, Lemma 5)"
    )


def positive(p: Polynomial, q: Polynomial, r: Polynomial, t: Polynomial) -> Polynomial:
    """Return a form that is positive on real matrices `[[p, q], [r, t]]` other than zero.

    `p^2 + p t + t^2` is a definite form.
    """
    return 3 * (p * p + p * t + t * t) + q * q + q * r + r * r


def larger_kernel(sign: int) -> str:
    r"""Return the finding that moving by $(u f^\top, -u^\top)$ is in the kernel.

    Here $\tilde A_2 = f f^\top$, $\tilde V = f^\top$.

    It leaves the variety of width one, where the three vectors stay proportional (`docs/every-width.md`, Section 4).
    """
    s = symbols(2, 2)
    u = s.value.T
    s = s._replace(attention=[s.attention[0], s.f @ s.f.T])
    tokens = np.hstack([s.x, s.y])
    moved = Layer(u @ s.f.T, s.zero, -sign * u.T)
    output = derivative(Dual(tokens, 0 * tokens), s.layers(s.f.T), {1: moved})
    expect_equal(all(e == 0 for e in output.tangent.ravel()), True, at=f"l = 2, width one, motion (u f^T, {-sign} u^T)")
    dimension = kernel_on_all_virtual_weights(np.array([[1, 2], [3, 1]]), np.array([[1], [4]]))
    return (
        "the tangent space of the variety is needed: at l = 2, d_0 = 2, d_1 = 1, the kernel on all virtual weights also"
        f" holds (dA_2, dV) = (u f^T, -u^T) and has dimension {dimension}; the rescalings are 2 of them"
    )


def kernel_on_all_virtual_weights(first: npt.NDArray[np.int64], f: npt.NDArray[np.int64]) -> int:
    r"""Return the dimension of the kernel where $\tilde A_2 = f f^\top$, $\tilde V = f^\top$, by two bounds that meet.

    From below: the rescalings and the motions by `u`. From above: an exact rank at these weights, on some inputs.
    """
    one, zero = np.eye(2, dtype=int), np.zeros((2, 2), dtype=int)
    second, value = f @ f.T, f.T
    layers = [Layer(first, one, one), Layer(second, one, value)]
    rescalings = [(first, zero, -3 * value), (zero, second, -value)]
    known = [*rescalings, *((zero, u[:, None] @ f.T, -u[None]) for u in one)]
    lower = rank([np.concatenate([m.ravel() for m in motion]) for motion in known])
    inputs = np.random.default_rng(0).integers(-5, 6, size=(8, 2, 2))
    rows = []
    for unit in np.eye(10, dtype=int):
        moved = {0: Layer(unit[:4].reshape(2, 2), zero, zero), 1: Layer(unit[4:8].reshape(2, 2), zero, unit[None, 8:])}
        rows.append(np.concatenate([derivative(Dual(x, 0 * x), layers, moved).tangent.ravel() for x in inputs]))
    return meeting_bounds(lower, len(rows) - rank(rows), at="l = 2, width one, dimension of the kernel")
