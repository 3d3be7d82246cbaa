/* Guesses that take an answer: buttons or a slider. Then the fold opens, the
   guess stays beside the result, and what waits below it is shown. */

"use strict";

let isSaid = false; // once on a page, why something waits

for (const box of document.querySelectorAll(".guess")) {
  const controls = box.querySelector(".guess-controls");
  const fold = box.querySelector("details");
  const { choices, answer, low, high, unit } = controls.dataset;
  const verdict = document.createElement("p");
  verdict.className = "guess-verdict";
  verdict.setAttribute("aria-live", "polite");
  box.classList.add("is-live");

  const waiting = [];
  for (let below = box.nextElementSibling; below && !below.matches("section, .guess");
    below = below.nextElementSibling)
    waiting.push(...[below, ...below.querySelectorAll(".after-guess")]
      .filter((part) => part.matches(".after-guess")));
  for (const part of waiting) part.classList.add("waits");

  const settle = (text) => {
    verdict.textContent = text;
    verdict.classList.remove("is-note");
    fold.open = true;
    for (const part of waiting) part.classList.remove("waits");
    for (const control of controls.children) control.disabled = true;
    show.remove();
  };

  const button = (text, onclick) => {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = text;
    element.addEventListener("click", onclick);
    controls.append(element);
    return element;
  };

  let tell; // the answer, to whoever has made a choice or none
  if (choices) {
    const buttons = choices.split("|").map((choice) => button(choice, ({ target }) => tell(target)));
    const right = buttons[Number(answer) - 1];
    tell = (chosen) => {
      chosen?.classList.add("is-chosen");
      right.classList.add("is-right");
      const said = `The answer: ${right.textContent}.`;
      settle(!chosen ? said : chosen === right ? "Yes." : `Not quite. ${said}`);
    };
  } else {
    const slider = document.createElement("input");
    const shown = document.createElement("output");
    const write = () => (shown.textContent = `${slider.value} ${unit}`);
    Object.assign(slider, { type: "range", min: low, max: high, autocomplete: "off" });
    slider.step = (high - low) / 100;
    slider.value = (Number(low) + Number(high)) / 2;
    slider.setAttribute("aria-label", box.querySelector("p").textContent);
    slider.addEventListener("input", write);
    write();
    controls.append(slider, shown);
    button("Answer", () => tell(slider));
    tell = (chosen) =>
      settle(chosen ? `You guessed ${slider.value} ${unit}. It is ${answer} ${unit}.`
        : `The answer: ${answer} ${unit}.`);
  }
  const show = button("Show", () => tell());
  show.className = "guess-show";
  show.setAttribute("aria-label", "Show the answer");
  controls.after(verdict);
  if (waiting.length && !isSaid) {
    isSaid = true;
    verdict.textContent = "The result shows below once you have answered.";
    verdict.classList.add("is-note");
  }

  // A link leads to what waits.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !waiting.some((part) => part.matches(".waits") && part.contains(target))) return;
    tell();
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
}
