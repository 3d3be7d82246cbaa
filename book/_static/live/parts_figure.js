/* The whole model with a part left out: the laws of chapter 10 that break,
   and what the small translator writes without it. */

"use strict";

(() => {
  const { h, choices, figure, latest, marked, translator, withModels } =
    course.ui;
  const PLACES = 12; // places of a source whose padding is not masked
  const LONGEST = 12; // words that are shown

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const model = translator("grammar", data.folder);
    const buttons = [...root.querySelectorAll("[data-part]")];
    const laws = Object.entries(data.laws).map(([law, says]) => {
      const sign = h("span", { class: "lv-sign" });
      const name = h("b", {}, law.replaceAll("_", " "));
      const item = h("li", {}, sign, h("span", {}, name, ` ${says}`));
      return { law, name: name.textContent, sign, item };
    });
    find("laws").append(...laws.map(({ item }) => item));
    let [words, out] = [[], null];

    async function write(name) {
      const { text } = await model.ask("translate", {
        text: words.map((word) => word.text()).join(" "),
        switches: data.parts[name]?.switches ?? {},
        places: name === "padding mask" ? PLACES : 0,
      });
      const written = text.split(" ").filter(Boolean);
      const shown = written.slice(0, LONGEST);
      const more = written.length > LONGEST ? " …" : "";
      const meant = shown.map((word) =>
        course.Stage.meaning(word, data.gloss) ?? word);
      return shown.length
        ? `${shown.join("")}${more} (${meant.join(" ")}${more})` : "nothing";
    }

    const translate = latest(async () => {
      const name = out;
      const whole = await write(null);
      const now = name && await write(name);
      find("written").replaceChildren(...marked(!name
        ? `It writes ${whole}` : whole === now
          ? `It still writes ${whole}`
          : `It writes ${now} instead of ${whole}`));
    });

    function show() {
      for (const button of buttons)
        button.setAttribute("aria-pressed", String(button.dataset.part === out));
      const breaks = data.parts[out]?.breaks ?? [];
      const broken = laws.filter(({ law, sign, item }) => {
        const isBroken = breaks.includes(law);
        item.classList.toggle("is-broken", isBroken);
        sign.textContent = isBroken ? "✗" : "✓";
        sign.setAttribute("aria-label", isBroken ? "broken:" : "holds:");
        return isBroken;
      });
      find("status").textContent = out
        ? `Left out: ${out}. ${broken.length} of ${laws.length} laws ` +
          `${broken.length === 1 ? "is" : "are"} broken: ` +
          `${broken.map(({ name }) => name).join(", ")}.`
        : `Everything is there, and all ${laws.length} laws hold.`;
      return translate();
    }

    function choose() {
      words = choices(data.sentences[find("sentence").value], translate);
      find("source").replaceChildren(...words.map(({ element }) => element));
      return translate();
    }

    for (const button of buttons)
      button.addEventListener("click", () => {
        out = out === button.dataset.part ? null : button.dataset.part;
        show();
      });
    find("sentence").addEventListener("change", choose);
    withModels(root, [model], () => {
      choose();
      return show();
    });
  }

  figure("parts", start);
})();
