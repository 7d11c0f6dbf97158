"""Where a theorem says of every pair of networks whether they are the same function: by what their functions show."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from proofs_check.checker.functions.network import Form, Network
from proofs_check.checker.verify import Matrix, T, _is, _symmetric, _times, keep, need, spend


def _zero(m: Matrix) -> bool:
    return not any(map(any, m))


def _visible(form: Form, t: int, w: Network) -> Iterator[tuple[Any, Matrix]]:
    """All that the function shows (docs/softmax-fibers.md, Theorems 1 and 4): names and matrices, in order."""
    P, zeros = w.E, 0  # of the values so far; [] stands for 1
    A = []
    for [(q, k, v, o)] in w.layers:
        A.append(_times(T(P), T(k), q, P))
        P = _times(o, v, P)
    P = _times(w.U, P)
    yield "values", P
    for m in A if t > 1 and not _zero(P) else ():
        nothing, skew = _zero(m), _zero(_symmetric(m))
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


def _agree(one: list[tuple[Any, Matrix]], other: list[tuple[Any, Matrix]]) -> bool:
    names = [name for name, _ in one] == [name for name, _ in other]
    return names and all(_is(m, 1, n) for (_, m), (_, n) in zip(one, other, strict=True))


def visible(form: Form, t: int, first: Network, second: Network) -> tuple[bool, str]:
    """One softmax head in each layer, no skip connections: whether the functions are the same, and by what."""
    good = form.softmax and not form.skip and all(len(layer) == 1 for w in (first, second) for layer in w.layers)
    need(good, "visible weights are those of softmax networks with one head a layer and without skip connections")
    same = _agree(list(_visible(form, t, first)), list(_visible(form, t, second)))
    shown_by = f"docs/softmax-fibers.md, Theorem {4 if form.causal else 1}" if t > 1 else "patterns of one token are 1"
    return same, f"visible weights ({shown_by})"


def _classes(form: Form, t: int, w: Network) -> tuple[dict[Any, Matrix], Matrix, Matrix]:
    """What heads with the same form write together, by the form; what all write together; and what skips."""
    keep(100 * w.n * (w.n + w.m))
    unit = [[Fraction(i == j) for j in range(w.n)] for i in range(w.n)] if not (w.E or w.U) else []
    past = _times(w.U, w.E, unit) if form.skip else [[Fraction(0)] * w.n] * w.m
    total, found = [[Fraction(0)] * w.n] * w.m, dict[Any, Matrix]()

    def add(to: Matrix, sign: int, m: Matrix) -> Matrix:
        spend(40 * w.m * w.n)
        keep(w.m * (100 + 200 * w.n))
        return [[a + sign * b for a, b in zip(*rows, strict=True)] for rows in zip(to, m, strict=True)]

    for q, k, v, o in w.layers[0]:
        value, attention = _times(w.U, o, v, w.E), _times(T(w.E), T(k), q, w.E)
        total, name, sign = add(total, 1, value), tuple(map(tuple, attention)), 1
        if t == 2:  # opposite forms have opposite effects, and those of the form 0 are in the total
            opposite = tuple(tuple(-x for x in row) for row in name)
            name, sign = (name, 1) if name >= opposite else (opposite, -1)
            if _zero(attention):
                continue
        found[name] = add(found[name], sign, value) if name in found else add([[0] * w.n] * w.m, sign, value)
    return {name: m for name, m in found.items() if not _zero(m)}, total, past


def one_layer(form: Form, t: int, first: Network, second: Network) -> tuple[bool, str]:
    """One softmax layer with any heads: whether the functions are the same, and by what."""
    good = form.softmax and t > 1 and all(len(w.layers) == 1 for w in (first, second))
    need(good, "the theorem on one layer is about one softmax layer and two tokens or more")
    (one, *sums), (other, *others) = (_classes(form, t, w) for w in (first, second))
    same = one.keys() == other.keys() and all(_is(m, 1, other[name]) for name, m in one.items())
    same = same and all(_is(m, 1, n) for m, n in zip(sums, others, strict=True))
    return same, "one layer (docs/transformer-fibers.md, Theorem 8)"


THEOREMS: dict[str, Callable[[Form, int, Network, Network], tuple[bool, str]]] = {
    "visible weights": visible,
    "one layer": one_layer,
}
