r"""Attention-only transformers of the size of real models, far too large for the rank of a Jacobian.

The model is $X \mapsto U (\text{layers})(E X)$: embedding $n \to d$, `l` residual layers of `h` softmax heads,
query/key width `a`, value width `b`, unembedding $d \to n$; inputs are all real matrices with `n` rows.

- $n \ge d$, two tokens or more: the dimension is that of `blocks.Transformer`, a theorem at every size (Proposition 18
  of `docs/transformers.md`; Corollary 6 of `docs/transformer-fibers.md`), and where ranks of the network's own matrices
  can be taken they prove it again for this size.
- $n < d$, three tokens or more: Theorem 12 of `docs/transformer-fibers.md`, if its inequality holds. Its number is an
  upper bound always, also for two tokens; a narrower network inside this one gives a lower bound (Proposition 19).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from lightning_sym.ask import FellShort, Need, TheoremRow, any_question, ask, paid_by_steps
from lightning_sym.dimension.blocks import BlockRanks, Layers, Transformer, certify, require_affordable
from lightning_sym.display import Result, bounds_in_words, latex_bounds, latex_words
from lightning_sym.errors import BadInput, ProgramError, TooLarge, no_truth_value, proved_to_be
from lightning_sym.limits import DEFAULT_MEMORY, Progress, Work
from lightning_sym.network.model_config import Model

MOST_WORK = 10**12
"""Multiplications of ranks beside a theorem that does not need them: a minute or two on two cores."""

MOST_NARROW_LAYERS = 10**6
"""So many layers are added up one by one where the vocabulary is smaller than the hidden size."""


def shape_of(model: Model) -> Transformer:
    """Return the shape that Proposition 18 is about.

    Raises:
        BadInput: the vocabulary is smaller than the hidden size.

    Example:
        >>> shape_of(Model(3, 2, 2, 4, 1, True, {})).dimension
        55
    """
    n, d = model.vocabulary, model.width
    if n < d:
        raise BadInput(f"the vocabulary must reach the hidden size for this, got {n} and {d}")
    layers = (Layers(model.layers, model.head_width, model.values),)
    return Transformer(d, layers, model.heads, model.groups, n, n, model.tied)


@dataclass(frozen=True)
class NarrowCount:
    """What Theorem 12 says of embeddings narrower than the stream.

    Attributes:
        value: its number, an upper bound always.
        left: of the inequality, `n + h (2 min(a, f) + min(b, n))`.
        right: of the inequality, `f`; the dimension is `value` if `left >= right` and there are three tokens or more.
    """

    value: int
    left: int
    right: int


def narrow_count(n: int, d: int, layers: int, heads: int, a: int, b: int) -> NarrowCount:
    """Return the count of Theorem 12 of `docs/transformer-fibers.md`, for `n < d`.

    Raises:
        BadInput: `n` is not smaller than `d`.
        TooLarge: there are more than `MOST_NARROW_LAYERS` layers.

    Example:
        >>> narrow_count(1, 5, 4, 1, 1, 4)
        NarrowCount(value=45, left=4, right=5)
    """
    if not n < d:
        raise BadInput(f"Theorem 12 is for embeddings narrower than the stream, got {n} and {d}")
    if layers > MOST_NARROW_LAYERS:
        raise TooLarge(f"there must be at most {MOST_NARROW_LAYERS:,} layers where n < d, got {layers:,}")
    written = [n]  # f_0, ..., f_(l-1)
    for _ in range(layers - 1):
        written.append(min(d, written[-1] + heads * min(b, written[-1])))
    f, last = written[-1], min(b, n)
    value = f * (2 * n - f) + heads * last * (f + n - last)
    for i, below in enumerate(written, start=1):
        alpha, beta = min(a, below), min(b, below)
        value += heads * alpha * (2 * below - alpha)
        value += heads * beta * (below + f - beta) if i < layers else 0
    return NarrowCount(value, n + heads * (2 * min(a, f) + last), f)


_FIBER = "dimension {:,}"
_UNTIED = "{1:,} of {0:,}, were embedding and unembedding two matrices"
_CERTIFIED = (
    "{0.lower:,}  by {0.matrices:,} full ranks modulo {0.prime} of matrices of this model's shape, and by the count of "
    "products from above"
)
_MASKS = {True: "causal", False: "no mask", None: "mask not named (the count is the same)"}


def _model_in_words(model: Model) -> str:
    width = f"{model.head_width:,}" + f", values of width {model.values:,}" * (model.values != model.head_width)
    shared = f", {model.groups:,} sets of keys and values for them" * (model.groups != model.heads)
    ends = "its transpose as unembedding" if model.tied else "an unembedding of its own"
    heads = f"{model.layers:,} residual layers of {model.heads:,} softmax heads of width {width}{shared}"
    return f"embedding {model.vocabulary:,} -> {model.width:,}, {heads}, {ends}, {_MASKS[model.causal]}"


@no_truth_value("result.value is not None")
@dataclass(frozen=True, eq=False, repr=False)
class ModelDimension(Result):
    """The dimension of a model's attention, or bounds.

    Attributes:
        model: what was read.
        lower, upper: bounds, by theorems.
        theorem: which.
        conditions: what makes it so, with this model's numbers.
        ranks: what proves the number again, by computation; `None` where this was not done.
        reason: why not.
        tried: theorems that were asked before in vain, each with the hypothesis that fails.
    """

    model: Model
    lower: int
    upper: int
    theorem: str
    conditions: tuple[str, ...]
    ranks: BlockRanks | None
    reason: str | None
    tried: tuple[FellShort, ...] = field(default=(), repr=False, compare=False)

    @property
    def value(self) -> int | None:
        """The dimension; `None` where the bounds differ."""
        return self.lower if self.lower == self.upper else None

    @property
    def untied(self) -> tuple[int, int] | None:
        """Parameters and dimension, were tied embedding and unembedding two matrices; `None` where they are two."""
        if not self.model.tied:
            return None
        model = replace(self.model, tied=False)
        return model.parameters, shape_of(model).dimension

    @property
    def percent(self) -> str:
        """The upper bound in percent of the parameters, cut and not rounded: a proper part never shows as 100."""
        hundredths = 10_000 * self.upper // self.model.parameters
        return f"{hundredths // 100}.{hundredths % 100:02}"

    _sentences = (
        ("model", lambda self: _model_in_words(self.model)),
        ("parameters", "{0.model.parameters:,}"),
        ("dimension", lambda self: bounds_in_words(self.lower, self.upper, f"{self.percent} % of the parameters")),
        (
            "generic fiber",
            lambda self: None if self.value is None else _FIBER.format(self.model.parameters - self.value),
        ),
        ("untied", lambda self: self.untied and _UNTIED.format(*self.untied)),
        ("theorem", "{0.theorem}"),
        ("because", lambda self: self.conditions),
        ("certified", lambda self: None if self.ranks is None else _CERTIFIED.format(self.ranks)),
        ("not computed", lambda self: self.reason if self.ranks is None else None),
        ("tried", lambda self: map(str, self.tried) if self.value is None else None),
        ("", lambda self: [("left out", f"{part} ({', '.join(keys)})") for part, keys in self.model.left_out.items()]),
    )

    def _latex(self) -> str:
        said = latex_bounds(r"\dim \mathcal{M}", self.lower, self.upper)
        return rf"{said} \quad {latex_words('(' + self.theorem + ')')}"


def model_dimension(
    model: Model, *, seed: int = 0, memory: int = DEFAULT_MEMORY, progress: Progress | None = None
) -> ModelDimension:
    """Return the dimension of a model's attention: by the theorem, and by ranks of its own matrices where these fit.

    Args:
        model: what was read from a config.
        seed: picks the point where ranks are taken; it never changes the number.
        memory: bytes that the matrices may take.
        progress: called as `progress(stage, done, total)`.

    Raises:
        BadInput: the vocabulary is smaller than the hidden size, and embeddings are tied or keys and values shared.
        TooLarge: more layers than can be added up, where the vocabulary is smaller than the hidden size.

    Example:
        >>> model_dimension(Model(3, 2, 2, 4, 1, True, {})).value
        55
    """
    found, tried = ask(_AskedModel(model, seed, memory, progress), MODELS, Work())
    return replace(proved_to_be(found, f"something must be known of {model}"), tried=tried)


@dataclass
class _AskedModel:
    """A model, and what ranks may take."""

    model: Model
    seed: int
    memory: int
    progress: Progress | None

    @cached_property
    def count(self) -> NarrowCount:
        """What Theorem 12 says, where the vocabulary is smaller than the hidden size.

        Raises:
            BadInput: embeddings are tied, or keys and values shared.
        """
        model = self.model
        n, d = model.vocabulary, model.width
        if model.tied or model.groups != model.heads:
            why = "tied embeddings" if model.tied else "shared keys and values"
            raise BadInput(
                f"the vocabulary must reach the hidden size, nothing is proved of {why} else, got {n} and {d}"
            )
        return narrow_count(n, d, model.layers, model.heads, model.head_width, model.values)

    def narrow(self, lower: int, theorem: str, reaches: str, *more: str) -> ModelDimension:
        """Return the bounds, where the vocabulary is smaller than the hidden size."""
        model, count = self.model, self.count
        sizes = f"the vocabulary, {model.vocabulary:,}, is smaller than the hidden size, {model.width:,}"
        compared = f"n + h (2 min(a, f) + min(b, n)) = {count.left:,} {reaches} f = {count.right:,}"
        conditions = f"{sizes}; softmax, skip connections, any mask", compared, *more
        reason = "ranks of single matrices prove nothing where the vocabulary is smaller than the hidden size"
        return ModelDimension(model, lower, count.value, theorem, conditions, None, reason)


def _wide(asked: _AskedModel) -> ModelDimension:
    """Return the number of Proposition 18, and ranks that prove it again where these fit."""
    model, ranks, reason = asked.model, None, None
    shape = shape_of(model)
    try:
        require_affordable(shape, asked.memory, MOST_WORK)
        ranks = certify(shape, seed=asked.seed, memory=asked.memory, progress=asked.progress)
    except TooLarge as error:
        reason = str(error)
    if ranks is not None and ranks.lower != shape.dimension:
        raise ProgramError(f"the ranks prove {ranks.lower}, the theorem says {shape.dimension}, for {shape}")
    plain = not model.tied and model.groups == model.heads
    theorem = "equality, Proposition 18 of docs/transformers.md"
    theorem += "; also Corollary 6 of docs/transformer-fibers.md" * plain
    conditions = [
        f"the vocabulary, {model.vocabulary:,}, reaches the hidden size, {model.width:,}",
        "softmax, skip connections around all layers; two tokens or more, any mask; inputs are all real matrices",
    ]
    conditions += ["tied embeddings: changes of basis that keep them are orthogonal"] * model.tied
    conditions += ["keys and values shared in groups: what is seen of a group is one product"] * (
        model.groups != model.heads
    )
    return ModelDimension(model, shape.dimension, shape.dimension, theorem, tuple(conditions), ranks, reason)


def _bounds(asked: _AskedModel) -> ModelDimension:
    """Return a count from above; from below the networks of width n, which are among these: all else 0."""
    model, n = asked.model, asked.model.vocabulary
    layers = (Layers(model.layers, model.head_width, model.values),)
    lower = Transformer(n, layers, model.heads, model.heads, n, n, tied=False).dimension
    theorem = "bounds, Proposition 19 of docs/transformers.md: a count of words and blocks, and networks of width n"
    return asked.narrow(lower, theorem, "does not reach")


MODELS: tuple[TheoremRow[_AskedModel, ModelDimension], ...] = (
    TheoremRow(
        "Proposition 18 of docs/transformers.md", any_question, paid_by_steps, _wide,
        needs=(
            Need(
                "a vocabulary that reaches the hidden size", lambda asked: asked.model.vocabulary >= asked.model.width,
                lambda asked: f"{asked.model.vocabulary:,} and {asked.model.width:,}",
            ),
        ),
    ),
    TheoremRow(
        "Theorem 12 of docs/transformer-fibers.md", any_question, paid_by_steps,
        lambda asked: asked.narrow(
            asked.count.value, "equality for three tokens or more, Theorem 12 of docs/transformer-fibers.md", "reaches",
            "for two tokens the number is an upper bound (Proposition 19 of docs/transformers.md)",
        ),
        needs=(
            Need(
                "n + h (2 min(a, f) + min(b, n)) that reaches f", lambda asked: asked.count.left >= asked.count.right,
                lambda asked: f"{asked.count.left:,} and {asked.count.right:,}",
            ),
        ),
    ),
    TheoremRow("Proposition 19 of docs/transformers.md", any_question, paid_by_steps, _bounds),
)  # fmt: skip
"""In the order of asking; ranks have a limit of their own."""
