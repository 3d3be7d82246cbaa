/* Which units of the upper feed-forward part fire at which word of a sentence,
   and where in others a unit fires most. */

"use strict";

(() => {
  const { h, svg, choices, figure, latest, slider, translator, withModels } =
    course.ui;
  const [COLUMNS, UNITS] = [32, 512];
  const ROWS = UNITS / COLUMNS;
  const LEVELS = 4; // of the colour
  const SHOWN = 3; // units with a button at each word
  const PART = "layers.1.feed_forward.units";
  const { shown, meaning } = course.Stage;

  const placeOf = (unit) => [unit % COLUMNS, Math.floor(unit / COLUMNS)];

  /* All units at a word: a cell each, the darker the more it fires. */
  function tile(values, most) {
    const levels = Array.from({ length: LEVELS }, () => "");
    values.forEach((value, unit) => {
      if (value <= 0) return;
      const [x, y] = placeOf(unit);
      const level = Math.min(LEVELS, Math.ceil((LEVELS * value) / most));
      levels[level - 1] += `M${x} ${y}h1v1h-1z`;
    });
    return levels.map((d, i) =>
      svg("path", { d, "fill-opacity": (i + 1) / LEVELS }));
  }

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const model = translator("grammar", data.folder);
    const radios = [...root.querySelectorAll('input[type="radio"]')];
    let [choice, tokens, tiles] = [[], [], []];

    const unit = slider("Unit", { max: UNITS - 1 }, () => showUnit());
    find("sliders").append(unit.label);
    const stack = () => radios.find(({ checked }) => checked).value;
    const foreign = () => (stack() === "encoder" ? "en" : "ja");
    const glossed = (piece) => [
      h("span", { lang: foreign() }, shown(piece)),
      h("small", { lang: "en" }, foreign() === "ja" ? meaning(piece, data.gloss) ?? "" : ""),
    ];

    function pick(to) {
      unit.value = to;
      showUnit();
    }

    function board({ piece, values }, most) {
      const ring = svg("rect", { width: 2, height: 2, class: "lv-ring" });
      const [bar, number] = [h("span", { class: "lv-bar" }), h("span")];
      const map = svg("svg", { viewBox: `0 0 ${COLUMNS} ${ROWS}`, role: "img",
        class: "lv-units", "aria-label": `${shown(piece)}: ` +
          `${values.filter((value) => value > 0).length} of ${UNITS} units fire`,
      }, ...tile(values, most), ring);
      map.addEventListener("click", (event) => {
        const box = map.getBoundingClientRect();
        const x = Math.floor((COLUMNS * (event.clientX - box.left)) / box.width);
        const y = Math.floor((ROWS * (event.clientY - box.top)) / box.height);
        pick(Math.max(0, Math.min(UNITS - 1, y * COLUMNS + x)));
      });
      const best = Array.from(values.keys())
        .sort((a, b) => values[b] - values[a]).slice(0, SHOWN);
      const buttons = best.map((i) => h("button", {
        type: "button", value: i, "aria-label": `unit ${i}`,
        onclick: () => pick(i) }, String(i)));
      function show() {
        const [x, y] = placeOf(unit.value);
        ring.setAttribute("x", x - 0.5);
        ring.setAttribute("y", y - 0.5);
        const value = Math.max(0, values[unit.value]);
        bar.style.setProperty("--share", value / most);
        number.textContent = value.toFixed(2);
        for (const button of buttons)
          button.setAttribute("aria-pressed",
            String(Number(button.value) === unit.value));
      }
      return { show, element: h("div", {},
        h("p", { class: "lv-title" }, ...glossed(piece)), map,
        h("p", { class: "lv-unit" }, bar, number),
        h("p", { class: "lv-fires" }, ...buttons)) };
    }

    /* The tokens that the stack reads, each with its units. */
    const run = latest(async () => {
      const steps = [];
      const text = choice.map((one) => one.text()).join(" ");
      const { parts } = await model.ask("translate", { text, parts: true },
        (step) => steps.push(step));
      const units = (seen, place) =>
        Array.from(row(seen[`${stack()}.${PART}`], place));
      tokens = stack() === "encoder"
        ? [...text.split(" "), "</s>"].map((piece, i) =>
          ({ piece, values: units(parts[0], i) }))
        : ["<s>", ...steps.slice(0, -1).map(({ piece }) => piece)]
          .map((piece, i) => ({ piece, values: units(parts[i + 1], 0) }));
      const most = Math.max(...tokens.flatMap(({ values }) => values));
      tiles = tokens.map((token) => board(token, most));
      find("tiles").replaceChildren(...tiles.map(({ element }) => element));
      if (!root.classList.contains("is-live"))
        unit.value = tokens[1].values.indexOf(Math.max(...tokens[1].values));
      showUnit();
    });

    /* The sentences in which it fires most, its word marked. */
    function favourites() {
      const { texts, tops } = data.stacks[stack()];
      return tops[unit.value].map(([text, place, value]) => {
        const pieces = texts[text].split(" ");
        const space = foreign() === "en" ? " " : "";
        const joined = (some) => some
          .filter((piece) => !(piece in course.Stage.MARKS)).join(space);
        const [word] = glossed(pieces[place]);
        const said = (some) => some.filter((piece) => !(piece in course.Stage.MARKS))
          .map((piece) => meaning(piece, data.gloss) ?? piece).join(" ");
        return h("li", {},
          h("span", { class: "lv-share" }, value.toFixed(2)),
          h("span", { lang: foreign() },
            joined(pieces.slice(0, place)) + space, h("mark", {}, word), space,
            joined(pieces.slice(place + 1))),
          h("small", { lang: "en" }, ...foreign() === "ja" ? [
            said(pieces.slice(0, place)), " ",
            h("b", {}, meaning(pieces[place], data.gloss) ?? ""), " ",
            said(pieces.slice(place + 1))] : []));
      });
    }

    function showUnit() {
      for (const { show } of tiles) show();
      find("tops").replaceChildren(...favourites());
      const fires = tokens.filter(({ values }) => values[unit.value] > 0);
      const raised = data.stacks[stack()].promoted?.[unit.value];
      find("status").replaceChildren(
        `Unit ${unit.value} fires at ${fires.length} of ${tokens.length} tokens.`,
        ...(raised ? [" The word whose score it raises most: ",
          h("span", { lang: "ja" }, shown(raised)),
          ` (${meaning(raised, data.gloss) ?? ""}).`] : []));
    }

    function choose() {
      choice = choices(data.sentences[find("sentence").value], run);
      find("source").replaceChildren(...choice.map(({ element }) => element));
      return run();
    }

    for (const radio of radios) radio.addEventListener("change", run);
    find("sentence").addEventListener("change", choose);
    withModels(root, [model], choose);
  }

  figure("units", start);
})();
