r"""`lightning-sym dimension --config`: the shape of a real model, far too large for a rank.

The model is $X \mapsto U (\text{layers})(E X)$: embedding $n \to d$, `l` residual layers of `h` softmax heads with
query/key and value width `a`, unembedding $d \to n$; inputs are all real matrices with `n` rows. With
$\alpha = \min(a, d)$ and $n \ge d$ the formula is $d (2n - d) + 2 l h \alpha (2d - \alpha)$.

That it is an upper bound is a theorem: the function depends on `E`, `U` and the products $K^\top Q$, $O V$ alone, which
are $d \times d$ of rank at most $\alpha$, a variety of dimension $2nd + 2 l h \alpha (2d - \alpha)$; changes of basis
of the residual stream act on it without changing the function, and where `E` has rank `d` only the identity fixes
`E`, so orbits have dimension $d^2$. That the bound is reached is not proved; it is certified on small networks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lightning_cli import exit_codes, options

if TYPE_CHECKING:
    from lightning_sym.dimension.certify import CertifiedDimension
    from lightning_sym.network.architecture import Architecture

SCHEMA = "lightning-sym/config/1"
LARGEST_FILE = 4 * 2**20
LARGEST_SIZE = 10**9

# the names that families of models have for the same size
SIZES = {
    "hidden size": ("hidden_size", "n_embd", "d_model"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "vocabulary": ("vocab_size", "d_vocab"),
    "head width": ("head_dim", "d_head"),
}
CAUSAL = ("is_decoder", "causal", "is_causal")

# what `--attention-only` leaves out; a key stands for its part unless its value says that the part is absent
PARTS = {
    "MLP": (
        "intermediate_size", "n_inner", "d_ff", "d_mlp", "ffn_dim", "ffn_hidden_size", "mlp_ratio", "hidden_act",
        "hidden_activation", "activation_function", "act_fn", "mlp_bias", "num_local_experts", "num_experts",
        "num_experts_per_tok", "moe_intermediate_size",
    ),
    "layer norm": (
        "layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "rms_norm_eps", "norm_eps", "norm_epsilon",
        "use_qk_norm", "qk_layernorm", "normalization_type",
    ),
    "rotary positions": (
        "rope_theta", "rope_scaling", "rope_parameters", "rotary_dim", "rotary_pct", "rotary_emb_base",
        "partial_rotary_factor",
    ),
    "positions": (
        "max_position_embeddings", "n_positions", "n_ctx", "position_embedding_type", "type_vocab_size", "alibi",
        "relative_attention_num_buckets",
    ),
    "biases": ("attention_bias", "bias", "use_bias", "qkv_bias", "attn_bias"),
    "windows and caps on attention": ("sliding_window", "attn_logit_softcapping", "final_logit_softcapping"),
}  # fmt: skip
NULL_MEANS_PRESENT = {"n_inner"}  # four times the width
SHARED_KEYS = ("num_key_value_heads", "num_kv_heads", "n_kv_heads")

# another network altogether: nothing is left when it is left out
OTHER_MODELS = (
    "is_encoder_decoder", "add_cross_attention", "kv_lora_rank", "q_lora_rank", "embedding_size", "text_config",
)  # fmt: skip

# says nothing about the function, or only about training
HARMLESS = {
    "model_type", "architectures", "transformers_version", "torch_dtype", "dtype", "use_cache", "initializer_range",
    "_name_or_path", "name_or_path", "bos_token_id", "eos_token_id", "pad_token_id", "attention_dropout",
    "hidden_dropout_prob", "attention_probs_dropout_prob", "attn_pdrop", "embd_pdrop", "resid_pdrop", "dropout",
    "gradient_checkpointing", "output_attentions", "output_hidden_states", "return_dict", "pretraining_tp",
    "task_specific_params", "scale_attn_weights", "summary_activation", "summary_first_dropout",
    "summary_proj_to_labels", "summary_type", "summary_use_proj", "seed",
}  # fmt: skip


@dataclass(frozen=True)
class Model:
    """What of a config enters the count.

    Attributes:
        width: `d`.
        heads: `h`.
        layers: `l`.
        vocabulary: `n`.
        head_width: `a`, of queries, keys and values.
        causal: whether tokens see the past only; `None` where the config does not say.
        left_out: by part, the keys that named it.
    """

    width: int
    heads: int
    layers: int
    vocabulary: int
    head_width: int
    causal: bool | None
    left_out: dict[str, list[str]]

    @property
    def parameters(self) -> int:
        """Entries of `E`, `U` and of all `Q`, `K`, `V`, `O`."""
        return 2 * self.vocabulary * self.width + 4 * self.layers * self.heads * self.head_width * self.width

    @property
    def formula(self) -> int:
        """An upper bound of the dimension; see above."""
        return transformer_formula(self.vocabulary, self.width, self.layers, self.heads, self.head_width)


def transformer_formula(n: int, d: int, layers: int, heads: int, a: int) -> int:
    """The formula for query/key and value width `a`, for `n >= d`.

    Example:
        >>> transformer_formula(4, 3, 2, 2, 1)
        55
    """
    alpha = min(a, d)
    return d * (2 * n - d) + 2 * layers * heads * alpha * (2 * d - alpha)


def _refuse(text: str) -> NoReturn:
    from lightning_sym.errors import FileFormatError

    raise FileFormatError(text)


def _integer(text: str) -> int:
    if len(text) > 18:
        _refuse(f"config numbers must be below 10^18, got {text[:20]}...")
    return int(text)


def _constant(text: str) -> NoReturn:
    _refuse(f"config numbers must be finite, got {text}")


def _finite(text: str) -> float:
    if not isfinite(value := float(text)):
        _refuse(f"config numbers must be finite, got {text[:20]}")
    return value


def _shown(keys: list[str]) -> list[str]:
    """Keys fit to be printed, whatever the file calls them, and not too many."""
    more = [f"and {len(keys) - 12} more"] if len(keys) > 12 else []
    return [ascii(key[:40])[1:-1] for key in keys[:12]] + more


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            _refuse(f"config keys must not repeat, got {key[:40]!a} twice")
        seen[key] = value
    return seen


def read(file: str) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        BadInput: not readable, larger than 4 MiB, or not one JSON object with unique keys and finite numbers.
    """
    from lightning_sym.errors import BadInput

    try:
        path = Path(file)
        if not path.is_file():
            _refuse(f"--config must be a readable file, got {file!r}")
        if path.stat().st_size > LARGEST_FILE:
            _refuse(f"{file} must be at most {LARGEST_FILE >> 20} MiB, got {path.stat().st_size >> 20} MiB")
        text = path.read_text(encoding="utf-8")
        document = json.loads(
            text, object_pairs_hook=_unique, parse_int=_integer, parse_float=_finite, parse_constant=_constant
        )
    except BadInput:
        raise
    except OSError as error:
        raise BadInput(f"--config must be a readable file: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file} must be JSON: {str(error)[:200] or type(error).__name__}") from error
    if not isinstance(document, dict):
        _refuse(f"{file} must hold one JSON object")
    return document


