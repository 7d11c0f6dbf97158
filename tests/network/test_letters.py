"""Letters in weights: families are studied where that is meant, and refused by name everywhere else."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from public_functions import modules_of, public_functions

import lightning_sym
import proofs_check
from lightning_sym import (
    SOFTMAX,
    Architecture,
    Layer,
    Weights,
    fiber,
    forward,
    network_output,
    polynomial_map,
    same_function,
)
from lightning_sym.errors import BadInput, RingError
from lightning_sym.limits import Work
from lightning_sym.network.form import NetworkForm

A, B = sympy.symbols("a b")
HALF: Any = Fraction(1, 2)
IN_LETTERS = Weights.of({"Q1": sympy.Matrix([[A, 1], [0, B]]), "K1": sympy.eye(2), "V1": [[1, HALF], [0, 1]]})
NUMBERS = Weights.of({"Q1": [[2, 1], [0, 3]], "K1": [[1, 0], [0, 1]], "V1": [[1, HALF], [0, 1]]})

# these hold weights, or look at shapes alone, or are made for letters
TAKES_LETTERS = {
    "Fiber.__init__", "Classification.__init__", "Comparison.__init__", "Solution.__init__", "Connection.__init__",
    "SecondNetwork.__init__", "AskedFiber.__init__", "AtWeights.__init__",
    "polynomial_map", "forward", "network_output", "virtual_weights", "transform", "rescale",
    "change_basis", "swap", "function_limit", "virtual_weights_cost", "solving_cost", "evaluation_cost",
}  # fmt: skip


def entries() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function and method of the library, and of the claims, that takes `Weights`."""
    for module, label, function, kinds in public_functions([*modules_of(lightning_sym), *modules_of(proofs_check)]):
        if label not in TAKES_LETTERS and "Weights" in kinds.values():
            yield f"{module}.{label}", function


ENTRIES = dict(entries())


def argument(name: str, folder: Path) -> Any:
    """Something fit for a parameter of this name that is no weights."""
    shape = IN_LETTERS.architecture(2)
    made = {
        "shape": shape, "architecture": shape, "tokens": 2, "generic": 1, "path": folder / "w.json", "connection": None,
        "work": Work(), "budget": Work(), "layer": 1, "by": 2, "comparison": same_function(NUMBERS, NUMBERS),
    }  # fmt: skip
    return made.get(name, 2)


# where a parameter of the same name is something else
SPECIAL: dict[str, dict[str, Any]] = {
    "group_element": {"circuits": (), "streams": None},
    "with_weights": {"path": ()},
    "fiber_certificate": {"found": fiber(NUMBERS.with_form(NetworkForm(SOFTMAX)))},
    "tensor_certificate": {"found": fiber(NUMBERS.with_form(NetworkForm(skip=True)))},
    "tangent_dimension_bound": {"self": lightning_sym.equations(Architecture((2, 1), (1,), 2))},
}


def whole(found: Any) -> None:
    """What a generator refuses, it refuses when it is asked for something."""
    if inspect.isgenerator(found):
        list(found)


@pytest.mark.parametrize("label", ENTRIES)
def test_every_function_of_weights_refuses_letters_by_name(label: str, tmp_path: Path) -> None:
    arguments = {}
    for name, parameter in inspect.signature(ENTRIES[label]).parameters.items():
        if parameter.annotation == "Weights":
            arguments[name] = IN_LETTERS
        elif parameter.default is inspect.Parameter.empty:
            special = SPECIAL.get(label.rpartition(".")[2], {})
            arguments[name] = special[name] if name in special else argument(name, tmp_path)
    with pytest.raises(BadInput, match=r"got the letter a in Q1$"):
        whole(ENTRIES[label](**arguments))
    assert not list(tmp_path.iterdir())


def test_the_list_of_entries_is_not_empty_by_mistake() -> None:
    assert "lightning_sym.fibers.same_function.same_function" in ENTRIES
    assert "lightning_sym.network.weight_files.save_weights" in ENTRIES
    assert len(ENTRIES) > 15


@pytest.mark.parametrize("page", ["docs/notebooks/neuromanifold.md", "docs/tutorials/sympy.md"])
def test_pages_name_all_functions_that_take_letters(page: str) -> None:
    functions = {name: getattr(lightning_sym, name) for name in lightning_sym.__all__}
    of_weights = [
        name
        for name, function in functions.items()
        if inspect.isfunction(function) and any("Weights" in str(p.annotation) for p in parameters(function))
    ]
    taking = {name for name in of_weights if name in TAKES_LETTERS}
    written = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    (sentence,) = re.findall(r"Of all functions of weights(.*?)take\s+letters", written, flags=re.DOTALL)
    assert set(re.findall(r"`(\w+)`", sentence)) == taking == {
        "forward", "network_output", "polynomial_map", "virtual_weights", "transform", "rescale", "change_basis",
        "function_limit", "swap",
    }  # fmt: skip
    assert len(of_weights) > 15


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def test_letters_stay_when_weights_are_copied_compared_and_shown() -> None:
    assert IN_LETTERS.letters == (A, B)
    assert NUMBERS.letters == ()
    for other in (copy.deepcopy(IN_LETTERS), pickle.loads(pickle.dumps(IN_LETTERS))):  # noqa: S301
        assert other == IN_LETTERS
        assert hash(other) == hash(IN_LETTERS)
    assert IN_LETTERS != NUMBERS
    assert IN_LETTERS.architecture(3) == NUMBERS.architecture(3)
    assert IN_LETTERS.with_form(NetworkForm(skip=True)).letters == (A, B)
    assert {str(x) for m in IN_LETTERS.named().values() for e in m.ravel() for x in sympy.sympify(e).free_symbols} == {
        "a", "b"
    }  # fmt: skip
    with pytest.raises(BadInput, match="got the letter a in "):
        IN_LETTERS.numbers()
    assert "a" in repr(IN_LETTERS)
    assert str(IN_LETTERS)


