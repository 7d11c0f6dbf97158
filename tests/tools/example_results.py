"""One public result of every kind, small: the table that tests of how results look and travel run over."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from sympy import Symbol

from lightning_sym import (
    SOFTMAX,
    Architecture,
    Family,
    NetworkForm,
    Rotary,
    Sweep,
    Trial,
    Weights,
    canonical,
    certified_dimension,
    circuits,
    classify,
    coefficients_between,
    compare_fingerprints,
    compare_logits,
    conserved_quantities,
    deep_linear_coefficient,
    equations,
    factorization_coefficient,
    fiber,
    fingerprint,
    function_limit,
    layer_orbits,
    learning_coefficient,
    linear_attention_coefficient,
    load_weights,
    one_head_coefficient,
    open_checkpoint,
    polynomial_coefficient,
    polynomial_map,
    query_plan,
    recover,
    recover_from_jet,
    rescale,
    same_checkpoints,
    same_function,
    singular_locus,
    softmax_jet,
    symmetries_of,
    transform,
    transformer_conditions,
    variety_degree,
    virtual_weights,
)
from lightning_sym.atlas.sweep import measure
from lightning_sym.checkpoints.random_symmetries import random_symmetry
from lightning_sym.rings.ball_matrices import DecimalBall
from lightning_sym.testing import small_checkpoint

ROOT = Path(__file__).parents[2]


def example(name: str) -> Weights:
    return load_weights(ROOT / "examples" / f"{name}.json")


GENERIC, RESCALED, RANK_ONE, SINGULAR = map(example, ("generic", "generic_rescaled", "rank_one", "singular"))
DEEP = Weights.random(Architecture((2, 2, 1), (1, 2), 2), seed=3)
SKEW = Weights.of({"Q1": [[0, 1], [-1, 0]], "K1": [[1, 0], [0, 1]], "V1": [[3, 4]]})
SURD = Weights.of({"Q1": [[1, 0], [0, -2]], "K1": [[1, 0], [0, 1]], "V1": [[3, 4]]})
ZERO = Weights.of({"Q1": [[1, 0]], "K1": [[1, 0]], "V1": [[0, 0]]})
DEAD = Weights.of({f"{c}{i}": [[0 if c == "V" else 1]] for c in "QKV" for i in (1, 2)})
EQUAL = {f"{c}1.{h}": [[h if c == "V" else 2]] for c in "QKV" for h in (1, 2)}
EQUAL_HEADS = Weights.of(EQUAL, NetworkForm(SOFTMAX, skip=True))
TWO_HEADS = Weights.random(Architecture((2, 2), (1,), 2, heads=2, normalization=SOFTMAX, skip=True), seed=1)
HEADS = Architecture((3, 3), (1,), 2, heads=2, value_ranks=(1,), skip=True, causal=True, normalization=SOFTMAX)

MEASURED = measure([HEADS], 0, 2**30, certificates=False)[0]
JET = softmax_jet(RANK_ONE.with_form(NetworkForm(SOFTMAX)), 3)

SMALLEST = {"layers": 1, "heads": 1, "head_width": 2, "inner": 1, "vocabulary": 2}
LLAMA, OTHER = (small_checkpoint("llama", seed=seed, **SMALLEST) for seed in (1, 2))  # type: ignore[arg-type]
CHECKPOINTS = [open_checkpoint(ROOT / "examples" / "checkpoints" / name) for name in ("model", "one_unit")]
PRINTS = [fingerprint(checkpoint) for checkpoint in (LLAMA, OTHER)]

RESULTS: dict[str, Any] = {
    "family": Family.of({"depth": "1..2", "widths": 2, "ranks": 1, "tokens": 2}),
    "sweep": Sweep("atlas.sqlite", 3, 1, {"certified": 4}),
    "trial": Trial("l + t", 5, 2, 1, 0, MEASURED, 3),
    "trial that holds": Trial("l + t", 5, 0, 0, 0, None, None),
    "coefficient of polynomials": polynomial_coefficient("x*y, z"),
    "bounds of a model": linear_attention_coefficient(4, 8, teacher=1),
    "coefficient of one head": one_head_coefficient(2, 2, 2, teacher=1),
    "coefficient of a deep linear network": deep_linear_coefficient([2, 2, 2, 2]),
    "coefficient of factors": factorization_coefficient([[[1, 0]], [[0]]]),
    "architecture": HEADS,
    "form": NetworkForm(SOFTMAX, causal=True),
    "plain form": NetworkForm(),
    "form with variants": NetworkForm(biases="QK", rotary=Rotary([("3/5", "4/5")]), gated=(0, "1/2")),
    "rotary": Rotary(base=10000, width=2),
    "normalization": SOFTMAX,
    "weights": GENERIC,
    "fractions": Weights.of({"Q1": [[Fraction(1, 3)]], "K1": [[0.5]], "V1": [[-2]]}),
    "heads": Weights.random(HEADS, seed=1, denominator=5),
    "layer": GENERIC.layers[0],
    "virtual weights": virtual_weights(DEEP),
    "map": polynomial_map(Architecture((2, 1), (1,), 2)),
    "map of numbers": polynomial_map(GENERIC.architecture(2), GENERIC),
    "rank at a point": polynomial_map(GENERIC.architecture(2)).jacobian_rank(GENERIC),
    "generic rank": polynomial_map(Architecture((2, 1), (1,), 2)).generic_rank(),
    "map that is zero": polynomial_map(ZERO.architecture(2), ZERO),
    "dimension": certified_dimension(Architecture((4, 4, 4), (2, 2), 3), all_bounds=True),
    "softmax": certified_dimension(HEADS),
    "same": same_function(GENERIC, RESCALED),
    "exchanged": same_function(RANK_ONE, example("rank_one_swapped")),
    "different": same_function(RANK_ONE, example("two_layers")),
    "equal zeros": same_function(ZERO, ZERO),
    "identical": same_function(GENERIC.with_form(NetworkForm(SOFTMAX)), GENERIC.with_form(NetworkForm(SOFTMAX))),
    "streams": same_function(TWO_HEADS, transform(TWO_HEADS, query_key={"1.1": [[2]]}, heads={1: [2, 1]})),
    "balls": same_function(TWO_HEADS, Weights.of(TWO_HEADS.named() | {"Q1.1": [[1, 1]]}, TWO_HEADS.form)),
    "ball": DecimalBall(Fraction(1, 4), Fraction(1, 1000)),
    "fiber": fiber(RANK_ONE),
    "fiber of two layers": fiber(DEEP),
    "fiber at one token": fiber(SKEW, tokens=1),
    "real fiber": fiber(SURD, tokens=1),
    "fiber of zero": fiber(ZERO),
    "lightning fiber": fiber(example("lightning_heads"), 3),
    "fiber of a skipped layer": fiber(GENERIC.with_form(NetworkForm(causal=True))),
    "softmax fiber": fiber(GENERIC.with_form(NetworkForm(SOFTMAX, skip=True)), 3),
    "causal softmax fiber": fiber(DEEP.with_form(NetworkForm(SOFTMAX, causal=True)), 2),
    "fiber of equal heads": fiber(EQUAL_HEADS, 3),
    "canonical": canonical(GENERIC.with_form(NetworkForm(SOFTMAX, skip=True)), 3),
    "conditions": transformer_conditions(EQUAL_HEADS),
    "circuits": circuits(LLAMA),
    "circuits without conditions": circuits(small_checkpoint("gpt2", layers=1, heads=1), conditions=False),
    "fingerprint": PRINTS[0],
    "no difference seen": compare_fingerprints(PRINTS[0], PRINTS[0]),
    "same checkpoints": same_checkpoints(LLAMA, LLAMA),
    "different checkpoints": same_checkpoints(LLAMA, OTHER, work=1e-9),  # which leaves nothing for known mistakes
    "symmetries of a model": symmetries_of(LLAMA),
    "symmetry": random_symmetry(small_checkpoint("gpt2", layers=1, heads=1), ["values", "scale"]),
    "logits of two": compare_logits(LLAMA, OTHER, [1, 0]),
    "rounded checkpoint": same_checkpoints(*CHECKPOINTS, ids=[1, 2]),
    "fingerprints apart": compare_fingerprints(*PRINTS),
    "singular": classify(SINGULAR),
    "two layers": classify(DEEP),
    "point at one token": classify(GENERIC, tokens=1),
    "limit of a family": function_limit(rescale(GENERIC, layer=1, by=Symbol("eps"))),
    "coefficient": learning_coefficient(GENERIC),
    "coefficient by bounds": learning_coefficient(example("lightning_heads"), 2),
    "bounds of a coefficient": learning_coefficient(DEAD),
    "coefficients on a line": coefficients_between(RANK_ONE, ZERO, steps=1),
    "orbits": layer_orbits(Architecture((2, 2), (2,), 2)),
    "singular locus": singular_locus(Architecture((2, 1), (2,), 2)),
    "equations": equations(Architecture((2, 1), (1,), 2)),
    "degree": variety_degree(Architecture((3, 2), (2,), 2)),
    "open degree": variety_degree(Architecture((2, 2, 2, 1), (2, 2, 2), 2)),
    "recovered": recover(polynomial_map(RANK_ONE.architecture(2), RANK_ONE)),
    "jet": JET,
    "recovered from a jet": recover_from_jet(JET),
    "query plan": query_plan(JET.architecture, bound=2, denominators=3),
    "conserved": conserved_quantities(Architecture((2, 2), (2,), 2)),
    "visible": same_function(GENERIC.with_form(NetworkForm(SOFTMAX)), RESCALED.with_form(NetworkForm(SOFTMAX))),
}
