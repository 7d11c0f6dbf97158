r"""The symmetry between two networks whose streams move together: which heads go together, and the group element.

Where the stacked stream of `common_streams` is `(x, G_i x)` with an invertible matrix, that is the basis change of the
stream. Then heads are paired one by one, and the basis changes inside of heads are found where they are unique, that
is where queries or keys, values or projections, have independent rows or columns. A group element is reported only if
`transform` with it gives the second network out of the first, entry by entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from lightning_sym.display import Lines, Result, latex_lines, latex_matrix, rows_in_line, spelled
from lightning_sym.exact.subspaces import intertwiner
from lightning_sym.fibers.transform import transform
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import HeadCircuits, NetworkCircuits
from lightning_sym.system.common_streams import FIXED, CommonStreams

Members = tuple[tuple[str, Fraction], ...]
"""Heads with one attention pattern: names, as in the names of their matrices, and the factor of the pattern: 1, or -1
for opposite scores (two tokens), or any number for lightning attention."""

Together = tuple[Members, Members]
"""The heads of the first network and of the second that have one pattern."""


def together_text(together: Together) -> str:
    """Return heads that go together as the command `same` prints them.

    Example:
        >>> together_text(((("1.2", Fraction(1)),), (("1.1", Fraction(1)), ("1.3", Fraction(-1)))))
        '1.2 ~ 1.1 + -1.3'
    """
    return " ~ ".join(" + ".join(_named(*member) for member in side) or "none" for side in together)


def _named(name: str, factor: Fraction) -> str:
    return name if factor == 1 else f"-{name}" if factor == -1 else f"({spelled(factor)}) {name}"


HeadName: TypeAlias = int | str
"""A layer, from 1, where there is one head a layer, else layer and head, such as `1.2`."""


@dataclass(frozen=True, eq=False, repr=False)
class StreamSymmetry(Result):
    r"""Heads that go together, and the group element where one was found.

    Attributes:
        layers: by layer, the heads that have one pattern, of the first network and of the second.
        arranged: whether heads were merged, left out or moved to other layers first: layers are then not those of the
            networks, and several heads with one name each stand for one.
        between, query_key, value_output, scales, heads: arguments of `transform` that map the first network to the
            second, or `None`. They were applied, and the result compared entry by entry.
    """

    layers: tuple[tuple[Together, ...], ...]
    arranged: bool = False
    between: dict[int, ObjectArray] | None = None
    query_key: dict[int, ObjectArray] | dict[str, ObjectArray] | None = None
    value_output: dict[int, ObjectArray] | dict[str, ObjectArray] | None = None
    scales: dict[int, Fraction] | dict[str, Fraction] | None = None
    heads: dict[int, tuple[int, ...]] | None = None

    def lines(self) -> Lines:
        """Return the lines as the command `same` prints them."""
        lines = [
            (f"layer {i}", "; ".join(map(together_text, classes)) or "no heads")
            for i, classes in enumerate(self.layers, start=1)
        ]
        if self.arranged:
            lines.append(
                ("layers", "after heads were merged, left out or moved to earlier layers, as nothing reads them")
            )
        if self.between is None:
            return lines
        for name, letter, group in (
            ("stream", "G", self.between),
            ("basis", "C", self.query_key),
            ("values", "B", self.value_output),
        ):
            lines += [(f"{name} {letter}{i}", rows_in_line(m)) for i, m in sorted((group or {}).items())]
        if self.scales:
            lines.append(("scales", ", ".join(f"s{i} = {spelled(s)}" for i, s in sorted(self.scales.items()))))
        for i, order in (self.heads or {}).items():
            if list(order) != sorted(order):
                lines.append(("heads", f"of layer {i} in the order {', '.join(map(str, order))}"))
        values = "V' = B V G^-1, O' = H O B^-1" if self.value_output else "V' = H V G^-1"
        act = f"Q' = C^-T Q G^-1, K' = C K G^-1, {values}; G, H before and after the layer; then heads change places"
        lines.append(("act by", act if not self.scales else f"Q' = s Q, V' = V / s, and {act}"))
        return [*lines, ("checked", "applied to the first network it gives the second, entry by entry")]

    def formulas(self) -> list[str]:
        """Return the basis changes of the stream."""
        return [rf"G_{{{i}}} = {latex_matrix(m)}" for i, m in (self.between or {}).items()]

    def _latex(self) -> str:
        return latex_lines(self.formulas() or [r"\varphi_{W'} = \varphi_W"])


def head_classes(
    streams: CommonStreams, names: tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]
) -> tuple[tuple[Together, ...], ...]:
    """Return the heads of each layer by the letter of their pattern; `names` by network, layer and head."""
    result = []
    for i, common in enumerate(streams.layers):
        letters = sorted({letter for side in common.spelled for spelling in side for letter in spelling} - {FIXED})
        classes = []
        for letter in letters:
            first, second = (
                tuple((names[s][i][h], x[letter]) for h, x in enumerate(common.spelled[s]) if letter in x)
                for s in (0, 1)
            )
            classes.append((first, second))
        uniform = [
            tuple((names[s][i][h], Fraction(1)) for h, x in enumerate(common.spelled[s]) if set(x) <= {FIXED})
            for s in (0, 1)
        ]
        if any(uniform):
            classes.append((uniform[0], uniform[1]))
        result.append(tuple(classes))
    return tuple(result)


@dataclass(eq=False)
class _ElementSearch:
    """A group element that grows layer by layer."""

    shape: Architecture
    between: dict[int, RationalMatrix]
    query_key: dict[HeadName, ObjectArray] = field(default_factory=dict)
    value_output: dict[HeadName, ObjectArray] = field(default_factory=dict)
    scales: dict[HeadName, Fraction] = field(default_factory=dict)
    heads: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def inside(self, layer: int, h: int, old: HeadCircuits, new: HeadCircuits, scale: Fraction) -> bool:
        """Return whether basis changes inside of head `h` were found, which are kept then."""
        name: HeadName = layer if self.shape.heads == 1 else f"{layer}.{h}"  # as `transform` calls a head
        back = self.between[layer - 1]
        if (change := intertwiner(old.key, new.key @ back, new.query @ back, old.query.scaled(scale))) is None:
            return False
        self.query_key[name] = change.fractions()
        if scale != 1:
            self.scales[name] = scale
        if old.output is not None:
            value, seen = old.inner_value.scaled(1 / scale), (self.between[layer] @ old.output).mT
            if (change := intertwiner(value, new.inner_value @ back, new.output.mT, seen)) is None:
                return False
            self.value_output[name] = change.fractions()
        return True


def group_element(first: Weights, second: Weights, streams: CommonStreams) -> dict[str, Any] | None:
    """Return arguments of `transform` that map the first network to the second; `None` where none are found.

    Raises:
        BadInput: there are letters.
    """
    first.require_numbers("a group element")
    second.require_numbers("a group element")
    shape = first.architecture(1)
    if first.too_many or second.too_many:  # the group element would have as many entries
        return None
    if shape != second.architecture(1) or (between := _stream_matrices(shape, streams)) is None:
        return None
    search = _ElementSearch(shape, between)
    circuits = NetworkCircuits.of(first), NetworkCircuits.of(second)
    for i, common in enumerate(streams.layers, start=1):
        if not _paired(search, i, [list(c.layers[i - 1]) for c in circuits], common.spelled):
            return None
    free = [i for i in between if (i or shape.embed is not None) and (i < shape.depth or shape.unembed is not None)]
    if shape.skip:
        free = free[:1] if shape.embed is not None and shape.unembed is not None else []
    found: dict[str, Any] = {
        "between": {i: between[i].fractions() for i in free},
        "query_key": search.query_key,
        "value_output": search.value_output or None,
        "scales": search.scales or None,
        "heads": search.heads,
    }
    return found if transform(first, **found) == second else None


def _stream_matrices(shape: Architecture, streams: CommonStreams) -> dict[int, RationalMatrix] | None:
    """Return $G_i$ with second stream = $G_i$ first stream, or `None` if a layer has no such matrix."""
    spaces = [*(common.reached for common in streams.layers), streams.reached]
    found = {}
    for i, (space, width) in enumerate(zip(spaces, shape.widths, strict=True)):
        if space.pivots == tuple(range(width)):
            matrix = space.basis.rows(range(width, 2 * width))
            if matrix.rank() == width:
                found[i] = matrix
    if shape.skip and found:  # all are one
        found = dict.fromkeys(range(shape.depth + 1), next(iter(found.values())))
    return found if len(found) == shape.depth + 1 else None


def _paired(
    search: _ElementSearch,
    layer: int,
    heads: Sequence[Sequence[HeadCircuits]],
    spelled: Sequence[Sequence[dict[int, Fraction]]],
) -> bool:
    """Return whether the heads of a layer could be paired one by one, by equal letters and equal circuits."""
    before, after = search.between[layer - 1], search.between[layer]
    lightning = search.shape.normalization is None
    free = list(range(len(heads[0])))
    order = []
    for target, spelling in zip(heads[1], spelled[1], strict=True):
        if lightning:
            scales = {old: _scale(spelled[0][old], spelling) for old in free}
        else:  # equal circuits are written in the same letters
            scales = {old: Fraction(1) for old in free if spelled[0][old] == spelling}
        possible = {old: scale for old, scale in scales.items() if scale}
        if len(possible) > 1:  # one alone is tried at once: what is found is applied and compared in the end
            attention, value = before.mT @ target.attention @ before, target.value @ before
            possible = {
                old: scale
                for old, scale in possible.items()
                if heads[0][old].attention.scaled(scale) == attention
                and after @ heads[0][old].value == value.scaled(scale)
            }
        for old, scale in possible.items():
            if search.inside(layer, old + 1, heads[0][old], target, scale):
                order.append(old + 1)
                free.remove(old)
                break
        else:
            return False
    search.heads[layer] = tuple(order)
    return True


def _scale(old: dict[int, Fraction], new: dict[int, Fraction]) -> Fraction | None:
    """Return the number that one pattern is multiplied with to be the other."""
    if old.keys() != new.keys():
        return None
    ratios = {new[letter] / old[letter] for letter in old} or {Fraction(1)}
    return ratios.pop() if len(ratios) == 1 else None
