"""Formulas for a dimension as one types them, put to the test on certified networks.

A closed grammar, read by Python's parser and worked out here: whole numbers, the sizes of a network, `+ - * // **`,
comparisons, `x if y else z`, `min`, `max`, `sum`, `abs`, `len`, `zip`, an index, and a sum over layers. Nothing else
can be said in it, so a formula from somebody else's file does no harm.

A formula is held against an atlas: where it holds, and the smallest network where it does not.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lightning_sym.arguments import require_arguments, shown
from lightning_sym.atlas.store import Atlas, Entry
from lightning_sym.display import Result
from lightning_sym.errors import BadInput, no_truth_value
from lightning_sym.network.architecture import Architecture
from lightning_sym.network.pieces import FORM, SHAPED

LARGEST = 10**1000
"""Numbers in a formula stay below this."""

_LONGEST, _DEEPEST = 2000, 100
_MOST_STEPS = 10**5

_BINARY: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "sum": sum, "abs": abs, "len": len, "zip": zip}

_SAYABLE = (
    ast.Constant, ast.Name, ast.expr_context, ast.BinOp, *_BINARY, ast.Pow, ast.UnaryOp, ast.USub, ast.IfExp,
    ast.Compare, *_COMPARE, ast.Subscript, ast.Tuple, ast.Call, ast.GeneratorExp, ast.comprehension,
)  # fmt: skip


def names_of(network: Architecture) -> dict[str, int | tuple[int, ...]]:
    """Return what a formula may call upon, for a network.

    `l` layers, `t` tokens, `h` heads, `P` parameters, `n` rows of the input, `m` rows of the output, `skip`, `causal`,
    `softmax` (0 or 1); the lists `widths`, `ranks`, `value_ranks`; where all layers have the same, `d`, `a` and `b`.
    Without output projections `b` and the value ranks are the smaller of the widths around a layer.

    Example:
        >>> sorted(name for name in names_of(Architecture((2, 2), (1,), 3)) if len(name) == 1)
        ['P', 'a', 'b', 'd', 'h', 'l', 'm', 'n', 't']
    """
    network.require("a formula", SHAPED)
    widths, ranks = network.widths, network.attention_ranks
    values = network.value_ranks or tuple(min(pair) for pair in pairwise(widths))
    known: dict[str, int | tuple[int, ...]] = {
        "l": network.depth, "t": network.tokens, "h": network.heads, "P": network.parameter_count,
        "n": network.input_width, "m": network.output_width, "widths": widths, "ranks": ranks, "value_ranks": values,
    }  # fmt: skip
    known |= {"softmax" if name == "normalization" else name: int(name in network.options) for name in FORM}
    for name, sizes in (("d", widths), ("a", ranks), ("b", values)):
        if len(set(sizes)) == 1:
            known[name] = sizes[0]
    return known


_NAMES = {*names_of(Architecture((1, 1), (1,), 1)), *_FUNCTIONS}


class Formula:
    """A formula for a dimension.

    Raises:
        BadInput: it says something that is not in the grammar.

    Example:
        >>> formula = Formula("l*a*(2*d - a) + d*d - l")
        >>> formula.at(Architecture((4, 4, 4), (2, 2), 3))
        38
        >>> formula.at(Architecture((4, 3, 4), (2, 2), 3)) is None      # there is no d
        True
        >>> Formula("sum(a*(2*d - a) for a, d in zip(ranks, widths))").at(Architecture((4, 3, 4), (2, 2), 3))
        20
    """

    def __init__(self, text: str) -> None:
        require_arguments(Formula.__init__, {"self": self, "text": text})
        if len(text) > _LONGEST:
            raise BadInput(f"a formula must have at most {_LONGEST:,} characters, got {len(text):,}")
        self.text = " ".join(text.split())
        try:
            self._tree = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise BadInput(f"a formula must be an expression such as l*a*(2*d-a), got {shown(text)}") from error
        if _nesting(self._tree) > _DEEPEST:
            raise BadInput(f"a formula must be nested at most {_DEEPEST} deep, got {shown(text)}")
        targets = {
            node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for node in ast.walk(self._tree):
            if not isinstance(node, _SAYABLE) or (isinstance(node, ast.Constant) and type(node.value) is not int):
                raise BadInput(
                    f"a formula must be of numbers, sizes, + - * // ** and sums over layers, got {shown(text)}"
                )
            if isinstance(node, ast.Name) and node.id not in _NAMES | targets:
                raise BadInput(f"a formula must be of the names {', '.join(sorted(_NAMES))}, got {shown(node.id)}")
        self.names = (
            {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)} - targets - set(_FUNCTIONS)
        )

    def at(self, network: Architecture) -> int | None:
        """Return the number for a network; `None` where a size has no value, such as `d` for unequal widths.

        Raises:
            BadInput: the formula gives no whole number there.
        """
        require_arguments(Formula.at, locals())
        known = names_of(network)
        if not self.names <= known.keys():
            return None
        value = _Evaluation(known, self.text).value_of(self._tree)
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadInput(f"a formula must give a whole number, {self.text[:60]} gives {shown(value)} for {network}")
        return value


def _chain(node: ast.AST) -> list[ast.BinOp]:
    """Return the operations of a sum or product from left to right: each is the left operand of the next."""
    found = []
    while isinstance(node, ast.BinOp):
        found.append(node)
        node = node.left
    return found[::-1]


def _nesting(tree: ast.AST) -> int:
    """Return how deep the parts of a formula are nested; a sum is one level, however many terms it has."""
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        chain = _chain(node)
        parts = [chain[0].left, *(operation.right for operation in chain)] if chain else ast.iter_child_nodes(node)
        waiting += ((part, level + 1) for part in parts)
    return deepest


def _combined(first: object, operation: ast.operator, second: object) -> int:
    """Return two numbers added, multiplied and so on."""
    if not (isinstance(first, int) and isinstance(second, int)):
        raise TypeError("only numbers can be added and multiplied")
    if not isinstance(operation, ast.Pow):
        return int(_BINARY[type(operation)](first, second))
    if not 0 <= second <= 100:
        raise BadInput(f"exponents in a formula must be from 0 to 100, got {shown(second)}")
    return int(first**second)


class _Evaluation:
    """One evaluation, with its count of steps."""

    def __init__(self, names: Mapping[str, int | tuple[int, ...]], text: str) -> None:
        self.names, self.text, self.steps = dict(names), text, 0

    def value_of(self, node: ast.AST) -> Any:
        """Return the value of a part of the formula."""
        operations = _chain(node)
        self.steps += 1 + len(operations)
        if self.steps > _MOST_STEPS:
            raise BadInput(f"a formula must take at most {_MOST_STEPS:,} steps, {self.text[:60]} takes more")
        try:
            value = self._bounded(self._value(operations[0].left if operations else node))
            for operation in operations:
                value = self._bounded(_combined(value, operation.op, self.value_of(operation.right)))
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            if isinstance(error, BadInput):
                raise
            raise BadInput(f"a formula must give a number: {self.text[:60]}: {' '.join(str(error).split())}") from error
        return value

    def _bounded(self, value: Any) -> Any:
        """Return a value that is not too large."""
        if isinstance(value, int) and abs(value) > LARGEST:
            raise BadInput(f"numbers in a formula must stay below 10^1000, {self.text[:60]} goes beyond")
        return value

    def _value(self, node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=int() as value):
                return value
            case ast.Name(id=name):
                return self.names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value_of(operand)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value_of(body) if self.value_of(test) else self.value_of(orelse)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return int(_COMPARE[type(op)](self.value_of(left), self.value_of(right)))
            case ast.Subscript(value=value, slice=index):
                return self.value_of(value)[self.value_of(index)]
            case ast.Tuple(elts=items):
                return tuple(self.value_of(item) for item in items)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
                found = _FUNCTIONS[name](*(self.value_of(argument) for argument in arguments))
                return tuple(found) if name == "zip" else found
            case ast.GeneratorExp(elt=each, generators=[loop]) if not loop.is_async:
                return self._over(each, loop)
        raise BadInput(f"a formula must be of numbers, sizes, + - * // ** and sums over layers, got {shown(self.text)}")

    def _over(self, each: ast.AST, loop: ast.comprehension) -> tuple[Any, ...]:
        """Return the values of a part for all items of a list."""
        target = loop.target
        names = [target] if isinstance(target, ast.Name) else getattr(target, "elts", [])
        if not names or not all(isinstance(name, ast.Name) for name in names):
            raise BadInput(f"a sum over layers must name what it goes over, got {shown(self.text)}")
        before, result = dict(self.names), []
        for item in self.value_of(loop.iter):
            values = [item] if isinstance(target, ast.Name) else list(item)
            self.names |= zip((name.id for name in names), values, strict=True)
            if all(self.value_of(test) for test in loop.ifs):
                result.append(self.value_of(each))
        self.names = before
        return tuple(result)


@no_truth_value("trial.refuted == 0")
@dataclass(frozen=True, eq=False, repr=False)
class Trial(Result):
    """What the certified networks of an atlas say about a formula.

    Attributes:
        formula: as it was typed.
        agree: certified networks where it gives the dimension.
        refuted: networks where it does not: certified ones, and others whose bounds exclude its value.
        undecided: networks whose bounds leave its value open.
        without: networks that the formula says nothing about, such as unequal widths for `d`, or that were refused.
        counterexample: the one of `refuted` with the fewest parameters.
        value: what the formula gives there.
    """

    formula: str
    agree: int
    refuted: int
    undecided: int
    without: int
    counterexample: Entry | None
    value: int | None

    @property
    def _counts(self) -> str:
        counts = f"agrees with {self.agree:,} certified dimensions, differs from {self.refuted:,}"
        open_ones = ((self.undecided, "undecided"), (self.without, "without a value"))
        return "; ".join([counts, *(f"{number:,} {what}" for number, what in open_ones if number)])

    def _smallest(self) -> str | None:
        if (found := self.counterexample) is None:
            return None
        known = found.dimension if found.dimension is not None else f"between {found.lower} and {found.upper}"
        return f"{found.architecture}: dimension {known}, the formula gives {self.value}"

    _sentences = (
        ("formula", lambda self: [self.formula, self._counts]),
        ("smallest", _smallest),
    )


def try_formula(atlas: Atlas, formula: str, where: str | None = None) -> Trial:
    """Compare a formula with every network of an atlas.

    Args:
        atlas: certified dimensions.
        formula: an expression, see `Formula`.
        where: only networks that meet this condition, SQL on the columns of the atlas.

    Raises:
        BadInput: the formula or the condition is none.

    Example:
        >>> import tempfile
        >>> from lightning_sym.atlas.families import Family
        >>> from lightning_sym.atlas.sweep import sweep
        >>> family = Family.of({"depth": 1, "widths": "1..3", "ranks": "1..2", "tokens": "1..2", "uniform": True})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = sweep(family, f"{folder}/a.sqlite", workers=1)
        ...     with Atlas(f"{folder}/a.sqlite") as atlas:
        ...         print(try_formula(atlas, "min(a, d)*(2*d - min(a, d)) + d*d - 1"))
        formula     min(a, d)*(2*d - min(a, d)) + d*d - 1
                    agrees with 10 certified dimensions, differs from 2
        smallest    widths 2,2, ranks 2, tokens 1: dimension 6, the formula gives 7
    """
    require_arguments(try_formula, locals())
    wanted = Formula(formula)
    agree = refuted = undecided = without = 0
    smallest: tuple[Entry, int] | None = None
    for entry in atlas.entries(where):
        value = None if entry.lower is None else wanted.at(entry.architecture)
        if value is None or entry.lower is None or entry.upper is None:
            without += 1
        elif not entry.lower <= value <= entry.upper:
            refuted += 1
            smallest = smallest or (entry, value)
        elif entry.dimension is None:
            undecided += 1
        else:
            agree += 1
    found, value = smallest or (None, None)
    return Trial(wanted.text, agree, refuted, undecided, without, found, value)
