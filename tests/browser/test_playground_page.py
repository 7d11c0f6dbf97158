"""The playground: its tensors are those of `apply`, its logits those of plain sums, its exercises can be solved."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chromium import Reader
from rounded_transformer import rounded_logits

from lightning_cli.writing.faults import broken, faults_of
from lightning_cli.writing.live_pages import page_text
from lightning_cli.writing.moves import array_of, moved
from lightning_cli.writing.playground import INCIDENTS, incident_settings, small_model
from lightning_sym.checkpoints.pieces import table

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DRAW = random.Random(7)
ANSWER = """([settings, fault]) => {
    const { model } = Playground, right = Rewriting.moved(model, settings);
    const made = Rewriting.broken(model, right, model.faults.find(({ name }) => name === fault), settings);
    const logits = Rewriting.written(Rewriting.logits(model, made, model.prompts[1]))[0].map(String);
    const entries = (matrix) => Rewriting.written(matrix).map((row) => row.map(String));
    return [Object.entries(made).map(([name, matrix]) => [name, entries(matrix)]), logits];
}"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as a file."""
    file = tmp_path_factory.mktemp("pages") / "playground.html"
    file.write_text(page_text("playground"), encoding="utf-8")
    return file


@pytest.fixture
def reader(browser: Browser, path: Path) -> Reader:
    """The page, just opened."""
    return Reader(browser, path)


def settings() -> dict[str, Any]:
    """Anything the controls can say."""

    def each(least: int, most: int) -> list[int]:
        return [DRAW.randint(least, most), DRAW.randint(least, most)]

    return {
        "turn": DRAW.choice([0, DRAW.randint(-16, 16)]), "gains": DRAW.randint(0, 1), "heads": each(0, 3),
        "rotary": each(-16, 16), "scores": each(-3, 3), "values": each(-16, 16), "neurons": each(0, 7),
        "ups": each(-3, 3),
    }  # fmt: skip


def test_tensors_and_logits_are_python_s(reader: Reader) -> None:
    model, seen = small_model(), set()
    prompt = reader.page.evaluate("() => Playground.model.prompts[1]")
    right = [str(x) for x in rounded_logits(model, prompt)]
    for name, fault in faults_of(model).items():
        at = settings()
        tensors, logits = reader.page.evaluate(ANSWER, [at, name])
        there = broken(model, fault, at)
        for piece, rows in tensors:
            numbers = np.atleast_2d(table(model.form)[piece].as_matrix(array_of(there, piece)))
            assert rows == [[str(Fraction(x)) for x in row] for row in numbers], (name, piece)
        assert logits == (right if name == "nothing" else [str(x) for x in rounded_logits(there, prompt)])
        seen.add(logits == right)
    assert seen == {True, False}


def test_logits_stand_still_for_every_move(reader: Reader) -> None:
    model = small_model()
    prompt = reader.page.evaluate("() => Playground.model.prompts[1]")
    right = rounded_logits(model, prompt)
    for _ in range(3):
        at = settings()
        assert reader.page.evaluate(ANSWER, [at, "nothing"])[1] == [str(x) for x in right]
    assert rounded_logits(moved(model, at), prompt) == right


@pytest.mark.parametrize("number", range(len(INCIDENTS)))
def test_an_exercise_can_be_solved(reader: Reader, number: int) -> None:
    page, model, incident = reader.page, small_model(), INCIDENTS[number]
    fault = faults_of(model)[incident.fault]
    page.click(f"#choices button:nth-child({number + 1})")
    reader.settle()
    assert incident.symptom in reader.text("symptom")
    before = len(page.evaluate("() => Playground.state().differ"))
    page.click("#hint")
    page.click("#moves")
    reader.settle()
    left = page.evaluate("() => Playground.state().differ")
    assert left == sorted({step["piece"] for step in fault.steps}, key=[p["name"] for p in page.evaluate(
        "() => Playground.model.pieces")].index)  # fmt: skip
    assert len(left) <= before
    assert page.evaluate("() => Playground.state().still") is (incident.fault == "nothing")
    tiles = page.locator(".tile")
    if left:
        page.click("#none")
        assert "Something is wrong" in reader.text("told")
        tiles.nth(0).click()
        reader.settle()
        page.click("#guess")
        assert "Not model.embed_tokens.weight: it is equal to yours." in reader.text("told")
        names = page.evaluate("() => Playground.model.pieces.map(({ name }) => name)")
        tiles.nth(names.index(left[0])).click()
        reader.settle()
        page.click("#guess")
    else:
        page.click("#none")
    assert reader.text("told") == f"Yes. {incident.happened}"
    assert reader.text("same-said").startswith("answer       " + ("different" if left else "same"))
    assert reader.text("thread").startswith(f"Told in {incident.thread}")
    assert reader.said == []


