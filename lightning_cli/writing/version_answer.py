"""What is installed: the version of the program, of Python and of the packages, and the kernel. For reports."""

from __future__ import annotations

import platform
import re
import sys
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec

from lightning_cli.writing.fields import field, in_order, json_answer, optional
from lightning_sym.version import __version__

_NEED = re.compile(r"([A-Za-z0-9._-]+).*?(?:extra == ['\"]([a-z]+)['\"])?")


@dataclass(frozen=True)
class Installed:
    """What is installed here.

    Attributes:
        version: of this program.
        python: its implementation and version.
        platform: the system and the kind of processor.
        packages: by name the versions of the packages that the program always needs; `None` where one is missing.
        extras: the same of each extra.
        kernel: which compiled kernel is used, or why none that is there; `None` where there is none.
    """

    version: str
    python: str
    platform: str
    packages: dict[str, str | None]
    extras: dict[str, dict[str, str | None]]
    kernel: str | None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def kernel_state() -> str | None:
    """Return which compiled kernel is used, or why one that is there is not; `None` where there is none."""
    if find_spec("lightning_sym_kernel") is None:
        return None
    from lightning_sym.exact.kernel import STATE

    return STATE


def installed() -> Installed:
    """Return what is installed; a checkout that is no distribution knows no packages."""
    try:
        needs = metadata.requires("lightning-sym") or []
    except metadata.PackageNotFoundError:
        needs = []
    packages: dict[str, str | None] = {}
    extras: dict[str, dict[str, str | None]] = {}
    for need in needs:
        if found := _NEED.fullmatch(need):
            where = extras.setdefault(found[2], {}) if found[2] else packages
            where[found[1]] = _version(found[1])
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return Installed(__version__, python, f"{sys.platform} {platform.machine()}", packages, extras, kernel_state())


PACKAGE = in_order(field("name", str), field("version", optional(str)))

ANSWER = json_answer(
    "version",
    field("version", str, "of this program"),
    field("python", str, "its implementation and version"),
    field("platform", str, "the system and the kind of processor"),
    field(
        "packages",
        [PACKAGE],
        "what the program always needs, with versions; null where one is missing",
        lambda found: found.packages.items(),
    ),
    field(
        "extras",
        [in_order(field("name", str), field("packages", [PACKAGE]))],
        "the same of each extra",
        lambda found: [(name, needs.items()) for name, needs in found.extras.items()],
    ),
    field("kernel", optional(str), "which compiled kernel is used, or why one that is there is not; null without one"),
    said="`lightning-sym --version --json`.",
)
