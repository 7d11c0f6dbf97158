"""Every public function and method of some modules, with the kinds of its parameters."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any


def modules_of(package: ModuleType) -> Iterator[ModuleType]:
    """All modules below a package."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(info.name)


def public_functions(modules: Iterable[ModuleType]) -> Iterator[tuple[str, str, Callable[..., Any], dict[str, str]]]:
    """Module, name in it, function and annotations of the parameters; a class is called as its `__init__`."""
    for module in modules:
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
                continue
            members = {name: value}
            if inspect.isclass(value):
                members = {f"{name}.{key}": getattr(value, key) for key in vars(value) if key[0] != "_"}
                members[f"{name}.__init__"] = value
            for label, function in members.items():
                source = function.__init__ if inspect.isclass(function) else function
                kinds = getattr(source, "__annotations__", {}) if callable(source) else {}  # else fields of a constant
                yield module.__name__, label, function, {key: str(k) for key, k in kinds.items() if key != "return"}
