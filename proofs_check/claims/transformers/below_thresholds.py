r"""Beyond the paper: causal transformers of every width, below the thresholds of machine-checked proofs.

N. W. Henry's Lean proofs (2026) say that causal softmax networks with skip connections, full $d \times d$ matrices $A$,
$V$ and three tokens or more are determined by their functions off a null set, up to the order of heads: for one head,
$L$ layers and $d \ge \max(2, \binom L2 + 2(L - 1))$, and for $k$ heads and $d \ge \max(2, kL + 1)$. The thresholds are
not needed (docs/transformer-fibers.md, Corollary 6): generic fibers in the $(A_i, V_i)$ are finite at every $d \ge 1$,
so the dimension is $2 k L d^2$.

Here this is certified at sizes that both leave out. From below by Jacobians, from above by a count of entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import comb

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from proofs_check.blackboard.step import Step, must, number, rational, show
from proofs_check.certificates import itself
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect_formula
from proofs_check.claims.transformers.small_networks import A1, A2, V1, V2


def network(d: int, layers: int, heads: int) -> Architecture:
    """Return a causal network with three tokens and full matrices."""
    return Architecture((d,) * (layers + 1), (d,) * layers, 3, SOFTMAX, heads=heads, skip=True, causal=True)


def thresholds(layers: int, heads: int) -> tuple[int, ...]:
    """Return the widths from which the two proofs say something."""
    several = max(2, heads * layers + 1)
    return (several, max(2, comb(layers, 2) + 2 * (layers - 1))) if heads == 1 else (several,)


def left_out(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks of sizes below every threshold."""
    for layers in (1, 2, 3) if quick else (1, 2, 3, 4):
        for heads in (1, 2) if quick else (1, 2, 3):
            for d in range(1, min(min(thresholds(layers, heads)), 4)):
                if 2 * heads * layers * d * d <= (20 if quick else 60):
                    yield network(d, layers, heads)


def stated(shape: Architecture) -> int:
    return 2 * shape.heads * shape.depth * shape.widths[0] ** 2


def walk() -> Iterator[Step]:
    shape = network(2, 2, 1)
    must(min(thresholds(2, 1)) == 3 and min(thresholds(3, 1)) == 4 and min(thresholds(2, 2)) == 5, "3, 4 and 5")
    yield Step(
        "Where the proofs begin",
        r"The proofs ask for $d \ge 3$ with two layers of one head, $d \ge 4$ with three, and with two layers of two "
        r"heads for $d \ge 5$.",
        (number("two layers", min(thresholds(2, 1))), number("three layers", min(thresholds(3, 1))),
         number("two layers of two heads", min(thresholds(2, 2)))),
    )  # fmt: skip
    yield Step(
        "A smaller network",
        r"Two layers of two heads of width two: sixteen matrices' entries each for scores and values.",
        (show("A_1", rational(A1)), show("A_2", rational(A2)), show("V_1", rational(V1)), show("V_2", rational(V2))),
    )
    small = network(2, 2, 2)
    found, one = certified_dimension(small), certified_dimension(shape)
    must((found.value, stated(small), one.value) == (32, 32, 16), "32 and 16")
    yield Step(
        "Nothing is lost",
        r"The rank of the Jacobian at integers modulo a prime counts the entries of all $A$, $V$: no direction is "
        r"hidden, though $d = 2 < 5$.",
        (number("entries of A and V", stated(small)), number("dimension", found.value or 0)),
    )


CLAIM = Claim(
    id="below-thresholds",
    source="beyond the paper: docs/transformer-fibers.md, Corollary 6, and Henry's Lean proofs (2026)",
    title="causal transformers have finite generic fibers in (A_i, V_i) at every width, below thresholds too",
    statement=r"d \ge 1:\quad \dim \mathcal M = 2 k L d^2",
    hypotheses=(
        r"Softmax, causal, skip connections, no ends, full $d \times d$ matrices $A$, $V$, $k$ heads in each of $L$ "
        r"layers, $t \ge 3$. Proved at every size (docs/transformer-fibers.md, Corollary 6); here at sizes with $d$ "
        r"below $\max(2, kL + 1)$ and, for $k = 1$, below $\max(2, \binom L2 + 2(L - 1))$."
    ),
    place=347,
    rests_on=("section-4-heads",),
    walk=WalkThrough(
        "Count entries, and compare with the rank of a Jacobian, where proofs have asked for more width.", walk
    ),
    parts=(
        Part(
            "sizes below all thresholds",
            Scope.GENERIC,
            left_out,
            partial(expect_formula, stated=stated),
            {
                "bases between layers": partial(
                    expect_formula,
                    stated=lambda shape: stated(shape) - (shape.depth - 1) * shape.widths[0] ** 2 - (shape.depth == 1),
                ),
                "a factor in each head": partial(
                    expect_formula, stated=lambda shape: stated(shape) - shape.heads * shape.depth
                ),
            },
            certifies=itself,
        ),
    ),
)
