"""A condition of the theorem: shown modulo a prime, or not known."""

from __future__ import annotations

from dataclasses import dataclass

from lightning_sym.whole_models.images import P


@dataclass(frozen=True)
class ModelCondition:
    """A condition of the theorem.

    Attributes:
        name: `(C1)` to `(C5)`, or `(N)` for what the norms and biases must be like where they are not folded.
        must: what must be so.
        holds: `None` where it is not known; a residue never shows that something fails.
        evidence: what shows it, or which layer, neuron or head it is not known of.
    """

    name: str
    must: str
    holds: bool | None
    evidence: str

    def __str__(self) -> str:
        said = {True: "holds", False: "does not hold", None: "is not known"}[self.holds]
        return f"{self.name} {said}: {self.evidence}"


MUST = {
    "(C1)": "embedding and unembedding have the rank of the stream",
    "(C2)": "no column and no factor of a neuron is 0, and each layer has a gate that is independent of any two others",
    "(C3)": "no set of neurons writes what is constant on the sphere if its gates are left out",
    "(C4)": "any two heads of the model have different forms",
    "(C5), ranks": "queries, keys, values and outputs of each head have its width as rank, gains on them included",
    "(C5), groups": "groups of a layer with two heads or more differ in what values read, or in keys up to their basis",
    "(P1)": "no product of lengths behind halves, and in front of scores, is a square",
    "(P2)": "no gain behind a half is seen only in part",
    "(P3)": "no two halves commute to first order",
    "(P4)": "squares of gains behind MLPs tell coordinates apart, and gates of a layer are pairwise independent",
    "(P4), signs": "no set of neurons of a layer writes nothing on the sphere if its gates are left out",
    "(P5), heads": "any two heads of a layer have different forms, that are not proportional where scores are capped",
    "(P5), ranks": "queries, keys, values and outputs of each head have its width as rank",
    "(P5), groups": "groups of a layer with two heads or more differ in what values read, or in keys up to their basis",
    "(T)": "tied with LayerNorm: the embedding has rank d, and the final gains turn it in one way only",
    "(N)": "gains are not 0, and biases lie so that they can move",
}


def shown(name: str, evidence: str) -> ModelCondition:
    """Return a condition that holds."""
    return ModelCondition(name, MUST[name], True, f"{evidence}, modulo {P}")


def unknown(name: str, why: str) -> ModelCondition:
    """Return a condition that is not known to hold."""
    return ModelCondition(name, MUST[name], None, why)
