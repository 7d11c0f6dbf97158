"""Other systems on the same networks, each in a process of its own with a time limit.

A question is `dimension` or `terms` (how many terms the polynomial map has). Scripts are written for each network, as
a user of that system would; times are taken inside, so that starting a system does not count.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from floating import INPUTS, TRIALS

from lightning_sym import SOFTMAX, Architecture

PRIME = 32003
"""The modulus for the other systems: the usual one there."""


@dataclass(frozen=True)
class Answer:
    """What a system said, or in `note` why it said nothing."""

    value: int | None = None
    seconds: float | None = None
    note: str = ""


# SymPy and PyTorch: functions run by `python systems.py NAME NETWORK`, each giving value and seconds


def _sympy_matrices(network: Architecture) -> tuple[Any, list[Any], list[Any], list[Any]]:
    """Return the map as SymPy builds it, not expanded, the weight matrices, and all weights and inputs as symbols."""
    import sympy as sp

    weights = [
        sp.Matrix(*shape, lambda i, j, name=name: sp.Symbol(f"{name}_{i}_{j}"))
        for name, shape in network.weight_shapes()
    ]
    x = sp.Matrix(network.widths[0], network.tokens, lambda i, j: sp.Symbol(f"x_{i}_{j}"))
    inputs = list(x)
    for i in range(0, len(weights), 3):
        query, key, value = weights[i : i + 3]
        x = value * x * (key * x).T * (query * x)
    return x, weights, [w for matrix in weights for w in matrix], inputs


def sympy_dimension(network: Architecture) -> tuple[int, float]:
    """Expand, collect in the inputs, differentiate, and take the rank over Q at a random integer point."""
    import sympy as sp
    from sympy.polys.matrices import DomainMatrix

    start = time.perf_counter()
    outputs, _, weights, inputs = _sympy_matrices(network)
    coefficients = [c for entry in outputs for c in sp.Poly(sp.expand(entry), *inputs).coeffs()]
    symbolic = sp.Matrix(coefficients).jacobian(weights)
    generator = np.random.default_rng(0)
    point = {w: sp.Integer(int(generator.integers(-999, 1000))) for w in weights}
    rank = DomainMatrix.from_Matrix(symbolic.xreplace(point)).to_field().rank()
    return rank, time.perf_counter() - start


def sympy_ring_terms(network: Architecture) -> tuple[int, float]:
    """Return the map in SymPy's sparse polynomial ring."""
    from sympy import QQ, ring

    _, matrices, weights, inputs = _sympy_matrices(network)
    start = time.perf_counter()
    _, *generators = ring(weights + inputs, QQ)
    flat = iter(generators)
    layers = [np.array([next(flat) for _ in m], dtype=object).reshape(m.shape) for m in matrices]
    x = np.array(list(flat), dtype=object).reshape(network.widths[0], network.tokens)
    for i in range(0, len(layers), 3):
        query, key, value = layers[i : i + 3]
        x = (value @ x) @ ((key @ x).T @ (query @ x))
    terms = sum(len(entry) for entry in x.ravel())
    return terms, time.perf_counter() - start


def sympy_poly_terms(network: Architecture) -> tuple[int, float]:
    """Return the map as SymPy's `Poly` in all variables."""
    import sympy as sp

    start = time.perf_counter()
    outputs, _, weights, inputs = _sympy_matrices(network)
    terms = sum(len(sp.Poly(entry, *weights, *inputs).terms()) for entry in outputs)
    return terms, time.perf_counter() - start


