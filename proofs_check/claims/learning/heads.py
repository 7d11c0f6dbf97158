r"""Learning coefficients of softmax heads: which of them are seen apart, by linear algebra against Jacobians.

One softmax layer (`docs/learning-coefficients.md`, Theorem 9): the circuits $A_h$ and $W_h = O_h V_h$ are seen, up to
what equal heads share, if in each group of heads with equal $A_h$ the map $(b_h) \mapsto (\operatorname{sym} \sum_h
w_{h,i} b_h^\top)_i$ is injective, and with two tokens no $A_g = -A_{g'}$. Here that is compared with the rank of the
Jacobian of the function by all circuits, from Taylor coefficients, which knows nothing of groups; and the coefficient
that follows with both bounds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, learning_coefficient
from lightning_sym.coefficients.head_groups import HeadGroup, softmax_groups
from lightning_sym.coefficients.lightning_layer import Proved
from lightning_sym.coefficients.seen_circuits import whole_circuits
from lightning_sym.coefficients.softmax_layer import seen_heads
from lightning_sym.errors import proved_to_be
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits
from proofs_check.blackboard.step import Step, must, number, rational, show
from proofs_check.claim import (
    Claim,
    Part,
    ProvedBounds,
    Scope,
    Tally,
    WalkThrough,
    expect_less,
    expect_value,
)
from proofs_check.claims.learning.depth import AtDepth, between_rank_and_fiber
from proofs_check.samples import listed

Apart = Callable[[Sequence[str], Sequence[HeadCircuits], int], bool]
Matrix = list[list[int]]


@dataclass(frozen=True)
class Heads:
    """A layer of softmax heads, drawn by a seed, with so many tokens."""

    seed: int
    tokens: int

    @property
    def weights(self) -> Weights:
        """Two or three heads of width one or two; some attend alike or with the other sign, some have no values."""
        source = random.Random(self.seed)
        d, d_out = source.choice([2, 2, 3]), source.choice([1, 2])

        def row(most: int = 3) -> list[int]:
            return [source.randint(-most, most) for _ in range(d)]

        named = dict[str, Matrix]()
        scores = [(row(), row()) for _ in range(3)]
        for h in range(1, source.choice([2, 2, 3]) + 1):
            query, key = scores[source.choice([0, 0, 1, 2])]
            sign = source.choice([1, 1, 1, -1])
            values = {
                "one": [row()] + [[0] * d] * (d_out - 1),
                "zero": [[0] * d] * d_out,
                "any": [row() for _ in range(d_out)],
            }
            named |= {f"Q1.{h}": [query], f"K1.{h}": [[sign * x for x in key]]}
            named[f"V1.{h}"] = values[source.choice(["one", "any", "any", "zero"])]
        kind = source.choice(["any", "any", "opposite", "one direction"])
        if kind == "opposite":  # the second head is the first one with the other sign of its scores
            named |= {f"{letter}1.2": named[f"{letter}1.1"] for letter in "QV"}
            named["K1.2"] = [[-x for x in named["K1.1"][0]]]
        if kind == "one direction":  # it attends like the first one, and both write into one direction
            named |= {f"{letter}1.2": named[f"{letter}1.1"] for letter in "QK"}
            named |= {f"V1.{h}": [row(), *[[0] * d] * (d_out - 1)] for h in (1, 2)}
        form = NetworkForm(SOFTMAX, causal=source.random() < 0.3)
        return Weights.of(named, form)


def seen_apart(names: Sequence[str], heads: Sequence[HeadCircuits], tokens: int) -> bool:
    """Return what Theorem 9 says."""
    return isinstance(seen_heads(names, heads, tokens), Proved)


def independent_values(names: Sequence[str], heads: Sequence[HeadCircuits], tokens: int) -> bool:
    """Return whether heads are seen apart, as if independent values were enough.

    These are values of heads that attend alike, and linearly independent.
    """
    if tokens == 2:
        return seen_apart(names, heads, tokens)
    for group in softmax_groups(names, heads):
        rows = np.array([head.value.fractions().ravel() for head in group.heads])
        if len(rows) > 1 and rank(rows) < len(rows):
            return False
    return True


def never(names: Sequence[str], heads: Sequence[HeadCircuits], tokens: int) -> bool:
    """Return whether heads are seen apart, as if those that attend alike were never seen."""
    alike = any(len(group.heads) > 1 for group in softmax_groups(names, heads))
    return not alike and seen_apart(names, heads, tokens)


def layers(*, quick: bool) -> Iterator[Heads]:
    for seed in range(40 if quick else 200):
        yield Heads(seed, 3 if seed % 3 else 2)


def whole(weights: Weights, tokens: int) -> tuple[list[HeadCircuits], list[str], int]:
    """Return the heads, their names, and the rank of the Jacobian by all circuits, from below."""
    shape, net = weights.architecture(tokens), NetworkCircuits.of(weights).in_memory()
    circuits = whole_circuits(weights, shape, net)
    near = proved_to_be(local_dimension(circuits, tokens), f"the Jacobian of {shape} is too large")
    names = [shape.head_name(1, h) for h in range(1, shape.heads + 1)]
    return list(net.layers[0]), names, circuits.architecture(1).parameter_count - near.upper


def hidden(heads: Sequence[HeadCircuits], names: Sequence[str], tokens: int) -> int:
    """Return the dimension of directions in which the function does not change, from below: exact ranks, by hand.

    Changes $b_h q^\\top$ of scores, $b$ in the kernel of the map of heads that attend alike; with two tokens also of
    heads with opposite scores, and changes of values by the same matrix in two such groups, or a group without scores.
    """
    sets: list[list[HeadGroup[RationalMatrix]]] = []
    for group in softmax_groups(names, heads):
        scores = group.heads[0].attention
        opposite = [s for s in sets if tokens == 2 and scores and not s[0].heads[0].attention + scores]
        if opposite:
            opposite[0].append(group)
        else:
            sets.append([group])
    found, width = 0, heads[0].value.shape[1]
    for some in sets:
        values = [head.value.fractions() for group in some if group.scores_seen for head in group.heads]
        unit = np.eye(width, dtype=int).astype(object)
        columns = [[np.outer(w, e) + np.outer(e, w) for w in value] for value in values for e in unit]
        found += width * (len(columns) - (rank(np.array(columns).reshape(len(columns), -1)) if columns else 0))
    pairs = sum(len(some) == 2 or not some[0].heads[0].attention for some in sets)
    return found + (max(pairs - 1, 0) * width * heads[0].value.shape[0] if tokens == 2 else 0)


def agrees(layer: Heads, apart: Apart = seen_apart) -> str:
    """Check that the rank of the Jacobian lies between what residues show and what is hidden."""
    heads, names, found = whole(layer.weights, layer.tokens)
    count = sum(group.numbers_seen for group in softmax_groups(names, heads))
    bounds, at = (
        ProvedBounds(found, count - hidden(heads, names, layer.tokens)),
        f"{layer.weights!r}, t = {layer.tokens}",
    )
    if holds := apart(names, heads, layer.tokens):
        expect_value(bounds, count, at)
    else:
        expect_less(bounds, count, at)
    return Tally("seen apart" if holds else "not seen apart")


def walk() -> Iterator[Step]:
    query, key = rational([[1, 2]]), rational([[1, 1]])
    first, second = rational([[1, 0], [0, 0]]), rational([[0, 1], [0, 0]])
    alike = {"Q1.1": query, "K1.1": key, "Q1.2": query, "K1.2": key}
    weights = Weights.of({**alike, "V1.1": first, "V1.2": second}, NetworkForm(SOFTMAX))
    yield Step(
        "Two heads that attend alike",
        "Both have the same scores. Their values are linearly independent, but write into one direction.",
        (show("A_1 = A_2", key.T @ query), show("V_1", first), show("V_2", second)),
    )
    heads, names, found = whole(weights, 3)
    must(not seen_apart(names, heads, 3), "the map is not injective")
    must(found == 10, "the rank is 10")
    yield Step(
        "They are not seen apart",
        "With $b_1 = v_2$ and $b_2 = -v_1$ the map is zero: $v_1 v_2^\\top - v_2 v_1^\\top$ is skew. So of twelve "
        "entries of $A_1$, $A_2$ and $V_1 + V_2$ the Jacobian sees ten.",
        (number("rank of the Jacobian by circuits", found),),
    )
    other = Weights.of({**alike, "V1.1": first, "V1.2": rational([[0, 0], [1, 3]])}, NetworkForm(SOFTMAX))
    heads, names, found = whole(other, 3)
    must(seen_apart(names, heads, 3), "the map is injective")
    must(found == 12, "the rank is 12")
    yield Step(
        "Into two directions",
        "Here all twelve are seen, and the coefficient follows.",
        (show("V_2", rational([[0, 0], [1, 3]])), number("rank", found)),
        tuple(learning_coefficient(other, 3).lines()),
    )


CLAIM = Claim(
    id="learning-coefficient-heads",
    source="beyond the paper",
    title="Linear algebra says which softmax heads are seen apart, and with that their learning coefficient",
    statement=(
        r"\lambda = \sum_h \lambda(K_h^\top Q_h) + \sum_g \lambda\bigl((O_h)_{h \in g} (V_h)_{h \in g}\bigr) \text{ if"
        r" all } (b_h)_{h \in g} \mapsto \bigl(\operatorname{sym} \sum_h w_{h,i} b_h^\top\bigr)_i \text{ are injective}"
    ),
    hypotheses=(
        "One softmax layer, with or without mask and skip connection, inputs with a density on a bounded set. $g$ are "
        r"the groups of heads with equal $A_h$, $w_{h,i}$ the rows of $O_h V_h$; a head alone whose values are zero "
        "shows no scores, and is not in the first sum. With two tokens groups with opposite scores count as one, and "
        "there may be one such, or one group without scores. Proved (docs/learning-coefficients.md, Theorem 9); "
        "compared at the listed weights with Jacobians. With several layers, embedding and unembedding: wherever two "
        "ranks add up (Theorem 5)."
    ),
    place=460,
    rests_on=("learning-coefficient-layer",),
    walk=WalkThrough("When heads that attend alike can be told apart.", walk),
    parts=(
        Part(
            "heads are seen apart exactly if the map is injective",
            Scope.INSTANCES,
            layers,
            agrees,
            {
                "independent values are enough": partial(agrees, apart=independent_values),
                "two tokens tell opposite scores apart": partial(
                    agrees, apart=lambda names, heads, tokens: seen_apart(names, heads, max(tokens, 3))
                ),
                "heads that attend alike are never seen": partial(agrees, apart=never),
            },
        ),
        Part(
            "at generic weights it is what both bounds say",
            Scope.INSTANCES,
            listed(
                [
                    AtDepth(Architecture((2, 2), (1,), 3, SOFTMAX)),
                    AtDepth(Architecture((2, 2), (1,), 2, SOFTMAX, heads=2, skip=True)),
                    AtDepth(Architecture((2, 2), (1,), 3, SOFTMAX, heads=2, value_ranks=(1,), causal=True)),
                    AtDepth(Architecture((2, 1), (1,), 2, SOFTMAX, embed=3, unembed=2)),
                ],
                [
                    AtDepth(Architecture((2, 2, 2), (1, 1), 2, SOFTMAX, skip=True, embed=3, unembed=2)),
                    AtDepth(Architecture((2, 2, 2), (1, 1), 2, SOFTMAX, value_ranks=(1, 1))),
                    AtDepth(Architecture((3, 3), (2,), 3, SOFTMAX, heads=3, value_ranks=(1,), skip=True)),
                ],
            ),
            between_rank_and_fiber,
            {
                "half more": partial(between_rank_and_fiber, added=lambda case: Fraction(1, 2)),
                "another multiplicity": partial(between_rank_and_fiber, order=2),
            },
        ),
    ),
)
