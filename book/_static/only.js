/* One figure alone, for a notebook's frame: 04_attention.html?only=live-0.
   A frame of the same server becomes as high as its figure. */

(() => {
  "use strict";

  const id = new URLSearchParams(location.search).get("only");
  const figure = id && document.getElementById(id);
  if (!figure) return;

  figure.classList.add("only");
  for (let part = figure.parentElement; part; part = part.parentElement)
    part.classList.add("around-only");
  const frame = window.frameElement;
  new ResizeObserver(() => {
    const { bottom } = figure.getBoundingClientRect();
    if (frame) frame.style.height = `${Math.ceil(bottom + scrollY) + 16}px`;
  }).observe(figure);
})();
