"""Networks of one form by their weights, as certificates have them: heads, embeddings, all entries rational."""

import re
from typing import Any, NamedTuple

from proofs_check.checker.functions.matrices import combined, dots, integral, lcm_of, rational_matrix, through
from proofs_check.checker.verify import HEADS, LAYERS, Later, Matrix, need, take, transposed

NAME = re.compile(r"([QKVO])([1-9][0-9]{0,3})(?:\.([1-9][0-9]{0,3}))?")
NAMED = Later({NAME: rational_matrix, re.compile("[EU]"): rational_matrix})


FORM = {"normalization": frozenset({"none", "softmax"}), "mask": frozenset({"none", "causal"}), "skip": bool}


class Form(NamedTuple):
    """What a network does besides multiplying by its weights."""

    softmax: bool = False
    causal: bool = False
    skip: bool = False

    @classmethod
    def read(cls, data: object) -> "Form":
        """Return the form that weight files name so."""
        normalization, mask, skip = take(data, "form", FORM)
        return cls(normalization == "softmax", mask == "causal", skip)

    def __str__(self) -> str:
        mask, skip = "a causal mask" if self.causal else "no mask", "skip" if self.skip else "no skip"
        return f"{'softmax' if self.softmax else 'lightning'} attention with {mask}, {skip}"


class Head(NamedTuple):
    """The matrices of a head; o is [], which stands for 1, where there is none. What follows is of integers."""

    q: Matrix
    k: Matrix
    v: Matrix
    o: Matrix

    def writes(self, batch: Matrix) -> Matrix:
        """Return O V x for vectors x."""
        return through(batch, self.v, self.o)

    def reads(self, batch: Matrix) -> Matrix:
        """Return y^T O V for vectors y."""
        return through(batch, transposed(self.o), transposed(self.v))

    def scores(self, keys: Matrix, queries: Matrix) -> Matrix:
        """Return K^T Q as numbers on vectors."""
        return dots(dots(keys, self.k), dots(queries, self.q))


def integers(heads: list[Head]) -> tuple[list[Head], int]:
    """Return heads of integers: all K^T Q are multiplied by one number, all O V by the number that is returned too."""
    parts = [[integral(m) for m in head] for head in heads]
    form = lcm_of([q.under * k.under for q, k, _, _ in parts])
    value = lcm_of([v.under * o.under for _, _, v, o in parts])

    def scaled(m: Matrix, factor: int) -> Matrix:
        return m if factor == 1 else combined((factor, m))

    return [
        Head(q.rows, scaled(k.rows, form // (q.under * k.under)), scaled(v.rows, value // (v.under * o.under)), o.rows)
        for q, k, v, o in parts
    ], value


class Weights:
    """Weights by name: E, for each layer and head Q, K, V and perhaps O, U."""

    def __init__(self, data: Any, form: Form) -> None:
        need(type(data) is dict and data, "weights must be an object")
        places = {name: NAME.fullmatch(name) for name in data if name not in ("E", "U")}
        odd = [ascii(name)[:40] for name, place in places.items() if place is None]
        need(not odd, f"weights must be named Q1, K1, V1, Q1.1, ..., O1, E, U, found {', '.join(odd[:5])}")
        w: dict[tuple[str, int, int], Matrix] = {}
        for name, place in places.items():
            letter, layer, head = place.groups() if place else ("", 0, 0)
            key = letter, int(layer), int(head or 1)
            need(key not in w, f"{letter} of a head must stand once, {name} names it again")
            w[key] = rational_matrix(data[name])
        self.E, self.U = (rational_matrix(data[name]) if name in data else list[Any]() for name in "EU")
        self.layers = list[list[Head]]()
        while ("Q", i := len(self.layers) + 1, 1) in w:
            heads = list[Head]()
            while ("Q", i, k := len(heads) + 1) in w:
                heads.append(Head(*(w.pop((s, i, k), []) for s in "QKVO")))
            self.layers.append(heads)
        need(not w and self.layers, "layers and heads must be counted from 1 with none left out")
        self.heads = sum(map(len, self.layers))
        good = len(self.layers) <= LAYERS and self.heads <= HEADS
        need(good, f"there must be at most {LAYERS} layers and {HEADS:,} heads")
        self.widths = [len(self.E) or len(self.layers[0][0].q[0])]
        for layer in self.layers:
            self.widths.append(self._width_behind(layer, skip=form.skip))
        need(not self.U or len(self.U[0]) == self.widths[-1], "U must have as many columns as the last layer is wide")
        self.n = len(self.E[0]) if self.E else self.widths[0]
        self.m = len(self.U) or self.widths[-1]

    def _width_behind(self, heads: list[Head], *, skip: bool) -> int:
        d, behind = self.widths[-1], {len(head.o or head.v) for head in heads}
        for q, k, v, o in heads:
            need(v and k and len(q) == len(k), "each head must have a Q and a K of equal height, and a V")
            good = len(q[0]) == len(k[0]) == len(v[0]) == d and (not o or len(o[0]) == len(v))
            need(good, f"the shapes of the weights of a head must fit, here {d} columns of Q, K and V")
        need(len(behind) == 1 and (not skip or d in behind), "heads of a layer, and with skip layers, must be as wide")
        return behind.pop()

    def __str__(self) -> str:
        ends = f", embedded from {self.n}" * bool(self.E) + f", unembedded to {self.m}" * bool(self.U)
        return f"widths {','.join(map(str, self.widths))}, heads {','.join(str(len(x)) for x in self.layers)}{ends}"
