r"""Exact polynomials in the languages of other systems: rings, matrices, lists, ideals, kernels, ready to paste.

What a system writes differently from the others stands in `SYSTEMS`, one entry a system; LaTeX and JSON, which nobody
computes with, stand beside it. Names of variables are letters with indices behind them, such as `Q1_2_3` or `x_1_2`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lightning_sym.arguments import shown
from lightning_sym.errors import BadInput, ShapeError

FORMATS = ("sympy", "latex", "macaulay2", "singular", "oscar", "sage", "json")
"""What `--format` knows."""

Polynomial = Any
"""Exact: coefficients by exponents as a mapping, an element of a SymPy ring (which is one), or flint's own."""

_NAME = re.compile(r"([A-Za-z]+)(\d+(?:\.\d+)?)?((?:_\d+)*)")


_WEIGHTS = frozenset("QKVOEU")


@dataclass(frozen=True)
class System:
    """How a computer algebra system writes things; `{}` are the places to fill in.

    Attributes:
        comment: begins a comment.
        opening: lines that a session begins with.
        ring: a polynomial ring over the rationals, of `{name}`, `{variables}` and the same in quotes, `{quoted}`.
        fraction: of `{0}` and `{1}`.
        power: between base and exponent.
        matrix, row: a matrix by its rows, and a row; of `{name}`, `{rows}`, `{columns}`, `{entries}`.
        sequence: a list of polynomials.
        ideal: an ideal by its generators.
        kernel: of the map from a new ring, whose variables are listed, to `{ring}`, the ideal of the relations of the
            polynomials in the list `{images}`.
        indexed: whether variables are written `x_(1,2)` and `Q1_(2,3)`.
    """

    comment: str
    opening: tuple[str, ...]
    ring: str
    fraction: str
    power: str
    matrix: str
    row: str
    sequence: str
    ideal: str
    kernel: str
    indexed: bool = False


SYSTEMS = {
    "sympy": System(
        comment="#",
        opening=("from sympy import Matrix, Rational, groebner, symbols",),
        ring='{name} = {variables}, = symbols("{spaced}", seq=True)',
        fraction="Rational({0}, {1})",
        power="**",
        matrix="{name} = Matrix([{entries}])",
        row="[{entries}]",
        sequence="{name} = [{entries}]",
        ideal="{name} = [{entries}]",
        # SymPy's elimination is slow: it waits until it is asked for
        kernel='{source} = symbols("{spaced}", seq=True)\n'
        "graph = [c - image for c, image in zip({source}, {images})]\n"
        '{comment} for small networks: [g for g in groebner(graph, *{ring}, *{source}, order="lex").exprs\n'
        "{comment}     if not g.free_symbols & set({ring})]",
    ),
    "macaulay2": System(
        comment="--",
        opening=(),
        ring="{name} = QQ[{variables}];",
        fraction="{0}/{1}",
        power="^",
        matrix="{name} = matrix {{{entries}}};",
        row="{{{entries}}}",
        sequence="{name} = {{{entries}}};",
        ideal="{name} = ideal({entries});",
        kernel="{source} = QQ[{variables}];\n{name} = kernel map({ring}, {source}, {images});",
        indexed=True,
    ),
    "singular": System(
        comment="//",
        opening=(),
        ring="ring {name} = 0, ({variables}), dp;",
        fraction="{0}/{1}",
        power="^",
        matrix="matrix {name}[{rows}][{columns}] = {entries};",
        row="{entries}",
        sequence="ideal {name} = {entries};",
        ideal="ideal {name} = {entries};",
        # {images} is an ideal of {ring}: the map stands there, its kernel in the new ring
        kernel="ring {source} = 0, ({variables}), dp;\nsetring {ring};\nmap f = {source}, {images};\n"
        "setring {source};\nideal {name} = kernel({ring}, f);",
    ),
    "oscar": System(
        comment="#",
        opening=("using Oscar",),
        ring="{name}, ({variables},) = polynomial_ring(QQ, [{quoted}]);",
        fraction="{0}//{1}",
        power="^",
        matrix="{name} = matrix({ring}, {rows}, {columns}, {ring}.([{entries}]));",
        row="{entries}",
        sequence="{name} = {ring}.([{entries}]);",
        ideal="{name} = ideal({ring}, {ring}.([{entries}]));",
        kernel="{source}, ({variables},) = polynomial_ring(QQ, [{quoted}]);\n"
        "{name} = kernel(hom({source}, {ring}, {images}));",
    ),
    "sage": System(
        comment="#",
        opening=(),
        ring="{name} = PolynomialRing(QQ, [{quoted}]); {variables}, = {name}.gens()",
        fraction="{0}/{1}",
        power="^",
        matrix="{name} = matrix({ring}, [{entries}])",
        row="[{entries}]",
        sequence="{name} = [{ring}(p) for p in [{entries}]]",
        ideal="{name} = {ring}.ideal([{entries}])",
        kernel="{source} = PolynomialRing(QQ, {ring}.variable_names() + ({quoted},))\n"
        "both = [{source}(x) for x in {ring}.gens()], {source}.gens()[{ring}.ngens():]\n"
        "graph = {source}.ideal([c - {source}(p) for c, p in zip(both[1], {images})])\n"
        "{name} = graph.elimination_ideal(both[0])",
    ),
}


