"""The steps of `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from lightning_sym import Layer, forward, virtual_weights
from lightning_sym.exact.ideals import groebner_basis
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, RationalCoefficient
from proofs_check.blackboard.step import (
    BOARD,
    INPUT,
    Step,
    function_of,
    identity,
    jacobian,
    layer_of,
    must,
    rational,
    show,
)
from proofs_check.claims.deep.equation_9 import A1, A2, shown_virtual
from proofs_check.ring_matrices import array_of


def walk() -> Iterator[Step]:
    """Yield the steps of Theorem 3.7."""
    value = rational([[1, 2]])
    skew_part = [(a - a.T) / 2 for a in (A1, A2)]
    layers = [layer_of(A1, identity(2)), layer_of(A2, value)]
    yield Step(
        "A network in virtual weights",
        r"Two layers, $d_0 = 2$, $d' = 1$. Both attention matrices have rank two, neither is skew-symmetric, and "
        r"$\tilde V \ne 0$: the hypotheses hold.",
        tuple(shown_virtual(virtual_weights(layers))),
    )
    factors = Fraction(2), Fraction(1, 4), Fraction(1, 2)
    scaled = [layer_of(factors[0] * A1, identity(2)), layer_of(factors[1] * A2, factors[2] * value)]
    must(factors[2] * factors[0] ** 3 * factors[1] == 1, "the factors balance")
    must(np.array_equal(function_of(*layers), function_of(*scaled)), "the rescaled network has the same function")
    yield Step(
        "Rescalings",
        r"In $\tilde V X S_1 S_1^\top S_2 S_1$ the matrix $\tilde A_1$ enters three times, $\tilde A_2$ and $\tilde V$ "
        r"once. So factors $\lambda_1, \lambda_2, \mu$ with $\mu \lambda_1^3 \lambda_2 = 1$ change nothing. For "
        r"instance $2, \tfrac{1}{4}, \tfrac{1}{2}$. The theorem says: there is nothing else.",
        (show(r"2 \tilde A_1", factors[0] * A1), show(r"\tilde A_2 / 4", factors[1] * A2),
         show(r"\tilde V / 2", factors[2] * value)),
    )  # fmt: skip
    alone = function_of(*layers, x=INPUT[:, :1])[0, 0]
    _, pieces = alone.factor()
    must(sorted(power for _, power in pieces) == [1, 1, 3], "a line, a form and the cube of a form")
    yield Step(
        "Let one token speak",
        r"Now read the weights off the function. Set $x_2 = 0$. The scores become numbers, and the polynomial is the "
        r"product $\tilde V x \cdot (x^\top \tilde A_1 x)^3 \cdot (x^\top \tilde A_2 x)$. Here it is, multiplied out, "
        r"and factored again by the computer. The line is $\tilde V$. The cube gives the symmetric part of $\tilde "
        r"A_1$, the remaining factor that of $\tilde A_2$, all up to scalars.",
        (show(r"\varphi(x, 0)", alone),
         *(show(r"\text{factor}" + (f", power {power}" if power > 1 else ""), piece) for piece, power in pieces)),
    )  # fmt: skip
    equations, ring = _skew_equations(value)
    wanted = [s[0, 1] for s in skew_part]
    alone = [unknown - ring.constant(number) for unknown, number in zip(ring.generators, wanted, strict=True)]
    must(groebner_basis(ring, equations) == groebner_basis(ring, alone), "the skew parts are determined")
    yield Step(
        "Then both tokens",
        r"Rescale so that the symmetric parts are ours. What is missing are the skew parts, $m J$ in $\tilde A_1$ and "
        r"$n J$ in $\tilde A_2$. Leave $m$ and $n$ unknown, take "
        r"both tokens, and compare all coefficients: a system of polynomial equations. We show the simplest of them. A "
        r"Groebner basis over the rationals finds the only solution.",
        (
            show("J", rational([[0, 1], [-1, 0]])),
            show("0", min(equations, key=len), ring),
            show("m", wanted[0]), show("n", wanted[1]),
        ),
    )  # fmt: skip
    skew = rational([[0, 1], [-1, 0]])
    must((skew_part[0] == wanted[0] * skew).all(), "m is the skew part")
    matrix, _ = jacobian(layers, [(0, "query"), (1, "query"), (1, "value")])
    kernel = null_space(matrix.T)
    rescalings = [
        np.concatenate([c * M.ravel() for c, M in zip(cs, (A1, A2, value), strict=True)])
        for cs in ((1, -3, 0), (0, 1, -1))
    ]
    must(
        len(kernel) == 2 and all(not (direction @ matrix).any() for direction in rescalings), "only rescalings are lost"
    )
    yield Step(
        "The Jacobian agrees",
        rf"The map from the {len(matrix)} virtual weights to the coefficients has a Jacobian with {matrix.shape[1]} "
        rf"columns and rank {rank(matrix)}. Two directions are lost. They are the rescalings: $(\tilde A_1, -3 \tilde "
        rf"A_2, 0)$ and "
        r"$(0, \tilde A_2, -\tilde V)$.",
        (show(r"\operatorname{rk} J", rank(matrix)), show(r"\dim \ker", len(kernel))),
    )
    one = rational([[1, 1], [0, 2]])
    left = [layer_of(one, identity(2)), layer_of(skew, value)]
    right = [layer_of(skew, identity(2)), layer_of(2 * one, value)]
    must(np.array_equal(function_of(*left), function_of(*right)), "the two networks with a skew matrix agree")
    phi = function_of(*left)[0, 0]
    yield Step(
        "Why skew matrices are excluded",
        r"Let the last attention matrix be $J$, and the first any $M$. Then $(M, J, \tilde V)$ and $(J, \det(M) M, "
        r"\tilde V)$ "
        rf"have the same function, and they are no rescalings of each other. Here $\det M = 2$; both are the same "
        rf"polynomial of {len(phi)} terms.",
        (show("M", one), show("J", skew), show(r"\det(M)\, M", 2 * one)),
    )


def _skew_equations(value: ObjectArray) -> tuple[list[Polynomial], PolynomialRing]:
    """Return equations, one a coefficient, in the unknown skew parts `m J` and `n J`, and their ring.

    They say that the functions are equal.
    """
    ring, unknowns = PolynomialRing(["m", "n", *BOARD.names]), PolynomialRing(["m", "n"])
    x = array_of([[ring[name] for name in names] for names in ("xr", "ys")])
    zero = ring.constant(0)
    skew = {name: array_of([[zero, ring[name]], [-ring[name], zero]]) for name in ("m", "n")}
    trial = [ring.constants((a + a.T) / 2) + skew[name] for a, name in ((A1, "m"), (A2, "n"))]
    one, v = ring.constants(identity(2)), ring.constants(value)
    theirs = forward(x, [Layer(trial[0], one, one), Layer(trial[1], one, v)])
    ours = function_of(layer_of(A1, identity(2)), layer_of(A2, value), x=x, ring=ring)
    equations: dict[tuple[int, ...], dict[tuple[int, ...], RationalCoefficient]] = {}
    for j, difference in enumerate((theirs - ours).ravel()):
        for exponents, c in difference.to_dict().items():
            equations.setdefault((j, *exponents[2:]), {})[tuple(map(int, exponents[:2]))] = c
    return [unknowns.from_terms(terms) for terms in equations.values()], unknowns
