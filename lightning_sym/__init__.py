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

from lightning_sym.lazy import lazy_imports, public_names
from lightning_sym.version import __version__ as __version__

with lazy_imports(__name__) as _places:  # `as` says that a name is public
    from lightning_sym.atlas.families import Family as Family
    from lightning_sym.atlas.formulas import Trial as Trial
    from lightning_sym.atlas.formulas import try_formula as try_formula
    from lightning_sym.atlas.store import Atlas as Atlas
    from lightning_sym.atlas.sweep import Sweep as Sweep
    from lightning_sym.atlas.sweep import sweep as sweep
    from lightning_sym.certificates.dimension import dimension_certificate as dimension_certificate
    from lightning_sym.certificates.fibers import fiber_certificate as fiber_certificate
    from lightning_sym.certificates.files import write_certificate as write_certificate
    from lightning_sym.certificates.same_function import same_certificate as same_certificate
    from lightning_sym.checkpoints.align import align as align
    from lightning_sym.checkpoints.canonical_checkpoint import canonical_checkpoint as canonical_checkpoint
    from lightning_sym.checkpoints.circuits import Circuits as Circuits
    from lightning_sym.checkpoints.circuits import circuits as circuits
    from lightning_sym.checkpoints.comparison import CheckpointAnswer as CheckpointAnswer
    from lightning_sym.checkpoints.comparison import CheckpointComparison as CheckpointComparison
    from lightning_sym.checkpoints.fingerprint import Fingerprint as Fingerprint
    from lightning_sym.checkpoints.fingerprint import fingerprint as fingerprint
    from lightning_sym.checkpoints.fingerprint_comparison import FingerprintComparison as FingerprintComparison
    from lightning_sym.checkpoints.fingerprint_comparison import compare_fingerprints as compare_fingerprints
    from lightning_sym.checkpoints.folders import open_checkpoint as open_checkpoint
    from lightning_sym.checkpoints.logits import LogitComparison as LogitComparison
    from lightning_sym.checkpoints.logits import compare_logits as compare_logits
    from lightning_sym.checkpoints.logits import logits as logits
    from lightning_sym.checkpoints.opening import checkpoint_of as checkpoint_of
    from lightning_sym.checkpoints.rewritings import apply as apply
    from lightning_sym.checkpoints.same_checkpoints import same_checkpoints as same_checkpoints
    from lightning_sym.checkpoints.symmetry import LayerSymmetry as LayerSymmetry
    from lightning_sym.checkpoints.symmetry import Symmetry as Symmetry
    from lightning_sym.checkpoints.symmetry_files import load_symmetry as load_symmetry
    from lightning_sym.checkpoints.symmetry_files import save_symmetry as save_symmetry
    from lightning_sym.checkpoints.symmetry_table import symmetry_table as symmetry_table
    from lightning_sym.checkpoints.writing import save_checkpoint as save_checkpoint
    from lightning_sym.coefficients.at_weights import learning_coefficient as learning_coefficient
    from lightning_sym.coefficients.coefficient import LearningCoefficient as LearningCoefficient
    from lightning_sym.coefficients.deep_linear import deep_linear_coefficient as deep_linear_coefficient
    from lightning_sym.coefficients.deep_linear import factorization_coefficient as factorization_coefficient
    from lightning_sym.coefficients.line import CoefficientPath as CoefficientPath
    from lightning_sym.coefficients.line import PathPoint as PathPoint
    from lightning_sym.coefficients.line import coefficients_between as coefficients_between
    from lightning_sym.coefficients.line import coefficients_of as coefficients_of
    from lightning_sym.coefficients.linear_attention import (
        linear_attention_coefficient as linear_attention_coefficient,
    )
    from lightning_sym.coefficients.one_head import one_head_coefficient as one_head_coefficient
    from lightning_sym.coefficients.polynomials import polynomial_coefficient as polynomial_coefficient
    from lightning_sym.dimension.certify import CertifiedDimension as CertifiedDimension
    from lightning_sym.dimension.certify import Evidence as Evidence
    from lightning_sym.dimension.certify import Status as Status
    from lightning_sym.dimension.certify import certified_dimension as certified_dimension
    from lightning_sym.errors import BadInput as BadInput
    from lightning_sym.errors import FileFormatError as FileFormatError
    from lightning_sym.errors import LightningError as LightningError
    from lightning_sym.errors import MissingExtra as MissingExtra
    from lightning_sym.errors import ProgramError as ProgramError
    from lightning_sym.errors import RingError as RingError
    from lightning_sym.errors import ShapeError as ShapeError
    from lightning_sym.errors import TooLarge as TooLarge
    from lightning_sym.fibers.answer import Fiber as Fiber
    from lightning_sym.fibers.canonical import Canonical as Canonical
    from lightning_sym.fibers.canonical import canonical as canonical
    from lightning_sym.fibers.conditions import TransformerConditions as TransformerConditions
    from lightning_sym.fibers.conditions import transformer_conditions as transformer_conditions
    from lightning_sym.fibers.fiber import fiber as fiber
    from lightning_sym.fibers.points import Component as Component
    from lightning_sym.fibers.same_function import Answer as Answer
    from lightning_sym.fibers.same_function import Comparison as Comparison
    from lightning_sym.fibers.same_function import Reason as Reason
    from lightning_sym.fibers.same_function import same_function as same_function
    from lightning_sym.fibers.transform import change_basis as change_basis
    from lightning_sym.fibers.transform import rescale as rescale
    from lightning_sym.fibers.transform import swap as swap
    from lightning_sym.fibers.transform import transform as transform
    from lightning_sym.geometry.bounds import Bounds as Bounds
    from lightning_sym.geometry.classify import Classification as Classification
    from lightning_sym.geometry.classify import classify as classify
    from lightning_sym.geometry.layer_orbits import Label as Label
    from lightning_sym.geometry.layer_orbits import LayerOrbit as LayerOrbit
    from lightning_sym.geometry.limits import FunctionLimit as FunctionLimit
    from lightning_sym.geometry.limits import function_limit as function_limit
    from lightning_sym.geometry.orbit_table import OrbitTable as OrbitTable
    from lightning_sym.geometry.orbit_table import layer_orbits as layer_orbits
    from lightning_sym.geometry.singular_locus import SingularLocus as SingularLocus
    from lightning_sym.geometry.singular_locus import singular_locus as singular_locus
    from lightning_sym.network.ambient import ambient_dimension as ambient_dimension
    from lightning_sym.network.architecture import Architecture as Architecture
    from lightning_sym.network.attention import forward as forward
    from lightning_sym.network.attention import network_output as network_output
    from lightning_sym.network.form import NetworkForm as NetworkForm
    from lightning_sym.network.generic_rank import GenericRank as GenericRank
    from lightning_sym.network.jacobian_rank import JacobianRank as JacobianRank
    from lightning_sym.network.polynomial_map import PolynomialMap as PolynomialMap
    from lightning_sym.network.polynomial_map import polynomial_map as polynomial_map
    from lightning_sym.network.rotary import Rotary as Rotary
    from lightning_sym.network.virtual_weights import VirtualWeights as VirtualWeights
    from lightning_sym.network.virtual_weights import virtual_weights as virtual_weights
    from lightning_sym.network.weight_files import load_weights as load_weights
    from lightning_sym.network.weight_files import save_weights as save_weights
    from lightning_sym.network.weights import Layer as Layer
    from lightning_sym.network.weights import Weights as Weights
    from lightning_sym.rings.normalization import SOFTMAX as SOFTMAX
    from lightning_sym.rings.normalization import Normalization as Normalization
    from lightning_sym.varieties.asked_program import AskedProgram as AskedProgram
    from lightning_sym.varieties.black_box import recover_from_answers as recover_from_answers
    from lightning_sym.varieties.conserved import ConservedQuantities as ConservedQuantities
    from lightning_sym.varieties.conserved import conserved_quantities as conserved_quantities
    from lightning_sym.varieties.degree import DegreeSource as DegreeSource
    from lightning_sym.varieties.degree import VarietyDegree as VarietyDegree
    from lightning_sym.varieties.degree import variety_degree as variety_degree
    from lightning_sym.varieties.equations import equations as equations
    from lightning_sym.varieties.equations import successive_equations as successive_equations
    from lightning_sym.varieties.jet_files import load_jet as load_jet
    from lightning_sym.varieties.jet_files import save_jet as save_jet
    from lightning_sym.varieties.jet_recovery import recover_from_jet as recover_from_jet
    from lightning_sym.varieties.jets import Jet as Jet
    from lightning_sym.varieties.jets import JetLine as JetLine
    from lightning_sym.varieties.jets import softmax_jet as softmax_jet
    from lightning_sym.varieties.known_ideal import Equations as Equations
    from lightning_sym.varieties.map_recovery import Membership as Membership
    from lightning_sym.varieties.map_recovery import Recovery as Recovery
    from lightning_sym.varieties.membership import recover as recover
    from lightning_sym.varieties.query_plan import QueryPlan as QueryPlan
    from lightning_sym.varieties.query_plan import query_plan as query_plan
    from lightning_sym.varieties.softmax_recovery import SoftmaxRecovery as SoftmaxRecovery
    from lightning_sym.whole_models.model_symmetries import ModelSymmetries as ModelSymmetries
    from lightning_sym.whole_models.model_symmetries import symmetries_of as symmetries_of

__all__, __getattr__, __dir__ = public_names(__name__, _places)
