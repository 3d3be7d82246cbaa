/* MathJax without a page: what course_mathjax.py calls. `macros` stands before
   this file; the parts of MathJax are run between `begin` and `ready`. */

"use strict";

globalThis.MathJax = {
  tex: {
    macros,
    packages: ["base", "ams", "newcommand", "configmacros"],
    formatError(jax, { message }) { throw Error(message); },
  },
  svg: { fontCache: "global" },
  startup: { typeset: false },
};

function ready() {
  MathJax.startup.getComponents();
  MathJax.startup.makeMethods();
}

/* What a page needs not: marks for MathJax' own scripts and styles, and what
   HTML's parser knows. */
const NEEDLESS = new RegExp(
  " (?:(?:xmlns(?::xlink)?|data-[\\w-]+|focusable|unselectable|role|class|jax)" +
    '="[^"]*"|style="position: relative;")', "g");

const written = (node) =>
  MathJax.startup.adaptor.outerHTML(node)
    .replace(NEEDLESS, "").replaceAll("xlink:href", "href");

/* A formula in HTML: a drawing, and MathML for who hears it. */
const draw = (tex, display) => written(MathJax.tex2svg(tex, { display }));

/* The signs that all formulas so far use: paths by their ids. */
function signs() {
  const { adaptor, document } = MathJax.startup;
  const { defs } = document.outputJax.fontCache;
  return Object.fromEntries(adaptor.childNodes(defs).map((path) =>
    [adaptor.getAttribute(path, "id"), written(path)]));
}
