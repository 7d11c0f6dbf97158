"""The class in PyTorch on the how-to page, with what stands in for PyTorch: a few lines that are as strict as it is."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lightning_sym.testing import Mismatch

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-your-own-code.md"


class Tensor:
    """An array that refuses to mix types, and to become NumPy's while it is on the tape."""

    def __init__(self, values: Any, taped: bool = False) -> None:
        self.values, self.taped = np.asarray(values), taped

    def __matmul__(self, other: Tensor) -> Tensor:
        if self.values.dtype != other.values.dtype:
            raise RuntimeError(f"expected both to be of one type, got {self.values.dtype} and {other.values.dtype}")
        return Tensor(self.values @ other.values, self.taped or other.taped)

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor(self.values[index], self.taped)

    @property
    def T(self) -> Tensor:  # noqa: N802
        assert self.values.ndim == 2
        return Tensor(self.values.T, self.taped)

    def transpose(self, one: int, other: int) -> Tensor:
        return Tensor(np.swapaxes(self.values, one, other), self.taped)

    def copy_(self, other: Tensor) -> None:
        assert self.values.shape == other.values.shape
        self.values = other.values.astype(np.float32)

    def detach(self) -> Tensor:
        return Tensor(self.values)

    def cpu(self) -> Tensor:
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.taped:
            raise RuntimeError("call detach first")
        return self.values


class Module:
    def __call__(self, x: Any) -> Any:
        return self.forward(x)  # type: ignore[attr-defined]


class Linear(Module):
    def __init__(self, columns: int, rows: int, bias: bool = True) -> None:
        assert not bias
        self.weight = Tensor(np.zeros((rows, columns), dtype=np.float32), taped=True)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.T


@contextmanager
def no_grad() -> Iterator[None]:
    yield


def stand_in() -> types.ModuleType:
    torch = types.ModuleType("torch")
    contents = {
        "nn": types.SimpleNamespace(Module=Module, Linear=Linear), "no_grad": no_grad, "tensor": Tensor,
        "from_numpy": Tensor, "tril": lambda x: Tensor(np.tril(x.values), x.taped),
    }  # fmt: skip
    vars(torch).update(contents)
    return torch


def block() -> str:
    found = re.findall(r"^```\{code-block\} python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(found) == 1
    return str(found[0])


def test_the_class_on_the_page_is_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", stand_in())
    names: dict[str, Any] = {}
    exec(block(), names)  # noqa: S102 - our own page
    names["test_attention"]()


@pytest.mark.parametrize(
    ("old", "new", "guess"),
    [("torch.tril(", "(", "without its causal mask"), ("self.q(x) @ self.k(x)", "self.k(x) @ self.q(x)", "exchanged"),
     ("layer(x.T[None])[0].T", "layer(x[None].transpose(1, 2))[0].T[:, [1, 0, 2]]", "")],
)  # fmt: skip
def test_a_mistake_in_the_class_is_found(monkeypatch: pytest.MonkeyPatch, old: str, new: str, guess: str) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", stand_in())
    names: dict[str, Any] = {}
    assert old in block()
    exec(block().replace(old, new), names)  # noqa: S102
    with pytest.raises(Mismatch, match=f"is it .*{guess}" if guess else "not the map of this network"):
        names["test_attention"]()


def test_the_workflow_is_ten_lines_and_a_bit() -> None:
    (found,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(found.splitlines()) <= 14
    assert 'pip install "./lightning-sym[testing]"' in found
