# Softmax and Conjecture 3.10. Open with: marimo edit examples/notebooks/softmax.py

import marimo

app = marimo.App(app_title="Softmax and Conjecture 3.10")


@app.cell
def _(mo):
    mo.md(
        r"""
        # Softmax and Conjecture 3.10

        The paper ends in a conjecture: almost every network of softmax layers, one head each, is determined by its
        function on two tokens or more, up to the factors inside $A = K^\top Q$ and the bases between the layers.
        It is a theorem (`docs/softmax-fibers.md`, Theorem 1), which names the exceptions. Two tokens show why.
        """
    )
    return


@app.cell
def _():
    import marimo as mo
    from sympy import Matrix, exp, simplify, symbols, tanh

    from lightning_sym import (
        SOFTMAX,
        NetworkForm,
        Weights,
        certified_dimension,
        change_basis,
        fiber,
        same_function,
    )

    return (
        Matrix,
        NetworkForm,
        SOFTMAX,
        Weights,
        certified_dimension,
        change_basis,
        exp,
        mo,
        same_function,
        simplify,
        fiber,
        symbols,
        tanh,
    )


@app.cell
def _(mo):
    mo.md(
        r"""
        Width one, $A = (\alpha)$, $V = (v)$, tokens $m + u$ and $m - u$: their mean is $m$, half their difference
        $u$. The difference of the two outputs, halved, and what it is:
        """
    )
    return


@app.cell
def _(Matrix, exp, simplify, symbols, tanh):
    alpha, v, m, u = symbols("alpha v m u", real=True)
    x = Matrix([[m + u, m - u]])
    scores = alpha * x.T * x
    weight = scores.applyfunc(exp)
    pattern = Matrix(2, 2, lambda j, i: weight[j, i] / (weight[0, i] + weight[1, i]))
    y = v * x * pattern
    halved = (y[0] - y[1]) / 2
    claimed = v * u * (tanh(alpha * u * (m + u)) - tanh(alpha * u * (m - u))) / 2
    assert simplify((halved - claimed).rewrite(exp)) == 0
    claimed
    return alpha, claimed, m, u, v


@app.cell
def _(m, mo, u):
    mo.md(
        r"""
        For small $u$ its first term is $\alpha v u^3$, whatever $m$ is; the mean of the outputs begins with $v m$.
        So the function shows $v$, and then $\alpha$: a layer is read off, and the next one behind it.
        """
    )
    return


@app.cell
def _(claimed, u):
    claimed.series(u, 0, 5).removeO().simplify()
    return


@app.cell
def _(NetworkForm, SOFTMAX, Weights):
    form = NetworkForm(normalization=SOFTMAX)
    weights = Weights.of(
        {
            "Q1": [[1, 0], [1, 1]],
            "K1": [[1, 2], [0, 1]],
            "V1": [[1, 1], [0, 1]],
            "Q2": [[1, 0], [0, 1]],
            "K2": [[1, 0], [1, 1]],
            "V2": [[1, -1]],
        },
        form,
    )
    return form, weights


@app.cell
def _(mo, weights):
    mo.md("A network of two layers, and all weights with its function. Which theorem says so stands in the answer.")
    return


@app.cell
def _(fiber, weights):
    fiber(weights, 2)
    return


@app.cell
def _(mo):
    mo.md("Another basis between the layers, and other factors of the same $A_1$:")
    return


@app.cell
def _(change_basis, same_function, weights):
    moved = change_basis(weights, query_key={1: [[1, 1], [0, 1]]}, between={1: [[2, 1], [1, 1]]})
    same_function(weights, moved, 2)
    return


@app.cell
def _(mo):
    mo.md("One number changed: another function, by the same theorem. Where none reaches, an input shows it.")
    return


@app.cell
def _(Weights, form, same_function, weights):
    changed = {name: matrix.tolist() for name, matrix in weights.named().items()}
    changed["V1"][0][1] = 2
    same_function(weights, Weights.of(changed, form), 2)
    return


@app.cell
def _(mo):
    mo.md(
        r"""
        What is left of the fiber when a layer is *blind*: $A_1 = 0$, or skew with two tokens. Then all
        tokens leave it equal, and of what stands behind it only the values can be seen.
        """
    )
    return


@app.cell
def _(Weights, form, fiber):
    blind = Weights.of(
        {
            "Q1": [[0, 1], [-1, 0]],
            "K1": [[1, 0], [0, 1]],
            "V1": [[1, 1], [0, 1]],
            "Q2": [[1, 0], [0, 1]],
            "K2": [[1, 0], [1, 1]],
            "V2": [[1, -1]],
        },
        form,
    )
    fiber(blind, 2)
    return


@app.cell
def _(mo):
    mo.md("The dimension of the set of all functions of this shape, certified:")
    return


@app.cell
def _(certified_dimension, weights):
    certified_dimension(weights.architecture(2))
    return


if __name__ == "__main__":
    app.run()
