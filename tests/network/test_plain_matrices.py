"""Weights held as they were read: the same answers, and no more memory."""

import pickle
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from lightning_sym import Weights, load_weights, save_weights
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.named_matrices import PlainMatrices
from lightning_sym.rings import arrays
from lightning_sym.rings.arrays import dyadic, dyadic_bits, residues_of
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix

TYPES = ["float16", "float32", "float64", ">f4", "int8", "uint8", "int64", "uint64"]


def _numbers(kind: str) -> np.ndarray:
    source = np.random.default_rng(3)
    if np.dtype(kind).kind == "f":
        wide = source.standard_normal((3, 4)) * 2.0 ** source.integers(-9, 9, (3, 4))
        wide[0, 0] = 0
        return wide.astype(kind)
    about = np.iinfo(kind)
    return np.array([[about.min, about.max, 0, 1], [2, 3, 4, 5], [7, 6, 64, 100]], dtype=kind)


@pytest.fixture
def few_entries() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "MOST_ENTRIES", 5)
        yield


@pytest.mark.parametrize("kind", TYPES)
def test_machine_numbers_are_exact(kind: str) -> None:
    numbers = _numbers(kind)
    exact = [[Fraction(x) for x in row] for row in numbers.tolist()]
    assert RationalMatrix.of(numbers).fractions().tolist() == exact
    integers, power = dyadic(numbers)
    assert [Fraction(x, 1 << power) for x in integers] == [x for row in exact for x in row]
    assert dyadic_bits(numbers) == max(abs(x) for x in integers).bit_length()
    p = 2**31 - 1
    flat = [x for row in exact for x in row]
    assert residues_of(numbers, p).ravel().tolist() == [x.numerator * pow(x.denominator, -1, p) % p for x in flat]


def test_the_widest_range_of_floats() -> None:
    numbers = np.array([[5e-324, 1.7976931348623157e308, -0.0, 1 / 3]])
    assert RationalMatrix.of(numbers).fractions().tolist() == [[Fraction(x) for x in row] for row in numbers.tolist()]
    assert dyadic_bits(numbers) == 1074 + 1024


def _networks(kind: str = "float32") -> tuple[Weights, Weights]:
    """The same weights, held as arrays and as fractions."""
    source = np.random.default_rng(7)
    shapes = {"E": (3, 4)} | {f"{c}{i}.{h}": (2, 3) for i in (1, 2) for h in (1, 2) for c in "QK"}
    shapes |= {f"V{i}.{h}": (3, 3) for i in (1, 2) for h in (1, 2)}
    plain = {name: source.integers(-9, 9, size).astype(kind) / np.array(4, kind) for name, size in shapes.items()}
    form = NetworkForm(SOFTMAX, causal=True, skip=True)
    exact = Weights.of(plain, form)
    return Weights(PlainMatrices({name: plain[name] for name in exact.matrices}), form), exact


def test_held_either_way_weights_are_equal(tmp_path: Path) -> None:
    held, exact = _networks()
    assert held == exact
    assert exact == held
    assert hash(held) == hash(exact)
    assert (repr(held), str(held), held._repr_latex_()) == (repr(exact), str(exact), exact._repr_latex_())
    assert pickle.loads(pickle.dumps(held)) == exact  # noqa: S301
    assert held.letters == ()
    assert {k: m.tolist() for k, m in held.named().items()} == {k: m.tolist() for k, m in exact.named().items()}
    for ending in ("npz", "safetensors", "json"):
        save_weights(held, tmp_path / f"w.{ending}")
        assert load_weights(tmp_path / f"w.{ending}") == held
    changed = {name: m.copy() for name, m in held.all_held.items()}
    changed["V2.2"][2, 2] += 2.0**-20
    assert Weights(PlainMatrices(changed), held.form) != held


def test_numbers_that_a_float_cannot_tell_apart() -> None:
    one = {"Q1": np.array([[2**53 + 1]]), "K1": np.array([[1]]), "V1": np.array([[1]])}
    floats = {name: m.astype(float) for name, m in one.items()}
    assert Weights(PlainMatrices(one)) != Weights(PlainMatrices(floats))
    unsigned = {name: m.astype(np.uint64) for name, m in one.items()}
    assert Weights(PlainMatrices(one)) == Weights(PlainMatrices(unsigned))


@pytest.mark.usefixtures("few_entries")
def test_many_entries_stay_what_they_are(tmp_path: Path) -> None:
    small: dict[str, np.ndarray] = {"Q1": np.ones((1, 3)), "K1": np.ones((1, 3), dtype=np.int8)}
    small["V1"] = np.ones((1, 3), dtype=np.float16)
    w = Weights.of(small)
    assert w.too_many
    assert (w.held("V1").dtype.name, w.size("K1"), w["Q1"].tolist()) == ("float16", (1, 3), [[1, 1, 1]])
    assert "3 numbers, int8" in str(w)
    assert "times" in w._repr_latex_()
    assert repr(w).startswith("Weights.of({'Q1': [[1.0, ")
    for refused in (w.named, w.matrices.values, w.matrices.items):
        with pytest.raises(TooLarge, match="all matrices together must have at most 5 entries, got 9"):
            refused()
    with pytest.raises(TooLarge, match="all matrices together must have at most 5 entries, got 9"):
        Weights.of({name: m.tolist() for name, m in small.items()})
    for ending in ("npz", "safetensors"):
        save_weights(w, tmp_path / f"w.{ending}")
        again = load_weights(tmp_path / f"w.{ending}")
        assert again == w
        assert again.held("V1").dtype == np.float16
    with pytest.raises(TooLarge):
        save_weights(w, tmp_path / "w.json")
    assert pickle.loads(pickle.dumps(w)) == w  # noqa: S301
    small["Q1"][0, 0] = 7  # what was given may change later
    assert w["Q1"].tolist() == [[1, 1, 1]]


@pytest.mark.usefixtures("few_entries")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(value: float) -> None:
    bad = {"Q1": np.ones((1, 3)), "K1": np.ones((1, 3)), "V1": np.array([[1, value, 1]])}
    with pytest.raises(BadInput, match=r"V1\[0, 1\] must be finite"):
        Weights.of(bad)


@pytest.mark.usefixtures("few_entries")
def test_half_floats_of_brains(tmp_path: Path) -> None:
    """The upper halves of floats of 32 bits, as they stand in a file of type BF16."""
    upper = np.array([[0x3F80, 0xC049, 0x0001]], dtype=np.uint16)
    save_file({"Q1": upper, "K1": upper, "V1": upper}, tmp_path / "w.safetensors")
    content = (tmp_path / "w.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little") + content.count(b'"U16"')
    renamed = length.to_bytes(8, "little") + content[8:].replace(b'"U16"', b'"BF16"')
    (tmp_path / "w.safetensors").write_bytes(renamed)
    w = load_weights(tmp_path / "w.safetensors")
    assert w["Q1"].tolist() == [[1, Fraction(-201, 64), Fraction(2) ** -133]]
    assert w.too_many
