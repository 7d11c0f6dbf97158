"""Upper bounds of dimensions by kind, for verify.py beside it, which has those by orbits: a file or folder each."""


def of_rank(r: int, c: int, k: int) -> int:
    """Return the dimension of the r x c matrices of rank at most k."""
    return min(r, c, k) * (r + c - min(r, c, k))


def symmetric_of_rank(r: int, k: int) -> int:
    """Return the dimension of the symmetric r x r matrices of rank at most k."""
    return min(r, k) * r - min(r, k) * (min(r, k) - 1) // 2
