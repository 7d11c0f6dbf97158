// The playground: sliders move tensors, faults break them, exercises ask for the wrong one.
"use strict";

const Playground = (() => {
  const { byId, words, shape } = Page;
  const model = Rewriting.model(Page.data("model")), { form, pieces } = model;
  const WHOLE = ["turn"], INNER = ["heads", "rotary", "scores", "values", "neurons", "ups"], LEVELS = ["", "easy", "middle", "hard"];
  const fresh = () => structuredClone(model.rest);
  let settings = fresh(), layer = null, prompt = 0, chosen = null, incident = null, pictures = {}, found = null;

  const rested = model.tensors, faultNamed = (name) => model.faults.find((fault) => fault.name === name);

  // ---- what there is: yours as moved, and what is shown of it or of theirs

  function state() {
    const right = Rewriting.moved(model, settings);
    const wrong = incident === null ? Rewriting.broken(model, right, faultNamed(byId("fault").value), settings)
      : theirs(model.incidents[incident]);
    const differ = pieces.filter(({ name }) => !Rewriting.equal(right[name], wrong[name])).map(({ name }) => name);
    const moved = pieces.filter(({ name }) => !Rewriting.equal(right[name], rested[name])).length;
    const ids = model.prompts[prompt];
    const before = Rewriting.logits(model, rested, ids), now = Rewriting.logits(model, wrong, ids);
    return { right, wrong, differ, moved, before, now, still: Rewriting.equal(before, now) };
  }

  function theirs({ settings: there, fault }) {
    return Rewriting.broken(model, Rewriting.moved(model, there), faultNamed(fault), there);
  }

  // the piece that is first met of those that are wrong
  const firstWrong = ({ differ }) => differ[0];

  // ---- tensors as pictures

  const LONGEST = 36;

  // a matrix as an image, its longer side across; each entry is as strong as its share of the largest
  function image({ bottom, tops }, colours) {
    const rows = tops.map((row) => row.map((x) => new Exact.Fraction(x, bottom).number()));
    const most = Math.max(...rows.flat().map(Math.abs)) || 1;
    const lying = rows.length > rows[0].length ? rows[0].map((_, j) => rows.map((row) => row[j])) : rows;
    const canvas = document.createElement("canvas"), [width, height] = [lying[0].length, lying.length];
    Object.assign(canvas, { width, height });
    const paint = canvas.getContext("2d"), pixels = paint.createImageData(width, height);
    lying.flat().forEach((x, i) => {
      const [r, g, b] = colours[x < 0 ? "negative" : "positive"];
      pixels.data.set([r * 255, g * 255, b * 255, 255 * (Math.abs(x) / most) ** 0.7], 4 * i);
    });
    paint.putImageData(pixels, 0, 0);
    return { url: canvas.toDataURL(), width, height };
  }

  // the button that asks stands far from the tensors: the keyboard is taken there, and back
  const byKeyboard = (event) => event.detail === 0;

  const span = (name, text = "") => Object.assign(document.createElement("span"), { className: name, textContent: text });

  function tile(piece) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "tile" });
    const label = piece.name.split(".").at(-1).replace("_", " ").replace("bias", "b").replace("unembedding", "head");
    const images = ["yours", "theirs"].map((className) => Object.assign(document.createElement("img"), { className, alt: "" }));
    for (const each of images) each.setAttribute("aria-hidden", "true");  // the button has words
    button.append(span("tile-name", label), span("mark"), ...images);
    button.addEventListener("click", (event) => {
      chosen = piece.name;
      changed();
      if (incident === null || !byKeyboard(event)) return;
      byId("guess").hidden = false;
      byId("guess").focus();
    });
    pictures[piece.name] = { button, drawn: {} };
    return button;
  }

  function tiles() {
    const groups = [["in", (p) => p.name === "embedding"], ...[...Array(form.layers).keys()].map((n) => [`layer ${n}`, (p) => p.layer === n]),
      ["out", (p) => p.layer === null && p.name !== "embedding"]];
    byId("tiles").replaceChildren(...groups.map(([name, belongs]) => {
      const group = document.createElement("div");
      group.className = "part";
      group.append(span("part-name", name));
      for (const piece of pieces.filter(belongs)) {
        const last = group.lastElementChild, own = tile(piece);  // a bias stands under its matrix
        if (piece.name.endsWith("_bias")) { last.append(own); continue; }
        const stack = span("stack");
        stack.append(own);
        group.append(stack);
      }
      return group;
    }));
  }

  function paint(place, matrix, drawn, colours) {
    const key = matrix ? `${matrix.bottom};${matrix.tops}${colours.positive}` : "";
    if (drawn.key === key) return;
    drawn.key = key;
    place.hidden = !matrix;
    if (!matrix) return;
    const { url, width, height } = image(matrix, colours), share = Math.min(1, LONGEST / width);
    const long = (n) => `calc(var(--cell) * ${n * share})`;
    place.src = url;
    Object.assign(place.style, { width: long(width), height: height === 1 ? "9px" : long(height) });
  }

  function show(now) {
    const colours = { positive: Page.colour("--positive"), negative: Page.colour("--negative") }, first = firstWrong(now);
    for (const piece of pieces) {
      const { button, drawn } = pictures[piece.name], differs = now.differ.includes(piece.name);
      drawn.yours ||= {}; drawn.theirs ||= {};
      const asked = incident !== null;
      paint(button.querySelector(".yours"), asked ? now.right[piece.name] : now.wrong[piece.name], drawn.yours, colours);
      paint(button.querySelector(".theirs"), asked ? now.wrong[piece.name] : null, drawn.theirs, colours);
      const mark = asked ? (differs ? "≠" : "✓") : piece.name === first ? "first wrong" : differs ? "wrong" : "";
      button.querySelector(".mark").textContent = mark;
      button.className = ["tile", differs && !asked && "wrong", piece.name === first && !asked && "first", asked && !differs && "agrees",
        piece.name === chosen && "chosen"].filter(Boolean).join(" ");
      button.setAttribute("aria-pressed", piece.name === chosen);
      const said = { "≠": "differs from theirs", "✓": "equal to theirs" }[mark];
      const names = [button.querySelector(".tile-name").textContent, mark, piece.tensor, said];  // what is seen comes first
      button.setAttribute("aria-label", names.filter(Boolean).join(", "));
    }
  }

  // ---- what is said

  const fractionsOf = (row) => Rewriting.written(row)[0];
  const likeliest = (row) => row.tops[0].reduce((best, x, i, all) => (x > all[best] ? i : best), 0);
  const called = (name) => model.piece[name].tensor;

  function tell(now) {
    const count = now.before.tops[0].length, all = pieces.length, bar = document.querySelector(".bar");
    const [was, is] = [likeliest(now.before), likeliest(now.now)];
    const answers = was === is ? `still answers token ${is}, with other logits` : `answers token ${is} instead of ${was}`;
    bar.classList.toggle("off", !now.still);
    if (incident !== null) {
      words("verdict", now.still ? `Theirs has your ${count} logits, exactly.` : `Theirs ${answers}.`);
      words("counted", `${all - now.differ.length} of ${all} tensors agree with yours.`);
    } else {
      words("verdict", now.still ? `All ${count} logits stand still, exactly.` : `The logits moved: the model ${answers}.`);
      words("counted", now.differ.length ? `First wrong tensor: ${called(firstWrong(now))}.`
        : `${now.moved} of ${all} tensors have moved.`);
    }
    byId("guess").hidden = incident === null || chosen === null;
    if (chosen !== null) words("guess", `${called(chosen)} is wrong`);
    tellFault(now);
    const [before, after] = [fractionsOf(now.before), fractionsOf(now.now)];
    chart(before, after);
    words("chart-said", `Outlines: at rest. Filled: ${incident === null ? "now" : "theirs"}. Token ${was}: ${digits(before[was])}` +
      (now.still ? " then and now." : `, then ${digits(after[was])}.`));
    byId("fractions").replaceChildren(...before.map((x, i) => row([`${i}`, `${x}`, x.equals(after[i]) ? "the same" : `${after[i]}`])));
    tellTensor(now);
  }

  function tellFault(now) {
    const fault = faultNamed(byId("fault").value);
    words("rule", fault.rule + (fault.steps.length && !now.differ.length && incident === null ? " At these settings it happens to be kept." : ""));
    words("printed-where", fault.steps.length ? "At the settings that came with this choice lightning-sym same prints:" :
      "At rest lightning-sym same prints:");
    words("printed", fault.printed.join("\n"));
  }

  // the first digits of a fraction
  function digits(x, places = 12) {
    const size = x.top < 0n ? -x.top : x.top, shifted = (size * 10n ** BigInt(places)) / x.bottom, text = `${shifted}`.padStart(places + 1, "0");
    return `${x.top < 0n ? "−" : ""}${text.slice(0, -places)}.${text.slice(-places)}…`;
  }

  function row(cells) {
    const line = document.createElement("tr");
    line.append(...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    return line;
  }

  function tellTensor(now) {
    if (chosen === null) return;
    const piece = model.piece[chosen], shown = incident === null ? now.wrong[chosen] : now.right[chosen];
    words("tensor-name", piece.tensor);
    const moved = Rewriting.equal(now.right[chosen], rested[chosen]) ? "as it was at rest" : "moved";
    const whose = incident === null ? "" : now.differ.includes(chosen) ? " Theirs is another: its numbers differ from the bold ones." : " Theirs is equal.";
    words("tensor-said", `${shown.tops.length} x ${shown.tops[0].length}, ${moved}.${whose} What a rewriting does to it:`);
    byId("tensor-rules").replaceChildren(...piece.does.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
    const text = (matrix) => Rewriting.written(matrix).slice(0, 64).map((line) => line.slice(0, 64).map(String));
    const cells = text(shown), other = text(incident === null ? rested[chosen] : now.wrong[chosen]);
    byId("tensor-shown").hidden = false;
    byId("tensor-numbers").replaceChildren(...cells.map((line, i) => {
      const made = row(line);
      [...made.children].forEach((cell, j) => cell.classList.toggle("other", cell.textContent !== other[i][j]));
      return made;
    }));
  }

  function chart(before, after) {
    const values = [...before, ...after].map((x) => x.number()), [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
    const y = (x) => 12 + 140 * (most - x) / (most - least || 1), step = 640 / before.length, nodes = [];
    nodes.push(shape("path", { d: `M0 ${y(0)}H640`, stroke: "var(--faint)" }));
    before.forEach((x, i) => {
      const [was, is] = [x.number(), after[i].number()], left = step * i + step * 0.15, width = step * 0.7;
      const bar = (value) => ({ x: left, width, y: Math.min(y(value), y(0)), height: Math.abs(y(value) - y(0)) });
      nodes.push(shape("rect", { ...bar(is), fill: x.equals(after[i]) ? "var(--surface)" : "var(--singular)" }),
        shape("rect", { ...bar(was), fill: "none", stroke: "var(--ink)", "stroke-width": 1.5 }));
      if (i % Math.ceil(before.length / 14)) return;
      const label = { x: left + width / 2, y: 175, "font-size": 18, "text-anchor": "middle", fill: "var(--ink)" };
      nodes.push(shape("text", label, `${i}`));
    });
    byId("chart").replaceChildren(...nodes);
  }

  // ---- controls

  const angle = (k) => (k ? [64 - k * k, 16 * k].map((top) => `${Exact.fraction(top, 64 + k * k)}`).join(", ") : "no turn");
  const factor = (n) => (n < 0 ? `1/${2 ** -n}` : `${2 ** n}`);
  const SAID = { turn: angle, rotary: angle, values: angle, scores: factor, ups: factor,
    heads: (n) => (n ? `order ${n}` : "as they are"), neurons: (n) => (n ? `${n} on` : "as they are") };

  function controls() {
    byId("heads").max = form.heads - 1;
    byId("neurons").max = form.inner - 1;
    const names = form.layers === 1 ? ["layer 0"] : ["all layers", ...[...Array(form.layers).keys()].map((n) => `layer ${n}`)];
    byId("which").replaceChildren(...names.map((text, i) => {
      const label = Object.assign(document.createElement("label"), { className: "choice" });
      const input = Object.assign(document.createElement("input"), { type: "radio", name: "layer", checked: i === 0 });
      input.addEventListener("change", () => { layer = form.layers === 1 || i === 0 ? null : i - 1; sliders(); });
      label.append(input, ` ${text}`);
      return label;
    }));
    for (const name of [...WHOLE, ...INNER]) byId(name).addEventListener("input", () => {
      const value = Number(byId(name).value);
      if (WHOLE.includes(name)) settings[name] = value;
      else settings[name] = settings[name].map((old, n) => (layer === null || layer === n ? value : old));
      changed();
    });
    byId("gains").addEventListener("change", () => { settings.gains = Number(byId("gains").checked); changed(); });
    byId("rest").addEventListener("click", () => { settings = fresh(); byId("fault").value = "nothing"; changed(); });
    byId("all").addEventListener("click", () => {
      const any = (low, high) => low + Math.floor(Math.random() * (high - low + 1));
      const each = (low, high) => model.rest.heads.map(() => any(low, high));
      settings = { turn: any(2, 12), gains: 1, heads: each(1, form.heads - 1), rotary: each(-9, 9), scores: each(-2, 2), values: each(-9, 9),
        neurons: each(1, form.inner - 1), ups: each(-2, 2) };
      changed();
    });
    options("fault", model.faults.map(({ name, words: text }) => [name, text]));
    byId("fault").addEventListener("change", () => {
      const { moves } = faultNamed(byId("fault").value), last = form.layers - 1;
      settings = fresh();
      for (const [name, how] of Object.entries(moves)) {
        if (INNER.includes(name)) settings[name][last] = how; else settings[name] = how;
      }
      changed();
    });
    options("prompt", model.prompts.map((ids, i) => [i, ids.join(" ")]));
    byId("prompt").addEventListener("change", () => { prompt = Number(byId("prompt").value); changed(); });
  }

  function options(id, pairs) {
    byId(id).replaceChildren(...pairs.map(([value, text]) => Object.assign(document.createElement("option"), { value, textContent: text })));
  }

  function sliders() {
    for (const name of [...WHOLE, ...INNER]) {
      const value = WHOLE.includes(name) ? settings[name] : settings[name][layer ?? 0];
      const several = layer === null && INNER.includes(name) && settings[name].some((other) => other !== value);
      byId(name).value = value;
      words(`${name}-value`, several ? "by layer" : SAID[name](value));
    }
    byId("gains").checked = Boolean(settings.gains || settings.turn);
    byId("gains").disabled = Boolean(settings.turn);
  }

  // embeddings of the tokens in one plane of the stream; a hand on it turns the stream
  function dial() {
    const { bottom, tops } = found.right.embedding, half = form.width / 2;
    const points = tops.map((row) => [row[0], row[half]].map((x) => new Exact.Fraction(x, bottom).number()));
    const most = Math.max(...points.map(([x, y]) => Math.hypot(x, y))) || 1, at = (x) => (x * 46) / most;
    const k = settings.turn, radians = 2 * Math.atan(k / 8), [c, s] = [Math.cos(radians), Math.sin(radians)];
    byId("dial").replaceChildren(
      shape("circle", { r: 52, fill: "var(--card)", stroke: "var(--line)" }),
      shape("path", { d: "M-52 0H52M0-52V52", stroke: "var(--line)" }),
      shape("path", { d: `M0 0L${52 * c} ${-52 * s}`, stroke: "var(--point)", "stroke-width": 2 }),
      ...points.slice(0, 60).map(([x, y]) => shape("circle", { cx: at(x), cy: -at(y), r: 3, fill: "var(--surface)" })),
      shape("circle", { cx: 52 * c, cy: -52 * s, r: 7, fill: "var(--point)", stroke: "var(--paper)", id: "handle" }));
    words("dial-said", `Embeddings of all tokens, coordinates 1 and ${half + 1} of ${form.width}. Turn them by the knob, or below.`);
  }

  function dialHands() {
    let held = false;
    const svg = byId("dial");
    const turnTo = (event) => {
      const box = svg.getBoundingClientRect();
      const radians = Math.atan2(box.top + box.height / 2 - event.clientY, event.clientX - box.left - box.width / 2);
      settings.turn = Math.max(-16, Math.min(16, Math.round(8 * Math.tan(radians / 2))));
      changed();
    };
    svg.addEventListener("pointerdown", (event) => { held = true; svg.setPointerCapture(event.pointerId); turnTo(event); });
    svg.addEventListener("pointermove", (event) => { if (held) turnTo(event); });
    for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, () => { held = false; });
  }

  // ---- exercises

  const MOVES = { turn: "the stream was turned", gains: "gains were moved", heads: "heads were permuted", rotary: "rotary rows were turned",
    scores: "queries were scaled against keys", values: "values were turned", neurons: "neurons were permuted", ups: "up was scaled against down" };

  function open(number) {
    incident = number;
    chosen = null;
    settings = fresh();
    byId("fault").value = "nothing";
    byId("exercise").hidden = number === null;
    byId("breaking").hidden = number !== null;
    document.body.classList.toggle("asking", number !== null);
    for (const [i, button] of [...byId("choices").children].entries()) button.setAttribute("aria-pressed", i === number);
    told("");
    if (number !== null) {
      words("symptom", `${number + 1}. ${model.incidents[number].symptom}`);
      byId("exercise").scrollIntoView({ block: "start" });
      byId("exercise").focus({ preventScroll: true });
    }
    changed();
  }

  function told(text, solved = null) {
    words("told", text);
    byId("same-said").hidden = !solved;
    byId("thread").replaceChildren();
    if (!solved) return;
    const thread = Object.assign(document.createElement("a"), { href: solved.address, textContent: solved.thread });
    byId("thread").append("Told in ", thread, ". About it lightning-sym same prints:");
    words("same-said", solved.printed.join("\n"));
    byId("exercise").scrollIntoView({ block: "start" });
  }

  function wrongPieces({ fault: name }) {
    const fault = faultNamed(name);
    return [...fault.steps.map(({ piece }) => piece), ...fault.also];
  }

  function guess(piece) {
    const asked = model.incidents[incident], wrong = wrongPieces(asked);
    const right = piece === null ? !wrong.length : wrong.includes(piece);
    if (right) {
      byId("choices").children[incident].classList.add("solved");
      told(`Yes. ${asked.happened}`, asked);
      byId("exercise").focus({ preventScroll: true });
    } else if (piece === null) told("Something is wrong: theirs has other logits.");
    else told(found.differ.includes(piece) ? `Not ${called(piece)}: a move makes yours equal to it.` : `Not ${called(piece)}: it is equal to yours.`);
  }

  function exercises() {
    for (const id of ["incidents", "waiting"]) byId(id).hidden = !model.incidents.length;
    byId("choices").replaceChildren(...model.incidents.map(({ level }, i) => {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "exercise", textContent: `${i + 1} ${"●".repeat(level)}` });
      button.setAttribute("aria-label", `exercise ${i + 1}, ${LEVELS[level]}`);
      button.addEventListener("click", () => open(i));
      return button;
    }));
    byId("hint").addEventListener("click", () => {
      const { settings: there } = model.incidents[incident];
      const made = Object.keys(MOVES).filter((name) => `${there[name]}` !== `${model.rest[name]}`).map((name) => MOVES[name]);
      told(made.length ? `Besides, rightly: ${made.join(", ")}.` : "Besides, nothing was done: what differs is what is wrong.");
    });
    byId("moves").addEventListener("click", () => { settings = structuredClone(model.incidents[incident].settings); changed(); });
    byId("guess").addEventListener("click", (event) => {
      if (byKeyboard(event)) pictures[chosen].button.focus();
      guess(chosen);
    });
    byId("none").addEventListener("click", () => guess(null));
    byId("leave").addEventListener("click", () => {
      const left = byId("choices").children[incident];
      open(null);
      left.focus();
    });
  }

  const changed = Page.whenChanged(() => {
    found = state();
    sliders();
    show(found);
    tell(found);
    dial();
  });

  function start() {
    words("whose", model.incidents.length ? "A language model of two layers, small enough to see." : `${model.name}: your model.`);
    tiles();
    controls();
    exercises();
    dialHands();
    Page.onTheme(changed);
    changed();
  }

  start();
  return { model, state: () => state(), set: (given) => { settings = { ...fresh(), ...given }; changed(); }, open };
})();
