"""Exact geometry of lightning self-attention: the public names."""

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
from lightning_sym.version import __version__ as __version__

__all__ = [
    "SOFTMAX",
    "Answer",
    "Architecture",
    "BadInput",
    "CertifiedDimension",
    "Classification",
    "Comparison",
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
