/* The tree of a beam search, with what was kept and what was pruned; and
   sentences drawn, with the chances of each word. */

"use strict";

(() => {
  const {
    h, svg, figure, latest, percent, slider, drawing, translator, withModels,
  } = course.ui;
  const SHOWN = 6; // candidates of a step, or words with a bar
  const ROW = 68; // pixels from step to step
  const score = (value) => value.toFixed(2).replace("-", "−");
  const ja = (text) => h("span", { lang: "ja" }, text.replaceAll(" ", ""));
  const plain = (piece) => course.Stage.shown(piece);

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const model = translator("grammar", data.folder);
    const radios = [...root.querySelectorAll('input[type="radio"]')];
    const say = (...parts) => find("status").replaceChildren(...parts);
    const sentence = find("sentence");
    const meaningOf = (piece) => course.Stage.meaning(piece, data.gloss) ?? "";

    // --- beam search ---

    let [steps, best, greedy] = [[], null, ""];
    const size = slider("Beam size", { min: 1, max: 5, value: 3 }, () => go());
    const alpha = slider("α", { min: 0, max: 2, step: 0.1, value: 0 },
      () => go(), (value) => value.toFixed(1));
    const until = slider("Steps", { min: 1, max: 20, value: 20 }, () => show());
    find("beam-sliders").append(size.label, alpha.label, until.label);

    async function search() {
      const found = [];
      const asked = { text: sentence.value, alpha: alpha.value };
      const one = await model.ask("beam", { ...asked, beamSize: 1 });
      const { beam } = await model.ask(
        "beam", { ...asked, beamSize: size.value, nextWords: SHOWN },
        (step) => found.push(step));
      [steps, best, greedy] = [found.map(levelOf), beam[0], one.beam[0].text];
      until.max = steps.length;
      until.value = steps.length;
      show();
    }

    /* A step's candidates: those kept, in their order, then the best pruned. */
    function levelOf({ kept, candidates }) {
      const pruned = candidates
        .filter((_, i) => !kept.includes(i))
        .sort((a, b) => b.score - a.score);
      return { kept: kept.map((i) => candidates[i]), pruned };
    }

    /* For each step up to the last shown the place of the best hypothesis. */
    function pathTo(last) {
      const places = [0];
      for (let i = last; i > 0; i--)
        places.unshift(steps[i].kept[places[0]].parent);
      return places;
    }

    const redraw = drawing(find("tree"), "The search tree", (width) => {
      const shown = steps.slice(0, until.value);
      const path = pathTo(shown.length - 1);
      const x = (column) => ((column + 0.5) * width) / SHOWN;
      const [edges, nodes] = [[], []];
      shown.forEach(({ kept, pruned }, i) => {
        [...kept, ...pruned].slice(0, SHOWN).forEach((one, column) => {
          const state = path[i] === column ? "is-best"
            : column < kept.length ? "is-kept" : "is-pruned";
          const top = i * ROW;
          if (i) edges.push(svg("path", { class: state,
            d: `M${x(one.parent)} ${top - ROW + 52}L${x(column)} ${top + 6}` }));
          const word = plain(one.piece);
          const meaning = meaningOf(one.piece);
          nodes.push(svg("g", { class: state },
            svg("rect", { x: x(column) - width / SHOWN / 2 + 2, y: top + 6,
              width: width / SHOWN - 4, height: 46, rx: 5 }),
            svg("text", { x: x(column), y: top + 21, lang: "ja" }, word),
            svg("text", { x: x(column), y: top + 34, class: "is-small" },
              meaning.length > 9 ? `${meaning.slice(0, 8)}…` : meaning),
            svg("text", { x: x(column), y: top + 48, class: "is-small" },
              score(one.score))));
        });
      });
      return { height: steps.length * ROW, shapes: [...edges, ...nodes] };
    });

    function show() {
      if (!steps.length) return;
      redraw();
      const { kept, pruned } = steps[until.value - 1];
      const list = kept.flatMap(({ text, piece, score: value }, i) => [
        i ? ", " : "", ja(text + (piece === "</s>" ? " eos" : "")),
        ` ${score(value)}`]);
      const cut = pruned.length
        ? [`; best of the pruned: `, ja(pruned[0].text || "eos"),
          ` ${score(pruned[0].score)}`] : [];
      const end = [" The search has ended with ", ja(best.text),
        ...(best.text === greedy ? [", as greedy search does."]
          : ["; greedy search writes ", ja(greedy), "."])];
      say(`Step ${until.value}: `, ...list, ` ${kept.length > 1 ? "are" : "is"}`,
        " kept", ...cut, ".",
        ...(until.value === steps.length ? end : []));
    }

    // --- sampling ---

    let [drawn, pieces, at] = [[], [], 0];
    const temperature = slider("Temperature",
      { min: 0.1, max: 2, step: 0.1, value: 1 }, () => showBars(),
      (value) => value.toFixed(1));
    const topP = slider("Top-p", { min: 0.1, max: 1, step: 0.05, value: 1 },
      () => showBars(), (value) => value.toFixed(2));
    find("sample-sliders").append(temperature.label, topP.label);
    const settings = () => ({ temperature: temperature.value, topP: topP.value });

    async function draw() {
      const found = [];
      const asked = { text: sentence.value, ...settings() };
      const answer = await model.ask("sample", asked, (step) => found.push(step));
      [drawn, pieces, at] = [found, answer.pieces, 0];
      find("words").replaceChildren(...drawn.map(({ piece }, i) =>
        h("button", { type: "button", class: "lv-word",
          onpointerenter: () => select(i), onfocus: () => select(i),
          onclick: () => select(i) },
        h("span", { lang: "ja" }, plain(piece)),
        h("small", {}, meaningOf(piece)))));
      showBars(["Drawn: ", ja(answer.text), ". "]);
    }

    function select(i) {
      at = i;
      showBars();
    }

    /* The chances at the word selected, with the sliders as they stand now. */
    function showBars(before = []) {
      if (!drawn.length) return;
      [...find("words").children].forEach((word, i) =>
        word.setAttribute("aria-pressed", String(i === at)));
      const { logits, piece } = drawn[at];
      const among = chances(logits, settings())
        .filter(({ chance }) => chance > 0);
      const chanceOf = new Map(among.map(({ token, chance }) => [token, chance]));
      find("bars").replaceChildren(...topK(logits, SHOWN).map((token) => {
        const chance = chanceOf.get(token) ?? 0;
        const word = plain(pieces[token]);
        return h("li", { class: word === plain(piece) ? "is-now" : "" },
          h("span", { lang: "ja" }, word),
          h("small", {}, meaningOf(pieces[token])),
          h("span", { class: "lv-bar", style: `--share:${chance}` }),
          h("span", { class: "lv-share" }, chance ? percent(chance) : "cut"));
      }));
      say(...before, `At word ${at + 1}, `, ja(plain(piece)),
        `: ${among.length} ${among.length === 1 ? "word" : "words"} can be ` +
        "drawn; the likeliest, ", ja(plain(pieces[among[0].token])),
        `, has ${percent(among[0].chance)}.`);
    }

    const go = latest(async () => {
      root.setAttribute("aria-busy", "true");
      const { value } = radios.find((radio) => radio.checked);
      find("beam").hidden = value !== "beam";
      find("sample").hidden = value !== "sample";
      await (value === "beam" ? search() : draw());
      root.setAttribute("aria-busy", "false");
    });

    sentence.addEventListener("change", go);
    for (const radio of radios) radio.addEventListener("change", go);
    find("draw").addEventListener("click", go);
    withModels(root, [model], () => {
      go();
    });
  }

  figure("search", start);
})();
