"""How long the conditions of the theorems on softmax networks take: measured seconds, to be compared with `--work`."""

from __future__ import annotations

from lightning_sym.network.architecture import SHAPED, Architecture

RESIDUE = 4.5e-7
"""Seconds for an entry of the weights that becomes a residue and is multiplied with points."""

HEAD, PAIR = 5e-4, 2e-6
"""Seconds for the residues of a head at all points, and for those of a pair of heads."""

FORMAL = 5e-5
"""Seconds for a head of a formal network at three tokens."""


def conditions_cost(shape: Architecture) -> float:
    """Of testing the conditions of a softmax network by residues, besides those for three tokens.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> conditions_cost(Architecture((64, 64), (8,), 2, heads=8)) < 1
        True
    """
    shape.require("the cost of conditions", SHAPED)
    heads = shape.depth * shape.heads
    return RESIDUE * shape.parameter_count + heads * (HEAD + PAIR * shape.heads)


def three_tokens_cost(shape: Architecture) -> float:
    """Of testing the conditions for three tokens: for each score a formal network up to each layer.

    Raises:
        BadInput: an option whose weights are not known.

    Example:
        >>> three_tokens_cost(Architecture((64, 64), (8,), 3, heads=8)) < 1
        True
    """
    shape.require("the cost of conditions for three tokens", SHAPED)
    return FORMAL * shape.depth**2 / 2 * shape.heads * (6 * shape.heads + 8)
