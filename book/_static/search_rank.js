/* Which sections of the book answer a query, best first. What is searched is
   written by book/_ext/course_search.py and ranked by MiniSearch (BM25); stemmer
   and stop words are Sphinx's (language_data.js). Nothing here needs a page, so
   that tests run it alone. */

const courseRank = (() => {
  "use strict";

  // what a word counts where it stands
  const WEIGHTS = { title: 3, terms: 3, page: 1, text: 1, code: 0.3 };
  // each further section of a page adds half as much as the one before
  const FURTHER = 0.5;
  // what is worth less than this part of the best is not shown
  const LEAST = 0.1;

  const stemmer = new Stemmer();
  const stop = new Set(stopwords);
  const stem = (word) => stemmer.stemWord(word);

  const JAPANESE = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}ー]/u;
  const PIECES =
    /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}ー]+|(?:(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}ー])[\p{L}\p{N}])+|√/gu;

  /* The words of a text with their places. MultiHeadAttention are three. What
     has no spaces, 位置符号化, are each two letters: 位置, 置符, 符号, 号化. */
  function* words(text) {
    for (const { 0: piece, index } of text.matchAll(PIECES)) {
      let start = index;
      if (JAPANESE.test(piece)) {
        for (let at = 0; at < Math.max(1, piece.length - 1); at += 1) {
          const word = piece.slice(at, at + 2);
          yield { word, start: index + at, end: index + at + word.length };
        }
        continue;
      }
      for (const part of piece.split(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u)) {
        const end = start + part.length;
        const word = part.toLowerCase().replace("√", "sqrt");
        if (!stop.has(word)) {
          yield { word, start, end };
        }
        start = end;
      }
    }
  }

  /* What a text is found by: its words, and each two that follow one another
     as one, so that "layer norm" and "layernorm" meet. */
  function tokenize(text) {
    const all = [...words(text)].map(({ word }) => word);
    const pairs = all.slice(1).map((word, at) => [all[at], word]);
    const spaced = pairs.filter((pair) => !pair.some((word) => JAPANESE.test(word)));
    return all.concat(spaced.map((pair) => pair.join("")));
  }

  /* One Japanese letter is the beginning of words. */
  const isBeginning = (word) => word.length === 1 && JAPANESE.test(word);

  function prepare(index) {
    index.words.stop.split(" ").forEach((word) => stop.add(word));
    const search = new MiniSearch({
      fields: Object.keys(WEIGHTS),
      tokenize,
      processTerm: stem,
      searchOptions: {
        boost: WEIGHTS,
        prefix: isBeginning,
        boostDocument: (id) => index.pages[index.sections[id][0]][2],
      },
    });
    search.addAll(
      index.sections.map(([page, , title, text, code, terms], id) => ({
        id, title, text, code, terms, page: index.pages[page][1],
      })),
    );
    return { ...index, search };
  }

  /* Pages, best first; each with its sections, best first. */
  function rank({ search, sections }, query) {
    const pages = new Map();
    const all = search.search(query);
    for (const { id, score } of all) {
      if (score < LEAST * all[0].score) continue;
      const page = sections[id][0];
      const found = pages.get(page) ?? { page, score: 0, sections: [] };
      found.score += score * FURTHER ** found.sections.length;
      found.sections.push(id);
      pages.set(page, found);
    }
    return [...pages.values()].sort((a, b) => b.score - a.score);
  }

  /* Where the sentence that begins with a word begins; -1 within one. */
  function sentence(text, all, at) {
    const from = at ? all[at - 1].end : 0;
    const end = text.slice(from, all[at].start).search(/[.?!]\s|[。？！]/);
    const after = end + (text[from + end] < "\u3000" ? 2 : 1);
    return at && end >= 0 ? from + after : at ? -1 : 0;
  }

  /* The part of a text that has most of the words asked for, if possible from
     the beginning of a sentence, in pieces: some of them marked. */
  function snippet(text, query, most = JAPANESE.test(text) ? 80 : 32) {
    const asked = new Set(tokenize(query).map(stem));
    const all = [...words(text)];
    const hits = all.map(({ word }) => asked.has(stem(word)) && stem(word));
    const worth = (at) => new Set(hits.slice(at, at + most)).size;
    const near = Math.max(0, hits.findIndex((hit) => hit) - 8);
    let best = { at: near, from: all[near]?.start ?? 0, worth: 1 };
    all.forEach((_, at) => {
      const from = sentence(text, all, at);
      if (from >= 0 && worth(at) > best.worth) {
        best = { at, from, worth: worth(at) };
      }
    });
    let { at, from } = best;
    const pieces = [];
    const last = Math.min(at + most, all.length) - 1;
    for (; at <= last; at += 1) {
      const { start, end } = all[at];
      if (!hits[at] || end <= from) continue;
      if (start > from) pieces.push({ text: text.slice(from, start) });
      pieces.push({ text: text.slice(Math.max(start, from), end), mark: true });
      from = end;
    }
    const whole = last === all.length - 1;
    const rest = text.slice(from, whole ? undefined : all[last].end);
    return [...pieces, { text: whole ? rest : `${rest} …` }];
  }

  return { prepare, rank, snippet };
})();
