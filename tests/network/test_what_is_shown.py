"""What ranks, layers and virtual weights are as numbers, as equals, and in words."""

from __future__ import annotations

from operator import index

import numpy as np
import sympy

from lightning_sym import Architecture, Layer, PolynomialMap, Weights, polynomial_map, virtual_weights
from lightning_sym.network.map_differential import FamilyRank, family_rank
from lightning_sym.whole_models.special import SpecialWeights

PHI: PolynomialMap = polynomial_map(Architecture((2, 1), (1,), 2))


def test_a_rank_is_a_number() -> None:
    w = Weights.of({"Q1": [[1, 0]], "K1": [[0, 1]], "V1": [[1, 2]]})
    assert list(range(5))[PHI.jacobian_rank(w)] == 4
    assert PHI.jacobian_rank(w)._repr_latex_() == r"$\displaystyle \operatorname{rk} J = 4$"
    a = sympy.Symbol("a")
    families = [family_rank([[a, 1], [1, a]], [a]), family_rank([[a, 1], [0, 1 + a**2], [1, 0]], [a])]
    assert [index(found) for found in families] == [2, 2]
    assert [found.where_smaller for found in families] == ["where all of these are zero: (a - 1)*(a + 1)", "nowhere"]
    many = family_rank([[a + i * j for j in range(30)] for i in range(30)], [a])
    assert (many.rank, many.where_smaller) == (2, "not known, too many minors")


def test_a_rank_with_letters() -> None:
    """It is that at almost all numbers in place of the letter."""
    a = sympy.Symbol("a")
    found = [PHI.jacobian_rank(Weights.of({"Q1": [[q, 0]], "K1": [[0, 1]], "V1": [[1, 2]]})) for q in (a, 0, 5)]
    assert list(map(index, found)) == [4, 2, 4]
    assert isinstance(found[0], FamilyRank)
    assert found[0].letters == (a,)


def test_layers_are_equal_where_their_matrices_are() -> None:
    one, two = np.array([[1]]), np.array([[2]])
    assert Layer(one, one, one) == Layer(one, one, one) != Layer(one, one, two)
    assert Layer(one, one, one) != (one, one, one)
    assert repr(Layer([[1]], [[2]], [[3]])) == "Layer(query=[[1]], key=[[2]], value=[[3]])"


def test_virtual_weights_as_formulas() -> None:
    many = virtual_weights([Layer(*[np.array([[k]])] * 3) for k in (1, 2, 3, 4, 5, 6, 7, 8, 9)])
    shown = many.formulas()
    assert shown[0] == r"\tilde A_{1} = \begin{bmatrix}1\end{bmatrix}"
    assert r"\ldots" in shown
    assert shown[-1] == r"\tilde V = \begin{bmatrix}362880\end{bmatrix}"


def test_special_weights_in_words() -> None:
    told = SpecialWeights("equal gains", 1, (3, 4), 1002, "turns")
    assert str(told) == "equal gains, layer 1: 3, 4 and 1,000 more; turns"
    assert str(SpecialWeights("none", None, (), 0, "nothing")) == "none; nothing"
