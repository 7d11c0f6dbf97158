"""Proofs that two networks have the same function, or different ones (docs/certificate.md, section 4)."""

import re
from collections.abc import Callable
from typing import Any

from proofs_check.checker.functions.levels import PLACES, levels
from proofs_check.checker.functions.matrices import table
from proofs_check.checker.functions.network import NAMED, Form, Weights
from proofs_check.checker.functions.outputs import INPUT, outputs
from proofs_check.checker.functions.streams import streams
from proofs_check.checker.functions.tensors import tensors
from proofs_check.checker.functions.theorems import THEOREMS
from proofs_check.checker.verify import LAYERS, SIZE, Later, Rows, Table, need, proved, take

PLAIN = Later({re.compile("[QKV][1-9][0-9]*"): table})
PLAIN_PAIR = {"tokens": SIZE, "first": PLAIN, "second": PLAIN}
PAIR = {"form": Form.read, "tokens": SIZE, "first": NAMED, "second": NAMED}


def plain_weights(data: Any) -> Weights:
    """Return weights that are named Q1, K1, V1, Q2, ..."""
    depth = max(1, len(data) // 3 if type(data) is dict else 1)
    take(data, "weights", {f"{s}{i}": object for i in range(1, depth + 1) for s in "QKV"})
    need(depth <= LAYERS, f"the shapes of weights must fit, in at most {LAYERS} layers")
    return Weights(data, Form())


def about(t: int, *weights: Any) -> tuple[str, Weights, Weights]:
    """Return what a certificate about plain networks is about, in words, and the networks."""
    first, second = map(plain_weights, weights)
    _require_ends(first, second)
    widths = " and ".join(",".join(map(str, w.widths)) for w in (first, second))
    return f"{t} tokens, for one-head lightning attention without mask or skip, of widths {widths}", first, second


def _require_ends(one: Weights, other: Weights) -> None:
    need((one.n, one.m) == (other.n, other.m), "both networks must have the same input and output width")


def shown(proofs: Table, form: Form, t: int, one: Weights, other: Weights, proof: Any) -> str:
    """Say what proves that two networks have the same function, or have not."""
    _require_ends(one, other)
    return proved(proofs, proof, form, t, one, other)


def _through(form: Form, t: int, here: Weights, last: Weights, between: list[Any], end: Any) -> str:
    """Say what leads from network to network, each with the function of the one before."""
    said = []
    for weights, proof in between:
        there = Weights(weights, form)
        said.append(shown(SAME, form, t, here, there, proof))
        here = there
    return "; then ".join([*said, shown(SAME, form, t, here, last, end)])


def _of_theorem(name: str, kind: str) -> Callable[..., str]:
    """Return what proves that functions are the same, or different, by a theorem that decides it."""

    def prove(*pair: Any) -> str:
        same, said = THEOREMS[name](*pair)
        need(same is (kind == "same"), f"the functions must be {kind}, the theorem says that they are not")
        return said

    return prove


def _decided(kind: str) -> dict[str, Rows]:
    return {name: (({}, _of_theorem(name, kind)),) for name in THEOREMS}


DIFFERENT = Table(
    "a proof of different functions", "by", lambda: _decided("different") | {"input": ((INPUT, outputs),)}
)
SAME: Table = Table(
    "a proof of the same function",
    "by",
    lambda: {
        **_decided("same"),
        "streams": (({}, streams),),
        "tensors": (({}, tensors),),
        "levels": ((PLACES, levels),),
        "through": (({"networks": [{"weights": NAMED, "proof": SAME}], "proof": SAME}, _through),),
    },
)


def with_a_form(claim: str, proofs: Table, form: Form, t: int, first: Any, second: Any, proof: Any) -> str:
    """Say what shows a claim about two networks with a form."""
    one, other = Weights(first, form), Weights(second, form)
    said = shown(proofs, form, t, one, other, proof)
    return f"{claim} of {t} tokens, for {form}, of {one} and of {other}; by: {said}"
