r"""The singular locus of $\mathcal M$ and its equations, in small cases.

One layer and `t >= 2`: the locus is irreducible and is itself the set of functions of a network (`docs/one-layer.md`,
Theorem 5): query/key width $\alpha - 1$, or $\operatorname{rk} A = \operatorname{rk} V = 1$. So its ideal is found as
that of any variety, `equations`. Where $\mathcal M$ is a hypersurface of its linear span, whatever the network, the
partial derivatives of its equation say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Lines, Result, labelled, latex_words
from lightning_sym.errors import BadInput, ProgramError, TooLarge, no_truth_value
from lightning_sym.limits import DEFAULT_MEMORY, DEFAULT_WORK, Progress, Work
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.network.formats import ideal_text
from lightning_sym.varieties.coordinates import Coordinate
from lightning_sym.varieties.degree import MOST_DIGITS
from lightning_sym.varieties.equations import equations_within
from lightning_sym.varieties.known_ideal import Equations

if TYPE_CHECKING:
    from sympy import Poly


@no_truth_value("found.dimension == -1")
@dataclass(frozen=True, repr=False, eq=False)
class SingularLocus(Result):
    r"""The singular points of the closure of $\mathcal M$.

    Attributes:
        architecture: the network.
        locus: in words.
        dimension: of the locus; `None` where it is not known, -1 where it is empty.
        degree: of the locus; `None` where it is not known or the locus is empty.
        equations: of the locus, a reduced and irreducible variety, in the coordinates of the linear span of
            $\mathcal M$; `None` where they are not looked for.
        partial_derivatives: of the equation of $\mathcal M$ if it is a hypersurface of its linear span, else `None`.
            With that equation they generate the singular ideal.
        coordinates: what the variables of all these polynomials are.
    """

    architecture: Architecture
    locus: str
    dimension: int | None
    degree: int | None
    equations: Equations | None
    partial_derivatives: tuple[Poly, ...] | None
    coordinates: tuple[Coordinate, ...]

    def lines(self) -> Lines:
        """Return the lines as the command `classify --singular-ideal` prints them."""
        lines = [("network", network_line(self.architecture)), ("singular locus", self.locus)]
        if self.dimension is not None and self.dimension >= 0:
            degree = "" if self.degree is None else f", degree {self.degree:,}"
            lines.append(("", f"irreducible, dimension {self.dimension:,}{degree}"))
        lines.append(("proof", SOURCE))
        if (found := self.equations) is not None:
            counts = ", ".join(f"{'?' if n is None else f'{n:,}'} of degree {k}" for k, n in found.counts.items())
            reached = "all of them" if found.is_complete else f"all up to degree {found.complete_to_degree}"
            terms = [each for some in found.terms.values() for each in some]
            shown = _first_as_text(list(map(found.polynomial, terms[:MOST_SHOWN])), len(terms))
            lines += labelled("its equations", [f"{counts or 'none'}; {reached}", *shown])
        if self.partial_derivatives is not None:
            derivatives = _first_as_text(self.partial_derivatives)
            lines += labelled("singular ideal", ["the equation of M and its partial derivatives:", *derivatives])
        return lines + labelled("coordinates", _first_as_text(self.coordinates))

    def to_text(self, form: str) -> str:
        """Return the ideal of the locus, ready to paste into a computer algebra system; where it is not looked for the
        singular ideal, which the partial derivatives of the equation generate.

        Args:
            form: `sympy`, `latex`, `macaulay2`, `singular`, `oscar`, `sage` or `json`.

        Raises:
            BadInput: it is none of these, or neither ideal is known.

        Example:
            >>> print(singular_locus(Architecture((2, 1), (2,), 2), 2).to_text("singular").splitlines()[1])
            // the ideal of the locus, by its equations, all to degree 2
        """
        coordinates = self.coordinates if self.equations is None else self.equations.coordinates
        comments = [f"the singular locus of the closure of the set of functions, {self.architecture}: {self.locus}"]
        if (found := self.equations) is not None:
            known = "all of them" if found.is_complete else f"all to degree {found.complete_to_degree}"
            comments.append(f"the ideal of the locus, by its equations, {known}")
            generators = [found.polynomial(terms).as_dict() for some in found.terms.values() for terms in some]
        elif self.partial_derivatives is not None:
            comments.append("the singular ideal: partial derivatives of the equation of the closure, a cone")
            generators = [each.as_dict() for each in self.partial_derivatives]
        else:
            raise BadInput(f"equations must be known to be written, they are not for {self.architecture}")
        return ideal_text(form, [c.name for c in coordinates], generators, [*comments, *map(str, coordinates)])

    def __repr__(self) -> str:
        return f"singular_locus({self.architecture!r})"

    def _latex(self) -> str:
        known = [latex_words(self.locus)] + [rf"\dim = {self.dimension}"] * (self.dimension is not None)
        return r",\quad ".join(known + [rf"\deg = {self.degree}"] * (self.degree is not None))


SOURCE = "docs/one-layer.md, Theorem 5"
"""Where the locus is proved."""

MOST_SHOWN = 12
"""Polynomials, and coordinates, that are printed."""


def _first_as_text(things: Sequence[object], number: int | None = None) -> list[str]:
    """Return the first ones as text: coordinates, or polynomials, with powers as `equations` writes them."""
    number = len(things) if number is None else number
    texts = [str(x.as_expr()).replace("**", "^") if hasattr(x, "as_expr") else str(x) for x in things[:MOST_SHOWN]]
    return texts + ([f"... {number:,} in all"] if number > MOST_SHOWN else [])


MOST_BITS = 100_000
"""Of a degree that is computed at all, by an estimate made before."""


def _short(degree: int | None) -> int:
    """Return a degree that can be printed; `None` is one that was not computed."""
    if degree is None or degree >= 10**MOST_DIGITS:
        raise TooLarge(f"the degree of the singular locus must have at most {MOST_DIGITS:,} digits, it may have more")
    return degree


def _rank_one_degree(d: int, d_out: int) -> int:
    """Return the degree of the cone over two projective spaces and forms of rank at most two.

    The forms are quadratic; the degree is half a multinomial number.
    """
    top, e = 3 * (d - 1) + d_out - 1, d - 1
    small = 3 * e * top.bit_length() <= MOST_BITS
    return _short(comb(top, e) * comb(top - e, e) * comb(top - 2 * e, e) // 2 if small else None)


def _partial_derivatives(found: Equations) -> tuple[Poly, ...] | None:
    """Return the partial derivatives of the equation of a hypersurface; `None` if it is none."""
    if not (found.is_complete and found.codimension == 1 and found.is_cone):
        return None
    ((equation,),) = found.generators.values()
    return tuple(equation.diff(symbol) for symbol in found.symbols)


def _locus(shape: Architecture) -> tuple[str, int | None, int | None, Architecture | None]:
    """Return the locus of Theorem 5: in words, dimension, degree, and a network whose functions these are."""
    (d, d_out), (a,) = shape.widths, shape.attention_ranks
    alpha, t = min(a, d), shape.tokens
    if d == 1:
        return "empty: M is a linear space", -1, None, None
    if 2 <= alpha < d:
        lower = Architecture((d, d_out), (alpha - 1,), t)
        return f"rk A < {alpha}, or phi = 0", (alpha - 1) * (2 * d - alpha + 1) + d * d_out - 1, None, lower
    if alpha > 1 or d_out > 1:
        rank_one = Architecture((d, d_out), (1,), t, value_ranks=None if d_out == 1 else (1,))
        dimension = 3 * d + d_out - 3
        return "rk A = rk V = 1, or phi = 0", dimension, _rank_one_degree(d, d_out), rank_one
    if d > 2:
        # the cone over a projective space and the quadratic forms of rank one
        degree = _short(2 ** (d - 1) * comb(2 * (d - 1), d - 1) if 3 * (d - 1) <= MOST_BITS else None)
        return "A = h q^T, V = v h^T with the same h, or phi = 0", 2 * d - 1, degree, None
    return "phi = 0", 0, 1, None


def singular_locus(
    architecture: Architecture,
    degree: int | None = None,
    *,
    memory: int = DEFAULT_MEMORY,
    work: float = DEFAULT_WORK,
    progress: Progress | None = None,
) -> SingularLocus:
    r"""Return the singular points of the closure of $\mathcal M$, with equations, in small cases.

    Args:
        architecture: one layer and two tokens or more, or a network whose $\mathcal M$ is a hypersurface of its linear
            span; lightning attention, one head, nothing added.
        degree: how far equations are looked for; 4 if it is left out, or less where that would take too long.
        memory: bytes that may be taken, by an estimate made before each degree.
        work: seconds that all steps together may take, by rough estimates made before each of them.
        progress: called as `progress(stage, done, total)`.

    Raises:
        BadInput: this is another network, or nothing is known of its singular points.
        TooLarge: already the coordinates, or the equation of a hypersurface, do not fit into memory or `work`, or the
            degree has too many digits to print.

    Example:
        >>> found = singular_locus(Architecture((2, 1), (2,), 2))      # Figure 1
        >>> found.locus, found.dimension, found.degree, dict(found.equations.counts)
        ('rk A = rk V = 1, or phi = 0', 4, 3, {2: 3})
        >>> len(found.partial_derivatives)
        6
    """
    require_arguments(singular_locus, locals())
    architecture.require_plain("the singular locus")

    budget = Work(work)

    def known_of(network: Architecture, degree: int | None = degree) -> Equations:
        *_, found = equations_within(network, degree, budget, memory=memory, progress=progress)
        return found

    if architecture.depth > 1 or architecture.tokens < 2:
        found = known_of(architecture)
        derivatives = _partial_derivatives(found)
        if derivatives is None and found.stopped is not None and found.codimension in (None, 1):
            raise TooLarge(f"the equation of M: {found.stopped}")
        if derivatives is None:
            raise BadInput(
                "the singular locus must be asked of one layer and two tokens or more, or where M is known to be a "
                f"hypersurface of its linear span, got {architecture}"
            )
        where = "where the equation of M and its partial derivatives vanish"
        return SingularLocus(architecture, where, None, None, None, derivatives, found.coordinates)
    locus, dimension, degree_of_locus, network = _locus(architecture)
    (d, d_out), (a,) = architecture.widths, architecture.attention_ranks
    derivatives = None
    if (d, d_out, min(a, d)) == (2, 1, 2):  # of one layer the only hypersurface
        derivatives = _partial_derivatives(known_of(architecture, 4))
    if network is None:
        return SingularLocus(architecture, locus, dimension, degree_of_locus, None, derivatives, ())
    known = known_of(network)
    for name, proved, other in (("dimension", dimension, known.dimension), ("degree", degree_of_locus, known.degree)):
        if None not in (proved, other) and proved != other:
            raise ProgramError(f"the singular locus of {architecture} has {name} {proved}, by its equations {other}")
    degree_of_locus = known.degree if degree_of_locus is None else degree_of_locus
    return SingularLocus(architecture, locus, dimension, degree_of_locus, known, derivatives, known.coordinates)
