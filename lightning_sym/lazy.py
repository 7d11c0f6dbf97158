"""Imports that happen when something is first asked for: who needs one room does not wait for the others.

Packages that only some answers need are imported when one does, or named with what installs them.

The statements stand at the top of a file as any others do, where people, linters and type checkers read them, inside of
`with lazy_imports(__name__)`. What is imported there are modules, used as `module.name`; or the public names of a
package, which then calls `public_names`. Nothing comes into `sys.modules` before it is needed, as it would with
`importlib.util.LazyLoader`.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from types import ModuleType, SimpleNamespace
from typing import Any

from lightning_sym.errors import MissingExtra


class LazyModule(ModuleType):
    """Stands for a module until an attribute of it is asked for; from then on its importer has the module itself.

    Args:
        name: of the module.
        importer: the name of the module that has this one in its place.

    Example:
        >>> LazyModule("fractions").Fraction(1, 2)
        Fraction(1, 2)
    """

    def __init__(self, name: str, importer: str = "") -> None:
        super().__init__(name)
        self.__importer = importer

    def __getattr__(self, name: str) -> object:
        """Return the attribute that the module has now; special ones, which tools ask everything for, load nothing."""
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} is loaded later, and has no attribute {name!r} now")
        module = import_module(self.__name__)
        namespace = vars(sys.modules.get(self.__importer, self))
        namespace.update({bound: module for bound, value in list(namespace.items()) if value is self})
        return getattr(module, name)


_ONE_AT_A_TIME = RLock()
"""Held inside of a block: what one thread puts back must not be what another one has put there."""


@contextmanager
def lazy_imports(importer: str) -> Iterator[dict[str, str]]:
    """Make each import of a module in the block a `LazyModule`.

    Args:
        importer: the name of the module in which the block stands; what others import meanwhile is imported at once.

    Yields:
        By name what was imported from where, to be filled by the block.
    """
    places: dict[str, str] = {}

    def import_later(
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002 - the names that Python gives them
        locals: Mapping[str, object] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType | SimpleNamespace:
        if globals is None or globals.get("__name__") != importer:
            return import_now(name, globals, locals, fromlist or (), level)
        if not fromlist:
            return LazyModule(name, importer)
        places.update(dict.fromkeys(fromlist, name))
        return SimpleNamespace(**{each: LazyModule(f"{name}.{each}", importer) for each in fromlist})

    with _ONE_AT_A_TIME:
        import_now = builtins.__import__
        builtins.__import__ = import_later  # type: ignore[assignment]
        try:
            yield places
        finally:
            builtins.__import__ = import_now


Names = tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]


def public_names(package: str, places: Mapping[str, str]) -> Names:
    """Return `__all__`, `__getattr__` and `__dir__` of a package whose names are imported when they are asked for.

    Args:
        package: its name; `lazy_imports` has bound the names in it, and this takes them away again.
        places: by name the module that defines it.
    """
    namespace = vars(sys.modules[package])
    for name in places:
        del namespace[name]

    def __getattr__(name: str) -> Any:  # noqa: N807 - what modules call it
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = namespace[name] = getattr(import_module(places[name]), name)
        return value

    def __dir__() -> list[str]:  # noqa: N807
        """Return what a session completes: public names and what every module has; rooms go by their own names."""
        return sorted({*(name for name in namespace if name.startswith("__")), *places})

    return sorted(places), __getattr__, __dir__


def import_extra(module: str, extra: str, needing: str) -> ModuleType:
    """Return a module of an optional package.

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
