"""The degrees that theorems give, against Macaulay2, by two roads that use none of them.

    python benchmarks/degree_vs_macaulay2.py [--limit 300]

*kernel*: the degree of the kernel of the map from coefficients to weights, by Groebner bases, modulo a prime.
*section*: how many weights, in a chart, satisfy as many general linear conditions on the function as there are
dimensions; where there are base points they are removed. This is the degree times the points over a general function,
and, for a layer that enters by its symmetric part, times the matrices that share it.
Each question is a process of its own with a limit of time.
"""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass

from measuring import Figures, parser
from systems import PRIME, run_script

from lightning_sym import Architecture, variety_degree

PREPARED = """
kk = ZZ/{prime};
-- a matrix of rank at most r, in a chart: a block of ones and zeros on the left, times anything, one entry 1
chart = (R, n, r, k) -> (
    left := if r >= n then id_(R^n) else id_(R^r) || genericMatrix(R, R_k, n - r, r);
    at := if r >= n then k else k + (n - r) * r;
    height := min(r, n);
    free := apply(height * n - 1, i -> R_(at + i));
    right := matrix pack(n, {{1_R}} | free);
    (left * right, at + height * n - 1));
"""

KERNEL = """
R = kk[w_0 .. w_{parameters}];
Q = genericMatrix(R, w_0, {a}, {d}); K = genericMatrix(R, w_({a} * {d}), {a}, {d});
V = genericMatrix(R, w_(2 * {a} * {d}), {d_out}, {d});
S = R[z_1 .. z_{d}]; z = transpose matrix {{gens S}};
A = sub(transpose K * Q, S);
forms = flatten entries (if {tokens} == 1 then (transpose z * A * z)_(0, 0) * sub(V, S) * z else (
    transpose A * z * transpose(sub(V, S) * z)));
cubics = basis(if {tokens} == 1 then 3 else 2, S);
cs = flatten apply(forms, f -> flatten entries sub((coefficients(f, Monomials => cubics))_1, R));
I = ker map(R, kk[y_1 .. y_(#cs)], cs);
print(degree I);
"""

SECTION = """
R = kk[w_0 .. w_{last}];
at = 0; attention = {{}};
for a in {ranks} do ((A, following) = chart(R, {d}, a, at); attention = append(attention, A); at = following);
V = matrix pack({d}, {{1_R}} | apply({d_out} * {d} - 1, i -> R_(at + i))); at = at + {d_out} * {d} - 1;
network = X -> (
    scan(#attention, i -> (X = X * transpose X * attention_i * X));
    V * X);
condition = () -> sum(4, i -> (random(kk^1, kk^{d_out}) * network(random(kk^{d}, kk^{tokens}))
    * random(kk^{tokens}, kk^1))_(0, 0));
I = ideal apply(at, i -> condition());
if {saturate} then I = I + ideal(1 - w_{last} * det attention_0) else I = I + ideal(w_{last});
L = monomialIdeal leadTerm groebnerBasis(I, Strategy => "F4");
print(if dim L > 0 then "not finite" else degree L);
"""


@dataclass(frozen=True)
class Case:
    """A network, the road, whether base points are removed, and how many matrices have the same symmetric part."""

    network: Architecture
    road: str
    saturate: bool = False
    alike: int = 1

    def script(self) -> str:
        """Return the program, as a user of Macaulay2 would write it."""
        network = self.network
        d, d_out = network.widths[0], network.widths[-1]
        if self.road == "kernel":
            (a,) = network.attention_ranks
            text = KERNEL.format(
                parameters=network.parameter_count - 1, a=a, d=d, d_out=d_out, tokens=network.tokens
            )  # fmt: skip
        else:
            ranks = [min(a, d) for a in network.attention_ranks]
            unknowns = sum(a * (2 * d - a) - 1 for a in ranks) + d * d_out - 1
            text = SECTION.format(
                last=unknowns, ranks="{" + ", ".join(map(str, ranks)) + "}", d=d, d_out=d_out, tokens=network.tokens,
                saturate=str(self.saturate).lower(),
            )  # fmt: skip
        return PREPARED.format(prime=PRIME) + text


def one_layer(*shapes: tuple[int, int, int, int]) -> list[Architecture]:
    """Return networks of one layer, each from its `d, d', a, t`."""
    return [Architecture((d, d_out), (a,), t) for d, d_out, a, t in shapes]


CASES = [
    *(Case(n, "kernel") for n in one_layer((2, 1, 1, 2), (2, 1, 2, 2), (2, 1, 1, 1), (2, 2, 1, 1), (3, 1, 1, 1))),
    *(
        Case(n, "section")
        for n in one_layer(
            (2, 2, 1, 2), (2, 2, 2, 2), (3, 1, 1, 2), (3, 1, 2, 2), (3, 1, 3, 2), (2, 3, 2, 2), (3, 2, 1, 2)
        )
    ),
    Case(Architecture((2, 2, 1), (2, 1), 2), "section"),
    Case(Architecture((2, 2, 1), (1, 1), 2), "section", alike=2),
    Case(Architecture((2, 2, 1), (2, 2), 2), "section", saturate=True),
]


def ask(case: Case, seconds: float) -> tuple[str, float]:
    """Return what Macaulay2 prints, or why it prints nothing, and how long it took."""
    if shutil.which("M2") is None:
        return "not installed", 0.0
    start = time.perf_counter()
    if (done := run_script("M2", case.script(), seconds)) is None:
        return f"over {seconds:g} s", seconds
    last = (done.stdout.strip().splitlines() or ["nothing"])[-1]
    return (last if done.returncode == 0 else "an error"), time.perf_counter() - start


def main() -> int:
    """Print the table; exit with 1 if a number disagrees."""
    arguments = parser(__doc__, "limit", limit=300.0).parse_args()
    title = f"degrees, Macaulay2 modulo {PRIME}"
    table = Figures(title, "network", "theorem", "points", "road", "Macaulay2", "agrees", "seconds")
    wrong = 0
    for case in CASES:
        result = variety_degree(case.network)
        assert result.degree is not None
        found, seconds = ask(case, arguments.limit)
        expected = result.degree * (result.points or 1) * case.alike if case.road == "section" else result.degree
        agrees = found == str(expected) if found.isdigit() else None
        wrong += agrees is False
        table.add(case.network, f"{result.degree:,}", result.points, case.road, found,
                      {True: "yes", False: "NO", None: "-"}[agrees], f"{seconds:.1f}")  # fmt: skip
    table.show()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
