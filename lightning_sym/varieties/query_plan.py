r"""How many questions a black box will be asked, where, and with how many digits: known before the first one.

The bounds are those of `docs/softmax-fibers.md`, Lemma 8: with entries of the $\tilde A_i$ of at most `B`, the scalar
$\sigma_l$ of Lemma 1 is at most 1/6 on the disc $|\varepsilon| \le R$, $R^2 (\alpha + 7 \beta / 6) = 1/4$, where
$\alpha = B \|y\|_1 \|m\|_1$ and $\beta = B \|y\|_1^2$. So its coefficients are at most $R^{-2n} / 6$ (Cauchy), and
values at `K` nodes give a coefficient with an error that is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import lcm
from typing import NamedTuple

from lightning_sym.arguments import require_arguments
from lightning_sym.display import Result, spelled
from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.exact.rational import unique_solution
from lightning_sym.limits import require_integer
from lightning_sym.network.architecture import Architecture, network_line
from lightning_sym.rings.arrays import exact_number
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.varieties.decimals import least_power_of_ten
from lightning_sym.varieties.jets import PROVED, require_jets

LARGEST = Fraction(1, 6)
"""Of $\\sigma_l$ on the disc."""

FURTHER = 3
"""Questions that are asked in the end, at tokens that are all different."""

MOST_QUERIES = 100_000
MOST_DIGITS = 100_000
LARGEST_DENOMINATOR = 1000
DEEPEST = 4


class Nodes(NamedTuple):
    r"""Where the lines of a layer are asked: $\varepsilon = j\, 10^{-k}$, `j` from 1 to the count.

    Attributes:
        size: how many nodes.
        places: `k`.
    """

    size: int
    places: int


@dataclass(frozen=True, eq=False, repr=False)
class QueryPlan(Result):
    """What a black box will be asked.

    Attributes:
        architecture: the shape that is asked about.
        bound: of the entries of the virtual attention matrices, in absolute value; an assumption.
        denominators: of the entries of all virtual weights; an assumption. `None` for balls.
        digits: behind the point, of every number of an answer.
        nodes: of each layer, $3^{i-1}$ at least.

    Raises:
        BadInput: another network, a bound that is not positive, or other or fewer nodes.
    """

    architecture: Architecture
    bound: Fraction
    denominators: int | None
    digits: int
    nodes: tuple[Nodes, ...]

    def __post_init__(self) -> None:
        require_box(self.architecture)
        object.__setattr__(self, "bound", _positive(self.bound))
        require_integer(self.digits, "digits", 1)
        if self.denominators is not None:
            require_integer(self.denominators, "denominators", 1, LARGEST_DENOMINATOR)
        else:
            _require_wide(self.architecture)
        if len(self.nodes) != self.architecture.depth:
            raise BadInput(f"the plan must have nodes for {self.architecture.depth} layers, got {len(self.nodes)}")
        for i, nodes in enumerate(self.nodes):  # with fewer the coefficient does not show
            require_integer(nodes.size, f"nodes of layer {i + 1}", 3**i)
            require_integer(nodes.places, "places of nodes", 0)

    @property
    def queries(self) -> int:
        """How many, at most: fewer where a layer turns out to be blind."""
        d = self.architecture.input_width
        return d + d * d * sum(n.size for n in self.nodes) + FURTHER

    @property
    def radius_squared(self) -> Fraction:
        """$R^2$ for every line that is asked."""
        return _radius_squared(self.architecture, self.bound)

    @property
    def common(self) -> int | None:
        """A common denominator of all entries, `None` for balls."""
        return None if self.denominators is None else lcm(*range(1, self.denominators + 1))

    _sentences = (
        ("network", lambda plan: network_line(plan.architecture)),
        (
            "queries",
            "at most {0.queries}, each a matrix of {0.architecture.input_width} x {0.architecture.tokens} decimals",
        ),
        (
            "digits",
            lambda plan: (
                f"{plan.digits} behind the point in each of the "
                f"{plan.architecture.output_width * plan.architecture.tokens} numbers of an answer"
            ),
        ),
        ("", lambda plan: [("if", assumption) for assumption in plan.assumptions]),
    )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the answer will rest on."""
        some = "" if self.denominators is None else f"; all denominators are at most {self.denominators}"
        return (
            "it is a network of this kind",
            f"the entries of its virtual weights A~i are at most {spelled(self.bound)} in size{some}",
            f"every number of an answer is within 10^-{self.digits} of the true one",
        )

    _in_words = "at most {0.queries} queries, {0.digits} digits"


