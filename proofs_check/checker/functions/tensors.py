"""The same function by layers that do the same on both streams, whatever their heads do, without normalization.

A layer writes to the query x_k the sum over the keys x_j of T(x_j; x_k), where T(y; z) is the sum of V y (y^T A z).
So all columns of the stacked streams lie in spaces R: behind a layer in the span of all T(y, y'; z), for y, y', z in R
before it, where T(y, y'; z) is the polar form, with skip connections together with R. For one token z is y, and the
polar form has three arguments (docs/deep-lightning.md, Lemma 2).
"""

from itertools import permutations, product

from proofs_check.checker.functions.matrices import Span
from proofs_check.checker.functions.network import Form, Weights
from proofs_check.checker.functions.streams import LayerOfBoth, Streams, follow
from proofs_check.checker.verify import keep, need, spend


def _behind(layer: LayerOfBoth, t: int, streams: Streams, cut: int, later: int = 0) -> Streams:
    """Return the space behind a layer."""
    halves = streams.R.vectors(slice(cut)), streams.R.vectors(slice(cut, None))
    forms, _ = layer.forms(halves, halves)
    written, every = layer.writer(halves), range(len(streams.R.basis))
    keep(len(every) ** 3 * (100 + 40 * sum(layer.behind)))
    # at a key, a query and what is carried: the sum over the heads of (y^T A z) V y'
    parts = {(a, c): written([m[a][c] for m in forms], skip=False) for a in every for c in every}
    space = Span(streams.R.vectors() if layer.form.skip else ())
    for a, b, c in product(every, repeat=3):
        if a <= b and (t > 1 or b <= c):
            orders = permutations((a, b, c)) if t == 1 else ((a, c, b), (b, c, a))
            rows = [parts[key, query][carried] for key, query, carried in orders]
            spend(sum(map(len, rows)))
            space.grow([[sum(column) for column in zip(*rows, strict=True)]])
    return Streams(space, space, space)


def tensors(form: Form, t: int, first: Weights, second: Weights) -> str:
    """Say that layers do the same on both streams."""
    need(not form.softmax, "layer tensors are those of networks without normalization")
    follow(form, t, first, second, _behind)
    return "layers that do the same (docs/deep-lightning.md, Lemma 2)"
