"""That two networks compute the same function, or the functions of one form a variety of a dimension."""

from __future__ import annotations

import os

from lightning_sym.dimension.certify import Status, certified_dimension
from lightning_sym.display import rows_in_line
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.fibers.same_function import Answer, Comparison, same_function
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, require_integer
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.polynomial_map import PolynomialMap, polynomial_map
from lightning_sym.network.weight_files import load_weights
from lightning_sym.network.weights import Weights
from lightning_sym.testing.failures import Mismatch, NotDecided, failure, power_of_ten

Network = Weights | PolynomialMap | str | os.PathLike[str]
"""Exact weights, a file of them, or a polynomial map with numbers for weights."""


def assert_same_function(
    first: Network,
    second: Network,
    tokens: int | None = None,
    *,
    seed: int = 0,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> None:
    """Fail unless two networks compute the same function, by a proof.

    Args:
        first: exact weights, the path of a file of them, or a polynomial map without letters for weights.
        second: the same.
        tokens: of the inputs; by default 2, or what a polynomial map says.
        seed: picks the inputs that are tried.
        work: seconds that exact work may take, by a rough estimate made before each step.
        progress: called with stage, steps done and steps in all.

    Raises:
        Mismatch: they differ; the message shows an input and both outputs, or a coefficient.
        NotDecided: there is no proof for either answer; the message says how often they agreed.
        BadInput: the networks are not decided, do not have the same input and output widths, or a file is bad.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> half = Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[1.5, 2]]})
        >>> assert_same_function(w, half)
        >>> double = Weights.of({"Q1": [[2, 4]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> assert_same_function(w, double)
        Traceback (most recent call last):
        lightning_sym.testing.failures.Mismatch: the networks compute different functions of inputs with 2 tokens
          because  the outputs for an input differ
          input    X = 3 0; 3 0
          first    phi(X) = 567 0
          second   phi(X) = 1134 0
    """
    __tracebackhide__ = True
    one, other = map(_loaded, (first, second))
    if isinstance(one, PolynomialMap) or isinstance(other, PolynomialMap):
        _compare_maps(one, other, tokens)
        return
    t = 2 if tokens is None else tokens
    found = same_function(one, other, t, seed=seed, work=work, progress=progress)
    if found.answer is Answer.DIFFERENT:
        raise Mismatch(failure(f"the networks compute different functions of inputs with {t} tokens", _lines(found)))
    if found.answer is Answer.UNDECIDED:
        bound = f"at most {power_of_ten(found.error_bound)}"
        raise NotDecided(
            failure(
                f"it is undecided whether the networks compute the same function of inputs with {t} tokens",
                [
                    ("known", f"{found.evaluations} exact evaluations at random integer inputs agree"),
                    ("error", f"if they differ, that happens with probability {bound} (Schwartz-Zippel)"),
                ],
            )
        )


def _loaded(network: Network) -> Weights | PolynomialMap:
    if isinstance(network, (str, os.PathLike)):
        return load_weights(network)
    if isinstance(network, PolynomialMap) and network.weight_names:
        raise BadInput("a polynomial map must have numbers for weights, got one with the letters of all of them")
    if not isinstance(network, (Weights, PolynomialMap)):
        raise BadInput(f"a network must be Weights, a PolynomialMap or a file of weights, got {type(network).__name__}")
    return network


def _lines(found: Comparison) -> list[tuple[str, str]]:
    lines = [("because", found.because)]
    if found.input is not None and found.outputs is not None:
        lines.append(("input", f"X = {rows_in_line(found.input)}"))
        names = zip(("first", "second"), found.outputs, strict=True)
        lines += [(name, f"phi(X) = {rows_in_line(output)}") for name, output in names]
    return lines


def _compare_maps(one: Weights | PolynomialMap, other: Weights | PolynomialMap, tokens: int | None) -> None:
    """Compare all coefficients of both."""
    __tracebackhide__ = True
    said = {found.architecture.tokens for found in (one, other) if isinstance(found, PolynomialMap)}
    said |= set() if tokens is None else {tokens}
    if len(said) > 1:
        raise ShapeError(f"both must be maps of the same number of tokens, got {' and '.join(map(str, sorted(said)))}")
    (t,) = said
    maps = [polynomial_map(w.architecture(t), w) if isinstance(w, Weights) else w for w in (one, other)]
    for what in ("input", "output"):
        sizes = [getattr(found.architecture, f"{what}_width") for found in maps]
        if sizes[0] != sizes[1]:
            raise ShapeError(f"both networks must have the same {what} width, got {sizes[0]} and {sizes[1]}")
    known = [found.ring_coefficients() for found in maps]
    names = maps[0].input_names
    for place in sorted({*known[0], *known[1]}):
        values = [coefficients.get(place, 0) for coefficients in known]
        if values[0] != values[1]:
            k, j, exponents = place
            monomial = " ".join(f"{n}^{e}" if e > 1 else n for n, e in zip(names, exponents, strict=True) if e)
            raise Mismatch(
                failure(
                    f"the networks compute different functions of inputs with {t} tokens",
                    [
                        ("output", f"coordinate {k} of token {j}, coefficient of {monomial}"),
                        ("first", str(values[0])),
                        ("second", str(values[1])),
                    ],
                )
            )


def assert_dimension(
    network: Architecture,
    expected: int,
    *,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> None:
    """Fail unless the dimension is certified to be this number.

    Args:
        network: the shape.
        expected: its dimension.
        seed: picks the points of the lower bound.
        memory: bytes that the computation may take, by an estimate made before.
        progress: called with stage, steps done and steps in all.

    Raises:
        Mismatch: the dimension is another number, or cannot be this one: it lies outside of the proved bounds.
        NotDecided: the number lies between two proved bounds that do not meet.
        BadInput: the network has an option for which nothing is proved, or is too large.

    Example:
        >>> network = Architecture((4, 4, 4), (2, 2), 3)
        >>> assert_dimension(network, 38)
        >>> assert_dimension(network, 39)
        Traceback (most recent call last):
        lightning_sym.testing.failures.Mismatch: the dimension is not 39
          network    widths 4,4,4, ranks 2,2, tokens 3
          dimension  38, certified
    """
    __tracebackhide__ = True
    if not isinstance(network, Architecture):
        raise BadInput(f"the network must be an Architecture, got {type(network).__name__}")
    require_integer(expected, "the expected dimension")
    found = certified_dimension(network, seed=seed, memory=memory, progress=progress)
    lines = [("network", str(network))]
    if found.status is Status.CERTIFIED:
        if found.lower != expected:
            raise Mismatch(
                failure(f"the dimension is not {expected}", [*lines, ("dimension", f"{found.lower}, certified")])
            )
        return
    lines += [("lower bound", f"{found.lower}"), ("upper bound", f"{found.upper}")]
    if not found.lower <= expected <= found.upper:
        raise Mismatch(failure(f"the dimension is not {expected}: it lies between the bounds", lines))
    raise NotDecided(failure(f"it is undecided whether the dimension is {expected}: the bounds do not meet", lines))
