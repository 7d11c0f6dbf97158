"""The checker of certificates: networks whose dimensions are known, directions that must vanish, and files that lie."""

import copy
import json
import random
from fractions import Fraction

import pytest
from small_certificates import (
    DIFFERENT,
    GOOD,
    GROUP,
    LAYER,
    LIGHTNING,
    OTHER,
    PIECES,
    RATIONAL,
    RESCALED,
    SAME,
    SERIES,
    SOFTMAX,
    SWAPPED,
    TWO,
    P,
    answer,
    certificate,
    gradients,
    pieces_of,
    point,
    same,
    shape,
    taylor,
    with_bound,
)

import lightning_sym
from lightning_sym import Architecture
from lightning_sym.dimension import varieties
from proofs_check.checker import directions as unseen
from proofs_check.checker import verify

SQUARE = {"name": "square", "taylor": ["0", "0", "2/3"]}


ORBIT = ("query-key", "value-output", "stream", "scale", "homogeneous")


VIRTUAL = [{"kind": "factorization", "bound": 8, "variety": "virtual weights", "pieces": [3, 3, 4, 0, -2]}]


RANK_ONE = [{"kind": "factorization", "bound": 8, "variety": "virtual weights", "pieces": [4, 1, 2, 1]}]


KNOWN = [
    (shape([4, 2], [1], 3), 14, None, None),
    (shape([4, 4, 4], [2, 2], 3), 38, None, None),
    (shape([2, 2, 2], [1, 2], 2), 8, VIRTUAL, None),
    (
        shape([3, 2], [1], 1, SOFTMAX),
        6,
        [{"kind": "factorization", "bound": 6, "variety": "linear maps", "pieces": [6]}],
        None,
    ),
    (shape([3, 3], [2], 3, SOFTMAX), 17, None, None),
    (shape([3, 3], [2], 2, SOFTMAX, causal=True, h=2), 34, None, None),
    (shape([2, 1, 2], [2, 2], 3, SOFTMAX), 8, RANK_ONE, None),
    (shape([3, 3], [2], 2, RATIONAL), 17, None, None),
    (shape([3, 3], [2], 2, RATIONAL), 17, None, 4),
    (shape([2, 2, 2], [1, 2], 2, RATIONAL, causal=True), 11, None, 6),
    (shape([4, 4, 4], [4, 4], 2, SOFTMAX, skip=True, n=2), 50, None, None),
    (shape([4, 4, 4], [4, 4], 3, SOFTMAX, skip=True, n=2), 52, None, None),
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
    assert f"proved: dim M = {r}, for " in line
    assert ", over the real and over the complex numbers, by " in line
    assert ("(docs/transformers.md, section 1)" in line) == (network["normalization"] == SOFTMAX or terms is not None)


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


def slow(net, w, terms, x, given):
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

    def g(s, e):
        if given:  # the derivative of an exponential is itself, times that of the score
            return Jet([e], [e * s.parts[1][0]])
        total, power = zero, one
        for c in taylor(net, terms):
            total, power = total + power * Jet([c] + [0] * (n - 1), [0] * n), power * s
        return total

    x, left = product(w["E", 0, 0], x) if net.embed else x, iter(given or [[[0] * net.t] * net.t] * len(net.heads))
    for i in range(1, net.l + 1):
        new = x if net.skip else [[zero] * net.t for _ in range(net.d[i])]
        for k in range(net.h):
            key, query = product(w["K", i, k], x), product(w["Q", i, k], x)
            S = product(list(zip(*key, strict=True)), query)
            seen = [[not net.causal or j <= c for c in range(net.t)] for j in range(net.t)]
            S = [[(s if terms is None else u * s) for s in row] for row in S]
            if net.normalized:
                E = [list(e) for e in zip(*next(left), strict=True)]  # by keys, as S
                cells = ([*zip(*rows, strict=True)] for rows in zip(S, E, seen, strict=True))
                S = [[g(s, e) if ok else zero for s, e, ok in row] for row in cells]
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
    (shape([2, 2, 2], [2, 1], 2, SOFTMAX, h=2, skip=True, causal=True, n=1), None),
    (shape([2, 3, 1], [1, 2], 3, SOFTMAX, b=[1, 2], m=2), None),
    (shape([2, 1, 2], [2, 2], 3, SOFTMAX, h=2), None),
    (shape([2, 2, 2], [1, 2], 3, SOFTMAX, h=2, b=[2, 1], causal=True, n=3, m=1), None),
    (shape([2, 2, 2], [2, 1], 2, RATIONAL, h=2, skip=True, causal=True, n=1), 4),
    (shape([2, 3, 1], [1, 2], 3, RATIONAL, b=[1, 2], m=2), 3),
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
    output = slow(at.net, w, terms, x, row.get("exponentials"))
    slope = sum(
        c * y.parts[1][k]
        for k, C in enumerate(row["functional"])
        for line, ys in zip(C, output, strict=True)
        for c, y in zip(line, ys, strict=True)
    )
    assert slope % P == sum(a * b for a, b in zip(gradient, move, strict=True)) % P
    assert slope % P


def directions(at, family):
    return at.tangents(family) if family in ORBIT else unseen.directions(at, family)


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
    ("mixing", shape([5, 1], [3], 2, h=2)),
    ("mixing", shape([3, 3, 2], [1, 2], 1, h=2, b=[1, 2])),
    ("mixing", shape([4, 1], [1], 1, h=3, m=2)),
    ("mixing", shape([2, 2, 2], [1, 1], 3, h=2, skip=True, n=1)),
    ("cancelling", shape([4, 4, 4], [4, 4], 2, SOFTMAX, skip=True, n=2)),
    ("cancelling", shape([4, 4, 4], [4, 3], 2, RATIONAL, skip=True, n=2, causal=True)),
    ("cancelling", shape([3, 3, 3], [3, 3], 2, skip=True, n=1)),
    ("cancelling", shape([4, 4, 4], [1, 4], 2, SOFTMAX, n=2, h=2, causal=True)),
    ("skew differences", shape([4, 4, 4], [2, 4], 2, SOFTMAX, n=2, skip=True, causal=True)),
    ("symmetric products", shape([4, 4, 4], [4, 4], 2, skip=True, n=2)),
    ("symmetric products", shape([6, 6, 6, 6], [1, 6, 6], 2, skip=True, n=2, b=[2, 2, 2])),
    ("first layers", shape([2, 2, 2], [2, 1], 2, skip=True, n=1, b=[2, 1])),
    ("first layers", shape([3, 3, 3, 3], [1, 2, 1], 3, skip=True, n=1, h=2, causal=True, m=2)),
    ("first layers", shape([3, 3, 3], [1, 1], 1, skip=True, n=1, h=2, b=[1, 1])),
]


