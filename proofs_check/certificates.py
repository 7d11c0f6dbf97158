"""Certificates of what the parts of a claim certify, and the list of all of them.

What a claim says of one network, somebody else's for example.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from lightning_sym.certificates.dimension import dimension_certificate
from lightning_sym.certificates.files import write_certificate
from lightning_sym.dimension.certify import certified_dimension
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.network.ambient import ambient_dimension
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.whole_files import replacing
from proofs_check.claim import At, Certifiable

MOST_COORDINATES = 4_000_000
"""Coefficients of a function that is written out: some seconds."""

ENOUGH, MOST_SEEDS = 2, 16
"""Random weights within the hypotheses that stand for a network where none are given, and how many are tried."""


def itself_if(
    hypotheses: Callable[[Architecture], bool], options: Collection[str] = (), *, written_out: bool = False
) -> At:
    """Return the network as the instance if it has no other options than these and satisfies the hypotheses.

    Args:
        hypotheses: asked of networks with no other options.
        options: fields of `Architecture`.
        written_out: the check writes functions out, so that networks with too many coefficients are refused.

    Example:
        >>> at = itself_if(lambda network: network.tokens > 1, {"skip"})
        >>> [len(list(at(Architecture((2, 2), (1,), t, causal=t > 2), None))) for t in (1, 2, 3)]
        [0, 1, 0]
    """

    def at(network: Architecture, weights: Weights | None) -> Iterator[Architecture]:
        if network.options <= set(options) and hypotheses(network):
            if written_out:
                _require_few_coefficients(network)
            yield network

    return at


def _require_few_coefficients(network: Architecture) -> None:
    size = ambient_dimension(Architecture(network.widths, network.attention_ranks, network.tokens))
    if size > MOST_COORDINATES:
        raise TooLarge(
            f"functions that are written out must have at most {MOST_COORDINATES:,} coefficients, got {size:,}"
        )


def weights_if(
    shape: Callable[[Architecture], bool],
    hypotheses: Callable[[Weights, int], bool],
    instance: Callable[[Weights, int], object],
) -> At:
    """Return the weights as the instance if they satisfy the hypotheses; random ones where none are given.

    Args:
        shape: which networks, among those with nothing added.
        hypotheses: on weights and number of tokens.
        instance: of both.
    """

    def at(network: Architecture, weights: Weights | None) -> Iterator[object]:
        if not (network.is_plain and shape(network)):
            return
        _require_few_coefficients(network)
        drawn = (Weights.random(network, seed=seed, bound=3) for seed in range(MOST_SEEDS))
        within = (w for w in (drawn if weights is None else (weights,)) if hypotheses(w, network.tokens))
        for each in islice(within, ENOUGH):
            yield instance(each, network.tokens)

    return at


MANIFEST = "manifest.json"
"""The list of what belongs to a set of certificates: written last, so that a part of a set has none."""


class CannotWrite(BadInput):
    """A certificate, or their list, could not be written: no fault of a claim."""


def of_network(network: Architecture, *, all_bounds: bool = False) -> Certifiable:
    """Return the certificate of the dimension of a network, or of its two bounds."""
    return Certifiable(network, lambda: dimension_certificate(certified_dimension(network, all_bounds=all_bounds)))


def itself(network: Architecture) -> Iterator[Certifiable]:
    """Yield the network itself as what is certified, for parts whose instances are networks."""
    yield of_network(network)


def itself_by_orbit(network: Architecture) -> Iterator[Certifiable]:
    """Yield the same with an orbit as well, where the other upper bound contains the formula that is checked."""
    yield of_network(network, all_bounds=True)


def file_name(part: str) -> str:
    """Return the name of a part as the beginning of file names.

    Example:
        >>> file_name("S(y) = y: one less for every layer")
        's-y-y-one-less-for-every-layer'
    """
    return re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:40].strip("-")


class CertificateWriter:
    """Writes `directory/folder/beginning-0001.json`, ...; of what is about the same, the first one.

    Attributes:
        written: the SHA-256 of each file, by its path in the directory.

    Raises:
        CannotWrite: a folder or file cannot be written.
    """

    def __init__(self, directory: Path, folder: str, beginning: str) -> None:
        self._directory, self._beginning = directory, f"{folder}/{beginning}"
        self._known: set[Hashable] = set()
        self.written: dict[str, str] = {}
        try:
            (directory / folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CannotWrite(f"certificates must have room in {str(directory)!r}: {error.strerror}") from error

    def write(self, found: Certifiable) -> None:
        """Write the certificate, unless there is one about the same."""
        if found.about in self._known:
            return
        self._known.add(found.about)
        name = f"{self._beginning}-{len(self._known):04}.json"
        document = found.document()
        try:
            write_certificate(self._directory / name, document)
            self.written[name] = hashlib.sha256((self._directory / name).read_bytes()).hexdigest()
        except TooLarge:
            raise
        except (BadInput, OSError) as error:
            raise CannotWrite(f"certificates must have room in {str(self._directory)!r}: {error}") from error


def write_manifest(directory: Path, files: Mapping[str, str]) -> None:
    """Write the list of all certificates of a set that is complete.

    Args:
        directory: where they are.
        files: their SHA-256, by their path in the directory.

    Raises:
        CannotWrite: it cannot be written.
    """
    document = {"format": "lightning-sym/certificates", "version": 1, "files": dict(sorted(files.items()))}
    try:
        directory.mkdir(parents=True, exist_ok=True)  # where nothing was certified, nobody has made it
        with replacing(directory / MANIFEST) as file:
            file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise CannotWrite(f"certificates must have room in {str(directory)!r}: {error.strerror}") from error
