r"""Families of equations of one layer with one output: Alexandr, Duan and Montufar, *Algebraic invariants of
lightning self-attention* (arXiv 2604.15632), each with the hypotheses under which it holds, and is not empty.

For $t \ge 2$ let $y_{ab,l}$ be the coefficient of $x_{l,1} x_{a,2} x_{b,2}$ in the first output token, made
symmetric: $y_{ab,l} = \frac12 (a_{la} v_b + a_{lb} v_a)$, $a_l$ the columns of $A$. For $t = 1$ the output is a cubic
form $f = q v$.

* *linear relations*: the array is the same for all other tokens, and it determines the coefficients in $x_1$ alone.
* *pencils of slices*: $\sum_l c_l y_{ab,l}$ is a symmetric matrix of rank 2, so its $3 \times 3$ minors vanish ($d
  \ge 3$).
* *low rank*: as a matrix with rows $\{a, b\}$ and columns `l` it has rank at most `a` ($a < d$).
* *syzygies*: this matrix is $\Phi(v) A$, so linear relations between the maximal minors of $\Phi$ are relations
  between its maximal minors; there are some if and only if $d \ge 3$.
* *Veronese*: minors in rows $\{k_{f(p)}, k_p\}$ are $v^\alpha$ times a minor of $A$ ($2 \le r \le \min(a, d)$); so
  products whose exponents have the same sum are equal. For $d = r = 2$ this is the resultant of Figure 1.
* *resultants*: two slices have the factor $v$ in common, on every line ($d \ge 2$).
* *one token, low rank*: the matrix of the coefficients of $x_k^2 x_l$, made symmetric, is $v_l\, q_{kk}$ and twice
  $v_k\, q_{kl}$, over three: its rank is at most $2a + 1$ ($2a + 2 \le d$).
* *one token, Lie flattening* ("Chow" equations): the maximal minors of $B \mapsto \nabla f \cdot B x$ on traceless
  matrices `B`. They vanish if some `B` fixes `q` and `v`. For $d \ge 3$ there is one: with $w =
  \operatorname{adj}(q)\, v$ take $B = \operatorname{adj}(q)\, S$ with `S` skew and $S w = 0$, for example the matrix
  of $u \mapsto w \times u$ in three of the coordinates. (For $v = 0$ or singular `q` by continuity.) At $d = 2$ there
  is none for general `f`: all binary cubic forms are functions of the layer, and the $3 \times 3$ minors are not zero.
  So that family needs $d \ge 3$.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np

from lightning_sym import Layer, forward
from lightning_sym.exact.rational import null_space
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, entry_names
from lightning_sym.rings.rationals import as_fraction
from proofs_check.claim import Claim, Part, Scope, Verdict, WalkThrough, expect, expect_equal, spell
from proofs_check.claims.varieties.attention_invariants.walk import flattening_at, walk
from proofs_check.finite_matrices import Integers
from proofs_check.ring_matrices import array_of, determinant, minors

Shape = tuple[int, int]
"""`d` and `a`."""


class Slices:
    """One layer with symbolic weights, one output, and the symmetric array `y` of the first output token."""

    def __init__(self, d: int, a: int, tokens: int = 2) -> None:
        self.d, self.a = d, a
        names = [*entry_names("Q", a, d), *entry_names("K", a, d), *entry_names("V", 1, d)]
        self.ring = PolynomialRing([*names, *entry_names("x", d, tokens), *(f"c_{i}" for i in range(d))])
        query, key, self.value = (self.ring.matrix(*m) for m in (("Q", a, d), ("K", a, d), ("V", 1, d)))
        self.output: Polynomial = forward(self.ring.matrix("x", d, tokens), [Layer(query, key, self.value)])[0, 0]

    def y(self, a: int, b: int, c: int, tokens: tuple[int, int, int] = (2, 2, 1)) -> Polynomial:
        """Return the coefficient of the product of three inputs over the number of its orders: a derivative."""
        result = self.output
        for coordinate, token in zip((a, b, c), tokens, strict=True):
            result = result.derivative(f"x_{coordinate + 1}_{token}")
        return result / (6 if len(set(tokens)) == 1 else 2)

    def flattening(self) -> ObjectArray:
        """Return a matrix with a row for each pair `a <= b` and a column for each `l`."""
        pairs = list(combinations_with_replacement(range(self.d), 2))
        return array_of([[self.y(*pair, c) for c in range(self.d)] for pair in pairs])


def demand_zero(value: Polynomial | int, at: str) -> None:
    expect_equal(value if isinstance(value, int) else len(value), 0, at=f"{at}, terms")


def linear(shape: Shape, factor: int = 1) -> None:
    """Check that tokens two and three are alike; and that coefficients in token one alone are sums.

    The sums are over the places of `l`.
    """
    d, a = shape
    layer = Slices(d, a, tokens=3)
    for i, j, k in product(range(d), repeat=3):
        demand_zero(layer.y(i, j, k) - factor * layer.y(i, j, k, (3, 3, 1)), f"d = {d}, tokens 2 and 3, {(i, j, k)}")
        inside = layer.y(i, j, k, (1, 1, 1))
        spread = layer.y(i, j, k) + layer.y(j, k, i) + layer.y(i, k, j)
        demand_zero(3 * inside - factor * spread, f"d = {d}, token 1 alone, {(i, j, k)}")


def pencils(shape: Shape, size: int = 3) -> None:
    d, a = shape
    layer = Slices(d, a)
    c = [layer.ring[f"c_{k}"] for k in range(d)]
    pencil = [[sum(c[k] * layer.y(i, j, k) for k in range(d)) for j in range(d)] for i in range(d)]
    for minor in minors(array_of(pencil), size):
        demand_zero(minor, f"d = {d}, a = {a}, a minor of the pencil")


def low_rank(shape: Shape, more: int = 1) -> None:
    d, a = shape
    for minor in minors(Slices(d, a).flattening(), a + more):
        demand_zero(minor, f"d = {d}, a = {a}, a minor of the flattening")


def model_matrix(d: int, half: Fraction) -> ObjectArray:
    r"""Return $\Phi(v)$: the products of `v` with the coordinates, made symmetric by `half`."""
    ring = PolynomialRing([f"v_{i}" for i in range(d)])
    pairs = list(combinations_with_replacement(range(d), 2))

    def entry(a: int, b: int, c: int) -> object:
        factor = ring.constant(Fraction(1) if a == b else half)
        return factor * ring.generators[b if a == c else a] if c in (a, b) else ring.constant(0)

    return array_of([[entry(*pair, c) for c in range(d)] for pair in pairs])


def syzygies(shape: Shape, half: Fraction = Fraction(1, 2)) -> None:
    """Check that relations of the minors of the model matrix hold for those of the flattening."""
    d, a = shape
    of_model = [minor.to_dict() for minor in minors(model_matrix(d, half), d)]
    monomials = sorted({m for terms in of_model for m in terms})
    columns = [[as_fraction(terms.get(m, 0)) for terms in of_model] for m in monomials]
    relations = null_space(columns)
    expect_equal(bool(relations), d >= 3, at=f"d = {d}, whether there are relations")
    layer = Slices(d, a)
    of_layer = list(minors(layer.flattening(), d))
    for relation in relations:
        terms = zip(relation, of_layer, strict=True)
        demand_zero(sum(layer.ring.constant(c) * m for c, m in terms if c), f"d = {d}, a = {a}, a relation")


def acyclic(alpha: tuple[int, ...]) -> list[int]:
    """Return a map of places to themselves that takes `i` as a value `alpha_i` times, and fixes every such value."""
    spare = [i for i, n in enumerate(alpha) for _ in range(n - 1)]
    return [i if n else spare.pop(0) for i, n in enumerate(alpha)]


def veronese(instance: tuple[int, int, int], doubled: int = 2) -> None:
    """Check that products of two of the minors depend on the sum of their exponents only."""
    d, a, r = instance
    layer = Slices(d, a)
    exponents = [alpha for alpha in product(range(r + 1), repeat=r) if sum(alpha) == r]
    for rows in combinations(range(d), r):
        found: dict[tuple[int, ...], list[Polynomial]] = {}
        for alpha in exponents:
            f = acyclic(alpha)
            for columns in combinations(range(d), r):
                pairs = [(rows[f[p]], rows[p]) for p in range(r)]
                matrix = [[(1 if m == n else doubled) * layer.y(m, n, column) for column in columns] for m, n in pairs]
                found.setdefault(alpha, []).append(determinant(array_of(matrix)))
        places = range(len(found[exponents[0]]))
        for (alpha, beta), (gamma, delta) in combinations(combinations_with_replacement(exponents, 2), 2):
            if all(i + j == k + m for i, j, k, m in zip(alpha, beta, gamma, delta, strict=True)):
                for i, j in product(places, repeat=2):
                    difference = found[alpha][i] * found[beta][j] - found[gamma][i] * found[delta][j]
                    demand_zero(difference, f"d = {d}, a = {a}, exponents {alpha} + {beta} = {gamma} + {delta}")


def resultants(shape: Shape, middle: int = 1) -> None:
    """Check the resultant of two slices on two lines: along coordinates, and a general one."""
    d, a = shape
    layer = Slices(d, a)
    lines = [(np.eye(d, dtype=int)[0], np.eye(d, dtype=int)[1]), (np.arange(1, d + 1), np.arange(d) ** 2 - 1)]
    for s, t in lines:
        forms = []
        for k in range(d):

            def on(u: Integers, v: Integers, k: int = k) -> Polynomial | int:
                return sum(int(u[i] * v[j]) * layer.y(i, j, k) for i, j in np.ndindex(d, d))

            forms.append((on(s, s), 2 * on(s, t), on(t, t)))
        for (f0, f1, f2), (g0, g1, g2) in combinations(forms, 2):
            resultant = (f0 * g2 - f2 * g0) ** 2 - middle * (f0 * g1 - f1 * g0) * (f1 * g2 - f2 * g1)
            demand_zero(resultant, f"d = {d}, a = {a}, line {s.tolist()}, {t.tolist()}")


def one_token_low_rank(shape: Shape, more: int = 2) -> None:
    d, a = shape
    layer = Slices(d, a, tokens=1)
    matrix = [[layer.y(k, k, m, (1, 1, 1)) for m in range(d)] for k in range(d)]
    for minor in minors(array_of(matrix), 2 * a + more):
        demand_zero(minor, f"d = {d}, a = {a}, a minor of x_k^2 x_l")


def lie_flattening(layer: Slices, vector: Sequence[Polynomial]) -> Polynomial | int:
    """Return the directional derivative of the cubic form along a linear vector field."""
    return sum(layer.output.derivative(f"x_{i + 1}_1") * vector[i] for i in range(layer.d))


def stabilizer(d: int, *, forget: bool = False) -> None:
    """Check for `d >= 3` a traceless `B`, not zero, with no effect on the cubic form.

    So the columns are dependent.
    """
    layer = Slices(d, d, tokens=1)
    ring = layer.ring
    query, key = ring.matrix("Q", d, d), ring.matrix("K", d, d)
    attention = key.T @ query
    q = attention + attention.T
    cofactors = [
        [(-1) ** (i + j) * determinant(np.delete(np.delete(q, j, axis=0), i, axis=1)) for j in range(d)]
        for i in range(d)
    ]
    adjugate = array_of(cofactors)
    w = adjugate @ layer.value[0]
    skew = ring.constants(np.zeros((d, d), dtype=int).astype(object))
    for i, j, k in permutations(range(3)):
        sign = 1 if (i, j, k) in {(0, 1, 2), (1, 2, 0), (2, 0, 1)} else -1
        skew[i, k] = skew[i, k] + (1 if forget else sign) * w[j]
    field = adjugate @ skew
    expect(not all(len(entry) == 0 for entry in field.ravel()), f"d = {d}: the field is zero")
    demand_zero(sum(field[i, i] for i in range(d)), f"d = {d}, the trace")
    x = ring.matrix("x", d, 1)[:, 0]
    demand_zero(lie_flattening(layer, field @ x), f"d = {d}, the derivative along the field")


def chow_minors(weights: tuple[object, object]) -> None:
    """Check that the 3 x 3 minors vanish at a function of the layer, at `d = 2`, in exact numbers."""
    attention, value = (np.array(m, dtype=object) for m in weights)
    for minor in minors(flattening_at(attention, value), 3):
        expect(not minor, f"d = 2, t = 1, A = {spell(attention)}, V = {spell(value)}: a 3 x 3 minor is {minor}, not 0")


def shapes(*, quick: bool, least: int = 2, below: bool = False, two: bool = False) -> Iterator[Shape]:
    """Yield `d` and `a`; with `below`, only those with `a < d`."""
    for d in (2, 3):
        for a in range(1, d + 1):
            if d >= least and (a < d or not below) and not (quick and two and (d, a) == (3, 3)):
                yield d, a


CLAIM = Claim(
    id="attention-invariants",
    source="Alexandr, Duan and Montufar 2026",
    title="families of equations of one layer with one output, each with its hypotheses",
    statement=(
        r"d' = 1,\ y_{ab,l} = \tfrac12 (a_{la} v_b + a_{lb} v_a):\quad \operatorname{rk} \textstyle\sum_l c_l "
        r"y_{\cdot\cdot,l}"
        r" \le 2\ (d \ge 3),\ \operatorname{rk} (y_{ab,l})_{\{a,b\},l} \le a\ (a < d),\ \dots;\quad"
        r" t = 1:\ B \mapsto \nabla f \cdot B x \text{ on } \mathfrak{sl}_d \text{ is injective for general } f "
        r"\text{ if } d = 2, \text{ and for no } f \text{ if } d \ge 3"
    ),
    hypotheses=(
        r"One head, lightning, no mask, $t \ge 2$ but for the last family, $f = q v$ the function of one token. "
        "Each family is expanded with symbols at small sizes; for all sizes there is the argument in the text of "
        r"the claim. The last one is expanded at $d = 3$ only; for every $d \ge 3$ and every $f$ the map is zero at "
        "a matrix, not zero, that is written down there. At $d = 2$ it is injective for general $f$, so that "
        "equations of this family do not hold: that part is refuted. For $f = 0$ no map is injective."
    ),
    place=410,
    rests_on=('proposition-a.5',),
    walk=WalkThrough("Equations that every layer satisfies, and a family that not every layer satisfies.", walk),
    parts=(
        Part("linear relations", Scope.IDENTITY, shapes, linear, {"twice": partial(linear, factor=2)}),
        Part(
            "pencils of slices, d >= 3", Scope.IDENTITY, partial(shapes, least=3, two=True), pencils,
            {"2 x 2 minors": partial(pencils, size=2)},
        ),
        Part(
            "low rank of A, a < d", Scope.IDENTITY, partial(shapes, below=True), low_rank,
            {"a x a minors": partial(low_rank, more=0)},
        ),
        Part(
            "syzygies between maximal minors", Scope.IDENTITY, shapes, syzygies,
            {"halves forgotten": partial(syzygies, half=Fraction(1))},
        ),
        Part(
            "Veronese type, 2 <= r <= min(a, d)",
            Scope.IDENTITY,
            lambda quick: ((2, 2, 2), (3, 2, 2)) if quick else ((2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3)),
            veronese,
            {"entries off the diagonal not doubled": partial(veronese, doubled=1)},
            instance="d, a and r",
        ),
        Part(
            "resultants of slices on lines", Scope.IDENTITY, shapes, resultants,
            {"another discriminant": partial(resultants, middle=4)},
        ),
        Part(
            "one token: low rank, 2a + 2 <= d", Scope.IDENTITY, lambda quick: ((4, 1),) if quick else ((4, 1), (5, 1)),
            one_token_low_rank, {"one less": partial(one_token_low_rank, more=1)},
        ),
        Part(
            "one token: Lie flattening, d = 3",
            Scope.IDENTITY,
            lambda quick: (3,),  # at d = 4 the identity has more terms than memory; the argument is for every d
            stabilizer,
            {"no sign": partial(stabilizer, forget=True)},
            instance="d",
        ),
        Part(
            "one token: Lie flattening, d = 2",
            Scope.INSTANCES,
            lambda quick: ((((1, 0), (0, 1)), ((1, 0),)), (((0, 1), (0, 0)), ((1, 1),))),
            chow_minors,
            expected=Verdict.REFUTED,
            instance="A and V",
        ),
    ),
)  # fmt: skip
