# The neuromanifold in ten cells. Open with: marimo edit examples/notebooks/neuromanifold.py

import marimo

app = marimo.App(app_title="The neuromanifold in ten cells")


@app.cell
def _(mo):
    mo.md(
        r"""
        # The neuromanifold in ten cells

        A layer of lightning attention maps $X$ to $V X X^\top K^\top Q X$. The set of functions of a network, its
        *neuromanifold*, is the image of a polynomial map: from weights to the coefficients of a polynomial. Here
        are that map, its Jacobian, its rank and its ideals as SymPy objects. All numbers are exact.
        """
    )
    return


@app.cell
def _():
    import marimo as mo
    from sympy import Matrix, Rational, groebner, symbols

    from lightning_sym import Architecture, Weights, certified_dimension, polynomial_map

    return Architecture, Matrix, Rational, Weights, certified_dimension, groebner, mo, polynomial_map, symbols


@app.cell
def _(mo):
    mo.md("**1.** One layer, width 2, one output, two tokens: the first token's output, a cubic, term by term.")
    return


@app.cell
def _(Architecture, Matrix, polynomial_map):
    network = Architecture(widths=(2, 1), attention_ranks=(1,), tokens=2)
    phi = polynomial_map(network)
    Matrix(phi.matrix()[0].as_ordered_terms())
    return network, phi


@app.cell
def _(mo):
    mo.md(r"**2.** The paper's matrix $A = K^\top Q$ in the same symbols. It has rank one here:")
    return


@app.cell
def _(phi):
    phi.attention_matrix()
    return


@app.cell
def _(mo):
    mo.md("**3.** The coefficients that are different and not zero: the coordinates of the function.")
    return


@app.cell
def _(Matrix, phi):
    Matrix(list(phi.distinct_coefficients().values()))
    return


@app.cell
def _(mo):
    mo.md("**4.** The Jacobian: a row for each of these coordinates, a column for each weight.")
    return


@app.cell
def _(phi):
    jacobian = phi.jacobian()
    jacobian
    return


@app.cell
def _(mo):
    mo.md("**5.** Its rank at a point, over the rationals. Change a number and run the cell again.")
    return


@app.cell
def _(Rational, Weights, phi):
    weights = Weights.of({"Q1": [[1, 2]], "K1": [[Rational(1, 2), 3]], "V1": [[1, -1]]})
    phi.jacobian_rank(weights)
    return


@app.cell
def _(certified_dimension, mo):
    mo.md(
        """
        **6.** The generic rank, from both sides: at least the rank at a point, at most what is left beside the
        directions in which no coefficient changes. It is the dimension of the neuromanifold, which
        `certified_dimension` finds by another road.
        """
    )
    return


@app.cell
def _(phi):
    phi.generic_rank()
    return


@app.cell
def _(certified_dimension, network):
    certified_dimension(network)
    return


@app.cell
def _(mo):
    mo.md("**7.** A special point, where the rank drops:")
    return


@app.cell
def _(phi):
    phi.jacobian_rank({"Q1": [[0, 0]], "K1": [[1, 0]], "V1": [[1, 0]]})
    return


@app.cell
def _(mo):
    mo.md(
        """
        **8.** A special family, with letters in the weights; one token. Of all functions of weights `polynomial_map`,
        `forward`, `network_output`, `virtual_weights`, `transform`, `rescale`, `change_basis`, `swap` and
        `function_limit` take letters; the others need numbers, and say so.
        """
    )
    return


@app.cell
def _(Matrix, Weights, polynomial_map, symbols):
    a, b = symbols("a b")
    family = Weights.of({"Q1": Matrix([[a, b]]), "K1": [[a, b]], "V1": [[1, 0]]})
    special = polynomial_map(family.architecture(tokens=1), family)
    special.matrix()
    return a, b, special


@app.cell
def _(a, mo):
    mo.md(
        r"""
        **9.** The ideal of the graph; without the letters, eliminated by a Gröbner basis, it is the ideal of the
        closure of the family. Here: the discriminant, since the two linear factors are the same.
        """
    )
    return


@app.cell
def _(Matrix, a, b, groebner, special):
    graph = special.ideal()
    basis = groebner(graph.generators, *graph.symbols, order="lex")
    Matrix([g for g in basis.exprs if not g.free_symbols & {a, b}])
    return


@app.cell
def _(a, mo):
    mo.md("**10.** The ideal of a fiber: all weights with the same function as given ones. It has two points.")
    return


@app.cell
def _(Matrix, a, b, special):
    Matrix(special.ideal(at={a: 1, b: 3}).generators)
    return


if __name__ == "__main__":
    app.run()
