r"""Attention-only transformers of the size of real models, far too large for a rank: an upper bound by a formula.

The model is $X \mapsto U (\text{layers})(E X)$: embedding $n \to d$, `l` residual layers of `h` softmax heads with
query/key and value width `a`, unembedding $d \to n$; inputs are all real matrices with `n` rows. With
$\alpha = \min(a, d)$ and $n \ge d$ the formula is $d (2n - d) + 2 l h \alpha (2d - \alpha)$.

That it is an upper bound is a theorem: the function depends on `E`, `U` and the products $K^\top Q$, $O V$ alone, which
are $d \times d$ of rank at most $\alpha$, a variety of dimension $2nd + 2 l h \alpha (2d - \alpha)$; changes of basis
of the residual stream act on it without changing the function, and where `E` has rank `d` only the identity fixes
`E`, so orbits have dimension $d^2$. That the bound is reached is not proved; it is certified on small networks.
"""

from __future__ import annotations

from lightning_sym.errors import BadInput
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.model_config import Model
from lightning_sym.rings.normalization import SOFTMAX


def transformer_formula(n: int, d: int, layers: int, heads: int, a: int) -> int:
    """The formula for query/key and value width `a`, for `n >= d`.

    Example:
        >>> transformer_formula(4, 3, 2, 2, 1)
        55
    """
    alpha = min(a, d)
    return d * (2 * n - d) + 2 * layers * heads * alpha * (2 * d - alpha)


def dimension_bound(model: Model) -> int:
    """An upper bound of the dimension of the model's attention, embedding and unembedding two matrices.

    Example:
        >>> dimension_bound(Model(3, 2, 2, 4, 1, True, {}))
        55
    """
    return transformer_formula(model.vocabulary, model.width, model.layers, model.heads, model.head_width)


def small_networks(model: Model) -> list[Architecture]:
    """Two networks of the same pattern, small enough to be certified.

    At most two heads and layers; the widths of all heads together stay equal to, below or above the hidden size, as
    in the model. Where the model does not name its mask, one network has it and the other not.

    Example:
        >>> [str(n) for n in small_networks(Model(768, 12, 12, 50257, 64, True, {}))][0]
        'widths 2,2,2, ranks 1,1, tokens 2, softmax, heads 2, value ranks 1,1, skip, causal, embed 3, unembed 3'
    """
    d, a = model.width, model.head_width
    heads, layers = min(model.heads, 2), min(model.layers, 2)
    result = []
    for number, scale in enumerate((1, 2)):
        if a * model.heads == d:
            small_d, small_a = heads * scale, scale
        elif a == d:
            small_d = small_a = min(d, 1 + scale)
        elif a > d:
            small_d, small_a = min(d, scale), min(d, scale) + 1
        elif a * model.heads > d:
            small_d, small_a = 1 + 2 * scale, 1 + scale
        else:
            small_d, small_a = heads * scale + 1, scale
        small_d, small_a = min(small_d, d), min(small_a, a)
        n = min(model.vocabulary, small_d + 1)
        causal = model.causal if model.causal is not None else number == 0
        result.append(
            Architecture(
                (small_d,) * (layers + 1), (small_a,) * layers, 2, SOFTMAX, heads, (small_a,) * layers,
                skip=True, causal=causal, embed=n, unembed=n,
            )
        )  # fmt: skip
    return list(dict.fromkeys(result))


KNOWN = frozenset({"normalization", "heads", "value_ranks", "skip", "causal", "embed", "unembed"})
"""The options that the formula is for."""


def formula_at(network: Architecture) -> int:
    """The formula for one of these networks.

    Raises:
        BadInput: the network is of another kind.

    Example:
        >>> formula_at(small_networks(Model(3, 2, 2, 4, 1, True, {}))[0])
        55
    """
    network.require("the formula for transformers", KNOWN)
    n, ranks = network.input_width, network.attention_ranks
    ends = network.embed is not None and network.embed == network.unembed and n >= network.widths[0]
    alike = len(set(ranks)) == 1 and network.value_ranks == ranks
    if not (ends and alike and network.skip and network.normalization == SOFTMAX):
        raise BadInput(
            "the formula for transformers must be asked of softmax with skip connections, equal ranks of queries and "
            f"values, and embedding and unembedding as wide as the stream, got {network}"
        )
    return transformer_formula(n, network.widths[0], network.depth, network.heads, network.attention_ranks[0])
