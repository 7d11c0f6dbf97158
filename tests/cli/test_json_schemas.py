"""The schemas of the JSON answers describe what the commands print, and nothing that they do not."""

from __future__ import annotations

import copy
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import run
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from lightning_cli.main import COMMANDS, module_of
from lightning_cli.schemas import schema, schema_names
from lightning_sym import Family, LayerSymmetry, Symmetry, fingerprint, save_checkpoint, save_symmetry, sweep
from lightning_sym.testing import small_checkpoint

ROOT = Path(__file__).parents[2]
SCHEMAS = {name: schema(name) for name in schema_names() if name not in ("baseline", "certificate")}  # these are files
COMMON = SCHEMAS.pop("common")
KNOWN = Registry().with_resource(COMMON["$id"], DRAFT202012.create_resource(COMMON))
VALIDATORS = {name: Draft202012Validator(schema, registry=KNOWN) for name, schema in SCHEMAS.items()}
SHAPE = ("--widths", "2,2,2", "--ranks", "1,2", "--tokens", "2")
CHECKPOINTS = "examples/checkpoints"
EXAMPLES = {path.stem: str(path) for path in (ROOT / "examples").glob("*.json")}

FAMILY = ("--depth", "1", "--widths", "1..2", "--ranks", "1", "--tokens", "2", "--workers", "1")
HIDDEN = f"{shlex.quote(sys.executable)} examples/hidden_network.py"
HIDDEN_SHAPE = ("--widths", "2,2,1", "--tokens", "2", "--bound", "8")

