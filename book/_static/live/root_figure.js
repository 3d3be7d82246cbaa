/* Random queries and keys: as they grow wider, their scores spread, the
   softmax hardens and its gradient vanishes; the root prevents all three. */

"use strict";

(() => {
  const { svg, figure, slider, drawing, percent } = course.ui;
  const [QUERIES, KEYS, WIDEST, SEED] = [99, 16, 10, 2017];
  const SPAN = 96; // the largest score of the axis
  const LEAST = 1e-12; // the smallest gradient of the graph
  const HEIGHT = 440; // pixels of the drawing

  /* Normal numbers: xorshift of 32 bits (Marsaglia 2003), turned into pairs by
     Box and Muller (1958). */
  function normals(seed) {
    let [state, kept] = [seed, null];
    const uniform = () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) / 2 ** 32;
    };
    return () => {
      if (kept !== null) {
        const value = kept;
        kept = null;
        return value;
      }
      const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
      const angle = 2 * Math.PI * uniform();
      kept = radius * Math.sin(angle);
      return radius * Math.cos(angle);
    };
  }

  /* For each query, and each width 2 ** i, the scores of its keys: products of
     their first 2 ** i numbers. */
  function drawScores() {
    const next = normals(SEED);
    return Array.from({ length: QUERIES }, () => {
      const query = Array.from({ length: 2 ** WIDEST }, next);
      const found = Array.from({ length: WIDEST + 1 }, () => []);
      for (let key = 0; key < KEYS; key++) {
        let [sum, at] = [0, 0];
        found.forEach((scores, i) => {
          for (; at < 2 ** i; at++) sum += query[at] * next();
          scores.push(sum);
        });
      }
      return found;
    });
  }

  /* The weights, how each reacts to its own score, and the norm of the whole
     Jacobian; 1 − a is the sum of the others, which keeps its digits. */
  function softmax(scores) {
    const largest = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - largest));
    const sum = powers.reduce((a, b) => a + b);
    const weights = powers.map((power) => power / sum);
    const slopes = weights.map((a, i) =>
      weights.reduce((total, b, j) => total + (i === j ? 0 : a * b), 0));
    let squares = 0;
    weights.forEach((a, i) => weights.forEach((b, j) => {
      squares += i === j ? slopes[i] ** 2 : (a * b) ** 2;
    }));
    return { weights, slopes, norm: Math.sqrt(squares) };
  }

  const median = (values) =>
    values.toSorted((a, b) => a - b)[(values.length - 1) / 2];

  const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const signed = (value) => value.toFixed(1).replace("-", "−");

  /* 0.31, or 4.2 × 10⁻⁷. */
  function small(value) {
    if (value >= 0.001) return value.toPrecision(2);
    const [digits, power] = value.toExponential(1).split("e-");
    const raised = [...power].map((digit) => SUPERSCRIPT[digit]).join("");
    return `${digits} × 10⁻${raised}`;
  }

  function start(root) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const scores = drawScores();
    const scaled = (values, i, divided) =>
      values.map((value) => (divided ? value / Math.sqrt(2 ** i) : value));
    const typical = [false, true].map((divided) =>
      Array.from({ length: WIDEST + 1 }, (_, i) => median(scores.map((one) =>
        softmax(scaled(one[i], i, divided)).norm))));
    let query = 0;
    root.classList.add("is-live");
    find("app").hidden = false;

    const width = slider("Width of a key", { max: WIDEST, value: 2 },
      () => show(), (i) => `${2 ** i}`);
    find("sliders").append(width.label);
    const box = find("root");

    const now = () => {
      const i = width.value;
      const values = scaled(scores[query][i], i, box.checked);
      return { i, values, ...softmax(values) };
    };
    const text = (x, y, words, anchor = "start", name = "is-small") =>
      svg("text", { x, y, "text-anchor": anchor, class: name }, words);
    const path = (d, name) => svg("path", { d, class: name });

    /* One mark for each score, and the band of ±√d or, divided, ±1. */
    function drawScale({ i, values }, best, side) {
      const x = (score) => side / 2 + (score / SPAN) * (side / 2 - 16);
      const size = box.checked ? 1 : Math.sqrt(2 ** i);
      return [
        text(0, 14, "scores", "start", ""),
        text(side, 14, box.checked ? "typical: ±1"
          : `typical: ±√${2 ** i} = ±${Number(size.toFixed(1))}`, "end"),
        svg("rect", { x: x(-size), y: 24, width: x(size) - x(-size), height: 34,
          class: "lv-band" }),
        path(`M${x(-SPAN)} 58H${x(SPAN)}`, "lv-axis"),
        ...values.map((score, key) => path(
          `M${x(Math.max(-SPAN, Math.min(SPAN, score)))} 28V58`,
          `lv-score ${key === best ? "is-now" : ""}`)),
        ...[-90, 0, 90].map((at) => text(x(at), 74, signed(at).slice(0, -2),
          "middle")),
      ];
    }

    /* A bar up for each weight, and one down for its reaction. */
    function drawBars({ weights, slopes }, best, side) {
      const step = side / KEYS;
      const bar = (key, y, height, name) => svg("rect", {
        x: key * step + 2, y, width: step - 4, height,
        class: `${name} ${key === best ? "is-now" : ""}` });
      return [
        text(0, 106, "weights a", "start", ""),
        text(side, 106, `the largest: ${percent(weights[best])}`, "end"),
        path(`M0 206H${side}M0 212H${side}`, "lv-axis"),
        ...weights.map((a, key) =>
          bar(key, 206 - 90 * a, 90 * a, "lv-weight")),
        ...slopes.map((slope, key) =>
          bar(key, 212, 160 * slope, "lv-slope")),
        text(0, 270, "a (1 − a): how each weight reacts to its own score"),
      ];
    }

    /* The middle query at each width, with the root and without, and this. */
    function drawGradient({ i, norm }, side) {
      const x = (at) => 46 + (at / WIDEST) * (side - 60);
      const y = (value) => 314 +
        (Math.log10(Math.max(value, LEAST)) / Math.log10(LEAST)) * 96;
      const line = (values) => `M${values.map((value, at) =>
        `${x(at)} ${y(value)}`).join("L")}`;
      const [on, off] = [Number(box.checked), Number(!box.checked)];
      return [
        text(0, 296, "gradient that the softmax lets back, at each width", "start", ""),
        path(`M46 ${y(1)}V${y(LEAST)}H${side}`, "lv-axis"),
        ...[[1, "1"], [1e-4, "10⁻⁴"], [1e-8, "10⁻⁸"], [LEAST, "10⁻¹²"]]
          .map(([value, name]) => text(40, y(value) + 4, name, "end")),
        ...[0, 2, 4, 6, 8, 10].map((at) =>
          text(x(at), 428, 2 ** at, "middle")),
        path(line(typical[off]), "lv-line is-other"),
        path(line(typical[on]), "lv-line"),
        svg("circle", { cx: x(i), cy: y(norm), r: 6, class: "lv-ball is-now" }),
      ];
    }

    const redraw = drawing(find("drawing"), "Scores, weights and gradient",
      (side) => {
        const found = now();
        const best = found.weights.indexOf(Math.max(...found.weights));
        return { height: HEIGHT, shapes: [...drawScale(found, best, side),
          ...drawBars(found, best, side), ...drawGradient(found, side)] };
      });

    function show() {
      redraw();
      const { i, values, weights, norm } = now();
      find("status").textContent =
        `Width ${2 ** i}: the scores reach from ${signed(Math.min(...values))} ` +
        `to ${signed(Math.max(...values))}, and the best of ${KEYS} keys gets ` +
        `${percent(Math.max(...weights))}. Of the gradient ${small(norm)} ` +
        "comes back through the softmax; " +
        `the median of ${QUERIES} queries is ` +
        `${small(typical[Number(box.checked)][i])}.`;
    }

    box.addEventListener("change", show);
    find("another").addEventListener("click", () => {
      query = (query + 1) % QUERIES;
      show();
    });
    show();
  }

  figure("root", start);
})();
