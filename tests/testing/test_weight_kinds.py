"""Strategies for other people's tests: the degenerate weights are there, are what they are called, and shrink."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from lightning_sym import SOFTMAX, Architecture, BadInput, Label, Weights, classify, virtual_weights
from lightning_sym.exact.rational import rank
from lightning_sym.testing import architectures, exact_weights
from lightning_sym.testing.strategies import KINDS

OPTIONS = {"normalization", "heads", "value_ranks", "skip", "causal", "embed", "unembed"}


def heads_of(weights: Weights) -> list[tuple[Any, Any]]:
    """The attention matrix and the value matrix of each head."""
    named = weights.named()
    names = [name[1:] for name in named if name[0] == "Q"]
    return [
        (named[f"K{n}"].T @ named[f"Q{n}"], named[f"O{n}"] @ named[f"V{n}"] if f"O{n}" in named else named[f"V{n}"])
        for n in names
    ]


def is_of_kind(kind: str, weights: Weights) -> bool:
    pairs = heads_of(weights)
    if kind == "zero":
        return any(not v.any() for _, v in pairs)
    if kind == "rank one":
        return any(rank(a) <= 1 and rank(v) <= 1 for a, v in pairs)
    if kind == "equal heads":
        return any(
            np.array_equal(weights[f"Q{i}.1"], weights[f"Q{i}.2"]) for i in (1, 2) if f"Q{i}.2" in weights.matrices
        )
    if kind == "skew":
        return any(not (a + a.T).any() for a, _ in pairs)
    if kind == "boundary":
        return any(rank(a) <= 1 and rank(v) <= 1 and rank(np.vstack([a.T, v])) <= 1 for a, v in pairs)
    if kind == "shared factors":
        first, second = virtual_weights(weights.layers).attention[:2]
        return rank(first) <= 1 and rank(second) <= 1 and rank(np.hstack([first, second])) <= 1
    return kind == "any"


SHAPE = {
    "equal heads": Architecture((2, 2), (2,), 2, heads=2),
    "shared factors": Architecture((2, 2, 1), (2, 2), 2),
    "boundary": Architecture((2, 2), (2,), 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_what_it_is_called(kind: str) -> None:
    network = SHAPE.get(kind, Architecture((3, 2, 2), (2, 3), 2, value_ranks=(2, 2), embed=2))

    @settings(max_examples=40)
    @given(exact_weights(network, kinds={kind}, denominator=4))
    def check(weights: Weights) -> None:
        assert is_of_kind(kind, weights)
        assert weights.architecture(2) == network

    check()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_more_than_zero(kind: str) -> None:
    """And shrinks to few entries that are not zero."""
    network = SHAPE.get(kind, Architecture((2, 2), (2,), 2))
    letter = "O" if kind == "zero" else "V"
    if kind == "zero":
        network = Architecture((2, 2), (2,), 2, value_ranks=(2,))

    def interesting(weights: Weights) -> bool:
        named = weights.named()
        return all(m.any() for n, m in named.items() if n[0] in "QK" + letter)

    smallest = find(exact_weights(network, kinds={kind}), interesting)
    sizes = [abs(x) for m in smallest.named().values() for x in m.ravel() if x]
    assert max(sizes) == 1
    assert len(sizes) <= 2 * len(smallest.named())


def test_degenerate_weights_are_drawn_often() -> None:
    seen: Counter[str] = Counter()
    networks = [Architecture((2, 2, 2), (2, 2), 2), Architecture((2, 2), (2,), 2, heads=2)]

    @settings(max_examples=300)
    @given(st.sampled_from(networks).flatmap(exact_weights))
    def count(weights: Weights) -> None:
        two_layers = "Q2" in weights.matrices
        seen.update(k for k in KINDS if (k != "shared factors" or two_layers) and is_of_kind(k, weights))

    count()
    assert set(seen) == set(KINDS)
    assert min(seen.values()) >= 15, seen


def test_boundary_weights_are_boundary_points() -> None:
    labels: Counter[Label] = Counter()

    @settings(max_examples=30)
    @given(exact_weights(Architecture((3, 2), (2,), 2), kinds={"boundary"}))
    def check(weights: Weights) -> None:
        found = classify(weights, 2)
        a, v = heads_of(weights)[0]
        if a.any() and v.any():
            assert Label.BOUNDARY in found.labels
        labels.update(found.labels)

    check()
    assert labels[Label.BOUNDARY] > 5


def test_architectures_have_every_option() -> None:
    seen: set[str] = set()

    @settings(max_examples=200)
    @given(architectures(options=OPTIONS))
    def collect(network: Architecture) -> None:
        seen.update(network.options)
        assert network.depth <= 2
        assert max(*network.widths, *network.attention_ranks, network.tokens) <= 3

    collect()
    assert seen == OPTIONS
    assert find(architectures(), lambda network: True) == Architecture((1, 1), (1,), 1)
    assert find(architectures(options=OPTIONS), lambda n: n.normalization is SOFTMAX).options == {"normalization"}


def test_what_cannot_be_drawn_is_refused_in_a_line() -> None:
    network = Architecture((2, 2), (1,), 2)
    shape: Any = "2,2"
    for call, said in (
        (lambda: exact_weights(shape), "the network must be an Architecture, got str"),
        (lambda: architectures(options={"rotary"}), "options must be among .*got rotary"),
        (lambda: architectures(max_depth=0), "max_depth must be an integer of at least 1"),
        (lambda: exact_weights(network, kinds={"flat"}), "kinds must be among .*got flat"),
        (lambda: exact_weights(network, kinds={"equal heads"}), "of the kind equal heads must be asked of a network"),
        (lambda: exact_weights(network, bound=0), "the bound must be an integer of at least 1"),
        (lambda: exact_weights(network, denominator=0), "the denominator"),
    ):
        with pytest.raises(BadInput, match=said):
            call()


def test_without_hypothesis_all_else_works() -> None:
    script = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import lightning_sym.testing.plugin\n"
        "from lightning_sym import Architecture\n"
        "from lightning_sym.testing import architectures, assert_dimension\n"
        "assert_dimension(Architecture((2, 1), (1,), 2), 4)\n"
        "try:\n    architectures()\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "MissingExtra a strategy needs the extra `testing`: pip install hypothesis\n"
