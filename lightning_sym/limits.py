"""What bounds work before it is begun, and how long work is told about: memory, and progress."""

from __future__ import annotations

from collections.abc import Callable

from lightning_sym.errors import TooLarge

Progress = Callable[[str, int, int], None]
"""Called as `progress(stage, done, total)`."""

DEFAULT_MEMORY = 4 * 2**30


def require_memory(needed: int, allowed: int, what: str) -> None:
    """Refuse, with the estimate, what would not fit.

    Raises:
        TooLarge: `needed` bytes exceed `allowed`.
    """
    if needed > allowed:
        raise TooLarge(f"{what} must fit into {allowed / 2**30:.3g} GiB, estimated need {_gibibytes(needed)}")


def _gibibytes(size: int) -> str:
    digits = len(str(size >> 30)) if size < 1 << 4096 else 1000
    return f"{size / 2**30:,.3g} GiB" if digits < 6 else f"over 10^{digits - 1} GiB"
