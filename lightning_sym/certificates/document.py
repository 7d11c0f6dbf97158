"""What is written down of a result so that others can check it without this program: JSON, as in `docs/certificate.md`.

Everything in a certificate is an exact integer or rational number, and what it proves is what the checker, which
shares no code with this program, makes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np

from lightning_sym.certificates.limits import inputs, require_checkable, require_size, require_steps
from lightning_sym.certificates.steps import Document, difference_modulo_a_prime, steps_between, weights_document
from lightning_sym.dimension.certify import SURPLUS_ROWS, CertifiedDimension
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.errors import BadInput, ProgramError
from lightning_sym.exact.modular import pivots_mod_p
from lightning_sym.fibers.same_function import Answer, Comparison
from lightning_sym.limits import DEFAULT_MEMORY, Progress, require_memory
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.jacobian import RandomJacobian, Sample, random_weights
from lightning_sym.network.weights import Weights
from lightning_sym.rings.normalization import SOFTMAX, Normalization
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix
from lightning_sym.symmetries.attention_motions import counts_symmetrically, pattern_is_constant, sees_one_direction
from lightning_sym.symmetries.group import orbit_dimension_at

FORMAT, VERSION = "lightning-sym/certificate", 1

LONGEST_POLYNOMIAL = 100
"""A normalization whose Taylor coefficients end before this one is a polynomial."""

ROW_BYTES = 8 + 8 + 40 + 8
"""Bytes for each entry of the Jacobian while its rows are chosen."""

_MOST_COEFFICIENTS = 1000
"""So many Taylor coefficients are looked at to see that they end."""

_VARIETIES = {"linear": "linear maps", "forms": "head forms"}


def opening(kind: str) -> Document:
    """What every certificate begins with."""
    return {"format": FORMAT, "version": VERSION, "kind": kind}


def normalization_document(normalization: Normalization | None) -> Document | None:
    """A normalization as a certificate names it: softmax, or a polynomial by its coefficients.

    Raises:
        BadInput: it is neither.

    Example:
        >>> from fractions import Fraction
        >>> normalization_document(Normalization("1 + y/2", lambda k: Fraction(k < 2, k + 1)))
        {'name': '1 + y/2', 'taylor': ['1', '1/2']}
    """
    if normalization is None:
        return None
    if normalization == SOFTMAX:
        return {"name": "softmax"}
    coefficients = [normalization.taylor(k) for k in range(_MOST_COEFFICIENTS)]
    if any(coefficients[LONGEST_POLYNOMIAL:]):
        raise BadInput(f"a certificate needs softmax or a polynomial for normalization, got {normalization.name}")
    last = max(k for k, c in enumerate(coefficients) if c)
    return {"name": normalization.name, "taylor": [str(c) for c in coefficients[: last + 1]]}


def network_document(architecture: Architecture) -> Document:
    """The shape of a network.

    Example:
        >>> network_document(Architecture((2, 1), (3,), 2))["attention_ranks"]
        [3]
    """
    return {
        "widths": list(architecture.widths),
        "attention_ranks": list(architecture.attention_ranks),
        "tokens": architecture.tokens,
        "normalization": normalization_document(architecture.normalization),
        "heads": architecture.heads,
        "value_ranks": None if architecture.value_ranks is None else list(architecture.value_ranks),
        "skip": architecture.skip,
        "causal": architecture.causal,
        "embed": architecture.embed,
        "unembed": architecture.unembed,
    }


def _matrices(weights: Sequence[PrimeFieldMatrix]) -> list[list[list[int]]]:
    return [w.residues().tolist() for w in weights]


def minor_document(
    weights: Sequence[PrimeFieldMatrix], sample: Sample, rank: int, p: int, terms: int | None
) -> Document | None:
    """The lower bound: rows and columns of a minor of the given size that is not zero modulo `p`.

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
    keys = {"input": sample.inputs, "functional": sample.functionals}
    if sample.exponentials is not None:
        keys["exponentials"] = sample.exponentials.mT  # a row for each token that attends
    return {
        "prime": p,
        "terms": terms,
        "weights": _matrices(weights),
        "rows": [{key: values[i].tolist() for key, values in keys.items()} for i in rows],
        "columns": columns,
    }


