/* Attention as a film: by hand, with a mask, with heads. */

"use strict";

(() => {
  const { figure } = course.ui;

  function start(root, data) {
    const film = new course.Film(root);
    const switches = [...root.querySelectorAll("[data-switch]")];
    const load = () => {
      const on = Object.fromEntries(switches.map((box) =>
        [box.dataset.switch, box.checked]));
      const parts = { ...data.on, ...on };
      const kind = data.short ? "short" : parts.heads ? "heads" : "all";
      film.load(course.reels[kind](data, parts), film.time);
    };
    for (const box of switches) box.addEventListener("change", load);
    root.classList.add("is-live");
    root.querySelector('[data-lv="app"]').hidden = false;
    load();
  }

  figure("film", start);
})();
