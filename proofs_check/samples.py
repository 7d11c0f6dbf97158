"""What claims are checked on: tables of instances, and random shapes, seeded, beyond the small ones.

The same arguments give the same shapes; none stands twice. What is too large to be checked in seconds is not drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, TypeVar

import numpy as np

from lightning_sym.errors import ProgramError
from lightning_sym.network.architecture import Architecture

T = TypeVar("T", bound=Hashable)
Range = tuple[int, int]
"""The smallest and the largest number that may be drawn."""


def listed(few: Iterable[T], more: Iterable[T] = ()) -> Callable[..., tuple[T, ...]]:
    """Return the instances of a part that are a table: the first ones where few are asked for, else all.

    Example:
        >>> instances = listed([(1, 2), (2, 2)], [(3, 4)])
        >>> instances(quick=True), instances(quick=False)
        (((1, 2), (2, 2)), ((1, 2), (2, 2), (3, 4)))
    """
    first, others = tuple(few), tuple(more)

    def instances(*, quick: bool) -> tuple[T, ...]:
        return first if quick else first + others

    return instances


MOST_REFUSED = 20_000
"""Draws in a row that are of no use: then there are no more shapes of this kind."""


class Dice:
    """Numbers in ranges, from a seed.

    Example:
        >>> dice = Dice(3)
        >>> dice.number((5, 5)), dice.numbers((2, 2), 3), dice.one_of((0.0, 1.0)), dice.chance(0.0)
        (5, (2, 2, 2), 2, False)
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def number(self, limits: Range) -> int:
        """Return one number, both limits included."""
        least, most = limits
        return int(self._generator.integers(least, most + 1))

    def numbers(self, limits: Range, count: int) -> tuple[int, ...]:
        """Return several numbers within these limits."""
        return tuple(self.number(limits) for _ in range(count))

    def one_of(self, shares: Sequence[float]) -> int:
        """Return 1, 2, ..., each in its share of all cases."""
        return int(self._generator.choice(len(shares), p=shares)) + 1

    def chance(self, share: float) -> bool:
        """Return `True` in this share of all cases."""
        return bool(self._generator.random() < share)


def distinct(draw: Callable[[Dice], T | None], count: int, seed: int) -> Iterator[T]:
    """Yield `count` different draws; `None` is drawn again.

    Args:
        draw: makes a shape, or `None` where it is of no use (outside the hypotheses, or too large).
        count: how many.
        seed: of the dice.

    Raises:
        ProgramError: there are not so many.

    Example:
        >>> sorted(distinct(lambda dice: dice.number((1, 3)), 3, seed=0))
        [1, 2, 3]
        >>> list(distinct(lambda dice: None, 1, seed=0))
        Traceback (most recent call last):
        lightning_sym.errors.ProgramError: 1 random shapes must be found, there are 0
    """
    dice, seen, refused = Dice(seed), set[T](), 0
    while len(seen) < count:
        shape = draw(dice)
        if shape is None or shape in seen:
            refused += 1
            if refused > MOST_REFUSED:
                raise ProgramError(f"{count} random shapes must be found, there are {len(seen)}")
            continue
        refused = 0
        seen.add(shape)
        yield shape


def random_networks(
    count: int,
    seed: int,
    *,
    depth: Range = (1, 1),
    width: Range = (1, 8),
    rank: Range = (1, 8),
    tokens: Range = (2, 4),
    heads: Range = (1, 1),
    value_rank: Range | None = None,
    wider: Range | None = None,
    parameters: Range = (1, 300),
    fits: Callable[[Architecture], bool] = lambda network: True,
    **options: Any,
) -> Iterator[Architecture]:
    """Return different networks with numbers from these ranges.

    Args:
        count: how many.
        seed: of the dice.
        depth: layers.
        width: of every place of the stream.
        rank: query/key widths.
        tokens: of the input.
        heads: of every layer.
        value_rank: widths of the values; `None` without output projections.
        wider: by how much the first and the last width are larger than all others, which are equal; `(0, 0)` is one
            width for the whole stream, as skip connections need it.
        parameters: how many weights a network may have: what is larger is drawn again.
        fits: further hypotheses.
        options: the other fields of `Architecture`, as they are (`skip`, `causal`, `normalization`, ...).

    Raises:
        ProgramError: there are not so many.

    Example:
        >>> networks = list(random_networks(20, 1, depth=(2, 2), width=(5, 8), parameters=(1, 200)))
        >>> len(set(networks)), max(n.parameter_count for n in networks) <= 200
        (20, True)
    """

    def draw(dice: Dice) -> Architecture | None:
        layers = dice.number(depth)
        if wider is None:
            widths = dice.numbers(width, layers + 1)
        else:
            inner = dice.number(width)
            widths = (inner + dice.number(wider), *(inner,) * (layers - 1), inner + dice.number(wider))
        network = Architecture(
            widths, dice.numbers(rank, layers), dice.number(tokens), heads=dice.number(heads),
            value_ranks=None if value_rank is None else dice.numbers(value_rank, layers), **options,
        )  # fmt: skip
        least, most = parameters
        return network if least <= network.parameter_count <= most and fits(network) else None

    return distinct(draw, count, seed)


def every_network(
    depths: Iterable[int],
    sizes: Sequence[int],
    ranks: Sequence[int],
    tokens: Sequence[int],
    fits: Callable[[Architecture], bool] = lambda network: True,
    **options: Any,
) -> Iterator[Architecture]:
    """Yield all networks with widths, query/key widths and tokens from these, one head a layer.

    Example:
        >>> len(list(every_network((1, 2), (1, 2), (1,), (2,), lambda n: n.widths[0] == 1)))
        6
    """
    for depth in depths:
        for widths, a, t in product(product(sizes, repeat=depth + 1), product(ranks, repeat=depth), tokens):
            if fits(network := Architecture(widths, a, t, **options)):
                yield network


def random_bottlenecks(
    count: int,
    seed: int,
    *,
    depth: Range = (2, 3),
    inner: Range = (4, 8),
    wider: Range = (0, 2),
    tokens: Range = (2, 3),
    **others: Any,
) -> Iterator[Architecture]:
    """Return different networks of one inner width, first and last widths not smaller.

    They are `random_networks` of this kind.

    Example:
        >>> {n.widths[1] for n in random_bottlenecks(9, 1, inner=(5, 5))}
        {5}
    """
    return random_networks(count, seed, depth=depth, width=inner, wider=wider, tokens=tokens, **others)
