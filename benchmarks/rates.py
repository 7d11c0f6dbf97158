"""What the operations of each ring take, fitted: `python benchmarks/rates.py [--write] [--count 90] [--seed 0]`.

Random programs are run over each ring and over sizes: seconds of the processor, and how much was done of each kind. The
rates are those, none negative, with the least sum of squares of relative errors. Printed is a row of `rings/rates.py`
for each ring, with the share of runs whose estimate is within a factor of three, of programs that were not fitted;
`--write` puts the rows into that file. Rates are rough, and need no new fit for another machine.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from measuring import parser
from scipy.optimize import nnls

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, polynomial_map, softmax_jet
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.fibers.cost import number_bits
from lightning_sym.limits import Work
from lightning_sym.network import prices
from lightning_sym.network.attention import forward, network_output
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings import rates as table
from lightning_sym.rings.ball_matrices import BallMatrix, LaterBalls
from lightning_sym.rings.balls import precision
from lightning_sym.rings.input_polynomials import BatchedPolynomial, InputPolynomial
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.prime_field import PRIMES
from lightning_sym.rings.rates import RATES, Rates
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.varieties.jets import price_of_lines
from lightning_sym.varieties.two_tokens import last_degree

POWERS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
"""Of the length of numbers, that are tried."""


class Run(NamedTuple):
    """A program over a ring: what it does, by the same code over sizes, and the run itself."""

    price: Price
    action: Callable[[], object]


def seconds_of(action: Callable[[], object]) -> float:
    """Return the shortest of some runs, of the processor; short ones are repeated until the clock can tell."""
    start = time.process_time()
    action()
    best = time.process_time() - start
    for _ in range(0 if best > 0.1 else 2):
        count, spent, start = 0, 0.0, time.process_time()
        while spent < 2e-3:
            action()
            count, spent = count + 1, time.process_time() - start
        best = min(best, spent / count)
    return best


def plain(source: random.Random, widest: int, deepest: int = 3, least: int = 1) -> Architecture:
    """Return a plain network."""
    depth = source.randint(1, deepest)
    widths = tuple(source.randint(least, widest) for _ in range(depth + 1))
    ranks = tuple(source.randint(least, 1 + widest // 2) for _ in range(depth))
    return Architecture(widths, ranks, source.randint(least, 1 + widest // 2))


def rationals(source: random.Random) -> Run:
    """Return a product, a sum, a rank or a system, of integers or of fractions of some length; or an exact output."""
    if source.random() < 0.5:
        return evaluations(source)
    low = source.choice((1, 1, 2**52, 2**52, 10**9))
    rows, inner, columns = (source.randint(1, 10 if low == 10**9 else 40) for _ in range(3))
    bits = source.choice((4, 50, 200, 1000, 30000))
    if bits == 30000:
        rows, inner, columns = min(rows, 4), min(inner, 4), min(columns, 4)

    def drawn(m: int, n: int) -> RationalMatrix:
        def entry() -> Fraction:
            return Fraction(source.getrandbits(bits) + 1, source.randint(1, low) if low == 10**9 else low)

        return RationalMatrix.of([[entry() for _ in range(n)] for _ in range(m)])

    def size(matrix: RationalMatrix) -> Sizes:
        over = int(matrix.flint.numer_denom()[1]).bit_length() - 1
        return Sizes(matrix.shape, price, bits=matrix.bits, lowest=over and matrix.bits + over)

    price = Price("rationals")
    kind = source.choice(("product", "product", "product", "read", "sum", "rank", "solved"))
    if kind == "solved":
        rows = inner = min(rows, 20)
    left = drawn(rows, inner)
    right = drawn(rows, inner) if kind == "sum" else drawn(inner, columns)
    one, other = size(left), size(right)
    if kind == "product":
        one @ other
        return Run(price, lambda: left @ right)
    if kind == "sum":
        one + other
        return Run(price, lambda: left + right)
    if kind == "rank":
        if source.random() < 0.5:  # it falls short, as the ranks of virtual weights do: more primes are needed
            half = max(1, min(rows, inner) // 2)
            left = drawn(rows, half) @ drawn(half, inner)
            one = size(left)
        one.rank()
        return Run(price, left.rank)
    if kind == "read":
        one.read()
        return Run(price, lambda: [x.numerator for x in left.fractions().ravel().tolist()])
    one.solved(columns)
    return Run(price, lambda: left.flint.solve(right.flint))


def evaluations(source: random.Random) -> Run:
    """Return an exact output of a plain network, often of fractions with many denominators."""
    shape, low = plain(source, 4, deepest=5, least=2), source.choice((1, 2**52, 10**9, 10**18, 10**18))
    weights = Weights.random(shape, seed=source.randint(0, 99), bound=source.choice((9, 10**18)), denominator=low)
    x = RationalMatrix.of(np.full((shape.input_width, shape.tokens), 3, dtype=object))
    price = Price("rationals")
    bits, fractions = number_bits(weights)
    prices.output_over_sizes(shape, price, bits, 2, fractions).read()
    layers = weights.rational_layers
    return Run(price, lambda: forward(x, layers).fractions())


def balls(source: random.Random) -> Run:
    """Return a softmax or lightning network in balls, its weights exact, or machine numbers."""
    bits, depth = source.choice((64, 128, 128, 512)), source.randint(1, 2)
    later = source.random() < 0.5
    width = source.choice((512, 768, 1024)) if later else source.randint(2, 32)
    ranks = (source.choice((64, 256) if later else (2, 8, 16)),) * depth
    shape = Architecture(
        (width,) * (depth + 1), ranks, source.randint(1, 16), source.choice((SOFTMAX, None)),
        heads=source.randint(1, 2 if later else 4), value_ranks=ranks, skip=True,
    )  # fmt: skip
    price = Price("balls")
    prices.output_over_sizes(shape, price, bits, bits, machine_numbers=later)

    @cache
    def floats() -> list[npt.NDArray[np.float64]]:
        return [np.random.default_rng(0).standard_normal(size) for _, size in shape.weight_shapes()]

    def run() -> object:
        with precision(bits):
            matrices = list(map(LaterBalls if later else BallMatrix.of, floats()))
            return network_output(BallMatrix.of(np.ones((width, shape.tokens))), shape, matrices)

    return Run(price, run)


def residues(source: random.Random) -> Run:
    """Return rows of a Jacobian modulo a prime, and their rank."""
    order = source.choice((None, None, 7, 27))
    shape = plain(source, source.choice((4, 10, 24, 48) if order is None else (3, 6)))
    rows = source.randint(2, 400)
    if order is not None:
        shape = Architecture(shape.widths, shape.attention_ranks, shape.tokens, SOFTMAX)
        rows = min(rows, 40)

    def run() -> object:
        jacobian = RandomJacobian(shape, np.random.default_rng(0), PRIMES[0], order=order)
        return rank_mod_p(jacobian.matrix(rows), PRIMES[0], overwrite=True)

    return Run(prices.price_of_jacobian(shape, rows, order), run)


def polynomials(source: random.Random) -> Run:
    """Return all coefficients of a small network."""
    shape = plain(source, 4, deepest=2)
    weights = Weights.random(shape, seed=source.randint(0, 99))
    price = prices.price_of_coefficients(shape, 4)
    return Run(price, lambda: polynomial_map(shape, weights))


def series(source: random.Random) -> Run:
    """Return the jet of a softmax network."""
    shape = plain(source, 3, deepest=3)
    weights = Weights.random(shape, seed=source.randint(0, 99)).with_form(NetworkForm(SOFTMAX))
    shape = weights.architecture(2 + source.randint(0, 2))
    return Run(
        price_of_lines(shape, shape.input_width**2, last_degree(shape.depth)),
        lambda: softmax_jet(weights, shape.tokens, work=1e9),
    )


def objects(source: random.Random) -> Run:
    """Return a plain network over an array of fractions, each an object of Python's."""
    shape, bits = plain(source, 6), source.choice((4, 60, 300))
    entry = Fraction(2**bits + 1, 3)
    matrices = [np.full(size, entry, dtype=object) for _, size in shape.weight_shapes()]
    price, x = Price("objects"), np.full((shape.input_width, shape.tokens), Fraction(1, 2), dtype=object)
    prices.output_over_sizes(shape, price, bits, bits)
    return Run(price, lambda: network_output(x, shape, matrices))


