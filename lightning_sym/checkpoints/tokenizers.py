"""Which token id of one tokenizer is which of another one, that is the same but for the order of its ids.

Read are files `tokenizer.json`, as the tokenizers library writes them. What is no id has to be equal in both: merges,
scores, normalizers, how tokens are added. Then a checkpoint whose rows are in the order of one of them is compared in
the order of the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lightning_sym.arguments import shown
from lightning_sym.checkpoints.bases import Places
from lightning_sym.checkpoints.edited import Edited
from lightning_sym.checkpoints.model import Checkpoint
from lightning_sym.checkpoints.pieces import table
from lightning_sym.checkpoints.understood import Walker, ends_of
from lightning_sym.display import Result
from lightning_sym.errors import BadInput

LARGEST = 2**28
"""Bytes of a file."""


@dataclass(frozen=True, eq=False, repr=False)
class IdOrder(Result):
    """Where the ids of one tokenizer stand in another one.

    Attributes:
        order: by id of the first, that of the second.

    Example:
        >>> import numpy as np
        >>> print(IdOrder(np.array([1, 0, 2])))
        ids         of the second are read in the order of the first: 2 of 3 stand elsewhere, by the tokenizers
    """

    order: Places

    @property
    def moved(self) -> int:
        """How many ids are others."""
        return int((self.order != np.arange(len(self.order))).sum())

    _sentences = (
        (
            "ids",
            lambda ids: (
                f"of the second are read in the order of the first: {ids.moved} of {len(ids.order)} stand "
                "elsewhere, by the tokenizers"
            ),
        ),
    )

    def _latex(self) -> str:
        return str(self.moved)

    def read(self, second: Checkpoint) -> Checkpoint:
        """Return the second checkpoint with its rows of token ids in the order of the first."""
        ends, pieces = ends_of(second, Walker.COMPARISON), table(second.form).ends
        rows = {name for name, piece in pieces.items() if piece.axes[0].space.kind == "token ids"}
        moved = {name: array[self.order] for name, array in ends.present() if name in rows}
        return Edited.with_ends(second, ends.having(moved)) if self.moved else second


def id_order(first: str | Path, second: str | Path, count: int) -> IdOrder:
    """Return which id of the second tokenizer is which of the first.

    Args:
        first, second: files `tokenizer.json`.
        count: token ids of both checkpoints; those without a token keep their order.

    Raises:
        BadInput: a file is no tokenizer, or the two differ in more than the order of their ids.
    """
    sides = [_read(path) for path in (first, second)]
    tokens = [_tokens(document, path, count) for document, path in zip(sides, (first, second), strict=True)]
    if alone := min(tokens[0].keys() ^ tokens[1].keys(), default=None):
        raise BadInput(f"both tokenizers must have the same tokens, one of them lacks {shown(alone)}")
    plain = [_without_ids(document, by) for document, by in zip(sides, tokens, strict=True)]
    for key in sorted(plain[0].keys() | plain[1].keys()):
        if plain[0].get(key) != plain[1].get(key):
            raise BadInput(f"both tokenizers must be one but for the order of their ids, they differ in {key}")
    order = np.full(count, -1)
    order[[tokens[0][token] for token in tokens[0]]] = [tokens[1][token] for token in tokens[0]]
    order[order < 0] = np.setdiff1d(np.arange(count), order)
    return IdOrder(order)


def _read(path: str | Path) -> Mapping[str, Any]:
    """Return the document of a tokenizer."""
    try:
        if Path(path).stat().st_size > LARGEST:
            raise BadInput(f"{path}: a tokenizer must have at most {LARGEST} bytes")
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: it must be a tokenizer.json that can be read, {type(error).__name__}") from error
    vocabulary = document.get("model") if isinstance(document, dict) else None
    if not isinstance(vocabulary, dict) or not isinstance(vocabulary.get("vocab"), dict | list):
        raise BadInput(f"{path}: a tokenizer must have a model with a vocab")
    return dict(document)


def _tokens(document: Mapping[str, Any], path: str | Path, count: int) -> dict[str, int]:
    """Return the id of each token; a list has them in the order of their ids."""
    vocabulary = document["model"]["vocab"]
    try:
        if isinstance(vocabulary, list):
            vocabulary = {token: place for place, (token, _) in enumerate(vocabulary)}
        found = {**vocabulary, **{each["content"]: each["id"] for each in document.get("added_tokens") or ()}}
    except (TypeError, KeyError, ValueError) as error:
        raise BadInput(f"{path}: tokens must stand with their ids") from error
    if not all(isinstance(token, str) and type(place) is int for token, place in found.items()):
        raise BadInput(f"{path}: tokens must stand with their ids")
    wrong = [place for place in found.values() if not 0 <= place < count]
    if wrong or len({*found.values()}) != len(found):
        said = f"got {wrong[0]}" if wrong else "and two have the same"
        raise BadInput(f"{path}: each token must have an id of its own below {count}, {said}")
    return found


IDS = ("id", "ids", "unk_id", "pad_id")
"""Keys whose numbers are ids."""


def _without_ids(document: Mapping[str, Any], tokens: Mapping[str, int]) -> dict[str, Any]:
    """Return the parts of a tokenizer with tokens in place of their ids, the vocabulary in no order."""
    names = {place: token for token, place in tokens.items()}

    def named(value: Any) -> Any:
        return [named(each) for each in value] if isinstance(value, list) else names.get(value, value)

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: named(each) if key in IDS else plain(each) for key, each in value.items()}
        return [plain(each) for each in value] if isinstance(value, list) else value

    made = {key: plain(each) for key, each in document.items() if key not in ("model", "added_tokens")}
    vocabulary = document["model"]["vocab"]
    told: Any = sorted(vocabulary) if isinstance(vocabulary, dict) else sorted(map(tuple, vocabulary))
    added = sorted((plain(each) for each in document.get("added_tokens") or ()), key=lambda each: str(each["content"]))
    model = plain({key: each for key, each in document["model"].items() if key != "vocab"})
    return {**made, **{f"model.{key}": each for key, each in model.items()}, "vocab": told, "added_tokens": added}
