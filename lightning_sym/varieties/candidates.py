r"""Candidates for the virtual weights of a map, and whether they belong to a shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.exact.number_field import NumberField, echelon, rank_over
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import PolynomialRing, entry_names
from lightning_sym.varieties.one_token import splittings
from lightning_sym.varieties.realization import is_rational, row_spaces, signature
from lightning_sym.varieties.skew_parts import layers_known, with_skew_parts


class Candidate(NamedTuple):
    r"""Virtual weights over a number field that may have the function.

    Attributes:
        field: the field.
        attention: the attention matrices; behind the first `known` ones only their symmetric parts matter, which these
            are.
        value: $\tilde V$.
        known: how many attention matrices the function determines.
        pairs: for each layer two linear forms whose product is its quadratic form, where they are known.
        what: what singles this candidate out, in words; empty where it is the only one.
    """

    field: NumberField
    attention: tuple[ObjectArray, ...]
    value: ObjectArray
    known: int
    pairs: tuple[tuple[ObjectArray, ObjectArray] | None, ...]
    what: str

    @property
    def real(self) -> bool:
        """Whether the field has a real root."""
        return self.field.degree == 1 or self.field.real_roots > 0


class Misfit(NamedTuple):
    """Why virtual weights do not belong to a shape.

    Attributes:
        reason: in a line.
        complex: whether they do not belong to it over the complex numbers either.
    """

    reason: str
    complex: bool


def one_token_rows(phi: PolynomialMap) -> list[Any]:
    """The first output where all tokens but the first are zero, in the letters `x_k_1`."""
    d, t = phi.architecture.widths[0], phi.architecture.tokens
    ring = PolynomialRing(entry_names("x", d, t)[0::t])
    rows = []
    for entry in phi.entries[:, 0]:
        terms = {tuple(map(int, m)): c for m, c in entry.to_dict().items()}
        rows.append(ring.from_terms({m[0::t]: c for m, c in terms.items() if sum(m[0::t]) == sum(m)}))
    return rows


def candidates(phi: PolynomialMap, ranks: tuple[int, ...], failures: list[str]) -> Iterator[Candidate]:
    """All candidates over the complex numbers, up to rescaling and conjugation; the map is not zero at one token.

    Raises:
        BadInput: the network has an option.
    """
    shape = phi.architecture
    names = entry_names("x", shape.widths[0], shape.tokens)[0 :: shape.tokens]
    for splitting in splittings(one_token_rows(phi), names, ranks, failures):
        attention = splitting.forms if shape.tokens == 1 else with_skew_parts(phi, splitting)
        known = layers_known(attention, shape.tokens)
        yield Candidate(splitting.field, attention, splitting.value, known, splitting.pairs, splitting.what)


def misfit(candidate: Candidate, shape: Architecture) -> Misfit | None:
    """Why a candidate does not belong to the shape over the real numbers, or `None` (`docs/recover.md`, Section 2)."""
    shape.require_plain("whether virtual weights belong to a shape")
    reasons = []
    for i, (a, width) in enumerate(zip(candidate.attention, shape.attention_ranks, strict=True), start=1):
        rank = rank_over(a)
        if i <= candidate.known:
            if rank > width:
                reasons.append(Misfit(f"A~{i} must have rank at most {width}, {_minor(a, rank)}", True))
            continue
        if rank > 2 * width:
            reasons.append(
                Misfit(f"the symmetric part of A~{i} must have rank at most {2 * width}, {_minor(a, rank)}", True)
            )
        elif (reason := _not_real(candidate, i, width)) is not None:
            reasons.append(Misfit(reason, False))
    least = shape.widths[0]
    for i, space in enumerate(row_spaces(candidate.attention, candidate.value)[1:], start=1):
        least = min(least, shape.widths[i])
        if len(space) > least:
            reasons.append(
                Misfit(
                    f"the rows of V~ and the rows and columns of A~j, j > {i}, must span at most {least} dimensions, "
                    f"the least width up to layer {i}; they span {len(space)}",
                    True,
                )
            )
    if not candidate.real:
        reasons.append(Misfit(f"{candidate.what} is not real: it takes a root of {candidate.field.polynomial}", False))
    if not reasons:
        return None
    return Misfit("; ".join(r.reason for r in reasons), any(r.complex for r in reasons))


def _not_real(candidate: Candidate, i: int, width: int) -> str | None:
    """Why a quadratic form of rank at most `2 width` is none of a real matrix of rank `width`."""
    a = candidate.attention[i - 1]
    if not candidate.real or candidate.pairs[i - 1] is not None:
        return None
    if is_rational(a):
        found = signature(a)
        if max(found) <= width:
            return None
        return (
            f"x^T A~{i} x must have at most {width} squares of either sign, it has signature "
            f"({found.positive}, {found.negative})"
        )
    # what is left of a cubic form without one of its three factors: two others that are real, or conjugate
    if candidate.field.real_roots == 3 or width >= 2:
        return None
    return f"x^T A~{i} x must have one square of either sign at most, it is a product of two conjugate forms"


def _minor(matrix: ObjectArray, rank: int) -> str:
    """Rows and columns of a minor that is not zero, in words."""
    columns = echelon(matrix)[1]
    rows = echelon(matrix.T)[1]
    size = " and ".join(
        f"{name} {','.join(str(k + 1) for k in ks)}" for name, ks in (("rows", rows), ("columns", columns))
    )
    entries = matrix[np.ix_(rows, columns)]
    shown = "; ".join(" ".join(map(str, row)) for row in entries)
    return f"it has rank {rank}: {size}, [{shown if len(shown) <= 200 else shown[:200] + '...'}], are independent"
