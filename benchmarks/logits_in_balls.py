"""Logits in balls: how long, how much memory, how small the balls are, beside the same logits in float64.

    PYTHONPATH=tests/tools python benchmarks/logits_in_balls.py [--tokens 8] [FOLDER OR FILE.gguf ...]

The shapes of GPT-2 small and SmolLM2-135M with random weights in float32, a layer drawn when it is asked for, and then
the checkpoints that are named. Seconds are of the processor, less those of drawing and reading weights; the environment
variable OPENBLAS_NUM_THREADS=1 keeps threads of BLAS from waiting for each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from measuring import parser, peak
from plain_checkpoints import logits as plain_logits

from lightning_sym import open_checkpoint
from lightning_sym.checkpoints.families import FAMILIES
from lightning_sym.checkpoints.logits import compare_logits, logits
from lightning_sym.checkpoints.model import Block, Checkpoint, CheckpointForm, Ends
from lightning_sym.checkpoints.pieces import table

T = TypeVar("T")
EPSILON = Fraction(1, 10**5)
GPT2 = CheckpointForm(
    "gpt2", 12, 768, 12, 12, 64, 3072, 50257, 1024, "layer", EPSILON, None, "gelu_new", tied=True
)  # fmt: skip
SMOLLM2 = CheckpointForm(
    "llama", 30, 576, 9, 3, 64, 1536, 49152, 8192, "rms", EPSILON, Fraction(10**5), "silu", tied=True
)  # fmt: skip


class Drawn:
    """Random weights of a form, each piece from its own seed."""

    def __init__(self, name: str, form: CheckpointForm) -> None:
        self.name, self.form, family = name, form, FAMILIES[form.family]
        self.parts = family.parts(form, family.biases)

    def _pieces(self, kind: type[Any], parts: frozenset[str], seed: int) -> Any:
        source = np.random.default_rng(seed)

        def drawn(piece: str) -> Any:
            shape = table(self.form)[piece].shape
            size = 0.1 if len(shape) == 1 or piece.endswith("bias") else shape[-1] ** -0.5
            near = np.float32(piece.endswith("gain"))
            return near + np.float32(size) * source.standard_normal(shape, dtype=np.float32)

        return kind(**{field.name: drawn(field.name) if field.name in parts else None for field in fields(kind)})

    def ends(self) -> Ends:
        return self._pieces(Ends, frozenset(table(self.form).ends), 0)  # type: ignore[no-any-return]

    def block(self, layer: int) -> Block:
        return self._pieces(Block, self.parts, layer + 1)  # type: ignore[no-any-return]

    def stored(self, piece: str) -> str:
        return "F32"

    def called(self, piece: str) -> str:
        return piece


class Timed:
    """A checkpoint, and the seconds that its weights took."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.of, self.seconds = checkpoint, 0.0
        self.name, self.form, self.stored, self.called = (
            checkpoint.name, checkpoint.form, checkpoint.stored, checkpoint.called
        )  # fmt: skip

    def _timed(self, read: Callable[[], T]) -> T:
        start = time.process_time()
        found = read()
        self.seconds += time.process_time() - start
        return found

    def ends(self) -> Ends:
        return self._timed(self.of.ends)

    def block(self, layer: int) -> Block:
        return self._timed(lambda: self.of.block(layer))


def processor_seconds(checkpoint: Timed, work: Callable[[], T]) -> tuple[float, T]:
    """Return the processor's seconds for the work, without those for making weights, and what it returned."""
    start, before = time.process_time(), checkpoint.seconds
    found = work()
    return time.process_time() - start - (checkpoint.seconds - before), found


def report(given: Checkpoint, ids: list[int]) -> None:
    """Print one line for each question."""
    checkpoint = Timed(given)
    plain, floats = processor_seconds(checkpoint, lambda: plain_logits(checkpoint, np.array(ids)))
    ours, balls = processor_seconds(checkpoint, lambda: logits(checkpoint, ids))
    print(f"{checkpoint.name}: {len(ids)} tokens")
    print(f"  float64  {plain:6.1f} s, off by at most {np.abs(floats.T - balls.middle).max():.1e}")
    print(f"  balls    {ours:6.1f} s, {ours / plain:.0f} times that; radii at most {balls.radius.max():.1e}")
    both, found = processor_seconds(checkpoint, lambda: compare_logits(checkpoint, checkpoint, ids))
    print(f"  compared {both:6.1f} s: with itself, bound {float(found.bound):.0e}")
    print(f"  peak     {peak() / 2**30:6.2f} GiB, weights of the layer included", flush=True)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--tokens", type=int, default=8)
    options.add_argument("checkpoints", nargs="*")
    given = options.parse_args()
    every: list[Checkpoint] = [Drawn("GPT-2 small's shape", GPT2)]
    every += [Drawn("SmolLM2-135M's shape", SMOLLM2), *map(open_checkpoint, given.checkpoints)]
    for checkpoint in every:
        source = np.random.default_rng(0)
        report(checkpoint, source.integers(0, checkpoint.form.vocabulary, given.tokens).tolist())


if __name__ == "__main__":
    main()
