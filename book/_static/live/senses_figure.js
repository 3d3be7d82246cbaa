/* One word, several meanings: where its vector lies in the encoder, layer by
   layer, on the plane through the means of its senses. */

"use strict";

(() => {
  const { h, svg, still, figure, marked, slider, drawing, translator } =
    course.ui;
  const PACE = 650; // milliseconds for a layer
  const ROOM = 0.15; // of the board's width, beside what lies on it
  const [ABOVE, BELOW] = [64, 48]; // pixels for names
  const FORM = "play(?:s|ed|ing)?"; // the piece “play”, or it and one more

  /* Points of a path up to depth t, which may lie between two layers. */
  function walked(path, t) {
    const [whole, rest] = [Math.floor(t), t % 1];
    const points = path.slice(0, whole + 1);
    if (rest) points.push([0, 1].map((j) =>
      path[whole][j] + rest * (path[whole + 1][j] - path[whole][j])));
    return points;
  }

  const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

  const nearest = (means, point) => {
    const apart = means.map((mean) => distance(mean, point));
    return apart.indexOf(Math.min(...apart));
  };

  /* The part of a polygon that is nearer to one point than to another. */
  function nearer(polygon, one, other) {
    const side = (p) => distance(p, other) ** 2 - distance(p, one) ** 2;
    return polygon.flatMap((p, i) => {
      const q = polygon[(i + 1) % polygon.length];
      const [a, b] = [side(p), side(q)];
      const found = a >= 0 ? [p] : [];
      if (a * b < 0)
        found.push([0, 1].map((j) => p[j] + (a / (a - b)) * (q[j] - p[j])));
      return found;
    });
  }

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const radios = [...root.querySelectorAll('input[type="radio"]')];
    const [field, go, progress] = ["text", "go", "progress"].map(find);
    const { senses, means } = data;
    const sentences = [...data.sentences];
    const layers = sentences[0].path.length - 1;
    const points = [...means, ...sentences.flatMap(({ path }) => path)];
    const [left, low] = [0, 1].map((j) => Math.min(...points.map((one) => one[j])));
    const [right, high] = [0, 1].map((j) => Math.max(...points.map((one) => one[j])));
    const centre = (left + right) / 2;
    let chosen = sentences[0];
    let [depth, run, told] = [layers, 0, ""];

    root.classList.add("is-live");
    find("app").hidden = false;

    const layer = slider("Layer", { max: layers, value: layers },
      (value) => { run++; show(value); }, (value) => `${value} of ${layers}`);
    find("sliders").append(layer.label);

    /* The names of the senses, each in the corner that is nearest. */
    const names = (at, width, height) => senses.flatMap((sense, k) => {
      const [mx, my] = at(means[k]);
      const [x, anchor] = mx < width / 2 ? [12, "start"] : [width - 12, "end"];
      const y = my < height / 2 ? 28 : height - 28;
      const word = svg("tspan", { lang: "ja", class: "is-large" }, sense.word);
      return [
        svg("text", { x, y, "text-anchor": anchor }, word, ` ${sense.reading}`),
        svg("text", { x, y: y + 17, "text-anchor": anchor, class: "is-small" },
          sense.gloss),
      ];
    });

    const nearestOf = ({ path }) => nearest(means, path[layers]);

    const redraw = drawing(find("board"), data.label, (width) => {
      const unit = (width * (1 - 2 * ROOM)) / (right - left);
      const height = unit * (high - low) + ABOVE + BELOW;
      const at = ([x, y]) =>
        [width / 2 + unit * (x - centre), ABOVE + unit * (high - y)];
      const join = (some) => some.map((one) => one.join(" ")).join("L");
      const spot = (point, r, name) =>
        svg("circle", { cx: at(point)[0], cy: at(point)[1], r, class: name });
      const line = (path, name) => svg("path",
        { d: `M${join(walked(path, depth).map(at))}`, class: name });
      const centres = means.map(at);
      const corners = [[0, 0], [width, 0], [width, height], [0, height]];
      const ends = chosen && depth === layers && nearestOf(chosen);
      const regions = centres.map((mean, k) => svg("path", {
        d: `M${join(centres.reduce((some, other) => other === mean
          ? some : nearer(some, mean, other), corners))}Z`,
        class: k === ends ? "lv-region is-now" : "lv-region",
      }));
      const cloud = data.train.map((one) => `M${at(one).join(" ")}h0`).join("");
      const others = sentences.filter((one) => one !== chosen);
      const first = spot(sentences[0].path[0], 6, "lv-start");
      const mine = () => {
        const passed = walked(chosen.path, depth);
        const [x, y] = at(passed.at(-1));
        const side = x < width / 2 ? 1 : -1;
        return [
          line(chosen.path, "lv-trail is-now"),
          ...passed.slice(1, -1).map((point) => spot(point, 3, "lv-step")),
          first,
          spot(passed.at(-1), 8, "lv-end"),
          depth > 0 && svg("text", { x: x + 13 * side, y: y + 4,
            "text-anchor": side > 0 ? "start" : "end", class: "is-chosen" },
          chosen.label),
        ];
      };
      const [sx, sy] = at(sentences[0].path[0]);
      return {
        height,
        shapes: [
          ...regions,
          svg("path", { d: cloud, class: "lv-cloud" }),
          ...others.map(({ path }) => line(path, "lv-trail")),
          ...others.map(({ path }) =>
            spot(walked(path, depth).at(-1), 4, "lv-other")),
          ...(chosen ? mine() : [first]),
          svg("text", { x: sx, y: sy + 22, "text-anchor": "middle",
            class: "is-chosen" }, "play"),
          svg("text", { x: sx, y: sy + 38, "text-anchor": "middle",
            class: "is-small" }, "before layer 1"),
          ...names(at, width, height),
        ],
      };
    });

    /* The verb that is written, if it is one of the three and another one. */
    function otherVerb({ words }) {
      const written = words.map(([piece]) => piece).join("");
      const [verb, more] = senses.filter(({ shown }) =>
        new RegExp(shown).test(written));
      return !more && verb !== senses[nearestOf(chosen)] && verb;
    }

    function show(value) {
      depth = value;
      const passed = Math.floor(value);
      if (layer.value !== passed) layer.value = passed;
      redraw();
      if (told !== (told = statusOf(passed)))
        find("status").replaceChildren(...marked(told));
    }

    function statusOf(passed) {
      if (!chosen) return "";
      if (!passed)
        return "Before layer 1, “play” is the same vector in every sentence.";
      if (passed < layers)
        return `After layer ${passed}, the words around “play” have moved it.`;
      const { word, reading } = senses[nearestOf(chosen)];
      const other = otherVerb(chosen);
      return `After layer ${layers}, “play” is nearest to ${word}, ${reading}` +
        (other ? `, but the model writes ${other.word}.` : ".");
    }

    /* Move from the bottom to the top, one layer after the other. */
    async function move() {
      const mine = ++run;
      if (!chosen) return;
      const began = performance.now();
      for (let t = 0; t < layers && !still.matches;) {
        show(t);
        const now = await new Promise(requestAnimationFrame);
        if (mine !== run) return;
        t = Math.max(0, now - began) / PACE;
      }
      show(layers);
    }

    /* What is written is there at once. */
    function choose(sentence) {
      chosen = sentence;
      const [before, word, after] =
        sentence.text.split(RegExp(`\\b(${FORM})\\b(.*)`, "i"));
      find("english").replaceChildren(before, h("mark", {}, word), after);
      find("written").replaceChildren(...sentence.words.map(
        ([piece, gloss, isVerb]) => h("span",
          { class: isVerb ? "lv-word is-now" : "lv-word" },
          h("span", { lang: "ja" }, piece), gloss && h("small", {}, ...marked(gloss)))));
      show(layers);
    }

    /* Nothing of a sentence is left. */
    function clear() {
      for (const radio of radios) radio.checked = false;
      for (const name of ["english", "written"]) find(name).replaceChildren();
      sentences.length = data.sentences.length;
      [chosen, depth] = [null, layers];
      run++;
      show(layers);
    }

    /* The word's vectors in the encoder, as points of the plane. */
    function pathOf(parts, place) {
      const names = Array.from({ length: layers }, (_, i) =>
        `encoder.layers.${i}.add_norm_2`);
      return ["src_embedding", ...names].map((name) => {
        const vector = row(parts[name], place).map((value, i) =>
          value - data.middle[i]);
        return data.axes.map((axis) => dot(axis, vector));
      });
    }

    async function own(written) {
      const model = translator("en-ja", data.folder);
      const say = (words) => { find("own").textContent = words; };
      const text = fromPlain(written, "en");
      const words = text.split(" ");
      const number = words.findIndex((word) => RegExp(`^${FORM}$`).test(word));
      clear();
      if (number < 0)
        return say("Write an English sentence with “play”, “plays”, “played” " +
          "or “playing” in it.");
      go.disabled = true;
      try {
        progress.hidden = model.share === 1;
        await model.load(() => {
          say(`Loading the model, ${model.arrived}`);
          progress.value = model.share;
        });
        say("Translating …");
        const { pieces } = await model.ask("encode", { text });
        const found = await model.ask("translate", { text, parts: true });
        const plain = toPlain(found.text, "ja");
        const begin = pieces.flatMap((piece, i) =>
          piece.startsWith("\u2581") ? i : []);
        const path = pathOf(found.parts[0], begin[number]);
        sentences.push({
          text: written, path, label: "yours",
          words: [[plain, course.Stage.glossed(plain, data.gloss)]],
        });
        choose(sentences.at(-1));
        move();
        const rest = words[number].slice("play".length);
        say(rest && `The model reads “play” and “${rest}”. ` +
          "The vector is that of “play”.");
        go.textContent = "Try it";
      } catch (error) {
        say(error.message);
        go.textContent = "Try again";
      }
      progress.hidden = true;
      go.disabled = false;
    }

    radios.forEach((radio, i) => {
      radio.addEventListener("change", () => {
        choose(data.sentences[i]);
        move();
      });
    });
    find("again").addEventListener("click", move);
    find("form").addEventListener("submit", (event) => {
      event.preventDefault();
      own(field.value);
    });
    choose(chosen);
    new IntersectionObserver(([seen], watch) => {
      if (!seen.isIntersecting) return;
      watch.disconnect();
      move();
    }, { threshold: 0.6 }).observe(find("board"));
  }

  figure("senses", start);
})();
