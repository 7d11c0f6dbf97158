"""Equations of one layer, degree by degree, against Macaulay2 on the same ideals in one run.

Two roads in Macaulay2, both over the rationals and on the coefficients of the map as we choose them:

- by degree: the kernel of the map on the monomials of one degree, split by the weights of the torus, as its package
  MultigradedImplicitization does it, without looking for minimal generators;
- elimination: `kernel map`, the ideal as a whole.

Ours is everything `equations` says: coordinates, certified dimension, equations over the rationals, each expanded to
zero, minimal generators, Hilbert function. Seconds of the processor, taken inside, so that starting
a system does not count.
"""

from __future__ import annotations

import re
import shutil
import sys

from measuring import processor
from systems import run_script

from lightning_sym import Architecture, equations
from lightning_sym.network.formats import polynomial_text
from lightning_sym.varieties.coordinates import CoordinateSystem, coordinate_system

CASES = [
    (2, 1, 2, 2, 4),
    (2, 1, 1, 2, 4),
    (2, 2, 2, 2, 4),
    (2, 3, 2, 2, 4),
    (3, 1, 1, 2, 4),
    (3, 1, 2, 2, 4),
    (3, 1, 3, 2, 4),
    (3, 2, 2, 2, 3),
    (3, 1, 1, 1, 5),
]
"""`d, d', a, t` and the degree."""

LIMIT = 60
"""Seconds that a road may take."""


def script(system: CoordinateSystem, degree: int, whole: bool) -> str:
    """Return the map in Macaulay2, with letters for all weights, and the question."""
    network = system.network
    d, d_out, a = network.input_width, network.output_width, network.attention_ranks[0]
    t = network.tokens
    letters = [f"q_({i},{j})" for i in range(1, a + 1) for j in range(1, d + 1)]
    letters += [f"k_({i},{j})" for i in range(1, a + 1) for j in range(1, d + 1)]
    letters += [f"v_({i},{j})" for i in range(1, d_out + 1) for j in range(1, d + 1)]
    inputs = [f"x_({i},{j})" for i in range(1, d + 1) for j in range(1, t + 1)]

    def matrix(letter: str, rows: int, columns: int) -> str:
        return f"matrix for i from 1 to {rows} list for j from 1 to {columns} list {letter}_(i,j)"

    monomials = [polynomial_text("macaulay2", inputs, {exponents: 1}) for _, exponents in system.keys]
    coefficients = ", ".join(
        f"coefficient({m}, phi_({row},{t - 1}))" for m, (row, _) in zip(monomials, system.keys, strict=True)
    )
    weights = ", ".join("{1," + ",".join(map(str, c.weight)) + "}" for c in system.coordinates)
    head = f"""
W = QQ[{", ".join(letters)}];
P = W[{", ".join(inputs)}];
X = {matrix("x", d, t)};
phi = ({matrix("v", d_out, d)}) * X * transpose(({matrix("k", a, d)}) * X) * (({matrix("q", a, d)}) * X);
F = apply({{{coefficients}}}, p -> sub(p, W));
n = {len(system)};
S = QQ[c_1..c_n, Degrees => {{{weights}}}];
plain = QQ[c_1..c_n];
"""
    if whole:
        return head + (
            "start = cpuTime();\nJ = kernel map(W, plain, F);\n"
            f'print("values " | toString apply(toList(0..{degree}), i -> hilbertFunction(i, J)));\n'
            'print("seconds " | toString(cpuTime() - start));\nexit 0\n'
        )
    return (
        head
        + f"""
f = map(W, S, F);
start = cpuTime();
dims = {{1}};
for D from 1 to {degree} do (
    groups = partition(degree, apply(flatten entries basis(D, plain), m -> sub(m, vars S)));
    cnt = 0;
    for w in keys groups do (
        (M, C) = coefficients matrix {{apply(groups#w, m -> f m)}};
        cnt = cnt + #(groups#w) - numColumns gens kernel sub(C, QQ)
    );
    dims = append(dims, cnt)
);
print("values " | toString dims);
print("seconds " | toString(cpuTime() - start));
exit 0
"""
    )


def macaulay2(text: str) -> tuple[list[int] | None, float | None]:
    """Return the Hilbert function and the seconds it took, None where there was no answer in time."""
    if (done := run_script("M2", text, LIMIT)) is None:
        return None, None
    values = re.search(r"values \{(.*)\}", done.stdout)
    seconds = re.search(r"seconds (\S+)", done.stdout)
    if values is None or seconds is None:
        raise SystemExit(f"Macaulay2 did not answer: {done.stderr.strip()[:500]}")
    return [int(v) for v in values[1].split(",")], float(seconds[1])


def main() -> int:
    """Print the table; 2 without Macaulay2."""
    if shutil.which("M2") is None:
        print("Macaulay2 not found: M2 must be on the path", file=sys.stderr)
        return 2
    equations(Architecture((2, 2), (1,), 1), 4)  # what is loaded once
    print(f"{'d, d, a, t':12} {'degree':>6} {'ours':>9} {'by degree':>10} {'x':>7} {'elimination':>12} {'x':>7}")
    for d, d_out, a, t, degree in CASES:
        network = Architecture((d, d_out), (a,), t)
        ours, found = processor(lambda shape=network, last=degree: equations(shape, last))
        cells = []
        for whole in (False, True):
            values, seconds = macaulay2(script(coordinate_system(network), degree, whole))
            if values is None or seconds is None:
                cells.append(f"{'> ' + str(LIMIT) + ' s':>11} {'> ' + format(LIMIT / ours, '.0f'):>7}")
                continue
            if values != list(found.hilbert_function):
                raise SystemExit(f"{network}: {found.hilbert_function} here, {values} in Macaulay2")
            cells.append(f"{seconds:>9.2f} s {seconds / ours:>7.0f}")
        print(f"{f'{d}, {d_out}, {a}, {t}':12} {degree:>6} {ours:>7.3f} s {' '.join(cells)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
