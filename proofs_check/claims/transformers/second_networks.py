"""Weights that miss one hypothesis of Corollary 5 of docs/transformer-fibers.md: with a second network, or without."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

from proofs_check.claims.transformers.small_networks import (
    A1,
    A2,
    SKEW,
    V1,
    V2,
    ZERO,
    HeadAV,
    Matrix,
    SmallNetwork,
    as_array,
    as_rows,
    identity,
    plus,
    times,
)

C: Matrix = ((1, -1), (1, 0))


class Given(NamedTuple):
    """Weights, whether `E` and `U` move too, and the condition that fails."""

    network: SmallNetwork
    ends: bool
    fails: str


class Case(NamedTuple):
    """A condition, two networks with one function that miss it, and two that do not and have two functions."""

    condition: str
    pair: tuple[SmallNetwork, SmallNetwork]
    restored: tuple[SmallNetwork, SmallNetwork]
    finding: str


def network(*layers: tuple[HeadAV, ...], tokens: int, causal: bool, skip: bool) -> SmallNetwork:
    """Return the network of these layers with `E = U = 1`."""
    one = identity(len(layers[0][0].attention))
    return SmallNetwork(one, layers, one, tokens, causal, skip)


def second_networks(*, quick: bool) -> Iterator[Case]:
    """Yield all of them, masked and not, with skips and without, where the hypothesis is one."""
    for causal, skip in product((False, True), repeat=2):
        yield from _of_two_tokens(causal=causal, skip=skip)
        yield from _of_any_tokens(causal=causal, skip=skip)
    yield from _without_skip()


def _of_two_tokens(*, causal: bool, skip: bool) -> Iterator[Case]:
    bottom = (HeadAV(C, V1),)

    def pair(tokens: int, ours: tuple[HeadAV, ...], theirs: tuple[HeadAV, ...]) -> tuple[SmallNetwork, SmallNetwork]:
        one, other = (network(bottom, top, tokens=tokens, causal=causal, skip=skip) for top in (ours, theirs))
        return one, other

    for condition, ours, theirs, finding in (
        (
            "c",
            (HeadAV(A1, V1), HeadAV(A2, times(-1, V1))),
            (HeadAV(times(-1, A1), times(-1, V1)), HeadAV(times(-1, A2), V1)),
            "(c) is needed: for t = 2 heads with V_1 + V_2 = 0 may both be turned around, for t = 3 not",
        ),
        (
            "a",
            (HeadAV(A1, V1), HeadAV(times(-1, A1), V2)),
            (HeadAV(A1, plus(V1, times(-1, V2))), HeadAV(ZERO, times(2, V2))),
            "(a) is needed in the last layer: for t = 2 A_2 = -A_1 is a head without scores, for t = 3 not",
        ),
    ):
        yield Case(condition, pair(2, ours, theirs), pair(3, ours, theirs), finding)


def _of_any_tokens(*, causal: bool, skip: bool) -> Iterator[Case]:
    for tokens in (2, 3):

        def pair(*layers: tuple[tuple[HeadAV, ...], ...], tokens: int = tokens) -> tuple[SmallNetwork, SmallNetwork]:
            one, other = (network(*each, tokens=tokens, causal=causal, skip=skip) for each in layers)
            return one, other

        merged = (HeadAV(A1, plus(V1, V2)), HeadAV(A2, ZERO))
        yield Case(
            "a",
            pair(((HeadAV(A1, V1), HeadAV(A1, V2)),), (merged,)),
            pair(((HeadAV(A1, V1), HeadAV(C, V2)),), (merged,)),
            "(a) is needed: equal heads of one layer merge",
        )
        yield Case(
            "b", pair(((HeadAV(A1, V1), HeadAV(A2, ZERO)),), ((HeadAV(A1, V1), HeadAV(C, ZERO)),)),
            pair(((HeadAV(A1, V1), HeadAV(A2, V2)),), ((HeadAV(A1, V1), HeadAV(C, V2)),)),
            "(b) is needed: the scores of a head that writes nothing are not seen",
        )  # fmt: skip
        if skip:
            yield _moved(tokens, causal)
        yield _narrow(tokens, causal, skip)


def _moved(tokens: int, causal: bool) -> Case:
    """Return two pairs of coordinates: `other` does not see what the two others do."""

    low, high, seen = (HeadAV(a, v).padded(0, 2) for a, v in ((A1, V1), (A2, V2), (C, V1)))
    other = HeadAV(C, V1).padded(2, 0)
    of = partial(network, tokens=tokens, causal=causal, skip=True)
    pairs = [(of((low, head), (high,)), of((low,), (high, head))) for head in (other, seen)]
    return Case("", pairs[0], pairs[1], "at most as many heads in each layer: a head may move to another layer")


def _narrow(tokens: int, causal: bool, skip: bool) -> Case:
    """Return one word in width two: the second entry of the first scores is not seen."""
    heads = (HeadAV(A1, V1),), (HeadAV(plus(A1, ((0, 0), (0, 3))), V1),)

    def pair(embed: Matrix) -> tuple[SmallNetwork, SmallNetwork]:
        one, other = (SmallNetwork(embed, (each,), identity(2), tokens, causal, skip) for each in heads)
        return one, other

    return Case(
        "ranks", pair(((1,), (0,))), pair(identity(2)), "full ranks are needed: a narrow embedding hides entries of A"
    )


def _without_skip() -> Iterator[Case]:
    def pair(tokens: int, causal: bool, *attention: tuple[Matrix, Matrix]) -> tuple[SmallNetwork, SmallNetwork]:
        one, other = (
            network((HeadAV(a, V1),), (HeadAV(b, V2),), tokens=tokens, causal=causal, skip=False) for a, b in attention
        )
        return one, other

    yield Case(
        "a'", pair(2, False, (SKEW, A1), (SKEW, A2)), pair(2, False, (C, A1), (C, A2)),
        "(a') is needed without skip: for t = 2 a skew layer is blind",
    )  # fmt: skip
    moved = as_array(V1)  # the second layer reads V x: V^T B V stands for its scores
    inverse: Matrix = ((1, -1), (0, 1))
    back = as_rows(2 * as_array(inverse).T @ as_array(SKEW) @ as_array(inverse))
    assert (as_array(inverse) @ moved == as_array(identity(2))).all()  # noqa: S101
    yield Case(
        "a", pair(2, True, (SKEW, ZERO), (ZERO, back)), pair(2, True, (SKEW, A1), (ZERO, back)),
        "(a) is needed: causal, t = 2, no skip: (B, 0) and (0, 2 B) with skew B in virtual weights",
    )  # fmt: skip


def still_the_orbit(*, quick: bool) -> Iterator[Given]:
    """Yield networks where a condition fails and no second one was found: the kernel is as small as with it."""
    minus = times(-1, identity(2))
    e = ((0, 0), (1, 0))
    for tokens, causal in product((2, 3), (False, True)):

        def of(*layers: tuple[HeadAV, ...], tokens: int = tokens, causal: bool = causal) -> SmallNetwork:
            return network(*layers, tokens=tokens, causal=causal, skip=True)

        yield Given(of((HeadAV(A1, V1), HeadAV(times(2, A1), V2)), (HeadAV(A2, V1),)), False, "a")
        if tokens == 3:
            yield Given(of((HeadAV(A1, V1), HeadAV(A2, times(-1, V1)))), True, "")
        if not causal:
            yield Given(of((HeadAV(A1, V1),), (HeadAV(A2, minus),)), False, "b")
            yield Given(of((HeadAV(SKEW, V1),), (HeadAV(A2, V1),)), False, "a'")
            if tokens == 2:
                yield Given(of((HeadAV(A1, e),), (HeadAV(A2, e),)), False, "c")
