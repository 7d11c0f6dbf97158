"""What all formats of weights share: the form, the limits, and files that were cut."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from weight_bytes import HEADER, ONE, npy, npz, refused, tensor, tensors

from lightning_sym import Weights, load_weights, save_weights
from lightning_sym.errors import BadInput, FileFormatError, TooLarge
from lightning_sym.network import named_matrices
from lightning_sym.network.readers import bounds
from lightning_sym.network.readers.json_file import read_json
from lightning_sym.network.readers.npz_file import read_npz
from lightning_sym.network.readers.safetensors_file import read_safetensors
from lightning_sym.rings import arrays


def test_entries_are_counted_over_all_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MOST_ENTRIES", 5)
    with pytest.raises(TooLarge, match="all matrices together must have at most 5 entries"):
        read_json(b'{"Q1": [[1, 2, 3]], "K1": [[1, 2, 3]], "V1": [[1]]}')


def test_bytes_of_arrays_are_counted_over_all_matrices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MOST_ENTRIES", 5)
    monkeypatch.setattr(named_matrices, "MOST_BYTES", 47)
    for ending, content in {
        "npz": npz(("Q1.npy", npy(HEADER.replace(b"1, 1", b"1, 3"), bytes(24))),
                   ("K1.npy", npy(HEADER.replace(b"1, 1", b"1, 3"), bytes(24))),
                   ("V1.npy", npy(HEADER.replace(b"1, 1", b"1, 3"), bytes(24)))),
        "safetensors": tensors({c: tensor(24 * i, 24 * i + 24, shape=(1, 3)) for i, c in enumerate(("Q1", "K1", "V1"))},
                               bytes(72)),
    }.items():  # fmt: skip
        file = tmp_path / f"w.{ending}"
        file.write_bytes(content)
        with pytest.raises(TooLarge, match="all matrices together must have at most 47 bytes, got 72"):
            load_weights(file)
        monkeypatch.setattr(bounds, "LARGEST_ARRAYS", 20)
        monkeypatch.setattr("lightning_sym.network.weight_files.LARGEST_ARRAYS", 20)
        with pytest.raises(FileFormatError, match="it must have at most 20 bytes"):
            load_weights(file)
        monkeypatch.undo()
        monkeypatch.setattr(arrays, "MOST_ENTRIES", 5)
        monkeypatch.setattr(named_matrices, "MOST_BYTES", 47)


FORM = {"skip": True, "mask": "causal", "normalization": "softmax"}


def test_every_format_gives_the_form(tmp_path: Path) -> None:
    one = np.array([[1.0]])
    text = json.dumps(FORM)
    for form in (np.array(text), np.array(text.encode())):
        stream = io.BytesIO()
        np.savez(stream, Q1=one, form=form)
        assert read_npz(stream.getvalue()).form == FORM
        assert list(read_npz(stream.getvalue()).matrices) == ["Q1"]
    save_file({"Q1": one}, tmp_path / "w.safetensors", metadata={"form": text})
    assert read_safetensors((tmp_path / "w.safetensors").read_bytes()).form == FORM
    for document in ({"Q1": [[1]], "form": FORM}, {"weights": {"Q1": [[1]]}, "form": FORM}):
        found = read_json(json.dumps(document).encode())
        assert (found.form, list(found.matrices)) == (FORM, ["Q1"])


def test_a_form_is_never_passed_over(tmp_path: Path) -> None:
    one = np.array([[1.0]])
    matrices = {"Q1": one, "K1": one, "V1": one}
    np.savez(tmp_path / "w.npz", form=np.array('{"skip": true}'), **matrices)  # type: ignore[arg-type]
    save_file(matrices, tmp_path / "w.safetensors", metadata={"form": '{"skip": true}'})
    (tmp_path / "w.json").write_text(f'{{{ONE}, "form": {{"skip": true}}}}')
    for ending in ("npz", "safetensors", "json"):
        with pytest.raises(BadInput, match=f"w.{ending}: the form must name normalization, mask and skip"):
            load_weights(tmp_path / f"w.{ending}")


@pytest.mark.parametrize("form", [np.array(3), np.array(["{}"]), np.array("{"), np.array(""), np.array("x" * 70_000)])
def test_a_form_that_is_none_is_refused(form: np.ndarray) -> None:
    stream = io.BytesIO()
    np.savez(stream, form=form)
    assert "the form" in refused(read_npz, stream.getvalue())


def test_names_with_zero_bytes_are_refused() -> None:
    with pytest.raises(FileFormatError, match="readable file"):
        load_weights("a\0b.json")


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    w = Weights.of({"Q1": [[1] * 9], "K1": [[1] * 9], "V1": [[1] * 9]})
    save_weights(w, tmp_path / "w.json")
    size = (tmp_path / "w.json").stat().st_size
    (tmp_path / "w.json").unlink()
    for limit, fits in ((size, True), (size - 1, False)):
        monkeypatch.setattr(bounds, "LARGEST_FILE", limit)
        monkeypatch.setattr("lightning_sym.network.weight_files.LARGEST_FILE", limit)
        if fits:
            save_weights(w, tmp_path / "w.json")
            assert load_weights(tmp_path / "w.json") == w
            (tmp_path / "w.json").unlink()
        else:
            with pytest.raises(BadInput, match="at most"):
                save_weights(w, tmp_path / "w.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["json", "npz", "safetensors"])
def test_every_cut_is_refused(tmp_path: Path, ending: str) -> None:
    rng = random.Random(ending)
    file = tmp_path / f"w.{ending}"
    save_weights(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]}), file)
    content = file.read_bytes().rstrip()
    for length in rng.sample(range(len(content)), 60):
        file.write_bytes(content[:length])
        with pytest.raises(FileFormatError):
            load_weights(file)
