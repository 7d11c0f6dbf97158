"""Two bounds for a fiber near given weights: against exact ranks, balls, and the functions themselves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from small_transformers import changed, has_rank, moved
from special_weights import drawn_network

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Normalization, Weights, network_output
from lightning_sym.errors import BadInput
from lightning_sym.exact.rational import rank
from lightning_sym.exact.subspaces import Subspace
from lightning_sym.fibers import frames
from lightning_sym.fibers import kept_layers as kept
from lightning_sym.fibers import local_dimension as bounds
from lightning_sym.fibers.local_dimension import LocalDimension, local_dimension
from lightning_sym.limits import Work
from lightning_sym.network.jacobian_rank import jacobian_at
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, random_residues
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.symmetries.families import directions_mod_p
from lightning_sym.symmetries.point import Point

P = PRIMES[0]


def near(weights: Weights, tokens: int, **options: Any) -> LocalDimension:
    found = local_dimension(weights, tokens, **options)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_upper_bound_is_the_exact_kernel_over_the_rationals(seed: int) -> None:
    """All coefficients of the map, differentiated over Q: nothing of it runs modulo a prime or at random inputs."""
    generator, met = random.Random(seed), 0
    for _ in range(12):
        architecture, weights = drawn_network(generator, None, 40)
        if architecture.degree * architecture.tokens * architecture.input_width > 40:
            continue
        numbers = [x for name, _ in architecture.weight_shapes() for x in weights[name].ravel()]
        rows = list(jacobian_at(architecture, numbers, 2**27).values())
        found = near(weights, architecture.tokens)
        kernel = architecture.parameter_count - (rank(rows) if rows else 0)
        assert found.orbit <= found.lower <= kernel == found.upper, (architecture, weights)
        met += found.value is not None
    assert met > 3


@pytest.mark.parametrize("seed", range(3))
def test_balls_see_the_rank_of_softmax_networks(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(4):
        architecture, weights = drawn_network(generator, SOFTMAX, 20)
        found, parameters = near(weights, architecture.tokens), architecture.parameter_count
        inputs = 2 + 3 * parameters // (architecture.output_width * architecture.tokens)
        assert has_rank(weights, architecture.tokens, parameters - found.upper, inputs)
        assert not has_rank(weights, architecture.tokens, parameters - found.lower + 1, inputs)


@pytest.mark.parametrize(("tokens", "asked"), [(2, [True]), (1, [True, False])])
def test_directions_beside_the_group_are_asked_where_its_orbit_does_not_fill_the_fiber(
    tokens: int, asked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One token sees the symmetric part of `A` alone."""
    weights, made = Weights.random(Architecture((2, 2), (2,), tokens), seed=1), list[bool]()

    def listed(*point: Any, symmetry: bool) -> Iterator[PrimeFieldMatrix]:
        made.append(symmetry)
        return directions_mod_p(*point, symmetry=symmetry)

    monkeypatch.setattr(bounds, "directions_mod_p", listed)
    found = near(weights, tokens)
    assert (made, found.is_orbit) == (asked, tokens == 2)
    assert found.value == found.orbit + len(asked) - 1


def test_other_normalizations_have_their_series() -> None:
    geometric = Normalization("1/(1 - y)", lambda k: Fraction(1))
    architecture = Architecture((2, 2, 2), (1, 1), 2, geometric, heads=2, skip=True)
    assert near(Weights.random(architecture, seed=1), 2).is_orbit


@pytest.mark.parametrize("constant", [Fraction(1), Fraction(PRIMES[0]), Fraction(1, PRIMES[0])])
def test_no_prime_that_a_series_cannot_have(constant: Fraction) -> None:
    """1 + y / P, P + y, 1 / P + y: the first prime divides what the series is divided by, so another one is taken."""
    slope = Fraction(1, PRIMES[0]) if constant == 1 else Fraction(1)
    scores = Normalization("c + s y", lambda k: (constant, slope)[k] if k < 2 else Fraction(0))
    assert near(Weights.random(Architecture((2, 2), (1,), 2, scores, skip=True), seed=1), 2).is_orbit


def residue_output(architecture: Architecture, matrices: list[PrimeFieldMatrix], x: PrimeFieldMatrix) -> Any:
    return network_output(x, architecture, matrices).residues()


def kept_changes(weights: Weights, tokens: int, generator: np.random.Generator) -> Iterator[np.ndarray[Any, Any]]:
    """Of each frame some sums of random changes, one family of each place."""
    for choice in range(12):
        for places in kept.kept_layers(weights, tokens, P, Work()):
            total = np.zeros(weights.architecture(tokens).parameter_count, dtype=np.int64)
            for place in places:
                families = list(place)
                if families:
                    family = families[(choice * 5 + len(families)) % len(families)]
                    total += generator.integers(0, P, size=len(family)) @ (family % P) % P
            yield total % P


def all_kept(count: int) -> bool:
    """Whether changes of some lightning networks, of any size, keep their functions."""
    generator, source = np.random.default_rng(1), random.Random(5)
    for _ in range(count):
        architecture, weights = drawn_network(source, None, 40)
        field = PrimeFieldMatrix.of(np.array([[1]]), P)
        matrices = [field.like(weights[name]) for name, _ in architecture.weight_shapes()]
        x = random_residues(generator, (architecture.input_width, architecture.tokens), P)
        output = residue_output(architecture, matrices, x)
        for change in kept_changes(weights, architecture.tokens, generator):
            parts, start = [], 0
            for matrix in matrices:
                size = matrix.entries.size
                step = change[start : start + size].reshape(matrix.shape)
                parts.append(PrimeFieldMatrix.of(matrix.residues() + step, P))
                start += size
            if (residue_output(architecture, parts, x) != output).any():
                return False
    return True


