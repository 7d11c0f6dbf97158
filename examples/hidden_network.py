"""A softmax network of two layers and two tokens that answers questions; its weights are not for those who ask.

A question is a line: how many digits behind the point are wanted, then the entries of the input, row by row. The answer
is a line with the entries of the output. `lightning-sym recover --ask "python examples/hidden_network.py"` asks.
"""

import sys
from decimal import Decimal, localcontext

HALF = Decimal("0.5")
ONE = [[1, 0], [0, 1]]
LAYERS = [  # query, key, value
    ([[1, -HALF], [2, 3 * HALF]], ONE, [[1, 1], [0, 1]]),
    ([[HALF, 1], [-1, 2]], [[1, 0], [1, 1]], [[2, -HALF]]),
]


def product(a, b):
    """Return the product of two matrices."""
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), Decimal(0)) for column in zip(*b, strict=True)]
        for row in a
    ]


def transposed(a):
    """Return rows become columns."""
    return [list(column) for column in zip(*a, strict=True)]


def softmax(scores):
    """Return the exponentials, divided by their sum over each column."""
    columns = [[score.exp() for score in column] for column in zip(*scores, strict=True)]
    return transposed([[weight / sum(column) for weight in column] for column in columns])


def network(x):
    """Return all layers."""
    for query, key, value in LAYERS:
        scores = product(transposed(product(key, x)), product(query, x))
        x = product(product(value, x), softmax(scores))
    return x


for line in sys.stdin:
    digits, *entries = line.split()
    with localcontext() as context:
        context.prec = int(digits) + 40
        numbers = [Decimal(entry) for entry in entries]
        output = network([numbers[:2], numbers[2:]])
        print(" ".join(f"{number:.{digits}f}" for row in output for number in row), flush=True)
