r"""One layer of two tokens or more: the products of linear forms $a_k(x)\, v_m(x)$ that its function is made of.

Proposition A.5: the function is linear in the array of these products and determines it, so a map is the function of
a layer exactly if its coefficients are those of an array of quadratic forms and the forms are such products. Every step
is decided: `docs/recover.md`, Theorem 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lightning_sym.exact.number_field import RATIONALS, NumberField
from lightning_sym.network.one_layer import (
    coefficients_from_products,
    product_coefficients,
    quadratic_monomials,
)
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.varieties.candidates import Candidate
from lightning_sym.varieties.expansion import Difference, monomial_text
from lightning_sym.varieties.forms_over_fields import FormRing, linear_factor


def not_of_one_layer(phi: PolynomialMap) -> Difference | None:
    """A coefficient that is not what the array of products of Proposition A.5 makes it, if there is one."""
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
            terms: dict[tuple[int, ...], Any] = {}
            for n, (p, q) in enumerate(quadratic_monomials(self.d)):
                exponents = [0] * (self.d + 1)
                exponents[p] += 1
                exponents[q] += 1
                if products[k, m, n] != 0:
                    terms[tuple(exponents)] = products[k, m, n]
            self.b[k, m] = self.forms.ring.from_terms(terms)

    def name(self, k: int, m: int) -> str:
        """The form in words: where it stands in `phi`."""
        return f"b_{k + 1}_{m + 1} = {_cut(str(self.b[k, m]))}, what x_{k + 1}_1 has in row {m + 1} of token 1,"

    def candidates(self, failures: list[str]) -> Iterator[Candidate]:
        """All $(A, V)$ over the complex numbers up to rescaling and conjugation; some form is not zero."""
        k0, m0 = next(index for index, form in np.ndenumerate(self.b) if not form.is_zero())
        whole: Any = self.b[k0, m0]
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
