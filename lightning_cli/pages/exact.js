// Exact rational arithmetic: fractions of BigInts, matrices (rows of fractions), polynomials (lists of fractions,
// constant term first). Nothing here is rounded; `number` makes a float, for pixels only.
"use strict";

const Exact = (() => {
  const size = (n) => (n < 0n ? -n : n);

  function gcd(a, b) {
    while (b) [a, b] = [b, a % b];
    return size(a);
  }

  class Fraction {
    constructor(top, bottom = 1n) {
      if (bottom === 0n) throw new RangeError("a fraction must have a denominator that is not zero");
      const common = gcd(top, bottom) * (bottom < 0n ? -1n : 1n);
      this.top = top / common;
      this.bottom = bottom / common;
      Object.freeze(this);
    }

    add(other) { return new Fraction(this.top * other.bottom + other.top * this.bottom, this.bottom * other.bottom); }
    sub(other) { return new Fraction(this.top * other.bottom - other.top * this.bottom, this.bottom * other.bottom); }
    mul(other) { return new Fraction(this.top * other.top, this.bottom * other.bottom); }
    div(other) { return new Fraction(this.top * other.bottom, this.bottom * other.top); }
    neg() { return new Fraction(-this.top, this.bottom); }
    sign() { return this.top > 0n ? 1 : this.top < 0n ? -1 : 0; }
    isZero() { return this.top === 0n; }
    equals(other) { return this.top === other.top && this.bottom === other.bottom; }
    toString() { return this.bottom === 1n ? `${this.top}` : `${this.top}/${this.bottom}`; }

    // the nearest float but for the last bits, also where numerator and denominator are too large for floats
    number() {
      const bits = (n) => size(n).toString(2).length;
      const shift = 64 - bits(this.top) + bits(this.bottom);
      if (Math.abs(shift) > 2000) return shift > 0 ? 0 : this.sign() * Infinity;
      const [top, bottom] = shift > 0 ? [this.top << BigInt(shift), this.bottom] : [this.top, this.bottom << BigInt(-shift)];
      const half = Math.trunc(shift / 2);  // in two steps, each of them in the range of floats
      return Number(top / bottom) * 2 ** -half * 2 ** (half - shift);
    }
  }

  // of an integer, a BigInt, or a text such as "3", "-3/4", "0.25"
  function fraction(value, bottom = 1) {
    if (value instanceof Fraction) return value;
    if (typeof value === "string") {
      const found = /^\s*([+-]?)(\d+)(?:\/(\d+)|\.(\d+))?\s*$/.exec(value);
      if (!found) throw new SyntaxError(`a number must look like 3, -3/4 or 0.25, got ${value}`);
      const [, minus, whole, below = "1", decimals = ""] = found;
      const top = BigInt(whole + decimals) * (minus === "-" ? -1n : 1n);
      return new Fraction(top, BigInt(below) * 10n ** BigInt(decimals.length));
    }
    return new Fraction(BigInt(value), BigInt(bottom));
  }

  const ZERO = fraction(0), ONE = fraction(1);

  // ---- matrices

  const matrix = (rows) => rows.map((row) => row.map((entry) => fraction(entry)));
  const transpose = (a) => a[0].map((_, j) => a.map((row) => row[j]));
  const scale = (c, a) => a.map((row) => row.map((entry) => entry.mul(c)));
  const sum = (a, b) => a.map((row, i) => row.map((entry, j) => entry.add(b[i][j])));
  const product = (a, b) =>
    a.map((row) => b[0].map((_, j) => row.reduce((total, entry, k) => total.add(entry.mul(b[k][j])), ZERO)));
  const same = (a, b) => a.length === b.length && a.every((row, i) => row.every((entry, j) => entry.equals(b[i][j])));
  const identity = (n) => matrix(Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => +(i === j))));

  // the reduced row echelon form, and the columns of its pivots
  function echelon(a) {
    const rows = a.map((row) => [...row]);
    const pivots = [];
    for (let column = 0; column < (rows[0] || []).length && pivots.length < rows.length; column++) {
      const at = rows.findIndex((row, i) => i >= pivots.length && !row[column].isZero());
      if (at < 0) continue;
      const here = pivots.length;
      [rows[here], rows[at]] = [rows[at], rows[here]];
      const inverse = ONE.div(rows[here][column]);
      rows[here] = rows[here].map((entry) => entry.mul(inverse));
      rows.forEach((row, i) => {
        if (i === here || row[column].isZero()) return;
        const factor = row[column];
        rows[i] = row.map((entry, j) => entry.sub(factor.mul(rows[here][j])));
      });
      pivots.push(column);
    }
    return { rows, pivots };
  }

  const rank = (a) => echelon(a).pivots.length;

  // null where there is none
  function inverse(a) {
    const n = a.length;
    const { rows, pivots } = echelon(a.map((row, i) => [...row, ...identity(n)[i]]));
    return pivots.length === n && pivots[n - 1] === n - 1 ? rows.map((row) => row.slice(n)) : null;
  }

  // ---- polynomials

  function trimmed(p) {
    let length = p.length;
    while (length && p[length - 1].isZero()) length--;
    return p.slice(0, length);
  }

  const polynomial = (coefficients) => trimmed(coefficients.map((c) => fraction(c)));
  const at = (list, i) => list[i] || ZERO;
  const indices = (length) => [...Array(length).keys()];
  const plus = (p, q) => trimmed(indices(Math.max(p.length, q.length)).map((i) => at(p, i).add(at(q, i))));
  const minus = (p, q) => plus(p, q.map((c) => c.neg()));
  const times = (p, q) =>
    trimmed(indices(Math.max(p.length + q.length - 1, 0)).map((n) =>
      p.reduce((total, c, i) => total.add(c.mul(at(q, n - i))), ZERO)));
  const derivative = (p) => p.slice(1).map((c, i) => c.mul(fraction(i + 1)));
  const value = (p, x) => p.reduceRight((total, c) => total.mul(x).add(c), ZERO);

  function divided(p, q) {
    let rest = [...p];
    const quotient = [];
    for (let k = p.length - q.length; k >= 0; k--) {
      const factor = at(rest, k + q.length - 1).div(q[q.length - 1]);
      quotient[k] = factor;
      rest = rest.map((c, i) => (i >= k ? c.sub(factor.mul(at(q, i - k))) : c));
    }
    return { quotient: trimmed(quotient), rest: trimmed(rest) };
  }

  function commonDivisor(p, q) {
    while (q.length) [p, q] = [q, divided(p, q).rest];
    return p.map((c) => c.div(p[p.length - 1]));
  }

  // the distinct factors by multiplicity, each with simple roots: p = c * f_1 * f_2^2 * ... (Yun)
  function squareFree(p) {
    const parts = [];
    let common = commonDivisor(p, derivative(p));
    let simple = divided(p, common).quotient;
    let rest = minus(divided(derivative(p), common).quotient, derivative(simple));
    for (let multiplicity = 1; simple.length > 1; multiplicity++) {
      const factor = commonDivisor(simple, rest);
      if (factor.length > 1) parts.push({ factor, multiplicity });
      simple = divided(simple, factor).quotient;
      rest = minus(divided(rest, factor).quotient, derivative(simple));
    }
    return parts;
  }

  // the number of different real roots, by Sturm's theorem
  function realRoots(p) {
    const chain = [p, derivative(p)];
    while (chain.at(-1).length) chain.push(divided(chain.at(-2), chain.at(-1)).rest.map((c) => c.neg()));
    const changes = (side) => {
      const signs = chain.filter((q) => q.length).map((q) => q.at(-1).sign() * (q.length % 2 ? 1 : side));
      return signs.filter((s, i) => i && s !== signs[i - 1]).length;
    };
    return changes(-1) - changes(1);
  }

  return {
    Fraction, fraction, ZERO, ONE, matrix, transpose, scale, sum, product, same, identity, echelon, rank, inverse,
    polynomial, plus, minus, times, derivative, value, divided, commonDivisor, squareFree, realRoots,
  };
})();
