"""The differentials of the moments of a network's symmetries, by sweeps backwards, and what they take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.prices import weights_over_sizes
from lightning_sym.rings.derivatives import Recorded, gradients
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.symmetries.moments import MatrixKind, Quantity


def _swept(quantity: Quantity, weights: dict[str, Recorded], functional: Callable[[Any, int], Any]) -> list[Any]:
    """Return the gradients of the counted entries of a quantity by all weights, by one sweep backwards."""
    outputs = [term.over(weights) for term in quantity.terms]
    functionals = [functional(output, term.sign) for output, term in zip(outputs, quantity.terms, strict=True)]
    return gradients(outputs, functionals, list(weights.values()))


def differentials_of(
    quantities: Sequence[Quantity], names: Sequence[str], point: Sequence[PrimeFieldMatrix]
) -> list[Any]:
    """Return differentials of the counted entries of each quantity at a point."""
    blocks = []
    for quantity in quantities:
        indices = quantity.indices()

        def picked(output: Any, sign: int) -> PrimeFieldMatrix:
            found = np.zeros((len(indices), *output.shape[-2:]))  # noqa: B023
            for entry, place in zip(found, indices, strict=True):  # noqa: B023
                if quantity.kind is MatrixKind.SCALAR:  # noqa: B023
                    np.fill_diagonal(entry, sign)
                else:
                    entry[place] = sign
            return PrimeFieldMatrix(found, point[0].prime)

        found = _swept(quantity, dict(zip(names, map(Recorded, point), strict=True)), picked)
        parts = [
            np.zeros((len(indices), w.entries.size), dtype=np.int64)
            if g is None
            else g.residues().reshape(len(indices), -1)
            for g, w in zip(found, point, strict=True)
        ]
        blocks.append(np.concatenate(parts, axis=1))
    return blocks


def price_of_differentials(architecture: Architecture, quantities: Sequence[Quantity]) -> Price:
    """Return what the differentials of the quantities and their rank take."""
    architecture.require("the price of differentials", SHAPED)
    price, total = Price("residues"), 0
    for quantity in quantities:
        part = price.empty()
        names = [name for name, _ in architecture.weight_shapes()]
        weights = dict(zip(names, map(Recorded, weights_over_sizes(architecture, part)), strict=True))
        _swept(quantity, weights, lambda output, sign: Sizes(output.shape, output.value.price))
        price.add(part.repeated(quantity.entries, at_once=True))
        total += quantity.entries
    Sizes((total, architecture.parameter_count), price).rank()
    return price
