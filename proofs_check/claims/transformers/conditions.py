"""Which hypotheses of Theorem 4 and Corollary 5 of docs/transformer-fibers.md given weights fulfil, exactly.

Written from the page, with all words multiplied out: nothing of `lightning_sym.fibers.conditions` is used, so that a
claim does not ask the program whether its hypotheses hold.
"""

from __future__ import annotations

from itertools import chain, combinations, product

import numpy as np

from lightning_sym.exact.rational import rank
from lightning_sym.rings.arrays import ObjectArray
from proofs_check.claims.transformers.small_networks import SmallNetwork, as_array, as_rows


def rank_of(*columns: ObjectArray) -> int:
    """Return the rank of all columns together."""
    return rank(np.concatenate(columns, axis=1).tolist())


def is_zero(matrix: ObjectArray) -> bool:
    """Return whether all entries are."""
    return not any(matrix.ravel())


Letters = tuple[tuple[int, int], ...]
"""Of a word: layers and heads."""


class WordSpaces:
    """Words and sums of a network; layers count from 1, `i = 0` is the embedding."""

    def __init__(self, network: SmallNetwork) -> None:
        self.network = network
        self.depth, self.skip = len(network.layers), network.skip
        self.embed, self.unembed = as_array(network.embed), as_array(network.unembed)
        self.width = len(network.embed)
        one = np.eye(self.width, dtype=int).astype(object)
        self.values = [[as_array(h.value) for h in heads] for heads in network.layers]
        self.attention = [[as_array(h.attention) for h in heads] for heads in network.layers]
        self.sums = [sum(values, one * int(self.skip)) for values in self.values]  # C_i
        self.below: list[list[ObjectArray]] = [[self.embed]]  # W_w E
        self.letters: list[list[Letters]] = [[()]]  # of these words
        self.total = [self.embed]  # S_i
        for i, (values, c) in enumerate(zip(self.values, self.sums, strict=True), start=1):
            words, letters = self.below[-1], self.letters[-1]
            self.below.append([*(words if self.skip else []), *(v @ w for v in values for w in words)])
            longer = [(*word, (i, h)) for h in range(len(values)) for word in letters]
            self.letters.append([*(letters if self.skip else []), *longer])
            self.total.append(c @ self.total[-1])
        self.above: list[list[ObjectArray]] = [[self.unembed]]  # U W_v, from the last layer
        self.outer = [self.unembed]  # Y_i
        for values, c in zip(reversed(self.values), reversed(self.sums), strict=True):
            words = self.above[-1]
            self.above.append([*(words if self.skip else []), *(w @ v for v in values for w in words)])
            self.outer.append(self.outer[-1] @ c)
        self.above.reverse()
        self.outer.reverse()

    def written(self, i: int) -> list[ObjectArray]:
        """Return `B`: what layer `i` has added to the stream; the embedding for `i = 0`."""
        return self.below[i][-len(self.values[i - 1]) * len(self.below[i - 1]) :] if i else [self.embed]

    def forms(self, i: int, attention: ObjectArray) -> list[ObjectArray]:
        """Return the coefficients of `q_A(N_i(gamma) E xi)`, by monomials in gamma: symmetric matrices."""
        written = self.written(i)
        named = list(zip(self.letters[i][-len(written) :], written, strict=True))
        found: dict[Letters, ObjectArray] = {}
        for (one, left), (other, right) in product(named, repeat=2):
            monomial, part = tuple(sorted(one + other)), left.T @ attention @ right
            found[monomial] = found.get(monomial, 0 * part) + part + part.T
        return [found[monomial] for monomial in sorted(found)]


def _independent(each: list[list[ObjectArray]]) -> bool:
    return rank([[entry for m in matrices for entry in m.ravel()] for matrices in each]) == len(each)


def _subsets(heads: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(heads), k) for k in range(heads + 1)))


