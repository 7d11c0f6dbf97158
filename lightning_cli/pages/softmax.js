// Softmax networks on two tokens: exact Taylor series, and what their terms of degree 1 and 3 give away.
"use strict";

const Softmax = (() => {
  const { shape } = Page;
  const { fraction, ZERO, ONE, transpose, product } = Exact;
  const START = { a: [["1/8", "1/4"], ["0", "1/8"]], b: [["1/4", "-1/4"], ["1/2", "0"]], v: [["1", "3"]] };
  const ORDER = 7, HALF = fraction(1, 2), LONGEST = 12;

  // ---- series in epsilon: lists of ORDER + 1 fractions

  const powers = [...Array(ORDER + 1).keys()];
  const constant = (c) => powers.map((k) => (k ? ZERO : c));
  const plus = (s, t) => s.map((c, k) => c.add(t[k]));
  const minus = (s, t) => s.map((c, k) => c.sub(t[k]));
  const scaled = (c, s) => s.map((x) => c.mul(x));
  const times = (s, t) => powers.map((n) => {
    let total = ZERO;
    for (let k = 0; k <= n; k++) if (!s[k].isZero() && !t[n - k].isZero()) total = total.add(s[k].mul(t[n - k]));
    return total;
  });

  // of a series without constant term
  function exponential(s) {
    let term = constant(ONE), total = term;
    for (let k = 1; k <= ORDER; k++) {
      term = scaled(fraction(1, k), times(term, s));
      total = plus(total, term);
    }
    return total;
  }

  function reciprocal(s) {
    const found = [ONE.div(s[0])];
    for (let n = 1; n <= ORDER; n++) {
      let total = ZERO;
      for (let k = 1; k <= n; k++) total = total.add(s[k].mul(found[n - k]));
      found.push(total.mul(found[0]).neg());
    }
    return found;
  }

  // x_j^T A x_k of tokens whose coordinates are series
  const score = (a, x, y) => a.reduce((total, row, i) => row.reduce((sum, entry, j) =>
    (entry.isZero() ? sum : plus(sum, scaled(entry, times(x[i], y[j])))), total), constant(ZERO));

  // query k gives token one the weight 1 / (1 + exp(s_2k - s_1k)); its new token is the average
  function layer(a, tokens) {
    return tokens.map((query) => {
      const [first, second] = tokens.map((key) => score(a, key, query));
      const weight = reciprocal(plus(constant(ONE), exponential(minus(second, first))));
      return tokens[1].map((c, i) => plus(c, times(weight, minus(tokens[0][i], c))));
    });
  }

  // the mean of the outputs at the tokens eps (m + y/2) and eps (m - y/2)
  function meanOutput(matrices, v, m, y) {
    const start = [HALF, HALF.neg()].map((side) => m.map((c, i) => powers.map((k) => (k === 1 ? c.add(side.mul(y[i])) : ZERO))));
    const [first, second] = matrices.reduce((tokens, a) => layer(a, tokens), start);
    const [row] = v;
    return row.reduce((total, c, i) => plus(total, scaled(c.mul(HALF), plus(first[i], second[i]))), constant(ZERO));
  }

  // V from degree 1, then the first matrix from degree 3, by series of the whole network alone; null where V is zero
  function readOff(matrices, v) {
    const unit = [[ONE, ZERO], [ZERO, ONE]], zero = [ZERO, ZERO];
    const value = [unit.map((m) => meanOutput(matrices, v, m, zero)[1])];
    const at = (y) => value[0][0].mul(y[0]).add(value[0][1].mul(y[1]));
    const seen = [...unit, [ONE, ONE]].filter((y) => !at(y).isZero()).slice(0, 2);
    if (seen.length < 2) return null;
    // rows y^T A for two independent y, so A
    const rows = seen.map((y) => unit.map((m) => meanOutput(matrices, v, m, y)[3].mul(fraction(4)).div(at(y))));
    return { value, attention: product(Exact.inverse(seen), rows) };
  }

  const form = (a, x, y) => product(product([x], a), transpose([y]))[0][0];
  const isZero = (a) => a.flat().every((c) => c.isZero());
  const isSkew = (a) => Exact.same(transpose(a), Exact.scale(fraction(-1), a));

  // ---- what stands in the controls

  function entries(letter) {
    const place = Page.byId(`entries-${letter}`), name = { a: "A 1", b: "A 2", v: "V" }[letter];
    place.replaceChildren(...START[letter].map((row, i) => {
      const line = document.createElement("span");
      line.className = "row";
      line.append(...row.map((entry, j) => {
        const box = document.createElement("input");
        Object.assign(box, { type: "text", value: entry, size: 3, id: `${letter}${i + 1}${j + 1}` });
        box.setAttribute("aria-label", `${name}, row ${i + 1}, column ${j + 1}`);
        return box;
      }));
      return line;
    }));
  }

  function read(letter) {
    const found = [];
    for (let i = 1; i <= START[letter].length; i++) found.push([1, 2].map((j) => {
      const box = Page.byId(`${letter}${i}${j}`);
      let number = null;
      if (box.value.length <= LONGEST) {
        try { number = fraction(box.value.replace("−", "-")); } catch (error) {
          if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
        }
      }
      box.setAttribute("aria-invalid", number === null);
      return number;
    }));
    return found.flat().includes(null) ? null : found;
  }

  const setting = (id) => fraction(Number(Page.byId(id).value), 4);

  function state() {
    return { a: read("a"), b: read("b"), v: read("v"), tokens: [1, 2].map((n) => [setting(`x${n}`), setting(`y${n}`)]) };
  }

  // ---- what is said

  const variable = (name, index) => Page.math("msub", {}, Page.math("mi", {}, name), Page.math("mn", {}, index));

  function running(id, series, ...before) {
    const seen = series.map((c, k) => [c, k]).filter(([c]) => !c.isZero());
    const parts = (seen.length ? seen : [[ZERO, 0]]).map(([c, k], n) => {
      const sign = n ? [Page.math("mo", { form: "infix" }, c.top < 0n ? "−" : "+")] : [];
      return Page.math("math", {}, ...sign, Page.linear([[n && c.top < 0n ? c.neg() : c, ...(k ? [k === 1 ? "ε" : ["ε", k]] : [])]]));
    });
    const lead = before.length ? [Page.math("math", {}, ...before)] : [];
    Page.byId(id).replaceChildren(...[...lead, ...parts].flatMap((part) => [part, " "]), "+ …");
  }

  function tell({ a, b, v, tokens }) {
    for (const id of ["x1", "y1", "x2", "y2"]) Page.words(`${id}-value`, `${setting(id)}`);
    const good = a && b && v;
    Page.refused(good ? "" : `Each box needs a number such as 3, -3/4 or 0.25, of at most ${LONGEST} characters.`);
    if (!good) return false;
    const m = tokens[0].map((c, i) => c.add(tokens[1][i]).mul(HALF)), y = tokens[0].map((c, i) => c.sub(tokens[1][i]));
    const [am, ay] = [form(a, y, m), form(a, y, y)], t = [am.add(ay.mul(HALF)), am.sub(ay.mul(HALF))];
    Page.formulas("scores", ["m", "=", Page.matrix([m]), ","], ["y", "=", Page.matrix([y]), ","],
      [variable("T", "1"), "=", Page.number(t[0]), ","], [variable("T", "2"), "=", Page.number(t[1])]);
    const blind = isZero(a) || isSkew(a);
    Page.words("kind", blind ? "Blind" : ay.isZero() ? "Blind at these tokens" : "Not blind");
    Page.words("kind-said", blind
      ? "Both queries weigh alike, whatever the tokens are: both new tokens are the same, and no layer behind is seen."
      : ay.isZero() ? "Here both queries weigh alike; other tokens tell them apart."
      : "The two queries weigh differently, so the new tokens differ, again by a multiple of y.");
    const mean = meanOutput([a, b], v, m, y);
    running("series", mean);
    const third = form(v, [ONE], y).mul(am).mul(fraction(1, 4));
    Page.formula("predicted", "V", "m", "=", Page.number(form(v, [ONE], m)), ",", Page.math("mfrac", {}, Page.math("mn", {}, "1"),
      Page.math("mn", {}, "4")), "(", "V", "y", ")", Page.math("msup", {}, Page.math("mi", {}, "y"), Page.math("mo", {}, "⊤")),
      variable("A", "1"), "m", "=", Page.number(third));
    const found = readOff([a, b], v);
    if (!found) {
      Page.words("read", "");
      Page.words("read-said", "V is zero, and so is the function: nothing can be read off.");
      Page.words("peeled", "");
      Page.words("peeled-matrix", "");
      return true;
    }
    Page.formula("read", "V", "=", Page.matrix(found.value), ",", variable("A", "1"), "=", Page.matrix(found.attention));
    const yours = Exact.same(found.value, v) && Exact.same(found.attention, a);
    Page.words("read-said", `From degree 1 at m = e₁, e₂, and from degree 3 at a few y: ${yours ? "" : "not "}your matrices.`);
    if (blind) {
      Page.words("peeled", "The first layer is blind: any matrix in the second one gives this function. The fiber is not a point.");
      Page.words("peeled-matrix", "");
      return true;
    }
    Page.words("peeled", "The first layer is known now, and moves its tokens through an open set. There the rest is asked; what it " +
      "is somewhere it is everywhere, being analytic. The same two terms of the network behind it give:");
    Page.formula("peeled-matrix", variable("A", "2"), "=", Page.matrix(readOff([b], v).attention));
    return true;
  }

  // ---- the picture

  const MOST = 3.2, SIZE = 160, place = ([x, y]) => [x * SIZE / MOST, -y * SIZE / MOST];

  // floats: where tokens are behind a layer
  function moved(a, tokens) {
    const matrix = a.map((row) => row.map((c) => c.number()));
    const at = (x, y) => matrix.reduce((sum, row, i) => sum + row.reduce((part, c, j) => part + x[i] * c * y[j], 0), 0);
    return tokens.map((query) => {
      const weight = 1 / (1 + Math.exp(at(tokens[1], query) - at(tokens[0], query)));
      return tokens[1].map((c, i) => c + weight * (tokens[0][i] - c));
    });
  }

  function draw({ a, b, tokens }) {
    const start = tokens.map((x) => x.map((c) => c.number())), first = moved(a, start), second = moved(b, first);
    const [p, q] = start.map(place), nodes = [
      shape("rect", { x: -168, y: -168, width: 336, height: 336, rx: 5, fill: "var(--card)" }),
      shape("path", { d: "M-168 0H168M0-168V168", stroke: "var(--line)" }),
      shape("path", { d: `M${p.join(" ")}L${q.join(" ")}`, stroke: "var(--faint)", "stroke-dasharray": "4 4" }),
    ];
    for (const [points, colour, r, square] of [[start, "var(--surface)", 8, 0], [first, "var(--singular)", 6, 1], [second, "var(--point)", 4, 0]]) {
      points.map(place).forEach(([x, y], i) => {
        nodes.push(square ? shape("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r, fill: colour, stroke: "var(--paper)" })
          : shape("circle", { cx: x, cy: y, r, fill: colour, stroke: "var(--paper)", ...(r === 8 ? { id: `token-${i + 1}` } : {}) }));
      });
    }
    // labels stand beyond the tokens, where no mark can be: all marks are on the segment
    [p, q].forEach(([x, y], i) => {
      const other = i ? p : q, long = Math.hypot(x - other[0], y - other[1]), [dx, dy] = long ? [x - other[0], y - other[1]] : [i ? -1 : 1, 0];
      const label = { x: x + 20 * dx / (long || 1), y: y + 20 * dy / (long || 1) + 5, "font-size": 14, "text-anchor": "middle", fill: "var(--ink)" };
      nodes.push(shape("text", label, i ? "x₂" : "x₁"));
    });
    Page.byId("plane").replaceChildren(...nodes);
    const gap = ([s, t]) => Math.hypot(s[0] - t[0], s[1] - t[1]).toPrecision(3);
    Page.words("plane-said", `Circles: the tokens, ${gap(start)} apart. Squares: behind the first layer, ${gap(first)}. Small circles: ` +
      `behind the second, ${gap(second)}.`);
  }

  function start() {
    for (const letter of ["a", "b", "v"]) entries(letter);
    const svg = Page.byId("plane"), changed = Page.whenChanged(() => {
      const now = state();
      if (tell(now)) draw(now);
    });
    document.addEventListener("input", changed);
    Page.byId("skew").addEventListener("click", () => {
      [["a11", "0"], ["a12", "1"], ["a21", "-1"], ["a22", "0"]].forEach(([id, text]) => { Page.byId(id).value = text; });
      changed();
    });
    Page.byId("seeing").addEventListener("click", () => {
      START.a.forEach((row, i) => row.forEach((text, j) => { Page.byId(`a${i + 1}${j + 1}`).value = text; }));
      changed();
    });
    let held = 0;
    const under = (event) => {
      const box = svg.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width - 0.5) * 340 * MOST / SIZE, (0.5 - (event.clientY - box.top) / box.height) * 340 * MOST / SIZE];
    };
    svg.addEventListener("pointerdown", (event) => {
      const [x, y] = under(event);
      const far = state().tokens.map((token) => Math.hypot(token[0].number() - x, token[1].number() - y));
      held = Math.min(...far) < 0.6 ? (far[0] <= far[1] ? 1 : 2) : 0;
      if (held) svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!held) return;
      under(event).forEach((c, i) => { Page.byId(`${"xy"[i]}${held}`).value = Math.round(4 * c); });
      changed();
    });
    for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, () => { held = 0; });
    changed();
  }

  start();
  return { meanOutput, readOff, layer, isSkew };
})();
