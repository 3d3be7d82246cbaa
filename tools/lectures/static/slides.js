/* The speaker's window has neither the signs of formulas nor the styles: a
   formula of the notes is there the MathML that is meant to be heard.
   And who cannot read a slide may make it larger. */
addEventListener("load", () => {
  for (const view of document.querySelectorAll("meta[name=viewport]")) {
    view.content = "width=device-width, initial-scale=1";
  }
  for (const formula of document.querySelectorAll(".notes mjx-container")) {
    formula.replaceWith(formula.querySelector("math"));
  }
});