def _size(config: dict[str, Any], name: str) -> int | None:
    found: dict[str, int] = {}
    for key in SIZES[name]:
        value = config.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST_SIZE:
            _refuse(f"{key} must be an integer between 1 and {LARGEST_SIZE:,}, got {str(value)[:40]!a}")
        found[key] = value
    if len(set(found.values())) > 1:
        _refuse(f"the {name} must be named once, got {', '.join(f'{k} = {v}' for k, v in found.items())}")
    return next(iter(found.values()), None)


def _is_there(key: str, value: Any) -> bool:
    if value is None:
        return key in NULL_MEANS_PRESENT
    return bool(value)  # false, zero and the empty list say that it is absent


def _causal(config: dict[str, Any]) -> bool | None:
    said: set[bool] = set()
    for key in CAUSAL:
        value = config.get(key)
        if value is not None and not isinstance(value, bool):
            _refuse(f"{key} must be true or false, got {str(value)[:40]!a}")
        if value is not None:
            said.add(value)
    if len(said) > 1:
        _refuse(f"{', '.join(key for key in CAUSAL if key in config)} must agree")
    names = config.get("architectures")
    if not said and isinstance(names, list):
        said |= {True for name in names if str(name).endswith(("ForCausalLM", "LMHeadModel"))}
    return said.pop() if said else None


