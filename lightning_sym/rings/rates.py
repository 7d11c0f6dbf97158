"""What the operations of each ring take, in seconds of one core: one row a ring, written by `benchmarks/rates.py`, but
for echelons, indices and terms, which were measured by hand.

Rough on purpose: the same question must be refused on every machine or on none. They are compared with `--work`.
"""

from __future__ import annotations

from typing import NamedTuple


class Rates(NamedTuple):
    """Seconds for what is done over a ring.

    Attributes:
        call: an operation of matrices, besides their entries.
        product: a product of two numbers of one word inside a matrix product.
        power: products of two numbers take as often as long as this power of the product of their words.
        entry: a number that is made, for each of its words.
        read: one that becomes a number of Python's, as behind a mask; longer ones take longer from ten words on.
        lowest: an entry of a product of fractions that is brought to lowest terms, by the power 1.5 of its words.
        function: a number that is put into an exponential, or divided by.
        digits: a machine number that is cut into digits.
        cut: a ball that is cut into digits, or put together of them.
        by_digits: a product of a machine number and another one by their digits, for each word.
        reduced: an entry that is reduced modulo a prime, for each of its words.
        eliminated: a step of an elimination modulo a prime.
        solved: a step in the solution of a linear system, for each word of a minor.
        row: a row of a Jacobian: its input is drawn, and swept with many others.
        grows: whether products are longer than their factors.

    Example:
        >>> 0 < RATES["forms"].seconds(call=1, product=100) < 0.001
        True
    """

    call: float = 0.0
    product: float = 0.0
    power: float = 0.8
    entry: float = 0.0
    read: float = 0.0
    lowest: float = 0.0
    function: float = 0.0
    digits: float = 0.0
    cut: float = 0.0
    by_digits: float = 0.0
    reduced: float = 0.0
    eliminated: float = 0.0
    solved: float = 0.0
    row: float = 0.0
    grows: bool = False

    def seconds(self, **done: int) -> float:
        """Return what so many operations take, by their names: for rings whose elements say what meets in them."""
        return float(sum(count * getattr(self, what) for what, count in done.items()))


RATES = {
    "rationals": Rates(
        call=2e-06,
        product=2.3e-09,
        power=0.6,
        entry=1.1e-09,
        read=4.3e-07,
        lowest=4.2e-09,
        eliminated=8.8e-10,
        solved=4.6e-08,
        grows=True,
    ),
    "balls": Rates(
        call=3.6e-06,
        product=3.4e-09,
        power=0.5,
        read=4.8e-07,
        function=9.5e-07,
        cut=1.3e-06,
        by_digits=4.8e-09,
    ),
    "residues": Rates(
        call=1.2e-05,
        entry=1.9e-09,
        function=2.4e-08,
        reduced=9.5e-09,
        eliminated=2.1e-11,
        row=2.8e-06,
    ),
    "polynomials": Rates(
        call=1.2e-05,
        product=1.5e-09,
        power=0.5,
        entry=8.4e-07,
    ),
    "series": Rates(
        call=2.6e-05,
        product=6.4e-08,
        entry=2.2e-06,
        function=1.8e-07,
    ),
    "objects": Rates(
        call=9.9e-06,
        product=4.8e-07,
        power=0.5,
    ),
    "batched polynomials": Rates(
        call=2e-06,
        product=1.5e-09,
    ),
    "input polynomials": Rates(
        call=2e-06,
        product=1e-07,
    ),
    "forms": Rates(
        call=3e-06,
        product=4e-08,
        entry=1e-08,
    ),
    "echelons": Rates(
        call=0.00012,
        entry=2e-08,
        lowest=3e-07,
        reduced=4e-08,
        eliminated=2e-10,
    ),
    "indices": Rates(
        call=1e-05,
        entry=1.2e-08,
        read=3e-08,
        function=1.2e-08,
    ),
    "terms": Rates(
        call=2e-06,
        entry=5e-08,
        read=3e-06,
    ),
}
"""The rings in which work is done: series are those over the rationals, objects are numbers of Python's in arrays.

Of polynomials that know their terms, `call` is for two monomials of the inputs that meet, or two forms, `product` for
two values or terms of their coefficients, and `entry` for a term of a sum. Echelons are those of matrices modulo a
prime that are reduced, with what is brought back to the rationals, `lowest`, for each prime; indices are arrays of
integers, `function` for a digit of one; terms of polynomials are read one by one, `entry` for an exponent.
"""
