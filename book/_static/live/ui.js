/* What the figures that answer share: elements, drawing, motion. */

"use strict";

course.ui = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null)
        element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child != null));
    return element;
  }

  /* An element; attributes that begin with "on" are listeners. */
  const h = (tag, attributes = {}, ...children) =>
    fill(document.createElement(tag), attributes, children);

  const svg = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

  /* Wait, unless the reader wants no motion. */
  const pause = (milliseconds) =>
    new Promise((resolve) =>
      still.matches ? resolve() : setTimeout(resolve, milliseconds));

  const percent = (share) =>
    share > 0 && share < 0.001 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`;

  /* Start each element that has data-live=kind once the page is shown; start
     is called with the element and its data. */
  function figure(kind, start) {
    const run = () => {
      for (const root of document.querySelectorAll(`[data-live="${kind}"]`)) {
        const data = root.querySelector('script[type="application/json"]');
        start(root, JSON.parse(data?.textContent ?? "{}"));
      }
    };
    if (document.readyState === "complete") run();
    else addEventListener("load", run);
  }

  const translators = {};

  /* The translator of this name; one for all figures of a page. */
  function translator(name, folder) {
    translators[name] ??= new course.Translator(name, `${folder}/${name}`);
    return translators[name];
  }

  return { h, svg, still, pause, percent, figure, translator };
})();
