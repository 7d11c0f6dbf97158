"""The question of a fiber, which the theorems about it share, and its answer: all that is known of the weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from lightning_sym.ask import FellShort
from lightning_sym.display import Lines, Result, cut_text, labelled, latex_lines, latex_words
from lightning_sym.errors import no_truth_value
from lightning_sym.fibers.local_dimension import LocalDimension, local_dimension
from lightning_sym.fibers.points import Component, virtual_lines
from lightning_sym.fibers.real_components import RealComponents
from lightning_sym.lazy import lazy_imports
from lightning_sym.limits import Progress, Work
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.virtual_weights import VirtualWeights
from lightning_sym.network.weights import Weights

if TYPE_CHECKING:
    from lightning_sym.fibers.conditions import Condition
    from lightning_sym.fibers.hypotheses import Theorem
    from lightning_sym.fibers.local_dimension import LocalDimension
    from lightning_sym.fibers.second_networks import SecondNetwork

with lazy_imports(__name__):  # only lightning with skip connections has them
    from lightning_sym.fibers import tensor_hypotheses


@dataclass
class AskedFiber:
    """Weights, and what their fiber may cost.

    Attributes:
        weights, tokens: the network.
        budget: of exact work.
        seed: picks points and inputs.
        memory: bytes that residues may take.
        progress: called with stage, steps done and steps in all.
        tried: theorems that were asked beside those of the list.
    """

    weights: Weights
    tokens: int
    budget: Work
    seed: int
    memory: int
    progress: Progress | None
    tried: list[FellShort] = field(default_factory=list)

    @cached_property
    def shape(self) -> Architecture:
        """The network without its weights."""
        return self.weights.architecture(self.tokens)

    @cached_property
    def tensors(self) -> tensor_hypotheses.TensorQuestion:
        """The hypotheses on its layer tensors, of lightning with skip connections."""
        return tensor_hypotheses.TensorQuestion(self.weights, self.tokens, self.seed)

    def near(self) -> LocalDimension | None:
        """Return bounds for the dimension near the weights."""
        return local_dimension(self.weights, self.tokens, seed=self.seed, budget=self.budget)


_MOST_SHOWN = 8
"""Components that a notebook shows."""


@no_truth_value("found.complete")
@dataclass(frozen=True, eq=False, repr=False)
class Fiber(Result):
    r"""What is known of the weights with the same function as the given ones.

    Attributes:
        architecture: the network.
        source: what describes the fiber.
        complete_over: `"R"` if it is described whole, over the reals; `"Q"` if all of its rational points are, and
            there may be more over the reals; `None` if there may be more in any case.
        description: the fiber in words; of one-head lightning networks the components say it.
        generators: what moves inside it.
        reason: the hypotheses of the source that hold.
        tried: theorems that were tried and are not used, each with the hypothesis that fails.
        conditions: those of the theorems on softmax networks that were tested, with their evidence.
        theorem: of a softmax network, what says that this is the whole fiber.
        virtual: the virtual weights of a one-head lightning network, exact.
        components: families in these; all matrices of shape $d_0 \times d_0$ and $d_l \times d_0$ count, whether or not
            the widths and the $a_i$ allow them.
        near: bounds for the dimension of the fiber near the given weights, in all weights; `None` if not computed.
        total: the dimension of the fiber in all weights by a theorem; near some of its points it may be smaller.
        minimal: in which sense no smaller network has this function; empty if that is not known.
        second: another network with this function, where a condition fails and one was found.
        real: connected components of the fiber over the real numbers, with what joins them, or why they are not known.
        blind: of a softmax network with one head a layer, no skip connection and no mask, the first blind layer.
    """

    architecture: Architecture
    source: str
    complete_over: str | None
    description: str = ""
    generators: tuple[str, ...] = ()
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    theorem: Theorem | None = None
    virtual: VirtualWeights | None = None
    components: tuple[Component, ...] = ()
    near: LocalDimension | None = None
    total: int | None = None
    minimal: str = ""
    second: SecondNetwork | None = None
    blind: int | None = None
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)
    real: RealComponents | None = field(default=None, repr=False, compare=False)

    @property
    def real_components(self) -> int | None:
        """How many connected components the set of real weights with this function has; `None` where not known."""
        return None if self.real is None else self.real.count

    @property
    def complete(self) -> bool:
        """Whether all weights of this shape with this function are described, over the reals."""
        return self.complete_over == "R"

    @property
    def known_dimension(self) -> int | None:
        """Largest dimension of a component: that in virtual weights if `complete`, else a lower bound."""
        return max((component.dimension for component in self.components), default=None)

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Lower and upper bound for the dimension of the fiber near the given weights, in all weights."""
        return None if self.near is None else (self.near.lower, self.near.upper)

    @property
    def dimension(self) -> int | None:
        """Dimension of the fiber in all weights: by a theorem, else near the given weights where the bounds meet."""
        return self.total if self.total is not None or self.near is None else self.near.value

    def lines(self) -> Lines:
        """Return the lines as the command `fiber` prints them."""
        lines = [("network", network_line(self.architecture))]
        if self.conditions:
            from lightning_sym.fibers.conditions import condition_lines

            lines += condition_lines(self.conditions)
        lines.append(("known from", f"{self.source} ({self.reason})" if self.reason else self.source))
        lines += labelled("tried", map(str, self.tried))
        for i, component in enumerate(self.components, start=1):
            lines.append((f"component {i}", f"{cut_text(component.description)}; dimension {component.dimension}"))
            lines.append(("", "; ".join(component.generators)))
            if component.parameters:
                lines.append(("", f"parameters {', '.join(each.name for each in component.parameters)}"))
            if component.virtual is not None and i > 1:
                lines += virtual_lines(component.virtual)
        if self.description:
            lines += [("fiber", self.description), ("", "; ".join(self.generators))]
        lines.append(("complete", self._amount()))
        if self.components:
            exactly = "" if self.complete else "at least "
            lines.append(("dimension", f"{exactly}{self.known_dimension} in virtual weights"))
        lines += [("" if self.components else "dimension", self._size()), *self._nearby()]
        lines += [] if self.real is None else self.real.lines()
        if self.minimal:
            lines.append(("minimal", self.minimal))
        if self.second is not None:
            lines.append(("another", f"{self.second.description}: the same function ({self.second.because})"))
        return lines

    def _amount(self) -> str:
        if self.components:
            whole = "all of the fiber, matrices of any rank counted"
            if self.architecture.embed is not None or self.architecture.unembed is not None:
                whole += ", also those that no E and U of this shape lead to"
            rational = "everything rational in the fiber; over the reals there may be more"
            return {"R": whole, "Q": rational}.get(self.complete_over or "", "in the fiber; there may be more")
        return "all weights of this shape with this function" if self.complete else "there may be more"

    def _size(self) -> str:
        if self.total is not None:
            return f"{self.total} in all weights"
        space = " in (Q, K, V)" if self.components else ""
        if self.near is None:
            return f"not computed{space}: too many weights, or more work than allowed"
        if self.near.value is not None:
            return f"{self.near.value}{space} near these weights: {self.near.shown_by}"
        return f"at least {self.near.lower} and at most {self.near.upper}{space} near these weights"

    def _nearby(self) -> Lines:
        """Return what the fiber is near the weights, where nothing says what it is elsewhere."""
        if self.complete or self.near is None or self.near.value is None:
            return []
        if self.near.is_orbit:
            return [("", "near these weights the fiber is the orbit of the symmetries")]
        orbit = f"the orbit of the symmetries has {self.near.orbit}"
        return [("", f"near these weights the fiber is a manifold of this dimension; {orbit}")]

    def _latex(self) -> str:
        if self.components:
            shown = [rf"{i}. \quad {c.formula()}" for i, c in enumerate(self.components[:_MOST_SHOWN], start=1)]
            return latex_lines([*shown, r"\ldots"] if len(self.components) > _MOST_SHOWN else shown)
        known = _FORMULAS.get("" if self.theorem is None else self.theorem.number)
        size = [] if self.dimension is None else [rf"\dim = {self.dimension}"]
        return latex_lines([latex_words(self.source), known or latex_words(self.description), *size])


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


AT_LEAST = "at least the symmetries that every network has"


def symmetry_generators(shape: Architecture) -> tuple[str, ...]:
    """Return the symmetries that a network has for all weights, in words.

    Raises:
        BadInput: the network has an option for which they are not known.

    Example:
        >>> symmetry_generators(Architecture((2, 2, 2), (1, 1), 2, heads=2, skip=True))[1:]
        ('GL(a) on Q, K of each head', 'A -> lambda A, V -> V / lambda in each head')
    """
    shape.require("the symmetries of a network", SHAPED)
    moves = ["permutations of the heads of a layer"] if shape.heads > 1 else []
    moves.append("GL(a) on Q, K of each head")
    if shape.value_ranks is not None:
        moves.append("GL(b) on O, V of each head")
    if shape.normalization is None:
        moves.append("A -> lambda A, V -> V / lambda in each head")
    inner = shape.depth > 1 and not shape.skip
    if shape.skip and shape.embed is not None and shape.unembed is not None:
        moves.append("GL(d) on the stream, the same behind every layer")
    elif not shape.skip and (inner or shape.embed is not None or shape.unembed is not None):
        moves.append("GL(d_i) on the streams between E, the layers and U")
    return tuple(moves)