@pytest.mark.parametrize(("family", "network"), FAMILIES)
def test_directions_are_annihilated_by_gradients(family, network):
    rng = random.Random(5)
    _, at = point(network, rng)
    terms = 6 if network["normalization"] == RATIONAL else None
    rows = [flat for _, flat in gradients(at, terms, rng, 3, 4)]
    count = 0
    for direction in directions(at, family):
        vector = [x % P for x in verify.unpack(direction)]
        count += any(vector)
        assert len(vector) <= at.size
        assert not [row for row in rows if sum(a * b for a, b in zip(row, vector, strict=False)) % P]
    assert count
    wrong = verify.unpack(direction)  # a direction bent in one entry is seen, so that the test can fail
    if family in ("scale", "cancelling", "symmetric products", "mixing", "first layers"):
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


def all_of(values, value):
    values[:] = [value] * len(values)


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
    ("terms", lambda c: c["lower_bound"].update(terms=2), "terms must be null without Taylor coefficients"),
    ("fewer", lambda c: c["lower_bound"].update(terms=3), "functional must be a list of 3"),
    ("exponentials", lambda c: c["lower_bound"]["rows"][0].update(exponentials=[]), "unknown: ['exponentials']"),
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
    ("row of them", lambda c: all_of(c["lower_bound"]["weights"][0][0], P), "Q of layer 1 must be an integer from 0"),
    ("all negative", lambda c: all_of(c["lower_bound"]["weights"][0][0], -1), "Q of layer 1 must be an integer from 0"),
    ("all true", lambda c: all_of(c["lower_bound"]["weights"][0][0], True), "Q of layer 1 must be an integer from 0"),
    ("no rank", lambda c: all_of(c["network"]["attention_ranks"], 0), "attention_ranks must be an integer from 1"),
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
    if good is LIGHTNING and name in ("ranks", "shape", "few", "skip"):
        good = GOOD  # where the reason is another one for lightning layers
    if name in ("small", "fewer", "exponentials"):
        good = SERIES
    bent = copy.deepcopy(good)
    bend(bent)
    assert reason in answer(bent, tmp_path, capsys)


