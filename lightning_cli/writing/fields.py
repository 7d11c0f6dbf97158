"""An answer is fields: a word, what it means, what it may be, and where it stands in the result.

The JSON of an answer and its JSON Schema both follow from the fields, so that neither can forget one. The statements
that an answer stands on are read off its own lines: what was tried in vain is none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from lightning_sym.lazy import lazy_imports

with lazy_imports(__name__):
    from lightning_sym import citations

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"

COMMON = "common.schema.json"
"""The file of what several schemas refer to."""


def _as_it_is(value: object) -> object:
    return value


class JsonKind(NamedTuple):
    """What a value may be, as JSON Schema says it, and how such a value is written."""

    schema: Schema
    written: Callable[[Any], object] = _as_it_is

    def having(self, **keywords: object) -> JsonKind:
        """Return the same kind with further keywords of JSON Schema."""
        return JsonKind(self.schema | keywords, self.written)


Kind: TypeAlias = "JsonKind | type | Sequence[Kind] | Mapping[type[str], Kind]"
"""A kind, or its short form, see `kind_of`."""

TEXT = JsonKind({"type": "string"})
FLOAT = JsonKind({"type": "number"})
_PLAIN = {str: TEXT, float: FLOAT, bool: JsonKind({"type": "boolean"}), int: JsonKind({"type": "integer"})}

FINITE = JsonKind({"type": ["number", "null"]}, lambda number: number if isfinite(number) else None)
"""A float, or null where it is infinite or no number."""
SPELLED = JsonKind(TEXT.schema, str)
"""What is spelled by `str`."""


def kind_of(kind: Kind) -> JsonKind:
    """Return the kind that a short form stands for: `str`, `bool`, `int`, `float`, `[kind]`, `{str: kind}`.

    Example:
        >>> kind_of([bool]).schema
        {'type': 'array', 'items': {'type': 'boolean'}}
    """
    if isinstance(kind, JsonKind):
        return kind
    if isinstance(kind, type):
        return _PLAIN[kind]
    return by_name(kind[str]) if isinstance(kind, Mapping) else each(kind[0])


def natural(least: int = 0) -> JsonKind:
    """Return the kind of integers that are at least this."""
    return JsonKind({"type": "integer", "minimum": least})


def one_of(*words: str) -> JsonKind:
    """Return the kind of a few words."""
    return JsonKind({"enum": list(words)})


def constant(value: object) -> JsonKind:
    """Return the kind of this very value."""
    return JsonKind({"const": value})


def optional(short: Kind) -> JsonKind:
    """Return the kind that is this or null."""
    kind = kind_of(short)
    schema = kind.schema
    if "enum" in schema:
        schema = schema | {"enum": [*schema["enum"], None]}
    elif isinstance(schema.get("type"), str) and schema["type"] != "object":
        schema = schema | {"type": [schema["type"], "null"]}
    else:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return JsonKind(schema, lambda value: None if value is None else kind.written(value))


def each(short: Kind, least: int = 0, most: int | None = None) -> JsonKind:
    """Return the kind of lists of this kind, of at least and at most so many."""
    kind = kind_of(short)
    bounds = ({"minItems": least} if least else {}) | ({} if most is None else {"maxItems": most})
    return JsonKind({"type": "array", "items": kind.schema} | bounds, lambda values: [kind.written(x) for x in values])


def by_name(short: Kind, *, names: Schema | None = None) -> JsonKind:
    """Return the kind of values of this kind by names that the answer chooses, which `names` may describe."""
    kind = kind_of(short)
    schema = {"type": "object", "additionalProperties": kind.schema} | ({"propertyNames": names} if names else {})
    return JsonKind(schema, lambda values: {str(name): kind.written(value) for name, value in values.items()})


def either(*kinds: Kind, written: Callable[[Any], object] = _as_it_is) -> JsonKind:
    """Return the kind that is one of these."""
    return JsonKind({"anyOf": [kind_of(kind).schema for kind in kinds]}, written)


def group(*fields: JsonField) -> JsonKind:
    """Return the kind of objects with these fields, which stand in the value."""
    return JsonKind(schema_of(fields), lambda value: {each.word: each.value(value) for each in fields})


def in_order(*fields: JsonField) -> JsonKind:
    """Return the kind of objects with these fields, whose values come as a tuple in their order."""

    def written(values: Iterable[object]) -> dict[str, object]:
        return {each.word: each.kind.written(value) for each, value in zip(fields, values, strict=True)}

    return JsonKind(schema_of(fields), written)


def itself(result: object) -> object:
    """Return the result itself: there is a field that groups what stands beside it."""
    return result


class JsonField(NamedTuple):
    """A word, what it means, what it may be, and where it stands in the result: the attribute of that name.

    Attributes:
        word: the key in JSON.
        kind: what its value may be.
        meaning: in words; every field of an answer itself has one.
        of: where it is, in place of the attribute `word`: the path of an attribute, or a function.
    """

    word: str
    kind: JsonKind
    meaning: str = ""
    of: str | Callable[[object], object] = ""

    def value(self, result: object) -> object:
        """Return what JSON has for it."""
        of = self.of
        return self.kind.written(of(result) if callable(of) else attrgetter(of or self.word)(result))

    def schema(self) -> Schema:
        """Return what JSON Schema says of it."""
        return ({"description": self.meaning} if self.meaning else {}) | self.kind.schema


def field(word: str, kind: Kind, meaning: str = "", of: str | Callable[[Any], object] = "") -> JsonField:
    """Return a field; its kind may be a short form, see `kind_of`."""
    return JsonField(word, kind_of(kind), meaning, of)


def schema_of(fields: tuple[JsonField, ...]) -> Schema:
    """Return the schema of an object with these fields and no others."""
    described = {each.word: each.schema() for each in fields}
    return {"type": "object", "properties": described, "required": list(described), "additionalProperties": False}


SHARED: dict[str, Schema] = {}
"""What several schemas refer to, by name."""


def shared(name: str, meaning: str, kind: JsonKind) -> JsonKind:
    """Return this kind as one that schemas refer to by its name."""
    SHARED[name] = {"description": meaning} | kind.schema
    return JsonKind({"$ref": f"{COMMON}#/$defs/{name}"}, kind.written)


def common_schema() -> Schema:
    """Return the schema file that the others refer to."""
    own = {"$schema": DRAFT, "$id": COMMON, "title": "parts of several answers"}
    text = {"description": "What the other schemas refer to."}
    return own | text | {"$defs": dict(SHARED)}


class JsonAnswer(NamedTuple):
    """A kind of answer in JSON: its fields, and from them its schema.

    Attributes:
        name: of the schema, such as `fiber`.
        said: what prints it, for the schema.
        fields: after `schema` itself, in their order.
        version: rises with a change that could break a reader.
        title: what the page calls it, where that is not the name.
    """

    name: str
    said: str
    fields: tuple[JsonField, ...]
    version: int = 1
    title: str = ""

    @property
    def identifier(self) -> str:
        """What stands in the field `schema`."""
        return f"lightning-sym/{self.name}/{self.version}"

    def document(self, result: object = None, **given: object) -> dict[str, object]:
        """Return the JSON of an answer: for each field the value that is given, or that stands in the result."""
        if unknown := given.keys() - {field.word for field in self.fields}:
            raise TypeError(f"{self.name} has no field {min(unknown)}")
        said = {f.word: f.kind.written(given[f.word]) if f.word in given else f.value(result) for f in self.fields}
        return {"schema": self.identifier} | said

    def schema(self) -> Schema:
        """Return the schema file."""
        own = JsonField("schema", JsonKind({"const": self.identifier}), "name and version of this schema")
        head = {"$schema": DRAFT, "$id": f"{self.name}.schema.json"}
        return head | {"title": self.title or self.name, "description": self.said} | schema_of((own, *self.fields))


def proof_of(result: Any) -> str | None:
    """Return where an answer is proved, `None` where it names no statement.

    Example:
        >>> proof_of(None)
    """
    if getattr(type(result), "lines", None) is None:  # it has no text of that kind
        return None
    return citations.proof_in(result.lines())


PROVED = JsonField(
    "proof",
    optional(str),
    "the statements that the answer names, each with its page; null where it names none",
    proof_of,
)
"""The last field of every answer that does not say itself where it is proved."""


def json_answer(name: str, *fields: JsonField, said: str = "", version: int = 1, title: str = "") -> JsonAnswer:
    """Return a kind of answer; unless something else is said the command of its name prints it."""
    if all(each.word != PROVED.word for each in fields):
        fields = (*fields, PROVED)
    return JsonAnswer(name, said or f"`lightning-sym {name} --json`.", fields, version, title)
