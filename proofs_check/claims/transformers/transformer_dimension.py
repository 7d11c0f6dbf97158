r"""Beyond the paper: the dimension of softmax transformers at every size: docs/transformer-fibers.md.

Embedding of $n$ words, $l$ layers with $h$ heads of query/key width $a_i$ and value width $b_i$, an unembedding to $m$
rows; causal or not. *Corollary 6:* residual layers of width $d$, $n, m \ge d$, $t \ge 2$, with
$\alpha_i = \min(a_i, d)$, $\beta_i = \min(b_i, d)$,

$$\dim \mathcal M = d (n + m - d) + h \sum_i (\alpha_i (2d - \alpha_i) + \beta_i (2d - \beta_i)).$$

*Theorem 12:* for every $n$, $m$, $t \ge 3$, $d \ge 2$ let $f_0 = \min(n, d)$,
$f_i = \min(d, f_{i-1} + h \min(b_i, f_{i-1}))$, $f = f_{l-1}$, $q = \min(m, f_l)$, $\alpha_i = \min(a_i, f_{i-1})$,
$\beta_i = \min(b_i, f_{i-1})$ for $i < l$, $\beta_l = \min(b_l, f, q)$. If
$\min(m, f) + h (2 \alpha_l + \beta_l) \ge f$, then

$$\dim \mathcal M = f (n - f) + q (m - q) + q f + h \sum_{i \le l} \alpha_i (2 f_{i-1} - \alpha_i)
+ h \sum_{i < l} \beta_i (f_{i-1} + f - \beta_i) + h \beta_l (f + q - \beta_l).$$

Without skip connections both have a form of their own, for all widths. They are proved there for every size. Each
shape is asked on three roads: the certified dimension, whose two bounds meet; the rank modulo a prime of the polynomial
map of Theorems 7 and 11; and the formula, which passes through neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from lightning_sym.network.pieces import SHAPED
from proofs_check.blackboard.step import Step, must, number, rational, show
from proofs_check.certificates import itself, itself_if
from proofs_check.claim import (
    Claim,
    Formula,
    Part,
    ProvedBounds,
    Refutation,
    Scope,
    Undecided,
    WalkThrough,
    expect,
    expect_dimension,
    expect_less,
)
from proofs_check.claims.transformers.polynomial_maps import words_and_blocks, words_and_two_token_scores
from proofs_check.claims.transformers.words_and_blocks import sizes, spans, transformer
from proofs_check.samples import Dice, distinct


def layers_show_their_stream(network: Architecture) -> bool:
    """Return the inequalities of Theorem 12."""
    _, m, _, a, b, h = sizes(network)
    *f, last = spans(network)
    q = min(m, last)
    behind = [*f[1:], q]
    if network.skip:
        return min(m, f[-1]) + h * (2 * min(a[-1], f[-1]) + min(b[-1], f[-1], q)) >= f[-1]
    seen = (h * (2 * min(r, g) + min(w, g, after)) for r, w, g, after in zip(a, b, f, behind, strict=True))
    return all(found >= g for found, g in zip(seen, f, strict=True))


def formula(network: Architecture) -> int:
    """Return the count of Theorem 12, with skips (i) and without (ii); for `n, m >= d` it is Corollary 6's."""
    n, m, _, a, b, h = sizes(network)
    *f, last = spans(network)
    q = min(m, last)
    total = h * sum(min(r, g) * (2 * g - min(r, g)) for r, g in zip(a, f, strict=True))
    if network.skip:
        filled, beta = f[-1], min(b[-1], f[-1], q)
        values = [(min(w, g), g + filled) for w, g in zip(b[:-1], f[:-1], strict=True)] + [(beta, filled + q)]
        total += filled * (n - filled) + q * (m - q) + q * filled
    else:
        pairs = zip(b, f, [*f[1:], q], strict=True)
        values = [(min(w, g, after), g + after) for w, g, after in pairs]
        total += f[0] * (n - f[0]) + q * (m - q) - sum(g * g for g in f[1:])
    return total + h * sum(beta * (both - beta) for beta, both in values)


def wide_formula(network: Architecture) -> int:
    """Return the count of Corollary 6."""
    n, m, widths, a, b, h = sizes(network)
    total = 0
    for r, w, before, after in zip(a, b, widths, widths[1:], strict=False):
        alpha, beta = min(r, before), min(w, before, after)
        total += h * (alpha * (2 * before - alpha) + beta * (before + after - beta))
    if not network.skip:
        return total + n * widths[0] + m * widths[-1] - sum(d * d for d in widths)
    if network.embed is None and network.unembed is None:
        return total
    return total + widths[0] * (n + m - widths[0])


def is_softmax_transformer(network: Architecture) -> bool:
    """Return what all of these are about."""
    return network.normalization is SOFTMAX and network.tokens >= 2


