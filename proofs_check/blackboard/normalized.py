"""Normalized layers: every weight of one can be read off; what is left free in deep ones; which normalizers serve."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from lightning_sym.errors import ProgramError
from lightning_sym.network.attention import Form, forward
from lightning_sym.rings.arrays import ObjectArray
from proofs_check.blackboard.softmax_fibers import single_point
from proofs_check.blackboard.step import (
    BOARD,
    INPUT,
    Step,
    identity,
    layer_of,
    must,
    rational,
    show,
    table,
)


def _normalized(x: ObjectArray, attention: ObjectArray, value: ObjectArray, i: int = 0) -> ObjectArray:
    """Output token `i` of Eq. 15 with S(y) = 1 + y, at a rational input."""
    score = [1 + x[:, j] @ attention @ x[:, i] for j in range(x.shape[1])]
    must(sum(score) != 0, "the weights of the tokens do not sum to zero")
    total = sum((s * (value @ x[:, j]) for j, s in enumerate(score)), 0 * value[:, 0])
    result: ObjectArray = total / sum(score)
    return result


def normalized() -> Iterator[Step]:
    """Theorem 3.9."""
    attention, value = rational([[1, 2], [3, 1]]), rational([[1, 2]])
    e1, e2, zero = rational([1, 0]), rational([0, 1]), rational([0, 0])

    def output(x1: ObjectArray, x2: ObjectArray, a: ObjectArray = attention, v: ObjectArray = value) -> Fraction:
        number: Fraction = _normalized(np.array([x1, x2], dtype=object).T, a, v)[0]
        return number

    yield Step(
        "A normalized layer",
        r"Output token $i$ is now an average of the values $V x_j$ with weights $S(x_j^\top A x_i)$, divided by their "
        r"sum. Softmax has $S = \exp$. To keep all numbers rational the board takes $S(y) = 1 + y$; the argument needs "
        r"only that $S$ is known and injective, and that $S(0)$ is not zero.",
        (show("A", attention), show("V", value)),
    )
    other = 2 * attention, value / 2
    ours, theirs = output(e1, e2), output(e1, e2, *other)
    must(ours != theirs, "rescaling changes the function")
    yield Step(
        "Rescaling is seen",
        r"For lightning attention $(2A, V/2)$ was the same function. Not here. Let the tokens be $(1, 0)$ and $(0, 1)$ "
        r"and look at output one. An average does not forget the size of $V$.",
        (show(r"\varphi_{A, V}", ours), show(r"\varphi_{2A, V/2}", theirs)),
    )
    found_v = [2 * output(zero, e) for e in (e1, e2)]
    must(found_v == list(value[0]), "V is found")
    yield Step(
        "Read off V",
        r"Forget the weights; only the function may be asked. Let the first token be $0$. Then every score is $0$, "
        r"both tokens weigh the same, and the output is $\tfrac{1}{2} V x_2$. Ask for $x_2 = (1, 0)$ and $(0, 1)$, and "
        r"double the answers.",
        (show(r"2 \varphi(0, e_1)", found_v[0]), show(r"2 \varphi(0, e_2)", found_v[1])),
    )

    def share(x1: ObjectArray, x2: ObjectArray) -> Fraction:
        """The weight of token two in the average, from the output alone."""
        first, second = (sum(a * b for a, b in zip(found_v, x, strict=True)) for x in (x1, x2))
        weight: Fraction = (output(x1, x2) - first) / (second - first)
        return weight

    diagonal = []
    for e in (e1, e2):
        s = share(e, zero)  # 1 / (2 + c)
        diagonal.append(1 / s - 2)
    must(diagonal == [attention[0, 0], attention[1, 1]], "the diagonal is found")
    yield Step(
        "Read off the diagonal of A",
        r"Now $V$ is known. Let the second token be $0$. The output lies between $V x_1$ and $0$; where it lies tells "
        r"how much token two weighs: $S(0) / (S(c) + S(0)) = 1 / (2 + c)$ with $c = x_1^\top A x_1$. Solve for $c$.",
        (show(r"\text{weight at } e_1", share(e1, zero)), show(r"\text{weight at } e_2", share(e2, zero)),
         show("a_{11}", diagonal[0]), show("a_{22}", diagonal[1])),
    )  # fmt: skip
    off = []
    for i, (x1, x2) in enumerate(((e1, e2), (e2, e1))):
        s = share(x1, x2)  # (1 + b) / (2 + b + c)
        off.append((1 + diagonal[i]) * s / (1 - s) - 1)
    found = rational([[diagonal[0], off[1]], [off[0], diagonal[1]]])
    must((found == attention).all(), "A is found")
    yield Step(
        "Read off the rest",
        r"Two tokens, $x_1 = e_1$ and $x_2 = e_2$. The weights stand in the ratio $S(b) : S(c)$ with $b = x_2^\top A "
        r"x_1 = a_{21}$, and $c$ is known. Solve for $b$; exchange the tokens, and $a_{12}$ follows.",
        (show(r"\text{weight of } e_2 \text{ seen from } e_1", share(e1, e2)), show("a_{21}", off[0]),
         show("a_{12}", off[1]),
         show(r"A \text{ recovered}", found)),
    )  # fmt: skip
    must(output(e1, e2, attention, 0 * value) == output(e1, e2, 5 * attention, 0 * value) == 0, "V = 0 gives zero")
    yield Step(
        "A single point",
        r"The function has given away every entry of $V$ and $A$. No other weights have this function. Only $V = 0$ is "
        r"different: the average of zeros is zero, whatever $A$ is.",
        (show(r"V \text{ recovered}", rational([found_v])),),
    )


def _network(x: ObjectArray, *layers: tuple[ObjectArray, ObjectArray], constant: int = 1) -> ObjectArray:
    """The network of normalized layers $(A, V)$, S(y) = constant + y, at a rational input."""

    def pattern(scores: ObjectArray) -> ObjectArray:
        weights = scores + Fraction(constant)
        must(all(weights.sum(axis=0) != 0), "the weights of the tokens do not sum to zero")
        result: ObjectArray = weights / weights.sum(axis=0)
        return result

    result: ObjectArray = forward(x, [layer_of(*layer) for layer in layers], Form(pattern))
    return result


def deep_normalized() -> Iterator[Step]:
    """Conjecture 3.10."""
    x = rational([[1, 0], [1, 2]])
    a1, v1 = rational([[1, 0], [1, 1]]), rational([[1, 1], [0, 1]])
    a2, v2 = rational([[0, 1], [1, 2]]), rational([[2, 0], [1, 1]])
    ours = _network(x, (a1, v1), (a2, v2))
    yield Step(
        "Two normalized layers",
        r"The second layer attends to what the first one wrote. Every token becomes an average of values, twice. The "
        r"board takes $S(y) = 1 + y$, so that all numbers are rational.",
        (show("A_1", a1), show("V_1", v1), show("A_2", a2), show("V_2", v2), show("X", x),
         show(r"\varphi(X)", ours)),
    )  # fmt: skip
    g, inverse = rational([[1, 1], [0, 1]]), rational([[1, -1], [0, 1]])
    must((g @ inverse == identity(2)).all(), "the two matrices are inverse to each other")
    moved = (a1, g @ v1), (inverse.T @ a2 @ inverse, v2 @ inverse)
    must((_network(x, *moved) == ours).all(), "the same function at this input")
    must((moved[0][1].T @ moved[1][0] @ moved[0][1] == v1.T @ a2 @ v1).all(), "the same virtual attention matrix")
    must((moved[1][1] @ moved[0][1] == v2 @ v1).all(), "the same virtual value matrix")
    yield Step(
        "What normalization cannot see",
        r"A basis change $G$ between the layers: $V_1$ becomes $G V_1$, and $A_2$, $V_2$ take it back. Other weights, "
        r"the same output. The virtual weights $A_1$, $V_1^\top A_2 V_1$ and $V_2 V_1$ have not moved either.",
        (show("G V_1", moved[0][1]), show(r"G^{-\top} A_2 G^{-1}", moved[1][0]), show("V_2 G^{-1}", moved[1][1]),
         show(r"V_1^\top A_2 V_1", v1.T @ a2 @ v1), show("V_2 V_1", v2 @ v1)),
    )  # fmt: skip
    scaled = [_network(x, (2 * a1, v1 / 2), (a2, v2)), _network(x, (a1, v1), (2 * a2, v2 / 2))]
    must(all((other != ours).any() for other in scaled), "rescaling a layer changes the function")
    bare = [
        forward(x, map(layer_of, *zip(*w, strict=True))) for w in (((a1, v1), (a2, v2)), ((a1, v1), (2 * a2, v2 / 2)))
    ]
    must((bare[0] == bare[1]).all(), "rescaling leaves the lightning network alone")
    yield Step(
        "What it does see",
        r"Rescaling $(A_i, V_i)$ to $(2 A_i, V_i / 2)$ leaves a lightning network alone, at each of its $l$ layers. "
        r"Here both outputs change. That is the whole difference between Eq. 14 and Eq. 16.",
        (show(r"\text{layer 1 rescaled}", scaled[0]), show(r"\text{layer 2 rescaled}", scaled[1])),
    )
    yield from single_point()
    network = Architecture((2, 2, 2), (2, 2), tokens=2, normalization=SOFTMAX)
    found = certified_dimension(network)
    must(found.value == network.parameter_count - 4 - 4 - 4, "only basis changes are invisible")
    yield Step(
        "Count",
        r"Widths $2, 2, 2$ with $a = 2$: all weights, less the basis changes inside queries and keys of both layers "
        r"and between the layers, four dimensions each. A rank of exact derivatives, modulo a prime, is as large. "
        r"So nothing else moves the weights without moving the function, as the theorem says.",
        (show(r"\text{weights}", Fraction(network.parameter_count)), show(r"\text{at most}", Fraction(found.upper)),
         show(r"\text{at least}", Fraction(found.lower))),
    )  # fmt: skip


def two_curves() -> Iterator[Step]:
    """Figure 3."""
    from proofs_check.claims.normalized.figure_3 import estimated, expected, figure_networks, most_with

    networks = figure_networks()
    first, found = networks[0], estimated(networks[0])
    invisible = first.parameter_count - found.upper
    must(invisible == 2 * 2 * 2 + 3 * 3, "the invisible directions are the basis changes")
    yield Step(
        "One point of the figure, from above",
        r"Two softmax layers of width $3$ with $a = 2$. Each layer has $2 \cdot 2 \cdot 3$ entries in $Q$ and $K$ and "
        r"$9$ in $V$. Basis changes inside queries and keys ($2 \times 2$, twice) and between the layers "
        r"($3 \times 3$) are invisible.",
        (show(r"\text{weights}", Fraction(first.parameter_count)), show(r"\text{invisible}", Fraction(invisible)),
         show(r"\text{at most}", Fraction(found.upper))),
    )  # fmt: skip
    must(found.lower == found.upper, "the two bounds meet")
    yield Step(
        "The same point, from below",
        r"The exponentials of the scores are algebraically independent, so they may be taken for variables. With "
        rf"integers in the place of weights, inputs and exponentials the Jacobian has this rank modulo {found.prime}, "
        r"and a rank modulo a prime is never too large. The bounds meet: the dimension is certified, without a float.",
        (show(r"\text{at least}", Fraction(found.lower)),),
    )
    both = rational([[estimated(n).value for n in networks], [expected(n) for n in networks]])
    must((both[0] == both[1]).all(), "the curves are equal")
    widths = [str(n.widths[0]) for n in networks]
    yield Step(
        "The two curves",
        r"So for every width. Apart from that, Eq. 16: $\sum_i \alpha_i (2 d - \alpha_i) + d^2 = 4 (2 d - 2) + d^2$.",
        (table(r"\text{dimension}", both, (r"\text{estimated}", r"\text{expected}"), widths),),
    )
    most = rational([[most_with(n, 10) for n in networks], [expected(n) for n in networks]])
    must(
        [m < e for m, e in most.T.tolist()] == [d in ("9", "10") for d in widths], "ten inputs are too few at 9 and 10"
    )
    yield Step(
        "Ten inputs are not enough",
        r"The output at an input $X_n$ is $\tilde V X_n S_n$, and the columns of $S_n$ sum to one. So all outputs of "
        r"ten inputs depend on $d^2 + 10 \cdot 6$ numbers only. For $d = 9$ and $10$ this is less than the dimension: "
        r"a rank of so few outputs, exact or not, is too low there.",
        (table(r"\text{ten inputs}", most, (r"\text{at most}", r"\text{dimension}"), widths),),
    )


def free_exponentials() -> Iterator[Step]:
    """Theorem A."""
    from lightning_sym.exact.modular import rank_mod_p
    from lightning_sym.network.jacobian import RandomJacobian
    from lightning_sym.rings.prime_field import PRIMES
    from proofs_check.claims.normalized.free_exponentials import different_scores, rank_by_series

    attention = rational([[1, 2], [3, 1]])
    scores = INPUT.T @ BOARD.constants(attention) @ INPUT
    must(scores[0, 1] != scores[1, 0], "the scores are different")
    yield Step(
        "What is not rational in softmax",
        r"Everything in a softmax layer is rational in weights and inputs, except the exponentials of the scores. Here "
        r"are the scores of two tokens, $(x, y)$ and $(r, s)$. No combination of these four polynomials and the "
        r"coordinates, but zero, is constant. Then, says a theorem of Ax, no polynomial relation holds between "
        r"coordinates and exponentials: the four are variables of their own.",
        (show("A", attention), show(r"X^\top A X", scores)),
    )
    narrow = Architecture((2, 1, 2), (2, 2), tokens=2, normalization=SOFTMAX)
    row = INPUT[:1]
    equal = row.T @ row
    must((equal == equal.T).all(), "these scores are symmetric")
    must(different_scores(narrow) == 4 + 3, "seven different scores")
    yield Step(
        "Equal scores",
        r"Behind a width of one all tokens are multiples of one vector, and scores are products of two numbers: those "
        r"off the diagonal are the same, and share one exponential. Widths $2, 1, 2$ have $4 + 3$ different scores.",
        (show(r"\text{scores behind a width of one}", equal),),
    )
    network, p = Architecture((2, 2), (1,), tokens=2, normalization=SOFTMAX), PRIMES[0]
    jacobian = RandomJacobian(network, np.random.default_rng(0), p)
    sample = jacobian.sample(network.parameter_count)
    if sample.exponentials is None:
        raise ProgramError("softmax has exponentials")
    drawn = sample.exponentials[0, 0]
    must((drawn.sum(axis=0) % p == 1).all(), "columns add up to one")
    yield Step(
        "Draw them",
        rf"So modulo $p = {p}$ the exponentials may be any residues, like weights and inputs. A factor common to a "
        r"column cancels, so let columns add up to one modulo $p$: this is the pattern itself. The derivative of an "
        r"exponential is still itself times that of its score.",
        (show("E", rational(drawn.tolist())),),
    )
    rank = rank_mod_p(sample.rows, p)
    by_series = rank_by_series(network, rank)
    must(rank == by_series == certified_dimension(network).value, "both roads, and the dimension")
    yield Step(
        "Count",
        r"One layer of width two, $a = 1$, two tokens: the rank of the Jacobian with such exponentials modulo $p$ is a "
        r"lower bound for the dimension. It is the rank that Taylor series lead to, but no series was needed: softmax "
        r"costs what lightning costs, at any depth.",
        (show(r"\text{drawn}", Fraction(rank)), show(r"\text{by Taylor series}", Fraction(by_series))),
    )


def which_normalizer() -> Iterator[Step]:
    """S(y) = 1 + y and S(y) = y."""
    x, attention, value = rational([[1, 1], [0, 1]]), rational([[1, 2], [3, 1]]), rational([[1, 2]])
    one, other = _network(x, (attention, value)), _network(x, (2 * attention, value))
    must((one != other).any(), "the factor is seen with S(y) = 1 + y")
    yield Step(
        "One plus the score",
        r"With $S(y) = 1 + y$ the layer is a rational function of its input. A score of zero still weighs something, "
        r"so twice the attention matrix is another function.",
        (show("A", attention), show("V", value), show("X", x), show(r"\varphi_{A, V}(X)", one),
         show(r"\varphi_{2 A, V}(X)", other)),
    )  # fmt: skip
    one, other = (_network(x, (a, value), constant=0) for a in (attention, 2 * attention))
    must((one == other).all(), "the factor is not seen with S(y) = y")
    yield Step(
        "The bare score",
        r"$S(y) = y$ is injective too. But the factor stands in every term of the numerator and of the denominator, "
        r"and cancels. Each layer loses one dimension: only the direction of $A$ is left.",
        (show(r"\varphi_{A, V}(X)", one), show(r"\varphi_{2 A, V}(X)", other)),
    )
    key, query, another = rational([[1], [2]]), rational([[3, 1]]), rational([[1, 5]])
    one, other = (_network(x, (key @ q, value), constant=0) for q in (query, another))
    must((one == other).all(), "q is not seen")
    yield Step(
        "Rank one",
        r"If $A = k q^\top$, the scores $(k^\top x_j)(q^\top x_i)$ of output token $i$ share the factor $q^\top x_i$. "
        r"It cancels as well: all of $q$ is invisible. Two of them, the same output.",
        (show(r"k q^\top", key @ query), show(r"k \tilde q^\top", key @ another), show(r"\varphi(X)", one)),
    )
