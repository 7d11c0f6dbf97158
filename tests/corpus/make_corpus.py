"""Writes the certificates in `good/` and `bad/`: `python tests/corpus/make_corpus.py`.

The good ones come from the program; every bad one is a good one with one thing changed (`bad_certificates.py`). Why a
bad one must be rejected stands in `tests/certificates/test_certificate_files.py`.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from bad_certificates import BAD, FIRST, TEXTS, Document, changed
from fibers_of_networks import FIBERS, TENSORS
from networks_with_a_form import FORMS

from lightning_sym import (
    SOFTMAX,
    Architecture,
    Normalization,
    Weights,
    certified_dimension,
    fiber,
    same_function,
    swap,
    transform,
)
from lightning_sym.certificates.dimension import dimension_certificate, layers_certificate, transformer_certificate
from lightning_sym.certificates.fibers import fiber_certificate
from lightning_sym.certificates.files import certificate_text
from lightning_sym.certificates.same_function import same_certificate
from lightning_sym.dimension.blocks import Layers, Transformer
from lightning_sym.fibers.same_function import Answer, Comparison, Reason
from lightning_sym.network.form import NetworkForm
from proofs_check.claims.normalized import rational_normalizer

FOLDER = Path(__file__).parent
NETWORKS = {
    "one_layer": Architecture((4, 2), (1,), 3),
    "two_layers": Architecture((3, 2, 3), (2, 2), 2),
    "one_token": Architecture((3, 2), (2,), 1),
    "softmax_linear_maps": Architecture((3, 2, 2), (1, 1), 1, normalization=SOFTMAX),
    "transformer": Architecture(
        (2, 2), (1,), 2, normalization=SOFTMAX, heads=2, value_ranks=(1,), skip=True, causal=True, embed=3, unembed=3
    ),
    "two_tokens": Architecture((4, 4, 4), (4, 4), 2, normalization=SOFTMAX, skip=True, embed=2),
    "head_forms": Architecture((3, 2), (1,), 2, heads=5, value_ranks=(1,)),
    "narrow": Architecture((2, 3, 1), (1, 3), 1, heads=2, embed=3, unembed=2),
    "narrow_with_tokens": Architecture((2, 4, 1), (1, 1), 2, heads=3),
    "lightning_masked": Architecture((2, 1), (1,), 2, heads=2, causal=True),
    "span": Architecture((2, 2), (1,), 1, heads=2),
    "deep_softmax": Architecture((2,) * 13, (1,) * 12, 2, normalization=SOFTMAX),
    "deep_softmax_narrow": Architecture((3, *(2,) * 11, 1), (2,) * 12, 2, normalization=SOFTMAX),
    "softmax_of_rank_one": Architecture((2, 1, 2), (2, 2), 3, normalization=SOFTMAX),
    "softmax_causal": Architecture((2, 2, 2), (2, 1), 3, normalization=SOFTMAX, causal=True),
}


TRANSFORMERS = {
    "gpt2_small": Transformer(768, (Layers(12, 64, 64),), 12, 12, 50257, 50257, tied=False),
    "tied_and_grouped": Transformer(12, (Layers(2, 3, 2), Layers(1, 14, 15)), 4, 2, 20, 20, tied=True),
    "values_of_full_rank": Transformer(3, (Layers(2, 2, None),), 2, 2, 3, None, tied=False),
}

RESIDUAL: dict[str, Any] = {"skip": True, "embed": 50257, "unembed": 50257}
BY_LAYERS = {
    "layers_counted": Architecture((768,) * 13, (64,) * 12, 2, heads=12, value_ranks=(64,) * 12, **RESIDUAL),
    "layers_proved": Architecture((2, 2, 2, 2), (1, 2, 1), 2, heads=2, skip=True, embed=3, unembed=2),
}
"""Lightning with skip connections: sums over layers, counted or each with a proof."""


# those bounded by symmetries, not by the count that is tried first
ORBITS = ("one_layer", "two_layers", "deep_softmax_narrow")


def weights(matrices: Document) -> Weights:
    exact: dict[str, Any] = {name: [[Fraction(x) for x in row] for row in rows] for name, rows in matrices.items()}
    return Weights.of(exact)


def pair(first: Weights, second: Weights, tokens: int = 2) -> Document:
    return same_certificate(same_function(first, second, tokens), first, second, tokens)


def series() -> Document:
    """Normalization by a polynomial, whose rows are of Taylor coefficients."""
    polynomial = Normalization("1 + y/101", lambda k: Fraction(k < 2, 100 * k + 1))
    return dimension_certificate(certified_dimension(Architecture((2, 2, 2), (1, 2), 2, normalization=polynomial)))


def sum_of_layers(shape: Architecture) -> Document:
    """Whatever the size of the network."""
    total = certified_dimension(shape).lower
    return layers_certificate(shape, total, lambda layer: dimension_certificate(certified_dimension(layer)))


def values_of_y() -> Document:
    """One layer with S(y) = y, whose dimension is found from values."""
    return rational_normalizer.of_values(rational_normalizer.one_rank((2, 2, 2)), 0).document()


def good() -> dict[str, Document]:
    """All of them, by name."""
    found = {
        name: dimension_certificate(certified_dimension(network, all_bounds=name in ORBITS))
        for name, network in NETWORKS.items()
    }
    found |= {name: transformer_certificate(shape) for name, shape in TRANSFORMERS.items()}
    found |= {name: sum_of_layers(shape) for name, shape in BY_LAYERS.items()}
    found["values_of_y"], found["series"] = values_of_y(), series()
    # true, but not the smallest bound: one family of symmetries alone
    families = ("upper_bounds.0.families", ["query-key"]), ("upper_bounds.0.bound", 24), ("upper", 24)
    found["two_layers_undecided"] = changed(found["two_layers"], *families)

    found |= {name: with_a_form(*each) for name, each in FORMS.items()}
    found |= {name: fiber_certificate(fiber(w, tokens), w) for name, (tokens, w) in (FIBERS | TENSORS).items()}
    first = weights(FIRST)
    one = weights({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 6]]})
    skew = weights({"Q1": [[1, 2], [0, 1]], "K1": [[1, 0], [0, 1]], "V1": [[3, 4]]})
    found["same_group"] = pair(first, transform(first, between={1: [[1, 1], [0, 1]]}, scales={1: 2}))
    found["same_exchange"] = pair(one, swap(one))
    found["same_symmetric_parts"] = pair(
        skew, weights({"Q1": [[1, 0], [2, 1]], "K1": [[1, 0], [0, 1]], "V1": [[3, 4]]}), 1
    )
    found["same_zero"] = pair(weights(FIRST | {"V1": [[0, 0], [0, 0]]}), weights(FIRST | {"V2": [[0, 0]]}))
    found["rescaled"] = pair(weights(FIRST), weights(FIRST | {"Q1": [[2, 4]], "V2": [["1/8", "1/12"]]}))
    found["different"] = pair(first, weights(FIRST | {"V2": [[1, 1]]}))
    found["different_modulo_a_prime"] = pair(deep(10), deep(11))
    return found


def with_a_form(answer: Answer, form: NetworkForm, tokens: int, first: Document, second: Document) -> Document:
    """Of networks whose answer is known."""
    one, other = (Weights.of(weights(m).matrices, form) for m in (first, second))
    return same_certificate(Comparison(answer, Reason.ZERO), one, other, tokens)


def deep(layers: int) -> Weights:
    """Too deep to be evaluated over the rationals."""
    return Weights.of({f"{letter}{i}": [[2]] for i in range(1, layers + 1) for letter in "QKV"})


def main() -> None:
    found = good()
    for name, document in found.items():
        (FOLDER / "good" / f"{name}.json").write_text(certificate_text(document), encoding="utf-8")
    for name, (base, changes) in BAD.items():
        text = certificate_text(changed(found[base], *changes))
        (FOLDER / "bad" / f"{name}.json").write_text(text, encoding="utf-8")
    for name, spoil in TEXTS.items():
        (FOLDER / "bad" / f"{name}.json").write_text(spoil(certificate_text(found["one_layer"])), encoding="utf-8")


if __name__ == "__main__":
    main()
