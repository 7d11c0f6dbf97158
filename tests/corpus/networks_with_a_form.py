"""Pairs of small networks with a form, and whether they are the same function: for the corpus."""

from __future__ import annotations

from typing import Any

from lightning_sym import SOFTMAX
from lightning_sym.fibers.same_function import Answer
from lightning_sym.network.form import NetworkForm

Document = dict[str, Any]

HEAD: Document = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [1, 1]]}
TWO_HEADS: Document = {
    "E": [[1, 0], [0, 2]],
    "Q1.1": [[1, 2]], "K1.1": [[1, 0]], "V1.1": [[3, 4]], "O1.1": [[1], ["1/2"]],
    "Q1.2": [[2, 4]], "K1.2": [["1/2", 0]], "V1.2": [[1, -1]], "O1.2": [[0], [1]],
    "Q2.1": [[0, 1]], "K2.1": [[1, 1]], "V2.1": [[2, 0]], "O2.1": [[1], [1]],
    "Q2.2": [[0, 0]], "K2.2": [[1, 1]], "V2.2": [[1, 5]], "O2.2": [[1], [-1]],
    "U": [[1, 3]],
}  # fmt: skip
# the heads of layer 1 of TWO_HEADS have equal scores: one of rank two; and (1 1; 0 1) acts on the stream
MERGED: Document = {
    "E": [[1, 2], [0, 2]],
    "Q1.1": [[1, 1]], "K1.1": [[1, -1]], "V1.1": [[3, 1], [1, -2]], "O1.1": [["3/2", 1], ["1/2", 1]],
    "Q1.2": [[0, 0]], "K1.2": [[0, 0]], "V1.2": [[0, 0], [0, 0]], "O1.2": [[1, 7], [1, 7]],
    "Q2.1": [[0, 0]], "K2.1": [[1, 0]], "V2.1": [[1, 4], [0, 0]], "O2.1": [[0, 3], [-1, 3]],
    "Q2.2": [[0, 1]], "K2.2": [[1, 0]], "V2.2": [[2, -2], [0, 0]], "O2.2": [[2, 0], [1, 0]],
    "U": [[1, 2]],
}  # fmt: skip
SKEW: Document = {"Q1": [[0, 1], [-1, 0]], "K1": [[1, 0], [0, 1]], "V1": [[1, 0], [0, 1]]}
ZERO: Document = {"Q1": [[0, 0]], "K1": [[0, 0]], "V1": [[1, 0], [0, 1]]}


def then(first: Document, second: Document, scale: int = 1) -> Document:
    """One layer behind another, the scores of the second multiplied."""
    last = {name.replace("1", "2", 1): m for name, m in second.items()}
    return {**first, **last, "Q2": [[scale * x for x in row] for row in last["Q2"]]}


ONE_BEHIND: Document = {
    "Q1": [[1, 0]], "K1": [[1, 0]], "V1": [[0, 0], [1, 0]], "Q2": [[2, 0]], "K2": [[1, 0]], "V2": [[0, 0], [3, 0]],
}  # fmt: skip
SIDE_BY_SIDE: Document = {f"{name[0]}1.{name[1]}": m for name, m in ONE_BEHIND.items()}

# two heads of layer 2 with equal scores read what layer 1 writes, their sum does not
TWO_BEHIND: Document = {
    "Q1.1": [[1, 0]], "K1.1": [[1, 0]], "V1.1": [[0, 0], [1, 0]],
    "Q1.2": [[0, 0]], "K1.2": [[0, 0]], "V1.2": [[0, 0], [0, 0]],
    "Q2.1": [[2, 0]], "K2.1": [[1, 0]], "V2.1": [[0, 0], [3, 5]],
    "Q2.2": [[2, 0]], "K2.2": [[1, 0]], "V2.2": [[0, 0], [0, -5]],
}  # fmt: skip

# one layer of rank one: what queries, keys and values read may change places
READ_TWICE: Document = {"E": [[1, 1], [0, 1]], "Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]], "O1": [[1], [2]]}
READ_TWICE |= {"Q2": [[1, 1]], "K2": [[2, 1]], "V2": [[0, 1]], "O2": [[1], [-1]]}
EXCHANGED: Document = READ_TWICE | {"K1": [[3, 4]], "V1": [[1, 0]], "K2": [[0, 1]], "V2": [[2, 1]]}
CYCLED: Document = READ_TWICE | {"Q1": [[3, 4]], "K1": [[1, 2]], "V1": [[1, 0]]}

RESIDUAL = NetworkForm(SOFTMAX, causal=True, skip=True)
FORMS: dict[str, tuple[Answer, NetworkForm, int, Document, Document]] = {
    "streams": (Answer.SAME, RESIDUAL, 3, TWO_HEADS, MERGED),
    "streams_lightning": (Answer.SAME, NetworkForm(causal=True, skip=True), 2, TWO_HEADS, MERGED),
    "tensors": (Answer.SAME, NetworkForm(skip=True), 2, READ_TWICE, EXCHANGED),
    "tensors_of_one_token": (Answer.SAME, NetworkForm(causal=True), 1, READ_TWICE, CYCLED),
    "levels": (Answer.SAME, NetworkForm(SOFTMAX, skip=True), 3, ONE_BEHIND, SIDE_BY_SIDE),
    "levels_lightning": (Answer.SAME, NetworkForm(causal=True, skip=True), 2, SIDE_BY_SIDE, ONE_BEHIND),
    "through": (Answer.SAME, NetworkForm(SOFTMAX, skip=True), 3, TWO_BEHIND, SIDE_BY_SIDE),
    "visible_weights": (
        Answer.SAME, NetworkForm(SOFTMAX, causal=True), 2, then(SKEW, ZERO), then(ZERO, SKEW, 2),
    ),
    "visible_weights_differ": (
        Answer.DIFFERENT, NetworkForm(SOFTMAX, causal=True), 3, then(SKEW, ZERO), then(ZERO, SKEW, 2),
    ),
    "one_layer_differs": (
        Answer.DIFFERENT, NetworkForm(SOFTMAX, skip=True), 2, HEAD, HEAD | {"V1": [[3, 4], [1, 2]]},
    ),
    "intervals": (Answer.DIFFERENT, RESIDUAL, 2, TWO_HEADS, MERGED | {"U": [[1, "2000000001/1000000000"]]}),
    "masked": (Answer.DIFFERENT, NetworkForm(causal=True), 2, HEAD, HEAD | {"Q1": [[2, 1]]}),
}  # fmt: skip
