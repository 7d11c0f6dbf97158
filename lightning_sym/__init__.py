"""Exact geometry of lightning self-attention: the public names."""

from lightning_sym.architecture import SOFTMAX, Architecture, Normalization
from lightning_sym.attention import forward
from lightning_sym.dimension import CertifiedDimension, Status, certified_dimension
from lightning_sym.fibers import Fiber, fiber
from lightning_sym.geometry import Classification, Label, classify
from lightning_sym.moves import change_basis, rescale, swap, transform
from lightning_sym.polynomial_map import PolynomialMap, ambient_dimension, polynomial_map
from lightning_sym.same_function import Answer, Comparison, same_function
from lightning_sym.version import __version__ as __version__
from lightning_sym.virtual_weights import VirtualWeights, virtual_weights
from lightning_sym.weight_files import load_weights, save_weights
from lightning_sym.weights import Layer, Weights

__all__ = [
    "SOFTMAX",
    "Answer",
    "Architecture",
    "CertifiedDimension",
    "Classification",
    "Comparison",
    "Fiber",
    "Label",
    "Layer",
    "Normalization",
    "PolynomialMap",
    "Status",
    "VirtualWeights",
    "Weights",
    "ambient_dimension",
    "certified_dimension",
    "change_basis",
    "classify",
    "fiber",
    "forward",
    "load_weights",
    "polynomial_map",
    "rescale",
    "same_function",
    "save_weights",
    "swap",
    "transform",
    "virtual_weights",
]