def require_format(name: object) -> str:
    """Return one of `FORMATS`.

    Raises:
        BadInput: it is none.
    """
    if not isinstance(name, str) or name not in FORMATS:
        raise BadInput(f"the format must be {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, got {shown(name)}")
    return name


def _parts(name: object) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the letters of a name, its layer and head, its row and column."""
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise BadInput(f"a variable must be letters with indices behind them, such as x_1_2, got {shown(name)}")
    letters, layer, entry = match.groups()
    return letters, tuple((layer or "").split(".") if layer else ()), tuple(entry.split("_")[1:])


def variable_names(form: str, names: Sequence[str]) -> list[str]:
    """Return how a system writes variables.

    Raises:
        BadInput: a name is not letters with indices, or two become one.

    Example:
        >>> variable_names("macaulay2", ["Q1_2_3", "c_7"]), variable_names("sage", ["Q1.2_1_1"])
        (['Q1_(2,3)', 'c_7'], ['Q1_2_1_1'])
    """
    written = []
    for name in names:
        letters, layer, entry = _parts(name)
        if form == "latex":
            if letters in _WEIGHTS and entry:  # entries are small letters, as in the paper
                letters = letters.lower()
            above = f"^{{({','.join(layer)})}}" if layer else ""
            below = f"_{{{','.join(entry)}}}" if entry else ""
            written.append((letters if len(letters) == 1 else rf"\mathrm{{{letters}}}") + above + below)
        elif form in SYSTEMS and SYSTEMS[form].indexed:
            letters, indices = letters + "".join(layer[:1]), [str(int(i)) for i in (*layer[1:], *entry)]
            several = len(indices) > 1
            written.append(letters + (f"_({','.join(indices)})" if several else f"_{indices[0]}" if indices else ""))
        else:
            written.append(name.replace(".", "_"))
    if len(set(written)) < len(written):
        raise BadInput(f"variables must have different names in {form}, got {', '.join(names[:6])}")
    return written


def _terms(polynomial: Polynomial, count: int) -> list[tuple[tuple[int, ...], Fraction]]:
    """Return the terms, in graded reverse lexicographic order, the largest first."""
    found = polynomial if isinstance(polynomial, Mapping) else polynomial.to_dict()
    terms = []
    for exponents, value in found.items():
        if len(exponents) != count:
            raise ShapeError(f"a term must have {count} exponents, one a variable, got {len(exponents)}")
        if value:
            number = Fraction(int(value.numerator), int(value.denominator))
            terms.append((tuple(map(int, exponents)), number))
    return sorted(terms, key=lambda term: (sum(term[0]), [-e for e in reversed(term[0])]), reverse=True)


def polynomial_text(form: str, names: Sequence[str], polynomial: Polynomial) -> str:
    """Return a polynomial in the words of a system.

    Args:
        form: one of `FORMATS`; JSON has the text that SymPy reads.
        names: the variables, as `variable_names` gives them for this format.
        polynomial: exact, see `Polynomial`.

    Raises:
        ShapeError: exponents are not as many as names.

    Example:
        >>> half = {(2, 0): Fraction(-3, 2), (0, 1): 1}
        >>> [polynomial_text(form, ["x", "y"], half) for form in ("sympy", "singular", "oscar")]
        ['-Rational(3, 2)*x**2 + y', '-3/2*x^2 + y', '-3//2*x^2 + y']
    """
    latex, system = form == "latex", SYSTEMS.get(form)
    power, fraction = (system.power, system.fraction) if system else ("**", "{0}/{1}")
    text = ""
    for exponents, number in _terms(polynomial, len(names)):
        size = abs(number)
        factors = [
            name if e == 1 else f"{{{name}}}^{{{e}}}" if latex else f"{name}{power}{e}"
            for name, e in zip(names, exponents, strict=True)
            if e
        ]
        if size != 1 or not factors:
            quotient = (
                rf"\frac{{{size.numerator}}}{{{size.denominator}}}"
                if latex
                else fraction.format(size.numerator, size.denominator)
            )
            factors.insert(0, quotient if size.denominator != 1 else str(size.numerator))
        sign = "-" if number < 0 else "+"
        product = (" " if latex else "*").join(factors)
        text += f" {sign} {product}" if text else product if number > 0 else f"-{product}"
    return text or "0"


class Writer:
    """Writes a session of one system, line by line.

    Args:
        form: a key of `SYSTEMS`.
        ring: the name of the ring.
        names: its variables, letters with indices.

    Raises:
        BadInput: a name is not letters with indices.
    """

    def __init__(self, form: str, ring: str, names: Sequence[str]) -> None:
        self.form, self.system, self.ring_name = form, SYSTEMS[form], ring
        self.names = variable_names(form, names)

    def comments(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines as comments of the system."""
        yield from (f"{self.system.comment} {line}" for line in lines)

    def _variables(self, names: Sequence[str]) -> dict[str, str]:
        return {
            "variables": ", ".join(names),
            "spaced": " ".join(names),
            "quoted": ", ".join(f'"{name}"' for name in names),
            "ring": self.ring_name,
            "comment": self.system.comment,
        }

    def ring(self) -> Iterator[str]:
        """Yield the ring."""
        yield from self.system.opening
        yield self.system.ring.format(name=self.ring_name, **self._variables(self.names))

    def _joined(self, entries: Sequence[str]) -> str:
        return "\n  " + ",\n  ".join(entries) if len(entries) > 1 else "".join(entries)

    def _entries(self, polynomials: Iterable[Polynomial]) -> list[str]:
        return [polynomial_text(self.form, self.names, p) for p in polynomials]

    def matrix(self, name: str, rows: Sequence[Sequence[Polynomial]]) -> str:
        """Return a matrix of polynomials."""
        lines = [self.system.row.format(entries=", ".join(self._entries(row))) for row in rows]
        size = {"rows": len(rows), "columns": len(rows[0])}
        return self.system.matrix.format(name=name, entries=self._joined(lines), ring=self.ring_name, **size)

    def sequence(self, name: str, polynomials: Iterable[Polynomial]) -> str:
        """Return a list of polynomials."""
        entries = self._joined(self._entries(polynomials))
        return self.system.sequence.format(name=name, entries=entries, ring=self.ring_name)

    def ideal(self, name: str, generators: Iterable[Polynomial]) -> str:
        """Return an ideal by its generators; of none of them it is zero."""
        entries = self._entries(generators)
        if not entries:
            entries = [f"0_{self.ring_name}" if self.form == "macaulay2" else "0"]
        return self.system.ideal.format(name=name, entries=self._joined(entries), ring=self.ring_name)

    def kernel(self, name: str, source: str, names: Sequence[str], images: str) -> str:
        """Return the ideal of the relations of a list of polynomials, in a new ring with a variable for each."""
        variables = self._variables(variable_names(self.form, names))
        return self.system.kernel.format(name=name, source=source, images=images, **variables)


