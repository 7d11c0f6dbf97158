"""Forms on the residual stream that nothing sees: every such direction is in the kernel of exact gradients."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lightning_sym import Architecture, certified_dimension
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings.normalization import SOFTMAX, Normalization
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.symmetries import attention_motions
from lightning_sym.symmetries.cancelling_forms import HeadWord, is_in_open_orbit, unseen_forms
from lightning_sym.symmetries.families import directions_mod_p

P = PRIMES[0]
ONE_PLUS_Y = Normalization("1 + y", lambda k: Fraction(int(k <= 1)))

TWO_TOKENS = [
    Architecture((4, 4, 4), (4, 4), 2, normalization=SOFTMAX, skip=True, embed=2),
    Architecture((4, 4, 4), (3, 4), 2, normalization=SOFTMAX, skip=True, embed=2, causal=True),
    Architecture((5, 5, 5), (5, 5), 2, normalization=SOFTMAX, skip=True, embed=3),
    Architecture((2, 4, 4), (4, 4), 2, normalization=SOFTMAX, heads=2),
    Architecture((4,) * 4, (1, 3, 3), 2, normalization=SOFTMAX, value_ranks=(2, 2, 1), skip=True, causal=True, embed=1),
    Architecture((1, 2, 3, 1), (1, 3, 4), 2, normalization=SOFTMAX, heads=3, causal=True, unembed=1),
    Architecture((4, 4, 4), (4, 4), 2, normalization=ONE_PLUS_Y, skip=True, embed=2),
    Architecture((4, 4, 4), (4, 4), 2, normalization=ONE_PLUS_Y, skip=True, embed=2, causal=True),
]
SKEW = [
    Architecture((3,) * 4, (3, 2, 4), 2, normalization=SOFTMAX, value_ranks=(3, 3, 2), skip=True, causal=True, embed=1),
    Architecture((3,) * 4, (4, 3, 3), 2, normalization=SOFTMAX, skip=True, causal=True, embed=1, unembed=2),
]
ONE_TOKEN = [Architecture((4, 4, 4), (1, 2), 1, skip=True, embed=2, unembed=1)]
SYMMETRIC_PRODUCTS = [
    Architecture((4, 4, 4), (4, 4), 2, skip=True, embed=2),
    Architecture((4, 4, 4), (1, 4), 3, skip=True, embed=2),
    Architecture((6, 6, 6), (2, 6), 2, skip=True, embed=3, unembed=2),
    Architecture((8,) * 4, (2, 4, 8), 2, skip=True, embed=2, unembed=1),
]
NETWORKS = [*TWO_TOKENS, *SKEW, *ONE_TOKEN, *SYMMETRIC_PRODUCTS]


def directions(network: Architecture, jacobian: RandomJacobian) -> np.ndarray:
    blocks = directions_mod_p(network, jacobian.weights, P, symmetry=False)
    return np.concatenate([np.zeros((0, network.parameter_count)), *(block.residues() for block in blocks)])


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_every_direction_is_in_the_kernel_of_every_gradient(network: Architecture) -> None:
    order = None if network.normalization is None else 2 * 3 ** (network.depth - 1) + 1
    jacobian = RandomJacobian(network, np.random.default_rng(1), P, order=order)
    rows = PrimeFieldMatrix.of(jacobian.rows(24), P)
    found = PrimeFieldMatrix.of(directions(network, jacobian).astype(np.int64), P)
    assert not (rows @ found.mT).residues().any()


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_the_bounds_meet_only_with_these_forms(network: Architecture, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = certified_dimension(network)
    assert whole.value is not None
    monkeypatch.setattr(attention_motions, "LARGEST_WORD_COUNT", 0)
    monkeypatch.setattr(attention_motions.HeadMotions, "skew_on_differences", lambda head: iter(()))
    without = certified_dimension(network)
    assert (without.lower, without.value) == (whole.lower, None)


def test_three_tokens_see_what_two_do_not() -> None:
    network = TWO_TOKENS[0]
    assert (certified_dimension(network).value, certified_dimension(replace(network, tokens=3)).value) == (50, 52)


def test_only_softmax_is_blind_to_a_number_added_to_all_scores() -> None:
    """1 + y sees the scores themselves: of the two forms that softmax does not see it sees one."""
    assert certified_dimension(replace(TWO_TOKENS[0], normalization=ONE_PLUS_Y)).value == 51


@pytest.mark.parametrize("sign", [1, -1])
def test_a_form_with_the_wrong_sign_is_seen(sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = SYMMETRIC_PRODUCTS[0]

    def wrong(*arguments: Any) -> np.ndarray:
        forms = unseen_forms(*arguments)
        half = forms.shape[1] // 2
        forms[:, half:, :half] = forms[:, half:, :half] * sign % P
        return forms

    monkeypatch.setattr(attention_motions, "unseen_forms", wrong)
    jacobian = RandomJacobian(network, np.random.default_rng(1), P)
    rows = PrimeFieldMatrix.of(jacobian.rows(24), P)
    product = rows @ PrimeFieldMatrix.of(directions(network, jacobian).astype(np.int64), P).mT
    assert product.residues().any() == (sign == -1)


def test_how_far_basis_changes_move_words_is_the_rank_of_all_tangents() -> None:
    """Against every tangent written down: each unit of a basis change on either side, on every word."""
    generator = np.random.default_rng(1)
    for _ in range(60):
        d, n, count = generator.integers(1, 5, size=3)
        words: dict[HeadWord, np.ndarray] = {}
        for k in range(count):
            rank = int(generator.integers(0, 5))
            left, right = generator.integers(0, P, size=(d, rank)), generator.integers(-2, 3, size=(rank, n))
            words[((0, k),)] = left @ right % P
        outer, inner = (np.eye(size**2, dtype=np.int64).reshape(-1, 1, size, size) for size in (d, n))
        both = np.concatenate([outer @ np.stack(list(words.values())), np.stack(list(words.values())) @ inner])
        found = rank_mod_p(both.reshape(len(both), -1) % P, P)
        assert [k for k in range(d * d + n * n + 1) if is_in_open_orbit(words, k, P)] == [found]
