# Geometry's other half in eleven cells. Open with: marimo edit examples/notebooks/geometry.py

import marimo

app = marimo.App(app_title="Geometry's other half")


@app.cell
def _(mo):
    mo.md(
        r"""
        # Geometry's other half

        Families of weights with letters, the real fiber and its components, and maps of one's own. All is exact.
        """
    )
    return


@app.cell
def _():
    import marimo as mo
    from sympy import Matrix, symbols

    from lightning_sym import (
        Architecture,
        PolynomialMap,
        Weights,
        equations,
        fiber,
        forward,
        function_limit,
        polynomial_map,
        recover,
        singular_locus,
        swap,
    )

    return (
        Architecture,
        Matrix,
        PolynomialMap,
        Weights,
        equations,
        fiber,
        forward,
        function_limit,
        mo,
        polynomial_map,
        recover,
        singular_locus,
        swap,
        symbols,
    )


@app.cell
def _(mo):
    mo.md("**1.** A component of a fiber is a family: weights with a letter, on its `domain`, here `lam != 0`.")
    return


@app.cell
def _(Weights, fiber, symbols):
    lam = symbols("lam")
    w = Weights.of({"Q1": [[1, 2]], "K1": [[1, -1]], "V1": [[3, 1]]})
    found = fiber(w)
    other = found.components[1]
    family = other.point(lam=lam)
    family
    return family, found, w


@app.cell
def _(mo):
    mo.md("**2.** Its function has no `lam`: it is the function of the given weights.")
    return


@app.cell
def _(Matrix, family, forward, symbols, w):
    x = Matrix(2, 2, symbols("x1:5"))
    difference = forward(x, family) - forward(x, w.layers)
    difference
    return


@app.cell
def _(mo):
    mo.md("**3.** Where a Jacobian with letters loses rank: at the common zeros of the polynomials that are named.")
    return


@app.cell
def _(Architecture, polynomial_map, symbols):
    network = Architecture((2, 1), (1,), 2)
    a, b = symbols("a b")
    polynomial_map(network).jacobian_rank({"Q1": [[a, b]], "K1": [[1, 0]], "V1": [[1, 0]]})
    return a, b, network


@app.cell
def _(mo):
    mo.md("**4.** The fiber in words. Its last lines are about real weights: how many components, and what joins them.")
    return


@app.cell
def _(found):
    found
    return


@app.cell
def _(mo):
    mo.md("**5.** A map of one's own: two quadratic neurons. Dimension, degree and equation of its image.")
    return


@app.cell
def _(PolynomialMap, equations, symbols):
    u, v, z = symbols("u1:4"), symbols("v1:4"), symbols("z1:4")
    square = sum(p * t for p, t in zip(u, z, strict=True)) ** 2 + sum(p * t for p, t in zip(v, z, strict=True)) ** 2
    phi = PolynomialMap.of([[square]], weights=[*u, *v], inputs=z)
    ideal = equations(phi, 3)
    ideal
    return phi, u, v


@app.cell
def _(mo):
    mo.md("**6.** What gradient flow keeps because of a group that is named: here a rescaling.")
    return


@app.cell
def _(PolynomialMap, symbols):
    p, q, t = symbols("p q t")
    product = PolynomialMap.of([[p * q * t]], weights=[p, q], inputs=[t])
    product.conserved([{p: p, q: -q}])
    return


@app.cell
def _(mo):
    mo.md("**7.** Weights of a polynomial in any letters, in the order in which they are listed.")
    return


@app.cell
def _(Architecture, PolynomialMap, a, b, recover):
    cubic = PolynomialMap.of([[2 * a**3 + 4 * a**2 * b]], weights=[], inputs=[a, b])
    recover(cubic, Architecture((2, 1), (1,), 1))
    return


@app.cell
def _(mo):
    mo.md("**8.** The ideal of the singular locus for another system.")
    return


@app.cell
def _(Architecture, mo, singular_locus):
    mo.plain_text(singular_locus(Architecture((2, 1), (2,), 2), 2).to_text("macaulay2"))
    return


@app.cell
def _(mo):
    mo.md("**9.** Weights blow up with `1 / eps`, the functions converge, and the limit is the function of no weights.")
    return


@app.cell
def _(Matrix, Weights, function_limit, symbols):
    eps, one = symbols("eps"), [[1, 0], [0, 1]]
    bounded = Weights.of(
        {
            "Q1": [[1, eps], [0, 1]], "K1": [[1, 0], [0, eps]], "V1": one,
            "Q2": [[eps, 1], [-1, eps]], "K2": one, "V2": Matrix([[1, 0]]),
        }
    )  # fmt: skip
    limit = function_limit(Weights.of_family({**bounded.matrices, "V2": bounded["V2"] / eps}))
    f"{limit.blows_up} grow by these powers of eps; the limit is of weights: {limit.recovery.answer.value}"
    return


@app.cell
def _(mo):
    mo.md("**10.** Rows and tokens count from 1: the coefficient of a monomial in `phi_1_2` has the key `(1, 2, ...)`.")
    return


@app.cell
def _(network, polynomial_map):
    keys = list(polynomial_map(network).coefficients())
    f"{keys[0]} is the first key, {keys[-1]} the last"
    return


@app.cell
def _(mo):
    mo.md("**11.** The exchange of a family of layers of rank one, letters and all.")
    return


@app.cell
def _(Weights, a, b, swap):
    swap(Weights.of({"Q1": [[a, 1]], "K1": [[1, 0]], "V1": [[1, b]]}))
    return


if __name__ == "__main__":
    app.run()
