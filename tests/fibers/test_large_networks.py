"""Comparisons as of networks that are too large to be fractions, on small ones."""

from collections.abc import Iterator

import numpy as np
import pytest

from lightning_sym import Architecture, Reason, Weights, fiber, same_function
from lightning_sym.exact import subspaces
from lightning_sym.exact.subspaces import Subspace
from lightning_sym.fibers.comparison import Answer
from lightning_sym.network.form import NetworkForm
from lightning_sym.rings import arrays
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix

SHAPE = Architecture(
    (5, 5, 5), (2, 2), 3, normalization=SOFTMAX, heads=2, value_ranks=(2, 2), skip=True, causal=True, embed=7,
    unembed=7,
)  # fmt: skip


def _floats(seed: int = 1) -> dict[str, np.ndarray]:
    source = np.random.default_rng(seed)
    return {name: source.standard_normal(size).astype(np.float32) for name, size in SHAPE.weight_shapes()}


def _moved(given: dict[str, np.ndarray], seed: int = 2) -> dict[str, np.ndarray]:
    """Coordinates of the stream in another order and scaled, heads in another order."""
    source = np.random.default_rng(seed)
    order, scale = source.permutation(5), (2.0 ** source.integers(-3, 4, 5)).astype(np.float32)
    result = {"E": scale[:, None] * given["E"][order], "U": given["U"][:, order] / scale}
    for name, matrix in given.items():
        if name[0] in "QKV":
            swapped = f"{name[:-1]}{3 - int(name[-1])}"
            result[swapped] = (matrix[:, order] / scale)[::-1]
        elif name[0] == "O":
            result[f"{name[:-1]}{3 - int(name[-1])}"] = (scale[:, None] * matrix[order])[:, ::-1]
    return result


@pytest.fixture
def large() -> Iterator[None]:
    """Every network is held as it was given, and every basis is guessed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "MOST_ENTRIES", 40)
        patch.setattr(subspaces, "LARGE", 0)
        yield


def _network(matrices: dict[str, np.ndarray]) -> Weights:
    return Weights.of(matrices, NetworkForm.of(SHAPE))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.usefixtures("large")
def test_the_same_network_in_other_coordinates(kind: type) -> None:
    one = _network(_floats())
    other = _network({name: m.astype(kind) for name, m in _moved(_floats()).items()})
    assert one.too_many
    assert one != other
    found = same_function(one, other, 3)
    assert (found.answer, found.reason) == (Answer.SAME, Reason.STREAMS)
    assert [len(layer) for layer in found.symmetry.layers] == [2, 2]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["E", "Q1.1", "K2.2", "V1.2", "O2.1", "U"])
@pytest.mark.usefixtures("large")
def test_one_bit_more_is_another_network(name: str) -> None:
    changed = _moved(_floats())
    changed[name] = changed[name].copy()
    changed[name][0, 0] = np.nextafter(changed[name][0, 0], np.float32(9))
    found = same_function(_network(_floats()), _network(changed), 3)
    assert (found.answer, found.reason) == (Answer.DIFFERENT, Reason.BALLS)


def test_large_and_small_agree(large: None) -> None:
    matrices = _floats()
    held = fiber(_network(matrices), 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "MOST_ENTRIES", 4000)
        exact = fiber(_network(matrices), 3)
    assert str(held) == str(exact)


@pytest.mark.parametrize("scale", [1, 3, 2**30])
def test_a_basis_that_is_guessed_is_the_reduced_one(scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small entries are found, large ones are not and the basis is computed: it is the same."""
    source = np.random.default_rng(scale)
    for rank in (0, 1, 3, 5):
        columns = source.integers(-3, 4, (6, rank)) @ source.integers(-3, 4, (rank, 8))
        columns[2] *= scale
        columns[4] *= scale + 1
        matrix = RationalMatrix.of(columns)
        monkeypatch.setattr(subspaces, "LARGE", 0)
        found = Subspace.spanned(matrix)
        monkeypatch.setattr(subspaces, "LARGE", 100)
        computed = Subspace.spanned(matrix)
        assert (found.pivots, found.basis) == (computed.pivots, computed.basis)


def test_a_guess_that_is_wrong_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large prime multiple is zero modulo the prime, and an entry above it looks small."""
    monkeypatch.setattr(subspaces, "LARGE", 0)
    p = 2**61 - 1
    for columns in ([[1, 0], [0, p]], [[1], [p]], [[1], [p + 5]], [[p, 0], [1, 1]]):
        matrix = RationalMatrix.of(columns)
        space = Subspace.spanned(matrix)
        assert space.contains(matrix)
        assert space.dimension == matrix.rank()
