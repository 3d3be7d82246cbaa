/* The training time machine: shows one moment of a stored training.

   book/_ext/course_time_machine.py writes the controls, all words, and, as
   JSON, what the model said. This script fills in the moment that is chosen,
   and keeps it in the address: #LABEL--epoch-7--beam. */

(() => {
  "use strict";

  const PACE = 1200; // milliseconds an epoch, when playing
  const CALM = 300; // milliseconds without a change, before the address says it

  const still = matchMedia("(prefers-reduced-motion: reduce)");

  function start(root) {
    const find = (name) => root.querySelector(`[data-tm="${name}"]`);
    const data = JSON.parse(find("data").textContent);
    const { moments, places, ways, words } = data;
    const last = moments.length - 1;
    const answers = root.querySelectorAll('[data-tm="said"]');
    const points = root.querySelectorAll("[data-moment]");
    const figures = root.querySelectorAll("[data-figure]");
    const radios = root.querySelectorAll('input[type="radio"]');
    const curve = find("curve");
    const [slider, play, mark] = ["slider", "play", "mark"].map(find);
    const status = find("status");

    let at = 0;
    let way = Object.keys(ways)[0];
    let playing = null;
    let calm = null;

    const address = (n, by) => `${data.anchor}--${moments[n].key}--${by}`;

    /* --- what is shown --------------------------------------------------- */

    function write(element, segments) {
      const empty = !segments || segments.join("") === "";
      element.classList.toggle("tm-none", empty);
      if (empty) {
        element.textContent = segments ? words.nothing : words.missing;
        return;
      }
      element.replaceChildren(
        ...segments.map((text, number) => {
          if (number % 2 === 0 || !mark.checked) {
            return document.createTextNode(text);
          }
          const fresh = document.createElement("mark");
          fresh.textContent = text;
          return fresh;
        }),
      );
    }

    function show() {
      const moment = moments[at];
      slider.value = at;
      slider.setAttribute("aria-valuetext", moment.name);
      for (const radio of radios) {
        radio.checked = radio.value === way;
      }
      answers.forEach((answer, number) => {
        write(answer, moment.said[way][number]);
      });
      if (figures.length) {
        find("name").textContent = moment.name;
      }
      for (const cell of figures) {
        cell.textContent = moment.figures[cell.dataset.figure] ?? "–";
      }
      for (const point of points) {
        point.classList.toggle("is-now", Number(point.dataset.moment) === at);
      }
      if (curve) {
        const now = find("now");
        now.setAttribute("transform", `translate(${places[at]})`);
        now.removeAttribute("visibility");
      }
      find("previous").setAttribute("aria-disabled", at === 0);
      find("next").setAttribute("aria-disabled", at === last);
      status.textContent = [moment.name, ways[way], moment.changed[way]]
        .filter(Boolean)
        .join(" · ");
    }

    function go(to, by = way) {
      at = Math.min(last, Math.max(0, to));
      way = by;
      show();
      clearTimeout(calm);
      calm = setTimeout(() => {
        // without a step in the browser's history
        history.replaceState(history.state, "", `#${address(at, way)}`);
      }, CALM);
    }

    /* --- playing --------------------------------------------------------- */

    function pause() {
      clearInterval(playing);
      playing = null;
      play.textContent = play.dataset.play;
      status.setAttribute("aria-live", "polite");
    }

    function run() {
      status.setAttribute("aria-live", "off"); // or it would never be silent
      play.textContent = play.dataset.pause;
      go(at === last ? 0 : at + 1);
      playing = setInterval(() => {
        if (at + 1 >= last) {
          pause();
        }
        go(at + 1);
      }, PACE);
    }

    function allowMotion() {
      play.hidden = still.matches || last === 0;
      if (play.hidden) {
        pause();
      }
    }

    /* --- what the reader does -------------------------------------------- */

    function step(by) {
      pause();
      go(at + by);
    }

    play.dataset.play = play.textContent;
    play.addEventListener("click", () => (playing ? pause() : run()));
    find("previous").addEventListener("click", () => step(-1));
    find("next").addEventListener("click", () => step(1));
    mark.addEventListener("change", show);
    slider.addEventListener("input", () => {
      pause();
      go(Number(slider.value));
    });
    for (const radio of radios) {
      radio.addEventListener("change", () => go(at, radio.value));
    }
    root.addEventListener("keydown", (event) => {
      // on the slider and the choices, arrows do what they always do
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const modified = event.altKey || event.ctrlKey || event.metaKey;
      if (by && !modified && event.target.closest("button")) {
        event.preventDefault();
        step(by);
      }
    });
    curve?.addEventListener("click", (event) => {
      const box = curve.getBoundingClientRect();
      const scale = curve.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale;
      const far = places.map((place) => Math.abs(place - x));
      pause();
      go(far.indexOf(Math.min(...far)));
    });
    still.addEventListener("change", allowMotion);

    /* --- the address ----------------------------------------------------- */

    function follow() {
      for (let n = 0; n <= last; n += 1) {
        for (const by of Object.keys(ways)) {
          if (location.hash === `#${address(n, by)}`) {
            pause();
            [at, way] = [n, by];
            show();
            return true;
          }
        }
      }
      return false;
    }

    for (const part of root.querySelectorAll(".tm-live")) {
      part.hidden = false;
    }
    for (const part of root.querySelectorAll(".tm-plain")) {
      part.hidden = true;
    }
    allowMotion();
    if (follow()) {
      // the page is shorter now than when the browser looked for the place
      document.getElementById(address(at, way)).scrollIntoView();
    } else {
      show();
    }
    window.addEventListener("hashchange", follow);
  }

  document.querySelectorAll(".time-machine").forEach(start);
})();
