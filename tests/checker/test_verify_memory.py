"""No file takes the checker more than 1 GiB of memory: bytes are counted before numbers are made."""

from __future__ import annotations

import itertools
import json
import random
import re
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from checker import CORPUS, checked_alone, copied_checker, verdict, written
from checker import GOOD as GOOD_FILES
from small_certificates import GOOD, LIGHTNING, SOFTMAX, P, certificate, shape
from small_pairs import GROUP, LAYER, OTHER, RESCALED, TWO, same

from lightning_sym import polynomial_coefficient
from proofs_check.checker import verify
from proofs_check.checker.bounds import directions
from proofs_check.checker.functions import matrices, rings
from proofs_check.checker.functions.proofs import plain_weights
from proofs_check.checker.kinds import same as steps

MODULES = {name: import_module(f"proofs_check.checker.bounds.directions.{name}") for name in ("spaces", "frames")}
FUNCTIONS = [
    import_module(f"proofs_check.checker.{name}")
    for name in (
        "kinds.coefficient.terms",
        "functions.matrices",
        "functions.outputs",
        "functions.rings",
        "functions.streams",
        "functions.proofs",
        "functions.theorems",
        "functions.fibers.places",
    )
]

Document = dict[str, Any]
STEPS = [
    same(LAYER, OTHER, GROUP),
    same(LAYER, OTHER, {"step": "layer", "layer": 1}),
    same(TWO, RESCALED, {"step": "rescaling", "factors": [2, 1], "value_factor": "1/8"}),
    same(TWO, TWO, {"step": "rescaling", "factors": [1, 1], "value_factor": 1}, tokens=1),
    same(
        {"Q1": [[0, 1], [-1, 0]], "K1": [[1, 0], [0, 1]], "V1": [[1, 0]]},
        {"Q1": [[0, 0]], "K1": [[1, 0]], "V1": [[1, 0]]},
        {"step": "zero"},
        tokens=1,
    ),
]
NO_ROOM = f"rejected: numbers must fit into {verify.ROOM:,} bytes of memory, these need more"


def weights(*layers: Sequence[Any]) -> Document:
    return {f"{s}{i}": m for i, layer in enumerate(layers, 1) for s, m in zip("QKV", layer, strict=True)}


def one_wide_layer(d: int) -> Document:
    """Different forms, d^3 numbers in each of them."""
    rows = [[k + j for j in range(d)] for k in (300, 301, 302)]
    return same(
        weights([[row] for row in rows]),
        weights([[row] for row in rows[::-1]]),
        {"step": "layer", "layer": 1},
    )


def outer(prime: int | None) -> Document:
    """A column of 2,000 values times a row of 100,000 tokens."""
    one, columns = [[1]], [[[i + k] for i in range(2000)] for k in (300, 301)]
    pair = {side: weights((one, one, v)) for side, v in zip(("first", "second"), columns, strict=True)}
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "different", "tokens": 10**5}
    return {**head, **pair, "input": [[*range(300, 300 + 10**5)]], "prime": prime}


def virtual(d: int, step: Document) -> Document:
    """A form of d^2 numbers, of three rows."""
    return same(*[weights([[[1] * d]] * 3)] * 2, step)


def many_columns(count: int) -> Document:
    """Lists of one number each, and a transposed matrix that has as many lists."""
    column = [[1]] * count
    step = {"step": "group", "query_key": [[[1] * count]], "between": [], "scales": [1]}
    return same(weights((column, column, [[1]])), weights(([[1]], [[1]], [[1]])), step)


def directions_of(network: Document, family: str) -> Document:
    """Kernel directions of a network at random weights, with nothing from below."""
    rng, net = random.Random(1), verify.Network(network)
    shapes = [(net.d[0], net.n)] * bool(net.embed)
    for i, _ in itertools.product(range(1, net.l + 1), range(net.h)):
        shapes += [(net.a[i], net.d[i - 1])] * 2 + [(net.d[i], net.d[i - 1])]
    matrices = [[[rng.randrange(1, P) for _ in range(c)] for _ in range(r)] for r, c in shapes]
    bound = {"kind": "directions", "bound": 1, "prime": P, "weights": matrices, "families": [family]}
    lower = {"prime": P, "terms": None, "weights": matrices, "rows": [], "columns": []}
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "dimension", "network": network}
    return {**head, "lower": 0, "upper": 1, "lower_bound": lower, "upper_bounds": [bound]}


