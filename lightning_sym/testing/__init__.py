"""Assertions for other people's tests: exact, or failing by name. Each name is imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightning_sym.testing.checkpoints import small_checkpoint
    from lightning_sym.testing.claims import Held, assert_holds
    from lightning_sym.testing.dimensions import assert_dimension
    from lightning_sym.testing.failures import Mismatch, NotDecided
    from lightning_sym.testing.functions import assert_same_function
    from lightning_sym.testing.implements import Agreement, assert_implements
    from lightning_sym.testing.strategies import architectures, exact_weights

_PLACES = {
    "Agreement": "lightning_sym.testing.implements",
    "Held": "lightning_sym.testing.claims",
    "Mismatch": "lightning_sym.testing.failures",
    "NotDecided": "lightning_sym.testing.failures",
    "architectures": "lightning_sym.testing.strategies",
    "assert_dimension": "lightning_sym.testing.dimensions",
    "assert_holds": "lightning_sym.testing.claims",
    "assert_implements": "lightning_sym.testing.implements",
    "assert_same_function": "lightning_sym.testing.functions",
    "exact_weights": "lightning_sym.testing.strategies",
    "small_checkpoint": "lightning_sym.testing.checkpoints",
}

__all__ = [
    "Agreement",
    "Held",
    "Mismatch",
    "NotDecided",
    "architectures",
    "assert_dimension",
    "assert_holds",
    "assert_implements",
    "assert_same_function",
    "exact_weights",
    "small_checkpoint",
]


def __getattr__(name: str) -> Any:
    """A public name, from its module."""
    if name not in _PLACES:
        raise AttributeError(f"module 'lightning_sym.testing' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
