"""Every public entry that is about a network, and what it can be asked with."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from public_functions import modules_of, public_functions

import lightning_cli.options
import lightning_sym
import lightning_sym.testing
from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, softmax_jet
from lightning_sym.limits import Work
from lightning_sym.network.layer import LIGHTNING
from lightning_sym.rings.prime_field import PRIMES, random_residues
from lightning_sym.rings.sizes import Price
from lightning_sym.system.fields import Q

P = PRIMES[0]
JET = softmax_jet(Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]}, NetworkForm(SOFTMAX)))


# these compute nothing from a network: they hold what was found, or say that nothing is proved
COMPUTES_NOTHING = {
    "Agreement.__init__", "AtWeights.__init__", "CertifiedDimension.__init__", "Classification.__init__",
    "Comparison.__init__", "ConservedQuantities.__init__", "CoordinateSystem.__init__", "Equations.__init__",
    "DirectionFamily.__init__",
    "DirectionFamily.belongs_to",
    "Fiber.__init__",
    "FunctionLimit.__init__",
    "Formula.at",
    "Held.__init__",
    "Hypothesis.__init__",
    "OrbitTable.__init__",
    "PolynomialMap.__init__",
    "QueryPlan.__init__",
    "Recovery.__init__",
    "SingularLocus.__init__",
    "SoftmaxRecovery.__init__",
    "TransformerConditions.__init__",
    "VarietyDegree.__init__",
    "families_of",
    "printed_formula",
}  # fmt: skip


def entries() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function and method of the library, and of the options, that takes an `Architecture`."""
    for module, label, function, kinds in public_functions([*modules_of(lightning_sym), lightning_cli.options]):
        can_be_called = label not in COMPUTES_NOTHING and not inspect.isabstract(function)
        if can_be_called and any("Architecture" in kind for kind in kinds.values()):
            yield f"{module}.{label}", function


ENTRIES = dict(entries())


ABOUT = re.compile(r"\b(Weights|Architecture|PolynomialMap|Network)\b")
"""Annotations of what is a network, its weights or its map; `phi` is a map too, in whatever way it is given."""


def questions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every function that people import by name and that takes a network, its weights, or its map."""
    for module in (lightning_sym, lightning_sym.testing):
        for name in module.__all__:
            found = getattr(module, name)
            kinds = getattr(found, "__annotations__", {}) if inspect.isfunction(found) else {}
            if any(key == "phi" or ABOUT.search(str(kind)) for key, kind in kinds.items() if key != "return"):
                yield name, found


QUESTIONS = dict(questions())


def exhausted(found: Any) -> None:
    """What a generator refuses, it refuses when it is asked for something."""
    if inspect.isgenerator(found):
        list(found)


def argument(name: str, network: Architecture) -> Any:
    """Something fit for a parameter of this name."""
    like = Architecture(network.widths, network.attention_ranks, network.tokens)
    rng = np.random.default_rng(0)
    matrices = [random_residues(rng, shape, P) for _, shape in like.weight_shapes()]
    made = {
        "architecture": network, "shape": network, "network": network, "generator": rng, "p": P, "order": None,
        "matrices": matrices, "x": np.ones((2, network.tokens), dtype=object), "batches": [], "i": 0, "h": 0,
        "rank": 1, "terms": 1, "lower_bound": {"terms": None, "rows": []}, "generic": 1, "layer": 0, "head": 0,
        "virtual": None, "point": None, "description": "", "what": "this", "variables": 4, "sizes": None,
        "memory": 2**30, "names": [], "symbols": [], "weights": {}, "numbers": [],
        "size": 1, "length": 1, "expected": 1, "claim_id": "dimension-all-widths", "report": print,
        "function": abs, "floats": None, "ulps": 1, "bound": 1, "phi": None, "candidate": None, "attention": [],
        "networks": [network], "seed": 0, "certificates": False,
        "jet": JET, "work": Work(), "lines": 1, "series": (),
        "bits": 8, "heads": 1, "letter": "F", "degrees": [3],
        "value": None, "document": None, "entries": None, "ring": None, "given": None, "found": None,
        "field": Q, "held": None, "idle": None,
        "budget": Work(), "degree": 2, "rows": 1, "columns": 1, "upper": 1,
        "form": LIGHTNING, "net": None, "prime": P, "count": 1,
        "price": Price("rationals"), "input_bits": 8, "fractions": 0,
        "attended": None, "needs": (), "wanted": frozenset({0}), "kept": 1, "quantities": (), "input": None,
        "functional": None, "proof": None, "other": network, "dimension": 1, "background": 1, "tensors": None,
        "bounds": lambda shape: (0, 0),
        "components": (), "forms": (), "complete_over": None,
    }  # fmt: skip
    return made[name]
