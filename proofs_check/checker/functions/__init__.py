"""What is said of the functions of given weights: the same or different ones, and fibers.

verify.py imports this folder when it meets such a certificate (docs/certificate.md, section 4). `steps` is about one
head a layer and nothing else; of networks with a form (masks, skip connections, heads, embeddings) `streams` follows
what two have in common, `levels` lets heads stand in other layers, `theorems` compares what a function shows, `outputs`
evaluates; `fibers` is about all weights with one function. `network` reads weights, `matrices` counts what they cost.
"""

from typing import Any

from proofs_check.checker.functions.fibers import prove as prove_fiber
from proofs_check.checker.functions.levels import levels
from proofs_check.checker.functions.network import Form, Network
from proofs_check.checker.functions.outputs import outputs
from proofs_check.checker.functions.steps import different_plainly, same_by_steps
from proofs_check.checker.functions.streams import streams
from proofs_check.checker.functions.theorems import THEOREMS
from proofs_check.checker.verify import SIZE, fields, need, take


def shown(form: Form, t: int, one: Network, other: Network, proof: Any, *, same: bool) -> str:
    """Say what proves that two networks have the same function, or have not."""
    need((one.n, one.m) == (other.n, other.m), "both networks must have the same input and output width")
    kind, by = "same" if same else "different", str(proof.pop("by", None))
    known = {*THEOREMS, *(("streams", "levels", "through") if same else ("input",))}
    need(by in known, f"there is no proof of this kind by {by[:40]!a}")
    if by == "through":
        return _through(form, t, one, other, proof)
    if by in ("input", "levels"):
        return (outputs if by == "input" else levels)(form, t, one, other, proof)
    take(proof, "the proof, besides by,", {})
    if by == "streams":
        return streams(form, t, one, other)
    found, said = THEOREMS[by](form, t, one, other)
    need(found is same, f"the functions must be {kind}, the theorem says that they are not")
    return said


def _through(form: Form, t: int, here: Network, last: Network, proof: Any) -> str:
    """Say what leads from network to network, each with the function of the one before."""
    between, end = take(proof, "the proof, besides by,", {"networks": [dict], "proof": dict})
    said = []
    for item in between:
        weights, each = take(item, "a network between", {"weights": dict, "proof": dict})
        there = Network(weights, form)
        said.append(shown(form, t, here, there, each, same=True))
        here = there
    return "; then ".join([*said, shown(form, t, here, last, end, same=True)])


def prove(data: Any) -> str:
    """Say what a certificate about functions proves."""
    if data["kind"] == "fiber":
        return prove_fiber(data, shown)
    if "form" not in data:
        return (same_by_steps if data["kind"] == "same" else different_plainly)(data)
    of = {"form": Form.read, "tokens": SIZE, "first": dict, "second": dict, "proof": dict}
    form, t, first, second, proof = fields(data, of)
    one, other, same = Network(first, form), Network(second, form), data["kind"] == "same"
    said = shown(form, t, one, other, proof, same=same)
    claim = "the same function" if same else "different functions"
    return f"{claim} of {t} tokens, for {form}, of {one} and of {other}; by: {said}"
