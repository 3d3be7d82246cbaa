/* The head viewer. course_head_viewer.py writes the controls, all words, and,
   as JSON, every head's weights. This script shows the head and the word that
   are chosen; arrows step through them, as through any group of choices, and
   a word under the pointer is shown as long as it is there. */

(() => {
  "use strict";

  const MOST = 3; // words that are named aloud
  const LEAST = 5; // hundredths that are worth naming

  const fill = (text, values) =>
    text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

  function start(root) {
    const find = (name) => root.querySelector(`[data-hv="${name}"]`);
    const data = JSON.parse(find("data").textContent);
    const { sentences, kinds, languages, words, anchor } = data;
    const asking = find("asking");
    const lookedAt = find("looked-at");
    const status = find("status");
    const heads = root.querySelectorAll(`[name="${anchor}--head"]`);

    const chosen = (name) =>
      root.querySelector(`[name="${anchor}--${name}"]:checked`)?.value;

    /* --- what is chosen -------------------------------------------------- */

    const sentence = () => sentences[Number(find("sentence").value)];
    const kind = () => chosen("kind");

    // the map of "LAYER-HEAD"; one head more than there are is their mean
    function mapOf(value) {
      const [layer, head] = value.split("-").map(Number);
      const all = sentence().maps[kind()][layer];
      if (head < all.length) {
        return all[head];
      }
      return all[0].map((row, i) =>
        row.map((_, j) =>
          Math.round(all.reduce((sum, m) => sum + m[i][j], 0) / all.length),
        ),
      );
    }

    /* --- what is shown --------------------------------------------------- */

    function draw(canvas, map) {
      canvas.width = map[0].length;
      canvas.height = map.length;
      const paint = canvas.getContext("2d");
      map.forEach((row, i) => {
        row.forEach((share, j) => {
          paint.fillStyle = `rgb(46 134 201 / ${share / 100})`;
          paint.fillRect(j, i, 1, 1);
        });
      });
    }

    function drawAll() {
      for (const head of heads) {
        draw(head.parentElement.querySelector("canvas"), mapOf(head.value));
      }
    }

    function list() {
      const [asks, looks] = kinds[kind()];
      find("asks").textContent = words[`${kind()}_asks`];
      asking.replaceChildren(
        ...sentence()[asks].map((word, number) => {
          const label = document.createElement("label");
          const radio = document.createElement("input");
          radio.type = "radio";
          radio.name = `${anchor}--word`;
          radio.value = number;
          radio.checked = number === 0;
          const text = document.createElement("span");
          text.lang = languages[asks];
          text.textContent = word;
          label.append(radio, text);
          return label;
        }),
      );
      lookedAt.replaceChildren(
        ...sentence()[looks].map((word) => {
          const item = document.createElement("li");
          const text = document.createElement("span");
          text.lang = languages[looks];
          text.textContent = word;
          item.append(text, document.createElement("b"));
          return item;
        }),
      );
    }

    function show(number = Number(chosen("word")), aloud = true) {
      const [asks, looks] = kinds[kind()];
      const row = mapOf(chosen("head"))[number];
      [...lookedAt.children].forEach((item, place) => {
        item.style.setProperty("--share", `${row[place]}%`);
        item.lastChild.textContent = row[place];
      });
      [...asking.children].forEach((label, place) => {
        label.classList.toggle("is-now", place === number);
      });
      if (!aloud) {
        return;
      }
      const named = row
        .map((share, place) => [share, sentence()[looks][place]])
        .filter(([share]) => share >= LEAST)
        .sort((one, other) => other[0] - one[0])
        .slice(0, MOST)
        .map(([share, word]) => `${word} ${share}\u00a0%`);
      status.textContent = fill(words.says, {
        head: root
          .querySelector(`[name="${anchor}--head"]:checked`)
          .getAttribute("aria-label"),
        word: sentence()[asks][number],
        list: named.join(", "),
      });
    }

    function anew() {
      drawAll();
      list();
      show();
    }

    /* --- what the reader does -------------------------------------------- */

    root.addEventListener("change", (event) => {
      if (event.target.name === `${anchor}--head`) {
        show();
      } else if (event.target.name === `${anchor}--word`) {
        show();
      } else {
        anew();
      }
    });
    asking.addEventListener("pointerover", (event) => {
      const label = event.target.closest("label");
      if (label && event.pointerType === "mouse") {
        show([...asking.children].indexOf(label), false);
      }
    });
    asking.addEventListener("pointerleave", () => show(undefined, false));

    root.querySelector(".hv-live").hidden = false;
    root.querySelector(".hv-tables").open = false; // they served without us
    anew();
  }

  document.querySelectorAll(".head-viewer").forEach(start);
})();
