"""Which families of weights have functions that tend to a given one: whether they are bounded, up to rescalings."""

from __future__ import annotations

from dataclasses import dataclass

from lightning_sym.ask import FellShort, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.display import Lines, labelled
from lightning_sym.fibers.virtual_moves import THEOREM_3_7, VisibleFunction, is_zero_function
from lightning_sym.limits import Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.virtual_weights import VirtualWeights

_PROVED = {False: "docs/limits.md, Proposition 2", True: "docs/limits.md, Propositions 2 and 4"}
"""Where it is proved that rescalings bound all families, by whether the function is a boundary point."""


@dataclass(frozen=True)
class LimitPoint:
    r"""What is known of all families of weights whose functions tend to a given function.

    Attributes:
        bounded: whether rescalings, which change no function, make each of them bounded; `None` if that is not known.
        rates: how weights of such families can grow, with $\\varepsilon \to 0$.
        tends_to: to which function, and to which weights once they are rescaled.
        reasons: what else is so.
        proof: where it is proved; empty where nothing is.
        tried: the theorem that would bound them, with the hypothesis that fails.
    """

    bounded: bool | None
    rates: tuple[str, ...]
    tends_to: str
    reasons: tuple[str, ...]
    proof: str
    tried: tuple[FellShort, ...] = ()

    def lines(self) -> Lines:
        """Return what is said of limits."""
        said = [_KNOWN[self.bounded], *self.rates, self.tends_to, *self.reasons]
        return labelled("limits", [*filter(None, said), *[f"({self.proof})"] * bool(self.proof)])


_KNOWN = {
    True: "up to rescalings every family is bounded whose functions tend to this one",
    False: "families whose functions tend to this one can leave every bounded set in any way",
    None: "not known whether up to rescalings every family is bounded whose functions tend to this one",
}


BOUNDED: tuple[TheoremRow[VisibleFunction, str], ...] = (
    TheoremRow(
        "Proposition 2 of docs/limits.md", any_question, paid_by_steps,
        lambda point: "rescaled, they tend to weights of this function; near it every limit of functions has weights",
        needs=THEOREM_3_7,
    ),
)  # fmt: skip
"""What bounds all families, up to rescalings, whose functions tend to one that is not zero."""


def limit_point(shape: Architecture, virtual: VirtualWeights, *, is_square: bool = False) -> LimitPoint:
    r"""Return what `docs/limits.md` says of the function with these virtual weights.

    Args:
        shape: the network.
        virtual: matrices of `Fraction`.
        is_square: of one layer, whether $A = h q^\top$ and $V = v h^\top$ with the same $h$.

    Raises:
        BadInput: the network has an option.

    Example:
        >>> from lightning_sym import Weights, virtual_weights
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> found = limit_point(w.architecture(2), virtual_weights(w.layers))
        >>> found.bounded, found.rates
        (True, ('A like eps^-c, V like eps^c, for any c',))
    """
    shape.require_plain("limits of families")
    if is_zero_function(virtual, shape.tokens):
        rate = f"for example A~1 like eps^-1 and V~ like eps^{3 ** (shape.depth - 1) + 1}" if shape.depth > 1 else ""
        return LimitPoint(
            False, (rate or "for example A like eps^-1 and V like eps^2",), "each tends to the zero function",
            (), "docs/limits.md, Proposition 1",
        )  # fmt: skip
    found, tried = ask(VisibleFunction(shape, lambda: virtual), BOUNDED, Work())
    names = [f"A~{i}" for i in range(1, shape.depth + 1)]
    powers = [3 ** (shape.depth - i) for i in range(1, shape.depth + 1)]
    sums = " + ".join(f"{p} c_{i}" if p > 1 else f"c_{i}" for i, p in enumerate(powers, start=1))
    told = ", ".join(f"{name} like eps^-c_{i}" for i, name in enumerate(names, start=1))
    rates = "A like eps^-c, V like eps^c, for any c"
    if shape.depth > 1:
        rates = f"{told}, V~ like eps^({sums}), for any c_i"
    if found is not None:
        edge = "it is also the limit of functions of complex weights: A = (h + i eps u) q^T, V = v (h - i eps u)^T"
        return LimitPoint(True, (rates,), found, (edge,) * is_square, _PROVED[is_square])
    if shape.tokens == 1:
        return LimitPoint(None, (), "", (), "", tried)
    others = "others tend, rescaled, to some A~i of rank one with a skew-symmetric A~j behind it"
    return LimitPoint(None, (rates,), "", (others,), "docs/limits.md, Proposition 1", tried)
