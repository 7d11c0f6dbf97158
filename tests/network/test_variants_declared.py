"""Variants of attention are declared once: shapes, counts, names, files and the action of the group follow."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from variants import ONE_BY_ONE, QUARTER, RATIONAL, SOFTMAX_ONLY, TWO

from lightning_sym import SOFTMAX, Architecture, NetworkForm, Weights, load_weights, polynomial_map, save_weights
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.exact.rational import unique_solution
from lightning_sym.network.ambient import count_terms_at_most, degrees, weights_in_a_term
from lightning_sym.network.attention import Form, form_of, run
from lightning_sym.network.pieces import pieces, spaces
from lightning_sym.network.rotary import Rotary
from lightning_sym.network.variant import Variant
from lightning_sym.network.weight_names import weight_names
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.symmetries.group import act

EVERY = RATIONAL | SOFTMAX_ONLY | ONE_BY_ONE

FULL = Architecture(
    (2, 3, 4), (4, 4), 2, heads=4, key_heads=2, value_ranks=(5, 6), embed=7, unembed=8, rotary=TWO, biases="QKVO",
    gains=True, gated="identity", neurons=(9, 10),
)  # fmt: skip

SHAPES_OF_LAYER_2 = {
    "Q2.1": (4, 3), "bQ2.1": (4, 1), "K2.1": (4, 3), "bK2.1": (4, 1), "V2.1": (6, 3), "bV2.1": (6, 1), "O2.1": (4, 6),
    "Q2.2": (4, 3), "bQ2.2": (4, 1), "O2.2": (4, 6),
    "Q2.3": (4, 3), "bQ2.3": (4, 1), "K2.2": (4, 3), "bK2.2": (4, 1), "V2.2": (6, 3), "bV2.2": (6, 1), "O2.3": (4, 6),
    "Q2.4": (4, 3), "bQ2.4": (4, 1), "O2.4": (4, 6),
    "gQ2": (4, 1), "gK2": (4, 1), "bO2": (4, 1), "gate2": (10, 4), "up2": (10, 4), "down2": (4, 10),
}  # fmt: skip


def test_shapes_are_those_that_one_expects() -> None:
    shapes = dict(FULL.weight_shapes())
    assert [name for name in shapes if name[-1:] == "2" or "2." in name][-26:] == list(SHAPES_OF_LAYER_2)
    assert {name: shapes[name] for name in SHAPES_OF_LAYER_2} == SHAPES_OF_LAYER_2
    assert (shapes["E"], shapes["U"]) == ((2, 7), (8, 4))


@pytest.mark.parametrize("network", EVERY.values(), ids=EVERY)
def test_counts_and_names_follow(network: Architecture) -> None:
    shapes = dict(network.weight_shapes())
    assert network.parameter_count == sum(rows * columns for rows, columns in shapes.values())
    names = weight_names(network.depth, network.heads, NetworkForm.of(network), projected=bool(network.value_ranks))
    assert [name for name in names if name not in ("E", "U") or name in shapes] == list(shapes)


@pytest.mark.parametrize("network", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("ending", [".json", ".npz", ".safetensors"])
def test_files_keep_all_of_it(network: Architecture, ending: str, tmp_path: Path) -> None:
    weights = Weights.random(network, seed=3)
    file = tmp_path / f"w{ending}"
    save_weights(weights, file)
    assert load_weights(file) == weights
    assert load_weights(file).architecture(network.tokens) == network
    assert copy.deepcopy(weights) == weights
    names = {"Architecture": Architecture, "Rotary": Rotary, "Fraction": Fraction, "SOFTMAX": SOFTMAX}
    assert eval(repr(network), names) == network  # noqa: S307
    assert network._repr_latex_().startswith("$")
    assert weights._repr_latex_().startswith("$")
    assert weights != weights.with_form(replace(weights.form, causal=not weights.form.causal))


# ---- the group that the table declares does not change the function


class Multiple:
    """A number that stands for its multiple of one."""

    def __init__(self, factor: Fraction) -> None:
        self.factor = factor

    def __matmul__(self, matrix: Any) -> Any:
        return self.factor * matrix


def element(network: Architecture, source: Random) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for space in spaces(network):
        size, places = space.size, range(space.size)
        if space.kind == "scale":
            found[space] = Multiple(Fraction(3, 2)), Multiple(Fraction(2, 3))
            continue
        while True:
            matrix = np.array([[Fraction(source.randint(-2, 2)) for _ in places] for _ in places], dtype=object)
            inverse = unique_solution(matrix, np.eye(size, dtype=int).astype(object))
            if inverse is not None and (matrix != np.eye(size, dtype=int)).any():
                break
        found[space] = matrix, inverse
    return found


def moved_output(network: Architecture, changed: Any, form: Form[ObjectArray]) -> tuple[Any, Any]:
    weights = Weights.random(network, seed=5, bound=3).named()
    x = np.array([[Fraction(2 * i - 3 * j + 1) for j in range(network.tokens)] for i in range(network.input_width)])
    moved = act(weights, changed, pieces(network))
    return tuple(run(x, network, by_name.values(), form).tolist() for by_name in (weights, moved))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("network", RATIONAL.values(), ids=RATIONAL)
def test_the_action_leaves_the_function_alone(network: Architecture, seed: int) -> None:
    before, after = moved_output(network, element(network, Random(seed)), form_of(network))
    assert before == after


@pytest.mark.parametrize("network", RATIONAL.values(), ids=RATIONAL)
def test_so_does_that_of_normalized_scores(network: Architecture) -> None:
    """In place of softmax a function of scores that no scale passes."""
    normalized = replace(network, normalization=SOFTMAX)
    assert not spaces(normalized, "scale")
    before, after = moved_output(normalized, element(normalized, Random(1)), Form(lambda s: s * s * s, network.skip))
    assert before == after


@pytest.mark.parametrize("name", ["rotary", "gains", "gated"])
def test_bases_that_are_fixed_are_not_free(name: str) -> None:
    """There the function changes with the basis, by a shear for one."""
    network, kind = ONE_BY_ONE[name], "neuron" if name == "gated" else "query-key"
    (fixed,) = {
        axis.space for piece in pieces(network) for axis in (piece.rows, piece.columns) if axis.space.kind == kind
    }
    assert not fixed.free
    assert fixed not in spaces(network)
    one, shear = Fraction(1), Fraction(2)
    both = [np.array([[one, s], [0 * one, one]], dtype=object) for s in (shear, -shear)]
    before, after = moved_output(network, {fixed: both}, form_of(network))
    assert before != after


# ---- what is counted about the polynomials


SMALL = {name: n for name, n in RATIONAL.items() if n.depth == 1 and n.parameter_count < 40}


@pytest.mark.parametrize("network", SMALL.values(), ids=SMALL)
def test_degrees_and_terms_are_bounds(network: Architecture) -> None:
    phi = polynomial_map(network)
    first = len(phi.weight_names)
    exponents = [e for entry in phi.entries.ravel() for e in entry.to_dict()]
    assert phi.term_count <= count_terms_at_most(network)
    found = {sum(map(int, e[first:])) for e in exponents}
    assert found <= {*degrees(network)}
    assert max(found) == network.degree == max(degrees(network))
    assert max(sum(map(int, e[:first])) for e in exponents) == weights_in_a_term(network)
    numbers = polynomial_map(network, Weights.random(network, seed=1, bound=2))
    assert numbers.term_count <= count_terms_at_most(network, symbolic=False)
    assert len(phi.at(Weights.random(network, seed=1, bound=2)).coefficient_vector()) >= numbers.term_count


def test_a_jacobian_of_a_variant_is_that_of_its_polynomials() -> None:
    network = Architecture((2, 1), (2,), 2, rotary=QUARTER, biases="QO")
    phi, weights = polynomial_map(network), Weights.random(network, seed=1, bound=3)
    at = dict(zip(phi.weight_symbols, [e for m in weights.named().values() for e in m.ravel()], strict=True))
    assert phi.jacobian().subs(at).rank() == phi.jacobian_rank(weights).rank
    found = phi.generic_rank()
    assert found.lower == phi.jacobian_rank(dict(zip(found.weights, found.point, strict=True))).rank <= found.upper


# ---- what is refused, in one line


WRONG: dict[str, tuple[type[Exception], dict[str, Any], str]] = {
    "off the circle": (BadInput, {"rotary": {"turns": [[1, 1]]}}, "on the circle, cos^2 + sin^2 = 1, got [1, 1]"),
    "turns and base": (BadInput, {"rotary": {"turns": [[1, 0]], "base": 2}}, "turns or a base, one of them, got both"),
    "no turns": (BadInput, {"rotary": {}}, "turns or a base, one of them, got none"),
    "unknown key": (BadInput, {"rotary": {"base": 2, "scale": 2}}, "must be a Rotary, or an object .* got scale"),
    "pairs": (BadInput, {"rotary": {"base": 2, "pairs": "odd"}}, "must be halves or neighbours, got 'odd'"),
    "too many rows": (ShapeError, {"rotary": {"turns": [[0, 1], [0, 1]]}}, "pairs of the rows of queries, 4 rows of 2"),
    "no rotation": (BadInput, {"rotary": True}, "rotary must be a Rotary"),
    "key heads": (ShapeError, {"heads": 3, "key_heads": 2}, "multiple of key heads, got 3 and 2"),
    "no key heads": (BadInput, {"key_heads": 0}, "key heads must be a positive integer, got 0"),
    "biases": (BadInput, {"biases": "QX"}, "biases must be some of Q, K, V, O, each once, got 'QX'"),
    "twice": (BadInput, {"biases": "QQ"}, "each once, got 'QQ'"),
    "gains": (BadInput, {"gains": "yes"}, "gains must be true or false, got 'yes'"),
    "epsilon": (BadInput, {"query_key_norm": -1}, "must not be negative, got -1"),
    "no epsilon": (
        BadInput,
        {"query_key_norm": "small"},
        "must be a rational number of at most 100 digits, got 'small'",
    ),
    "a number without end": (BadInput, {"query_key_norm": "1e99999999999"}, "of at most 100 digits, got '1e99999"),
    "a long number": (BadInput, {"rotary": {"base": 10**200}}, "of at most 100 digits, got 1000"),
    "infinity": (BadInput, {"query_key_norm": float("inf")}, "of at most 100 digits, got inf"),
    "gate": (BadInput, {"gated": "relu", "neurons": (1,)}, "must be one of identity, square, silu, gelu, gelu_new"),
    "constant gate": (BadInput, {"gated": [1], "neurons": (1,)}, "2 to 9 coefficients, constant first"),
    "zero gate": (BadInput, {"gated": [1, 0], "neurons": (1,)}, "last coefficient of gated must not be zero"),
    "no neurons": (BadInput, {"gated": "silu"}, "both of gated and neurons, got none for neurons"),
    "no gate": (BadInput, {"neurons": (2,)}, "both of gated and neurons, got none for gated"),
    "neurons": (ShapeError, {"gated": "silu", "neurons": (2, 2)}, "neurons must be 1 in number, one a layer, got 2"),
}


@pytest.mark.parametrize(("kind", "options", "message"), WRONG.values(), ids=WRONG)
def test_wrong_options_are_refused(kind: type[Exception], options: dict[str, Any], message: str) -> None:
    with pytest.raises(kind, match=message.replace("^", r"\^").replace("+", r"\+").replace("[", r"\[")) as refusal:
        Architecture((2, 2), (2,), 2, **options)
    assert "\n" not in str(refusal.value)


def test_weights_must_be_those_of_the_form() -> None:
    """A bias that the form does not name is unknown, one that it names is missing, and no form loses one on the way."""
    network = Architecture((2, 2), (2,), 2, biases="Q", heads=2, key_heads=1)
    weights = Weights.random(network)
    with pytest.raises(ShapeError, match=r"missing or unknown: bQ1.1, bQ1.2$"):
        Weights.of(weights.named(), NetworkForm(key_heads=1))
    with pytest.raises(ShapeError, match=r"missing or unknown: K1.2, V1.2, bQ1.1, bQ1.2$"):
        weights.with_form(NetworkForm())
    with pytest.raises(ShapeError, match=r"missing or unknown: bO1$"):
        weights.with_form(NetworkForm(biases="QO", key_heads=1))
    wrong = weights.named() | {"bQ1.2": np.array([[1], [2], [3]])}
    with pytest.raises(ShapeError, match=r"bQ1.2 must have the shape \(2, 1\)"):
        Weights.of(wrong, weights.form)
    with pytest.raises(BadInput, match=r"layer by layer .*biases Q"):
        _ = Weights.random(ONE_BY_ONE["biases"]).layers
    with pytest.raises(BadInput, match="ranks are prescribed"):
        Weights.random(network, attention_matrix_ranks=[1])


def test_forms_in_files_are_read_strictly(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    save_weights(Weights.random(ONE_BY_ONE["rotary"]), file)
    document = json.loads(file.read_text())
    assert document["form"]["rotary"] == {"turns": [["0", "1"]], "pairs": "halves"}
    for rotary, message in (({"turns": [["0", "2"]]}, "on the circle"), ({"base": "x"}, "rational"), (3, "Rotary")):
        document["form"]["rotary"] = rotary
        file.write_text(json.dumps(document))
        with pytest.raises(BadInput, match=message):
            load_weights(file)


def test_a_variant_reads_what_it_writes() -> None:
    for network in EVERY.values():
        assert Variant(**network.added_json) == Variant(**network.added)
