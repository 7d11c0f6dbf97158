"""Families of architectures: a grid of sizes and options, or so many networks drawn from it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from math import prod
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.display import latex_words, notebook
from lightning_sym.errors import BadInput
from lightning_sym.limits import require_integer
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import FORM_CHOICES, NetworkForm
from lightning_sym.network.pieces import SIZED

MOST_NETWORKS = 10**7
"""Networks of a family; a grid that has more is drawn from, with `count`."""

_DEEPEST, _TRIES = 1000, 10_000
_LONGEST_FILE = 2**20

Sizes = tuple[int, ...]
Value = int | str | bool | None
"""What a family may say of an option: a size or none, a word, or whether it is there."""
T = TypeVar("T")


def _range(text: str, name: str) -> tuple[int, ...]:
    first, dots, last = text.partition("..")
    if not (dots and first.isdecimal() and last.isdecimal() and len(last) < 10):
        raise BadInput(f"{name} must be integers, or a range such as '1..4', got {shown(text)}")
    low, high = int(first), int(last)
    if not low <= high < low + MOST_NETWORKS:
        raise BadInput(f"{name} must be a range from a smaller to a larger number, got {shown(text)}")
    return tuple(range(low, high + 1))


def _values(value: object, name: str) -> tuple[Value, ...]:
    """Return what a key may have: one value, a list, or for sizes a range; none twice."""
    found: list[Value] = []
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if name in FORM_CHOICES and isinstance(item, str) and item == "both":
            found += FORM_CHOICES[name]
        elif name in FORM_CHOICES:
            if not any(item is choice or (isinstance(item, str) and item == choice) for choice in FORM_CHOICES[name]):
                choices = ", ".join(str(choice).lower() for choice in (*FORM_CHOICES[name], "both"))
                raise BadInput(f"{name} must be of {choices}, got {shown(item)}")
            found.append(item)
        elif name in SIZED and item in (None, "none"):
            found.append(None)
        elif isinstance(item, str):
            found += _range(item, name)
        else:
            require_integer(item, name, 1, _DEEPEST if name == "depth" else 10**9)
            found.append(item)
    if not found:
        raise BadInput(f"{name} must name a value at least, got none")
    return tuple(dict.fromkeys(found))


def _lists(values: Sequence[int | None], depth: int) -> int:
    """Return how many lists of value ranks there are, none counted as one."""
    numbers = sum(value is not None for value in values)
    return int(numbers < len(values)) + (int(numbers**depth) if numbers else 0)


@dataclass(frozen=True, repr=False)
class Family:
    """A grid of architectures: every combination of what the fields list, or `count` of them, drawn at random.

    Attributes:
        depth: how many layers.
        widths: what each width may be; a network with skip connections has equal ones.
        ranks: what each query/key width may be.
        tokens: how many tokens.
        heads: how many heads a layer.
        value_ranks: what each value width in front of an output projection may be; `None` for no projection.
        embed: columns of an embedding, `None` for none.
        unembed: rows of an unembedding, `None` for none.
        normalization: `none` or `softmax`; `both` says as much as the two.
        mask: `none` or `causal`, or `both`.
        skip: false or true, or `both`.
        uniform: the same width, rank and value rank in all layers.
        largest: leave out networks with more parameters.
        count: draw so many different networks; the whole grid without it.
        seed: picks what is drawn.

    Raises:
        BadInput: a field holds something else, or the grid is too large to be listed.

    Example:
        >>> family = Family.of({"depth": "1..2", "widths": [2, 3], "ranks": 1, "tokens": 2, "uniform": True})
        >>> [str(network) for network in family.networks()][::3]
        ['widths 2,2, ranks 1, tokens 2', 'widths 3,3,3, ranks 1,1, tokens 2']
    """

    depth: tuple[int, ...]
    widths: tuple[int, ...]
    ranks: tuple[int, ...]
    tokens: tuple[int, ...]
    heads: tuple[int, ...] = (1,)
    value_ranks: tuple[int | None, ...] = (None,)
    embed: tuple[int | None, ...] = (None,)
    unembed: tuple[int | None, ...] = (None,)
    normalization: tuple[str, ...] = ("none",)
    mask: tuple[str, ...] = ("none",)
    skip: tuple[bool, ...] = (False,)
    uniform: bool = False
    largest: int | None = None
    count: int | None = None
    seed: int = 0

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Family:
        """Return a family from its keys, as they stand in a TOML file.

        Raises:
            BadInput: a key is unknown or missing, or has a value that it cannot have.
        """
        require_arguments(cls.of, locals())
        known = {field.name for field in fields(cls)}
        needed = {"depth", "widths", "ranks", "tokens"}
        if wrong := sorted(str(key)[:40] for key in (set(said) - known) | (needed - set(said))):
            raise BadInput(f"a family must have depth, widths, ranks, tokens; missing or unknown: {', '.join(wrong)}")
        given: dict[str, Any] = {}
        for name, value in said.items():
            if name == "uniform":
                if not isinstance(value, bool):
                    raise BadInput(f"uniform must be true or false, got {shown(value)}")
                given[name] = value
            elif name in ("largest", "count", "seed"):
                require_integer(value, name, 0 if name == "seed" else 1)
                given[name] = value
            else:
                given[name] = _values(value, name)
        family = cls(**given)
        if family.count is None and family.grid > MOST_NETWORKS:
            raise BadInput(f"a grid must have at most {MOST_NETWORKS:,} networks, this one is larger; count draws some")
        if (family.count or 0) > MOST_NETWORKS:
            raise BadInput(f"count must be at most {MOST_NETWORKS:,}, got {family.count:,}")
        return family

    def __repr__(self) -> str:
        """Return the family as it would be typed, with only the fields that were set."""
        shown = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Family({', '.join(shown)})"

    def _repr_latex_(self) -> str:
        said = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return notebook(latex_words("; ".join(f"{name} {value}" for name, value in said.items())))

    @property
    def _options(self) -> tuple[tuple[Value, ...], ...]:
        return (self.tokens, self.heads, self.embed, self.unembed, self.normalization, self.mask, self.skip)

    @property
    def grid(self) -> int:
        """How many combinations there are, at most; those with skip connections and unequal widths count too."""
        each = prod(len(values) for values in self._options)
        widths, ranks, values = len(self.widths), len(self.ranks), len(self.value_ranks)
        if self.uniform:
            return each * widths * ranks * values * len(self.depth)
        return each * sum(int(widths ** (i + 1) * ranks**i) * _lists(self.value_ranks, i) for i in self.depth)

    def _network(
        self, widths: Sizes, ranks: Sizes, values: Sizes | None, options: Sequence[Any]
    ) -> Architecture | None:
        """Return a combination, unless there is no such network or it is too large."""
        tokens, heads, embed, unembed, normalization, mask, skip = options
        if skip and len(set(widths)) > 1:
            return None
        form = NetworkForm.named(normalization, mask, skip)
        network = Architecture(
            widths, ranks, tokens, form.normalization, heads, values, skip, form.causal, embed, unembed,
        )  # fmt: skip
        return network if self.largest is None or network.parameter_count <= self.largest else None

    def _layers(self, depth: int) -> Iterator[tuple[Sizes, Sizes, Sizes | None]]:
        """Yield widths, ranks and value ranks of all networks of a depth."""
        if self.uniform:
            for d, a, b in product(self.widths, self.ranks, self.value_ranks):
                yield (d,) * (depth + 1), (a,) * depth, None if b is None else (b,) * depth
            return
        numbers = tuple(b for b in self.value_ranks if b is not None)
        plain = [None] if None in self.value_ranks else []
        for widths in product(self.widths, repeat=depth + 1):
            for ranks in product(self.ranks, repeat=depth):
                for values in (*plain, *(product(numbers, repeat=depth) if numbers else ())):
                    yield widths, ranks, values

    def networks(self) -> Iterator[Architecture]:
        """Yield the networks, each once, always in the same order.

        Raises:
            BadInput: fewer different ones were found than are to be drawn.
        """
        if self.count is None:
            for depth in self.depth:
                for sizes in self._layers(depth):
                    for options in product(*self._options):
                        if (network := self._network(*sizes, options)) is not None:
                            yield network
            return
        generator = np.random.default_rng(self.seed)
        found: set[Architecture] = set()
        in_vain = 0
        while in_vain < _TRIES + 20 * len(found):  # by then, nearly all that there are have been found
            network = self._drawn(generator)
            if network is None or network in found:
                in_vain += 1
                continue
            in_vain = 0
            found.add(network)
            yield network
            if len(found) == self.count:
                return
        raise BadInput(f"count must be at most the number of different networks, found only {len(found)}")

    def _drawn(self, generator: np.random.Generator) -> Architecture | None:
        def one(values: Sequence[T]) -> T:
            return values[int(generator.integers(len(values)))]

        def some(values: Sequence[T], number: int) -> tuple[T, ...]:
            return (one(values),) * number if alike else tuple(one(values) for _ in range(number))

        depth, options = one(self.depth), tuple(one(values) for values in self._options)
        alike = self.uniform
        ranks = some(self.ranks, depth)
        numbers = [b for b in self.value_ranks if b is not None]
        projected = one(self.value_ranks) is not None
        values = some(numbers, depth) if projected else None
        alike = self.uniform or bool(options[-1])  # skip connections need equal widths
        return self._network(some(self.widths, depth + 1), ranks, values, options)


def family_keys(file: str | PathLike[str]) -> dict[str, Any]:
    """Return what a TOML file says of a family, unchecked: `Family.of` takes it.

    Raises:
        BadInput: the file cannot be read, or is no TOML.
    """
    require_arguments(family_keys, locals())
    named = f"a family must be a TOML file of at most {_LONGEST_FILE:,} bytes, {os.fspath(file)[:60]!r}"
    try:
        if os.path.exists(file) and not os.path.isfile(file):  # a pipe would keep us waiting
            raise BadInput(f"{named} cannot be read: it is no regular file")
        with open(file, "rb") as stream:
            text = stream.read(_LONGEST_FILE + 1)
        if len(text) > _LONGEST_FILE:
            raise BadInput(f"{named} is longer")
        return tomllib.loads(text.decode())
    except OSError as error:
        raise BadInput(f"{named} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{named} is none: {' '.join(str(error).split())[:80]}") from error