def ideal_text(form: str, names: Sequence[str], generators: Iterable[Polynomial], comments: Iterable[str] = ()) -> str:
    r"""Return a ring `R` and an ideal `I` in it, ready to paste into a system.

    Args:
        form: one of `FORMATS`.
        names: the variables, letters with indices behind them.
        generators: exact polynomials, see `Polynomial`.
        comments: lines that stand before them; JSON has no place for them.

    Raises:
        BadInput: there is no such format, or a name is not letters with indices.
        ShapeError: exponents are not as many as names.

    Example:
        >>> print(ideal_text("macaulay2", ["c_1", "c_2"], [{(2, 0): 1, (0, 1): Fraction(-1, 3)}], ["a parabola"]))
        -- a parabola
        R = QQ[c_1, c_2];
        I = ideal(c_1^2 - 1/3*c_2);
        >>> print(ideal_text("json", ["c_1"], [{(2,): 1}]))
        {"ring": ["c_1"], "ideal": ["c_1**2"]}
    """
    require_format(form)
    if form in SYSTEMS:
        writer = Writer(form, "R", names)
        return "\n".join([*writer.comments(comments), *writer.ring(), writer.ideal("I", generators)])
    written = variable_names(form, names)
    texts = [polynomial_text(form, written, p) for p in generators]
    if form == "json":
        return json.dumps({"ring": written, "ideal": texts})
    inside = ",\\\\\n".join(texts or ["0"])
    body = r"I = \left\langle \begin{gathered}" + f"\n{inside}\n" + r"\end{gathered} \right\rangle"
    variables = rf"R = \mathbb{{Q}}[{', '.join(written)}]"
    return "\n".join([*(f"% {line}" for line in comments), variables, body])
