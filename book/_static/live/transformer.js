/* The encoder–decoder, from ids to logits (chapter 10). */

"use strict";

course.part(function transformer() {
  const PAD = 0;
  const BOS = 1;
  const EOS = 2;
  const UNK = 3;

  /* What can be switched off, to see what it was for. */
  const WHOLE = {
    positions: true,
    paddingMask: true,
    causalMask: true,
    residual: true,
    norm: true,
    has: (part) => true, // a sub-layer, as "encoder.layers.0.feed_forward"
    heads: (part, head) => true,
  };

  /* One cache for each decoder layer's own tokens, one for the memory. */
  class DecoderCache {
    constructor(nLayers) {
      this.layers = Array.from({ length: nLayers }, () => ({
        own: new KVCache(),
        memory: new KVCache(),
      }));
    }

    get length() {
      return this.layers[0].own.length;
    }

    copy() {
      const other = new DecoderCache(0);
      other.layers = this.layers.map(({ own, memory }) => ({
        own: own.copy(),
        memory: memory.copy(),
      }));
      return other;
    }
  }

  class Transformer {
    /* config: the model's settings; tensors: from names to matrices. */
    constructor(config, tensors) {
      this.config = config;
      this.tensors = tensors;
      this.switches = WHOLE;
      /* Called with the name and the output of each part; for each add and
         norm NAME also with NAME.sublayer and NAME.sum, and for each
         feed-forward part NAME with NAME.units. */
      this.onPart = null;
    }

    /* From a name within a part of the model to its tensor. */
    weights(part) {
      return (name) => this.tensors[`${part}.${name}`];
    }

    norm(x, name) {
      const weights = this.weights(`${name}norm`);
      return this.switches.norm
        ? layerNorm(x, weights("weight"), weights("bias")) : x;
    }

    /* A layer's sub-layer of this name, inside its add and norm; x itself if
       the sub-layer is switched off. */
    addNorm(x, layer, number, part, sublayer) {
      if (!this.switches.has(`${layer}.${part}`)) return x;
      const name = `${layer}.add_norm_${number}`;
      const normed = (y) => this.norm(y, `${name}.`);
      const first = this.config.norm_first;
      const added = sublayer(first ? normed(x) : x, `${layer}.${part}`);
      const sum = this.switches.residual ? add(x, added) : added;
      const out = first ? sum : normed(sum);
      this.onPart?.(`${name}.sublayer`, added);
      this.onPart?.(`${name}.sum`, sum);
      this.onPart?.(name, out);
      return out;
    }

    finalNorm(x, stack) {
      return this.config.norm_first ? this.norm(x, `${stack}.`) : x;
    }

    attend(x, memory, part, allowed, cache, onWeights) {
      const rotary =
        this.config.position === "rotary" && this.switches.positions;
      const nHeads = this.config.n_heads;
      const isOn = (head) => this.switches.heads(part, head);
      const settings = { nHeads, rotary, cache, isOn, onWeights };
      const weights = this.weights(part);
      return multiHeadAttention(x, memory, weights, allowed, settings);
    }

    feedForward(x, part) {
      return feedForward(x, this.weights(part), this.config.activation,
        (units) => this.onPart?.(`${part}.units`, units));
    }

    embed(ids, side, offset = 0) {
      const tied = this.config.tied ? "tgt" : side;
      const x = embed(ids, this.tensors[`${tied}_embedding.weight`]);
      this.onPart?.(`${side}_embedding`, x);
      const additive = this.config.position === "sinusoidal";
      if (!additive || !this.switches.positions) return x;
      const out = addSinusoidal(x, offset);
      this.onPart?.(`${side}_positions`, out);
      return out;
    }

    /* Which source tokens may be attended to. */
    sourceMask(src) {
      return (key) => !this.switches.paddingMask || src[key] !== PAD;
    }

    /* The memory: one vector for each source token. onWeights is called with
       layer, head, query and weights. */
    encode(src, onWeights) {
      let x = this.embed(src, "src");
      const mask = this.sourceMask(src);
      for (let i = 0; i < this.config.n_layers; i++) {
        const layer = `encoder.layers.${i}`;
        const note = onWeights && ((...found) => onWeights(i, ...found));
        x = this.addNorm(x, layer, 1, "self_attention", (y, part) =>
          this.attend(y, null, part, (_, key) => mask(key), new KVCache(),
            note));
        x = this.addNorm(x, layer, 2, "feed_forward", (y, part) =>
          this.feedForward(y, part));
      }
      return this.finalNorm(x, "encoder");
    }

    /* Logits for the token after the last one of tgt, of which the cache may
       know the beginning. onWeights is called with "self" or "cross", layer,
       head, query and weights. */
    decode(tgt, memory, src, cache, onWeights) {
      const { causalMask } = this.switches;
      if (!causalMask) cache = this.newCache(); // all outputs change
      const past = cache.length;
      let x = this.embed(tgt.slice(past), "tgt", past);
      const mask = this.sourceMask(src);
      const causal = (query, key) => !causalMask || key <= query;
      cache.layers.forEach(({ own, memory: known }, i) => {
        const layer = `decoder.layers.${i}`;
        const note = (kind) =>
          onWeights && ((...found) => onWeights(kind, i, ...found));
        x = this.addNorm(x, layer, 1, "self_attention", (y, part) =>
          this.attend(y, null, part, causal, own, note("self")));
        x = this.addNorm(x, layer, 2, "cross_attention", (y, part) =>
          this.attend(y, memory, part, (_, key) => mask(key), known,
            note("cross")));
        x = this.addNorm(x, layer, 3, "feed_forward", (y, part) =>
          this.feedForward(y, part));
      });
      x = this.finalNorm(x, "decoder");
      const last = matrix(1, x.cols, row(x, x.rows - 1));
      const output = this.tensors[
        this.config.tied ? "tgt_embedding.weight" : "to_logits.weight"
      ];
      return linear(last, output).data;
    }

    newCache() {
      return new DecoderCache(this.config.n_layers);
    }
  }

  return { PAD, BOS, EOS, UNK, WHOLE, DecoderCache, Transformer };
});
