"""The checker of certificates: networks whose dimensions are known, directions that must vanish, and files that lie."""

import copy
import itertools
import json
import random
import shutil
import subprocess
import sys
from fractions import Fraction
from math import factorial
from pathlib import Path

import pytest

import lightning_sym
from lightning_sym import Architecture, varieties
from proofs_check import verify, verify_directions

P = 4194301
SOFTMAX = {"name": "softmax"}
RATIONAL = {"name": "mine", "taylor": ["1", "1/2", "3"]}
SQUARE = {"name": "square", "taylor": ["0", "0", "2/3"]}
ORBIT = ("query-key", "value-output", "stream", "scale", "homogeneous")


def shape(widths, ranks, tokens, g=None, h=1, b=None, skip=False, causal=False, n=None, m=None):
    flags = {"heads": h, "value_ranks": b, "skip": skip, "causal": causal, "embed": n, "unembed": m}
    return {"widths": widths, "attention_ranks": ranks, "tokens": tokens, "normalization": g, **flags}


def point(network, rng):
    """Random weights, and the point of the checker there."""

    def entries(rows, columns):
        return [[rng.randrange(P) for _ in range(columns)] for _ in range(rows)]

    net = verify.Network(network)
    weights = [entries(net.d[0], net.n)] if net.embed else []
    for i, _ in itertools.product(range(1, net.l + 1), range(net.h)):
        weights += [entries(net.a[i], net.d[i - 1]), entries(net.a[i], net.d[i - 1])]
        inner = [entries(net.b[i], net.d[i - 1]), entries(net.d[i], net.b[i])]
        weights += inner if network["value_ranks"] else [entries(net.d[i], net.d[i - 1])]
    weights += [entries(net.m, net.d[-1])] if net.unembed else []
    return weights, verify.Point(net, weights, P)


def taylor(net, terms):
    """g_0, g_1, ... modulo P, as many as the checker takes."""
    g = net.g or [Fraction(1, factorial(k)) for k in range(terms or 0)]
    return [c.numerator * pow(c.denominator, -1, P) % P for c in g[:terms]]


def gradients(at, terms, rng, inputs, each):
    """Rows of a lower bound, with their gradients."""
    net, n, room = at.net, terms or 1, 2 * (terms or 1) - 1
    jets, numbers = verify.Jets(P, n, at.size, 64 if terms else 0), itertools.count(1)
    w = {key: [[x + (1 << 64 * room * next(numbers)) for x in row] for row in m] for key, m in at.w.items()}
    for _ in range(inputs):
        x = [[rng.randrange(P) for _ in range(net.t)] for _ in range(net.n)]
        out = verify.T(at.output(verify.T(x), w, taylor(net, terms), jets))
        for _ in range(each):
            functional = [[[rng.randrange(P) for _ in range(net.t)] for _ in range(net.m)] for _ in range(n)]
            total = 0
            for i, j in itertools.product(range(net.m), range(net.t)):
                total += out[i][j] * verify.pack([C[i][j] for C in functional][::-1])
            flat = [v % P for v in verify.unpack(total)[n - 1 :: room]][1:]
            yield {"input": x, "functional": functional}, flat + [0] * (at.size - len(flat))


def families(network):
    """All families that the network has."""
    net = verify.Network(network)
    one = len([c for c in net.g if c]) == 1
    has = {
        "query-key": True,
        "stream": True,
        "value-output": network["value_ranks"],
        "scale": not net.normalized,
        "homogeneous": one,
    }
    return [name for name, there in (has | verify_directions.families(net)).items() if there]


