"""Certificates of what a claim certifies, written while it runs; the checks themselves need not know of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lightning_sym.certificates.dimension import dimension_certificate
from lightning_sym.certificates.files import write_certificate
from lightning_sym.dimension.certify import LISTENERS, CertifiedDimension, certified_dimension
from lightning_sym.errors import ProgramError
from lightning_sym.network.architecture import Architecture

Offer = Callable[[Hashable, Callable[[], dict[str, Any]]], None]
_taking: list[Offer] = []


def offer(key: Hashable, make: Callable[[], dict[str, Any]]) -> None:
    """A certificate besides those of certified dimensions, which are written anyway: made only if it is wanted.

    Args:
        key: what it is about; the same thing is written once for each part.
        make: the certificate.
    """
    for take in _taking:
        take(key, make)


def offer_network(network: Architecture, dimension: int) -> None:
    """The certificate of a network whose functions are what a claim is about, found there to have this dimension."""

    def make() -> dict[str, Any]:
        result = certified_dimension(network)
        if result.value != dimension:
            raise ProgramError(f"{network}: certified {result.lower} to {result.upper}, the claim found {dimension}")
        return dimension_certificate(result)

    offer(network, make)


def file_name(part: str) -> str:
    """The name of a part as the beginning of file names.

    Example:
        >>> file_name("S(y) = y: one less for every layer")
        's-y-y-one-less-for-every-layer'
    """
    return re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:40].strip("-")


@contextmanager
def certificates_into(directory: Path, beginning: str) -> Iterator[set[Hashable]]:
    """Write a certificate of everything that is certified, or offered, until the end: `beginning-0001.json`, ...

    Yields:
        What they are about; it grows.
    """
    written: set[Hashable] = set()

    def take(key: Hashable, make: Callable[[], dict[str, Any]]) -> None:
        if key not in written:
            written.add(key)
            write_certificate(directory / f"{beginning}-{len(written):04}.json", make())

    def listen(result: CertifiedDimension) -> None:
        take(result.architecture, lambda: dimension_certificate(result))

    directory.mkdir(parents=True, exist_ok=True)
    LISTENERS.append(listen)
    _taking.append(take)
    try:
        yield written
    finally:
        LISTENERS.remove(listen)
        _taking.remove(take)
