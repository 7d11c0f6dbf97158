// What the pages share: formulas that change, labels beside sliders, drawing when something has changed.
"use strict";

const Page = (() => {
  const MATH = "http://www.w3.org/1998/Math/MathML", SVG = "http://www.w3.org/2000/svg";

  const byId = (id) => document.getElementById(id);

  // what Python put into the page
  const data = (id) => JSON.parse(byId(id).textContent);

  function made(space, tag, attributes, children) {
    const node = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const math = (tag, attributes, ...children) => made(MATH, tag, attributes, children);

  // a piece of a drawing
  const shape = (tag, attributes, ...children) => made(SVG, tag, attributes, children);

  function number(x) {
    const top = math("mn", {}, `${x.top < 0n ? -x.top : x.top}`);
    const positive = x.bottom === 1n ? top : math("mfrac", {}, top, math("mn", {}, `${x.bottom}`));
    return x.top < 0n ? math("mrow", {}, math("mo", { form: "prefix" }, "−"), positive) : positive;
  }

  // rows of fractions in brackets
  function matrix(rows) {
    const cells = rows.map((row) => math("mtr", {}, ...row.map((entry) => math("mtd", {}, number(entry)))));
    return math("mrow", {}, math("mo", {}, "["), math("mtable", {}, ...cells), math("mo", {}, "]"));
  }

  // a sum of multiples of monomials, given as [fraction, "x", "y", ...]; a letter may be ["x", 2], its power
  function linear(terms) {
    const shown = terms.filter(([c]) => !c.isZero());
    if (!shown.length) return math("mn", {}, "0");
    return math("mrow", {}, ...shown.flatMap(([c, ...letters], i) => {
      const unit = c.bottom === 1n && (c.top === 1n || c.top === -1n) && letters.length > 0;
      const signs = c.top < 0n ? [math("mo", i ? {} : { form: "prefix" }, "−")] : i ? [math("mo", {}, "+")] : [];
      const sized = unit ? [] : [number(c.top < 0n ? c.neg() : c)];
      const names = letters.map((letter) => Array.isArray(letter)
        ? math("msup", {}, math("mi", {}, letter[0]), math("mn", {}, `${letter[1]}`)) : math("mi", {}, letter));
      return [...signs, ...sized, ...names];
    }));
  }

  // a letter, perhaps with a prime, or a sign
  function symbol(text) {
    if (!/^[A-Za-zφλτ]′?$/.test(text)) return math("mo", text === "," ? { rspace: "0.6em" } : {}, text);
    if (text.length === 1) return math("mi", {}, text);
    return math("msup", {}, math("mi", {}, text[0]), math("mrow", {}, math("mspace", { width: "0.12em" }), math("mo", {}, "′")));
  }

  // put formulas into an element, lists of parts, between which a line may break: strings are letters or signs
  function formulas(id, ...lists) {
    const made = lists.map((parts) => parts.map((part) => (typeof part === "string" ? symbol(part) : part)));
    byId(id).replaceChildren(...made.flatMap((nodes) => [math("math", { display: "inline" }, ...nodes), " "]));
  }

  const formula = (id, ...parts) => formulas(id, parts);

  function words(id, text) {
    if (byId(id).textContent !== text) byId(id).textContent = text;  // or screen readers say it again
  }

  // what is wrong with the boxes; what is shown of older ones fades until that is mended
  function refused(text) {
    words("refused", text);
    document.querySelector("main").classList.toggle("stale", Boolean(text));
  }

  // a colour of the style sheet as three numbers between 0 and 1
  function colour(name) {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
  }

  // calls `draw` once a frame, only when something has changed
  function whenChanged(draw) {
    let asked = false;
    return () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => { asked = false; draw(); });
    };
  }

  const onTheme = (change) => matchMedia("(prefers-color-scheme: dark)").addEventListener("change", change);

  return { byId, data, math, shape, number, matrix, symbol, linear, formula, formulas, words, refused, colour, whenChanged, onTheme };
})();