def batched_polynomials(source: random.Random) -> Run:
    """Return a product of two polynomials in the inputs whose coefficients are residues at some points."""
    points, p = source.choice((10, 300, 3000)), PRIMES[0]
    generator, work = np.random.default_rng(source.randint(0, 99)), Work(10**9)

    def drawn(count: int) -> BatchedPolynomial:
        terms = {(i, count - i): generator.integers(0, p // 2, points).astype(np.float64) for i in range(count)}
        return BatchedPolynomial(terms, p, work)

    left, right = drawn(source.randint(1, 40)), drawn(source.randint(1, 40))
    price, pairs = Price("batched polynomials"), len(left.terms) * len(right.terms)
    price.enter("call", pairs)
    price.enter("product", pairs * points)
    return Run(price, lambda: left * right)


def _form(ring: PolynomialRing, count: int, source: random.Random) -> Any:
    """Return a form with so many terms."""
    letters = len(ring.names)
    terms = {tuple(source.randint(0, 3) for _ in range(letters)): source.randint(1, 99) for _ in range(count)}
    return ring.from_terms(terms)


def input_polynomials(source: random.Random) -> Run:
    """Return a product of two polynomials in the inputs whose coefficients are forms in letters."""
    ring, work, most = PolynomialRing(["u", "v", "w", "x", "y", "z"]), Work(10**9), source.choice((1, 10, 60))

    def drawn(count: int) -> InputPolynomial:
        return InputPolynomial({(i, count - i): _form(ring, most, source) for i in range(count)}, work)

    left, right = drawn(source.randint(1, 12)), drawn(source.randint(1, 12))
    price, terms = Price("input polynomials"), [sum(map(len, each.terms.values())) for each in (left, right)]
    price.enter("call", len(left.terms) * len(right.terms))
    price.enter("product", terms[0] * terms[1])
    return Run(price, lambda: left * right)


def forms(source: random.Random) -> Run:
    """Return a product of two forms, or a sum."""
    ring = PolynomialRing([f"u{i}" for i in range(source.choice((4, 12)))])
    left, right = (_form(ring, source.choice((3, 30, 300)), source) for _ in range(2))
    price = Price("forms")
    price.enter("call", 1)
    if source.random() < 0.5:
        price.enter("product", len(left) * len(right))
        return Run(price, lambda: left * right)
    price.enter("entry", len(left) + len(right))
    return Run(price, lambda: left + right)


RINGS: dict[str, Callable[[random.Random], Run]] = {
    "rationals": rationals, "balls": balls, "residues": residues, "polynomials": polynomials, "series": series,
    "objects": objects, "batched polynomials": batched_polynomials, "input polynomials": input_polynomials,
    "forms": forms,
}  # fmt: skip


def program(ring: str, seed: int) -> Run:
    """Return a random program, always the same one for a seed."""
    return RINGS[ring](random.Random(f"{ring} {seed}"))


def fitted(ring: str, seconds: dict[int, float]) -> tuple[float, Rates]:
    """Return the rates with the least sum of squares of the logarithm, about, of estimates over seconds, and it."""
    prices = [program(ring, seed).price for seed in seconds]
    kinds = sorted({kind for price in prices for kind in price.units})
    relative = np.array(
        [[price.units.get(kind, 0.0) / s for kind in kinds] for price, s in zip(prices, seconds.values(), strict=True)]
    )
    found, _ = nnls(relative, np.ones(len(prices)))
    for _ in range(20):  # what is estimated too high counts less, as a logarithm would say
        weights = 1 / np.sqrt(np.maximum(relative @ found, 0.05))
        found, _ = nnls(relative * weights[:, None], weights)
    rates: dict[str, Any] = {kind: float(f"{x:.2g}") for kind, x in zip(kinds, found, strict=True)}
    return float((np.log(relative @ found) ** 2).sum()), RATES[ring]._replace(**rates)


def best_rates(ring: str, seconds: dict[int, float]) -> Rates:
    """Return those with the best power of the length of numbers."""
    found = []
    for power in POWERS if ring in ("rationals", "balls") else (RATES[ring].power,):
        RATES[ring] = RATES[ring]._replace(power=power)
        found.append(fitted(ring, seconds))
    RATES[ring] = min(found)[1]
    return RATES[ring]


def written(ring: str, rates: Rates) -> str:
    """Return a row of the table, what is as by default left out."""
    given = "".join(f"        {k}={v!r},\n" for k, v in rates._asdict().items() if v != Rates._field_defaults[k])
    return f'    "{ring}": Rates(\n{given}    ),\n'


def main() -> int:
    """Print the table, and write it if asked to."""
    options = parser(__doc__, "count", "seed", count=90)
    options.add_argument("--rings", nargs="*", choices=RINGS, default=list(RINGS))
    options.add_argument("--write", action="store_true", help="put the rows into the table")
    given = options.parse_args()
    path = Path(table.__file__)
    text = path.read_text()
    for ring in given.rings:
        seconds = {seed: seconds_of(program(ring, seed).action) for seed in range(given.seed, given.seed + given.count)}
        known = dict(list(seconds.items())[: given.count * 2 // 3])
        rates = best_rates(ring, known)
        ratios = [program(ring, seed).price.seconds / s for seed, s in seconds.items() if seed not in known]
        within = sum(1 / 3 < ratio < 3 for ratio in ratios)
        low, middle, high = np.quantile(ratios, [0.1, 0.5, 0.9])
        row = written(ring, rates)
        print(row + f"{within} of {len(ratios)} within a factor of 3; {low:.2f}, {middle:.2f}, {high:.2f}")
        text = re.sub(rf'    "{ring}": Rates\(.*?\),\n', row, text, flags=re.DOTALL)
    if given.write:
        path.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
