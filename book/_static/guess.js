/* Guesses that take an answer: buttons or a slider. Then the fold opens, the
   guess stays beside the result, and what the cells below it print is shown. */

"use strict";

for (const box of document.querySelectorAll(".guess")) {
  const controls = box.querySelector(".guess-controls");
  const fold = box.querySelector("details");
  const { choices, answer, low, high, unit } = controls.dataset;
  const verdict = document.createElement("p");
  verdict.className = "guess-verdict";
  verdict.setAttribute("aria-live", "polite");
  box.classList.add("is-live");

  const waiting = [];
  for (let cell = box.nextElementSibling; cell?.matches("div.cell");
    cell = cell.nextElementSibling)
    waiting.push(...cell.querySelectorAll(".cell_output"));
  for (const output of waiting) output.classList.add("waits");

  const settle = (text) => {
    verdict.textContent = text;
    fold.open = true;
    for (const output of waiting) output.classList.remove("waits");
  };

  const button = (text, onclick) => {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = text;
    element.addEventListener("click", onclick);
    controls.append(element);
    return element;
  };

  if (choices) {
    const buttons = choices.split("|").map((choice, i) =>
      button(choice, () => {
        const right = Number(answer) - 1;
        buttons.forEach((other, j) => {
          other.disabled = true;
          other.classList.toggle("is-chosen", j === i);
          other.classList.toggle("is-right", j === right);
        });
        settle(i === right ? "Yes." : `Not quite. The answer: ${buttons[right].textContent}.`);
      }));
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
    const done = button("Answer", () => {
      slider.disabled = done.disabled = true;
      settle(`You guessed ${slider.value} ${unit}. It is ${answer} ${unit}.`);
    });
  }
  controls.after(verdict);
}
