r"""Candidates for the virtual weights of a map, and whether they belong to a shape.

One layer of two tokens or more: the products of linear forms $a_k(x)\, v_m(x)$ that its function is made of.

Proposition A.5: the function is linear in the array of these products and determines it, so a map is the function of
a layer exactly if its coefficients are those of an array of quadratic forms and the forms are such products. Every step
is decided: `docs/recover.md`, Theorem 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lightning_sym.exact.number_field import RATIONALS, NumberField, echelon, rank_over
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.one_layer import (
    coefficients_from_products,
    product_coefficients,
    quadratic_monomials,
)
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.prices import price_of_comparison
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, RationalCoefficient, entry_names
from lightning_sym.rings.sizes import Price
from lightning_sym.varieties.forms_over_fields import FormRing, linear_factor
from lightning_sym.varieties.map_recovery import Difference, monomial_text
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


def one_token_rows(phi: PolynomialMap) -> list[Polynomial]:
    """Return the first output where all tokens but the first are zero, in the letters `x_k_1`."""
    d, t = phi.architecture.widths[0], phi.architecture.tokens
    ring = PolynomialRing(entry_names("x", d, t)[0::t])
    rows = []
    for entry in phi.entries[:, 0]:
        terms = {tuple(map(int, m)): c for m, c in entry.to_dict().items()}
        rows.append(ring.from_terms({m[0::t]: c for m, c in terms.items() if sum(m[0::t]) == sum(m)}))
    return rows


def candidates(phi: PolynomialMap, ranks: tuple[int, ...], failures: list[str], work: Work) -> Iterator[Candidate]:
    """Yield all candidates over the complex numbers, up to rescaling and conjugation; the map is not zero at one token.

    Raises:
        BadInput: the network has an option.
        TooLarge: factors and skew-symmetric parts do not fit into the work.
    """
    shape = phi.architecture
    names = entry_names("x", shape.widths[0], shape.tokens)[0 :: shape.tokens]
    for splitting in splittings(one_token_rows(phi), names, ranks, failures, work):
        attention = splitting.forms if shape.tokens == 1 else with_skew_parts(phi, splitting, work)
        known = layers_known(attention, shape.tokens)
        yield Candidate(splitting.field, attention, splitting.value, known, splitting.pairs, splitting.what)


def misfit(candidate: Candidate, shape: Architecture) -> Misfit | None:
    """Return why a candidate does not belong to the shape over the reals, or `None` (`docs/recover.md`, Section 2)."""
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
    """Return why a quadratic form of rank at most `2 width` is none of a real matrix of rank `width`."""
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
    """Return rows and columns of a minor that is not zero, in words."""
    columns = echelon(matrix)[1]
    rows = echelon(matrix.T)[1]
    size = " and ".join(
        f"{name} {','.join(str(k + 1) for k in ks)}" for name, ks in (("rows", rows), ("columns", columns))
    )
    entries = matrix[np.ix_(rows, columns)]
    shown = "; ".join(" ".join(map(str, row)) for row in entries)
    return f"it has rank {rank}: {size}, [{shown if len(shown) <= 200 else shown[:200] + '...'}], are independent"


def price_of_products(phi: PolynomialMap) -> Price:
    """Return the price of one layer: its coefficients are read three times, compared with sums of entries of the array,
    and each of the array's forms is multiplied out of two linear ones.

    Example:
        >>> from lightning_sym.network.one_layer import one_layer_map
        >>> price_of_products(one_layer_map(2, 1, 2)).done
        {'read': 135, 'entry': 510}
    """
    (d, d_out), tokens = phi.architecture.widths, phi.architecture.tokens
    forms = d * d_out
    monomials = len(quadratic_monomials(d))
    price = price_of_comparison(3 * phi.term_count + forms * tokens**2 * monomials, d * tokens)
    price.add(price_of_comparison((forms + d + d_out) * monomials, d))
    return price


def not_of_one_layer(phi: PolynomialMap) -> Difference | None:
    """Return a coefficient that is not what the array of products of Proposition A.5 makes it, if there is one."""
    d, d_out = phi.architecture.widths
    products = product_coefficients(phi)
    known = phi.ring_coefficients()
    sums = coefficients_from_products(d, d_out, phi.architecture.tokens)
    for key in [*sums, *(key for key in known if key not in sums)]:
        wanted = sum((products[place] for place in sums.get(key, ())), 0)
        if known.get(key, 0) != wanted:
            m, j, exponents = key
            text = monomial_text(phi.input_names, exponents)
            return Difference(m, j, text, str(known.get(key, 0)), str(wanted))
    return None


class LayerForms:
    """The quadratic forms $b_{km} = a_k v_m$ of one layer, as polynomials."""

    def __init__(self, phi: PolynomialMap) -> None:
        self.phi = phi
        self.d, self.d_out = phi.architecture.widths
        self.forms = FormRing([f"x{k + 1}" for k in range(self.d)])
        products = product_coefficients(phi)
        self.b = np.empty((self.d, self.d_out), dtype=object)
        for k, m in np.ndindex(self.d, self.d_out):
            terms: dict[tuple[int, ...], RationalCoefficient] = {}
            for n, (p, q) in enumerate(quadratic_monomials(self.d)):
                exponents = [0] * (self.d + 1)
                exponents[p] += 1
                exponents[q] += 1
                if products[k, m, n] != 0:
                    terms[tuple(exponents)] = products[k, m, n]
            self.b[k, m] = self.forms.ring.from_terms(terms)

    def name(self, k: int, m: int) -> str:
        """Return the form in words: where it stands in `phi`."""
        return f"b_{k + 1}_{m + 1} = {_cut(str(self.b[k, m]))}, what x_{k + 1}_1 has in row {m + 1} of token 1,"

    def candidates(self, failures: list[str]) -> Iterator[Candidate]:
        """Yield all $(A, V)$ over the complex numbers up to rescaling and conjugation; some form is not zero."""
        k0, m0 = next(index for index, form in np.ndenumerate(self.b) if not form.is_zero())
        whole: Polynomial = self.b.item(k0, m0)
        factors = whole.factor()[1]
        linear = [f for f, _ in factors if self.forms.degree(f) == 1]
        if linear:
            for factor in linear:
                form = self.forms.vector(RATIONALS, factor)
                yield from self._with(RATIONALS, k0, m0, form, f"v_{m0 + 1} a multiple of {factor}", failures)
            return
        found = linear_factor(self.forms, factors[0][0], all_of_them=False)
        if found is None:
            failures.append(f"{self.name(k0, m0)} must be a product of two linear forms, it has rank three or more")
            return
        field, (own, _) = found
        form = self.forms.vector(field, own)
        yield from self._with(field, k0, m0, form, f"v_{m0 + 1} a factor of {_cut(str(factors[0][0]))}", failures)

    def _with(
        self, field: NumberField, k0: int, m0: int, form: ObjectArray, what: str, failures: list[str]
    ) -> Iterator[Candidate]:
        forms = self.forms
        form = form * next(c for c in form if c).inverse()
        columns = []
        for k in range(self.d):
            quotient = self.b[k, m0]
            if not quotient.is_zero():
                quotient = forms.divided(field, quotient, list(form))
            if quotient is None:
                failures.append(f"with {what}, {self.name(k, m0)} must be divisible by it")
                return
            columns.append(quotient)
        first = forms.vector(field, columns[k0])
        lead = next(c for c in first if c)
        rows = []
        for m in range(self.d_out):
            quotient = self.b[k0, m]
            if not quotient.is_zero():
                quotient = forms.divided(field, quotient, list(first * lead.inverse()))
            if quotient is None:
                failures.append(
                    f"with {what}, {self.name(k0, m)} must be divisible by a_{k0 + 1} = {_cut(str(columns[k0]))}"
                )
                return
            rows.append(forms.vector(field, quotient) * lead.inverse())
        attention = np.stack([forms.vector(field, column) for column in columns], axis=1)
        value = np.stack(rows)
        for k, m in np.ndindex(self.d, self.d_out):
            product = forms.linear(field, list(attention[:, k])) * forms.linear(field, list(value[m]))
            if not field.reduced(product - self.b[k, m], forms.ring).is_zero():
                failures.append(f"with {what}, {self.name(k, m)} must be a_{k + 1} v_{m + 1}")
                return
        yield Candidate(field, (attention,), value, 1, (None,), what)


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:80] + "..."
