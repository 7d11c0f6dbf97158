# ruff: noqa: N802, E741, RUF021 - T, D, S and l are the names of the grammar, long conditions stay short
"""Check certificates (docs/certificate.md) with nothing but this file and the standard library.

    python verify.py FILE...        for example: python verify.py dimension.json

prints one line a file, 'FILE: proved: ...' or 'FILE: rejected: ...'. The exit code is 0 only if every file proves what
it claims, 1 if one does not, 2 if nothing was given to check. The theorems named in the answers (docs/upper-bound.md,
docs/transformers.md) are taken as given; all arithmetic is redone, with integers and fractions.
"""

import itertools
import json
import os
import re
import struct
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import factorial, prod
from operator import mul
from typing import Any

# What is refused, so that no file takes forever or more than about 1 GiB of memory.
BYTES, TOKENS, DEPTH = 2**26, 2**22, 16  # of a file: its size, brackets and quotes in it, nested brackets
STEPS = 2 * 10**9  # of about 0.1 microseconds, for one file; a number that is kept counts as many
TERMS, MONOMIAL, SERIES, LAYERS, BITS = 200_000, 4096, 512, 64, 2**18  # of polynomials; N; l; bits of a rational
HELD, HUGE = 2**23, 10**20  # scores that are kept at once; larger integers than in any file
SLOT, left = 2**64 - 1, [STEPS]
Matrix = Sequence[Sequence[Any]]
Vector = Sequence[int]
zipped = partial(zip, strict=True)


class Rejected(ValueError):
    """The file does not prove its claim; the message says what must be true."""


def need(condition: object, message: str) -> bool:
    if not condition:
        raise Rejected(message)
    return True


def spend(steps: int) -> None:
    left[0] -= steps
    need(left[0] >= 0, f"checking must take at most {STEPS:,} steps, this takes more")


def read(path: str) -> Any:
    """The JSON value in a file. Brackets are counted before, because the parser calls itself for each of them."""
    need(os.path.isfile(path), "there must be a file of this name, there is none")
    with open(path, "rb") as file:
        data = file.read(BYTES + 1)
    need(len(data) <= BYTES, "a certificate has at most 64 MiB, this file has more")
    depth, quoted = 0, False
    for count, match in enumerate(re.finditer(rb'\\.|["\[\]{}]', data, re.DOTALL)):
        quoted ^= match[0] == b'"'
        depth += 0 if quoted else (match[0] in b"[{") - (match[0] in b"]}")
        need(depth <= DEPTH, f"brackets must be nested at most {DEPTH} deep, they are deeper")
        need(count < TOKENS, f"a file has at most {TOKENS:,} brackets and quotes, this one has more")
    return json.loads(
        data.decode(),
        parse_int=lambda text: need(len(text.lstrip("-")) <= 20, "integers have at most 20 digits") and int(text),
        parse_float=lambda text: need(False, "numbers must be integers, found a float"),
        parse_constant=lambda text: need(False, f"numbers must be integers, found {text}"),
        object_pairs_hook=lambda pairs: need(len(dict(pairs)) == len(pairs), "a key stands twice") and dict(pairs),
    )


def shown(value: Any) -> str:
    return f"a {type(value).__name__}" if type(value) in (list, dict) else ascii(str(value)[:40])


def fields(data: Any, what: str, *names: str) -> list[Any]:
    """The values of an object that has these keys and no other."""
    need(type(data) is dict, f"{what} must be an object, found {shown(data)}")
    for name in itertools.chain((n for n in names if n not in data), (k for k in data if k not in names)):
        need(False, f"{what} must have the keys {', '.join(names)}, but {shown(name)} is missing or unknown")
    return [data[name] for name in names]


def whole(value: Any, what: str, low: int = 1, high: int = 10**6) -> int:
    need(
        type(value) is int and low <= value <= high,
        f"{what} must be an integer from {low} to {high}, found {shown(value)}",
    )
    return int(value)


def array(value: Any, what: str, size: int | None = None) -> list[Any]:
    need(
        type(value) is list and size in (None, len(value)),
        f"{what} must be a list" + f" of {size}" * (size is not None),
    )
    return list(value)


def matrix(data: Any, rows: int, columns: int, what: str, high: int, low: int = 0) -> Matrix:
    good = all(type(row) is list and len(row) == columns for row in array(data, what, rows))
    good = good and all(type(x) is int and low <= x <= high for row in data for x in row)
    need(good, f"{what} must be {rows} x {columns} with integers from {low} to {high}")
    return list(data)


def rational(value: Any) -> Fraction:
    if type(value) is str:
        match = re.fullmatch(r"-?[0-9]{1,4000}(?:/([0-9]{1,4000}))?", value)
        need(match and int(match[1] or 1), f'a rational number must look like "-2/3", found {shown(value)}')
    return Fraction(value if type(value) is str else whole(value, "an entry", -(10**20), 10**20))


def pack(values: Vector) -> int:
    """One big integer with 64 bits for each number: a multiple of a row, or a product of series, is one operation."""
    return int.from_bytes(struct.pack(f"<{len(values)}Q", *values), "little")


def unpack(number: int) -> Vector:
    count = (number.bit_length() + 63) // 64
    return struct.unpack(f"<{count}Q", number.to_bytes(8 * count, "little"))


def T(a: Matrix) -> Matrix:
    return list(zipped(*a))


def unit(size: int) -> Matrix:
    return [[int(i == j) for j in range(size)] for i in range(size)]


def D(r: int, c: int, k: int) -> int:
    """The dimension of the r x c matrices of rank at most k."""
    return min(r, c, k) * (r + c - min(r, c, k))


def S(r: int, k: int) -> int:
    """The dimension of the symmetric r x r matrices of rank at most k."""
    return min(r, k) * r - min(r, k) * (min(r, k) - 1) // 2


def prime(value: Any) -> int:
    p = whole(value, "the prime", 3, 2**22)
    need(all(p % k for k in range(2, int(p**0.5) + 1)), f"the modulus must be a prime, {p} is none")
    return p


