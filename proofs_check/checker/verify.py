"""Check certificates (docs/certificate.md) with nothing but this file and the standard library.

    python verify.py FILE...        for example: python verify.py dimension.json

prints 'FILE: proved: ...' or 'FILE: rejected: ...' for each file. The exit code is 0 only if all prove what they claim,
1 if one does not, 2 if nothing was given to check. The theorems named in the answers are taken as given; all arithmetic
is redone. This file alone checks dimensions with upper bounds by orbits. Certificates of another kind are checked by
the file of this name in the folder `kinds` beside it, bounds of another kind by that in `bounds`.
"""

import importlib
import itertools
import json
import pathlib
import re
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import partial
from operator import mul
from typing import Any, NamedTuple

if sys.version_info < (3, 11):  # noqa: UP036 - much older ones can read this file, so that they say so
    print(f"verify.py needs Python 3.11 or newer, this is {sys.version[:6]}", file=sys.stderr)
    sys.exit(2)

BYTES, STEPS, BITS = 2**24, 2 * 10**9, 2**18  # of a file; of about 0.1 microseconds, for a file; of a rational number
TERMS, LAYERS, HEADS, LONG = 512, 64, 4096, 10**20
ROOM, BRACKETS = 2**29, 2**21  # bytes of numbers that are made, for a file; lists and, four times, objects in it
SIZE, COUNT, SOME, SLOT, SIDE = range(1, 10**6 + 1), range(LONG), range(1, BRACKETS + 1), 2**64 - 1, 128
Matrix = list[Any]
Size = int | range
Fields = dict[str, object]
Key = tuple[str, int, int]
"""A weight by its letter, its layer and its head: ("Q", i, k)."""


class Rejected(ValueError):
    """The file does not prove its claim; the message says what must be true."""


def need(condition: object, message: str) -> None:
    """Go on only if this is so."""
    if not condition:
        raise Rejected(message)


# ---- what checking a file may take


class Budget:
    """Steps that checking a file may still take, and bytes of numbers that it may still make."""

    def __init__(self) -> None:
        self.steps, self.room = STEPS, ROOM


BUDGET: ContextVar[Budget] = ContextVar("budget")


def spend(steps: int) -> None:
    """Say, before work is done, how much it is, so that no file takes forever."""
    budget = BUDGET.get()
    old, budget.steps = budget.steps, budget.steps - steps
    if old // 10**8 > budget.steps // 10**8 > 0 and sys.stderr.isatty():  # each ten seconds, about
        print(f"checking: {100 - 100 * budget.steps // STEPS}% of the steps that a file may take", file=sys.stderr)
    taken = STEPS - budget.steps
    need(budget.steps >= 0, f"checking must take at most {STEPS:,} steps, this takes {taken:,} or more")


def keep(size: int) -> None:
    """Say, before numbers are made, how many bytes they are, so that no file takes more than 1 GiB of memory in all."""
    budget = BUDGET.get()
    budget.room -= size
    need(budget.room >= 0, f"numbers must fit into {ROOM:,} bytes of memory, these need more")


@contextmanager
def scratch(echelon: "Echelon | None" = None) -> Iterator[None]:
    """Give back the bytes of what is made inside, which is gone afterwards, but for rows of an echelon form."""
    budget, kept = BUDGET.get(), echelon.kept if echelon else 0
    before = budget.room
    yield
    budget.room = before - (echelon.kept - kept if echelon else 0)


# ---- what stands in a file


