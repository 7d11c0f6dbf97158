"""The wheel: what is data in the checkout is in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from lightning_cli.schemas import schema, schema_names
from lightning_sym import BadInput

ROOT = Path(__file__).parents[2]


def test_the_wheel_has_all_data_files(tmp_path: Path) -> None:
    build = "from setuptools import build_meta; build_meta.build_wheel({!r})".format(str(tmp_path / "wheel"))
    source = tmp_path / "source"
    found = (f for name in ("lightning_sym", "lightning_cli", "proofs_check") for f in (ROOT / name).rglob("*"))
    packaged = [str(f.relative_to(ROOT)) for f in found if f.is_file() and "__pycache__" not in f.parts]
    for name in [*packaged, "pyproject.toml", "README.md", "LICENSE"]:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, check=True)
    [wheel] = (tmp_path / "wheel").glob("*.whl")
    assert {*packaged} <= {*ZipFile(wheel).namelist()}


def test_schemas_by_name() -> None:
    for name in schema_names():
        assert schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for wrong in ("", "nothing", "../schemas/sweep", None, 1, ["sweep"]):
        with pytest.raises(BadInput, match=r"a schema must be one of align, apply|name must be text"):
            schema(wrong)  # type: ignore[arg-type]
