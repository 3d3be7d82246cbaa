/* The speaker's window has no styles of MathJax, and would show a formula of
   the notes twice: as a drawing, and as the MathML that is meant to be heard.
   And who cannot read a slide may make it larger. */
addEventListener("load", async () => {
  for (const view of document.querySelectorAll("meta[name=viewport]")) {
    view.content = "width=device-width, initial-scale=1";
  }
  await window.MathJax?.startup.promise;
  for (const formula of document.querySelectorAll(".notes mjx-container")) {
    formula.replaceWith(formula.querySelector("math"));
  }
});
