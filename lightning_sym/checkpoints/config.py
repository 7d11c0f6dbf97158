"""The keys of a configuration: each is understood, known to be harmless, or refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, NoReturn

from lightning_sym.errors import FileFormatError
from lightning_sym.network.foreign_features import with_features
from lightning_sym.network.readers.exact_json import LARGEST_SIZE, named_size, said

Activation = Literal["gelu", "gelu_new", "silu", "relu"]

_LEAST, _MOST = Fraction(1, 10**300), Fraction(10**300)

ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu", "gelu_python": "gelu", "gelu_new": "gelu_new", "gelu_pytorch_tanh": "gelu_new", "silu": "silu",
    "swish": "silu",
}  # fmt: skip
"""The names of activations in configurations; `gelu_fast` has another constant."""
UNGATED: dict[str, Activation] = ACTIVATIONS | {"relu": "relu"}
"""Those of MLPs without a gate."""

HARMLESS = frozenset((
    # where it comes from
    "_name_or_path", "name_or_path", "_commit_hash", "architectures", "transformers_version", "model_type",
    "transformers.js_config", "is_llama_config", "tokenizer_class",
    # how it is computed, over the real numbers the same
    "torch_dtype", "dtype", "use_cache", "_attn_implementation", "attn_implementation", "pretraining_tp",
    "chunk_size_feed_forward", "reorder_and_upcast_attn", "_attn_implementation_autoset", "torchscript", "use_bfloat16",
    "cache_implementation",
    # training
    "initializer_range", "attention_dropout", "attn_pdrop", "embd_pdrop", "resid_pdrop", "gradient_checkpointing",
    "activation_dropout",
    # which ids are special, and how text is drawn from the logits
    "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id", "prefix", "max_length",
    "min_length", "do_sample", "early_stopping", "num_beams", "temperature", "top_k", "top_p", "repetition_penalty",
    "length_penalty", "no_repeat_ngram_size", "num_return_sequences", "task_specific_params", "bad_words_ids",
    "begin_suppress_tokens", "diversity_penalty", "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty",
    "forced_bos_token_id", "forced_eos_token_id", "num_beam_groups", "output_scores", "remove_invalid_values",
    "return_dict_in_generate", "suppress_tokens", "typical_p", "predict_special_tokens", "n_special",
    # what else is put out, or put on top for other tasks
    "output_attentions", "output_hidden_states", "return_dict", "output_past", "id2label", "label2id", "num_labels",
    "_num_labels", "problem_type", "finetuning_task", "summary_activation", "summary_first_dropout",
    "summary_proj_to_labels", "summary_type", "summary_use_proj",
))  # fmt: skip
"""Keys that say nothing about the function from token ids to logits."""


NULL_COUNTS = frozenset(("rope_interleave", "is_causal"))
"""Keys of which `null` means false, while their absence means true."""


def refuse(text: str) -> NoReturn:
    """Raise what is wrong with a file."""
    raise FileFormatError(text)


class Config:
    """The values of a configuration; those that were not asked for at the end are unknown.

    Args:
        values: by key, what JSON can say; decimals are `Fraction`. What is asked for is tested before it is used.
        where: what refusals begin with.
    """

    def __init__(self, values: Mapping[str, object], where: str = "") -> None:
        self._values, self._where = values, where
        self._asked: set[str] = set()

    def get(self, key: str, default: object = None) -> object:
        """Return the value of a key, `default` where it is absent, or `null` and not in `NULL_COUNTS`."""
        self._asked.add(key)
        value = self._values.get(key)
        return default if value is None and not (key in NULL_COUNTS and key in self._values) else value

    def inner(self, key: str) -> Config:
        """Return the values of an object, none where it is absent.

        Raises:
            FileFormatError: it is no object.
        """
        value = self.get(key, {})
        if not isinstance(value, dict):
            refuse(f"{self._where}{key} must be an object, got {said(value)}")
        return Config(value, f"{key}: ")

    def has(self, key: str) -> bool:
        """Return whether a key is there, be it as `null`."""
        return key in self._values

    def size(self, key: str, default: int | None = None, most: int = LARGEST_SIZE) -> int:
        """Return a positive integer up to `most`.

        Raises:
            FileFormatError: it is none, or absent and without a default.
        """
        return named_size(f"{self._where}{key}", self.get(key, default), most)

    def number(self, key: str, default: Fraction | None = None) -> Fraction:
        """Return a positive number that a float can be near, exactly.

        Raises:
            FileFormatError: it is none, or absent and without a default.
        """
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, Fraction)) or not _LEAST < value < _MOST:
            refuse(f"{self._where}{key} must be a number between 1e-300 and 1e300, got {said(value)}")
        return Fraction(value)

    def flag(self, key: str, *, default: bool) -> bool:
        """Return the value of a key, true or false.

        Raises:
            FileFormatError: it is neither.
        """
        value = self.get(key, default)
        if not isinstance(value, bool):
            refuse(f"{self._where}{key} must be true or false, got {said(value)}")
        return value

    def activation(self, key: str, default: str, known: Mapping[str, Activation] = ACTIVATIONS) -> Activation:
        """Return the activation of the MLP.

        Raises:
            FileFormatError: it is not one that is known.
        """
        value = self.get(key, default)
        if not isinstance(value, str) or value not in known:
            refuse(f"{self._where}{key} must be one of {', '.join(known)}, got {said(value)}")
        return known[value]

    def require(self, key: str, *allowed: object) -> None:
        """Refuse every value that would mean another function than that of the key's absence.

        Raises:
            FileFormatError: it has another one.
        """
        value = self.get(key, allowed[0])
        if not any(type(value) is type(each) and value == each for each in allowed):
            refuse(f"{self._where}{key} must be {' or '.join(map(said, allowed))} or absent, got {said(value)}")

    def finish(self) -> None:
        """Refuse, by name, what was not asked for and is not known to be harmless.

        Raises:
            FileFormatError: with the first such key.
        """
        for key, value in self._values.items():
            if key not in self._asked and key not in HARMLESS and (value is not None or key in NULL_COUNTS):
                more = with_features({key: value})
                refuse(
                    f"{self._where}every key of the configuration must be understood, got {said(key)} = {said(value)}"
                    f"{more}"
                )
