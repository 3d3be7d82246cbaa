/* The stream of one word as a river: how large it is at each depth, and how
   much each sub-layer adds. The norm, which comes after each sum, holds it. */

"use strict";

(() => {
  const { h, svg, figure, slider, drawing, translator, withModels } =
    course.ui;
  const SENTENCE = "cats drink milk .";
  const ROW = 76; // pixels from depth to depth
  const LAYER = [["add_norm_1", "self-attention"], ["add_norm_2", "feed-forward"]];
  const DECODER_LAYER = [["add_norm_1", "self-attention"],
    ["add_norm_2", "cross-attention"], ["add_norm_3", "feed-forward"]];

  /* A vector's size: the root of the mean of its squares. */
  const size = (vector) => Math.sqrt(dot(vector, vector) / vector.length);
  const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

  /* Depth by depth: what flows in, what is added, the sum, what flows on. */
  function depthsOf(parts, side, place) {
    const vector = (name) => row(parts[name], place);
    const embedded = vector(`${side === "encoder" ? "src" : "tgt"}_embedding`);
    const placed = vector(`${side === "encoder" ? "src" : "tgt"}_positions`);
    const found = [{ name: "positions", into: embedded, sum: placed, out: placed,
      added: placed.map((value, i) => value - embedded[i]) }];
    for (const i of [0, 1])
      for (const [part, name] of side === "encoder" ? LAYER : DECODER_LAYER) {
        const where = `${side}.layers.${i}.${part}`;
        found.push({ name: `${name} ${i + 1}`, into: found.at(-1).out,
          added: vector(`${where}.sublayer`), sum: vector(`${where}.sum`),
          out: vector(where) });
      }
    return found;
  }

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const model = translator("grammar", data.folder);
    let [streams, depths] = [[], []];

    const depth = slider("Depth", { min: 0, max: 6, value: 1 }, () => show());
    find("sliders").append(depth.label);

    const redraw = drawing(find("river"), "The stream and its taps", (width) => {
      const middle = width * 0.38;
      const unit = Math.min(44, width / 9); // the river's width at size 1
      const shapes = [];
      const bed = (top, height, from, to, name) => svg("path", { class: name,
        d: `M${middle - from} ${top}L${middle - to} ${top + height}` +
          `H${middle + to}L${middle + from} ${top}Z` });
      depths.forEach(({ name, into, added, sum, out }, i) => {
        const [a, b, c] = [into, sum, out].map((v) => (size(v) * unit) / 2);
        const top = i * ROW;
        const tap = Math.max(1, size(added) * unit);
        const y = top + 32;
        shapes.push(svg("g", { class: i === depth.value ? "is-now" : "" },
          bed(top, 16, a, a, "lv-water"),
          bed(top + 16, 32, a, b, "lv-water"),
          bed(top + 48, 14, b, c, i ? "lv-norm" : "lv-water"),
          bed(top + 62, ROW - 62, c, c, "lv-water"),
          svg("path", { class: "lv-tap", "stroke-width": tap,
            d: `M${width * 0.68} ${y}H${middle + a}` }),
          svg("text", { x: width * 0.7, y: y - 4 }, name),
          svg("text", { x: width * 0.7, y: y + 13, class: "is-small" },
            `adds ${size(added).toFixed(2)}`),
          svg("text", { x: 0, y: y + 13, class: "is-small" },
            `${size(into).toFixed(2)} → ${size(out).toFixed(2)}`)));
      });
      return { height: depths.length * ROW, shapes };
    });

    function show() {
      redraw();
      const { name, into, added, sum, out } = depths[depth.value];
      const [a, b, c, d] = [into, added, sum, out].map((v) => size(v).toFixed(2));
      const norm = depth.value
        ? `The norm makes ${d} of it.` : "No norm stands here.";
      find("status").textContent =
        `Depth ${depth.value}, ${name}: a stream of size ${a} comes in, ${b} is ` +
        `added, the sum has ${c}. ${norm} ` +
        `What flows on has cosine ${cosine(into, out).toFixed(2)} with what came.`;
    }

    function choose() {
      const { parts, side, place } = streams[find("word").value];
      depths = depthsOf(parts, side, place);
      depth.max = depths.length - 1;
      show();
    }

    find("word").addEventListener("change", choose);
    withModels(root, [model], async () => {
      const steps = [];
      const { parts } = await model.ask(
        "translate", { text: SENTENCE, parts: true }, (step) => steps.push(step));
      const english = [...SENTENCE.split(" "), "eos"];
      const read = ["<s>", ...steps.slice(0, -1).map(({ piece }) => piece)];
      streams = [
        ...english.map((word, place) =>
          ({ word, side: "encoder", parts: parts[0], place })),
        ...read.map((piece, i) => ({ word: `${course.Stage.shown(piece)} ` +
          (course.Stage.meaning(piece, data.gloss) ?? ""), side: "decoder", parts: parts[i + 1], place: 0 })),
      ];
      find("word").replaceChildren(...["encoder", "decoder"].map((side) =>
        h("optgroup", { label: side },
          ...streams.map((stream, i) => stream.side === side &&
            h("option", { value: i }, stream.word)).filter(Boolean))));
      choose();
    });
  }

  figure("river", start);
})();
