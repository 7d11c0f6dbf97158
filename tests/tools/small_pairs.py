"""Certificates made by hand that two small networks are the same function, or are not."""

from __future__ import annotations

from small_certificates import Document

LAYER: Document = {"Q1": [[1, 2]], "K1": [[3, 1]], "V1": [[1, 0], [2, 1]]}
OTHER: Document = {"Q1": [["1/2", 1]], "K1": [[6, 2]], "V1": [[1, 0], [2, 1]]}
ONE: Document = {"Q1": [[2]], "K1": [[3]], "V1": [[5]]}
TWO: Document = {**LAYER, "Q2": [[1, 1]], "K2": [[2, 5]], "V2": [[1, 1]]}
# Behind an attention matrix of rank one only the symmetric part of the second one counts: Q2 and K2 change places.
SWAPPED: Document = {**TWO, "Q2": [[2, 5]], "K2": [[1, 1]]}
RESCALED: Document = {**TWO, "Q1": [[2, 4]], "V2": [["1/8", "1/8"]]}
BETWEEN: Document = {**TWO, "V1": [[3, 1], [2, 1]], "K2": [[2, 3]], "Q2": [[1, 0]], "V2": [[1, 0]]}


def same(first: Document, second: Document, *steps: Document, tokens: int = 2) -> Document:
    """That these steps lead from one network to the other."""
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "same", "tokens": tokens}
    return {**head, "first": first, "second": second, "steps": list(steps)}


GROUP: Document = {"step": "group", "query_key": [[[2]]], "between": [], "scales": ["1"]}

SAME = [
    same({**TWO, "Q2": [[0, 0]]}, {**TWO, "K1": [[0, 0]]}, {"step": "zero"}),
    same(TWO, {**TWO, "Q2": [[2, 2]], "K2": [[1, "5/2"]]}, {"step": "layer", "layer": 2}),
    same({**ONE, "Q1": [[0]]}, {**ONE, "V1": [[0]]}, {"step": "zero"}),
    same(LAYER, OTHER, GROUP),
    same(LAYER, OTHER, {"step": "layer", "layer": 1}),
    same(LAYER, LAYER, {**GROUP, "to": OTHER}, {**GROUP, "query_key": [[["1/2"]]]}),
    same(TWO, RESCALED, {"step": "rescaling", "factors": [2, 1], "value_factor": "1/8"}),
    same(TWO, SWAPPED, {"step": "rescaling", "factors": [1, 1], "value_factor": 1}),
    same({**LAYER, "V1": [[0, 0]]}, {**LAYER, "Q1": [[0, 0]], "V1": [[1, 1]]}, {"step": "zero"}),
    same({**LAYER, "V1": [[0, 0]]}, {**TWO, "Q2": [[0, 0]]}, {"step": "zero"}),
    same({**TWO, "V2": [[0, 0]]}, {**TWO, "V1": [[0, 0], [0, 0]]}, {"step": "zero"}),
    same(TWO, BETWEEN, {"step": "group", "query_key": [[[1]], [[1]]], "between": [[[1, 1], [0, 1]]], "scales": [1, 1]}),
]

DIFFERENT: Document = {
    "format": "lightning-sym/certificate", "version": 1, "kind": "different", "tokens": 2, "first": LAYER,
    "second": {**LAYER, "V1": [[1, 0], [2, "2/3"]]}, "input": [[1, 2], [3, -1]], "prime": None,
}  # fmt: skip
