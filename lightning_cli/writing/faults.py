"""Rules of a rewriting, each with the way in which conversion tools broke it, as data that Python and a page carry out.

A fault says of some tensors what they become instead of what the moves make of them, in one word each:

- `without`: as if one move were at rest;
- `twice`: columns turned once more;
- `stored`: as it was before anything moved;
- `pick`: rows of some tensors, in an order;
- `plus`: numbers added;
- `transposed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_cli.writing.moves import OF_LAYERS, Settings, array_of, at_rest, exact, moved, pair_turn, with_arrays
from lightning_sym.checkpoints.mistaken_orders import half_split
from lightning_sym.checkpoints.model import MadeCheckpoint
from lightning_sym.checkpoints.pieces import table

Step = Mapping[str, Any]
"""`piece`, `word`, and what the word needs: `move`, `of` and `order`, or `numbers`."""


@dataclass(frozen=True)
class Fault:
    """A rule that is broken.

    Attributes:
        name: a short one.
        rule: the rule.
        words: what was done instead.
        steps: of each piece that is wrong, what it becomes.
        moves: those that must not be at rest for the fault to show, with settings at which it shows.
        also: pieces that may be called wrong as well: of two that share a number, either has it once too often.
    """

    name: str
    rule: str
    words: str
    steps: tuple[Step, ...]
    moves: Mapping[str, int] = field(default_factory=dict)
    also: tuple[str, ...] = ()

    def data(self) -> dict[str, object]:
        """Return it as the page reads it."""
        return asdict(self)

    def settings(self, model: MadeCheckpoint) -> dict[str, object]:
        """Return settings at which it shows: moves inside of layers in the last layer."""
        others = [0] * (model.form.layers - 1)
        chosen = {name: [*others, how] if name in OF_LAYERS else how for name, how in self.moves.items()}
        return at_rest(model.form) | chosen


def broken(model: MadeCheckpoint, fault: Fault, settings: Settings) -> MadeCheckpoint:
    """Return the model at some settings, with the fault made."""
    right = moved(model, settings)
    return with_arrays(
        right, {step["piece"]: WORDS[step["word"]](model, right, settings, step) for step in fault.steps}
    )


def _without(model: MadeCheckpoint, _: MadeCheckpoint, settings: Settings, step: Step) -> object:
    """Return a piece as if one move were at rest; without the turn its gains stay folded."""
    other = {**settings, step["move"]: at_rest(model.form)[step["move"]]}
    if step["move"] == "turn" and settings["turn"]:
        other["gains"] = 1
    return array_of(moved(model, other), step["piece"])


def _twice(model: MadeCheckpoint, right: MadeCheckpoint, settings: Settings, step: Step) -> object:
    return exact(array_of(right, step["piece"])) @ pair_turn(model.form.width, settings["turn"]).T


def _stored(model: MadeCheckpoint, _: MadeCheckpoint, __: Settings, step: Step) -> object:
    return array_of(model, step["piece"])


def _pick(model: MadeCheckpoint, right: MadeCheckpoint, _: Settings, step: Step) -> object:
    pieces = table(model.form)
    rows = np.concatenate([pieces[name].as_matrix(array_of(right, name)) for name in step["of"]])
    return pieces[step["piece"]].of_matrix(rows[step["order"]])


def _plus(_: MadeCheckpoint, right: MadeCheckpoint, __: Settings, step: Step) -> object:
    array = exact(array_of(right, step["piece"]))
    return array + np.array([Fraction(x) for row in step["numbers"] for x in row], dtype=object).reshape(array.shape)


def _transposed(_: MadeCheckpoint, right: MadeCheckpoint, __: Settings, step: Step) -> object:
    return array_of(right, step["piece"]).T


WORDS: Mapping[str, Callable[[MadeCheckpoint, MadeCheckpoint, Settings, Step], object]] = {
    "without": _without, "twice": _twice, "stored": _stored, "pick": _pick, "plus": _plus, "transposed": _transposed,
}  # fmt: skip


# ---- the faults


def faults_of(model: MadeCheckpoint) -> dict[str, Fault]:
    """Return the faults that can be made in a model, by name."""
    found = (fault for made in FAULTS for fault in made(model))
    return {fault.name: fault for fault in found}


def _last(model: MadeCheckpoint, *names: str) -> list[str]:
    """Return pieces of the last layer, as far as they are there, each with its bias."""
    return _there(model, model.form.layers - 1, *names)


def _there(model: MadeCheckpoint, layer: int, *names: str) -> list[str]:
    both = [each for name in names for each in (name, f"{name}_bias")]
    return [f"{layer}.{name}" for name in both if getattr(model.block(layer), name, None) is not None]


def _bias(model: MadeCheckpoint) -> Iterator[Fault]:
    for piece in _last(model, "value")[1:]:
        yield Fault(
            "bias-not-turned", "A bias lives where the rows of its matrix live, and turns with them.",
            "forget the bias of the values", ({"piece": piece, "word": "without", "move": "values"},), {"values": 8},
        )  # fmt: skip


def _head_unturned(model: MadeCheckpoint) -> Iterator[Fault]:
    rule = "Whoever reads the stream must follow its turn: once, and the head too."
    for name, words, step in (
        ("head-not-turned", "leave the head as it was", {"word": "without", "move": "turn"}),
        ("turned-twice", "turn the head twice", {"word": "twice"}),
    ):
        yield Fault(name, rule, words, ({"piece": "unembedding", **step},), {"turn": 8})


def _layer_unturned(model: MadeCheckpoint) -> Iterator[Fault]:
    pieces = _last(model, "query", "key", "value", "output", "gate", "up", "down")
    yield Fault(
        "layer-not-turned", "Every layer reads the stream and writes to it: a turn leaves out none.",
        "leave the last layer out of the turn",
        tuple({"piece": piece, "word": "without", "move": "turn"} for piece in pieces), {"turn": 8},
    )  # fmt: skip


def _gain(model: MadeCheckpoint) -> Iterator[Fault]:
    step = {"piece": "final_gain", "word": "stored"}
    yield Fault(
        "gain-folded-twice", "A gain that went into the next matrix is one in its norm.",
        "fold the last gain, and leave it in its norm too", (step,), {"gains": 1}, ("unembedding",),
    )  # fmt: skip


def _less_one(model: MadeCheckpoint) -> Iterator[Fault]:
    step = {"piece": "final_gain", "word": "plus", "numbers": [["-1"] * model.form.width]}
    yield Fault(
        "gain-minus-one", "Some families store a gain less one: one is added when it is read, or never.",
        "forget to add one to the last gain", (step,),
    )  # fmt: skip


def _rows(model: MadeCheckpoint) -> Iterator[Fault]:
    form = model.form
    rule = "Rotary positions pair row i of a head with row i + a/2: another order needs another pairing."
    size = {name: count * form.head_width for name, count in (("query", form.heads), ("key", form.groups))}
    orders = {name: half_split(rows, rows // form.head_width) for name, rows in size.items()}
    words = "interleave the rows of queries and keys, as GGUF files have them"
    yield _reordered(model, "rotary-rows", rule, words, orders)
    if form.heads != form.groups and form.head_width * form.groups // form.heads > 2:
        rule = "Rows are permuted head by head; there are fewer heads of keys than of queries."
        there, back = half_split(size["key"], form.heads), half_split(size["key"], form.groups, back=True)
        yield _reordered(
            model, "rotary-rows-k", rule, "permute keys by the number of query heads", {"key": there[back]}
        )


def _reordered(
    model: MadeCheckpoint, name: str, rule: str, words: str, orders: Mapping[str, npt.NDArray[np.int64]]
) -> Fault:
    """Return rows of maps, and their biases, in other orders, in every layer."""
    steps = (
        {"piece": piece, "word": "pick", "of": [piece], "order": order.tolist()}
        for each, order in orders.items()
        for layer in range(model.form.layers)
        for piece in _there(model, layer, each)
    )
    return Fault(name, rule, words, tuple(steps))


def _fused(model: MadeCheckpoint) -> Iterator[Fault]:
    """Yield queries, keys and values that were fused group by group, and are read one after the other."""
    form = model.form
    share, steps = form.heads // form.groups * form.head_width, list[Step]()
    sizes = [form.groups * share, form.groups * form.head_width, form.groups * form.head_width]
    queries, keys, values = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    by_group = [part.reshape(form.groups, -1) for part in (queries, keys, values)]
    order = np.concatenate(by_group, axis=1).ravel()
    for layer in range(form.layers):
        for end in ("", "_bias"):
            three = [f"{layer}.{name}{end}" for name in ("query", "key", "value")]
            if all(array_of(model, each) is not None for each in three):
                for piece, part in zip(three, np.split(order, np.cumsum(sizes)[:-1]), strict=True):
                    steps.append({"piece": piece, "word": "pick", "of": three, "order": part.tolist()})
    if form.groups > 1:
        yield Fault(
            "qkv-layout", "A fused block must be read in the order in which it was written.",
            "read queries, keys and values, fused group by group, one after the other", tuple(steps),
        )  # fmt: skip


def _exchanged(model: MadeCheckpoint) -> Iterator[Fault]:
    last = model.form.layers - 1
    rule = "Two tensors of one shape are told apart by their names alone."
    for name, words, pair, count in (
        ("gate-up-exchanged", "exchange gate and up", ("gate", "up"), model.form.inner),
        ("norms-exchanged", "exchange the two norms of the last layer", ("norm1_gain", "norm2_gain"), model.form.width),
    ):
        pieces = [f"{last}.{each}" for each in pair]
        steps = (
            {"piece": one, "word": "pick", "of": [other], "order": list(range(count))}
            for one, other in (pieces, pieces[::-1])
        )
        yield Fault(name, rule, words, tuple(steps))


def _transposed_square(model: MadeCheckpoint) -> Iterator[Fault]:
    if model.form.inner == model.form.width:
        step = {"piece": f"{model.form.layers - 1}.down", "word": "transposed"}
        rule = "A square matrix fits both ways round: its shape tells nothing."
        yield Fault("transposed-square", rule, "transpose the matrix behind the MLP", (step,))


def _one_side(model: MadeCheckpoint) -> Iterator[Fault]:
    form, last = model.form, model.form.layers - 1
    keys = tuple({"piece": piece, "word": "without", "move": "scores"} for piece in _last(model, "key"))
    yield Fault(
        "scale-one-side", "What queries are multiplied with, keys are divided by.", "scale queries, and not keys", keys,
        {"scores": 1}, tuple(_last(model, "query")),
    )  # fmt: skip
    output = {"piece": f"{last}.output", "word": "without", "move": "heads"}
    yield Fault(
        "heads-one-side", "Columns behind the heads go where the heads go.",
        "permute heads, and not the matrix behind them", (output,),
        {"heads": form.groups if form.groups < form.heads else 1},
        tuple(_last(model, "query", *(() if form.groups < form.heads else ("key", "value")))),
    )  # fmt: skip


def _adapter(model: MadeCheckpoint) -> Iterator[Fault]:
    form = model.form
    numbers = [[str(Fraction((i % 3 - 1) * (j % 4 - 1), 4)) for j in range(form.inner)] for i in range(form.width)]
    step = {"piece": f"{form.layers - 1}.down", "word": "plus", "numbers": numbers}
    rule = "An adapter is added to its matrix once."
    yield Fault("lora-unmerged", rule, "leave an adapter of rank one out", (step,))


def _nothing(model: MadeCheckpoint) -> Iterator[Fault]:
    yield Fault("nothing", "A rewriting changes tensors, and no logit.", "break nothing", ())


FAULTS = (
    _nothing, _bias, _head_unturned, _layer_unturned, _rows, _one_side, _gain, _less_one, _fused, _exchanged,
    _transposed_square, _adapter,
)  # fmt: skip
