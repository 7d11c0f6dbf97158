"""The steps of `explain`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.polynomials import PolynomialRing
from lightning_sym.rings.rationals import as_fraction
from proofs_check.blackboard.step import (
    BOARD,
    R,
    S,
    Step,
    discriminant,
    function_of,
    general_coefficients,
    layer_of,
    must,
    quadratic_forms,
    rational,
    show,
    six_coefficients,
    sylvester,
)
from proofs_check.ring_matrices import determinant, letters_of


def walk() -> Iterator[Step]:
    """Yield the steps of Figure 1."""
    attention, value = rational([[1, 1], [0, 1]]), rational([[1, -1]])
    phi = function_of(layer_of(attention, value))
    forms = quadratic_forms(phi)[0]
    common = forms[0].gcd(forms[1])
    six = six_coefficients(forms)
    yield Step(
        "A function is a pair of quadratic forms",
        r"Let $d = 2$, $d' = 1$, $a = 2$. In the first output, collect what is quadratic in token two, $(r, s)$: a "
        r"form $f$ with the coordinate $x$ and a form $g$ with $y$. These six numbers determine the function. Both "
        r"forms contain the linear form $V$ (call it a line) as a factor.",
        (show("A", attention), show("V", value), show(r"\varphi_1", phi[0, 0]), show("f", forms[0]),
         show("g", forms[1]),
         show(r"\gcd(f, g)", common)),
    )  # fmt: skip
    must(determinant(sylvester(six)) == 0, "the resultant vanishes")
    yield Step(
        "A common factor is a determinant",
        r"Two quadratic forms have a common factor exactly if their Sylvester matrix is singular. Here it is, with $f$ "
        r"twice and $g$ twice, each shifted by one. Its determinant is the resultant.",
        (show(r"\operatorname{Syl}(f, g)", sylvester(six)), show(r"\operatorname{Res}(f, g)", 0)),
    )
    ring = PolynomialRing(["f_0", "f_1", "f_2", "g_0", "g_1", "g_2"])
    symbols = list(ring.generators)
    equation = determinant(sylvester(symbols, ring.constant(0)))
    must(equation.total_degree() == 4 and equation.factor()[1][0][1] == 1 and len(equation.factor()[1]) == 1,
         "the resultant is irreducible of degree four")  # fmt: skip
    weights, (a, row) = letters_of({"a": (2, 2), "v": (1, 2)})
    general = general_coefficients(a, row).ravel()
    must(determinant(sylvester(general, weights.constant(0))) == 0, "the resultant vanishes for all weights")
    yield Step(
        "The equation",
        r"In letters, with $f = f_0 r^2 + f_1 r s + f_2 s^2$ and $g$ likewise, the resultant is one irreducible "
        r"polynomial of degree $4$ in six unknowns. Put in the coefficients of a layer with symbolic weights, and it "
        r"vanishes identically. $\mathcal M$ has dimension $5$ in a space of dimension $6$, so this one equation "
        r"describes its Zariski closure.",
        (show(r"\operatorname{Res}", equation, ring),),
    )
    stranger = rational([[1, 0, 1, 0, 1, 1]])[0]
    value_there = determinant(sylvester(list(stranger)))
    must(value_there != 0, "the resultant sees a pair without common factor")
    yield Step(
        "A pair that is no layer",
        r"Test it: $f = r^2 + s^2$ and $g = r s + s^2$ have no common factor. The resultant is not zero, and no "
        r"weights give this function.",
        (show(r"\operatorname{Syl}(f, g)", sylvester(list(stranger))), show(r"\operatorname{Res}(f, g)", value_there)),
    )

    def gradient(point: Iterable[Fraction]) -> ObjectArray:
        numbers = [BOARD.constant(c).leading_coefficient() if c else 0 for c in point]
        return rational([[as_fraction(equation.derivative(i)(*numbers)) for i in range(6)]])

    rank_one = quadratic_forms(function_of(layer_of(rational([[1, 2], [1, 2]]), value)))[0]
    double = six_coefficients(rank_one)
    must(not gradient(double).any() and gradient(six).any(), "the gradient vanishes at the pair of multiples only")
    yield Step(
        "The singular line",
        r"Where is this hypersurface singular? Where the gradient vanishes. At our function it does not. But take $A$ "
        r"of rank one: $f$ and $g$ are multiples of one quadratic form and share both lines. There the gradient is "
        r"zero. These pairs are a family of dimension $4$; the slice of dimension $3$ in the figure meets it in a "
        r"line.",
        (
            show("f", rank_one[0]), show("g", rank_one[1]),
            show(r"\nabla \operatorname{Res} \text{ at rank one}", gradient(double)),
            show(r"\nabla \operatorname{Res} \text{ at our function}", gradient(six)),
        ),
    )  # fmt: skip
    circle = R * R + S * S
    pair = [circle, 2 * circle]
    must(determinant(sylvester(six_coefficients(pair))) == 0 and discriminant(circle) < 0, "complex lines only")
    yield Step(
        "The part outside",
        r"Last, $f = r^2 + s^2$ and $g = 2 r^2 + 2 s^2$. The resultant is zero: they share the lines $r + i s$ and $r "
        r"- i s$. But there is no real line to serve as $V$. This function satisfies the equation and belongs to no "
        r"layer. It lies on the part of the singular locus that is outside $\mathcal M$: in the picture, the dotted "
        r"piece between the sheets.",
        (show("f", pair[0]), show("g", pair[1]),
         show(r"\operatorname{Res}(f, g)", determinant(sylvester(six_coefficients(pair)))),
         show(r"\text{discriminant}", discriminant(circle))),
    )  # fmt: skip
    ring = PolynomialRing(["u", "w", "z"])
    u, w, z = ring.generators
    zero, one = ring.constant(0), ring.constant(1)
    ours = sylvester([one + z, zero, one - z, w, 2 * u, -w], zero)
    must(determinant(ours) == 4 * (u**2 + w**2 - z**2 * u**2), "the slice of Figure 1 is a quartic surface")
    yield Step(
        "Figure 1",
        r"Cut with a space of dimension $3$: $f = (1 + z)\, r^2 + (1 - z)\, s^2$ and $g = w (r^2 - s^2) + 2 u r s$, "
        r"with three free numbers $u, w, z$. The equation becomes $u^2 + w^2 = z^2 u^2$: two sheets, $z \ge 1$ and "
        r"$z \le -1$, each of which crosses itself along the line $u = w = 0$. Between them, for $|z| < 1$, only that "
        r"line is left: there $f$ has no real lines, and $\mathcal M$ is gone. Picture and page have these letters.",
        (show(r"\operatorname{Syl}(f, g)", ours, ring), show(r"\operatorname{Res}(f, g)", determinant(ours), ring)),
    )
    other = PolynomialRing(["a", "b", "c"])
    p, q, m = other.generators
    nothing, unit = other.constant(0), other.constant(1)
    umbrella = determinant(sylvester([p, nothing, unit, q, m, nothing], nothing))
    must(umbrella == q**2 + p * m**2, "the other slice is Whitney's umbrella")
    moved = (2 * w) ** 2 + (one + z) * (one - z) * (2 * u) ** 2
    must(moved == determinant(ours), "the map takes one slice to the other")
    yield Step(
        "Another slice",
        r"With $f = a\, r^2 + s^2$ and $g = b\, r^2 + c\, r s$ one sees Whitney's umbrella, $b^2 + a c^2 = 0$. It is "
        r"the same surface away from $z = 1$: divide $f$ by $1 - z$, and add $w$ times that to $g$, so that $g$ loses "
        r"its $s^2$. On weights these are two steps with the columns of $A$, and $V$ stays. That is the map: "
        r"$a = (1 + z) / (1 - z)$, $b = 2 w / (1 - z)$, $c = 2 u$. It takes one equation to the other, "
        r"$(1 - z)^2 (b^2 + a c^2) = 4 (u^2 + w^2 - z^2 u^2)$; the line $u = w = 0$ becomes $b = c = 0$, and the piece "
        r"$|z| < 1$ of it the handle of the umbrella, $a > 0$.",
        (show(r"\operatorname{Res}(f, g)", umbrella, other),),
    )
