/* A chapter is read, with its folded code out of sight, or run, with all of it
   open. The choice is kept. */

"use strict";

{
  const KEY = "course-code";
  const buttons = document.querySelectorAll(".read-run button");

  const choose = (way) => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", button.textContent === way);
    }
    for (const fold of document.querySelectorAll("details.hide")) {
      fold.open = way === "Run";
    }
  };

  for (const button of buttons) {
    button.addEventListener("click", () => {
      choose(button.textContent);
      try {
        localStorage.setItem(KEY, button.textContent);
      } catch {} // a browser may keep nothing for a file
    });
  }
  try {
    if (localStorage.getItem(KEY) === "Run") choose("Run");
  } catch {}
}
