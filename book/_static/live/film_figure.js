/* Attention as a film: by hand, with a mask, with heads; and one word of the
   translator. */

"use strict";

(() => {
  const { figure, translator } = course.ui;
  const SENTENCE = "cats drink milk .";
  const ASKER = 1; // drink
  const WRITTEN = 2; // at は the model looks for its next word,
  const HEAD = 1; // and this head finds milk

  function start(root, data) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const film = new course.Film(root);
    const switches = [...root.querySelectorAll("[data-switch]")];
    const numbers = find("numbers");
    const model = translator("grammar", data.folder);

    function byHand(time = 0) {
      course.boxes.withHeads(root, 0, 0, () => {});
      const on = switches.map((box) => [box.dataset.switch, box.checked]);
      const parts = { ...data.on, ...Object.fromEntries(on) };
      for (const box of switches)
        box.disabled = box.dataset.switch === "root" && parts.heads; // as chapter 07
      const kind = data.short ? "short" : parts.heads ? "heads" : "all";
      film.load(course.reels[kind](data, parts), time);
    }

    async function ofModel() {
      try {
        await model.load(() => {
          film.find("said").textContent = `Loading the model, ${model.arrived}`;
        });
        const { nHeads, open } = await course.boxes.opened(model, SENTENCE, ASKER);
        if (numbers.value === "hand") return; // chosen meanwhile
        await course.boxes.withHeads(root, nHeads, HEAD, async (head) =>
          film.load(await open.cross(WRITTEN, head), film.time));
      } catch (error) {
        numbers.value = "hand";
        byHand();
        film.find("said").textContent = error.message;
      }
    }

    for (const box of switches)
      box.addEventListener("change", () => byHand(Math.round(film.time)));
    numbers?.addEventListener("change", () => {
      if (numbers.value === "hand") return byHand();
      for (const box of switches) box.disabled = true;
      film.time = 0;
      ofModel();
    });
    root.classList.add("is-live");
    find("app").hidden = false;
    byHand();
  }

  figure("film", start);
})();
