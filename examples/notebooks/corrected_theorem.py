# The corrected theorem on singular points. Open with: marimo edit examples/notebooks/corrected_theorem.py

import marimo

app = marimo.App(app_title="The corrected theorem")


@app.cell
def _(mo):
    mo.md(
        r"""
        # The corrected theorem

        Theorem 3.4 of the paper names the singular points of the set of functions of one layer: as printed, those
        with $\operatorname{rk} A = \operatorname{rk} V = 1$, and zero. Where $2 \le a < d$ all functions with
        $\operatorname{rk} A < a$ are singular, and unless $a = 2$ and $d' = 1$ these are more. Here is one of them.
        """
    )
    return


@app.cell
def _():
    import marimo as mo
    from sympy import Matrix

    from lightning_sym import Architecture, Weights, classify, layer_orbits, singular_locus

    return Architecture, Matrix, Weights, classify, layer_orbits, mo, singular_locus


@app.cell
def _(Weights):
    weights = Weights.of(
        {
            "Q1": [[1, 0, 0], [0, 0, 0]],
            "K1": [[1, 0, 0], [0, 1, 0]],
            "V1": [[1, 2, 0], [0, 1, 1]],
        }
    )
    return (weights,)


@app.cell
def _(mo):
    mo.md(
        r"""
        Width $d = 3$, queries and keys of width $a = 2$. $A = K^\top Q$ has rank 1 and $V$ rank 2, so by the
        printed words this point would be regular. $A$ is
        """
    )
    return


@app.cell
def _(Matrix, weights):
    Matrix(weights["K1"].T @ weights["Q1"])
    return


@app.cell
def _(classify, weights):
    found = classify(weights)
    found
    return


@app.cell
def _(mo):
    mo.md(
        r"""
        The tangent space is larger than the set is: a singular point. The reason is plain in the pair $(A, V)$,
        which the function determines up to scalars and one exchange: matrices of rank at most $a$ are a
        variety that is singular exactly where the rank drops below $a$, as long as $a < d$.

        All orbits of points of a layer of this shape, with the dimension of each and of the tangent space there:
        """
    )
    return


@app.cell
def _(Architecture, layer_orbits):
    layer_orbits(Architecture(widths=(3, 2), attention_ranks=(2,), tokens=2))
    return


@app.cell
def _(mo):
    mo.md("The singular locus, and its equations of degree 2:")
    return


@app.cell
def _(Architecture, singular_locus):
    singular_locus(Architecture(widths=(3, 2), attention_ranks=(2,), tokens=2), degree=2)
    return


@app.cell
def _(mo):
    mo.md("The same layer with a full rank: a regular point. Change a number, and look when it becomes singular.")
    return


@app.cell
def _(Weights, classify):
    regular = Weights.of(
        {
            "Q1": [[1, 0, 0], [0, 1, 0]],
            "K1": [[1, 0, 0], [0, 1, 0]],
            "V1": [[1, 2, 0], [0, 1, 1]],
        }
    )
    classify(regular)
    return


if __name__ == "__main__":
    app.run()
