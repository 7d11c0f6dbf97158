"""What a network does besides multiplying by its weights: no shape of a matrix shows it, so weights carry it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeVar

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.display import latex_words, notebook
from lightning_sym.errors import BadInput
from lightning_sym.network.architecture import Architecture, require_form
from lightning_sym.network.pieces import DECLARED, FORM
from lightning_sym.network.variant import READ, Variant
from lightning_sym.rings.normalization import SOFTMAX, Normalization

_NORMALIZATIONS: dict[str, Normalization | None] = {"none": None, "softmax": SOFTMAX}
FORM_WORDS = ("normalization", "mask", "skip")
"""What weight files, options and atlases say of a form, and variants beside them."""

_MASKS = {"none": False, "causal": True}

FORM_CHOICES: dict[str, tuple[str | bool, ...]] = dict(
    zip(FORM_WORDS, (tuple(_NORMALIZATIONS), tuple(_MASKS), (False, True)), strict=True)
)
"""What each of these may be."""


T = TypeVar("T")


def _choice(value: object, choices: dict[str, T], key: str) -> T:
    if not isinstance(value, str) or value not in choices:
        raise BadInput(f"{key} must be {' or '.join(choices)}, got {shown(value)}")
    return choices[value]


@dataclass(frozen=True, repr=False)
class NetworkForm(Variant):
    """Normalization, mask, skip connections and variants; lightning attention unless more is said.

    Attributes:
        normalization: `None` for lightning attention, `SOFTMAX`, or any other.
        causal: token `i` attends to the tokens `j <= i` only.
        skip: each layer adds its input to its output.
        rotary, key_heads, biases, gains, query_key_norm, gated: as `lightning_sym.network.variant.Variant` has them.

    Raises:
        BadInput: one of them is of another type.

    Example:
        >>> NetworkForm(SOFTMAX, causal=True).to_json()
        {'normalization': 'softmax', 'mask': 'causal', 'skip': False}
        >>> str(NetworkForm(biases="QK", gated="silu"))
        'biases Q,K, gated silu'
    """

    normalization: Normalization | None = None
    causal: bool = False
    skip: bool = False

    def __str__(self) -> str:
        return ", ".join(self.words) or "lightning"

    def _repr_latex_(self) -> str:
        return notebook(latex_words(str(self)))

    def __post_init__(self) -> None:
        require_form(self.normalization, self.causal, self.skip)
        if self.added:
            self.settle()

    @classmethod
    def of(cls, architecture: Architecture) -> NetworkForm:
        """Return the form of a network.

        Raises:
            BadInput: the network has an option that no weight file can name.
        """
        require_arguments(cls.of, locals())
        architecture.require("the form of weights", DECLARED)
        return cls(**{field.name: getattr(architecture, field.name) for field in fields(cls)})

    @classmethod
    def from_json(cls, value: object) -> NetworkForm:
        """Return the form that a weight file names: an object with all of the keys `normalization`, `mask`, `skip`.

        Variants may stand beside them, by their names.

        Raises:
            BadInput: a key is missing or unknown, or has another value than `none`, `softmax`, `causal`, true, false,
                or those of a variant.

        Example:
            >>> NetworkForm.from_json({"normalization": "none", "mask": "causal", "skip": False}).causal
            True
        """
        if not isinstance(value, dict):
            raise BadInput(f"the form must be an object with normalization, mask and skip, got {shown(value)}")
        if wrong := sorted(str(key)[:40] for key in {*FORM_WORDS}.symmetric_difference({*value} - READ.keys())):
            raise BadInput(
                "the form must name normalization, mask and skip and nothing else; missing or unknown: "
                + ", ".join(ascii(key)[1:-1] for key in wrong[:6])
            )
        if not isinstance(value["skip"], bool):
            raise BadInput(f"skip must be true or false, got {shown(value['skip'])}")
        normalization = _choice(value["normalization"], _NORMALIZATIONS, "normalization")
        more = {name: value[name] for name in READ if name in value}
        return cls(normalization, _choice(value["mask"], _MASKS, "mask"), value["skip"], **more)

    @classmethod
    def named(cls, normalization: object, mask: object, skip: object) -> NetworkForm:
        """Return the form of these words, without variants.

        Raises:
            BadInput: as for `from_json`.

        Example:
            >>> NetworkForm.named("softmax", "none", True).words
            ['softmax', 'skip']
        """
        return cls.from_json(dict(zip(FORM_WORDS, (normalization, mask, skip), strict=True)))

    def to_json(self) -> dict[str, object]:
        """Return the form as `from_json` reads it.

        Raises:
            BadInput: the normalization, or an option, has no name there.
        """
        if unnamed := sorted({*vars(self)} - FORM - READ.keys()):
            raise BadInput(f"a weight file must have normalization, mask and skip alone, got {', '.join(unnamed)}")
        name = next((name for name, known in _NORMALIZATIONS.items() if known == self.normalization), None)
        if name is None:
            given = "" if self.normalization is None else self.normalization.name
            raise BadInput(f"a weight file must have the normalization {' or '.join(_NORMALIZATIONS)}, got {given}")
        said = (name, "causal" if self.causal else "none", self.skip)
        return {**dict(zip(FORM_WORDS, said, strict=True)), **self.added_json}

    @property
    def words(self) -> list[str]:
        """What is not lightning attention in it, by name.

        Example:
            >>> NetworkForm(SOFTMAX, skip=True).words
            ['softmax', 'skip']
        """
        said = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in READ}
        more = [name for name, value in said.items() if name != "normalization" and value] + self.added_words
        return more if self.normalization is None else [self.normalization.name, *more]


LIGHTNING_FORM = NetworkForm()
"""No normalization, no mask, no skip connections."""