HOSTILE: dict[str, tuple[Callable[[], Document], str]] = {
    "layer_200": (lambda: one_wide_layer(200), "rejected: the forms of layer 1 must be equal"),
    "layer_290": (lambda: one_wide_layer(290), "rejected: the forms of layer 1 must be equal"),
    "outer": (lambda: outer(None), NO_ROOM),
    "outer_modulo_a_prime": (lambda: outer(P), NO_ROOM),
    "virtual_weights": (lambda: virtual(2900, {"step": "zero"}), NO_ROOM),
    "many_columns": (lambda: many_columns(10**5), "rejected: "),
    "unit_matrix": (lambda: directions_of(shape([20000, 1], [1], 1), "unwritten"), NO_ROOM),
    "relations": (lambda: directions_of(shape([20000, 1], [1], 1, n=1), "unwritten"), NO_ROOM),
    "motions": (lambda: directions_of(shape([100, 1], [100], 1), "skew"), NO_ROOM.removesuffix("need more")),
}


def test_hostile_numbers_fit_into_1_gib(tmp_path: Path) -> None:
    """Under a limit of the operating system; what it refuses would be said in other words."""
    alone, files = copied_checker(tmp_path), list[Path]()
    for name, (make, _) in HOSTILE.items():
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(make(), separators=(",", ":")), encoding="utf-8")
    code, lines = checked_alone(alone, files)
    assert code == 1
    for name, (_, reason) in HOSTILE.items():
        assert lines[name].startswith(reason), name


# ---- every count, by itself


def used(work: Callable[[], object]) -> int:
    """The bytes that are counted."""
    verify.BUDGET.set(verify.Budget())
    work()
    return verify.ROOM - verify.BUDGET.get().room


def size_of(value: Any) -> int:
    """The bytes of lists of numbers, the lists and small integers among them."""
    if isinstance(value, list):
        return sys.getsizeof(value) + sum(map(size_of, value))
    if isinstance(value, Fraction):
        return sys.getsizeof(value) + size_of(value.numerator) + size_of(value.denominator)
    return sys.getsizeof(value) if abs(value) > 256 else 0


def random_matrix(rows: int, columns: int, digits: int, rational: bool, rng: random.Random) -> list[list[Any]]:
    def entry() -> Fraction:
        return Fraction(rng.randrange(-(10**digits), 10**digits), rng.randrange(1, 10**digits) if rational else 1)

    return [[entry() for _ in range(columns)] for _ in range(rows)]


@pytest.mark.parametrize("digits", [1, 20, 300])
@pytest.mark.parametrize("rational", [False, True])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (40, 1, 50), (1, 40, 1), (7, 30, 8), (60, 2, 1)])
def test_products_are_not_larger_than_what_is_counted(digits: int, rational: bool, sizes: tuple[int, int, int]) -> None:
    rng, (m, k, n) = random.Random(1), sizes
    a, b = random_matrix(m, k, digits, rational, rng), random_matrix(k, n, digits, rational, rng)
    found = list[Any]()
    counted = used(lambda: found.append(rings.RATIONALS.times(a, b)))
    assert size_of(found[0]) + size_of(verify.transposed(b)) - size_of([x for row in b for x in row]) <= counted
    bits = rings.bits_of_sums(k, a, b)
    assert all(x.numerator.bit_length() + x.denominator.bit_length() - 1 <= bits for row in found[0] for x in row)
    square = random_matrix(k, k, digits, rational, rng)
    assert size_of(rings.symmetric(square)) <= used(lambda: rings.symmetric(square))


@pytest.mark.parametrize("text", ["0", "257", '"1/3"', '"-12345678901234567890/7"', f'"{10**3999 + 1}/{10**3999 + 2}"'])
@pytest.mark.parametrize("sizes", [(1, 1000), (1000, 1), (30, 30)])
def test_matrices_are_not_larger_than_what_is_counted(text: str, sizes: tuple[int, int]) -> None:
    rows = [[json.loads(text)] * sizes[1]] * sizes[0]
    found = list[Any]()
    counted = used(lambda: found.append(matrices.rational_matrix(rows)))
    assert size_of(found[0]) - (0 if text.startswith('"') else size_of(rows)) <= counted <= 3 * size_of(found[0])


def test_rows_of_an_echelon_form_are_counted() -> None:
    echelon = verify.Echelon(P, 100)
    rows = [verify.pack([k**j % P for j in range(100)]) for k in range(1, 90)]
    counted = used(lambda: [echelon.add(row) for row in rows])
    assert sum(map(sys.getsizeof, echelon.rows.values())) <= counted == echelon.kept
    verify.BUDGET.get().room = 99
    with pytest.raises(verify.Rejected, match="bytes of memory"):
        verify.Echelon(P, 1).add(1)


def test_long_rows_of_an_echelon_form_take_steps() -> None:
    """A short row that meets a long one becomes long."""
    echelon = verify.Echelon(P, 2000)
    echelon.add(verify.pack([1] * 2000))
    verify.BUDGET.set(verify.Budget())
    echelon.add(verify.pack([1, 1, 5]))
    assert verify.STEPS - verify.BUDGET.get().steps == 2000 * 4 + (64 * 2000 - 64 + 1) // 2048


