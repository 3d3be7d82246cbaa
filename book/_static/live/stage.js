/* A translation as it comes about: the source's words above, below them what
   the model writes, ribbons from each word to where it attends, and bars of
   what else it might have written. */

"use strict";

course.Stage = class {
  static PACE = 350; // milliseconds for a word; the first time, twice as many
  static WIDEST = 14; // pixels of a ribbon with all the weight

  /* root has elements data-lv="stage", "source", "target" and "next".
     gloss: from a piece to its meaning. languages: of source and target. */
  constructor(root, { gloss = {}, languages }) {
    this.find = (name) => root.querySelector(`[data-lv="${name}"]`);
    this.gloss = gloss;
    this.languages = languages;
    this.steps = [];
    this.run = 0;
    this.ribbons = course.ui.svg("svg", { class: "lv-ribbons" });
    this.ribbons.setAttribute("aria-hidden", "true");
    this.find("stage").append(this.ribbons);
    new ResizeObserver(() => this.draw()).observe(this.find("stage"));
  }

  /* Pieces that are no words: how they are shown, and what they mean. */
  static MARKS = {
    "<s>": ["bos", "start"],
    "</s>": ["eos", "end"],
    "<pad>": ["pad", "empty"],
  };

  static shown = (piece) =>
    this.MARKS[piece]?.[0] ?? (piece.replaceAll("\u2581", "") || "␣");

  static meaning = (piece, gloss) =>
    this.MARKS[piece]?.[1] ?? gloss[this.shown(piece)];

  /* What those words of a text mean that have a meaning, the longest first. A
     single sign may be part of a longer word, if no particle follows. */
  static glossed = (text, gloss) => {
    const known = Object.keys(gloss).filter((word) => /\p{L}/u.test(word))
      .sort((a, b) => b.length - a.length)
      .map((word) => word.length > 1
        ? word : `(?<!\\p{sc=Han})${word}(?=[はがをにでのともへや。、])`);
    const found = text.match(new RegExp(known.join("|"), "gu")) ?? [];
    return found.map((word) => `${word} ${gloss[word]}`).join(" · ");
  };

  /* A source element for the token at this position. */
  token(piece, position) {
    const { h } = course.ui;
    const [shown, meaning] = [course.Stage.shown(piece), this.meaning(piece)];
    return {
      tokens: [position],
      text: () => shown,
      element: h("span", { class: "lv-word" },
        h("span", { lang: this.languages[0] }, shown),
        meaning && h("small", { lang: "en" }, meaning)),
    };
  }

  meaning(piece) {
    return course.Stage.meaning(piece, this.gloss);
  }

  /* Source elements, each with the positions of its tokens. */
  setSource(elements) {
    this.source = elements;
    this.find("source").replaceChildren(...elements.map(({ element }) => element));
    this.clear();
  }

  clear() {
    this.run++;
    this.steps = [];
    this.selected = 0;
    this.find("target").replaceChildren();
    this.find("next").replaceChildren();
    this.draw();
  }

  /* Show steps {piece, best, cross} one after the other. */
  async play(steps) {
    this.clear();
    const { run } = this;
    const pace = this.constructor.PACE * (this.played ? 1 : 2);
    this.played = true;
    steps.forEach((step, index) => this.place(step, index));
    for (const step of steps) {
      await course.ui.pause(pace);
      if (run !== this.run) return;
      this.reveal(step);
    }
    this.select(0);
  }

  add(step) {
    this.place(step, this.steps.length);
    this.reveal(step);
  }

  /* A word that is still to come has its room, so that no other moves. */
  place(step, index) {
    const { h } = course.ui;
    const meaning = this.meaning(step.piece);
    const word = h(
      "button",
      {
        type: "button", class: "lv-word is-coming", "aria-pressed": "false",
        onpointerenter: () => this.select(index),
        onfocus: () => this.select(index),
        onclick: () => this.select(index),
      },
      h("span", { lang: this.languages[1] }, this.constructor.shown(step.piece)),
      meaning && h("small", { lang: "en" }, meaning),
    );
    this.find("target").append(word);
  }

  reveal(step) {
    const index = this.steps.length;
    const born = performance.now();
    this.steps.push({ ...step, born, looks: this.looks(step.cross) });
    this.find("target").children[index].classList.remove("is-coming");
    this.select(index);
  }

  /* Weight on each source element: the mean of all heads of all layers. */
  looks(cross) {
    return this.source.map(({ tokens }) => {
      let sum = 0;
      for (const { weights } of cross)
        for (const token of tokens) sum += weights[token] ?? 0;
      return cross.length ? sum / cross.length : 0;
    });
  }

  select(index) {
    if (!this.steps[index]) return;
    this.selected = index;
    [...this.find("target").children].forEach((word, i) =>
      word.setAttribute("aria-pressed", String(i === index)));
    this.draw();
    this.showNext();
  }

  /* Select the piece that attends most to one word of the source; eos, the
     last on either side, is none. */
  selectClearest() {
    const words = this.source.slice(0, -1).map(({ text }) =>
      /\p{L}/u.test(text()));
    const peaks = this.steps.slice(0, -1).map(({ looks }) =>
      Math.max(...words.map((isWord, j) => isWord * looks[j])));
    this.select(peaks.indexOf(Math.max(...peaks)));
  }

  /* Ribbons lead up, and to the left where the words stand in two columns, as
     they do on a phone. */
  draw() {
    const { svg } = course.ui;
    const words = this.find("target").children;
    const [from, source, target] = ["stage", "source", "target"].map((name) =>
      this.find(name).getBoundingClientRect());
    const beside = target.left >= source.right;
    const end = (element, edge) => {
      const box = element.getBoundingClientRect();
      return beside
        ? [box[edge] - from.left, box.top + box.height / 2 - from.top]
        : [box.left + box.width / 2 - from.left, box[edge] - from.top];
    };
    const [start, stop] = beside ? ["left", "right"] : ["top", "bottom"];
    const now = performance.now();
    const paths = this.steps.flatMap(({ looks, born }, i) =>
      looks.map((weight, j) => {
        if (weight < 0.03) return null;
        const [x1, y1] = end(words[i], start);
        const [x2, y2] = end(this.source[j].element, stop);
        const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
        return svg("path", {
          d: `M${x1} ${y1}` + (beside
            ? `C${x} ${y1} ${x} ${y2} ${x2} ${y2}`
            : `C${x1} ${y} ${x2} ${y} ${x2} ${y2}`),
          pathLength: 1,
          style: `animation-delay: ${born - now}ms`,
          "stroke-width": Math.max(1, weight * this.constructor.WIDEST),
          class: i === this.selected ? "is-now" : "",
        });
      }));
    this.ribbons.replaceChildren(...paths.filter(Boolean));
    this.source?.forEach(({ element }, j) =>
      element.style.setProperty(
        "--look", this.steps[this.selected]?.looks[j] ?? 0));
  }

  /* Bars of the likeliest words at the selected place; where it looked, in
     words, for those who do not see the ribbons. */
  showNext() {
    const { h, marked, percent } = course.ui;
    const { best, piece, looks } = this.steps[this.selected];
    const rows = best.map(({ piece: other, share }) =>
      h(
        "li", { class: other === piece ? "is-now" : "" },
        h("span", { lang: this.languages[1] }, this.constructor.shown(other)),
        h("small", {}, this.meaning(other) ?? ""),
        h("span", { class: "lv-bar", style: `--share:${share}` }),
        h("span", { class: "lv-share" }, percent(share)),
      ));
    const most = looks.map((_, j) => j).sort((a, b) => looks[b] - looks[a]);
    const said = most.slice(0, 2).map((j) =>
      `“${this.source[j].text()}” (${percent(looks[j])})`);
    this.find("next").replaceChildren(
      h("p", { class: "lv-title" }, "The likeliest words here"),
      h("ol", {}, ...rows),
      h("p", { class: "lv-looks" },
        ...marked(looks.some((weight) => weight > 0)
          ? `It attends most to ${said.join(" and ")}.`
          : "It attends to nothing.")),
    );
  }
};