def test_numbers_of_sympy_are_exact_numbers() -> None:
    w = Weights.of({"Q1": [[sympy.Rational(1, 3)]], "K1": sympy.Matrix([[2]]), "V1": [[sympy.Float(0.1)]]})
    assert w["Q1"][0, 0] == Fraction(1, 3)
    assert w["V1"][0, 0] == Fraction(0.1)
    assert all(type(m[0, 0]) is Fraction for m in w.matrices.values())
    hidden = (A + 1) ** 2 - A**2 - 2 * A  # 1, when it is multiplied out
    assert Weights.of({"Q1": [[hidden]], "K1": [[1]], "V1": [[(A + 0.5) - A]]}).letters == ()


BAD = {
    "a quotient": (1 / A, "polynomial in letters"),
    "a root": (sympy.sqrt(2), r"got sqrt\(2\)"),
    "a root in a polynomial": (sympy.sqrt(2) * A, "polynomial in letters"),
    "pi": (sympy.pi, "polynomial in letters"),
    "infinity": (sympy.oo, "polynomial in letters"),
    "nan": (sympy.nan * A, "polynomial in letters"),
    "imaginary": (sympy.I, "polynomial in letters"),
    "a function": (sympy.Function("f")(A), "polynomial in letters"),
    "true": (sympy.true, "polynomial in letters"),
    "an input": (sympy.Symbol("x_1_2"), "other than the inputs"),
    "no identifier": (sympy.Symbol("a b"), "ASCII letters"),
    "Greek": (sympy.Symbol("\u03bb"), "ASCII letters"),
    "not commuting": (sympy.Symbol("a", commutative=False), "commuting"),
    "two of a name": (A * sympy.Symbol("a", real=True), "one set of assumptions"),
    "very many terms": ((A + B) ** 10**6, "at most 10,000 terms"),
    "a large degree": (A**10**9, "degree at most 100"),
    "a string": ("a", "must be an integer, a fraction or a float"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_polynomial_is_refused(name: str) -> None:
    value, message = BAD[name]
    with pytest.raises(BadInput, match=message) as caught:
        Weights.of({"Q1": [[value]], "K1": [[1]], "V1": [[1]]})
    assert "\n" not in str(caught.value)


def test_one_letter_with_two_assumptions_in_two_matrices() -> None:
    with pytest.raises(BadInput, match="one set of assumptions"):
        Weights.of({"Q1": [[A]], "K1": [[sympy.Symbol("a", positive=True)]], "V1": [[1]]})


FORMS = [
    NetworkForm(), NetworkForm(skip=True), NetworkForm(causal=True), NetworkForm(causal=True, skip=True)
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_family_at_numbers_is_the_network_of_these_numbers(form: NetworkForm) -> None:
    family, numbers = IN_LETTERS.with_form(form), NUMBERS.with_form(form)
    shape = family.architecture(2)
    phi = polynomial_map(shape, family)
    assert phi.weight_symbols == (A, B)
    expected = polynomial_map(shape, numbers)
    assert phi.at({A: 2, "b": 3}).coefficients() == expected.coefficients()
    assert phi.matrix().subs({A: 2, B: 3}).expand() == expected.matrix()
    assert polynomial_map(shape).at(family).matrix() == phi.matrix()
    x = sympy.Matrix(2, 2, sympy.symbols("x_1_1 x_1_2 x_2_1 x_2_2"))
    assert network_output(x, shape, family) == phi.matrix()
    assert network_output(x, shape, numbers) == expected.matrix()


def test_sympy_goes_in_and_comes_out_of_the_forward_pass() -> None:
    x = sympy.Matrix(2, 2, sympy.symbols("x_1_1 x_1_2 x_2_1 x_2_2"))
    for weights in (IN_LETTERS, NUMBERS):
        assert forward(x, weights) == polynomial_map(weights.architecture(2), weights).matrix()
    values = np.array([[1, 2], [3, Fraction(1, 2)]], dtype=object)
    found: Any = forward(values, IN_LETTERS)
    assert found.subs({A: 2, B: 3}).tolist() == [[sympy.Rational(v) for v in r] for r in forward(values, NUMBERS)]
    root = sympy.sqrt(2)
    assert forward(
        sympy.Matrix([[root]]), [Layer(sympy.Matrix([[1 / A]]), np.array([[0.5]]), sympy.Matrix([[3]]))]
    ) == (sympy.Matrix([[3 * root / A]]))
    with pytest.raises(RingError, match="SymPy matrices must go with"):
        forward(x, [Layer(A, B, 1)])


def test_own_symbols_keep_their_assumptions() -> None:
    real = sympy.Symbol("a", real=True)
    w = Weights.of({"Q1": [[real]], "K1": [[1]], "V1": [[2]]})
    phi = polynomial_map(Architecture((1, 1), (1,), 1), w)
    assert real in phi.free_symbols
    assert phi.free_symbols["a"] is real
    assert phi.sympy(1, 1).as_expr() == phi.matrix()[0, 0]
    assert phi.latex(1, 1) == "2 a {x_{1,1}}^{3}"
