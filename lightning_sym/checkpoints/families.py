"""The families that are read; a further one is a file beside these, and a line here."""

from __future__ import annotations

from lightning_sym.checkpoints.gpt2 import GPT2
from lightning_sym.checkpoints.layout import ModelFamily
from lightning_sym.checkpoints.llama import LLAMA, MISTRAL
from lightning_sym.checkpoints.qwen2 import QWEN2

FAMILIES: dict[str, ModelFamily] = {family.model_type: family for family in (GPT2, LLAMA, MISTRAL, QWEN2)}
