r"""Beyond the paper: the dimension of softmax transformers at every size: docs/transformer-fibers.md.

Embedding $E$ of $n$ words in width $d$, $l$ residual layers with $h$ heads of query/key width $a$ and value width $b$,
unembedding $U$; causal or not. *Corollary 6:* for $n \ge d$, $t \ge 2$, with $\alpha = \min(a, d)$,
$\beta = \min(b, d)$,

$$\dim \mathcal M = d (2n - d) + l h (\alpha (2d - \alpha) + \beta (2d - \beta)).$$

*Theorem 12:* for every $n$, $t \ge 3$, let $n_1 = \min(n, d)$, $f_0 = n_1$,
$f_i = \min(d, f_{i-1} + h \min(b, f_{i-1}))$, $f = f_{l-1}$, $\alpha_i = \min(a, f_{i-1})$,
$\beta_i = \min(b, f_{i-1})$, $\beta = \min(b, n_1)$. If $n_1 + h (2 \min(a, f) + \beta) \ge f$, then

$$\dim \mathcal M = f (2n - f) + h \sum_{i \le l} \alpha_i (2 f_{i-1} - \alpha_i)
+ h \sum_{i < l} \beta_i (f_{i-1} + f - \beta_i) + h \beta (f + n_1 - \beta).$$

Both are proved there for every size. Each shape is asked on three roads: the certified dimension, whose two bounds
meet; the rank modulo a prime of the polynomial map of Theorems 7 and 11; and the formula, which passes through neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate, product

from lightning_sym import SOFTMAX, Architecture, certified_dimension
from proofs_check.certificates import itself
from proofs_check.claim import Claim, Part, Refutation, Scope, Undecided
from proofs_check.claims.transformers.polynomial_maps import words_and_blocks, words_and_two_token_scores
from proofs_check.claims.transformers.words_and_blocks import shapes, transformer
from proofs_check.expect import Bounds, expect_dimension, expect_less
from proofs_check.one_network import itself_if

Formula = Callable[[Architecture], int]

OPTIONS = frozenset({"normalization", "heads", "value_ranks", "skip", "causal", "embed", "unembed"})


def sizes(network: Architecture) -> tuple[int, int, int, int, int, int]:
    """`n, d, l, h, a, b`."""
    assert network.embed is not None  # noqa: S101 - for the type checker
    assert network.value_ranks is not None  # noqa: S101
    return (
        network.embed, network.widths[0], network.depth, network.heads, network.attention_ranks[0],
        network.value_ranks[0],
    )  # fmt: skip


def spans(network: Architecture) -> list[int]:
    """`f_0, ..., f_{l-1}`: how much of the stream a layer can meet."""
    n, d, depth, h, _, b = sizes(network)
    return list(accumulate(range(1, depth), lambda f, _: min(d, f + h * min(b, f)), initial=min(n, d)))


def last_layer_shows_its_stream(network: Architecture) -> bool:
    """`n_1 + h (2 min(a, f) + beta) >= f`."""
    n, d, _, h, a, b = sizes(network)
    n_1, f = min(n, d), spans(network)[-1]
    return n_1 + h * (2 * min(a, f) + min(b, n_1)) >= f


def formula(network: Architecture) -> int:
    """Of Theorem 12; for `n >= d` all `f_i` are `d`, and it is Corollary 6."""
    n, d, _, h, a, b = sizes(network)
    every = spans(network)
    f, n_1, last = every[-1], min(n, d), min(b, n, d)
    attention = sum(min(a, g) * (2 * g - min(a, g)) for g in every)
    values = sum(min(b, g) * (g + f - min(b, g)) for g in every[:-1])
    return f * (2 * n - f) + h * (attention + values + last * (f + n_1 - last))


def wide_formula(network: Architecture) -> int:
    """Of Corollary 6."""
    n, d, depth, h, a, b = sizes(network)
    alpha, beta = min(a, d), min(b, d)
    return d * (2 * n - d) + depth * h * (alpha * (2 * d - alpha) + beta * (2 * d - beta))


def is_transformer(network: Architecture) -> bool:
    """Every layer like the first, and one width of words."""
    if network.embed is None or network.value_ranks is None or network.normalization is not SOFTMAX:
        return False
    return network == transformer(sizes(network), network.tokens, network.causal)


def is_wide(network: Architecture) -> bool:
    """The hypotheses of Corollary 6."""
    return is_transformer(network) and network.tokens >= 2 and sizes(network)[0] >= sizes(network)[1]


def is_narrow(network: Architecture) -> bool:
    """Those of Theorem 12, where Corollary 6 says nothing."""
    if not is_transformer(network) or network.tokens < 3 or sizes(network)[0] >= sizes(network)[1]:
        return False
    return last_layer_shows_its_stream(network)


def random_shapes(quick: bool, fits: Callable[[Architecture], bool], seed: int) -> Iterator[Architecture]:
    """A part of the many."""
    return filter(fits, shapes(quick, (2, 4), seed, (240, 1600)))


def check(network: Architecture, stated: Formula) -> None:
    """Three roads to one number; the rank modulo a prime refutes only what is smaller."""
    expect_dimension(certified_dimension(network), stated(network))
    rank = (words_and_two_token_scores if network.tokens == 2 else words_and_blocks)(network)
    if rank > stated(network):
        raise Refutation(f"{network}: stated {stated(network)}, the polynomial map has rank {rank} at least")
    if rank < stated(network):
        raise Undecided(f"{network}: stated {stated(network)}, the polynomial map has rank {rank} modulo a prime")


SHARP = (1, 5, 4, 1, 1, 4)
"""`n, d, l, h, a, b`: the last layer does not show its stream; formula 45, dimension 42."""


def too_large(network: Architecture, stated: Formula = formula) -> str:
    """Outside of the hypotheses the formula is too large."""
    found = certified_dimension(network)
    expect_less(Bounds.of(found), stated(network), at=network)
    n, d, depth, h, a, b = sizes(network)
    needed = "the inequality" if network.tokens > 2 else "t >= 3"
    mask = "causal" if network.causal else "no mask"
    return (
        f"{needed} is needed for n < d: n, d, l, h, a, b = {n}, {d}, {depth}, {h}, {a}, {b}, t = {network.tokens}, "
        f"{mask}: dimension {found.upper}, formula {stated(network)}"
    )


def outside(quick: bool) -> Iterator[Architecture]:
    """The inequality fails; two tokens."""
    for causal in (False, True):
        yield transformer(SHARP, 3, causal)
        yield transformer((2, 4, 2, 1, 4, 4), 2, causal)
    if not quick:
        yield transformer((1, 6, 4, 1, 1, 5), 3, True)
        yield transformer((3, 6, 2, 1, 6, 6), 2, False)


def both_formulas(network: Architecture, narrow: Formula = formula) -> None:
    """Corollary 6 is Theorem 12 for wide embeddings."""
    if narrow(network) != wide_formula(network):
        raise Refutation(f"{network}: {narrow(network)} and {wide_formula(network)}")


CLAIM = Claim(
    id="transformer-dimension",
    source="beyond the paper: docs/transformer-fibers.md, Corollary 6 and Theorem 12",
    title="softmax transformers: the dimension at every size, for wide and for narrow embeddings",
    statement=(
        r"n \ge d,\ t \ge 2 \;\Rightarrow\; \dim \mathcal M = d (2n - d) + l h (\alpha (2d - \alpha) + \beta (2d -"
        r" \beta));\quad t \ge 3,\ n_1 + h (2 \min(a, f) + \beta) \ge f \;\Rightarrow\; \dim \mathcal M = f (2n - f) +"
        r" h \sum_{i \le l} \alpha_i (2 f_{i-1} - \alpha_i) + h \sum_{i < l} \beta_i (f_{i-1} + f - \beta_i) + h \beta"
        r" (f + n_1 - \beta)"
    ),
    parts=(
        Part(
            "n >= d, two tokens or more",
            Scope.GENERIC,
            partial(random_shapes, fits=is_wide, seed=20261124),
            partial(check, stated=wide_formula),
            {
                "no basis change of the stream": partial(check, stated=lambda n: wide_formula(n) + n.widths[0] ** 2),
                "rescalings inside heads": partial(check, stated=lambda n: wide_formula(n) - n.depth * n.heads),
            },
            certifies=itself,
            at=itself_if(is_wide, OPTIONS),
        ),
        Part(
            "n < d, three tokens or more",
            Scope.GENERIC,
            partial(random_shapes, fits=is_narrow, seed=20261125),
            partial(check, stated=formula),
            {
                "as if n >= d": partial(check, stated=wide_formula),
                "rescalings inside heads": partial(check, stated=lambda n: formula(n) - n.depth * n.heads),
            },
            certifies=itself,
            at=itself_if(is_narrow, OPTIONS),
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
            "for n >= d the two formulas are one",
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
