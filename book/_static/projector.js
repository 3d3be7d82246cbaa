/* The page of demonstrations: one of them fills the window, in letters as
   large as will fit. 1 to 9 and 0 go to one, arrows and Page Up and Down (the
   keys of a presenter) to the next, F fills the screen, Esc leaves. Keys that
   are typed into a field are left to it, until Esc leaves the field; so are
   arrows that move a control. On a slide (only.js) all keys are the deck's. */

"use strict";

(() => {
  const root = document.documentElement;
  const sections = [
    ...document.querySelectorAll(".bd-article section section"),
  ];
  const SIZES = [16, 64]; // pixels of a letter of the text, from and to
  let shown = null;

  function fits() {
    return (
      shown.scrollHeight <= shown.clientHeight &&
      shown.scrollWidth <= shown.clientWidth
    );
  }

  /* The largest letters with which all of it is seen. */
  function fit() {
    let [fitting, tooLarge] = SIZES;
    while (tooLarge - fitting > 0.5) {
      const size = (fitting + tooLarge) / 2;
      root.style.fontSize = `${size}px`;
      if (fits()) fitting = size;
      else tooLarge = size;
    }
    root.style.fontSize = `${fitting}px`;
  }

  function show(section) {
    shown?.classList.remove("is-shown");
    shown = section;
    root.classList.toggle("is-projected", Boolean(shown));
    root.style.fontSize = "";
    if (!shown) return;
    shown.classList.add("is-shown");
    shown.tabIndex = -1;
    shown.focus();
    fit();
  }

  function go(by) {
    const place = sections.indexOf(shown) + by;
    if (sections[place]) show(sections[place]);
  }

  const isField = (target) => target.matches("textarea, input[type=text]");

  function leave({ target }) {
    if (isField(target)) shown?.focus();
    else if (document.fullscreenElement) document.exitFullscreen();
    else show(null);
  }

  function fill() {
    if (!shown) show(sections[0]);
    if (document.fullscreenElement) document.exitFullscreen();
    else root.requestFullscreen();
  }

  const keys = {
    f: fill,
    Escape: leave,
    PageDown: () => go(1),
    PageUp: () => go(-1),
    ArrowRight: () => go(1),
    ArrowLeft: () => go(-1),
  };

  function isTaken({ key, target }) {
    if (!shown && !/^[\df]$/.test(key)) return true;
    if (key.startsWith("Page") || key === "Escape") return false;
    if (isField(target)) return true;
    return key.startsWith("Arrow") && !target.matches("body, section, button");
  }

  function obey(event) {
    const { key, ctrlKey, metaKey, altKey, defaultPrevented } = event;
    const act = /^\d$/.test(key)
      ? () => show(sections[(Number(key) + 9) % 10])
      : keys[key];
    if (!act || ctrlKey || metaKey || altKey || isTaken(event)) return;
    if (defaultPrevented && key !== "Escape") return; // Sphinx prevents Esc
    event.preventDefault();
    act(event);
  }

  const address = new URLSearchParams(location.search);
  if (!address.has("deck")) document.addEventListener("keydown", obey);
  document.addEventListener("submit", () => shown?.focus());
  addEventListener("resize", () => shown && fit());
  /* projector.html?show=masks, in the frame of a slide */
  const found = sections.find(({ id }) => id === address.get("show"));
  if (found) show(found);

  const grown = new ResizeObserver(() => shown && !fits() && fit());
  for (const section of sections) {
    for (const part of section.children) grown.observe(part);
  }
})();
