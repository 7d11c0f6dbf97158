"""Certificates as files: text in which people find their way, written completely or not at all."""

from __future__ import annotations

import json
import os

from lightning_sym.arguments import require_arguments
from lightning_sym.certificates.document import Document
from lightning_sym.certificates.limits import require_size
from lightning_sym.whole_files import cannot_write, replacing


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
    try:
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise cannot_write("a certificate", path, error) from error
