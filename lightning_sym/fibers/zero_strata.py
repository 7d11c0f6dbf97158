r"""How large the set of all weights of a plain network with the zero function is near given weights with it.

It is the union of $\{\tilde V = 0\}$, of all $\{\tilde A_i = 0\}$ and of all $\{\operatorname{rk} \tilde A_i \le 1,\
\tilde A_j \text{ skew}\}$, $i < j$; for one token, of $\{\tilde V = 0\}$ and all $\{\tilde A_i \text{ skew}\}$. Each is
a finite union of closed sets $C_u$: of the weights for which there are spaces $U_0 = \mathbb R^{d_0}$, $U_m \subseteq
\mathbb R^{d_m}$ of the dimensions $u_m$ with $V_m U_{m-1} \subseteq U_m$, such that $U_l = 0$, or the form vanishes on
$U_{i-1}$, and so on. A $C_u$ with falling $u$ has one dimension everywhere, so what is asked is which of them contain
the weights (docs/fibers-near-weights.md, Propositions 9 and 10).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from lightning_sym.errors import ProgramError
from lightning_sym.exact.rational import inertia, null_columns
from lightning_sym.fibers.cost import number_bits, virtual_weights_cost
from lightning_sym.fibers.integer_steps import MOST_UNKNOWNS, DifferenceBounds, least_value
from lightning_sym.fibers.local_dimension import LocalDimension
from lightning_sym.fibers.plain_differential import orbit_at_least
from lightning_sym.limits import Work
from lightning_sym.network.weights import Layer, Weights
from lightning_sym.rings.rationals import RationalMatrix

STRATA = "the largest stratum of zero functions through them"

RANKS = 4
"""What products and ranks cost, by the cost of the virtual weights and the number of layers; measured, and rough."""

STEP = 1e-6
"""Seconds for a bound that is looked at while the least codimension is searched; measured, and rough."""

Cost = Callable[[tuple[int, ...]], int]


class _Codimension(NamedTuple):
    """Of a closed set at the weights: at least, and at most if that is known."""

    least: int
    most: int | None


def zero_dimension(weights: Weights, tokens: int, budget: Work) -> LocalDimension | None:
    r"""Return bounds for the dimension of the fiber of the zero function near weights with it.

    Args:
        weights: exact weights of a lightning network with one head and nothing added, whose function is zero.
        tokens: $t$.
        budget: of exact work.

    Returns:
        `None` for more layers than are searched, or where the budget does not allow it.

    Raises:
        BadInput: another network, or letters.
        ProgramError: the function is not zero.

    Example:
        >>> idle = Weights.of({"Q1": [[0, 0]], "K1": [[1, 0]], "V1": [[3, 4]]})
        >>> zero_dimension(idle, 2, Work()).value
        4
    """
    shape = weights.architecture(tokens)
    shape.require_plain("the strata of the zero function")
    depth = shape.depth
    if depth - 1 > MOST_UNKNOWNS:
        return None
    seconds = RANKS * depth * virtual_weights_cost(weights, *number_bits(weights))
    seconds += STEP * 2**depth * depth**3 * max(shape.attention_ranks) * max(shape.widths)
    if not budget.begins(seconds, "the strata of the zero function"):
        return None
    near = _ValueProducts(weights.rational_layers)
    parameters = sum(m.shape[0] * m.shape[1] for layer in near.layers for m in layer)
    through = [found for found in (near.one_token() if tokens == 1 else near.more_tokens()) if found is not None]
    if not through:
        raise ProgramError("the function of these weights must be zero")
    least = min(found.least for found in through)
    most = min((found.most for found in through if found.most is not None), default=parameters)
    return LocalDimension(parameters - most, parameters - least, orbit_at_least(weights, rescaled=False), STRATA)


def _flags(widths: Sequence[int], dimensions: Sequence[int]) -> int:
    """Return the codimension of $V_m U_{m-1}$ in $U_m$ for some $U$ of these dimensions, the first one all."""
    pairs = zip(dimensions, dimensions[1:], widths[1:], strict=False)
    return sum((before - after) * (width - after) for before, after, width in pairs)


def _vanishing_cost(inner: int, u: int, t: int) -> int:
    """Return the codimension of $K^T Q = 0$ on a space of dimension `u`, where `Q` has the rank `t <= u`."""
    return u * inner - t * (inner - t)


def _skew_cost(inner: int, u: int) -> int:
    """Return the codimension of $K^T Q$ skew on a space of dimension `u`."""
    return u * (u + 1) // 2 if u <= inner else u * inner - inner * (inner - 1) // 2


def _rank_one_cost(inner: int, u: int, t: int) -> int:
    """Return the codimension of $K^T Q$ of rank at most one on a space of dimension `u > t`.

    `Q` has rank `t` on a hyperplane that the form kills.
    """
    return (u - 1) * (inner - 1) - t * (inner - 1 - t)


class _ValueProducts:
    """The weights, all products of values that follow each other, and their ranks."""

    def __init__(self, layers: Sequence[Layer[RationalMatrix]]) -> None:
        self.layers, self.depth = layers, len(layers)
        self.widths = [int(query.shape[1]) for query, _, _ in layers] + [int(layers[-1].value.shape[0])]
        self.inner = [int(query.shape[0]) for query, _, _ in layers]
        # through[n][m] leads from space m to space n
        self.through: list[list[RationalMatrix]] = [[RationalMatrix.identity(self.widths[0])]]
        for n, layer in enumerate(layers, start=1):
            before = [layer.value @ product for product in self.through[-1]]
            self.through.append([*before, RationalMatrix.identity(self.widths[n])])
        self.ranks = [[matrix.rank() for matrix in row] for row in self.through]
        self.forms = list[RationalMatrix]()
        for i, (query, key, _) in enumerate(layers):
            first = self.through[i][0]
            self.forms.append((key @ first).mT @ (query @ first))

    def more_tokens(self) -> Iterator[_Codimension | None]:
        yield self._zero_value()
        for i in range(1, self.depth + 1):
            yield self._zero_form(i)
            for j in range(i + 1, self.depth + 1) if self.widths[0] > 1 else ():
                yield self._skew_behind_rank_one(i, j)

    def one_token(self) -> Iterator[_Codimension | None]:
        yield self._zero_value()
        for i in range(1, self.depth + 1):
            yield self._skew_form(i)

    def _between(self, n: int) -> DifferenceBounds:
        """Return bounds on the dimensions of spaces 1 to `n`, falling, that the values take into each other."""
        d, r = self.widths, self.ranks
        most = {(m - 1, k - 1): d[m] - r[k][m] for k in range(2, n + 1) for m in range(1, k)}
        most |= {(m, m - 1): 0 for m in range(1, n)}
        return DifferenceBounds([r[m][0] for m in range(1, n + 1)], [min(d[m], d[0]) for m in range(1, n + 1)], most)

    def _least(
        self, n: int, cost: Cost, high: Sequence[int] | None = None, low: tuple[int, int] = (0, 0)
    ) -> int | None:
        r"""Return the least cost of $(u_0, \dots, u_n)$, $u_m$ at most `high[m - 1]`, `u[low[0]]` at least `low[1]`."""
        known, first = self._between(n), self.widths[0]
        if low[1] > first:  # they fall
            return None
        upper = known.high if high is None else [min(pair) for pair in zip(known.high, high, strict=True)]
        lower = [max(least, low[1]) if m == low[0] else least for m, least in enumerate(known.low, start=1)]
        return least_value(lambda u: cost((first, *u)), DifferenceBounds(lower, upper, known.most))

    def _flag_cost(self, u: tuple[int, ...]) -> int:
        return _flags(self.widths, u)

    def _zero_value(self) -> _Codimension | None:
        last, d = self.depth, self.widths
        if self.ranks[last][0]:
            return None
        high = [d[m] - self.ranks[last][m] for m in range(1, last)]
        found = self._least(last - 1, lambda u: self._flag_cost((*u, 0)), high)
        assert found is not None  # noqa: S101 - the ranks of the products are among them
        return _Codimension(found, found)

    def _is_whole(self, n: int) -> bool:
        """Return whether what is written before layer `n + 1` is all that can be written near these weights."""
        return self.ranks[n][0] == min(self.widths[: n + 1])

    def _zero_form(self, i: int) -> _Codimension | None:
        n, inner = i - 1, self.inner[i - 1]
        if self.forms[n]:
            return None
        query, key, _ = self.layers[n]
        first = self.through[n][0]
        q, k = (query @ first).rank(), (key @ first).rank()
        if self._is_whole(n):
            p = self.ranks[n][0]
            flags = self._least(n, self._flag_cost)
            assert flags is not None  # noqa: S101 - as above
            exact = flags + min(_vanishing_cost(inner, p, t) for t in range(q, min(inner - k, p) + 1))
            return _Codimension(exact, exact)
        least, most = list[int](), list[int]()
        limits = _IsotropicSizes(self, n, q, k)
        for t in range(q, inner - k + 1):

            def cost(u: tuple[int, ...], t: int = t) -> int:
                return self._flag_cost(u) + _vanishing_cost(inner, u[-1], t)

            if (value := self._least(n, cost, limits.needed(t), (n, t))) is not None:
                least.append(value)
            for enough in limits.enough(t):
                if (value := self._least(n, cost, enough, (n, t))) is not None:
                    most.append(value)
        return _Codimension(min(least), min(most, default=None))

    def _skew_form(self, i: int) -> _Codimension | None:
        n, inner = i - 1, self.inner[i - 1]
        if self.forms[n] + self.forms[n].mT:
            return None
        found = self._least(n, lambda u: self._flag_cost(u) + _skew_cost(inner, u[-1]), self._isotropic(n))
        assert found is not None  # noqa: S101 - as above
        return _Codimension(found, found)

    def _isotropic(self, n: int) -> list[int]:
        """Return what spaces must not exceed for the symmetric scores of layer `n + 1` to vanish on the last."""
        if self._is_whole(n):
            return [*self.widths[1 : n + 1]]
        query, key, _ = self.layers[n]
        product, first, found = key.mT @ query, self.through[n][0], list[int]()
        form = product + product.mT
        for m in range(1, n + 1):
            reached = self.through[n][m]
            seen = first.mT @ form @ reached
            space = reached @ null_columns(seen)
            isotropic = self.ranks[n][m] - seen.rank() - max(inertia(space.mT @ form @ space))
            found.append(self.widths[m] - self.ranks[n][m] + isotropic)
        return found

    def _skew_behind_rank_one(self, i: int, j: int) -> _Codimension | None:
        """Return the codimension, exact where what is written before both is all that can be, else a lower bound."""
        first, second = self.forms[i - 1], self.forms[j - 1]
        if first.rank(2) > 1 or second + second.mT:
            return None
        n, inner, d = j - 1, self.inner[i - 1], self.widths
        query, key, _ = self.layers[i - 1]
        found, isotropic = list[int](), self._isotropic(n)
        for t in range(inner):
            high, fits = [*isotropic], True
            for m in range(i):
                reached = self.through[i - 1][m]
                bound = d[m] - max((query @ reached).rank() - t - 1, (key @ reached).rank() - inner + t, 0)
                if m:
                    high[m - 1] = min(high[m - 1], bound)
                else:
                    fits = bound == d[0]
            if not fits:
                continue

            def cost(u: tuple[int, ...], t: int = t) -> int:
                return self._flag_cost(u) + _rank_one_cost(inner, u[i - 1], t) + _skew_cost(self.inner[n], u[-1])

            if (value := self._least(n, cost, high, (i - 1, t + 1))) is not None:
                found.append(value)
        if not found:
            return None
        exact = self._is_whole(i - 1) and self._is_whole(n)
        return _Codimension(min(found), min(found) if exact else None)


class _IsotropicSizes:
    """How large spaces may be on which a form vanishes: what is needed, and what is enough."""

    def __init__(self, near: _ValueProducts, n: int, q: int, k: int) -> None:
        self.near, self.n, self.q, self.k = near, n, q, k
        query, key, _ = near.layers[n]
        self.inner, first = query.shape[0], near.through[n][0]
        self.start = near.ranks[n][0]
        form = key.mT @ query
        orthogonal = (first.mT @ form).above(first.mT @ form.mT)
        self.free, self.isotropic = list[int](), list[int]()
        self.query_ranks, self.key_ranks = list[int](), list[int]()
        self.by_query, self.by_key = list[tuple[int, int]](), list[tuple[int, int]]()
        for m in range(1, n + 1):
            reached, r = near.through[n][m], near.ranks[n][m]
            self.free.append(near.widths[m] - r)
            self.query_ranks.append((query @ reached).rank())
            self.key_ranks.append((key @ reached).rank())
            seen = orthogonal @ reached
            space, size = reached @ null_columns(seen), r - seen.rank()
            symmetric, skew = space.mT @ (form + form.mT) @ space, space.mT @ (form - form.mT) @ space
            square, turn = max(inertia(symmetric)), skew.rank()
            self.isotropic.append(size - max(square, turn // 2))
            for kept, other, rank, found in ((query, key, q, self.by_query), (key, query, k, self.by_key)):
                both = orthogonal.above(kept) @ reached
                inside = first.mT.above((reached @ null_columns(both)).mT).mT
                found.append((rank + r - both.rank(), (other @ inside).rank()))
        # of the last space: a largest one for one form, and in it one for the other
        by_square, by_turn = size - square, size - turn // 2
        self.sure = max(by_square - min(turn, by_square - self.start) // 2, by_turn - square)

    def needed(self, t: int) -> list[int]:
        """Return what each dimension must not exceed, `Q` of rank `t` there."""
        widths = self.near.widths[1:]
        return [
            min(free + isotropic, width - query + t, width - key + self.inner - t)
            for free, isotropic, width, query, key in zip(
                self.free, self.isotropic, widths, self.query_ranks, self.key_ranks, strict=False
            )
        ]

    def enough(self, t: int) -> Iterator[list[int]]:
        """Yield bounds below which there are such spaces."""
        for found, room in ((self.by_query, self.inner - t), (self.by_key, t)):
            yield [free + c - max(0, rank - room) for free, (c, rank) in zip(self.free, found, strict=True)]
        more = min(self.sure - self.start, t - self.q, self.inner - t - self.k)
        before = [free + self.start for free in self.free[:-1]]
        yield [*before, self.start + more]
