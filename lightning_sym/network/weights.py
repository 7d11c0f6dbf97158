"""Named exact matrices: the weights of a network over the rationals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import count, pairwise
from numbers import Integral
from types import MappingProxyType
from typing import Any

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.errors import BadInput, ShapeError
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import LIGHTNING_FORM, NetworkForm
from lightning_sym.network.layer import Layer as Layer
from lightning_sym.network.named_matrices import NamedMatrices, exact_or_plain
from lightning_sym.network.pieces import DECLARED
from lightning_sym.network.random_matrices import RandomMatrices
from lightning_sym.network.weight_names import WeightPlace, canonical_name, places_of, weight_names
from lightning_sym.rings.arrays import ObjectArray, Rows
from lightning_sym.rings.rationals import RationalMatrix

_MOST_NAMED = 6
"""Names that an error lists."""


@dataclass(frozen=True, eq=False, repr=False)
class Weights(NamedMatrices):
    """Exact weights of a network by their canonical names, and what the network does with them.

    Attributes:
        matrices: object arrays of `Fraction` by the names and in the order of `Architecture.weight_shapes()`: `E`,
            `Q1, K1, V1, O1, Q2, ...` (with several heads `Q1.1, ..., Q1.2, ...`), `U`; all but `Q`, `K`, `V` only
            where the network has them. With letters, for special families of weights, entries may be expanded SymPy
            expressions; `layers` and `named()` refuse them by name, and so does all that computes with numbers.
            Large arrays of integers or floats stay what they are, and become `Fraction` when one is asked for.
        form: normalization, mask and skip connections; lightning attention unless said.

    Example:
        >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[0.5, 0]], "V1": [[3, -4]]})
        >>> w.architecture(tokens=2)
        Architecture(widths=(2, 1), attention_ranks=(1,), tokens=2)
        >>> w["K1"].tolist()
        [[Fraction(1, 2), Fraction(0, 1)]]
        >>> import sympy
        >>> a = sympy.Symbol("a")
        >>> Weights.of({"Q1": sympy.Matrix([[a, 1]]), "K1": [[1, a]], "V1": [[1, 0]]}).letters
        (a,)
    """

    matrices: Mapping[str, ObjectArray]
    form: NetworkForm = LIGHTNING_FORM

    # without it Python would look for an item 0: weights are no sequence of layers, `layers` is
    __iter__ = None

    @classmethod
    def of(cls, matrices: Mapping[str, Rows], form: NetworkForm = LIGHTNING_FORM) -> Weights:
        """Return weights from matrices named `Q1, K1, V1, Q2, ...`, as `Architecture.weight_shapes()` names them.

        Args:
            matrices: all matrices of the network, also SymPy's; with one head `Q1.1` is read as `Q1`. Entries are
                numbers, or polynomials in letters with rational coefficients.
            form: what the network does besides.

        Raises:
            ShapeError: a name is missing or unknown, or shapes do not fit together.
            BadInput: an entry is neither a finite number nor a polynomial in letters; or a letter is called like an
                input, `x_1_2`.

        Example:
            >>> one = [[1]]
            >>> w = Weights.of({"E": one, "Q1.1": one, "K1.1": one, "V1.1": one}, NetworkForm(skip=True))
            >>> list(w.matrices), w.architecture(tokens=2).skip
            (['E', 'Q1', 'K1', 'V1'], True)
        """
        require_arguments(cls.of, locals())
        places, unknown = places_of(matrices)
        # layers count from 1 without a gap: what stands behind one is unknown, what is left out before it is missing
        layers = {place.layer for place in places if place.layer}
        depth = next(i for i in count(1) if i + 1 not in layers)
        heads = max(Counter((p.letter, p.layer) for p in places if p.layer).values(), default=1)
        projected = any(place.letter == "O" for place in places)
        given = {name: place for place in places if (name := canonical_name(place, heads)) is not None}
        known: dict[str, str] = {}  # the name in `matrices` by its canonical form
        missing: list[str] = []
        for name in weight_names(depth, heads, form, projected=projected):
            if (place := given.get(name)) is not None:
                known[name] = places.pop(place)
            elif name not in ("E", "U"):
                missing.append(name)
                if len(missing) == _MOST_NAMED:  # there may be very many
                    break
        wrong = missing if len(missing) == _MOST_NAMED else missing + unknown + list(places.values())
        if heads > 1:
            wrong += [said for name, said in known.items() if "." in name and "." not in said]
        if wrong:
            raise ShapeError(
                "weights must be named Q1, K1, V1, Q2, ... (with several heads Q1.1, Q1.2, ...; O1 in every layer or "
                "none; E; U) with none left out; missing or unknown: "
                + ", ".join(name[:40] for name in sorted(wrong)[:_MOST_NAMED])
            )
        weights = cls(exact_or_plain({name: matrices[said] for name, said in known.items()}), form)
        weights._require_shapes()
        _ = weights.letters
        return weights

    @classmethod
    def of_family(cls, matrices: Mapping[str, ObjectArray], form: NetworkForm = LIGHTNING_FORM) -> Weights:
        """Return weights whose entries are numbers, or rational functions of letters: what moves by letters make.

        Args:
            matrices: object arrays of `Fraction` and of SymPy expressions, in canonical order.
            form: what the network does besides.

        Example:
            >>> from lightning_sym.fibers.transform import rescale
            >>> import sympy
            >>> moved = rescale(Weights.of({"Q1": [[1]], "K1": [[1]], "V1": [[3]]}), layer=1, by=sympy.Symbol("s"))
            >>> moved["V1"][0, 0]
            3/s
        """
        weights = cls(MappingProxyType(dict(matrices)), form)
        weights._require_shapes()
        _ = weights.letters
        return weights

    def _require_shapes(self) -> None:
        """Refuse shapes that do not fit together: those of the first head of each layer say what all others must be."""
        shape = self._shape
        for i, width in enumerate(shape.widths[:-1], start=1):
            first = str(i) if shape.heads == 1 else f"{i}.1"
            query, key, value = (self.size(c + first) for c in "QKV")
            if query != key:
                raise ShapeError(f"Q{first} and K{first} must have the same shape, got {query} and {key}")
            for letter, size in (("Q", query), ("V", value)):
                if size[1] != width:
                    raise ShapeError(
                        f"{letter}{first} must have {width} columns, the width before layer {i}, got shape {size}"
                    )
        for name, size in shape.weight_shapes():
            if (given := self.size(name)) != size:
                raise ShapeError(f"{name} must have the shape {size}, which the other matrices give it, got {given}")
        self.architecture(1)

    @cached_property
    def _shape(self) -> Architecture:
        """The architecture for one token, but for normalization, mask and skip connections."""
        places, _ = places_of(self.matrices)
        heads = max(place.head for place in places)
        depth = max(place.layer for place in places)
        projected = any(place.letter == "O" for place in places)

        def first(letter: str, layer: int) -> tuple[int, int]:
            return self.size(canonical_name(WeightPlace(letter, layer, 1), heads) or "")

        outer = {c: self.size(c) if c in self.matrices else (None, None) for c in "EU"}
        width = first("Q", 1)[1] if outer["E"][0] is None else outer["E"][0]
        behind = [first("O" if projected else "V", i)[0] for i in range(1, depth + 1)]
        return Architecture(
            widths=(width, *behind),
            attention_ranks=tuple(first("Q", i)[0] for i in range(1, depth + 1)),
            tokens=1,
            heads=heads,
            value_ranks=tuple(first("V", i)[0] for i in range(1, depth + 1)) if projected else None,
            embed=outer["E"][1],
            unembed=outer["U"][0],
            neurons=tuple(first("gate", i)[0] for i in range(1, depth + 1)) if self.form.gated is not None else None,
            **self.form.added,
        )

    def architecture(self, tokens: int) -> Architecture:
        """Return the network for inputs of `tokens` tokens.

        Raises:
            ShapeError: skip connections with unequal widths.
        """
        if type(tokens) is not int:
            return Architecture(**self._said | {"tokens": tokens})
        if tokens not in self._by_tokens:
            self._by_tokens[tokens] = Architecture(**self._said | {"tokens": tokens})
        return self._by_tokens[tokens]

    @cached_property
    def _by_tokens(self) -> dict[int, Architecture]:
        """The networks that were asked for: a question and what it asks share one, and the tables that it keeps."""
        return {}

    @cached_property
    def _said(self) -> dict[str, Any]:
        """Return the fields of the network by their names."""
        shape = {f.name: getattr(self._shape, f.name) for f in fields(Architecture)}
        return shape | vars(self.form)  # all that it says, also what is new

    def with_form(self, form: NetworkForm) -> Weights:
        """Return the same matrices in a network of another form.

        Raises:
            ShapeError: skip connections with unequal widths; or the form has other weights, with a bias for one.
        """
        require_arguments(self.with_form, locals())
        if form.added != self.form.added:
            return type(self).of(self.all_held, form)
        other = replace(self, form=form)
        other.architecture(1)
        return other

    @property
    def layers(self) -> tuple[Layer[ObjectArray], ...]:
        """Layer by layer `(Q_i, K_i, V_i)`, for the networks of the paper.

        Raises:
            BadInput: the network has more than these, or is not a lightning network: all that is computed from the
                layers alone would be about another network. Or there are letters.
        """
        self.require_numbers()
        return self.layers_with_letters()

    @cached_property
    def rational_layers(self) -> tuple[Layer[RationalMatrix], ...]:
        """The same as `layers`, in matrices of flint's.

        Raises:
            BadInput: as for `layers`.
        """
        self.require_numbers()
        self._require_layers()
        held = [RationalMatrix.of(matrix) for matrix in self.all_held.values()]
        return tuple(Layer(*held[i : i + 3]) for i in range(0, len(held), 3))

    def layers_with_letters(self) -> tuple[Layer[ObjectArray], ...]:
        """Return the same as `layers`, letters and all.

        Raises:
            BadInput: as for `layers`, but for letters.
        """
        self._require_layers()
        named = list(self.matrices.values())
        return tuple(Layer(*named[i : i + 3]) for i in range(0, len(named), 3))

    def _require_layers(self) -> None:
        if not self.architecture(1).is_plain:
            raise BadInput(
                "weights layer by layer must be of one-head lightning attention with nothing added, got "
                f"{self._additions()}; named() has all matrices, network_output takes them"
            )

    def require_plain(self, what: str) -> None:
        """Refuse by name what is decided for lightning attention with one head and nothing added only.

        Raises:
            BadInput: this is another network, or there are letters.
        """
        self.require_numbers(what)
        if not self.architecture(1).is_plain:
            raise BadInput(f"{what} is not yet decided for {self._additions()}, only for one-head lightning attention")

    def _additions(self) -> str:
        """Return all that is not a lightning network with one head, by name."""
        shape, words = self._shape, self.form.words
        for more, name in (
            (shape.heads > 1, f"{shape.heads} heads"),
            (shape.value_ranks is not None, "output projections O"),
            (shape.embed is not None, "an embedding E"),
            (shape.unembed is not None, "an unembedding U"),
        ):
            words += [name] * more
        return ", ".join(words)

    @classmethod
    def random(
        cls,
        architecture: Architecture,
        *,
        seed: int = 0,
        bound: int = 9,
        denominator: int = 1,
        attention_matrix_ranks: Sequence[int] | None = None,
        value_ranks: Sequence[int] | None = None,
    ) -> Weights:
        r"""Return seeded random weights: integers, or rationals with denominators up to `denominator`.

        Args:
            architecture: the network; the weights carry its form.
            seed: the same seed gives the same weights.
            bound: numerators lie between `-bound` and `bound`.
            denominator: largest denominator; 1 gives integers.
            attention_matrix_ranks: prescribed rank of $A_i = K_i^\top Q_i$ in every head of each layer.
            value_ranks: prescribed rank of $V_i$ in every head of each layer, without output projections.

        Raises:
            ShapeError: a prescribed rank is impossible for the shape.
            BadInput: the seed or the bound is negative, the denominator is not positive, or value ranks are
                prescribed where there are output projections.

        Matrices of prescribed rank are products of two factors that each contain an invertible triangular block, so
        their rank is what was asked for and not only likely to be.

        Example:
            >>> w = Weights.random(Architecture((3, 3), (2,), 2, heads=2, unembed=4), seed=1, value_ranks=[1])
            >>> w["V1.2"].shape, w["U"].shape
            ((3, 3), (4, 3))
        """
        require_arguments(cls.random, locals())
        architecture.require("random weights", DECLARED)
        source = RandomMatrices(seed, bound, denominator)

        def checked(ranks: Sequence[int], limits: Sequence[int], name: str) -> list[int]:
            within = (isinstance(r, Integral) and 0 <= r <= most for r, most in zip(ranks, limits, strict=False))
            if len(ranks) != len(limits) or not all(within):
                raise ShapeError(f"{name} must be between 0 and {list(limits)}, got {shown(list(ranks))}")
            return list(ranks)

        widths, a = architecture.widths, architecture.attention_ranks
        if attention_matrix_ranks is not None:
            limits = [min(a_i, d) for a_i, d in zip(a, widths, strict=False)]
            attention_matrix_ranks = checked(attention_matrix_ranks, limits, "attention matrix ranks")
        if value_ranks is not None:
            if architecture.value_ranks is not None:
                raise BadInput("value ranks are prescribed for matrices V without an output projection O behind them")
            value_ranks = checked(value_ranks, [min(pair) for pair in pairwise(widths)], "value ranks")
        matrices: dict[str, ObjectArray] = {}
        if architecture.varies:
            if attention_matrix_ranks is not None or value_ranks is not None:
                raise BadInput(f"ranks are prescribed for networks without variants of attention, got {architecture}")
            matrices = {name: source.matrix(*size) for name, size in architecture.weight_shapes()}
            return cls.of(matrices, NetworkForm.of(architecture))
        for name, (rows, columns) in architecture.weight_shapes():
            layer = int(name[1:].partition(".")[0] or 0) - 1
            if name[0] == "Q":  # and the key behind it
                r = None if attention_matrix_ranks is None else attention_matrix_ranks[layer]
                pair = source.query_and_key(rows, columns, r)
                matrices |= {name: pair[0], f"K{name[1:]}": pair[1]}
            elif name[0] == "V" and value_ranks is not None:
                matrices[name] = source.of_rank(rows, columns, value_ranks[layer])
            elif name[0] != "K":
                matrices[name] = source.matrix(rows, columns)
        return cls.of(matrices, NetworkForm.of(architecture))
