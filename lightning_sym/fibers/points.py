r"""Families of virtual weights by their parameters, and the weights that belong to each of their points.

A component of a fiber is a family of virtual weights with one function, proved where the component is made
(`components`, `fiber`). A point of it is reached in two steps. The parameters give virtual weights, by the formulas of
`Component.at`. Weights $(Q, K, V)$ with these exist in a shape $(d_i)$, $(a_i)$ exactly if

$$\operatorname{rk} \tilde A_i \le a_i, \qquad \dim R_i \le d_i \quad (1 \le i < l),$$

with $R_i$ the span of the rows and columns of $\tilde A_j$, $j > i$, and of the rows of $\tilde V$. Necessary: these
are rows of matrices $\cdots P_i$, and $P_i = V_i \cdots V_1$ has $d_i$ rows. Sufficient: $R_1 \supseteq R_2 \supseteq
\cdots$, so $V_1, V_2, \dots$ can be chosen such that the rows of $P_i$ span $R_i$; then $P_{i-1}^\top A P_{i-1} =
\tilde A_i$ has a solution of the rank of $\tilde A_i$, which factors as $K^\top Q$ with $a_i$ rows. Since the function
depends on the virtual weights only (Lemma 3.6), it is the same; that these are met is checked for every point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lightning_sym.display import Lines, Result, latex_lines, latex_matrix, matrix_in_line, rows_in_line
from lightning_sym.errors import BadInput, ProgramError, ShapeError, TooLarge
from lightning_sym.fibers.connection import realized
from lightning_sym.fibers.transform import change_basis
from lightning_sym.network.form import NetworkForm
from lightning_sym.network.virtual_weights import VirtualWeights, exact_virtual_weights
from lightning_sym.network.weights import Weights
from lightning_sym.rings.arrays import exact_matrix
from lightning_sym.rings.expressions import Entry, ExpressionMatrix, entry, is_expression, is_sympy_matrix, letters_of

LONGEST_POWER = 2**22
"""Bits of the powers of a parameter: a scale of the first of `l` layers is raised to the power `3^(l-1)`."""

_MOST_LAYERS = 5
"""Layers behind the one that letters scale."""

_WHAT = {
    "scale": "a number, not 0",
    "skew": "a skew-symmetric matrix",
    "any": "any matrix",
    "left": "a vector",
    "right": "a vector",
}


@dataclass(frozen=True)
class Parameter:
    """What moves along a component.

    Attributes:
        name: as it is given to `Component.point`.
        kind: `scale` multiplies an attention matrix, and divides the value matrix so that the function stays; `skew` is
            added; `any` stands in place of a matrix; `left` and `right` are the factors of a matrix of rank one.
        layer: which attention matrix, from 1; 0 for the value matrix.
    """

    name: str
    kind: str
    layer: int

    def __str__(self) -> str:
        return f"{self.name}: {_WHAT[self.kind]}"


@dataclass(frozen=True, eq=False, repr=False)
class Component(Result):
    r"""A family of virtual weights with one function.

    Attributes:
        description: the family in one line.
        generators: what moves along it, in words.
        dimension: its dimension in the space of all $(\tilde A_1, \dots, \tilde A_l, \tilde V)$.
        virtual: one exact member, `None` where the family has real members but no rational ones.
        parameters: what `at` and `point` take.
        origin: the weights whose fiber it is.
    """

    description: str
    generators: tuple[str, ...]
    dimension: int
    virtual: VirtualWeights | None
    parameters: tuple[Parameter, ...] = ()
    origin: Weights | None = field(default=None, repr=False, compare=False)

    @property
    def domain(self) -> tuple[str, ...]:
        """What the parameters must fulfil: scales are not zero, and some matrices are skew-symmetric.

        Example:
            >>> from lightning_sym import fiber
            >>> fiber(Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})).components[0].domain
            ('lam != 0',)
        """
        rules = {"scale": "{0} != 0", "skew": "{0}^T = -{0}"}
        return tuple(rules[each.kind].format(each.name) for each in self.parameters if each.kind in rules)

    def at(self, **parameters: Any) -> VirtualWeights:
        r"""Return the virtual weights with these parameters, a family where these have letters.

        Args:
            parameters: all that `self.parameters` names: numbers, matrices as rows, vectors as lists. Letters stand for
                all values in `domain`.

        Raises:
            BadInput: one is missing, unknown, zero where it must not be, or not skew-symmetric; or no member is
                rational.
            ShapeError: a matrix or a vector has the wrong size.
            TooLarge: the powers of a scale are too long.
        """
        if self.virtual is None:
            raise BadInput("a point must be rational, this component has real members only")
        known = {each.name: each for each in self.parameters}
        _require_names(parameters, known, {})
        attention, value = list(self.virtual.attention), self.virtual.value
        for name, each in known.items():
            i, given = each.layer - 1, parameters[name]
            if each.kind == "scale":
                factor = _scale(given, name)
                power = _power(factor, len(attention) - each.layer)
                attention[i], value = factor * attention[i], value / power
                continue
            matrix = value if each.layer == 0 else attention[i]
            if each.kind in ("left", "right"):
                exact = exact_matrix([given] if np.ndim(given) == 1 else given, name, entry)
                if exact.shape != (1, len(matrix)):
                    raise ShapeError(f"{name} must be a vector of {len(matrix)} numbers, got shape {np.shape(given)}")
                if each.kind == "left":
                    attention[i] = exact.T
                else:  # behind it
                    attention[i] = attention[i] @ exact
                continue
            exact = exact_matrix(given.tolist() if is_sympy_matrix(given) else given, name, entry)
            if exact.shape != matrix.shape:
                rows, columns = matrix.shape
                raise ShapeError(f"{name} must be {rows} x {columns}, got {exact.shape[0]} x {exact.shape[1]}")
            if each.kind == "skew" and (exact != -exact.T).any():
                raise BadInput(f"{name} must be skew-symmetric, got {rows_in_line(exact)[:60]}")
            if each.layer == 0:
                value = exact
            else:
                attention[i] = exact if each.kind == "any" else attention[i] + exact
        return VirtualWeights(tuple(attention), value)

    def point(self, **parameters: Any) -> Weights:
        r"""Return weights in the fiber, of the shape of those that were given, with the virtual weights `at` names.

        Args:
            parameters: those of `at`, letters in scales and bases alone; and, if wanted, other bases: `C`, in several
                layers `C_1, ...`, of queries and keys, and `G_1, ...` between the layers (see `change_basis`).

        Raises:
            BadInput: as for `at`; or no weights of this shape have these virtual weights.
            ShapeError: a matrix has the wrong size.

        Example:
            >>> from lightning_sym import fiber
            >>> w = Weights.of({"Q1": [[1, 2]], "K1": [[1, 0]], "V1": [[3, 4]]})
            >>> ours, other = fiber(w).components
            >>> ours.point(lam=2)
            Weights.of({'Q1': [[2, 4]], 'K1': [[1, 0]], 'V1': [[Fraction(3, 2), 2]]})
            >>> other.point(lam=1, C=[[2]])
            Weights.of({'Q1': [[Fraction(1, 2), 1]], 'K1': [[2, Fraction(8, 3)]], 'V1': [[3, 0]]})
        """
        if self.origin is None:
            raise BadInput("a point must be one of a fiber of weights, this component was made without them")
        form, origin = self.origin.form, self.origin.with_form(NetworkForm())
        depth = len(origin.layers)
        several = range(1, depth + 1)
        bases = {("C" if depth == 1 else f"C_{i}"): ("query_key", i) for i in several}
        bases |= {f"G_{i}": ("between", i) for i in several[:-1]}
        _require_names(parameters, {each.name: each for each in self.parameters}, bases)
        own = {name: value for name, value in parameters.items() if name not in bases}
        scales = {each.name: each for each in self.parameters if each.kind == "scale"}
        in_letters = {name: _scale(own[name], name) for name in scales if is_expression(own[name])}
        target = self.at(**own | dict.fromkeys(in_letters, 1))
        if letters := letters_of(e for m in (*target.attention, target.value) for e in m.ravel()):
            raise BadInput(f"a point must have letters in scales and bases only, got {letters[0]}: ranks may change")
        weights = realized(origin, target)
        other: dict[str, dict[int, npt.ArrayLike]] = {"query_key": {}, "between": {}}
        for name, (what, i) in bases.items():
            if name in parameters:
                other[what][i] = parameters[name]
        if any(other.values()):
            weights = change_basis(weights, **other)
        if in_letters:
            return _rescaled(weights, {scales[name].layer: by for name, by in in_letters.items()}).with_form(form)
        if weights.letters:
            return weights.with_form(form)
        if exact_virtual_weights(weights) != target:
            raise ProgramError(f"the weights must have the virtual weights of the component, got {weights!r}")
        return weights.with_form(form)

    def lines(self) -> Lines:
        """Return the family as the command `fiber` prints it."""
        names = ", ".join(map(str, self.parameters))
        known = [("parameters", names)] if self.virtual is not None else []
        lines = [("component", f"{self.description}; dimension {self.dimension}"), ("", "; ".join(self.generators))]
        return [*lines, *known, *([] if self.virtual is None else virtual_lines(self.virtual))]

    def _latex(self) -> str:
        return self.formula()

    def formula(self) -> str:
        """Return the family in LaTeX, with the names of the parameters."""
        if self.virtual is None:
            return rf"\text{{real, not rational}}, \quad \dim = {self.dimension}"
        kinds = {(each.kind, each.layer): latex_name(each.name) for each in self.parameters}
        depth = len(self.virtual.attention)
        formulas = []
        for i, matrix in enumerate(self.virtual.attention, start=1):
            name = rf"\tilde A_{{{i}}}'"
            if ("any", i) in kinds:
                formulas.append(rf"{name} = {kinds['any', i]}")
            elif ("left", i) in kinds:
                formulas.append(rf"{name} = {kinds['left', i]} {kinds['right', i]}^\top")
            else:
                skew = f" + {kinds['skew', i]}" if ("skew", i) in kinds else ""
                formulas.append(rf"{name} = {kinds.get(('scale', i), '')} {latex_matrix(matrix)}{skew}")
        if ("any", 0) in kinds:
            formulas.append(r"\tilde V' = V")
        else:
            scales = [
                (kinds["scale", i], f"3^{{{depth - i}}}" if depth - i > 1 else 3 ** (depth - i))
                for i in range(1, depth + 1)
                if ("scale", i) in kinds
            ]
            factors = " ".join(rf"{name}^{{-{power}}}" for name, power in scales)
            formulas.append(rf"\tilde V' = {factors} {latex_matrix(self.virtual.value)}")
        return latex_lines(formulas)


def latex_name(name: str) -> str:
    """Return a parameter in LaTeX."""
    letter, _, index = name.partition("_")
    return (r"\lambda" if letter == "lam" else letter) + (f"_{{{index}}}" if index else "")


def virtual_lines(virtual: VirtualWeights) -> Lines:
    """Return lines with the virtual weights, a matrix a line; large ones are cut."""
    named = [(f"A~{k}", a) for k, a in enumerate(virtual.attention, start=1)]
    return [("", f"{name} = {matrix_in_line(matrix)}") for name, matrix in (*named, ("V~", virtual.value))]


def _require_names(given: Mapping[str, object], needed: Mapping[str, object], others: Mapping[str, object]) -> None:
    missing = [name for name in needed if name not in given]
    unknown = [name for name in given if name not in needed and name not in others]
    if missing or unknown:
        may = f", and may take {', '.join(list(others)[:8])}" if others else ""
        wrong = [*(f"{n} is missing" for n in missing[:6]), *(f"{n[:40]} is unknown" for n in unknown[:6])]
        raise BadInput(
            f"a point of this component needs {', '.join(list(needed)[:12]) or 'no parameters'}{may}; "
            f"{', '.join(wrong)}"
        )


def _rescaled(weights: Weights, scales: Mapping[int, Entry]) -> Weights:
    """Return weights whose attention matrices are multiplied by letters, and the values divided by their powers."""
    matrices, depth = dict(weights.matrices), len(weights.matrices) // 3
    for layer, factor in scales.items():
        power = _power(factor, depth - layer)
        for name, by in ((f"Q{layer}", factor), (f"V{depth}", 1 / power)):
            whole = ExpressionMatrix.of(np.diag([by] * len(matrices[name])))
            matrices[name] = (whole @ ExpressionMatrix.of(matrices[name])).entries()
    return Weights.of_family(matrices, weights.form)


def _scale(given: object, name: str) -> Entry:
    factor = entry(given, name)
    if factor == 0:
        raise BadInput(f"{name} must not be 0")
    return factor


def _power(factor: Entry, times: int) -> Entry:
    """Return the number, or letters, to the power `3^times`."""
    if is_expression(factor):
        if times > _MOST_LAYERS:
            raise TooLarge(f"letters must be scales of the last {_MOST_LAYERS + 1} layers, got the power 3^{times}")
        return factor ** (3**times)
    if abs(factor) == 1:  # an odd power
        return factor
    bits = max(factor.numerator.bit_length(), factor.denominator.bit_length())
    if times > 100 or bits * 3**times > LONGEST_POWER:
        raise TooLarge(
            f"powers of a parameter must have at most {LONGEST_POWER:,} bits, {bits} bits to the power 3^{times} have "
            "more"
        )
    return Fraction(factor ** (3**times))
