/* Attention: scores, the softmax, the mean of the values (chapters 04 to 07).

   A mask says of each key whether it may be attended to, given the query. */

"use strict";

course.part(function attention() {
  /* The softmax of scores over the keys that are allowed; zeros if none is. */
  function maskedSoftmax(scores, allowed) {
    let largest = -Infinity;
    for (let key = 0; key < scores.length; key++)
      if (allowed(key)) largest = Math.max(largest, scores[key]);
    const weights = new Float32Array(scores.length);
    if (largest === -Infinity) return weights;
    let sum = 0;
    for (let key = 0; key < scores.length; key++) {
      if (!allowed(key)) continue;
      weights[key] = Math.exp(scores[key] - largest);
      sum += weights[key];
    }
    return weights.map((weight) => weight / sum);
  }

  /* Keys and values that a layer has computed already (chapter 13). */
  class KVCache {
    constructor() {
      this.key = null;
      this.value = null;
    }

    get length() {
      return this.key ? this.key.rows : 0;
    }

    extend(key, value) {
      this.key = below(this.key, key);
      this.value = below(this.value, value);
    }

    copy() {
      return Object.assign(new KVCache(), this); // matrices never change
    }
  }

  /* The rows of one matrix, and below them those of another. */
  function below(above, x) {
    if (!above) return x;
    const out = matrix(above.rows + x.rows, x.cols);
    out.data.set(above.data);
    out.data.set(x.data, above.data.length);
    return out;
  }

  /* Several attentions side by side, each on its own projections (chapter 07).

     query: matrix of the positions that ask.
     memory: where keys and values come from; null for self-attention.
     weights: from a name in this layer to its tensor.
     allowed: (query, key) → may attend.
     settings: nHeads, rotary, cache; isOn: head → whether it may answer, else
       its output is zero; onWeights is called with the head, the query and
       its row of weights. */
  function multiHeadAttention(query, memory, weights, allowed, settings) {
    const { nHeads, rotary, cache, isOn, onWeights } = settings;
    const width = query.cols / nHeads;
    const project = (x, name) =>
      linear(x, weights(`${name}.weight`), weights(`${name}.bias`));
    const q = project(query, "to_query");
    const past = memory ? 0 : cache.length;
    if (!memory || !cache.length) {
      const k = project(memory ?? query, "to_key");
      if (!memory && rotary) turn(k, nHeads, past);
      cache.extend(k, project(memory ?? query, "to_value"));
    }
    if (!memory && rotary) turn(q, nHeads, past);
    const heads = matrix(query.rows, query.cols);
    for (let head = 0; head < nHeads; head++) {
      if (!isOn(head)) continue;
      const part = (x, i) =>
        x.data.subarray(
          i * x.cols + head * width,
          i * x.cols + (head + 1) * width,
        );
      for (let i = 0; i < query.rows; i++) {
        const scores = new Float32Array(cache.length);
        for (let key = 0; key < cache.length; key++)
          scores[key] = dot(part(q, i), part(cache.key, key)) / Math.sqrt(width);
        const row = maskedSoftmax(scores, (key) => allowed(past + i, key));
        onWeights?.(head, past + i, row);
        const out = part(heads, i);
        row.forEach((weight, key) => {
          if (!weight) return;
          const value = part(cache.value, key);
          for (let j = 0; j < width; j++) out[j] += weight * value[j];
        });
      }
    }
    return project(heads, "to_output");
  }

  return { maskedSoftmax, KVCache, below, multiHeadAttention };
});
