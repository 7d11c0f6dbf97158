"""An option that nobody has proved anything for gets a refusal by name from every public entry, never a number."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
from entries import ENTRIES, P, argument, exhausted
from grouped import grouped

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, certified_dimension
from lightning_sym.dimension.dimension_text import printed_formula
from lightning_sym.errors import BadInput
from lightning_sym.network.rotary import Rotary
from lightning_sym.rings.prime_field import random_residues
from lightning_sym.symmetries.families import TABLE
from lightning_sym.symmetries.point import Point


@dataclass(frozen=True, repr=False)
class WithOneMore(Architecture):
    """The networks of today, and one more option."""

    wound: bool = False


UNKNOWN = {
    "plain": WithOneMore((2, 2), (1,), 2, wound=True),
    "softmax": WithOneMore((2, 2), (1,), 2, SOFTMAX, wound=True),
    "transformer": WithOneMore((2, 2), (1,), 2, heads=2, value_ranks=(1,), skip=True, embed=2, wound=True),
    "one token": WithOneMore((2, 2), (1,), 1, wound=True),
}


@pytest.mark.parametrize("network", UNKNOWN.values(), ids=UNKNOWN)
@grouped("label", ENTRIES, by=lambda label: label.rpartition(".")[0])
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
    with pytest.raises(BadInput, match="wound"):
        exhausted(function(**arguments))


@pytest.mark.parametrize("family", TABLE, ids=lambda family: family.name)
def test_every_family_refuses_by_name(family: Any) -> None:
    network, known = WithOneMore((2, 2), (1,), 2, wound=True), Architecture((2, 2), (1,), 2)
    point = Point(known, [random_residues(np.random.default_rng(0), s, P) for _, s in known.weight_shapes()], P)
    point.architecture = network
    assert not family.belongs_to(network)
    with pytest.raises(BadInput, match="wound"):
        list(family.at(point))


def test_the_list_of_entries_is_not_empty_by_mistake() -> None:
    assert "lightning_sym.dimension.certify.certified_dimension" in ENTRIES
    assert "lightning_sym.network.weights.Weights.random" in ENTRIES
    assert len(ENTRIES) > 35


@pytest.mark.parametrize("network", UNKNOWN.values(), ids=UNKNOWN)
def test_no_printed_formula_is_for_it(network: Architecture) -> None:
    assert printed_formula(network).value is None


def test_an_option_that_is_not_used_changes_nothing() -> None:
    assert certified_dimension(WithOneMore((4, 4, 4), (2, 2), 3)).value == 38


SAID: dict[str, dict[str, Any]] = {
    "normalization": {"normalization": SOFTMAX},
    "causal": {"causal": True},
    "skip": {"skip": True},
    "rotary": {"rotary": Rotary(turns=[(0, 1)])},
    "key_heads": {"key_heads": 1, "heads": 2},
    "biases": {"biases": ("Q", "O")},
    "gains": {"gains": True},
    "query_key_norm": {"query_key_norm": 1},
    "gated": {"gated": "square", "neurons": (3,)},
}
"""What weights can say besides their matrices, by the name of the option, with what goes with it."""


@pytest.mark.parametrize("name", [field.name for field in fields(NetworkForm)])
def test_what_weights_say_reaches_the_network_and_the_file(name: str) -> None:
    """An option that is lost on the way would be answered as if it were not there."""
    asked = Architecture((2, 2), (2,), 2, **SAID[name])
    form, weights = NetworkForm.of(asked), Weights.random(asked)
    assert form == NetworkForm(**{name: SAID[name][name]}) != NetworkForm()
    network = Weights.of(weights.named(), form).architecture(2)
    assert network == asked
    assert network.options == {*SAID[name]}
    assert len(form.words) == 1
    assert NetworkForm.of(network) == form == NetworkForm.from_json(form.to_json())
