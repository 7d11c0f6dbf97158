"""Different functions of two networks: by their outputs at an input, or by theorems (docs/certificate.md, 4)."""

from functools import partial
from typing import Any

from proofs_check.checker.functions.proofs import DIFFERENT, PAIR, PLAIN, about, with_a_form
from proofs_check.checker.functions.rings import RATIONALS, Residues, is_multiple
from proofs_check.checker.verify import LONG, SIZE, SOME, Later, keep, need, odd_prime, take, transposed

NUMBER = range(1 - LONG, LONG)


def by_an_input(t: int, one: Any, other: Any, data: Any, p: int | None) -> str:
    """Say where outputs for an input differ."""
    name, *networks = about(t, one, other)
    x, ring = take(data, "the input", [[NUMBER, t], networks[0].n]), Residues(p) if p else RATIONALS
    outputs = []
    for w in networks:
        y = x
        for (head,) in w.layers:
            keep(sum(64 * len(m) * (2 + len(m[0])) for m in head[:3]))
            q, k, v = ([[ring.of(z) for z in row] for row in m] for m in head[:3])
            y = ring.times(v, y, transposed(y), transposed(k), q, y)
        outputs.append(y)
    need(not is_multiple(outputs[0], 1, outputs[1]), "the outputs must differ, they are equal")
    where = f"over the rationals{f' and modulo {p}' * bool(p)}"
    return f"different functions of {name}; their outputs differ at an input, {where}"


ROWS = (
    (PAIR | {"proof": DIFFERENT}, partial(with_a_form, "different functions", DIFFERENT)),
    (
        {
            "tokens": SIZE,
            "first": PLAIN,
            "second": PLAIN,
            "input": Later([[NUMBER, SOME], SOME]),
            "prime": (odd_prime,),
        },
        by_an_input,
    ),
)
