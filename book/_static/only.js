/* One figure alone, for a frame: 04_attention.html?only=live-0. In a notebook
   a frame of the same server becomes as high as its figure. On a slide,
   ?only=live-0&deck, the figure has the slide's room, and the keys that it has
   no use for go on to the deck, as do those of projector.html?show=masks&deck. */

(() => {
  "use strict";

  const asked = new URLSearchParams(location.search);
  const CODES = {
    Escape: 27,
    " ": 32,
    PageUp: 33,
    PageDown: 34,
    ArrowLeft: 37,
    ArrowUp: 38,
    ArrowRight: 39,
    ArrowDown: 40,
  };

  function isUsed({ key, target, defaultPrevented }) {
    if (key === "Escape" || key.startsWith("Page")) return false;
    const fields = "input:not([type=checkbox]), select, textarea";
    const pressed = "[type=checkbox], button, summary";
    if (target.matches(key === " " ? `${fields}, ${pressed}` : fields)) {
      return true;
    }
    return defaultPrevented;
  }

  /* The deck is reveal.js, which takes calls as messages, also from a disk. */
  function pass(event) {
    const { key, ctrlKey, metaKey, altKey } = event;
    const isOther = !(key in CODES) || ctrlKey || metaKey || altKey;
    if (isOther || isUsed(event)) return;
    event.preventDefault();
    const call = { method: "triggerKey", args: [CODES[key]] };
    window.parent.focus();
    window.parent.postMessage(JSON.stringify(call), "*");
  }

  const inDeck = asked.has("deck");
  if (inDeck) {
    document.documentElement.classList.add("in-deck");
    addEventListener("keydown", pass);
  }

  const figure = asked.has("only") && document.getElementById(asked.get("only"));
  if (!figure) return;

  figure.classList.add("only");
  for (let part = figure.parentElement; part; part = part.parentElement)
    part.classList.add("around-only");
  const frame = !inDeck && window.frameElement;
  if (!frame) return;
  new ResizeObserver(() => {
    const { bottom } = figure.getBoundingClientRect();
    frame.style.height = `${Math.ceil(bottom + scrollY) + 16}px`;
  }).observe(figure);
})();
