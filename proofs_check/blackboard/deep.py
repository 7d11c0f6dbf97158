"""Many layers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from lightning_sym import Architecture, Layer, VirtualWeights, certified_dimension, forward, virtual_weights
from lightning_sym.dimension.printed_formulas import printed_formula
from lightning_sym.exact.rational import null_space, rank
from lightning_sym.network.virtual_weights import closed_form, recursive_form, unrolled_factors
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.matrix_words import Words
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.symmetries.group import LayerSymmetry
from proofs_check.blackboard.step import (
    BOARD,
    INPUT,
    Matrix,
    Shown,
    Step,
    array_of,
    entry_labels,
    function_of,
    identity,
    jacobian,
    layer_of,
    must,
    rational,
    show,
    table,
    unit_directions,
)
from proofs_check.claims.one_layer.definition_1 import word_layers

A1, A2 = rational([[1, 1], [0, 1]]), rational([[1, 0], [1, 2]])
V1, V2 = rational([[1, 1], [0, 1]]), rational([[1, -1]])
C, C_INVERSE = rational([[2, 1], [1, 1]]), rational([[1, -1], [-1, 2]])


def _virtual(weights: VirtualWeights) -> list[Shown]:
    shown = [show(rf"\tilde A_{i}", m) for i, m in enumerate(weights.attention, start=1)]
    return [*shown, show(r"\tilde V", weights.value)]


def change_between_layers() -> Iterator[Step]:
    """Equation 9."""
    layers = [layer_of(A1, V1), layer_of(A2, V2)]
    yield Step(
        "Two layers",
        r"Two layers with widths $2, 2, 1$. The first writes what the second reads.",
        (show("A_1", A1), show("V_1", V1), show("A_2", A2), show("V_2", V2)),
    )
    one = identity(2), identity(2)
    last = identity(1), identity(1)
    moved = [
        LayerSymmetry(one, one, (C, C_INVERSE), one).act(layers[0]),
        LayerSymmetry(one, (C, C_INVERSE), last, (identity(2), identity(1))).act(layers[1]),
    ]
    must((identity(2) == C @ C_INVERSE).all(), "C has this inverse")
    yield Step(
        "Another language between them",
        r"Let the first layer write in another basis, $V_1' = C V_1$, and let the second read that basis: "
        r"$A_2' = C^{-\top} A_2 C^{-1}$, $V_2' = V_2 C^{-1}$. All three matrices are different now.",
        (show("C", C), show("V_1'", moved[0].value), show("A_2'", moved[1].key.T @ moved[1].query),
         show("V_2'", moved[1].value)),
    )  # fmt: skip
    before, after = virtual_weights(layers), virtual_weights(moved)
    must(
        all((a == b).all() for a, b in zip(before.attention, after.attention, strict=True))
        and (before.value == after.value).all(),
        "the virtual weights stay",
    )
    yield Step(
        "Virtual weights",
        r"Pull everything back to the input: $\tilde A_1 = A_1$, $\tilde A_2 = V_1^\top A_2 V_1$, $\tilde V = V_2 "
        r"V_1$. Every $C$ meets its inverse. Old and new weights give the same three matrices.",
        tuple(_virtual(after)),
    )
    x = rational([[1, 0], [1, 2]])
    must(np.array_equal(function_of(*layers), function_of(*moved)), "the functions are equal")
    yield Step(
        "The same function",
        r"So the networks have the same function. We compared them as polynomials of degree $9$, term by term. At one "
        r"input:",
        (show("X", x), show(r"\varphi_W(X)", forward(x, layers)), show(r"\varphi_{W'}(X)", forward(x, moved))),
    )


def generic_fiber() -> Iterator[Step]:
    """Lemma 3.5."""
    yield from change_between_layers()
    new = C @ V1
    inverse = rational([[1, -1], [0, 1]])
    must((V1 @ inverse == identity(2)).all() and (new @ inverse == C).all(), "C can be read off")
    yield Step(
        "Read C off",
        r"Conversely, let two networks have the same virtual weights, and let $V_1$ and $V_1'$ be invertible. Then $C$ "
        r"can only be $V_1' V_1^{-1}$, and with it $A_2'$ and $V_2'$ are known. There is no other freedom.",
        (show("V_1'", new), show("V_1^{-1}", inverse), show("V_1' V_1^{-1}", new @ inverse)),
    )
    rows = [(m.T @ A2 @ V1 + V1.T @ A2 @ m, V2 @ m) for m in unit_directions((2, 2))]
    rows += [(V1.T @ m @ V1, 0 * V2) for m in unit_directions((2, 2))]
    rows += [(0 * A2, m @ V1) for m in unit_directions((1, 2))]
    matrix = np.array([[*a.ravel(), *v.ravel()] for a, v in rows], dtype=object)
    lost = len(null_space(matrix.T))
    must(lost == 4 and rank(matrix) == 6, "four directions are lost")
    yield Step(
        "Count",
        rf"The first layer's $A_1$ is seen as it is. The other ten weights, $v_{{ij}}$ in $V_1$, $a_{{ij}}$ in $A_2$ "
        rf"and $w_j$ in $V_2$, give the six numbers in $\tilde A_2$ and $\tilde V$. The Jacobian of this map has rank "
        rf"{rank(matrix)}, so ${len(rows)} - {rank(matrix)} = {lost}$ directions are lost: exactly the $2^2 = 4$ "
        rf"entries of $C$.",
        (table("J", matrix,
               [*entry_labels("v", 2, 2), *entry_labels("a", 2, 2), "w_1", "w_2"],
               [*entry_labels(r"(\tilde A_2)", 2, 2), r"\tilde v_1", r"\tilde v_2"]),),
    )  # fmt: skip


def closed_formula() -> Iterator[Step]:
    """Lemma 3.6 and Equation 12."""
    x = Words.letter("X")
    layers = word_layers(2)
    raw = str(forward(x, layers))
    yield Step(
        "Two layers, multiplied out",
        r"Take letters for the matrices and let the network run. The second layer meets the output of the first three "
        r"times, so its weights sit between copies of the first layer's.",
        (Shown(r"\varphi", _words(raw)),),
    )
    formal = VirtualWeights((Words.letter("A1"), Words.letter("A2")), Words.letter("V"))
    closed, recursive = closed_form(x, formal), recursive_form(x, formal)
    must(closed == recursive, "the two forms agree for two layers")
    must(closed_form(x, virtual_weights(layers)) == forward(x, layers), "the closed form is the network")
    yield Step(
        "Group it",
        r"Every $V_1$ stands beside an $X$ or an $A_2$. Write $\tilde A_1 = A_1$, $\tilde A_2 = V_1^\top A_2 V_1$, "
        r"$\tilde V = V_2 V_1$ and $S_k = X^\top \tilde A_k X$, a $t \times t$ matrix of scores. The long word becomes "
        r"short.",
        (Shown(r"\varphi", r"\tilde V X\, " + _scores(2)),),
    )
    yield Step(
        "The recursion",
        r"In general $B_1 = S_1$ and $B_i = B_{i-1} B_{i-1}^\top S_i B_{i-1}$. Each step takes three copies of the "
        r"last and puts one new score between them. Unrolled:",
        tuple(Shown(f"B_{depth}", _scores(depth)) for depth in (1, 2, 3)),
    )
    factors = unrolled_factors(3)
    digits = [int(np.base_repr(n, 3)) for n in range(1, len(factors) + 1)]
    numbers = rational(
        [list(range(1, len(factors) + 1)), digits, [k for k, _ in factors], [int(t) for _, t in factors]]
    )
    yield Step(
        "Which factor stands where",
        rf"$B_3$ has $(3^3 - 1)/2 = {len(factors)}$ factors. Number them and write the numbers $n$ in base three. "
        r"$k$ is one more than the number of zeros at the end. The last digit that is not zero: $1$ means "
        r"$S_k$, $2$ means transposed.",
        (Shown("", Matrix(tuple(map(tuple, numbers)), ("n", r"\text{base 3}", "k", r"\text{transposed}"))),),
    )
    weights = [layer_of(A1, V1), layer_of(A2, V2)]
    virtual = virtual_weights(weights)
    inputs = rational([[1, 0], [1, 1]])
    scores = [inputs.T @ a @ inputs for a in virtual.attention]
    b2 = scores[0] @ scores[0].T @ scores[1] @ scores[0]
    output = virtual.value @ inputs @ b2
    must((output == forward(inputs, weights)).all(), "the closed form gives the network's output")
    yield Step(
        "With numbers",
        r"A network and an input. First its virtual weights, then the scores.",
        (show("A_1", A1), show("V_1", V1), show("A_2", A2), show("V_2", V2), *_virtual(virtual), show("X", inputs),
         show("S_1", scores[0]), show("S_2", scores[1])),
    )  # fmt: skip
    yield Step(
        "Both ways",
        r"Multiply $\tilde V X \cdot S_1 S_1^\top S_2 S_1$, then run the two layers one after the other. The same "
        r"numbers.",
        (show("B_2", b2), show(r"\tilde V X B_2", output), show(r"\varphi_W(X)", forward(inputs, weights))),
    )


def _scores(depth: int) -> str:
    return " ".join(rf"S_{k}^\top" if transposed else f"S_{k}" for k, transposed in unrolled_factors(depth))


def _words(text: str) -> str:
    """A formal word in LaTeX: `K1^T` becomes `K_1^\\top`."""
    spelled = []
    for letter in text.split():
        name, _, mark = letter.partition("^")
        index = f"_{name[1:]}" if name[1:] else ""
        spelled.append(name[0] + index + (r"^\top" if mark else ""))
    return " ".join(spelled)


def virtual_fiber() -> Iterator[Step]:
    """Theorem 3.7."""
    value = rational([[1, 2]])
    skew_part = [(a - a.T) / 2 for a in (A1, A2)]
    layers = [layer_of(A1, identity(2)), layer_of(A2, value)]
    yield Step(
        "A network in virtual weights",
        r"Two layers, $d_0 = 2$, $d' = 1$. Both attention matrices have rank two, neither is skew-symmetric, and "
        r"$\tilde V \ne 0$: the hypotheses hold.",
        tuple(_virtual(virtual_weights(layers))),
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
    import sympy

    m, n = sympy.symbols("m n")
    basis = sympy.groebner([sympy.sympify(str(e).replace("^", "**")) for e in equations], m, n, order="lex")
    wanted = [sympy.Rational(str(s[0, 1])) for s in skew_part]
    must([m - wanted[0], n - wanted[1]] == list(basis.exprs), "the skew parts are determined")
    yield Step(
        "Then both tokens",
        r"Rescale so that the symmetric parts are ours. What is missing are the skew parts, $m J$ in $\tilde A_1$ and "
        r"$n J$ in $\tilde A_2$. Leave $m$ and $n$ unknown, take "
        r"both tokens, and compare all coefficients: a system of polynomial equations. We show the simplest of them. A "
        r"Groebner basis over the rationals finds the only solution.",
        (
            show("J", rational([[0, 1], [-1, 0]])),
            show("0", min(equations, key=len), ring),
            show("m", Fraction(str(wanted[0]))), show("n", Fraction(str(wanted[1]))),
        ),
    )  # fmt: skip
    skew = rational([[0, 1], [-1, 0]])
    must((skew_part[0] == Fraction(str(wanted[0])) * skew).all(), "m is the skew part")
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
        (show(r"\operatorname{rk} J", Fraction(rank(matrix))), show(r"\dim \ker", Fraction(len(kernel)))),
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


def _skew_equations(value: ObjectArray) -> tuple[list[Any], PolynomialRing]:
    """Coefficient by coefficient, in the unknown skew parts `m J` and `n J`: what makes the functions equal."""
    ring, unknowns = PolynomialRing(["m", "n", *BOARD.names]), PolynomialRing(["m", "n"])
    x = array_of([[ring[name] for name in names] for names in ("xr", "ys")])
    zero = ring.constant(0)
    skew = {name: array_of([[zero, ring[name]], [-ring[name], zero]]) for name in ("m", "n")}
    trial = [ring.constants((a + a.T) / 2) + skew[name] for a, name in ((A1, "m"), (A2, "n"))]
    one, v = ring.constants(identity(2)), ring.constants(value)
    theirs = forward(x, [Layer(trial[0], one, one), Layer(trial[1], one, v)])
    ours = function_of(layer_of(A1, identity(2)), layer_of(A2, value), x=x, ring=ring)
    equations: dict[Any, dict[Any, Any]] = {}
    for j, difference in enumerate((theirs - ours).ravel()):
        for exponents, c in difference.to_dict().items():
            equations.setdefault((j, *exponents[2:]), {})[tuple(map(int, exponents[:2]))] = c
    return [unknowns.from_terms(terms) for terms in equations.values()], unknowns


def deep_dimension() -> Iterator[Step]:
    """Corollary 3.8."""
    network = Architecture((2, 2, 2), (2, 2), 2)
    layers = [
        Layer(rational([[1, 0], [1, 1]]), rational([[1, 1], [0, 1]]), V1),
        Layer(rational([[1, 0], [0, 1]]), rational([[1, 2], [1, 1]]), rational([[1, 0], [1, 1]])),
    ]
    yield Step(
        "The network",
        rf"Two layers, all widths $2$, $a = 2$: {network.parameter_count} weights.",
        tuple(
            show(f"{letter}_{i}", m)
            for i, layer in enumerate(layers, 1)
            for letter, m in zip("QKV", layer, strict=True)
        ),
    )
    matrix, _ = jacobian(layers, [(i, slot) for i in range(2) for slot in ("query", "key", "value")])
    r = rank(matrix)
    found = certified_dimension(network)
    must(found.value == r, "the rank at these weights is the dimension")
    yield Step(
        "From below: the Jacobian",
        rf"Its function has degree $9$. The Jacobian of the coefficients, at exactly these weights, has "
        rf"{matrix.shape[0]} rows and {matrix.shape[1]} columns, too many for this board. Its rank is {r}. So at least "
        rf"{r} directions change the function.",
        (show(r"\operatorname{rk} J", Fraction(r)),),
    )
    lost = {"C_1": 4, "C_2": 4, "G": 4, r"\lambda": 2}
    moves = _symmetry_directions(layers)
    must(not (moves @ matrix).any(), "the symmetries do not move the function")
    must(rank(moves) == sum(lost.values()) == found.fiber_dimension, "the symmetries are independent")
    yield Step(
        "From above: the symmetries",
        r"Now count what cannot be seen. A basis change $C_i$ between queries and keys, in each layer: $4 + 4$. A "
        r"basis change between the layers: $4$. A rescaling in each layer: $2$. Their directions at our weights are "
        r"independent, rank "
        rf"${rank(moves)}$, and the Jacobian kills each. So at most ${network.parameter_count} - {rank(moves)} = "
        rf"{network.parameter_count - rank(moves)}$ directions can be seen.",
        (show(r"\dim \text{fiber}", Fraction(rank(moves))),),
    )
    formula = printed_formula(network)
    must(formula.value == r, "Eq. 14 gives the same")
    yield Step(
        "They meet",
        rf"Both bounds are ${r}$. Eq. 14 says $\sum_i \alpha_i (2 d_{{i-1}} - \alpha_i) + \delta (d_0 + d_l - \delta) "
        rf"- l = 4 + 4 + 4 - 2 = {formula.value}$.",
        (show(r"\dim \mathcal M", Fraction(r)),),
    )
    narrow = Architecture((2, 2, 2), (1, 2), 2)
    less, printed = certified_dimension(narrow), printed_formula(narrow)
    must(less.value is not None and printed.value is not None and less.value < printed.value, "Eq. 14 is too large")
    yield Step(
        "A hypothesis at work",
        r"Eq. 14 asks for $a_i \ge 2$. Take $a_1 = 1$: behind a layer of rank one all tokens are multiples of one "
        r"vector, and of $A_2$ only the symmetric part is seen. The formula knows nothing of that and is too large.",
        (show(r"\text{Eq. 14}", Fraction(printed.value or 0)), show(r"\dim \mathcal M", Fraction(less.value or 0))),
    )


def _symmetry_directions(layers: list[Layer]) -> ObjectArray:
    """Tangent directions of the symmetries of a two-layer network at its weights, one a row, exact."""
    (q1, k1, v1), (q2, k2, v2) = layers
    zero = Layer(0 * q1, 0 * k1, 0 * v1), Layer(0 * q2, 0 * k2, 0 * v2)
    rows = []
    for e in unit_directions((2, 2)):
        rows.append((zero[0]._replace(key=e @ k1, query=-e.T @ q1), zero[1]))
        rows.append((zero[0], zero[1]._replace(key=e @ k2, query=-e.T @ q2)))
        rows.append((zero[0]._replace(value=e @ v1), Layer(-q2 @ e, -k2 @ e, -v2 @ e)))
    rows.append((zero[0]._replace(query=q1, value=-v1), zero[1]))
    rows.append((zero[0], zero[1]._replace(query=q2, value=-v2)))
    return np.array([[x for layer in row for m in layer for x in m.ravel()] for row in rows], dtype=object)