class Echelon:
    """Packed rows modulo p < 2^22 in echelon form. Slots have room for 10^6 multiples of rows without reduction."""

    def __init__(self, p: int, width: int) -> None:
        need(width <= 10**6, "a linear system must have at most a million equations")
        self.p, self.width, self.rows = p, width, dict[int, int]()

    def add(self, row: int) -> int | None:
        """None if the row was independent, else what its multiples left behind the first `width` entries."""
        spend(self.width * (4 + row.bit_length() // 2048))
        for column in range(self.width):
            entry = (row & SLOT) % self.p
            if entry and column not in self.rows:
                inverse = pow(entry, -1, self.p)
                self.rows[column] = pack([x * inverse % self.p for x in unpack(row)])  # its pivot is in the first slot
                return None
            row = (row + (self.p - entry) * self.rows[column] if entry else row) >> 64
        return row


class Series:
    """Matrices of power series in u modulo p and u^n, packed, and the steps by which they came about, to go back."""

    def __init__(self, p: int, n: int = 1) -> None:
        self.p, self.n, self.mask, self.cost = p, n, (1 << 64 * n) - 1, 1 + n * n // 8
        self.values, self.steps = list[Matrix](), list[Any]()

    def reduce(self, x: int) -> int:
        return x % self.p if self.n == 1 else pack([c % self.p for c in unpack(x & self.mask)])

    def product(self, a: Matrix, b: Matrix) -> Matrix:
        columns = T(b)
        spend(len(a) * len(columns) * (len(b) * self.cost + 128 + 32 * self.n))
        return [[self.reduce(sum(map(mul, row, column))) for column in columns] for row in a]

    def sum(self, *terms: Matrix) -> Matrix:
        return [[self.reduce(sum(entries)) for entries in zipped(*rows)] for rows in zipped(*terms)]

    def put(self, value: Matrix, *pulls: Any) -> int:
        """A new matrix, and for each one it was made of the transposed derivative."""
        self.values.append(value)
        self.steps.append(pulls)
        return len(self.values) - 1

    def times(self, a: int, b: int) -> int:
        x, y = self.values[a], self.values[b]
        return self.put(self.product(x, y), (a, lambda g: self.product(g, T(y))), (b, lambda g: self.product(T(x), g)))

    def pattern(self, s: int, g: Vector, seen: Matrix, shift: int) -> int:
        """P(S). The scores of eps Z have a factor u, that is, a shift; with a g, columns are divided by their sums."""
        p, reduce, scores = self.p, self.reduce, [[x << shift & self.mask for x in row] for row in self.values[s]]
        spend(len(seen) ** 2 * (256 + 2 * len(g) * (8 + self.n + self.cost)))
        slope, scale, value = seen, [1] * len(seen), [list(map(mul, *rows)) for rows in zipped(scores, seen)]
        if g:
            slope = [[self.evaluate([k * c % p for k, c in enumerate(g)][1:], x) for x in row] for row in scores]
            slope = [list(map(mul, *rows)) for rows in zipped(slope, seen)]
            value = [[y * self.evaluate(g, x) for x, y in zipped(*rows)] for rows in zipped(scores, seen)]
            scale = [self.inverse(sum(column)) for column in T(value)]
            value = [[reduce(x * c) for x, c in zipped(row, scale)] for row in value]

        def pull(above: Matrix) -> Matrix:
            dots = [reduce(sum(map(mul, *pair))) * bool(g) for pair in zipped(T(above), T(value))]
            rows = [zipped(x, dots, scale, y) for x, y in zipped(above, slope)]
            below = [[reduce(reduce(x + (p - 1) * z) * reduce(c * y)) for x, z, c, y in row] for row in rows]
            return [[x << shift & self.mask for x in row] for row in below]

        return self.put(value, (s, pull))

    def inverse(self, x: int) -> int:
        need((x & SLOT) % self.p, "no column sum of the normalized scores may be 0 modulo the prime")
        y = pow(x & SLOT, -1, self.p)
        for _ in range(self.n.bit_length()):  # Newton: each step doubles the number of terms that are right
            y = self.reduce(y * self.reduce(2 + (self.p - 1) * self.reduce(x * y)))
        return y

    def evaluate(self, g: Vector, x: int) -> int:
        value = 0
        for coefficient in reversed(g):
            value = self.reduce(value * x + coefficient)
        return value

    def gradients(self, last: int, above: Matrix) -> dict[int, Matrix]:
        """What the last coefficient of the sum of products of the entries of above and the last matrix sees of each."""
        found = {last: above}
        for node in range(last, -1, -1):
            for below, pull in self.steps[node]:
                term = pull(found[node])
                found[below] = self.sum(found[below], term) if below in found else term
        return found


class Network:
    """The shape. Layers count from 1: a[0], b[0] stand for nothing. b[i] is d[i-1] where there are no value ranks."""

    def __init__(self, data: Any) -> None:
        names = "widths attention_ranks tokens normalization heads value_ranks skip causal embed unembed"
        d, a, t, g, h, b, self.skip, self.causal, embed, unembed = fields(data, "network", *names.split())
        self.d = [whole(x, "a width") for x in array(d, "widths")]
        self.l, self.t, self.h = len(self.d) - 1, whole(t, "tokens"), whole(h, "heads")
        need(self.l > 0, "a network must have a layer")
        self.a = [0] + [whole(x, "a rank") for x in array(a, "attention_ranks", self.l)]
        self.b = [0] + [whole(x, "a rank") for x in (self.d[:-1] if b is None else array(b, "value_ranks", self.l))]
        self.embed, self.unembed = (0 if x is None else whole(x, "an embedding") for x in (embed, unembed))
        self.n, self.m = self.embed or self.d[0], self.unembed or self.d[-1]
        self.letters, self.normalized, self.g = "QKV" if b is None else "QKVO", g is not None, list[Fraction]()
        need(type(self.skip) is type(self.causal) is bool, "skip and causal must be true or false")
        need(not self.skip or len(set(self.d)) == 1, "with skip connections all widths must be equal")
        if self.normalized and g != {"name": "softmax"}:
            name, taylor = fields(g, "a normalization other than softmax", "name", "taylor")
            need(type(name) is str and len(name) <= 4000 and name != "softmax", "softmax has no taylor, others a name")
            self.g = [rational(x) for x in array(taylor, "taylor") if need(type(x) is str, "taylor must hold strings")]
            need(any(self.g) and len(self.g) <= 1000, "taylor must have at most 1,000 coefficients, not all zero")
        self.line = self.t == 1 or self.n == 1 and not self.causal  # the stream is then y z^T with lightning scores
        self.lone = self.h == 1 and not self.skip and not self.causal


class Point:
    """Weights modulo p: gradients of the network there, and directions that leave the function in place, packed."""

    def __init__(self, net: Network, data: Any, p: int) -> None:
        self.net, self.p, self.size, self.field, d, l, letters = net, p, 0, Series(p), net.d, net.l, net.letters
        array(data, "weights", l * net.h * len(letters) + bool(net.embed) + bool(net.unembed))
        self.heads = list(itertools.product(range(1, l + 1), range(net.h)))
        keys = [("E", 0, 0)] * bool(net.embed) + [(s, i, k) for i, k in self.heads for s in letters]
        self.w, self.place, self.v = dict[Any, Matrix](), dict[Any, int](), dict[Any, Matrix]()
        for key, value in zipped(keys + [("U", l + 1, 0)] * bool(net.unembed), data):
            s, i = key[:2]
            a, b, out = (net.a[i], net.b[i], d[i]) if i <= l else (0, 0, 0)
            shape = {
                "E": (out, net.n),
                "U": (net.m, d[l]),
                "O": (out, b),
                "V": (b if "O" in letters else out, d[i - 1]),
            }
            rows, columns = shape.get(s, (a, d[i - 1]))
            self.w[key], self.place[key] = matrix(value, rows, columns, f"{s} of layer {i}", p - 1), self.size
            self.size += rows * columns
        self.readers = {key: key[1] - 1 for key in self.w if key[0] in "QKVU"}  # from which place in the stream
        self.writers = {key: key[1] for key in self.w if key[0] in "E" + letters[-1]}

    def run(self, tape: Series, g: Vector, shift: int, data: Matrix) -> int:
        """The network for an input on a fresh tape, the weights first on it; the number of the output."""
        net, seen = (
            self.net,
            [[int(j <= i or not self.net.causal) for i in range(self.net.t)] for j in range(self.net.t)],
        )
        w = {key: tape.put(value) for key, value in self.w.items()}
        x = tape.put(data)
        x = tape.times(w["E", 0, 0], x) if net.embed else x
        for i in range(1, net.l + 1):
            parts = [x] * net.skip
            for k in range(net.h):
                q, key, z = (tape.times(w[s, i, k], x) for s in "QKV")
                scores = tape.times(tape.put(T(tape.values[key]), (key, T)), q)
                z = tape.times(z, tape.pattern(scores, g, seen, shift))
                parts.append(tape.times(w["O", i, k], z) if "O" in net.letters else z)
            x = tape.put(tape.sum(*(tape.values[k] for k in parts)), *((k, lambda above: above) for k in parts))
        return tape.times(w["U", net.l + 1, 0], x) if net.unembed else x

    def entry(self, key: Any, row: int, column: int) -> int:
        return int(self.place[key] + row * len(self.w[key][0]) + column)

    def left(self, key: Any, row: int, other: int, sign: int = 1) -> int:
        """The direction in which a row of a weight gets another one."""
        return pack([sign * x % self.p for x in self.w[key][other]]) << 64 * self.entry(key, row, 0)

    def right(self, key: Any, column: int, other: int) -> int:
        """The direction in which a column of a weight loses another one."""
        return sum((-row[other] % self.p) << 64 * self.entry(key, r, column) for r, row in enumerate(self.w[key]))

    def orbit(self, family: str) -> Iterator[int]:
        net, places = self.net, [{j} for j in range(self.net.l + 1)]
        if family == "stream":  # with skip connections all places share one basis, which both ends must admit
            places = ([set(range(net.l + 1))] if net.embed and net.unembed else []) if net.skip else places
            spend(4 * len(places) * len(self.w))
            for at in places:
                new, old = ([key for key, j in side.items() if j in at] for side in (self.writers, self.readers))
                for r, c in itertools.product(range(net.d[min(at)]), repeat=2) if new and old else ():
                    yield sum(self.left(key, r, c) for key in new) + sum(self.right(key, c, r) for key in old)
            return
        for i, k in self.heads:
            q, key, v, o = ((s, i, k) for s in "QKVO")
            if family == "query-key":
                for r, c in itertools.product(range(net.a[i]), repeat=2):
                    yield self.left(key, r, c) + self.left(q, c, r, -1)
            elif family == "value-output":
                for r, c in itertools.product(range(net.b[i]), repeat=2):
                    yield self.left(v, r, c) + self.right(o, c, r)
            elif family == "homogeneous" and net.a[i] == 1:
                yield from (1 << 64 * self.entry(q, 0, c) for c in range(net.d[i - 1]))
            else:
                yield sum(self.left(q, r, r) for r in range(net.a[i])) + (
                    sum(self.left(v, r, r, -1) for r in range(len(self.w[v]))) if family == "scale" else 0
                )

    def basis(self, vectors: Sequence[Vector], size: int | None = None) -> list[Vector]:
        """Those vectors that do not depend on the ones before; how many there must be."""
        echelon = Echelon(self.p, len(vectors[0]))
        found = [v for v in vectors if len(echelon.rows) < echelon.width and echelon.add(pack(v)) is None]
        need(
            size in (None, len(found)), "what is written and read must have its largest dimension, it has a smaller one"
        )
        return found

    def spaces(self) -> None:
        """F_i and R_i by bases, and V for O V."""
        net, product, unread = self.net, self.field.product, self.net.normalized and self.net.t == 1
        for i, k in self.heads:
            v = self.w["V", i, k]
            self.v[i, k] = product(self.w["O", i, k], v) if "O" in net.letters else v
        self.F = [self.basis(T(self.w["E", 0, 0]), min(net.d[0], net.n)) if net.embed else unit(net.d[0])]
        for i in range(1, net.l + 1):
            f, x = len(self.F[-1]), T(self.F[-1])
            images = [T(product(self.v[i, k], x)) for k in range(net.h)]
            new: list[Vector] = [v for image in images for v in image] + list(self.F[-1]) * net.skip
            size = min(net.d[i], f * net.skip + net.h * min(f, net.b[i]))
            if f == 1 and not net.skip and not net.normalized:
                forms = [product(T(product(self.w["K", i, k], x)), product(self.w["Q", i, k], x)) for k in range(net.h)]
                new, size = list(product([[form[0][0] for form in forms]], [image[0] for image in images])), 1
            self.F.append(self.basis(new, size))
        self.R = [self.basis(self.w["U", net.l + 1, 0], min(net.d[-1], net.m)) if net.unembed else unit(net.d[-1])]
        for i in range(net.l, 0, -1):
            r = len(self.R[0])
            new = [v for k in range(net.h) for v in product(self.R[0], self.v[i, k])] + list(self.R[0]) * net.skip
            new += [row for s in "QK" for k in range(net.h) for row in self.w[s, i, k] if not unread]
            size = r * net.skip + net.h * (min(r, net.b[i]) + 2 * net.a[i] * (not unread))
            self.R.insert(0, self.basis(new, min(net.d[i - 1], size)))

    def solve(self, units: Sequence[int], images: Sequence[Vector], rank: int) -> Iterator[int]:
        """The null space of the map with these images of motions of the entries (further images are of unknowns that
        are no motions), if it has this rank, which it can nowhere exceed."""
        width = len(images[0])
        echelon = Echelon(self.p, width)
        tags = [
            echelon.add(pack(image) | 1 << 64 * (width + j)) for j, image in enumerate(images)
        ]  # they keep the sums
        if len(echelon.rows) == rank:
            for tag in (unpack(tag) for tag in tags if tag is not None):
                yield sum(x % self.p << 64 * place for x, place in zip(tag, units, strict=False))

    def one_sided(self, key: Any, space: Sequence[Vector], rank: int, columns: bool = False) -> Iterator[int]:
        """What may be added to the rows (or columns) of a weight, because it vanishes on a space."""
        rows, images = self.w[key], T(space)
        for j in range(len(rows[0]) if columns else len(rows)):
            units = [self.entry(key, x, j) if columns else self.entry(key, j, x) for x in range(len(images))]
            yield from self.solve(units, images, rank)

    def motions(self, letters: str, i: int, k: int, F: Matrix, R: Matrix) -> Iterator[tuple[int, str, Matrix]]:
        """Motions of the entries of weights of a head, and how they move F^T K^T Q F or R V F."""
        product, o = self.field.product, "O" in self.net.letters
        for s in letters:
            x = product(self.w["K" if s == "Q" else "Q", i, k], F) if s in "QK" else T(R)
            x = T(product(R, self.w["O", i, k])) if s == "V" and o else x
            y = product(self.w["V", i, k], F) if s == "O" else F
            spend(len(x) * len(y) * 64 * (1 + len(x[0]) * len(y[0])))
            for r, c in itertools.product(range(len(x)), range(len(y))):
                block = [[a * b % self.p for b in y[c]] for a in x[r]]
                yield self.entry((s, i, k), r, c), s, T(block) if s == "K" else block

    def unseen(self, family: str) -> Iterator[int]:
        net, product, p, narrow, stream = self.net, self.field.product, self.p, False, min(self.net.d[0], self.net.n)
        if family == "unwritten":
            for key, j in self.readers.items():
                yield from self.one_sided(key, self.F[j], len(self.F[j]))
        if family == "unread":
            for key, j in self.writers.items():
                yield from self.one_sided(key, self.R[j], len(self.R[j]), columns=True)
        for i, k in self.heads:
            F, R, f = T(self.F[i - 1]), self.R[i], len(self.F[i - 1])
            if family == "pattern":
                yield from (1 << 64 * u for u, _, _ in self.motions("QK", i, k, F, R))
            if family == "inside":
                inner, outer = T(product(self.w["V", i, k], F)), product(R, self.w["O", i, k])
                yield from self.one_sided(("O", i, k), inner, min(net.b[i], f))
                yield from self.one_sided(("V", i, k), outer, min(net.b[i], len(R)), columns=True)
            if family == "skew" and (net.line or narrow and net.lone):
                units, _, blocks = T(list(self.motions("QK", i, k, F, R)))
                images = [[(b[x][y] + b[y][x]) % p for x in range(f) for y in range(x + 1)] for b in blocks]
                yield from self.solve(units, images, S(f, 2 * min(net.a[i], f)))
            narrow, stream = narrow or min(net.a[i], stream) == 1, min(stream, net.b[i], net.d[i])

    def mixing(self) -> Iterator[int]:
        net, product, p, heads = self.net, self.field.product, self.p, range(self.net.h)
        for i in range(1, net.l + 1):
            F, R, f, r = T(self.F[i - 1]), self.R[i], len(self.F[i - 1]), len(self.R[i])
            A = [product(T(product(self.w["K", i, k], F)), product(self.w["Q", i, k], F)) for k in heads]
            v = [product(product(R, self.v[i, k]), F) for k in heads]
            moves = [(k, *move) for k in heads for move in self.motions(net.letters, i, k, F, R)]
            units, size, forms = [move[1] for move in moves], net.h * (f * f + r * f), f * r * f * (f + 1) // 2

            def filled(a: Matrix, rows: Matrix, f: int = f) -> list[int]:
                pairs = itertools.combinations_with_replacement(range(f), 2)
                entries = [(x, y) for x, y in pairs]
                return [
                    (b[x] * c[y] + (b[y] * c[x] if x != y else 0)) % p for b in T(a) for c in rows for x, y in entries
                ]

            if len(units) >= forms:
                spend(len(units) * forms * 64)
                images = [filled(b, v[k]) if s in "QK" else filled(A[k], b) for k, _, s, b in moves]
                yield from self.solve(units, images, forms)

            def image(*parts: tuple[int, int, int, Matrix], size: int = size, f: int = f, r: int = r) -> list[int]:
                """Blocks dA_k (0) or dv_k (1) of all heads in a row."""
                found = [0] * size
                for sign, k, kind, block in parts:
                    start = k * (f * f + r * f) + kind * f * f
                    for j, x in enumerate(itertools.chain(*block)):
                        found[start + j] = sign * x % p
                return found

            images = [image((1, k, int(s in "VO"), block)) for k, _, s, block in moves]
            pairs = list(itertools.permutations(heads, 2))
            images += [image((-1, j, 0, A[k]), (1, k, 1, v[j])) for j, k in pairs]
            for j, k in (pair for pair in pairs if r == 1 and pair[0] < pair[1]):
                for e in unit(f):
                    images.append(image((-1, j, 0, product(T(v[k]), [e])), (1, k, 0, product(T(v[j]), [e]))))
            most = net.h * (D(f, f, net.a[i]) + D(r, f, min(r, f, net.b[i])))
            yield from self.solve(units, images, most + min(size - most, len(images) - len(units)))

    def cancelling(self) -> Iterator[int]:
        """Motions whose blocks between words, that is products of values, cancel in the scores."""
        net, p, product, base = self.net, self.p, self.field.product, self.net.h + self.net.skip
        dims, layers = [len(F) for F in self.F], range(2, net.l + 1)
        for i, s in [(j, k) for j in layers for k in range(max(1, j - 6), j) if 2 <= base ** (j - k) <= 64]:
            words: list[Any] = [((), T(self.F[s - 1]))]  # the heads of each word, and the word
            for j in range(s, i):
                longer = [((*w, (j, k)), product(self.v[j, k], W)) for k in range(net.h) for w, W in words]
                words = words + longer if net.skip else longer
            names, columns = [w for w, _ in words], [T(W) for _, W in words]
            d, f, n = net.d[i - 1], dims[i - 1], dims[s - 1]
            spend((d * d + n * n) * len(words) * d * n * 64)
            orbit = [
                [w[c] * (x == r) for W in columns for w in W for x in range(d)] for r in range(d) for c in range(d)
            ]
            orbit += [
                [x * (y == c) for W in columns for y in range(n) for x in W[r]] for r in range(n) for c in range(n)
            ]
            parts = [net.h * D(net.d[j], dims[j - 1], net.b[j]) for j in range(s, i)]
            if not net.skip:  # the bases in between do not count
                parts[:-1] = [net.h * D(dims[j], dims[j - 1], net.b[j]) - dims[j] ** 2 for j in range(s, i - 1)]
            if (
                len(self.basis(orbit)) != sum(parts) + d * n * net.skip
                or len(self.basis([*itertools.chain(*columns)])) != f
            ):
                continue
            sums = defaultdict[Any, list[Any]](list)  # the pairs of words in each equation
            for (a, x), (b, y) in itertools.product(enumerate(names), repeat=2):
                sums[1, tuple(sorted(x + y))].append((a, b))
                if net.normalized:
                    sums[2, x].append((a, b))
                    for j in range(0 if net.causal else len(y)):
                        sums[3, tuple(sorted(x + y[:j])), y[j]].append((a, b))
                    if net.g:
                        sums[4, a, b].append((a, b))
            echelon, kept = Echelon(p, d * d), list[list[int]]()
            for (kind, *_), pairs in sums.items():
                for x, y in itertools.product(range(n), repeat=2):
                    terms = [(columns[a][x], columns[b][y]) for a, b in pairs]
                    terms += [(columns[a][y], columns[b][x]) for a, b in pairs if kind in (1, 3)]
                    terms += [(columns[b][y], columns[a][x]) for a, b in pairs if kind == 4]
                    spend(2 * len(terms) * d * d)
                    form = [sum(v[q] * w[r] for v, w in terms) % p for q in range(d) for r in range(d)]
                    if len(kept) < f * f and echelon.add(pack(form)) is None:
                        kept.append(form)
            for k in range(net.h):
                units, _, blocks = T(list(self.motions("QK", i, k, unit(d), self.R[i])))
                images = [[sum(map(mul, form, itertools.chain(*block))) % p for form in kept] for block in blocks]
                yield from self.solve(units, images, min(D(f, f, net.a[i]), len(kept)))

    def combinations(self, i: int, k: int, W: Matrix, forms: Sequence[Matrix]) -> Iterator[int]:
        """Motions of the scores of a head that are combinations of these forms on the columns of W."""
        units, _, blocks = T(list(self.motions("QK", i, k, W, self.R[i])))
        images = [[x % self.p for row in form for x in row] for form in [*blocks, *forms]]
        f, size = len(self.F[i - 1]), len(W[0]) ** 2
        yield from self.solve(units, images, min(size, D(f, f, self.net.a[i]) + len(forms)))

    def skew_differences(self) -> Iterator[int]:
        """Combinations of k k'^T - k' k^T, where k and k' vanish on the sum s of the words."""
        net, product = self.net, self.field.product
        s = T(self.F[0])
        for i in range(2, net.l + 1):
            s = self.field.sum(*[s] * net.skip, *(product(self.v[i - 1, k], s) for k in range(net.h)))
            F, f = T(self.F[i - 1]), len(self.F[i - 1])
            if len(self.basis(T(s))) != min(f, len(self.F[0])):
                continue
            null = [(*unpack(x), *[0] * len(s))[: len(s)] for x in self.solve(range(len(s)), s, len(self.basis(T(s))))]
            pairs = itertools.combinations(self.basis(product(null, F)) if null else [], 2)
            forms = [[[a * y - b * x for x, y in zipped(k, m)] for a, b in zipped(k, m)] for k, m in pairs]
            for k in range(net.h):
                yield from self.combinations(i, k, F, forms)

    def symmetric_products(self) -> Iterator[int]:
        """Forms that see nothing of X and V X (X^T A X), layer after layer, on the words side by side."""
        W, forms = T(self.F[0]), list[Matrix]()
        for i in range(2, self.net.l + 1):
            n, zero, product = len(W[0]), [[0] * len(W[0])] * len(W[0]), self.field.product
            if n > 32:
                return
            A = product(T(product(self.w["K", i - 1, 0], W)), product(self.w["Q", i - 1, 0], W))
            tops, new = [T(A)], [[form if q == at else zero for q in range(4)] for form in forms for at in range(4)]
            if min(self.net.a[i - 1], len(self.F[i - 2])) == 1:  # A = p q^T
                q = next((row for row in A if any(row)), [0] * n)
                tops = [product(T([q]), [e]) for e in unit(n)]
                pairs = itertools.combinations(unit(n), 2)
                new += [
                    [zero, zero, zero, [[a * y - b * x for x, y in zipped(e, g)] for a, b in zipped(e, g)]]
                    for e, g in pairs
                ]
            new += [[zero, top, [[-x for x in row] for row in T(top)], zero] for top in tops]
            spend(len(new) * 16 * n * n)
            forms = [[[*x, *y] for x, y in [*zipped(a, b), *zipped(c, d)]] for a, b, c, d in new]
            W = [[*x, *y] for x, y in zipped(W, product(self.v[i - 1, 0], W))]
            yield from self.combinations(i, 0, W, forms)


def lower_bound(net: Network, r: int, data: Any) -> str:
    """A minor of the differential that is not zero modulo p."""
    p, terms, weights, rows, columns = fields(data, "lower_bound", "prime", "terms", "weights", "rows", "columns")
    n, p = 1 if terms is None else whole(terms, "terms", 1, SERIES), prime(p)
    need((terms is None) != net.normalized or terms is None and net.g, "terms must be null without normalization only")
    need(p > max(net.t, 2 * n), "the prime must be larger than the tokens and twice the terms")
    need(n * max(net.d + net.a + net.b + [net.t, net.n, net.m]) * p * p < 2**64, "terms times sizes are too large")
    g = net.g or [Fraction(1, factorial(k)) for k in range(n + 1) if net.normalized]
    need(all(c.denominator % p for c in g), "the prime must divide no denominator of the normalization")
    taylor = [c.numerator * pow(c.denominator, -1, p) % p for c in (g if terms is None else g[: n + 1])]
    need(terms is None or taylor[0], "g_0 must not be 0 modulo the prime")
    need(net.t**2 * net.l * net.h * (n + 4) <= HELD, "tokens, heads and terms are too many to be held at once")
    point, echelon, shift = Point(net, weights, p), Echelon(p, r), 0 if terms is None else 64
    last: Any = ()  # no input of a file is a tuple
    places = [whole(c, "a column", 0, point.size - 1) for c in array(columns, "columns", r)]
    need(all(a < b for a, b in itertools.pairwise(places)), "columns must increase")
    for row in array(rows, "rows", r):
        x, functional = fields(row, "a row", "input", "functional")
        functional = [matrix(c, net.m, net.t, "a functional", p - 1) for c in array(functional, "functional", n)]
        if x != last:
            tape, last = Series(p, n), matrix(x, net.n, net.t, "an input", p - 1)
            out = point.run(tape, taylor, shift, last)
        above = [[pack(entries[::-1]) for entries in zipped(*rows)] for rows in zipped(*functional)]
        found = tape.gradients(out, above)
        flat = [x >> 64 * (n - 1) for key in range(len(point.w)) for line in found[key] for x in line]
        need(echelon.add(pack([flat[c] for c in places])) is None, f"the minor must not be 0 modulo {p}, it is")
    return f"a minor of the differential modulo {p}" + " (docs/transformers.md, Proposition 2)" * (terms is not None)


def directions(net: Network, data: Any) -> str:
    names = "kind bound prime weights families"
    kind, bound, p, weights, families = fields(data, "an upper bound", *names.split())
    has = {"query-key": True, "value-output": "O" in net.letters, "stream": True, "scale": not net.normalized}
    has["homogeneous"] = sum(map(bool, net.g)) == 1
    orbits, normal, two = list(has), net.normalized, net.t == 2
    has |= {"unwritten": True, "unread": True, "inside": "O" in net.letters, "pattern": normal and net.t == 1}
    has |= {"skew": not normal, "mixing": not normal and net.h > 1, "cancelling": two if normal else net.line}
    has["skew differences"] = normal and two and net.causal
    has["symmetric products"] = not (normal or net.h > 1 or net.causal or net.line or net.n == 1) and net.skip
    for name in array(families, "families"):
        need(type(name) is str and has.get(name), f"families must be ones of this network, {shown(name)} is none")
        need(kind == "directions" or name in orbits, f"an orbit has no directions of the family {shown(name)}")
    point = Point(net, weights, prime(p))
    echelon, later = Echelon(point.p, point.size), [name for name in families if name not in orbits]
    if later:
        point.spaces()
    makers = {"mixing": point.mixing, "cancelling": point.cancelling, "skew differences": point.skew_differences}
    makers |= {"symmetric products": point.symmetric_products}
    for name in families:
        for direction in makers[name]() if name in makers else (point.orbit if name in orbits else point.unseen)(name):
            if point.size - len(echelon.rows) > bound:
                echelon.add(direction)
    found = point.size - len(echelon.rows)
    need(found <= bound, f"the bound must be at least {found}, parameters less the rank found, it is {bound}")
    return (
        "orbits (docs/upper-bound.md, Proposition 2)"
        + " and kernel directions (docs/transformers.md, 2 to 7)" * bool(later)
    )


def factorization(net: Network, data: Any) -> str:
    _, bound, variety, pieces = fields(data, "an upper bound", "kind", "bound", "variety", "pieces")
    d, a, b, l, h, n, m = net.d, net.a, net.b, net.l, net.h, net.n, net.m
    ends, r = net.embed or net.unembed, list(itertools.accumulate(d, min))
    if variety == "virtual weights":
        need(
            net.lone and not (net.normalized or "O" in net.letters or ends),
            "virtual weights must be of one plain head a layer",
        )
        alpha = [0] + [min(a[i], r[i - 1]) for i in range(1, l + 1)]
        free = next((i for i in range(1, l + 1) if alpha[i] == 1), l) if net.t > 1 else 0
        want = [(D(r[i - 1], r[i - 1], alpha[i]) if i <= free else S(r[i - 1], 2 * alpha[i])) for i in range(1, l + 1)]
        want, used = [*want, D(d[l], r[l - 1], r[l])], r[l]
        for i in range(l - 1, 0, -1):
            used = min(r[i], used + 2 * alpha[i + 1])
            want.append(used * (r[i - 1] - r[i]))
        want, proof = [*want, -l], "docs/upper-bound.md, Theorem 6"
    elif variety == "linear maps":
        need(net.t == 1 and net.normalized, "linear maps must be of one token and normalized scores")
        q, proof = [min(d[i - 1], d[i], h * b[i]) for i in range(1, l + 1)], "docs/transformers.md, Proposition 10"
        most = D(m, n, d[0]) if ends else min(D(d[0], d[0], sum(q)), sum(D(d[0], d[0], x) for x in q))
        want = [most if net.skip else D(m, n, min(d + q))]
    else:
        need(variety == "head forms", f"there must be a variety of this name: {shown(variety)}")
        need(
            l == 1 < h and not (net.normalized or ends or net.skip),
            "head forms must be of one layer of lightning heads",
        )
        rank, forms, proof = min(*d, b[1]), d[0] * (d[0] + 1) // 2, "docs/transformers.md, Proposition 9"
        want = [min(D(d[1], d[0] * forms, h * rank), D(d[0] * d[1], forms, h * a[1] * rank))]
    need(pieces == want and all(type(x) is int for x in pieces), f"the pieces of {variety} must be {str(want)[:200]}")
    need(bound == sum(want), f"the bound must be the sum of its pieces, {sum(want)}")
    return f"{variety} ({proof})"


def span(net: Network, data: Any) -> str:
    _, bound = fields(data, "an upper bound", "kind", "bound")
    n, l, linear = net.n, net.l, net.n * (net.skip and not net.embed and not net.unembed)
    need(not net.normalized and l <= LAYERS, f"a span must be of lightning layers, at most {LAYERS}")
    need(net.line or l == 1, "a span must be of one token, one input row without mask, or one layer")
    total = (3**l + 1) // 2 if net.skip else 1
    if n > 1 and net.t == 1:
        need(l <= 12, "the span of one token must be of at most 12 layers")
        total = 0
        for k in range(1 if net.skip else 3**l, 3**l + 1, 2):
            ways = 1
            for j in range(1, min(k, n - 1) + 1):  # C(n + k - 1, j), which increases; beyond 10^20 no bound reaches it
                ways = ways * (n + k - j) // j if ways <= HUGE else ways
                if ways > HUGE:
                    break
            total += ways
            if total > HUGE:
                break
    elif not net.line:
        total = n * (n * (n + 1) // 2) + n * net.skip
    need(bound >= net.m * (total - linear), f"the bound must be at least {net.m * (total - linear)}, it is {bound}")
    return "the linear span (docs/transformers.md, Proposition 14)"


def dimension(data: Any) -> str:
    names = "format version kind network lower upper lower_bound upper_bounds"
    _, _, _, network, lower, upper, below, above = fields(data, "a certificate", *names.split())
    net, r, u = Network(network), whole(lower, "lower", 0, HUGE), whole(upper, "upper", 0, HUGE)
    proofs, bounds = [lower_bound(net, r, below)], list[int]()
    for item in array(above, "upper_bounds"):
        need(type(item) is dict, "an upper bound must be an object")
        kinds = {"orbit": directions, "directions": directions, "factorization": factorization, "span": span}
        kind = item.get("kind")
        need(type(kind) is str and kind in kinds, f"there must be an upper bound of this kind: {shown(kind)}")
        bounds.append(whole(item.get("bound"), "a bound", 0, HUGE))
        proofs.append(kinds[kind](net, item))
    need(bounds and u == min(bounds) and r <= u, "upper must be the smallest bound, and lower not larger")
    claim = f"dim M = {u}" if r == u else f"{r} <= dim M <= {u}"
    return f"{claim}, over the real and over the complex numbers, by {'; '.join(proofs)}"


class Polynomial(dict[int, Fraction]):
    """Coefficients of monomials, which are numbers with some bits for each exponent: a product of them is a sum."""

    def __add__(self, other: "Polynomial") -> "Polynomial":
        found = Polynomial(self)
        for monomial, x in other.items():
            found[monomial] = found.get(monomial, Fraction()) + x
        need(len(found) <= TERMS, f"an expansion must have at most {TERMS:,} terms, this has more")
        return Polynomial({monomial: x for monomial, x in found.items() if x})

    def __radd__(self, zero: int) -> "Polynomial":
        return self

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        spend(len(self) * len(other) * 20)
        found = Polynomial()
        for monomial, x in self.items():
            for factor, y in other.items():
                found[monomial + factor] = found.get(monomial + factor, Fraction()) + x * y
            need(len(found) <= TERMS, f"an expansion must have at most {TERMS:,} terms, this has more")
        return found


def bits(a: Matrix) -> int:
    """The size of the largest numerator and denominator together."""
    numbers = (y for row in a for x in row for y in (x.values() if type(x) is Polynomial else [x]))
    return max((x.numerator.bit_length() + x.denominator.bit_length() for x in numbers), default=0)


def times(*factors: Matrix, p: int | None = None) -> Matrix:
    a = factors[0]
    for b in factors[1:]:
        size, columns = (bits(a) + bits(b)) * len(b), T(b)
        spend(len(a) * len(columns) * len(b) * (10 + (size // 256) ** 2))
        need(size * (len(a) * len(columns)) <= 2**32 and size <= BITS, "the numbers must have fewer digits")
        terms, left_rows, a = 0, a, list[list[Any]]()
        for row in left_rows:
            a.append([])
            for column in columns:
                x = sum(map(mul, row, column))
                a[-1].append(x % p if p else x)
                terms += len(x) if type(x) is Polynomial else 0
                need(terms <= TERMS, f"an expansion must have at most {TERMS:,} terms, this has more")
    return a


def table(data: Any) -> Matrix:
    rows = [[rational(x) for x in array(row, "a row")] for row in array(data, "a matrix")]
    need(rows and rows[0] and len(set(map(len, rows))) == 1, "a matrix must have rows of equal length, not zero")
    return rows


def weights(data: Any) -> list[list[Matrix]]:
    """Q, K, V of each layer."""
    need(type(data) is dict and len(data) <= 3 * LAYERS, f"weights must be an object of at most {LAYERS} layers")
    names = [f"{s}{i}" for i in range(1, max(1, len(data) // 3) + 1) for s in "QKV"]
    flat = [table(x) for x in fields(data, "weights", *names)]
    layers = [flat[j : j + 3] for j in range(0, len(flat), 3)]
    width = len(flat[2][0])
    for q, k, v in layers:
        need(len(q) == len(k) and len(q[0]) == len(k[0]) == len(v[0]) == width, "the shapes of weights must fit")
        width = len(v)
    return layers


def output(layers: list[list[Matrix]], x: Matrix, p: int | None = None) -> Matrix:
    for q, k, v in layers:
        x = times(v, x, T(x), T(k), q, x, p=p)
    return x


def pair(data: Any) -> tuple[int, list[list[Matrix]], list[list[Matrix]]]:
    first, second = weights(data["first"]), weights(data["second"])
    same = len(first[0][0][0]) == len(second[0][0][0]) and len(first[-1][2]) == len(second[-1][2])
    need(same, "both networks must have the same input and output width")
    return whole(data["tokens"], "tokens"), first, second


def different(data: Any) -> str:
    names = "format version kind tokens first second input prime"
    *_, x, p = fields(data, "a certificate", *names.split())
    t, *networks = pair(data)
    x = matrix(x, len(networks[0][0][0][0]), t, "the input", HUGE, -HUGE)
    if p is not None:
        p = prime(p)
        numbers = [y for layers in networks for layer in layers for m in layer for row in m for y in row]
        need(all(y.denominator % p for y in numbers), "the prime must divide no denominator")
        networks = [[[residues(m, p) for m in layer] for layer in layers] for layers in networks]
    need(output(networks[0], x, p) != output(networks[1], x, p), "the outputs must differ, they are equal")
    return f"the networks differ: so do their outputs at an input, over the rationals{f' and modulo {p}' * bool(p)}"


def residues(m: Matrix, p: int) -> Matrix:
    return [[x.numerator * pow(x.denominator, -1, p) % p for x in row] for row in m]


def invertible(m: Matrix) -> bool:
    """By its rank modulo a prime. A determinant divisible by all three primes is refused, which is the safe side."""
    good = [p for p in (4194301, 4194287, 4194277) if all(x.denominator % p for row in m for x in row)]
    return len(m) == len(m[0]) and any(rank(residues(m, p), p) == len(m) for p in good)


def rank(m: Matrix, p: int) -> int:
    echelon = Echelon(p, len(m[0]))
    return sum(echelon.add(pack(row)) is None for row in m)


def thin(m: Matrix) -> bool:
    """Rank at most one: all rows are multiples of one."""
    top = next((row for row in m if any(row)), m[0])
    c = next((c for c, x in enumerate(top) if x), 0)
    return all(row[j] * top[c] == row[c] * top[j] for row in m for j in range(len(top)))


def virtual(layers: list[list[Matrix]], t: int) -> tuple[list[Matrix], Matrix, int]:
    """A~_1, ..., A~_l and V~, and how many of the A~ count with their skew parts."""
    P, A = [unit(len(layers[0][0][0]))], list[Matrix]()
    for q, k, v in layers:
        A.append(times(T(P[-1]), T(k), q, P[-1]))
        P.append(times(v, P[-1]))
    return A, P[-1], 0 if t == 1 else next((i + 1 for i in range(len(A)) if thin(A[i]) or thin(P[i])), len(A))


def skew(m: Matrix) -> bool:
    return all(x == -y for row, column in zipped(m, T(m)) for x, y in zipped(row, column))


def step(data: Any, t: int, first: list[list[Matrix]], second: list[list[Matrix]]) -> str:
    extra = {"group": "query_key between scales", "rescaling": "factors value_factor", "layer": "layer"}
    kind = data["step"]
    extra |= {"zero": "", "coefficients": ""}
    need(type(kind) is str and kind in extra, f"there must be a step of this name: {shown(kind)}")
    values = fields(data, f"a step {kind}", "step", *extra[kind].split())[1:]
    l, shapes = len(first), [[[(len(m), len(m[0])) for m in layer] for layer in layers] for layers in (first, second)]
    same = shapes[0] == shapes[1]
    (A, V, free), (A2, V2, free2) = (virtual(layers, t) for layers in (first, second))
    if kind == "group":
        C, G, x = (array(value, name, l - (name == "between")) for name, value in zipped(extra[kind].split(), values))
        C, G, x = [table(m) for m in C], [table(m) for m in G], [rational(y) for y in x]
        need(same and all(x) and all(map(invertible, C + G)), "a group step must be invertible, between equal shapes")
        G = [unit(len(V[0])), *G, unit(len(V))]
        for (q, k, v), (q2, k2, v2), c, (g, h), y in zipped(first, second, C, itertools.pairwise(G), x):
            fits = len(c) == len(q) and len(g) == len(q[0]) and len(h) == len(v)
            fits = fits and times(T(c), q2, g) == scaled(y, q) and times(k2, g) == times(c, k)
            need(fits and scaled(y, times(v2, g)) == times(h, v), "the group element must map one network to the other")
    elif kind == "rescaling":
        x, y = [rational(v) for v in array(values[0], "factors", l)], rational(values[1])
        need(all(x) and y and l == len(second), "factors must not be zero, one for each layer of both networks")
        powers = [(y, 1), *((z, 3 ** (l - 1 - i)) for i, z in enumerate(x))]
        size = sum((z.numerator.bit_length() + z.denominator.bit_length() - 2) * e for z, e in powers)
        need(size <= BITS, "the powers of the factors must have fewer digits")
        over, under = prod(z.numerator**e for z, e in powers), prod(z.denominator**e for z, e in powers)
        need(under == over, "the factors must multiply to 1")
        for i in range(l):
            m = [[b - x[i] * a for a, b in zipped(*rows)] for rows in zipped(A[i], A2[i])]
            need(
                not any(map(any, m)) or i >= max(free, free2) and skew(m),
                f"layer {i + 1} must be rescaled by its factor",
            )
        need(scaled(y, V) == V2, "the values must be rescaled by their factor")
    elif kind == "layer":
        i = whole(values[0], "the layer", 1, l) - 1
        need(same and first[:i] + first[i + 1 :] == second[:i] + second[i + 1 :], "all other layers must be equal")
        need(forms(*first[i]) == forms(*second[i]), f"the forms of layer {i + 1} must be equal")
    elif kind == "zero":
        for a, v, start in (A, V, free), (A2, V2, free2):
            zero = not any(map(any, v)) or any(not any(map(any, m)) or i >= start and skew(m) for i, m in enumerate(a))
            need(zero, "both networks must be seen to be zero")
    else:
        need(expanded(first, t) == expanded(second, t), "all coefficients must agree")
    return str(kind)


def scaled(x: Fraction, m: Matrix) -> Matrix:
    return [[x * y for y in row] for row in m]


def forms(q: Matrix, k: Matrix, v: Matrix) -> list[Fraction]:
    """V_kl A_ij + V_ki A_lj: all that a layer depends on."""
    a, d = times(T(k), q), range(len(q[0]))
    spend(40 * len(v) * len(d) ** 3)
    return [row[n] * a[i][j] + row[i] * a[n][j] for row in v for i in d for n in d for j in d]


def expanded(layers: list[list[Matrix]], t: int) -> Matrix:
    """The output as polynomials in the entries of X."""
    width = (3 ** len(layers)).bit_length()
    d = len(layers[0][0][0])
    need(d * t * width <= MONOMIAL, "an expansion must have fewer variables")
    x = [[Polynomial({1 << width * (i * t + j): Fraction(1)}) for j in range(t)] for i in range(d)]
    return output(
        [[[[Polynomial({0: y} if y else {}) for y in row] for row in m] for m in layer] for layer in layers], x
    )


def equal(data: Any) -> str:
    _, _, _, _, _, _, steps = fields(
        data, "a certificate", "format", "version", "kind", "tokens", "first", "second", "steps"
    )
    t, here, second = pair(data)
    used = []
    for j, item in enumerate(array(steps, "steps")):
        last = j == len(steps) - 1
        need(type(item) is dict and "step" in item and ("to" in item) != last, "all steps but the last must have to")
        there = second if last else weights(item["to"])
        used.append(step({key: value for key, value in item.items() if key != "to"}, t, here, there))
        here = there
    need(used, "there must be a step")
    return (
        f"the networks are the same function of {t} tokens, over every field of characteristic 0, by: {', '.join(used)}"
    )


def check(data: Any) -> str:
    """What a certificate proves."""
    kinds = {"dimension": dimension, "same": equal, "different": different}
    need(type(data) is dict, "a certificate must be an object")
    need(data.get("format") == "lightning-sym/certificate", "the format must be lightning-sym/certificate")
    need(
        type(data.get("version")) is int and data["version"] == 1,
        f"the version must be 1, it is {shown(data.get('version'))}",
    )
    kind = data.get("kind")
    need(type(kind) is str and kind in kinds, f"the kind must be one of {', '.join(kinds)}")
    return kinds[kind](data)


def main(arguments: list[str] | None = None) -> int:
    files = sys.argv[1:] if arguments is None else arguments
    if not files or files[0] in ("-h", "--help"):
        print(__doc__)
        return 2
    proved = 0
    for path in files:
        left[0] = STEPS
        try:
            answer = f"proved: {check(read(path))}"
            proved += 1
        except Rejected as reason:
            answer = f"rejected: {reason}"
        except (ValueError, OSError, MemoryError, RecursionError, OverflowError) as error:
            answer = f"rejected: it must be JSON in UTF-8 within the limits: {ascii(error)[:200]}"
        print(f"{path if path.isprintable() and path.isascii() else ascii(path)}: {answer}", flush=True)
    if proved == len(files):
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
