"""Maps as they are given: every form of them is read, and what is none gets one line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import sympy

from lightning_sym import Architecture, Membership, Weights, polynomial_map, recover
from lightning_sym.errors import BadInput, ShapeError, TooLarge
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.rationals import as_fraction
from lightning_sym.varieties import map_text
from lightning_sym.varieties.map_input import map_from_python, map_of, read_document, shape_of
from lightning_sym.varieties.map_text import from_sympy, parse_polynomial

RING = PolynomialRing(["x_1_1", "x_2_1"])
SHAPE = Architecture((2, 1), (2,), 1)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2*x_1_1^2*x_2_1", "2*x_1_1**2*x_2_1"),
        (" - x_1_1 ** 3\n+ 1/2*x_2_1^3 ", "-x_1_1**3 + x_2_1**3/2"),
        ("x_1_1*x_1_1*x_2_1*3/6 - --x_2_1^3", "x_1_1**2*x_2_1/2 - x_2_1**3"),
        ("x_1_1^3/3 - x_1_1^3/3", "0"),
        ("0", "0"),
        ("x_1_1^0*x_2_1^3", "x_2_1**3"),
    ],
)
def test_texts(text: str, same: str) -> None:
    expression = sympy.parse_expr(same)
    assert parse_polynomial(text, RING, 3) == from_sympy(expression, RING, 3)


BAD_TEXTS = {
    "decimal": ("0.5*x_1_1^3", "integers and fractions"),
    "power of ten": ("1e3*x_1_1^3", "integers and fractions"),
    "letter": ("y^3", "in the letters x_1_1 to x_2_1"),
    "weight": ("Q1_1_1*x_1_1^3", "got the weight"),
    "brackets": ("(x_1_1+x_2_1)^3", "without brackets"),
    "call": ("__import__('os')", "sum of terms"),
    "huge power": ("x_1_1^1000000000", "powers of at most 3"),
    "longer power": ("x_1_1^" + "9" * 5000, "powers of at most 3"),
    "negative power": ("x_1_1^-3", "not negative"),
    "fraction power": ("x_1_1^1/2", "homogeneous of degree 3"),
    "power tower": ("x_1_1^2^2", "sign between"),
    "no product sign": ("2 x_1_1^3", "sign between"),
    "division by a letter": ("x_1_1^3/x_2_1", "by integers"),
    "division by zero": ("x_1_1^3/0", "divided by zero"),
    "ends early": ("x_1_1^3 +", "its end"),
    "empty": ("  ", "must not be empty"),
    "degree too high": ("x_1_1^2*x_2_1^2", "degree 3"),
    "long integer": ("9" * 4001 + "*x_1_1^3", "4000 digits"),
    "long product": ("*".join(["9" * 3000] * 8) + "*x_1_1^3", "4000 digits"),
    "infinity": ("oo", "in the letters"),
    "nan": ("nan*x_1_1^3", "in the letters"),
    "full-width digit": ("\uff12*x_1_1^3", "sum of terms"),
    "control": ("x_1_1^3\x00", "sum of terms"),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_bad_texts_get_one_line(name: str) -> None:
    text, message = BAD_TEXTS[name]
    with pytest.raises(BadInput, match=message) as caught:
        map_from_python([[text]], SHAPE)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_too_many_terms() -> None:
    with pytest.raises(TooLarge, match="terms"):
        parse_polynomial("+" * (map_text.MOST_TERMS + 1), RING, 3)


X, Y = sympy.symbols("x_1_1 x_2_1")
BAD_EXPRESSIONS = {
    "float": (0.5 * X**3, "integers and fractions"),
    "function": (sympy.sin(X) ** 3, "integers and fractions"),
    "root": (sympy.sqrt(2) * X**3, "powers from 0"),
    "letter": (sympy.Symbol("z") ** 3, "in the letters"),
    "huge power": (sympy.Pow(X + Y, 10**9, evaluate=False), "powers from 0 to 3"),
    "negative power": (X**4 / Y, "powers from 0"),
    "degree": (X**3 + Y**2, "homogeneous of degree 3"),
    "higher": ((X**2 + Y) ** 2, "degree 3"),
    "not a number": (sympy.nan, "integers and fractions"),
    "infinity": (sympy.oo * X**3, "integers and fractions"),
    "complex": (sympy.I * X**3, "integers and fractions"),
}


@pytest.mark.parametrize("name", BAD_EXPRESSIONS)
def test_bad_expressions_get_one_line(name: str) -> None:
    expression, message = BAD_EXPRESSIONS[name]
    with pytest.raises(BadInput, match=message) as caught:
        recover(sympy.Matrix([[expression]]), SHAPE)
    assert "\n" not in str(caught.value)


def test_every_way_to_give_a_map() -> None:
    shape = Architecture((2, 2), (2,), 2)
    weights = Weights.random(shape, seed=2, bound=3, denominator=3)
    phi = polynomial_map(shape, weights)
    texts = [[str(entry) for entry in row] for row in phi.entries]
    outputs = [{"row": k + 1, "token": j + 1, "polynomial": texts[k][j]} for k in range(2) for j in range(2)]
    vector = [str(as_fraction(c)) if c != 0 else 0 for c in phi.ring_coefficient_vector()]
    sizes = {"widths": [2, 2], "ranks": [2], "tokens": 2}
    column = sympy.Matrix(phi.coefficient_vector())
    for given in (phi, phi.matrix(), texts, phi.coefficient_vector(), column, phi.coefficients()):
        assert np.array_equal(map_from_python(given, shape).entries, phi.entries)
    for document in (sizes | {"outputs": outputs}, sizes | {"outputs": texts}, sizes | {"coefficients": vector}):
        read = read_document(json.dumps(document).encode())
        assert shape_of(read) == shape
        assert np.array_equal(map_of(read, shape).entries, phi.entries)
        assert recover(map_of(read, shape)).answer is Membership.WEIGHTS


BAD_COEFFICIENTS: list[tuple[Any, str]] = [
    ([1, 0, 0], "coefficients must be 4 in number, the ambient dimension, got 3"),
    ([0.5, 0, 0, 0], "an integer or a fraction, got '0.5'"),
    ([True, 0, 0, 0], "an integer or a fraction, got 'True'"),
    ([sympy.sqrt(2), 0, 0, 0], "an integer or a fraction"),
    ([sympy.nan, 0, 0, 0], "an integer or a fraction"),
    ({(1, 1, (3,)): 1}, "exponents of the 2 inputs"),
    ({(0, 1, (3, 0)): 1}, "exponents of the 2 inputs"),
    ({(1, 1, (4, -1)): 1}, "exponents of the 2 inputs"),
    ({(1, 1, (2, 0)): 1}, "homogeneous of degree 3"),
    ({(1, 1, (3, 0)): 0.5}, "an integer or a fraction"),
    ({"x": 1}, "exponents of the 2 inputs"),
]


@pytest.mark.parametrize(("given", "message"), BAD_COEFFICIENTS, ids=[str(given) for given, _ in BAD_COEFFICIENTS])
def test_bad_coefficients_get_one_line(given: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message.replace("(", r"\(")) as caught:
        recover(given, SHAPE)
    assert "\n" not in str(caught.value)


def test_brackets_of_sympy_are_multiplied_out() -> None:
    found = recover(X * (X + Y) * (X - Y), Architecture((2, 1), (1,), 1))
    assert found.weights is not None


PHI: dict[str, Any] = {
    "schema": "lightning-sym/phi/1",
    "architecture": {"widths": [1, 1], "attention_ranks": [1], "tokens": 1},
    "outputs": [{"row": 1, "token": 1, "polynomial": "2*x_1_1^3"}],
}
BAD_DOCUMENTS: dict[str, tuple[Any, str]] = {
    "list": ([], "must be an object"),
    "other schema": (PHI | {"schema": "lightning-sym/weights/1"}, "must have the schema"),
    "no outputs": ({k: v for k, v in PHI.items() if k != "outputs"}, "architecture and outputs"),
    "skip": (PHI | {"architecture": PHI["architecture"] | {"skip": True}}, "got skip"),
    "heads": (PHI | {"architecture": PHI["architecture"] | {"heads": 2}}, "got heads"),
    "softmax": (PHI | {"architecture": PHI["architecture"] | {"normalization": "softmax"}}, "got normalization"),
    "unknown option": (PHI | {"architecture": PHI["architecture"] | {"rotary": True}}, "got rotary"),
    "unknown key": ({"coefficients": [1], "foo": 1}, "no others, got 'foo'"),
    "both": ({"coefficients": [1], "outputs": []}, "either outputs or coefficients"),
    "neither": ({"tokens": 1}, "either outputs or coefficients"),
    "widths": ({"coefficients": [1], "widths": [0, 1]}, "positive integers"),
    "tokens": ({"coefficients": [1], "tokens": True}, "positive integer"),
    "float": ({"coefficients": [0.5]}, "an integer, or a string"),
    "text float": ({"coefficients": ["0.5"]}, "an integer, or a string"),
    "boolean": ({"coefficients": [True]}, "an integer, or a string"),
    "nan": ({"coefficients": [float("nan")]}, "NaN"),
    "output": ({"outputs": [1]}, "row, token, polynomial"),
    "row": ({"outputs": [{"row": 0, "token": 1, "polynomial": "0"}]}, "positive integers"),
    "polynomial": ({"outputs": [{"row": 1, "token": 1, "polynomial": 5}]}, "must be a string"),
    "twice": ({"outputs": [{"row": 1, "token": 1, "polynomial": "0"}] * 2}, "not repeat"),
}


@pytest.mark.parametrize("name", BAD_DOCUMENTS)
def test_bad_documents_get_one_line(name: str) -> None:
    document, message = BAD_DOCUMENTS[name]
    with pytest.raises(BadInput, match=message) as caught:
        read_document(json.dumps(document).encode())
    assert "\n" not in str(caught.value)


def test_shapes_that_contradict_the_map() -> None:
    document = read_document(json.dumps(PHI).encode())
    assert shape_of(document, ranks=(3,)) == Architecture((1, 1), (3,), 1)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"tokens": 2}, "tokens must be"),
        ({"widths": (2, 1)}, "first and the last width"),
        ({"widths": (1, 5, 1), "ranks": (1,)}, "degree 3\\^1"),
    ]
    for given, message in wrong:
        with pytest.raises(ShapeError, match=message):
            shape_of(document, **given)
    with pytest.raises(ShapeError, match="ranks must be given"):
        shape_of(read_document(b'{"coefficients": [1], "widths": [1, 1], "tokens": 1}'))
    with pytest.raises(ShapeError, match="widths and tokens"):
        shape_of(read_document(b'{"coefficients": [1], "ranks": [1]}'))
    with pytest.raises(BadInput, match="row 1, token 2 is missing"):
        map_of(document, Architecture((1, 1), (1,), 2))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([["x_1_1^3"], ["0"]], "must be 1 x 1"),
        ([[0.5]], "SymPy expression or text, got float"),
        ([[None]], "got NoneType"),
        ({"a": 1}, "got 'a'"),
        ([[True]], "got bool"),
    ],
)
def test_what_is_no_map(given: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        recover(given, SHAPE)


def test_what_is_asked_about_must_be_said() -> None:
    with pytest.raises(BadInput, match="architecture must be given"):
        recover([["x_1_1^3"]])
    with pytest.raises(BadInput, match="must be an Architecture"):
        recover([["x_1_1^3"]], (2, 1))  # type: ignore[arg-type]
    symbolic = polynomial_map(SHAPE)
    with pytest.raises(BadInput, match="symbolic weights"):
        recover(symbolic)
    with pytest.raises(ShapeError, match="must be 1 x 1 in 3 x 1"):
        recover(polynomial_map(SHAPE, Weights.random(SHAPE)), Architecture((3, 1), (1,), 1))
    for network in (Architecture((2, 2), (1,), 2, skip=True), Architecture((2, 2), (1,), 2, heads=2)):
        with pytest.raises(BadInput, match="one-head lightning"):
            recover([["0", "0"], ["0", "0"]], network)
    with pytest.raises(TooLarge, match="at most 10 layers"):
        recover([["0"]], Architecture((1,) * 12, (1,) * 11, 1))


def test_work_and_memory_are_bounded_before() -> None:
    shape = Architecture((2, 2, 1), (2, 2), 2)
    phi = polynomial_map(shape, Weights.random(shape))
    with pytest.raises(TooLarge, match="work"):
        recover(phi, work=1e-6)
    with pytest.raises(TooLarge, match="must fit into 10 bytes"):
        recover(phi, memory=10)
    seen: list[str] = []
    recover(phi, progress=lambda stage, done, total: seen.append(stage))
    assert "factors at one token" in seen


def test_an_embedding_has_inputs_of_its_own() -> None:
    """The sizes of a map are those of its inputs, whatever stands behind an embedding."""
    network = Architecture((2, 1), (1,), 1, embed=3)
    phi = polynomial_map(network, Weights.random(network, seed=0))
    with pytest.raises(ShapeError, match="got 1 x 1 in 3 x 1"):
        recover(phi, Architecture((2, 1), (1,), 1))
    assert recover(phi, Architecture((3, 1), (1,), 1)).answer is Membership.WEIGHTS


def test_sizes_that_stand_nowhere_in_the_map_are_bounded_too() -> None:
    document = read_document(b'{"widths": [1, 1], "ranks": [1000000000], "tokens": 1, "coefficients": [1]}')
    with pytest.raises(TooLarge, match="sizes of at most 1,000, got widths 1,1, ranks 1000000000, tokens 1"):
        map_of(document, shape_of(document))
    with pytest.raises(TooLarge, match="ranks 1000000000"):
        recover([["x_1_1^3"]], Architecture((1, 1), (10**9,), 1))


def test_a_refusal_is_a_short_line_however_deep_the_network() -> None:
    document = read_document(
        json.dumps({"widths": [1] * 9999, "ranks": [1], "tokens": 1, "coefficients": [1]}).encode()
    )
    with pytest.raises(TooLarge) as caught:
        map_of(document, shape_of(document))
    assert len(str(caught.value)) < 400


def test_terms_times_variables_are_bounded_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_text, "MOST_EXPONENTS", 6)
    assert len(parse_polynomial("x_1_1^3 + x_2_1^3 - x_1_1*x_2_1^2", RING, 3)) == 3
    monkeypatch.setattr(map_text, "_words", lambda text, what: pytest.fail("it was read"))
    with pytest.raises(TooLarge, match="at most 3 terms in 2 variables"):
        parse_polynomial("x_1_1^3 + x_2_1^3 - x_1_1*x_2_1^2 + x_1_1^2*x_2_1 + x_1_1^3", RING, 3)


def test_letters_of_ones_own_in_the_order_in_which_they_are_listed() -> None:
    """The same cubic in other letters, in Python and in a file; another order is another function."""
    p, q = sympy.symbols("p q")
    shape = Architecture((2, 1), (1,), 1)
    told = recover([[p**3 + 3 * p**2 * q]], shape, inputs=[p, q])
    assert told == recover([["p^3 + 3*p^2*q"]], shape, inputs=["p", "q"]) == recover([[X**3 + 3 * X**2 * Y]], shape)
    exchanged = recover([[p**3 + 3 * p**2 * q]], shape, inputs=[q, p])
    assert exchanged == recover([[Y**3 + 3 * Y**2 * X]], shape) != told
    document = read_document(b'{"inputs": ["p", "q"], "outputs": [["p^3 + 3*p^2*q"]]}')
    assert recover(map_of(document, shape)) == told
    for letters, message in (([p], "2 different letters"), ([p, p], "2 different letters"), ([X, Y], "in the letters")):
        with pytest.raises(BadInput, match=message):
            recover([[p**3]], shape, inputs=letters)
    with pytest.raises(BadInput, match="lists its own"):
        recover(polynomial_map(shape, Weights.random(shape, seed=0)), inputs=[p, q])
    with pytest.raises(BadInput, match="a list of names"):
        read_document(b'{"inputs": "p", "outputs": [["p^3"]]}')
