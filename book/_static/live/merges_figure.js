/* Byte-pair encoding, merge by merge: the most frequent pair of neighbours
   becomes one piece, in all words. */

"use strict";

(() => {
  const { h, figure, slider } = course.ui;
  const SHOWN = 4; // pairs with their counts

  const times = (count) => (count === 1 ? "once" : `${count} times`);

  const neighbours = (pieces) => pieces.slice(1).map((b, i) => [pieces[i], b]);

  /* All pairs {pair, count}, the next to be joined first: of two as frequent
     the shorter, then the first in the alphabet. */
  function ranked(words) {
    const counts = new Map();
    for (const { pieces, count } of words) {
      for (const pair of neighbours(pieces)) {
        const found = counts.get(pair.join(" ")) ?? { pair, count: 0 };
        found.count += count;
        counts.set(pair.join(" "), found);
      }
    }
    const joined = ({ pair }) => pair.join("");
    return [...counts.values()].sort((a, b) =>
      b.count - a.count || joined(a).length - joined(b).length ||
      (joined(a) > joined(b)) - (joined(a) < joined(b)));
  }

  /* Where a pair begins, from the left and without overlaps. */
  function places(pieces, [a, b]) {
    const found = [];
    for (let i = 0; i < pieces.length - 1; i++)
      if (pieces[i] === a && pieces[i + 1] === b) found.push(i++);
    return found;
  }

  function merge(pieces, pair) {
    const first = places(pieces, pair);
    return pieces
      .map((piece, i) => (first.includes(i) ? pair.join("") : piece))
      .filter((_, i) => !first.includes(i - 1));
  }

  /* Each state from characters to whole words, with the pair joined next. */
  function learn(text) {
    let words = Object.entries(text).map(([word, count]) =>
      ({ pieces: ["▁", ...word], count }));
    const states = [];
    for (;;) {
      const pairs = ranked(words);
      states.push({ words, pairs });
      if (!pairs.length) return states;
      words = words.map(({ pieces, count }) =>
        ({ pieces: merge(pieces, pairs[0].pair), count }));
    }
  }

  function start(root, { texts }) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const choice = find("text");
    const merges = slider("Merges", { value: 0 }, () => show());
    find("sliders").append(merges.label);
    let [states, characters] = [[], 0];
    root.classList.add("is-live");
    find("app").hidden = false;

    function word({ pieces, count }, pair) {
      const first = pair ? places(pieces, pair) : [];
      const marked = (i) => first.includes(i) || first.includes(i - 1);
      return h("li", {},
        ...pieces.map((piece, i) =>
          h("span", { class: `lv-piece ${marked(i) ? "is-now" : ""}` }, piece)),
        h("small", {}, `× ${count}`));
    }

    function show() {
      const at = merges.value;
      const { words, pairs } = states[at];
      const next = pairs[0];
      const merged = states.slice(0, at).map((state) => state.pairs[0].pair);
      find("words").replaceChildren(...words.map((one) => word(one, next?.pair)));
      find("pairs").replaceChildren(...pairs.slice(0, SHOWN).map(
        ({ pair, count }, i) => h("li", { class: `lv-pair ${i ? "" : "is-now"}` },
          h("span", {}, pair.join(" + ")), h("span", {}, times(count)),
          h("span", { class: "lv-bar", style: `--share:${count / next.count}` }))));
      find("merges").textContent =
        merged.map((pair) => pair.join("")).join(", ") || "nothing";
      find("status").textContent =
        `${characters} characters and ${at === 1 ? "1 merge" : `${at} merges`}: ` +
        "a vocabulary of " +
        `${characters + at} pieces. ` +
        (next ? `Next, ${next.pair.join(" + ")}, ${times(next.count)}.`
          : "Every word is one piece.");
      find("back").disabled = at === 0;
      find("next").disabled = !next;
    }

    function begin() {
      const text = texts[choice.value];
      states = learn(text);
      characters = new Set(["▁", ...Object.keys(text).join("")]).size;
      merges.max = states.length - 1;
      merges.value = 0;
      show();
    }

    const step = (by) => () => {
      merges.value += by;
      show();
    };
    find("back").addEventListener("click", step(-1));
    find("next").addEventListener("click", step(1));
    choice.addEventListener("change", begin);
    begin();
  }

  figure("merges", start);
})();
