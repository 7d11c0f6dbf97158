"""The layouts: how the same pieces are named, stacked, transposed and ordered by different programs. One row each.

A layout takes the pieces of a family by their names in the table of pieces. Those of `hf` and `gguf` are the family's
own; `fused` ones follow from them; the others have one table of names for all families that declare them
(`ModelFamily.also`). A piece without a name in a layout is refused by that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from lightning_sym.checkpoints.layout import Layout, ModelFamily, Place
from lightning_sym.errors import BadInput

Names = Mapping[str, str]
"""By piece, the tensor, `{}` for the layer."""


class Files(Enum):
    """The files that a layout lies in."""

    FOLDER = "`config.json` and safetensors, or torch files"
    META = "`params.json` and `consolidated.*.pth`"
    GGUF = "one GGUF file"


@dataclass(frozen=True)
class LayoutRow:
    """A layout.

    Attributes:
        name: as it is typed.
        files: what it lies in.
        spellings: of a family, the places of its pieces; the first ones are written, each is understood.
        said: what is particular to it, in words.
        program: what safetensors files of it say that they are for.
    """

    name: str
    files: Files
    spellings: Callable[[ModelFamily], tuple[Layout, ...]]
    said: str
    program: str = "pt"

    def spellings_for(self, family: ModelFamily) -> tuple[Layout, ...]:
        """Return the spellings for a family.

        Raises:
            BadInput: there are none.
        """
        found = self.spellings(family)
        if not found:
            known = ", ".join(name for name, row in LAYOUTS.items() if row.spellings(family))
            raise BadInput(f"{family.model_type} must have names in the layout, got {self.name}; it has {known}")
        return found


STACKED = {"q_proj": "qkv_proj", "k_proj": "qkv_proj", "v_proj": "qkv_proj"}
"""What the fused names have in place of the separate ones."""
GATED = {"gate_proj": "gate_up_proj", "up_proj": "gate_up_proj"}


def _fused(*names: Names, by_group: bool) -> Callable[[ModelFamily], tuple[Layout, ...]]:
    """Return the names in folders with some of them fused, in each of these ways."""

    def spellings(family: ModelFamily) -> tuple[Layout, ...]:
        def change(fused: Names) -> Callable[[str, Place], Place]:
            def changed(_: str, place: Place) -> Place:
                before, _, end = place.tensor.rpartition(".")
                start, dot, word = before.rpartition(".")
                if word not in fused or "*" in start or place.behind:  # experts, and latents, keep matrices apart
                    return place
                together = by_group and word in STACKED
                return replace(place, tensor=f"{start}{dot}{fused[word]}.{end}", by_group=together)

            return changed

        if by_group and family.layout.block["query"].behind:
            return ()
        found = tuple(family.layout.changed(change(fused)) for fused in names)
        return tuple(layout for layout in found if layout != family.layout)

    return spellings


def _table(name: str, *tables: tuple[Names, Names], **places: Place) -> Callable[[ModelFamily], tuple[Layout, ...]]:
    """Return the layouts of tables of names, for families that declare them; `places` are those of pieces by name."""
    found = tuple(
        Layout(
            {piece: Place(tensor) for piece, tensor in ends.items()},
            {
                piece: replace(places.get(piece.removesuffix("_bias"), Place("")), tensor=tensor)
                for piece, tensor in block.items()
            },
        )
        for ends, block in tables
    )
    return lambda family: found if name in family.also else ()


# ---- the tables of names

_META = (
    {"embedding": "tok_embeddings.weight", "final_gain": "norm.weight", "unembedding": "output.weight"},
    {
        "norm1_gain": "layers.{}.attention_norm.weight", "query": "layers.{}.attention.wq.weight",
        "key": "layers.{}.attention.wk.weight", "value": "layers.{}.attention.wv.weight",
        "output": "layers.{}.attention.wo.weight", "norm2_gain": "layers.{}.ffn_norm.weight",
        "gate": "layers.{}.feed_forward.w1.weight", "up": "layers.{}.feed_forward.w3.weight",
        "down": "layers.{}.feed_forward.w2.weight",
    },
)  # fmt: skip
_MIXED = Place("", interleaved=True)


def _megatron(layer: str, names: Names, norms: tuple[str, str]) -> Names:
    """Return by piece the name of its tensor: maps have weights and biases, norms are named apart."""
    found = {
        f"{norm}_{part}": f"{layer}.{called}{end}"
        for norm, called in zip(("norm1", "norm2"), norms, strict=True)
        for part, end in (("gain", "weight"), ("bias", "bias"))
    }
    for piece, called in names.items():
        found |= {piece: f"{layer}.{called}.weight", f"{piece}_bias": f"{layer}.{called}.bias"}
    return found


_CORE_ENDS = {
    "embedding": "embedding.word_embeddings.weight", "positions": "embedding.position_embeddings.weight",
    "final_gain": "decoder.final_layernorm.weight", "final_bias": "decoder.final_layernorm.bias",
    "unembedding": "output_layer.weight",
}  # fmt: skip
_CORE = {
    "query": "self_attention.linear_qkv", "key": "self_attention.linear_qkv", "value": "self_attention.linear_qkv",
    "output": "self_attention.linear_proj", "gate": "mlp.linear_fc1", "up": "mlp.linear_fc1", "down": "mlp.linear_fc2",
}  # fmt: skip
_CORE_NORMS = (
    ("self_attention.linear_qkv.layer_norm_", "mlp.linear_fc1.layer_norm_"),
    ("input_layernorm.", "pre_mlp_layernorm."),
)


def _legacy_ends(norm: str) -> Names:
    """Return the ends of the legacy layout; both of its words for a norm are in use."""
    return {
        "embedding": "language_model.embedding.word_embeddings.weight",
        "positions": "language_model.embedding.position_embeddings.weight",
        "final_gain": f"language_model.encoder.{norm}.weight",
        "final_bias": f"language_model.encoder.{norm}.bias",
        "unembedding": "language_model.output_layer.weight",
    }


_LEGACY = {
    "query": "self_attention.query_key_value", "key": "self_attention.query_key_value",
    "value": "self_attention.query_key_value", "output": "self_attention.dense", "gate": "mlp.dense_h_to_4h",
    "up": "mlp.dense_h_to_4h", "down": "mlp.dense_4h_to_h",
}  # fmt: skip
_LEGACY_NORMS = (("input_norm.", "post_attention_norm."), ("input_layernorm.", "post_attention_layernorm."))
_GROUPED = Place("", by_group=True)


def _mlx(family: ModelFamily) -> tuple[Layout, ...]:
    """Return the names in folders, under `model.`, and no matrix stored as (in, out)."""

    def changed(_: str, place: Place) -> Place:
        tensor = place.tensor
        if family.prefix and tensor.startswith(family.prefix):
            tensor = "model." + tensor.removeprefix(family.prefix)
        return replace(place, tensor=tensor, turned=False)

    return (family.layout.changed(changed),) if "mlx" in family.also else ()


_ROWS = (
    LayoutRow("hf", Files.FOLDER, ModelFamily.own_layouts, "the names of the `transformers` library"),
    LayoutRow(
        "fused",
        Files.FOLDER,
        _fused(STACKED | GATED, STACKED, GATED, by_group=False),
        "`qkv_proj`: queries, keys, values; `gate_up_proj`: gate, up; else as `hf`",
    ),
    LayoutRow(
        "fused-by-group",
        Files.FOLDER,
        _fused(dict.fromkeys(STACKED, "query_key_value") | GATED,
               dict.fromkeys(STACKED, "query_key_value"), STACKED | GATED, STACKED, by_group=True),
        "`query_key_value`: queries, key and value of the first group, then of the next; `gate_up_proj`; else as `hf`",
    ),
    LayoutRow(
        "mlx", Files.FOLDER, _mlx, "as `hf`; of GPT-2 under `model.`, and weights stored as (out, in)", program="mlx"
    ),
    LayoutRow(
        "megatron",
        Files.FOLDER,
        _table(
            "megatron",
            *((_CORE_ENDS, _megatron("decoder.layers.{}", _CORE, norms)) for norms in _CORE_NORMS),
            query=_GROUPED, key=_GROUPED, value=_GROUPED,
        ),
        "Megatron core: `linear_qkv` group by group, `linear_fc1`: gate, up",
    ),
    LayoutRow(
        "megatron-legacy",
        Files.FOLDER,
        _table(
            "megatron-legacy",
            *(
                (_legacy_ends(end), _megatron("language_model.encoder.layers.{}", _LEGACY, norms))
                for end, norms in zip(("final_norm", "final_layernorm"), _LEGACY_NORMS, strict=True)
            ),
            query=_GROUPED, key=_GROUPED, value=_GROUPED,
        ),
        "Megatron before its core: `query_key_value` group by group, `dense_h_to_4h`: gate, up",
    ),
    LayoutRow(
        "meta",
        Files.META,
        _table("meta", _META, query=_MIXED, key=_MIXED),
        "Meta's names; rows of queries and keys interleaved",
    ),
    LayoutRow(
        "gguf",
        Files.GGUF,
        lambda family: () if family.gguf_layout is None else (family.gguf_layout,),
        "llama.cpp's names; of its `llama` rows of queries and keys interleaved",
    ),
)  # fmt: skip
LAYOUTS: dict[str, LayoutRow] = {row.name: row for row in _ROWS}


def layout_row(name: str) -> LayoutRow:
    """Return the layout of a name.

    Raises:
        BadInput: there is none.

    Example:
        >>> layout_row("meta").files
        <Files.META: '`params.json` and `consolidated.*.pth`'>
    """
    if name not in LAYOUTS:
        raise BadInput(f"the layout must be one of {', '.join(LAYOUTS)}, got {name}")
    return LAYOUTS[name]
