"""Strategies for hypothesis: networks, and exact weights of every kind, those that random ones never are among them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from lightning_sym.errors import BadInput
from lightning_sym.lazy import import_extra
from lightning_sym.limits import require_integer
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.pieces import SHAPED
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.normalization import SOFTMAX

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Draw = Callable[[object], Any]
Matrices = dict[str, ObjectArray]


def _hypothesis() -> ModuleType:
    return import_extra("hypothesis.strategies", "testing", "a strategy")


def architectures(
    *,
    max_depth: int = 2,
    max_width: int = 3,
    max_rank: int = 3,
    max_tokens: int = 3,
    options: Collection[str] = (),
) -> SearchStrategy[Architecture]:
    """Return networks up to these sizes; they shrink to one layer of width one without options.

    Args:
        max_depth: layers.
        max_width: of the stream, embedding and unembedding included.
        max_rank: query/key widths, value widths and heads.
        max_tokens: of the input.
        options: fields of `Architecture` that may be more than nothing: `normalization` (softmax), `heads`,
            `value_ranks`, `skip`, `causal`, `embed`, `unembed`.

    Raises:
        MissingExtra: hypothesis is not there.
        BadInput: an option that is not known, or a size that is not positive.

    Example:
        >>> from hypothesis import find
        >>> find(architectures(options={"causal", "skip"}), lambda network: network.causal)
        Architecture(widths=(1, 1), attention_ranks=(1,), tokens=1, causal=True)
    """
    st = _hypothesis()
    for name, size in (("depth", max_depth), ("width", max_width), ("rank", max_rank), ("tokens", max_tokens)):
        require_integer(size, f"max_{name}", 1)
    if unknown := sorted(set(options) - SHAPED):
        raise BadInput(f"options must be among {', '.join(sorted(SHAPED))}, got {', '.join(map(str, unknown))}")

    def draw_one(draw: Draw) -> Architecture:
        depth = draw(st.integers(1, max_depth))
        width, rank = st.integers(1, max_width), st.integers(1, max_rank)
        ranks = st.tuples(*[rank] * depth)
        kinds = {
            "normalization": st.sampled_from([None, SOFTMAX]), "heads": rank, "value_ranks": st.none() | ranks,
            "skip": st.booleans(), "causal": st.booleans(), "embed": st.none() | width, "unembed": st.none() | width,
        }  # fmt: skip
        drawn = {name: draw(kind) for name, kind in kinds.items() if name in options}
        widths = (draw(width),) * (depth + 1) if drawn.get("skip") else draw(st.tuples(*[width] * (depth + 1)))
        return Architecture(widths, draw(ranks), draw(st.integers(1, max_tokens)), **drawn)

    found: SearchStrategy[Architecture] = st.composite(draw_one)()
    return found


def exact_weights(
    network: Architecture, *, bound: int = 3, denominator: int = 1, kinds: Collection[str] | None = None
) -> SearchStrategy[Weights]:
    """Return exact weights of a network, with its form: any, and those where geometry is special.

    Args:
        network: the shape; the weights do not depend on its tokens.
        bound: numerators lie between `-bound` and `bound`; where entries are products, so do their factors.
        denominator: powers of two up to this one are denominators, so that weights are floats too.
        kinds: some of the keys of `KINDS`, by default all that the network can have.

    Raises:
        MissingExtra: hypothesis is not there.
        BadInput: an option whose weights are not known, a kind that is not known, or none that the network can have.

    Example:
        >>> from hypothesis import find
        >>> network = Architecture((2, 1), (2,), 2)
        >>> find(exact_weights(network, kinds={"skew"}), lambda w: w["K1"].any())["K1"].astype(int).tolist()
        [[0, 1], [0, 0]]
    """
    if not isinstance(network, Architecture):
        raise BadInput(f"the network must be an Architecture, got {type(network).__name__}")
    network.require("strategies for weights", SHAPED)
    st = _hypothesis()
    require_integer(bound, "the bound", 1)
    require_integer(denominator, "the denominator", 1)
    asked = list(KINDS) if kinds is None else [kind for kind in KINDS if kind in kinds]
    if unknown := sorted(set(kinds or ()) - set(KINDS)):
        raise BadInput(f"kinds must be among {', '.join(KINDS)}, got {', '.join(map(str, unknown))}")
    possible = [kind for kind in asked if KINDS[kind].fits(network)]
    if not possible:
        raise BadInput(
            f"weights of the kind {' or '.join(asked)} must be asked of a network that has them, got {network}"
        )
    powers = [2**i for i in range(denominator.bit_length())]
    number = st.integers(-bound, bound)
    if denominator > 1:
        number = st.builds(Fraction, number, st.sampled_from(powers))

    def of_kind(kind: str) -> Any:
        def draw_one(draw: Draw) -> Weights:
            def matrix(rows: int, columns: int) -> ObjectArray:
                entries = draw(st.lists(number, min_size=rows * columns, max_size=rows * columns))
                result = np.empty(rows * columns, dtype=object)
                result[:] = list(map(Fraction, entries))
                return result.reshape(rows, columns)

            named = {name: matrix(*shape) for name, shape in network.weight_shapes()}
            layer = draw(st.integers(1, network.depth))
            KINDS[kind].bend(named, network, layer, matrix)
            return Weights.of(named, NetworkForm.of(network))

        return st.composite(draw_one)()

    found: SearchStrategy[Weights] = st.one_of(*map(of_kind, possible))
    return found


Source = Callable[[int, int], ObjectArray]


class _WeightsKind:
    """A kind of weights: which networks have them, and how any weights become such ones."""

    def __init__(
        self, bend: Callable[[Matrices, Architecture, int, Source], None], fits: Callable[[Architecture], bool]
    ) -> None:
        self.bend, self.fits = bend, fits


def _heads(network: Architecture, layer: int) -> list[str]:
    return [network.head_name(layer, h) for h in range(1, network.heads + 1)]


def _in_first_row(row: ObjectArray, rows: int) -> ObjectArray:
    """Return a matrix that is zero but for its first row."""
    result = np.full((rows, row.shape[1]), Fraction(0), dtype=object)
    result[0] = row[0]
    return result


def _zero(named: Matrices, network: Architecture, layer: int, source: Source) -> None:
    """Make the values of a layer zero."""
    for head in _heads(network, layer):
        named[f"V{head}"] = named[f"V{head}"] * 0


def _rank_one(named: Matrices, network: Architecture, layer: int, source: Source) -> None:
    """Make queries, keys and values of a layer of rank one at most."""
    for head in _heads(network, layer):
        for letter in "QKV":
            rows, columns = named[letter + head].shape
            named[letter + head] = source(rows, 1) @ source(1, columns)


def _equal_heads(named: Matrices, network: Architecture, layer: int, source: Source) -> None:
    """Make all heads of a layer its first."""
    first, *others = _heads(network, layer)
    for letter in "QKVO":
        for head in others if letter + first in named else []:
            named[letter + head] = named[letter + first].copy()


def _skew(named: Matrices, network: Architecture, layer: int, source: Source) -> None:
    """Make the attention matrix of a layer skew: `q p^T - p q^T`, or zero where there is one row."""
    for head in _heads(network, layer):
        query = named[f"Q{head}"].copy()
        query[2:] = Fraction(0)
        key = query * 0
        if len(query) > 1:
            key[0], key[1] = query[1], -query[0]
        named[f"Q{head}"], named[f"K{head}"] = query, key


def _boundary(named: Matrices, network: Architecture, layer: int, source: Source) -> None:
    """Make `A = h q^T` and `V = v h^T`: functions that are limits of others, on the boundary for one layer."""
    for head in _heads(network, layer):
        rows, columns = named[f"V{head}"].shape
        h = source(1, columns)
        rank = len(named[f"Q{head}"])
        named[f"K{head}"] = _in_first_row(h, rank)
        named[f"Q{head}"] = _in_first_row(source(1, columns), rank)
        named[f"V{head}"] = source(rows, 1) @ h


def _shared_factors(named: Matrices, network: Architecture, layer: int, source: Source) -> None:
    """Give the forms of the first two layers a linear factor in common: `(w x)(q x)` and `(w x)(m V x)`."""
    one, two = (_heads(network, i)[0] for i in (1, 2))
    rank, width = named[f"Q{one}"].shape
    w = source(1, width)
    named[f"K{one}"], named[f"Q{one}"] = _in_first_row(w, rank), _in_first_row(source(1, width), rank)
    rank, width = named[f"Q{two}"].shape
    first = np.array([[Fraction(int(i == 0)) for i in range(width)]], dtype=object)
    named[f"K{two}"], named[f"Q{two}"] = _in_first_row(first, rank), _in_first_row(source(1, width), rank)
    value = named[f"V{one}"].copy()
    value[0] = w[0]
    named[f"V{one}"] = value


KINDS = {
    "zero": _WeightsKind(_zero, lambda network: True),
    "rank one": _WeightsKind(_rank_one, lambda network: True),
    "equal heads": _WeightsKind(_equal_heads, lambda network: network.heads > 1),
    "skew": _WeightsKind(_skew, lambda network: True),
    "boundary": _WeightsKind(_boundary, lambda network: True),
    "shared factors": _WeightsKind(
        _shared_factors,
        lambda network: network.depth > 1 and network.heads == 1 and network.value_ranks is None and not network.skip,
    ),
    "any": _WeightsKind(lambda named, network, layer, source: None, lambda network: True),
}
"""The kinds of weights by name, the simplest first."""
