/* The translator on the page: choose words, watch, switch parts off. */

"use strict";

(() => {
  const { choices, figure, marked, translator, withModels } = course.ui;
  const PLACES = 12; // places of a source whose padding is not masked

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const model = translator("grammar", data.folder);
    // the course's own model, beside that of a reader
    const other = data.beside &&
      new course.Translator("grammar", `${data.beside}/grammar`);
    const languages = ["en", "ja"];
    const stage = new course.Stage(root, { gloss: data.gloss, languages });
    const switches = [...root.querySelectorAll("[data-switch]")];
    const sentence = find("sentence");
    let chosen = [];

    const text = () => chosen.map((slot) => slot.text()).join(" ");

    /* The choices; then eos and as much padding as there could be. */
    function showSource(slots) {
      chosen = choices(slots, () => translate());
      const ends = ["</s>", ...Array(PLACES).fill("<pad>")];
      stage.setSource([...chosen, ...ends.map((end) => stage.token(end))]);
      setTokens();
    }

    /* Which tokens each element stands for: a choice may be two words. Padding
       is there where the model attends to it. */
    function setTokens() {
      let at = 0;
      const last = isOff("padding") ? PLACES : 0;
      stage.source.forEach((word, i) => {
        const slot = chosen[i];
        const count = slot ? slot.text().split(" ").length : 1;
        word.tokens = Array.from({ length: count }, () => at++);
        word.element.hidden = i > chosen.length && at > last;
        word.element.classList.toggle("is-empty", i > chosen.length);
      });
    }

    const isOff = (name) =>
      switches.some((box) => box.dataset.switch === name && box.checked);

    async function search(changed, asked = model) {
      const steps = [];
      const off = (name) => changed && isOff(name);
      const details = {
        text: text(),
        places: off("padding") ? PLACES : 0,
        switches: {
          positions: !off("positions"),
          paddingMask: !off("padding"),
          without: off("cross") ? [data.lastCross] : [],
        },
      };
      const found = await asked.ask("translate", details, (step) =>
        steps.push(step));
      return { ...found, steps };
    }

    let run = 0;

    async function translate() {
      const mine = ++run;
      setTokens();
      const whole = await search(false);
      const changed = switches.some((box) => box.checked);
      const now = changed ? await search(true) : whole;
      const theirs = other && await search(changed, other);
      if (mine !== run) return;
      const glossed = ({ text }) => {
        const words = text.split(" ");
        const glosses = words.map((word) => stage.meaning(word) ?? word);
        return `${words.join("")} (${glosses.join(" ")})`;
      };
      const said = !changed
        ? `It writes ${glossed(now)}`
        : whole.text === now.text
          ? `Unchanged: it still writes ${glossed(now)}`
          : `With everything on: ${glossed(whole)} Now: ${glossed(now)}`;
      find("status").replaceChildren(...marked(theirs
        ? `Yours. ${said} The course's writes ${glossed(theirs)}` : said));
      for (const note of root.querySelectorAll("[data-note]"))
        note.hidden = !isOff(note.dataset.note);
      await stage.play(now.steps);
    }

    sentence.addEventListener("change", () => {
      showSource(data.sentences[sentence.value]);
      translate();
    });
    find("again").addEventListener("click", translate);
    for (const box of switches) box.addEventListener("change", translate);

    showSource(data.sentences[sentence.value]);
    withModels(root, [model, other].filter(Boolean), () => {
      translate();
    });
  }

  figure("translator", start);
})();
