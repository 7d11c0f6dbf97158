"""Large networks whose streams are a matrix times each other: the same streams as without the shortcut."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
import numpy.typing as npt
import pytest

from lightning_sym import Architecture, Reason, Weights, same_function
from lightning_sym.exact.reconstruction import LinearMap
from lightning_sym.fibers import same_transformers
from lightning_sym.fibers.comparison import Answer
from lightning_sym.network.form import NetworkForm
from lightning_sym.rings import arrays
from lightning_sym.rings.normalization import SOFTMAX
from lightning_sym.rings.prime_field import MORE_PRIMES
from lightning_sym.system import graph_streams
from lightning_sym.system.circuits import NetworkCircuits
from lightning_sym.system.common_streams import common_streams
from lightning_sym.system.graph_streams import DyadicBound, GraphStreams

Matrices = dict[str, npt.NDArray[np.float64]]

SHAPE = Architecture(
    (4, 4, 4), (2, 2), 3, normalization=SOFTMAX, heads=2, value_ranks=(2, 2), skip=True, causal=True, embed=6,
    unembed=5,
)  # fmt: skip
CHANGE = np.array([[1.0, 2, 0, 0], [0, 1, 0, -0.5], [0, 0, 4, 0], [3, 6, 0, 1]])  # determinant 4
BACK = np.linalg.inv(CHANGE)


@pytest.fixture(autouse=True)
def held() -> Iterator[None]:
    """Every network is held as it was given."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "MOST_ENTRIES", 40)
        patch.setattr(graph_streams, "BLOCK", 4)
        yield


def _drawn(seed: int = 0, shape: Architecture = SHAPE) -> Matrices:
    source = np.random.default_rng(seed)
    return {name: source.integers(-8, 9, size) / 4.0 for name, size in shape.weight_shapes()}


def _moved(given: Matrices) -> Matrices:
    """In another basis of the stream, the heads of the first layer in another order."""
    result = {"E": CHANGE @ given["E"], "U": given["U"] @ BACK}
    for name, matrix in given.items():
        if name[0] in "QKVO":
            new = f"{name[:3]}{3 - int(name[3])}" if name[1] == "1" else name
            result[new] = CHANGE @ matrix if name[0] == "O" else matrix @ BACK
    return result


def _net(matrices: Matrices, form: NetworkForm | None = None) -> Weights:
    return Weights.of(matrices, NetworkForm.of(SHAPE) if form is None else form)


def _streams(one: Weights, other: Weights, tokens: int) -> tuple[bool, list[object]]:
    found = common_streams(NetworkCircuits.of(one), NetworkCircuits.of(other), tokens)
    return found.same, [(layer.spelled, layer.reached.basis, layer.apart.basis) for layer in found.layers]


def _graph(one: Weights, other: Weights, tokens: int) -> tuple[bool, list[object]] | None:
    found = GraphStreams(one, other, tokens).proved()
    if found is None:
        return None
    return found.same, [(layer.spelled, layer.reached.basis, layer.apart.basis) for layer in found.layers]


@pytest.mark.parametrize("tokens", [2, 3])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_streams_are_those_that_are_followed(seed: int, causal: bool, tokens: int) -> None:
    form = NetworkForm(SOFTMAX, causal=causal, skip=True)
    matrices = _drawn(seed)
    one, other = _net(matrices, form), _net(_moved(matrices), form)
    assert GraphStreams.possible(one, other, tokens)
    found = _graph(one, other, tokens)
    assert found == _streams(one, other, tokens)
    assert found is not None
    assert found[0]


def test_heads_that_are_split_merged_or_never_seen() -> None:
    given = _drawn() | {"K1.2": np.zeros((2, 4)), "V2.2": np.zeros((2, 4))}
    other = _moved(given)
    for letter in "QK":  # both heads of the second layer with the scores of the first one, their values together
        other[f"{letter}2.2"] = other[f"{letter}2.1"]
    other["V2.2"], other["O2.2"] = other["V2.1"], 3 * other["O2.1"]
    other["O2.1"] = -2 * other["O2.1"]
    one, two = _net(given), _net(other)
    found = GraphStreams(one, two, 3)
    assert found.classes is not None
    assert [sorted(map(sorted, layer)) for layer in found.classes] == [[[0, 3], [1, 2]], [[0, 2, 3], [1]]]
    assert _graph(one, two, 3) == _streams(one, two, 3)


