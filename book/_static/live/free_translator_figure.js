/* The larger translators: a sentence of the reader's own. */

"use strict";

(() => {
  const { h, figure, marked, translator } = course.ui;
  const NAMES = { en: "English", ja: "Japanese" };

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const radios = [...root.querySelectorAll('input[type="radio"]')];
    const [field, status, progress, go] =
      ["text", "status", "progress", "go"].map(find);
    const name = () => radios.find((radio) => radio.checked).value;
    const model = () => translator(name(), data.folder);
    const stage = new course.Stage(root, { languages: ["en", "ja"] });
    const say = (...parts) => status.replaceChildren(...parts.filter(Boolean));

    root.classList.add("is-live");
    find("app").hidden = false;

    const offer = () => {
      go.textContent = model().share === 1
        ? "Translate" : "Load the model (15 MB) and translate";
    };

    function choose() {
      const language = name().slice(0, 2);
      if (!field.value.trim() || !mayBeIn(field.value, language))
        field.value = data.examples[name()].text;
      field.lang = language;
      offer();
      say();
    }

    /* What the reader is asked for where there is nothing to translate. */
    function wanted(written, [source, target]) {
      const [own, other] = [NAMES[source], NAMES[target]];
      if (!written.trim()) return [`Write a sentence in ${own} first.`];
      if (mayBeIn(written, source)) return null;
      const wrong =
        `This does not look like ${own}, which is all that this model reads. `;
      return mayBeIn(written, target) ? [wrong, h("button", {
        type: "button",
        onclick() {
          radios.find(({ value }) => value === `${target}-${source}`).click();
          go.focus();
        },
      }, `Use ${other} to ${own}`)] : [wrong, `Write ${own}.`];
    }

    async function translate(chosen, written, languages) {
      const used = model();
      const example = data.examples[chosen];
      progress.hidden = used.share === 1;
      await used.load(() => {
        say(`Loading the model, ${used.arrived}`);
        progress.value = used.share;
      });
      progress.hidden = true;
      say("Translating …");
      const text = fromPlain(written, languages[0]);
      const { pieces } = await used.ask("encode", { text });
      stage.languages = languages;
      stage.gloss = written === example.text ? example.gloss : {};
      stage.setSource(
        [...pieces, "</s>"].map((piece, i) => stage.token(piece, i)));
      const found = await used.ask("translate", { text }, (step) =>
        stage.add(step));
      stage.selectClearest();
      const plain = toPlain(found.text, languages[1]);
      say(h("span", { lang: languages[1] }, plain),
        languages[1] === "ja" && h("small", {},
          ...marked(course.Stage.glossed(plain, data.gloss))));
    }

    find("form").addEventListener("submit", async (event) => {
      event.preventDefault();
      const [chosen, written] = [name(), field.value];
      const languages = chosen.split("-");
      const missing = wanted(written, languages);
      if (missing) return say(...missing);
      go.disabled = true;
      try {
        await translate(chosen, written, languages);
        offer();
      } catch (error) {
        progress.hidden = true;
        say(error.message);
        go.textContent = "Try again";
      }
      go.disabled = false;
    });
    for (const radio of radios) radio.addEventListener("change", choose);
    choose();
  }

  figure("free-translator", start);
})();
