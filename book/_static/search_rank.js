/* Which sections of the book answer a query, best first. What is searched is
   written by book/_ext/course_search.py; stemmer and stop words are Sphinx's
   (language_data.js). Nothing here needs a page, so that tests run it alone. */

const courseRank = (() => {
  "use strict";

  // what a word counts where it stands, and the constants of BM25
  const FIELDS = {
    title: ([, , title]) => title,
    terms: ([, , , , , names]) => names,
    page: ([page], { pages }) => pages[page][1],
    text: ([, , , text]) => text,
    code: ([, , , , code]) => code,
  };
  const WEIGHTS = { title: 3, terms: 3, page: 1, text: 1, code: 0.3 };
  const SATURATION = 1.2;
  const LENGTH = 0.6;
  // each further section of a page adds half as much as the one before
  const FURTHER = 0.5;
  // what is worth less than this part of the best is not shown
  const LEAST = 0.1;

  const total = (numbers) => numbers.reduce((sum, n) => sum + n, 0);
  const stemmer = new Stemmer();
  const stems = new Map();
  const stop = new Set(stopwords);
  const split =
    typeof splitQuery === "function"
      ? splitQuery
      : (text) => text.match(/[\p{L}\p{N}]+|√/gu) ?? [];

  function stem(word) {
    if (!stems.has(word)) {
      stems.set(word, stemmer.stemWord(word));
    }
    return stems.get(word);
  }

  /* The words of a text with their places. MultiHeadAttention are three. */
  function* words(text) {
    let end = 0;
    for (const piece of split(text)) {
      const start = text.indexOf(piece, end);
      end = start + piece.length;
      const parts = piece.split(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u);
      for (const part of parts) {
        const word = part.toLowerCase().replace("√", "sqrt");
        if (word !== "_" && !stop.has(word)) {
          yield { word, start, end };
        }
      }
    }
  }

  /* What a text is found by: stems of its words, and of each two that follow
     one another as one, so that "layer norm" and "layernorm" meet. */
  function terms(text) {
    const found = [];
    let before = "";
    for (const { word } of words(text)) {
      found.push(stem(word));
      if (before) {
        found.push(stem(before + word));
      }
      before = word;
    }
    return found;
  }

  /* Of each field: its terms, and how long it is beside the mean. */
  function prepare(index) {
    const places = new Map(); // of a term: sections, with weighted counts
    index.words.stop.split(" ").forEach((word) => stop.add(word));
    for (const [field, weight] of Object.entries(WEIGHTS)) {
      const all = index.sections.map((s) => terms(FIELDS[field](s, index)));
      const lengths = all.map(({ length }) => length).filter((n) => n);
      const mean = total(lengths) / lengths.length;
      all.forEach((found, number) => {
        const spread = 1 - LENGTH + (LENGTH * found.length) / mean;
        for (const term of found) {
          const counts = places.get(term) ?? new Map();
          const old = counts.get(number) ?? 0;
          places.set(term, counts.set(number, old + weight / spread));
        }
      });
    }
    return { ...index, places };
  }

  function rarity(prepared, term) {
    const count = prepared.places.get(term).size;
    const others = prepared.sections.length - count;
    return Math.log(1 + (others + 0.5) / (count + 0.5));
  }

  /* Of each section that has a word of the query, how well it answers. */
  function scores(prepared, query) {
    const { places } = prepared;
    const asked = [...new Set(terms(query))].filter((t) => places.has(t));
    const result = new Map();
    for (const term of asked) {
      const rare = rarity(prepared, term);
      for (const [number, count] of places.get(term)) {
        const { score, has } = result.get(number) ?? { score: 0, has: 0 };
        const much = (count * (SATURATION + 1)) / (count + SATURATION);
        result.set(number, { score: score + rare * much, has: has + rare });
      }
    }
    // who has all that was asked for comes before who has one word often
    const whole = total(asked.map((term) => rarity(prepared, term)));
    for (const [number, { score, has }] of result) {
      const weight = prepared.pages[prepared.sections[number][0]][2];
      result.set(number, (score * weight * has) / whole);
    }
    return result;
  }

  /* Pages, best first; each with its sections, best first. */
  function rank(prepared, query) {
    const pages = new Map();
    const all = [...scores(prepared, query)];
    const best = Math.max(...all.map(([, score]) => score));
    for (const [number, score] of all.filter(([, s]) => s > LEAST * best)) {
      const page = prepared.sections[number][0];
      pages.set(page, [...(pages.get(page) ?? []), { number, score }]);
    }
    const found = [...pages].map(([page, sections]) => {
      sections.sort((a, b) => b.score - a.score);
      const score = total(sections.map((s, at) => s.score * FURTHER ** at));
      return { page, score, sections: sections.map(({ number }) => number) };
    });
    return found.sort((a, b) => b.score - a.score);
  }

  /* Where the sentence that begins with a word begins; -1 within one. */
  function sentence(text, all, at) {
    const from = at ? all[at - 1].end : 0;
    const end = text.slice(from, all[at].start).search(/[.?!]\s/);
    return at && end >= 0 ? from + end + 2 : at ? -1 : 0;
  }

  /* The part of a text that has most of the words asked for, if possible from
     the beginning of a sentence, in pieces: some of them marked. */
  function snippet(text, query, most = 32) {
    const asked = new Set(terms(query));
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
      if (hits[at] && start >= from) {
        pieces.push({ text: text.slice(from, start) });
        pieces.push({ text: text.slice(start, end), mark: true });
        from = end;
      }
    }
    const whole = last === all.length - 1;
    const rest = text.slice(from, whole ? undefined : all[last].end);
    return [...pieces, { text: whole ? rest : `${rest} …` }];
  }

  return { prepare, rank, snippet };
})();
