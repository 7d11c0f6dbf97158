r"""Equation 12 (with Eq. 8, 10 and 11): the network in closed form.

With $P_i = V_i \cdots V_1$, $\tilde A_i = P_{i-1}^\top A_i P_{i-1}$ and $S_i = X^\top \tilde A_i X$,
$\varphi_W(X) = P_l X \prod_{n=1}^{(3^l - 1)/2} S_{k(n)}^{(\top)}$, where $k(n) - 1$ is the 3-adic valuation of $n$ and
the transpose is taken when the first non-zero base-3 digit of $n$ from the right is 2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lightning_sym import Architecture, VirtualWeights, forward, polynomial_map, virtual_weights
from lightning_sym.network.virtual_weights import closed_form, recursive_form
from lightning_sym.rings.matrix_words import Words
from proofs_check.claim import Claim, Part, Scope, WalkThrough, expect, expect_equal
from proofs_check.claims.deep.lemma_3_6 import M, exact_weights, rational_instances, symbolic_shapes, walk
from proofs_check.claims.one_layer.definition_1 import layers_in, word_layers

ClosedForm = Callable[[Any, VirtualWeights], Any]


def without_transposes(x: M, weights: VirtualWeights) -> Any:
    """Return the mutant: B_i = B_{i-1} B_{i-1} S_i B_{i-1}."""
    b: M | None = None
    for attention in weights.attention:
        s = x.mT @ attention @ x
        b = s if b is None else b @ b @ s @ b
    return weights.value @ x @ b


def in_formal_words(depth: int, closed: ClosedForm = closed_form) -> None:
    """Check the closed form in formal words: for matrices of every shape over every commutative ring."""
    layers, x = word_layers(depth), Words.letter("X")
    composed = forward(x, layers)
    weights = virtual_weights(layers)
    expect_equal(str(closed(x, weights)), str(composed), at=f"{depth} layers, Eq. 12")
    expect_equal(str(recursive_form(x, weights)), str(composed), at=f"{depth} layers, Eq. 11")


def symbolic(shape: Architecture, closed: ClosedForm = closed_form) -> None:
    phi = polynomial_map(shape)
    layers, x = layers_in(phi.ring, shape)
    expect(
        np.array_equal(closed(x, virtual_weights(layers)), phi.entries),
        f"{shape}: the closed form differs from the composition",
    )


def rational(instance: tuple[Architecture, int], closed: ClosedForm = closed_form) -> None:
    shape, seed = instance
    layers, x = exact_weights(shape, seed)
    expect(
        np.array_equal(closed(x, virtual_weights(layers)), forward(x, layers)),
        f"{shape}, seed {seed}: the closed form differs from the composition",
    )


def _mutants(check: Callable[..., None]) -> dict[str, Callable[[object], None]]:
    return {
        "transposes left out": partial(check, closed=without_transposes),
        "layers in the opposite order": partial(
            check, closed=lambda x, weights: closed_form(x, VirtualWeights(weights.attention[::-1], weights.value))
        ),
    }


CLAIM = Claim(
    id="equation-12",
    source="Eq. 8, 10-12",
    title="phi = V~ X B_l, a product of (3^l - 1)/2 scores",
    statement=(
        r"\varphi_W(X) = \tilde V X \prod_{n=1}^{(3^l-1)/2} T_n, \quad S_k = X^\top \tilde A_k X,\quad"
        r" k(n) = 1 + \nu_3(n),\quad T_n = \begin{cases} S_{k(n)} & \text{if } n / 3^{\nu_3(n)} \equiv 1 \pmod 3 \\"
        r" S_{k(n)}^\top & \text{if } n / 3^{\nu_3(n)} \equiv 2 \pmod 3 \end{cases}"
    ),
    hypotheses=(
        r"Lightning attention, one head, no mask, every $t$ and all widths; $\nu_3(n)$ is the exponent of 3 in $n$. "
        "It is shown for some numbers of layers, with matrices of every shape; Lemma 3.6 gives the rest."
    ),
    place=120,
    rests_on=("lemma-3.6",),
    walk=WalkThrough(r"A deep network in one line: which score stands where.", walk),
    parts=(
        Part(
            "composition = Eq. 11 = Eq. 12, matrices of every shape, by depth",
            Scope.IDENTITY,
            lambda quick: range(1, 6 if quick else 8),
            in_formal_words,
            _mutants(in_formal_words),
        ),
        Part(
            "symbolic weights and inputs, up to two layers",
            Scope.IDENTITY,
            symbolic_shapes,
            symbolic,
            _mutants(symbolic),
        ),
        Part(
            "exact random weights, up to four layers",
            Scope.INSTANCES,
            rational_instances,
            rational,
            _mutants(rational),
        ),
    ),
)
