/* From logits to tokens: greedy search, sampling, beam search (chapter 13). */

"use strict";

course.part(function search() {
  const EXTRA_LENGTH = 50;

  function logSoftmax(logits) {
    const largest = logits.reduce((a, b) => Math.max(a, b));
    let sum = 0;
    for (const logit of logits) sum += Math.exp(logit - largest);
    const shift = largest + Math.log(sum);
    return logits.map((logit) => logit - shift);
  }

  /* Scores of next tokens, without pad and bos, which are never written. */
  function barred(scores) {
    scores[PAD] = scores[BOS] = -Infinity;
    return scores;
  }

  /* The k largest, best first; of equals the first. */
  function topK(values, k) {
    const best = [];
    values.forEach((value, i) => {
      if (best.length === k && value <= values[best[k - 1]]) return;
      let at = best.length;
      while (at > 0 && values[best[at - 1]] < value) at--;
      best.splice(at, 0, i);
      if (best.length > k) best.pop();
    });
    return best;
  }

  const limitOf = (src) =>
    src.filter((id) => id !== PAD).length + EXTRA_LENGTH;

  /* Extend a target by what pick makes of the logits, a token at a time.

     onToken is called with each token and its logits; it may return false to
     end the search. onWeights is called with "encoder", "self" or "cross",
     layer, head, query and weights. Returns the ids without bos and eos. */
  function extend(model, src, pick, onToken, onWeights) {
    const memory = model.encode(src, onWeights &&
      ((...found) => onWeights("encoder", ...found)));
    const cache = model.newCache();
    const tgt = [BOS];
    const limit = limitOf(src);
    while (tgt.length <= limit) {
      const logits = model.decode(tgt, memory, src, cache, onWeights);
      const token = pick(barred(logits));
      if (onToken?.(token, logits) === false || token === EOS) break;
      tgt.push(token);
    }
    return tgt.slice(1);
  }

  /* Take the most probable token, each time. */
  const greedySearch = (model, src, onToken, onWeights) =>
    extend(model, src, (logits) => topK(logits, 1)[0], onToken, onWeights);

  /* The tokens that may be drawn, likeliest first, each with its chance: the
     smallest set that holds the share topP. */
  function chances(logits, { temperature = 1, topK: k = 0, topP = 1 }) {
    const order = topK(logits, k || logits.length);
    const scaled = Float32Array.from(order, (i) => logits[i] / temperature);
    const shares = logSoftmax(scaled).map(Math.exp);
    let held = 0;
    const last = shares.findIndex((share) => (held += share) >= topP);
    const kept = topP < 1 && last >= 0 ? shares.slice(0, last + 1) : shares;
    const sum = kept.reduce((a, b) => a + b);
    return Array.from(kept, (share, i) => ({
      token: order[i],
      chance: share / sum,
    }));
  }

  /* Draw each token; random gives numbers from 0 to 1. */
  function sample(model, src, settings, onToken) {
    const { random = Math.random } = settings;
    const pick = (logits) => {
      const among = chances(logits, settings);
      let left = random();
      const drawn = among.find(({ chance }) => (left -= chance) < 0);
      return (drawn ?? among[0]).token;
    };
    return extend(model, src, pick, onToken);
  }

  /* ((5 + length) / 6)^α (Wu et al. 2016, section 7). */
  const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

  /* Keep the best few hypotheses and extend them all, best first at the end.

     onStep is called after each step with the hypotheses kept and, of each,
     its parent and all candidates among which it was chosen. nextWords: how
     many extensions of each are candidates; there is no room for more than
     beamSize. */
  function beamSearch(model, src, settings, onStep) {
    const { beamSize = 5, alpha = 0.6, nextWords = beamSize } = settings;
    const memory = model.encode(src);
    const limit = limitOf(src);
    let beam = [
      { ids: [BOS], logProb: 0, finished: false, cache: model.newCache() },
    ];
    const ranked = (logProb, length) => logProb / lengthPenalty(length, alpha);
    while (beam.some((hypothesis) => !hypothesis.finished)) {
      const candidates = beam.flatMap((parent, place) => {
        const { ids, logProb, finished, cache } = parent;
        const length = ids.length - 1;
        if (finished)
          return { ...parent, parent: place, score: ranked(logProb, length) };
        const logits = model.decode(ids, memory, src, cache);
        const found = barred(logSoftmax(logits));
        return topK(found, nextWords).map((token) => ({
          ids: [...ids, token],
          logProb: logProb + found[token],
          score: ranked(logProb + found[token], length + 1),
          finished: token === EOS || ids.length + 1 > limit,
          parent: place,
          cache,
        }));
      });
      const scores = candidates.map((candidate) => candidate.score);
      const kept = topK(scores, beamSize).map((i) => candidates[i]);
      onStep?.(kept, candidates);
      beam = kept.map((one) => ({ ...one, cache: one.cache.copy() }));
    }
    return beam.map(({ ids, logProb, score }) => ({
      ids: ids.filter((id) => id !== BOS && id !== EOS),
      logProb,
      score,
    }));
  }

  return {
    logSoftmax, topK, chances, greedySearch, sample, lengthPenalty,
    beamSearch,
  };
});
