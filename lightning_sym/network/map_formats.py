r"""A polynomial map for other systems: ring, outputs, coefficients, and the ideal of all functions of its kind."""

from __future__ import annotations

from collections.abc import Mapping

from lightning_sym.errors import BadInput
from lightning_sym.network.formats import SYSTEMS, Writer, polynomial_text, require_format, variable_names
from lightning_sym.network.symbolic_map import Exponents, SymbolicMap
from lightning_sym.rings.polynomials import RationalCoefficient

_COORDINATES = ("c", "z", "y", "m", "w", "coefficient", "coordinate")
"""What coordinates of functions are called: the first that begins no name of a variable."""


_Term = tuple[Exponents, RationalCoefficient]


def _coefficients(phi: SymbolicMap) -> list[tuple[str, str, Mapping[Exponents, RationalCoefficient]]]:
    """Return names of coefficients, where they stand, and them over all variables: those not zero, each once."""
    first = len(phi.weight_names)
    behind = (0,) * len(phi.input_names)
    inputs = variable_names("sympy", phi.input_names)
    places: dict[frozenset[_Term], list[str]] = {}
    names: dict[frozenset[_Term], str] = {}
    for k, j, entry in phi.outputs():
        grouped: dict[Exponents, list[_Term]] = {}
        for exponents, value in entry.to_dict().items():
            all_of_it = tuple(map(int, exponents))
            grouped.setdefault(all_of_it[first:], []).append(((*all_of_it[:first], *behind), value))
        for exponents, terms in grouped.items():
            place = f"phi_{k}_{j}: {polynomial_text('singular', inputs, {exponents: 1})}"
            places.setdefault(frozenset(terms), []).append(place)
            names.setdefault(frozenset(terms), phi.coordinate((k, j, exponents)))
    return [(names[terms], "; ".join(found), dict(terms)) for terms, found in places.items()]


def map_text(phi: SymbolicMap, form: str) -> str:
    r"""Return the polynomial map, ready to paste into another system.

    `R` is the ring of weights and inputs, `phi` the matrix of outputs, `C` the list of the coefficients of all outputs
    as polynomials in the weights, each once and zero left out; comments say where each stands. `M` is the kernel of
    the map that sends `c_k_j_m` to the coefficient of monomial `m` in `phi_k_j`, as in `PolynomialMap.ideal`: the ideal
    of the closure of the set of functions, in these coordinates. With numbers for weights `C` is a point, and there is
    no `M`.

    Args:
        phi: the map.
        form: a system of `formats.SYSTEMS`.

    Raises:
        BadInput: there is no such system; LaTeX and JSON say less (`latex`, `as_document`). Or a letter has a name
            that the system cannot have.

    Example:
        >>> from lightning_sym import Architecture, polynomial_map
        >>> print(map_text(polynomial_map(Architecture((1, 1), (1,), 1)), "singular"))
        // widths 1,1, ranks 1, tokens 1: homogeneous of degree 3, 1 term, ambient dimension 1
        ring R = 0, (Q1_1_1, K1_1_1, V1_1_1, x_1_1), dp;
        matrix phi[1][1] = Q1_1_1*K1_1_1*V1_1_1*x_1_1^3;
        // coefficients, each polynomial once
        // c_1_1_1 of phi_1_1: x_1_1^3
        ideal C = Q1_1_1*K1_1_1*V1_1_1;
        // the ideal of all functions of this kind, closure: relations of the coefficients
        ring S = 0, (c_1_1_1), dp;
        setring R;
        map f = S, C;
        setring S;
        ideal M = kernel(R, f);
    """
    if require_format(form) not in SYSTEMS:
        raise BadInput(f"a session must be one of {', '.join(SYSTEMS)}, got {form}")
    names = [*phi.weight_names, *phi.input_names]
    writer, coefficients = Writer(form, "R", names), _coefficients(phi)
    letter = next((c for c in _COORDINATES if not any(name.startswith(c) for name in names)), None)
    if letter is None:
        raise BadInput(f"names of variables must not begin with all of {', '.join(_COORDINATES)}")
    coordinates = [letter + name[1:] for name, _, _ in coefficients]
    lines = list(writer.comments([phi.header]))
    lines += [*writer.ring(), writer.matrix("phi", phi.entries.tolist())]
    lines += writer.comments(["coefficients, each polynomial once"])
    lines += writer.comments(f"{c} of {place}" for c, (_, place, _) in zip(coordinates, coefficients, strict=True))
    lines.append(writer.sequence("C", (terms for _, _, terms in coefficients)))
    if phi.weight_names:
        lines += writer.comments(["the ideal of all functions of this kind, closure: relations of the coefficients"])
        lines.append(writer.kernel("M", "S", coordinates, "C"))
    return "\n".join(lines)
