"""Exact geometry of lightning self-attention: the public names, each imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lightning_sym.version import __version__ as __version__

if TYPE_CHECKING:
    from lightning_sym.certificates.dimension import dimension_certificate
    from lightning_sym.certificates.files import write_certificate
    from lightning_sym.certificates.same_function import same_certificate
    from lightning_sym.dimension.certify import CertifiedDimension, Evidence, Status, certified_dimension
    from lightning_sym.errors import (
        BadInput,
        FileFormatError,
        LightningError,
        MissingExtra,
        ProgramError,
        RingError,
        ShapeError,
        TooLarge,
    )
    from lightning_sym.fibers.fiber import Fiber, fiber
    from lightning_sym.fibers.same_function import Answer, Comparison, Reason, same_function
    from lightning_sym.fibers.transform import change_basis, rescale, swap, transform
    from lightning_sym.geometry.classify import Classification, Label, classify
    from lightning_sym.network.architecture import Architecture
    from lightning_sym.network.attention import forward, network_output
    from lightning_sym.network.form import NetworkForm
    from lightning_sym.network.polynomial_map import PolynomialMap, ambient_dimension, polynomial_map
    from lightning_sym.network.virtual_weights import VirtualWeights, virtual_weights
    from lightning_sym.network.weight_files import load_weights, save_weights
    from lightning_sym.network.weights import Layer, Weights
    from lightning_sym.rings.normalization import SOFTMAX, Normalization
    from lightning_sym.varieties.conserved import ConservedQuantities, conserved_quantities

_ROOMS = {
    "lightning_sym.certificates.dimension": ("dimension_certificate",),
    "lightning_sym.certificates.files": ("write_certificate",),
    "lightning_sym.certificates.same_function": ("same_certificate",),
    "lightning_sym.dimension.certify": ("CertifiedDimension", "Evidence", "Status", "certified_dimension"),
    "lightning_sym.errors": (
        "BadInput",
        "FileFormatError",
        "LightningError",
        "MissingExtra",
        "ProgramError",
        "RingError",
        "ShapeError",
        "TooLarge",
    ),
    "lightning_sym.fibers.fiber": ("Fiber", "fiber"),
    "lightning_sym.fibers.same_function": ("Answer", "Comparison", "Reason", "same_function"),
    "lightning_sym.fibers.transform": ("change_basis", "rescale", "swap", "transform"),
    "lightning_sym.geometry.classify": ("Classification", "Label", "classify"),
    "lightning_sym.network.architecture": ("Architecture",),
    "lightning_sym.network.attention": ("forward", "network_output"),
    "lightning_sym.network.form": ("NetworkForm",),
    "lightning_sym.network.polynomial_map": ("PolynomialMap", "ambient_dimension", "polynomial_map"),
    "lightning_sym.network.virtual_weights": ("VirtualWeights", "virtual_weights"),
    "lightning_sym.network.weight_files": ("load_weights", "save_weights"),
    "lightning_sym.network.weights": ("Layer", "Weights"),
    "lightning_sym.rings.normalization": ("SOFTMAX", "Normalization"),
    "lightning_sym.varieties.conserved": ("ConservedQuantities", "conserved_quantities"),
}
_PLACES = {name: module for module, names in _ROOMS.items() for name in names}

__all__ = [
    "SOFTMAX",
    "Answer",
    "Architecture",
    "BadInput",
    "CertifiedDimension",
    "Classification",
    "Comparison",
    "ConservedQuantities",
    "Evidence",
    "Fiber",
    "FileFormatError",
    "Label",
    "Layer",
    "LightningError",
    "MissingExtra",
    "NetworkForm",
    "Normalization",
    "PolynomialMap",
    "ProgramError",
    "Reason",
    "RingError",
    "ShapeError",
    "Status",
    "TooLarge",
    "VirtualWeights",
    "Weights",
    "ambient_dimension",
    "certified_dimension",
    "change_basis",
    "classify",
    "conserved_quantities",
    "dimension_certificate",
    "fiber",
    "forward",
    "load_weights",
    "network_output",
    "polynomial_map",
    "rescale",
    "same_certificate",
    "same_function",
    "save_weights",
    "swap",
    "transform",
    "virtual_weights",
    "write_certificate",
]


def __getattr__(name: str) -> Any:
    """A public name; commands that need one room do not wait for the others."""
    if name not in _PLACES:
        raise AttributeError(f"module 'lightning_sym' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
