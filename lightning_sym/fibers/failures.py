"""Relations of the heads of a layer over the rationals that show that a condition of the theorems does not hold.

What a certificate writes down (docs/certificate.md, section 4.2): whoever has the relation can check it by products.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from lightning_sym.exact.rational import null_space
from lightning_sym.exact.subspaces import Subspace
from lightning_sym.fibers.condition_tests import SUBSETS, subsets
from lightning_sym.fibers.exact_conditions import ExactConditions
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix

Relation = tuple[Fraction, ...]


def failing_relation(spaces: ExactConditions, name: str, i: int) -> Relation | None:
    """Numbers, one for each head of layer `i`; `None` if no relation of the kinds that are looked for is there.

    Args:
        spaces: the network over the rationals.
        name: the condition: `a`, `a'`, `b`, `b unmasked`, `c`, `f`.
        i: the layer.

    Example:
        >>> from lightning_sym.network.form import NetworkForm
        >>> from lightning_sym.network.weights import Weights
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> one, form = [[1]], NetworkForm(SOFTMAX, skip=True)
        >>> w = Weights.of({f"{c}1.{h}": one for c in "QKV" for h in (1, 2)}, form)
        >>> failing_relation(ExactConditions(w, tokens=3), "a", 1)
        (Fraction(-1, 1), Fraction(1, 1))
    """
    shape, heads = spaces.shape, spaces.net.layers[i - 1]
    masked, plain = shape.causal, not spaces.net.skip
    two, last = shape.tokens == 2, i == shape.depth
    if name == "a":
        rows = _rows(h.scores(spaces.written[i - 1], spaces.first[i - 1]) for h in heads)
        return _any(rows) if two and not last else _alike(rows, opposites=two)
    if name == "a'":
        span = spaces.written[i - 1]
        if not two and not plain:
            span = Subspace.spanned(span, spaces.embed).basis
        forms = (h.scores(span, span) for h in heads)
        rows = _rows(m + m.mT for m in forms)
        return _any(rows) if two else _single(rows)
    seen, words = spaces.means[i], spaces.words[i - 1].basis
    if name == "b" and masked:
        seen = spaces.readers[i].basis
    if name in ("b", "b unmasked"):
        return _single(_pairings(spaces, i, seen, words))
    if name == "f":
        return _single(_pairings(spaces, i, seen, spaces.halved(i)))
    if name == "c" and not masked:
        return _set(_pairings(spaces, i, seen, spaces.written[i - 1]))
    if name == "c" and plain:
        return _set(_pairings(spaces, i, spaces.readers[i].basis, words))
    if name == "c" and last:
        return _set(_pairings(spaces, i, seen, spaces.first[i - 1]))
    if name == "c":  # what writes nothing is not read by the next layer either
        return _set(_rows(h.carried(spaces.first[i - 1]) for h in heads))
    return None


def _rows(forms: Iterable[RationalMatrix]) -> ObjectArray:
    return np.array([m.fractions().ravel() for m in forms], dtype=object)


def _pairings(spaces: ExactConditions, i: int, above: RationalMatrix, below: RationalMatrix) -> ObjectArray:
    return _rows(above.mT @ head.carried(below) for head in spaces.net.layers[i - 1])


def _unit(size: int, *places: tuple[int, int]) -> Relation:
    return tuple(Fraction(dict(places).get(h, 0)) for h in range(size))


def _any(rows: ObjectArray) -> Relation | None:
    """Of rows that are dependent."""
    if not rows.size:
        return _unit(len(rows), (0, 1))
    found = null_space(rows.T)
    return tuple(found[0]) if found else None


def _single(rows: ObjectArray) -> Relation | None:
    """A row that is zero."""
    return next((_unit(len(rows), (h, 1)) for h, row in enumerate(rows) if not any(row)), None)


def _alike(rows: ObjectArray, *, opposites: bool) -> Relation | None:
    """A row that is zero, or two that are equal, or opposite where that counts."""
    if (zero := _single(rows)) is not None:
        return zero
    for h in range(len(rows)):
        for g in range(h):
            for sign in (-1, 1) if opposites else (-1,):
                if not any(rows[h] + sign * rows[g]):
                    return _unit(len(rows), (g, sign), (h, 1))
    return None


def _set(rows: ObjectArray) -> Relation | None:
    """Rows that add up to zero."""
    if len(rows) > SUBSETS:
        return None
    chosen = (heads for heads in subsets(len(rows)) if not any(rows[heads].sum(axis=0)))
    return next((_unit(len(rows), *((h, 1) for h in heads)) for heads in chosen), None)
