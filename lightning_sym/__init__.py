"""The exact geometry of lightning self-attention; every answer is exact, or says that it is undecided.

    >>> from lightning_sym import *
    >>> network = Architecture(widths=(2, 1), attention_ranks=(1,), tokens=2)       # a shape: one layer, two tokens
    >>> polynomial_map(network).term_count                      # the map, exactly, with letters for weights
    32
    >>> certified_dimension(network).value                      # of the set of its functions: two bounds that meet
    4
    >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6]]})            # integers, fractions, floats
    >>> same_function(w, rescale(w, layer=1, by=2)).answer      # with what shows it: a symmetry, or an input
    <Answer.SAME: 'same'>
    >>> fiber(w).components[1].point(lam=2)                     # all weights with this function, and one of them
    Weights.of({'Q1': [[1, 2]], 'K1': [[2, 4]], 'V1': [[Fraction(3, 2), 0]]})
    >>> classify(w).labels                                      # what point of that set it is
    (Label.REGULAR,)
    >>> equations(network).counts, variety_degree(network).degree   # of the closure of that set
    ({2: 3}, 3)
    >>> recover(polynomial_map(network, w)).answer              # weights of a polynomial map, where there are any
    <Membership.WEIGHTS: 'weights'>

Every answer prints what its command prints, shows itself as a formula in a notebook, and carries what proves it. Names
are imported when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lightning_sym.version import __version__ as __version__

if TYPE_CHECKING:
    from lightning_sym.atlas.conjectures import Trial, try_formula
    from lightning_sym.atlas.families import Family
    from lightning_sym.atlas.store import Atlas
    from lightning_sym.atlas.sweep import Sweep, sweep
    from lightning_sym.certificates.dimension import dimension_certificate
    from lightning_sym.certificates.fibers import fiber_certificate
    from lightning_sym.certificates.files import write_certificate
    from lightning_sym.certificates.same_function import same_certificate
    from lightning_sym.checkpoints.circuits import Circuits, circuits
    from lightning_sym.checkpoints.comparison import CheckpointAnswer, CheckpointComparison
    from lightning_sym.checkpoints.fingerprint import Fingerprint, fingerprint
    from lightning_sym.checkpoints.fingerprint_comparison import FingerprintComparison, compare_fingerprints
    from lightning_sym.checkpoints.folders import open_checkpoint
    from lightning_sym.checkpoints.logits import LogitComparison, compare_logits, logits
    from lightning_sym.checkpoints.rewritings import apply
    from lightning_sym.checkpoints.same_checkpoints import same_checkpoints
    from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
    from lightning_sym.checkpoints.symmetry_files import load_symmetry, save_symmetry
    from lightning_sym.checkpoints.writing import save_checkpoint
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
    from lightning_sym.fibers.answer import Fiber
    from lightning_sym.fibers.canonical import Canonical, canonical
    from lightning_sym.fibers.conditions import TransformerConditions, transformer_conditions
    from lightning_sym.fibers.fiber import fiber
    from lightning_sym.fibers.points import Component
    from lightning_sym.fibers.same_function import Answer, Comparison, Reason, same_function
    from lightning_sym.fibers.transform import change_basis, rescale, swap, transform
    from lightning_sym.geometry.bounds import Bounds
    from lightning_sym.geometry.classify import Classification, classify
    from lightning_sym.geometry.layer_orbits import Label, LayerOrbit
    from lightning_sym.geometry.orbit_table import OrbitTable, layer_orbits
    from lightning_sym.geometry.singular_locus import SingularLocus, singular_locus
    from lightning_sym.network.ambient import ambient_dimension
    from lightning_sym.network.architecture import Architecture
    from lightning_sym.network.attention import forward, network_output
    from lightning_sym.network.form import NetworkForm
    from lightning_sym.network.generic_rank import GenericRank
    from lightning_sym.network.jacobian_rank import JacobianRank
    from lightning_sym.network.polynomial_map import PolynomialMap, polynomial_map
    from lightning_sym.network.virtual_weights import VirtualWeights, virtual_weights
    from lightning_sym.network.weight_files import load_weights, save_weights
    from lightning_sym.network.weights import Layer, Weights
    from lightning_sym.rings.normalization import SOFTMAX, Normalization
    from lightning_sym.varieties.asked_program import AskedProgram
    from lightning_sym.varieties.black_box import recover_from_answers
    from lightning_sym.varieties.conserved import ConservedQuantities, conserved_quantities
    from lightning_sym.varieties.degree import DegreeSource, VarietyDegree, variety_degree
    from lightning_sym.varieties.equations import equations, successive_equations
    from lightning_sym.varieties.jet_files import load_jet, save_jet
    from lightning_sym.varieties.jet_recovery import recover_from_jet
    from lightning_sym.varieties.jets import Jet, JetLine, softmax_jet
    from lightning_sym.varieties.known_ideal import Equations
    from lightning_sym.varieties.membership import Membership, Recovery, recover
    from lightning_sym.varieties.query_plan import QueryPlan, query_plan
    from lightning_sym.varieties.softmax_recovery import SoftmaxRecovery

_ROOMS = {
    "lightning_sym.atlas.conjectures": ("Trial", "try_formula"),
    "lightning_sym.atlas.families": ("Family",),
    "lightning_sym.atlas.store": ("Atlas",),
    "lightning_sym.atlas.sweep": ("Sweep", "sweep"),
    "lightning_sym.certificates.dimension": ("dimension_certificate",),
    "lightning_sym.certificates.fibers": ("fiber_certificate",),
    "lightning_sym.certificates.files": ("write_certificate",),
    "lightning_sym.certificates.same_function": ("same_certificate",),
    "lightning_sym.checkpoints.comparison": ("CheckpointAnswer", "CheckpointComparison"),
    "lightning_sym.checkpoints.circuits": ("Circuits", "circuits"),
    "lightning_sym.checkpoints.fingerprint": ("Fingerprint", "fingerprint"),
    "lightning_sym.checkpoints.fingerprint_comparison": ("FingerprintComparison", "compare_fingerprints"),
    "lightning_sym.checkpoints.folders": ("open_checkpoint",),
    "lightning_sym.checkpoints.logits": ("LogitComparison", "compare_logits", "logits"),
    "lightning_sym.checkpoints.rewritings": ("apply",),
    "lightning_sym.checkpoints.same_checkpoints": ("same_checkpoints",),
    "lightning_sym.checkpoints.symmetry": ("LayerSymmetry", "Symmetry"),
    "lightning_sym.checkpoints.symmetry_files": ("load_symmetry", "save_symmetry"),
    "lightning_sym.checkpoints.writing": ("save_checkpoint",),
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
    "lightning_sym.fibers.conditions": ("TransformerConditions", "transformer_conditions"),
    "lightning_sym.fibers.answer": ("Fiber",),
    "lightning_sym.fibers.fiber": ("fiber",),
    "lightning_sym.fibers.points": ("Component",),
    "lightning_sym.fibers.same_function": ("Answer", "Comparison", "Reason", "same_function"),
    "lightning_sym.fibers.canonical": ("Canonical", "canonical"),
    "lightning_sym.fibers.transform": ("change_basis", "rescale", "swap", "transform"),
    "lightning_sym.network.ambient": ("ambient_dimension",),
    "lightning_sym.geometry.bounds": ("Bounds",),
    "lightning_sym.geometry.classify": ("Classification", "classify"),
    "lightning_sym.geometry.layer_orbits": ("Label", "LayerOrbit"),
    "lightning_sym.geometry.orbit_table": ("OrbitTable", "layer_orbits"),
    "lightning_sym.geometry.singular_locus": ("SingularLocus", "singular_locus"),
    "lightning_sym.network.architecture": ("Architecture",),
    "lightning_sym.network.attention": ("forward", "network_output"),
    "lightning_sym.network.form": ("NetworkForm",),
    "lightning_sym.network.generic_rank": ("GenericRank",),
    "lightning_sym.network.jacobian_rank": ("JacobianRank",),
    "lightning_sym.network.polynomial_map": ("PolynomialMap", "polynomial_map"),
    "lightning_sym.network.virtual_weights": ("VirtualWeights", "virtual_weights"),
    "lightning_sym.network.weight_files": ("load_weights", "save_weights"),
    "lightning_sym.network.weights": ("Layer", "Weights"),
    "lightning_sym.rings.normalization": ("SOFTMAX", "Normalization"),
    "lightning_sym.varieties.degree": ("DegreeSource", "VarietyDegree", "variety_degree"),
    "lightning_sym.varieties.equations": ("equations", "successive_equations"),
    "lightning_sym.varieties.asked_program": ("AskedProgram",),
    "lightning_sym.varieties.black_box": ("recover_from_answers",),
    "lightning_sym.varieties.jet_files": ("load_jet", "save_jet"),
    "lightning_sym.varieties.jet_recovery": ("recover_from_jet",),
    "lightning_sym.varieties.jets": ("Jet", "JetLine", "softmax_jet"),
    "lightning_sym.varieties.known_ideal": ("Equations",),
    "lightning_sym.varieties.membership": ("Membership", "Recovery", "recover"),
    "lightning_sym.varieties.query_plan": ("QueryPlan", "query_plan"),
    "lightning_sym.varieties.softmax_recovery": ("SoftmaxRecovery",),
    "lightning_sym.varieties.conserved": ("ConservedQuantities", "conserved_quantities"),
}
_PLACES = {name: module for module, names in _ROOMS.items() for name in names}

__all__ = [
    "SOFTMAX",
    "Answer",
    "Architecture",
    "AskedProgram",
    "Atlas",
    "BadInput",
    "Bounds",
    "Canonical",
    "CertifiedDimension",
    "CheckpointAnswer",
    "CheckpointComparison",
    "Circuits",
    "Classification",
    "Comparison",
    "Component",
    "ConservedQuantities",
    "DegreeSource",
    "Equations",
    "Evidence",
    "Family",
    "Fiber",
    "FileFormatError",
    "Fingerprint",
    "FingerprintComparison",
    "GenericRank",
    "JacobianRank",
    "Jet",
    "JetLine",
    "Label",
    "Layer",
    "LayerOrbit",
    "LayerSymmetry",
    "LightningError",
    "LogitComparison",
    "Membership",
    "MissingExtra",
    "NetworkForm",
    "Normalization",
    "OrbitTable",
    "PolynomialMap",
    "ProgramError",
    "QueryPlan",
    "Reason",
    "Recovery",
    "RingError",
    "ShapeError",
    "SingularLocus",
    "SoftmaxRecovery",
    "Status",
    "Sweep",
    "Symmetry",
    "TooLarge",
    "TransformerConditions",
    "Trial",
    "VarietyDegree",
    "VirtualWeights",
    "Weights",
    "ambient_dimension",
    "apply",
    "canonical",
    "certified_dimension",
    "change_basis",
    "circuits",
    "classify",
    "compare_fingerprints",
    "compare_logits",
    "conserved_quantities",
    "dimension_certificate",
    "equations",
    "fiber",
    "fiber_certificate",
    "fingerprint",
    "forward",
    "layer_orbits",
    "load_jet",
    "load_symmetry",
    "load_weights",
    "logits",
    "network_output",
    "open_checkpoint",
    "polynomial_map",
    "query_plan",
    "recover",
    "recover_from_answers",
    "recover_from_jet",
    "rescale",
    "same_certificate",
    "same_checkpoints",
    "same_function",
    "save_checkpoint",
    "save_jet",
    "save_symmetry",
    "save_weights",
    "singular_locus",
    "softmax_jet",
    "successive_equations",
    "swap",
    "sweep",
    "transform",
    "transformer_conditions",
    "try_formula",
    "variety_degree",
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
    """What a session completes: the public names, and what every module has; rooms are imported by their own names."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
