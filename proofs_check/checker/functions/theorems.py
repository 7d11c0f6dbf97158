"""Where a theorem says of every pair of networks whether they are the same function: by what their functions show."""

from collections.abc import Callable, Iterator

from proofs_check.checker.functions.matrices import zero
from proofs_check.checker.functions.network import Form, Head, Weights
from proofs_check.checker.functions.rings import RATIONALS, is_multiple, symmetric
from proofs_check.checker.functions.streams import direct_sum
from proofs_check.checker.verify import Matrix, keep, need, spend, transposed

times = RATIONALS.times


def visible_weights(w: Weights) -> tuple[list[Matrix], Matrix]:
    """Return A~_1, ..., A~_l and V~ of one head a layer: forms and values behind the values so far."""
    A, P = list[Matrix](), w.E  # [] stands for 1
    for [(q, k, v, o)] in w.layers:
        A.append(times(transposed(P), transposed(k), q, P))
        P = times(o, v, P)
    return A, times(w.U, P)


def _visible(form: Form, t: int, w: Weights) -> Iterator[tuple[object, Matrix]]:
    """Yield all that the function shows (docs/softmax-fibers.md, Theorems 1 and 4): names and matrices, in order."""
    (A, V), zeros = visible_weights(w), 0
    yield "values", V
    for m in A if t > 1 and not zero(V) else ():
        nothing, skew = zero(m), zero(symmetric(m))
        if form.causal and t == 2 and nothing:
            zeros += 1
        elif form.causal and t == 2 and skew:
            keep(len(m) * (100 + 120 * len(m)))
            yield "skew", [[x / 2**zeros for x in row] for row in m]
        else:
            yield zeros, m
        if not form.causal and (nothing or (t == 2 and skew)):
            return  # behind this layer all tokens are equal
    yield f"{zeros} zero layers", [[0]]


def visible(form: Form, t: int, first: Weights, second: Weights) -> tuple[bool, str]:
    """Return whether functions of one softmax head a layer, without skip connections, are the same, and by what."""
    good = form.softmax and not form.skip and all(len(layer) == 1 for w in (first, second) for layer in w.layers)
    need(good, "visible weights are those of softmax networks with one head a layer and without skip connections")
    one, other = (list(_visible(form, t, w)) for w in (first, second))
    same = [name for name, _ in one] == [name for name, _ in other]
    same = same and all(is_multiple(m, 1, n) for (_, m), (_, n) in zip(one, other, strict=True))
    shown_by = f"docs/softmax-fibers.md, Theorem {4 if form.causal else 1}" if t > 1 else "patterns of one token are 1"
    return same, f"visible weights ({shown_by})"


def _classes(t: int, heads: list[Head], E: Matrix, U: Matrix) -> Iterator[Matrix]:
    """Yield what all heads write together, and what those with the same form do."""
    found = dict[object, Matrix]()

    def add(name: object, sign: int, m: Matrix) -> None:
        spend(40 * len(U) * len(E[0]))
        keep(len(U) * (100 + 200 * len(E[0])))
        pairs = zip(found.get(name, [[0] * len(E[0])] * len(U)), m, strict=True)
        found[name] = [[a + sign * b for a, b in zip(*rows, strict=True)] for rows in pairs]

    for q, k, v, o in heads:
        value, attention = times(U, o, v, E), times(transposed(E), transposed(k), q, E)
        add("all", 1, value)
        name, opposite = (tuple(tuple(sign * x for x in row) for row in attention) for sign in (1, -1))
        if t > 2 or name > opposite:
            add(name, 1, value)
        elif name < opposite:  # for two tokens opposite forms have opposite effects, and those of the form 0 are in all
            add(opposite, -1, value)
    yield from found.values()


def one_layer(form: Form, t: int, first: Weights, second: Weights) -> tuple[bool, str]:
    """Return whether functions of one softmax layer with any heads are the same, and by what."""
    good = form.softmax and t > 1 and all(len(w.layers) == 1 for w in (first, second))
    need(good, "the theorem on one layer is about one softmax layer and two tokens or more")
    E, [heads], U = direct_sum(first, second)  # which is the function 0 if they are the same
    same = all(map(zero, _classes(t, heads, E, U))) and (not form.skip or zero(times(U, E)))
    return same, "one layer (docs/transformer-fibers.md, Theorem 8)"


THEOREMS: dict[str, Callable[[Form, int, Weights, Weights], tuple[bool, str]]] = {
    "visible weights": visible,
    "one layer": one_layer,
}
