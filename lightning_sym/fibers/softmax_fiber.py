"""All weights with the same function as those of a softmax network, as far as the theorems reach.

One head a layer and no skip connection: every fiber is known (docs/softmax-fibers.md, Theorems 1 and 4), and its
dimension (`factorizations`). Else the conditions of docs/transformer-fibers.md are tested, and the strongest theorem
that they allow says what the fiber is; if that is not Corollary 5, another network with this function is looked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Lines, Result, latex_lines, latex_words
from lightning_sym.errors import no_truth_value
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.exact.rational import rank
from lightning_sym.fibers.condition_tests import ConditionTests
from lightning_sym.fibers.conditions import (
    Condition,
    Theorem,
    condition_lines,
    require_softmax,
    tested_conditions,
)
from lightning_sym.fibers.factorizations import product_fiber_dimension
from lightning_sym.fibers.one_head import one_head_fiber
from lightning_sym.fibers.second_networks import SecondNetwork, second_network
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix


@dataclass(frozen=True, eq=False, repr=False)
class SoftmaxFiber(Result):
    """What is known of the weights of this shape with the same function.

    Attributes:
        architecture: the network.
        conditions: those that were tested; none where the theorem is about all weights.
        theorem: what says that this is the whole fiber; `None` if nothing does, or nothing needs to.
        complete: whether all weights of this shape with this function are described.
        description: the fiber.
        generators: what moves inside it.
        dimension: of the fiber, in all weights; `None` if not computed.
        minimal: in which sense no smaller network has this function; empty if that is not known.
        second: another network with this function, where the conditions fail and one was found.
        blind: with one head a layer, no skip connection and no mask, the first blind layer; `None` if there is none.
    """

    architecture: Architecture
    conditions: tuple[Condition, ...]
    theorem: Theorem | None
    complete: bool
    description: str
    generators: tuple[str, ...]
    dimension: int | None
    minimal: str = ""
    second: SecondNetwork | None = None
    blind: int | None = None

    def lines(self) -> Lines:
        """As the command `fiber` prints it."""
        amount = "all weights of this shape with this function" if self.complete else "there may be more"
        lines = [("network", network_line(self.architecture)), *condition_lines(self.conditions)]
        lines += [("known from", self.source), ("fiber", self.description), ("", "; ".join(self.generators))]
        lines.append(("complete", amount))
        lines.append(("dimension", "not computed" if self.dimension is None else f"{self.dimension} in all weights"))
        if self.minimal:
            lines.append(("minimal", self.minimal))
        if self.second is not None:
            lines.append(("another", f"{self.second.description}: the same function ({self.second.because})"))
        return lines

    @property
    def source(self) -> str:
        """What describes the fiber."""
        if self.theorem is not None:
            return str(self.theorem)
        return "patterns of one token are 1" if self.complete else "not certified by these theorems"

    def _latex(self) -> str:
        known = _FORMULAS.get("" if self.theorem is None else self.theorem.number, r"\text{unknown}")
        size = [] if self.dimension is None else [rf"\dim = {self.dimension}"]
        return latex_lines([latex_words(self.source), known, *size])

    def __bool__(self) -> NoReturn:
        no_truth_value(self, "found.complete")


def softmax_fiber(
    weights: Weights,
    tokens: int = 2,
    *,
    seed: int = 0,
    work: float = DEFAULT_WORK,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> SoftmaxFiber:
    """The weights of a softmax network with the same function as `weights`.

    Args:
        weights: exact weights of a softmax network: any mask, heads, skip connections, embeddings.
        tokens: $t$.
        seed: picks the points at which conditions are tested.
        work: seconds that exact work may take, by a rough estimate made before each step.
        memory: bytes that the residues of the weights may take.
        progress: called with stage, steps done and steps in all.

    Raises:
        BadInput: another normalization, or letters.
        TooLarge: estimates exceed `work` or `memory`.

    Example:
        >>> from lightning_sym.network.form import NetworkForm
        >>> from lightning_sym.rings.normalization import SOFTMAX
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [5, 6]]}, NetworkForm(SOFTMAX, skip=True))
        >>> found = softmax_fiber(w, tokens=3)
        >>> found.theorem.number, found.complete, found.dimension
        ('Corollary 5', True, 1)
    """
    require_arguments(softmax_fiber, locals())
    require_integer(seed, "the seed")
    require_integer(tokens, "the number of tokens", 1)
    shape, budget = require_softmax(weights, tokens), Work(work, progress)
    if shape.heads == 1 and not shape.skip:
        known = one_head_fiber(weights, tokens, budget)
        return SoftmaxFiber(
            shape, (), known.theorem, True, known.description, known.generators, known.dimension, blind=known.blind
        )
    if tokens == 1:
        return SoftmaxFiber(
            shape, (), None, True, "U C_l ... C_1 E with C_i = e + sum V_ih is determined, nothing else",
            ("all Q, K", "all else with this product"), None,
        )  # fmt: skip
    found, tests = tested_conditions(weights, tokens, seed=seed, memory=memory, progress=progress, idle_heads=True)
    theorem = found.theorem
    number = "" if theorem is None else theorem.number
    description, generators = _described(shape, number)
    generic = number == "Corollary 5"
    return SoftmaxFiber(
        shape,
        found.conditions,
        theorem,
        theorem is not None,
        description,
        generators,
        _orbit_dimension(weights, tests) if generic else None,
        _MINIMAL if generic else "",
        None if generic else second_network(weights, tests, budget),
    )


_WORDS = r"U' W'_{\pi(w)} E' = U W_w E"
_FORMULAS = {
    "Theorem 1": r"\tilde V' = \tilde V, \quad \tilde A_i' = \tilde A_i \text{ for the visible layers}",
    "Theorem 4": r"\tilde V' = \tilde V, \quad B_j' = 2^{z_j' - z_j} B_j \text{ for the layers that are not zero}",
    "Corollary 5": r"E' = g_0 E, \quad V'_{i\pi(h)} = g_i V_{ih} g_{i-1}^{-1}, \quad "
    r"A'_{i\pi(h)} = g_{i-1}^{-\top} A_{ih} g_{i-1}^{-1}, \quad U' = U g_l^{-1}",
    "Theorem 7": rf"{_WORDS}, \quad \tau'_{{i\pi(h)}} = \tau_{{ih}}",
    "Theorem 8": r"e U' E' = e U E, \quad \sum_{E'^\top A'_h E' = m} U' V'_h E' = \sum_{E^\top A_h E = m} U V_h E",
    "Theorem 11": rf"{_WORDS}, \quad E'^\top W_a'^\top A'_{{i\pi(h)}} W_b' E' = E^\top W_a^\top A_{{ih}} W_b E",
}

_MINIMAL = (
    "no network of this form and depth with at most as many heads in each layer has fewer heads in one, a smaller "
    "width, or a matrix A or V of a head of smaller rank"
)


def _described(shape: Architecture, number: str) -> tuple[str, tuple[str, ...]]:
    """The fiber in words, and what moves inside it."""
    factors = ["GL(a) on Q, K of each head"]
    if shape.value_ranks is not None:
        factors.append("GL(b) on O, V of each head")
    inner = shape.depth > 1 and not shape.skip
    if shape.skip and shape.embed is not None and shape.unembed is not None:
        factors.append("GL(d) on the stream, the same behind every layer")
    elif not shape.skip and (inner or shape.embed is not None or shape.unembed is not None):
        factors.append("GL(d_i) on the streams between E, the layers and U")
    heads = ["permutations of the heads of a layer"] if shape.heads > 1 else []
    sums = "same sum M_m of U V_h E over the heads with E^T A_h E = m"
    known = {
        "Corollary 5": "permutations of heads, bases of the stream, and all factors of the same A = K^T Q and V or O V",
        "Theorem 7": "all weights with the same words U W_w E and the same formal scores of two tokens, heads permuted",
        "Theorem 8": f"all weights with the same e U E and, for each matrix m, the {sums}"
        if shape.tokens > 2
        else f"all weights with the same e U E, sum of all M_m, and differences M_m - M_-m, for the {sums[5:]}",
        "Theorem 11": "all weights with the same words U W_w E and blocks E^T W_a^T A W_b E, heads permuted",
    }
    return known.get(number, "at least the symmetries that every network has"), tuple(heads + factors)


def _orbit_dimension(weights: Weights, tests: ConditionTests) -> int:
    """Of the fiber of Corollary 5: bases of the stream act without fixed points, and factors vary for themselves."""
    shape = tests.shape
    widths, ends = shape.widths, (shape.embed is not None, shape.unembed is not None)
    if shape.skip:
        total = widths[0] ** 2 if all(ends) else 0
    else:
        total = sum(d * d for d in widths[1:-1]) + ends[0] * widths[0] ** 2 + ends[1] * widths[-1] ** 2
    ranks = _Ranks(weights, tests)
    for i, a in enumerate(shape.attention_ranks, start=1):
        before, behind = widths[i - 1], widths[i]
        for h in range(1, shape.heads + 1):
            name = shape.head_name(i, h)
            total += product_fiber_dimension(before, before, a, ranks.scores(i, h, name))
            if shape.value_ranks is not None:
                b = shape.value_ranks[i - 1]
                total += product_fiber_dimension(behind, before, b, ranks.values(i, h, name))
    return total


class _Ranks:
    """Exact ranks of products: residues show that they are as large as they can be, else they are computed over Q."""

    def __init__(self, weights: Weights, tests: ConditionTests) -> None:
        self._weights, self._net, self._p = weights, tests.net, tests.p

    def scores(self, i: int, h: int, name: str) -> int:
        """Of `K^T Q`."""
        head = self._net.layers[i - 1][h - 1]
        most = min(head.key.shape)
        if all(rank_mod_p(m.entries, self._p) == most for m in (head.key, head.query)) and most == head.key.shape[0]:
            return most
        return _product_rank(self._weights[f"K{name}"].T, self._weights[f"Q{name}"])

    def values(self, i: int, h: int, name: str) -> int:
        """Of `O V`."""
        head = self._net.layers[i - 1][h - 1]
        inner = head.value.shape[0]
        assert head.output is not None  # noqa: S101 - for the type checker
        if rank_mod_p(head.value.entries, self._p) == inner == rank_mod_p(head.output.entries, self._p):
            return inner
        return _product_rank(self._weights[f"O{name}"], self._weights[f"V{name}"])


def _product_rank(left: ObjectArray, right: ObjectArray) -> int:
    """Of `left @ right`: over the reals a matrix maps onto the same space as its product with its transpose."""
    a, b = RationalMatrix.of(left), RationalMatrix.of(right)
    inner = left.shape[1]
    if inner < min(left.shape[0], right.shape[1]):
        return rank(((a.mT @ a) @ (b @ b.mT)).fractions())
    return rank((a @ b).fractions())
