"""Counts what is really done over each ring, at the rates that estimates are made with: no clock, no estimate."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.network.jacobian import RandomJacobian
from lightning_sym.rings.ball_matrices import BallMatrix
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.rings.sizes import Price, Sizes
from lightning_sym.rings.taylor import TaylorMatrix


class Counted:
    """What was done, a price for each ring."""

    def __init__(self) -> None:
        self.prices = {ring: Price(ring) for ring in ("rationals", "balls", "residues", "series")}

    @property
    def seconds(self) -> float:
        """At the rates of the rings."""
        return sum(price.seconds for price in self.prices.values())

    def rational(self, matrix: RationalMatrix) -> Sizes:
        """A matrix by its real size."""
        over = int(matrix.flint.numer_denom()[1]).bit_length() - 1
        return Sizes(matrix.shape, self.prices["rationals"], bits=matrix.bits, lowest=over and matrix.bits + over)

    def product(self, ring: str, left: Any, right: Any) -> None:
        """A product over another ring, of batches too; the series and the balls have their lengths by themselves."""
        price, batch = self.prices[ring], 1
        for size in max((left.shape[:-2], right.shape[:-2]), key=len):
            batch *= size
        one = Price(ring, series=getattr(left, "order", -1) + 1)
        bits = _bits(left.flint[0, 0].mid()) if ring == "balls" else 1
        moves = int(ring == "series")
        Sizes(left.shape[-2:], one, bits=bits, degree=moves) @ Sizes(right.shape[-2:], one, bits=bits, degree=moves)
        one.repeated(batch, at_once=True)
        price.add(one)


def _bits(middle: Any) -> int:
    """How long the middle of a ball is; one that is not finite has no digits."""
    return int(middle.man_exp()[0].bit_length()) if middle.is_finite() else 1


@contextmanager
def counted() -> Iterator[Counted]:
    """Count what is done meanwhile."""
    found = Counted()
    matmul, rank, of = RationalMatrix.__matmul__, RationalMatrix.rank, RationalMatrix.of

    def product(left: RationalMatrix, right: RationalMatrix) -> RationalMatrix:
        found.rational(left) @ found.rational(right)
        return matmul(left, right)

    def ranked(matrix: RationalMatrix, most: int | None = None) -> int:
        found.rational(matrix).rank()
        return rank(matrix, most)

    def read(matrix: RationalMatrix, fractions: Any = RationalMatrix.fractions) -> Any:
        found.rational(matrix).read()
        return fractions(matrix)

    def made(rows: Any) -> RationalMatrix:
        matrix: RationalMatrix = of(rows)
        if matrix is not rows:
            found.rational(matrix).read()
        return matrix

    def by_entries(left: RationalMatrix, right: RationalMatrix, inner: Any = RationalMatrix.__mul__) -> Any:
        found.rational(left) * found.rational(right)
        return inner(left, right)

    def balls_by_entries(left: BallMatrix, right: BallMatrix, inner: Any = BallMatrix.__mul__) -> Any:
        sizes = (Sizes(matrix.shape, found.prices["balls"], bits=1) for matrix in (left, right))
        next(sizes) * next(sizes)
        return inner(left, right)

    def recorded(jacobian: RandomJacobian, *given: Any, made: Any = RandomJacobian.__init__, **options: Any) -> None:
        made(jacobian, *given, **options)
        jacobian.program_inputs = 0  # by a program nothing is multiplied over the ring

    def rows(
        jacobian: RandomJacobian, count: int, *rest: Any, made: Any = RandomJacobian.matrix, **options: Any
    ) -> Any:
        found.prices["residues"].enter("row", count)
        return made(jacobian, count, *rest, **options)

    def ranked_mod_p(matrix: Any, *rest: Any, **options: Any) -> int:
        Sizes(matrix.shape, found.prices["residues"]).rank()
        return rank_mod_p(matrix, *rest, **options)

    with ExitStack() as patches:
        patches.enter_context(patch.object(RationalMatrix, "__matmul__", product))
        patches.enter_context(patch.object(RationalMatrix, "rank", ranked))
        patches.enter_context(patch.object(RationalMatrix, "fractions", read))
        patches.enter_context(patch.object(RationalMatrix, "of", made))
        patches.enter_context(patch.object(RationalMatrix, "__mul__", by_entries))
        patches.enter_context(patch.object(BallMatrix, "__mul__", balls_by_entries))
        patches.enter_context(patch.object(RandomJacobian, "__init__", recorded))
        patches.enter_context(patch.object(RandomJacobian, "matrix", rows))
        for ring, kind in (("balls", BallMatrix), ("residues", PrimeFieldMatrix), ("series", TaylorMatrix)):
            inner = kind.__matmul__

            def multiplied(left: Any, right: Any, ring: str = ring, inner: Any = inner) -> Any:
                found.product(ring, left, right)
                return inner(left, right)

            patches.enter_context(patch.object(kind, "__matmul__", multiplied))
        for module in [m for name, m in sys.modules.items() if name.startswith(("lightning_sym", "proofs_check"))]:
            if getattr(module, "rank_mod_p", None) is rank_mod_p:
                patches.enter_context(patch.object(module, "rank_mod_p", ranked_mod_p))
        yield found
