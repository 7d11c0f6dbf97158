"""The rewriting playground: a small transformer, what may be done to it, and what goes wrong, as data of a page.

The page moves tensors by itself, exactly; this file says which pieces there are and how they move, from the table that
`apply` and `same` use, the functions that the page rounds, and what `same` prints of each fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from fractions import Fraction
from functools import cache
from math import exp, lcm, sqrt

import numpy as np
import numpy.typing as npt

from lightning_cli.writing.faults import Fault, broken, faults_of
from lightning_cli.writing.moves import OF_LAYERS, Settings, array_of, at_rest
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends, MadeCheckpoint, P
from lightning_sym.checkpoints.piece_table import CheckpointPiece
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.rewritings import apply
from lightning_sym.checkpoints.same_checkpoints import same_checkpoints
from lightning_sym.checkpoints.symmetry import LayerSymmetry, Symmetry
from lightning_sym.checkpoints.symmetry_table import symmetry_table, tensor_names
from lightning_sym.errors import BadInput, TooLarge


@dataclass(frozen=True)
class Incident:
    """One exercise.

    Attributes:
        level: from 1, easy, to 3.
        symptom: what somebody saw.
        happened: what it was, told afterwards.
        thread: where, as repository and number.
        fault: the name of the fault.
        moves: what was done rightly besides; a number stands for all layers.
    """

    level: int
    symptom: str
    happened: str
    thread: str
    fault: str
    moves: Mapping[str, object] = field(default_factory=dict)

    def data(self) -> dict[str, object]:
        """Return it as the page reads it, with the address of the thread."""
        repository, number = self.thread.split("#")
        return asdict(self) | {"address": f"https://github.com/{repository}/issues/{number}"}


INCIDENTS = (
    Incident(
        1, "Perplexity is 65 where it should be 7.5, and the model in four bits is better than the one in sixteen.",
        "Of all norms only the final one lacked the one that this family adds to its gains.",
        "kekzl/imp#1289", "gain-minus-one",
    ),
    Incident(
        1, "A new converter; every tensor is there, every shape fits, the text is noise.",
        "Two norms have one shape. The converter gave each the name of the other.",
        "pytorch/torchtitan#1454", "norms-exchanged",
    ),
    Incident(
        1, "Values were turned, to make them easier to quantise. Perplexity went from 42 to one and a half million.",
        "The matrix of the values was turned; its bias was not. Llama has none, Qwen2 has one.",
        "vllm-project/compressed-tensors#679", "bias-not-turned", {"values": 8},
    ),
    Incident(
        1, "Another program reads the file under its own names, w1, w2 and w3, and talks nonsense.",
        "The names were mapped wrongly: gate and up have one shape.",
        "pytorch/torchchat#1097", "gate-up-exchanged", {"neurons": 3},
    ),
    Incident(
        2, "From GGUF back to a folder: somebody finds that two tensors in each layer differ, and asks why.",
        "GGUF keeps rows of queries and keys interleaved. They were not put back.",
        "huggingface/transformers#31766", "rotary-rows", {"heads": 1},
    ),
    Incident(
        2, "The converter was right for months. The first model with few heads of keys comes out as gibberish.",
        "Keys were permuted in a number of blocks that fits one model only. Removing the permutation helps no one: the "
        "file then has the wrong order everywhere.",
        "ggml-org/llama.cpp#3364", "rotary-rows-k", {"ups": 1, "neurons": 2},
    ),
    Incident(
        2, "A tool turns the stream to spread outliers. Behind it the model writes gibberish.",
        "Everything was turned but the head.",
        "spcl/QuaRot#1", "head-not-turned", {"turn": 8, "gains": 1},
    ),
    Incident(
        2, "An alarm: the norms of all converted files are said to be corrupted. They do differ.",
        "Gains that moved into the next matrices look corrupted, and are not: here nothing is wrong. The report was "
        "closed; nobody had a tool to settle it.",
        "ggml-org/llama.cpp#22565", "nothing", {"gains": 1, "scores": 1},
    ),
    Incident(
        3, "The converter turns the file there and back without a difference. Yet outputs point elsewhere.",
        "A square matrix was transposed, and transposed again on the way back: a round trip shows nothing.",
        "NVIDIA-NeMo/Megatron-Bridge#3743", "transposed-square", {"turn": 8, "gains": 1, "values": -8},
    ),
    Incident(
        3, "Training goes on, the loss falls, but what a draft model proposes is rarely accepted.",
        "Queries, keys and values were put together in one order, and taken apart in another one.",
        "NVIDIA-NeMo/RL#2802", "qkv-layout", {"gains": 1, "neurons": 5},
    ),
    Incident(
        3, "A recipe folds the gains and turns the stream. Small models with a shared embedding break.",
        "The last gain went into the head, and stayed in its norm as well. One of the two has it once too often: the "
        "picture shows the norm, and same names the head. Either answer is right.",
        "Tencent/AngelSlim#319", "gain-folded-twice", {"turn": 8, "gains": 1, "ups": -1},
    ),
    Incident(
        3, "Merged with its adapter, a model answers like its base. Nothing reports an error.",
        "The adapter of one matrix was not there when the others were merged.",
        "unslothai/unsloth#1267", "lora-unmerged", {"turn": -8, "gains": 1, "heads": 3, "neurons": 5, "ups": 1},
    ),
)  # fmt: skip
"""From easy to hard."""


BITS = 6
"""Values of functions that are no fractions are multiples of 2^-BITS on the page."""
SCORES, GATES, FAR = 4, 8, 64
"""Steps of one by which the arguments of the exponential and of the activation are rounded; the last step of a gate."""
TOKENS, MOST_NUMBERS, MOST_LINES = 4, 20_000, 6


@dataclass(frozen=True, eq=False)
class CalledModel(MadeCheckpoint):
    """A checkpoint in memory whose tensors are called as in a folder."""

    def called(self, piece: str) -> str:
        layer, _, name = piece.rpartition(".")
        return tensor_names(self.form)[name].replace("*", layer)


@cache
def small_model() -> CalledModel:
    """Return the model of the page: two layers, 12 tokens, weights that are multiples of 1/4, gains all different."""
    form = CheckpointForm(
        "qwen2", layers=2, width=8, heads=4, groups=2, head_width=8, inner=8, vocabulary=12, context=8, norm="rms",
        epsilon=Fraction(1, 100_000), theta=Fraction(10_000), activation="silu", tied=False,
    )  # fmt: skip
    random, pieces, family = np.random.default_rng(5), table(form), FAMILIES["qwen2"]

    def drawn(name: str, piece: CheckpointPiece) -> object:
        gain = random.permutation(np.arange(1, 9) / 4)
        return gain if name.endswith("gain") else random.integers(-4, 5, size=piece.shape) / 4

    def numbers(kind: type[P], found: Mapping[str, CheckpointPiece]) -> P:
        there = {name: drawn(name, piece) for name, piece in found.items() if name in parts}
        return kind(**dict.fromkeys(each.name for each in fields(kind) if each.name not in there) | there)

    parts = family.parts(form, family.biases) | {*pieces.ends}
    blocks = tuple(numbers(Block, pieces.layer) for _ in range(form.layers))
    return CalledModel(form, numbers(Ends, pieces.ends), blocks, "yours", "F32")


@cache
def playground() -> dict[str, object]:
    """Return what the page knows of its own model."""
    return _data(small_model(), incidents=True)


def playground_of(checkpoint: Checkpoint) -> dict[str, object]:
    """Return what the page knows of a person's model.

    Raises:
        BadInput: the page cannot show a model of this form.
        TooLarge: it has too many numbers.
    """
    form = checkpoint.form
    _require(form)
    untied = apply(Symmetry(tuple(LayerSymmetry() for _ in range(form.layers)), tied=False), checkpoint)
    blocks = tuple(untied.block(layer) for layer in range(form.layers))
    return _data(CalledModel(untied.form, untied.ends(), blocks, checkpoint.name, "F64"), incidents=False)


def _require(form: CheckpointForm) -> None:
    """Refuse what the page does not draw, by the name of what is in the way."""
    plain = {"family", "layers", "width", "heads", "groups", "head_width", "inner", "vocabulary", "context", "epsilon"}
    for each in fields(form):
        given = getattr(form, each.name)
        wanted = {"norm": "rms", "activation": "silu", "gated": given if given is not False else None}.get(each.name)
        if each.name in plain | {"theta", "tied"} or given == wanted:
            continue
        raise BadInput(f"the page takes a model with {each.name} {wanted or 'left out'}, got {given}")
    if form.theta is None or form.width % 2 or form.head_width % 2:
        raise BadInput("the page takes a model with rotary positions and even widths")
    if form.context < TOKENS:
        raise BadInput(f"the page takes a model of at least {TOKENS} tokens, got {form.context}")
    pieces = table(form)
    count = sum(int(np.prod(piece.shape)) for piece in pieces.layer.values()) * form.layers
    count += sum(int(np.prod(piece.shape)) for piece in pieces.ends.values())
    if count > MOST_NUMBERS:
        raise TooLarge(f"the page takes a model of at most {MOST_NUMBERS:,} numbers, got {count:,}")


def _data(model: CalledModel, *, incidents: bool) -> dict[str, object]:
    faults = faults_of(model)
    return {
        "name": model.name,
        "form": {name: getattr(model.form, name) for name in SIZES} | {"epsilon": str(model.form.epsilon)},
        "pieces": list(_pieces(model)),
        "tensors": dict(_tensors(model)),
        "functions": _functions(model.form),
        "prompts": [[(start + 5 * place) % model.form.vocabulary for place in range(TOKENS)] for start in (1, 3, 4, 7)],
        "rest": at_rest(model.form),
        "faults": [{**each.data(), "printed": _printed(model, each, each.settings(model))} for each in faults.values()],
        "incidents": [_incident(model, faults[each.fault], each) for each in (INCIDENTS if incidents else ())],
    }


def _incident(model: CalledModel, fault: Fault, incident: Incident) -> dict[str, object]:
    """Return an exercise, with its settings and what `same` prints of it."""
    settings = incident_settings(model, incident)
    return {**incident.data(), "settings": settings, "printed": _printed(model, fault, settings)}


def incident_settings(model: MadeCheckpoint, incident: Incident) -> dict[str, object]:
    """Return the settings of an exercise, of every move."""
    layers = model.form.layers
    return at_rest(model.form) | {
        name: [how] * layers if name in OF_LAYERS else how for name, how in incident.moves.items()
    }


SIZES = ("layers", "width", "heads", "groups", "head_width", "inner", "vocabulary")


def _pieces(model: CalledModel) -> Iterator[dict[str, object]]:
    """Yield every piece in the order in which a forward pass meets it, with its axes and what moves it."""
    pieces, names = table(model.form), tensor_names(model.form)
    does: dict[str, list[str]] = {}
    for rule in symmetry_table(model).rules:
        for touched in rule.touched:
            does.setdefault(touched.piece, []).append(f"{rule.space}: {touched.does}")
    there = {name for name, _ in (*model.ends().present(), *model.block(0).present())}
    ends = [(None, name, piece) for name, piece in pieces.ends.items() if name in there]
    inner = [
        (layer, name, piece)
        for layer in range(model.form.layers)
        for name, piece in pieces.layer.items()
        if name in there
    ]
    for layer, name, piece in (ends[0], *inner, *ends[1:]):
        full = name if layer is None else f"{layer}.{name}"
        yield {
            "name": full,
            "layer": layer,
            "tensor": names[name].replace("*", str(layer)),
            "rows": [_axis(piece, place) for place in piece.rows],
            "columns": [_axis(piece, place) for place in piece.columns],
            "reads": piece.norm or ("final" if name == "unembedding" else ""),
            "does": does.get(name, []),
        }


def _axis(piece: CheckpointPiece, place: int) -> dict[str, object]:
    axis = piece.axes[place]
    return {"kind": axis.space.kind, "size": axis.space.size, "up": axis.up, "sized": axis.sized}


def _tensors(model: CalledModel) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield every tensor by its piece, as a matrix; a vector is one row."""
    pieces = table(model.form)
    names = [name for name, _ in model.ends().present()]
    names += [f"{layer}.{name}" for layer in range(model.form.layers) for name, _ in model.block(layer).present()]
    for name in names:
        yield name, over_one(np.atleast_2d(pieces[name].as_matrix(array_of(model, name))))


