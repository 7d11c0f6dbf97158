"""The checker looks at shapes before it looks at entries, and says which network an answer is about."""

from __future__ import annotations

import ast
import copy
import itertools
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from change_shapes import change_shapes, forms, read_again
from checker import CORPUS, verdict, written
from mutate_certificates import is_true
from small_certificates import GOOD, LIGHTNING, RATIONAL, SERIES, shape, with_bound
from small_pairs import GROUP, LAYER, OTHER, TWO, same

from proofs_check.checker import verify
from proofs_check.checker.bounds.directions.spaces import StreamSpaces
from proofs_check.checker.functions import rings
from proofs_check.checker.functions.proofs import plain_weights
from proofs_check.checker.kinds import same as steps

Document = dict[str, Any]
SOURCE = Path(verify.__file__).read_text(encoding="utf-8")
WIDE: Document = {"Q1": [[1, 2, 0]], "K1": [[3, 1, 0]], "V1": [[1, 0, 0], [2, 1, 0]]}  # LAYER, and a column of zeros
TALL: Document = LAYER | {"V1": [[1, 0], [2, 1], [0, 0]]}


THERE_AND_BACK = same(LAYER, LAYER, {**GROUP, "to": OTHER}, {**GROUP, "query_key": [[["1/2"]]]})

# ---- shapes

STEPS: list[Document] = [
    GROUP,
    {"step": "rescaling", "factors": [1], "value_factor": 1},
    {"step": "layer", "layer": 1},
    {"step": "zero"},
]


