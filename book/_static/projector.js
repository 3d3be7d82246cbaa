/* Keys for the page of demonstrations: 1 to 9 and 0 go to one, F fills the
   screen. Keys that are typed into a field are left to it. */

"use strict";

(() => {
  const sections = document.querySelectorAll(".bd-article section section");
  document.querySelector(".bd-article").classList.add("projector");
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const typed = target.closest("input:not([type=checkbox]), select, textarea");
    if (typed || event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === "f") {
      if (document.fullscreenElement) document.exitFullscreen();
      else document.querySelector(".bd-article").requestFullscreen();
    } else if (/^\d$/.test(key)) {
      const section = sections[(Number(key) + 9) % 10];
      section?.scrollIntoView();
      section?.querySelector("select, button, input")?.focus({
        preventScroll: true,
      });
    }
  });
})();
