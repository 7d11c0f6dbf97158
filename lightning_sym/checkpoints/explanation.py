"""What explains that two checkpoints differ: known mistakes of conversion tools, and that they were made here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from lightning_sym.checkpoints.identity import called_by
from lightning_sym.checkpoints.model import Checkpoint

Number = bool | int | float | str
Detail = Mapping[str, Number | Sequence[Number] | Mapping[str, Number]]
"""What there is to say of a mistake, by words."""

Checked = Literal["exactly", "rounding"]
"""How the second checkpoint follows from the first, a symmetry and the mistakes."""


@dataclass(frozen=True)
class Explained:
    """A known mistake that was made.

    Attributes:
        mistake: its identifier, such as `rotary-rows`.
        tensors: what the files call the tensors that it changed, `*` for the number of a layer; empty where it is a
            mistake of the configuration.
        layers: the layers in which it was made.
        detail: what else there is to say; `checked` is `exactly` or `rounding`.

    Example:
        >>> print(Explained("rotary-rows", ("model.layers.*.self_attn.q_proj.weight",), (0, 1), {"checked": "exactly"}))
        rotary-rows at model.layers.*.self_attn.q_proj.weight
    """

    mistake: str
    tensors: tuple[str, ...]
    layers: tuple[int, ...] = ()
    detail: Detail = field(default_factory=dict)

    def __str__(self) -> str:
        where = f" at {', '.join(self.tensors)}" if self.tensors else ""
        said = [_detail_in_words(name, value) for name, value in self.detail.items() if name not in ("checked", "note")]
        return f"{self.mistake}{where}" + (f" ({', '.join(said)})" if said else "")


def _detail_in_words(name: str, value: object) -> str:
    """Return a word of the detail with its value; blocks are told in front."""
    if name == "blocks":
        return f"{value} blocks"
    if isinstance(value, Mapping):
        return f"{name} " + " ".join(f"{key}: {each}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return f"{name} {' '.join(map(str, value))}"
    return f"{name.replace('_', ' ')} {value:.6g}" if isinstance(value, float) else f"{name.replace('_', ' ')} {value}"


def tensors_called(
    second: Checkpoint,
    first: Checkpoint,
    places: Iterable[tuple[int | None, str]],
    renamed: Mapping[int, int] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Return what the files of the second, or else of the first, call pieces, one name for several layers.

    Args:
        second, first: the checkpoints.
        places: the layer of each piece, `None` outside of them, and its name.
        renamed: what the files call layers, where that is another number.
    """
    by: dict[str, list[str]] = {}
    for layer, name in places:
        called = called_by(first, second, name if layer is None else f"{layer}.{name}")
        number = layer if layer is None else renamed.get(layer, layer)
        by.setdefault(_starred(called, number), []).append(called)
    return tuple(starred if len({*called}) > 1 else called[0] for starred, called in by.items())


def _starred(called: str, layer: int | None) -> str:
    """Return a name with a star in place of the number of its layer, which is a word of it.

    Example:
        >>> _starred("model.layers.3.mlp.up_proj.weight", 3)
        'model.layers.*.mlp.up_proj.weight'
    """
    words = called.split(".")
    if layer is not None and str(layer) in words:
        words[words.index(str(layer))] = "*"
    return ".".join(words)
