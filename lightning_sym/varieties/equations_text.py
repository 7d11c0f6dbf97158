"""Equations as text and in LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightning_sym.varieties.by_degree import Terms
    from lightning_sym.varieties.equations import Equations

MOST_SHOWN = 12
"""Equations of a degree, and coordinates, that are printed."""

MOST_TERMS = 40
"""Terms of an equation that are printed."""


def as_text(found: Equations) -> str:
    """What the command prints."""
    values = ["?" if value is None else f"{value:,}" for value in found.hilbert_function]
    codimension = "" if found.codimension is None else f", codimension {found.codimension} in its linear span"
    lines = [
        ("network", str(found.architecture)),
        ("linear span", f"dimension {found.linear_span:,}"),
        ("dimension", "undecided" if found.dimension is None else f"{found.dimension:,}{codimension}"),
        ("degree", "not known" if found.degree is None else f"{found.degree:,}"),
        ("Hilbert function", ", ".join(values)),
        ("complete", f"to degree {found.complete_to_degree}"),
    ]
    if found.is_complete:
        lines[-1] = ("complete", "in all degrees: these equations generate the ideal")
    if not found.is_cone:
        lines.insert(1, ("homogeneous", f"by the constant coordinate, c_{found.system.constant + 1} = 1"))
    lines += [
        (f"degree {degree}", f"{'?' if count is None else f'{count:,}'} minimal generators")
        for degree, count in found.counts.items()
    ]
    if found.stopped is not None:
        lines.append(("stopped", found.stopped))
    width = max(len(name) for name, _ in lines) + 2
    text = [name.ljust(width) + value for name, value in lines]
    shown = found.coordinates[:MOST_SHOWN]
    text += ["", *map(str, shown)]
    if len(found.coordinates) > len(shown):
        text.append(f"... {len(found.coordinates):,} coordinates in all")
    for degree, some in found.terms.items():
        text += ["", f"equations of degree {degree}, each of them expanded to zero:"]
        text += [polynomial_text(terms, found) for terms in some[:MOST_SHOWN]]
        if len(some) > MOST_SHOWN:
            text.append(f"... {len(some):,} in all")
    return "\n".join(text)


def polynomial_text(terms: Terms, found: Equations, most: int | None = MOST_TERMS) -> str:
    """An equation as a sum, its first terms if it has more than `most`."""
    parts: list[str] = []
    for monomial, coefficient in list(terms.items())[:most]:
        factors = [found.coordinates[i].name for i in dict.fromkeys(monomial)]
        powers = [monomial.count(i) for i in dict.fromkeys(monomial)]
        product = "*".join(f"{name}^{e}" if e > 1 else name for name, e in zip(factors, powers, strict=True))
        size = "" if abs(coefficient) == 1 else f"{abs(coefficient)}*"
        sign = "-" if coefficient < 0 else "+"
        parts.append(f" {sign} {size}{product}" if parts else f"{'-' * (coefficient < 0)}{size}{product}")
    more = "" if most is None or len(terms) <= most else f" + ... {len(terms):,} terms in all"
    return "".join(parts) + more


def as_latex(found: Equations) -> str:
    """The number of generators in each degree, for a notebook."""
    import sympy

    rows = []
    for degree, some in found.generators.items():
        rows += [rf"{sympy.latex(p.as_expr())} &= 0" for p in some[:MOST_SHOWN] if len(p.terms()) <= MOST_TERMS]
        if len(rows) < len(some):
            rows.append(rf"&\text{{{len(some)} of degree {degree} in all}}")
    if not rows:
        return rf"\text{{no equations up to degree {found.complete_to_degree}}}"
    return r"\begin{aligned}" + r"\\".join(rows) + r"\end{aligned}"
