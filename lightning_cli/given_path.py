"""What a path on the command line names: exact weights of a small network, or a checkpoint."""

from __future__ import annotations

import os

from lightning_sym.errors import BadInput


def names_checkpoint(path: str) -> bool:
    """Return whether this is a folder, or ends in .gguf; everything else is a file of exact weights."""
    return os.path.isdir(path) or path.lower().endswith(".gguf")


def is_checkpoint(path: str) -> bool:
    """Return the same of what is there.

    Raises:
        BadInput: there is nothing of this name.
    """
    if not os.path.exists(path):
        raise BadInput(f"{path}: there is no such file or folder")
    return names_checkpoint(path)