def certificate(network, r, bounds=None, terms=None, seed=0):
    """A certificate for the dimension r, by all directions unless other bounds are given."""
    rng = random.Random(seed)
    weights, at = point(network, rng)
    echelon, rows = verify.Echelon(P, at.size), []
    for row, flat in gradients(at, terms, rng, r + 2, max(1, at.net.m * at.net.t * (terms or 1) // 2)):
        verify.left[0] = verify.STEPS
        if len(rows) == r:
            break
        if echelon.add(verify.pack(flat)) is None:
            rows.append(row)
    lower = {"prime": P, "terms": terms, "weights": weights, "rows": rows, "columns": sorted(echelon.rows)}
    other = {"kind": "directions", "bound": r, "prime": P, "weights": weights, "families": families(network)}
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "dimension", "network": network}
    return {**head, "lower": r, "upper": r, "lower_bound": lower, "upper_bounds": bounds or [other]}


def answer(data, tmp_path, capsys):
    """What the checker prints for a certificate; the exit code must fit."""
    path = tmp_path / "certificate.json"
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    code = verify.main([str(path)])
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert (code, ": proved: " in line) in ((0, True), (1, False))
    return line


VIRTUAL = [{"kind": "factorization", "bound": 8, "variety": "virtual weights", "pieces": [3, 3, 4, 0, -2]}]
KNOWN = [
    (shape([4, 2], [1], 3), 14, None, None),
    (shape([4, 4, 4], [2, 2], 3), 38, None, None),
    (shape([2, 2, 2], [1, 2], 2), 8, VIRTUAL, None),
    (
        shape([3, 2], [1], 1, SOFTMAX),
        6,
        [{"kind": "factorization", "bound": 6, "variety": "linear maps", "pieces": [6]}],
        2,
    ),
    (shape([3, 3], [2], 3, SOFTMAX), 17, None, 4),
    (shape([3, 3], [2], 2, RATIONAL), 17, None, None),
    (shape([4, 4, 4], [4, 4], 2, SOFTMAX, skip=True, n=2), 50, None, 8),
    (shape([4, 4, 4], [4, 4], 3, SOFTMAX, skip=True, n=2), 52, None, 8),
    (shape([4, 4, 4], [4, 4], 2, skip=True, n=2), 49, None, None),
    (
        shape([3, 2], [1], 2, h=5, b=[1]),
        35,
        [{"kind": "factorization", "bound": 35, "variety": "head forms", "pieces": [35]}],
        None,
    ),
    (shape([2, 2], [2], 2), 7, None, None),
    (shape([1, 3, 2], [1, 1], 2, skip=False), 2, [{"kind": "span", "bound": 2}], None),
]


@pytest.mark.parametrize(("network", "r", "bounds", "terms"), KNOWN)
def test_known_dimensions_are_proved(network, r, bounds, terms, tmp_path, capsys):
    line = answer(certificate(network, r, bounds, terms), tmp_path, capsys)
    assert f"proved: dim M = {r}, over the real" in line


class Jet:
    """Power series in u, over dual numbers, modulo P: the slow road to a derivative."""

    def __init__(self, value, slope):
        self.parts = value, slope

    def __add__(self, other):
        return Jet(
            *([(a + b) % P for a, b in zip(x, y, strict=True)] for x, y in zip(self.parts, other.parts, strict=True))
        )

    def __mul__(self, other):
        n = len(self.parts[0])

        def times(x, y):
            return [sum(x[i] * y[k - i] for i in range(k + 1)) for k in range(n)]

        (a, b), (c, d) = self.parts, other.parts
        mixed = zip(times(a, d), times(b, c), strict=True)
        return Jet([x % P for x in times(a, c)], [(x + y) % P for x, y in mixed])

    def inverse(self):
        n = len(self.parts[0])
        one = Jet([1] + [0] * (n - 1), [0] * n)
        first = Jet([pow(self.parts[0][0], -1, P)] + [0] * (n - 1), [0] * n)
        for _ in range(n + 1):  # x (2 - c x): one more coefficient each time is enough
            minus = Jet(*([-v % P for v in part] for part in (self * first).parts))
            first = first * (one + one + minus)
        return first


def slow(net, w, terms, x):
    """The output by the definition, entry by entry."""
    n = terms or 1
    zero, u = Jet([0] * n, [0] * n), Jet([0, 1, *[0] * n][:n], [0] * n)
    one = Jet([1] + [0] * (n - 1), [0] * n)

    def dot(pairs):
        total = zero
        for a, b in pairs:
            total = total + a * b
        return total

    def product(a, b):
        return [[dot(zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]

    def g(s):
        total, power = zero, one
        for c in taylor(net, terms):
            total, power = total + power * Jet([c] + [0] * (n - 1), [0] * n), power * s
        return total

    x = product(w["E", 0, 0], x) if net.embed else x
    for i in range(1, net.l + 1):
        new = x if net.skip else [[zero] * net.t for _ in range(net.d[i])]
        for k in range(net.h):
            key, query = product(w["K", i, k], x), product(w["Q", i, k], x)
            S = product(list(zip(*key, strict=True)), query)
            seen = [[not net.causal or j <= c for c in range(net.t)] for j in range(net.t)]
            S = [[(s if terms is None else u * s) for s in row] for row in S]
            if net.normalized:
                S = [[g(s) if ok else zero for s, ok in zip(*rows, strict=True)] for rows in zip(S, seen, strict=True)]
                sums = [dot((s, one) for s in column).inverse() for column in zip(*S, strict=True)]
                S = [[s * c for s, c in zip(row, sums, strict=True)] for row in S]
            S = [[s if ok else zero for s, ok in zip(*rows, strict=True)] for rows in zip(S, seen, strict=True)]
            z = product(product(w["V", i, k], x), S)
            z = product(w["O", i, k], z) if ("O", i, k) in w else z
            new = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(new, z, strict=True)]
        x = new
    return product(w["U", net.l + 1, 0], x) if net.unembed else x


DERIVATIVES = [
    (shape([2, 3, 2], [2, 1], 2, h=2, b=[1, 2], causal=True, n=3, m=1), None),
    (shape([2, 2, 2], [1, 2], 3, skip=True), None),
    (shape([2, 3], [2], 2, RATIONAL), None),
    (shape([2, 2], [2], 2, SQUARE, h=2, causal=True), None),
    (shape([2, 2, 2], [2, 1], 2, SOFTMAX, h=2, skip=True, causal=True, n=1), 4),
    (shape([2, 3, 1], [1, 2], 3, SOFTMAX, b=[1, 2], m=2), 3),
    (shape([2, 2], [1], 2, RATIONAL), 3),
]


@pytest.mark.parametrize(("network", "terms"), DERIVATIVES)
def test_gradients_agree_with_dual_numbers(network, terms):
    rng, n = random.Random(3), terms or 1
    _, at = point(network, rng)
    (row, gradient), *_ = gradients(at, terms, rng, 1, 1)
    move = [rng.randrange(P) for _ in gradient]
    steps, w = iter(move), {}
    for key, rows in at.w.items():
        w[key] = [[Jet([v] + [0] * (n - 1), [next(steps)] + [0] * (n - 1)) for v in line] for line in rows]
    x = [[Jet([v] + [0] * (n - 1), [0] * n) for v in line] for line in row["input"]]
    output = slow(at.net, w, terms, x)
    slope = sum(
        c * y.parts[1][k]
        for k, C in enumerate(row["functional"])
        for line, ys in zip(C, output, strict=True)
        for c, y in zip(line, ys, strict=True)
    )
    assert slope % P == sum(a * b for a, b in zip(gradient, move, strict=True)) % P
    assert slope % P


def directions(at, family):
    return at.tangents(family) if family in ORBIT else verify_directions.directions(at, family)


FAMILIES = [
    ("query-key", shape([2, 3, 2], [2, 1], 2, SOFTMAX, h=2)),
    ("value-output", shape([3, 3], [2], 2, h=2, b=[2], causal=True)),
    ("stream", shape([2, 3, 2], [1, 2], 2, SOFTMAX, h=2, n=2, m=3)),
    ("stream", shape([3, 3, 3], [1, 2], 2, h=2, b=[2, 1], skip=True, n=2, m=3)),
    ("scale", shape([2, 3, 2], [1, 2], 2, h=2, skip=False, causal=True)),
    ("homogeneous", shape([2, 3], [2], 3, SQUARE, h=2)),
    ("homogeneous", shape([2, 3, 1], [1, 2], 2, SQUARE, causal=True)),
    ("unwritten", shape([4, 2, 4, 3], [2, 1, 2], 2, SOFTMAX, b=[2, 1, 3])),
    ("unwritten", shape([4, 4, 4], [2, 1], 2, skip=True, n=1, m=2)),
    ("unwritten", shape([1, 3, 4], [1, 2], 2, h=2, m=2)),
    ("unread", shape([4, 4, 4], [2, 1], 2, b=[2, 2], m=1)),
    ("unread", shape([3, 4, 4], [1, 1], 2, SOFTMAX, n=2, m=1, causal=True)),
    ("inside", shape([4, 3], [2], 2, SOFTMAX, b=[3], n=2)),
    ("inside", shape([3, 2, 3], [1, 1], 2, b=[2, 3], m=1)),
    ("pattern", shape([2, 3, 2], [1, 2], 1, SOFTMAX, skip=False, h=2)),
    ("skew", shape([3, 3, 2], [2, 2], 1, h=2)),
    ("skew", shape([3, 3, 3], [2, 2], 2, skip=True, n=1)),
    ("skew", shape([3, 3, 2], [1, 3], 2)),
    ("mixing", shape([3, 1], [3], 2, h=3)),
    ("mixing", shape([2, 3, 2], [2, 1], 2, h=2, causal=True)),
    ("cancelling", shape([4, 4, 4], [4, 4], 2, SOFTMAX, skip=True, n=2)),
    ("cancelling", shape([4, 4, 4], [4, 3], 2, RATIONAL, skip=True, n=2, causal=True)),
    ("cancelling", shape([3, 3, 3], [3, 3], 2, skip=True, n=1)),
    ("cancelling", shape([4, 4, 4], [1, 4], 2, SOFTMAX, n=2, h=2, causal=True)),
    ("skew differences", shape([4, 4, 4], [2, 4], 2, SOFTMAX, n=2, skip=True, causal=True)),
    ("symmetric products", shape([4, 4, 4], [4, 4], 2, skip=True, n=2)),
    ("symmetric products", shape([6, 6, 6, 6], [1, 6, 6], 2, skip=True, n=2, b=[2, 2, 2])),
]


@pytest.mark.parametrize(("family", "network"), FAMILIES)
def test_directions_are_annihilated_by_gradients(family, network):
    rng = random.Random(5)
    _, at = point(network, rng)
    terms = 6 if at.net.normalized and network["normalization"] != SQUARE else None
    rows = [flat for _, flat in gradients(at, terms, rng, 3, 4)]
    count = 0
    for direction in directions(at, family):
        vector = [x % P for x in verify.unpack(direction)]
        count += any(vector)
        assert len(vector) <= at.size
        assert not [row for row in rows if sum(a * b for a, b in zip(row, vector, strict=False)) % P]
    assert count
    wrong = verify.unpack(direction)  # a direction bent in one entry is seen, so that the test can fail
    if family in ("scale", "cancelling", "symmetric products", "mixing"):
        bent = [x + (j == next(k for k, v in enumerate(wrong) if v % P)) for j, x in enumerate(wrong)]
        assert [row for row in rows if sum(a * b for a, b in zip(row, bent, strict=False)) % P]


COUNTS = [  # family, network, how many directions: one for each entry of X at each place
    ("query-key", shape([2, 3, 2], [2, 1], 2, h=2), 2 * (4 + 1)),
    ("value-output", shape([3, 3, 3], [2, 2], 2, h=2, b=[2, 1]), 2 * (4 + 1)),
    ("stream", shape([2, 3, 2], [1, 2], 2), 9),
    ("stream", shape([2, 3, 2], [1, 2], 2, n=2), 4 + 9),
    ("stream", shape([2, 3, 2], [1, 2], 2, h=2, b=[2, 1], n=2, m=3), 4 + 9 + 4),
    ("stream", shape([3, 3, 3], [1, 2], 2, skip=True, n=2, m=3), 9),
    ("stream", shape([3, 3, 3], [1, 2], 2, skip=True, n=2), 0),
    ("stream", shape([3, 3, 3], [1, 2], 2, skip=True), 0),
    ("scale", shape([2, 3, 2], [2, 1], 2, h=2), 4),
    ("homogeneous", shape([2, 3, 2], [2, 1], 2, SQUARE), 1 + 3),
]


@pytest.mark.parametrize(("family", "network", "count"), COUNTS)
def test_there_are_as_many_directions_as_the_grammar_says(family, network, count):
    _, at = point(network, random.Random(7))
    found, echelon = list(at.tangents(family)), verify.Echelon(P, at.size)
    assert len(found) == count
    assert sum(echelon.add(direction) is None for direction in found) == count


GOOD = certificate(shape([2, 3, 2], [2, 1], 2, SOFTMAX), 11, terms=4)
LIGHTNING = certificate(shape([4, 2], [1], 3), 14)
BENT = [
    ("version", lambda c: c.update(version=2), "version must be 1"),
    ("version", lambda c: c.update(version=True), "version must be 1"),
    ("format", lambda c: c.update(format="other"), "format must be"),
    ("kind", lambda c: c.update(kind=["dimension"]), "kind must be one of"),
    ("unknown", lambda c: c.update(extra=1), "missing or unknown: ['extra']"),
    ("missing", lambda c: c.pop("lower"), "missing or unknown: ['lower']"),
    ("size", lambda c: c["network"].update(tokens=10**6 + 1), "tokens must be an integer from 1 to 1000000"),
    ("boolean", lambda c: c["network"].update(heads=True), "heads must be an integer"),
    ("flag", lambda c: c["network"].update(skip=1), "skip must be of type bool"),
    ("skip", lambda c: c["network"].update(skip=True), "all widths must be equal"),
    ("ranks", lambda c: c["network"].update(attention_ranks=[2]), "there must be 2 ranks, one for each layer"),
    (
        "name",
        lambda c: c["network"].update(normalization={"name": "softmax", "taylor": ["1"]}),
        "taylor must not be of softmax",
    ),
    (
        "zero",
        lambda c: c["network"].update(normalization={"name": "g", "taylor": ["0"]}),
        "taylor must not be of softmax, nor 0",
    ),
    ("composite", lambda c: c["lower_bound"].update(prime=4194303), "must be a prime, 4194303 is none"),
    ("large", lambda c: c["lower_bound"].update(prime=2**22 + 15), "the prime must be an integer from 3"),
    ("small", lambda c: c["lower_bound"].update(prime=7), "larger than tokens and twice the terms"),
    ("terms", lambda c: c["lower_bound"].update(terms=None), "terms must be null"),
    ("series", lambda c: c["lower_bound"].update(terms=513), "terms must be an integer from 2 to 512"),
    ("weights", lambda c: c["lower_bound"]["weights"].pop(), "weights must be a list of"),
    (
        "entry",
        lambda c: c["lower_bound"]["weights"][0][0].__setitem__(0, P),
        "Q of layer 1 must be an integer from 0 to 4194300",
    ),
    (
        "negative",
        lambda c: c["lower_bound"]["weights"][0][0].__setitem__(0, -1),
        "Q of layer 1 must be an integer from 0 to 4194300",
    ),
    ("shape", lambda c: c["lower_bound"]["weights"][0][0].append(1), "Q of layer 1 must be a list of 2"),
    ("columns", lambda c: c["lower_bound"]["columns"].reverse(), "columns must increase"),
    (
        "column",
        lambda c: c["lower_bound"]["columns"].__setitem__(-1, 10**5),
        "columns must increase, and be parameters",
    ),
    ("rows", lambda c: c["lower_bound"]["rows"].pop(), "rows must be a list of"),
    ("minor", lambda c: c["lower_bound"]["rows"].__setitem__(0, c["lower_bound"]["rows"][1]), "minor must not be 0"),
    ("functional", lambda c: c["lower_bound"]["rows"][0]["functional"].append([[1]]), "functional must be a list of"),
    ("none", lambda c: c.update(upper_bounds=[]), "upper must be the smallest bound"),
    ("upper", lambda c: c.update(upper=39), "upper must be the smallest bound"),
    ("bound", lambda c: (c.update(upper=2), c["upper_bounds"][0].update(bound=2)), "the bound must be at least"),
    (
        "unknown bound",
        lambda c: c["upper_bounds"][0].update(kind="wish"),
        "there must be upper bounds of the kinds orbit",
    ),
    (
        "family",
        lambda c: c["upper_bounds"][0]["families"].append("value-output"),
        "families must be ones of this network",
    ),
    ("orbit", lambda c: c["upper_bounds"][0].update(kind="orbit", families=["unread"]), "each once, 'unread' is none"),
    ("few", lambda c: c["upper_bounds"][0].update(families=["stream"]), "the bound must be at least"),
]


@pytest.mark.parametrize("good", [GOOD, LIGHTNING], ids=["softmax", "lightning"])
@pytest.mark.parametrize(("name", "bend", "reason"), BENT, ids=[f"{k}-{bent[0]}" for k, bent in enumerate(BENT)])
def test_a_bent_certificate_is_rejected(good, name, bend, reason, tmp_path, capsys):
    if good is LIGHTNING and name in ("ranks", "terms", "series", "small", "shape", "few", "skip"):
        good = GOOD  # where the reason is another one for lightning layers
    bent = copy.deepcopy(good)
    bend(bent)
    assert reason in answer(bent, tmp_path, capsys)


def test_a_point_where_spaces_are_too_small_is_refused(tmp_path, capsys):
    bent = copy.deepcopy(GOOD)
    bent["upper_bounds"][0]["weights"] = [
        *bent["lower_bound"]["weights"][:2],
        [[1, 1]] * 3,
        *bent["lower_bound"]["weights"][3:],
    ]
    assert "must have its largest dimension" in answer(bent, tmp_path, capsys)


def test_a_weaker_bound_is_still_true(tmp_path, capsys):
    weaker = copy.deepcopy(GOOD)
    weaker["upper"] = weaker["upper_bounds"][0]["bound"] = 12
    assert "proved: 11 <= dim M <= 12," in answer(weaker, tmp_path, capsys)
    weaker["upper"] = weaker["upper_bounds"][0]["bound"] = 10
    assert "rejected" in answer(weaker, tmp_path, capsys)


FACTORS = [
    ([{**VIRTUAL[0], "pieces": [3, 3, 3, 1, -2]}], "the pieces of 'virtual weights' must be [3, 3, 4, 0, -2]"),
    ([{**VIRTUAL[0], "bound": 7}], "and the bound their sum, 8"),
    ([{**VIRTUAL[0], "variety": "linear maps"}], "the pieces of 'linear maps' must be []"),
    ([{**VIRTUAL[0], "variety": "head forms"}], "the pieces of 'head forms' must be []"),
    ([{**VIRTUAL[0], "variety": None}], "variety must be of type str"),
    ([{"kind": "span", "bound": 8}], "the bound must be of another kind"),
]


@pytest.mark.parametrize(("bounds", "reason"), FACTORS)
def test_wrong_pieces_are_rejected(bounds, reason, tmp_path, capsys):
    bent = certificate(shape([2, 2, 2], [1, 2], 2), 8, VIRTUAL)
    bent.update(upper_bounds=bounds, lower=0, upper=bounds[0]["bound"])
    bent["lower_bound"].update(rows=[], columns=[])
    assert reason in answer(bent, tmp_path, capsys)


PIECES = [  # network, variety, its dimension or None where there is no such bound
    (shape([3, 2], [1], 1), "linear maps", None),
    (shape([3, 2], [1], 2, SOFTMAX), "linear maps", None),
    (shape([3, 2, 3], [1, 1], 1, SOFTMAX), "linear maps", 8),  # 3 x 3 of rank two
    (shape([3, 3], [1], 1, SOFTMAX, h=2, b=[1]), "linear maps", 8),
    (shape([3, 3, 3], [1, 1], 1, SOFTMAX, b=[1, 1], skip=True), "linear maps", 8),
    (shape([4, 4], [1], 1, SOFTMAX, b=[1], skip=True), "linear maps", 7),
    (shape([4, 4], [1], 1, SOFTMAX, skip=True, n=2), "linear maps", 8),
    (shape([4, 4], [1], 1, SOFTMAX, skip=True, m=3), "linear maps", 12),
    (shape([2, 2], [1], 2, h=2), "head forms", 12),  # all of them
    (shape([3, 3], [1], 2, h=2), "head forms", 54),
    (shape([3, 2], [1], 2, h=5, b=[1], causal=True), "head forms", 35),
    (shape([3, 3], [1], 2, h=3, b=[1], skip=True), "head forms", 36),  # rank three in 9 x 6
    (shape([3, 3, 3], [1, 1], 2, h=2), "head forms", None),
    (shape([3, 3], [1], 2), "head forms", None),
    (shape([3, 3], [1], 2, h=2, n=2), "head forms", None),
    (shape([3, 3], [1], 2, SOFTMAX, h=2), "head forms", None),
    (shape([3, 3], [1], 2, causal=True), "virtual weights", None),
    (shape([3, 3], [1], 2, skip=True), "virtual weights", None),
    (shape([3, 3], [1], 2, b=[1]), "virtual weights", None),
    (shape([3, 3], [1], 2, m=2), "virtual weights", None),
    (shape([3, 3], [1], 2, SOFTMAX), "virtual weights", None),
]


def with_bound(network, bound):
    """A certificate of one upper bound alone."""
    rows = {"rows": [], "columns": [], "terms": 2 if network["normalization"] else None, "prime": P}
    weights, _ = point(network, random.Random(1))
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "dimension", "network": network, "lower": 0}
    return {**head, "upper": bound["bound"], "lower_bound": {**rows, "weights": weights}, "upper_bounds": [bound]}


def pieces_of(variety, *pieces):
    return {"kind": "factorization", "bound": sum(pieces), "variety": variety, "pieces": list(pieces)}


@pytest.mark.parametrize(("network", "variety", "u"), PIECES)
def test_pieces_of_one(network, variety, u, tmp_path, capsys):
    for bound in range(1, 81):
        line = answer(with_bound(network, pieces_of(variety, bound)), tmp_path, capsys)
        assert (f"0 <= dim M <= {bound}," in line) == (bound == u), line
    if variety == "virtual weights":
        assert "rejected: the pieces" in answer(with_bound(network, pieces_of(variety, 5, 9, -1)), tmp_path, capsys)


def test_counts_agree_with_the_program(tmp_path, capsys):
    rng, seen = random.Random(8), set()
    while len(seen) < 150:
        depth, t, h = rng.randint(1, 4), rng.randint(1, 3), rng.choice((1, 1, 2, 3))
        widths = (
            [rng.randint(1, 5)] * (depth + 1) if (skip := rng.random() < 0.3) else rng.choices(range(1, 6), k=depth + 1)
        )
        ranks, causal = rng.choices(range(1, 4), k=depth), rng.random() < 0.3
        b = rng.choices(range(1, 4), k=depth) if rng.random() < 0.3 else None
        n, m = (rng.choice((None, None, None, 1, 2)) for _ in "nm")
        network = shape(widths, ranks, t, rng.choice((None, None, SOFTMAX)), h, b, skip, causal, n, m)
        shaped = Architecture(
            tuple(widths), tuple(ranks), t, normalization=network["normalization"] and lightning_sym.SOFTMAX, heads=h,
            value_ranks=b and tuple(b), skip=skip, causal=causal, embed=n, unembed=m,
        )  # fmt: skip
        counts = {"linear maps": varieties.linear_maps(shaped), "head forms": varieties.quadratic_forms(shaped)}
        bounds = [pieces_of(name, u) for name, u in counts.items() if u is not None]
        if shaped.is_plain:
            bounds.append(
                pieces_of("virtual weights", *(x.dimension for x in varieties.virtual_weight_variety(shaped).pieces))
            )
        if (u := varieties.linear_span(shaped)) is not None:
            bounds.append({"kind": "span", "bound": u})
        for bound in bounds:
            assert f"0 <= dim M <= {bound['bound']}," in answer(with_bound(network, bound), tmp_path, capsys)
            seen.add((json.dumps(network), json.dumps(bound)))
            wrong = bound | {"bound": bound["bound"] + 1}
            wrong |= {"pieces": [bound["pieces"][0] + 1, *bound["pieces"][1:]]} if "pieces" in bound else {}
            assert "rejected: the " in answer(with_bound(network, wrong), tmp_path, capsys)
    assert len({json.loads(bound).get("variety") for _, bound in seen}) == 4


def test_the_minor_is_one_at_the_point_of_the_file(tmp_path, capsys):
    """With Q = 0 nothing moves with K, whatever the other weights are."""
    good = certificate(shape([2, 2], [1], 2), 1, [{"kind": "span", "bound": 12}]) | {"upper": 12}
    good["lower_bound"]["columns"] = [2]
    assert "1 <= dim M <= 12" in answer(good, tmp_path, capsys)
    good["lower_bound"]["weights"][0] = [[0, 0]]
    assert "the minor must not be 0" in answer(good, tmp_path, capsys)


SPANS = [  # the numbers of monomials, written out
    (shape([2, 1], [1], 1), 4),
    (shape([2, 2], [1], 1, skip=True), 2 * 4),
    (shape([2, 2], [1], 1, skip=True, n=3, m=1), 3 + 10),
    (shape([2, 2, 2], [1, 1], 1, n=2, m=3), 3 * 10),
    (shape([2, 2, 2], [1, 1], 3, skip=True, n=1), 2 * 5),
    (shape([2, 2, 2], [1, 1], 3, skip=True, n=1, m=1), 5),
    (shape([3, 2], [1], 2, h=2, causal=True), 2 * 3 * 6),
    (shape([3, 3], [1], 2, skip=True), 3 * 3 * 6),
]


@pytest.mark.parametrize(("network", "u"), SPANS)
def test_spans(network, u, tmp_path, capsys):
    assert "0 <= dim M" in answer(
        certificate(network, 0, [{"kind": "span", "bound": u}]) | {"upper": u}, tmp_path, capsys
    )
    for other in (u - 1, u + 1):
        wrong = certificate(network, 0, [{"kind": "span", "bound": other}]) | {"upper": other}
        assert f"the bound must be {u}, it is {other}" in answer(wrong, tmp_path, capsys)


HOSTILE = [
    (b"", "must be JSON"),
    (b"\xff\xfe", "UTF-8"),
    (b"[" * 10**6, "nested too deeply"),
    (b'{"a":' * 10**5, "nested too deeply"),
    (b'{"a": "' + b"[" * 100 + b'"}', "format must be"),
    (b'["' + b'\\"' * 5 + b"[" * 20 + b'"]', "must be of type dict"),
    (b'{"a": ' + b"9" * 10**7 + b"}", "4300 digits"),
    (b'{"version": 1.5}', "format must be"),
    (b'{"a": 1, "a": 1}', "a key stands twice"),
    (b"[]" * 10, "must be JSON"),
    (b"[" + b"[]," * (2**21) + b"1]", "must be of type dict"),
    (b"null", "must be of type dict"),
    (b" " * (2**24 + 1), "at most 16 MiB"),
]


@pytest.mark.parametrize(("data", "reason"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_files(data, reason, tmp_path, capsys):
    assert reason in answer(data, tmp_path, capsys)


def leaves(value, path=()):
    """All places in a certificate."""
    yield path
    for key in value if isinstance(value, dict) else range(min(2, len(value))) if isinstance(value, list) else ():
        yield from leaves(value[key], (*path, key))


def put(data, path, value):
    for key in path[:-1]:
        data = data[key]
    data[path[-1]] = value


LAYER = {"Q1": [[1, 2]], "K1": [[3, 1]], "V1": [[1, 0], [2, 1]]}
OTHER = {"Q1": [["1/2", 1]], "K1": [[6, 2]], "V1": [[1, 0], [2, 1]]}
DIFFERENT = {"format": "lightning-sym/certificate", "version": 1, "kind": "different", "tokens": 2, "first": LAYER}
DIFFERENT |= {"second": {**LAYER, "V1": [[1, 0], [2, "2/3"]]}, "input": [[1, 2], [3, -1]], "prime": None}


def same(first, second, *steps, tokens=2):
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "same", "tokens": tokens}
    return {**head, "first": first, "second": second, "steps": list(steps)}


GROUP = {"step": "group", "query_key": [[[2]]], "between": [], "scales": ["1"]}
TWO = {**LAYER, "Q2": [[1, 1]], "K2": [[2, 5]], "V2": [[1, 1]]}
# Behind an attention matrix of rank one only the symmetric part of the second one counts: Q2 and K2 change places.
SWAPPED = {**TWO, "Q2": [[2, 5]], "K2": [[1, 1]]}
RESCALED = {**TWO, "Q1": [[2, 4]], "V2": [["1/8", "1/8"]]}
BETWEEN = {**TWO, "V1": [[2, 1], [2, 1]], "K2": [[2, 3]], "Q2": [[1, 0]], "V2": [[1, 0]]}
SAME = [
    same(LAYER, OTHER, GROUP),
    same(LAYER, OTHER, {"step": "layer", "layer": 1}),
    same(LAYER, LAYER, {**GROUP, "to": OTHER}, {**GROUP, "query_key": [[["1/2"]]]}),
    same(TWO, RESCALED, {"step": "rescaling", "factors": [2, 1], "value_factor": "1/8"}),
    same(TWO, SWAPPED, {"step": "rescaling", "factors": [1, 1], "value_factor": 1}),
    same({**LAYER, "V1": [[0, 0]]}, {**LAYER, "Q1": [[0, 0]], "V1": [[1, 1]]}, {"step": "zero"}),
    same({**LAYER, "V1": [[0, 0]]}, {**TWO, "Q2": [[0, 0]]}, {"step": "zero"}),
    same(TWO, {**TWO, "V1": [[0, 0], [0, 0]]}, {"step": "zero"}) | {"first": {**TWO, "V2": [[0, 0]]}},
    same(TWO, BETWEEN, {"step": "group", "query_key": [[[1]], [[1]]], "between": [[[1, 1], [0, 1]]], "scales": [1, 1]}),
]
ONE = {"Q1": [[2]], "K1": [[3]], "V1": [[5]]}
SAME.insert(0, same({**ONE, "Q1": [[0]]}, {**ONE, "V1": [[0]]}, {"step": "zero"}))
SAME.insert(0, same(TWO, {**TWO, "Q2": [[2, 2]], "K2": [[1, "5/2"]]}, {"step": "layer", "layer": 2}))
SAME.insert(0, same({**TWO, "Q1": [[1, 2], [0, 1]], "K1": [[3, 1], [1, 1]]}, TWO, {"step": "zero"}))
SAME[0] |= {"first": {**TWO, "Q2": [[0, 0]]}, "second": {**TWO, "K1": [[0, 0]]}}
SAME[-1]["second"] = {**TWO, "V1": [[3, 1], [2, 1]], "Q2": [[1, 0]], "K2": [[2, 3]], "V2": [[1, 0]]}


@pytest.mark.parametrize("data", SAME, ids=range(len(SAME)))
def test_the_same_function(data, tmp_path, capsys):
    assert "the same function of 2 tokens" in answer(data, tmp_path, capsys)


NOT_SAME = [
    (same(LAYER, DIFFERENT["second"], GROUP), "must map one network to the other"),
    (same(LAYER, OTHER, {**GROUP, "query_key": [[[0]]]}), "must map one network to the other"),
    (same(LAYER, OTHER, {**GROUP, "query_key": [[[2, 0], [0, 1]]]}), "must fit"),
    (same(LAYER, OTHER, {**GROUP, "scales": [0]}), "each layer must have a scale, not 0"),
    (same(LAYER, DIFFERENT["second"], {"step": "layer", "layer": 1}), "the forms of layer 1 must be equal"),
    (same(TWO, SWAPPED, {"step": "layer", "layer": 1}), "other layers must be equal"),
    (same(TWO, {**TWO, "Q2": [[7, 1]]}, {"step": "layer", "layer": 2}), "the forms of layer 2 must be equal"),
    (same(TWO, {**TWO, "Q1": [[7, 1]]}, {"step": "layer", "layer": 2}), "other layers must be equal"),
    (same(TWO, {**TWO, "Q1": [[7, 1]]}, {"step": "layer", "layer": 1}), "the forms of layer 1 must be equal"),
    (same(TWO, TWO, {"step": "layer", "layer": 3}), "other layers must be equal"),
    (same(TWO, LAYER, {"step": "layer", "layer": 1}), "input and output width"),
    (same(LAYER, OTHER, {"step": "zero"}), "must be seen to be zero"),
    (same(TWO, RESCALED, {"step": "rescaling", "factors": [2, 1], "value_factor": "1/4"}), "must multiply to 1"),
    (same(TWO, TWO, {"step": "rescaling", "factors": [2, 1], "value_factor": "1/8"}), "layer 1 must be rescaled"),
    (
        same(TWO, {**RESCALED, "V2": TWO["V2"]}, {"step": "rescaling", "factors": [2, 1], "value_factor": "1/8"}),
        "values",
    ),
    (same(LAYER, OTHER), "there must be a step"),
    (same(LAYER, OTHER, {**GROUP, "to": OTHER}), "missing or unknown: ['to']"),
    (same(LAYER, OTHER, {"step": "guess"}), "there must be a step of this name"),
    (same({**LAYER, "Q1": [["1/0", 1]]}, OTHER, GROUP), "a rational number must look like"),
    (same({**LAYER, "Q1": [["1" * 4001, 1]]}, OTHER, GROUP), "a rational number must look like"),
    (same({**LAYER, "Q1": [[True, 1]]}, OTHER, GROUP), "a rational number must be an integer"),
    (same({**LAYER, "Q1": [[1, 1], [1]]}, OTHER, GROUP), "rows of equal length"),
    (same({"Q1": [[1]]}, OTHER, GROUP), "missing or unknown: ['K1', 'V1']"),
]


@pytest.mark.parametrize(("data", "reason"), NOT_SAME, ids=range(len(NOT_SAME)))
def test_not_shown_to_be_the_same(data, reason, tmp_path, capsys):
    assert reason in answer(data, tmp_path, capsys)


def test_skew_parts_count_where_no_attention_matrix_has_rank_one(tmp_path, capsys):
    full = {**TWO, "Q1": [[1, 2], [0, 1]], "K1": [[3, 1], [1, 1]]}
    step = {"step": "rescaling", "factors": [1, 1], "value_factor": 1}
    data = same(full, {**full, "Q2": TWO["K2"], "K2": TWO["Q2"]}, step)
    assert "layer 2 must be rescaled" in answer(data, tmp_path, capsys)
    assert "same function of 1 tokens" in answer(data | {"tokens": 1}, tmp_path, capsys)
    other = data | {"tokens": 1, "second": {**full, "Q2": [[9, 1]]}}
    assert "layer 2 must be rescaled" in answer(other, tmp_path, capsys)


def test_different(tmp_path, capsys):
    assert "over the rationals" in answer(DIFFERENT, tmp_path, capsys)
    assert "modulo 11" in answer(DIFFERENT | {"prime": 11}, tmp_path, capsys)
    assert "divide no denominator" in answer(DIFFERENT | {"prime": 3}, tmp_path, capsys)
    assert "they are equal" in answer(DIFFERENT | {"input": [[0, 0], [0, 0]]}, tmp_path, capsys)
    for p in (None, 5, 11):
        assert "they are equal" in answer(DIFFERENT | {"second": OTHER, "prime": p}, tmp_path, capsys)
    assert "the input must be a list of 2" in answer(DIFFERENT | {"input": [[0], [1]]}, tmp_path, capsys)


@pytest.mark.parametrize(
    "good", [LIGHTNING, SAME[3], SAME[4], DIFFERENT], ids=["dimension", "same", "rescaling", "different"]
)
def test_every_place_with_any_junk_gets_one_line(good, tmp_path, capsys):
    for path in list(leaves(good))[1:]:
        for junk in (None, True, -1, 10**20, "x", "1/3", [], {}, [[]], [None], {"step": []}):
            bent = copy.deepcopy(good)
            put(bent, path, junk)
            answer(bent, tmp_path, capsys)


def test_files_that_are_none(tmp_path, capsys):
    assert verify.main([str(tmp_path), str(tmp_path / "none")]) == 1
    assert capsys.readouterr().out.count("rejected: there must be a file of this name") == 2


def test_exit_codes(tmp_path):
    """The checker runs alone, and proves only if every file does."""
    source = Path(verify.__file__).read_text(encoding="utf-8")
    assert source.count("return 0") == 1
    assert len(source.splitlines()) <= 400
    assert len(Path(verify_directions.__file__).read_text(encoding="utf-8").splitlines()) <= 400
    assert "lightning" not in " ".join(line for line in source.splitlines() if line.startswith(("import", "from")))
    shutil.copy(verify.__file__, tmp_path / "verify.py")
    alone = copy.deepcopy(GOOD)
    alone["upper_bounds"][0].update(kind="orbit", families=["query-key", "stream"], bound=15)
    (tmp_path / "good.json").write_text(json.dumps(alone | {"upper": 15}), encoding="utf-8")
    (tmp_path / "directions.json").write_text(json.dumps(GOOD), encoding="utf-8")
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")

    def run(*files):
        command = [sys.executable, "-I", str(tmp_path / "verify.py"), *files]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("good.json", "good.json").returncode == 0
    both = run("good.json", "bad.json")
    assert (both.returncode, both.stdout.count("\n"), both.stderr) == (1, 2, "")
    assert [run().returncode, run("--help").returncode] == [2, 2]
    assert "for example" in run("--help").stdout
    assert "directions need verify_directions.py beside verify.py" in run("directions.json").stdout
    shutil.copy(verify_directions.__file__, tmp_path)
    assert run("directions.json").returncode == 0
