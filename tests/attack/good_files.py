"""Good files of every kind that is read, at random."""

from __future__ import annotations

import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lightning_cli.commands.phi import map_document
from lightning_sym import Architecture, Weights, polynomial_map

Random = random.Random


def matrices(rng: Random) -> dict[str, list[list[int]]]:
    """Those of a small network, by name."""
    d, a, n, depth = (rng.randint(1, 3) for _ in range(4))
    sizes = {"Q": (a, d), "K": (a, d), "V": (d, d)}
    named = {
        f"{letter}{i}": [[rng.randint(-9, 9) for _ in range(columns)] for _ in range(rows)]
        for i in range(1, depth + 1)
        for letter, (rows, columns) in sizes.items()
    }
    named[f"V{depth}"] = [[rng.randint(-9, 9) for _ in range(d)] for _ in range(n)]
    return named


def good_json(rng: Random) -> Any:
    """A document of weights."""
    named: dict[str, Any] = matrices(rng)
    for rows in named.values():
        for row in rows:
            if rng.random() < 0.3:
                row[0] = rng.choice(["-2/3", "7", "1.25", 0.5, 1e-3, "12e2", 10**30])
    form = (
        {"form": {"normalization": "softmax", "mask": "none", "skip": rng.random() < 0.5}} if rng.random() < 0.2 else {}
    )
    return named | form if rng.random() < 0.3 else {"schema": "lightning-sym/weights/1", **form, "weights": named}


def good_config(rng: Random) -> Any:
    """A config of a model."""
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": rng.choice(["gpt2", "gpt2", "attention-only", "bert"]),
        "n_embd": 8, "n_head": rng.choice([1, 2]),
        "n_layer": 2, "vocab_size": 50, "n_inner": None, "activation_function": "gelu", "layer_norm_epsilon": 1e-5,
        "n_positions": 16, "use_cache": True, "is_decoder": True,
    }  # fmt: skip


def npz(rng: Random, named: dict[str, list[list[int]]], header: Callable[[bytes], bytes] = bytes) -> bytes:
    """An archive as NumPy writes it, but for what happens to its headers."""
    stream = io.BytesIO()
    how = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", how) as archive:
        warnings.simplefilter("ignore")  # names that repeat are wanted
        for name, rows in named.items():
            member = io.BytesIO()
            array = np.array(rows, dtype=rng.choice(["<i8", "<f8", ">f4", "|i1", "<f2"]))
            np.save(member, np.asfortranarray(array) if rng.random() < 0.2 else array)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), header(member.getvalue()), how)
            if rng.random() < 0.02:
                archive.writestr(zipfile.ZipInfo(f"{name}.npy"), b"\0" * 10 ** rng.randint(0, 6))
    return stream.getvalue()


def safetensors(header: Any, data: bytes, length: int | None = None) -> bytes:
    """The format, whatever is put into it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def good_tensors(rng: Random) -> tuple[dict[str, Any], bytes]:
    """A header, and the numbers."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}} if rng.random() < 0.3 else {}
    data = b""
    for name, rows in matrices(rng).items():
        kind, code = rng.choice([("F64", "<f8"), ("F32", "<f4"), ("I8", "i1"), ("BF16", "<i2"), ("U64", "<u8")])
        more = np.abs(np.array(rows)).astype(code).tobytes()
        where = [len(data), len(data) + len(more)]
        header[name] = {"dtype": kind, "shape": [len(rows), len(rows[0])], "data_offsets": where}
        data += more
    return header, data


def good_map(rng: Random) -> Any:
    """A polynomial map: of a network, or of its shape."""
    d, d_out, t = rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 2)
    ranks = rng.randint(1, 2)
    if rng.random() < 0.5:
        shape = Architecture((d, d_out), (ranks,), t)
        sizes = [shape for _, shape in shape.weight_shapes()]
        q, k, v = (np.array([[rng.randint(-3, 3) for _ in range(n)] for _ in range(m)], dtype=object) for m, n in sizes)
        return map_document(polynomial_map(shape, Weights.of({"Q1": q, "K1": k, "V1": v})), latex=False)
    names = [f"x_{k + 1}_{j + 1}" for k in range(d) for j in range(t)]
    outputs = []
    for row, token in np.ndindex(d_out, t):
        terms = [f"{rng.randint(-9, 9)}/{rng.randint(1, 9)}*" + "*".join(rng.choices(names, k=3)) for _ in range(3)]
        outputs.append({"row": row + 1, "token": token + 1, "polynomial": " + ".join(terms).replace("+ -", "- ")})
    return {"widths": [d, d_out], "ranks": [ranks], "tokens": t, "outputs": outputs}


def good_baseline(rng: Random) -> Any:
    """What `check --write-baseline` writes, of one claim."""
    part = {"scope": "IDENTITY", "verdict": "HOLDS", "instances": rng.randint(0, 9), "witness": rng.choice([None, "w"]),
            "findings": [], "tallies": []}  # fmt: skip
    claim = {"verdict": "HOLDS", "instances": 10, "parts": {rng.choice(["a part", "[red]"]): part}}
    size = rng.choice(["quick", "full"])
    return {"schema": "lightning-sym/baseline/1", "version": "0.2.0", "size": size, "claims": {"equation-9": claim}}


def good_certificate(rng: Random) -> Any:
    """A certificate that is proved."""
    return json.loads(rng.choice(CERTIFICATES))


CERTIFICATES = [
    path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parents[1] / "corpus" / "good").glob("*.json"))
    if path.stat().st_size < 100_000
]
