"""The same or different functions, and fibers, for networks with a form: masks, skip connections, heads, embeddings.

verify.py imports this folder when it meets such a certificate (docs/certificate.md, sections 4.1 and 4.2). `network`
reads weights, `streams` follows what two networks have in common, `levels` lets heads stand in other layers,
`theorems` compares what a function shows, `outputs` evaluates; `fibers` is about all weights with one function.
"""

from typing import Any

from proofs_check.checker.functions.fibers import prove as prove_fiber
from proofs_check.checker.functions.levels import levels
from proofs_check.checker.functions.network import Form, Network
from proofs_check.checker.functions.outputs import outputs
from proofs_check.checker.functions.streams import streams
from proofs_check.checker.functions.theorems import THEOREMS
from proofs_check.checker.verify import COUNT, SIZE, need, take


def _shown(form: Form, t: int, one: Network, other: Network, proof: Any, same: bool) -> str:
    """What proves that two networks have the same function, or have not."""
    need((one.n, one.m) == (other.n, other.m), "both networks must have the same input and output width")
    kind, by = "same" if same else "different", str(proof.pop("by", None))
    need(
        by in {*THEOREMS, *(("streams", "levels", "through") if same else ("input",))},
        f"there is no proof of this kind by {by[:40]!a}",
    )
    if by == "through":
        return _through(form, t, one, other, proof)
    if by in ("input", "levels"):
        return (outputs if by == "input" else levels)(form, t, one, other, proof)
    take(proof, "the proof, besides by,", {})
    if by == "streams":
        return streams(form, t, one, other)
    found, shown = THEOREMS[by](form, t, one, other)
    need(found is same, f"the functions must be {kind}, the theorem says that they are not")
    return shown


def _through(form: Form, t: int, here: Network, last: Network, proof: Any) -> str:
    """From network to network, each with the function of the one before."""
    between, end = take(proof, "the proof, besides by,", {"networks": [dict], "proof": dict})
    said = []
    for item in between:
        weights, each = take(item, "a network between", {"weights": dict, "proof": dict})
        there = Network(weights, form)
        said.append(_shown(form, t, here, there, each, True))
        here = there
    return "; then ".join([*said, _shown(form, t, here, last, end, True)])


def prove(data: Any) -> str:
    """What a certificate with a form proves."""
    if data["kind"] == "fiber":
        return prove_fiber(data, _shown)
    *_, kind, form, t, first, second, proof = take(data, "a certificate", {
        "format": str, "version": COUNT, "kind": str, "form": Form.read, "tokens": SIZE, "first": dict, "second": dict,
        "proof": dict})  # fmt: skip
    one, other, same = Network(first, form), Network(second, form), kind == "same"
    shown = _shown(form, t, one, other, proof, same)
    claim = "the same function" if same else "different functions"
    return f"{claim} of {t} tokens, for {form}, of {one} and of {other}; by: {shown}"