def is_wide(network: Architecture) -> bool:
    """Return the hypotheses of Corollary 6."""
    n, m, widths, _, b, h = sizes(network)
    if not is_softmax_transformer(network) or n < widths[0] or m < widths[-1]:
        return False
    if network.skip:
        return True
    inside = zip(b, widths, widths[1:], strict=False)
    filled = all(after <= h * min(w, before) and before <= h * min(w, after) for w, before, after in inside)
    return filled and all(after <= before for before, after in pairwise(widths[:-1]))


def is_narrow(network: Architecture) -> bool:
    """Return those of Theorem 12, where Corollary 6 says nothing."""
    if not is_softmax_transformer(network) or network.tokens < 3 or is_wide(network):
        return False
    if network.skip:
        ends = network.embed is not None or network.unembed is not None
        return ends and network.widths[0] >= 2 and layers_show_their_stream(network)
    seen = network.causal or min(spans(network)[:-1]) >= 2
    return seen and layers_show_their_stream(network)


def random_shapes(*, quick: bool, fits: Callable[[Architecture], bool], seed: int) -> Iterator[Architecture]:
    """Return layers, each with ranks of its own, other numbers of words in and out, or no embedding; skips or none."""

    def draw(dice: Dice) -> Architecture | None:
        depth, skip = dice.number((1, 3)), dice.chance(0.6)
        widths = (dice.number((1, 6)),) * (depth + 1) if skip else dice.numbers((1, 6), depth + 1)
        network = Architecture(
            widths, tuple(dice.number((1, d)) for d in widths[:-1]), dice.number((2, 4)), normalization=SOFTMAX,
            heads=dice.number((1, 3)), skip=skip, causal=dice.chance(0.5),
            value_ranks=dice.numbers((1, 6), depth) if dice.chance(0.8) else None,
            embed=dice.number((1, 8)) if dice.chance(0.8) else None,
            unembed=dice.number((1, 8)) if dice.chance(0.8) else None,
        )  # fmt: skip
        return network if network.parameter_count <= (100 if quick else 220) and fits(network) else None

    return distinct(draw, 30 if quick else 200, seed)


def check(network: Architecture, stated: Formula) -> None:
    """Check three roads to one number; the rank modulo a prime refutes only what is smaller."""
    expect_dimension(certified_dimension(network), stated(network))
    rank = (words_and_two_token_scores if network.tokens == 2 else words_and_blocks)(network)
    if rank > stated(network):
        raise Refutation(f"{network}: stated {stated(network)}, the polynomial map has rank {rank} at least")
    if rank < stated(network):
        raise Undecided(f"{network}: stated {stated(network)}, the polynomial map has rank {rank} modulo a prime")


SHARP = (1, 5, 4, 1, 1, 4)
"""`n = m, d, l, h, a, b`: the last layer does not show its stream; formula 45, dimension 42."""


def too_large(network: Architecture, stated: Formula = formula) -> str:
    """Return the finding that outside of the hypotheses the formula is too large."""
    found = certified_dimension(network)
    expect_less(ProvedBounds.of(found), stated(network), at=network)
    n, _, widths, a, b, h = sizes(network)
    needed = "the inequality" if network.tokens > 2 else "t >= 3"
    mask = "causal" if network.causal else "no mask"
    return (
        f"{needed} is needed for n < d: n, d, l, h, a, b = {n}, {widths[0]}, {network.depth}, {h}, {a[0]}, {b[0]}, "
        f"t = {network.tokens}, {mask}: dimension {found.upper}, formula {stated(network)}"
    )


def outside(*, quick: bool) -> Iterator[Architecture]:
    """Yield networks where the inequality fails, or with two tokens."""
    for causal in (False, True):
        yield transformer(SHARP, 3, causal)
        yield transformer((2, 4, 2, 1, 4, 4), 2, causal)
    if not quick:
        yield transformer((1, 6, 4, 1, 1, 5), 3, True)
        yield transformer((3, 6, 2, 1, 6, 6), 2, False)


def both_formulas(network: Architecture, narrow: Formula = formula) -> None:
    """Check that Corollary 6 is Theorem 12 for wide embeddings."""
    expect(narrow(network) == wide_formula(network), f"{network}: {narrow(network)} and {wide_formula(network)}")


