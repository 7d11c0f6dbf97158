"""A reader of pickles that executes nothing: it knows the opcodes that plain values need, and refuses every other.

Names of Python are looked up in a table that its user gives, and are never imported; what is called is in that table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import unpack
from typing import NoReturn

from lightning_sym.errors import FileFormatError
from lightning_sym.network.readers.bounds import shown

MOST_STEPS = 5_000_000
"""Opcodes that are carried out."""

Called = Callable[[tuple[object, ...]], object]
_MARK = object()


@dataclass(frozen=True)
class Named:
    """A name of Python, which stands for what the table says."""

    name: str
    call: Called


def unpickled(data: bytes, names: Mapping[str, Called], stored: Callable[[object], object]) -> object:
    """Return the value that a pickle describes.

    Args:
        data: the pickle, of protocol 2 to 5.
        names: by a name of Python, such as `collections.OrderedDict`, what a call of it with arguments gives.
        stored: what stands for a persistent id.

    Raises:
        FileFormatError: it needs something else, which the message names, or is no pickle.

    Example:
        >>> import pickle
        >>> unpickled(pickle.dumps({"a": (1, [2.5, None])}), {}, lambda found: found)
        {'a': (1, [2.5, None])}
        >>> unpickled(pickle.dumps(print), {}, lambda found: found)
        Traceback (most recent call last):
        ...
        lightning_sym.errors.FileFormatError: a pickle must hold tensors alone, it asks for 'builtins.print'
    """
    machine = _Machine(data, names, stored)
    try:
        return machine.run()
    except (IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, FileFormatError):
            raise
        _refuse("it ends too early, or is damaged")


def _refuse(reason: str) -> NoReturn:
    raise FileFormatError(f"it must be a pickle of plain values: {reason}")


class _Machine:
    """A stack, a list of marks in it, and what was remembered."""

    def __init__(self, data: bytes, names: Mapping[str, Called], stored: Callable[[object], object]) -> None:
        self.data, self.names, self.stored = data, names, stored
        self.at = 0
        self.stack: list[object] = []
        self.memory: dict[int, object] = {}

    def run(self) -> object:
        """Carry out opcode after opcode; the value stands alone on the stack at the end."""
        for _ in range(MOST_STEPS):
            code = self.take(1)
            if code == b".":
                value = self.pop()
                if self.stack or self.at != len(self.data):
                    _refuse("there is more than one value")
                return value
            step = _STEPS.get(code)
            if step is None:
                _refuse(f"opcode {code!r} is not known")
            step(self)
        _refuse(f"it has more than {MOST_STEPS:,} steps")

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if not 0 <= count <= len(self.data) - self.at:
            raise IndexError
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, size: int, *, signed: bool = False) -> int:
        """Return the next integer."""
        return int.from_bytes(self.take(size), "little", signed=signed)

    def text(self, size: int) -> str:
        """Return the next text, with its length before it."""
        return self.take(self.number(size)).decode("utf-8", "surrogatepass")

    def line(self) -> str:
        """Return the text up to the end of a line."""
        end = self.data.index(b"\n", self.at, self.at + 300)
        found = self.data[self.at : end].decode("ascii")
        self.at = end + 1
        return found

    def push(self, value: object) -> None:
        """Put a value onto the stack."""
        self.stack.append(value)

    def pop(self) -> object:
        """Return the last value; a mark is none."""
        value = self.stack.pop()
        if value is _MARK:
            raise IndexError
        return value

    def to_mark(self) -> list[object]:
        """Return everything behind the last mark, and take both off the stack."""
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise IndexError
        found = self.stack[place + 1 :]
        del self.stack[place:]  # a copy of what is below would take time that grows with its square
        return found

    def named(self, name: str) -> None:
        """Push what stands for a name of Python."""
        if name not in self.names:
            raise FileFormatError(f"a pickle must hold tensors alone, it asks for {shown(name)}")
        self.push(Named(name, self.names[name]))

    def call(self) -> None:
        """Call what the table has under a name."""
        arguments, called = self.pop(), self.pop()
        if not isinstance(called, Named) or not isinstance(arguments, tuple):
            _refuse("only names may be called, with arguments")
        self.push(called.call(arguments))

    def build(self) -> None:
        """Drop the attributes of a dictionary, which say nothing of what it holds; refuse those of all else."""
        self.pop()
        if type(self.stack[-1]) is not dict:
            _refuse("only dictionaries may have attributes")

    def items(self, flat: list[object]) -> None:
        """Put keys and values into the dictionary below them."""
        target = self.stack[-1]
        if type(target) is not dict or len(flat) % 2:
            raise TypeError
        for key, value in zip(flat[::2], flat[1::2], strict=True):
            if not isinstance(key, (str, int, float, bool, tuple, type(None))):
                raise TypeError
            if key in target:
                _refuse(f"keys must not repeat, got {shown(key)} twice")
            target[key] = value

    def extend(self, more: list[object]) -> None:
        """Put values behind the list below them."""
        target = self.stack[-1]
        if type(target) is not list:
            raise TypeError
        target.extend(more)

    def long(self, size: int) -> None:
        """Push a long integer, of at most 8 bytes: no size has more."""
        if size > 8:
            _refuse(f"integers must have at most 8 bytes, got {size}")
        self.push(self.number(size, signed=True))


def _protocol(machine: _Machine) -> None:
    if (found := machine.number(1)) not in (2, 3, 4, 5):
        _refuse(f"its protocol must be 2 to 5, got {found}")


def _stack_global(machine: _Machine) -> None:
    name, module = machine.pop(), machine.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise TypeError
    machine.named(f"{module}.{name}")


def _tuple(machine: _Machine, count: int) -> None:
    machine.push(tuple(reversed([machine.pop() for _ in range(count)])))


def _memoize(machine: _Machine, place: int | None = None) -> None:
    machine.memory[len(machine.memory) if place is None else place] = machine.stack[-1]


_STEPS: dict[bytes, Callable[[_Machine], object]] = {
    b"\x80": _protocol,
    b"\x95": lambda m: m.take(8),  # how long a part is, which says nothing
    b"(": lambda m: m.push(_MARK),
    b"N": lambda m: m.push(None),
    b"\x88": lambda m: m.push(True),
    b"\x89": lambda m: m.push(False),
    b"K": lambda m: m.push(m.number(1)),
    b"M": lambda m: m.push(m.number(2)),
    b"J": lambda m: m.push(m.number(4, signed=True)),
    b"\x8a": lambda m: m.long(m.number(1)),
    b"G": lambda m: m.push(unpack(">d", m.take(8))[0]),
    b"X": lambda m: m.push(m.text(4)),
    b"\x8c": lambda m: m.push(m.text(1)),
    b"\x8d": lambda m: m.push(m.text(8)),
    b"}": lambda m: m.push({}),
    b"]": lambda m: m.push([]),
    b")": lambda m: m.push(()),
    b"t": lambda m: m.push(tuple(m.to_mark())),
    b"\x85": lambda m: _tuple(m, 1),
    b"\x86": lambda m: _tuple(m, 2),
    b"\x87": lambda m: _tuple(m, 3),
    b"a": lambda m: m.extend([m.pop()]),
    b"e": lambda m: m.extend(m.to_mark()),
    b"s": lambda m: m.items([m.pop(), m.pop()][::-1]),
    b"u": lambda m: m.items(m.to_mark()),
    b"q": lambda m: _memoize(m, m.number(1)),
    b"r": lambda m: _memoize(m, m.number(4)),
    b"\x94": lambda m: _memoize(m),
    b"h": lambda m: m.push(m.memory[m.number(1)]),
    b"j": lambda m: m.push(m.memory[m.number(4)]),
    b"c": lambda machine: machine.named(f"{machine.line()}.{machine.line()}"),
    b"\x93": _stack_global,
    b"Q": lambda m: m.push(m.stored(m.pop())),
    b"R": lambda m: m.call(),
    b"b": lambda m: m.build(),
}
"""What each opcode that is known does; the others make objects, or call what is not in the table."""
