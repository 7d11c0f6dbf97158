"""Logits of checkpoints in balls, and how far those of two checkpoints are from each other.

Balls of 53 bits are useless after two layers: what a layer does to a radius, worst case by worst case, is a factor of
about `2^20`. So the stream is held in so many more bits (`rings.float_products`), and begun again with twice as many
where they were too few. What is said holds for the real numbers that the weights define (`docs/balls.md`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.checkpoints.affine_factors import times
from lightning_sym.checkpoints.model import Checkpoint, CheckpointForm, require_checkpoint
from lightning_sym.checkpoints.stored_checkpoint import StoredCheckpoint
from lightning_sym.checkpoints.transformer import Prompts, as_logits, last_stream, unembedding
from lightning_sym.checkpoints.understood import Walker, ends_of
from lightning_sym.display import Result, latex_words
from lightning_sym.errors import BadInput, ShapeError, TooLarge, no_truth_value
from lightning_sym.limits import DEFAULT_MEMORY, Progress, require_integer, require_memory, unheard
from lightning_sym.rings.ball_matrices import BallMatrix, DecimalBall, Unordered
from lightning_sym.rings.balls import middle_and_radius, precision
from lightning_sym.rings.midpoint_radius import MidpointRadius

LAYER_BITS = 19
"""Bits of the stream that a layer may cost at the first attempt."""

WANTED_BITS = 100
"""Radii of what is unembedded are at most `2^-100`: one weight of float64 that differs in the last place is seen."""

SPARE_BITS = 40
"""Bits besides those of the layers."""

ATTEMPTS = 3
"""Each with twice as many bits."""

ROWS_AT_ONCE = 2**13
"""Token ids whose logits are in memory at one time, where two checkpoints are compared."""


class _TooWide(Exception):
    """The radii of the stream have grown too far to be of use."""


def prompts_of(token_ids: Sequence[int] | Sequence[Sequence[int]], form: CheckpointForm) -> Prompts:
    """Return one prompt or several, each of token ids that there are, and not longer than the context.

    Raises:
        BadInput: they are none.
        TooLarge: a prompt is longer than the context.
    """
    if not isinstance(token_ids, (list, tuple)) or not token_ids:
        raise BadInput(f"token ids must be a list of integers, or of such lists, not empty, got {shown(token_ids)}")
    prompts = token_ids if isinstance(token_ids[0], (list, tuple)) else [token_ids]
    for prompt in prompts:
        if not isinstance(prompt, (list, tuple)) or not prompt:
            raise BadInput(f"a prompt must be a list of token ids, not empty, got {shown(prompt)}")
        for i in prompt:
            require_integer(i, "a token id", 0, form.vocabulary - 1)
        if len(prompt) > form.context:
            raise TooLarge(f"a prompt must have at most {form.context:,} tokens, the context, got {len(prompt):,}")
    return prompts


def logits(
    checkpoint: Checkpoint,
    token_ids: Sequence[int] | Sequence[Sequence[int]],
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> MidpointRadius:
    """Return the logits of all tokens, each in a ball of floats.

    Args:
        checkpoint: the weights; one layer is in memory at a time.
        token_ids: one prompt, or several.
        memory: bytes that may be used.
        progress: told of every layer.

    Returns:
        Shape `vocabulary x t`; the prompts side by side, a column a token. Radii are little more than the rounding to
        floats.

    Raises:
        BadInput: the token ids are none of this checkpoint.
        TooLarge: it needs more memory, or more bits than are tried.

    Example:
        >>> from lightning_sym.testing.checkpoints import small_checkpoint
        >>> found = logits(small_checkpoint("gpt2"), [3, 1, 4])
        >>> found.shape, float(found.radius.max()) < 1e-14
        ((40, 3), True)
    """
    require_arguments(logits, locals())
    require_checkpoint(checkpoint)
    prompts = prompts_of(token_ids, checkpoint.form)
    kept = 40 * checkpoint.form.vocabulary * sum(map(len, prompts))
    x, bits = _stream(checkpoint, prompts, memory, progress, kept)
    with precision(bits):
        parts = [MidpointRadius.around(part) for _, part in _unembedded(checkpoint, x)]
    return MidpointRadius(np.concatenate([p.middle for p in parts]), np.concatenate([p.radius for p in parts]))


@dataclass(frozen=True, eq=False, repr=False)
class Apart(Result):
    """Two checkpoints' logits of one token that are proved to differ.

    Attributes:
        prompt: the token ids read, up to the position where the logits are those of the next token.
        token: the token id whose logits differ.
        first, second: their logits, in balls that do not meet.
    """

    prompt: tuple[int, ...]
    token: int
    first: DecimalBall
    second: DecimalBall

    _sentences = (
        ("token ids read", lambda apart: " ".join(map(str, apart.prompt))),
        ("logit of token id", "{0.token}"),
        ("first", "{0.first}"),
        ("second", "{0.second}"),
    )
    _in_words = "logit of {0.token}: {0.first} and {0.second}"


@no_truth_value("comparison.apart is not None")
@dataclass(frozen=True, eq=False, repr=False)
class LogitComparison(Result):
    """Logits of two checkpoints for stated token ids.

    Attributes:
        prompts: all token ids read.
        bound: no logit of any of these tokens differs by more; rounded up to two digits.
        apart: the two logits that differ most, if any are proved to differ.
    """

    prompts: tuple[tuple[int, ...], ...]
    bound: Fraction
    apart: Apart | None

    _sentences = (
        ("token ids read", lambda found: "; ".join(" ".join(map(str, prompt)) for prompt in found.prompts)),
        ("logits differ by at most", lambda found: scientific(found.bound)),
        ("", lambda found: None if found.apart is None else found.apart.lines()[1:]),
    )

    def _latex(self) -> str:
        return latex_words(f"logits differ by at most {scientific(self.bound)}")


def compare_logits(
    first: Checkpoint,
    second: Checkpoint,
    token_ids: Sequence[int] | Sequence[Sequence[int]],
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> LogitComparison:
    """Return how far the logits of two checkpoints are apart, at all positions of the prompts, for all token ids.

    Args:
        first, second: of one vocabulary; anything else may differ.
        token_ids: one prompt, or several.
        memory: bytes that may be used.
        progress: told of every layer.

    Raises:
        BadInput: the token ids are none of these checkpoints.
        ShapeError: the vocabularies have different sizes.
        TooLarge: it needs more memory, or more bits than are tried.

    Example:
        >>> from lightning_sym.testing.checkpoints import small_checkpoint
        >>> one, other = small_checkpoint("llama"), small_checkpoint("llama", seed=1)
        >>> compare_logits(one, one, [3, 1, 4]).apart is None, compare_logits(one, other, [3, 1, 4]).apart is None
        (True, False)
    """
    require_arguments(compare_logits, locals())
    for name, given in (("first", first), ("second", second)):
        require_checkpoint(given, name)
    if first.form.vocabulary != second.form.vocabulary:
        sizes = f"{first.form.vocabulary:,} and {second.form.vocabulary:,}"
        raise ShapeError(f"two checkpoints must have one vocabulary for their logits to be compared, got {sizes}")
    prompts = prompts_of(token_ids, first.form)
    prompts_of(token_ids, second.form)
    (x, bits), (y, more) = (_stream(c, prompts, memory, progress) for c in (first, second))
    bound, least, where, pair = Fraction(0), Fraction(0), (0, 0), None
    with precision(max(bits, more)):
        for (start, a), (_, b) in zip(_unembedded(first, x), _unembedded(second, y), strict=True):
            if (distance := a.farthest(b)) is None:
                raise TooLarge("logits must be finite balls to be compared")
            bound = max(bound, distance)
            found = a.clearest(b)
            if found is not None and found[0] > least:
                least, (row, column) = found
                where, pair = (start + row, column), tuple(middle_and_radius(m.flint[row, column]) for m in (a, b))
    read = tuple(tuple(map(int, prompt)) for prompt in prompts)
    if pair is None:
        return LogitComparison(read, rounded_up(bound), None)
    token, column = where
    left, right = (_short(ball, least) for ball in pair if ball is not None)
    return LogitComparison(read, rounded_up(bound), Apart(_until(read, column), token, left, right))


def _until(prompts: Sequence[tuple[int, ...]], column: int) -> tuple[int, ...]:
    """Return what stands before and in a column, of its prompt."""
    for prompt in prompts:
        if column < len(prompt):
            return prompt[: column + 1]
        column -= len(prompt)
    raise IndexError(column)


def _short(ball: tuple[Fraction, Fraction], apart: Fraction) -> DecimalBall:
    """Return a ball around, in few digits, its radius larger by at most a fiftieth of a distance."""
    digits = 0
    while Fraction(1, 10**digits) > apart / 100:
        digits += 1
    middle = Fraction(round(ball[0] * 10**digits), 10**digits)
    radius = Fraction(1, 10**digits)
    needed = abs(middle - ball[0]) + ball[1]
    return DecimalBall(middle, max(radius, Fraction(-int(-needed * 10 ** (digits + 9) // 1), 10 ** (digits + 9))))


def rounded_up(number: Fraction) -> Fraction:
    """Return a number not below this one, of two decimal digits.

    Example:
        >>> rounded_up(Fraction(1, 3)), rounded_up(Fraction(996)), rounded_up(Fraction(0))
        (Fraction(17, 50), Fraction(1000, 1), Fraction(0, 1))
    """
    if not number:
        return number
    scale = Fraction(1)
    while number * scale > 100:
        scale /= 10
    while number * scale <= 10:
        scale *= 10
    return -(-(number * scale) // 1) / scale


def scientific(number: Fraction) -> str:
    """Return a number rounded up to two digits, as `1.7e-9`.

    Example:
        >>> scientific(Fraction(17, 50)), scientific(Fraction(9991, 10)), scientific(Fraction(0))
        ('3.4e-1', '1.0e3', '0')
    """
    if not number:
        return "0"
    number, exponent = rounded_up(number), 0
    while number >= 10:
        number, exponent = number / 10, exponent + 1
    while number < 1:
        number, exponent = number * 10, exponent - 1
    tenths = int(number * 10)
    return f"{tenths // 10}.{tenths % 10}e{exponent}"


def _stream(
    checkpoint: Checkpoint, prompts: Prompts, memory: int, progress: Progress | None, kept: int = 0
) -> tuple[BallMatrix, int]:
    """Return what is unembedded, with small radii, and the bits that it took."""
    form = checkpoint.form
    columns = sum(map(len, prompts))

    def told(layer: int, x: BallMatrix) -> None:
        accuracy = x.accuracy()
        if accuracy is None or accuracy < 0:
            raise _TooWide
        (progress or unheard)(f"{checkpoint.name}: layers", layer, form.layers)

    bits = WANTED_BITS + SPARE_BITS + LAYER_BITS * form.layers
    for _ in range(ATTEMPTS):
        require_memory(_memory(checkpoint, columns, bits) + kept, memory, f"logits of {columns:,} tokens")
        with precision(bits):
            try:
                x = last_stream(checkpoint, prompts, BallMatrix.of([[1]]), told)
            except (_TooWide, Unordered):
                x = BallMatrix.of([[1]])
            else:
                accuracy = x.accuracy()
                if accuracy is not None and accuracy >= WANTED_BITS:
                    return x, bits
        bits *= 2
    raise TooLarge(f"logits of {checkpoint.name} must be enclosed with at most {bits // 2:,} bits, and more are needed")


def _memory(checkpoint: Checkpoint, columns: int, bits: int) -> int:
    """Return roughly the bytes: weights of one layer and the ends, balls of the widest streams, in all their forms.

    Of weights in a file some rows are looked at a time, of which what is read asks by itself.
    """
    form = checkpoint.form
    balls = columns * (2 * form.inner + 4 * form.width + ROWS_AT_ONCE + columns)
    ends = form.width * (2 * form.vocabulary + form.context * (form.theta is None))
    weights = 0 if isinstance(checkpoint, StoredCheckpoint) else 16 * form.numbers_of_a_layer + 8 * ends
    return weights + 2 * balls * (150 + bits // 4)


def _unembedded(checkpoint: Checkpoint, x: BallMatrix) -> Iterator[tuple[int, BallMatrix]]:
    """Yield the logits of some token ids after others, each with the first of these ids."""
    rows = unembedding(ends_of(checkpoint, Walker.FORWARD, coded=True))
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield start, as_logits(times(rows[start : start + ROWS_AT_ONCE], x), checkpoint.form)
