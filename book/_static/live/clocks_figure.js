/* Positions as clock hands: choose a place and a distance; every hand turns by
   an angle that depends on the distance alone, and so does the dot product. */

"use strict";

(() => {
  const { h, svg, figure, slider } = course.ui;
  const [WIDE, HIGH, EDGE] = [340, 150, 24]; // the curve, in units

  const speed = (hand, width) => 10000 ** (-2 * hand / width);

  /* The sinusoidal encoding of a place: sine and cosine of each hand. */
  function encoding(place, width) {
    const row = [];
    for (let hand = 0; hand < width / 2; hand++) {
      const angle = place * speed(hand, width);
      row.push(Math.sin(angle), Math.cos(angle));
    }
    return row;
  }

  const product = (place, distance, width) => {
    const other = encoding(place + distance, width);
    return encoding(place, width)
      .reduce((sum, value, j) => sum + value * other[j], 0);
  };

  const hand = (angle, name) => svg("path", { class: name,
    d: `M0 0L${42 * Math.sin(angle)} ${-42 * Math.cos(angle)}` });

  /* From one angle to another; more than a round is drawn as a round. */
  function arc(from, to) {
    const end = from + Math.max(-6.28, Math.min(6.28, to - from));
    const points = Array.from({ length: 41 }, (_, i) => {
      const angle = from + (i / 40) * (end - from);
      return `${24 * Math.sin(angle)} ${-24 * Math.cos(angle)}`;
    });
    return svg("path", { class: "lv-turned", d: `M${points.join("L")}` });
  }

  const minus = (number) => String(number).replace("-", "−");

  const degrees = (radians) => {
    const all = radians * 180 / Math.PI;
    return `${minus(all.toFixed(Math.abs(all) < 10 ? 1 : 0))}°`;
  };

  function start(root, { width, hands, farthest }) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const places = slider("Position", { max: 200, value: 9 }, () => show());
    const distances = slider("Distance",
      { min: -farthest, max: farthest, value: 5 }, () => show(), minus);
    find("sliders").append(places.label, distances.label);
    root.classList.add("is-live");
    find("app").hidden = false;

    const x = (k) => EDGE + (k + farthest) / (2 * farthest) * (WIDE - 2 * EDGE);
    const y = (value) => HIGH - EDGE - value / (width / 2) * (HIGH - 2 * EDGE);
    const curve = Array.from({ length: 2 * farthest + 1 }, (_, i) =>
      `${x(i - farthest)} ${y(product(0, i - farthest, width))}`);
    const mark = svg("circle", { r: 6 });
    const text = (left, top, words, anchor = "middle") =>
      svg("text", { x: left, y: top, "text-anchor": anchor }, words);
    const drawing = svg("svg",
      { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "lv-curve", role: "img" },
      svg("path", { d: `M${x(-farthest)} ${y(0)}H${x(farthest)}` +
        `M${x(0)} ${y(width / 2)}V${y(0)}` }),
      svg("path", { d: `M${curve.join("L")}`, class: "lv-line" }),
      text(x(-farthest), HIGH - 8, minus(-farthest), "start"),
      text(x(0), HIGH - 8, "distance"),
      text(x(farthest), HIGH - 8, farthest, "end"),
      text(x(0) + 8, y(width / 2) + 4, width / 2, "start"), mark);
    find("curve").append(drawing);

    function clock(i, place, distance) {
      const turn = speed(i, width);
      const round = Math.round(2 * Math.PI / turn);
      const [from, to] = [place * turn, (place + distance) * turn];
      return h("div", {},
        svg("svg", { viewBox: "-50 -50 100 100", "aria-hidden": "true" },
          svg("circle", { r: 47 }), arc(from, to), hand(from, "lv-from"),
          hand(to, "lv-to")),
        h("p", {}, `a round in ${round.toLocaleString("en")}`),
        h("p", {}, `turned by ${degrees(distance * turn)}`));
    }

    function show() {
      const distance = distances.value;
      places.min = Math.max(0, -distance); // no place is before the first
      const place = places.value;
      const value = product(place, distance, width);
      find("clocks").replaceChildren(
        ...hands.map((i) => clock(i, place, distance)));
      mark.setAttribute("cx", x(distance));
      mark.setAttribute("cy", y(value));
      drawing.setAttribute("aria-label", "The dot product by distance: " +
        `${width / 2} at 0, ${value.toFixed(1)} at ${minus(distance)}`);
      find("status").textContent =
        `PE(${place}) · PE(${place + distance}) = ${value.toFixed(3)}, ` +
        `from all ${width / 2} hands. The fastest turns by ` +
        `${degrees(distance)} between them.`;
    }

    show();
  }

  figure("clocks", start);
})();