def _left_out(config: dict[str, Any], heads: int) -> dict[str, list[str]]:
    """By part, the keys that name something besides plain attention."""
    result: dict[str, list[str]] = {}
    known = {key for keys in SIZES.values() for key in keys} | set(CAUSAL) | HARMLESS | set(OTHER_MODELS)
    for part, keys in PARTS.items():
        known |= set(keys)
        if there := [key for key in keys if key in config and _is_there(key, config[key])]:
            result[part] = there
    grouped = [key for key in SHARED_KEYS if config.get(key) is not None and config[key] != heads]
    grouped += ["multi_query"] if config.get("multi_query") else []
    if grouped:
        result["grouped queries: every head is counted with its own keys and values"] = grouped
    if config.get("tie_word_embeddings"):
        result["tied embeddings: counted as two matrices"] = ["tie_word_embeddings"]
    known |= {*SHARED_KEYS, "multi_query", "tie_word_embeddings"}
    if unknown := sorted(set(config) - known):
        result["keys not understood"] = unknown
    return {part: _shown(keys) for part, keys in result.items()}


def model_of(config: dict[str, Any], *, attention_only: bool) -> Model:
    """The shape a config names.

    Raises:
        BadInput: a size is missing or no size; or parts besides attention are named and not to be left out.

    Example:
        >>> sizes = {"n_embd": 4, "n_head": 2, "n_layer": 3, "vocab_size": 9}
        >>> model_of(sizes, attention_only=False).head_width
        2
    """
    sizes = {name: _size(config, name) for name in SIZES}
    if missing := [
        f"{name} ({' or '.join(SIZES[name])})" for name in SIZES if not sizes[name] and name != "head width"
    ]:
        _refuse(f"the config must name the {'; '.join(missing)}")
    d, heads, layers, n, a = (sizes[name] or 0 for name in SIZES)
    if other := [key for key in OTHER_MODELS if config.get(key)]:
        _refuse(
            f"this must be embedding, residual layers of attention, unembedding; the config says {', '.join(other)}"
        )
    left_out = _left_out(config, heads)
    if left_out and not attention_only:
        # the part's name without its remark
        shown = "; ".join(f"{part.partition(':')[0]} ({', '.join(keys)})" for part, keys in left_out.items())
        _refuse(f"only attention is counted, and the config names {shown}; --attention-only leaves these out")
    if a == 0 and d % heads:
        _refuse(f"the hidden size must be divisible by the heads where no head_dim is given, got {d} and {heads}")
    if n < d:
        _refuse(f"the vocabulary must reach the hidden size for the formula, got {n} and {d}")
    return Model(d, heads, layers, n, a or d // heads, _causal(config), left_out)


def small_networks(model: Model) -> list[Architecture]:
    """Two networks of the same pattern, small enough to be certified.

    At most two heads and layers; the widths of all heads together stay equal to, below or above the hidden size, as
    in the model. Where the model does not name its mask, one network has it and the other not.

    Example:
        >>> [str(n) for n in small_networks(Model(768, 12, 12, 50257, 64, True, {}))][0]
        'widths 2,2,2, ranks 1,1, tokens 2, softmax, heads 2, value ranks 1,1, skip, causal, embed 3, unembed 3'
    """
    from lightning_sym.network.architecture import Architecture
    from lightning_sym.rings.normalization import SOFTMAX

    d, a = model.width, model.head_width
    heads, layers = min(model.heads, 2), min(model.layers, 2)
    result = []
    for number, scale in enumerate((1, 2)):
        if a * model.heads == d:
            small_d, small_a = heads * scale, scale
        elif a == d:
            small_d = small_a = min(d, 1 + scale)
        elif a > d:
            small_d, small_a = min(d, scale), min(d, scale) + 1
        elif a * model.heads > d:
            small_d, small_a = 1 + 2 * scale, 1 + scale
        else:
            small_d, small_a = heads * scale + 1, scale
        small_d, small_a = min(small_d, d), min(small_a, a)
        n = min(model.vocabulary, small_d + 1)
        causal = model.causal if model.causal is not None else number == 0
        result.append(
            Architecture(
                (small_d,) * (layers + 1), (small_a,) * layers, 2, SOFTMAX, heads, (small_a,) * layers,
                skip=True, causal=causal, embed=n, unembed=n,
            )
        )  # fmt: skip
    return list(dict.fromkeys(result))


def _formula_at(network: Architecture) -> int:
    n = network.input_width
    return transformer_formula(n, network.widths[0], network.depth, network.heads, network.attention_ranks[0])


def percent(part: int, whole: int) -> str:
    """`part / whole` in percent, two digits, cut and not rounded: a proper part never shows as 100.

    Example:
        >>> percent(999999, 1000000)
        '99.99'
    """
    hundredths = 10000 * part // whole
    return f"{hundredths // 100}.{hundredths % 100:02}"


def as_document(file: str, model: Model, results: list[CertifiedDimension]) -> dict[str, Any]:
    """The answer as JSON."""
    return {
        "schema": SCHEMA,
        "config": file,
        "model": {
            "hidden_size": model.width,
            "heads": model.heads,
            "layers": model.layers,
            "vocabulary": model.vocabulary,
            "head_width": model.head_width,
            "mask": {True: "causal", False: "none", None: None}[model.causal],
        },
        "parameters": model.parameters,
        "dimension": {"value": model.formula, "upper_bound": "theorem", "equality": "formula, not proved"},
        "fiber_dimension": {"value": model.parameters - model.formula, "lower_bound": "theorem"},
        "percent": percent(model.formula, model.parameters),
        "left_out": model.left_out,
        "certified": [
            {
                "architecture": options.architecture_json(result.architecture),
                "parameters": result.architecture.parameter_count,
                "dimension": result.value,
                "lower": result.lower,
                "upper": result.upper,
                "status": result.status.value,
                "formula": _formula_at(result.architecture),
                "agrees": None if result.value is None else result.value == _formula_at(result.architecture),
            }
            for result in results
        ],
    }


def _print(document: dict[str, Any], results: list[CertifiedDimension]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from lightning_cli.writing.output import console

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    model = document["model"]
    mask = {"causal": "causal", "none": "no mask", None: "mask not named (the count is the same)"}[model["mask"]]
    table.add_row(
        "model",
        f"embedding {model['vocabulary']:,} -> {model['hidden_size']:,}, {model['layers']:,} residual layers of "
        f"{model['heads']:,} softmax heads of width {model['head_width']:,}, an unembedding of its own, {mask}",
    )
    table.add_row("parameters", f"{document['parameters']:,}")
    table.add_row("dimension", f"{document['dimension']['value']:,}  {document['percent']} % of the parameters")
    table.add_row("generic fiber", f"dimension {document['fiber_dimension']['value']:,}")
    table.add_row("theorem", "the dimension is at most this number, the fiber at least this large")
    table.add_row(
        "not proved", "that the number is reached at this size: a formula, for real inputs, two or more tokens"
    )
    for result, entry in zip(results, document["certified"], strict=True):
        found = f"between {result.lower} and {result.upper}" if result.value is None else str(result.value)
        verdict = {True: "[green]agrees[/green]", False: "[red]differs[/red]", None: "[yellow]undecided[/yellow]"}
        said = f"{found} of {entry['parameters']}, formula {entry['formula']}: {verdict[entry['agrees']]}"
        table.add_row("certified" if result.value is not None else "undecided", f"{said}  ({result.architecture})")
    for part, keys in document["left_out"].items():
        table.add_row("left out", escape(f"{part} ({', '.join(keys)})"))
    console().print(table)


def run(file: str, *, attention_only: bool, seed: int, memory: int, as_json: bool) -> int:
    """Read, certify the small networks, print; the exit code."""
    model = model_of(read(file), attention_only=attention_only)

    from lightning_cli.writing.output import progress_bar, write_json
    from lightning_sym.dimension.certify import certified_dimension

    with progress_bar() as progress:
        results = [
            certified_dimension(network, seed=seed, memory=memory, progress=progress)
            for network in small_networks(model)
        ]
    document = as_document(file, model, results)
    if as_json:
        write_json(document)
    else:
        _print(document, results)
    codes = {True: exit_codes.AS_EXPECTED, False: exit_codes.NOT_AS_EXPECTED, None: exit_codes.UNDECIDED}
    return exit_codes.worst(codes[entry["agrees"]] for entry in document["certified"])
