/* The picture of the whole, stepped with one sentence: the part at work is
   lit, its numbers are strips of colour, and the decoder's loop comes round. */

"use strict";

(() => {
  const { h, figure, slider, translator } = course.ui;
  const SENTENCE = "cats drink milk .";
  const WIDTH = 32; // of each vector's numbers, so many are drawn
  const PACE = 1400; // milliseconds a step, when playing
  const E = '[aria-label^="Encoder, from"] ';
  const D = '[aria-label^="Decoder, from"] ';

  /* Each step: what is lit, which matrix is shown, and what happens. */
  function stepsOf(parts, steps, words, gloss) {
    const encoder = [
      [E + '[aria-label^="Embedding"]', "src_embedding",
        "Each English word becomes a vector of 128 numbers."],
      ['[aria-label^="Positional"]', "src_positions",
        "A pattern for its position is added to each vector."],
      [E + '[aria-label^="Multi-head"]', "encoder.layers.0.add_norm_1",
        "Self-attention: each word takes in what it needs from the others."],
      [E + '[aria-label^="Feed-forward"]', "encoder.layers.0.add_norm_2",
        "Feed-forward: each word works on its own."],
      [E + '[aria-label^="Encoder, N"]', "encoder.layers.1.add_norm_2",
        "A second layer does both again. This is the memory."],
    ];
    const found = encoder.map(([lit, name, said]) => ({
      lit, said, matrix: parts[0][name], labels: [...words, "eos"], written: 0,
    }));
    steps.forEach((step, i) => {
      const { shown: label, meaning: translated } = course.Stage;
      const last = [label(i ? steps[i - 1].piece : "<s>")];
      const word = label(step.piece);
      const meaning = translated(step.piece, gloss);
      const share = course.ui.percent(step.best[0].share);
      const decoder = [
        [D + '[aria-label^="Masked"]', "decoder.layers.0.add_norm_1",
          "Masked self-attention: the newest word looks at those before it."],
        [D + '[aria-label^="Cross"]', "decoder.layers.0.add_norm_2",
          "Cross-attention: it looks at the memory, the English sentence."],
        [D + '[aria-label^="Feed-forward"]', "decoder.layers.0.add_norm_3",
          "Feed-forward, and a second layer of all three."],
      ];
      const output = {
        lit: '[aria-label^="Linear"], [aria-label^="Softmax"], ' +
          '[aria-label^="Choosing"]',
        matrix: parts[i + 1]["decoder.layers.1.add_norm_3"], labels: last,
        said: `579 words get a probability. The likeliest is ${word}` +
          `${meaning ? ` (${meaning})` : ""}, ${share}.`,
        written: i + 1,
      };
      const shown = i ? [] : decoder; // from then on only what comes out
      for (const [lit, name, said] of shown)
        found.push({ lit, said, matrix: parts[i + 1][name], labels: last,
          written: i });
      found.push(output);
    });
    return found;
  }

  function strips(canvas, { rows, cols, data }) {
    canvas.width = WIDTH;
    canvas.height = rows;
    const context = canvas.getContext("2d");
    const image = context.createImageData(WIDTH, rows);
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < WIDTH; j++) {
        const value = Math.tanh(data[i * cols + j] / 1.5);
        const color = value > 0 ? [213, 94, 0] : [0, 114, 178];
        image.data.set([...color, 255 * Math.abs(value)], 4 * (i * WIDTH + j));
      }
    }
    context.putImageData(image, 0, 0);
  }

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const drawing = root.querySelector("svg");
    const model = translator("grammar", data.folder);
    let [steps, words, at, playing] = [[], [], 0, false];
    const step = slider("Step", { value: 0 }, (to) => show(to),
      (value) => value + 1);
    find("sliders").append(step.label);

    function show(to) {
      at = Math.min(Math.max(to, 0), steps.length - 1);
      const { lit, said, matrix, labels, written } = steps[at];
      for (const link of drawing.querySelectorAll(".is-lit"))
        link.classList.remove("is-lit");
      for (const link of drawing.querySelectorAll(lit))
        link.classList.add("is-lit");
      strips(find("strips"), matrix);
      find("labels").replaceChildren(
        ...labels.map((label) => h("span", {}, label)));
      find("shape").textContent = `${matrix.rows} × ${matrix.cols}`;
      find("said").textContent = said;
      find("written").textContent =
        words.slice(0, written).join(" ") || "nothing yet";
      step.value = at;
      find("back").disabled = at === 0;
      find("next").disabled = at === steps.length - 1;
    }

    async function play() {
      playing = !playing;
      find("play").textContent = playing ? "Stop" : "Play";
      if (playing && at === steps.length - 1) show(0);
      while (playing && at < steps.length - 1) {
        await new Promise((resolve) => setTimeout(resolve, PACE));
        if (playing) show(at + 1);
      }
      playing = false;
      find("play").textContent = "Play";
    }

    model.load().then(async () => {
      const answers = [];
      const { parts } = await model.ask(
        "translate", { text: SENTENCE, parts: true }, (found) =>
          answers.push(found));
      words = answers.map(({ piece }) => course.Stage.shown(piece));
      steps = stepsOf(parts, answers, SENTENCE.split(" "), data.gloss);
      root.classList.add("is-live");
      find("app").hidden = false;
      step.max = steps.length - 1;
      find("next").addEventListener("click", () => show(at + 1));
      find("back").addEventListener("click", () => show(at - 1));
      find("play").addEventListener("click", play);
      show(0);
    }, () => {});
  }

  figure("walk", start);
})();
