/* Reels of the trained model's boxes, with its own numbers for one word. */

"use strict";

course.boxes = (() => {
  const { given, product, moved, each, scene, lookUp, dot, turn, total, written } =
    course.reels;
  const { number } = course.Film;
  const { percent } = course.ui;

  /* Some columns of a matrix of the model, as a list of rows. */
  const rowsOf = ({ rows, cols, data }, from = 0, to = cols) =>
    Array.from({ length: rows }, (_, i) => [...data.slice(i * cols + from, i * cols + to)]);
  const strip = (name, tint, values, more) =>
    given(name, tint, values, { strip: true, ...more });
  const nth = (text, j, whose) => `${whose ? `${whose}, ` : ""}number ${j + 1}: ${text}`;

  /* Attention in one head. x: the vector that asks, by the name asks; memory:
     a row for each of words. */
  function attention({ asks, x, words, memory, said, weights, head, nHeads }) {
    const width = x.length / nHeads;
    const project = (name) =>
      ({ values: turn(rowsOf(weights[name]).slice(head * width, (head + 1) * width)) });
    const M = strip("vectors", "embed", memory, { rows: words });
    const blocks = { M, x: strip(`vector of ${asks}`, "embed", [x], { over: "M" }) };
    const make = (name, tint, id, block, matrix, more) => product(name, tint,
      [id, block], [null, project(matrix)], (i, j) =>
        `${more.rows ? more.rows[i] : asks}, number ${j + 1}`, { strip: true, ...more });
    const q = make("query", "query", "x", blocks.x, "to_query", { over: "K" });
    const K = make("keys", "key", "M", M, "to_key", { rows: words });
    const V = make("values", "value", "M", M, "to_value", {});
    V.said = (i, j) => nth(number(V.values[i][j]), j, words[i]);
    return lookUp({ q, K, V, words, asks, root: true }, {
      blocks, below: ["x"], beside: ["M"],
      scenes: [
        scene("The vectors", `${said} A strip is a vector of ${x.length} numbers, blue ` +
          "for negative and orange for positive.", ["x", "M"], [], ["x", 0, 0]),
        scene("Query and keys", `Head ${head + 1} of ${nHeads} multiplies the vectors by ` +
          `matrices of its own: a query for ${asks}, a key for each word, ${width} ` +
          `numbers each. Every number is a sum of ${x.length} products.`,
        ["x", "M", "q", "K"], [["q", "K"]], ["q", 0, 0]),
      ],
      values: scene("Values", "A third matrix makes a value for each word.",
        ["w", "V2"], [["w"], ["V2"]], ["V2", 0, 0]),
    });
  }

  /* Vectors of one word, one above the other, as [id, block, title, said]. */
  function chain(steps) {
    const blocks = Object.fromEntries(steps.map(([id, block]) => [id, block]));
    const ids = steps.map(([id]) => id);
    return {
      blocks, levels: ids.map((id) => [id]),
      scenes: steps.map(([id, , title, said], i) => scene(
        title[0].toUpperCase() + title.slice(1), said, ids.slice(0, i + 1),
        i ? [[id]] : [], [id, 0, 0], { room: ids })),
    };
  }

  const embedding = ({ word, vector }) => {
    const root = Math.sqrt(vector.length);
    const T = strip(`row of ${word}`, "embed", [vector.map((value) => value / root)]);
    return chain([
      ["T", T, "A row of the table", `The embedding is a table with a row for each word. ` +
        `This is the row of ${word}: ${vector.length} numbers.`],
      ["E", each(`times √${vector.length}`, ["T", T], (value) => value * root,
        (text) => `${text}·${number(root)}`), "Times the root of the width",
      `Each number is multiplied by √${vector.length} = ${number(root)}.`],
    ]);
  };

  /* Two vectors and their sum, and what else is done to it. */
  const sum = ([a, b, c], [x, y], [first, second, third], more = () => []) => {
    const blocks = [a, b].map((name, i) => strip(name, "embed", [[x, y][i]]));
    const both = x.map((value, j) => value + y[j]);
    const S = strip(c, "mix", [both], {
      sources: (i, j) => [["x", 0, j], ["y", 0, j]],
      said: (i, j) => nth(written([x[j], y[j]].map(number), both[j]), j),
    });
    return chain([["x", blocks[0], a, first], ["y", blocks[1], b, second],
      ["s", S, c, third], ...more(S)]);
  };

  const positions = ({ word, position, vector, added }) => sum(
    [`vector of ${word}`, `pattern of position ${position}`, "sum"],
    [vector, added.map((value, j) => value - vector[j])],
    [`The vector of ${word}, as the embedding made it.`,
      "Each position has a pattern of sines and cosines, the same for every word.",
      "The pattern is added, number by number."]);

  const addNorm = ({ word, x, sublayer, gain, bias, from }) => sum(
    [`vector of ${word}`, `what ${from} made`, "add"], [x, sublayer],
    [`The vector of ${word}, as it came to this part.`, `${from} has made this of it.`,
      "Add: both are added, number by number. The old vector goes on inside the sum."],
    (S) => {
      const [values] = S.values;
      const mean = total(values) / values.length;
      const spread = Math.sqrt(
        total(values.map((value) => (value - mean) ** 2)) / values.length + 1e-5);
      const N = each("norm", ["s", S],
        (value, i, j) => ((value - mean) / spread) * gain[j] + bias[j],
        (text, i, j) => nth(`(${text} − ${number(mean)}) ÷ ${number(spread)} · ` +
          `${number(gain[j])} + ${number(bias[j])}`.replaceAll("− −", "+ ")
            .replaceAll("+ −", "− "), j), { over: null });
      return [["n", N, "Norm", `Norm: subtract the mean, ${number(mean)}, and divide by ` +
        `the spread, ${number(spread)}. A learned factor and a learned shift follow.`]];
    });

  const feedForward = ({ word, x, up, upBias, down, downBias }) => {
    const layer = (name, tint, [id, block], weights, bias) => {
      const [from] = block.values;
      const values = weights.map((row, n) => dot(from, row) + bias[n]);
      return strip(name, tint, [values], {
        sources: () => [[id, 0, null]],
        said: (i, j) => nth(written([...from.map((value, k) =>
          `${number(value)}·${number(weights[j][k])}`), number(bias[j])], values[j]), j),
      });
    };
    const X = strip(`vector of ${word}`, "embed", [x]);
    const U = layer(`${up.length} units`, "feed", ["x", X], up, upBias);
    const R = each("without the negative ones", ["u", U], (value) => Math.max(0, value),
      (text) => `max(0, ${text})`, { over: null });
    const D = layer("output", "mix", ["r", R], down, downBias);
    const on = R.values[0].filter(Boolean).length;
    return chain([
      ["x", X, "The vector of one word", `The vector of ${word}. No other word is looked at.`],
      ["u", U, "Up", `${up.length} units: each multiplies all ${x.length} numbers by ` +
        "weights of its own and adds the products and a bias."],
      ["r", R, "ReLU", `Negative numbers become 0: ${on} of ${up.length} units are on.`],
      ["d", D, "Down", `Back to ${x.length} numbers, each a sum of ${up.length} products ` +
        "and a bias."],
    ]);
  };

  /* From the last vector to a word: best has the likeliest. */
  const choose = ({ word, x, best, rows }) => {
    const names = best.map(({ name }) => name);
    const X = strip(`vector of ${word}`, "embed", [x], { over: "T" });
    const T = strip("rows of the table", "embed", rows, { rows: names });
    const L = { name: "logits", tint: "output", values: rows.map((row) => [dot(x, row)]),
      sources: (i) => [["x", 0, null], ["T", i, null]],
      said: (i) => `${names[i]}: ${course.reels.products(x, rows[i])}` };
    const sumOfAll = Math.exp(best[0].logit) / best[0].share;
    const E = each("exp", ["L", L], Math.exp, (text) => `e to the power of ${text}`,
      { over: null });
    const P = each("share", ["E", E], (value) => value / sumOfAll,
      (text) => `${text} ÷ ${number(sumOfAll)}, the sum over all words,`,
      { over: null, shade: true });
    const chosen = { ...moved("P", P), name: "chosen", over: "P",
      values: [[P.values[0][0]]], said: () => `${names[0]}: ${percent(P.values[0][0])} is the largest` };
    return {
      blocks: { x: X, T, L, E, P, chosen },
      levels: [["x"], ["T", "L", "E", "P"], ["chosen"]],
      scenes: [
        scene("The last vector", `The decoder's last vector, at ${word}, and the rows of ` +
          `four words: ${names.join(", ")}.`, ["x", "T"], [], ["x", 0, 0]),
        scene("Linear", "The vector meets the row of every word of the vocabulary. Each " +
          `logit is a sum of ${x.length} products.`, ["x", "T", "L"], [["L"]], ["L", 0, 0]),
        scene("Softmax", "The exponential of each logit is divided by the sum over all " +
          `words, ${number(sumOfAll)}.`, ["x", "T", "L", "E", "P"], [["E"], ["P"]], ["P", 0, 0]),
        scene("Choosing", `The largest share is written: ${names[0]}.`,
          ["x", "T", "L", "E", "P", "chosen"], [["chosen"]], ["chosen", 0, 0]),
      ],
    };
  };

  /* --- which reel opens which box ------------------------------------------ */

  /* From what the model has computed for a sentence to the reels of its boxes.
     Each takes the number of the token that is being written, and a head.
     words: of the source; labels: of the target, from bos; asker: of words, the
     one whose vectors the encoder's boxes show; tensors: from the beginning of
     names to these tensors. */
  function openers({ parts: [encoder, ...tokens], answers, words, labels, asker,
    nHeads, tensors }) {
    const row = (matrix, i) => rowsOf(matrix)[i];
    const word = words[asker];
    const memory = () => rowsOf(encoder["encoder.layers.1.add_norm_2"]);
    const so = (i, name) => tokens.slice(0, i + 1).map((token) => row(token[name], 0));

    const attend = async (part, head, more) => attention({ ...more, head, nHeads,
      weights: await tensors(part, ["to_query", "to_key", "to_value"]) });
    const self = (layer, from) => (i, head) => attend(
      `encoder.layers.${layer}.self_attention`, head, {
        asks: word, x: row(encoder[from], asker), words, memory: rowsOf(encoder[from]),
        said: `${word} asks, and may look at all words of its sentence.` });
    const cross = (layer) => (i, head) => attend(
      `decoder.layers.${layer}.cross_attention`, head, {
        asks: labels[i], words, memory: memory(),
        x: row(tokens[i][`decoder.layers.${layer}.add_norm_1`], 0),
        said: `${labels[i]}, the newest word, asks. The memory, one vector for each ` +
          "English word, answers." });
    const masked = (i, head) => attend("decoder.layers.0.self_attention", head, {
      asks: labels[i], words: labels.slice(0, i + 1), memory: so(i, "tgt_positions"),
      x: row(tokens[i].tgt_positions, 0),
      said: `${labels[i]}, the newest word, asks. It sees itself and what was written ` +
        "before it; later words do not exist yet." });

    const added = async (name, whose, x, part, at, from) => {
      const [gain, bias] = ["weight", "bias"];
      const norm = await tensors(`${name}.norm`, [gain, bias], "");
      return addNorm({ word: whose, x, from, sublayer: row(part[`${name}.sublayer`], at),
        gain: [...norm[gain].data], bias: [...norm[bias].data] });
    };
    const encoderNorm = (n, from, before) => () => added(
      `encoder.layers.0.add_norm_${n}`, word, row(encoder[before], asker), encoder,
      asker, from);
    const decoderNorm = (n, from, before) => (i) => added(
      `decoder.layers.0.add_norm_${n}`, labels[i], row(tokens[i][before], 0),
      tokens[i], 0, from);
    const forward = async (side, whose, x) => {
      const part = `${side}.layers.0.feed_forward`;
      const found = await tensors(part, ["up_proj", "down_proj"]);
      const biases = await tensors(part, ["up_proj", "down_proj"], ".bias");
      return feedForward({ word: whose, x,
        up: rowsOf(found.up_proj), upBias: [...biases.up_proj.data],
        down: rowsOf(found.down_proj), downBias: [...biases.down_proj.data] });
    };
    const chosen = async (i) => {
      const { best } = answers[i];
      const table = rowsOf((await tensors("tgt_embedding", ["weight"], "")).weight);
      return choose({ word: labels[i], x: row(tokens[i]["decoder.layers.1.add_norm_3"], 0),
        best: best.map((one) => ({ ...one, name: course.Stage.shown(one.piece) })),
        rows: best.map(({ id }) => table[id]) });
    };
    const [E1, D1] = ["encoder.layers.0.add_norm_", "decoder.layers.0.add_norm_"];
    return {
      source: () => embedding({ word, vector: row(encoder.src_embedding, asker) }),
      target: (i) => embedding({ word: labels[i], vector: row(tokens[i].tgt_embedding, 0) }),
      positions: () => positions({ word, position: asker,
        vector: row(encoder.src_embedding, asker), added: row(encoder.src_positions, asker) }),
      self: self(0, "src_positions"), selfAbove: self(1, `${E1}2`),
      masked, cross: cross(0), crossAbove: cross(1),
      norm1: encoderNorm(1, "self-attention", "src_positions"),
      norm2: encoderNorm(2, "feed-forward", `${E1}1`),
      masked1: decoderNorm(1, "masked self-attention", "tgt_positions"),
      cross2: decoderNorm(2, "cross-attention", `${D1}1`),
      forward3: decoderNorm(3, "feed-forward", `${D1}2`),
      forward: () => forward("encoder", word, row(encoder[`${E1}1`], asker)),
      targetForward: (i) => forward("decoder", labels[i], row(tokens[i][`${D1}2`], 0)),
      chosen,
    };
  }

  /* A model's translation of a sentence with all that it computed, and openers
     for it; found is called with each word. */
  async function opened(model, text, asker) {
    const answers = [];
    const { parts, nHeads } = await model.ask("translate", { text, parts: true },
      (found) => answers.push(found));
    const words = [...text.split(" "), "eos"];
    const labels = ["bos", ...answers.map(({ piece }) => course.Stage.shown(piece))];
    const tensors = async (part, names, end = ".weight") => {
      const all = names.map((name) => `${part}.${name}${end}`);
      const found = await model.ask("tensors", { names: all });
      return Object.fromEntries(names.map((name, n) => [name, found[all[n]]]));
    };
    const open = openers({ parts, answers, words, labels, asker, nHeads, tensors });
    return { parts, answers, words, labels, nHeads, open };
  }

  /* A choice of a head, for the reels that have some; make is called with it. */
  function withHeads(root, nHeads, head, make) {
    const label = root.querySelector('[data-film="head"]');
    label.hidden = !nHeads;
    const select = course.ui.h("select", { autocomplete: "off", "aria-label": "Head",
      onchange: () => make(Number(select.value)) },
    ...Array.from({ length: nHeads }, (_, n) => course.ui.h("option",
      { value: n, selected: n === head }, String(n + 1))));
    label.replaceChildren("Head ", select);
    return make(head);
  }

  return { opened, withHeads };
})();
