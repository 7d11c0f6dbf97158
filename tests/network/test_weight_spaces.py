"""The table of weights and their spaces: shapes, counts and the group's dimension, said a second time by hand."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from lightning_sym import SOFTMAX, Architecture
from lightning_sym.network.pieces import pieces, spaces
from lightning_sym.symmetries.families import symmetry_count


@st.composite
def networks(draw: st.DrawFn) -> Architecture:
    """Networks with every option."""
    depth, skip, size = draw(st.integers(1, 3)), draw(st.booleans()), st.integers(1, 4)
    widths = (draw(size),) * (depth + 1) if skip else tuple(draw(size) for _ in range(depth + 1))
    ranks, value_ranks = (tuple(draw(size) for _ in range(depth)) for _ in range(2))
    ends = st.none() | size
    return Architecture(
        widths, ranks, draw(size), draw(st.sampled_from([None, SOFTMAX])), draw(st.integers(1, 3)),
        draw(st.sampled_from([None, value_ranks])), skip, draw(st.booleans()), draw(ends), draw(ends),
    )  # fmt: skip


def by_hand(n: Architecture) -> Iterator[tuple[str, tuple[int, int]]]:
    """Names and shapes in the canonical order, without the table."""
    if n.embed is not None:
        yield "E", (n.widths[0], n.embed)
    for i in range(n.depth):
        (d, out), a = n.widths[i : i + 2], n.attention_ranks[i]
        b = None if n.value_ranks is None else n.value_ranks[i]
        for h in range(n.heads):
            end = f"{i + 1}" + f".{h + 1}" * (n.heads > 1)
            yield from ((f"Q{end}", (a, d)), (f"K{end}", (a, d)), (f"V{end}", (b or out, d)))
            if b is not None:
                yield f"O{end}", (out, b)
    if n.unembed is not None:
        yield "U", (n.unembed, n.widths[-1])


def group_dimension(n: Architecture) -> int:
    """The dimension of the group, option by option."""
    inside = sum(a * a for a in n.attention_ranks) + sum(b * b for b in n.value_ranks or ())
    inside += n.depth * (n.normalization is None)
    if n.skip:
        free = n.widths[:1] if n.embed is not None and n.unembed is not None else ()
    else:
        free = n.widths[n.embed is None : n.depth + (n.unembed is not None)]
    return n.heads * inside + sum(d * d for d in free)


@given(networks())
def test_shapes_counts_and_the_group_follow_from_the_table(network: Architecture) -> None:
    shapes = list(by_hand(network))
    assert [(piece.name, piece.shape) for piece in pieces(network)] == shapes == list(network.weight_shapes())
    assert network.parameter_count == sum(rows * columns for _, (rows, columns) in shapes)
    assert symmetry_count(network) == group_dimension(network)
    assert sum(space.size**2 for space in spaces(network)) == group_dimension(network)


def test_counts_do_not_list_heads() -> None:
    network = Architecture((3, 3), (2,), 2, heads=10**9, skip=True)
    assert network.parameter_count == 10**9 * (2 * 2 * 3 + 9)
    assert symmetry_count(network) == 10**9 * (4 + 1)