EQUAL = certificate(shape([2, 1, 2], [2, 2], 3, SOFTMAX), 8, RANK_ONE)


FREE = [  # of a row: what is done to its exponentials, and why it is refused
    (lambda row: row.pop("exponentials"), "a row must be an object with input, functional, exponentials; missing"),
    (lambda row: row["exponentials"].pop(), "exponentials must be a list of 2"),
    (lambda row: row["exponentials"].append(row["exponentials"][0]), "exponentials must be a list of 2"),
    (lambda row: row["exponentials"][1].pop(), "exponentials must be a list of 3"),
    (lambda row: row["exponentials"][1][2].pop(), "exponentials must be a list of 3"),
    (lambda row: row["exponentials"][0][0].__setitem__(2, P), "exponentials must be an integer from 0 to 4194300"),
    (lambda row: row["exponentials"][0][0].__setitem__(2, -1), "exponentials must be an integer from 0 to 4194300"),
    (lambda row: row["exponentials"][1][0].__setitem__(2, row["exponentials"][1][2][0] ^ 1), "of equal scores must be"),
    (lambda row: row["exponentials"].__setitem__(0, [[1, 2, P - 3], [1, 1, 1], [1, 1, 1]]), "no column sum of the"),
    (lambda row: row.update(exponentials=None), "exponentials must be a list"),
]


@pytest.mark.parametrize("place", [0, 3, 7])
@pytest.mark.parametrize(("bend", "reason"), FREE, ids=range(len(FREE)))
def test_bent_exponentials_are_rejected(bend, reason, place, tmp_path, capsys):
    """All rows are read, also where an earlier one has the same input."""
    bent = copy.deepcopy(EQUAL)
    bend(bent["lower_bound"]["rows"][place])
    assert reason in answer(bent, tmp_path, capsys)


SYMMETRIC = [  # network, for which layers exponentials must be symmetric: where the tokens are multiples of one
    (shape([2, 1, 2], [2, 2], 2, SOFTMAX), (2,)),
    (shape([2, 1, 2, 2], [1, 1, 1], 2, SOFTMAX, h=2), (2,)),  # two heads, so layer 2 writes rank two
    (shape([2, 1, 2, 2], [1, 1, 1], 2, SOFTMAX), (2, 3)),
    (shape([1, 2, 2], [1, 1], 2, SOFTMAX), (1, 2)),
    (shape([2, 2, 2], [1, 1], 2, SOFTMAX, n=1), (1, 2)),
    (shape([2, 2, 2], [1, 1], 2, SOFTMAX, n=1, skip=True), (1,)),
    (shape([3, 3, 2, 2], [1, 1, 1], 2, SOFTMAX, b=[1, 2, 1]), (2, 3)),
    (shape([3, 3, 2], [1, 1], 2, SOFTMAX, b=[1, 1], h=2), ()),  # two heads write two directions
    (shape([3, 3, 3], [1, 1], 2, SOFTMAX, b=[1, 1], skip=True), ()),
    (shape([2, 2, 1], [1, 1], 2, SOFTMAX), ()),
    (shape([1, 2, 2], [1, 1], 2, SOFTMAX, causal=True), ()),
    (shape([1, 2, 2], [1, 1], 1, SOFTMAX), ()),
]


@pytest.mark.parametrize(("network", "layers"), SYMMETRIC)
def test_equal_scores_have_equal_exponentials(network, layers, tmp_path, capsys):
    rng = random.Random(11)
    weights, at = point(network, rng)
    (row, a), *_ = gradients(at, None, rng, 1, 1)
    columns = [next(c for c, x in enumerate(a) if x)]
    good = with_bound(network, {"kind": "orbit", "bound": at.size, "prime": P, "weights": weights, "families": []})
    good |= {"lower": 1, "lower_bound": {"prime": P, "terms": None, "weights": weights, "rows": [row]}}
    good["lower_bound"]["columns"] = columns
    assert "proved: 1 <= dim M" in answer(good, tmp_path, capsys)
    for k, (i, _) in enumerate(at.net.heads):
        bent = copy.deepcopy(good)
        bent["lower_bound"]["rows"][0]["exponentials"][k][0][-1] ^= 1
        assert ("exponentials of equal scores must be equal" in answer(bent, tmp_path, capsys)) == (i in layers)
        if network["causal"]:  # what is masked is not used
            masked = copy.deepcopy(good)
            masked["lower_bound"]["rows"][0]["exponentials"][k][0][1] ^= 1
            assert "proved: 1 <= dim M" in answer(masked, tmp_path, capsys)