def query_plan(
    architecture: Architecture,
    *,
    bound: object,
    denominators: int | None = None,
    digits: int | None = None,
) -> QueryPlan:
    """Return what a black box will be asked, for `recover_from_answers`.

    Args:
        architecture: the shape: softmax, one head, nothing added, at least two tokens.
        bound: of the entries of the virtual attention matrices, in absolute value. Without one no finite number of
            answers says anything: matrices may be so large that softmax is saturated wherever one looks.
        denominators: a bound of the denominators of all virtual weights: then they are recovered exactly.
        digits: without denominators, how many digits behind the point the answers have; then weights are enclosed in
            balls. With denominators the digits that are needed follow; here more may be asked for.

    Raises:
        BadInput: another network; the bound is not positive; neither denominators nor digits; without denominators
            an inner width or a rank that is smaller than the input width.
        TooLarge: more than 100,000 questions, or digits.

    Example:
        >>> plan = query_plan(Architecture((2, 2, 1), (2, 2), 2, SOFTMAX), bound=4, denominators=4)
        >>> plan.queries, plan.digits
        (29, 47)
    """
    require_arguments(query_plan, locals())
    require_box(architecture)
    size = _positive(bound)
    _require_reach(architecture, size)
    if digits is not None:
        require_integer(digits, "digits", 1, MOST_DIGITS)
    if denominators is not None:
        require_integer(denominators, "denominators", 1, LARGEST_DENOMINATOR)
        return _bounded(_exact_plan(architecture, size, denominators, digits or 1))
    if digits is None:
        raise BadInput("denominators, a bound for exact weights, or digits, for balls, must be given")
    _require_wide(architecture)
    radius = _radius_squared(architecture, size)
    nodes = tuple(_nodes_for_digits(3 ** (i - 1), radius, digits) for i in range(1, architecture.depth + 1))
    return _bounded(QueryPlan(architecture, size, None, digits, nodes))


def require_box(architecture: Architecture) -> None:
    """Refuse networks that are not asked.

    Raises:
        BadInput: by name.
    """
    require_jets(architecture)
    if architecture.normalization != SOFTMAX:
        raise BadInput(f"a black box must be a softmax network, got {architecture}")
    if architecture.depth > DEEPEST:
        raise BadInput(f"a black box must have at most {DEEPEST} layers, got {architecture.depth}")


def _positive(bound: object) -> Fraction:
    size = exact_number(bound, "the bound")
    if size <= 0:
        raise BadInput(f"the bound must be positive, got {spelled(size)[:60]}")
    return size


def _require_wide(architecture: Architecture) -> None:
    """Refuse a shape that asks for small ranks: without denominators no rank is ever seen to be small."""
    d, least = architecture.input_width, min(*architecture.widths[:-1], *architecture.attention_ranks)
    if least < d:
        raise BadInput(
            f"without denominators inner widths and ranks must be at least the width {d} of the input, or balls would "
            f"have to tell that a rank is small; got {least}"
        )


def _require_reach(architecture: Architecture, bound: Fraction) -> None:
    """Refuse bounds whose digits are too many at once: the largest power of a node in the disc that is divided by."""
    wanted = 3 ** (architecture.depth - 1)
    least = (2 * wanted + 1) * _inside(wanted + 1, _radius_squared(architecture, bound))
    if least > MOST_DIGITS:
        raise TooLarge(f"a black box must be asked for at most {MOST_DIGITS:,} digits; this bound takes {least:,}")


def _bounded(plan: QueryPlan) -> QueryPlan:
    if plan.queries > MOST_QUERIES or plan.digits > MOST_DIGITS:
        raise TooLarge(
            f"a black box must be asked at most {MOST_QUERIES:,} questions of at most {MOST_DIGITS:,} digits, "
            f"got {plan.queries:,} of {plan.digits:,}"
        )
    return plan


def longest_direction(architecture: Architecture) -> int:
    """Return the largest entry of the integer vectors among which directions are found: the number of layers."""
    architecture.require("recovery from a jet", PROVED)
    return architecture.depth


def _radius_squared(architecture: Architecture, bound: Fraction) -> Fraction:
    """Return the squared radius for the longest $y$, an integer vector times the number of tokens."""
    length = architecture.tokens * architecture.input_width * longest_direction(architecture)
    return 1 / (4 * bound * (length + Fraction(7, 6) * length**2))


@cache
def coefficients_row(wanted: int, count: int) -> tuple[Fraction, ...]:
    """Return what values at `j = 1, ..., count` of a sum of `s_n j^(2n)`, `n <= count`, are weighted by for one `s_n`.

    Example:
        >>> coefficients_row(1, 2)      # s_1 + s_2, 4 s_1 + 16 s_2
        (Fraction(4, 3), Fraction(-1, 12))
    """
    powers = [[Fraction(j) ** (2 * n) for j in range(1, count + 1)] for n in range(1, count + 1)]
    unit = [[int(n == wanted)] for n in range(1, count + 1)]
    solution = unique_solution(powers, unit)
    assert solution is not None  # noqa: S101 - a Vandermonde matrix
    return tuple(solution[:, 0])


