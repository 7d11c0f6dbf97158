// A layer with width 2 and one output, and the motions of its weights that leave its function alone.
"use strict";

const Fiber = (() => {
  const { shape } = Page;
  const { fraction, ZERO, ONE, transpose, product, scale, rank, inverse } = Exact;
  const START = { q: [["1", "2"], ["0", "1"]], k: [["3", "1"], ["0", "1"]], v: [["1", "-1"]], x: [["1", "0"], ["2", "1"]] };

  const attention = ({ k, q }) => product(transpose(k), q);

  // A = p q^T, V = w^T as columns p, q, w; null where A or V has not rank one
  function factors({ q, k, v }) {
    const a = attention({ q, k });
    if (rank(a) !== 1 || rank(v) !== 1) return null;
    const i = a.findIndex((row) => row.some((entry) => !entry.isZero()));
    const j = a[i].findIndex((entry) => !entry.isZero());
    return { p: a.map((row) => [row[j]]), q: a[i].map((entry) => [entry.div(a[i][j])]), w: transpose(v) };
  }

  // p and w in each other's place; rows of Q and K that are not needed are zero
  function exchanged(weights) {
    const found = factors(weights);
    if (!found) return null;
    const rows = (column) => weights.q.map((_, i) => (i ? column.map(() => ZERO) : column.map(([entry]) => entry)));
    return { q: rows(found.q), k: rows(found.w), v: transpose(found.p) };
  }

  // Q -> lambda C^-T Q, K -> C K, V -> V / lambda; null where C is singular or lambda zero
  function moved(weights, { lambda, basis, exchange }) {
    const back = inverse(basis), from = exchange ? exchanged(weights) : weights;
    if (!back || lambda.isZero() || !from) return null;
    return {
      q: scale(lambda, product(transpose(back), from.q)),
      k: product(basis, from.k),
      v: scale(ONE.div(lambda), from.v),
    };
  }

  const NAMES = ["x", "y", "r", "s"];

  // the first output as a map from exponents of x, y, r, s to coefficients: sum over tokens j of (x_j^T A x_1) (V x_j)
  function polynomial(weights) {
    const a = attention(weights), [v] = weights.v, terms = new Map();
    for (const token of [0, 1]) {
      for (const i of [0, 1]) for (const k of [0, 1]) for (const m of [0, 1]) {
        const powers = [0, 0, 0, 0];
        for (const letter of [2 * token + i, k, 2 * token + m]) powers[letter] += 1;
        const key = powers.join(" "), old = terms.get(key) || ZERO;
        terms.set(key, old.add(a[i][k].mul(v[m])));
      }
    }
    return terms;
  }

  const sameFunction = (one, other) => [...one].every(([key, c]) => c.equals(other.get(key)));

  // V X ((K X)^T (Q X)): by the matrices, not by the polynomial
  const output = ({ q, k, v }, x) => product(product(v, x), product(transpose(product(k, x)), product(q, x)));

  // ---- what stands in the controls

  function entries(id, letter, rows) {
    const place = Page.byId(id);
    place.replaceChildren(...rows.map((row, i) => {
      const line = document.createElement("span");
      line.className = "row";
      line.append(...row.map((entry, j) => {
        const box = document.createElement("input");
        Object.assign(box, { type: "text", value: entry, size: 4, inputMode: "text", id: `${letter}${i + 1}${j + 1}` });
        box.setAttribute("aria-label", `${letter.toUpperCase()}, row ${i + 1}, column ${j + 1}`);
        return box;
      }));
      return line;
    }));
  }

  const LONGEST = 12;

  // the matrix in some boxes, or a sentence that says what is wrong with them
  function read(letter, rows, columns) {
    const found = [];
    for (let i = 1; i <= rows; i++) {
      const row = [];
      for (let j = 1; j <= columns; j++) {
        const box = Page.byId(`${letter}${i}${j}`), text = box.value;
        let number = null;
        if (text.length <= LONGEST) {
          try { number = fraction(text.replace("−", "-")); } catch (error) {
            if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
          }
        }
        box.setAttribute("aria-invalid", number === null);
        const place = `of at most ${LONGEST} characters, in row ${i}, column ${j}`;
        if (number === null) return `${letter.toUpperCase()} needs a number such as 3, -3/4 or 0.25, ${place}`;
        row.push(number);
      }
      found.push(row);
    }
    return found;
  }

  const width = () => Number(Page.byId("width").value);

  const STEPS = { scale: 6, c11: 2, c12: 2, c21: 2, c22: 2 };
  const setting = (id) => fraction(Number(Page.byId(id).value), STEPS[id]);

  function state() {
    const a = width(), at = setting, given = { q: read("q", a, 2), k: read("k", a, 2), v: read("v", 1, 2), x: read("x", 2, 2) };
    const wrong = Object.values(given).find((each) => typeof each === "string");
    const basis = a === 1 ? [[at("c11")]] : [[at("c11"), at("c12")], [at("c21"), at("c22")]];
    return { wrong, weights: given, motion: { lambda: at("scale"), basis, exchange: Page.byId("exchange").checked } };
  }

  // ---- what is said

  function terms(map) {
    return [...map].sort(([one], [other]) => (one < other ? 1 : -1)).map(([key, c]) => [
      c, ...key.split(" ").flatMap((e, i) => (e === "0" ? [] : [e === "1" ? NAMES[i] : [NAMES[i], Number(e)]])),
    ]);
  }

  // a polynomial that may break between its terms
  function running(id, list) {
    const seen = list.filter(([c]) => !c.isZero());
    const parts = (seen.length ? seen : [[ZERO]]).map(([c, ...letters], n) => {
      const sign = !n ? [] : [Page.math("mo", { form: "infix" }, c.top < 0n ? "−" : "+")];
      return Page.math("math", {}, ...sign, Page.linear([[n && c.top < 0n ? c.neg() : c, ...letters]]));
    });
    Page.byId(id).replaceChildren(...parts.flatMap((part) => [part, " "]));
  }

  function tell(now) {
    for (const id of Object.keys(STEPS)) Page.words(`${id}-value`, `${setting(id)}`);
    const possible = !now.wrong && factors(now.weights) !== null;
    Page.byId("exchange").disabled = !possible;
    const ranks = now.wrong ? [] : [rank(attention(now.weights)), rank(now.weights.v)];
    Page.words("exchange-said", possible ? "both have rank one here"
      : ranks.length ? `not here: the ranks of A and V are ${ranks[0]} and ${ranks[1]}` : "");
    const motion = { ...now.motion, exchange: now.motion.exchange && possible };
    const after = now.wrong ? null : moved(now.weights, motion);
    Page.refused(now.wrong || (after ? "" : motion.lambda.isZero() ? "The rescaling must not be zero."
      : "The matrix C must have an inverse."));
    if (!after) return null;
    const polynomials = [polynomial(now.weights), polynomial(after)];
    const values = [output(now.weights, now.weights.x), output(after, now.weights.x)];
    const same = sameFunction(...polynomials) && Exact.same(...values);
    Page.words("verdict", same ? "The same function" : "Another function");
    for (const [id, letter, rows] of [["moved-q", "Q′", after.q], ["moved-k", "K′", after.k], ["moved-v", "V′", after.v],
      ["moved-a", "A′", attention(after)]]) Page.formula(id, letter, "=", Page.matrix(rows));
    running("polynomial", terms(polynomials[0]));
    running("polynomial-moved", terms(polynomials[1]));
    Page.formula("value", Page.matrix(values[0]));
    Page.formula("value-moved", Page.matrix(values[1]));
    return { motion, after };
  }

  // ---- the picture: an entry of A' against one of V', along the whole fiber

  const MOST = 12, SIZE = 160;

  // an entry of A and one of V: not zero on as many components as possible, and showing these apart
  function chosenEntries(components) {
    let best = null;
    for (const i of [0, 1]) for (const j of [0, 1]) for (const k of [0, 1]) {
      const products = components.map((w) => attention(w)[i][j].mul(w.v[0][k])).filter((c) => !c.isZero());
      const count = products.length + new Set(products.map(String)).size;
      if (!best || count > best.count) best = { i, j, k, count };
    }
    return best;
  }

  function draw(now, found) {
    const svg = Page.byId("curves");
    const other = exchanged(now.weights), components = other ? [now.weights, other] : [now.weights];
    const { i, j, k, count } = chosenEntries(components);
    if (!count) {
      svg.replaceChildren();
      Page.words("curves-said", "The function is zero: its fiber is larger than these motions.");
      return;
    }
    const place = (x, y) => [x * SIZE / MOST, -y * SIZE / MOST];
    const nodes = [
      shape("rect", { x: -SIZE, y: -SIZE, width: 2 * SIZE, height: 2 * SIZE, rx: 5, fill: "var(--card)" }),
      shape("path", { d: `M${-SIZE} 0H${SIZE}M0 ${-SIZE}V${SIZE}`, stroke: "var(--faint)", "stroke-width": 0.7 }),
    ];
    const name = (x, y, anchor, text) => shape("text", { x, y, "text-anchor": anchor, "font-size": 12, fill: "var(--faint)",
      stroke: "var(--card)", "stroke-width": 5, "paint-order": "stroke" }, text);
    components.forEach((weights, n) => {
      const [a, v] = [attention(weights)[i][j].number(), weights.v[0][k].number()];
      if (!a || !v) return;
      const colour = n ? "var(--singular)" : "var(--surface)";
      for (const side of [1, -1]) {
        const points = [];
        for (let step = -60; step <= 60; step++) {
          const factor = side * Math.abs(v / a) ** 0.5 * 1.08 ** step;
          const [x, y] = [factor * a, v / factor];
          if (Math.abs(x) <= MOST && Math.abs(y) <= MOST) points.push(place(x, y).map((c) => c.toFixed(2)).join(" "));
        }
        if (points.length) {
          nodes.push(shape("path", { d: `M${points.join("L")}`, fill: "none", stroke: colour, "stroke-width": 2.5,
            ...(n ? { "stroke-dasharray": "7 4" } : {}) }));
        }
      }
    });
    const [x, y] = [attention(found.after)[i][j].number(), found.after.v[0][k].number()];
    const edge = (c) => Math.max(-MOST, Math.min(MOST, c));
    const [cx, cy] = place(edge(x), edge(y));
    nodes.push(shape("circle", { id: "here", cx, cy, r: 6, fill: "var(--point)", stroke: "var(--paper)", "stroke-width": 1.5 }));
    nodes.push(name(SIZE - 4, 22, "end", `A′${"₁₂"[i]}${"₁₂"[j]}`), name(12, 12 - SIZE, "start", `V′${"₁₂"[k]}`));
    svg.replaceChildren(...nodes);
    const second = other ? "; dashed, after the exchange" : "";
    Page.words("curves-said", `All weights with this function, seen in one entry of A′ and one of V′, up to a basis${second}. ` +
      "The point is where you are; outside of the picture it stays at the edge.");
  }

  function start() {
    for (const letter of ["q", "k", "v", "x"]) {
      entries(`entries-${letter}`, letter, "qk".includes(letter) ? START[letter].slice(0, width()) : START[letter]);
    }
    const changed = Page.whenChanged(() => {
      const now = state(), found = tell(now);
      if (found) draw(now, found);
    });
    const wide = () => {
      for (const node of document.querySelectorAll(".wide")) node.hidden = width() === 1;
    };
    Page.byId("width").addEventListener("change", () => {
      for (const letter of ["q", "k"]) {
        const old = Page.byId(`entries-${letter}`).querySelectorAll(".row");
        const rows = START[letter].slice(0, width()).map((row, i) =>
          (old[i] ? [...old[i].querySelectorAll("input")].map((box) => box.value) : row));
        entries(`entries-${letter}`, letter, rows);
      }
      wide();
      changed();
    });
    document.addEventListener("input", changed);
    wide();
    changed();
  }

  start();
  return { factors, exchanged, moved, polynomial, output, attention, sameFunction };
})();
