"""Packages that only some answers need: imported when one does, or named with what installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lightning_sym.errors import MissingExtra


def import_extra(module: str, extra: str, needing: str) -> Any:
    """A module of an optional package.

    The package is what is to be installed: that is right in a checkout and in an installed distribution alike.

    Args:
        module: its dotted name; the package is installed by the name before the first dot.
        extra: of this distribution, to which the package belongs.
        needing: what cannot be done without it.

    Raises:
        MissingExtra: it cannot be imported.

    Example:
        >>> import_extra("no_such_package.part", "plot", "the picture")
        Traceback (most recent call last):
        lightning_sym.errors.MissingExtra: the picture needs the extra `plot`: pip install no_such_package
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        there = "" if isinstance(error, ModuleNotFoundError) else f" (it cannot be imported: {error})"
        raise MissingExtra(f"{needing} needs the extra `{extra}`: pip install {package}{there}") from error
