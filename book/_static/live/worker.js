/* What the worker answers. The page asks through translator.js. */

"use strict";

course.part(function worker() {
  const loaded = {};

  /* A request is {id, model, call, ...arguments}; answers are {id, ...found},
     the last one with done. */
  function listen(port) {
    port.onmessage = ({ data }) => {
      const answer = (found) => port.postMessage({ id: data.id, ...found });
      try {
        answer({ ...calls[data.call](data, answer), done: true });
      } catch (error) {
        answer({ error: String(error.message ?? error), done: true });
      }
    };
  }

  const calls = {
    load({ model, manifest }) {
      loaded[model] = load(manifest);
      return {};
    },

    encode({ model, text }) {
      const { tokenizer } = loaded[model];
      const ids = tokenizer.encode(text);
      return { pieces: ids.map((id) => tokenizer.pieces[id]) };
    },

    /* parts: whether to answer with the output of every part and all attention
       weights too. switches: see WHOLE; without is a list of sub-layers that
       are left out, by the ends of their names; heads has for a part the list
       of its heads that are left, as {"encoder.layers.0.self_attention": [0]}. */
    translate({ model: name, text, places, switches, parts }, answer) {
      const { model, tokenizer } = loaded[name];
      const src = [...tokenizer.encode(text), EOS];
      while (src.length < places) src.push(PAD);
      model.switches = {
        ...WHOLE,
        ...switches,
        has: (part) => !switches?.without?.some((end) => part.endsWith(end)),
        heads: (part, head) => switches?.heads?.[part]?.includes(head) ?? true,
      };
      const seen = [{ weights: [] }]; // of the encoder, then of each token
      if (parts)
        model.onPart = (part, { rows, cols, data }) => {
          if (part === "tgt_embedding") seen.push({ weights: [] });
          seen.at(-1)[part] = { rows, cols, data: data.slice() };
        };
      let cross = [];
      const ids = greedySearch(
        model,
        src,
        (token, logits) => {
          const found = logSoftmax(logits);
          const best = topK(found, 4).map((id) => ({
            id,
            piece: tokenizer.pieces[id],
            logit: logits[id],
            share: Math.exp(found[id]),
          }));
          answer({ token, piece: tokenizer.pieces[token], best, cross });
          cross = [];
        },
        (kind, layer, head, query, weights) => {
          if (kind === "cross") cross.push({ layer, head, weights });
          if (parts) seen.at(-1).weights.push({ kind, layer, query, weights });
        },
      );
      model.onPart = null;
      const { n_heads: nHeads } = model.config;
      return { ids, text: tokenizer.decode(ids), parts: parts && seen, nHeads };
    },

    /* Tensors of the model, by their names. */
    tensors({ model, names }) {
      const { tensors } = loaded[model].model;
      return Object.fromEntries(names.map((name) => [name, tensors[name]]));
    },

    /* Draw a sentence; answers with each token and what it was drawn from. */
    sample({ model: name, text, temperature, topP }, answer) {
      const { model, tokenizer } = loaded[name];
      model.switches = WHOLE;
      const src = [...tokenizer.encode(text), EOS];
      const ids = sample(model, src, { temperature, topP }, (token, logits) =>
        answer({ piece: tokenizer.pieces[token], logits }));
      return { ids, text: tokenizer.decode(ids), pieces: tokenizer.pieces };
    },

    /* Each step has the hypotheses kept, and all candidates for its places. */
    beam({ model: name, text, beamSize, alpha, nextWords }, answer) {
      const { model, tokenizer } = loaded[name];
      const src = [...tokenizer.encode(text), EOS];
      model.switches = WHOLE;
      const plain = ({ ids, logProb, score, finished, parent }) => ({
        piece: tokenizer.pieces[ids.at(-1)],
        text: tokenizer.decode(ids),
        logProb, score, finished, parent,
      });
      const beam = beamSearch(
        model,
        src,
        { beamSize, alpha, nextWords },
        (kept, candidates) =>
          answer({
            kept: kept.map((one) => candidates.indexOf(one)),
            candidates: candidates.map(plain),
          }),
      );
      return {
        beam: beam.map(({ ids, logProb, score }) => ({
          ids, logProb, score, text: tokenizer.decode(ids),
        })),
      };
    },
  };

  return { listen };
});
