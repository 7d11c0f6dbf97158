r"""Section 4, skip connections: $X \mapsto X + \varphi_W(X)$ in every layer.

The paper expects that skip connections break the scaling symmetry and that the parametrization via $(A_i, V_i)$ is
then generically one-to-one, as in the normalized case. The rescaling *inside* a layer, $(A, V) \mapsto (\lambda A,
\lambda^{-1} V)$, survives. What skip connections remove are the symmetries *between* layers: for equal widths $d$,
$\alpha = \min(a, d)$ and $t \ge 2$, $\dim \mathcal M = l\, (\alpha (2d - \alpha) + d^2) - l$, and without $- l$ for
softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from lightning_sym import SOFTMAX, Architecture, Layer, Normalization, ProgramError, Weights, certified_dimension
from lightning_sym.exact.rational import rank
from lightning_sym.network.attention import Form, attention_layer, forward
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.matrix_words import Words
from proofs_check.blackboard.step import BOARD, INPUT, Step, layer_of, must, number, rational, show
from proofs_check.certificates import itself, itself_if
from proofs_check.claim import (
    Claim,
    Formula,
    Part,
    ProvedBounds,
    Refutation,
    Scope,
    Verdict,
    WalkThrough,
    expect_equal,
    expect_formula,
    expect_less,
    spell,
)
from proofs_check.ring_matrices import letters_of
from proofs_check.samples import random_networks as random_shapes


def pairs(network: Architecture) -> int:
    """Return the dimension of the space of all `(A_1, V_1, ..., A_l, V_l)` with the ranks that the widths allow."""
    total = 0
    for a, d in zip(network.attention_ranks, network.widths, strict=False):
        alpha = min(a, d)
        total += alpha * (2 * d - alpha) + d * d
    return total


def hypotheses_hold(network: Architecture) -> bool:
    return network.skip and network.tokens >= 2


def small_networks(normalization: Normalization | None = None, *, quick: bool) -> Iterator[Architecture]:
    """Yield equal widths, any ranks, up to three layers."""
    for depth, d, t in product((1, 2, 3), (1, 2, 3) if quick else (1, 2, 3, 4), (1, 2, 3)):
        for ranks in product(range(1, d + 1), repeat=depth):
            if depth == 3 and len(set(ranks)) > 1 and d == (3 if quick else 4):
                continue
            if quick and depth == 3 and t == 3:
                continue
            yield Architecture((d,) * (depth + 1), ranks, t, normalization=normalization, skip=True)


def instances(normalization: Normalization | None = None, *, quick: bool) -> Iterator[Architecture]:
    return filter(hypotheses_hold, small_networks(normalization, quick=quick))


def random_networks(normalization: Normalization | None = None, *, quick: bool) -> Iterator[Architecture]:
    """Return random networks beyond the small ones: widths up to eight, all ranks, up to four layers and tokens."""
    return random_shapes(
        10 if quick else 40, 20261121, depth=(1, 4), width=(4, 8), rank=(1, 8), tokens=(2, 4), wider=(0, 0),
        parameters=(1, 150 if quick else 300), skip=True, normalization=normalization,
    )  # fmt: skip


def rescaled_words(depth: int, power: int = -1, pattern: Callable[[Words], Words] | None = None) -> None:
    """Check all layers rescaled, over formal words: every width, every rank, every number of tokens at once."""
    form = Form(skip=True) if pattern is None else Form(pattern, skip=True)
    old, new = [], []
    for i in range(1, depth + 1):
        layer = Layer(*(Words.letter(f"{letter}{i}") for letter in "QKV"))
        old.append(layer)
        scale, back = (Words.scalar(f"lambda{i}", k) for k in (1, power))
        new.append(layer._replace(query=scale @ layer.query, value=back @ layer.value))
    x = Words.letter("X")
    if (found := forward(x, new, form)) != forward(x, old, form):
        raise Refutation(f"{depth} layers with skip: rescaled weights give {str(found)[:200]} ...")


def one_to_one(network: Architecture) -> None:
    """Check the statement of the paper: it fails if generic fibers have positive dimension; two weights show it."""
    found = certified_dimension(network)
    if found.lower == pairs(network):
        return
    expect_less(ProvedBounds.of(found), pairs(network), at=network)
    # a skip changes no shape, so the weights are those of the plain network
    plain = Architecture(network.widths, network.attention_ranks, network.tokens)
    d, t = network.widths[0], network.tokens
    ranks = [min(a, d) for a in network.attention_ranks]
    # of full ranks: the statement is about generic weights, and degenerate ones may have larger fibers
    weights = Weights.random(plain, seed=1, bound=3, attention_matrix_ranks=ranks, value_ranks=[d] * network.depth)
    moved = [layer._replace(query=2 * layer.query, value=layer.value / 2) for layer in weights.layers]
    ring, (x,) = letters_of({"x": (d, t)})
    ours, theirs = (
        forward(x, [Layer(*map(ring.constants, layer)) for layer in layers], Form(skip=True))
        for layers in (weights.layers, moved)
    )
    expect_equal([str(e) for e in theirs.ravel()], [str(e) for e in ours.ravel()], at=f"{network}, rescaled by 2")
    attention, value = weights.layers[0].key.T @ weights.layers[0].query, weights.layers[0].value
    if (rank(attention), rank(value)) != (ranks[0], d):
        raise ProgramError(f"{network}: the witness must have full ranks, A = {spell(attention)}, V = {spell(value)}")
    others = " (with the other layers rescaled too)" if network.depth > 1 else ""
    raise Refutation(
        f"{network}: A = {spell(attention)}, V = {spell(value)} (rk A = {ranks[0]}, rk V = {d}) and "
        f"A = {spell(2 * attention)}, V = {spell(value / 2)} have the same function{others}; "
        f"generic fibers in the (A_i, V_i) have dimension {pairs(network) - found.upper} at least"
    )


def lightning_formula(network: Architecture) -> int:
    return pairs(network) - network.depth


def between_layers(network: Architecture) -> int:
    """Return what would be lost if bases could be changed between layers."""
    return (network.depth - 1) * network.widths[0] ** 2


def one_token(network: Architecture, stated: Formula) -> str:
    expect_less(ProvedBounds.of(certified_dimension(network)), stated(network), at=network)
    return "the hypothesis t >= 2 is needed: for one token and a = d = 2 both formulas are too large"


A1, A2 = rational([[1, 2], [3, 1]]), rational([[0, 1], [1, 1]])
V1, V2 = rational([[1, 1], [0, 2]]), rational([[2, 0], [1, 1]])


def heads_output(*heads: tuple[ObjectArray, ObjectArray], skip: bool = False) -> ObjectArray:
    """Return one layer of heads `(A, V)` on two symbolic tokens."""
    layers = [Layer(*map(BOARD.constants, layer_of(a, v))) for a, v in heads]
    return attention_layer(INPUT, layers, Form(skip=skip))


def walk() -> Iterator[Step]:
    ours, moved = heads_output((A1, V1), skip=True), heads_output((2 * A1, V1 / 2), skip=True)
    must((ours == moved).all(), "the same function")
    must((ours != heads_output((A1, V1))).any(), "the skip changes the function")
    yield Step(
        "A layer that adds its input",
        r"With a skip connection the layer is $X + V X X^\top A X$. Its parts have degrees one and three, so it is not "
        r"homogeneous. Does that fix the weights?",
        (show("A", A1), show("V", V1), show(r"\text{first entry}", ours[0, 0])),
    )
    yield Step(
        "Rescaling inside the layer survives",
        r"Take $2A$ and $V/2$. The product $V X X^\top A X$ is the same, and so is the layer: every entry agrees as a "
        r"polynomial. So the weights $(A, V)$ are never determined, skip or not.",
        (show("2 A", 2 * A1), show("V / 2", V1 / 2), show(r"\text{first entry}", moved[0, 0])),
    )
    plain = Architecture((2, 2, 2), (2, 2), 2)
    without, lightning = (certified_dimension(n).value or 0 for n in (plain, replace(plain, skip=True)))
    softmax = certified_dimension(replace(plain, skip=True, normalization=SOFTMAX)).value or 0
    must((without, lightning, softmax) == (10, 14, 16), "the three counts")
    yield Step(
        "What the skip does remove",
        r"Two layers of width two with full ranks have $16$ numbers in $A_1, V_1, A_2, V_2$. Without skip, bases may "
        r"be "
        r"changed between the layers. With skip they may not: only one rescaling a layer is left. With softmax even "
        r"those are gone. Each number is a rank that meets an upper bound.",
        (number("plain", without), number("skip", lightning), number("skip and softmax", softmax)),
    )


CLAIM = Claim(
    id="section-4-skip",
    source="Section 4, skip connections",
    title=(
        "as the paper expects, with skip connections the parametrization in (A_i, V_i) is generically "
        "one-to-one: false for lightning"
    ),
    statement=(
        r"X \mapsto X + \varphi_{A_i, V_i}(X)\ (1 \le i \le l) \;\Rightarrow\;"
        r"(A_i, V_i)_i \mapsto \phi \text{ is generically one-to-one}"
    ),
    hypotheses=(
        r"Lightning attention, one head, no mask, no embedding: refuted at every size, as $(\lambda A_i, V_i / "
        r"\lambda)$ has the same function. For equal widths and $t \ge 2$ the dimension is at most that of the "
        "$(A_i, V_i)$ less $l$; that it is reached is proved for one layer and certified at the shapes that are "
        "listed, and open for others. For softmax it is that of the $(A_i, V_i)$ at every size "
        "(docs/transformer-fibers.md, Corollary 6)."
    ),
    place=190,
    rests_on=("equation-9",),
    walk=WalkThrough("Skip connections remove some symmetries, and leave one.", walk),
    parts=(
        Part(
            "generically one-to-one in (A_i, V_i)",
            Scope.GENERIC,
            lambda quick: [Architecture((2,) * (depth + 1), (2,) * depth, 2, skip=True) for depth in (1, 2)],
            one_to_one,
            expected=Verdict.REFUTED,
            certifies=itself,
            at=itself_if(hypotheses_hold, {"skip"}, written_out=True),
        ),
        Part(
            "(lambda A_i, V_i / lambda) has the same function, all widths",
            Scope.IDENTITY,
            lambda quick: [1, 2, 3],
            rescaled_words,
            {
                "(lambda A, lambda V)": partial(rescaled_words, power=1),
                "normalized scores too": partial(
                    rescaled_words, pattern=lambda scores: Words.letter(f"pattern({scores})")
                ),
            },
        ),
        Part(
            "lightning: the dimension falls short of the (A_i, V_i) by l, one rescaling a layer",
            Scope.GENERIC,
            instances,
            partial(expect_formula, stated=lightning_formula),
            {
                "one-to-one up to finitely many": partial(expect_formula, stated=pairs),
                "bases change between layers": partial(
                    expect_formula, stated=lambda n: lightning_formula(n) - between_layers(n)
                ),
            },
            certifies=itself,
        ),
        Part(
            "softmax: finitely many (A_i, V_i) to a function",
            Scope.GENERIC,
            partial(instances, normalization=SOFTMAX),
            partial(expect_formula, stated=pairs),
            {
                "rescalings inside layers": partial(expect_formula, stated=lightning_formula),
                "bases change between layers": partial(expect_formula, stated=lambda n: pairs(n) - between_layers(n)),
            },
            certifies=itself,
        ),
        Part(
            "lightning: random shapes up to d = 8",
            Scope.GENERIC,
            random_networks,
            partial(expect_formula, stated=lightning_formula),
            {"one-to-one up to finitely many": partial(expect_formula, stated=pairs)},
            certifies=itself,
        ),
        Part(
            "softmax: random shapes up to d = 8",
            Scope.GENERIC,
            partial(random_networks, normalization=SOFTMAX),
            partial(expect_formula, stated=pairs),
            {"rescalings inside layers": partial(expect_formula, stated=lightning_formula)},
            certifies=itself,
        ),
        Part(
            "one token is outside",
            Scope.GENERIC,
            lambda quick: [
                n
                for normalization in (None, SOFTMAX)
                for n in small_networks(normalization, quick=True)
                if n.tokens == 1 and n.widths[0] == 2 and set(n.attention_ranks) == {2}
            ],
            lambda n: one_token(n, pairs if n.normalization is not None else lightning_formula),
            certifies=itself,
        ),
    ),
)
