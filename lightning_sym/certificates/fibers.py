"""Certificates of fibers: the theorem that applies to given weights, and its conditions, each with its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from lightning_sym.arguments import require_arguments
from lightning_sym.certificates.document import Document, opening
from lightning_sym.certificates.files import number_document, weights_document
from lightning_sym.certificates.functions import same_proof
from lightning_sym.certificates.limits import require_heads, require_lines
from lightning_sym.errors import BadInput
from lightning_sym.fibers.answer import Fiber
from lightning_sym.fibers.hypotheses import HYPOTHESES, RANKS, stream
from lightning_sym.fibers.observed_network import NetworkAtPoints, NetworkSpaces
from lightning_sym.fibers.tensor_hypotheses import PAGE, TensorQuestion
from lightning_sym.network.pieces import spaces
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import PRIMES, Residues


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

    def shown(evidence: Any) -> Any:
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


WIDEST, MOST = 64, 64
"""Widths, and heads in all, up to which a condition that fails is written down: its relation is checked exactly."""

_LETTERS = {hypothesis.name: hypothesis.letter for hypothesis in HYPOTHESES}

_BY_LETTER = {letter: hypothesis for hypothesis in HYPOTHESES if (letter := hypothesis.letter) not in "FUS"}

_ORDER = (*sorted(_BY_LETTER), "F", "U", "S")

Place = tuple[str, int]
"""A condition by its name in certificates, and its layer."""


def fiber_certificate(found: Fiber, weights: Weights) -> Document:
    """Return a certificate for what is known of the weights with the same function (docs/certificate.md, section 4.2).

    Where a theorem applies it says so, with all conditions that the theorem needs; where none does, it says which
    conditions fail over the rationals, if that is known of one.

    Args:
        found: what `fiber` found for these weights.
        weights: exact weights.

    Raises:
        BadInput: it is a lightning network to which Theorem 1 of docs/deep-lightning.md does not apply, or of softmax
            there is one token, or neither a theorem nor a condition that is known to fail.

    Example:
        >>> from lightning_sym.fibers.fiber import fiber
        >>> from lightning_sym.network.form import NetworkForm
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [5, 6]]}, NetworkForm(SOFTMAX, skip=True))
        >>> document = fiber_certificate(fiber(w, tokens=3), w)
        >>> document["theorem"], document["dimension"], document["symmetries"]
        ('docs/transformer-fibers.md, Corollary 5', 1, ['query-key'])
    """
    require_arguments(fiber_certificate, locals())
    weights.require_numbers("a certificate")
    shape = found.architecture
    if shape != weights.architecture(shape.tokens):
        raise BadInput(f"the weights must be those of the fiber, {shape}; got {weights.architecture(shape.tokens)}")
    if shape.normalization is None:
        return tensor_certificate(found, weights)
    if shape.tokens == 1:
        raise BadInput("a certificate of a fiber needs two tokens or more: the patterns of one are 1")
    require_heads(shape)
    theorem = None if found.theorem is None else f"{found.theorem.page}, {found.theorem.number}"
    known = {(_LETTERS[c.name.replace("*", "")], c.layer): c.holds for c in found.conditions}
    exact = found.theorem is not None and found.theorem.number == "Corollary 5"
    spanned = ""
    if exact and found.theorem is not None:  # the others follow; a checker asks for all of them
        spanned = "FU" if found.theorem.weaker_by == "Theorem 11" else "FUS"
        known |= {(name, i): True for name in spanned for i in range(shape.depth + (name != "S"))}
    listed = list(_held([place for place, holds in known.items() if holds], weights, shape.tokens, whole=spanned))
    listed += _failing([place for place, holds in known.items() if holds is False], weights, shape.tokens)
    listed.sort(key=lambda c: (_ORDER.index(c["name"]), c["layer"]))
    if theorem is None and not any(c["holds"] is False for c in listed):
        raise BadInput(
            "a certificate needs a theorem that applies, or a condition that is known to fail, there is neither"
        )
    acting = [kind for kind in ("query-key", "value-output", "stream") if spaces(shape, kind, 1)]
    return opening("fiber") | {
        "form": weights.form.to_json(),
        "tokens": shape.tokens,
        "weights": weights_document(weights),
        "theorem": theorem,
        "conditions": listed,
        "symmetries": ["heads"] * (shape.heads > 1) + acting,
        "blind": found.blind,
        "minimal": exact,
        "dimension": found.total,
        "another": _another(found, weights),
    }


def _another(found: Fiber, weights: Weights) -> Document | None:
    """Return another network, if a checker can see that it has the same function."""
    if found.second is None:
        return None
    try:
        proof = same_proof(weights, found.second.weights, found.architecture.tokens)
    except BadInput:
        return None
    return {"weights": weights_document(found.second.weights), "proof": proof}


# ---- conditions that hold


def _held(places: list[Place], weights: Weights, tokens: int, *, whole: str) -> Iterator[Document]:
    """Yield each with the first prime modulo which residues show it; of the ranks `whole` all hold."""
    waiting = list(places)
    for number in range(len(PRIMES)):
        if not waiting:
            return
        try:
            tests = NetworkAtPoints.of(weights, tokens, primes=PRIMES[number:])
        except BadInput:
            break
        if tests.prime != PRIMES[number]:
            continue
        spans = {(each.letter, i): each.test(tests, i).holds for each in RANKS for i in each.layers(tests.shape)}
        full = all(holds for (letter, _), holds in spans.items() if letter in whole)
        held = [
            (name, i)
            for name, i in waiting
            if (
                (full and name in whole) or spans.get((name, i))
                if name in "FUS"
                else _BY_LETTER[name].test(tests, i).holds
            )
        ]
        yield from (_condition(at, {"prime": tests.prime, "seed": 0}, holds=True) for at in held)
        waiting = [at for at in waiting if at not in held]
    if any(name in whole or name not in "FUS" for name, _ in waiting):
        raise BadInput(f"a certificate needs conditions that residues show modulo one of the primes {PRIMES}")


def _condition(at: Place, evidence: Document, *, holds: bool) -> Document:
    return {"name": at[0], "layer": at[1], "holds": holds, "evidence": evidence}


# ---- conditions that fail


def _failing(places: list[Place], weights: Weights, tokens: int) -> Iterator[Document]:
    """Yield each with a relation or a rank; without those for which none is found."""
    shape = weights.architecture(tokens)
    largest = max(*shape.widths, shape.input_width, shape.output_width)
    if not places or largest > WIDEST or shape.heads * shape.depth > MOST:
        return
    over = NetworkSpaces(weights, tokens)
    for name, i in places:
        if name in "FUS":
            yield _condition((name, i), {"rank": stream(over, name, i).rank}, holds=False)
        elif (relation := next(iter(_BY_LETTER[name].refuted_by(over, i)), None)) is not None:
            yield _condition((name, i), {"relation": [number_document(x) for x in relation]}, holds=False)
