/* Batches as rectangles: sentences of real lengths, and the padding that makes
   them equally long. */

"use strict";

(() => {
  const { svg, figure, percent, slider } = course.ui;
  const [CELL, ROW, GAP] = [20, 6, 5]; // units of a drawing

  const inTurn = (lengths, size) =>
    Array.from({ length: Math.ceil(lengths.length / size) }, (_, i) =>
      lengths.slice(i * size, (i + 1) * size));

  const padded = (rows) => ({ rows, width: Math.max(...rows) });

  /* Batches {rows, width} of the lengths as they are shuffled. */
  const ORDERS = {
    random: (lengths, size) => inTurn(lengths, size).map(padded),
    sorted: (lengths, size) =>
      inTurn([...lengths].sort((a, b) => a - b), size).map(padded),

    /* Lengths are rounded up to a multiple of the step. All batches of a
       bucket have one shape: where a sentence is missing, a row is empty. */
    buckets(lengths, size, step) {
      const up = (length) => Math.ceil(length / step);
      const buckets = [...new Set(lengths.map(up))].sort((a, b) => a - b);
      return buckets.flatMap((bucket) => {
        const inside = lengths.filter((length) => up(length) === bucket);
        const count = Math.ceil(inside.length / size);
        const height = Math.ceil(inside.length / count);
        const row = (i) => (_, k) => inside[i + k * count] ?? 0;
        return Array.from({ length: count }, (_, i) => ({
          rows: Array.from({ length: height }, row(i)),
          width: Math.max(...inside),
        }));
      });
    },
  };

  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

  function shuffled(numbers) {
    const drawn = numbers.map((number) => [Math.random(), number]);
    return drawn.sort(([a], [b]) => a - b).map(([, number]) => number);
  }

  function start(root, { lengths, step }) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const order = find("order");
    const wide = Math.max(...lengths) * CELL;
    let now = lengths;
    root.classList.add("is-live");
    find("app").hidden = false;

    const drawing = svg("svg", { class: "lv-batches", role: "img" });
    find("batches").append(drawing);
    const size = slider("Sentences in a batch", { max: 6, value: 3 },
      () => show(), (power) => 2 ** power);
    find("sliders").append(size.label);

    function draw(batches) {
      let y = 0;
      const shapes = batches.flatMap(({ rows, width }) => {
        const top = y;
        y += rows.length * ROW + GAP;
        return [
          ...rows.flatMap((length, i) => [
            svg("rect", { x: 0, y: top + i * ROW, width: length * CELL,
              height: ROW - 1, class: "lv-real" }),
            length < width && svg("rect", { x: length * CELL, y: top + i * ROW,
              width: (width - length) * CELL, height: ROW - 1,
              class: "lv-pad" }),
          ]),
          rows.length > 2 && svg("text",
            { x: width * CELL + 6, y: top + rows.length * ROW / 2 + 4 },
            `${rows.length} × ${width}`),
        ].filter(Boolean);
      });
      drawing.setAttribute("viewBox", `0 0 ${wide + 60} ${y}`);
      drawing.replaceChildren(...shapes);
    }

    function show() {
      const most = 2 ** size.value;
      const batches = ORDERS[order.value](now, most, step);
      const places = sum(batches.map(({ rows, width }) => rows.length * width));
      const padding = places - sum(lengths);
      const shapes = new Set(batches.map(({ rows, width }) =>
        `${rows.length} × ${width}`)).size;
      const few = batches.length === 1 ? "1 batch" : `${batches.length} batches`;
      const kinds = shapes === 1 ? "1 shape" : `${shapes} shapes`;
      drawing.setAttribute("aria-label",
        `${few} as rectangles, a row a sentence; padding is orange`);
      find("status").textContent =
        `${lengths.length} sentences in ${few} of ${kinds}: ${padding} of ` +
        `${places} places are padding, ${percent(padding / places)}.`;
      draw(batches);
    }

    find("shuffle").addEventListener("click", () => {
      now = shuffled(lengths);
      show();
    });
    order.addEventListener("change", show);
    show();
  }

  figure("batch", start);
})();