def symmetry_families(architecture: Architecture) -> list[str]:
    """The families of symmetries that a network has, by the names that certificates use.

    Example:
        >>> symmetry_families(Architecture((2, 2, 2), (1, 1), 2))
        ['query-key', 'stream', 'scale']
    """
    embedded, unembedded = architecture.embed is not None, architecture.unembed is not None
    between = architecture.depth > 1 or embedded or unembedded
    here = {
        "query-key": True,
        "value-output": architecture.value_ranks is not None,
        "stream": embedded and unembedded if architecture.skip else between,
        "scale": architecture.normalization is None,
    }
    return [name for name, applies in here.items() if applies]


def unseen_families(architecture: Architecture) -> list[str]:
    """The other families of directions that the function of such a network does not see.

    Example:
        >>> unseen_families(Architecture((2, 2), (1,), 2, heads=2))
        ['unwritten', 'unread', 'mixing']
    """
    lightning, one_head = architecture.normalization is None, architecture.heads == 1
    two_tokens = not lightning and architecture.tokens == 2
    one_direction = sees_one_direction(architecture)
    added = architecture.skip and not architecture.causal
    here = {
        "unwritten": True,
        "unread": True,
        "inside": architecture.value_ranks is not None,
        "pattern": pattern_is_constant(architecture),
        "skew": any(counts_symmetrically(architecture)),
        "mixing": lightning and not one_head,
        "cancelling": two_tokens or one_direction,
        "skew differences": two_tokens and architecture.causal,
        "symmetric products": lightning and one_head and added and not one_direction,
    }
    return [name for name, applies in here.items() if applies]


def directions_document(
    kind: str, bound: int, weights: Sequence[PrimeFieldMatrix], families: Sequence[str], p: int
) -> Document:
    """An upper bound: parameters minus the rank of some directions at these weights."""
    return {"kind": kind, "bound": bound, "prime": p, "weights": _matrices(weights), "families": list(families)}


def _upper_bound(result: CertifiedDimension) -> Document:
    """One of the bounds that attain the smallest; an orbit where there is one."""
    architecture, upper, evidence = result.architecture, result.upper, result.upper_evidence
    if "orbit" in evidence or "directions" in evidence:
        p = PRIMES[0]
        generator = np.random.default_rng([result.seed, 0])  # as in `certified_dimension`
        weights = random_weights(architecture, generator, p)
        families = symmetry_families(architecture)
        fibers = architecture.parameter_count - upper
        if "orbit" in evidence or orbit_dimension_at(architecture, weights, generator, p) == fibers:
            return directions_document("orbit", upper, weights, families, p)
        return directions_document("directions", upper, weights, families + unseen_families(architecture), p)
    if "factorization" in evidence:
        pieces = [piece.dimension for piece in virtual_weight_variety(architecture).pieces]
        return {"kind": "factorization", "bound": upper, "variety": "virtual weights", "pieces": pieces}
    for name, variety in _VARIETIES.items():
        if name in evidence:
            return {"kind": "factorization", "bound": upper, "variety": variety, "pieces": [upper]}
    if "span" in evidence:
        return {"kind": "span", "bound": upper}
    raise ProgramError(f"no certificate is known for the evidence {', '.join(evidence)}")