def _without(*names: str) -> Any:
    chosen = frames.frames

    def broken(weights: Weights, shape: Architecture, budget: Work) -> Iterator[Any]:
        for frame in chosen(weights, shape, budget):
            parts = {
                "forms": [RationalMatrix.zero(0, form.shape[1]) for form in frame.forms],
                "spaces": [space.mT.rows(range(min(1, space.shape[1]))).mT for space in frame.spaces],
            }
            yield frame._replace(**{name: parts[name] for name in names})

    return broken


def test_changes_of_any_size_keep_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept._LayerOnFrame, "_as_one", lambda *_: iter(()))  # these are curves: only tangents are given
    assert all_kept(25)
    for mutant in (("forms",), ("spaces",)):
        with monkeypatch.context() as patch:
            patch.setattr(kept, "frames", _without(*mutant))
            assert not all_kept(10), mutant
    with monkeypatch.context() as patch:
        patch.setattr(Subspace, "orthogonal", lambda space: RationalMatrix.zero(space.basis.shape[0], 0))
        assert not all_kept(10)  # what is written need not stay in the frame


HEADS = Architecture((3, 3, 3), (1, 2), 2, heads=2, skip=True)
WIDE = Architecture((3, 3, 3), (1, 1), 3, heads=2, skip=True, embed=4, unembed=4, value_ranks=(1, 2))
SPECIAL: list[tuple[Architecture, dict[str, str], int]] = [
    # GL(1) and GL(2) of two heads, four rescalings
    (HEADS, {}, 2 * 1 + 2 * 4 + 4),
    # all Q and K of a head that writes nothing, and the scales of three heads
    (HEADS, {"V1_1": "0V1.1"}, 6 + 1 + 2 * 4 + 3),
    # V of a head that scores nothing, and K, as Q is zero
    (HEADS, {"Q1_1": "0Q1.1"}, 9 + 3 + 1 + 1 + 2 * 4 + 2),
    # V of two heads with one sum: the rescaling of one head against the other comes with it
    (HEADS, {"Q1_2": "Q1.1", "K1_2": "K1.1"}, 9 + 2 + 2 + 2 * 4 + 2),
    # bases of the stream, GL(1) of four heads and GL(b), rescalings
    (WIDE, {}, 9 + 4 + 2 + 8 + 4),
    # two heads with b = 1 as one with b = 2
    (WIDE, {"Q1_2": "Q1.1", "K1_2": "K1.1"}, 9 + 4 + 4 + 8 + 4),
]


@pytest.mark.parametrize(("architecture", "change", "dimension"), SPECIAL)
def test_special_weights(architecture: Architecture, change: dict[str, str], dimension: int) -> None:
    weights = Weights.random(architecture, seed=1, bound=4)
    named = {new: (0 if old[0] == "0" else 1) * weights[old.lstrip("0")] for new, old in change.items()}
    found = near(changed(weights, **named), architecture.tokens)
    assert found.value == dimension
    assert found.is_orbit is not bool(change)


def test_zero_weights_are_not_taken_for_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """q k v = 0 is three planes at 0: no manifold, dimension two, and a differential that is zero."""
    zero = Weights.of({"Q1": [[0]], "K1": [[0]], "V1": [[0]]})
    assert near(zero, 2) == LocalDimension(2, 3, 0, near(zero, 2).shown_by)
    assert near(changed(zero, V1=[[1]]), 2)[:3] == (1 + 1, 3, 1)
    two = Weights.of({f"{c}{i}": [[0]] for c in "QKV" for i in (1, 2)})
    found = near(two, 2)
    assert found.lower == 5 < found.upper == 6
    # a mutant: points that are not generic enough taken for generic ones
    monkeypatch.setattr(Point, "is_generic", True)
    assert near(two, 2).lower == 6


@pytest.mark.parametrize("normalization", [None, SOFTMAX])
def test_bounds_are_the_same_all_along_an_orbit(normalization: Normalization | None) -> None:
    architecture = Architecture(
        (2, 2, 2), (2, 1), 3, normalization, heads=2, value_ranks=(1, 2), skip=True, embed=2, unembed=3
    )
    weights = Weights.random(architecture, seed=2, bound=3)
    for special in (weights, changed(weights, Q1_2=weights["Q1.1"], K1_2=weights["K1.1"])):
        found = near(special, 3)
        assert found.value is not None
        assert near(moved(special, seed=7), 3) == found


def test_where_the_bounds_are_not_computed() -> None:
    weights = Weights.random(HEADS, seed=1)
    assert local_dimension(weights, 2, budget=Work(1e-9)) is None
    assert local_dimension(weights, 2001) is None
    assert local_dimension(Weights.random(Architecture((30, 30), (12,), 2, heads=2), seed=1), 2) is None
    product = Fraction(1)
    for p in PRIMES:
        product /= p
    assert local_dimension(changed(weights, V1_1=product * weights["V1.1"]), 2) is None
    third = changed(weights, V1_1=Fraction(1, PRIMES[0]) * weights["V1.1"])
    assert near(third, 2) == near(weights, 2)
    assert local_dimension(Weights.random(Architecture((1,) * 6, (1,) * 5, 2, SOFTMAX), seed=1), 2) is None


def test_what_is_given_must_be_weights_of_numbers() -> None:
    from lightning_sym import fiber

    with pytest.raises(BadInput) as caught:
        fiber(Weights.of({"Q1": [["q"]], "K1": [[1]], "V1": [[1]]}, NetworkForm(skip=True)))
    assert "\n" not in str(caught.value)
