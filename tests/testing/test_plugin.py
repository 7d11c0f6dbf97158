"""The assertions and the plugin as another person's repository uses them: pytest in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from lightning_sym import SOFTMAX, NetworkForm, Weights
from lightning_sym.testing.plugin import MOST_SHOWN, pytest_assertrepr_compare

ROOT = Path(__file__).parents[2]

THEIRS = """
import numpy as np
from hypothesis import given, settings
from lightning_sym import Architecture, NetworkForm, Weights
from lightning_sym.testing import (
    architectures, assert_dimension, assert_holds, assert_implements, assert_same_function, exact_weights
)

NETWORK = Architecture((2, 2), (1,), 2, causal=True)
WEIGHTS = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [0, 1]]}, NetworkForm(causal=True))

def mine(x):
    q, k, v = (WEIGHTS[name].astype(x.dtype) for name in ("Q1", "K1", "V1"))
    return (v @ x) @ np.triu((k @ x).T @ (q @ x))

def forgetful(x):
    q, k, v = (WEIGHTS[name].astype(x.dtype) for name in ("Q1", "K1", "V1"))
    return (v @ x) @ ((k @ x).T @ (q @ x))

def test_right():
    assert_implements(mine, WEIGHTS, dtype="float32")
    assert_dimension(Architecture((4, 4, 4), (2, 2), 3), 38)
    assert_holds("corollary-3.8", Architecture((4, 4, 4), (2, 2), 3))

@settings(max_examples=20, deadline=None)
@given(exact_weights(NETWORK))
def test_right_everywhere(weights):
    def mine(x):
        q, k, v = (weights[name].astype(x.dtype) for name in ("Q1", "K1", "V1"))
        return (v @ x) @ np.triu((k @ x).T @ (q @ x))
    assert_implements(mine, weights, trials=4)

def test_wrong():
    assert_implements(forgetful, WEIGHTS)

def test_wrong_dimension():
    assert_dimension(Architecture((4, 4, 4), (2, 2), 3), 39)

def test_weights():
    other = Weights.of(dict(WEIGHTS.matrices) | {"V1": [[3, 4], [0, 2]]}, WEIGHTS.form)
    assert WEIGHTS == other
"""


def pytest_run(folder: Path, *words: str) -> str:
    """What pytest prints about their tests, without times."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "lightning_sym.testing.plugin", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_in_a_repository_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(THEIRS, encoding="utf-8")
    told = pytest_run(tmp_path, "-q")
    assert "3 failed, 2 passed" in told
    message = [
        "E       lightning_sym.testing.failures.Mismatch: the function is not the map of this network",
        "E         network   widths 2,2, ranks 1, tokens 2, causal",
        "E         input     X = 1 1; 0 0",
        "E         function  f(X) = 6 6; 0 0",
        "E         exact     phi(X) = 3 6; 0 0",
        "E         differs   at coordinate 1 of token 1: 6 instead of 3",
        "E         is it     the network without its causal mask? they agree at all inputs tried",
    ]
    assert "\n".join(message) in told
    assert "the dimension is not 39" in told
    assert "assert_implements(forgetful, WEIGHTS)" in told
    assert "lightning_sym/testing/implements.py" not in told, "frames of the library are not shown"
    assert "V1 = 3 4; 0 1" in told
    assert "  != 3 4; 0 2" in told


def test_the_entry_point_names_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (name,) = project["entry-points"]["pytest11"].values()
    assert import_module(name).pytest_assertrepr_compare is pytest_assertrepr_compare
    assert any(needed.startswith("hypothesis") for needed in project["optional-dependencies"]["testing"])


def test_the_plugin_loads_nothing() -> None:
    script = (
        "import sys; before = set(sys.modules); import lightning_sym.testing.plugin; "
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before} & "
        "{'numpy', 'flint', 'sympy', 'hypothesis', 'proofs_check', 'pytest'}), "
        "sorted(m for m in sys.modules if m.startswith('lightning_sym')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    modules = [
        "lightning_sym",
        "lightning_sym.errors",
        "lightning_sym.lazy",
        "lightning_sym.testing",
        "lightning_sym.testing.plugin",
        "lightning_sym.version",
    ]
    assert done.stdout == f"[] {modules}\n"


def test_other_comparisons_are_left_alone() -> None:
    weights = Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]})
    assert pytest_assertrepr_compare("==", 1, 2) is None
    assert pytest_assertrepr_compare("==", weights, 2) is None
    assert pytest_assertrepr_compare("is", weights, weights) is None


def test_forms_and_missing_matrices_are_named() -> None:
    one = Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]})
    masked = one.with_form(NetworkForm(SOFTMAX, causal=True))
    told = pytest_assertrepr_compare("==", one, masked) or []
    assert told[1].startswith("form {'normalization': 'none'")
    names = [f"{letter}{i}" for i in (1, 2, 3) for letter in "QKV"]
    deep = Weights.of({name: [[7]] for name in names})
    told = pytest_assertrepr_compare("==", one, deep) or []
    assert "Q2 = missing" in told
    assert f"and {9 - MOST_SHOWN} more matrices" in told


def test_public_names_are_there() -> None:
    import lightning_sym.testing as testing

    assert len(testing.__all__) == 12
    assert {name for name in testing.__all__ if getattr(testing, name).__module__.startswith("lightning_sym.testing")}
    assert set(testing.__all__) <= set(dir(testing))
    with pytest.raises(AttributeError, match="no attribute 'assert_nothing'"):
        _ = testing.assert_nothing
