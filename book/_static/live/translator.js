/* The page's side of the worker: load a model, ask, get answers. */

"use strict";

course.Translator = class {
  static MISSING =
    "The model could not be loaded: the connection may be down.";
  static STOPPED = "The translator has stopped.";

  /* name: of a model whose scripts lie in folder. */
  constructor(name, folder) {
    this.name = name;
    this.folder = folder;
    this.share = 0; // of the model, that has arrived
    this.size = 0; // in bytes, once it is known
    this.watchers = new Set();
    this.pending = new Map();
    this.next = 0;
  }

  /* How much has arrived, for who waits. */
  get arrived() {
    const [now, all] = [this.share * this.size, this.size].map((bytes) =>
      (bytes / 1e6).toFixed(1));
    return this.size ? `${now} of ${all} MB` : "…";
  }

  receive({ id, done, error, ...found }) {
    if (error) return this.stop(error);
    const { resolve, onPart } = this.pending.get(id);
    if (!done) return onPart?.(found);
    this.pending.delete(id);
    resolve(found);
  }

  /* The worker has failed: all who wait are told, and load begins anew. */
  stop(cause) {
    const error = new Error(this.constructor.STOPPED, { cause });
    this.worker.onmessage = this.worker.onerror = null;
    this.worker.terminate?.(); // the page itself has none
    this.loading = null;
    this.share = 0;
    for (const { reject } of this.pending.values()) reject(error);
    this.pending.clear();
  }

  /* A promise that is rejected once the worker has failed. */
  stopped() {
    return new Promise((_, reject) =>
      this.pending.set(this.next++, { reject }));
  }

  /* The answer to a call; onPart is called with each answer before the last. */
  ask(call, details = {}, onPart) {
    const id = this.next++;
    this.worker.postMessage({ id, call, model: this.name, ...details });
    return new Promise((resolve, reject) =>
      this.pending.set(id, { resolve, reject, onPart }));
  }

  /* Load the model, once; after a failure again. onProgress is called
     whenever more has arrived. */
  async load(onProgress = () => {}) {
    onProgress();
    this.watchers.add(onProgress);
    try {
      await (this.loading ??= this.fetch());
    } catch (error) {
      this.loading = null;
      throw error;
    } finally {
      this.watchers.delete(onProgress);
    }
  }

  async fetch() {
    const { name } = this;
    this.manifest ??= await this.run("model.js", () => course.models[name]);
    course.models[name] = this.manifest;
    const { parts, chunks, size } = this.manifest;
    const tell = (share) => {
      Object.assign(this, { share, size });
      for (const watch of this.watchers) watch();
    };
    for (let i = 0; i < parts; i++) {
      const file = `weights-${String(i).padStart(2, "0")}.js`;
      tell(i / parts);
      chunks[i] ??= await this.run(file, () => chunks[i]);
    }
    tell(1);
    delete course.models[name];
    this.worker = await course.worker();
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = this.worker.onmessageerror = (event) =>
      this.stop(event.message);
    await this.ask("load", { manifest: this.manifest });
    this.manifest = null; // the worker has the only copy
  }

  /* Run a classic script; unlike fetch, this works from file:// too. Returns
     what it hands over. */
  async run(file, handed) {
    const element = document.createElement("script");
    element.src = `${this.folder}/${file}`;
    await new Promise((resolve) => {
      element.onload = element.onerror = resolve;
      document.head.append(element);
    });
    const found = handed();
    if (!found) throw new Error(this.constructor.MISSING);
    return found;
  }
};
