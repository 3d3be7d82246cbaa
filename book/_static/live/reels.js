/* Reels for the film: attention by hand, with a mask, with two heads, for one
   query alone. All numbers are computed here. */

"use strict";

course.reels = (() => {
  const { number } = course.Film;
  const FEW = 5; // products of a sum that are all written out

  const column = (matrix, j) => matrix.map((row) => row[j]);
  const turn = (matrix) => matrix[0].map((_, j) => column(matrix, j));
  const dot = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0);
  const times = (a, b) => a.map((row) => turn(b).map((other) => dot(row, other)));
  const total = (row) => row.reduce((a, b) => a + b, 0);
  const inBrackets = (value) =>
    (number(value).startsWith("−") ? `(${number(value)})` : number(value));

  /* 2·1.15 + 2·0 = 2.3; of a long sum the ends. */
  function written(terms, result) {
    const all = terms.length <= FEW ? terms
      : [...terms.slice(0, 2), "…", terms.at(-1)];
    const of = terms.length <= FEW ? "" : ` (${terms.length} terms)`;
    return `${all.join(" + ")} = ${number(result)}${of}`;
  }

  const products = (a, b) => written(
    a.map((value, k) => `${inBrackets(value)}·${inBrackets(b[k])}`), dot(a, b));

  const after = (name, text) => (name ? `${name}: ${text}` : text);

  /* --- blocks: whose is a function from a row and a column to a name ------- */

  const given = (name, tint, values, more = {}) => ({
    name, tint, values, sources: () => [],
    said: (i, j) => after(more.rows?.[i], number(values[i][j])), ...more });

  /* The same numbers in another place. */
  const moved = (id, block, more = {}) => (
    { ...block, over: null, carried: true, sources: (i, j) => [[id, i, j]], ...more });

  /* Rows become columns. */
  const turned = (id, block, more = {}) => moved(id, block, {
    values: turn(block.values), rows: null,
    sources: (i, j) => [[id, j, i]], said: (i, j) => block.said(j, i), ...more });

  /* The matrix product of two blocks; b need not be seen. */
  function product(name, tint, [a, left], [b, right], whose, more = {}) {
    return {
      name, tint, values: times(left.values, right.values),
      sources: (i, j) => [[a, i, null], ...b ? [[b, null, j]] : []],
      said: (i, j) => after(whose(i, j),
        products(left.values[i], column(right.values, j))),
      ...more,
    };
  }

  /* Each number changed by itself; write says how. */
  function each(name, [id, block], change, write, more = {}) {
    const values = block.values.map((row, i) =>
      row.map((value, j) => change(value, i, j)));
    return {
      ...block, name, values, over: id, sources: (i, j) => [[id, i, j]],
      said: (i, j) => `${write(number(block.values[i][j]), i, j)} = ` +
        number(values[i][j]),
      ...more,
    };
  }

  const rooted = (id, block, width, more) => {
    const root = Math.sqrt(width);
    return each("÷ √d_k", [id, block], (value) => value / root,
      (text) => `${text} ÷ √${width}`, more);
  };

  /* e to the power of each number, the sums over groups of them, and the
     weights; by rows, or, for scores in a column, the other way. */
  function softmax(id, block, byRows = true, more = {}) {
    const E = each("exp", [id, block], Math.exp, (text) => `exp(${text})`,
      { ...more, said: (i, j) =>
        `e to the power of ${number(block.values[i][j])} = ` +
        number(Math.exp(block.values[i][j])) });
    const groups = byRows ? E.values : turn(E.values);
    const sums = groups.map(total);
    const T = {
      name: "sum", tint: "attend", over: byRows ? null : "E",
      values: byRows ? sums.map((sum) => [sum]) : [sums],
      sources: (i, j) => [byRows ? ["E", i, null] : ["E", null, j]],
      said: (i, j) => written(groups[byRows ? i : j].map(number), sums[byRows ? i : j]),
    };
    const sum = (i, j) => sums[byRows ? i : j];
    const A = each("weights", ["E", E], (value, i, j) => value / sum(i, j),
      (text, i, j) => `${text} ÷ ${number(sum(i, j))}`, { ...more, shade: true });
    A.sources = (i, j) => [["E", i, j], ["T", byRows ? i : 0, byRows ? 0 : j]];
    return { E, T, A };
  }

  /* The weights of one query, in a column, times the values; and their sum. */
  function mixed(w, V, words, more = {}) {
    const P = {
      ...V, name: "shares", over: null, carried: false, rows: null, columns: null, ...more,
      values: V.values.map((row, i) => row.map((value) => w.values[i][0] * value)),
      sources: (i, j) => [["w", i, 0], ["V2", i, j]],
      said: (i, j) => `${words[i]}: ${products(w.values[i], [V.values[i][j]])}`,
    };
    const O = {
      ...P, name: "output", tint: "mix", over: "P",
      values: [P.values[0].map((_, j) => total(column(P.values, j)))],
      sources: (i, j) => [["P", null, j]],
      said: (i, j) => written(column(P.values, j).map(inBrackets),
        total(column(P.values, j))),
    };
    return { P, O };
  }

  /* --- the film of chapter 04: all queries at once ------------------------- */

  const listed = (row) => `(${row.map(number).join(", ")})`;
  const scene = (title, said, see, makes, point, more) =>
    ({ title, said, see, makes, point, ...more });

  const TINTS = { Q: "query", K: "key", V: "value" };

  const embedded = (X, words, features) => given("X", "embed", X, { rows: words,
    said: (i, j) => `${words[i]}, ${features[j]}: ${number(X[i][j])}` });

  /* X, beside it Q, K and V, each above its matrix. */
  function projected({ X, words, features }, weights) {
    const blocks = { X: embedded(X, words, features) };
    for (const [letter, tint] of Object.entries(TINTS)) {
      const matrix = given(`W^${letter}`, tint, weights[letter],
        { over: letter, rows: features });
      blocks[`W${letter}`] = matrix;
      blocks[letter] = product(letter, tint, ["X", blocks.X],
        [`W${letter}`, matrix], (i) => words[i]);
    }
    return blocks;
  }

  function all(data, { root, mask }) {
    const { words, features, X, one, asks } = data;
    const width = one.K[0].length;
    const blocks = projected(data, one);
    const { Q, K, V } = blocks;
    const named = { rows: words, columns: words };
    const pair = (i, j) => `${words[i]} · ${words[j]}`;
    blocks.Q2 = moved("Q", Q, { rows: words });
    blocks.Kt = turned("K", K, { name: "K^T", over: "S", columns: words });
    blocks.S = product("scores", "attend", ["Q2", blocks.Q2], ["Kt", blocks.Kt], pair);
    let last = "S";
    if (root) {
      blocks.R = rooted(last, blocks[last], width, named);
      last = "R";
    }
    const scores = last;
    if (mask) {
      blocks.M = each("masked", [last, blocks[last]],
        (value, i, j) => (j > i ? -Infinity : value), null, named);
      blocks.M.said = (i, j) => (j > i
        ? `${words[j]} comes after ${words[i]}: −∞`
        : `${pair(i, j)}: ${number(blocks[scores].values[i][j])} stays`);
      last = "M";
    }
    Object.assign(blocks, softmax(last, blocks[last], true, named));
    const w = blocks.A.values[asks].map((value) => [value]);
    blocks.w = moved("A", blocks.A, {
      name: "weights", values: w, rows: words, columns: null,
      sources: (i) => [["A", asks, i]], said: (i) => blocks.A.said(asks, i) });
    blocks.V2 = moved("V", V);
    const { P, O } = mixed(blocks.w, blocks.V2, words);
    Object.assign(blocks, { P, O });
    blocks.A2 = moved("A", blocks.A, { rows: words, columns: null });
    blocks.V3 = moved("V", V, { over: "Y" });
    blocks.Y = product("outputs", "mix", ["A2", blocks.A2], ["V3", blocks.V3],
      (i) => words[i]);

    const asked = words[asks];
    const room = ["X", "Q", "K", "V", "WQ", "WK", "WV"];
    const scenes = [
      scene("X: the words", `Each word is a row of X: ${X[0].length} numbers, which ` +
        `stand for ${features.join(", ")}.`, ["X"], [], ["X", asks, 3]),
      scene("Q = X W^Q: the queries", "A query is what a word asks for: each row of X " +
        `times each column of W^Q. The query of ${asked} is ${listed(Q.values[asks])}: it ` +
        "asks for what is alive, and for what can be drunk.",
      ["X", "WQ", "Q"], [["Q"]], ["Q", asks, 0], { room }),
      scene("K = X W^K: the keys", "A key is what a word offers to a query. The key of " +
        `${words[0]} is ${listed(K.values[0])}: alive, and nothing to drink.`,
      ["X", "WK", "Q", "K"], [["K"]], ["K", 0, 0], { room }),
      scene("V = X W^V: the values", "A value is what a word adds to an answer. So one " +
        "vector x has become three: query, key and value.",
      ["X", "WV", "Q", "K", "V"], [["V"]], ["V", 0, 0], { room }),
      scene("Scores = Q K^T", "Each query meets each key, and the keys now stand as " +
        "columns. For a score, the two vectors are multiplied number by number, and the " +
        "products are added.",
      ["Q2", "Kt", "S"], [["Q2", "Kt"], ["S"]], ["S", asks, 0]),
      root && scene("÷ √d_k", `A key has d_k = ${width} numbers, so each score is divided by ` +
        `√${width} = ${number(Math.sqrt(width))}. Without this, the scores of wide vectors ` +
        "would be too large.", ["S", "R"], [["R"]], ["R", asks, 0]),
      mask && scene("The causal mask", "No word may look at a later one. The scores of " +
        "later words become −∞, before the softmax.",
      [scores, "M"], [["M"]], ["M", asks, 2]),
      scene("Softmax: make all positive", "The exponential makes every score positive" +
        (mask ? ", and −∞ becomes 0" : "") + ". Then each row is added up.",
      [last, "E", "T"], [["E"], ["T"]], ["E", asks, 0]),
      scene("Softmax: divide by the sum", "Each number is divided by the sum of its row. The " +
        `results are weights, which add up to 1: ${asked} gives ${words[0]} ` +
        `${course.ui.percent(w[0][0])} of its attention.`,
      ["E", "T", "A"], [["A"]], ["A", asks, 0]),
      scene("Shares: weights times values", `Take the weights of ${asked}. Each value is ` +
        `multiplied by its weight: one share from each word.`,
      ["A", "w", "V2", "P"], [["w", "V2"], ["P"]], ["P", 0, 0]),
      scene("Sum: the output", `The shares are added up. The output of ${asked} is ` +
        `${listed(O.values[0])}, a mixture of all three values.`,
      ["w", "V2", "P", "O"], [["O"]], ["O", 0, 0]),
      scene("All at once", "All words do this at the same time: the weights times V " +
        "give one output for each word.",
      ["A2", "V3", "Y"], [["A2", "V3"], ["Y"]], ["Y", asks, 0]),
    ].filter(Boolean);
    const levels = [
      ["WQ", "WK", "WV"], ["X", "Q", "K", "V"], ["Kt"], ["Q2", "S"],
      ["R"], ["M"], ["E", "T"], ["A"], ["w", "×", "V2", "=", "P"], ["O"],
      ["V3"], ["A2", "Y"],
    ];
    return { blocks, scenes, levels };
  }

  /* --- one query looks up: in chapter 00, and in a trained model ----------- */

  /* From the blocks q, K and V to the output of q. made has what comes before:
     scenes, and blocks that stand beside q and K. */
  function lookUp({ q, K, V, words, asks, root }, made) {
    const width = q.values[0].length;
    const blocks = { ...made.blocks, q, K };
    blocks.S = {
      name: "scores", tint: "attend",
      values: K.values.map((key) => [dot(q.values[0], key)]),
      sources: (i) => [["q", 0, null], ["K", i, null]],
      said: (i) => `${asks} · ${words[i]}: ${products(q.values[0], K.values[i])}`,
    };
    if (root) blocks.R = rooted("S", blocks.S, width, { over: null });
    const last = root ? "R" : "S";
    Object.assign(blocks, softmax(last, blocks[last], false, { over: null }));
    blocks.w = moved("A", blocks.A, { rows: words });
    blocks.V2 = V;
    Object.assign(blocks, mixed(blocks.w, V, words));
    const { A, O } = blocks;
    const most = column(A.values, 0).reduce((best, value, i, all) =>
      (value > all[best] ? i : best), 0);
    const base = ["q", "K", "S"];
    const scenes = [
      ...made.scenes,
      scene("Scores: query times key", `The query of ${asks} meets each key: the two ` +
        `vectors are multiplied number by number, and the ${width} products are added. ` +
        "The better the two fit, the larger the score.",
      base, [["S"]], ["S", most, 0]),
      root && scene("÷ √d_k", `Each score is divided by the square root of ${width}, ` +
        `which is ${number(Math.sqrt(width))}.`, [...base, "R"], [["R"]], ["R", most, 0]),
      scene("Softmax: make all positive", "The exponential makes every score " +
        "positive. Then they are added up.",
      [...base, ...root ? ["R"] : [], "E", "T"], [["E"], ["T"]], ["E", most, 0]),
      scene("Softmax: divide by the sum", "Each number is divided by the sum. The " +
        `results are weights, which add up to 1: ${words[most]} gets ` +
        `${course.ui.percent(A.values[most][0])} of the attention.`,
      [...base, ...root ? ["R"] : [], "E", "T", "A"], [["A"]], ["A", most, 0]),
      made.values,
      scene("Shares: weights times values", "Each word also has a value, which is what " +
        "it adds to the answer. Each value is multiplied by its weight.",
      ["w", "V2", "P"], [...made.values ? [] : [["w", "V2"]], ["P"]], ["P", most, 0]),
      scene("Sum: the output", `The shares are added up. The answer` +
        `${width > FEW ? "" : `, ${listed(O.values[0])},`} is a mixture of all values, ` +
        `most of it from ${words[most]}.`, ["w", "V2", "P", "O"], [["O"]], ["O", 0, 0]),
    ].filter(Boolean);
    const levels = [[...made.below, "q"], [...made.beside, "K", "S", "R", "E", "A"],
      ["T"], ["w", "×", "V2", "=", "P"], ["O"]];
    return { blocks, scenes, levels };
  }

  /* The three words of chapter 00, one of which asks. */
  function short({ words, X, one, asks, asked }) {
    const project = (letter) => times(X, one[letter]);
    const named = { rows: words };
    const q = given(`query of ${words[asks]}`, "query", [project("Q")[asks]], { over: "K" });
    const K = given("keys", "key", project("K"), named);
    const V = given("values", "value", project("V"), {});
    return lookUp({ q, K, V, words, asks: words[asks] }, {
      blocks: {}, below: [], beside: [],
      scenes: [scene("A query and three keys", `${words[asks]} asks with a query, ` +
        `${listed(q.values[0])}: for what is alive, and for what ${asked}. Every ` +
        "word, itself too, has a key.", ["q", "K"], [], ["q", 0, 0])],
    });
  }

  /* --- two heads, as in chapter 07 ------------------------------------------ */

  const side = (a, b) => a.map((row, i) => [...row, ...b[i]]);

  function heads({ words, features, X, two, asks }, { mask }) {
    const named = { rows: words };
    const blocks = { X: embedded(X, words, features) };
    blocks.WQ = given("W^Q: two side by side", "query", side(...two.Q),
      { over: "Q", rows: features });
    blocks.Q = product("Q", "query", ["X", blocks.X], ["WQ", blocks.WQ],
      (i) => words[i]);
    const width = two.K[0][0].length;
    const joined = [];
    for (const n of [0, 1]) {
      const of = (name) => `${name}${n + 1}`;
      const own = (name, tint, more) => product(`${name}_${n + 1}`, tint,
        ["X", blocks.X], [null, { values: two[name][n] }], (i) => words[i], more);
      blocks[of("Q")] = moved("Q", blocks.Q, {
        name: `Q_${n + 1}`, rows: n ? null : words,
        values: blocks.Q.values.map((row) => row.slice(n * width, (n + 1) * width)),
        sources: (i, j) => [["Q", i, n * width + j]],
        said: (i, j) => blocks.Q.said(i, n * width + j),
      });
      const K = own("K", "key");
      blocks[of("K")] = { ...turned("K", K, { over: of("S"), name: `K_${n + 1}^T` }),
        carried: false, sources: () => [] };
      blocks[of("S")] = product(`scores_${n + 1}`, "attend",
        [of("Q"), blocks[of("Q")]], [of("K"), blocks[of("K")]],
        (i, j) => `${words[i]} · ${words[j]}`);
      Object.assign(blocks,
        headWeights(blocks[of("S")], of, words, { width, mask, n }));
      blocks[of("V")] = { ...own("V", "value", { over: of("O") }), sources: () => [] };
      blocks[of("B")] = moved(of("A"), blocks[of("A")], { ...named });
      blocks[of("O")] = product(`head_${n + 1}`, "mix", [of("B"), blocks[of("B")]],
        [of("V"), blocks[of("V")]], (i) => words[i]);
      joined.push(blocks[of("O")]);
    }
    blocks.C = given("side by side", "mix", side(...joined.map(({ values }) => values)),
      { ...named, carried: true,
        sources: (i, j) => [[`O${1 + Math.floor(j / width)}`, i, j % width]] });
    blocks.WO = given("W^O", "attend", two.O, { over: "Y" });
    blocks.Y = product("output", "mix", ["C", blocks.C], ["WO", blocks.WO],
      (i) => words[i]);
    return { blocks, scenes: headScenes(words, asks, blocks, mask),
      levels: [["WQ"], ["X", "Q"], ["K1", "K2"], ["Q1", "S1", "Q2", "S2"],
        ["M1", "M2"], ["A1", "A2"], ["V1"], ["B1", "O1"], ["V2"], ["B2", "O2"],
        ["WO"], ["C", "Y"]] };
  }

  /* The scores of one head, divided and masked, and their softmax. */
  function headWeights(S, of, words, { width, mask, n }) {
    const M = each("÷ √d_k", [of("S"), S],
      (value, i, j) => (mask && j > i ? -Infinity : value / Math.sqrt(width)),
      (text, i, j) => (mask && j > i ? `${words[j]} comes after ${words[i]}`
        : `${text} ÷ √${width}`), { over: null, rows: n ? null : words, columns: words });
    const sums = M.values.map((row) => total(row.map(Math.exp)));
    const A = each(`weights_${n + 1}`, [of("M"), M],
      (value, i) => Math.exp(value) / sums[i],
      (text, i) => `exp(${text}) ÷ ${number(sums[i])}`,
      { over: of("M"), shade: true, sources: (i) => [[of("M"), i, null]] });
    return { [of("M")]: M, [of("A")]: A };
  }

  function headScenes(words, asks, { A1, A2, Y }, mask) {
    const share = ({ values }, j) => course.ui.percent(values[asks][j]);
    const asked = words[asks];
    return [
      scene("X: the words", "The three words of chapter 04, with their four numbers.",
        ["X"], [], ["X", asks, 3]),
      scene("Queries for two heads", "The matrices of two heads stand side by side. So " +
        "one product gives the queries of both.",
      ["X", "WQ", "Q"], [["Q"]], ["Q", asks, 0]),
      scene("Split", "Q is cut into two halves, one for each head. Keys and values are " +
        "made and cut in the same way.",
      ["Q1", "Q2", "K1", "K2"], [["Q1", "Q2"], ["K1", "K2"]], ["Q1", asks, 0],
      { room: ["Q1", "S2", "K1", "K2"] }),
      scene("Scores, in each head", "Each head multiplies its own queries by its own keys.",
        ["Q1", "Q2", "K1", "K2", "S1", "S2"], [["S1", "S2"]], ["S1", asks, 0],
        { room: ["Q1", "S2", "K1", "K2"] }),
      scene(mask ? "÷ √d_k, and the mask" : "÷ √d_k", "A head is two numbers wide, so it " +
        "divides by √2." + (mask ? " The scores of later words become −∞." : ""),
      ["S1", "S2", "M1", "M2"], [["M1", "M2"]], ["M1", asks, 0]),
      scene("Softmax, in each head", `Two softmaxes, two patterns: in head 1 ${asked} ` +
        `gives ${words[0]} ${share(A1, 0)} of its attention, in head 2 it gives ` +
        `${words[2]} ${share(A2, 2)}.`,
      ["M1", "M2", "A1", "A2"], [["A1", "A2"]], ["A1", asks, 0]),
      scene("Head 1: weights times values", "The weights of head 1 average the values of " +
        "head 1.", ["B1", "V1", "O1"], [["B1", "V1"], ["O1"]], ["O1", asks, 0]),
      scene("Head 2: weights times values", "Head 2 does the same with its own weights " +
        "and values.", ["B2", "V2", "O2"], [["B2", "V2"], ["O2"]], ["O2", asks, 1]),
      scene("Merge", "The outputs of the two heads are laid side by side: four numbers " +
        "for each word again.", ["C"], [["C"]], ["C", asks, 0]),
      scene("Mix: times W^O", `One more matrix mixes what the heads have found. Row ` +
        `${asked}: ${listed(Y.values[asks])}.`,
      ["C", "WO", "Y"], [["Y"]], ["Y", asks, 0]),
    ];
  }

  return { all, short, heads, lookUp, given, product, moved, each, scene, written,
    products, dot, turn, total };
})();
