"""Directions that the function of a network does not see: upper bounds of kind `directions`, for verify.py beside it.

verify.py imports this folder when it meets such a bound; nothing else needs it. The families are those of section 3 of
docs/certificate.md, the proofs in docs/transformers.md, 2 to 7: `spaces` is what all of them share, `stream` those that
look at what is written and read, and then `mixing`, `cancelling`, `frames`
and `first_layers`.
"""

from collections.abc import Callable, Iterator

from proofs_check.checker.directions.cancelling import cancelling
from proofs_check.checker.directions.first_layers import first_layers
from proofs_check.checker.directions.frames import skew_differences, symmetric_products
from proofs_check.checker.directions.mixing import mixing
from proofs_check.checker.directions.spaces import Unseen, line
from proofs_check.checker.directions.stream import inside, pattern, skew, unread, unwritten
from proofs_check.checker.verify import Network, Point

FAMILIES: dict[str, Callable[[Unseen], Iterator[int]]] = {
    "unwritten": unwritten,
    "unread": unread,
    "inside": inside,
    "pattern": pattern,
    "skew": skew,
    "mixing": mixing,
    "cancelling": cancelling,
    "skew differences": skew_differences,
    "symmetric products": symmetric_products,
    "first layers": first_layers,
}


def families(net: Network) -> dict[str, bool]:
    """The families of section 3, and whether a network has them."""
    normal, two, plain = net.normalized, net.t == 2, net.h == 1 and not net.causal and not net.normalized
    return {
        "unwritten": True,
        "unread": True,
        "inside": "O" in net.letters,
        "pattern": normal and net.t == 1,
        "skew": not normal,
        "mixing": not normal and net.h > 1,
        "cancelling": two if normal else line(net),
        "skew differences": normal and two and net.causal,
        "symmetric products": plain and net.skip and not line(net) and net.n > 1,
        "first layers": not normal and net.skip and net.l > 1 and net.n == 1,
    }


def directions(point: Point, family: str) -> Iterator[int]:
    """The directions of a family at a point, packed."""
    yield from FAMILIES[family](Unseen(point))
