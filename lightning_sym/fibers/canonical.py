r"""One representative for each fiber, exact over the rationals: equal functions have equal bytes.

What the function determines is written in coordinates that depend on the function alone (`normal_circuits`), attention
and value matrices in factors of full rank, $Q$ and $V$ the reduced echelon forms. Where no theorem says that the
function determines it, the weights are refused, with the condition that is not known to hold. Lightning networks with
heads or options are written by their layer tensors (`canonical_tensors`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import FellShort
from lightning_sym.display import Lines, Result, labelled, latex_lines, latex_words, spelled_rows
from lightning_sym.errors import BadInput, ProgramError, TooLarge
from lightning_sym.fibers.answer import AskedFiber
from lightning_sym.fibers.canonical_tensors import tensors_in_normal_form
from lightning_sym.fibers.comparison import Answer
from lightning_sym.fibers.conditions import SoftmaxConditions
from lightning_sym.fibers.hypotheses import ALONE, HEADS_PAGE, one_head_theorem, strongest_theorem
from lightning_sym.fibers.plain_fiber import virtual_fiber
from lightning_sym.fibers.same_function import same_function
from lightning_sym.fibers.softmax import circuit_virtual_weights, is_blind
from lightning_sym.fibers.transformer_cost import arrangement_cost
from lightning_sym.fibers.virtual_moves import bits_of, is_zero, is_zero_function, visible_weights
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work, require_integer, unheard
from lightning_sym.network.architecture import network_line
from lightning_sym.network.form import LIGHTNING_FORM, NetworkForm
from lightning_sym.network.virtual_weights import VirtualWeights, exact_virtual_weights
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.arrangement import arranged
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits
from lightning_sym.system.normal_circuits import normal_layer, normal_stream, without_uniform_heads
from lightning_sym.system.weights_of_circuits import weights_of

LONGEST = 2**16
"""Bits of a number of a canonical form: rescalings of lightning networks are taken to powers of three."""


@dataclass(frozen=True, eq=False, repr=False)
class Canonical(Result):
    """The canonical weights of a function.

    Attributes:
        weights: with the same function; of every network with that function and as many heads in each layer that is
            not refused they are the same.
        tokens: $t$.
        theorem: what says so.
        tried: theorems that were asked before in vain, each with the hypothesis that fails.
    """

    weights: Weights
    tokens: int
    theorem: str
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        self.weights.require_numbers("canonical weights")

    @property
    def text(self) -> str:
        """All that is hashed: form, tokens, and matrices by name."""
        matrices = {name: spelled_rows(matrix) for name, matrix in self.weights.numbers().items()}
        said = {"form": self.weights.form.to_json(), "tokens": self.tokens, "weights": matrices}
        return json.dumps(said, separators=(",", ":"))

    @property
    def hash(self) -> str:
        """The SHA-256 digest of `text`."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def lines(self) -> Lines:
        """Return the lines as the command `canonical` prints them."""
        shape = self.weights.architecture(self.tokens)
        said = [("network", network_line(shape)), ("known from", self.theorem)]
        said += [*labelled("tried", map(str, self.tried)), ("hash", self.hash)]
        return [*said, *((name, line) for name, line in self.weights.lines() if name != "form")]

    def _latex(self) -> str:
        return latex_lines(latex_words(f"{label} {said}") for label, said in self.lines()[:3])