# the schema, and the words that give an answer of that kind; together they show every kind of value a field can have
ANSWERS: list[tuple[str, tuple[str, ...]]] = [
    ("align", ("align", "{llama}", "--to", "{llama}", "-o", "{written}")),
    ("canonical-checkpoint", ("canonical", "{llama}", "-o", "{written}")),
    ("apply", ("apply", "{symmetry}", "{llama}", "-o", "{written}")),
    ("atlas", ("atlas", "{atlas}", "--conjecture", "l*a*(2*d-a) + d*d - l", "--most", "3")),
    ("atlas", ("atlas", "{atlas}", "--where", "status = 'refused'", "--conjecture", "P")),
    ("canonical", ("canonical", EXAMPLES["generic"])),
    ("canonical", ("canonical", EXAMPLES["generic"], "--normalization", "softmax", "--skip", "--tokens", "3")),
    ("check", ("check", "section-4-skip", "corollary-3.3", "--quick")),
    ("check", ("check", "--list")),
    ("circuits", ("circuits", "{llama}")),
    ("circuits", ("circuits", "{gpt2}")),
    ("fingerprint", ("circuits", "{llama}", "--fingerprint")),
    ("fingerprint", ("circuits", "{gpt2}", "--fingerprint")),
    ("fingerprint-comparison", ("circuits", "{llama}", "--against", "{llama}")),
    ("fingerprint-comparison", ("circuits", "{llama}", "--against", "{gpt2}")),
    ("fingerprint-comparison", ("circuits", f"{CHECKPOINTS}/model", "--against", f"{CHECKPOINTS}/rewritten")),
    ("symmetries", ("symmetries", "{llama}")),
    ("symmetries", ("symmetries", "{gpt2}")),
    ("fingerprint-scan", ("circuits", "{llama}", "--scan", "{fingerprints}")),
    ("classify", ("classify", EXAMPLES["singular"])),
    ("classify", ("classify", EXAMPLES["rank_one"], "--degree", "2")),
    ("classify", ("classify", EXAMPLES["two_layers"])),
    ("function-limit", ("classify", EXAMPLES["limit"], "--along", EXAMPLES["limit_along"], "--powers", "V2=-1")),
    ("function-limit", ("classify", EXAMPLES["generic"], "--powers", "V1=-1,Q1=1")),
    ("orbits", ("classify", "--orbits", "--widths", "3,2", "--ranks", "2")),
    ("singular-ideal", ("classify", "--singular-ideal", "--widths", "2,1", "--ranks", "2")),
    ("singular-ideal", ("classify", "--singular-ideal", "--widths", "1,2", "--ranks", "2")),
    ("coefficient", ("coefficient", EXAMPLES["rank_one"])),
    ("coefficient", ("coefficient", EXAMPLES["lightning_heads"])),
    ("coefficient-path", ("coefficient", EXAMPLES["generic"], EXAMPLES["generic_rescaled"], "--steps", "2")),
    ("coefficient-path", ("coefficient", EXAMPLES["two_layers"], EXAMPLES["two_layers"], "--steps", "1")),
    ("conserved", ("conserved", *SHAPE)),
    ("conserved", ("conserved", "--weights", EXAMPLES["rank_one"], "--tokens", "2")),
    ("coefficient", ("coefficient", "--of", "x*y, z")),
    ("coefficient", ("coefficient", "--of", "x^2*y - z^2")),
    ("coefficient", ("coefficient", "--linear-attention", "4,8", "--teacher", "1")),
    ("config", ("dimension", "--config", EXAMPLES["config"])),
    ("whole-model", ("dimension", "--config", "examples/checkpoints/model/config.json")),
    ("convert", ("convert", "{llama}", "--layout", "meta", "-o", "{written}")),
    ("degree", ("degree", *SHAPE)),
    ("degree", ("degree", "--widths", "2,2", "--ranks", "1", "--tokens", "1", "--heads", "2")),
    ("degree", ("degree", "--widths", "3,2", "--ranks", "1", "--tokens", "1", "--embed", "4")),
    ("degree", ("degree", "--widths", "2,2,1", "--ranks", "2", "--tokens", "2")),
    ("degree", ("degree", "--widths", "2,2,2,1", "--ranks", "2", "--tokens", "2")),
    ("dimension", ("dimension", *SHAPE)),
    ("dimension", ("dimension", *SHAPE, "--normalization", "softmax", "--mask", "causal", "--seed", "3")),
    ("dimension", ("dimension", "--widths", "3,3", "--ranks", "1", "--tokens", "2", "--heads", "2", "--skip",
                   "--value-ranks", "1", "--embed", "4", "--unembed", "2")),
    ("equations", ("equations", "--widths", "2,1", "--ranks", "2", "--tokens", "2")),
    ("equations", ("equations", "--widths", "2,2", "--ranks", "1", "--tokens", "2", "--skip", "--degree", "2")),
    ("equations", ("equations", "--widths", "3,3", "--ranks", "3", "--tokens", "2", "--work", "0.1")),
    ("exercise", ("exercise",)),
    ("exercise", ("exercise", "6", "--answer", "4")),
    ("exercise", ("exercise", "--sheet", "{sheet}", "--seed", "3")),
    ("version", ("--version",)),
    ("grades", ("exercise", "--grade", EXAMPLES["answers"])),
    ("explain", ("explain", "equation-9")),
    ("explain", ("explain", "theorem-3.2", "--weights", EXAMPLES["rank_one"])),
    ("explain", ("explain", "figure-1")),
    ("explain", ("explain", "corollary-3.3")),
    ("explain-rewriting", ("explain-rewriting", f"{CHECKPOINTS}/model", f"{CHECKPOINTS}/rewritten")),
    ("explain-rewriting", ("explain-rewriting", f"{CHECKPOINTS}/model", f"{CHECKPOINTS}/forgotten_bias")),
    ("explain-rewriting", ("explain-rewriting", f"{CHECKPOINTS}/model", f"{CHECKPOINTS}/rounded")),
    ("fiber", ("fiber", EXAMPLES["rank_one"])),
    ("fiber", ("fiber", EXAMPLES["two_layers"])),
    ("fiber", ("fiber", EXAMPLES["generic"], "--tokens", "1")),
    ("fiber", ("fiber", EXAMPLES["generic"], "--normalization", "softmax", "--tokens", "3")),
    ("fiber", ("fiber", EXAMPLES["equal_heads"], "--tokens", "2")),
    ("figure", ("figure", "3")),
    ("picture", ("figure", "1")),
    ("picture", ("figure", "fiber", EXAMPLES["rank_one"])),
    ("page", ("page", "--list")),
    ("page", ("page", "figure-1", "--output", "{page}")),
    ("phi", ("phi", *SHAPE)),
    ("phi", ("phi", *SHAPE, "--skip", "--heads", "2", "--mask", "causal", "--value-ranks", "1", "--embed", "1")),
    ("phi", ("phi", "--weights", EXAMPLES["rank_one"], "--tokens", "1", "--latex")),
    ("recover", ("recover", EXAMPLES["map"])),
    ("recover", ("recover", EXAMPLES["map"], "--ranks", "1")),
    ("recover", ("recover", EXAMPLES["map_irrational"])),
    ("recover", ("recover", EXAMPLES["map_complex"])),
    ("recover-softmax", ("recover", EXAMPLES["jet"])),
    ("recover-softmax", ("recover", EXAMPLES["jet"], "--ranks", "1")),
    ("recover-softmax", ("recover", "--ask", HIDDEN, *HIDDEN_SHAPE, "--denominators", "4")),
    ("recover-softmax", ("recover", "--ask", HIDDEN, *HIDDEN_SHAPE, "--digits", "60")),
    ("query-plan", ("recover", "--ask", HIDDEN, *HIDDEN_SHAPE, "--denominators", "4", "--plan")),
    ("same", ("same", EXAMPLES["generic"], EXAMPLES["generic_rescaled"])),
    ("same", ("same", EXAMPLES["rank_one"], EXAMPLES["rank_one_swapped"])),
    ("same", ("same", EXAMPLES["rank_one"], EXAMPLES["two_layers"])),
    ("sweep", ("sweep", *FAMILY, "-o", "{atlas}", "--conjecture", "P")),
    ("sweep", ("sweep", *FAMILY, "-o", "{atlas}", "--normalization", "softmax", "--mask", "causal")),
    ("same", ("same", EXAMPLES["two_heads"], EXAMPLES["two_heads_moved"])),
    ("same", ("same", EXAMPLES["two_heads"], EXAMPLES["two_heads_changed"])),
    ("same-checkpoints", ("same", f"{CHECKPOINTS}/model", f"{CHECKPOINTS}/rounded", "--ids", "1,2")),
    ("same-checkpoints", ("same", f"{CHECKPOINTS}/model", f"{CHECKPOINTS}/rewritten")),
    ("same-checkpoints", ("same", f"{CHECKPOINTS}/model", f"{CHECKPOINTS}/forgotten_bias")),
    ("same-checkpoints", ("same", f"{CHECKPOINTS}/model", "{gpt2}")),
]  # fmt: skip


