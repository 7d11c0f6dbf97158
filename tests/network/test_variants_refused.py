"""No question answers for a variant of attention: each refuses the option by its name, or is listed with a reason."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from entries import ENTRIES, JET, QUESTIONS, argument, exhausted
from variants import ONE_BY_ONE

import lightning_sym
import lightning_sym.testing
from lightning_sym import (
    SOFTMAX,
    Architecture,
    Weights,
    fiber,
    load_jet,
    polynomial_map,
    recover_from_jet,
    same_function,
    save_jet,
)
from lightning_sym.errors import BadInput
from lightning_sym.testing import assert_holds
from proofs_check.registry import all_claims

NETWORK = "lightning_sym.network"

ALLOWED = {
    f"{NETWORK}.ambient.ambient_dimension": "counts monomials of the degrees that can occur",
    f"{NETWORK}.ambient.count_terms_at_most": "counts terms of what the forward pass multiplies",
    f"{NETWORK}.ambient.degree_words": "the degrees that can occur, counted layer by layer",
    f"{NETWORK}.ambient.degrees": "the degrees that can occur, counted layer by layer",
    f"{NETWORK}.ambient.require_polynomial": "refuses by name what is no polynomial",
    f"{NETWORK}.ambient.require_room": "memory for these terms",
    f"{NETWORK}.ambient.weights_in_a_term": "the degree in the weights, counted layer by layer",
    f"{NETWORK}.attention.attended": "which tokens see which: the forward pass carries it out",
    f"{NETWORK}.attention.form_of": "what layers do: the forward pass carries it out",
    f"{NETWORK}.attention.network_output": "the forward pass",
    f"{NETWORK}.attention.run": "the forward pass",
    f"{NETWORK}.form.NetworkForm.of": "what weights carry: it says every variant",
    f"{NETWORK}.jacobian_rank.jacobian_at": "derivatives of polynomials at numbers: no theorem on attention",
    f"{NETWORK}.polynomial_map.polynomial_map": "the forward pass, over polynomials",
    f"{NETWORK}.variant_layer.layer_of_variant": "the forward pass",
    f"{NETWORK}.weight_values.attention_matrix": "symbols of weights by name, of which nothing is stated",
    f"{NETWORK}.weight_values.matrices_in": "names of weights",
    f"{NETWORK}.weight_values.values_by_name": "values of weights by name",
    f"{NETWORK}.weight_values.weight_variables": "names of weights",
    f"{NETWORK}.weights.Weights.random": "numbers, of which nothing is stated",
    "lightning_sym.testing.exact_floats.Exactness.__init__": "a bound that the forward pass itself gives",
    "lightning_sym.testing.truth.EnclosedOutputs.__init__": "outputs by the forward pass, over balls",
    "lightning_sym.testing.truth.ExactOutputs.__init__": "outputs by the forward pass",
    "lightning_sym.testing.truth.exactly": "outputs by the forward pass",
    "lightning_sym.testing.truth.what_is_rounded": "names what floats round",
}
"""What may be asked of a variant, and why: nothing here rests on a theorem."""


CLAIMS = [claim.id for claim in all_claims() if any(part.at is not None for part in claim.parts)]
"""Those that can be asked of one network."""


def spelled(name: str) -> str:
    """The option's name as a field, or in the words of a network."""
    return rf"\b{name.replace('_', '[_ ]')}\b"


def networks(name: str) -> dict[str, Architecture]:
    """The option in a lightning network, with softmax, at one token, and in a transformer."""
    bare = ONE_BY_ONE[name]
    return {
        "lightning": bare,
        "softmax": replace(bare, normalization=SOFTMAX),
        "one token": replace(bare, tokens=1),
        "transformer": replace(bare, normalization=SOFTMAX, skip=True, causal=True, value_ranks=(1,), embed=2),
    }


