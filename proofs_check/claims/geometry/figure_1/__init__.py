r"""Figure 1: the neuromanifold for $d = 2$, $d' = 1$, $a \ge 2$, $t \ge 2$.

In coordinates (Proposition A.5) a function is a pair of binary quadratic forms $f = a_1 v$, $g = a_2 v$ with a common
linear factor $v$: six coefficients. With $p_{ij} = f_i g_j - f_j g_i$:

* the Zariski closure is the Sylvester resultant hypersurface $R = p_{02}^2 - p_{01} p_{12} = 0$, irreducible, of
  degree 4 and dimension 5. (The closure is irreducible, of dimension 5 and inside $R = 0$; its equation divides $R$.)
* it is singular exactly where $f$ and $g$ are proportional, $p = 0$: where the common factor has degree two.
* elsewhere $(p_{02} : -p_{01})$ or $(p_{12} : -p_{02})$ is the common zero, so $v$ is real and the point is in
  $\mathcal M$. A point $c \otimes q$ of the singular locus is in $\mathcal M$ exactly if $q$ has real zeros. Together:
  $\mathcal M = \{R = 0,\ \operatorname{disc} f \ge 0,\ \operatorname{disc} g \ge 0\}$.
* in the slice of the picture, $f = (1 + z) r^2 + (1 - z) s^2$, $g = w (r^2 - s^2) + 2 u r s$, it is
  $u^2 + w^2 = z^2 u^2$.
* in the slice $f = a r^2 + s^2$, $g = b r^2 + c r s$ it is Whitney's umbrella $b^2 + a c^2 = 0$: a surface for
  $a \le 0$, singular along the line $b = c = 0$, whose half $a > 0$ lies only in the Zariski closure. Two steps with
  the columns of `A` take the slice of the picture to it: $a = (1 + z) / (1 - z)$, $b = 2 w / (1 - z)$, $c = 2 u$.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import TypeVar

import numpy as np

from lightning_sym import Architecture, certified_dimension, forward, polynomial_map
from lightning_sym.exact.ideals import is_in_radical
from lightning_sym.network.one_layer import attention_layer_weights, discriminants, product_coefficients
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, entry_names
from proofs_check.certificates import itself
from proofs_check.claim import (
    Claim,
    Part,
    Refutation,
    Scope,
    Tally,
    WalkThrough,
    expect,
    expect_dimension,
    expect_equal,
)
from proofs_check.claims.geometry.figure_1.walk import walk
from proofs_check.claims.one_layer.definition_1 import symbolic_layer
from proofs_check.ring_matrices import array_of

E = TypeVar("E", Polynomial, Fraction, int)

RING = PolynomialRing(["f0", "f1", "f2", "g0", "g1", "g2"])
INPUTS = PolynomialRing([*entry_names("x", 2, 2), "s"])
F, G = RING.generators[:3], RING.generators[3:]


def hypotheses_hold(a: int, tokens: int) -> bool:
    """Return whether the hypotheses hold, besides `d = 2`, `d' = 1`."""
    return a >= 2 and tokens >= 2


def sylvester_resultant() -> Polynomial:
    """Return the resultant of two binary quadratic forms with symbolic coefficients, by flint."""
    ring = PolynomialRing([*RING.names, "z"])
    z = ring["z"]
    f, g = ((c[0] * z**2 + c[1] * z + c[2]) for c in (ring.generators[:3], ring.generators[3:6]))
    return f.resultant(g, "z").project_to_context(RING.generators[0].context())


def minors(f: Sequence[E], g: Sequence[E]) -> tuple[E, E, E]:
    """Return `p_01, p_02, p_12`; all are zero exactly if the forms are proportional."""
    p01, p02, p12 = (f[i] * g[j] - f[j] * g[i] for i, j in ((0, 1), (0, 2), (1, 2)))
    return p01, p02, p12


def equation(a: int, degree: int = 4, sign: int = 1) -> None:
    """Check that the resultant vanishes on M, symbolic weights, and is irreducible of degree four."""
    r = sylvester_resultant()
    p01, p02, p12 = minors(F, G)
    expect(r == p02**2 - sign * p01 * p12, f"the Sylvester resultant is {r}")
    phi = polynomial_map(Architecture((2, 1), (a,), 2))
    context = PolynomialRing(phi.weight_names).generators[0].context()
    on_m = r.compose(*product_coefficients(phi).ravel(), ctx=context)
    expect_equal(str(on_m), "0", at=f"a = {a}, the resultant on M")
    expect_equal(int(r.total_degree()), degree, at="degree of the resultant")
    factors = r.factor()[1]
    expect_equal([multiplicity for _, multiplicity in factors], [1], at=f"factors of the resultant {factors}")


def dimensions(*, quick: bool) -> Iterator[tuple[int, int]]:
    yield from product((2, 3), (2,) if quick else (2, 3, 4))
    yield from ((1, 2), (2, 1))


def layer_of(a: int, tokens: int) -> Architecture:
    return Architecture((2, 1), (a,), tokens)


def hypersurface(instance: tuple[int, int], stated: int = 5) -> str | None:
    """Check dimension 5 in a span of dimension 6, so that the closure is the hypersurface; 4 outside the hypotheses."""
    a, tokens = instance
    inside = hypotheses_hold(a, tokens)
    expect_dimension(certified_dimension(layer_of(a, tokens)), stated if inside else stated - 1)
    return None if inside else f"{'t' if a > 1 else 'a'} >= 2 is needed: the dimension is 4 at a = {a}, t = {tokens}"


def singular_locus(_: object, kept: int = 3) -> None:
    """Check that the gradient of R vanishes exactly where all minors do, over C; `kept` minors are demanded."""
    gradient = [sylvester_resultant().derivative(name) for name in RING.names]
    p = minors(F, G)
    for partial_derivative in gradient:
        expect(
            is_in_radical(RING, partial_derivative, p[:kept]),
            f"{partial_derivative} does not vanish where {', '.join(map(str, p[:kept]))} do",
        )
    for minor in p:
        expect(is_in_radical(RING, minor, gradient), f"at a singular point {minor} need not be zero")


def common_factor(_: object, sign: int = -1) -> None:
    """Check that off the singular locus the common factor is rational in the coefficients.

    On M both discriminants are squares.
    """
    r, (p01, p02, p12) = sylvester_resultant(), minors(F, G)
    for form in (F, G):
        # modulo R each form vanishes at (p02 : -p01) and at (p12 : -p02), one of which is a point if p is not zero
        for (x, y), cofactor in (((p02, sign * p01), form[0]), ((p12, sign * p02), form[2])):
            expect(
                form[0] * x**2 + form[1] * x * y + form[2] * y**2 == cofactor * r,
                f"the form with coefficients {form} does not vanish at ({x} : {y}) modulo R",
            )
    phi, _, a, v = symbolic_layer(2, 1)
    for k, form in enumerate(product_coefficients(phi)[:, 0]):
        expect_equal(discriminants(form, 2), [(a[0, k] * v[0, 1] - a[1, k] * v[0, 0]) ** 2], at=f"discriminant {k + 1}")


def weights_of(point: list[int]) -> tuple[ObjectArray, ObjectArray, int]:
    r"""Return `A` and `V` over $\mathbb{Q}[s]/(s^2 - D)$, and D, for a non-zero point of the hypersurface.

    They are real exactly if D >= 0.
    """
    f, g = point[:3], point[3:]
    one, s = INPUTS.constant(1), INPUTS["s"]
    p, q = minors(f, g), f if any(f) else g
    discriminant = 0 if any(p) else q[1] ** 2 - 4 * q[0] * q[2]
    if any(p):
        v0, v1 = (one * c for c in (p[:2] if p[0] or p[1] else p[1:]))
    else:  # q = (2 q0 x + (q1 + s) y) (2 q0 x + (q1 - s) y) / (4 q0), or y divides q
        v0, v1 = (2 * q[0] * one, q[1] + s) if q[0] else (0 * one, one)
    columns = []
    for form in (f, g):
        first = form[0] * one / v0 if v0 else form[1] * one / v1
        columns.append([first, (form[1] * one - first * v1) / v0 if v0 else form[2] * one / v1])
    return array_of(columns).T, array_of([[v0, v1]]), discriminant


def box(bound: int, *, all_in_m: bool = False) -> str:
    """Check that integer points of the hypersurface in a box have weights, real or not; outside M exactly as stated."""
    points = np.array(list(product(range(-bound, bound + 1), repeat=6)))
    p01, p02, p12 = minors(list(points.T[:3]), list(points.T[3:]))
    on_it = points[p02**2 == p01 * p12].tolist()
    x, s = INPUTS.matrix("x", 2, 2), INPUTS["s"]
    squares = [(x[0, j] * x[0, j], x[0, j] * x[1, j], x[1, j] * x[1, j]) for j in range(2)]

    @cache
    def outputs(k: int, form: tuple[int, ...]) -> list[object]:
        """Return what a form adds to the output at each token: its values at both, times input `k`."""
        total = sum(c * (one + other) for c, one, other in zip(form, *squares, strict=True))
        return [x[k, i] * total for i in range(2)]

    @cache
    def is_real(form: tuple[int, ...]) -> bool:
        return bool(min(discriminants(form, 2)) >= 0)

    outside = 0
    for point in filter(any, on_it):
        a, v, discriminant = weights_of(point)
        output, (f, g) = forward(x, [attention_layer_weights(a, v)]), halves(point)
        for found, first, second in zip(output[0], outputs(0, f), outputs(1, g), strict=True):
            difference = found - first - second
            if not (difference.is_zero() or (difference % (s * s - discriminant)).is_zero()):
                raise Refutation(f"f, g = {point}: not the function of A = {a.tolist()}, V = {v.tolist()}")
        nonnegative = is_real(f) and is_real(g)
        expect(
            (discriminant >= 0) == (nonnegative or all_in_m),
            f"f, g = {point} satisfies R = 0 and has weights over Q(sqrt({discriminant}))",
        )
        outside += not nonnegative
    where = f"of the {len(on_it)} integer points of R = 0 in [-{bound}, {bound}]^6"
    return Tally(f"{where}, {outside} are outside M, all with f and g proportional")


def halves(point: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(point[:3]), tuple(point[3:])


def slice_is_an_umbrella(_: object, sign: int = 1) -> None:
    """Check both slices, and that two steps with columns take the one of the picture to the umbrella."""
    ring = PolynomialRing(["a", "b", "c"])
    a, b, c = ring.generators
    zero, one = ring.constant(0), ring.constant(1)
    f, g = (a, zero, one), (b, c, zero)
    found = sylvester_resultant().compose(*f, *g, ctx=a.context())
    expect_equal(str(found), str(b**2 + sign * a * c**2), at="the slice f = (a, 0, 1), g = (b, c, 0)")
    expect_equal([str(p) for p in minors(f, g)], [str(a * c), str(-b), str(-c)], at="singular points of the slice")
    expect_equal((discriminants(f, 2), discriminants(g, 2)), ([-4 * a], [c**2]), at="discriminants in the slice")
    ring = PolynomialRing(["u", "w", "z"])
    u, w, z = ring.generators
    f, g = (1 + z, ring.constant(0), 1 - z), (w, 2 * u, -w)
    found = sylvester_resultant().compose(*f, *g, ctx=u.context())
    expect_equal(str(found), str(4 * (u**2 + w**2 - z**2 * u**2)), at="the slice of the picture")
    moved = [(1 - z) * q + w * p for p, q in zip(f, g, strict=True)]  # (1 - z) (g + w f / (1 - z))
    expect_equal([str(p) for p in moved], [str(2 * w), str(2 * u * (1 - z)), "0"], at="g in the other slice")


CLAIM = Claim(
    id="figure-1",
    source="Figure 1",
    title="d = 2, d' = 1: the Sylvester resultant hypersurface, its singular locus, what is outside M",
    statement=(
        r"d = 2,\ d' = 1,\ a, t \ge 2 \;\Rightarrow\; \overline{\mathcal M} = \{\operatorname{Res}(f, g) = 0\}, \quad"
        r"\deg = 4, \quad \dim = 5, \quad \operatorname{Sing} = \{f \parallel g\}, \quad"
        r"\mathcal M = \overline{\mathcal M} \cap \{\operatorname{disc} f, \operatorname{disc} g \ge 0\}"
    ),
    hypotheses=(
        r"One layer, one head, lightning, no mask. The set is the same for all $a, t \ge 2$. The singular locus is "
        r"that of the closure; $f \parallel g$ says that $f$ and $g$ are proportional."
    ),
    place=80,
    rests_on=("theorem-3.4-boundary", "theorem-3.4-singular"),
    walk=WalkThrough(
        r"The smallest interesting $\mathcal M$ is a hypersurface, and its equation is a resultant.", walk
    ),
    parts=(
        Part(
            "the resultant vanishes on M; irreducible of degree 4",
            Scope.IDENTITY,
            lambda quick: (a for a in (1, 2, 3) if hypotheses_hold(a, 2)),
            equation,
            {"degree 3": partial(equation, degree=3), "p02^2 + p01 p12": partial(equation, sign=-1)},
            instance="query/key width a",
        ),
        Part(
            "dimension 5, so the closure is the hypersurface",
            Scope.GENERIC,
            dimensions,
            hypersurface,
            {"dimension 6": partial(hypersurface, stated=6)},
            instance="query/key width a and number of tokens",
            certifies=lambda instance: itself(layer_of(*instance)),
        ),
        Part(
            "singular exactly where f and g are proportional, by Groebner bases",
            Scope.IDENTITY,
            lambda quick: [None],
            singular_locus,
            {"p01 = p02 = 0 only": partial(singular_locus, kept=2)},
        ),
        Part(
            "elsewhere the common factor is rational; discriminants on M are squares",
            Scope.IDENTITY,
            lambda quick: [None],
            common_factor,
            {"the zero mirrored": partial(common_factor, sign=1)},
        ),
        Part(
            "integer points of the hypersurface, each with its weights",
            Scope.INSTANCES,
            lambda quick: (1,) if quick else (1, 2),
            box,
            {"no point outside M": partial(box, all_in_m=True)},
            instance="all points of a box, by its size",
        ),
        Part(
            "Whitney's umbrella as a slice, its handle outside M",
            Scope.IDENTITY,
            lambda quick: [None],
            slice_is_an_umbrella,
            {"the handle on the other side": partial(slice_is_an_umbrella, sign=-1)},
        ),
    ),
)
