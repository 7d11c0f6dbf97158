"""Certificates modulo 2: what is written is proved, what is bent is not; else a large prime is taken."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path

import numpy as np
import pytest
from checker import SCHEMA, Document, checked_alone, copied_checker, matches, verdict, written

from lightning_sym import SOFTMAX, Architecture, certified_dimension, dimension_certificate
from lightning_sym.certificates import dimension, limits, modulo_2
from lightning_sym.errors import TooLarge
from lightning_sym.exact.modular import ranks_mod_p
from lightning_sym.network.jacobian import random_weights
from lightning_sym.symmetries.families import orbit_dimension_at
from proofs_check.checker import verify

NETWORKS = {
    "plain": Architecture((6, 6, 6), (3, 3), 3),
    "mask": Architecture((4, 4, 4), (3, 2), 3, causal=True),
    "skip": Architecture((4, 4, 4), (2, 2), 3, skip=True),
    "heads": Architecture((4, 4, 4), (2, 2), 3, skip=True, heads=2),
    "value ranks": Architecture((4, 4, 4), (2, 2), 3, skip=True, heads=2, value_ranks=(2, 2), embed=6, unembed=5),
    "softmax": Architecture((4, 4), (2,), 3, normalization=SOFTMAX),
    "softmax, mask": Architecture((3, 3, 3), (2, 2), 4, normalization=SOFTMAX, skip=True, causal=True),
    "softmax, value ranks": Architecture((4, 4), (2,), 3, normalization=SOFTMAX, heads=2, value_ranks=(2,), embed=5),
}


@pytest.fixture(autouse=True)
def small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dimension, "SMALLEST_RANK", 1)


@pytest.fixture(scope="module")
def certificates() -> dict[str, Document]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dimension, "SMALLEST_RANK", 1)
        return {name: dimension_certificate(certified_dimension(network)) for name, network in NETWORKS.items()}


def test_what_is_written_is_proved(certificates: dict[str, Document], tmp_path: Path) -> None:
    files = []
    for k, (name, document) in enumerate(certificates.items()):
        assert document["lower_bound"]["prime"] == 2, name
        assert matches(SCHEMA, document)
        files.append(tmp_path / f"{k}.json")
        files[-1].write_text(json.dumps(document), encoding="utf-8")
    code, lines = checked_alone(copied_checker(tmp_path), files)
    for line, network in zip(lines.values(), NETWORKS.values(), strict=True):
        assert line.startswith(f"proved: dim M = {certified_dimension(network).value}, ")
        assert "a minor of the differential modulo 2" in line
    assert code == 0


def test_orbits_are_modulo_2_where_they_can_be(certificates: dict[str, Document]) -> None:
    bounds = {name: document["upper_bounds"][0] for name, document in certificates.items()}
    assert {bounds[name]["kind"] for name in ("mask", "heads", "value ranks", "softmax, value ranks")} == {"orbit"}
    assert {bound["prime"] for bound in bounds.values() if "prime" in bound} == {2}


@pytest.mark.parametrize("name", NETWORKS)
def test_nothing_proves_one_dimension_more(
    certificates: dict[str, Document], name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Rows of other functionals, other points, other columns: the minor is 0."""
    good, rng = certificates[name], random.Random(1)
    r, columns = good["lower"], good["lower_bound"]["columns"]
    unused = [c for c in range(NETWORKS[name].parameter_count) if c not in columns]
    for _ in range(40):
        false = copy.deepcopy(good) | {"lower": r + 1, "upper": r + 1}
        lower = false["lower_bound"]
        lower["rows"].append(copy.deepcopy(rng.choice(lower["rows"])))
        lower["columns"] = sorted([*columns, rng.choice(unused)])
        for matrix in rng.sample([m for row in lower["rows"] for m in (row["input"], *row["functional"])], 5):
            line = rng.choice(matrix)
            line[rng.randrange(len(line))] ^= 1
        false["upper_bounds"] = [{"kind": "span", "bound": r + 1}]
        line = verdict(capsys, written(tmp_path, false))
        assert line in ("rejected: the minor must not be 0", "rejected: exponentials of equal scores must be equal")


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_bent_is_rejected(
    certificates: dict[str, Document], name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good = certificates[name]
    for k in range(0, good["lower"], 7):
        bent = copy.deepcopy(good)
        bent["lower_bound"]["rows"][k] = bent["lower_bound"]["rows"][k - 1]
        assert verdict(capsys, written(tmp_path, bent)) == "rejected: the minor must not be 0"
    bent = copy.deepcopy(good)
    bent["lower_bound"]["rows"][0]["input"][0][0] = 2
    assert "input must be an integer from 0 to 1" in verdict(capsys, written(tmp_path, bent))
    low = copy.deepcopy(good) | {"lower": good["lower"] - 1, "upper": good["lower"] - 1}
    low["upper_bounds"][0]["bound"] -= 1
    low["lower_bound"]["rows"].pop()
    low["lower_bound"]["columns"].pop()
    assert verdict(capsys, written(tmp_path, low)).startswith("rejected: ")


@pytest.mark.parametrize(
    "network",
    [
        Architecture((3, 3), (2,), 2, normalization=SOFTMAX),  # derivatives of its pattern vanish modulo 2
        Architecture((1, 1), (1,), 1),
        Architecture((2, 2), (1,), 1, heads=2),
    ],
    ids=str,
)
def test_a_large_prime_where_there_is_no_point(
    network: Architecture, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    document = dimension_certificate(certified_dimension(network))
    assert document["lower_bound"]["prime"] > 2 or network.tokens == 1
    assert verdict(capsys, written(tmp_path, document)).startswith("proved: ")


def test_small_networks_keep_their_prime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkers of release 0.1.0 read them."""
    monkeypatch.setattr(dimension, "SMALLEST_RANK", modulo_2.SMALLEST_RANK)
    document = dimension_certificate(certified_dimension(NETWORKS["value ranks"]))
    assert document["lower"] < modulo_2.SMALLEST_RANK
    assert document["lower_bound"]["prime"] > 2


def test_ranks_agree_with_batched_ones() -> None:
    generator = np.random.default_rng(3)
    for shape in ((1, 1), (3, 5), (8, 8), (9, 4), (2, 70)):
        matrices = generator.integers(-3, 4, size=(200, *shape))
        matrices[::3, -1] = matrices[::3, 0]
        found = [modulo_2.rank_modulo_2(m) for m in matrices]
        assert found == ranks_mod_p(matrices, 2).tolist()


@pytest.mark.parametrize("name", NETWORKS)
def test_orbits_modulo_2_are_lower_bounds(name: str) -> None:
    network, generator = NETWORKS[name], np.random.default_rng(1)
    large = orbit_dimension_at(network, random_weights(network, generator, 4194301), generator, 4194301)
    found = [modulo_2.orbit_modulo_2(network, modulo_2.weights_modulo_2(network, generator)) for _ in range(5)]
    assert max(found) == large


def test_the_count_of_steps_is_that_of_the_checker(
    certificates: dict[str, Document], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, document in certificates.items():
        one = {"kind": "span", "bound": 10**9}  # without an orbit's steps
        verdict(capsys, written(tmp_path, document | {"upper_bounds": [one]}))
        used, lower = verify.STEPS - verify.BUDGET.get().steps, document["lower_bound"]
        told = limits.steps(NETWORKS[name], document["lower"], lower) + limits.elimination_steps(document["lower"], 2)
        assert used / 2 < told < 3 * used, name


def test_what_checkers_would_refuse_is_not_written() -> None:
    wide = Architecture((2, 2), (1,), 8192)
    assert not limits.fits_a_slot(wide, 1, 2)
    assert verify.Tape(2, 1, 0).slot == limits.slot(2)
    assert verify.Tape(3, 1, 0).slot == limits.slot(3)
    with pytest.raises(TooLarge, match="the minor of 50,000 rows modulo 2 takes"):
        limits.require_checkable(wide, 50_000, 2)
    with pytest.raises(TooLarge, match="the minor of 5,000 rows modulo 4194301 takes"):
        limits.require_checkable(wide, 5_000, 4194301)
    limits.require_checkable(wide, 20_000, 2)


def test_rows_that_would_not_fit_are_refused() -> None:
    with pytest.raises(TooLarge, match="the Jacobian modulo 2"):
        dimension_certificate(certified_dimension(NETWORKS["plain"]), memory=10_000)
