/* What the figures that answer share: elements, drawing, motion. */

"use strict";

course.ui = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const NARROWEST = 60; // pixels of a drawing
  const JAPANESE = /([\p{sc=Han}\u3000-\u30ff\uff00-\uffef]+)/u;

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
    share > 0 && share < 0.001
      ? "< 0.1\u00a0%" : `${(100 * share).toFixed(1)}\u00a0%`;

  /* Runs task, one at a time; asked while it runs, it runs once more after. */
  function latest(task) {
    let [running, again] = [false, false];
    return async () => {
      again = running;
      if (running) return;
      running = true;
      try {
        do {
          again = false;
          await task();
        } while (again);
      } finally {
        running = false;
      }
    };
  }

  /* A slider between its name and its value, which show writes. */
  function slider(name, { min = 0, max = 0, step = 1, value }, onChange,
    show = String) {
    const now = h("span", { "aria-hidden": "true" });
    const tell = () => {
      now.textContent = show(Number(input.value));
      input.setAttribute("aria-valuetext", now.textContent);
    };
    const input = h("input", {
      type: "range", min, max, step, value, autocomplete: "off",
      "aria-label": name,
      oninput: () => { tell(); onChange(Number(input.value)); },
    });
    tell();
    return {
      label: h("label", { class: "lv-slide" }, h("span", {}, name), input, now),
      input,
      get value() { return Number(input.value); },
      set value(to) { input.value = to; tell(); },
      set min(to) { input.min = to; tell(); },
      set max(to) { input.max = to; tell(); },
    };
  }

  /* A drawing whose units are pixels, so that letters keep their size on a
     phone; where the page's letters are larger, its units grow along. draw
     makes it: from a width to {height, shapes}. Returns a function that draws
     anew. */
  function drawing(parent, label, draw) {
    const board = svg("svg", { role: "img", "aria-label": label,
      class: "lv-drawing" });
    parent.append(board);
    const redraw = () => {
      width = wide();
      if (width < NARROWEST) return; // it is hidden, or being laid out
      const { height, shapes } = draw(width);
      board.setAttribute("viewBox", `0 0 ${width} ${height}`);
      board.style.height = `${height / 16}rem`;
      board.replaceChildren(...shapes.filter(Boolean));
    };
    const wide = () => (16 * parent.clientWidth)
      / parseFloat(getComputedStyle(document.documentElement).fontSize);
    let width = 0;
    new ResizeObserver(() => wide() === width || redraw()).observe(parent);
    return redraw;
  }

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
  const LOADED = "course-loaded"; // a model, for a figure of the page

  /* The translator of this name; one for all figures of a page. */
  function translator(name, folder) {
    translators[name] ??= new course.Translator(name, `${folder}/${name}`);
    return translators[name];
  }

  /* Begin a figure once its models are loaded, and anew when a reader has
     tried again, or the network is back; it is shown when begin is done. Until then what stands there
     without scripts stays, with a line that says how far it is, or what is
     wrong. */
  function withModels(root, models, begin) {
    const said = h("span", { role: "status" });
    const again = h("button", { type: "button", onclick: run }, "Try again");
    const line = h("p", { class: "lv-load" }, said, again);
    const app = root.querySelector('[data-lv="app"]');
    const show = (isLive) => {
      root.classList.toggle("is-live", isLive);
      app.hidden = !isLive;
      line.hidden = isLive;
    };
    async function run() {
      again.hidden = true;
      try {
        for (const model of models)
          await model.load(() => {
            said.textContent = `Loading the model, ${model.arrived}`;
          });
        await begin();
        show(true);
        dispatchEvent(new Event(LOADED));
        await Promise.race(models.map((model) => model.stopped()));
      } catch (error) {
        show(false);
        said.textContent = error.message;
        again.hidden = false;
      }
    }
    root.append(line);
    for (const hope of ["online", LOADED])
      addEventListener(hope, () => again.hidden || run());
    run();
  }

  /* For each place of a sentence, from what can stand there, an element and its
     words now: a select where there is a choice. */
  const choices = (slots, onchange) => slots.map((options, i) => {
    const isFixed = options.length === 1;
    const element = isFixed
      ? h("span", { class: "lv-word", lang: "en" }, options[0])
      : h("select", { class: "lv-word", lang: "en", autocomplete: "off",
        "aria-label": `word ${i + 1}`, onchange },
      ...options.map((word) => h("option", {}, word)));
    return { element, text: () => (isFixed ? options[0] : element.value) };
  });

  /* A text's nodes; each run of Japanese has its language. */
  const marked = (text) => text.split(JAPANESE).map((part, i) =>
    i % 2 ? h("span", { lang: "ja" }, part) : part);

  return {
    h, svg, still, pause, percent, latest, slider, drawing, figure,
    translator, withModels, marked, choices,
  };
})();
