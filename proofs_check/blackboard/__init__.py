"""Walk-throughs: every claim at the blackboard, with small matrices and exact numbers.

Each one is a generator of steps. All that they show is computed, and every sentence that says "the same" or
"different" is checked before it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lightning_sym import Weights
from lightning_sym.errors import BadInput
from proofs_check.blackboard import (
    any_width,
    conserved,
    deep,
    deep_fibers,
    geometry,
    normalized,
    one_layer,
    resultant,
    softmax_fibers,
    transformer_fibers,
    transformers,
    variety,
)
from proofs_check.blackboard.step import Step


@dataclass(frozen=True)
class WalkThrough:
    """How a claim is explained.

    Attributes:
        intro: what is going to be shown, in a sentence or two with `$LaTeX$` in them.
        steps: the steps, computed when asked for.
    """

    intro: str
    steps: Callable[[], Iterator[Step]]


WALK_THROUGHS = {
    "definition-1": WalkThrough("What one layer of lightning self-attention computes.", one_layer.the_layer),
    "lemma-3.1": WalkThrough(
        r"How much of $Q$ and $K$ can be known if only $K^\top Q$ is seen.", one_layer.query_and_key
    ),
    "theorem-3.2": WalkThrough("Which weights of one layer have the same function.", one_layer.swap),
    "corollary-3.3": WalkThrough(
        "How many directions of the weights change the function: a Jacobian and its rank.", one_layer.count_dimensions
    ),
    "theorem-3.4-closed": WalkThrough("Limits of functions of a layer are functions of a layer.", geometry.closed),
    "theorem-3.4-boundary": WalkThrough(r"Where $\mathcal M$ ends although its equations go on.", geometry.boundary),
    "theorem-3.4-singular": WalkThrough(
        r"Where $\mathcal M$ is not smooth: where two sheets cross, and one place more.", geometry.singular
    ),
    "figure-1": WalkThrough(
        r"The smallest interesting $\mathcal M$ is a hypersurface, and its equation is a resultant.",
        resultant.equation_of_the_set,
    ),
    "equation-9": WalkThrough("Between two layers any basis will do.", deep.change_between_layers),
    "lemma-3.5": WalkThrough(
        "Between two layers any basis will do, and if no width is too small that is all.", deep.generic_fiber
    ),
    "lemma-3.6": WalkThrough(r"A deep network in one line: the recursion for $B_l$.", deep.closed_formula),
    "equation-12": WalkThrough(r"A deep network in one line: which score stands where.", deep.closed_formula),
    "theorem-3.7": WalkThrough("The weights of a deep network, read off its function.", deep_fibers.virtual_fiber),
    "corollary-3.8": WalkThrough(
        "The dimension for a deep network, bounded from below and from above.", deep_fibers.deep_dimension
    ),
    "theorem-3.9": WalkThrough("A normalized layer gives all of its weights away.", normalized.normalized),
    "conjecture-3.10": WalkThrough(
        "Basis changes between layers stay invisible. Everything else is read off, one layer after the other.",
        normalized.deep_normalized,
    ),
    "softmax-fibers": WalkThrough(
        "Two tokens, their mean and their difference: what a softmax layer does to them, and which one hides the rest.",
        softmax_fibers.peeled,
    ),
    "softmax-normalizers": WalkThrough(
        "Other functions than exp: what is read off instead of the third order.", softmax_fibers.other_normalizers
    ),
    "softmax-jets": WalkThrough(
        "In which degree each layer appears in the Taylor series, and how.", softmax_fibers.finite_jets
    ),
    "figure-3": WalkThrough(
        "One point of the figure from above and from below, then all of them.", normalized.two_curves
    ),
    "rational-normalizer": WalkThrough(
        "Two normalizers that are rational functions: one keeps every weight visible, one does not.",
        normalized.which_normalizer,
    ),
    "corollary-a.1": WalkThrough(
        r"$\mathcal M$ is closed, because no weights but zero give the zero function: the map of projective spaces is "
        "defined everywhere, and the image of a compact space is compact.",
        geometry.closed,
    ),
    "corollary-a.2": WalkThrough(
        r"Let $a > 1$ or $d' > 1$. Up to rescaling, $(A, V) \mapsto \varphi$ has one point over almost every function "
        r"and two over the swapped ones: "
        "it is finite, and one-to-one almost everywhere.",
        one_layer.swap,
    ),
    "lemma-a.3": WalkThrough("Where the differential loses more than the rescaling.", geometry.critical),
    "corollary-a.4": WalkThrough(
        "The singular points are those with two weights, up to rescaling, and their limits: $A$ and $V$ of rank one.",
        geometry.singular,
    ),
    "proposition-a.5": WalkThrough(
        r"The same set in other coordinates: $\mathcal M$ is the set of arrays of products of lines.",
        one_layer.products_of_lines,
    ),
    "corollary-a.6": WalkThrough(
        r"The boundary consists of the critical values, $A = h\, q^\top$ and $V = v\, h^\top$; here is how the outside "
        r"comes "
        "near them, and only them.",
        geometry.boundary,
    ),
    "dimension-all-widths": WalkThrough(
        "The dimension for any widths: count a variety, and meet it from below.", any_width.count_the_variety
    ),
    "dimension-every-width": WalkThrough("How a computation at width two settles all widths.", any_width.every_width),
    "section-4-skip": WalkThrough("Skip connections remove some symmetries, and leave one.", transformers.skip),
    "section-4-heads": WalkThrough("Heads can be exchanged, and lightning heads can be mixed.", transformers.heads),
    "free-exponentials": WalkThrough(
        "Why the exponentials in softmax may be any numbers.", normalized.free_exponentials
    ),
    "softmax-all-widths": WalkThrough(
        "What softmax sees more than lightning, at any widths.", transformers.softmax_widths
    ),
    "attention-only-transformers": WalkThrough(
        "Count the weights of a small transformer, and what cannot be seen of them.", transformers.transformers
    ),
    "one-transformer-layer": WalkThrough(
        "Heads of one layer as a table, and what two tokens do not see of it.", transformer_fibers.one_layer_tables
    ),
    "transformer-fibers": WalkThrough(
        "Given weights, their conditions, and all weights with the same function.", transformer_fibers.exact_fiber
    ),
    "common-streams": WalkThrough("Two networks side by side: when they are one function.", transformer_fibers.streams),
    "transformer-dimension": WalkThrough(
        "The dimension of transformers at every size: three counts.", transformer_fibers.count_every_size
    ),
    "words-and-blocks": WalkThrough(
        "What the function of a transformer determines, without any exponentials.", transformer_fibers.words
    ),
    "degree": WalkThrough(r"In how many points $\mathcal M$ meets a linear space.", variety.degree),
    "attention-invariants": WalkThrough(
        "Equations that every layer satisfies, and a family that not every layer satisfies.",
        variety.attention_invariants,
    ),
    "figure-1-singular-scheme": WalkThrough("How large the singular locus of a quartic is.", variety.singular_scheme),
    "tangent-spaces": WalkThrough("Where the tangent space is larger than the set.", variety.tangent_spaces_at_points),
    "conserved-quantities": WalkThrough(
        "What training by gradient flow does not change, whatever the loss and the data are.", conserved.kept
    ),
}
"""By claim id."""


def walk_through(claim: str, weights: Weights | None = None) -> tuple[str, list[Step]]:
    """How a claim is explained: what is going to be shown, and the steps; on given weights if there are any.

    Raises:
        BadInput: it has no walk-through, or none on such weights.
    """
    from proofs_check.blackboard.own_weights import steps_on

    walk = WALK_THROUGHS.get(claim)
    if walk is None:
        raise BadInput(f"the claim must have a walk-through; {claim} has none yet")
    return walk.intro, list(walk.steps()) if weights is None else steps_on(claim, weights)
