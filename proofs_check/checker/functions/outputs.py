"""Different functions by their outputs for an input: exact without normalization, in intervals with softmax."""

from fractions import Fraction
from typing import Any

from proofs_check.checker.functions.matrices import foresee, rational_matrix
from proofs_check.checker.functions.network import Form, Head, Weights
from proofs_check.checker.functions.rings import RATIONALS, Intervals, Rationals, Residues, is_multiple
from proofs_check.checker.verify import Matrix, keep, need, odd_prime, spend, transposed

GUARD = 64
"""Bits that are computed with beyond those that a certificate asks for."""


def _least_steps(w: Weights, form: Form, t: int, ring: Rationals) -> int:
    """Return the steps for what all pairs of tokens take: scores, what is read with them, two exponentials of each."""
    pairs, plain = t * (t + 1) // 2 if form.causal else t * t, not (form.softmax or form.causal)
    powers = 2 * pairs * ring.steps(ring.bits // 2 + 3) if isinstance(ring, Intervals) else 0
    each = t * (25 if form.softmax else 10)
    sizes = [(len(h.q), len(h.q[0])) for heads in w.layers for h in heads]
    return sum(powers + each * (min(d, t) if plain else t) * (a + d) for a, d in sizes)


def layer(heads: list[Head], form: Form, x: Matrix, ring: Rationals) -> Matrix:
    """Return what a layer makes of tokens, by products: [1, V, V, ...] times the stack of X, X P, X P, ..."""
    times, one, nothing = ring.times, ring.of(Fraction(1)), ring.of(Fraction(0))
    left, stack = [list[Any]() for _ in heads[0].o or heads[0].v], list[Any]()
    if form.skip:
        left = [[one if i == j else nothing for j in range(len(x))] for i in range(len(x))]
        stack = x
    for q, k, v, o in heads:
        if not (form.softmax or form.causal) and len(x) <= len(x[0]):  # scores would be larger
            mixed = times(x, transposed(x), transposed(k), q, x)
        else:
            scores = times(transposed(times(k, x)), times(q, x))
            if isinstance(ring, Intervals):
                scores = ring.patterns(scores, causal=form.causal)
            elif form.causal:
                scores = [[z if j <= i else nothing for i, z in enumerate(row)] for j, row in enumerate(scores)]
            mixed = times(x, scores)
        left = [row + more for row, more in zip(left, times(o, v), strict=True)]
        stack = stack + mixed
    return times(left, stack)


def _output(w: Weights, form: Form, x: Matrix, ring: Rationals) -> Matrix:
    """Return the output for an input."""

    def taken(m: Matrix) -> Matrix:
        spend(20 * sum(map(len, m)))
        keep(sum(100 + 250 * len(row) for row in m))
        return [[ring.of(z) for z in row] for row in m]

    x = ring.times(taken(w.E), taken(x))
    for heads in w.layers:
        x = layer([Head(*map(taken, head)) for head in heads], form, x, ring)
    return ring.times(taken(w.U), x)


INPUT = {"input": rational_matrix, "prime": (odd_prime,), "bits": (range(16, 4097),)}


def outputs(form: Form, t: int, first: Weights, second: Weights, x: Matrix, p: int | None, bits: int | None) -> str:
    """Say where outputs for an input differ: exactly, modulo a prime, or, with softmax, in intervals."""
    fits = len(x[0]) == t or (form.causal and len(x[0]) < t)  # the first tokens of a causal network see these alone
    need(len(x) == first.n and fits, f"the input must have {first.n} rows, and {t} columns")
    good = form.softmax is (bits is not None) and not (p and bits)
    need(good, "bits must be given with softmax, and only then, and a prime without alone")
    ring = Intervals(bits + GUARD) if bits else Residues(p) if p else RATIONALS
    foresee(sum(_least_steps(w, form, len(x[0]), ring) for w in (first, second)))
    one, other = (_output(w, form, x, ring) for w in (first, second))
    if bits:
        pairs = (pair for rows in zip(one, other, strict=True) for pair in zip(*rows, strict=True))
        apart = any(a.high < b.low or b.high < a.low for a, b in pairs)
    else:
        apart = not is_multiple(one, 1, other)
    need(apart, f"the outputs must differ, they are equal{' or not known to differ' * bool(bits)}")
    where = f"in intervals of {bits} bits" if bits else f"over the rationals{f' and modulo {p}' * bool(p)}"
    return f"their outputs differ at an input, {where}"
