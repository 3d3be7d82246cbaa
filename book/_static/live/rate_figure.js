/* The learning rate: the schedule with its warm-up and peak; and three steps
   of one weight, too short, right or too far. */

"use strict";

(() => {
  const { svg, figure, slider, drawing } = course.ui;
  const STEPS = 20000; // of the schedule
  const START = 2; // the weight before the first step
  const HEIGHT = 200; // pixels of a drawing
  const BETAS = [0.9, 0.98];
  const EPSILON = 1e-9;

  /* Up in a straight line to the peak, then down as 1/√step. */
  const learningRate = (step, warmup, peak) =>
    peak * Math.min(step / warmup, (warmup / step) ** 0.5);

  const loss = (theta) => theta ** 2;
  const gradient = (theta) => 2 * theta;

  /* The weight before and after each of three steps. */
  function descend(rate, adam) {
    const found = [START];
    let [m, v] = [0, 0];
    for (let step = 1; step <= 3; step++) {
      const g = gradient(found.at(-1));
      m = BETAS[0] * m + (1 - BETAS[0]) * g;
      v = BETAS[1] * v + (1 - BETAS[1]) * g ** 2;
      const mean = m / (1 - BETAS[0] ** step);
      const square = v / (1 - BETAS[1] ** step);
      const move = adam ? mean / (Math.sqrt(square) + EPSILON) : g;
      found.push(found.at(-1) - rate * move);
    }
    return found;
  }

  const number = (value) => value.toFixed(2).replace("-", "−");
  const thousands = (value) => value.toLocaleString("en-GB");
  const line = (points, name) =>
    svg("path", { d: `M${points.map((at) => at.join(" ")).join("L")}`,
      class: name });
  const text = (x, y, words, anchor = "start") =>
    svg("text", { x, y, "text-anchor": anchor, class: "is-small" }, words);

  function start(root) {
    const find = (name) => root.querySelector(`[data-lv="${name}"]`);
    const radios = [...root.querySelectorAll('input[type="radio"]')];
    root.classList.add("is-live");
    find("app").hidden = false;

    const warmup = slider("Warm-up",
      { min: 200, max: 12000, step: 200, value: 4000 }, () => showSchedule(),
      thousands);
    const peak = slider("Peak, in thousandths",
      { min: 0.1, max: 2, step: 0.1, value: 0.7 }, () => showSchedule(),
      (value) => value.toFixed(1));
    const step = slider("Step",
      { min: 100, max: STEPS, step: 100, value: 1000 }, () => showSchedule(),
      thousands);
    const rate = slider("Rate", { min: 0.05, max: 1.1, step: 0.05, value: 0.05 },
      () => showSteps(), (value) => value.toFixed(2));
    find("schedule-sliders").append(warmup.label, peak.label, step.label);
    find("step-sliders").append(rate.label);

    const at = (s) => learningRate(s, warmup.value, peak.value);

    const drawSchedule = drawing(find("schedule"), "The schedule", (width) => {
      const x = (s) => 10 + (s / STEPS) * (width - 20);
      const y = (thousandths) => HEIGHT - 25 - (thousandths / 2) * (HEIGHT - 45);
      const points = [];
      for (let s = 1; s < STEPS; s += 50) points.push([x(s), y(at(s))]);
      points.push([x(STEPS), y(at(STEPS))]);
      const now = [x(step.value), y(at(step.value))];
      return { height: HEIGHT, shapes: [
        line([[x(0), y(2)], [x(0), y(0)], [x(STEPS), y(0)]], "lv-axis"),
        line([[x(warmup.value), y(0)], [x(warmup.value), y(peak.value)]],
          "lv-dashed"),
        line(points, "lv-curve"),
        svg("circle", { cx: now[0], cy: now[1], r: 7, class: "lv-ball" }),
        text(x(0) + 4, y(2) + 4, "rate 0.002"),
        text(x(STEPS), HEIGHT - 8, `step ${thousands(STEPS)}`, "end"),
        text(x(warmup.value), HEIGHT - 8, "warm-up ends",
          warmup.value > STEPS / 4 ? "middle" : "start"),
      ] };
    });

    function showSchedule() {
      drawSchedule();
      const where = step.value < warmup.value ? "still rising to"
        : step.value > warmup.value ? "falling again from" : "at";
      find("schedule-status").textContent =
        `At step ${thousands(step.value)} the rate is ` +
        `${(at(step.value) / 1000).toFixed(6)}, ${where} its peak of ` +
        `${(peak.value / 1000).toFixed(4)} at step ${thousands(warmup.value)}.`;
    }

    const isAdam = () => radios.find(({ checked }) => checked).value === "adam";

    const drawBowl = drawing(find("bowl"), "The loss and the steps", (width) => {
      const x = (theta) => width / 2 + (theta / 4) * (width / 2 - 10);
      const y = (value) => HEIGHT - 25 - (value / 16) * (HEIGHT - 40);
      const bowl = [];
      for (let i = -40; i <= 40; i++)
        bowl.push([x(i / 10), y(loss(i / 10))]);
      const places = descend(rate.value, isAdam())
        .map((theta) => [x(theta), y(loss(theta))]);
      return { height: HEIGHT, shapes: [
        line([[x(-4), y(0)], [x(4), y(0)]], "lv-axis"),
        line(bowl, "lv-curve"),
        line(places, "lv-steps"),
        ...places.map(([cx, cy], i) => svg("circle",
          { cx, cy, r: 8, class: `lv-ball ${i === 3 ? "is-now" : ""}` })),
        ...places.map(([cx, cy], i) => text(cx, cy - 12, i, "middle")),
        ...[-4, -2, 0, 2, 4].map((theta) => text(x(theta), HEIGHT - 8,
          `${theta}`.replace("-", "−"),
          theta === -4 ? "start" : theta === 4 ? "end" : "middle")),
      ] };
    });

    /* What three steps have come to, in words. */
    function verdict(thetas) {
      const [before, after] = [loss(thetas[0]), loss(thetas[3])];
      if (after > before) return "The rate is too large: the loss has grown.";
      if (after === before) return "It jumps back and forth and gains nothing.";
      if (after > before / 4) return "Downhill, but slowly.";
      return after > before / 400 ? "Well down." : "Nearly at the bottom.";
    }

    function showSteps() {
      drawBowl();
      const thetas = descend(rate.value, isAdam());
      find("step-status").textContent =
        `θ goes ${thetas.map(number).join(" → ")}; the loss ends at ` +
        `${number(loss(thetas[3]))}. ${verdict(thetas)}`;
    }

    for (const radio of radios) radio.addEventListener("change", showSteps);
    showSchedule();
    showSteps();
  }

  figure("rate", start);
})();