@pytest.mark.parametrize("label", [label for label in ENTRIES if label not in ALLOWED])
def test_every_entry_refuses_by_name(label: str) -> None:
    function = ENTRIES[label]
    for name in ONE_BY_ONE:
        for network in networks(name).values():
            arguments: dict[str, Any] = {}
            for parameter in inspect.signature(function).parameters.values():
                if parameter.name == "weights":
                    own = "Weights" in str(parameter.annotation)
                    arguments["weights"] = Weights.random(network) if own else argument("matrices", network)
                elif parameter.name != "self" and (
                    parameter.default is inspect.Parameter.empty or "Architecture" in str(parameter.annotation)
                ):
                    arguments[parameter.name] = argument(parameter.name, network)
            with pytest.raises(BadInput, match=spelled(name)):
                exhausted(function(**arguments))


ALLOWED_QUESTIONS = {
    "ambient_dimension": "counts monomials of a degree: no theorem",
    "assert_implements": "compares outputs with the forward pass",
    "network_output": "the forward pass",
    "polynomial_coefficient": "of polynomials, whatever they are coefficients of: no theorem on attention",
    "polynomial_map": "the forward pass, over polynomials",
    "recover_from_jet": "of jets, which say their network: a test below asks it with one of a variant",
    "save_weights": "writes what weights say",
}
"""Public functions that do not refuse, and why."""

PLAIN = Architecture((2, 2), (2,), 2)

ARGUMENTS: dict[str, Any] = {
    "x": np.ones((2, 2), dtype=object),
    "by": 2,
    "layer": 1,
    "expected": 1,
    "bound": 1,
    "tokens": 2,
}


def asked_of(parameter: inspect.Parameter, weights: Weights) -> Any:
    """What a question is asked of: weights, their network, or their map."""
    kind = str(parameter.annotation)
    if kind == "Mapping[str, Weights]":
        return {"one": weights}
    if parameter.name in ("first", "second") or re.search(r"\bWeights\b", kind):
        return weights
    if re.search(r"\bArchitecture\b", kind):
        return weights.architecture(2)
    if parameter.name == "phi":
        return polynomial_map(weights.architecture(2), weights)
    return ARGUMENTS[parameter.name] if parameter.name in ARGUMENTS else argument(parameter.name, PLAIN)


@pytest.mark.parametrize("label", [label for label in QUESTIONS if label not in ALLOWED_QUESTIONS])
def test_every_public_question_refuses_by_name(label: str) -> None:
    """A new one is asked too, as soon as it is public; its arguments are found by their names and kinds."""
    function, plain = QUESTIONS[label], Weights.random(PLAIN)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    results = {"comparison": same_function(plain, plain), "found": fiber(plain, tokens=2)}
    for name in ONE_BY_ONE:
        for network in networks(name).values():
            if "phi" in [p.name for p in parameters] and (network.normalization or network.not_rational):
                continue  # these have no polynomial map
            weights = Weights.random(network, seed=1, bound=2)
            arguments = {p.name: asked_of(p, weights) for p in parameters if p.name not in results}
            arguments |= {p.name: results[p.name] for p in parameters if p.name in results}
            with pytest.raises(BadInput, match=spelled(name)):
                exhausted(function(**arguments))


def test_the_questions_are_all_there() -> None:
    assert {"same_function", "fiber", "canonical", "classify", "certified_dimension", "equations", "variety_degree",
            "conserved_quantities", "recover", "virtual_weights", "softmax_jet", "same_certificate",
            "assert_holds"} < QUESTIONS.keys()  # fmt: skip
    assert ALLOWED_QUESTIONS.keys() <= {*lightning_sym.__all__, *lightning_sym.testing.__all__}


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_claim_refuses_by_name(claim: str) -> None:
    for name in ONE_BY_ONE:
        for network in networks(name).values():
            for asked in (network, Weights.random(network, seed=1, bound=2)):
                with pytest.raises(BadInput, match=spelled(name)):
                    assert_holds(claim, asked)


def test_a_jet_of_a_variant_is_refused_by_name(tmp_path: Path) -> None:
    """Also where the file says it: nothing that a form says is left out on the way."""
    file = tmp_path / "jet.json"
    save_jet(JET, file)
    document = json.loads(file.read_text())
    document["form"]["biases"] = ["Q"]
    file.write_text(json.dumps(document))
    with pytest.raises(BadInput, match="biases"):
        recover_from_jet(load_jet(file))