def test_numbers_may_fill_the_room_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (*STEPS, GOOD, LIGHTNING):
        counted = used(partial(verify.check, json.loads(json.dumps(data))))
        assert counted > 0
        budget = verify.Budget()
        budget.room = 10
        with pytest.raises(verify.Rejected, match="bytes of memory, these need more"):
            verify.check(json.loads(json.dumps(data)), budget)


def test_what_a_step_makes_is_gone_with_it() -> None:
    """Many steps take the room of one, and of the weights that they name."""
    big = {name: [[k * j for j in range(300, 330)] for k in range(300, 330)] for name in ("Q1", "K1", "V1")}
    step = GROUP | {"query_key": [[[int(i == j) for j in range(30)] for i in range(30)]]}

    def room(count: int) -> int:
        data = same(big, big, *[step | {"to": big}] * (count - 1), step)
        return used(lambda: verify.check(json.loads(json.dumps(data))))

    assert room(3) - room(2) == room(2) - room(1) < 200_000


SITES = {"verify.py": 4, "spaces.py": 3, "places.py": 2, "frames.py": 3,
         "matrices.py": 5, "rings.py": 3, "outputs.py": 1, "streams.py": 4,
         "theorems.py": 2, "proofs.py": 1,
         "terms.py": 1}  # fmt: skip
"""Lines that count bytes, by file."""


def test_every_line_that_counts_bytes_counts_some(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = set[tuple[str, int]]()
    plain = verify.keep

    def keep(size: int) -> None:
        frame = sys._getframe(1)
        while Path(frame.f_code.co_filename).name == "contextlib.py" or frame.f_code.co_name == "holding":
            assert frame.f_back is not None
            frame = frame.f_back
        if size > 0:
            counted.add((Path(frame.f_code.co_filename).name, frame.f_lineno))
        plain(size)

    for module in (verify, *MODULES.values(), *FUNCTIONS):
        monkeypatch.setattr(module, "keep", keep)
    networks = [
        (shape([2, 3, 2], [2, 1], 2, h=2), 20),
        (shape([4, 4, 4], [4, 4], 2, skip=True, n=2), 49),
        (shape([4, 4, 4], [2, 4], 2, SOFTMAX, n=2, skip=True, causal=True), 40),
        (shape([3, 3, 3], [3, 3], 2, skip=True, n=1), 10),
        (shape([2, 2], [1], 1, h=2), 8),
    ]
    for network, _ in networks:
        at = verify.Point(net := verify.Network(network), certificate(network, 0)["lower_bound"]["weights"], P)
        for family in (name for name, (_, has) in directions.UNSEEN.items() if has(net)):
            verify.BUDGET.set(verify.Budget())
            assert list(directions.along(at, family)) is not None
    different = same(LAYER, LAYER) | {"kind": "different", "second": LAYER | {"Q1": [["1/2", 7]]}}
    different |= {"input": [[1, 2], [3, 4]], "prime": None}
    del different["steps"]
    texts = [path.read_text(encoding="utf-8") for path in GOOD_FILES]
    with_a_form = [json.loads(text) for text in texts if '"form"' in text]
    large = json.loads((CORPUS / "good" / "values_of_full_rank.json").read_text(encoding="utf-8"))
    coefficient = polynomial_coefficient("x*y, x^2").certificate
    for data in (*STEPS, GOOD, LIGHTNING, different, large, *with_a_form, coefficient):
        verify.BUDGET.set(verify.Budget())
        assert verify.check(json.loads(json.dumps(data)))
    found = {name: len({line for file, line in counted if file == name}) for name, _ in counted}
    assert found == SITES
    folder = Path(verify.__file__).parent
    for path in folder.rglob("*.py"):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("def ")]
        charges = sum(bool(re.search(r"\b(keep|holding)\((?!-)", line)) for line in lines)
        of_a_folder = path.name == "__init__.py" and path.parent.name != "coefficient"
        sites = 0 if of_a_folder else SITES.get(path.name, 0)
        assert charges - 1 * (path.name == "spaces.py") == sites, path.name


def test_each_file_has_all_the_room_and_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, budget = written(tmp_path, STEPS[0]), verify.BUDGET.get()
    budget.steps = budget.room = 0
    assert verdict(capsys, path).startswith("proved: ")


@pytest.mark.parametrize("which", ["one test", "the next"])
def test_each_test_has_all_the_room_and_time(which: str) -> None:
    budget = verify.BUDGET.get()
    assert (budget.steps, budget.room) == (verify.STEPS, verify.ROOM), which
    budget.steps = budget.room = 0


def test_forms_of_a_layer_take_steps() -> None:
    first, second = (plain_weights(one_wide_layer(30)[side]) for side in ("first", "second"))
    verify.BUDGET.set(verify.Budget())
    with pytest.raises(verify.Rejected, match="forms of layer 1"):
        steps._layer(2, first, second, 1)
    assert verify.STEPS - verify.BUDGET.get().steps >= 40 * 30**3
