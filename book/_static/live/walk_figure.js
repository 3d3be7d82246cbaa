/* The picture of the whole, stepped with one sentence: the part at work is
   lit, its vectors are strips of colour, ribbons lead to what they attend to,
   and the decoder's loop comes round. */

"use strict";

(() => {
  const { number } = course.Film;
  const { h, svg, still, figure, marked, percent, slider, translator, withModels } =
    course.ui;
  const SENTENCE = "emi plays the piano .";
  const ASKER = 1; // plays, whose vectors the encoder's boxes show
  const WIDTH = 32; // of each vector's numbers, so many are drawn
  const WIDEST = 12; // pixels of a ribbon with all the weight
  const PACE = 2200; // milliseconds a step, when playing
  const E = ".tf-encoder ";
  const D = ".tf-decoder ";
  /* A box, and the one above it, where what it made is added. */
  const added = (box) => `${box}, ${box} + path + path + a`;
  const O = ".tf-output ";
  const LINEAR = O + '[href^="02"]';
  /* Boxes of the picture, by the names of their reels; of some of a kind which,
     and for the head that is seen first, or the scene. */
  const BOXES = [
    [E + '[href^="02"]', "source"],
    ['[href^="03"]', "positions"],
    [E + '[href^="07"]', "self", { head: 0 }],
    [E + '[href^="10"]', "selfAbove", { head: 2 }],
    [E + '[href^="08"]', "norm1", { nth: 0 }],
    [E + '[href^="08"]', "norm2", { nth: 1 }],
    [E + '[href^="09"]', "forward"],
    [D + '[href^="02"]', "target"],
    [D + '[href^="06"]', "masked", { head: 3 }],
    [D + '[href^="04"]', "cross", { head: 1 }],
    [D + '[href^="10"]', "crossAbove", { head: 0 }],
    [D + '[href^="08"]', "masked1", { nth: 0 }],
    [D + '[href^="08"]', "cross2", { nth: 1 }],
    [D + '[href^="08"]', "forward3", { nth: 2 }],
    [D + '[href^="09"]', "targetForward"],
    [LINEAR, "chosen", { scene: 1 }],
    [O + '[href^="12"]', "chosen", { scene: 2 }],
    [O + '[href^="13"]', "chosen", { scene: 3 }],
  ];
  const LOOP = `${LINEAR}, ${LINEAR} + path + a, ${O}[href^="13"]`;

  /* The mean of some heads' weights: a row for each query. */
  function mean(weights, kind, layer = null) {
    const chosen = weights.filter((one) =>
      one.kind === kind && (layer === null || one.layer === layer));
    const rows = [];
    for (const [query, heads] of Map.groupBy(chosen, (one) => one.query))
      rows.push({
        query,
        shares: Array.from(heads[0].weights, (_, key) =>
          heads.reduce((sum, one) => sum + one.weights[key], 0) / heads.length),
      });
    return rows.sort((a, b) => a.query - b.query).map(({ shares }) => shares);
  }

  /* Matrices of one row each, below one another. */
  const below = (matrices) => ({
    rows: matrices.length,
    cols: matrices[0].cols,
    data: Float32Array.from(matrices.flatMap(({ data }) => [...data])),
  });

  /* A piece that is a word, with what it means. */
  function withMeaning({ piece }, gloss) {
    const { shown, meaning } = course.Stage;
    const translated = meaning(piece, gloss);
    return /\p{L}/u.test(translated ?? "") && piece !== "</s>"
      ? `${shown(piece)} (${translated})` : shown(piece);
  }

  /* Each step: what is lit, which vectors are shown (matrix, with a label for
     each row), what they attend to (asked, and looks: a row of weights for the
     last rows of the matrix), the likeliest words, and what happens. */
  function stepsOf(parts, answers, gloss) {
    const words = [...SENTENCE.split(" "), "eos"];
    const [encoder, ...tokens] = parts;
    const own = mean(encoder.weights, "encoder", 0);
    /* The word that is attended to most, with its share. */
    const most = (shares) => {
      const at = shares.indexOf(Math.max(...shares));
      return `${words[at] === "." ? "the full stop" : words[at]} ` +
        `(${percent(shares[at])})`;
    };
    const found = [
      [E + '[href^="02"]', "src_embedding",
        "Each word becomes a vector of 128 numbers, its row in a table. So do " +
        "the full stop and eos, the mark for the end."],
      ['[href^="03"]', "src_positions",
        "A pattern for the position is added to each vector. So the model " +
        "knows that emi comes first."],
      [added(E + '[href^="07"]'), "encoder.layers.0.add_norm_1",
        "Self-attention: each word gets a mix of all the words. Plays takes most " +
        `from ${most(own[ASKER])}, the mean of four attentions that work side by ` +
        "side. Add and norm: the mix is added to the vector of the word, and the " +
        "sum is rescaled.",
        { asked: words, looks: own }],
      [added(E + '[href^="09"]'), "encoder.layers.0.add_norm_2",
        "Feed-forward: the same small network changes each vector, and here " +
        "no word looks at another. Then add and norm again."],
      [E + '[href^="10"]', "encoder.layers.1.add_norm_2",
        "A second layer does both again. Its vectors are the memory: all that " +
        "the decoder will see of the English sentence."],
    ].map(([lit, name, said, more]) => (
      { lit, said, matrix: encoder[name], labels: words, written: 0, ...more }));

    const named = (answer) => withMeaning(answer, gloss);
    const first = tokens[0];
    const cross = mean(first.weights, "cross", 0);
    for (const [lit, name, said, more] of [
      [added(D + '[href^="06"]'), "decoder.layers.0.add_norm_1",
        "The decoder has written nothing, so it begins with bos, the mark for " +
        "the beginning. Masked self-attention shows it only what is written: " +
        "bos itself.",
        { asked: ["bos"], looks: mean(first.weights, "self", 0) }],
      [added(D + '[href^="04"]'), "decoder.layers.0.add_norm_2",
        "Cross-attention: bos looks at the memory, the English sentence, and " +
        `there mostly at ${most(cross[0])}.`, { asked: words, looks: cross }],
      [added(D + '[href^="09"]'), "decoder.layers.0.add_norm_3",
        "Feed-forward, and a second layer of all three. The vector at bos now " +
        "says which word should come first."],
    ])
      found.push({ lit, said, matrix: first[name], labels: ["bos"], written: 0,
        ...more });

    const labels = ["bos", ...answers.map(named)];
    const last = "decoder.layers.1.add_norm_3";
    answers.forEach((answer, i) => {
      const looks = mean(tokens[i].weights, "cross");
      const share = percent(answer.best[0].share);
      const read = i && named(answers[i - 1]);
      const [first, second] = answer.best;
      const computed = "Linear: the vector is compared with a row for each of 579 " +
        `words. ${named(answer)} scores most, ${number(first.logit)}, and ` +
        `${named(second)} has ${number(second.logit)}. Softmax: the scores become ` +
        `probabilities, ${share} for the first.`;
      found.push({
        lit: i ? `${D}a, ${LOOP}` : LOOP,
        matrix: below(tokens.slice(0, i + 1).map((token) => token[last])),
        labels: labels.slice(0, i + 1),
        asked: words, looks, written: i + 1,
        best: answer.best.map((one) => `${named(one)} ${percent(one.share)}`),
        said: (i === 0 ? ""
          : (i === 1
            ? `Round again: the decoder reads bos and ${read}. `
            : `The decoder reads ${read} too. `) +
            `It attends most to ${most(looks[0])}. `) +
          computed + (answer.piece === "</s>" ? " So the sentence ends." : ""),
      });
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

  /* From the last rows of the strips to the words, in shares of the height;
     the fewer of them stand in the middle. */
  function ribbons(rows, looks, tallest) {
    const height = (row, count) =>
      ((tallest - count) / 2 + row + 0.5) / tallest;
    return looks.flatMap((shares, i) => shares.map((share, key) => {
      const from = height(rows - looks.length + i, rows);
      const to = height(key, shares.length);
      return share < 0.03 ? null : svg("path", {
        d: `M0 ${from}C0.5 ${from} 0.5 ${to} 1 ${to}`,
        "stroke-width": Math.max(1, WIDEST * share),
        class: share === Math.max(...shares) ? "is-now" : "",
      });
    })).filter(Boolean);
  }

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const frame = find("window");
    const drawing = frame.querySelector("svg");
    const model = translator("grammar", data.folder);
    const film = new course.Film(root);
    let [steps, words, at, playing] = [[], [], 0, false];
    const step = slider("Step", { value: 0 }, (to) => show(to),
      (value) => `${value + 1} of ${steps.length}`);
    find("sliders").append(step.label);
    const spans = (all) => all.map((one) => h("span", {}, ...marked(one)));

    function show(to) {
      at = Math.min(Math.max(to, 0), steps.length - 1);
      const { lit, said, matrix, labels, written, best = [] } = steps[at];
      const { asked = [], looks = [] } = steps[at];
      for (const link of drawing.querySelectorAll(".is-lit"))
        link.classList.remove("is-lit");
      const shown = [...drawing.querySelectorAll(lit)];
      for (const link of shown) link.classList.add("is-lit");
      centre(shown);
      strips(find("strips"), matrix);
      find("labels").replaceChildren(...spans(labels));
      find("asked").replaceChildren(...spans(asked));
      const tallest = Math.max(matrix.rows, asked.length);
      find("rows").style.setProperty("--rows", matrix.rows);
      find("rows").style.setProperty("--tallest", tallest);
      find("ribbons").replaceChildren(
        ...ribbons(matrix.rows, looks, tallest));
      find("shape").textContent = `${matrix.rows} × ${matrix.cols}`;
      find("said").replaceChildren(...marked(said));
      find("best").parentElement.hidden = !best.length;
      find("best").replaceChildren(...spans(best));
      find("written").replaceChildren(...spans(
        written ? words.slice(0, written) : ["nothing yet"]));
      step.value = at;
      find("back").disabled = at === 0;
      find("next").disabled = at === steps.length - 1;
    }

    /* What is lit comes into the middle of the picture's window; of the whole
       loop, where a word is chosen. */
    function centre(lit) {
      const chosen = lit.filter((one) => one.matches(LOOP));
      const boxes = (chosen.length ? chosen : lit).map((one) =>
        one.getBoundingClientRect());
      const top = Math.min(...boxes.map((box) => box.top));
      const bottom = Math.max(...boxes.map((box) => box.bottom));
      const { top: from, height } = frame.getBoundingClientRect();
      frame.scrollBy({ top: (top + bottom - height) / 2 - from,
        behavior: still.matches ? "instant" : "smooth" });
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

    /* A box that is pressed opens below the picture, for the token at hand. */
    async function openBox(link, make, { head, scene = 0 }, nHeads) {
      const [name, chapter] = link.getAttribute("aria-label").split(/: |：/);
      const token = Math.max(0, steps[at].written - 1);
      find("box").textContent = name;
      find("chapter").textContent = chapter[0].toUpperCase() + chapter.slice(1);
      find("chapter").href = link.getAttribute("href");
      showBox(true);
      await course.boxes.withHeads(root, head === undefined ? 0 : nHeads, head,
        async (chosen) => film.load(await make(token, chosen), scene));
      find("opened").scrollIntoView({ block: "nearest" });
    }

    function makeOpenable(open, nHeads) {
      for (const [selector, name, more = {}] of BOXES) {
        const link = drawing.querySelectorAll(selector)[more.nth ?? 0];
        link.setAttribute("role", "button");
        link.onclick = (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          openBox(link, open[name], more, nHeads);
        };
      }
    }

    function showBox(isOpen) {
      film.stop();
      find("opened").hidden = !isOpen;
      find("seen").hidden = isOpen;
    }

    find("close").addEventListener("click", () => showBox(false));
    find("next").addEventListener("click", () => show(at + 1));
    find("back").addEventListener("click", () => show(at - 1));
    find("play").addEventListener("click", play);
    withModels(root, [model], async () => {
      const { parts, answers, nHeads, open } =
        await course.boxes.opened(model, SENTENCE, ASKER);
      words = answers.map((answer) => withMeaning(answer, data.gloss));
      steps = stepsOf(parts, answers, data.gloss);
      makeOpenable(open, nHeads);
      step.max = steps.length - 1;
      show(0);
      requestAnimationFrame(() => show(at)); // once the picture has its window
    });
  }

  figure("walk", start);
})();
