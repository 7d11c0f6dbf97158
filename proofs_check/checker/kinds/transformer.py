"""The dimension of a residual softmax transformer of any size: by docs/transformers.md, Proposition 18, a count.

The proposition has the number from above, by parameters of products, and from below, by ranks at one point, of which it
proves that it is there at every size. So shapes are all that is looked at. The seed says at which point earlier
checkers computed ranks as well; it may be any.
"""

from typing import Any

from proofs_check.checker.bounds import of_rank
from proofs_check.checker.verify import COUNT, ENDS, SIZE, SOME, need


def prove(network: list[Any], claimed: int, seed: int) -> str:
    """Prove the dimension, by the parameters of products up to a change of basis of the stream."""
    d, layers, heads, groups, n, m, tied = network
    need(heads % groups == 0, "the heads must be a multiple of the groups")
    need(groups == heads or all(b for _, _, b in layers), "values are shared only where there are value ranks")
    need((n or d) >= d <= (m or d), "embed and unembed must reach the width")
    need(not tied or (n and n == m), "tied embeddings must be embedding and unembedding of one width")
    total, share = d * ((n or 0) + (0 if tied else m or 0)), heads // groups
    total -= d * (d - 1) // 2 if tied else d * d * bool(n and m)
    for count, a, b in layers:
        total += count * groups * (of_rank(share * d, d, a) + of_rank(share * d, d, b or d))
    need(total == claimed, f"the dimension must be {total}, it is {claimed}")
    shape = "; ".join(f"{count} of ranks {a}" + f", value ranks {b}" * (b is not None) for count, a, b in layers)
    shape += f", heads {heads}, sets of keys and values {groups}, embed {n or 'no'}, unembed {m or 'no'}"
    shape += ", tied embeddings" * tied
    return (
        f"dim M = {claimed}, for softmax attention with skip connections, any mask, two tokens or more, of width {d}, "
        f"layers {shape}, over the real and over the complex numbers (docs/transformers.md, Proposition 18)"
    )


LAYERS_ALIKE = {"count": SIZE, "rank": SIZE, "value_rank": (SIZE,)}
NETWORK = {"width": SIZE, "layers": [LAYERS_ALIKE, SOME], "heads": SIZE, "groups": SIZE, **ENDS, "tied": bool}
ROWS = (({"network": NETWORK, "dimension": COUNT, "seed": range(2**64)}, prove),)
