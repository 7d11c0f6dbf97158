"""Different functions of two networks: by their outputs at an input, or by theorems (docs/certificate.md, 4)."""

from functools import partial

from proofs_check.checker.functions.network import Form
from proofs_check.checker.functions.outputs import outputs
from proofs_check.checker.functions.proofs import DIFFERENT, PAIR, PLAIN_PAIR, about, with_a_form
from proofs_check.checker.verify import INTEGER, SOME, Later, odd_prime, take


def by_an_input(t: int, one: object, other: object, data: object, p: int | None) -> str:
    """Say where outputs for an input differ."""
    name, first, second = about(t, one, other)
    x = take(data, "the input", [[INTEGER, t], first.n])
    return f"different functions of {name}; {outputs(Form(), t, first, second, x, p, None)}"


ROWS = (
    (PAIR | {"proof": DIFFERENT}, partial(with_a_form, "different functions", DIFFERENT)),
    (PLAIN_PAIR | {"input": Later([[INTEGER, SOME], SOME]), "prime": (odd_prime,)}, by_an_input),
)
