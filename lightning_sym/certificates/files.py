"""Certificates as files: text in which people find their way, written completely or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

from lightning_sym.arguments import require_arguments
from lightning_sym.certificates.document import Document
from lightning_sym.certificates.limits import require_size
from lightning_sym.errors import BadInput
from lightning_sym.whole_files import replacing, require_writable

LONGEST_NAME = 200
"""Bytes of a file's name: file systems know 255, and while it is written it has a longer one."""


def certificate_text(document: Document) -> str:
    """A certificate as it is written: one field a line, so that people can find their way.

    Raises:
        TooLarge: it is larger than checkers read.
    """
    fields = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    text = "{" + ",\n ".join(fields) + "}\n"
    require_size(len(text))
    return text


def require_certificate_path(path: str | os.PathLike[str]) -> Path:
    """The path of a certificate that is to be written, checked before anything is computed.

    Raises:
        BadInput: it is a directory, or not in a writable one.
    """
    file = Path(path)
    try:
        require_writable(file)
    except IsADirectoryError as error:
        raise BadInput(f"a certificate must be written to a file, got the directory {file}") from error
    except OSError as error:
        raise BadInput(f"{file} must be in a writable folder: {error.strerror}") from error
    if len(os.fsencode(file.name)) > LONGEST_NAME:
        raise BadInput(f"the name of a certificate must have at most {LONGEST_NAME} bytes, got {file.name[:40]}...")
    return file


def write_certificate(path: str | os.PathLike[str], document: Document) -> None:
    """Write a certificate, or nothing: the file appears only when it is complete.

    Raises:
        BadInput: the path is a directory, or not in a writable one.
        TooLarge: the certificate is larger than checkers read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_certificate(Path(folder) / "c.json", {"kind": "same", "tokens": 2})
        ...     print((Path(folder) / "c.json").read_text(), end="")
        {"kind": "same",
         "tokens": 2}
    """
    require_arguments(write_certificate, locals())
    file = require_certificate_path(path)
    text = certificate_text(document)
    try:
        with replacing(file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{file} must be in a writable folder: {error.strerror}") from error
