/* The speaker's window has no styles of MathJax, and would show a formula of
   the notes twice: as a drawing, and as the MathML that is meant to be heard. */
addEventListener("load", async () => {
  await window.MathJax?.startup.promise;
  for (const formula of document.querySelectorAll(".notes mjx-container")) {
    formula.replaceWith(formula.querySelector("math"));
  }
});
