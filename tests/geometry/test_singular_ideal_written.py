"""The ideal of the singular locus for other systems."""

from __future__ import annotations

import pytest
import sympy
from command import run

from lightning_sym import Architecture, BadInput, singular_locus

ARGUMENTS = ["classify", "--singular-ideal", "--widths", "2,1", "--ranks", "2"]


def test_the_text_is_the_ideal() -> None:
    found = singular_locus(Architecture((2, 1), (2,), 2), 2)
    assert found.equations is not None
    names: dict[str, object] = {}
    exec(found.to_text("sympy"), names)  # noqa: S102 - our own text
    ideal = names["I"]
    assert isinstance(ideal, list)
    wanted = [g.as_expr() for some in found.equations.generators.values() for g in some]
    assert [sympy.expand(a - b) for a, b in zip(ideal, wanted, strict=True)] == [0, 0, 0]


@pytest.mark.parametrize(("form", "word"), [("singular", "ideal I"), ("macaulay2", "I = ideal("), ("oscar", "ideal(")])
def test_the_command_writes_it(form: str, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *ARGUMENTS, "--format", form)
    assert code == 0
    assert word in out
    assert "the singular locus of the closure" in out


@pytest.mark.parametrize("words", [[*ARGUMENTS, "--json"], ["classify", "--orbits", *ARGUMENTS[2:]]])
def test_a_format_needs_an_ideal(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, *words, "--format", "singular")
    assert code == 2
    assert "--format goes with --singular-ideal" in err


def test_what_is_not_known_is_not_written() -> None:
    with pytest.raises(BadInput, match="equations must be known"):
        singular_locus(Architecture((1, 1), (1,), 2)).to_text("singular")
