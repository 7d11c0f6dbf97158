r"""Section 4, several heads: one layer $X \mapsto \sum_h V_h X\, P(X^\top A_h X)$ with $h$ heads.

With $\alpha = \min(a, d)$, $b = \min(a_v, d, d')$ and $t \ge 2$: softmax has dimension
$h (\alpha (2d - \alpha) + b (d + d' - b))$. Lightning sees only sums over heads, so heads mix. For $d, d' \ge 2$ its
dimension is at most, and where it is certified is, the smallest of $h (\alpha (2d - \alpha) + b (d + d' - b) - 1)$, of
$\mu (d^2 + d d' - \mu)$ with $\mu = \min(h, d^2, d d')$, of $c (d' - c) + c\, d\, d (d+1)/2$ with $c = \min(d', h b)$,
and of $\rho (d d' + d(d+1)/2 - \rho)$ with $\rho = \min(d d', d(d+1)/2, h \alpha b)$. For $d = 1$ it is $d'$. For
$d' = 1$ it is the smaller one of $k (d - k) + d (k d - k (k-1)/2)$ with $k = \min(h, d)$, and of the largest
$k (\alpha (2d - \alpha) + d - 1) - \binom{k}{2} \max(0, 2\alpha - d)$ over $k \le h$. That the dimension is never
larger is proved in `docs/transformers.md`, and for $d' = 1$ the formula itself, if $h < d$ and $h \le d - \alpha + 1$
(for $h = d - \alpha + 1$ if also $2\alpha \ge d$), or $\alpha = d > h$; so for two heads and $d \ge 3$. That it is
reached for other numbers of heads, and for $d' \ge 2$, is what was certified wherever it was tried, and not claimed of
other shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations, product

from lightning_sym import SOFTMAX, Architecture, Layer, Normalization, certified_dimension
from lightning_sym.network.attention import LIGHTNING, Form, attention_layer
from lightning_sym.rings.matrix_words import Words
from proofs_check.certificates import itself, of_network
from proofs_check.claim import (
    Claim,
    Part,
    ProvedBounds,
    Scope,
    Undecided,
    WalkThrough,
    expect,
    expect_dimension,
    expect_more,
)
from proofs_check.claims.transformers.section_4_heads.walk import walk
from proofs_check.samples import Dice, Range, distinct

Shape = tuple[int, int, int, int, int]  # d, d', alpha, h, b
Formula = Callable[[Shape], int]


def network_of(shape: Shape, normalization: Normalization | None = None, tokens: int = 2) -> Architecture:
    d, d_out, a, h, b = shape
    return Architecture((d, d_out), (a,), tokens, normalization=normalization, heads=h, value_ranks=(b,))


def all_heads_free(shape: Shape) -> int:
    d, d_out, a, h, b = shape
    return h * (a * (2 * d - a) + b * (d + d_out - b))


def by_rows(shape: Shape) -> int:
    """Return all of the quadratic forms: `d` to each of the `c` output rows that the heads can fill."""
    d, d_out, _, h, b = shape
    c = min(d_out, h * b)
    return c * (d_out - c) + c * d * d * (d + 1) // 2


def by_rank(shape: Shape) -> int:
    """Return forms as a matrix of `d d'` by `d (d+1) / 2`, of rank at most `h alpha b`."""
    d, d_out, a, h, b = shape
    rows, columns = d * d_out, d * (d + 1) // 2
    rank = min(rows, columns, h * a * b)
    return rank * (rows + columns - rank)


def by_products(shape: Shape) -> int:
    """Return the sum of all `A (x) V` as a matrix of `d^2` by `d d'`, of rank at most `h`: heads that mix."""
    d, d_out, _, h, _ = shape
    rank = min(h, d * d, d * d_out)
    return rank * (d * d + d * d_out - rank)


def rescaled_heads(shape: Shape) -> int:
    return all_heads_free(shape) - shape[3]


def count_of(shape: Shape) -> int:
    """Return the count without either of the two bounds by forms."""
    return min(rescaled_heads(shape), by_products(shape))


def formula(shape: Shape, *, mixing: bool = True, low_rank: bool = True) -> int:
    if shape[0] == 1:
        return shape[1]
    bounds = [rescaled_heads(shape), by_rows(shape)]
    return min(bounds + [by_products(shape)] * mixing + [by_rank(shape)] * low_rank)


def one_output(shape: Shape, *, syzygies: bool = True, pairs: bool = True) -> int:
    """Return the count for `d' = 1`: `d` forms in the ideal of `h` linear ones, or fewer if ranks allow fewer."""
    d, _, a, h, _ = shape
    k = min(h, d)
    ideal = k * (d - k) + d * (k * d - k * (k - 1) // 2 if syzygies else k * d)
    common = max(0, 2 * a - d) if pairs else 0  # of the row spaces of two heads
    return min(max(all_heads_free((d, 1, a, k, 1)) - k - k * (k - 1) // 2 * common for k in range(1, h + 1)), ideal)


def shapes(d: int, d_out: int, most_heads: int) -> Iterator[Shape]:
    for a, h, b in product(range(1, d + 1), range(1, most_heads + 1), range(1, min(d, d_out) + 1)):
        yield d, d_out, a, h, b


def hypotheses_hold(network: Architecture) -> bool:
    return network.depth == 1 and network.tokens >= 2


def softmax_networks(*, quick: bool) -> Iterator[Architecture]:
    for d, d_out, t in product((1, 2, 3), (1, 2, 3), (2,) if quick else (2, 3)):
        for shape in shapes(d, d_out, 2 if quick else 3):
            yield network_of(shape, SOFTMAX, t)


def blocks(*, quick: bool, outputs: tuple[int, ...] = (2, 3)) -> list[tuple[int, int, int]]:
    """Return `d, d'` and the largest number of heads: one piece of the map each."""
    widths = (1, 2, 3) if quick else (1, 2, 3, 4)
    return [
        (d, d_out, (2 if d > 2 else 4) if quick else {3: 5, 4: 2}.get(d, 7))
        for d, d_out in product(widths, outputs if quick or outputs == (1,) else (*outputs, 4))
    ]


def territory(block: tuple[int, int, int], stated: Formula = formula) -> str:
    """Check all ranks and numbers of heads: each shape must be certified, and as stated; others are listed."""
    d, d_out, most = block
    every, undecided = list(shapes(*block)), []
    for shape in every:
        found, said = certified_dimension(network_of(shape)), stated(shape)
        expect(found.lower <= said <= found.upper, f"{network_of(shape)}: {ProvedBounds.of(found)}, stated {said}")
        if found.value is None:
            undecided.append(f"a, h, b = {shape[2:]}: {found.lower} to {found.upper}, formula {said}")
    at = f"d = {d}, d' = {d_out}, h <= {most}"
    expect(not undecided, f"{at}: {len(undecided)} undecided ({'; '.join(undecided)})", Undecided)
    return f"{at}: {len(every)} shapes certified, all as stated; none undecided"


def random_layers(
    *, quick: bool, outputs: Range = (2, 8), normalization: Normalization | None = None
) -> Iterator[Architecture]:
    """Return random layers beyond the blocks: widths up to eight, all ranks, up to six heads and four tokens."""

    def draw(dice: Dice) -> Architecture | None:
        d, d_out = dice.number((2, 8)), dice.number(outputs)
        shape = (d, d_out, dice.number((1, d)), dice.number((2, 6)), dice.number((1, min(d, d_out))))
        network = network_of(shape, normalization, dice.number((2, 4)))
        return network if network.parameter_count <= (120 if quick else 400) else None

    return distinct(draw, 12 if quick else 60, seed=20261121)


# one output row, row spaces of heads that meet, and forms that do not fill the ideal: the first such shapes
NARROW_ROWS = [(5, 1, 3, 2, 1), (6, 1, 4, 2, 1), (7, 1, 4, 3, 1), (8, 1, 5, 3, 1)]


def shape_of(network: Architecture) -> Shape:
    (d, d_out), (a,), (b,) = network.widths, network.attention_ranks, network.value_ranks or ()
    return d, d_out, a, network.heads, b


def certified(network: Architecture, stated: Formula = formula) -> None:
    expect_dimension(certified_dimension(network), stated(shape_of(network)))


def count_at_h(shape: Shape) -> int:
    """Return the count as if there were no dependent heads."""
    d, d_out, _, h, _ = shape
    return min(formula(shape), h * (d * d + d * d_out - h))


def past_the_top(shape: Shape, stated: Formula = count_at_h) -> str:
    """Check that the count of matrices of rank `h` falls again once `h` is more than a rank can be."""
    found = certified_dimension(network_of(shape))
    expect_more(ProvedBounds.of(found), stated(shape), at=network_of(shape))
    return (
        f"more heads never lower the dimension, but h (d^2 + d d' - h) falls: d, d', a, h, b = {shape} has "
        f"dimension {found.value}, the count gives {stated(shape)}"
    )


def exception(shape: Shape, stated: Formula = formula) -> str:
    """Return the finding where the first formula that comes to mind, capped by rows alone, is one too large."""
    certified(network_of(shape), stated)
    return (
        f"d, d', a, h, b = {shape}: {stated(shape)}, one less than the span of the rows, {by_rows(shape)}: "
        f"five heads give a 6 x 6 matrix of forms of rank five"
    )


def permuted(heads: int, parts: str = "QKV") -> None:
    """Check any permutation of whole heads, over formal words, for any pattern of the scores."""
    for form in (LIGHTNING, Form(lambda s: Words.letter(f"pattern({s})"), skip=True)):
        layer = [Layer(*(Words.letter(f"{letter}{h}") for letter in "QKV")) for h in range(heads)]
        x = Words.letter("X")
        for order in permutations(range(heads)):
            new = [
                Layer(*(getattr(layer[k if n[0].upper() in parts else h], n) for n in ("query", "key", "value")))
                for h, k in enumerate(order)
            ]
            expect(
                attention_layer(x, new, form) == attention_layer(x, layer, form),
                f"{heads} heads in the order {order}: the function is another one",
            )


def mixed(heads: int, back: int = -1) -> str:
    """Return the finding that A_1 + c A_2 with V_2 - c V_1 is the same sum, for lightning scores."""
    one, c, x = Words.identity(), Words.scalar("c"), Words.letter("X")
    minus_c = Words(frozenset((key, back * n) for key, n in c.terms))
    a, v = ([Words.letter(f"{letter}{h}") for h in range(heads)] for letter in "AV")
    old = [Layer(a[h], one, v[h]) for h in range(heads)]
    new = [Layer(a[0] + c @ a[1], one, v[0]), Layer(a[1], one, v[1] + minus_c @ v[0]), *old[2:]]
    expect(
        attention_layer(x, new) == attention_layer(x, old),
        f"{heads} heads: A_1 + c A_2 with V_2 + ({back}) c V_1 is another function",
    )
    return "permutations and rescalings of heads are not all: A_1 + c A_2, V_2 - c V_1 is the same lightning function"


CLAIM = Claim(
    id="section-4-heads",
    source="Section 4, multiple heads; beyond the paper",
    title="one layer with several heads: softmax keeps them apart, lightning mixes them",
    statement=(
        r"t \ge 2,\ h \text{ heads} \;\Rightarrow\; \dim \mathcal M_{\text{softmax}} = h (\alpha (2d - \alpha) + b (d +"
        r" d' - b)),\quad \dim \mathcal M_{\text{lightning}} \le \min(h (\alpha (2d - \alpha) + b (d + d' - b) - 1),"
        r"\ \mu (d^2 + d d' - \mu),\ c (d' - c) + c\, d\, d (d+1)/2,\ \rho (d d' +"
        r" d (d+1)/2 - \rho))\ (d, d' \ge 2),\quad \le \min(\max_{k \le h} k (\alpha (2d - \alpha) + d - 1)"
        r" - \tbinom{k}{2} \max(0, 2\alpha - d),\ \kappa (d - \kappa) + d (\kappa d - \tbinom{\kappa}{2}))\ (d' = 1),"
        r"\ \mu = \min(h, d^2, d d'),\ \kappa = \min(h, d),\quad \text{equal for } h = 1 \text{ and for } h = 2,"
        r"\ d' = 1,\ d \ge 3"
    ),
    hypotheses=(
        r"No mask; $\alpha = \min(a, d)$, $b = \min(a_v, d, d')$, $c = \min(d', h b)$, $\rho = \min(d d', d "
        r"(d+1)/2, h \alpha b)$. For softmax proved for every $h$ and all sizes (docs/transformer-fibers.md, "
        "Theorem 8). For lightning the bound is proved for every $h$ and all sizes (docs/transformers.md, section "
        r"5). That it is reached is proved for $h = 1$ (Theorem 3.2), and at $d' = 1$ for $h = 2$, $d \ge 3$ and "
        "for the other cases of Proposition 15 there; elsewhere it is certified at every shape that was tried, and "
        "open for others. For $d = 1$ the dimension is $d'$."
    ),
    place=200,
    rests_on=("definition-1",),
    walk=WalkThrough("Heads can be exchanged, and lightning heads can be mixed.", walk),
    parts=(
        Part(
            "softmax: the heads are independent",
            Scope.GENERIC,
            lambda quick: filter(hypotheses_hold, softmax_networks(quick=quick)),
            partial(certified, stated=all_heads_free),
            {"a rescaling in every head": partial(certified, stated=rescaled_heads)},
            certifies=itself,
        ),
        Part(
            "softmax: random shapes up to d = 8",
            Scope.GENERIC,
            partial(random_layers, outputs=(1, 8), normalization=SOFTMAX),
            partial(certified, stated=all_heads_free),
            {"a rescaling in every head": partial(certified, stated=rescaled_heads)},
            certifies=itself,
        ),
        Part(
            "lightning, d' >= 2: the formula at every shape of some blocks",
            Scope.GENERIC,
            blocks,
            territory,
            {
                "no mixing of heads": partial(territory, stated=partial(formula, mixing=False)),
                "no cap": partial(territory, stated=count_of),
            },
            instance="d, d' and the largest number of heads",
            certifies=lambda block: map(of_network, map(network_of, shapes(*block))),
        ),
        Part(
            "lightning, d' = 1: forms in an ideal, at every shape of some blocks",
            Scope.GENERIC,
            partial(blocks, outputs=(1,)),
            partial(territory, stated=one_output),
            {"no syzygies": partial(territory, stated=partial(one_output, syzygies=False))},
            instance="d, d' and the largest number of heads",
            certifies=lambda block: map(of_network, map(network_of, shapes(*block))),
        ),
        Part(
            "lightning, d' = 1: 49 and 72, where vectors in two row spaces are syzygies; 3 heads",
            Scope.GENERIC,
            lambda quick: map(network_of, NARROW_ROWS[:2] if quick else NARROW_ROWS),
            partial(certified, stated=one_output),
            {"50 and 74, nothing in two row spaces": partial(certified, stated=partial(one_output, pairs=False))},
            certifies=itself,
        ),
        Part(
            "lightning, d' = 1: random shapes up to d = 8",
            Scope.GENERIC,
            partial(random_layers, outputs=(1, 1)),
            partial(certified, stated=one_output),
            {
                "no syzygies": partial(certified, stated=partial(one_output, syzygies=False)),
                "nothing in two row spaces": partial(certified, stated=partial(one_output, pairs=False)),
            },
            certifies=itself,
        ),
        Part(
            "lightning, d' >= 2: random shapes up to d = 8",
            Scope.GENERIC,
            random_layers,
            certified,
            {
                "no cap": partial(certified, stated=count_of),
                "no mixing of heads": partial(certified, stated=partial(formula, mixing=False)),
            },
            certifies=itself,
        ),
        Part(
            "h (d^2 + d d' - h) falls when the heads fill all forms",
            Scope.GENERIC,
            lambda quick: [(2, 2, 1, 7, 1), (2, 3, 1, 8, 1)],
            past_the_top,
            {"with the largest rank that there is": partial(past_the_top, stated=formula)},
            instance="d, d', alpha, h, b",
            certifies=lambda shape: itself(network_of(shape)),
        ),
        Part(
            "d = 3, d' = 2, a = 1, h = 5, b = 1: 35",
            Scope.GENERIC,
            lambda quick: [(3, 2, 1, 5, 1)],
            exception,
            {"capped by rows alone": partial(exception, stated=partial(formula, low_rank=False))},
            instance="d, d', alpha, h, b",
            certifies=lambda shape: itself(network_of(shape)),
        ),
        Part(
            "heads may be permuted",
            Scope.IDENTITY,
            lambda quick: [2, 3, 4],
            permuted,
            {"queries alone": partial(permuted, parts="Q"), "values alone": partial(permuted, parts="V")},
            instance="number of heads",
        ),
        Part(
            "heads of lightning layers mix",
            Scope.IDENTITY,
            lambda quick: [2, 3, 4],
            mixed,
            {"with the other sign": partial(mixed, back=1)},
            instance="number of heads",
        ),
    ),
)
