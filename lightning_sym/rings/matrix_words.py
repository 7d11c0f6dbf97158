r"""Formal matrix words: a ring in which an identity holds for matrices of every size at once.

Elements are integer combinations of words in letters, their transposes and their inverses, times monomials in
commuting scalars. The only rules are $(AB)^\top = B^\top A^\top$, $C C^{-1} = C^{-1} C = 1$ and the commutation of
scalars, and they hold for matrices over every commutative ring; so two elements that are equal here are equal
whatever matrices of fitting shapes are put for the letters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Letter(NamedTuple):
    """A matrix variable, possibly transposed, possibly inverted (the two commute)."""

    name: str
    transposed: bool = False
    inverted: bool = False


Scalars = tuple[tuple[str, int], ...]
Word = tuple[Letter, ...]


def _reduced(left: Word, right: Word) -> Word:
    """Return the product of two reduced words, with `C C^-1` and `C^-1 C` cancelled at the seam."""
    cut = 0
    while cut < min(len(left), len(right)):
        a, b = left[len(left) - 1 - cut], right[cut]
        if a.name != b.name or a.transposed != b.transposed or a.inverted == b.inverted:
            break
        cut += 1
    return left[: len(left) - cut] + right[cut:]


def _times(left: Scalars, right: Scalars) -> Scalars:
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in powers.items() if power))


@dataclass(frozen=True)
class Words:
    """An integer combination of words; `terms` maps (scalars, word) to a non-zero coefficient.

    Example:
        >>> a, c = Words.letter("A"), Words.letter("C")
        >>> (a @ c) @ (c.inverse @ a.mT) == a @ a.mT
        True
        >>> a @ c == c @ a
        False
    """

    terms: frozenset[tuple[tuple[Scalars, Word], int]]

    @classmethod
    def letter(cls, name: str) -> Words:
        """Return the matrix variable `name`."""
        return cls(frozenset({(((), (Letter(name),)), 1)}))

    @classmethod
    def identity(cls) -> Words:
        """Return the empty word: the identity matrix."""
        return cls(frozenset({(((), ()), 1)}))

    @classmethod
    def scalar(cls, name: str, power: int = 1) -> Words:
        """Return a commuting, invertible scalar variable times the identity matrix."""
        return cls(frozenset({((((name, power),), ()), 1)}))

    @classmethod
    def _collect(cls, terms: list[tuple[tuple[Scalars, Word], int]]) -> Words:
        total: dict[tuple[Scalars, Word], int] = {}
        for key, coefficient in terms:
            total[key] = total.get(key, 0) + coefficient
        return cls(frozenset((key, value) for key, value in total.items() if value))

    @property
    def inverse(self) -> Words:
        """The formal inverse of a single letter, scalar or the identity."""
        (((scalars, word), coefficient),) = self.terms
        if coefficient != 1 or len(word) > 1:
            raise ValueError("only a letter, a scalar or the identity has a formal inverse")
        inverted = tuple(letter._replace(inverted=not letter.inverted) for letter in word)
        return Words(frozenset({((tuple((n, -k) for n, k in scalars), inverted), 1)}))

    def __matmul__(self, other: Words) -> Words:
        return Words._collect(
            [((_times(s, t), _reduced(v, w)), a * b) for (s, v), a in self.terms for (t, w), b in other.terms]
        )

    def __add__(self, other: Words) -> Words:
        return Words._collect([*self.terms, *other.terms])

    @property
    def mT(self) -> Words:  # noqa: N802
        return Words(
            frozenset(
                ((s, tuple(x._replace(transposed=not x.transposed) for x in reversed(word))), c)
                for (s, word), c in self.terms
            )
        )

    def __str__(self) -> str:
        def spell(letter: Letter) -> str:
            mark = ("-" if letter.inverted else "") + ("T" if letter.transposed else "")
            return letter.name + (f"^{mark}" if mark else "")

        parts = []
        for (scalars, word), coefficient in sorted(self.terms):
            factors = [str(coefficient)] if coefficient != 1 else []
            factors += [f"{n}^{k}" if k != 1 else n for n, k in scalars]
            factors += [spell(x) for x in word] or ["I"]
            parts.append(" ".join(factors))
        return " + ".join(parts) or "0"
