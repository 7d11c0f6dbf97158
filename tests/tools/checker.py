"""Certificates written and checked, in this process or by the checker alone, away from the program."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lightning_cli.schemas import schema
from lightning_sym.certificates.files import write_certificate
from proofs_check.checker import verify

Document = dict[str, Any]
CORPUS = Path(__file__).parents[1] / "corpus"
GOOD, REJECTED = (sorted((CORPUS / name).glob("*.json")) for name in ("good", "bad"))
SCHEMA = schema("certificate")
MEMORY = 2**30
"""Bytes that the checker may take."""


def copied_checker(folder: Path) -> Path:
    """The checker with all that lies beside it, by itself."""
    shutil.copytree(Path(verify.__file__).parent, folder, dirs_exist_ok=True)
    return folder / "verify.py"


def small_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def checked_alone(checker: Path, files: list[Path]) -> tuple[int, dict[str, str]]:
    """Exit code, and by file what the checker says, without site packages and with little memory."""
    result = subprocess.run(
        [sys.executable, "-I", "-S", str(checker), *map(str, files)],
        capture_output=True, text=True, cwd=checker.parent, check=False, timeout=300, preexec_fn=small_memory,
    )  # fmt: skip
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert len(lines) == len(files)
    return result.returncode, {
        file.stem: line.removeprefix(f"{file}: ") for file, line in zip(files, lines, strict=True)
    }


def written(folder: Path, document: Document) -> Path:
    path = folder / "certificate.json"
    write_certificate(path, document)
    return path


def verdict(capsys: pytest.CaptureFixture[str], path: Path) -> str:
    """What the checker says in this process."""
    capsys.readouterr()
    code = verify.main([str(path)])
    line = capsys.readouterr().out.strip().removeprefix(f"{path}: ")
    assert code == (0 if line.startswith("proved: ") else 1)
    return line


def proved(document: Document) -> bool:
    """Whether the checker accepts a document, in this process and with all that it may spend."""
    try:
        return bool(verify.check(json.loads(json.dumps(document))))
    except verify.Rejected:
        return False


def matches(schema: Document, value: Any) -> bool:
    """Whether a value is of a schema, for the words that the schema of certificates uses."""
    if "$ref" in schema:
        return matches(SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]], value)
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    known = {"type", "properties", "required", "additionalProperties", "patternProperties", "items", "minItems",
             "maxItems", "pattern", "const", "enum", "anyOf", "minimum", "maximum", "exclusiveMinimum",
             "exclusiveMaximum", "description", "title", "$schema", "$defs"}  # fmt: skip
    assert schema.keys() <= known
    if "anyOf" in schema and not any(matches(each, value) for each in schema["anyOf"]):
        return False
    if "type" in schema and type(value) is not kinds[schema["type"]]:
        return False
    if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in schema["enum"]):
        return False
    if isinstance(value, dict):
        named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        of = {
            key: [named[key]] if key in named else [s for pattern, s in patterns.items() if re.search(pattern, key)]
            for key in value
        }
        whole = schema.get("additionalProperties", True) or all(of.values())
        return whole and set(schema.get("required", ())) <= value.keys() and all(
            matches(each, value[key]) for key, found in of.items() for each in found
        )  # fmt: skip
    if isinstance(value, list):
        sizes = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return sizes and all(matches(schema.get("items", {}), each) for each in value)
    if isinstance(value, str):
        return re.search(schema.get("pattern", ""), value) is not None
    if isinstance(value, int):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        inside = schema.get("exclusiveMinimum", value - 1) < value < schema.get("exclusiveMaximum", value + 1)
        return bool(low <= value <= high and inside)
    return True
