"""Certificates of learning coefficients: every one is accepted by the checker, and none whose claim is false."""

from __future__ import annotations

import copy
import json
import random
import time
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lightning_cli.schemas import schema
from lightning_sym import linear_attention_coefficient, one_head_coefficient, polynomial_coefficient
from proofs_check.checker import verify

Document = dict[str, Any]
VALIDATOR = Draft202012Validator(schema("certificate"))

IDEALS = [
    "x*y, x^2", "x*y, z", "x^2 + y^3", "x + y^2, x*y", "x^2 - 2*x*y + y^2, y*z", "x + x^2*y + z^2, y*z",
    "y^2 - 2*x^2*y + x^4 + x^5", "x^2 + y^2 - z^3", "x^4 + 2*x^2*y^3 + y^6", "x^2 - y*z, y^2 - x*z",
    "x, y - x", "x - y^2, y, x^2", "a*c + b*d, a*e + b*f", "x*a + y*b, x*c + y*d, z*a + w*b, z*c + w*d",
]  # fmt: skip
"""The last one needs another zero, a denominator and coordinates that are seen."""


@cache
def documents() -> dict[str, Document]:
    """By name a certificate as it is read from a file."""
    found = {ideal: polynomial_coefficient(ideal).certificate for ideal in IDEALS}
    found["x^2 - 1, x*y at 1"] = polynomial_coefficient("x^2 - 1, x*y", {"x": 1}).certificate
    models = [(2, 2), (2, 6), (3, 7), (3, 12), (2, 1), (5, 2), (6, 2), (9, 2)]
    for sizes in [*models, (4, 8, 1), (3, 5, 2), (3, 2, 1), (2, 4, 3)]:
        found[f"linear {sizes}"] = linear_attention_coefficient(*sizes).certificate
    for v, e, teacher in [(3, 2, None), (3, 3, 1), (4, 5, 1), (2, 5, 3)]:
        found[f"head {v, e, teacher}"] = one_head_coefficient(v, 2, e, teacher).certificate
    return {name: json.loads(json.dumps(document)) for name, document in found.items()}


NAMES = [*IDEALS, "x^2 - 1, x*y at 1", "linear (2, 6)", "linear (6, 2)", "linear (4, 8, 1)", "head (4, 5, 1)"]


@pytest.mark.parametrize("name", NAMES)
def test_all_are_accepted_and_of_the_schema(name: str) -> None:
    document = documents()[name]
    assert VALIDATOR.is_valid(document)
    assert not VALIDATOR.is_valid(document | {"lower": 0.5})
    said = verify.check(copy.deepcopy(document))
    low, high = document["lower"], document["upper"]
    assert said.startswith(f"lambda = {low}, for" if low == high else f"{low} <= lambda <= {high}, for")
    assert "docs/learning-coefficients-linear-attention.md" in said


def true_bounds(document: Document) -> tuple[Fraction, Fraction] | None:
    """What the program itself knows of the coefficient that a certificate is about; nothing for a bad question."""
    of = document["of"]
    try:
        if "model" in of:
            v, e, teacher = of["vocabulary"], of["width"], of["teacher"]
            if max(v, e, teacher or 1) > 100:
                return None
            linear = of["model"] == "linear attention"
            found = linear_attention_coefficient(v, e, teacher) if linear else one_head_coefficient(v, 2, e, teacher)
        else:
            names = [f"x{i}" for i in range(len(of["point"]))]
            texts = [
                " + ".join("*".join([f"({c})", *(f"{n}**{k}" for n, k in zip(names, e, strict=True))]) for c, e in p)
                for p in of["polynomials"]
            ]
            import sympy

            polynomials = [sympy.sympify(text or "0", rational=True) for text in texts]
            at = {n: Fraction(x) for n, x in zip(names, of["point"], strict=True)}
            used = {str(s) for p in polynomials for s in p.free_symbols}
            found = polynomial_coefficient(polynomials, {n: x for n, x in at.items() if n in used})
    except (ValueError, TypeError, KeyError):
        return None
    return found.lower, found.upper


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all numbers, and of lists that could be shorter."""
    if isinstance(value, dict):
        return [p for k, x in value.items() for p in leaves(x, (*path, k))]
    if isinstance(value, list):
        return [p for k, x in enumerate(value) for p in leaves(x, (*path, k))] + ([path] if value else [])
    return [path]


def changed(document: Document, rng: random.Random) -> Document:
    """A certificate with a place changed, often with bounds that then fit."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 2))):
        part = rng.choice(("above", "below", "above", "below", "of"))
        path = (part, *rng.choice(leaves(document[part])))
        *way, last = path
        place: Any = document
        for key in way:
            place = place[key]
        old = place[last]
        if isinstance(old, list):
            del old[rng.randrange(len(old))]
        elif isinstance(old, int) and not isinstance(old, bool):
            place[last] = rng.choice((old + 1, old - 1, 0, 1, f"{2 * old + 1}/2"))
        elif isinstance(old, str) and old.replace("/", "").replace("-", "").isdigit():
            place[last] = str(Fraction(old) * rng.choice((2, Fraction(1, 2), -1, 0, Fraction(3, 2))))
    for key, step in (("lower", 1), ("upper", -1)):
        if rng.random() < 0.5:
            document[key] = str(
                Fraction(document[key]) + step * Fraction(rng.choice((0, 1, 1, 2)), rng.choice((2, 3, 6)))
            )
    return document