def test_rows_with_the_same_input_may_have_other_exponentials(tmp_path, capsys):
    """Two rows that differ in exponentials alone are two rows: the gradients computed here say so."""
    network, rng = shape([2, 2], [2], 3, SOFTMAX), random.Random(12)
    weights, at = point(network, rng)
    (one, _), (two, _) = gradients(at, None, rng, 2, 1)
    rows = [one, one | {"exponentials": two["exponentials"]}]
    good = with_bound(network, {"kind": "orbit", "bound": at.size, "prime": P, "weights": weights, "families": []})
    lower = {"prime": P, "terms": None, "weights": weights, "rows": rows, "columns": [0, 1]}
    assert "proved: 2 <= dim M" in answer(good | {"lower": 2, "lower_bound": lower}, tmp_path, capsys)
    assert "minor must not be 0" in answer(
        good | {"lower": 2, "lower_bound": lower | {"rows": [one, one]}}, tmp_path, capsys
    )


def test_a_point_where_spaces_are_too_small_is_refused(tmp_path, capsys):
    bent = copy.deepcopy(GOOD)
    bent["upper_bounds"][0]["weights"] = [
        *bent["lower_bound"]["weights"][:2],
        [[1, 1]] * 3,
        *bent["lower_bound"]["weights"][3:],
    ]
    assert "must have its largest dimension" in answer(bent, tmp_path, capsys)
    families = bent["upper_bounds"][0]["families"]
    assert families[:2] == ["query-key", "stream"]
    for first in (families, families[::-1]):  # but if the families before prove the bound nobody looks at the spaces
        bent["upper"] = bent["upper_bounds"][0]["bound"] = 15
        bent["upper_bounds"][0]["families"] = first
        reason = "proved: 11 <= dim M <= 15" if first is families else "must have its largest dimension"
        assert reason in answer(bent, tmp_path, capsys)


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


VIRTUALS = [  # networks with normalized scores: matrices of rank at most a on r_0, the values, subspaces, counted here
    (shape([3, 3], [1], 2, SOFTMAX), [5, 9]),
    (shape([3, 3], [1], 1, SOFTMAX), [5, 9]),
    (shape([3, 3], [2], 3, RATIONAL, causal=True), [8, 9]),
    (shape([4, 2, 3], [1, 2], 2, SOFTMAX), [7, 4, 6, 2 * 2]),
    (shape([4, 3, 2, 2], [1, 1, 3], 2, SOFTMAX, causal=True), [7, 5, 4, 4, 2 * 1, 3 * 1]),
]


@pytest.mark.parametrize(("network", "pieces"), VIRTUALS)
def test_normalized_virtual_weights(network, pieces, tmp_path, capsys):
    good = pieces_of("virtual weights", *pieces)
    assert f"0 <= dim M <= {sum(pieces)}," in answer(with_bound(network, good), tmp_path, capsys)
    for wrong in ([*pieces, 1 - len(network["widths"])], [*pieces[:-1], pieces[-1] - 1], [pieces[0] - 1, *pieces[1:]]):
        line = answer(with_bound(network, pieces_of("virtual weights", *wrong)), tmp_path, capsys)
        assert f"the pieces of 'virtual weights' must be {pieces}" in line


@pytest.mark.parametrize(("network", "variety", "u"), PIECES)
def test_pieces_of_one(network, variety, u, tmp_path, capsys):
    for bound in range(1, 81):
        line = answer(with_bound(network, pieces_of(variety, bound)), tmp_path, capsys)
        assert (f"0 <= dim M <= {bound}," in line) == (bound == u), line
    if variety == "virtual weights":
        assert "rejected: the pieces" in answer(with_bound(network, pieces_of(variety, 5, 9, -1)), tmp_path, capsys)


