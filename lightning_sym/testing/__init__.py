"""Assertions for other people's tests: exact, or failing by name. Each name is imported when it is first asked for."""

from __future__ import annotations

from lightning_sym.lazy import lazy_imports, public_names

with lazy_imports(__name__) as _places:  # `as` says that a name is public
    from lightning_sym.testing.checkpoints import assert_same_checkpoint as assert_same_checkpoint
    from lightning_sym.testing.checkpoints import small_checkpoint as small_checkpoint
    from lightning_sym.testing.claims import Held as Held
    from lightning_sym.testing.claims import assert_holds as assert_holds
    from lightning_sym.testing.failures import Mismatch as Mismatch
    from lightning_sym.testing.failures import NotDecided as NotDecided
    from lightning_sym.testing.functions import assert_dimension as assert_dimension
    from lightning_sym.testing.functions import assert_same_function as assert_same_function
    from lightning_sym.testing.implements import Agreement as Agreement
    from lightning_sym.testing.implements import assert_implements as assert_implements
    from lightning_sym.testing.strategies import architectures as architectures
    from lightning_sym.testing.strategies import exact_weights as exact_weights

__all__, __getattr__, __dir__ = public_names(__name__, _places)
