"""Certificates as files: text in which people find their way, written completely or not at all."""

from __future__ import annotations

import json
import os
from typing import Any

from lightning_sym.arguments import require_arguments
from lightning_sym.certificates.document import Document
from lightning_sym.certificates.limits import MOST_LAYERS, require_size
from lightning_sym.errors import BadInput
from lightning_sym.network.weight_files import LONGEST_NUMBER
from lightning_sym.network.weights import Weights
from lightning_sym.whole_files import in_words, replacing


def number_document(number: Any) -> int | str:
    """Return an exact number: an integer of at most twenty digits as it is, any other as numerator and denominator.

    Raises:
        BadInput: it has too many digits.
    """
    top, low = int(number.numerator), int(number.denominator)
    if max(abs(top), low) >= 10**LONGEST_NUMBER:
        raise BadInput(f"numbers in a certificate must have at most {LONGEST_NUMBER} digits, above and below the line")
    return top if low == 1 and abs(top) < 10**20 else f"{top}/{low}"


def rational_document(matrix: Any) -> list[list[int | str]]:
    """Return a matrix of exact numbers by its rows."""
    return [[number_document(x) for x in row] for row in matrix]


def weights_document(weights: Weights) -> Document:
    """Return weights by name, entries exact.

    Raises:
        BadInput: a number is too long, or there are more layers than checkers read.
    """
    if (depth := weights.architecture(1).depth) > MOST_LAYERS:
        raise BadInput(f"a certificate must be of at most {MOST_LAYERS} layers, got {depth}")
    return {name: rational_document(matrix) for name, matrix in weights.numbers().items()}


def certificate_text(document: Document) -> str:
    """Return a certificate as it is written: one field a line, so that people can find their way.

    Raises:
        TooLarge: it is larger than checkers read.
    """
    fields = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    text = "{" + ",\n ".join(fields) + "}\n"
    require_size(len(text))
    return text


def write_certificate(path: str | os.PathLike[str], document: Document) -> None:
    """Write a certificate, or nothing: the file appears only when it is complete.

    Raises:
        BadInput: the file cannot be written.
        TooLarge: the certificate is larger than checkers read.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_certificate(Path(folder) / "c.json", {"kind": "same", "tokens": 2})
        ...     print((Path(folder) / "c.json").read_text(), end="")
        {"kind": "same",
         "tokens": 2}
    """
    require_arguments(write_certificate, locals())
    text = certificate_text(document)
    with in_words("a certificate", path), replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
