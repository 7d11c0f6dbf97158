r"""Networks of any depth whose circuits are seen up to bases of streams: by conditions on their matrices, or by ranks.

Softmax of any size: where the hypotheses hold under which the function determines its words (Theorem 13 of
docs/learning-coefficients.md), its differential by circuits vanishes on changes of bases alone. What these ask for are
residues of products with columns, so it takes what `fiber` takes. Others, and small ones: if the rank of the Jacobian
by circuits and the dimension of their orbit add up to their number (Theorem 5). Both are ranks modulo a prime, at most
the ranks; their sum is at most the number of circuits, so where it is reached both are exact.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from lightning_sym.ask import failing
from lightning_sym.coefficients.head_groups import HeadGroup
from lightning_sym.coefficients.lightning_layer import PAGE, Proved
from lightning_sym.coefficients.seen_circuits import AtWeights, SeenCircuits, orbit_of_circuits, whole_circuits
from lightning_sym.coefficients.softmax_layer import is_injective
from lightning_sym.errors import BadInput, ProgramError, TooLarge
from lightning_sym.exact.modular import rank_mod_p
from lightning_sym.fibers.conditions import SoftmaxConditions
from lightning_sym.fibers.hypotheses import RANKS, SCORES, SEEN, SQUARES
from lightning_sym.fibers.local_dimension import local_dimension
from lightning_sym.fibers.observed_network import NetworkAtPoints
from lightning_sym.network.stream_pieces import free_streams
from lightning_sym.network.weights import Weights
from lightning_sym.rings.prime_field import PrimeFieldMatrix
from lightning_sym.rings.rationals import RationalMatrix
from lightning_sym.system.circuits import NetworkCircuits, factor_names

MOST_CIRCUITS = 2000
"""Entries of all circuits, with identities in place of keys, up to which their Jacobian is computed."""


def seen_by_conditions(question: AtWeights) -> Proved | str:
    """Return the pair of a softmax network whose circuits are seen by Theorem 13, or why nothing is proved."""
    shape, of_all = question.shape, _tested(question, question.weights, idle_heads=True)
    apart = None if isinstance(of_all, str) else _apart(question.weights, of_all.residues)
    seen: SeenCircuits[Any] | None = apart or question.seen
    if seen is None or not all(any(group.value for group in layer) for layer in seen.groups):
        return "all heads of a layer write nothing"
    if len(seen.groups) < shape.depth:
        return "a factor of the whole function is zero"
    idle = [group for group in seen.all_groups if not group.value]
    alike = [group for group in seen.all_groups if len(group.heads) > 1]
    if alike and (idle or not shape.skip):
        return "heads attend alike, and others write nothing or there is no skip connection"
    for group in alike:
        if not is_injective([head.value for head in group.heads]):
            return f"values of the heads {', '.join(group.names)}, which attend alike, are not seen to be apart"
    writing = _that_write(question, seen) if idle or alike else of_all
    tests = of_all if idle else writing
    if isinstance(writing, str) or isinstance(tests, str):
        return " ".join({why for why in (writing, tests) if isinstance(why, str)})
    try:
        why = failing(tests, (*RANKS, SCORES, SQUARES)) or failing(writing, (SEEN,))
    except TooLarge as error:
        return str(error)
    if why is None and alike and tests.weaker_by:
        why = "heads attend alike, and scores are dependent"
    if why is not None:
        return why
    (pair, ranks), orbit = seen.pair(), free_streams(shape)
    return Proved(pair.without(orbit), f"{PAGE}, Theorem 13", {"circuits": seen.count, "orbit": orbit} | ranks)


def _apart(weights: Weights, tests: NetworkAtPoints) -> SeenCircuits[PrimeFieldMatrix] | None:
    """Return each head by itself, where residues show that no two attend alike and all ranks are as large as can be.

    What residues show is so over the rationals, of which no matrix is made then.
    """
    net, layers = tests.net, list[tuple[HeadGroup[PrimeFieldMatrix], ...]]()

    def rank(matrix: PrimeFieldMatrix) -> int:
        return rank_mod_p(matrix.entries, tests.prime)

    for i, heads in enumerate(net.layers, start=1):
        named = enumerate(heads, start=1)
        groups = [HeadGroup((tests.shape.head_name(i, h),), (head,), rank=rank) for h, head in named]
        column = PrimeFieldMatrix.of(np.arange(1, net.widths[i - 1] + 1)[:, None], tests.prime)
        seen_apart = {head.attended(column).residues().tobytes() for head in heads}
        if len(seen_apart) < len(heads) or not all(group.is_generic for group in groups):
            return None
        layers.append(tuple(groups))
    ends = {name: end for name, end in net.ends.items() if name in weights.matrices}
    return SeenCircuits(tuple(layers), ends) if all(ends.values()) else None


def _tested(question: AtWeights, weights: Weights, *, idle_heads: bool) -> SoftmaxConditions | str:
    """Return the conditions of a network, or why they are not tested: no prime for denominators, or too much work."""
    tokens, budget, seed = question.shape.tokens, question.budget, question.seed
    try:
        return SoftmaxConditions(weights, tokens, budget, seed=seed, memory=question.memory, idle_heads=idle_heads)
    except (BadInput, TooLarge) as error:
        return str(error)


def _that_write(question: AtWeights, seen: SeenCircuits[RationalMatrix]) -> SoftmaxConditions | str:
    """Return the network of heads that write something, those that attend alike being one."""
    alike = any(len(group.heads) > 1 for group in seen.all_groups)
    return _tested(question, _merged(question, seen) if alike else question.weights, idle_heads=False)


def _merged(question: AtWeights, seen: SeenCircuits[RationalMatrix]) -> Weights:
    """Return the network where the first head of those that attend alike has the sum of their values, and others none.

    With projections the sum stays the product that it is, as the rank of its differential is asked too.
    """
    matrices, heads = dict(question.weights.matrices), factor_names(question.shape)
    for group in seen.all_groups:
        for place, name in enumerate(group.names):
            times, names = 0 if place or not group.value else 1, heads[name]
            if group.factors is None:
                matrices[names.inner_value] = group.value.scaled(times).fractions()
            else:
                output, inner = (factor.scaled(times).fractions() for factor in group.factors)
                more = (question.shape.heads - len(group.heads)) * len(inner) // len(group.heads)
                matrices[names.output] = np.pad(output, ((0, 0), (0, more)))  # heads of a layer have one inner width
                matrices[names.inner_value] = np.pad(inner, ((0, more), (0, 0)))
    return Weights.of(matrices, question.weights.form)


def orbit_of_bases(net: NetworkCircuits, seen: SeenCircuits[RationalMatrix]) -> int:
    """Return a lower bound of the dimension of the orbit of what is seen, under bases of streams and scales of heads.

    A basis is fixed by `E`, if it is onto, or by the heads that write into it, if together they are; a scale by scores.

    Args:
        net: the circuits.
        seen: what of them is seen.
    """
    if len(seen.groups) < len(net.layers):
        return 0
    embed, unembed = (name in seen.ends for name in net.ends)
    places = range(embed and unembed) if net.skip else range(not embed, len(net.widths) - (not unembed))
    total = sum(net.form.normalization is None and group.scores_seen and group.values_seen for group in seen.all_groups)
    for i in places:
        written = [group.value.mT for group in seen.groups[i - 1] if group.values_seen] if i else [net.embed.mT]
        if not written or written[0].above(*written[1:]).rank() < net.widths[i]:
            break
        total += net.widths[i] ** 2
    return total


def rank_by_conditions(question: AtWeights) -> int:
    """Return a lower bound of the rank of the Jacobian of a softmax network by its weights, where Theorem 13 has one.

    Heads that write nothing are left as they are, and the scores of heads that attend alike. Where a rank falls short
    only scores and the values of the last layer move.
    """
    seen, shape = question.seen, question.shape
    if shape.normalization is None or shape.tokens == 1 or seen is None or len(seen.groups) < shape.depth:
        return 0
    if not all(any(group.value for group in layer) for layer in seen.groups):
        return 0
    tests = _that_write(question, seen)
    try:
        if isinstance(tests, str) or failing(tests, (SCORES, SQUARES, SEEN)) is not None:
            return 0
        if failing(tests, RANKS) is not None:
            return _rank_in_spaces(seen, tests.residues)
    except TooLarge:
        return 0
    ends = sum(int(prod(end.shape)) for end in seen.ends.values())
    return ends + sum(group.rank_at_least for group in seen.all_groups) - free_streams(shape)


def _rank_in_spaces(seen: SeenCircuits[RationalMatrix], tests: NetworkAtPoints) -> int:
    """Return the rank of the differential of scores on what is reached, and of last values from there to readers."""

    def rank(columns: PrimeFieldMatrix) -> int:
        return rank_mod_p(columns.residues(), tests.prime)

    def moved(left: tuple[PrimeFieldMatrix, PrimeFieldMatrix], right: tuple[PrimeFieldMatrix, PrimeFieldMatrix]) -> int:
        """Return the rank of the differential of a product, between spaces, each with its image under a factor."""
        (rows, b), (columns, a) = (tuple(map(rank, each)) for each in (left, right))
        return rows * a + b * columns - a * b

    total, read = 0, tests.readers[-1]
    for i, (groups, heads) in enumerate(zip(seen.groups, tests.net.layers, strict=True)):
        keys, queries = tests.reached[i], tests.first[i]
        for group, head in zip((group for group in groups if group.value), heads, strict=True):
            if len(group.heads) == 1:
                total += moved((keys, head.offered(keys)), (queries, head.query @ queries))
            if i + 1 == len(seen.groups):
                output = read if head.output is None else head.output.mT @ read
                total += moved((read, output), (keys, head.inner_value @ keys if head.output is not None else keys))
    return total


def seen_by_ranks(question: AtWeights) -> Proved | str:
    """Return the pair of a network whose circuits are seen up to symmetries by Theorem 5, or why nothing is proved."""
    if (seen := question.seen) is None:
        return "two factors of a product are zero"
    shape = question.shape
    sizes = (2 * before**2 + before * behind for before, behind in pairwise(shape.widths))
    if (most := shape.heads * sum(sizes)) > MOST_CIRCUITS:
        return f"its circuits have {most:,} entries, more than {MOST_CIRCUITS:,}"
    whole = whole_circuits(question.weights, shape, question.net)
    near = local_dimension(whole, shape.tokens, seed=question.seed, budget=question.budget)
    if near is None:
        return "the Jacobian by its circuits takes more work than allowed"
    rank = whole.architecture(1).parameter_count - near.upper
    orbit = orbit_of_circuits(whole, shape.tokens, seen)
    if rank + orbit > seen.count:
        raise ProgramError(f"rank {rank} and orbit {orbit} must be at most {seen.count} together for {shape}")
    if rank + orbit < seen.count:
        return f"of {seen.count:,} entries of circuits {rank:,} are seen, and {orbit:,} are symmetries"
    pair, ranks = seen.pair()
    numbers = {"circuits": seen.count, "rank of the Jacobian by circuits": rank, "orbit": orbit}
    return Proved(pair.without(orbit), f"{PAGE}, Theorem 5", numbers | ranks)
