# Your own network: type its shape and its matrices. Open with: marimo edit examples/notebooks/your_network.py

import marimo

app = marimo.App(app_title="Your own network")


@app.cell
def _(mo):
    mo.md(
        """
        # Your own network

        How many dimensions does its set of functions have? Which other weights give the same function? Type a
        shape, or change the matrices below: everything behind them is computed anew.
        """
    )
    return


@app.cell
def _():
    import marimo as mo

    from lightning_sym import Architecture, Weights, certified_dimension, classify, fiber, same_function

    return Architecture, Weights, certified_dimension, classify, fiber, mo, same_function


@app.cell
def _(mo):
    widths = mo.ui.text("4,4,4", label="widths")
    ranks = mo.ui.text("2,2", label="widths of queries and keys")
    tokens = mo.ui.slider(1, 6, value=3, label="tokens")
    mo.hstack([widths, ranks, tokens])
    return ranks, tokens, widths


@app.cell
def _(Architecture, certified_dimension, ranks, tokens, widths):
    def sizes(text):
        return tuple(int(word) for word in text.split(","))

    network = Architecture(sizes(widths.value), sizes(ranks.value), tokens.value)
    found = certified_dimension(network, all_bounds=True)
    found
    return found, network


@app.cell
def _(found, mo, network):
    mo.md(
        f"""
        {network.parameter_count} parameters, but a set of functions of dimension {found.lower}, or at most
        {found.upper} if the bounds do not meet. The other dimensions, {network.parameter_count - found.upper} at
        least, are motions of the weights that no input can see: a *fiber*.

        ## Your own matrices

        Numbers are exact: integers, `Fraction(1, 3)` or `sympy.Rational(1, 3)`. With several layers: `Q2`, `K2`,
        `V2` and so on.
        """
    )
    return


@app.cell
def _(Weights):
    weights = Weights.of({"Q1": [[1, 2]], "K1": [[3, 1]], "V1": [[1, -1]]})
    return (weights,)


@app.cell
def _(fiber, weights):
    all_of_them = fiber(weights)
    all_of_them
    return (all_of_them,)


@app.cell
def _(mo):
    mo.md(
        """
        Where $A$ and $V$ have rank one, and are in general position, two vectors can be exchanged: the fiber has
        two components. A point of the last component, and what the program says of it:
        """
    )
    return


@app.cell
def _(all_of_them):
    other = all_of_them.components[-1].point(lam=2)
    other
    return (other,)


@app.cell
def _(other, same_function, weights):
    same_function(weights, other)
    return


@app.cell
def _(mo):
    mo.md("Is it a regular, a singular or a boundary point of the set of functions?")
    return


@app.cell
def _(classify, weights):
    classify(weights)
    return


if __name__ == "__main__":
    app.run()
