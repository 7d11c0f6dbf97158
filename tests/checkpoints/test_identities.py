"""Every symmetry is an identity of rational functions: weights, stream and symmetry are variables.

Reciprocals of norms, exponentials, activations, cosines and sines are free: one variable for each argument. So two
halves of a layer agree only if all arguments do. Layers follow by induction: stream `x'` is `c R x`, with LayerNorm up
to a multiple of the vector of ones for each token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from naive_transformer import attended, normed, thought
from rational_functions import FreeFunctions, Variables
from sympy import Rational, cancel, symbols, sympify

from lightning_sym.checkpoints.bases import one_number
from lightning_sym.checkpoints.model import Block, CheckpointForm, Ends, MadeCheckpoint
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.stream import StreamAction
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry

Made = Callable[[Variables, CheckpointForm], tuple[LayerSymmetry, dict[str, Any]]]

GPT2 = CheckpointForm("gpt2", 1, 3, 2, 2, 2, 2, 2, 2, "layer", Fraction(1), None, "gelu_new", False)
LLAMA = CheckpointForm("llama", 1, 2, 2, 1, 2, 2, 2, 2, "rms", Fraction(1), Fraction(10), "silu", False)
QWEN = replace(LLAMA, family="qwen2")
TWO_GROUPS = replace(LLAMA, groups=2)
QWEN3 = replace(LLAMA, family="qwen3", head_norms="head")
FORMS = {"gpt2": GPT2, "llama": LLAMA, "qwen2": QWEN, "qwen3": QWEN3, "two groups": TWO_GROUPS}
T = 2


def written(stream: StreamAction, array: Any) -> Any:
    """What is added to the stream: `c R`."""
    found = stream.map.turned(array, array.ndim - 1, array.ndim, stream.ring)
    return stream.ring.times(found, one_number(stream.map.scale, stream.ring))


def generic(v: Variables, form: CheckpointForm) -> MadeCheckpoint:
    """A checkpoint of variables; biases in queries, keys and values too, in outputs but for Qwen."""
    d, a, m, layer = form.width, form.head_width, form.inner, form.norm == "layer"
    gated, biased = form.activation == "silu", form.family != "llama"
    block = Block(
        norm1_gain=v.array(d), norm1_bias=v.array(d) if layer else None,
        query=v.array(form.heads, a, d), query_bias=v.array(form.heads, a) if biased else None,
        key=v.array(form.groups, a, d), key_bias=v.array(form.groups, a) if biased else None,
        value=v.array(form.groups, a, d), value_bias=v.array(form.groups, a) if biased else None,
        output=v.array(form.heads, d, a), output_bias=v.array(d) if layer else None,
        norm2_gain=v.array(d), norm2_bias=v.array(d) if layer else None,
        gate=v.array(m, d) if gated else None, gate_bias=v.array(m) if gated else None,
        up=v.array(m, d), up_bias=v.array(m), down=v.array(d, m), down_bias=v.array(d),
        query_norm_gain=v.array(a) if form.head_norms else None, key_norm_gain=v.array(a) if form.head_norms else None,
    )  # fmt: skip
    ends = Ends(
        v.array(form.vocabulary, d), None if form.theta is not None else v.array(form.context, d), v.array(d),
        v.array(d) if layer else None, None if form.tied else v.array(form.vocabulary, d),
    )  # fmt: skip
    return MadeCheckpoint(form, ends, (block,))


def rotation(t: int, form: CheckpointForm) -> Any:
    """The rotation of the plane, with LayerNorm of three coordinates around the ones, that belongs to a parameter.

    Both sides of the identities are of degree 8 in the parameter at most, over a power of `1 + t^2` or `1 + 3 t^2`:
    four turns in a score, three in what a head writes. So nine of them prove it for all.
    """
    if form.norm == "rms":
        return np.array([[1 - t * t, -2 * t], [2 * t, 1 - t * t]], dtype=object) * Fraction(1, 1 + t * t)
    once, twice, stays = 2 * t * t - 2 * t, 2 * t * t + 2 * t, 1 - t * t
    rows = np.array([[stays, once, twice], [twice, stays, once], [once, twice, stays]], dtype=object)
    return rows * Fraction(1, 1 + 3 * t * t)


def folded(v: Variables, form: CheckpointForm) -> LayerSymmetry:
    gain1, gain2 = v.array(form.width), v.array(form.width)
    if form.norm == "rms":
        return LayerSymmetry(gain1=gain1, gain2=gain2)
    return LayerSymmetry(gain1=gain1, gain2=gain2, bias1=v.array(form.width), bias2=v.array(form.width))


def to_ones(form: CheckpointForm) -> LayerSymmetry:
    one, zero = np.ones(form.width), np.zeros(form.width)
    if form.norm == "rms":
        return LayerSymmetry(gain1=one, gain2=one)
    return LayerSymmetry(gain1=one, gain2=one, bias1=zero, bias2=zero)


def ones_shifts(v: Variables, form: CheckpointForm) -> LayerSymmetry:
    h, g, a, m = form.heads, form.groups, form.head_width, form.inner
    return LayerSymmetry(
        query_shift=v.array(h, a), key_shift=v.array(g, a), value_shift=v.array(g, a), up_shift=v.array(m),
        output_shift=v.array(h, a), down_shift=v.array(m), output_bias_shift=Fraction(3, 7), down_bias_shift=0.5,
    )  # fmt: skip


SYMMETRIES: dict[str, tuple[tuple[str, ...], Made]] = {
    "heads": (
        ("gpt2", "llama", "qwen2", "qwen3", "two groups"),
        lambda v, f: (LayerSymmetry(heads=np.array([1, 0])), {}),
    ),
    "values": (
        ("gpt2", "llama", "qwen2", "qwen3"),
        lambda v, f: (LayerSymmetry(values=v.array(f.groups, f.head_width, f.head_width)), {}),
    ),
    "queries": (("gpt2",), lambda v, f: (LayerSymmetry(queries=v.array(f.groups, f.head_width, f.head_width)), {})),
    "turns": (("llama", "qwen2", "two groups"), lambda v, f: (LayerSymmetry(turns=v.array(f.groups, 1, 2)), {})),
    "gain factors": (
        ("qwen3",),
        lambda v, f: (LayerSymmetry(gain_factors=np.array([[1.5, -1.5], [Fraction(-2, 3), Fraction(-2, 3)]])), {}),
    ),
    "key bias": (("gpt2",), lambda v, f: (LayerSymmetry(key_bias=v.array(f.groups, f.head_width)), {})),
    "value bias": (("gpt2",), lambda v, f: (LayerSymmetry(value_bias=v.array(f.groups, f.head_width)), {})),
    "neurons": (("gpt2", "llama"), lambda v, f: (LayerSymmetry(neurons=np.array([1, 0])), {})),
    "ups": (("llama", "qwen2"), lambda v, f: (LayerSymmetry(ups=v.array(f.inner)), {})),
    "gains": (("gpt2", "llama", "qwen2", "qwen3"), lambda v, f: (folded(v, f), {})),
    "ones shifts": (("gpt2",), lambda v, f: (ones_shifts(v, f), {})),
    "order": (
        ("gpt2", "llama"),
        lambda v, f: (LayerSymmetry(), {"order": np.roll(np.arange(f.width), 1), "signs": -np.ones(f.width)}),
    ),
    "signs": (("llama",), lambda v, f: (LayerSymmetry(), {"signs": np.array([1, -1])})),
    "scale": (("gpt2", "llama", "qwen2", "qwen3"), lambda v, f: (LayerSymmetry(), {"scale": Fraction(3, 2)})),
}

for t in range(1, 10):
    SYMMETRIES[f"rotation {t}"] = (
        ("gpt2", "llama", "qwen2"),
        lambda v, f, t=t: (to_ones(f), {"rotation": rotation(t, f), "final_gain": np.ones(f.width)}),  # type: ignore[misc]
    )

CASES = [(name, form) for name, (forms, _) in SYMMETRIES.items() for form in forms]


def same_up_to_ones(first: Any, second: Any, form: CheckpointForm) -> bool:
    """Equal, with LayerNorm up to a multiple of the ones for each token."""
    rest = first - second
    return all(all(x == (row[0] if form.norm == "layer" else 0) for x in row) for row in rest)


@pytest.mark.parametrize(("name", "family"), CASES)
def test_symmetry_is_an_identity(name: str, family: str) -> None:
    form, v = FORMS[family], Variables()
    one = generic(v, form)
    layer, parts = SYMMETRIES[name][1](v, form)
    two = apply(Symmetry((layer,), **parts), one)
    free = FreeFunctions(v)
    x = v.array(T, form.width)
    moved = written(two.stream, x)
    if form.norm == "layer":
        moved = moved + v.array(T, 1)
    for half in (attended, thought):
        before, after = half(x, one.block(0), form, free), half(moved, two.block(0), two.form, free)
        assert same_up_to_ones(after, written(two.stream, before), form), half.__name__
    ends, new = one.ends(), two.ends()
    logits = normed(x, ends.final_gain, ends.final_bias, form, free) @ ends.unembedding.T  # type: ignore[union-attr]
    again = normed(moved, new.final_gain, new.final_bias, two.form, free) @ new.unembedding.T  # type: ignore[union-attr]
    assert (logits == again).all()
    tokens, places = ends.embedding, np.zeros(1, dtype=object) if ends.positions is None else ends.positions
    writes, where = new.embedding, np.zeros(1, dtype=object) if new.positions is None else new.positions
    assert same_up_to_ones(writes[:1] + where[:1], written(two.stream, tokens[:1] + places[:1]), form)


def ends_of(form: CheckpointForm, v: Variables, **gains: Any) -> MadeCheckpoint:
    one = generic(v, form)
    return replace(one, outer=replace(one.outer, **gains))


def test_rotation_of_a_tied_embedding_inside_equal_gains() -> None:
    v, form = Variables(), replace(LLAMA, width=3, tied=True)
    g, h = v.array(2)
    one = ends_of(form, v, final_gain=np.array([g, h, h], dtype=object))
    w = v.array(2)
    turn = np.array([[Fraction(int(i == j)) for j in range(3)] for i in range(3)], dtype=object)
    turn[1:, 1:] = turn[1:, 1:] - 2 * np.outer(w, w) / sum(w * w)
    turn = turn[[2, 0, 1]]
    two = apply(Symmetry((to_ones(form),), rotation=turn, scale=Fraction(5)), one)
    free, x = FreeFunctions(v), v.array(T, 3)
    ends, new = one.ends(), two.ends()
    logits = normed(x, ends.final_gain, None, form, free) @ ends.embedding.T
    again = normed(written(two.stream, x), new.final_gain, None, two.form, free) @ new.embedding.T
    assert new.unembedding is None
    assert (logits == again).all()


@pytest.mark.parametrize("tied", [True, False])
def test_shifts_and_moves_of_embeddings(tied: bool) -> None:
    v, form = Variables(), replace(GPT2, tied=tied)
    gains: dict[str, Any] = {}
    if tied:
        bias = v.array(3)
        bias[2] = -bias[0] - bias[1]
        gains = {"final_gain": np.array([v.one()] * 3, dtype=object), "final_bias": bias}
    one = ends_of(form, v, **gains)
    parts: dict[str, Any] = {"embedding_shift": v.array(2), "positions_shift": v.array(2)}
    if not tied:
        parts["moved"] = v.array(3)
    two = apply(Symmetry((LayerSymmetry(),), **parts), one)
    ends, new = one.ends(), two.ends()
    assert ends.positions is not None
    assert new.positions is not None
    assert same_up_to_ones(new.embedding + new.positions, ends.embedding + ends.positions, form)
    free, x = FreeFunctions(v), v.array(T, 3)
    logits = normed(x, ends.final_gain, ends.final_bias, form, free)
    again = normed(x, new.final_gain, new.final_bias, form, free)
    read = (ends.embedding, new.embedding) if tied else (ends.unembedding, new.unembedding)
    assert (logits @ np.asarray(read[0]).T == again @ np.asarray(read[1]).T).all()


def test_shift_of_an_unembedding() -> None:
    v, form = Variables(), GPT2
    gain, bias = v.array(3), v.array(3)
    bias[2] = -gain[2] * (bias[0] / gain[0] + bias[1] / gain[1])
    one = ends_of(form, v, final_gain=gain, final_bias=bias)
    two = apply(Symmetry((LayerSymmetry(),), unembedding_shift=v.array(2)), one)
    free, x = FreeFunctions(v), v.array(T, 3)
    found = [normed(x, gain, bias, form, free) @ c.ends().unembedding.T for c in (one, two)]  # type: ignore[union-attr]
    assert (found[0] == found[1]).all()


def test_quotients_are_in_lowest_terms_as_sympys_are() -> None:
    x, y, z = Variables().array(3)
    found = ((x**2 - y**2) / (3 * x - 3 * y) + Fraction(1, 2) / z) / (z - 1 / x) - 0.25
    a, b, c = symbols("z0:3")
    expected = ((a**2 - b**2) / (3 * a - 3 * b) + Rational(1, 2) / c) / (c - 1 / a) - Rational(1, 4)
    assert cancel(sympify(str(found).replace("^", "**")) - expected) == 0
    assert found == (2 * x**2 * z + 2 * x * y * z + 3 * x) / (6 * x * z**2 - 6 * z) - Fraction(1, 4)
    assert hash(x * y / (y * z)) == hash(x / z)
    assert (x**2 - y**2) / (x - y) == x + y != x - y
    with pytest.raises(ZeroDivisionError):
        x / (y - y)