def canonical(
    weights: Weights,
    tokens: int = 2,
    *,
    work: float = DEFAULT_WORK,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Canonical:
    """Return the canonical representative of all weights with the same function.

    Args:
        weights: exact weights of a softmax or lightning network.
        tokens: $t$.
        work: seconds that exact work may take, by a rough estimate made before each step.
        memory: bytes that the residues of conditions may take.
        progress: called with stage, steps done and steps in all.

    Raises:
        BadInput: no theorem says that the function determines these weights: which condition is not known to hold; or
            another network.
        TooLarge: estimates exceed `work` or `memory`.

    Example:
        >>> from lightning_sym.network.form import NetworkForm
        >>> form = NetworkForm(SOFTMAX)
        >>> w = Weights.of({"Q1": [[2, 4]], "K1": [[3, 0]], "V1": [[3, 4]]}, form)
        >>> other = Weights.of({"Q1": [[1, 2], [0, 0]], "K1": [[6, 0], [1, 1]], "V1": [[3, 4]]}, form)
        >>> canonical(w).weights["Q1"].tolist(), canonical(w).hash == canonical(other).hash
        ([[Fraction(1, 1), Fraction(2, 1)]], True)
    """
    require_arguments(canonical, locals())
    require_integer(tokens, "the number of tokens", 1)
    weights.require_numbers("the canonical form")
    budget = Work(work, progress)
    plain = _plain(weights, tokens)
    if plain is not None:
        found, shown = _lightning(plain, tokens, budget), False
    elif weights.form.normalization is None:
        circuits, theorem = tensors_in_normal_form(AskedFiber(weights, tokens, budget, 0, memory, progress))
        found, shown = Canonical(weights_of(circuits, tokens), tokens, theorem), True
    elif weights.form.normalization == SOFTMAX:
        found, shown = _softmax(weights, tokens, memory, budget, progress)
    else:
        raise BadInput(f"the canonical form is of softmax or lightning networks, got {weights.form}")
    if (
        not shown
        and same_function(weights, found.weights, tokens, work=work, progress=progress).answer is not Answer.SAME
    ):
        raise ProgramError(f"the canonical form of {weights.architecture(tokens)} is not known to be the same function")
    return found


# ---- softmax


def _softmax(
    weights: Weights, tokens: int, memory: int, budget: Work, progress: Progress | None
) -> tuple[Canonical, bool]:
    """Return the canonical weights with what says that they are, and whether they were shown to be the same."""
    bits = max(RationalMatrix.of(m).bits for m in weights.matrices.values())
    budget.spend(arrangement_cost(weights.architecture(tokens), bits), "arrangement", 0, 3)
    arrangement = arranged(NetworkCircuits.of(weights), tokens)
    circuits = without_uniform_heads(arrangement.circuits) if tokens == 2 else arrangement.circuits
    heads = [len(list(layer)) for layer in circuits.layers]
    m, n = circuits.unembed.shape[0], circuits.embed.shape[1]
    if arrangement.zero:
        nothing = RationalMatrix.identity(n), RationalMatrix.zero(m, n)
        return Canonical(weights_of(_no_layers(circuits, *nothing), tokens), tokens, "the function is zero"), False
    if tokens == 1:
        nothing = RationalMatrix.identity(n), circuits.unembed @ circuits.embed
        return Canonical(weights_of(_no_layers(circuits, *nothing), tokens), tokens, ALONE), False
    theorem = f"Theorem 8 of {HEADS_PAGE}"
    if not circuits.form.skip and max(heads) == 1:
        circuits, theorem = _visible(circuits, tokens), str(one_head_theorem(circuits.form.causal, tokens))
        if len(circuits.layers) > 1:
            return Canonical(weights_of(circuits, tokens), tokens, theorem), False
    if len(circuits.layers) <= 1:
        return Canonical(weights_of(normal_layer(circuits, tokens), tokens), tokens, theorem), False
    # the weights as they are given, where all heads stay, have shorter numbers
    as_given = tokens > 2 and heads == [weights.architecture(tokens).heads] * len(heads) and all(
        made_of == ((i, made_of[0][1]),) for i, layer in enumerate(arrangement.places, 1) for made_of in layer
    )  # fmt: skip
    plain = weights if as_given and len(heads) == weights.architecture(tokens).depth else weights_of(circuits, tokens)
    (progress or unheard)("conditions", 1, 3)
    tested = SoftmaxConditions(plain, tokens, budget, memory=memory, progress=progress, idle_heads=False)
    known, tried = strongest_theorem(tested)
    if known is None or known.number not in ("Corollary 5", "Theorem 11"):
        short = next((c for c in tested.all() if c.holds is not True), None)
        why = "no theorem applies" if short is None else f"{short} is not known to hold ({short.evidence})"
        raise BadInput(f"the canonical form needs Corollary 5 or Theorem 11 of {HEADS_PAGE}: {why}")
    (progress or unheard)("coordinates", 2, 3)
    return Canonical(weights_of(normal_stream(circuits), tokens), tokens, str(known), tried), True


def _no_layers(circuits: NetworkCircuits, embed: RationalMatrix, unembed: RationalMatrix) -> NetworkCircuits:
    """Return a linear map of each token; without skips by values that all keys together are multiplied with."""
    if circuits.form.skip:
        return replace(circuits, embed=embed, layers=[[]], widths=(embed.shape[0],) * 2, unembed=unembed)
    m, n = unembed.shape
    head = HeadCircuits(RationalMatrix.zero(n, n), unembed)
    heads = [head] if unembed else []
    return replace(circuits, embed=embed, layers=[heads], widths=(n, m), unembed=RationalMatrix.identity(m))


def _visible(circuits: NetworkCircuits, tokens: int) -> NetworkCircuits:
    """Return what docs/softmax-fibers.md says that the function shows, on the input; one head a layer, no skip."""
    forms, value = circuit_virtual_weights(circuits)
    attention = [form.fractions() for form in forms]
    if circuits.form.causal and tokens == 2:
        attention = _zeros_late(attention)
    elif not circuits.form.causal:
        blind = next((i for i, a in enumerate(attention, 1) if is_blind(a, tokens)), len(attention))
        attention = attention[:blind]
    return _one_head_a_layer(attention, value, circuits.form)


def _one_head_a_layer(attention: Sequence[Any], value: Any, form: NetworkForm) -> NetworkCircuits:
    """Return a network on the input itself, whose last layer alone writes: these are its virtual weights."""
    m, n = value.shape
    one = RationalMatrix.identity(n)
    values = [one] * (len(attention) - 1) + [RationalMatrix.of(value)]
    layers = [[HeadCircuits(RationalMatrix.of(a), v)] for a, v in zip(attention, values, strict=True)]
    return NetworkCircuits(one, layers, (n,) * len(layers) + (m,), RationalMatrix.identity(m), form)


def _zeros_late(attention: list[ObjectArray]) -> list[ObjectArray]:
    """Return attention matrices with zero ones moved behind skew ones next to them.

    A skew one is halved by each zero one that it passes (Theorem 4, two tokens).
    """
    found: list[ObjectArray] = []
    waiting: list[ObjectArray] = []
    for a in attention:
        if is_zero(a):
            waiting.append(a)
        elif is_blind(a, 2):
            found.append(a * Fraction(1, 2 ** len(waiting)))
        else:
            found += [*waiting, a]
            waiting = []
    return found + waiting


# ---- lightning


def _plain(weights: Weights, tokens: int) -> Weights | None:
    """Return lightning weights of one head with nothing added: of one layer the ends and `O` are parts of `A`, `V`."""
    shape = weights.architecture(tokens)
    if shape.is_plain:
        return weights
    if weights.form != LIGHTNING_FORM or shape.depth > 1 or shape.heads > 1:
        return None
    found = circuit_virtual_weights(NetworkCircuits.of(weights))
    return weights_of(_one_head_a_layer(*found, weights.form), tokens)


def _lightning(weights: Weights, tokens: int, budget: Work) -> Canonical:
    virtual = exact_virtual_weights(weights)
    if is_zero_function(virtual, tokens):
        m, n = virtual.value.shape
        nothing = NetworkCircuits(RationalMatrix.identity(n), [[]], (n, m), RationalMatrix.identity(m), weights.form)
        return Canonical(weights_of(nothing, tokens), tokens, "the function is zero")
    found = virtual_fiber(weights, tokens, budget)
    points = [component.virtual for component in found.components]
    if found.complete_over is None or tokens == 1 or any(point is None for point in points):
        why = "t = 1" if tokens == 1 else "; ".join(map(str, found.tried)) or found.source
        raise BadInput(
            f"the canonical form of lightning weights needs a theorem that describes all of the fiber: {why}"
        )
    forms = [_scaled(visible_weights(point, tokens)) for point in points if point is not None]
    best = min(forms, key=lambda v: [tuple(m.ravel()) for m in (*v.attention, v.value)])
    circuits = _one_head_a_layer(*best, weights.form)
    return Canonical(weights_of(circuits, tokens), tokens, found.source, found.tried)


def _scaled(virtual: VirtualWeights) -> VirtualWeights:
    """Return virtual weights with the first entry of each attention matrix that is not zero made 1 (Eq. 13)."""
    power = Fraction(1)
    room = LONGEST + max(map(bits_of, virtual.value.ravel()))
    attention = []
    for a in virtual.attention:
        first = next(x for x in a.ravel() if x != 0)
        attention.append(a / first)
        power = power**3 * first
        if bits_of(power) > room:
            break
    # what is too long is the function, not the weights that happen to be given for it
    value = virtual.value * power
    if len(attention) < len(virtual.attention) or max(map(bits_of, value.ravel())) > LONGEST:
        raise TooLarge(f"the numbers of a canonical form must have at most {LONGEST:,} bits")
    return VirtualWeights(tuple(attention), value)
