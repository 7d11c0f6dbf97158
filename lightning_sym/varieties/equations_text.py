"""Equations as text, in LaTeX, and in the languages of computer algebra systems; `found` is an `Equations`."""

from __future__ import annotations

from typing import Any

from lightning_sym.citations import with_proof
from lightning_sym.display import Lines, labelled, latex_lines, latex_words, text_table
from lightning_sym.network.formats import ideal_text, polynomial_text, require_format
from lightning_sym.varieties.hilbert_polynomial import first_degree, formula
from lightning_sym.varieties.weight_space import Terms

MOST_SHOWN = 12
"""Equations of a degree that are printed."""

MOST_COORDINATES = 40
"""Coordinates that are printed."""

MOST_TERMS = 40
"""Terms of an equation that is printed."""


def answer_lines(found: Any) -> Lines:
    """Return what is known, by name."""
    values = ["undecided" if value is None else f"{value:,}" for value in found.hilbert_function]
    lines = [found.subject, ("linear span", f"dimension {found.linear_span:,}")]
    if not found.is_cone:
        lines.append(("homogeneous", f"by the coordinate c_{found.system.constant + 1}, which is constantly 1"))
    if found.dimension is None:
        lines.append(("dimension", "undecided"))
    else:
        lines.append(("dimension", f"{found.dimension:,}  certified; codimension {found.codimension} in the span"))
    degree = "not known" if found.degree is None else f"{found.degree:,}"
    if found.degree is None and found.system.network is None and found.degree_bounds is not None:
        degree = "between {:,} and {:,}".format(*found.degree_bounds)
    lines.append(("degree", degree))
    lines.append(("Hilbert", f"{', '.join(values)}  from degree 0: two bounds meet"))
    if (polynomial := formula(found)) is not None:
        lines.append(("polynomial", f"{polynomial}  in degree k, from degree {first_degree(found)} on"))
    for degree, count in found.counts.items():
        plural = "" if count == 1 else "s"
        said = "number of minimal generators undecided" if count is None else f"{count:,} minimal generator{plural}"
        lines.append((f"degree {degree}", said))
    if found.is_complete:
        what = "generate the ideal" if found.counts else "there are none: the closure is its linear span"
        lines.append(("complete", what))
    else:
        lines.append(("complete", f"to degree {found.complete_to_degree}; nothing is said beyond"))
    lines.append(("proof", found.source))
    if found.stopped is not None:
        lines.append(("stopped", found.stopped))
    return lines if polynomial is not None else [*lines, *labelled("tried", map(str, found.tried))]


def as_text(found: Any) -> str:
    """Return what the command prints: what is known, the coordinates, the equations."""
    text = [text_table(with_proof(answer_lines(found))), "", *map(str, found.coordinates[:MOST_COORDINATES])]
    if len(found.coordinates) > MOST_COORDINATES:
        text.append(f"... {len(found.coordinates):,} coordinates in all")
    for degree, some in found.terms.items():
        text += ["", f"equations of degree {degree}, each expanded to zero:"]
        text += [equation_text(terms, found) for terms in some[:MOST_SHOWN]]
        if len(some) > MOST_SHOWN:
            text.append(f"... {len(some):,} in all")
    return "\n".join(text)


def exponents(terms: Terms, count: int) -> dict[tuple[int, ...], int]:
    """Return coefficients by the exponents of all coordinates."""
    result = {}
    for monomial, coefficient in terms.items():
        powers = [0] * count
        for i in monomial:
            powers[i] += 1
        result[tuple(powers)] = coefficient
    return result


def equation_text(terms: Terms, found: Any, form: str = "macaulay2", most: int | None = MOST_TERMS) -> str:
    """Return an equation as a sum; of more than `most` terms the first ones."""
    names = [c.name for c in found.coordinates]
    shown = dict(list(terms.items())[:most])
    more = "" if len(shown) == len(terms) else f" + ... ({len(terms):,} terms)"
    return polynomial_text(form, names, exponents(shown, len(names))) + more


def in_format(found: Any, form: str) -> str:
    """Return all coordinates and equations for a computer algebra system; JSON has the ring and the ideal."""
    require_format(form)
    what, name = found.subject
    comments = [
        f"the closure of the set of functions of a {'lightning network' if what == 'network' else what}, {name}",
        f"all equations to degree {found.complete_to_degree}" + ", which generate the ideal" * found.is_complete,
        *map(str, found.coordinates),
    ]
    generators = [exponents(terms, len(found.system)) for some in found.terms.values() for terms in some]
    return ideal_text(form, [c.name for c in found.coordinates], generators, comments)


def as_latex(found: Any) -> str:
    """Return the first equations, for a notebook."""
    rows = []
    names = [f"c_{{{i + 1}}}" for i in range(len(found.system))]
    for degree, some in found.terms.items():
        short = [terms for terms in some if len(terms) <= MOST_TERMS][:MOST_SHOWN]
        rows += [f"{polynomial_text('latex', names, exponents(terms, len(names)))} = 0" for terms in short]
        if len(short) < len(some):
            rows.append(latex_words(f"... {len(some):,} of degree {degree}"))
    return latex_lines(rows) if rows else latex_words(f"no equations up to degree {found.complete_to_degree}")
