"""Changes of one token, as the script that tries the tests draws them."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from mutate_house import CHANGED, Change, changes

ROOT = Path(__file__).parents[2]
TEXT = '''
LIMIT = 3 + 4


def first(x, names):
    """A + in words is none."""
    é = "+" if x < LIMIT and names else x * 2
    return é not in names
'''


def test_each_operator_in_a_function_is_changed_once_and_alone() -> None:
    made = [change.made_in(TEXT) for change in changes("lightning_sym/rings/one.py", TEXT)]
    lines = [{new for new, old in zip(text.split("\n"), TEXT.split("\n"), strict=True) if new != old} for text in made]
    assert sorted(line.pop().strip() for line in lines if len(line) == 1) == [
        "return é in names",
        'é = "+" if x < LIMIT and names else x + 2',
        'é = "+" if x < LIMIT or names else x * 2',
        'é = "+" if x <= LIMIT and names else x * 2',
    ]
    assert all(ast.parse(text) for text in made)


@pytest.mark.parametrize("sign", [sign for sign in CHANGED if not issubclass(sign, ast.boolop)])
def test_a_change_is_another_operator(sign: type[ast.AST]) -> None:
    old, new = CHANGED[sign]
    (change,) = changes("lightning_cli/one.py", f"def f(a, b):\n    return a {old} b\n")
    assert change.made_in(f"def f(a, b):\n    return a {old} b\n") == f"def f(a, b):\n    return a {new} b\n"


@pytest.mark.parametrize(
    ("file", "room"),
    [
        ("lightning_sym/rings/balls.py", "rings"),
        ("lightning_sym/limits.py", "project"),
        ("proofs_check/checker/verify.py", "checker"),
        ("proofs_check/claims/deep/lemma.py", "claims"),
        ("proofs_check/claim.py", "claims"),
        ("lightning_cli/commands/same.py", "cli"),
    ],
)
def test_a_file_has_the_tests_of_its_room(file: str, room: str) -> None:
    assert Change(file, 1, 0, 1, "+").room == room
    assert (ROOT / "tests" / room).is_dir()


def test_certificates_of_coefficients_have_tests_beside_what_writes_them() -> None:
    change = Change("proofs_check/checker/kinds/coefficient/models.py", 1, 0, 1, "+")
    assert change.tests == ["tests/checker", "tests/coefficients"]
    assert all((ROOT / each).is_dir() for each in change.tests)
    assert Change("proofs_check/checker/kinds/same.py", 1, 0, 1, "+").tests == ["tests/checker"]


def test_it_says_what_no_test_noticed() -> None:
    words = [sys.executable, str(ROOT / "scripts" / "mutate_house.py"), "--changes", "1", "--seed", "2", "system"]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] in ("noticed: 0 of 1", "noticed: 1 of 1")
