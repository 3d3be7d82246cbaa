/* What reveal.js does not know: pictures that appear step by step, formulas as
   large as fits, and formulas in the speaker's notes. It is a plugin, so that
   it comes before the first slide. */

"use strict";

window.RevealSteps = (() => {
  const [LARGEST, SMALLEST] = [44, 24]; // pixels of a formula's letters
  const MARKS = "path, use, text, image, rect, circle, ellipse, line, polygon";

  /* The click at which a mark appears: that of the step in which most of it
     lies; undefined, if it is there from the beginning. */
  function clickOf(box, around, steps) {
    const own = Math.max(box.width, 1) * Math.max(box.height, 1);
    const share = (step) => {
      let inside = 0;
      for (let n = 0; n < step.length; n += 4) {
        const [left, top, right, bottom] = step.slice(n, n + 4);
        const across = (at) => around.left + (at * around.width) / 100;
        const down = (at) => around.top + (at * around.height) / 100;
        const width =
          Math.min(across(right), Math.max(box.right, box.left + 1)) -
          Math.max(across(left), box.left);
        const height =
          Math.min(down(bottom), Math.max(box.bottom, box.top + 1)) -
          Math.max(down(top), box.top);
        inside += Math.max(0, width) * Math.max(0, height);
      }
      return inside / own;
    };
    const shares = steps.map(share);
    const most = Math.max(...shares);
    return most > 0.5 ? shares.indexOf(most) : undefined;
  }

  /* Makes fragments of a picture's marks. They are measured on a copy that is
     laid out: reveal.js shows one slide at a time. */
  function build(picture) {
    const steps = JSON.parse(picture.dataset.steps);
    const marksOf = (svg) =>
      [...svg.querySelectorAll(MARKS)].filter((mark) => !mark.closest("defs"));
    const copy = picture.cloneNode(true);
    copy.style.cssText = "position: fixed; left: 0; top: 0; visibility: hidden";
    document.body.append(copy);
    const around = copy.getBoundingClientRect();
    const boxes = marksOf(copy).map((mark) => mark.getBoundingClientRect());
    copy.remove();
    marksOf(picture).forEach((mark, number) => {
      const click = clickOf(boxes[number], around, steps);
      if (click === undefined) return;
      mark.classList.add("fragment");
      mark.dataset.fragmentIndex = click;
    });
  }

  /* The largest letters with which a formula that grows has room. */
  function fit(slide) {
    const formula = slide?.querySelector(".formula");
    if (!formula) return;
    const { style } = formula;
    const leaves = () =>
      formula.scrollWidth > formula.clientWidth ||
      formula.scrollHeight > formula.clientHeight;
    for (let size = LARGEST; size >= SMALLEST; size -= 2) {
      style.setProperty("--term", `${size}px`);
      if (!leaves()) return;
    }
  }

  addEventListener("load", () => {
    for (const view of document.querySelectorAll("meta[name=viewport]")) {
      // who cannot read a slide may make it larger
      view.content = "width=device-width, initial-scale=1";
    }
    /* The speaker's window has neither the signs of formulas nor the styles: a
       formula of the notes is there the MathML that is meant to be heard. */
    document.querySelectorAll(".present, .pdf-page section").forEach(fit);
    for (const formula of document.querySelectorAll(".notes mjx-container")) {
      formula.replaceWith(formula.querySelector("math"));
    }
  });

  return {
    id: "steps",
    init: (deck) => {
      document.querySelectorAll("[data-steps]").forEach(build);
      deck.on("slidechanged", ({ currentSlide }) => fit(currentSlide));
    },
  };
})();
