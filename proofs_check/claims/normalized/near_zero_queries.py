r"""Near zero queries and keys: a theorem of Konda (2026) on the sizes of singular values, as elementary divisors.

One head, no mask, no skip connection, $D$ layers of width `d`, $Q_i = \tau U_i$, $K_i = \tau W_i$ with $r_i$ rows, a
normalizer $S = S(0)(1 + c y^k + \dots)$. The Jacobian of the outputs in all weights is a matrix of power series in
$\tau$. For general weights its elementary divisors are $\tau^0$, $d^2$ times, and $\tau^{2 k 3^{i-1} - 1}$, $r_i (2 d -
r_i)$ times for each layer; there are no others. Over $GF(p)[[\tau]]$, by elimination, at weights that are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from lightning_sym import SOFTMAX, Architecture, Normalization, network_output
from lightning_sym.rings.power_series import PowerSeries
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from proofs_check.blackboard.step import Step, must, rational, table
from proofs_check.boxes import PRIME
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect_equal
from proofs_check.normalizers import CUBE, LOGISTIC, order
from proofs_check.series_ranks import Residues, elementary_divisors


class NearZero(NamedTuple):
    """A network near zero queries and keys."""

    normalization: Normalization
    width: int
    ranks: tuple[int, ...]
    tokens: int
    seed: int


def networks(*, quick: bool) -> Iterator[NearZero]:
    for seed in range(1 if quick else 6):
        for normalization in (SOFTMAX, LOGISTIC):
            for tokens in (2, 3):
                yield NearZero(normalization, 1, (1, 1), tokens, seed)
                yield NearZero(normalization, 2, (1,), tokens, seed)
                yield NearZero(normalization, 2, (1 + seed % 2, 2 - seed % 2), tokens, seed)
        yield NearZero(CUBE, 2, (1,), 2, seed)
        yield NearZero(CUBE, 1, (1, 1), 2, seed)
        if not quick:
            yield NearZero(SOFTMAX, 3, (2, 1), 3, seed)
            yield NearZero(SOFTMAX, 1, (1, 1, 1), 2, seed)


def jacobian(net: NearZero) -> Residues:
    """Return series of outputs, by output, weight and power of tau.

    What moves by a high power of tau shows its derivative.
    """
    generator, d = np.random.default_rng([net.seed, net.width, net.tokens]), net.width
    shape = Architecture((d,) * (len(net.ranks) + 1), net.ranks, net.tokens, normalization=net.normalization)
    n = 2 * order(net.normalization) * 3 ** (shape.depth - 1) + 1

    def series(*terms: tuple[int, Residues]) -> PowerSeries:
        return PowerSeries.of({k: PrimeFieldMatrix.of(m, PRIME) for k, m in terms}, 2 * n + 1)

    # of the last layers an input shows little to lowest order: there are many
    inputs = series((0, generator.integers(0, PRIME, (shape.parameter_count // 2 + 2, 1, d, net.tokens))))
    drawn = {name: generator.integers(0, PRIME, size) for name, size in shape.weight_shapes()}
    known = {name: series((int(name[0] != "V"), m)) for name, m in drawn.items()}
    still, columns = network_output(inputs, shape, list(known.values())), list[Residues]()
    for name, m in drawn.items():
        first = int(name[0] != "V")
        far, units = n + 1 - first, np.eye(m.size, dtype=np.int64).reshape(-1, *m.shape)
        moved = network_output(inputs, shape, list((known | {name: series((first, m), (far, units))}).values()))
        powers = range(far, far + n)
        changes = [moved.coefficient(k).residues() - still.coefficient(k).residues() for k in powers]
        columns.append(np.moveaxis(np.stack(changes, axis=-1) % PRIME, 1, 3).reshape(-1, m.size, n))
    return np.concatenate(columns, axis=1)


def divisors(net: NearZero, step: int = 3, *, free: bool = True) -> str | None:
    """Check that the elementary divisors are those of the theorem."""
    k, d = order(net.normalization), net.width
    stated = Counter({0: d * d})
    for i, r in enumerate(net.ranks):
        stated[2 * k * step**i - 1] += r * (2 * d - r * free)
    expect_equal(sorted(elementary_divisors(jacobian(net)).items()), sorted(stated.items()), at=str(net))
    return None


def walk() -> Iterator[Step]:
    net = NearZero(SOFTMAX, 2, (1, 2), 3, 0)
    found = elementary_divisors(jacobian(net))
    must(sum(found.values()) == 4 + 3 + 4, "eleven directions are seen")
    yield Step(
        "A network near zero",
        r"Two layers of width two, $Q_i = \tau U_i$, $K_i = \tau W_i$ with one row and two. All scores are multiples "
        r"of $\tau^2$, so patterns are nearly flat, and the output is nearly a multiple of the mean.",
        (table("r_i", rational([[1], [2]]), ("1", "2"), ("rows",)),),
    )
    orders = sorted(found)
    yield Step(
        "Elementary divisors",
        r"The Jacobian is a matrix of power series in $\tau$. Elimination with an entry of least order brings it to a "
        r"diagonal of powers of $\tau$: how often each power stands there.",
        (table(r"\tau^n", rational([[n, found[n]] for n in orders]), [str(n) for n in orders], ("n", "times")),),
    )
    must(orders == [0, 1, 5], "orders 2 * 3^(i - 1) - 1")
    yield Step(
        "Where they come from",
        r"$d^2 = 4$ directions of the product of all values are seen at once. A direction of $A_i$, of which there are "
        r"$r_i (2 d - r_i)$, is seen with the difference of two tokens before it, squared, which each layer takes to "
        r"its third power: $2 \cdot 3^{i-1} - 1$. What is left are bases between layers and inside of heads.",
        (table("", rational([[i, r * (4 - r)] for i, r in enumerate(net.ranks, 1)]), ("1", "2"), ("i", "times")),),
    )


CLAIM = Claim(
    id="near-zero-queries",
    source="beyond the paper; Konda (2026), Theorem 4",
    title="near zero queries and keys layer i is seen in the order 2 k 3^(i-1) - 1, in r_i (2 d - r_i) directions",
    statement=(
        r"Q_i = \tau U_i,\ K_i = \tau W_i,\ S = S(0)(1 + c\, y^k + \dots) \;\Rightarrow\; "
        r"\text{the Jacobian has the elementary divisors } \tau^0\ (d^2),\ "
        r"\tau^{2 k 3^{i-1} - 1}\ (r_i (2 d - r_i)),\ i = 1, \dots, D"
    ),
    hypotheses=(
        "One head, no mask, no skip connection, equal widths, two tokens or more, general weights. Stated there for "
        "singular values over the reals; here as elementary divisors over a finite field, at drawn weights. The "
        "proof is not looked at."
    ),
    place=325,
    rests_on=("softmax-jets",),
    walk=WalkThrough("A Jacobian of power series, and its elementary divisors.", walk),
    parts=(
        Part(
            "elementary divisors of the Jacobian at drawn weights",
            Scope.INSTANCES,
            networks,
            divisors,
            {
                "differences squared": partial(divisors, step=2),
                "queries and keys without GL(r)": partial(divisors, free=False),
            },
        ),
    ),
)
