/* The page's side of the worker: load a model once, ask, get answers. */

"use strict";

course.Translator = class {
  /* name: of a model whose scripts lie in folder. */
  constructor(name, folder) {
    this.name = name;
    this.folder = folder;
    this.worker = course.worker();
    this.pending = new Map();
    this.next = 0;
    this.worker.onmessage = ({ data }) => this.receive(data);
  }

  receive({ id, done, error, ...found }) {
    const { resolve, reject, onPart } = this.pending.get(id);
    if (!done) return onPart?.(found);
    this.pending.delete(id);
    if (error) reject(new Error(error));
    else resolve(found);
  }

  /* The answer to a call; onPart is called with each answer before the last. */
  ask(call, details = {}, onPart) {
    const id = this.next++;
    this.worker.postMessage({ id, call, model: this.name, ...details });
    return new Promise((resolve, reject) =>
      this.pending.set(id, { resolve, reject, onPart }));
  }

  /* Load the model; onProgress is called with the share that has arrived. */
  load(onProgress) {
    this.loading ??= this.fetch(onProgress);
    return this.loading;
  }

  async fetch(onProgress) {
    await script(`${this.folder}/model.js`);
    const manifest = course.models[this.name];
    for (let i = 0; i < manifest.parts; i++) {
      await script(`${this.folder}/weights-${String(i).padStart(2, "0")}.js`);
      onProgress?.((i + 1) / manifest.parts);
    }
    delete course.models[this.name]; // the worker has the only copy
    return this.ask("load", { manifest });
  }
};

/* Run a classic script; unlike fetch, this works from file:// too. */
function script(src) {
  return new Promise((resolve, reject) => {
    const element = document.createElement("script");
    element.src = src;
    element.onload = resolve;
    element.onerror = () => reject(new Error(`${src} cannot be loaded`));
    document.head.append(element);
  });
}
