"""The same or different functions, for networks with a form: softmax, masks, skip connections, heads, embeddings.

verify.py imports this folder when it meets such a certificate (docs/certificate.md, section 4.1). `network` reads
weights, `streams` follows what two networks have in common, `levels` lets heads stand in other layers, `theorems`
compares what a function shows, `outputs` evaluates.
"""

from typing import Any

from proofs_check.checker.functions.levels import levels
from proofs_check.checker.functions.network import Form, Network
from proofs_check.checker.functions.outputs import outputs
from proofs_check.checker.functions.streams import streams
from proofs_check.checker.functions.theorems import THEOREMS
from proofs_check.checker.verify import COUNT, SIZE, need, take


def prove(data: Any) -> str:
    """What a certificate with a form proves."""
    *_, kind, form, t, first, second, proof = take(data, "a certificate", {
        "format": str, "version": COUNT, "kind": str, "form": Form.read, "tokens": SIZE, "first": dict, "second": dict,
        "proof": dict})  # fmt: skip
    one, other = Network(first, form), Network(second, form)
    need((one.n, one.m) == (other.n, other.m), "both networks must have the same input and output width")
    by, same = str(proof.pop("by", None)), kind == "same"
    need(
        by in {*THEOREMS, *(("streams", "levels") if same else ("input",))},
        f"there is no proof of this kind by {by[:40]!a}",
    )
    if by in ("input", "levels"):
        shown = (outputs if by == "input" else levels)(form, t, one, other, proof)
    else:
        take(proof, "the proof, besides by,", {})
        if by == "streams":
            shown = streams(form, t, one, other)
        else:
            found, shown = THEOREMS[by](form, t, one, other)
            need(found is same, f"the functions must be {kind}, the theorem says that they are not")
    claim = "the same function" if same else "different functions"
    return f"{claim} of {t} tokens, for {form}, of {one} and of {other}; by: {shown}"