def read(path: str) -> object:
    """Return the JSON value in a file."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        need(len(dict(pairs)) == len(pairs), "a key stands twice")
        return dict(pairs)

    need(pathlib.Path(path).is_file(), "there must be a file of this name, of at most 16 MiB")  # no device
    with open(path, "rb") as file:
        data = file.read(BYTES + 1)
    need(len(data) <= BYTES, "there must be a file of this name, of at most 16 MiB")
    few = data.count(b"[") + 4 * data.count(b"{") <= BRACKETS
    need(few, f"there must be at most {BRACKETS:,} lists, and a fourth as many objects")
    sys.set_int_max_str_digits(4300)  # longer ones would take long to read
    return json.loads(data.decode(), object_pairs_hook=unique)  # no form below admits floats


class Later:
    """A value that is left as it is, to be read by one of these forms: which, or how large, is not known before."""

    def __init__(self, *forms: object) -> None:
        self.forms = forms


Rows = tuple[tuple[Mapping[str, object], Callable[..., str]], ...]
"""What objects hold besides the word that names them, by forms, and what says what is proved, given all that."""


class Table(NamedTuple):
    """Objects of several kinds, left as they are, to be read by one of the rows of the word that stands at `key`.

    Files in a `folder` beside this one have rows too, of their names. What all objects `begin` with is read before.
    """

    name: str
    key: str
    own: Callable[[], dict[str, Rows]]
    folder: str = "-"
    begin: Mapping[str, object] = {}

    def words(self) -> list[str]:
        """Return all that may stand at the key."""
        there = pathlib.Path(__file__).resolve().parent.glob(f"{self.folder}/[a-z]*")
        return [*self.own(), *sorted(path.name.removesuffix(".py") for path in there)]

    def rows(self, word: str) -> Rows:
        """Return the rows of a word; a file beside this one imports it, however that was started."""
        own = self.own()
        if word in own:
            return own[word]
        for name in ("proofs_check", "proofs_check.checker"):
            sys.modules.setdefault(name, type(sys)(name))
        sys.modules[name].__path__ = [str(pathlib.Path(__file__).resolve().parent)]
        sys.modules.setdefault(f"{name}.verify", sys.modules[__name__])
        try:
            rows: Rows = importlib.import_module(f"{name}.{self.folder}.{word}").ROWS
        except ImportError as error:
            raise Rejected(f"all of the folder of verify.py must lie beside it: {error}") from error
        return rows


def take(value: Any, what: str, form: Any) -> Any:
    """Return a value that must be of this form.

    A form is a range of integers, or a set of words; a list [form] of any size, [form, size], or [form, SOME], not an
    empty one; an object {key: form}, of which the values are given back; (form,) or null; a type; what a function makes
    of the value; or what tells that the value is read later.
    """
    if type(form) is {int: range, str: frozenset}.get(type(value)) and value in form:
        return value
    found = f"found a {type(value).__name__}" if type(value) in (list, dict) else f"found {str(value)[:40]!a}"
    if type(form) is tuple:
        return None if value is None else take(value, what, form[0])
    if type(form) is list:
        sizes = [range(x, x + 1) if type(x) is int else x for x in form[1:]]
        good = type(value) is list and all(len(value) in size for size in sizes)
        said = (" that is not empty" if size == SOME else f" of {size[-1]}" for size in sizes)
        need(good, f"{what} must be a list{''.join(said)}, {found}")
        plain = type(form[0]) is range and all(type(x) is int and x in form[0] for x in value)
        keep(0 if plain else 112 + 9 * len(value))
        return value if plain else [take(x, what, form[0]) for x in value]
    if type(form) is dict:
        odd = ascii(sorted(value.keys() ^ form.keys()))[:80] if type(value) is dict else found
        need(odd == "[]", f"{what} must be an object with {', '.join(form)[:200]}; missing or unknown: {odd}")
        return [take(value[key], key, each) for key, each in form.items()]
    if type(form) is range:
        need(False, f"{what} must be an integer from {form[0]} to {form[-1]}, {found}")
    if type(form) is frozenset:
        need(False, f"{what} must be one of {', '.join(sorted(form))}, {found}")
    if form in (bool, str, dict):
        need(type(value) is form, f"{what} must be of type {form.__name__}, {found}")
        return value
    return value if form is object or type(form) in (Later, Table) else form(value)


def proved(table: Table, data: Any, *given: object) -> str:
    """Say what an object proves: it is read by the first row whose first key stands there, or by the last one."""
    word, words = str(take(data, table.name, dict).get(table.key)), table.words()
    others = f"; others need the folder {table.folder} beside verify.py" * (len(words) == 1)
    must = f'"{table.key}" of {table.name} must be one of'
    need(word in words, f"{must} {', '.join(words)}, found {word[:40]!a}{others}")
    rows = table.rows(word)
    form, prove = next((row for row in rows if {*[*row[0]][:1]} <= data.keys()), rows[-1])
    return prove(*given, *take(data, table.name, {table.key: str, **form})[1:])


def any_prime(value: object, least: int = 2) -> int:
    """Return a prime below 2^22."""
    p = int(take(value, "the prime", range(least, 2**22)))
    need(all(p % k for k in range(2, int(p**0.5) + 1)), f"the modulus must be a prime, {p} is none")
    return p


odd_prime = partial(any_prime, least=3)
INTEGER, RATIONAL = range(1 - LONG, LONG), re.compile(r"-?[0-9]{1,4000}(/(?!0+$)[0-9]{1,4000})?")


def rational(value: object) -> Fraction:
    """Return a rational number, which is an integer or a string."""
    good = type(value) is not str or RATIONAL.fullmatch(value)
    need(good, f'a rational number must look like "-2/3", found {str(value)[:40]!a}')
    keep(112 + len(value) // 2 if type(value) is str else 48)
    return Fraction(value if type(value) is str else take(value, "a rational number", INTEGER))


SERIES = {"name": str, "taylor": [rational, SOME]}
ENDS: Fields = {"embed": (SIZE,), "unembed": (SIZE,)}
NETWORK: Fields = {"widths": [SIZE], "attention_ranks": [SIZE], "tokens": SIZE}
NETWORK["normalization"] = (Later({"name": frozenset({"softmax"})}, SERIES),)
NETWORK |= {"heads": SIZE, "value_ranks": ([SIZE],), "skip": bool, "causal": bool} | ENDS


class Network:
    """The shape. Layers count from 1: a[0], b[0] stand for nothing. b[i] is d[i-1] where there are no value ranks."""

    def __init__(self, data: object) -> None:
        values = take(data, "network", NETWORK)
        self.d, a, self.t, g, self.h, b, self.skip, self.causal, self.embed, self.unembed = values
        d, self.l, self.normalized, self.g = self.d, len(self.d) - 1, g is not None, list[Fraction]()
        need(0 < self.l * self.h <= HEADS, f"there must be from 1 to {HEADS:,} heads in all layers")
        need(len(a) == self.l == len(a if b is None else b), f"there must be {self.l} ranks, one for each layer")
        need(not self.skip or len(set(d)) == 1, "with skip connections all widths must be equal")
        self.name = "softmax attention" if self.normalized else "lightning attention"
        if self.normalized and g != {"name": "softmax"}:
            name, self.g = take(g, "a normalization other than softmax", SERIES)
            need(name != "softmax" and any(self.g) and len(self.g) <= 1000, "taylor must not be of softmax, nor 0")
            series = ", ".join(map(str, self.g))
            series = series[:200] + "..." * (len(series) > 200)
            self.name = f"attention normalized by {name[:40]!a} (taylor {series})"
        self.a, self.b, self.letters = [0, *a], [0, *(d[:-1] if b is None else b)], "QKV" if b is None else "QKVO"
        self.n, self.m, self.ends = self.embed or d[0], self.unembed or d[-1], bool(self.embed or self.unembed)
        self.heads = list(itertools.product(range(1, self.l + 1), range(self.h)))
        words = (key.removeprefix("attention_").replace("_", " ").replace("causal", "mask") for key in NETWORK)
        said = (pair for pair in zip(words, values, strict=True) if pair[0] != "normalization")
        says = (f"{key} {value}".removesuffix(" True") if value else f"no {key}" for key, value in said)
        self.name += f" of {', '.join(says)}"  # in full, for it is what the claim is about


# ---- the weights, each with the spaces of its rows and columns


class Space(NamedTuple):
    """Where rows or columns of weights live; `free` if the network is the same in every basis of it."""

    kind: str
    place: object
    size: int
    free: bool = True


class Piece(NamedTuple):
    """A weight: its columns move against their space, its rows with theirs, or, if `dual`, against it."""

    key: Key
    rows: Space
    columns: Space
    dual: bool = False


def pieces(net: Network) -> Iterator[Piece]:
    """Yield every weight of a network, in the order of certificates."""
    ends = bool(net.embed), bool(net.unembed)

    def stream(i: int) -> Space:  # with skip connections all places share one basis, which both ends must admit
        free = all(ends) if net.skip else (i > 0 or ends[0]) and (i < net.l or ends[1])
        return Space("stream", 0 if net.skip else i, net.d[i], free)

    if net.embed:
        yield Piece(("E", 0, 0), stream(0), Space("input", 0, net.n, free=False))
    for i, k in net.heads:
        scores = Space("query-key", (i, k), net.a[i])
        value = Space("value-output", (i, k), net.b[i]) if "O" in net.letters else stream(i)
        yield Piece(("Q", i, k), scores, stream(i - 1), dual=True)
        yield Piece(("K", i, k), scores, stream(i - 1))
        yield Piece(("V", i, k), value, stream(i - 1))
        if "O" in net.letters:
            yield Piece(("O", i, k), stream(i), value)
    if net.unembed:
        yield Piece(("U", net.l + 1, 0), Space("output", 0, net.m, free=False), stream(net.l))


# ---- arithmetic modulo p


def pack(values: Sequence[int], code: str = "Q") -> int:
    """Return one integer with 64 bits a number: a multiple of a row, or a product of series, is one operation."""
    return int.from_bytes(struct.pack(f"<{len(values)}{code}", *values), "little")


def unpack(number: int) -> tuple[int, ...]:
    """Return the numbers again, without zeros at the end."""
    count = (number.bit_length() + 63) // 64
    return struct.unpack(f"<{count}Q", number.to_bytes(8 * count, "little"))


def parities(number: int, slot: int = 64) -> int:
    """Return the numbers modulo 2, one bit for each: of the last hexadecimal digits of the slots."""
    return int(f"{number:x}"[:: -slot // 4][::-1].translate(str.maketrans("0123456789abcdef", "01" * 8)), 2)


def transposed(a: Matrix) -> Matrix:
    """Return the transposed matrix."""
    return list(map(list, zip(*a, strict=True)))


class Echelon:
    """Packed rows modulo p in echelon form.

    Slots have room for 10^6 multiples of rows, more than can be afforded. Rows move on by 32 slots at a time; those
    kept have their pivots where rows that they are added to have the entry.
    """

    def __init__(self, p: int, width: int) -> None:
        self.p, self.width, self.rows, self.kept = p, width, dict[int, int](), 0

    def hold(self, column: int, row: int) -> None:
        """Take in a row by its column."""
        size = 100 + row.bit_length() // 7
        keep(size)
        self.rows[column], self.kept = row, self.kept + size

    def add(self, row: int) -> int | None:
        """Return None if the row was independent, and is taken in, else what is left behind the first entries."""
        spend(self.width * (4 + row.bit_length() // 2048))
        for column in range(self.width):
            row, at = (row if column % 32 or not column else row >> 2048), 64 * (column % 32)
            entry = ((row & SLOT << at) >> at) % self.p
            if entry and column not in self.rows:  # scaled, so that its pivot is 1
                inverse = pow(entry, -1, self.p)
                self.hold(column, pack([x * inverse % self.p for x in unpack(row >> at)]) << at)
                return None
            if entry:
                spend(self.rows[column].bit_length() // 2048)
                row += (self.p - entry) * self.rows[column]
        return row >> 64 * (self.width - max(self.width - 1, 0) // 32 * 32)


class EchelonOfBits(Echelon):
    """The same modulo 2, of rows of bits. They are kept by their lengths, which become less when rows are added."""

    def add(self, row: int) -> int | None:
        """Return None if the row was independent, else 0."""
        spend(self.width + len(self.rows) * (2 + row.bit_length() // 8192))
        while row and row.bit_length() in self.rows:
            row ^= self.rows[row.bit_length()]
        if row:
            self.hold(row.bit_length(), row)
        return None if row else 0


class Tape:
    """Matrices of power series in u modulo p and u^n, and ways back from each to what it was made of.

    The ways are for derivatives of functionals of the last one, up to `side` of them side by side. An entry is one
    integer, with 64 bits for a coefficient, modulo 2, where n = 1, 16 bits, and, so that products have room, 2 n - 1
    coefficients for a series.
    """

    def __init__(self, p: int, n: int, shift: int) -> None:
        self.p, self.n, self.size, self.shift, self.ways = p, n, 2 * n - 1, shift, list[Any]()
        self.slot, self.code, self.side = (16, "H", 4 * SIDE) if p == 2 else (64, "Q", SIDE)
        self.bits = self.slot * self.size  # of a series
        self.mask = ((1 << self.bits * self.side) - 1) // ((1 << self.bits) - 1) * (1 if p == 2 else (1 << 64 * n) - 1)

    def reduce(self, x: int) -> int:
        """Return a series modulo p and u^n."""
        x &= self.mask
        return x if self.p == 2 else x % self.p if x <= SLOT else pack([c % self.p for c in unpack(x)])

    def product(self, a: Matrix, b: Matrix, k: int = 1) -> Matrix:
        """Return a b^T, where k series stand side by side in a or in b."""
        spend(len(a) * len(b) * (len(a[0]) * (1 + k * self.bits * self.n // 1024) + k * self.bits // 64 + 8))
        return [[self.reduce(sum(map(mul, x, y))) for y in b] for x in a]

    def times(self, x: int, y: int, k: int = 1) -> int:
        """Return the product of two series."""
        spend(9 + k * self.bits * (self.n + 16) // 1024)
        return self.reduce(x * y)

    def made(self, m: Matrix, way: Any = None, k: int = 1) -> Matrix:
        """Return the matrix, remembering the way from k derivatives by it to those by others."""
        spend(len(m) * len(m[0]) * (k * self.bits // 64))
        keep(2 * len(m) * (64 + len(m[0]) * (40 + k * self.bits // 7)))  # twice, for more is made on the way
        self.ways += [(m, way)] * bool(way)
        return m

    def dots(self, a: Matrix, b: Matrix) -> Matrix:
        """Return a b^T."""

        def way(d: Matrix, k: int) -> Any:
            return [(a, self.product(d, transposed(b), k)), (b, self.product(transposed(d), transposed(a), k))]

        return self.made(self.product(a, b), way)

    def add(self, *terms: Matrix) -> Matrix:
        """Return the sum."""
        total = [[self.reduce(sum(each)) for each in zip(*rows, strict=True)] for rows in zip(*terms, strict=True)]
        return self.made(total, lambda d, k: [(m, d) for m in terms])

    def seen(self, scores: Matrix, *, causal: bool) -> Matrix:
        """Return scores without those that a mask hides."""

        def hide(m: Matrix) -> Matrix:
            return [[x * (j <= i or not causal) for j, x in enumerate(row)] for i, row in enumerate(m)]

        return self.made(hide(scores), lambda d, k: [(scores, hide(d))])

    def pattern(self, scores: Matrix, g: list[int], given: Any, *, causal: bool) -> Matrix:
        """Return g of the scores, divided by the sums of rows; `given` are exponentials in place of g."""
        values, slopes, shift = list[Any](), list[Any](), 0 if given else self.shift
        for i, row in enumerate(scores):
            value, slope = (given[i],) * 2 if given else ([0] * len(row),) * 2
            row = [x << shift & self.mask for x in row]  # scores of an input eps Z have a factor u
            for c in reversed(g):  # Horner
                slope = [self.times(s, x) + v for s, v, x in zip(slope, value, row, strict=True)]
                value = [self.times(v, x) + c for v, x in zip(value, row, strict=True)]
            value, slope = (
                [self.reduce(x << by) * (j <= i or not causal) for j, x in enumerate(each)]
                for each, by in ((value, 0), (slope, shift))
            )
            total = self.reduce(sum(value))
            need(total & SLOT, "no column sum of the normalized scores may be 0 modulo the prime")
            inverse = pow(total & SLOT, -1, self.p)
            for _ in range((self.n - 1).bit_length()):  # Newton: each step doubles the coefficients that are right
                inverse = self.times(inverse, self.reduce(2 + (self.p - 1) * self.times(total, inverse)))
            values.append([self.times(x, inverse) for x in value])
            slopes.append([self.times(x, inverse) for x in slope])

        def way(d: Matrix, k: int) -> Any:  # of a quotient: derivatives less their mean by the values
            found = []
            for row, value, slope in zip(d, values, slopes, strict=True):
                mean = (self.p - 1) * self.product([row], [value], k)[0][0]
                found.append([self.times(self.reduce(x + mean), s, k) for x, s in zip(row, slope, strict=True)])
            return [(scores, found)]

        return self.made(values, way)

    def back(self, last: Matrix, derivatives: Matrix, k: int) -> dict[int, Matrix]:
        """Return k derivatives by all matrices, by the ids of these."""
        found = {id(last): derivatives}
        for m, way in reversed(self.ways):
            for other, new in way(found.pop(id(m)), k) if id(m) in found else ():
                old = found.get(id(other))
                if old is not None:
                    both = (zip(*rows, strict=True) for rows in zip(old, new, strict=True))
                    new = [[self.reduce(x + y) for x, y in pairs] for pairs in both]
                found[id(other)] = self.made(new, None, k)
        return found


class Point:
    """Weights modulo p by their keys, and at which number the entries of each begin."""

    def __init__(self, net: Network, data: object, p: int) -> None:
        self.net, self.p, self.size, self.w, self.place = net, p, 0, dict[Key, Matrix](), dict[Key, int]()
        self.pieces = list(pieces(net))
        for piece, value in zip(self.pieces, take(data, "weights", [object, len(self.pieces)]), strict=True):
            rows, columns = piece.rows.size, piece.columns.size
            what = f"{piece.key[0]} of layer {piece.key[1]}"
            self.w[piece.key] = take(value, what, [[range(self.p), columns], rows])
            self.place[piece.key], self.size = self.size, self.size + rows * columns

    def output(self, x: Matrix, g: list[int], tape: Tape, given: Any = ()) -> Matrix:
        """Return the output for an input, tokens as rows; `given` are exponentials of scores, head by head."""
        net, w, dots, mask = self.net, self.w, tape.dots, self.net.causal
        drawn = itertools.chain(given, itertools.repeat(None))
        x = dots(x, w["E", 0, 0]) if net.embed else x
        for i in range(1, net.l + 1):
            terms = [x] if net.skip else []
            for k in range(net.h):
                q, key, y = dots(x, w["Q", i, k]), dots(x, w["K", i, k]), dots(w["V", i, k], x)
                rows, table = dots(q, key), next(drawn)
                good = rows != transposed(rows) or mask or not table or table == transposed(table)
                need(good, "exponentials of equal scores must be equal")
                seen = tape.pattern(rows, g, table, causal=mask) if net.normalized else tape.seen(rows, causal=mask)
                y = dots(seen, y)
                y = dots(y, w["O", i, k]) if "O" in net.letters else y
                terms.append(y)
            x = tape.add(*terms) if len(terms) > 1 else y
        return dots(x, w["U", net.l + 1, 0]) if net.unembed else x

    def gradients(self, out: Matrix, tape: Tape, functionals: Matrix, columns: list[int]) -> Iterator[int]:
        """Yield gradients of the sums of C_k Y_k, at some columns, packed."""

        def slope(i: int, j: int) -> list[int]:
            return [c for C in functionals for c in ([D[i][j] for D in C[::-1]] + [0] * (tape.n - 1))]

        slopes = [[pack(slope(i, j), tape.code) for i in range(len(row))] for j, row in enumerate(out)]
        found = tape.back(out, slopes, len(functionals))
        flat = [x for m in self.w.values() for row in found.get(id(m), [[0] * len(m[0])] * len(m)) for x in row]
        if self.p > 2:
            every = (unpack(flat[c])[tape.n - 1 :: tape.size] for c in columns)
            yield from map(pack, itertools.zip_longest(*every, fillvalue=0))
            return
        size = 2 * len(functionals)  # bytes of an entry, of which each second one is 0 or 1
        data = b"".join(flat[c].to_bytes(size, "little") for c in columns)
        for j in range(0, size, 2):
            yield int(data[j::size].translate(bytes.maketrans(b"\0\1", b"01")), 2)

    def row(self, key: Key, r: int, c: int, sign: int = 1) -> int:
        """Return the direction in which row r gets row c, or its negative, packed."""
        return pack([sign * x % self.p for x in self.w[key][c]]) << 64 * (self.place[key] + r * len(self.w[key][0]))

    def column(self, key: Key, r: int, c: int) -> int:
        """Return the direction in which column c loses column r, packed."""
        gap = [0] * (len(self.w[key][0]) - 1)
        return pack([y for x in self.w[key] for y in (-x[r] % self.p, *gap)]) << 64 * (self.place[key] + c)

    def tangents(self, family: str) -> Iterator[int]:
        """Yield the directions of a family of symmetries (section 2.2), packed."""
        for i, k in self.net.heads if family in ("scale", "homogeneous") else ():
            q, v = ("Q", i, k), ("V", i, k)
            if family == "homogeneous" and len(self.w[q]) == 1:
                yield from (1 << 64 * (self.place[q] + c) for c in range(len(self.w[q][0])))
            else:
                values = sum(self.row(v, r, r, -1) for r in range(len(self.w[v]))) if family == "scale" else 0
                yield sum(self.row(q, r, r) for r in range(len(self.w[q]))) + values
        both = ((space, piece) for piece in self.pieces for space in dict.fromkeys((piece.rows, piece.columns)))
        moved = dict[Space, list[Piece]]()
        for space, piece in both:
            if space.kind == family and space.free:
                moved.setdefault(space, []).append(piece)
        for space, each in moved.items():
            for r, c in itertools.product(range(space.size), repeat=2):
                yield sum(self._in_another_basis(piece, space, r, c) for piece in each)

    def _in_another_basis(self, piece: Piece, space: Space, r: int, c: int) -> int:
        """Return how a weight moves with 1 + eps X for the unit matrix X with its one at (r, c)."""
        moved = self.column(piece.key, r, c) if piece.columns == space else 0
        if piece.rows == space:
            moved += self.row(piece.key, c, r, -1) if piece.dual else self.row(piece.key, r, c)
        return moved


# ---- bounds of dimensions


def of_row(p: int, t: Size = SOME, n: Size = SOME, m: Size = SOME, terms: Size = SOME, tables: Size = 0) -> Fields:
    """Return the form of a row: for a network of these sizes, or, as far as they are left out, of any sizes."""
    form: Fields = {"input": [[range(p), t], n], "functional": [[[range(p), t], m], terms]}
    return form | ({"exponentials": [[[range(p), t], t], tables]} if tables else {})  # of scores: any numbers


WEIGHTS = Later([[[range(2**22), SOME], SOME], SOME])
LOWER = {"prime": any_prime, "terms": (range(2, TERMS + 1),), "weights": WEIGHTS}
LOWER |= {"rows": [Later(of_row(2**22), of_row(2**22, tables=SOME))], "columns": [COUNT]}


def lower_bound(net: Network, r: int, data: object) -> str:
    """Say what shows a minor of the differential that is not zero modulo p."""
    of_size = {"rows": [object, r], "columns": [COUNT, r]}
    p, terms, weights, rows, columns = take(data, "lower_bound", LOWER | of_size)
    n, g, free = terms or 1, net.g, net.normalized and not net.g
    need(g or not terms, "terms must be null without Taylor coefficients of a normalization")
    good = p > max(net.t, 2 * n) and all(c.denominator % p for c in g) and (not terms or g[0].numerator % p)
    larger = "the prime must be larger than tokens and twice the terms, divide no denominator of g, and not g_0"
    need(good or (p == 2 and not g), f"{larger}; without g it may be 2")
    residues = [c.numerator * pow(c.denominator, -1, p) % p for c in g[:terms]]
    point, tape = Point(net, weights, p), Tape(p, n, 64 if terms else 0)
    most = max(2 * max(*net.d, *net.a, *net.b, net.t, net.n, net.m), net.m * net.t)
    need(n * most * p * p < 2**tape.slot, f"sizes and terms must be smaller, so that sums fit into {tape.slot} bits")
    need(all(a < b for a, b in itertools.pairwise([*columns, point.size])), "columns must increase, and be parameters")
    form = of_row(p, net.t, net.n, net.m, n, len(net.heads) if free else 0)
    taken, echelon = (take(row, "a row", form) for row in rows), (EchelonOfBits if p == 2 else Echelon)(p, r)
    for (x, *given), group in itertools.groupby(taken, lambda row: [row[0], *row[2:]]):
        with scratch(echelon):  # what the tape makes is gone afterwards, and what it makes on each way back
            tape.ways, functionals = [], [row[1] for row in group]
            out = point.output(transposed(x), residues, tape, *given)
            for j in range(0, len(functionals), tape.side):
                with scratch(echelon):
                    for row in point.gradients(out, tape, functionals[j : j + tape.side], columns):
                        echelon.add(row)
    need(len(echelon.rows) == r, "the minor must not be 0")
    return f"a minor of the differential modulo {p}" + " (docs/transformers.md, section 1)" * bool(free or terms)


ORBIT: dict[str, Callable[[Network], bool]] = {
    "query-key": lambda net: True,
    "value-output": lambda net: "O" in net.letters,
    "stream": lambda net: True,
    "scale": lambda net: not net.normalized,
    "homogeneous": lambda net: sum(map(bool, net.g)) == 1,
}
"""Families of symmetries, and which networks have them."""


def orbit(has: Any, along: Any, net: Network, bound: int, p: int, weights: object, families: list[str]) -> str:
    """Say what shows that parameters less the rank of directions, those along families, are a bound."""
    point = Point(net, weights, p)
    for name in families:
        good = has[name](net) and families.count(name) == 1
        need(good, f"families must be ones of this network, each once, {name!a} is none")
    echelon = EchelonOfBits(p, point.size) if p == 2 else Echelon(p, point.size)
    every, slots = (x for name in families for x in along(point, name)), parities if p == 2 else int
    while point.size - len(echelon.rows) > bound and any(echelon.add(slots(x)) is None for x in every):
        pass  # as many directions as the bound needs
    found = point.size - len(echelon.rows)
    need(found <= bound, f"the bound must be at least {found}, parameters less the rank found, it is {bound}")
    return "orbits (docs/upper-bound.md, Proposition 2)"


BY_ORBIT = {"bound": COUNT, "prime": any_prime, "weights": WEIGHTS, "families": [frozenset(ORBIT)]}
ORBITS = ((BY_ORBIT, partial(orbit, ORBIT, Point.tangents)),)
BOUNDS = Table("an upper bound", "kind", lambda: {"orbit": ORBITS}, "bounds")


def dimension(net: Network, r: int, u: int, below: object, above: list[Any]) -> str:
    """Say what a certificate proves of the dimension of a network."""
    proofs = [lower_bound(net, r, below), *(proved(BOUNDS, x, net) for x in above)]
    need(r <= u == min(x["bound"] for x in above), "upper must be the smallest bound, and lower not larger")
    claim = f"dim M = {u}" if r == u else f"{r} <= dim M <= {u}"
    return f"{claim}, for {net.name}, over the real and over the complex numbers, by {'; '.join(proofs)}"


# ---- certificates of all kinds

DIMENSION = {"network": Network, "lower": COUNT, "upper": COUNT, "lower_bound": Later(LOWER)}
DIMENSIONS = ((DIMENSION | {"upper_bounds": [BOUNDS, SOME]}, dimension),)
OPENING = {"format": frozenset({"lightning-sym/certificate"}), "version": range(1, 2)}
KINDS = Table("a certificate", "kind", lambda: {"dimension": DIMENSIONS}, "kinds", OPENING)


def check(data: object, budget: Budget | None = None) -> str:
    """Say what a certificate proves; what `budget` has left is what checking did not take."""
    BUDGET.set(budget or Budget())
    rest = dict(take(data, "a certificate", dict))
    of = rest.pop("format", None), repr(rest.pop("version", None))
    must = "the format must be lightning-sym/certificate, and the version must be 1"
    need(of == ("lightning-sym/certificate", "1"), must)
    return proved(KINDS, rest)


def main(arguments: list[str] | None = None) -> int:
    """Print one line for each file; return whether all are proved."""
    files, good = sys.argv[1:] if arguments is None else arguments, 0
    if not files or files[0] in ("-h", "--help"):
        print(__doc__)
        return 2
    for path in files:
        try:
            answer = f"proved: {check(read(path))}"
            good += 1
        except (ValueError, ArithmeticError, OSError, MemoryError, RecursionError) as error:
            general = f"it must be JSON in UTF-8, not nested too deeply or too large, {ascii(error)[:200]}"
            answer = f"rejected: {error if type(error) is Rejected else general}"
        print(f"{path if path.isprintable() and path.isascii() else ascii(path)}: {answer}", flush=True)
    return 0 if good == len(files) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))  # without a traceback
    sys.exit(main())