def bounds_that_fit(document: Document) -> Document:
    """The same with the bounds that its parts prove, if the checker would say them."""
    try:
        verify.check(copy.deepcopy(document))
    except verify.Rejected as error:
        told = str(error)
        if told.startswith("the bounds must be "):
            low, high = told.removeprefix("the bounds must be ").split(" and ")
            return document | {"lower": low, "upper": high}
    except (ValueError, ArithmeticError):
        pass
    return document


@pytest.mark.parametrize("seed", range(4))
def test_no_false_claim_is_accepted(seed: int) -> None:
    rng = random.Random(seed)
    rejected = accepted = 0
    for name in sorted(documents()):
        if name == IDEALS[-1] and seed:
            continue  # a second for each of those accepted
        for _ in range(40):
            document = bounds_that_fit(changed(documents()[name], rng))
            try:
                verify.check(copy.deepcopy(document))
            except (ValueError, ArithmeticError):
                rejected += 1
                continue
            accepted += 1
            known = true_bounds(document)
            if known is not None:
                low, high = Fraction(document["lower"]), Fraction(document["upper"])
                assert low <= known[1], (name, document)
                assert known[0] <= high, (name, document)
    assert rejected > 300
    assert accepted > 40


def rejected(document: Document, **parts: Any) -> str:
    with pytest.raises(verify.Rejected) as caught:
        verify.check(copy.deepcopy(document | parts))
    return str(caught.value)


def test_the_naive_value_is_rejected() -> None:
    """At (2, 6) a third of v e would be the value with no pivot that stays."""
    document = documents()["linear (2, 6)"]
    assert rejected(document, lower=2, upper=2) == "the bounds must be 11/6 and 11/6"
    naive = {"x": ["1/3"] * 2, "q": [[0, 0], [0, 0]], "u": [0, 0]}
    assert rejected(document, above=naive) == "the bounds must be 11/6 and 2"
    high = {"rows": [[1, 1], [1, "7/6"]]}
    assert rejected(document, below=high) == "multipliers must be from 0 to 1"
    assert rejected(document, below={"rows": [[1, 1], [1, 1]]}) == "multipliers must fit the costs"


def test_tokens_change_nothing_and_one_is_refused() -> None:
    document = documents()["head (4, 5, 1)"]
    for tokens in (2, 3, 1000, None):
        assert verify.check(document | {"of": document["of"] | {"tokens": tokens}})
    assert "two tokens" in rejected(document, of=document["of"] | {"tokens": 1})
    assert "narrower" in rejected(document, of=document["of"] | {"teacher": 5})


