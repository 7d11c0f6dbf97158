r"""Hypotheses of docs/deep-lightning.md on given weights of a lightning network at every depth, modulo a prime.

With $s$ *background tokens* $X$, fewer than there are tokens, layer $i$ acts on what one more token adds by $1 + B_i$,
$B_i(X) = \sum_h V_{ih} X X^\top A_{ih}$; its rank is at most $\rho_i = \min(d, \sum_h \min(a_{ih}, b_{ih}, s))$. $F_i$
is layer $i$ on the background, $c_{ij}$ the parts of largest degree of what layers $i, \dots, j$ make of it.

- (D) $B_j(c_{1,j-1})^2$ has rank $\rho_j$ at some background, so that $\det(1 + B_j)$ has the largest degree possible.
- (K) $B_l(c_{i,l-1}) \cdots B_{i+1}(c_{ii}) B_i$ has rank $\rho_i$ at some background, where $\rho_i < d$ and $i < l$.
- (G) $P_{ii}$ and $P_{ij}$, $i < j$, have no common factor, which is weaker than
- (F) no $P_{ij} = \det(1 + B_j) \circ F_{j-1} \circ \dots \circ F_i$, $i < j$, has a factor of a
  degree $1, \dots, 2 \rho_i$.

Each is shown by ranks, or by degrees of factors on lines (`exact.line_factors`), modulo a prime, or it is not known.

Without skip connections a layer acts by $B_i$, ends are parts of the first and the last layer, streams between layers
have one width $d$, and $P_{ij}$ is $\det(R B_j S) \circ L_{j-1} \circ \dots \circ L_i$, with matrices $R$, $S$ of
powers where $B_j$ is not square. Then (F') and (G') are (F) and (G) for $\rho_i = d$, and

- (D') $B_l \cdots B_1$ has rank $d$ at some background;
- (S) the differential of layer $i < l$, a map of background tokens, is onto at some background.

With one token a layer is the cubic form $C_i(y) = B_i(y) y$, its derivative $J_i$ stands for $B_i$ in all of this, and
$\rho_i = \min(d, \sum_h b_{ih})$, as the image of $J_i$ is in that of all $V_{ih}$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from lightning_sym.exact.line_factors import (
    degrees_on_line,
    determinants_mod_p,
    has_no_small_factor,
    polynomial_through,
)
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.fibers.conditions import Condition
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import PRIMES, PrimeFieldMatrix, Residues
from lightning_sym.system.circuits import NetworkOver, residue_network

TRIES = 4
"""Backgrounds at which ranks are taken."""

MOST_LINES = 40
"""Lines for one polynomial: a handful shows what can be shown, nearly always."""

PRODUCT, FACTORED = 2e-9, 6e-7
"""Seconds for a product of residues in a matrix, and for factors of a polynomial by the square of its degree."""


def ranks_bounding(shape: Architecture, background: int) -> tuple[int, ...]:
    r"""Return the numbers $\rho_i$ of a shape.

    Example:
        >>> ranks_bounding(Architecture((4, 4, 4), (1, 2), 3, heads=2, skip=True), 2)
        (2, 4)
    """
    shape.require("ranks of layer tensors", LIGHTNING)
    values = shape.value_ranks or shape.widths[1:]
    if shape.tokens == 1:
        return tuple(min(d, shape.heads * b) for b, d in zip(values, shape.widths, strict=False))
    pairs = zip(shape.attention_ranks, values, shape.widths, strict=False)
    return tuple(min(d, shape.heads * min(a, b, background)) for a, b, d in pairs)


def ranks_asked(shape: Architecture, background: int) -> tuple[int, ...]:
    """Return the ranks that layers must have: what they can have, or without skips the width between layers."""
    shape.require("the ranks that layer tensors must have", LIGHTNING)
    return ranks_bounding(shape, background) if shape.skip else shape.widths[1:2] * shape.depth


def backgrounds(shape: Architecture) -> range:
    """Return numbers of background tokens that are tried: two, from the first with which layers can have the ranks."""
    shape.require("background tokens", LIGHTNING)

    def is_enough(s: int) -> bool:
        values = shape.value_ranks or shape.widths[1:]
        most = (shape.heads * min(a, b, s) for a, b in zip(shape.attention_ranks, values, strict=True))
        return shape.skip or all(map(int.__le__, ranks_asked(shape, s), most))

    largest = max(1, shape.tokens - 1)
    least = next(filter(is_enough, range(1, largest)), largest)
    return range(least, min(least + 1, largest) + 1)


def lines_price(shape: Architecture) -> float:
    """Return seconds for the hypotheses, about, by the degrees of the polynomials that are looked at."""
    shape.require("the price of layer tensors", LIGHTNING)
    width, depth = max(shape.widths), shape.depth
    total = 0.0
    for background in backgrounds(shape):
        ranks = ranks_asked(shape, background)
        for i in range(depth):
            for j in range(i + 1, depth):
                degree = 2.0 * ranks[j] * 3.0 ** (j - i)
                if degree > LARGEST_DEGREE:
                    continue
                layers = (j - i + 1) * shape.heads * 2 * width**2 * (width + background) + width**3
                total += MOST_LINES / 4 * (degree * layers * PRODUCT + degree**2 * FACTORED)
        if not shape.skip:
            total += depth * (max(width, shape.input_width) * background) ** 3 * PRODUCT * shape.heads
    return total


LARGEST_DEGREE = 1000
"""Of polynomials whose factors are looked for."""


@dataclass(frozen=True, eq=False)
class _TensorLayer:
    """All `A` and all `V` of a layer, one head after the other, modulo `p`."""

    attention: Residues
    value: Residues
    p: int
    causal: bool
    alone: bool

    def forms(self, x: Residues) -> Residues:
        """Return `B(X)` for a stack of backgrounds, or for one token the derivative `J(x)`."""
        p = self.p
        gram = (x @ x.mT % p)[:, None]
        parts = self.value @ gram % p @ self.attention % p
        if self.alone:
            at = x[:, None]
            scores = at.mT @ (self.attention @ at % p) % p
            parts = parts + self.value @ gram % p @ self.attention.mT % p + self.value * scores % p
        forms: Residues = parts.sum(axis=1) % p
        return forms

    def written(self, x: Residues) -> Residues:
        """Return what the layer writes to a stack of backgrounds."""
        p, at = self.p, x[:, None]
        scores = at.mT @ (self.attention @ at % p) % p
        if self.causal:
            scores = np.triu(scores)
        written: Residues = (self.value @ at % p @ scores % p).sum(axis=1) % p
        return written


def powers(rows: int, columns: int, p: int) -> Residues:
    """Return the unit matrix, or where it is not square one whose minors are general: columns are powers.

    Example:
        >>> powers(2, 3, 101).tolist()
        [[1, 1, 1], [1, 2, 3]]
    """
    if rows == columns:
        return np.eye(rows, dtype=np.int64)
    return np.array([[pow(k + 1, i, p) for k in range(columns)] for i in range(rows)], dtype=np.int64)


class LayerTensors:
    """A lightning network modulo a prime, and how many background tokens there are.

    Args:
        net: its circuits.
        prime: the modulus.
        shape: the network without its weights.
        background: at least one token, fewer than the network has.
        seed: picks backgrounds.
    """

    def __init__(
        self, net: NetworkOver[PrimeFieldMatrix], prime: int, shape: Architecture, background: int, seed: int = 0
    ) -> None:
        self.net, self.prime, self.shape, self.background = net, prime, shape, background
        self.ranks = ranks_asked(shape, background)
        self._generator = np.random.default_rng([seed, background])

    @classmethod
    def of(cls, weights: Weights, tokens: int, background: int = 1, seed: int = 0, prime: int = 0) -> LayerTensors:
        """Return the network modulo the first prime that divides no denominator.

        Raises:
            BadInput: there is none, or there are letters.
        """
        shape = weights.architecture(tokens)
        net, p = residue_network(weights, primes=(prime,) if prime else PRIMES)
        return cls(net, p, shape, background, seed)

    @cached_property
    def heads(self) -> list[tuple[Residues, Residues]]:
        """All `A` and all `V` of each layer."""
        names = "attention", "value"
        return [
            tuple(np.array([getattr(head, name).residues() for head in layer]) for name in names)  # type: ignore[misc]
            for layer in self.net.layers
        ]

    @cached_property
    def layers(self) -> list[_TensorLayer]:
        """The layers; without skip connections the first reads what `E` reads, the last writes what `U` writes."""
        p, causal, alone = self.prime, self.shape.causal, self.shape.tokens == 1
        made = [_TensorLayer(a, v, p, causal, alone) for a, v in self.heads]
        if not self.shape.skip:
            e, u = self.net.embed.residues(), self.net.unembed.residues()
            made[0] = replace(made[0], attention=e.T @ (made[0].attention @ e % p) % p, value=made[0].value @ e % p)
            made[-1] = replace(made[-1], value=u @ made[-1].value % p)
        return made

    def drawn(self, count: int = 1, i: int = 1) -> Residues:
        """Return random backgrounds in front of layer `i`, from 1."""
        size = (count, self.layers[i - 1].value.shape[-1], self.background)
        return self._generator.integers(0, self.prime, size, dtype=np.int64)

    def full_ends(self) -> bool:
        """Return whether `E` and `U` have rank `d`, or are not there."""
        ends = [m for m, held in ((self.net.embed, self.shape.embed), (self.net.unembed, self.shape.unembed)) if held]
        return all(rank_mod_p(m.residues(), self.prime) == self.shape.widths[0] for m in ends)

    # ---- (D) and (K)

    def _some(self, holds: Callable[[Residues], bool], i: int = 1) -> Residues | None:
        return next((x for x in (self.drawn(i=i) for _ in range(TRIES)) if holds(x)), None)

    def top_degree(self, j: int) -> Residues | None:
        """Return a background that shows (D) for layer `j`, from 1."""

        def holds(x: Residues) -> bool:
            for layer in self.layers[: j - 1]:
                x = layer.written(x)
            form = self.layers[j - 1].forms(x)[0]
            return rank_mod_p(form @ form % self.prime, self.prime) == self.ranks[j - 1]

        return self._some(holds)

    def carried_on(self, i: int) -> Residues | None:
        """Return a background that shows (K) for layer `i`, from 1, of smaller rank and not the last; or (D')."""

        def holds(x: Residues) -> bool:
            product = self.layers[i - 1].forms(x)[0]
            for before, layer in zip(self.layers[i - 1 :], self.layers[i:], strict=False):
                x = before.written(x)
                product = layer.forms(x)[0] @ product % self.prime
            return rank_mod_p(product, self.prime) == self.ranks[i - 1]

        return self._some(holds, i)

    def onto(self, i: int) -> Residues | None:
        """Return a background that shows (S) for layer `i`, from 1."""
        p, written = self.prime, self.layers[i - 1].written

        def holds(x: Residues) -> bool:
            along = np.eye(x.size, dtype=np.int64).reshape(-1, *x.shape[1:])
            once, twice = (written((x + u * along) % p) - written((x - u * along) % p) for u in (1, 2))
            slopes = (8 * once - twice) % p  # of cubic forms, twelve times each
            return rank_mod_p(slopes.reshape(x.size, -1), p) == self.ranks[i - 1] * self.background

        return self._some(holds, i)

    # ---- (F)

    def degree(self, i: int, j: int) -> int:
        """Return the largest degree that `P_ij` can have."""
        return int(2 * self.ranks[j - 1] * 3 ** (j - i))

    def on_line(self, i: int, j: int, at: Residues, along: Residues) -> Residues:
        """Return the values of `P_ij` at `at + u along`, `u` = 0, ..., as many as decide a polynomial of its degree."""
        p, skip = self.prime, self.shape.skip
        u = np.arange(self.degree(i, j) + 1, dtype=np.int64)[:, None, None]
        x = (at + u * along) % p
        for layer in self.layers[i - 1 : j - 1]:
            x = (x + layer.written(x)) % p if skip else layer.written(x)
        forms, rank = self.layers[j - 1].forms(x), self.ranks[j - 1]
        if skip:
            return determinants_mod_p((forms + np.eye(forms.shape[-1], dtype=np.int64)) % p, p)
        left, right = (powers(rank, size, p) for size in forms.shape[1:])
        return determinants_mod_p(left @ forms % p @ right.T % p, p)

    def lines(self, i: int, j: int) -> Iterator[tuple[Residues, tuple[int, ...]]]:
        """Yield lines, a point and a direction, where `P_ij` has its full degree, and the degrees of its factors."""
        for _ in range(MOST_LINES):
            line = self.drawn(2, i)
            degrees = degrees_on_line(self.on_line(i, j, *line).tolist(), self.prime)
            if degrees is not None:
                yield line, degrees

    def without_small_factors(self, i: int, j: int) -> list[Residues] | None:
        """Return lines that show (F) for layers `i < j`, or nothing."""
        degree, most = self.degree(i, j), 2 * self.ranks[i - 1]
        if degree <= most or degree > LARGEST_DEGREE:
            return None
        seen: dict[tuple[int, ...], Residues] = {}
        for line, degrees in self.lines(i, j):
            seen.setdefault(degrees, line)
            if has_no_small_factor(seen, degree, most):
                return list(seen.values())
        return None

    # ---- (G)

    def without_common_factor(self, i: int, j: int) -> bool:
        """Return whether a line shows that `P_ii` and `P_ij` have no common factor: where `P_ii` keeps its degree."""
        if self.degree(i, j) > LARGEST_DEGREE:
            return False
        for _ in range(TRIES):
            line = self.drawn(2, i)
            own, other = (polynomial_through(self.on_line(i, k, *line).tolist(), self.prime) for k in (i, j))
            if own.degree() == self.degree(i, i) and own.gcd(other).degree() == 0:
                return True
        return False


def tensor_conditions(tensors: LayerTensors) -> Iterator[Condition]:
    """Yield (D), (K) and (F) in this order, the cheap ones first; without skip connections (D'), (S) and (F')."""
    depth, over, s, skip = tensors.shape.depth, f"modulo {tensors.prime}", tensors.background, tensors.shape.skip
    behind = f" with {s} background tokens" * (s > 1)
    inner = range(1, depth)

    def said(name: str, layer: int, shown: str, short: str, *, holds: bool) -> Condition:
        return Condition(name, layer, holds or None, f"{shown if holds else short} {over}{behind}")

    def ranked(name: str, layer: int, find: Callable[[int], Residues | None], rank: int) -> Condition:
        return said(name, layer, f"rank {rank}", f"rank below {rank}", holds=find(layer) is not None)

    ranks = tensors.ranks
    if skip:
        yield from (ranked("(D)", j, tensors.top_degree, ranks[j - 1]) for j in range(1, depth + 1))
        smaller = (i for i in inner if ranks[i - 1] < tensors.shape.widths[0])
        yield from (ranked("(K)", i, tensors.carried_on, ranks[i - 1]) for i in smaller)
    elif depth > 1:
        yield ranked("(D')", 1, tensors.carried_on, ranks[0])
        yield from (ranked("(S)", i, tensors.onto, s * ranks[0]) for i in inner)
    for i, j in combinations(range(1, depth + 1), 2):
        found = tensors.without_small_factors(i, j)
        least = 2 * ranks[i - 1]
        shown = f"no factor of degree at most {least} of {tensors.degree(i, j)}, by {len(found or ())} lines"
        short = f"factors of degree at most {least} were not excluded"
        yield said(("(F)" if skip else "(F')") + f" to layer {j}", i, shown, short, holds=bool(found))


def coprime_conditions(tensors: LayerTensors) -> Iterator[Condition]:
    """Yield (G), or (G')."""
    for i, j in combinations(range(1, tensors.shape.depth + 1), 2):
        holds = tensors.without_common_factor(i, j) or None
        said = "no common factor, by a line" if holds else "a common factor was not excluded"
        name = "(G)" if tensors.shape.skip else "(G')"
        yield Condition(f"{name} to layer {j}", i, holds, f"{said} modulo {tensors.prime}")
