"""Whatever plausible nonsense a public function is given, the caller reads one line that says what it must be."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import sympy
from safetensors.numpy import load_file

import lightning_sym
from lightning_sym import Architecture, BadInput, NetworkForm, Weights
from lightning_sym.fibers.points import Component
from lightning_sym.testing import small_checkpoint

SHAPE = Architecture((2, 1), (1,), 2)
WEIGHTS = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6]]})
SOFTMAX_WEIGHTS = WEIGHTS.with_form(NetworkForm(lightning_sym.SOFTMAX))

SOFTMAX_WEIGHTS = WEIGHTS.with_form(NetworkForm(lightning_sym.SOFTMAX))
JET = lightning_sym.softmax_jet(SOFTMAX_WEIGHTS)
PLAN = lightning_sym.query_plan(JET.architecture, bound=1, denominators=1)
SHAPE_OF_A_BOX = lightning_sym.Architecture((2, 1), (2,), 2, lightning_sym.SOFTMAX)


def half(x: Any, digits: int) -> list[list[str]]:
    """A black box that knows one number."""
    return [["0." + "5" * digits] * 2]


CHECKPOINT = TemporaryDirectory()
lightning_sym.save_checkpoint(small_checkpoint("llama", layers=1), CHECKPOINT.name)
SYMMETRY = Path(CHECKPOINT.name) / "symmetry.json"
lightning_sym.save_symmetry(lightning_sym.Symmetry((lightning_sym.LayerSymmetry(),)), SYMMETRY)

IDEAL = lightning_sym.equations(SHAPE)
PHI = lightning_sym.polynomial_map(SHAPE)
EMPTY = lightning_sym.Atlas(Path(CHECKPOINT.name) / "empty.sqlite", write=True)

CALLED = {"ask", "progress", "taylor", "function"}
"""Parameters that are functions."""

DEEP: list[Any] = []
for _ in range(3000):  # deeper than Python prints
    DEEP = [DEEP]

WRONG: dict[str, Any] = {
    "None": None, "a file": "weights.json", "a path": Path("weights.json"), "a float": 1.5, "minus one": -1,
    "a truth value": True, "nothing": [], "ragged rows": [[1], [2, 3]], "a list": [1, 2], "an empty mapping": {},
    "another mapping": {1.0: "x"}, "an object": object(), "bytes": b"x", "an empty array": np.zeros((0, 0)),
    "nan": float("nan"), "a type": Weights, "text in rows": [["a"]], "a function": len,
    "a SymPy matrix": sympy.Matrix([[1, 2], [3, 4]]), "a symbol": sympy.Symbol("a"), "deep": DEEP,
    "a long integer": 10**400, "a long negative": -(10**400), "an array of integers": np.array([[1, 2], [3, 4]]),
    "an array without axes": np.array(3), "a stack": np.zeros((2, 2, 2)), "an array of text": np.array(["a"]),
    "a NumPy integer": np.int64(2), "a set": {1, 2}, "a range": range(3), "a generator": (i for i in [1]),
    "places": {(0, 0): 1, (0, 0, 3): 1}, "a complex number": 1j, "a fraction": Fraction(1, 2), "long text": "x" * 200,
}  # fmt: skip


def good(name: str, folder: Path) -> Any:
    """Something right for a parameter of this name."""
    path = folder / "weights.json"
    if not path.exists():
        lightning_sym.save_weights(WEIGHTS, path)
    made: dict[str, Callable[[], Any]] = {
        "architecture": lambda: SHAPE, "weights": lambda: WEIGHTS, "first": lambda: WEIGHTS, "second": lambda: WEIGHTS,
        "layers": lambda: WEIGHTS.layers, "x": lambda: np.ones((2, 2), dtype=object), "path": lambda: path,
        "layer": lambda: 1, "by": lambda: 2, "tokens": lambda: 2, "document": lambda: {"kind": "same"},
        "matrices": WEIGHTS.named, "form": NetworkForm, "widths": lambda: (2, 1), "attention_ranks": lambda: (1,),
        "name": lambda: "softmax", "file": lambda: folder / "atlas.sqlite", "formula": lambda: "l",
        "family": lambda: lightning_sym.Family.of({"depth": 1, "widths": 1, "ranks": 1, "tokens": 1}),
        "atlas": lambda: lightning_sym.Atlas(folder / "atlas.sqlite", write=True),
        "checkpoint": lambda: small_checkpoint("llama", layers=1), "model": lambda: CHECKPOINT.name,
        "folder": lambda: folder / "written",
        "symmetry": lambda: lightning_sym.Symmetry((lightning_sym.LayerSymmetry(),)),
        "point": lambda: WEIGHTS, "entries": list, "status": lambda: "refused",
        "k": lambda: 1, "j": lambda: 1, "degree": int,
        "jet": lambda: JET, "polynomials": lambda: "x*y, z", "at": dict, "vocabulary": lambda: 3, "width": lambda: 4,
        "teacher": lambda: 1, "factors": lambda: [[[1, 0]], [[1]]], "plan": lambda: PLAN, "bound": lambda: 1,
        "ask": lambda: half,
        "taylor": lambda: lightning_sym.SOFTMAX.taylor, "phi": lambda: lightning_sym.polynomial_map(SHAPE, WEIGHTS),
    }  # fmt: skip
    return made[name]()


# where a parameter has more than one meaning, or no name of its own
SPECIAL: dict[str, Callable[[], dict[str, Any]]] = {
    "sweep": lambda: {"workers": 1},
    "forward": lambda: {"form": lightning_sym.network.attention.LIGHTNING},
    "softmax_jet": lambda: {"weights": SOFTMAX_WEIGHTS},
    "query_plan": lambda: {"architecture": SHAPE_OF_A_BOX, "digits": 9},
    "load_jet": lambda: {"path": Path(__file__).parents[2] / "examples" / "jet.json"},
    "same_checkpoints": lambda: {
        "first": small_checkpoint("llama", layers=1),
        "second": small_checkpoint("llama", layers=1),
    },
    "align": lambda: {name: small_checkpoint("llama", layers=1) for name in ("first", "second")},
    "open_checkpoint": lambda: {"path": CHECKPOINT.name},
    "checkpoint_of": lambda: {
        "weights": load_file(Path(CHECKPOINT.name) / "model.safetensors"),
        "config": json.loads((Path(CHECKPOINT.name) / "config.json").read_text(encoding="utf-8")),
    },
    "compare_logits": lambda: {
        "first": small_checkpoint("llama", layers=1),
        "second": small_checkpoint("llama", layers=1),
        "token_ids": [1],
    },
    "logits": lambda: {"token_ids": [1]},
    "load_symmetry": lambda: {"path": SYMMETRY},
    "compare_fingerprints": lambda: dict.fromkeys(
        ("first", "second"), lightning_sym.fingerprint(lightning_sym.open_checkpoint(CHECKPOINT.name))
    ),
    "same_certificate": lambda: {"comparison": lightning_sym.same_function(WEIGHTS, WEIGHTS)},
    "fiber_certificate": lambda: {"found": lightning_sym.fiber(SOFTMAX_WEIGHTS), "weights": SOFTMAX_WEIGHTS},
    "Equations.to_text": lambda: {"form": "sympy"},
    "function_limit": lambda: {"weights": lightning_sym.rescale(WEIGHTS, layer=1, by=sympy.Symbol("eps"))},
    "canonical": lambda: {"weights": SOFTMAX_WEIGHTS},
    "coefficients_of": lambda: {"path": {"first": WEIGHTS}},
    "transformer_conditions": lambda: {"weights": SOFTMAX_WEIGHTS},
    "dimension_certificate": lambda: {"result": lightning_sym.certified_dimension(SHAPE)},
}

METHODS: dict[str, Callable[..., Any]] = {
    "Architecture": Architecture, "Normalization": lightning_sym.Normalization, "NetworkForm": NetworkForm,
    "NetworkForm.of": NetworkForm.of, "NetworkForm.from_json": NetworkForm.from_json,
    "Weights.of": Weights.of, "Weights.random": Weights.random, "Weights.architecture": WEIGHTS.architecture,
    "Weights.with_form": WEIGHTS.with_form,
    **{f"Equations.{n}": getattr(IDEAL, n) for n in ("at", "vanishes_at", "tangent_dimension_bound", "to_text")},
    **{f"Atlas.{n}": getattr(EMPTY, n) for n in ("put", "forget", "entries")},
    **{
        f"PolynomialMap.{n}": getattr(PHI, n)
        for n in ("attention_matrix", "coefficients", "is_homogeneous", "sympy", "latex", "generic_rank", "matrix")
    },
}  # fmt: skip

FUNCTIONS = {
    name: value for name in lightning_sym.__all__ if inspect.isfunction(value := getattr(lightning_sym, name))
} | METHODS


def arguments(label: str, folder: Path) -> dict[str, Any]:
    """Right arguments for all parameters that need one."""
    found = SPECIAL.get(label, dict)()
    for name, parameter in inspect.signature(FUNCTIONS[label]).parameters.items():
        if parameter.default is parameter.empty and name not in found:
            found[name] = {"value": {}}[name] if label == "NetworkForm.from_json" else good(name, folder)
    return found


def calls() -> Iterator[tuple[str, str]]:
    for label, function in FUNCTIONS.items():
        for name in inspect.signature(function).parameters:
            yield label, name


@pytest.mark.parametrize(("label", "name"), list(calls()), ids=[f"{label}-{name}" for label, name in calls()])
def test_what_is_wrong_is_said_in_a_line(
    label: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    right = arguments(label, tmp_path)
    for what, wrong in WRONG.items():
        if name in CALLED and callable(wrong):
            continue  # what somebody's function does is his own business
        message = said(lambda wrong=wrong: FUNCTIONS[label](**right | {name: wrong}), f"{label}({name}={what})")  # type: ignore[misc]
        assert message is None or ("\n" not in message and 10 < len(message) < 400), (what, message)


def said(call: Callable[[], Any], what: str) -> str | None:
    """What a call says is wrong with its arguments, `None` if nothing is."""
    try:
        if inspect.isgenerator(found := call()):
            list(found)
    except BadInput as error:
        return str(error)
    except Exception as error:
        raise AssertionError(f"{what} ends in {type(error).__name__}: {error}") from error
    return None


@pytest.mark.parametrize("label", FUNCTIONS)
def test_right_arguments_are_right(label: str, tmp_path: Path) -> None:
    if label != "NetworkForm.from_json":
        FUNCTIONS[label](**arguments(label, tmp_path))


SCALES = ("a float", "minus one", "a long integer", "a long negative", "a NumPy integer", "a fraction")
"""Those that are right where a number that is not zero is asked for."""


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_points_of_components(wrong: Any) -> None:
    [component, *_] = lightning_sym.fiber(WEIGHTS).components
    assert isinstance(component, Component)
    for given in ({"lam": wrong}, {"lam": 2, "C": wrong}, {"mu": wrong}, {}):
        if list(given) == ["lam"] and isinstance(wrong, sympy.Symbol):
            assert component.point(**given).letters == (wrong,)
            continue
        if list(given) == ["lam"] and any(wrong is WRONG[right] for right in SCALES):
            assert lightning_sym.same_function(component.point(**given), WEIGHTS).answer is lightning_sym.Answer.SAME
            continue
        with pytest.raises(BadInput) as caught:
            component.point(**given)
        assert "\n" not in str(caught.value)
