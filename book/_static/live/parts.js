/* The Transformer in the page: how its parts come together.

   A page that is opened from a disk (file://) may load classic scripts, but
   neither modules nor a worker by its address. So each file of this folder
   hands over one function that returns its definitions. The same functions
   run here, in Node for the tests, and, as text, in a worker made of a Blob. */

"use strict";

globalThis.course = {
  parts: [],
  models: {},

  /* Register a file's definitions and define them here too. */
  part(definitions) {
    course.parts.push(definitions);
    Object.assign(globalThis, definitions());
  },

  /* A worker that runs all parts registered so far; where none can start, a
     port at which the page itself answers. */
  async worker() {
    const source = course.parts
      .map((part) => `Object.assign(self, (${part})());`)
      .join("\n");
    const begin = "listen(self);\npostMessage(null);";
    const blob = new Blob([`"use strict";\n${source}\n${begin}`], {
      type: "text/javascript",
    });
    try {
      const worker = new Worker(URL.createObjectURL(blob));
      await new Promise((resolve, reject) => {
        worker.onmessage = resolve;
        worker.onerror = reject;
      });
      return worker;
    } catch {
      const { port1, port2 } = new MessageChannel();
      listen(port2);
      return port1;
    }
  },

  /* A model's settings, tokenizer and table of tensors; see export --to web. */
  model(name, manifest) {
    course.models[name] = { ...manifest, chunks: [] };
  },

  /* One part of a model's bytes, in base64. */
  chunk(name, index, base64) {
    course.models[name].chunks[index] = base64;
  },
};