def seen_scores(of: WordSpaces, i: int) -> bool:
    """Return whether condition (a) holds for the scores of layer `i`."""
    seen = [[b.T @ a @ of.total[i - 1] for b in of.written(i - 1)] for a in of.attention[i - 1]]
    if i < of.depth:
        return _independent(seen)
    shown = [tuple(as_rows(m) for m in matrices) for matrices in seen]
    opposite = [tuple(as_rows(-m) for m in matrices) for matrices in seen]
    if any(all(map(is_zero, matrices)) for matrices in seen) or len(set(shown)) < len(shown):
        return False
    return of.network.tokens > 2 or not set(shown) & set(opposite)


def seen_forms(of: WordSpaces, i: int) -> bool:
    """Return whether condition (a') holds for the quadratic forms of layer `i`."""
    if of.network.causal or i == of.depth:
        return True
    return _independent([of.forms(i - 1, a) for a in of.attention[i - 1]])


def seen_values(of: WordSpaces, i: int) -> bool:
    """Return whether condition (b) holds for layer `i`: the values of all heads are seen behind it."""
    readers = of.above[i] if of.network.causal else [of.outer[i]]
    return all(any(not is_zero(u @ v @ w) for u in readers for w in of.below[i - 1]) for v in of.values[i - 1])


def _seen_flip(of: WordSpaces, chosen: tuple[tuple[int, ...], ...]) -> bool:
    """Return whether a flip is seen, by the first token, or by scores of the layer above the lowest flips."""
    zero = np.zeros((of.width, of.width), dtype=object)
    flipped = [sum((v[h] for h in heads), zero) for v, heads in zip(of.values, chosen, strict=True)]
    kept = of.embed
    for c, v in zip(of.sums, flipped, strict=True):
        kept = (c - v) @ kept
    if not is_zero(of.unembed @ kept - of.outer[0] @ of.embed):
        return True
    j = next(i for i, heads in enumerate(chosen) if heads)
    if j + 1 == of.depth:
        return False
    left, right = (of.sums[j] - flipped[j]) @ of.total[j], flipped[j] @ of.total[j]
    forms = [left.T @ a @ right for a in of.attention[j + 1]]
    return any(not is_zero(form + form.T) for form in forms)


def no_flips(of: WordSpaces) -> bool:
    """Return whether condition (c) holds: every flip of heads is seen."""
    if of.network.tokens > 2:
        return True
    every = [_subsets(len(values)) for values in of.values]
    zero = np.zeros((of.width, of.width), dtype=object)
    if of.network.causal and of.skip:
        return all(_seen_flip(of, chosen) for chosen in product(*every) if any(chosen))
    for i, subsets in enumerate(every, start=1):
        for heads in subsets[1:]:
            total: object = sum((of.values[i - 1][h] for h in heads), zero)
            if of.network.causal:
                seen = any(not is_zero(u @ total @ w) for u in of.above[i] for w in of.below[i - 1])
            else:
                seen = any(not is_zero(of.outer[i] @ total @ b) for b in of.written(i - 1))
            if not seen:
                return False
    return True


def full_ranks(of: WordSpaces) -> bool:
    """Return the three conditions of Corollary 5."""
    d = of.width
    wide = all(rank_of(*words) == d for words in of.below)
    deep = all(rank_of(*(u.T for u in words)) == d for words in of.above)
    return wide and deep and all(rank_of(total) == d for total in of.total[:-1])


def failing(network: SmallNetwork) -> str:
    """Return which conditions do not hold: of `a`, `a'`, `b`, `c` and `ranks`.

    Example:
        >>> from proofs_check.claims.transformers.small_networks import (HeadAV)
        >>> head = HeadAV(((1,),), ((1,),))
        >>> failing(SmallNetwork(((1,),), ((head,),), ((1,),), 2, True))
        ''
        >>> failing(SmallNetwork(((1,),), ((head, head),), ((0,),), 2, True))
        'a, b, c, ranks'
    """
    of = WordSpaces(network)
    layers = range(1, of.depth + 1)
    found = {
        "a": all(seen_scores(of, i) for i in layers),
        "a'": all(seen_forms(of, i) for i in layers),
        "b": all(seen_values(of, i) for i in layers),
        "c": no_flips(of),
        "ranks": full_ranks(of),
    }
    return ", ".join(name for name, holds in found.items() if not holds)
