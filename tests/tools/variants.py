"""Networks with each variant of attention, and some together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lightning_sym import SOFTMAX, Architecture
from lightning_sym.network.rotary import Rotary
from lightning_sym.network.variant import READ

QUARTER = Rotary(turns=[(0, 1)])
TWO = Rotary(turns=[(0, 1), (0, -1)])

OPTIONS: dict[str, dict[str, Any]] = {
    "rotary": {"rotary": QUARTER},
    "key_heads": {"heads": 2, "key_heads": 1},
    "biases": {"biases": "QKVO"},
    "gains": {"gains": True},
    "query_key_norm": {"query_key_norm": "1/4"},
    "gated": {"gated": "identity", "neurons": (2,)},
}
"""Each option, with what goes with it."""

assert OPTIONS.keys() == READ.keys()

ONE_BY_ONE = {name: Architecture((2, 2), (2,), 2, **options) for name, options in OPTIONS.items()}

AROUND = {
    f"{name} in a transformer": replace(network, value_ranks=(2,), embed=1, unembed=2, skip=True, causal=True)
    for name, network in ONE_BY_ONE.items()
}
"""The same with a space in every place, all of them free that can be."""

RATIONAL = {name: network for name, network in (ONE_BY_ONE | AROUND).items() if not network.not_rational} | {
    "partial rotary": Architecture((2, 2), (3,), 3, rotary=QUARTER),
    "neighbours": Architecture((2, 2), (4,), 3, rotary=replace(TWO, pairs="neighbours")),
    "halves": Architecture((2, 2), (4,), 3, rotary=TWO, causal=True),
    "two groups": Architecture((2, 3), (1,), 2, heads=4, key_heads=2),
    "two groups with outputs": Architecture((2, 3), (1,), 2, heads=4, key_heads=2, value_ranks=(2,), biases="KV"),
    "query bias": Architecture((2, 2), (1,), 2, biases="Q"),
    "key bias": Architecture((2, 2), (1,), 2, biases="K"),
    "value bias": Architecture((2, 2), (1,), 2, biases="V", causal=True),
    "output bias": Architecture((2, 2), (1,), 2, biases="O", heads=2),
    "gate of degree three": Architecture((2, 1), (1,), 2, gated=[1, 0, -1, 2], neurons=(2,)),
    "gate and skip": Architecture((2, 2, 2), (1, 1), 2, gated="square", neurons=(1, 2), skip=True, embed=1, unembed=1),
    "all of them": Architecture(
        (2, 2, 2), (2, 3), 2, heads=2, key_heads=1, value_ranks=(1, 2), skip=True, causal=True, embed=1, unembed=2,
        rotary=QUARTER, biases="QKVO", gains=True, gated="identity", neurons=(1, 2),
    ),
}  # fmt: skip

SOFTMAX_ONLY = {
    "angles": Architecture((2, 2), (4,), 3, SOFTMAX, rotary=Rotary(base=100), causal=True),
    "angles of some": Architecture((2, 2), (4,), 3, SOFTMAX, rotary=Rotary(base=100, width=2, pairs="neighbours")),
    "Qwen3": Architecture(
        (2, 2), (2,), 2, SOFTMAX, heads=2, key_heads=1, value_ranks=(2,), skip=True, causal=True,
        rotary=Rotary(base=10000), gains=True, query_key_norm="1/1024", gated="silu", neurons=(3,),
    ),
    "GPT-2": Architecture(
        (2, 2), (1,), 2, SOFTMAX, heads=2, value_ranks=(1,), skip=True, causal=True, biases="QKVO",
        gated="gelu_new", neurons=(2,),
    ),
    "gelu": Architecture((2, 2), (1,), 2, SOFTMAX, gated="gelu", neurons=(2,)),
}  # fmt: skip
"""Networks that balls of real numbers alone can do."""
