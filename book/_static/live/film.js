/* A film of matrices that can be stopped at any point, and dragged back.

   A reel says what is seen; reels.js makes some.
     blocks: matrices by id {name, values, tint, rows, columns, strip, over,
       sources, said}. rows and columns are labels, strip draws each row as a
       strip of colour, over is the block in whose columns this one stands.
       sources(i, j) lists what the number is made of, as [id, row, column],
       where null stands for all; said(i, j) writes it out.
     levels: ids from the bottom to the top, each level from the left; a sign
       such as "=" may stand between them.
     scenes: {title, said, see, makes, point}. see lists the ids shown, makes
       the groups of ids that come one after the other, and point is the number
       that is written out when the scene stands still. */

"use strict";

course.Film = class {
  static MOVE = 2400; // milliseconds in which a scene is made
  static STEP = 1100; // the same, after Back and Next
  static HOLD = 3200; // milliseconds for which it stands still
  /* Pixels, on a page whose letters have 16; the largest that fits is used. */
  static SIZES = [
    { font: 15, row: 36, letter: 9.2, pad: 16, strip: 4.4, gap: 28, title: 28, up: 26 },
    { font: 13, row: 30, letter: 7.8, pad: 11, strip: 3.2, gap: 20, title: 25, up: 22 },
    { font: 11.5, row: 25, letter: 6.7, pad: 7, strip: 2.3, gap: 13, title: 23, up: 18 },
    { font: 11.5, row: 25, letter: 6.5, pad: 4, strip: 1.6, gap: 7, title: 23, up: 18 },
  ];

  /* At most two decimals; 0.00 is a number that is not quite 0. */
  static number(value) {
    if (value === -Infinity) return "−∞";
    const size = Math.abs(value);
    if (size >= 1e5) return value.toExponential(1).replace("e+", "e");
    const text = size && size < 0.005 ? "0.00"
      : String(Number(value.toFixed(size < 100 ? 2 : 0)));
    return text.replace("-", "−");
  }

  /* W^Q and d_k with their small letters, and without. */
  static formula = (text) => text.split(/([\^_]\w+)/).map((part) =>
    part.startsWith("^") ? course.ui.h("sup", {}, part.slice(1))
      : part.startsWith("_") ? course.ui.h("sub", {}, part.slice(1)) : part);
  static plain = (text) => text.replaceAll(/[\^_]/g, " ");

  constructor(root) {
    const { h, still } = course.ui;
    this.find = (name) => root.querySelector(`[data-film="${name}"]`);
    this.screen = this.find("screen");
    this.camera = h("div", { class: "lv-camera" });
    this.screen.append(this.camera);
    this.time = this.run = 0;
    this.bar = h("input", {
      type: "range", min: 0, step: still.matches ? 1 : 0.01, "data-still": 3,
      autocomplete: "off", "aria-label": "Film",
      oninput: () => { this.stop(); this.show(Number(this.bar.value)); },
      onchange: () => this.go(Math.round(this.time)),
      onkeydown: (event) => this.key(event),
    });
    this.find("bar").append(this.bar);
    this.find("back").addEventListener("click", () => this.step(-1));
    this.find("next").addEventListener("click", () => this.step(1));
    this.find("play").addEventListener("click", () => this.play());
    for (const name of ["pointerover", "pointermove", "pointerdown", "focusin"])
      this.screen.addEventListener(name, (event) => this.pointed(event));
    this.screen.addEventListener("pointerleave", ({ pointerType }) =>
      pointerType === "mouse" && this.rest()); // what a finger has pressed stays
    this.screen.addEventListener("keydown", (event) => this.walk(event));
    new ResizeObserver(() => this.fit()).observe(this.screen);
    addEventListener("beforeprint", () => { // paper shows where it all ends
      this.stop();
      if (this.reel) this.show(this.reel.scenes.length - 1);
    });
  }

  /* Show a reel, from a scene of it. */
  load(reel, scene = 0) {
    this.stop();
    this.reel = reel;
    this.bar.max = reel.scenes.length - 1;
    this.width = 0;
    this.time = Math.min(scene, reel.scenes.length - 1);
    this.fit();
  }

  /* --- where everything stands ------------------------------------------- */

  /* Lay the reel out anew if the width has changed; units are those of a page
     with letters of 16 pixels. */
  fit() {
    const letter = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const width = (16 * this.screen.clientWidth) / letter;
    if (!this.reel || !width || width === this.width) return;
    this.width = width;
    for (this.size of this.constructor.SIZES) {
      this.measure();
      this.place();
      this.frame();
      if (Math.max(...this.frames.map((one) => one.width)) < width - 8) break;
    }
    this.screen.style.height = `${this.height / 16}rem`;
    this.screen.style.fontSize = `${this.size.font / 16}rem`;
    this.build();
    this.made = null;
    this.show(this.time);
  }

  /* The size of each block; those above one another have equal columns. */
  measure() {
    const { number } = this.constructor;
    const { letter, pad, row, strip, title } = this.size;
    const wide = /[\p{sc=Han}\u3000-\u30ff]/gu; // as two letters
    const longest = (texts) => Math.max(0, ...texts.map((text) =>
      text.length + (text.match(wide) ?? []).length));
    const blocks = Object.values(this.reel.blocks);
    for (const block of blocks) {
      const { values, rows, columns, name } = block;
      const chars = longest([...values.flat().map(number), ...columns ?? []]);
      block.cell = block.strip
        ? Math.min(strip * Math.sqrt(32 / values[0].length),
          (0.94 * this.width) / values[0].length)
        : Math.max(0.9 * row, chars * letter + pad);
      block.head = title + (columns ? 0.7 * row : 0);
      block.side = rows ? longest(rows) * letter + 8 : 0;
      block.least = longest([name]) * letter;
    }
    const pairs = blocks.filter(({ over }) => over)
      .map((block) => [block, this.reel.blocks[block.over]]);
    for (const [one, other] of [...pairs, ...pairs.toReversed()])
      one.cell = other.cell = Math.max(one.cell, other.cell);
    for (const block of blocks) {
      block.width = block.cell * block.values[0].length;
      block.height = row * block.values.length;
    }
  }

  place() {
    const { blocks, levels } = this.reel;
    const { gap, up } = this.size;
    const placed = new Set();
    let y = 0;
    this.signs = [];
    for (const level of levels) {
      let x = 0;
      const there = level.map((id) => blocks[id]).filter(Boolean);
      if (!there.length) continue;
      const tallest = Math.max(...there.map(({ height }) => height));
      for (const id of level) {
        const block = blocks[id];
        if (!block && /\w/.test(id)) continue; // this reel has none
        if (!block) {
          this.signs.push({ text: id, x: x - gap / 2, y: y - tallest / 2, level });
          continue;
        }
        block.x = placed.has(block.over) ? blocks[block.over].x : x + block.side;
        placed.add(id);
        block.y = y - block.height;
        x = block.x + Math.max(block.width, block.least) + gap;
      }
      y -= tallest + Math.max(...there.map(({ head }) => head)) + up;
    }
    for (const block of Object.values(blocks))
      if (block.over) block.x = blocks[block.over].x;
  }

  /* For each scene what is seen, and where its middle is. */
  frame() {
    const { blocks, scenes } = this.reel;
    this.frames = scenes.map(({ see, room = see }) => {
      const seen = room.map((id) => blocks[id]);
      const [left, top] = [
        Math.min(...seen.map(({ x, side }) => x - side)),
        Math.min(...seen.map(({ y, head }) => y - head)),
      ];
      const right = Math.max(...seen.map((one) =>
        one.x + Math.max(one.width, one.least)));
      const bottom = Math.max(...seen.map(({ y, height }) => y + height));
      return { x: (left + right) / 2, y: (top + bottom) / 2, width: right - left,
        height: bottom - top, see: new Set(see) };
    });
    const tallest = Math.max(...this.frames.map(({ height }) => height));
    this.height = tallest + 20;
  }

  box = ({ x, y, width, height }) =>
    `left:${x / 16}rem;top:${y / 16}rem;width:${width / 16}rem;` +
    `height:${height / 16}rem`;

  /* Where a cell is; of a strip, the whole row. */
  cellBox(id, i, j) {
    const { x, y, cell, width, strip } = this.reel.blocks[id];
    const { row } = this.size;
    return { x: strip ? x : x + j * cell, y: y + i * row,
      width: strip ? width : cell, height: row };
  }

  /* --- elements ----------------------------------------------------------- */

  build() {
    const { h, marked } = course.ui;
    const { blocks } = this.reel;
    this.drawn = new Map(Object.keys(blocks).map((id) => [id, this.draw(id)]));
    this.flown = h("div", { "aria-hidden": "true" });
    this.signs = this.signs.map((sign) => ({ ...sign, element:
      h("span", { class: "lv-sign", "aria-hidden": "true",
        style: this.box({ ...sign, width: 0, height: 0 }) }, ...marked(sign.text)) }));
    this.camera.replaceChildren(
      ...[...this.drawn.values()].map(({ element }) => element),
      ...this.signs.map(({ element }) => element), this.flown);
  }

  draw(id) {
    const { h, marked } = course.ui;
    const { formula, plain } = this.constructor;
    const block = this.reel.blocks[id];
    const { x, y, side, head, width, rows, columns, cell } = block;
    const { row, title } = this.size;
    const at = (box) => this.box({ ...box, x: box.x - x + side, y: box.y - y + head });
    const cells = block.values.map((numbers, i) =>
      (block.strip ? [null] : numbers).map((_, j) => this.cell(id, i, j, at)));
    const element = h("div", {
      class: "lv-block", "data-tint": block.tint, role: "group",
      "aria-label": plain(block.name),
      style: this.box({ x: x - side, y: y - head, width: side + width,
        height: head + block.height }),
    },
    h("b", { style: at({ x, y: y - head, width: 0, height: title }) },
      ...formula(block.name)),
    ...(columns ?? []).map((text, j) => h("span", { class: "lv-column", style: at({
      x: x + j * cell, y: y - 0.75 * row, width: cell, height: 0.7 * row }) },
    ...marked(text))),
    ...(rows ?? []).map((text, i) => h("span", { class: "lv-row", style: at({
      x: x - side, y: y + i * row, width: side - 6, height: row }) },
    ...marked(text))),
    ...cells.flat());
    return { element, cells };
  }

  cell(id, i, j, at) {
    const { h } = course.ui;
    const { plain } = this.constructor;
    const block = this.reel.blocks[id];
    return h("span", {
      class: "lv-number", role: "button", tabindex: -1, "data-at": `${id} ${i} ${j}`,
      "aria-label": `${plain(block.name)}: ${block.said(i, j)}`,
      style: `${at(this.cellBox(id, i, j))};${this.look(block, i, j)}`,
    }, block.strip ? null : this.constructor.number(block.values[i][j]));
  }

  /* A weight's share as a shade; a strip's numbers as colours. */
  look(block, i, j) {
    if (!block.strip) return block.shade ? `--share:${block.values[i][j]}` : "";
    const numbers = block.values[i];
    const largest = Math.max(...block.values.flat().map(Math.abs));
    const color = (value) => `color-mix(in srgb,var(--course-` +
      `${value > 0 ? "vermilion" : "blue"}) ` +
      `${Math.round(100 * (Math.abs(value) / largest) ** 0.6)}%,var(--course-paper))`;
    const stops = numbers.map((value, n) => `${color(value)} ` +
      `${(100 * n) / numbers.length}% ${(100 * (n + 1)) / numbers.length}%`);
    return `background:linear-gradient(90deg,${stops})`;
  }

  /* --- time --------------------------------------------------------------- */

  /* From 0 to 1 between two times, slow at both ends. */
  ramp(time, from, to) {
    const share = Math.min(1, Math.max(0, (time - from) / (to - from)));
    return share * share * (3 - 2 * share);
  }

  /* The film at a time: 2.5 is half of what leads from scene 2 to scene 3. */
  show(time) {
    const { scenes } = this.reel;
    this.time = time;
    const scene = Math.ceil(time);
    const share = scene - time ? 1 - (scene - time) : 1;
    if (scene !== this.scene || !this.made) this.enter(scene);
    const [before, now] = [this.frames[Math.max(0, scene - 1)], this.frames[scene]];
    const moved = this.ramp(share, 0, 0.35);
    const middle = (axis) => before[axis] + moved * (now[axis] - before[axis]);
    this.camera.style.transform =
      `translate(${(this.width / 2 - middle("x")) / 16}rem,` +
      `${(this.height / 2 - middle("y")) / 16}rem)`;
    const fade = (element, [was, is]) => {
      const seen = is ? (was && scene ? 1 : moved) : was ? 1 - moved : 0;
      element.style.opacity = seen;
      element.style.visibility = seen ? "" : "hidden";
    };
    for (const [id, { element }] of this.drawn)
      fade(element, [before, now].map(({ see }) => see.has(id)));
    for (const { element, level } of this.signs)
      fade(element, [before, now].map(({ see }) => level.every((id) =>
        !this.reel.blocks[id] || see.has(id))));
    this.fly(share);
    this.bar.value = time;
    this.bar.setAttribute("aria-valuetext",
      `${this.constructor.plain(scenes[scene].title)}, ${scene + 1} of ${scenes.length}`);
    this.find("back").disabled = time === 0;
    this.find("next").disabled = time === scenes.length - 1;
    if (share === 1) this.rest();
    else this.light(null);
  }

  /* A scene begins: what flies in it, and when each number arrives. */
  enter(scene) {
    const { scenes } = this.reel;
    const { makes = [], title, said } = scenes[scene];
    const { formula } = this.constructor;
    this.scene = scene;
    this.find("title").replaceChildren(...formula(title));
    this.find("of").textContent = `${scene + 1} of ${scenes.length}`;
    this.find("said").replaceChildren(...course.ui.marked(said).flatMap((part) =>
      (typeof part === "string" ? formula(part) : [part])));
    for (const { cells } of this.drawn.values())
      for (const one of cells.flat()) one.style.opacity = "";
    this.flown.replaceChildren();
    this.made = makes.flatMap((ids, group) => {
      const from = group ? 0.5 : makes.length > 1 ? 0.03 : 0.3;
      const length = makes.length > 1 ? 0.47 : 0.7;
      return ids.flatMap((id) => this.arrivals(id, from, length));
    });
  }

  /* For each number of a block when it comes, and what flies to it. Those that
     are only carried to another place set out nearly together. */
  arrivals(id, from, length) {
    const { carried, sources } = this.reel.blocks[id];
    const apart = length * (carried ? 0.25 : 0.6);
    const all = this.drawn.get(id).cells.flatMap((cells, i) =>
      cells.map((element, j) => ({ element, i, j })));
    return all.map(({ element, i, j }, n) => {
      const start = from + (apart * n) / Math.max(1, all.length - 1);
      const flights = this.expand(sources(i, j))
        .map((source) => this.flight(source, this.cellBox(id, i, j)));
      return { element, start, end: start + length - apart, flights, carried };
    });
  }

  /* Single cells, or whole strips, of sources with null for all. */
  expand(sources) {
    const { blocks } = this.reel;
    const every = (index, count) =>
      (index == null ? [...Array(count).keys()] : [index]);
    const found = sources.flatMap(([id, i, j]) => {
      const { values, strip } = blocks[id];
      return every(i, values.length).flatMap((row) =>
        every(strip ? 0 : j, values[0].length).map((column) => `${id} ${row} ${column}`));
    });
    return [...new Set(found)].map((one) => {
      const [id, i, j] = one.split(" ");
      return [id, Number(i), Number(j)];
    });
  }

  flight([id, i, j], to) {
    const box = this.cellBox(id, i, j);
    const element = this.drawn.get(id).cells[i][j].cloneNode(true);
    for (const name of ["role", "tabindex", "aria-label", "data-at"])
      element.removeAttribute(name);
    element.dataset.tint = this.reel.blocks[id].tint;
    element.style.cssText += this.box(box);
    this.flown.append(element);
    return { element, by: [
      to.x + to.width / 2 - box.x - box.width / 2, to.y - box.y],
    shrink: Math.min(1, to.width / box.width) };
  }

  fly(share) {
    for (const { element, start, end, flights, carried } of this.made) {
      const gone = Math.min(1, Math.max(0, (share - start) / (end - start)));
      element.style.opacity = carried ? Number(gone === 1)
        : this.ramp(gone, flights.length ? 0.6 : 0, 1);
      for (const flight of flights) {
        const moved = this.ramp(gone, 0, carried ? 1 : 0.9);
        flight.element.style.visibility =
          gone < 1 && (gone || carried) ? "" : "hidden";
        flight.element.style.opacity =
          carried ? 1 : this.ramp(gone, 0, 0.15) - this.ramp(gone, 0.75, 1);
        flight.element.style.transform =
          `translate(${flight.by.map((way) => `${(moved * way) / 16}rem`)}) ` +
          `scaleX(${1 - moved * (1 - flight.shrink)})`;
      }
    }
  }

  /* --- playing ------------------------------------------------------------ */

  stop() {
    this.run++;
    this.find("play").textContent = "Play";
  }

  /* Move to a time; resolves to whether nothing came between. */
  async go(to, pace = this.constructor.STEP) {
    const run = ++this.run;
    const from = this.time;
    const length = Math.min(2, Math.abs(to - from)) * pace;
    let begun = null;
    while (this.time !== to && !course.ui.still.matches) {
      const now = await new Promise(requestAnimationFrame);
      if (run !== this.run) return false;
      begun ??= now;
      const share = Math.min(1, (now - begun) / length);
      this.show(share < 1 ? from + share * (to - from) : to);
    }
    if (this.time !== to) this.show(to);
    return true;
  }

  step(by) {
    this.stop();
    const to = by > 0 ? Math.floor(this.time) + 1 : Math.ceil(this.time) - 1;
    return this.go(Math.min(Math.max(to, 0), this.reel.scenes.length - 1));
  }

  async play() {
    if (this.find("play").textContent === "Stop") return this.stop();
    const last = this.reel.scenes.length - 1;
    if (this.time === last) this.show(0);
    this.find("play").textContent = "Stop";
    const { HOLD, MOVE } = this.constructor;
    while (this.time < last) {
      if (!await this.go(Math.floor(this.time) + 1, MOVE)) return;
      const { run } = this;
      await new Promise((resolve) => setTimeout(resolve, HOLD));
      if (run !== this.run) return;
    }
    this.stop();
  }

  key(event) {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.step(by);
  }

  /* --- one number --------------------------------------------------------- */

  /* The number under the pointer, or that has the focus. */
  pointed({ target, type, offsetX }) {
    const cell = target.closest("[data-at]");
    if (!cell || !Number.isInteger(this.time)) return;
    const isNow = cell.classList.contains("is-now");
    const [id, row, column] = cell.dataset.at.split(" ");
    const { strip, values: [{ length }] } = this.reel.blocks[id];
    if (isNow && (!strip || type === "focusin")) return;
    const share = type === "focusin" ? 0 : offsetX / cell.clientWidth;
    const at = Math.min(length - 1, Math.max(0, Math.floor(share * length)));
    this.light([id, Number(row), strip ? at : Number(column)]);
  }

  /* The number that the scene itself points at. */
  rest() {
    if (Number.isInteger(this.time)) this.light(this.reel.scenes[this.scene].point);
  }

  light(point) {
    for (const one of this.camera.querySelectorAll(".is-now, .is-lit")) {
      one.classList.remove("is-now", "is-lit");
      one.tabIndex = -1;
    }
    this.point = point;
    this.find("product").replaceChildren();
    if (!point) return;
    const [id, i, j] = point;
    const { said, sources, strip } = this.reel.blocks[id];
    const cell = this.drawn.get(id).cells[i][strip ? 0 : j];
    cell.classList.add("is-now");
    cell.tabIndex = 0;
    cell.style.setProperty("--at", (j + 0.5) / this.reel.blocks[id].values[0].length);
    for (const [from, row, column] of this.expand(sources(i, j)))
      this.drawn.get(from).cells[row][column].classList.add("is-lit");
    this.find("product").replaceChildren(...course.ui.marked(said(i, j)));
    if (strip) cell.setAttribute("aria-label", said(i, j));
  }

  /* Arrow keys go to the next number in their direction. */
  walk(event) {
    const [x, y] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0],
      ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [];
    if (x === undefined || !this.point) return;
    event.preventDefault();
    const [id, i, j] = this.point;
    const { strip, values } = this.reel.blocks[id];
    if (strip && x && values[0][j + x] !== undefined) return this.light([id, i, j + x]);
    const from = document.activeElement.getBoundingClientRect();
    const middle = (box) => [box.x + box.width / 2, box.y + box.height / 2];
    const [fromX, fromY] = middle(from);
    let [best, least] = [null, Infinity];
    for (const cell of this.camera.querySelectorAll("[data-at]")) {
      const [dx, dy] = middle(cell.getBoundingClientRect())
        .map((value, axis) => value - [fromX, fromY][axis]);
      const [ahead, aside] = [x * dx + y * dy, Math.abs(x * dy) + Math.abs(y * dx)];
      if (ahead < 2 || !cell.checkVisibility({ visibilityProperty: true })) continue;
      if (ahead + 3 * aside < least) [best, least] = [cell, ahead + 3 * aside];
    }
    best?.focus();
  }
};
