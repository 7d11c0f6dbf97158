"""Which statements the argument for a statement uses: only those that are claims here, and only the nearest."""

from __future__ import annotations

RESTS_ON: dict[str, tuple[str, ...]] = {
    "definition-1": (),
    "lemma-3.1": (),
    "theorem-3.2": ("proposition-a.5",),
    "corollary-3.3": ("lemma-3.1", "theorem-3.2"),
    "theorem-3.4-closed": ("corollary-a.1",),
    "theorem-3.4-boundary": ("corollary-a.6",),
    "theorem-3.4-singular": ("corollary-a.4",),
    "figure-1": ("theorem-3.4-boundary", "theorem-3.4-singular"),
    "equation-9": ("lemma-3.1", "definition-1"),
    "lemma-3.5": ("equation-9",),
    "lemma-3.6": ("definition-1",),
    "equation-12": ("lemma-3.6",),
    "theorem-3.7": ("theorem-3.2", "equation-12"),
    "corollary-3.8": ("lemma-3.5", "theorem-3.7"),
    "theorem-3.9": ("definition-1",),
    "conjecture-3.10": ("lemma-3.5", "softmax-fibers"),
    "rational-normalizer": ("theorem-3.9",),
    "figure-3": ("conjecture-3.10",),
    "section-4-skip": ("equation-9",),
    "section-4-heads": ("definition-1",),
    "corollary-a.1": ("proposition-a.5",),
    "corollary-a.2": ("theorem-3.2",),
    "lemma-a.3": ("proposition-a.5",),
    "corollary-a.4": ("corollary-a.2", "lemma-a.3"),
    "proposition-a.5": ("definition-1",),
    "corollary-a.6": ("corollary-a.1", "lemma-a.3"),
    "dimension-all-widths": ("theorem-3.7", "equation-9"),
    "dimension-every-width": ("dimension-all-widths",),
    "free-exponentials": ("definition-1",),
    "softmax-fibers": ("theorem-3.9", "equation-9"),
    "softmax-normalizers": ("softmax-fibers",),
    "softmax-jets": ("softmax-fibers",),
    "softmax-all-widths": ("free-exponentials", "softmax-fibers"),
    "attention-only-transformers": ("transformer-dimension",),
    "one-transformer-layer": ("free-exponentials",),
    "transformer-fibers": ("words-and-blocks", "common-streams"),
    "common-streams": ("definition-1",),
    "transformer-dimension": ("transformer-fibers",),
    "words-and-blocks": ("free-exponentials",),
    "degree": ("theorem-3.2",),
    "attention-invariants": ("proposition-a.5",),
    "figure-1-singular-scheme": ("figure-1",),
    "tangent-spaces": ("theorem-3.4-singular",),
    "conserved-quantities": ("equation-9",),
}
"""By claim id."""


def supports(claim: str) -> tuple[str, ...]:
    """What rests on a claim.

    Example:
        >>> supports("theorem-3.4-singular")
        ('figure-1', 'tangent-spaces')
    """
    return tuple(other for other, below in RESTS_ON.items() if claim in below)


def levels(claims: list[str]) -> dict[str, int]:
    """How many steps a claim stands above the lowest, among the given ones.

    Example:
        >>> levels(["lemma-3.1", "equation-9", "lemma-3.5"])
        {'lemma-3.1': 0, 'equation-9': 1, 'lemma-3.5': 2}
    """
    found: dict[str, int] = {}

    def level(claim: str) -> int:
        if claim not in found:
            found[claim] = max((level(below) + 1 for below in RESTS_ON[claim] if below in claims), default=0)
        return found[claim]

    return {claim: level(claim) for claim in claims}
