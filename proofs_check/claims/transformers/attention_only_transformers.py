r"""Beyond the paper: the dimension of attention-only transformers.

An embedding $E \in \mathbb{R}^{d \times n}$, $l$ layers with skip connections and $h$ heads each (query/key width $a$,
value width $a_v$ with output projections), an unembedding $U \in \mathbb{R}^{n \times d}$; causal or not. With
$n \ge d$, $t \ge 2$, $\alpha = \min(a, d)$ and $b = \min(a_v, d)$: softmax has dimension
$d (2n - d) + l h (\alpha (2d - \alpha) + b (2d - b))$, which is $P - d^2 - l h (a^2 + a_v^2)$ if $a, a_v \le d$: a
theorem at every size, Corollary 6 of docs/transformer-fibers.md, and so is that without embeddings and with full $A$,
$V$ generic fibers in the $(A, V)$ of a causal softmax network are finite, also below $d \ge h l + 1$, which the
machine-checked identifiability theorem (Henry 2026, Lean) asks for. Lightning has $d (2n - d) + l D$, $D$ the dimension
of one layer alone (`section-4-heads`): the function depends on $E$, $U$ and the functions of the layers, and changes of
basis of the stream, which change $E$ and $U$, are not seen; nothing else is (`lightning-layer-sums`).

For $n < d$ and three tokens or more softmax has another formula (`transformer-dimension`), and two tokens can see less.
For two layers without unembedding, full matrices and $(h + 1) n \le d$
the difference is $h$ times $n (n-1) k (k-1) / 2$, $k = h + 1$, and under a mask $h$ times $n (n+1) (k-1) (k-2) / 4$
more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from math import prod

from lightning_sym import SOFTMAX, Architecture, Normalization, certified_dimension
from lightning_sym.network.pieces import SHAPED, pieces
from proofs_check.blackboard.step import Step, must, number, rational, show
from proofs_check.certificates import itself, itself_if, of_network
from proofs_check.claim import (
    Claim,
    Formula,
    Part,
    ProvedBounds,
    Scope,
    WalkThrough,
    expect_dimension,
    expect_equal,
    expect_formula,
    expect_less,
    meeting_bounds,
)
from proofs_check.claims.transformers.section_4_heads import formula as one_lightning_layer
from proofs_check.claims.transformers.words_and_blocks import sizes as sizes_of
from proofs_check.claims.transformers.words_and_blocks import transformer
from proofs_check.samples import Dice, distinct


def formula_letters(network: Architecture) -> tuple[int, int, int, int, int, int]:
    """Return `n, d, l, h, alpha, b` of a network."""
    n, _, (d, *_), (a, *_), (b, *_), h = sizes_of(network)
    return n, d, network.depth, h, min(a, d), min(b, d)


def softmax_formula(network: Architecture) -> int:
    n, d, l, h, alpha, b = formula_letters(network)  # noqa: E741
    return d * (2 * n - d) + l * h * (alpha * (2 * d - alpha) + b * (2 * d - b))


def lightning_formula(network: Architecture) -> int:
    n, d, l, h, alpha, b = formula_letters(network)  # noqa: E741
    return d * (2 * n - d) + l * one_lightning_layer((d, d, alpha, h, b))


def hypotheses_hold(network: Architecture) -> bool:
    n, d, *_ = formula_letters(network)
    return n >= d and network.tokens >= 2


def is_transformer(network: Architecture, normalization: Normalization | None) -> bool:
    """Return whether it is one of these: embeddings of one width, and every layer like the first."""
    n, _, (d, *_), (a, *_), (b, *_), h = sizes_of(network)
    alike = transformer((n, d, network.depth, h, a, b), network.tokens, network.causal, normalization=normalization)
    return network == alike and hypotheses_hold(network)


def transformers(normalization: Normalization | None, *, quick: bool) -> Iterator[Architecture]:
    """Yield all ranks; at the full size also widths up to four in one layer and three layers of small ones."""
    widths, more = (1, 2, 3), (0, 1)
    for causal, d, extra, l, h in product((False, True), widths, more, (1, 2), (1, 2)):  # noqa: E741
        for a, a_v in product(range(1, min(d + 1, 3) + 1), range(1, min(d + 1, 3) + 1)):
            # at the quick size d = 3 takes part with equal ranks only
            if not quick or (d < 3 and l * h < 3 and a <= d and a_v <= d) or (a == a_v and extra and causal and l < 2):
                yield transformer((d + extra, d, l, h, a, a_v), 2, causal, normalization=normalization)
    if not quick:
        for causal, d, a in product((False, True), (1, 2), (1, 2)):
            yield transformer((d + 1, d, 3, 2, a, 1), 3, causal, normalization=normalization)


def random_transformers(normalization: Normalization | None, *, quick: bool) -> Iterator[Architecture]:
    """Return random transformers of widths up to eight, up to three layers, four heads and four tokens.

    They are beyond the small ones, with ranks of all sizes.
    """

    def draw(dice: Dice) -> Architecture | None:
        d = dice.number((3, 8))
        ranges = ((0, 2), (1, 3), (1, 4), (1, d + 1), (1, d + 1))
        more, l, h, a, a_v = map(dice.number, ranges)  # noqa: E741
        causal, tokens = dice.chance(0.5), dice.number((2, 4))
        network = transformer((d + more, d, l, h, a, a_v), tokens, causal, normalization=normalization)
        return network if network.parameter_count <= (150 if quick else 300) else None

    return distinct(draw, 10 if quick else 40, seed=20261121)


def by_parameters(network: Architecture, *, embedding_bases: bool = True) -> None:
    """Check the formula again, and the dimension: `P` minus what basis changes take away.

    Here all other things are equal.
    """
    _, _, (d, *_), (a, *_), (a_v, *_), h = sizes_of(network)
    stated = network.parameter_count - (d * d if embedding_bases else 0) - network.depth * h * (a * a + a_v * a_v)
    expect_equal(softmax_formula(network), stated, at=network)
    expect_dimension(certified_dimension(network), stated)


def formula(network: Architecture) -> int:
    return lightning_formula(network) if network.normalization is None else softmax_formula(network)


def narrow_embedding(network: Architecture, stated: Formula = formula) -> str:
    """Return the finding for n < d: part of every matrix is never seen, and the formula is too large."""
    found = certified_dimension(network)
    expect_less(ProvedBounds.of(found), stated(network), at=network)
    n, d, *_ = formula_letters(network)
    kind = ("causal " if network.causal else "") + ("lightning" if network.normalization is None else "softmax")
    bounds = str(found.value) if found.value is not None else f"between {found.lower} and {found.upper}"
    return f"n >= d is needed: n = {n}, d = {d}, l = {network.depth}, {kind}: {bounds}, formula {stated(network)}"


def two_token_networks(*, quick: bool) -> Iterator[Architecture]:
    for n, d, h in (
        ((1, 2, 1), (2, 4, 1), (1, 3, 2)) if quick else ((1, 2, 1), (2, 4, 1), (1, 3, 2), (3, 6, 1), (2, 6, 2))
    ):
        for causal in (False, True):
            yield Architecture(
                (d,) * 3, (d,) * 2, 2, normalization=SOFTMAX, heads=h, skip=True, causal=causal, embed=n
            )  # fmt: skip


def forms_that_cancel(network: Architecture) -> int:
    n, h = network.input_width, network.heads
    k = h + 1
    masked = n * (n + 1) * (k - 1) * (k - 2) // 4 if network.causal else 0
    return h * (n * (n - 1) * k * (k - 1) // 2 + masked)


def fewer_by_two_tokens(network: Architecture, stated: Formula = forms_that_cancel) -> str | None:
    two, three = certified_dimension(network), certified_dimension(replace(network, tokens=3))
    for found in (two, three):
        meeting_bounds(found.lower, found.upper, found.architecture)
    expect_equal(three.lower - two.lower, stated(network), at=f"{network}: what three tokens see and two do not")
    if three.lower == two.lower:
        return None
    return f"t >= 3 is needed for n < d: {network} has dimension {two.lower}, {three.lower} with three tokens"


def without_embeddings(*, quick: bool) -> Iterator[Architecture]:
    for d, l, h in product((1, 2, 3), (1, 2, 3), (1, 2, 3)):  # noqa: E741
        if 2 * l * h * d * d <= (16 if quick else 48) or (d, l, h) == (2, 2, 2):
            yield Architecture(
                (d,) * (l + 1), (d,) * l, 2, normalization=SOFTMAX, heads=h, skip=True, causal=True
            )  # fmt: skip


def finite_fibers(network: Architecture, lost: Callable[[int], int] = lambda h: 0) -> str | None:
    d, l, h = network.widths[0], network.depth, network.heads  # noqa: E741
    expect_dimension(certified_dimension(network), 2 * l * h * d * d - lost(h))
    if d >= h * l + 1:
        return None
    return f"finite fibers below the threshold d >= h l + 1 = {h * l + 1}: d = {d}, l = {l}, h = {h}"


EXAMPLE = transformer((4, 3, 2, 2, 1, 1), 2, causal=True)


def walk() -> Iterator[Step]:
    network = Architecture(
        (3, 3, 3), (1, 1), 2, normalization=SOFTMAX, heads=2, value_ranks=(1, 1), skip=True, causal=True,
        embed=4, unembed=4,
    )  # fmt: skip
    sizes = rational([[prod(piece.shape)] for piece in pieces(network, heads=1) if piece.name[1:] in ("", "1.1")])
    parameters = network.parameter_count
    must(parameters == 72, "72 parameters")
    yield Step(
        "A small transformer",
        r"Four words are embedded in width three; two causal softmax layers follow, with two heads each, queries, keys "
        r"and "
        r"values of width one, and skip connections; then back to four. Here are the sizes of $E$, of $Q, K, V, O$ in "
        r"one head, and of $U$.",
        (show(r"\text{entries}", sizes), number("parameters", parameters)),
    )
    found = certified_dimension(network)
    must(found.value == parameters - 9 - 4 * 2 == 55, "55")
    yield Step(
        "What no function can see",
        r"The skip connections tie all of the stream to one basis, which may be changed: $9$ numbers. In each of the "
        r"four "
        r"heads queries may be scaled against keys, and values against outputs: $8$ numbers. A rank says that this is "
        r"all.",
        (number("lower", found.lower), number("upper", found.upper)),
    )
    narrow = replace(network, widths=(3, 3), attention_ranks=(1,), value_ranks=(1,), heads=1, embed=2, unembed=2)
    small = certified_dimension(narrow).value or 0
    must(small == 10, "10")
    yield Step(
        "Fewer words than widths",
        r"With two words in width three, one layer and one head, the count would give $13$. But the stream never fills "
        r"three dimensions, and less can be seen.",
        (number("dimension", small),),
    )
    full = (
        certified_dimension(
            Architecture((2, 2, 2), (2, 2), 2, normalization=SOFTMAX, heads=2, skip=True, causal=True)
        ).value
        or 0
    )
    must(full == 2 * 2 * 2 * 4, "32")
    yield Step(
        "No embeddings",
        r"Width two, two layers, two heads, all matrices full: $32$ numbers in $A$ and $V$, and the dimension is $32$. "
        r"So "
        r"only finitely many weights share a function. How many is another question; permuting heads gives some.",
        (number("dimension", full),),
    )


CLAIM = Claim(
    id="attention-only-transformers",
    source="beyond the paper: docs/transformer-fibers.md, Corollary 6",
    title="embedding, residual attention layers with several heads, unembedding: the dimension",
    statement=(
        r"n \ge d,\ t \ge 2 \;\Rightarrow\; \dim \mathcal M_{\text{softmax}} = d (2n - d) + l h (\alpha (2d - \alpha) +"
        r" b (2d - b)),\quad \dim \mathcal M_{\text{lightning}} \le d (2n - d) + l D"
    ),
    hypotheses=(
        r"Skip connections, width $d$, embedded from $n$ rows and read by $n$ rows, without mask or causal; $\alpha "
        r"= \min(a, d)$, $b = \min(a_v, d)$, $D$ the dimension of one lightning layer from $d$ to $d$. For softmax "
        "proved at every size (docs/transformer-fibers.md, Corollary 6). For lightning the bound holds at every "
        "size, and is reached (docs/deep-lightning.md, Theorem 2). $n < d$ is outside: see the claim "
        "transformer-dimension."
    ),
    place=340,
    rests_on=("transformer-dimension",),
    walk=WalkThrough("Count the weights of a small transformer, and what cannot be seen of them.", walk),
    parts=(
        Part(
            "softmax, causal or not",
            Scope.GENERIC,
            lambda quick: filter(hypotheses_hold, transformers(SOFTMAX, quick=quick)),
            partial(expect_formula, stated=softmax_formula),
            {
                "no basis change of the stream": partial(
                    expect_formula, stated=lambda n: softmax_formula(n) + n.widths[0] ** 2
                ),
                "rescalings inside heads": partial(
                    expect_formula, stated=lambda n: softmax_formula(n) - n.depth * n.heads
                ),
            },
            certifies=itself,
            at=itself_if(partial(is_transformer, normalization=SOFTMAX), SHAPED),
        ),
        Part(
            "lightning, causal or not",
            Scope.GENERIC,
            lambda quick: filter(hypotheses_hold, transformers(None, quick=quick)),
            partial(expect_formula, stated=lightning_formula),
            {"heads do not mix": partial(expect_formula, stated=lambda n: softmax_formula(n) - n.depth * n.heads)},
            certifies=itself,
            at=itself_if(partial(is_transformer, normalization=None), SHAPED),
        ),
        Part(
            "softmax: random shapes up to d = 8",
            Scope.GENERIC,
            partial(random_transformers, normalization=SOFTMAX),
            partial(expect_formula, stated=softmax_formula),
            {
                "rescalings inside heads": partial(
                    expect_formula, stated=lambda n: softmax_formula(n) - n.depth * n.heads
                )
            },
            certifies=itself,
        ),
        Part(
            "lightning: random shapes up to d = 8",
            Scope.GENERIC,
            partial(random_transformers, normalization=None),
            partial(expect_formula, stated=lightning_formula),
            {"the heads are independent": partial(expect_formula, stated=softmax_formula)},
            certifies=itself,
        ),
        Part(
            "P - d^2 - l h (a^2 + a_v^2); n = 4, d = 3, l = h = 2, a = a_v = 1: 72 parameters, dimension 55",
            Scope.GENERIC,
            lambda quick: [
                EXAMPLE,
                transformer((3, 2, 1, 2, 2, 1), 2, True),
                transformer((2, 2, 2, 1, 1, 2), 2, False),
            ],
            by_parameters,
            {"the basis of the stream is fixed": partial(by_parameters, embedding_bases=False)},
            certifies=itself,
        ),
        Part(
            "n < d is outside",
            Scope.GENERIC,
            lambda quick: [
                transformer((n, d, layers, 1, 1, 1), 2, causal, normalization=kind)
                for n, d, layers in ((2, 3, 1), (1, 3, 2))
                for kind in (SOFTMAX, None)
                for causal in (False, True)
            ],
            narrow_embedding,
            {"too large by more than six": partial(narrow_embedding, stated=lambda n: formula(n) - 6)},
            certifies=itself,
        ),
        Part(
            "n < d, two layers: two tokens see less than three",
            Scope.GENERIC,
            two_token_networks,
            fewer_by_two_tokens,
            {
                "nothing less": partial(fewer_by_two_tokens, stated=lambda network: 0),
                "a mask hides nothing": partial(
                    fewer_by_two_tokens, stated=lambda network: forms_that_cancel(replace(network, causal=False))
                ),
            },
            certifies=lambda network: [of_network(network), of_network(replace(network, tokens=3))],
        ),
        Part(
            "no embeddings, full A and V, causal softmax: finite fibers",
            Scope.GENERIC,
            without_embeddings,
            finite_fibers,
            {"one rescaling a head": partial(finite_fibers, lost=lambda h: h)},
            certifies=itself,
        ),
    ),
)
