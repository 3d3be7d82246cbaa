/* A check box for each head: what the model writes without those that are off,
   beside what the whole model writes; ribbons of the heads chosen. */

"use strict";

(() => {
  const { h, figure, percent, translator, withModels } = course.ui;

  /* Of all that was written, the end too: the product of the words' own. */
  const probability = (steps) =>
    steps.reduce((product, { best }) => product * best[0].share, 1);

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const model = translator("grammar", data.folder);
    const languages = ["en", "ja"];
    const stage = new course.Stage(root, { gloss: data.gloss, languages });
    const [sentence, seen] = [find("sentence"), find("seen")];
    const layers = Map.groupBy(data.heads, ({ part }) => part);

    for (const head of data.heads)
      head.box = h("input", {
        type: "checkbox", checked: true, autocomplete: "off",
        "aria-label": head.name, onchange: () => translate(),
      });
    for (const heads of layers.values()) {
      const [layer] = heads[0].name.split(".");
      find("heads").append(h("tr", {}, h("th", { scope: "row" }, layer),
        ...heads.map(({ number, box }) =>
          h("td", {}, h("label", {}, box, ` ${number + 1}`)))));
    }
    data.heads.forEach(({ part, name }, i) => {
      if (part.includes("cross"))
        seen.append(h("option", { value: i }, name));
    });

    const off = () => data.heads.filter(({ box }) => !box.checked);

    /* Whether a ribbon of this head of cross-attention is asked for. */
    function isSeen({ layer, head }) {
      const { part, number } = data.heads[seen.value] ?? {};
      return !seen.value ||
        (part.includes(`layers.${layer}.`) && number === head);
    }

    const withRibbons = (steps) => steps.map((step) => (
      { ...step, cross: step.cross.filter(isSeen) }));

    /* What is written by the heads that are on; by all of them if whole. */
    async function search(whole) {
      const heads = {};
      for (const [part, own] of layers)
        heads[part] = own.filter(({ box }) => whole || box.checked)
          .map(({ number }) => number);
      const steps = [];
      const details = { text: sentence.value, switches: { heads } };
      const { text } = await model.ask("translate", details, (step) =>
        steps.push(step));
      const meaning = steps.map(({ piece }) => stage.meaning(piece))
        .filter(Boolean).join(" · ");
      return { text, steps, meaning, share: probability(steps) };
    }

    function compare(whole, now) {
      const row = (name, { text, meaning, share }) =>
        h("tr", {}, h("th", { scope: "row" }, name),
          h("td", {}, h("span", { lang: "ja" }, text.replaceAll(" ", "")),
            h("small", {}, meaning)),
          h("td", {}, percent(share)));
      const names = off().map(({ name }) => name);
      const same = whole.text === now.text ? "the same sentence" : "another sentence";
      find("rows").replaceChildren(row("all heads", whole),
        names.length ? row("now", now) : "");
      find("status").textContent = names.length
        ? `Without ${names.join(", ")} it writes ${same}. Its probability is ` +
          `${percent(now.share)}; with all heads on, it was ${percent(whole.share)}.`
        : `All heads are on. The whole sentence, the product over its words, has ` +
          `a probability of ${percent(whole.share)}.`;
    }

    let [run, steps] = [0, []];

    async function translate() {
      const mine = ++run;
      const whole = await search(true);
      const now = off().length ? await search(false) : whole;
      if (mine !== run) return;
      compare(whole, now);
      steps = now.steps;
      await stage.play(withRibbons(steps));
    }

    function showSource() {
      const pieces = [...sentence.value.split(" "), "</s>"];
      stage.setSource(pieces.map((piece, i) => stage.token(piece, i)));
      translate();
    }

    sentence.addEventListener("change", showSource);
    seen.addEventListener("change", () => {
      const at = stage.selected;
      stage.clear();
      for (const step of withRibbons(steps)) stage.add(step);
      stage.select(at);
    });
    find("reset").addEventListener("click", () => {
      for (const { box } of data.heads) box.checked = true;
      translate();
    });

    withModels(root, [model], showSource);
  }

  figure("heads", start);
})();
