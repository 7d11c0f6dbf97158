"""Exact geometry of lightning self-attention: the public names."""

from lightning_sym.architecture import Architecture
from lightning_sym.attention import forward
from lightning_sym.dimension import CertifiedDimension, Status, certified_dimension
from lightning_sym.polynomial_map import PolynomialMap, ambient_dimension, polynomial_map
from lightning_sym.version import __version__ as __version__
from lightning_sym.virtual_weights import VirtualWeights, virtual_weights
from lightning_sym.weight_files import load_weights, save_weights
from lightning_sym.weights import Layer, Weights

__all__ = [
    "Architecture",
    "CertifiedDimension",
    "Layer",
    "PolynomialMap",
    "Status",
    "VirtualWeights",
    "Weights",
    "ambient_dimension",
    "certified_dimension",
    "forward",
    "load_weights",
    "polynomial_map",
    "save_weights",
    "virtual_weights",
]
