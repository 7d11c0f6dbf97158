"""What the parts of a symmetry must be: their sizes, letters that are one number in all parts, and their numbers."""

from __future__ import annotations

from math import isfinite

import numpy as np
import numpy.typing as npt

from lightning_sym.checkpoints.exact_arrays import Exact
from lightning_sym.checkpoints.model import CheckpointForm
from lightning_sym.checkpoints.symmetry import KINDS, LayerSymmetry, Part, Symmetry, sizes_of
from lightning_sym.errors import BadInput


def require(holds: object, what: str) -> None:
    """Refuse what is no symmetry.

    Raises:
        BadInput: with what must be true.
    """
    if not holds:
        raise BadInput(what)


def require_symmetry(symmetry: Symmetry, form: CheckpointForm) -> None:
    """Refuse what is no symmetry of a network, or not of its sizes.

    Args:
        symmetry: with as many layers as the network.
        form: in which everything is rewritten.

    Raises:
        BadInput: with the first part that is none, and what must be true.
    """
    of_layers = ((f"{number}.", form.at(number), layer) for number, layer in enumerate(symmetry.layers))
    for where, there, parts in (("", form, symmetry), *of_layers):
        for name, _ in parts.named():
            for need in KINDS[name].needs if name in KINDS else ():  # numbers of groups and the tie are no arrays
                require(need.holds(there), f"{where}{name}: {need.otherwise}")
    require_sizes(symmetry, form)
    for number, one in enumerate(symmetry.layers):
        require_numbers(one, form, f"layer {number}: ")


def require_sizes(symmetry: Symmetry, form: CheckpointForm | None = None) -> None:
    """Refuse a part that is larger or smaller than the network, or than another part, has it.

    Args:
        symmetry: whose parts may be of any shape.
        form: in which everything is rewritten; `None`: parts are compared with each other.

    Raises:
        BadInput: the first part that does not fit, with both shapes, or that is not made of finite numbers.

    Example:
        >>> require_sizes(Symmetry((), order=np.arange(4), final_gain=np.ones(3)))
        Traceback (most recent call last):
        lightning_sym.errors.BadInput: final_gain must have shape (4,), as order says, got (3,)
    """
    sizes: dict[str, tuple[int, str]] = {"1": (1, ""), "2": (2, "")}
    if form is not None:
        sizes |= {letter: (size, "") for letter, size in sizes_of(form).items()}
    for name, part in symmetry.named():
        if name in KINDS:
            _fit(name, part, KINDS[name].shape, sizes)
    for number, layer in enumerate(symmetry.layers):
        sizes.pop("k", None)  # each layer has its own
        sizes |= {} if form is None else {letter: (size, "") for letter, size in sizes_of(form.at(number)).items()}
        where = f"layer {number}: "
        for name, part in layer.named():
            _fit(where + name, part, KINDS[name].shape, sizes)
            if name == "neurons":
                sizes["k"] = (int((np.asarray(part) == -1).sum()), f"{where}neurons")


def _numbers(name: str, part: object) -> npt.NDArray[np.generic]:
    """Return a part as an array of numbers, floats of which are finite."""
    try:
        array = np.asarray(part)
    except ValueError as error:
        raise BadInput(f"{name} must be an array, its rows of one length") from error
    if array.dtype == object:
        entries = array.ravel().tolist()
        kinds = set(map(type, entries))  # those of any exact field will do
        fine = all(hasattr(kind, "__truediv__") and not issubclass(kind, complex) for kind in kinds)
        fine = fine and all(isfinite(x) for x in entries if isinstance(x, float))
    else:
        fine = array.dtype.kind in "fiu" and bool(np.isfinite(array).all())
    if not fine:
        raise BadInput(f"{name} must be made of finite numbers: integers, fractions or floats")
    return array


