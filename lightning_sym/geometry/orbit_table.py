r"""All functions of one layer, `t >= 2`, orbit by orbit: the table `(rk V, rk A, dim row V meet col A)`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Lines, Result, labelled
from lightning_sym.errors import ShapeError
from lightning_sym.geometry.layer_orbits import LayerOrbit, pair_orbits
from lightning_sym.limits import DEFAULT_MEMORY, require_memory
from lightning_sym.network.architecture import Architecture, network_line

BYTES_AN_ORBIT = 1000
"""With its line of text."""

SOURCE = "docs/one-layer.md, Proposition 1 and Theorems 4 and 5"
"""Where orbits, tangent spaces and kinds are proved."""

HEAD = ("rk V", "rk A", "meet", "dimension", "tangent space")


@dataclass(frozen=True, repr=False, eq=False)
class OrbitTable(Result):
    r"""The orbits of one layer's functions.

    Attributes:
        architecture: one layer, two or more tokens.
        orbits: one for each orbit of functions, $\phi = 0$ first; the others by `rk V`, `rk A` and `common`.
    """

    architecture: Architecture
    orbits: tuple[LayerOrbit, ...]

    def __len__(self) -> int:
        return len(self.orbits)

    def __iter__(self) -> Iterator[LayerOrbit]:
        return iter(self.orbits)

    @cached_property
    def singular(self) -> tuple[LayerOrbit, ...]:
        """The orbits of singular points."""
        return tuple(orbit for orbit in self.orbits if orbit.is_singular)

    @property
    def dimension(self) -> int:
        r"""$\dim \mathcal M$."""
        return self.orbits[0].manifold_dimension

    @property
    def singular_dimension(self) -> int | None:
        """Dimension of the singular locus; `None` if there is none."""
        return max((orbit.dimension for orbit in self.singular), default=None)

    def lines(self) -> Lines:
        """Return the lines as the command `classify --orbits` prints them."""
        numbers = [(o.value, o.attention, o.common, o.dimension, o.tangent_dimension) for o in self.orbits]
        cells = [HEAD, *(tuple(f"{n:,}" for n in row) for row in numbers)]
        wide = [max(len(row[i]) for row in cells) for i in range(len(HEAD))]
        table = ["  ".join(f"{cell:>{w}}" for cell, w in zip(row, wide, strict=True)) for row in cells]
        kinds = ["kind", *(", ".join(label.value for label in o.labels) for o in self.orbits)]
        singular = "nothing" if self.singular_dimension is None else f"of dimension {self.singular_dimension:,}"
        return [
            ("network", network_line(self.architecture)),
            ("dimension of M", f"{self.dimension:,}, in a linear span of dimension {self.orbits[0].span:,}"),
            ("singular locus", singular),
            ("proof", SOURCE),
            (
                "of each orbit",
                "A = diag(1, ..., 1, 0, ...), V = (e_1, ..., e_meet, e_{rk A + 1}, ...) by rows, then zeros",
            ),
            *labelled("orbits", (f"{row}  {kind}" for row, kind in zip(table, kinds, strict=True))),
        ]

    def __repr__(self) -> str:
        return f"layer_orbits({self.architecture!r})"

    def _latex(self) -> str:
        shown = self.orbits if len(self) <= MOST_SHOWN else (*self.orbits[: MOST_SHOWN - 1], None, self.orbits[-1])
        head = r"\operatorname{rk} V & \operatorname{rk} A & \cap & \dim & \dim T & \text{}"
        rows = [r"\vdots & & & & &" if o is None else _latex(o) for o in shown]
        return r"\begin{array}{rrrrrl}" + head + r"\\\hline " + r"\\".join(rows) + r"\end{array}"


MOST_SHOWN = 40
"""Rows of the table in a notebook."""


def _latex(o: LayerOrbit) -> str:
    numbers = (o.value, o.attention, o.common, o.dimension, o.tangent_dimension)
    words = ", ".join(label.value for label in o.labels)
    return " & ".join([*map(str, numbers), rf"\text{{{words}}}"])


def layer_orbits(architecture: Architecture, *, memory: int = DEFAULT_MEMORY) -> OrbitTable:
    r"""Return all orbits of functions of one layer, with dimension, tangent space and kind of each; `t >= 2`.

    The group of $(g A h, k V g^\top)$ acts on the functions by linear maps (`docs/one-layer.md`, Proposition 1), so
    each orbit is all of one kind, and there are finitely many.

    Args:
        architecture: one layer of lightning attention, one head, nothing added, two tokens or more.
        memory: bytes that the table may take, by an estimate made before.

    Raises:
        BadInput: this is another network.
        TooLarge: there are too many orbits.

    Example:
        >>> table = layer_orbits(Architecture((3, 2), (2,), 2))
        >>> [(o.value, o.attention, o.common, o.tangent_dimension) for o in table.singular]
        [(0, 0, 0, 36), (1, 1, 0, 20), (1, 1, 1, 24), (2, 1, 0, 14), (2, 1, 1, 14)]
        >>> table.singular_dimension
        10
    """
    require_arguments(layer_orbits, locals())
    architecture.require_plain("the orbits of functions")
    if architecture.depth > 1 or architecture.tokens < 2:
        raise ShapeError(f"the orbits must be asked of one layer and two tokens or more, got {architecture}")
    (d, d_out), (a,) = architecture.widths, architecture.attention_ranks
    alpha, beta = min(a, d), min(d, d_out)
    most = (alpha + 1) * (beta + 1) * (min(alpha, beta) + 1)
    require_memory(BYTES_AN_ORBIT * most, memory, f"a table of up to {most:,} orbits")
    zero = LayerOrbit(d, d_out, alpha, value=0, attention=0, common=0)
    others = (orbit for orbit in pair_orbits(d, d_out, alpha) if not orbit.vanishes)
    return OrbitTable(architecture, (zero, *sorted(others, key=lambda o: (o.value, o.attention, o.common))))
