"""The dimension of a lightning network with skip connections of any depth: what its layers have, each alone.

By docs/deep-lightning.md, Theorem 2, it is the sum of the dimensions of the layers and of both ends up to a change of
basis, for as many heads in each layer, two tokens or more, any mask, and ends that are not narrower than the stream. A
layer is counted where its general heads are determined up to order and a factor, by the corollary of Theorem 4 there;
else its dimension is proved by a certificate of its own.
"""

from typing import Any

from proofs_check.checker.bounds import of_rank
from proofs_check.checker.verify import BOUNDS, COUNT, DIMENSION, ENDS, SIZE, SOME, Later, dimension, need, take


def _counted_dimension(d: int, heads: int, a: int, b: int) -> int:
    """Return the dimension of a layer whose heads are determined."""
    good = heads == 1 or any(min(r, d) > 1 and heads * min(r, d) <= d for r in (a, b))
    need(good, "a layer of several heads is counted if all A, or all V, of rank 2 or more fit beside each other")
    return heads * (of_rank(d, d, a) + of_rank(d, d, b) - 1)


def _proved_dimension(d: int, heads: int, a: int, b: int | None, proof: object) -> int:
    """Return the dimension of a layer that a certificate proves."""
    net, r, u, below, above = take(proof, "the proof of a layer", PROOF)
    good = net.d == [d, d] and net.a == [0, a] and net.h == heads and net.t > 1
    good = good and net.b == [0, d if b is None else b] and net.letters == ("QKV" if b is None else "QKVO")
    need(good and not (net.normalized or net.skip or net.ends), "the proof of a layer must be about it, and no more")
    need(r == u, "the bounds of a layer must meet")
    dimension(net, r, u, below, above)
    return int(u)


def prove(network: list[Any], layers: list[Any], claimed: int) -> str:
    """Add the dimensions of the layers and of the ends."""
    d, heads, n, m = network
    need((n or d) >= d <= (m or d), "embed and unembed must reach the width")
    total, said = d * ((n or 0) + (m or 0)) - (d * d if n and m else 0), []
    for count, a, b, proof in layers:
        one = _counted_dimension(d, heads, a, b or d) if proof is None else _proved_dimension(d, heads, a, b, proof)
        total += count * one
        said.append(f"{count} of ranks {a}" + f", value ranks {b}" * (b is not None) + f", of dimension {one}")
    need(total == claimed, f"the dimension must be {total}, it is {claimed}")
    return (
        f"dim M = {claimed}, for lightning attention with skip connections, any mask, two tokens or more, width {d}, "
        f"layers {'; '.join(said)}, heads {heads}, embed {n or 'no'}, unembed {m or 'no'}, over the real and over the "
        "complex numbers, by the sum over the layers (docs/deep-lightning.md, Theorem 2)"
    )


NETWORK = {"width": SIZE, "heads": SIZE} | ENDS
PROOF = DIMENSION | {"upper_bounds": [BOUNDS, SOME]}
LAYER = {"count": SIZE, "rank": SIZE, "value_rank": (SIZE,), "proof": (Later(PROOF),)}
ROWS = (({"network": NETWORK, "layers": [LAYER, SOME], "dimension": COUNT}, prove),)
