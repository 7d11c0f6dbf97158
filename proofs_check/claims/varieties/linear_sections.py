r"""All points of M in a special linear space, exactly: bounds of the degree of one layer, with no formula.

The functions of one layer are products of factors: $A$ and $V$, or $p$, $q$ and $V$ where $A = p q^\top$ (over one
token $A$ enters by its quadratic form, or by two linear forms). A functional of the function that is a product of
linear functionals of the factors, such as $(x^\top A y)(s^\top V x)$, vanishes exactly if one of these does. So a
linear space cut out by as many of them as the projective dimension `D` meets M where each equation is given to one
factor: solved by linear algebra over the rationals. In general position (checked) a factor with `c + 1` coordinates
takes `c` equations exactly, has one solution, and all these points of the product are transversal.

* The intersection is finite, so the number of different functions found is at most the degree of M.
* The degree of M times the number of points over a general function is the number of all these points. Factors of the
  same kind can be exchanged without changing the function, so that number is at least the order of this group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import factorial

import numpy as np

from lightning_sym import Architecture, BadInput, Layer, ProgramError, forward
from lightning_sym.errors import proved_to_be
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.rings.arrays import ObjectArray, clear_denominators
from proofs_check.claim import ProvedBounds

TRIES = 20
Vector = list[int]


@dataclass(frozen=True)
class Functional:
    r"""`x, y` are inputs, `s` picks a combination of the outputs."""

    x: Vector
    y: Vector
    s: Vector

    def functional_of(self, factor: str) -> Vector:
        """Return the linear functional of one factor."""
        x, y, s = self.x, self.y, self.s
        if factor == "A":
            return [a * b for a in x for b in y]
        if factor == "form":
            return [a * b for a, b in combinations_with_replacement(x, 2)]
        if factor == "V":
            return [a * b for a in s for b in x]
        return y if factor == "q" else x

    def at(self, layer: Layer[ObjectArray], tokens: int) -> object:
        """Return a combination of outputs of the function, by the forward pass.

        It is zero exactly if one factor gives zero.
        """
        if tokens == 1:
            return np.dot(self.s, forward(np.array([self.x], dtype=object).T, [layer])[:, 0])
        once, twice = (
            forward(np.array([self.x, [k * b for b in self.y]], dtype=object).T, [layer])[:, 1] for k in (1, 2)
        )
        return np.dot(self.s, 8 * once - twice)  # six times (x^T A y) s^T V x


def factors_of(network: Architecture) -> tuple[str, ...]:
    """Return what the functions are products of.

    Raises:
        BadInput: the matrices are not given by free factors.
    """
    network.require_plain("a linear section by factors")
    (d, _), (a,) = network.widths, network.attention_ranks
    if network.depth == 1 and d > 1:
        if min(a, d) == 1:
            return ("p", "q", "V") if network.tokens > 1 else ("p", "p", "V")
        if network.tokens == 1 and 2 * a >= d:
            return ("form", "V")
        if network.tokens > 1 and a >= d:
            return ("A", "V")
    raise BadInput(f"a linear section by factors must be asked of one layer with free factors, got {network}")


def exchanges(network: Architecture) -> int:
    """Return the order of the group that permutes linear forms which enter in the same way."""
    forms = [name for name in factors_of(network) if name == "p" or (name == "V" and network.widths[1] == 1)]
    return factorial(len(forms)) if "p" in forms else 1


def _drawn(network: Architecture, seed: int) -> tuple[list[Functional], tuple[str, ...], list[int]]:
    """Return functionals in general position, the factors and how many equations each takes."""
    factors = factors_of(network)
    d, d_out = network.widths
    for draw in range(seed, seed + TRIES):
        rng = np.random.default_rng(draw)

        def vector(size: int, rng: np.random.Generator = rng) -> Vector:
            return [int(n) for n in rng.integers(-99, 100, size)]

        sizes = [len(Functional([0] * d, [0] * d, [0] * d_out).functional_of(name)) - 1 for name in factors]
        drawn = [Functional(vector(d), vector(d), vector(d_out)) for _ in range(sum(sizes))]
        rows = {name: [f.functional_of(name) for f in drawn] for name in factors}
        if all(
            rank([rows[name][j] for j in chosen]) == size + 1
            for name, size in zip(factors, sizes, strict=True)
            for chosen in combinations(range(len(drawn)), size + 1)
        ):
            return drawn, factors, sizes
    raise ProgramError(f"no functionals in general position in {TRIES} draws")


def shares_of(places: tuple[int, ...], sizes: list[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield every way to give each factor as many of the equations as it takes.

    Example:
        >>> list(shares_of((0, 1, 2), [2, 1]))
        [((0, 1), (2,)), ((0, 2), (1,)), ((1, 2), (0,))]
    """
    if not sizes:
        yield ()
        return
    for chosen in combinations(places, sizes[0]):
        rest = tuple(j for j in places if j not in chosen)
        for others in shares_of(rest, sizes[1:]):
            yield chosen, *others


def _layer(solved: list[tuple[str, Vector]], d: int, d_out: int) -> Layer[ObjectArray]:
    """Return the layer with these factors."""
    named = [(name, np.array(values, dtype=object)) for name, values in solved]
    value = named[-1][1].reshape(d_out, d)
    if named[0][0] == "A":
        attention = named[0][1].reshape(d, d)
    elif named[0][0] == "form":
        attention = np.zeros((d, d), dtype=object)
        for (i, j), entry in zip(combinations_with_replacement(range(d), 2), named[0][1], strict=True):
            attention[i, j] = entry
    else:
        attention = np.outer(named[0][1], named[1][1])
    return Layer(query=attention, key=np.eye(d, dtype=int).astype(object), value=value)


@cache
def degree_bounds(network: Architecture, seed: int = 0) -> ProvedBounds:
    """Return bounds of the degree of M: different functions in the section, and all points over them.

    Raises:
        BadInput: as `factors_of`.
        ProgramError: a point that was found does not lie in the section.

    Example:
        >>> degree_bounds(Architecture((2, 2), (2,), 2))
        ProvedBounds(lower=20, upper=20)
    """
    functionals, factors, sizes = _drawn(network, seed)
    d, d_out = network.widths
    rng = np.random.default_rng(seed)
    inputs = [rng.integers(-9, 10, (d, network.tokens)).astype(object) for _ in range(3)]
    solutions: dict[tuple[str, tuple[int, ...]], Vector] = {}
    functions, points = set(), 0
    for shares in shares_of(tuple(range(len(functionals))), sizes):
        solved = []
        for name, chosen in zip(factors, shares, strict=True):
            if (name, chosen) not in solutions:
                found = null_space([functionals[j].functional_of(name) for j in chosen])
                if len(found) != 1:
                    raise ProgramError(f"{network}: equations {chosen} of {name} must have one solution")
                # a factor is known up to a number: integers are the fastest
                solutions[name, chosen] = clear_denominators(np.array(found[0])).tolist()
            solved.append((name, solutions[name, chosen]))
        layer = _layer(solved, d, d_out)
        if any(f.at(layer, network.tokens) != 0 for f in functionals):
            raise ProgramError(f"{network}: the point of {shares} does not lie in the linear space")
        values = [v for x in inputs for v in forward(x, [layer]).ravel()]
        first = proved_to_be(
            next((v for v in values if v), None), f"{network}: {shares} is zero at three random inputs"
        )
        functions.add(tuple(Fraction(v, first) for v in values))
        points += 1
    return ProvedBounds(len(functions), points // exchanges(network))
