"""Twelve incidents of public trackers as exercises: a model that talks nonsense, and the question which tensor it is.

What happened is as the threads say; the model is the small one of the playground.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


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
    moves: Mapping[str, Any] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
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
