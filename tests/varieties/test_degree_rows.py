"""The rows of degrees: what each hypothesis keeps out, and what fell short; the same of points and canonical forms."""

from __future__ import annotations

from typing import Any

import pytest

from lightning_sym import (
    SOFTMAX,
    Architecture,
    NetworkForm,
    Weights,
    canonical,
    classify,
    conserved_quantities,
    equations,
    variety_degree,
)
from lightning_sym.ask import Need, TheoremRow
from lightning_sym.errors import ProgramError
from lightning_sym.varieties import conserved, degree
from lightning_sym.varieties.gradient_brackets import MORE_THAN_MOMENTS, ONE_FUNCTION

FULL = (2, 2, 2)
NETWORKS = {
    "heads": Architecture((2, 1), (1,), 2, heads=2, embed=2),  # one, as the functions fill their span
    "base points": Architecture((2, 2, 1), (2, 2), 2),
    "rank two twice": Architecture((3, 3, 3, 3), (2, 2, 2), 2),
    "skip": Architecture(FULL, (1, 1), 2, skip=True),
    "mask": Architecture(FULL, (1, 1), 2, causal=True),
    "full, heads": Architecture(FULL, (2, 2), 2, heads=2),
    "full, skip": Architecture(FULL, (2, 2), 2, skip=True),
    "full, mask": Architecture(FULL, (2, 2), 2, causal=True),
    "not full": Architecture((3, 3, 3), (2, 2), 2),
}
KNOWN = {"heads": 1, "base points": 2338}


@pytest.mark.parametrize(("number", "need"), [(i, need) for i in (0, 1) for need in degree.DEGREES[i].needs])
def test_a_row_that_loses_a_hypothesis_gives_what_is_not_proved(
    number: int, need: Need, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers that are false where the degree is known, else numbers where it is open."""
    row: TheoremRow[Any, Any] = degree.DEGREES[number]
    less = row._replace(needs=tuple(each for each in row.needs if each is not need))
    right = {name: variety_degree(network).degree for name, network in NETWORKS.items()}
    assert {name: found for name, found in right.items() if found is not None} == KNOWN
    monkeypatch.setattr(degree, "DEGREES", (*degree.DEGREES[:number], less, *degree.DEGREES[number + 1 :]))
    other = {name for name, network in NETWORKS.items() if variety_degree(network).degree != right[name]}
    assert other
    if number == 0 and need in (degree.COMMON[0], degree.NO_BASE_POINTS):
        assert other & KNOWN.keys()


def test_what_is_open_tells_both_theorems() -> None:
    found = variety_degree(NETWORKS["not full"])
    assert [each.citation for each in found.tried] == ["Theorem 1 of docs/degree.md", "Theorem 2 of docs/degree.md"]
    assert found.reason == found.tried[0].why
    assert "Theorem" not in found.reason
    assert "\ntried       Theorem 1 of docs/degree.md: base points" in str(found)
    known = variety_degree(NETWORKS["base points"])
    assert [each.citation for each in known.tried] == ["Theorem 1 of docs/degree.md"]
    assert "tried" not in str(known)


def test_points_that_are_not_covered_tell_why() -> None:
    deep = Weights.random(Architecture(FULL, (2, 2), 2), seed=1)
    assert list(map(str, classify(deep).tried)) == ["Proposition 3 of docs/one-layer.md: it needs one layer, got 2"]
    one = Weights.random(Architecture((2, 2), (2,), 2), seed=1)
    assert classify(one).tried == ()
    assert list(map(str, classify(one, 1).tried)) == [
        "Proposition 3 of docs/one-layer.md: it needs two tokens or more, got 1"
    ]


def test_a_canonical_form_tells_what_fell_short() -> None:
    """A narrow output does not show the stream: Corollary 5 does not apply, Theorem 11 does."""
    shape = Architecture((3, 3, 3), (2, 2), 3, SOFTMAX, heads=2, skip=True, embed=3, unembed=1)
    found = canonical(Weights.random(shape, seed=1, bound=3).with_form(NetworkForm(SOFTMAX, skip=True)), 3)
    assert found.theorem.startswith("Theorem 11 ")
    assert [each.citation for each in found.tried] == [
        f"Corollary 5{more} of docs/transformer-fibers.md" for more in ("", " with Theorem 11")
    ]
    assert all("rank" in each.why for each in found.tried)
    assert "\ntried" in str(found)


@pytest.mark.parametrize("need", ONE_FUNCTION.needs, ids=[str(i) for i in range(3)])
def test_more_is_kept_only_where_all_functions_are_multiples_of_one(
    need: Need, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one of its hypotheses the bound from below is more than what gradients leave."""
    networks = [
        Architecture((1, 2), (1,), 1),
        Architecture((1, 1), (1,), 2, SOFTMAX),
        Architecture((1, 1, 1), (1, 1), 2, skip=True),
    ]
    for network in networks:
        found = conserved_quantities(network)
        assert found.lower == found.listed
        numbers = [5, 9][: 1 + (network.normalization is not None)]
        assert [each.citation for each in found.tried] == [f"Proposition {k} of docs/conserved.md" for k in numbers]
        assert "tried" not in str(found)
    less = ONE_FUNCTION._replace(needs=tuple(each for each in ONE_FUNCTION.needs if each is not need))
    monkeypatch.setattr(conserved, "MORE_THAN_MOMENTS", (less,))
    with pytest.raises(ProgramError, match="exceeds upper bound"):
        list(map(conserved_quantities, networks))


def test_equations_without_a_hilbert_polynomial_tell_why() -> None:
    found = equations(Architecture((3, 1), (2,), 2), 2)
    assert found.hilbert_polynomial is None
    assert list(map(str, found.tried)) == [
        "Proposition 6 of docs/equations.md: it needs one equation or none that is proved to generate the ideal",
        "Proposition 7 of docs/equations.md: it needs one layer of rank one with one output, and two tokens or more",
    ]
    assert "Proposition 6" not in found.source
    assert "\ntried" in str(found)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("form", [(None, 2), (SOFTMAX, 1)])
def test_width_one_keeps_more_than_moments(form: tuple[Any, int], skip: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What gradients span is found anew each time: both bounds meet."""
    normalization, tokens = form
    found = conserved_quantities(
        Architecture(
            (1, 1, 1), (2, 1), tokens, normalization, heads=2, value_ranks=(1, 2), skip=skip, embed=2, unembed=1
        )
    )
    assert found.count is not None
    more = skip or normalization is None
    assert (found.count > found.listed) == more
    assert found.source.endswith("and 9") == more
    outside = Architecture((1, 1, 1), (1, 1), 2, SOFTMAX, heads=2, skip=skip)
    monkeypatch.setattr(conserved, "MORE_THAN_MOMENTS", (MORE_THAN_MOMENTS[1]._replace(needs=()),))
    with pytest.raises(ProgramError, match="exceeds upper bound"):
        conserved_quantities(outside)
