/* A row of symbols through a state of fixed size: what a network writes of it,
   letter by letter, without attention and with it. */

"use strict";

(() => {
  const { h, svg, figure, slider, drawing } = course.ui;
  const HEIGHT = 210; // pixels of the drawing
  const WITH = "attention";

  /* A cell for each letter; one that is not the row's is marked. */
  function letters(written, read) {
    const count = Math.max(written.length, read.length);
    return Array.from({ length: count }, (_, i) => h("span", {
      class: written[i] === read[i] ? "" : "is-wrong",
    }, written[i] ?? "–"));
  }

  const rightOf = (written, read) =>
    [...read].filter((letter, i) => letter === written[i]).length;

  function start(root, data) {
    const { lengths, longest, shown, networks, tested, trainings } = data;
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const radios = [...root.querySelectorAll('input[type="radio"]')];
    let place = 0; // of the row that is shown
    root.classList.add("is-live");
    find("app").hidden = false;

    const length = slider("Letters in the string",
      { max: lengths.length - 1, value: 4 }, () => show(),
      (i) => `${lengths[i]}`);
    find("sliders").append(length.label);
    const state = () => radios.find(({ checked }) => checked).value;

    const redraw = drawing(find("drawing"), "Share of letters right, by length",
      (width) => {
        const last = lengths.at(-1);
        const x = (n) => 46 + ((n - 1) / (last - 1)) * (width - 56);
        const y = (share) => 14 + (1 - share) * (HEIGHT - 44);
        const line = (shares) => shares.map((share, i) =>
          `${x(lengths[i])} ${y(share)}`);
        const text = (at, top, words, anchor = "middle") =>
          svg("text", { x: at, y: top, "text-anchor": anchor,
            class: "is-small" }, words);
        const curve = (name, kind) => {
          const { mean, low, high } = networks[name];
          return [
            svg("path", { class: `lv-range ${kind}`,
              d: `M${[...line(low), ...line(high).reverse()].join("L")}Z` }),
            svg("path", { class: `lv-line ${kind}`,
              d: `M${line(mean).join("L")}` }),
            svg("circle", { class: `lv-dot ${kind}`, r: 6,
              cx: x(lengths[length.value]), cy: y(mean[length.value]) }),
          ];
        };
        return { height: HEIGHT, shapes: [
          svg("rect", { class: "lv-beyond", x: x(longest), y: y(1),
            width: x(last) - x(longest), height: y(0) - y(1) }),
          svg("path", { class: "lv-axis", d: `M${x(1)} ${y(1)}V${y(0)}H${x(last)}` }),
          ...[0, 0.5, 1].map((share) => text(40, y(share) + 4,
            `${100 * share} %`, "end")),
          ...[1, 8, 16, 24, 32].map((n) => text(x(n), HEIGHT - 12, n)),
          text((x(longest) + x(last)) / 2, y(0) - 8, "longer than in training"),
          ...curve(state(), "is-state"), ...curve(WITH, "is-attention"),
        ] };
      });

    function show() {
      const i = length.value;
      const read = shown[place].slice(0, lengths[i]);
      const written = [state(), WITH].map((name) =>
        networks[name].copies[place][i]);
      find("read").replaceChildren(...letters(read, read));
      find("written").replaceChildren(...letters(written[0], read));
      find("attention").replaceChildren(...letters(written[1], read));
      const { size } = networks[state()];
      find("state").style.setProperty("--size", size);
      find("size").textContent = size;
      const percent = (name) => Math.round(100 * networks[name].mean[i]);
      const right = written.map((one) => rightOf(one, read));
      find("status").textContent =
        `From a state of ${size} numbers ${right[0]} of ${read.length} letters ` +
        `are right, with attention ${right[1]}. Over ${tested} strings of this ` +
        `length, from ${trainings} trainings, it is ${percent(state())} % and ` +
        `${percent(WITH)} %.`;
      redraw();
    }

    for (const radio of radios) radio.addEventListener("change", show);
    find("another").addEventListener("click", () => {
      place = (place + 1) % shown.length;
      show();
    });
    show();
  }

  figure("bottleneck", start);
})();