def _bound_turned(letter: str, size: int, sizes: dict[str, tuple[int, str]]) -> None:
    """Put down the largest number of turned pairs, or the least width of heads, where a part has more, or less."""
    if letter == "a" and "t/2" in sizes and size < 2 * sizes["t/2"][0]:
        sizes.setdefault("a", (2 * sizes["t/2"][0], sizes["t/2"][1]))
    if letter == "t/2" and "a" in sizes and 2 * size > sizes["a"][0]:
        sizes.setdefault("t/2", (sizes["a"][0] // 2, sizes["a"][1]))


def _fit(name: str, part: object, letters: tuple[str, ...], sizes: dict[str, tuple[int, str]]) -> None:
    """Compare the shape of a part with the sizes known, and put down those that it shows."""
    found = _numbers(name, part).shape
    if len(found) == len(letters):
        for letter, size in zip(letters, found, strict=True):
            if letter in ("a", "t/2"):
                _bound_turned(letter, size, sizes)
            sizes.setdefault(letter, (size, name))
    wanted = tuple(sizes[letter][0] if letter in sizes else letter for letter in letters)
    if found == wanted:
        return
    if not letters:
        raise BadInput(f"{name} must be a number, got an array of shape {found}")
    spelled = f"({', '.join(map(str, wanted))}{',' * (len(wanted) == 1)})"
    said = {sizes[letter][1] for letter in letters if letter in sizes} - {"", name}
    because = f", as {' and '.join(sorted(said))} say{'s' * (len(said) == 1)}," if said else ""
    raise BadInput(f"{name} must have shape {spelled}{because or ','} got {found}")


# ---- numbers


def require_numbers(layer: LayerSymmetry, form: CheckpointForm, where: str) -> None:
    """Refuse numbers with which a layer of this form would be another function.

    Args:
        layer: what is done to it.
        form: of the network.
        where: how the message begins.

    Raises:
        BadInput: with what must be true.
    """
    if layer.heads is not None:
        require_order(f"{where}heads", layer.heads, form.heads)
        share = form.heads // form.groups
        together = (np.asarray(layer.heads).reshape(form.groups, share) // share).T
        require((together == together[0]).all(), f"{where}heads must keep the heads of a group of keys together")
    if layer.neurons is not None and form.experts is not None:
        require_order(f"{where}neurons", layer.neurons, form.inner)
        together = np.asarray(layer.neurons).reshape(form.experts, -1) // (form.inner // form.experts)
        require((together[:, 0] == together.T).all(), f"{where}neurons must keep the neurons of an expert together")
    if layer.ups is not None:
        require((np.asarray(layer.ups) != 0).all(), f"{where}ups must not be 0 anywhere")
        positive = form.has_gate or all(number > 0 for number in np.asarray(layer.ups).tolist())
        require(positive, f"{where}ups must be positive in front of {form.activation}")
    for name in ("behind1", "behind2"):
        if (signs := getattr(layer, name)) is not None:
            require((np.abs(np.asarray(signs)) == 1).all(), f"{where}{name} must be 1 or -1")
    if layer.gain_factors is not None:
        _require_factors(layer.gain_factors, f"{where}gain_factors")
    if layer.row_factors is not None:
        for factors in np.asarray(layer.row_factors):
            _require_factors(factors, f"{where}row_factors")
    for name in ("turns", "shared_turns"):
        if (turns := getattr(layer, name)) is not None:
            require((np.asarray(turns) != 0).any(axis=-1).all(), f"{where}{name} must not be 0, 0 for any frequency")
    if layer.turns is not None and form.head_norms is not None:
        signs = np.asarray(layer.turns)
        good = (abs(signs[..., 0]) == 1) & (signs[..., 1] == 0)
        require(good.all(), f"{where}turns must be 1, 0 or -1, 0 where queries and keys have gains")


def _require_factors(factors: Part, what: str) -> None:
    """Refuse what rescales queries otherwise than it takes back in keys, which are the last row."""
    numbers = Exact().numbers(factors)
    queries, keys = numbers[:-1], numbers[-1:]
    half = queries.shape[-1] // 2
    right = (abs(Exact().times(queries, keys)) == 1).all() and (abs(queries[:, :half]) == abs(queries[:, half:])).all()
    require(right, f"{what} must be c and 1/c up to signs, c the same for both rows of a frequency")


def require_shape(what: str, array: npt.ArrayLike, shape: tuple[int, ...]) -> None:
    """Refuse another shape.

    Raises:
        BadInput: with both.
    """
    found = np.shape(array)
    require(found == shape, f"{what} must have shape {shape}, got {found}")


def require_order(what: str, order: npt.ArrayLike, size: int) -> None:
    """Refuse what is no permutation.

    Raises:
        BadInput: it is none of `0..size-1`.
    """
    require_shape(what, order, (size,))
    numbers = np.asarray(order)
    fits = numbers.dtype.kind in "iu" and np.array_equal(np.sort(numbers), np.arange(size))
    require(fits, f"{what} must be a permutation of 0..{size - 1}")