@pytest.mark.parametrize("other", [WIDE, TALL], ids=["input", "output"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["step"])
@pytest.mark.parametrize("k", [1, 2])
def test_every_step_keeps_both_widths(
    step: Document, other: Document, k: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = [step | {"to": LAYER}] * (k - 1) + [step | {"to": other}]
    if k == 2:
        there[0] = GROUP | {"query_key": [[[1]]], "to": LAYER}
    path = written(tmp_path, same(LAYER, LAYER, *there, step))
    assert verdict(capsys, path) == f"rejected: step {k} must keep the input and output width"


def test_a_matrix_is_no_part_of_a_larger_one() -> None:
    small: list[Any] = [[1, 2], [3, 4]]
    assert rings.is_multiple(small, 1, small)
    for other in ([[1, 2]], [[1], [3]], [[1, 2, 0], [3, 4, 0]], [*small, [0, 0]], [[1, 2, 3, 4]], [[1], [2], [3], [4]]):
        assert not rings.is_multiple(small, 1, other)
        assert not rings.is_multiple(other, 1, small)
    assert not rings.is_multiple(small, 1, [[1, 2], [3, 5]])
    assert rings.is_multiple([[2, 4], [6, 8]], 2, small)
    assert not rings.is_multiple(small, 2, [[2, 4], [6, 8]])


def test_layers_of_other_widths_are_not_compared() -> None:
    """By itself, without the look at the widths of the whole networks."""
    first = plain_weights({"Q1": [[1]], "K1": [[1]], "V1": [[0]] * 8})
    for second in (
        {"Q1": [[0, 1], [-1, 0]], "K1": [[1, 0], [0, 1]], "V1": [[0, 0]]},
        {"Q1": [[1]], "K1": [[1]], "V1": [[0]] * 7},
    ):
        with pytest.raises(verify.Rejected, match="layer 1 must have the same widths"):
            steps._layer(1, first, plain_weights(second), 1)


def test_squares_are_compared_too() -> None:
    """V_ki A_ij alone, l = i: with one input all there is."""
    one: Document = {"Q1": [[1]], "K1": [[1]], "V1": [[1]]}
    for second in (one | {"V1": [[2]]}, one | {"Q1": [[2]]}):
        with pytest.raises(verify.Rejected, match="forms of layer 1"):
            steps._layer(2, plain_weights(one), plain_weights(second), 1)


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_layers_of_networks_of_other_depths_are_not_compared(
    layer: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deep: Document = {"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]], "Q2": [[1]], "K2": [[2]], "V2": [[1]]}
    one = {name: deep[name] for name in ("Q1", "K1", "V1")}
    for pair in ((deep, one), (one, deep), (one, one)):
        step = {"step": "layer", "layer": layer}
        line = verdict(capsys, written(tmp_path, same(*pair, step)))
        assert line.startswith(
            "proved: " if pair == (one, one) and layer == 1 else f"rejected: there must be a layer {layer}"
        )


def test_products_of_wrong_shapes_are_refused() -> None:
    with pytest.raises(verify.Rejected, match="must fit"):
        rings.RATIONALS.times([[1, 2]], [[1, 2]])
    at = StreamSpaces(verify.Point(verify.Network(shape([1, 1], [1], 1)), [[[1]], [[1]], [[1]]], 5))
    with pytest.raises(verify.Rejected, match="must fit"):
        at.product([[1, 2]], [[1, 2]])
    with pytest.raises(verify.Rejected, match="spaces must be of vectors that a weight is applied to"):
        list(at.one_sided(("Q", 1, 0), [[1, 2]], 1))


@pytest.mark.parametrize("name", ["zero_of_other_widths", "layer_of_other_widths"])
def test_the_corpus_has_false_claims_with_equal_lists(name: str) -> None:
    """What made lists without shapes accept them: the numbers in a row are equal, and the networks are not the same."""
    data = json.loads((CORPUS / "bad" / f"{name}.json").read_text(encoding="utf-8"))
    assert is_true(data, {}) is False
    last = data["steps"][-2]["to"]
    assert forms(last) == forms(data["second"])
    assert read_again(last)["V1"] == [[str(x / 2)] for x in forms(last)]


def bent(*changes: tuple[str, str]) -> ModuleType:
    """The steps of the checker with some clauses taken out."""
    source = Path(str(steps.__file__)).read_text(encoding="utf-8")
    for clause, other in changes:
        assert source.count(clause) == 1, clause
        source = source.replace(clause, other)
    module = ModuleType("bent")
    exec(source, vars(module))  # noqa: S102 - the checker itself
    return module


WIDTHS = ('need((there.n, there.m) == (here.n, here.m), f"step', 'need(True, f"step')
LAYERS = ("need((len(v), len(a)) == (len(w), len(b)), f", "need(True, f")
FORGETFUL = [  # one list of numbers, as the first release compared them
    WIDTHS,
    LAYERS,
    ("    good = all(\n        x[n] * a[h][j] + x[h] * a[n][j] == y[n] * b[h][j] + y[h] * b[n][j]\n"
     "        for x, y in zip(v, w, strict=True)\n        for h in d\n        for n in d[: h + 1]\n"
     "        for j in d\n    )",
     "    lists = [[x[n] * m[h][j] + x[h] * m[n][j] for x in u for h in range(len(m)) for n in range(len(m))"
     " for j in range(len(m))] for u, m in ((v, a), (w, b))]\n    good = lists[0] == lists[1]"),
]  # fmt: skip


def test_changes_of_shapes_would_catch_a_forgetful_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    originals = [
        json.loads((CORPUS / "good" / f"same_{name}.json").read_text(encoding="utf-8")) for name in ("group", "zero")
    ]

    def truth_of_accepted() -> set[bool | None]:
        rng, found = random.Random(3), set[bool | None]()
        for original in originals * 100:
            changed = copy.deepcopy(original)
            change_shapes(changed, rng)
            try:
                verify.check(json.loads(json.dumps(changed)))
            except (verify.Rejected, IndexError):
                continue
            found.add(is_true(changed, {}))
        return found

    assert truth_of_accepted() == {True}
    monkeypatch.setattr(steps, "ROWS", bent(*FORGETFUL).ROWS)
    assert truth_of_accepted() == {True, False}


def test_changes_of_shapes_are_consistent() -> None:
    """Weights of changed sizes are read, so that what is refused is refused for a later reason."""
    rng, read = random.Random(4), 0
    for _ in range(60):
        changed = copy.deepcopy(GOOD)
        change_shapes(changed, rng)
        below = changed["lower_bound"]
        verify.Point(verify.Network(changed["network"]), below["weights"], below["prime"])
        read += 1
    assert read == 60


# ---- names


NAMED = [
    (shape([4, 2], [1], 3), "lightning attention of widths [4, 2], ranks [1], tokens 3, heads 1, no value ranks, "
     "no skip, no mask, no embed, no unembed"),
    (shape([2, 2], [1], 2, {"name": "softmax"}, h=2, b=[1], skip=True, causal=True, n=3, m=4),
     "softmax attention of widths [2, 2], ranks [1], tokens 2, heads 2, value ranks [1], skip, mask, embed 3, "
     "unembed 4"),
    (shape([2, 2], [1], 2, RATIONAL), "attention normalized by 'mine' (taylor 1, 1/2, 3) of widths [2, 2], ranks [1]"),
    (shape([1, 1], [1], 2, {"name": "x\n" * 100, "taylor": [7] * 300}),
     "attention normalized by '" + r"x\n" * 20 + "' (taylor " + "7, " * 66 + "7,...) of widths [1, 1]"),
]  # fmt: skip


@pytest.mark.parametrize(("network", "name"), NAMED)
def test_a_dimension_is_of_a_network(
    network: Document, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = verify.Network(network)
    weights = [[[0] * c for _ in range(r)] for r, c in sizes(size)]
    count = sum(len(m) * len(m[0]) for m in weights)
    bound = {"kind": "orbit", "bound": count, "prime": 4194301, "weights": weights, "families": []}
    line = verdict(capsys, written(tmp_path, with_bound(network, bound)))
    assert line.startswith(f"proved: 0 <= dim M <= {count}, for {name}")
    assert ", over the real and over the complex numbers, by a minor" in line


def sizes(net: Any) -> list[tuple[int, int]]:
    found = [(net.d[0], net.n)] if net.embed else []
    for i, _ in itertools.product(range(1, net.l + 1), range(net.h)):
        found += [(net.a[i], net.d[i - 1])] * 2
        found += [(net.b[i], net.d[i - 1]), (net.d[i], net.b[i])] if "O" in net.letters else [(net.d[i], net.d[i - 1])]
    return found + [(net.m, net.d[-1])] * bool(net.unembed)


def test_pairs_are_of_networks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = "2 tokens, for one-head lightning attention without mask or skip, of widths "
    line = verdict(capsys, written(tmp_path, same(LAYER, OTHER, GROUP)))
    assert line.startswith(
        f"proved: the same function of {about}2,2 and 2,2; over every field of characteristic 0, by: "
    )
    data = same(LAYER, TWO, GROUP) | {"kind": "different", "second": TWO | {"V2": [[1, 1], [0, 1]]}}
    del data["steps"]
    line = verdict(capsys, written(tmp_path, data | {"input": [[1, 0], [0, 1]], "prime": None}))
    assert line == (
        f"proved: different functions of {about}2,2 and 2,2,2; their outputs differ at an input, over the rationals"
    )


# ---- an interpreter that is too old


def test_older_pythons_can_read_the_file_and_say_so_in_one_line() -> None:
    ast.parse(SOURCE, feature_version=(3, 7))
    old = "import sys; sys.version_info = (3, 9, 18, 'final', 0); sys.version = '3.9.18 (main)'; import runpy; "
    command = [sys.executable, "-c", f"{old}runpy.run_path({verify.__file__!r}, run_name='__main__')"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "verify.py needs Python 3.11 or newer, this is 3.9.18\n"
    assert SOURCE.index("sys.version_info < (3, 11)") < SOURCE.index("= list[Any]")


# ---- junk, and each file readable in one sitting


@pytest.mark.parametrize(
    "good", [THERE_AND_BACK, SERIES, GOOD, LIGHTNING], ids=["steps", "series", "directions", "orbit"]
)
def test_lists_of_other_lengths_get_one_line(
    good: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every list one shorter, one longer, empty, or turned: no error of the program, and nothing false."""

    def lists(value: Any, path: tuple[Any, ...] = ()) -> Any:
        if isinstance(value, list):
            yield path
        for key in value if isinstance(value, dict) else range(min(2, len(value))) if isinstance(value, list) else ():
            yield from lists(value[key], (*path, key))

    for path in lists(good):
        for change in (lambda x: x[:-1], lambda x: [*x, *x[-1:]], lambda _: [], lambda x: x + x, lambda x: [x]):
            changed: Any = copy.deepcopy(good)
            place = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = change(place[path[-1]])
            line = verdict(capsys, written(tmp_path, changed))
            claim = re.match(r"proved: (?:(\d+) <= )?dim M (?:=|<=) (\d+)", line)
            assert claim is None or int(claim[2]) >= int(good["lower"])


def test_each_file_reads_in_a_sitting() -> None:
    folder = Path(verify.__file__).parent
    lengths = {
        str(path.relative_to(folder)): len(path.read_text(encoding="utf-8").splitlines())
        for path in folder.rglob("*.py")
    }
    assert lengths.pop("verify.py") <= 665
    assert sum(lines for name, lines in lengths.items() if not name.startswith("kinds/")) <= 2109
    assert max(lengths.values()) <= 200
