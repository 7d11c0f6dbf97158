"""Degrees of the factors of polynomials modulo p, and which factors over the complex numbers they exclude.

A polynomial is the list of its coefficients, lowest first. (docs/deep-lightning.md, section 5.)
"""

from operator import mul

from proofs_check.checker.verify import need, pack, spend, unpack

Coefficients = list[int]


def _divided(f: Coefficients, g: Coefficients, p: int) -> tuple[Coefficients, Coefficients]:
    """Return quotient and remainder by a monic polynomial."""
    f, quotient = f[:], list[int]()
    spend(2 * len(g) * max(0, len(f) - len(g) + 1))
    while len(f) >= len(g):
        c = f.pop()
        quotient.append(c)
        if c:
            at = len(f) - len(g) + 1
            f[at:] = [(y - c * z) % p for y, z in zip(f[at:], g[:-1], strict=True)]
    while f and not f[-1]:
        f.pop()
    return quotient[::-1], f


def _monic(f: Coefficients, p: int) -> Coefficients:
    inverse = pow(f[-1], -1, p)
    return [x * inverse % p for x in f]


def _common_divisor(f: Coefficients, g: Coefficients, p: int) -> Coefficients:
    """Return the greatest common divisor, f being monic."""
    while g:
        g = _monic(g, p)
        f, g = g, _divided(f, g, p)[1]
    return f


def _overflow(f: Coefficients, p: int) -> list[int]:
    """Return x^n, ..., x^(2n - 1) modulo a monic polynomial of degree n, packed: no product is divided afterwards."""
    spend(4 * len(f) ** 2)
    power, found = [0] * (len(f) - 2) + [1], list[int]()
    for _ in f[1:]:
        last = power[-1]
        power = [(y - last * z) % p for y, z in zip([0, *power], f[:-1], strict=False)]
        found.append(pack(power))
    return found


def _power(h: Coefficients, overflow: list[int], p: int) -> Coefficients:
    """Return h^p modulo the polynomial with this overflow."""
    n = len(overflow)

    def times(a: Coefficients, b: Coefficients) -> Coefficients:
        spend(50 * n + n * n // 20)
        product = [x % p for x in unpack(pack(a) * pack(b))]
        found = [x % p for x in unpack(pack(product[:n]) + sum(map(mul, product[n:], overflow)))]
        while found and not found[-1]:
            found.pop()
        return found

    found = [1]
    for bit in bin(p)[2:]:
        found = times(found, found)
        found = times(found, h) if bit == "1" else found
    return found


def degrees(f: Coefficients, degree: int, p: int) -> list[int]:
    """Return the degrees of the irreducible factors, each once."""
    need(len(f) == degree + 1 and f[-1], "on a line a polynomial must keep its degree")
    f = _monic(f, p)
    slope = [k * x % p for k, x in enumerate(f)][1:]
    need(len(_common_divisor(f, _divided(slope, f, p)[1], p)) == 1, "on a line a polynomial must have no double factor")
    found, h, k, overflow = list[int](), [0, 1], 0, _overflow(f, p)
    while len(f) - 1 > 2 * k + 1:
        k += 1
        h = _power(h, overflow, p)
        apart = [*h, *[0] * (2 - len(h))]
        apart[1] = (apart[1] - 1) % p
        g = _common_divisor(f, _divided(apart, [*[0] * len(apart), 1], p)[1], p)
        found += [k] * ((len(g) - 1) // k)
        f = _divided(f, g, p)[0]
        if len(g) > 1:
            h, overflow = _divided(h, f, p)[1], _overflow(f, p)
    return [*found, len(f) - 1] if len(f) > 1 else found


def excluded(lines: list[list[int]], e: int, r: int) -> bool:
    """Return whether on some line no factors of degrees divisible by r have degree r e together."""
    for known in lines:
        sums = 1
        for degree in known:
            sums |= sums << degree if degree % r == 0 else 0
        if not sums >> r * e & 1:
            return True
    return False
