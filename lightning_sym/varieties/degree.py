r"""The degree of the variety M, the closure of the set of functions of a network, where a theorem gives it.

Up to scale a function is made of matrices of bounded rank on nested subspaces; where no choice of them gives zero, the
degree is an intersection number, divided by the number of choices with the same function. Proofs: `docs/degree.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from math import comb, log2

from lightning_sym.arguments import require_arguments
from lightning_sym.ask import FellShort, Need, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.dimension.certify import certified_dimension
from lightning_sym.dimension.evidence import Evidence
from lightning_sym.dimension.varieties import counted_bounds
from lightning_sym.display import Result
from lightning_sym.errors import ProgramError, TooLarge, no_truth_value
from lightning_sym.exact.determinantal import determinantal_degree
from lightning_sym.limits import DEFAULT_WORK, Progress, Work
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import LIGHTNING
from lightning_sym.varieties.cone_bundles import Cone, flag_dimension, intersection_number, products_of_sum

MOST_DIGITS = 4300
"""Of a degree; it is what Python prints without being asked twice."""

LARGEST_DIMENSION = 30_000
"""Larger varieties have degrees of more digits than that."""

BITS_A_DIGIT = 3.33
"""Slightly more than there are."""

LARGEST_DEPTH = 4000
"""The functions have degree three to this power."""

LARGEST_SPAN, MOST_PARAMETERS = 200, 2000
"""Linear spans up to this dimension are compared with a certified dimension where no theorem applies."""

SECONDS_A_PRODUCT = 1.5e-7
"""For a product of a weight and a class in the sum over fixed points, roughly."""


class DegreeSource(StrEnum):
    """What gives the degree; the values are the keys of JSON answers, `meaning` says it in words."""

    PRODUCT = "product"
    FLAGS = "flags"
    TWO_LAYERS = "two_layers"
    SPAN = "span"
    OPEN = "open"

    @property
    def meaning(self) -> str:
        """The reason in words, with where it is proved."""
        return _MEANINGS[self]


_MEANINGS = {
    DegreeSource.PRODUCT: "an intersection number on a product of determinantal varieties (docs/degree.md, Theorem 1)",
    DegreeSource.FLAGS: "an intersection number over a variety of flags (docs/degree.md, Theorem 1)",
    DegreeSource.TWO_LAYERS: "an intersection number less what lies in the base locus (docs/degree.md, Theorem 2)",
    DegreeSource.SPAN: "the closure is its whole linear span: the certified dimensions are equal",
    DegreeSource.OPEN: "open",
}


_POINTS = "{0.points} points of the projective fiber of a general function"


@no_truth_value("result.degree is not None")
@dataclass(frozen=True, eq=False, repr=False)
class VarietyDegree(Result):
    """The degree of the closure of the set of functions of a network.

    Attributes:
        architecture: the network.
        degree: how many points the closure has in common with a general affine space of complementary dimension, over
            the complex numbers; `None` while open.
        source: what gives it.
        dimension: of the closure; `None` where nothing was computed.
        points: how many choices of the matrices, up to scale, give the same general function; `None` while open.
        reason: why it is open, else empty.
        tried: theorems that do not give it, each with the hypothesis that fails.
    """

    architecture: Architecture
    degree: int | None
    source: DegreeSource
    dimension: int | None = None
    points: int | None = None
    reason: str = ""
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)

    def __repr__(self) -> str:
        """Return the call that makes this degree, as it would be typed."""
        return f"variety_degree({self.architecture!r})"

    _sentences = (
        ("network", "{0.architecture}"),
        ("degree", lambda self: "open" if self.degree is None else f"{self.degree:,}"),
        ("reason", lambda self: self.reason if self.degree is None else None),
        ("source", lambda self: None if self.degree is None else self.source.meaning),
        ("dimension", lambda self: None if self.dimension is None else f"{self.dimension:,}"),
        ("fiber", lambda self: _POINTS.format(self) if (self.points or 1) > 1 else None),
        ("tried", lambda self: map(str, self.tried) if self.degree is None else None),
    )

    def _latex(self) -> str:
        degree = r"\text{open}" if self.degree is None else str(self.degree)
        return rf"\deg \overline{{\mathcal{{M}}}} = {degree}"


@dataclass(frozen=True)
class _DegreeShape:
    """The subspaces on which the matrices live and where layers change their kind, as `docs/degree.md` counts them."""

    sizes: tuple[int, ...]
    cones: tuple[Cone, ...]
    first_of_rank_one: int
    points: int

    @property
    def projective_dimension(self) -> int:
        return flag_dimension(self.sizes) + sum(cone.dimension for cone in self.cones)


def _shape(network: Architecture) -> _DegreeShape:
    """Return the shape, with `r`, `w`, `alpha`, `m` and `k` as Sections 1 and 2 of `docs/degree.md` name them."""
    if network.depth > LARGEST_DEPTH:
        raise TooLarge(f"the degree must be asked of at most {LARGEST_DEPTH:,} layers, got {network.depth:,}")
    depth, values = network.depth, network.value_ranks or (None,) * network.depth
    r = [min(network.input_width, network.widths[0])]
    for width, value in zip(network.widths[1:], values, strict=True):
        r.append(min(r[-1], width) if value is None else min(r[-1], width, value))
    r[-1] = min(r[-1], network.output_width)
    alpha = [min(a, size) for a, size in zip(network.attention_ranks, r, strict=False)]
    m = 0 if network.tokens == 1 else next((i for i, a in enumerate(alpha, start=1) if a == 1), depth + 1)
    w = [*r]
    for i in range(depth - 1, -1, -1):
        w[i] = min(r[i], w[i + 1] + 2 * alpha[i])
    before, size = network.input_width, network.input_width
    for i in range(depth):  # a subspace that is no smaller than the one before is not another one
        size = size if r[i] == before else w[i]
        before, w[i] = r[i], size
    cones = []
    for i in range(1, depth + 1):
        symmetric = i > m
        rank = min((1 + symmetric) * alpha[i - 1], w[i - 1])
        cones.append(Cone(i, w[i - 1], rank, 3 ** (depth - i), symmetric))
    cones.append(Cone(depth, w[depth - 1], r[depth], 1, rows=network.output_width))
    k = next((i for i, size in enumerate(r) if size == 1), None)
    points = 1
    if k is not None and 0 < k == m:
        points = 2
    elif k is not None and k > m and k > 0 and cones[k - 1].rank <= 2:
        points = 3
    return _DegreeShape((network.input_width, *w[:depth]), tuple(cones), m, points)


def _two_full_layers(shape: _DegreeShape, tokens: int) -> bool:
    """Return whether there are two layers of full rank, and tokens enough: Theorem 2."""
    first, second, *_ = shape.cones
    width = shape.sizes[0]
    full = all(cone.size == cone.rank == width and not cone.symmetric for cone in (first, second))
    return len(shape.cones) == 3 and full and (width == 2 or tokens > 2)


def variety_degree(
    architecture: Architecture, work: float = DEFAULT_WORK, progress: Progress | None = None
) -> VarietyDegree:
    r"""Return the degree of the Zariski closure of the set of functions, by theorems of `docs/degree.md`.

    Known are one layer, masked or not, with or without skip connection; every depth at one token; and for more tokens
    every depth where one of the first two layers has rank one, and two layers of full rank. Nothing is guessed: all
    else is open, and says why, unless the functions are seen to fill their linear span.

    Args:
        architecture: a lightning network.
        work: seconds of exact arithmetic that are allowed, by a rough estimate.
        progress: told of the work as it begins.

    Raises:
        BadInput: the network is normalized, or has an option that nothing is known about.
        TooLarge: the degree has too many digits, or its computation is estimated to exceed `work`.

    Example:
        >>> variety_degree(Architecture((2, 1), (2,), 2)).degree        # the resultant of Figure 1
        4
        >>> print(variety_degree(Architecture((2, 2, 1), (1, 1), 1)))
        network     widths 2,2,1, ranks 1,1, tokens 1
        degree      90
        source      an intersection number on a product of determinantal varieties (docs/degree.md, Theorem 1)
        dimension   6
        fiber       3 points of the projective fiber of a general function
        proof       docs/degree.md, Theorem 1
    """
    require_arguments(variety_degree, locals())
    return degree_within(architecture, Work(work, progress))


def degree_within(architecture: Architecture, budget: Work) -> VarietyDegree:
    """Return what `variety_degree` does, as one of several questions that share a budget."""
    architecture.require("the degree of the variety", LIGHTNING)
    asked = _AskedDegree(architecture, budget)
    found, tried = ask(asked, DEGREES, budget)
    if found is None:
        found = VarietyDegree(architecture, None, DegreeSource.OPEN, reason=tried[0].why)
    return replace(found, tried=tried)


class _AskedDegree:
    """A network whose degree is asked for."""

    def __init__(self, network: Architecture, budget: Work) -> None:
        self.network, self.budget = network, budget

    @cached_property
    def shape(self) -> _DegreeShape:
        """How `docs/degree.md` counts it."""
        return _shape(self.network)

    def answer(self, degree_of: Callable[[], tuple[int, DegreeSource]]) -> VarietyDegree:
        """Return a number of intersections, by how many points each fiber has.

        Raises:
            TooLarge: it has too many digits.
        """
        shape, depth = self.shape, self.network.depth
        top = shape.projective_dimension
        powers = sum(cone.dimension * log2(3) * (depth - cone.step) for cone in shape.cones)
        if top > LARGEST_DIMENSION or powers > MOST_DIGITS * BITS_A_DIGIT:
            raise TooLarge(
                f"a degree must have at most {MOST_DIGITS:,} digits, that of a variety of dimension {top + 1:,} and "
                f"depth {depth:,} has more"
            )
        total, source = degree_of()
        degree, rest = divmod(total, shape.points)
        if rest:
            raise ProgramError(f"{self.network}: {shape.points} points of each fiber must divide {total}")
        if degree >= 10**MOST_DIGITS:
            raise TooLarge(f"a degree must have at most {MOST_DIGITS:,} digits, this one has more")
        return VarietyDegree(self.network, degree, source, top + 1, shape.points)

    def intersections(self) -> tuple[int, DegreeSource]:
        """Return the intersection number of Theorem 1, and where it comes from."""
        shape, flag = self.shape, flag_dimension(self.shape.sizes)
        if flag:
            seconds = SECONDS_A_PRODUCT * products_of_sum(shape.sizes, shape.cones)
            self.budget.spend(seconds, f"the sum over the flags {','.join(map(str, shape.sizes))}")
        return intersection_number(shape.sizes, shape.cones), DegreeSource.FLAGS if flag else DegreeSource.PRODUCT


def _by_span(asked: _AskedDegree) -> VarietyDegree | None:
    """Return degree one where the functions fill a linear space, which two bounds show."""
    network, span = asked.network, counted_bounds(asked.network)[0].get(Evidence.SPAN)
    if span is None or span > min(LARGEST_SPAN, network.parameter_count) or network.parameter_count > MOST_PARAMETERS:
        return None
    lower = certified_dimension(network).lower
    return VarietyDegree(network, 1, DegreeSource.SPAN, span) if lower == span else None


def _two_layers(shape: _DegreeShape) -> int:
    r"""Return the intersection number of two layers of full rank, less the share of the base locus (Theorem 2).

    With `n` the width: $h = 3 h_1 + h_2 + h_3$ to the power `D`, less the integral over
    $B = \mathbb{P}^{n-1} \times \mathbb{P}^{n-1} \times \mathbb{P}(\wedge^2) \times Y$ of $(1 + h)^D / c(N)$, with
    $c(N) = (1+p+q)^{n^2} (1+\kappa)^{n(n+1)/2} / ((1+p)^n (1+q)^n)$ and $h = 3p + 3q + \kappa + h_3$.
    """
    n, value = shape.sizes[0], shape.cones[-1]
    top, skew, symmetric = shape.projective_dimension, n * (n - 1) // 2, n * (n + 1) // 2
    # 1 / c(N) as a polynomial in p and q, and as one in kappa
    segre = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            # (1+p)^n (1+q)^n (1+p+q)^(-n^2)
            segre[i][j] = sum(
                comb(n, i - a) * comb(n, j - b) * (-1) ** (a + b) * comb(n * n + a + b - 1, a + b) * comb(a + b, a)
                for a in range(i + 1)
                for b in range(j + 1)
            )
    tail = [(-1) ** c * comb(symmetric + c - 1, c) for c in range(skew)]
    share = 0
    for i in range(n):
        for j in range(n):
            for c in range(skew):
                # what is left for (1 + h)^top: p^(n-1-i) q^(n-1-j) kappa^(skew-1-c) h_3^dim Y
                p, q, kappa, last = n - 1 - i, n - 1 - j, skew - 1 - c, value.dimension
                degree = p + q + kappa + last
                ways = comb(top, degree) * comb(degree, last) * comb(degree - last, kappa) * comb(p + q, p)
                share += segre[i][j] * tail[c] * ways * 3 ** (p + q)
    return intersection_number(shape.sizes, shape.cones) - share * determinantal_degree(
        value.rows or 1, value.size, value.rank
    )


COMMON = (
    Need("one head", lambda asked: asked.network.heads == 1, said="heads: the sum of several heads"),
    Need(
        "no skip connection, or one layer without embeddings",
        lambda asked: (
            not asked.network.skip
            or (asked.network.depth == 1 and asked.network.embed is None and asked.network.unembed is None)
        ),
        said="skip: with skip connections only one layer without embeddings is known",
    ),
    Need(
        "no mask, one layer, or one token",
        lambda asked: not asked.network.causal or 1 in (asked.network.depth, asked.network.tokens),
        said="causal: with a mask only one layer is known",
    ),
)
NO_BASE_POINTS = Need(
    "one layer, or rank one in the first two",
    lambda asked: asked.network.depth == 1 or asked.shape.first_of_rank_one <= 2,
    said="base points: a layer of rank one before a skew-symmetric one gives zero, and neither of the first two layers "
    "has rank one",
)
TWO_FULL_LAYERS = Need(
    "two layers of full rank, and inputs of two rows or three tokens",
    lambda asked: _two_full_layers(asked.shape, asked.network.tokens),
)
DEGREES: tuple[TheoremRow[_AskedDegree, VarietyDegree], ...] = (
    TheoremRow(
        "Theorem 1 of docs/degree.md", any_question, paid_by_steps, lambda asked: asked.answer(asked.intersections),
        needs=(*COMMON, NO_BASE_POINTS),
    ),
    TheoremRow(
        "Theorem 2 of docs/degree.md", any_question, paid_by_steps,
        lambda asked: asked.answer(lambda: (_two_layers(asked.shape), DegreeSource.TWO_LAYERS)),
        needs=(*COMMON, TWO_FULL_LAYERS),
    ),
    TheoremRow("", any_question, paid_by_steps, _by_span),
)  # fmt: skip
"""In the order of asking; what the sum over flags costs is paid when the flags are known."""
