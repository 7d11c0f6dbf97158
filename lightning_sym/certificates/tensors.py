"""Certificates of what the function of a lightning network determines: its layer tensors."""

from __future__ import annotations

from itertools import combinations
from typing import TypeVar

from lightning_sym.certificates.document import Document, opening
from lightning_sym.certificates.limits import require_heads, require_lines
from lightning_sym.certificates.numbers import weights_document
from lightning_sym.errors import BadInput
from lightning_sym.fibers.answer import Fiber
from lightning_sym.fibers.layer_tensors import Residues
from lightning_sym.fibers.tensor_hypotheses import PAGE, TensorQuestion
from lightning_sym.network.weights import Weights

T = TypeVar("T")


def tensor_certificate(found: Fiber, weights: Weights) -> Document:
    """Return a certificate for Theorem 1 or 3 of docs/deep-lightning.md (`docs/certificate.md`, `"kind": "tensors"`).

    Args:
        found: what `fiber` found for these weights.
        weights: exact weights.

    Raises:
        BadInput: another theorem says what the fiber is, or none does, or residues do not show it again.

    Example:
        >>> from lightning_sym.fibers.fiber import fiber
        >>> from lightning_sym.network.form import NetworkForm
        >>> named = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [5, 6]]}
        >>> named |= {"Q2": [[1, 1]], "K2": [[1, 3]], "V2": [[1, 4], [2, 0]]}
        >>> w = Weights.of(named, NetworkForm(skip=True))
        >>> document = tensor_certificate(fiber(w), w)
        >>> document["kind"], document["background"], document["dimension"]
        ('tensors', 1, 4)
    """
    shape, tested = found.architecture, TensorQuestion(weights, found.architecture.tokens)
    require_heads(shape)
    skip, theorem = shape.skip, f"Theorem 1 of {PAGE}" if shape.skip else f"Theorem 3 of {PAGE}"
    if found.source != theorem:
        raise BadInput(f"a certificate of a lightning fiber needs {theorem}, got {found.source}")
    tensors, depth = tested.tested[0], shape.depth

    def shown(evidence: T | None) -> T:
        if evidence is None:
            raise BadInput("a certificate needs conditions that residues show, other ones than before did not")
        return evidence

    def written(x: Residues) -> list[list[int]]:
        return [[int(entry) for entry in token] for token in x.reshape(x.shape[-2:]).T]

    inner = range(1, depth)
    if skip:
        top = [tensors.top_degree(j) for j in range(1, depth + 1)]
        carried = [tensors.carried_on(i) for i in inner if tensors.ranks[i - 1] < shape.widths[0]]
    else:
        top, carried = [tensors.carried_on(1) for _ in inner[:1]], list(map(tensors.onto, inner))
    pairs = list(combinations(range(1, depth + 1), 2))
    lines = [shown(tensors.without_small_factors(*pair)) for pair in pairs]
    require_lines(shape, [tensors.degree(*pair) for pair, some in zip(pairs, lines, strict=True) for _ in some])
    return opening("tensors") | {
        "form": weights.form.to_json(),
        "tokens": shape.tokens,
        "weights": weights_document(weights),
        "prime": tensors.prime,
        "background": tensors.background,
        "top": [written(shown(x)) for x in top],
        "carried": [written(shown(x)) for x in carried],
        "lines": [[[*map(written, line)] for line in some] for some in lines],
        "dimension": found.total if skip and shape.heads == 1 else None,
    }
