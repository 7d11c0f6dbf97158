"""Small softmax networks whose fibers are certified, one for each theorem, and what is changed to make bad ones."""

from __future__ import annotations

from typing import Any

from lightning_sym import SOFTMAX, Architecture, Weights
from lightning_sym.network.form import NetworkForm

Document = dict[str, Any]
EYE, SKEW, NOTHING = [[1, 0], [0, 1]], [[0, 1], [-1, 0]], [[0, 0], [0, 0]]


def _drawn(widths: tuple[int, ...], tokens: int, seed: int = 4, rank: int = 1, **options: Any) -> tuple[int, Weights]:
    shape = Architecture(widths, (rank,) * (len(widths) - 1), tokens, normalization=SOFTMAX, **options)
    return tokens, Weights.random(shape, seed=seed, bound=3)


def _named(tokens: int, matrices: Document, *, causal: bool = False, skip: bool = False) -> tuple[int, Weights]:
    return tokens, Weights.of(matrices, NetworkForm(SOFTMAX, causal=causal, skip=skip))


def _layers(*scores: Any) -> Document:
    """One head a layer, with these matrices Q, K and V the unit matrix."""
    return {f"{c}{i}": q if c == "Q" else EYE for i, q in enumerate(scores, 1) for c in "QKV"}


def _with_a_skew_head(tokens: int) -> tuple[int, Weights]:
    _, w = _drawn((2, 2, 2), tokens, seed=2, rank=2, heads=2, skip=True, embed=2, unembed=2)
    return tokens, Weights.of({**w.named(), "Q1.1": SKEW, "K1.1": EYE}, w.form)


def _equal(tokens: int, depth: int) -> tuple[int, Weights]:
    """The two heads of layer 1 have equal scores."""
    _, w = _drawn((2,) * (depth + 1), tokens, heads=2, skip=True)
    return tokens, Weights.of({**w.named(), "Q1.2": w["Q1.1"], "K1.2": w["K1.1"]}, w.form)


def _dependent(tokens: int) -> tuple[int, Weights]:
    """Values of three heads are dependent, but no set of them adds up to zero."""
    _, w = _drawn((2, 2), tokens, heads=3)
    return tokens, Weights.of({**w.named(), "V1.3": w["V1.1"] + w["V1.2"]}, w.form)


FIBERS: dict[str, tuple[int, Weights]] = {
    "fiber_residual": _drawn((2, 2, 2), 2, heads=2, value_ranks=(1, 1), skip=True, causal=True, embed=3, unembed=2),
    "fiber_unmasked": _drawn((2, 2, 2), 3, heads=2, embed=2),
    "fiber_narrow": _drawn((3, 3, 3), 3, seed=5, heads=2, skip=True, causal=True, embed=2, unembed=3),
    "fiber_words": _drawn((3, 3, 3, 3), 3, seed=5, rank=2, heads=2, skip=True, embed=2),
    "fiber_blocks": _with_a_skew_head(4),
    "fiber_two_tokens": _drawn((3, 3, 3), 2, heads=1, skip=True, embed=2, unembed=3),
    "fiber_one_layer": _equal(3, 1),
    "fiber_blind": _named(2, _layers(EYE, SKEW, EYE)),
    "fiber_skew": _named(2, _layers(SKEW, NOTHING, EYE, SKEW), causal=True),
    "fiber_dependent_values": _dependent(2),
    "fiber_equal_heads": _equal(2, 2),
}


def _lightning(
    tokens: int, widths: tuple[int, ...], ranks: tuple[int, ...], *, skip: bool = True, **options: Any
) -> tuple[int, Weights]:
    return tokens, Weights.random(Architecture(widths, ranks, tokens, skip=skip, **options), seed=2, bound=3)


TENSORS: dict[str, tuple[int, Weights]] = {
    "tensors_determined": _lightning(2, (3, 3, 3), (1, 1), value_ranks=(2, 2), embed=3, unembed=4),
    "tensors_of_heads": _lightning(3, (2, 2, 2), (2, 1), heads=2, causal=True),
    "cubic_forms": _lightning(1, (2, 2, 2), (1, 1), value_ranks=(1, 1)),
    "tensors_without_skip": _lightning(3, (2, 2, 3), (2, 2), skip=False, heads=2, embed=3, causal=True),
    "tensors_of_two_background": (
        3,
        Weights.of(
            {"Q1": SKEW, "K1": EYE, "V1": EYE, "Q2": [[1, 2], [0, 1]], "K2": EYE, "V2": [[1, 0], [1, 1]]},
            NetworkForm(skip=True),
        ),
    ),
}
"""Lightning networks whose layer tensors are determined."""
