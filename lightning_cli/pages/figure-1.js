// Figure 1: the surface u^2 + w^2 = z^2 u^2, a point on it with its weights, a line with its four points.
"use strict";

const Figure1 = (() => {
  const { shape } = Page;
  const { fraction, ZERO, ONE } = Exact;
  const TWO = fraction(2), STEP = 48, OUT = 24;  // denominators of the common zero and of the distance
  const TOP = fraction(5, 2), MOST = 31, MOST_OUT = 45, RADIUS = MOST_OUT / OUT;
  const orbits = Page.data("orbits");

  // ---- exact mathematics: the same formulas as lightning_sym/geometry/resultant_slice.py

  const forms = (u, w, z) => [[ONE.add(z), ZERO, ONE.sub(z)], [w, TWO.mul(u), w.neg()]];

  function pointAt(s, t, radius) {
    const length = t.mul(t).add(s.mul(s)), height = t.mul(t).sub(s.mul(s));
    const u = radius.mul(height).div(length), w = radius.mul(TWO).mul(s).mul(t).div(length);
    const first = TWO.div(height), second = TWO.mul(radius).div(length);
    return {
      u, w, z: length.div(height), s, t,
      attention: [[first.mul(t), second.mul(s)], [first.mul(s), second.mul(t)]],
      value: [[t, s.neg()]],
    };
  }

  // three ranks; what they mean was put into the page by Python
  function orbitOf(attention, value) {
    const r = Exact.rank(attention), s = Exact.rank(value);
    const common = r && s ? r + s - Exact.rank([...Exact.transpose(attention), ...value]) : 0;
    return orbits.find((o) => o.attention === r && o.value === s && o.common === common);
  }

  // u^2 + w^2 - z^2 u^2 along a line, as a polynomial in tau
  function alongLine(foot, top) {
    const [u, w, z] = foot.map((from, i) => Exact.polynomial([from, top[i].sub(from)]));
    const square = (p) => Exact.times(p, p);
    return Exact.minus(Exact.plus(square(u), square(w)), square(Exact.times(z, u)));
  }

  // how many of the four points are real, complex and at infinity, with their multiplicities
  function countPoints(polynomial) {
    if (!polynomial.length) return null;
    const found = { real: 0, complex: 0, infinite: 5 - polynomial.length, most: 1 };
    for (const { factor, multiplicity } of Exact.squareFree(polynomial)) {
      const real = Exact.realRoots(factor);
      found.real += real * multiplicity;
      found.complex += (factor.length - 1 - real) * multiplicity;
      found.most = Math.max(found.most, multiplicity);
    }
    return found;
  }

  // ---- floats, for pixels only

  // all complex roots of a polynomial with float coefficients, by Weierstrass' iteration
  function floatRoots(p) {
    const n = p.length - 1, monic = p.map((c) => c / p[n]);
    const bound = 1 + Math.max(0, ...monic.slice(0, n).map(Math.abs));
    let roots = Array.from({ length: n }, (_, k) => {
      const angle = 0.4 + (2 * Math.PI * k) / n;
      return [Math.min(bound, 2) * Math.cos(angle), Math.min(bound, 2) * Math.sin(angle)];
    });
    const times = ([a, b], [c, d]) => [a * c - b * d, a * d + b * c];
    for (let round = 0; round < 200; round++) {
      roots = roots.map((root, i) => {
        let value = [0, 0], below = [1, 0];
        for (let k = n; k >= 0; k--) { value = times(value, root); value[0] += monic[k]; }
        roots.forEach((other, j) => { if (i !== j) below = times(below, [root[0] - other[0], root[1] - other[1]]); });
        const size = below[0] ** 2 + below[1] ** 2 || 1e-30;
        const step = times(value, [below[0] / size, -below[1] / size]);
        return [root[0] - step[0], root[1] - step[1]];
      });
    }
    return roots;
  }

  // ---- state, from the controls

  const state = () => {
    const sheet = document.querySelector("input[name=sheet]:checked").value;
    const along = +Page.byId("along").value, radius = +Page.byId("radius").value;
    const place = (name, z) => [fraction(+Page.byId(`${name}-u`).value, 16), fraction(+Page.byId(`${name}-w`).value, 16), z];
    return {
      sheet, along, radius, lineShown: Page.byId("line-shown").checked,
      foot: place("foot", TOP.neg()), top: place("top", TOP),
    };
  };

  function currentPoint({ sheet, along, radius }) {
    if (sheet === "between") {
      const z = fraction(along, MOST + 1);
      return { u: ZERO, w: ZERO, z, attention: null, value: null };
    }
    const m = fraction(along, STEP);
    return sheet === "upper" ? pointAt(m, ONE, fraction(radius, OUT)) : pointAt(ONE, m, fraction(radius, OUT));
  }

  const linearForm = ([p, q]) => Page.linear([[p, "r"], [q, "s"]]);
  const quadraticForm = ([a, b, c]) => Page.linear([[a, ["r", 2]], [b, "r", "s"], [c, ["s", 2]]]);
  const product = (first, second) => [Page.math("mo", {}, "("), linearForm(first), Page.math("mo", {}, ")"),
    Page.math("mo", {}, "("), linearForm(second), Page.math("mo", {}, ")")];

  // ---- what is said of the point

  function tell(now, point) {
    const { u, w, z, attention, value } = point, [f, g] = forms(u, w, z);
    const between = now.sheet === "between";
    Page.words("along-name", between ? "height" : "common zero");
    Page.words("along-value", between ? `${z}` : now.sheet === "upper" ? `${point.s} : 1` : `1 : ${point.t}`);
    Page.byId("radius").disabled = between;
    Page.words("radius-value", between ? "0" : `${fraction(now.radius, OUT)}`);
    Page.formula("place", "u", "=", Page.number(u), ",", "w", "=", Page.number(w), ",", "z", "=", Page.number(z));
    if (between) {
      Page.words("kind", "not in M");
      Page.words("reasons", "— in the closure only: the factors of f are complex conjugates, and a real V does not exist");
      for (const id of ["matrices", "other-point"]) Page.byId(id).replaceChildren();
      Page.formula("first-form", "f", "=", quadraticForm(f));
      Page.formula("second-form", "g", "=", quadraticForm(g));
      Page.words("factors", `The discriminant of f is ${fraction(-4).mul(f[0]).mul(f[2])}, below zero.`);
      return;
    }
    const orbit = orbitOf(attention, value), columns = Exact.transpose(attention);
    Page.words("kind", orbit.labels.join(", "));
    Page.words("reasons", `— ${orbit.reasons.join("; ")}`);
    Page.formula("matrices", "A", "=", Page.matrix(attention), ",", "V", "=", Page.matrix(value));
    Page.formulas("first-form", ["f", "=", quadraticForm(f)], ["=", ...product(columns[0], value[0])]);
    Page.formulas("second-form", ["g", "=", quadraticForm(g)], ["=", ...product(columns[1], value[0])]);
    Page.words("factors", `The last factor is v, common to both; rk A = ${orbit.attention}, rk V = ${orbit.value}.`);
    // A = p q^T, V = v^T: the second point of the projective fiber is (v q^T, p^T)
    const other = exchanged(attention, value);
    if (other === null) Page.byId("other-point").replaceChildren();
    else {
      Page.formula("other-point", "A′", "=", Page.matrix(other.attention), ",", "V′", "=", Page.matrix(other.value));
      Page.byId("other-point").prepend("The same function: ");
    }
  }

  // the exchange of Theorem 3.2 at rank one; null elsewhere, and where it gives the same point
  function exchanged(attention, value) {
    if (Exact.rank(attention) !== 1 || Exact.rank([...Exact.transpose(attention), ...value]) === 1) return null;
    const p = attention.map((row) => [row[0]]);  // the first column is never zero here, so q = (1, second over first)
    const at = p[0][0].isZero() ? 1 : 0, q = [[ONE, attention[at][1].div(attention[at][0])]];
    return { attention: Exact.product(Exact.transpose(value), q), value: Exact.transpose(p) };
  }

  // ---- what is said of the line

  const WORDS = ["no", "one", "two", "three", "four"];

  function tellLine(now) {
    for (const name of ["foot", "top"]) ["u", "w"].forEach((letter, i) =>
      Page.words(`${name}-${letter}-value`, `${now[name][i]}`));
    const polynomial = alongLine(now.foot, now.top), found = countPoints(polynomial);
    if (found === null) {
      Page.words("roots-said", "The line lies in the surface.");
      Page.byId("roots").replaceChildren();
      return [];
    }
    const parts = [`${WORDS[found.real]} real point${found.real === 1 ? "" : "s"}`];
    if (found.complex) parts.push(found.complex === 2 ? "two complex conjugate ones" : "four complex ones in conjugate pairs");
    if (found.infinite) parts.push(`${WORDS[found.infinite]} at infinity`);
    const counted = found.most > 1 ? `, a point counted ${["", "", "twice", "three times", "four times"][found.most]}` : "";
    Page.words("roots-said", `${parts.join(", ")}${counted}.`.replace(/^./, (c) => c.toUpperCase()));
    const roots = Exact.squareFree(polynomial).flatMap(({ factor }) => floatRoots(factor.map((c) => c.number())));
    const x = (re) => 70 + 180 * re, y = (im) => 55 - 80 * im;
    const inside = roots.map(([re, im]) => [Math.max(-0.35, Math.min(1.35, re)), Math.max(-0.6, Math.min(0.6, im))]);
    const nodes = [shape("path", { d: "M5 55H315M70 50V60M250 50V60", stroke: "var(--faint)", fill: "none" })];
    [["0", 70], ["1", 250], ["τ", 308]].forEach(([text, at]) => {
      const label = shape("text", { x: at, y: 75, "text-anchor": "middle", "font-size": 12, fill: "var(--faint)" });
      label.textContent = text;
      nodes.push(label);
    });
    for (const [re, im] of inside) {
      const real = Math.abs(im) < 1e-6;
      if (!real && im > 0) {
        const path = `M${x(re)} ${y(im)}V${y(-im)}`;
        nodes.push(shape("path", { d: path, stroke: "var(--line-colour)", "stroke-dasharray": "2 3" }));
      }
      nodes.push(shape("circle", {
        cx: x(re), cy: y(im), r: 5, stroke: "var(--line-colour)", "stroke-width": 2,
        fill: real ? "var(--line-colour)" : "var(--paper)", class: real ? "real" : "complex",
      }));
    }
    Page.byId("roots").replaceChildren(...nodes);
    return roots.filter(([, im]) => Math.abs(im) < 1e-6).map(([re]) => re);
  }

  // ---- the picture: x = u, up = z, towards the reader = w

  const world = (point) => [point.u.number(), point.z.number(), point.w.number()];
  const worldOf = ([u, w, z]) => world({ u, w, z });

  // one half of a sheet; split at the singular line, where sheets cross
  function sheetMesh(lower, side) {
    const rows = 2 * MOST, columns = 24;
    const at = (i, j) => {
      const m = fraction(i - MOST, STEP), radius = fraction(MOST_OUT * j * (j + 4) * side, OUT * columns * (columns + 4));  // finer where sheets meet
      return lower ? pointAt(ONE, m, radius) : pointAt(m, ONE, radius);
    };
    // the gradient of u^2 + w^2 - z^2 u^2, divided by u; with w / u = 2 s t / (t^2 - s^2)
    const normal = (i, j) => {
      const { s, t, u, z } = at(i, j), slope = TWO.mul(s).mul(t).div(t.mul(t).sub(s.mul(s)));
      return Scene.unit([ONE.sub(z.mul(z)), z.mul(u).neg(), slope].map((c) => c.number()));
    };
    return Scene.grid(rows, columns, (i, j) => world(at(i, j)), normal);
  }

  function picture(changed) {
    const scene = Scene.onCanvas(Page.byId("surface"), { turn: 0.62, tilt: 0.3, distance: 9.5, changed });
    if (!scene) return null;
    const sheets = [false, true].flatMap((lower) => [1, -1].map((side) => scene.load(sheetMesh(lower, side))));
    const ball = scene.load(Scene.ball()), top = TOP.number();
    const bars = [1, -1].map((side) => scene.load(Scene.tube([0, side, 0], [0, side * top, 0], 0.035)));
    const dots = Array.from({ length: 15 }, (_, i) => [0, (i - 7) / 7.5, 0]);
    const ends = { u: [2.1, 0, 0], w: [0, 0, 2.1], z: [0, top + 0.35, 0] };
    const axes = Object.values(ends).map((end) => scene.load(Scene.tube(end[1] ? [0, top, 0] : end.map((x) => -x), end, 0.012)));
    let line = null, drawnLine = "";

    function draw(now, point, meets) {
      const colours = {};
      for (const name of ["surface", "back", "singular", "point", "line-colour", "faint"]) colours[name] = Page.colour(`--${name}`);
      const parts = sheets.map((loaded) => ({ loaded, front: colours.surface, back: colours.back, ruled: 5 }));
      parts.push(...bars.map((loaded) => ({ loaded, front: colours.singular, glow: 0.5 })));
      parts.push(...dots.map((offset) => ({ loaded: ball, front: colours.singular, offset, size: 0.035, glow: 0.5 })));
      parts.push(...axes.map((loaded) => ({ loaded, front: colours.faint, glow: 1 })));
      parts.push({ loaded: ball, front: colours.point, offset: world(point), size: 0.09, glow: 0.4 });
      if (now.lineShown) {
        const [from, to] = [worldOf(now.foot), worldOf(now.top)], key = `${from};${to}`;
        if (key !== drawnLine) {
          if (line) scene.free(line);
          [line, drawnLine] = [scene.load(Scene.tube(from, to, 0.022)), key];
        }
        parts.push({ loaded: line, front: colours["line-colour"], glow: 0.5 });
        for (const tau of meets.filter((x) => x >= 0 && x <= 1)) {
          const offset = from.map((x, k) => x + tau * (to[k] - x));
          parts.push({ loaded: ball, front: colours["line-colour"], offset, size: 0.06, glow: 0.4 });
        }
      }
      scene.draw(parts);
      for (const [name, end] of Object.entries(ends)) {
        const [x, y] = scene.project(end.map((c) => c * 1.07));
        Object.assign(Page.byId(`axis-${name}`).style, { left: `${50 * (x + 1)}%`, top: `${50 * (1 - y)}%` });
      }
    }

    // the height on the dotted part of the line under a place on the canvas, in steps of the slider; null elsewhere
    function onDots(x, y) {
      for (let along = -MOST; along <= MOST; along++) {
        const [px, py] = scene.project([0, along / (MOST + 1), 0]);
        if (Math.hypot(px - x, py - y) < 0.025) return along;
      }
      return null;
    }

    // the point of the surface under a place on the canvas that is nearest to the reader, as settings of the controls
    function under(x, y) {
      const along = onDots(x, y);
      if (along !== null) return { sheet: "between", along, radius: 0 };
      const { from: [u, z, w], along: [du, dz, dw] } = scene.ray(x, y);
      const times = (p, q) => {
        const out = Array(p.length + q.length - 1).fill(0);
        p.forEach((a, i) => q.forEach((b, j) => { out[i + j] += a * b; }));
        return out;
      };
      const [pu, pw, pz] = [[u, du], [w, dw], [z, dz]], zu = times(pz, pu), zzuu = times(zu, zu);
      const square = [times(pu, pu), times(pw, pw)];
      const polynomial = zzuu.map((c, i) => (square[0][i] || 0) + (square[1][i] || 0) - c);
      const hits = floatRoots(polynomial).filter(([, im]) => Math.abs(im) < 1e-5).map(([re]) => re).sort((a, b) => a - b);
      for (const tau of hits) {
        const at = { u: u + tau * du, w: w + tau * dw, z: z + tau * dz };
        const settings = nearest(at);
        if (settings) return settings;
      }
      return null;
    }

    return { scene, draw, under };
  }

  // settings of the controls near a point of the surface; near the singular line they are on it
  function nearest({ u, w, z }) {
    const out = Math.hypot(u, w), height = Math.abs(z);
    if (out > RADIUS * 1.03 || height > TOP.number() || height < 0.99) return null;
    const sheet = z > 0 ? "upper" : "lower", most = (value, bound) => Math.max(-bound, Math.min(bound, Math.round(value)));
    if (out < 0.06) return { sheet, along: most(Math.sqrt(Math.max(height - 1, 0) / (height + 1)) * STEP, MOST), radius: 0 };
    // u z = rho; and w / (rho + |u| with the sign of rho) is the common zero, m or 1 / m
    const rho = u * z < 0 ? -out : out, along = w / (rho + Math.sign(rho) * Math.abs(u));
    return { sheet, along: most(along * STEP, MOST), radius: most(rho * OUT, MOST_OUT) };
  }

  function setPoint({ sheet, along, radius }) {
    document.querySelector(`input[name=sheet][value=${sheet}]`).checked = true;
    Page.byId("along").value = along;
    Page.byId("radius").value = radius;
  }

  // ---- hands on it

  let shown = null;

  // where the point is on the canvas, from -1 to 1
  const onCanvas = () => shown.scene.project(world(currentPoint(state())));

  function start() {
    const canvas = Page.byId("surface");
    let now, point, meets;
    const draw = () => { if (shown && !shown.scene.lost()) shown.draw(now, point, meets); };
    const redraw = Page.whenChanged(draw);
    const changed = Page.whenChanged(() => {
      now = state();
      point = currentPoint(now);
      tell(now, point);
      meets = tellLine(now);
      draw();
    });
    shown = picture(redraw);
    // a computer that slept, or changed its graphics card, takes all buffers away and later allows new ones
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      const { camera } = shown.scene;
      shown = picture(redraw);
      Object.assign(shown.scene.camera, camera);
      changed();
    });
    canvas.hidden = !shown;
    Page.byId("without").hidden = Boolean(shown);
    document.addEventListener("input", changed);
    Page.onTheme(changed);
    new ResizeObserver(changed).observe(canvas);
    if (shown) hands(canvas, changed);
    changed();
  }

  function hands(canvas, changed) {
    const pointers = new Map();
    let holding = false;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * 2 - 1, 1 - ((event.clientY - box.top) / box.height) * 2];
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      const here = place(event), there = onCanvas();
      pointers.set(event.pointerId, here);
      holding = pointers.size === 1 && Math.hypot(here[0] - there[0], here[1] - there[1]) < 0.09;
    });
    canvas.addEventListener("pointermove", (event) => {
      const old = pointers.get(event.pointerId), here = place(event);
      if (!old) return;
      if (pointers.size === 2) {
        const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        const apart = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
        shown.scene.zoomBy(apart(old) / apart(here));
      } else if (holding) {
        const settings = shown.under(...here);
        if (settings) setPoint(settings);
        changed();
      } else shown.scene.turnBy((here[0] - old[0]) * 2, (old[1] - here[1]) * 1.6);
      pointers.set(event.pointerId, here);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(name, (event) => { pointers.delete(event.pointerId); holding = false; });
    }
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); shown.scene.zoomBy(1.001 ** event.deltaY); }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const turns = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
      if (turns[event.key]) shown.scene.turnBy(...turns[event.key]);
      else if (event.key === "+" || event.key === "-") shown.scene.zoomBy(event.key === "+" ? 0.9 : 1.1);
      else return;
      event.preventDefault();
    });
  }

  start();
  return { onCanvas, shown: () => shown, forms, pointAt, orbitOf, exchanged, alongLine, countPoints, nearest, currentPoint, state };
})();