@pytest.mark.parametrize("name", ["E", "Q1.1", "K1.2", "V2.1", "O2.2", "U"])
def test_an_entry_more_and_it_is_not_proved(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = _drawn()
    changed = _moved(given)
    changed[name] = changed[name].copy()
    changed[name][-1, -1] += 2.0**-40
    one, other = _net(given), _net(changed)
    assert GraphStreams(one, other, 3).proved() is None
    assert same_function(one, other, 3).answer is Answer.DIFFERENT
    # also if the random vector were blind to it
    honest = GraphStreams(one, _net(_moved(given)), 3)
    blind = GraphStreams(one, other, 3)
    blind.__dict__.update(classes=honest.classes, change=honest.change)
    assert blind.proved() is None


def test_a_difference_that_is_zero_modulo_some_primes_is_seen() -> None:
    """As many primes as sizes ask for: what all but the last of them would miss is not missed."""
    given = _drawn()
    for count in (1, 2):
        changed = _moved(given)
        changed["V2.1"] = changed["V2.1"].copy()
        changed["V2.1"][0, 0] += float(prod(MORE_PRIMES[:count]))
        found = GraphStreams(_net(given), _net(changed), 3)
        assert found.classes is not None  # at the random vector it is not seen
        assert found.proved() is None
    assert GraphStreams(_net(given), _net(_moved(given)), 3)._enough(DyadicBound(0, 2**900, (1, 1))) is None


def test_a_wrong_matrix_is_not_taken() -> None:
    given = _drawn()
    wrong = GraphStreams(_net(given), _net(_moved(given)), 3)
    numbers = np.array([[Fraction(x * 2) for x in row] for row in CHANGE.tolist()], dtype=object)
    numbers[0, 0] += 1
    wrong.__dict__["change"] = LinearMap(np.vectorize(int, otypes=[object])(numbers), 2)
    wrong.__dict__["classes"] = GraphStreams(_net(given), _net(_moved(given)), 3).classes
    assert wrong.proved() is None


def test_two_tokens_have_more_letters() -> None:
    """Opposite, skew and zero forms are left to the procedure that knows them."""
    given = _drawn()
    opposite = given | {"Q1.2": -given["Q1.1"], "K1.2": given["K1.1"]}
    zero = given | {"Q1.2": 0 * given["Q1.1"]}
    skew = given | {"Q1.1": np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]]), "K1.1": np.array([[0, 1.0, 0, 0], [-1, 0, 0, 0]])}
    for causal, matrices in ((True, opposite), (True, zero), (False, skew)):
        form = NetworkForm(SOFTMAX, causal=causal, skip=True)
        one, other = _net(matrices, form), _net(_moved(matrices), form)
        assert GraphStreams(one, other, 2).classes is None
        assert GraphStreams(one, other, 3).classes is not None
        assert same_function(one, other, 2).answer is Answer.SAME


def test_it_is_about_skip_connections_and_machine_numbers() -> None:
    given = _drawn()
    one, other = _net(given), _net(_moved(given))
    assert not GraphStreams.possible(one, other, 1)
    for form in (NetworkForm(skip=True), NetworkForm(SOFTMAX)):
        assert not GraphStreams.possible(one.with_form(form), other.with_form(form), 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "MOST_ENTRIES", 4000)
        exact = _net({name: m.astype(object) for name, m in given.items()})
    assert not GraphStreams.possible(exact, other, 3)


@pytest.mark.parametrize("swapped", [False, True])
def test_another_width(swapped: bool) -> None:
    """Directions that are never written and never read."""
    given = _drawn()
    wide = {name: np.hstack([m, np.ones((len(m), 2))]) if name[0] in "QKVU" else m for name, m in given.items()}
    wide |= {name: np.vstack([m, np.zeros((2, m.shape[1]))]) for name, m in given.items() if name[0] in "EO"}
    nets = _net(given), _net(wide)
    with pytest.MonkeyPatch.context() as patch:
        rows = same_transformers.TRANSFORMERS
        patch.setattr(
            same_transformers, "TRANSFORMERS", [row for row in rows if row.prove is same_transformers._by_graph]
        )
        found = same_function(*(nets[::-1] if swapped else nets), 3)
    assert (found.answer, found.reason) == (Answer.SAME, Reason.STREAMS)
    assert found.symmetry is not None
    assert [len(layer) for layer in found.symmetry.layers] == [2, 2]


def test_without_embeddings() -> None:
    shape = replace(SHAPE, embed=None, unembed=None)
    given = _drawn(0, shape)
    swapped = {f"{name[:3]}{3 - int(name[3])}": m for name, m in given.items()}
    one, other = _net(given), _net(swapped)
    assert _graph(one, other, 3) == _streams(one, other, 3)
    found = same_function(one, other, 3)
    assert found.answer is Answer.SAME
