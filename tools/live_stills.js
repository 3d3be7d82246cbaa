/* The first figure of each kind as HTML, with nothing to press. */
() => {
  const CONTROLS = ".lv-choose, .lv-slide, .lv-form, .lv-how, .lv-switches, " +
    "fieldset, progress, input, script, [hidden], button:not(.lv-word, .lv-part), " +
    "[style*='visibility: hidden']";
  const KEPT = new Set(["class", "style", "lang", "scope", "colspan",
    "data-tint"]);

  /* What is drawn keeps its shape; of elements only how they look is kept. */
  const strip = (element) => {
    if (element.closest("svg"))
      for (const name of ["tabindex", "role", "id", "pathLength"])
        element.removeAttribute(name);
    else
      for (const { name } of [...element.attributes])
        if (!KEPT.has(name)) element.removeAttribute(name);
    if (element.style?.animationDelay) element.removeAttribute("style");
  };

  const still = (app) => {
    const copy = app.cloneNode(true);
    const [selects, drawings] = ["select", ".lv-ribbons"].map((kind) =>
      [...app.querySelectorAll(kind)]);
    copy.querySelectorAll("select").forEach((select, i) => {
      select.replaceChildren(selects[i].selectedOptions[0]?.text ?? "");
    });
    copy.querySelectorAll(".lv-ribbons").forEach((drawing, i) => {
      const { width, height } = drawings[i].getBoundingClientRect();
      drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    });
    copy.querySelectorAll(CONTROLS).forEach((part) => part.remove());
    for (const word of copy.querySelectorAll("select, button")) {
      const span = document.createElement("span");
      span.className = word.className;
      span.append(...word.childNodes);
      word.replaceWith(span);
    }
    copy.querySelectorAll("*").forEach(strip);
    const { width } = app.getBoundingClientRect();
    return `<div class="lv-picture"><div style="width: ${Math.round(width)}px">` +
      `${copy.innerHTML}</div></div>`;
  };

  for (const bar of document.querySelectorAll('[data-live="film"] [data-still]')) {
    bar.value = bar.dataset.still; // a film stands at a telling scene
    bar.dispatchEvent(new Event("input"));
  }
  const stills = {};
  for (const figure of document.querySelectorAll("[data-live]")) {
    const app = figure.querySelector('[data-lv="app"]');
    if (app && !app.hidden && figure.dataset.live !== "free-translator")
      stills[figure.dataset.live] ??= still(app);
  }
  return stills;
}
