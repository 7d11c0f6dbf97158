"""Certificates made by hand, with the checker's own arithmetic: small networks and pairs of networks."""

import itertools
import json
import random

from proofs_check.checker import directions as unseen
from proofs_check.checker import verify

P = 4194301


SOFTMAX = {"name": "softmax"}


RATIONAL = {"name": "mine", "taylor": ["1", "1/2", "3"]}


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
    return [c.numerator * pow(c.denominator, -1, P) % P for c in net.g[:terms]]


def tables(net, rng):
    """Exponentials of all scores, if softmax makes them: random ones, where tokens are multiples of one, symmetric."""
    found, rank = [], net.n if net.embed is None else min(net.n, net.d[0])
    for i in range(1, net.l + 1):
        for _ in range(net.h):
            table = [[rng.randrange(P) for _ in range(net.t)] for _ in range(net.t)]
            for j, k in itertools.combinations(range(net.t), 2):
                table[j][k] = table[k][j] if rank == 1 and not net.causal else table[j][k]
            found.append(table)
        rank = min(net.d[i], net.skip * rank + net.h * min(net.b[i], rank))
    return found if net.normalized and not net.g else None


def gradients(at, terms, rng, inputs, each):
    """Rows of a lower bound, with their gradients."""
    net, n, room = at.net, terms or 1, 2 * (terms or 1) - 1
    jets, numbers = verify.Jets(P, n, at.size, 64 if terms else 0), itertools.count(1)
    w = {key: [[x + (1 << 64 * room * next(numbers)) for x in row] for row in m] for key, m in at.w.items()}
    for _ in range(inputs):
        x = [[rng.randrange(P) for _ in range(net.t)] for _ in range(net.n)]
        given = tables(net, rng)
        out = verify.T(at.output(verify.T(x), w, taylor(net, terms), jets, given or ()))
        for _ in range(each):
            functional = [[[rng.randrange(P) for _ in range(net.t)] for _ in range(net.m)] for _ in range(n)]
            total = 0
            for i, j in itertools.product(range(net.m), range(net.t)):
                total += out[i][j] * verify.pack([C[i][j] for C in functional][::-1])
            flat = [v % P for v in verify.unpack(total)[n - 1 :: room]][1:]
            row = {"input": x, "functional": functional} | ({"exponentials": given} if given else {})
            yield row, flat + [0] * (at.size - len(flat))


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
    return [name for name, there in (has | unseen.families(net)).items() if there]


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


GOOD = certificate(shape([2, 3, 2], [2, 1], 2, SOFTMAX), 11)


SERIES = certificate(shape([2, 3, 2], [2, 1], 2, RATIONAL), 11, terms=4)


LIGHTNING = certificate(shape([4, 2], [1], 3), 14)


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
    (shape([2, 5], [1], 2, h=2, b=[1]), "head forms", 18),  # rank two in 5 x 6
    (shape([3, 3], [1], 2, h=3, b=[1], skip=True), "head forms", 36),  # rank three in 9 x 6
    (shape([3, 3, 3], [1, 1], 2, h=2), "head forms", None),
    (shape([3, 3], [1], 2), "head forms", None),
    (shape([3, 3], [1], 2, h=2, n=2), "head forms", None),
    (shape([3, 3], [1], 2, SOFTMAX, h=2), "head forms", None),
    (shape([3, 3], [1], 2, causal=True), "virtual weights", None),
    (shape([3, 3], [1], 2, skip=True), "virtual weights", None),
    (shape([3, 3], [1], 2, b=[1]), "virtual weights", None),
    (shape([3, 3], [1], 2, m=2), "virtual weights", None),
    (shape([3, 3], [1], 2, SOFTMAX, h=2), "virtual weights", None),
    (shape([3, 3], [1], 2, RATIONAL, skip=True), "virtual weights", None),
    (shape([3, 3], [1], 2, SOFTMAX, b=[1]), "virtual weights", None),
    (shape([3, 3], [1], 2, SOFTMAX, n=2), "virtual weights", None),
]


def with_bound(network, bound):
    """A certificate of one upper bound alone."""
    rows = {"rows": [], "columns": [], "terms": None, "prime": P}
    weights, _ = point(network, random.Random(1))
    head = {"format": "lightning-sym/certificate", "version": 1, "kind": "dimension", "network": network, "lower": 0}
    return {**head, "upper": bound["bound"], "lower_bound": {**rows, "weights": weights}, "upper_bounds": [bound]}


def pieces_of(variety, *pieces):
    return {"kind": "factorization", "bound": sum(pieces), "variety": variety, "pieces": list(pieces)}


LAYER = {"Q1": [[1, 2]], "K1": [[3, 1]], "V1": [[1, 0], [2, 1]]}


OTHER = {"Q1": [["1/2", 1]], "K1": [[6, 2]], "V1": [[1, 0], [2, 1]]}


DIFFERENT = {"format": "lightning-sym/certificate", "version": 1, "kind": "different", "tokens": 2, "first": LAYER}


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


DIFFERENT |= {"second": {**LAYER, "V1": [[1, 0], [2, "2/3"]]}, "input": [[1, 2], [3, -1]], "prime": None}


ONE = {"Q1": [[2]], "K1": [[3]], "V1": [[5]]}


SAME.insert(0, same({**ONE, "Q1": [[0]]}, {**ONE, "V1": [[0]]}, {"step": "zero"}))


SAME.insert(0, same(TWO, {**TWO, "Q2": [[2, 2]], "K2": [[1, "5/2"]]}, {"step": "layer", "layer": 2}))


SAME.insert(0, same({**TWO, "Q1": [[1, 2], [0, 1]], "K1": [[3, 1], [1, 1]]}, TWO, {"step": "zero"}))


SAME[0] |= {"first": {**TWO, "Q2": [[0, 0]]}, "second": {**TWO, "K1": [[0, 0]]}}


SAME[-1]["second"] = {**TWO, "V1": [[3, 1], [2, 1]], "Q2": [[1, 0]], "K2": [[2, 3]], "V2": [[1, 0]]}
