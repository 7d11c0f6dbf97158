r"""Proposition A.5: the neuromanifold of one layer is linearly isomorphic to arrays of products of linear forms.

For $t \ge 2$, with $a_k$ the columns of $A$ (spanning at most $\alpha$ dimensions) and $v_m$ the rows of $V$, one
linear map $L$, injective and the same for all weights, sends the coefficients of the array $(a_k(x)\, v_m(x))_{k,m}$
to those of $\varphi_{A,V}$; a linear map $R$ with $R L = 1$ goes back. The arrays span all $d d' d(d+1)/2$ dimensions,
already with $A$ of rank one, so this is the dimension of the linear span of $\mathcal M$ for every $a$.

$L$: output token $i$ of $\varphi$ is $\sum_j \sum_k x_{k,i}\, b_{k,m}(x_j)$. $R$: read the monomials linear in $x_1$
and quadratic in $x_2$ of output token 1. $L$ is written down from the array alone; $\varphi$ comes from the forward
pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from lightning_sym.exact.rational import null_space, rank
from lightning_sym.network.one_layer import (
    Key,
    coefficients_from_products,
    key_of_product,
    products_of_linear_forms,
    quadratic_monomials,
)
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial
from proofs_check.blackboard.step import (
    BOARD,
    INPUT,
    Step,
    function_of,
    layer_of,
    must,
    quadratic_forms,
    rational,
    show,
)
from proofs_check.claim import Claim, Part, Refutation, Scope, WalkThrough, expect, expect_equal
from proofs_check.claims.one_layer.definition_1 import symbolic_layer
from proofs_check.ring_matrices import letters_of

Shape = tuple[int, int, int]
Entry = tuple[int, int, int]
Arrays = Callable[[ObjectArray, ObjectArray], ObjectArray]


def hypotheses_hold(shape: Shape) -> bool:
    return shape[2] >= 2


def shapes(*, quick: bool) -> Iterator[Shape]:
    for d in (1, 2, 3):
        for d_out in (1, 2) if quick or d == 3 else (1, 2, 3):
            for t in (1, 2) if quick or d == 3 else (1, 2, 3):
                yield d, d_out, t


def array_entries(d: int, d_out: int) -> list[Entry]:
    """Return coordinates of an array of quadratic forms; `d d' d(d+1)/2` of them."""
    return list(np.ndindex(d, d_out, len(quadratic_monomials(d))))


def span_dimension(d: int, d_out: int) -> int:
    """Return the number printed with the definition of the ambient space."""
    return d * d_out * d * (d + 1) // 2


def matrix_of(rows: list[list[Entry]], d: int, d_out: int) -> npt.NDArray[np.int64]:
    """Return the matrix that sums the given entries of the array, row by row."""
    column = {entry: i for i, entry in enumerate(array_entries(d, d_out))}
    matrix = np.zeros((len(rows), len(column)), dtype=np.int64)
    for i, entries in enumerate(rows):
        for entry in entries:
            matrix[i, column[entry]] += 1
    return matrix


def rows_used(a: ObjectArray, v: ObjectArray) -> ObjectArray:
    """Return the mutant: rows of A in place of its columns."""
    return products_of_linear_forms(a.T, v)


def array_to_function(shape: Shape, arrays: Arrays = products_of_linear_forms) -> None:
    """Check with symbolic weights that L times the array is phi; what L leaves out is zero in phi.

    Both are compared coefficient by coefficient.
    """
    phi, ring, a, v = symbolic_layer(*shape)
    array = arrays(a, v)
    image = coefficients_from_products(*shape)
    found = {key: sum((array[entry] for entry in entries), ring.constant(0)) for key, entries in image.items()}
    known = phi.ring_coefficients()
    for key in known.keys() | found.keys():
        if known.get(key, 0) != found.get(key, 0):
            raise Refutation(
                f"d, d', t = {shape}, output and monomial {key}: phi has {known.get(key, 0)}, L {found.get(key, 0)}"
            )


def function_to_array(shape: Shape, arrays: Arrays = products_of_linear_forms) -> None:
    """Check that R phi is the array, with symbolic weights, and that R L = 1."""
    d, d_out, t = shape
    phi, _, a, v = symbolic_layer(*shape)
    array = arrays(a, v)
    known, image = phi.ring_coefficients(), coefficients_from_products(*shape)
    monomials = quadratic_monomials(d)
    keys: list[Key] = [key_of_product(d, t, k, m, *monomials[n]) for k, m, n in array_entries(d, d_out)]
    for key, entry in zip(keys, array_entries(d, d_out), strict=True):
        if known.get(key, 0) != array[entry]:
            raise Refutation(f"d, d', t = {shape}: R reads {known.get(key, 0)}, not {array[entry]}, at {entry}")
    expect(
        not (matrix_of([image[key] for key in keys], d, d_out) != np.eye(len(keys), dtype=np.int64)).any(),
        f"d, d', t = {shape}: R L is not the identity",
    )


def ranks(shape: Shape, stated: Callable[[int, int], int] = span_dimension) -> None:
    """Check that L is injective, and that the arrays with A of rank one span everything.

    Both ranks over Q count all coordinates.
    """
    d, d_out, _ = shape
    _, (p, q, v) = letters_of({"p": (d, 1), "q": (1, d), "V": (d_out, d)})
    entries = products_of_linear_forms(p @ q, v).ravel()
    linear_map = matrix_of(list(coefficients_from_products(*shape).values()), d, d_out)
    expect_equal(rank(coordinates(list(entries))), stated(d, d_out), at=f"d, d' = {d}, {d_out}, span of the arrays")
    expect_equal(rank(linear_map), stated(d, d_out), at=f"d, d', t = {shape}, rank of L")


def coordinates(polynomials: list[Polynomial]) -> npt.NDArray[np.int64]:
    """Return integer polynomials as rows, one column a monomial; independent rows are independent functions."""
    terms = [p.to_dict() for p in polynomials]
    column = {monomial: i for i, monomial in enumerate(sorted({m for row in terms for m in row}))}
    matrix = np.zeros((len(terms), len(column)), dtype=np.int64)
    for i, row in enumerate(terms):
        for monomial, value in row.items():
            matrix[i, column[monomial]] = int(value.p)
    return matrix


def one_token_loses(shape: Shape, allowed: int = 0) -> str | None:
    """Return the finding just outside the hypotheses: at t = 1 the map L has a kernel, unless d = 1."""
    d, d_out, _ = shape
    kernel = null_space(matrix_of(list(coefficients_from_products(*shape).values()), d, d_out))
    if d == 1:
        expect_equal(len(kernel), allowed, at=f"d, d', t = {shape}, kernel of L")
        return "the hypothesis t >= 2 is sufficient, not needed at d = 1"
    # at t = 1 only the cubic forms sum_k x_k b_km(x) are seen
    expect_equal(len(kernel), span_dimension(d, d_out) - d_out * d * (d + 1) * (d + 2) // 6 + allowed, at=str(shape))
    if (d, d_out) != (2, 1):
        return None
    witness = ", ".join(
        f"{c} in entry k = {k + 1}, x_{quadratic_monomials(d)[n][0] + 1} x_{quadratic_monomials(d)[n][1] + 1}"
        for c, (k, _, n) in zip(kernel[0], array_entries(d, d_out), strict=True)
        if c
    )
    return f"t >= 2 is needed for d >= 2: at d = 2, d' = t = 1 the array with {witness} is sent to zero"


def walk() -> Iterator[Step]:
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


CLAIM = Claim(
    id="proposition-a.5",
    source="Proposition A.5",
    title="t >= 2: M is linearly isomorphic to the arrays of products a_k(x) v_m(x)",
    statement=(
        r"t \ge 2 \;\Rightarrow\; \exists\, L \text{ linear, injective}:\ \varphi_{A,V} = L\big((a_k v_m)_{k,m}\big),"
        r"\quad \dim \operatorname{span} \mathcal M = d\, d'\, \tfrac{d(d+1)}{2}"
    ),
    hypotheses=(
        "One layer, one head, lightning, no mask; the dimension of the span is the same for every $a$. $L$ and its "
        r"inverse are written down for every size and compared at small ones. At $t = 1$, $d \ge 2$ the map $L$ has "
        "a kernel."
    ),
    place=250,
    rests_on=("definition-1",),
    walk=WalkThrough(
        r"The same set in other coordinates: $\mathcal M$ is the set of arrays of products of lines.", walk
    ),
    parts=(
        Part(
            "phi = L(array of products), symbolic weights, t = 1 included",
            Scope.IDENTITY,
            shapes,
            array_to_function,
            {"rows of A for its columns": partial(array_to_function, arrays=rows_used)},
            instance="d, d', t",
        ),
        Part(
            "R(phi) = array of products, R L = 1",
            Scope.IDENTITY,
            lambda quick: filter(hypotheses_hold, shapes(quick=quick)),
            function_to_array,
            {"rows of A for its columns": partial(function_to_array, arrays=rows_used)},
            instance="d, d', t",
        ),
        Part(
            "rank of L and dimension of the span: d d' d(d+1)/2",
            Scope.IDENTITY,
            lambda quick: filter(hypotheses_hold, shapes(quick=quick)),
            ranks,
            {
                "d d' d(d-1)/2": partial(ranks, stated=lambda d, d_out: d * d_out * d * (d - 1) // 2),
                "one token": lambda shape: ranks((*shape[:2], 1)),
            },
            instance="d, d', t",
        ),
        Part(
            "one token: L has a kernel",
            Scope.IDENTITY,
            lambda quick: ((d, d_out, 1) for d in (1, 2, 3) for d_out in (1, 2)),
            one_token_loses,
            {"a larger kernel": partial(one_token_loses, allowed=1)},
            instance="d, d', t",
        ),
    ),
)