REASONS: list[tuple[str, str, Any, str]] = [
    ("x*y, x^2", "above.weights.0", -1, "weights must not be negative"),
    ("x*y, x^2", "above.weights.0", 0, "every term must have weight 1 or more"),
    ("x*y, x^2", "below.elements.0.multiplier", 3, "multipliers must add up to at most 1 for every variable"),
    ("x*y, x^2", "below.elements.0.monomial", [0, 0], "the monomial of an element must be one of its terms"),
    ("y^2 - 2*x^2*y + x^4 + x^5", "below.elements.0.monomial", [5, 0], "the monomial must be the initial one"),
    ("x^2 + y^3", "below.fan.level", "1/2", "the bounds must be 1/4 and 5/12"),
    ("x^2 + y^3", "below.fan.level", None, "derivatives must be of an order that the level allows"),
    ("x^2 + y^3", "below.fan.level", 0, "the level must be a rank, or 1 / an order"),
    ("x^4 + 2*x^2*y^3 + y^6", "below.fan.level", 1, "derivatives must be of an order that the level allows"),
    ("x^2 - y*z, y^2 - x*z", "below.fan.level", 3, "minors must be of the size of the level"),
    ("x^2 + y^3", "below.fan.faces", [], "of every face a proof must be given"),
    (
        "x^2 + y^3",
        "below.fan.faces.0.terms",
        [[[0], [], [[1, [0, 0]]]]],
        "must have one sign off the coordinate planes",
    ),
    ("x^2 + y^3", "below.fan.cones", [[0, 2]], "a wall that is not at the boundary must be between two cones"),
    ("x^2 + y^3", "below.fan.cones", [[0, 1]], "the same exponent must be the smallest"),
    ("x^2 + y^3", "below.fan.cones", [[0, 0], [1, 2]], "a cone must have independent rays"),
    ("x^2 + y^3", "below.fan.rays.2", [1, 1], "must have one sign off the coordinate planes"),
    ("x^2 + y^3", "below.fan.multipliers.0.1", 1, "multipliers must add up to at most 1 for every variable"),
    ("x^2 + y^3", "below.fan.multipliers.0.0", [1, 1], "multipliers must be of terms, and not negative"),
    ("x^2 + y^2 - z^3", "above.signs.1.point", [1, 1, -1], "must be positive at one point"),
    ("x^2 + y^2 - z^3", "above.signs.0.weights", [0, 1, 1], "must be an integer from 1"),
    ("x^2 + y^3", "above.zero", [0, 0], "with another zero the polynomials must be homogeneous"),
    ("x*y, z", "below.coordinates.seen", [[0, 2]], "must be a generator, up to a unit and coordinates seen before"),
    ("x, y - x", "below.coordinates.seen", [[1, 1], [0, 0]], "up to a unit and coordinates seen before"),
    ("x*y, z", "below.coordinates.denominator", [[1, [1, 0, 0]]], "coordinates must be 0 at the point"),
    ("x*y, z", "above.coordinates.numerators.0", [[1, [2, 0, 0]]], "coordinates must have an invertible differential"),
    ("x^2 - 1, x*y at 1", "of.point.0", 2, "the polynomials must be 0 at the point"),
    ("linear (3, 7)", "above.x", ["1/3", "1/3", 0], "and those of pivots must not fall"),
    ("linear (6, 2)", "below.last.b.0", "1/6", "all coefficients must cancel"),
    ("linear (4, 8, 1)", "above.rank", 4, "the rank must be one of p x h matrices"),
]


@pytest.mark.parametrize(("name", "place", "value", "reason"), REASONS, ids=[f"{n}: {p}" for n, p, _, _ in REASONS])
def test_what_is_wrong_is_said(name: str, place: str, value: Any, reason: str) -> None:
    document = copy.deepcopy(documents()[name])
    *way, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    inside: Any = document
    for key in way:
        inside = inside[key]
    inside[last] = value
    assert reason in rejected(document)


def test_what_would_take_long_is_refused() -> None:
    document = copy.deepcopy(documents()["x*y, z"])
    document["of"]["polynomials"] = [[[1, [256, 256, 256]]], [[1, [0, 0, 1]]]]
    sums = [[1, unit] for unit in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [2, 0, 0], [0, 2, 0], [0, 0, 2])]
    document["above"]["coordinates"]["numerators"] = [sums, sums[1:], sums[2:]]
    start = time.monotonic()
    assert "must" in rejected(document)
    assert time.monotonic() - start < 60


def test_all_sizes_up_to_twenty() -> None:
    """Written and checked, in a few seconds; a minute is what they may take."""
    start = time.monotonic()
    for v in range(2, 21):
        for e in range(1, 21):
            document = linear_attention_coefficient(v, e).certificate
            assert document is not None
            verify.check(json.loads(json.dumps(document)))
    assert time.monotonic() - start < 60
