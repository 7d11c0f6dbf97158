"""Certificates of dimensions: a minor of the Jacobian from below, directions or a variety from above.

Certificates of dimensions of lightning networks with skip connections: one number for each kind of layer.

Certificates of dimensions of residual softmax transformers of any size: a shape, a number and a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import product

import numpy as np

from lightning_sym.arguments import require_arguments
from lightning_sym.certificates.document import (
    Document,
    lower_bound_document,
    matrices_document,
    network_document,
    opening,
    rows_documents,
)
from lightning_sym.certificates.limits import fits_a_slot, inputs, require_checkable, require_size, require_steps
from lightning_sym.certificates.modulo_2 import SMALLEST_RANK, minor_modulo_2, orbit_modulo_2
from lightning_sym.dimension.blocks import Transformer, transformer_of
from lightning_sym.dimension.certify import CertifiedDimension, Evidence, certified_dimension
from lightning_sym.dimension.layers import LayersAlike, layers_alike
from lightning_sym.dimension.search import SURPLUS_ROWS
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.errors import ProgramError, TooLarge
from lightning_sym.exact.modular import pivots_mod_p
from lightning_sym.limits import DEFAULT_MEMORY, Progress, of_stage, require_memory, unheard
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.jacobian import RandomJacobian, Sample, random_weights
from lightning_sym.network.pieces import LIGHTNING
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.symmetries.families import families_of, orbit_dimension_at

LARGEST_WIDTH = 2**29 // 2000
"""The longest row of a matrix that a checker has room for."""

MOST_ROWS = 8 * 10**6
"""Rows of all matrices that a checker has time for, a few minutes."""


def transformer_certificate(shape: Transformer) -> Document:
    """Return a certificate for the dimension of a transformer.

    The checker counts the number of Proposition 18 of `docs/transformers.md` anew (`docs/certificate.md`, `"kind":
    "transformer"`). Earlier ones computed ranks as well, at weights that they made from the seed.

    Raises:
        TooLarge: an earlier checker would take too long.

    Example:
        >>> from lightning_sym.dimension.blocks import Layers
        >>> transformer_certificate(Transformer(4, (Layers(2, 1, 1),), 2, 2, 5, 5, False))["dimension"]
        80
    """
    d, inner = shape.width, [(each.count, each.a, each.b or shape.width) for each in shape.layers]
    rows = sum(count * ((shape.heads + shape.groups) * (a + b) + d) for count, a, b in inner)
    if (longest := max(d, *(max(a, b) for _, a, b in inner))) > LARGEST_WIDTH or rows > MOST_ROWS:
        raise TooLarge(
            f"a certificate must be of matrices of at most {LARGEST_WIDTH:,} rows, {MOST_ROWS:,} in all, so that it "
            f"can be checked; this takes {longest:,} and {rows:,}"
        )
    layers = [{"count": each.count, "rank": each.a, "value_rank": each.b} for each in shape.layers]
    network = {field.name: getattr(shape, field.name) for field in fields(shape)} | {"layers": layers}
    return opening("transformer") | {"network": network, "dimension": shape.dimension, "seed": 0}


def layers_certificate(shape: Architecture, dimension: int, proof: Callable[[Architecture], Document]) -> Document:
    """Return a certificate for the dimension as a sum over layers (`docs/certificate.md`, `"kind": "layers"`).

    Args:
        shape: the network.
        dimension: its dimension.
        proof: a certificate for the dimension of one layer, where that is not a count.

    Raises:
        BadInput: the network has an option for which nothing is proved.

    Example:
        >>> wide = Architecture((768,) * 13, (64,) * 12, 2, heads=12, value_ranks=(64,) * 12, skip=True)
        >>> layers_certificate(wide, 27131760, lambda layer: {})["layers"]
        [{'count': 12, 'rank': 64, 'value_rank': 64, 'proof': None}]
    """
    shape.require("a sum over layers", LIGHTNING)

    def part(alike: LayersAlike) -> Document:
        values = alike.shape.value_ranks
        found = None if alike.dimension is not None else proof(alike.shape)
        own = {} if found is None else {key: found[key] for key in found if key not in ("format", "version", "kind")}
        return {
            "count": alike.count,
            "rank": alike.shape.attention_ranks[0],
            "value_rank": None if values is None else values[0],
            "proof": None if found is None else own,
        }

    said = {name: getattr(shape, name) for name in ("heads", "embed", "unembed")}
    return opening("layers") | {
        "network": {"width": shape.widths[0], **said},
        "layers": [part(alike) for alike in layers_alike(shape)],
        "dimension": dimension,
    }


ROW_BYTES = 8 + 8 + 40 + 8
"""Bytes for each entry of the Jacobian while its rows are chosen."""

_VARIETIES = {Evidence.LINEAR: "linear maps", Evidence.FORMS: "head forms"}


def minor_document(
    weights: Sequence[PrimeFieldMatrix], sample: Sample, rank: int, p: int, terms: int | None
) -> Document | None:
    """Return the lower bound: rows and columns of a minor of the given size that is not zero modulo `p`.

    Args:
        weights: the point, in canonical order.
        sample: rows of the Jacobian there, all columns.
        rank: how large a minor.
        p: the prime.
        terms: how many Taylor coefficients the functionals are of, `None` for values.

    Returns:
        `None` if the rank of the rows is smaller.
    """
    rows, _ = pivots_mod_p(sample.rows, p)
    if len(rows) < rank:
        return None
    rows = rows[:rank]
    _, columns = pivots_mod_p(sample.rows[rows], p)
    return lower_bound_document(p, terms, weights, list(rows_documents(sample, rows)), columns)


def directions_document(
    kind: str, bound: int, weights: Sequence[PrimeFieldMatrix], families: Sequence[str], p: int
) -> Document:
    """Return an upper bound: parameters minus the rank of some directions at these weights."""
    return {"kind": kind, "bound": bound, "prime": p, "weights": matrices_document(weights), "families": list(families)}


def _upper_bound(result: CertifiedDimension, modulo_2: Sequence[PrimeFieldMatrix] | None) -> Document:
    """Return the simplest of the bounds that attain the smallest: an orbit, modulo 2 if it can, a count, others."""
    architecture, upper, evidence = result.architecture, result.upper, result.upper_evidence
    p = PRIMES[0]
    generator = np.random.default_rng([result.seed, 0])  # as in `certified_dimension`
    if Evidence.ORBIT in evidence or Evidence.DIRECTIONS in evidence:
        fibers = architecture.parameter_count - upper
        names = [family.name for family in families_of(architecture, symmetry=True)]
        if modulo_2 is not None and orbit_modulo_2(architecture, modulo_2) == fibers:
            return directions_document("orbit", upper, modulo_2, names, 2)
        weights = random_weights(architecture, generator, p)
        if Evidence.ORBIT in evidence or orbit_dimension_at(architecture, weights, generator, p) == fibers:
            return directions_document("orbit", upper, weights, names, p)
    if Evidence.FACTORIZATION in evidence:
        pieces = [piece.dimension for piece in virtual_weight_variety(architecture).pieces]
        return {"kind": "factorization", "bound": upper, "variety": "virtual weights", "pieces": pieces}
    for name, variety in _VARIETIES.items():
        if name in evidence:
            return {"kind": "factorization", "bound": upper, "variety": variety, "pieces": [upper]}
    if Evidence.NARROW in evidence:
        return {"kind": "narrow", "bound": upper}
    if Evidence.SPAN in evidence:
        return {"kind": "span", "bound": upper}
    if Evidence.DIRECTIONS in evidence:
        names = [family.name for family in families_of(architecture)]
        return directions_document("directions", upper, weights, names, p)
    raise ProgramError(f"no certificate is known for the evidence {', '.join(evidence)}")


def dimension_certificate(
    result: CertifiedDimension, *, memory: int = DEFAULT_MEMORY, progress: Progress | None = None
) -> Document:
    r"""Return a certificate for the bounds of a dimension, whether they meet or not.

    Rows of the Jacobian are computed anew, all their columns, and as many of both are kept as the lower bound says. Of
    a transformer that was certified without one it is a shape and a seed; of a sum over layers those of the layers.

    Args:
        result: what `certified_dimension` found.
        memory: bytes that the Jacobian may take, by an estimate made before it is computed.
        progress: called as `progress(stage, done, total)`.

    Raises:
        BadInput: the normalization is neither softmax nor a polynomial.
        TooLarge: the certificate would be larger than checkers read, or the Jacobian larger than `memory`.

    Example:
        >>> from lightning_sym import Architecture, certified_dimension
        >>> certificate = dimension_certificate(certified_dimension(Architecture((3, 2), (2,), 2), all_bounds=True))
        >>> certificate["lower"], certificate["upper"], certificate["upper_bounds"][0]["kind"]
        (13, 13, 'orbit')
    """
    require_arguments(dimension_certificate, locals())
    architecture, lower = result.architecture, result.lower
    if result.matrices is not None and (shape := transformer_of(architecture)) is not None:
        return transformer_certificate(shape)
    if result.layers is not None and result.value is not None:

        def proof(layer: Architecture) -> Document:
            found = certified_dimension(layer, seed=result.seed, memory=memory, progress=progress)
            return dimension_certificate(found, memory=memory, progress=progress)

        return layers_certificate(architecture, result.value, proof)
    document = opening("dimension") | {"network": network_document(architecture)}
    report = progress or unheard
    found = _modulo_2(result, memory, report)
    weights, lower_bound = (None, _lower_bound(result, memory, report)) if found is None else found
    return document | {
        "lower": lower,
        "upper": result.upper,
        "lower_bound": lower_bound,
        "upper_bounds": [_upper_bound(result, weights)],
    }


def _matrix_rows(result: CertifiedDimension, terms: int) -> int:
    """Return how many rows of matrices, of one entry for each token, stand in the file for one row of the Jacobian."""
    network = result.architecture
    drawn = network.depth * network.heads * network.tokens if result.has_free_exponentials else 0
    return network.input_width + network.output_width * terms + drawn


def _modulo_2(
    result: CertifiedDimension, memory: int, report: Progress
) -> tuple[list[PrimeFieldMatrix], Document] | None:
    """Return the lower bound of a large network modulo 2, and its point, where there is one."""
    architecture, rank = result.architecture, result.lower
    if rank < SMALLEST_RANK or result.order is not None or not fits_a_slot(architecture, 1, 2):
        return None
    if result.has_free_exponentials and architecture.tokens == 2:  # e / (e + e') has no derivative modulo 2
        return None
    require_checkable(architecture, rank, 2)
    rows = _matrix_rows(result, 1)
    require_size(rank * (rows * (3 * architecture.tokens + 2) + 30))
    told = of_stage(report, "certificate modulo 2", rank)
    found = minor_modulo_2(architecture, rank, result.seed, memory, told)
    if found is not None:
        require_steps(architecture, rank, found[1])
    return found


def _lower_bound(result: CertifiedDimension, memory: int, report: Progress) -> Document:
    """Return a minor as large as the lower bound, of few Taylor coefficients and inputs: it is quick to check."""
    architecture, rows = result.architecture, result.lower + SURPLUS_ROWS
    outputs = architecture.output_width * architecture.tokens
    most = None if result.order is None else (result.order + 1) // 2
    entries = _matrix_rows(result, most or 1) * architecture.tokens
    require_size(8 * (result.lower * entries + 2 * architecture.parameter_count))
    primes = sorted(PRIMES, key=lambda p: p != result.prime)
    require_checkable(architecture, result.lower, primes[0])
    needed = rows * architecture.parameter_count * ROW_BYTES
    require_memory(needed, memory, f"all columns of the Jacobian ({rows:,} x {architecture.parameter_count:,})")

    def minor(p: int, terms: int | None, each: int = 1, more: int = 1) -> Document | None:
        order = None if terms is None else 2 * terms - 1
        jacobian = RandomJacobian(architecture, np.random.default_rng([result.seed, p]), p, order=order, each=each)
        sample = jacobian.sample(more * rows, of_stage(report, f"certificate modulo {p}", more * rows))
        return minor_document(jacobian.weights, sample, result.lower, p, terms)

    for p in primes:
        if (found := minor(p, most)) is not None:
            break
    else:
        raise ProgramError(f"the rank {result.lower} of the Jacobian was not found again for {architecture}")
    too_few, least = 1, most  # one is without scores
    while least is not None and least - too_few > 1:
        middle = (too_few + least) // 2
        if (shorter := minor(p, middle)) is None:
            too_few = middle
        else:
            least, found = middle, shorter
    # the functionals of one input may depend on each other, the fewer the more inputs and Taylor coefficients there are
    for terms in (None,) if least is None else (least, least + 1):
        for each, more in product({outputs * (terms or 1), outputs, architecture.output_width}, (1, 2)):
            if more * rows * architecture.parameter_count * ROW_BYTES <= memory:
                fewer = minor(p, terms, each, more)
                found = found if fewer is None else min(found, fewer, key=_work)
    require_steps(architecture, result.lower, found)
    return found


def _work(lower_bound: Document) -> int:
    """Return how long a minor takes to check, about."""
    return int(inputs(lower_bound) * (lower_bound["terms"] or 1))
