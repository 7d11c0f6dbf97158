# ruff: noqa: B905, E401, E731, E741, I001, N802, RUF021 - T, D and l are the names of the grammar
"""Check certificates (docs/certificate.md) with nothing but this file and the standard library.

    python verify.py FILE...        for example: python verify.py dimension.json

prints 'FILE: proved: ...' or 'FILE: rejected: ...' for each file. The exit code is 0 only if all prove what they claim,
1 if one does not, 2 if nothing was given to check. The theorems named in the answers are taken as given; all arithmetic
is redone. Only bounds of other kinds than orbit, large transformers and what has a form need more, beside this file."""
import importlib, itertools, json, math, pathlib, re, signal, struct, sys
from fractions import Fraction
from operator import mul
from typing import Any

if sys.version_info < (3, 11):  # this file can be read by much older ones, so that they say so  # noqa: UP036
    print(f"verify.py needs Python 3.11 or newer, this is {sys.version[:6]}", file=sys.stderr)
    sys.exit(2)
BYTES, STEPS, BITS = 2**24, 2 * 10**9, 2**18  # of a file; of about 0.1 microseconds, for a file; of a rational number
TERMS, LAYERS, HEADS, LONG = 512, 64, 4096, 10**20
ROOM, BRACKETS = 2**29, 2**21  # bytes of numbers that are made, for a file; lists and, four times, objects in it
SIZE, COUNT, SLOT, SIDE, left, room = range(1, 10**6 + 1), range(LONG), 2**64 - 1, 128, [STEPS], [ROOM]
Matrix = list[Any]

class Rejected(ValueError):
    """The file does not prove its claim; the message says what must be true."""
def need(condition: object, message: str) -> None:
    """Go on only if this is so."""
    if not condition:
        raise Rejected(message)
def spend(steps: int) -> None:
    """Said before work is done, so that no file takes forever."""
    old, left[0] = left[0], left[0] - steps
    if old // 10**8 > left[0] // 10**8 > 0 and sys.stderr.isatty():  # each ten seconds, about
        print(f"checking: {100 - 100 * left[0] // STEPS}% of the steps that a file may take", file=sys.stderr)
    need(left[0] >= 0, f"checking must take at most {STEPS:,} steps, this takes {STEPS - left[0]:,} or more")
def keep(size: int) -> None:
    """Said before numbers of so many bytes are made, so that no file takes more than 1 GiB of memory in all."""
    room[0] -= size
    need(room[0] >= 0, f"numbers must fit into {ROOM:,} bytes of memory, these need more")
# ---- what stands in a file
def read(path: str) -> Any:
    """The JSON value in a file."""
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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
def take(value: Any, what: str, form: Any) -> Any:
    """A value that must be of this form: a range of integers; a list [form] of any size, or [form, size]; an object
    {key: form}, of which the values are given back; (form,) or null; a type; or what a function makes of it."""
    found = f"found a {type(value).__name__}" if type(value) in (list, dict) else f"found {str(value)[:40]!a}"
    if type(form) is tuple:
        return None if value is None else take(value, what, form[0])
    if type(form) is list:
        good = type(value) is list and len(value) in (form[1:] or [len(value)])
        need(good, f"{what} must be a list" + "".join(f" of {size}" for size in form[1:]) + f", {found}")
        plain = type(form[0]) is range and all(type(x) is int and x in form[0] for x in value)
        keep(0 if plain else 112 + 9 * len(value))
        return value if plain else [take(x, what, form[0]) for x in value]
    if type(form) is dict:
        odd = ascii(sorted(value.keys() ^ form.keys()))[:80] if type(value) is dict else found
        need(odd == "[]", f"{what} must be an object with {', '.join(form)[:200]}; missing or unknown: {odd}")
        return [take(value[key], key, each) for key, each in form.items()]
    if type(form) is range:
        need(type(value) is int and value in form, f"{what} must be an integer from {form[0]} to {form[-1]}, {found}")
    elif form in (bool, str, dict):
        need(type(value) is form, f"{what} must be of type {form.__name__}, {found}")
    return value if type(form) is range or form in (bool, str, dict, object) else form(value)
def _prime(value: Any, least: int = 3) -> int:  # below 2^22
    p = int(take(value, "the prime", range(least, 2**22)))
    need(all(p % k for k in range(2, int(p**0.5) + 1)), f"the modulus must be a prime, {p} is none")
    return p
