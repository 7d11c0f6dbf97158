"""What a network looks like, before it has weights."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any

from lightning_sym.arguments import shown
from lightning_sym.display import latex_words, notebook
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.network.pieces import DECLARED, SCORES, SHAPED, pieces
from lightning_sym.network.variant import READ, Variant
from lightning_sym.rings.normalization import Normalization


def _sizes(values: object, name: str) -> tuple[int, ...]:
    if type(values) is not tuple and (isinstance(values, (str, bytes)) or not isinstance(values, Sequence)):
        raise ShapeError(f"{name} must be a sequence of positive integers, got {shown(values)}")
    for value in values:
        if type(value) is int and value > 0:  # nearly always
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ShapeError(f"{name} must be positive integers, got {shown(value)}")
    return tuple(values)


def require_form(normalization: object, causal: object, skip: object) -> None:
    """Refuse what only looks like an answer: any string is true, and `"softmax"` is no normalization.

    Raises:
        BadInput: one of them is of another type.
    """
    for name, value, kind, rule in (
        ("normalization", normalization, (Normalization, type(None)), "a Normalization or None"),
        ("causal", causal, bool, "true or false"),
        ("skip", skip, bool, "true or false"),
    ):
        if not isinstance(value, kind):
            raise BadInput(f"{name} must be {rule}, got {shown(value)}")


SIZES = ("widths", "attention_ranks", "tokens")
"""The fields that every network has; any other field is an option, and nothing is proved for it unless it is said."""


@dataclass(frozen=True, repr=False)
class Architecture(Variant):
    r"""Shape of an attention-only network of any depth; lightning self-attention unless more is said.

    Layer $i = 1, \dots, l$ has query and key weights $Q_i, K_i \in \mathbb{R}^{a_i \times d_{i-1}}$ and value
    weights $V_i \in \mathbb{R}^{d_i \times d_{i-1}}$; inputs are matrices in $\mathbb{R}^{d_0 \times t}$, one
    column a token (Definition 2 of the paper).

    Args:
        widths: $(d_0, \dots, d_l)$, at least two of them.
        attention_ranks: $(a_1, \dots, a_l)$, the query/key widths; they may exceed the widths.
        tokens: $t$, the sequence length.
        normalization: `None` for lightning attention, `SOFTMAX`, or any other.
        heads: how many heads each layer has; their outputs are added.
        value_ranks: $(b_1, \dots, b_l)$, widths of the values inside a head, with an output projection
            $O \in \mathbb{R}^{d_i \times b_i}$ behind them; without it each head has one matrix $V$, `d_i x d_{i-1}`.
        skip: each layer adds its input to its output.
        causal: token `i` attends to the tokens `j <= i` only.
        embed: $n$, for a matrix $E \in \mathbb{R}^{d_0 \times n}$ in front.
        unembed: $m$, for a matrix $U \in \mathbb{R}^{m \times d_l}$ behind.
        neurons: $(n_1, \dots, n_l)$, the numbers of gated neurons, with `gated`.
        rotary, key_heads, biases, gains, query_key_norm, gated: variants that the forward pass carries out and no
            theorem is about, by name: `lightning_sym.network.variant.Variant` says what they are.

    Raises:
        ShapeError: a size is not a positive integer, or the lengths do not fit, or skip with unequal widths; or key
            heads do not divide the heads, or rotary positions have more rows than the queries.
        BadInput: normalization, skip, causal or a variant is of another type, or there is one of `gated` and `neurons`.

    Example:
        >>> network = Architecture(widths=(4, 4, 4), attention_ranks=(2, 2), tokens=3)
        >>> network.depth, network.degree, network.parameter_count
        (2, 9, 64)
    """

    widths: tuple[int, ...]
    attention_ranks: tuple[int, ...]
    tokens: int
    normalization: Normalization | None = None
    heads: int = 1
    value_ranks: tuple[int, ...] | None = None
    skip: bool = False
    causal: bool = False
    embed: int | None = None
    unembed: int | None = None
    neurons: tuple[int, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", _sizes(self.widths, "widths"))
        object.__setattr__(self, "attention_ranks", _sizes(self.attention_ranks, "attention ranks"))
        _sizes((self.tokens,), "tokens")
        if len(self.widths) < 2:
            raise ShapeError(f"widths must name at least two sizes (input and output), got {len(self.widths)}")
        if len(self.attention_ranks) != self.depth:
            raise ShapeError(
                f"attention ranks must be {self.depth} in number, one a layer, got {len(self.attention_ranks)}"
            )
        _sizes((self.heads,), "heads")
        if self.value_ranks is not None:
            object.__setattr__(self, "value_ranks", _sizes(self.value_ranks, "value ranks"))
            if len(self.value_ranks) != self.depth:
                raise ShapeError(
                    f"value ranks must be {self.depth} in number, one a layer, got {len(self.value_ranks)}"
                )
        for name, size in (("embed", self.embed), ("unembed", self.unembed)):
            if size is not None:
                _sizes((size,), name)
        require_form(self.normalization, self.causal, self.skip)
        if self.skip and len(set(self.widths)) > 1:
            raise ShapeError(f"skip needs equal widths, to add input and output; got {','.join(map(str, self.widths))}")
        if self.added or self.neurons is not None:
            self._settle_variant()

    def _settle_variant(self) -> None:
        """Make the variants what they must be, and see that they fit the sizes."""
        self.settle()
        if self.key_heads is not None and self.heads % self.key_heads:
            raise ShapeError(
                f"heads must be a multiple of key heads, got {shown(self.heads)} and {shown(self.key_heads)}"
            )
        if self.rotary is not None:
            for rank in self.attention_ranks:
                self.rotary.rows(rank)
        if (self.neurons is None) != (self.gated is None):
            missing = "neurons" if self.neurons is None else "gated"
            raise BadInput(f"a half with gated neurons must have both of gated and neurons, got none for {missing}")
        if self.neurons is not None:
            object.__setattr__(self, "neurons", _sizes(self.neurons, "neurons"))
            if len(self.neurons) != self.depth:
                raise ShapeError(f"neurons must be {self.depth} in number, one a layer, got {len(self.neurons)}")

    @cached_property
    def options(self) -> frozenset[str]:
        """Names of the fields that make this more than a plain lightning network: those that are not left at nothing.

        Example:
            >>> sorted(Architecture((2, 2), (1,), 2, heads=2, causal=True).options)
            ['causal', 'heads']
        """
        said = [name for name, nothing in self._nothing().items() if getattr(self, name) != nothing]
        return frozenset((*said, *self.added))

    @classmethod
    @cache
    def _nothing(cls) -> dict[str, object]:
        """Return what each option is left at, but for variants."""
        return {f.name: f.default for f in fields(cls) if f.name not in SIZES and f.name not in READ}

    def require(self, what: str, proved: Collection[str]) -> None:
        """Refuse, by name, every option that `what` has not been proved for: also those that do not exist yet.

        Args:
            what: what is asked for, as the message begins.
            proved: names of the options for which there is a proof: `SHAPED` of `pieces`, fewer, or more by name.

        Raises:
            BadInput: the network has another option.

        Example:
            >>> Architecture((2, 2), (1,), 2, skip=True).require("this", {"heads"})
            Traceback (most recent call last):
            lightning_sym.errors.BadInput: this is not proved for the option skip of widths 2,2, ranks 1, tokens 2, skip
        """
        if not self.options.issubset(proved):
            more = sorted(self.options.difference(proved))
            raise BadInput(f"{what} is not proved for the option{'s' * (len(more) > 1)} {', '.join(more)} of {self}")

    @cached_property
    def varies(self) -> bool:
        """Whether it has a variant that no theorem is about: an option of `lightning_sym.network.variant`.

        Example:
            >>> Architecture((2, 2), (1,), 2, biases="QK").varies, Architecture((2, 2), (1,), 2, skip=True).varies
            (True, False)
        """
        return not self.options <= SHAPED

    @property
    def is_bare(self) -> bool:
        """One head, no weights but `Q_i`, `K_i`, `V_i`, no skip connection; scores may be normalized or masked."""
        return self.options <= SCORES

    @property
    def is_plain(self) -> bool:
        """One head, nothing added: the networks of the paper."""
        return not self.options

    def require_plain(self, what: str) -> None:
        """Refuse, with the reason, what is defined for the networks of the paper only.

        Raises:
            BadInput: this is another network.
        """
        if not self.is_plain:
            raise BadInput(f"{what} must be asked of one-head lightning networks with nothing added, got {self}")

    @property
    def input_width(self) -> int:
        """Rows of the input: `n` with an embedding, else `d_0`."""
        return self.widths[0] if self.embed is None else self.embed

    @property
    def output_width(self) -> int:
        """Rows of the output: `m` with an unembedding, else `d_l`."""
        return self.widths[-1] if self.unembed is None else self.unembed

    @property
    def depth(self) -> int:
        """Number of layers `l`."""
        return len(self.widths) - 1

    @property
    def degree(self) -> int:
        """Degree of the polynomial map in its inputs: `3 ** l`; a gate of degree `s` makes it `(3 (s + 1)) ** l`."""
        return int((3 * (len(self.gate) if isinstance(self.gate, tuple) else 1)) ** self.depth)

    @cached_property
    def parameter_count(self) -> int:
        """Number of entries of all weights, counted without listing them: heads may be many.

        Raises:
            BadInput: an option whose weights are not known.
        """
        groups = self.key_heads or 1
        sizes = (
            (piece.shape, self.heads if piece.by_head else groups if piece.by_group else 1)
            for piece in pieces(self, heads=1)
        )
        return sum(rows * columns * count for (rows, columns), count in sizes)

    def head_name(self, layer: int, head: int) -> str:
        """Return what stands behind the letter in the names of a head's matrices; both are counted from 1.

        Example:
            >>> Architecture((2, 1), (3,), 2).head_name(1, 1), Architecture((2, 1), (3,), 2, heads=2).head_name(1, 2)
            ('1', '1.2')
        """
        return f"{layer}" if self.heads == 1 else f"{layer}.{head}"

    def head_names(self, layer: int) -> list[str]:
        """Return the same of all heads of a layer.

        Example:
            >>> Architecture((2, 1), (3,), 2, heads=2).head_names(1)
            ['1.1', '1.2']
        """
        return [self.head_name(layer, h) for h in range(1, self.heads + 1)]

    def weight_shapes(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield names and shapes of the weights in their canonical order `Q1, K1, V1, Q2, ...`.

        With several heads `Q1.2` is the second head of layer 1; `O` are output projections, `E` and `U` the
        embedding and the unembedding. With grouped keys `K1.2` is the second group's; `bQ1` is a bias and `gQ1` a gain
        of queries, columns both; `gate1`, `up1`, `down1` are those of gated neurons.

        Raises:
            BadInput: an option whose weights are not known.

        Example:
            >>> dict(Architecture((2, 1), (3,), 2).weight_shapes())
            {'Q1': (3, 2), 'K1': (3, 2), 'V1': (1, 2)}
        """
        for piece in pieces(self):
            yield piece.name, piece.shape

    def __str__(self) -> str:
        kind = [] if self.normalization is None else [self.normalization.name]
        return self.in_words(kind + [f"heads {self.heads}"] * (self.heads > 1))

    def in_words(self, kind: list[str]) -> str:
        """Return all of it, with these words in place of normalization and heads.

        Example:
            >>> Architecture((2, 1), (1,), 2, heads=4, key_heads=2).in_words([])
            'widths 2,1, ranks 1, tokens 2, key heads 2'
        """

        def join(sizes: tuple[int, ...]) -> str:
            return ",".join(map(str, sizes))

        sizes = [f"widths {join(self.widths)}", f"ranks {join(self.attention_ranks)}", f"tokens {self.tokens}"]
        words = sizes + kind
        if self.value_ranks is not None:
            words.append(f"value ranks {join(self.value_ranks)}")
        words += [name for name, here in (("skip", self.skip), ("causal", self.causal)) if here]
        words += [f"{name} {n}" for name, n in (("embed", self.embed), ("unembed", self.unembed)) if n is not None]
        words += self.added_words
        if self.neurons is not None:
            words.append(f"neurons {join(self.neurons)}")
        words += [f"{name} {getattr(self, name)}" for name in sorted(self.options - DECLARED)]
        return ", ".join(words)

    def _repr_latex_(self) -> str:
        return notebook(latex_words(network_line(self)))


def network_line(*networks: Any) -> str:
    """Return what an answer is about, in one line; the shapes of further networks only where they differ.

    Example:
        >>> network_line(Architecture((2, 1), (1,), 2), Architecture((2, 1), (3,), 2))
        'lightning attention, one head, widths 2,1, ranks 1, tokens 2; and widths 2,1, ranks 3, tokens 2'
    """
    first = networks[0]
    kind = "lightning" if first.normalization is None else first.normalization.name
    bare = first.in_words([])  # heads and normalization stand in front, in words
    heads = "one head" if first.heads == 1 else f"{first.heads} heads"
    return "; and ".join([f"{kind} attention, {heads}, {bare}", *(str(n) for n in networks[1:] if n != first)])
