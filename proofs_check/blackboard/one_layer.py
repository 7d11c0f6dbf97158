"""One layer: the function, the two ways to write a matrix product, the swap, the Jacobian."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from lightning_sym import Architecture, Layer, certified_dimension, forward
from lightning_sym.exact.rational import null_space, rank
from proofs_check.blackboard.step import (
    BOARD,
    INPUT,
    SIX,
    Step,
    entry_labels,
    function_of,
    identity,
    layer_of,
    must,
    one_layer_jacobian,
    quadratic_forms,
    rational,
    show,
    table,
    unit_directions,
)
from proofs_check.claims.one_layer.definition_1 import sum_form


def the_layer() -> Iterator[Step]:
    """Definition 1."""
    layer = Layer(query=rational([[1, 0], [1, 1]]), key=rational([[1, 1], [0, 1]]), value=rational([[1, 2]]))
    attention = layer.key.T @ layer.query
    yield Step(
        "The weights",
        r"One layer reads tokens of width $d = 2$ and writes numbers ($d' = 1$). Its weights are three matrices. "
        r"Queries and keys are never seen apart: only their product $A = K^\top Q$, the attention matrix, enters.",
        (
            show("Q", layer.query), show("K", layer.key), show("V", layer.value), show(r"A = K^\top Q", attention),
        ),
    )  # fmt: skip
    constants = Layer(*map(BOARD.constants, layer))
    scores = (constants.key @ INPUT).T @ (constants.query @ INPUT)
    yield Step(
        "The input and the scores",
        r"The input has $t = 2$ tokens, one a column. They are letters for now: $x_1 = (x, y)$ and $x_2 = (r, s)$. "
        r"The score $x_j^\top A x_i$ says how much token $i$ looks at token $j$; it stands in row $j$, column $i$.",
        (show("X", INPUT), show(r"X^\top A X", scores)),
    )
    phi = forward(INPUT, [constants])
    yield Step(
        "The function",
        r"Every token sends its value $V x_j$, weighed by the score. In matrices this is $\varphi_W(X) = V X\, X^\top "
        r"A X$. There is no softmax, so the output is a polynomial: two tokens come out.",
        (show("V X", constants.value @ INPUT), show(r"\varphi_1", phi[0, 0]), show(r"\varphi_2", phi[0, 1])),
    )
    must(np.array_equal(sum_form(INPUT, constants, BOARD.constant(0)), phi), "the sum and the matrix form agree")
    pieces = [scores[j, 0] * (constants.value @ INPUT)[0, j] for j in range(2)]
    must(pieces[0] + pieces[1] == phi[0, 0], "the two contributions add up")
    yield Step(
        "The same, token by token",
        r"The definition is a sum, $\sum_j (x_j^\top A x_i)\, V x_j$. For $i = 1$ it has two terms, one a token. Their "
        r"sum is $\varphi_1$ above: Eq. 1 and Eq. 2 are one map.",
        (show(r"(x_1^\top A x_1)\, V x_1", pieces[0]), show(r"(x_2^\top A x_1)\, V x_2", pieces[1])),
    )
    x = rational([[1, 2], [0, 1]])
    value, doubled = forward(x, [layer]), forward(2 * x, [layer])
    must((doubled == 8 * value).all(), "doubling X gives eight times the output")
    yield Step(
        "Three factors of X, one of each weight",
        r"Every term has degree $3$ in the input. Double $X$, and the output grows by $2^3 = 8$.",
        (show("X", x), show(r"\varphi_W(X)", value), show(r"\varphi_W(2X)", doubled)),
    )
    scaled = forward(x, [Layer(2 * layer.query, 3 * layer.key, 5 * layer.value)])
    must((scaled == 30 * value).all(), "the map is linear in each weight")
    yield Step(
        "Trilinear in (Q, K, V)",
        r"Each weight enters exactly once. Take $2Q$, $3K$ and $5V$: the output is $2 \cdot 3 \cdot 5 = 30$ times as "
        r"large.",
        (show(r"\varphi_{(2Q, 3K, 5V)}(X)", scaled),),
    )
    first = Layer(layer.query, layer.key, rational([[1, 1], [0, 1]]))
    once, twice = forward(x, [first, layer]), forward(2 * x, [first, layer])
    must((twice == 512 * once).all(), "two layers have degree nine")
    yield Step(
        "Two layers",
        r"Put a second layer behind the first, and degrees multiply: $3^2 = 9$. Doubling $X$ now gives $2^9 = 512$ "
        r"times.",
        (show(r"\varphi_W(X)", once), show(r"\varphi_W(2X)", twice)),
    )


def query_and_key() -> Iterator[Step]:
    """Lemma 3.1."""
    key, query = rational([[1, 0, 1], [0, 1, 1]]), rational([[1, 1, 0], [0, 1, 2]])
    attention = key.T @ query
    a, d = key.shape
    must(rank(attention) == a, "the product has rank a")
    yield Step(
        "A product of two thin matrices",
        rf"Here $d = {d}$ and $a = {a}$: keys and queries have {a} rows. Their product is ${d} \times {d}$ but has "
        rf"only rank ${rank(attention)}$.",
        (show("K", key), show("Q", query), show(r"A = K^\top Q", attention)),
    )
    c, inverse = rational([[2, 1], [1, 1]]), rational([[1, -1], [-1, 2]])
    must((c @ inverse == identity(a)).all(), "C has this inverse")
    new_key, new_query = c @ key, inverse.T @ query
    must((new_key.T @ new_query == attention).all(), "the product stays")
    yield Step(
        "Change the basis in between",
        r"Take an invertible $C$. Set $K' = C K$ and $Q' = C^{-\top} Q$. In the product $C^\top$ meets $C^{-\top}$, "
        r"and both are gone: $K'^\top Q' = A$ again.",
        (
            show("C", c), show("K' = C K", new_key), show(r"Q' = C^{-\top} Q", new_query),
            show(r"K'^\top Q'", new_key.T @ new_query),
        ),
    )  # fmt: skip
    must(not null_space(key.T), "the rows of K are independent")
    found = new_key[:, :a]  # the first columns of K are the identity
    must((key[:, :a] == identity(a)).all() and (found == c).all(), "C can be read off")
    yield Step(
        "There is only one such C",
        r"Suppose somebody shows us $K$ and $K'$. The rows of $K$ are independent, so $K' = C K$ has one solution at "
        r"most. Our $K$ begins with the identity, so $C$ stands in the first columns of $K'$. Then $Q'$ is known as "
        r"well.",
        (show(r"\text{first columns of } K'", found),),
    )
    rows = [(move.T @ query).ravel() for move in unit_directions(key.shape)]
    rows += [(key.T @ move).ravel() for move in unit_directions(query.shape)]
    matrix = np.array(rows, dtype=object)
    r, kernel = rank(matrix), len(null_space(matrix.T))
    must(r == a * (2 * d - a) and kernel == a * a, "the counts of Lemma 3.1 hold here")
    yield Step(
        "Counting the matrices of rank two",
        rf"Move one entry of $K$ or $Q$ at a time and write down how $A$ moves: {len(rows)} weights, {d * d} entries. "
        rf"The rank is ${r}$. The {kernel} lost directions are the $a^2 = {a * a}$ entries of $C$. So the matrices of "
        rf"rank at most ${a}$ have dimension $\alpha (2d - \alpha) = {a} \cdot {2 * d - a} = {r}$.",
        (table("J", matrix, entry_labels("k", a, d) + entry_labels("q", a, d), entry_labels("A", d, d)),),
    )


def swap() -> Iterator[Step]:
    """Theorem 3.2."""
    p, q, w = rational([[1], [2]]), rational([[2], [1]]), rational([[1], [-1]])
    attention, value = p @ q.T, w.T
    yield Step(
        "A layer of rank one",
        r"Build both matrices from vectors: $A = p\, q^\top$ and $V = w^\top$ (here $d' = 1$, so $v = 1$). Both have "
        r"rank one.",
        (show("p", p), show("q", q), show("w", w), show(r"A = p\, q^\top", attention), show(r"V = w^\top", value)),
    )
    phi = function_of(layer_of(attention, value))
    yield Step(
        "Its function",
        r"Two tokens $x_1 = (x, y)$ and $x_2 = (r, s)$ go in. The first output token is",
        (show(r"\varphi_1", phi[0, 0]),),
    )
    swapped, swapped_value = w @ q.T, p.T
    other = function_of(layer_of(swapped, swapped_value))
    must(np.array_equal(phi, other), "the swapped weights have the same function")
    must(rank([[*attention.ravel(), *value.ravel()], [*swapped.ravel(), *swapped_value.ravel()]]) == 2, "they differ")
    yield Step(
        "Swap p and w",
        r"Now let $p$ and $w$ change places: $A' = w\, q^\top$, $V' = p^\top$. These are other weights, no multiple of "
        r"the old ones. Run the network again, and compare term by term: it is the same polynomial.",
        (show(r"A' = w\, q^\top", swapped), show(r"V' = p^\top", swapped_value), show(r"\varphi'_1", other[0, 0])),
    )
    forms = quadratic_forms(phi)
    common = forms[0, 0].gcd(forms[0, 1])
    _, factors = common.factor()
    must(len(factors) == 2, "the common factor splits into two lines")
    yield Step(
        "Why",
        r"Look at what token two adds to output one. The coefficient of $x$ is a quadratic form $f$, that of $y$ is "
        r"$g$. Each is a product: a column of $A$ times $V$, as linear forms in $(r, s)$. Here the common factor of "
        r"$f$ and $g$ is a quadratic, and it splits into two linear forms (call them lines). One of them is "
        r"$V$, the other belongs to $A$; "
        r"nobody can tell which.",
        (
            show("f", forms[0, 0]), show("g", forms[0, 1]), show(r"\gcd(f, g)", common),
            *(show(r"\text{line}", line) for line, _ in factors),
        ),
    )  # fmt: skip
    full = rational([[1, 1], [0, 1]])
    forms = quadratic_forms(function_of(layer_of(full, value)))
    common = forms[0, 0].gcd(forms[0, 1])
    must(common.total_degree() == 1, "the common factor is one line")
    yield Step(
        "With rank two there is nothing to swap",
        r"Keep $V$, and take an $A$ of rank two. Again write down $f$ and $g$. Now the common factor is a single line, "
        r"and it must be $V$, up to a scalar. Divide by it, and the columns of $A$ appear. So only rescalings "
        r"$(\lambda A, V / \lambda)$ are left.",
        (
            show("A", full), show("f", forms[0, 0]), show("g", forms[0, 1]), show(r"\gcd(f, g)", common),
            show("f / V", forms[0, 0] / common), show("g / V", forms[0, 1] / common),
        ),
    )  # fmt: skip
    three = function_of(layer_of(3 * full, value / 3))
    must(np.array_equal(three, function_of(layer_of(full, value))), "rescaling changes nothing")
    nothing = function_of(layer_of(full, 0 * value))
    must(all(entry == 0 for entry in nothing.ravel()), "V = 0 gives zero")
    yield Step(
        "Zero",
        r"If $A = 0$ or $V = 0$, the output is zero, whatever the other matrix is. That is the third case of the "
        r"theorem.",
        (show("V", 0 * value), show(r"\varphi_1", nothing[0, 0])),
    )
    skew = rational([[0, 1], [-1, 0]])
    alone = INPUT[:, :1]
    one, two = (function_of(layer_of(m, value), x=alone) for m in (full, full + skew))
    must(np.array_equal(one, two), "a single token cannot see the skew part")
    yield Step(
        "One token is not enough",
        r"With $t = 1$ the token can only look at itself. The score $x^\top A x$ sees the symmetric part of $A$ alone. "
        r"Add a skew-symmetric matrix: the function stays, though $A + J$ is no multiple of $A$. So $t \ge 2$ is "
        r"needed.",
        (show("A", full), show("A + J", full + skew), show(r"\varphi", one[0, 0]), show(r"\varphi'", two[0, 0])),
    )


def count_dimensions() -> Iterator[Step]:
    """Corollary 3.3."""
    attention, value = rational([[1, 2], [1, 0]]), rational([[1, 1]])
    phi = function_of(layer_of(attention, value))
    yield Step(
        "The weights and the polynomial",
        r"A layer with $d = 2$, $d' = 1$ has six weights: four in $A$, two in $V$. Its function is a list of "
        r"coefficients.",
        (show("A", attention), show("V", value), show(r"\varphi_1", phi[0, 0])),
    )
    six = one_layer_jacobian(attention, value)
    labels = [*entry_labels("a", 2, 2), "v_1", "v_2"]
    r = rank(six)
    yield Step(
        "The Jacobian",
        r"Move one weight at a time, and see how fast each coefficient moves. One row a weight, one column a "
        r"coefficient. Six coefficients suffice: those of the terms with one letter of token one and two of token two. "
        r"The others repeat them.",
        (table("J", six, labels, SIX),),
    )
    ((*kernel,),) = null_space(six.T)
    scale = -value[0, 1] / kernel[5]
    direction = rational([k * scale for k in kernel])
    must((direction == [*attention.ravel(), *(-value).ravel()]).all(), "the kernel vector is the rescaling")
    yield Step(
        f"Its rank is {r}",
        rf"Not six: the rank is {r}. One combination of the rows vanishes, with the coefficients below. Read it as "
        rf"matrices: "
        r"it is $A$ itself, and minus $V$. That is the rescaling $(\lambda A, V / \lambda)$, seen at $\lambda = 1$.",
        (
            show(r"\operatorname{rk} J", Fraction(r)), show(r"\dot A", direction[:4].reshape(2, 2)),
            show(r"\dot V", direction[4:].reshape(1, 2)),
        ),
    )  # fmt: skip
    network = Architecture((2, 1), (2,), 2)
    found = certified_dimension(network)
    must(found.value == r == 2 * 2 * 2 - 4 + 2 * 1 - 1, "the certified dimension is the formula's")
    yield Step(
        "The dimension",
        rf"So {r} is the dimension: five directions move the function here, and the rescaling is lost at every point. "
        rf"With $\alpha = 2$ the formula says $2 \alpha d - \alpha^2 + d d' - 1 = 8 - 4 + 2 - 1 = {r}$.",
        (show(r"\dim \mathcal M", Fraction(r)),),
    )
    yield Step(
        "Back to queries and keys",
        rf"Written with $Q$ and $K$ there are {network.parameter_count} weights. The function does not notice: of "
        rf"these, {found.fiber_dimension} directions are lost, four in the basis change $C$ of Lemma 3.1 and one in "
        rf"the rescaling. And ${network.parameter_count} - {found.fiber_dimension} = {found.value}$.",
        (show(r"\dim \text{fiber}", Fraction(found.fiber_dimension or 0)),),
    )
    small = certified_dimension(Architecture((2, 1), (1,), 2))
    must(small.value == 2 * 2 - 1 + 2 - 1, "the formula holds at a = 1")
    yield Step(
        "Narrower heads",
        rf"With $a = 1$ the matrix $A$ has rank one, and those have dimension $2 \alpha d - \alpha^2 = 3$. The total "
        rf"is $3 + 2 - 1 = {small.value}$.",
        (show(r"\dim \mathcal M", Fraction(small.value or 0)),),
    )


def products_of_lines() -> Iterator[Step]:
    """Proposition A.5."""
    attention, value = rational([[1, 2], [1, 0]]), rational([[1, 1], [0, 1]])
    phi = function_of(layer_of(attention, value))
    yield Step(
        "A layer with two outputs",
        r"Columns of $A$ and rows of $V$ are linear forms. Read them with the letters $(r, s)$ of token two.",
        (show("A", attention), show("V", value)),
    )
    forms = quadratic_forms(phi)
    z = INPUT[:, 1]
    lines, values = BOARD.constants(attention.T) @ z, BOARD.constants(value) @ z
    must(all(forms[m, k] == lines[k] * values[m] for m, k in np.ndindex(2, 2)), "the coefficients are the products")
    yield Step(
        "From the function to products",
        r"In output one, collect the terms that are quadratic in token two. The coefficient of coordinate $k$ in "
        r"output row $m$ is the product $a_k v_m$. Below, row $m$ and column $k$.",
        (show("a_k", lines.reshape(1, 2)), show("v_m", values.reshape(2, 1)), show("(a_k v_m)", forms)),
    )
    rebuilt = np.empty((2, 2), dtype=object)
    for m, i in np.ndindex(2, 2):
        rebuilt[m, i] = BOARD.constant(0)
        for k in range(2):
            for j in range(2):  # put token j into the form
                moved = forms[m, k].compose(*INPUT[:, 0], *INPUT[:, j])
                rebuilt[m, i] += INPUT[k, i] * moved
    must(np.array_equal(rebuilt, phi), "the products give the function back")
    yield Step(
        "And back",
        r"Put each token into the products, multiply by the coordinates of the token that looks, and add. The function "
        r"is back. Both ways are linear maps with no choices: $\mathcal M$ is, up to this change of coordinates, the "
        r"set of all arrays of products of linear forms.",
        (show(r"\text{row 1, token 1}", rebuilt[0, 0]), show(r"\varphi_{11}", phi[0, 0])),
    )
