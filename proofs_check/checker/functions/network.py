"""Two networks of one form by their weights, as certificates have them: heads, embeddings, all entries rational."""

import re
from itertools import count, takewhile
from math import lcm
from typing import Any, NamedTuple

from proofs_check.checker.verify import HEADS, LAYERS, Matrix, _table, keep, need, spend, take

NAME = re.compile(r"([QKVO])([1-9][0-9]{0,3})(?:\.([1-9][0-9]{0,3}))?")


class Form(NamedTuple):
    """What a network does besides multiplying by its weights."""

    softmax: bool
    causal: bool
    skip: bool

    @classmethod
    def read(cls, data: Any) -> "Form":
        """As weight files name it."""
        normalization, mask, skip = take(data, "form", {"normalization": str, "mask": str, "skip": bool})
        good = normalization in ("none", "softmax") and mask in ("none", "causal")
        need(good, "the normalization must be none or softmax, and the mask none or causal")
        return cls(normalization == "softmax", mask == "causal", skip)

    def __str__(self) -> str:
        mask, skip = "a causal mask" if self.causal else "no mask", "skip" if self.skip else "no skip"
        return f"{'softmax' if self.softmax else 'lightning'} attention with {mask}, {skip}"


class Scaled(NamedTuple):
    """A matrix of integers, and what they are divided by."""

    rows: Matrix
    under: int


class Head(NamedTuple):
    """The rational matrices of a head; O is [], which stands for 1, where there is none."""

    Q: Matrix
    K: Matrix
    V: Matrix
    O: Matrix  # noqa: E741


def integral(m: Matrix) -> Scaled:
    """Over the least common denominator; [] stands for 1, and stays."""
    spend(20 * sum(map(len, m)))
    under, limit = 1, 2**16
    for x in (x for row in m for x in row if x.denominator != 1):
        under = lcm(under, x.denominator)
        spend(under.bit_length() // 32)
        need(under.bit_length() <= limit, "the common denominator of a matrix must have fewer digits")
    keep(sum(120 + 40 * len(row) + len(row) * (under.bit_length() // 7) for row in m))
    return Scaled([[x.numerator * (under // x.denominator) for x in row] for row in m], under)


class Network:
    """Weights by name: E, for each layer and head Q, K, V and perhaps O, U."""

    def __init__(self, data: Any, form: Form) -> None:
        need(type(data) is dict and data, "weights must be an object")
        places = {name: NAME.fullmatch(name) for name in data if name not in ("E", "U")}
        odd = [ascii(name)[:40] for name, place in places.items() if place is None]
        need(not odd, f"weights must be named Q1, K1, V1, Q1.1, ..., O1, E, U, found {', '.join(odd[:5])}")
        w: dict[Any, Matrix] = {}
        for name, place in places.items():
            letter, layer, head = place.groups()  # type: ignore[union-attr]
            key = letter, int(layer), int(head or 1)
            need(key not in w, f"{letter} of a head must stand once, {name} names it again")
            w[key] = _table(data[name])
        self.E, self.U = (_table(data[name]) if name in data else list[Any]() for name in "EU")
        self.layers = list[list[Head]]()
        for i in takewhile(lambda i: ("Q", i, 1) in w, count(1)):
            heads = takewhile(lambda k: ("Q", i, k) in w, count(1))  # noqa: B023
            self.layers.append([Head(*(w.pop((s, i, k), []) for s in "QKVO")) for k in heads])
        need(not w and self.layers, "layers and heads must be counted from 1 with none left out")
        self.heads = sum(map(len, self.layers))
        good = len(self.layers) <= LAYERS and self.heads <= HEADS
        need(good, f"there must be at most {LAYERS} layers and {HEADS:,} heads")
        self.widths = [len(self.E) or len(self.layers[0][0].Q[0])]
        for layer in self.layers:
            self.widths.append(self._width_behind(layer, form.skip))
        need(not self.U or len(self.U[0]) == self.widths[-1], "U must have as many columns as the last layer is wide")
        self.n = len(self.E[0]) if self.E else self.widths[0]
        self.m = len(self.U) or self.widths[-1]

    def _width_behind(self, heads: list[Head], skip: bool) -> int:
        d, behind = self.widths[-1], {len(head.O or head.V) for head in heads}
        for q, k, v, o in heads:
            need(v and k and len(q) == len(k), "each head must have a Q and a K of equal height, and a V")
            good = len(q[0]) == len(k[0]) == len(v[0]) == d and (not o or len(o[0]) == len(v))
            need(good, f"the shapes of the weights of a head must fit, here {d} columns of Q, K and V")
        need(len(behind) == 1 and (not skip or d in behind), "heads of a layer, and with skip layers, must be as wide")
        return behind.pop()

    def __str__(self) -> str:
        ends = f", embedded from {self.n}" * bool(self.E) + f", unembedded to {self.m}" * bool(self.U)
        return f"widths {','.join(map(str, self.widths))}, heads {','.join(str(len(x)) for x in self.layers)}{ends}"