def test_the_controls_do_what_they_say(reader: Reader) -> None:
    page = reader.page
    assert reader.text("verdict") == "All 12 logits stand still, exactly."
    assert reader.text("counted") == "0 of 27 tensors have moved."
    reader.slide(turn=4)
    assert reader.text("turn-value") == "3/5, 4/5"
    assert reader.text("verdict") == "All 12 logits stand still, exactly."
    assert page.is_disabled("#gains")
    page.click("text=layer 1 >> nth=-1")
    reader.slide(values=8)
    assert page.evaluate("() => Playground.state().moved") == 22
    page.click("#all")
    reader.settle()
    assert reader.text("verdict") == "All 12 logits stand still, exactly."
    for name, first in (("bias-not-turned", "model.layers.1.self_attn.v_proj.bias"), ("turned-twice", "lm_head.weight"),
                        ("rotary-rows-k", "model.layers.0.self_attn.k_proj.weight")):  # fmt: skip
        page.select_option("#fault", name)
        reader.settle()
        assert reader.text("counted") == f"First wrong tensor: {first}."
        seen = page.locator(".tile.first .tile-name").inner_text()  # a name that is spoken begins with what is seen
        assert page.locator(".tile.first").get_attribute("aria-label") == f"{seen}, first wrong, {first}"
    page.locator(".tile.first").press("Enter")
    reader.settle()
    assert reader.text("tensor-name") == "model.layers.0.self_attn.k_proj.weight"
    page.click("#rest")
    reader.settle()
    assert reader.text("counted") == "0 of 27 tensors have moved."
    box = page.locator("#dial").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.93 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.1 * box["height"])
    page.mouse.up()
    reader.settle()
    assert reader.text("turn-value") == "0, 1"
    assert reader.said == []


def test_an_incident_is_solved_by_the_keyboard_alone(reader: Reader) -> None:
    keys = reader.page.keyboard

    def focused() -> str:
        reader.settle()
        script = "() => document.activeElement.id || document.activeElement.getAttribute('aria-label')"
        return str(reader.page.evaluate(script))

    def walk(key: str, words: str) -> str:
        for _ in range(60):
            keys.press(key)
            if words in (found := focused()):
                return found
        raise AssertionError(f"{key} does not lead to {words}")

    walk("Tab", "exercise 3")
    keys.press("Enter")
    assert focused() == "exercise", "what has happened is read first"
    equal = walk("Tab", "equal to theirs")
    keys.press("Enter")
    assert focused() == "guess"
    keys.press("Enter")
    assert focused() == equal, "back where one was"
    assert "it is equal to yours" in reader.text("told")
    walk("Tab", "values")
    for _ in range(8):
        keys.press("ArrowRight")
    reader.settle()
    assert reader.text("counted") == "26 of 27 tensors agree with yours."
    walk("Shift+Tab", "differs from theirs")
    keys.press("Enter")
    keys.press("Enter")
    assert focused() == "exercise"
    assert reader.text("told").startswith("Yes.")
    walk("Tab", "leave")
    keys.press("Enter")
    assert focused() == "exercise 3, easy"
    assert reader.said == []


def test_what_same_prints_is_on_the_page(reader: Reader) -> None:
    """The faults that `same` knows are named by it: on the page stands what it says, and of the right tensor."""
    said, pieces = reader.page.evaluate("() => [Playground.model.faults, Playground.model.pieces]")
    printed = {fault["name"]: fault["printed"] for fault in said}
    called = {piece["name"]: piece["tensor"] for piece in pieces}
    assert printed["nothing"][0].startswith("answer       same")
    assert "lm_head.weight" in printed["turned-twice"][-1]
    for name, fault in faults_of(small_model()).items():
        if name not in ("nothing", "turned-twice"):
            blamed = re.match(rf"explained    {name} at ([^ ,]+)", printed[name][1])
            assert blamed, printed[name]
            wrong = {called[step["piece"]] for step in fault.steps} | {called[piece] for piece in fault.also}
            wrong |= {re.sub(r"\d", "*", tensor) for tensor in wrong}
            # a layer left out of the turn is told with its norms, whose gains are one
            assert blamed[1] in wrong or name == "layer-not-turned"


def test_settings_of_an_exercise_leave_its_fault_to_be_seen() -> None:
    model = small_model()
    for incident in INCIDENTS:
        fault, at = faults_of(model)[incident.fault], incident_settings(model, incident)
        right, wrong = moved(model, at), broken(model, fault, at)
        for step in fault.steps:
            assert (array_of(right, step["piece"]) != array_of(wrong, step["piece"])).any(), incident
