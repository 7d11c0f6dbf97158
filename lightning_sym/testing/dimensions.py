"""That the functions of a network form a variety of a dimension."""

from __future__ import annotations

from lightning_sym.dimension.certify import Status, certified_dimension
from lightning_sym.errors import BadInput
from lightning_sym.limits import DEFAULT_MEMORY, Progress, require_integer
from lightning_sym.network.architecture import Architecture
from lightning_sym.testing.failures import Mismatch, NotDecided, told


def assert_dimension(
    network: Architecture,
    expected: int,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> None:
    """Fail unless the dimension is certified to be this number.

    Args:
        network: the shape.
        expected: its dimension.
        seed: picks the points of the lower bound.
        memory: bytes that the computation may take, by an estimate made before.
        progress: called with stage, steps done and steps in all.

    Raises:
        Mismatch: the dimension is another number, or cannot be this one: it lies outside of the proved bounds.
        NotDecided: the number lies between two proved bounds that do not meet.
        BadInput: the network has an option for which nothing is proved, or is too large.

    Example:
        >>> network = Architecture((4, 4, 4), (2, 2), 3)
        >>> assert_dimension(network, 38)
        >>> assert_dimension(network, 39)
        Traceback (most recent call last):
        lightning_sym.testing.failures.Mismatch: the dimension is not 39
          network    widths 4,4,4, ranks 2,2, tokens 3
          dimension  38, certified
    """
    __tracebackhide__ = True
    if not isinstance(network, Architecture):
        raise BadInput(f"the network must be an Architecture, got {type(network).__name__}")
    require_integer(expected, "the expected dimension")
    found = certified_dimension(network, seed=seed, memory=memory, progress=progress)
    lines = [("network", str(network))]
    if found.status is Status.CERTIFIED:
        if found.lower != expected:
            raise Mismatch(
                told(f"the dimension is not {expected}", [*lines, ("dimension", f"{found.lower}, certified")])
            )
        return
    lines += [("lower bound", f"{found.lower}"), ("upper bound", f"{found.upper}")]
    if not found.lower <= expected <= found.upper:
        raise Mismatch(told(f"the dimension is not {expected}: it lies between the bounds", lines))
    raise NotDecided(told(f"it is undecided whether the dimension is {expected}: the bounds do not meet", lines))
