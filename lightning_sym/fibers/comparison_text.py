"""The text of a comparison, as the command prints it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lightning_sym.display import (
    Lines,
    cut_text,
    latex_lines,
    latex_matrix,
    latex_number,
    latex_words,
    rows_in_line,
    spelled,
)
from lightning_sym.network.architecture import network_line

NAMES = ("first", "second")
"""What the two networks are called."""


def comparison_lines(result: Any) -> Lines:
    """The text of a `Comparison`."""
    network = [("network", network_line(*result.networks))] if result.networks else []
    lines = [*network, ("function", result.answer.value), *_evidence(result)]
    if result.prefix is not None and (result.input is not None or result.evaluations):
        lines.append(("tokens", f"inputs are of the first {result.prefix} alone: later ones change no output there"))
    if result.answer.value == "undecided":
        lines += [("" if number else "tried", str(each)) for number, each in enumerate(result.tried)]
    return [(label, cut_text(text)) for label, text in lines]


def _evidence(result: Any) -> Lines:
    if result.entry is not None and result.input is not None and result.outputs is not None:
        row, token = result.entry
        values = zip(NAMES, (y[row - 1, token - 1] for y in result.outputs), strict=True)
        return [
            ("input", f"X = {rows_in_line(result.input)}"),
            *((name, f"phi(X)[{row},{token}] = {ball}") for name, ball in values),
            ("because", f"{result.because} (row {row} of token {token}, computed with {result.precision} bits)"),
        ]
    if result.reason == "agreement":
        return _agreement(result)
    if result.symmetry is not None:
        return [("because", result.because), *result.symmetry.lines()]
    if result.input is not None and result.outputs is not None:
        outputs = zip(NAMES, result.outputs, strict=True)
        return [
            ("input", f"X = {rows_in_line(result.input)}"),
            *((name, f"phi(X) = {rows_in_line(y)}") for name, y in outputs),
        ]
    if result.reason == "zero":
        which = "both are" if result.answer.value == "same" else "only one of them is"
        return [("because", f"{which} the zero function")]
    if result.differing is not None:
        return [("because", f"{result.differing} differs, and {result.because}")]
    if result.reason in ("degree", "coefficients", "identical", "visible", "one layer", "words", "determined"):
        return [("because", result.because)]
    if result.connection is not None:
        return connection_lines(result.connection)
    bound = spelled(result.error_bound)
    power = len(spelled(result.error_bound.denominator // result.error_bound.numerator)) - 1
    small = f" = {bound}" if len(bound) < 40 else f" < 10^-{power}"
    return [
        ("evaluations", f"{result.evaluations} at uniformly random integer inputs up to 2^31, exact, all agree"),
        ("error bound", f"if the functions differ, that happens with probability at most p{small} (Schwartz-Zippel)"),
    ]


def _agreement(result: Any) -> Lines:
    lines = [("because", result.because)]
    if not result.evaluations:
        return [*lines, ("inputs", "none tried: it takes more exact work than allowed, or S itself is not known")]
    if result.precision is None:
        return [*lines, ("inputs", f"{result.evaluations} random ones, where exact outputs agree")]
    tried = f"{result.evaluations} random ones, where balls of up to {result.precision} bits around the outputs meet"
    far = result.distance
    if far is not None:
        tried += "; outputs are at most " + (f"10^-{_digits(far)} apart" if far < 1 else f"{float(far):.3g} apart")
    return [*lines, ("inputs", tried)]


def _digits(distance: Fraction) -> int:
    """The largest `k` with `distance <= 10^-k`, up to 10,000."""
    digits = 0
    while digits < 10_000 and distance * 10 ** (digits + 1) <= 1:
        digits += 1
    return digits


def connection_lines(found: Any) -> Lines:
    """The text of a `Connection`."""
    factors = [f"A~{i}' = {spelled(x)} A~{i}" for i, x in enumerate(found.factors, start=1)]
    value = f"V~' = {spelled(found.value_factor)} V~"
    lines = [("because", ", ".join([*factors, value]) + "; the factors cancel (Eq. 13)")]
    depth = len(found.factors)
    last_exchange = "p and w exchanged in the last layer's A~ = p q^T, V~ = v w^T (Theorem 3.2)"
    lines += [("after", last_exchange if m == ("exchange", depth) else m.described(depth)) for m in found.moves]
    if not found.sought:
        lines.append(("basis", "not sought: it takes more exact work than allowed; a larger --work lifts this"))
    if found.symmetric_parts:
        lines.append(("up to", "skew-symmetric parts that this number of tokens, or a layer of rank one, cannot see"))
    if found.moved is not None and (found.moves or found.symmetric_parts):
        lines += [(f"moved {name}", rows_in_line(matrix)) for name, matrix in found.moved.named().items()]
    for name, letter, group in (("basis", "C", found.query_key), ("change", "G", found.between)):
        lines += [(f"{name} {letter}{i}", rows_in_line(m)) for i, m in (group or {}).items()]
    if found.scales is not None:
        lines.append(("scales", ", ".join(f"s{i} = {spelled(s)}" for i, s in found.scales.items())))
        lines.append(
            ("act by", "Q' = s C^-T Q G^-1, K' = C K G^-1, V' = H V G^-1 / s; G, H before and after the layer")
        )
    return lines


def comparison_latex(result: Any) -> str:
    """The answer as a formula."""
    if result.answer.value == "undecided":
        return r"\varphi_{W'} \overset{?}{=} \varphi_W"
    if result.answer.value == "same":
        said = r"\varphi_{W'} = \varphi_W"
        if result.symmetry is not None and result.symmetry.between is not None:
            return latex_lines([said, *result.symmetry.formulas()])
        return said if result.connection is None else latex_lines([said, connection_latex(result.connection)])
    if result.entry is not None:
        row, token = result.entry
        one, other = (latex_words(str(y[row - 1, token - 1])) for y in result.outputs)
        said = rf"\varphi_W(X)_{{{row},{token}}} = {one} \ne {other} = \varphi_{{W'}}(X)_{{{row},{token}}}"
        return latex_lines([rf"X = {latex_matrix(result.input)}", said])
    if result.input is None:
        return r"\varphi_{W'} \ne \varphi_W"
    first, second = map(latex_matrix, result.outputs)
    x = latex_matrix(result.input)
    return latex_lines([rf"X = {x}", rf"\varphi_W(X) = {first} \ne {second} = \varphi_{{W'}}(X)"])


def connection_latex(found: Any) -> str:
    """How virtual weights become others, as a formula."""
    parts = [
        *((rf"\tilde A_{{{i}}}", x) for i, x in enumerate(found.factors, start=1)),
        (r"\tilde V", found.value_factor),
    ]
    said = r", \quad ".join(rf"{name}' = {latex_number(x)} \, {name}" for name, x in parts)
    words = [f"{move.name.value} in layer {move.layer}" for move in found.moves]
    words += ["up to skew parts that are not seen"] * found.symmetric_parts
    return rf"{latex_words('after ' + ', '.join(words) + ':')} \quad {said}" if words else said
