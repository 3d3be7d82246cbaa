/* Who may look at whom: cells are forbidden and allowed, each row adds up to
   one again, and a token is changed to see which outputs feel it. */

"use strict";

(() => {
  const { h, figure, percent, slider } = course.ui;
  const DIRECTION = [1, 0.6]; // in which a poked token's vector moves
  const ARROWS = {
    ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
  };

  /* Whether query i may look at key j. */
  const PRESETS = {
    all: () => true,
    causal: (i, j) => j <= i,
    padding: (i, j, { words }) => words[j] !== "pad",
    prefix: (i, j, { prefix }) => j <= i || j < prefix,
    invert: (i, j, { may }) => !may[i][j],
  };

  const dot = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0);

  /* Self-attention, each vector being query, key and value; a query that may
     look nowhere has weights 0. */
  function attend(vectors, may) {
    const weights = vectors.map((query, i) => {
      const positive = vectors.map((key, j) =>
        may[i][j] ? Math.exp(dot(query, key) / Math.sqrt(key.length)) : 0);
      const sum = positive.reduce((a, b) => a + b);
      return positive.map((value) => (sum ? value / sum : 0));
    });
    const outputs = weights.map((row) => [0, 1].map((k) =>
      dot(row, vectors.map((value) => value[k]))));
    return { weights, outputs };
  }

  const listed = (words) =>
    words.length < 2 ? words.join("")
      : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

  function start(root, { words, vectors, prefix }) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const poke = find("poke");
    const far = slider("How far", { min: 0.1, max: 3, step: 0.1, value: 1 },
      () => show(), (value) => value.toFixed(1));
    find("sliders").append(far.label);
    let may = words.map(() => words.map(() => true));
    let [row, column] = [0, 0];
    root.classList.add("is-live");
    find("app").hidden = false;

    const cells = words.map((_, i) => words.map((_, j) =>
      h("button", {
        type: "button", class: "lv-cell",
        onclick: () => { may[i][j] = !may[i][j]; choose(i, j); },
        onpointerenter: () => choose(i, j),
        onfocus: () => choose(i, j),
      })));
    const moves = words.map(() => h("td", { class: "lv-share" }));
    find("keys").append(
      h("td"),
      ...words.map((word) => h("th", { scope: "col" }, word)),
      h("th", { scope: "col" }, "output moves by"));
    const rows = words.map((word, i) => h("tr", {},
      h("th", { scope: "row" }, word),
      ...cells[i].map((cell) => h("td", {}, cell)), moves[i]));
    find("rows").append(...rows);
    find("rows").addEventListener("keydown", (event) => {
      const step = ARROWS[event.key];
      if (!step) return;
      event.preventDefault();
      cells[row + step[0]]?.[column + step[1]]?.focus();
    });

    function choose(i, j) {
      [row, column] = [i, j];
      show();
    }

    function show() {
      const poked = Number(poke.value);
      const changed = vectors.map((vector, i) => vector.map((value, k) =>
        value + (i === poked ? far.value * DIRECTION[k] : 0)));
      const before = attend(vectors, may).outputs;
      const { weights, outputs } = attend(changed, may);
      const moved = outputs.map((output, i) =>
        Math.hypot(output[0] - before[i][0], output[1] - before[i][1]));
      far.input.disabled = poked < 0;
      words.forEach((query, i) => {
        rows[i].classList.toggle("is-now", i === row);
        moves[i].textContent = poked < 0 ? "" : moved[i].toFixed(2);
        moves[i].classList.toggle("is-felt", moved[i] > 1e-9);
        words.forEach((key, j) => {
          const [cell, weight] = [cells[i][j], weights[i][j]];
          cell.tabIndex = i === row && j === column ? 0 : -1;
          cell.style.setProperty("--share", weight ** 0.6); // so small ones show
          cell.textContent = i === row && may[i][j] ? weight.toFixed(2) : "";
          cell.setAttribute("aria-pressed", String(may[i][j]));
          cell.setAttribute("aria-label", `${query} looks at ${key}: ` +
            (may[i][j] ? percent(weight) : "forbidden"));
        });
      });
      const seen = words.map((key, j) => `${key} ${percent(weights[row][j])}`)
        .filter((_, j) => may[row][j]);
      const felt = words.filter((_, i) => moved[i] > 1e-9).map((word) =>
        word === words[poked] && !may[poked][poked]
          ? `${word} (by its own query)` : word);
      find("status").textContent =
        (seen.length ? `${words[row]} looks at ${listed(seen)}.`
          : `${words[row]} may look nowhere: 0/0. Here it fetches nothing.`) +
        (poked < 0 ? ""
          : felt.length ? ` A change of ${words[poked]} is felt by ${listed(felt)}.`
            : ` No output feels a change of ${words[poked]}.`);
    }

    for (const button of root.querySelectorAll("[data-preset]"))
      button.addEventListener("click", () => {
        const allows = PRESETS[button.dataset.preset];
        may = words.map((_, i) =>
          words.map((_, j) => allows(i, j, { words, prefix, may })));
        show();
      });
    poke.addEventListener("change", show);
    show();
  }

  figure("masks", start);
})();
