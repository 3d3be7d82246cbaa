/* Attention in the plane: drag the query (or a key), and scores, weights and
   the mix of the values move. */

"use strict";

(() => {
  const { h, svg, figure, percent, slider } = course.ui;
  const KEYS = [[1.1513, 0], [-0.5, 0.5], [0, 1.0986]];
  const VALUES = [[4, 0], [4, 4], [0, 4]];
  const QUERY = [2, 2];
  const SIZE = 240; // units of a drawing
  const LARGEST = 4; // number of a query or key
  const STEP = 0.1; // of an arrow key
  const ARROWS = {
    ArrowRight: [STEP, 0], ArrowLeft: [-STEP, 0],
    ArrowUp: [0, STEP], ArrowDown: [0, -STEP],
  };

  const number = (value) => value.toFixed(2).replace("-", "−");

  /* From numbers to places in a drawing, and back; low and high at its ends. */
  const plane = (low, high) => ({
    x: (value) => ((value - low) / (high - low)) * SIZE,
    y: (value) => SIZE - ((value - low) / (high - low)) * SIZE,
    back: (px, py) => [
      low + (px / SIZE) * (high - low),
      low + ((SIZE - py) / SIZE) * (high - low),
    ],
  });

  function attend(query, keys, factor) {
    const scores = keys.map((key) =>
      factor * (query[0] * key[0] + query[1] * key[1]));
    const largest = Math.max(...scores);
    const positive = scores.map((score) => Math.exp(score - largest));
    const sum = positive.reduce((a, b) => a + b);
    const weights = positive.map((value) => value / sum);
    const mix = [0, 1].map((j) =>
      weights.reduce((total, weight, i) => total + weight * VALUES[i][j], 0));
    return { scores, weights, mix };
  }

  function start(root, { controls, goals, words, asked }) {
    const names = ["alive", asked];
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const query = [...QUERY];
    const keys = KEYS.map((key) => [...key]);
    const [asks, answers] = [plane(-LARGEST, LARGEST), plane(-0.5, 4.5)];
    root.classList.add("is-live");
    find("app").hidden = false;

    const [ASKS, ANSWERS] = ["query and keys", "values and their mix"];
    const board = (label, role) =>
      svg("svg", { viewBox: `-6 -6 ${SIZE + 12} ${SIZE + 12}`, role,
        "aria-label": label, class: "lv-plane" });
    const left = board(ASKS, "group");
    const right = board(ANSWERS, "img");
    const drawn = svg("g"); // anew with each move, unlike the handles
    left.classList.add("lv-drag");
    left.append(drawn);
    find("planes").append(left, right);

    const place = (to, [x, y]) => [to.x(x), to.y(y)];

    /* A point that can be dragged, or moved by the arrow keys. The board keeps
       the pointer. */
    let dragged = null;

    function move(vector, to) {
      vector.splice(0, 2, ...to.map((value) =>
        Math.min(LARGEST, Math.max(-LARGEST, value))));
      show();
    }

    function handle(vector, name, label) {
      const circle = svg("circle", {
        r: 13, class: `lv-handle lv-${name}`, tabindex: 0, role: "slider",
        "aria-label": label,
        "aria-valuemin": -LARGEST, "aria-valuemax": LARGEST,
      });
      circle.addEventListener("pointerdown", (event) => {
        dragged = vector;
        left.setPointerCapture(event.pointerId);
        event.preventDefault();
      });
      circle.addEventListener("keydown", (event) => {
        const by = ARROWS[event.key];
        if (!by) return;
        event.preventDefault();
        move(vector, vector.map((value, j) => value + by[j]));
      });
      left.append(circle);
      return { circle, vector };
    }

    left.addEventListener("pointermove", (event) => {
      if (!dragged) return;
      const at = new DOMPoint(event.clientX, event.clientY)
        .matrixTransform(left.getScreenCTM().inverse());
      move(dragged, asks.back(at.x, at.y));
    });
    left.addEventListener("lostpointercapture", () => {
      dragged = null;
    });

    const handles = controls
      ? keys.map((key, i) => handle(key, "key", `Key of ${words[i]}`)) : [];
    handles.push(handle(query, "query", "Query"));
    const sliders = names.map((name, j) => {
      const found = slider(`Query, ${name}`, { min: -LARGEST, max: LARGEST, step: 0.05 },
        (value) => move(query, query.with(j, value)), number);
      find("sliders").append(found.label);
      return found;
    });
    const boxes = [...root.querySelectorAll("[data-factor]")];
    const factor = () => boxes.reduce(
      (total, box) => total * (box.checked ? Number(box.dataset.factor) : 1), 1);
    for (const box of boxes) box.addEventListener("change", () => show());
    find("reset").addEventListener("click", () => {
      query.splice(0, 2, ...QUERY);
      keys.forEach((key, i) => key.splice(0, 2, ...KEYS[i]));
      for (const box of boxes) box.checked = false;
      show();
    });

    const arrow = (vector, name) => {
      const [x, y] = place(asks, vector);
      const [ox, oy] = place(asks, [0, 0]);
      return svg("g", { class: `lv-${name}` },
        svg("path", { d: `M${ox} ${oy}L${x} ${y}` }),
        svg("circle", { cx: x, cy: y, r: 3 }));
    };
    const text = ([x, y], word, anchor = "start") =>
      svg("text", { x, y, "text-anchor": anchor }, word);

    /* What a word must not touch: points, each with its radius. */
    const along = ([x, y], [toX, toY], r) => Array.from({ length: 25 }, (_, i) =>
      [x + (toX - x) * i / 24, y + (toY - y) * i / 24, r]);
    const written = (x, y, word) => along(
      [x - 3 * word.length, y], [x + 3 * word.length, y], 6);

    /* A word beside the end of a vector, inside the board: of six places the
       first that is clear, or the one that is least covered. */
    function beside(vector, word, taken) {
      const [x, y] = place(asks, vector);
      const half = 3 * word.length;
      const inside = (value, edge) => Math.min(SIZE - edge, Math.max(edge, value));
      const across = 14 + half;
      const places = [[across, -14], [-across, -14], [across, 14], [-across, 14],
        [0, -24], [0, 24]]
        .map(([dx, dy]) => [inside(x + dx, half), inside(y + dy, 6)]);
      const room = places.map(([cx, cy]) => Math.min(4, ...taken.map(([px, py, r]) =>
        Math.hypot(Math.max(Math.abs(px - cx) - half, 0),
          Math.max(Math.abs(py - cy) - 6, 0)) - r)));
      const [cx, cy] = places[room.indexOf(Math.max(...room))];
      taken.push(...written(cx, cy, word));
      return text([cx, cy + 4], word, "middle");
    }

    const share = (weight) => `${Math.round(100 * weight)} %`;

    function drawAsks({ weights }) {
      const [ox, oy] = place(asks, [0, 0]);
      for (const { circle, vector } of handles) {
        const [x, y] = place(asks, vector);
        const values = vector.map((value, j) => `${names[j]} ${number(value)}`);
        circle.setAttribute("cx", x);
        circle.setAttribute("cy", y);
        circle.setAttribute("aria-valuenow", vector[0].toFixed(2));
        circle.setAttribute("aria-valuetext", values.join(", "));
      }
      const taken = [
        ...along([0, oy], [SIZE, oy], 0), ...along([ox, 0], [ox, SIZE], 0),
        ...written(SIZE - 21, oy + 12, "alive →"),
        ...written(ox + 6 + 3 * asked.length, 6, asked),
        ...[query, ...keys].flatMap((vector) =>
          along([ox, oy], place(asks, vector), 2)),
        ...handles.map(({ vector }) => [...place(asks, vector), 13]),
      ];
      drawn.replaceChildren(
        svg("path", { d: `M0 ${oy}H${SIZE}M${ox} 0V${SIZE}`, class: "lv-axis" }),
        text([0, SIZE], ASKS),
        text([SIZE, oy + 16], "alive →", "end"),
        text([ox + 6, 10], `↑ ${asked}`),
        ...keys.map((key) => arrow(key, "key")),
        arrow(query, "query"),
        ...keys.map((key, i) =>
          beside(key, `${words[i]} ${share(weights[i])}`, taken)),
        beside(query, "query", taken),
      );
    }

    function drawAnswers({ weights, mix }) {
      const corners = VALUES.map((value) => place(answers, value));
      const at = place(answers, mix);
      right.replaceChildren(
        svg("polygon", { points: corners.join(" "), class: "lv-axis" }),
        ...corners.map(([x, y], i) => svg("path", {
          d: `M${at[0]} ${at[1]}L${x} ${y}`, class: "lv-value",
          "stroke-width": 1 + 9 * weights[i], "stroke-opacity": 0.6,
        })),
        ...corners.map(([cx, cy]) => svg("circle", { cx, cy, r: 6,
          class: "lv-value-dot" })),
        text([0, SIZE], ANSWERS),
        ...corners.map(([x, y], i) => text(
          [x + (i === 2 ? -4 : 20), y + (i ? -10 : 20)],
          `${words[i]} ${share(weights[i])}`, i === 2 ? "start" : "end")),
        svg("circle", { cx: at[0], cy: at[1], r: 9, class: "lv-mix" }),
      );
    }

    function show() {
      const found = attend(query, keys, factor());
      drawAsks(found);
      drawAnswers(found);
      sliders.forEach((one, j) => { one.value = query[j]; });
      find("rows").replaceChildren(...words.map((word, i) =>
        h("tr", {},
          h("th", { scope: "row" }, word),
          h("td", {}, number(found.scores[i])),
          h("td", {}, h("span", { class: "lv-bar lv-weight",
            style: `--share:${found.weights[i]}` })),
          h("td", {}, percent(found.weights[i])),
        )));
      const done = (goals ?? []).find(({ word, least }) =>
        found.weights[word] >= least);
      find("status").textContent =
        `The mix is (${found.mix.map(number).join(", ")}).` +
        (done ? ` ${done.text.replace("{}", words[done.word])}` : "");
    }

    show();
  }

  figure("plane", start);
})();
