"""Skip connections, several heads, softmax at any widths, transformers: small networks and their certified counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from lightning_sym import Architecture, certified_dimension
from lightning_sym.network.attention import Form, attention_layer
from lightning_sym.network.weights import Layer
from lightning_sym.rings.arrays import ObjectArray
from lightning_sym.rings.normalization import SOFTMAX
from proofs_check.blackboard.step import BOARD, INPUT, Step, layer_of, must, number, rational, show, table

A1, A2 = rational([[1, 2], [3, 1]]), rational([[0, 1], [1, 1]])
V1, V2 = rational([[1, 1], [0, 2]]), rational([[2, 0], [1, 1]])


def _output(*heads: tuple[ObjectArray, ObjectArray], skip: bool = False) -> ObjectArray:
    """One layer of heads `(A, V)` on two symbolic tokens."""
    layers = [Layer(*map(BOARD.constants, layer_of(a, v))) for a, v in heads]
    result: ObjectArray = attention_layer(INPUT, layers, Form(skip=skip))
    return result


def _certified(network: Architecture) -> int:
    found = certified_dimension(network)
    must(found.value is not None, f"the bounds meet for {network}")
    return found.lower


def skip() -> Iterator[Step]:
    """Skip connections."""
    ours, moved = _output((A1, V1), skip=True), _output((2 * A1, V1 / 2), skip=True)
    must((ours == moved).all(), "the same function")
    must((ours != _output((A1, V1))).any(), "the skip changes the function")
    yield Step(
        "A layer that adds its input",
        r"With a skip connection the layer is $X + V X X^\top A X$. Its parts have degrees one and three, so it is not "
        r"homogeneous. Does that fix the weights?",
        (show("A", A1), show("V", V1), show(r"\text{first entry}", ours[0, 0])),
    )
    yield Step(
        "Rescaling inside the layer survives",
        r"Take $2A$ and $V/2$. The product $V X X^\top A X$ is the same, and so is the layer: every entry agrees as a "
        r"polynomial. So the weights $(A, V)$ are never determined, skip or not.",
        (show("2 A", 2 * A1), show("V / 2", V1 / 2), show(r"\text{first entry}", moved[0, 0])),
    )
    plain = Architecture((2, 2, 2), (2, 2), 2)
    without, lightning = _certified(plain), _certified(replace(plain, skip=True))
    softmax = _certified(replace(plain, skip=True, normalization=SOFTMAX))
    must((without, lightning, softmax) == (10, 14, 16), "the three counts")
    yield Step(
        "What the skip does remove",
        r"Two layers of width two with full ranks have $16$ numbers in $A_1, V_1, A_2, V_2$. Without skip, bases may "
        r"be "
        r"changed between the layers. With skip they may not: only one rescaling a layer is left. With softmax even "
        r"those are gone. Each number is a rank that meets an upper bound.",
        (number("plain", without), number("skip", lightning), number("skip and softmax", softmax)),
    )


def heads() -> Iterator[Step]:
    """Several heads."""
    together = _output((A1, V1), (A2, V2))
    must((together == _output((A2, V2), (A1, V1))).all(), "the same function in the other order")
    yield Step(
        "Two heads",
        r"The outputs of heads are added: $V_1 X X^\top A_1 X + V_2 X X^\top A_2 X$. A sum has no order, so heads may "
        r"be "
        r"exchanged.",
        (show("A_1", A1), show("V_1", V1), show("A_2", A2), show("V_2", V2)),
    )
    must((together == _output((A1 + 3 * A2, V1), (A2, V2 - 3 * V1))).all(), "the same function after mixing")
    yield Step(
        "Lightning heads mix",
        r"Add $3 A_2$ to $A_1$ and take $3 V_1$ from $V_2$. The term $3 V_1 X X^\top A_2 X$ appears twice, with "
        r"opposite "
        r"signs. These are other heads with the same function, and not by a permutation.",
        (show("A_1 + 3 A_2", A1 + 3 * A2), show("V_2 - 3 V_1", V2 - 3 * V1)),
    )
    network = Architecture((3, 3), (3,), 2, heads=2)
    lightning, softmax = _certified(network), _certified(replace(network, normalization=SOFTMAX))
    must((lightning, softmax) == (32, 36), "32 and 36")
    yield Step(
        "Count",
        r"Two full heads of width three have $36$ numbers. Lightning loses four of them, the $2 \times 2$ matrices "
        r"that "
        r"mix the heads. Softmax loses none: only permutations are left.",
        (number("lightning", lightning), number("softmax", softmax)),
    )


def softmax_widths() -> Iterator[Step]:
    """Softmax at any widths."""
    network = Architecture((2, 2, 2), (1, 2), 2)
    lightning, masked = _certified(network), _certified(replace(network, causal=True))
    softmax = _certified(replace(network, normalization=SOFTMAX))
    must((lightning, masked, softmax) == (8, 9, 11), "the three counts")
    yield Step(
        "Rank one in front",
        r"Widths $2, 2, 2$ with ranks $1, 2$. Behind a lightning layer of rank one, the second layer is seen by its "
        r"symmetric part only. With a causal mask it is seen in full, which is one more. Softmax has no rescalings "
        r"either, which are two more.",
        (
            table(
                r"\dim \mathcal M",
                rational([[lightning], [masked], [softmax]]),
                [r"\text{lightning}", r"\text{lightning, causal}", r"\text{softmax}"],
            ),
        ),
    )
    narrow = Architecture((3, 2, 1), (2, 2), 2, normalization=SOFTMAX)
    plain, same = _certified(narrow), _certified(replace(narrow, normalization=None))
    must(plain == same + narrow.depth, "softmax has one more for each layer")
    yield Step(
        "A network that narrows",
        r"Widths $3, 2, 1$ with $a = 2$. What counts is the same as for lightning; only the rescalings, one for each "
        r"of "
        r"the two layers, are not taken away.",
        (number("lightning", same), number("softmax", plain)),
    )
    token = _certified(replace(narrow, tokens=1))
    must(token == 3, "a linear form")
    yield Step(
        "One token",
        r"A single token attends to itself with weight one. The function is $V_2 V_1 x$, one row of three numbers.",
        (number("dimension", token),),
    )


def transformers() -> Iterator[Step]:
    """Attention-only transformers."""
    network = Architecture(
        (3, 3, 3), (1, 1), 2, normalization=SOFTMAX, heads=2, value_ranks=(1, 1), skip=True, causal=True,
        embed=4, unembed=4,
    )  # fmt: skip
    shapes = dict(network.weight_shapes())
    sizes = rational([[int(np.prod(shapes[name]))] for name in ("E", "Q1.1", "K1.1", "V1.1", "O1.1", "U")])
    parameters = network.parameter_count
    must(parameters == 72, "72 parameters")
    yield Step(
        "A small transformer",
        r"Four words are embedded in width three; two causal softmax layers follow, with two heads each, queries, keys "
        r"and "
        r"values of width one, and skip connections; then back to four. Here are the sizes of $E$, of $Q, K, V, O$ in "
        r"one head, and of $U$.",
        (show(r"\text{entries}", sizes), number("parameters", parameters)),
    )
    found = certified_dimension(network)
    must(found.value == parameters - 9 - 4 * 2 == 55, "55")
    yield Step(
        "What no function can see",
        r"The skip connections tie all of the stream to one basis, which may be changed: $9$ numbers. In each of the "
        r"four "
        r"heads queries may be scaled against keys, and values against outputs: $8$ numbers. A rank says that this is "
        r"all.",
        (number("lower", found.lower), number("upper", found.upper)),
    )
    narrow = replace(network, widths=(3, 3), attention_ranks=(1,), value_ranks=(1,), heads=1, embed=2, unembed=2)
    small = _certified(narrow)
    must(small == 10, "10")
    yield Step(
        "Fewer words than widths",
        r"With two words in width three, one layer and one head, the count would give $13$. But the stream never fills "
        r"three dimensions, and less can be seen.",
        (number("dimension", small),),
    )
    full = _certified(Architecture((2, 2, 2), (2, 2), 2, normalization=SOFTMAX, heads=2, skip=True, causal=True))
    must(full == 2 * 2 * 2 * 4, "32")
    yield Step(
        "No embeddings",
        r"Width two, two layers, two heads, all matrices full: $32$ numbers in $A$ and $V$, and the dimension is $32$. "
        r"So "
        r"only finitely many weights share a function. How many is another question; permuting heads gives some.",
        (number("dimension", full),),
    )
