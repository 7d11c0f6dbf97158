"""Certified or not: the page's bounds are Python's, its Jacobian is the network's, its controls do what they say."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chromium import Reader

from lightning_cli.writing.live_pages import page_text
from lightning_sym import Architecture, certified_dimension
from lightning_sym.dimension.dimension_text import printed_formula
from lightning_sym.dimension.varieties import virtual_weight_variety
from lightning_sym.exact.modular import rank_mod_p

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DRAW = random.Random(11)


@pytest.fixture
def reader(browser: Browser, tmp_path: Path) -> Reader:
    """The page, just opened."""
    path = tmp_path / "dimension.html"
    path.write_text(page_text("dimension"), encoding="utf-8")
    return Reader(browser, path)


def shapes() -> list[Architecture]:
    """Random small shapes, and special ones."""
    found = [Architecture((2, 2, 2), (1, 2), 2), Architecture((3, 1, 3), (2, 1), 2), Architecture((2, 2), (2,), 1)]
    while len(found) < 40:
        depth = DRAW.randint(1, 3)
        network = Architecture(
            tuple(DRAW.randint(1, 3) for _ in range(depth + 1)),
            tuple(DRAW.randint(1, 3) for _ in range(depth)),
            DRAW.randint(1, 3),
        )
        if network.parameter_count <= 50:
            found.append(network)
    return found


def asked(reader: Reader, network: Architecture, seed: int = 1) -> dict[str, Any]:
    shape = {"widths": network.widths, "ranks": network.attention_ranks, "tokens": network.tokens}
    call = "([shape, seed]) => JSON.stringify({ ...Dimension.answer(shape, seed), printed: Dimension.printed(shape) })"
    found: dict[str, Any] = json.loads(reader.page.evaluate(call, [shape, seed]))
    return found


def test_bounds_are_python_s(reader: Reader) -> None:
    certified = 0
    for network in shapes():
        here, there = asked(reader, network), certified_dimension(network)
        assert here["lower"] == there.lower == len(here["columns"])
        assert here["parameters"] == network.parameter_count
        assert here["upper"] >= there.upper
        assert sum(n for _, n in here["pieces"]) == virtual_weight_variety(network).dimension
        assert here["lower"] <= here["upper"]
        certified += here["lower"] == here["upper"]
        printed = printed_formula(network)
        assert here["printed"]["value"] == printed.value
        assert printed.value is None or here["printed"]["holds"] == printed.applies
    assert certified > 35


def test_the_jacobian_is_that_of_a_homogeneous_map(reader: Reader) -> None:
    """Euler: the output has degree 3^(l-i) in each matrix of layer i, so the derivatives by them add up to one sum."""
    script = """([shape]) => {
        const { rows, all } = Dimension.jacobian(shape, 3), layers = Dimension.weightsOf(shape, 3);
        const sums = {}, p = BigInt(Dimension.PRIME);
        all.forEach(({ layer, name, r, c }, i) => rows.forEach((row, n) => {
            const list = (sums[`${layer} ${name}`] = sums[`${layer} ${name}`] || Array(rows.length).fill(0n));
            list[n] = (list[n] + BigInt(row[i]) * BigInt(layers[layer][name][r][c])) % p;
        }));
        return JSON.stringify(Object.entries(sums), (_, v) => typeof v === "bigint" ? `${v}` : v);
    }"""
    for network in shapes()[:12]:
        shape = {"widths": network.widths, "ranks": network.attention_ranks, "tokens": network.tokens}
        sums = {
            tuple(key.split()): list(map(int, row)) for key, row in json.loads(reader.page.evaluate(script, [shape]))
        }
        output = sums[str(network.depth - 1), "v"]
        assert any(output)
        for (layer, _), found in sums.items():
            degree = 3 ** (network.depth - 1 - int(layer))
            assert found == [degree * y % 4194301 for y in output]


def test_other_weights_give_the_same_rank(reader: Reader) -> None:
    network = Architecture((3, 3, 2), (2, 2), 2)
    assert len({asked(reader, network, seed)["lower"] for seed in range(1, 6)}) == 1


def test_elimination_is_python_s(reader: Reader) -> None:
    for _ in range(30):
        rows = [[DRAW.randint(0, 3) * DRAW.randint(0, 1) for _ in range(6)] for _ in range(5)]
        pivots = reader.page.evaluate("(rows) => Dimension.pivots(rows)", rows)
        assert len(pivots) == rank_mod_p(np.array(rows), 4194301)


def test_the_controls_do_what_they_say(reader: Reader) -> None:
    page = reader.page
    assert reader.text("verdict").lower() == "certified"
    assert "The dimension is 8" in reader.text("said")
    assert "gives 9, outside its hypotheses: not the dimension" in reader.text("formula")
    page.fill("#widths", "4,4,4")
    page.fill("#ranks", "2,2")
    page.fill("#tokens", "3")
    reader.settle()
    assert "The dimension is 38" in reader.text("said")
    assert "inside its hypotheses: the same" in reader.text("formula")
    assert page.locator("#pivots .pivot").count() == 38
    page.click("#again")
    reader.settle()
    assert "The dimension is 38" in reader.text("said")
    for name, text, says in (
        ("widths", "4,x", "must be whole numbers from 1 to 8"), ("widths", "5,5,5,5,5", "from two to 4 numbers"),
        ("ranks", "2", "must be 2 numbers, one a layer"), ("tokens", "2,2", "one number"),
        ("tokens", "0", "Tokens must be a whole number from 1 to 12."),
        ("widths", "8,8,8,8", "at most 400 parameters"), ("widths", "", "whole numbers"),
    ):  # fmt: skip
        page.fill("#widths", "4,4,4")
        page.fill("#ranks", "8,8,8" if "400" in says else "2,2")
        page.fill("#tokens", "2")
        page.fill(f"#{name}", text)
        reader.settle()
        assert says in reader.text("refused")
    assert reader.said == []