def filled(words: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """The words with files where they name one; that of an atlas is there."""
    atlas = folder / "atlas.sqlite"
    if "{atlas}" in words:
        keys = {"depth": 1, "widths": [2, 30], "ranks": 2, "tokens": 2, "uniform": True}
        sweep(Family.of(keys), atlas, memory=100_000, workers=1)
    for name in ("gpt2", "llama"):
        if f"{{{name}}}" in words and not (folder / name).exists():
            save_checkpoint(small_checkpoint(name, layers=1, heads=2), folder / name)
    if "{symmetry}" in words:
        save_symmetry(Symmetry((LayerSymmetry(),)), folder / "symmetry.json")
    if "{fingerprints}" in words:
        (folder / "one").mkdir(exist_ok=True)
        key = fingerprint(small_checkpoint("llama", layers=1, heads=2)).key
        (folder / "one" / "known.json").write_text(json.dumps({"checkpoint": "known", "key": key}), encoding="utf-8")
    places = {"{fingerprints}": folder / "one", "{symmetry}": folder / "symmetry.json", "{written}": folder / "written"}
    places |= {"{gpt2}": folder / "gpt2", "{llama}": folder / "llama", "{atlas}": atlas, "{page}": folder / "page.html"}
    places |= {"{sheet}": folder / "sheet.tex"}
    return tuple(str(places.get(word, word)) for word in words)


@pytest.mark.parametrize(("name", "words"), ANSWERS, ids=[" ".join(Path(w).name for w in ws) for _, ws in ANSWERS])
def test_answers_are_of_their_schema(
    name: str,
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(ROOT)
    _, out, _ = run(capsys, *filled(words, tmp_path), "--json")
    document = json.loads(out)
    errors = [f"{list(error.absolute_path)}: {error.message}" for error in VALIDATORS[name].iter_errors(document)]
    assert not errors, "\n".join(errors[:5])
    assert document["schema"] == SCHEMAS[name]["properties"]["schema"]["const"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    Draft202012Validator.check_schema(COMMON)


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema of an object inside a schema."""
    if isinstance(schema, list):
        for part in schema:
            yield from objects(part)
    elif isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects(part)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_leave_nothing_open(name: str) -> None:
    for found in objects([SCHEMAS[name], COMMON]):
        assert found["additionalProperties"] is not True
        assert found.get("required", []) == list(found.get("properties", {}))
    assert all("description" in field for field in SCHEMAS[name]["properties"].values())


def test_every_command_with_json_has_a_schema() -> None:
    with_json = {
        name for name in COMMANDS if any("--json" in parameter.opts for parameter in module_of(name).command.params)
    }
    assert with_json | {
        "canonical-checkpoint",
        "coefficient-path",
        "config",
        "fingerprint",
        "fingerprint-comparison",
        "fingerprint-scan",
        "grades",
        "function-limit",
        "orbits",
        "picture",
        "query-plan",
        "recover-softmax",
        "same-checkpoints",
        "version",
        "whole-model",
        "singular-ideal",
    } == set(SCHEMAS)
    assert {name for name, _ in ANSWERS} == set(SCHEMAS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_refuse_what_is_wrong(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    words = filled(next(words for schema, words in ANSWERS if schema == name), tmp_path)
    document = json.loads(run(capsys, *words, "--json")[1])
    for field in document:
        for wrong in (object_without(document, field), document | {field: {"un": "known"}}, document | {"new": 1}):
            assert not VALIDATORS[name].is_valid(wrong), field


def object_without(document: dict[str, Any], field: str) -> dict[str, Any]:
    """A copy in which a field is missing."""
    copied = copy.deepcopy(document)
    del copied[field]
    return copied
