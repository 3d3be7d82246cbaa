/* From a model's bytes to its tensors. */

"use strict";

course.part(function weights() {
  /* The bytes of chunks in base64, one after the other. */
  function bytesOf(chunks) {
    const parts = chunks.map((chunk) => {
      const text = atob(chunk);
      const part = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) part[i] = text.charCodeAt(i);
      return part;
    });
    const bytes = new Uint8Array(parts.reduce((sum, p) => sum + p.length, 0));
    let at = 0;
    for (const part of parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }

  /* Tensors by name. table: [name, rows, cols, type] in the order of the
     bytes; a matrix is int8, followed by a float32 scale for each row. */
  function tensorsOf(table, bytes) {
    const tensors = {};
    let at = 0;
    const take = (Type, count) => {
      const end = at + count * Type.BYTES_PER_ELEMENT;
      const found = new Type(bytes.slice(at, end).buffer);
      at = end;
      return found;
    };
    for (const [name, rows, cols, type] of table) {
      if (type === "float32") {
        tensors[name] = matrix(rows, cols, take(Float32Array, rows * cols));
        continue;
      }
      const values = take(Int8Array, rows * cols);
      const scales = take(Float32Array, rows);
      const found = matrix(rows, cols);
      for (let i = 0; i < rows; i++) {
        for (let j = i * cols; j < (i + 1) * cols; j++)
          found.data[j] = values[j] * scales[i];
      }
      tensors[name] = found;
    }
    return tensors;
  }

  /* A model and its tokenizer, from what export --to web has written. */
  function load({ config, tokenizer, tensors, chunks }) {
    return {
      model: new Transformer(config, tensorsOf(tensors, bytesOf(chunks))),
      tokenizer: new Tokenizer(tokenizer),
    };
  }

  return { bytesOf, tensorsOf, load };
});