def walk() -> Iterator[Step]:
    wide = transformer((4, 3, 2, 2, 1, 1), 2, True)
    must(certified_dimension(wide).value == formula(wide) == 55, "55")
    yield Step(
        "At least as many words as widths",
        r"Four words, width three, two layers, two heads, $a = b = 1$. The fiber is an orbit for almost all weights, "
        r"so the dimension is the number of parameters, less $9$ for the basis of the stream and less $a^2 + b^2$ for "
        r"each head: $d (2n - d) + l h (\alpha (2d - \alpha) + \beta (2d - \beta))$.",
        (number("parameters", wide.parameter_count), number("dimension", 55)),
    )
    narrow = transformer((1, 4, 3, 1, 2, 2), 3, True)
    every, stated = spans(narrow)[:-1], formula(narrow)
    must(certified_dimension(narrow).value == stated == words_and_blocks(narrow), "three roads to one number")
    must(every == [1, 2, 4], "what the layers meet")
    yield Step(
        "Fewer words than widths",
        r"One word in width four. The first layer meets one direction, and a head adds at most as many as it meets: "
        r"$f_0, f_1, f_2 = 1, 2, 4$. What a layer does elsewhere is not seen. Counting the rest, up to the basis of "
        r"$\mathbb R^{f_2}$, gives the dimension.",
        (show("f", rational([[f] for f in every])), number("dimension", stated)),
    )
    sharp = transformer((1, 5, 4, 1, 1, 4), 3, True)
    must((formula(sharp), certified_dimension(sharp).value) == (45, 42), "45 and 42")
    yield Step(
        "Where the count is too large",
        r"The last layer must show all of its stream: $\min(m, f) + h (2 \alpha_l + \beta_l) \ge f$. Here $1 + 2 + 1 "
        r"< 5$, and the formula is three too large.",
        (number("formula", 45), number("dimension", 42)),
    )


CLAIM = Claim(
    id="transformer-dimension",
    source="beyond the paper: docs/transformer-fibers.md, Corollary 6 and Theorem 12",
    title=(
        "softmax transformers: the dimension, for wide embeddings at every size, for narrow ones where the "
        "last layer shows its stream"
    ),
    statement=(
        r"\text{skip},\ n, m \ge d,\ t \ge 2 \;\Rightarrow\; \dim \mathcal M = d (n + m - d) + h \textstyle\sum_i"
        r" (\alpha_i (2d - \alpha_i) + \beta_i (2d - \beta_i));\quad \text{skip},\ d \ge 2,\ t \ge 3,\ \min(m, f)"
        r" + h (2 \alpha_l + \beta_l) \ge f \;\Rightarrow\; \dim \mathcal M = f (n - f) + q (m - q) + q f"
        r" + h \sum_{i \le l} \alpha_i (2 f_{i-1} - \alpha_i) + h \sum_{i < l} \beta_i (f_{i-1} + f - \beta_i)"
        r" + h \beta_l (f + q - \beta_l)"
    ),
    hypotheses=(
        r"Without mask or causal. Both formulas are for skip connections, the second for $d \ge 2$; $f_0 = \min(n, "
        r"d)$, $f_i = \min(d, f_{i-1} + h \min(b_i, f_{i-1}))$, $f = f_{l-1}$, $q = \min(m, f_l)$, $\alpha_i = "
        r"\min(a_i, f_{i-1})$, $\beta_i = \min(b_i, f_{i-1})$, but $\beta_l = \min(b_l, f, q)$ in the second. "
        "Proved at every size (docs/transformer-fibers.md, Corollary 6 and Theorem 12). Without skip connections "
        "both have a form of their own there. No formula is proved for narrow embeddings at $t = 2$, or where the "
        "inequality fails, or without skip connection and mask where some $f_i = 1$, $i < l$."
    ),
    place=380,
    rests_on=("transformer-fibers",),
    walk=WalkThrough("The dimension of transformers at every size: three counts.", walk),
    parts=(
        Part(
            "n, m >= d, two tokens or more",
            Scope.GENERIC,
            partial(random_shapes, fits=is_wide, seed=20261124),
            partial(check, stated=wide_formula),
            {
                "no basis change of the stream": partial(check, stated=lambda n: wide_formula(n) + n.widths[-1] ** 2),
                "rescalings inside heads": partial(check, stated=lambda n: wide_formula(n) - n.depth * n.heads),
            },
            certifies=itself,
            at=itself_if(is_wide, SHAPED),
        ),
        Part(
            "n < d or m < d, three tokens or more",
            Scope.GENERIC,
            partial(random_shapes, fits=is_narrow, seed=20261125),
            partial(check, stated=formula),
            {
                "as if n, m >= d": partial(check, stated=wide_formula),
                "rescalings inside heads": partial(check, stated=lambda n: formula(n) - n.depth * n.heads),
            },
            certifies=itself,
            at=itself_if(is_narrow, SHAPED),
        ),
        Part(
            "outside of the hypotheses the formula is too large",
            Scope.GENERIC,
            outside,
            too_large,
            {"too large by more than one": partial(too_large, stated=lambda n: formula(n) - 2)},
            certifies=itself,
        ),
        Part(
            "for n, m >= d the two formulas are one",
            Scope.INSTANCES,
            lambda quick: [
                transformer((d + more, d, depth, h, a, b), 3, True)
                for d, more, depth, h in product(range(1, 6), (0, 2), (1, 2, 3), (1, 2))
                for a, b in product(range(1, d + 2), repeat=2)
            ],
            both_formulas,
            {
                "one layer less": partial(
                    both_formulas,
                    narrow=lambda n: formula(
                        replace(
                            n,
                            widths=n.widths[:2],
                            attention_ranks=n.attention_ranks[:1],
                            value_ranks=(n.value_ranks or ())[:1],
                        )
                    ),
                )
            },
        ),
    ),
)