def left_out(nodes: Nodes, node: int, radius_squared: Fraction) -> Fraction:
    """Return a bound for the terms of degree more than twice the count, at a node.

    Raises:
        BadInput: the node does not lie in the disc.
    """
    ratio = Fraction(node**2, 10 ** (2 * nodes.places)) / radius_squared
    if ratio >= 1:
        raise BadInput("nodes must lie in the disc")
    return LARGEST * ratio ** (nodes.size + 1) / (1 - ratio)


@cache
def _multiplier_sums(wanted: int, count: int) -> tuple[Fraction, Fraction]:
    """Return sums of the sizes of the multipliers, times `j^(2 count + 2)` and times `1 / j`."""
    sizes = [(j, abs(c)) for j, c in enumerate(coefficients_row(wanted, count), start=1)]
    terms = sum((c * j ** (2 * count + 2) for j, c in sizes), Fraction(0))
    return terms, sum((c / j for j, c in sizes), Fraction(0))


def _errors(wanted: int, nodes: Nodes, radius_squared: Fraction) -> tuple[Fraction, Fraction]:
    """Return the errors of a coefficient: from terms left out, and from an error of 1 in what is measured.

    The latter is the mean output divided by `v y`.

    Bounds, for nodes in half of the disc: there what is left out is at most twice its first term.
    """
    terms, data = _multiplier_sums(wanted, nodes.size)
    power = 2 * (nodes.size + 1 - wanted) * nodes.places
    return (
        2 * LARGEST * terms / (radius_squared ** (nodes.size + 1) * 10**power),
        data * 10 ** ((2 * wanted + 1) * nodes.places),
    )


def _inside(count: int, radius_squared: Fraction) -> int:
    """Return the least number of places for which all nodes are in half of the disc, measured in squares."""
    return max(0, -(-least_power_of_ten(2 * count**2 / radius_squared) // 2))


def _nodes(wanted: int, count: int, radius_squared: Fraction, allowed: Fraction) -> Nodes:
    """Return the nodes with an error of at most this from the terms left out."""
    places = _inside(count, radius_squared)
    error = _errors(wanted, Nodes(count, places), radius_squared)[0]
    if error > allowed:  # it falls by this power of ten with each place, at least
        places += -(-least_power_of_ten(error / allowed) // (2 * (count + 1 - wanted)))
    return Nodes(count, places)


def _exact_plan(architecture: Architecture, bound: Fraction, denominators: int, least: int) -> QueryPlan:
    r"""Return nodes and digits with which every $y^\top \tilde A_i m$ is known well enough.

    It is known up to less than half of what separates two.
    """
    t, radius = architecture.tokens, _radius_squared(architecture, bound)
    common = lcm(*range(1, denominators + 1))
    needs: list[list[tuple[int, Nodes]]] = []
    for i in range(1, architecture.depth + 1):
        wanted = 3 ** (i - 1)
        smallest = Fraction(t - 1, common) ** ((wanted - 1) // 2)  # of r_(i-1), if it is not 0
        allowed = Fraction(t - 1, t) * smallest**2 / (16 * common)
        choices = []
        for count in range(wanted + 1, 2 * wanted + 7):
            nodes = _nodes(wanted, count, radius, allowed)
            data = _errors(wanted, nodes, radius)[1] * common / t  # v y is at least t / common
            choices.append((max(1, least_power_of_ten(data / allowed)), nodes))
        needs.append(choices)
    digits, _ = min(needs[-1], key=lambda choice: choice[0] * choice[1].size)
    digits = max([digits, least, least_power_of_ten(Fraction(4 * common)), *(min(c)[0] for c in needs)])
    chosen = (min((n for need, n in choices if need <= digits), key=lambda n: n.size) for choices in needs)
    return QueryPlan(architecture, bound, denominators, digits, tuple(chosen))


def _nodes_for_digits(wanted: int, radius_squared: Fraction, digits: int) -> Nodes:
    """Return `2 wanted + 4` nodes for which both errors are of one size, nearly."""
    count = 2 * wanted + 4
    places = _inside(count, radius_squared)
    terms, data = _errors(wanted, Nodes(count, places), radius_squared)
    gain = least_power_of_ten(terms) - least_power_of_ten(data) + digits
    # a place more divides the one by this power of ten, and multiplies the other by the rest of the sum
    return Nodes(count, places + max(0, gain // (2 * (count + 1 - wanted) + 2 * wanted + 1)))


def multipliers(nodes: Nodes, wanted: int) -> list[Fraction]:
    """Return what the values at the nodes are multiplied by for a coefficient, as if no terms were left out."""
    scale = Fraction(10) ** (2 * wanted * nodes.places)
    return [scale * c for c in coefficients_row(wanted, nodes.size)]