def torch_dimension(network: Architecture) -> tuple[int | None, float]:
    """Return the paper's way in PyTorch: float32, one sweep back for each output; best of five, seconds for one."""
    import torch

    ranks, seconds = [], []
    for seed in range(TRIALS):
        torch.manual_seed(seed)
        start = time.perf_counter()
        weights = [torch.randn(shape, requires_grad=True) for _, shape in network.weight_shapes()]
        x = torch.randn(INPUTS, network.widths[0], network.tokens)
        for i in range(0, len(weights), 3):
            query, key, value = weights[i : i + 3]
            scores = (key @ x).mT @ (query @ x)
            x = value @ x @ (scores if network.normalization is None else scores.softmax(dim=-2))
        rows = [torch.autograd.grad(y, weights, retain_graph=True) for y in x.flatten()]
        matrix = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
        if matrix.isfinite().all():
            ranks.append(int(torch.linalg.matrix_rank(matrix)))
        seconds.append(time.perf_counter() - start)
    return max(ranks, default=None), sorted(seconds)[TRIALS // 2]


PYTHON = {f.__name__: f for f in (sympy_dimension, sympy_ring_terms, sympy_poly_terms, torch_dimension)}


# Macaulay2 and Singular: the script, which prints `result N seconds S`


def _macaulay2_layers(network: Architecture, number: Callable[[int], str]) -> list[str]:
    """Return lines that leave the map in `X`; `number(i)` is variable `i`, weights first and then inputs."""

    def matrix(first: int, rows: int, columns: int) -> str:
        lines = (range(first + i * columns, first + (i + 1) * columns) for i in range(rows))
        return "matrix {" + ", ".join("{" + ", ".join(map(number, line)) + "}" for line in lines) + "}"

    lines, first = [], 0
    for name, (rows, columns) in network.weight_shapes():
        lines.append(f"{name} = {matrix(first, rows, columns)};")
        first += rows * columns
    lines.append(f"X = {matrix(first, network.widths[0], network.tokens)};")
    lines += [f"X = V{i}*X*transpose(K{i}*X)*(Q{i}*X);" for i in range(1, network.depth + 1)]
    return lines


def _macaulay2(network: Architecture, field: str, work: list[str], package: str = "") -> str:
    """Return a whole Macaulay2 script; variables `v_0, v_1, ...`."""
    variables = network.parameter_count + network.widths[0] * network.tokens
    lines = [f'needsPackage "{package}"'] if package else []
    lines += [f"R = {field}[v_0..v_{variables - 1}];", "clock = elapsedTiming ("]
    lines += [*_macaulay2_layers(network, lambda i: f"v_{i}"), *work, ");"]
    lines += ['print concatenate("result ", toString result, " seconds ", toString clock#0)', "exit 0"]
    return "\n".join(lines) + "\n"


def _macaulay2_coefficients(network: Architecture) -> list[str]:
    """Return lines that leave the coefficients of all outputs in `C`, by monomials in the inputs."""
    first, last = network.parameter_count, network.parameter_count + network.widths[0] * network.tokens - 1
    return [
        f"C = last coefficients(matrix {{flatten entries X}}, Variables => toList(v_{first}..v_{last}));",
        "C = matrix {select(flatten entries C, c -> c != 0)};",
    ]


def macaulay2_dimension(network: Architecture) -> str:
    """Return the symbolic Jacobian of the coefficients modulo a prime, and its rank at a random point."""
    field = f"(ZZ/{PRIME})"
    variables = network.parameter_count + network.widths[0] * network.tokens
    return _macaulay2(
        network,
        field,
        [
            *_macaulay2_coefficients(network),
            f"J = diff(transpose matrix {{toList(v_0..v_{network.parameter_count - 1})}}, C);",
            f"result = rank sub(J, random({field}^1, {field}^{variables}));",
        ],
    )


def macaulay2_numerical(network: Architecture) -> str:
    """Return a program with `numericalImageDim` on the coefficients, over floating-point complex numbers."""
    work = [
        *_macaulay2_coefficients(network),
        f"W = CC[v_0..v_{network.parameter_count - 1}];",
        "result = numericalImageDim(sub(C, W), ideal 0_W);",
    ]
    return _macaulay2(network, "CC", work, "NumericalImplicitization")


def macaulay2_terms(network: Architecture) -> str:
    """Return the map in a polynomial ring over Q."""
    return _macaulay2(network, "QQ", ["result = sum(flatten entries X, f -> #(terms f));"])


def _singular(network: Architecture, characteristic: int, declared: list[str], work: list[str]) -> str:
    """Return a whole Singular script; weights `w(1..)`, inputs `x(1..)`.

    Its clock has milliseconds, so what is quick is done until a fifth of a second has passed.
    """
    d, t = network.widths[0], network.tokens
    lines = [
        'system("--ticks-per-sec", 1000);',
        f"ring r = {characteristic}, (w(1..{network.parameter_count}), x(1..{d * t})), dp;",
        f"matrix input[{d}][{t}] = x(1..{d * t});",
        f"int i; int result; int times; matrix X; ideal F; {' '.join(declared)}",
    ]
    first = 1
    for name, (rows, columns) in network.weight_shapes():
        lines.append(f"matrix {name}[{rows}][{columns}] = w({first}..{first + rows * columns - 1});")
        first += rows * columns
    lines += ["int start = rtimer;", "while (rtimer - start < 200) {", "result = 0; X = input;"]
    lines += [f"X = V{i}*X*transpose(K{i}*X)*(Q{i}*X);" for i in range(1, network.depth + 1)]
    lines += ["F = ideal(X);", *work, "times++;", "}", "int spent = rtimer - start;"]
    lines += ['print("result " + string(result) + " milliseconds " + string(spent) + "/" + string(times));', "quit;"]
    return "\n".join(lines) + "\n"


def singular_dimension(network: Architecture) -> str:
    """Return the same road as in Macaulay2."""
    parameters, inputs = network.parameter_count, network.widths[0] * network.tokens
    declared = [
        f"poly inputs = 1; for (i = 1; i <= {inputs}; i++) {{ inputs = inputs*x(i); }}",
        "ideal C; ideal none; ideal point; matrix c; matrix J;",
        "matrix second[1][2] = 0,1;",  # coef: monomials in row 1, coefficients in row 2
    ]
    work = [
        "C = none; for (i = 1; i <= size(F); i++) { c = coef(F[i], inputs); C = C + ideal(second*c); }",
        "point = maxideal(1);",
        f"for (i = 1; i <= {parameters}; i++) {{ point[i] = poly(random(-{PRIME // 2}, {PRIME // 2})); }}",
        "map at = r, point; J = jacob(C); J = at(J); result = rank(J); kill at;",
    ]
    return _singular(network, PRIME, declared, work)


def singular_terms(network: Architecture) -> str:
    """Return the map in a polynomial ring over Q."""
    return _singular(network, 0, [], ["for (i = 1; i <= size(F); i++) { result = result + size(F[i]); }"])


def finished(command: list[str], limit: float) -> subprocess.CompletedProcess[str] | None:
    """Return a command that has ended; `None` if it took longer than so many seconds."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=limit, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        return None


def run_script(program: str, text: str, limit: float) -> subprocess.CompletedProcess[str] | None:
    """Return a script of Macaulay2 (`M2`) or Singular that has ended; `None` if it took longer."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script"
        script.write_text(text, encoding="utf-8")
        flags = ["--script"] if program == "M2" else ["--quiet", "--no-rc"]
        return finished([program, *flags, str(script)], limit)


@dataclass(frozen=True)
class System:
    """A peer: how it is called, what has to be there, and what is run."""

    name: str
    needs: str
    run: str | Callable[[Architecture], str]

    def installed(self) -> bool:
        """Return whether the program or the Python package is there."""
        if isinstance(self.run, str):
            return importlib.util.find_spec(self.needs) is not None
        return shutil.which(self.needs) is not None

    def ask(self, network: Architecture, limit: float) -> Answer:
        """Run it on a network, for at most `limit` seconds."""
        if not self.installed():
            return Answer(note="not installed")
        if isinstance(self.run, str):
            sizes = [network.widths, network.attention_ranks, network.tokens, network.normalization is not None]
            done = finished([sys.executable, __file__, self.run, json.dumps(sizes)], limit)
        else:
            done = run_script(self.needs, self.run(network), limit)
        if done is None:
            return Answer(note=f"over {limit:g} s")
        found = re.search(r"result (-?\d+|none) (milli)?seconds ([\d.e-]+)(?:/(\d+))?", done.stdout)
        if done.returncode or not found:
            words = (done.stderr + done.stdout).strip().splitlines() or ["no output"]
            return Answer(note=f"failed: {words[-1][:60]}")
        seconds = float(found[3]) / int(found[4] or 1) / (1000 if found[2] else 1)
        return Answer(None, seconds, "non-finite") if found[1] == "none" else Answer(int(found[1]), seconds)


TORCH = System("PyTorch", "torch", torch_dimension.__name__)
DIMENSION_SYSTEMS = [
    System("Singular", "Singular", singular_dimension),
    System("Macaulay2", "M2", macaulay2_dimension),
    System("M2 numerical", "M2", macaulay2_numerical),
    System("SymPy", "sympy", sympy_dimension.__name__),
]
TERMS_SYSTEMS = [
    System("Singular", "Singular", singular_terms),
    System("Macaulay2", "M2", macaulay2_terms),
    System("SymPy ring", "sympy", sympy_ring_terms.__name__),
    System("SymPy Poly", "sympy", sympy_poly_terms.__name__),
]


def main() -> int:
    """Run one of the Python functions: `systems.py NAME NETWORK`."""
    name, sizes = sys.argv[1:]
    widths, ranks, tokens, softmax = json.loads(sizes)
    network = Architecture(tuple(widths), tuple(ranks), tokens, normalization=SOFTMAX if softmax else None)
    value, seconds = PYTHON[name](network)
    print(f"result {'none' if value is None else value} seconds {seconds:.6f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
