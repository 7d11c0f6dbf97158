// Two bounds for the dimension of a network's set of functions: one head, lightning attention, small shapes.
"use strict";

const Dimension = (() => {
  const { shape } = Page;
  const PRIME = 4194301;  // products of two residues, and sums of a few, stay below 2^53
  const LARGEST = { layers: 3, width: 8, rank: 8, tokens: 12, parameters: 400 };

  // ---- matrices of residues

  const times = (a, b) => a.map((row) => b[0].map((_, j) =>
    row.reduce((total, entry, k) => (total + entry * b[k][j]) % PRIME, 0)));
  const transposed = (a) => a[0].map((_, j) => a.map((row) => row[j]));
  const plus = (a, b) => a.map((row, i) => row.map((entry, j) => (entry + b[i][j]) % PRIME));
  const negative = (a) => a.map((row) => row.map((entry) => (entry ? PRIME - entry : 0)));
  const zero = (rows, columns) => Array.from({ length: rows }, () => Array(columns).fill(0));

  function power(base, exponent) {
    let result = 1;
    for (let b = base, e = exponent; e; b = (b * b) % PRIME, e = Math.floor(e / 2)) if (e % 2) result = (result * b) % PRIME;
    return result;
  }

  // columns of the pivots of a row echelon form
  function pivots(rows) {
    const a = rows.map((row) => [...row]), found = [];
    for (let column = 0; column < (a[0] || []).length && found.length < a.length; column++) {
      const here = found.length, at = a.findIndex((row, i) => i >= here && row[column]);
      if (at < 0) continue;
      [a[here], a[at]] = [a[at], a[here]];
      const inverse = power(a[here][column], PRIME - 2);
      for (let i = here + 1; i < a.length; i++) {
        if (!a[i][column]) continue;
        const factor = PRIME - (a[i][column] * inverse) % PRIME;
        for (let j = column; j < a[i].length; j++) a[i][j] = (a[i][j] + factor * a[here][j]) % PRIME;
      }
      found.push(column);
    }
    return found;
  }

  // ---- the network

  // integers from -40 to 40, the same ones for the same seed
  function generator(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 15), z | 1);
      z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
      return ((z ^ (z >>> 14)) >>> 0) % 81 - 40;
    };
  }

  const drawn = (next, rows, columns) => zero(rows, columns).map((row) => row.map(() => (next() + PRIME) % PRIME));

  function weightsOf(shape, seed) {
    const next = generator(seed);
    return shape.ranks.map((a, i) => ({
      q: drawn(next, a, shape.widths[i]), k: drawn(next, a, shape.widths[i]), v: drawn(next, shape.widths[i + 1], shape.widths[i]),
    }));
  }

  const names = ["q", "k", "v"];

  // every weight: its layer, matrix, row and column
  const places = (layers) => layers.flatMap((layer, i) => names.flatMap((name) =>
    layer[name].flatMap((row, r) => row.map((_, c) => ({ layer: i, name, r, c })))));

  // V X ((K X)^T (Q X)) with its derivative by one weight, or by the input of the layer
  function layerWith(layer, x, moved, dx) {
    const [qx, kx, vx] = [layer.q, layer.k, layer.v].map((w) => times(w, x));
    const change = (name, w, wx) => {
      const byInput = dx ? times(w, dx) : zero(wx.length, wx[0].length);
      if (moved && moved.name === name) x[moved.c].forEach((entry, j) => {
        byInput[moved.r][j] = (byInput[moved.r][j] + entry) % PRIME;
      });
      return byInput;
    };
    const [dq, dk, dv] = [change("q", layer.q, qx), change("k", layer.k, kx), change("v", layer.v, vx)];
    const scores = times(transposed(kx), qx);
    const dScores = plus(times(transposed(dk), qx), times(transposed(kx), dq));
    return { y: times(vx, scores), dy: plus(times(dv, scores), times(vx, dScores)) };
  }

  // one row an output entry at one of some inputs, one column a weight
  function jacobian(shape, seed) {
    const layers = weightsOf(shape, seed), all = places(layers), next = generator(seed + 7919);
    const outputs = shape.widths.at(-1) * shape.tokens, rows = [];
    for (let n = 0; n < Math.ceil(all.length / outputs) + 2; n++) {
      const inputs = [drawn(next, shape.widths[0], shape.tokens)];
      for (const layer of layers) inputs.push(layerWith(layer, inputs.at(-1)).y);
      const columns = all.map((moved) => {
        let dx = layerWith(layers[moved.layer], inputs[moved.layer], moved).dy;
        for (let i = moved.layer + 1; i < layers.length; i++) dx = layerWith(layers[i], inputs[i], null, dx).dy;
        return dx.flat();
      });
      rows.push(...transposed(columns));
    }
    return { rows, all };
  }

  // directions of the symmetries at the weights: bases of queries and keys, bases between layers, rescalings
  function directions(shape, seed) {
    const layers = weightsOf(shape, seed), all = places(layers), found = [];
    const direction = (changes) => all.map(({ layer, name, r, c }) => {
      const change = changes.find((each) => each.layer === layer && each.name === name);
      return change ? change.by[r][c] : 0;
    });
    const unit = (size, i, j) => { const e = zero(size, size); e[i][j] = 1; return e; };
    layers.forEach((layer, n) => {
      const a = shape.ranks[n], d = shape.widths[n + 1];
      for (let i = 0; i < a; i++) for (let j = 0; j < a; j++) {
        const e = unit(a, i, j);
        found.push(direction([{ layer: n, name: "k", by: times(e, layer.k) },
          { layer: n, name: "q", by: negative(times(transposed(e), layer.q)) }]));
      }
      found.push(direction([{ layer: n, name: "q", by: layer.q }, { layer: n, name: "v", by: negative(layer.v) }]));
      if (n + 1 === layers.length) return;
      for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) {
        const e = unit(d, i, j), behind = names.map((name) =>
          ({ layer: n + 1, name, by: negative(times(layers[n + 1][name], e)) }));
        found.push(direction([{ layer: n, name: "v", by: times(e, layer.v) }, ...behind]));
      }
    });
    return found;
  }

  // ---- the second bound from above, piece by piece

  const determinantal = (rows, columns, rank) => { const r = Math.min(rank, rows, columns); return r * (rows + columns - r); };
  const low = (n) => [...`${n}`].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("");
  const symmetric = (size, rank) => { const r = Math.min(rank, size); return r * size - r * (r - 1) / 2; };

  function variety({ widths, ranks, tokens }) {
    const l = ranks.length, r = widths.map((_, i) => Math.min(...widths.slice(0, i + 1)));
    const alpha = ranks.map((a, i) => Math.min(a, r[i])), pieces = [];
    let single = tokens === 1;
    alpha.forEach((a, i) => {
      const [what, count] = single ? ["symmetric part of ", symmetric(r[i], 2 * a)] : ["", determinantal(r[i], r[i], a)];
      pieces.push([`${what}Ã${low(i + 1)}, rank at most ${a}, on F${low(i)}`, count]);
      single = single || a === 1;
    });
    pieces.push([`Ṽ, rank at most ${r[l]}, on F${low(l - 1)}`, determinantal(widths[l], r[l - 1], r[l])]);
    for (let i = l - 1, used = r[l]; i > 0; i--) {
      used = Math.min(r[i], used + 2 * alpha[i]);
      const count = used * (r[i - 1] - r[i]);
      if (count) pieces.push([`the used part of F${low(i)}, of dimension at most ${used}, in F${low(i - 1)}`, count]);
    }
    pieces.push(["rescalings of virtual weights", -l]);
    return pieces;
  }

  // what the paper prints, where it prints something
  function printed({ widths, ranks, tokens }) {
    const l = ranks.length, inner = widths.slice(1, -1), delta = l === 1 ? Math.min(...widths) : Math.min(...inner);
    const source = l === 1 ? "Corollary 3.3" : "Corollary 3.8";
    if (new Set(inner).size > 1 || Math.min(widths[0], widths[l]) < delta) return { source, value: null, holds: false };
    const alpha = ranks.map((a, i) => Math.min(a, widths[i]));
    const value = alpha.reduce((sum, a, i) => sum + a * (2 * widths[i] - a), 0) + delta * (widths[0] + widths[l] - delta) - l;
    return { source, value, holds: tokens > 1 && (l === 1 ? ranks[0] > 1 || widths[1] > 1 : Math.min(...alpha) > 1) };
  }

  function answer(shape, seed) {
    const { rows, all } = jacobian(shape, seed), columns = pivots(rows), orbit = pivots(directions(shape, seed)).length;
    const pieces = variety(shape), upper = Math.min(all.length - orbit, pieces.reduce((sum, [, n]) => sum + n, 0));
    return { parameters: all.length, lower: columns.length, columns, orbit, pieces, upper, inputs: rows.length, places: all };
  }

  // ---- what is typed

  function numbers(id, least, most, what) {
    const text = Page.byId(id).value.trim(), found = text.split(",").map((word) => word.trim());
    const good = text.length <= 40 && found.every((word) => /^\d{1,3}$/.test(word) && Number(word) >= least && Number(word) <= most);
    Page.byId(id).setAttribute("aria-invalid", !good);
    const kind = id === "tokens" ? ["a whole number", ""] : ["whole numbers", ", separated by commas"];
    return good ? found.map(Number) : `${what} must be ${kind[0]} from ${least} to ${most}${kind[1]}`;
  }

  function typed() {
    const widths = numbers("widths", 1, LARGEST.width, "widths"), ranks = numbers("ranks", 1, LARGEST.rank, "queries and keys");
    const tokens = numbers("tokens", 1, LARGEST.tokens, "tokens");
    for (const each of [widths, ranks, tokens]) if (typeof each === "string") return each;
    if (tokens.length > 1) return "tokens must be one number";
    if (widths.length < 2 || widths.length > LARGEST.layers + 1) return `widths must be from two to ${LARGEST.layers + 1} numbers`;
    if (ranks.length !== widths.length - 1) return `queries and keys must be ${widths.length - 1} number${widths.length > 2 ? "s" : ""}, one a layer`;
    const count = ranks.reduce((sum, a, i) => sum + 2 * a * widths[i] + widths[i] * widths[i + 1], 0);
    if (count > LARGEST.parameters) return `here the network must have at most ${LARGEST.parameters} parameters, this one has ${count}`;
    return { widths, ranks, tokens: tokens[0] };
  }

  // ---- what is said and drawn

  const row = (text, number, total = false) => {
    const line = document.createElement("tr"), [left, right] = [document.createElement("td"), document.createElement("td")];
    [left.textContent, right.textContent, right.className] = [text, `${number}`.replace("-", "−"), "number"];
    if (total) line.className = "total";
    line.append(left, right);
    return line;
  };

  function tell(found, network) {
    const { lower, upper, parameters, orbit, pieces } = found, met = lower === upper;
    Page.words("verdict", met ? "Certified" : "Not decided here");
    Page.words("said", met ? `The dimension is ${lower}: the bounds from below and from above meet. The network has ${parameters} ` +
      `parameters, so ${parameters - lower} dimensions of them are seen by no input.`
      : `The dimension is at least ${lower} and at most ${upper}: these two bounds do not meet.`);
    Page.byId("orbit").replaceChildren(row("parameters", parameters), row("directions of symmetries", -orbit),
      row("at most", parameters - orbit, true));
    Page.byId("variety").replaceChildren(...pieces.map(([text, n]) => row(text, n)),
      row("at most", pieces.reduce((sum, [, n]) => sum + n, 0), true));
    const { source, value, holds } = printed(network);
    const within = holds ? "inside its hypotheses" : "outside its hypotheses";
    Page.words("formula", value === null ? `${source} says nothing of these widths.`
      : `${source} gives ${value}, ${within}${met ? (value === lower ? ": the same." : ": not the dimension.") : "."}`);
  }

  function drawBounds({ lower, upper, parameters }) {
    const x = (n) => 12 + 336 * n / parameters, nodes = [];
    nodes.push(shape("path", { d: "M12 34H348", stroke: "var(--faint)", fill: "none" }));
    nodes.push(shape("path", { d: `M12 34H${x(lower)}`, stroke: "var(--line-colour)", "stroke-width": 7 }));
    nodes.push(shape("path", { d: `M${x(upper)} 34H348`, stroke: "var(--singular)", "stroke-width": 7, "stroke-dasharray": "3 3" }));
    for (const [n, y, anchor] of lower === upper ? [[lower, 20, "middle"]] : [[lower, 20, "end"], [upper, 20, "start"]]) {
      nodes.push(shape("path", { d: `M${x(n)} 26V42`, stroke: "var(--point)", "stroke-width": 3 }));
      nodes.push(shape("text", { x: x(n), y, "text-anchor": anchor, "font-size": 14, fill: "var(--ink)" }, n));
    }
    nodes.push(shape("text", { x: 12, y: 58, "font-size": 11, fill: "var(--faint)" }, "from below"));
    nodes.push(shape("text", { x: 348, y: 58, "text-anchor": "end", "font-size": 11, fill: "var(--faint)" }, `${parameters} parameters`));
    Page.byId("bounds").replaceChildren(...nodes);
  }

  // a staircase: one step a pivot; columns are the weights, layer by layer
  function drawPivots({ columns, places: all, lower, inputs }) {
    const size = 340 / all.length, height = 320 / Math.max(lower, 1), taken = new Set(columns), nodes = [];
    let start = 0;
    all.forEach(({ layer, name }, i) => {
      const next = all[i + 1];
      if (next && next.layer === layer && next.name === name) return;
      const [x, wide] = [10 + start * size, (i + 1 - start) * size];
      nodes.push(shape("rect", { x, y: 24, width: wide - 1, height: 326, fill: "var(--card)" }));
      nodes.push(shape("text", { x: x + wide / 2, y: 16, "text-anchor": "middle", "font-size": 12, fill: "var(--faint)" },
        `${name.toUpperCase()}${layer + 1}`));
      start = i + 1;
    });
    columns.forEach((column, k) => nodes.push(shape("rect", {
      x: 10 + column * size, y: 26 + k * height, width: Math.max(size - 0.5, 0.8), height: Math.max(height - 0.5, 0.8),
      fill: "var(--surface)", class: "pivot",
    })));
    Page.byId("pivots").replaceChildren(...nodes);
    Page.words("pivots-said", `${inputs} rows, the entries of outputs at random inputs; ${all.length} columns, one a weight. Row ` +
      `after row the elimination finds a pivot: ${taken.size} of them. A column without one is, modulo the prime, a combination of columns before it.`);
  }

  let seed = 1;

  function start() {
    const changed = Page.whenChanged(() => {
      const network = typed();
      Page.refused(typeof network === "string" ? `${network[0].toUpperCase()}${network.slice(1)}.` : "");
      if (typeof network === "string") return;
      const found = answer(network, seed);
      tell(found, network);
      drawBounds(found);
      drawPivots(found);
    });
    document.addEventListener("input", changed);
    Page.byId("again").addEventListener("click", () => { seed += 1; changed(); });
    changed();
  }

  start();
  return { answer, printed, jacobian, weightsOf, pivots, PRIME };
})();