def _rational(value: Any) -> Fraction:  # an integer, or a string
    good = type(value) is not str or re.fullmatch(r"-?[0-9]{1,4000}(/(?!0+$)[0-9]{1,4000})?", value)
    need(good, f'a rational number must look like "-2/3", found {str(value)[:40]!a}')
    keep(112 + len(value) // 2 if type(value) is str else 48)
    return Fraction(value if type(value) is str else take(value, "a rational number", range(1 - LONG, LONG)))
def _table(value: Any) -> Matrix:  # a matrix of rational numbers
    rows: Matrix = take(value, "a matrix", [[_rational]])
    need(rows and rows[0] and len(set(map(len, rows))) == 1, "a matrix must have rows of equal length, not zero")
    return rows
class Network:
    """The shape. Layers count from 1: a[0], b[0] stand for nothing. b[i] is d[i-1] where there are no value ranks."""
    def __init__(self, data: Any) -> None:
        self.d, a, self.t, g, self.h, b, self.skip, self.causal, self.embed, self.unembed = take(data, "network", {
            "widths": [SIZE], "attention_ranks": [SIZE], "tokens": SIZE, "normalization": (dict,), "heads": SIZE,
            "value_ranks": ([SIZE],), "skip": bool, "causal": bool, "embed": (SIZE,), "unembed": (SIZE,)})
        d, self.l, self.normalized, self.g = self.d, len(self.d) - 1, g is not None, list[Fraction]()
        need(0 < self.l * self.h <= HEADS, f"there must be from 1 to {HEADS:,} heads in all layers")
        need(len(a) == self.l == len(a if b is None else b), f"there must be {self.l} ranks, one for each layer")
        need(not self.skip or len(set(d)) == 1, "with skip connections all widths must be equal")
        self.name = "softmax attention" if self.normalized else "lightning attention"
        if self.normalized and g != {"name": "softmax"}:
            name, self.g = take(g, "a normalization other than softmax", {"name": str, "taylor": [_rational]})
            need(name != "softmax" and any(self.g) and len(self.g) <= 1000, "taylor must not be of softmax, nor 0")
            series = ", ".join(map(str, self.g))
            series = series[:200] + "..." * (len(series) > 200)
            self.name = f"attention normalized by {name[:40]!a} (taylor {series})"
        self.a, self.b, self.letters = [0, *a], [0, *(d[:-1] if b is None else b)], "QKV" if b is None else "QKVO"
        self.n, self.m, self.ends = self.embed or d[0], self.unembed or d[-1], bool(self.embed or self.unembed)
        self.heads = list(itertools.product(range(1, self.l + 1), range(self.h)))
        sizes = {"widths": d, "ranks": a, "tokens": self.t, "heads": self.h, "value ranks": b, "skip": self.skip,
            "mask": self.causal, "embed": self.embed, "unembed": self.unembed}
        says = (f"{key} {value}".removesuffix(" True") if value else f"no {key}" for key, value in sizes.items())
        self.name += f" of {', '.join(says)}"  # in full, for it is what the claim is about
# ---- arithmetic modulo p
def pack(values: Any, code: str = "Q") -> int:
    """One integer with 64 bits for each number: a multiple of a row, or a product of series, is one operation."""
    return int.from_bytes(struct.pack(f"<{len(values)}{code}", *values), "little")
def unpack(number: int) -> Any:
    """The numbers again, without zeros at the end."""
    count = (number.bit_length() + 63) // 64
    return struct.unpack(f"<{count}Q", number.to_bytes(8 * count, "little"))
def parities(number: int, slot: int = 64) -> int:
    """The numbers modulo 2, one bit for each: of the last hexadecimal digits of the slots."""
    return int(f"{number:x}"[::-slot // 4][::-1].translate(str.maketrans("0123456789abcdef", "01" * 8)), 2)
def T(a: Matrix) -> Matrix:
    """The transposed matrix."""
    return list(map(list, zip(*a)))
class Echelon:
    """Packed rows modulo p in echelon form. Slots have room for 10^6 multiples of rows, more than can be afforded. Rows
    move on by 32 slots at a time; those kept have their pivots where rows that they are added to have the entry."""
    def __init__(self, p: int, width: int) -> None:
        self.p, self.width, self.rows, self.kept = p, width, dict[int, int](), 0
    def hold(self, column: int, row: int) -> int | None:
        size = 100 + row.bit_length() // 7
        keep(size)
        self.rows[column], self.kept = row, self.kept + size
        return None
    def add(self, row: int) -> int | None:  # None if it was independent, else what is left behind the first entries
        spend(self.width * (4 + row.bit_length() // 2048))
        for column in range(self.width):
            row, at = (row if column % 32 or not column else row >> 2048), 64 * (column % 32)
            entry = ((row & SLOT << at) >> at) % self.p
            if entry and column not in self.rows:  # scaled, so that its pivot is 1
                inverse = pow(entry, -1, self.p)
                return self.hold(column, pack([x * inverse % self.p for x in unpack(row >> at)]) << at)
            if entry:
                spend(self.rows[column].bit_length() // 2048)
                row += (self.p - entry) * self.rows[column]
        return row >> 64 * (self.width - max(self.width - 1, 0) // 32 * 32)
class Bits(Echelon):
    """The same modulo 2, of rows of bits. They are kept by their lengths, which become less when rows are added."""
    def add(self, row: int) -> int | None:
        spend(self.width + len(self.rows) * (2 + row.bit_length() // 8192))
        while row and row.bit_length() in self.rows:
            row ^= self.rows[row.bit_length()]
        return self.hold(row.bit_length(), row) if row else 0
class Tape:
    """Matrices of power series in u modulo p and u^n, and ways back from each to what it was made of, for derivatives
    of functionals of the last one, up to `side` of them side by side. An entry is one integer, with 64 bits for a
    coefficient, modulo 2, where n = 1, 16 bits, and, so that products have room, 2 n - 1 coefficients for a series."""
    def __init__(self, p: int, n: int, shift: int) -> None:
        self.p, self.n, self.size, self.shift, self.ways = p, n, 2 * n - 1, shift, list[Any]()
        self.slot, self.code, self.side = (16, "H", 4 * SIDE) if p == 2 else (64, "Q", SIDE)
        self.bits = self.slot * self.size  # of a series
        self.mask = ((1 << self.bits * self.side) - 1) // ((1 << self.bits) - 1) * (1 if p == 2 else (1 << 64 * n) - 1)
    def reduce(self, x: int) -> int:  # modulo p and u^n
        x &= self.mask
        return x if self.p == 2 else x % self.p if x <= SLOT else pack([c % self.p for c in unpack(x)])
    def product(self, a: Matrix, b: Matrix, k: int = 1) -> Matrix:  # a b^T; k series side by side, in a or in b
        spend(len(a) * len(b) * (len(a[0]) * (1 + k * self.bits * self.n // 1024) + k * self.bits // 64 + 8))
        return [[self.reduce(sum(map(mul, x, y))) for y in b] for x in a]
    def times(self, x: int, y: int, k: int = 1) -> int:
        spend(9 + k * self.bits * (self.n + 16) // 1024)
        return self.reduce(x * y)
    def made(self, m: Matrix, way: Any = None, k: int = 1) -> Matrix:  # way: from k derivatives by m to those by others
        spend(len(m) * len(m[0]) * (k * self.bits // 64))
        keep(2 * len(m) * (64 + len(m[0]) * (40 + k * self.bits // 7)))  # twice, for more is made on the way
        self.ways += [(m, way)] * bool(way)
        return m
    def dots(self, a: Matrix, b: Matrix) -> Matrix:  # a b^T
        return self.made(self.product(a, b),
            lambda d, k: [(a, self.product(d, T(b), k)), (b, self.product(T(d), T(a), k))])
    def add(self, *terms: Matrix) -> Matrix:
        total = [[self.reduce(sum(each)) for each in zip(*rows)] for rows in zip(*terms)]
        return self.made(total, lambda d, k: [(m, d) for m in terms])
    def seen(self, scores: Matrix, causal: bool) -> Matrix:  # without those that a mask hides
        hide: Any = lambda m: [[x * (j <= i or not causal) for j, x in enumerate(row)] for i, row in enumerate(m)]
        return self.made(hide(scores), lambda d, k: [(scores, hide(d))])
    def pattern(self, scores: Matrix, g: Any, given: Any, causal: bool) -> Matrix:  # g of scores, divided by the sums
        values, slopes, shift = list[Any](), list[Any](), 0 if given else self.shift
        for i, row in enumerate(scores):
            value, slope = (given[i],) * 2 if given else ([0] * len(row),) * 2
            row = [x << shift & self.mask for x in row]  # scores of an input eps Z have a factor u
            for c in reversed(g):  # Horner
                slope = [self.times(s, x) + v for s, v, x in zip(slope, value, row)]
                value = [self.times(v, x) + c for v, x in zip(value, row)]
            value, slope = ([self.reduce(x << by) * (j <= i or not causal) for j, x in enumerate(each)]
                for each, by in ((value, 0), (slope, shift)))
            total = self.reduce(sum(value))
            need(total & SLOT, "no column sum of the normalized scores may be 0 modulo the prime")
            inverse = pow(total & SLOT, -1, self.p)
            for _ in range((self.n - 1).bit_length()):  # Newton: each step doubles the coefficients that are right
                inverse = self.times(inverse, self.reduce(2 + (self.p - 1) * self.times(total, inverse)))
            values.append([self.times(x, inverse) for x in value])
            slopes.append([self.times(x, inverse) for x in slope])
        def way(d: Matrix, k: int) -> Any:  # of a quotient: derivatives less their mean by the values
            means = [(self.p - 1) * self.product([row], [v], k)[0][0] for row, v in zip(d, values)]
            return [(scores, [[self.times(self.reduce(x + mean), s, k) for x, s in zip(row, slope)]
                for row, slope, mean in zip(d, slopes, means)])]
        return self.made(values, way)
    def back(self, last: Matrix, derivatives: Matrix, k: int) -> dict[int, Matrix]:  # k of them, by id of a matrix
        found = {id(last): derivatives}
        for m, way in reversed(self.ways):
            for other, new in way(found.pop(id(m)), k) if id(m) in found else ():
                old = found.get(id(other))
                new = new if old is None else [[self.reduce(x + y) for x, y in zip(*rows)] for rows in zip(old, new)]
                found[id(other)] = self.made(new, None, k)
        return found
class Point:
    """Weights modulo p by name, ("Q", i, k) in head k of layer i, and at which number the entries of each begin."""
    def __init__(self, net: Network, data: Any, p: int) -> None:
        self.net, self.p, self.size, self.w, self.place = net, p, 0, dict[Any, Matrix](), dict[Any, int]()
        keys: list[Any] = [(s, i, k) for i, k in net.heads for s in net.letters]
        keys = [("E", 0, 0)] * bool(net.embed) + keys + [("U", net.l + 1, 0)] * bool(net.unembed)
        for (s, i, k), value in zip(keys, take(data, "weights", [object, len(keys)])):
            a, b, out, width = (sizes[min(i, net.l)] for sizes in (net.a, net.b, net.d, [0, *net.d]))
            shapes = {"E": (out, net.n), "O": (out, b), "U": (net.m, out), "V": (b, width)}
            rows, columns = (out, width) if (s, net.letters) == ("V", "QKV") else shapes.get(s, (a, width))
            self.w[s, i, k] = take(value, f"{s} of layer {i}", [[range(p), columns], rows])
            self.place[s, i, k], self.size = self.size, self.size + rows * columns
    def output(self, x: Matrix, g: Any, tape: Tape, given: Any = ()) -> Matrix:  # tokens as rows
        net, w, dots, drawn = self.net, self.w, tape.dots, itertools.chain(given, itertools.repeat(None))
        x = dots(x, w["E", 0, 0]) if net.embed else x
        for i in range(1, net.l + 1):
            terms = [x] if net.skip else []
            for k in range(net.h):
                q, key, y = dots(x, w["Q", i, k]), dots(x, w["K", i, k]), dots(w["V", i, k], x)
                rows, table = dots(q, key), next(drawn)
                good = rows != T(rows) or net.causal or not table or table == T(table)
                need(good, "exponentials of equal scores must be equal")
                pattern = tape.pattern(rows, g, table, net.causal) if net.normalized else tape.seen(rows, net.causal)
                y = dots(pattern, y)
                y = dots(y, w["O", i, k]) if "O" in net.letters else y
                terms.append(y)
            x = tape.add(*terms) if len(terms) > 1 else y
        return dots(x, w["U", net.l + 1, 0]) if net.unembed else x
    def gradients(self, out: Matrix, tape: Tape, functionals: Any, columns: list[int]) -> Any:  # of sums C_k Y_k, there
        slopes = [[pack([c for C in functionals for c in ([D[i][j] for D in C[::-1]] + [0] * (tape.n - 1))], tape.code)
            for i in range(len(row))] for j, row in enumerate(out)]
        found = tape.back(out, slopes, len(functionals))
        flat = [x for m in self.w.values() for row in found.get(id(m), [[0] * len(m[0])] * len(m)) for x in row]
        if self.p > 2:
            every = (unpack(flat[c])[tape.n - 1::tape.size] for c in columns)
            return map(pack, itertools.zip_longest(*every, fillvalue=0))
        size = 2 * len(functionals)  # bytes of an entry, of which each second one is 0 or 1
        data = b"".join(flat[c].to_bytes(size, "little") for c in columns)
        return (int(data[j::size].translate(bytes.maketrans(b"\0\1", b"01")), 2) for j in range(0, size, 2))
    def tangents(self, family: str) -> Any:  # directions of a family of symmetries (section 2.2), packed
        def row(key: Any, r: int, c: int, sign: int = 1) -> int:  # row r gets row c
            return pack([sign * x % self.p for x in w[key][c]]) << 64 * (self.place[key] + r * len(w[key][0]))
        def column(key: Any, r: int, c: int) -> int:  # column c loses column r
            width = len(w[key][0])
            return pack([y for x in w[key] for y in (-x[r] % self.p, *[0] * (width - 1))]) << 64 * (self.place[key] + c)
        net, w, bases = self.net, self.w, list[Any]()  # the weights with dW = X W, with dW = - X^T W, with dW = - W X
        places = [range(net.l + 1)] * bool(net.embed and net.unembed) if net.skip else [[j] for j in range(net.l + 1)]
        for at in places if family == "stream" else ():  # with skip all share one basis, which both ends must admit
            new = [key for key in w if key[0] in "E" + net.letters[-1] and key[1] in at]
            bases.append((new, [], [key for key in w if key[0] in "QKVU" and key[1] - 1 in at]))
        for q, key, v, o in ([(s, i, k) for s in "QKVO"] for i, k in net.heads):
            bases += {"query-key": [[[key], [q], []]], "value-output": [[[v], [], [o]]]}.get(family, [])
            if family == "homogeneous" and len(w[q]) == 1:
                yield from (1 << 64 * (self.place[q] + c) for c in range(len(w[q][0])))
            elif family in ("homogeneous", "scale"):
                values = sum(row(v, r, r, -1) for r in range(len(w[v]))) if family == "scale" else 0
                yield sum(row(q, r, r) for r in range(len(w[q]))) + values
        for new, dual, old in (each for each in bases if each[0] and each[1] + each[2]):
            for r, c in itertools.product(range(len(w[new[0]])), repeat=2):
                gained = sum(row(key, r, c) for key in new) + sum(row(key, c, r, -1) for key in dual)
                yield gained + sum(column(key, r, c) for key in old)
# ---- bounds of dimensions
def _lower_bound(net: Network, r: int, data: Any) -> str:  # a minor of the differential that is not zero modulo p
    p, terms, weights, rows, columns = take(data, "lower_bound", {"prime": lambda x: _prime(x, 2),
        "terms": (range(2, TERMS + 1),), "weights": object, "rows": [object, r], "columns": [COUNT, r]})
    n, g, free = terms or 1, net.g, net.normalized and not net.g
    need(g or not terms, "terms must be null without Taylor coefficients of a normalization")
    good = p > max(net.t, 2 * n) and all(c.denominator % p for c in g) and (not terms or g[0].numerator % p)
    need(good or p == 2 and not g, "the prime must be larger than tokens and twice the terms, divide no denominator "
        "of g, and not g_0; without g it may be 2")
    g = [c.numerator * pow(c.denominator, -1, p) % p for c in g[:terms]]
    point, tape = Point(net, weights, p), Tape(p, n, 64 if terms else 0)
    most = max(2 * max(*net.d, *net.a, *net.b, net.t, net.n, net.m), net.m * net.t)
    need(n * most * p * p < 2**tape.slot, f"sizes and terms must be smaller, so that sums fit into {tape.slot} bits")
    need(all(a < b for a, b in itertools.pairwise([*columns, point.size])), "columns must increase, and be parameters")
    form = {"input": [[range(p), net.t], net.n], "functional": [[[range(p), net.t], net.m], n]}
    form |= {"exponentials": [[[range(p), net.t], net.t], len(net.heads)]} if free else {}  # of scores: any numbers
    read, echelon, full = (take(row, "a row", form) for row in rows), (Bits if p == 2 else Echelon)(p, r), room[0]
    for (x, *given), group in itertools.groupby(read, lambda row: [row[0], *row[2:]]):
        tape.ways, functionals = [], [row[1] for row in group]
        out, used = point.output(T(x), g, tape, *given), room[0] + echelon.kept
        for j in range(0, len(functionals), tape.side):
            for row in point.gradients(out, tape, functionals[j:j + tape.side], columns):
                echelon.add(row)
            room[0] = used - echelon.kept  # what the tape has made on the way back is gone
        room[0] = full - echelon.kept
    need(len(echelon.rows) == r, "the minor must not be 0")
    return f"a minor of the differential modulo {p}" + " (docs/transformers.md, section 1)" * bool(free or terms)
def _more(name: str, what: str) -> Any:  # what lies beside this file; it imports this one, however that was started
    folder = pathlib.Path(__file__).resolve().parent
    need((folder / name).exists(), f"{what} needs {name} beside verify.py")
    sys.modules.setdefault("proofs_check.checker", type(sys)("checker")).__path__ = [str(folder)]
    sys.modules.setdefault("proofs_check.checker.verify", sys.modules[__name__])
    return importlib.import_module(f"proofs_check.checker.{name.removesuffix('.py')}")
def _counted(net: Network, data: Any) -> str:  # the dimension of a variety or of a space with all functions
    return str(_more("counts.py", "a bound by a count").prove(net, data))
def _orbit(net: Network, data: Any) -> str:  # parameters less the rank of directions
    kind, bound, p, weights, families = take(data, "an upper bound", {
        "kind": str, "bound": COUNT, "prime": lambda x: _prime(x, 2), "weights": object, "families": [str]})
    need(p > 2 or kind == "orbit", "the prime of directions must be odd")
    more: Any = _more("directions", "a bound of kind directions") if kind == "directions" else None
    point, unseen = Point(net, weights, p), more.families(net) if more else {}
    has = {**unseen, "query-key": True, "value-output": "O" in net.letters, "stream": True, "scale": not net.normalized}
    has["homogeneous"] = sum(map(bool, net.g)) == 1
    for name in families:
        good = has.get(name) and families.count(name) == 1
        need(good, f"families must be ones of this network, each once, {name[:40]!a} is none")
    echelon, slots = (Bits(p, point.size), parities) if p == 2 else (Echelon(p, point.size), int)
    makers = (more.directions if x in unseen else Point.tangents for x in families)
    every = (slots(x) for make, name in zip(makers, families) for x in make(point, name))
    while point.size - len(echelon.rows) > bound and any(echelon.add(x) is None for x in every):
        pass  # as many directions as the bound needs
    found = point.size - len(echelon.rows)
    need(found <= bound, f"the bound must be at least {found}, parameters less the rank found, it is {bound}")
    return f"orbits (docs/upper-bound.md, Proposition 2){' and others (docs/transformers.md)' * (kind == 'directions')}"
def _dimension(data: Any) -> str:  # bounds of the dimension
    *_, net, r, u, below, above = take(data, "a certificate", {"format": str, "version": COUNT, "kind": str,
        "network": Network, "lower": COUNT, "upper": COUNT, "lower_bound": object, "upper_bounds": [dict]})
    kinds = {"orbit": _orbit, "directions": _orbit, "factorization": _counted, "span": _counted}
    need(all(str(x.get("kind")) in kinds for x in above), f"there must be upper bounds of the kinds {', '.join(kinds)}")
    proofs = [_lower_bound(net, r, below), *(kinds[x["kind"]](net, x) for x in above)]
    need(above and r <= u == min(x["bound"] for x in above), "upper must be the smallest bound, and lower not larger")
    claim = f"dim M = {u}" if r == u else f"{r} <= dim M <= {u}"
    return f"{claim}, for {net.name}, over the real and over the complex numbers, by {'; '.join(proofs)}"
# ---- the same function, or not
def _weights(data: Any) -> list[Any]:
    l = max(1, len(data) // 3 if type(data) is dict else 1)
    flat = take(data, "weights", {f"{s}{i}": _table for i in range(1, l + 1) for s in "QKV"})
    layers = [flat[j:j + 3] for j in range(0, 3 * l, 3)]
    good = l <= LAYERS and all(len(q) == len(k) and len(q[0]) == len(k[0]) == len(v[0]) for q, k, v in layers)
    good = good and all(len(old[2]) == len(new[2][0]) for old, new in itertools.pairwise(layers))
    need(good, f"the shapes of weights must fit, in at most {LAYERS} layers")
    return layers
def _ends(layers: list[Any]) -> tuple[int, int]:  # input and output width
    return len(layers[0][2][0]), len(layers[-1][2])
def _pair(data: Any, more: dict[str, Any]) -> list[Any]:
    form = {"format": str, "version": COUNT, "kind": str, "tokens": SIZE, "first": _weights, "second": _weights}
    t, *rest = take(data, "a certificate", form | more)[3:]
    need(_ends(rest[0]) == _ends(rest[1]), "both networks must have the same input and output width")
    widths = " and ".join(",".join(map(str, [_ends(w)[0], *(len(v) for _, _, v in w)])) for w in rest[:2])
    return [f"{t} tokens, for one-head lightning attention without mask or skip, of widths {widths}", t, *rest]
def _is(m: Matrix, x: Any, n: Matrix) -> bool:  # m = x n: first the shapes, then the entries
    spend(10 * len(m) * len(m[0]))
    good = (len(m), len(m[0])) == (len(n), len(n[0]))
    return good and all(a == x * b for one, other in zip(m, n) for a, b in zip(one, other))
def _bits(m: Matrix) -> tuple[int, int]:  # the most of a numerator and of a denominator
    lows = (x.denominator.bit_length() for row in m for x in row if x.denominator != 1)
    return max(x.numerator.bit_length() for row in m for x in row), max(lows, default=0)
def _sums(k: int, *sizes: tuple[int, int]) -> int:  # bits of a sum of k products of such numbers, above and below
    tops, lows = map(sum, zip(*sizes))
    return tops + k.bit_length() + 2 * k * lows
def _times(*factors: Matrix, p: int = 0) -> Matrix:  # the product, modulo p if there is one; [] stands for 1
    a, *others = (m for m in factors if m)
    for b in others:
        need(len(a[0]) == len(b), "the shapes of matrices that are multiplied must fit")
        bits = _sums(len(b), _bits(a), _bits(b))
        need(bits <= BITS, "the numbers must have fewer digits")
        spend(len(a) * len(b[0]) * len(b) * (10 + (bits // 256) ** 2))
        keep(sum(128 * (len(m) + len(m[0])) + 16 * len(m) * len(m[0]) for m in (a, b)))  # their lists, transposed
        keep(len(a) * len(b[0]) * (120 + bits // 7))
        columns = T(b)
        a = [[sum(map(mul, row, column)) % p if p else sum(map(mul, row, column)) for column in columns] for row in a]
    return a
def _symmetric(m: Matrix) -> Matrix:  # twice the symmetric part of a form
    keep((len(m) + 1) * (256 + len(m) * (136 + _sums(2, _bits(m)) // 7)))
    return [[a + b for a, b in zip(*rows)] for rows in zip(m, T(m))]
def _thin(m: Matrix) -> bool:  # of rank at most one: all rows are multiples of one
    top, c = next(((row, c) for row in m for c, x in enumerate(row) if x), (m[0], 0))
    return all(row[c] * y == top[c] * x for row in m for x, y in zip(row, top))
def _virtual(layers: list[Any], t: int) -> tuple[list[Matrix], Matrix, int]:
    """A~_1, ..., A~_l and V~, and how many of the A~ count with their skew parts."""
    P, A = list[Matrix]([[]]), list[Matrix]()
    for q, k, v in layers:
        A.append(_times(T(P[-1]), T(k), q, P[-1]))
        P.append(_times(v, P[-1]))
    thin = [i for i, m in enumerate(A, 1) if _thin(m)]  # as it is behind a product of values of rank one
    return A, P[-1], 0 if t == 1 else [*thin, len(A)][0]
def _group(t: int, first: list[Any], second: list[Any], C: list[Matrix], G: list[Matrix], x: list[Fraction]) -> None:
    need(len(first) == len(second) == len(C) == len(G) + 1 == len(x) and all(x), "each layer must have a scale, not 0")
    G = [[], *G, []]  # X_i' = G_i X_i, which is X_i at both ends
    for i, ((q, k, v), (q2, k2, v2)) in enumerate(zip(first, second)):
        good = _is(_times(T(C[i]), q2, G[i]), x[i], q) and _is(_times(k2, G[i]), 1, _times(C[i], k))
        good = good and _is(_times(G[i + 1], v), x[i], _times(v2, G[i]))
        need(good, "the group element must map one network to the other")
def _rescaling(t: int, first: list[Any], second: list[Any], x: list[Fraction], y: Fraction) -> None:
    l, (A, V, free), (A2, V2, free2) = len(first), _virtual(first, t), _virtual(second, t)
    need(all(x) and y and l == len(second) == len(x), "factors must not be zero, one for each layer of both networks")
    powers = [(y, 1), *((z, 3 ** (l - 1 - i)) for i, z in enumerate(x))]
    size = sum((z.numerator.bit_length() + z.denominator.bit_length() - 2) * e for z, e in powers)
    need(size <= BITS and math.prod(z**e for z, e in powers) == 1, "the factors must multiply to 1, and be short")
    for i in range(l):
        good = _is(A2[i], x[i], A[i]) or i >= max(free, free2) and _is(_symmetric(A2[i]), x[i], _symmetric(A[i]))
        need(good, f"layer {i + 1} must be rescaled by its factor")
    need(_is(V2, y, V), "the values must be rescaled by their factor")
def _layer(t: int, first: list[Any], second: list[Any], i: int) -> None:
    good = i <= len(first) == len(second) and first[:i - 1] + first[i:] == second[:i - 1] + second[i:]
    need(good, f"there must be a layer {i}, and the other layers must be equal")
    (v, a), (w, b) = ((v, _times(T(k), q)) for q, k, v in (first[i - 1], second[i - 1]))
    need((len(v), len(a)) == (len(w), len(b)), f"layer {i} must have the same widths")
    d, bits = range(len(a)), max(_sums(2, _bits(v), _bits(a)), _sums(2, _bits(w), _bits(b)))
    spend(len(v) * len(d) ** 3 * (40 + (bits // 256) ** 2))
    good = all(x[n] * a[h][j] + x[h] * a[n][j] == y[n] * b[h][j] + y[h] * b[n][j]
        for x, y in zip(v, w) for h in d for n in d[:h + 1] for j in d)  # all that a layer depends on
    need(good, f"the forms of layer {i} must be equal")
def _zero(t: int, *networks: list[Any]) -> None:
    for A, V, free in (_virtual(layers, t) for layers in networks):
        seen = itertools.chain([V, *A], map(_symmetric, A[free:]))
        need(any(not any(map(any, m)) for m in seen), "both networks must be seen to be zero")
def _equal(data: Any) -> str:  # steps from one network to the other
    name, t, here, second, steps = _pair(data, {"steps": [dict]})
    proofs: dict[str, Any] = {"zero": (_zero, {}), "layer": (_layer, {"layer": SIZE}),
        "group": (_group, {"query_key": [_table], "between": [_table], "scales": [_rational]}),
        "rescaling": (_rescaling, {"factors": [_rational], "value_factor": _rational})}
    for j, item in enumerate(steps, 1):
        need(str(item.get("step")) in proofs, f"there must be a step of this name, one of {', '.join(proofs)}")
        prove, form = proofs[item["step"]]
        there = _weights(item.pop("to", None)) if j < len(steps) else second
        need(_ends(there) == _ends(here), f"step {j} must keep the input and output width")
        free = room[0]
        prove(t, here, there, *take(item, f"step {j} of {len(steps)}", {"step": str} | form)[1:])
        here, room[0] = there, free  # what the step has made is gone
    used = ", ".join(item["step"] for item in steps)
    need(used, "there must be a step")
    return f"the same function of {name}; over every field of characteristic 0, by: {used}"
def _different(data: Any) -> str:  # outputs for an input that differ
    name, t, *networks, x, p = _pair(data, {"input": object, "prime": (_prime,)})
    x, outputs = take(x, "the input", [[range(1 - LONG, LONG), t], len(networks[0][0][2][0])]), list[Matrix]()
    for layers in networks:
        outputs.append(x)
        for m in layers:
            need(not p or all(z.denominator % p for w in m for r in w for z in r), "p must divide no denominator")
            keep(sum(64 * len(w) * (2 + len(w[0])) for w in m))
            q, k, v = ([[z.numerator * pow(z.denominator, -1, p) if p else z for z in row] for row in w] for w in m)
            y = outputs.pop()
            outputs.append(_times(v, y, T(y), T(k), q, y, p=p or 0))
    need(not _is(outputs[0], 1, outputs[1]), "the outputs must differ, they are equal")
    where = f"over the rationals{f' and modulo {p}' * bool(p)}"
    return f"different functions of {name}; their outputs differ at an input, {where}"
def check(data: Any) -> str:
    """What a certificate proves."""
    kinds: Any = {"dimension": _dimension, "same": _equal, "different": _different, "fiber": None,
        "transformer": lambda x: _more("transformers.py", "a large transformer").prove(x)}
    of = take(data, "a certificate", dict).get("format") == "lightning-sym/certificate", str(data.get("version")) == "1"
    need(all(of), "the format must be lightning-sym/certificate, and the version must be 1")
    need(str(data.get("kind")) in kinds, f"the kind must be one of {', '.join(kinds)}")
    plain = data["kind"] in ("dimension", "transformer") or "form" not in data and data["kind"] != "fiber"
    return str(kinds[data["kind"]](data) if plain else _more("functions", "a network with a form").prove(data))
def main(arguments: list[str] | None = None) -> int:
    """One line for each file; whether all are proved."""
    files, proved = sys.argv[1:] if arguments is None else arguments, 0
    if not files or files[0] in ("-h", "--help"):
        print(__doc__)
        return 2
    for path in files:
        left[0], room[0] = STEPS, ROOM
        try:
            answer = f"proved: {check(read(path))}"
            proved += 1
        except (ValueError, ArithmeticError, OSError, MemoryError, RecursionError) as error:
            general = f"it must be JSON in UTF-8, not nested too deeply or too large, {ascii(error)[:200]}"
            answer = f"rejected: {error if type(error) is Rejected else general}"
        print(f"{path if path.isprintable() and path.isascii() else ascii(path)}: {answer}", flush=True)
    return 0 if proved == len(files) else 1
if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))  # without a traceback
    sys.exit(main())
