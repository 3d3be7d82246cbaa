/* The larger translators: a sentence of the reader's own. */

"use strict";

(() => {
  const { figure, translator } = course.ui;

  /* A sentence near to the corpus's form; see transformer_course/data/plain.py.
     Japanese is cut into words by the browser. */
  function fromPlain(text, language) {
    if (language === "en")
      return text
        .toLowerCase()
        .replaceAll("’", "'")
        .replace(/(?<=[a-z])('(?:s|m|d|ll|re|ve|t)\b)/g, " $1")
        .replaceAll('"', " '' ")
        .replace(/([.,!?;:()]+)/g, " $1 ")
        .replace(/(?<=\d) ([.,:]) (?=\d)/g, "$1")
        .trim()
        .replace(/\s+/g, " ");
    const cut = new Intl.Segmenter("ja", { granularity: "word" });
    return [...cut.segment(text.normalize("NFC").replace(/\s+/g, ""))]
      .map(({ segment }) => segment)
      .join(" ");
  }

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const radios = [...root.querySelectorAll('input[type="radio"]')];
    const [field, status, progress] = ["text", "status", "progress"].map(find);
    const name = () => radios.find((radio) => radio.checked).value;
    const loaded = new Set();
    const stage = new course.Stage(root, { languages: ["en", "ja"] });

    root.classList.add("is-live");
    find("app").hidden = false;

    function choose() {
      field.value = data.examples[name()].text;
      field.lang = name().slice(0, 2);
      find("go").textContent = loaded.has(name())
        ? "Translate"
        : "Load the model (15 MB) and translate";
      status.textContent = "";
    }

    async function load(chosen, model) {
      progress.hidden = loaded.has(chosen);
      await model.load((share) => {
        progress.value = share;
      });
      progress.hidden = true;
      loaded.add(chosen);
      find("go").textContent = "Translate";
    }

    async function translate() {
      const [chosen, written] = [name(), field.value];
      const model = translator(chosen, data.folder);
      const languages = chosen.split("-");
      await load(chosen, model);
      const text = fromPlain(written, languages[0]);
      const { pieces } = await model.ask("encode", { text });
      const example = data.examples[chosen];
      stage.languages = languages;
      stage.gloss = written === example.text ? example.gloss : {};
      stage.setSource(
        [...pieces, "</s>"].map((piece, i) => stage.token(piece, i)));
      const found = await model.ask("translate", { text }, (step) =>
        stage.add(step));
      stage.selectClearest();
      const apart = languages[1] === "ja" ? "" : " ";
      status.textContent = found.text.replaceAll(" ", apart);
    }

    find("form").addEventListener("submit", (event) => {
      event.preventDefault();
      find("go").disabled = true;
      translate()
        .catch((error) => (status.textContent = String(error.message)))
        .finally(() => (find("go").disabled = false));
    });
    for (const radio of radios) radio.addEventListener("change", choose);
    choose();
  }

  figure("free-translator", start);
})();