def test_counts_agree_with_the_program(tmp_path, capsys):
    rng, seen = random.Random(8), set()
    while len(seen) < 200:
        depth, t, h = rng.randint(1, 4), rng.randint(1, 3), rng.choice((1, 1, 2, 3))
        skip, widths = rng.random() < 0.3, rng.choices(range(1, 6), k=depth + 1)
        widths = widths[:1] * (depth + 1) if skip else widths
        ranks, causal = rng.choices(range(1, 4), k=depth), rng.random() < 0.3
        b = rng.choices(range(1, 4), k=depth) if rng.random() < 0.3 else None
        n, m = (rng.choice((None, None, None, 1, 2)) for _ in "nm")
        g = rng.choice((None, None, SOFTMAX))
        if rng.random() < 0.3:  # one of the paper, deep and narrowing
            depth, h, b, skip, causal, n, m, g = 4, 1, None, False, causal and bool(g), None, None, g
            widths, ranks = sorted(rng.choices(range(1, 12), k=5), reverse=True), rng.choices((1, 2), k=4)
        network = shape(widths, ranks, t, g, h, b, skip, causal, n, m)
        shaped = Architecture(
            tuple(widths), tuple(ranks), t, normalization=network["normalization"] and lightning_sym.SOFTMAX, heads=h,
            value_ranks=b and tuple(b), skip=skip, causal=causal, embed=n, unembed=m,
        )  # fmt: skip
        counts = {"linear maps": varieties.linear_maps(shaped), "head forms": varieties.quadratic_forms(shaped)}
        bounds = [pieces_of(name, u) for name, u in counts.items() if u is not None]
        if varieties.has_virtual_weights(shaped):
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


@pytest.mark.parametrize(
    ("network", "terms"),
    [
        (shape([2, 3, 2], [2, 1], 2, SOFTMAX), None),
        (shape([2, 3, 2], [2, 1], 2, SOFTMAX, causal=True), None),
        (shape([2, 3, 2], [2, 1], 2, RATIONAL), 5),
        (shape([2, 2], [2], 2, RATIONAL), None),
        (shape([2, 2], [2], 2, SQUARE, causal=True), None),
        (shape([2, 2], [2], 2), None),
        (shape([2, 2], [2], 2, RATIONAL), 3),
        (shape([2, 2], [2], 2, RATIONAL), 5),
        (shape([2, 2], [1], 2, RATIONAL), 40),
    ],
)
def test_the_minor_is_of_derivatives(network, terms, tmp_path, capsys):
    """A functional of which one derivative vanishes, but no other one, by gradients computed here."""
    rng = random.Random(9)
    weights, at = point(network, rng)
    (one, a), (two, b) = gradients(at, terms, rng, 1, 2)
    c = next(c for c, x in enumerate(a) if x)
    pairs = zip(one["functional"], two["functional"], strict=True)
    mixed = [
        [[(b[c] * x - a[c] * y) % P for x, y in zip(*rows, strict=True)] for rows in zip(*both, strict=True)]
        for both in pairs
    ]
    lower = {"prime": P, "terms": terms, "weights": weights, "rows": [one | {"functional": mixed}]}
    good = with_bound(network, {"kind": "orbit", "bound": at.size, "prime": P, "weights": weights, "families": []})
    for column in (c, at.size - 1):
        line = answer(good | {"lower": 1, "lower_bound": {**lower, "columns": [column]}}, tmp_path, capsys)
        assert ("the minor must not be 0" if column == c else "1 <= dim M") in line


@pytest.mark.parametrize("p", [9, 15, 25, 2039**2, 2 * 3, 4194298, 4194303])
def test_composite_moduli(p, tmp_path, capsys):
    assert f"must be a prime, {p} is none" in answer(DIFFERENT | {"prime": p}, tmp_path, capsys)


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
    (b"[" + b"[]," * (2**21) + b"1]", "at most 2,097,152 lists, and a fourth as many objects"),
    (b"[" + b"{}," * (2**19) + b"1]", "at most 2,097,152 lists, and a fourth as many objects"),
    (b"[" + b"[]," * (2**21 - 2) + b"1]", "must be of type dict"),
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


@pytest.mark.parametrize("good", [SAME[3], SAME[-1]], ids=["one layer", "two layers"])
def test_every_entry_is_compared(good, tmp_path, capsys):
    """Of the weights a group element leads to, of the matrices of the group element, and of the scales."""
    step = good["steps"][0]
    assert step["step"] == "group"
    places = [("second", *path) for path in leaves(good["second"])]
    places += [("steps", 0, key, *path) for key in ("query_key", "between", "scales") for path in leaves(step[key])]
    count = 0
    for path in places:
        bent, value = json.loads(json.dumps(good)), good  # both networks share lists
        for key in path:
            value = value[key]
        if not isinstance(value, (dict, list)):
            put(bent, path, str(Fraction(value) + 5))
            assert "the group element must map one network to the other" in answer(bent, tmp_path, capsys)
            count += 1
    assert count > 6


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
