"""What is written down of a result so that others can check it without this program: JSON, as in `docs/certificate.md`.

Everything in a certificate is an exact integer or rational number, and what it proves is what the checker, which
shares no code with this program, makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from lightning_sym.errors import BadInput
from lightning_sym.network.architecture import SIZES, Architecture
from lightning_sym.network.jacobian import Sample
from lightning_sym.network.pieces import SHAPED
from lightning_sym.rings.normalization import SOFTMAX, Normalization
from lightning_sym.rings.prime_field import PrimeFieldMatrix

Document = dict[str, Any]

KNOWN = SHAPED
"""The options that certificates have words for."""

FORMAT, VERSION = "lightning-sym/certificate", 1

LONGEST_POLYNOMIAL = 100
"""A normalization whose Taylor coefficients end before this one is a polynomial."""

_MOST_COEFFICIENTS = 1000
"""So many Taylor coefficients are looked at to see that they end."""


def opening(kind: str) -> Document:
    """Return what every certificate begins with."""
    return {"format": FORMAT, "version": VERSION, "kind": kind}


def normalization_document(normalization: Normalization | None) -> Document | None:
    """Return a normalization as a certificate names it: softmax, or a polynomial by its coefficients.

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
    """Return the shape of a network.

    Example:
        >>> network_document(Architecture((2, 1), (3,), 2))["attention_ranks"]
        [3]
    """
    architecture.require("a certificate", KNOWN)
    named = [field.name for field in fields(architecture) if field.name in KNOWN.union(SIZES)]
    values = {name: getattr(architecture, name) for name in named}
    values["normalization"] = normalization_document(architecture.normalization)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def rows_documents(sample: Sample, rows: Sequence[int]) -> Iterator[Document]:
    """Yield some rows of a Jacobian: inputs, functionals, and what takes the place of exponentials."""
    keys = {"input": sample.inputs, "functional": sample.functionals}
    if sample.exponentials is not None:
        keys["exponentials"] = sample.exponentials.mT  # a row for each token that attends
    for i in rows:
        yield {key: values[i].tolist() for key, values in keys.items()}


def matrices_document(weights: Sequence[PrimeFieldMatrix]) -> list[list[list[int]]]:
    """Return weights modulo a prime, in canonical order."""
    return [w.residues().tolist() for w in weights]


def lower_bound_document(
    p: int, terms: int | None, weights: Sequence[PrimeFieldMatrix], rows: list[Document], columns: Sequence[int]
) -> Document:
    """Return the lower bound of a certificate: a minor at a point modulo a prime."""
    found = {"prime": p, "terms": terms, "weights": matrices_document(weights), "rows": rows}
    return found | {"columns": list(columns)}
