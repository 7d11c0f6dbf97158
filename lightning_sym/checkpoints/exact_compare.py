"""Whether the equations of a layer hold over the rationals: which entries do not, without any tolerance.

Floats say so where nothing is added: a product of two numbers of 24 bits is one of 48, and two such products are equal
if their floats are. Everything else is compared modulo enough primes for the longest number that can occur.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lightning_sym.checkpoints.bases import StreamMap
from lightning_sym.checkpoints.equations import LayerGauge, inverses_fail, layer_differences, modulo_ones, rational
from lightning_sym.checkpoints.exact_rings import Ratio, Residues, Size, primes_for
from lightning_sym.checkpoints.folded import fold
from lightning_sym.checkpoints.layer_fit import floats
from lightning_sym.checkpoints.model import Array, Block, CheckpointForm
from lightning_sym.checkpoints.pieces import ATTENTION, HALVES, LAYER, MLP
from lightning_sym.errors import TooLarge

Mask = Any
"""Where an equation does not hold: an array of truth values."""

MAPS = {name: tuple(half.maps) for name, half in HALVES.items()}
AXES = {name: axis for name, piece in LAYER.items() if (axis := piece.place("stream")) is not None} | {"moved_bias": 0}
"""Along which a LayerNorm does not see a multiple of the vector of ones."""

NORMS = {name: half.norm for name, half in HALVES.items()}


def exact_masks(
    first: Block, second: Block, gauge: LayerGauge, stream: StreamMap, form: CheckpointForm
) -> dict[str, Mask] | None:
    """Where the equations fail, exactly; `None` if a guessed inverse is none, or numbers are too long."""
    masks: dict[str, Mask] = {}
    for half in (ATTENTION, MLP):
        blocks = without_norm(first, second, NORMS[half], stream)
        found = _by_floats(*blocks, gauge, stream, form, half)
        if found is None:
            blocks = (first, second) if form.norm == "layer" else blocks
            found = _by_primes(*blocks, gauge, stream, form, half)
        if found is None:
            return None
        masks |= found
    return masks


def without_norm(first: Block, second: Block, norm: str, stream: StreamMap) -> tuple[Block, Block]:
    """Both blocks with a norm of gain 1 and bias 0, if the second's is the first's, carried along; else as they are.

    The equations of what reads it are the same then, as no gain is 0; only a shift along ones, which a LayerNorm does
    not see, is another one.
    """
    if max(digits(getattr(block, f"{norm}_{part}")) for block in (first, second) for part in ("gain", "bias")) > 53:
        return first, second  # floats do not hold them
    old, new = (np.asarray(getattr(block, f"{norm}_gain"), dtype=np.float64) for block in (first, second))
    biases = [np.asarray(getattr(block, f"{norm}_bias"), dtype=np.float64) for block in (first, second)]
    if stream.order is None or not new.all() or not np.array_equal(new, old[stream.order]):
        return first, second
    signs = 1.0 if stream.signs is None else floats(stream.signs)
    if not np.array_equal(biases[1], biases[0][stream.order] * signs):
        return first, second
    one, none = np.ones(len(new), dtype=np.float32), np.zeros(len(new), dtype=np.float32)
    bare: Any = {f"{norm}_gain": one, f"{norm}_bias": none}
    return replace(first, **bare), replace(second, **bare)


def digits(array: Any) -> int:
    """Bits that suffice for the significand of every entry; more than floats have where they hold no entry exactly.

    Example:
        >>> digits(np.array([0.75, -4.0])), digits(np.array([1.0], dtype=np.float32)), digits(np.array([1e-300]))
        (2, 24, 53)
    """
    if isinstance(array, Ratio):
        return digits(array.numerators) if array.is_dyadic else 2**20
    if array.dtype == object:
        return 2**20
    if array.dtype.itemsize <= 4:
        return 24 if array.dtype.itemsize == 4 else 11
    top = np.ldexp(np.frexp(array)[0], 53).astype(np.int64)
    lowest = np.frexp((top & -top).astype(np.float64))[1] - 1
    return int(53 - lowest[top != 0].min(initial=53))


def held(*factors: Sequence[Any]) -> bool:
    """Whether floats hold each product with a factor of each list, so that they multiply these without rounding.

    Example:
        >>> held([np.array([1e-300])], [np.array([1.0])]), held([np.array([1e-300])], [np.array([2.0**-30])])
        (True, False)
    """
    factors = tuple(arrays for arrays in factors if not all(map(_ones, arrays)))
    bits = [max(map(digits, arrays)) for arrays in factors]
    if sum(b for b in bits if b > 1) > 53:
        return False
    reaches = [list(map(_reach, arrays)) for arrays in factors]
    low = sum(min(0, *(least for least, _ in reach)) for reach in reaches)
    top = sum(max(0, *(most for _, most in reach)) for reach in reaches)
    return len(factors) < 2 or (low >= -1022 and top <= 1023)


def _ones(array: Any) -> bool:
    """Nothing is multiplied by it but signs."""
    return (isinstance(array, Ratio) or array.dtype.kind == "f") and bool((np.abs(floats(array)) == 1).all())


def _reach(array: Any) -> tuple[int, int]:
    """Exponents: no entry but 0 is below the one power of two, none is above the other."""
    sizes = np.abs(floats(array))
    least, most = sizes[sizes != 0].min(initial=1), sizes.max(initial=0)
    return int(np.frexp(least)[1]) - 1, int(np.frexp(most)[1])


def _by_floats(
    first: Block, second: Block, gauge: LayerGauge, stream: StreamMap, form: CheckpointForm, half: str
) -> dict[str, Mask] | None:
    """The answer of floats; `None` if something is added, or products are too long."""
    norm = NORMS[half]
    if stream.order is None or any(getattr(block, f"{norm}_bias").any() for block in (first, second)):
        return None
    if half == ATTENTION and any(gauge.does(name) for name in ("values", "queries", "turns")):
        return None
    arrays = [a for block in (first, second) for name in MAPS[half] if (a := getattr(block, name)) is not None]
    gains = [getattr(block, f"{norm}_gain") for block in (first, second)]
    ups = [part for part in (gauge.ups, gauge.ups_inverse) if half == MLP and part is not None]
    if not held(arrays, gains, ups, [rational(stream.scale)]):
        return None
    found = layer_differences(floats, fold(first, floats, (half,)), fold(second, floats, (half,)), gauge, stream, form)
    masks = {name: difference != 0 for name, difference in found.items()}
    if half == ATTENTION:
        if masks["value_bias"].any() or (masks["output_bias"].any() and second.value_bias.any()):  # type: ignore[union-attr]
            return None
        masks["moved_bias"] = masks["output_bias"].copy()
    if form.norm == "layer" and any(masks[name].any() for name in masks if name in AXES):
        return None  # equal up to a shift along ones, perhaps
    return masks


def _by_primes(
    first: Block, second: Block, gauge: LayerGauge, stream: StreamMap, form: CheckpointForm, half: str
) -> dict[str, Mask] | None:
    def differences(of: Callable[[Any], Any]) -> dict[str, Any]:
        found = layer_differences(of, fold(first, of, (half,)), fold(second, of, (half,)), gauge, stream, form)
        return up_to_ones(found) if form.norm == "layer" else found

    inner = float(np.log2(max(form.width, form.inner, len(second.up), form.heads * form.head_width)))

    def size(array: Any) -> Size:
        return Size.of(array, inner)

    try:
        primes = primes_for(max(part.bits for part in (*differences(size).values(), *inverses_fail(size, gauge))))
    except TooLarge:
        return None
    masks: dict[str, Mask] = {}
    for prime in primes:

        def residues(array: Any, prime: int = prime) -> Residues:
            return Residues.of(array, prime)

        if any(part.nonzero().any() for part in inverses_fail(residues, gauge)):
            return None
        for name, part in differences(residues).items():
            masks[name] = part.nonzero() | masks.get(name, False)
    if form.norm == "layer":
        masks |= {name: settled(masks[name], axis) for name, axis in AXES.items() if name in masks}
    return masks


def settled(mask: Mask, axis: int) -> Mask:
    """Where numbers differ by more than what most of them have in common; every one does where most have nothing.

    Example:
        >>> settled(np.array([[True, False, False], [True, True, False]]), 1).tolist()
        [[True, False, False], [True, True, True]]
    """
    return mask | (2 * mask.sum(axis=axis, keepdims=True) >= mask.shape[axis])


def up_to_ones(found: dict[str, Any]) -> dict[str, Any]:
    """Differences without what LayerNorm does not see."""
    return {name: modulo_ones(array, AXES[name]) if name in AXES else array for name, array in found.items()}


def all_off(found: Mapping[str, Array], units: Mapping[str, Array], bits: Mapping[str, int]) -> bool:
    """Whether most tensors differ nearly everywhere by far more than floats lose: nothing is equal exactly."""
    names = [name for name, piece in LAYER.items() if piece.columns and name in found]
    dense = [(np.abs(found[name]) > 1e-10 * np.ldexp(units[name], bits[name])).mean() > 0.5 for name in names]
    return 2 * sum(map(bool, dense)) > len(names)