def dimension_certificate(
    result: CertifiedDimension, *, memory: int = DEFAULT_MEMORY, progress: Progress | None = None
) -> Document:
    r"""A certificate for the bounds of a dimension, whether they meet or not.

    Rows of the Jacobian are computed anew, all their columns, and as many of both are kept as the lower bound says.

    Args:
        result: what `certified_dimension` found.
        memory: bytes that the Jacobian may take, by an estimate made before it is computed.
        progress: called as `progress(stage, done, total)`.

    Raises:
        BadInput: the normalization is neither softmax nor a polynomial.
        TooLarge: the certificate would be larger than checkers read, or the Jacobian larger than `memory`.

    Example:
        >>> from lightning_sym.dimension.certify import certified_dimension
        >>> certificate = dimension_certificate(certified_dimension(Architecture((3, 2), (2,), 2), all_bounds=True))
        >>> certificate["lower"], certificate["upper"], certificate["upper_bounds"][0]["kind"]
        (13, 13, 'orbit')
    """
    architecture, lower = result.architecture, result.lower
    document = opening("dimension") | {"network": network_document(architecture)}
    terms = None if result.order is None else (result.order + 1) // 2
    softmax = result.order is None and architecture.normalization is not None
    drawn = architecture.depth * architecture.heads * architecture.tokens * softmax
    entries = (architecture.input_width + architecture.output_width * (terms or 1) + drawn) * architecture.tokens
    require_size(8 * (lower * entries + 2 * architecture.parameter_count))
    require_checkable(architecture, lower, terms or 1)
    rows = lower + SURPLUS_ROWS
    needed = rows * architecture.parameter_count * ROW_BYTES
    require_memory(needed, memory, f"all columns of the Jacobian ({rows:,} x {architecture.parameter_count:,})")
    return document | {
        "lower": lower,
        "upper": result.upper,
        "lower_bound": _lower_bound(result, rows, memory, progress or (lambda stage, done, total: None)),
        "upper_bounds": [_upper_bound(result)],
    }


def _lower_bound(result: CertifiedDimension, rows: int, memory: int, report: Progress) -> Document:
    """A minor as large as the lower bound, of few Taylor coefficients and few inputs, which makes it quick to check."""
    architecture = result.architecture
    outputs = architecture.output_width * architecture.tokens

    def minor(p: int, terms: int | None, each: int = 1, more: int = 1) -> Document | None:
        order = None if terms is None else 2 * terms - 1
        jacobian = RandomJacobian(architecture, np.random.default_rng([result.seed, p]), p, order=order, each=each)
        sample = jacobian.sample(more * rows, partial(_report_rows, report, f"certificate modulo {p}", more * rows))
        return minor_document(jacobian.weights, sample, result.lower, p, terms)

    most = None if result.order is None else (result.order + 1) // 2
    for p in (result.prime, *(p for p in PRIMES if p != result.prime)):
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
    """How long a minor takes to check, about."""
    return int(inputs(lower_bound) * (lower_bound["terms"] or 1))


def _report_rows(report: Progress, stage: str, total: int, done: int) -> None:
    report(stage, done, total)


def same_certificate(comparison: Comparison, first: Weights, second: Weights, tokens: int) -> Document:
    """A certificate for the answer that two networks compute the same function, or different ones.

    Args:
        comparison: what `same_function` found for these weights and this number of tokens.
        first: exact weights.
        second: exact weights.
        tokens: $t$.

    Raises:
        BadInput: there is no answer, or no certificate can express what shows it.

    Example:
        >>> from lightning_sym.fibers.same_function import same_function
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> half = Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[1.5, 2]]})
        >>> same_certificate(same_function(w, half), w, half, 2)["steps"][0]["scales"]
        [2]
    """
    for weights in (first, second):
        weights.require_plain("a certificate of two networks")
    if comparison.answer is Answer.UNDECIDED:
        raise BadInput("a certificate needs an answer, and whether the functions are the same is undecided")
    document = opening(comparison.answer.value) | {
        "tokens": tokens,
        "first": weights_document(first),
        "second": weights_document(second),
    }
    if comparison.answer is Answer.DIFFERENT:
        if comparison.input is None:
            return document | difference_modulo_a_prime(first, second, tokens)
        return document | {"input": [[int(x) for x in row] for row in comparison.input], "prime": None}
    return document | {"steps": steps_between(comparison, first, second, tokens)}
