"""What a sweep backwards through a network takes: memory, and how many inputs go through at once."""

from __future__ import annotations

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.rings.series_products import product_bytes

_BATCH_BYTES = 8 * 2**20
"""Of gradients, in each thread; half of it takes a third longer."""

_SWEEP_BYTES = 128 * 2**20
"""What a sweep may record: of more inputs at once than this holds the interpreter's work is a small part anyway."""

_NODE_BYTES = 2000
"""A recorded operation besides its entries: objects, closures, headers of arrays."""

_LARGEST_ORDER = 10**9
"""For estimates: no series this long fits anywhere, and degrees of deep networks have thousands of digits."""


def sweep_bytes(architecture: Architecture, order: int | None) -> tuple[int, int]:
    r"""Memory that one sweep needs: a part that does not grow with the batch, and a part for each of its inputs.

    Counts what the recorded operations keep. A series of degree `order` has $n = \lceil order / 2 \rceil$ coefficients
    that are not zero, all of them in one array.

    Example:
        >>> sweep_bytes(Architecture((2, 2), (1,), 2), None)
        (16000, 576)
    """
    architecture.require("an estimate of memory", SHAPED)
    n = 1 if order is None else (min(order, _LARGEST_ORDER) + 1) // 2
    t = architecture.tokens
    squares = 2 + architecture.causal + (0 if order is None else 3)
    nodes = entries = 0
    for i, a in enumerate(architecture.attention_ranks):
        d_out = architecture.widths[i + 1]
        inside = d_out if architecture.value_ranks is None else architecture.value_ranks[i]
        nodes += architecture.heads * (8 if order is None else 20)
        entries += n * architecture.heads * (squares * t * t + t * (3 * a + inside + 2 * d_out))
    temporaries, fixed = 4 * t * t, _NODE_BYTES * nodes
    if order is not None:
        largest = max(t, *architecture.widths, *architecture.attention_ranks)
        temporaries = n * t * (8 * t + 4 * largest + 5 * architecture.output_width)
        fixed += 2 * product_bytes(largest, t, n)
    # every recorded value once; of the gradients only those not yet passed on
    return fixed, 8 * (entries + entries // 4 + temporaries + 3 * architecture.parameter_count)


def inputs_at_once(parameters: int, each: int) -> int:
    """How many inputs are swept at once, each of which takes so many bytes.

    Example:
        >>> inputs_at_once(10**9, 2**20), inputs_at_once(64, 2**20)
        (1, 128)
    """
    return max(1, min(_BATCH_BYTES // (8 * parameters), _SWEEP_BYTES // each))
