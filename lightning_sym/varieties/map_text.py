"""Polynomials from text and from SymPy: only sums of products are read, and their size is bounded before the work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lightning_sym.errors import BadInput, TooLarge
from lightning_sym.network.readers.bounds import shown
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing, RationalCoefficient

if TYPE_CHECKING:
    import sympy

MOST_TERMS = 1_000_000
"""Terms of all outputs together."""

MOST_EXPONENTS = 20_000_000
"""Of one output: terms times variables. Beyond them reading alone takes minutes."""

LONGEST_INTEGER = 4000
"""Decimal digits of a numerator or denominator, as in files of weights."""

_TOKEN = re.compile(r"[ \t\r\n]*(?:([0-9]++(?:\.[0-9]*|[eE][+-]?[0-9])?)|([A-Za-z_][A-Za-z0-9_]*)|(\*\*|[-+*/^]))")
_BLANK = re.compile(r"[ \t\r\n]*")


def parse_polynomial(text: str, ring: PolynomialRing, degree: int, what: str = "a polynomial") -> Polynomial:
    """Return the polynomial that a text writes out as a sum of terms such as `-3/4*x_1_1^2*x_2_1`; `**` is `^`.

    Args:
        text: integers, fractions, the variables of the ring, `+ - * / ^ **`; no brackets.
        ring: the ring.
        degree: no power is higher.
        what: how the message begins.

    Raises:
        BadInput: it is none, has a decimal number, an unknown letter or a power that is too high.
        TooLarge: it has too many terms.

    Example:
        >>> ring = PolynomialRing(["x", "y"])
        >>> parse_polynomial("2*x^2*y - 1/2*y**3 + x*x*y", ring, 3)
        3*x^2*y - 1/2*y^3
    """
    most = min(MOST_TERMS, MOST_EXPONENTS // len(ring.names))
    if text.count("+") + text.count("-") > most:
        raise TooLarge(f"{what} must have at most {most:,} terms in {len(ring.names):,} variables")
    place = {name: i for i, name in enumerate(ring.names)}
    words = _words(text, what)
    terms: dict[tuple[int, ...], RationalCoefficient | int] = {}
    position = 0
    while True:
        sign = 1
        while words[position] in ("+", "-"):
            sign = -sign if words[position] == "-" else sign
            position += 1
        top, low, exponents = sign, 1, [0] * len(place)
        while True:
            word = words[position]
            position += 1
            if word.isdigit():
                top *= _integer(word, what)
            elif word in place:
                power = 1
                if words[position] in ("^", "**"):
                    power = _power(words[position + 1], degree, what)
                    position += 2
                exponents[place[word]] += power
                if sum(exponents) > degree:
                    raise BadInput(f"{what} must be homogeneous of degree {degree}, got a term of higher degree")
            else:
                _refuse(word, place, what)
            while words[position] == "/":
                if not words[position + 1].isdigit():
                    raise BadInput(f"{what} must be divided by integers only, got {shown(words[position + 1])}")
                low *= _integer(words[position + 1], what)
                position += 2
            if max(top.bit_length(), low.bit_length()) > 4 * LONGEST_INTEGER:
                raise BadInput(f"{what} must have coefficients of at most {LONGEST_INTEGER} digits")
            if words[position] != "*":
                break
            position += 1
        if low == 0:
            raise BadInput(f"{what} must not be divided by zero")
        key = tuple(exponents)
        value = ring.constant(_UnreducedRatio(top, low)).leading_coefficient() if top else 0
        terms[key] = terms[key] + value if key in terms else value
        if words[position] == "":
            break
        if words[position] not in ("+", "-"):
            raise BadInput(f"{what} must have a sign between factors or terms, got {shown(words[position])}")
    return ring.from_terms({key: value for key, value in terms.items() if value != 0})


class _UnreducedRatio:
    """Numerator and denominator, not in lowest terms."""

    def __init__(self, numerator: int, denominator: int) -> None:
        self.numerator, self.denominator = numerator, denominator


def _words(text: str, what: str) -> list[str]:
    """Return numbers, names and signs in order, and two empty words at the end."""
    words: list[str] = []
    position = 0
    while found := _TOKEN.match(text, position):
        number, name, sign = found.groups()
        if number and not number.isdigit():
            raise BadInput(f"{what} must have integers and fractions as coefficients, got {shown(number)}")
        words.append(number or name or sign)
        position = found.end()
    rest = _BLANK.sub("", text[position:], count=1)
    if rest:
        hint = ", written out without brackets" if rest[0] in "()" else ""
        raise BadInput(f"{what} must be a sum of terms such as -3/4*x_1_1^2*x_2_1{hint}, got {shown(rest)}")
    if not words:
        raise BadInput(f"{what} must not be empty; the zero polynomial is 0")
    return [*words, "", ""]


def _integer(word: str, what: str) -> int:
    if len(word) > LONGEST_INTEGER:
        raise BadInput(f"{what} must have coefficients of at most {LONGEST_INTEGER} digits")
    return int(word)


def _power(word: str, degree: int, what: str) -> int:
    if not word.isdigit():
        raise BadInput(f"{what} must have powers that are integers, not negative, got {shown(word or 'nothing')}")
    if len(word) > 9 or int(word) > degree:
        raise BadInput(f"{what} must have powers of at most {degree}, its degree, got {shown(word)}")
    return int(word)


def _refuse(word: str, place: dict[str, int], what: str) -> None:
    if word and (word[0].isalpha() or word[0] == "_"):
        first, last = next(iter(place)), list(place)[-1]
        if re.fullmatch(r"[QKV][0-9]*_[0-9]+_[0-9]+", word):
            raise BadInput(f"{what} must have numbers as coefficients, got the weight {shown(word)}; put numbers in")
        raise BadInput(f"{what} must be in the letters {first} to {last}, got {shown(word)}")
    raise BadInput(f"{what} must be a sum of terms such as -3/4*x_1_1^2*x_2_1, got {shown(word or 'its end')}")


def from_sympy(expression: sympy.Expr, ring: PolynomialRing, degree: int, what: str = "a polynomial") -> Polynomial:
    """Return the polynomial that a SymPy expression in the variables of the ring stands for, brackets multiplied out.

    Raises:
        BadInput: it is none, has a float, an unknown letter, or a power that is too high.
        TooLarge: it has too many terms.

    Example:
        >>> from sympy.abc import x, y
        >>> from_sympy((x + y)**2 * x / 2, PolynomialRing(["x", "y"]), 3)
        1/2*x^3 + x^2*y + 1/2*x*y^2
    """
    names = set(ring.names)

    def walk(node: sympy.Basic, depth: int) -> Polynomial:
        if depth > 200:
            raise BadInput(f"{what} must not be nested so deeply")
        if getattr(node, "is_Rational", False):
            return ring.constant(_UnreducedRatio(int(node.p), int(node.q)))
        if getattr(node, "is_Symbol", False):
            if node.name not in names:
                _refuse(
                    node.name if re.fullmatch(r"[A-Za-z_]\w*", node.name) else "?", dict.fromkeys(ring.names, 0), what
                )
            return ring[node.name]
        if getattr(node, "is_Pow", False):
            base, power = node.args
            if not power.is_Integer or not 0 <= int(power) <= degree:
                raise BadInput(f"{what} must have powers from 0 to {degree}, its degree, got {shown(str(power))}")
            parts = [walk(base, depth + 1)] * int(power)
        elif getattr(node, "is_Mul", False):
            parts = [walk(each, depth + 1) for each in node.args]
        elif getattr(node, "is_Add", False):
            total = ring.constant(_UnreducedRatio(0, 1))
            for each in node.args:
                total += walk(each, depth + 1)
            return total
        else:
            raise BadInput(f"{what} must have integers and fractions as coefficients, got {shown(str(node))}")
        product = ring.constant(_UnreducedRatio(1, 1))
        for part in parts:
            if len(product) * len(part) > MOST_TERMS:
                raise TooLarge(f"{what} must have at most {MOST_TERMS:,} terms")
            product *= part
            if product.total_degree() > degree:
                raise BadInput(f"{what} must be homogeneous of degree {degree}, got a term of higher degree")
        return product

    return walk(expression, 0)
