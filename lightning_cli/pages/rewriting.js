// A transformer taken apart: its tensors moved by a symmetry, broken by a fault, and run; all of it exact.
// A matrix is { bottom, tops }: integers over one denominator.
"use strict";

const Rewriting = (() => {
  const gcd = (a, b) => { while (b) [a, b] = [b, a % b]; return a < 0n ? -a : a; };

  // ---- matrices over one denominator

  function reduced({ bottom, tops }) {
    let common = bottom;
    for (const row of tops) for (const x of row) {
      if (common === 1n) return { bottom, tops };
      if (x) common = gcd(common, x);
    }
    return common === 1n ? { bottom, tops } : { bottom: bottom / common, tops: tops.map((row) => row.map((x) => x / common)) };
  }

  const read = ({ bottom, tops }) => ({ bottom: BigInt(bottom), tops: tops.map((row) => row.map(BigInt)) });
  const transpose = ({ bottom, tops }) => ({ bottom, tops: tops[0].map((_, j) => tops.map((row) => row[j])) });
  const product = (a, b) => {
    const columns = transpose(b).tops;
    return reduced({ bottom: a.bottom * b.bottom, tops: a.tops.map((row) => columns.map((column) => {
      let total = 0n;
      for (let k = 0; k < row.length; k++) total += row[k] * column[k];
      return total;
    })) });
  };
  const sum = (a, b) => reduced({ bottom: a.bottom * b.bottom,
    tops: a.tops.map((row, i) => row.map((x, j) => x * b.bottom + b.tops[i][j] * a.bottom)) });
  const times = (a, b) => reduced({ bottom: a.bottom * b.bottom, tops: a.tops.map((row, i) => row.map((x, j) => x * b.tops[i][j])) });
  const scaled = (a, top, bottom) => reduced({ bottom: a.bottom * bottom, tops: a.tops.map((row) => row.map((x) => x * top)) });
  const power = (a, n) => (n < 0 ? scaled(a, 1n, 1n << BigInt(-n)) : scaled(a, 1n << BigInt(n), 1n));
  const equal = (a, b) => a.tops.length === b.tops.length && a.tops[0].length === b.tops[0].length &&
    a.tops.every((row, i) => row.every((x, j) => x * b.bottom === b.tops[i][j] * a.bottom));
  const stacked = (parts) => {
    const bottom = parts.reduce((all, each) => (all / gcd(all, each.bottom)) * each.bottom, 1n);
    return { bottom, tops: parts.flatMap((each) => each.tops.map((row) => row.map((x) => x * (bottom / each.bottom)))) };
  };

  // ---- moves: each acts on the rows of a matrix

  // turn row i of each block towards row i + half; k eighths are the tangent of half the angle
  function turned(a, size, k) {
    if (!k) return a;
    const c = BigInt(64 - k * k), s = BigInt(16 * k), half = size / 2, { tops } = a;
    const rows = tops.map((row, n) => {
      const at = n % size, other = at < half ? tops[n + half] : tops[n - half], sign = at < half ? -s : s;
      return row.map((x, j) => c * x + sign * other[j]);
    });
    return reduced({ bottom: a.bottom * BigInt(64 + k * k), tops: rows });
  }

  // blocks of rows in another order
  const inBlocks = (a, order) => {
    const size = a.tops.length / order.length;
    return { bottom: a.bottom, tops: order.flatMap((from) => a.tops.slice(from * size, (from + 1) * size)) };
  };

  function headOrder({ heads, groups }, steps) {
    const share = heads / groups, order = [];
    for (let g = 0; g < groups; g++) for (let h = 0; h < share; h++) {
      order.push(((g + steps) % groups) * share + (h + Math.floor(steps / groups)) % share);
    }
    return order;
  }

  const round = (n, steps) => [...Array(n).keys()].map((i) => (((i + steps) % n) + n) % n);

  // what moves the rows that live on these axes; `layer` is null in front of and behind the layers
  function along(a, axes, { form }, settings, layer) {
    const at = (name) => settings[name][layer];
    for (const { kind, size, up, sized } of axes) {
      if (kind === "stream" && !sized) a = turned(a, size, settings.turn);
      else if (kind === "heads") a = inBlocks(a, headOrder(form, at("heads")));
      else if (kind === "groups") a = inBlocks(a, round(size, at("heads") % size));
      else if (kind === "value-output") a = turned(a, size, at("values"));
      else if (kind === "query-key") a = power(turned(a, size, at("rotary")), up ? at("scores") : -at("scores"));
      else if (kind === "neurons") a = inBlocks(a, round(size, at("neurons")));
    }
    return a;
  }

  const ones = (n) => ({ bottom: 1n, tops: [Array(n).fill(1n)] });
  const gainOf = (piece) => (piece.reads === "final" ? "final_gain" : `${piece.layer}.${piece.reads}_gain`);
  const isGain = (piece) => piece.rows.some((axis) => axis.sized);

  // one tensor as the moves make it; vectors are one row
  function movedPiece(model, piece, settings) {
    let a = model.tensors[piece.name];
    const folded = settings.gains || settings.turn, { columns, rows, layer } = piece, last = piece.name.split(".").at(-1);
    if (isGain(piece)) return folded ? ones(a.tops[0].length) : a;
    if (piece.reads && columns.length && folded) {
      const gain = model.tensors[gainOf(piece)];
      a = times(a, { bottom: gain.bottom, tops: a.tops.map(() => gain.tops[0]) });
    }
    const ups = layer === null ? 0 : settings.ups[layer];
    if (last === "up" || last === "up_bias") a = power(a, ups);
    if (last === "down") a = power(a, -ups);
    if (columns.length) a = transpose(along(transpose(a), columns, model, settings, layer));
    return columns.length ? along(a, rows, model, settings, layer) : transpose(along(transpose(a), rows, model, settings, layer));
  }

  function moved(model, settings) {
    return Object.fromEntries(model.pieces.map((piece) => [piece.name, movedPiece(model, piece, settings)]));
  }

  // ---- faults

  const asRows = (a, piece) => (piece.columns.length ? a : transpose(a));

  function faulty(model, right, settings, step) {
    const piece = model.piece[step.piece], here = right[step.piece];
    if (step.word === "without") {
      const other = { ...settings, [step.move]: model.rest[step.move] };
      if (step.move === "turn" && settings.turn) other.gains = 1;
      return movedPiece(model, piece, other);
    }
    if (step.word === "twice") return transpose(along(transpose(here), piece.columns, model, settings, piece.layer));
    if (step.word === "stored") return model.tensors[step.piece];
    if (step.word === "pick") {
      const rows = stacked(step.of.map((name) => asRows(right[name], model.piece[name])));
      return asRows({ bottom: rows.bottom, tops: step.order.map((n) => rows.tops[n]) }, piece);
    }
    if (step.word === "plus") {
      const numbers = step.numbers.map((row) => row.map(Exact.fraction));
      const bottom = numbers.flat().reduce((all, x) => (all / gcd(all, x.bottom)) * x.bottom, 1n);
      return sum(here, { bottom, tops: numbers.map((row) => row.map((x) => x.top * (bottom / x.bottom))) });
    }
    return transpose(here);
  }

  function broken(model, right, fault, settings) {
    return { ...right, ...Object.fromEntries(fault.steps.map((step) => [step.piece, faulty(model, right, settings, step)])) };
  }

  // ---- the forward pass: a token is a row

  const floor = (top, bottom) => (top >= 0n || top % bottom === 0n ? top / bottom : top / bottom - 1n);

  function root(n) {
    if (n < 2n) return n;
    let x = 1n << BigInt((n.toString(2).length + 1) >> 1);
    for (;;) { const y = (x + n / x) >> 1n; if (y >= x) return x; x = y; }
  }

  // each row times the reciprocal root of the mean of its squares, a multiple of 2^-bits, times the gain
  function normed(model, x, gain) {
    const bits = BigInt(model.functions.bits), { top, bottom } = Exact.fraction(model.form.epsilon), width = BigInt(gain.tops[0].length);
    const tops = x.tops.map((row) => {
      const squares = row.reduce((total, c) => total + c * c, 0n), under = width * x.bottom * x.bottom;
      const factor = root(((1n << (2n * bits)) * under * bottom) / (squares * bottom + top * under));
      return row.map((c, j) => c * factor * gain.tops[0][j]);
    });
    return reduced({ bottom: (x.bottom * gain.bottom) << bits, tops });
  }

  function mapped(x, tensors, name) {
    const y = product(x, transpose(tensors[name])), bias = tensors[`${name}_bias`];
    return bias ? sum(y, { bottom: bias.bottom, tops: y.tops.map(() => bias.tops[0]) }) : y;
  }

  // columns of one head, turned by the position
  function head(model, y, number, rotary) {
    const { head_width: a } = model.form, { bits, cosines, sines } = model.functions, half = a / 2;
    const rows = y.tops.map((row) => row.slice(number * a, (number + 1) * a));
    if (!rotary) return { bottom: y.bottom, tops: rows };
    return { bottom: y.bottom << BigInt(bits), tops: rows.map((row, place) => row.map((x, i) => {
      const c = BigInt(cosines[place][i % half]), s = BigInt(sines[place][i % half]);
      return i < half ? c * x - s * row[i + half] : c * x + s * row[i - half];
    })) };
  }

  // what each token takes of itself and those before: rounded exponentials, as a share of their sum, rounded down
  function shares(model, q, k) {
    const { scores: steps, falls, bits } = model.functions, bottom = q.bottom * k.bottom;
    return { bottom: 1n << BigInt(bits), tops: q.tops.map((row, i) => {
      const scores = k.tops.map((key) => row.reduce((total, x, n) => total + x * key[n], 0n)).slice(0, i + 1);
      const most = scores.reduce((a, b) => (a > b ? a : b));
      const weights = scores.map((x) => {
        const step = ((most - x) * BigInt(steps)) / bottom;
        return step < BigInt(falls.length) ? BigInt(falls[Number(step)]) : 0n;
      });
      const all = weights.reduce((a, b) => a + b);
      return k.tops.map((_, j) => (j <= i ? (weights[j] << BigInt(bits)) / all : 0n));
    }) };
  }

  function gated(model, x) {
    const { gates, far, silu, bits } = model.functions, most = BigInt(far), one = 1n << BigInt(bits);
    return { bottom: one, tops: x.tops.map((row) => row.map((c) => {
      const step = floor(c * BigInt(gates), x.bottom);
      return step < -most ? 0n : step > most ? (step * one) / BigInt(gates) : BigInt(silu[Number(step + most)]);
    })) };
  }

  function layer(model, tensors, x, number) {
    const { heads, groups } = model.form, name = (piece) => `${number}.${piece}`;
    const n = normed(model, x, tensors[name("norm1_gain")]);
    const [q, k, v] = ["query", "key", "value"].map((piece) => mapped(n, tensors, name(piece)));
    const parts = [...Array(heads).keys()].map((h) => {
      const group = Math.floor(h / (heads / groups));
      return transpose(product(shares(model, head(model, q, h, true), head(model, k, group, true)), head(model, v, group, false)));
    });
    const y = sum(x, mapped(transpose(stacked(parts)), tensors, name("output")));
    const m = normed(model, y, tensors[name("norm2_gain")]);
    return sum(y, mapped(times(gated(model, mapped(m, tensors, name("gate"))), mapped(m, tensors, name("up"))), tensors, name("down")));
  }

  // logits behind the last token, one row
  function logits(model, tensors, prompt) {
    const { bottom, tops } = tensors.embedding;
    let x = { bottom, tops: prompt.map((id) => tops[id]) };
    for (let number = 0; number < model.form.layers; number++) x = layer(model, tensors, x, number);
    return mapped(normed(model, { bottom: x.bottom, tops: [x.tops.at(-1)] }, tensors.final_gain), tensors, "unembedding");
  }

  // what Python put into the page, with numbers read
  function model(data) {
    const tensors = Object.fromEntries(Object.entries(data.tensors).map(([name, matrix]) => [name, read(matrix)]));
    return { ...data, tensors, piece: Object.fromEntries(data.pieces.map((piece) => [piece.name, piece])) };
  }

  const written = ({ bottom, tops }) => tops.map((row) => row.map((x) => new Exact.Fraction(x, bottom)));

  return { model, moved, movedPiece, broken, logits, equal, written };
})();
