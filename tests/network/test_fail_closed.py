"""An option that nobody has proved anything for gets a refusal by name from every public entry, never a number."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
from public_functions import modules_of, public_functions

import lightning_cli.options
import lightning_sym
from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, certified_dimension, softmax_jet
from lightning_sym.dimension.printed_formulas import printed_formula
from lightning_sym.errors import BadInput
from lightning_sym.limits import Work
from lightning_sym.network.attention import LIGHTNING
from lightning_sym.rings.prime_field import PRIMES, random_residues
from lightning_sym.rings.sizes import Price
from lightning_sym.symmetries.families import TABLE
from lightning_sym.symmetries.point import Point
from lightning_sym.system.fields import Q

P = PRIMES[0]
JET = softmax_jet(Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[1]]}, NetworkForm(SOFTMAX)))


@dataclass(frozen=True, repr=False)
class WithRotations(Architecture):
    """The networks of today, and one more option."""

    rotary: bool = False


UNKNOWN = {
    "plain": WithRotations((2, 2), (1,), 2, rotary=True),
    "softmax": WithRotations((2, 2), (1,), 2, SOFTMAX, rotary=True),
    "transformer": WithRotations((2, 2), (1,), 2, heads=2, value_ranks=(1,), skip=True, embed=2, rotary=True),
    "one token": WithRotations((2, 2), (1,), 1, rotary=True),
}

# these compute nothing from a network: they hold what was found, or say that nothing is proved
COMPUTES_NOTHING = {
    "Agreement.__init__", "CertifiedDimension.__init__", "Classification.__init__",
    "Comparison.__init__", "ConservedQuantities.__init__", "CoordinateSystem.__init__", "Equations.__init__",
    "DirectionFamily.__init__",
    "DirectionFamily.belongs_to",
    "Fiber.__init__",
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
        "bits": 8, "heads": 1, "letter": "F",
        "value": None, "document": None, "entries": None, "ring": None, "given": None, "found": None,
        "field": Q, "held": None, "idle": None,
        "budget": Work(), "degree": 2, "rows": 1, "columns": 1, "upper": 1,
        "form": LIGHTNING, "net": None, "prime": P, "count": 1,
        "price": Price("rationals"), "input_bits": 8, "fractions": 0,
        "needs": (), "wanted": frozenset({0}), "kept": 1,
    }  # fmt: skip
    return made[name]


@pytest.mark.parametrize("network", UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("label", ENTRIES)
def test_every_entry_refuses_by_name(label: str, network: Architecture) -> None:
    function = ENTRIES[label]
    arguments = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "weights":
            exact = Weights.random(Architecture(network.widths, network.attention_ranks, network.tokens))
            arguments[name] = exact if "Weights" in str(parameter.annotation) else argument("matrices", network)
        elif name != "self" and (
            parameter.default is inspect.Parameter.empty or "Architecture" in str(parameter.annotation)
        ):
            arguments[name] = argument(name, network)
    with pytest.raises(BadInput, match="rotary"):
        exhausted(function(**arguments))


@pytest.mark.parametrize("family", TABLE, ids=lambda family: family.name)
def test_every_family_refuses_by_name(family: Any) -> None:
    network, known = WithRotations((2, 2), (1,), 2, rotary=True), Architecture((2, 2), (1,), 2)
    point = Point(known, [random_residues(np.random.default_rng(0), s, P) for _, s in known.weight_shapes()], P)
    point.architecture = network
    assert not family.belongs_to(network)
    with pytest.raises(BadInput, match="rotary"):
        list(family.at(point))


def test_the_list_of_entries_is_not_empty_by_mistake() -> None:
    assert "lightning_sym.dimension.certify.certified_dimension" in ENTRIES
    assert "lightning_sym.network.weights.Weights.random" in ENTRIES
    assert len(ENTRIES) > 35


@pytest.mark.parametrize("network", UNKNOWN.values(), ids=UNKNOWN)
def test_no_printed_formula_is_for_it(network: Architecture) -> None:
    assert printed_formula(network).value is None


def test_an_option_that_is_not_used_changes_nothing() -> None:
    assert certified_dimension(WithRotations((4, 4, 4), (2, 2), 3)).value == 38


SAID: dict[str, Any] = {"normalization": SOFTMAX, "causal": True, "skip": True}
"""What weights can say besides their matrices, by the name of the option."""


@pytest.mark.parametrize("name", [field.name for field in fields(NetworkForm)])
def test_what_weights_say_reaches_the_network_and_the_file(name: str) -> None:
    """An option that is lost on the way would be answered as if it were not there."""
    form = NetworkForm(**{name: SAID[name]})
    network = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4], [5, 6]]}, form).architecture(2)
    assert network.options == {name}
    assert len(form.words) == 1
    assert NetworkForm.of(network) == form == NetworkForm.from_json(form.to_json())
