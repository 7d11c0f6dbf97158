"""The configurations that state a form, as they stand in files; each is read back before it is written."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from fractions import Fraction

from lightning_sym.checkpoints import meta_config
from lightning_sym.checkpoints.config import Config
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.layout import Biases, ModelFamily
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.pieces import table
from lightning_sym.errors import BadInput
from lightning_sym.network.readers.exact_json import ExactNumbers, parse, said


def type_of_all(kinds: set[str]) -> str:
    """Return the type of the configuration, to which the library rounds: one that holds all of these."""
    if len(kinds) == 1:
        return {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}[min(kinds)]
    return "float64" if "F64" in kinds else "float32"


def stated(family: ModelFamily, form: CheckpointForm, parts: frozenset[str]) -> dict[str, object]:
    """Return the configuration that states a form and its pieces; it is read back, and must state the same."""
    for name, number in (("epsilon", form.epsilon), ("theta", form.theta)):
        _require_decimal(name, number or Fraction(1))
    config = family.write(form, frozenset(table(form)[name].added_to for name in parts))
    _require_read_back(family.read(Config(parse(spelled(config).encode(), ExactNumbers()))), form, parts, form.family)
    return config


def stated_as_params(
    form: CheckpointForm, parts: frozenset[str], config: Mapping[str, object], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, object]:
    """Return the keys of `params.json` that state what a configuration does; read back they state the same.

    Args:
        form: what is stated; of the family and of the context nothing stands there.
        parts: the pieces of a layer.
        config: as of `stated`.
        shapes: of the tensors, by their names.
    """
    params = meta_config.params_of(form, config)
    values = parse(spelled(params).encode(), ExactNumbers())
    keys = Config(meta_config.said_by_params(values, shapes, 1))
    back = FAMILIES[meta_config.FAMILY].read(keys)
    keys.finish()
    _require_read_back(back, form, parts, "params.json", unsaid=("family", "context"))
    return params


def _require_read_back(
    back: tuple[CheckpointForm, Biases],
    form: CheckpointForm,
    parts: frozenset[str],
    who: str,
    unsaid: Collection[str] = (),
) -> None:
    """Refuse what was read back otherwise than it was to be written."""
    for name, value in vars(form).items():
        if name not in unsaid and getattr(back[0], name) != value:
            raise BadInput(f"{who} must have {name} = {said(getattr(back[0], name))}, got {said(value)}")
    if missing := FAMILIES[back[0].family].parts(form, back[1]) ^ parts:
        raise BadInput(f"a block of {who} must have its pieces and no others, they differ in {min(missing)}")


def spelled(config: Mapping[str, object]) -> str:
    """Return a configuration in JSON, one key a line, fractions as exact decimals."""
    lines = (f"  {json.dumps(key)}: {_decimal(key, value)}" for key, value in config.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _require_decimal(name: str, number: Fraction) -> None:
    """Refuse a number that no decimal is."""
    denominator = number.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator != 1:
        raise BadInput(f"{name} must be a decimal to be written, got {said(number)}")


def _decimal(key: str, value: object) -> str:
    """Return the value of a key in JSON, fractions as exact decimals."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {_decimal(name, each)}" for name, each in value.items()) + "}"
    if not isinstance(value, Fraction):
        return json.dumps(value)
    _require_decimal(key, value)
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    text = str((value * 10**digits).numerator)
    if digits > 30:
        return f"{text}e-{digits}"
    text = text.rjust(digits + 1, "0")
    return f"{text[: len(text) - digits]}.{text[len(text) - digits :] or '0'}"
