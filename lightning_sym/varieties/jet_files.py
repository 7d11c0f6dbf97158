"""Jets in JSON, exact: `docs/reference/jets.md` says what stands there."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from lightning_sym.arguments import require_arguments
from lightning_sym.display import spelled
from lightning_sym.errors import BadInput, FileFormatError
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.readers.bounds import LARGEST_FILE, Allowance, read_whole, shown
from lightning_sym.network.readers.exact_json import LONGEST_NUMBER, ExactNumbers, parse
from lightning_sym.varieties.jets import MOST_LINES, Jet, JetLine
from lightning_sym.whole_files import in_words, replacing

SCHEMA = "lightning-sym/jet/1"
_KEYS = {"schema", "form", "widths", "ranks", "tokens", "lines"}
_LINE = {"mean", "difference", "coefficients"}


def save_jet(jet: Jet, path: str | os.PathLike[str]) -> None:
    """Write a jet to a JSON file, exactly, or not at all.

    Raises:
        BadInput: it cannot be written there, or could not be read again.

    Example:
        >>> import tempfile
        >>> from lightning_sym import SOFTMAX, NetworkForm, Weights, softmax_jet
        >>> jet = softmax_jet(Weights.of({"Q1": [[2]], "K1": [[3]], "V1": [[5]]}, NetworkForm(SOFTMAX)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_jet(jet, Path(folder) / "jet.json")
        ...     load_jet(Path(folder) / "jet.json") == jet
        True
    """
    require_arguments(save_jet, locals())
    limit, shape = 10**LONGEST_NUMBER, jet.architecture
    for line in jet.series:
        for vector in (line.mean, line.difference, *line.coefficients):
            if any(abs(x.numerator) >= limit or x.denominator >= limit for x in vector):
                raise BadInput(f"a jet must have numbers of at most {LONGEST_NUMBER} digits to be written")
    head = {
        "schema": SCHEMA,
        "form": NetworkForm.of(shape).to_json(),
        "widths": list(shape.widths),
        "ranks": list(shape.attention_ranks),
        "tokens": shape.tokens,
    }
    lines = ",\n".join(f"  {json.dumps(_line_document(line))}" for line in jet.series)
    keys = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    text = f'{{\n{keys} "lines": [\n{lines}\n ]\n}}\n'
    if len(text) > LARGEST_FILE:
        raise BadInput(f"a jet must have at most {LARGEST_FILE:,} bytes, got {len(text):,}")
    with in_words("a jet", path), replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _line_document(line: JetLine) -> dict[str, list[str] | list[list[str]]]:
    def texts(vector: Sequence[Fraction]) -> list[str]:
        return [spelled(x) for x in vector]

    return {
        "mean": texts(line.mean),
        "difference": texts(line.difference),
        "coefficients": [texts(c) for c in line.coefficients],
    }


def load_jet(path: str | os.PathLike[str]) -> Jet:
    """Return the jet of a JSON file.

    Raises:
        FileFormatError: the file cannot be read, or is not of its documented form.
        BadInput: the network is one whose jets are not treated.
    """
    require_arguments(load_jet, locals())
    try:
        return read_jet(read_whole(Path(path)))
    except BadInput as error:
        raise type(error)(f"{shown(os.fspath(path))[1:-1]}: {error}") from error


def is_jet(content: bytes) -> bool:
    """Return whether a JSON text says that it is a jet; whether it is one, `read_jet` finds out.

    Example:
        >>> is_jet(b'{"schema": "lightning-sym/phi/1"}')
        False
    """
    return f'"{SCHEMA}"'.encode() in content


def read_jet(content: bytes) -> Jet:
    """Return the jet of a JSON text.

    Raises:
        FileFormatError: it is not of its documented form.
        BadInput: the network is one whose jets are not treated.
    """
    numbers = ExactNumbers()
    found = parse(content, numbers)
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise FileFormatError(f'it must be an object with the schema "{SCHEMA}"')
    if wrong := sorted(_KEYS.symmetric_difference(found) - {"ranks"}):
        raise FileFormatError(
            f"it must have the keys {', '.join(sorted(_KEYS))} and no others, look at {shown(wrong[0])}"
        )
    form = NetworkForm.from_json(found["form"])
    widths = _sizes(found["widths"], "widths")
    ranks = _sizes(found["ranks"], "ranks") if "ranks" in found else (widths[0],) * (len(widths) - 1)
    (tokens,) = _sizes([found["tokens"]], "tokens")
    shape = Architecture(widths, ranks, tokens, **vars(form))  # all that it says, also what is new
    lines = found["lines"]
    if not isinstance(lines, list) or len(lines) > MOST_LINES:
        raise FileFormatError(f"lines must be a list of at most {MOST_LINES:,} objects, got {shown(lines)}")
    allowance, series = Allowance(), []
    for line in lines:
        if not isinstance(line, dict) or line.keys() != _LINE:
            raise FileFormatError(
                f"a line must have the keys {', '.join(sorted(_LINE))} and no others, got {shown(line)}"
            )
        if not isinstance(line["coefficients"], list):
            raise FileFormatError(f"coefficients must be a list of vectors, got {shown(line['coefficients'])}")
        vectors = [_vector(v, numbers, allowance) for v in (line["mean"], line["difference"], *line["coefficients"])]
        series.append(JetLine(vectors[0], vectors[1], tuple(vectors[2:])))
    return Jet(shape, tuple(series))


def _sizes(value: object, name: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(
        isinstance(n, int) and not isinstance(n, bool) and 0 < n <= 10**6 for n in value
    ):
        raise FileFormatError(f"{name} must be positive integers of at most 10^6, got {shown(value)}")
    return tuple(value)


def _vector(value: object, numbers: ExactNumbers, allowance: Allowance) -> tuple[Fraction, ...]:
    if not isinstance(value, list):
        raise FileFormatError(f"a vector must be a list of numbers, got {shown(value)}")
    allowance.take(len(value))
    entries = []
    for x in value:
        number = numbers.number(x) if isinstance(x, str) else x
        if isinstance(number, bool) or not isinstance(number, (int, Fraction)):
            raise FileFormatError(f'a number must be an integer, a decimal, or a string such as "-2/3", got {shown(x)}')
        entries.append(Fraction(number))
    return tuple(entries)