def over_one(matrix: npt.NDArray[np.floating | np.object_]) -> dict[str, object]:
    """Return a matrix of exact numbers as integers, spelled out, over one denominator.

    Example:
        >>> over_one(np.array([[0.5, 0.25]]))
        {'bottom': '4', 'tops': [['2', '1']]}
    """
    numbers = [[Fraction(x) for x in row] for row in matrix]
    bottom = lcm(*(number.denominator for row in numbers for number in row))
    return {"bottom": str(bottom), "tops": [[str(int(x * bottom)) for x in row] for row in numbers]}


def _functions(form: CheckpointForm) -> dict[str, object]:
    """Return the functions that the page rounds, as tables of integers over 2^BITS."""
    one, half = 2**BITS, form.head_width // 2
    theta = float(form.theta or 1)
    angles = [[place * theta ** (-pair / half) for pair in range(half)] for place in range(TOKENS)]
    falls = [round(one * exp(-step / SCORES / sqrt(form.head_width))) for step in range(200 * SCORES)]
    return {
        "bits": BITS,
        "scores": SCORES,
        "falls": falls[: falls.index(0)] if 0 in falls else falls,
        "gates": GATES,
        "far": FAR,
        "silu": [round(one * step / GATES / (1 + exp(-step / GATES))) for step in range(-FAR, FAR + 1)],
        "cosines": [[round(one * float(np.cos(angle))) for angle in row] for row in angles],
        "sines": [[round(one * float(np.sin(angle))) for angle in row] for row in angles],
    }


def _printed(model: CalledModel, fault: Fault, settings: Settings) -> list[str]:
    """Return what `same` prints of the model against itself, moved and broken: the answer, and why."""
    found = same_checkpoints(model, replace(broken(model, fault, settings), name="theirs"))
    wanted = {"answer", "explained", "checked"} if found.explained else {"answer", "stream", "unexplained"}
    lines, label = list[str](), ""
    for name, said in found.lines():
        label = name or label
        if label in wanted or (found.symmetry is not None and label.startswith("layer")):
            lines.append(f"{name:<13}{said}")
    return lines[:MOST_LINES]
