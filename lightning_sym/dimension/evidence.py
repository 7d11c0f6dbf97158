"""What upper bounds of the dimension are, in words, and by which statement each is one."""

from __future__ import annotations

from enum import StrEnum


class Evidence(StrEnum):
    """What an upper bound is; the values are the keys of JSON answers, `meaning` says it in words.

    Its `citation` is the statement by which it is a bound.
    """

    meaning: str
    citation: str

    def __new__(cls, word: str, citation: str, meaning: str) -> Evidence:
        """Return a word with what it means, and with the proof that it is a bound."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.citation, member.meaning = citation, meaning
        return member

    ORBIT = "orbit", "Proposition 2 of docs/upper-bound.md", "parameters minus the dimension of a symmetry orbit"
    DIRECTIONS = (
        "directions", "Lemma 3 of docs/transformers.md",
        "parameters minus the orbit and all else that the function does not see",
    )  # fmt: skip
    FORMS = (
        "forms", "Proposition 9 of docs/transformers.md",
        "matrices of quadratic forms of bounded rank, which is what the heads of one layer make",
    )  # fmt: skip
    SPAN = "span", "Proposition 14 of docs/transformers.md", "the linear span of all functions of this kind"
    LINEAR = (
        "linear", "Proposition 10 of docs/transformers.md",
        "linear maps of bounded rank, which is all that one token leaves",
    )  # fmt: skip
    FACTORIZATION = "factorization", "Theorems 6 and 7 of docs/upper-bound.md", "the variety of virtual weights"
    PRODUCTS = (
        "products", "Proposition 18 of docs/transformers.md",
        "products of keys and queries, of values and outputs, up to changes of basis of the stream",
    )  # fmt: skip
    NARROW = (
        "narrow", "Proposition 5 of docs/deep-lightning.md",
        "compositions of forms at a narrow place of the stream",
    )  # fmt: skip
    LAYERS = (
        "layers", "Theorem 2 of docs/deep-lightning.md",
        "the dimensions of all layers, each alone, and of both ends up to a change of basis",
    )  # fmt: skip
