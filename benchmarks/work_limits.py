"""What questions with a limit of work take, in seconds of the processor, as shares of that limit, over random shapes.

    python benchmarks/work_limits.py [--count 100] [--seed 0] [--work 1] [--largest 4] [--address-space 2] [--degree 2]

One to three layers, widths and ranks up to `--largest`, all options. Each question runs in a process of its own whose
address space is bounded (`ulimit -v`, GiB); what importing takes is left out. A limit is kept if no share is much above
one: estimates are rough, and up to three is near. Whatever ends in another way than an answer or a refusal is named.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from measuring import Figures, parser

from lightning_sym import (
    Architecture,
    BadInput,
    TooLarge,
    Weights,
    classify,
    equations,
    polynomial_map,
    recover,
    singular_locus,
    variety_degree,
)

PATIENCE = 60.0
"""Seconds after which a question is given up, and said to be."""


def random_shape(generator: random.Random, largest: int) -> Architecture:
    """Return one to three layers, any options."""
    depth, skip = generator.choice((1, 1, 2, 2, 2, 3)), generator.random() < 0.3
    widths = [generator.randint(1, largest) for _ in range(depth + 1)]
    options: dict[str, Any] = {"skip": skip, "causal": generator.random() < 0.3}
    if generator.random() < 0.4:
        options["heads"] = generator.randint(1, 3)
    if generator.random() < 0.4:
        options["value_ranks"] = tuple(generator.randint(1, largest) for _ in range(depth))
    for end in ("embed", "unembed"):
        if generator.random() < 0.25:
            options[end] = generator.randint(1, largest)
    ranks = tuple(generator.randint(1, largest) for _ in range(depth))
    return Architecture(tuple(widths[:1] * (depth + 1) if skip else widths), ranks, generator.randint(1, 5), **options)


def without_options(shape: Architecture) -> Architecture:
    """Return the shape without its options, as some questions need it."""
    return Architecture(shape.widths, shape.attention_ranks, shape.tokens)


class Question(NamedTuple):
    """Of which shapes something is asked, what is made of a shape first, which is not counted, and the question."""

    only_plain: bool
    made: Callable[[Architecture], Any]
    asked: Callable[[Any, float, int], object]


def weights_of(shape: Architecture) -> tuple[Weights, int]:
    """Return random weights, and the number of tokens."""
    return Weights.random(shape, seed=1), shape.tokens


QUESTIONS = {
    "equations": Question(False, lambda shape: shape, lambda shape, work, degree: equations(shape, work=work)),
    "equations --degree": Question(
        False, lambda shape: shape, lambda shape, work, degree: equations(shape, degree, work=work)
    ),
    "degree": Question(False, lambda shape: shape, lambda shape, work, degree: variety_degree(shape, work=work)),
    "classify": Question(True, weights_of, lambda given, work, degree: classify(*given, work=work)),
    "classify --degree": Question(
        True, weights_of, lambda given, work, degree: classify(*given, degree=degree, work=work)
    ),
    "classify --singular-ideal": Question(
        True, lambda shape: shape, lambda shape, work, degree: singular_locus(shape, work=work)
    ),
    "recover": Question(
        True,
        lambda shape: polynomial_map(shape, Weights.random(shape, seed=1), memory=2**27),
        lambda phi, work, degree: recover(phi, work=work),
    ),
}


def ask(name: str, shape: Architecture, work: float, degree: int, space: float, answers: Any) -> None:
    """Put seconds of the processor, the peak of memory in MiB, and how it ended, into the queue."""
    resource.setrlimit(resource.RLIMIT_AS, (int(space * 2**30), int(space * 2**30)))
    question, start, ended = QUESTIONS[name], time.process_time(), "answered"
    try:
        given = question.made(shape)
        start = time.process_time()
        question.asked(given, work, degree)
    except (TooLarge, BadInput) as error:
        ended = f"refused: {error}"
    except BaseException as error:  # noqa: BLE001 - it is what is looked for
        ended = f"FAILED: {type(error).__name__}: {error}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answers.put((time.process_time() - start, peak, ended))


def main() -> int:
    """Print a table of shares; 1 where something failed."""
    options = parser(__doc__, "count", "seed", "largest", count=100, largest=4)
    options.add_argument("--work", type=float, default=1.0)
    options.add_argument("--degree", type=int, default=2)
    options.add_argument("--address-space", type=float, default=2.0)
    options.add_argument("--questions", nargs="*", choices=QUESTIONS, default=list(QUESTIONS))
    given = options.parse_args()
    processes = multiprocessing.get_context("fork")
    title = f"Seconds of the processor, as shares of --work {given.work:g}; {given.count} shapes"
    table = Figures(title, "question", "median", "9 of 10", "largest", "above 3", "refused", "failed", "largest MiB")
    worst: list[str] = []
    failures = 0
    for name in given.questions:
        generator, rows = random.Random(given.seed), []
        for _ in range(given.count):
            shape = random_shape(generator, given.largest)
            shape = without_options(shape) if QUESTIONS[name].only_plain else shape
            answers = processes.Queue()
            child = processes.Process(
                target=ask, args=(name, shape, given.work, given.degree, given.address_space, answers)
            )
            child.start()
            try:
                seconds, peak, ended = answers.get(timeout=PATIENCE)
            except Exception:  # noqa: BLE001 - no answer: killed, or too long
                seconds, peak, ended = PATIENCE, 0.0, "FAILED: no answer"
            child.kill()
            child.join()
            rows.append((seconds / given.work, peak, ended))
            if rows[-1][0] > 3 or ended.startswith("FAILED"):
                worst.append(f"{name}: {rows[-1][0]:.1f} {ended[:100]}: {shape}")
        shares = sorted(share for share, _, _ in rows)
        failed = sum(ended.startswith("FAILED") for _, _, ended in rows)
        failures += failed
        table.add(
            name,
            f"{shares[len(shares) // 2]:.2f}",
            f"{shares[len(shares) * 9 // 10]:.2f}",
            f"{shares[-1]:.2f}",
            sum(share > 3 for share in shares),
            sum(ended.startswith("refused") for _, _, ended in rows),
            failed,
            f"{max(peak for _, peak, _ in rows):.0f}",
        )
    table.show()
    print(*worst, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
