"""What a polynomial map can be given as: JSON, SymPy, text, a list of coefficients; and what makes it none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lightning_sym.errors import BadInput, FileFormatError, ShapeError, TooLarge
from lightning_sym.network.ambient import DEEPEST
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.given_map import GivenShape
from lightning_sym.network.pieces import SIZED
from lightning_sym.network.polynomial_map import PolynomialMap
from lightning_sym.network.readers.bounds import LARGEST_FILE, shown
from lightning_sym.network.readers.exact_json import ExactNumbers, parse
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import Polynomial, PolynomialRing
from lightning_sym.rings.rationals import map_entries
from lightning_sym.varieties.map_coefficients import as_vector, entries_from_terms, entries_from_vector, input_ring
from lightning_sym.varieties.map_text import MOST_TERMS, from_sympy, parse_polynomial

PHI = "lightning-sym/phi/1"
_OWN = {"widths", "ranks", "tokens", "inputs", "outputs", "coefficients"}
_FORM = NetworkForm().to_json() | {"heads": 1} | dict.fromkeys(sorted(SIZED))

LARGEST_SIZE = 1000
"""Inputs of a map, outputs, widths and ranks: more would be refused for their number in any case."""


class Document(NamedTuple):
    """A map as it stands in a file, with what the file says of the shape.

    Attributes:
        widths, ranks, tokens: `None` where the file does not say.
        outputs: the text of each output by row and token, from 1; or `None`.
        coefficients: the coefficient vector; or `None`.
        inputs: the letters of the outputs, in the order of `x_1_1, x_1_2, ...`; `None` where they are these.
    """

    widths: tuple[int, ...] | None
    ranks: tuple[int, ...] | None
    tokens: int | None
    outputs: dict[tuple[int, int], str] | None
    coefficients: list[int | Fraction] | None
    inputs: tuple[str, ...] | None = None


def read_document(content: bytes) -> Document:
    """Return the JSON that `phi --json` prints, or an object of one's own, see `docs/how-to/recover-weights.md`.

    Raises:
        FileFormatError: it is not of its documented form.
        BadInput: it is the map of another network than a lightning network with one head and nothing added.

    Example:
        >>> read_document(b'{"widths": [1, 1], "tokens": 1, "coefficients": ["-2/3"]}').coefficients
        [Fraction(-2, 3)]
    """
    if len(content) > LARGEST_FILE:
        raise FileFormatError(f"it must have at most {LARGEST_FILE:,} bytes")
    numbers = ExactNumbers()
    found = parse(content, numbers)
    if not isinstance(found, dict):
        raise FileFormatError(f"it must be an object, as `phi --json` prints it, got {shown(found)}")
    if "schema" in found:
        if found["schema"] != PHI:
            raise FileFormatError(f'it must have the schema "{PHI}", got {shown(found["schema"])}')
        shape = found.get("architecture")
        if not isinstance(shape, dict) or "outputs" not in found:
            raise FileFormatError("it must have the keys architecture and outputs, as `phi --json` prints it")
        _require_plain(shape)
        shape = {"widths": shape.get("widths"), "ranks": shape.get("attention_ranks"), "tokens": shape.get("tokens")}
        found = shape | {key: found[key] for key in ("inputs", "outputs") if key in found}
    elif unknown := sorted(found.keys() - _OWN):
        raise FileFormatError(f"it must have the keys {', '.join(sorted(_OWN))} and no others, got {shown(unknown[0])}")
    if ("outputs" in found) == ("coefficients" in found):
        raise FileFormatError("it must have either outputs or coefficients")
    tokens = _sizes(found, "tokens", alone=True)
    return Document(
        _sizes(found, "widths"),
        _sizes(found, "ranks"),
        None if tokens is None else tokens[0],
        _outputs(found["outputs"]) if "outputs" in found else None,
        _numbers(found["coefficients"], numbers) if "coefficients" in found else None,
        _letters(found["inputs"]) if "inputs" in found else None,
    )


def _letters(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise FileFormatError(f"inputs must be a list of names, got {shown(value)}")
    return tuple(value)


def _require_plain(shape: Mapping[str, object]) -> None:
    for key, value in _FORM.items():
        if shape.get(key, value) != value:
            raise BadInput(f"weights are recovered for one-head lightning networks with nothing added, got {key}")
    if unknown := sorted(shape.keys() - _FORM.keys() - {"widths", "attention_ranks", "tokens"}):
        got = unknown[0] if len(unknown[0]) <= 40 else shown(unknown[0])
        raise BadInput(f"weights are recovered for one-head lightning networks with nothing added, got {got}")


def _sizes(found: Mapping[str, object], key: str, *, alone: bool = False) -> tuple[int, ...] | None:
    if key not in found:
        return None
    value = [found[key]] if alone else found[key]
    if not (
        isinstance(value, list)
        and value
        and all(isinstance(n, int) and not isinstance(n, bool) and 0 < n <= 10**18 for n in value)
    ):
        raise FileFormatError(f"{key} must be {'a positive integer' if alone else 'a list of positive integers'}")
    return tuple(value)


def _outputs(value: object) -> dict[tuple[int, int], str]:
    if not isinstance(value, list):
        raise FileFormatError(f"outputs must be a list, got {shown(value)}")
    result: dict[tuple[int, int], str] = {}
    if value and all(isinstance(row, list) for row in value):  # rows of text
        value = [
            {"row": k, "token": j, "polynomial": text}
            for k, row in enumerate(value, 1)
            for j, text in enumerate(row, 1)
        ]
    for each in value:
        if not isinstance(each, dict) or each.keys() != {"row", "token", "polynomial"}:
            raise FileFormatError(
                "outputs must be objects with the keys row, token, polynomial, or rows of text, one column a token"
            )
        place = each["row"], each["token"]
        if not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in place):
            raise FileFormatError("row and token of an output must be positive integers")
        if not isinstance(each["polynomial"], str):
            raise FileFormatError(f"a polynomial must be a string, got {shown(each['polynomial'])}")
        if place in result:
            raise FileFormatError(f"outputs must not repeat, got row {place[0]}, token {place[1]} twice")
        result[place] = each["polynomial"]
    return result


def _numbers(value: object, numbers: ExactNumbers) -> list[int | Fraction]:
    if not isinstance(value, list):
        raise FileFormatError(f"coefficients must be a list, got {shown(value)}")
    result = []
    for each in value:
        if isinstance(each, str) and re.fullmatch(r"-?[0-9]+(/[0-9]+)?", each):
            each = numbers.number(each)
        elif isinstance(each, bool) or not isinstance(each, int):
            raise FileFormatError(f'a coefficient must be an integer, or a string such as "-2/3", got {shown(each)}')
        result.append(each)
    return result


def shape_of(
    document: Document,
    widths: Sequence[int] | None = None,
    ranks: Sequence[int] | None = None,
    tokens: int | None = None,
) -> Architecture:
    """Return the shape that is asked about: what is given, and for the rest what the document says.

    Ranks and inner widths may be others than the document's, the sizes of the map may not.

    Raises:
        ShapeError: something is said by neither, or both contradict each other.
    """
    if document.tokens is not None and tokens not in (None, document.tokens):
        raise ShapeError(f"tokens must be those of the map, {document.tokens}, got {tokens}")
    tokens = tokens if tokens is not None else document.tokens
    own = document.widths
    if widths is not None and own is not None:
        if (widths[0], widths[-1]) != (own[0], own[-1]):
            raise ShapeError(
                f"the first and the last width must be those of the map, {own[0]} and {own[-1]}, "
                f"got {widths[0]} and {widths[-1]}"
            )
        if len(widths) != len(own):
            raise ShapeError(f"the map has degree 3^{len(own) - 1}: widths must be {len(own)}, got {len(widths)}")
    asked = tuple(widths) if widths is not None else own
    if asked is None or tokens is None:
        raise ShapeError("widths and tokens must be given, or said in the file")
    known = tuple(ranks) if ranks is not None else document.ranks
    if known is None:
        raise ShapeError("ranks must be given, or said in the file")
    depth = len(asked) - 1
    return Architecture(asked, known * depth if len(known) == 1 else known, tokens)


def require_room(architecture: Architecture) -> None:
    """Refuse shapes whose maps cannot be written out, before anything is built.

    Raises:
        TooLarge: the degree, the inputs, the outputs, a width or a rank is too large.
    """
    architecture.require_plain("the weights of a polynomial map")
    d, d_out, t = architecture.widths[0], architecture.widths[-1], architecture.tokens
    if (
        architecture.depth > DEEPEST
        or max(d * t, d_out * t, *architecture.widths, *architecture.attention_ranks) > LARGEST_SIZE
    ):
        got = str(architecture)
        raise TooLarge(
            f"a map must have at most {DEEPEST} layers and sizes of at most {LARGEST_SIZE:,}, "
            f"got {got if len(got) <= 200 else got[:200] + '...'}"
        )


def map_of(document: Document, architecture: Architecture) -> PolynomialMap:
    """Return the map itself, homogeneous of degree $3^l$.

    Raises:
        BadInput: an output is missing, is none of this shape, or is not homogeneous of that degree.
    """
    require_room(architecture)
    rows, t = architecture.widths[-1], architecture.tokens
    if document.coefficients is not None:
        return _of_coefficients(document.coefficients, architecture)
    given = document.outputs or {}
    for k, j in given:
        if k > rows or j > t:
            raise ShapeError(f"outputs must have rows up to {rows} and tokens up to {t}, got row {k}, token {j}")
    ring = input_ring(architecture, document.inputs)
    entries = np.empty((rows, t), dtype=object)
    for k, j in np.ndindex(rows, t):
        if (k + 1, j + 1) not in given:
            raise BadInput(f"every output must be there, row {k + 1}, token {j + 1} is missing")
        entries[k, j] = parse_polynomial(given[k + 1, j + 1], ring, architecture.degree, f"row {k + 1}, token {j + 1}")
    return checked_map(entries, ring, architecture)


def checked_map(entries: ObjectArray, ring: PolynomialRing, architecture: Architecture) -> PolynomialMap:
    """Return entries as a map, if they are homogeneous of the right degree.

    Raises:
        BadInput: they are not.
        TooLarge: there are too many terms.
    """
    architecture.require_plain("the weights of a polynomial map")
    if sum(map(len, entries.ravel())) > MOST_TERMS:
        raise TooLarge(f"a map must have at most {MOST_TERMS:,} terms")
    for (k, j), entry in np.ndenumerate(entries):
        for exponents in entry.monoms():
            if (degree := sum(map(int, exponents))) != architecture.degree:
                raise BadInput(
                    f"row {k + 1}, token {j + 1} must be homogeneous of degree {architecture.degree}, "
                    f"got a term of degree {degree}"
                )
    usual = input_ring(architecture)
    if ring.names != usual.names:  # letters of somebody's own, in the order in which they were listed
        entries = map_entries(partial(_moved, ring=usual), entries)
    return PolynomialMap(architecture, entries, usual, (), usual.names)


def _of_coefficients(values: Sequence[object], architecture: Architecture) -> PolynomialMap:
    ring = input_ring(architecture)
    return checked_map(entries_from_vector(values, ring, architecture), ring, architecture)


def map_from_python(given: Any, architecture: Architecture, inputs: Sequence[object] | None = None) -> PolynomialMap:
    """Return a map from what people have in Python: a `PolynomialMap`, a SymPy matrix, rows of expressions or of text.

    A `PolynomialMap.of` of one's own has any letters as inputs; in the order in which they are listed they are
    `x_1_1, x_1_2, ...`, row by row.

    Rows may have other letters too, where `inputs` lists them in this order. Or the coefficients, as
    `PolynomialMap.coefficient_vector()` and `coefficients()` give them.

    Raises:
        BadInput: it is none, or not of this shape.
    """
    require_room(architecture)
    rows, t = architecture.widths[-1], architecture.tokens
    ring = input_ring(architecture, inputs)
    if isinstance(given, PolynomialMap):
        if inputs is not None:
            raise BadInput("inputs must be left out for a PolynomialMap, which lists its own")
        if given.weight_names:
            raise BadInput("the map must have numbers as coefficients, got symbolic weights; put numbers in")
        entries = given.entries
        if isinstance(given.shape, GivenShape):  # its letters in the order in which they were listed
            if len(given.input_names) != len(ring.names) or entries.shape != (rows, t):
                raise ShapeError(
                    f"the map must be {rows} x {t} in {len(ring.names)} inputs, listed as x_1_1, x_1_2, ... are, "
                    f"got {entries.shape[0]} x {entries.shape[1]} in {len(given.input_names)}"
                )
            return checked_map(entries, given.ring, architecture)
        sizes = (given.architecture.input_width, *entries.shape)
        if sizes != (architecture.widths[0], rows, t):
            raise ShapeError(
                f"the map must be {rows} x {t} in {architecture.widths[0]} x {t} inputs, "
                f"got {sizes[1]} x {sizes[2]} in {sizes[0]} x {given.architecture.tokens}"
            )
        return checked_map(entries, given.ring, architecture)
    if hasattr(given, "tolist") and not isinstance(given, str):
        given = given.tolist()
    if isinstance(given, Mapping):
        return checked_map(entries_from_terms(given, ring, architecture), ring, architecture)
    if not isinstance(given, (list, tuple)):
        given = [[given]]
    if (values := as_vector(given, architecture)) is not None:
        return _of_coefficients(values, architecture)
    if given and not isinstance(given[0], (list, tuple)):
        given = [[each] for each in given] if t == 1 else [list(given)]
    if len(given) != rows or any(not isinstance(r, (list, tuple)) or len(r) != t for r in given):
        raise ShapeError(f"the map must be {rows} x {t}, rows of outputs, one column a token")
    entries = np.empty((rows, t), dtype=object)
    for k, j in np.ndindex(rows, t):
        one, what = given[k][j], f"row {k + 1}, token {j + 1}"
        if isinstance(one, str):
            entries[k, j] = parse_polynomial(one, ring, architecture.degree, what)
        else:
            from sympy import sympify
            from sympy.core.basic import Basic

            if not isinstance(one, (Basic, int)) or isinstance(one, bool):
                raise BadInput(f"{what} must be a SymPy expression or text, got {type(one).__name__}")
            entries[k, j] = from_sympy(sympify(one), ring, architecture.degree, what)
    return checked_map(entries, ring, architecture)


def _moved(polynomial: Polynomial, ring: PolynomialRing) -> Polynomial:
    """Return a polynomial with the variables of another ring, one after the other."""
    return ring.from_terms({tuple(map(int, m)): c for m, c in polynomial.to_dict().items()})
